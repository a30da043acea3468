//! Intervals by profile likelihood.

use super::fisher_scoring::{Maximum, maximize, solve};
use super::likelihood::Objective;
use super::model::{MAX_COORDINATES, Point};

/// The profile likelihood around a maximum.
#[derive(Debug)]
pub(super) struct Profile<'a, O> {
    objective: &'a O,
    maximum: Maximum,
    free: [bool; MAX_COORDINATES],
    widths: Point,
    /// Twice the decrease of the log-likelihood at the ends of an interval.
    fall: f64,
}

impl<'a, O: Objective> Profile<'a, O> {
    pub(super) fn new(
        objective: &'a O,
        maximum: Maximum,
        free: [bool; MAX_COORDINATES],
        fall: f64,
    ) -> Self {
        Self {
            widths: standard_errors(objective, &maximum.at, free),
            objective,
            maximum,
            free,
            fall,
        }
    }

    /// The interval of a coordinate. An end is `None` if it is beyond the limits of the search,
    /// unless the limit is natural to the parameter.
    pub(super) fn interval(&self, coordinate: usize) -> (Option<f64>, Option<f64>) {
        (self.end(coordinate, false).0, self.end(coordinate, true).0)
    }

    /// The end of the interval, and the point that maximises the likelihood there.
    pub(super) fn end(&self, coordinate: usize, upper: bool) -> (Option<f64>, Point) {
        let (low, high) = self.objective.limits()[coordinate];
        let limit = if upper { high } else { low };
        let (best, width) = (self.maximum.at[coordinate], self.widths[coordinate]);
        let mut free = self.free;
        free[coordinate] = false;
        // Twice the decrease, maximised over the other coordinates; each search starts where the
        // last one ended.
        let mut at = self.maximum.at;
        let fall = |to: f64, at: &mut Point| {
            let mut start = *at;
            start[coordinate] = to;
            let found = maximize(self.objective, start, free);
            if found.value.is_finite() {
                *at = found.at;
            }
            2.0 * (self.maximum.value - found.value)
        };
        let (mut inside, mut step) = ((best, 0.0), 2.0 * width);
        let outside = loop {
            let next =
                if upper { (inside.0 + step).min(limit) } else { (inside.0 - step).max(limit) };
            let fallen = if inside.0 == limit { self.fall } else { fall(next, &mut at) };
            if !(fallen < self.fall) {
                break (next, fallen);
            }
            (inside, step) = ((next, fallen), 2.0 * step);
        };
        if inside.0 == limit {
            let natural = self.objective.is_natural_limit(coordinate, upper);
            return (natural.then_some(limit), at);
        }
        let end = narrowed(inside, outside, 1e-3 * width, self.fall, |to| fall(to, &mut at));
        (Some(end), at)
    }
}

/// Standard errors by Fisher's information, the starting points for the ends of the intervals.
fn standard_errors(objective: &impl Objective, at: &Point, free: [bool; MAX_COORDINATES]) -> Point {
    let mut information = objective.terms(at).information;
    for one in 0..MAX_COORDINATES {
        if !free[one] {
            information[one] = [0.0; MAX_COORDINATES];
            (0..MAX_COORDINATES).for_each(|other| information[other][one] = 0.0);
            information[one][one] = 1.0;
        }
        information[one][one] *= 1.0 + 1e-9;
    }
    std::array::from_fn(|coordinate| {
        let mut unit = [0.0; MAX_COORDINATES];
        unit[coordinate] = 1.0;
        let variance = solve(information, unit)[coordinate];
        if variance > 0.0 && variance.is_finite() { variance.sqrt().clamp(1e-6, 2.0) } else { 0.1 }
    })
}

/// The point where the decrease reaches the limit, between a point inside and one outside. Its
/// square root is nearly linear, so regula falsi is used, with bisection if one end stays.
fn narrowed(
    mut inside: (f64, f64),
    mut outside: (f64, f64),
    enough: f64,
    limit: f64,
    mut fall: impl FnMut(f64) -> f64,
) -> f64 {
    const STEPS: usize = 40;
    let excess = |fallen: f64| fallen.max(0.0).sqrt() - limit.sqrt();
    for step in 0..STEPS {
        if (outside.0 - inside.0).abs() < enough {
            break;
        }
        let share = excess(inside.1) / (excess(inside.1) - excess(outside.1));
        let usable = share.is_finite() && step % 3 != 2;
        let share = if usable { share.clamp(0.02, 0.98) } else { 0.5 };
        let next = inside.0 + share * (outside.0 - inside.0);
        let fallen = fall(next);
        if (excess(fallen)).abs() < 1e-4 {
            return next;
        }
        if fallen < limit { inside = (next, fallen) } else { outside = (next, fallen) }
    }
    0.5 * (inside.0 + outside.0)
}
