//! Total demand of concave tasks in a window of multipliers, and where it meets the budget.

use crate::numeric::exp_log::{exp_near_zero, log_ratio};

/// Total demand above the lower bounds as a function of the multiplier, in a window around a point:
/// tasks that stay between their bounds throughout the window as sums, tasks that stay at a bound
/// as a constant, the few others one by one.
#[derive(Debug, Default)]
pub(super) struct Expansion {
    /// Demand that does not depend on the power tasks, at the point.
    pub(super) constant: f64,
    /// Sums over power tasks of demand * elasticity^n.
    pub(super) moments: [f64; 5],
    /// Sensitivity of the exponential tasks.
    pub(super) slope: f64,
    pub(super) crossings: Vec<BoundCrossing>,
    pub(super) linear: Vec<LinearTask>,
    /// No value is negative, infinite or NaN.
    pub(super) are_values_valid: bool,
}

/// A smooth task that meets a bound within the window.
#[derive(Debug, Clone, Copy)]
pub(super) struct BoundCrossing {
    pub(super) demand: SmoothDemand,
    pub(super) low: f64,
    pub(super) high: f64,
}

/// The demand of a smooth task at the point, before its bounds.
#[derive(Debug, Clone, Copy)]
pub(super) enum SmoothDemand {
    Power { demand: f64, elasticity: f64 },
    Exponential { level: f64, scale: f64 },
    Hill { demand: f64, shape: f64, success: f64, rest: f64 },
    Hyperbolic { reach: f64, half_at: f64 },
    Logistic { relative_slope: f64, width: f64 },
}

/// A linear task whose threshold multiplier is within the window.
#[derive(Debug, Clone, Copy)]
pub(super) struct LinearTask {
    pub(super) threshold: f64,
    pub(super) value: f64,
    pub(super) task: usize,
    pub(super) low: f64,
    pub(super) high: f64,
}

impl LinearTask {
    /// What the task can take above its lower bound.
    pub(super) fn capacity(&self) -> f64 {
        self.high - self.low
    }
}

/// Where the budget is met, as a step of the multiplier's logarithm from the point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Root {
    /// Within the window; with the multiplier itself if it is the threshold of linear tasks.
    Inside { step: f64, threshold: Option<f64> },
    /// Outside the window, about so far away; the next window should have this width.
    Outside { step: f64, width: f64 },
    /// The expansion does not tell.
    Unknown,
}

const MAX_NEWTON_STEPS: usize = 60;
/// Newton's method squares the error: after a step this small the next one is below rounding.
const LAST_NEWTON_STEP: f64 = 1e-9;

impl Expansion {
    /// Empties it; lists keep their memory.
    pub(super) fn clear(&mut self) {
        (self.constant, self.moments, self.slope) = (0.0, [0.0; 5], 0.0);
        self.crossings.clear();
        self.linear.clear();
        self.are_values_valid = true;
    }

    /// Adds the expansion of another block.
    pub(super) fn merge(&mut self, other: &Self) {
        self.constant += other.constant;
        self.slope += other.slope;
        self.are_values_valid &= other.are_values_valid;
        for (moment, other) in self.moments.iter_mut().zip(other.moments) {
            *moment += other;
        }
        self.crossings.extend_from_slice(&other.crossings);
        self.linear.extend_from_slice(&other.linear);
    }

    /// How many tasks change their state within the window.
    pub(super) fn undecided(&self) -> usize {
        self.crossings.len() + self.linear.len()
    }

    /// How fast demand falls with the multiplier's logarithm a step away from the point. Linear tasks
    /// with a threshold in the window are spread over it.
    pub(super) fn sensitivity(&self, step: f64, width: f64) -> f64 {
        self.smooth_demand(step).1 + self.linear_capacity() / (2.0 * width)
    }

    /// Where demand is `free`. The window reaches `width` to both sides of `multiplier`.
    pub(super) fn solve(&mut self, free: f64, multiplier: f64, width: f64) -> Root {
        if self.undecided() == 0 {
            return self.solve_smooth(free, -width, width).map_or_else(
                || self.extrapolate(free, multiplier, width),
                |step| Root::Inside { step, threshold: None },
            );
        }
        self.linear.sort_unstable_by(|a, b| {
            b.threshold
                .total_cmp(&a.threshold)
                .then(b.value.total_cmp(&a.value))
                .then(a.task.cmp(&b.task))
        });
        let most = self.smooth_demand(-width).0 + self.linear_capacity();
        if !(self.smooth_demand(width).0 <= free && most >= free) {
            return self.extrapolate(free, multiplier, width);
        }
        self.solve_with_thresholds(free, multiplier, width)
    }

