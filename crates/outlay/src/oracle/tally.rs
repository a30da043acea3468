//! The exact search under two prices: one on spend, one on the number of chords taken.
//!
//! At the pair of prices that proves a bound (see [`counted`](super::counted)) every level of a
//! task has a loss against its best one, and few are below what is still open, even where at the
//! price alone nearly all are. Their combinations are listed like those of the core: a partial
//! choice is dropped if one with the same number of chords spends no more and gains no less, or if
//! it cannot beat the split already known. Splits that take a number of chords from the other side
//! of the limit are not meant by the bound, but where one is within the budget and better, it is
//! taken.

use super::core::even_out;
use super::counted::{Counted, Priced};
use super::stairs::{CAPACITY, Stairs, Terms, UNITS, units};
use crate::numeric::compensated::Sum;

/// Another level for one coordinate.
#[derive(Debug, Clone, Copy)]
struct Choice {
    coordinate: u32,
    to: u32,
    shift: i64,
    count: i32,
    gain: f64,
    loss: f64,
}

/// A coordinate's choices, and the least loss per unit added or freed from the next stage on.
#[derive(Debug, Clone, Copy)]
struct Stage {
    first: u32,
    last: u32,
    ease: f64,
    up: f64,
    down: f64,
}

/// A partial choice.
#[derive(Debug, Clone, Copy)]
struct State {
    spend: i64,
    gain: f64,
    loss: f64,
    count: i32,
    trail: u32,
}

/// Buffers, kept between calls.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// The split found, if it is better than the one known.
    pub(super) levels: Vec<u32>,
    /// Each coordinate's best level at the prices.
    homes: Vec<u32>,
    losses: Vec<f64>,
    choices: Vec<Choice>,
    stages: Vec<Stage>,
    states: Vec<State>,
    next: Vec<State>,
    /// The choices made, each with the place of the one before it.
    trail: Vec<(u32, u32)>,
}

/// What a search found.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tallied {
    /// No split with such a number of chords is worth more.
    pub(super) bound: f64,
    /// Partial choices kept.
    pub(super) states: u64,
    /// Whether `levels` are a better split than the one known.
    pub(super) is_better: bool,
}

/// What is known at the start, and what a split must exceed to matter.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known {
    pub(super) value: f64,
    pub(super) tolerance: f64,
    pub(super) max_states: u64,
}

/// The running state of one search.
struct Run {
    bound: f64,
    unit_price: f64,
    home_units: i64,
    home_value: f64,
    value: f64,
    tolerance: f64,
    /// The best bound among what was dropped.
    lost: f64,
    /// The trail to a better split.
    best: Option<u32>,
}

const NONE: u32 = u32::MAX;
/// So many choices are tried first, and then those that lose so many times more.
const FIRST_CHOICES: usize = 48;
const WIDER: f64 = 4.0;
/// With more choices than this prices tell too little apart.
const MOST_CHOICES: usize = 1 << 9;
/// So many partial choices at most: beyond that the bound is left as it was.
const MOST_STATES: u64 = 1 << 18;

impl Tally {
    /// Improves what is known and lowers the bound, if the prices tell the levels apart. First with
    /// the choices that lose least: a better split leaves fewer of them. What is proved is proved
    /// by the last pass, with all that lose less than is open.
    pub(super) fn run(
        &mut self,
        stairs: &Stairs,
        terms: Terms<'_>,
        counted: Counted,
        known: Known,
    ) -> Tallied {
        let mut run = self.start(stairs, terms, counted, known);
        let mut states = 0;
        let mut limit = self.first_limit(stairs, terms, counted);
        let bound = loop {
            limit = limit.min(run.gap());
            run.lost = 0.0;
            let is_done = self.collect(stairs, terms, counted, limit, &mut run) && {
                self.order();
                self.search(&mut run, &mut states, known.max_states.min(MOST_STATES))
            };
            self.write(&mut run);
            if !is_done {
                break counted.bound;
            }
            if limit >= run.gap() {
                break run.lost.max(run.value).min(counted.bound);
            }
            limit = (limit * WIDER).max(run.gap() / (WIDER * WIDER * WIDER));
        };
        Tallied { bound, states, is_better: run.value > known.value }
    }

