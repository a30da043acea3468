//! The concave remainder: the best value of the concave tasks as a function of their budget.
//!
//! `V(r)` is concave and nondecreasing. One relaxation of the concave tasks alone gives its value
//! at a budget and, by its multiplier, a line that is nowhere below `V`. The lines found so far
//! bound `V` from above; further ones are added where a label needs them.

use crate::oracle::multiplier::{Relaxation, View};
use crate::oracle::tolerances::BOUND_ROUNDING;

/// A line that is nowhere below the value of the remainder.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line {
    /// The budget at which it was found.
    pub(super) at: f64,
    pub(super) slope: f64,
    pub(super) intercept: f64,
}

impl Line {
    pub(super) fn value(&self, budget: f64) -> f64 {
        self.intercept + self.slope * budget
    }

    /// The budget at which two lines meet.
    fn meets(&self, other: &Self) -> f64 {
        (other.intercept - self.intercept) / (self.slope - other.slope)
    }
}

/// The concave tasks of a call with the buffers of their relaxation.
pub(super) struct ConcavePart<'a> {
    /// The concave tasks alone.
    pub(super) view: View<'a>,
    pub(super) relaxation: &'a mut Relaxation,
    pub(super) spend: &'a mut [f64],
    /// Whether there are no such tasks.
    pub(super) is_empty: bool,
}

impl ConcavePart<'_> {
    /// The value of the best allocation of `budget` to the concave tasks, which is left in `spend`,
    /// and a line above the value of all budgets.
    pub(super) fn solve(&mut self, budget: f64, start: f64) -> (f64, Option<Line>) {
        if self.is_empty {
            return (0.0, None);
        }
        let view = View { residual: budget, ..self.view };
        let relaxed = self.relaxation.solve(view, Some(start), f64::NEG_INFINITY, self.spend);
        let line = (budget > 0.0).then(|| {
            let slope = relaxed.multiplier;
            // One more rounding than the bound already covers.
            let rounding = 2.0 * f64::EPSILON * (relaxed.bound + slope * budget);
            Line { at: budget, slope, intercept: relaxed.bound - slope * budget + rounding }
        });
        (relaxed.value, line)
    }
}

/// The lines above the value of the remainder, by increasing budget and decreasing slope.
#[derive(Debug, Default)]
pub(super) struct Remainder {
    pub(super) lines: Vec<Line>,
    /// The largest budget.
    end: f64,
}

/// The first lines are found at distances from the budget of the relaxation that shrink by this
/// factor: the error of the bound is then a share of the distance from the first line.
const SHRINK: f64 = 0.25;
const FIRST_LINES: i32 = 10;
/// One line is found at this share of the budget: it is steep enough for a remainder of nothing.
const NEAR_ZERO: f64 = 1e-9;
/// Beyond this many lines no further ones are kept.
const MAX_LINES: usize = 4096;
/// A negative budget above this share of the largest one is zero.
const ROUNDING: f64 = 1e-9;
/// Steps of Kelley's method, which converges in about ten.
const MAX_STEPS: usize = 40;

impl Remainder {
    /// Starts with lines around the budget `center`, up to the budget `end`.
    pub(super) fn start(
        &mut self,
        part: &mut ConcavePart<'_>,
        center: f64,
        end: f64,
        multiplier: f64,
    ) {
        self.lines.clear();
        self.end = end;
        if part.is_empty {
            self.lines.push(Line { at: 0.0, slope: 0.0, intercept: 0.0 });
            return;
        }
        let near_zero = NEAR_ZERO * end;
        self.add(part.solve(near_zero, multiplier).1);
        self.add(part.solve(center.clamp(near_zero, end), multiplier).1);
        for step in 0..FIRST_LINES {
            let distance = end * SHRINK.powi(step);
            for at in [center - distance, center + distance] {
                if at > 0.0 && at <= end {
                    self.add(part.solve(at, multiplier).1);
                }
            }
        }
    }

    pub(super) fn add(&mut self, line: Option<Line>) {
        let Some(line) = line.filter(|_| self.lines.len() < MAX_LINES) else { return };
        let place = self.lines.partition_point(|other| other.at < line.at);
        // Slopes are kept in order in spite of rounding.
        let is_after = place.checked_sub(1).is_none_or(|left| self.lines[left].slope > line.slope);
        let is_before = self
            .lines
            .get(place)
            .is_none_or(|other| other.at > line.at && other.slope < line.slope);
        if is_after && is_before {
            self.lines.insert(place, line);
        }
    }

    /// The place of a budget among those of the lines.
    pub(super) fn place(&self, budget: f64) -> usize {
        self.lines.partition_point(|line| line.at <= budget)
    }

