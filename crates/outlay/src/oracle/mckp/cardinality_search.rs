//! The label search with reduced costs at two multipliers: one of spend, one of the number of
//! jumps.
//!
//! At the pair of multipliers that proves a [cardinality bound](super::cardinality_bound) every
//! item has a reduced cost against the best one of its domain. Few of them are below the gap, even
//! where at the budget multiplier alone nearly all are. Their combinations are enumerated by the
//! [label search](crate::oracle::labels); labels dominate each other only if they take equally many jumps.
//!
//! The bound is about solutions on one side of the limit. A feasible solution on the other
//! side is accepted too if it is better than the best known one.

use super::cardinality_bound::{CardinalityBound, PricedItem};
use super::exact_budget::ExactBudget;
use super::items::{Item, LpRelaxation, MckpInput, StepItems, units};
use crate::numeric::compensated::Sum;
use crate::oracle::labels::{
    Alternative, Cardinality, Completion, CostLimits, Incumbent, Label, LabelList,
    LinearCompletion, LinearCut, Ratios, Stage, Verdict,
};

/// Buffers of the search, kept between calls.
#[derive(Debug, Default)]
pub(super) struct CardinalitySearch {
    /// The items of the solution found, if it is better than the known one.
    pub(super) items: Vec<u32>,
    /// The reference item of each domain.
    reference: Vec<u32>,
    scores: Vec<f64>,
    pub(super) list: LabelList<Cardinality>,
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
pub(super) struct SearchCase<'a> {
    pub(super) steps: &'a StepItems,
    pub(super) input: MckpInput<'a>,
    pub(super) root: LpRelaxation,
    pub(super) bound: CardinalityBound,
}

/// With more alternatives than this the multipliers distinguish too little.
const MAX_ALTERNATIVES: usize = 1 << 10;
/// With more labels than this the bound is left as it is.
const MAX_LABELS: u64 = 1 << 18;
/// Surpluses that differ by less than this share of the value are equal.
const EQUAL: f64 = 1e-12;
/// Improvements below this share of the value are not looked for: a pair of multipliers is no more
/// accurate.
const MIN_IMPROVEMENT: f64 = 2.5e-13;

impl CardinalitySearch {
    /// Improves the known solution and lowers the bound, if the multipliers distinguish the items.
    ///
    /// The bound is proved by the last pass, which has all alternatives below the gaps.
    pub(super) fn run(&mut self, case: SearchCase<'_>, known: Known) -> CardinalityResult {
        let mut reference = std::mem::take(&mut self.reference);
        let result = self.run_from(case, known, &mut reference);
        self.reference = reference;
        result
    }

    fn run_from(
        &mut self,
        case: SearchCase<'_>,
        known: Known,
        reference: &mut Vec<u32>,
    ) -> CardinalityResult {
        let mut completion = start(case, known, reference);
        let mut labels = 0;
        let mut limits = self.first_limits(case, &completion);
        let mut bound = case.bound.bound;
        while completion.gaps().are_open() {
            limits = limits.at_most(completion.gaps());
            completion.linear.incumbent.dropped_bound = 0.0;
            let mut best = None;
            let is_done = self.collect(case, limits, &mut completion) && {
                self.list.order_stages(Ratios::NONE, 0.0);
                let max_labels = known.max_labels.min(MAX_LABELS);
                self.search(&mut completion, &mut best, &mut labels, max_labels)
            };
            if let Some(trace) = best {
                self.items.clear();
                self.items.extend_from_slice(completion.reference);
                self.list.write_trace(trace, &mut self.items);
            }
            let gaps = completion.gaps();
            if is_done && limits.cover(gaps) {
                let Incumbent { dropped_bound, value, .. } = completion.linear.incumbent;
                bound = dropped_bound.max(value).min(bound);
            }
            if !is_done || limits.cover(gaps) {
                break;
            }
            limits = limits.next(gaps);
        }
        let value = completion.linear.incumbent.value;
        CardinalityResult { bound, labels, is_better: value > known.value }
    }

