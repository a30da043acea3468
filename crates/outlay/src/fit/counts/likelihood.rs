//! The Poisson log-likelihood of counts whose mean is the volume times a curve.
//!
//! The coordinates are those of [`Model`], except that the logarithm of the volume takes the place
//! of the ceiling. The volume is a multiple of the largest mean count, so it has no unit either.

use super::log::CountGroup;
use crate::Curve;
use crate::curve::CurveError;
use crate::fit::Parameter;
use crate::fit::likelihood::{Objective, Terms, weighted_log};
use crate::fit::model::{CEILING, MAX_COORDINATES, Model, Point, Shape};

/// The coordinate of the volume.
pub(super) const VOLUME: usize = CEILING;
/// The largest volume as a multiple of the largest mean count.
const MAX_VOLUME: f64 = 1e4;
/// The smallest mean of a row, as a multiple of the largest, for the gradient.
const LEAST_MEAN: f64 = 1e-12;

/// A model with the counts it is fitted to. Spends are multiples of `unit`.
#[derive(Debug, Clone)]
pub(super) struct CountLikelihood {
    model: Model,
    rows: Vec<Row>,
    limits: [(f64, f64); MAX_COORDINATES],
    unit: f64,
    /// The largest mean count.
    top: f64,
}

#[derive(Debug, Clone, Copy)]
struct Row {
    spend: f64,
    log_spend: f64,
    rows: f64,
    count: f64,
}

impl CountLikelihood {
    /// For groups by increasing spend.
    pub(super) fn new(model: Model, groups: &[CountGroup], unit: f64, top: f64) -> Self {
        let row = |group: &CountGroup| {
            let spend = group.spend / unit;
            Row { spend, log_spend: spend.ln(), rows: group.rows, count: group.count }
        };
        let rows: Vec<Row> = groups.iter().map(row).collect();
        let log_least = rows.iter().find(|row| row.spend > 0.0).map_or(0.0, |row| row.log_spend);
        Self { model, rows, limits: limits(&model, log_least), unit, top }
    }

    /// The fitted coordinates. The scale of a power curve is no parameter: only volume / scale^exponent
    /// matters.
    pub(super) fn free(&self) -> [bool; MAX_COORDINATES] {
        free(&self.model)
    }

    /// The expected count of a row, and its derivatives.
    fn mean(&self, row: &Row, at: &Point) -> (f64, Point) {
        let volume = self.top * at[VOLUME].exp();
        let mut shape = *at;
        shape[CEILING] = 1.0;
        let chance = self.model.chance(row.spend, row.log_spend, &shape);
        let mean = volume * chance.success;
        let mut slopes = chance.slopes.map(|slope| volume * slope);
        slopes[VOLUME] = mean;
        (mean, slopes)
    }

    /// The point with the most likely volume for the other coordinates.
    pub(super) fn with_best_volume(&self, mut at: Point) -> Point {
        at[VOLUME] = 0.0;
        at = self.within(at);
        let expected: f64 = self.rows.iter().map(|row| row.rows * self.mean(row, &at).0).sum();
        let count: f64 = self.rows.iter().map(|row| row.count).sum();
        at[VOLUME] = (count / expected).ln();
        self.within(at)
    }

    /// The volume at a point.
    pub(super) fn volume(&self, at: &Point) -> f64 {
        self.top * at[VOLUME].exp()
    }

    /// The curve at a point.
    pub(super) fn curve(&self, at: &Point) -> Result<Curve, CurveError> {
        let mut shape = *at;
        shape[CEILING] = 1.0;
        self.model.curve(&shape, self.unit)
    }

    /// A parameter in the user's unit from its coordinates.
    pub(super) fn parameter(
        &self,
        coordinate: usize,
        value: f64,
        low: Option<f64>,
        high: Option<f64>,
    ) -> Parameter {
        if coordinate != VOLUME {
            return self.model.parameter(coordinate, value, low, high, self.unit);
        }
        let number = |at: f64| self.top * at.exp();
        Parameter {
            name: "volume",
            value: number(value),
            low: low.map(number),
            high: high.map(number),
        }
    }

    /// Whether a free coordinate other than `except` is at a limit that only the search has.
    pub(super) fn is_at_search_limit(&self, at: &Point, except: usize) -> bool {
        const NEAR: f64 = 1e-6;
        let is_at = |coordinate: usize| {
            let (low, high) = self.limits[coordinate];
            (at[coordinate] <= low + NEAR && !self.is_natural_limit(coordinate, false))
                || (at[coordinate] >= high - NEAR && !self.is_natural_limit(coordinate, true))
        };
        let free = self.free();
        (0..MAX_COORDINATES)
            .any(|coordinate| coordinate != except && free[coordinate] && is_at(coordinate))
    }
}

