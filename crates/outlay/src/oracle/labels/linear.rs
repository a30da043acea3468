//! The completion of labels by the budget multiplier: unspent budget is worth at most its price.

use super::incumbent::Incumbent;
use super::label::{Key, Label};
use super::stage::{Ratios, Stage};
use crate::oracle::mckp::ExactBudget;

/// A knapsack at one multiplier, or pair of multipliers, and its best known solution.
#[derive(Debug, Clone, Copy)]
pub(in crate::oracle) struct LinearCompletion<'a> {
    pub(in crate::oracle) incumbent: Incumbent,
    /// The multiplier of one unit of spend.
    pub(in crate::oracle) unit_multiplier: f64,
    /// The budget in units.
    pub(in crate::oracle) capacity: i64,
    /// Spend and value of the reference items.
    pub(in crate::oracle) lp_units: i64,
    pub(in crate::oracle) lp_value: f64,
    /// The budget itself.
    pub(in crate::oracle) budget: ExactBudget<'a>,
}

impl LinearCompletion<'_> {
    /// Whether a solution fits the budget and has a larger value. `changes` are the domains with
    /// another item than the reference item, and these items.
    #[inline(always)]
    pub(in crate::oracle) fn is_improved_by(
        &self,
        spend: i64,
        gain: f64,
        changes: impl Iterator<Item = (u32, u32)>,
    ) -> bool {
        self.is_counted_better(spend, gain) && self.budget.covers(spend, changes)
    }

    fn is_counted_better(&self, spend: i64, gain: f64) -> bool {
        spend <= self.capacity && self.lp_value + gain > self.incumbent.value
    }

    /// A bound on the completions of a label by stages with these smallest reduced costs per unit
    /// of spend added and freed.
    pub(in crate::oracle) fn bound<K: Key>(&self, label: &Label<K>, ratios: Ratios) -> f64 {
        let reduced_cost = label.key.reduced_cost(|| {
            self.unit_multiplier * (label.spend - self.lp_units) as f64 - label.gain
        });
        let capacity_left = (self.capacity - label.spend) as f64;
        let penalty = if capacity_left >= 0.0 {
            capacity_left * self.unit_multiplier.min(ratios.up)
        } else {
            -capacity_left * ratios.down
        };
        self.incumbent.bound - reduced_cost - penalty
    }

    /// Whether some completion by the stages after this one may beat the best known value; if not,
    /// the bound is recorded.
    pub(super) fn can_improve<K: Key>(&mut self, label: &Label<K>, stage: &Stage) -> bool {
        let bound = self.bound(label, stage.later);
        if bound > self.incumbent.threshold() {
            return true;
        }
        self.incumbent.drop_bound(bound);
        false
    }

    /// Takes note of the value of a label if it fits the budget and is the best one.
    ///
    /// A label that fits only as it is counted may have dominated one that fits: its value becomes
    /// part of the bound.
    #[inline(always)]
    pub(in crate::oracle) fn take_if_better<K: Key>(
        &mut self,
        label: &Label<K>,
        changes: impl Iterator<Item = (u32, u32)>,
    ) -> bool {
        if !self.is_counted_better(label.spend, label.gain) {
            return false;
        }
        let value = self.lp_value + label.gain;
        let is_covered = self.budget.covers(label.spend, changes);
        if is_covered {
            self.incumbent.value = value;
        } else {
            self.incumbent.drop_bound(value);
        }
        is_covered
    }
}
