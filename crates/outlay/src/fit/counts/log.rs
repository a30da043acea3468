//! Logs of spends and counts, grouped by spend.

use crate::fit::FitError;

/// All rows of one spend.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CountGroup {
    /// The spend of each row.
    pub spend: f64,
    /// The number of rows.
    pub rows: f64,
    /// The sum of the counts.
    pub count: f64,
    /// The sum of the squared counts.
    pub squares: f64,
}

impl CountGroup {
    pub(super) fn empty(spend: f64) -> Self {
        Self { spend, rows: 0.0, count: 0.0, squares: 0.0 }
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.rows += other.rows;
        self.count += other.count;
        self.squares += other.squares;
    }

    /// The mean count of a row.
    pub(super) fn mean(&self) -> f64 {
        self.count / self.rows
    }

    /// The sum over the rows of `(slope * count + offset)` and of its square.
    pub(super) fn moments(&self, slope: f64, offset: f64) -> (f64, f64) {
        let sum = slope * self.count + offset * self.rows;
        let squares = slope * slope * self.squares
            + 2.0 * slope * offset * self.count
            + offset * offset * self.rows;
        (sum, squares)
    }
}

/// A log of one task with one row per round: a spend and the number of completions. The order of
/// its rows does not matter.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CountLog {
    /// Spends and counts, sorted.
    rows: Vec<(f64, f64)>,
    groups: Vec<CountGroup>,
}

impl CountLog {
    /// From rows of spend and count.
    ///
    /// # Errors
    /// If a spend or count is negative or not finite.
    pub fn new(rows: impl IntoIterator<Item = (f64, f64)>) -> Result<Self, FitError> {
        let mut sorted: Vec<(f64, f64)> = Vec::new();
        for (row, (spend, count)) in rows.into_iter().enumerate() {
            if !(spend >= 0.0 && spend.is_finite()) {
                return Err(FitError::Amount { row, amount: spend });
            }
            if !(count >= 0.0 && count.is_finite()) {
                return Err(FitError::Count { row, count });
            }
            // Adding zero turns -0 into 0.
            sorted.push((spend + 0.0, count + 0.0));
        }
        sorted.sort_unstable_by(|one, other| {
            one.0.total_cmp(&other.0).then(one.1.total_cmp(&other.1))
        });
        let mut groups: Vec<CountGroup> = Vec::new();
        for &(spend, count) in &sorted {
            if groups.last().is_none_or(|group| group.spend != spend) {
                groups.push(CountGroup::empty(spend));
            }
            let row = CountGroup { spend, rows: 1.0, count, squares: count * count };
            groups.iter_mut().last().into_iter().for_each(|group| group.add(&row));
        }
        Ok(Self { rows: sorted, groups })
    }

    /// One group per spend, by increasing spend.
    #[must_use]
    pub fn groups(&self) -> &[CountGroup] {
        &self.groups
    }

    /// Spends and counts, sorted.
    pub(super) fn sorted_rows(&self) -> &[(f64, f64)] {
        &self.rows
    }

    /// Whether the log has no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The number of rows.
    #[must_use]
    pub fn rows(&self) -> f64 {
        self.rows.len() as f64
    }

    /// The sum of the counts.
    #[must_use]
    pub fn count(&self) -> f64 {
        self.groups.iter().map(|group| group.count).sum()
    }

    /// The mean spend of a row; `None` without rows.
    #[must_use]
    pub fn mean_spend(&self) -> Option<f64> {
        let total: f64 = self.groups.iter().map(|group| group.spend * group.rows).sum();
        (!self.is_empty()).then(|| total / self.rows())
    }

    /// The smallest and the largest spend.
    #[must_use]
    pub fn range(&self) -> Option<(f64, f64)> {
        Some((self.groups.first()?.spend, self.groups.last()?.spend))
    }
}

