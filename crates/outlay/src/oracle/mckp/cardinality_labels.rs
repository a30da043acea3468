//! The exact search under two multipliers: one on spend, one on the number of chords taken.
//!
//! At the pair of multipliers that proves a bound (see [`counted`](super::counted)) every level of a
//! task has a loss against its best one, and few are below what is still open, even where at the
//! multiplier alone nearly all are. Their combinations are listed like those of the core: a partial
//! choice is dropped if one with the same number of chords spends no more and gains no less, or if
//! it cannot beat the split already known. Splits that take a number of chords from the other side
//! of the limit are not meant by the bound, but where one is within the budget and better, it is
//! taken.

use super::cardinality_bound::{CardinalityBound, PricedItem};
use super::core::equalize_capacity;
use super::items::{CAPACITY, MckpInput, StepItems, UNITS, units};
use crate::sum::Sum;

/// Another level for one domain.
#[derive(Debug, Clone, Copy)]
struct Alternative {
    domain: u32,
    to: u32,
    shift: i64,
    count: i32,
    gain: f64,
    reduced_cost: f64,
}

/// A domain's choices, and the least loss per unit added or freed from the next stage on.
#[derive(Debug, Clone, Copy)]
struct Stage {
    first: u32,
    last: u32,
    efficiency: f64,
    up: f64,
    down: f64,
}

/// A partial choice.
#[derive(Debug, Clone, Copy)]
struct Label {
    spend: i64,
    gain: f64,
    reduced_cost: f64,
    count: i32,
    predecessor: u32,
}

/// Buffers, kept between calls.
#[derive(Debug, Default)]
pub(in crate::oracle) struct CardinalityLabels {
    /// The split found, if it is better than the one known.
    pub(in crate::oracle) items: Vec<u32>,
    /// Each domain's best level at the multipliers.
    lp_items: Vec<u32>,
    reduced_costs: Vec<f64>,
    alternatives: Vec<Alternative>,
    stages: Vec<Stage>,
    labels: Vec<Label>,
    next: Vec<Label>,
    /// The choices made, each with the place of the one before it.
    predecessor: Vec<(u32, u32)>,
}

/// What a search found.
#[derive(Debug, Clone, Copy)]
pub(in crate::oracle) struct CardinalityResult {
    /// No split with such a number of chords is worth more.
    pub(in crate::oracle) bound: f64,
    /// Partial choices kept.
    pub(in crate::oracle) labels: u64,
    /// Whether `levels` are a better split than the one known.
    pub(in crate::oracle) is_better: bool,
}

/// What is known at the start, and what a split must exceed to matter.
#[derive(Debug, Clone, Copy)]
pub(in crate::oracle) struct Known {
    pub(in crate::oracle) value: f64,
    pub(in crate::oracle) tolerance: f64,
    pub(in crate::oracle) max_labels: u64,
}

/// The running state of one search.
struct SearchState {
    bound: f64,
    unit_multiplier: f64,
    lp_units: i64,
    lp_value: f64,
    value: f64,
    tolerance: f64,
    /// The best bound among what was dropped.
    dropped_bound: f64,
    /// The trail to a better split.
    best: Option<u32>,
}

const NONE: u32 = u32::MAX;
/// So many choices are tried first, and then those that lose so many times more.
const FIRST_ALTERNATIVES: usize = 48;
const GROWTH: f64 = 4.0;
/// With more choices than this multipliers tell too little apart.
const MAX_ALTERNATIVES: usize = 1 << 9;
/// So many partial choices at most: beyond that the bound is left as it was.
const MAX_LABELS: u64 = 1 << 18;

impl CardinalityLabels {
    /// Improves what is known and lowers the bound, if the multipliers tell the levels apart. First with
    /// the choices that lose least: a better split leaves fewer of them. What is proved is proved
    /// by the last pass, with all that lose less than is open.
    pub(in crate::oracle) fn run(
        &mut self,
        steps: &StepItems,
        input: MckpInput<'_>,
        cardinality_bound: CardinalityBound,
        known: Known,
    ) -> CardinalityResult {
        let mut run = self.start(steps, input, cardinality_bound, known);
        let mut labels = 0;
        let mut limit = self.first_limit(steps, input, cardinality_bound);
        let bound = loop {
            limit = limit.min(run.gap());
            run.dropped_bound = 0.0;
            let is_done = self.collect(steps, input, cardinality_bound, limit, &mut run) && {
                self.order();
                self.search(&mut run, &mut labels, known.max_labels.min(MAX_LABELS))
            };
            self.write(&mut run);
            if !is_done {
                break cardinality_bound.bound;
            }
            if limit >= run.gap() {
                break run.dropped_bound.max(run.value).min(cardinality_bound.bound);
            }
            limit = (limit * GROWTH).max(run.gap() / (GROWTH * GROWTH * GROWTH));
        };
        CardinalityResult { bound, labels, is_better: run.value > known.value }
    }

