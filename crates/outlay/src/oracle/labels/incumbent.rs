//! The best known value of a search and the bounds of what was dropped.

/// The best known value and the bound of a search.
#[derive(Debug, Clone, Copy)]
pub(in crate::oracle) struct Incumbent {
    /// The dual bound at the multiplier, or pair of multipliers, of the reduced costs.
    pub(in crate::oracle) bound: f64,
    /// The best known value.
    pub(in crate::oracle) value: f64,
    /// Improvements below this share of the value are not looked for.
    pub(in crate::oracle) tolerance: f64,
    /// The largest bound among the labels and alternatives that were dropped.
    pub(in crate::oracle) dropped_bound: f64,
}

impl Incumbent {
    /// The value that a completion must be able to exceed.
    pub(in crate::oracle) fn threshold(&self) -> f64 {
        self.value + self.tolerance * self.value
    }

    /// Alternatives with at least this reduced cost cannot be part of a better solution.
    pub(in crate::oracle) fn gap(&self) -> f64 {
        self.bound - self.threshold()
    }

    pub(in crate::oracle) fn drop_bound(&mut self, bound: f64) {
        self.dropped_bound = self.dropped_bound.max(bound);
    }
}
