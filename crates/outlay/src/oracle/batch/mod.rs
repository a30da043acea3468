//! Concave tasks in bulk: what each family needs per price is kept in flat arrays.
//!
//! Written in the logarithm of the price, a power task responds with one exponential, an
//! exponential task linearly, and a straight task by all or nothing.

mod exponential;
mod power;
mod ramp;

use super::four::{Four, FourSums, LEAST_LN, fours, fours_mut, with_four};
use super::multiplier::Breakpoints;
use crate::curve::{Curve, Family};
use crate::numeric::compensated::Sum;
use crate::problem::Bounds;
use exponential::ExponentialBatch;
use power::PowerBatch;
use pulp::{Arch, Simd, WithSimd};
use ramp::RampBatch;

/// The concave tasks of a problem, family by family.
#[derive(Debug, Default)]
pub(super) struct Batches {
    power: PowerBatch,
    exponential: ExponentialBatch,
    ramp: RampBatch,
}

/// Which task, and what it may be given: the arrays that every family has.
#[derive(Debug, Default)]
struct Places {
    task: Vec<u32>,
    /// The values of the call; one where there is no task.
    value: Vec<f64>,
    /// One for a task, zero where there is none.
    weight: Vec<f64>,
    low: Vec<f64>,
    /// Where more spend is forbidden or useless.
    high: Vec<f64>,
    /// The same, and within the budget of the call.
    cap: Vec<f64>,
    /// What the lower bounds left of the budget when the caps were made, and how much room the caps
    /// leave in all.
    free: f64,
    room: f64,
    /// Whether some task is worth nothing, or nearly nothing, in this call.
    has_worthless: bool,
}

impl Places {
    fn add(&mut self, task: usize, bounds: Bounds, useful: f64) {
        let high = bounds.max.min(useful).max(bounds.min);
        self.task.push(task as u32);
        self.value.push(1.0);
        self.weight.push(1.0);
        self.low.push(bounds.min);
        self.high.push(high);
        self.cap.push(high);
        self.free = f64::INFINITY;
    }

    fn len(&self) -> usize {
        self.task.len()
    }

    /// Writes `base + factor * ln(value)` of every task to `level`.
    fn load_levels(&mut self, values: &[f64], base: &[f64], factor: &[f64], level: &mut [f64]) {
        let Self { task: tasks, value, .. } = self;
        self.has_worthless =
            with_four(Arch::new(), Levels { values, tasks, value, base, factor, level });
        if self.has_worthless {
            // Zero, or a number too small for the quick logarithm.
            for (place, &task) in self.task.iter().enumerate() {
                let value = values[task as usize];
                if value < LEAST_LN {
                    level[place] = base[place] + factor[place] * value.ln();
                }
            }
        }
    }

    /// Fills up the bounds with places of no task, which can take nothing, so that loops over
    /// vectors have no rest.
    fn pad(&mut self) -> usize {
        let padded = self.len().next_multiple_of(PADDING);
        for numbers in [&mut self.low, &mut self.high, &mut self.cap, &mut self.weight] {
            numbers.resize(padded, 0.0);
        }
        self.value.resize(padded, 1.0);
        padded
    }

    /// True if that changes the caps.
    fn set_free(&mut self, free: f64) -> bool {
        if free == self.free {
            return false;
        }
        self.free = free;
        for ((cap, &low), &high) in self.cap.iter_mut().zip(&self.low).zip(&self.high) {
            *cap = high.min(low + free);
        }
        self.room = self.cap.iter().zip(&self.low).map(|(cap, low)| cap - low).sum();
        true
    }

    /// The most the tasks with a finite level can take above their lower bounds.
    fn reach(&self, level: &[f64]) -> f64 {
        if !self.has_worthless {
            return self.room;
        }
        let room = |((&level, &low), &cap): ((&f64, &f64), &f64)| {
            if level == f64::NEG_INFINITY { 0.0 } else { cap - low }
        };
        level.iter().zip(&self.low).zip(&self.cap).map(room).sum()
    }
}

