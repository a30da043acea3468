//! Simulated rounds: properties of every run and an independent implementation.

mod lockstep;
mod properties;
mod reference_means;
mod reference_runs;
