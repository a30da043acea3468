//! A bound on labels at another multiplier than that of their reduced costs.
//!
//! At a pair of multipliers, of spend and of the number of jumps, all items may have about the same
//! surplus. The multiplier of the relaxation alone then still tells how far an item is from the
//! margin: a solution that takes other items than the most efficient ones spends more for the same
//! number of jumps, and may not fit. Both bounds hold, so the smaller one counts.

use super::label::{Key, Label};

/// The dual bound at a multiplier of spend alone, relative to the reference items of a search.
#[derive(Debug, Clone, Copy)]
pub(in crate::oracle) struct LinearCut {
    /// The dual bound.
    pub(in crate::oracle) bound: f64,
    /// The multiplier of one unit of spend.
    pub(in crate::oracle) unit_multiplier: f64,
    /// The spend of the items that are optimal at this multiplier, and their value less that of the
    /// reference items.
    pub(in crate::oracle) lp_units: i64,
    pub(in crate::oracle) lp_gain: f64,
}

impl LinearCut {
    /// A bound on the completions of a label, if the reference items of the stages not yet passed
    /// have this regret.
    pub(in crate::oracle) fn bound<K: Key>(&self, label: &Label<K>, regret: f64) -> f64 {
        let (length, slope) = label.key.open_segment();
        let along = ((slope - self.unit_multiplier) * length as f64).max(0.0);
        let spent = self.unit_multiplier * (label.spend - self.lp_units) as f64;
        self.bound - (spent - (label.gain - self.lp_gain)) + along + regret
    }
}
