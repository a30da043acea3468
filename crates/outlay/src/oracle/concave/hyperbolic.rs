//! Hill curves with steepness one, `x / (x + half_at)`: demand is a power of the multiplier with
//! elasticity one half, less `half_at`.

use pulp::Simd;

use super::expansion::{BoundCrossing, Expansion, SmoothDemand};
use super::family::{
    AssignmentPoint, CurvedDemand, ExpansionPoint, Family, RunningTotals, Totals, WindowState,
    are_valid,
};
use super::index::{BoundArrays, FamilyIndex};
use crate::curve::{Curve, Hill};
use crate::numeric::simd::{F64x4, chunks4, chunks4_mut};
use crate::oracle::evaluation::Output;
use crate::problem::Bounds;

/// Hyperbolic tasks of a block. The *reach* of a task is the sum of its demand and `half_at`.
#[derive(Debug, Default)]
pub(super) struct HyperbolicTasks {
    index: FamilyIndex,
    bounds: BoundArrays,
    half_at: Vec<f64>,
    height: Vec<f64>,
    /// Whether a task has no value in the call that was loaded last.
    has_worthless: bool,
    /// The square of the reach in that call, at multiplier one.
    square: Vec<f64>,
}

/// The first trial as a share of the mean multiplier, from the benchmarks.
const SHARE_OF_MEAN: f64 = 0.96;

impl HyperbolicTasks {
    pub(super) fn new(start: usize) -> Self {
        Self { index: FamilyIndex::new(start), ..Self::default() }
    }

    pub(super) fn push(&mut self, offset: usize, hill: &Hill, curve: &Curve, bounds: Bounds) {
        let height = curve.height();
        self.index.push(offset);
        self.bounds.push(bounds, f64::INFINITY, |spend| height * hill.success(spend));
        self.half_at.push(hill.half_at());
        self.height.push(height);
    }

    /// To be called after the last task. Padding lanes have no height and so demand nothing.
    pub(super) fn pad(&mut self) {
        let len = self.index.padded_len();
        self.bounds.pad(len);
        self.half_at.resize(len, 1.0);
        self.height.resize(len, 0.0);
        self.square.resize(len, 0.0);
    }

    /// Demand at a multiplier in the loaded call.
    #[inline(always)]
    pub(super) fn trial<S: Simd>(&self, simd: S, multiplier: f64) -> CurvedDemand {
        let load = |numbers: &[f64; 4]| F64x4::load(simd, numbers);
        let per_multiplier = 1.0 / multiplier;
        let (mut spend, mut inside) = (F64x4::splat(simd, 0.0), F64x4::splat(simd, 0.0));
        let curves = chunks4(&self.square).iter().zip(chunks4(&self.half_at));
        let bounds = chunks4(&self.bounds.low).iter().zip(chunks4(&self.bounds.high));
        for ((square, half_at), (low, high)) in curves.zip(bounds) {
            let (low, high) = (load(low), load(high));
            let reach = (load(square) * per_multiplier).sqrt();
            let free = reach - load(half_at);
            spend = spend + (free.max(low).min(high) - low);
            inside = inside + free.if_between(low, high, reach);
        }
        let reach = inside.total();
        CurvedDemand { spend: spend.total(), sensitivity: 0.5 * reach, curvature: 0.25 * reach }
    }

    /// The sum of the multipliers at which each task would take a given share, times
    /// [`SHARE_OF_MEAN`].
    #[inline(always)]
    pub(super) fn multipliers_at<S: Simd>(&self, simd: S, share: f64) -> f64 {
        let mut sum = F64x4::splat(simd, 0.0);
        for (square, half_at) in chunks4(&self.square).iter().zip(chunks4(&self.half_at)) {
            let reach = F64x4::load(simd, half_at) + share;
            sum = sum + F64x4::load(simd, square) / (reach * reach);
        }
        SHARE_OF_MEAN * sum.total()
    }

    /// What the tasks with a positive value can take above their lower bounds.
    pub(super) fn max_demand(&self) -> f64 {
        self.bounds.max_demand(|| self.square.iter().copied(), 0.0, self.has_worthless)
    }
}

