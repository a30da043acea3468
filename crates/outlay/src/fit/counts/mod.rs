//! Fits curves to counts: the number of completions of each row, such as the conversions of a day.

mod cross_validation;
mod goodness_of_fit;
mod likelihood;
mod log;
mod monotone;
mod parametric;

pub use log::{CountGroup, CountLog};

use crate::Curve;
use crate::problem::CompletionLaw;

use super::cross_validation::simplest;
use super::parametric::model;
use super::{Choice, Family, FitError, Fitted, Form, Kind, Options, Parameter, Warning};
use cross_validation::{Folds, fitted_curve, form_parameters};
use parametric::{CountCurve, ParametricCounts};

/// The families that are compared; a step of counts is not fitted.
const FAMILIES: [Family; 6] = [
    Family::Power,
    Family::Saturating,
    Family::Exponential,
    Family::Hill,
    Family::Logistic,
    Family::Monotone,
];

/// The parts of a fit that only counts have.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CountFit {
    /// The expected count of a row at success 1.
    pub volume: f64,
    /// The variance of a count as a multiple of its mean: Pearson's statistic by its degrees of
    /// freedom, at least 1.
    pub dispersion: f64,
    /// Pearson's statistic.
    pub pearson: f64,
    /// Its degrees of freedom: rows minus parameters.
    pub freedom: f64,
}

impl CountFit {
    fn new(curve: &CountCurve, log: &CountLog, parameters: usize) -> Self {
        let pearson = curve.pearson(log.groups());
        let freedom = (log.rows() - parameters as f64).max(0.0);
        let dispersion = if freedom > 0.0 { (pearson / freedom).max(1.0) } else { 1.0 };
        Self { volume: curve.volume, dispersion, pearson, freedom }
    }

    /// The law of completions for all tasks of a problem: negative binomial with the common
    /// dispersion if the counts vary significantly more than a Poisson distribution.
    pub fn completion_law<'a>(fits: impl IntoIterator<Item = &'a Self>) -> CompletionLaw {
        const SIGNIFICANT: f64 = 2.0;
        let (pearson, freedom) = fits
            .into_iter()
            .fold((0.0, 0.0), |sum, fit| (sum.0 + fit.pearson, sum.1 + fit.freedom));
        let dispersion: f64 = pearson / freedom;
        if dispersion.is_finite() && dispersion > 1.0 + SIGNIFICANT * (2.0 / freedom).sqrt() {
            CompletionLaw::NegativeBinomial { dispersion }
        } else {
            CompletionLaw::Poisson
        }
    }
}

/// Fits the volume and the curve of a task to counts, by maximum Poisson likelihood. The
/// overdispersion of the counts widens every interval.
///
/// A floor is fitted if [`Options::floor`] is set, if the log has completions at zero spend, or if
/// it improves the likelihood significantly. [`Options::ceiling`] has no meaning: the volume is the
/// ceiling of the counts.
///
/// ```
/// use outlay::fit::{Choice, CountLog, Family, Options, fit_counts};
/// // 100 completions at half of the volume, and 150 at twice the spend.
/// let log = CountLog::new([(60.0, 98.0), (60.0, 102.0), (120.0, 146.0), (120.0, 154.0)])?;
/// let fitted = fit_counts(&log, Choice::One(Family::Exponential), &Options::default())?;
/// let counts = fitted.counts.unwrap();
/// assert!((counts.volume - 200.0).abs() < 0.01 && counts.dispersion == 1.0);
/// assert!((fitted.curve.success(60.0) - 0.5).abs() < 1e-4);
/// # Ok::<(), outlay::fit::FitError>(())
/// ```
///
/// # Errors
/// If the log is empty or the family is [`Family::Threshold`].
pub fn fit_counts(log: &CountLog, choice: Choice, options: &Options) -> Result<Fitted, FitError> {
    let (least, largest) = log.range().ok_or(FitError::NoData)?;
    if choice == Choice::One(Family::Threshold) {
        return Err(FitError::CountsWithStep);
    }
    if log.count() == 0.0 {
        return guess(log, options);
    }
    // One spend says nothing about the shape, so the curve is a straight line up to it.
    let choice = if least == largest { Choice::One(Family::Monotone) } else { choice };
    let forms = forms(log, choice, options);
    let folds = Folds::new(log, options.folds.max(2), options.seed, options.budget);
    let candidates = folds.candidates(&forms, log);
    let dispersion = candidates
        .first()
        .and_then(|best| {
            let curve = fitted_curve(best.form, log.groups(), options.budget).ok()?;
            Some(CountFit::new(&curve, log, best.parameters).dispersion)
        })
        .unwrap_or(1.0);
    let form =
        simplest(&candidates, log.rows() / dispersion).map_or(forms[0], |candidate| candidate.form);
    let parameter_count = form_parameters(form, log);
    let (curve, counts, parameters) = fitted(form, log, options, parameter_count)?;
    let calibration =
        goodness_of_fit::calibration(log.groups(), &curve, parameter_count, counts.dispersion);
    let chosen = candidates.iter().find(|candidate| candidate.form == form);
    let mut result = Fitted {
        calibration,
        curve: curve.curve,
        kind: Kind::Fitted(form),
        parameters,
        log_loss: chosen.map(|candidate| candidate.log_loss),
        constant_log_loss: folds.constant_log_loss(),
        candidates,
        warnings: Vec::new(),
        counts: Some(counts),
    };
    if has_free_completions(log) && form.family.is_parametric() {
        result.warnings.push(Warning::FreeCompletions);
    }
    add_warnings(&mut result, log, options);
    Ok(result)
}

