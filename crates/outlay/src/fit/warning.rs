//! What somebody should know before using a fitted curve.

use std::fmt;

/// A reason to be careful.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Warning {
    /// Nothing ever succeeded.
    OnlyFailures {
        /// How often it was tried.
        trials: f64,
    },
    /// Nothing ever failed.
    OnlySuccesses {
        /// How often it was tried.
        trials: f64,
    },
    /// Too few trials to say much.
    FewTrials {
        /// How many.
        trials: f64,
    },
    /// Every row spends the same.
    OneSpend {
        /// What they spend.
        spend: f64,
    },
    /// Spends up to the budget that the log says nothing about.
    Extrapolates {
        /// From here on.
        from: f64,
    },
    /// Spends below the least one of the log: the curve there is the family's, not the data's.
    NothingBelow {
        /// Up to here.
        to: f64,
    },
    /// A parameter that the log does not pin down on one side or both.
    Unbounded {
        /// Its name.
        parameter: &'static str,
    },
    /// Success falls with spend, beyond chance.
    Falls {
        /// It is high here.
        from: f64,
        /// And low here.
        to: f64,
    },
    /// The curve misses the log beyond chance.
    Misses {
        /// How often chance alone would make it miss that far.
        calibration: f64,
    },
    /// The log has successes at zero spend, so a floor was fitted.
    FreeSuccess,
    /// The largest amounts are censored: what more would do, nobody saw.
    StaysBelow {
        /// The curve stays at this.
        height: f64,
        /// From here on.
        from: f64,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OnlyFailures { trials } => {
                write!(
                    formatter,
                    "only failures in {}: a guess, as if half of one had succeeded",
                    counted(*trials)
                )
            }
            Self::OnlySuccesses { trials } => {
                write!(
                    formatter,
                    "only successes in {}: a guess, as if half of one more had failed",
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
                write!(formatter, "{parameter} is not pinned down by the log")
            }
            Self::Falls { from, to } => {
                write!(formatter, "success falls between {} and {}", short(*from), short(*to))
            }
            Self::Misses { calibration } => {
                let chance = if *calibration < 1e-4 {
                    "below 0.0001".to_owned()
                } else {
                    format!("{calibration:.4}")
                };
                write!(formatter, "misses the log (calibration {chance})")
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

/// Four digits are enough for a sentence.
fn short(number: f64) -> String {
    let rounded: f64 = format!("{number:.3e}").parse().unwrap_or(number);
    rounded.to_string()
}

/// `1 trial`, `18 trials`.
fn counted(trials: f64) -> String {
    if trials == 1.0 { "1 trial".to_owned() } else { format!("{trials} trials") }
}
