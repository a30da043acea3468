//! Hill curves, `x^s / (x^s + h^s)`: the saturation of media-mix models; S-shaped when `s > 1`.
//!
//! The formulas use `t = s ln(x/h)`, of which success is the logistic function, so that no
//! parameter overflows.

use serde::Serialize;

use super::{CurveError, require_amount, require_positive};

/// `x^s / (x^s + h^s)` with `h = half_at` and `s = steepness`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Hill {
    half_at: f64,
    steepness: f64,
}

impl Hill {
    pub(super) fn new(half_at: f64, steepness: f64) -> Result<Self, CurveError> {
        require_amount("half_at", half_at)?;
        require_positive("steepness", steepness)?;
        Ok(Self { half_at, steepness })
    }

    /// The spend at which success is one half.
    #[must_use]
    pub fn half_at(&self) -> f64 {
        self.half_at
    }

    /// The exponent `s`; above one the curve is S-shaped.
    #[must_use]
    pub fn steepness(&self) -> f64 {
        self.steepness
    }

    pub(crate) fn success(&self, spend: f64) -> f64 {
        let t = self.steepness * (spend / self.half_at).ln();
        1.0 / (1.0 + (-t).exp())
    }

    pub(crate) fn slope(&self, spend: f64) -> f64 {
        if spend == 0.0 {
            return match self.steepness.partial_cmp(&1.0) {
                Some(std::cmp::Ordering::Less) => f64::INFINITY,
                Some(std::cmp::Ordering::Equal) => 1.0 / self.half_at,
                _ => 0.0,
            };
        }
        self.log_slope(self.steepness * (spend / self.half_at).ln()).exp()
    }

    /// The logarithm of the slope at `t`: `ln(s/h) + (1 - 1/s) t - 2 ln(1 + e^t)`.
    fn log_slope(&self, t: f64) -> f64 {
        (self.steepness / self.half_at).ln() + (1.0 - 1.0 / self.steepness) * t - 2.0 * softplus(t)
    }

    /// The spend where the slope is largest; zero if the curve is concave.
    pub(crate) fn inflection(&self) -> f64 {
        if self.steepness <= 1.0 {
            return 0.0;
        }
        let odds = (self.steepness - 1.0) / (self.steepness + 1.0);
        self.half_at * (odds.ln() / self.steepness).exp()
    }

    /// The spend beyond the inflection where the slope is `slope` (the inflection if the curve is
    /// nowhere that steep), and its sensitivity `-dx/d ln(slope)`.
    ///
    /// On this branch the logarithm of the slope is concave and decreasing in `t`, so Newton's
    /// method from above stays above and converges monotonically. Two lines above it (`2 ln(1+e^t)`
    /// is at least `2t` and at least `2 ln 2 + t`) give the start.
    pub(crate) fn at_slope(&self, slope: f64) -> (f64, f64) {
        let s = self.steepness;
        let target = (slope * self.half_at / s).ln();
        if target == f64::NEG_INFINITY {
            return (f64::INFINITY, 0.0);
        }
        let lowest = if s > 1.0 { ((s - 1.0) / (s + 1.0)).ln() } else { f64::NEG_INFINITY };
        let mut t = (-target / (1.0 + 1.0 / s)).min(s * (-target - 2.0 * std::f64::consts::LN_2));
        let mut decrease = 0.0;
        for _ in 0..MAX_NEWTON_STEPS {
            if !(t > lowest) {
                return (self.inflection(), 0.0);
            }
            // e^t in a form that cannot overflow on either side.
            let small = (-t.abs()).exp();
            let share = if t > 0.0 { 1.0 / (1.0 + small) } else { small / (1.0 + small) };
            let excess = (1.0 - 1.0 / s) * t - 2.0 * (t.max(0.0) + small.ln_1p()) - target;
            decrease = 2.0 * share - (1.0 - 1.0 / s);
            let step = excess / decrease;
            t += step;
            // Convergence is quadratic: the error after a step this small is below rounding.
            if !(step.abs() > 1e-8 * t.abs().max(1.0)) {
                break;
            }
        }
        let spend = self.half_at * (t / s).exp();
        (spend, spend / (s * decrease))
    }
}

/// Newton's method takes four to seven steps. The limit stops it where rounding prevents
/// convergence.
const MAX_NEWTON_STEPS: usize = 40;

/// `ln(1 + e^t)` without overflow.
fn softplus(t: f64) -> f64 {
    t.max(0.0) + (-t.abs()).exp().ln_1p()
}