    /// Lists combinations of the choices, stage by stage; false if there are too many.
    fn search(&mut self, run: &mut Run, states: &mut u64, max_states: u64) -> bool {
        self.trail.clear();
        even_out([&mut self.states, &mut self.next]);
        self.states.push(State {
            spend: run.home_units,
            gain: 0.0,
            loss: 0.0,
            count: 0,
            trail: NONE,
        });
        run.try_split(&self.states[0]);
        for position in 0..self.stages.len() {
            let stage = self.stages[position];
            let work = self.states.len() as u64 * u64::from(stage.last - stage.first);
            if *states + work > max_states {
                return false;
            }
            self.expand(stage, run);
            *states += self.states.len() as u64;
        }
        true
    }

    /// Keeps the split found last, if it is a better one.
    fn write(&mut self, run: &mut Run) {
        let Some(mut at) = run.best.take() else { return };
        self.levels.clone_from(&self.homes);
        while at != NONE {
            let (choice, before) = self.trail[at as usize];
            let choice = self.choices[choice as usize];
            self.levels[choice.coordinate as usize] = choice.to;
            at = before;
        }
    }

    /// A loss that few choices are below.
    fn first_limit(&mut self, stairs: &Stairs, terms: Terms<'_>, counted: Counted) -> f64 {
        self.losses.clear();
        for (coordinate, (&weight, &home)) in terms.weights.iter().zip(&self.homes).enumerate() {
            let here = counted.priced(stairs, coordinate, weight, home);
            counted.each_level(stairs, coordinate, weight, |other| {
                if other.level != home {
                    self.losses.push(here.surplus - other.surplus);
                }
            });
        }
        if self.losses.len() <= FIRST_CHOICES {
            return f64::INFINITY;
        }
        *self.losses.select_nth_unstable_by(FIRST_CHOICES, f64::total_cmp).1
    }

    /// Writes each coordinate's best level at the prices.
    fn start(&mut self, stairs: &Stairs, terms: Terms<'_>, counted: Counted, known: Known) -> Run {
        let per_spend = UNITS / terms.budget;
        let (mut home_value, mut home_units) = (Sum::default(), 0);
        self.homes.clear();
        for (coordinate, &weight) in terms.weights.iter().enumerate() {
            let best = counted.best_level(stairs, coordinate, weight).level;
            let level = stairs.level(best);
            home_value.add(weight * level.success);
            home_units += units(level.spend, per_spend);
            self.homes.push(best);
        }
        let unit_price = counted.price / per_spend;
        let (bound, home_value, value, tolerance) =
            (counted.bound, home_value.value(), known.value, known.tolerance);
        Run { bound, unit_price, home_units, home_value, value, tolerance, lost: 0.0, best: None }
    }

    /// Lists the choices that lose less than `limit`; false if there are too many.
    fn collect(
        &mut self,
        stairs: &Stairs,
        terms: Terms<'_>,
        counted: Counted,
        limit: f64,
        run: &mut Run,
    ) -> bool {
        let per_spend = UNITS / terms.budget;
        self.choices.clear();
        self.stages.clear();
        let mut dropped = f64::INFINITY;
        for (coordinate, (&weight, &home)) in terms.weights.iter().zip(&self.homes).enumerate() {
            let first = self.choices.len();
            let from = stairs.level(home);
            let here = counted.priced(stairs, coordinate, weight, home);
            counted.each_level(stairs, coordinate, weight, |Priced { level, count, surplus }| {
                let loss = (here.surplus - surplus).max(0.0);
                if loss >= limit {
                    dropped = dropped.min(loss);
                } else if level != home {
                    let to = stairs.level(level);
                    let shift = units(to.spend, per_spend) - units(from.spend, per_spend);
                    let (gain, count) =
                        (weight * (to.success - from.success), count as i32 - here.count as i32);
                    self.choices.push(Choice {
                        coordinate: coordinate as u32,
                        to: level,
                        shift,
                        count,
                        gain,
                        loss,
                    });
                }
            });
            if self.choices.len() > MOST_CHOICES {
                return false;
            }
            if self.choices.len() > first {
                self.stages.push(stage(first, &self.choices));
            }
        }
        run.drop_bound(run.bound - dropped);
        true
    }

