//! An export, done again command by command: into any store, so also from one kind to another.

use std::collections::HashMap;
use std::io::BufRead;

use super::ArchiveError;
use super::line::{Contents, FORM, Line};
use crate::store::{Command, Done, Refusal, Store};

/// Commands of one batch.
const BATCH: usize = 1000;

/// Splits have a number for each task, three times: a line with the most tasks that the service
/// takes on has less than a megabyte.
const LONGEST_LINE: u64 = 64 << 20;

/// Brings everything in an export into an empty store, and checks it.
///
/// # Errors
/// If the store is not empty, or at the first line that cannot be done again. If lines before it
/// are then in the store, or if the import is interrupted, the store is refused when it is opened
/// next: see [`survey`].
pub fn import(store: &dyn Store, lines: &mut dyn BufRead) -> Result<Contents, ArchiveError> {
    check_empty(store)?;
    store.begin_import()?;
    let imported = read(Some(store), lines).and_then(|said| checked(store, said));
    if imported.is_ok() || check_empty(store).is_ok() {
        store.end_import()?;
    }
    imported
}

/// Reads an export without doing any of it: whether it is whole, and each line one of an export. To
/// be done before an [`import`] into a store that cannot be thrown away.
///
/// # Errors
/// At the first line that is none, or if lines are missing.
pub fn survey(lines: &mut dyn BufRead) -> Result<Contents, ArchiveError> {
    read(None, lines)
}

/// Whether there is nothing in a store that an import could mix with.
///
/// # Errors
/// If there is, or the store cannot be read.
pub fn check_empty(store: &dyn Store) -> Result<(), ArchiveError> {
    if !store.campaigns(None, 1)?.is_empty() || !store.tokens()?.is_empty() {
        return Err(ArchiveError("the store is not empty: import into a new one".to_owned()));
    }
    Ok(())
}

/// Reads all lines, and does them if there is a store to do them in.
fn read(store: Option<&dyn Store>, lines: &mut dyn BufRead) -> Result<Contents, ArchiveError> {
    let mut reading = Reading {
        store,
        waiting: Vec::new(),
        places: Vec::new(),
        version: 0,
        campaign: String::new(),
        tasks: HashMap::new(),
        found: Contents::default(),
    };
    let mut said = None;
    let (mut place, mut text) = (0, Vec::new());
    loop {
        place += 1;
        text.clear();
        let mut line = std::io::Read::take(&mut *lines, LONGEST_LINE);
        let length = line
            .read_until(b'\n', &mut text)
            .map_err(|error| ArchiveError(format!("cannot read line {place}: {error}")))?;
        if length == 0 {
            break;
        }
        if said.is_some() {
            return Err(wrong(place, "it comes after the end"));
        }
        let line: Line =
            serde_json::from_slice(&text).map_err(|error| wrong(place, &error.to_string()))?;
        match (line, place) {
            (Line::Export { form: 1..=FORM }, 1) => reading.found.lines = 1,
            (Line::Export { form }, 1) => {
                return Err(wrong(
                    1,
                    &format!(
                        "it has form {form}, and this outlay knows forms up to {FORM}: use a later outlay"
                    ),
                ));
            }
            (_, 1) => return Err(wrong(1, "an export begins otherwise")),
            (Line::End(contents), _) => said = Some(contents),
            (line, place) => reading.take(line, place)?,
        }
    }
    reading.send()?;
    match said {
        None => Err(ArchiveError(format!("the export is cut off after line {}: make it anew", place - 1))),
        Some(said) if said != reading.found => {
            Err(ArchiveError("the export does not hold what its last line says: lines are missing or there are too many".to_owned()))
        }
        Some(said) => Ok(said),
    }
}

fn wrong(place: u64, what: &str) -> ArchiveError {
    ArchiveError(format!("line {place} cannot be imported: {what}"))
}

