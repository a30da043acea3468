//! A user's own function, known only by evaluating it and by what is declared of its shape.

use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use super::{CurveError, require_positive};

/// A success curve of your own. It must not decrease and must be right-continuous; values outside
/// `[0, 1]` are clamped.
///
/// Any `Fn(f64) -> f64` that is `Send + Sync` is one.
pub trait ResponseCurve: Send + Sync {
    /// The chance of success when `spend` is spent.
    fn success(&self, spend: f64) -> f64;
}

impl<F: Fn(f64) -> f64 + Send + Sync> ResponseCurve for F {
    fn success(&self, spend: f64) -> f64 {
        self(spend)
    }
}

/// What is known of a user's function beyond its being nondecreasing.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub enum DeclaredShape {
    /// It is concave.
    Concave,
    /// Its slope never exceeds this constant.
    Lipschitz(f64),
    /// Nothing more.
    #[default]
    Monotone,
}

impl fmt::Display for DeclaredShape {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Concave => write!(formatter, "declared concave"),
            Self::Lipschitz(constant) => {
                write!(formatter, "declared Lipschitz with constant {constant}")
            }
            Self::Monotone => write!(formatter, "declared nondecreasing"),
        }
    }
}

/// A user's function with its declared shape. Equal only to itself.
#[derive(Clone)]
pub struct Custom {
    function: Arc<dyn ResponseCurve>,
    shape: DeclaredShape,
}

impl Custom {
    pub(super) fn new(
        function: Arc<dyn ResponseCurve>,
        shape: DeclaredShape,
    ) -> Result<Self, CurveError> {
        if let DeclaredShape::Lipschitz(constant) = shape {
            require_positive("lipschitz", constant)?;
        }
        Ok(Self { function, shape })
    }

    /// What was declared.
    #[must_use]
    pub fn shape(&self) -> DeclaredShape {
        self.shape
    }

    /// The function's value, clamped to `[0, 1]`; NaN counts as 0.
    pub(crate) fn success(&self, spend: f64) -> f64 {
        let success = self.function.success(spend);
        if success.is_nan() { 0.0 } else { success.clamp(0.0, 1.0) }
    }

    /// A forward difference: the function itself says no more.
    pub(crate) fn slope(&self, spend: f64) -> f64 {
        let step = 1e-6 * spend.max(1e-6);
        (self.success(spend + step) - self.success(spend)) / step
    }

    /// Two handles of the same function are the same curve.
    pub(crate) fn address(&self) -> usize {
        Arc::as_ptr(&self.function).cast::<()>() as usize
    }
}

impl fmt::Debug for Custom {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Custom").field("shape", &self.shape).finish_non_exhaustive()
    }
}

impl PartialEq for Custom {
    fn eq(&self, other: &Self) -> bool {
        self.address() == other.address() && self.shape == other.shape
    }
}

/// A function cannot be written down: serialising it is an error, not a silent loss.
impl Serialize for Custom {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(serde::ser::Error::custom(
            "a custom curve is a function and cannot be written to a file",
        ))
    }
}
