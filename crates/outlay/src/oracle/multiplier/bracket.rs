//! The interval that contains the multiplier.

/// The open interval that contains the multiplier.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bracket {
    pub(super) below: f64,
    pub(super) above: f64,
}

impl Bracket {
    pub(super) const ALL: Self = Self { below: 0.0, above: f64::INFINITY };

    pub(super) fn contains(self, multiplier: f64) -> bool {
        multiplier > self.below && multiplier < self.above
    }

    /// The geometric middle.
    pub(super) fn middle(self) -> f64 {
        let Self { below, above } = self;
        match (below > 0.0, above.is_finite()) {
            (true, true) => {
                let geometric = below.sqrt() * above.sqrt();
                if geometric > below && geometric < above {
                    geometric
                } else {
                    below + 0.5 * (above - below)
                }
            }
            (true, false) => below * 1e4,
            (false, true) => above * 1e-4,
            (false, false) => 1.0,
        }
    }
}
