//! The game of unknown thresholds.

use outlay::theory::{ThresholdStrategy, unknown_thresholds, unknown_thresholds_of};
use proptest::prelude::*;

const ROUNDS: u64 = 1000;

#[test]
fn every_player_loses_every_round() {
    for strategy in ThresholdStrategy::ALL {
        for seed in 1..=20 {
            let game = unknown_thresholds(strategy, ROUNDS, seed);
            assert_eq!((game.regret, game.found), (ROUNDS, None), "{strategy}, seed {seed}");
            assert!(game.bits > ROUNDS && game.width_bits.len() as u64 == ROUNDS);
        }
    }
}

#[test]
fn a_bisection_learns_one_digit_a_round() {
    let game = unknown_thresholds(ThresholdStrategy::Bisection, ROUNDS, 1);
    assert!(game.width_bits.iter().copied().eq(1..=ROUNDS));
}

#[test]
fn a_bisection_in_floats_stops() {
    for seed in 1..=20 {
        let game = unknown_thresholds(ThresholdStrategy::FloatBisection, ROUNDS, seed);
        let (early, late) = (game.width_bits[79], game.width_bits[999]);
        assert!(
            (50..=80).contains(&early) && early == late,
            "seed {seed}: {early} digits after 80 rounds, {late} at the end"
        );
    }
}

#[test]
fn no_player_learns_more_than_a_bisection() {
    for strategy in ThresholdStrategy::ALL {
        let game = unknown_thresholds(strategy, 200, 4);
        let exact = unknown_thresholds(ThresholdStrategy::Bisection, 200, 4);
        if strategy == ThresholdStrategy::Even {
            assert!(game.width_bits.iter().all(|bits| *bits == 1));
        }
        // A lucky guess may be ahead for a while, but not by the end.
        assert!(game.width_bits[199] <= exact.width_bits[199], "{strategy}");
    }
}

/// With floats the game would end: a threshold that is a float is found, and the regret stops.
#[test]
fn a_threshold_that_is_a_float_is_found() {
    for strategy in [ThresholdStrategy::Bisection, ThresholdStrategy::FloatBisection] {
        for seed in 1..=50 {
            let game = unknown_thresholds_of(strategy, ROUNDS, 52, seed);
            // The middle of round r has r digits, and the threshold 52.
            assert_eq!((game.regret, game.found), (51, Some(52)), "{strategy:?}, seed {seed}");
        }
    }
    let game = unknown_thresholds_of(ThresholdStrategy::Even, ROUNDS, 1, 3);
    assert_eq!((game.regret, game.found), (0, Some(1)));
}

#[test]
fn zero_rounds_and_zero_digits_are_valid() {
    for strategy in ThresholdStrategy::ALL {
        assert_eq!(strategy.as_str().parse(), Ok(strategy));
        assert_eq!(unknown_thresholds(strategy, 0, 1).regret, 0);
        assert_eq!(unknown_thresholds_of(strategy, 1, 0, 1).bits, 1);
        assert_eq!(unknown_thresholds_of(strategy, 1, u64::MAX, u64::MAX).regret, 1);
    }
    let error = "bisektion".parse::<ThresholdStrategy>().unwrap_err();
    assert_eq!(error.to_string(), "unknown strategy `bisektion`: did you mean `bisection`?");
}

proptest! {
    /// The game does not end before the last digit is known.
    #[test]
    fn a_bisection_ends_at_the_last_digit(seed: u64, bits in 1..300_u64) {
        let game = unknown_thresholds_of(ThresholdStrategy::Bisection, 400, bits, seed);
        prop_assert_eq!((game.regret, game.found), (bits - 1, Some(bits)));
    }
}
