//! The exact search over steps: which jumps to pay for when every curve is a staircase.
//!
//! This is the multiple-choice knapsack. The price found by the relaxation gives every choice a
//! *loss* against the best one for its task at that price; a choice whose loss exceeds the gap
//! cannot be part of a better split. What remains, the core, is searched by lists of partial
//! choices (Nemhauser and Ullmann's lists with the bounds of Pisinger's core algorithm): a partial
//! choice is dropped if another spends no more and gains no less, or if even the best completion
//! cannot beat the split already known. Spends are whole multiples of the budget's 2^-60, so sums
//! are exact and equal jumps really are equal.

use super::counted;
use super::stairs::{CAPACITY, Level, Root, Stairs, Terms, UNITS, units};
use super::tally::{Known, Tally};
use super::{DEFAULT_TOLERANCE, Options, Outcome};
use crate::numeric::compensated::Sum;

/// A partial choice: what it spends, what it gains over the start, and how it came about.
#[derive(Debug, Clone, Copy)]
struct State {
    spend: i64,
    gain: f64,
    trail: u32,
    /// The choice just made, not yet on the trail.
    choice: u32,
}

/// One departure from the start, remembered to trace a split back.
#[derive(Debug, Clone, Copy)]
struct Departure {
    before: u32,
    coordinate: u32,
    to: u32,
}

/// Another level for one coordinate: change of spend, change of value, and what it loses at the
/// price.
#[derive(Debug, Clone, Copy)]
struct Choice {
    to: u32,
    shift: i64,
    gain: f64,
    loss: f64,
}

/// A coordinate with choices left, and the least loss per unit of spend freed or added from here to
/// the end of the order.
#[derive(Debug, Clone, Copy)]
struct Stage {
    coordinate: u32,
    first: u32,
    last: u32,
    ease: f64,
    ratio_up: f64,
    ratio_down: f64,
    least_up: f64,
    least_down: f64,
}

/// Buffers of the search, kept between calls.
#[derive(Debug, Default)]
pub(super) struct CoreSearch {
    choices: Vec<Choice>,
    stages: Vec<Stage>,
    states: Vec<State>,
    next: Vec<State>,
    /// The partial choices of a stage so far, being merged with those of its next choice.
    merged: Vec<State>,
    trail: Vec<Departure>,
    /// What some coordinates lose at least, to find out how many lose how much.
    sample: Vec<f64>,
    /// Choices kept by pruning, before they replace the others.
    pruned: Vec<Choice>,
    /// Choices by change of spend: that change, the choice, its stage.
    singles: Vec<(i64, u32, u32)>,
    /// For each of them, the place of the best one up to it.
    fitting: Vec<u32>,
    tally: Tally,
}

/// Where the search starts: the relaxation's homes and what they prove, and the best split known.
#[derive(Debug, Clone, Copy)]
struct Start<'a> {
    stairs: &'a Stairs,
    terms: Terms<'a>,
    root: Root,
}

/// What the search found.
#[derive(Debug, Clone, Copy)]
struct Found {
    value: f64,
    bound: f64,
    states: u64,
    /// The trail to the split, if it is not the one that was known.
    trail: Option<u32>,
}

const NONE: u32 = u32::MAX;
/// So many new partial choices are weeded before more are made.
const CROWDED: usize = 1 << 20;
/// Partial choices of a stage with no more choices than this are merged; those of others are
/// sorted.
const MERGED: u32 = 4;
/// The split known is improved by the choices of so many coordinates first, and then by those that
/// lose so many times more.
const FIRST_CORE: usize = 96;
const WIDER: f64 = 16.0;
/// So many coordinates are asked what they lose at least.
const SAMPLE: usize = 1024;
/// Fewer partial choices than this are no reason to count chords.
const COUNTED: u64 = 1 << 15;
/// Partial choices that could improve by less than this share are dropped (their bound is kept).
const NEGLIGIBLE: f64 = 1e-14;

