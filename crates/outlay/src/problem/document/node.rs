//! The tree that TOML and JSON have in common.
//!
//! Reading straight into structures would stop at the first error; a tree can be walked to the end.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use crate::problem::errors::{ProblemError, one_line};

/// How the `toml` crate passes a date through serde.
const TOML_DATE_KEY: &str = "$__toml_private_datetime";
/// How much of a text is repeated in a message.
const LONGEST_QUOTE: usize = 40;

/// Anything that can be written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Node {
    Null,
    Flag(bool),
    Integer(i128),
    Number(f64),
    Text(String),
    Date,
    List(Vec<Node>),
    Table(Vec<(String, Node)>),
}

impl Node {
    pub(crate) fn from_toml(text: &str) -> Result<Self, ProblemError> {
        let text = without_mark(text);
        toml::from_str(text).map_err(|error| {
            let start = error.span().map_or(0, |span| span.start);
            let before = text.get(..start).unwrap_or(text);
            let line = 1 + before.matches('\n').count();
            let column = 1 + before.rsplit('\n').next().unwrap_or("").chars().count();
            syntax_error(line, column, error.message())
        })
    }

    pub(crate) fn from_json(text: &str) -> Result<Self, ProblemError> {
        serde_json::from_str(without_mark(text)).map_err(|error| {
            // serde_json ends its message with the place, which has its own field here.
            let message = error.to_string();
            let message = message.split(" at line ").next().unwrap_or("").to_owned();
            syntax_error(error.line(), error.column(), &message)
        })
    }
}

/// Spreadsheets and Windows editors begin files with a byte order mark.
pub(crate) fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

fn syntax_error(line: usize, column: usize, message: &str) -> ProblemError {
    ProblemError {
        path: format!("line {line}, column {column}"),
        message: one_line(message.trim()),
    }
}

/// What it is, as said in "must be a number, not …".
impl fmt::Display for Node {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => write!(formatter, "null"),
            Self::Flag(flag) => write!(formatter, "{flag}"),
            Self::Integer(number) => write!(formatter, "the number {number}"),
            Self::Number(number) => write!(formatter, "the number {number}"),
            Self::Text(text) => write!(formatter, "{}", quoted(text)),
            Self::Date => write!(formatter, "a date"),
            Self::List(_) => write!(formatter, "a list"),
            Self::Table(_) => write!(formatter, "a table"),
        }
    }
}

/// `the text "abc"`, shortened if long.
pub(crate) fn quoted(text: &str) -> String {
    if text.is_empty() {
        return "empty text".to_owned();
    }
    let text = one_line(text);
    match text.char_indices().nth(LONGEST_QUOTE).and_then(|(end, _)| text.get(..end)) {
        Some(beginning) => format!("the text \"{beginning}…\""),
        None => format!("the text \"{text}\""),
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "a value")
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Node, E> {
        Ok(Node::Flag(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Node, E> {
        Ok(Node::Integer(number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Node, E> {
        Ok(Node::Integer(number.into()))
    }

    fn visit_i128<E>(self, number: i128) -> Result<Node, E> {
        Ok(Node::Integer(number))
    }

    fn visit_u128<E>(self, number: u128) -> Result<Node, E> {
        Ok(i128::try_from(number).map_or(Node::Number(number as f64), Node::Integer))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Node, E> {
        Ok(Node::Number(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Node, E> {
        Ok(Node::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Node, E> {
        Ok(Node::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Node, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Node::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Node, A::Error> {
        let mut table: Vec<(String, Node)> = Vec::new();
        let mut seen = std::collections::HashSet::new();
        while let Some((key, node)) = entries.next_entry::<String, Node>()? {
            if key == TOML_DATE_KEY {
                return Ok(Node::Date);
            }
            if !seen.insert(key.clone()) {
                // JSON parsers keep one of the two without a word.
                return Err(A::Error::custom(format!(
                    "the key `{}` is written twice",
                    one_line(&key)
                )));
            }
            table.push((key, node));
        }
        Ok(Node::Table(table))
    }
}
