//! The log-likelihood of a model, its gradient, and Fisher's information.

use super::model::{CEILING, FLOOR, MAX_COORDINATES, Model, Point};
use super::observations::Observations;

/// A model with the log it is fitted to. Spends are multiples of the largest.
#[derive(Debug, Clone)]
pub(super) struct Likelihood {
    pub(super) model: Model,
    rows: Vec<Row>,
    limits: [(f64, f64); MAX_COORDINATES],
}

#[derive(Debug, Clone, Copy)]
struct Row {
    spend: f64,
    log_spend: f64,
    successes: f64,
    failures: f64,
}

/// The terms of a Fisher-scoring step.
#[derive(Debug, Clone, Copy)]
pub(super) struct Terms {
    pub(super) value: f64,
    pub(super) gradient: Point,
    pub(super) information: [[f64; MAX_COORDINATES]; MAX_COORDINATES],
}

impl Terms {
    pub(super) const ZERO: Self = Self {
        value: 0.0,
        gradient: [0.0; MAX_COORDINATES],
        information: [[0.0; MAX_COORDINATES]; MAX_COORDINATES],
    };

    /// Adds a row to the gradient and to the lower triangle of the information.
    pub(super) fn add(&mut self, pull: f64, weight: f64, slopes: &Point) {
        for one in 0..MAX_COORDINATES {
            self.gradient[one] += pull * slopes[one];
            for other in 0..=one {
                self.information[one][other] += weight * slopes[one] * slopes[other];
            }
        }
    }

    /// Copies the lower triangle of the information to the upper one.
    pub(super) fn mirror(&mut self) {
        for one in 0..MAX_COORDINATES {
            for other in 0..one {
                self.information[other][one] = self.information[one][other];
            }
        }
    }
}

/// A log-likelihood that can be maximised within limits.
pub(super) trait Objective {
    /// The search limits of each coordinate.
    fn limits(&self) -> &[(f64, f64); MAX_COORDINATES];

    /// The coordinate along which the likelihood is not twice differentiable, if there is one.
    fn kink(&self) -> Option<usize>;

    /// Whether a limit of the search is one of the parameter itself.
    fn is_natural_limit(&self, coordinate: usize, upper: bool) -> bool;

    /// The nearest point within the limits.
    fn within(&self, at: Point) -> Point;

    /// The log-likelihood with its gradient and Fisher's information.
    fn terms(&self, at: &Point) -> Terms;
}

/// Limits the weight of a row whose probability is near 0 or 1.
const LEAST_VARIANCE: f64 = 1e-12;

impl Likelihood {
    pub(super) fn new(model: Model, log: &Observations) -> Self {
        let row = |group: &super::Group| Row {
            spend: group.spend,
            log_spend: group.spend.ln(),
            successes: group.successes,
            failures: group.failures(),
        };
        let rows: Vec<Row> = log.groups().iter().map(row).collect();
        let log_least = rows.iter().find(|row| row.spend > 0.0).map_or(0.0, |row| row.log_spend);
        Self { model, rows, limits: model.limits(log_least) }
    }

    /// The same rows with other counts, for resampling: `weights` has one pair of successes and
    /// failures per row.
    pub(super) fn reweighted(&self, weights: &[(f64, f64)]) -> Self {
        let rows = self.rows.iter().zip(weights).map(|(row, &(successes, failures))| Row {
            successes,
            failures,
            ..*row
        });
        Self { rows: rows.collect(), ..self.clone() }
    }

    /// The log-likelihood; minus infinity if the log has an event of probability zero.
    pub(super) fn value(&self, at: &Point) -> f64 {
        let mut value = 0.0;
        for row in &self.rows {
            let chance = self.model.chance(row.spend, row.log_spend, at);
            value += weighted_log(row.successes, chance.success)
                + weighted_log(row.failures, chance.failure);
        }
        value
    }
}

impl Objective for Likelihood {
    fn limits(&self) -> &[(f64, f64); MAX_COORDINATES] {
        &self.limits
    }

    fn kink(&self) -> Option<usize> {
        self.model.shape.kink()
    }

    fn is_natural_limit(&self, coordinate: usize, upper: bool) -> bool {
        self.model.is_natural_limit(coordinate, upper)
    }

    fn within(&self, mut at: Point) -> Point {
        for (coordinate, (low, high)) in at.iter_mut().zip(self.limits) {
            *coordinate = coordinate.clamp(low, high);
        }
        at[FLOOR] = at[FLOOR].min(at[CEILING]);
        at
    }

    fn terms(&self, at: &Point) -> Terms {
        let mut terms = Terms::ZERO;
        for row in &self.rows {
            let chance = self.model.chance(row.spend, row.log_spend, at);
            terms.value += weighted_log(row.successes, chance.success)
                + weighted_log(row.failures, chance.failure);
            let (success, failure) =
                (chance.success.max(LEAST_VARIANCE), chance.failure.max(LEAST_VARIANCE));
            let pull = row.successes / success - row.failures / failure;
            let weight = (row.successes + row.failures) / (success * failure);
            terms.add(pull, weight, &chance.slopes);
        }
        terms.mirror();
        terms
    }
}

pub(super) fn weighted_log(count: f64, chance: f64) -> f64 {
    if count > 0.0 { count * chance.ln() } else { 0.0 }
}
