//! The alternatives to the reference items: other items, and segments of linear curves.

use super::completion::{MixtureKey, Search, Segment};
use super::items::{Choice, Choices};
use super::pricing::{Multipliers, Priced};
use crate::oracle::labels::{Alternative, CostLimits, LabelList, Ratios, Stage};

/// A task that is not concave, with the reduced costs of its items.
struct Task<'a> {
    choices: &'a Choices,
    choice: Choice,
    position: u32,
    reference: u32,
    /// The multipliers of the search with their bound, and the surplus of the reference item.
    own: (Multipliers, f64),
    bound: f64,
    /// The multiplier of the cut with its bound, and the largest surplus of an item.
    cut: Option<(Multipliers, f64)>,
    cut_bound: f64,
}

impl<'a> Task<'a> {
    fn new(search: &Search<'_, 'a, '_>, position: usize) -> Self {
        let (choices, reference) = (search.call.choices, search.reference[position]);
        let (choice, own) = (choices.choices[position], search.priced.multipliers);
        let cut = search.relaxed.map(|Priced { multipliers, .. }| {
            let surplus = |item| choices.surplus(item, multipliers);
            let most = (choice.first..choice.last).map(surplus).fold(f64::NEG_INFINITY, f64::max);
            (multipliers, most)
        });
        Self {
            choices,
            choice,
            position: position as u32,
            reference,
            own: (own, choices.surplus(reference, own)),
            bound: search.priced.bound,
            cut,
            cut_bound: search.relaxed.map_or(f64::INFINITY, |relaxed| relaxed.bound),
        }
    }

    fn reduced_cost(&self, item: u32) -> f64 {
        (self.own.1 - self.choices.surplus(item, self.own.0)).max(0.0)
    }

    /// The reduced cost at the multiplier of the cut; zero without one.
    fn cut_cost(&self, item: u32) -> f64 {
        self.cut.map_or(0.0, |(at, most)| (most - self.choices.surplus(item, at)).max(0.0))
    }

    /// The items other than the reference item.
    fn others(&self) -> impl Iterator<Item = u32> + use<> {
        let reference = self.reference;
        (self.choice.first..self.choice.last).filter(move |item| *item != reference)
    }

    /// The alternative of an item, without a segment.
    fn alternative(&self, item: u32) -> Alternative<Segment> {
        let items = &self.choices.items;
        let (from, to) = (items[self.reference as usize], items[item as usize]);
        Alternative {
            item,
            count: to.count - from.count,
            shift: to.units - from.units,
            gain: to.value - from.value,
            reduced_cost: self.reduced_cost(item),
            segment: Segment { choice: self.position, length: 0, slope: 0.0 },
        }
    }

    /// Lists the items with reduced costs below the limits; returns the largest bound of the others.
    fn collect_items(&self, list: &mut Vec<Alternative<Segment>>, limits: CostLimits) -> f64 {
        let items = &self.choices.items;
        let mut dropped = f64::NEG_INFINITY;
        for item in self.others() {
            // The end of a flat stretch is no better than its beginning.
            let is_flat = item > self.choice.first
                && items[item as usize - 1].value >= items[item as usize].value;
            if is_flat {
                continue;
            }
            let (reduced_cost, cut_cost) = (self.reduced_cost(item), self.cut_cost(item));
            if limits.admit(reduced_cost, cut_cost) {
                list.push(self.alternative(item));
            } else {
                let bound = (self.bound - reduced_cost).min(self.cut_bound - cut_cost);
                dropped = dropped.max(bound);
            }
        }
        dropped
    }

    /// Lists the segments with a reduced cost below `limit`, as far as it is; returns the largest
    /// bound of the others.
    fn collect_segments(&self, list: &mut Vec<Alternative<Segment>>, limit: f64) -> f64 {
        let items = &self.choices.items;
        let mut dropped = f64::NEG_INFINITY;
        for item in (self.choice.first..self.choice.last).filter(|&at| items[at as usize].is_open) {
            let (low, high) = (items[item as usize], items[item as usize + 1]);
            let (at_low, at_high) = (self.reduced_cost(item), self.reduced_cost(item + 1));
            let length = high.units - low.units;
            if at_low.min(at_high) >= limit || length <= 0 {
                dropped = dropped.max(self.bound - at_low.min(at_high));
                continue;
            }
            let mut alternative = self.alternative(item);
            alternative.segment.length = length;
            alternative.segment.slope = (high.value - low.value) / length as f64;
            if at_low > limit || at_high > limit {
                dropped = dropped.max(self.bound - limit);
                trim(&mut alternative, at_high, limit);
            }
            list.push(alternative);
        }
        dropped
    }

    /// Whether more than the segments next to the reference item is among the alternatives.
    fn has_stage(&self, alternatives: &[Alternative<Segment>]) -> bool {
        alternatives.iter().any(|alternative| {
            let end = alternative.item + u32::from(alternative.segment.length > 0);
            alternative.item != self.reference && end != self.reference
        })
    }

