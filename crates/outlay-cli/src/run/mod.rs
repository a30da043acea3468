//! Experiments that are played and kept: each replication goes to its folder as it ends, and what
//! is there is not played again.

mod folder;
pub(crate) mod interrupt;
mod play;
mod record;

pub(crate) use folder::{RunFolder, look};
pub(crate) use play::{Ended, Keep, Played, play, play_missing, rounds_missing, threads};
pub(crate) use record::{CaseRecord, RunRecord, label};
