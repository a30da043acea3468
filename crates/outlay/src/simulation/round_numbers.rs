//! Numbers by task and round, such as the scales of curves: each task's list is repeated.

use crate::problem::{Problem, Profile, by_position};

/// A profile in the order of the tasks.
#[derive(Debug, Clone)]
pub(super) struct RoundNumbers {
    lists: Vec<Vec<f64>>,
    /// The numbers of tasks without a list.
    usual: Vec<f64>,
}

impl RoundNumbers {
    /// `None` if the profile is empty.
    pub(super) fn new(profile: &Profile, problem: &Problem, usual: Vec<f64>) -> Option<Self> {
        let lists = || by_position(profile, problem.tasks());
        (!profile.is_empty()).then(|| Self { lists: lists(), usual })
    }

    /// The number of a task in a round.
    pub(super) fn at(&self, round: u64, task: usize) -> f64 {
        let list = &self.lists[task];
        match list.len() as u64 {
            0 => self.usual[task],
            length => list[(round.wrapping_sub(1) % length) as usize],
        }
    }

    /// Writes the numbers of a round.
    pub(super) fn write(&self, round: u64, numbers: &mut [f64]) {
        for (task, number) in numbers.iter_mut().enumerate() {
            *number = self.at(round, task);
        }
    }

    /// The number of rounds after which all lists start again together; `None` if it is large.
    pub(super) fn period(&self) -> Option<u64> {
        let mut lengths =
            self.lists.iter().map(|list| list.len() as u64).filter(|length| *length > 0);
        lengths.try_fold(1, common_multiple)
    }
}

/// The longest period whose optima are kept.
const LONGEST_PERIOD: u64 = 100_000;

/// The least common multiple, unless it is above [`LONGEST_PERIOD`].
pub(super) fn common_multiple(one: u64, other: u64) -> Option<u64> {
    let (mut larger, mut smaller) = (one, other);
    while smaller > 0 {
        (larger, smaller) = (smaller, larger % smaller);
    }
    Some(one / larger * other).filter(|multiple| *multiple <= LONGEST_PERIOD)
}
