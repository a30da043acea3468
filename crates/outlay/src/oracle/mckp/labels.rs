//! The label search: exact solution of the core of a multiple-choice knapsack.
//!
//! A *label* is a partial solution: for the domains of the stages passed it says which item each
//! of them takes, and all other domains take their LP-optimal item. Each stage extends every label
//! by the alternative items of one domain. Two rules keep the lists short:
//!
//! - **Dominance** (Nemhauser and Ullmann). A label is dropped if another one spends no more and
//!   gains no less. Labels with a [`Cardinality`] are only compared if they take equally many
//!   edges.
//! - **Bound** (Pisinger's core algorithm). Every alternative has a reduced cost at the multiplier
//!   of the relaxation. The dual bound, less the reduced costs of a label, less the cheapest way
//!   to bring its spend to the capacity with the stages that follow, bounds every completion. A
//!   label whose bound does not exceed the best known solution is dropped, and the largest bound
//!   among the dropped labels is part of the final bound.
//!
//! Spends are whole multiples of a unit (see `items`), so sums are exact and equal spends compare
//! as equal.
//!
//! [`core`](super::core) and [`cardinality_search`](super::cardinality_search) choose the
//! alternatives and the stages; the lists, the dominance rule and the bound are the same.

use std::cmp::Ordering;

/// A partial solution, relative to the LP-optimal items.
#[derive(Debug, Clone, Copy)]
pub(super) struct Label<K> {
    /// Total spend in units.
    pub(super) spend: i64,
    /// Change of value.
    pub(super) gain: f64,
    /// The last trace entry of this label, or of its predecessor while `alternative` is pending.
    pub(super) trace: u32,
    /// The alternative just taken and not yet traced, or [`NONE`].
    pub(super) alternative: u32,
    pub(super) key: K,
}

/// The additional state of a label beside spend and gain; `()` without a cardinality.
pub(super) trait Key: Copy + Default {
    /// Whether the lists of a stage can be merged, which takes a third buffer.
    const IS_MERGED: bool;
    /// Labels with different counts do not dominate each other.
    fn count(self) -> i32;
    /// The key after taking an alternative.
    fn after(self, alternative: &Alternative) -> Self;
    /// The sum of reduced costs; `at_multiplier` is the one that spend and gain alone imply.
    fn reduced_cost(self, at_multiplier: impl FnOnce() -> f64) -> f64;
}

impl Key for () {
    const IS_MERGED: bool = true;

    fn count(self) -> i32 {
        0
    }

    fn after(self, _: &Alternative) -> Self {}

    fn reduced_cost(self, at_multiplier: impl FnOnce() -> f64) -> f64 {
        at_multiplier()
    }
}

/// The number of envelope edges taken, relative to the LP-optimal items, and the reduced costs at
/// both multipliers.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cardinality {
    count: i32,
    reduced_cost: f64,
}

impl Key for Cardinality {
    const IS_MERGED: bool = false;

    fn count(self) -> i32 {
        self.count
    }

    fn after(self, alternative: &Alternative) -> Self {
        Self {
            count: self.count + alternative.count,
            reduced_cost: self.reduced_cost + alternative.reduced_cost,
        }
    }

    fn reduced_cost(self, _: impl FnOnce() -> f64) -> f64 {
        self.reduced_cost
    }
}

/// Another item for a domain than its LP-optimal one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Alternative {
    pub(super) item: u32,
    /// Change of the number of edges; zero without a cardinality.
    pub(super) count: i32,
    /// Change of spend, in units.
    pub(super) shift: i64,
    /// Change of value.
    pub(super) gain: f64,
    pub(super) reduced_cost: f64,
}

/// The alternatives `first..last` of one domain.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stage {
    pub(super) domain: u32,
    pub(super) first: u32,
    pub(super) last: u32,
    /// The smallest reduced cost per unit of spend; stages are sorted by it.
    efficiency: f64,
    /// The smallest reduced cost per unit of spend added, and freed, in this stage.
    ratio_up: f64,
    ratio_down: f64,
    /// The same over all later stages.
    later_up: f64,
    later_down: f64,
}

impl Stage {
    /// The stage of the alternatives from `first` to the end of the list.
    pub(super) fn new(domain: u32, first: usize, alternatives: &[Alternative]) -> Self {
        let (mut up, mut down) = (f64::INFINITY, f64::INFINITY);
        for alternative in &alternatives[first..] {
            let ratio = alternative.reduced_cost / alternative.shift.unsigned_abs().max(1) as f64;
            let side = if alternative.shift > 0 { &mut up } else { &mut down };
            *side = side.min(ratio);
        }
        Self {
            domain,
            first: first as u32,
            last: alternatives.len() as u32,
            efficiency: up.min(down),
            ratio_up: up,
            ratio_down: down,
            later_up: 0.0,
            later_down: 0.0,
        }
    }

    /// The number of alternatives.
    pub(super) fn len(&self) -> u64 {
        u64::from(self.last - self.first)
    }

    /// The smallest ratios of this stage and all later ones.
    pub(super) fn ratios_from_here(&self) -> (f64, f64) {
        (self.ratio_up.min(self.later_up), self.ratio_down.min(self.later_down))
    }
}

