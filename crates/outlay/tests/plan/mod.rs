//! Plans: rounding, comparison with the best split, and the frontier.

mod binding_bound;
mod evaluate;
mod frontier;
mod properties;
mod rounding;
mod violation;
