//! The relaxation of one problem or branch-and-bound node: multiplier, dual bound and primal
//! solution.
//!
//! The bound is the dual function at the multiplier found, raised by the rounding of its sums. The
//! primal solution takes the smallest demand of each task and fills the rest of the budget with the
//! tied tasks. At most one task then lies inside an edge of its envelope, where the envelope is
//! above the curve. If there is none, the solution is optimal; otherwise that task is the one to
//! branch on.

use std::cmp::Ordering;

use super::price::{ElasticTask, price_budget};
use super::{MultiplierSearch, View, on_branch};
use crate::oracle::domain::Domain;
use crate::oracle::evaluation::{Evaluation, Output};
use crate::oracle::sigmoid::{Assignment, TiedTask};
use crate::oracle::tolerances::BOUND_ROUNDING;

/// The solution of a relaxation.
#[derive(Debug, Clone, Copy)]
pub(in crate::oracle) struct Relaxed {
    pub(in crate::oracle) multiplier: f64,
    /// Whether no multiplier noticeably smaller proves the bound too.
    pub(in crate::oracle) is_smallest: bool,
    /// An upper bound on the value of every solution in the domains of the relaxation.
    pub(in crate::oracle) bound: f64,
    /// The value of the feasible solution written.
    pub(in crate::oracle) value: f64,
    /// The unspent budget of that solution; negative if it needs the tolerance of the budget.
    pub(in crate::oracle) residual_left: f64,
    /// The domain inside an edge that its curve does not follow, and its spend.
    pub(in crate::oracle) fractional: Option<(usize, f64)>,
}

/// A task with two optimal spends at the multiplier found.
#[derive(Debug, Clone, Copy)]
struct Tied {
    /// The domain, or none for a linear task in bulk.
    domain: Option<usize>,
    task: usize,
    from: f64,
    to: f64,
    exact: bool,
    weight: f64,
}

/// Buffers kept between calls.
#[derive(Debug, Default)]
pub(in crate::oracle) struct Relaxation {
    search: MultiplierSearch,
    tied: Vec<Tied>,
    /// The probability of success of each task at its spend.
    success: Vec<f64>,
    /// The S-shaped tasks that were narrowed in the last relaxation: their spends must be reset.
    dirty: Vec<u32>,
}

/// A residual up to this share of the residual budget may be absorbed by one task.
const MAX_ABSORBED: f64 = 1e-6;
/// Budget that is worth at most this share of the value may be left unused.
const MAX_SPARE_VALUE: f64 = 1e-14;
/// A change of this share of the spend and of the sensitivity leaves the slope equal up to
/// rounding.
const LINEAR_STEP: f64 = 1e-9;

impl Relaxation {
    /// The probabilities of success at the spends written last; groups of identical thresholds are
    /// omitted.
    pub(in crate::oracle) fn success(&self) -> &[f64] {
        &self.success
    }

    /// The multiplier of a sample of the tasks; none if there are too few tasks.
    pub(in crate::oracle) fn sample_multiplier(&mut self, view: View<'_>) -> Option<f64> {
        self.search.sample_multiplier(view)
    }

    /// Makes the next call write every S-shaped task: its `spend` may hold any other solution.
    pub(in crate::oracle) fn reset_all(&mut self, view: View<'_>) {
        self.dirty.clear();
        if let Some(sigmoids) = view.sigmoids {
            let domains = 0..view.domains.len() as u32;
            self.dirty.extend(domains.filter(|&domain| sigmoids.has(domain)));
        }
    }

    /// Solves the relaxation and writes a feasible solution into `spend`. If the bound is at most
    /// `target`, only the bound is computed.
    pub(in crate::oracle) fn solve(
        &mut self,
        view: View<'_>,
        start: Option<f64>,
        target: f64,
        spend: &mut [f64],
    ) -> Relaxed {
        self.success.resize(view.curves.len(), 0.0);
        if !(view.residual > 0.0) {
            return self.at_lower_bounds(view, spend);
        }
        let Self { search, tied, success, dirty } = self;
        let mut output = Output { spend, success };
        let multiplier = search.find(view, start);
        tied.clear();
        let mut evaluation =
            search.assign_concave(view, multiplier, &mut output, |task, from, to| {
                let weight = view.values[task];
                tied.push(Tied { domain: None, task, from, to, exact: true, weight });
            });
        let sigmoid = view
            .sigmoids
            .map(|sigmoids| search.respond(view, sigmoids, multiplier))
            .unwrap_or_default();
        reset_dirty(view, dirty, &mut output);
        for domain in view.individual() {
            assign(view, domain, multiplier, &mut output, &mut evaluation, tied);
        }
        let (mut demand, mut value) = (evaluation.above, evaluation.value);
        demand.merge(sigmoid.spend);
        value.merge(sigmoid.value);
        let (demand, value) = (demand.value(), value.value());
        // The dual function at this multiplier.
        let bound = value + multiplier * (view.residual - demand);
        let rounded = view.residual.max(view.rounded_budget);
        let bound = bound + BOUND_ROUNDING * (bound.abs() + multiplier * rounded + value);
        if bound <= target {
            return Relaxed {
                multiplier,
                is_smallest: true,
                bound,
                value: f64::NEG_INFINITY,
                residual_left: 0.0,
                fractional: None,
            };
        }
        assign_sigmoids(view, multiplier, search, &mut output, &mut evaluation, tied);
        // The tolerance is left unused where it is worth no more than rounding.
        let is_worthless = multiplier * view.spare <= MAX_SPARE_VALUE * value;
        let spare = if is_worthless { view.spare } else { 0.0 };
        let left = Left { total: view.residual - demand, spare };
        let fractional = fill_ties(view, multiplier, left, &mut output, &mut evaluation, tied);
        let target = view.residual - spare;
        absorb_residual(view, multiplier, target, &mut output, &mut evaluation);
        Relaxed {
            multiplier,
            is_smallest: multiplier == 0.0
                || is_inside_ties(view, demand, tied)
                || is_smooth_at(view, output.spend, &evaluation),
            bound,
            value: evaluation.value.value(),
            residual_left: view.residual - view.spare - evaluation.above.value(),
            fractional,
        }
    }

