//! Learners: one suite for all of them, and the value of knowing the curves.

mod conformance;
mod late_commitment;
mod saved_states;
mod saved_under_old_names;
mod unknown_curves;
