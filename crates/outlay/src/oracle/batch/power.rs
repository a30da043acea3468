//! Power tasks: the best spend is `exp(level - elasticity * ln(price))` between its bounds.

use super::elementary::{LANES, Loop, exp, total, vectorised};
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
        self.places.load_levels(values, &self.base_level, Some(&self.elasticity), &mut self.level);
    }

    pub(super) fn respond(&self, log_price: f64, wishes: &mut Vec<f64>) -> Response {
        wishes.resize(self.level.len(), 0.0);
        let (low, cap) = (&self.places.low, &self.places.cap);
        vectorised(Responses { level: &self.level, elasticity: &self.elasticity, low, cap, log_price, wishes })
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
            settled.above.add(taken - low);
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

/// The wishes of all tasks at a price, and what they come to between the bounds.
struct Responses<'a> {
    level: &'a [f64],
    elasticity: &'a [f64],
    low: &'a [f64],
    cap: &'a [f64],
    log_price: f64,
    wishes: &'a mut [f64],
}

impl Loop for Responses<'_> {
    type Output = Response;

    #[inline(always)]
    fn run(self) -> Response {
        for ((wish, &level), &elasticity) in self.wishes.iter_mut().zip(self.level).zip(self.elasticity) {
            *wish = exp(level - elasticity * self.log_price);
        }
        let (mut spend, mut fall) = ([0.0; LANES], [0.0; LANES]);
        let (wishes, last_wishes) = self.wishes.as_chunks::<LANES>();
        let (elasticity, last_elasticity) = self.elasticity.as_chunks::<LANES>();
        let (low, last_low) = self.low.as_chunks::<LANES>();
        let (cap, last_cap) = self.cap.as_chunks::<LANES>();
        for (((wish, elasticity), low), cap) in wishes.iter().zip(elasticity).zip(low).zip(cap) {
            for lane in 0..LANES {
                let inside = wish[lane] > low[lane] && wish[lane] < cap[lane];
                spend[lane] += wish[lane].max(low[lane]).min(cap[lane]) - low[lane];
                fall[lane] += if inside { elasticity[lane] * wish[lane] } else { 0.0 };
            }
        }
        for (((&wish, &elasticity), &low), &cap) in last_wishes.iter().zip(last_elasticity).zip(last_low).zip(last_cap) {
            spend[0] += wish.max(low).min(cap) - low;
            fall[0] += if wish > low && wish < cap { elasticity * wish } else { 0.0 };
        }
        Response { spend: total(spend), fall: total(fall) }
    }
}
