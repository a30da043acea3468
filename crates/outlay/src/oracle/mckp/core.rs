//! The core algorithm: exact solution of a multiple-choice knapsack.
//!
//! The LP relaxation gives every item a reduced cost at its multiplier. An item whose reduced cost
//! exceeds the gap between the dual bound and the best known solution cannot be part of a better
//! one. The remaining alternatives form the *core* (Pisinger), which the
//! [label search](crate::oracle::labels) solves exactly. Improving the best known solution first, by single
//! and pairs of alternatives, makes the core smaller.
//!
//! All alternatives are counted from the LP-optimal items, not from a feasible solution: the dual
//! bound less the reduced costs of a label is then a bound on its completions.
//!
//! If the labels become too many, a [bound with a second multiplier](super::cardinality_bound) is
//! computed, and the label search is repeated with the reduced costs at both multipliers.

use super::cardinality_bound;
use super::cardinality_search::{CardinalitySearch, Known, SearchCase};
use super::commensurable;
use super::exact_budget::ExactBudget;
use super::items::{Item, LpRelaxation, MckpInput, StepItems, units};
use crate::numeric::compensated::Sum;
use crate::oracle::cancel::Cancel;
use crate::oracle::labels::{
    Alternative, Incumbent, Label, LabelList, LinearCompletion, NONE, Ratios, Stage, TwoLists,
    equalize_capacity,
};
use crate::oracle::tolerances::{BOUND_ROUNDING, OPTIMAL_GAP};
use crate::oracle::{DEFAULT_TOLERANCE, Options, Outcome};

/// The core and the buffers of its search, kept between calls.
#[derive(Debug, Default)]
pub(in crate::oracle) struct CoreSearch {
    list: LabelList<()>,
    /// Smallest reduced costs of a sample of the domains.
    sample: Vec<f64>,
    /// The alternatives that pruning keeps.
    pruned: Vec<Alternative>,
    /// All alternatives by increasing change of spend.
    by_shift: Vec<Shifted>,
    /// For each position in `by_shift`, the position of the largest gain up to it.
    best_fitting: Vec<u32>,
    two_lists: TwoLists,
    cardinality: CardinalitySearch,
}

/// An alternative in the order of its change of spend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Shifted {
    shift: i64,
    alternative: u32,
    stage: u32,
}

/// The result of a core search.
#[derive(Debug, Clone, Copy)]
struct CoreResult {
    value: f64,
    bound: f64,
    labels: u64,
    /// The trace of the solution, if it is better than the one of the relaxation.
    trace: Option<u32>,
}

/// The core starts with the alternatives of about this many domains, and its limit on the reduced
/// cost grows by this factor.
const FIRST_CORE: usize = 96;
const CORE_GROWTH: f64 = 16.0;
/// The first limit is a quantile of the reduced costs of this many domains.
const REDUCED_COST_SAMPLE: usize = 1024;
/// With fewer labels than this the bound with a second multiplier is not worth its time.
const MIN_LABEL_BUDGET: u64 = 1 << 15;
/// Improvements below this share of the value are not looked for; their bound is kept.
const MIN_IMPROVEMENT: f64 = 1e-14;
/// A solution this close to the bound is optimal up to rounding.
const ENOUGH: f64 = 0.5 * OPTIMAL_GAP;
/// With more items than this the bound with a second multiplier is only asked for the requested
/// tolerance: each of its many steps is a pass over all items.
const MAX_STRICT_ITEMS: usize = 1 << 17;
/// The tasks in each half of the two-list algorithm, until the gap is closed.
const HALVES: [usize; 3] = [12, 15, 18];

impl CoreSearch {
    pub(in crate::oracle) fn set_cancel(&mut self, cancel: &Cancel) {
        self.list.cancel = cancel.clone();
        self.two_lists.cancel = cancel.clone();
        self.cardinality.list.cancel = cancel.clone();
    }

    /// The number of labels traced in the last search.
    #[cfg(test)]
    pub(in crate::oracle) fn traced(&self) -> usize {
        self.list.traced() + self.cardinality.list.traced()
    }

