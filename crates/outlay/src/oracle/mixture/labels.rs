//! The label search of a mixture.
//!
//! A label takes an item of every task that is not concave: the reference item, or another one for
//! tasks whose stages have passed. At most one task of a label is *open*: it may spend anything on
//! the linear segment from its item to the next one. The concave tasks get the rest of the budget.
//! The dual bound less the reduced costs of a label, less the [penalty](super::penalty) of its
//! remainder, bounds all its completions.
//!
//! A label is dropped if its bound does not exceed the best known value, or if another one spends no
//! more and gains no less. The largest bound of the dropped labels is part of the final bound.

use super::items::{Choice, Choices, UNITS};
use super::penalty::{Penalty, Ratios, Span};
use super::pricing::Priced;
use super::remainder::{ConcavePart, Remainder};

/// A partial solution, relative to the reference items.
#[derive(Debug, Clone, Copy)]
struct Label {
    /// Spend of all items above the lower bounds, in units.
    units: i64,
    /// Change of value, and sum of reduced costs.
    gain: f64,
    reduced_cost: f64,
    count: i32,
    trace: u32,
    /// The length of the open segment in units, and its slope; zero if none is open.
    length: i64,
    slope: f64,
}

/// Another item than the reference item of a task, perhaps with the segment after it open.
#[derive(Debug, Clone, Copy)]
struct Alternative {
    choice: u32,
    item: u32,
    units: i64,
    gain: f64,
    reduced_cost: f64,
    count: i32,
    length: i64,
    slope: f64,
}

/// The alternatives `first..last` of one task; those from `open` on have an open segment.
#[derive(Debug, Clone, Copy)]
struct Stage {
    first: u32,
    open: u32,
    last: u32,
    /// The ratios of this stage, and those of all later ones.
    ratios: Ratios,
    later: Ratios,
}

#[derive(Debug, Clone, Copy)]
struct Trace {
    predecessor: u32,
    choice: u32,
    item: u32,
    is_open: bool,
}

/// The best known solution.
#[derive(Debug, Clone, Copy)]
pub(super) struct Best {
    pub(super) value: f64,
    /// The budget of the concave tasks.
    pub(super) remainder: f64,
    /// Whether [`LabelSearch::items`] holds it.
    pub(super) is_new: bool,
}

/// Tolerance and limits of a search.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Relative improvements that are not looked for.
    pub(super) tolerance: f64,
    pub(super) max_labels: u64,
    pub(super) residual: f64,
}

/// Buffers kept between calls.
#[derive(Debug, Default)]
pub(super) struct LabelSearch {
    /// The items of the best solution, and the task that is open in it.
    pub(super) items: Vec<u32>,
    pub(super) open: Option<u32>,
    alternatives: Vec<Alternative>,
    stages: Vec<Stage>,
    labels: Vec<Label>,
    open_labels: Vec<Label>,
    next: Vec<Label>,
    next_open: Vec<Label>,
    traces: Vec<Trace>,
    /// Segments next to the reference items of tasks without a stage.
    segments: Vec<Alternative>,
    reduced_costs: Vec<f64>,
}

/// One search: the problem, the multipliers and the best known solution.
pub(super) struct Search<'a, 'b> {
    pub(super) choices: &'a Choices,
    pub(super) reference: &'a [u32],
    pub(super) priced: Priced,
    pub(super) remainder: &'a mut Remainder,
    pub(super) part: &'a mut ConcavePart<'b>,
    pub(super) limits: Limits,
    pub(super) best: Best,
    /// Labels kept so far.
    pub(super) labels: u64,
    /// The largest bound among the labels and alternatives that were dropped.
    dropped: f64,
    /// The penalty of a label that is not extended further.
    last: Penalty,
}

const NONE: u32 = u32::MAX;
/// The first pass has about this many alternatives; the limit on the reduced cost then grows by
/// this factor.
const FIRST_ALTERNATIVES: usize = 48;
const LIMIT_GROWTH: f64 = 4.0;
/// Label spends stay below this, so that sums do not overflow.
const MAX_UNITS: i64 = 3 << 61;
/// Lines added for one label.
const MAX_REFINEMENTS: usize = 8;
/// An open label is compared with this many others.
const COMPARED: usize = 8;
/// Spends that exceed the budget by this share of it are rounding.
const SLACK: f64 = 4.0 * f64::EPSILON;

