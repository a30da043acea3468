//! Concave smooth tasks in bulk: what each family needs per price is kept in flat arrays.
//!
//! Written in the logarithm of the price, a power task responds with one exponential and an exponential task linearly.

use crate::curve::{Curve, Exponential, Power};
use crate::problem::Bounds;
use crate::sum::Sum;

use super::price::Chord;

/// The smooth concave tasks of a problem, family by family.
#[derive(Debug, Default)]
pub(super) struct Batches {
    power: PowerBatch,
    exponential: ExponentialBatch,
    ramp: RampBatch,
}

/// Power tasks: the best spend is `exp(level - elasticity * ln(price))` between its bounds.
#[derive(Debug, Default)]
struct PowerBatch {
    task: Vec<u32>,
    /// The level at value one; the value adds `elasticity * ln(value)`.
    base_level: Vec<f64>,
    elasticity: Vec<f64>,
    low: Vec<f64>,
    high: Vec<f64>,
    curve: Vec<Power>,
    height: Vec<f64>,
    level: Vec<f64>,
}

/// Exponential tasks: the best spend is `scale * (level - ln(price))` between its bounds.
#[derive(Debug, Default)]
struct ExponentialBatch {
    task: Vec<u32>,
    base_level: Vec<f64>,
    scale: Vec<f64>,
    low: Vec<f64>,
    high: Vec<f64>,
    curve: Vec<Exponential>,
    height: Vec<f64>,
    level: Vec<f64>,
}

/// Straight tasks: all or nothing at the price `value * slope`, anything in between exactly there.
#[derive(Debug, Default)]
struct RampBatch {
    task: Vec<u32>,
    /// Slope of the curve up to `full`, height included.
    slope: Vec<f64>,
    full: Vec<f64>,
    low: Vec<f64>,
    high: Vec<f64>,
    /// The price at which the task turns, in this call.
    turn: Vec<f64>,
}

/// Spend at a price, and its fall per unit of the price's logarithm.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Response {
    pub(super) spend: f64,
    pub(super) fall: f64,
}

/// Where to settle: the values of the call, a price, and what the lower bounds leave of the budget.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call<'a> {
    pub(super) values: &'a [f64],
    pub(super) price: f64,
    pub(super) log_price: f64,
    pub(super) free: f64,
}

/// What the smooth tasks come to at a price, for the certificate.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Settled {
    pub(super) spend: Sum,
    pub(super) value: Sum,
    /// The task that a small remainder disturbs least, and its sensitivity.
    pub(super) softest: Option<(usize, f64)>,
}

impl Settled {
    /// Remembers the task whose spend reacts most to the price, if it has room on both sides.
    pub(super) fn offer(&mut self, task: usize, fall: f64) {
        if fall > self.softest.map_or(0.0, |(_, softest)| softest) {
            self.softest = Some((task, fall));
        }
    }
}

impl Batches {
    pub(super) fn add_power(&mut self, task: usize, power: &Power, curve: &Curve, bounds: Bounds) {
        let batch = &mut self.power;
        let elasticity = 1.0 / (1.0 - power.exponent());
        batch.task.push(task as u32);
        batch.base_level.push(power.scale().ln() + elasticity * (curve.height() * power.exponent() / power.scale()).ln());
        batch.elasticity.push(elasticity);
        batch.low.push(bounds.min);
        batch.high.push(bounds.max.min(power.scale()).max(bounds.min));
        batch.curve.push(power.clone());
        batch.height.push(curve.height());
        batch.level.push(0.0);
    }

    pub(super) fn add_exponential(&mut self, task: usize, exponential: &Exponential, curve: &Curve, bounds: Bounds) {
        let batch = &mut self.exponential;
        batch.task.push(task as u32);
        batch.base_level.push((curve.height() / exponential.scale()).ln());
        batch.scale.push(exponential.scale());
        batch.low.push(bounds.min);
        batch.high.push(bounds.max);
        batch.curve.push(exponential.clone());
        batch.height.push(curve.height());
        batch.level.push(0.0);
    }

