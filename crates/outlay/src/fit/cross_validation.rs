//! Selection of the family by cross-validation.

use super::observations::{Group, Observations};
use super::parametric::{ParametricFit, model};
use super::sampling::binomial;
use super::step::Step;
use super::{Family, FitError, Form, monotone};
use crate::Curve;
use crate::random::{Draws, ManyBits, Purpose};

/// The largest number of groups in cross-validation.
const GROUPS: usize = 1024;

/// A candidate of the cross-validation with its log-loss.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// The form.
    pub form: Form,
    /// The number of fitted parameters.
    pub parameters: usize,
    /// Minus the mean log-likelihood of held-out rows; smaller is better.
    pub log_loss: f64,
    /// The mean difference per row to the best candidate.
    pub worse_by: f64,
    /// The standard error of that difference.
    pub error: f64,
}

/// The log divided into folds of about equal size over the same groups.
pub(super) struct Folds {
    /// `[fold][group]`.
    parts: Vec<Vec<Group>>,
    trials: f64,
}

impl Folds {
    /// Assigns every trial to a random fold.
    pub(super) fn new(log: &Observations, folds: usize, seed: u64) -> Self {
        let pooled = log.pooled(GROUPS);
        let draws = Draws::new(seed, Purpose::Fit).round(0);
        let mut parts = vec![Vec::with_capacity(pooled.groups().len()); folds];
        for (position, group) in pooled.groups().iter().enumerate() {
            let successes = dealt(group.successes, folds, &mut draws.many(2 * position));
            let failures = dealt(group.failures(), folds, &mut draws.many(2 * position + 1));
            for (fold, part) in parts.iter_mut().enumerate() {
                part.push(Group {
                    spend: group.spend,
                    trials: successes[fold] + failures[fold],
                    successes: successes[fold],
                });
            }
        }
        Self { parts, trials: pooled.trials() }
    }

    /// The log without one fold.
    fn without(&self, fold: usize) -> Observations {
        let sum = |position: usize| {
            let others = self
                .parts
                .iter()
                .enumerate()
                .filter(|&(part, _)| part != fold)
                .map(|(_, part)| part[position]);
            others.fold(
                Group { trials: 0.0, successes: 0.0, ..self.parts[fold][position] },
                |sum, group| Group {
                    spend: group.spend,
                    trials: sum.trials + group.trials,
                    successes: sum.successes + group.successes,
                },
            )
        };
        Observations::of_sorted((0..self.parts[fold].len()).map(sum))
    }

    /// The log-loss on each fold of the curve fitted to the others: `[fold][group]`, for a success
    /// and for a failure.
    fn judged(
        &self,
        fitted: impl Fn(&Observations) -> Result<Curve, FitError>,
    ) -> Result<Losses, FitError> {
        // A curve may give an event probability zero; it is charged as if it were about 1/(2 rows).
        let least = 1.0 / (2.0 * self.trials + 2.0);
        let mut losses = Vec::with_capacity(self.parts.len());
        for (fold, part) in self.parts.iter().enumerate() {
            let curve = fitted(&self.without(fold))?;
            let loss = |group: &Group| {
                let success = curve.success(group.spend).clamp(least, 1.0 - least);
                (-success.ln(), -(-success).ln_1p())
            };
            losses.push(part.iter().map(loss).collect());
        }
        Ok(Losses(losses))
    }

    /// Mean and standard error over all rows of a number for a success and one for a failure in
    /// each group.
    fn mean(&self, number: impl Fn(usize, usize) -> (f64, f64)) -> (f64, f64) {
        let (mut sum, mut squares) = (0.0, 0.0);
        for (fold, part) in self.parts.iter().enumerate() {
            for (position, group) in part.iter().enumerate() {
                let (success, failure) = number(fold, position);
                sum += group.successes * success + group.failures() * failure;
                squares +=
                    group.successes * success * success + group.failures() * failure * failure;
            }
        }
        let mean = sum / self.trials;
        (mean, ((squares / self.trials - mean * mean).max(0.0) / self.trials).sqrt())
    }

    /// The log-loss of a constant success probability.
    pub(super) fn constant_log_loss(&self) -> Option<f64> {
        let constant =
            |log: &Observations| Ok(Curve::steps(vec![0.0], vec![log.successes() / log.trials()])?);
        let losses = self.judged(constant).ok()?;
        Some(self.mean(|fold, position| losses.0[fold][position]).0)
    }
}

struct Losses(Vec<Vec<(f64, f64)>>);

