//! Allocations: optimality, certificates and agreement with other methods.

mod black_box;
mod brute_force;
mod cardinality;
mod certificates;
mod fixtures;
mod independent_proof;
mod other_solvers;
mod properties;
mod real_data;
mod sigmoid;
mod stress;
