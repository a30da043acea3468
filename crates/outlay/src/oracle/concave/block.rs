//! Consecutive tasks with one struct of arrays per family, and the passes over them.

use pulp::{Simd, WithSimd};

use super::expansion::Expansion;
use super::exponential::ExponentialTasks;
use super::family::{AssignmentPoint, ExpansionPoint, Family, Totals};
use super::hill_and_logistic::{
    AssignHillAndLogistic, ExpandHillAndLogistic, HillAndLogistic, HillAndLogisticMultipliers,
    HillAndLogisticStart, LoadHillAndLogistic,
};
use super::linear::LinearTasks;
use super::power::PowerTasks;
use super::{Demand, concave_family};
use crate::curve::Curve;
use crate::curve::demand::Concave;
use crate::oracle::evaluation::Output;
use crate::problem::Bounds;

/// The concave tasks among some consecutive tasks, by family.
#[derive(Debug, Default)]
pub(super) struct Block {
    pub(super) power: PowerTasks,
    pub(super) exponential: ExponentialTasks,
    pub(super) linear: LinearTasks,
    /// None if there are no such tasks.
    pub(super) hill_and_logistic: Option<Box<HillAndLogistic>>,
    /// The floor of each task; empty if all are zero.
    pub(super) floor: Vec<f64>,
    /// Boxed: it is swapped in every call.
    pub(super) expansion: Box<Expansion>,
    pub(super) totals: Totals,
}

/// Tasks per block: values and results fit the first-level cache together with the arrays that are
/// read along with them.
pub(super) const BLOCK: usize = 2048;

impl Block {
    pub(super) fn new(start: usize, curves: &[&Curve], bounds: &[Bounds]) -> Self {
        let mut block = Self {
            power: PowerTasks::new(start),
            exponential: ExponentialTasks::new(start),
            linear: LinearTasks::new(start),
            ..Self::default()
        };
        let mut others = HillAndLogistic::new(start);
        for (offset, (&curve, &bounds)) in curves.iter().zip(bounds).enumerate() {
            match concave_family(curve, bounds) {
                Some(Concave::Power(power)) => block.power.push(offset, power, curve, bounds),
                Some(Concave::Exponential(exponential)) => {
                    block.exponential.push(offset, exponential, curve, bounds);
                }
                Some(Concave::Linear { saturates_at }) => {
                    block.linear.push(offset, saturates_at, curve, bounds);
                }
                Some(Concave::Hill(hill)) => others.hill.push(offset, hill, curve, bounds),
                Some(Concave::Hyperbolic(hill)) => {
                    others.hyperbolic.push(offset, hill, curve, bounds);
                }
                Some(Concave::Logistic(logistic)) => {
                    others.logistic.push(offset, logistic, curve, bounds);
                }
                None => {}
            }
        }
        if others.len() > 0 {
            others.pad();
            block.hill_and_logistic = Some(Box::new(others));
        }
        if curves.iter().any(|curve| curve.floor() > 0.0) {
            let floor = |(curve, &bounds): (&&Curve, &Bounds)| {
                concave_family(curve, bounds).map_or(0.0, |_| curve.floor())
            };
            block.floor = curves.iter().zip(bounds).map(floor).collect();
        }
        block.power.pad();
        block.exponential.pad();
        block.linear.pad();
        block
    }

    pub(super) fn smooth_len(&self) -> usize {
        let others = self.hill_and_logistic.as_ref().map_or(0, |tasks| tasks.len());
        self.power.index().len() + self.exponential.index().len() + others
    }

    pub(super) fn len(&self) -> usize {
        self.smooth_len() + self.linear.index().len()
    }

    /// The largest elasticity of demand, by which windows of multipliers are limited.
    pub(super) fn max_elasticity(&self) -> f64 {
        let others = self.hill_and_logistic.as_ref().map_or(0.0, |tasks| tasks.window_elasticity());
        self.power.max_elasticity.max(others)
    }

    /// The least upper bound of a smooth task.
    pub(super) fn min_high(&self) -> f64 {
        let power = self.power.bounds().min_high(self.power.index().len());
        let exponential = self.exponential.bounds().min_high(self.exponential.index().len());
        let others = self.hill_and_logistic.as_ref();
        power.min(exponential).min(others.map_or(f64::INFINITY, |tasks| tasks.min_high()))
    }

    /// Writes the values of the references, for [`super::taylor::WarmStart`].
    pub(super) fn write_reference_values(&self, values: &mut [f64]) {
        for (position, &value) in self.power.reference_values().iter().enumerate() {
            values[self.power.index().offset(position)] = value;
        }
        for (position, &value) in self.exponential.reference_values().iter().enumerate() {
            values[self.exponential.index().offset(position)] = value;
        }
        if let Some(HillAndLogistic { hill, logistic, .. }) = self.hill_and_logistic.as_deref() {
            for (position, value) in hill.reference_values().enumerate() {
                values[hill.index().offset(position)] = value;
            }
            for (position, &value) in logistic.reference_values().iter().enumerate() {
                values[logistic.index().offset(position)] = value;
            }
        }
    }

    /// What the floors are worth.
    pub(super) fn floor_value(&self, values: &[f64]) -> f64 {
        self.floor.iter().zip(values).map(|(floor, value)| floor * value).sum()
    }
}

/// Prepares trials for the values of a call.
pub(super) struct Load<'a> {
    pub(super) block: &'a mut Block,
    pub(super) values: &'a [f64],
}

impl WithSimd for Load<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        self.block.power.load(simd, self.values);
        self.block.exponential.load(simd, self.values);
        self.block.linear.load(simd, self.values);
        if let Some(tasks) = &mut self.block.hill_and_logistic {
            simd.vectorize(LoadHillAndLogistic { tasks, values: self.values });
        }
    }
}

