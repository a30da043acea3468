//! Plans: rounding, comparison with the best split, returns, targets, and the frontier.

mod binding_bound;
mod evaluate;
mod frontier;
mod properties;
mod returns;
mod rounding;
mod targets;
mod violation;
