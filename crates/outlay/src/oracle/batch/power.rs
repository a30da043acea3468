//! Power tasks: the best spend is `exp(level - elasticity * ln(price))` between its bounds.

use super::{Call, Places, Response, Settled};
use crate::curve::Power;
use crate::problem::Bounds;

#[derive(Debug, Default)]
pub(super) struct PowerBatch {
    pub(super) places: Places,
    /// The level at value one; the value adds `elasticity * ln(value)`.
    base_level: Vec<f64>,
    elasticity: Vec<f64>,
    curve: Vec<Power>,
    height: Vec<f64>,
    pub(super) level: Vec<f64>,
}

impl PowerBatch {
    pub(super) fn add(&mut self, task: usize, power: &Power, height: f64, bounds: Bounds) {
        let elasticity = 1.0 / (1.0 - power.exponent());
        self.places.add(task, bounds, power.scale());
        self.base_level.push(power.scale().ln() + elasticity * (height * power.exponent() / power.scale()).ln());
        self.elasticity.push(elasticity);
        self.curve.push(power.clone());
        self.height.push(height);
        self.level.push(0.0);
    }

    pub(super) fn load(&mut self, values: &[f64], free: f64) {
        self.places.set_free(free);
        let constants = self.base_level.iter().zip(&self.elasticity).zip(&self.places.task);
        for (level, ((&base, &elasticity), &task)) in self.level.iter_mut().zip(constants) {
            *level = base + elasticity * values[task as usize].ln();
        }
    }

    pub(super) fn respond(&self, log_price: f64, wishes: &mut Vec<f64>) -> Response {
        wishes.clear();
        wishes.extend(self.level.iter().zip(&self.elasticity).map(|(&level, &elasticity)| (level - elasticity * log_price).exp()));
        let mut total = Response::default();
        for (((&wish, &elasticity), &low), &cap) in wishes.iter().zip(&self.elasticity).zip(&self.places.low).zip(&self.places.cap) {
            let inside = wish > low && wish < cap;
            total.spend += wish.max(low).min(cap);
            total.fall += if inside { elasticity * wish } else { 0.0 };
        }
        total
    }

    pub(super) fn log_prices(&self, share: f64) -> impl Iterator<Item = f64> {
        let log_share = share.ln();
        self.level.iter().zip(&self.elasticity).map(move |(&level, &elasticity)| (level - log_share) / elasticity)
    }

    pub(super) fn settle(&self, call: Call<'_>, spend: &mut [f64], settled: &mut Settled) {
        let bounds = self.places.task.iter().zip(&self.places.low).zip(&self.places.cap);
        for (position, (&wish, ((&task, &low), &cap))) in call.wishes.iter().zip(bounds).enumerate() {
            let task = task as usize;
            let taken = wish.max(low).min(cap);
            spend[task] = taken;
            settled.spend.add(taken);
            if wish > low && wish < cap {
                // On the curve's own slope: value = price * spend / exponent, without another power.
                settled.value.add(call.price * taken / self.curve[position].exponent());
                settled.offer(task, self.elasticity[position] * taken);
            } else if taken > 0.0 {
                settled.value.add(call.values[task] * self.height[position] * self.curve[position].success(taken));
            }
        }
    }
}
