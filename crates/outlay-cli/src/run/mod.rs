//! Runs of experiments with a checkpoint: each replication is saved when it ends, and saved ones
//! are not run again.

mod folder;
pub(crate) mod interrupt;
mod play;
mod record;

pub(crate) use folder::{RunFolder, read_run};
pub(crate) use play::{Keep, Played, RunEnd, play, play_missing, rounds_missing, threads};
pub(crate) use record::{CaseRecord, RunRecord, label};
