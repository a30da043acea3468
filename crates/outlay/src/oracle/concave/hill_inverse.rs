//! The inverse of the derivative of a Hill curve, four curves at a time.
//!
//! With `p` the success, `t = ln(p / (1 - p))` and `shape = 1 / steepness - 1`, the curve has the
//! slope of the multiplier where
//!
//! ```text
//! shape * t + 2 ln(1 + e^t) = level,   level = ln(value * height * steepness / half_at / multiplier)
//! ```
//!
//! The left-hand side is increasing and convex in `t`. [`solve`] finds the root from any level;
//! [`advance`] follows it to a nearby level without an exponential or a logarithm, and so does
//! [`series_change`] to a closer one, by a Taylor series.

use std::f64::consts::LN_2;

use pulp::{Simd, WithSimd};

use crate::numeric::exp_log::{ROUNDER, Series, exp, ln};
use crate::numeric::simd::F64x4;

/// Where four tasks are on their curves.
#[derive(Clone, Copy)]
pub(super) struct Position<S: Simd> {
    /// Success before floor and ceiling, and one less it, each to full relative accuracy.
    pub(super) success: F64x4<S>,
    pub(super) rest: F64x4<S>,
    /// How fast `t` grows with the level: `1 / (shape + 2 * success)`.
    pub(super) rate: F64x4<S>,
}

impl<S: Simd> Position<S> {
    #[inline(always)]
    pub(super) fn new(simd: S, success: F64x4<S>, rest: F64x4<S>, shape: F64x4<S>) -> Self {
        let rate = F64x4::splat(simd, 1.0) / (success + success + shape);
        Self { success, rest, rate }
    }

    /// The position after a small change of the success, with the rate from before.
    #[inline(always)]
    pub(super) fn moved_by(self, change: F64x4<S>) -> Self {
        Self { success: self.success + change, rest: self.rest - change, ..self }
    }

    /// The spend; `worth` is value times height times steepness, divided by the multiplier.
    #[inline(always)]
    pub(super) fn demand(self, worth: F64x4<S>) -> F64x4<S> {
        worth * (self.success * self.rest)
    }

    /// The elasticity of the spend: how fast its logarithm grows with the level.
    #[inline(always)]
    pub(super) fn elasticity(self, shape: F64x4<S>) -> F64x4<S> {
        (shape + 1.0) * self.rate
    }

    /// How fast the logarithm of the elasticity grows with the level.
    #[inline(always)]
    pub(super) fn bend(self) -> F64x4<S> {
        self.success * self.rest * self.rate * self.rate * -2.0
    }

    #[inline(always)]
    pub(super) fn to_arrays(self) -> [[f64; 4]; 3] {
        [self.success.to_array(), self.rest.to_array(), self.rate.to_array()]
    }
}

/// How far from a position [`advance`] is accurate, as a change of `t`: its series end there.
const MAX_CHANGE: f64 = 0.06;
/// The largest correction of the first approximation: its square is below rounding.
const MAX_CORRECTION: f64 = 5e-7;

/// The positions where the levels are larger by `step`, without an exponential or a logarithm; none
/// if they are too far away for all four.
///
/// The change of `t` is the root of `shape * change + 2 ln(1 + p (e^change - 1)) = step`. The first
/// terms of its inverse give an approximation, and a step of Newton's method with a second-order
/// term corrects it.
#[inline(always)]
pub(super) fn advance<S: Simd>(
    simd: S,
    series: &Series,
    from: Position<S>,
    shape: F64x4<S>,
    step: F64x4<S>,
) -> Option<Position<S>> {
    let one = series.one(simd);
    let Position { success, rest, rate } = from;
    let (newton, bend) = (step * rate, success * rest * rate);
    let third = bend * (rest - success).neg_mul_add(series.third(simd), bend + bend);
    let change = newton * newton.neg_mul_add(newton.neg_mul_add(third, bend), one);
    // `grown` is p (e^change - 1). One division gives its two quotients.
    let grown = success * series.exp_minus_one(simd, change);
    let (whole, sum) = (grown + one, grown + (one + one));
    let quotient = one / (whole * sum);
    let log = series.twice_artanh(simd, grown * whole * quotient);
    let (success, rest) = ((success + grown) * (sum * quotient), rest * (sum * quotient));
    let rate = one / (success + success + shape);
    let missing = shape.neg_mul_add(change, step) - (log + log);
    let (spread, newton) = (success * rest, missing * rate);
    let scaled = newton * (MAX_CHANGE / MAX_CORRECTION);
    let distance = scaled.mul_add(scaled, change * change);
    if !distance.all_le(F64x4::splat(simd, MAX_CHANGE * MAX_CHANGE)) {
        return None;
    }
    let slope = spread * rate;
    let newton = newton * slope.neg_mul_add(newton, one);
    let change = spread * newton;
    let half_skew = (rest - success) * newton * 0.5;
    let change = change.mul_add(half_skew, change);
    Some(Position::new(simd, success + change, rest - change, shape))
}

