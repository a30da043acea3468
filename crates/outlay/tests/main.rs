//! The integration tests of the library, as one binary with one module per topic.
//!
//! One binary links the library once. Tests that count the allocations of the whole process are in
//! the binary `memory`.

mod amended_ledger;
mod claims;
mod clipped_rewards;
mod counts;
mod curve;
mod dependencies;
mod examples;
mod feedback;
mod fit;
mod instance;
mod learner;
mod ledger;
mod oracle;
mod plan;
mod problem;
mod replay;
mod replay_conditions;
mod replay_rows;
mod scale;
mod seen;
mod simulation;
mod support;
mod theory;
