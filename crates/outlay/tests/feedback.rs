//! Rewards, outcomes and kinds of feedback.

use outlay::feedback::{Completions, Feedback, Outcome, Reward};

#[test]
fn rewards_are_whole_billionths() {
    assert_eq!(Reward::from_share(0.25).units(), 250_000_000);
    assert_eq!(Reward::from_share(1.0), Reward::MAX);
    assert_eq!(Reward::from_share(-0.1), Reward::ZERO);
    assert_eq!(Reward::from_share(7.0), Reward::MAX);
    assert_eq!(Reward::from_share(f64::NAN), Reward::ZERO);
    assert_eq!(Reward::MAX.share(), 1.0);
    assert_eq!(Reward::from_units(17).units(), 17);
    assert_eq!(Reward::from_units(u64::MAX), Reward::MAX);
}

#[test]
fn kinds_of_feedback_are_read_as_they_are_written() {
    for feedback in Feedback::ALL {
        assert_eq!(feedback.to_string().parse(), Ok(feedback));
    }
    let error = "none".parse::<Feedback>().unwrap_err();
    assert_eq!(
        error.to_string(),
        "unknown feedback `none`: expected one of `censored`, `full`, `bandit`"
    );
}

#[test]
fn richer_feedback_covers_poorer_feedback() {
    assert!(
        Feedback::Full.covers(Feedback::Censored) && Feedback::Censored.covers(Feedback::Bandit)
    );
    assert!(
        !Feedback::Bandit.covers(Feedback::Censored) && !Feedback::Censored.covers(Feedback::Full)
    );
}

#[test]
fn only_completions_have_a_gain() {
    let gain = |outcome: Outcome| outcome.completions().reward_sum();
    assert_eq!(gain(Outcome::Done(Reward::MAX)), Reward::UNITS);
    assert_eq!(gain(Outcome::Forgone(Reward::MAX)), 0);
    assert_eq!(gain(Outcome::Failed), 0);
    assert_eq!(gain(Outcome::Missing), 0);
    let three = Completions::new(3, 7).unwrap();
    assert_eq!(Outcome::of(three).completions(), three);
}

#[test]
fn no_or_one_completion_is_a_plain_outcome() {
    assert_eq!(Outcome::of(Completions::NONE), Outcome::Failed);
    let one = Completions::from_share(1, 0.25).unwrap();
    assert_eq!(Outcome::of(one), Outcome::Done(Reward::from_share(0.25)));
}

#[test]
fn impossible_sums_are_rejected() {
    assert_eq!(Completions::new(2, 2 * Reward::UNITS + 1), None);
    assert_eq!(Completions::new(Completions::MAX + 1, 0), None);
    assert_eq!(Completions::new(0, 1), None);
    for sum in [-0.1, 2.1, f64::NAN, f64::INFINITY] {
        assert_eq!(Completions::from_share(2, sum), None, "{sum}");
    }
    assert_eq!(Completions::from_share(2, 2.0).map(|two| two.reward_sum()), Some(2_000_000_000));
    assert!(Completions::new(Completions::MAX, Completions::MAX * Reward::UNITS).is_some());
}
