//! The price search: the multiplier at which the tasks' wishes add up to the budget.
//!
//! At a price every task takes the spend that is best for it alone. Total spend falls as the price rises: smoothly where
//! tasks are on a concave branch, by a jump where one leaves a corner of its envelope. Newton's method handles the smooth
//! part; when it is caught between two sides of a jump, the jump prices inside the bracket are tried, each halving what is
//! left. Jumps outside the bracket are settled and never looked at again.

use super::batch::Batches;
use super::coordinate::{Coordinate, Form};
use super::hull::Hull;
use crate::curve::Curve;

/// What the search looks at: the smooth concave tasks in bulk, and the others by their envelopes.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) batches: &'a Batches,
    pub(super) curves: &'a [Curve],
    pub(super) values: &'a [f64],
    pub(super) coordinates: &'a [Coordinate],
    pub(super) weights: &'a [f64],
    pub(super) hulls: &'a [Hull],
    /// Which hull each coordinate has now.
    pub(super) hull_of: &'a [u32],
    pub(super) budget: f64,
    /// What the lower bounds leave of the budget.
    pub(super) free: f64,
}

impl<'a> View<'a> {
    pub(super) fn hull(&self, coordinate: usize) -> &'a Hull {
        &self.hulls[self.hull_of[coordinate] as usize]
    }
}

/// A chord of an envelope: below `price` the task takes `jump` more.
#[derive(Debug, Clone, Copy)]
struct Chord {
    price: f64,
    jump: f64,
}

/// A task whose envelope ends in a smooth branch, taken below the price `tie`.
#[derive(Debug, Clone, Copy)]
struct Rider {
    coordinate: u32,
    tie: f64,
    /// What it takes above the tie.
    base: f64,
}

/// Buffers of the search, kept between calls.
#[derive(Debug, Default)]
pub(super) struct PriceSearch {
    /// Chords whose price is inside the bracket.
    chords: Vec<Chord>,
    /// Riders that may be on their branch somewhere in the bracket.
    riders: Vec<Rider>,
    /// What is spent at every price of the bracket by tasks at corners.
    settled: f64,
}

/// Total spend just above and just below a price, and the smooth part's fall per unit of its logarithm.
#[derive(Debug, Clone, Copy)]
struct Trial {
    low: f64,
    high: f64,
    fall: f64,
}

/// Total spend this close to the budget, as a share of it, counts as found: the sums themselves are no more exact.
const CLOSE: f64 = 2e-14;
/// Bisection alone would need about 1100 trials for the whole range of floating-point prices.
const MAX_TRIALS: usize = 1200;

impl PriceSearch {
    /// A price at which smallest wishes are within the budget and largest ones exhaust it; zero if all wishes fit.
    pub(super) fn find(&mut self, view: View<'_>, start: Option<f64>) -> f64 {
        let reach = self.load(view);
        let budget = view.budget;
        if reach < budget * (1.0 - CLOSE) {
            return 0.0;
        }
        let (mut below, mut above) = (0.0, f64::INFINITY);
        let mut price = start.filter(|price| price.is_finite() && *price > 0.0).unwrap_or_else(|| self.first_price(view));
        let mut last_side = 0i8;
        for _ in 0..MAX_TRIALS {
            let trial = self.evaluate(view, price);
            let side = if trial.low > budget * (1.0 + CLOSE) {
                below = price;
                self.raise_floor(below);
                1
            } else if trial.high < budget * (1.0 - CLOSE) {
                above = price;
                self.lower_roof(above);
                -1
            } else {
                return price;
            };
            let turned = last_side != 0 && side != last_side;
            last_side = side;
            let newton = newton(price, trial, budget, side);
            let inside = |candidate: f64| candidate > below && candidate < above;
            let jump = if turned || !inside(newton) { self.jump_inside(below, above) } else { None };
            price = match jump {
                Some(jump) => jump,
                None if inside(newton) => newton,
                None => middle(below, above),
            };
            if !inside(price) {
                break;
            }
        }
        // No price in between: rounding hides the exact one. At the upper end everything fits.
        if above.is_finite() { above } else { below }
    }

