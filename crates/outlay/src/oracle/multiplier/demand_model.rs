//! A local model of the smooth part of total demand, from which the next trial is chosen.

use crate::numeric::exp_log::{exp_near_zero, log_ratio};
use crate::oracle::concave::Demand;

/// Smooth demand as a function of the logarithm of the multiplier: one part is a power of the
/// multiplier, the other is linear in its logarithm, with a curvature for S-shaped tasks. The model
/// is exact for one power task and for exponential tasks between their bounds.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::oracle) struct DemandModel {
    pub(in crate::oracle) power: Demand,
    pub(in crate::oracle) linear: Demand,
    /// The decrease of the linear part's sensitivity per unit of the logarithm.
    pub(in crate::oracle) curvature: f64,
}

impl DemandModel {
    pub(in crate::oracle) fn total(self) -> Demand {
        Demand {
            spend: self.power.spend + self.linear.spend,
            sensitivity: self.power.sensitivity + self.linear.sensitivity,
        }
    }

    /// Demand and sensitivity where the logarithm of the multiplier is larger by `step`.
    pub(in crate::oracle) fn after(self, step: f64) -> Demand {
        if step.abs() > MODEL_RANGE {
            // Far away linear tasks have reached their bounds, and the total is closer to a power.
            return power_after(self.total(), step);
        }
        let power = power_after(self.power, step);
        if self.curvature == 0.0 {
            let linear = (self.linear.spend - self.linear.sensitivity * step).max(0.0);
            return Demand {
                spend: power.spend + linear,
                sensitivity: power.sensitivity + self.linear.sensitivity,
            };
        }
        // The curvature is limited so that the sensitivity stays positive and of the same order.
        let tilt = (self.curvature * step)
            .min(0.75 * self.linear.sensitivity)
            .max(-3.0 * self.linear.sensitivity);
        let linear = (self.linear.spend - (self.linear.sensitivity - 0.5 * tilt) * step).max(0.0);
        Demand {
            spend: power.spend + linear,
            sensitivity: power.sensitivity + (self.linear.sensitivity - tilt),
        }
    }

    /// The step at which demand is `target`.
    pub(in crate::oracle) fn step_to(self, target: f64) -> f64 {
        let all = self.total();
        if !(all.sensitivity > 0.0 && all.spend > 0.0 && target > 0.0) {
            return f64::NAN;
        }
        if let Some(step) = self.inverse_step_to(target) {
            return step;
        }
        let mut step = log_ratio(all.spend, target) * all.spend / all.sensitivity;
        for _ in 0..MODEL_STEPS {
            if step.abs() > MODEL_RANGE {
                break;
            }
            // Newton's method on the logarithm of demand.
            let Demand { spend, sensitivity } = self.after(step);
            let change = log_ratio(spend, target) * spend / sensitivity;
            step += change;
            // The remaining error is the square of the change: less than the error of the model.
            if change.abs() < 0.03 * step.abs() {
                break;
            }
        }
        step
    }

    /// The same by a model of the multiplier as a function of demand, if the sensitivity grows with
    /// the multiplier; none if the step is out of range.
    ///
    /// The demand of a logistic task starts like a square root. There its derivatives have no limit,
    /// but those of the inverse function have.
    fn inverse_step_to(self, target: f64) -> Option<f64> {
        if !(self.curvature < 0.0) {
            return None;
        }
        let Demand { spend, sensitivity } = self.total();
        let power = self.power.sensitivity / self.power.spend.max(f64::MIN_POSITIVE);
        let curvature = self.curvature + self.power.sensitivity * power;
        let tangent = (spend - target) / sensitivity;
        let bend = (0.5 * curvature * tangent / sensitivity).clamp(-MAX_BEND, MAX_BEND);
        let step = tangent * (1.0 + bend);
        (curvature < 0.0 && step.abs() <= INVERSE_RANGE).then(|| step.max(-MAX_DESCENT))
    }
}

/// Demand that is a power of the multiplier, after a step of the logarithm.
fn power_after(here: Demand, step: f64) -> Demand {
    if !(here.spend > 0.0) {
        return here;
    }
    let decay = exp_near_zero(-here.sensitivity / here.spend * step);
    Demand { spend: here.spend * decay, sensitivity: here.sensitivity * decay }
}

/// Steps of the logarithm up to which linear tasks are assumed to stay between their bounds.
const MODEL_RANGE: f64 = 0.5;
/// The longest step of the inverse model. Steps down are limited further, because tasks join there of
/// which the model does not know. With ten random logistic tasks these limits take fewer than five
/// trials on average (see the test), and the model of demand alone takes six.
const INVERSE_RANGE: f64 = 1.5;
const MAX_DESCENT: f64 = 0.2;
/// The largest relative correction of a step along the tangent.
const MAX_BEND: f64 = 0.5;
/// Newton's method for a model needs two to four steps.
const MODEL_STEPS: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Draws, Purpose};

    /// Widths and values of logistic tasks with their middle at zero.
    type Tasks = Vec<(f64, f64)>;

    fn tasks(seed: u64) -> Tasks {
        let draws = Draws::new(seed, Purpose::Instance);
        let uniform = |round: u64, task| draws.round(round).uniform(task);
        (0..10)
            .map(|task| (0.03 + 0.47 * uniform(1, task), 0.05 + 0.95 * uniform(2, task)))
            .collect()
    }

    fn demand(tasks: &Tasks, multiplier: f64) -> DemandModel {
        let mut model = DemandModel::default();
        for &(width, value) in tasks {
            let q = multiplier * 2.0 * width / value;
            if q < 1.0 {
                let success = (1.0 - q).sqrt();
                model.linear.spend += width * ((1.0 + success) / (1.0 - success)).ln();
                model.linear.sensitivity += width / success;
                model.curvature -= 0.5 * width * q / success.powi(3);
            }
        }
        model
    }

    /// Trials until the budget of one is met, with a bracket, from nine tenths of the mean
    /// multiplier at which a task takes a tenth of the budget.
    fn trials(tasks: &Tasks) -> usize {
        let at_share = |&(width, value): &(f64, f64)| {
            let success = (0.1 / (2.0 * width)).tanh();
            value / (2.0 * width) * (1.0 - success * success)
        };
        let mut multiplier = 0.9 * tasks.iter().map(at_share).sum::<f64>() / tasks.len() as f64;
        let (mut below, mut above) = (0.0, f64::INFINITY);
        for count in 1..100 {
            let model = demand(tasks, multiplier);
            let miss = model.linear.spend - 1.0;
            if miss.abs() <= 1e-9 {
                return count;
            }
            (below, above) = if miss > 0.0 { (multiplier, above) } else { (below, multiplier) };
            multiplier *= model.step_to(1.0).exp();
            if !(multiplier > below && multiplier < above) {
                multiplier = if above.is_finite() { 0.5 * (below + above) } else { 2.0 * below };
            }
        }
        100
    }

    #[test]
    fn few_trials_meet_the_budget_with_logistic_tasks() {
        let counts: Vec<usize> = (1..=400).map(|seed| trials(&tasks(seed))).collect();
        let mean = counts.iter().sum::<usize>() as f64 / counts.len() as f64;
        assert!(mean < 5.0, "{mean}");
        assert!(counts.iter().all(|&count| count < 40), "{counts:?}");
    }
}