impl Objective for CountLikelihood {
    fn limits(&self) -> &[(f64, f64); MAX_COORDINATES] {
        &self.limits
    }

    fn kink(&self) -> Option<usize> {
        self.model.shape.kink().filter(|_| self.model.shape == Shape::Saturating)
    }

    fn is_natural_limit(&self, coordinate: usize, upper: bool) -> bool {
        coordinate != VOLUME && self.model.is_natural_limit(coordinate, upper)
    }

    fn within(&self, mut at: Point) -> Point {
        for (coordinate, (low, high)) in at.iter_mut().zip(self.limits) {
            *coordinate = coordinate.clamp(low, high);
        }
        at
    }

    fn terms(&self, at: &Point) -> Terms {
        let mut terms = Terms::ZERO;
        for row in &self.rows {
            let (mean, slopes) = self.mean(row, at);
            terms.value += weighted_log(row.count, mean) - row.rows * mean;
            let mean = mean.max(LEAST_MEAN * self.top);
            terms.add(row.count / mean - row.rows, row.rows / mean, &slopes);
        }
        terms.mirror();
        terms
    }
}

/// The fitted coordinates of a model of counts.
pub(super) fn free(model: &Model) -> [bool; MAX_COORDINATES] {
    let mut free = model.free();
    free[1] &= model.shape != Shape::Power;
    free[VOLUME] = true;
    free
}

/// The search limits of each coordinate. Where the counts are proportional to the spend, volume and
/// scale grow together without limit, so both end where the curve is straight over the whole log.
fn limits(model: &Model, log_least: f64) -> [(f64, f64); MAX_COORDINATES] {
    let least = log_least.max(-25.0);
    let shape = match model.shape {
        Shape::Power => [(1e-3, 1.0), (0.0, 0.0)],
        // A kink beyond the largest spend cannot be seen.
        Shape::Saturating => [(least - 3.0, 0.0), (0.0, 0.0)],
        Shape::Exponential => [(least - 5.0, 5.0), (0.0, 0.0)],
        Shape::Hill => [(least - 5.0, 3.0), (0.05_f64.ln(), 50_f64.ln())],
        Shape::Logistic => [(0.0, 10.0), (least - 5.0, 4.0)],
    };
    [shape[0], shape[1], (-7.0, MAX_VOLUME.ln()), (0.0, 0.999)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::CountLog;

    #[test]
    fn gradients_are_the_derivatives() {
        let log = CountLog::new([(0.0, 1.0), (5.0, 3.0), (20.0, 9.0), (50.0, 12.0)]).unwrap();
        for (shape, at) in [
            (Shape::Power, [0.6, 0.0, 0.3, 0.1]),
            (Shape::Saturating, [-0.2, 0.0, 0.3, 0.1]),
            (Shape::Exponential, [-0.7, 0.0, 0.3, 0.1]),
            (Shape::Hill, [-0.5, 0.9, 0.3, 0.1]),
            (Shape::Logistic, [0.4, -1.5, 0.3, 0.1]),
        ] {
            let model = Model { shape, ceiling: false, floor: true };
            let likelihood = CountLikelihood::new(model, log.groups(), 50.0, 12.0);
            let gradient = likelihood.terms(&at).gradient;
            for coordinate in (0..MAX_COORDINATES).filter(|&one| likelihood.free()[one]) {
                let moved = |step: f64| {
                    let mut at = at;
                    at[coordinate] += step;
                    likelihood.terms(&at).value
                };
                let difference = (moved(1e-6) - moved(-1e-6)) / 2e-6;
                assert!(
                    (gradient[coordinate] - difference).abs() < 1e-6,
                    "{shape:?} {coordinate}: {} {difference}",
                    gradient[coordinate]
                );
            }
        }
    }

    #[test]
    fn the_best_volume_gives_the_total_count() {
        let log = CountLog::new([(5.0, 3.0), (20.0, 9.0), (50.0, 12.0)]).unwrap();
        let model = Model { shape: Shape::Exponential, ceiling: false, floor: false };
        let likelihood = CountLikelihood::new(model, log.groups(), 50.0, 12.0);
        let at = likelihood.with_best_volume([-0.5, 0.0, 0.0, 0.0]);
        let curve = likelihood.curve(&at).unwrap();
        let expected: f64 = log
            .groups()
            .iter()
            .map(|group| likelihood.volume(&at) * curve.success(group.spend))
            .sum();
        assert!((expected - 24.0).abs() < 1e-9, "{expected}");
    }
}