    /// A budget at which the value of the remainder less `multiplier` per unit is largest by the
    /// lines, and an upper bound on that largest surplus.
    pub(super) fn best_surplus(&self, multiplier: f64) -> (f64, f64) {
        let place = self.lines.partition_point(|line| line.slope > multiplier);
        let (left, right) =
            (place.checked_sub(1).map(|left| self.lines[left]), self.lines.get(place));
        // The left line bounds the surplus up to the meeting point, the right one beyond it.
        let (at, value) = match (left, right) {
            (Some(left), Some(right)) => match left.meets(right) {
                meet if meet >= self.end => (self.end, left.value(self.end)),
                meet if meet > 0.0 => (meet, left.value(meet).max(right.value(meet))),
                _ => (0.0, right.value(0.0)),
            },
            (Some(left), None) => (self.end, left.value(self.end)),
            (None, right) => (0.0, right.map_or(0.0, |line| line.value(0.0))),
        };
        (at, value - multiplier * at)
    }

    /// The budgets around the best one that differ from the largest one by multiples of a unit.
    fn multiples(&self, multiplier: f64, unit: f64) -> impl Iterator<Item = f64> + use<> {
        let (end, middle) = (self.end, self.best_surplus(multiplier).0);
        let count = ((end - middle) / unit).round();
        let budget = move |offset: f64| end - (count + offset) * unit;
        [-1.0, 0.0, 1.0]
            .into_iter()
            .map(budget)
            .filter(move |&budget| budget <= end && budget > -ROUNDING * end)
            .map(|budget| budget.max(0.0))
    }

    /// Adds lines at the multiples of a unit around the best budget.
    pub(super) fn refine_multiples(
        &mut self,
        part: &mut ConcavePart<'_>,
        multiplier: f64,
        unit: f64,
    ) {
        for budget in self.multiples(multiplier, unit) {
            self.add(part.solve(budget, multiplier).1);
        }
    }

    /// A lower bound on the penalty of a remainder, at this multiplier and largest surplus, if what
    /// the other tasks spend is a multiple of a unit. The penalty is convex, so the multiples next to
    /// the best budget decide.
    pub(super) fn multiples_penalty(&self, multiplier: f64, surplus: f64, unit: f64) -> f64 {
        let value = |budget: f64| {
            self.lines.iter().map(|line| line.value(budget)).fold(f64::INFINITY, f64::min)
        };
        let penalty = |budget: f64| surplus + multiplier * budget - value(budget);
        let least = self.multiples(multiplier, unit).map(penalty).fold(f64::INFINITY, f64::min);
        let rounding = BOUND_ROUNDING * (surplus.abs() + multiplier * self.end);
        if least.is_finite() { (least - rounding).max(0.0) } else { 0.0 }
    }

    /// An upper bound on the largest surplus that no further line lowers noticeably.
    pub(super) fn tight_surplus(&mut self, part: &mut ConcavePart<'_>, multiplier: f64) -> f64 {
        for _ in 0..MAX_STEPS {
            let (at, surplus) = self.best_surplus(multiplier);
            if part.is_empty || at <= 0.0 {
                return surplus;
            }
            let (value, line) = part.solve(at, multiplier);
            let excess = surplus - (value - multiplier * at);
            let lines = self.lines.len();
            self.add(line);
            if excess <= 64.0 * f64::EPSILON * (value + multiplier * at)
                || self.lines.len() == lines
            {
                return self.best_surplus(multiplier).1;
            }
        }
        self.best_surplus(multiplier).1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tangents of `sqrt(r)` at some budgets up to ten.
    fn square_root() -> Remainder {
        let line = |at: f64| Line { at, slope: 0.5 / at.sqrt(), intercept: 0.5 * at.sqrt() };
        Remainder {
            lines: (1..=100).map(|tenth| line(0.1 * f64::from(tenth))).collect(),
            end: 10.0,
        }
    }

    /// The penalty at every multiple of the unit, and the least of them.
    #[test]
    fn the_penalty_of_multiples_is_the_least_of_all_multiples() {
        let remainder = square_root();
        let mut positive = 0;
        for unit in [0.7, 1.3, 2.4, 3.9, 10.0] {
            for multiplier in [0.16, 0.17, 0.2, 0.25, 0.31, 0.5, 1.0] {
                let surplus = remainder.best_surplus(multiplier).1;
                let least = (0..=14)
                    .map(|count| 10.0 - f64::from(count) * unit)
                    .filter(|budget| *budget >= 0.0)
                    .map(|budget| {
                        let values = remainder.lines.iter().map(|line| line.value(budget));
                        surplus + multiplier * budget - values.fold(f64::INFINITY, f64::min)
                    })
                    .fold(f64::INFINITY, f64::min);
                let penalty = remainder.multiples_penalty(multiplier, surplus, unit);
                assert!((penalty - least).abs() <= 1e-13, "{unit} {multiplier}: {penalty} {least}");
                // A bound must not be lowered by more than the least penalty.
                assert!(penalty <= least, "{unit} {multiplier}: {penalty} {least}");
                positive += usize::from(penalty > 1e-3);
            }
        }
        assert!(positive >= 20, "{positive}");
    }
}
