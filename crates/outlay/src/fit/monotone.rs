//! Isotonic regression: the maximum-likelihood nondecreasing curve.

use super::observations::{Group, Observations};
use super::{FitError, MAX_POINTS};
use crate::Curve;
use crate::numeric::isotonic::pool_adjacent_violators;

/// The levels of the isotonic regression, one group per level at the mean of its spends.
pub(super) fn levels(log: &Observations) -> Vec<Group> {
    // Levels of equal success are merged, too.
    let rises = |before: &Group, last: &Group| {
        before.successes * last.trials < last.successes * before.trials
    };
    let joined = |before: Group, last: Group| {
        let trials = before.trials + last.trials;
        let spend = before.spend + (last.spend - before.spend) * (last.trials / trials);
        Group { spend, trials, successes: before.successes + last.successes }
    };
    pool_adjacent_violators(log.groups().iter().copied(), rises, joined)
}

/// The curve that is linear between the levels' mean spends. Success at zero spend is zero unless
/// the log has trials there.
pub(super) fn curve(log: &Observations) -> Result<Curve, FitError> {
    let mut levels = levels(log);
    if levels.len() > MAX_POINTS {
        levels = self::levels(&log.pooled(MAX_POINTS));
    }
    let (mut spend, mut success) =
        (Vec::with_capacity(levels.len() + 1), Vec::with_capacity(levels.len() + 1));
    let at_zero = log.groups().first().filter(|group| group.spend == 0.0);
    if levels.first().is_some_and(|level| level.spend > 0.0) {
        // Trials at zero spend belong to the first level if success decreased after it.
        let height = at_zero.map_or(0.0, |_| levels[0].successes / levels[0].trials);
        spend.push(0.0);
        success.push(height);
    }
    for level in &levels {
        spend.push(level.spend);
        success.push(
            (level.successes / level.trials).clamp(success.last().copied().unwrap_or(0.0), 1.0),
        );
    }
    Ok(Curve::piecewise(spend, success)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Draws, Purpose};

    fn log(rows: &[(f64, f64, f64)]) -> Observations {
        Observations::new(rows.iter().copied()).unwrap()
    }

    #[test]
    fn decreasing_neighbours_are_merged() {
        let levels =
            levels(&log(&[(1.0, 10.0, 2.0), (2.0, 10.0, 6.0), (3.0, 10.0, 4.0), (4.0, 10.0, 9.0)]));
        let shares: Vec<f64> = levels.iter().map(|level| level.successes / level.trials).collect();
        assert_eq!(shares, [0.2, 0.5, 0.9]);
        assert_eq!(levels[1].spend, 2.5);
    }

    /// The most likely nondecreasing levels over all partitions into consecutive groups.
    fn brute_force(log: &Observations) -> f64 {
        let groups = log.groups();
        let mut best = f64::NEG_INFINITY;
        for cuts in 0..1_u32 << (groups.len() - 1) {
            let mut blocks = vec![(0.0, 0.0)];
            for (position, group) in groups.iter().enumerate() {
                if position > 0 && cuts >> (position - 1) & 1 == 1 {
                    blocks.push((0.0, 0.0));
                }
                let last = blocks.last_mut().unwrap();
                *last = (last.0 + group.trials, last.1 + group.successes);
            }
            if blocks.windows(2).all(|pair| pair[0].1 / pair[0].0 <= pair[1].1 / pair[1].0) {
                best = best.max(
                    blocks.iter().map(|&(trials, successes)| likelihood(trials, successes)).sum(),
                );
            }
        }
        best
    }

    fn likelihood(trials: f64, successes: f64) -> f64 {
        let term = |count: f64| if count > 0.0 { count * (count / trials).ln() } else { 0.0 };
        term(successes) + term(trials - successes)
    }

    #[test]
    fn no_nondecreasing_curve_is_more_likely() {
        for seed in 0..200 {
            let draws = Draws::new(seed, Purpose::Instance).round(1);
            let rows: Vec<(f64, f64, f64)> = (0..9)
                .map(|row| {
                    let trials = 1.0 + (4.0 * draws.uniform(2 * row)).floor();
                    (row as f64, trials, (draws.uniform(2 * row + 1) * (trials + 1.0)).floor())
                })
                .collect();
            let log = log(&rows);
            let found: f64 =
                levels(&log).iter().map(|level| likelihood(level.trials, level.successes)).sum();
            assert!(
                (found - brute_force(&log)).abs() < 1e-9,
                "seed {seed}: {found} {}",
                brute_force(&log)
            );
        }
    }

    #[test]
    fn the_curve_starts_at_zero_unless_zero_was_tried() {
        assert_eq!(curve(&log(&[(2.0, 2.0, 1.0)])).unwrap().success(0.0), 0.0);
        assert_eq!(curve(&log(&[(0.0, 2.0, 1.0), (2.0, 2.0, 2.0)])).unwrap().success(0.0), 0.5);
        // Success decreased after zero: both are one level.
        assert_eq!(curve(&log(&[(0.0, 2.0, 2.0), (2.0, 2.0, 1.0)])).unwrap().success(0.0), 0.75);
    }
}
