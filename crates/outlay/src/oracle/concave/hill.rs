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
use super::hill_inverse::{
    Position, Success, TILE, advance, series_change, short_change, solve, solve_tile,
};
use super::index::{BoundArrays, FamilyIndex};
use crate::curve::{Curve, Hill};
use crate::numeric::exp_log::{MIN_LN_ARG, Series, series};
use crate::numeric::simd::{F64x4, chunks4, chunks4_mut, with_simd4};
use crate::oracle::evaluation::Output;
use crate::problem::Bounds;

/// Hill tasks of a block.
#[derive(Debug, Default)]
pub(super) struct HillTasks {
    index: FamilyIndex,
    bounds: BoundArrays,
    curves: Vec<Curves>,
    /// The level at value one, `ln(height * steepness / half_at)`; the value adds its logarithm.
    base_level: Vec<f64>,
    steepness: Vec<f64>,
    log_half_at: Vec<f64>,
    /// Whether a task has no value, or nearly none, in the call that was loaded last.
    has_worthless: bool,
    /// The level in that call, and the product of value, height and steepness.
    level: Vec<f64>,
    worth: Vec<f64>,
    /// Value and position of each task at the reference multiplier.
    references: Vec<Reference>,
    /// The positions at the multiplier expanded last.
    pub(super) expanded: Vec<Success>,
}

/// The curves of four tasks. Numbers that are used together are together in memory.
#[derive(Debug, Clone, Copy)]
struct Curves {
    /// `1 / steepness - 1`.
    shape: [f64; 4],
    height: [f64; 4],
    /// The product of height and steepness.
    weight: [f64; 4],
}

impl Curves {
    /// They have no height and so demand nothing.
    const PADDING: Self = Self { shape: [1.0; 4], height: [0.0; 4], weight: [0.0; 4] };
}

/// Value and position of four tasks at the reference multiplier.
#[derive(Debug, Clone, Copy)]
struct Reference {
    value: [f64; 4],
    at: Success,
}

impl Reference {
    /// Every task is far from it.
    const NONE: Self = Self { value: [0.0; 4], at: Success::HALF };
}

