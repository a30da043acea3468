//! Tasks by the names that files give them.

use std::collections::HashMap;

use outlay::Problem;
use outlay::problem::ProblemErrors;

use crate::input::suggestion::unknown_task;

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

    /// Where a task stands, if the problem has it.
    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        self.positions.get(name).copied()
    }

    /// Where a task stands, or that it is unknown and which one may have been meant.
    pub(crate) fn find(&mut self, name: &str) -> Result<usize, String> {
        if let Some(position) = self.position(name) {
            return Ok(position);
        }
        self.unknown += 1;
        // Looking for the nearest name takes long in a long file of wrong ones, of which only the
        // first are shown.
        let is_shown = self.unknown <= ProblemErrors::SHOWN;
        Err(if is_shown {
            unknown_task(self.problem, name)
        } else {
            format!("no task is named {name}")
        })
    }
}
