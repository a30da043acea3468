//! Thousands to millions of concave tasks at once, as bidders have them in every round.
//!
//! An *anchor* holds, for every task, a value and what the task wishes at one price, worked out in
//! full. A call near it needs two passes of short polynomials. The *scan* writes each wish at the
//! last price for the new values, and adds up how the total goes on around that price ([`Local`]);
//! the price at which the budget is met follows from the sums to the last digits. The *write* moves
//! the wishes there and adds up spend and value. A task that has gone too far from its anchor gets
//! a new one on the way.
//!
//! Tasks are kept in blocks, each with flat arrays of its own: a block's values and spends stay in
//! the nearest cache while its families are worked through, sums over a block do not depend on the
//! others, and blocks are added up in their order. So any number of threads gives the same bits. A
//! call that this does not fit is left to the general search.

mod block;
mod exponential;
pub(super) mod local;
mod places;
mod power;
mod ramp;
mod series;
#[cfg(test)]
mod tests;
mod workers;

use std::num::NonZeroUsize;

use pulp::Arch;
use serde::{Deserialize, Serialize};

use super::Found;
use super::close::exp;
use super::four::{TINY, with_four};
use super::prepared::PreparedProblem;
use super::tolerances::BOUND_ROUNDING as ROUNDING;
use crate::curve::Curve;
use crate::numeric::compensated::sum;
use block::{BLOCK, Block, MOST_VALUE, RiseBlock, Scan, ScanBlock, Totals, Write, WriteBlock};
use local::{Local, Root};
use series::{MEDIUM, Series};
use workers::Workers;

/// The tasks, block by block, and the anchor.
#[derive(Debug)]
pub(super) struct Crowd {
    arch: Arch,
    workers: Workers,
    series: Series,
    tasks: usize,
    blocks: Vec<Block>,
    /// All blocks' sums.
    local: Local,
    min_total: f64,
    has_lows: bool,
    least_high: f64,
    most_elastic: f64,
    /// The anchor's price, and that of the last call here.
    anchor: Option<Price>,
    last: Price,
    /// How far to both sides of the last price the next one is looked for.
    width: f64,
    /// A task that can take a remainder, once it was looked for.
    softest: Option<usize>,
    /// Whether some task was full in the last call: bounds are then looked at from the start.
    was_full: bool,
    /// So many calls are not tried, after one that did not fit; twice as many after the next.
    pause: u32,
    next_pause: u32,
}

/// What is remembered between calls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Warmth {
    anchor: Option<AnchorWarmth>,
    pause: u32,
    next_pause: u32,
}

/// An anchor, and where the last call near it ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct AnchorWarmth {
    log_price: f64,
    /// The values that each task's anchor was made for.
    values: Vec<f64>,
    last_log_price: f64,
    last_price: f64,
    width: f64,
    softest: Option<usize>,
    was_full: bool,
}

/// A price and its logarithm.
#[derive(Debug, Clone, Copy, Default)]
struct Price {
    log: f64,
    price: f64,
}

/// What is asked, and where the answer goes.
struct Call<'a> {
    values: &'a [f64],
    budget: f64,
    spend: &'a mut [f64],
}

/// The logarithm of the price sought is between these two.
#[derive(Debug, Clone, Copy)]
struct Bracket {
    below: f64,
    above: f64,
}

impl Bracket {
    const ALL: Self = Self { below: f64::NEG_INFINITY, above: f64::INFINITY };

    /// The price is not in a window, but above or below it.
    fn leave(&mut self, log: f64, width: f64, is_above: bool) {
        if is_above {
            self.below = self.below.max(log + width);
        } else {
            self.above = self.above.min(log - width);
        }
    }

    /// A place within the bracket: the one asked for, or half-way.
    fn limited(self, log: f64) -> f64 {
        if log > self.below && log < self.above {
            log
        } else {
            0.5 * (self.below.max(log - 1.0) + self.above.min(log + 1.0))
        }
    }
}