    /// Solves a problem of step curves and leaves the items in `steps.chosen`. Unless the tolerance
    /// is above the default, the solution is exact up to rounding.
    pub(in crate::oracle) fn solve(
        &mut self,
        steps: &mut StepItems,
        input: MckpInput<'_>,
        last_multiplier: Option<f64>,
        options: &Options,
    ) -> Outcome {
        let tolerance = if options.tolerance > DEFAULT_TOLERANCE { options.tolerance } else { 0.0 };
        let mut root = steps.relax(input, last_multiplier);
        let mut input = input;
        let reachable = if root.is_integral { None } else { reachable(steps, input) };
        if let Some(reachable) = reachable {
            input = MckpInput { budget: reachable, residual: reachable, ..input };
            root = steps.relax(input, Some(root.multiplier));
        }
        let refused = if root.is_refused { without_everything(steps, input) } else { None };
        if let Some(max_units) = refused {
            input.max_units = max_units;
            root = steps.relax(input, Some(root.multiplier));
        }
        let LpRelaxation { multiplier, mut bound, mut value, left, .. } = root;
        let (mut left, mut labels) = (Some(left), 0);
        if !root.is_integral && root.bound - root.value > tolerance * root.value {
            let mut core = Core::new(steps, input, root, tolerance);
            let found = self.run(&mut core, options);
            (value, bound, labels, left) = (found.value, found.bound, found.labels, None);
            if let Some(trace) = found.trace {
                steps.chosen.clone_from(&steps.lp_item);
                self.list.write_trace(trace, &mut steps.chosen);
            }
        }
        Outcome {
            value,
            bound,
            multiplier,
            node_multiplier: multiplier,
            price: root.price,
            left,
            nodes: 1,
            labels,
        }
    }

    /// Collects the core and searches it, stage by stage.
    fn run(&mut self, core: &mut Core<'_>, options: &Options) -> CoreResult {
        let max_labels = options.max_labels;
        let mut best = self.list.start(core.completion.lp_units);
        equalize_capacity([&mut self.list.alternatives, &mut self.pruned]);
        self.collect_core(core, &mut best);
        self.list.order_stages(Ratios::NONE, 0.0);
        self.prune(core);
        self.list.order_stages(Ratios::NONE, 0.0);
        self.index_by_shift();
        // The bound with a second multiplier, once it was requested.
        let mut cap = None;
        for position in 0..self.list.stages.len() {
            let stage = self.list.stages[position];
            let work = self.list.labels.len() as u64 * stage.len();
            let is_crowded = core.labels + self.list.labels.len() as u64 > core.label_budget()
                || core.labels + work > max_labels;
            if cap.is_none() && is_crowded {
                if options.tolerance <= DEFAULT_TOLERANCE {
                    self.improve_by_two_lists(core, &mut best, options);
                }
                cap = Some(if core.is_open() {
                    self.bound_by_cardinality(core, &mut best, options)
                } else {
                    core.root.bound
                });
            }
            let is_closed = cap.is_some_and(|cap| {
                let enough = options.tolerance.max(MIN_IMPROVEMENT);
                !core.is_open() || cap <= core.completion.incumbent.value * (1.0 + enough)
            });
            if is_closed || core.labels + work > max_labels || !self.list.can_expand(work) {
                core.bound_open_labels(&self.list.labels, &stage);
                break;
            }
            self.list.expand_by_merging(stage, &mut core.completion, &mut best);
            core.labels += self.list.labels.len() as u64;
            self.complete_labels(position, core, &mut best);
        }
        let Incumbent { value, dropped_bound, .. } = core.completion.incumbent;
        let trace = (value > core.root.value).then_some(best.trace);
        // The gains of labels are plain sums.
        let attained = value + BOUND_ROUNDING * value;
        let searched = dropped_bound.min(cap.unwrap_or(f64::INFINITY)).max(attained);
        let bound = searched.min(core.root.bound);
        CoreResult { value, bound, labels: core.labels, trace }
    }

