//! Power curves: demand is `exp(level - elasticity * ln(multiplier))` between the bounds.

use pulp::{Simd, WithSimd};

use super::Demand;
use super::expansion::{BoundCrossing, Expansion, SmoothDemand};
use super::family::{
    AssignmentPoint, ExpansionPoint, Family, MIN_VALUE, RunningTotals, Totals, WindowState,
    are_valid,
};
use super::index::{BoundArrays, FamilyIndex};
use crate::curve::{Curve, Power};
use crate::numeric::exp_log::{MIN_LN_ARG, series};
use crate::numeric::simd::{F64x4, chunks4, chunks4_mut, with_simd4};
use crate::oracle::evaluation::Output;
use crate::problem::Bounds;

/// Power tasks of a block.
#[derive(Debug, Default)]
pub(super) struct PowerTasks {
    index: FamilyIndex,
    bounds: BoundArrays,
    /// The level at value one; the value adds `elasticity * ln(value)`.
    base_level: Vec<f64>,
    elasticity: Vec<f64>,
    /// One over the exponent.
    inverse_exponent: Vec<f64>,
    pub(super) max_elasticity: f64,
    /// Whether a task has no value, or nearly none, in the call that was loaded last.
    has_worthless: bool,
    /// The level in that call.
    level: Vec<f64>,
    /// Value and demand at the reference multiplier.
    reference_value: Vec<f64>,
    reference_demand: Vec<f64>,
    /// Demand at the multiplier expanded last.
    pub(super) demand: Vec<f64>,
}

impl PowerTasks {
    pub(super) fn new(start: usize) -> Self {
        Self { index: FamilyIndex::new(start), ..Self::default() }
    }

    pub(super) fn push(&mut self, offset: usize, power: &Power, curve: &Curve, bounds: Bounds) {
        let (exponent, scale, height) = (power.exponent(), power.scale(), curve.height());
        let elasticity = 1.0 / (1.0 - exponent);
        self.index.push(offset);
        self.bounds.push(bounds, scale, |spend| height * power.success(spend));
        self.base_level.push(scale.ln() + elasticity * (height * exponent / scale).ln());
        self.elasticity.push(elasticity);
        self.inverse_exponent.push(1.0 / exponent);
        self.max_elasticity = self.max_elasticity.max(elasticity);
    }

    /// To be called after the last task.
    pub(super) fn pad(&mut self) {
        let len = self.index.padded_len();
        self.bounds.pad(len);
        self.base_level.resize(len, f64::NEG_INFINITY);
        self.elasticity.resize(len, 1.0);
        self.inverse_exponent.resize(len, 0.0);
        self.reference_value.resize(len, 1.0);
        for numbers in [&mut self.level, &mut self.reference_demand, &mut self.demand] {
            numbers.resize(len, 0.0);
        }
    }

    /// Demand at a multiplier in the loaded call; each task's is written to `demand`.
    #[inline(always)]
    pub(super) fn trial<S: Simd>(
        &self,
        simd: S,
        log_multiplier: f64,
        demand: &mut [f64],
    ) -> Demand {
        let load = |numbers: &[f64; 4]| F64x4::load(simd, numbers);
        let log_multiplier = F64x4::splat(simd, log_multiplier);
        let (mut spend, mut sensitivity) = (F64x4::splat(simd, 0.0), F64x4::splat(simd, 0.0));
        let curves = chunks4(&self.level).iter().zip(chunks4(&self.elasticity));
        let bounds = chunks4(&self.bounds.low).iter().zip(chunks4(&self.bounds.high));
        for ((demand, (level, elasticity)), (low, high)) in
            chunks4_mut(demand).iter_mut().zip(curves).zip(bounds)
        {
            let (elasticity, low, high) = (load(elasticity), load(low), load(high));
            let free = elasticity.neg_mul_add(log_multiplier, load(level)).exp();
            free.store(demand);
            spend = spend + (free.max(low).min(high) - low);
            sensitivity = sensitivity + free.if_between(low, high, elasticity * free);
        }
        Demand { spend: spend.total(), sensitivity: sensitivity.total() }
    }

    /// The sum of the multipliers at which each task would take a given share, roughly.
    #[inline(always)]
    pub(super) fn multipliers_at<S: Simd>(&self, simd: S, log_share: f64) -> f64 {
        let mut sum = F64x4::splat(simd, 0.0);
        for (level, elasticity) in chunks4(&self.level).iter().zip(chunks4(&self.elasticity)) {
            let exponent = (F64x4::load(simd, level) - log_share) / F64x4::load(simd, elasticity);
            sum = sum + exponent.exp_rough();
        }
        sum.total()
    }

