//! Tasks ordered by the gain or loss of one unit.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Tasks by gain or loss. Entries are not updated in place: one whose amount is no longer the
/// task's is skipped.
pub(super) struct TaskQueue {
    heap: BinaryHeap<Entry>,
    /// 1 for largest first, -1 for smallest first.
    sign: f64,
}

#[derive(PartialEq)]
struct Entry {
    key: f64,
    task: usize,
}

impl Eq for Entry {}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key.total_cmp(&other.key).then(other.task.cmp(&self.task))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl TaskQueue {
    pub(super) fn dearest(tasks: usize, amount: impl Fn(usize) -> Option<f64>) -> Self {
        Self::new(1.0, tasks, amount)
    }

    pub(super) fn cheapest(tasks: usize, amount: impl Fn(usize) -> Option<f64>) -> Self {
        Self::new(-1.0, tasks, amount)
    }

    fn new(sign: f64, tasks: usize, amount: impl Fn(usize) -> Option<f64>) -> Self {
        let heap =
            (0..tasks).filter_map(|task| Some(Entry { key: sign * amount(task)?, task })).collect();
        Self { heap, sign }
    }

    pub(super) fn push(&mut self, task: usize, amount: Option<f64>) {
        self.heap.extend(amount.map(|amount| Entry { key: self.sign * amount, task }));
    }

    /// The first task with its amount, which is `amount(task)` now.
    pub(super) fn pop(&mut self, amount: impl Fn(usize) -> Option<f64>) -> Option<(usize, f64)> {
        loop {
            let entry = self.heap.pop()?;
            if let Some(current) =
                amount(entry.task).filter(|current| self.sign * current == entry.key)
            {
                return Some((entry.task, current));
            }
        }
    }

    pub(super) fn pop_other_than(
        &mut self,
        task: usize,
        amount: impl Fn(usize) -> Option<f64>,
    ) -> Option<(usize, f64)> {
        let mut set_aside = None;
        let found = loop {
            match self.pop(&amount) {
                Some((first, its_amount)) if first == task => set_aside = Some(its_amount),
                found => break found,
            }
        };
        self.push(task, set_aside);
        found
    }
}