/// What came of writing the spends at a price.
#[derive(Debug, Clone, Copy)]
enum Outcome {
    Found(Found),
    /// The budget is missed; the price should go so much further, in its logarithm.
    Missed {
        further: f64,
    },
    /// A task would get more than it may, and no bounds were read.
    Full,
}

/// From this many tasks on they are a crowd.
pub(super) const FEWEST: usize = 1024;
const LEAST_BUDGET: f64 = 1e-90;
/// So little above the lower bounds loses its digits: left to the general search.
const LEAST_FREE: f64 = 1e-6;
/// Half the window of a first scan, and the least and the most of any.
const FIRST_WIDTH: f64 = 0.01;
const LEAST_WIDTH: f64 = 1e-9;
const MOST_WIDTH: f64 = 0.05;
/// Scans for one call.
const MAX_SCANS: usize = 20;
/// A window with so many undecided tasks, as a share of all, is too wide.
const MOST_UNDECIDED: f64 = 1.0 / 16.0;
/// A remainder up to this share of the budget, and this share of its own spend, goes to the softest
/// task: its slope then stays the price to the last digit.
const ABSORBABLE: f64 = 1e-11;
const UNNOTICED: f64 = 1e-8;
/// How far from the anchor's price, times the elasticity, calls may go.
const MOVED: f64 = 0.0625;
/// The same in the call that made the anchor: no value has moved since.
const MOVED_AT_ONCE: f64 = 0.9 * MEDIUM;
/// The longest pause after calls that did not fit.
const LONGEST_PAUSE: u32 = 64;

impl Crowd {
    /// None if there are few tasks, or one is of a kind that is not handled in bulk.
    pub(super) fn new(model: &PreparedProblem) -> Option<Self> {
        let tasks = model.curves.len();
        if tasks < FEWEST {
            return None;
        }
        let mut blocks = Vec::with_capacity(tasks.div_ceil(BLOCK));
        for (number, (curves, bounds)) in
            model.curves.chunks(BLOCK).zip(model.bounds.chunks(BLOCK)).enumerate()
        {
            blocks.push(Block::new(number * BLOCK, curves, bounds)?);
        }
        let least_high = blocks.iter().map(Block::least_high).fold(f64::INFINITY, f64::min);
        let most_elastic =
            blocks.iter().map(|block| block.power.most_elastic()).fold(0.0, f64::max);
        Some(Self {
            arch: Arch::new(),
            workers: Workers::default(),
            series: Series::new(),
            tasks,
            blocks,
            local: Local::default(),
            min_total: model.min_total,
            has_lows: model.bounds.iter().any(|bounds| bounds.min > 0.0),
            least_high,
            most_elastic,
            anchor: None,
            last: Price::default(),
            width: FIRST_WIDTH,
            softest: None,
            was_full: false,
            pause: 0,
            next_pause: 1,
        })
    }

    /// Works on so many threads, where that is worth it.
    pub(super) fn use_threads(&mut self, threads: NonZeroUsize) {
        self.workers = Workers::new(threads, self.tasks);
    }

    /// Forgets the anchor.
    pub(super) fn forget(&mut self) {
        (self.anchor, self.pause, self.next_pause) = (None, 0, 1);
    }

    /// Whether the next call needs a price to begin with.
    pub(super) fn is_cold(&self) -> bool {
        self.anchor.is_none() && self.pause == 0
    }

    /// What is to be remembered; the rest follows from it.
    pub(super) fn warmth(&self) -> Warmth {
        let Self { width, softest, was_full, last, pause, next_pause, .. } = *self;
        let anchor = self.anchor.map(|anchor| {
            let mut values = vec![1.0; self.tasks];
            for (block, values) in self.blocks.iter().zip(values.chunks_mut(BLOCK)) {
                block.write_anchor_values(values);
            }
            AnchorWarmth {
                log_price: anchor.log,
                values,
                last_log_price: last.log,
                last_price: last.price,
                width,
                softest,
                was_full,
            }
        });
        Warmth { anchor, pause, next_pause }
    }

