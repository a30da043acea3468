//! Guards: limits on how an allocation may differ from the one before. The cost of each guard is
//! reported with every round.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde::{Deserialize, Serialize};

use super::CampaignError;
use crate::learner::StateError;
use crate::numeric::compensated::sum;
use crate::oracle::{Allocation, AllocationError, Options, Oracle};
use crate::problem::{Bounds, Problem, Task, covers};

/// Limits on how the allocation of a round may differ from that of the round before. Amounts are in
/// the unit of the budget; `None` means no such guard.
///
/// The first round is compared with the tasks' `current` spends. The reference allocation is scaled
/// with the budget.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Guards {
    /// No task's spend moves by more than this. The jump between zero and a task's `at_least`
    /// counts as one step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_change: Option<f64>,
    /// Every available task gets at least this, but not more than its `max`. It is reached in steps
    /// of `max_change`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub floor: Option<f64>,
    /// A task whose spend would move by less than this keeps its spend.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_move: Option<f64>,
}

impl Guards {
    /// Whether there is no guard.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The three guards with their names in files and flags.
    #[must_use]
    pub fn named(&self) -> [(&'static str, Option<f64>); 3] {
        [("max_change", self.max_change), ("floor", self.floor), ("min_move", self.min_move)]
    }

    fn check(&self, problem: &Problem) -> Result<(), GuardError> {
        for (guard, amount) in self.named() {
            if let Some(amount) = amount.filter(|amount| !(*amount >= 0.0 && amount.is_finite())) {
                return Err(GuardError::Amount { guard, amount });
            }
        }
        if let Some((max_change, min_move)) = self.max_change.zip(self.min_move)
            && min_move > max_change
        {
            return Err(GuardError::NothingMoves { min_move, max_change });
        }
        let floor =
            |task: &Task| self.floor.unwrap_or(0.0).clamp(task.bounds().min, task.bounds().max);
        let needed = || problem.tasks().iter().map(floor);
        if !covers(problem.budget(), needed()) {
            return Err(GuardError::Floor { needed: sum(needed()), budget: problem.budget() });
        }
        Ok(())
    }
}

/// Guards that cannot be satisfied.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum GuardError {
    /// A guard is negative or not finite.
    #[error("{guard}: must be finite and not negative, not {amount}")]
    Amount {
        /// The guard.
        guard: &'static str,
        /// The amount given.
        amount: f64,
    },
    /// No change satisfies both `min_move` and `max_change`.
    #[error("min_move {min_move} is above max_change {max_change}: no spend could ever change")]
    NothingMoves {
        /// The smallest move.
        min_move: f64,
        /// The largest move.
        max_change: f64,
    },
    /// The floors need more than the budget.
    #[error("floor: the tasks need {needed} with it, but the budget is {budget}")]
    Floor {
        /// The sum of the floors.
        needed: f64,
        /// The budget of the problem.
        budget: f64,
    },
    /// The learner chooses its allocation itself, so no guard can restrict it.
    #[error("guards: {0} chooses its allocation itself, so guards cannot restrict it")]
    ChoosesAllocation(String),
}

/// The effect of the guards on a round.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct GuardReport {
    /// The value that this round would gain without `max_change`, by the learner's weights. `None`
    /// means no such guard.
    pub max_change: Option<f64>,
    /// The same for `floor`.
    pub floor: Option<f64>,
    /// The same for `min_move`.
    pub min_move: Option<f64>,
    /// The number of tasks that kept their spend because the move was too small.
    pub kept: usize,
    /// Whether the guards needed more than the budget and were relaxed just enough.
    pub gave_way: bool,
}

/// The guards of a campaign and the reference allocation for the next one.
#[derive(Debug, Clone)]
pub(super) struct GuardState {
    problem: Problem,
    guards: Guards,
    base: Vec<Option<f64>>,
    base_budget: f64,
    pub(super) answer: Allocation,
    pub(super) report: GuardReport,
}

/// The part of [`GuardState`] that the state of a campaign stores.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct SavedGuardState {
    guards: Guards,
    /// The spend of each task in the last round in which it was available.
    base: Vec<Option<f64>>,
    base_budget: f64,
}

