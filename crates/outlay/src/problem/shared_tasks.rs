//! The tasks of a problem, shared with the oracles that solve it.

use std::ops::Deref;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use super::Task;

/// A list of tasks. Cloning it copies no task: 10^6 of them take more than 100 MB.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SharedTasks(Arc<Vec<Task>>);

impl From<Vec<Task>> for SharedTasks {
    fn from(tasks: Vec<Task>) -> Self {
        Self(Arc::new(tasks))
    }
}

impl FromIterator<Task> for SharedTasks {
    fn from_iter<I: IntoIterator<Item = Task>>(tasks: I) -> Self {
        Self(Arc::new(tasks.into_iter().collect()))
    }
}

impl Deref for SharedTasks {
    type Target = [Task];

    fn deref(&self) -> &[Task] {
        &self.0
    }
}

impl Serialize for SharedTasks {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}
