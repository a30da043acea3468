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
use super::hill_inverse::{Position, TERMS, advance, series_change, solve, taylor_series};
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
    steepness: Vec<f64>,
    log_half_at: Vec<f64>,
    /// Whether a task has no value, or nearly none, in the call that was loaded last.
    has_worthless: bool,
    /// The level in that call, and the product of value, height and steepness.
    level: Vec<f64>,
    worth: Vec<f64>,
    references: Vec<Reference>,
}

/// The curves of four tasks. Numbers that are used together are together in memory.
#[derive(Debug, Clone, Copy)]
struct Curves {
    /// The level at value one, `ln(height * steepness / half_at)`; the value adds its logarithm.
    base_level: [f64; 4],
    /// `1 / steepness - 1`.
    shape: [f64; 4],
    height: [f64; 4],
    /// The product of height and steepness.
    weight: [f64; 4],
}

impl Curves {
    /// They have no height and so demand nothing.
    const PADDING: Self =
        Self { base_level: [0.0; 4], shape: [1.0; 4], height: [0.0; 4], weight: [0.0; 4] };
}

/// Value and position of four tasks at the reference multiplier, and the series around it.
#[derive(Debug, Clone, Copy)]
struct Reference {
    value: [f64; 4],
    success: [f64; 4],
    rest: [f64; 4],
    terms: [[f64; 4]; TERMS],
    max_step: [f64; 4],
    /// From the level at the reference to that at the multiplier expanded last.
    expanded_step: [f64; 4],
}

impl Reference {
    /// Every task is far from it.
    const NONE: Self = Self {
        value: [1.0; 4],
        success: [0.5; 4],
        rest: [0.5; 4],
        terms: [[0.0; 4]; TERMS],
        max_step: [-1.0; 4],
        expanded_step: [0.0; 4],
    };
}

