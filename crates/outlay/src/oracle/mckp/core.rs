//! The exact search over steps: which jumps to pay for when every curve is a step curve.
//!
//! This is the multiple-choice knapsack. The multiplier found by the relaxation gives every choice a
//! *loss* against the best one for its task at that multiplier; a choice whose loss exceeds the gap
//! cannot be part of a better split. What remains, the core, is searched by lists of partial
//! choices (Nemhauser and Ullmann's lists with the bounds of Pisinger's core algorithm): a partial
//! choice is dropped if another spends no more and gains no less, or if even the best completion
//! cannot beat the split already known. Spends are whole multiples of the budget's 2^-60, so sums
//! are exact and equal jumps really are equal.

use super::cardinality_bound;
use super::cardinality_labels::{CardinalityLabels, Known};
use super::items::{CAPACITY, Item, LpRelaxation, MckpInput, StepItems, UNITS, units};
use crate::oracle::{DEFAULT_TOLERANCE, Options, Outcome};
use crate::sum::Sum;

/// A partial choice: what it spends, what it gains over the start, and how it came about.
#[derive(Debug, Clone, Copy)]
struct Label {
    spend: i64,
    gain: f64,
    predecessor: u32,
    /// The choice just made, not yet on the trail.
    alternative: u32,
}

/// One departure from the start, remembered to trace a split back.
#[derive(Debug, Clone, Copy)]
struct Trace {
    before: u32,
    domain: u32,
    to: u32,
}

/// Another level for one domain: change of spend, change of value, and what it loses at the
/// multiplier.
#[derive(Debug, Clone, Copy)]
struct Alternative {
    to: u32,
    shift: i64,
    gain: f64,
    reduced_cost: f64,
}

/// A domain with choices left, and the least loss per unit of spend freed or added from here to
/// the end of the order.
#[derive(Debug, Clone, Copy)]
struct Stage {
    domain: u32,
    first: u32,
    last: u32,
    efficiency: f64,
    ratio_up: f64,
    ratio_down: f64,
    least_up: f64,
    least_down: f64,
}

/// Buffers of the search, kept between calls.
#[derive(Debug, Default)]
pub(in crate::oracle) struct CoreSearch {
    alternatives: Vec<Alternative>,
    stages: Vec<Stage>,
    labels: Vec<Label>,
    next: Vec<Label>,
    /// The partial choices of a stage so far, being merged with those of its next choice.
    merged: Vec<Label>,
    predecessor: Vec<Trace>,
    /// What some domains lose at least, to find out how many lose how much.
    sample: Vec<f64>,
    /// Choices kept by pruning, before they replace the others.
    pruned: Vec<Alternative>,
    /// Choices by change of spend: that change, the choice, its stage.
    by_shift: Vec<(i64, u32, u32)>,
    /// For each of them, the place of the best one up to it.
    best_fitting: Vec<u32>,
    cardinality: CardinalityLabels,
}

/// Where the search starts: the relaxation's homes and what they prove, and the best split known.
#[derive(Debug, Clone, Copy)]
struct CoreRoot<'a> {
    steps: &'a StepItems,
    input: MckpInput<'a>,
    root: LpRelaxation,
}

/// What the search found.
#[derive(Debug, Clone, Copy)]
struct CoreResult {
    value: f64,
    bound: f64,
    labels: u64,
    /// The trail to the split, if it is not the one that was known.
    predecessor: Option<u32>,
}

const NONE: u32 = u32::MAX;
/// So many new partial choices are weeded before more are made.
const WEEDED_FROM: usize = 1 << 20;
/// Partial choices of a stage with no more choices than this are merged; those of others are
/// sorted.
const MERGED_ALTERNATIVES: u32 = 4;
/// The split known is improved by the choices of so many domains first, and then by those that
/// lose so many times more.
const FIRST_CORE: usize = 96;
const GROWTH: f64 = 16.0;
/// So many domains are asked what they lose at least.
const SAMPLE: usize = 1024;
/// Fewer partial choices than this are no reason to count chords.
const MIN_LABEL_BUDGET: u64 = 1 << 15;
/// Partial choices that could improve by less than this share are dropped (their bound is kept).
const MIN_IMPROVEMENT: f64 = 1e-14;

