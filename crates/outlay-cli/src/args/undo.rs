//! Arguments of `outlay undo`.

use std::path::PathBuf;

use clap::Args;

use crate::output::Format;

#[derive(Debug, Args)]
pub(crate) struct UndoArgs {
    /// State file
    #[arg(value_name = "STATE")]
    pub(crate) state: PathBuf,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}
