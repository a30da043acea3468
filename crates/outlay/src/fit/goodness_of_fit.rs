//! Goodness of fit: bins with intervals, calibration, and a test for success that decreases with
//! the spend.

use statrs::distribution::{ChiSquared, ContinuousCDF};

use super::observations::{Group, Observations};
use crate::Curve;

/// Rows of neighbouring spends, for charts and for calibration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bin {
    /// The smallest spend in the bin.
    pub from: f64,
    /// The largest spend in the bin.
    pub to: f64,
    /// The mean spend.
    pub spend: f64,
    /// The number of trials.
    pub trials: f64,
    /// The number of successes.
    pub successes: f64,
}

impl Bin {
    /// The share of successes.
    #[must_use]
    pub fn share(&self) -> f64 {
        self.successes / self.trials
    }

    /// The 95 % interval of the share (Wilson).
    #[must_use]
    pub fn interval(&self) -> (f64, f64) {
        wilson(self.trials, self.successes)
    }
}

/// Wilson's 95 % interval of a probability.
pub(super) fn wilson(trials: f64, successes: f64) -> (f64, f64) {
    const NORMAL: f64 = 1.959_963_984_540_054;
    if !(trials > 0.0) {
        return (0.0, 1.0);
    }
    let (share, square) = (successes / trials, NORMAL * NORMAL / trials);
    let middle = (share + 0.5 * square) / (1.0 + square);
    let half = NORMAL * ((share * (1.0 - share) + 0.25 * square) / trials).sqrt() / (1.0 + square);
    let low = if successes <= 0.0 { 0.0 } else { (middle - half).max(0.0) };
    let high = if successes >= trials { 1.0 } else { (middle + half).min(1.0) };
    (low, high)
}

/// At most `most` bins of about equally many trials, by increasing spend.
#[must_use]
pub fn bins(log: &Observations, most: usize) -> Vec<Bin> {
    let total = log.trials();
    let mut bins: Vec<Bin> = Vec::new();
    let (mut seen, mut last) = (0.0, None);
    for group in log.groups() {
        // By the middle of the group, so that a large group has its own bin.
        let key = ((seen + 0.5 * group.trials) / total * most as f64) as usize;
        seen += group.trials;
        match bins.last_mut() {
            Some(bin) if last == Some(key) => {
                let trials = bin.trials + group.trials;
                bin.spend += (group.spend - bin.spend) * (group.trials / trials);
                (bin.to, bin.trials, bin.successes) =
                    (group.spend, trials, bin.successes + group.successes);
            }
            _ => bins.push(Bin {
                from: group.spend,
                to: group.spend,
                spend: group.spend,
                trials: group.trials,
                successes: group.successes,
            }),
        }
        last = Some(key);
    }
    bins
}

/// The p-value of the Hosmer–Lemeshow test over ten bins of spend. A small value means that the
/// curve does not describe the log. `None` if there are too few bins for the parameters.
#[must_use]
pub fn calibration(log: &Observations, curve: &Curve, parameters: usize) -> Option<f64> {
    const BINS: usize = 10;
    const LEAST_EXPECTED: f64 = 1.0;
    let bins = bins(log, BINS);
    let (mut distance, mut count) = (0.0, 0_usize);
    for bin in &bins {
        let inside = inside(log.groups(), bin);
        let expected: f64 =
            inside.iter().map(|group| group.trials * curve.success(group.spend)).sum();
        let variance: f64 = inside
            .iter()
            .map(|group| {
                group.trials * curve.success(group.spend) * (1.0 - curve.success(group.spend))
            })
            .sum();
        if expected.min(bin.trials - expected) < LEAST_EXPECTED {
            // In nearly certain bins the normal approximation fails, so only impossible counts
            // matter.
            if (bin.successes - expected).abs() > 4.0 * (variance.sqrt() + LEAST_EXPECTED) {
                return Some(0.0);
            }
            continue;
        }
        distance += (bin.successes - expected).powi(2) / variance;
        count += 1;
    }
    let freedom = count.checked_sub(parameters).filter(|&freedom| freedom > 0)?;
    Some(1.0 - ChiSquared::new(freedom as f64).ok()?.cdf(distance))
}

fn inside<'a>(groups: &'a [Group], bin: &Bin) -> &'a [Group] {
    let start = groups.partition_point(|group| group.spend < bin.from);
    let end = groups.partition_point(|group| group.spend <= bin.to);
    &groups[start..end]
}

/// The spends of the two bins between which success decreases most, if the decrease is significant.
pub(super) fn decrease(log: &Observations) -> Option<(f64, f64)> {
    const BINS: usize = 10;
    // One in a thousand logs of a flat curve has such a pair: 45 pairs, one side each.
    const BEYOND_CHANCE: f64 = 4.1;
    let bins = bins(log, BINS);
    let mut worst = (BEYOND_CHANCE, None);
    for (position, before) in bins.iter().enumerate() {
        for after in &bins[position + 1..] {
            let share = (before.successes + after.successes) / (before.trials + after.trials);
            let error = (share * (1.0 - share) * (1.0 / before.trials + 1.0 / after.trials)).sqrt();
            let distance = (before.share() - after.share()) / error;
            if distance > worst.0 {
                worst = (distance, Some((before.spend, after.spend)));
            }
        }
    }
    worst.1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wilson_matches_the_textbook() {
        let (low, high) = wilson(10.0, 3.0);
        assert!((low - 0.107_8).abs() < 5e-5 && (high - 0.603_2).abs() < 5e-5, "{low} {high}");
        assert_eq!(wilson(5.0, 0.0).0, 0.0);
        assert_eq!(wilson(5.0, 5.0).1, 1.0);
        assert_eq!(wilson(0.0, 0.0), (0.0, 1.0));
    }

    #[test]
    fn bins_hold_every_trial() {
        let log =
            Observations::of_outcomes((0..1003).map(|row| (f64::from(row % 401), row % 2 == 0)))
                .unwrap();
        let bins = bins(&log, 10);
        assert_eq!(bins.len(), 10);
        assert_eq!(bins.iter().map(|bin| bin.trials).sum::<f64>(), 1003.0);
        assert!(bins.windows(2).all(|pair| pair[0].to < pair[1].from));
    }

    #[test]
    fn only_a_significant_decrease_is_reported() {
        let log = |shares: [f64; 3]| {
            Observations::new(
                [0, 1, 2].map(|bin| (bin as f64, 1000.0, (1000.0 * shares[bin]).round())),
            )
            .unwrap()
        };
        assert_eq!(decrease(&log([0.2, 0.6, 0.4])), Some((1.0, 2.0)));
        assert_eq!(decrease(&log([0.2, 0.41, 0.4])), None);
    }
}
