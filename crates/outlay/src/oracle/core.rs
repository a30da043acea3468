//! The exact search over steps: which jumps to pay for when every curve is a staircase.
//!
//! This is the multiple-choice knapsack. The price found by the relaxation gives every choice a *loss* against the best one
//! for its task at that price; a choice whose loss exceeds the gap cannot be part of a better split. What remains, the core,
//! is searched by lists of partial choices (Nemhauser and Ullmann's lists with the bounds of Pisinger's core algorithm):
//! a partial choice is dropped if another spends no more and gains no less, or if even the best completion cannot beat the
//! split already known. Spends are whole multiples of the budget's 2^-60, so sums are exact and equal jumps really are equal.

use super::coordinate::{Coordinate, Form};
use super::hull::{Corner, Hull};

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
    to: f64,
}

/// Another choice for one coordinate: change of spend, change of value, and what it loses at the price.
#[derive(Debug, Clone, Copy)]
struct Choice {
    to: f64,
    shift: i64,
    gain: f64,
    loss: f64,
}

/// A coordinate with choices left, and the least loss per unit of spend freed or added from here to the end of the order.
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
    trail: Vec<Departure>,
    /// Choices kept by pruning, before they replace the others.
    pruned: Vec<Choice>,
    /// Choices by change of spend: that change, the choice, its stage.
    singles: Vec<(i64, u32, u32)>,
    /// For each of them, the place of the best one up to it.
    fitting: Vec<u32>,
}

/// Where the search starts: a price with the bound it proves, and splits within the budget.
#[derive(Debug, Clone, Copy)]
pub(super) struct Start<'a> {
    pub(super) coordinates: &'a [Coordinate],
    pub(super) weights: &'a [f64],
    pub(super) hulls: &'a [Hull],
    pub(super) budget: f64,
    pub(super) price: f64,
    pub(super) bound: f64,
    /// The split to depart from: each coordinate at its best for the price. Its value, and that of the best split known.
    pub(super) spend: &'a [f64],
    pub(super) origin_value: f64,
    pub(super) value: f64,
}

/// What the search found.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    pub(super) value: f64,
    pub(super) bound: f64,
    pub(super) states: u64,
}

const NONE: u32 = u32::MAX;
/// The budget in units: spends and their sums are whole numbers of them.
const UNITS: f64 = (1u64 << 60) as f64;
/// Jumps whose spends add up to the budget but for rounding do fit: a jump counts as reached 2^-40 before its spend.
const UNIT_SLACK: i64 = 1 << 20;
/// So many new partial choices are weeded before more are made.
const CROWDED: usize = 1 << 20;
/// Partial choices that could improve by less than this share are dropped (their bound is kept).
const NEGLIGIBLE: f64 = 1e-14;

impl CoreSearch {
    /// Improves the start as far as possible. `improved` receives (coordinate, spend) for every change of the best split.
    pub(super) fn run(&mut self, start: Start<'_>, tolerance: f64, max_states: u64, mut improved: impl FnMut(usize, f64)) -> Found {
        let mut run = Run::new(start, tolerance);
        self.trail.clear();
        self.states.clear();
        let mut best = State { spend: run.origin, gain: 0.0, trail: NONE, choice: NONE };
        self.states.push(best);
        self.collect(&mut run);
        self.exchange(&mut run, &mut best);
        self.order();
        self.prune(&mut run);
        self.order();
        self.index_singles();
        for position in 0..self.stages.len() {
            let stage = self.stages[position];
            let work = self.states.len() as u64 * u64::from(stage.last - stage.first);
            if run.states + work > max_states || self.trail.len() as u64 + work >= u64::from(NONE) {
                run.keep_open(&self.states, &stage);
                break;
            }
            self.expand(stage, &mut run, &mut best);
            self.complete(position, &mut run, &mut best);
        }
        // Departures are from the origin, which need not be the split that was known.
        let improvement = run.value > start.value;
        if improvement {
            start.spend.iter().enumerate().for_each(|(coordinate, &spend)| improved(coordinate, spend));
        }
        let mut at = if improvement { best.trail } else { NONE };
        while at != NONE {
            let departure = self.trail[at as usize];
            improved(departure.coordinate as usize, departure.to);
            at = departure.before;
        }
        Found { value: run.value, bound: run.lost.max(run.value).min(start.bound), states: run.states }
    }

