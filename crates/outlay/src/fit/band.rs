//! How much a curve would differ had the log come out differently: bands by bootstrap.

use super::compare::fitted_curve;
use super::guess::{nothing_failed, nothing_succeeded};
use super::needs::Needs;
use super::observations::{Group, Observations};
use super::parametric::{ParametricFit, model};
use super::resample::poisson;
use super::{Fitted, Form, Kind, Options};
use crate::Curve;
use crate::random::{Draws, ManyBits, Purpose};

/// Enough for a band.
const GROUPS: usize = 1024;

/// Between two chances of success.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The lower one.
    pub low: f64,
    /// The upper one.
    pub high: f64,
}

/// At each spend, where 95 of 100 curves are that are fitted to logs drawn from this one with
/// replacement. The family stays the one that was chosen; a guess has no band.
///
/// Rows are drawn by Poisson's law: each counts about as often as it was there.
#[must_use]
pub fn band(
    log: &Observations,
    fitted: &Fitted,
    spends: &[f64],
    options: &Options,
) -> Vec<Interval> {
    let Kind::Fitted(form) = fitted.kind else { return Vec::new() };
    let pooled = log.pooled(GROUPS);
    let draws = Draws::new(options.seed, Purpose::Fit);
    let start = model(form.family, form.ceiling, form.floor)
        .and_then(|model| ParametricFit::new(model, &pooled).ok());
    let curves = (1..=options.bootstrap).filter_map(|round| {
        let mut bits = draws.round(round as u64).many(0);
        refitted(form, &pooled, start.as_ref(), &mut bits)
    });
    between(curves, spends)
}

/// The curve of a log drawn from this one.
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
    let quick = start.and_then(|start| start.refitted(&counts).ok());
    quick.or_else(|| fitted_curve(form, &drawn).ok())
}

/// The same for the distribution function of needs.
#[must_use]
pub fn band_of_needs(
    needs: &Needs,
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
        let drawn = needs
            .reweighted(|need| (poisson(need.exact, &mut bits), poisson(need.censored, &mut bits)));
        drawn.curve().ok()
    });
    between(curves, spends)
}

fn between(curves: impl Iterator<Item = Curve>, spends: &[f64]) -> Vec<Interval> {
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
