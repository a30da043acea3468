//! Rank tests: correlation of two columns, and a change along the rows of a column. P-values come
//! from permutations with a fixed seed for few rows, and from limit distributions for many.

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::random::{Draws, ManyBits, Purpose};

/// Up to this number of rows, p-values come from permutations.
const FEW: usize = 50;
/// The number of permutations.
const PERMUTATIONS: u32 = 9_999;
/// The fixed seed of the permutations.
const SEED: u64 = 1;
/// Statistics closer than this count as equal.
const ROUNDING: f64 = 1e-9;

/// Ranks from 1 on; ties get their mean rank.
#[must_use]
pub fn ranks(numbers: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..numbers.len()).collect();
    order.sort_by(|&one, &other| numbers[one].total_cmp(&numbers[other]));
    let mut ranks = vec![0.0; numbers.len()];
    let mut start = 0;
    for same in order.chunk_by(|&one, &other| numbers[one] == numbers[other]) {
        let rank = start as f64 + 0.5 * (same.len() as f64 + 1.0);
        same.iter().for_each(|&place| ranks[place] = rank);
        start += same.len();
    }
    ranks
}

/// Deviations from the mean, scaled so that their squares sum to 1; `None` if all are equal.
fn standardised(ranks: &[f64]) -> Option<Vec<f64>> {
    let mean = ranks.iter().sum::<f64>() / ranks.len() as f64;
    let squares: f64 = ranks.iter().map(|rank| (rank - mean).powi(2)).sum();
    (ranks.len() > 2 && squares > 0.0)
        .then(|| ranks.iter().map(|rank| (rank - mean) / squares.sqrt()).collect())
}

