//! Regret bounds of the paper and of this project, computed for a given problem.
//!
//! All bounds are in multiples of the largest reward. Budgets and spends are in the problem's unit.

mod applicable_bounds;
mod applicable_count_bounds;
mod bounds;
mod counts;
mod curvature;
mod diminishing_returns;
mod dyadic;
mod fluid_model;
mod information_limit;
mod lower_bounds;
mod second_order;
mod special_families;
mod unknown_thresholds;
mod worst_case;

pub use crate::learner::log_term;
pub use bounds::{
    Bound, BoundError, Guarantees, NotApplicable, Side, guarantees, means, run_bound,
};
pub use counts::{kl_ucb_plus_count_bound, worst_case_count_bound};
pub use diminishing_returns::{
    AssumptionFailure, DiminishingReturns, PolylogBound, Quantities, explicit_two_square_roots,
    power_proposition,
};
pub use dyadic::Dyadic;
pub use fluid_model::{FluidPoint, fluid};
pub use information_limit::{InformationLimit, LimitKind, information_limit};
pub use lower_bounds::{theorem_2_lower, theorem_4_lower, theorem_4_random_choice};
pub use second_order::kl_ucb_plus_regret_per_decade;
pub use unknown_thresholds::{
    ThresholdStrategy, UnknownThresholds, unknown_thresholds, unknown_thresholds_of,
};
pub use worst_case::{kl_ucb_plus_bound, kl_ucb_plus_mass_bound, m_set_bound, worst_case_bound};