    /// Thresholds in descending order: the root is at one of them or between two.
    fn solve_with_thresholds(&self, free: f64, multiplier: f64, width: f64) -> Root {
        let (mut above, mut taken) = (width, 0.0);
        let mut rest = &self.linear[..];
        let capacity = |tasks: &[LinearTask]| tasks.iter().map(LinearTask::capacity).sum::<f64>();
        while !rest.is_empty() {
            let middle = rest[rest.len() / 2].threshold;
            let from = rest.partition_point(|task| task.threshold > middle);
            let to = rest.partition_point(|task| task.threshold >= middle);
            let step = log_ratio(middle, multiplier).clamp(-width, width);
            let before = taken + capacity(&rest[..from]);
            let tied = capacity(&rest[from..to]);
            let low = before + self.smooth_demand(step).0;
            if low > free {
                // Too much even without the tied tasks: the root is at a higher multiplier.
                rest = &rest[..from];
            } else if low + tied < free {
                (above, taken, rest) = (step, before + tied, &rest[to..]);
            } else {
                return Root::Inside { step, threshold: Some(middle) };
            }
        }
        match self.solve_smooth(free - taken, -width, above) {
            Some(step) => Root::Inside { step, threshold: None },
            None => self.extrapolate(free, multiplier, width),
        }
    }

    /// Where the smooth demand is `target`, between two steps; none if the root is beyond them.
    fn solve_smooth(&self, target: f64, low: f64, high: f64) -> Option<f64> {
        let (mut below, mut above) = (low, high);
        let mut step = self.reversed_series(target).clamp(low, high);
        for _ in 0..MAX_NEWTON_STEPS {
            let (demand, sensitivity) = self.smooth_demand(step);
            let excess = demand - target;
            if excess > 0.0 {
                below = step;
            } else {
                above = step;
            }
            let newton = step + excess / sensitivity;
            if newton >= below && newton <= above {
                if (newton - step).abs() <= LAST_NEWTON_STEP {
                    return Some(newton);
                }
                step = newton;
                continue;
            }
            let (end, is_open) =
                if excess > 0.0 { (high, above == high) } else { (low, below == low) };
            if is_open && (self.smooth_demand(end).0 - target) * excess > 0.0 {
                return None;
            }
            let middle = 0.5 * (below + above);
            if middle == step {
                return Some(step);
            }
            step = middle;
        }
        Some(step)
    }

    /// The first terms of the inverse of the smooth demand; zero if they are not accurate.
    fn reversed_series(&self, target: f64) -> f64 {
        if !self.crossings.is_empty() {
            return 0.0;
        }
        let [total, first, second, third, _] = self.moments;
        let inverse = 1.0 / (first + self.slope);
        let newton = (self.constant + total - target) * inverse;
        let (a, b) = (0.5 * second * inverse, (1.0 / 6.0) * third * inverse);
        let step = newton * (1.0 + newton * (a + newton * (2.0 * a * a - b)));
        if (a * newton).abs() < 0.1 { step } else { 0.0 }
    }

    /// About where demand is `free`, outside the window.
    fn extrapolate(&self, free: f64, multiplier: f64, width: f64) -> Root {
        let taken = self.linear.iter().filter(|task| task.threshold > multiplier);
        let total = self.smooth_demand(0.0).0 + taken.map(LinearTask::capacity).sum::<f64>();
        let sensitivity = self.sensitivity(0.0, width);
        if !(sensitivity > 0.0) {
            // Nothing moves in this window: look at the next one, and further.
            let step = if total > free { 4.0 * width } else { -4.0 * width };
            return Root::Outside { step, width: 4.0 * width };
        }
        let step = if total > 0.0 {
            log_ratio(total, free) * total / sensitivity
        } else {
            (total - free) / sensitivity
        };
        if step.is_finite() {
            Root::Outside { step, width: 0.125 * step.abs() }
        } else {
            Root::Unknown
        }
    }

    fn linear_capacity(&self) -> f64 {
        self.linear.iter().map(LinearTask::capacity).sum()
    }

