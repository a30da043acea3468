//! The distance of a problem's curve from recorded rows.

use super::assumptions::Fit;
use super::rank_tests::{kolmogorov, motion_beyond};
use super::{CensoredRow, CountRow, OutcomeRow, TaskRecord, TaskRows, ThresholdRow};
use crate::curve::Curve;
use crate::problem::Task;

/// The distance of a task's curve from its rows.
pub(super) fn curve_distance(task: &Task, record: &TaskRecord) -> Fit {
    match record.rows() {
        TaskRows::Thresholds(rows) => fit_of_thresholds(task.curve(), rows),
        TaskRows::Outcomes(rows) => fit_of_outcomes(task.curve(), rows),
        TaskRows::Censored(rows) => fit_of_censored(task.curve(), rows),
        TaskRows::Counts(rows) => fit_of_counts(task, record, rows),
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

/// The Kaplan–Meier estimate against the curve. The p-value is that of Hall and Wellner (1980),
/// which is the one of Kolmogorov and Smirnov if no row is censored.
fn fit_of_censored(curve: &Curve, rows: &[CensoredRow]) -> Fit {
    let mut sorted = rows.to_vec();
    sorted.sort_by(|one, other| one.threshold.total_cmp(&other.threshold));
    let count = sorted.len() as f64;
    // The share that needs more, and the variance of its logarithm times the number of rows.
    let (mut at_risk, mut left, mut variance) = (count, 1.0_f64, 0.0);
    let (mut distance, mut scaled, mut weight) = (0.0_f64, 0.0_f64, 1.0);
    let mut compare = |success: f64, left: f64, weight: f64| {
        let difference = (success - (1.0 - left)).abs();
        distance = distance.max(difference);
        scaled = scaled.max(difference * weight);
    };
    for same in sorted.chunk_by(|one, other| one.threshold == other.threshold) {
        let at = same[0].threshold;
        let exact = same.iter().filter(|row| !row.is_censored).count() as f64;
        let just_before = if at > 0.0 { curve.success(at.next_down()) } else { 0.0 };
        compare(just_before, left, weight);
        if exact > 0.0 {
            let more = at_risk - exact;
            left *= more / at_risk;
            // Where nothing is left, the weight stays as it was.
            if more > 0.0 {
                variance += count * exact / (at_risk * more);
                weight = 1.0 / (left * (1.0 + variance));
            }
            compare(curve.success(at), left, weight);
        }
        at_risk -= same.len() as f64;
    }
    let root = count.sqrt();
    Fit { distance, p_value: kolmogorov(scaled * (root + 0.12 + 0.11 / root)) }
}

/// Observed and expected completions up to a spend. Their variance is estimated around the recorded
/// means, so that a wrong curve does not widen it.
fn fit_of_counts(task: &Task, record: &TaskRecord, rows: &[CountRow]) -> Fit {
    let mut sorted: Vec<(&CountRow, f64)> =
        rows.iter().enumerate().map(|(row, count)| (count, record.ratio(row))).collect();
    sorted.sort_by(|one, other| one.0.spend.total_cmp(&other.0.spend));
    let recorded = record.successes();
    let dispersion = dispersion(&sorted, |spend| recorded.value(spend), recorded.at().len());
    let (mut total, mut expected, mut largest) = (0.0_f64, 0.0, 0.0_f64);
    for same in sorted.chunk_by(|one, other| one.0.spend == other.0.spend) {
        // The volumes of these rounds, in multiples of the usual one.
        let ratios: f64 = same.iter().map(|(_, ratio)| ratio).sum();
        let mean = task.volume() * task.curve().success(same[0].0.spend) * ratios;
        total += same.iter().map(|(row, _)| row.completions as f64).sum::<f64>() - mean;
        expected += mean;
        largest = largest.max(total.abs());
    }
    let p_value = match (largest > 0.0, expected > 0.0) {
        (false, _) => 1.0,
        (true, true) => motion_beyond(largest / (dispersion * expected).sqrt()),
        (true, false) => 0.0,
    };
    let all = expected.max(1.0);
    Fit { distance: largest / all, p_value }
}

/// The variance of the counts as a multiple of their means, at least 1.
fn dispersion(rows: &[(&CountRow, f64)], mean: impl Fn(f64) -> f64, levels: usize) -> f64 {
    let pearson = |(row, ratio): &(&CountRow, f64)| {
        let mean = ratio * mean(row.spend);
        if mean > 0.0 { (row.completions as f64 - mean).powi(2) / mean } else { 0.0 }
    };
    let freedom = rows.len().saturating_sub(levels).max(1) as f64;
    (rows.iter().map(pearson).sum::<f64>() / freedom).max(1.0)
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

    #[test]
    fn without_censored_rows_the_estimates_agree() {
        let thresholds = [3.0, 1.0, 1.0, 7.0, 4.0, 9.0];
        let exact: Vec<ThresholdRow> =
            thresholds.iter().map(|&threshold| ThresholdRow { threshold, reward: 0.5 }).collect();
        let censored = |is_censored: bool| -> Vec<CensoredRow> {
            let row = |&threshold: &f64| CensoredRow { threshold, is_censored, reward: Some(0.5) };
            thresholds.iter().map(row).collect()
        };
        let line = Curve::saturating(10.0).unwrap();
        let (one, other) =
            (fit_of_thresholds(&line, &exact), fit_of_censored(&line, &censored(false)));
        assert!((one.distance - other.distance).abs() < 1e-12, "{one:?} {other:?}");
        assert!((one.p_value - other.p_value).abs() < 1e-9, "{one:?} {other:?}");
        // If nothing succeeded, the estimate is zero everywhere.
        let nothing = fit_of_censored(&line, &censored(true));
        assert!((nothing.distance - 0.9).abs() < 1e-9, "{nothing:?}");
    }
}