impl<'a, 'b> Search<'a, 'b> {
    #[allow(
        clippy::too_many_arguments,
        reason = "the parts of one search, each with its own owner"
    )]
    pub(super) fn new(
        choices: &'a Choices,
        reference: &'a [u32],
        priced: Priced,
        remainder: &'a mut Remainder,
        part: &'a mut ConcavePart<'b>,
        limits: Limits,
        best: Best,
    ) -> Self {
        let slack = SLACK * UNITS / choices.per_spend;
        let multiplier = priced.multipliers.spend;
        let last = Penalty::new(remainder, multiplier, priced.remainder, slack, Ratios::NONE);
        let dropped = f64::NEG_INFINITY;
        Self { choices, reference, priced, remainder, part, limits, best, labels: 0, dropped, last }
    }

    fn threshold(&self) -> f64 {
        self.best.value + self.limits.tolerance * self.best.value
    }

    /// Alternatives with at least this reduced cost are not part of a better solution.
    fn gap(&self) -> f64 {
        self.priced.bound - self.threshold()
    }

    fn drop_bound(&mut self, bound: f64) {
        self.dropped = self.dropped.max(bound);
    }

    fn per_unit(&self) -> f64 {
        1.0 / self.choices.per_spend
    }

    fn slack(&self) -> f64 {
        SLACK * UNITS * self.per_unit()
    }

    fn span(&self, label: &Label) -> Span {
        Span {
            left: self.limits.residual - label.units as f64 * self.per_unit(),
            length: label.length as f64 * self.per_unit(),
            slope: label.slope,
        }
    }

    fn penalty(&self, ratios: Ratios) -> Penalty {
        let (multiplier, surplus) = (self.priced.multipliers.spend, self.priced.remainder);
        Penalty::new(self.remainder, multiplier, surplus, self.slack(), ratios)
    }

    fn bound(&self, label: &Label, penalty: &Penalty) -> f64 {
        let least = penalty.least(self.remainder, self.span(label));
        self.priced.bound - label.reduced_cost - least
    }

    /// Whether some completion may beat the best known value; if not, the bound is recorded.
    fn can_improve(&mut self, label: &Label, penalty: &Penalty) -> bool {
        let bound = self.bound(label, penalty);
        if bound > self.threshold() && label.units < MAX_UNITS {
            return true;
        }
        self.drop_bound(bound);
        false
    }

    /// Gives the rest of the budget to the open segment and the concave tasks, if that may be
    /// better than the best known solution; true if it is.
    fn complete(&mut self, label: &Label) -> bool {
        let Span { left, length, slope } = self.span(label);
        let mut is_better = false;
        if left < -self.slack() {
            return false;
        }
        // The spends of the items are rounded down to units.
        if left < self.reference.len() as f64 * self.per_unit() {
            let bound = self.bound(label, &self.last);
            self.drop_bound(bound);
            return false;
        }
        for _ in 0..MAX_REFINEMENTS {
            let bound = self.bound(label, &self.last);
            if bound <= self.threshold() {
                self.drop_bound(bound);
                return is_better;
            }
            let inner = if length > 0.0 { self.remainder.best_surplus(slope).0 } else { left };
            let budget = inner.clamp((left - length).max(0.0), left.max(0.0));
            let (value, line) = self.part.solve(budget, self.priced.multipliers.spend);
            let value =
                self.priced.value + label.gain + slope * (left - budget).clamp(0.0, length) + value;
            if value > self.best.value {
                self.best = Best { value, remainder: budget, is_new: true };
                is_better = true;
            }
            let lines = self.remainder.lines.len();
            self.remainder.add(line);
            if self.remainder.lines.len() == lines {
                break;
            }
        }
        let bound = self.bound(label, &self.last);
        self.drop_bound(bound);
        is_better
    }
}

