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
use crate::numeric::exp_log::exp_near_zero;
use crate::numeric::simd::{F64x4, chunks4, chunks4_mut};
use crate::oracle::evaluation::Output;
use crate::problem::Bounds;

/// Logistic tasks of a block.
#[derive(Debug, Default)]
pub(super) struct LogisticTasks {
    index: FamilyIndex,
    bounds: BoundArrays,
    curves: Vec<Curves>,
    /// Whether a task has no value in the call that was loaded last.
    has_worthless: bool,
    /// `q` of each task in that call, at multiplier one.
    relative_slope: Vec<f64>,
    /// Value and position of each task at the reference multiplier.
    reference_value: Vec<f64>,
    references: Vec<Reference>,
    /// The positions at the multiplier expanded last.
    pub(super) expanded: Vec<Expanded>,
}

/// The curves of four tasks. Numbers that are used together are together in memory.
#[derive(Debug, Clone, Copy)]
struct Curves {
    width: [f64; 4],
    height: [f64; 4],
    /// One over the slope at zero.
    inverse_slope: [f64; 4],
}

impl Curves {
    /// They demand nothing.
    const PADDING: Self =
        Self { width: [1.0; 4], height: [0.0; 4], inverse_slope: [f64::INFINITY; 4] };
}

/// The positions of four tasks at the reference multiplier.
#[derive(Debug, Clone, Copy)]
struct Reference {
    /// `q` at the position.
    relative_slope: [f64; 4],
    success: [f64; 4],
    log_odds: [f64; 4],
}

/// The positions of four tasks at the multiplier expanded last.
#[derive(Debug, Clone, Copy)]
pub(super) struct Expanded {
    relative_slope: [f64; 4],
    /// One over the success.
    inverse: [f64; 4],
    log_odds: [f64; 4],
}

impl Expanded {
    #[inline(always)]
    fn store<S: Simd>(&mut self, q: F64x4<S>, position: Position<S>) {
        q.store(&mut self.relative_slope);
        position.inverse.store(&mut self.inverse);
        position.log_odds.store(&mut self.log_odds);
    }

    /// Success and log odds a step of the multiplier's logarithm away; none if that is too far for
    /// one of four tasks.
    ///
    /// By the Taylor series in the step. With `share = q / (2 success²)` the derivative of the
    /// success is `-share * success`, that of the log odds `-1 / success`, and that of the share
    /// `share + 2 share²`, which gives the other derivatives.
    #[inline(always)]
    fn after<S: Simd>(&self, simd: S, step: f64) -> Option<(F64x4<S>, F64x4<S>)> {
        let number = |number: f64| F64x4::splat(simd, number);
        let (one, steps) = (number(1.0), number(step));
        let q = F64x4::load(simd, &self.relative_slope);
        // Tasks that demand nothing after the step either have a log odds below zero, which stays.
        let beyond = number(1.0 + 2.0 * step.abs());
        let inverse = q.if_gt(beyond, number(0.0), F64x4::load(simd, &self.inverse));
        let share = q * (inverse * inverse) * 0.5;
        if !share.all_le(number(MAX_SERIES_CHANGE / step.abs() - 1.0)) {
            return None;
        }
        let success = (one - q) * inverse;
        let third = share.mul_add(share.mul_add(number(3.0), number(3.0)), one);
        let cubic = share.mul_add(number(15.0), number(18.0));
        let fourth = share.mul_add(share.mul_add(cubic, number(7.0)), one);
        let tail = steps.mul_add(fourth * (1.0 / 24.0), third * (1.0 / 6.0));
        let tail = steps.mul_add(tail, (share + 1.0) * 0.5);
        let change = (steps * share) * steps.mul_add(tail, one);
        let third = share.mul_add(number(3.0), one);
        let fourth = share.mul_add(share.mul_add(number(15.0), number(9.0)), one);
        let tail = steps.mul_add(fourth * (1.0 / 24.0), third * (1.0 / 6.0));
        let tail = share * steps.mul_add(tail, number(0.5));
        let fall = (steps * inverse) * steps.mul_add(tail, one);
        let log_odds = F64x4::load(simd, &self.log_odds) - fall;
        Some((success.neg_mul_add(change, success), log_odds))
    }
}

