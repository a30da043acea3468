//! How smooth tasks respond around a multiplier that was tried: what the next multiplier is chosen
//! by.

use crate::oracle::batch::Response;
use crate::oracle::close::{exp, log_ratio};

/// How the smooth part goes on from a trial: part of it as a power of the multiplier, part of it
/// linearly in its logarithm. Exact for one power task, and for exponential tasks between their
/// bounds. S-shaped tasks are linear with a curvature.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::oracle) struct DemandModel {
    pub(in crate::oracle) power: Response,
    pub(in crate::oracle) linear: Response,
    /// By how much less the linear part decreases per unit of the logarithm.
    pub(in crate::oracle) curvature: f64,
}

impl DemandModel {
    pub(in crate::oracle) fn total(self) -> Response {
        Response {
            spend: self.power.spend + self.linear.spend,
            fall: self.power.fall + self.linear.fall,
        }
    }

    /// Spend and fall where the multiplier's logarithm is larger by `step`.
    pub(in crate::oracle) fn after(self, step: f64) -> Response {
        if step.abs() > MODEL_RANGE {
            // Far away linear tasks have met their bounds: all together are more like a power.
            return power_after(self.total(), step);
        }
        let power = power_after(self.power, step);
        if self.curvature == 0.0 {
            let linear = (self.linear.spend - self.linear.fall * step).max(0.0);
            return Response { spend: power.spend + linear, fall: power.fall + self.linear.fall };
        }
        // No curvature so strong that the fall nearly ends, or is many times what it was.
        let tilt =
            (self.curvature * step).min(0.75 * self.linear.fall).max(-3.0 * self.linear.fall);
        let linear = (self.linear.spend - (self.linear.fall - 0.5 * tilt) * step).max(0.0);
        Response { spend: power.spend + linear, fall: power.fall + (self.linear.fall - tilt) }
    }

    /// The step at which the spend is `target`.
    pub(in crate::oracle) fn step_to(self, target: f64) -> f64 {
        let all = self.total();
        if !(all.fall > 0.0 && all.spend > 0.0 && target > 0.0) {
            return f64::NAN;
        }
        let mut step = log_ratio(all.spend, target) * all.spend / all.fall;
        for _ in 0..MODEL_STEPS {
            if step.abs() > MODEL_RANGE {
                break;
            }
            // Newton on the logarithm of the spend.
            let Response { spend, fall } = self.after(step);
            let change = log_ratio(spend, target) * spend / fall;
            step += change;
            // What is left is the square of the change: less than the model itself is wrong by.
            if change.abs() < 0.03 * step.abs() {
                break;
            }
        }
        step
    }
}

/// A response that is a power of the multiplier, where the multiplier's logarithm is larger by
/// `step`.
fn power_after(here: Response, step: f64) -> Response {
    if !(here.spend > 0.0) {
        return here;
    }
    let decay = exp(-here.fall / here.spend * step);
    Response { spend: here.spend * decay, fall: here.fall * decay }
}

/// Steps of the multiplier's logarithm up to which linear tasks are taken to stay linear.
const MODEL_RANGE: f64 = 0.5;
/// Newton's method for a model needs two to four steps.
const MODEL_STEPS: usize = 8;
