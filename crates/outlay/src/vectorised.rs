//! Plain loops, compiled for the vector instructions of the machine they meet.

/// A loop to be run with the best vector instructions of this machine.
///
/// The loop must be written out in `run`: a closure would be compiled without those instructions.
pub(crate) trait Loop {
    /// What it computes.
    type Output;
    /// The loop itself; always `#[inline(always)]`.
    fn run(self) -> Self::Output;
}

/// Hands a [`Loop`] to the dispatcher.
struct Dispatched<L>(L);

impl<L: Loop> pulp::WithSimd for Dispatched<L> {
    type Output = L::Output;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> L::Output {
        self.0.run()
    }
}

/// Runs a loop with the best vector instructions of this machine.
pub(crate) fn vectorised<L: Loop>(work: L) -> L::Output {
    pulp::Arch::new().dispatch(Dispatched(work))
}