/// The positions that an assignment steps from.
#[derive(Debug, Clone, Copy)]
pub(super) enum HillStart<'a> {
    /// Those at the last trial.
    Trial(&'a Positions),
    /// Those at the multiplier expanded last.
    Expansion,
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
        self.steepness.push(steepness);
        self.log_half_at.push(half_at.ln());
        let lane = (self.index.len() - 1) % 4;
        if lane == 0 {
            self.curves.push(Curves::PADDING);
        }
        if let Some(curves) = self.curves.last_mut() {
            curves.base_level[lane] = (height * steepness / half_at).ln();
            curves.shape[lane] = (1.0 - steepness) / steepness;
            curves.height[lane] = height;
            curves.weight[lane] = height * steepness;
        }
    }

    /// To be called after the last task.
    pub(super) fn pad(&mut self) {
        let len = self.index.padded_len();
        self.bounds.pad(len);
        self.steepness.resize(len, 1.0);
        self.log_half_at.resize(len, 0.0);
        self.level.resize(len, 0.0);
        self.worth.resize(len, 0.0);
        self.references.resize(len / 4, Reference::NONE);
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
        let (per_multiplier, series) = (1.0 / multiplier, series());
        trial.positions.resize(self.index.padded_len());
        for (chunk, curves) in self.index.chunks().zip(&self.curves) {
            let shape = F64x4::load(simd, &curves.shape);
            // Closures would be compiled without the vector instructions.
            let near = if let Some(step) = step {
                let from = trial.positions.load(simd, chunk);
                advance(simd, series, from, shape, F64x4::splat(simd, step))
            } else {
                None
            };
            let position = if let Some(position) = near {
                position
            } else {
                solve(simd, series, at_chunk(&self.level, chunk) - log_multiplier, shape)
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
        self.bounds.max_demand(|| self.level.iter().copied(), f64::NEG_INFINITY, self.has_worthless)
    }

    pub(super) fn reference_values(&self) -> impl Iterator<Item = f64> {
        self.references.iter().flat_map(|reference| reference.value).take(self.index.len())
    }
}

impl Family for HillTasks {
    type Start<'a> = HillStart<'a>;

    fn index(&self) -> &FamilyIndex {
        &self.index
    }

    fn bounds(&self) -> &BoundArrays {
        &self.bounds
    }

    #[inline(always)]
    fn load<S: Simd>(&mut self, simd: S, values: &[f64]) {
        let Self { index, curves, level, worth, .. } = self;
        let reader = index.reader(values);
        let mut least = F64x4::splat(simd, f64::INFINITY);
        let loaded = chunks4_mut(level).iter_mut().zip(chunks4_mut(worth));
        for (chunk, ((level, worth), curves)) in index.chunks().zip(loaded.zip(curves)) {
            let value = reader.load(simd, chunk);
            least = least.min(value);
            (value.ln() + F64x4::load(simd, &curves.base_level)).store(level);
            (value * F64x4::load(simd, &curves.weight)).store(worth);
        }
        self.has_worthless = !least.all_ge(F64x4::splat(simd, MIN_LN_ARG));
        if self.has_worthless {
            // Zero, or too small for the vector logarithm.
            for position in 0..self.index.len() {
                let value = values[self.index.offset(position)];
                let base_level = self.curves[position / 4].base_level[position % 4];
                self.level[position] = base_level + value.ln();
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
        let Self { index, bounds, curves, references, .. } = self;
        let (reader, series) = (index.reader(values), series());
        let (zero, one) = (F64x4::splat(simd, 0.0), F64x4::splat(simd, 1.0));
        let per_multiplier = 1.0 / at.multiplier;
        let mut sums = Moments { moments: [zero; 5], constant: zero };
        let limits = chunks4(&bounds.low).iter().zip(chunks4(&bounds.high));
        for (chunk, ((curves, reference), (low, high))) in
            index.chunks().zip(curves.iter().zip(references).zip(limits))
        {
            let value = reader.load(simd, chunk);
            let near = if RESET {
                None
            } else {
                let from = F64x4::load(simd, &reference.value);
                let step = series.ln_ratio(simd, value, from) - at.shift;
                step.store(&mut reference.expanded_step);
                reference.at(simd, step)
            };
            let (success, rest) = if let Some(near) = near {
                near
            } else {
                expansion.are_values_valid &= are_valid(simd, value);
                let (values, found) = (value.to_array(), [[0.0; 4]; 2]);
                let mut reset = Reset { curves, values, at, series, reference, found };
                with_simd4(at.arch, &mut reset);
                let [success, rest] = &reset.found;
                (F64x4::load(simd, success), F64x4::load(simd, rest))
            };
            let shapes = F64x4::load(simd, &curves.shape);
            let rate = one / (success + success + shapes);
            let position = Position { success, rest, rate };
            let worth = value * F64x4::load(simd, &curves.weight);
            let free = position.demand(worth * per_multiplier);
            let (low, high) = (F64x4::load(simd, low), F64x4::load(simd, high));
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
        start: &HillStart<'_>,
        values: &[f64],
        output: &mut Output<'_>,
    ) -> Totals {
        let Self { index, bounds, curves, references, .. } = self;
        let zero = F64x4::splat(simd, 0.0);
        let (per_multiplier, step) = (1.0 / at.multiplier, F64x4::splat(simd, -at.power_step));
        let (reader, series) = (index.reader(values), series());
        let mut spends = index.writer(output.spend);
        let mut successes = index.writer(output.success);
        let mut totals = RunningTotals::new(simd);
        for (chunk, (curves, reference)) in index.chunks().zip(curves.iter().zip(references)) {
            let (value, shapes) = (reader.load(simd, chunk), F64x4::load(simd, &curves.shape));
            let height = F64x4::load(simd, &curves.height);
            let near = match start {
                HillStart::Trial(positions) => {
                    advance(simd, series, positions.load(simd, chunk), shapes, step)
                }
                HillStart::Expansion => {
                    let step = F64x4::load(simd, &reference.expanded_step) + step;
                    reference.position(simd, shapes, step)
                }
            };
            let position = if let Some(position) = near {
                position
            } else {
                let base_level = F64x4::load(simd, &curves.base_level);
                solve(simd, series, base_level + value.ln() - at.multiplier.ln(), shapes)
            };
            let weight = F64x4::load(simd, &curves.weight);
            let free = position.demand(value * weight * per_multiplier);
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

impl Reference {
    /// Success, and one less it, where the level is larger by `step`; none if that is too far away
    /// for one of four tasks.
    #[inline(always)]
    fn at<S: Simd>(&self, simd: S, step: F64x4<S>) -> Option<(F64x4<S>, F64x4<S>)> {
        let load = |numbers: &[f64; 4]| F64x4::load(simd, numbers);
        if !step.abs().all_le(load(&self.max_step)) {
            return None;
        }
        let [p1, p2, p3, p4, p5, p6, p7] = &self.terms;
        let terms = [load(p1), load(p2), load(p3), load(p4), load(p5), load(p6), load(p7)];
        let change = series_change(terms, step);
        Some((load(&self.success) + change, load(&self.rest) - change))
    }

    /// The positions where the level is larger by `step`.
    #[inline(always)]
    fn position<S: Simd>(&self, simd: S, shape: F64x4<S>, step: F64x4<S>) -> Option<Position<S>> {
        if let Some((success, rest)) = self.at(simd, step) {
            let rate = F64x4::splat(simd, 1.0) / (success + success + shape);
            return Some(Position { success, rest, rate });
        }
        None
    }

    #[inline(always)]
    fn set<S: Simd>(&mut self, simd: S, value: F64x4<S>, position: Position<S>) {
        let (terms, max_step) = taylor_series(simd, position);
        value.store(&mut self.value);
        position.success.store(&mut self.success);
        position.rest.store(&mut self.rest);
        max_step.store(&mut self.max_step);
        for (numbers, term) in self.terms.iter_mut().zip(terms) {
            term.store(numbers);
        }
    }
}

/// A new reference for four tasks, and their success, and one less it, at the expanded multiplier.
struct Reset<'a> {
    curves: &'a Curves,
    values: [f64; 4],
    at: &'a ExpansionPoint,
    series: &'a Series,
    reference: &'a mut Reference,
    found: [[f64; 4]; 2],
}

impl WithSimd for &mut Reset<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let value = F64x4::load(simd, &self.values).max(F64x4::splat(simd, 0.0));
        let shape = F64x4::load(simd, &self.curves.shape);
        let base_level = F64x4::load(simd, &self.curves.base_level);
        let level = base_level + value.ln() - self.at.reference;
        let reference = solve(simd, self.series, level, shape);
        self.reference.set(simd, value, reference);
        let step = F64x4::splat(simd, -self.at.shift);
        step.store(&mut self.reference.expanded_step);
        let (success, rest) = if self.at.shift == 0.0 {
            (reference.success, reference.rest)
        } else if let Some(near) = self.reference.at(simd, step) {
            near
        } else {
            let found = solve(simd, self.series, level - self.at.shift, shape);
            (found.success, found.rest)
        };
        self.found = [success.to_array(), rest.to_array()];
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
