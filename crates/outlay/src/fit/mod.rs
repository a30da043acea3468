//! Fits curves to logs.
//!
//! [`fit`] estimates a task's curve from [`Observations`] (spends and successes) by maximum
//! likelihood: a parametric family, one step, or a nondecreasing curve. [`Choice::Auto`] selects
//! the family by cross-validation. [`fit_requirements`] takes [`Requirements`], such as closing
//! prices or running times, some of them right-censored. [`fit_counts`] takes a [`CountLog`] with
//! the number of completions of each row, such as the conversions of a day.
//!
//! ```
//! use outlay::fit::{Choice, Family, Observations, Options, fit};
//! // Half of the trials succeed with 120, one in five with 60, four in five with 240.
//! let rows = [(60.0, 500.0, 100.0), (120.0, 500.0, 250.0), (240.0, 500.0, 400.0)];
//! let log = Observations::new(rows)?;
//! let fitted = fit(&log, Choice::One(Family::Hill), &Options::default())?;
//! let [half_at, steepness] = &fitted.parameters[..] else { panic!("a hill curve has two") };
//! assert!((half_at.value - 120.0).abs() < 0.01 && (steepness.value - 2.0).abs() < 0.01);
//! assert!(steepness.low.unwrap() > 1.7 && steepness.high.unwrap() < 2.3); // 95 %
//! assert!((fitted.curve.success(240.0) - 0.8).abs() < 0.01);
//! # Ok::<(), outlay::fit::FitError>(())
//! ```
//!
//! A fitted curve is known only approximately. In the worst case unknown curves cannot be learned
//! at all (`docs/explanation/appendix-a.md`): for a curve with a jump, a small error in its
//! position can cost everything. Smooth curves tolerate errors better.

mod confidence_band;
mod counts;
mod cross_validation;
mod fisher_scoring;
mod goodness_of_fit;
mod likelihood;
mod model;
mod monotone;
mod observations;
mod one_sided_log;
mod parametric;
mod profile;
mod requirements;
mod rewards;
mod sampling;
mod step;
mod warning;

pub use confidence_band::{Interval, confidence_band, requirements_confidence_band};
pub use counts::{CountFit, CountGroup, CountLog, fit_counts};
pub use cross_validation::Candidate;
use goodness_of_fit::wilson;
pub use goodness_of_fit::{Bin, bins, calibration};
pub use observations::{Group, Observations};
pub use requirements::{Requirement, Requirements};
pub use rewards::Rewards;
pub use warning::Warning;

use std::fmt;

use crate::Curve;
use crate::curve::CurveError;
use crate::names::names;
use cross_validation::{Folds, candidates, parameter_count, simplest};
use parametric::{ParametricFit, model};
use step::Step;

/// The largest number of points of a fitted curve.
pub const MAX_POINTS: usize = 1000;
/// Fewer trials than this cause a warning.
const FEW_TRIALS: f64 = 20.0;
/// A calibration below this causes a warning.
const POOR_CALIBRATION: f64 = 1e-3;

/// A family of curves that can be fitted to spends and successes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Family {
    /// `min(1, (x/scale)^exponent)`
    Power,
    /// `min(1, x/full_at)`
    Saturating,
    /// `1 - exp(-x/scale)`
    Exponential,
    /// `x^s / (x^s + h^s)`
    Hill,
    /// a logistic curve that starts at zero
    Logistic,
    /// one step, with a success probability on either side
    Threshold,
    /// any nondecreasing curve, linear between points
    Monotone,
}

names!(
    Family,
    "family",
    Power = "power",
    Saturating = "saturating",
    Exponential = "exponential",
    Hill = "hill",
    Logistic = "logistic",
    Threshold = "threshold",
    Monotone = "monotone",
);

impl Family {
    /// Whether the family has a fixed number of parameters, fitted by maximum likelihood.
    #[must_use]
    pub fn is_parametric(self) -> bool {
        !matches!(self, Self::Threshold | Self::Monotone)
    }
}

/// A family with or without a fitted ceiling and floor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Form {
    /// The family.
    pub family: Family,
    /// Whether the success that no spend exceeds is fitted; otherwise it is 1.
    pub ceiling: bool,
    /// Whether success at zero spend is fitted; otherwise it is 0.
    pub floor: bool,
}

impl fmt::Display for Form {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.family.as_str())?;
        // A step always has both; a nondecreasing curve has neither.
        match (
            self.family.is_parametric() && self.ceiling,
            self.family.is_parametric() && self.floor,
        ) {
            (true, true) => formatter.write_str(" with ceiling and floor"),
            (true, false) => formatter.write_str(" with ceiling"),
            (false, true) => formatter.write_str(" with floor"),
            (false, false) => Ok(()),
        }
    }
}

/// The choice of the family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// The simplest family whose cross-validated log-loss is within one standard error of the best.
    Auto,
    /// The given family.
    One(Family),
}

