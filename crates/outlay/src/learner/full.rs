//! `full`: Algorithm 1 fed with every reward, also of tasks that failed. Needs full feedback.
//!
//! Not for use but for comparison: its distance from `paper` is the price of censoring.
//!
//! Guarantee: that of `paper`; its confidence intervals are those of the round's number, whatever
//! is played.

use super::Learner;
use super::counting::{Counting, Remembered};
use super::paper::Paper;

pub(super) fn learner(tasks: usize, horizon: u64) -> Box<dyn Learner> {
    Box::new(Counting::with_full_feedback(
        tasks,
        Remembered::new(tasks, Paper::new(tasks, horizon)),
    ))
}
