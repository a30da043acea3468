//! The saved state of a learner.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::counts::Counts;
use super::error::StateError;
use super::{ExploreThenCommitState, GridUcbState, LattimoreState, OfulState};

/// Everything that a learner has learned, as the state of a campaign stores it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum LearnerState {
    /// Nothing; JSON `null`.
    Empty,
    /// Completions and sums of rewards: the state of every count-based learner.
    Counts(Counts),
    /// The state of `explore-then-commit`.
    ExploreThenCommit(ExploreThenCommitState),
    /// The state of `grid-ucb`.
    GridUcb(GridUcbState),
    /// The state of `oful`.
    Oful(OfulState),
    /// The state of `lattimore`.
    Lattimore(LattimoreState),
    /// The state of a learner of your own, as a JSON value.
    Other(Value),
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
            typed => serde_json::to_value(typed).and_then(|value| T::deserialize(&value)),
        };
        read.map_err(|error| StateError::Learner(error.into()))
    }

    /// The counts of a count-based learner for `tasks` tasks, checked.
    pub(super) fn counts(&self, tasks: usize) -> Result<Counts, StateError> {
        let counts = match self {
            Self::Counts(counts) => counts.clone(),
            other => other.read()?,
        };
        counts.check(tasks)?;
        Ok(counts)
    }

    /// The value as the state of a built-in learner, if that loses nothing: a learner of your own
    /// may use the same keys for other types.
    fn typed<T: DeserializeOwned>(value: &Value, variant: fn(T) -> Self) -> Option<Self> {
        let state = variant(T::deserialize(value).ok()?);
        serde_json::to_value(&state).is_ok_and(|same| same == *value).then_some(state)
    }
}

impl<'de> Deserialize<'de> for LearnerState {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        if value.is_null() {
            return Ok(Self::Empty);
        }
        let typed = Self::typed(&value, Self::Counts)
            .or_else(|| Self::typed(&value, Self::ExploreThenCommit))
            .or_else(|| Self::typed(&value, Self::GridUcb))
            .or_else(|| Self::typed(&value, Self::Oful))
            .or_else(|| Self::typed(&value, Self::Lattimore));
        Ok(typed.unwrap_or(Self::Other(value)))
    }
}