    /// Expands all stages; false if there are too many labels. `best` receives the trace of the
    /// last improvement.
    fn search(
        &mut self,
        completion: &mut CardinalityCompletion<'_>,
        best: &mut Option<u32>,
        labels: &mut u64,
        max_labels: u64,
    ) -> bool {
        let root = self.list.start(completion.linear.lp_units);
        if completion.linear.take_if_better(&root, std::iter::empty()) {
            *best = Some(root.trace);
        }
        for position in 0..self.list.stages.len() {
            let stage = self.list.stages[position];
            let work = self.list.labels.len() as u64 * stage.len();
            if *labels + work > max_labels || !self.list.can_expand(work) {
                return false;
            }
            *best = self.list.expand(stage, completion).or(*best);
            *labels += self.list.labels.len() as u64;
        }
        true
    }

    /// The limits of the first pass.
    fn first_limits(
        &mut self,
        case: SearchCase<'_>,
        completion: &CardinalityCompletion<'_>,
    ) -> CostLimits {
        let gaps = completion.gaps();
        self.scores.clear();
        for (domain, &reference) in completion.reference.iter().enumerate() {
            let costs = Costs::new(case, domain, reference);
            case.each_item(domain, |priced| {
                if priced.item != costs.reference.item {
                    self.scores.push(gaps.score(costs.own(priced), costs.at_root(priced.item)));
                }
            });
        }
        gaps.first(&mut self.scores)
    }

    /// Lists the alternatives with reduced costs below the limits; false if there are too many.
    fn collect(
        &mut self,
        case: SearchCase<'_>,
        limits: CostLimits,
        completion: &mut CardinalityCompletion<'_>,
    ) -> bool {
        let LabelList { alternatives, stages, .. } = &mut self.list;
        alternatives.clear();
        stages.clear();
        let (gaps, incumbent) = (completion.gaps(), &mut completion.linear.incumbent);
        for (domain, &reference) in completion.reference.iter().enumerate() {
            let first = alternatives.len();
            let costs = Costs::new(case, domain, reference);
            let mut scores = Ratios::NONE;
            case.each_item(domain, |priced| {
                let (own, at_root) = (costs.own(priced), costs.at_root(priced.item));
                if priced.item == costs.reference.item {
                    return;
                }
                if limits.admit(own, at_root) {
                    let alternative = costs.alternative(priced);
                    scores.consider(alternative.shift, gaps.score(own, at_root));
                    alternatives.push(alternative);
                } else {
                    let bound = (incumbent.bound - own).min(completion.cut.bound - at_root);
                    incumbent.drop_bound(bound);
                }
            });
            if alternatives.len() > MAX_ALTERNATIVES {
                return false;
            }
            if alternatives.len() > first {
                let stage = Stage::new(domain as u32, first, alternatives);
                let efficiency = scores.up.min(scores.down);
                let regret = costs.at_root(costs.reference.item);
                stages.push(Stage { efficiency, regret, ..stage });
            }
        }
        true
    }
}

/// Finds the reference item of each domain: the best one at the two multipliers, and of equals
/// the LP-optimal one, because its neighbours nearly spend the budget.
fn start<'a>(
    case: SearchCase<'a>,
    known: Known,
    reference: &'a mut Vec<u32>,
) -> CardinalityCompletion<'a> {
    let SearchCase { steps, input, root, bound } = case;
    let per_spend = input.units_per_spend();
    let (mut value, mut lp_units) = (Sum::default(), 0);
    reference.clear();
    for (domain, &weight) in input.weights.iter().enumerate() {
        let best = bound.best_item(steps, domain, weight);
        let lp_item = bound.priced_item(steps, domain, weight, steps.lp_item[domain]);
        let success = |item: u32| steps.item(item).success;
        let size = weight * success(best.item).max(success(lp_item.item));
        let is_equal = best.surplus - lp_item.surplus <= EQUAL * size;
        let item = steps.item(if is_equal { lp_item.item } else { best.item });
        value.add(weight * item.success);
        lp_units += units(item.spend, per_spend);
        reference.push(if is_equal { lp_item.item } else { best.item });
    }
    let lp_value = value.value();
    let linear = LinearCompletion {
        incumbent: Incumbent {
            bound: bound.bound,
            value: known.value,
            tolerance: known.tolerance.max(MIN_IMPROVEMENT),
            dropped_bound: 0.0,
        },
        unit_multiplier: bound.multiplier / per_spend,
        capacity: input.capacity(),
        lp_units,
        lp_value,
        budget: ExactBudget::new(steps, input, reference),
    };
    let cut = LinearCut {
        bound: root.bound,
        unit_multiplier: root.multiplier / per_spend,
        lp_units: root.lp_units,
        lp_gain: root.lp_value - lp_value,
    };
    CardinalityCompletion { linear, cut, reference }
}

