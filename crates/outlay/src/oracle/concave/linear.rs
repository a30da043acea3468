//! Linear curves: all or nothing at the threshold multiplier `value * slope`, anything exactly
//! there.

use pulp::Simd;

use super::expansion::{Expansion, LinearTask};
use super::family::{AssignmentPoint, ExpansionPoint, Family, RunningTotals, Totals, are_valid};
use super::index::{BoundArrays, FamilyIndex};
use crate::curve::Curve;
use crate::numeric::exp_log::exp_near_zero;
use crate::numeric::simd::{F64x4, chunks4, chunks4_mut};
use crate::oracle::evaluation::Output;
use crate::problem::Bounds;

/// Linear tasks of a block: saturating lines, and power curves with exponent one.
#[derive(Debug, Default)]
pub(super) struct LinearTasks {
    index: FamilyIndex,
    bounds: BoundArrays,
    /// The slope of the curve up to `saturates_at`, height included.
    slope: Vec<f64>,
    saturates_at: Vec<f64>,
    /// The threshold multiplier in the call that was loaded last, and what the task can take above
    /// its lower bound there.
    pub(super) threshold: Vec<f64>,
    pub(super) capacity: Vec<f64>,
}

impl LinearTasks {
    pub(super) fn new(start: usize) -> Self {
        Self { index: FamilyIndex::new(start), ..Self::default() }
    }

    pub(super) fn push(&mut self, offset: usize, saturates_at: f64, curve: &Curve, bounds: Bounds) {
        let slope = curve.height() / saturates_at;
        self.index.push(offset);
        self.bounds.push(bounds, saturates_at, |spend| slope * spend.min(saturates_at));
        self.slope.push(slope);
        self.saturates_at.push(saturates_at);
    }

    /// To be called after the last task. Padding lanes have threshold and capacity zero.
    pub(super) fn pad(&mut self) {
        let len = self.index.padded_len();
        self.bounds.pad(len);
        let Self { slope, saturates_at, threshold, capacity, .. } = self;
        for numbers in [slope, saturates_at, threshold, capacity] {
            numbers.resize(len, 0.0);
        }
    }

    /// Limits what a task can take to what is free.
    pub(super) fn set_free(&mut self, free: f64) {
        let bounds = self.bounds.high.iter().zip(&self.bounds.low);
        for (capacity, (high, low)) in self.capacity.iter_mut().zip(bounds) {
            *capacity = (high - low).min(free);
        }
    }

    /// The sum of the thresholds, each weighted by its capacity up to a given share, and the sum of
    /// the weights.
    #[inline(always)]
    pub(super) fn weighted_thresholds<S: Simd>(&self, simd: S, share: f64) -> (f64, f64) {
        let limit = F64x4::splat(simd, share);
        let (mut thresholds, mut weights) = (F64x4::splat(simd, 0.0), F64x4::splat(simd, 0.0));
        for (threshold, capacity) in chunks4(&self.threshold).iter().zip(chunks4(&self.capacity)) {
            let weight = F64x4::load(simd, capacity).min(limit);
            thresholds = thresholds + F64x4::load(simd, threshold) * weight;
            weights = weights + weight;
        }
        (thresholds.total() / share, weights.total() / share)
    }

    /// Calls `tie` with each task whose threshold is the multiplier, and its bounds.
    pub(super) fn each_tie(&self, multiplier: f64, tie: &mut impl FnMut(usize, f64, f64)) {
        for position in 0..self.index.len() {
            let (low, high) = self.bounds.range(position);
            if self.threshold[position] == multiplier && high > low {
                tie(self.index.task(position), low, high);
            }
        }
    }
}

impl Family for LinearTasks {
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
        for (chunk, (threshold, slope)) in self
            .index
            .chunks()
            .zip(chunks4_mut(&mut self.threshold).iter_mut().zip(chunks4(&self.slope)))
        {
            let value = reader.load(simd, chunk);
            (value * F64x4::load(simd, slope)).store(threshold);
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
        let (zero, one) = (F64x4::splat(simd, 0.0), F64x4::splat(simd, 1.0));
        let half_width = exp_near_zero(at.width);
        let below = F64x4::splat(simd, at.multiplier / half_width);
        let above = F64x4::splat(simd, at.multiplier * half_width);
        let reader = self.index.reader(values);
        let mut taken = zero;
        let bounds = chunks4(&self.bounds.low).iter().zip(chunks4(&self.bounds.high));
        for (chunk, (slope, (low, high))) in
            self.index.chunks().zip(chunks4(&self.slope).iter().zip(bounds))
        {
            let value = reader.load(simd, chunk);
            expansion.are_values_valid &= are_valid(simd, value);
            let threshold = value * F64x4::load(simd, slope);
            let capacity = F64x4::load(simd, high) - F64x4::load(simd, low);
            taken = taken + threshold.if_gt(above, capacity, zero);
            let undecided = threshold.if_gt(above, zero, below.if_gt(threshold, zero, one));
            if !undecided.all_le(zero) {
                let (value, undecided) = (value.to_array(), undecided.to_array());
                self.list_undecided(chunk, value, threshold.to_array(), undecided, expansion);
            }
        }
        expansion.constant += taken.total();
    }

    #[inline(always)]
    fn assign<S: Simd, const BOUNDED: bool>(
        &self,
        simd: S,
        at: &AssignmentPoint,
        _demand: &[f64],
        values: &[f64],
        output: &mut Output<'_>,
    ) -> Totals {
        let multiplier = F64x4::splat(simd, at.multiplier);
        let reader = self.index.reader(values);
        let mut spends = self.index.writer(output.spend);
        let mut successes = self.index.writer(output.success);
        let mut totals = RunningTotals::new(simd);
        let bounds = chunks4(&self.bounds.low).iter().zip(chunks4(&self.bounds.high));
        let curves = chunks4(&self.slope).iter().zip(chunks4(&self.saturates_at));
        for (chunk, ((slope, saturates_at), (low, high))) in
            self.index.chunks().zip(curves.zip(bounds))
        {
            let value = reader.load(simd, chunk);
            let (slope, low) = (F64x4::load(simd, slope), F64x4::load(simd, low));
            let threshold = value * slope;
            let high = F64x4::load(simd, high).min(low + at.free);
            let spend = threshold.if_gt(multiplier, high, low);
            let useful = spend.min(F64x4::load(simd, saturates_at));
            totals.add(simd, chunk, spend - low, threshold * useful);
            spends.store(spend, chunk);
            successes.store(slope * useful, chunk);
        }
        totals.finish(simd, &self.index, &self.bounds)
    }
}

impl LinearTasks {
    /// Lists the tasks whose threshold is within the window.
    #[cold]
    fn list_undecided(
        &self,
        chunk: usize,
        value: [f64; 4],
        threshold: [f64; 4],
        undecided: [f64; 4],
        expansion: &mut Expansion,
    ) {
        for lane in (0..4).filter(|&lane| undecided[lane] > 0.0) {
            let position = 4 * chunk + lane;
            let (low, high) = self.bounds.range(position);
            if high > low {
                expansion.linear.push(LinearTask {
                    threshold: threshold[lane],
                    value: value[lane],
                    task: self.index.task(position),
                    low,
                    high,
                });
            }
        }
    }
}
