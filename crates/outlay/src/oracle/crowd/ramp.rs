//! Straight tasks of a block: all or nothing at the price `value * slope`, anything in between
//! exactly there.

use pulp::Simd;

use super::block::{MOST_VALUE, PART, Scan, Totals, Write};
use super::local::{Jump, Local};
use super::places::{Limits, Places};
use crate::curve::Curve;
use crate::oracle::four::{Four, FourSums, fours, fours_mut};
use crate::problem::Bounds;

/// Flat arrays, a place a task. Places of no task have no slope and no room.
#[derive(Debug, Default)]
pub(super) struct RampPart {
    pub(super) places: Places,
    /// Slope of the curve up to `full`, height included.
    slope: Vec<f64>,
    full: Vec<f64>,
    limits: Limits,
}

impl RampPart {
    pub(super) fn add(&mut self, offset: usize, full_at: f64, curve: &Curve, bounds: Bounds) {
        let slope = curve.height() / full_at;
        self.places.add(offset);
        self.slope.push(slope);
        self.full.push(full_at);
        self.limits.add(bounds, full_at, |spend| slope * spend.min(full_at));
    }

    /// To be called after the last task.
    pub(super) fn seal(&mut self, tasks_in_block: usize) {
        let padded = self.places.seal(tasks_in_block);
        self.slope.resize(padded, 0.0);
        self.full.resize(padded, 0.0);
        self.limits.pad(padded);
    }

    /// Adds up the tasks that take all they can all over the window, and lists those that turn in
    /// it.
    #[inline(always)]
    pub(super) fn scan<S: Simd>(
        &mut self,
        simd: S,
        scan: &Scan,
        block: usize,
        values: &[f64],
        wishes: &mut [f64],
        local: &mut Local,
    ) {
        let Self { places, slope, limits, .. } = self;
        let (given, _) = places.begin(values, wishes);
        let (zero, one) = (Four::splat(simd, 0.0), Four::splat(simd, 1.0));
        let (below, above) =
            (Four::splat(simd, scan.low_price), Four::splat(simd, scan.high_price));
        let most = Four::splat(simd, MOST_VALUE);
        let (mut taken, mut bad) = (zero, zero);
        let (bounds, listed) =
            (fours(&limits.low).iter().zip(fours(&limits.high)), local.jumps.len());
        for (place, ((given, slope), (low, high))) in
            fours(given).iter().zip(fours(slope)).zip(bounds).enumerate()
        {
            let value = Four::load(simd, given);
            bad = bad + value.where_at_least(zero, most.where_above(value, zero, one), one);
            let turn = value * Four::load(simd, slope);
            taken = taken
                + turn.where_above(above, Four::load(simd, high) - Four::load(simd, low), zero);
            let undecided = turn.where_above(above, zero, below.where_above(turn, zero, one));
            if !undecided.is_all_at_most(zero) {
                list(
                    limits,
                    4 * place,
                    given,
                    turn.to_array(),
                    undecided.to_array(),
                    &mut local.jumps,
                );
            }
        }
        local.constant += taken.total();
        local.are_good &= bad.total() == 0.0;
        for jump in &mut local.jumps[listed..] {
            jump.task = block + places.offset(jump.task);
        }
    }

    /// Writes the spends at the price of the call and adds up; tasks that turn exactly there take
    /// nothing yet.
    #[inline(always)]
    pub(super) fn write<S: Simd>(
        &mut self,
        simd: S,
        write: &Write,
        values: &[f64],
        spend: &mut [f64],
        totals: &mut Totals,
    ) {
        let Self { places, slope, full, limits } = self;
        let (given, made) = places.go_on(values, spend);
        let (zero, price) = (Four::splat(simd, 0.0), Four::splat(simd, write.price));
        let (mut above, mut worth) = (FourSums::new(simd), FourSums::new(simd));
        let shapes = fours(slope).chunks(PART).zip(fours(full).chunks(PART));
        let bounds = fours(&limits.low).chunks(PART).zip(fours(&limits.high).chunks(PART));
        for (((given, made), (slope, full)), (low, high)) in
            fours(given).chunks(PART).zip(fours_mut(made).chunks_mut(PART)).zip(shapes).zip(bounds)
        {
            let (mut part_above, mut part_worth) = (zero, zero);
            let shapes = slope.iter().zip(full).zip(low.iter().zip(high));
            for ((given, made), ((slope, full), (low, high))) in given.iter().zip(made).zip(shapes)
            {
                let (turn, low) =
                    (Four::load(simd, given) * Four::load(simd, slope), Four::load(simd, low));
                let taken = turn.where_above(price, Four::load(simd, high), low);
                part_above = part_above + (taken - low);
                part_worth = turn.times_plus(taken.min(Four::load(simd, full)), part_worth);
                taken.store(made);
            }
            above.add(part_above);
            worth.add(part_worth);
        }
        totals.add(above.total(), worth.total(), 0.0);
        self.places.put_back(spend);
    }

    /// Turns spends into successes above the floor.
    #[inline(always)]
    pub(super) fn rise<S: Simd>(&mut self, simd: S, values: &[f64], spends: &mut [f64]) {
        let Self { places, slope, full, .. } = self;
        let (_, made) = places.go_back(values, spends);
        for (made, (slope, full)) in
            fours_mut(made).iter_mut().zip(fours(slope).iter().zip(fours(full)))
        {
            (Four::load(simd, slope) * Four::load(simd, made).min(Four::load(simd, full)))
                .store(made);
        }
        self.places.put_back(spends);
    }
}

/// Lists the tasks that turn within the window, by their places.
#[cold]
fn list(
    limits: &Limits,
    first: usize,
    given: &[f64; 4],
    turn: [f64; 4],
    undecided: [f64; 4],
    jumps: &mut Vec<Jump>,
) {
    for lane in (0..4).filter(|&lane| undecided[lane] > 0.0) {
        let (low, high) = limits.range(first + lane);
        if high > low {
            jumps.push(Jump {
                price: turn[lane],
                value: given[lane],
                task: first + lane,
                low,
                high,
            });
        }
    }
}