    /// What the tasks with a positive value can take above their lower bounds.
    pub(super) fn max_demand(&self) -> f64 {
        self.bounds.max_demand(|| self.level.iter().copied(), f64::NEG_INFINITY, self.has_worthless)
    }

    pub(super) fn reference_values(&self) -> &[f64] {
        &self.reference_value[..self.index.len()]
    }
}

impl Family for PowerTasks {
    type Start<'a> = [f64];

    fn index(&self) -> &FamilyIndex {
        &self.index
    }

    fn bounds(&self) -> &BoundArrays {
        &self.bounds
    }

    #[inline(always)]
    fn load<S: Simd>(&mut self, simd: S, values: &[f64]) {
        let reader = self.index.reader(values);
        let curves = chunks4(&self.base_level).iter().zip(chunks4(&self.elasticity));
        let mut least = F64x4::splat(simd, f64::INFINITY);
        for (chunk, (level, (base, elasticity))) in
            self.index.chunks().zip(chunks4_mut(&mut self.level).iter_mut().zip(curves))
        {
            let value = reader.load(simd, chunk);
            least = least.min(value);
            F64x4::load(simd, elasticity).mul_add(value.ln(), F64x4::load(simd, base)).store(level);
        }
        self.has_worthless = !least.all_ge(F64x4::splat(simd, MIN_LN_ARG));
        if self.has_worthless {
            // Zero, or too small for the vector logarithm.
            for position in 0..self.index.len() {
                let value = values[self.index.offset(position)];
                self.level[position] =
                    self.base_level[position] + self.elasticity[position] * value.ln();
            }
        }
    }

    #[inline(always)]
    fn expand<S: Simd, const BOUNDED: bool, const RESET: bool>(
        &mut self,
        simd: S,
        at: &ExpansionPoint,
        values: &[f64],
        expansion: &mut Expansion,
    ) {
        let Self { index, bounds, base_level, elasticity, demand, .. } = self;
        let (reader, series) = (index.reader(values), series());
        let zero = F64x4::splat(simd, 0.0);
        let (mut moments, mut constant) = ([zero; 5], zero);
        let references = chunks4_mut(&mut self.reference_value)
            .iter_mut()
            .zip(chunks4_mut(&mut self.reference_demand));
        let curves = chunks4(elasticity).iter().zip(chunks4(base_level));
        for (chunk, ((demand, (reference_value, reference_demand)), (elasticity, base_level))) in
            index.chunks().zip(chunks4_mut(demand).iter_mut().zip(references).zip(curves))
        {
            let value = reader.load(simd, chunk);
            let elastic = F64x4::load(simd, elasticity);
            let log_multiplier = at.reference;
            let free = if RESET {
                expansion.are_values_valid &= are_valid(simd, value);
                let values = value.to_array();
                Reset {
                    elasticity,
                    base_level,
                    values,
                    log_multiplier,
                    reference_value,
                    reference_demand,
                }
                .with_simd(simd);
                F64x4::load(simd, reference_demand)
            } else {
                let ratio = series.ln_ratio(simd, value, F64x4::load(simd, reference_value));
                let mut exponent = elastic * (ratio - at.shift);
                if !series.are_near(simd, ratio, exponent) {
                    expansion.are_values_valid &= are_valid(simd, value);
                    let values = value.to_array();
                    let reset = Reset {
                        elasticity,
                        base_level,
                        values,
                        log_multiplier,
                        reference_value,
                        reference_demand,
                    };
                    with_simd4(at.arch, reset);
                    exponent = elastic * (zero - at.shift);
                }
                F64x4::load(simd, reference_demand) * series.exp(simd, exponent)
            };
            free.store(demand);
            if BOUNDED {
                let low = F64x4::load(simd, &chunks4(&bounds.low)[chunk]);
                let high = F64x4::load(simd, &chunks4(&bounds.high)[chunk]);
                let share = elastic * at.width;
                let (least, most) =
                    (free * (zero + 1.0 - share), free * (share.mul_add(share, share) + 1.0));
                let state = WindowState::new(simd, (least, most), (low, high));
                constant =
                    constant + state.at_high.if_gt(zero, high - low, zero) - state.inside * low;
                add_moments(&mut moments, state.inside.if_gt(zero, free, zero), elastic);
                if !state.decided.all_ge(F64x4::splat(simd, 1.0)) {
                    let (demand, decided) = (free.to_array(), state.decided.to_array());
                    list_crossings(bounds, chunk, demand, elasticity, decided, expansion);
                }
            } else {
                add_moments(&mut moments, free, elastic);
            }
        }
        for (moment, sum) in expansion.moments.iter_mut().zip(moments) {
            *moment += sum.total();
        }
        expansion.constant += constant.total();
    }