/// The positions at the last trial of a search.
#[derive(Debug, Default)]
pub(super) struct HillTrial {
    pub(super) positions: Vec<Success>,
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

/// Tasks get a new reference if their level is further away than this: the logarithm of the quotient
/// of their values is accurate there.
const MAX_FOLLOWED: f64 = 0.08;

/// Half a window of multipliers is at most a quarter of this inverse: [`advance`] reaches further.
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
        self.steepness.push(steepness);
        self.log_half_at.push(half_at.ln());
        let lane = (self.index.len() - 1) % 4;
        if lane == 0 {
            self.curves.push(Curves::PADDING);
        }
        if let Some(curves) = self.curves.last_mut() {
            curves.shape[lane] = (1.0 - steepness) / steepness;
            curves.height[lane] = height;
            curves.weight[lane] = height * steepness;
        }
    }

    /// To be called after the last task.
    pub(super) fn pad(&mut self) {
        let len = self.index.padded_len();
        self.bounds.pad(len);
        self.base_level.resize(len, 0.0);
        self.steepness.resize(len, 1.0);
        self.log_half_at.resize(len, 0.0);
        self.level.resize(len, 0.0);
        self.worth.resize(len, 0.0);
        self.references.resize(len / 4, Reference::NONE);
        self.expanded.resize(len / 4, Success::HALF);
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
        let load = |numbers: &[f64; 4]| F64x4::load(simd, numbers);
        let zero = F64x4::splat(simd, 0.0);
        self.move_to(simd, log_multiplier, trial);
        let (mut spend, mut sensitivity, mut curvature) = (zero, zero, zero);
        let per_multiplier = 1.0 / multiplier;
        let bounds = chunks4(&self.bounds.low).iter().zip(chunks4(&self.bounds.high));
        let tasks = self.curves.iter().zip(chunks4(&self.worth)).zip(&trial.positions);
        for (((curves, worth), position), (low, high)) in tasks.zip(bounds) {
            let (shape, low, high) = (load(&curves.shape), load(low), load(high));
            let position = position.position(simd, shape);
            let free = position.demand(load(worth) * per_multiplier);
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

    /// Computes the positions at a multiplier, from those at the last trial if there are any.
    #[inline(always)]
    fn move_to<S: Simd>(&self, simd: S, log_multiplier: f64, trial: &mut HillTrial) {
        let (series, step) = (series(), trial.step_to(log_multiplier));
        trial.positions.resize(self.curves.len(), Success::HALF);
        if let Some(step) = step {
            let step = F64x4::splat(simd, step);
            let tasks = self.curves.iter().zip(chunks4(&self.level));
            for (position, (curves, level)) in trial.positions.iter_mut().zip(tasks) {
                let shape = F64x4::load(simd, &curves.shape);
                let from = position.position(simd, shape);
                if let Some(moved) = advance(simd, series, from, shape, step) {
                    position.store(moved);
                } else {
                    let level = F64x4::load(simd, level) - log_multiplier;
                    position.store(solve(simd, series, level, shape));
                }
            }
            return;
        }
        let tiles = self.curves.chunks(TILE).zip(chunks4(&self.level).chunks(TILE));
        for ((curves, from), positions) in tiles.zip(trial.positions.chunks_mut(TILE)) {
            let mut levels = [[0.0; 4]; TILE];
            for (level, from) in levels.iter_mut().zip(from) {
                (F64x4::load(simd, from) - log_multiplier).store(level);
            }
            let shapes = curves.iter().map(|curves| curves.shape);
            solve_tile(simd, series, &levels[..from.len()], shapes, positions);
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
        self.bounds.max_demand(|| self.level.iter().copied(), f64::NEG_INFINITY, self.has_worthless)
    }

    pub(super) fn reference_values(&self) -> impl Iterator<Item = f64> {
        self.references.iter().flat_map(|reference| reference.value).take(self.index.len())
    }
}

impl Family for HillTasks {
    type Start<'a> = [Success];

    fn index(&self) -> &FamilyIndex {
        &self.index
    }

    fn bounds(&self) -> &BoundArrays {
        &self.bounds
    }

    #[inline(always)]
    fn load<S: Simd>(&mut self, simd: S, values: &[f64]) {
        let Self { index, curves, base_level, level, worth, .. } = self;
        let reader = index.reader(values);
        let mut least = F64x4::splat(simd, f64::INFINITY);
        let loaded = chunks4_mut(level).iter_mut().zip(chunks4_mut(worth));
        let curves = curves.iter().zip(chunks4(base_level));
        for (chunk, ((level, worth), (curves, base_level))) in
            index.chunks().zip(loaded.zip(curves))
        {
            let value = reader.load(simd, chunk);
            least = least.min(value);
            (value.ln() + F64x4::load(simd, base_level)).store(level);
            (value * F64x4::load(simd, &curves.weight)).store(worth);
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
        if RESET {
            self.reset(simd, at, values, expansion);
        } else {
            self.follow(simd, at, values, expansion);
        }
        let Self { index, bounds, curves, expanded, .. } = self;
        let reader = index.reader(values);
        let (zero, one) = (F64x4::splat(simd, 0.0), F64x4::splat(simd, 1.0));
        let per_multiplier = 1.0 / at.multiplier;
        let mut sums = Moments { moments: [zero; 5], constant: zero };
        for (chunk, (curves, expanded)) in index.chunks().zip(curves.iter().zip(expanded)) {
            let value = reader.load(simd, chunk);
            let shapes = F64x4::load(simd, &curves.shape);
            let position = expanded.position(simd, shapes);
            let worth = value * F64x4::load(simd, &curves.weight);
            let free = position.demand(worth * per_multiplier);
            let (low, high) = bounds.limits::<S, BOUNDED>(simd, chunk);
            let elastic = position.elasticity(shapes);
            let share = elastic * (ELASTICITY_MARGIN * at.width);
            let (least, most) =
                (free * (zero + 1.0 - share), free * (share.mul_add(share, share) + 1.0));
            let state = WindowState::new(simd, (least, most), (low, high));
            sums.constant =
                sums.constant + state.at_high.if_gt(zero, high - low, zero) - state.inside * low;
            sums.add(position, state.inside.if_gt(zero, free, zero), elastic);
            if !state.decided.all_ge(one) {
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
        start: &[Success],
        values: &[f64],
        output: &mut Output<'_>,
    ) -> Totals {
        let Self { index, bounds, curves, base_level, .. } = self;
        let zero = F64x4::splat(simd, 0.0);
        let (per_multiplier, step) = (1.0 / at.multiplier, F64x4::splat(simd, -at.power_step));
        let (reader, series) = (index.reader(values), series());
        let mut spends = index.writer(output.spend);
        let mut successes = index.writer(output.success);
        let mut totals = RunningTotals::new(simd);
        for (chunk, (curves, start)) in index.chunks().zip(curves.iter().zip(start)) {
            let (value, shapes) = (reader.load(simd, chunk), F64x4::load(simd, &curves.shape));
            let height = F64x4::load(simd, &curves.height);
            let from = start.position(simd, shapes);
            let mut change = short_change(simd, from, step);
            if change.is_none() {
                change = series_change(simd, from, step);
            }
            // Closures would be compiled without the vector instructions.
            let position = if let Some(change) = change {
                from.moved_by(change)
            } else {
                let base_level = F64x4::load(simd, &chunks4(base_level)[chunk]);
                solve(simd, series, base_level + value.ln() - at.multiplier.ln(), shapes)
            };
            let weight = F64x4::load(simd, &curves.weight);
            let free = position.demand(value * weight * per_multiplier);
            // Where the inverse ends there is no spend that belongs to the success.
            let (success, least) = (position.success, F64x4::splat(simd, MIN_SUCCESS));
            let free = success.if_gt(least, free, zero);
            let on_slope = success.if_gt(least, height * success, zero);
            // The rate may be that before the step: it only ranks the tasks.
            let falls = free * position.elasticity(shapes);
            let bounded = bounds.apply::<S, BOUNDED>(simd, chunk, free, on_slope);
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
    moments: [F64x4<S>; 5],
    constant: F64x4<S>,
}

impl<S: Simd> Moments<S> {
    #[inline(always)]
    fn add(&mut self, at: Position<S>, demand: F64x4<S>, elasticity: F64x4<S>) {
        let Position { success, rest, rate } = at;
        // The derivative of the elasticity's logarithm, of that one's, and of that one's.
        let (bend, skew) = (at.bend(), rate * (rest - success));
        let twist = skew + (bend + bend);
        let turn = bend * (twist + twist + skew + 1.0);
        let bend_slope = bend * twist;
        let bend_curvature = bend * twist.mul_add(twist, turn);
        let (first, sum) = (demand * elasticity, elasticity + bend);
        let third = elasticity.mul_add(sum + bend, bend.mul_add(sum, bend_slope));
        // The derivative of `third`, whose terms are e² + 3 e b + b² + b'.
        let by_elasticity = (elasticity + sum + bend + bend) * bend + (bend_slope + bend_slope);
        let by_bend = (elasticity + bend + bend).mul_add(bend_slope, bend_curvature);
        let fourth = sum.mul_add(third, elasticity.mul_add(by_elasticity, by_bend));
        let [total, slope, second, cubic, quartic] = &mut self.moments;
        *total = *total + demand;
        *slope = *slope + first;
        *second = first.mul_add(sum, *second);
        *cubic = first.mul_add(third, *cubic);
        *quartic = first.mul_add(fourth, *quartic);
    }
}

impl HillTasks {
    /// Gives every task a new reference at the multiplier expanded.
    #[inline(always)]
    fn reset<S: Simd>(
        &mut self,
        simd: S,
        at: &ExpansionPoint,
        values: &[f64],
        expansion: &mut Expansion,
    ) {
        let Self { index, curves, base_level, references, expanded, .. } = self;
        let (reader, series, zero) = (index.reader(values), series(), F64x4::splat(simd, 0.0));
        let base_levels = chunks4(base_level).chunks(TILE);
        let tiles = curves.chunks(TILE).zip(base_levels).zip(references.chunks_mut(TILE));
        for (tile, (((curves, base_levels), references), expanded)) in
            (0..).step_by(TILE).zip(tiles.zip(expanded.chunks_mut(TILE)))
        {
            let mut levels = [[0.0; 4]; TILE];
            let tasks = levels.iter_mut().zip(base_levels).zip(&mut *references);
            for (chunk, ((level, base_level), reference)) in (tile..).zip(tasks) {
                let value = reader.load(simd, chunk);
                expansion.are_values_valid &= are_valid(simd, value);
                let value = value.max(zero);
                value.store(&mut reference.value);
                (F64x4::load(simd, base_level) + value.ln() - at.reference).store(level);
            }
            let shapes = curves.iter().map(|curves| curves.shape);
            solve_tile(simd, series, &levels[..curves.len()], shapes, expanded);
            let found = references.iter_mut().zip(expanded);
            found.for_each(|(reference, expanded)| reference.at = *expanded);
        }
    }

    /// Computes the positions at the multiplier expanded, from the references. Tasks that are far
    /// from theirs get new ones.
    #[inline(always)]
    fn follow<S: Simd>(
        &mut self,
        simd: S,
        at: &ExpansionPoint,
        values: &[f64],
        expansion: &mut Expansion,
    ) {
        let Self { index, curves, base_level, references, expanded, .. } = self;
        let (reader, series) = (index.reader(values), series());
        let tasks = curves.iter().zip(chunks4(base_level)).zip(references).zip(expanded);
        for (chunk, (((curves, base_level), reference), expanded)) in index.chunks().zip(tasks) {
            let value = reader.load(simd, chunk);
            let from = F64x4::load(simd, &reference.value);
            let step = series.ln_ratio(simd, value, from) - at.shift;
            let shape = F64x4::load(simd, &curves.shape);
            let from = reference.at.position(simd, shape);
            if let Some(change) = series_change(simd, from, step) {
                expanded.store(from.moved_by(change));
                continue;
            }
            let is_near = step.abs().all_le(F64x4::splat(simd, MAX_FOLLOWED));
            let moved = if is_near { advance(simd, series, from, shape, step) } else { None };
            if let Some(moved) = moved {
                expanded.store(moved);
            } else {
                expansion.are_values_valid &= are_valid(simd, value);
                let (values, shape) = (value.to_array(), &curves.shape);
                let reset = Reset { base_level, shape, values, at, series, reference, expanded };
                with_simd4(at.arch, reset);
            }
        }
    }
}

/// A new reference for four tasks, and their positions at the expanded multiplier.
struct Reset<'a> {
    base_level: &'a [f64; 4],
    shape: &'a [f64; 4],
    values: [f64; 4],
    at: &'a ExpansionPoint,
    series: &'a Series,
    reference: &'a mut Reference,
    expanded: &'a mut Success,
}

impl WithSimd for Reset<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let value = F64x4::load(simd, &self.values).max(F64x4::splat(simd, 0.0));
        let shape = F64x4::load(simd, self.shape);
        let level = F64x4::load(simd, self.base_level) + value.ln() - self.at.reference;
        let from = solve(simd, self.series, level, shape);
        value.store(&mut self.reference.value);
        self.reference.at.store(from);
        let step = F64x4::splat(simd, -self.at.shift);
        self.expanded.store(if let Some(change) = series_change(simd, from, step) {
            from.moved_by(change)
        } else {
            solve(simd, self.series, level - self.at.shift, shape)
        });
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
