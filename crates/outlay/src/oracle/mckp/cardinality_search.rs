//! The label search with reduced costs at two multipliers: one of spend, one of the number of
//! edges.
//!
//! At the pair of multipliers that proves a [cardinality bound](super::cardinality_bound) every
//! item has a reduced cost against the best one of its domain. Few of them are below the gap, even
//! where at the budget multiplier alone nearly all are. Their combinations are enumerated by the
//! [label search](super::labels); labels dominate each other only if they take equally many edges.
//!
//! The bound is about solutions on one side of the edge limit. A feasible solution on the other
//! side is accepted too if it is better than the best known one.

use super::cardinality_bound::{CardinalityBound, PricedItem};
use super::items::{MckpInput, StepItems, units};
use super::labels::{Alternative, Cardinality, Incumbent, LabelList, Stage};
use crate::numeric::compensated::Sum;

/// Buffers of the search, kept between calls.
#[derive(Debug, Default)]
pub(super) struct CardinalitySearch {
    /// The items of the solution found, if it is better than the known one.
    pub(super) items: Vec<u32>,
    /// The best item of each domain at the two multipliers.
    lp_items: Vec<u32>,
    reduced_costs: Vec<f64>,
    list: LabelList<Cardinality>,
}

/// The result of a search.
#[derive(Debug, Clone, Copy)]
pub(super) struct CardinalityResult {
    /// An upper bound on the solutions of the case.
    pub(super) bound: f64,
    /// Labels kept.
    pub(super) labels: u64,
    /// Whether `items` is better than the known solution.
    pub(super) is_better: bool,
}

/// The best known value at the start, and the limits of the search.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known {
    pub(super) value: f64,
    pub(super) tolerance: f64,
    pub(super) max_labels: u64,
}

/// The case that is searched.
#[derive(Debug, Clone, Copy)]
struct SearchCase<'a> {
    steps: &'a StepItems,
    input: MckpInput<'a>,
    bound: CardinalityBound,
}

/// The search starts with about this many alternatives, and its limit on the reduced cost grows by
/// this factor.
const FIRST_ALTERNATIVES: usize = 48;
const LIMIT_GROWTH: f64 = 4.0;
/// With more alternatives than this the multipliers distinguish too little.
const MAX_ALTERNATIVES: usize = 1 << 9;
/// With more labels than this the bound is left as it is.
const MAX_LABELS: u64 = 1 << 18;

impl CardinalitySearch {
    /// Improves the known solution and lowers the bound, if the multipliers distinguish the items.
    ///
    /// The first passes take only the alternatives with the smallest reduced costs: a better
    /// solution leaves fewer of them below the gap. The bound is proved by the last pass, which
    /// has all of them.
    pub(super) fn run(
        &mut self,
        steps: &StepItems,
        input: MckpInput<'_>,
        bound: CardinalityBound,
        known: Known,
    ) -> CardinalityResult {
        let case = SearchCase { steps, input, bound };
        let mut incumbent = self.start(case, known);
        let mut labels = 0;
        let mut limit = self.first_limit(case);
        let bound = loop {
            limit = limit.min(incumbent.gap());
            incumbent.dropped_bound = 0.0;
            let mut best = None;
            let is_done = self.collect(case, limit, &mut incumbent) && {
                self.list.order_stages();
                let max_labels = known.max_labels.min(MAX_LABELS);
                self.search(&mut incumbent, &mut best, &mut labels, max_labels)
            };
            if let Some(trace) = best {
                self.items.clone_from(&self.lp_items);
                self.list.write_trace(trace, &mut self.items);
            }
            if !is_done {
                break bound.bound;
            }
            let gap = incumbent.gap();
            if limit >= gap {
                break incumbent.dropped_bound.max(incumbent.value).min(bound.bound);
            }
            limit = (limit * LIMIT_GROWTH).max(gap / (LIMIT_GROWTH * LIMIT_GROWTH * LIMIT_GROWTH));
        };
        CardinalityResult { bound, labels, is_better: incumbent.value > known.value }
    }

    /// Expands all stages; false if there are too many labels. `best` receives the trace of the
    /// last improvement.
    fn search(
        &mut self,
        incumbent: &mut Incumbent,
        best: &mut Option<u32>,
        labels: &mut u64,
        max_labels: u64,
    ) -> bool {
        let root = self.list.start(incumbent.lp_units);
        if incumbent.is_improved_by(root.spend, root.gain) {
            (incumbent.value, *best) = (incumbent.lp_value + root.gain, Some(root.trace));
        }
        for position in 0..self.list.stages.len() {
            let stage = self.list.stages[position];
            if *labels + self.list.labels.len() as u64 * stage.len() > max_labels {
                return false;
            }
            *best = self.list.expand(stage, incumbent).or(*best);
            *labels += self.list.labels.len() as u64;
        }
        true
    }

