//! Power tasks: the best spend is `exp(level - elasticity * ln(price))` between its bounds.

use pulp::{Arch, Simd, WithSimd};

use super::{
    Call, Four, FourSums, Places, Prices, Response, Settled, Split, fours, fours_mut, with_four,
};
use crate::curve::{Curve, Power};
use crate::problem::Bounds;

#[derive(Debug, Default)]
pub(super) struct PowerBatch {
    pub(super) places: Places,
    /// The level at value one; the value adds `elasticity * ln(value)`.
    base_level: Vec<f64>,
    elasticity: Vec<f64>,
    over_exponent: Vec<f64>,
    /// One over the elasticity.
    steepness: Vec<f64>,
    most_elastic: f64,
    curve: Vec<Power>,
    floor: Vec<f64>,
    height: Vec<f64>,
    pub(super) level: Vec<f64>,
}

impl PowerBatch {
    pub(super) fn add(&mut self, task: usize, power: &Power, curve: &Curve, bounds: Bounds) {
        let height = curve.height();
        let elasticity = 1.0 / (1.0 - power.exponent());
        self.places.add(task, bounds, power.scale());
        self.base_level.push(
            power.scale().ln() + elasticity * (height * power.exponent() / power.scale()).ln(),
        );
        self.elasticity.push(elasticity);
        self.steepness.push(1.0 - power.exponent());
        self.over_exponent.push(1.0 / power.exponent());
        self.most_elastic = self.most_elastic.max(elasticity);
        self.curve.push(power.clone());
        self.floor.push(curve.floor());
        self.height.push(height);
        self.level.push(0.0);
    }

    pub(super) fn pad(&mut self) {
        let padded = self.places.pad();
        self.base_level.resize(padded, 0.0);
        self.elasticity.resize(padded, 1.0);
        self.steepness.resize(padded, 1.0);
        self.over_exponent.resize(padded, 0.0);
        self.level.resize(padded, 0.0);
    }

    pub(super) fn load(&mut self, values: &[f64], free: f64) {
        self.places.set_free(free);
        self.places.load_levels(values, &self.base_level, &self.elasticity, &mut self.level);
    }

    pub(super) fn respond(&self, log_price: f64, wishes: &mut Vec<f64>) -> Response {
        wishes.resize(self.level.len(), 0.0);
        let (low, cap) = (&self.places.low, &self.places.cap);
        with_four(
            Arch::new(),
            Responses {
                level: &self.level,
                elasticity: &self.elasticity,
                low,
                cap,
                log_price,
                wishes,
            },
        )
    }

    /// Three terms of the exponential series, where the next is below 1e-12 for every task.
    pub(super) fn nudge(&self, step: f64, wishes: &mut [f64]) -> bool {
        if self.most_elastic * step.abs() > 1e-4 {
            return false;
        }
        for (wish, &elasticity) in wishes.iter_mut().zip(&self.elasticity) {
            let exponent = -elasticity * step;
            // A factor, so that a wish beyond all numbers stays one.
            *wish *= 1.0 + (exponent + 0.5 * exponent * exponent);
        }
        true
    }

    /// The sum of the prices at which each task would take a given share.
    pub(super) fn prices_at(&self, log_share: f64) -> f64 {
        let (level, steepness, weight) = (&self.level, &self.steepness, &self.places.weight);
        with_four(
            Arch::new(),
            Prices { level, factor: steepness, rate: steepness, weight, share: log_share },
        )
    }

    pub(super) fn settle(&self, call: Call<'_>, split: &mut Split<'_>, settled: &mut Settled) {
        with_four(Arch::new(), Settle { batch: self, call, split, settled });
    }

    /// Worth and success above the floor of a task at a bound.
    fn at_bound(&self, place: usize, taken: f64) -> (f64, f64) {
        let success = self.height[place] * self.curve[place].success(taken);
        (self.places.value[place] * success, success)
    }
}

/// Writes spend and success of all tasks, and adds up.
struct Settle<'a, 'b> {
    batch: &'a PowerBatch,
    call: Call<'a>,
    split: &'a mut Split<'b>,
    settled: &'a mut Settled,
}

impl WithSimd for Settle<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { batch, call, split, settled } = self;
        let places = &batch.places;
        let (mut above, mut value) = (FourSums::new(simd), FourSums::new(simd));
        let inputs = fours(call.wishes)
            .iter()
            .zip(fours(&places.low))
            .zip(fours(&places.cap))
            .zip(fours(&places.value));
        let shapes = fours(&batch.over_exponent).iter().zip(fours(&batch.elasticity));
        for (four, (tasks, ((((wishes, lows), caps), values), (over_exponent, elasticity)))) in
            places.task.chunks(4).zip(inputs.zip(shapes)).enumerate()
        {
            let (wish, low, cap) =
                (Four::load(simd, wishes), Four::load(simd, lows), Four::load(simd, caps));
            let taken = wish.max(low).min(cap);
            // On the curve's own slope: value = price * spend / exponent, without another power.
            let worth = taken * (Four::load(simd, over_exponent) * call.price);
            let success = worth / Four::load(simd, values);
            above.add(taken - low);
            let taken = taken.to_array();
            let (mut worths, successes) = (worth.to_array(), success.to_array());
            // At an infinite price even the lanes of no task would not be zero.
            worths[tasks.len()..].fill(0.0);
            for (lane, &task) in tasks.iter().enumerate() {
                let (task, place) = (task as usize, 4 * four + lane);
                let mut success = successes[lane];
                if wishes[lane] > lows[lane] && wishes[lane] < caps[lane] {
                    settled.offer(task, elasticity[lane] * taken[lane]);
                } else {
                    (worths[lane], success) = batch.at_bound(place, taken[lane]);
                }
                split.spend[task] = taken[lane];
                split.success[task] = batch.floor[place] + success;
            }
            value.add(Four::load(simd, &worths));
        }
        settled.above.merge(above.total());
        settled.value.merge(value.total());
    }
}

/// The wishes of all tasks at a price, and what they come to between the bounds.
struct Responses<'a> {
    level: &'a [f64],
    elasticity: &'a [f64],
    low: &'a [f64],
    cap: &'a [f64],
    log_price: f64,
    wishes: &'a mut [f64],
}

impl WithSimd for Responses<'_> {
    type Output = Response;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Response {
        let load = |numbers: &[f64; 4]| Four::load(simd, numbers);
        let (zero, log_price) = (Four::splat(simd, 0.0), Four::splat(simd, self.log_price));
        let (mut spend, mut fall) = (zero, zero);
        let tasks = fours(self.level).iter().zip(fours(self.elasticity));
        let bounds = fours(self.low).iter().zip(fours(self.cap));
        for ((wishes, (level, elasticity)), (low, cap)) in
            fours_mut(self.wishes).iter_mut().zip(tasks).zip(bounds)
        {
            let (elasticity, low, cap) = (load(elasticity), load(low), load(cap));
            let wish = elasticity.times_from(log_price, load(level)).exp();
            wish.store(wishes);
            spend = spend + (wish.max(low).min(cap) - low);
            fall = fall + wish.where_between(low, cap, elasticity * wish);
        }
        Response { spend: spend.total(), fall: fall.total() }
    }
}