/// The eighth power of a step times the last two terms of the series may be at most this share of
/// `p (1 - p)`: the next term is then below rounding.
const MAX_LAST_TERMS: f64 = 2e-16;
/// The series is used up to this step.
const MAX_SERIES_STEP: f64 = 0.08;
/// Up to this change of `t` four terms of the series are exact.
const SHORT_CHANGE: f64 = 1e-3;

/// The change of the success where the levels are larger by `step`, by seven terms of its Taylor
/// series; none if they are not enough for all four.
///
/// The derivative of `p` by the level is `p (1 - p) / (shape + 2 p)`, which gives the series term by
/// term. Computing the terms takes less time than reading them from memory.
#[inline(always)]
pub(super) fn series_change<S: Simd>(
    simd: S,
    from: Position<S>,
    step: F64x4<S>,
) -> Option<F64x4<S>> {
    let zero = F64x4::splat(simd, 0.0);
    let Position { success, rest, rate } = from;
    let (spread, skew) = (success * rest, rest - success);
    // `s2` and so on are the terms of the square of the series without the products with `success`.
    let next = |term: F64x4<S>, square: F64x4<S>, next_square: F64x4<S>, inverse: f64| {
        let slope = term.mul_add(skew, zero - square);
        rate * (slope * inverse - next_square)
    };
    let twice = |sum: F64x4<S>| sum + sum;
    let p1 = rate * spread;
    let s2 = p1 * p1;
    let p2 = next(p1, zero, s2, 1.0 / 2.0);
    let s3 = twice(p1 * p2);
    let p3 = next(p2, s2, s3, 1.0 / 3.0);
    let s4 = p2.mul_add(p2, twice(p1 * p3));
    let p4 = next(p3, s3, s4, 1.0 / 4.0);
    let s5 = twice(p1.mul_add(p4, p2 * p3));
    let p5 = next(p4, s4, s5, 1.0 / 5.0);
    let s6 = p3.mul_add(p3, twice(p1.mul_add(p5, p2 * p4)));
    let p6 = next(p5, s5, s6, 1.0 / 6.0);
    let s7 = twice(p1.mul_add(p6, p2.mul_add(p5, p3 * p4)));
    let p7 = next(p6, s6, s7, 1.0 / 7.0);
    let square = step * step;
    let fourth = square * square;
    // A step that is too long makes the last terms infinite.
    let limit = F64x4::splat(simd, MAX_SERIES_STEP);
    let infinity = F64x4::splat(simd, f64::INFINITY);
    let last = step.abs().if_gt(limit, infinity, (p7.abs() + p6.abs()) * (fourth * fourth));
    if !last.all_le(spread * MAX_LAST_TERMS) {
        return None;
    }
    // In pairs: short chains.
    let low = p2.mul_add(step, p1);
    let middle = p4.mul_add(step, p3);
    let high = square.mul_add(p7, p6.mul_add(step, p5));
    Some(step * fourth.mul_add(high, middle.mul_add(square, low)))
}

