//! Exponential tasks: the best spend is `scale * (level - ln(price))` between its bounds.

use pulp::{Arch, Simd, WithSimd};

use super::{Call, Four, FourSums, Places, Prices, Response, Settled, Split, fours, with_four};
use crate::curve::{Curve, Exponential};
use crate::problem::Bounds;

#[derive(Debug, Default)]
pub(super) struct ExponentialBatch {
    pub(super) places: Places,
    /// The level at value one; the value adds its logarithm.
    base_level: Vec<f64>,
    scale: Vec<f64>,
    /// One over the scale.
    rate: Vec<f64>,
    /// Ones: the logarithm of the value counts in full.
    whole: Vec<f64>,
    curve: Vec<Exponential>,
    floor: Vec<f64>,
    height: Vec<f64>,
    pub(super) level: Vec<f64>,
}

impl ExponentialBatch {
    pub(super) fn add(
        &mut self,
        task: usize,
        exponential: &Exponential,
        curve: &Curve,
        bounds: Bounds,
    ) {
        let height = curve.height();
        self.places.add(task, bounds, f64::INFINITY);
        self.base_level.push((height / exponential.scale()).ln());
        self.scale.push(exponential.scale());
        self.rate.push(1.0 / exponential.scale());
        self.whole.push(1.0);
        self.curve.push(exponential.clone());
        self.floor.push(curve.floor());
        self.height.push(height);
        self.level.push(0.0);
    }

    pub(super) fn pad(&mut self) {
        let padded = self.places.pad();
        self.base_level.resize(padded, 0.0);
        self.scale.resize(padded, 1.0);
        self.rate.resize(padded, 1.0);
        self.whole.resize(padded, 1.0);
        self.height.resize(padded, 0.0);
        self.level.resize(padded, 0.0);
    }

    pub(super) fn load(&mut self, values: &[f64], free: f64) {
        self.places.set_free(free);
        self.places.load_levels(values, &self.base_level, &self.whole, &mut self.level);
    }

    pub(super) fn respond(&self, log_price: f64) -> Response {
        let (low, cap) = (&self.places.low, &self.places.cap);
        with_four(
            Arch::new(),
            Responses { level: &self.level, scale: &self.scale, low, cap, log_price },
        )
    }

    /// The sum of the prices at which each task would take a given share.
    pub(super) fn prices_at(&self, share: f64) -> f64 {
        let (level, rate, weight) = (&self.level, &self.rate, &self.places.weight);
        with_four(Arch::new(), Prices { level, factor: &self.whole, rate, weight, share })
    }

    pub(super) fn settle(&self, call: Call<'_>, split: &mut Split<'_>, settled: &mut Settled) {
        with_four(Arch::new(), Settle { batch: self, call, split, settled });
    }

    /// Worth and success above the floor of a task at a bound, or close to zero.
    fn by_the_curve(&self, place: usize, taken: f64) -> (f64, f64) {
        let success =
            if taken > 0.0 { self.height[place] * self.curve[place].success(taken) } else { 0.0 };
        (self.places.value[place] * success, success)
    }
}

/// Writes spend and success of all tasks, and adds up.
struct Settle<'a, 'b> {
    batch: &'a ExponentialBatch,
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
        let inputs = fours(&batch.level)
            .iter()
            .zip(fours(&places.low))
            .zip(fours(&places.cap))
            .zip(fours(&places.value));
        let shapes = fours(&batch.scale).iter().zip(fours(&batch.height));
        for (four, (tasks, ((((level, lows), caps), values), (scales, height)))) in
            places.task.chunks(4).zip(inputs.zip(shapes)).enumerate()
        {
            let (scale, low, values) =
                (Four::load(simd, scales), Four::load(simd, lows), Four::load(simd, values));
            let wish = scale * (Four::load(simd, level) - call.log_price);
            let taken = wish.max(low).min(Four::load(simd, caps));
            // On the curve's own slope the value is value * height - price * scale, without another
            // exponential; but close to zero that would cancel.
            let worth = values * Four::load(simd, height) - scale * call.price;
            let success = worth / values;
            above.add(taken - low);
            let (wish, taken) = (wish.to_array(), taken.to_array());
            let (mut worths, successes) = (worth.to_array(), success.to_array());
            // At an infinite price even the lanes of no task would not be zero.
            worths[tasks.len()..].fill(0.0);
            for (lane, &task) in tasks.iter().enumerate() {
                let (task, place) = (task as usize, 4 * four + lane);
                let mut success = successes[lane];
                let is_inside = wish[lane] > lows[lane] && wish[lane] < caps[lane];
                if is_inside {
                    settled.offer(task, scales[lane]);
                }
                if !(is_inside && taken[lane] > 0.1 * scales[lane]) {
                    (worths[lane], success) = batch.by_the_curve(place, taken[lane]);
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

/// What the wishes of all tasks at a price come to between the bounds.
struct Responses<'a> {
    level: &'a [f64],
    scale: &'a [f64],
    low: &'a [f64],
    cap: &'a [f64],
    log_price: f64,
}

impl WithSimd for Responses<'_> {
    type Output = Response;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Response {
        let load = |numbers: &[f64; 4]| Four::load(simd, numbers);
        let zero = Four::splat(simd, 0.0);
        let (mut spend, mut fall) = (zero, zero);
        let tasks = fours(self.level).iter().zip(fours(self.scale));
        let bounds = fours(self.low).iter().zip(fours(self.cap));
        for ((level, scale), (low, cap)) in tasks.zip(bounds) {
            let (scale, low, cap) = (load(scale), load(low), load(cap));
            let wish = scale * (load(level) - self.log_price);
            spend = spend + (wish.max(low).min(cap) - low);
            fall = fall + wish.where_between(low, cap, scale);
        }
        Response { spend: spend.total(), fall: fall.total() }
    }
}
