//! Outcomes in JSON: a list of outcomes, a round with its `results` as in the HTTP API, or one of
//! them per line.

use outlay::ledger::{Entry, Ledger};
use outlay::text::one_line;
use serde::Deserialize;
use serde_json::{Deserializer, Value};

use super::Outcomes;
use crate::input::task_names::TaskNames;

const EXPECTED: &str = "must be an object with round, task, completed or completions, reward and \
     spend";

/// Whether a file of outcomes is JSON: no header of a CSV file starts like this.
pub(super) fn is_json(text: &str) -> bool {
    text.trim_start().starts_with(['[', '{'])
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RoundResults {
    round: Option<u64>,
    results: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ResultObject {
    round: Option<u64>,
    task: String,
    completed: Option<Flag>,
    completions: Option<u64>,
    reward: Option<f64>,
    spend: Option<f64>,
}

/// `true`, `false`, 1 or 0.
#[derive(Deserialize)]
#[serde(untagged)]
enum Flag {
    Truth(bool),
    Number(u64),
}

pub(super) fn read(ledger: &Ledger, text: &str) -> Outcomes {
    let mut reader =
        Reader { names: TaskNames::new(ledger.problem()), outcomes: Outcomes::default(), count: 0 };
    for value in Deserializer::from_str(text).into_iter::<Value>() {
        match value {
            Ok(Value::Array(results)) => results.into_iter().for_each(|one| reader.any(one)),
            Ok(value) => reader.any(value),
            Err(error) => {
                reader.outcomes.errors.push(format!("is not JSON: {error}"));
                break;
            }
        }
    }
    reader.outcomes
}

struct Reader<'a> {
    names: TaskNames<'a>,
    outcomes: Outcomes,
    /// The number of outcomes so far, which names their places.
    count: usize,
}

impl Reader<'_> {
    /// A round with its results, or a single outcome.
    fn any(&mut self, value: Value) {
        if value.get("results").is_none() {
            return self.one(value, None);
        }
        match RoundResults::deserialize(value) {
            Ok(RoundResults { round, results }) => {
                results.into_iter().for_each(|result| self.one(result, round));
            }
            Err(error) => self.outcomes.errors.push(format!("results: {error}")),
        }
    }

    fn one(&mut self, value: Value, round: Option<u64>) {
        self.count += 1;
        let place = format!("outcome {}", self.count);
        match self.entry(value, round) {
            Ok(Some(entry)) => {
                self.outcomes.entries.push(entry);
                self.outcomes.places.push(place);
            }
            Ok(None) => self.outcomes.empty += 1,
            Err(error) => self.outcomes.errors.push(format!("{place}: {error}")),
        }
    }

    /// The entry of an outcome; none if its completions are still unknown.
    fn entry(&mut self, value: Value, round: Option<u64>) -> Result<Option<Entry>, String> {
        if !value.is_object() {
            return Err(format!("{EXPECTED}, not {}", one_line(&value.to_string())));
        }
        let result = ResultObject::deserialize(value).map_err(|error| error.to_string())?;
        let task = self.names.find(&result.task)?;
        let round = match (result.round, round) {
            (Some(one), Some(other)) if one != other => {
                return Err(format!("has round {one}, but its list has round {other}"));
            }
            (one, other) => one.or(other).ok_or("round is missing")?,
        };
        let completions = match (result.completed, result.completions) {
            (Some(_), Some(_)) => {
                return Err("has both completed and completions: give one of them".to_owned());
            }
            (Some(Flag::Truth(completed)), None) => u64::from(completed),
            (Some(Flag::Number(completed @ (0 | 1))), None) => completed,
            (Some(Flag::Number(other)), None) => {
                return Err(format!("completed: must be true, false, 1 or 0, not {other}"));
            }
            (None, Some(completions)) => completions,
            (None, None) if result.reward.is_some() => {
                return Err("has a reward, but neither completed nor completions".to_owned());
            }
            (None, None) => return Ok(None),
        };
        let ResultObject { reward, spend, .. } = result;
        Ok(Some(Entry { round, task, completions, reward, spend }))
    }
}
