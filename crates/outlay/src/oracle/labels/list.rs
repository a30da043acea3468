//! The lists of labels, the dominance rule and the traces.

use std::cmp::Ordering;

use super::label::{Alternative, Key, Label, NONE};
use super::stage::{Ratios, Stage};
use super::{Completion, Verdict};
use crate::oracle::cancel::Cancel;

/// One alternative taken, linked to the one taken before it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Trace {
    pub(super) predecessor: u32,
    pub(super) domain: u32,
    pub(super) item: u32,
}

/// The label lists and their traces; the memory is reused between calls.
#[derive(Debug)]
pub(in crate::oracle) struct LabelList<K: Key> {
    pub(in crate::oracle) alternatives: Vec<Alternative<K::Segment>>,
    pub(in crate::oracle) stages: Vec<Stage>,
    /// The labels after the last stage: those without an open segment first, by count, then by
    /// increasing spend.
    pub(in crate::oracle) labels: Vec<Label<K>>,
    pub(super) next: Vec<Label<K>>,
    pub(super) merged: Vec<Label<K>>,
    pub(super) traces: Vec<Trace>,
    /// Stops the search before its next stage.
    pub(in crate::oracle) cancel: Cancel,
}

/// A label with an open segment is compared with this many others.
const COMPARED: usize = 8;

impl<K: Key> Default for LabelList<K> {
    fn default() -> Self {
        Self {
            alternatives: Vec::new(),
            stages: Vec::new(),
            labels: Vec::new(),
            next: Vec::new(),
            merged: Vec::new(),
            traces: Vec::new(),
            cancel: Cancel::default(),
        }
    }
}

impl<K: Key> LabelList<K> {
    /// Starts with the label of the reference items.
    pub(in crate::oracle) fn start(&mut self, lp_units: i64) -> Label<K> {
        self.traces.clear();
        if K::IS_MERGED {
            equalize_capacity([&mut self.labels, &mut self.next, &mut self.merged]);
        } else {
            equalize_capacity([&mut self.labels, &mut self.next]);
        }
        let root = Label::root(lp_units);
        self.labels.push(root);
        root
    }

    /// Whether the search may go on: it is not cancelled, and the traces have room for the labels
    /// of one more stage.
    pub(in crate::oracle) fn can_expand(&self, labels: u64) -> bool {
        self.traces.len() as u64 + labels < u64::from(NONE) && !self.cancel.is_set()
    }

    /// The number of labels traced in the last search.
    #[cfg(test)]
    pub(in crate::oracle) fn traced(&self) -> usize {
        self.traces.len()
    }

    /// Sorts the stages by efficiency and fills in the ratios and the regret of the later ones;
    /// those of what follows the last stage are given.
    pub(in crate::oracle) fn order_stages(&mut self, after: Ratios, regret: f64) {
        Stage::order(&mut self.stages, after, regret);
    }

    /// Records one alternative after `predecessor`; returns its trace.
    pub(in crate::oracle) fn trace(&mut self, predecessor: u32, domain: u32, item: u32) -> u32 {
        self.traces.push(Trace { predecessor, domain, item });
        self.traces.len() as u32 - 1
    }

    /// The domains and items of a trace.
    pub(in crate::oracle) fn changes(&self, trace: u32) -> impl Iterator<Item = (u32, u32)> {
        changes(&self.traces, trace)
    }

    /// Writes the items of a trace over those in `items`.
    pub(in crate::oracle) fn write_trace(&self, trace: u32, items: &mut [u32]) {
        self.changes(trace).for_each(|(domain, item)| items[domain as usize] = item);
    }