/// The inputs of a guarded round.
#[derive(Debug, Clone, Copy)]
pub(super) struct Round<'a> {
    /// The problem of a round with curves of its own; `None`: that of the campaign.
    pub(super) problem: Option<&'a Problem>,
    pub(super) weights: &'a [f64],
    pub(super) budget: f64,
    pub(super) available: Option<&'a [bool]>,
    pub(super) options: &'a Options,
    pub(super) cancel: Option<&'a Arc<AtomicBool>>,
}

struct Guarded {
    allocation: Allocation,
    kept: usize,
    gave_way: bool,
}

impl GuardState {
    pub(super) fn new(problem: &Problem, guards: Guards) -> Result<Self, CampaignError> {
        guards.check(problem)?;
        let base: Vec<Option<f64>> =
            problem.tasks().iter().map(crate::problem::Task::current).collect();
        let spent: f64 = base.iter().flatten().sum();
        Ok(Self {
            guards,
            base_budget: problem.budget().max(spent),
            answer: Allocation::empty(base.len()),
            base,
            report: GuardReport::default(),
            problem: problem.clone(),
        })
    }

    pub(super) fn save(&self) -> SavedGuardState {
        SavedGuardState {
            guards: self.guards,
            base: self.base.clone(),
            base_budget: self.base_budget,
        }
    }

    pub(super) fn load(problem: &Problem, state: &SavedGuardState) -> Result<Self, CampaignError> {
        let mut restored = Self::new(problem, state.guards)?;
        let is_amount = |amount: &f64| *amount >= 0.0 && amount.is_finite();
        if state.base.len() != restored.base.len()
            || !state.base.iter().flatten().chain([&state.base_budget]).all(is_amount)
        {
            return Err(StateError::Guards.into());
        }
        restored.base.clone_from(&state.base);
        restored.base_budget = state.base_budget;
        Ok(restored)
    }

    /// Restores a saved reference allocation.
    pub(super) fn restore(&mut self, state: SavedGuardState) {
        (self.base, self.base_budget) = (state.base, state.base_budget);
    }

    pub(super) fn guards(&self) -> &Guards {
        &self.guards
    }

    /// Leaves the best split that the guards allow in `answer`.
    pub(super) fn solve(&mut self, round: &Round<'_>) -> Result<(), AllocationError> {
        let Guarded { allocation, kept, gave_way } = self.solve_with(self.guards, round)?;
        self.answer = allocation;
        self.report = GuardReport { kept, gave_way, ..GuardReport::default() };
        Ok(())
    }

    /// Computes the cost of each guard in the round whose split is in `answer` by lifting it alone.
    pub(super) fn compute_costs(&mut self, round: &Round<'_>) -> Result<(), AllocationError> {
        let gain = |lifted: Guards| -> Result<f64, AllocationError> {
            Ok((self.solve_with(lifted, round)?.allocation.value - self.answer.value).max(0.0))
        };
        let Guards { max_change, floor, min_move } = self.guards;
        let report = GuardReport {
            max_change: max_change
                .map(|_| gain(Guards { max_change: None, ..self.guards }))
                .transpose()?,
            floor: floor.map(|_| gain(Guards { floor: None, ..self.guards })).transpose()?,
            min_move: min_move
                .map(|_| gain(Guards { min_move: None, ..self.guards }))
                .transpose()?,
            ..self.report
        };
        self.report = report;
        Ok(())
    }

    /// Makes an issued allocation the reference for the next one.
    pub(super) fn set_reference(&mut self, budget: f64, available: Option<&[bool]>, spend: &[f64]) {
        let scale = self.scale(budget);
        for (task, (base, &spend)) in self.base.iter_mut().zip(spend).enumerate() {
            let is_available = available.is_none_or(|available| available[task]);
            *base = if is_available { Some(spend) } else { base.map(|base| base * scale) };
        }
        self.base_budget = budget;
    }

    /// Makes an amount the reference of one task.
    pub(super) fn set_reference_spend(&mut self, task: usize, spend: f64) {
        self.base[task] = Some(spend);
    }

