//! The relaxation of one problem or branch-and-bound node: multiplier, dual bound and primal
//! solution.
//!
//! The bound is the dual function at the multiplier found, raised by the rounding of its sums. The
//! primal solution takes the smallest demand of each task and fills the rest of the budget with the
//! tied tasks. At most one task then lies inside an edge of its envelope, where the envelope is
//! above the curve. If there is none, the solution is optimal; otherwise that task is the one to
//! branch on.

use std::cmp::Ordering;

use super::{MultiplierSearch, View, on_branch};
use crate::oracle::batch::{Call, Settled, Split};
use crate::oracle::domain::Domain;
use crate::oracle::sigmoid::{Assignment, TiedTask};
use crate::oracle::tolerances::BOUND_ROUNDING;

/// The solution of a relaxation.
#[derive(Debug, Clone, Copy)]
pub(in crate::oracle) struct Relaxed {
    pub(in crate::oracle) multiplier: f64,
    /// An upper bound on the value of every solution in the domains of the relaxation.
    pub(in crate::oracle) bound: f64,
    /// The value of the feasible solution written.
    pub(in crate::oracle) value: f64,
    /// The unspent budget of that solution.
    pub(in crate::oracle) residual_left: f64,
    /// No demand depends smoothly on the multiplier.
    pub(in crate::oracle) is_flat: bool,
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
        let mut split = Split { spend, success };
        let multiplier = search.find(view, start);
        let mut settled = Settled::default();
        let call = Call { price: multiplier, log_price: multiplier.ln(), wishes: search.demands() };
        tied.clear();
        view.batches.settle(call, &mut split, &mut settled, |task, from, to| {
            tied.push(Tied {
                domain: None,
                task,
                from,
                to,
                exact: true,
                weight: view.values[task],
            });
        });
        let sigmoid = view
            .sigmoids
            .map(|sigmoids| search.respond(view, sigmoids, multiplier))
            .unwrap_or_default();
        reset_dirty(view, dirty, &mut split);
        for domain in view.individual() {
            assign(view, domain, multiplier, &mut split, &mut settled, tied);
        }
        let (mut demand, mut value) = (settled.above, settled.value);
        demand.merge(sigmoid.spend);
        value.merge(sigmoid.value);
        let (demand, value) = (demand.value(), value.value());
        // The dual function at this multiplier.
        let bound = value + multiplier * (view.residual - demand);
        let bound = bound + BOUND_ROUNDING * (bound.abs() + multiplier * view.residual + value);
        if bound <= target {
            return Relaxed {
                multiplier,
                bound,
                value: f64::NEG_INFINITY,
                residual_left: 0.0,
                is_flat: false,
                fractional: None,
            };
        }
        assign_sigmoids(view, multiplier, search, &mut split, &mut settled, tied);
        let fractional =
            fill_ties(view, multiplier, view.residual - demand, &mut split, &mut settled, tied);
        absorb_residual(view, multiplier, &mut split, &mut settled);
        Relaxed {
            multiplier,
            bound,
            value: settled.value.value(),
            residual_left: view.residual - settled.above.value(),
            is_flat: settled.softness == 0.0,
            fractional,
        }
    }

    /// The solution if the lower bounds exhaust the budget.
    fn at_lower_bounds(&mut self, view: View<'_>, spend: &mut [f64]) -> Relaxed {
        let mut split = Split { spend, success: &mut self.success };
        let mut settled = Settled::default();
        self.search.demand_at_infinity(view);
        let call =
            Call { price: f64::INFINITY, log_price: f64::INFINITY, wishes: self.search.demands() };
        view.batches.settle(call, &mut split, &mut settled, |_, _, _| {});
        self.tied.clear();
        reset_dirty(view, &mut self.dirty, &mut split);
        for domain in view.individual() {
            assign(view, domain, f64::INFINITY, &mut split, &mut settled, &mut self.tied);
        }
        assign_sigmoids(
            view,
            f64::INFINITY,
            &mut self.search,
            &mut split,
            &mut settled,
            &mut self.tied,
        );
        let value = settled.value.value();
        Relaxed {
            multiplier: 0.0,
            bound: value + BOUND_ROUNDING * value,
            value,
            residual_left: 0.0,
            is_flat: true,
            fractional: None,
        }
    }
}

/// Resets the tasks that were narrowed in the last relaxation to their lower bounds.
fn reset_dirty(view: View<'_>, dirty: &mut Vec<u32>, split: &mut Split<'_>) {
    let Some(sigmoids) = view.sigmoids else { return };
    dirty.drain(..).for_each(|domain| sigmoids.assign_low(domain, split));
    dirty.extend_from_slice(view.narrowed);
}

