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

const EXPECTED_COLUMNS: &str = "outcomes have the columns round, task, completed (or completions), \
     reward and, if known, spend";

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
    completions: CompletionColumn,
    reward: Option<usize>,
    spend: Option<usize>,
}

/// The column with the completions.
enum CompletionColumn {
    /// `completed`: 0 or 1.
    Flag(usize),
    /// `completions`: their number.
    Count(usize),
}

impl CompletionColumn {
    fn of(rows: &CsvTable<'_>) -> Result<Self, Failure> {
        match (rows.optional("completions"), rows.optional("completed")) {
            (Some(column), None) => Ok(Self::Count(column)),
            (None, Some(column)) => Ok(Self::Flag(column)),
            (Some(_), Some(_)) => Err(Failure(
                "the file has both completed and completions: delete one of the columns".to_owned(),
            )),
            (None, None) => rows.column("completed", EXPECTED_COLUMNS).map(Self::Flag),
        }
    }

    fn position(&self) -> usize {
        match *self {
            Self::Flag(column) | Self::Count(column) => column,
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Flag(_) => "completed",
            Self::Count(_) => "completions",
        }
    }

    fn read(&self, row: &CsvRow<'_>) -> Result<u64, String> {
        match *self {
            Self::Flag(column) => row.flag(column, self.name()).map(u64::from),
            Self::Count(column) => row.count_or_zero(column, self.name()),
        }
    }
}

fn read(ledger: &Ledger, file: &CsvFile, form: CsvForm<'_>) -> Result<Outcomes, Failure> {
    let rows = CsvTable::new(file, form)?;
    let columns = Columns {
        round: rows.column("round", EXPECTED_COLUMNS)?,
        task: rows.column("task", EXPECTED_COLUMNS)?,
        completions: CompletionColumn::of(&rows)?,
        reward: rows.optional("reward"),
        spend: rows.optional("spend"),
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

/// The entry of a row; none if its completions are still empty.
fn entry(row: &CsvRow<'_>, columns: &Columns, task: usize) -> Result<Option<Entry>, String> {
    let round = row.count(columns.round, "round")?;
    let amount = |column: Option<usize>, name| {
        let column = column.filter(|column| !row.text(*column).is_empty());
        column.map(|column| row.amount(column, name)).transpose()
    };
    let (reward, spend) = (amount(columns.reward, "reward")?, amount(columns.spend, "spend")?);
    if row.text(columns.completions.position()).is_empty() {
        let name = columns.completions.name();
        return match reward {
            None => Ok(None),
            Some(_) => Err(format!("reward is given, but {name} is empty")),
        };
    }
    Ok(Some(Entry { round, task, completions: columns.completions.read(row)?, reward, spend }))
}