/// For each group the position of its pool, and the number of pools: at most about `most`.
///
/// Half of the limits between pools are evenly spaced in the logarithm of the spend, half give
/// pools of equal size, so that neither a long tail nor a dense region is blurred.
pub(super) fn pools(groups: &[CountGroup], most: usize) -> (Vec<usize>, usize) {
    let positive = || groups.iter().map(|group| group.spend).filter(|&spend| spend > 0.0);
    let (Some(least), Some(largest), true) =
        (positive().next(), positive().next_back(), groups.len() > most)
    else {
        return ((0..groups.len()).collect(), groups.len());
    };
    let half = (most / 2).max(1) as f64;
    let span = (largest / least).ln().max(f64::MIN_POSITIVE);
    let total: f64 = groups.iter().map(|group| group.rows).sum();
    let (mut last, mut seen, mut pool) = (None, 0.0, 0);
    let position = |group: &CountGroup| {
        let by_spend = match group.spend {
            0.0 => 0,
            spend => ((spend / least).ln() / span * half) as usize + 1,
        };
        let key = (by_spend, (seen / total * half) as usize);
        pool += usize::from(last.is_some_and(|last| last != key));
        (last, seen) = (Some(key), seen + group.rows);
        pool
    };
    let positions: Vec<usize> = groups.iter().map(position).collect();
    (positions, pool + 1)
}

/// The same rows in at most about `most` groups, each at the mean of its spends.
pub(super) fn pooled(groups: &[CountGroup], most: usize) -> Vec<CountGroup> {
    let (positions, count) = pools(groups, most);
    let mut pooled = vec![CountGroup::empty(0.0); count];
    for (group, &position) in groups.iter().zip(&positions) {
        let pool = &mut pooled[position];
        let rows = pool.rows + group.rows;
        pool.spend += (group.spend - pool.spend) * (group.rows / rows);
        pool.add(group);
    }
    pooled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_equal_spend_are_merged_in_any_order() {
        let one = CountLog::new([(2.0, 5.0), (-0.0, 0.0), (2.0, 1.0), (0.0, 3.0)]).unwrap();
        let other = CountLog::new([(0.0, 3.0), (2.0, 1.0), (2.0, 5.0), (0.0, 0.0)]).unwrap();
        assert_eq!(one, other);
        let group = |spend, count, squares| CountGroup { spend, rows: 2.0, count, squares };
        assert_eq!(one.groups(), [group(0.0, 3.0, 9.0), group(2.0, 6.0, 26.0)]);
        assert_eq!((one.rows(), one.count(), one.mean_spend()), (4.0, 9.0, Some(1.0)));
    }

    #[test]
    fn invalid_rows_are_rejected() {
        for row in [(-1.0, 1.0), (f64::NAN, 1.0), (1.0, -1.0), (1.0, f64::INFINITY)] {
            assert!(CountLog::new([row]).is_err(), "{row:?}");
        }
    }

    #[test]
    fn pooling_keeps_rows_counts_and_mean_spends() {
        let rows = (0..20_000).map(|row| (f64::from(row) * f64::from(row), f64::from(row % 7)));
        let log = CountLog::new(rows).unwrap();
        let pooled = pooled(log.groups(), 1000);
        assert!(pooled.len() <= 1002 && pooled.len() > 400, "{}", pooled.len());
        let sum = |groups: &[CountGroup], number: fn(&CountGroup) -> f64| {
            groups.iter().map(number).sum::<f64>()
        };
        let numbers: [fn(&CountGroup) -> f64; 3] =
            [|group| group.rows, |group| group.count, |group| group.squares];
        for number in numbers {
            assert_eq!(sum(&pooled, number), sum(log.groups(), number));
        }
        let spent = |group: &CountGroup| group.spend * group.rows;
        assert!((sum(&pooled, spent) / sum(log.groups(), spent) - 1.0).abs() < 1e-12);
        assert!(pooled.windows(2).all(|pair| pair[0].spend < pair[1].spend));
    }
}
