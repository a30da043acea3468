//! Which tasks of a block belong to a family, and how their numbers are read and written.

use pulp::Simd;

use crate::numeric::simd::F64x4;
use crate::problem::Bounds;

/// The positions of a family's tasks within their block. The arrays of a family are in this order
/// and padded to a multiple of four.
#[derive(Debug, Default)]
pub(super) struct FamilyIndex {
    offset: Vec<u16>,
    /// The tasks are consecutive: they can be loaded and stored as vectors.
    is_contiguous: bool,
}

impl FamilyIndex {
    pub(super) fn push(&mut self, offset: usize) {
        self.is_contiguous = self
            .offset
            .last()
            .is_none_or(|&last| self.is_contiguous && usize::from(last) + 1 == offset);
        self.offset.push(offset as u16);
    }

    pub(super) fn len(&self) -> usize {
        self.offset.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.offset.is_empty()
    }

    pub(super) fn padded_len(&self) -> usize {
        self.len().next_multiple_of(4)
    }

    /// The offset of a task in its block.
    pub(super) fn offset(&self, position: usize) -> usize {
        usize::from(self.offset[position])
    }

    /// The position of the task at an offset.
    pub(super) fn position_of(&self, offset: usize) -> Option<usize> {
        self.offset.binary_search(&(offset as u16)).ok()
    }

    /// The numbers of four tasks; one in padding lanes.
    #[inline(always)]
    pub(super) fn load<S: Simd>(&self, simd: S, numbers: &[f64], chunk: usize) -> F64x4<S> {
        let offsets = &self.offset[4 * chunk..];
        if let ([first, _, _, _, ..], true) = (offsets, self.is_contiguous) {
            if let Some(four) = numbers[usize::from(*first)..].first_chunk() {
                return F64x4::load(simd, four);
            }
        }
        let mut lanes = [1.0; 4];
        for (lane, &offset) in lanes.iter_mut().zip(offsets) {
            *lane = numbers[usize::from(offset)];
        }
        F64x4::load(simd, &lanes)
    }

    /// Writes one number to each of four tasks.
    #[inline(always)]
    pub(super) fn store<S: Simd>(&self, four: F64x4<S>, numbers: &mut [f64], chunk: usize) {
        let offsets = &self.offset[4 * chunk..];
        if let ([first, _, _, _, ..], true) = (offsets, self.is_contiguous) {
            if let Some(to) = numbers[usize::from(*first)..].first_chunk_mut() {
                return four.store(to);
            }
        }
        for (lane, &offset) in four.to_array().into_iter().zip(offsets) {
            numbers[usize::from(offset)] = lane;
        }
    }
}

/// The bounds of a family's tasks and their success there, above the floor of the curve.
#[derive(Debug, Default)]
pub(super) struct BoundArrays {
    pub(super) low: Vec<f64>,
    /// The least spend at which more is forbidden or useless.
    pub(super) high: Vec<f64>,
    pub(super) success_at_low: Vec<f64>,
    pub(super) success_at_high: Vec<f64>,
    /// What all tasks can take above their lower bounds.
    pub(super) capacity: f64,
}

impl BoundArrays {
    /// `saturates_at` is where the curve becomes flat, `success` the curve above its floor.
    pub(super) fn push(&mut self, bounds: Bounds, saturates_at: f64, success: impl Fn(f64) -> f64) {
        let high = bounds.max.min(saturates_at).max(bounds.min);
        self.low.push(bounds.min);
        self.high.push(high);
        self.success_at_low.push(success(bounds.min));
        self.success_at_high.push(success(high));
        self.capacity += high - bounds.min;
    }

    /// Padding lanes can take nothing but zero.
    pub(super) fn pad(&mut self, len: usize) {
        let Self { low, high, success_at_low, success_at_high, .. } = self;
        for numbers in [low, high, success_at_low, success_at_high] {
            numbers.resize(len, 0.0);
        }
    }

    /// What the tasks with a finite level can take above their lower bounds.
    pub(super) fn capacity_at(&self, level: &[f64]) -> f64 {
        let capacities = self.high.iter().zip(&self.low).map(|(high, low)| high - low);
        capacities.zip(level).filter(|(_, level)| **level > f64::NEG_INFINITY).map(|(c, _)| c).sum()
    }

    pub(super) fn range(&self, position: usize) -> (f64, f64) {
        (self.low[position], self.high[position])
    }

    /// The least upper bound.
    pub(super) fn min_high(&self, tasks: usize) -> f64 {
        self.high[..tasks].iter().copied().fold(f64::INFINITY, f64::min)
    }
}
