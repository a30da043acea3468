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
//! | a second multiplier, on the number of funded tasks | `cardinality` |
//! | the cost of a remainder of another size | `penalty` |
//! | bounds on labels and their completion | `completion` |
//! | the alternatives of a pass | `alternatives` |
//! | the passes of the [label search](super::labels) | `search` |
//!
//! Branch and bound closes most such problems in few nodes; this search takes over after
//! [`FIRST_NODES`].

mod alternatives;
mod cardinality;
mod completion;
mod items;
mod penalty;
mod pricing;
mod remainder;
mod search;

use super::cancel::Cancel;
use super::multiplier::{Relaxation, View};
use super::prepared::PreparedProblem;
use super::tolerances::OPTIMAL_GAP;
use super::{DEFAULT_TOLERANCE, Options};
use crate::numeric::compensated::Sum;
use cardinality::Case;
use completion::{Best, Call, Search};
use items::Choices;
use pricing::{Multipliers, Priced};
use remainder::{ConcavePart, Remainder};
use search::LabelSearch;

/// Branch and bound has this many nodes before the label search.
pub(super) const FIRST_NODES: u64 = 256;
/// Improvements below this share of the value are not looked for; their bound is kept.
const MIN_IMPROVEMENT: f64 = 1e-14;
/// The same with a second multiplier: a pair of multipliers is no more accurate than this.
const MIN_IMPROVEMENT_OF_PAIR: f64 = 2.5e-13;
/// A number of tasks this close to a whole one is whole.
const WHOLE_COUNT: f64 = 1e-9;
/// The labels of the search without a second multiplier, if one may help.
const FIRST_LABELS: u64 = 1 << 16;

/// Buffers kept between calls.
#[derive(Debug, Default)]
pub(super) struct Mixture {
    choices: Choices,
    remainder: Remainder,
    search: LabelSearch,
    /// The reference items at the multiplier of the relaxation, and at a pair of multipliers.
    relaxed_reference: Vec<u32>,
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
    pub(super) fn set_cancel(&mut self, cancel: &Cancel) {
        self.search.list.cancel = cancel.clone();
    }

    /// The number of labels traced in the last search.
    #[cfg(test)]
    pub(super) fn traced(&self) -> usize {
        self.search.list.traced()
    }

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
        (best, trial): (&mut [f64], &mut [f64]),
    ) -> MixtureResult {
        let Self { choices, remainder, search, relaxed_reference, reference } = self;
        let view = View { others: &choices.concave, sample: None, ..prepared.view() };
        let is_empty =
            choices.concave.is_empty() && !choices.has_sigmoids && prepared.concave.len() == 0;
        let mut call = Call {
            choices,
            remainder,
            part: ConcavePart { view, relaxation, spend: trial, is_empty },
            residual: prepared.residual,
            max_labels: options.max_labels,
            labels: 0,
            best: Best { value: known.value, remainder: 0.0, open: None, is_new: false },
        };
        let tolerance = options.tolerance;
        let tolerance = if tolerance > DEFAULT_TOLERANCE { tolerance } else { 0.0 };
        let bound = call.search(search, (relaxed_reference, reference), known, tolerance);
        let Call { part, best: found, labels, .. } = &mut call;
        if found.is_new {
            part.solve(found.remainder, known.multiplier);
            best.copy_from_slice(part.spend);
            write_items(prepared, choices, &search.items, *found, best);
        }
        MixtureResult { value: found.value, bound: bound.max(found.value), labels: *labels }
    }
}

impl Call<'_, '_> {
    /// Searches without, then with a second multiplier; returns the bound.
    fn search(
        &mut self,
        search: &mut LabelSearch,
        (relaxed_reference, reference): (&mut Vec<u32>, &mut Vec<u32>),
        known: Known,
        tolerance: f64,
    ) -> f64 {
        let relaxed = self.start(known.multiplier, relaxed_reference);
        let bound = self.search_once(search, relaxed_reference, relaxed, tolerance);
        let bound = known.bound.min(bound);
        if !(relaxed.count > 0.0 && self.is_open(bound, tolerance)) {
            return bound;
        }
        let references = (&relaxed_reference[..], reference);
        bound.min(self.search_both_cases(search, references, relaxed, tolerance))
    }

