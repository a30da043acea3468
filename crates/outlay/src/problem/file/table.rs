//! The fields of one table, in a document or in a row of a CSV file.

use super::value::Value;
use crate::problem::errors::{ErrorList, ExpectedType, FieldPath, FoundValue, ProblemErrorKind};
use crate::table::{Decimal, NumberError, Row, parse_flag, parse_number};

/// The separator of a list in one cell.
const CELL_LIST_SEPARATOR: char = ';';
/// Up to here all integers are exact in floating point.
const MAX_EXACT_INTEGER: f64 = 9_007_199_254_740_992.0;

/// One value of a field, before it is interpreted.
#[derive(Debug, Clone, Copy)]
pub(crate) enum RawValue<'a> {
    Value(&'a Value),
    /// A cell, and the decimal sign of its table.
    Cell(&'a str, Option<Decimal>),
}

impl<'a> RawValue<'a> {
    /// The value as an error has it.
    pub(crate) fn found(self) -> FoundValue {
        match self {
            Self::Value(value) => value.found(),
            Self::Cell(cell, _) => FoundValue::Text(cell.to_owned()),
        }
    }

    /// The error of a value that does not have the expected type.
    fn not_of_type(self, expected: ExpectedType) -> ProblemErrorKind {
        let found = self.found();
        match self {
            Self::Cell(cell, decimal) if expected.is_numeric() => {
                match parse_number(cell, decimal) {
                    Ok(_) | Err(NumberError::NotANumber) => {
                        ProblemErrorKind::WrongType { expected, found }
                    }
                    Err(error) => ProblemErrorKind::NotANumber { cell: found, error },
                }
            }
            _ => ProblemErrorKind::WrongType { expected, found },
        }
    }

    fn number(self) -> Option<f64> {
        match self {
            Self::Value(Value::Integer(number)) => Some(*number as f64),
            Self::Value(Value::Float(number)) => Some(*number),
            Self::Value(_) => None,
            Self::Cell(cell, decimal) => parse_number(cell, decimal).ok(),
        }
    }

    /// A number, or a percentage of one of the bases.
    fn amount(self, bases: Bases) -> Result<f64, ProblemErrorKind> {
        let (text, decimal) = match self {
            Self::Value(Value::String(text)) => (text.as_str(), None),
            Self::Cell(cell, decimal) => (cell, decimal),
            Self::Value(_) => ("", None),
        };
        let Some((percent, base)) = text.split_once('%') else {
            return self.number().ok_or_else(|| self.not_of_type(ExpectedType::Number));
        };
        let wrong = || ProblemErrorKind::Percentage { found: self.found() };
        let percent = parse_number(percent.trim(), decimal).map_err(|_| wrong())?;
        let base = match base.split_whitespace().collect::<Vec<_>>()[..] {
            ["of", "current"] => bases.current.ok_or(ProblemErrorKind::PercentageWithoutCurrent)?,
            ["of", "budget"] => bases.budget,
            _ => return Err(wrong()),
        };
        Ok(base * (percent / 100.0))
    }

    fn integer(self) -> Option<u64> {
        match self {
            Self::Value(Value::Integer(number)) => u64::try_from(*number).ok(),
            _ => self
                .number()
                .filter(|number| {
                    number.fract() == 0.0 && (0.0..=MAX_EXACT_INTEGER).contains(number)
                })
                .map(|number| number as u64),
        }
    }

    fn text(self) -> Option<&'a str> {
        match self {
            Self::Value(Value::String(text)) => Some(text),
            Self::Value(_) => None,
            Self::Cell(cell, _) => Some(cell),
        }
    }

    fn flag(self) -> Option<bool> {
        match self {
            Self::Value(Value::Bool(flag)) => Some(*flag),
            Self::Value(_) => None,
            Self::Cell(cell, _) => parse_flag(cell),
        }
    }

    fn list(self) -> Option<Vec<Self>> {
        match self {
            Self::Value(Value::Array(items)) => Some(items.iter().map(Self::Value).collect()),
            Self::Value(_) => None,
            Self::Cell(cell, decimal) => {
                let items = cell.split(CELL_LIST_SEPARATOR);
                Some(items.map(|item| Self::Cell(item.trim(), decimal)).collect())
            }
        }
    }

    /// Whether the value is this text.
    pub(crate) fn is_text(self, text: &str) -> bool {
        self.text() == Some(text)
    }

    /// The value as a cell would write it, for comparison with cells.
    pub(crate) fn as_cell(self) -> Option<String> {
        match self {
            Self::Value(Value::Bool(flag)) => Some(flag.to_string()),
            Self::Value(Value::Integer(number)) => Some(number.to_string()),
            Self::Value(Value::Float(number)) => Some(number.to_string()),
            _ => self.text().map(str::to_owned),
        }
    }
}