impl Family for HyperbolicTasks {
    type Start<'a> = ();

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
        let curves = chunks4(&self.half_at).iter().zip(chunks4(&self.height));
        for (chunk, (square, (half_at, height))) in
            self.index.chunks().zip(chunks4_mut(&mut self.square).iter_mut().zip(curves))
        {
            let (value, half_at) = (reader.load(simd, chunk), F64x4::load(simd, half_at));
            least = least.min(value);
            (value * (half_at * F64x4::load(simd, height))).store(square);
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
        let Self { index, bounds, half_at, height, .. } = self;
        let (zero, one) = (F64x4::splat(simd, 0.0), F64x4::splat(simd, 1.0));
        let per_multiplier = 1.0 / at.multiplier;
        let reader = index.reader(values);
        let (mut reaches, mut constant) = (zero, zero);
        let curves = chunks4(half_at).iter().zip(chunks4(height));
        for (chunk, (halves, height)) in index.chunks().zip(curves) {
            let value = reader.load(simd, chunk);
            expansion.are_values_valid &= are_valid(simd, value);
            let half_at = F64x4::load(simd, halves);
            let reach = (value * (half_at * F64x4::load(simd, height)) * per_multiplier).sqrt();
            let (low, high) = bounds.limits::<S, BOUNDED>(simd, chunk);
            let (free, margin) = (reach - half_at, reach * at.width);
            let state = WindowState::new(simd, (free - margin, free + margin), (low, high));
            let at_high = state.at_high.if_gt(zero, high - low, zero);
            reaches = reaches + state.inside.if_gt(zero, reach, zero);
            constant = constant + at_high - state.inside * (half_at + low);
            if !state.decided.all_ge(one) {
                let (reach, decided) = (reach.to_array(), state.decided.to_array());
                list_crossings(bounds, chunk, reach, halves, decided, expansion);
            }
        }
        let mut moment = reaches.total();
        for sum in &mut expansion.moments {
            *sum += moment;
            moment *= 0.5;
        }
        expansion.constant += constant.total();
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
        let Self { index, bounds, half_at, height, .. } = self;
        let zero = F64x4::splat(simd, 0.0);
        let per_multiplier = 1.0 / at.multiplier;
        let reader = index.reader(values);
        let mut spends = index.writer(output.spend);
        let mut successes = index.writer(output.success);
        let mut totals = RunningTotals::new(simd);
        let curves = chunks4(half_at).iter().zip(chunks4(height));
        for (chunk, (half_at, height)) in index.chunks().zip(curves) {
            let value = reader.load(simd, chunk);
            let (half_at, height) = (F64x4::load(simd, half_at), F64x4::load(simd, height));
            let reach = (value * (half_at * height) * per_multiplier).sqrt();
            let free = reach - half_at;
            // From the spend, so that the two agree although the difference cancels.
            let bounded = bounds.apply::<S, BOUNDED>(simd, chunk, free, height * (free / reach));
            let falls = (reach * 0.5).min(free);
            totals.add(simd, chunk, bounded.above, value * bounded.success);
            totals.offer(simd, chunk, free, bounded.inside.if_gt(zero, falls, zero));
            spends.store(bounded.spend, chunk);
            successes.store(bounded.success, chunk);
        }
        totals.finish(simd, index, bounds)
    }
}

/// Lists the tasks that meet a bound within the window.
#[cold]
fn list_crossings(
    bounds: &BoundArrays,
    chunk: usize,
    reach: [f64; 4],
    half_at: &[f64; 4],
    decided: [f64; 4],
    expansion: &mut Expansion,
) {
    for lane in (0..4).filter(|&lane| decided[lane] == 0.0) {
        let (low, high) = bounds.range(4 * chunk + lane);
        let demand = SmoothDemand::Hyperbolic { reach: reach[lane], half_at: half_at[lane] };
        expansion.crossings.push(BoundCrossing { demand, low, high });
    }
}
