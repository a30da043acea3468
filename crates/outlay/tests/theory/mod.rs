//! Numbers of the proofs, and the fluid model.

mod fluid_model;
mod proof_constants;
