//! Shared by the test modules: random problems, exhaustive search, and checks of every allocation
//! and of every simulated run.

pub(crate) mod bound;
pub(crate) mod confidence;
mod optimum;
mod problems;
mod random;
mod solve;

pub(crate) use optimum::*;
pub(crate) use problems::*;
pub(crate) use random::Random;
pub(crate) use solve::*;
