//! A bound that counts: for staircases that the price alone cannot tell apart.
//!
//! Where every jump is worth a fixed amount and so much per unit of spend, the price's bound takes
//! a fraction of a jump, and no exact search closes what that leaves open: there are too many
//! splits that are nearly as good. But a split takes either at most `n` chords of the envelopes or
//! at least `n + 1`. In both cases a second price, on the number of chords, may be added to the
//! first, never negative in one and never positive in the other; the larger of the two bounds holds
//! for all splits. Any pair of prices proves its bound: how they are found matters to speed alone.

use super::relaxation::ROUNDING;
use super::stairs::{CAPACITY, Root, Stairs, Terms, UNITS};
use crate::numeric::compensated::Sum;

/// A case, the pair of prices found for it, and what they prove.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counted {
    /// No split of the case is worth more.
    pub(super) bound: f64,
    pub(super) price: f64,
    pub(super) extra: f64,
}

/// A level at a pair of prices: how many chords it takes, and what it is worth after both prices.
#[derive(Debug, Clone, Copy)]
pub(super) struct Priced {
    pub(super) level: u32,
    pub(super) count: u32,
    pub(super) surplus: f64,
}

impl Counted {
    /// The levels of a coordinate, the lowest first.
    pub(super) fn each_level(
        &self,
        stairs: &Stairs,
        coordinate: usize,
        weight: f64,
        mut visit: impl FnMut(Priced),
    ) {
        let (corners, _) = stairs.corners(coordinate);
        for (count, &corner) in corners.iter().enumerate() {
            let end = corners.get(count + 1).map_or(stairs.end(coordinate) as u32, |&next| next);
            (corner..end)
                .for_each(|level| visit(self.at(stairs, coordinate, weight, level, count as u32)));
        }
    }

    /// One level of a coordinate.
    pub(super) fn priced(
        &self,
        stairs: &Stairs,
        coordinate: usize,
        weight: f64,
        level: u32,
    ) -> Priced {
        let count =
            stairs.corners(coordinate).0.partition_point(|corner| *corner <= level) as u32 - 1;
        self.at(stairs, coordinate, weight, level, count)
    }

    /// The level that is best, of equals the lowest.
    pub(super) fn best_level(&self, stairs: &Stairs, coordinate: usize, weight: f64) -> Priced {
        let mut best =
            Priced { level: stairs.corners(coordinate).0[0], count: 0, surplus: f64::NEG_INFINITY };
        self.each_level(stairs, coordinate, weight, |priced| {
            best = if priced.surplus > best.surplus { priced } else { best }
        });
        best
    }

    fn at(
        &self,
        stairs: &Stairs,
        coordinate: usize,
        weight: f64,
        level: u32,
        count: u32,
    ) -> Priced {
        let (low, there) = (stairs.level(stairs.corners(coordinate).0[0]), stairs.level(level));
        let surplus = weight * there.success
            - self.price * (there.spend - low.spend)
            - self.extra * f64::from(count);
        Priced { level, count, surplus }
    }
}

/// What all tasks' best surpluses and the priced limits come to at a pair of prices, and how that
/// changes with them.
#[derive(Debug, Clone, Copy)]
struct Plane {
    price: f64,
    /// No split of the case is worth more.
    bound: f64,
    /// Change with the price: what is free less what is spent. Change with the second price: the
    /// limit less the count.
    slope: f64,
    tilt: f64,
}

/// The least of a case's bounds at one second price.
#[derive(Debug, Clone, Copy)]
struct Section {
    extra: f64,
    /// The price at which it was found.
    price: f64,
    bound: f64,
    /// How it changes with the second price.
    tilt: f64,
}

/// One of the two cases: at most so many chords, or at least so many.
struct Case<'a> {
    stairs: &'a Stairs,
    terms: Terms<'a>,
    limit: f64,
    /// The sign that the second price has.
    sign: f64,
    /// Lower than this no bound needs to be.
    enough: f64,
}

/// Tangents settle to the last digits in ten to twenty steps; the limit guards against rounding
/// that never settles.
const STEPS: usize = 60;
/// Bounds are searched to this share.
const SETTLED: f64 = 1e-13;
/// How far from a price found the next one is looked for at first, as a share.
const NEAR: f64 = 1e-3;

/// Bounds on all splits that take at most as many chords as the homes, and on those that take more:
/// not below `enough`.
pub(super) fn bounds(stairs: &Stairs, terms: Terms<'_>, root: Root, enough: f64) -> [Counted; 2] {
    let count =
        (0..stairs.len()).map(|coordinate| stairs.corners(coordinate).1 as f64).sum::<f64>();
    [(count, 1.0), (count + 1.0, -1.0)]
        .map(|(limit, sign)| Case { stairs, terms, limit, sign, enough }.least(root))
}

