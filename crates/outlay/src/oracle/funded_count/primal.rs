//! The best solution with given funded tasks.

use super::FundedCount;
use crate::numeric::compensated::Sum;
use crate::oracle::branch_and_bound::TreeResult;
use crate::oracle::multiplier::{Relaxation, View};
use crate::oracle::prepared::PreparedProblem;

impl FundedCount {
    /// Solves the problem in which the tasks in `is_funded` are on their concave part, one may have
    /// a given spend, and all others are at their lower bounds. This is concave in the counted
    /// tasks. A better solution is recorded in `found` and `best`.
    pub(super) fn fund(
        &mut self,
        prepared: &mut PreparedProblem,
        relaxation: &mut Relaxation,
        partial: Option<(u32, f64)>,
        multiplier: f64,
        found: &mut TreeResult,
        (best, trial): (&mut [f64], &mut [f64]),
    ) {
        if partial.is_some_and(|(task, _)| self.is_funded[task as usize]) {
            return;
        }
        self.dual.evaluations += PASSES * self.dual.tasks.len() as u64;
        let Some(residual) = self.narrow(prepared, partial) else {
            restore(prepared, &self.narrowed);
            return;
        };
        let view = View { residual, narrowed: &self.narrowed, ..prepared.view() };
        let relaxed = relaxation.solve(view, Some(multiplier), f64::NEG_INFINITY, trial);
        restore(prepared, &self.narrowed);
        if relaxed.value > found.value {
            found.value = relaxed.value;
            found.node_multiplier = relaxed.multiplier;
            best.copy_from_slice(trial);
        }
    }

    /// Narrows the counted domains; returns the residual budget, if the lower bounds fit.
    fn narrow(&self, prepared: &mut PreparedProblem, partial: Option<(u32, f64)>) -> Option<f64> {
        let first = prepared.domains.len();
        let mut residual = Sum::from(prepared.residual);
        for (position, task) in self.dual.tasks.iter().enumerate() {
            let (low, high) = match partial {
                Some((partial, spend)) if partial as usize == position => (spend, spend),
                _ if self.is_funded[position] => (task.start, task.end),
                _ => (task.low, task.low),
            };
            residual.add(task.low - low);
            if prepared.envelopes.len() == first + position {
                prepared.envelopes.push(Default::default());
            }
            let domain = task.domain as usize;
            prepared.envelopes[first + position].build(&prepared.domains[domain], low, high);
            prepared.envelope_of[domain] = (first + position) as u32;
        }
        Some(residual.value()).filter(|&residual| residual > 0.0)
    }
}

/// Gives the domains their own envelopes again.
fn restore(prepared: &mut PreparedProblem, narrowed: &[u32]) {
    for &domain in narrowed {
        prepared.envelope_of[domain as usize] = domain;
    }
}

/// Passes over all tasks in one solution.
const PASSES: u64 = 5;
