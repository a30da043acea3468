//! Separable concave tasks in bulk: one struct of arrays per family, in blocks of consecutive
//! tasks.
//!
//! In the logarithm of the multiplier the demand of a power task is an exponential, that of an
//! exponential task a line, and a linear task takes all or nothing. The demand of a logistic task
//! and of a Hill task with steepness one has a closed form; that of other Hill tasks is the root of
//! an equation ([`hill_inverse`]). The multiplier search asks for
//! the demand at trial multipliers ([`ConcaveTasks::trial`]). Where every task is concave and
//! little has changed since the last call, [`TaylorSolver`] needs no search: it expands the demand
//! around the last multiplier. Both end with the same pass that writes spends and successes.

mod block;
mod expansion;
mod exponential;
mod family;
mod hill;
mod hill_and_logistic;
mod hill_inverse;
mod hyperbolic;
mod index;
mod linear;
mod logistic;
mod power;
mod taylor;
#[cfg(test)]
mod tests;
mod threads;

pub(super) use taylor::{Solution, TaylorSolver, WarmStart};

use std::num::NonZeroUsize;

use pulp::Arch;

use super::evaluation::{Evaluation, Output};
use super::multiplier::Breakpoints;
use crate::curve::Curve;
use crate::curve::demand::Concave;
use crate::numeric::exp_log::TINY;
use crate::numeric::simd::with_simd4;
use crate::problem::Bounds;
use block::{Assign, BLOCK, Block, Load, MultipliersAt, Trial};
use family::{AssignmentPoint, CurvedDemand, Family, Totals};
use hill::HillTrial;
use hill_and_logistic::{HillAndLogisticStart, TrialHillAndLogistic};
use threads::Threads;

/// Spend above the lower bounds at a multiplier, and by how much it falls per unit of the
/// multiplier's logarithm.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Demand {
    pub(super) spend: f64,
    pub(super) sensitivity: f64,
}

/// What a trial leaves for the next one and for the assignment.
#[derive(Debug, Default)]
pub(super) struct TrialState {
    /// The unbounded demand of each power task.
    power_demand: Vec<f64>,
    /// The positions of the Hill tasks, by block.
    hill: Vec<HillTrial>,
}

impl TrialState {
    /// To be called before the first trial with other values or tasks.
    pub(super) fn reset(&mut self) {
        self.hill.iter_mut().for_each(|trial| trial.log_multiplier = None);
    }
}

/// The family of a task that is handled in bulk: none if its curve is of another family or it has a
/// minimum that may be avoided.
fn concave_family(curve: &Curve, bounds: Bounds) -> Option<Concave<'_>> {
    if bounds.at_least > 0.0 { None } else { Concave::of(curve) }
}

/// The concave tasks of a problem.
#[derive(Debug)]
pub(super) struct ConcaveTasks {
    arch: Arch,
    threads: Threads,
    blocks: Vec<Block>,
    /// Concave tasks, and those of them that respond smoothly to the multiplier.
    len: usize,
    smooth_len: usize,
    max_elasticity: f64,
    has_hill_or_logistic: bool,
    /// What was free in the last call loaded.
    free: f64,
}

/// The first trial as a share of the mean multiplier: in mixed problems the mean is about a quarter
/// too high. The Hill and logistic families have their own shares.
const SHARE_OF_MEAN: f64 = 0.8;

impl ConcaveTasks {
    /// Whether a task is among those handled here.
    pub(super) fn accepts(curve: &Curve, bounds: Bounds) -> bool {
        concave_family(curve, bounds).is_some()
    }