    /// Extends the labels by one stage; returns the trace of the last improvement.
    ///
    /// New labels with different counts alternate, so they are sorted at the end of the stage. All
    /// new labels are traced at once; of equal labels the one made first is kept.
    pub(in crate::oracle) fn expand(
        &mut self,
        stage: Stage,
        completion: &mut impl Completion<K>,
    ) -> Option<u32> {
        let mut best = None;
        self.next.clear();
        for label in &self.labels {
            if completion.can_improve(label, &stage) {
                self.next.push(*label);
            }
            // At most one segment of a label is open.
            let last = if label.is_open() { stage.open } else { stage.last };
            for position in stage.first..last {
                let alternative = self.alternatives[position as usize];
                let trace = self.traces.len() as u32;
                let new = Label { trace, alternative: NONE, ..label.after(&alternative, position) };
                let changes =
                    changes(&self.traces, label.trace).chain([(stage.domain, alternative.item)]);
                let Verdict { is_better, is_kept } = completion.examine(&new, &stage, changes);
                if is_better {
                    best = Some(trace);
                }
                if is_better || is_kept {
                    let (domain, item) = (stage.domain, alternative.item);
                    self.traces.push(Trace { predecessor: label.trace, domain, item });
                    self.next.push(new);
                }
            }
        }
        self.drop_dominated();
        std::mem::swap(&mut self.labels, &mut self.next);
        best
    }

    /// Drops the new labels that another one dominates.
    pub(super) fn drop_dominated(&mut self) {
        self.next.sort_unstable_by(order);
        let open = self.next.partition_point(|label| !label.is_open());
        let (mut count, mut most, mut kept) = (i32::MIN, f64::NEG_INFINITY, 0);
        for position in 0..open {
            let label = self.next[position];
            if label.key.count() != count {
                (count, most) = (label.key.count(), f64::NEG_INFINITY);
            }
            if label.gain > most {
                self.next[kept] = label;
                kept += 1;
            }
            most = most.max(label.gain);
        }
        let kept = self.drop_dominated_open(kept, open);
        self.next.truncate(kept);
    }

    /// Drops dominated labels with an open segment, which begin at `open`, and moves the others
    /// after the first `closed` labels; returns the number of labels.
    fn drop_dominated_open(&mut self, closed: usize, open: usize) -> usize {
        let mut kept = closed;
        for position in open..self.next.len() {
            let label = self.next[position];
            let spends_less = |other: &Label<K>| {
                (other.key.count(), other.spend) <= (label.key.count(), label.spend)
            };
            let best = self.next[..closed].partition_point(spends_less).checked_sub(1);
            let last = &self.next[kept.saturating_sub(COMPARED).max(closed)..kept];
            let is_dominated = best.is_some_and(|best| self.next[best].dominates(&label))
                || last.iter().any(|other| other.dominates(&label));
            if !is_dominated {
                self.next[kept] = label;
                kept += 1;
            }
        }
        kept
    }
}

/// The domains and items of a trace.
pub(super) fn changes(traces: &[Trace], last: u32) -> impl Iterator<Item = (u32, u32)> {
    let mut place = last;
    std::iter::from_fn(move || {
        let trace = (place != NONE).then(|| traces[place as usize])?;
        place = trace.predecessor;
        Some((trace.domain, trace.item))
    })
}

/// Orders labels: open segments last, then by count, by increasing spend and by decreasing gain.
pub(super) fn order<K: Key>(a: &Label<K>, b: &Label<K>) -> Ordering {
    let order = a.is_open().cmp(&b.is_open()).then(a.key.count().cmp(&b.key.count()));
    let order = order.then(a.spend.cmp(&b.spend)).then(b.gain.total_cmp(&a.gain));
    order.then(a.trace.cmp(&b.trace))
}

/// Empties lists that are swapped with each other and gives all of them the largest capacity, so
/// that a call like an earlier one allocates nothing.
pub(in crate::oracle) fn equalize_capacity<T, const LISTS: usize>(lists: [&mut Vec<T>; LISTS]) {
    let most = lists.iter().map(|list| list.capacity()).max().unwrap_or(0);
    for list in lists {
        list.clear();
        list.reserve_exact(most);
    }
}
