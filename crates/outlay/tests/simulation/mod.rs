//! Simulated rounds: properties of every run and an independent implementation.

mod properties;
mod reference_means;
mod reference_runs;
mod replication;