    /// Puts the coordinates where a departure is cheapest first, and says at each stage how cheap
    /// the rest can be.
    fn order(&mut self) {
        self.stages.sort_unstable_by(|a, b| a.ease.total_cmp(&b.ease).then(a.first.cmp(&b.first)));
        let (mut up, mut down) = (f64::INFINITY, f64::INFINITY);
        for stage in self.stages.iter_mut().rev() {
            (stage.up, up) = (up, up.min(stage.up));
            (stage.down, down) = (down, down.min(stage.down));
        }
    }

    fn expand(&mut self, stage: Stage, run: &mut Run) {
        self.next.clear();
        for &state in &self.states {
            if run.hopeful(&state, stage) {
                self.next.push(state);
            }
            for place in stage.first..stage.last {
                let choice = self.choices[place as usize];
                let made = State {
                    spend: state.spend + choice.shift,
                    gain: state.gain + choice.gain,
                    loss: state.loss + choice.loss,
                    count: state.count + choice.count,
                    trail: self.trail.len() as u32,
                };
                let is_best = run.try_split(&made);
                if is_best || run.hopeful(&made, stage) {
                    self.trail.push((place, state.trail));
                    self.next.push(made);
                }
            }
        }
        self.next.sort_unstable_by(|a, b| {
            let order = a.count.cmp(&b.count).then(a.spend.cmp(&b.spend));
            order.then(b.gain.total_cmp(&a.gain)).then(a.trail.cmp(&b.trail))
        });
        let (mut count, mut most) = (i32::MIN, f64::NEG_INFINITY);
        self.next.retain(|state| {
            if state.count != count {
                (count, most) = (state.count, f64::NEG_INFINITY);
            }
            let keeps = state.gain > most;
            most = most.max(state.gain);
            keeps
        });
        std::mem::swap(&mut self.states, &mut self.next);
    }
}

impl Run {
    /// What a split must exceed to matter.
    fn threshold(&self) -> f64 {
        self.value + self.tolerance * self.value
    }

    /// What is open: choices that lose more do not matter.
    fn gap(&self) -> f64 {
        self.bound - self.threshold()
    }

    fn drop_bound(&mut self, bound: f64) {
        self.lost = self.lost.max(bound);
    }

    /// Takes a split that is within the budget and better.
    fn try_split(&mut self, state: &State) -> bool {
        let is_better = state.spend <= CAPACITY && self.home_value + state.gain > self.value;
        if is_better {
            (self.value, self.best) = (self.home_value + state.gain, Some(state.trail));
        }
        is_better
    }

    /// Whether a partial choice can still come to more than is known, with the stages after this
    /// one.
    fn hopeful(&mut self, state: &State, stage: Stage) -> bool {
        let room = (CAPACITY - state.spend) as f64;
        let penalty =
            if room >= 0.0 { room * self.unit_price.min(stage.up) } else { -room * stage.down };
        let bound = self.bound - state.loss - penalty;
        if bound > self.threshold() {
            return true;
        }
        self.drop_bound(bound);
        false
    }
}

/// The choices from `first` on as a stage, with its own least loss per unit.
fn stage(first: usize, choices: &[Choice]) -> Stage {
    let (mut up, mut down) = (f64::INFINITY, f64::INFINITY);
    for choice in &choices[first..] {
        let ratio = choice.loss / choice.shift.unsigned_abs().max(1) as f64;
        let side = if choice.shift > 0 { &mut up } else { &mut down };
        *side = side.min(ratio);
    }
    Stage { first: first as u32, last: choices.len() as u32, ease: up.min(down), up, down }
}

#[cfg(test)]
mod tests {
    use super::super::counted;
    use super::super::model::Model;
    use super::*;
    use crate::{Curve, ProblemSpec, TaskSpec};

