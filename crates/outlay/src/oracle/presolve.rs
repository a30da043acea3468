//! Tasks without a choice are left out before a solver is chosen.
//!
//! An excluded task (`max = 0`) spends nothing. It is dropped when an oracle is made: the solvers
//! see the other tasks only, so their method and their answer do not depend on it. Its value at zero
//! is added to the result. A fixed task (`min = max`) stays, because its spend may differ from the
//! fixed one by the tolerance of feasibility.
//!
//! The solvers know weights only: the values of a call times the tasks' volumes.
//!
//! A task without value in a call gets its lower bound. If all tasks that have value in a call are
//! step curves, [`StepsAlone`] lets the solver for step curves run on them.
//!
//! A dominated task, which is worth less than others at every cost, is not dropped. The relaxation
//! leaves it at its lower bound and its items have reduced costs above the gap, so the searches do
//! not meet it; and it may still use budget that no other task can.

use smallvec::smallvec;

use super::concave::ConcaveTasks;
use super::curves::Curves;
use super::domain::{Domain, Form};
use super::mckp::StepItems;
use super::solver_bounds::SolverBounds;
use super::tolerances::BOUND_ROUNDING;
use super::{Allocation, AllocationError, Options, UnspentReason};
use crate::curve::Curve;
use crate::numeric::compensated::{Sum, sum};
use crate::problem::{SharedTasks, Task};

/// The excluded tasks and the volumes, and the result with them.
#[derive(Debug)]
pub(super) struct Presolve {
    kept: Vec<u32>,
    excluded: Vec<Excluded>,
    /// The volumes of the kept tasks.
    volumes: Vec<f64>,
    /// The weights of the kept tasks in a call.
    pub(super) weights: Vec<f64>,
    pub(super) allocation: Allocation,
}

#[derive(Debug)]
struct Excluded {
    task: usize,
    /// Its expected completions without spend.
    completions: f64,
    success: f64,
    /// Whether it would gain from a spend.
    wants_more: bool,
}

impl Presolve {
    /// None if every volume is 1 and no task is excluded. If all are excluded, all are kept.
    pub(super) fn new(tasks: &[Task]) -> Option<Self> {
        let are_all_excluded = tasks.iter().all(|task| task.bounds().max == 0.0);
        let is_excluded = |task: &Task| task.bounds().max == 0.0 && !are_all_excluded;
        let count = tasks.iter().filter(|task| is_excluded(task)).count();
        if count == 0 && tasks.iter().all(|task| task.volume() == 1.0) {
            return None;
        }
        let (mut kept, mut excluded) = (Vec::with_capacity(tasks.len() - count), Vec::new());
        for (position, task) in tasks.iter().enumerate() {
            if !is_excluded(task) {
                kept.push(position as u32);
                continue;
            }
            let curve = task.curve();
            excluded.push(Excluded {
                task: position,
                completions: task.volume() * curve.success(0.0),
                success: curve.success(0.0),
                wants_more: curve.saturates_at() > 0.0 && curve.height() > 0.0,
            });
        }
        Some(Self {
            volumes: kept.iter().map(|&task| tasks[task as usize].volume()).collect(),
            weights: vec![0.0; kept.len()],
            allocation: Allocation::empty(tasks.len()),
            kept,
            excluded,
        })
    }

    /// The tasks that are left.
    pub(super) fn kept(&self, tasks: &[Task]) -> SharedTasks {
        self.kept.iter().map(|&task| tasks[task as usize].clone()).collect()
    }

    /// Computes the weights of the kept tasks.
    pub(super) fn load(&mut self, values: &[f64]) -> Result<(), AllocationError> {
        let expected = self.allocation.spend.len();
        if values.len() != expected {
            return Err(AllocationError::ValueCount { expected, got: values.len() });
        }
        if let Some(task) = values.iter().position(|value| !super::is_valid(value)) {
            return Err(AllocationError::BadValue { task, value: values[task] });
        }
        for ((weight, volume), &task) in self.weights.iter_mut().zip(&self.volumes).zip(&self.kept)
        {
            *weight = values[task as usize] * volume;
        }
        Ok(())
    }