/// Gathers the tasks' values and writes `base + factor * ln(value)`; true if a value is too small
/// for that.
struct Levels<'a> {
    values: &'a [f64],
    tasks: &'a [u32],
    value: &'a mut [f64],
    base: &'a [f64],
    factor: &'a [f64],
    level: &'a mut [f64],
}

impl WithSimd for Levels<'_> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> bool {
        let mut least = Four::splat(simd, f64::INFINITY);
        let shapes = fours(self.base).iter().zip(fours(self.factor));
        let places = fours_mut(self.level).iter_mut().zip(fours_mut(self.value));
        for ((tasks, (base, factor)), (level, value)) in
            self.tasks.chunks(4).zip(shapes).zip(places)
        {
            let gathered = gather(simd, self.values, tasks);
            gathered.store(value);
            least = least.min(gathered);
            Four::load(simd, factor).times_plus(gathered.ln(), Four::load(simd, base)).store(level);
        }
        least.to_array().into_iter().any(|least| least < LEAST_LN)
    }
}

/// The values of up to four tasks; one in the lanes of no task.
#[inline(always)]
fn gather<S: Simd>(simd: S, values: &[f64], tasks: &[u32]) -> Four<S> {
    let value = |task: u32| values[task as usize];
    if let &[a, b, c, d] = tasks {
        return Four::load(simd, &[value(a), value(b), value(c), value(d)]);
    }
    let mut lanes = [1.0; 4];
    lanes.iter_mut().zip(tasks).for_each(|(lane, &task)| *lane = value(task));
    Four::load(simd, &lanes)
}

/// The sum of `weight * e^(factor * level - rate * share)` over the tasks, roughly.
struct Prices<'a> {
    level: &'a [f64],
    factor: &'a [f64],
    rate: &'a [f64],
    /// One for a task, zero for a place of no task.
    weight: &'a [f64],
    share: f64,
}

impl WithSimd for Prices<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        let load = |numbers: &[f64; 4]| Four::load(simd, numbers);
        let mut sum = Four::splat(simd, 0.0);
        let tasks = fours(self.level).iter().zip(fours(self.weight));
        for ((level, weight), (factor, rate)) in
            tasks.zip(fours(self.factor).iter().zip(fours(self.rate)))
        {
            sum = sum
                + load(weight)
                    * (load(factor) * load(level) - load(rate) * self.share).exp_roughly();
        }
        sum.total()
    }
}

/// Spend above the lower bounds at a price, and its fall per unit of the price's logarithm.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Response {
    pub(super) spend: f64,
    pub(super) fall: f64,
}

/// Where to settle: a price, and what the power tasks wish at it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call<'a> {
    pub(super) price: f64,
    pub(super) log_price: f64,
    pub(super) wishes: &'a [f64],
}

/// Where a split is written: what each task gets, then each stack, and each task's chance of
/// success with it.
#[derive(Debug)]
pub(super) struct Split<'a> {
    pub(super) spend: &'a mut [f64],
    pub(super) success: &'a mut [f64],
}

impl Split<'_> {
    /// Writes the spend of a task or a stack, and of a task its success, given before floor and
    /// ceiling.
    pub(super) fn set(&mut self, curves: &[Curve], task: usize, spend: f64, success: f64) {
        self.spend[task] = spend;
        if let Some(curve) = curves.get(task) {
            self.success[task] = curve.floor() + curve.height() * success;
        }
    }
}

/// What tasks come to at a price, for the certificate.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Settled {
    /// Spend above the lower bounds: where these take nearly everything, the digits of the rest
    /// would be lost in the total.
    pub(super) above: Sum,
    pub(super) value: Sum,
    /// The task that a small remainder disturbs least, and its sensitivity; zero if there is none.
    pub(super) softest: usize,
    pub(super) softness: f64,
}

