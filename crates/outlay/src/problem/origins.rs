//! The positions of tasks in their files, for messages.
//!
//! Only the starts of consecutive positions are kept: the tasks of a file usually follow each other
//! line by line.

use super::errors::FieldPath;

/// The positions of tasks `0, 1, 2, …`.
#[derive(Debug, Default)]
pub(super) struct Origins(Vec<Run>);

/// Tasks at consecutive positions.
#[derive(Debug)]
struct Run {
    /// The first task, counted from zero.
    first: usize,
    start: Start,
}

/// The position of the first task of a run.
#[derive(Debug)]
enum Start {
    /// The task's own place in the list of tasks.
    Item,
    Line {
        file: String,
        line: u64,
    },
    Origin(String),
}

impl Origins {
    /// Adds the position of the next task, which is task number `task`.
    pub(super) fn add(&mut self, task: usize, path: FieldPath<'_>) {
        let start = match (self.0.last(), path) {
            (Some(Run { first, start: Start::Line { file, line } }), FieldPath::Line { .. })
                if is_line(path, file, line + (task - first) as u64) =>
            {
                return;
            }
            (_, FieldPath::Line { file, line }) => Start::Line { file: file.to_owned(), line },
            (_, FieldPath::Origin(origin)) => Start::Origin(origin.to_owned()),
            (Some(Run { start: Start::Item, .. }), _) => return,
            _ => Start::Item,
        };
        self.0.push(Run { first: task, start });
    }

    /// The path of a task.
    pub(super) fn path(&self, task: usize) -> FieldPath<'_> {
        let run = self.0.partition_point(|run| run.first <= task).checked_sub(1);
        match run.and_then(|run| self.0.get(run)) {
            Some(Run { first, start: Start::Line { file, line } }) => {
                FieldPath::Line { file, line: line + (task - first) as u64 }
            }
            Some(Run { start: Start::Origin(origin), .. }) => FieldPath::Origin(origin),
            _ => FieldPath::task(task),
        }
    }
}

fn is_line(path: FieldPath<'_>, wanted_file: &str, wanted_line: u64) -> bool {
    matches!(path, FieldPath::Line { file, line } if file == wanted_file && line == wanted_line)
}