    /// Goes on as whoever remembered this would have.
    pub(super) fn start_from(&mut self, warmth: &Warmth) {
        (self.pause, self.next_pause) =
            (warmth.pause.min(LONGEST_PAUSE), warmth.next_pause.clamp(1, LONGEST_PAUSE));
        let Some(anchor) = &warmth.anchor else { return };
        let AnchorWarmth {
            log_price,
            ref values,
            last_log_price,
            last_price,
            width,
            softest,
            was_full,
        } = *anchor;
        let are_sound = values.len() == self.tasks
            && values.iter().all(|value| (0.0..MOST_VALUE).contains(value));
        let is_price = log_price.is_finite()
            && last_log_price.is_finite()
            && last_price > 0.0
            && last_price.is_finite();
        if !(are_sound
            && is_price
            && softest.is_none_or(|softest| softest < self.tasks)
            && (LEAST_WIDTH..=MOST_WIDTH).contains(&width))
        {
            return;
        }
        self.anchor = Some(Price { log: log_price, price: log_price.exp() });
        self.last = Price { log: last_log_price, price: last_price };
        (self.width, self.softest, self.was_full) = (width, softest, was_full);
        let scan = Scan {
            arch: self.arch,
            series: self.series,
            is_fresh: true,
            anchor_log_price: log_price,
            moved: 0.0,
            width,
            low_price: 0.0,
            high_price: 0.0,
        };
        self.scan_blocks(&scan, true, values, &mut vec![0.0; self.tasks]);
    }

    /// The best split, without each task's success. `start` is a price to begin with.
    ///
    /// Values and budget need not be checked: nothing is found for bad ones.
    pub(super) fn allocate(
        &mut self,
        values: &[f64],
        budget: f64,
        spend: &mut [f64],
        start: Option<f64>,
    ) -> Option<Found> {
        if self.pause > 0 {
            self.pause -= 1;
            return None;
        }
        let free = budget - self.min_total;
        let is_known = values.len() == self.tasks && budget >= LEAST_BUDGET && budget.is_finite();
        if !(is_known && free >= LEAST_FREE * budget) {
            return None;
        }
        let found = self
            .search(&mut Call { values, budget, spend }, free, start)
            .map(|found| self.with_floors(found, values));
        if found.is_none() {
            self.anchor = None;
            self.pause = self.next_pause;
            self.next_pause = (2 * self.next_pause).min(LONGEST_PAUSE);
        } else {
            self.next_pause = 1;
        }
        found
    }

    /// Each task's chance of success at the spends of the last call.
    pub(super) fn write_success(
        &mut self,
        curves: &[Curve],
        values: &[f64],
        spend: &[f64],
        success: &mut [f64],
    ) {
        success.copy_from_slice(spend);
        let (arch, price) = (self.arch, self.last.price);
        self.workers.each(&mut self.blocks, values, success, |block, values, success| {
            with_four(arch, RiseBlock { block, price, values, success });
        });
        if let Some(softest) = self.softest {
            // It may have been given a remainder, which the price knows nothing of.
            success[softest] = curves[softest].success(spend[softest]);
        }
    }

