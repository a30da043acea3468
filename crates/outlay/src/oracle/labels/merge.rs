//! The expansion of labels of spend and gain alone.
//!
//! One alternative shifts all labels equally, so its new labels are already sorted by spend: the
//! lists of a stage with few alternatives are merged instead of sorted, and only labels that survive
//! are traced. With a count or an open segment new labels are not sorted, and [`LabelList::expand`]
//! is used.

use super::label::{Label, NONE};
use super::linear::LinearCompletion;
use super::list::{LabelList, Trace, changes, order};
use super::stage::Stage;

/// Above this many new labels dominated ones are dropped before the stage is complete.
const MAX_NEW_LABELS: usize = 1 << 20;
/// Up to this many alternatives the sorted lists of a stage are merged; above it they are sorted
/// together.
const MAX_MERGES: u64 = 4;

impl LabelList<()> {
    /// Extends the labels by one stage; `best` receives every improvement.
    pub(in crate::oracle) fn expand_by_merging(
        &mut self,
        stage: Stage,
        completion: &mut LinearCompletion<'_>,
        best: &mut Label<()>,
    ) {
        self.next.clear();
        for label in &self.labels {
            if completion.can_improve(label, &stage) {
                self.next.push(*label);
            }
        }
        let is_merged = stage.len() <= MAX_MERGES;
        for position in stage.first..stage.last {
            let alternative = self.alternatives[position as usize];
            let incumbent = &mut completion.incumbent;
            if alternative.reduced_cost >= incumbent.gap() {
                incumbent.drop_bound(incumbent.bound - alternative.reduced_cost);
                continue;
            }
            let first = self.next.len();
            for label in &self.labels {
                let new = label.after(&alternative, position);
                let (domain, item) = (stage.domain, alternative.item);
                // The bound of a label is compared with the value that was known before it.
                let can_improve = completion.can_improve(&new, &stage);
                let changes = changes(&self.traces, new.trace).chain([(domain, item)]);
                let is_better = completion.take_if_better(&new, changes);
                if !can_improve && !is_better {
                    continue;
                }
                self.next.push(new);
                if is_better {
                    self.traces.push(Trace { predecessor: new.trace, domain, item });
                    *best = Label { trace: self.traces.len() as u32 - 1, alternative: NONE, ..new };
                }
            }
            if is_merged {
                self.merge(first);
            } else if self.next.len() > MAX_NEW_LABELS + 2 * self.labels.len() {
                self.drop_dominated();
            }
        }
        if !is_merged {
            self.drop_dominated();
        }
        self.trace_pending(stage.domain);
        std::mem::swap(&mut self.labels, &mut self.next);
    }

    /// Traces the new labels that survived.
    fn trace_pending(&mut self, domain: u32) {
        for label in self.next.iter_mut().filter(|label| label.alternative != NONE) {
            let item = self.alternatives[label.alternative as usize].item;
            self.traces.push(Trace { predecessor: label.trace, domain, item });
            (label.trace, label.alternative) = (self.traces.len() as u32 - 1, NONE);
        }
    }

    /// Merges two sorted runs of new labels, the second of which begins at `second`, and drops
    /// dominated labels.
    fn merge(&mut self, second: usize) {
        self.merged.clear();
        let (mut one, mut other) = self.next.split_at(second);
        let mut most = f64::NEG_INFINITY;
        loop {
            let is_first = match (one.first(), other.first()) {
                (Some(a), Some(b)) => precedes(a, b),
                (Some(_), None) => true,
                (None, Some(_)) => false,
                (None, None) => break,
            };
            let source = if is_first { &mut one } else { &mut other };
            let Some((&label, rest)) = source.split_first() else { break };
            *source = rest;
            if label.gain > most {
                most = label.gain;
                self.merged.push(label);
            }
        }
        std::mem::swap(&mut self.next, &mut self.merged);
    }
}

fn precedes(a: &Label<()>, b: &Label<()>) -> bool {
    if a.spend == b.spend { order(a, b).is_le() } else { a.spend < b.spend }
}
