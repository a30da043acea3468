//! Straight tasks: all or nothing at the price `value * slope`, anything in between exactly there.

use super::{BLOCK, Places, Settled, Split};
use crate::curve::Curve;
use crate::oracle::price::Chord;
use crate::problem::Bounds;

#[derive(Debug, Default)]
pub(super) struct RampBatch {
    pub(super) places: Places,
    /// Slope of the curve up to `full`, height included.
    slope: Vec<f64>,
    full: Vec<f64>,
    floor: Vec<f64>,
    /// The price at which the task turns, in this call.
    turn: Vec<f64>,
}

impl RampBatch {
    pub(super) fn add(&mut self, task: usize, full_at: f64, curve: &Curve, bounds: Bounds) {
        self.places.add(task, bounds, full_at);
        self.slope.push(curve.height() / full_at);
        self.full.push(full_at);
        self.floor.push(curve.floor());
        self.turn.push(0.0);
    }

    pub(super) fn load(&mut self, values: &[f64], free: f64) {
        self.places.set_free(free);
        for ((turn, &slope), &task) in self.turn.iter_mut().zip(&self.slope).zip(&self.places.task) {
            *turn = values[task as usize] * slope;
        }
    }

    /// The sum of the prices at which tasks turn, each counted by its room up to a given share, and how much they count.
    pub(super) fn turns(&self, share: f64) -> (f64, f64) {
        let bounds = self.places.low.iter().zip(&self.places.cap);
        let (mut turns, mut count, per_share) = (0.0, 0.0, 1.0 / share);
        for (&turn, (&low, &cap)) in self.turn.iter().zip(bounds) {
            let room = (cap - low).min(share) * per_share;
            turns += turn * room;
            count += room;
        }
        (turns, count)
    }

    /// Adds the chords; returns the most that the tasks can take above their lower bounds.
    pub(super) fn load_chords(&self, chords: &mut Vec<Chord>) -> f64 {
        // A task worth nothing has a chord at price zero, which no price is below.
        let bounds = self.places.low.iter().zip(&self.places.cap);
        chords.extend(self.turn.iter().zip(bounds).map(|(&price, (&low, &cap))| Chord { price, jump: cap - low }));
        chords.iter().map(|chord| if chord.price > 0.0 { chord.jump } else { 0.0 }).sum()
    }

    pub(super) fn settle(&self, price: f64, split: &mut Split<'_>, settled: &mut Settled, mut tied: impl FnMut(usize, f64, f64)) {
        let (mut above, mut worth) = ([0.0; BLOCK], [0.0; BLOCK]);
        for (first, tasks) in self.places.task.chunks(BLOCK).enumerate().map(|(block, tasks)| (block * BLOCK, tasks)) {
            let last = first + tasks.len();
            let bounds = self.places.low[first..last].iter().zip(&self.places.cap[first..last]);
            let shapes = self.turn[first..last].iter().zip(&self.full[first..last]);
            for (offset, ((&task, (&low, &cap)), (&turn, &full))) in tasks.iter().zip(bounds).zip(shapes).enumerate() {
                let taken = if turn > price { cap } else { low };
                if turn == price && turn > 0.0 && cap > low {
                    tied(task as usize, low, cap);
                }
                split.spend[task as usize] = taken;
                split.success[task as usize] = self.floor[first + offset] + self.slope[first + offset] * taken.min(full);
                above[offset] = taken - low;
                worth[offset] = turn * taken.min(full);
            }
            settled.above.add_all(&above[..tasks.len()]);
            settled.value.add_all(&worth[..tasks.len()]);
        }
    }
}