    fn scale(&self, budget: f64) -> f64 {
        if self.base_budget > 0.0 { budget / self.base_budget } else { 1.0 }
    }

    fn solve_with(&self, guards: Guards, round: &Round<'_>) -> Result<Guarded, AllocationError> {
        let scale = self.scale(round.budget);
        let base: Vec<Option<f64>> =
            self.base.iter().map(|base| base.map(|base| base * scale)).collect();
        let mut bounds: Vec<Bounds> = (0..base.len())
            .map(|task| self.bounds(task, &guards, base[task], round.available))
            .collect();
        let mut gave_way = self.relax_to_budget(&mut bounds, round);
        let mut is_kept = vec![false; base.len()];
        loop {
            let problem = round.problem.unwrap_or(&self.problem).with_bounds(&bounds);
            let mut oracle = Oracle::new(&problem);
            oracle.set_cancel(round.cancel.cloned());
            let allocation = oracle.allocate(round.weights, round.budget, round.options)?.clone();
            let least = guards.min_move.unwrap_or(0.0);
            let moves_too_little = |task: &usize| {
                // A small move is made if the other guards or the problem require it.
                let is_small = |base: f64| {
                    (allocation.spend[*task] - base).abs() < least && bounds[*task].allows(base)
                };
                !is_kept[*task] && base[*task].is_some_and(is_small)
            };
            let small: Vec<usize> = (0..base.len()).filter(moves_too_little).collect();
            let mut held = bounds.clone();
            for &task in &small {
                let spend = base[task].unwrap_or(0.0);
                held[task] = Bounds { min: spend, max: spend, at_least: 0.0 };
            }
            let fits = covers(round.budget, held.iter().map(|bounds| bounds.min));
            gave_way |= !fits;
            if small.is_empty() || !fits {
                return Ok(Guarded {
                    allocation,
                    kept: is_kept.iter().filter(|kept| **kept).count(),
                    gave_way,
                });
            }
            small.iter().for_each(|&task| is_kept[task] = true);
            bounds = held;
        }
    }

    /// The bounds of a task in this round.
    fn bounds(
        &self,
        task: usize,
        guards: &Guards,
        base: Option<f64>,
        available: Option<&[bool]>,
    ) -> Bounds {
        let own = self.problem.tasks()[task].bounds();
        if available.is_some_and(|available| !available[task]) {
            return Bounds { min: 0.0, max: 0.0, at_least: 0.0 };
        }
        let (mut low, mut high) = (own.min, own.max);
        if let (Some(most), Some(base)) = (guards.max_change, base) {
            // The bounds of the problem take precedence over the guards.
            low = (base - most).clamp(own.min, own.max);
            high = (base + most).clamp(own.min, own.max);
        }
        low = low.max(guards.floor.unwrap_or(0.0)).min(high);
        if own.at_least == 0.0 {
            return Bounds { min: low, max: high, at_least: 0.0 };
        }
        high = high.max(own.at_least);
        if low >= own.at_least || guards.floor.is_some_and(|floor| floor > 0.0) {
            return Bounds { min: low.max(own.at_least), max: high, at_least: 0.0 };
        }
        Bounds { min: 0.0, max: high, at_least: own.at_least }
    }

    /// Relaxes the lower bounds of the guards until the budget covers them; those of the problem
    /// stay.
    fn relax_to_budget(&self, bounds: &mut [Bounds], round: &Round<'_>) -> bool {
        if covers(round.budget, bounds.iter().map(|bounds| bounds.min)) {
            return false;
        }
        let needed = sum(bounds.iter().map(|bounds| bounds.min));
        let own = |task: usize| self.problem.tasks()[task].bounds();
        let least = sum((0..bounds.len()).map(|task| own(task).min.min(bounds[task].min)));
        let share = ((round.budget - least) / (needed - least)).max(0.0);
        for (task, bounds) in bounds.iter_mut().enumerate() {
            let own = own(task);
            let least = own.min.min(bounds.min);
            bounds.min = least + share * (bounds.min - least);
            if bounds.min < own.at_least {
                *bounds =
                    Bounds { min: 0.0, max: bounds.max.max(own.at_least), at_least: own.at_least };
            }
        }
        true
    }
}
