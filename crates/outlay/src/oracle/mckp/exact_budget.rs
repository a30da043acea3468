//! Whether a solution fits the budget, to the last digit.
//!
//! The searches count in whole units, rounded down, so that sums do not depend on their order: a
//! solution may spend up to one unit per domain more than they count. A solution that may exceed
//! the budget by that is added up again, with compensation, before it is accepted.

use super::items::{MckpInput, StepItems};
use crate::numeric::compensated::Sum;

/// The budget of a search, and the items that its solutions are counted from.
#[derive(Debug, Clone, Copy)]
pub(in crate::oracle) struct ExactBudget<'a> {
    steps: &'a StepItems,
    reference: &'a [u32],
    budget: f64,
    /// Solutions with at most this many units certainly fit.
    certain: i64,
}

impl<'a> ExactBudget<'a> {
    pub(super) fn new(steps: &'a StepItems, input: MckpInput<'_>, reference: &'a [u32]) -> Self {
        let certain = input.capacity() - steps.inexact();
        Self { steps, reference, budget: input.budget, certain }
    }

    /// The units up to which every solution fits.
    pub(in crate::oracle) fn certain(&self) -> i64 {
        self.certain
    }

    /// Whether a solution fits that is counted as this many units, at most the capacity. `changes`
    /// are the domains with another item than the reference, and these items.
    #[inline(always)]
    pub(in crate::oracle) fn covers(
        &self,
        units: i64,
        changes: impl Iterator<Item = (u32, u32)>,
    ) -> bool {
        units <= self.certain || self.covers_exactly(changes)
    }

    #[cold]
    fn covers_exactly(&self, changes: impl Iterator<Item = (u32, u32)>) -> bool {
        let spend = |item: u32| self.steps.item(item).spend;
        let mut total: Sum = self.reference.iter().map(|&item| spend(item)).collect();
        for (domain, item) in changes {
            total.add(-spend(self.reference[domain as usize]));
            total.add(spend(item));
        }
        !total.exceeds(self.budget)
    }
}