    /// Improves the best known solution by combinations of alternatives, of ever more tasks. This
    /// takes tens of milliseconds and closes gaps below the default tolerance; if a larger one is
    /// requested, it is left out.
    fn improve_by_two_lists(
        &mut self,
        core: &mut Core<'_>,
        best: &mut Label<()>,
        options: &Options,
    ) {
        let Self { list, two_lists, .. } = self;
        for half in HALVES {
            let work = 2 << half;
            let is_allowed = core.labels + work <= options.max_labels && list.can_expand(work);
            if !core.is_open() || !is_allowed {
                return;
            }
            two_lists.clear();
            for stage in &list.stages {
                let alternatives = &list.alternatives[stage.first as usize..stage.last as usize];
                two_lists.add(stage.first, alternatives);
            }
            two_lists.combine(half);
            core.labels += two_lists.len();
            let LinearCompletion { lp_units, lp_value, incumbent, budget, .. } = core.completion;
            let enough = incumbent.bound / (1.0 + ENOUGH) - lp_value;
            let range = (incumbent.value - lp_value, enough);
            if two_lists.find(budget.certain() - lp_units, range, |_, gain| gain) {
                let mut label = Label::root(lp_units);
                for &position in &two_lists.taken {
                    let alternative = list.alternatives[position as usize];
                    let is_of = |stage: &&Stage| (stage.first..stage.last).contains(&position);
                    let Some(stage) = list.stages.iter().find(is_of) else { return };
                    label = label.after(&alternative, NONE);
                    label.trace = list.trace(label.trace, stage.domain, alternative.item);
                }
                core.completion.incumbent.value = lp_value + label.gain;
                *best = label;
            }
        }
    }

    /// The bound with a second multiplier on the number of jumps, lowered by a label search at both
    /// multipliers. Of many items, the requested tolerance is enough.
    fn bound_by_cardinality(
        &mut self,
        core: &mut Core<'_>,
        best: &mut Label<()>,
        options: &Options,
    ) -> f64 {
        let Core { steps, input, root, .. } = *core;
        let is_strict =
            options.tolerance <= DEFAULT_TOLERANCE && steps.items().len() <= MAX_STRICT_ITEMS;
        let tolerance = if is_strict { ENOUGH } else { options.tolerance.max(MIN_IMPROVEMENT) };
        let enough = core.completion.incumbent.value * (1.0 + tolerance);
        let cases = cardinality_bound::bounds(steps, input, root, enough);
        let mut bound = 0.0f64;
        for case in cases {
            if case.bound <= core.completion.incumbent.value * (1.0 + tolerance) {
                bound = bound.max(case.bound);
                continue;
            }
            let known = Known {
                value: core.completion.incumbent.value,
                tolerance: core.completion.incumbent.tolerance,
                max_labels: options.max_labels.saturating_sub(core.labels),
            };
            let case = SearchCase { steps, input, root, bound: case };
            let found = self.cardinality.run(case, known);
            core.labels += found.labels;
            bound = bound.max(found.bound);
            if found.is_better {
                self.adopt_cardinality_solution(core, best);
            }
        }
        bound
    }

    /// Expresses the solution of the search at two multipliers by alternatives to the LP-optimal
    /// items.
    fn adopt_cardinality_solution(&mut self, core: &mut Core<'_>, best: &mut Label<()>) {
        let Core { steps, input, .. } = *core;
        let (mut trace, mut spend, mut gain) = (NONE, core.completion.lp_units, Sum::default());
        let items = self.cardinality.items.iter().zip(&steps.lp_item).enumerate();
        for (domain, (&item, &from)) in items.filter(|(_, (item, from))| item != from) {
            let alternative = core.alternative(input.weights[domain], steps.item(from), item);
            gain.add(alternative.gain);
            spend += alternative.shift;
            trace = self.list.trace(trace, domain as u32, item);
        }
        let gain = gain.value();
        if core.completion.is_improved_by(spend, gain, self.list.changes(trace)) {
            core.completion.incumbent.value = core.root.lp_value + gain;
            *best = Label { spend, gain, trace, alternative: NONE, key: () };
        }
    }

