//! `outlay backup`, `restore`, `export`, `import` and `verify`: copies of a store, and whether it is sound.

use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use outlay_server::archive::{self, ArchiveError, Contents, Manifest};
use outlay_server::clock::{Clock, SystemClock};
use outlay_server::store::{SqliteOptions, SqliteStore, Store, Verified};
use serde::Serialize;

use crate::arguments::{BackupArguments, ExportArguments, ImportArguments, RestoreArguments, StorePlace, VerifyArguments};
use crate::failure::Failure;
use crate::input;
use crate::number::counted;
use crate::report::{Ending, Format, Report, csv, json};
use crate::serve::store::{DEFAULT_FOLDER, database};
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
    let mut partial = arguments.file.as_os_str().to_owned();
    partial.push(".part");
    let partial = PathBuf::from(partial);
    let written = write_export(&*store, &partial, &arguments.file);
    if written.is_err() {
        // What could not be finished must not lie about.
        let _ = std::fs::remove_file(&partial);
    }
    Ok(Report::new(format!("{}: {}\n", arguments.file.display(), contained(&written?))))
}

fn write_export(store: &dyn Store, partial: &Path, file: &Path) -> Result<Contents, Failure> {
    let cannot = |error| cannot_write(file, &error);
    let mut out = BufWriter::new(File::create(partial).map_err(cannot)?);
    let contents = archive::export(store, &mut out)?;
    out.flush().and_then(|()| out.get_ref().sync_all()).map_err(cannot)?;
    std::fs::rename(partial, file).map_err(cannot)?;
    Ok(contents)
}

fn contained(contents: &Contents) -> String {
    figures(contents.campaigns, contents.rounds, contents.items)
}

pub(crate) fn import(arguments: &ImportArguments) -> Result<Report, Failure> {
    let read = |store: &dyn Store| -> Result<Contents, Failure> {
        let imported = if input::is_stdin(&arguments.file) {
            archive::import(store, &mut std::io::stdin().lock())
        } else {
            let file = File::open(&arguments.file).map_err(|error| cannot_read(&arguments.file, &error))?;
            archive::import(store, &mut BufReader::new(file))
        };
        imported.map_err(|ArchiveError(what)| Failure(format!("{}: {what}", input::place(&arguments.file))))
    };
    if let Some(url) = arguments.place.database() {
        let contents = read(&*database(&url)?)?;
        return Ok(Report::new(format!("the database has {}\n", contained(&contents))));
    }
    if !input::is_stdin(&arguments.file) {
        // Before a store is made for nothing.
        File::open(&arguments.file).map_err(|error| cannot_read(&arguments.file, &error))?;
    }
    let data = data(&arguments.place);
    let options = SqliteOptions { any_file_system: arguments.any_file_system, ..SqliteOptions::default() };
    let was_there = data.join("outlay.db").exists();
    let store = SqliteStore::open(data, &options).map_err(|error| Failure(error.what))?;
    let contents = read(&store).and_then(|contents| store.close().map(|()| contents).map_err(|error| Failure(error.what)));
    drop(store);
    if contents.is_err() && !was_there {
        // Half an import is no store.
        for name in ["outlay.db", "outlay.db-wal", "outlay.db-shm", "outlay.lock"] {
            let _ = std::fs::remove_file(data.join(name));
        }
        let _ = std::fs::remove_dir(data);
    }
    Ok(Report::new(format!("{}: {}\n", data.display(), contained(&contents?))))
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
struct FaultRow<'a> {
    fault: &'a str,
}

pub(crate) fn verify(arguments: &VerifyArguments) -> Result<Report, Failure> {
    let verified = to_read(&arguments.place)?.verify().map_err(|error| Failure(error.what))?;
    let Verified { campaigns, rounds, items, faults } = &verified;
    let sound = faults.is_empty();
    let all = figures(*campaigns, *rounds, *items);
    let result = match arguments.format {
        Format::Table if sound => format!("sound: {all}; every count is that of its feedback\n"),
        Format::Table => format!("not sound: {all}\n{}", faults.iter().map(|fault| format!("  {fault}\n")).collect::<String>()),
        Format::Json => json(&VerifiedRecord { sound, campaigns: *campaigns, rounds: *rounds, items: *items, faults })?,
        Format::Csv => csv(faults.iter().map(|fault| FaultRow { fault }))?,
    };
    Ok(Report { ending: if sound { Ending::Done } else { Ending::CheckFailed }, ..Report::new(result) })
}

fn data(place: &StorePlace) -> &Path {
    place.data.as_deref().unwrap_or(Path::new(DEFAULT_FOLDER))
}

/// The store, also while it is served.
fn to_read(place: &StorePlace) -> Result<Arc<dyn Store>, Failure> {
    match place.database() {
        Some(url) => database(&url),
        None => Ok(Arc::new(SqliteStore::open_to_read(data(place)).map_err(|error| Failure(error.what))?)),
    }
}