/// The same by four terms, for changes of `t` up to [`SHORT_CHANGE`].
#[inline(always)]
pub(super) fn short_change<S: Simd>(
    simd: S,
    from: Position<S>,
    step: F64x4<S>,
) -> Option<F64x4<S>> {
    let Position { success, rest, rate } = from;
    if !(step * rate).abs().all_le(F64x4::splat(simd, SHORT_CHANGE)) {
        return None;
    }
    let skew = rest - success;
    let p1 = rate * (success * rest);
    let s2 = p1 * p1;
    let p2 = rate * (p1 * skew * 0.5 - s2);
    let s3 = p1 * (p2 + p2);
    let p3 = rate * ((p2 * skew - s2) * (1.0 / 3.0) - s3);
    let s4 = p2.mul_add(p2, p1 * (p3 + p3));
    let p4 = rate * ((p3 * skew - s3) * 0.25 - s4);
    let (low, high) = (step.mul_add(p2, p1), step.mul_add(p4, p3));
    Some(step * (step * step).mul_add(high, low))
}

/// `t` is searched for up to this far from zero: beyond, `p` or `1 - p` is negligible.
const MAX_LOG_ODDS: f64 = 700.0;
/// One or two steps suffice unless the steepness is close to one.
const MAX_STEPS: usize = 60;
/// `(2 ln 2)²`: with it the square root below has the value of the logarithm at zero.
const ROOT_OFFSET: f64 = 4.0 * LN_2 * LN_2;
/// A center may be this far from the root, as a change of `t`.
const MAX_DISTANCE: f64 = 0.03;

/// The positions at the given levels.
#[inline(always)]
pub(super) fn solve<S: Simd>(
    simd: S,
    series: &Series,
    level: F64x4<S>,
    shape: F64x4<S>,
) -> Position<S> {
    let (center, step) = close_center(simd, level, shape);
    solve_from(simd, series, center, step, (level, shape))
}

/// The positions of several tasks at the given levels.
///
/// In two loops: the operations of one position depend on each other, and a processor can only work
/// on the next position at the same time if few of them follow each other.
#[inline(always)]
pub(super) fn solve_tile<S: Simd>(
    simd: S,
    series: &Series,
    levels: &[[f64; 4]],
    shapes: impl Iterator<Item = [f64; 4]> + Clone,
    found: &mut [Success],
) {
    let mut steps = [[0.0; 4]; TILE];
    let tasks = levels.iter().zip(shapes.clone()).zip(&mut *found).zip(&mut steps);
    for (((level, shape), found), step) in tasks {
        let (center, distance) =
            close_center(simd, F64x4::load(simd, level), F64x4::load(simd, &shape));
        found.store(center);
        distance.store(step);
    }
    for (((level, shape), found), step) in levels.iter().zip(shapes).zip(found).zip(&steps) {
        let (level, shape) = (F64x4::load(simd, level), F64x4::load(simd, &shape));
        let (center, step) = (found.position(simd, shape), F64x4::load(simd, step));
        found.store(solve_from(simd, series, center, step, (level, shape)));
    }
}

/// The most levels of four tasks that [`solve_tile`] takes: its buffers fit the first-level cache.
pub(super) const TILE: usize = 32;

/// Success of four tasks before floor and ceiling, and one less it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Success {
    success: [f64; 4],
    rest: [f64; 4],
}

impl Success {
    pub(super) const HALF: Self = Self { success: [0.5; 4], rest: [0.5; 4] };

    #[inline(always)]
    pub(super) fn position<S: Simd>(&self, simd: S, shape: F64x4<S>) -> Position<S> {
        Position::new(simd, F64x4::load(simd, &self.success), F64x4::load(simd, &self.rest), shape)
    }

    #[inline(always)]
    pub(super) fn store<S: Simd>(&mut self, position: Position<S>) {
        position.success.store(&mut self.success);
        position.rest.store(&mut self.rest);
    }
}

/// One of the [`CENTERS`] that is nearly always close enough to the root for [`advance`], by a step
/// of Halley's method from another one; and from there to the levels.
#[inline(always)]
fn close_center<S: Simd>(simd: S, level: F64x4<S>, shape: F64x4<S>) -> (Position<S>, F64x4<S>) {
    let inside = within_range(level, shape);
    let (log_odds, from, reached) = nearest_center(simd, first_guess(simd, inside, shape), shape);
    let better = halley(simd, log_odds, from, inside - reached);
    let (_, center, reached) = nearest_center(simd, better, shape);
    (center, inside - reached)
}

