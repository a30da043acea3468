//! Hill curves with a steepness below one: success at the multiplier is the root of an equation
//! that [`hill_inverse`](super::hill_inverse) solves, and demand follows from success.
//!
//! On the curve's slope, `multiplier * spend = value * height * steepness * p * (1 - p)` with `p`
//! the success before floor and ceiling.

use pulp::{Simd, WithSimd};

use super::expansion::{BoundCrossing, Expansion, SmoothDemand};
use super::family::{
    AssignmentPoint, CurvedDemand, ExpansionPoint, Family, RunningTotals, Totals, WindowState,
    are_valid,
};
use super::hill_inverse::{Position, advance, solve};
use super::index::{BoundArrays, FamilyIndex};
use crate::curve::{Curve, Hill};
use crate::numeric::exp_log::{MIN_LN_ARG, series};
use crate::numeric::simd::{F64x4, chunks4, chunks4_mut, with_simd4};
use crate::oracle::evaluation::Output;
use crate::problem::Bounds;

/// Hill tasks of a block.
#[derive(Debug, Default)]
pub(super) struct HillTasks {
    index: FamilyIndex,
    bounds: BoundArrays,
    /// The level at value one, `ln(height * steepness / half_at)`; the value adds its logarithm.
    base_level: Vec<f64>,
    /// `1 / steepness - 1`.
    shape: Vec<f64>,
    steepness: Vec<f64>,
    log_half_at: Vec<f64>,
    height: Vec<f64>,
    /// Whether a task has no value, or nearly none, in the call that was loaded last.
    has_worthless: bool,
    /// The level in that call, and the product of value, height and steepness.
    level: Vec<f64>,
    worth: Vec<f64>,
    /// Value, and position at the reference multiplier.
    reference_value: Vec<f64>,
    reference: Positions,
    /// The position at the multiplier expanded last.
    pub(super) expanded: Positions,
}

/// The positions of tasks on their curves, as arrays.
#[derive(Debug, Default)]
pub(super) struct Positions {
    success: Vec<f64>,
    rest: Vec<f64>,
    rate: Vec<f64>,
}

impl Positions {
    pub(super) fn resize(&mut self, len: usize) {
        for numbers in [&mut self.success, &mut self.rest, &mut self.rate] {
            numbers.resize(len, 0.5);
        }
    }

    #[inline(always)]
    fn load<S: Simd>(&self, simd: S, chunk: usize) -> Position<S> {
        let at_chunk = |numbers: &[f64]| F64x4::load(simd, &chunks4(numbers)[chunk]);
        Position {
            success: at_chunk(&self.success),
            rest: at_chunk(&self.rest),
            rate: at_chunk(&self.rate),
        }
    }

    #[inline(always)]
    fn store<S: Simd>(&mut self, position: Position<S>, chunk: usize) {
        position.success.store(&mut chunks4_mut(&mut self.success)[chunk]);
        position.rest.store(&mut chunks4_mut(&mut self.rest)[chunk]);
        position.rate.store(&mut chunks4_mut(&mut self.rate)[chunk]);
    }
}

/// The positions at the last trial of a search.
#[derive(Debug, Default)]
pub(super) struct HillTrial {
    pub(super) positions: Positions,
    /// The multiplier's logarithm; none before the first trial.
    pub(super) log_multiplier: Option<f64>,
    /// How many trials ago the positions were computed in full.
    age: u32,
}

impl HillTrial {
    /// From the last trial to a multiplier, in levels; none if the positions are to be computed in
    /// full.
    fn step_to(&mut self, log_multiplier: f64) -> Option<f64> {
        let step = self.log_multiplier.map(|last| last - log_multiplier);
        let step = step.filter(|step| step.is_finite() && self.age < MAX_AGE);
        self.age = if step.is_some() { self.age + 1 } else { 0 };
        self.log_multiplier = Some(log_multiplier);
        step
    }
}

/// Tasks with a smaller success are given nothing.
const MIN_SUCCESS: f64 = 1e-300;
/// Rounding adds up from trial to trial.
const MAX_AGE: u32 = 16;

/// Half a window of multipliers is at most a quarter of this inverse: the series of
/// [`advance`] reach further.
pub(super) const WINDOW_ELASTICITY: f64 = 8.0;
/// The elasticity varies within a window by less than this factor.
const ELASTICITY_MARGIN: f64 = 1.25;

