//! Similar S-curves: bound and search by the number of funded tasks.
//!
//! The relaxation funds a fraction of the last S-curve. If the curves are alike, branch and bound
//! cannot remove that fraction: whichever task it decides, a similar one takes its place. The number
//! of funded tasks is what matters.
//!
//! An S-curve is convex on `[low, inflection]` and concave beyond. A task is *funded* if it is on
//! the concave part, *unfunded* at its lower bound, and *partly funded* strictly between.
//!
//! **At most one task is partly funded in some optimal solution.** Take an optimal solution with the
//! fewest partly funded tasks, and suppose that there are two. Move budget from one to the other, in
//! either direction, until one of them reaches an end of its convex part. Total spend does not
//! change, and the value is a convex function of the amount moved, so that it is at least as large
//! at one of the two ends. The solution there has fewer partly funded tasks: a contradiction.
//!
//! With exactly `n` funded tasks and the multiplier `p`, no solution is worth more than
//!
//! ```text
//! p * budget + (sum of all unfunded surpluses)
//!            + (sum of the n largest differences of funded and unfunded surplus)
//!            + (best surpluses of all other tasks, which are not counted)
//! ```
//!
//! The differences may be negative: exactly `n` tasks are funded. The unfunded surplus allows the
//! first half of the convex part, on which the curve is below its chord, so that it is the larger
//! one of two numbers. A task that is partly funded in the second half is a separate case, with
//! one more term: the largest surplus of any task there. The largest bound of all cases, each at its
//! own multiplier, is a bound of the problem.
//!
//! Cases whose bound exceeds the value of the best solution are branched: on a task that is funded
//! on one side of the minimising multiplier only, or on the interval of the partly funded task.
//! Tasks that `at_least` keeps out of a part of the convex part are not counted.

mod bound;
mod counted;
mod minimum;
mod primal;
mod search;
#[cfg(test)]
mod tests;

use std::collections::BinaryHeap;

use super::branch_and_bound::Open;
use super::prepared::PreparedProblem;
use bound::DualFunction;
use counted::Counted;
use search::Node;

/// Buffers of the search, kept between calls.
#[derive(Debug, Default)]
pub(super) struct FundedCount {
    dual: DualFunction,
    nodes: Vec<Node>,
    open: BinaryHeap<Open>,
    /// The bound of every number of funded tasks, without and with a partly funded task; none if
    /// it was searched.
    count_bounds: [Vec<Option<f64>>; 2],
    /// The counted domains, in increasing order.
    narrowed: Vec<u32>,
    /// The tasks by decreasing tie multiplier.
    by_tie: Vec<u32>,
    is_funded: Vec<bool>,
}

impl FundedCount {
    /// Loads the tasks of a call; false if the method is of no use for it.
    fn load(&mut self, prepared: &PreparedProblem) -> bool {
        self.narrowed.clear();
        self.dual.clear(prepared);
        for position in 0..prepared.domains.len() {
            match Counted::new(prepared, position) {
                Some(task) => {
                    self.narrowed.push(position as u32);
                    self.dual.tasks.push(task);
                }
                None => self.dual.rest.push(position as u32),
            }
        }
        self.dual.tasks.len() >= MIN_TASKS
    }
}

/// With fewer S-curves branch and bound needs no help.
const MIN_TASKS: usize = 3;