    /// Lists combinations of the choices, stage by stage; false if there are too many.
    fn search(&mut self, run: &mut SearchState, labels: &mut u64, max_labels: u64) -> bool {
        self.predecessor.clear();
        equalize_capacity([&mut self.labels, &mut self.next]);
        self.labels.push(Label {
            spend: run.lp_units,
            gain: 0.0,
            reduced_cost: 0.0,
            count: 0,
            predecessor: NONE,
        });
        run.offer_split(&self.labels[0]);
        for position in 0..self.stages.len() {
            let stage = self.stages[position];
            let work = self.labels.len() as u64 * u64::from(stage.last - stage.first);
            if *labels + work > max_labels {
                return false;
            }
            self.expand(stage, run);
            *labels += self.labels.len() as u64;
        }
        true
    }

    /// Keeps the split found last, if it is a better one.
    fn write(&mut self, run: &mut SearchState) {
        let Some(mut at) = run.best.take() else { return };
        self.items.clone_from(&self.lp_items);
        while at != NONE {
            let (alternative, before) = self.predecessor[at as usize];
            let alternative = self.alternatives[alternative as usize];
            self.items[alternative.domain as usize] = alternative.to;
            at = before;
        }
    }

    /// A loss that few choices are below.
    fn first_limit(
        &mut self,
        steps: &StepItems,
        input: MckpInput<'_>,
        cardinality_bound: CardinalityBound,
    ) -> f64 {
        self.reduced_costs.clear();
        for (domain, (&weight, &lp_item)) in input.weights.iter().zip(&self.lp_items).enumerate() {
            let here = cardinality_bound.priced_item(steps, domain, weight, lp_item);
            cardinality_bound.each_item(steps, domain, weight, |other| {
                if other.item != lp_item {
                    self.reduced_costs.push(here.surplus - other.surplus);
                }
            });
        }
        if self.reduced_costs.len() <= FIRST_ALTERNATIVES {
            return f64::INFINITY;
        }
        *self.reduced_costs.select_nth_unstable_by(FIRST_ALTERNATIVES, f64::total_cmp).1
    }

    /// Writes each domain's best level at the multipliers.
    fn start(
        &mut self,
        steps: &StepItems,
        input: MckpInput<'_>,
        cardinality_bound: CardinalityBound,
        known: Known,
    ) -> SearchState {
        let per_spend = UNITS / input.budget;
        let (mut lp_value, mut lp_units) = (Sum::default(), 0);
        self.lp_items.clear();
        for (domain, &weight) in input.weights.iter().enumerate() {
            let best = cardinality_bound.best_item(steps, domain, weight).item;
            let item = steps.item(best);
            lp_value.add(weight * item.success);
            lp_units += units(item.spend, per_spend);
            self.lp_items.push(best);
        }
        let unit_multiplier = cardinality_bound.multiplier / per_spend;
        let (bound, lp_value, value, tolerance) =
            (cardinality_bound.bound, lp_value.value(), known.value, known.tolerance);
        SearchState {
            bound,
            unit_multiplier,
            lp_units,
            lp_value,
            value,
            tolerance,
            dropped_bound: 0.0,
            best: None,
        }
    }

    /// Lists the choices that lose less than `limit`; false if there are too many.
    fn collect(
        &mut self,
        steps: &StepItems,
        input: MckpInput<'_>,
        cardinality_bound: CardinalityBound,
        limit: f64,
        run: &mut SearchState,
    ) -> bool {
        let per_spend = UNITS / input.budget;
        self.alternatives.clear();
        self.stages.clear();
        let mut dropped = f64::INFINITY;
        for (domain, (&weight, &lp_item)) in input.weights.iter().zip(&self.lp_items).enumerate() {
            let first = self.alternatives.len();
            let from = steps.item(lp_item);
            let here = cardinality_bound.priced_item(steps, domain, weight, lp_item);
            cardinality_bound.each_item(
                steps,
                domain,
                weight,
                |PricedItem { item, count, surplus }| {
                    let reduced_cost = (here.surplus - surplus).max(0.0);
                    if reduced_cost >= limit {
                        dropped = dropped.min(reduced_cost);
                    } else if item != lp_item {
                        let to = steps.item(item);
                        let shift = units(to.spend, per_spend) - units(from.spend, per_spend);
                        let (gain, count) = (
                            weight * (to.success - from.success),
                            count as i32 - here.count as i32,
                        );
                        self.alternatives.push(Alternative {
                            domain: domain as u32,
                            to: item,
                            shift,
                            count,
                            gain,
                            reduced_cost,
                        });
                    }
                },
            );
            if self.alternatives.len() > MAX_ALTERNATIVES {
                return false;
            }
            if self.alternatives.len() > first {
                self.stages.push(stage(first, &self.alternatives));
            }
        }
        run.drop_bound(run.bound - dropped);
        true
    }

