//! The paper's theorems as numbers: what its assumptions say of given curves, and the bounds on the
//! regret.
//!
//! All bounds are in multiples of the largest reward, for budgets and spends as the problem has
//! them.

mod bounds;
mod diminishing;
mod dyadic;
mod family;
mod fluid;
mod lower;
mod second_order;
mod unknown_thresholds;
mod worst_case;

pub use crate::learner::log_term;
pub use bounds::{Bound, BoundError, Guarantees, Side, guarantees, means, run_bound};
pub use diminishing::{
    AssumptionFailure, DiminishingReturns, PolylogBound, Quantities, explicit_two_square_roots,
    power_proposition,
};
pub use dyadic::Dyadic;
pub use fluid::{FluidPoint, fluid};
pub use lower::{theorem_2_lower, theorem_4_lower, theorem_4_random_choice};
pub use second_order::sharp_regret_per_decade;
pub use unknown_thresholds::{
    ThresholdStrategy, UnknownThresholds, unknown_thresholds, unknown_thresholds_of,
};
pub use worst_case::{m_set_bound, sharp_bound, worst_case_bound};
