//! Curves from logs: what was spent and whether it succeeded, or what success would have needed.
//!
//! [`fit`] finds a task's curve from [`Observations`] by maximum likelihood (parametric families),
//! as one step, or as the most likely nondecreasing curve; with [`Choice::Auto`] families are
//! compared on rows they have not seen. [`fit_needs`] takes [`Needs`], such as closing prices or
//! running times, some of them right-censored.
//!
//! ```
//! use outlay::fit::{Choice, Family, Observations, Options, fit};
//! // Half of the trials succeed with 120, one in five with 60, four in five with 240.
//! let log = Observations::new([(60.0, 500.0, 100.0), (120.0, 500.0, 250.0), (240.0, 500.0, 400.0)])?;
//! let fitted = fit(&log, Choice::One(Family::Hill), &Options::default())?;
//! let [half_at, steepness] = &fitted.parameters[..] else { panic!("a hill curve has two") };
//! assert!((half_at.value - 120.0).abs() < 0.01 && (steepness.value - 2.0).abs() < 0.01);
//! assert!(steepness.low.unwrap() > 1.7 && steepness.high.unwrap() < 2.3); // 95 %
//! assert!((fitted.curve.success(240.0) - 0.8).abs() < 0.01);
//! # Ok::<(), outlay::fit::FitError>(())
//! ```
//!
//! A fitted curve is known only approximately. In the worst case unknown curves cannot be learned
//! at all (`docs/appendix-a.md`): with jumps, a small error of where the jump is can cost
//! everything; smooth curves are forgiving.

mod band;
mod climb;
mod compare;
mod goodness;
mod guess;
mod likelihood;
mod model;
mod monotone;
mod needs;
mod observations;
mod parametric;
mod resample;
mod rewards;
mod step;
mod warning;

pub use band::{Interval, band, band_of_needs};
pub use compare::Candidate;
use goodness::wilson;
pub use goodness::{Bin, bins, calibration};
pub use needs::{Need, Needs};
pub use observations::{Group, Observations};
pub use rewards::Rewards;
pub use warning::Warning;

use std::fmt;

use crate::Curve;
use crate::curve::CurveError;
use compare::{Folds, candidates, parameter_count, simplest};
use parametric::{ParametricFit, model};
use step::Step;

/// No curve that is written down has more points than this.
pub const MOST_POINTS: usize = 1000;
/// With fewer trials a warning says so.
const FEW: f64 = 20.0;
/// A calibration below this is told.
const POOR: f64 = 1e-3;

/// What can be fitted to spends and successes.
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
    /// one step, with a chance of success on either side
    Threshold,
    /// any nondecreasing curve, linear between points
    Monotone,
}

impl Family {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Power,
        Self::Saturating,
        Self::Exponential,
        Self::Hill,
        Self::Logistic,
        Self::Threshold,
        Self::Monotone,
    ];

    /// Its word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Power => "power",
            Self::Saturating => "saturating",
            Self::Exponential => "exponential",
            Self::Hill => "hill",
            Self::Logistic => "logistic",
            Self::Threshold => "threshold",
            Self::Monotone => "monotone",
        }
    }

    /// Whether it has a few parameters that are found by maximum likelihood.
    #[must_use]
    pub fn is_parametric(self) -> bool {
        !matches!(self, Self::Threshold | Self::Monotone)
    }
}

/// A family and what else is fitted with it.
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
        formatter.write_str(self.family.name())?;
        // A step has both anyway, a nondecreasing curve needs neither.
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

/// Which family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// The simplest of those that describe unseen rows about as well as the best.
    Auto,
    /// This one.
    One(Family),
}

/// How to fit.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Fit a ceiling too. [`Choice::Auto`] tries every family with and without.
    pub ceiling: bool,
    /// Fit a floor too. It is fitted in any case if the log has successes at zero spend.
    pub floor: bool,
    /// Into how many parts the log is cut to judge a curve by rows it has not seen; at least 2.
    pub folds: usize,
    /// How many logs are drawn for a band.
    pub bootstrap: usize,
    /// Of everything that is drawn.
    pub seed: u64,
    /// Spends up to here matter: warnings say where the log ends before.
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
    /// As in a problem file.
    pub name: &'static str,
    /// The most likely value.
    pub value: f64,
    /// The lower end; nothing if the log sets none.
    pub low: Option<f64>,
    /// The upper end; nothing if the log sets none.
    pub high: Option<f64>,
}

/// What kind of curve came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Fitted to spends and successes.
    Fitted(Form),
    /// The distribution function of needs.
    Empirical,
    /// The log says too little: a careful guess.
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

/// A task's curve and how far to trust it.
#[derive(Debug, Clone, PartialEq)]
pub struct Fitted {
    /// The curve: nondecreasing, within 0 and 1.
    pub curve: Curve,
    /// Where it comes from.
    pub kind: Kind,
    /// Its parameters; none for a nondecreasing curve.
    pub parameters: Vec<Parameter>,
    /// Minus the mean log-likelihood of rows the curve had not seen (cross-validated).
    pub log_loss: Option<f64>,
    /// The same for the share of successes alone, whatever was spent.
    pub constant_log_loss: Option<f64>,
    /// How often chance alone makes a true curve miss the log this far; small is bad. See
    /// [`calibration`].
    pub calibration: Option<f64>,
    /// Everything that was compared, best first.
    pub candidates: Vec<Candidate>,
    /// Reasons to be careful.
    pub warnings: Vec<Warning>,
}

