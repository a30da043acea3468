//! Suggestions for misspelt names, and short lists of names.

use outlay::Problem;

/// Similarity (Jaro–Winkler) above which a known name is suggested.
const MIN_SIMILARITY: f64 = 0.7;
/// Number of names that are listed in full.
const MAX_LISTED: usize = 8;

/// Error message for an unknown task, with a suggestion.
pub(crate) fn unknown_task(problem: &Problem, name: &str) -> String {
    match nearest(name, problem.tasks().iter().map(outlay::Task::name)) {
        Some(nearest) => format!("no task is named {name}; did you mean {nearest}?"),
        None => format!("no task is named {name}"),
    }
}

/// The most similar known name, if it is similar enough.
pub(crate) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let similarity = |other: &str| strsim::jaro_winkler(name, other);
    known
        .max_by(|one, other| similarity(one).total_cmp(&similarity(other)))
        .filter(|nearest| similarity(nearest) > MIN_SIMILARITY)
}

/// The first names, and the number of further ones.
pub(crate) fn listed(names: &[&str]) -> String {
    let more = names.len().saturating_sub(MAX_LISTED);
    let listed = names[..names.len() - more].join(", ");
    if more > 0 { format!("{listed} and {more} more") } else { listed }
}