    /// The solution if the lower bounds exhaust the budget.
    fn at_lower_bounds(&mut self, view: View<'_>, spend: &mut [f64]) -> Relaxed {
        let mut output = Output { spend, success: &mut self.success };
        self.search.demand_at_infinity(view);
        let mut evaluation =
            self.search.assign_concave(view, f64::INFINITY, &mut output, |_, _, _| {});
        self.tied.clear();
        reset_dirty(view, &mut self.dirty, &mut output);
        for domain in view.individual() {
            assign(view, domain, f64::INFINITY, &mut output, &mut evaluation, &mut self.tied);
        }
        assign_sigmoids(
            view,
            f64::INFINITY,
            &mut self.search,
            &mut output,
            &mut evaluation,
            &mut self.tied,
        );
        let value = evaluation.value.value();
        Relaxed {
            multiplier: 0.0,
            is_smallest: true,
            bound: value + BOUND_ROUNDING * value,
            value,
            residual_left: 0.0,
            fractional: None,
        }
    }
}

/// Resets the tasks that were narrowed in the last relaxation to their lower bounds.
fn reset_dirty(view: View<'_>, dirty: &mut Vec<u32>, output: &mut Output<'_>) {
    let Some(sigmoids) = view.sigmoids else { return };
    dirty.drain(..).for_each(|domain| sigmoids.assign_low(domain, output));
    dirty.extend_from_slice(view.narrowed);
}

/// Writes the smallest demand of the S-shaped tasks that are not narrowed; tasks with a larger one
/// are added to `tied`.
fn assign_sigmoids(
    view: View<'_>,
    multiplier: f64,
    search: &mut MultiplierSearch,
    output: &mut Output<'_>,
    evaluation: &mut Evaluation,
    tied: &mut Vec<Tied>,
) {
    let Some(sigmoids) = view.sigmoids else { return };
    let at = Assignment {
        sigmoids,
        multiplier,
        narrowed: view.narrowed,
        is_first: view.narrowed.is_empty(),
    };
    search.assign(at, output, evaluation, |TiedTask { domain, task, from, to }| {
        tied.push(Tied {
            domain: Some(domain),
            task,
            from,
            to,
            exact: false,
            weight: view.weights[domain],
        });
    });
}

/// Writes the smallest demand of a domain; if there is a larger one, it is added to `tied`.
fn assign(
    view: View<'_>,
    domain: usize,
    multiplier: f64,
    output: &mut Output<'_>,
    evaluation: &mut Evaluation,
    tied: &mut Vec<Tied>,
) {
    let envelope = view.envelope(domain);
    let weight = view.weights[domain];
    let task = view.domains[domain].task;
    let position = if weight > 0.0 {
        envelope.vertices.partition_point(|vertex| weight * vertex.slope > multiplier)
    } else {
        0
    };
    let (spend, success) = if position == envelope.vertices.len() {
        let (spend, sensitivity) = on_branch(view, domain, multiplier);
        evaluation.offer(task, sensitivity);
        (spend, view.domains[domain].form.success(spend))
    } else {
        let vertex = envelope.vertices[position];
        if weight > 0.0 && multiplier > 0.0 && weight * vertex.slope == multiplier {
            let to = envelope
                .vertices
                .get(position + 1)
                .map_or_else(|| on_branch(view, domain, multiplier).0, |next| next.spend);
            tied.push(Tied {
                domain: Some(domain),
                task,
                from: vertex.spend,
                to,
                exact: vertex.is_exact,
                weight,
            });
        }
        (vertex.spend, vertex.success)
    };
    output.set(view.curves, task, spend, success);
    evaluation.above.add(spend - envelope.low);
    evaluation.value.add(weight * success);
}