impl LabelSearch {
    /// Improves the best known solution and returns an upper bound on the solutions within the
    /// limit of the multipliers.
    ///
    /// The first passes take only the alternatives with the smallest reduced costs: a better
    /// solution leaves fewer of them below the gap. The last pass has all of them.
    pub(super) fn run(&mut self, search: &mut Search<'_, '_>) -> f64 {
        let mut limit = self.first_limit(search);
        let mut most = 2 * FIRST_ALTERNATIVES;
        loop {
            limit = limit.min(search.gap());
            search.dropped = f64::NEG_INFINITY;
            self.collect(search, limit, most);
            let is_cut = self.alternatives.len() >= most;
            let is_done = self.pass(search);
            let gap = search.gap();
            if is_done && is_cut && gap > 0.0 {
                // Many items have about the same reduced cost.
                most *= 2;
                continue;
            }
            if !is_done || limit >= gap {
                return search.dropped.max(search.best.value).min(search.priced.bound);
            }
            limit = (limit * LIMIT_GROWTH).max(gap / LIMIT_GROWTH.powi(3));
        }
    }

    /// A reduced cost that `FIRST_ALTERNATIVES` alternatives stay below.
    fn first_limit(&mut self, search: &Search<'_, '_>) -> f64 {
        self.reduced_costs.clear();
        for (choice, &reference) in search.choices.choices.iter().zip(search.reference) {
            let reduced_cost = reduced_costs(search, reference);
            let others = (choice.first..choice.last).filter(|item| *item != reference);
            self.reduced_costs.extend(others.map(reduced_cost));
        }
        if self.reduced_costs.len() <= FIRST_ALTERNATIVES {
            return f64::INFINITY;
        }
        *self.reduced_costs.select_nth_unstable_by(FIRST_ALTERNATIVES, f64::total_cmp).1
    }

    /// Lists the alternatives with a reduced cost below `limit` as stages, and the segments next to
    /// the reference items of the other tasks. After `most` alternatives no further stage is made.
    fn collect(&mut self, search: &mut Search<'_, '_>, limit: f64, most: usize) {
        self.alternatives.clear();
        self.stages.clear();
        self.segments.clear();
        let choices = search.choices;
        let mut dropped = f64::INFINITY;
        for position in 0..choices.choices.len() {
            let choice = choices.choices[position];
            let first = self.alternatives.len();
            let limit = if first >= most { 0.0 } else { limit };
            dropped = dropped.min(self.collect_items(search, position, limit));
            let open = self.alternatives.len();
            dropped = dropped.min(self.collect_segments(search, position, limit));
            let reference = search.reference[position];
            let is_stage = self.alternatives[first..].iter().any(|alternative| {
                let end = alternative.item + u32::from(alternative.length > 0);
                alternative.item != reference && end != reference
            });
            if !is_stage {
                self.segments.extend(self.alternatives.drain(first..));
                continue;
            }
            let ratios = self.ratios(search, &choice, reference, first);
            let last = self.alternatives.len() as u32;
            let later = Ratios::NONE;
            self.stages.push(Stage { first: first as u32, open: open as u32, last, ratios, later });
        }
        search.drop_bound(search.priced.bound - dropped);
        self.order_stages(search);
    }

    fn collect_items(&mut self, search: &Search<'_, '_>, position: usize, limit: f64) -> f64 {
        let (choice, reference) = (search.choices.choices[position], search.reference[position]);
        let (items, from) = (&search.choices.items, search.choices.items[reference as usize]);
        let reduced_cost = reduced_costs(search, reference);
        let mut dropped = f64::INFINITY;
        for item in (choice.first..choice.last).filter(|item| *item != reference) {
            let to = items[item as usize];
            // The end of a flat stretch is no better than its beginning.
            if item > choice.first && items[item as usize - 1].value >= to.value {
                continue;
            }
            let reduced_cost = reduced_cost(item);
            if reduced_cost >= limit {
                dropped = dropped.min(reduced_cost);
                continue;
            }
            self.alternatives.push(Alternative {
                choice: position as u32,
                item,
                units: to.units - from.units,
                gain: to.value - from.value,
                reduced_cost,
                count: to.count - from.count,
                length: 0,
                slope: 0.0,
            });
        }
        dropped
    }

