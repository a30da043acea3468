//! Square roots alone, between their bounds: the best split in closed form.
//!
//! A task worth `v * h * sqrt(x / s)` wants `v² h² / (4 s p²)` at the price `p`: spends are as the
//! *claims* `v² h² / s`, whatever the price, and the price follows from their sum. No logarithm, no
//! search, and nothing to remember between calls. A call in which some task wants to be at a bound
//! is left to the general search.

use pulp::{Arch, Simd, WithSimd};

use super::four::{Four, FourSums, with_four};
use super::prepared::PreparedProblem;
use super::tolerances::BOUND_ROUNDING as ROUNDING;
use super::{Call, Found};
use crate::curve::{Curve, Family};
use crate::problem::Bounds;

/// The tasks, four at a time.
#[derive(Debug)]
pub(super) struct Roots {
    arch: Arch,
    tasks: usize,
    fours: Vec<Tasks>,
}

/// Four tasks. Lanes of no task have value one and claim nothing.
#[derive(Debug, Clone, Copy)]
struct Tasks {
    /// The claim at value one: height squared over scale.
    claim: [f64; 4],
    floor: [f64; 4],
    low: [f64; 4],
    high: [f64; 4],
    /// The value of the lanes of no task.
    filler: [f64; 4],
    /// Value and value times claim, in this call.
    value: [f64; 4],
    claimed: [f64; 4],
}

/// Below this many tasks one of them takes everything.
const FEWEST: usize = 2;
/// Values, budgets and claims within these limits cannot leave the floating-point numbers, squared
/// and multiplied.
const LEAST: f64 = 1e-75;
const MOST: f64 = 1e75;
/// Spends above this keep their digits.
const LEAST_SPEND: f64 = 1e-90;

impl Roots {
    /// None unless all tasks are square roots and there are some.
    pub(super) fn new(model: &PreparedProblem) -> Option<Self> {
        let tasks = model.curves.len();
        if tasks < FEWEST {
            return None;
        }
        let mut fours = vec![Tasks::NONE; tasks.div_ceil(4)];
        for (task, (curve, &bounds)) in model.curves.iter().zip(&model.bounds).enumerate() {
            fours[task / 4].set(task % 4, curve, bounds)?;
        }
        Some(Self { arch: Arch::new(), tasks, fours })
    }

    /// The best split, if all tasks are between their bounds in it.
    ///
    /// Values and budget need not be checked: nothing is found for bad ones.
    pub(super) fn allocate(&mut self, call: &mut Call<'_>) -> Option<Found> {
        let is_known = call.values.len() == self.tasks && (LEAST..MOST).contains(&call.budget);
        if is_known { with_four(self.arch, Solve { fours: &mut self.fours, call }) } else { None }
    }
}

impl Tasks {
    const NONE: Self = Self {
        claim: [0.0; 4],
        floor: [0.0; 4],
        low: [-1.0; 4],
        high: [1.0; 4],
        filler: [1.0; 4],
        value: [1.0; 4],
        claimed: [0.0; 4],
    };

    /// Puts a task into a lane; nothing if it is no square root.
    fn set(&mut self, lane: usize, curve: &Curve, bounds: Bounds) -> Option<()> {
        let Family::Power(power) = curve.family() else { return None };
        let claim = curve.height() * curve.height() / power.scale();
        let fits =
            power.exponent() == 0.5 && bounds.at_least == 0.0 && (LEAST..MOST).contains(&claim);
        self.claim[lane] = claim;
        self.floor[lane] = curve.floor();
        self.low[lane] = bounds.min.max(LEAST_SPEND);
        self.high[lane] = bounds.max.min(power.scale());
        self.filler[lane] = 0.0;
        fits.then_some(())
    }
}

struct Solve<'a, 'b> {
    fours: &'a mut [Tasks],
    call: &'a mut Call<'b>,
}

