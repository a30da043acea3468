//! One search at given multipliers: bounds on labels, and their completion.
//!
//! A label takes an item of every task that is not concave. At most one task of a label is *open*:
//! it may spend anything on the linear segment from its item to the next one. The concave tasks get
//! the rest of the budget. The dual bound less the reduced costs of a label, less the
//! [penalty](super::penalty) of its remainder, bounds all its completions.

use super::items::{Choices, UNITS};
use super::penalty::{Penalty, Span};
use super::pricing::Priced;
use super::remainder::{ConcavePart, Remainder};
use crate::oracle::labels::{
    Alternative, Cardinality, Completion, CostLimits, Incumbent, Key, Label, LinearCut, Ratios,
    Stage, Verdict,
};

/// The linear segment after an item.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Segment {
    pub(super) choice: u32,
    /// The length in units, zero if the segment is not open, and the gain per unit.
    pub(super) length: i64,
    pub(super) slope: f64,
}

/// The state of a label: its funded tasks and reduced costs, and the open segment.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct MixtureKey {
    pub(super) cardinality: Cardinality,
    pub(super) segment: Segment,
}

impl Key for MixtureKey {
    type Segment = Segment;
    const IS_MERGED: bool = false;

    fn count(self) -> i32 {
        self.cardinality.count
    }

    fn after(self, alternative: &Alternative<Segment>) -> Self {
        let is_open = alternative.segment.length > 0;
        Self {
            cardinality: self.cardinality.with(alternative),
            segment: if is_open { alternative.segment } else { self.segment },
        }
    }

    fn reduced_cost(self, _: impl FnOnce() -> f64) -> f64 {
        self.cardinality.reduced_cost
    }

    fn open_segment(self) -> (i64, f64) {
        (self.segment.length, self.segment.slope)
    }
}

/// The best known solution.
#[derive(Debug, Clone, Copy)]
pub(super) struct Best {
    pub(super) value: f64,
    /// The budget of the concave tasks.
    pub(super) remainder: f64,
    /// The task with an open segment.
    pub(super) open: Option<u32>,
    /// Whether [`LabelSearch::items`](super::search::LabelSearch) holds it.
    pub(super) is_new: bool,
}

/// A call of the mixture search: the problem, its limits and the best known solution.
pub(super) struct Call<'a, 'b> {
    pub(super) choices: &'a Choices,
    pub(super) remainder: &'a mut Remainder,
    pub(super) part: ConcavePart<'b>,
    pub(super) residual: f64,
    pub(super) max_labels: u64,
    /// Labels kept so far.
    pub(super) labels: u64,
    pub(super) best: Best,
}

/// A search at one multiplier, or pair of multipliers.
pub(super) struct Search<'s, 'a, 'b> {
    pub(super) call: &'s mut Call<'a, 'b>,
    /// The item of each task that labels refer to.
    pub(super) reference: &'s [u32],
    pub(super) priced: Priced,
    pub(super) incumbent: Incumbent,
    /// The bound at the multiplier of the relaxation, if the search has a second multiplier.
    pub(super) relaxed: Option<Priced>,
    pub(super) cut: Option<LinearCut>,
    /// The penalty of a label that is extended by the later stages, and of one that is not.
    pub(super) later: Penalty,
    pub(super) last: Penalty,
}

/// Label spends stay below this, so that sums do not overflow.
const MAX_UNITS: i64 = 3 << 61;
/// Lines added for one label.
const MAX_REFINEMENTS: usize = 8;
/// Spends that exceed the budget by this share of it are rounding.
const SLACK: f64 = 4.0 * f64::EPSILON;

impl<'s, 'a, 'b> Search<'s, 'a, 'b> {
    /// A search from the reference items at `priced`. Improvements below the share `tolerance` of
    /// the value are not looked for.
    pub(super) fn new(
        call: &'s mut Call<'a, 'b>,
        reference: &'s [u32],
        priced: Priced,
        relaxed: Option<Priced>,
        tolerance: f64,
    ) -> Self {
        let incumbent = Incumbent {
            bound: priced.bound,
            value: call.best.value,
            tolerance,
            dropped_bound: f64::NEG_INFINITY,
        };
        let cut = relaxed.map(|relaxed| LinearCut {
            bound: relaxed.bound,
            unit_multiplier: relaxed.multipliers.spend / call.choices.per_spend,
            lp_units: relaxed.units,
            lp_gain: relaxed.value - priced.value,
        });
        let last = penalty(call, &priced, Ratios::NONE);
        Self { call, reference, priced, incumbent, relaxed, cut, later: last, last }
    }

    /// The gaps at the multipliers of the search and of the cut.
    pub(super) fn gaps(&self) -> CostLimits {
        let threshold = self.incumbent.threshold();
        let cut = self.cut.map_or(f64::INFINITY, |cut| cut.bound - threshold);
        CostLimits { own: self.incumbent.gap(), cut }
    }

