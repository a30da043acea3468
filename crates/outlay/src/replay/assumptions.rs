//! Tests of the model's assumptions on a record: rewards are independent of thresholds, the order
//! of rows does not matter, and thresholds follow the problem's curves.

use serde::Serialize;

use super::rank_tests::{change, holm, kolmogorov, motion_beyond, rank_correlation};
use super::{OutcomeRow, Record, TaskRecord, TaskRows, ThresholdRow};
use crate::curve::Curve;
use crate::problem::Problem;

/// The significance level, over all tasks.
pub const LEVEL: f64 = 0.05;

/// The test results of one task.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TaskAssumptions {
    /// The name of the task.
    pub task: String,
    /// The number of rows.
    pub rows: usize,
    /// Whether rewards depend on thresholds. Absent with fewer than three rows or if all are equal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dependence: Option<Dependence>,
    /// Whether thresholds change along the rows. For outcome rows, whether success changes beyond
    /// the effect of the spends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold_drift: Option<Drift>,
    /// Whether rewards change along the rows. For outcome rows, those of successes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reward_drift: Option<Drift>,
    /// The distance of the problem's curve from the rows.
    pub fit: Fit,
}

/// Dependence of rewards on thresholds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Dependence {
    /// Spearman's rank correlation of threshold and reward; for outcome rows, of spend and reward
    /// of the successes.
    pub rank_correlation: f64,
    /// The p-value under independence.
    pub p_value: f64,
    /// Holm's adjusted p-value over all tasks.
    pub adjusted_p_value: f64,
    /// The largest error of the independence assumption. Absent for outcome rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worst: Option<Mistake>,
}

/// The spend at which the independence assumption is furthest from the rows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Mistake {
    /// The spend.
    pub spend: f64,
    /// The share of rows that succeed with it.
    pub success: f64,
    /// The mean reward of those, in the problem's unit.
    pub mean_of_successes: f64,
    /// The mean reward of all rows.
    pub mean: f64,
}

/// The largest change of a column along the rows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Drift {
    /// The number of rows before the change.
    pub after: usize,
    /// The mean up to there.
    pub before_mean: f64,
    /// The mean from there on.
    pub after_mean: f64,
    /// The p-value if the order of the rows does not matter.
    pub p_value: f64,
    /// Holm's adjusted p-value over all tasks and both columns.
    pub adjusted_p_value: f64,
}

/// The distance of a curve from the rows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Fit {
    /// For thresholds: the largest difference between the curve and the share of rows that succeed
    /// (Kolmogorov–Smirnov). For outcomes: the largest difference between observed and expected
    /// successes up to a spend, over all rows.
    pub distance: f64,
    /// The p-value if the rows follow the curve. It is meaningless for a curve fitted to these
    /// rows.
    pub p_value: f64,
}

/// The test results of every task.
#[must_use]
pub fn assumptions(problem: &Problem, record: &Record) -> Vec<TaskAssumptions> {
    let named = problem.tasks().iter().zip(record.tasks());
    let mut found: Vec<TaskAssumptions> = named
        .map(|(task, record)| {
            let seen = Seen::new(record);
            TaskAssumptions {
                task: task.name().to_owned(),
                rows: record.len(),
                dependence: seen.dependence(record),
                threshold_drift: drift(&seen.hardness, None),
                reward_drift: drift(&seen.rewards, Some(&seen.places)),
                fit: fit(task.curve(), record.rows()),
            }
        })
        .collect();
    adjust(
        found
            .iter_mut()
            .filter_map(|task| task.dependence.as_mut())
            .map(|found| (found.p_value, &mut found.adjusted_p_value)),
    );
    let drifts = found
        .iter_mut()
        .flat_map(|task| [task.threshold_drift.as_mut(), task.reward_drift.as_mut()])
        .flatten();
    adjust(drifts.map(|found| (found.p_value, &mut found.adjusted_p_value)));
    found
}

fn adjust<'a>(found: impl Iterator<Item = (f64, &'a mut f64)>) {
    let (p_values, places): (Vec<f64>, Vec<&mut f64>) = found.unzip();
    for (place, adjusted) in places.into_iter().zip(holm(&p_values)) {
        *place = adjusted;
    }
}

