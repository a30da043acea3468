//! Exponential curves: demand is `scale * (level - ln(multiplier))` between the bounds.

use pulp::{Simd, WithSimd};

use super::Demand;
use super::expansion::{BoundCrossing, Expansion, SmoothDemand};
use super::family::{
    AssignmentPoint, ExpansionPoint, Family, RunningTotals, Totals, WindowState, are_valid,
};
use super::index::{BoundArrays, FamilyIndex};
use crate::curve::{Curve, Exponential};
use crate::numeric::exp_log::{MIN_LN_ARG, series};
use crate::numeric::simd::{F64x4, chunks4, chunks4_mut, with_simd4};
use crate::oracle::evaluation::Output;
use crate::problem::Bounds;

/// Exponential tasks of a block.
#[derive(Debug, Default)]
pub(super) struct ExponentialTasks {
    index: FamilyIndex,
    bounds: BoundArrays,
    /// The level at value one; the value adds its logarithm.
    base_level: Vec<f64>,
    scale: Vec<f64>,
    height: Vec<f64>,
    /// Whether a task has no value, or nearly none, in the call that was loaded last.
    has_worthless: bool,
    /// The level in that call.
    pub(super) level: Vec<f64>,
    /// Value, and level above the reference multiplier.
    reference_value: Vec<f64>,
    reference_level: Vec<f64>,
    /// Level above the multiplier expanded last.
    pub(super) expanded_level: Vec<f64>,
}

/// Below this level the value on the slope is taken from a series: the difference would cancel.
const SHALLOW: f64 = 0.1;
/// Lower levels are not distinguished.
const LOWEST_LEVEL: f64 = -1e4;

impl ExponentialTasks {
    pub(super) fn new(start: usize) -> Self {
        Self { index: FamilyIndex::new(start), ..Self::default() }
    }

    pub(super) fn push(
        &mut self,
        offset: usize,
        exponential: &Exponential,
        curve: &Curve,
        bounds: Bounds,
    ) {
        let (scale, height) = (exponential.scale(), curve.height());
        self.index.push(offset);
        self.bounds.push(bounds, f64::INFINITY, |spend| height * exponential.success(spend));
        self.base_level.push((height / scale).ln());
        self.scale.push(scale);
        self.height.push(height);
    }

    /// To be called after the last task. Padding lanes have no scale and so demand nothing.
    pub(super) fn pad(&mut self) {
        let len = self.index.padded_len();
        self.bounds.pad(len);
        self.reference_value.resize(len, 1.0);
        for numbers in [
            &mut self.base_level,
            &mut self.scale,
            &mut self.height,
            &mut self.level,
            &mut self.reference_level,
            &mut self.expanded_level,
        ] {
            numbers.resize(len, 0.0);
        }
    }

    /// Demand at a multiplier in the loaded call.
    #[inline(always)]
    pub(super) fn trial<S: Simd>(&self, simd: S, log_multiplier: f64) -> Demand {
        let load = |numbers: &[f64; 4]| F64x4::load(simd, numbers);
        let (mut spend, mut sensitivity) = (F64x4::splat(simd, 0.0), F64x4::splat(simd, 0.0));
        let curves = chunks4(&self.level).iter().zip(chunks4(&self.scale));
        let bounds = chunks4(&self.bounds.low).iter().zip(chunks4(&self.bounds.high));
        for ((level, scale), (low, high)) in curves.zip(bounds) {
            let (scale, low, high) = (load(scale), load(low), load(high));
            let free = scale * (load(level) - log_multiplier);
            spend = spend + (free.max(low).min(high) - low);
            sensitivity = sensitivity + free.if_between(low, high, scale);
        }
        Demand { spend: spend.total(), sensitivity: sensitivity.total() }
    }

