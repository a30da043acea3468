//! `outlay export`: writes a store as lines of JSON.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use outlay_server::archive::{self, Contents};
use outlay_server::store::{SqliteStore, Store};

use crate::args::{ExistingStoreArgs, ExportArgs};
use crate::failure::Failure;
use crate::input;
use crate::input::store::{existing_database, folder_or_default};
use crate::output::CommandOutput;
use crate::output::atomic_file::{cannot_write, sync_folder};
use crate::output::store_contents::contents_text;

pub(crate) fn run(arguments: &ExportArgs) -> Result<CommandOutput, Failure> {
    let store = open_to_read(&arguments.store)?;
    if input::is_stdin(&arguments.file) {
        let contents = archive::export(&*store, &mut BufWriter::new(std::io::stdout().lock()))?;
        return Ok(CommandOutput::new(String::new())
            .with_remarks(vec![format!("exported {}", contents_text(&contents))]));
    }
    let partial = archive::beside(&arguments.file);
    let out = File::create_new(&partial).map_err(|error| cannot_write(&partial, &error))?;
    let written = write(&*store, out, &partial, &arguments.file);
    if written.is_err() {
        let _ = std::fs::remove_file(&partial);
    }
    let contents = contents_text(&written?);
    Ok(CommandOutput::new(format!("{}: {contents}\n", arguments.file.display())))
}

/// Writes the export to `partial` and renames it to `file`.
fn write(store: &dyn Store, out: File, partial: &Path, file: &Path) -> Result<Contents, Failure> {
    let cannot = |error| cannot_write(file, &error);
    let mut out = BufWriter::new(out);
    let contents = archive::export(store, &mut out)?;
    out.flush().and_then(|()| out.get_ref().sync_all()).map_err(cannot)?;
    std::fs::rename(partial, file).and_then(|()| sync_folder(file)).map_err(cannot)?;
    Ok(contents)
}

/// Opens the store for reading; a service may be using it.
fn open_to_read(store: &ExistingStoreArgs) -> Result<Arc<dyn Store>, Failure> {
    match store.database() {
        Some(url) => existing_database(&url),
        None => Ok(Arc::new(
            SqliteStore::open_to_read(folder_or_default(store.data.as_deref()))
                .map_err(|error| Failure(error.what))?,
        )),
    }
}