/// The columns of a task's rows that can be compared.
struct Seen {
    /// Thresholds; for outcome rows, the expected minus the observed success at their spend.
    hardness: Vec<f64>,
    /// The observed rewards with their thresholds or spends.
    rewards: Vec<f64>,
    prices: Vec<f64>,
    /// The rows of these rewards.
    places: Vec<usize>,
}

impl Seen {
    fn new(record: &TaskRecord) -> Self {
        match record.rows() {
            TaskRows::Thresholds(rows) => Self {
                hardness: rows.iter().map(|row| row.threshold).collect(),
                rewards: rows.iter().map(|row| row.reward).collect(),
                prices: rows.iter().map(|row| row.threshold).collect(),
                places: (0..rows.len()).collect(),
            },
            TaskRows::Outcomes(rows) => {
                let chances = record.successes();
                let done = || rows.iter().enumerate().filter(|(_, row)| row.success);
                Self {
                    hardness: rows
                        .iter()
                        .map(|row| chances.value(row.spend) - f64::from(u8::from(row.success)))
                        .collect(),
                    rewards: done().filter_map(|(_, row)| row.reward).collect(),
                    prices: done().map(|(_, row)| row.spend).collect(),
                    places: done().map(|(place, _)| place).collect(),
                }
            }
        }
    }

    fn dependence(&self, record: &TaskRecord) -> Option<Dependence> {
        let (rank_correlation, p_value) = rank_correlation(&self.prices, &self.rewards)?;
        let worst = match record.rows() {
            TaskRows::Thresholds(rows) => worst(rows),
            TaskRows::Outcomes(_) => None,
        };
        Some(Dependence { rank_correlation, p_value, adjusted_p_value: p_value, worst })
    }
}

/// The spend at which the mean reward of successes, weighted by their share, is furthest from that
/// of all rows.
fn worst(rows: &[ThresholdRow]) -> Option<Mistake> {
    let mut sorted = rows.to_vec();
    sorted.sort_by(|one, other| one.threshold.total_cmp(&other.threshold));
    let count = rows.len() as f64;
    let mean = sorted.iter().map(|row| row.reward).sum::<f64>() / count;
    let (mut done, mut total) = (0.0, 0.0);
    let mut worst: Option<(f64, Mistake)> = None;
    for same in sorted.chunk_by(|one, other| one.threshold == other.threshold) {
        done += same.len() as f64;
        total += same.iter().map(|row| row.reward).sum::<f64>();
        let error = (total - done * mean).abs();
        if done < count && worst.is_none_or(|(largest, _)| error > largest) {
            let mistake = Mistake {
                spend: same[0].threshold,
                success: done / count,
                mean_of_successes: total / done,
                mean,
            };
            worst = Some((error, mistake));
        }
    }
    worst.map(|(_, mistake)| mistake)
}

/// The largest change of a column; `places` are the rows of its numbers.
fn drift(numbers: &[f64], places: Option<&[usize]>) -> Option<Drift> {
    let (after, p_value) = change(numbers)?;
    let mean = |numbers: &[f64]| numbers.iter().sum::<f64>() / numbers.len().max(1) as f64;
    let row = places.map_or(after, |places| places[after - 1] + 1);
    let (before_mean, after_mean) = (mean(&numbers[..after]), mean(&numbers[after..]));
    Some(Drift { after: row, before_mean, after_mean, p_value, adjusted_p_value: p_value })
}

fn fit(curve: &Curve, rows: &TaskRows) -> Fit {
    match rows {
        TaskRows::Thresholds(rows) => fit_of_thresholds(curve, rows),
        TaskRows::Outcomes(rows) => fit_of_outcomes(curve, rows),
    }
}

fn fit_of_thresholds(curve: &Curve, rows: &[ThresholdRow]) -> Fit {
    let mut thresholds: Vec<f64> = rows.iter().map(|row| row.threshold).collect();
    thresholds.sort_by(f64::total_cmp);
    let count = thresholds.len() as f64;
    let (mut distance, mut below) = (0.0f64, 0.0);
    for same in thresholds.chunk_by(|one, other| one == other) {
        let at = same[0];
        let share = below + same.len() as f64 / count;
        // Both are constant or increasing in between, so the largest distance is at a threshold or
        // just before it.
        let just_before = if at > 0.0 { curve.success(at.next_down()) } else { 0.0 };
        distance = distance.max((curve.success(at) - share).abs()).max((just_before - below).abs());
        below = share;
    }
    // Stephens' correction for few rows.
    let root = count.sqrt();
    Fit { distance, p_value: kolmogorov(distance * (root + 0.12 + 0.11 / root)) }
}

