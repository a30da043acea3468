//! Allocations: optimality, certificates and agreement with other methods.

mod black_box;
mod brute_force;
mod cancel;
mod cardinality;
mod certificates;
mod exact_budget;
mod fixtures;
mod independent_proof;
mod mixtures;
mod other_solvers;
mod presolve;
mod properties;
mod real_data;
mod sigmoid;
mod similar_curves;
mod stress;