    #[inline(always)]
    fn assign<S: Simd, const BOUNDED: bool>(
        &self,
        simd: S,
        at: &AssignmentPoint,
        demand: &[f64],
        values: &[f64],
        output: &mut Output<'_>,
    ) -> Totals {
        let Self { index, bounds, elasticity, inverse_exponent, .. } = self;
        let (zero, one) = (F64x4::splat(simd, 0.0), F64x4::splat(simd, 1.0));
        let (multiplier, step) = (F64x4::splat(simd, at.multiplier), -at.power_step);
        let (reader, series) = (index.reader(values), series());
        let mut spends = index.writer(output.spend);
        let mut successes = index.writer(output.success);
        let mut totals = RunningTotals::new(simd);
        let curves = chunks4(elasticity).iter().zip(chunks4(inverse_exponent));
        for (chunk, (demand, (elasticity, inverse_exponent))) in
            index.chunks().zip(chunks4(demand).iter().zip(curves))
        {
            let (value, elasticity) = (reader.load(simd, chunk), F64x4::load(simd, elasticity));
            let exponent = elasticity * step;
            let factor = if at.is_tiny {
                series.exp_tiny(simd, exponent)
            } else {
                series.exp(simd, exponent)
            };
            let free = F64x4::load(simd, demand) * factor;
            // On the curve's slope: value * success = multiplier * spend / exponent.
            let worth = free * (F64x4::load(simd, inverse_exponent) * multiplier);
            let success = value.if_gt(zero, worth / value, zero);
            if BOUNDED {
                let at_chunk = |numbers: &[f64]| F64x4::load(simd, &chunks4(numbers)[chunk]);
                let (low, high) = (at_chunk(&bounds.low), at_chunk(&bounds.high));
                let at_high = at_chunk(&bounds.success_at_high);
                let at_bound = free.if_gt(low, at_high, at_chunk(&bounds.success_at_low));
                let inside = free.if_between(low, high, one);
                let spend = free.max(low).min(high);
                let worth = inside.if_gt(zero, worth, value * at_bound);
                totals.add(simd, chunk, spend - low, worth);
                totals.offer(simd, chunk, free, inside * (elasticity * spend));
                spends.store(spend, chunk);
                successes.store(inside.if_gt(zero, success, at_bound), chunk);
            } else {
                totals.add(simd, chunk, free, worth);
                totals.offer(simd, chunk, free, elasticity * free);
                spends.store(free, chunk);
                successes.store(success, chunk);
            }
        }
        totals.finish(simd, index, bounds)
    }
}

/// A new reference for four tasks: their values, and their demand at the reference multiplier.
struct Reset<'a> {
    elasticity: &'a [f64; 4],
    base_level: &'a [f64; 4],
    values: [f64; 4],
    log_multiplier: f64,
    reference_value: &'a mut [f64; 4],
    reference_demand: &'a mut [f64; 4],
}

impl WithSimd for Reset<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let zero = F64x4::splat(simd, 0.0);
        let value = F64x4::load(simd, &self.values).max(zero);
        let level = F64x4::load(simd, self.elasticity)
            .mul_add(value.ln() - self.log_multiplier, F64x4::load(simd, self.base_level));
        value.store(self.reference_value);
        value.if_gt(F64x4::splat(simd, MIN_VALUE), level.exp(), zero).store(self.reference_demand);
    }
}

/// Lists the tasks that meet a bound within the window.
#[cold]
fn list_crossings(
    bounds: &BoundArrays,
    chunk: usize,
    demand: [f64; 4],
    elasticity: &[f64; 4],
    decided: [f64; 4],
    expansion: &mut Expansion,
) {
    for lane in (0..4).filter(|&lane| decided[lane] == 0.0) {
        let (low, high) = bounds.range(4 * chunk + lane);
        let demand = SmoothDemand::Power { demand: demand[lane], elasticity: elasticity[lane] };
        expansion.crossings.push(BoundCrossing { demand, low, high });
    }
}

/// Adds demand times the first powers of the elasticity. The powers do not wait for the demand.
#[inline(always)]
fn add_moments<S: Simd>(moments: &mut [F64x4<S>; 5], demand: F64x4<S>, elasticity: F64x4<S>) {
    let square = elasticity * elasticity;
    let powers = [elasticity, square, square * elasticity, square * square];
    moments[0] = moments[0] + demand;
    for (moment, power) in moments[1..].iter_mut().zip(powers) {
        *moment = demand.mul_add(power, *moment);
    }
}