impl CoreSearch {
    /// The best split of staircases: the levels chosen. Steps are settled to the last digit unless
    /// a coarse tolerance is asked for.
    pub(super) fn solve(
        &mut self,
        stairs: &mut Stairs,
        terms: Terms<'_>,
        last_price: Option<f64>,
        options: &Options,
    ) -> Outcome {
        let tolerance = if options.tolerance > DEFAULT_TOLERANCE { options.tolerance } else { 0.0 };
        let root = stairs.relax(terms, last_price);
        let Root { price, mut bound, mut value, left, .. } = root;
        let (mut left, mut states) = (Some(left), 0);
        if !root.is_settled && root.bound - root.value > tolerance * root.value {
            let found = self.run(Start { stairs, terms, root }, tolerance, options);
            (value, bound, states, left) = (found.value, found.bound, found.states, None);
            self.write(found.trail, stairs);
        }
        Outcome { value, bound, price, split_price: price, is_flat: true, left, nodes: 1, states }
    }

    /// Writes the split that departs from the homes along a trail; none stands for the split that
    /// was known.
    fn write(&self, trail: Option<u32>, stairs: &mut Stairs) {
        let Some(mut at) = trail else { return };
        stairs.chosen.clone_from(&stairs.home);
        while at != NONE {
            let departure = self.trail[at as usize];
            stairs.chosen[departure.coordinate as usize] = departure.to;
            at = departure.before;
        }
    }

    /// Improves the start as far as possible.
    fn run(&mut self, start: Start<'_>, tolerance: f64, options: &Options) -> Found {
        let max_states = options.max_states;
        let mut run = Run::new(start, tolerance);
        self.trail.clear();
        even_out([&mut self.states, &mut self.next, &mut self.merged]);
        even_out([&mut self.choices, &mut self.pruned]);
        let mut best = State { spend: run.origin, gain: 0.0, trail: NONE, choice: NONE };
        self.states.push(best);
        self.gather(&mut run, &mut best);
        self.order();
        self.prune(&mut run);
        self.order();
        self.index_singles();
        let mut cap = None;
        for position in 0..self.stages.len() {
            let stage = self.stages[position];
            let work = self.states.len() as u64 * u64::from(stage.last - stage.first);
            let is_crowded = run.states + self.states.len() as u64 > run.patience()
                || run.states + work > max_states;
            if cap.is_none() && is_crowded {
                cap = Some(self.count(&mut run, &mut best, options));
            }
            let is_closed =
                cap.is_some_and(|cap| cap <= run.value * (1.0 + options.tolerance.max(NEGLIGIBLE)));
            if is_closed
                || run.states + work > max_states
                || self.trail.len() as u64 + work >= u64::from(NONE)
            {
                run.keep_open(&self.states, &stage);
                break;
            }
            self.expand(stage, &mut run, &mut best);
            self.complete(position, &mut run, &mut best);
        }
        let trail = (run.value > start.root.value).then_some(best.trail);
        let bound = run.lost.min(cap.unwrap_or(f64::INFINITY)).max(run.value).min(start.root.bound);
        Found { value: run.value, bound, states: run.states, trail }
    }

    /// The bound that counts chords, and perhaps a better split from the search under the prices
    /// that prove it. Where there are so many partial choices that this is called for, what was
    /// asked for is enough: the last digit is far.
    fn count(&mut self, run: &mut Run<'_>, best: &mut State, options: &Options) -> f64 {
        let Start { stairs, terms, root } = run.start;
        let tolerance = options.tolerance.max(NEGLIGIBLE);
        let cases = counted::bounds(stairs, terms, root, run.value * (1.0 + tolerance));
        let mut bound = 0.0f64;
        for case in cases {
            if case.bound <= run.value * (1.0 + tolerance) {
                bound = bound.max(case.bound);
                continue;
            }
            let known = Known {
                value: run.value,
                tolerance: run.tolerance,
                max_states: options.max_states.saturating_sub(run.states),
            };
            let found = self.tally.run(stairs, terms, case, known);
            run.states += found.states;
            bound = bound.max(found.bound);
            if found.is_better {
                self.take_tally(run, best);
            }
        }
        bound
    }