    /// The stage of the alternatives from `first` on, with open segments from `open` on. The ratios
    /// of a segment are smallest at an end.
    fn stage(
        &self,
        list: &[Alternative<Segment>],
        first: usize,
        open: usize,
        gaps: CostLimits,
    ) -> Stage {
        let items = &self.choices.items;
        let from = items[self.reference as usize];
        let (mut ratios, mut scores) = (Ratios::NONE, Ratios::NONE);
        for alternative in &list[first..] {
            let end = alternative.item + u32::from(alternative.segment.length > 0);
            for item in alternative.item..=end.min(self.choice.last - 1) {
                let shift = items[item as usize].units - from.units;
                if shift == 0 {
                    continue;
                }
                let (own, cut) = (self.reduced_cost(item), self.cut_cost(item));
                ratios.consider(shift, own);
                scores.consider(shift, gaps.score(own, cut));
            }
        }
        Stage {
            domain: self.position,
            first: first as u32,
            open: open as u32,
            last: list.len() as u32,
            efficiency: scores.up.min(scores.down),
            ratios,
            later: Ratios::NONE,
            regret: self.cut_cost(self.reference),
            later_regret: 0.0,
        }
    }
}

/// The scores of all alternatives at the gaps of a search.
pub(super) fn scores(search: &Search<'_, '_, '_>, gaps: CostLimits, scores: &mut Vec<f64>) {
    scores.clear();
    for position in 0..search.call.choices.choices.len() {
        let task = Task::new(search, position);
        let score = |item| gaps.score(task.reduced_cost(item), task.cut_cost(item));
        scores.extend(task.others().map(score));
    }
}

/// Lists the alternatives with reduced costs below the limits as stages, and in `segments` those
/// next to the reference items of the other tasks. After `most` alternatives no further stage is
/// made.
pub(super) fn collect(
    list: &mut LabelList<MixtureKey>,
    segments: &mut Vec<Alternative<Segment>>,
    search: &mut Search<'_, '_, '_>,
    limits: CostLimits,
    most: usize,
) {
    list.alternatives.clear();
    list.stages.clear();
    segments.clear();
    let (gaps, mut regret) = (search.gaps(), 0.0);
    for position in 0..search.call.choices.choices.len() {
        let task = Task::new(search, position);
        let first = list.alternatives.len();
        let limits = if first >= most { CostLimits { own: 0.0, cut: 0.0 } } else { limits };
        let items = task.collect_items(&mut list.alternatives, limits);
        let open = list.alternatives.len();
        let others = task.collect_segments(&mut list.alternatives, limits.own);
        search.incumbent.drop_bound(items.max(others));
        if task.has_stage(&list.alternatives[first..]) {
            list.stages.push(task.stage(&list.alternatives, first, open, gaps));
        } else if list.alternatives.len() > first {
            regret += task.cut_cost(task.reference);
            segments.extend(list.alternatives.drain(first..));
        }
    }
    let unit_multiplier = search.priced.multipliers.spend / search.call.choices.per_spend;
    let after = order_segments(segments, unit_multiplier);
    list.order_stages(after, regret);
}

/// Sorts segments so that each is longer than those with a smaller reduced cost per unit, and drops
/// shorter ones; returns the ratios of all.
fn order_segments(segments: &mut Vec<Alternative<Segment>>, unit_multiplier: f64) -> Ratios {
    let cost = |segment: &Segment| (unit_multiplier - segment.slope).abs();
    segments.sort_unstable_by(|one, other| {
        let (a, b) = (one.segment, other.segment);
        let order = cost(&a).total_cmp(&cost(&b)).then(b.length.cmp(&a.length));
        order.then(one.item.cmp(&other.item))
    });
    let (mut ratios, mut longest) = (Ratios::NONE, [0i64; 2]);
    segments.retain(|Alternative { shift, segment, .. }| {
        let is_up = *shift == 0;
        let side = if is_up { &mut ratios.up } else { &mut ratios.down };
        *side = side.min(cost(segment));
        let longest = &mut longest[usize::from(is_up)];
        let is_kept = segment.length > *longest;
        *longest = segment.length.max(*longest);
        is_kept
    });
    ratios
}

/// Keeps the part of a segment with a reduced cost below `limit`; it is `at_end` at the end.
fn trim(alternative: &mut Alternative<Segment>, at_end: f64, limit: f64) {
    let (at_start, segment) = (alternative.reduced_cost, &mut alternative.segment);
    let share = ((limit - at_start) / (at_end - at_start)).clamp(0.0, 1.0);
    let cut = (segment.length as f64 * share) as i64;
    if at_end > limit {
        segment.length = cut + 1;
        return;
    }
    let cut = (cut - 1).max(0);
    alternative.reduced_cost += (at_end - at_start) * (cut as f64 / segment.length as f64);
    alternative.shift += cut;
    alternative.gain += segment.slope * cut as f64;
    segment.length -= cut;
}
