//! Power tasks alone, between their bounds, when little has changed since an earlier call: what a
//! learner asks in every round.
//!
//! An *anchor* holds values, a price and each task's wish at it, worked out in full. A task's wish
//! is the value to the power `elasticity`, divided by as high a power of the price; near the anchor
//! both powers are short polynomials. One pass reads the wishes at the last price and how their sum
//! goes on (its first five moments in the elasticity); the price follows from that to 1e-11 of the
//! budget or better; a second pass moves the wishes there and adds up spend and value. A call too
//! far away makes a new anchor. A call that this does not fit, because some task wants to be at a
//! bound, is left to the general search.

use std::ops::{Add, Mul, Sub};

use pulp::{Arch, Simd, WithSimd};
use serde::{Deserialize, Serialize};

use super::close::log_ratio;
use super::four::{Four, FourSums, SMALL, with_four};
use super::prepared::PreparedProblem;
use super::tolerances::BOUND_ROUNDING as ROUNDING;
use super::{Call, Found};
use crate::curve::{Curve, Family};
use crate::problem::Bounds;

/// One number, or one a lane.
pub(super) trait Number:
    Copy
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Add<f64, Output = Self>
    + Sub<f64, Output = Self>
    + Mul<f64, Output = Self>
{
}

impl Number for f64 {}
impl<S: Simd> Number for Four<S> {}

/// The tasks, four at a time, and the anchor.
#[derive(Debug)]
pub(super) struct Nearby {
    arch: Arch,
    tasks: usize,
    fours: Vec<Tasks>,
    most_elastic: f64,
    /// The anchor's price, and that of the last call here.
    anchor: Option<Price>,
    last: Price,
    /// The task whose spend falls fastest with the price: it can take a remainder.
    softest: usize,
    /// So many calls are not tried, after one that did not fit; twice as many after the next.
    pause: u32,
    next_pause: u32,
}

/// What is remembered between calls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Warmth {
    anchor: Option<AnchorWarmth>,
    pause: u32,
    next_pause: u32,
}

/// An anchor, and where the last call near it ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct AnchorWarmth {
    log_price: f64,
    values: Vec<f64>,
    last_log_price: f64,
    last_price: f64,
}

/// A price and its logarithm.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Price {
    pub(super) log: f64,
    pub(super) price: f64,
}

/// Four tasks. Lanes of no task have value one and wish nothing.
#[derive(Debug, Clone, Copy)]
struct Tasks {
    /// The logarithm of the wish at value and price one.
    base_level: [f64; 4],
    elasticity: [f64; 4],
    /// One over the exponent.
    over_exponent: [f64; 4],
    floor: [f64; 4],
    low: [f64; 4],
    high: [f64; 4],
    /// Value and wish at the anchor.
    value: [f64; 4],
    wish: [f64; 4],
    /// The wish at the price tried last.
    trial: [f64; 4],
    /// One over exponent and value, in this call.
    per_worth: [f64; 4],
    /// The value of the lanes of no task.
    filler: [f64; 4],
}

/// Below this many tasks one of them takes everything.
const FEWEST: usize = 2;
/// Spends, values and prices within these limits cannot leave the floating-point numbers.
pub(super) const LEAST_SPEND: f64 = 1e-90;
const LEAST_VALUE: f64 = 1e-90;
const MOST_VALUE: f64 = 1e90;
/// A remainder up to this share of the budget, and this share of its own spend, goes to the softest
/// task: its slope then stays the price to the last digit.
pub(super) const ABSORBABLE: f64 = 1e-11;
pub(super) const UNNOTICED: f64 = 1e-8;
/// So close to the budget the total itself is a good enough series in the price's logarithm: what
/// is left out is below 1e-12.
pub(super) const NEXT_DOOR: f64 = 3e-3;
/// Trials of the price for one call, and for one anchor.
const MAX_MOVES: usize = 6;
const MAX_ANCHOR_TRIALS: usize = 12;
/// The longest pause after calls that did not fit.
const LONGEST_PAUSE: u32 = 64;

