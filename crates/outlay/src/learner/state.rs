//! The saved state of a learner.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};

use super::counts::Counts;
use super::error::StateError;

/// Everything that a learner has learned, as the state of a campaign stores it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum LearnerState {
    /// Nothing; JSON `null`.
    Empty,
    /// Completions and sums of rewards: the state of every count-based learner.
    Counts(Counts),
    /// Any other state, as a JSON value.
    Other(serde_json::Value),
}

impl LearnerState {
    /// A state of any type, as JSON.
    #[must_use]
    pub fn other<T: Serialize>(state: &T) -> Self {
        Self::Other(serde_json::to_value(state).unwrap_or_default())
    }

    /// Reads a state of any type that [`LearnerState::other`] wrote.
    ///
    /// # Errors
    /// If the state is not of this type.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, StateError> {
        let read = match self {
            Self::Other(value) => T::deserialize(value),
            Self::Empty | Self::Counts(_) => {
                serde_json::to_value(self).and_then(|value| T::deserialize(&value))
            }
        };
        read.map_err(|error| StateError::Learner(error.to_string()))
    }

    /// The counts of a count-based learner for `tasks` tasks, checked.
    pub(super) fn counts(&self, tasks: usize) -> Result<Counts, StateError> {
        let counts = match self {
            Self::Counts(counts) => counts.clone(),
            Self::Empty | Self::Other(_) => self.read()?,
        };
        counts.check(tasks)?;
        Ok(counts)
    }
}

impl<'de> Deserialize<'de> for LearnerState {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        if value.is_null() {
            return Ok(Self::Empty);
        }
        // A state with more keys than the counts belongs to another kind of learner.
        let has_counts_only = value.as_object().is_some_and(|object| object.len() == 2);
        let counts = has_counts_only.then(|| Counts::deserialize(&value).ok()).flatten();
        Ok(counts.map_or(Self::Other(value), Self::Counts))
    }
}
