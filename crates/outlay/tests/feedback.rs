//! Rewards, outcomes and kinds of feedback.

use outlay::feedback::{Feedback, Outcome, Reward};

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
    assert_eq!(Outcome::Done(Reward::MAX).gain(), Reward::MAX);
    assert_eq!(Outcome::Forgone(Reward::MAX).gain(), Reward::ZERO);
    assert_eq!(Outcome::Missing.gain(), Reward::ZERO);
}