/// The curve and the volume with their dispersion and parameters.
fn fitted(
    form: Form,
    log: &CountLog,
    options: &Options,
    parameter_count: usize,
) -> Result<(CountCurve, CountFit, Vec<Parameter>), FitError> {
    let Some(model) = model(form.family, false, form.floor) else {
        let curve = monotone::curve(log.groups())?;
        let counts = CountFit::new(&curve, log, parameter_count);
        return Ok((curve, counts, Vec::new()));
    };
    let fit = ParametricCounts::new(model, log.groups(), options.budget)?;
    let curve = fit.curve()?;
    let counts = CountFit::new(&curve, log, parameter_count);
    let parameters = fit.parameters(counts.dispersion, counts.freedom);
    Ok((curve, counts, parameters))
}

fn has_free_completions(log: &CountLog) -> bool {
    log.groups().first().is_some_and(|group| group.spend == 0.0 && group.count > 0.0)
}

/// The forms to compare: every family with a floor if one is needed.
fn forms(log: &CountLog, choice: Choice, options: &Options) -> Vec<Form> {
    let form = |family: Family| {
        let floor = family.is_parametric()
            && (options.floor
                || has_free_completions(log)
                || has_significant_floor(family, log, options));
        Form { family, ceiling: false, floor }
    };
    match choice {
        Choice::One(family) => vec![form(family)],
        Choice::Auto => FAMILIES.into_iter().map(form).collect(),
    }
}

/// Whether a floor improves the likelihood of a family by more than chance, at a level of 1 %. The
/// dispersion is that of the curve with the floor.
fn has_significant_floor(family: Family, log: &CountLog, options: &Options) -> bool {
    // The floor is at the limit of its range if there is none, so the test has one side: the 98 %
    // quantile of chi-square with one degree of freedom.
    const SIGNIFICANT: f64 = 5.411_894_431_054_342;
    let fitted = |floor: bool| {
        let model = model(family, false, floor)?;
        let fit = ParametricCounts::new(model, log.groups(), options.budget).ok()?;
        Some((fit.log_likelihood(), fit.curve().ok()?, parametric::parameter_count(&model)))
    };
    let Some((with, curve, parameters)) = fitted(true) else { return false };
    // Without a floor the family may not explain the log at all.
    let Some((without, ..)) = fitted(false) else { return true };
    let dispersion = CountFit::new(&curve, log, parameters).dispersion;
    2.0 * (with - without) > SIGNIFICANT * dispersion
}

/// A log without completions: the exponential curve under which half a completion is expected.
fn guess(log: &CountLog, options: &Options) -> Result<Fitted, FitError> {
    const HALF: f64 = 0.5;
    let (_, largest) = log.range().ok_or(FitError::NoData)?;
    let curve = if largest > 0.0 {
        Curve::exponential(largest)?
    } else {
        Curve::steps(vec![0.0], vec![1.0])?
    };
    let total: f64 = log.groups().iter().map(|group| group.rows * curve.success(group.spend)).sum();
    let counts = CountFit { volume: HALF / total, dispersion: 1.0, pearson: 0.0, freedom: 0.0 };
    let mut fitted = Fitted {
        curve,
        kind: Kind::Guess,
        parameters: Vec::new(),
        log_loss: None,
        constant_log_loss: None,
        calibration: None,
        candidates: Vec::new(),
        warnings: vec![Warning::NoCompletions { rows: log.rows() }],
        counts: Some(counts),
    };
    add_warnings(&mut fitted, log, options);
    Ok(fitted)
}

fn add_warnings(fitted: &mut Fitted, log: &CountLog, options: &Options) {
    let Some(range) = log.range() else { return };
    let dispersion = fitted.counts.map_or(1.0, |counts| counts.dispersion);
    if fitted.kind != Kind::Guess {
        let warnings = &mut fitted.warnings;
        if log.rows() < super::FEW_TRIALS {
            warnings.push(Warning::FewRows { rows: log.rows() });
        }
        if range.0 == range.1 {
            warnings.push(Warning::OneSpend { spend: range.0 });
        }
        warnings.extend(volume_warning(&fitted.parameters, range.1));
        let loose = |parameter: &&Parameter| {
            parameter.name != "volume" && (parameter.low.is_none() || parameter.high.is_none())
        };
        warnings.extend(
            fitted
                .parameters
                .iter()
                .filter(loose)
                .map(|parameter| Warning::Unbounded { parameter: parameter.name }),
        );
        let falls = goodness_of_fit::decrease(log.groups(), dispersion);
        warnings.extend(falls.map(|(from, to)| Warning::CountsFall { from, to }));
    }
    super::add_common_warnings(fitted, range, options);
}

/// A warning if the volume is not determined: the log may cover only the part of the curve where
/// counts are about proportional to the spend.
fn volume_warning(parameters: &[Parameter], largest: f64) -> Option<Warning> {
    const WIDE: f64 = 3.0;
    let volume = parameters.iter().find(|parameter| parameter.name == "volume")?;
    match (volume.low, volume.high) {
        (Some(low), Some(high)) if high > WIDE * low => Some(Warning::WideVolume { low, high }),
        (_, Some(_)) => None,
        _ => Some(Warning::NoLimit { to: largest }),
    }
}
