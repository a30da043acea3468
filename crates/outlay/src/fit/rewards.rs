//! The mean reward of successes with its standard error.

/// The rewards of successes. A row of several trials holds the mean of its rewards and counts that
/// many times.
#[derive(Debug, Clone, Copy, Default)]
pub struct Rewards {
    rows: f64,
    first: f64,
    /// Sums over rows of its count and of its count times its distance from the first reward.
    count: f64,
    distance: f64,
    /// The same with squared counts, and with squared distances too: for the standard error.
    squares: [f64; 3],
    largest: f64,
}

impl Rewards {
    /// Adds a row with its number of successes and their mean reward.
    pub fn add(&mut self, count: f64, reward: f64) {
        if self.rows == 0.0 {
            self.first = reward;
        }
        let distance = reward - self.first;
        self.rows += 1.0;
        self.count += count;
        self.distance += count * distance;
        for (sum, power) in self.squares.iter_mut().zip([1.0, distance, distance * distance]) {
            *sum += count * count * power;
        }
        self.largest = self.largest.max(reward);
    }

    /// The mean reward of a success; `None` without successes.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0.0).then(|| (self.first + self.distance / self.count).max(0.0))
    }

    /// The sum of the rewards.
    #[must_use]
    pub fn total(&self) -> f64 {
        (self.first * self.count + self.distance).max(0.0)
    }

    /// The standard error of the mean over rows; `None` for a single row.
    #[must_use]
    pub fn error(&self) -> Option<f64> {
        let mean = self.distance / self.count;
        let [counts, linear, square] = self.squares;
        let spread = (square - 2.0 * mean * linear + mean * mean * counts).max(0.0);
        (self.rows > 1.0).then(|| (spread * self.rows / (self.rows - 1.0)).sqrt() / self.count)
    }

    /// The largest reward; zero without rewards.
    #[must_use]
    pub fn largest(&self) -> f64 {
        self.largest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rewards_have_mean_and_error() {
        let mut rewards = Rewards::default();
        for reward in [1.0, 2.0, 4.0, 5.0] {
            rewards.add(1.0, reward);
        }
        assert_eq!((rewards.mean(), rewards.largest()), (Some(3.0), 5.0));
        assert_eq!((rewards.total(), Rewards::default().total()), (12.0, 0.0));
        assert!((rewards.error().unwrap() - (10.0_f64 / 3.0 / 4.0).sqrt()).abs() < 1e-12);
        // The error comes from the differences between rows, not from the number of trials.
        let mut grouped = Rewards::default();
        grouped.add(30.0, 1.0);
        grouped.add(10.0, 3.0);
        assert_eq!(
            (grouped.mean(), grouped.error()),
            (Some(1.5), Some((2.0 * (15.0_f64 * 15.0 + 15.0 * 15.0)).sqrt() / 40.0))
        );
        assert_eq!((Rewards::default().mean(), Rewards::default().error()), (None, None));
    }
}
