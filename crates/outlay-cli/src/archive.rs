//! `outlay backup`, `restore`, `export`, `import` and `verify`: copies of a store, and whether it
//! is sound.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use outlay_server::archive::{self, ArchiveError, Contents, Manifest};
use outlay_server::clock::{Clock, SystemClock};
use outlay_server::store::{SqliteOptions, SqliteStore, Store, Verified};
use serde::Serialize;

use crate::arguments::{
    BackupArguments, ExportArguments, ImportArguments, RestoreArguments, StorePlace,
    VerifyArguments,
};
use crate::failure::Failure;
use crate::input;
use crate::number::counted;
use crate::report::{Ending, Format, Report, csv, json};
use crate::serve::store::{database, existing_database, named};
use crate::whole_file::{cannot_write, sync_folder};

pub(crate) fn backup(arguments: &BackupArguments) -> Result<Report, Failure> {
    let manifest = archive::backup(&arguments.data, &arguments.to, SystemClock.now())?;
    let (to, data) = (arguments.to.display(), arguments.data.display());
    let result = match arguments.format {
        Format::Table => format!(
            "{to}: a copy of {data} with {}\nbring it back with `outlay restore {to}`\n",
            holds(&manifest)
        ),
        Format::Json => json(&manifest)?,
        Format::Csv => csv([manifest])?,
    };
    Ok(Report::new(result))
}

pub(crate) fn restore(arguments: &RestoreArguments) -> Result<Report, Failure> {
    let options =
        SqliteOptions { any_file_system: arguments.any_file_system, ..SqliteOptions::default() };
    let manifest = archive::restore(&arguments.from, &arguments.data, &options)?;
    let (from, data) = (arguments.from.display(), arguments.data.display());
    let said = format!(
        "{data}: brought back from {from} with {}\nserve it with `outlay serve --data {data}`\n",
        holds(&manifest)
    );
    Ok(Report::new(said))
}

fn holds(manifest: &Manifest) -> String {
    let Manifest { campaigns, rounds, items, seq, .. } = manifest;
    format!("{}, up to event {seq}", figures(*campaigns, *rounds, *items))
}

fn figures(campaigns: u64, rounds: u64, items: u64) -> String {
    let count = |number: u64, one| counted(usize::try_from(number).unwrap_or(usize::MAX), one);
    format!(
        "{}, {} and {}",
        count(campaigns, "campaign"),
        count(rounds, "round"),
        count(items, "outcome")
    )
}

pub(crate) fn export(arguments: &ExportArguments) -> Result<Report, Failure> {
    let store = to_read(&arguments.place)?;
    if input::is_stdin(&arguments.file) {
        let contents = archive::export(&*store, &mut BufWriter::new(std::io::stdout().lock()))?;
        return Ok(Report::new(String::new())
            .with_remarks(vec![format!("exported {}", contained(&contents))]));
    }
    let partial = archive::beside(&arguments.file);
    let out = File::create_new(&partial).map_err(|error| cannot_write(&partial, &error))?;
    let written = write_export(&*store, out, &partial, &arguments.file);
    if written.is_err() {
        // What could not be finished must not lie about.
        let _ = std::fs::remove_file(&partial);
    }
    Ok(Report::new(format!("{}: {}\n", arguments.file.display(), contained(&written?))))
}

fn write_export(
    store: &dyn Store,
    out: File,
    partial: &Path,
    file: &Path,
) -> Result<Contents, Failure> {
    let cannot = |error| cannot_write(file, &error);
    let mut out = BufWriter::new(out);
    let contents = archive::export(store, &mut out)?;
    out.flush().and_then(|()| out.get_ref().sync_all()).map_err(cannot)?;
    std::fs::rename(partial, file).and_then(|()| sync_folder(file)).map_err(cannot)?;
    Ok(contents)
}

fn contained(contents: &Contents) -> String {
    figures(contents.campaigns, contents.rounds, contents.items)
}