/// The positions a step away from a center, or at the levels if that is too far.
#[inline(always)]
fn solve_from<S: Simd>(
    simd: S,
    series: &Series,
    center: Position<S>,
    step: F64x4<S>,
    (level, shape): (F64x4<S>, F64x4<S>),
) -> Position<S> {
    if let Some(found) = advance(simd, series, center, shape, step) {
        return found;
    }
    let (levels, shapes) = (level.to_array(), shape.to_array());
    let [success, rest, rate] = simd.vectorize(SolveFar { series, levels, shapes });
    let load = |numbers: &[f64; 4]| F64x4::load(simd, numbers);
    Position { success: load(&success), rest: load(&rest), rate: load(&rate) }
}

/// Success, one less it, and `ln(1 + e^t)`, where `t` is a multiple of the grid's width.
type Center = [f64; 3];
/// Grid points per unit of `t`, and how far from zero they reach.
const PER_UNIT: f64 = 16.0;
const REACH: f64 = 16.0;
const LAST_CENTER: usize = (2.0 * PER_UNIT * REACH) as usize;
static CENTERS: [Center; LAST_CENTER + 1] = centers();

const fn centers() -> [Center; LAST_CENTER + 1] {
    let (mut centers, mut place) = ([[0.0; 3]; LAST_CENTER + 1], 0);
    while place <= LAST_CENTER {
        let log_odds = place as f64 / PER_UNIT - REACH;
        let small = exp(-log_odds.abs());
        let (larger, smaller) = (1.0 / (1.0 + small), small / (1.0 + small));
        let log = ln(1.0 + small);
        centers[place] =
            if log_odds > 0.0 { [larger, smaller, log_odds + log] } else { [smaller, larger, log] };
        place += 1;
    }
    centers
}

/// The grid points next to given `t`, the positions there and their levels.
#[inline(always)]
fn nearest_center<S: Simd>(
    simd: S,
    log_odds: F64x4<S>,
    shape: F64x4<S>,
) -> (F64x4<S>, Position<S>, F64x4<S>) {
    let number = |number: f64| F64x4::splat(simd, number);
    let inside = log_odds.max(number(-REACH)).min(number(REACH));
    // The place in the grid is then in the low bits.
    let rounded = (inside + REACH).mul_add(number(PER_UNIT), number(ROUNDER));
    let places = rounded.to_array().map(|lane| (lane.to_bits() & 0xffff) as usize);
    let [a, b, c, d] = places.map(|place| CENTERS[place.min(LAST_CENTER)]);
    let column = |of: usize| F64x4::load(simd, &[a[of], b[of], c[of], d[of]]);
    let position = Position::new(simd, column(0), column(1), shape);
    let (softplus, log_odds) = (column(2), (rounded - ROUNDER) * (1.0 / PER_UNIT) - REACH);
    (log_odds, position, shape.mul_add(log_odds, softplus + softplus))
}

/// The positions at levels that are far from a grid point, as arrays.
struct SolveFar<'a> {
    series: &'a Series,
    levels: [f64; 4],
    shapes: [f64; 4],
}

impl WithSimd for SolveFar<'_> {
    type Output = [[f64; 4]; 3];

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> [[f64; 4]; 3] {
        let (level, shape) = (F64x4::load(simd, &self.levels), F64x4::load(simd, &self.shapes));
        let (center, step) = find_center(simd, level, shape, MAX_DISTANCE);
        if let Some(found) = advance(simd, self.series, center, shape, step) {
            return found.to_arrays();
        }
        // Closer, so that the series are accurate.
        let (center, step) = find_center(simd, level, shape, 0.1 * MAX_DISTANCE);
        if let Some(found) = advance(simd, self.series, center, shape, step) {
            found.to_arrays()
        } else {
            center.to_arrays()
        }
    }
}

/// The levels, within the range of `t`.
#[inline(always)]
fn within_range<S: Simd>(level: F64x4<S>, shape: F64x4<S>) -> F64x4<S> {
    level.max(shape * -MAX_LOG_ODDS).min((shape + 2.0) * MAX_LOG_ODDS)
}