    fn search(&mut self, call: &mut Call<'_>, free: f64, start: Option<f64>) -> Option<Found> {
        let mut is_fresh = false;
        if self.anchor.is_none() {
            // Only a little is known from a sample, and nothing of how far calls differ.
            let log = start.filter(|price| *price > 0.0 && price.is_finite())?.ln();
            self.last = Price { log, price: log.exp() };
            (is_fresh, self.width, self.softest, self.was_full) = (true, FIRST_WIDTH, None, false);
        }
        let mut bounded = self.has_lows || self.was_full || self.least_high < 0.25 * free;
        let (before, width) = (self.last.log, self.width);
        let (mut bracket, mut reach) = (Bracket::ALL, MOVED);
        for _ in 0..MAX_SCANS {
            self.width =
                self.width.clamp(LEAST_WIDTH, MOST_WIDTH.min(0.25 / self.most_elastic.max(1.0)));
            let scan = self.prepare(&mut is_fresh, reach);
            reach = if scan.is_fresh { MOVED_AT_ONCE } else { reach };
            self.scan_blocks(&scan, bounded, call.values, call.spend);
            if !self.local.are_good {
                return None;
            }
            if self.undecided() as f64 > MOST_UNDECIDED * self.tasks as f64
                && self.width > LEAST_WIDTH
            {
                self.width *= 0.125;
                continue;
            }
            match self.local.solve(free, self.last.price, self.width) {
                Root::Inside { step, turn } => match self.settle(call, free, bounded, step, turn) {
                    Outcome::Found(found) => {
                        // As far again and more, but not suddenly less: calls differ.
                        self.width = (4.0 * (self.last.log - before).abs())
                            .max(0.5 * width)
                            .clamp(LEAST_WIDTH, MOST_WIDTH);
                        return Some(found);
                    }
                    Outcome::Missed { further } => {
                        self.go(self.last.log + step + further, 4.0 * further.abs())?
                    }
                    Outcome::Full => {
                        // What was learned of the price was about tasks without bounds.
                        (bounded, bracket) = (true, Bracket::ALL);
                    }
                },
                Root::Outside { step, width } => {
                    bracket.leave(self.last.log, self.width, step > 0.0);
                    self.go(bracket.limited(self.last.log + step.clamp(-2.0, 2.0)), width)?;
                }
                Root::Nowhere => return None,
            }
        }
        None
    }

    fn undecided(&self) -> usize {
        self.local.crossing.len() + self.local.jumps.len()
    }

    /// Another place to scan; none if no price is there.
    fn go(&mut self, log: f64, width: f64) -> Option<()> {
        (self.last, self.width) = (Price { log, price: log.exp() }, width);
        (self.last.price > 0.0 && self.last.price.is_finite()).then_some(())
    }

    /// The scan at the last price; with a new anchor there if the old one is too far away.
    fn prepare(&mut self, is_fresh: &mut bool, reach: f64) -> Scan {
        let fits = |anchor: &Price| {
            (self.last.log - anchor.log).abs() * self.most_elastic.max(1.0) <= reach
        };
        let is_kept = !*is_fresh && self.anchor.as_ref().is_some_and(fits);
        // Whoever goes on from what is remembered has the logarithm only.
        let new = Price { log: self.last.log, price: self.last.log.exp() };
        let anchor = self.anchor.filter(|_| is_kept).unwrap_or(new);
        self.anchor = Some(anchor);
        *is_fresh = false;
        let wide = exp(self.width);
        Scan {
            arch: self.arch,
            series: self.series,
            is_fresh: !is_kept,
            anchor_log_price: anchor.log,
            moved: self.last.log - anchor.log,
            width: self.width,
            low_price: self.last.price / wide,
            high_price: self.last.price * wide,
        }
    }

    fn scan_blocks(&mut self, scan: &Scan, bounded: bool, values: &[f64], wishes: &mut [f64]) {
        let arch = self.arch;
        self.workers.each(&mut self.blocks, values, wishes, |block, values, wishes| {
            with_four(arch, ScanBlock { block, scan, bounded, values, wishes });
        });
        self.local.clear();
        self.blocks.iter().for_each(|block| self.local.merge(&block.local));
    }

