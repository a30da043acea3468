//! The multiple-choice knapsack: every curve is a step curve.

mod cardinality_bound;
mod cardinality_search;
mod core;
mod identical;
mod items;
mod labels;
mod top_m;

pub(super) use self::core::CoreSearch;
pub(super) use identical::{IdenticalThresholds, Member};
pub(super) use items::{MckpInput, StepItems};
pub(super) use top_m::TopM;