    /// Puts the domains where a departure is cheapest first, and says at each stage how cheap
    /// the rest can be.
    fn order(&mut self) {
        self.stages.sort_unstable_by(|a, b| {
            a.efficiency.total_cmp(&b.efficiency).then(a.first.cmp(&b.first))
        });
        let (mut up, mut down) = (f64::INFINITY, f64::INFINITY);
        for stage in self.stages.iter_mut().rev() {
            (stage.up, up) = (up, up.min(stage.up));
            (stage.down, down) = (down, down.min(stage.down));
        }
    }

    fn expand(&mut self, stage: Stage, run: &mut SearchState) {
        self.next.clear();
        for &label in &self.labels {
            if run.can_improve(&label, stage) {
                self.next.push(label);
            }
            for place in stage.first..stage.last {
                let alternative = self.alternatives[place as usize];
                let made = Label {
                    spend: label.spend + alternative.shift,
                    gain: label.gain + alternative.gain,
                    reduced_cost: label.reduced_cost + alternative.reduced_cost,
                    count: label.count + alternative.count,
                    predecessor: self.predecessor.len() as u32,
                };
                let is_best = run.offer_split(&made);
                if is_best || run.can_improve(&made, stage) {
                    self.predecessor.push((place, label.predecessor));
                    self.next.push(made);
                }
            }
        }
        self.next.sort_unstable_by(|a, b| {
            let order = a.count.cmp(&b.count).then(a.spend.cmp(&b.spend));
            order.then(b.gain.total_cmp(&a.gain)).then(a.predecessor.cmp(&b.predecessor))
        });
        let (mut count, mut most) = (i32::MIN, f64::NEG_INFINITY);
        self.next.retain(|label| {
            if label.count != count {
                (count, most) = (label.count, f64::NEG_INFINITY);
            }
            let keeps = label.gain > most;
            most = most.max(label.gain);
            keeps
        });
        std::mem::swap(&mut self.labels, &mut self.next);
    }
}

impl SearchState {
    /// What a split must exceed to matter.
    fn threshold(&self) -> f64 {
        self.value + self.tolerance * self.value
    }

    /// What is open: choices that lose more do not matter.
    fn gap(&self) -> f64 {
        self.bound - self.threshold()
    }

    fn drop_bound(&mut self, bound: f64) {
        self.dropped_bound = self.dropped_bound.max(bound);
    }

    /// Takes a split that is within the budget and better.
    fn offer_split(&mut self, label: &Label) -> bool {
        let is_better = label.spend <= CAPACITY && self.lp_value + label.gain > self.value;
        if is_better {
            (self.value, self.best) = (self.lp_value + label.gain, Some(label.predecessor));
        }
        is_better
    }

    /// Whether a partial choice can still come to more than is known, with the stages after this
    /// one.
    fn can_improve(&mut self, label: &Label, stage: Stage) -> bool {
        let capacity_left = (CAPACITY - label.spend) as f64;
        let penalty = if capacity_left >= 0.0 {
            capacity_left * self.unit_multiplier.min(stage.up)
        } else {
            -capacity_left * stage.down
        };
        let bound = self.bound - label.reduced_cost - penalty;
        if bound > self.threshold() {
            return true;
        }
        self.drop_bound(bound);
        false
    }
}

/// The choices from `first` on as a stage, with its own least loss per unit.
fn stage(first: usize, alternatives: &[Alternative]) -> Stage {
    let (mut up, mut down) = (f64::INFINITY, f64::INFINITY);
    for alternative in &alternatives[first..] {
        let ratio = alternative.reduced_cost / alternative.shift.unsigned_abs().max(1) as f64;
        let side = if alternative.shift > 0 { &mut up } else { &mut down };
        *side = side.min(ratio);
    }
    Stage {
        first: first as u32,
        last: alternatives.len() as u32,
        efficiency: up.min(down),
        up,
        down,
    }
}

#[cfg(test)]
mod tests {
    use super::super::cardinality_bound;
    use super::crate::oracle::prepared::PreparedProblem;
    use super::*;
    use crate::{Curve, ProblemSpec, TaskSpec};

