//! Warnings about fitted curves.

use std::fmt;

/// A warning about a fitted curve.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Warning {
    /// The log has only failures.
    OnlyFailures {
        /// The number of trials.
        trials: f64,
    },
    /// The log has only successes.
    OnlySuccesses {
        /// The number of trials.
        trials: f64,
    },
    /// The log has few trials.
    FewTrials {
        /// The number of trials.
        trials: f64,
    },
    /// All rows have the same spend.
    OneSpend {
        /// That spend.
        spend: f64,
    },
    /// The log ends below the budget.
    Extrapolates {
        /// The largest spend of the log.
        from: f64,
    },
    /// The log starts far above zero; the curve below is an extrapolation.
    NothingBelow {
        /// The smallest spend of the log.
        to: f64,
    },
    /// The interval of a parameter is unbounded on at least one side.
    Unbounded {
        /// Its name.
        parameter: &'static str,
    },
    /// Success decreases significantly with the spend.
    Falls {
        /// The spend with the higher success.
        from: f64,
        /// The spend with the lower success.
        to: f64,
    },
    /// The goodness-of-fit test rejects the curve.
    Misses {
        /// The p-value of the test.
        calibration: f64,
    },
    /// The log has successes at zero spend, so a floor was fitted.
    FreeSuccess,
    /// The largest amounts are censored, so the end of the curve is unknown.
    StaysBelow {
        /// The largest success of the curve.
        height: f64,
        /// The spend from which on it is constant.
        from: f64,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OnlyFailures { trials } => {
                write!(
                    formatter,
                    "only failures in {}: a guess that assumes half a success",
                    counted(*trials)
                )
            }
            Self::OnlySuccesses { trials } => {
                write!(
                    formatter,
                    "only successes in {}: a guess that assumes half a failure",
                    counted(*trials)
                )
            }
            Self::FewTrials { trials } => write!(formatter, "only {}", counted(*trials)),
            Self::OneSpend { spend } => {
                write!(formatter, "every trial spends {}: the shape is a guess", short(*spend))
            }
            Self::Extrapolates { from } => {
                write!(formatter, "extrapolates from {} on", short(*from))
            }
            Self::NothingBelow { to } => write!(formatter, "extrapolates below {}", short(*to)),
            Self::Unbounded { parameter } => {
                write!(formatter, "{parameter} is not determined by the log")
            }
            Self::Falls { from, to } => {
                write!(formatter, "success decreases between {} and {}", short(*from), short(*to))
            }
            Self::Misses { calibration } => {
                let chance = if *calibration < 1e-4 {
                    "below 0.0001".to_owned()
                } else {
                    format!("{calibration:.4}")
                };
                write!(formatter, "does not fit the log (calibration {chance})")
            }
            Self::FreeSuccess => write!(formatter, "successes at zero spend: a floor was fitted"),
            Self::StaysBelow { height, from } => {
                write!(
                    formatter,
                    "stays at {} from {} on: the largest amounts are censored",
                    short(*height),
                    short(*from)
                )
            }
        }
    }
}

/// A number with four digits.
fn short(number: f64) -> String {
    let rounded: f64 = format!("{number:.3e}").parse().unwrap_or(number);
    rounded.to_string()
}

/// `1 trial`, `18 trials`.
fn counted(trials: f64) -> String {
    if trials == 1.0 { "1 trial".to_owned() } else { format!("{trials} trials") }
}