/// The order in which tied tasks are filled: by decreasing weight, then by index.
///
/// Three loops fill in this order, because they have little else in common. The one below keeps
/// sums and leaves a task inside an edge if its curve is not linear there. The one of the knapsack
/// moves items in whole units, one edge of a domain after the other. The one of `TaylorSolver`
/// fills linear tasks only, from a list that is already sorted.
pub(in crate::oracle) fn tie_order(one: (f64, usize), other: (f64, usize)) -> Ordering {
    other.0.total_cmp(&one.0).then(one.1.cmp(&other.1))
}

/// The residual budget that the smallest demands leave, and the part of it to leave unused.
#[derive(Debug, Clone, Copy)]
struct Left {
    total: f64,
    spare: f64,
}

/// Fills the residual budget with the tied tasks, by decreasing weight, then by index. At most one
/// of them is left inside an edge; it is returned with its spend.
fn fill_ties(
    view: View<'_>,
    multiplier: f64,
    left: Left,
    output: &mut Output<'_>,
    evaluation: &mut Evaluation,
    tied: &mut [Tied],
) -> Option<(usize, f64)> {
    tied.sort_unstable_by(|a, b| {
        a.exact.cmp(&b.exact).then_with(|| tie_order((a.weight, a.task), (b.weight, b.task)))
    });
    let mut fractional = None;
    let mut residual_left = left.total;
    for &Tied { domain, task, from, to, exact, .. } in &*tied {
        let fits = to - from <= residual_left;
        if !fits && !exact {
            fractional = fractional.or(domain.map(|domain| (domain, from)));
            continue;
        }
        let step = if fits { to - from } else { (residual_left - left.spare).max(0.0) };
        let to = if fits { to } else { from + step };
        match domain {
            Some(domain) => advance(view, domain, from, to, output, evaluation),
            None => {
                output.spend[task] = to;
                output.success[task] = view.curves[task].success(to);
                evaluation.above.add(to - from);
                evaluation.value.add(multiplier * (to - from));
            }
        }
        residual_left -= step;
    }
    let residual_left = residual_left - left.spare;
    let (domain, from) = fractional.filter(|_| residual_left > 0.0)?;
    let target_spend = from + residual_left;
    // Spends between zero and `at_least` are not allowed: stay at zero and branch.
    if !(from == 0.0 && target_spend < view.domains[domain].at_least) {
        advance(view, domain, from, target_spend, output, evaluation);
    }
    Some((domain, target_spend))
}

/// Moves a domain from one spend to another and updates the sums.
fn advance(
    view: View<'_>,
    domain: usize,
    from: f64,
    to: f64,
    output: &mut Output<'_>,
    evaluation: &mut Evaluation,
) {
    let Domain { task, ref form, .. } = view.domains[domain];
    let success = form.success(to);
    output.set(view.curves, task, to, success);
    evaluation.above.add(to - from);
    evaluation.value.add(view.weights[domain] * (success - form.success(from)));
}

/// Gives a residual of rounding size to the most elastic task.
fn absorb_residual(
    view: View<'_>,
    multiplier: f64,
    target: f64,
    output: &mut Output<'_>,
    evaluation: &mut Evaluation,
) {
    let residual_left = target - evaluation.above.value();
    if !(evaluation.sensitivity > 0.0
        && residual_left != 0.0
        && residual_left.abs() <= MAX_ABSORBED * view.residual)
    {
        return;
    }
    let task = evaluation.most_elastic;
    let (from, bounds, curve, value) =
        (output.spend[task], view.bounds.of(task), &view.curves[task], view.values[task]);
    let to = (from + residual_left).clamp(bounds.min.max(bounds.at_least), bounds.max);
    output.spend[task] = to;
    evaluation.above.add(to - from);
    let is_linear = (to - from).abs() <= LINEAR_STEP * from.min(evaluation.sensitivity);
    if is_linear && to < curve.saturates_at() {
        // The slope of the task is the multiplier, and so short a step changes it by less than
        // rounding.
        let gain = multiplier * (to - from);
        output.success[task] += gain / value;
        evaluation.value.add(gain);
    } else {
        let success = curve.success(to);
        output.success[task] = success;
        evaluation.value.add(value * (success - curve.success(from)));
    }
}

/// Whether some of the budget is left for the tied tasks, and noticeably less than they could take.
fn is_inside_ties(view: View<'_>, demand: f64, tied: &[Tied]) -> bool {
    let jump: f64 = tied.iter().map(|tied| tied.to - tied.from).sum();
    price_budget(demand) < view.residual && demand + jump > price_budget(view.residual)
}

/// Whether total demand is smooth around the multiplier found, by its most elastic task.
fn is_smooth_at(view: View<'_>, spend: &[f64], evaluation: &Evaluation) -> bool {
    let (task, sensitivity) = (evaluation.most_elastic, evaluation.sensitivity);
    if !(sensitivity > 0.0) {
        return false;
    }
    let (bounds, spend) = (view.bounds.of(task), spend[task]);
    let high = bounds.max.min(view.curves[task].saturates_at());
    let elastic = ElasticTask { sensitivity, spend, low: bounds.min, high };
    elastic.is_smooth(view.concave.len() + view.domains.len(), view.residual)
}
