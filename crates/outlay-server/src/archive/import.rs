//! Imports an export command by command, into any kind of store.

use std::collections::HashMap;
use std::io::BufRead;

use super::ArchiveError;
use super::line::{Contents, FORM, Line};
use crate::store::{Command, Done, Refusal, Store};

/// Commands of one batch.
const BATCH: usize = 1000;

/// Largest size of a line. Splits have three numbers per task, so a line with the largest number of
/// tasks has less than a megabyte.
const LONGEST_LINE: u64 = 64 << 20;

/// Imports an export into an empty store, and checks the result.
///
/// # Errors
/// If the store is not empty, or at the first line that cannot be imported. If earlier lines are in
/// the store by then, or if the import is interrupted, the store is rejected when it is opened
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

/// Reads an export without importing it: checks that it is complete and every line is valid. Call
/// this before an [`import`] into a store that cannot be discarded.
///
/// # Errors
/// At the first invalid line, or if lines are missing.
pub fn survey(lines: &mut dyn BufRead) -> Result<Contents, ArchiveError> {
    read(None, lines)
}

/// Checks that a store is empty.
///
/// # Errors
/// If it is not, or the store cannot be read.
pub fn check_empty(store: &dyn Store) -> Result<(), ArchiveError> {
    if !store.campaigns(None, 1)?.is_empty() || !store.tokens()?.is_empty() {
        return Err(ArchiveError("the store is not empty; import into a new one".to_owned()));
    }
    Ok(())
}

/// Reads all lines, and imports them if there is a store.
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
            return Err(wrong(place, "it follows the last line of the export"));
        }
        let line: Line =
            serde_json::from_slice(&text).map_err(|error| wrong(place, &error.to_string()))?;
        match (line, place) {
            (Line::Export { form: 1..=FORM }, 1) => reading.found.lines = 1,
            (Line::Export { form }, 1) => {
                return Err(wrong(
                    1,
                    &format!(
                        "it has format {form}, and this version of outlay reads formats up to {FORM}; use a later version"
                    ),
                ));
            }
            (_, 1) => return Err(wrong(1, "it is not the first line of an export")),
            (Line::End(contents), _) => said = Some(contents),
            (line, place) => reading.take(line, place)?,
        }
    }
    reading.send()?;
    match said {
        None => Err(ArchiveError(format!("the export is truncated after line {}; export again", place - 1))),
        Some(said) if said != reading.found => {
            Err(ArchiveError("the export does not match the counts in its last line: lines are missing or there are too many".to_owned()))
        }
        Some(said) => Ok(said),
    }
}

fn wrong(place: u64, what: &str) -> ArchiveError {
    ArchiveError(format!("line {place} cannot be imported: {what}"))
}

/// Checks that the store contains the data of the export.
fn checked(store: &dyn Store, said: Contents) -> Result<Contents, ArchiveError> {
    let verified = store.verify()?;
    if let Some(fault) = verified.faults.first() {
        return Err(ArchiveError(format!("the store is damaged: {fault}")));
    }
    if (verified.campaigns, verified.rounds, verified.items)
        != (said.campaigns, said.rounds, said.items)
    {
        return Err(ArchiveError(
            "the store does not match the export; another process may have written to it"
                .to_owned(),
        ));
    }
    Ok(said)
}

struct Reading<'a> {
    store: Option<&'a dyn Store>,
    waiting: Vec<Command>,
    /// Line numbers of the waiting commands.
    places: Vec<u64>,
    /// Of the current campaign.
    version: u64,
    campaign: String,
    /// Number of tasks of each campaign.
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
                if tasks.is_some_and(|tasks| !checkpoint.has_tasks(tasks)) {
                    return Err(wrong(place, "it does not have one count for each task"));
                }
                checkpoint.count(found);
            }
            Line::Amendment { campaign, tasks, .. } if *campaign == self.campaign => {
                found.amendments += 1;
                if self.tasks.get(campaign).is_some_and(|known| tasks > known) {
                    return Err(wrong(place, "it has a task that the campaign does not have"));
                }
            }
            Line::Ask(ask) => found.rounds += ask.count(),
            Line::Tell { items, .. } => found.items += items.len() as u64,
            Line::Correction(_) => found.corrections += 1,
            Line::Amendment { .. } => return Err(wrong(place, "it belongs to another campaign")),
            Line::Status { campaign, .. } if *campaign != self.campaign => {
                return Err(wrong(place, "it belongs to another campaign"));
            }
            Line::Export { .. } | Line::Status { .. } | Line::End(_) => {}
        }
        if let Some((campaign, task)) = line.highest_task()
            && self.tasks.get(campaign).is_some_and(|tasks| task >= *tasks)
        {
            return Err(wrong(place, "it names a task that the campaign does not have"));
        }
        let is_change = matches!(line, Line::Status { .. } | Line::Amendment { .. });
        let command = line
            .command(self.version)
            .ok_or_else(|| wrong(place, "a number or a digest is invalid"))?;
        self.version += u64::from(is_change);
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
                    return Err(wrong(*place, "it repeats an earlier report"));
                }
                Ok(Done::WasThere) => return Err(wrong(*place, "the campaign already exists")),
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
        Refusal::NoCampaign => "its campaign does not exist",
        Refusal::OtherCampaign => "another campaign has this id",
        Refusal::Closed => "the campaign is closed",
        Refusal::NotClosed => "the campaign is not closed",
        Refusal::Compacted => "its round was compacted",
        Refusal::OtherVersion { .. } => "the change does not follow the one before",
        Refusal::Amended => "its rounds do not belong to the present problem of the campaign",
        Refusal::BeyondHorizon { .. } => "its rounds are beyond the horizon",
        Refusal::KeyUsed { .. } | Refusal::RoundsTaken => "its rounds were issued before",
        Refusal::Conflict { .. } => "a different outcome was reported before",
        Refusal::TooLarge { .. } => "the counts of its task become too large",
        Refusal::NothingToCorrect => "there is no outcome to correct",
        Refusal::Token => "a token with this id already exists",
    }
}