    /// Writes the spends at a price and closes the books; if too much is left, how much further the
    /// price should go.
    fn settle(
        &mut self,
        call: &mut Call<'_>,
        free: f64,
        bounded: bool,
        step: f64,
        turn: Option<f64>,
    ) -> Outcome {
        let log = self.last.log + step;
        let anchor = self.anchor.unwrap_or(self.last);
        // From the anchor's price, not from the last one: no rounding adds up.
        let price = turn.unwrap_or_else(|| anchor.price * exp(log - anchor.log));
        let write = Write {
            series: self.series,
            step,
            price,
            is_tiny: self.most_elastic * step.abs() <= TINY,
        };
        let arch = self.arch;
        self.workers.each(&mut self.blocks, call.values, call.spend, |block, values, spend| {
            with_four(arch, WriteBlock { block, write: &write, bounded, values, spend });
        });
        let mut totals = Totals::default();
        for block in &self.blocks {
            totals.add(block.totals.above, block.totals.worth, block.totals.most);
        }
        if !bounded && !(totals.most < self.least_high) {
            return Outcome::Full;
        }
        let (worth, mut left) = (totals.worth.value(), free - totals.above.value());
        let bound = worth + price * left;
        let upper_bound = bound + ROUNDING * (bound.abs() + price * free + worth);
        if turn.is_some() {
            left = self.fill(price, left, call.spend);
        }
        let fall = self.local.fall(self.width);
        if left != 0.0 && !self.absorb(call.spend, call.budget, left) {
            return Outcome::Missed { further: -left / fall };
        }
        self.last = Price { log, price };
        self.was_full = bounded && !(totals.most < self.least_high);
        Outcome::Found(Found { value: bound, upper_bound, price })
    }

    /// Gives what is left to straight tasks that turn exactly at the price, those with more value
    /// and lower index first.
    fn fill(&self, price: f64, mut left: f64, spend: &mut [f64]) -> f64 {
        for jump in self.local.jumps.iter().filter(|jump| jump.price == price) {
            if !(left > 0.0) {
                break;
            }
            let taken = jump.room().min(left);
            spend[jump.task] = if left >= jump.room() { jump.high } else { jump.low + taken };
            left -= taken;
        }
        left
    }

    /// Gives a remainder to the softest task; false if it is too large to go unnoticed.
    fn absorb(&mut self, spend: &mut [f64], budget: f64, left: f64) -> bool {
        if left.abs() > ABSORBABLE * budget {
            return false;
        }
        let fits = |crowd: &Self, softest: usize| {
            let (low, high) = crowd.blocks[softest / BLOCK].smooth_range(softest % BLOCK);
            let (before, after) = (spend[softest], spend[softest] + left);
            left.abs() <= UNNOTICED * before && before.min(after) > low && before.max(after) < high
        };
        let known = self.softest.filter(|&softest| fits(self, softest));
        self.softest =
            known.or_else(|| self.find_softest(spend).filter(|&softest| fits(self, softest)));
        if let Some(softest) = self.softest {
            spend[softest] += left;
        }
        self.softest.is_some()
    }

    /// A task that a remainder hardly disturbs: the largest spend among some of the block where
    /// spends fall fastest with the price.
    fn find_softest(&self, spend: &[f64]) -> Option<usize> {
        let fall = |block: &Block| block.local.moments[1] + block.local.slope;
        let block = self.blocks.iter().max_by(|a, b| fall(a).total_cmp(&fall(b)))?;
        let spends = spend.get(block.start..)?;
        block.softest(spends).map(|offset| block.start + offset)
    }

    /// Adds what the floors are worth whatever is spent.
    fn with_floors(&self, found: Found, values: &[f64]) -> Found {
        let worth = |(block, values): (&Block, &[f64])| {
            sum(block.floor.iter().zip(values).map(|(floor, value)| floor * value))
        };
        let floors = sum(self.blocks.iter().zip(values.chunks(BLOCK)).map(worth));
        let upper_bound = found.upper_bound + floors + ROUNDING * floors;
        Found { value: found.value + floors, upper_bound, ..found }
    }
}