impl HillTasks {
    pub(super) fn new(start: usize) -> Self {
        Self { index: FamilyIndex::new(start), ..Self::default() }
    }

    pub(super) fn push(&mut self, offset: usize, hill: &Hill, curve: &Curve, bounds: Bounds) {
        let (half_at, steepness, height) = (hill.half_at(), hill.steepness(), curve.height());
        self.index.push(offset);
        self.bounds.push(bounds, f64::INFINITY, |spend| height * hill.success(spend));
        self.base_level.push((height * steepness / half_at).ln());
        self.shape.push((1.0 - steepness) / steepness);
        self.steepness.push(steepness);
        self.log_half_at.push(half_at.ln());
        self.height.push(height);
    }

    /// To be called after the last task. Padding lanes have no height and so demand nothing.
    pub(super) fn pad(&mut self) {
        let len = self.index.padded_len();
        self.bounds.pad(len);
        for numbers in [&mut self.shape, &mut self.steepness, &mut self.reference_value] {
            numbers.resize(len, 1.0);
        }
        for numbers in [
            &mut self.base_level,
            &mut self.log_half_at,
            &mut self.height,
            &mut self.level,
            &mut self.worth,
        ] {
            numbers.resize(len, 0.0);
        }
        self.reference.resize(len);
        self.expanded.resize(len);
    }

    /// Demand at a multiplier in the loaded call; the positions are left in `trial`.
    #[inline(always)]
    pub(super) fn trial<S: Simd>(
        &self,
        simd: S,
        multiplier: f64,
        log_multiplier: f64,
        trial: &mut HillTrial,
    ) -> CurvedDemand {
        let at_chunk = |numbers: &[f64], chunk: usize| F64x4::load(simd, &chunks4(numbers)[chunk]);
        let zero = F64x4::splat(simd, 0.0);
        let (mut spend, mut sensitivity, mut curvature) = (zero, zero, zero);
        let step = trial.step_to(log_multiplier);
        let per_multiplier = 1.0 / multiplier;
        trial.positions.resize(self.index.padded_len());
        for chunk in self.index.chunks() {
            let shape = at_chunk(&self.shape, chunk);
            // Closures would be compiled without the vector instructions.
            let near = if let Some(step) = step {
                let from = trial.positions.load(simd, chunk);
                advance::<S, 8>(simd, from, shape, F64x4::splat(simd, step))
            } else {
                None
            };
            let position = if let Some(position) = near {
                position
            } else {
                solve(simd, at_chunk(&self.level, chunk) - log_multiplier, shape)
            };
            trial.positions.store(position, chunk);
            let free = position.demand(at_chunk(&self.worth, chunk) * per_multiplier);
            let low = at_chunk(&self.bounds.low, chunk);
            let high = at_chunk(&self.bounds.high, chunk);
            spend = spend + (free.max(low).min(high) - low);
            let elasticity = position.elasticity(shape);
            let falls = free * elasticity;
            sensitivity = sensitivity + free.if_between(low, high, falls);
            let bend = falls * (elasticity + position.bend());
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
        let (zero, log_share) = (F64x4::splat(simd, 0.0), F64x4::splat(simd, share.ln()));
        let mut sum = zero;
        let curves = chunks4(&self.steepness).iter().zip(chunks4(&self.log_half_at));
        for ((steepness, log_half_at), worth) in curves.zip(chunks4(&self.worth)) {
            let along = F64x4::load(simd, steepness) * (log_share - F64x4::load(simd, log_half_at));
            let small = (zero - along.abs()).exp_rough();
            let whole = small + 1.0;
            sum = sum + F64x4::load(simd, worth) * small / (whole * whole);
        }
        sum.total() / share
    }

    /// What the tasks with a positive value can take above their lower bounds.
    pub(super) fn max_demand(&self) -> f64 {
        self.bounds.max_demand(&self.level, f64::NEG_INFINITY, self.has_worthless)
    }

    pub(super) fn reference_values(&self) -> &[f64] {
        &self.reference_value[..self.index.len()]
    }
}

impl Family for HillTasks {
    type Start = Positions;

    fn index(&self) -> &FamilyIndex {
        &self.index
    }

    fn bounds(&self) -> &BoundArrays {
        &self.bounds
    }