/// Demand of the power tasks and of the exponential ones at a multiplier.
pub(super) struct Trial<'a> {
    pub(super) block: &'a Block,
    pub(super) log_multiplier: f64,
    pub(super) power_demand: &'a mut [f64],
}

impl WithSimd for Trial<'_> {
    type Output = (Demand, Demand);

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> (Demand, Demand) {
        let Self { block, log_multiplier, power_demand } = self;
        let power = block.power.trial(simd, log_multiplier, power_demand);
        (power, block.exponential.trial(simd, log_multiplier))
    }
}

/// Sums of the multipliers at which each task would take a share, and how many tasks that are.
pub(super) struct MeanMultiplier {
    /// Of all but the Hill and logistic tasks.
    pub(super) multipliers: f64,
    pub(super) hill_and_logistic: f64,
    pub(super) weight: f64,
}

/// Computes a [`MeanMultiplier`].
pub(super) struct MultipliersAt<'a> {
    pub(super) block: &'a Block,
    pub(super) share: f64,
}

impl WithSimd for MultipliersAt<'_> {
    type Output = MeanMultiplier;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> MeanMultiplier {
        let Self { block, share } = self;
        let (thresholds, weight) = block.linear.weighted_thresholds(simd, share);
        let power = block.power.multipliers_at(simd, share.ln());
        let exponential = block.exponential.multipliers_at(simd, share);
        let hill_and_logistic = match &block.hill_and_logistic {
            Some(tasks) => simd.vectorize(HillAndLogisticMultipliers { tasks, share }),
            None => 0.0,
        };
        MeanMultiplier {
            multipliers: power + exponential + thresholds,
            hill_and_logistic,
            weight: block.smooth_len() as f64 + weight,
        }
    }
}

/// Expands the demand around a multiplier.
pub(super) struct Expand<'a> {
    pub(super) block: &'a mut Block,
    pub(super) at: &'a ExpansionPoint,
    pub(super) is_bounded: bool,
    pub(super) is_reset: bool,
    pub(super) values: &'a [f64],
}

impl WithSimd for Expand<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { block, at, is_bounded, is_reset, values } = self;
        block.expansion.clear();
        match (is_bounded, is_reset) {
            (true, true) => expand::<S, true, true>(simd, block, at, values),
            (true, false) => expand::<S, true, false>(simd, block, at, values),
            (false, true) => expand::<S, false, true>(simd, block, at, values),
            (false, false) => expand::<S, false, false>(simd, block, at, values),
        }
        if let Some(tasks) = &mut block.hill_and_logistic {
            let expansion = &mut block.expansion;
            let expand =
                ExpandHillAndLogistic { tasks, at, is_bounded, is_reset, values, expansion };
            simd.vectorize(expand);
        }
    }
}

#[inline(always)]
fn expand<S: Simd, const BOUNDED: bool, const RESET: bool>(
    simd: S,
    block: &mut Block,
    at: &ExpansionPoint,
    values: &[f64],
) {
    let Block { power, exponential, linear, expansion, .. } = block;
    if !power.index().is_empty() {
        power.expand::<S, BOUNDED, RESET>(simd, at, values, expansion);
    }
    if !exponential.index().is_empty() {
        exponential.expand::<S, BOUNDED, RESET>(simd, at, values, expansion);
    }
    if !linear.index().is_empty() {
        linear.expand::<S, BOUNDED, RESET>(simd, at, values, expansion);
    }
}

/// Writes spends and successes at a multiplier.
pub(super) struct Assign<'a> {
    pub(super) block: &'a Block,
    pub(super) at: &'a AssignmentPoint,
    pub(super) is_bounded: bool,
    /// The demand of the power tasks and the level of the exponential ones that `at` steps from.
    pub(super) power_demand: &'a [f64],
    pub(super) exponential_level: &'a [f64],
    /// The positions of the Hill and logistic tasks that `at` steps from; none if there are none.
    pub(super) hill_and_logistic: Option<HillAndLogisticStart<'a>>,
    pub(super) values: &'a [f64],
    pub(super) output: Output<'a>,
}

impl WithSimd for Assign<'_> {
    type Output = Totals;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Totals {
        if self.is_bounded { self.assign::<S, true>(simd) } else { self.assign::<S, false>(simd) }
    }
}

impl Assign<'_> {
    #[inline(always)]
    fn assign<S: Simd, const BOUNDED: bool>(self, simd: S) -> Totals {
        let Self { block, at, power_demand, exponential_level, values, mut output, .. } = self;
        let Block { power, exponential, linear, floor, .. } = block;
        let mut totals = if power.index().is_empty() {
            Totals::default()
        } else {
            power.assign::<S, BOUNDED>(simd, at, power_demand, values, &mut output)
        };
        if !exponential.index().is_empty() {
            totals.add(exponential.assign::<S, BOUNDED>(
                simd,
                at,
                exponential_level,
                values,
                &mut output,
            ));
        }
        if !linear.index().is_empty() {
            totals.add(linear.assign::<S, BOUNDED>(simd, at, &[], values, &mut output));
        }
        if let (Some(tasks), Some(start)) = (&block.hill_and_logistic, self.hill_and_logistic) {
            let output = Output { spend: &mut *output.spend, success: &mut *output.success };
            let is_bounded = BOUNDED;
            let assign = AssignHillAndLogistic { tasks, at, is_bounded, start, values, output };
            totals.add(simd.vectorize(assign));
        }
        output.success.iter_mut().zip(floor).for_each(|(success, floor)| *success += floor);
        totals
    }
}