impl CoreSearch {
    /// The best split of step curves: the levels chosen. Steps are settled to the last digit unless
    /// a coarse tolerance is asked for.
    pub(in crate::oracle) fn solve(
        &mut self,
        steps: &mut StepItems,
        input: MckpInput<'_>,
        last_multiplier: Option<f64>,
        options: &Options,
    ) -> Outcome {
        let tolerance = if options.tolerance > DEFAULT_TOLERANCE { options.tolerance } else { 0.0 };
        let root = steps.relax(input, last_multiplier);
        let LpRelaxation { multiplier, mut bound, mut value, left, .. } = root;
        let (mut left, mut labels) = (Some(left), 0);
        if !root.is_integral && root.bound - root.value > tolerance * root.value {
            let found = self.run(CoreRoot { steps, input, root }, tolerance, options);
            (value, bound, labels, left) = (found.value, found.bound, found.labels, None);
            self.write(found.predecessor, steps);
        }
        Outcome {
            value,
            bound,
            multiplier,
            node_multiplier: multiplier,
            is_flat: true,
            left,
            nodes: 1,
            labels,
        }
    }

    /// Writes the split that departs from the homes along a trail; none stands for the split that
    /// was known.
    fn write(&self, predecessor: Option<u32>, steps: &mut StepItems) {
        let Some(mut at) = predecessor else { return };
        steps.chosen.clone_from(&steps.lp_item);
        while at != NONE {
            let alternative = self.predecessor[at as usize];
            steps.chosen[alternative.domain as usize] = alternative.to;
            at = alternative.before;
        }
    }

    /// Improves the start as far as possible.
    fn run(&mut self, start: CoreRoot<'_>, tolerance: f64, options: &Options) -> CoreResult {
        let max_labels = options.max_labels;
        let mut run = SearchState::new(start, tolerance);
        self.predecessor.clear();
        equalize_capacity([&mut self.labels, &mut self.next, &mut self.merged]);
        equalize_capacity([&mut self.alternatives, &mut self.pruned]);
        let mut best = Label { spend: run.origin, gain: 0.0, predecessor: NONE, alternative: NONE };
        self.labels.push(best);
        self.collect_core(&mut run, &mut best);
        self.order();
        self.prune(&mut run);
        self.order();
        self.index_by_shift();
        let mut cap = None;
        for position in 0..self.stages.len() {
            let stage = self.stages[position];
            let work = self.labels.len() as u64 * u64::from(stage.last - stage.first);
            let is_crowded = run.labels + self.labels.len() as u64 > run.label_budget()
                || run.labels + work > max_labels;
            if cap.is_none() && is_crowded {
                cap = Some(self.count(&mut run, &mut best, options));
            }
            let is_closed = cap.is_some_and(|cap| {
                cap <= run.value * (1.0 + options.tolerance.max(MIN_IMPROVEMENT))
            });
            if is_closed
                || run.labels + work > max_labels
                || self.predecessor.len() as u64 + work >= u64::from(NONE)
            {
                run.bound_open_labels(&self.labels, &stage);
                break;
            }
            self.expand(stage, &mut run, &mut best);
            self.complete_labels(position, &mut run, &mut best);
        }
        let predecessor = (run.value > start.root.value).then_some(best.predecessor);
        let bound = run
            .dropped_bound
            .min(cap.unwrap_or(f64::INFINITY))
            .max(run.value)
            .min(start.root.bound);
        CoreResult { value: run.value, bound, labels: run.labels, predecessor }
    }

