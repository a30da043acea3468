//! The kinds of errors of a problem.

use std::sync::Arc;

use super::UnknownTask;
use super::value::{ExpectedType, FoundValue};
use crate::curve::{CurveError, CurveErrorKind, NumberRange};
use crate::problem::CompletionLaw;
use crate::table::{NumberError, TableError};
use crate::text::{did_you_mean, listed, one_line};

/// The kind of a [`ProblemError`](super::ProblemError), with its data. `Display` gives the message
/// without the path.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ProblemErrorKind {
    /// The text is not valid TOML or JSON. The path is the line and column.
    #[error("{message}")]
    Syntax {
        /// The message of the parser.
        message: String,
    },
    /// A value of the wrong type.
    #[error("must be {expected}, not {found}")]
    WrongType {
        /// The expected type.
        expected: ExpectedType,
        /// The value.
        found: FoundValue,
    },
    /// `task` is not a list of tables.
    #[error("must be a list of tables, not {found}: in TOML head each task [[task]]")]
    NotATaskList {
        /// The value.
        found: FoundValue,
    },
    /// `tasks` does not name a file.
    #[error(
        "must be {{ file = \"tasks.csv\" }}, not {found}: tasks in the file itself use `task`, \
         without s"
    )]
    NotATaskFile {
        /// The value.
        found: FoundValue,
    },
    /// A key that the table does not take.
    #[error("unknown key `{}`: {}", one_line(.key), did_you_mean(.key, .known.iter().copied()))]
    UnknownKey {
        /// The key.
        key: String,
        /// The keys that the table takes.
        known: Vec<&'static str>,
    },
    /// A required key is unset.
    #[error("is missing: {owner} needs it")]
    Missing {
        /// The part that requires the key, such as `a hill curve`.
        owner: String,
    },
    /// A required key with a fixed set of values is unset.
    #[error("is missing: {owner} needs one of {}", in_backticks(.known))]
    MissingChoice {
        /// The part that requires the key.
        owner: &'static str,
        /// The possible values.
        known: Vec<&'static str>,
    },
    /// A value that is not one of the possible ones.
    #[error("unknown {key} `{}`: {}", one_line(.name), did_you_mean(.name, .known.iter().copied()))]
    UnknownChoice {
        /// The key.
        key: &'static str,
        /// The value.
        name: String,
        /// The possible values.
        known: Vec<&'static str>,
    },
    /// A task without a curve.
    #[error(
        "is missing: every task needs one, such as \
         {{ family = \"hill\", half_at = 120.0, steepness = 2.5 }}"
    )]
    MissingCurve,
    /// A problem without tasks.
    #[error("is missing: a problem needs at least one task")]
    NoTasks,
    /// A problem whose tasks are all retired.
    #[error("every task is retired: at least one must stay")]
    AllRetired,
    /// An invalid parameter of a curve.
    #[error(transparent)]
    Curve(#[from] CurveErrorKind),
    /// A file names a custom curve.
    #[error(
        "`custom` is a function, for Rust and Python only: in a file give its points, as \
         `piecewise` or `steps`"
    )]
    CustomFamily,
    /// A problem with a custom curve cannot be written as a file.
    #[error("is a custom function, which a file cannot hold; give its points instead")]
    CustomFunction,
    /// The problem cannot be written as TOML.
    #[error("cannot be written as TOML: {message}")]
    NotToml {
        /// The message of the TOML writer.
        message: String,
    },
    /// A number outside its range.
    #[error("must be {expected}, not {number}")]
    OutOfRange {
        /// The number.
        number: f64,
        /// The range.
        expected: NumberRange,
    },
    /// A list without numbers.
    #[error("must have at least one number")]
    Empty,
    /// A number above the one that limits it.
    #[error("must be at most `{limited_by}`: {number} > {limit}")]
    AboveLimit {
        /// The number.
        number: f64,
        /// The key that limits it, such as `max`.
        limited_by: &'static str,
        /// The number of that key.
        limit: f64,
    },
    /// `at_least` above `max`.
    #[error("must be at most `max`: {at_least} > {max} (to spend nothing write `exclude`)")]
    AtLeastAboveMax {
        /// `at_least` of the task.
        at_least: f64,
        /// `max` of the task.
        max: f64,
    },
    /// The amplitude of a varying budget above its mean.
    #[error("must be at most `mean`, or budgets are negative: {amplitude} > {mean}")]
    AmplitudeAboveMean {
        /// The amplitude.
        amplitude: f64,
        /// The mean.
        mean: f64,
    },
    /// A volume that the law of completions does not allow.
    #[error("must be {}, not {volume}", volume_of(*.law))]
    VolumeOfLaw {
        /// The volume.
        volume: f64,
        /// The law, single or binomial.
        law: CompletionLaw,
    },
    /// A curve that cannot have this scale.
    #[error("the curve cannot be scaled by {scale}: {error}")]
    ScaledCurve {
        /// The scale.
        scale: f64,
        /// The error of the scaled curve.
        error: CurveError,
    },
    /// A column of a profile without numbers.
    #[error(
        "`{}` has no numbers in column `{}`: if it names the rows, set `index` to its name",
        one_line(.file), one_line(.column)
    )]
    NamesOfRows {
        /// The file.
        file: String,
        /// The column.
        column: String,
    },
    /// A name that no task has.
    #[error("{0}")]
    UnknownTask(UnknownTask),
    /// A list that is not a range.
    #[error("must have two numbers, the smallest and the largest spend of the log, not {count}")]
    NotARange {
        /// The number of numbers.
        count: usize,
    },
    /// A range whose ends are in the wrong order.
    #[error("must not decrease: {low} > {high}")]
    DecreasingRange {
        /// The first number.
        low: f64,
        /// The second number.
        high: f64,
    },
    /// The bounds of a task allow no spend that its log covers.
    #[error("no spend that the bounds allow is between {low} and {high}")]
    OutsideCovers {
        /// The smallest spend of the log.
        low: f64,
        /// The largest spend of the log.
        high: f64,
    },
    /// A sum of rewards that the completions cannot have.
    #[error("must be at most completions × `reward_max`: {reward} > {completions} × {reward_max}")]
    SeenAboveMax {
        /// The sum of the rewards.
        reward: f64,
        /// The number of completions.
        completions: u64,
        /// The largest reward of one completion.
        reward_max: f64,
    },
    /// `fixed` together with other bounds.
    #[error("{fixed} cannot go with {}: keep one", in_backticks(.others))]
    FixedWithOthers {
        /// `fixed` of the task.
        fixed: f64,
        /// The keys of the other bounds.
        others: Vec<&'static str>,
    },
    /// `exclude` together with a positive `min`.
    #[error("cannot go with `min` = {min}: keep one")]
    ExcludeWithMin {
        /// `min` of the task.
        min: f64,
    },
    /// The lower bounds of the tasks exceed the budget.
    #[error("{keys} up to {needed}, more than the budget {budget}: {}", named(.lower_bounds))]
    BudgetTooSmall {
        /// The keys that set the lower bounds.
        keys: LowerBoundKeys,
        /// The sum of the lower bounds.
        needed: f64,
        /// The budget.
        budget: f64,
        /// The tasks with their lower bounds, the largest first.
        lower_bounds: Vec<(String, f64)>,
    },
    /// The smallest of the varying budgets is below the sum of the tasks' lower bounds.
    #[error("its smallest budget {least} is below what the tasks' min and fixed need: {needed}")]
    SmallestBudgetTooSmall {
        /// The smallest budget.
        least: f64,
        /// The sum of the lower bounds.
        needed: f64,
    },
    /// A task without a name.
    #[error("must not be empty")]
    EmptyName,
    /// The limits of a task given twice.
    #[error("the limits of `{}` were already given at {first}", one_line(.name))]
    RepeatedLimits {
        /// The task.
        name: String,
        /// The place of the first ones.
        first: String,
    },
    /// A percentage that cannot be read.
    #[error(
        "must be a number or a percentage, such as `80% of current` or `10% of budget`, not {found}"
    )]
    Percentage {
        /// The value.
        found: FoundValue,
    },
    /// A percentage of `current` for a task without it.
    #[error("is a percentage of `current`, which is missing")]
    PercentageWithoutCurrent,
    /// A task without `current`, whose spend cannot be kept near it.
    #[error("is missing: the spend of every task is kept near it")]
    MissingCurrent,
    /// The bounds of a task allow no spend near its present one.
    #[error("no spend that the bounds allow is between {low} and {high}")]
    OutsideCurrent {
        /// The smallest spend near the present one.
        low: f64,
        /// The largest one.
        high: f64,
    },
    /// A unit that is not a short word.
    #[error("must be a word of 1 to 20 characters, such as `EUR` or `day`, not `{}`", one_line(.word))]
    NotAUnit {
        /// The text.
        word: String,
    },
    /// A name with line ends or other control characters.
    #[error("must be one line without control characters")]
    ControlCharacterInName,
    /// Two tasks of the same name.
    #[error("`{}` is already the name of {first}: names must differ", one_line(.name))]
    DuplicateName {
        /// The name.
        name: String,
        /// The path of the first task of that name.
        first: String,
    },
    /// Two keys of which only one may be set.
    #[error("cannot go with `{other}`: give one of them")]
    ConflictingKeys {
        /// The other key.
        other: &'static str,
    },
    /// `column` or `where` without `file`.
    #[error("goes with `file`, which is missing")]
    WithoutFile,
    /// Neither a list of numbers nor a file is given.
    #[error("is missing: {owner} needs `{list}`, or `file` and `column`")]
    MissingSamples {
        /// The part that needs the numbers.
        owner: &'static str,
        /// The key of the list.
        list: &'static str,
    },
    /// A file that cannot be read.
    #[error("cannot read `{}`: {}", one_line(.file), one_line(.reason))]
    UnreadableFile {
        /// The file.
        file: String,
        /// The reason.
        reason: String,
    },
    /// A file that is not a table.
    #[error("cannot read `{}`: {error}", one_line(.file))]
    NotATable {
        /// The file.
        file: String,
        /// The reason.
        error: TableError,
    },
    /// A cell that is not a number in the form of its table.
    #[error("must be a number, not {cell}: {error}")]
    NotANumber {
        /// The cell.
        cell: FoundValue,
        /// The reason.
        error: NumberError,
    },
    /// A column that a file does not have.
    #[error(
        "in `{}`: there is no column `{}`: {}",
        one_line(.file),
        one_line(.column),
        did_you_mean(.column, .known.iter().map(String::as_str))
    )]
    NoSuchColumn {
        /// The file.
        file: String,
        /// The column.
        column: String,
        /// The columns of the file, which all errors of the file share.
        known: Arc<[String]>,
    },
    /// A file without rows.
    #[error("`{}` has no rows", one_line(.file))]
    NoRows {
        /// The file.
        file: String,
    },
    /// A file without a row that meets the conditions.
    #[error("no row of `{}` has {}", one_line(.file), equations(.conditions))]
    NoMatchingRow {
        /// The file.
        file: String,
        /// The columns and the cells wanted there.
        conditions: Vec<(String, String)>,
    },
    /// A cell that should hold a number.
    #[error(
        "`{}` line {line} must have a number, finite and not negative, not {cell}{}{}",
        one_line(.file),
        number_hint(.error),
        other_cells(*.others)
    )]
    BadSample {
        /// The file.
        file: String,
        /// The line of the first such cell.
        line: u64,
        /// The cell.
        cell: FoundValue,
        /// The reason, if the cell resembles a number.
        error: Option<NumberError>,
        /// The number of other such cells in the column.
        others: usize,
    },
    /// A condition that does not name its column.
    #[error("must name a column of the file: head the column `where.` and that name")]
    ConditionWithoutColumn,
    /// A column without a name.
    #[error("column {number} has no name: name it or delete it")]
    UnnamedColumn {
        /// The column, counted from one.
        number: usize,
    },
    /// A column that tasks do not have.
    #[error(
        "unknown column `{}`: {}",
        one_line(.column),
        did_you_mean(.column, .known.iter().map(String::as_str))
    )]
    UnknownColumn {
        /// The column.
        column: String,
        /// The columns that tasks can have.
        known: Vec<String>,
    },
    /// A column that is named twice.
    #[error("the column `{}` appears twice", one_line(.column))]
    RepeatedColumn {
        /// The column.
        column: String,
    },
    /// A table of tasks without the column `family`.
    #[error("there is no column `family`: every task needs a curve")]
    NoFamilyColumn,
    /// A row with more or fewer cells than there are columns.
    #[error("the first line names {expected} columns, this row has {found}")]
    RowLength {
        /// The number of columns.
        expected: usize,
        /// The number of cells in the row.
        found: usize,
    },
    /// A table of tasks without rows.
    #[error("no task follows the names of the columns")]
    NoTaskRows,
    /// A path into a document that is malformed.
    #[error("is not a path; write `task[0].curve.exponent` or `task[*].value`")]
    InvalidPath,
    /// A path with a key that the document does not have.
    #[error("{} has no `{}`", one_line(.at), one_line(.key))]
    NoSuchKey {
        /// The part of the document.
        at: String,
        /// The key that it does not have.
        key: String,
    },
    /// A path with a position that a list does not have.
    #[error("{} has {len} entries, counted from 0", one_line(.at))]
    NoSuchItem {
        /// The list.
        at: String,
        /// Its number of entries.
        len: usize,
    },
    /// A path through a value that is not a table or list.
    #[error("{} is {found}, not {expected}", one_line(.at))]
    NotAContainer {
        /// The part of the document.
        at: String,
        /// The expected type: a table or a list.
        expected: ExpectedType,
        /// Its value.
        found: FoundValue,
    },
}