    /// Lists the segments with a reduced cost below `limit`, as far as it is.
    fn collect_segments(&mut self, search: &Search<'_, '_>, position: usize, limit: f64) -> f64 {
        let (choice, reference) = (search.choices.choices[position], search.reference[position]);
        let (items, from) = (&search.choices.items, search.choices.items[reference as usize]);
        let reduced_cost = reduced_costs(search, reference);
        let mut dropped = f64::INFINITY;
        for item in (choice.first..choice.last).filter(|&item| items[item as usize].is_open) {
            let (low, high) = (items[item as usize], items[item as usize + 1]);
            let (at_low, at_high) = (reduced_cost(item), reduced_cost(item + 1));
            let length = high.units - low.units;
            if at_low.min(at_high) >= limit || length <= 0 {
                dropped = dropped.min(at_low.min(at_high));
                continue;
            }
            let mut alternative = Alternative {
                choice: position as u32,
                item,
                units: low.units - from.units,
                gain: low.value - from.value,
                reduced_cost: at_low,
                count: low.count - from.count,
                length,
                slope: (high.value - low.value) / (length as f64 * search.per_unit()),
            };
            if at_low > limit || at_high > limit {
                dropped = dropped.min(limit);
                alternative.trim(at_high, limit, search.per_unit());
            }
            self.alternatives.push(alternative);
        }
        dropped
    }

    /// The ratios of the alternatives from `first` on. On a segment they are smallest at an end.
    fn ratios(
        &self,
        search: &Search<'_, '_>,
        choice: &Choice,
        reference: u32,
        first: usize,
    ) -> Ratios {
        let items = &search.choices.items;
        let from = items[reference as usize];
        let reduced_cost = reduced_costs(search, reference);
        let mut ratios = Ratios::NONE;
        for alternative in &self.alternatives[first..] {
            let end = (alternative.item + u32::from(alternative.length > 0)).min(choice.last - 1);
            for item in [alternative.item, end] {
                let units = items[item as usize].units - from.units;
                ratios.consider(units as f64 * search.per_unit(), reduced_cost(item));
            }
        }
        ratios
    }

    /// Sorts the stages by their smallest ratio, and the other segments so that each is longer than
    /// those with a smaller reduced cost per unit; shorter ones are dropped.
    fn order_stages(&mut self, search: &Search<'_, '_>) {
        let alternatives = &self.alternatives;
        self.stages.sort_unstable_by(|a, b| {
            let efficiency = |stage: &Stage| stage.ratios.up.min(stage.ratios.down);
            let choice = |stage: &Stage| alternatives[stage.first as usize].choice;
            efficiency(a).total_cmp(&efficiency(b)).then(choice(a).cmp(&choice(b)))
        });
        let multiplier = search.priced.multipliers.spend;
        let cost = |segment: &Alternative| (multiplier - segment.slope).abs();
        self.segments.sort_unstable_by(|a, b| {
            cost(a).total_cmp(&cost(b)).then(b.length.cmp(&a.length)).then(a.item.cmp(&b.item))
        });
        let mut later = Ratios::NONE;
        let mut longest = [0i64; 2];
        self.segments.retain(|segment| {
            let is_up = segment.units == 0;
            let side = if is_up { &mut later.up } else { &mut later.down };
            *side = side.min(cost(segment));
            let longest = &mut longest[usize::from(is_up)];
            let is_kept = segment.length > *longest;
            *longest = segment.length.max(*longest);
            is_kept
        });
        for stage in self.stages.iter_mut().rev() {
            stage.later = later;
            later = later.min(stage.ratios);
        }
    }