    /// The bound that counts chords, and perhaps a better split from the search under the multipliers
    /// that prove it. Where there are so many partial choices that this is called for, what was
    /// asked for is enough: the last digit is far.
    fn count(&mut self, run: &mut SearchState<'_>, best: &mut Label, options: &Options) -> f64 {
        let CoreRoot { steps, input, root } = run.start;
        let tolerance = options.tolerance.max(MIN_IMPROVEMENT);
        let cases = cardinality_bound::bounds(steps, input, root, run.value * (1.0 + tolerance));
        let mut bound = 0.0f64;
        for case in cases {
            if case.bound <= run.value * (1.0 + tolerance) {
                bound = bound.max(case.bound);
                continue;
            }
            let known = Known {
                value: run.value,
                tolerance: run.tolerance,
                max_labels: options.max_labels.saturating_sub(run.labels),
            };
            let found = self.cardinality.run(steps, input, case, known);
            run.labels += found.labels;
            bound = bound.max(found.bound);
            if found.is_better {
                self.adopt_cardinality_split(run, best);
            }
        }
        bound
    }

    /// Takes the split of the search under two multipliers as departures from the homes.
    fn adopt_cardinality_split(&mut self, run: &mut SearchState<'_>, best: &mut Label) {
        let CoreRoot { steps, input, root } = run.start;
        let (mut predecessor, mut spend, mut gain) = (NONE, run.origin, Sum::default());
        for (domain, (&to, &from)) in self
            .cardinality
            .items
            .iter()
            .zip(&steps.lp_item)
            .enumerate()
            .filter(|(_, (to, from))| to != from)
        {
            let alternative = run.alternative(input.weights[domain], steps.item(from), to);
            gain.add(alternative.gain);
            spend += alternative.shift;
            self.predecessor.push(Trace { before: predecessor, domain: domain as u32, to });
            predecessor = self.predecessor.len() as u32 - 1;
        }
        if run.improves(spend, gain.value()) {
            run.value = root.lp_value + gain.value();
            *best = Label { spend, gain: gain.value(), predecessor, alternative: NONE };
        }
    }

    /// Lists the choices that matter. The fewer of them the better the split known: so that one is
    /// first improved by the choices that lose least, then by more of them, until all are listed
    /// that lose less than what is still open.
    fn collect_core(&mut self, run: &mut SearchState<'_>, best: &mut Label) {
        let mut limit = self.first_limit(&run.start.steps.min_reduced_cost).min(run.gap());
        loop {
            let dropped = self.collect(run, limit);
            self.improve_by_pairs(run, best);
            if limit >= run.gap() {
                run.drop_bound(run.start.root.bound - dropped);
                return;
            }
            // Never less than a share of what is open: where many lose nothing at all, times
            // nothing is nothing.
            limit = (limit * GROWTH).max(run.gap() / (GROWTH * GROWTH)).min(run.gap());
        }
    }

    /// A loss that few domains are below.
    fn first_limit(&mut self, min_reduced_cost: &[f64]) -> f64 {
        let stride = min_reduced_cost.len().div_ceil(SAMPLE);
        let rank = FIRST_CORE / stride.max(1);
        self.sample.clear();
        self.sample.extend(min_reduced_cost.iter().step_by(stride.max(1)));
        if rank >= self.sample.len() {
            return f64::INFINITY;
        }
        *self.sample.select_nth_unstable_by(rank, f64::total_cmp).1
    }

    /// Lists the choices that lose less than `limit`; returns the least loss of the others.
    fn collect(&mut self, run: &SearchState<'_>, limit: f64) -> f64 {
        self.alternatives.clear();
        self.stages.clear();
        let mut dropped = f64::INFINITY;
        for (domain, &min_reduced_cost) in run.start.steps.min_reduced_cost.iter().enumerate() {
            if !(min_reduced_cost < limit) {
                dropped = if min_reduced_cost < dropped { min_reduced_cost } else { dropped };
                continue;
            }
            let first = self.alternatives.len();
            dropped = dropped.min(self.collect_from(domain, run, limit));
            if self.alternatives.len() > first {
                self.stages.push(stage(domain, first, &self.alternatives));
            }
        }
        dropped
    }