/// The keys that set the lower bounds of a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LowerBoundKeys {
    /// Only `min` (and `at_least` of tasks with a `min`).
    Min,
    /// Only `fixed`.
    Fixed,
    /// Both.
    MinAndFixed,
}

impl std::fmt::Display for LowerBoundKeys {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Min => "min adds",
            Self::Fixed => "fixed adds",
            Self::MinAndFixed => "min and fixed add",
        })
    }
}

fn volume_of(law: CompletionLaw) -> &'static str {
    match law {
        CompletionLaw::Single => "1 if completions are single",
        _ => "whole if completions are binomial",
    }
}

fn in_backticks(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// `name amount` for each of the first tasks, then the number of the others.
fn named(lower_bounds: &[(String, f64)]) -> String {
    let bounds = lower_bounds.iter().map(|(name, min)| format!("{} {min}", one_line(name)));
    listed(&bounds.collect::<Vec<_>>())
}

fn equations(conditions: &[(String, String)]) -> String {
    let equations = conditions.iter().map(|(column, cell)| format!("{column} = {cell}"));
    one_line(&equations.collect::<Vec<_>>().join(", "))
}

fn number_hint(error: &Option<NumberError>) -> String {
    error.map(|error| format!(": {error}")).unwrap_or_default()
}

fn other_cells(others: usize) -> String {
    match others {
        0 => String::new(),
        1 => " (and 1 other cell)".to_owned(),
        others => format!(" (and {others} other cells)"),
    }
}