    /// A number between zero and one that depends on both arguments.
    fn number(seed: u64, place: u64) -> f64 {
        let mut bits =
            seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ place.wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 31)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ (bits >> 29)) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Tasks with one or two jumps, each worth a fixed amount and so much per unit, and values that
    /// are nearly equal.
    fn model(seed: u64) -> Model {
        let tasks = 3 + seed % 6;
        let curve = |task: u64| {
            let first = 0.05 + number(seed, 10 * task);
            let second = first + 0.05 + number(seed, 10 * task + 1);
            let (at, success) = (
                vec![first / tasks as f64, second / tasks as f64],
                vec![0.1 + 0.3 * first, 0.2 + 0.3 * second],
            );
            let jumps = if (task + seed).is_multiple_of(3) { 2 } else { 1 };
            Curve::steps(at[..jumps].to_vec(), success[..jumps].to_vec()).unwrap()
        };
        let specs = (0..tasks).map(|task| TaskSpec::new(format!("t{task}"), curve(task))).collect();
        let values: Vec<f64> =
            (0..tasks).map(|task| 1.0 + 0.05 * number(seed, 10 * task + 2)).collect();
        let mut model =
            Model::new(&ProblemSpec { tasks: specs, ..ProblemSpec::default() }.check().unwrap());
        model.load(&values, 0.5, true);
        model
    }

    /// The most that all splits are worth which take up to `limit` chords, and of those that take
    /// more.
    fn truth(stairs: &Stairs, weights: &[f64], limit: usize) -> [f64; 2] {
        fn go(
            stairs: &Stairs,
            weights: &[f64],
            coordinate: usize,
            left: f64,
            count: usize,
            worth: f64,
            best: &mut dyn FnMut(usize, f64),
        ) {
            let Some(weight) = weights.get(coordinate) else { return best(count, worth) };
            let (corners, _) = stairs.corners(coordinate);
            for level in corners[0]..stairs.end(coordinate) as u32 {
                let there = stairs.level(level);
                let chords = corners.partition_point(|corner| *corner <= level) - 1;
                if there.spend <= left + 1e-13 {
                    go(
                        stairs,
                        weights,
                        coordinate + 1,
                        left - there.spend,
                        count + chords,
                        worth + weight * there.success,
                        best,
                    );
                }
            }
        }
        let mut found = [f64::NEG_INFINITY; 2];
        go(stairs, weights, 0, 0.5, 0, 0.0, &mut |count, worth| {
            let place = usize::from(count > limit);
            found[place] = found[place].max(worth);
        });
        found
    }

    /// Both cases' bounds hold for all their splits, before the search and after it, and mostly the
    /// search ends at the best split.
    #[test]
    fn both_cases_are_searched_exactly() {
        let (mut tally, mut open, mut closed) = (Tally::default(), 0, 0);
        for seed in 0..2000 {
            let mut model = model(seed);
            let mut stairs = model.stairs.take().unwrap();
            let terms = Terms { weights: &model.weights, budget: model.budget, free: model.free };
            let root = stairs.relax(terms, None);
            if root.is_settled {
                continue;
            }
            let limit = (0..stairs.len()).map(|coordinate| stairs.corners(coordinate).1).sum();
            let truth = truth(&stairs, &model.weights, limit);
            let most = truth[0].max(truth[1]);
            for (case, truth) in counted::bounds(&stairs, terms, root, 0.0).into_iter().zip(truth) {
                assert!(
                    case.bound >= truth * (1.0 - 1e-13),
                    "seed {seed}: {} below {truth}",
                    case.bound
                );
                let known = Known { value: 0.5 * root.value, tolerance: 1e-14, max_states: 10_000 };
                let found = tally.run(&stairs, terms, case, known);
                assert!(
                    found.bound >= truth * (1.0 - 1e-13),
                    "seed {seed}: {} below {truth} after the search",
                    found.bound
                );
                if found.is_better {
                    let levels = tally.levels.iter().map(|&level| stairs.level(level));
                    let spend: f64 = levels.clone().map(|level| level.spend).sum();
                    let value: f64 = levels
                        .zip(&model.weights)
                        .map(|(level, weight)| weight * level.success)
                        .sum();
                    assert!(
                        spend <= 0.5 * (1.0 + 1e-12) && value <= most * (1.0 + 1e-12),
                        "seed {seed}: {value} for {spend}"
                    );
                    let is_exact = found.bound <= value * (1.0 + 1e-11);
                    (open, closed) = if is_exact { (open, closed + 1) } else { (open + 1, closed) };
                    assert!(
                        !is_exact || value >= truth * (1.0 - 1e-12),
                        "seed {seed}: {value} passes for {truth}"
                    );
                }
            }
        }
        assert!(closed > 20 * open && closed > 1000, "{closed} closed, {open} open");
    }
}
