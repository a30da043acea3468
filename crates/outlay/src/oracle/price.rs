//! The price search: the multiplier at which the tasks' wishes add up to the budget.
//!
//! At a price every task takes the spend that is best for it alone. Total spend falls as the price
//! rises: smoothly where tasks are on a concave branch, by a jump where one leaves a corner of its
//! envelope. Each trial measures the smooth part at one price; the next price solves a model of how
//! it goes on, in which the jumps are exactly where they are. Where there are many jumps, those
//! outside the bracket are settled and never looked at again.

use super::batch::{Batches, Settled, Split};
use super::chords::{Chord, Chords};
use super::close::exp;
use super::coordinate::{Coordinate, Form};
use super::hull::Hull;
use super::sigmoid::{Ridden, Riding, Settlement, Sigmoids, Taker};
use super::smooth_model::SmoothModel;
use crate::curve::Curve;
use crate::problem::Bounds;

/// What the search looks at: the smooth concave tasks in bulk, and the others by their envelopes.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) batches: &'a Batches,
    /// A sample of the tasks in bulk, if they are many: a cold search begins with it.
    pub(super) sample: Option<&'a Batches>,
    pub(super) curves: &'a [Curve],
    pub(super) values: &'a [f64],
    pub(super) bounds: &'a [Bounds],
    pub(super) coordinates: &'a [Coordinate],
    pub(super) weights: &'a [f64],
    pub(super) hulls: &'a [Hull],
    /// Which hull each coordinate has now.
    pub(super) hull_of: &'a [u32],
    /// The S-shaped tasks in flat arrays, if there are any.
    pub(super) sigmoids: Option<&'a Sigmoids>,
    /// The coordinates that are not among them.
    pub(super) others: &'a [u32],
    /// Those among them whose domain is narrowed: they too are looked at one by one. Empty in the
    /// first search of a call.
    pub(super) aside: &'a [u32],
    /// What the lower bounds leave of the budget: all spends here are counted above them.
    pub(super) free: f64,
}

impl<'a> View<'a> {
    pub(super) fn hull(&self, coordinate: usize) -> &'a Hull {
        &self.hulls[self.hull_of[coordinate] as usize]
    }

    /// The coordinates that are looked at one by one.
    pub(super) fn one_by_one(&self) -> impl Iterator<Item = usize> + use<'a> {
        self.others.iter().chain(self.aside).map(|&coordinate| coordinate as usize)
    }
}

/// A task whose envelope ends in a smooth branch, taken below the price `tie`.
#[derive(Debug, Clone, Copy)]
struct Rider {
    coordinate: u32,
    tie: f64,
    /// What it takes above the tie.
    base: f64,
    /// What it takes just below the tie.
    touch: f64,
}

/// Buffers of the search, kept between calls.
#[derive(Debug, Default)]
pub(super) struct PriceSearch {
    /// The chords; if there are many, only those whose price is inside the bracket.
    chords: Chords,
    /// Riders that may be on their branch somewhere in the bracket.
    riders: Vec<Rider>,
    /// What chords that were dropped, because they are above the bracket, add at every price of it.
    settled: f64,
    /// The jumps between a trial and what its model asks for; empty if there are none.
    jumps: Vec<Chord>,
    /// What the power tasks wish at the price tried last.
    wishes: Vec<f64>,
    /// The S-shaped tasks that may be on their branch, and the jumps with which they join it: in
    /// the first search of a call those of all, later on of those who ride.
    riding: Riding,
    leaps: Chords,
    /// The most that all S-shaped tasks can usefully take.
    sigmoid_reach: f64,
}

/// Total spend just above and just below a price, and its smooth parts.
#[derive(Debug, Clone, Copy)]
struct Trial {
    price: f64,
    low: f64,
    high: f64,
    /// What the chords above the price add, and those exactly there.
    taken: f64,
    tied: f64,
    smooth: SmoothModel,
}

/// The price sought is strictly between these two.
#[derive(Debug, Clone, Copy)]
struct Bracket {
    below: f64,
    above: f64,
}

