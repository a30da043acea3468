//! Selection of the family for counts by cross-validation. Whole rows are held out, because the
//! completions of one row are not independent if the counts are overdispersed.

use statrs::function::gamma::ln_gamma;

use super::log::{CountGroup, CountLog, pools};
use super::monotone;
use super::parametric::{CountCurve, ParametricCounts, parameter_count};
use crate::fit::parametric::model;
use crate::fit::{Candidate, FitError, Form};
use crate::random::{Draws, Purpose};

/// The largest number of groups in cross-validation.
const GROUPS: usize = 1024;

/// The rows divided into folds over the same groups.
pub(super) struct Folds {
    /// `[fold][group]`.
    parts: Vec<Vec<CountGroup>>,
    rows: f64,
    /// The mean of ln(count!), which is the same for every curve.
    constant: f64,
    budget: Option<f64>,
}

/// The loss of a row in each group as a slope and an offset: `slope * count + offset`.
struct Losses(Vec<Vec<(f64, f64)>>);

impl Folds {
    /// Assigns every row to a random fold.
    pub(super) fn new(log: &CountLog, folds: usize, seed: u64, budget: Option<f64>) -> Self {
        let (positions, count) = pools(log.groups(), GROUPS);
        let mut whole = vec![CountGroup::empty(0.0); count];
        for (group, &position) in log.groups().iter().zip(&positions) {
            let pool = &mut whole[position];
            let rows = pool.rows + group.rows;
            pool.spend += (group.spend - pool.spend) * (group.rows / rows);
            pool.rows = rows;
        }
        let empty: Vec<CountGroup> =
            whole.iter().map(|pool| CountGroup::empty(pool.spend)).collect();
        let mut parts = vec![empty; folds];
        let mut bits = Draws::new(seed, Purpose::Fit).round(0).many(0);
        let (mut group, mut factorials) = (0, 0.0);
        for &(spend, count) in log.sorted_rows() {
            while log.groups()[group].spend < spend {
                group += 1;
            }
            let fold = ((bits.next_uniform() * folds as f64) as usize).min(folds - 1);
            let row = CountGroup { spend, rows: 1.0, count, squares: count * count };
            parts[fold][positions[group]].add(&row);
            factorials += ln_gamma(count + 1.0);
        }
        Self { parts, rows: log.rows(), constant: factorials / log.rows(), budget }
    }

    /// The groups without one fold.
    fn without(&self, fold: usize) -> Vec<CountGroup> {
        let mut sums: Vec<CountGroup> =
            self.parts[fold].iter().map(|group| CountGroup::empty(group.spend)).collect();
        for (part, groups) in self.parts.iter().enumerate() {
            if part != fold {
                sums.iter_mut().zip(groups).for_each(|(sum, group)| sum.add(group));
            }
        }
        sums.retain(|group| group.rows > 0.0);
        sums
    }

    /// The losses on each fold of the curve fitted to the others.
    fn judged(
        &self,
        fitted: impl Fn(&[CountGroup]) -> Result<CountCurve, FitError>,
    ) -> Result<Losses, FitError> {
        // A curve may expect no count where there is one; it is charged as if it expected about
        // half a count in all rows.
        let least = 0.5 / (self.rows + 1.0);
        let loss = |curve: &CountCurve, group: &CountGroup| {
            let mean = curve.mean(group.spend).max(least);
            (-mean.ln(), mean)
        };
        let mut losses = Vec::with_capacity(self.parts.len());
        for (fold, part) in self.parts.iter().enumerate() {
            let curve = fitted(&self.without(fold))?;
            losses.push(part.iter().map(|group| loss(&curve, group)).collect());
        }
        Ok(Losses(losses))
    }

    /// Mean and standard error over all rows.
    fn mean(&self, loss: impl Fn(usize, usize) -> (f64, f64)) -> (f64, f64) {
        let (mut sum, mut squares) = (0.0, 0.0);
        for (fold, part) in self.parts.iter().enumerate() {
            for (position, group) in part.iter().enumerate() {
                let (slope, offset) = loss(fold, position);
                let (first, second) = group.moments(slope, offset);
                (sum, squares) = (sum + first, squares + second);
            }
        }
        let mean = sum / self.rows;
        (mean, ((squares / self.rows - mean * mean).max(0.0) / self.rows).sqrt())
    }

    /// The log-loss of a constant expected count.
    pub(super) fn constant_log_loss(&self) -> Option<f64> {
        let constant = |groups: &[CountGroup]| {
            let (count, rows) = groups
                .iter()
                .fold((0.0, 0.0), |(count, rows), group| (count + group.count, rows + group.rows));
            let curve = crate::Curve::steps(vec![0.0], vec![1.0])?;
            Ok(CountCurve { curve, volume: count / rows })
        };
        let losses = self.judged(constant).ok()?;
        Some(self.mean(|fold, position| losses.0[fold][position]).0 + self.constant)
    }

    /// All forms that can be fitted, by increasing log-loss.
    pub(super) fn candidates(&self, forms: &[Form], log: &CountLog) -> Vec<Candidate> {
        let mut judged: Vec<(Form, Losses, f64)> = Vec::new();
        for &form in forms {
            if let Ok(losses) = self.judged(|groups| fitted_curve(form, groups, self.budget)) {
                let loss = self.mean(|fold, position| losses.0[fold][position]).0;
                judged.push((form, losses, loss + self.constant));
            }
        }
        // Digits that depend on rounding in the search must not decide.
        let rounded = |loss: f64| (loss * 1e7).round();
        judged.sort_by(|one, other| rounded(one.2).total_cmp(&rounded(other.2)));
        let Some((_, best, _)) = judged.first() else { return Vec::new() };
        let candidate = |(form, losses, log_loss): &(Form, Losses, f64)| {
            let (worse_by, error) = self.mean(|fold, position| {
                let (own, other) = (losses.0[fold][position], best.0[fold][position]);
                (own.0 - other.0, own.1 - other.1)
            });
            let parameters = form_parameters(*form, log);
            Candidate { form: *form, parameters, log_loss: *log_loss, worse_by, error }
        };
        judged.iter().map(candidate).collect()
    }
}

/// The curve of a form.
pub(super) fn fitted_curve(
    form: Form,
    groups: &[CountGroup],
    budget: Option<f64>,
) -> Result<CountCurve, FitError> {
    match model(form.family, false, form.floor) {
        Some(model) => ParametricCounts::new(model, groups, budget)?.curve(),
        None => monotone::curve(groups),
    }
}

/// The number of parameters of a form; for a nondecreasing curve, its levels.
pub(super) fn form_parameters(form: Form, log: &CountLog) -> usize {
    match model(form.family, false, form.floor) {
        Some(model) => parameter_count(&model),
        None => monotone::levels(log.groups()).len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_goes_to_one_fold() {
        let rows = (0..500).map(|row| (f64::from(row % 9), f64::from(row % 5)));
        let log = CountLog::new(rows).unwrap();
        let folds = Folds::new(&log, 4, 1, None);
        for (position, group) in log.groups().iter().enumerate() {
            let mut sum = CountGroup::empty(group.spend);
            folds.parts.iter().for_each(|part| sum.add(&part[position]));
            assert_eq!(sum, *group);
        }
        // At random, not in equal shares.
        assert!(folds.parts.iter().any(|part| part[1].rows != 14.0));
    }
}