impl Case<'_> {
    /// The least bound, searched along the second price: it is convex, so tangents from both sides
    /// meet below it.
    fn least(&self, root: Root) -> Counted {
        let mut left = self.section(0.0, root.price);
        let mut best = left;
        if let Some(right) = self.other_side(&mut left, root, &mut best) {
            self.close_in(left, right, &mut best);
        }
        Counted { bound: best.bound, price: best.price, extra: best.extra }
    }

    fn close_in(&self, mut left: Section, mut right: Section, best: &mut Section) {
        for _ in 0..STEPS {
            let meet = (left.bound - right.bound + right.tilt * right.extra
                - left.tilt * left.extra)
                / (right.tilt - left.tilt);
            let floor = left.bound + left.tilt * (meet - left.extra);
            let is_between =
                (meet - left.extra) * self.sign > 0.0 && (right.extra - meet) * self.sign > 0.0;
            if !is_between
                || floor >= best.bound - SETTLED * best.bound
                || best.bound <= self.enough
            {
                return;
            }
            let is_left = (meet - left.extra).abs() < (right.extra - meet).abs();
            let section = self.section(meet, if is_left { left.price } else { right.price });
            *best = if section.bound < best.bound { section } else { *best };
            if section.tilt * self.sign < 0.0 {
                left = section;
            } else {
                right = section;
            }
        }
    }

    /// A second price beyond the best one; none if the bound is low enough, or as low as it gets,
    /// before.
    fn other_side(&self, left: &mut Section, root: Root, best: &mut Section) -> Option<Section> {
        // What a chord is worth: half the mean of all that are taken.
        let mut step = 0.5 * root.home_value / self.limit.max(1.0);
        for _ in 0..STEPS {
            if !(left.tilt * self.sign < 0.0) || best.bound <= self.enough {
                return None;
            }
            let section = self.section(left.extra + self.sign * step, left.price);
            *best = if section.bound < best.bound { section } else { *best };
            if section.tilt * self.sign >= 0.0 {
                return Some(section);
            }
            *left = section;
            step *= 2.0;
        }
        None
    }

    /// The least bound at one second price, searched along the price itself from a guess.
    fn section(&self, extra: f64, guess: f64) -> Section {
        let start = self.plane(guess, extra);
        let mut best = start;
        let Some((mut left, mut right)) = self.bracket(start, extra, &mut best) else {
            return Section { extra, price: best.price, bound: best.bound, tilt: best.tilt };
        };
        for _ in 0..STEPS {
            let meet = (left.bound - right.bound + right.slope * right.price
                - left.slope * left.price)
                / (right.slope - left.slope);
            let floor = left.bound + left.slope * (meet - left.price);
            if !(meet > left.price && meet < right.price)
                || floor >= best.bound - SETTLED * best.bound
            {
                break;
            }
            let plane = self.plane(meet, extra);
            best = if plane.bound < best.bound { plane } else { best };
            if plane.slope < 0.0 {
                left = plane;
            } else {
                right = plane;
            }
        }
        // Mixed so that just what is free is spent: that is how the least bound itself changes.
        let share = right.slope / (right.slope - left.slope);
        Section {
            extra,
            price: best.price,
            bound: best.bound,
            tilt: share * left.tilt + (1.0 - share) * right.tilt,
        }
    }

    /// Prices on both sides of the best one: too much is spent at the first, not too much at the
    /// second. None if all fits at price zero.
    fn bracket(&self, start: Plane, extra: f64, best: &mut Plane) -> Option<(Plane, Plane)> {
        let (mut here, mut factor) = (start, 1.0 + NEAR);
        let is_high = start.slope >= 0.0;
        for step in 0..STEPS {
            let price = match (is_high, step + 1 == STEPS || here.price == 0.0) {
                (true, true) => 0.0,
                (true, false) => here.price / factor,
                (false, true) => return None,
                (false, false) => here.price * factor,
            };
            let next = self.plane(price, extra);
            *best = if next.bound < best.bound { next } else { *best };
            if (next.slope >= 0.0) != is_high {
                return Some(if is_high { (next, here) } else { (here, next) });
            }
            if is_high && price == 0.0 {
                return None;
            }
            here = next;
            factor *= factor;
        }
        None
    }

    /// The bound at a pair of prices, raised by what rounding may have lost.
    fn plane(&self, price: f64, extra: f64) -> Plane {
        let (mut surplus, mut worth, mut spent, mut counted) = (Sum::default(), 0.0, 0.0, 0.0);
        let levels = self.stairs.levels();
        for (coordinate, &weight) in self.terms.weights.iter().enumerate() {
            let (corners, _) = self.stairs.corners(coordinate);
            let low = levels[corners[0] as usize];
            let mut best = (weight * low.success, weight * low.success, 0.0, 0.0);
            for (count, corner) in corners.iter().enumerate() {
                let end = corners
                    .get(count + 1)
                    .map_or(self.stairs.end(coordinate), |&next| next as usize);
                for level in &levels[*corner as usize..end] {
                    let (gain, spend, count) =
                        (weight * level.success, level.spend - low.spend, count as f64);
                    let total = gain - price * spend - extra * count;
                    if total > best.0 {
                        best = (total, gain, spend, count);
                    }
                }
            }
            surplus.add(best.0);
            worth += best.1;
            spent += best.2;
            counted += best.3;
        }
        // Jumps that add up to the budget but for rounding do fit.
        let free = self.terms.free + self.terms.budget * ((CAPACITY as f64 - UNITS) / UNITS);
        let bound = surplus.value() + price * free + extra * self.limit;
        let sizes = worth + price * (spent + free) + extra.abs() * (counted + self.limit);
        Plane {
            price,
            bound: bound + ROUNDING * sizes,
            slope: free - spent,
            tilt: self.limit - counted,
        }
    }
}
