//! `outlay backup`: copies the store of a service and checks the copy.

use outlay_server::archive;
use outlay_server::clock::{Clock, SystemClock};

use crate::args::BackupArgs;
use crate::failure::Failure;
use crate::output::store_contents::manifest_text;
use crate::output::{CommandOutput, Format, csv, json};

pub(crate) fn run(arguments: &BackupArgs) -> Result<CommandOutput, Failure> {
    let manifest = archive::backup(&arguments.data, &arguments.to, SystemClock.now())?;
    let (to, data) = (arguments.to.display(), arguments.data.display());
    let result = match arguments.format {
        Format::Table => format!(
            "{to}: a copy of {data} with {}\nto restore it: `outlay restore {to}`\n",
            manifest_text(&manifest)
        ),
        Format::Json => json(&manifest)?,
        Format::Csv => csv([manifest])?,
    };
    Ok(CommandOutput::new(result))
}
