//! A better split near a pair of prices: one on spend, one on the number of chords taken.
//!
//! At the pair that proves the bound each task has a best level. They take about the right number of chords and about the budget; a
//! few tasks are moved so that the number is right, and then two exchanges, each of one chord for another, are chosen among millions
//! so that the budget is met as closely as can be. Nothing is proved here: what is found is a split like any other.

use super::counted::Counted;
use super::stairs::{CAPACITY, Stairs, Terms, UNITS, units};

/// Another level for a coordinate.
#[derive(Debug, Clone, Copy)]
struct Move {
    coordinate: u32,
    to: u32,
    shift: i64,
    gain: f64,
    loss: f64,
}

/// A chord given up and another taken; the moves by their place in their lists.
#[derive(Debug, Clone, Copy)]
struct Exchange {
    shift: i64,
    gain: f64,
    up: u32,
    down: u32,
    /// The place of the best exchange up to this one, in the order of shifts.
    best: u32,
}

/// Buffers, kept between calls.
#[derive(Debug, Default)]
pub(super) struct Swaps {
    /// The levels of the split being made.
    pub(super) levels: Vec<u32>,
    ups: Vec<Move>,
    downs: Vec<Move>,
    first: Vec<Exchange>,
    second: Vec<Exchange>,
}

/// So many tasks may be moved to make the number right.
const MOST_MOVED: i64 = 8;
/// So many moves each way go into each of the two lists of exchanges.
const MOVES: usize = 64;
const NOTHING: u32 = u32::MAX;

impl Swaps {
    /// Makes a split within the budget; false if the prices do not lead to one.
    pub(super) fn make(&mut self, stairs: &Stairs, terms: Terms<'_>, counted: Counted) -> bool {
        let per_spend = UNITS / terms.budget;
        let (missing, mut room) = self.list_moves(stairs, terms, counted, per_spend);
        if missing.abs() > MOST_MOVED {
            return false;
        }
        let list = if missing > 0 { &mut self.ups } else { &mut self.downs };
        if list.len() < missing.unsigned_abs() as usize {
            return false;
        }
        for step in list.drain(..missing.unsigned_abs() as usize) {
            self.levels[step.coordinate as usize] = step.to;
            room -= step.shift;
        }
        list_exchanges(&self.ups, &self.downs, 0, &mut self.first);
        list_exchanges(&self.ups, &self.downs, 1, &mut self.second);
        let mut found: Option<(f64, usize, usize)> = None;
        // From the largest shift on: more and more of the first list fits.
        let mut fits = 0;
        for (other, exchange) in self.second.iter().enumerate().rev() {
            while fits < self.first.len() && self.first[fits].shift <= room - exchange.shift {
                fits += 1;
            }
            let Some(last) = fits.checked_sub(1) else { continue };
            let one = self.first[last].best as usize;
            let gain = exchange.gain + self.first[one].gain;
            if found.is_none_or(|found| gain > found.0) {
                found = Some((gain, one, other));
            }
        }
        let Some((_, one, other)) = found else { return false };
        for exchange in [self.first[one], self.second[other]] {
            let moves = [(exchange.up, &self.ups), (exchange.down, &self.downs)];
            for (place, list) in moves.into_iter().filter(|(place, _)| *place != NOTHING) {
                let step = list[place as usize];
                self.levels[step.coordinate as usize] = step.to;
            }
        }
        true
    }

    /// Writes each coordinate's best level and lists the moves that lose least; returns how many chords are missing and the room left.
    fn list_moves(&mut self, stairs: &Stairs, terms: Terms<'_>, counted: Counted, per_spend: f64) -> (i64, i64) {
        let (mut missing, mut room) = (counted.limit as i64, CAPACITY);
        self.levels.clear();
        self.ups.clear();
        self.downs.clear();
        for (coordinate, &weight) in terms.weights.iter().enumerate() {
            let best = counted.best_level(stairs, coordinate, weight);
            self.levels.push(best.level);
            missing -= i64::from(best.count);
            let from = stairs.level(best.level);
            let cost = units(from.spend, per_spend);
            room -= cost;
            counted.each_level(stairs, coordinate, weight, |other| {
                let list = match i64::from(other.count) - i64::from(best.count) {
                    1 => &mut self.ups,
                    -1 => &mut self.downs,
                    _ => return,
                };
                let to = stairs.level(other.level);
                let (shift, gain) = (units(to.spend, per_spend) - cost, weight * (to.success - from.success));
                list.push(Move { coordinate: coordinate as u32, to: other.level, shift, gain, loss: best.surplus - other.surplus });
            });
        }
        for list in [&mut self.ups, &mut self.downs] {
            let needed = 2 * MOVES + MOST_MOVED as usize;
            let order = |a: &Move, b: &Move| a.loss.total_cmp(&b.loss).then(a.coordinate.cmp(&b.coordinate)).then(a.to.cmp(&b.to));
            if list.len() > needed {
                list.select_nth_unstable_by(needed, order);
                list.truncate(needed);
            }
            list.sort_unstable_by(order);
            // One move a coordinate, the one that loses least: two would be made one after the other.
            keep_one_each(list);
        }
        (missing, room)
    }
}

fn keep_one_each(list: &mut Vec<Move>) {
    let mut kept = 0;
    for place in 0..list.len() {
        let step = list[place];
        if list[..kept].iter().all(|other| other.coordinate != step.coordinate) {
            list[kept] = step;
            kept += 1;
        }
    }
    list.truncate(kept);
}

/// Every pair of a move up and a move down from every other place of their lists, and no exchange at all, in the order of their shifts.
///
/// A task that could go either way must not be in two exchanges, nor go both ways in one: the two lists share no coordinate only if
/// up and down moves are of different coordinates; pairs of one coordinate are left out, and places are dealt out by coordinate.
fn list_exchanges(ups: &[Move], downs: &[Move], parity: u32, exchanges: &mut Vec<Exchange>) {
    exchanges.clear();
    exchanges.push(Exchange { shift: 0, gain: 0.0, up: NOTHING, down: NOTHING, best: 0 });
    let dealt = |list: &[Move], place: usize| list[place].coordinate % 2 == parity;
    for (up, rise) in ups.iter().enumerate().filter(|(place, _)| dealt(ups, *place)).take(MOVES) {
        for (down, fall) in downs.iter().enumerate().filter(|(place, _)| dealt(downs, *place)).take(MOVES) {
            if rise.coordinate != fall.coordinate {
                let (shift, gain) = (rise.shift + fall.shift, rise.gain + fall.gain);
                exchanges.push(Exchange { shift, gain, up: up as u32, down: down as u32, best: 0 });
            }
        }
    }
    exchanges.sort_unstable_by(|a, b| a.shift.cmp(&b.shift).then(a.up.cmp(&b.up)).then(a.down.cmp(&b.down)));
    let mut best = 0;
    for place in 0..exchanges.len() {
        if exchanges[place].gain > exchanges[best].gain {
            best = place;
        }
        exchanges[place].best = best as u32;
    }
}