    /// A task whose success rises straight to `full_at`.
    pub(super) fn add_ramp(&mut self, task: usize, full_at: f64, curve: &Curve, bounds: Bounds) {
        let batch = &mut self.ramp;
        batch.task.push(task as u32);
        batch.slope.push(curve.height() / full_at);
        batch.full.push(full_at);
        batch.low.push(bounds.min);
        batch.high.push(bounds.max.min(full_at).max(bounds.min));
        batch.turn.push(0.0);
    }

    /// Takes the values of this call.
    pub(super) fn set_values(&mut self, values: &[f64]) {
        let batch = &mut self.power;
        for (((level, &base), &elasticity), &task) in batch.level.iter_mut().zip(&batch.base_level).zip(&batch.elasticity).zip(&batch.task)
        {
            *level = base + elasticity * values[task as usize].ln();
        }
        let batch = &mut self.exponential;
        for ((level, &base), &task) in batch.level.iter_mut().zip(&batch.base_level).zip(&batch.task) {
            *level = base + values[task as usize].ln();
        }
        let batch = &mut self.ramp;
        for ((turn, &slope), &task) in batch.turn.iter_mut().zip(&batch.slope).zip(&batch.task) {
            *turn = values[task as usize] * slope;
        }
    }

    pub(super) fn len(&self) -> usize {
        self.power.task.len() + self.exponential.task.len() + self.ramp.task.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether any task responds smoothly.
    pub(super) fn is_smooth(&self) -> bool {
        self.power.task.len() + self.exponential.task.len() > 0
    }

    /// The tasks' total spend at a price, each at most `free` above its lower bound.
    pub(super) fn respond(&self, log_price: f64, free: f64) -> Response {
        let power = self.power.respond(log_price, free);
        let exponential = self.exponential.respond(log_price, free);
        Response { spend: power.spend + exponential.spend, fall: power.fall + exponential.fall }
    }

    /// Adds the straight tasks' chords and lower bounds; returns the most they can take.
    pub(super) fn load_chords(&self, free: f64, chords: &mut Vec<Chord>, settled: &mut f64) -> f64 {
        let mut reach = 0.0;
        for ((&turn, &low), &high) in self.ramp.turn.iter().zip(&self.ramp.low).zip(&self.ramp.high) {
            let high = high.min(low + free);
            *settled += low;
            if turn > 0.0 && high > low {
                chords.push(Chord { price: turn, jump: high - low });
                reach += high;
            } else {
                reach += low;
            }
        }
        reach
    }

    /// The most the smooth tasks can usefully take.
    pub(super) fn reach(&self, free: f64) -> f64 {
        let power = self.power.level.iter().zip(&self.power.low).zip(&self.power.high);
        let exponential = self.exponential.level.iter().zip(&self.exponential.low).zip(&self.exponential.high);
        power.chain(exponential).map(|((&level, &low), &high)| if level == f64::NEG_INFINITY { low } else { high.min(low + free) }).sum()
    }

    /// The mean logarithm of the price at which every task would take `share`: where a cold search starts.
    pub(super) fn mean_log_price(&self, share: f64) -> Option<f64> {
        let log_share = share.ln();
        let power = self.power.level.iter().zip(&self.power.elasticity).map(|(&level, &elasticity)| (level - log_share) / elasticity);
        let exponential = self.exponential.level.iter().zip(&self.exponential.scale).map(|(&level, &scale)| level - share / scale);
        let stride = self.len().div_ceil(START_SAMPLE).max(1);
        let (mut total, mut taken) = (0.0, 0.0);
        for guess in power.step_by(stride).chain(exponential.step_by(stride)).filter(|guess| guess.is_finite()) {
            total += guess;
            taken += 1.0;
        }
        (taken > 0.0).then(|| total / taken)
    }

    /// Writes the spends at a price and adds up spend and value.
    ///
    /// Straight tasks that turn exactly here stay low and are handed to `tied` as task and room.
    pub(super) fn settle(&self, call: Call<'_>, spend: &mut [f64], settled: &mut Settled, tied: impl FnMut(usize, f64, f64)) {
        self.power.settle(call, spend, settled);
        self.exponential.settle(call, spend, settled);
        self.ramp.settle(call, spend, settled, tied);
    }
}

/// A cold search looks at about this many tasks for its first price.
const START_SAMPLE: usize = 64;

impl PowerBatch {
    fn respond(&self, log_price: f64, free: f64) -> Response {
        let mut total = Response::default();
        for (((&level, &elasticity), &low), &high) in self.level.iter().zip(&self.elasticity).zip(&self.low).zip(&self.high) {
            let wish = (level - elasticity * log_price).exp();
            let high = high.min(low + free);
            let inside = wish > low && wish < high;
            total.spend += wish.max(low).min(high);
            total.fall += if inside { elasticity * wish } else { 0.0 };
        }
        total
    }

