//! `outlay restore`: creates a store from a backup.

use outlay_server::archive;
use outlay_server::store::SqliteOptions;

use crate::args::RestoreArgs;
use crate::failure::Failure;
use crate::output::CommandOutput;
use crate::output::store_contents::manifest_text;

pub(crate) fn run(arguments: &RestoreArgs) -> Result<CommandOutput, Failure> {
    let options =
        SqliteOptions { any_file_system: arguments.any_file_system, ..SqliteOptions::default() };
    let manifest = archive::restore(&arguments.from, &arguments.data, &options)?;
    let (from, data) = (arguments.from.display(), arguments.data.display());
    Ok(CommandOutput::new(format!(
        "{data}: restored from {from} with {}\nto serve it: `outlay serve --data {data}`\n",
        manifest_text(&manifest)
    )))
}