/// A slope relative to that at zero counts as at least the first and at most the second of these:
/// quotients would overflow.
const MIN_RELATIVE_SLOPE: f64 = 1e-290;
const MAX_RELATIVE_SLOPE: f64 = 1e150;
/// The least success by which is divided; a smaller one has its spend from the series.
const MIN_SUCCESS: f64 = 1e-9;
/// Up to this success the logarithm of the odds is taken from a series.
const SERIES_SUCCESS: f64 = 0.03;
/// The largest argument of [`F64x4::twice_artanh`].
const MAX_ARTANH: f64 = 0.032;
/// The series around an expanded position are used up to this change of the logarithm of the
/// success: their fifth terms are below rounding.
const MAX_SERIES_CHANGE: f64 = 4e-4;
/// A window must be this many times as far from the square root's end as it is wide.
const WINDOW_DISTANCE: f64 = 4.0;
/// Within such a window the sensitivity varies by less than this factor.
const SENSITIVITY_MARGIN: f64 = 1.25;
/// The first trial as a share of the mean multiplier: it was between 0.76 and 0.96 in the
/// benchmarks.
const SHARE_OF_MEAN: f64 = 0.9;

/// Four tasks on their curves.
#[derive(Clone, Copy)]
struct Position<S: Simd> {
    success: F64x4<S>,
    /// One over the success.
    inverse: F64x4<S>,
    /// The logarithm of `(1 + success) / (1 - success)`: the spend in units of the width. Where `q`
    /// is above one it is negative, as if the curve went on.
    log_odds: F64x4<S>,
}

impl<S: Simd> Position<S> {
    /// The position where the slope is the share `q` of the slope at zero.
    #[inline(always)]
    fn new(simd: S, q: F64x4<S>) -> Self {
        let number = |number: f64| F64x4::splat(simd, number);
        let success = success_at(simd, q);
        let upper = success + 1.0;
        // The odds are (1 + success) / (1 - success), or (1 + success)² / q. One division gives
        // both quotients.
        let (q, divisor) = (q.max(number(MIN_RELATIVE_SLOPE)), success.max(number(MIN_SUCCESS)));
        let quotient = number(1.0) / (q * divisor);
        let log_odds = (upper * upper * (divisor * quotient)).ln();
        Self {
            success,
            inverse: q * quotient,
            log_odds: without_cancellation(simd, success, log_odds),
        }
    }

    /// The same from a position with the share `from_q` nearby, without a logarithm; none if it is
    /// not near for all four.
    #[inline(always)]
    fn near(simd: S, q: F64x4<S>, from_q: F64x4<S>, from: [F64x4<S>; 2]) -> Option<Self> {
        let number = |number: f64| F64x4::splat(simd, number);
        let [from_success, from_log_odds] = from;
        let success = success_at(simd, q);
        let q = q.max(number(MIN_RELATIVE_SLOPE));
        // One division gives three quotients.
        let (slopes, divisor) = (q + from_q, success.max(number(MIN_SUCCESS)));
        let successes = success + from_success + 2.0;
        let (one, two) = (slopes * successes, slopes * divisor);
        let quotient = number(1.0) / (one * divisor);
        let by_slope = (from_q - q) * (successes * divisor * quotient);
        let by_success = (success - from_success) * (two * quotient);
        if !by_slope.abs().max(by_success.abs()).all_le(number(MAX_ARTANH)) {
            return None;
        }
        let change = by_success.twice_artanh();
        let log_odds = from_log_odds + (by_slope.twice_artanh() + (change + change));
        let log_odds = without_cancellation(simd, success, log_odds);
        Some(Self { success, inverse: one * quotient, log_odds })
    }
}

/// The success where the slope is the share `q` of the slope at zero.
#[inline(always)]
fn success_at<S: Simd>(simd: S, q: F64x4<S>) -> F64x4<S> {
    (F64x4::splat(simd, 1.0) - q).max(F64x4::splat(simd, 0.0)).sqrt()
}