fn fit_of_outcomes(curve: &Curve, rows: &[OutcomeRow]) -> Fit {
    let mut sorted = rows.to_vec();
    sorted.sort_by(|one, other| one.spend.total_cmp(&other.spend));
    let (mut total, mut variance, mut largest) = (0.0f64, 0.0, 0.0f64);
    for same in sorted.chunk_by(|one, other| one.spend == other.spend) {
        let (chance, count) = (curve.success(same[0].spend), same.len() as f64);
        total += same.iter().filter(|row| row.success).count() as f64 - count * chance;
        variance += count * chance * (1.0 - chance);
        largest = largest.max(total.abs());
    }
    let p_value = match (largest > 0.0, variance > 0.0) {
        (false, _) => 1.0,
        (true, true) => motion_beyond(largest / variance.sqrt()),
        // The curve was certain but wrong.
        (true, false) => 0.0,
    };
    Fit { distance: largest / sorted.len() as f64, p_value }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(pairs: &[(f64, f64)]) -> Vec<ThresholdRow> {
        pairs.iter().map(|&(threshold, reward)| ThresholdRow { threshold, reward }).collect()
    }

    #[test]
    fn a_curve_of_the_rows_themselves_is_at_no_distance() {
        let thresholds = vec![3.0, 1.0, 1.0, 7.0];
        let rows = rows(&thresholds.iter().map(|&threshold| (threshold, 0.5)).collect::<Vec<_>>());
        let fit = fit_of_thresholds(&Curve::empirical(thresholds).unwrap(), &rows);
        assert_eq!((fit.distance, fit.p_value), (0.0, 1.0));
        // Just before 7 the line is at 0.7 and three quarters of the rows are below; at 1 a half
        // is, and the line at 0.1.
        let fit = fit_of_thresholds(&Curve::saturating(10.0).unwrap(), &rows);
        assert!((fit.distance - 0.45).abs() < 1e-9, "{fit:?}");
    }

    #[test]
    fn a_jump_is_compared_just_before_it() {
        // The curve jumps at 2; the rows at 1 and at 2.
        let fit = fit_of_thresholds(
            &Curve::threshold(2.0).unwrap(),
            &rows(&[(1.0, 0.5), (2.0, 0.5), (2.0, 0.5), (2.0, 0.5)]),
        );
        assert!((fit.distance - 0.25).abs() < 1e-9, "{fit:?}");
    }

    #[test]
    fn the_worst_mistake_by_hand() {
        let found = worst(&rows(&[(1.0, 0.1), (2.0, 0.1), (3.0, 0.9), (4.0, 0.9)])).unwrap();
        assert_eq!((found.spend, found.success), (2.0, 0.5));
        assert!((found.mean_of_successes - 0.1).abs() < 1e-12 && (found.mean - 0.5).abs() < 1e-12);
        assert_eq!(worst(&rows(&[(1.0, 0.1), (1.0, 0.9)])), None);
    }

    #[test]
    fn outcomes_against_a_curve() {
        let tried = |spend, success| OutcomeRow { spend, success, reward: Some(0.5) };
        let line = Curve::saturating(10.0).unwrap();
        let fair: Vec<OutcomeRow> = (0..100).map(|row| tried(5.0, row % 2 == 0)).collect();
        assert_eq!(fit_of_outcomes(&line, &fair), Fit { distance: 0.0, p_value: 1.0 });
        let unfair: Vec<OutcomeRow> = (0..100).map(|row| tried(5.0, row % 5 == 0)).collect();
        let fit = fit_of_outcomes(&line, &unfair);
        assert!((fit.distance - 0.3).abs() < 1e-12 && fit.p_value < 1e-6, "{fit:?}");
        assert_eq!(fit_of_outcomes(&Curve::threshold(1.0).unwrap(), &unfair).p_value, 0.0);
    }
}
