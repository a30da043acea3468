//! Learners: one suite for all of them, and the value of knowing the curves.

mod conformance;
mod unknown_curves;
