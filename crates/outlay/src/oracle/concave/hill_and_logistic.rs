//! The concave Hill and logistic tasks of a block.
//!
//! They are apart from the other families, which most problems consist of: a block without them
//! spends one comparison on them.

use pulp::{Simd, WithSimd};

use super::expansion::Expansion;
use super::family::{AssignmentPoint, CurvedDemand, ExpansionPoint, Family, Totals};
use super::hill::{HillTasks, HillTrial, WINDOW_ELASTICITY};
use super::hill_inverse::Success;
use super::hyperbolic::HyperbolicTasks;
use super::logistic::{Expanded, LogisticTasks};
use crate::oracle::evaluation::Output;

/// Hill tasks with a steepness below one, with steepness one, and logistic tasks.
#[derive(Debug, Default)]
pub(super) struct HillAndLogistic {
    pub(super) hill: HillTasks,
    pub(super) hyperbolic: HyperbolicTasks,
    pub(super) logistic: LogisticTasks,
}

/// The positions that an assignment steps from.
#[derive(Debug, Clone, Copy)]
pub(super) struct HillAndLogisticStart<'a> {
    pub(super) hill: &'a [Success],
    /// Empty if they are unknown.
    pub(super) logistic: &'a [Expanded],
}

impl HillAndLogistic {
    pub(super) fn new(start: usize) -> Self {
        Self {
            hill: HillTasks::new(start),
            hyperbolic: HyperbolicTasks::new(start),
            logistic: LogisticTasks::new(start),
        }
    }

    /// To be called after the last task.
    pub(super) fn pad(&mut self) {
        self.hill.pad();
        self.hyperbolic.pad();
        self.logistic.pad();
    }

    pub(super) fn len(&self) -> usize {
        self.hill.index().len() + self.hyperbolic.index().len() + self.logistic.index().len()
    }

    /// The least upper bound of a task.
    pub(super) fn min_high(&self) -> f64 {
        let hill = self.hill.bounds().min_high(self.hill.index().len());
        let hyperbolic = self.hyperbolic.bounds().min_high(self.hyperbolic.index().len());
        let logistic = self.logistic.bounds().min_high(self.logistic.index().len());
        hill.min(hyperbolic).min(logistic)
    }

    /// What the tasks with a positive value can take above their lower bounds.
    pub(super) fn max_demand(&self) -> f64 {
        self.hill.max_demand() + self.hyperbolic.max_demand() + self.logistic.max_demand()
    }

    /// The positions at the multiplier expanded last.
    pub(super) fn expanded(&self) -> HillAndLogisticStart<'_> {
        HillAndLogisticStart { hill: &self.hill.expanded, logistic: &self.logistic.expanded }
    }

    /// The elasticity that limits the windows of multipliers.
    pub(super) fn window_elasticity(&self) -> f64 {
        if self.hill.index().is_empty() { 0.0 } else { WINDOW_ELASTICITY }
    }
}

/// As [`Load`](super::block::Load).
pub(super) struct LoadHillAndLogistic<'a> {
    pub(super) tasks: &'a mut HillAndLogistic,
    pub(super) values: &'a [f64],
}

impl WithSimd for LoadHillAndLogistic<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        self.tasks.hill.load(simd, self.values);
        self.tasks.hyperbolic.load(simd, self.values);
        self.tasks.logistic.load(simd, self.values);
    }
}

/// Demand at a multiplier.
pub(super) struct TrialHillAndLogistic<'a> {
    pub(super) tasks: &'a HillAndLogistic,
    pub(super) multiplier: f64,
    pub(super) log_multiplier: f64,
    pub(super) trial: &'a mut HillTrial,
}

impl WithSimd for TrialHillAndLogistic<'_> {
    type Output = CurvedDemand;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> CurvedDemand {
        let Self { tasks, multiplier, log_multiplier, trial } = self;
        let mut demand = tasks.hill.trial(simd, multiplier, log_multiplier, trial);
        demand.add(tasks.hyperbolic.trial(simd, multiplier));
        demand.add(tasks.logistic.trial(simd, multiplier));
        demand
    }
}

/// The sum of the multipliers at which each task would take a share.
pub(super) struct HillAndLogisticMultipliers<'a> {
    pub(super) tasks: &'a HillAndLogistic,
    pub(super) share: f64,
}

impl WithSimd for HillAndLogisticMultipliers<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        let Self { tasks, share } = self;
        tasks.hill.multipliers_at(simd, share)
            + tasks.hyperbolic.multipliers_at(simd, share)
            + tasks.logistic.multipliers_at(simd, share)
    }
}

/// As [`Expand`](super::block::Expand).
pub(super) struct ExpandHillAndLogistic<'a> {
    pub(super) tasks: &'a mut HillAndLogistic,
    pub(super) at: &'a ExpansionPoint,
    pub(super) is_bounded: bool,
    pub(super) is_reset: bool,
    pub(super) values: &'a [f64],
    pub(super) expansion: &'a mut Expansion,
}

impl WithSimd for ExpandHillAndLogistic<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        match (self.is_bounded, self.is_reset) {
            (true, true) => self.expand::<S, true, true>(simd),
            (true, false) => self.expand::<S, true, false>(simd),
            (false, true) => self.expand::<S, false, true>(simd),
            (false, false) => self.expand::<S, false, false>(simd),
        }
    }
}

impl ExpandHillAndLogistic<'_> {
    #[inline(always)]
    fn expand<S: Simd, const BOUNDED: bool, const RESET: bool>(self, simd: S) {
        let Self { tasks, at, values, expansion, .. } = self;
        let HillAndLogistic { hill, hyperbolic, logistic } = tasks;
        hill.expand::<S, BOUNDED, RESET>(simd, at, values, expansion);
        logistic.expand::<S, BOUNDED, RESET>(simd, at, values, expansion);
        hyperbolic.expand::<S, BOUNDED, RESET>(simd, at, values, expansion);
    }
}

/// As [`Assign`](super::block::Assign).
pub(super) struct AssignHillAndLogistic<'a> {
    pub(super) tasks: &'a HillAndLogistic,
    pub(super) at: &'a AssignmentPoint,
    pub(super) is_bounded: bool,
    pub(super) start: HillAndLogisticStart<'a>,
    pub(super) values: &'a [f64],
    pub(super) output: Output<'a>,
}

impl WithSimd for AssignHillAndLogistic<'_> {
    type Output = Totals;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Totals {
        if self.is_bounded { self.assign::<S, true>(simd) } else { self.assign::<S, false>(simd) }
    }
}

impl AssignHillAndLogistic<'_> {
    #[inline(always)]
    fn assign<S: Simd, const BOUNDED: bool>(self, simd: S) -> Totals {
        let Self { tasks, at, start, values, mut output, .. } = self;
        let HillAndLogistic { hill, hyperbolic, logistic } = tasks;
        let mut totals = hill.assign::<S, BOUNDED>(simd, at, start.hill, values, &mut output);
        totals.add(hyperbolic.assign::<S, BOUNDED>(simd, at, &(), values, &mut output));
        totals.add(logistic.assign::<S, BOUNDED>(simd, at, start.logistic, values, &mut output));
        totals
    }
}