/// Distributes a count over the folds at random, one unit at a time. Equal shares would leak each
/// fold into the others and favour curves that overfit.
fn dealt(count: f64, folds: usize, bits: &mut ManyBits) -> Vec<f64> {
    let mut left = count;
    let mut share = |fold: usize| {
        let taken = if fold + 1 == folds {
            left
        } else {
            binomial(left, 1.0 / (folds - fold) as f64, bits)
        };
        left -= taken;
        taken
    };
    (0..folds).map(&mut share).collect()
}

/// The curve of a form, fitted to a log that has successes and failures.
pub(super) fn fitted_curve(form: Form, log: &Observations) -> Result<Curve, FitError> {
    if log.is_empty() {
        return Err(FitError::NoData);
    }
    match model(form.family, form.ceiling, form.floor) {
        Some(model) => ParametricFit::new(model, log)?.curve(),
        None if form.family == Family::Threshold => Step::new(log)?.curve(),
        None => monotone::curve(log),
    }
}

/// All forms that can be fitted, by increasing log-loss.
pub(super) fn candidates(forms: &[Form], folds: &Folds, log: &Observations) -> Vec<Candidate> {
    let mut judged: Vec<(Form, Losses, f64)> = Vec::new();
    for &form in forms {
        if let Ok(losses) = folds.judged(|log| fitted_curve(form, log)) {
            let loss = folds.mean(|fold, position| losses.0[fold][position]).0;
            judged.push((form, losses, loss));
        }
    }
    judged.sort_by(|one, other| rounded_loss(one.2).total_cmp(&rounded_loss(other.2)));
    let Some((_, best, _)) = judged.first() else { return Vec::new() };
    let candidate = |(form, losses, log_loss): &(Form, Losses, f64)| {
        let difference = |fold: usize, position: usize| {
            let (own, other) = (losses.0[fold][position], best.0[fold][position]);
            (own.0 - other.0, own.1 - other.1)
        };
        let (worse_by, error) = folds.mean(difference);
        Candidate {
            form: *form,
            parameters: parameter_count(*form, log),
            log_loss: *log_loss,
            worse_by,
            error,
        }
    };
    judged.iter().map(candidate).collect()
}

/// A loss without the digits that depend on rounding in the search. Forms that agree at all rows
/// then keep their order; otherwise the unit of money would decide.
fn rounded_loss(loss: f64) -> f64 {
    (loss * 1e7).round()
}

/// The number of parameters of a form; for a nondecreasing curve, its levels.
pub(super) fn parameter_count(form: Form, log: &Observations) -> usize {
    match model(form.family, form.ceiling, form.floor) {
        Some(model) => model.parameter_count(),
        None if form.family == Family::Threshold => 3,
        None => monotone::levels(log).len(),
    }
}

/// The simplest form whose loss is within one standard error of the smallest, or within one unit of
/// total log-likelihood (forms that agree at all rows differ only by rounding). Of equally simple
/// forms, the one with the smaller loss.
pub(super) fn simplest(candidates: &[Candidate], trials: f64) -> Option<&Candidate> {
    let good = candidates
        .iter()
        .filter(|candidate| candidate.worse_by <= candidate.error.max(1.0 / trials));
    good.min_by_key(|candidate| candidate.parameters)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_simplest_within_one_standard_error_is_selected() {
        let candidate = |family, parameters, worse_by, error| Candidate {
            form: Form { family, ceiling: false, floor: false },
            parameters,
            log_loss: 0.5 + worse_by,
            worse_by,
            error,
        };
        let best = candidate(Family::Monotone, 12, 0.0, 0.0);
        let within = candidate(Family::Hill, 2, 0.001, 0.002);
        let beyond = candidate(Family::Exponential, 1, 0.005, 0.002);
        let all = [best.clone(), within, beyond];
        assert_eq!(simplest(&all, 1e4).map(|candidate| candidate.form.family), Some(Family::Hill));
        // The same curve but for rounding.
        let same = candidate(Family::Power, 2, 1e-12, 1e-13);
        assert_eq!(
            simplest(&[best, same], 1e4).map(|candidate| candidate.form.family),
            Some(Family::Power)
        );
    }

    #[test]
    fn every_trial_goes_to_one_fold() {
        let log =
            Observations::new([(1.0, 5.0, 2.0), (2.0, 1000.0, 1000.0), (3.0, 1.0, 0.0)]).unwrap();
        let folds = Folds::new(&log, 4, 1);
        for (position, group) in log.groups().iter().enumerate() {
            let total = |count: fn(&Group) -> f64| {
                folds.parts.iter().map(|part| count(&part[position])).sum::<f64>()
            };
            assert_eq!(
                (total(|part| part.trials), total(|part| part.successes)),
                (group.trials, group.successes)
            );
        }
        // At random, not in equal shares.
        assert!(folds.parts.iter().any(|part| part[1].trials != 250.0));
    }
}
