//! Numerical building blocks. Nothing here knows about budgets, tasks or curves.

pub(crate) mod compensated;
pub(crate) mod dispatch;
pub(crate) mod exp_log;
pub(crate) mod isotonic;
pub mod rng;
pub(crate) mod simd;
