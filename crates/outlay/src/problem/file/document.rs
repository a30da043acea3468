//! Problem files whose numbers can be changed before they are checked, for sweeps over a
//! parameter.

use super::value::Value;
use super::{alone, checked};
use crate::problem::errors::{ExpectedType, ProblemError, ProblemErrorKind, ProblemErrors};
use crate::problem::{Files, Problem};
use crate::text::one_line;

/// A problem file that has been parsed but not yet checked.
///
/// ```
/// use outlay::problem::{Document, NoFiles};
/// let mut document = Document::from_toml(
///     "[[task]]\nvalue = 1\ncurve = { family = 'power', exponent = 0.5 }",
/// )?;
/// document.set("task[*].curve.exponent", 0.25)?;
/// let problem = document.problem(&NoFiles)?;
/// assert_eq!(problem.tasks()[0].curve().success(1.0 / 16.0), 0.5);
/// # Ok::<(), outlay::problem::ProblemErrors>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Document(Value);

impl Document {
    /// Parses TOML.
    ///
    /// # Errors
    /// If the text is not valid TOML.
    pub fn from_toml(text: &str) -> Result<Self, ProblemErrors> {
        Value::from_toml(text).map(Self).map_err(alone)
    }

    /// Parses JSON.
    ///
    /// # Errors
    /// If the text is not valid JSON.
    pub fn from_json(text: &str) -> Result<Self, ProblemErrors> {
        Value::from_json(text).map(Self).map_err(alone)
    }

    /// Writes a number at a path: `budget`, `task[0].curve.exponent`, `task[*].value` for every
    /// task. All tables on the path must exist; the last key need not.
    ///
    /// # Errors
    /// If the path does not exist in this document. The message names the first step that is
    /// missing.
    pub fn set(&mut self, path: &str, number: f64) -> Result<(), ProblemErrors> {
        let error = |kind| alone(ProblemError { path: one_line(path), kind });
        let steps = steps(path).ok_or_else(|| error(ProblemErrorKind::InvalidPath))?;
        write(&mut self.0, &steps, "", number).map_err(error)
    }

    /// The problem, checked. Files that it names are read through `files`.
    ///
    /// # Errors
    /// As [`Problem::from_toml`].
    pub fn problem(&self, files: &dyn Files) -> Result<Problem, ProblemErrors> {
        checked(&self.0, files)
    }
}

/// One step into a document.
#[derive(Debug, Clone, PartialEq)]
enum Step<'p> {
    Key(&'p str),
    Item(usize),
    EveryItem,
}

/// The steps of a path; `None` if the path is malformed.
fn steps(path: &str) -> Option<Vec<Step<'_>>> {
    let mut steps = Vec::new();
    for part in path.trim().split('.') {
        let (key, mut rest) = part.split_at(part.find('[').unwrap_or(part.len()));
        if key.is_empty() {
            return None;
        }
        steps.push(Step::Key(key));
        while !rest.is_empty() {
            let (inside, after) = rest.strip_prefix('[')?.split_once(']')?;
            steps.push(if inside == "*" {
                Step::EveryItem
            } else {
                Step::Item(inside.parse().ok()?)
            });
            rest = after;
        }
    }
    Some(steps)
}

/// Follows the steps from `value`, which is at `path`, and writes the number at their end.
fn write(
    value: &mut Value,
    steps: &[Step<'_>],
    path: &str,
    number: f64,
) -> Result<(), ProblemErrorKind> {
    let Some((step, rest)) = steps.split_first() else {
        *value = value_of(number);
        return Ok(());
    };
    let here = || if path.is_empty() { "the problem".to_owned() } else { path.to_owned() };
    match (step, value) {
        (Step::Key(key), Value::Table(entries)) => {
            let inner = if path.is_empty() { (*key).to_owned() } else { format!("{path}.{key}") };
            match entries.iter_mut().find(|(known, _)| known == key) {
                Some((_, value)) => write(value, rest, &inner, number),
                // A key that is not valid here is rejected, with a suggestion, by the check.
                None if rest.is_empty() => {
                    entries.push(((*key).to_owned(), value_of(number)));
                    Ok(())
                }
                None => Err(ProblemErrorKind::NoSuchKey { at: here(), key: (*key).to_owned() }),
            }
        }
        (Step::Item(position), Value::Array(items)) => match items.get_mut(*position) {
            Some(value) => write(value, rest, &format!("{path}[{position}]"), number),
            None => Err(ProblemErrorKind::NoSuchItem { at: here(), len: items.len() }),
        },
        (Step::EveryItem, Value::Array(items)) => {
            let mut items = items.iter_mut().enumerate();
            items.try_for_each(|(position, value)| {
                write(value, rest, &format!("{path}[{position}]"), number)
            })
        }
        (step, other) => {
            let is_key = matches!(step, Step::Key(_));
            let expected = if is_key { ExpectedType::Table } else { ExpectedType::List };
            Err(ProblemErrorKind::NotAContainer { at: here(), expected, found: other.found() })
        }
    }
}

/// Integers stay integers, because some keys accept nothing else.
fn value_of(number: f64) -> Value {
    const LARGEST_EXACT: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() <= LARGEST_EXACT {
        Value::Integer(number as i128)
    } else {
        Value::Float(number)
    }
}