    fn settle(&self, call: Call<'_>, spend: &mut [f64], settled: &mut Settled) {
        let Call { values, price, log_price, free } = call;
        for (position, &task) in self.task.iter().enumerate() {
            let task = task as usize;
            let wish = (self.level[position] - self.elasticity[position] * log_price).exp();
            let high = self.high[position].min(self.low[position] + free);
            let taken = wish.max(self.low[position]).min(high);
            let curve = &self.curve[position];
            spend[task] = taken;
            settled.spend.add(taken);
            if taken == wish {
                // On the curve's own slope: value = price * spend / exponent, without another power.
                settled.value.add(price * taken / curve.exponent());
                settled.offer(task, self.elasticity[position] * taken);
            } else {
                settled.value.add(values[task] * self.height[position] * curve.success(taken));
            }
        }
    }
}

impl ExponentialBatch {
    fn respond(&self, log_price: f64, free: f64) -> Response {
        let mut total = Response::default();
        for (((&level, &scale), &low), &high) in self.level.iter().zip(&self.scale).zip(&self.low).zip(&self.high) {
            let wish = scale * (level - log_price);
            let high = high.min(low + free);
            let inside = wish > low && wish < high;
            total.spend += wish.max(low).min(high);
            total.fall += if inside { scale } else { 0.0 };
        }
        total
    }

    fn settle(&self, call: Call<'_>, spend: &mut [f64], settled: &mut Settled) {
        let Call { values, price, log_price, free } = call;
        for (position, &task) in self.task.iter().enumerate() {
            let task = task as usize;
            let wish = self.scale[position] * (self.level[position] - log_price);
            let high = self.high[position].min(self.low[position] + free);
            let taken = wish.max(self.low[position]).min(high);
            let weight = values[task] * self.height[position];
            spend[task] = taken;
            settled.spend.add(taken);
            if taken == wish && taken > 0.5 * self.scale[position] {
                // On the curve's own slope: value = weight - price * scale, without another exponential (and, this far out,
                // without cancellation).
                settled.value.add(weight - price * self.scale[position]);
                settled.offer(task, self.scale[position]);
                continue;
            }
            if taken == wish {
                settled.offer(task, self.scale[position]);
            }
            settled.value.add(weight * self.curve[position].success(taken));
        }
    }
}

impl RampBatch {
    fn settle(&self, call: Call<'_>, spend: &mut [f64], settled: &mut Settled, mut tied: impl FnMut(usize, f64, f64)) {
        for (position, &task) in self.task.iter().enumerate() {
            let task = task as usize;
            let (low, turn) = (self.low[position], self.turn[position]);
            let high = self.high[position].min(low + call.free);
            let taken = if turn > call.price { high } else { low };
            if turn == call.price && turn > 0.0 && high > low {
                tied(task, low, high);
            }
            spend[task] = taken;
            settled.spend.add(taken);
            settled.value.add(turn * taken.min(self.full[position]));
        }
    }
}
