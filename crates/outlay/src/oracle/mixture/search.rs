//! The label search of a mixture, in passes with ever more alternatives.

use super::alternatives::{collect, scores};
use super::completion::{MixtureKey, Search, Segment};
use crate::oracle::labels::{Alternative, CostLimits, FIRST_ALTERNATIVES, LabelList};

/// Buffers kept between calls.
#[derive(Debug, Default)]
pub(super) struct LabelSearch {
    /// The items of the best solution.
    pub(super) items: Vec<u32>,
    pub(super) list: LabelList<MixtureKey>,
    /// Segments next to the reference items of tasks without a stage.
    segments: Vec<Alternative<Segment>>,
    scores: Vec<f64>,
}

impl LabelSearch {
    /// Improves the best known solution and returns an upper bound on the solutions within the
    /// limit of the multipliers.
    pub(super) fn run(&mut self, search: &mut Search<'_, '_, '_>) -> f64 {
        let mut limits = self.first_limits(search);
        let mut most = 2 * FIRST_ALTERNATIVES;
        let bound = search.priced.bound;
        while search.gaps().are_open() {
            limits = limits.at_most(search.gaps());
            search.incumbent.dropped_bound = f64::NEG_INFINITY;
            collect(&mut self.list, &mut self.segments, search, limits, most);
            let is_cut = self.list.alternatives.len() >= most;
            let is_done = self.pass(search);
            let gaps = search.gaps();
            if !is_done || !is_cut && limits.cover(gaps) {
                let incumbent = search.incumbent;
                return incumbent.dropped_bound.max(incumbent.value).min(bound);
            }
            if is_cut {
                // Many items have about the same reduced cost.
                most *= 2;
            } else {
                limits = limits.next(gaps);
            }
        }
        search.cut.map_or(bound, |cut| cut.bound.min(bound)).max(search.incumbent.value)
    }

    fn first_limits(&mut self, search: &Search<'_, '_, '_>) -> CostLimits {
        let gaps = search.gaps();
        scores(search, gaps, &mut self.scores);
        gaps.first(&mut self.scores)
    }

    /// Expands all stages; false if there are too many labels.
    fn pass(&mut self, search: &mut Search<'_, '_, '_>) -> bool {
        let root = self.list.start(search.priced.units);
        let mut best = search.complete(&root).then_some(root.trace);
        let mut is_done = true;
        for position in 0..self.list.stages.len() {
            let stage = self.list.stages[position];
            let work = self.list.labels.len() as u64 * (stage.len() + 1);
            if search.call.labels + work > search.call.max_labels || !self.list.can_expand(work) {
                search.set_later(stage.ratios_from_here());
                self.bound_open_labels(search, stage.regret_from_here());
                is_done = false;
                break;
            }
            search.set_later(stage.later);
            best = self.list.expand(stage, search).or(best);
            search.call.labels += self.list.labels.len() as u64;
        }
        if is_done {
            best = self.complete_by_segments(search).or(best);
        }
        if let Some(trace) = best {
            self.items.clear();
            self.items.extend_from_slice(search.reference);
            self.list.write_trace(trace, &mut self.items);
        }
        is_done
    }

    /// Stops with labels that could be extended: their bounds become part of the final one.
    fn bound_open_labels(&self, search: &mut Search<'_, '_, '_>, regret: f64) {
        for label in &self.list.labels {
            let bound = search.bound(label, regret);
            search.incumbent.drop_bound(bound);
        }
    }

    /// Completes the labels after the last stage by a segment of a task without a stage; returns the
    /// trace of the last improvement.
    fn complete_by_segments(&mut self, search: &mut Search<'_, '_, '_>) -> Option<u32> {
        let mut best = None;
        for position in 0..self.list.labels.len() {
            let label = self.list.labels[position];
            if label.key.segment.length > 0 {
                break;
            }
            for segment in &self.segments {
                let new = label.after(segment, 0);
                let bound = search.last_bound(&new);
                if bound <= search.incumbent.threshold() {
                    search.incumbent.drop_bound(bound);
                } else if search.complete(&new) {
                    best = Some(self.list.trace(label.trace, segment.segment.choice, segment.item));
                }
            }
        }
        best
    }
}
