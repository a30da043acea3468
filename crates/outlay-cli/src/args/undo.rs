//! Arguments of `outlay undo`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct UndoArgs {
    /// State file
    #[arg(value_name = "STATE")]
    pub(crate) state: PathBuf,
}