pub(crate) fn import(arguments: &ImportArguments) -> Result<Report, Failure> {
    let file = &arguments.file;
    if !input::is_stdin(file) {
        // Before anything is written. Standard input can be read only once.
        archive::survey(&mut export_file(file)?).map_err(|error| of_the_file(file, &error))?;
    }
    if let Some(url) = arguments.place.database() {
        let contents = read_into(
            &*database(&url)?,
            file,
            "the database has what came before it: drop its schema `outlay` first",
        )?;
        return Ok(Report::new(format!("the database has {}\n", contained(&contents))));
    }
    let data = named(arguments.place.data.as_deref());
    let options =
        SqliteOptions { any_file_system: arguments.any_file_system, ..SqliteOptions::default() };
    let (folder_was_there, is_new) = (data.exists(), !SqliteStore::is_in(data));
    let store = SqliteStore::open(data, &options).map_err(|error| Failure(error.what))?;
    let remedy = if is_new { "" } else { "the store has what came before it: name a new folder" };
    let contents = read_into(&store, file, remedy)
        .and_then(|contents| store.close().map(|()| contents).map_err(|error| Failure(error.what)));
    drop(store);
    if contents.is_err() && is_new {
        // Half an import is no store.
        SqliteStore::remove_from(data, folder_was_there);
    }
    Ok(Report::new(format!("{}: {}\n", data.display(), contained(&contents?))))
}

/// Reads an export into an empty store. If that breaks off, `remedy` says what to do about what is
/// there by then.
fn read_into(store: &dyn Store, file: &Path, remedy: &str) -> Result<Contents, Failure> {
    archive::check_empty(store).map_err(|error| of_the_file(file, &error))?;
    let mut lines: Box<dyn BufRead> = if input::is_stdin(file) {
        Box::new(std::io::stdin().lock())
    } else {
        Box::new(export_file(file)?)
    };
    archive::import(store, &mut lines).map_err(|error| {
        let Failure(what) = of_the_file(file, &error);
        let is_untouched = remedy.is_empty() || archive::check_empty(store).is_ok();
        Failure(if is_untouched { what } else { format!("{what}\n  {remedy}") })
    })
}

fn of_the_file(file: &Path, ArchiveError(what): &ArchiveError) -> Failure {
    Failure(format!("{}: {what}", input::place(file)))
}

fn export_file(path: &Path) -> Result<BufReader<File>, Failure> {
    File::open(path).map(BufReader::new).map_err(|error| cannot_read(path, &error))
}

fn cannot_read(path: &Path, error: &std::io::Error) -> Failure {
    Failure(format!("cannot read {}: {}", input::place(path), input::reason(error)))
}

#[derive(Serialize)]
struct VerifiedRecord<'a> {
    sound: bool,
    campaigns: u64,
    rounds: u64,
    items: u64,
    faults: &'a [String],
}

#[derive(Serialize)]
struct VerifiedRow<'a> {
    sound: bool,
    campaigns: u64,
    rounds: u64,
    items: u64,
    fault: &'a str,
}

pub(crate) fn verify(arguments: &VerifyArguments) -> Result<Report, Failure> {
    let verified = match arguments.place.database() {
        Some(url) => existing_database(&url)?.verify(),
        None => SqliteStore::verify_in(named(arguments.place.data.as_deref())),
    };
    let verified = verified.map_err(|error| Failure(error.what))?;
    let Verified { campaigns, rounds, items, faults } = &verified;
    let sound = faults.is_empty();
    let all = figures(*campaigns, *rounds, *items);
    let result = match arguments.format {
        Format::Table if sound => format!("sound: {all}; every count is that of its feedback\n"),
        Format::Table => format!(
            "not sound: {all}\n{}",
            faults.iter().map(|fault| format!("  {fault}\n")).collect::<String>()
        ),
        Format::Json => json(&VerifiedRecord {
            sound,
            campaigns: *campaigns,
            rounds: *rounds,
            items: *items,
            faults,
        })?,
        Format::Csv => {
            let row = |fault| VerifiedRow {
                sound,
                campaigns: *campaigns,
                rounds: *rounds,
                items: *items,
                fault,
            };
            if sound { csv([row("")])? } else { csv(faults.iter().map(|fault| row(fault)))? }
        }
    };
    Ok(Report {
        ending: if sound { Ending::Done } else { Ending::CheckFailed },
        ..Report::new(result)
    })
}

/// The store, also while it is served.
fn to_read(place: &StorePlace) -> Result<Arc<dyn Store>, Failure> {
    match place.database() {
        Some(url) => existing_database(&url),
        None => Ok(Arc::new(
            SqliteStore::open_to_read(named(place.data.as_deref()))
                .map_err(|error| Failure(error.what))?,
        )),
    }
}
