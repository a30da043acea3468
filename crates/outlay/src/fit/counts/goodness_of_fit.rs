//! Goodness of fit for counts: bins, calibration, and a test for counts that decrease with the
//! spend.

use statrs::distribution::{ChiSquared, ContinuousCDF};

use super::log::CountGroup;
use super::parametric::CountCurve;

const BINS: usize = 10;

/// At most `BINS` bins of about equally many rows: slices of the groups.
fn bins(groups: &[CountGroup]) -> Vec<&[CountGroup]> {
    let total: f64 = groups.iter().map(|group| group.rows).sum();
    let mut seen = 0.0;
    // By the middle of the group, so that a large group has its own bin.
    let keys: Vec<usize> = groups
        .iter()
        .map(|group| {
            let key = ((seen + 0.5 * group.rows) / total * BINS as f64) as usize;
            seen += group.rows;
            key
        })
        .collect();
    let mut start = 0;
    let parts = keys.chunk_by(|one, other| one == other).map(|keys| {
        let part = &groups[start..start + keys.len()];
        start += keys.len();
        part
    });
    parts.collect()
}

fn total(groups: &[CountGroup], number: impl Fn(&CountGroup) -> f64) -> f64 {
    groups.iter().map(number).sum()
}

/// The p-value of a chi-square test over ten bins of spend, with variances of `dispersion` times
/// the mean. `None` if there are too few bins for the parameters.
pub(super) fn calibration(
    groups: &[CountGroup],
    curve: &CountCurve,
    parameters: usize,
    dispersion: f64,
) -> Option<f64> {
    const LEAST_EXPECTED: f64 = 1.0;
    let (mut distance, mut count) = (0.0, 0_usize);
    for bin in bins(groups) {
        let expected = total(bin, |group| group.rows * curve.mean(group.spend));
        if expected >= LEAST_EXPECTED {
            let counted = total(bin, |group| group.count);
            distance += (counted - expected).powi(2) / (dispersion * expected);
            count += 1;
        }
    }
    let freedom = count.checked_sub(parameters).filter(|&freedom| freedom > 0)?;
    Some(1.0 - ChiSquared::new(freedom as f64).ok()?.cdf(distance))
}

/// The spends of the two bins between which the counts decrease most, if the decrease is
/// significant.
pub(super) fn decrease(groups: &[CountGroup], dispersion: f64) -> Option<(f64, f64)> {
    // One in a thousand logs of a flat curve has such a pair: 45 pairs, one side each.
    const BEYOND_CHANCE: f64 = 4.1;
    let summary = |bin: &&[CountGroup]| {
        let rows = total(bin, |group| group.rows);
        let spend = total(bin, |group| group.spend * group.rows) / rows;
        (spend, rows, total(bin, |group| group.count))
    };
    let bins: Vec<(f64, f64, f64)> = bins(groups).iter().map(summary).collect();
    let mut worst = (BEYOND_CHANCE, None);
    for (position, before) in bins.iter().enumerate() {
        for after in &bins[position + 1..] {
            let mean = (before.2 + after.2) / (before.1 + after.1);
            let error = (dispersion * mean * (1.0 / before.1 + 1.0 / after.1)).sqrt();
            let distance = (before.2 / before.1 - after.2 / after.1) / error;
            if distance > worst.0 {
                worst = (distance, Some((before.0, after.0)));
            }
        }
    }
    worst.1
}