impl Nearby {
    /// None unless all tasks are power curves and there are some.
    pub(super) fn new(model: &PreparedProblem) -> Option<Self> {
        let tasks = model.curves.len();
        if tasks < FEWEST {
            return None;
        }
        let mut fours = vec![Tasks::NONE; tasks.div_ceil(4)];
        let mut most_elastic: f64 = 0.0;
        for (task, (curve, &bounds)) in model.curves.iter().zip(&model.bounds).enumerate() {
            let elasticity = fours[task / 4].set(task % 4, curve, bounds)?;
            most_elastic = most_elastic.max(elasticity);
        }
        let (anchor, last) = (None, Price::default());
        Some(Self {
            arch: Arch::new(),
            tasks,
            fours,
            most_elastic,
            anchor,
            last,
            softest: 0,
            pause: 0,
            next_pause: 1,
        })
    }

    /// The best split, if all tasks are between their bounds in it. `start` is a price to begin
    /// with.
    ///
    /// Values and budget need not be checked: nothing is found for bad ones.
    pub(super) fn allocate(&mut self, call: &mut Call<'_>, start: Option<f64>) -> Option<Found> {
        if self.pause > 0 {
            self.pause -= 1;
            return None;
        }
        let is_known = call.values.len() == self.tasks
            && call.budget >= LEAST_SPEND
            && call.budget.is_finite();
        let start = start.filter(|_| is_known)?;
        let mut found = if self.anchor.is_some() { self.try_near(call) } else { None };
        if found.is_none() && self.make_anchor(call.values, call.budget, start) {
            found = self.try_near(call);
        }
        if found.is_none() {
            self.anchor = None;
            self.pause = self.next_pause;
            self.next_pause = (2 * self.next_pause).min(LONGEST_PAUSE);
        } else {
            self.next_pause = 1;
        }
        found
    }

    /// Forgets the anchor.
    pub(super) fn forget(&mut self) {
        (self.anchor, self.pause, self.next_pause) = (None, 0, 1);
    }

    /// What is to be remembered; the rest follows from it.
    pub(super) fn warmth(&self) -> Warmth {
        let anchor = self.anchor.map(|anchor| AnchorWarmth {
            log_price: anchor.log,
            values: (0..self.tasks).map(|task| self.fours[task / 4].value[task % 4]).collect(),
            last_log_price: self.last.log,
            last_price: self.last.price,
        });
        Warmth { anchor, pause: self.pause, next_pause: self.next_pause }
    }

    /// Goes on as whoever remembered this would have.
    pub(super) fn start_from(&mut self, warmth: &Warmth) {
        (self.pause, self.next_pause) =
            (warmth.pause.min(LONGEST_PAUSE), warmth.next_pause.clamp(1, LONGEST_PAUSE));
        let Some(AnchorWarmth { log_price, values, last_log_price, last_price }) = &warmth.anchor
        else {
            return;
        };
        let are_sound = values.len() == self.tasks
            && values.iter().all(|value| (LEAST_VALUE..MOST_VALUE).contains(value));
        if !(are_sound
            && log_price.is_finite()
            && last_log_price.is_finite()
            && *last_price > 0.0
            && last_price.is_finite())
        {
            return;
        }
        self.set_values(values);
        with_four(self.arch, Anchor { fours: &mut self.fours, log_price: *log_price });
        self.anchor = Some(Price { log: *log_price, price: log_price.exp() });
        self.last = Price { log: *last_log_price, price: *last_price };
        self.softest = self.find_softest();
    }

    fn set_values(&mut self, values: &[f64]) {
        for (tasks, values) in self.fours.iter_mut().zip(values.chunks(4)) {
            tasks.value[..values.len()].copy_from_slice(values);
        }
    }

    fn try_near(&mut self, call: &mut Call<'_>) -> Option<Found> {
        let (at, found) = with_four(self.arch, Solve { nearby: self, call })?;
        self.last = at;
        Some(found)
    }

    /// Works out values, price and wishes in full; false if there is no price at which the wishes
    /// come close to the budget.
    fn make_anchor(&mut self, values: &[f64], budget: f64, start: f64) -> bool {
        if !values.iter().all(|value| (LEAST_VALUE..MOST_VALUE).contains(value)) {
            return false;
        }
        self.set_values(values);
        let mut log = start.ln();
        for _ in 0..MAX_ANCHOR_TRIALS {
            let moments = with_four(self.arch, Anchor { fours: &mut self.fours, log_price: log });
            let Some(step) = moments.step_to(budget) else { return false };
            if self.most_elastic * step.abs() <= 0.25 * SMALL {
                self.anchor = Some(Price { log, price: log.exp() });
                self.last = Price { log, price: log.exp() };
                self.softest = self.find_softest();
                return true;
            }
            log += step;
        }
        false
    }

