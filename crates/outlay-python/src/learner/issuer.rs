//! Which learner or ledger issued a round.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};

use outlay::feedback::Feedback;
use outlay::learner::LearnerChoice;
use outlay::ledger::Settings;

/// Tells the rounds of one learner from those of another.
///
/// A learner in memory has a number. Saved and pickled ones have none: then only the settings are
/// compared.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Issuer {
    number: Option<u64>,
    settings: u64,
}

impl Issuer {
    pub(crate) fn saved(settings: u64) -> Self {
        Self { number: None, settings }
    }

    /// A ledger: it moves through files, and its problem may be amended.
    pub(crate) fn of_ledger(settings: &Settings) -> Self {
        let mut hasher = DefaultHasher::new();
        ("ledger", settings.learner.to_string(), settings.horizon, settings.seed).hash(&mut hasher);
        Self::saved(hasher.finish())
    }

    pub(crate) fn settings(self) -> u64 {
        self.settings
    }

    pub(super) fn new(is_loaded: bool, settings: u64) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = (!is_loaded).then(|| NEXT.fetch_add(1, Ordering::Relaxed));
        Self { number, settings }
    }

    pub(crate) fn is_same(self, other: Self) -> bool {
        let numbers = self.number.zip(other.number);
        self.settings == other.settings && numbers.is_none_or(|(one, two)| one == two)
    }
}

/// Tells learners with different settings apart.
pub(super) fn settings_hash(
    problem: &outlay::Problem,
    choice: &LearnerChoice,
    horizon: Option<u64>,
    feedback: Feedback,
    seed: u64,
) -> u64 {
    let mut hasher = DefaultHasher::new();
    problem.tasks().iter().for_each(|task| task.name().hash(&mut hasher));
    (problem.budget().to_bits(), problem.reward_max().to_bits()).hash(&mut hasher);
    (choice.to_string(), horizon, feedback.as_str(), seed).hash(&mut hasher);
    hasher.finish()
}