/// Options of a fit.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Fit a ceiling too. [`Choice::Auto`] tries every family with and without.
    pub ceiling: bool,
    /// Fit a floor too. It is fitted in any case if the log has successes at zero spend.
    pub floor: bool,
    /// The number of cross-validation folds; at least 2.
    pub folds: usize,
    /// The number of bootstrap samples for a confidence band.
    pub bootstrap: usize,
    /// The seed of all random draws.
    pub seed: u64,
    /// The largest spend of interest. Warnings report where the log ends before it.
    pub budget: Option<f64>,
}

impl Default for Options {
    fn default() -> Self {
        Self { ceiling: false, floor: false, folds: 5, bootstrap: 200, seed: 1, budget: None }
    }
}

/// A fitted number with its 95 % interval.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// The key in a problem file.
    pub name: &'static str,
    /// The most likely value.
    pub value: f64,
    /// The lower end; `None` if the log sets no limit.
    pub low: Option<f64>,
    /// The upper end; `None` if the log sets no limit.
    pub high: Option<f64>,
}

/// The kind of a fitted curve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Fitted to spends and successes.
    Fitted(Form),
    /// The distribution function of requirements.
    Empirical,
    /// A conservative guess, because the log has only successes or only failures.
    Guess,
}

impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fitted(form) => form.fmt(formatter),
            Self::Empirical => formatter.write_str("empirical"),
            Self::Guess => formatter.write_str("guess"),
        }
    }
}

/// A fitted curve with its diagnostics.
#[derive(Debug, Clone, PartialEq)]
pub struct Fitted {
    /// The curve: nondecreasing, within 0 and 1.
    pub curve: Curve,
    /// The kind of the curve.
    pub kind: Kind,
    /// Its parameters; none for a nondecreasing curve.
    pub parameters: Vec<Parameter>,
    /// The cross-validated log-loss: minus the mean log-likelihood of held-out rows.
    pub log_loss: Option<f64>,
    /// The log-loss of a constant success probability.
    pub constant_log_loss: Option<f64>,
    /// The p-value of the goodness-of-fit test; see [`calibration`].
    pub calibration: Option<f64>,
    /// The candidates of the cross-validation, best first.
    pub candidates: Vec<Candidate>,
    /// Warnings about the fit.
    pub warnings: Vec<Warning>,
    /// The volume and the dispersion, if the curve was fitted to counts.
    pub counts: Option<CountFit>,
}

impl Fitted {
    /// The reason for the choice of the family, in a sentence; `None` if there was no choice.
    #[must_use]
    pub fn reason(&self) -> Option<String> {
        let Kind::Fitted(form) = self.kind else { return None };
        let best = self.candidates.first().filter(|_| self.candidates.len() > 1)?;
        let chosen = self.candidates.iter().find(|candidate| candidate.form == form)?;
        let count = self.candidates.len();
        Some(if chosen.form == best.form {
            format!(
                "{form}: the smallest log-loss of {count}, {:.4}; all simpler forms are \
                 significantly worse",
                best.log_loss
            )
        } else {
            format!(
                "{form}: log-loss {:.4}; {} has {:.4}, the smallest of {count}, but the \
                 difference is not significant and it has more parameters ({} against {})",
                chosen.log_loss, best.form, best.log_loss, best.parameters, chosen.parameters
            )
        })
    }
}

/// An error of a fit.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FitError {
    /// An invalid spend or amount.
    #[error("row {row}: an amount must be finite and not negative, not {amount}")]
    Amount {
        /// The row, counted from 0.
        row: usize,
        /// The amount.
        amount: f64,
    },
    /// More successes than trials, or a negative number.
    #[error("row {row}: successes must be between 0 and the trials ({trials}), not {successes}")]
    Successes {
        /// The row, counted from 0.
        row: usize,
        /// The number of trials.
        trials: f64,
        /// The number of successes.
        successes: f64,
    },
    /// An invalid count.
    #[error("row {row}: a count must be finite and not negative, not {count}")]
    Count {
        /// The row, counted from 0.
        row: usize,
        /// The count.
        count: f64,
    },
    /// A step was to be fitted to counts.
    #[error("a threshold curve cannot be fitted to counts")]
    CountsWithStep,
    /// The log is empty.
    #[error("the log is empty")]
    NoData,
    /// Every spend is zero.
    #[error("every spend is zero")]
    NoSpend,
    /// The log has zero likelihood under the family.
    #[error("the log has zero likelihood under this family")]
    Impossible,
    /// The fitted parameters are invalid, which should not happen.
    #[error("the fitted curve is invalid: {0}")]
    Curve(#[from] CurveError),
}

