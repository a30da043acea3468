//! Maximum likelihood of counts for the parametric families.

use statrs::distribution::{ContinuousCDF, StudentsT};

use super::likelihood::{CountLikelihood, free};
use super::log::{CountGroup, pooled};
use crate::Curve;
use crate::fit::fisher_scoring::{Maximum, fisher_scoring, maximize};
use crate::fit::likelihood::Objective;
use crate::fit::model::{Model, Point, Shape};
use crate::fit::profile::Profile;
use crate::fit::{FitError, Parameter};

/// The largest number of groups. More would not change the estimate.
const GROUPS: usize = 4096;
/// The number of groups for ranking starting points.
const START_GROUPS: usize = 128;
/// The number of starting points for the search.
const STARTS: usize = 3;

/// The expected counts of a task: its volume times its curve.
#[derive(Debug, Clone)]
pub(super) struct CountCurve {
    pub(super) curve: Curve,
    pub(super) volume: f64,
}

impl CountCurve {
    pub(super) fn mean(&self, spend: f64) -> f64 {
        self.volume * self.curve.success(spend)
    }

    /// Pearson's statistic: the squared distances of the counts in units of their expected variance
    /// under a Poisson distribution.
    pub(super) fn pearson(&self, groups: &[CountGroup]) -> f64 {
        let distance = |group: &CountGroup| {
            let mean = self.mean(group.spend).max(f64::MIN_POSITIVE);
            if group.count == 0.0 { group.rows * mean } else { group.moments(1.0, -mean).1 / mean }
        };
        groups.iter().map(distance).sum()
    }
}

/// A model fitted to counts.
#[derive(Debug, Clone)]
pub(super) struct ParametricCounts {
    likelihood: CountLikelihood,
    maximum: Maximum,
}

/// The number of fitted parameters of a model of counts.
pub(super) fn parameter_count(model: &Model) -> usize {
    free(model).iter().filter(|&&free| free).count()
}

impl ParametricCounts {
    /// Fits the model to groups by increasing spend. The scale of a power curve is the largest
    /// spend or the budget, whichever is larger.
    pub(super) fn new(
        model: Model,
        groups: &[CountGroup],
        budget: Option<f64>,
    ) -> Result<Self, FitError> {
        let largest = groups.last().map_or(0.0, |group| group.spend);
        if !(largest > 0.0) {
            return Err(FitError::NoSpend);
        }
        let is_power = model.shape == Shape::Power;
        let unit = budget.filter(|_| is_power).map_or(largest, |budget| budget.max(largest));
        let coarse = pooled(groups, START_GROUPS);
        let top = pooled(groups, 12).iter().map(CountGroup::mean).fold(0.0, f64::max);
        if !(top > 0.0) {
            return Err(FitError::NoData);
        }
        let likelihood = CountLikelihood::new(model, &pooled(groups, GROUPS), unit, top);
        let rough = CountLikelihood::new(model, &coarse, unit, top);
        let mut starts: Vec<(f64, Point)> = starts(&model, &coarse, unit)
            .into_iter()
            .map(|at| rough.with_best_volume(at))
            .map(|at| (rough.terms(&at).value, at))
            .collect();
        starts.sort_by(|one, other| other.0.total_cmp(&one.0));
        let climbed = starts.iter().take(STARTS).map(|&(_, at)| {
            let near = fisher_scoring(&rough, at, rough.free()).at;
            fisher_scoring(&likelihood, near, likelihood.free())
        });
        let best = climbed
            .max_by(|one, other| one.value.total_cmp(&other.value))
            .filter(|best| best.value.is_finite())
            .ok_or(FitError::Impossible)?;
        let maximum = maximize(&likelihood, best.at, likelihood.free());
        Ok(Self { likelihood, maximum })
    }

    /// The logarithm of the likelihood, up to a constant of the log.
    pub(super) fn log_likelihood(&self) -> f64 {
        self.maximum.value
    }

    pub(super) fn curve(&self) -> Result<CountCurve, FitError> {
        let curve = self.likelihood.curve(&self.maximum.at)?;
        Ok(CountCurve { curve, volume: self.likelihood.volume(&self.maximum.at) })
    }

    /// Every fitted parameter with its 95 % interval, for counts whose variance is `dispersion`
    /// times their mean, estimated with `freedom` degrees of freedom.
    pub(super) fn parameters(&self, dispersion: f64, freedom: f64) -> Vec<Parameter> {
        let fall = dispersion * t_quantile(freedom).powi(2);
        let (likelihood, free) = (&self.likelihood, self.likelihood.free());
        let profile = Profile::new(likelihood, self.maximum, free, fall);
        let parameter = |coordinate: usize| {
            // An end is unknown if another parameter could not move further.
            let [low, high] = [false, true].map(|upper| {
                let (end, at) = profile.end(coordinate, upper);
                end.filter(|_| !likelihood.is_at_search_limit(&at, coordinate))
            });
            likelihood.parameter(coordinate, self.maximum.at[coordinate], low, high)
        };
        (0..free.len()).filter(|&coordinate| free[coordinate]).map(parameter).collect()
    }
}

/// The 97.5 % quantile of Student's t distribution.
fn t_quantile(freedom: f64) -> f64 {
    let quantile = StudentsT::new(0.0, 1.0, freedom.max(1.0)).map(|t| t.inverse_cdf(0.975));
    quantile.unwrap_or(1.959_963_984_540_054)
}

/// A coarse grid of points: amounts along the spends and beyond, shapes from flat to steep.
fn starts(model: &Model, groups: &[CountGroup], unit: f64) -> Vec<Point> {
    let quantile = |share: f64| {
        let position = ((groups.len() - 1) as f64 * share) as usize;
        (groups[position].spend / unit).max(1e-9)
    };
    let mut amounts: Vec<f64> = [0.05, 0.2, 0.4, 0.6, 0.8, 0.95].map(quantile).to_vec();
    amounts.extend([1.0, 2.0, 8.0]);
    let shapes: &[f64] = match model.shape {
        Shape::Power => &[0.1, 0.3, 0.5, 0.8, 1.0],
        Shape::Hill => &[0.5, 1.0, 2.0, 5.0, 15.0],
        // The width as a share of the middle.
        Shape::Logistic => &[0.05, 0.2, 0.5, 2.0],
        Shape::Saturating | Shape::Exponential => &[1.0],
    };
    let floors: &[f64] = if model.floor { &[0.03, 0.3] } else { &[0.0] };
    let mut starts = Vec::new();
    for &amount in &amounts {
        for &shape in shapes {
            let (first, second) = match model.shape {
                Shape::Power => (shape, 0.0),
                Shape::Saturating | Shape::Exponential => (amount.ln(), 0.0),
                Shape::Hill => (amount.ln(), shape.ln()),
                Shape::Logistic => (amount, (shape * amount).ln()),
            };
            starts.extend(floors.iter().map(|&floor| [first, second, 0.0, floor]));
        }
    }
    starts.dedup();
    starts
}