    /// Reads the chords and riders; returns the most that all tasks can usefully take.
    fn load(&mut self, view: View<'_>) -> f64 {
        self.chords.clear();
        self.riders.clear();
        self.settled = 0.0;
        let mut reach = view.batches.reach(view.free);
        for coordinate in 0..view.coordinates.len() {
            let hull = view.hull(coordinate);
            let weight = view.weights[coordinate];
            let Some(first) = hull.corners.first() else { continue };
            self.settled += first.spend;
            if !(weight > 0.0) {
                reach += first.spend;
                continue;
            }
            for pair in hull.corners.windows(2) {
                self.chords.push(Chord { price: weight * pair[0].slope, jump: pair[1].spend - pair[0].spend });
            }
            let last = hull.corners[hull.corners.len() - 1];
            if let Some(branch) = hull.branch {
                self.riders.push(Rider { coordinate: coordinate as u32, tie: weight * last.slope, base: last.spend });
                reach += branch.end;
            } else {
                reach += last.spend;
            }
        }
        reach
    }

    fn first_price(&self, view: View<'_>) -> f64 {
        let tasks = (view.coordinates.len() + view.batches.len()) as f64;
        let smooth = view.batches.mean_log_price(view.budget / tasks);
        smooth
            .map(f64::exp)
            .filter(|price| price.is_finite() && *price > 0.0)
            .or_else(|| self.jump_inside(0.0, f64::INFINITY))
            .unwrap_or(1.0)
    }

    fn evaluate(&self, view: View<'_>, price: f64) -> Trial {
        let smooth = if view.batches.is_empty() { Default::default() } else { view.batches.respond(price.ln(), view.free) };
        let mut low = self.settled + smooth.spend;
        let mut fall = smooth.fall;
        let mut tied = 0.0;
        for chord in &self.chords {
            if chord.price > price {
                low += chord.jump;
            } else if chord.price == price {
                tied += chord.jump;
            }
        }
        for rider in &self.riders {
            if !(rider.tie >= price) {
                continue;
            }
            let (spend, rider_fall) = on_branch(view, rider.coordinate as usize, price);
            if rider.tie > price {
                low += spend - rider.base;
                fall += rider_fall;
            } else {
                tied += spend - rider.base;
            }
        }
        Trial { low, high: low + tied, fall }
    }

    /// The price is above `below`: chords up to there are not taken.
    fn raise_floor(&mut self, below: f64) {
        self.chords.retain(|chord| chord.price > below);
        self.riders.retain(|rider| rider.tie > below);
    }

    /// The price is below `above`: chords from there on are taken.
    fn lower_roof(&mut self, above: f64) {
        let settled = &mut self.settled;
        self.chords.retain(|chord| {
            let inside = chord.price < above;
            if !inside {
                *settled += chord.jump;
            }
            inside
        });
    }

    /// Some jump price inside the bracket, near the middle of those in the order they are kept.
    fn jump_inside(&self, below: f64, above: f64) -> Option<f64> {
        let inside = |price: &f64| *price > below && *price < above;
        let ties = || self.riders.iter().map(|rider| rider.tie).filter(inside);
        if let Some(chord) = self.chords.get(self.chords.len() / 2) {
            // Chords are pruned to the bracket, so the middle one is inside.
            return Some(chord.price).filter(inside);
        }
        let count = ties().count();
        ties().nth(count / 2)
    }
}

/// Spend of a coordinate on its branch at a price, and its fall.
pub(super) fn on_branch(view: View<'_>, coordinate: usize, price: f64) -> (f64, f64) {
    let hull = view.hull(coordinate);
    let (Some(branch), Form::Smooth(smooth)) = (hull.branch, &view.coordinates[coordinate].form) else { return (0.0, 0.0) };
    if !(price > 0.0) {
        return (branch.end, 0.0);
    }
    let (spend, fall) = smooth.at_slope(price / view.weights[coordinate]);
    if spend > branch.start && spend < branch.end { (spend, fall) } else { (spend.clamp(branch.start, branch.end), 0.0) }
}

/// Newton's step on the logarithm of total spend against the logarithm of the price, where power tasks are straight lines.
fn newton(price: f64, trial: Trial, budget: f64, side: i8) -> f64 {
    let total = if side > 0 { trial.low } else { trial.high };
    if !(trial.fall > 0.0 && total > 0.0) {
        return f64::NAN;
    }
    let step = (total / budget).ln() * total / trial.fall;
    price * step.clamp(-300.0, 300.0).exp()
}

/// A price between the two that halves the bracket in digits.
fn middle(below: f64, above: f64) -> f64 {
    match (below > 0.0, above.is_finite()) {
        (true, true) => {
            let geometric = below.sqrt() * above.sqrt();
            if geometric > below && geometric < above { geometric } else { below + 0.5 * (above - below) }
        }
        (true, false) => below * 1e4,
        (false, true) => above * 1e-4,
        (false, false) => 1.0,
    }
}