    /// Collects the alternatives with a reduced cost below the gap: first those with the smallest
    /// ones, which improve the best known solution and so close part of the gap, then more.
    fn collect_core(&mut self, core: &mut Core<'_>, best: &mut Label<()>) {
        let gap = core.completion.incumbent.gap();
        let mut limit = self.first_limit(&core.steps.min_reduced_cost).min(gap);
        loop {
            let dropped = self.collect(core, limit);
            self.improve_by_pairs(core, best);
            let gap = core.completion.incumbent.gap();
            if limit >= gap {
                core.completion.incumbent.drop_bound(core.root.bound - dropped);
                return;
            }
            // At least a share of the gap: where many reduced costs are zero, so is the limit.
            limit = (limit * CORE_GROWTH).max(gap / (CORE_GROWTH * CORE_GROWTH)).min(gap);
        }
    }

    /// A reduced cost that about `FIRST_CORE` domains stay below.
    fn first_limit(&mut self, min_reduced_cost: &[f64]) -> f64 {
        let stride = min_reduced_cost.len().div_ceil(REDUCED_COST_SAMPLE);
        let rank = FIRST_CORE / stride.max(1);
        self.sample.clear();
        self.sample.extend(min_reduced_cost.iter().step_by(stride.max(1)));
        if rank >= self.sample.len() {
            return f64::INFINITY;
        }
        *self.sample.select_nth_unstable_by(rank, f64::total_cmp).1
    }

    /// Lists the alternatives with a reduced cost below `limit`; returns the smallest one of the
    /// others.
    fn collect(&mut self, core: &Core<'_>, limit: f64) -> f64 {
        self.list.alternatives.clear();
        self.list.stages.clear();
        let mut dropped = f64::INFINITY;
        for (domain, &least) in core.steps.min_reduced_cost.iter().enumerate() {
            if !(least < limit) {
                dropped = if least < dropped { least } else { dropped };
                continue;
            }
            let first = self.list.alternatives.len();
            dropped = dropped.min(self.collect_from(domain, core, limit));
            if self.list.alternatives.len() > first {
                let stage = Stage::new(domain as u32, first, &self.list.alternatives);
                self.list.stages.push(stage);
            }
        }
        dropped
    }

    /// [`collect`](Self::collect) for one domain. Reduced costs at the vertices grow away from the
    /// LP-optimal one, so the items between the first vertices beyond the limit are enough.
    fn collect_from(&mut self, domain: usize, core: &Core<'_>, limit: f64) -> f64 {
        let steps = core.steps;
        let (weight, (vertices, lp_item)) = (core.input.weights[domain], steps.vertices(domain));
        let from = vertices[lp_item];
        let alternative = |item: u32| core.alternative(weight, steps.item(from), item);
        let is_beyond = |&vertex: &u32| alternative(vertex).reduced_cost >= limit;
        let left = vertices[..lp_item].iter().rposition(is_beyond).unwrap_or(0);
        let right = vertices[lp_item..].iter().position(is_beyond).map(|offset| lp_item + offset);
        let right = right.unwrap_or(vertices.len() - 1);
        let mut dropped = f64::INFINITY;
        for item in (vertices[left]..from).chain(from + 1..vertices[right] + 1) {
            let alternative = alternative(item);
            if alternative.reduced_cost < limit {
                self.list.alternatives.push(alternative);
            } else {
                dropped = dropped.min(alternative.reduced_cost);
            }
        }
        dropped
    }

