//! How much of the allocated budget a task really spent.

/// A round delivers less than it was allocated if its spend is below this share.
const FULL_DELIVERY: f64 = 0.9;
/// The number of last rounds that decide whether a `max` is proposed.
const LAST_ROUNDS: usize = 10;

/// The reported spend of a task against its allocated spend.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Delivery {
    /// The number of rounds in which a spend was reported.
    pub rounds: u64,
    /// The allocated spend of these rounds.
    pub allocated: f64,
    /// The reported spend of these rounds.
    pub spent: f64,
    /// A `max` to consider: the largest spend of the last ten of these rounds, if at least half of
    /// them spent less than 90 % of their allocation. It is never set automatically.
    pub proposed_max: Option<f64>,
}

impl Delivery {
    /// From the allocated and the reported spend of each round, in the order of the rounds; `None`
    /// if there is no such round.
    pub(super) fn new(rounds: impl Iterator<Item = (f64, f64)>) -> Option<Self> {
        let rounds: Vec<(f64, f64)> = rounds.collect();
        if rounds.is_empty() {
            return None;
        }
        let last = &rounds[rounds.len().saturating_sub(LAST_ROUNDS)..];
        let is_short = |(allocated, spent): &&(f64, f64)| *spent < FULL_DELIVERY * allocated;
        let short = last.iter().filter(is_short).count();
        let is_limited = last.len() == LAST_ROUNDS && 2 * short >= last.len();
        let largest = last.iter().map(|(_, spent)| *spent).fold(0.0, f64::max);
        Some(Self {
            rounds: rounds.len() as u64,
            allocated: rounds.iter().map(|(allocated, _)| allocated).sum(),
            spent: rounds.iter().map(|(_, spent)| spent).sum(),
            proposed_max: is_limited.then_some(largest),
        })
    }

    /// The spent share of the allocation; `None` if nothing was allocated.
    #[must_use]
    pub fn share(&self) -> Option<f64> {
        (self.allocated > 0.0).then(|| self.spent / self.allocated)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delivery(rounds: &[(f64, f64)]) -> Option<Delivery> {
        Delivery::new(rounds.iter().copied())
    }

    #[test]
    fn a_limit_is_proposed_after_ten_rounds_of_which_half_fall_short() {
        assert_eq!(delivery(&[]), None);
        assert_eq!(delivery(&[(10.0, 4.0); 9]).unwrap().proposed_max, None);
        let mut rounds = [[(10.0, 4.0); 5], [(10.0, 9.0); 5]].concat();
        let found = delivery(&rounds).unwrap();
        assert_eq!((found.rounds, found.share()), (10, Some(0.65)));
        assert_eq!(found.proposed_max, Some(9.0));
        rounds[0].1 = 10.0;
        assert_eq!(delivery(&rounds).unwrap().proposed_max, None);
        // Only the last ten rounds decide.
        rounds.splice(0..0, [(10.0, 1.0); 20]);
        assert_eq!(delivery(&rounds).unwrap().proposed_max, None);
    }
}