    fn is_inside(&self, task: usize, spend: f64) -> bool {
        let (tasks, lane) = (&self.fours[task / 4], task % 4);
        spend > tasks.low[lane] && spend < tasks.high[lane]
    }

    fn find_softest(&self) -> usize {
        let fall = |task: usize| {
            self.fours[task / 4].elasticity[task % 4] * self.fours[task / 4].wish[task % 4]
        };
        (0..self.tasks).fold(0, |best, task| if fall(task) > fall(best) { task } else { best })
    }
}

impl Tasks {
    const NONE: Self = Self {
        base_level: [f64::NEG_INFINITY; 4],
        elasticity: [1.0; 4],
        over_exponent: [0.0; 4],
        floor: [0.0; 4],
        low: [-1.0; 4],
        high: [1.0; 4],
        value: [1.0; 4],
        wish: [0.0; 4],
        trial: [0.0; 4],
        per_worth: [0.0; 4],
        filler: [1.0; 4],
    };

    /// Puts a task into a lane; returns its elasticity, or nothing if it is no power curve.
    fn set(&mut self, lane: usize, curve: &Curve, bounds: Bounds) -> Option<f64> {
        let Family::Power(power) = curve.family() else { return None };
        let (exponent, scale) = (power.exponent(), power.scale());
        if !(exponent < 1.0 && curve.height() > 0.0 && bounds.at_least == 0.0) {
            return None;
        }
        let elasticity = 1.0 / (1.0 - exponent);
        self.base_level[lane] = scale.ln() + elasticity * (curve.height() * exponent / scale).ln();
        self.elasticity[lane] = elasticity;
        self.over_exponent[lane] = 1.0 / exponent;
        self.floor[lane] = curve.floor();
        self.filler[lane] = 0.0;
        self.low[lane] = bounds.min.max(LEAST_SPEND);
        self.high[lane] = bounds.max.min(scale);
        Some(elasticity)
    }
}

/// Sums over the tasks of wish * elasticity^n: how the total goes on when the price changes.
#[derive(Debug, Clone, Copy)]
struct Moments([f64; 5]);

impl Moments {
    /// The step of the price's logarithm at which the wishes add up to `target`, up to the fifth
    /// power of the step.
    #[inline(always)]
    fn step_to(self, target: f64) -> Option<f64> {
        let [total, first, second, third, fourth] = self.0;
        if !(total > 0.0 && first < f64::INFINITY) {
            return None;
        }
        let over_first = 1.0 / first;
        let NextDoor { bend, step } = next_door(self.0, over_first, target);
        if bend.abs() < NEXT_DOOR && step.is_finite() {
            return Some(step);
        }
        // Further away the logarithm of the total is the better series, with the cumulants of the
        // elasticity as coefficients.
        let over = 1.0 / total;
        let (mean, second, third, fourth) =
            (first * over, second * over, third * over, fourth * over);
        let square = mean * mean;
        let variance = second - square;
        let skewness = third - mean * (3.0 * second - 2.0 * square);
        let fourth = fourth - 4.0 * mean * third - 3.0 * second * second
            + square * (12.0 * second - 6.0 * square);
        let over_mean = total * over_first;
        let missing = log_ratio(total, target) * over_mean;
        let (a, b, c) = (
            variance * over_mean * 0.5,
            skewness * over_mean * (1.0 / 6.0),
            fourth * over_mean * (1.0 / 24.0),
        );
        let step = reversed(missing, a, b, c);
        // Far away the series says nothing, but its beginning is Newton's step.
        let is_near = (missing * a).abs() < 0.25 && step.is_finite();
        Some(if is_near { step } else { missing }).filter(|step| step.is_finite())
    }
}

/// A step by the series of the total itself, good if its bend is below [`NEXT_DOOR`].
pub(super) struct NextDoor<N> {
    pub(super) bend: N,
    pub(super) step: N,
}

/// The step to `target` of one call, or of one call a lane. `over_first` is one over the second
/// moment.
#[inline(always)]
pub(super) fn next_door<N: Number>(moments: [N; 5], over_first: N, target: f64) -> NextDoor<N> {
    let [total, _, second, third, fourth] = moments;
    let newton = (total - target) * over_first;
    let (a, b, c) = (
        second * over_first * 0.5,
        third * over_first * (1.0 / 6.0),
        fourth * over_first * (1.0 / 24.0),
    );
    NextDoor { bend: newton * a, step: reversed(newton, a, b, c) }
}