    /// Demand of all but the listed linear tasks, and its sensitivity, a step away from the point.
    #[inline(always)]
    fn smooth_demand(&self, step: f64) -> (f64, f64) {
        let [total, first, second, third, fourth] = self.moments;
        let x = -step;
        let (third, fourth) = (third * (1.0 / 6.0), fourth * (1.0 / 24.0));
        let power = total + x * (first + x * (0.5 * second + x * (third + x * fourth)));
        let slope = first + x * (second + x * (3.0 * third + x * (4.0 * fourth)));
        let demand = self.constant + power - self.slope * step;
        let sensitivity = slope + self.slope;
        if self.crossings.is_empty() {
            return (demand, sensitivity);
        }
        self.add_crossings(step, demand, sensitivity)
    }

    /// Adds the demand of the tasks that meet a bound within the window.
    #[cold]
    fn add_crossings(&self, step: f64, mut demand: f64, mut sensitivity: f64) -> (f64, f64) {
        for crossing in &self.crossings {
            let (free, falls) = crossing.demand.after(step);
            let taken = free.clamp(crossing.low, crossing.high);
            demand += taken - crossing.low;
            sensitivity += if taken == free { falls } else { 0.0 };
        }
        (demand, sensitivity)
    }
}

impl SmoothDemand {
    /// Demand and sensitivity a step away from the point.
    fn after(self, step: f64) -> (f64, f64) {
        match self {
            Self::Power { demand, elasticity } => {
                let demand = demand * exp_near_zero(-elasticity * step);
                (demand, elasticity * demand)
            }
            Self::Exponential { level, scale } => (scale * (level - step), scale),
            Self::Hill { demand, shape, success, rest } => {
                hill_after(demand, shape, (success, rest), step)
            }
            Self::Hyperbolic { reach, half_at } => {
                let reach = reach * exp_near_zero(-0.5 * step);
                (reach - half_at, 0.5 * reach)
            }
            Self::Logistic { relative_slope, width } => {
                let success = (1.0 - relative_slope * exp_near_zero(step)).max(0.0).sqrt();
                let falls = if success > 0.0 { width / success } else { 0.0 };
                (2.0 * width * success.atanh(), falls)
            }
        }
    }
}

/// Demand and sensitivity of a Hill task a step away from the point, where its success and one less
/// it are given: Newton's method for the change of its log odds.
fn hill_after(demand: f64, shape: f64, (success, rest): (f64, f64), step: f64) -> (f64, f64) {
    let (mut change, mut rate) = (0.0, 1.0 / (shape + 2.0 * success));
    for _ in 0..MAX_HILL_STEPS {
        let grown = success * exp_near_zero(change);
        let missing = -step - shape * change - 2.0 * log_ratio(rest + grown, 1.0);
        rate = 1.0 / (shape + 2.0 * grown / (rest + grown));
        change += rate * missing;
        if !((rate * missing).abs() > LAST_NEWTON_STEP) {
            break;
        }
    }
    let demand = demand * exp_near_zero((1.0 + shape) * change);
    (demand, (1.0 + shape) * rate * demand)
}

/// The equation is convex and a window narrow: three or four steps are enough.
const MAX_HILL_STEPS: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    /// The remainder of the series of `exp(-x)` after the fourth power is at most
    /// `|x|^5 / 120 * exp(|x|)`.
    #[test]
    fn smooth_demand_is_the_taylor_series_of_the_demand() {
        let (demands, elasticities) = ([0.3, 1.1, 0.02, 2.0], [1.05, 1.6, 3.0, 4.5_f64]);
        let tasks = || demands.into_iter().zip(elasticities);
        let mut expansion = Expansion { constant: 0.4, slope: 0.7, ..Expansion::default() };
        for (power, moment) in (0i32..).zip(&mut expansion.moments) {
            *moment = tasks().map(|(demand, elasticity)| demand * elasticity.powi(power)).sum();
        }
        for step in [-0.05, -0.01, 0.0, 1e-4, 0.02, 0.05_f64] {
            let (demand, sensitivity) = expansion.smooth_demand(step);
            let (mut exact, mut exact_sensitivity) = (0.4 - 0.7 * step, 0.7);
            let (mut error, mut sensitivity_error) = (1e-14, 1e-14);
            for (demand, elasticity) in tasks() {
                let x = elasticity * step;
                exact += demand * (-x).exp();
                exact_sensitivity += demand * elasticity * (-x).exp();
                error += demand * x.abs().powi(5) / 120.0 * x.abs().exp();
                sensitivity_error += demand * elasticity * x.powi(4) / 24.0 * x.abs().exp();
            }
            assert!((demand - exact).abs() <= error, "{step}: {demand}, {exact}");
            assert!((sensitivity - exact_sensitivity).abs() <= sensitivity_error, "{step}");
        }
    }
}