impl Bracket {
    const ALL: Self = Self { below: 0.0, above: f64::INFINITY };

    fn contains(self, price: f64) -> bool {
        price > self.below && price < self.above
    }
}

/// Total spend this close to what is free, as a share of it, counts as found: the sums themselves
/// are no more exact.
const CLOSE: f64 = 2e-14;
/// A sample says no more than this about all tasks.
const SAMPLE_CLOSE: f64 = 0.02;
/// A remainder up to this share of what is free may be absorbed, if that costs at most `ABSORBED`
/// of its worth.
const ABSORBABLE: f64 = 1e-11;
const ABSORBED: f64 = 1e-15;
/// A step of the price up to this share, for as small a share of the spend, is taken without
/// another trial: the model's error is its square.
const LAST_STEP: f64 = 1e-6;
/// A model is trusted this often; then the bracket is halved every other time, which always ends.
const TRUSTED_TRIALS: usize = 16;
/// Halving alone needs about 1100 trials for the whole range of floating-point prices.
const MAX_TRIALS: usize = 2400;

impl PriceSearch {
    /// A price at which smallest wishes are within the budget and largest ones exhaust it; zero if
    /// all wishes fit.
    pub(super) fn find(&mut self, view: View<'_>, start: Option<f64>) -> f64 {
        let usable = |price: &f64| price.is_finite() && *price > 0.0;
        let start = start.filter(usable).or_else(|| self.sample_price(view)).filter(usable);
        let reach = self.load(view);
        let price =
            if reach < view.free * (1.0 - CLOSE) { 0.0 } else { self.search(view, start, CLOSE) };
        if price == 0.0 {
            view.batches.respond(f64::NEG_INFINITY, &mut self.wishes);
        }
        price
    }

    /// What the power tasks wish at the price found.
    pub(super) fn wishes(&self) -> &[f64] {
        &self.wishes
    }

    /// Leaves what the tasks wish when nothing is free.
    pub(super) fn wish_nothing(&mut self, view: View<'_>) {
        self.load_sigmoids(view);
        view.batches.respond(f64::INFINITY, &mut self.wishes);
    }

    /// The price for a sample of the tasks, with its share of the budget.
    pub(super) fn sample_price(&mut self, view: View<'_>) -> Option<f64> {
        let sample = view.sample?;
        let share = sample.len() as f64 / (view.batches.len() + view.coordinates.len()) as f64;
        let coordinates = &view.coordinates[..0];
        let small = View {
            batches: sample,
            sample: None,
            coordinates,
            sigmoids: None,
            others: &[],
            free: view.free * share,
            ..view
        };
        self.load(small);
        Some(self.search(small, None, SAMPLE_CLOSE))
    }

    /// Searches until the budget is met, or missed by no more than the share `close`.
    fn search(&mut self, view: View<'_>, start: Option<f64>, close: f64) -> f64 {
        let free = view.free;
        let mut bracket = Bracket::ALL;
        let mut price = start.unwrap_or_else(|| self.first_price(view));
        for count in 0..MAX_TRIALS {
            let trial = self.evaluate(view, price);
            if self.is_found(view, trial) || missed(view, trial) <= close * free {
                return price;
            }
            if trial.low > free {
                bracket.below = price;
                self.narrow(bracket);
                price = self.model_above(trial, free, bracket);
            } else {
                bracket.above = price;
                let is_settled = self.narrow(bracket);
                let taken = if is_settled { 0.0 } else { trial.taken + trial.tied };
                price = self.model_below(Trial { taken, ..trial }, free, bracket);
            }
            if bracket.contains(price) && self.is_last_step(view, trial, price) {
                return price;
            }
            let doubtful = count >= TRUSTED_TRIALS && count % 2 == 0;
            if doubtful || !bracket.contains(price) {
                price = middle(bracket);
            }
            if !bracket.contains(price) {
                break;
            }
        }
        // No price in between: rounding hides the exact one. At the upper end everything fits.
        let price = if bracket.above.is_finite() { bracket.above } else { bracket.below };
        self.evaluate(view, price);
        price
    }

