//! The fields of one table as written, in a document or in a row of a CSV file.

use super::node::{Node, quoted};
use crate::problem::errors::{Faults, Place, one_line};
use crate::problem::nearest::suggestion;

/// What separates the numbers of a list in one cell.
const CELL_LIST_SEPARATOR: char = ';';
/// Whole numbers up to here are exact in floating point.
const LARGEST_EXACT: f64 = 9_007_199_254_740_992.0;

/// One value as written.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Written<'a> {
    Node(&'a Node),
    Cell(&'a str),
}

impl std::fmt::Display for Written<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Node(node) => write!(formatter, "{node}"),
            Self::Cell(cell) => write!(formatter, "{}", quoted(cell)),
        }
    }
}

/// A number in a cell.
pub(crate) fn cell_number(cell: &str) -> Option<f64> {
    cell.trim().parse().ok()
}

impl<'a> Written<'a> {
    fn number(self) -> Option<f64> {
        match self {
            Self::Node(Node::Integer(number)) => Some(*number as f64),
            Self::Node(Node::Number(number)) => Some(*number),
            Self::Node(_) => None,
            Self::Cell(cell) => cell_number(cell),
        }
    }

    fn whole_number(self) -> Option<u64> {
        match self {
            Self::Node(Node::Integer(number)) => u64::try_from(*number).ok(),
            _ => self
                .number()
                .filter(|number| number.fract() == 0.0 && (0.0..=LARGEST_EXACT).contains(number))
                .map(|number| number as u64),
        }
    }

    fn text(self) -> Option<&'a str> {
        match self {
            Self::Node(Node::Text(text)) => Some(text),
            Self::Node(_) => None,
            Self::Cell(cell) => Some(cell),
        }
    }

    fn flag(self) -> Option<bool> {
        match self {
            Self::Node(Node::Flag(flag)) => Some(*flag),
            Self::Node(_) => None,
            Self::Cell(cell) if cell.eq_ignore_ascii_case("true") => Some(true),
            Self::Cell(cell) if cell.eq_ignore_ascii_case("false") => Some(false),
            Self::Cell(_) => None,
        }
    }

    fn list(self) -> Option<Vec<Self>> {
        match self {
            Self::Node(Node::List(items)) => Some(items.iter().map(Self::Node).collect()),
            Self::Node(_) => None,
            Self::Cell(cell) => {
                Some(cell.split(CELL_LIST_SEPARATOR).map(|item| Self::Cell(item.trim())).collect())
            }
        }
    }

    /// How a cell would spell it, to compare it with one.
    pub(crate) fn as_cell(self) -> Option<String> {
        match self {
            Self::Node(Node::Flag(flag)) => Some(flag.to_string()),
            Self::Node(Node::Integer(number)) => Some(number.to_string()),
            Self::Node(Node::Number(number)) => Some(number.to_string()),
            _ => self.text().map(str::to_owned),
        }
    }
}

/// The fields of one table. A null is a field that is not there.
#[derive(Debug, Clone)]
pub(crate) struct Fields<'a> {
    place: Place<'a>,
    entries: Vec<(&'a str, Written<'a>)>,
}

impl<'a> Fields<'a> {
    pub(crate) fn new(place: Place<'a>, entries: Vec<(&'a str, Written<'a>)>) -> Self {
        Self { place, entries }
    }

    /// The fields of a tree's table; a fault if it is none.
    pub(crate) fn of_node(place: Place<'a>, node: &'a Node, faults: &mut Faults) -> Option<Self> {
        let Node::Table(table) = node else {
            faults.add(place, format!("must be a table, not {node}"));
            return None;
        };
        let entries = table.iter().filter(|(_, node)| *node != Node::Null);
        Some(Self::new(
            place,
            entries.map(|(key, node)| (key.as_str(), Written::Node(node))).collect(),
        ))
    }

    /// Where the field `key` is, or would be.
    pub(crate) fn at<'s>(&'s self, key: &'s str) -> Place<'s> {
        Place::Key(&self.place, key)
    }