    fn collect_from(&mut self, domain: usize, run: &SearchState<'_>, limit: f64) -> f64 {
        let steps = run.start.steps;
        let (weight, (vertices, lp_item)) =
            (run.start.input.weights[domain], steps.vertices(domain));
        let from = vertices[lp_item];
        let alternative = |to: u32| run.alternative(weight, steps.item(from), to);
        let left = vertices[..lp_item]
            .iter()
            .rposition(|&vertex| alternative(vertex).reduced_cost >= limit)
            .unwrap_or(0);
        let right = vertices[lp_item..]
            .iter()
            .position(|&vertex| alternative(vertex).reduced_cost >= limit)
            .map(|offset| lp_item + offset);
        let right = right.unwrap_or(vertices.len() - 1);
        let mut dropped = f64::INFINITY;
        for to in (vertices[left]..from).chain(from + 1..vertices[right] + 1) {
            let alternative = alternative(to);
            if alternative.reduced_cost < limit {
                self.alternatives.push(alternative);
            } else {
                dropped = dropped.min(alternative.reduced_cost);
            }
        }
        dropped
    }

    /// Looks for a better split one or two departures from the start: the better the split, the
    /// smaller the core.
    fn improve_by_pairs(&mut self, run: &mut SearchState<'_>, best: &mut Label) {
        self.index_by_shift();
        let capacity_left = CAPACITY - run.origin;
        let mut pair = None;
        let mut fits = self.by_shift.len();
        // A single departure first, then pairs in the order of the first one's spend: what fits
        // beside it becomes less and less.
        for position in std::iter::once(None).chain((0..self.by_shift.len()).map(Some)) {
            let (shift, gain) = position.map_or((0, 0.0), |position| {
                let alternative = self.alternatives[self.by_shift[position].1 as usize];
                (alternative.shift, alternative.gain)
            });
            if position == Some(0) {
                fits = self.by_shift.len();
            }
            while fits > 0 && self.by_shift[fits - 1].0 > capacity_left - shift {
                fits -= 1;
            }
            let Some(partner) = fits.checked_sub(1).map(|last| self.best_fitting[last] as usize)
            else {
                continue;
            };
            let same = position
                .is_some_and(|position| self.by_shift[position].2 == self.by_shift[partner].2);
            let gain = gain + self.alternatives[self.by_shift[partner].1 as usize].gain;
            let spend = run.origin + shift + self.by_shift[partner].0;
            if !same && run.improves(spend, gain) {
                run.value = run.start.root.lp_value + gain;
                pair = Some((position, partner, spend, gain));
            }
        }
        if let Some((position, partner, spend, gain)) = pair {
            for single in position.into_iter().chain([partner]) {
                let (_, alternative, stage) = self.by_shift[single];
                let domain = self.stages[stage as usize].domain;
                let before = if single == partner && position.is_some() {
                    self.predecessor.len() as u32 - 1
                } else {
                    NONE
                };
                self.predecessor.push(Trace {
                    before,
                    domain,
                    to: self.alternatives[alternative as usize].to,
                });
            }
            *best = Label {
                spend,
                gain,
                predecessor: self.predecessor.len() as u32 - 1,
                alternative: NONE,
            };
        }
    }

    /// Sorts all choices by what they add to spend, and notes the best up to each.
    fn index_by_shift(&mut self) {
        self.by_shift.clear();
        for (position, stage) in self.stages.iter().enumerate() {
            for alternative in stage.first..stage.last {
                self.by_shift.push((
                    self.alternatives[alternative as usize].shift,
                    alternative,
                    position as u32,
                ));
            }
        }
        self.by_shift.sort_unstable();
        self.best_fitting.clear();
        let gain = |single: &(i64, u32, u32)| self.alternatives[single.1 as usize].gain;
        let mut top = 0u32;
        for (position, single) in self.by_shift.iter().enumerate() {
            if gain(single) > gain(&self.by_shift[top as usize]) {
                top = position as u32;
            }
            self.best_fitting.push(top);
        }
    }

