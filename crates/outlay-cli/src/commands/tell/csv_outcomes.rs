//! Outcomes in a CSV file, one row per task and round.

use outlay::ledger::{Entry, Ledger};

use super::Outcomes;
use crate::failure::Failure;
use crate::input::csv_table::{CsvFile, CsvForm, CsvRow, CsvTable};
use crate::input::task_names::TaskNames;

const EXPECTED_COLUMNS: &str = "outcomes have the columns round, task, completed (or completions), \
     reward and, if known, spend";

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

pub(super) fn read(
    ledger: &Ledger,
    file: &CsvFile,
    form: CsvForm<'_>,
) -> Result<Outcomes, Failure> {
    let rows = CsvTable::new(file, form)?;
    let columns = Columns {
        round: rows.column("round", EXPECTED_COLUMNS)?,
        task: rows.column("task", EXPECTED_COLUMNS)?,
        completions: CompletionColumn::of(&rows)?,
        reward: rows.optional("reward"),
        spend: rows.optional("spend"),
    };
    let mut names = TaskNames::new(ledger.problem());
    let mut outcomes = Outcomes::default();
    outcomes.errors = rows.each(|row| {
        let task = names.find(row.text(columns.task))?;
        match entry(row, &columns, task)? {
            None => outcomes.empty += 1,
            Some(entry) => {
                outcomes.entries.push(entry);
                outcomes.places.push(format!("line {}", row.line));
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