    /// A number between zero and one that depends on both arguments.
    fn number(seed: u64, place: u64) -> f64 {
        let mut bits =
            seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ place.wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 31)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ (bits >> 29)) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Tasks with one or two jumps, each worth a fixed amount and so much per unit, and values that
    /// are nearly equal.
    fn model(seed: u64) -> PreparedProblem {
        let tasks = 3 + seed % 6;
        let curve = |task: u64| {
            let first = 0.05 + number(seed, 10 * task);
            let second = first + 0.05 + number(seed, 10 * task + 1);
            let (at, success) = (
                vec![first / tasks as f64, second / tasks as f64],
                vec![0.1 + 0.3 * first, 0.2 + 0.3 * second],
            );
            let jumps = if (task + seed).is_multiple_of(3) { 2 } else { 1 };
            Curve::steps(at[..jumps].to_vec(), success[..jumps].to_vec()).unwrap()
        };
        let specs = (0..tasks).map(|task| TaskSpec::new(format!("t{task}"), curve(task))).collect();
        let values: Vec<f64> =
            (0..tasks).map(|task| 1.0 + 0.05 * number(seed, 10 * task + 2)).collect();
        let mut model = PreparedProblem::new(
            &ProblemSpec { tasks: specs, ..ProblemSpec::default() }.check().unwrap(),
        );
        model.load(&values, 0.5, true);
        model
    }

    /// The most that all splits are worth which take up to `limit` chords, and of those that take
    /// more.
    fn truth(steps: &StepItems, weights: &[f64], limit: usize) -> [f64; 2] {
        fn go(
            steps: &StepItems,
            weights: &[f64],
            domain: usize,
            left: f64,
            count: usize,
            value: f64,
            best: &mut dyn FnMut(usize, f64),
        ) {
            let Some(weight) = weights.get(domain) else { return best(count, value) };
            let (vertices, _) = steps.vertices(domain);
            for item in vertices[0]..steps.end(domain) as u32 {
                let there = steps.item(item);
                let edges = vertices.partition_point(|vertex| *vertex <= item) - 1;
                if there.spend <= left + 1e-13 {
                    go(
                        steps,
                        weights,
                        domain + 1,
                        left - there.spend,
                        count + edges,
                        value + weight * there.success,
                        best,
                    );
                }
            }
        }
        let mut found = [f64::NEG_INFINITY; 2];
        go(steps, weights, 0, 0.5, 0, 0.0, &mut |count, value| {
            let place = usize::from(count > limit);
            found[place] = found[place].max(value);
        });
        found
    }

    /// Both cases' bounds hold for all their splits, before the search and after it, and mostly the
    /// search ends at the best split.
    #[test]
    fn both_cases_are_searched_exactly() {
        let (mut cardinality, mut open, mut closed) = (CardinalityLabels::default(), 0, 0);
        for seed in 0..2000 {
            let mut model = model(seed);
            let mut steps = model.steps.take().unwrap();
            let input = MckpInput {
                weights: &model.weights,
                budget: model.budget,
                residual: model.residual,
            };
            let root = steps.relax(input, None);
            if root.is_integral {
                continue;
            }
            let limit = (0..steps.len()).map(|domain| steps.vertices(domain).1).sum();
            let truth = truth(&steps, &model.weights, limit);
            let most = truth[0].max(truth[1]);
            for (case, truth) in
                cardinality_bound::bounds(&steps, input, root, 0.0).into_iter().zip(truth)
            {
                assert!(
                    case.bound >= truth * (1.0 - 1e-13),
                    "seed {seed}: {} below {truth}",
                    case.bound
                );
                let known = Known { value: 0.5 * root.value, tolerance: 1e-14, max_labels: 10_000 };
                let found = cardinality.run(&steps, input, case, known);
                assert!(
                    found.bound >= truth * (1.0 - 1e-13),
                    "seed {seed}: {} below {truth} after the search",
                    found.bound
                );
                if found.is_better {
                    let items = cardinality.items.iter().map(|&item| steps.item(item));
                    let spend: f64 = items.clone().map(|item| item.spend).sum();
                    let value: f64 =
                        items.zip(&model.weights).map(|(item, weight)| weight * item.success).sum();
                    assert!(
                        spend <= 0.5 * (1.0 + 1e-12) && value <= most * (1.0 + 1e-12),
                        "seed {seed}: {value} for {spend}"
                    );
                    let is_exact = found.bound <= value * (1.0 + 1e-11);
                    (open, closed) = if is_exact { (open, closed + 1) } else { (open + 1, closed) };
                    assert!(
                        !is_exact || value >= truth * (1.0 - 1e-12),
                        "seed {seed}: {value} passes for {truth}"
                    );
                }
            }
        }
        assert!(closed > 20 * open && closed > 1000, "{closed} closed, {open} open");
    }
}