    /// Expands all stages; false if there are too many labels.
    fn pass(&mut self, search: &mut Search<'_, '_>) -> bool {
        self.traces.clear();
        self.labels.clear();
        self.open_labels.clear();
        let root = Label {
            units: search.priced.units,
            gain: 0.0,
            reduced_cost: 0.0,
            count: 0,
            trace: NONE,
            length: 0,
            slope: 0.0,
        };
        self.labels.push(root);
        self.complete(search, &root);
        for position in 0..self.stages.len() {
            let stage = self.stages[position];
            let work = self.labels.len() as u64 * u64::from(stage.last - stage.first + 1)
                + self.open_labels.len() as u64 * u64::from(stage.open - stage.first + 1);
            let has_room = self.traces.len() as u64 + work < u64::from(NONE);
            if search.labels + work > search.limits.max_labels || !has_room {
                self.bound_open_labels(search, stage.ratios.min(stage.later));
                return false;
            }
            self.expand(search, stage);
            search.labels += (self.labels.len() + self.open_labels.len()) as u64;
        }
        self.complete_by_segments(search);
        true
    }

    /// Stops with labels still open: their bounds become part of the final one.
    fn bound_open_labels(&mut self, search: &mut Search<'_, '_>, ratios: Ratios) {
        let penalty = search.penalty(ratios);
        for label in self.labels.iter().chain(&self.open_labels) {
            let bound = search.bound(label, &penalty);
            search.drop_bound(bound);
        }
    }

    fn expand(&mut self, search: &mut Search<'_, '_>, stage: Stage) {
        let penalty = search.penalty(stage.later);
        self.next.clear();
        self.next_open.clear();
        let labels = std::mem::take(&mut self.labels);
        for label in &labels {
            if search.can_improve(label, &penalty) {
                self.next.push(*label);
            }
            for position in stage.first..stage.last {
                self.extend(search, label, position, &penalty);
            }
        }
        self.labels = labels;
        let open_labels = std::mem::take(&mut self.open_labels);
        for label in &open_labels {
            if search.can_improve(label, &penalty) {
                self.next_open.push(*label);
            }
            for position in stage.first..stage.open {
                self.extend(search, label, position, &penalty);
            }
        }
        self.open_labels = open_labels;
        self.drop_dominated(search);
        std::mem::swap(&mut self.labels, &mut self.next);
        std::mem::swap(&mut self.open_labels, &mut self.next_open);
    }

    /// Adds a label with one more alternative, unless no completion is better than the best known
    /// solution.
    fn extend(
        &mut self,
        search: &mut Search<'_, '_>,
        label: &Label,
        position: u32,
        penalty: &Penalty,
    ) {
        let alternative = self.alternatives[position as usize];
        let mut new = label.after(&alternative);
        if !search.can_improve(&new, penalty) {
            return;
        }
        new.trace = self.traces.len() as u32;
        self.traces.push(Trace {
            predecessor: label.trace,
            choice: alternative.choice,
            item: alternative.item,
            is_open: alternative.length > 0,
        });
        self.complete(search, &new);
        if new.length > 0 { &mut self.next_open } else { &mut self.next }.push(new);
    }

    /// Completes a label and keeps the solution if it is the best one.
    fn complete(&mut self, search: &mut Search<'_, '_>, label: &Label) {
        if search.complete(label) {
            self.items.clear();
            self.items.extend_from_slice(search.reference);
            self.open = None;
            let mut at = label.trace;
            while at != NONE {
                let trace = self.traces[at as usize];
                self.items[trace.choice as usize] = trace.item;
                self.open = if trace.is_open { Some(trace.choice) } else { self.open };
                at = trace.predecessor;
            }
        }
    }

    /// Completes the labels after the last stage by a segment of a task without a stage.
    fn complete_by_segments(&mut self, search: &mut Search<'_, '_>) {
        for position in 0..self.labels.len() {
            for segment in 0..self.segments.len() {
                let (label, alternative) = (self.labels[position], self.segments[segment]);
                let new = label.after(&alternative);
                let bound = search.bound(&new, &search.last);
                if bound <= search.threshold() {
                    search.drop_bound(bound);
                    continue;
                }
                self.traces.push(Trace {
                    predecessor: label.trace,
                    choice: alternative.choice,
                    item: alternative.item,
                    is_open: true,
                });
                let trace = self.traces.len() as u32 - 1;
                self.complete(search, &Label { trace, ..new });
            }
        }
    }

