//! Shapes of curves: concave, S-shaped, steps or mixed.

use super::{DeclaredShape, Family};

/// The shape of a curve, which decides how the oracle solves it.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Shape {
    /// Diminishing returns everywhere.
    Concave,
    /// Increasing returns up to the inflection, diminishing returns beyond it.
    SShaped {
        /// The spend where the slope is largest.
        inflection: f64,
    },
    /// Constant except for jumps.
    Steps {
        /// The number of jumps.
        jumps: usize,
    },
    /// Linear pieces whose slopes increase somewhere.
    PiecewiseMixed,
    /// A custom function with its declared shape.
    Declared(DeclaredShape),
}

impl std::fmt::Display for Shape {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Concave => write!(formatter, "concave"),
            Self::SShaped { inflection } => write!(formatter, "S-shaped, steepest at {inflection}"),
            Self::Steps { jumps: 1 } => write!(formatter, "1 step"),
            Self::Steps { jumps } => write!(formatter, "{jumps} steps"),
            Self::PiecewiseMixed => write!(formatter, "piecewise linear, not concave"),
            Self::Declared(declared) => write!(formatter, "custom function, {declared}"),
        }
    }
}

impl Family {
    pub(super) fn shape(&self) -> Shape {
        match self {
            Self::Power(_) | Self::Saturating(_) | Self::Exponential(_) => Shape::Concave,
            Self::Hill(hill) if hill.steepness() <= 1.0 => Shape::Concave,
            Self::Logistic(logistic) if logistic.mid() == 0.0 => Shape::Concave,
            Self::Hill(hill) => Shape::SShaped { inflection: hill.inflection() },
            Self::Logistic(logistic) => Shape::SShaped { inflection: logistic.inflection() },
            Self::Threshold(_) => Shape::Steps { jumps: 1 },
            Self::Steps(steps) => Shape::Steps { jumps: steps.at().len() },
            Self::Empirical(empirical) => Shape::Steps { jumps: empirical.at().len() },
            Self::Piecewise(piecewise) if piecewise.is_concave() => Shape::Concave,
            Self::Piecewise(_) => Shape::PiecewiseMixed,
            Self::Custom(custom) => Shape::Declared(custom.shape()),
        }
    }
}
