//! The units of a problem: words for readers, which do not affect results.

use serde::Serialize;

use super::errors::{ErrorList, ProblemErrorKind};

/// The longest word, in characters.
const MAX_LENGTH: usize = 20;

/// The units of amounts, rewards and rounds, as tables and reports write them. They are words: no
/// result depends on them.
///
/// ```
/// use outlay::problem::Units;
/// let units = Units { currency: Some("EUR".into()), period: Some("day".into()), reward_unit: None };
/// assert_eq!((units.period(), units.reward_unit()), ("day", Some("EUR")));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Units {
    /// The unit of budget and spends, such as `EUR`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub currency: Option<Box<str>>,
    /// The length of a round, such as `day`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub period: Option<Box<str>>,
    /// The unit of rewards, such as `bookings`, if it is not the currency.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reward_unit: Option<Box<str>>,
}

impl Units {
    /// The keys of a problem file, in the order of the fields.
    pub const KEYS: [&str; 3] = ["currency", "period", "reward_unit"];

    /// The unit of budget and spends, if given.
    #[must_use]
    pub fn currency(&self) -> Option<&str> {
        self.currency.as_deref()
    }

    /// The length of a round; `round` if it is not given.
    #[must_use]
    pub fn period(&self) -> &str {
        self.period.as_deref().unwrap_or("round")
    }

    /// The unit of rewards: `reward_unit`, else the currency.
    #[must_use]
    pub fn reward_unit(&self) -> Option<&str> {
        self.reward_unit.as_deref().or(self.currency())
    }

    /// The three words with their keys.
    pub(super) fn words(&self) -> [(&'static str, Option<&str>); 3] {
        let words = [&self.currency, &self.period, &self.reward_unit].map(Option::as_deref);
        let [currency, period, reward_unit] = Self::KEYS;
        [(currency, words[0]), (period, words[1]), (reward_unit, words[2])]
    }

    pub(super) fn check(&self, errors: &mut ErrorList) {
        let is_valid = |word: &str| {
            let length = word.chars().count();
            (1..=MAX_LENGTH).contains(&length)
                && word.trim() == word
                && !word.contains(char::is_control)
        };
        for (key, word) in self.words() {
            if let Some(word) = word.filter(|word| !is_valid(word)) {
                errors.add(key, ProblemErrorKind::NotAUnit { word: word.to_owned() });
            }
        }
    }
}