    /// Completes the allocation of the kept tasks.
    pub(super) fn expand(
        &mut self,
        kept: &Allocation,
        values: &[f64],
        budget: f64,
        options: &Options,
    ) {
        let all = &mut self.allocation;
        let entries = kept.spend.iter().zip(&kept.success).zip(&self.kept);
        for ((&spend, &success), &task) in entries {
            (all.spend[task as usize], all.success[task as usize]) = (spend, success);
        }
        let (mut value, mut wants_more) = (Sum::default(), false);
        for excluded in &self.excluded {
            all.success[excluded.task] = excluded.success;
            value.add(values[excluded.task] * excluded.completions);
            wants_more |= excluded.wants_more && values[excluded.task] > 0.0;
        }
        let value = value.value();
        all.budget = budget;
        all.value = kept.value + value;
        all.upper_bound = kept.upper_bound + (value + BOUND_ROUNDING * value);
        all.price = kept.price;
        all.unspent = kept.unspent;
        all.unspent_reason = kept
            .unspent_reason
            .map(|reason| if wants_more { UnspentReason::AtMax } else { reason });
        (all.nodes, all.labels) = (kept.nodes, kept.labels);
        all.status = all.status_within(options.tolerance);
    }
}

/// The step curves of a problem that also has others, for calls in which only they have value.
#[derive(Debug)]
pub(super) struct StepsAlone {
    /// The tasks without a step curve, and the lower bounds of those that have no domain.
    others: Vec<u32>,
    pub(super) bulk_total: f64,
    /// All domains; those of the others are closed. Made in the first call that needs them.
    pub(super) domains: Vec<Domain>,
    pub(super) steps: Option<Box<StepItems>>,
}

impl StepsAlone {
    /// None unless there are both step curves and others, all of known families.
    pub(super) fn new(curves: &Curves, bounds: &SolverBounds, domains: &[Domain]) -> Option<Self> {
        let is_in_bulk = |task: &usize| ConcaveTasks::accepts(&curves[*task], bounds.of(*task));
        let in_bulk = (0..curves.len()).filter(is_in_bulk);
        let bulk_total = sum(in_bulk.clone().map(|task| bounds.of(task).min));
        let mut others: Vec<u32> = in_bulk.map(|task| task as u32).collect();
        let has_steps = domains.iter().any(|domain| domain.form.is_steps());
        let not_steps = domains.iter().filter(|domain| !domain.form.is_steps());
        others.extend(not_steps.map(|domain| domain.task as u32));
        let is_mixed = has_steps && !others.is_empty() && !curves.iter().any(Curve::is_custom);
        is_mixed.then_some(Self { others, bulk_total, domains: Vec::new(), steps: None })
    }

    /// Whether only step curves have value in a call.
    pub(super) fn applies(&self, values: &[f64]) -> bool {
        self.others.iter().all(|&task| values[task as usize] == 0.0)
            && values.iter().any(|value| *value > 0.0)
    }

    /// The tasks without a step curve.
    pub(super) fn others(&self) -> impl Iterator<Item = usize> {
        self.others.iter().map(|&task| task as usize)
    }

    /// The domains with the groups of identical thresholds, which are those from `plain` on, as
    /// they are in this call.
    pub(super) fn update(&mut self, domains: &[Domain], plain: usize) {
        if self.domains.is_empty() {
            self.domains.extend(domains.iter().map(closed_unless_steps));
        }
        for (own, domain) in self.domains[plain..].iter_mut().zip(&domains[plain..]) {
            own.form.clone_from(&domain.form);
        }
    }
}

/// The domain itself, or one that stays at its lower bound if it is not a step curve.
fn closed_unless_steps(domain: &Domain) -> Domain {
    if domain.form.is_steps() {
        return domain.clone();
    }
    let success = smallvec![domain.form.success(domain.min)];
    let form = Form::Points { spend: smallvec![0.0], success, linear: false };
    Domain { form, at_least: 0.0, max: domain.min, ..domain.clone() }
}
