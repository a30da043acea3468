//! Logistic curves with their middle at zero, `tanh(x / (2 width))`: success at the multiplier is
//! `sqrt(1 - q)` with `q` the multiplier relative to the slope at zero, and demand its inverse
//! hyperbolic tangent.
//!
//! Near `q = 1` demand grows like a square root: a task there is listed, because no series follows
//! it.

use pulp::Simd;

use super::expansion::{BoundCrossing, Expansion, SmoothDemand};
use super::family::{
    AssignmentPoint, CurvedDemand, ExpansionPoint, Family, RunningTotals, Totals, WindowState,
    are_valid,
};
use super::index::{BoundArrays, FamilyIndex};
use crate::curve::{Curve, Logistic};
use crate::numeric::simd::{F64x4, chunks4, chunks4_mut};
use crate::oracle::evaluation::Output;
use crate::problem::Bounds;

/// Logistic tasks of a block.
#[derive(Debug, Default)]
pub(super) struct LogisticTasks {
    index: FamilyIndex,
    bounds: BoundArrays,
    width: Vec<f64>,
    height: Vec<f64>,
    /// One over the slope at zero.
    inverse_slope: Vec<f64>,
    /// Whether a task has no value in the call that was loaded last.
    has_worthless: bool,
    /// The value of each task in that call.
    value: Vec<f64>,
}

/// A smaller slope relative to that at zero counts as this one: the quotient would overflow.
const MIN_RELATIVE_SLOPE: f64 = 1e-290;
/// The least success by which is divided; a smaller one has its spend from the series.
const MIN_SUCCESS: f64 = 1e-9;
/// Up to this success the logarithm of the odds is taken from a series.
const SERIES_SUCCESS: f64 = 0.03;
/// A window must be this many times as far from the square root's end as it is wide.
const WINDOW_DISTANCE: f64 = 4.0;
/// Within such a window the sensitivity varies by less than this factor.
const SENSITIVITY_MARGIN: f64 = 1.25;

/// Four tasks on their curves.
struct Position<S: Simd> {
    success: F64x4<S>,
    /// One over the success.
    inverse: F64x4<S>,
    spend: F64x4<S>,
}

impl<S: Simd> Position<S> {
    /// The position where the slope is the share `q` of the slope at zero.
    #[inline(always)]
    fn new(simd: S, q: F64x4<S>, width: F64x4<S>) -> Self {
        let number = |number: f64| F64x4::splat(simd, number);
        let success = (number(1.0) - q).max(number(0.0)).sqrt();
        let upper = success + 1.0;
        // The odds are (1 + success) / (1 - success), or (1 + success)² / q. One division gives
        // both quotients. Where q is above one the logarithm is negative, as if the curve went on.
        let (q, divisor) = (q.max(number(MIN_RELATIVE_SLOPE)), success.max(number(MIN_SUCCESS)));
        let quotient = number(1.0) / (q * divisor);
        let mut log_odds = (upper * upper * (divisor * quotient)).ln();
        let limit = number(SERIES_SUCCESS);
        if !success.if_between(number(0.0), limit, number(1.0)).all_le(number(0.0)) {
            // Close to zero the logarithm would lose digits.
            let near = success.min(limit).twice_artanh();
            let is_near = success.if_between(number(0.0), limit, number(1.0));
            log_odds = is_near.if_gt(number(0.0), near, log_odds);
        }
        Self { success, inverse: q * quotient, spend: width * log_odds }
    }
}

/// `q`, given the multiplier relative to the slope at zero of a task with value one. A task without
/// value demands nothing even at multiplier zero.
#[inline(always)]
fn relative_slope<S: Simd>(simd: S, at_value_one: F64x4<S>, value: F64x4<S>) -> F64x4<S> {
    let infinity = F64x4::splat(simd, f64::INFINITY);
    value.if_gt(F64x4::splat(simd, 0.0), at_value_one / value, infinity)
}

impl LogisticTasks {
    pub(super) fn new(start: usize) -> Self {
        Self { index: FamilyIndex::new(start), ..Self::default() }
    }

