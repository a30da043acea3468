//! The multiple-choice knapsack (MCKP): every curve is a step curve.
//!
//! Each domain offers items, a spend with its success, and takes exactly one of them. `items`
//! solves the LP relaxation: the concave envelope of a domain's items has vertices joined by edges,
//! and at the optimal multiplier every domain is at a vertex except for at most one, which is
//! inside an edge. Its dual value bounds all integral solutions. If no domain is inside an edge,
//! the LP solution is integral, hence optimal. Otherwise
//!
//! - `core` collects the items whose reduced cost is below the gap and drives the
//!   [label search](super::labels);
//! - `cardinality_bound` adds a second multiplier, on the number of jumps taken, for items that the
//!   budget multiplier alone cannot distinguish, and `cardinality_search` searches at both.
//!
//! `commensurable` lowers the budget to the largest total of spends that have a common unit,
//! `identical` joins tasks with one and the same threshold into one domain, and `top_m` is the fast
//! path for problems of nothing else.

mod cardinality_bound;
mod cardinality_search;
mod commensurable;
mod core;
mod exact_budget;
mod identical;
mod items;
mod top_m;

pub(super) use self::core::CoreSearch;
pub(super) use commensurable::common_unit;
pub(super) use exact_budget::ExactBudget;
pub(super) use identical::{IdenticalThresholds, Member};
pub(super) use items::{MckpInput, StepItems};
pub(super) use top_m::TopM;