    /// Improves the best known solution by one or two alternatives to the LP-optimal items.
    fn improve_by_pairs(&mut self, core: &mut Core<'_>, best: &mut Label<()>) {
        self.index_by_shift();
        let origin = core.completion.lp_units;
        let capacity_left = core.completion.capacity - origin;
        let mut pair = None;
        let mut fits = self.by_shift.len();
        // A single alternative first, then pairs by increasing shift of the first one: ever fewer
        // alternatives fit beside it.
        for position in std::iter::once(None).chain((0..self.by_shift.len()).map(Some)) {
            let (shift, gain) = position.map_or((0, 0.0), |position| {
                let shifted = self.by_shift[position];
                (shifted.shift, self.gain(shifted))
            });
            if position == Some(0) {
                fits = self.by_shift.len();
            }
            while fits > 0 && self.by_shift[fits - 1].shift > capacity_left - shift {
                fits -= 1;
            }
            let Some(last) = fits.checked_sub(1) else { continue };
            let partner = self.best_fitting[last] as usize;
            let other = self.by_shift[partner];
            let is_same = position.is_some_and(|one| self.by_shift[one].stage == other.stage);
            let (spend, gain) = (origin + shift + other.shift, gain + self.gain(other));
            let one = position.map(|position| self.by_shift[position]);
            let changes = one.into_iter().chain([other]).map(|shifted| self.change(shifted));
            if !is_same && core.completion.is_improved_by(spend, gain, changes) {
                core.completion.incumbent.value = core.root.lp_value + gain;
                pair = Some((position, partner, spend, gain));
            }
        }
        if let Some((position, partner, spend, gain)) = pair {
            let one = position.map_or(NONE, |position| self.trace(NONE, self.by_shift[position]));
            let trace = self.trace(one, self.by_shift[partner]);
            *best = Label { spend, gain, trace, alternative: NONE, key: () };
        }
    }

    fn gain(&self, shifted: Shifted) -> f64 {
        self.list.alternatives[shifted.alternative as usize].gain
    }

    /// The domain and the item of an alternative.
    fn change(&self, shifted: Shifted) -> (u32, u32) {
        let domain = self.list.stages[shifted.stage as usize].domain;
        (domain, self.list.alternatives[shifted.alternative as usize].item)
    }

    fn trace(&mut self, predecessor: u32, shifted: Shifted) -> u32 {
        let (domain, item) = self.change(shifted);
        self.list.trace(predecessor, domain, item)
    }

    /// Sorts all alternatives by change of spend and notes the largest gain up to each.
    fn index_by_shift(&mut self) {
        self.by_shift.clear();
        for (position, stage) in self.list.stages.iter().enumerate() {
            for alternative in stage.first..stage.last {
                let shift = self.list.alternatives[alternative as usize].shift;
                self.by_shift.push(Shifted { shift, alternative, stage: position as u32 });
            }
        }
        self.by_shift.sort_unstable();
        self.best_fitting.clear();
        let mut top = 0u32;
        for position in 0..self.by_shift.len() {
            if self.gain(self.by_shift[position]) > self.gain(self.by_shift[top as usize]) {
                top = position as u32;
            }
            self.best_fitting.push(top);
        }
    }

    /// Completes each label by the best fitting alternative of a later stage. A better solution
    /// found early makes most of the search unnecessary.
    fn complete_labels(&mut self, position: usize, core: &mut Core<'_>, best: &mut Label<()>) {
        let mut found = None;
        let mut fits = self.by_shift.len();
        for label in &self.list.labels {
            // Labels are sorted by spend: ever fewer alternatives fit.
            let capacity_left = core.completion.capacity - label.spend;
            while fits > 0 && self.by_shift[fits - 1].shift > capacity_left {
                fits -= 1;
            }
            let Some(last) = fits.checked_sub(1) else { break };
            let shifted = self.by_shift[self.best_fitting[last] as usize];
            let (spend, gain) = (label.spend + shifted.shift, label.gain + self.gain(shifted));
            let changes = self.list.changes(label.trace).chain([self.change(shifted)]);
            if shifted.stage as usize > position
                && core.completion.is_improved_by(spend, gain, changes)
            {
                core.completion.incumbent.value = core.root.lp_value + gain;
                found = Some((Label { spend, gain, ..*label }, shifted));
            }
        }
        if let Some((label, shifted)) = found {
            *best = Label { trace: self.trace(label.trace, shifted), ..label };
        }
    }

    /// Drops the alternatives that no better solution contains: even the cheapest way back to the
    /// capacity leaves too low a bound.
    fn prune(&mut self, core: &mut Core<'_>) {
        let Some(ratios) = self.list.stages.first().map(Stage::ratios_from_here) else { return };
        let LabelList { alternatives, stages, .. } = &mut self.list;
        for stage in stages.iter_mut() {
            let first = self.pruned.len();
            for &alternative in &alternatives[stage.first as usize..stage.last as usize] {
                let label = Label::<()>::root(core.completion.lp_units).after(&alternative, NONE);
                let bound = core.completion.bound(&label, ratios);
                if bound > core.completion.incumbent.threshold() {
                    self.pruned.push(alternative);
                } else {
                    core.completion.incumbent.drop_bound(bound);
                }
            }
            *stage = Stage::new(stage.domain, first, &self.pruned);
        }
        stages.retain(|stage| stage.len() > 0);
        std::mem::swap(alternatives, &mut self.pruned);
        self.pruned.clear();
    }
}