impl Settled {
    /// Remembers the task whose spend reacts most to the price.
    pub(super) fn offer(&mut self, task: usize, fall: f64) {
        if fall > self.softness {
            (self.softest, self.softness) = (task, fall);
        }
    }
}

impl Batches {
    /// Takes a task if it is concave and of a family that is handled in bulk; false if it is not.
    pub(super) fn take(&mut self, task: usize, curve: &Curve, bounds: Bounds) -> bool {
        if bounds.at_least > 0.0 {
            return false;
        }
        match curve.family() {
            Family::Power(power) if power.exponent() < 1.0 => {
                self.power.add(task, power, curve, bounds)
            }
            Family::Power(power) => self.ramp.add(task, power.scale(), curve, bounds),
            Family::Saturating(saturating) => {
                self.ramp.add(task, saturating.full_at(), curve, bounds)
            }
            Family::Exponential(exponential) => {
                self.exponential.add(task, exponential, curve, bounds)
            }
            _ => return false,
        }
        true
    }

    /// To be called once, after the last task was taken.
    pub(super) fn seal(&mut self) {
        self.power.pad();
        self.exponential.pad();
        self.ramp.pad();
    }

    /// Takes the values of a call and what the lower bounds leave of its budget.
    pub(super) fn load(&mut self, values: &[f64], free: f64) {
        self.power.load(values, free);
        self.exponential.load(values, free);
        self.ramp.load(values, free);
    }

    pub(super) fn len(&self) -> usize {
        self.smooth_len() + self.ramp.places.len()
    }

    /// How many tasks respond smoothly.
    pub(super) fn smooth_len(&self) -> usize {
        self.power.places.len() + self.exponential.places.len()
    }

    /// The power tasks' and the exponential tasks' response to a price; what the power tasks wish
    /// is written to `wishes`.
    pub(super) fn respond(&self, log_price: f64, wishes: &mut Vec<f64>) -> (Response, Response) {
        (self.power.respond(log_price, wishes), self.exponential.respond(log_price))
    }

    /// Moves the power tasks' wishes by a small step of the price's logarithm; false if it is too
    /// large for that.
    pub(super) fn nudge(&self, step: f64, wishes: &mut [f64]) -> bool {
        self.power.nudge(step, wishes)
    }

    /// Adds the straight tasks' chords; returns the most that all tasks can take above their lower
    /// bounds.
    pub(super) fn load_chords(&self, chords: &mut Breakpoints) -> f64 {
        let smooth = self.power.places.reach(&self.power.level)
            + self.exponential.places.reach(&self.exponential.level);
        smooth + self.ramp.load_chords(chords)
    }

    /// A first guess, if any task is smooth: near the mean of the prices at which each task would
    /// take `share`, or turn. Spend goes where the price is high, so it is the mean of the prices,
    /// not of their logarithms; a straight task counts by its room.
    pub(super) fn typical_price(&self, share: f64) -> Option<f64> {
        if self.smooth_len() == 0 {
            return None;
        }
        let (turns, rooms) = self.ramp.turns(share);
        let total = self.power.prices_at(share.ln()) + self.exponential.prices_at(share) + turns;
        Some(BELOW_MEAN * total / (self.smooth_len() as f64 + rooms))
    }

    /// Writes the spends at a price and adds up spend and value.
    ///
    /// Straight tasks that turn exactly here stay low and are handed to `tied` with their room.
    pub(super) fn settle(
        &self,
        call: Call<'_>,
        split: &mut Split<'_>,
        settled: &mut Settled,
        tied: impl FnMut(usize, f64, f64),
    ) {
        self.power.settle(call, split, settled);
        self.exponential.settle(call, split, settled);
        self.ramp.settle(call.price, split, settled, tied);
    }
}

/// The first guess as a share of the mean price: in mixed problems the mean is about a quarter too
/// high.
const BELOW_MEAN: f64 = 0.8;
/// Vector loops handle so many numbers per turn.
const PADDING: usize = 4;