    /// Takes the split of the search under two prices as departures from the homes.
    fn take_tally(&mut self, run: &mut Run<'_>, best: &mut State) {
        let Start { stairs, terms, root } = run.start;
        let (mut trail, mut spend, mut gain) = (NONE, run.origin, Sum::default());
        for (coordinate, (&to, &from)) in self
            .tally
            .levels
            .iter()
            .zip(&stairs.home)
            .enumerate()
            .filter(|(_, (to, from))| to != from)
        {
            let choice = run.choice(terms.weights[coordinate], stairs.level(from), to);
            gain.add(choice.gain);
            spend += choice.shift;
            self.trail.push(Departure { before: trail, coordinate: coordinate as u32, to });
            trail = self.trail.len() as u32 - 1;
        }
        if run.improves(spend, gain.value()) {
            run.value = root.home_value + gain.value();
            *best = State { spend, gain: gain.value(), trail, choice: NONE };
        }
    }

    /// Lists the choices that matter. The fewer of them the better the split known: so that one is
    /// first improved by the choices that lose least, then by more of them, until all are listed
    /// that lose less than what is still open.
    fn gather(&mut self, run: &mut Run<'_>, best: &mut State) {
        let mut limit = self.first_limit(&run.start.stairs.least).min(run.gap());
        loop {
            let dropped = self.collect(run, limit);
            self.exchange(run, best);
            if limit >= run.gap() {
                run.drop_bound(run.start.root.bound - dropped);
                return;
            }
            // Never less than a share of what is open: where many lose nothing at all, times
            // nothing is nothing.
            limit = (limit * WIDER).max(run.gap() / (WIDER * WIDER)).min(run.gap());
        }
    }

    /// A loss that few coordinates are below.
    fn first_limit(&mut self, least: &[f64]) -> f64 {
        let stride = least.len().div_ceil(SAMPLE);
        let rank = FIRST_CORE / stride.max(1);
        self.sample.clear();
        self.sample.extend(least.iter().step_by(stride.max(1)));
        if rank >= self.sample.len() {
            return f64::INFINITY;
        }
        *self.sample.select_nth_unstable_by(rank, f64::total_cmp).1
    }

    /// Lists the choices that lose less than `limit`; returns the least loss of the others.
    fn collect(&mut self, run: &Run<'_>, limit: f64) -> f64 {
        self.choices.clear();
        self.stages.clear();
        let mut dropped = f64::INFINITY;
        for (coordinate, &least) in run.start.stairs.least.iter().enumerate() {
            if !(least < limit) {
                dropped = if least < dropped { least } else { dropped };
                continue;
            }
            let first = self.choices.len();
            dropped = dropped.min(self.collect_from(coordinate, run, limit));
            if self.choices.len() > first {
                self.stages.push(stage(coordinate, first, &self.choices));
            }
        }
        dropped
    }

    fn collect_from(&mut self, coordinate: usize, run: &Run<'_>, limit: f64) -> f64 {
        let stairs = run.start.stairs;
        let (weight, (corners, home)) =
            (run.start.terms.weights[coordinate], stairs.corners(coordinate));
        let from = corners[home];
        let departure = |to: u32| run.choice(weight, stairs.level(from), to);
        let left = corners[..home]
            .iter()
            .rposition(|&corner| departure(corner).loss >= limit)
            .unwrap_or(0);
        let right = corners[home..]
            .iter()
            .position(|&corner| departure(corner).loss >= limit)
            .map(|offset| home + offset);
        let right = right.unwrap_or(corners.len() - 1);
        let mut dropped = f64::INFINITY;
        for to in (corners[left]..from).chain(from + 1..corners[right] + 1) {
            let choice = departure(to);
            if choice.loss < limit {
                self.choices.push(choice);
            } else {
                dropped = dropped.min(choice.loss);
            }
        }
        dropped
    }

