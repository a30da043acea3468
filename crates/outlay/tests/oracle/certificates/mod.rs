//! Certificates: no plan that `evaluate` accepts is worth more than `upper_bound`, the allocation
//! is feasible, and its price proves the bound where a price can.

mod audit;
mod edge_problems;
mod plans;
mod random;
mod units;