    /// Whether a step is so small, with no jump in between, that the model is as good as another
    /// trial; if so, takes it.
    fn is_last_step(&mut self, view: View<'_>, trial: Trial, to: f64) -> bool {
        let step = to / trial.price - 1.0;
        let is_small = step.abs() <= LAST_STEP && missed(view, trial) <= LAST_STEP * view.free;
        is_small && self.jumps.is_empty() && view.batches.nudge(step.ln_1p(), &mut self.wishes)
    }

    /// Whether the budget lies between the smallest and largest wishes, or misses them by what can
    /// be absorbed: a remainder r given to a task of average fall f costs price r² / 2f.
    fn is_found(&self, view: View<'_>, trial: Trial) -> bool {
        let missed = missed(view, trial);
        let count = (view.batches.smooth_len() + self.riders.len() + self.riding.len()) as f64;
        missed * missed * count <= ABSORBED * view.free * trial.smooth.total().fall
            && missed <= ABSORBABLE * view.free
    }

    /// Where the budget is met above a trial that spends too much, by the model.
    fn model_above(&mut self, trial: Trial, free: f64, bracket: Bracket) -> f64 {
        self.jumps.clear();
        // Those who ride leave at their tie, and their jump with them; until then it is part of the
        // smooth total.
        let mut riding = self.leaps.taken(trial.price).0;
        for rider in self.riders.iter().filter(|rider| rider.tie.is_finite()) {
            self.jumps.push(Chord { price: rider.tie, jump: rider.touch - rider.base });
            riding += rider.touch - rider.base;
        }
        self.solve_model(trial, free - self.settled + riding, bracket, true)
    }

    /// Where the budget is met below a trial that spends too little, by the model.
    fn model_below(&mut self, trial: Trial, free: f64, bracket: Bracket) -> f64 {
        self.jumps.clear();
        let joining = self.riders.iter().filter(|rider| rider.tie < trial.price);
        self.jumps.extend(
            joining.map(|rider| Chord { price: rider.tie, jump: rider.touch - rider.base }),
        );
        self.solve_model(trial, free - self.settled, bracket, false)
    }

    /// The price at which the smooth part, by its model from a trial, and the jumps above it add up
    /// to `target`: the chords, and those that riders were given.
    ///
    /// First as if no jump lay in between; if some do, the answer is among them or between two of
    /// them: they are halved around their median until one is the answer or none is left.
    ///
    /// `counts_leaps`: the target includes the leaps above the trial, those of tasks that already
    /// ride.
    fn solve_model(
        &mut self,
        trial: Trial,
        mut target: f64,
        bracket: Bracket,
        counts_leaps: bool,
    ) -> f64 {
        let Trial { price, smooth, .. } = trial;
        let leapt = if counts_leaps { self.leaps.taken(price).0 } else { 0.0 };
        let taken = trial.taken
            + leapt
            + self
                .jumps
                .iter()
                .map(|jump| if jump.price > price { jump.jump } else { 0.0 })
                .sum::<f64>();
        let straight = price * exp(smooth.step_to(target - taken));
        let (low, high) = match straight {
            straight if !(straight > 0.0) => (bracket.below, bracket.above),
            straight if straight < price => (straight.max(bracket.below), price),
            straight => (price, straight.min(bracket.above)),
        };
        let (mut beyond, mut has_chords) = self.chords.between(low, high);
        if !self.leaps.is_empty() {
            let (leapt, has_leaps) = self.leaps.between(low, high);
            beyond += if counts_leaps { leapt } else { 0.0 };
            has_chords |= has_leaps;
        }
        self.jumps.retain(|jump| {
            beyond += if jump.price >= high { jump.jump } else { 0.0 };
            jump.price > low && jump.price < high
        });
        if has_chords {
            self.chords.list_between(low, high, &mut self.jumps);
            self.leaps.list_between(low, high, &mut self.jumps);
        } else if self.jumps.is_empty() && straight > 0.0 {
            return straight;
        }
        target -= beyond;
        let here = smooth.total();
        let mut jumps = &mut self.jumps[..];
        while !jumps.is_empty() {
            let middle = jumps.len() / 2;
            let (left, pivot, right) =
                jumps.select_nth_unstable_by(middle, |a, b| a.price.total_cmp(&b.price));
            let (at, mut tied) = (pivot.price, pivot.jump);
            let mut above = 0.0;
            for chord in right.iter() {
                if chord.price > at {
                    above += chord.jump;
                } else {
                    tied += chord.jump;
                }
            }
            // The smooth part is convex in the logarithm, which is at most the ratio less one:
            // often that settles it.
            let ratio = at / price;
            let tangent = here.spend - here.fall * (ratio - 1.0);
            let low = above
                + if above + tangent > target { tangent } else { smooth.after(ratio.ln()).spend };
            if low > target {
                jumps = right;
            } else if low + tied < target {
                target -= above + tied;
                jumps = left;
            } else {
                return at;
            }
        }
        price * exp(smooth.step_to(target))
    }

