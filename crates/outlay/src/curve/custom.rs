//! Custom curves: a function of the caller with a declared shape.

use std::collections::BinaryHeap;
use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use super::{Curve, CurveError, require_positive};

/// The relative accuracy that the values of a custom function must have, eight units in the last
/// place: bounds on a function of declared shape hold up to it.
pub const CUSTOM_ACCURACY: f64 = 8.0 * f64::EPSILON;

/// A custom success curve. It must be nondecreasing and right-continuous. Values outside `[0, 1]`
/// are clamped. Values must be accurate to [`CUSTOM_ACCURACY`].
///
/// Every `Fn(f64) -> f64` that is `Send + Sync` implements it.
pub trait ResponseCurve: Send + Sync {
    /// The probability of success at `spend`.
    fn success(&self, spend: f64) -> f64;
}

impl<F: Fn(f64) -> f64 + Send + Sync> ResponseCurve for F {
    fn success(&self, spend: f64) -> f64 {
        self(spend)
    }
}

/// The declared shape of a custom function, which is always nondecreasing.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub enum DeclaredShape {
    /// It is concave.
    Concave,
    /// Its slope never exceeds this constant.
    Lipschitz(f64),
    /// It is nondecreasing; nothing else is known.
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

/// A custom function with its declared shape. Two are equal only if they share the function.
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

    /// The declared shape.
    #[must_use]
    pub fn shape(&self) -> DeclaredShape {
        self.shape
    }

    /// The function's value, clamped to `[0, 1]`; NaN counts as 0.
    pub(crate) fn success(&self, spend: f64) -> f64 {
        let success = self.function.success(spend);
        if success.is_nan() { 0.0 } else { success.clamp(0.0, 1.0) }
    }

    /// A forward difference.
    pub(crate) fn slope(&self, spend: f64) -> f64 {
        let step = 1e-6 * spend.max(1e-6);
        (self.success(spend + step) - self.success(spend)) / step
    }

    /// The address of the function, which identifies it.
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

/// A function cannot be serialised, so this is an error.
impl Serialize for Custom {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(serde::ser::Error::custom(
            "a custom curve is a function and cannot be written to a file",
        ))
    }
}

/// An upper bound on the surplus `value F(x) - multiplier x` between `from` and `to` of a function
/// that is only known to be nondecreasing.
///
/// The cell with the largest bound is bisected until its bound is attained, or until the limit on
/// the number of bisections.
pub(super) fn surplus_bound(curve: &Curve, value: f64, multiplier: f64, from: f64, to: f64) -> f64 {
    const MAX_BISECTIONS: usize = 20_000;
    let cell_bound = |from: f64, to_success: f64| value * to_success - multiplier * from;
    let mut cells = BinaryHeap::new();
    let mut attained = cell_bound(from, curve.success(from)).max(cell_bound(to, curve.success(to)));
    cells.push((Ordered(cell_bound(from, curve.success(to))), Ordered(from), Ordered(to)));
    for _ in 0..MAX_BISECTIONS {
        let Some(&(Ordered(bound), Ordered(left), Ordered(right))) = cells.peek() else { break };
        let middle = left + 0.5 * (right - left);
        if bound <= attained + 1e-12 * attained.abs() || middle <= left || middle >= right {
            break;
        }
        cells.pop();
        attained = attained.max(cell_bound(middle, curve.success(middle)));
        cells.push((
            Ordered(cell_bound(left, curve.success(middle))),
            Ordered(left),
            Ordered(middle),
        ));
        cells.push((
            Ordered(cell_bound(middle, curve.success(right))),
            Ordered(middle),
            Ordered(right),
        ));
    }
    cells.peek().map_or(attained, |cell| cell.0.0.max(attained))
}

/// A number with its total order, for the heap.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Ordered(f64);

impl Eq for Ordered {}

impl PartialOrd for Ordered {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ordered {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}