    /// Looks for a better split one or two departures from the start: the better the split, the
    /// smaller the core.
    fn exchange(&mut self, run: &mut Run<'_>, best: &mut State) {
        self.index_singles();
        let room = CAPACITY - run.origin;
        let mut pair = None;
        let mut fits = self.singles.len();
        // A single departure first, then pairs in the order of the first one's spend: what fits
        // beside it becomes less and less.
        for position in std::iter::once(None).chain((0..self.singles.len()).map(Some)) {
            let (shift, gain) = position.map_or((0, 0.0), |position| {
                let choice = self.choices[self.singles[position].1 as usize];
                (choice.shift, choice.gain)
            });
            if position == Some(0) {
                fits = self.singles.len();
            }
            while fits > 0 && self.singles[fits - 1].0 > room - shift {
                fits -= 1;
            }
            let Some(partner) = fits.checked_sub(1).map(|last| self.fitting[last] as usize) else {
                continue;
            };
            let same = position
                .is_some_and(|position| self.singles[position].2 == self.singles[partner].2);
            let gain = gain + self.choices[self.singles[partner].1 as usize].gain;
            let spend = run.origin + shift + self.singles[partner].0;
            if !same && run.improves(spend, gain) {
                run.value = run.start.root.home_value + gain;
                pair = Some((position, partner, spend, gain));
            }
        }
        if let Some((position, partner, spend, gain)) = pair {
            for single in position.into_iter().chain([partner]) {
                let (_, choice, stage) = self.singles[single];
                let coordinate = self.stages[stage as usize].coordinate;
                let before = if single == partner && position.is_some() {
                    self.trail.len() as u32 - 1
                } else {
                    NONE
                };
                self.trail.push(Departure {
                    before,
                    coordinate,
                    to: self.choices[choice as usize].to,
                });
            }
            *best = State { spend, gain, trail: self.trail.len() as u32 - 1, choice: NONE };
        }
    }

    /// Sorts all choices by what they add to spend, and notes the best up to each.
    fn index_singles(&mut self) {
        self.singles.clear();
        for (position, stage) in self.stages.iter().enumerate() {
            for choice in stage.first..stage.last {
                self.singles.push((self.choices[choice as usize].shift, choice, position as u32));
            }
        }
        self.singles.sort_unstable();
        self.fitting.clear();
        let gain = |single: &(i64, u32, u32)| self.choices[single.1 as usize].gain;
        let mut top = 0u32;
        for (position, single) in self.singles.iter().enumerate() {
            if gain(single) > gain(&self.singles[top as usize]) {
                top = position as u32;
            }
            self.fitting.push(top);
        }
    }

    /// Completes partial choices by the best single departure of a later stage that fits: a better
    /// split, found early, makes most of the search unnecessary.
    fn complete(&mut self, position: usize, run: &mut Run<'_>, best: &mut State) {
        let mut found = None;
        let mut fits = self.singles.len();
        for state in &self.states {
            // They are in the order of their spends: what fits into the first may not into the
            // next.
            let room = CAPACITY - state.spend;
            while fits > 0 && self.singles[fits - 1].0 > room {
                fits -= 1;
            }
            let Some(last) = fits.checked_sub(1) else { break };
            let (shift, choice, stage) = self.singles[self.fitting[last] as usize];
            let (spend, gain) =
                (state.spend + shift, state.gain + self.choices[choice as usize].gain);
            if stage as usize > position && run.improves(spend, gain) {
                run.value = run.start.root.home_value + gain;
                found =
                    Some((State { spend, gain, trail: state.trail, choice: NONE }, choice, stage));
            }
        }
        if let Some((state, choice, stage)) = found {
            let coordinate = self.stages[stage as usize].coordinate;
            self.trail.push(Departure {
                before: state.trail,
                coordinate,
                to: self.choices[choice as usize].to,
            });
            *best = State { trail: self.trail.len() as u32 - 1, ..state };
        }
    }

    /// Drops the choices that cannot be part of a better split: even the cheapest way back to the
    /// budget costs too much.
    fn prune(&mut self, run: &mut Run<'_>) {
        let Some(&first) = self.stages.first() else { return };
        let (up, down) =
            (first.ratio_up.min(first.least_up), first.ratio_down.min(first.least_down));
        let mut kept = 0;
        for stage in &mut self.stages {
            let begin = kept;
            for position in stage.first as usize..stage.last as usize {
                let choice = self.choices[position];
                let bound = run.best_completion(run.origin + choice.shift, choice.gain, up, down);
                if bound > run.threshold() {
                    self.pruned.push(choice);
                    kept += 1;
                } else {
                    run.drop_bound(bound);
                }
            }
            *stage = Stage { first: begin as u32, ..*stage };
            stage.last = kept as u32;
        }
        std::mem::swap(&mut self.choices, &mut self.pruned);
        self.pruned.clear();
        let choices = &self.choices;
        self.stages.retain_mut(|entry| {
            let keeps = entry.last > entry.first;
            if keeps {
                *entry = stage(
                    entry.coordinate as usize,
                    entry.first as usize,
                    &choices[..entry.last as usize],
                );
            }
            keeps
        });
    }