    /// Reads the chords and riders; returns the most that all tasks can usefully take above their
    /// lower bounds.
    fn load(&mut self, view: View<'_>) -> f64 {
        self.chords.clear();
        self.riders.clear();
        self.settled = 0.0;
        let mut reach = view.batches.load_chords(&mut self.chords) + self.load_sigmoids(view);
        for coordinate in view.one_by_one() {
            let hull = view.hull(coordinate);
            let weight = view.weights[coordinate];
            let Some(last) = hull.corners.last().filter(|_| weight > 0.0) else { continue };
            for pair in hull.corners.windows(2) {
                self.chords.push(Chord {
                    price: weight * pair[0].slope,
                    jump: pair[1].spend - pair[0].spend,
                });
            }
            if let Some(branch) = hull.branch {
                let (tie, base) = (weight * last.slope, last.spend);
                self.riders.push(Rider {
                    coordinate: coordinate as u32,
                    tie,
                    base,
                    touch: branch.touch,
                });
                reach += branch.end - hull.low;
            } else {
                reach += last.spend - hull.low;
            }
        }
        self.chords.seal();
        reach
    }

    /// Reads the leaps, and sets aside whose domain is narrowed; returns the most that the others
    /// can usefully take.
    fn load_sigmoids(&mut self, view: View<'_>) -> f64 {
        self.leaps.clear();
        let Some(sigmoids) = view.sigmoids else { return 0.0 };
        if view.aside.is_empty() {
            self.riding.clear();
            self.sigmoid_reach = sigmoids.reach();
        }
        self.load_leaps(view, sigmoids);
        self.sigmoid_reach
            - view.aside.iter().map(|&coordinate| sigmoids.reach_of(coordinate)).sum::<f64>()
    }

    fn first_price(&mut self, view: View<'_>) -> f64 {
        let tasks = (view.coordinates.len() + view.batches.len()) as f64;
        let smooth = view.batches.typical_price(view.free / tasks);
        let usable = |price: &f64| price.is_finite() && *price > 0.0;
        smooth.filter(usable).unwrap_or_else(|| {
            // No smooth tasks in bulk: the model of the jumps alone, from the lowest price.
            Some(self.model_all(view.free)).filter(usable).unwrap_or(1.0)
        })
    }

    /// Where the budget is met if every rider jumps and then stands still.
    fn model_all(&mut self, free: f64) -> f64 {
        self.jumps.clear();
        self.jumps.extend(
            self.riders
                .iter()
                .map(|rider| Chord { price: rider.tie, jump: rider.touch - rider.base }),
        );
        let (price, (taken, tied)) = (1.0, self.chords.taken(1.0));
        self.solve_model(
            Trial { price, low: taken, high: taken, taken, tied, smooth: SmoothModel::default() },
            free,
            Bracket::ALL,
            true,
        )
    }