    /// Completes partial choices by the best single departure of a later stage that fits: a better
    /// split, found early, makes most of the search unnecessary.
    fn complete_labels(&mut self, position: usize, run: &mut SearchState<'_>, best: &mut Label) {
        let mut found = None;
        let mut fits = self.by_shift.len();
        for label in &self.labels {
            // They are in the order of their spends: what fits into the first may not into the
            // next.
            let capacity_left = CAPACITY - label.spend;
            while fits > 0 && self.by_shift[fits - 1].0 > capacity_left {
                fits -= 1;
            }
            let Some(last) = fits.checked_sub(1) else { break };
            let (shift, alternative, stage) = self.by_shift[self.best_fitting[last] as usize];
            let (spend, gain) =
                (label.spend + shift, label.gain + self.alternatives[alternative as usize].gain);
            if stage as usize > position && run.improves(spend, gain) {
                run.value = run.start.root.lp_value + gain;
                found = Some((
                    Label { spend, gain, predecessor: label.predecessor, alternative: NONE },
                    alternative,
                    stage,
                ));
            }
        }
        if let Some((label, alternative, stage)) = found {
            let domain = self.stages[stage as usize].domain;
            self.predecessor.push(Trace {
                before: label.predecessor,
                domain,
                to: self.alternatives[alternative as usize].to,
            });
            *best = Label { predecessor: self.predecessor.len() as u32 - 1, ..label };
        }
    }

    /// Drops the choices that cannot be part of a better split: even the cheapest way back to the
    /// budget costs too much.
    fn prune(&mut self, run: &mut SearchState<'_>) {
        let Some(&first) = self.stages.first() else { return };
        let (up, down) =
            (first.ratio_up.min(first.least_up), first.ratio_down.min(first.least_down));
        let mut kept = 0;
        for stage in &mut self.stages {
            let begin = kept;
            for position in stage.first as usize..stage.last as usize {
                let alternative = self.alternatives[position];
                let bound =
                    run.best_completion(run.origin + alternative.shift, alternative.gain, up, down);
                if bound > run.threshold() {
                    self.pruned.push(alternative);
                    kept += 1;
                } else {
                    run.drop_bound(bound);
                }
            }
            *stage = Stage { first: begin as u32, ..*stage };
            stage.last = kept as u32;
        }
        std::mem::swap(&mut self.alternatives, &mut self.pruned);
        self.pruned.clear();
        let alternatives = &self.alternatives;
        self.stages.retain_mut(|entry| {
            let keeps = entry.last > entry.first;
            if keeps {
                *entry = stage(
                    entry.domain as usize,
                    entry.first as usize,
                    &alternatives[..entry.last as usize],
                );
            }
            keeps
        });
    }

    /// Puts the domains where a departure is cheapest first, and says at each stage how cheap
    /// the rest can be.
    fn order(&mut self) {
        self.stages.sort_unstable_by(|a, b| {
            a.efficiency.total_cmp(&b.efficiency).then(a.domain.cmp(&b.domain))
        });
        let (mut up, mut down) = (f64::INFINITY, f64::INFINITY);
        for stage in self.stages.iter_mut().rev() {
            up = up.min(stage.ratio_up);
            down = down.min(stage.ratio_down);
            stage.least_up = up;
            stage.least_down = down;
        }
        // What counts after a stage is the rest without it.
        for position in 0..self.stages.len() {
            let (up, down) = self
                .stages
                .get(position + 1)
                .map_or((f64::INFINITY, f64::INFINITY), |next| (next.least_up, next.least_down));
            self.stages[position].least_up = up;
            self.stages[position].least_down = down;
        }
    }