    /// Puts the coordinates where a departure is cheapest first, and says at each stage how cheap
    /// the rest can be.
    fn order(&mut self) {
        self.stages.sort_unstable_by(|a, b| {
            a.ease.total_cmp(&b.ease).then(a.coordinate.cmp(&b.coordinate))
        });
        let (mut up, mut down) = (f64::INFINITY, f64::INFINITY);
        for stage in self.stages.iter_mut().rev() {
            up = up.min(stage.ratio_up);
            down = down.min(stage.ratio_down);
            stage.least_up = up;
            stage.least_down = down;
        }
        // What counts after a stage is the rest without it.
        for position in 0..self.stages.len() {
            let (up, down) = self
                .stages
                .get(position + 1)
                .map_or((f64::INFINITY, f64::INFINITY), |next| (next.least_up, next.least_down));
            self.stages[position].least_up = up;
            self.stages[position].least_down = down;
        }
    }

    /// Adds the choices of one stage to every partial choice, and drops what is dominated or
    /// hopeless.
    fn expand(&mut self, stage: Stage, run: &mut Run<'_>, best: &mut State) {
        self.next.clear();
        for &state in &self.states {
            if run.hopeful(state.spend, state.gain, stage) {
                self.next.push(state);
            }
        }
        let is_merged = stage.last - stage.first <= MERGED;
        for position in stage.first..stage.last {
            let choice = self.choices[position as usize];
            if choice.loss >= run.gap() {
                run.drop_bound(run.start.root.bound - choice.loss);
                continue;
            }
            let first = self.next.len();
            for &state in &self.states {
                let (spend, gain) = (state.spend + choice.shift, state.gain + choice.gain);
                let better = run.improves(spend, gain);
                if !run.hopeful(spend, gain, stage) && !better {
                    continue;
                }
                self.next.push(State { spend, gain, trail: state.trail, choice: position });
                if better {
                    run.value = run.start.root.home_value + gain;
                    self.trail.push(Departure {
                        before: state.trail,
                        coordinate: stage.coordinate,
                        to: choice.to,
                    });
                    *best = State { spend, gain, trail: self.trail.len() as u32 - 1, choice: NONE };
                }
            }
            if is_merged {
                self.merge(first);
            } else if self.next.len() > CROWDED + 2 * self.states.len() {
                self.drop_dominated();
            }
        }
        if !is_merged {
            self.drop_dominated();
        }
        for state in self.next.iter_mut().filter(|state| state.choice != NONE) {
            let to = self.choices[state.choice as usize].to;
            self.trail.push(Departure { before: state.trail, coordinate: stage.coordinate, to });
            (state.trail, state.choice) = (self.trail.len() as u32 - 1, NONE);
        }
        run.states += self.next.len() as u64;
        std::mem::swap(&mut self.states, &mut self.next);
    }

    /// Merges two runs of new partial choices, each in the order of its spends; the second begins
    /// at `second`.
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
            let Some((&state, rest)) = source.split_first() else { break };
            *source = rest;
            if state.gain > most {
                most = state.gain;
                self.merged.push(state);
            }
        }
        std::mem::swap(&mut self.next, &mut self.merged);
    }

    /// Keeps the partial choices that spend less or gain more than every other.
    fn drop_dominated(&mut self) {
        self.next.sort_unstable_by(order_of_spend);
        let mut most = f64::NEG_INFINITY;
        self.next.retain(|state| {
            let keeps = state.gain > most;
            most = most.max(state.gain);
            keeps
        });
    }
}

/// Empties lists that take turns and gives all of them the room of the largest: who holds what is a
/// matter of chance, and a round like an earlier one must not need more.
pub(super) fn even_out<T, const LISTS: usize>(lists: [&mut Vec<T>; LISTS]) {
    let most = lists.iter().map(|list| list.capacity()).max().unwrap_or(0);
    for list in lists {
        list.clear();
        list.reserve_exact(most);
    }
}