    /// Drops the new labels that another one dominates.
    fn drop_dominated(&mut self, search: &Search<'_, '_>) {
        self.next.sort_unstable_by(Label::order);
        let (mut count, mut most) = (i32::MIN, f64::NEG_INFINITY);
        self.next.retain(|label| {
            if label.count != count {
                (count, most) = (label.count, f64::NEG_INFINITY);
            }
            let is_kept = label.gain > most;
            most = most.max(label.gain);
            is_kept
        });
        self.next_open.sort_unstable_by(Label::order);
        let (per_unit, mut kept) = (search.per_unit(), 0);
        for position in 0..self.next_open.len() {
            let label = self.next_open[position];
            let spends_less =
                |other: &Label| (other.count, other.units) <= (label.count, label.units);
            let before = self.next.partition_point(spends_less).checked_sub(1);
            let best = before.map(|before| self.next[before]).filter(|l| l.count == label.count);
            let is_dominated = best.is_some_and(|best| best.dominates(&label, per_unit))
                || self.next_open[kept.max(COMPARED) - COMPARED..kept]
                    .iter()
                    .any(|other| other.dominates(&label, per_unit));
            if !is_dominated {
                self.next_open[kept] = label;
                kept += 1;
            }
        }
        self.next_open.truncate(kept);
    }
}

/// The reduced cost of each item of a task.
fn reduced_costs<'s>(search: &'s Search<'_, '_>, reference: u32) -> impl Fn(u32) -> f64 + use<'s> {
    let (choices, multipliers) = (search.choices, search.priced.multipliers);
    let most = choices.surplus(reference, multipliers);
    move |item| (most - choices.surplus(item, multipliers)).max(0.0)
}

impl Alternative {
    /// Keeps the part of the segment with a reduced cost below `limit`; it is `at_end` at the end.
    fn trim(&mut self, at_end: f64, limit: f64, per_unit: f64) {
        let share = ((limit - self.reduced_cost) / (at_end - self.reduced_cost)).clamp(0.0, 1.0);
        let cut = (self.length as f64 * share) as i64;
        if at_end > limit {
            self.length = cut + 1;
            return;
        }
        let cut = (cut - 1).max(0);
        self.reduced_cost += (at_end - self.reduced_cost) * (cut as f64 / self.length as f64);
        self.units += cut;
        self.gain += self.slope * (cut as f64 * per_unit);
        self.length -= cut;
    }
}

impl Label {
    fn after(&self, alternative: &Alternative) -> Self {
        let is_open = alternative.length > 0;
        Self {
            units: self.units + alternative.units,
            gain: self.gain + alternative.gain,
            reduced_cost: self.reduced_cost + alternative.reduced_cost,
            count: self.count + alternative.count,
            trace: NONE,
            length: if is_open { alternative.length } else { self.length },
            slope: if is_open { alternative.slope } else { self.slope },
        }
    }

    /// By count, then by increasing spend, then by decreasing gain.
    fn order(a: &Self, b: &Self) -> std::cmp::Ordering {
        let order = a.count.cmp(&b.count).then(a.units.cmp(&b.units));
        order.then(b.gain.total_cmp(&a.gain)).then(a.trace.cmp(&b.trace))
    }

    /// The gain at a total spend of this many units, which is at least that of the items.
    fn gain_at(&self, units: i64, per_unit: f64) -> f64 {
        self.gain + self.slope * ((units - self.units).min(self.length) as f64 * per_unit)
    }

    /// Whether every spend of the other label, which spends no less, gains no more. A gain is
    /// concave in the spend, so the two ends of the other segment decide.
    fn dominates(&self, other: &Self, per_unit: f64) -> bool {
        let end = other.units + other.length;
        self.count == other.count
            && self.gain_at(other.units, per_unit) >= other.gain
            && self.gain_at(end, per_unit) >= other.gain_at(end, per_unit)
    }
}