    pub(super) fn push(
        &mut self,
        offset: usize,
        logistic: &Logistic,
        curve: &Curve,
        bounds: Bounds,
    ) {
        let (width, height) = (logistic.width(), curve.height());
        self.index.push(offset);
        self.bounds.push(bounds, f64::INFINITY, |spend| height * logistic.success(spend));
        self.width.push(width);
        self.height.push(height);
        self.inverse_slope.push(2.0 * width / height);
    }

    /// To be called after the last task. Padding lanes have an infinite inverse slope and so demand
    /// nothing.
    pub(super) fn pad(&mut self) {
        let len = self.index.padded_len();
        self.bounds.pad(len);
        self.inverse_slope.resize(len, f64::INFINITY);
        self.width.resize(len, 1.0);
        self.height.resize(len, 0.0);
        self.value.resize(len, 0.0);
    }

    /// Demand at a multiplier in the loaded call.
    #[inline(always)]
    pub(super) fn trial<S: Simd>(&self, simd: S, multiplier: f64) -> CurvedDemand {
        let load = |numbers: &[f64; 4]| F64x4::load(simd, numbers);
        let zero = F64x4::splat(simd, 0.0);
        let (mut spend, mut sensitivity, mut curvature) = (zero, zero, zero);
        let curves = chunks4(&self.inverse_slope).iter().zip(chunks4(&self.width));
        let bounds = chunks4(&self.bounds.low).iter().zip(chunks4(&self.bounds.high));
        for ((value, (inverse_slope, width)), (low, high)) in
            chunks4(&self.value).iter().zip(curves).zip(bounds)
        {
            let (width, low, high) = (load(width), load(low), load(high));
            let q = relative_slope(simd, load(inverse_slope) * multiplier, load(value));
            let Position { inverse, spend: free, .. } = Position::new(simd, q, width);
            spend = spend + (free.max(low).min(high) - low);
            let falls = width * inverse;
            sensitivity = sensitivity + free.if_between(low, high, falls);
            let bend = falls * (inverse * inverse) * q * -0.5;
            curvature = curvature + free.if_between(low, high, bend);
        }
        CurvedDemand {
            spend: spend.total(),
            sensitivity: sensitivity.total(),
            curvature: curvature.total(),
        }
    }

    /// The sum of the multipliers at which each task would take a given share, roughly.
    #[inline(always)]
    pub(super) fn multipliers_at<S: Simd>(&self, simd: S, share: f64) -> f64 {
        let (zero, shares) = (F64x4::splat(simd, 0.0), F64x4::splat(simd, share));
        let mut sum = zero;
        let curves = chunks4(&self.inverse_slope).iter().zip(chunks4(&self.width));
        for (value, (inverse_slope, width)) in chunks4(&self.value).iter().zip(curves) {
            // The square of the hyperbolic secant of share / (2 width).
            let small = (zero - shares / F64x4::load(simd, width)).exp_rough();
            let whole = small + 1.0;
            let slope = F64x4::load(simd, value) / F64x4::load(simd, inverse_slope);
            sum = sum + slope * 4.0 * small / (whole * whole);
        }
        sum.total()
    }

    /// What the tasks with a positive value can take above their lower bounds.
    pub(super) fn max_demand(&self) -> f64 {
        self.bounds.max_demand(&self.value, 0.0, self.has_worthless)
    }
}