/// The logarithm of the odds, from a series where the success is small: the given one has lost
/// digits there.
#[inline(always)]
fn without_cancellation<S: Simd>(simd: S, success: F64x4<S>, log_odds: F64x4<S>) -> F64x4<S> {
    let (zero, limit) = (F64x4::splat(simd, 0.0), F64x4::splat(simd, SERIES_SUCCESS));
    let is_small = success.if_between(zero, limit, F64x4::splat(simd, 1.0));
    if is_small.all_le(zero) {
        return log_odds;
    }
    is_small.if_gt(zero, success.min(limit).twice_artanh(), log_odds)
}

/// Success and log odds a step of the multiplier's logarithm away from a position, where the success
/// is given; none if it is not near for all four.
#[inline(always)]
fn after_step<S: Simd>(
    simd: S,
    success: F64x4<S>,
    [from_success, from_log_odds]: [F64x4<S>; 2],
    step: f64,
) -> Option<(F64x4<S>, F64x4<S>)> {
    let ratio = (success - from_success) / (success + from_success + 2.0);
    if !ratio.abs().all_le(F64x4::splat(simd, MAX_ARTANH)) {
        return None;
    }
    let change = ratio.twice_artanh();
    let log_odds = from_log_odds + ((change + change) - step);
    Some((success, without_cancellation(simd, success, log_odds)))
}

/// `q`, given the multiplier relative to the slope at zero of a task with value one. A task without
/// value demands nothing even at multiplier zero.
#[inline(always)]
fn relative_slope<S: Simd>(simd: S, at_value_one: F64x4<S>, value: F64x4<S>) -> F64x4<S> {
    let most = F64x4::splat(simd, MAX_RELATIVE_SLOPE);
    value.if_gt(F64x4::splat(simd, 0.0), (at_value_one / value).min(most), most)
}