/// Positions near the given levels, and from there to the levels: at most `max_distance` as a change
/// of `t`. Every further step to the root itself is left to [`advance`].
#[inline(always)]
fn find_center<S: Simd>(
    simd: S,
    level: F64x4<S>,
    shape: F64x4<S>,
    max_distance: f64,
) -> (Position<S>, F64x4<S>) {
    let level = within_range(level, shape);
    let mut log_odds = rough_step(simd, first_guess(simd, level, shape), level, shape);
    for _ in 0..MAX_STEPS {
        let (position, at) = evaluate(simd, log_odds, shape);
        let step = level - at;
        if (step * position.rate).abs().all_le(F64x4::splat(simd, max_distance)) {
            return (position, step);
        }
        log_odds = halley(simd, log_odds, position, step);
    }
    (evaluate(simd, log_odds, shape).0, F64x4::splat(simd, 0.0))
}

/// The root with `t + sqrt(t² + (2 ln 2)²)` in place of `2 ln(1 + e^t)`, which it exceeds by at
/// most 0.21: a quadratic equation.
#[inline(always)]
fn first_guess<S: Simd>(simd: S, level: F64x4<S>, shape: F64x4<S>) -> F64x4<S> {
    let zero = F64x4::splat(simd, 0.0);
    let slope = shape + 1.0;
    let product = shape * (shape + 2.0);
    let offset = F64x4::splat(simd, ROOT_OFFSET);
    let root = level.mul_add(level, product * offset).sqrt();
    // Two forms of the same root, each without cancellation on its side of zero.
    let above = level.mul_add(level, zero - offset);
    let numerator = level.if_gt(zero, above, slope.mul_add(level, zero - root));
    let denominator = level.if_gt(zero, slope.mul_add(level, root), product);
    numerator / denominator
}

/// A step of Halley's method with rough functions.
#[inline(always)]
fn rough_step<S: Simd>(simd: S, log_odds: F64x4<S>, level: F64x4<S>, shape: F64x4<S>) -> F64x4<S> {
    let number = |number: f64| F64x4::splat(simd, number);
    let small = (number(0.0) - log_odds.abs()).exp_rough();
    // ln(1 + small) = 2 artanh(small / (2 + small)).
    let s = small / (small + 2.0);
    let square = s * s;
    let tail = square.mul_add(number(1.0 / 7.0), number(1.0 / 5.0));
    let tail = square.mul_add(tail, number(1.0 / 3.0));
    let log = (s + s) * square.mul_add(tail, number(1.0));
    let (position, at) = position_at(simd, log_odds, small, log, shape);
    halley(simd, log_odds, position, level - at)
}

/// The positions at given `t`, and their levels.
#[inline(always)]
fn evaluate<S: Simd>(simd: S, log_odds: F64x4<S>, shape: F64x4<S>) -> (Position<S>, F64x4<S>) {
    let small = (F64x4::splat(simd, 0.0) - log_odds.abs()).exp();
    position_at(simd, log_odds, small, (small + 1.0).ln(), shape)
}

/// The same, given `small = e^-|t|` and `log = ln(1 + small)`.
#[inline(always)]
fn position_at<S: Simd>(
    simd: S,
    log_odds: F64x4<S>,
    small: F64x4<S>,
    log: F64x4<S>,
    shape: F64x4<S>,
) -> (Position<S>, F64x4<S>) {
    let (zero, one) = (F64x4::splat(simd, 0.0), F64x4::splat(simd, 1.0));
    let larger = one / (small + 1.0);
    let smaller = small * larger;
    let success = log_odds.if_gt(zero, larger, smaller);
    let rest = log_odds.if_gt(zero, smaller, larger);
    let softplus = log_odds.max(zero) + log;
    let level = shape.mul_add(log_odds, softplus + softplus);
    (Position { success, rest, rate: one / (success + success + shape) }, level)
}

