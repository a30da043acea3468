//! The learner of a campaign or experiment: a built-in one by name, or a custom one.

use std::fmt::{self, Display};
use std::str::FromStr;
use std::sync::Arc;

use super::{Learner, LearnerError, LearnerSpec};
use crate::feedback::Feedback;
use crate::problem::Problem;

/// A built-in learner or a custom one.
///
/// ```
/// use outlay::learner::LearnerChoice;
///
/// let built_in: LearnerChoice = "algorithm-1".parse()?;
/// assert_eq!(built_in.to_string(), "algorithm-1");
/// # Ok::<(), outlay::learner::LearnerError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum LearnerChoice {
    /// A built-in learner.
    BuiltIn(LearnerSpec),
    /// A learner that is defined outside this library.
    Custom(CustomLearner),
}

/// The inputs from which a learner is built.
#[derive(Debug, Clone, Copy)]
pub struct LearnerInputs<'a> {
    /// The problem. A learner must not use the rewards in it.
    pub problem: &'a Problem,
    /// The number of rounds, if it is known.
    pub horizon: Option<u64>,
    /// The feedback that the learner will receive.
    pub feedback: Feedback,
    /// The seed of the learner's own random draws.
    pub seed: u64,
}

/// Builds a learner.
type Build = dyn Fn(&LearnerInputs<'_>) -> Box<dyn Learner> + Send + Sync;

/// A learner that is defined outside this library, by its name and the function that builds it.
#[derive(Clone)]
pub struct CustomLearner {
    name: Arc<str>,
    feedback: Feedback,
    build: Arc<Build>,
}

impl LearnerChoice {
    /// A custom learner that needs censored feedback. `build` is called once per campaign or
    /// replication.
    pub fn custom<L: Learner + 'static>(
        name: impl Into<Arc<str>>,
        build: impl Fn(&LearnerInputs<'_>) -> L + Send + Sync + 'static,
    ) -> Self {
        Self::custom_with_feedback(name, Feedback::Censored, build)
    }

    /// A custom learner that needs the given feedback.
    pub fn custom_with_feedback<L: Learner + 'static>(
        name: impl Into<Arc<str>>,
        feedback: Feedback,
        build: impl Fn(&LearnerInputs<'_>) -> L + Send + Sync + 'static,
    ) -> Self {
        let build: Arc<Build> = Arc::new(move |inputs| Box::new(build(inputs)));
        Self::Custom(CustomLearner { name: name.into(), feedback, build })
    }

    /// The built-in learner, if it is one.
    #[must_use]
    pub fn built_in(&self) -> Option<&LearnerSpec> {
        match self {
            Self::BuiltIn(spec) => Some(spec),
            Self::Custom(_) => None,
        }
    }

    /// The feedback that the learner needs.
    #[must_use]
    pub fn feedback(&self) -> Feedback {
        match self {
            Self::BuiltIn(spec) => spec.entry().feedback,
            Self::Custom(custom) => custom.feedback,
        }
    }

    /// Builds the learner.
    ///
    /// # Errors
    /// As [`LearnerSpec::build`].
    pub fn build(&self, inputs: &LearnerInputs<'_>) -> Result<Box<dyn Learner>, LearnerError> {
        match self {
            Self::BuiltIn(spec) => spec.build(inputs),
            Self::Custom(custom) if inputs.feedback.covers(custom.feedback) => {
                Ok((custom.build)(inputs))
            }
            Self::Custom(custom) => Err(LearnerError::Feedback {
                learner: self.to_string(),
                needed: custom.feedback,
                given: inputs.feedback,
            }),
        }
    }
}

/// `kl-ucb-plus`.
impl Default for LearnerChoice {
    fn default() -> Self {
        Self::BuiltIn(LearnerSpec::default())
    }
}

impl From<LearnerSpec> for LearnerChoice {
    fn from(spec: LearnerSpec) -> Self {
        Self::BuiltIn(spec)
    }
}

impl FromStr for LearnerChoice {
    type Err = LearnerError;

    fn from_str(text: &str) -> Result<Self, LearnerError> {
        text.parse().map(Self::BuiltIn)
    }
}

impl Display for LearnerChoice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn(spec) => spec.fmt(formatter),
            Self::Custom(custom) => formatter.write_str(&custom.name),
        }
    }
}

/// The same name and the same function.
impl PartialEq for CustomLearner {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && Arc::ptr_eq(&self.build, &other.build)
    }
}

impl fmt::Debug for CustomLearner {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("CustomLearner").field("name", &self.name).finish_non_exhaustive()
    }
}