/// Fits the curve of a task to its log.
///
/// # Errors
/// If the log is empty.
pub fn fit(log: &Observations, choice: Choice, options: &Options) -> Result<Fitted, FitError> {
    let (_, largest) = log.range().ok_or(FitError::NoData)?;
    if let Some(guess) = one_sided_log::guess(log)? {
        return Ok(with_warnings(guess, log, options));
    }
    let free_success =
        log.groups().first().is_some_and(|group| group.spend == 0.0 && group.successes > 0.0);
    // If all spends are zero, only a constant can be fitted.
    let choice = if largest == 0.0 { Choice::One(Family::Monotone) } else { choice };
    let forms = forms(choice, options, options.floor || free_success);
    let folds = Folds::new(log, options.folds.max(2), options.seed);
    let candidates = candidates(&forms, &folds, log);
    let form = simplest(&candidates, log.trials()).map_or(forms[0], |candidate| candidate.form);
    let (curve, parameters) = fitted(form, log, options)?;
    let mut result = Fitted {
        calibration: calibration(log, &curve, parameter_count(form, log)),
        curve,
        kind: Kind::Fitted(form),
        parameters,
        log_loss: candidates
            .iter()
            .find(|candidate| candidate.form == form)
            .map(|candidate| candidate.log_loss),
        constant_log_loss: folds.constant_log_loss(),
        candidates,
        warnings: Vec::new(),
        counts: None,
    };
    if free_success && form.family.is_parametric() {
        result.warnings.push(Warning::FreeSuccess);
    }
    Ok(with_warnings(result, log, options))
}

/// The forms to compare.
fn forms(choice: Choice, options: &Options, floor: bool) -> Vec<Form> {
    match choice {
        Choice::One(family) => {
            vec![Form {
                family,
                ceiling: options.ceiling && family.is_parametric(),
                floor: floor && family.is_parametric(),
            }]
        }
        Choice::Auto => {
            let both = |family: Family| {
                let parametric = family.is_parametric();
                let with = (parametric).then_some(Form {
                    family,
                    ceiling: true,
                    floor: floor && parametric,
                });
                let without = (!options.ceiling || !parametric).then_some(Form {
                    family,
                    ceiling: false,
                    floor: floor && parametric,
                });
                without.into_iter().chain(with)
            };
            Family::ALL.into_iter().flat_map(both).collect()
        }
    }
}

fn fitted(
    form: Form,
    log: &Observations,
    options: &Options,
) -> Result<(Curve, Vec<Parameter>), FitError> {
    if let Some(model) = model(form.family, form.ceiling, form.floor) {
        let fit = ParametricFit::new(model, log)?;
        return Ok((fit.curve()?, fit.parameters()));
    }
    if form.family == Family::Threshold {
        let step = Step::new(log)?;
        return Ok((step.curve()?, step.parameters(log, options.seed)));
    }
    Ok((monotone::curve(log)?, Vec::new()))
}

/// Adds the warnings about a curve that was fitted to a log.
fn with_warnings(mut fitted: Fitted, log: &Observations, options: &Options) -> Fitted {
    let Some((least, largest)) = log.range() else { return fitted };
    let warnings = &mut fitted.warnings;
    if fitted.kind != Kind::Guess {
        if log.trials() < FEW_TRIALS {
            warnings.push(Warning::FewTrials { trials: log.trials() });
        }
        if least == largest {
            warnings.push(Warning::OneSpend { spend: least });
        }
        let loose = fitted
            .parameters
            .iter()
            .filter(|parameter| parameter.low.is_none() || parameter.high.is_none());
        warnings.extend(loose.map(|parameter| Warning::Unbounded { parameter: parameter.name }));
        warnings
            .extend(goodness_of_fit::decrease(log).map(|(from, to)| Warning::Falls { from, to }));
    }
    add_common_warnings(&mut fitted, (least, largest), options);
    fitted
}

/// Adds the warnings about the goodness of fit and about spends outside the range of the log.
fn add_common_warnings(fitted: &mut Fitted, (least, largest): (f64, f64), options: &Options) {
    const FAR_FROM_ZERO: f64 = 0.1;
    const NEARLY: f64 = 1.01;
    let warnings = &mut fitted.warnings;
    let poor = fitted.calibration.filter(|&calibration| calibration < POOR_CALIBRATION);
    warnings.extend(poor.map(|calibration| Warning::Misses { calibration }));
    let budget = options.budget.unwrap_or(largest);
    if least > FAR_FROM_ZERO * budget {
        warnings.push(Warning::NothingBelow { to: least });
    }
    if budget > largest * NEARLY {
        warnings.push(Warning::Extrapolates { from: largest });
    }
}

/// Fits the curve of a task to requirements: the share of rows that require at most the spend.
///
/// # Errors
/// If there is no row.
pub fn fit_requirements(
    requirements: &Requirements,
    options: &Options,
) -> Result<Fitted, FitError> {
    if requirements.exact() == 0.0 {
        let stopped = Observations::new(
            requirements
                .requirements()
                .iter()
                .map(|requirement| (requirement.amount, requirement.censored, 0.0)),
        )?;
        return fit(&stopped, Choice::Auto, options);
    }
    let curve = requirements.curve()?;
    let mut warnings = Vec::new();
    if requirements.count() < FEW_TRIALS {
        warnings.push(Warning::FewTrials { trials: requirements.count() });
    }
    if let Some(from) = requirements.largest().filter(|_| requirements.ends_censored()) {
        warnings.push(Warning::StaysBelow { height: curve.success(from), from });
    }
    Ok(Fitted {
        curve,
        kind: Kind::Empirical,
        parameters: requirements.median().into_iter().collect(),
        log_loss: None,
        constant_log_loss: None,
        calibration: None,
        candidates: Vec::new(),
        warnings,
        counts: None,
    })
}
