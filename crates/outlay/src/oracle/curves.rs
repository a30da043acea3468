//! The curves and the given bounds of the tasks, shared with the problem.

use std::ops::Index;

use crate::curve::Curve;
use crate::problem::{Bounds, SharedTasks, Task};

/// The curves by task.
#[derive(Debug, Clone)]
pub(super) struct Curves(SharedTasks);

impl Curves {
    pub(super) fn new(tasks: SharedTasks) -> Self {
        Self(tasks)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn get(&self, task: usize) -> Option<&Curve> {
        self.0.get(task).map(Task::curve)
    }

    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = &Curve> {
        self.0.iter().map(Task::curve)
    }

    /// The bounds of each task, as given.
    pub(super) fn bounds(&self) -> impl ExactSizeIterator<Item = Bounds> {
        self.0.iter().map(Task::bounds)
    }

    /// The bounds of a task, as given.
    pub(super) fn bounds_of(&self, task: usize) -> Bounds {
        self.0[task].bounds()
    }

    /// The name of a task, for messages.
    pub(super) fn name(&self, task: usize) -> &str {
        self.0[task].name()
    }
}

impl Index<usize> for Curves {
    type Output = Curve;

    fn index(&self, task: usize) -> &Curve {
        self.0[task].curve()
    }
}
