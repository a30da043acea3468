//! The paper's strong diminishing returns (Assumption 2).

use super::{Curve, DeclaredShape, Family};

impl Curve {
    /// The parts of the paper's strong diminishing returns (Assumption 2, spends up to `budget`)
    /// that fail; empty if the assumption holds.
    ///
    /// Part 1 requires a continuous slope on `(0, budget]` that is infinite at zero, part 2 for
    /// strong concavity away from zero.
    #[must_use]
    pub fn diminishing_returns_failures(&self, budget: f64) -> Vec<DiminishingReturnsFailure> {
        use DiminishingReturnsFailure as Failure;
        if self.height() == 0.0 {
            return vec![Failure::FiniteSlopeAtZero, Failure::NotStronglyConcave];
        }
        match &self.family {
            Family::Power(power) if power.exponent() < 1.0 && power.scale() >= budget => vec![],
            Family::Power(power) if power.exponent() < 1.0 => {
                vec![Failure::KinkOrJump, Failure::NotStronglyConcave]
            }
            Family::Hill(hill) if hill.steepness() < 1.0 => vec![],
            Family::Exponential(_) => vec![Failure::FiniteSlopeAtZero],
            Family::Hill(hill) if hill.steepness() == 1.0 => vec![Failure::FiniteSlopeAtZero],
            Family::Logistic(logistic) if logistic.mid() == 0.0 => {
                vec![Failure::FiniteSlopeAtZero]
            }
            Family::Hill(_) | Family::Logistic(_) => {
                vec![Failure::FiniteSlopeAtZero, Failure::NotStronglyConcave]
            }
            Family::Custom(custom) => match custom.shape() {
                DeclaredShape::Concave => vec![Failure::NotDeclared],
                DeclaredShape::Lipschitz(_) => {
                    vec![Failure::FiniteSlopeAtZero, Failure::NotDeclared]
                }
                DeclaredShape::Monotone => vec![Failure::NotDeclared],
            },
            Family::Power(power) if power.scale() >= budget => {
                vec![Failure::FiniteSlopeAtZero, Failure::NotStronglyConcave]
            }
            Family::Saturating(saturating) if saturating.full_at() >= budget => {
                vec![Failure::FiniteSlopeAtZero, Failure::NotStronglyConcave]
            }
            Family::Power(_)
            | Family::Saturating(_)
            | Family::Threshold(_)
            | Family::Steps(_)
            | Family::Piecewise(_)
            | Family::Empirical(_) => {
                vec![Failure::FiniteSlopeAtZero, Failure::KinkOrJump, Failure::NotStronglyConcave]
            }
        }
    }
}

/// A part of the paper's strong diminishing returns that does not hold for a curve.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DiminishingReturnsFailure {
    /// Part 1: the slope at zero spend is finite.
    #[error("finite slope at zero")]
    FiniteSlopeAtZero,
    /// Part 1: the slope jumps somewhere in the budget's range.
    #[error("kink or jump")]
    KinkOrJump,
    /// Part 2: the curve is not strongly concave on some interval.
    #[error("not strongly concave")]
    NotStronglyConcave,
    /// The declared shape of a custom function does not decide it.
    #[error("not declared")]
    NotDeclared,
}
