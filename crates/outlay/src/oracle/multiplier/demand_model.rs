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
/// Newton's method for a model needs two to four steps.
const MODEL_STEPS: usize = 8;
