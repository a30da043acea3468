//! Confidence bands of fitted curves by bootstrap.

use super::cross_validation::fitted_curve;
use super::observations::{Group, Observations};
use super::one_sided_log::{nothing_failed, nothing_succeeded};
use super::parametric::{ParametricFit, model};
use super::requirements::Requirements;
use super::sampling::poisson;
use super::{Fitted, Form, Kind, Options};
use crate::Curve;
use crate::random::{Draws, ManyBits, Purpose};

/// The largest number of groups of a bootstrap sample.
const MAX_GROUPS: usize = 1024;

/// An interval of success probabilities.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// The 95 % bootstrap interval of the fitted curve at each spend. The family is not selected again.
/// A guess has no band.
///
/// The bootstrap is the Poisson bootstrap: each count is drawn from a Poisson distribution.
#[must_use]
pub fn confidence_band(
    log: &Observations,
    fitted: &Fitted,
    spends: &[f64],
    options: &Options,
) -> Vec<Interval> {
    let Kind::Fitted(form) = fitted.kind else { return Vec::new() };
    let pooled = log.pooled(MAX_GROUPS);
    let draws = Draws::new(options.seed, Purpose::Fit);
    let start = model(form.family, form.ceiling, form.floor)
        .and_then(|model| ParametricFit::new(model, &pooled).ok());
    let curves = (1..=options.bootstrap).filter_map(|round| {
        let mut bits = draws.round(round as u64).many(0);
        refitted(form, &pooled, start.as_ref(), &mut bits)
    });
    quantile_intervals(curves, spends)
}

/// The curve fitted to one bootstrap sample.
fn refitted(
    form: Form,
    log: &Observations,
    start: Option<&ParametricFit>,
    bits: &mut ManyBits,
) -> Option<Curve> {
    let counts: Vec<(f64, f64)> = log
        .groups()
        .iter()
        .map(|group| (poisson(group.successes, bits), poisson(group.failures(), bits)))
        .collect();
    let drawn = Observations::of_sorted(log.groups().iter().zip(&counts).map(
        |(group, (successes, failures))| Group {
            spend: group.spend,
            trials: successes + failures,
            successes: *successes,
        },
    ));
    let (trials, successes) = (drawn.trials(), drawn.successes());
    if trials == 0.0 {
        return None;
    }
    if successes == 0.0 {
        return nothing_succeeded(&drawn).ok();
    }
    if successes == trials {
        return nothing_failed(&drawn).ok();
    }
    let warm = start.and_then(|start| start.refitted(&counts).ok());
    warm.or_else(|| fitted_curve(form, &drawn).ok())
}

/// The 95 % bootstrap interval of the distribution function of requirements at each spend.
#[must_use]
pub fn requirements_confidence_band(
    requirements: &Requirements,
    fitted: &Fitted,
    spends: &[f64],
    options: &Options,
) -> Vec<Interval> {
    if fitted.kind != Kind::Empirical {
        return Vec::new();
    }
    let draws = Draws::new(options.seed, Purpose::Fit);
    let curves = (1..=options.bootstrap).filter_map(|round| {
        let mut bits = draws.round(round as u64).many(0);
        let drawn = requirements.reweighted(|requirement| {
            (poisson(requirement.exact, &mut bits), poisson(requirement.censored, &mut bits))
        });
        drawn.curve().ok()
    });
    quantile_intervals(curves, spends)
}

fn quantile_intervals(curves: impl Iterator<Item = Curve>, spends: &[f64]) -> Vec<Interval> {
    let mut heights: Vec<Vec<f64>> = vec![Vec::new(); spends.len()];
    for curve in curves {
        for (heights, &spend) in heights.iter_mut().zip(spends) {
            heights.push(curve.success(spend));
        }
    }
    let interval = |mut heights: Vec<f64>| {
        heights.sort_by(f64::total_cmp);
        let last = heights.len().checked_sub(1)?;
        let quantile = |share: f64| heights[(share * last as f64).round() as usize];
        Some(Interval { low: quantile(0.025), high: quantile(0.975) })
    };
    heights.into_iter().filter_map(interval).collect()
}
