//! Where the tasks of one family stand within a block.

use crate::problem::Bounds;

/// The offsets of one family's tasks in a block. Arrays of the family are in this order and filled
/// up to a multiple of four.
#[derive(Debug, Default)]
pub(super) struct Places {
    offset: Vec<u16>,
    /// The family has every task of the block, and no places are filled up: place and offset are
    /// the same.
    is_whole: bool,
    given: Vec<f64>,
    made: Vec<f64>,
}

impl Places {
    pub(super) fn add(&mut self, offset: usize) {
        self.offset.push(offset as u16);
    }

    /// To be called after the last task; returns how many places there are, with those of no task.
    pub(super) fn seal(&mut self, tasks_in_block: usize) -> usize {
        let padded = self.offset.len().next_multiple_of(4);
        self.is_whole = self.offset.len() == tasks_in_block && padded == tasks_in_block;
        let scratch = if self.is_whole { 0 } else { padded };
        // A value of one in the places of no task, and a wish of zero.
        self.given.resize(scratch, 1.0);
        self.made.resize(scratch, 0.0);
        padded
    }

    pub(super) fn len(&self) -> usize {
        self.offset.len()
    }

    /// In the order of the places.
    pub(super) fn offsets(&self) -> &[u16] {
        &self.offset
    }

    pub(super) fn offset(&self, place: usize) -> usize {
        self.offset[place] as usize
    }

    /// Where in the family the task at an offset is.
    pub(super) fn place_of(&self, offset: usize) -> Option<usize> {
        if self.is_whole {
            return (offset < self.offset.len()).then_some(offset);
        }
        self.offset.binary_search(&(offset as u16)).ok()
    }

    /// Puts numbers in the order of the places where they belong.
    pub(super) fn scatter(&self, ordered: &[f64], numbers: &mut [f64]) {
        for (number, &offset) in ordered.iter().zip(&self.offset) {
            numbers[offset as usize] = *number;
        }
    }

    /// The values of a call in the order of the places, and room for a number each: the tasks' own
    /// places if they are in order, or room that is kept until [`Places::put_back`].
    #[inline(always)]
    pub(super) fn begin<'a>(
        &'a mut self,
        values: &'a [f64],
        numbers: &'a mut [f64],
    ) -> (&'a [f64], &'a mut [f64]) {
        if self.is_whole {
            return (values, numbers);
        }
        for (given, &offset) in self.given.iter_mut().zip(&self.offset) {
            *given = values[offset as usize];
        }
        (&self.given, &mut self.made)
    }

    /// The same later in the same call, with what the numbers have become.
    #[inline(always)]
    pub(super) fn go_on<'a>(
        &'a mut self,
        values: &'a [f64],
        numbers: &'a mut [f64],
    ) -> (&'a [f64], &'a mut [f64]) {
        if self.is_whole { (values, numbers) } else { (&self.given, &mut self.made) }
    }

    /// The same for numbers that may have been changed elsewhere.
    #[inline(always)]
    pub(super) fn go_back<'a>(
        &'a mut self,
        values: &'a [f64],
        numbers: &'a mut [f64],
    ) -> (&'a [f64], &'a mut [f64]) {
        if self.is_whole {
            return (values, numbers);
        }
        for (made, &offset) in self.made.iter_mut().zip(&self.offset) {
            *made = numbers[offset as usize];
        }
        (&self.given, &mut self.made)
    }

    /// Puts the numbers where they belong.
    #[inline(always)]
    pub(super) fn put_back(&self, numbers: &mut [f64]) {
        if !self.is_whole {
            self.scatter(&self.made, numbers);
        }
    }
}

/// What each task may be given, and its success there above the floor: in flat arrays.
#[derive(Debug, Default)]
pub(super) struct Limits {
    pub(super) low: Vec<f64>,
    /// Where more spend is forbidden or useless.
    pub(super) high: Vec<f64>,
    pub(super) at_low: Vec<f64>,
    pub(super) at_high: Vec<f64>,
}

impl Limits {
    /// `success` is the curve's rise above its floor.
    pub(super) fn add(&mut self, bounds: Bounds, useful: f64, success: impl Fn(f64) -> f64) {
        let high = bounds.max.min(useful).max(bounds.min);
        self.low.push(bounds.min);
        self.high.push(high);
        self.at_low.push(success(bounds.min));
        self.at_high.push(success(high));
    }

    /// Places of no task may take nothing but zero.
    pub(super) fn pad(&mut self, padded: usize) {
        for numbers in [&mut self.low, &mut self.high, &mut self.at_low, &mut self.at_high] {
            numbers.resize(padded, 0.0);
        }
    }

    /// The bounds of one task.
    pub(super) fn range(&self, place: usize) -> (f64, f64) {
        (self.low[place], self.high[place])
    }
}
