//! Lookup of tasks by name.

use std::collections::HashMap;

use outlay::Problem;
use outlay::problem::{ProblemErrors, UnknownTask};

/// The tasks of a problem by name.
pub(crate) struct TaskNames<'a> {
    problem: &'a Problem,
    positions: HashMap<&'a str, usize>,
    unknown: usize,
}

impl<'a> TaskNames<'a> {
    pub(crate) fn new(problem: &'a Problem) -> Self {
        let positions = problem
            .tasks()
            .iter()
            .enumerate()
            .map(|(position, task)| (task.name(), position))
            .collect();
        Self { problem, positions, unknown: 0 }
    }

    /// Position of a task.
    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        self.positions.get(name).copied()
    }

    /// Position of a task, or an error message with a suggestion.
    pub(crate) fn find(&mut self, name: &str) -> Result<usize, String> {
        if let Some(position) = self.position(name) {
            return Ok(position);
        }
        self.unknown += 1;
        // Suggestions are slow to compute, and only the first errors are shown.
        let is_shown = self.unknown <= ProblemErrors::SHOWN;
        let unknown = if is_shown { self.problem.task_position(name).err() } else { None };
        let unknown =
            unknown.unwrap_or_else(|| UnknownTask { name: name.to_owned(), nearest: None });
        Err(unknown.to_string())
    }
}