/// Less spend first; of equals, more gain.
fn order_of_spend(a: &State, b: &State) -> std::cmp::Ordering {
    a.spend.cmp(&b.spend).then(b.gain.total_cmp(&a.gain)).then(a.trail.cmp(&b.trail))
}

fn precedes(a: &State, b: &State) -> bool {
    if a.spend == b.spend { order_of_spend(a, b).is_le() } else { a.spend < b.spend }
}

/// The choices from `first` on as a stage.
fn stage(coordinate: usize, first: usize, choices: &[Choice]) -> Stage {
    let (mut up, mut down) = (f64::INFINITY, f64::INFINITY);
    for choice in &choices[first..] {
        let ratio = choice.loss / choice.shift.unsigned_abs().max(1) as f64;
        let side = if choice.shift > 0 { &mut up } else { &mut down };
        *side = side.min(ratio);
    }
    Stage {
        coordinate: coordinate as u32,
        first: first as u32,
        last: choices.len() as u32,
        ease: up.min(down),
        ratio_up: up,
        ratio_down: down,
        least_up: 0.0,
        least_down: 0.0,
    }
}

/// The running state of one search.
struct Run<'a> {
    start: Start<'a>,
    units_per_spend: f64,
    /// The price of one unit.
    unit_price: f64,
    origin: i64,
    value: f64,
    /// The best bound among what was dropped.
    lost: f64,
    states: u64,
    tolerance: f64,
}

impl<'a> Run<'a> {
    fn new(start: Start<'a>, tolerance: f64) -> Self {
        let units_per_spend = UNITS / start.terms.budget;
        Self {
            start,
            units_per_spend,
            unit_price: start.root.price / units_per_spend,
            origin: start.root.home_units,
            value: start.root.value,
            lost: 0.0,
            states: 0,
            tolerance: tolerance.max(NEGLIGIBLE),
        }
    }

    /// What a split must exceed to matter.
    fn threshold(&self) -> f64 {
        self.value + self.tolerance * self.value
    }

    fn gap(&self) -> f64 {
        self.start.root.bound - self.threshold()
    }

    fn choice(&self, weight: f64, from: Level, to: u32) -> Choice {
        let level = self.start.stairs.level(to);
        let shift =
            units(level.spend, self.units_per_spend) - units(from.spend, self.units_per_spend);
        let gain = weight * (level.success - from.success);
        Choice { to, shift, gain, loss: (self.unit_price * shift as f64 - gain).max(0.0) }
    }

    /// So many partial choices are made before chords are counted: about as many as counting takes
    /// time.
    fn patience(&self) -> u64 {
        COUNTED.max(4 * self.start.stairs.levels().len() as u64)
    }

    fn improves(&self, spend: i64, gain: f64) -> bool {
        spend <= CAPACITY && self.start.root.home_value + gain > self.value
    }

    /// The most that a partial choice can come to with what is left after the stage.
    fn best_completion(&self, spend: i64, gain: f64, least_up: f64, least_down: f64) -> f64 {
        let loss = self.unit_price * (spend - self.origin) as f64 - gain;
        let room = (CAPACITY - spend) as f64;
        let penalty =
            if room >= 0.0 { room * self.unit_price.min(least_up) } else { -room * least_down };
        self.start.root.bound - loss - penalty
    }

    fn hopeful(&mut self, spend: i64, gain: f64, stage: Stage) -> bool {
        let best = self.best_completion(spend, gain, stage.least_up, stage.least_down);
        if best > self.threshold() {
            return true;
        }
        self.drop_bound(best);
        false
    }

    fn drop_bound(&mut self, bound: f64) {
        self.lost = self.lost.max(bound);
    }

    /// Stops with the partial choices still open: their bounds stay in the answer.
    fn keep_open(&mut self, states: &[State], rest: &Stage) {
        let (up, down) = (rest.ratio_up.min(rest.least_up), rest.ratio_down.min(rest.least_down));
        for state in states {
            let bound = self.best_completion(state.spend, state.gain, up, down);
            self.lost = self.lost.max(bound);
        }
    }
}
