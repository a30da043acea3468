//! The active set: the S-shaped tasks that may be on their concave branch, four per vector.
//!
//! The set is chosen once, for all multipliers above a cutoff, and kept through the call. Its
//! demand at a multiplier does not depend on the branch-and-bound node: a node narrows the domains
//! of a few tasks, whose contributions are subtracted. At a multiplier that was evaluated before, a
//! node therefore costs no more than the tasks it narrows.

mod lanes;
mod tasks;

use super::hill::HillFamily;
use super::logistic::LogisticFamily;
use super::{FamilyIndex, Sigmoids};
use crate::numeric::compensated::Sum;
use crate::oracle::evaluation::{Evaluation, Output};
use crate::oracle::multiplier::Breakpoints;
use tasks::ActiveTasks;

/// The cutoff as a share of the multiplier asked for; multipliers vary more if there are few tasks.
const CUTOFF_SHARE: f64 = 0.95;
const CUTOFF_SHARE_OF_FEW: f64 = 0.7;
/// The number of multipliers whose aggregates are kept.
const CACHED_MULTIPLIERS: usize = 16;
/// Subtracting one narrowed task costs about as much as evaluating this many tasks.
const TASKS_PER_NARROWED: usize = 8;

/// The tasks that may be on their branch.
#[derive(Debug, Default)]
pub(in crate::oracle) struct ActiveSet {
    hill: ActiveTasks<HillFamily>,
    logistic: ActiveTasks<LogisticFamily>,
    /// Every task with a tie multiplier above this is in the set.
    cutoff: f64,
    /// Aggregates at earlier multipliers; the oldest is overwritten next.
    cached: Vec<(f64, Aggregate)>,
    oldest: usize,
    /// The multiplier at which the tasks were evaluated last, and the aggregate there.
    last: Option<(f64, Aggregate)>,
}

/// The demand and value of a set of tasks at a multiplier.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::oracle) struct Aggregate {
    /// Demand above the lower bounds of the tasks with a larger tie multiplier.
    pub(in crate::oracle) spend: Sum,
    /// Value of all tasks.
    pub(in crate::oracle) value: Sum,
    /// The decrease of demand per unit of the multiplier's logarithm.
    pub(in crate::oracle) sensitivity: f64,
    /// The decrease of the sensitivity per unit of the logarithm.
    pub(in crate::oracle) curvature: f64,
    /// Additional demand of the tasks tied exactly there.
    pub(in crate::oracle) tied_jump: f64,
}

impl Aggregate {
    fn add(&mut self, other: Self) {
        self.spend.merge(other.spend);
        self.value.merge(other.value);
        self.sensitivity += other.sensitivity;
        self.curvature += other.curvature;
        self.tied_jump += other.tied_jump;
    }

    fn negative(self) -> Self {
        Self {
            spend: (-self.spend.value()).into(),
            value: (-self.value.value()).into(),
            sensitivity: -self.sensitivity,
            curvature: -self.curvature,
            tied_jump: -self.tied_jump,
        }
    }
}

/// A task with two optimal spends at the multiplier.
#[derive(Debug, Clone, Copy)]
pub(in crate::oracle) struct TiedTask {
    pub(in crate::oracle) domain: usize,
    pub(in crate::oracle) task: usize,
    pub(in crate::oracle) from: f64,
    pub(in crate::oracle) to: f64,
}

/// The multiplier and the tasks of an assignment of spends.
#[derive(Debug, Clone, Copy)]
pub(in crate::oracle) struct Assignment<'a> {
    pub(in crate::oracle) sigmoids: &'a Sigmoids,
    pub(in crate::oracle) multiplier: f64,
    /// The domains that are narrowed.
    pub(in crate::oracle) narrowed: &'a [u32],
    /// Whether the solution was not written yet; later assignments only write active tasks.
    pub(in crate::oracle) is_first: bool,
}

impl ActiveSet {
    /// Empties the set; the next multiplier chooses it again.
    pub(in crate::oracle) fn clear(&mut self) {
        self.cutoff = f64::INFINITY;
        self.hill.clear();
        self.logistic.clear();
        self.clear_cache();
    }