/// `q`, given that at multiplier one.
#[inline(always)]
fn relative_slope_at<S: Simd>(simd: S, at_one: &[f64; 4], multiplier: f64) -> F64x4<S> {
    // An infinite slope times zero is not a number, of which the minimum is the limit.
    (F64x4::load(simd, at_one) * multiplier).min(F64x4::splat(simd, MAX_RELATIVE_SLOPE))
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
        let lane = (self.index.len() - 1) % 4;
        if lane == 0 {
            self.curves.push(Curves::PADDING);
        }
        if let Some(curves) = self.curves.last_mut() {
            curves.width[lane] = width;
            curves.height[lane] = height;
            curves.inverse_slope[lane] = 2.0 * width / height;
        }
    }

    /// To be called after the last task.
    pub(super) fn pad(&mut self) {
        let len = self.index.padded_len();
        self.bounds.pad(len);
        self.relative_slope.resize(len, f64::INFINITY);
        let (relative_slope, zeros) = ([1.0; 4], [0.0; 4]);
        let reference = Reference { relative_slope, success: zeros, log_odds: zeros };
        self.reference_value.resize(len, 1.0);
        self.references.resize(len / 4, reference);
        let expanded = Expanded { relative_slope, inverse: zeros, log_odds: zeros };
        self.expanded.resize(len / 4, expanded);
    }

    /// Demand at a multiplier in the loaded call.
    #[inline(always)]
    pub(super) fn trial<S: Simd>(&self, simd: S, multiplier: f64) -> CurvedDemand {
        let load = |numbers: &[f64; 4]| F64x4::load(simd, numbers);
        let zero = F64x4::splat(simd, 0.0);
        let (mut spend, mut sensitivity, mut curvature) = (zero, zero, zero);
        let curves = chunks4(&self.relative_slope).iter().zip(&self.curves);
        let bounds = chunks4(&self.bounds.low).iter().zip(chunks4(&self.bounds.high));
        for ((relative_slope, curves), (low, high)) in curves.zip(bounds) {
            let (width, low, high) = (load(&curves.width), load(low), load(high));
            let q = relative_slope_at(simd, relative_slope, multiplier);
            let Position { inverse, log_odds, .. } = Position::new(simd, q);
            let free = width * log_odds;
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

    /// The sum of the multipliers at which each task would take a given share, roughly, times
    /// [`SHARE_OF_MEAN`].
    #[inline(always)]
    pub(super) fn multipliers_at<S: Simd>(&self, simd: S, share: f64) -> f64 {
        let (zero, shares) = (F64x4::splat(simd, 0.0), F64x4::splat(simd, share));
        let mut sum = zero;
        for (relative_slope, curves) in chunks4(&self.relative_slope).iter().zip(&self.curves) {
            // The square of the hyperbolic secant of share / (2 width).
            let small = (zero - shares / F64x4::load(simd, &curves.width)).exp_rough();
            let whole = small + 1.0;
            sum = sum + small / (F64x4::load(simd, relative_slope) * (whole * whole));
        }
        4.0 * SHARE_OF_MEAN * sum.total()
    }

    /// What the tasks with a positive value can take above their lower bounds.
    pub(super) fn max_demand(&self) -> f64 {
        // The sign is changed: a task without value has an infinite relative slope.
        let levels = || self.relative_slope.iter().map(|slope| -slope);
        self.bounds.max_demand(levels, f64::NEG_INFINITY, self.has_worthless)
    }

    pub(super) fn reference_values(&self) -> &[f64] {
        &self.reference_value[..self.index.len()]
    }
}

impl Family for LogisticTasks {
    type Start<'a> = [Expanded];

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
        let loaded = chunks4_mut(&mut self.relative_slope).iter_mut();
        for (chunk, (relative, curves)) in self.index.chunks().zip(loaded.zip(&self.curves)) {
            let value = reader.load(simd, chunk);
            least = least.min(value);
            (F64x4::load(simd, &curves.inverse_slope) / value).store(relative);
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
        let (zero, one) = (F64x4::splat(simd, 0.0), F64x4::splat(simd, 1.0));
        let infinity = F64x4::splat(simd, f64::INFINITY);
        let distance = F64x4::splat(simd, WINDOW_DISTANCE * at.width);
        let beyond = F64x4::splat(simd, 1.0 + 2.0 * at.width);
        // At the reference the two multipliers may differ in the last digit.
        let is_here = at.shift == 0.0;
        let multiplier = if is_here { at.reference_multiplier } else { at.multiplier };
        let Self { index, bounds, curves, reference_value, references, expanded, .. } = self;
        let reader = index.reader(values);
        let mut sums = [zero; 5];
        let references = references.iter_mut().zip(chunks4_mut(reference_value));
        let tasks = curves.iter().zip(references).zip(expanded);
        for (chunk, ((curves, (reference, reference_value)), expanded)) in index.chunks().zip(tasks)
        {
            let value = reader.load(simd, chunk);
            expansion.are_values_valid &= are_valid(simd, value);
            let width = F64x4::load(simd, &curves.width);
            let inverse_slope = F64x4::load(simd, &curves.inverse_slope);
            let q = relative_slope(simd, inverse_slope * multiplier, value);
            let near = if RESET {
                None
            } else {
                let Reference { relative_slope, success, log_odds } = &*reference;
                let from = [F64x4::load(simd, success), F64x4::load(simd, log_odds)];
                Position::near(simd, q, F64x4::load(simd, relative_slope), from)
            };
            let position = if let Some(position) = near {
                position
            } else {
                value.max(zero).store(reference_value);
                let at_reference = inverse_slope * at.reference_multiplier;
                reference.set(simd, relative_slope(simd, at_reference, value), q, is_here)
            };
            expanded.store(q, position);
            let Position { inverse, log_odds, .. } = position;
            let free = width * log_odds;
            let (low, high) = bounds.limits::<S, BOUNDED>(simd, chunk);
            let first = width * inverse;
            let margin = first * (SENSITIVITY_MARGIN * at.width);
            let square = one - q;
            // Close to the end of the square root the window decides nothing, beyond it everything.
            let most = q.if_gt(beyond, zero, infinity);
            let most = square.if_gt(distance, free + margin, most);
            let least = square.if_gt(distance, free - margin, zero - infinity);
            let state = WindowState::new(simd, (least, most), (low, high));
            sums[0] = sums[0] + state.at_high.if_gt(zero, high - low, zero);
            let terms = [free - low, first];
            for (sum, term) in sums.iter_mut().zip(terms) {
                *sum = *sum + state.inside.if_gt(zero, term, zero);
            }
            let share = state.inside.if_gt(zero, q * inverse * inverse * 0.5, zero);
            add_derivatives(simd, &mut sums, first, share);
            if !state.decided.all_ge(one) {
                let (q, decided) = (q.to_array(), state.decided.to_array());
                list_crossings(bounds, chunk, q, &curves.width, decided, expansion);
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
        start: &[Expanded],
        values: &[f64],
        output: &mut Output<'_>,
    ) -> Totals {
        let Self { index, bounds, curves, .. } = self;
        let zero = F64x4::splat(simd, 0.0);
        let reader = index.reader(values);
        let mut spends = index.writer(output.spend);
        let mut successes = index.writer(output.success);
        let mut totals = RunningTotals::new(simd);
        let growth = exp_near_zero(at.power_step);
        for (chunk, curves) in index.chunks().zip(curves) {
            let value = reader.load(simd, chunk);
            let width = F64x4::load(simd, &curves.width);
            let height = F64x4::load(simd, &curves.height);
            // Closures would be compiled without the vector instructions.
            let near = if let Some(from) = start.get(chunk) {
                from.after(simd, at.power_step)
            } else {
                None
            };
            let further = if let (None, Some(from)) = (near, start.get(chunk)) {
                let q = F64x4::load(simd, &from.relative_slope);
                let from = [success_at(simd, q), F64x4::load(simd, &from.log_odds)];
                after_step(simd, success_at(simd, q * growth), from, at.power_step)
            } else {
                near
            };
            let (success, log_odds) = if let Some(further) = further {
                further
            } else {
                let q = if start.is_empty() {
                    // As in the trial: where `q` is close to one, another rounding would be another
                    // demand.
                    let relative = &chunks4(&self.relative_slope)[chunk];
                    relative_slope_at(simd, relative, at.multiplier)
                } else {
                    let at_zero = F64x4::load(simd, &curves.inverse_slope) * at.multiplier;
                    relative_slope(simd, at_zero, value)
                };
                let position = Position::new(simd, q);
                (position.success, position.log_odds)
            };
            let free = width * log_odds;
            let bounded = bounds.apply::<S, BOUNDED>(simd, chunk, free, height * success);
            let falls = width.min(free);
            totals.add(simd, chunk, bounded.above, value * bounded.success);
            totals.offer(simd, chunk, free, bounded.inside.if_gt(zero, falls, zero));
            spends.store(bounded.spend, chunk);
            successes.store(bounded.success, chunk);
        }
        totals.finish(simd, index, bounds)
    }
}

impl Reference {
    /// Sets the reference of four tasks; returns their positions where the slope is the share `q`
    /// of that at zero, which is at the reference if `is_here`.
    #[inline(always)]
    fn set<S: Simd>(
        &mut self,
        simd: S,
        relative_slope: F64x4<S>,
        q: F64x4<S>,
        is_here: bool,
    ) -> Position<S> {
        let reference = Position::new(simd, relative_slope);
        relative_slope.store(&mut self.relative_slope);
        reference.success.store(&mut self.success);
        reference.log_odds.store(&mut self.log_odds);
        if is_here {
            return reference;
        }
        let from = [reference.success, reference.log_odds];
        if let Some(position) = Position::near(simd, q, relative_slope, from) {
            position
        } else {
            Position::new(simd, q)
        }
    }
}

/// Adds the second to fourth derivatives of demand, given the first. With `share = q / (2 success²)`
/// its logarithm has the derivative `-share`, and `share` the derivative `-share - 2 share²`.
#[inline(always)]
fn add_derivatives<S: Simd>(simd: S, sums: &mut [F64x4<S>; 5], first: F64x4<S>, share: F64x4<S>) {
    let number = |number: f64| F64x4::splat(simd, number);
    let second = first * share;
    let third = share.mul_add(number(3.0), number(1.0));
    let fourth = share.mul_add(share.mul_add(number(15.0), number(9.0)), number(1.0));
    sums[2] = sums[2] - second;
    sums[3] = second.mul_add(third, sums[3]);
    sums[4] = second.neg_mul_add(fourth, sums[4]);
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
