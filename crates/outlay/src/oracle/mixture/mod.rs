//! Mixtures of steps, tiers (piecewise linear curves) and concave curves, solved exactly.
//!
//! **At most one task is inside a segment.** Take an optimal split with two piecewise linear tasks
//! strictly inside segments of their curves. Moving spend from one to the other changes the value
//! linearly, so neither direction gains; move spend until one of the two reaches an end of its
//! segment. Repeating this leaves at most one such task. All others are at breakpoints, and tasks
//! with steps are at jumps: a choice among finitely many *items* per task. The concave tasks share
//! the rest of the budget at equal marginal returns, whatever the others take. So the problem is a
//! multiple-choice knapsack whose unspent budget `r` is worth `V(r)`, the value of the concave
//! tasks, plus one segment that may take part of `r`.
//!
//! | part | module |
//! |---|---|
//! | items and segments of a call | `items` |
//! | `V`, bounded from above by lines | `remainder` |
//! | reduced costs and the dual bound at a multiplier | `pricing` |
//! | the cost of a remainder of another size | `penalty` |
//! | the label search | `labels` |
//! | a second multiplier, on the number of jumps | `cardinality` |
//!
//! Branch and bound closes most such problems in few nodes; this search takes over after
//! [`FIRST_NODES`].

mod cardinality;
mod items;
mod labels;
mod penalty;
mod pricing;
mod remainder;

use super::multiplier::{Relaxation, View};
use super::prepared::PreparedProblem;
use super::{DEFAULT_TOLERANCE, Options};
use crate::numeric::compensated::Sum;
use cardinality::Case;
use items::Choices;
use labels::{Best, LabelSearch, Limits, Search};
use pricing::{Multipliers, Priced};
use remainder::{ConcavePart, Remainder};

/// Branch and bound has this many nodes before the label search.
pub(super) const FIRST_NODES: u64 = 256;
/// Improvements below this share of the value are not looked for; their bound is kept.
const MIN_IMPROVEMENT: f64 = 1e-14;
/// The labels of the search without a second multiplier, if one may help.
const FIRST_LABELS: u64 = 1 << 16;

/// Buffers kept between calls.
#[derive(Debug, Default)]
pub(super) struct Mixture {
    choices: Choices,
    remainder: Remainder,
    search: LabelSearch,
    reference: Vec<u32>,
}

/// The solution known before the search, and the multiplier of the relaxation.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known {
    pub(super) multiplier: f64,
    pub(super) value: f64,
    pub(super) bound: f64,
}

/// The result of the search.
#[derive(Debug, Clone, Copy)]
pub(super) struct MixtureResult {
    pub(super) value: f64,
    pub(super) bound: f64,
    pub(super) labels: u64,
}

impl Mixture {
    /// Sorts the tasks of a call; false if the search does not apply.
    pub(super) fn load(&mut self, prepared: &PreparedProblem) -> bool {
        prepared.residual > 0.0 && self.choices.load(prepared)
    }

    /// Improves the known solution in `best` and lowers its bound.
    pub(super) fn run(
        &mut self,
        prepared: &PreparedProblem,
        relaxation: &mut Relaxation,
        known: Known,
        options: &Options,
        best: &mut [f64],
        trial: &mut [f64],
    ) -> MixtureResult {
        let Self { choices, remainder, search, reference } = self;
        let residual = prepared.residual;
        let tolerance = if options.tolerance > DEFAULT_TOLERANCE { options.tolerance } else { 0.0 };
        let limits = Limits {
            tolerance: tolerance.max(MIN_IMPROVEMENT),
            max_labels: options.max_labels,
            residual,
        };
        let view = View { others: &choices.concave, sample: None, ..prepared.view() };
        let is_empty =
            choices.concave.is_empty() && !choices.has_sigmoids && prepared.concave.len() == 0;
        let mut part = ConcavePart { view, relaxation, spend: trial, is_empty };
        let mut at = Multipliers { spend: known.multiplier, count: 0.0, limit: 0.0 };
        remainder.lines.clear();
        let priced = choices.price(at, remainder, residual, reference);
        let center = (residual - priced.demand).clamp(0.0, residual);
        remainder.start(&mut part, center, residual, known.multiplier);
        let mut result = MixtureResult { value: known.value, bound: known.bound, labels: 0 };
        let mut found = Best { value: known.value, remainder: 0.0, is_new: false };
        // Without a limit on the number of jumps, then with an upper and with a lower limit.
        let jumps = {
            remainder.tight_surplus(&mut part, at.spend);
            let priced = choices.price(at, remainder, residual, reference);
            let has_jumps = priced.count > 0.0;
            let first = if has_jumps { FIRST_LABELS } else { options.max_labels };
            let limits = Limits { max_labels: first.min(limits.max_labels), ..limits };
            let mut pass =
                Search::new(choices, reference, priced, remainder, &mut part, limits, found);
            result.bound = result.bound.min(search.run(&mut pass));
            (found, result.labels) = (pass.best, pass.labels);
            has_jumps.then_some(priced)
        };
        let is_open = |found: &Best, bound: f64| {
            bound > found.value * (1.0 + options.tolerance.max(MIN_IMPROVEMENT))
        };
        if let Some(start) = jumps.filter(|_| is_open(&found, result.bound)) {
            let mut most = f64::NEG_INFINITY;
            for (limit, sign) in [(start.count, 1.0), (start.count + 1.0, -1.0)] {
                let case = Case { choices, remainder, residual, limit, sign };
                at = case.multipliers(&start, reference);
                remainder.tight_surplus(&mut part, at.spend);
                let priced: Priced = choices.price(at, remainder, residual, reference);
                if !is_open(&found, priced.bound) {
                    most = most.max(priced.bound);
                    continue;
                }
                let max_labels = limits.max_labels.saturating_sub(result.labels);
                let limits = Limits { max_labels, ..limits };
                let mut pass =
                    Search::new(choices, reference, priced, remainder, &mut part, limits, found);
                most = most.max(search.run(&mut pass));
                found = pass.best;
                result.labels += pass.labels;
            }
            result.bound = result.bound.min(most);
        }
        if found.is_new {
            result.value = found.value;
            part.solve(found.remainder, known.multiplier);
            best.copy_from_slice(part.spend);
            write_items(prepared, choices, search, found.remainder, best);
        }
        result.bound = result.bound.max(result.value);
        result
    }
}

/// Writes the spends of the tasks that are not concave.
fn write_items(
    prepared: &PreparedProblem,
    choices: &Choices,
    search: &LabelSearch,
    remainder: f64,
    spend: &mut [f64],
) {
    for &closed in &choices.closed {
        spend[prepared.domains[closed as usize].task] = prepared.low[closed as usize];
    }
    let mut left = Sum::default();
    left.add(prepared.residual - remainder);
    for (choice, &item) in choices.choices.iter().zip(&search.items) {
        let (domain, item) = (choice.domain as usize, choices.items[item as usize]);
        left.add(prepared.low[domain] - item.spend);
        spend[prepared.domains[domain].task] = item.spend;
    }
    if let Some(open) = search.open {
        let choice = choices.choices[open as usize];
        let item = search.items[open as usize];
        let (low, high) = (choices.items[item as usize], choices.items[item as usize + 1]);
        let task = prepared.domains[choice.domain as usize].task;
        spend[task] = (low.spend + left.value()).clamp(low.spend, high.spend);
    }
}