    /// A reduced cost that `FIRST_ALTERNATIVES` alternatives stay below.
    fn first_limit(&mut self, SearchCase { steps, input, bound }: SearchCase<'_>) -> f64 {
        self.reduced_costs.clear();
        for (domain, (&weight, &lp_item)) in input.weights.iter().zip(&self.lp_items).enumerate() {
            let here = bound.priced_item(steps, domain, weight, lp_item);
            bound.each_item(steps, domain, weight, |other| {
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

    /// Finds the best item of each domain at the two multipliers.
    fn start(
        &mut self,
        SearchCase { steps, input, bound }: SearchCase<'_>,
        known: Known,
    ) -> Incumbent {
        let per_spend = input.units_per_spend();
        let (mut lp_value, mut lp_units) = (Sum::default(), 0);
        self.lp_items.clear();
        for (domain, &weight) in input.weights.iter().enumerate() {
            let best = bound.best_item(steps, domain, weight).item;
            let item = steps.item(best);
            lp_value.add(weight * item.success);
            lp_units += units(item.spend, per_spend);
            self.lp_items.push(best);
        }
        Incumbent {
            bound: bound.bound,
            unit_multiplier: bound.multiplier / per_spend,
            capacity: input.capacity(),
            lp_units,
            lp_value: lp_value.value(),
            value: known.value,
            tolerance: known.tolerance,
            dropped_bound: 0.0,
        }
    }

    /// Lists the alternatives with a reduced cost below `limit`; false if there are too many.
    fn collect(
        &mut self,
        SearchCase { steps, input, bound }: SearchCase<'_>,
        limit: f64,
        incumbent: &mut Incumbent,
    ) -> bool {
        let per_spend = input.units_per_spend();
        let LabelList { alternatives, stages, .. } = &mut self.list;
        alternatives.clear();
        stages.clear();
        let mut dropped = f64::INFINITY;
        for (domain, (&weight, &lp_item)) in input.weights.iter().zip(&self.lp_items).enumerate() {
            let first = alternatives.len();
            let from = steps.item(lp_item);
            let here = bound.priced_item(steps, domain, weight, lp_item);
            bound.each_item(steps, domain, weight, |PricedItem { item, count, surplus }| {
                let reduced_cost = (here.surplus - surplus).max(0.0);
                if reduced_cost >= limit {
                    dropped = dropped.min(reduced_cost);
                } else if item != lp_item {
                    let to = steps.item(item);
                    alternatives.push(Alternative {
                        item,
                        count: count as i32 - here.count as i32,
                        shift: units(to.spend, per_spend) - units(from.spend, per_spend),
                        gain: weight * (to.success - from.success),
                        reduced_cost,
                    });
                }
            });
            if alternatives.len() > MAX_ALTERNATIVES {
                return false;
            }
            if alternatives.len() > first {
                stages.push(Stage::new(domain as u32, first, alternatives));
            }
        }
        incumbent.drop_bound(incumbent.bound - dropped);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::cardinality_bound;
    use super::*;
    use crate::oracle::prepared::PreparedProblem;
    use crate::{Curve, ProblemSpec, TaskSpec};

    /// A number between zero and one that depends on both arguments.
    fn number(seed: u64, place: u64) -> f64 {
        let mut bits =
            seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ place.wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 31)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ (bits >> 29)) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Tasks with one or two jumps, each worth a fixed amount plus a rate per unit, and nearly
    /// equal values.
    fn prepared_problem(seed: u64) -> PreparedProblem {
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
        let problem = ProblemSpec { tasks: specs, ..ProblemSpec::default() }.check().unwrap();
        let mut prepared = PreparedProblem::new(problem.shared_tasks().clone());
        prepared.load(&values, 0.5, true);
        prepared
    }

    /// The largest value of the solutions that take up to `limit` edges, and of those that take
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

    /// The bounds of both cases hold before and after the search, and the search usually finds the
    /// best split.
    #[test]
    fn both_cases_are_searched_exactly() {
        let (mut cardinality, mut open, mut closed) = (CardinalitySearch::default(), 0, 0);
        for seed in 0..2000 {
            let mut prepared = prepared_problem(seed);
            let mut steps = prepared.steps.take().unwrap();
            let input = MckpInput {
                weights: &prepared.weights,
                budget: prepared.budget,
                residual: prepared.residual,
            };
            let root = steps.relax(input, None);
            if root.is_integral {
                continue;
            }
            let limit = (0..steps.len()).map(|domain| steps.vertices(domain).1).sum();
            let truth = truth(&steps, &prepared.weights, limit);
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
                    let value: f64 = items
                        .zip(&prepared.weights)
                        .map(|(item, weight)| weight * item.success)
                        .sum();
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
