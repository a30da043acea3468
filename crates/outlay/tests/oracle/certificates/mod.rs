//! Certificates: no plan that `evaluate` accepts is worth more than `upper_bound`, the allocation
//! is feasible itself, and its price proves what a price can.

mod audit;
mod edge_problems;
mod plans;
mod random;
mod units;