    /// Finds the first lines of the remainder, and the reference items at the multiplier of the
    /// relaxation.
    fn start(&mut self, multiplier: f64, reference: &mut Vec<u32>) -> Priced {
        let at = Multipliers { spend: multiplier, count: 0.0, limit: 0.0 };
        self.remainder.lines.clear();
        let priced = self.choices.price(at, self.remainder, self.residual, reference);
        let center = (self.residual - priced.demand).clamp(0.0, self.residual);
        self.remainder.start(&mut self.part, center, self.residual, multiplier);
        self.price(at, reference)
    }

    /// The dual function with lines of the remainder where they are needed.
    fn price(&mut self, at: Multipliers, reference: &mut Vec<u32>) -> Priced {
        self.remainder.tight_surplus(&mut self.part, at.spend);
        let Some(unit) = self.choices.common_unit else {
            return self.choices.price(at, self.remainder, self.residual, reference);
        };
        self.remainder.refine_multiples(&mut self.part, at.spend, unit);
        let mut priced = self.choices.price(at, self.remainder, self.residual, reference);
        let surplus = priced.remainder;
        priced.least_penalty = self.remainder.multiples_penalty(at.spend, surplus, unit);
        priced.bound -= priced.least_penalty;
        priced
    }

    /// Whether a bound is above the best known value by more than the tolerance.
    fn is_open(&self, bound: f64, tolerance: f64) -> bool {
        bound > self.best.value * (1.0 + tolerance.max(OPTIMAL_GAP))
    }

    /// Searches without a limit on the number of funded tasks; returns the bound.
    fn search_once(
        &mut self,
        search: &mut LabelSearch,
        reference: &[u32],
        relaxed: Priced,
        tolerance: f64,
    ) -> f64 {
        let max_labels = self.max_labels;
        if relaxed.count > 0.0 {
            self.max_labels = max_labels.min(FIRST_LABELS);
        }
        let tolerance = tolerance.max(MIN_IMPROVEMENT);
        let bound = search.run(&mut Search::new(self, reference, relaxed, None, tolerance));
        self.max_labels = max_labels;
        bound
    }

    /// Searches with an upper, then with a lower limit on the number of funded tasks; returns the
    /// larger bound.
    fn search_both_cases(
        &mut self,
        search: &mut LabelSearch,
        (relaxed_reference, reference): (&[u32], &mut Vec<u32>),
        relaxed: Priced,
        tolerance: f64,
    ) -> f64 {
        let max_labels = self.max_labels;
        let Call { choices, residual, .. } = *self;
        let case = Case { choices, remainder: self.remainder, residual, limit: 0.0, sign: 1.0 };
        let limit = (case.relaxed_count(&relaxed, reference) + WHOLE_COUNT).floor();
        let mut most = f64::NEG_INFINITY;
        for (limit, sign) in [(limit, 1.0), (limit + 1.0, -1.0)] {
            let case = Case { choices, remainder: self.remainder, residual, limit, sign };
            let at = case.multipliers(&relaxed, reference);
            let mut priced = self.price(at, reference);
            if !self.is_open(priced.bound, tolerance) {
                most = most.max(priced.bound);
                continue;
            }
            choices.prefer(relaxed_reference, reference, &mut priced);
            // The second case has at least half of the labels that are left.
            let left = max_labels - self.labels.min(max_labels);
            self.max_labels = if sign > 0.0 { max_labels - left / 2 } else { max_labels };
            let tolerance = tolerance.max(MIN_IMPROVEMENT_OF_PAIR);
            let mut case = Search::new(self, reference, priced, Some(relaxed), tolerance);
            most = most.max(search.run(&mut case));
        }
        self.max_labels = max_labels;
        most
    }
}

/// Writes the spends of the tasks that are not concave.
fn write_items(
    prepared: &PreparedProblem,
    choices: &Choices,
    items: &[u32],
    found: Best,
    spend: &mut [f64],
) {
    for &closed in &choices.closed {
        spend[prepared.domains[closed as usize].task] = prepared.low[closed as usize];
    }
    let mut left = Sum::default();
    left.add(prepared.residual - found.remainder);
    for (choice, &item) in choices.choices.iter().zip(items) {
        let (domain, item) = (choice.domain as usize, choices.items[item as usize]);
        left.add(prepared.low[domain] - item.spend);
        spend[prepared.domains[domain].task] = item.spend;
    }
    if let Some(open) = found.open {
        let choice = choices.choices[open as usize];
        let item = items[open as usize];
        let (low, high) = (choices.items[item as usize], choices.items[item as usize + 1]);
        let task = prepared.domains[choice.domain as usize].task;
        spend[task] = (low.spend + left.value()).clamp(low.spend, high.spend);
    }
}