impl SearchCase<'_> {
    fn each_item(&self, domain: usize, visit: impl FnMut(PricedItem)) {
        self.bound.each_item(self.steps, domain, self.input.weights[domain], visit);
    }
}

/// The reduced costs of the items of one domain.
struct Costs<'a> {
    case: SearchCase<'a>,
    weight: f64,
    reference: PricedItem,
    /// The LP-optimal item.
    lp_item: Item,
}

impl<'a> Costs<'a> {
    fn new(case: SearchCase<'a>, domain: usize, reference: u32) -> Self {
        let SearchCase { steps, input, bound, .. } = case;
        let weight = input.weights[domain];
        let reference = bound.priced_item(steps, domain, weight, reference);
        Self { case, weight, reference, lp_item: steps.item(steps.lp_item[domain]) }
    }

    /// At both multipliers.
    fn own(&self, item: PricedItem) -> f64 {
        (self.reference.surplus - item.surplus).max(0.0)
    }

    /// At the multiplier of the relaxation.
    fn at_root(&self, item: u32) -> f64 {
        let item = self.case.steps.item(item);
        let price = self.case.root.multiplier * (item.spend - self.lp_item.spend);
        (price - self.weight * (item.success - self.lp_item.success)).max(0.0)
    }

    fn alternative(&self, item: PricedItem) -> Alternative {
        let per_spend = self.case.input.units_per_spend();
        let from = self.case.steps.item(self.reference.item);
        let to = self.case.steps.item(item.item);
        Alternative {
            item: item.item,
            count: item.count as i32 - self.reference.count as i32,
            shift: units(to.spend, per_spend) - units(from.spend, per_spend),
            gain: self.weight * (to.success - from.success),
            reduced_cost: self.own(item),
            segment: (),
        }
    }
}

/// The bound on labels at both multipliers, and at that of the relaxation alone.
struct CardinalityCompletion<'a> {
    linear: LinearCompletion<'a>,
    cut: LinearCut,
    /// The reference item of each domain.
    reference: &'a [u32],
}

impl CardinalityCompletion<'_> {
    fn gaps(&self) -> CostLimits {
        let incumbent = self.linear.incumbent;
        CostLimits { own: incumbent.gap(), cut: self.cut.bound - incumbent.threshold() }
    }
}

impl Completion<Cardinality> for CardinalityCompletion<'_> {
    fn can_improve(&mut self, label: &Label<Cardinality>, stage: &Stage) -> bool {
        let at_root = self.cut.bound(label, stage.later_regret);
        let bound = self.linear.bound(label, stage.later).min(at_root);
        if bound > self.linear.incumbent.threshold() {
            return true;
        }
        self.linear.incumbent.drop_bound(bound);
        false
    }

    fn examine(
        &mut self,
        label: &Label<Cardinality>,
        stage: &Stage,
        changes: impl Iterator<Item = (u32, u32)>,
    ) -> Verdict {
        let is_better = self.linear.take_if_better(label, changes);
        Verdict { is_better, is_kept: is_better || self.can_improve(label, stage) }
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

    /// The largest value of the solutions that take up to `limit` jumps, and of those that take
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
                let jumps = (item - vertices[0]) as usize;
                if there.spend <= left + 1e-13 {
                    go(
                        steps,
                        weights,
                        domain + 1,
                        left - there.spend,
                        count + jumps,
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
                max_units: i64::MAX,
            };
            let root = steps.relax(input, None);
            if root.is_integral {
                continue;
            }
            let limit = cardinality_bound::jump_limit(&steps, input, root);
            let truth = truth(&steps, &prepared.weights, limit as usize);
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
                let case = SearchCase { steps: &steps, input, root, bound: case };
                let found = cardinality.run(case, known);
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
