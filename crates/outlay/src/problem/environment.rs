//! The environment of a simulation: varying budgets, delays and availability.

use serde::Serialize;

use super::Profile;
use super::check::above_limit;
use super::errors::{ErrorList, ProblemErrorKind};
use crate::curve::NumberRange;

/// The rule that gives the budget of each round.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "law", rename_all = "lowercase")]
#[non_exhaustive]
pub enum BudgetLaw {
    /// The budgets of a list in order, repeated.
    List {
        /// The budgets.
        amounts: Vec<f64>,
    },
    /// Drawn uniformly in each round.
    Uniform {
        /// The smallest budget.
        low: f64,
        /// The largest budget.
        high: f64,
    },
    /// Around a mean, with a period: `mean + amplitude · sin(2π · round / period)`.
    Sine {
        /// The mean budget.
        mean: f64,
        /// The largest distance from the mean.
        amplitude: f64,
        /// The period in rounds.
        period: f64,
    },
}

/// The distribution of the delay of an outcome, in rounds. With delay 0 the outcome is known
/// before the next round is decided.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(tag = "law", rename_all = "lowercase")]
#[non_exhaustive]
pub enum DelayLaw {
    /// The same delay for every outcome.
    Constant {
        /// The delay.
        rounds: u64,
    },
    /// A geometric distribution on 0, 1, 2, …
    Geometric {
        /// Mean delay in rounds.
        mean: f64,
    },
    /// An integer between two bounds, drawn uniformly for each outcome.
    Uniform {
        /// The shortest delay.
        low: u64,
        /// The longest delay.
        high: u64,
    },
}

/// The distribution of the number of completions of a task in a round. Its mean is the task's
/// volume times its success.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(tag = "law", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum CompletionLaw {
    /// At most one completion; every volume must be 1.
    Single,
    /// Independent trials, as many as the volume, which must be whole.
    Binomial,
    /// A Poisson distribution.
    Poisson,
    /// A negative binomial distribution, for counts that vary more than a Poisson distribution.
    NegativeBinomial {
        /// The variance as a multiple of the mean; above 1.
        dispersion: f64,
    },
}

/// The parts of a problem that change from round to round. By default nothing changes.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct EnvironmentSpec {
    /// The budget of each round. If unset, it is the problem's budget.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<BudgetLaw>,
    /// The delay of outcomes. If unset, outcomes are immediate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<DelayLaw>,
    /// The probability that a task is available in a round, for tasks without a lower bound. If
    /// unset, it is 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub available: Option<f64>,
    /// The number of completions of a task in a round. If unset, it is
    /// [`Single`](CompletionLaw::Single) if every volume is 1, and else
    /// [`Poisson`](CompletionLaw::Poisson).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completions: Option<CompletionLaw>,
    /// The scale of each task's curve by round: the curve of the round is `F(x / scale)`. Tasks
    /// without a list have scale 1.
    #[serde(skip_serializing_if = "Profile::is_empty")]
    pub scale: Profile,
    /// The volume of each task by round. Tasks without a list have their own volume.
    #[serde(skip_serializing_if = "Profile::is_empty")]
    pub volume: Profile,
    /// Whether learners know neither scale nor volume of a round. By default they know both
    /// before they decide.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub hide_scale: bool,
}

impl EnvironmentSpec {
    /// Whether nothing changes from round to round.
    pub(super) fn is_constant(&self) -> bool {
        *self == Self::default()
    }

    /// Whether curves or volumes change from round to round.
    #[must_use]
    pub fn has_profiles(&self) -> bool {
        !(self.scale.is_empty() && self.volume.is_empty())
    }
}

/// The longest possible delay, in rounds.
pub(crate) const LONGEST_DELAY: f64 = 1e12;
const DELAYS: NumberRange = NumberRange::Rounds { max: LONGEST_DELAY };

/// Checks an environment; `needed` is the sum of the tasks' lower bounds.
pub(super) fn check_environment(spec: &EnvironmentSpec, needed: f64, errors: &mut ErrorList) {
    if let Some(law) = &spec.budget {
        check_budget(law, needed, errors);
    }
    match &spec.delay {
        Some(DelayLaw::Geometric { mean }) if !(*mean >= 0.0 && *mean <= LONGEST_DELAY) => {
            errors.out_of_range("environment.delay.mean", *mean, DELAYS);
        }
        Some(DelayLaw::Uniform { low, high }) if low > high => {
            let kind = above_limit(*low as f64, "high", *high as f64);
            errors.add("environment.delay.low", kind);
        }
        Some(DelayLaw::Constant { rounds: longest } | DelayLaw::Uniform { high: longest, .. })
            if *longest as f64 > LONGEST_DELAY =>
        {
            errors.out_of_range("environment.delay", *longest as f64, DELAYS);
        }
        _ => {}
    }
    if let Some(available) = spec.available.filter(|chance| !(*chance > 0.0 && *chance <= 1.0)) {
        errors.out_of_range("environment.available", available, NumberRange::PositiveShare);
    }
}

fn check_budget(law: &BudgetLaw, needed: f64, errors: &mut ErrorList) {
    let mut amount = |field: &str, number: f64| {
        let sound = number >= 0.0 && number.is_finite();
        if !sound {
            let path = format!("environment.budget.{field}");
            errors.out_of_range(path, number, NumberRange::NonNegative);
        }
        sound
    };
    let least = match law {
        BudgetLaw::List { amounts } if amounts.is_empty() => {
            errors.add("environment.budget.amounts", ProblemErrorKind::Empty);
            return;
        }
        BudgetLaw::List { amounts } => {
            if !amounts
                .iter()
                .enumerate()
                .all(|(position, number)| amount(&format!("amounts[{position}]"), *number))
            {
                return;
            }
            amounts.iter().copied().fold(f64::INFINITY, f64::min)
        }
        BudgetLaw::Uniform { low, high } => {
            if [amount("low", *low), amount("high", *high)] != [true; 2] {
                return;
            }
            if low > high {
                errors.add("environment.budget.low", above_limit(*low, "high", *high));
                return;
            }
            *low
        }
        BudgetLaw::Sine { mean, amplitude, period } => {
            if [amount("mean", *mean), amount("amplitude", *amplitude), amount("period", *period)]
                != [true; 3]
            {
                return;
            }
            if *period == 0.0 {
                errors.out_of_range("environment.budget.period", 0.0, NumberRange::Positive);
                return;
            }
            if amplitude > mean {
                let (amplitude, mean) = (*amplitude, *mean);
                let kind = ProblemErrorKind::AmplitudeAboveMean { amplitude, mean };
                errors.add("environment.budget.amplitude", kind);
                return;
            }
            mean - amplitude
        }
    };
    if least < needed {
        let kind = ProblemErrorKind::SmallestBudgetTooSmall { least, needed };
        errors.add("environment.budget", kind);
    }
}