/// The amounts that percentages refer to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bases {
    pub(crate) current: Option<f64>,
    pub(crate) budget: f64,
}

/// The fields of one table. A null or an empty cell counts as unset.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fields<'a> {
    path: FieldPath<'a>,
    entries: Entries<'a>,
}

/// Keys with their values. Nothing is copied, because a problem may have 10^6 tables.
#[derive(Debug, Clone, Copy)]
enum Entries<'a> {
    Table(&'a [(String, Value)]),
    Row(&'a [(&'a str, usize)], Row<'a>),
}

impl<'a> Fields<'a> {
    /// The fields of a row, given the keys and positions of its columns.
    pub(crate) fn of_row(
        path: FieldPath<'a>,
        columns: &'a [(&'a str, usize)],
        row: Row<'a>,
    ) -> Self {
        Self { path, entries: Entries::Row(columns, row) }
    }

    /// The fields of a value; an error if it is not a table.
    pub(crate) fn of_value(
        path: FieldPath<'a>,
        value: &'a Value,
        errors: &mut ErrorList,
    ) -> Option<Self> {
        let Value::Table(table) = value else {
            let (expected, found) = (ExpectedType::Table, value.found());
            errors.add(path, ProblemErrorKind::WrongType { expected, found });
            return None;
        };
        Some(Self { path, entries: Entries::Table(table) })
    }

    /// The path of the field `key`, whether it is set or not.
    pub(crate) fn at<'s>(&'s self, key: &'s str) -> FieldPath<'s> {
        FieldPath::Key(&self.path, key)
    }

    /// The fields that are set, in the order of the file.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&'a str, RawValue<'a>)> + use<'a> {
        let (table, columns, row) = match self.entries {
            Entries::Table(table) => (table, &[][..], None),
            Entries::Row(columns, row) => (&[][..], columns, Some(row)),
        };
        let values = table.iter().map(|(key, value)| (key.as_str(), of_value(value)));
        let cells = columns
            .iter()
            .map(move |&(key, column)| (key, row.and_then(|row| of_cell(row, column))));
        values.chain(cells).filter_map(|(key, written)| Some((key, written?)))
    }

    pub(crate) fn get(&self, key: &str) -> Option<RawValue<'a>> {
        match self.entries {
            Entries::Table(table) => {
                table.iter().find(|(entry, _)| entry == key).and_then(|(_, value)| of_value(value))
            }
            Entries::Row(columns, row) => {
                let (_, column) = columns.iter().find(|(entry, _)| *entry == key)?;
                of_cell(row, *column)
            }
        }
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Reads a field with `read`; an error if it is set but cannot be read.
    fn read<T>(
        &self,
        key: &str,
        expected: ExpectedType,
        errors: &mut ErrorList,
        read: impl Fn(RawValue<'a>) -> Option<T>,
    ) -> Option<T> {
        let written = self.get(key)?;
        let value = read(written);
        if value.is_none() {
            errors.add(self.at(key), written.not_of_type(expected));
        }
        value
    }

    pub(crate) fn number(&self, key: &str, errors: &mut ErrorList) -> Option<f64> {
        self.read(key, ExpectedType::Number, errors, RawValue::number)
    }

    /// A bound: a number, or a percentage such as `80% of current`.
    pub(crate) fn amount(&self, key: &str, bases: Bases, errors: &mut ErrorList) -> Option<f64> {
        let amount = self.get(key)?.amount(bases);
        amount.map_err(|kind| errors.add(self.at(key), kind)).ok()
    }

    pub(crate) fn integer(&self, key: &str, errors: &mut ErrorList) -> Option<u64> {
        self.read(key, ExpectedType::PositiveWholeNumber, errors, RawValue::integer)
    }

    /// An integer that may be zero.
    pub(crate) fn count(&self, key: &str, errors: &mut ErrorList) -> Option<u64> {
        self.read(key, ExpectedType::WholeNumber, errors, RawValue::integer)
    }

    pub(crate) fn text(&self, key: &str, errors: &mut ErrorList) -> Option<&'a str> {
        self.read(key, ExpectedType::Text, errors, RawValue::text)
    }

    pub(crate) fn flag(&self, key: &str, errors: &mut ErrorList) -> Option<bool> {
        self.read(key, ExpectedType::Bool, errors, RawValue::flag)
    }

    /// A list of numbers; an error for every item that is not a number.
    pub(crate) fn numbers(&self, key: &str, errors: &mut ErrorList) -> Option<Vec<f64>> {
        let items = self.read(key, ExpectedType::Numbers, errors, RawValue::list)?;
        let list = self.at(key);
        let mut numbers = Vec::with_capacity(items.len());
        for (position, item) in items.iter().enumerate() {
            match item.number() {
                Some(number) => numbers.push(number),
                None => {
                    let kind = item.not_of_type(ExpectedType::Number);
                    errors.add(FieldPath::Item(&list, position), kind);
                }
            }
        }
        (numbers.len() == items.len()).then_some(numbers)
    }

    /// Adds an error if the field is unset; `owner` is the part that requires it.
    pub(crate) fn require(&self, key: &str, owner: impl std::fmt::Display, errors: &mut ErrorList) {
        if !self.has(key) {
            errors.add(self.at(key), ProblemErrorKind::Missing { owner: owner.to_string() });
        }
    }

    /// Adds an error for every key that is in none of the lists `known`. A key `where.<column>`
    /// counts as `where`.
    pub(crate) fn reject_unknown(&self, known: &[&[&'static str]], errors: &mut ErrorList) {
        for (key, _) in self.entries() {
            let table = if key.starts_with("where.") { "where" } else { key };
            if !known.iter().any(|known| known.contains(&table)) {
                let (key, known) = (key.to_owned(), known.concat());
                errors.add(self.path, ProblemErrorKind::UnknownKey { key, known });
            }
        }
    }

    /// The entry of `table` whose name is the text at `key`.
    pub(crate) fn choice<'t, T>(
        &self,
        key: &'static str,
        owner: &'static str,
        table: &'t [(&'static str, T)],
        errors: &mut ErrorList,
    ) -> Option<&'t (&'static str, T)> {
        let known = || table.iter().map(|(name, _)| *name).collect();
        if !self.has(key) {
            errors.add(self.at(key), ProblemErrorKind::MissingChoice { owner, known: known() });
            return None;
        }
        let written = self.text(key, errors)?;
        let found = table.iter().find(|(name, _)| *name == written);
        if found.is_none() {
            let (name, known) = (written.to_owned(), known());
            errors.add(self.at(key), ProblemErrorKind::UnknownChoice { key, name, known });
        }
        found
    }
}

/// A value that is set.
fn of_value(value: &Value) -> Option<RawValue<'_>> {
    (!matches!(value, Value::Null)).then_some(RawValue::Value(value))
}

/// A cell that is set.
fn of_cell(row: Row<'_>, column: usize) -> Option<RawValue<'_>> {
    let cell = row.cell(column);
    (!cell.is_empty()).then_some(RawValue::Cell(cell, row.decimal()))
}
