//! Exponential tasks: the best spend is `scale * (level - ln(price))` between its bounds.

use pulp::{Arch, Simd, WithSimd};

use super::{BLOCK, Call, Four, Places, Response, Settled, Split, fours, with_four};
use crate::curve::{Curve, Exponential};
use crate::problem::Bounds;

#[derive(Debug, Default)]
pub(super) struct ExponentialBatch {
    pub(super) places: Places,
    /// The level at value one; the value adds its logarithm.
    base_level: Vec<f64>,
    scale: Vec<f64>,
    curve: Vec<Exponential>,
    floor: Vec<f64>,
    height: Vec<f64>,
    pub(super) level: Vec<f64>,
}

impl ExponentialBatch {
    pub(super) fn add(&mut self, task: usize, exponential: &Exponential, curve: &Curve, bounds: Bounds) {
        let height = curve.height();
        self.places.add(task, bounds, f64::INFINITY);
        self.base_level.push((height / exponential.scale()).ln());
        self.scale.push(exponential.scale());
        self.curve.push(exponential.clone());
        self.floor.push(curve.floor());
        self.height.push(height);
        self.level.push(0.0);
    }

    pub(super) fn pad(&mut self) {
        let padded = self.places.pad();
        self.base_level.resize(padded, 0.0);
        self.scale.resize(padded, 1.0);
        self.level.resize(padded, 0.0);
    }

    pub(super) fn load(&mut self, values: &[f64], free: f64) {
        self.places.set_free(free);
        self.places.load_levels(values, &self.base_level, None, &mut self.level);
    }

    pub(super) fn respond(&self, log_price: f64) -> Response {
        let (low, cap) = (&self.places.low, &self.places.cap);
        with_four(Arch::new(), Responses { level: &self.level, scale: &self.scale, low, cap, log_price })
    }

    /// The price at which a task would take a given share.
    pub(super) fn price_at(&self, place: usize, share: f64) -> f64 {
        (self.level[place] - share / self.scale[place]).exp()
    }

    pub(super) fn settle(&self, call: Call<'_>, split: &mut Split<'_>, settled: &mut Settled) {
        let (mut above, mut worth) = ([0.0; BLOCK], [0.0; BLOCK]);
        for (first, tasks) in self.places.task.chunks(BLOCK).enumerate().map(|(block, tasks)| (block * BLOCK, tasks)) {
            let last = first + tasks.len();
            let bounds = self.places.low[first..last].iter().zip(&self.places.cap[first..last]);
            let shapes = self.scale[first..last].iter().zip(&self.level[first..last]).zip(&self.height[first..last]);
            for (offset, ((&task, (&low, &cap)), ((&scale, &level), &height))) in tasks.iter().zip(bounds).zip(shapes).enumerate() {
                let wish = scale * (level - call.log_price);
                let taken = wish.max(low).min(cap);
                let value = call.values[task as usize];
                let inside = wish > low && wish < cap;
                if inside {
                    settled.offer(task as usize, scale);
                }
                // On the curve's own slope the value is value * height - price * scale, without another exponential; but close
                // to zero that would cancel.
                let (worth_here, success) = if inside && taken > 0.1 * scale {
                    let worth = value * height - call.price * scale;
                    (worth, worth / value)
                } else if taken > 0.0 {
                    let success = height * self.curve[first + offset].success(taken);
                    (value * success, success)
                } else {
                    (0.0, 0.0)
                };
                split.spend[task as usize] = taken;
                split.success[task as usize] = self.floor[first + offset] + success;
                above[offset] = taken - low;
                worth[offset] = worth_here;
            }
            settled.above.add_all(&above[..tasks.len()]);
            settled.value.add_all(&worth[..tasks.len()]);
        }
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
