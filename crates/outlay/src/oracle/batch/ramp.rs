//! Straight tasks: all or nothing at the price `value * slope`, anything in between exactly there.

use pulp::{Arch, Simd, WithSimd};

use super::{Four, FourSums, Places, Settled, Split, fours, fours_mut, gather, with_four};
use crate::curve::Curve;
use crate::oracle::multiplier::Breakpoints;
use crate::problem::Bounds;

#[derive(Debug, Default)]
pub(super) struct RampBatch {
    pub(super) places: Places,
    /// Slope of the curve up to `full`, height included.
    slope: Vec<f64>,
    full: Vec<f64>,
    floor: Vec<f64>,
    /// From the lower bound to the cap.
    room: Vec<f64>,
    /// The price at which the task turns, in this call.
    turn: Vec<f64>,
}

impl RampBatch {
    pub(super) fn add(&mut self, task: usize, full_at: f64, curve: &Curve, bounds: Bounds) {
        self.places.add(task, bounds, full_at);
        self.slope.push(curve.height() / full_at);
        self.full.push(full_at);
        self.floor.push(curve.floor());
    }

    pub(super) fn pad(&mut self) {
        let padded = self.places.pad();
        for numbers in
            [&mut self.slope, &mut self.full, &mut self.floor, &mut self.room, &mut self.turn]
        {
            numbers.resize(padded, 0.0);
        }
    }

    pub(super) fn load(&mut self, values: &[f64], free: f64) {
        if self.places.set_free(free) {
            let bounds = self.places.cap.iter().zip(&self.places.low);
            self.room.iter_mut().zip(bounds).for_each(|(room, (cap, low))| *room = cap - low);
        }
        with_four(
            Arch::new(),
            Turns { values, tasks: &self.places.task, slope: &self.slope, turn: &mut self.turn },
        );
    }

    /// The sum of the prices at which tasks turn, each counted by its room up to a given share, and
    /// how much they count.
    pub(super) fn turns(&self, share: f64) -> (f64, f64) {
        with_four(Arch::new(), TypicalTurns { turn: &self.turn, room: &self.room, share })
    }

    /// Adds the chords; returns the most that the tasks can take above their lower bounds.
    pub(super) fn load_chords(&self, chords: &mut Breakpoints) -> f64 {
        // A task worth nothing has a chord at price zero, which no price is below. So has a place
        // of no task.
        chords.extend(&self.turn, &self.room);
        chords.above_and_at(0.0).0
    }

    pub(super) fn settle(
        &self,
        price: f64,
        split: &mut Split<'_>,
        settled: &mut Settled,
        tied: impl FnMut(usize, f64, f64),
    ) {
        with_four(Arch::new(), Settle { batch: self, price, split, settled, tied });
    }
}

/// Writes the prices at which the tasks turn.
struct Turns<'a> {
    values: &'a [f64],
    tasks: &'a [u32],
    slope: &'a [f64],
    turn: &'a mut [f64],
}

impl WithSimd for Turns<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        for ((tasks, slope), turn) in
            self.tasks.chunks(4).zip(fours(self.slope)).zip(fours_mut(self.turn))
        {
            (gather(simd, self.values, tasks) * Four::load(simd, slope)).store(turn);
        }
    }
}

/// Adds up the prices at which tasks turn.
struct TypicalTurns<'a> {
    turn: &'a [f64],
    room: &'a [f64],
    share: f64,
}

impl WithSimd for TypicalTurns<'_> {
    type Output = (f64, f64);

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> (f64, f64) {
        let share = Four::splat(simd, self.share);
        let (mut turns, mut count) = (Four::splat(simd, 0.0), Four::splat(simd, 0.0));
        for (turn, room) in fours(self.turn).iter().zip(fours(self.room)) {
            let room = Four::load(simd, room).min(share);
            turns = turns + Four::load(simd, turn) * room;
            count = count + room;
        }
        (turns.total() / self.share, count.total() / self.share)
    }
}

/// Writes spend and success of all tasks, and adds up.
struct Settle<'a, 'b, T> {
    batch: &'a RampBatch,
    price: f64,
    split: &'a mut Split<'b>,
    settled: &'a mut Settled,
    tied: T,
}

impl<T: FnMut(usize, f64, f64)> WithSimd for Settle<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { batch, price, split, settled, mut tied } = self;
        let load = |numbers: &[f64; 4]| Four::load(simd, numbers);
        let (mut above, mut value) = (FourSums::new(simd), FourSums::new(simd));
        let bounds = fours(&batch.places.low).iter().zip(fours(&batch.places.cap));
        let shapes = fours(&batch.slope).iter().zip(fours(&batch.full)).zip(fours(&batch.floor));
        for (((tasks, turns), (lows, caps)), ((slope, full), floor)) in
            batch.places.task.chunks(4).zip(fours(&batch.turn)).zip(bounds).zip(shapes)
        {
            let (turn, low) = (load(turns), load(lows));
            let taken = turn.where_above(Four::splat(simd, price), load(caps), low);
            let useful = taken.min(load(full));
            above.add(taken - low);
            value.add(turn * useful);
            let (taken, success) =
                (taken.to_array(), (load(floor) + load(slope) * useful).to_array());
            for (lane, &task) in tasks.iter().enumerate() {
                let task = task as usize;
                (split.spend[task], split.success[task]) = (taken[lane], success[lane]);
                if turns[lane] == price && price > 0.0 && caps[lane] > lows[lane] {
                    tied(task, lows[lane], caps[lane]);
                }
            }
        }
        settled.above.merge(above.total());
        settled.value.merge(value.total());
    }
}