    /// The tasks among these that are [accepted](Self::accepts).
    pub(super) fn new<'a>(tasks: impl IntoIterator<Item = (&'a Curve, Bounds)>) -> Self {
        let mut tasks = tasks.into_iter();
        let mut blocks = Vec::new();
        loop {
            let (curves, bounds): (Vec<&Curve>, Vec<Bounds>) = tasks.by_ref().take(BLOCK).unzip();
            if curves.is_empty() {
                break;
            }
            blocks.push(Block::new(blocks.len() * BLOCK, &curves, &bounds));
        }
        let elasticities = blocks.iter().map(Block::max_elasticity);
        Self {
            arch: Arch::new(),
            threads: Threads::default(),
            len: blocks.iter().map(Block::len).sum(),
            smooth_len: blocks.iter().map(Block::smooth_len).sum(),
            max_elasticity: elasticities.fold(0.0, f64::max),
            has_hill_or_logistic: blocks.iter().any(|block| block.hill_and_logistic.is_some()),
            blocks,
            free: f64::NAN,
        }
    }

    /// Uses several threads where that pays.
    pub(super) fn use_threads(&mut self, threads: NonZeroUsize) {
        self.threads = Threads::new(threads, self.len);
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// How many tasks respond smoothly to the multiplier.
    pub(super) fn smooth_len(&self) -> usize {
        self.smooth_len
    }

    /// Takes the values of a call and what the lower bounds leave of its budget.
    pub(super) fn load(&mut self, values: &[f64], free: f64) {
        if free != self.free {
            self.blocks.iter_mut().for_each(|block| block.linear.set_free(free));
            self.free = free;
        }
        for (block, values) in self.blocks.iter_mut().zip(values.chunks(BLOCK)) {
            with_simd4(self.arch, Load { block, values });
        }
    }

    /// Demand of the power tasks and of the other smooth tasks at a multiplier, and the curvature of
    /// the latter: how fast its sensitivity falls per unit of the multiplier's logarithm.
    pub(super) fn trial(&self, multiplier: f64, state: &mut TrialState) -> (Demand, Demand, f64) {
        let log_multiplier = multiplier.ln();
        let padded = |block: &Block| block.power.index().padded_len();
        state.power_demand.resize(self.blocks.iter().map(padded).sum(), 0.0);
        let (mut power, mut others) = (Demand::default(), Demand::default());
        let mut rest = &mut state.power_demand[..];
        for block in &self.blocks {
            let (power_demand, after) = rest.split_at_mut(padded(block));
            rest = after;
            let demand = with_simd4(self.arch, Trial { block, log_multiplier, power_demand });
            power.add(demand.0);
            others.add(demand.1);
        }
        if !self.has_hill_or_logistic {
            return (power, others, 0.0);
        }
        let CurvedDemand { spend, sensitivity, curvature } =
            self.hill_and_logistic_trial(multiplier, log_multiplier, &mut state.hill);
        others.add(Demand { spend, sensitivity });
        (power, others, curvature)
    }

    /// Demand of the Hill and logistic tasks at a multiplier.
    #[inline(never)]
    fn hill_and_logistic_trial(
        &self,
        multiplier: f64,
        log_multiplier: f64,
        state: &mut Vec<HillTrial>,
    ) -> CurvedDemand {
        state.resize_with(self.blocks.len().max(state.len()), HillTrial::default);
        let mut demand = CurvedDemand::default();
        for (block, trial) in self.blocks.iter().zip(state) {
            if let Some(tasks) = &block.hill_and_logistic {
                let trial = TrialHillAndLogistic { tasks, multiplier, log_multiplier, trial };
                demand.add(with_simd4(self.arch, trial));
            }
        }
        demand
    }

    /// Whether the demands of a trial can be moved by a step of the multiplier's logarithm.
    pub(super) fn can_step(&self, step: f64) -> bool {
        self.max_elasticity * step.abs() <= 0.1 * TINY
    }

    /// Adds the thresholds of the linear tasks; returns the most that all tasks can take above
    /// their lower bounds.
    pub(super) fn load_breakpoints(&self, breakpoints: &mut Breakpoints) -> f64 {
        let mut smooth = 0.0;
        for block in &self.blocks {
            smooth += block.power.max_demand() + block.exponential.max_demand();
            smooth += block.hill_and_logistic.as_ref().map_or(0.0, |tasks| tasks.max_demand());
            // A task without value has its threshold at zero, and so has padding.
            breakpoints.extend(&block.linear.threshold, &block.linear.capacity);
        }
        smooth + breakpoints.above_and_at(0.0).0
    }

    /// A first trial, if any task is smooth: near the mean of the multipliers at which each task
    /// would take `share`. Spend goes where the multiplier is high, so it is the mean of the
    /// multipliers, not of their logarithms; a linear task counts by its capacity.
    pub(super) fn typical_multiplier(&self, share: f64) -> Option<f64> {
        if self.smooth_len == 0 {
            return None;
        }
        let (mut total, mut others, mut weight) = (0.0, 0.0, 0.0);
        for block in &self.blocks {
            let sums = with_simd4(self.arch, MultipliersAt { block, share });
            total += sums.multipliers;
            others += sums.hill_and_logistic;
            weight += sums.weight;
        }
        Some((SHARE_OF_MEAN * total + others) / weight)
    }

    /// Writes the spends of the loaded call at a multiplier, a step of its logarithm away from the
    /// last trial, and adds them up. Linear tasks with their threshold exactly there stay at their
    /// lower bound and are passed to `tie` with their bounds.
    pub(super) fn assign(
        &self,
        multiplier: f64,
        step: f64,
        state: &TrialState,
        values: &[f64],
        output: &mut Output<'_>,
        mut tie: impl FnMut(usize, f64, f64),
    ) -> Evaluation {
        let at = AssignmentPoint {
            multiplier,
            power_step: step,
            exponential_step: multiplier.ln(),
            free: self.free,
            is_tiny: true,
        };
        let (mut totals, mut rest) = (Totals::default(), &state.power_demand[..]);
        let parts = output.spend.chunks_mut(BLOCK).zip(output.success.chunks_mut(BLOCK));
        let mut hill = state.hill.iter();
        for ((block, values), (spend, success)) in
            self.blocks.iter().zip(values.chunks(BLOCK)).zip(parts)
        {
            let (power_demand, after) = rest.split_at(block.power.index().padded_len());
            rest = after;
            let assign = Assign {
                block,
                at: &at,
                is_bounded: true,
                power_demand,
                exponential_level: &block.exponential.level,
                hill_and_logistic: hill
                    .next()
                    .map(|trial| HillAndLogisticStart { hill: &trial.positions, logistic: &[] }),
                values,
                output: Output { spend, success },
            };
            totals.add(with_simd4(self.arch, assign));
            if multiplier > 0.0 {
                block.linear.each_tie(multiplier, &mut tie);
            }
        }
        let Totals { above, value, most_elastic, .. } = totals;
        let (most_elastic, sensitivity) = (most_elastic.task, most_elastic.sensitivity);
        Evaluation { above, value, most_elastic, sensitivity }
    }
}

impl Demand {
    fn add(&mut self, other: Self) {
        self.spend += other.spend;
        self.sensitivity += other.sensitivity;
    }
}
