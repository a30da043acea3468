//! Lookup of tasks by name.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{DefaultHasher, Hasher};

use outlay::Problem;
use outlay::problem::{ProblemErrors, UnknownTask};
use outlay::text::{listed, one_line};

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
            .map(|(position, task)| (task.name().trim(), position))
            .collect();
        Self { problem, positions, unknown: 0 }
    }

    /// Position of a task.
    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        self.positions.get(name.trim()).copied()
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

/// The letters of a name in lower case, without spaces.
fn folded(name: &str) -> impl Iterator<Item = char> {
    name.chars().filter(|letter| !letter.is_whitespace()).flat_map(char::to_lowercase)
}

fn folded_hash(name: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    folded(name).for_each(|letter| hasher.write_u32(u32::from(letter)));
    hasher.finish()
}

/// Remarks on names that differ only in case or spaces, which are probably one task.
pub(crate) fn similar_names<'n>(names: impl Iterator<Item = &'n str>) -> Vec<String> {
    let names: Vec<&str> = names.collect();
    // Only hashes are compared first, because a problem may have 10^6 tasks.
    let mut hashes: Vec<u64> = names.iter().map(|name| folded_hash(name)).collect();
    hashes.sort_unstable();
    if hashes.is_sorted_by(|one, next| one < next) {
        return Vec::new();
    }
    let mut seen: HashMap<String, &str> = HashMap::new();
    let mut pairs = Vec::new();
    for name in names {
        match seen.entry(folded(name).collect()) {
            Entry::Vacant(entry) => {
                entry.insert(name);
            }
            Entry::Occupied(entry) if *entry.get() != name => {
                pairs.push(format!("\"{}\" and \"{}\"", one_line(entry.get()), one_line(name)));
            }
            Entry::Occupied(_) => {}
        }
    }
    if pairs.is_empty() {
        return Vec::new();
    }
    vec![format!(
        "warning: names that differ only in case or spaces count as different tasks: {}",
        listed(&pairs)
    )]
}
