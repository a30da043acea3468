//! Which tasks of a block belong to a family, and how their numbers are read and written.

use std::ops::Range;

use pulp::Simd;

use crate::numeric::simd::{F64x4, chunks4};
use crate::problem::Bounds;

/// The positions of a family's tasks within their block. The arrays of a family are in this order
/// and padded to a multiple of four.
#[derive(Debug, Default)]
pub(super) struct FamilyIndex {
    /// The first task of the block.
    start: usize,
    offset: Vec<u16>,
    /// The tasks are consecutive: they can be loaded and stored as vectors.
    is_contiguous: bool,
}

impl FamilyIndex {
    pub(super) fn new(start: usize) -> Self {
        Self { start, ..Self::default() }
    }

    pub(super) fn push(&mut self, offset: usize) {
        let follows = |&last: &u16| self.is_contiguous && usize::from(last) + 1 == offset;
        self.is_contiguous = self.offset.last().is_none_or(follows);
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

    /// The numbers of the chunks of four. `enumerate` would check its count in every step.
    pub(super) fn chunks(&self) -> Range<usize> {
        0..self.len().div_ceil(4)
    }

    /// The offset of a task in its block.
    pub(super) fn offset(&self, position: usize) -> usize {
        usize::from(self.offset[position])
    }

    /// The task at a position.
    pub(super) fn task(&self, position: usize) -> usize {
        self.start + self.offset(position)
    }

    /// The offset of the first task if all are consecutive.
    fn contiguous_from(&self) -> Option<usize> {
        self.offset.first().filter(|_| self.is_contiguous).map(|&first| usize::from(first))
    }

    /// Reads the tasks' numbers from those of the block.
    #[inline(always)]
    pub(super) fn reader<'a>(&'a self, numbers: &'a [f64]) -> Reader<'a> {
        match self.contiguous_from() {
            Some(first) => {
                let (vectors, tail) = numbers[first..first + self.len()].as_chunks();
                Reader { vectors, tail, offset: &[], numbers }
            }
            None => Reader { vectors: &[], tail: &[], offset: &self.offset, numbers },
        }
    }

    /// Writes the tasks' numbers to those of the block.
    #[inline(always)]
    pub(super) fn writer<'a>(&'a self, numbers: &'a mut [f64]) -> Writer<'a> {
        match self.contiguous_from() {
            Some(first) => {
                let (vectors, tail) = numbers[first..first + self.len()].as_chunks_mut();
                Writer { vectors, rest: tail, offset: &[] }
            }
            None => Writer { vectors: &mut [], rest: numbers, offset: &self.offset },
        }
    }
}

/// Reads numbers of a family's tasks, four at a time.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a> {
    /// The numbers of consecutive tasks, and the last one to three of them.
    vectors: &'a [[f64; 4]],
    tail: &'a [f64],
    /// The offsets of other tasks, and the numbers of the block.
    offset: &'a [u16],
    numbers: &'a [f64],
}

impl Reader<'_> {
    /// The numbers of four tasks; one in padding lanes.
    #[inline(always)]
    pub(super) fn load<S: Simd>(&self, simd: S, chunk: usize) -> F64x4<S> {
        if let Some(four) = self.vectors.get(chunk) {
            return F64x4::load(simd, four);
        }
        if self.offset.is_empty() {
            let padding = &PADDING[self.tail.len() % 4];
            return F64x4::load_partial(simd, self.tail) + F64x4::load(simd, padding);
        }
        let mut lanes = [1.0; 4];
        for (lane, &offset) in lanes.iter_mut().zip(&self.offset[4 * chunk..]) {
            *lane = self.numbers[usize::from(offset)];
        }
        F64x4::load(simd, &lanes)
    }
}

/// One in each padding lane, by the number of tasks in the last chunk.
const PADDING: [[f64; 4]; 4] =
    [[0.0; 4], [0.0, 1.0, 1.0, 1.0], [0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 0.0, 1.0]];

/// Writes numbers of a family's tasks, four at a time.
pub(super) struct Writer<'a> {
    /// The numbers of consecutive tasks.
    vectors: &'a mut [[f64; 4]],
    /// The last one to three of them; or the numbers of the block, with the offsets of the tasks.
    rest: &'a mut [f64],
    offset: &'a [u16],
}

impl Writer<'_> {
    #[inline(always)]
    pub(super) fn store<S: Simd>(&mut self, four: F64x4<S>, chunk: usize) {
        if let Some(to) = self.vectors.get_mut(chunk) {
            return four.store(to);
        }
        if self.offset.is_empty() {
            return four.store_partial(self.rest);
        }
        for (lane, &offset) in four.to_array().into_iter().zip(&self.offset[4 * chunk..]) {
            self.rest[usize::from(offset)] = lane;
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
    capacity: f64,
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

    /// What the tasks with a level above that of worthless ones can take above their lower bounds.
    pub(super) fn max_demand<Levels: IntoIterator<Item = f64>>(
        &self,
        levels: impl FnOnce() -> Levels,
        worthless: f64,
        has_worthless: bool,
    ) -> f64 {
        if !has_worthless {
            return self.capacity;
        }
        let capacities = self.high.iter().zip(&self.low).map(|(high, low)| high - low);
        capacities.zip(levels()).filter(|(_, level)| *level > worthless).map(|(c, _)| c).sum()
    }

    /// The bounds of four tasks; without bounds a demand still stops at zero.
    #[inline(always)]
    pub(super) fn limits<S: Simd, const BOUNDED: bool>(
        &self,
        simd: S,
        chunk: usize,
    ) -> (F64x4<S>, F64x4<S>) {
        if BOUNDED {
            let at_chunk = |numbers: &[f64]| F64x4::load(simd, &chunks4(numbers)[chunk]);
            (at_chunk(&self.low), at_chunk(&self.high))
        } else {
            (F64x4::splat(simd, 0.0), F64x4::splat(simd, f64::INFINITY))
        }
    }

    /// Four demands within their bounds; `on_slope` is their success before bounds.
    #[inline(always)]
    pub(super) fn apply<S: Simd, const BOUNDED: bool>(
        &self,
        simd: S,
        chunk: usize,
        demand: F64x4<S>,
        on_slope: F64x4<S>,
    ) -> Bounded<S> {
        let (zero, one) = (F64x4::splat(simd, 0.0), F64x4::splat(simd, 1.0));
        let at_chunk = |numbers: &[f64]| F64x4::load(simd, &chunks4(numbers)[chunk]);
        let (low, high) = self.limits::<S, BOUNDED>(simd, chunk);
        let at_bound = if BOUNDED {
            demand.if_gt(low, at_chunk(&self.success_at_high), at_chunk(&self.success_at_low))
        } else {
            zero
        };
        let inside = demand.if_between(low, high, one);
        let spend = demand.max(low).min(high);
        Bounded {
            spend,
            above: spend - low,
            success: inside.if_gt(zero, on_slope, at_bound),
            inside,
        }
    }

    pub(super) fn range(&self, position: usize) -> (f64, f64) {
        (self.low[position], self.high[position])
    }

    /// The least upper bound.
    pub(super) fn min_high(&self, tasks: usize) -> f64 {
        self.high[..tasks].iter().copied().fold(f64::INFINITY, f64::min)
    }
}

/// Four demands within their bounds.
#[derive(Clone, Copy)]
pub(super) struct Bounded<S: Simd> {
    pub(super) spend: F64x4<S>,
    /// Spend above the lower bound.
    pub(super) above: F64x4<S>,
    pub(super) success: F64x4<S>,
    /// One for a task strictly between its bounds, else zero.
    pub(super) inside: F64x4<S>,
}