    /// Lists the choices whose loss does not already exceed the gap.
    fn collect(&mut self, run: &mut Run<'_>) {
        self.choices.clear();
        self.stages.clear();
        let start = run.start;
        for (coordinate, description) in start.coordinates.iter().enumerate() {
            let weight = start.weights[coordinate];
            let Form::Points { spend, success, .. } = &description.form else { continue };
            if !(weight > 0.0) {
                continue;
            }
            let first = self.choices.len();
            let from = start.spend[coordinate];
            let base = description.form.success(from);
            let (low, high) = run.worthwhile(weight, from, base, &start.hulls[coordinate]);
            let gated = start.hulls[coordinate].low == 0.0 && description.at_least > 0.0;
            let begin = if gated { description.at_least.max(low) } else { low };
            let mut offer = |to: f64, height: f64| {
                if let Some(choice) = run.choice(weight, from, base, to, height).filter(|_| to != from) {
                    self.choices.push(choice);
                }
            };
            if gated && low == 0.0 {
                offer(0.0, success[0]);
            }
            if begin <= high {
                offer(begin, description.form.success(begin));
            }
            let after = spend.partition_point(|&point| point <= begin);
            let end = spend.partition_point(|&point| point <= high);
            for position in after..end {
                offer(spend[position], success[position]);
            }
            if self.choices.len() > first {
                self.stages.push(stage(coordinate, first, &self.choices));
            }
        }
    }

    /// Looks for a better split one or two departures from the start: the better the split, the smaller the core.
    fn exchange(&mut self, run: &mut Run<'_>, best: &mut State) {
        self.index_singles();
        let room = run.capacity - run.origin;
        let mut pair = None;
        for position in std::iter::once(None).chain((0..self.singles.len()).map(Some)) {
            let (shift, gain) = position.map_or((0, 0.0), |position| {
                let choice = self.choices[self.singles[position].1 as usize];
                (choice.shift, choice.gain)
            });
            let fits = self.singles.partition_point(|single| single.0 <= room - shift);
            let Some(partner) = fits.checked_sub(1).map(|last| self.fitting[last] as usize) else { continue };
            let same = position.is_some_and(|position| self.singles[position].2 == self.singles[partner].2);
            let gain = gain + self.choices[self.singles[partner].1 as usize].gain;
            let spend = run.origin + shift + self.singles[partner].0;
            if !same && run.improves(spend, gain) {
                run.value = run.start.origin_value + gain;
                pair = Some((position, partner, spend, gain));
            }
        }
        if let Some((position, partner, spend, gain)) = pair {
            for single in position.into_iter().chain([partner]) {
                let (_, choice, stage) = self.singles[single];
                let coordinate = self.stages[stage as usize].coordinate;
                let before = if single == partner && position.is_some() { self.trail.len() as u32 - 1 } else { NONE };
                self.trail.push(Departure { before, coordinate, to: self.choices[choice as usize].to });
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

    /// Completes partial choices by the best single departure of a later stage that fits: a better split, found early,
    /// makes most of the search unnecessary.
    fn complete(&mut self, position: usize, run: &mut Run<'_>, best: &mut State) {
        let mut found = None;
        for state in &self.states {
            let room = run.capacity - state.spend;
            let fits = self.singles.partition_point(|single| single.0 <= room);
            let Some(last) = fits.checked_sub(1) else { continue };
            let (shift, choice, stage) = self.singles[self.fitting[last] as usize];
            let (spend, gain) = (state.spend + shift, state.gain + self.choices[choice as usize].gain);
            if stage as usize > position && run.improves(spend, gain) {
                run.value = run.start.origin_value + gain;
                found = Some((State { spend, gain, trail: state.trail, choice: NONE }, choice, stage));
            }
        }
        if let Some((state, choice, stage)) = found {
            let coordinate = self.stages[stage as usize].coordinate;
            self.trail.push(Departure { before: state.trail, coordinate, to: self.choices[choice as usize].to });
            *best = State { trail: self.trail.len() as u32 - 1, ..state };
        }
    }

    /// Drops the choices that cannot be part of a better split: even the cheapest way back to the budget costs too much.
    fn prune(&mut self, run: &mut Run<'_>) {
        let Some(&first) = self.stages.first() else { return };
        let (up, down) = (first.ratio_up.min(first.least_up), first.ratio_down.min(first.least_down));
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
                *entry = stage(entry.coordinate as usize, entry.first as usize, &choices[..entry.last as usize]);
            }
            keeps
        });
    }

    /// Puts the coordinates where a departure is cheapest first, and says at each stage how cheap the rest can be.
    fn order(&mut self) {
        self.stages.sort_unstable_by(|a, b| a.ease.total_cmp(&b.ease).then(a.coordinate.cmp(&b.coordinate)));
        let (mut up, mut down) = (f64::INFINITY, f64::INFINITY);
        for stage in self.stages.iter_mut().rev() {
            up = up.min(stage.ratio_up);
            down = down.min(stage.ratio_down);
            stage.least_up = up;
            stage.least_down = down;
        }
        // What counts after a stage is the rest without it.
        for position in 0..self.stages.len() {
            let (up, down) = self.stages.get(position + 1).map_or((f64::INFINITY, f64::INFINITY), |next| (next.least_up, next.least_down));
            self.stages[position].least_up = up;
            self.stages[position].least_down = down;
        }
    }

