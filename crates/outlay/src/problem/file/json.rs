//! JSON problems one task at a time.
//!
//! A tree of 10^6 tasks takes several times the memory of the problem itself. A document is
//! therefore read twice: first without its tasks, because a task depends on keys that may follow
//! it, then for the tasks alone, each of which is dropped before the next one. Every document that
//! cannot be read in this way is left to the tree (`value`), which has the messages.

use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::value::{Value, is_repeated, without_byte_order_mark};
use crate::problem::errors::ProblemError;

/// The key of the list of tasks.
const TASKS: &str = "task";

/// The reason why a document must be read as a tree.
pub(super) struct NeedsTree;

impl From<serde_json::Error> for NeedsTree {
    fn from(_: serde_json::Error) -> Self {
        Self
    }
}

/// A document that can be read more than once.
#[derive(Clone, Copy)]
pub(super) enum JsonSource<'a> {
    Text(&'a str),
    Value(&'a serde_json::Value),
}

impl<'a> JsonSource<'a> {
    /// The whole document.
    pub(super) fn tree(self) -> Result<Value, ProblemError> {
        match self {
            Self::Text(text) => Value::from_json(text),
            Self::Value(value) => Value::from_json_value(value),
        }
    }

    /// The document with an empty list of tasks.
    pub(super) fn without_tasks(self) -> Result<Value, NeedsTree> {
        self.visit(WithoutTasks)
    }

    /// Passes every task to `take`, with its position.
    pub(super) fn each_task(self, take: impl FnMut(usize, &Value)) -> Result<(), NeedsTree> {
        self.visit(TasksOnly(take))
    }

    fn visit<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, NeedsTree> {
        match self {
            Self::Text(text) => {
                let text = without_byte_order_mark(text);
                let mut deserializer = serde_json::Deserializer::from_str(text);
                let visited = deserializer.deserialize_map(visitor)?;
                deserializer.end()?;
                Ok(visited)
            }
            Self::Value(value) => Ok(value.deserialize_map(visitor)?),
        }
    }
}

/// Reads all keys of a document but skips the items of the list of tasks.
struct WithoutTasks;

impl<'de> Visitor<'de> for WithoutTasks {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "a problem")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let (mut table, mut seen) = (Vec::new(), HashSet::new());
        while let Some(key) = entries.next_key::<String>()? {
            if is_repeated(&key, &table, &mut seen) {
                return Err(A::Error::custom("a key is written twice"));
            }
            let value = if key == TASKS {
                entries.next_value_seed(TaskList(None::<fn(usize, &Value)>))?;
                Value::Array(Vec::new())
            } else {
                entries.next_value()?
            };
            table.push((key, value));
        }
        Ok(Value::Table(table))
    }
}

/// Skips all keys of a document but the list of tasks.
struct TasksOnly<F>(F);

impl<'de, F: FnMut(usize, &Value)> Visitor<'de> for TasksOnly<F> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "a problem")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut entries: A) -> Result<(), A::Error> {
        while let Some(key) = entries.next_key::<String>()? {
            if key == TASKS {
                entries.next_value_seed(TaskList(Some(&mut self.0)))?;
            } else {
                entries.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

/// The list of tasks: passes each of them on, or skips them.
struct TaskList<F>(Option<F>);

impl<'de, F: FnMut(usize, &Value)> DeserializeSeed<'de> for TaskList<F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, F: FnMut(usize, &Value)> Visitor<'de> for TaskList<F> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "a list of tasks")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut tasks: A) -> Result<(), A::Error> {
        let Some(mut take) = self.0 else {
            while tasks.next_element::<IgnoredAny>()?.is_some() {}
            return Ok(());
        };
        let mut position = 0;
        while let Some(task) = tasks.next_element::<Value>()? {
            take(position, &task);
            position += 1;
        }
        Ok(())
    }
}