    fn evaluate(&mut self, view: View<'_>, price: f64) -> Trial {
        let (power, mut linear) = view.batches.respond(price.ln(), &mut self.wishes);
        let (taken, tied) = self.chords.taken(price);
        let (mut joining, mut bend) = (tied, 0.0);
        for rider in self.riders.iter().filter(|rider| rider.tie >= price) {
            let (spend, fall) = on_branch(view, rider.coordinate as usize, price);
            if rider.tie > price {
                linear.spend += spend - rider.base;
                linear.fall += fall;
                if let (Form::Smooth(smooth), true) =
                    (&view.coordinates[rider.coordinate as usize].form, fall > 0.0)
                {
                    bend += smooth.curvature(spend, fall);
                }
            } else {
                joining += spend - rider.base;
            }
        }
        if let Some(sigmoids) = view.sigmoids {
            let ridden = self.respond(view, sigmoids, price);
            linear.spend += ridden.spend.value();
            linear.fall += ridden.fall;
            bend += ridden.bend;
            joining += ridden.joining;
        }
        let low = self.settled + taken + power.spend + linear.spend;
        Trial {
            price,
            low,
            high: low + joining,
            taken,
            tied,
            smooth: SmoothModel { power, linear, bend },
        }
    }

    /// Reads the leaps of all, or where there are many and another search has picked those who
    /// ride, of these.
    fn load_leaps(&mut self, view: View<'_>, sigmoids: &Sigmoids) {
        self.leaps.clear();
        if view.aside.is_empty() || sigmoids.are_few() {
            sigmoids.load_jumps(view.aside, &mut self.leaps);
        } else {
            self.riding.load_jumps(sigmoids, view.aside, &mut self.leaps);
        }
        self.leaps.seal();
    }

    /// What the S-shaped tasks that are not set aside take at a price.
    pub(super) fn respond(&mut self, view: View<'_>, sigmoids: &Sigmoids, price: f64) -> Ridden {
        let is_new = self.riding.reach(sigmoids, view.weights, price);
        if is_new && !view.aside.is_empty() {
            self.load_leaps(view, sigmoids);
        }
        self.riding.respond(sigmoids, price, view.aside)
    }

    /// Writes their spends at a price that they responded to, and adds up; those tied there stay
    /// low and are handed to `tied`.
    pub(super) fn settle(
        &mut self,
        at: Settlement<'_>,
        split: &mut Split<'_>,
        settled: &mut Settled,
        tied: impl FnMut(Taker),
    ) {
        self.riding.settle(at, split, settled, tied);
    }

    /// Drops what lies outside a bracket; true if the chords above it are settled now, and false if
    /// there are too few for that.
    fn narrow(&mut self, bracket: Bracket) -> bool {
        self.riders.retain(|rider| rider.tie > bracket.below);
        self.leaps.narrow(bracket.below, bracket.above);
        let settled = self.chords.narrow(bracket.below, bracket.above);
        self.settled += settled.unwrap_or_default();
        settled.is_some()
    }
}

/// By how much the wishes of a trial, from smallest to largest, miss what is free.
fn missed(view: View<'_>, trial: Trial) -> f64 {
    (trial.low - view.free).max(view.free - trial.high)
}

/// Spend of a coordinate on its branch at a price, and its fall.
pub(super) fn on_branch(view: View<'_>, coordinate: usize, price: f64) -> (f64, f64) {
    let hull = view.hull(coordinate);
    let (Some(branch), Form::Smooth(smooth)) = (hull.branch, &view.coordinates[coordinate].form)
    else {
        return (0.0, 0.0);
    };
    if !(price > 0.0) {
        return (branch.end, 0.0);
    }
    let (spend, fall) = smooth.at_slope(price / view.weights[coordinate]);
    if spend > branch.start && spend < branch.end {
        (spend, fall)
    } else {
        (spend.clamp(branch.start, branch.end), 0.0)
    }
}

/// A price between the two that halves the bracket in digits.
fn middle(Bracket { below, above }: Bracket) -> f64 {
    match (below > 0.0, above.is_finite()) {
        (true, true) => {
            let geometric = below.sqrt() * above.sqrt();
            if geometric > below && geometric < above {
                geometric
            } else {
                below + 0.5 * (above - below)
            }
        }
        (true, false) => below * 1e4,
        (false, true) => above * 1e-4,
        (false, false) => 1.0,
    }
}