/// The x at which x - a x² + b x³ - c x⁴ is y, up to the fifth power of y.
#[inline(always)]
fn reversed<N: Number>(y: N, a: N, b: N, c: N) -> N {
    y * (y * (a + y * ((a * 2.0 * a - b) + y * (a * 5.0 * (a * a - b) + c))) + 1.0)
}

/// The wishes of all tasks at a price, from the values at the anchor.
struct Anchor<'a> {
    fours: &'a mut [Tasks],
    log_price: f64,
}

impl WithSimd for Anchor<'_> {
    type Output = Moments;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Moments {
        let load = |numbers: &[f64; 4]| Four::load(simd, numbers);
        let mut sums = [Four::splat(simd, 0.0); 5];
        for tasks in self.fours {
            let per_value = load(&tasks.value).ln() - self.log_price;
            let wish = (load(&tasks.base_level) + load(&tasks.elasticity) * per_value).exp();
            wish.store(&mut tasks.wish);
            add_moments(&mut sums, wish, powers(load(&tasks.elasticity)));
        }
        Moments(sums.map(Four::total))
    }
}

/// The first four powers of an elasticity.
#[inline(always)]
fn powers<N: Number>(elasticity: N) -> [N; 4] {
    let square = elasticity * elasticity;
    [elasticity, square, square * elasticity, square * square]
}

/// The powers do not wait for the wish: one short step from it to every sum.
#[inline(always)]
pub(super) fn add_moments<S: Simd>(sums: &mut [Four<S>; 5], wish: Four<S>, powers: [Four<S>; 4]) {
    sums[0] = sums[0] + wish;
    for (sum, power) in sums[1..].iter_mut().zip(powers) {
        *sum = wish.times_plus(power, *sum);
    }
}

/// A call near the anchor.
struct Solve<'a, 'b> {
    nearby: &'a mut Nearby,
    call: &'a mut Call<'b>,
}

impl WithSimd for Solve<'_, '_> {
    type Output = Option<(Price, Found)>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Option<(Price, Found)> {
        let Self { nearby, call } = self;
        let anchor = nearby.anchor?;
        let moments = read(simd, &mut nearby.fours, call.values, nearby.last.log - anchor.log)?;
        let mut at = nearby.last.log;
        let mut step = moments.step_to(call.budget)?;
        for _ in 0..MAX_MOVES {
            at += step;
            let moved = at - anchor.log;
            let is_small = nearby.most_elastic * step.abs() <= SMALL && moved.abs() <= SMALL;
            if !is_small {
                return None;
            }
            let price = Price { log: at, price: anchor.price * exp_small(simd, moved) };
            let settled = settle(simd, &mut nearby.fours, call, step, price.price);
            if !settled.is_between_bounds {
                return None;
            }
            let left = call.budget - settled.spend;
            if left.abs() <= (ABSORBABLE * call.budget).min(UNNOTICED * call.spend[nearby.softest])
            {
                let found = finish(call, nearby.softest, price.price, left, settled);
                return nearby
                    .is_inside(nearby.softest, call.spend[nearby.softest])
                    .then_some((price, found));
            }
            step = -left / moments.0[1];
        }
        None
    }
}

#[inline(always)]
fn exp_small<S: Simd>(simd: S, number: f64) -> f64 {
    Four::splat(simd, number).exp_small().to_array()[0]
}

/// Writes the wishes for new values, at a price whose logarithm is `moved` away from the anchor's;
/// none if that is too far.
#[inline(always)]
fn read<S: Simd>(simd: S, fours: &mut [Tasks], values: &[f64], moved: f64) -> Option<Moments> {
    let load = |numbers: &[f64; 4]| Four::load(simd, numbers);
    let (zero, one, moved) =
        (Four::splat(simd, 0.0), Four::splat(simd, 1.0), Four::splat(simd, moved));
    let limit = Four::splat(simd, SMALL * SMALL);
    let mut sums = [zero; 5];
    let mut far = zero;
    for (tasks, values) in fours.iter_mut().zip(values.chunks(4)) {
        let value = load_values(simd, tasks, values);
        let elasticity = load(&tasks.elasticity);
        let (distance, factor) = near(value, load(&tasks.value), elasticity, moved);
        far = far + limit.where_above(distance, zero, one);
        let wish = load(&tasks.wish) * factor;
        wish.store(&mut tasks.trial);
        (load(&tasks.over_exponent) / value).store(&mut tasks.per_worth);
        add_moments(&mut sums, wish, powers(elasticity));
    }
    (far.total() == 0.0).then(|| Moments(sums.map(Four::total)))
}

