//! `outlay tell`: records outcomes, either the whole file or nothing.

use outlay::ledger::{Entry, Ledger, LedgerError, Reported};
use serde::Serialize;

use crate::args::TellArgs;
use crate::failure::Failure;
use crate::input::csv_table::{CsvFile, CsvForm, CsvRow, CsvTable};
use crate::input::state_file::StateFile;
use crate::input::task_names::TaskNames;
use crate::output::{CommandOutput, Format, csv, json};
use outlay_report::number::counted;

const EXPECTED_COLUMNS: &str = "outcomes have the columns round, task, completed and reward";

pub(crate) fn run(arguments: &TellArgs) -> Result<CommandOutput, Failure> {
    // Read before locking the state, because standard input can be slow.
    let file = CsvFile::read(&arguments.outcomes)?;
    let (held, mut ledger) = StateFile::open(&arguments.state)?;
    let outcomes = read(&ledger, &file, arguments.csv.form())?;
    let empty = outcomes.empty;
    let reported =
        take(&mut ledger, outcomes).map_err(|errors| Failure::many(&file.name, &errors))?;
    if reported.new > 0 {
        held.save(&ledger)?;
    }
    let record = Record {
        new: reported.new,
        repeated: reported.repeated,
        empty,
        open_rounds: ledger.open_rounds(),
    };
    let output = match arguments.format {
        Format::Table => CommandOutput::new(format!("{}\n", sentence(reported, &record))),
        Format::Json => CommandOutput::new(json(&record)?),
        Format::Csv => CommandOutput::new(csv([record])?),
    };
    Ok(output.with_remarks(file.remark.into_iter().collect()))
}

/// Records the entries, or returns all errors of the file: syntax errors, then contradictions.
fn take(ledger: &mut Ledger, outcomes: Outcomes) -> Result<Reported, Vec<String>> {
    let Outcomes { entries, lines, mut errors, .. } = outcomes;
    match ledger.report(&entries) {
        Ok(reported) if errors.is_empty() => return Ok(reported),
        Ok(_) => {}
        Err(LedgerError::Entries(refused)) => errors.extend(
            refused.iter().map(|entry| format!("line {}: {}", lines[entry.position], entry.reason)),
        ),
        Err(other) => return Err(vec![other.to_string()]),
    }
    Err(errors)
}

#[derive(Serialize)]
struct Record {
    new: usize,
    repeated: usize,
    /// Rows whose `completed` is empty, because the outcome is not known yet.
    empty: usize,
    open_rounds: usize,
}

fn sentence(reported: Reported, record: &Record) -> String {
    let mut parts = vec![if reported.new > 0 {
        format!("{} recorded", counted(reported.new, "outcome"))
    } else {
        "nothing new".to_owned()
    }];
    if reported.repeated > 0 {
        parts.push(format!("{} already recorded", reported.repeated));
    }
    if record.empty > 0 {
        parts.push(format!("{} still empty", record.empty));
    }
    parts.push(format!("{} open", counted(record.open_rounds, "round")));
    parts.join(" · ")
}

/// The entries of a file with their line numbers, and all syntax errors.
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

fn read(ledger: &Ledger, file: &CsvFile, form: CsvForm<'_>) -> Result<Outcomes, Failure> {
    let rows = CsvTable::new(file, form)?;
    let columns = Columns {
        round: rows.column("round", EXPECTED_COLUMNS)?,
        task: rows.column("task", EXPECTED_COLUMNS)?,
        completed: rows.column("completed", EXPECTED_COLUMNS)?,
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

/// The entry of a row; none if its `completed` is still empty.
fn entry(row: &CsvRow<'_>, columns: &Columns, task: usize) -> Result<Option<Entry>, String> {
    let round = row.count(columns.round, "round")?;
    let reward = columns.reward.filter(|column| !row.text(*column).is_empty());
    let reward = reward.map(|column| row.amount(column, "reward")).transpose()?;
    if row.text(columns.completed).is_empty() {
        return if reward.is_none() {
            Ok(None)
        } else {
            Err("reward is given, but completed is empty".to_owned())
        };
    }
    Ok(Some(Entry { round, task, completed: row.flag(columns.completed, "completed")?, reward }))
}
