//! The paper's theorems as numbers: what its assumptions say of given curves, and the bounds on the regret.
//!
//! All bounds are in multiples of the largest reward, for budgets and spends as the problem has them.

mod diminishing;
mod dyadic;
mod fluid;
mod lower;
mod unknown_thresholds;
mod worst_case;

pub use crate::learner::log_term;
pub use diminishing::{AssumptionFailure, DiminishingReturns, PolylogBound, explicit_two_square_roots, power_proposition};
pub use dyadic::Dyadic;
pub use fluid::{FluidPoint, fluid};
pub use lower::{theorem_2_lower, theorem_4_random_choice};
pub use unknown_thresholds::{ThresholdStrategy, UnknownThresholds, unknown_thresholds, unknown_thresholds_of};
pub use worst_case::{sharp_bound, worst_case_bound};