    pub(crate) fn entries(&self) -> &[(&'a str, Written<'a>)] {
        &self.entries
    }

    pub(crate) fn get(&self, key: &str) -> Option<Written<'a>> {
        self.entries.iter().find(|(entry, _)| *entry == key).map(|(_, written)| *written)
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// What `read` makes of the field; a fault if it is there but cannot be read.
    fn read<T>(
        &self,
        key: &str,
        wanted: &str,
        faults: &mut Faults,
        read: impl Fn(Written<'a>) -> Option<T>,
    ) -> Option<T> {
        let written = self.get(key)?;
        let value = read(written);
        if value.is_none() {
            faults.add(self.at(key), format!("must be {wanted}, not {written}"));
        }
        value
    }

    pub(crate) fn number(&self, key: &str, faults: &mut Faults) -> Option<f64> {
        self.read(key, "a number", faults, Written::number)
    }

    pub(crate) fn whole_number(&self, key: &str, faults: &mut Faults) -> Option<u64> {
        self.read(key, "a whole number of at least 1", faults, Written::whole_number)
    }

    /// A whole number that may be zero.
    pub(crate) fn count(&self, key: &str, faults: &mut Faults) -> Option<u64> {
        self.read(key, "a whole number", faults, Written::whole_number)
    }

    pub(crate) fn text(&self, key: &str, faults: &mut Faults) -> Option<&'a str> {
        self.read(key, "text", faults, Written::text)
    }

    pub(crate) fn flag(&self, key: &str, faults: &mut Faults) -> Option<bool> {
        self.read(key, "true or false", faults, Written::flag)
    }

    /// A list of numbers; a fault for every item that is none.
    pub(crate) fn numbers(&self, key: &str, faults: &mut Faults) -> Option<Vec<f64>> {
        let items = self.read(key, "a list of numbers", faults, Written::list)?;
        let list = self.at(key);
        let mut numbers = Vec::with_capacity(items.len());
        for (position, item) in items.iter().enumerate() {
            match item.number() {
                Some(number) => numbers.push(number),
                None => faults
                    .add(Place::Item(&list, position), format!("must be a number, not {item}")),
            }
        }
        (numbers.len() == items.len()).then_some(numbers)
    }

    /// A fault if the field is not there; `owner` says what needs it.
    pub(crate) fn require(&self, key: &str, owner: impl std::fmt::Display, faults: &mut Faults) {
        if !self.has(key) {
            faults.add(self.at(key), format!("is missing: {owner} needs it"));
        }
    }

    /// A fault for every key that is not known. `where.` stands before a column of some file.
    pub(crate) fn refuse_unknown(&self, known: &[&str], faults: &mut Faults) {
        for (key, _) in &self.entries {
            let table = key
                .split_once('.')
                .filter(|(table, _)| *table == "where")
                .map_or(*key, |(table, _)| table);
            if !known.contains(&table) {
                let known = known.iter().copied();
                faults.add(
                    self.place,
                    format!("unknown key `{}`: {}", one_line(key), suggestion(key, known)),
                );
            }
        }
    }

    /// The word at `key` out of a table of words, each with the keys that go with it.
    pub(crate) fn word<'t, T>(
        &self,
        key: &str,
        owner: &str,
        table: &'t [(&'t str, T)],
        faults: &mut Faults,
    ) -> Option<&'t (&'t str, T)> {
        let words = || table.iter().map(|(word, _)| *word);
        if !self.has(key) {
            let list: Vec<String> = words().map(|word| format!("`{word}`")).collect();
            faults
                .add(self.at(key), format!("is missing: {owner} needs one of {}", list.join(", ")));
            return None;
        }
        let written = self.text(key, faults)?;
        let found = table.iter().find(|(word, _)| *word == written);
        if found.is_none() {
            faults.add(
                self.at(key),
                format!("unknown {key} `{}`: {}", one_line(written), suggestion(written, words())),
            );
        }
        found
    }
}
