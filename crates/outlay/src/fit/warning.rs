//! Warnings about fitted curves.

/// A warning about a fitted curve.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Warning {
    /// The log has only failures.
    #[error("only failures in {}: a guess that assumes half a success", counted(*.trials))]
    OnlyFailures {
        /// The number of trials.
        trials: f64,
    },
    /// The log has only successes.
    #[error("only successes in {}: a guess that assumes half a failure", counted(*.trials))]
    OnlySuccesses {
        /// The number of trials.
        trials: f64,
    },
    /// The log has few trials.
    #[error("only {}", counted(*.trials))]
    FewTrials {
        /// The number of trials.
        trials: f64,
    },
    /// All rows have the same spend.
    #[error("every trial spends {}: the shape is a guess", short(*.spend))]
    OneSpend {
        /// That spend.
        spend: f64,
    },
    /// The log ends below the budget.
    #[error("extrapolates from {} on", short(*.from))]
    Extrapolates {
        /// The largest spend of the log.
        from: f64,
    },
    /// The log starts far above zero; the curve below is an extrapolation.
    #[error("extrapolates below {}", short(*.to))]
    NothingBelow {
        /// The smallest spend of the log.
        to: f64,
    },
    /// The interval of a parameter is unbounded on at least one side.
    #[error("{parameter} is not determined by the log")]
    Unbounded {
        /// Its name.
        parameter: &'static str,
    },
    /// Success decreases significantly with the spend.
    #[error("success decreases between {} and {}", short(*.from), short(*.to))]
    Falls {
        /// The spend with the higher success.
        from: f64,
        /// The spend with the lower success.
        to: f64,
    },
    /// The goodness-of-fit test rejects the curve.
    #[error("does not fit the log (calibration {})", chance(*.calibration))]
    Misses {
        /// The p-value of the test.
        calibration: f64,
    },
    /// The log has successes at zero spend, so a floor was fitted.
    #[error("successes at zero spend: a floor was fitted")]
    FreeSuccess,
    /// The log has no completions at all.
    #[error("no completions in {rows} rows: a guess that assumes half a completion")]
    NoCompletions {
        /// The number of rows.
        rows: f64,
    },
    /// The log has few rows.
    #[error("only {rows} rows")]
    FewRows {
        /// The number of rows.
        rows: f64,
    },
    /// The log has completions at zero spend, so a floor was fitted.
    #[error("completions at zero spend: a floor was fitted")]
    FreeCompletions,
    /// The counts are about proportional to the spend, so volume and scale are known only together.
    #[error(
        "the counts show no limit up to {}: volume and scale are not determined, and the curve \
         beyond that spend is a guess", short(*.to)
    )]
    NoLimit {
        /// The largest spend of the log.
        to: f64,
    },
    /// The interval of the volume is wide.
    #[error("the volume is poorly determined, between {} and {}", short(*.low), short(*.high))]
    WideVolume {
        /// The lower end of the interval.
        low: f64,
        /// The upper end of the interval.
        high: f64,
    },
    /// Counts decrease significantly with the spend.
    #[error("the counts decrease between {} and {}", short(*.from), short(*.to))]
    CountsFall {
        /// The spend with the higher counts.
        from: f64,
        /// The spend with the lower counts.
        to: f64,
    },
    /// The largest amounts are censored, so the end of the curve is unknown.
    #[error(
        "stays at {} from {} on: the largest amounts are censored",
        short(*.height), short(*.from)
    )]
    StaysBelow {
        /// The largest success of the curve.
        height: f64,
        /// The spend from which on it is constant.
        from: f64,
    },
}

/// Four digits are enough for a sentence.
fn short(number: f64) -> String {
    let rounded: f64 = format!("{number:.3e}").parse().unwrap_or(number);
    rounded.to_string()
}

/// A p-value, of which small ones need no digits.
fn chance(p: f64) -> String {
    if p < 1e-4 { "below 0.0001".to_owned() } else { format!("{p:.4}") }
}

/// `1 trial`, `18 trials`.
fn counted(trials: f64) -> String {
    if trials == 1.0 { "1 trial".to_owned() } else { format!("{trials} trials") }
}
