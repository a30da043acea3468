//! `outlay tell`: what came back, all of a file or nothing of it.

use outlay::ledger::{Entry, Ledger, LedgerError, Reported};
use serde::Serialize;

use super::state_file::StateFile;
use crate::arguments::TellArguments;
use crate::failure::Failure;
use crate::input;
use crate::number::counted;
use crate::report::{Format, Report, csv, json};
use crate::rows::{Row, Rows};
use crate::task_names::TaskNames;

const MEANT: &str = "outcomes have the columns round, task, completed and reward";

pub(crate) fn run(arguments: &TellArguments) -> Result<Report, Failure> {
    let place = input::place(&arguments.outcomes);
    // Before anything is held: standard input may take its time.
    let text = input::text(&arguments.outcomes)?;
    let (held, mut ledger) = StateFile::open(&arguments.state)?;
    let outcomes = read(&ledger, &place, &text)?;
    let empty = outcomes.empty;
    let told = take(&mut ledger, outcomes).map_err(|errors| Failure::many(&place, &errors))?;
    if told.new > 0 {
        held.save(&ledger)?;
    }
    let record =
        Record { new: told.new, repeated: told.repeated, empty, open_rounds: ledger.open_rounds() };
    Ok(match arguments.format {
        Format::Table => Report::new(format!("{}\n", sentence(told, &record))),
        Format::Json => Report::new(json(&record)?),
        Format::Csv => Report::new(csv([record])?),
    })
}

/// Takes the entries, or says everything that is wrong with the file: what cannot be read, then
/// what cannot be.
fn take(ledger: &mut Ledger, outcomes: Outcomes) -> Result<Reported, Vec<String>> {
    let Outcomes { entries, lines, mut errors, .. } = outcomes;
    match ledger.report(&entries) {
        Ok(told) if errors.is_empty() => return Ok(told),
        Ok(_) => {}
        Err(LedgerError::Entries(refused)) => errors.extend(
            refused.iter().map(|(position, why)| format!("line {}: {why}", lines[*position])),
        ),
        Err(other) => return Err(vec![other.to_string()]),
    }
    Err(errors)
}

#[derive(Serialize)]
struct Record {
    new: usize,
    repeated: usize,
    /// Rows whose `completed` is empty: not known yet.
    empty: usize,
    open_rounds: usize,
}

fn sentence(told: Reported, record: &Record) -> String {
    let mut parts = vec![if told.new > 0 {
        format!("{} told", counted(told.new, "outcome"))
    } else {
        "nothing new".to_owned()
    }];
    if told.repeated > 0 {
        parts.push(format!("{} told before", told.repeated));
    }
    if record.empty > 0 {
        parts.push(format!("{} left empty", record.empty));
    }
    parts.push(format!("{} open", counted(record.open_rounds, "round")));
    parts.join(" · ")
}

/// What a file says, with the line of each entry, and everything that cannot be read.
struct Outcomes {
    entries: Vec<Entry>,
    lines: Vec<u64>,
    empty: usize,
    errors: Vec<String>,
}

struct Columns {
    round: usize,
    task: usize,
    completed: usize,
    reward: Option<usize>,
}

fn read(ledger: &Ledger, place: &str, text: &str) -> Result<Outcomes, Failure> {
    let rows = Rows::new(place, text)?;
    let columns = Columns {
        round: rows.column("round", MEANT)?,
        task: rows.column("task", MEANT)?,
        completed: rows.column("completed", MEANT)?,
        reward: rows.optional("reward"),
    };
    let mut names = TaskNames::new(ledger.problem());
    let mut outcomes =
        Outcomes { entries: Vec::new(), lines: Vec::new(), empty: 0, errors: Vec::new() };
    outcomes.errors = rows.each(|row| {
        let task = names.find(row.text(columns.task))?;
        match entry(row, &columns, task)? {
            None => outcomes.empty += 1,
            Some(entry) => {
                outcomes.entries.push(entry);
                outcomes.lines.push(row.line);
            }
        }
        Ok(())
    });
    Ok(outcomes)
}

/// What a row says; nothing if its `completed` is still empty.
fn entry(row: &Row<'_>, columns: &Columns, task: usize) -> Result<Option<Entry>, String> {
    let round = row.count(columns.round, "round")?;
    let reward = columns.reward.filter(|column| !row.text(*column).is_empty());
    let reward = reward.map(|column| row.amount(column, "reward")).transpose()?;
    if row.text(columns.completed).is_empty() {
        return if reward.is_none() {
            Ok(None)
        } else {
            Err("has a reward, but completed is empty".to_owned())
        };
    }
    Ok(Some(Entry { round, task, completed: row.flag(columns.completed, "completed")?, reward }))
}
