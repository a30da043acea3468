//! Regret bounds, numbers of the proofs, the fluid model and the game of unknown thresholds.

mod bounds;
mod count_bounds;
mod fluid_model;
mod proof_constants;
mod unknown_thresholds;
