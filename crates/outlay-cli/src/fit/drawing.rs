//! The numbers of a task's picture: its curve, the band around it, its data in bins.

use outlay::fit::{
    Bin, Fitted, Interval, Options, bins, confidence_band, requirements_confidence_band,
};

use super::log::Data;

/// Points along the curve.
const POINTS: usize = 160;
/// Bins of the data.
const BINS: usize = 12;

/// What is drawn.
#[derive(Debug)]
pub(super) struct Drawing {
    pub(super) spends: Vec<f64>,
    pub(super) successes: Vec<f64>,
    /// As many as spends, or none.
    pub(super) band: Vec<Interval>,
    pub(super) bins: Vec<Bin>,
}

impl Drawing {
    pub(super) fn new(data: &Data, fitted: &Fitted, options: &Options) -> Self {
        let end = end(data, options.budget.unwrap_or(0.0));
        // Closer together near zero, where curves may be steep.
        let mut spends: Vec<f64> =
            (0..=POINTS).map(|point| end * (point as f64 / POINTS as f64).powf(1.5)).collect();
        spends.extend(
            jumps(fitted)
                .into_iter()
                .filter(|&at| at <= end)
                .flat_map(|at| [at * (1.0 - 1e-6), at]),
        );
        spends.sort_by(f64::total_cmp);
        spends.dedup();
        let band = match data {
            Data::Outcomes(log) => confidence_band(log, fitted, &spends, options),
            Data::Requirements(needs) => {
                requirements_confidence_band(needs, fitted, &spends, options)
            }
        };
        let bins = match data {
            Data::Outcomes(log) => bins(log, BINS),
            Data::Requirements(_) => Vec::new(),
        };
        Self {
            successes: spends.iter().map(|&spend| fitted.curve.success(spend)).collect(),
            band,
            bins,
            spends,
        }
    }
}

/// How far a picture reaches: beyond the log towards the budget, but not so far that the data are
/// pressed into a corner. A distribution function has nothing more to show beyond its last sample.
fn end(data: &Data, budget: f64) -> f64 {
    let largest = data.largest().unwrap_or(0.0);
    match data {
        Data::Requirements(needs) if !needs.ends_censored() => 1.05 * largest,
        _ if largest > 0.0 => budget.clamp(largest, 2.0 * largest),
        _ => budget,
    }
}

/// Where a curve jumps: a line between points would be slanted there. Of very many jumps none can
/// be seen.
fn jumps(fitted: &Fitted) -> Vec<f64> {
    const MOST: usize = 150;
    let jumps = match fitted.curve.family() {
        outlay::curve::Family::Threshold(threshold) => vec![threshold.at()],
        outlay::curve::Family::Steps(steps) => steps.at().to_vec(),
        outlay::curve::Family::Empirical(empirical) => empirical.at().to_vec(),
        _ => Vec::new(),
    };
    if jumps.len() > MOST { Vec::new() } else { jumps }
}