/// A step of Halley's method towards a level that is larger by `step`.
#[inline(always)]
fn halley<S: Simd>(simd: S, log_odds: F64x4<S>, at: Position<S>, step: F64x4<S>) -> F64x4<S> {
    let number = |number: f64| F64x4::splat(simd, number);
    let newton = step * at.rate;
    let curvature = at.success * at.rest * at.rate;
    let next = log_odds + newton / newton.mul_add(curvature, number(1.0)).max(number(0.5));
    next.max(number(-MAX_LOG_ODDS)).min(number(MAX_LOG_ODDS))
}

#[cfg(test)]
mod tests {
    use pulp::{Arch, Scalar256b};

    use super::*;
    use crate::numeric::exp_log::series;
    use crate::numeric::simd::with_simd4;

    /// The log odds by bisection of the equation.
    fn by_bisection(level: f64, shape: f64) -> f64 {
        let softplus = |t: f64| t.max(0.0) + (-t.abs()).exp().ln_1p();
        let (mut low, mut high) = (-MAX_LOG_ODDS, MAX_LOG_ODDS);
        for _ in 0..200 {
            let middle = 0.5 * (low + high);
            if shape * middle + 2.0 * softplus(middle) < level {
                low = middle;
            } else {
                high = middle;
            }
        }
        low
    }

    struct Check;
    impl WithSimd for Check {
        type Output = Vec<u64>;
        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) -> Vec<u64> {
            let mut bits = Vec::new();
            for steepness in [1e-3, 0.05, 0.3, 0.5, 0.8, 0.95, 0.999, 1.0 - 1e-6] {
                let shape = (1.0 - steepness) / steepness;
                for step in -60..=60 {
                    let level = f64::from(step) * 0.37 * (1.0 + shape);
                    let shapes = F64x4::splat(simd, shape);
                    let found = solve(simd, series(), F64x4::splat(simd, level), shapes);
                    check(found, level, shape);
                    bits.extend(found.to_arrays().map(|lanes| lanes[1].to_bits()));
                    for step in [1e-6, -2e-5, -3e-4, 8e-4, 4e-3, -0.02, 0.05] {
                        let steps = F64x4::splat(simd, step);
                        let changes =
                            [series_change(simd, found, steps), short_change(simd, found, steps)];
                        for change in changes.into_iter().flatten() {
                            let (success, rest) = (found.success + change, found.rest - change);
                            let rate = F64x4::splat(simd, 1.0) / (success + success + shapes);
                            check(Position { success, rest, rate }, level + step, shape);
                            bits.push(success.to_array()[1].to_bits());
                        }
                        if let Some(moved) = advance(simd, series(), found, shapes, steps) {
                            check(moved, level + step, shape);
                            bits.push(moved.success.to_array()[2].to_bits());
                        }
                    }
                }
            }
            bits
        }
    }

    /// The level is known up to its rounding, which the rate turns into an error of the log odds.
    fn check<S: Simd>(found: Position<S>, level: f64, shape: f64) {
        let [success, rest, rate] = found.to_arrays().map(|lanes| lanes[3]);
        let log_odds = by_bisection(level, shape);
        if log_odds.abs() > 0.99 * MAX_LOG_ODDS {
            return;
        }
        let error = 8.0 * f64::EPSILON * (level.abs() + (shape * log_odds).abs() + 1.0) * rate
            + 8.0 * f64::EPSILON * log_odds.abs().max(1.0);
        let (p, n) = (1.0 / (1.0 + (-log_odds).exp()), 1.0 / (1.0 + log_odds.exp()));
        assert!((success / p - 1.0).abs() <= error, "{level} {shape}: {success} {p} {error}");
        assert!((rest / n - 1.0).abs() <= error, "{level} {shape}: {rest} {n} {error}");
        assert!((rate * (shape + 2.0 * p) - 1.0).abs() <= 2.0 * error, "{level} {shape}");
    }

    #[test]
    fn agrees_with_bisection_and_gives_the_same_bits_on_every_machine() {
        let bits = with_simd4(Arch::new(), Check);
        // Series that are never accurate enough would prove nothing.
        assert!(bits.len() > 8 * 121 * 5, "{}", bits.len());
        assert_eq!(bits, Simd::vectorize(Scalar256b, Check));
    }
}