    /// Sets the ratios of the stages that follow.
    pub(super) fn set_later(&mut self, ratios: Ratios) {
        self.later = penalty(self.call, &self.priced, ratios);
    }

    fn per_unit(&self) -> f64 {
        1.0 / self.call.choices.per_spend
    }

    fn span(&self, label: &Label<MixtureKey>) -> Span {
        let Segment { length, slope, .. } = label.key.segment;
        Span {
            left: (self.call.choices.capacity - label.spend) as f64 * self.per_unit(),
            length: length as f64 * self.per_unit(),
            slope: slope * self.call.choices.per_spend,
        }
    }

    /// A bound on the completions of a label by the later stages.
    pub(super) fn bound(&self, label: &Label<MixtureKey>, regret: f64) -> f64 {
        let own = self.own_bound(label, &self.later);
        self.cut.map_or(own, |cut| own.min(cut.bound(label, regret)))
    }

    /// A bound on the completion of a label without further stages.
    pub(super) fn last_bound(&self, label: &Label<MixtureKey>) -> f64 {
        let own = self.own_bound(label, &self.last);
        self.cut.map_or(own, |cut| own.min(cut.bound(label, 0.0)))
    }

    fn own_bound(&self, label: &Label<MixtureKey>, penalty: &Penalty) -> f64 {
        let mut least = penalty.least(self.call.remainder, self.span(label));
        if self.priced.least_penalty > 0.0 {
            // The bound is already lower by this.
            least = (least - self.priced.least_penalty).max(0.0);
        }
        self.priced.bound - label.key.cardinality.reduced_cost - least
    }

    /// Gives the rest of the budget to the open segment and the concave tasks, if that may be
    /// better than the best known solution; true if it is.
    pub(super) fn complete(&mut self, label: &Label<MixtureKey>) -> bool {
        let Span { left, length, slope } = self.span(label);
        if left < -slack(self.call.choices) {
            return false;
        }
        let mut is_better = false;
        // The spends of the items are rounded down to units.
        let is_exceeded = left < f64::from(self.call.choices.inexact) * self.per_unit();
        for _ in 0..if is_exceeded { 0 } else { MAX_REFINEMENTS } {
            if self.last_bound(label) <= self.incumbent.threshold() {
                break;
            }
            let inner = if length > 0.0 { self.call.remainder.best_surplus(slope).0 } else { left };
            let budget = inner.clamp((left - length).max(0.0), left.max(0.0));
            let (value, line) = self.call.part.solve(budget, self.priced.multipliers.spend);
            let along = slope * (left - budget).clamp(0.0, length);
            let value = self.priced.value + label.gain + along + value;
            if value > self.incumbent.value {
                let open = (length > 0.0).then_some(label.key.segment.choice);
                self.call.best = Best { value, remainder: budget, open, is_new: true };
                self.incumbent.value = value;
                is_better = true;
            }
            let lines = self.call.remainder.lines.len();
            self.call.remainder.add(line);
            if self.call.remainder.lines.len() == lines {
                break;
            }
        }
        let bound = self.last_bound(label);
        self.incumbent.drop_bound(bound);
        is_better
    }
}

impl Completion<MixtureKey> for Search<'_, '_, '_> {
    fn can_improve(&mut self, label: &Label<MixtureKey>, stage: &Stage) -> bool {
        let threshold = self.incumbent.threshold();
        let relaxed = self.cut.map_or(f64::INFINITY, |cut| cut.bound(label, stage.later_regret));
        let bound = if relaxed <= threshold {
            relaxed
        } else {
            self.own_bound(label, &self.later).min(relaxed)
        };
        if bound > threshold && label.spend < MAX_UNITS {
            return true;
        }
        self.incumbent.drop_bound(bound);
        false
    }

    fn examine(
        &mut self,
        label: &Label<MixtureKey>,
        stage: &Stage,
        _: impl Iterator<Item = (u32, u32)>,
    ) -> Verdict {
        let is_kept = self.can_improve(label, stage);
        Verdict { is_better: is_kept && self.complete(label), is_kept }
    }
}

fn slack(choices: &Choices) -> f64 {
    SLACK * UNITS / choices.per_spend
}

fn penalty(call: &Call<'_, '_>, priced: &Priced, ratios: Ratios) -> Penalty {
    // The search counts in units.
    let per_spend = call.choices.per_spend;
    let ratios = Ratios { up: ratios.up * per_spend, down: ratios.down * per_spend };
    let (multiplier, surplus) = (priced.multipliers.spend, priced.remainder);
    Penalty::new(call.remainder, multiplier, surplus, slack(call.choices), ratios)
}