/// Writes the smallest demand of the S-shaped tasks that are not narrowed; tasks with a larger one
/// are added to `tied`.
fn assign_sigmoids(
    view: View<'_>,
    multiplier: f64,
    search: &mut MultiplierSearch,
    split: &mut Split<'_>,
    settled: &mut Settled,
    tied: &mut Vec<Tied>,
) {
    let Some(sigmoids) = view.sigmoids else { return };
    let at = Assignment {
        sigmoids,
        multiplier,
        narrowed: view.narrowed,
        is_first: view.narrowed.is_empty(),
    };
    search.assign(at, split, settled, |TiedTask { domain, task, from, to }| {
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
    split: &mut Split<'_>,
    settled: &mut Settled,
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
        settled.offer(task, sensitivity);
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
    split.set(view.curves, task, spend, success);
    settled.above.add(spend - envelope.low);
    settled.value.add(weight * success);
}

/// The order in which tied tasks are filled: by decreasing weight, then by index.
pub(in crate::oracle) fn tie_order(one: (f64, usize), other: (f64, usize)) -> Ordering {
    other.0.total_cmp(&one.0).then(one.1.cmp(&other.1))
}

/// Fills the residual budget with the tied tasks, by decreasing weight, then by index. At most one
/// of them is left inside an edge; it is returned with its spend.
fn fill_ties(
    view: View<'_>,
    multiplier: f64,
    mut residual_left: f64,
    split: &mut Split<'_>,
    settled: &mut Settled,
    tied: &mut [Tied],
) -> Option<(usize, f64)> {
    tied.sort_unstable_by(|a, b| {
        a.exact.cmp(&b.exact).then_with(|| tie_order((a.weight, a.task), (b.weight, b.task)))
    });
    let mut fractional = None;
    for &Tied { domain, task, from, to, exact, .. } in &*tied {
        let fits = to - from <= residual_left;
        if !fits && !exact {
            fractional = fractional.or(domain.map(|domain| (domain, from)));
            continue;
        }
        let step = (to - from).min(residual_left.max(0.0));
        let to = if fits { to } else { from + step };
        match domain {
            Some(domain) => advance(view, domain, from, to, split, settled),
            None => {
                split.spend[task] = to;
                split.success[task] = view.curves[task].success(to);
                settled.above.add(to - from);
                settled.value.add(multiplier * (to - from));
            }
        }
        residual_left -= step;
    }
    let (domain, from) = fractional.filter(|_| residual_left > 0.0)?;
    let target_spend = from + residual_left;
    // Spends between zero and `at_least` are not allowed: stay at zero and branch.
    if !(from == 0.0 && target_spend < view.domains[domain].at_least) {
        advance(view, domain, from, target_spend, split, settled);
    }
    Some((domain, target_spend))
}

/// Moves a domain from one spend to another and updates the sums.
fn advance(
    view: View<'_>,
    domain: usize,
    from: f64,
    to: f64,
    split: &mut Split<'_>,
    settled: &mut Settled,
) {
    let Domain { task, ref form, .. } = view.domains[domain];
    let success = form.success(to);
    split.set(view.curves, task, to, success);
    settled.above.add(to - from);
    settled.value.add(view.weights[domain] * (success - form.success(from)));
}

/// Gives a residual of rounding size to the most elastic task.
fn absorb_residual(view: View<'_>, multiplier: f64, split: &mut Split<'_>, settled: &mut Settled) {
    let residual_left = view.residual - settled.above.value();
    if !(settled.softness > 0.0
        && residual_left != 0.0
        && residual_left.abs() <= MAX_ABSORBED * view.residual)
    {
        return;
    }
    let task = settled.softest;
    let (from, bounds, curve, value) =
        (split.spend[task], view.bounds[task], &view.curves[task], view.values[task]);
    let to = (from + residual_left).clamp(bounds.min.max(bounds.at_least), bounds.max);
    split.spend[task] = to;
    settled.above.add(to - from);
    let is_linear = (to - from).abs() <= LINEAR_STEP * from.min(settled.softness);
    if is_linear && to < curve.saturates_at() {
        // The slope of the task is the multiplier, and so short a step changes it by less than
        // rounding.
        let gain = multiplier * (to - from);
        split.success[task] += gain / value;
        settled.value.add(gain);
    } else {
        let success = curve.success(to);
        split.success[task] = success;
        settled.value.add(value * (success - curve.success(from)));
    }
}