impl Fitted {
    /// Why this family, in a sentence; nothing if there was no choice.
    #[must_use]
    pub fn reason(&self) -> Option<String> {
        let Kind::Fitted(form) = self.kind else { return None };
        let best = self.candidates.first().filter(|_| self.candidates.len() > 1)?;
        let chosen = self.candidates.iter().find(|candidate| candidate.form == form)?;
        let count = self.candidates.len();
        Some(if chosen.form == best.form {
            format!(
                "{form}: the least log-loss of {count}, {:.4}, and nothing simpler comes within chance of it",
                best.log_loss
            )
        } else {
            format!(
                "{form}: log-loss {:.4}; {} has {:.4}, the least of {count}, but that is not beyond chance and has more parameters ({} against {})",
                chosen.log_loss, best.form, best.log_loss, best.parameters, chosen.parameters
            )
        })
    }
}

/// Why there is no curve.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FitError {
    /// A spend or an amount that is none.
    #[error("row {row}: an amount must be finite and not negative, not {amount}")]
    Amount {
        /// Counted from 0.
        row: usize,
        /// What was given.
        amount: f64,
    },
    /// Successes that are no share of trials.
    #[error("row {row}: successes must be between 0 and the trials ({trials}), not {successes}")]
    Successes {
        /// Counted from 0.
        row: usize,
        /// What was given.
        trials: f64,
        /// What was given.
        successes: f64,
    },
    /// There is no row.
    #[error("there are no data")]
    NoData,
    /// No row spends anything.
    #[error("no row spends anything")]
    NoSpend,
    /// The family excludes what the log shows.
    #[error("the family excludes what the log shows")]
    Impossible,
    /// A fitted curve was refused; it should not happen.
    #[error("the fitted curve is none: {0}")]
    Curve(#[from] CurveError),
}

/// The curve of a task from its log.
///
/// # Errors
/// If the log is empty.
pub fn fit(log: &Observations, choice: Choice, options: &Options) -> Result<Fitted, FitError> {
    let (_, largest) = log.range().ok_or(FitError::NoData)?;
    if let Some(guess) = guess::guess(log)? {
        return Ok(with_remarks(guess, log, options));
    }
    let free_success =
        log.groups().first().is_some_and(|group| group.spend == 0.0 && group.successes > 0.0);
    // Without spends there is no shape, only a level.
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
    };
    if free_success && form.family.is_parametric() {
        result.warnings.push(Warning::FreeSuccess);
    }
    Ok(with_remarks(result, log, options))
}

/// What to compare.
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

/// Adds what is to be said of a curve that was fitted to a log.
fn with_remarks(mut fitted: Fitted, log: &Observations, options: &Options) -> Fitted {
    const FAR_FROM_ZERO: f64 = 0.1;
    const NEARLY: f64 = 1.01;
    let Some((least, largest)) = log.range() else { return fitted };
    let warnings = &mut fitted.warnings;
    if fitted.kind != Kind::Guess {
        if log.trials() < FEW {
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
        warnings.extend(goodness::fall(log).map(|(from, to)| Warning::Falls { from, to }));
        warnings.extend(
            fitted
                .calibration
                .filter(|&calibration| calibration < POOR)
                .map(|calibration| Warning::Misses { calibration }),
        );
    }
    let budget = options.budget.unwrap_or(largest);
    if least > FAR_FROM_ZERO * budget {
        warnings.push(Warning::NothingBelow { to: least });
    }
    if budget > largest * NEARLY {
        warnings.push(Warning::Extrapolates { from: largest });
    }
    fitted
}

/// The curve of a task from what success would have needed: the share of rows that needed no more
/// than the spend.
///
/// # Errors
/// If there is no row.
pub fn fit_needs(needs: &Needs, options: &Options) -> Result<Fitted, FitError> {
    if needs.exact() == 0.0 {
        let stopped =
            Observations::new(needs.needs().iter().map(|need| (need.amount, need.censored, 0.0)))?;
        return fit(&stopped, Choice::Auto, options);
    }
    let curve = needs.curve()?;
    let mut warnings = Vec::new();
    if needs.count() < FEW {
        warnings.push(Warning::FewTrials { trials: needs.count() });
    }
    if let Some(from) = needs.largest().filter(|_| needs.ends_censored()) {
        warnings.push(Warning::StaysBelow { height: curve.success(from), from });
    }
    Ok(Fitted {
        curve,
        kind: Kind::Empirical,
        parameters: needs.median().into_iter().collect(),
        log_loss: None,
        constant_log_loss: None,
        calibration: None,
        candidates: Vec::new(),
        warnings,
    })
}
