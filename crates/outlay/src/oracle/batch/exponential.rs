//! Exponential tasks: the best spend is `scale * (level - ln(price))` between its bounds.

use super::{Call, Places, Response, Settled};
use crate::curve::Exponential;
use crate::problem::Bounds;

#[derive(Debug, Default)]
pub(super) struct ExponentialBatch {
    pub(super) places: Places,
    /// The level at value one; the value adds its logarithm.
    base_level: Vec<f64>,
    scale: Vec<f64>,
    curve: Vec<Exponential>,
    height: Vec<f64>,
    pub(super) level: Vec<f64>,
}

impl ExponentialBatch {
    pub(super) fn add(&mut self, task: usize, exponential: &Exponential, height: f64, bounds: Bounds) {
        self.places.add(task, bounds, f64::INFINITY);
        self.base_level.push((height / exponential.scale()).ln());
        self.scale.push(exponential.scale());
        self.curve.push(exponential.clone());
        self.height.push(height);
        self.level.push(0.0);
    }

    pub(super) fn load(&mut self, values: &[f64], free: f64) {
        self.places.set_free(free);
        for ((level, &base), &task) in self.level.iter_mut().zip(&self.base_level).zip(&self.places.task) {
            *level = base + values[task as usize].ln();
        }
    }

    pub(super) fn respond(&self, log_price: f64) -> Response {
        let mut total = Response::default();
        for (((&level, &scale), &low), &cap) in self.level.iter().zip(&self.scale).zip(&self.places.low).zip(&self.places.cap) {
            let wish = scale * (level - log_price);
            let inside = wish > low && wish < cap;
            total.spend += wish.max(low).min(cap);
            total.fall += if inside { scale } else { 0.0 };
        }
        total
    }

    pub(super) fn log_prices(&self, share: f64) -> impl Iterator<Item = f64> {
        self.level.iter().zip(&self.scale).map(move |(&level, &scale)| level - share / scale)
    }

    pub(super) fn settle(&self, call: Call<'_>, spend: &mut [f64], settled: &mut Settled) {
        for (position, &task) in self.places.task.iter().enumerate() {
            let task = task as usize;
            let (low, cap, scale) = (self.places.low[position], self.places.cap[position], self.scale[position]);
            let wish = scale * (self.level[position] - call.log_price);
            let taken = wish.max(low).min(cap);
            spend[task] = taken;
            if taken == 0.0 {
                continue;
            }
            settled.spend.add(taken);
            let weight = call.values[task] * self.height[position];
            let inside = wish > low && wish < cap;
            if inside {
                settled.offer(task, scale);
            }
            // On the curve's own slope the value is weight - price * scale, without another exponential; but close to zero
            // that would cancel.
            let closed_form = inside && taken > 0.5 * scale;
            settled.value.add(if closed_form { weight - call.price * scale } else { weight * self.curve[position].success(taken) });
        }
    }
}
