//! Straight tasks: all or nothing at the price `value * slope`, anything in between exactly there.

use super::{Places, Settled};
use crate::oracle::price::Chord;
use crate::problem::Bounds;

#[derive(Debug, Default)]
pub(super) struct RampBatch {
    pub(super) places: Places,
    /// Slope of the curve up to `full`, height included.
    slope: Vec<f64>,
    full: Vec<f64>,
    /// The price at which the task turns, in this call.
    turn: Vec<f64>,
}

impl RampBatch {
    pub(super) fn add(&mut self, task: usize, full_at: f64, height: f64, bounds: Bounds) {
        self.places.add(task, bounds, full_at);
        self.slope.push(height / full_at);
        self.full.push(full_at);
        self.turn.push(0.0);
    }

    pub(super) fn load(&mut self, values: &[f64], free: f64) {
        self.places.set_free(free);
        for ((turn, &slope), &task) in self.turn.iter_mut().zip(&self.slope).zip(&self.places.task) {
            *turn = values[task as usize] * slope;
        }
    }

    /// Adds the chords and lower bounds; returns the most that the tasks can take.
    pub(super) fn load_chords(&self, chords: &mut Vec<Chord>, settled: &mut f64) -> f64 {
        let mut reach = 0.0;
        for ((&turn, &low), &cap) in self.turn.iter().zip(&self.places.low).zip(&self.places.cap) {
            *settled += low;
            reach += low;
            if turn > 0.0 && cap > low {
                chords.push(Chord { price: turn, jump: cap - low });
                reach += cap - low;
            }
        }
        reach
    }

    pub(super) fn settle(&self, price: f64, spend: &mut [f64], settled: &mut Settled, mut tied: impl FnMut(usize, f64, f64)) {
        let bounds = self.places.task.iter().zip(&self.places.low).zip(&self.places.cap);
        for ((&turn, &full), ((&task, &low), &cap)) in self.turn.iter().zip(&self.full).zip(bounds) {
            let task = task as usize;
            let taken = if turn > price { cap } else { low };
            if turn == price && turn > 0.0 && cap > low {
                tied(task, low, cap);
            }
            spend[task] = taken;
            if taken > 0.0 {
                settled.spend.add(taken);
                settled.value.add(turn * taken.min(full));
            }
        }
    }
}