    #[inline(always)]
    fn load<S: Simd>(&mut self, simd: S, values: &[f64]) {
        let Self { index, base_level, steepness, height, level, worth, .. } = self;
        let reader = index.reader(values);
        let mut least = F64x4::splat(simd, f64::INFINITY);
        let curves = chunks4(base_level).iter().zip(chunks4(steepness).iter().zip(chunks4(height)));
        let loaded = chunks4_mut(level).iter_mut().zip(chunks4_mut(worth));
        for (chunk, ((level, worth), (base, (steepness, height)))) in
            index.chunks().zip(loaded.zip(curves))
        {
            let value = reader.load(simd, chunk);
            least = least.min(value);
            (value.ln() + F64x4::load(simd, base)).store(level);
            let height = F64x4::load(simd, height);
            (value * height * F64x4::load(simd, steepness)).store(worth);
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
        let Self { index, bounds, base_level, shape, steepness, height, .. } = self;
        let (reader, series) = (index.reader(values), series());
        let zero = F64x4::splat(simd, 0.0);
        let per_multiplier = 1.0 / at.multiplier;
        let mut sums = Moments { moments: [zero; 4], constant: zero };
        for chunk in index.chunks() {
            let at_chunk = |numbers: &[f64]| F64x4::load(simd, &chunks4(numbers)[chunk]);
            let (value, shapes) = (reader.load(simd, chunk), at_chunk(shape));
            let near = if RESET {
                None
            } else {
                let ratio = series.ln_ratio(simd, value, at_chunk(&self.reference_value));
                let from = self.reference.load(simd, chunk);
                let step = ratio - at.shift;
                let is_near = series.are_near(simd, ratio, zero);
                if is_near { advance::<S, 8>(simd, from, shapes, step) } else { None }
            };
            let position = if let Some(position) = near {
                position
            } else {
                expansion.are_values_valid &= are_valid(simd, value);
                let mut reset = Reset {
                    base_level: &chunks4(base_level)[chunk],
                    shape: &chunks4(shape)[chunk],
                    values: value.to_array(),
                    log_multiplier: at.reference,
                    shift: at.shift,
                    reference_value: &mut chunks4_mut(&mut self.reference_value)[chunk],
                    reference: [[0.0; 4]; 3],
                    found: [[0.0; 4]; 3],
                };
                with_simd4(at.arch, &mut reset);
                let (reference, found) = (reset.reference, reset.found);
                self.reference.store(Position::from_arrays(simd, &reference), chunk);
                Position::from_arrays(simd, &found)
            };
            self.expanded.store(position, chunk);
            let worth = value * at_chunk(height) * at_chunk(steepness);
            let free = position.demand(worth * per_multiplier);
            let elastic = position.elasticity(shapes);
            let (low, high) = (at_chunk(&bounds.low), at_chunk(&bounds.high));
            let share = elastic * (ELASTICITY_MARGIN * at.width);
            let (least, most) =
                (free * (zero + 1.0 - share), free * (share.mul_add(share, share) + 1.0));
            let state = WindowState::new(simd, (least, most), (low, high));
            sums.constant =
                sums.constant + state.at_high.if_gt(zero, high - low, zero) - state.inside * low;
            sums.add(position, state.inside.if_gt(zero, free, zero), elastic);
            if !state.decided.all_ge(F64x4::splat(simd, 1.0)) {
                let demand = (free.to_array(), position.to_arrays(), shapes.to_array());
                list_crossings(bounds, chunk, demand, state.decided.to_array(), expansion);
            }
        }
        for (moment, sum) in expansion.moments.iter_mut().zip(sums.moments) {
            *moment += sum.total();
        }
        expansion.constant += sums.constant.total();
    }

    #[inline(always)]
    fn assign<S: Simd, const BOUNDED: bool>(
        &self,
        simd: S,
        at: &AssignmentPoint,
        start: &Positions,
        values: &[f64],
        output: &mut Output<'_>,
    ) -> Totals {
        let Self { index, bounds, base_level, shape, steepness, height, .. } = self;
        let zero = F64x4::splat(simd, 0.0);
        let (per_multiplier, step) = (1.0 / at.multiplier, F64x4::splat(simd, -at.power_step));
        let reader = index.reader(values);
        let mut spends = index.writer(output.spend);
        let mut successes = index.writer(output.success);
        let mut totals = RunningTotals::new(simd);
        for chunk in index.chunks() {
            let at_chunk = |numbers: &[f64]| F64x4::load(simd, &chunks4(numbers)[chunk]);
            let (value, shapes, height) =
                (reader.load(simd, chunk), at_chunk(shape), at_chunk(height));
            let from = start.load(simd, chunk);
            let position = if let Some(position) = advance::<S, 4>(simd, from, shapes, step) {
                position
            } else if let Some(position) = advance::<S, 8>(simd, from, shapes, step) {
                position
            } else {
                let level = at_chunk(base_level) + value.ln() - at.multiplier.ln();
                solve(simd, level, shapes)
            };
            let free = position.demand(value * height * at_chunk(steepness) * per_multiplier);
            // Where the inverse ends there is no spend that belongs to the success.
            let (success, least) = (position.success, F64x4::splat(simd, MIN_SUCCESS));
            let free = success.if_gt(least, free, zero);
            let on_slope = success.if_gt(least, height * success, zero);
            let falls = free * position.elasticity(shapes);
            let bounded = bounds.apply(simd, chunk, free, on_slope);
            totals.add(simd, chunk, bounded.above, value * bounded.success);
            totals.offer(simd, chunk, free, bounded.inside.if_gt(zero, falls, zero));
            spends.store(bounded.spend, chunk);
            successes.store(bounded.success, chunk);
        }
        totals.finish(simd, index, bounds)
    }
}

/// Sums over tasks: demand and its derivatives by the level.
struct Moments<S: Simd> {
    moments: [F64x4<S>; 4],
    constant: F64x4<S>,
}

impl<S: Simd> Moments<S> {
    #[inline(always)]
    fn add(&mut self, at: Position<S>, demand: F64x4<S>, elasticity: F64x4<S>) {
        let Position { success, rest, rate } = at;
        // The derivative of the elasticity's logarithm, and the derivative of that.
        let bend = at.bend();
        let bend_slope = bend * (rate.mul_add(rest - success, bend + bend));
        let first = demand * elasticity;
        let sum = elasticity + bend;
        let third = elasticity.mul_add(sum + bend, bend.mul_add(sum, bend_slope));
        let [total, slope, second, cubic] = &mut self.moments;
        *total = *total + demand;
        *slope = *slope + first;
        *second = first.mul_add(sum, *second);
        *cubic = first.mul_add(third, *cubic);
    }
}

/// A new reference for four tasks, and their positions at the expanded multiplier, away from the
/// reference multiplier by `shift`.
struct Reset<'a> {
    base_level: &'a [f64; 4],
    shape: &'a [f64; 4],
    values: [f64; 4],
    log_multiplier: f64,
    shift: f64,
    reference_value: &'a mut [f64; 4],
    reference: [[f64; 4]; 3],
    found: [[f64; 4]; 3],
}

impl WithSimd for &mut Reset<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let value = F64x4::load(simd, &self.values).max(F64x4::splat(simd, 0.0));
        let shape = F64x4::load(simd, self.shape);
        let level = F64x4::load(simd, self.base_level) + value.ln() - self.log_multiplier;
        let reference = solve(simd, level, shape);
        value.store(self.reference_value);
        self.reference = reference.to_arrays();
        self.found = self.reference;
        if self.shift != 0.0 {
            let step = F64x4::splat(simd, -self.shift);
            let near = advance::<S, 8>(simd, reference, shape, step);
            self.found = if let Some(position) = near {
                position.to_arrays()
            } else {
                solve(simd, level - self.shift, shape).to_arrays()
            };
        }
    }
}

/// Lists the tasks that meet a bound within the window, given their demand, position and shape.
#[cold]
fn list_crossings(
    bounds: &BoundArrays,
    chunk: usize,
    (demand, [success, rest, _], shape): ([f64; 4], [[f64; 4]; 3], [f64; 4]),
    decided: [f64; 4],
    expansion: &mut Expansion,
) {
    for lane in (0..4).filter(|&lane| decided[lane] == 0.0) {
        let (low, high) = bounds.range(4 * chunk + lane);
        let demand = SmoothDemand::Hill {
            demand: demand[lane],
            shape: shape[lane],
            success: success[lane],
            rest: rest[lane],
        };
        expansion.crossings.push(BoundCrossing { demand, low, high });
    }
}