    /// Adds the choices of one stage to every partial choice, and drops what is dominated or
    /// hopeless.
    fn expand(&mut self, stage: Stage, run: &mut SearchState<'_>, best: &mut Label) {
        self.next.clear();
        for &label in &self.labels {
            if run.can_improve(label.spend, label.gain, stage) {
                self.next.push(label);
            }
        }
        let is_merged = stage.last - stage.first <= MERGED_ALTERNATIVES;
        for position in stage.first..stage.last {
            let alternative = self.alternatives[position as usize];
            if alternative.reduced_cost >= run.gap() {
                run.drop_bound(run.start.root.bound - alternative.reduced_cost);
                continue;
            }
            let first = self.next.len();
            for &label in &self.labels {
                let (spend, gain) =
                    (label.spend + alternative.shift, label.gain + alternative.gain);
                let better = run.improves(spend, gain);
                if !run.can_improve(spend, gain, stage) && !better {
                    continue;
                }
                self.next.push(Label {
                    spend,
                    gain,
                    predecessor: label.predecessor,
                    alternative: position,
                });
                if better {
                    run.value = run.start.root.lp_value + gain;
                    self.predecessor.push(Trace {
                        before: label.predecessor,
                        domain: stage.domain,
                        to: alternative.to,
                    });
                    *best = Label {
                        spend,
                        gain,
                        predecessor: self.predecessor.len() as u32 - 1,
                        alternative: NONE,
                    };
                }
            }
            if is_merged {
                self.merge(first);
            } else if self.next.len() > WEEDED_FROM + 2 * self.labels.len() {
                self.drop_dominated();
            }
        }
        if !is_merged {
            self.drop_dominated();
        }
        for label in self.next.iter_mut().filter(|label| label.alternative != NONE) {
            let to = self.alternatives[label.alternative as usize].to;
            self.predecessor.push(Trace { before: label.predecessor, domain: stage.domain, to });
            (label.predecessor, label.alternative) = (self.predecessor.len() as u32 - 1, NONE);
        }
        run.labels += self.next.len() as u64;
        std::mem::swap(&mut self.labels, &mut self.next);
    }

    /// Merges two runs of new partial choices, each in the order of its spends; the second begins
    /// at `second`.
    fn merge(&mut self, second: usize) {
        self.merged.clear();
        let (mut one, mut other) = self.next.split_at(second);
        let mut most = f64::NEG_INFINITY;
        loop {
            let is_first = match (one.first(), other.first()) {
                (Some(a), Some(b)) => precedes(a, b),
                (Some(_), None) => true,
                (None, Some(_)) => false,
                (None, None) => break,
            };
            let source = if is_first { &mut one } else { &mut other };
            let Some((&label, rest)) = source.split_first() else { break };
            *source = rest;
            if label.gain > most {
                most = label.gain;
                self.merged.push(label);
            }
        }
        std::mem::swap(&mut self.next, &mut self.merged);
    }

    /// Keeps the partial choices that spend less or gain more than every other.
    fn drop_dominated(&mut self) {
        self.next.sort_unstable_by(by_spend);
        let mut most = f64::NEG_INFINITY;
        self.next.retain(|label| {
            let keeps = label.gain > most;
            most = most.max(label.gain);
            keeps
        });
    }
}

/// Empties lists that take turns and gives all of them the room of the largest: who holds what is a
/// matter of chance, and a round like an earlier one must not need more.
pub(in crate::oracle) fn equalize_capacity<T, const LISTS: usize>(lists: [&mut Vec<T>; LISTS]) {
    let most = lists.iter().map(|push_domain| push_domain.capacity()).max().unwrap_or(0);
    for push_domain in lists {
        push_domain.clear();
        push_domain.reserve_exact(most);
    }
}

/// Less spend first; of equals, more gain.
fn by_spend(a: &Label, b: &Label) -> std::cmp::Ordering {
    a.spend.cmp(&b.spend).then(b.gain.total_cmp(&a.gain)).then(a.predecessor.cmp(&b.predecessor))
}

fn precedes(a: &Label, b: &Label) -> bool {
    if a.spend == b.spend { by_spend(a, b).is_le() } else { a.spend < b.spend }
}

