//! `outlay backup`, `restore`, `export`, `import` and `verify`: copies of a store, and whether it is sound.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use outlay_server::archive::{self, ArchiveError, Contents, Manifest};
use outlay_server::clock::{Clock, SystemClock};
use outlay_server::store::{DAMAGED, SqliteOptions, SqliteStore, Store, Verified};
use serde::Serialize;

use crate::arguments::{BackupArguments, ExportArguments, ImportArguments, RestoreArguments, StorePlace, VerifyArguments};
use crate::failure::Failure;
use crate::input;
use crate::number::counted;
use crate::report::{Ending, Format, Report, csv, json};
use crate::serve::store::{DEFAULT_FOLDER, database, existing_database};
use crate::whole_file::cannot_write;

pub(crate) fn backup(arguments: &BackupArguments) -> Result<Report, Failure> {
    let manifest = archive::backup(&arguments.data, &arguments.to, SystemClock.now())?;
    let (to, data) = (arguments.to.display(), arguments.data.display());
    let result = match arguments.format {
        Format::Table => format!("{to}: a copy of {data} with {}\nbring it back with `outlay restore {to}`\n", holds(&manifest)),
        Format::Json => json(&manifest)?,
        Format::Csv => csv([manifest])?,
    };
    Ok(Report::new(result))
}

pub(crate) fn restore(arguments: &RestoreArguments) -> Result<Report, Failure> {
    let options = SqliteOptions { any_file_system: arguments.any_file_system, ..SqliteOptions::default() };
    let manifest = archive::restore(&arguments.from, &arguments.data, &options)?;
    let (from, data) = (arguments.from.display(), arguments.data.display());
    let said = format!("{data}: brought back from {from} with {}\nserve it with `outlay serve --data {data}`\n", holds(&manifest));
    Ok(Report::new(said))
}

fn holds(manifest: &Manifest) -> String {
    let Manifest { campaigns, rounds, items, seq, .. } = manifest;
    format!("{}, up to event {seq}", figures(*campaigns, *rounds, *items))
}

fn figures(campaigns: u64, rounds: u64, items: u64) -> String {
    let count = |number: u64, one| counted(usize::try_from(number).unwrap_or(usize::MAX), one);
    format!("{}, {} and {}", count(campaigns, "campaign"), count(rounds, "round"), count(items, "outcome"))
}

pub(crate) fn export(arguments: &ExportArguments) -> Result<Report, Failure> {
    let store = to_read(&arguments.place)?;
    if input::is_stdin(&arguments.file) {
        let contents = archive::export(&*store, &mut BufWriter::new(std::io::stdout().lock()))?;
        return Ok(Report::new(String::new()).with_remarks(vec![format!("exported {}", contained(&contents))]));
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

fn write_export(store: &dyn Store, out: File, partial: &Path, file: &Path) -> Result<Contents, Failure> {
    let cannot = |error| cannot_write(file, &error);
    let mut out = BufWriter::new(out);
    let contents = archive::export(store, &mut out)?;
    out.flush().and_then(|()| out.get_ref().sync_all()).map_err(cannot)?;
    std::fs::rename(partial, file).map_err(cannot)?;
    Ok(contents)
}

fn contained(contents: &Contents) -> String {
    figures(contents.campaigns, contents.rounds, contents.items)
}

pub(crate) fn import(arguments: &ImportArguments) -> Result<Report, Failure> {
    let of_the_file = |ArchiveError(what)| Failure(format!("{}: {what}", input::place(&arguments.file)));
    if !input::is_stdin(&arguments.file) {
        // Before anything is written. Standard input can be read only once.
        archive::survey(&mut export_file(&arguments.file)?).map_err(of_the_file)?;
    }
    let read = |store: &dyn Store| -> Result<Contents, Failure> {
        archive::check_empty(store).map_err(of_the_file)?;
        let mut lines: Box<dyn BufRead> =
            if input::is_stdin(&arguments.file) { Box::new(std::io::stdin().lock()) } else { Box::new(export_file(&arguments.file)?) };
        archive::import(store, &mut lines).map_err(|ArchiveError(what)| of_the_file(ArchiveError(format!("{what}{}", left_behind(store)))))
    };
    if let Some(url) = arguments.place.database() {
        let contents = read(&*database(&url)?)?;
        return Ok(Report::new(format!("the database has {}\n", contained(&contents))));
    }
    let data = data(&arguments.place);
    let options = SqliteOptions { any_file_system: arguments.any_file_system, ..SqliteOptions::default() };
    let (folder_was_there, was_there) = (data.exists(), data.join("outlay.db").exists());
    let store = SqliteStore::open(data, &options).map_err(|error| Failure(error.what))?;
    let contents = read(&store).and_then(|contents| store.close().map(|()| contents).map_err(|error| Failure(error.what)));
    drop(store);
    if contents.is_err() && !was_there {
        // Half an import is no store.
        archive::remove_store(data, folder_was_there);
    }
    Ok(Report::new(format!("{}: {}\n", data.display(), contained(&contents?))))
}

fn export_file(path: &Path) -> Result<BufReader<File>, Failure> {
    File::open(path).map(BufReader::new).map_err(|error| cannot_read(path, &error))
}

/// What to do about half an import, where there is one.
fn left_behind(store: &dyn Store) -> &'static str {
    match (archive::check_empty(store), store.is_shared()) {
        (Ok(()), _) => "",
        (Err(_), true) => "\n  the database has what came before it: drop its schema `outlay` before you try again",
        (Err(_), false) => "\n  the folder has what came before it, unless it was new: name a new folder",
    }
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
    let verified = match to_read(&arguments.place).and_then(|store| store.verify().map_err(|error| Failure(error.what))) {
        Ok(verified) => verified,
        // What is so damaged that it cannot even be counted is a finding, not a mistake of who asks.
        Err(Failure(what)) if what.starts_with(DAMAGED) => Verified { faults: vec![what], ..Verified::default() },
        Err(failure) => return Err(failure),
    };
    let Verified { campaigns, rounds, items, faults } = &verified;
    let sound = faults.is_empty();
    let all = figures(*campaigns, *rounds, *items);
    let result = match arguments.format {
        Format::Table if sound => format!("sound: {all}; every count is that of its feedback\n"),
        Format::Table => format!("not sound: {all}\n{}", faults.iter().map(|fault| format!("  {fault}\n")).collect::<String>()),
        Format::Json => json(&VerifiedRecord { sound, campaigns: *campaigns, rounds: *rounds, items: *items, faults })?,
        Format::Csv if sound => csv([VerifiedRow { sound, campaigns: *campaigns, rounds: *rounds, items: *items, fault: "" }])?,
        Format::Csv => csv(faults.iter().map(|fault| VerifiedRow { sound, campaigns: *campaigns, rounds: *rounds, items: *items, fault }))?,
    };
    Ok(Report { ending: if sound { Ending::Done } else { Ending::CheckFailed }, ..Report::new(result) })
}

fn data(place: &StorePlace) -> &Path {
    place.data.as_deref().unwrap_or(Path::new(DEFAULT_FOLDER))
}

/// The store, also while it is served.
fn to_read(place: &StorePlace) -> Result<Arc<dyn Store>, Failure> {
    match place.database() {
        Some(url) => existing_database(&url),
        None => Ok(Arc::new(SqliteStore::open_to_read(data(place)).map_err(|error| Failure(error.what))?)),
    }
}