/// What the wishes are multiplied by when the value comes from the anchor's and the price's
/// logarithm moves. Both series are exact if the distance, which comes first, is below `SMALL *
/// SMALL`; a value that is no number is not.
#[inline(always)]
pub(super) fn near<S: Simd>(
    value: Four<S>,
    anchor: Four<S>,
    elasticity: Four<S>,
    moved: Four<S>,
) -> (Four<S>, Four<S>) {
    let ratio = value.ln_ratio(anchor);
    let exponent = elasticity * (ratio - moved);
    (ratio * ratio * 4.0 + exponent * exponent, exponent.exp_small())
}

/// The values of four tasks; one in the lanes of no task.
#[inline(always)]
fn load_values<S: Simd>(simd: S, tasks: &Tasks, values: &[f64]) -> Four<S> {
    match values.try_into() {
        Ok(values) => Four::load(simd, values),
        Err(_) => Four::load_some(simd, values) + Four::load(simd, &tasks.filler),
    }
}

/// What the wishes at a price come to.
#[derive(Debug, Clone, Copy)]
struct Settled {
    spend: f64,
    worth: f64,
    is_between_bounds: bool,
}

/// Moves the wishes by a step of the price's logarithm, writes spend and success, and adds up.
#[inline(always)]
fn settle<S: Simd>(
    simd: S,
    fours: &mut [Tasks],
    call: &mut Call<'_>,
    step: f64,
    price: f64,
) -> Settled {
    let load = |numbers: &[f64; 4]| Four::load(simd, numbers);
    let (one, mut inside) = (Four::splat(simd, 1.0), Four::splat(simd, 0.0));
    let (mut spends, mut worths) = (FourSums::new(simd), FourSums::new(simd));
    let (back, price) = (Four::splat(simd, -step), Four::splat(simd, price));
    let answers = call.spend.chunks_mut(4).zip(call.success.chunks_mut(4));
    for ((tasks, values), (spend, success)) in
        fours.iter_mut().zip(call.values.chunks(4)).zip(answers)
    {
        let value = load_values(simd, tasks, values);
        let wish = load(&tasks.trial) * (load(&tasks.elasticity) * back).exp_small();
        inside = inside + wish.where_between(load(&tasks.low), load(&tasks.high), one);
        let floor = load(&tasks.floor);
        spends.add(wish);
        worths.add(worth(wish, load(&tasks.over_exponent), price, value * floor));
        wish.store(&mut tasks.trial);
        wish.store_some(spend);
        success_at(wish, load(&tasks.per_worth), price, floor).store_some(success);
    }
    let is_between_bounds = inside.total() == 4.0 * fours.len() as f64;
    Settled { spend: spends.total().value(), worth: worths.total().value(), is_between_bounds }
}

/// On the curve's own slope value = price * spend / exponent, above what the floor is worth.
#[inline(always)]
pub(super) fn worth<S: Simd>(
    wish: Four<S>,
    over_exponent: Four<S>,
    price: Four<S>,
    floor_worth: Four<S>,
) -> Four<S> {
    wish * (over_exponent * price) + floor_worth
}

/// No division here: the draws of the round wait for this.
#[inline(always)]
pub(super) fn success_at<S: Simd>(
    wish: Four<S>,
    per_worth: Four<S>,
    price: Four<S>,
    floor: Four<S>,
) -> Four<S> {
    wish.times_plus(per_worth * price, floor)
}

/// Gives the remainder to the softest task: at the price, as it is too small to change its slope.
#[inline(always)]
fn finish(call: &mut Call<'_>, softest: usize, price: f64, left: f64, settled: Settled) -> Found {
    let bound = settled.worth + price * left;
    let upper_bound = bound + ROUNDING * (bound + price * call.budget + settled.worth);
    call.spend[softest] += left;
    call.success[softest] += left * (price / call.values[softest]);
    Found { value: bound, upper_bound, price }
}