/// The largest total spend, if lower bounds are zero and the spends of all domains with weight are
/// multiples of a unit.
fn reachable(steps: &StepItems, input: MckpInput<'_>) -> Option<f64> {
    if input.residual != input.budget {
        return None;
    }
    let domains = (0..steps.len()).filter(|&domain| input.weights[domain] > 0.0);
    let spends = domains.flat_map(|domain| {
        let first = steps.vertices(domain).0[0] as usize;
        steps.items()[first..steps.end(domain)].iter().map(|item| item.spend)
    });
    commensurable::reachable(spends, input.budget)
}

/// The units that a solution may have if the last items of all domains together exceed the budget:
/// every other solution has at least one unit less. `None` if the units do not show that.
fn without_everything(steps: &StepItems, input: MckpInput<'_>) -> Option<i64> {
    let (per_spend, mut all) = (input.units_per_spend(), 0i64);
    for domain in 0..steps.len() {
        let first = steps.vertices(domain).0[0];
        let has_value = input.weights[domain] > 0.0;
        let last = if has_value { steps.end(domain) as u32 - 1 } else { first };
        let counted = |item: u32| units(steps.item(item).spend, per_spend);
        if last > first && counted(last) == counted(last - 1) {
            return None;
        }
        all = all.saturating_add(counted(last));
    }
    (all <= input.capacity()).then_some(all - 1)
}

/// One core search: its input and the best known solution.
struct Core<'a> {
    steps: &'a StepItems,
    input: MckpInput<'a>,
    root: LpRelaxation,
    units_per_spend: f64,
    completion: LinearCompletion<'a>,
    /// Labels kept so far.
    labels: u64,
}

impl<'a> Core<'a> {
    fn new(steps: &'a StepItems, input: MckpInput<'a>, root: LpRelaxation, tolerance: f64) -> Self {
        let units_per_spend = input.units_per_spend();
        let completion = LinearCompletion {
            incumbent: Incumbent {
                bound: root.bound,
                value: root.value,
                tolerance: tolerance.max(MIN_IMPROVEMENT),
                dropped_bound: 0.0,
            },
            unit_multiplier: root.multiplier / units_per_spend,
            capacity: input.capacity(),
            lp_units: root.lp_units,
            lp_value: root.lp_value,
            budget: ExactBudget::new(steps, input, &steps.lp_item),
        };
        Self { steps, input, root, units_per_spend, completion, labels: 0 }
    }

    fn alternative(&self, weight: f64, from: Item, item: u32) -> Alternative {
        let to = self.steps.item(item);
        let shift = units(to.spend, self.units_per_spend) - units(from.spend, self.units_per_spend);
        let gain = weight * (to.success - from.success);
        let reduced_cost = (self.completion.unit_multiplier * shift as f64 - gain).max(0.0);
        Alternative { item, count: 0, shift, gain, reduced_cost, segment: () }
    }

    /// Whether the best known solution is further from the bound than rounding.
    fn is_open(&self) -> bool {
        let Incumbent { bound, value, .. } = self.completion.incumbent;
        bound > value * (1.0 + ENOUGH)
    }

    /// The labels before the bound with a second multiplier is computed: about as many as take the
    /// same time.
    fn label_budget(&self) -> u64 {
        MIN_LABEL_BUDGET.max(4 * self.steps.items().len() as u64)
    }

    /// Stops with labels still open: their bounds become part of the final one.
    fn bound_open_labels(&mut self, labels: &[Label<()>], stage: &Stage) {
        for label in labels {
            let bound = self.completion.bound(label, stage.ratios_from_here());
            self.completion.incumbent.drop_bound(bound);
        }
    }
}