/// The choices from `first` on as a stage.
fn stage(domain: usize, first: usize, alternatives: &[Alternative]) -> Stage {
    let (mut up, mut down) = (f64::INFINITY, f64::INFINITY);
    for alternative in &alternatives[first..] {
        let ratio = alternative.reduced_cost / alternative.shift.unsigned_abs().max(1) as f64;
        let side = if alternative.shift > 0 { &mut up } else { &mut down };
        *side = side.min(ratio);
    }
    Stage {
        domain: domain as u32,
        first: first as u32,
        last: alternatives.len() as u32,
        efficiency: up.min(down),
        ratio_up: up,
        ratio_down: down,
        least_up: 0.0,
        least_down: 0.0,
    }
}

/// The running state of one search.
struct SearchState<'a> {
    start: CoreRoot<'a>,
    units_per_spend: f64,
    /// The multiplier of one unit.
    unit_multiplier: f64,
    origin: i64,
    value: f64,
    /// The best bound among what was dropped.
    dropped_bound: f64,
    labels: u64,
    tolerance: f64,
}

impl<'a> SearchState<'a> {
    fn new(start: CoreRoot<'a>, tolerance: f64) -> Self {
        let units_per_spend = UNITS / start.input.budget;
        Self {
            start,
            units_per_spend,
            unit_multiplier: start.root.multiplier / units_per_spend,
            origin: start.root.lp_units,
            value: start.root.value,
            dropped_bound: 0.0,
            labels: 0,
            tolerance: tolerance.max(MIN_IMPROVEMENT),
        }
    }

    /// What a split must exceed to matter.
    fn threshold(&self) -> f64 {
        self.value + self.tolerance * self.value
    }

    fn gap(&self) -> f64 {
        self.start.root.bound - self.threshold()
    }

    fn alternative(&self, weight: f64, from: Item, to: u32) -> Alternative {
        let item = self.start.steps.item(to);
        let shift =
            units(item.spend, self.units_per_spend) - units(from.spend, self.units_per_spend);
        let gain = weight * (item.success - from.success);
        Alternative {
            to,
            shift,
            gain,
            reduced_cost: (self.unit_multiplier * shift as f64 - gain).max(0.0),
        }
    }

    /// So many partial choices are made before chords are counted: about as many as counting takes
    /// time.
    fn label_budget(&self) -> u64 {
        MIN_LABEL_BUDGET.max(4 * self.start.steps.items().len() as u64)
    }

    fn improves(&self, spend: i64, gain: f64) -> bool {
        spend <= CAPACITY && self.start.root.lp_value + gain > self.value
    }

    /// The most that a partial choice can come to with what is left after the stage.
    fn best_completion(&self, spend: i64, gain: f64, least_up: f64, least_down: f64) -> f64 {
        let reduced_cost = self.unit_multiplier * (spend - self.origin) as f64 - gain;
        let capacity_left = (CAPACITY - spend) as f64;
        let penalty = if capacity_left >= 0.0 {
            capacity_left * self.unit_multiplier.min(least_up)
        } else {
            -capacity_left * least_down
        };
        self.start.root.bound - reduced_cost - penalty
    }

    fn can_improve(&mut self, spend: i64, gain: f64, stage: Stage) -> bool {
        let best = self.best_completion(spend, gain, stage.least_up, stage.least_down);
        if best > self.threshold() {
            return true;
        }
        self.drop_bound(best);
        false
    }

    fn drop_bound(&mut self, bound: f64) {
        self.dropped_bound = self.dropped_bound.max(bound);
    }

    /// Stops with the partial choices still open: their bounds stay in the answer.
    fn bound_open_labels(&mut self, labels: &[Label], rest: &Stage) {
        let (up, down) = (rest.ratio_up.min(rest.least_up), rest.ratio_down.min(rest.least_down));
        for label in labels {
            let bound = self.best_completion(label.spend, label.gain, up, down);
            self.dropped_bound = self.dropped_bound.max(bound);
        }
    }
}
