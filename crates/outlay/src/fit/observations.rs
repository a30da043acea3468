//! Logs of spends and successes, grouped by spend.

use super::FitError;

/// All rows of one spend.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Group {
    /// The spend of each trial.
    pub spend: f64,
    /// The number of trials. It is an integer in a log and any number after resampling.
    pub trials: f64,
    /// The number of successes.
    pub successes: f64,
}

impl Group {
    /// The number of failures.
    #[must_use]
    pub fn failures(&self) -> f64 {
        self.trials - self.successes
    }
}

/// A log of one task. The order of its rows does not matter.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Observations {
    groups: Vec<Group>,
}

impl Observations {
    /// From rows of spend, trials and successes.
    ///
    /// # Errors
    /// If a spend is negative or not finite, or successes are not between 0 and the trials.
    pub fn new(rows: impl IntoIterator<Item = (f64, f64, f64)>) -> Result<Self, FitError> {
        let mut groups = Vec::new();
        for (row, (spend, trials, successes)) in rows.into_iter().enumerate() {
            if !(spend >= 0.0 && spend.is_finite()) {
                return Err(FitError::Amount { row, amount: spend });
            }
            if !(successes >= 0.0 && successes <= trials && trials.is_finite()) {
                return Err(FitError::Successes { row, trials, successes });
            }
            // Adding zero turns -0 into 0.
            groups.push(Group { spend: spend + 0.0, trials, successes });
        }
        Ok(Self::joined(groups))
    }

    /// From rows of a spend and whether it succeeded.
    ///
    /// # Errors
    /// If a spend is negative or not finite.
    pub fn of_outcomes(rows: impl IntoIterator<Item = (f64, bool)>) -> Result<Self, FitError> {
        Self::new(
            rows.into_iter().map(|(spend, success)| (spend, 1.0, f64::from(u8::from(success)))),
        )
    }

    /// Sorts and merges; sums of integers do not depend on the order.
    fn joined(mut groups: Vec<Group>) -> Self {
        groups.retain(|group| group.trials > 0.0);
        groups.sort_unstable_by(|one, other| one.spend.total_cmp(&other.spend));
        groups.dedup_by(|next, kept| {
            let same = next.spend == kept.spend;
            if same {
                kept.trials += next.trials;
                kept.successes += next.successes;
            }
            same
        });
        Self { groups }
    }

    /// From sorted groups, without those that have no trials.
    pub(super) fn of_sorted(groups: impl IntoIterator<Item = Group>) -> Self {
        Self { groups: groups.into_iter().filter(|group| group.trials > 0.0).collect() }
    }

    /// One group per spend, by increasing spend; each has trials.
    #[must_use]
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// Whether the log has no trials.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// The number of trials.
    #[must_use]
    pub fn trials(&self) -> f64 {
        self.groups.iter().map(|group| group.trials).sum()
    }

    /// The number of successes.
    #[must_use]
    pub fn successes(&self) -> f64 {
        self.groups.iter().map(|group| group.successes).sum()
    }

    /// The smallest and the largest spend.
    #[must_use]
    pub fn range(&self) -> Option<(f64, f64)> {
        Some((self.groups.first()?.spend, self.groups.last()?.spend))
    }

    /// The same log with at most about `most` groups: neighbours are merged at their mean spend.
    ///
    /// Half of the limits between groups are evenly spaced in the logarithm of the spend, half give
    /// groups of equal size, so that neither a long tail nor a dense region is blurred.
    pub(super) fn pooled(&self, most: usize) -> Self {
        let (Some((_, largest)), true) = (self.range(), self.groups.len() > most) else {
            return self.clone();
        };
        let least = self
            .groups
            .iter()
            .map(|group| group.spend)
            .find(|&spend| spend > 0.0)
            .unwrap_or(largest);
        let half = (most / 2).max(1) as f64;
        let (span, total) = ((largest / least).ln().max(f64::MIN_POSITIVE), self.trials());
        // No curve may be certain at the last failure, so its spend is not merged.
        let last_failure = self
            .groups
            .iter()
            .rev()
            .find(|group| group.failures() > 0.0)
            .map_or(0.0, |group| group.spend);
        let mut groups: Vec<Group> = Vec::with_capacity(most);
        let (mut last, mut seen) = (None, 0.0);
        for group in &self.groups {
            let by_spend = if group.spend > 0.0 {
                ((group.spend / least).ln() / span * half) as usize + 1
            } else {
                0
            };
            let key =
                (by_spend, (seen / total * half) as usize, group.spend.total_cmp(&last_failure));
            seen += group.trials;
            match groups.last_mut() {
                Some(kept) if last == Some(key) => {
                    let trials = kept.trials + group.trials;
                    kept.spend += (group.spend - kept.spend) * (group.trials / trials);
                    kept.trials = trials;
                    kept.successes += group.successes;
                }
                _ => groups.push(*group),
            }
            last = Some(key);
        }
        Self { groups }
    }

    /// The same log with spends as multiples of `unit`, rounded to about twelve digits: rounding
    /// errors, which differ between currencies, must not decide where a search in a flat likelihood
    /// ends.
    pub(super) fn in_units_of(&self, unit: f64) -> Self {
        const HALF: u64 = 1 << 11;
        let rounded = |number: f64| f64::from_bits((number.to_bits() + HALF) & !(2 * HALF - 1));
        Self {
            groups: self
                .groups
                .iter()
                .map(|group| Group { spend: rounded(group.spend / unit), ..*group })
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_equal_spend_are_merged_in_any_order() {
        let one = Observations::of_outcomes([
            (2.0, true),
            (1.0, false),
            (2.0, false),
            (0.0, false),
            (-0.0, true),
        ])
        .unwrap();
        let other =
            Observations::new([(0.0, 2.0, 1.0), (1.0, 1.0, 0.0), (2.0, 2.0, 1.0), (3.0, 0.0, 0.0)])
                .unwrap();
        assert_eq!(one, other);
        assert_eq!((one.trials(), one.successes(), one.range()), (5.0, 2.0, Some((0.0, 2.0))));
    }

    #[test]
    fn invalid_rows_are_rejected() {
        for row in [
            (-1.0, 1.0, 0.0),
            (f64::NAN, 1.0, 0.0),
            (f64::INFINITY, 1.0, 0.0),
            (1.0, 1.0, 2.0),
            (1.0, f64::NAN, 0.0),
            (1.0, 1.0, -1.0),
        ] {
            assert!(Observations::new([row]).is_err(), "{row:?}");
        }
    }

    #[test]
    fn pooling_keeps_every_trial_and_the_mean_spend() {
        let rows = (0..50_000).map(|row| (f64::from(row) * f64::from(row), row % 3 == 0));
        let whole = Observations::of_outcomes(rows).unwrap();
        let pooled = whole.pooled(1000);
        assert!(
            pooled.groups().len() <= 1002 && pooled.groups().len() > 500,
            "{}",
            pooled.groups().len()
        );
        assert_eq!((pooled.trials(), pooled.successes()), (whole.trials(), whole.successes()));
        let total = |log: &Observations| {
            log.groups().iter().map(|group| group.spend * group.trials).sum::<f64>()
        };
        assert!((total(&pooled) / total(&whole) - 1.0).abs() < 1e-12);
        assert!(pooled.groups().windows(2).all(|pair| pair[0].spend < pair[1].spend));
    }
}
