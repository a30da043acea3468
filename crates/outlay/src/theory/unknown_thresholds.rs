//! Appendix A as a game: without known curves the regret can be linear.
//!
//! Two tasks have thresholds b and 1 − b and rewards of 1. The allocation (b, 1 − b) completes both
//! tasks, which gains 2 per round. Any other allocation completes exactly one. So a round with x ≠
//! b costs exactly 1, and its outcome shows only on which side of x the threshold lies: at most one
//! binary digit of b. If b has more digits than there are rounds, the regret is T, the largest
//! possible.
//!
//! Floating point cannot show this. It has 53 digits, so a threshold that is a float is found by
//! about fifty bisections and the regret stops there. Here allocations and threshold are exact
//! binary fractions ([`Dyadic`]), and the regret is a number of rounds.

use std::cmp::Ordering;

use super::dyadic::Dyadic;
use crate::names::names;
use crate::random::{Draws, Purpose};

/// The number of digits of the threshold in excess of the rounds: more than the longest guess of
/// [`ThresholdStrategy::Random`].
const SPARE_BITS: u64 = 128;

/// A strategy for finding the threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThresholdStrategy {
    /// Exact bisection, which learns the most from each round.
    Bisection,
    /// Bisection in floating point, which ends at its precision.
    FloatBisection,
    /// The even allocation in every round.
    Even,
    /// A random split of 64 digits each round.
    Random,
}

names!(
    ThresholdStrategy,
    "strategy",
    Bisection = "bisection",
    FloatBisection = "float-bisection",
    Even = "even",
    Random = "random",
);

/// The result of a game.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownThresholds {
    /// The number of rounds in which only one task completed, which is the exact regret.
    pub regret: u64,
    /// The round in which both tasks completed for the first time.
    pub found: Option<u64>,
    /// After each round until then: the threshold lies in a known interval of width at most 2^-n,
    /// for this n.
    pub width_bits: Vec<u64>,
    /// The number of digits of the threshold.
    pub bits: u64,
}

/// Appendix A with unknown curves: two tasks with thresholds b and 1 − b and rewards of 1, where b
/// has more digits than the rounds can reveal. Only the split at b completes both tasks; any other
/// completes one and shows on which side b lies. So the regret is one per round, whatever is
/// played.
///
/// All numbers are exact. With floats the threshold would be found after about fifty bisections,
/// and the regret would stop. Exact bisection takes time quadratic in the rounds.
///
/// ```
/// use outlay::theory::{ThresholdStrategy, unknown_thresholds};
/// let game = unknown_thresholds(ThresholdStrategy::Bisection, 300, 1);
/// assert_eq!((game.regret, game.found), (300, None)); // everything is lost,
/// assert_eq!(game.width_bits.last(), Some(&300)); // although each round revealed a digit
/// ```
#[must_use]
pub fn unknown_thresholds(
    strategy: ThresholdStrategy,
    rounds: u64,
    seed: u64,
) -> UnknownThresholds {
    unknown_thresholds_of(strategy, rounds, rounds.saturating_add(SPARE_BITS), seed)
}

/// The same against a threshold of exactly `bits` digits, at least one.
#[must_use]
pub fn unknown_thresholds_of(
    strategy: ThresholdStrategy,
    rounds: u64,
    bits: u64,
    seed: u64,
) -> UnknownThresholds {
    let threshold = Threshold { draws: Draws::new(seed, Purpose::Instance), bits: bits.max(1) };
    let mut game =
        UnknownThresholds { regret: 0, found: None, width_bits: Vec::new(), bits: threshold.bits };
    let mut player = Player::new(strategy, seed);
    let (mut low, mut high) = (Dyadic::ZERO, Dyadic::ONE);
    for round in 1..=rounds {
        let play = player.play(round, &low, &high);
        let side = threshold.compared_with(&play);
        player.sees(side);
        match side {
            Ordering::Equal => {
                // The threshold is known, and the regret stops.
                game.found = Some(round);
                break;
            }
            Ordering::Greater => low = low.max(play),
            Ordering::Less => high = high.min(play),
        }
        game.regret += 1;
        game.width_bits.push(Dyadic::distance(&low, &high).halvings().unwrap_or(0));
    }
    game
}

/// The threshold of the first task, a binary fraction whose digits are drawn on demand. The last
/// digit is 1.
struct Threshold {
    draws: Draws,
    bits: u64,
}

impl Threshold {
    /// Digits `64 position` to `64 position + 63` after the point.
    fn word(&self, position: u64) -> u64 {
        let left = self.bits.saturating_sub(position.saturating_mul(64));
        let drawn = self.draws.round(position.saturating_add(1)).bits(0);
        match left {
            0 => 0,
            1..=64 => (drawn >> (64 - left) | 1) << (64 - left),
            _ => drawn,
        }
    }

    /// The outcome of a round: equal if both tasks completed; greater if only the second did, which
    /// got 1 − play.
    fn compared_with(&self, play: &Dyadic) -> Ordering {
        if *play == Dyadic::ONE {
            return Ordering::Less;
        }
        let words = play.bits().max(self.bits).div_ceil(64);
        let differing = (0..words)
            .map(|position| self.word(position).cmp(&play.word(position)))
            .find(|order| order.is_ne());
        differing.unwrap_or(Ordering::Equal)
    }
}

/// The state of a strategy beside the exact interval.
struct Player {
    strategy: ThresholdStrategy,
    draws: Draws,
    low: f64,
    high: f64,
}

impl Player {
    fn new(strategy: ThresholdStrategy, seed: u64) -> Self {
        Self { strategy, draws: Draws::new(seed, Purpose::Learner), low: 0.0, high: 1.0 }
    }

    /// The spend of the first task; the second gets the rest.
    fn play(&self, round: u64, low: &Dyadic, high: &Dyadic) -> Dyadic {
        match self.strategy {
            ThresholdStrategy::Bisection => Dyadic::middle(low, high),
            ThresholdStrategy::FloatBisection => Dyadic::from_f64(self.float_middle()),
            ThresholdStrategy::Even => Dyadic::from_words(vec![1 << 63]),
            ThresholdStrategy::Random => Dyadic::from_words(vec![self.draws.round(round).bits(0)]),
        }
    }

    fn float_middle(&self) -> f64 {
        0.5 * (self.low + self.high)
    }

    fn sees(&mut self, side: Ordering) {
        let middle = self.float_middle();
        match side {
            Ordering::Greater => self.low = middle,
            Ordering::Less => self.high = middle,
            Ordering::Equal => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Digits on demand are the digits of the number they belong to.
        #[test]
        fn a_threshold_is_the_number_of_its_digits(
            seed: u64,
            bits in 1..400_u64,
            words in prop::collection::vec(any::<u64>(), 0..8),
        ) {
            let threshold = Threshold { draws: Draws::new(seed, Purpose::Instance), bits };
            let word = |position| threshold.word(position);
            let whole = Dyadic::from_words((0..bits.div_ceil(64)).map(word).collect());
            prop_assert_eq!(whole.bits(), bits);
            prop_assert_eq!(threshold.compared_with(&whole), Ordering::Equal);
            for play in [Dyadic::from_words(words), Dyadic::ZERO, Dyadic::ONE] {
                prop_assert_eq!(threshold.compared_with(&play), whole.cmp(&play));
            }
        }
    }
}