fn product(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

/// Spearman's rank correlation of two columns, and its two-sided p-value under independence. `None`
/// with fewer than three rows or a constant column.
#[must_use]
pub fn rank_correlation(one: &[f64], other: &[f64]) -> Option<(f64, f64)> {
    let (one, other) = (standardised(&ranks(one))?, standardised(&ranks(other))?);
    let correlation = product(&one, &other).clamp(-1.0, 1.0);
    let p_value = if one.len() <= FEW {
        permuted(other, correlation.abs(), |other| product(&one, other).abs())
    } else {
        let freedom = one.len() as f64 - 2.0;
        let student = correlation.abs() * (freedom / (1.0 - correlation * correlation)).sqrt();
        StudentsT::new(0.0, 1.0, freedom).map_or(1.0, |law| 2.0 * law.cdf(-student))
    };
    Some((correlation, p_value))
}

/// The number of rows before the largest change of a column, and its p-value if the order of the
/// rows does not matter. The statistic is the largest deviation of the cumulative sum of ranks
/// (CUSUM; Pettitt's test, with ties). `None` with fewer than three rows or a constant column.
#[must_use]
pub fn change(numbers: &[f64]) -> Option<(usize, f64)> {
    let ranks = standardised(&ranks(numbers))?;
    let (after, largest) = largest_sum(&ranks);
    let count = ranks.len() as f64;
    let p_value = if ranks.len() <= FEW {
        permuted(ranks, largest, |ranks| largest_sum(ranks).1)
    } else {
        // A Brownian bridge observed at discrete rows, with Siegmund's correction of 0.5826 steps.
        let bridge = largest * ((count - 1.0) / count).sqrt() + 0.5826 / count.sqrt();
        kolmogorov(bridge)
    };
    Some((after, p_value))
}

/// The largest absolute partial sum and its length.
fn largest_sum(numbers: &[f64]) -> (usize, f64) {
    let (mut total, mut after, mut largest) = (0.0f64, 0, 0.0);
    for (place, number) in numbers.iter().enumerate() {
        total += number;
        if total.abs() > largest {
            (after, largest) = (place + 1, total.abs());
        }
    }
    (after, largest)
}

/// The p-value of a statistic by permutation. The observed order counts as one permutation.
fn permuted(mut numbers: Vec<f64>, seen: f64, statistic: impl Fn(&[f64]) -> f64) -> f64 {
    let mut bits = Draws::new(SEED, Purpose::Permutation).round(1).many(0);
    let mut as_large = 1;
    for _ in 0..PERMUTATIONS {
        shuffle(&mut numbers, &mut bits);
        as_large += u32::from(statistic(&numbers) >= seen - ROUNDING);
    }
    f64::from(as_large) / f64::from(PERMUTATIONS + 1)
}

/// Shuffles the numbers.
pub(super) fn shuffle(numbers: &mut [f64], bits: &mut ManyBits) {
    for last in (1..numbers.len()).rev() {
        // The upper half of a product with 64 bits: below `last + 1`, even to one part in 2⁵⁸ for
        // few rows.
        let place = (u128::from(bits.next_bits()) * (last as u128 + 1)) >> 64;
        numbers.swap(last, place as usize);
    }
}

/// The probability that the absolute value of a Brownian bridge exceeds this: Kolmogorov's
/// distribution.
#[must_use]
pub fn kolmogorov(beyond: f64) -> f64 {
    // Below this the probability is 1 to twelve digits, and the series converges too slowly.
    if !(beyond > 0.2) {
        return 1.0;
    }
    let term = |k: i32| {
        (if k % 2 == 1 { 2.0 } else { -2.0 }) * (-2.0 * f64::from(k * k) * beyond * beyond).exp()
    };
    (1..=60).map(term).sum::<f64>().clamp(0.0, 1.0)
}

/// The probability that the absolute value of a Brownian motion exceeds this within one unit of
/// time.
#[must_use]
pub fn motion_beyond(beyond: f64) -> f64 {
    if !(beyond > 0.0) {
        return 1.0;
    }
    let square = std::f64::consts::PI.powi(2) / (8.0 * beyond * beyond);
    let term = |k: i32| {
        (if k % 2 == 0 { 1.0 } else { -1.0 }) / f64::from(2 * k + 1)
            * (-f64::from((2 * k + 1).pow(2)) * square).exp()
    };
    (1.0 - 4.0 / std::f64::consts::PI * (0..200).map(term).sum::<f64>()).clamp(0.0, 1.0)
}

/// Holm's adjusted p-values, which control the family-wise error rate.
#[must_use]
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&one, &other| p_values[one].total_cmp(&p_values[other]));
    let mut adjusted = vec![1.0; p_values.len()];
    let mut least = 0.0f64;
    for (place, &question) in order.iter().enumerate() {
        least = least.max(((p_values.len() - place) as f64 * p_values[question]).min(1.0));
        adjusted[question] = least;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_numbers_share_a_rank() {
        assert_eq!(ranks(&[3.0, 1.0, 3.0, 2.0]), [3.5, 1.0, 3.5, 2.0]);
        assert!(ranks(&[]).is_empty());
    }

    #[test]
    fn correlations_by_hand() {
        let (correlation, p_value) =
            rank_correlation(&[1.0, 2.0, 3.0, 4.0], &[1.0, 4.0, 9.0, 16.0]).unwrap();
        assert!((correlation - 1.0).abs() < 1e-12);
        // 2 of the 24 permutations are as extreme.
        assert!((p_value - 2.0 / 24.0).abs() < 0.01, "{p_value}");
        // 1 - 6 Σd² / n(n² - 1) with d = 1, 1, 0, 0, 0: 1 - 12/120.
        let (correlation, _) =
            rank_correlation(&[1.0, 2.0, 3.0, 4.0, 5.0], &[2.0, 1.0, 3.0, 4.0, 5.0]).unwrap();
        assert!((correlation - 0.9).abs() < 1e-12);
        assert_eq!(rank_correlation(&[1.0, 2.0, 3.0], &[5.0, 5.0, 5.0]), None);
        assert_eq!(rank_correlation(&[1.0, 2.0], &[1.0, 2.0]), None);
    }

    #[test]
    fn a_change_is_found_where_it_is() {
        let numbers: Vec<f64> =
            (0..40).map(|row| f64::from(row % 7) + if row < 25 { 0.0 } else { 10.0 }).collect();
        let (after, p_value) = change(&numbers).unwrap();
        assert_eq!(after, 25);
        assert!(p_value < 0.001, "{p_value}");
        assert_eq!(change(&[1.0; 9]), None);
    }

    #[test]
    fn laws_agree_with_tables() {
        // Kolmogorov's 5 % and 1 % points; those of |W|: 2.2414 and 2.8070.
        for (point, chance) in [(1.3581, 0.05), (1.6276, 0.01)] {
            assert!((kolmogorov(point) - chance).abs() < 1e-4);
        }
        for (point, chance) in [(2.2414, 0.05), (2.8070, 0.01)] {
            assert!((motion_beyond(point) - chance).abs() < 1e-4, "{}", motion_beyond(point));
        }
        assert_eq!((kolmogorov(0.0), kolmogorov(f64::NAN), motion_beyond(0.0)), (1.0, 1.0, 1.0));
    }

    #[test]
    fn holm_by_hand() {
        let adjusted = holm(&[0.01, 0.04, 0.03]);
        let expected = [0.03, 0.06, 0.06];
        assert!(
            adjusted.iter().zip(expected).all(|(one, other)| (one - other).abs() < 1e-12),
            "{adjusted:?}"
        );
        assert!(holm(&[]).is_empty());
    }

    /// Under the null hypothesis, permutations for few rows and limit distributions for many reject
    /// at their level.
    #[test]
    fn tests_keep_their_level() {
        for count in [12, 50, 51, 200] {
            let (mut dependent, mut changed) = (0, 0);
            const SEEDS: u64 = 400;
            for seed in 0..SEEDS {
                let column = |purpose| {
                    let draws = Draws::new(seed, purpose);
                    // Some ties.
                    (1..=count)
                        .map(|row| (30.0 * draws.round(row).uniform(0)).floor())
                        .collect::<Vec<f64>>()
                };
                let (one, other) = (column(Purpose::Record), column(Purpose::Reward));
                dependent += u64::from(rank_correlation(&one, &other).unwrap().1 <= 0.05);
                changed += u64::from(change(&one).unwrap().1 <= 0.05);
            }
            // 5 % of 400 is 20; 8 to 36 is within about four standard deviations.
            assert!((8..=36).contains(&dependent), "{count} rows: dependent {dependent}");
            assert!((8..=36).contains(&changed), "{count} rows: changed {changed}");
        }
    }
}