impl WithSimd for Solve<'_, '_> {
    type Output = Option<Found>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Option<Found> {
        let Self { fours, call } = self;
        let claims = claim(simd, fours, call.values)?;
        // What one unit of claim is given. Its root is one over twice the price, which has more
        // digits of its own.
        let grant = call.budget / claims;
        let (root, price) = (grant.sqrt(), 0.5 * (claims / call.budget).sqrt());
        let settled = settle(simd, fours, call, grant, root);
        if !(settled.is_between_bounds && price > LEAST && price < MOST) {
            return None;
        }
        // Rounding is all that is left. It goes to the largest spend, at the price: too little to
        // change its slope.
        let left = call.budget - settled.spend;
        let largest = settled.largest;
        let (tasks, lane, given) = (&fours[largest / 4], largest % 4, call.spend[largest] + left);
        if !(given > tasks.low[lane] && given < tasks.high[lane]) {
            return None;
        }
        call.success[largest] += left * (price / call.values[largest]);
        call.spend[largest] = given;
        // A spend is worth twice its price, what is left once.
        let value = price * (settled.spend + call.budget) + settled.floors;
        let upper_bound = value + ROUNDING * (value + price * call.budget + value);
        Some(Found { value, upper_bound, price })
    }
}

/// Writes values and claims, and adds up the claims; none if a value is out of range.
#[inline(always)]
fn claim<S: Simd>(simd: S, fours: &mut [Tasks], values: &[f64]) -> Option<f64> {
    let (zero, one) = (Four::splat(simd, 0.0), Four::splat(simd, 1.0));
    let (least, most) = (Four::splat(simd, LEAST), Four::splat(simd, MOST));
    let (mut sum, mut inside) = (zero, zero);
    for (tasks, values) in fours.iter_mut().zip(values.chunks(4)) {
        let value = match values.try_into() {
            Ok(values) => Four::load(simd, values),
            Err(_) => Four::load_some(simd, values) + Four::load(simd, &tasks.filler),
        };
        let claimed = value * Four::load(simd, &tasks.claim);
        sum = sum + value * claimed;
        inside = inside + value.where_between(least, most, one);
        value.store(&mut tasks.value);
        claimed.store(&mut tasks.claimed);
    }
    (inside.total() == 4.0 * fours.len() as f64).then(|| sum.total())
}

/// What the spends come to.
#[derive(Debug, Clone, Copy)]
struct Settled {
    spend: f64,
    /// What the floors are worth.
    floors: f64,
    largest: usize,
    is_between_bounds: bool,
}

/// Writes spend and success, and adds up.
#[inline(always)]
fn settle<S: Simd>(
    simd: S,
    fours: &[Tasks],
    call: &mut Call<'_>,
    grant: f64,
    root: f64,
) -> Settled {
    let load = |numbers: &[f64; 4]| Four::load(simd, numbers);
    let (one, mut inside) = (Four::splat(simd, 1.0), Four::splat(simd, 0.0));
    let (mut spends, mut floors) = (FourSums::new(simd), FourSums::new(simd));
    let (mut largest, mut most) = (0, 0.0);
    let answers = call.spend.chunks_mut(4).zip(call.success.chunks_mut(4));
    for (first, (tasks, (spend, success))) in fours.iter().zip(answers).enumerate() {
        let (value, claimed, floor) =
            (load(&tasks.value), load(&tasks.claimed), load(&tasks.floor));
        let given = value * claimed * grant;
        inside = inside + given.where_between(load(&tasks.low), load(&tasks.high), one);
        spends.add(given);
        floors.add(value * floor);
        let (given, chance) = (given.to_array(), (claimed * root + floor).to_array());
        for (lane, (spend, success)) in spend.iter_mut().zip(success).enumerate() {
            (*spend, *success) = (given[lane], chance[lane]);
            if given[lane] > most {
                (largest, most) = (4 * first + lane, given[lane]);
            }
        }
    }
    let is_between_bounds = inside.total() == 4.0 * fours.len() as f64;
    Settled {
        spend: spends.total().value(),
        floors: floors.total().value(),
        largest,
        is_between_bounds,
    }
}
