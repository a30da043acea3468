//! The log-likelihood of a model, its gradient, and Fisher's information.

use super::model::{CEILING, FLOOR, MAX_COORDINATES, Model, Point};
use super::observations::Observations;

/// A model with the log it is fitted to. Spends are multiples of the largest.
#[derive(Debug, Clone)]
pub(super) struct Likelihood {
    pub(super) model: Model,
    rows: Vec<Row>,
    pub(super) limits: [(f64, f64); MAX_COORDINATES],
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

    /// The nearest point within the limits.
    pub(super) fn within(&self, mut at: Point) -> Point {
        for (coordinate, (low, high)) in at.iter_mut().zip(self.limits) {
            *coordinate = coordinate.clamp(low, high);
        }
        at[FLOOR] = at[FLOOR].min(at[CEILING]);
        at
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

    pub(super) fn terms(&self, at: &Point) -> Terms {
        let mut terms = Terms {
            value: 0.0,
            gradient: [0.0; MAX_COORDINATES],
            information: [[0.0; MAX_COORDINATES]; MAX_COORDINATES],
        };
        for row in &self.rows {
            let chance = self.model.chance(row.spend, row.log_spend, at);
            terms.value += weighted_log(row.successes, chance.success)
                + weighted_log(row.failures, chance.failure);
            let (success, failure) =
                (chance.success.max(LEAST_VARIANCE), chance.failure.max(LEAST_VARIANCE));
            let pull = row.successes / success - row.failures / failure;
            let weight = (row.successes + row.failures) / (success * failure);
            for one in 0..MAX_COORDINATES {
                terms.gradient[one] += pull * chance.slopes[one];
                for other in 0..=one {
                    terms.information[one][other] +=
                        weight * chance.slopes[one] * chance.slopes[other];
                }
            }
        }
        for one in 0..MAX_COORDINATES {
            for other in 0..one {
                terms.information[other][one] = terms.information[one][other];
            }
        }
        terms
    }
}

fn weighted_log(count: f64, chance: f64) -> f64 {
    if count > 0.0 { count * chance.ln() } else { 0.0 }
}
