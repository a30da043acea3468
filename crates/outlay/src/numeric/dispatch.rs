//! Runtime dispatch of plain loops to the widest vector instructions of the machine.

/// A loop that is compiled once per instruction set.
///
/// The loop must be written out in `run`. A closure would be compiled without the instructions.
pub(crate) trait Loop {
    /// The result of the loop.
    type Output;
    /// The loop itself; always `#[inline(always)]`.
    fn run(self) -> Self::Output;
}

/// Adapts a [`Loop`] to the dispatcher of `pulp`.
struct Dispatched<L>(L);

impl<L: Loop> pulp::WithSimd for Dispatched<L> {
    type Output = L::Output;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> L::Output {
        self.0.run()
    }
}

/// Runs a loop with the widest vector instructions of the machine.
pub(crate) fn vectorised<L: Loop>(work: L) -> L::Output {
    pulp::Arch::new().dispatch(Dispatched(work))
}
