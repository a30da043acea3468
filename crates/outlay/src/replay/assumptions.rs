//! Tests of the model's assumptions on a record: rewards are independent of thresholds, the order
//! of rows does not matter, and thresholds follow the problem's curves.

use serde::Serialize;

use super::curve_distance::curve_distance;
use super::rank_tests::{change, holm, rank_correlation};
use super::{Record, TaskRecord, TaskRows, ThresholdRow};
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
    /// Whether thresholds change along the rows; of censored rows, the exact ones. For outcomes and
    /// counts, whether they change beyond the effect of the spends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold_drift: Option<Drift>,
    /// Whether rewards change along the rows. For outcome rows, those of successes; for counts, the
    /// mean rewards of the rows.
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
    /// (Kolmogorov–Smirnov; with censored rows, the Kaplan–Meier estimate of that share). For
    /// outcomes and counts: the largest difference between observed and expected successes up to a
    /// spend, relative to the number of rows or of expected completions.
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
                threshold_drift: drift(&seen.hardness, &seen.hardness_places),
                reward_drift: drift(&seen.rewards, &seen.places),
                fit: curve_distance(task, record),
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
#[derive(Default)]
struct Seen {
    /// Thresholds; for outcomes and counts, the expected minus the observed ones at their spend.
    hardness: Vec<f64>,
    /// The rows of these.
    hardness_places: Vec<usize>,
    /// The observed rewards with their thresholds or spends.
    rewards: Vec<f64>,
    prices: Vec<f64>,
    /// The rows of these rewards.
    places: Vec<usize>,
}

impl Seen {
    fn new(record: &TaskRecord) -> Self {
        let mut seen = Self::default();
        let expected = record.rows().are_trials().then(|| record.successes());
        let missing = |spend: f64, observed: f64| {
            expected.as_ref().map_or(0.0, |expected| expected.value(spend)) - observed
        };
        match record.rows() {
            TaskRows::Thresholds(rows) => {
                for (place, row) in rows.iter().enumerate() {
                    seen.add_hardness(place, row.threshold);
                    seen.add_reward(place, row.threshold, Some(row.reward));
                }
            }
            TaskRows::Censored(rows) => {
                let exact = rows.iter().enumerate().filter(|(_, row)| !row.is_censored);
                for (place, row) in exact {
                    seen.add_hardness(place, row.threshold);
                    seen.add_reward(place, row.threshold, row.reward);
                }
            }
            TaskRows::Outcomes(rows) => {
                for (place, row) in rows.iter().enumerate() {
                    let done = f64::from(u8::from(row.success));
                    seen.add_hardness(place, missing(row.spend, done));
                    seen.add_reward(place, row.spend, row.reward.filter(|_| row.success));
                }
            }
            TaskRows::Counts(rows) => {
                for (place, row) in rows.iter().enumerate() {
                    let count = row.completions as f64;
                    seen.add_hardness(place, missing(row.spend, count / record.ratio(place)));
                    let mean = (count > 0.0).then(|| row.reward / count);
                    seen.add_reward(place, row.spend, mean);
                }
            }
        }
        seen
    }

    fn add_hardness(&mut self, place: usize, hardness: f64) {
        self.hardness.push(hardness);
        self.hardness_places.push(place);
    }

    fn add_reward(&mut self, place: usize, price: f64, reward: Option<f64>) {
        if let Some(reward) = reward {
            self.rewards.push(reward);
            self.prices.push(price);
            self.places.push(place);
        }
    }

    fn dependence(&self, record: &TaskRecord) -> Option<Dependence> {
        let (rank_correlation, p_value) = rank_correlation(&self.prices, &self.rewards)?;
        let worst = match record.rows() {
            TaskRows::Thresholds(rows) => worst(rows),
            _ => None,
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
fn drift(numbers: &[f64], places: &[usize]) -> Option<Drift> {
    let (after, p_value) = change(numbers)?;
    let mean = |numbers: &[f64]| numbers.iter().sum::<f64>() / numbers.len().max(1) as f64;
    let row = places[after - 1] + 1;
    let (before_mean, after_mean) = (mean(&numbers[..after]), mean(&numbers[after..]));
    Some(Drift { after: row, before_mean, after_mean, p_value, adjusted_p_value: p_value })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(pairs: &[(f64, f64)]) -> Vec<ThresholdRow> {
        pairs.iter().map(|&(threshold, reward)| ThresholdRow { threshold, reward }).collect()
    }

    #[test]
    fn the_worst_mistake_by_hand() {
        let found = worst(&rows(&[(1.0, 0.1), (2.0, 0.1), (3.0, 0.9), (4.0, 0.9)])).unwrap();
        assert_eq!((found.spend, found.success), (2.0, 0.5));
        assert!((found.mean_of_successes - 0.1).abs() < 1e-12 && (found.mean - 0.5).abs() < 1e-12);
        assert_eq!(worst(&rows(&[(1.0, 0.1), (1.0, 0.9)])), None);
    }
}