impl Family for LogisticTasks {
    type Start = ();

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
        for (chunk, loaded) in self.index.chunks().zip(chunks4_mut(&mut self.value)) {
            let value = reader.load(simd, chunk);
            least = least.min(value);
            value.store(loaded);
        }
        self.has_worthless = least.to_array().contains(&0.0);
    }

    #[inline(always)]
    fn expand<S: Simd, const BOUNDED: bool, const RESET: bool>(
        &mut self,
        simd: S,
        at: &ExpansionPoint,
        values: &[f64],
        expansion: &mut Expansion,
    ) {
        let Self { index, bounds, width, inverse_slope, .. } = self;
        let (zero, one) = (F64x4::splat(simd, 0.0), F64x4::splat(simd, 1.0));
        let infinity = F64x4::splat(simd, f64::INFINITY);
        let distance = F64x4::splat(simd, WINDOW_DISTANCE * at.width);
        let beyond = F64x4::splat(simd, 1.0 + 2.0 * at.width);
        let reader = index.reader(values);
        let mut sums = [zero; 4];
        let curves = chunks4(inverse_slope).iter().zip(chunks4(width));
        for (chunk, (inverse_slope, widths)) in index.chunks().zip(curves) {
            let value = reader.load(simd, chunk);
            expansion.are_values_valid &= are_valid(simd, value);
            let width = F64x4::load(simd, widths);
            let at_zero = F64x4::load(simd, inverse_slope) * at.multiplier;
            let q = relative_slope(simd, at_zero, value);
            let Position { inverse, spend: free, .. } = Position::new(simd, q, width);
            let low = F64x4::load(simd, &chunks4(&bounds.low)[chunk]);
            let high = F64x4::load(simd, &chunks4(&bounds.high)[chunk]);
            let first = width * inverse;
            let margin = first * (SENSITIVITY_MARGIN * at.width);
            let square = one - q;
            // Close to the end of the square root the window decides nothing, beyond it everything.
            let most = q.if_gt(beyond, zero, infinity);
            let most = square.if_gt(distance, free + margin, most);
            let least = square.if_gt(distance, free - margin, zero - infinity);
            let state = WindowState::new(simd, (least, most), (low, high));
            let at_high = state.at_high.if_gt(zero, high - low, zero);
            let share = q * inverse * inverse * 0.5;
            let second = first * share;
            let third = second * share.mul_add(F64x4::splat(simd, 3.0), one);
            let terms = [free - low, first, zero - second, third];
            sums[0] = sums[0] + at_high;
            for (sum, term) in sums.iter_mut().zip(terms) {
                *sum = *sum + state.inside.if_gt(zero, term, zero);
            }
            if !state.decided.all_ge(one) {
                let (q, decided) = (q.to_array(), state.decided.to_array());
                list_crossings(bounds, chunk, q, widths, decided, expansion);
            }
        }
        for (moment, sum) in expansion.moments.iter_mut().zip(sums) {
            *moment += sum.total();
        }
    }

    #[inline(always)]
    fn assign<S: Simd, const BOUNDED: bool>(
        &self,
        simd: S,
        at: &AssignmentPoint,
        _start: &(),
        values: &[f64],
        output: &mut Output<'_>,
    ) -> Totals {
        let Self { index, bounds, width, height, inverse_slope, .. } = self;
        let zero = F64x4::splat(simd, 0.0);
        let reader = index.reader(values);
        let mut spends = index.writer(output.spend);
        let mut successes = index.writer(output.success);
        let mut totals = RunningTotals::new(simd);
        let curves = chunks4(inverse_slope).iter().zip(chunks4(width)).zip(chunks4(height));
        for (chunk, ((inverse_slope, width), height)) in index.chunks().zip(curves) {
            let value = reader.load(simd, chunk);
            let width = F64x4::load(simd, width);
            let at_zero = F64x4::load(simd, inverse_slope) * at.multiplier;
            let q = relative_slope(simd, at_zero, value);
            let Position { success, spend: free, .. } = Position::new(simd, q, width);
            let bounded = bounds.apply(simd, chunk, free, F64x4::load(simd, height) * success);
            let falls = width.min(free);
            totals.add(simd, chunk, bounded.above, value * bounded.success);
            totals.offer(simd, chunk, free, bounded.inside.if_gt(zero, falls, zero));
            spends.store(bounded.spend, chunk);
            successes.store(bounded.success, chunk);
        }
        totals.finish(simd, index, bounds)
    }
}

/// Lists the tasks that meet a bound within the window, or may.
#[cold]
fn list_crossings(
    bounds: &BoundArrays,
    chunk: usize,
    q: [f64; 4],
    width: &[f64; 4],
    decided: [f64; 4],
    expansion: &mut Expansion,
) {
    for lane in (0..4).filter(|&lane| decided[lane] == 0.0) {
        let (low, high) = bounds.range(4 * chunk + lane);
        let demand = SmoothDemand::Logistic { relative_slope: q[lane], width: width[lane] };
        expansion.crossings.push(BoundCrossing { demand, low, high });
    }
}
