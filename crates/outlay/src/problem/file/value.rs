//! The value tree of a problem file, the same for TOML and JSON.
//!
//! Deserialising straight into structs would stop at the first error. A tree can be read to its
//! end, so that every error is reported at once.

use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use crate::problem::errors::{FoundValue, ProblemError, ProblemErrorKind};
use crate::text::one_line;

/// How the `toml` crate passes a date through serde.
const TOML_DATE_KEY: &str = "$__toml_private_datetime";

/// A value of a problem file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Integer(i128),
    Float(f64),
    String(String),
    Datetime,
    Array(Vec<Value>),
    Table(Vec<(String, Value)>),
}

impl Value {
    pub(crate) fn from_toml(text: &str) -> Result<Self, ProblemError> {
        let text = without_byte_order_mark(text);
        toml::from_str(text).map_err(|error| {
            let start = error.span().map_or(0, |span| span.start);
            let before = text.get(..start).unwrap_or(text);
            let line = 1 + before.matches('\n').count();
            let column = 1 + before.rsplit('\n').next().unwrap_or("").chars().count();
            syntax_error_at(line, column, error.message())
        })
    }

    pub(crate) fn from_json(text: &str) -> Result<Self, ProblemError> {
        serde_json::from_str(without_byte_order_mark(text)).map_err(|error| {
            // serde_json ends its message with the position, which has its own field here.
            let message = error.to_string();
            let message = message.split(" at line ").next().unwrap_or("").to_owned();
            syntax_error_at(error.line(), error.column(), &message)
        })
    }

    /// The same tree as that of the JSON text of `value`.
    pub(crate) fn from_json_value(value: &serde_json::Value) -> Result<Self, ProblemError> {
        Self::deserialize(value)
            .map_err(|error| syntax_error("problem".to_owned(), &error.to_string()))
    }

    /// The value as an error has it.
    pub(crate) fn found(&self) -> FoundValue {
        match self {
            Self::Null => FoundValue::Null,
            Self::Bool(flag) => FoundValue::Bool(*flag),
            Self::Integer(number) => FoundValue::Integer(*number),
            Self::Float(number) => FoundValue::Float(*number),
            Self::String(text) => FoundValue::Text(text.clone()),
            Self::Datetime => FoundValue::Date,
            Self::Array(_) => FoundValue::List,
            Self::Table(_) => FoundValue::Table,
        }
    }
}

/// The text without the byte order mark that spreadsheets and Windows editors put first.
pub(crate) fn without_byte_order_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

fn syntax_error_at(line: usize, column: usize, message: &str) -> ProblemError {
    syntax_error(format!("line {line}, column {column}"), message)
}

fn syntax_error(path: String, message: &str) -> ProblemError {
    ProblemError { path, kind: ProblemErrorKind::Syntax { message: one_line(message.trim()) } }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

/// Up to this number of keys a table is searched for a repeated one without a set. Nearly all
/// tables are small, and a problem may have 10^6 of them.
const MAX_SEARCHED: usize = 16;

/// Whether `table` has the key. `seen` is filled only for a large table.
pub(super) fn is_repeated(
    key: &str,
    table: &[(String, Value)],
    seen: &mut HashSet<String>,
) -> bool {
    if table.len() <= MAX_SEARCHED {
        return table.iter().any(|(known, _)| known == key);
    }
    if seen.is_empty() {
        seen.extend(table.iter().map(|(known, _)| known.clone()));
    }
    !seen.insert(key.to_owned())
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
        Ok(Value::Bool(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Integer(number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(Value::Integer(number.into()))
    }

    fn visit_i128<E>(self, number: i128) -> Result<Value, E> {
        Ok(Value::Integer(number))
    }

    fn visit_u128<E>(self, number: u128) -> Result<Value, E> {
        Ok(i128::try_from(number).map_or(Value::Float(number as f64), Value::Integer))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(Value::Float(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::String(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(Value::String(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut table: Vec<(String, Value)> = Vec::new();
        let mut seen = HashSet::new();
        while let Some((key, value)) = entries.next_entry::<String, Value>()? {
            if key == TOML_DATE_KEY {
                return Ok(Value::Datetime);
            }
            if is_repeated(&key, &table, &mut seen) {
                // Most JSON parsers silently keep one of the two.
                return Err(A::Error::custom(format!(
                    "the key `{}` is written twice",
                    one_line(&key)
                )));
            }
            table.push((key, value));
        }
        Ok(Value::Table(table))
    }
}
