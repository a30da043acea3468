//! The numbers of a task's figure: its curve, its confidence band, its data in bins.

use outlay::fit::{
    Bin, Fitted, Interval, Options, bins, confidence_band, requirements_confidence_band,
};

use super::TaskData;

/// Number of points along the curve.
const POINTS: usize = 160;
/// Number of bins.
const BINS: usize = 12;

/// Points of a curve with its confidence band, and the data in bins.
#[derive(Debug)]
pub struct Drawing {
    pub(super) spends: Vec<f64>,
    /// Success probability at each spend.
    pub(super) successes: Vec<f64>,
    /// Confidence interval at each spend, or empty.
    pub(super) band: Vec<Interval>,
    pub(super) bins: Vec<Bin>,
}

impl Drawing {
    /// Computes the figure of a task. The confidence band uses the bootstrap of `options`.
    pub fn new(data: &TaskData, fitted: &Fitted, options: &Options) -> Self {
        let end = end(data, options.budget.unwrap_or(0.0));
        // Spaced more densely near zero, where curves may be steep.
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
            TaskData::Outcomes(log) => confidence_band(log, fitted, &spends, options),
            // Reports draw no counts yet.
            TaskData::Counts(_) => Vec::new(),
            TaskData::Requirements(needs) => {
                requirements_confidence_band(needs, fitted, &spends, options)
            }
        };
        let bins = match data {
            TaskData::Outcomes(log) => bins(log, BINS),
            TaskData::Counts(_) | TaskData::Requirements(_) => Vec::new(),
        };
        Self {
            successes: spends.iter().map(|&spend| fitted.curve.success(spend)).collect(),
            band,
            bins,
            spends,
        }
    }
}

/// Right end of the figure: the budget, but at most twice the largest spend in the log. A
/// distribution function ends at its last sample.
fn end(data: &TaskData, budget: f64) -> f64 {
    let largest = data.largest().unwrap_or(0.0);
    match data {
        TaskData::Requirements(needs) if !needs.ends_censored() => 1.05 * largest,
        _ if largest > 0.0 => budget.clamp(largest, 2.0 * largest),
        _ => budget,
    }
}

/// Positions of jumps, at which the line must be vertical. Empty if there are too many to be seen.
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
