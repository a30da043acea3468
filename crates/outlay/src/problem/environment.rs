//! What changes from round to round, for simulation: budgets, delays, which tasks are there.

use serde::Serialize;

use super::errors::Faults;
use crate::numeric::compensated::sum;

/// How the budget of a round comes about.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "law", rename_all = "lowercase")]
#[non_exhaustive]
pub enum BudgetLaw {
    /// One after the other, from the start again after the last.
    List {
        /// The budgets.
        amounts: Vec<f64>,
    },
    /// Any between two, drawn each round.
    Uniform {
        /// The smallest.
        low: f64,
        /// The largest.
        high: f64,
    },
    /// Around a mean, with a period: `mean + amplitude · sin(2π · round / period)`.
    Sine {
        /// Its mean.
        mean: f64,
        /// How far it goes up and down.
        amplitude: f64,
        /// In rounds.
        period: f64,
    },
}

/// How many rounds later an outcome arrives; 0: before the next round is decided.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(tag = "law", rename_all = "lowercase")]
#[non_exhaustive]
pub enum DelayLaw {
    /// Always so many rounds.
    Constant {
        /// How many.
        rounds: u64,
    },
    /// 0, 1, 2, … rounds with this mean, each less likely than the one before.
    Geometric {
        /// Mean delay in rounds.
        mean: f64,
    },
    /// Any whole number between two, drawn for each outcome.
    Uniform {
        /// The shortest.
        low: u64,
        /// The longest.
        high: u64,
    },
}

/// What changes from round to round. By default nothing does.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct EnvironmentSpec {
    /// The budget of each round; absent: the problem's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<BudgetLaw>,
    /// How late outcomes arrive; absent: at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<DelayLaw>,
    /// The chance that a task is there in a round, for tasks that need not be given anything;
    /// absent: 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub available: Option<f64>,
}

impl EnvironmentSpec {
    /// Whether nothing changes.
    pub(super) fn is_still(&self) -> bool {
        *self == Self::default()
    }
}

/// Delays beyond this many rounds are never seen.
pub(crate) const LONGEST_DELAY: f64 = 1e12;

/// Checks what was written; `needed` is the sum of the tasks' lower bounds.
pub(super) fn check_environment(spec: &EnvironmentSpec, needed: f64, faults: &mut Faults) {
    if let Some(law) = &spec.budget {
        check_budget(law, needed, faults);
    }
    match &spec.delay {
        Some(DelayLaw::Geometric { mean }) if !(*mean >= 0.0 && *mean <= LONGEST_DELAY) => {
            faults.add(
                "environment.delay.mean",
                format!("must be between 0 and {LONGEST_DELAY:e} rounds, not {mean}"),
            );
        }
        Some(DelayLaw::Uniform { low, high }) if low > high => {
            faults.add("environment.delay.low", format!("must be at most `high`: {low} > {high}"));
        }
        Some(DelayLaw::Constant { rounds: longest } | DelayLaw::Uniform { high: longest, .. })
            if *longest as f64 > LONGEST_DELAY =>
        {
            faults.add(
                "environment.delay",
                format!("must be at most {LONGEST_DELAY:e} rounds, not {longest}"),
            );
        }
        _ => {}
    }
    if let Some(available) = spec.available.filter(|chance| !(*chance > 0.0 && *chance <= 1.0)) {
        faults.add(
            "environment.available",
            format!("must be a chance above 0 and at most 1, not {available}"),
        );
    }
}

fn check_budget(law: &BudgetLaw, needed: f64, faults: &mut Faults) {
    let mut amount = |field: &str, number: f64| {
        let sound = number >= 0.0 && number.is_finite();
        if !sound {
            faults.add(
                format!("environment.budget.{field}"),
                format!("must be finite and not negative, not {number}"),
            );
        }
        sound
    };
    let least = match law {
        BudgetLaw::List { amounts } if amounts.is_empty() => {
            faults.add("environment.budget.amounts", "must have at least one number");
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
                faults.add(
                    "environment.budget.low",
                    format!("must be at most `high`: {low} > {high}"),
                );
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
                faults.add("environment.budget.period", "must be positive, not 0");
                return;
            }
            if amplitude > mean {
                faults.add(
                    "environment.budget.amplitude",
                    format!(
                        "must be at most `mean`, or budgets are negative: {amplitude} > {mean}"
                    ),
                );
                return;
            }
            mean - amplitude
        }
    };
    if least < needed {
        let message = format!(
            "its smallest budget {least} is below what the tasks' min and fixed need: {needed}"
        );
        faults.add("environment.budget", message);
    }
}

/// The sum of lower bounds, for [`check_environment`].
pub(super) fn lower_bounds(bounds: &[super::Bounds]) -> f64 {
    sum(bounds.iter().map(|bounds| bounds.min))
}
