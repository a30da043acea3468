//! Maximum likelihood for the parametric families, with intervals by profile likelihood.

use super::fisher_scoring::{Maximum, fisher_scoring, maximize};
use super::likelihood::{Likelihood, Objective};
use super::model::{CEILING, FLOOR, Model, Point, Shape};
use super::observations::Observations;
use super::profile::Profile;
use super::{Family, FitError, Parameter};
use crate::Curve;

/// The largest number of groups. More would not change the estimate.
const GROUPS: usize = 4096;
/// The number of groups for ranking starting points.
const START_GROUPS: usize = 256;
/// The number of starting points for the search.
const STARTS: usize = 3;
/// The 95 % quantile of chi-square with one degree of freedom.
const FALL: f64 = 3.841_458_820_694_124;

/// A model fitted to a log.
#[derive(Debug, Clone)]
pub(super) struct ParametricFit {
    likelihood: Likelihood,
    maximize: Maximum,
    unit: f64,
}

/// The model of a family, if it is parametric.
pub(super) fn model(family: Family, ceiling: bool, floor: bool) -> Option<Model> {
    Some(Model { shape: Shape::of(family)?, ceiling, floor })
}

impl ParametricFit {
    /// Fits the model to a log by maximum likelihood.
    pub(super) fn new(model: Model, log: &Observations) -> Result<Self, FitError> {
        let unit = log.range().map_or(0.0, |(_, largest)| largest);
        if !(unit > 0.0) {
            return Err(FitError::NoSpend);
        }
        let scaled = log.in_units_of(unit);
        let likelihood = Likelihood::new(model, &scaled.pooled(GROUPS));
        let start_log = scaled.pooled(START_GROUPS);
        let rough = Likelihood::new(model, &start_log);
        let mut starts: Vec<(f64, Point)> = starts(&model, &start_log)
            .into_iter()
            .map(|at| (rough.value(&rough.within(at)), at))
            .collect();
        starts.sort_by(|one, other| other.0.total_cmp(&one.0));
        let free = model.free();
        let climbed = starts.iter().take(STARTS).map(|&(_, at)| {
            let near = fisher_scoring(&rough, at, free).at;
            // Pooled spends may hide a failure beyond a kink.
            fisher_scoring(
                &likelihood,
                if likelihood.value(&near).is_finite() { near } else { at },
                free,
            )
        });
        let best = climbed
            .max_by(|one, other| one.value.total_cmp(&other.value))
            .ok_or(FitError::NoSpend)?;
        if !best.value.is_finite() {
            return Err(FitError::Impossible);
        }
        Ok(Self { maximize: maximize(&likelihood, best.at, free), likelihood, unit })
    }

    pub(super) fn curve(&self) -> Result<Curve, FitError> {
        Ok(self.likelihood.model.curve(&self.maximize.at, self.unit)?)
    }

    /// The curve for other counts at the same spends, searched from this fit.
    pub(super) fn refitted(&self, weights: &[(f64, f64)]) -> Result<Curve, FitError> {
        let likelihood = self.likelihood.reweighted(weights);
        let mut start = self.maximize.at;
        if !likelihood.value(&start).is_finite() {
            return Err(FitError::Impossible);
        }
        start = fisher_scoring(&likelihood, start, self.likelihood.model.free()).at;
        Ok(self.likelihood.model.curve(&start, self.unit)?)
    }

    /// Every fitted parameter with its interval.
    pub(super) fn parameters(&self) -> Vec<Parameter> {
        let model = self.likelihood.model;
        let profile = Profile::new(&self.likelihood, self.maximize, model.free(), FALL);
        let parameter = |coordinate: usize| {
            let (low, high) = profile.interval(coordinate);
            model.parameter(coordinate, self.maximize.at[coordinate], low, high, self.unit)
        };
        model.coordinates().map(parameter).collect()
    }
}

/// A coarse grid of points: amounts along the spends and beyond, shapes from flat to steep,
/// ceilings near the observed success.
fn starts(model: &Model, log: &Observations) -> Vec<Point> {
    let highest = log
        .pooled(10)
        .groups()
        .iter()
        .map(|group| group.successes / group.trials)
        .fold(0.0, f64::max);
    let groups = log.groups();
    let quantile =
        |share: f64| groups[((groups.len() - 1) as f64 * share) as usize].spend.max(1e-9);
    let mut amounts: Vec<f64> = [0.05, 0.25, 0.5, 0.75, 0.95].map(quantile).to_vec();
    amounts.extend([1.5, 4.0, 30.0, 1000.0]);
    let ceilings = if model.ceiling {
        vec![(1.05 * highest).min(0.999), (0.8 * highest).min(0.99), 1.0]
    } else {
        vec![1.0]
    };
    let shapes: &[f64] = match model.shape {
        Shape::Power => &[0.2, 0.5, 0.8, 1.0],
        Shape::Hill => &[0.5, 1.0, 2.0, 5.0, 15.0],
        // The width as a share of the middle.
        Shape::Logistic => &[0.05, 0.2, 0.5, 2.0],
        Shape::Saturating | Shape::Exponential => &[1.0],
    };
    let lowest = groups.first().map_or(0.0, |group| group.successes / group.trials);
    let floor = if model.floor { lowest.clamp(0.01, 0.5 * highest.max(0.02)) } else { 0.0 };
    let mut starts = Vec::new();
    for &amount in &amounts {
        for &shape in shapes {
            let (first, second) = match model.shape {
                Shape::Power => (shape, amount.ln()),
                Shape::Saturating | Shape::Exponential => (amount.ln(), 0.0),
                Shape::Hill => (amount.ln(), shape.ln()),
                Shape::Logistic => (amount, (shape * amount).ln()),
            };
            starts.extend(ceilings.iter().map(|&ceiling| {
                let mut at = [first, second, 1.0, 0.0];
                (at[CEILING], at[FLOOR]) = (ceiling, floor.min(0.5 * ceiling));
                at
            }));
        }
    }
    starts
}