/// What is in the store is what was in the export.
fn checked(store: &dyn Store, said: Contents) -> Result<Contents, ArchiveError> {
    let verified = store.verify()?;
    if let Some(fault) = verified.faults.first() {
        return Err(ArchiveError(format!("the store is not what was written to it: {fault}")));
    }
    if (verified.campaigns, verified.rounds, verified.items)
        != (said.campaigns, said.rounds, said.items)
    {
        return Err(ArchiveError(
            "the store does not hold what the export holds: did somebody else write to it?"
                .to_owned(),
        ));
    }
    Ok(said)
}

struct Reading<'a> {
    store: Option<&'a dyn Store>,
    waiting: Vec<Command>,
    /// The line of each command that waits.
    places: Vec<u64>,
    /// Of the campaign in hand.
    version: u64,
    campaign: String,
    /// How many tasks each campaign has.
    tasks: HashMap<String, u32>,
    found: Contents,
}

impl Reading<'_> {
    fn take(&mut self, line: Line, place: u64) -> Result<(), ArchiveError> {
        let found = &mut self.found;
        found.lines += 1;
        match &line {
            Line::Token(_) => found.tokens += 1,
            Line::Campaign { id, tasks, .. } => {
                found.campaigns += 1;
                self.tasks.insert(id.clone(), *tasks);
                (self.version, self.campaign) = (1, id.clone());
            }
            Line::Checkpoint(checkpoint) => {
                let tasks = self.tasks.get(checkpoint.campaign()).copied();
                if tasks.is_some_and(|tasks| tasks as usize != checkpoint.tasks()) {
                    return Err(wrong(place, "it does not have one count for each task"));
                }
                checkpoint.count(found);
            }
            Line::Ask(ask) => found.rounds += ask.count(),
            Line::Tell { items, .. } => found.items += items.len() as u64,
            Line::Correction { .. } => found.corrections += 1,
            Line::Status { campaign, .. } if *campaign != self.campaign => {
                return Err(wrong(place, "it is of another campaign"));
            }
            Line::Export { .. } | Line::Status { .. } | Line::End(_) => {}
        }
        if let Some((campaign, task)) = line.highest_task()
            && self.tasks.get(campaign).is_some_and(|tasks| task >= *tasks)
        {
            return Err(wrong(place, "it names a task that the campaign does not have"));
        }
        let is_status = matches!(line, Line::Status { .. });
        let command = line
            .command(self.version)
            .ok_or_else(|| wrong(place, "a number or a digest cannot be one"))?;
        self.version += u64::from(is_status);
        self.waiting.push(command);
        self.places.push(place);
        if self.waiting.len() >= BATCH { self.send() } else { Ok(()) }
    }

    fn send(&mut self) -> Result<(), ArchiveError> {
        let answers =
            self.store.map_or_else(|| Ok(Vec::new()), |store| store.apply(&self.waiting))?;
        for (answer, place) in answers.iter().zip(&self.places) {
            match answer {
                Ok(Done::Told { is_new, .. }) if is_new.contains(&false) => {
                    return Err(wrong(*place, "it tells what was told before"));
                }
                Ok(Done::WasThere) => return Err(wrong(*place, "the campaign is there already")),
                Ok(_) => {}
                Err(refusal) => return Err(wrong(*place, reason(refusal))),
            }
        }
        self.waiting.clear();
        self.places.clear();
        Ok(())
    }
}

fn reason(refusal: &Refusal) -> &'static str {
    match refusal {
        Refusal::NoCampaign => "its campaign has not begun",
        Refusal::OtherCampaign => "another campaign has this id",
        Refusal::Closed => "the campaign is closed",
        Refusal::NotClosed => "the campaign is not closed",
        Refusal::Compacted => "its round was compacted",
        Refusal::OtherVersion { .. } => "the status does not follow the one before",
        Refusal::BeyondHorizon { .. } => "its rounds are beyond the horizon",
        Refusal::KeyUsed { .. } | Refusal::RoundsTaken => "its rounds were handed out before",
        Refusal::Conflict { .. } => "something else was told before",
        Refusal::NothingToCorrect => "nothing was told that could be corrected",
        Refusal::Token => "a token of this id is there already",
    }
}