/// One alternative taken, linked to the one taken before it.
#[derive(Debug, Clone, Copy)]
struct Trace {
    predecessor: u32,
    domain: u32,
    item: u32,
}

/// The best known value and the bound of a search.
#[derive(Debug, Clone, Copy)]
pub(super) struct Incumbent {
    /// The dual bound at the multiplier, or pair of multipliers, of the reduced costs.
    pub(super) bound: f64,
    /// The multiplier of one unit of spend.
    pub(super) unit_multiplier: f64,
    /// The budget in units.
    pub(super) capacity: i64,
    /// Spend and value of the LP-optimal items.
    pub(super) lp_units: i64,
    pub(super) lp_value: f64,
    /// The best known value.
    pub(super) value: f64,
    /// Improvements below this share of the value are not looked for.
    pub(super) tolerance: f64,
    /// The largest bound among the labels and alternatives that were dropped.
    pub(super) dropped_bound: f64,
}

impl Incumbent {
    /// The value that a completion must be able to exceed.
    pub(super) fn threshold(&self) -> f64 {
        self.value + self.tolerance * self.value
    }

    /// Alternatives with at least this reduced cost cannot be part of a better solution.
    pub(super) fn gap(&self) -> f64 {
        self.bound - self.threshold()
    }

    pub(super) fn drop_bound(&mut self, bound: f64) {
        self.dropped_bound = self.dropped_bound.max(bound);
    }

    /// Whether a solution fits the capacity and has a larger value.
    pub(super) fn is_improved_by(&self, spend: i64, gain: f64) -> bool {
        spend <= self.capacity && self.lp_value + gain > self.value
    }

    /// A bound on the completions of a label by stages with these smallest reduced costs per unit
    /// of spend added and freed.
    pub(super) fn completion_bound<K: Key>(&self, label: &Label<K>, (up, down): (f64, f64)) -> f64 {
        let reduced_cost = label.key.reduced_cost(|| {
            self.unit_multiplier * (label.spend - self.lp_units) as f64 - label.gain
        });
        let capacity_left = (self.capacity - label.spend) as f64;
        let penalty = if capacity_left >= 0.0 {
            capacity_left * self.unit_multiplier.min(up)
        } else {
            -capacity_left * down
        };
        self.bound - reduced_cost - penalty
    }

    /// Whether some completion by the stages after this one may beat the best known value; if not,
    /// the bound is recorded.
    fn can_improve<K: Key>(&mut self, label: &Label<K>, stage: &Stage) -> bool {
        let bound = self.completion_bound(label, (stage.later_up, stage.later_down));
        if bound > self.threshold() {
            return true;
        }
        self.drop_bound(bound);
        false
    }
}

/// The label lists and their traces; the memory is reused between calls.
#[derive(Debug, Default)]
pub(super) struct LabelList<K> {
    pub(super) alternatives: Vec<Alternative>,
    pub(super) stages: Vec<Stage>,
    /// The labels after the last stage: by count, then by increasing spend and gain.
    pub(super) labels: Vec<Label<K>>,
    next: Vec<Label<K>>,
    merged: Vec<Label<K>>,
    traces: Vec<Trace>,
}

/// The end of a trace.
pub(super) const NONE: u32 = u32::MAX;
/// Above this many new labels dominated ones are dropped before the stage is complete.
const MAX_NEW_LABELS: usize = 1 << 20;
/// Up to this many alternatives the sorted lists of a stage are merged; above it they are sorted
/// together.
const MAX_MERGES: u64 = 4;

impl<K: Key> LabelList<K> {
    /// Starts with the label of the LP-optimal items.
    pub(super) fn start(&mut self, lp_units: i64) -> Label<K> {
        self.traces.clear();
        if K::IS_MERGED {
            equalize_capacity([&mut self.labels, &mut self.next, &mut self.merged]);
        } else {
            equalize_capacity([&mut self.labels, &mut self.next]);
        }
        let root =
            Label { spend: lp_units, gain: 0.0, trace: NONE, alternative: NONE, key: K::default() };
        self.labels.push(root);
        root
    }

    /// Whether the traces have room for the labels of one more stage.
    pub(super) fn can_trace(&self, labels: u64) -> bool {
        self.traces.len() as u64 + labels < u64::from(NONE)
    }

    /// Sorts the stages by efficiency and fills in the ratios of the later ones.
    pub(super) fn order_stages(&mut self) {
        self.stages.sort_unstable_by(|a, b| {
            a.efficiency.total_cmp(&b.efficiency).then(a.domain.cmp(&b.domain))
        });
        let (mut up, mut down) = (f64::INFINITY, f64::INFINITY);
        for stage in self.stages.iter_mut().rev() {
            (stage.later_up, stage.later_down) = (up, down);
            (up, down) = stage.ratios_from_here();
        }
    }

    /// Records one alternative after `predecessor`; returns its trace.
    pub(super) fn trace(&mut self, predecessor: u32, domain: u32, item: u32) -> u32 {
        self.traces.push(Trace { predecessor, domain, item });
        self.traces.len() as u32 - 1
    }

