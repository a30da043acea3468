//! Plans: rounding, comparison with the best split, and the frontier.

mod evaluate;
mod frontier;
mod properties;
mod rounding;