    fn clear_cache(&mut self) {
        self.cached.clear();
        self.oldest = 0;
        self.last = None;
    }

    pub(in crate::oracle) fn len(&self) -> usize {
        self.hill.len() + self.logistic.len()
    }

    /// Ensures that the set covers a multiplier; true if it had to be chosen again.
    pub(in crate::oracle) fn extend_to(
        &mut self,
        sigmoids: &Sigmoids,
        weights: &[f64],
        multiplier: f64,
    ) -> bool {
        if multiplier > self.cutoff {
            return false;
        }
        self.cutoff =
            multiplier * if sigmoids.are_few() { CUTOFF_SHARE_OF_FEW } else { CUTOFF_SHARE };
        self.hill.pick(&sigmoids.hill, weights, self.cutoff);
        self.logistic.pick(&sigmoids.logistic, weights, self.cutoff);
        self.clear_cache();
        true
    }

    /// Adds the breakpoints of the active tasks that are not narrowed.
    pub(in crate::oracle) fn load_breakpoints(
        &self,
        sigmoids: &Sigmoids,
        narrowed: &[u32],
        jumps: &mut Breakpoints,
    ) {
        self.hill.load_breakpoints(&sigmoids.hill, narrowed, jumps);
        self.logistic.load_breakpoints(&sigmoids.logistic, narrowed, jumps);
    }

    /// The aggregate of all tasks that are not narrowed, at a multiplier that the set covers.
    pub(in crate::oracle) fn demand(
        &mut self,
        sigmoids: &Sigmoids,
        multiplier: f64,
        narrowed: &[u32],
    ) -> Aggregate {
        let is_at = |(at, _): &&(f64, Aggregate)| *at == multiplier;
        let is_cheap = narrowed.len() * TASKS_PER_NARROWED <= self.len();
        let (mut aggregate, is_last) = if let Some(&(_, aggregate)) =
            self.last.as_ref().filter(is_at)
        {
            (aggregate, true)
        } else if let Some(&(_, aggregate)) = self.cached.iter().find(is_at).filter(|_| is_cheap) {
            (aggregate, false)
        } else {
            (self.evaluate(multiplier), true)
        };
        for &domain in narrowed {
            let one = match sigmoids.index(domain) {
                FamilyIndex::Hill(index) => {
                    self.hill.one(&sigmoids.hill, index as usize, multiplier, is_last)
                }
                FamilyIndex::Logistic(index) => {
                    self.logistic.one(&sigmoids.logistic, index as usize, multiplier, is_last)
                }
                FamilyIndex::None => continue,
            };
            aggregate.add(one.negative());
        }
        aggregate
    }

    /// Evaluates all active tasks at a multiplier.
    fn evaluate(&mut self, multiplier: f64) -> Aggregate {
        let mut aggregate = self.hill.evaluate(multiplier);
        aggregate.add(self.logistic.evaluate(multiplier));
        self.last = Some((multiplier, aggregate));
        if self.cached.len() < CACHED_MULTIPLIERS {
            self.cached.push((multiplier, aggregate));
        } else {
            self.cached[self.oldest] = (multiplier, aggregate);
            self.oldest = (self.oldest + 1) % CACHED_MULTIPLIERS;
        }
        aggregate
    }

    /// Writes the spends at a multiplier and adds up, with the probabilities of success computed
    /// from the spends. Tasks tied there keep their lower spend and are passed to `tied`.
    pub(in crate::oracle) fn assign(
        &mut self,
        at: Assignment<'_>,
        output: &mut Output<'_>,
        evaluation: &mut Evaluation,
        mut tied: impl FnMut(TiedTask),
    ) {
        if self.last.is_none_or(|last| last.0 != at.multiplier) {
            self.evaluate(at.multiplier);
        }
        self.hill.assign(&at.sigmoids.hill, at, output, evaluation, &mut tied);
        self.logistic.assign(&at.sigmoids.logistic, at, output, evaluation, &mut tied);
    }
}
