//! `outlay import`: reads an export into an empty store.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use outlay_server::archive::{self, ArchiveError, Contents};
use outlay_server::store::{SqliteOptions, SqliteStore, Store};

use crate::args::ImportArgs;
use crate::failure::Failure;
use crate::input;
use crate::input::store::{database, folder_or_default};
use crate::output::CommandOutput;
use crate::output::store_contents::contents_text;

pub(crate) fn run(arguments: &ImportArgs) -> Result<CommandOutput, Failure> {
    let file = &arguments.file;
    if !input::is_stdin(file) {
        // Validate before anything is written. Standard input can be read only once.
        archive::survey(&mut export_file(file)?).map_err(|error| in_file(file, &error))?;
    }
    if let Some(url) = arguments.store.database() {
        let contents = read_into(
            &*database(&url)?,
            file,
            "the database contains the lines before it: drop its schema `outlay` first",
        )?;
        let text = format!("the database has {}\n", contents_text(&contents));
        return Ok(CommandOutput::new(text));
    }
    let data = folder_or_default(arguments.store.data.as_deref());
    let options =
        SqliteOptions { any_file_system: arguments.any_file_system, ..SqliteOptions::default() };
    let (folder_existed, is_new) = (data.exists(), !SqliteStore::is_in(data));
    let store = SqliteStore::open(data, &options).map_err(|error| Failure(error.what))?;
    let remedy =
        if is_new { "" } else { "the store contains the lines before it: use a new folder" };
    let contents = read_into(&store, file, remedy)
        .and_then(|contents| store.close().map(|()| contents).map_err(|error| Failure(error.what)));
    drop(store);
    if contents.is_err() && is_new {
        // Do not leave a partial import behind.
        SqliteStore::remove_from(data, folder_existed);
    }
    Ok(CommandOutput::new(format!("{}: {}\n", data.display(), contents_text(&contents?))))
}

/// Reads an export into an empty store. If the import fails half-way, `remedy` is added to the
/// error message.
fn read_into(store: &dyn Store, file: &Path, remedy: &str) -> Result<Contents, Failure> {
    archive::check_empty(store).map_err(|error| in_file(file, &error))?;
    let mut lines: Box<dyn BufRead> = if input::is_stdin(file) {
        Box::new(std::io::stdin().lock())
    } else {
        Box::new(export_file(file)?)
    };
    archive::import(store, &mut lines).map_err(|error| {
        let Failure(message) = in_file(file, &error);
        let is_unchanged = remedy.is_empty() || archive::check_empty(store).is_ok();
        Failure(if is_unchanged { message } else { format!("{message}\n  {remedy}") })
    })
}

fn in_file(file: &Path, ArchiveError(message): &ArchiveError) -> Failure {
    Failure(format!("{}: {message}", input::display_name(file)))
}

fn export_file(path: &Path) -> Result<BufReader<File>, Failure> {
    File::open(path).map(BufReader::new).map_err(|error| input::cannot_read(path, &error))
}