    /// The sum of the multipliers at which each task would take a given share, roughly.
    #[inline(always)]
    pub(super) fn multipliers_at<S: Simd>(&self, simd: S, share: f64) -> f64 {
        let mut sum = F64x4::splat(simd, 0.0);
        for (level, scale) in chunks4(&self.level).iter().zip(chunks4(&self.scale)) {
            let rate = F64x4::splat(simd, share) / F64x4::load(simd, scale);
            sum = sum + (F64x4::load(simd, level) - rate).exp_rough();
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

impl Family for ExponentialTasks {
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
        let mut least = F64x4::splat(simd, f64::INFINITY);
        for (chunk, (level, base)) in self
            .index
            .chunks()
            .zip(chunks4_mut(&mut self.level).iter_mut().zip(chunks4(&self.base_level)))
        {
            let value = reader.load(simd, chunk);
            least = least.min(value);
            (value.ln() + F64x4::load(simd, base)).store(level);
        }
        self.has_worthless = !least.all_ge(F64x4::splat(simd, MIN_LN_ARG));
        if self.has_worthless {
            // Zero, or too small for the vector logarithm.
            for position in 0..self.index.len() {
                let value = values[self.index.offset(position)];
                self.level[position] = self.base_level[position] + value.ln();
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
        let Self { index, bounds, base_level, scale, expanded_level, .. } = self;
        let (zero, one) = (F64x4::splat(simd, 0.0), F64x4::splat(simd, 1.0));
        let (reader, series) = (index.reader(values), series());
        let (mut spend, mut sensitivity) = (zero, zero);
        let references = chunks4_mut(&mut self.reference_value)
            .iter_mut()
            .zip(chunks4_mut(&mut self.reference_level));
        let curves = chunks4(scale).iter().zip(chunks4(base_level));
        for (chunk, ((level, (reference_value, reference_level)), (scales, base_level))) in
            index.chunks().zip(chunks4_mut(expanded_level).iter_mut().zip(references).zip(curves))
        {
            let (value, log_multiplier) = (reader.load(simd, chunk), at.reference);
            let free_level = if RESET {
                expansion.are_values_valid &= are_valid(simd, value);
                let values = value.to_array();
                Reset { base_level, values, log_multiplier, reference_value, reference_level }
                    .with_simd(simd);
                F64x4::load(simd, reference_level)
            } else {
                let mut ratio = series.ln_ratio(simd, value, F64x4::load(simd, reference_value));
                if !series.are_near(simd, ratio, zero) {
                    expansion.are_values_valid &= are_valid(simd, value);
                    let values = value.to_array();
                    let reset = Reset {
                        base_level,
                        values,
                        log_multiplier,
                        reference_value,
                        reference_level,
                    };
                    with_simd4(at.arch, reset);
                    ratio = zero;
                }
                F64x4::load(simd, reference_level) + (ratio - at.shift)
            };
            free_level.store(level);
            let scale = F64x4::load(simd, scales);
            let (free, margin) = (scale * free_level, scale * at.width);
            // Without bounds a task still stops at zero.
            let (low, high) = if BOUNDED {
                (
                    F64x4::load(simd, &chunks4(&bounds.low)[chunk]),
                    F64x4::load(simd, &chunks4(&bounds.high)[chunk]),
                )
            } else {
                (zero, F64x4::splat(simd, f64::INFINITY))
            };
            let state = WindowState::new(simd, (free - margin, free + margin), (low, high));
            let at_high = state.at_high.if_gt(zero, high - low, zero);
            spend = spend + state.inside.if_gt(zero, free - low, at_high);
            sensitivity = state.inside.mul_add(scale, sensitivity);
            if !state.decided.all_ge(one) {
                let (level, decided) = (free_level.to_array(), state.decided.to_array());
                list_crossings(bounds, chunk, level, scales, decided, expansion);
            }
        }
        expansion.constant += spend.total();
        expansion.slope += sensitivity.total();
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
        let Self { index, bounds, scale, height, .. } = self;
        let (zero, one) = (F64x4::splat(simd, 0.0), F64x4::splat(simd, 1.0));
        let reader = index.reader(values);
        let mut spends = index.writer(output.spend);
        let mut successes = index.writer(output.success);
        let mut totals = RunningTotals::new(simd);
        let curves = chunks4(scale).iter().zip(chunks4(height));
        for (chunk, (level, (scale, height))) in
            index.chunks().zip(chunks4(demand).iter().zip(curves))
        {
            let value = reader.load(simd, chunk);
            let level = F64x4::load(simd, level) - at.exponential_step;
            let (scale, height) = (F64x4::load(simd, scale), F64x4::load(simd, height));
            let free = scale * level;
            let on_slope = success_on_slope(simd, level, height, scale * at.multiplier / value);
            let (low, high, at_bound) = if BOUNDED {
                let at_chunk = |numbers: &[f64]| F64x4::load(simd, &chunks4(numbers)[chunk]);
                let low = at_chunk(&bounds.low);
                let at_low = at_chunk(&bounds.success_at_low);
                let at_bound = free.if_gt(low, at_chunk(&bounds.success_at_high), at_low);
                (low, at_chunk(&bounds.high), at_bound)
            } else {
                (zero, F64x4::splat(simd, f64::INFINITY), zero)
            };
            let spend = free.max(low).min(high);
            let inside = free.if_between(low, high, one);
            let success = inside.if_gt(zero, on_slope, at_bound);
            totals.add(simd, chunk, spend - low, value * success);
            totals.offer(simd, chunk, free, inside * scale);
            spends.store(spend, chunk);
            successes.store(success, chunk);
        }
        totals.finish(simd, index, bounds)
    }
}

/// Success above the floor where the slope is the multiplier: `height - scale * multiplier /
/// value`, or from the level where that would cancel.
#[inline(always)]
fn success_on_slope<S: Simd>(
    simd: S,
    level: F64x4<S>,
    height: F64x4<S>,
    rest: F64x4<S>,
) -> F64x4<S> {
    let shallow = F64x4::splat(simd, SHALLOW);
    level.if_gt(shallow, height - rest, height * level.min(shallow).one_minus_exp_neg_small())
}

/// A new reference for four tasks: their values, and their levels above the reference multiplier.
struct Reset<'a> {
    base_level: &'a [f64; 4],
    values: [f64; 4],
    log_multiplier: f64,
    reference_value: &'a mut [f64; 4],
    reference_level: &'a mut [f64; 4],
}

impl WithSimd for Reset<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let value = F64x4::load(simd, &self.values).max(F64x4::splat(simd, 0.0));
        let level = F64x4::load(simd, self.base_level) + value.ln() - self.log_multiplier;
        value.store(self.reference_value);
        level.max(F64x4::splat(simd, LOWEST_LEVEL)).store(self.reference_level);
    }
}

/// Lists the tasks that meet a bound within the window.
#[cold]
fn list_crossings(
    bounds: &BoundArrays,
    chunk: usize,
    level: [f64; 4],
    scale: &[f64; 4],
    decided: [f64; 4],
    expansion: &mut Expansion,
) {
    for lane in (0..4).filter(|&lane| decided[lane] == 0.0 && scale[lane] > 0.0) {
        let (low, high) = bounds.range(4 * chunk + lane);
        let demand = SmoothDemand::Exponential { level: level[lane], scale: scale[lane] };
        expansion.crossings.push(BoundCrossing { demand, low, high });
    }
}