    /// Writes the items of a trace over those in `items`.
    pub(super) fn write_trace(&self, mut at: u32, items: &mut [u32]) {
        while at != NONE {
            let trace = self.traces[at as usize];
            items[trace.domain as usize] = trace.item;
            at = trace.predecessor;
        }
    }

    /// Drops the new labels that another one dominates.
    fn drop_dominated(&mut self) {
        self.next.sort_unstable_by(by_count_and_spend);
        let (mut count, mut most) = (i32::MIN, f64::NEG_INFINITY);
        self.next.retain(|label| {
            if label.key.count() != count {
                (count, most) = (label.key.count(), f64::NEG_INFINITY);
            }
            let is_kept = label.gain > most;
            most = most.max(label.gain);
            is_kept
        });
    }
}

impl<K: Key> Label<K> {
    fn after(&self, alternative: &Alternative, position: u32) -> Self {
        Self {
            spend: self.spend + alternative.shift,
            gain: self.gain + alternative.gain,
            trace: self.trace,
            alternative: position,
            key: self.key.after(alternative),
        }
    }
}

impl LabelList<()> {
    /// Extends the labels by one stage; `best` receives every improvement.
    ///
    /// One alternative shifts all labels equally, so its new labels are already sorted by spend:
    /// the lists of a stage with few alternatives are merged instead of sorted. Only labels that
    /// survive are traced.
    pub(super) fn expand(&mut self, stage: Stage, incumbent: &mut Incumbent, best: &mut Label<()>) {
        self.next.clear();
        for label in &self.labels {
            if incumbent.can_improve(label, &stage) {
                self.next.push(*label);
            }
        }
        let is_merged = stage.len() <= MAX_MERGES;
        for position in stage.first..stage.last {
            let alternative = self.alternatives[position as usize];
            if alternative.reduced_cost >= incumbent.gap() {
                incumbent.drop_bound(incumbent.bound - alternative.reduced_cost);
                continue;
            }
            let first = self.next.len();
            for label in &self.labels {
                let new = label.after(&alternative, position);
                let is_better = incumbent.is_improved_by(new.spend, new.gain);
                if !incumbent.can_improve(&new, &stage) && !is_better {
                    continue;
                }
                self.next.push(new);
                if is_better {
                    incumbent.value = incumbent.lp_value + new.gain;
                    self.traces.push(Trace {
                        predecessor: new.trace,
                        domain: stage.domain,
                        item: alternative.item,
                    });
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
        for label in self.next.iter_mut().filter(|label| label.alternative != NONE) {
            let item = self.alternatives[label.alternative as usize].item;
            self.traces.push(Trace { predecessor: label.trace, domain: stage.domain, item });
            (label.trace, label.alternative) = (self.traces.len() as u32 - 1, NONE);
        }
        std::mem::swap(&mut self.labels, &mut self.next);
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

impl LabelList<Cardinality> {
    /// Extends the labels by one stage; returns the trace of the last improvement.
    ///
    /// New labels with different counts alternate, so they are sorted at the end of the stage. All
    /// new labels are traced at once; of equal labels the one made first is kept.
    pub(super) fn expand(&mut self, stage: Stage, incumbent: &mut Incumbent) -> Option<u32> {
        let mut best = None;
        self.next.clear();
        for label in &self.labels {
            if incumbent.can_improve(label, &stage) {
                self.next.push(*label);
            }
            for position in stage.first..stage.last {
                let alternative = self.alternatives[position as usize];
                let trace = self.traces.len() as u32;
                let new = Label { trace, alternative: NONE, ..label.after(&alternative, position) };
                let is_better = incumbent.is_improved_by(new.spend, new.gain);
                if is_better {
                    incumbent.value = incumbent.lp_value + new.gain;
                    best = Some(trace);
                }
                if is_better || incumbent.can_improve(&new, &stage) {
                    self.traces.push(Trace {
                        predecessor: label.trace,
                        domain: stage.domain,
                        item: alternative.item,
                    });
                    self.next.push(new);
                }
            }
        }
        self.drop_dominated();
        std::mem::swap(&mut self.labels, &mut self.next);
        best
    }
}

/// Orders labels by count, then by increasing spend, then by decreasing gain.
fn by_count_and_spend<K: Key>(a: &Label<K>, b: &Label<K>) -> Ordering {
    let order = a.key.count().cmp(&b.key.count()).then(a.spend.cmp(&b.spend));
    order.then(b.gain.total_cmp(&a.gain)).then(a.trace.cmp(&b.trace))
}

fn precedes(a: &Label<()>, b: &Label<()>) -> bool {
    if a.spend == b.spend { by_count_and_spend(a, b).is_le() } else { a.spend < b.spend }
}

/// Empties lists that are swapped with each other and gives all of them the largest capacity, so
/// that a call like an earlier one allocates nothing.
pub(super) fn equalize_capacity<T, const LISTS: usize>(lists: [&mut Vec<T>; LISTS]) {
    let most = lists.iter().map(|list| list.capacity()).max().unwrap_or(0);
    for list in lists {
        list.clear();
        list.reserve_exact(most);
    }
}