    /// Adds the choices of one stage to every partial choice, and drops what is dominated or hopeless.
    fn expand(&mut self, stage: Stage, run: &mut Run<'_>, best: &mut State) {
        self.next.clear();
        for &state in &self.states {
            if run.hopeful(state.spend, state.gain, stage) {
                self.next.push(state);
            }
        }
        for position in stage.first..stage.last {
            let choice = self.choices[position as usize];
            if choice.loss >= run.gap() {
                run.drop_bound(run.start.bound - choice.loss);
                continue;
            }
            for &state in &self.states {
                let (spend, gain) = (state.spend + choice.shift, state.gain + choice.gain);
                let better = run.improves(spend, gain);
                if !run.hopeful(spend, gain, stage) && !better {
                    continue;
                }
                self.next.push(State { spend, gain, trail: state.trail, choice: position });
                if better {
                    run.value = run.start.origin_value + gain;
                    self.trail.push(Departure { before: state.trail, coordinate: stage.coordinate, to: choice.to });
                    *best = State { spend, gain, trail: self.trail.len() as u32 - 1, choice: NONE };
                }
            }
            if self.next.len() > CROWDED + 2 * self.states.len() {
                self.drop_dominated();
            }
        }
        self.drop_dominated();
        for state in self.next.iter_mut().filter(|state| state.choice != NONE) {
            let to = self.choices[state.choice as usize].to;
            self.trail.push(Departure { before: state.trail, coordinate: stage.coordinate, to });
            (state.trail, state.choice) = (self.trail.len() as u32 - 1, NONE);
        }
        run.states += self.next.len() as u64;
        std::mem::swap(&mut self.states, &mut self.next);
    }

    /// Keeps the partial choices that spend less or gain more than every other.
    fn drop_dominated(&mut self) {
        self.next.sort_unstable_by(|a, b| a.spend.cmp(&b.spend).then(b.gain.total_cmp(&a.gain)).then(a.trail.cmp(&b.trail)));
        let mut most = f64::NEG_INFINITY;
        self.next.retain(|state| {
            let keeps = state.gain > most;
            most = most.max(state.gain);
            keeps
        });
    }
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
    capacity: i64,
    origin: i64,
    value: f64,
    /// The best bound among what was dropped.
    lost: f64,
    states: u64,
    tolerance: f64,
}

impl<'a> Run<'a> {
    fn new(start: Start<'a>, tolerance: f64) -> Self {
        let units_per_spend = UNITS / start.budget;
        let origin = start.spend.iter().map(|&spend| units(spend, units_per_spend)).sum();
        let tolerance = tolerance.max(NEGLIGIBLE);
        let unit_price = start.price / units_per_spend;
        Self {
            start,
            units_per_spend,
            unit_price,
            capacity: UNITS as i64 + UNIT_SLACK,
            origin,
            value: start.value,
            lost: 0.0,
            states: 0,
            tolerance,
        }
    }

    /// What a split must exceed to matter.
    fn threshold(&self) -> f64 {
        self.value + self.tolerance * self.value
    }

    fn gap(&self) -> f64 {
        self.start.bound - self.threshold()
    }

    fn choice(&mut self, weight: f64, from: f64, base: f64, to: f64, height: f64) -> Option<Choice> {
        let shift = units(to, self.units_per_spend) - units(from, self.units_per_spend);
        let gain = weight * (height - base);
        let loss = (self.unit_price * shift as f64 - gain).max(0.0);
        if loss >= self.gap() {
            self.drop_bound(self.start.bound - loss);
            return None;
        }
        Some(Choice { to, shift, gain, loss })
    }

    /// The range of spends whose loss can be below the gap. Losses at the corners of the envelope grow away from the start,
    /// and a point under a chord loses at least as much as the chord's better end.
    fn worthwhile(&mut self, weight: f64, from: f64, base: f64, hull: &Hull) -> (f64, f64) {
        let corners = &hull.corners;
        let loss = |corner: &Corner| self.start.price * (corner.spend - from) - weight * (corner.success - base);
        let home = corners.partition_point(|corner| corner.spend <= from).max(1) - 1;
        let gap = self.gap();
        let left = corners[..home].iter().rposition(|corner| loss(corner) >= gap);
        let right = corners[home..].iter().position(|corner| loss(corner) >= gap).map(|offset| home + offset);
        let dropped = left.into_iter().chain(right).map(|place| loss(&corners[place])).fold(f64::INFINITY, f64::min);
        self.drop_bound(self.start.bound - dropped);
        (left.map_or(hull.low, |place| corners[place].spend), right.map_or(hull.high, |place| corners[place].spend))
    }

    fn improves(&self, spend: i64, gain: f64) -> bool {
        spend <= self.capacity && self.start.origin_value + gain > self.value
    }

    /// The most that a partial choice can come to with what is left after the stage.
    fn best_completion(&self, spend: i64, gain: f64, least_up: f64, least_down: f64) -> f64 {
        let loss = self.unit_price * (spend - self.origin) as f64 - gain;
        let room = (self.capacity - spend) as f64;
        let penalty = if room >= 0.0 { room * self.unit_price.min(least_up) } else { -room * least_down };
        self.start.bound - loss - penalty
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

/// A spend in whole units, rounded down: every split within the budget stays within it in units.
fn units(spend: f64, units_per_spend: f64) -> i64 {
    (spend * units_per_spend) as i64
}
