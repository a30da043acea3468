//! All staircases of a problem in flat arrays, and the relaxation over them: price, split and
//! bound.
//!
//! Where every task is a staircase a call is a few passes over these arrays. What a jump costs is
//! counted in whole units, so that sums do not depend on their order: the price found is one and
//! the same wherever the search for it began.

use super::coordinate::{Coordinate, Form};
use super::hull::Hull;
use super::model::within_budget;
use super::relaxation::ROUNDING;
use crate::curve::{Curve, JUMP_TOLERANCE};
use crate::numeric::compensated::Sum;

/// A spend that may be best for a task, and the success it buys, before floor and ceiling.
#[derive(Debug, Clone, Copy)]
pub(super) struct Level {
    pub(super) spend: f64,
    pub(super) success: f64,
}

/// A chord of an envelope: its slope for weight one, and whose it is.
#[derive(Debug, Clone, Copy)]
struct Chord {
    slope: f64,
    coordinate: u32,
}

/// A chord in the search for the price: below `price` the task takes `jump` units more. Sums of
/// jumps saturate: they are only compared with what is free.
#[derive(Debug, Clone, Copy)]
struct Offer {
    price: f64,
    jump: i64,
}

/// The staircases, with the split of the current call.
#[derive(Debug, Default)]
pub(super) struct Stairs {
    /// Where each coordinate's levels begin, and where the last one's end.
    starts: Vec<u32>,
    levels: Vec<Level>,
    /// The task, or the place after the tasks, that each coordinate stands for, and its curve's
    /// floor and height.
    tasks: Vec<u32>,
    floors: Vec<f64>,
    heights: Vec<f64>,
    /// Where each coordinate's corners begin, and the level that each corner is. Chord `c` of
    /// coordinate `k` leaves corner `c + k`.
    turns: Vec<u32>,
    corners: Vec<u32>,
    chords: Vec<Chord>,
    /// What each chord costs, in units of the budget for which it was counted.
    jumps: Vec<i64>,
    counted_for: f64,
    /// What was free, and the budget, when the levels were listed, and what has to be free for all
    /// levels to be within it.
    free: f64,
    budget: f64,
    widest: f64,
    /// Whether a spend may reach a jump that is no level of its own: only the curves know what is
    /// reached.
    has_twins: bool,

    /// Prices of the chords in this call.
    prices: Vec<f64>,
    offers: Vec<Offer>,
    tied: Vec<u32>,
    /// Each coordinate's corner at the price, counted from its first.
    home_corner: Vec<u32>,
    /// Each coordinate's level at the price, and the one that it is given.
    pub(super) home: Vec<u32>,
    pub(super) chosen: Vec<u32>,
    /// What each coordinate loses at least by leaving its home; infinite if it cannot.
    pub(super) least: Vec<f64>,
    hull: Hull,
}

/// What the relaxation over staircases says.
#[derive(Debug, Clone, Copy)]
pub(super) struct Root {
    pub(super) price: f64,
    /// No split is worth more.
    pub(super) bound: f64,
    /// What the split written is worth, and what it leaves of the free budget.
    pub(super) value: f64,
    pub(super) left: f64,
    /// What the homes are worth, and what they cost together, in units.
    pub(super) home_value: f64,
    pub(super) home_units: i64,
    /// Nothing is between two levels: the split is the best one.
    pub(super) is_settled: bool,
}

/// What a call is about.
#[derive(Debug, Clone, Copy)]
pub(super) struct Terms<'a> {
    pub(super) weights: &'a [f64],
    pub(super) budget: f64,
    pub(super) free: f64,
}

/// The budget in units: spends and their sums are whole numbers of them.
pub(super) const UNITS: f64 = (1u64 << 60) as f64;
/// Jumps whose spends add up to the budget but for rounding do fit: a jump counts as reached 2^-40
/// before its spend.
pub(super) const CAPACITY: i64 = (1 << 60) + (1 << 20);
/// Total spend this close to what is free, as a share of it, counts as all of it.
const CLOSE: f64 = 2e-14;
/// A cold search for the price looks at so many chords first.
const SAMPLE: usize = 256;
/// How far from the price the last one is taken to be, as a share.
const DRIFT: f64 = 0.01;

/// A spend in whole units, rounded down: every split within the budget stays within it in units.
pub(super) fn units(spend: f64, units_per_spend: f64) -> i64 {
    (spend * units_per_spend) as i64
}

impl Stairs {
    /// Lists the levels that this much budget allows. The last coordinates, from `plain` on, change
    /// from call to call.
    pub(super) fn load(
        &mut self,
        coordinates: &[Coordinate],
        curves: &[Curve],
        plain: usize,
        free: f64,
        budget: f64,
    ) {
        let is_listed = self.starts.len() > plain
            && (free == self.free && budget == self.budget || self.widest <= free.min(self.free));
        let kept = if is_listed { plain } else { 0 };
        if !is_listed {
            self.tasks.clear();
            self.tasks.extend(coordinates.iter().map(|coordinate| coordinate.task as u32));
            let plain_curves =
                || coordinates[..plain].iter().map(|coordinate| &curves[coordinate.task]);
            self.floors.clear();
            self.floors.extend(plain_curves().map(Curve::floor));
            self.heights.clear();
            self.heights.extend(plain_curves().map(Curve::height));
            self.widest = coordinates[..plain].iter().map(reach).fold(0.0, f64::max);
            self.has_twins = false;
        }
        (self.free, self.budget) = (free, budget);
        if kept == coordinates.len() {
            return;
        }
        self.truncate(kept);
        for coordinate in &coordinates[kept..] {
            self.list(coordinate);
        }
        self.counted_for = f64::NAN;
    }

    /// What success is worth to each coordinate; what a stack gains is counted in value already.
    pub(super) fn weigh(&self, values: &[f64], weights: &mut [f64]) {
        for ((weight, &task), height) in weights.iter_mut().zip(&self.tasks).zip(&self.heights) {
            *weight = values[task as usize] * height;
        }
        weights[self.heights.len()..].fill(1.0);
    }

    fn truncate(&mut self, coordinates: usize) {
        self.starts.truncate(coordinates + 1);
        self.turns.truncate(coordinates + 1);
        let (levels, corners) =
            (self.starts.last().copied().unwrap_or(0), self.turns.last().copied().unwrap_or(0));
        self.levels.truncate(levels as usize);
        self.corners.truncate(corners as usize);
        self.chords.truncate(corners as usize - coordinates.min(corners as usize));
        if self.starts.is_empty() {
            self.starts.push(0);
            self.turns.push(0);
        }
    }

    /// Lists the levels and the envelope of one more coordinate.
    fn list(&mut self, coordinate: &Coordinate) {
        let Form::Points { spend, success, .. } = &coordinate.form else { return };
        let low = coordinate.min;
        let high = coordinate.max.min(within_budget(low, self.free, self.budget));
        let first = self.levels.len();
        self.levels.push(Level { spend: low, success: coordinate.form.success(low) });
        let mut from = low;
        if low == 0.0 && coordinate.at_least > 0.0 && high >= coordinate.at_least {
            from = coordinate.at_least;
            self.levels.push(Level { spend: from, success: coordinate.form.success(from) });
        }
        let is_shut = low == 0.0 && coordinate.at_least > high;
        let (begin, end) = (
            spend.partition_point(|&point| point <= from),
            spend.partition_point(|&point| point <= high),
        );
        if !is_shut {
            let more = spend[begin.min(end)..end].iter().zip(&success[begin.min(end)..end]);
            self.levels.extend(more.map(|(&spend, &success)| Level { spend, success }));
        }
        let levels = &self.levels[first..];
        let after = spend.get(if is_shut { begin } else { end });
        let nexts = levels[1..].iter().map(|level| level.spend).chain(after.copied());
        self.has_twins |=
            levels.iter().zip(nexts).any(|(level, next)| next * JUMP_TOLERANCE <= level.spend);
        self.hull.build(coordinate, low, high);
        let mut level = first;
        for corner in &self.hull.corners {
            while self.levels[level].spend < corner.spend {
                level += 1;
            }
            self.corners.push(level as u32);
        }
        let owner = self.starts.len() as u32 - 1;
        let slopes =
            self.hull.corners[..self.hull.corners.len() - 1].iter().map(|corner| corner.slope);
        self.chords.extend(slopes.map(|slope| Chord { slope, coordinate: owner }));
        self.starts.push(self.levels.len() as u32);
        self.turns.push(self.corners.len() as u32);
    }

    pub(super) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    pub(super) fn level(&self, level: u32) -> Level {
        self.levels[level as usize]
    }

    /// Where the levels of a coordinate end.
    pub(super) fn end(&self, coordinate: usize) -> usize {
        self.starts[coordinate + 1] as usize
    }

    pub(super) fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// The corners of a coordinate as levels, and which of them is its home.
    pub(super) fn corners(&self, coordinate: usize) -> (&[u32], usize) {
        let corners =
            &self.corners[self.turns[coordinate] as usize..self.turns[coordinate + 1] as usize];
        (corners, self.home_corner[coordinate] as usize)
    }

    /// Solves the relaxation and writes homes, what leaving them costs, and a split within the
    /// budget.
    pub(super) fn relax(&mut self, terms: Terms<'_>, last_price: Option<f64>) -> Root {
        let per_spend = UNITS / terms.budget;
        let price = if terms.free > 0.0 {
            self.find_price(terms, per_spend, last_price)
        } else {
            f64::INFINITY
        };
        self.go_home(price);
        let (mut value, mut above, mut home_units) = (Sum::default(), Sum::default(), 0);
        self.least.clear();
        let mut starts = self.starts.iter();
        let places = self.turns.windows(2).zip(&self.home_corner).zip(self.home.iter_mut());
        for (((turns, &corner), home), &weight) in places.zip(terms.weights) {
            let corners = &self.corners[turns[0] as usize..turns[1] as usize];
            let low = self.levels[starts.next().map_or(0, |&start| start as usize)];
            *home = corners[corner as usize];
            let level = self.levels[*home as usize];
            value.add(weight * level.success);
            above.add(level.spend - low.spend);
            home_units += units(level.spend, per_spend);
            self.least.push(least_loss(&self.levels, corners, corner as usize, weight, price));
        }
        let (worth, wished) = (value.value(), above.value());
        if !(terms.free > 0.0) {
            self.chosen.clone_from(&self.home);
            let bound = worth + ROUNDING * worth;
            return Root {
                price: 0.0,
                bound,
                value: worth,
                left: 0.0,
                home_value: worth,
                home_units,
                is_settled: true,
            };
        }
        // The dual function at this price: what is free at its price, and each task's best surplus.
        let bound = worth + price * (terms.free - wished);
        let bound = bound + ROUNDING * (bound.abs() + price * terms.free + worth);
        let mut root = Root {
            price,
            bound,
            value: worth,
            left: 0.0,
            home_value: worth,
            home_units,
            is_settled: true,
        };
        self.fill(terms, per_spend, &mut value, &mut above, &mut root);
        root.left = terms.free - above.value();
        root
    }

    /// Each coordinate's corner at a price: the chords above it are taken, those exactly there are
    /// listed.
    fn go_home(&mut self, price: f64) {
        let count = self.len();
        self.home.resize(count, 0);
        self.home_corner.clear();
        self.home_corner.resize(count, 0);
        self.tied.clear();
        if price == f64::INFINITY {
            return;
        }
        for (place, (chord, &at)) in self.chords.iter().zip(&self.prices).enumerate() {
            self.home_corner[chord.coordinate as usize] += u32::from(at > price);
            if at == price && price > 0.0 {
                self.tied.push(place as u32);
            }
        }
    }

    /// Spends what is left on the tied coordinates, those with more weight and lower index first;
    /// at most one is left half-way.
    fn fill(
        &mut self,
        terms: Terms<'_>,
        per_spend: f64,
        value: &mut Sum,
        above: &mut Sum,
        root: &mut Root,
    ) {
        let mut tied = std::mem::take(&mut self.tied);
        let key = |place: &u32| self.chords[*place as usize].coordinate as usize;
        tied.sort_unstable_by(|a, b| {
            let (first, second) = (key(a), key(b));
            terms.weights[second]
                .total_cmp(&terms.weights[first])
                .then(self.tasks[first].cmp(&self.tasks[second]))
                .then(a.cmp(b))
        });
        let mut halfway = None;
        for &place in &tied {
            let coordinate = self.chords[place as usize].coordinate as usize;
            let corner = place as usize + coordinate;
            let (from, to) = (self.corners[corner], self.corners[corner + 1]);
            let (here, there) = (self.level(from), self.level(to));
            let jump = units(there.spend, per_spend) - units(here.spend, per_spend);
            // A second chord at the same price can only follow the first.
            if self.home[coordinate] != from || root.home_units + jump > CAPACITY {
                halfway = halfway.or(Some(coordinate));
                continue;
            }
            self.home[coordinate] = to;
            self.home_corner[coordinate] += 1;
            // Back costs nothing.
            self.least[coordinate] = 0.0;
            root.home_units += jump;
            value.add(terms.weights[coordinate] * (there.success - here.success));
            above.add(there.spend - here.spend);
        }
        root.home_value = value.value();
        self.chosen.clone_from(&self.home);
        root.is_settled = halfway.is_none() || above.value() >= terms.free;
        if let Some(coordinate) = halfway {
            // The most that fits: a level under the chord.
            let here = self.level(self.home[coordinate]);
            let room = CAPACITY - root.home_units + units(here.spend, per_spend);
            let later = &self.levels
                [self.home[coordinate] as usize + 1..self.starts[coordinate + 1] as usize];
            let fitting = later.partition_point(|level| units(level.spend, per_spend) <= room);
            self.chosen[coordinate] += fitting as u32;
            let there = self.level(self.chosen[coordinate]);
            value.add(terms.weights[coordinate] * (there.success - here.success));
            above.add(there.spend - here.spend);
        }
        root.value = value.value();
        self.tied = tied;
    }

    /// The highest price at which what is taken, ties included, comes to all that is free; zero if
    /// everything does not.
    fn find_price(&mut self, terms: Terms<'_>, per_spend: f64, last_price: Option<f64>) -> f64 {
        self.count_jumps(terms.budget, per_spend);
        let target = units(terms.free * (1.0 - CLOSE), per_spend);
        let mut reach = 0i64;
        self.prices.clear();
        self.prices.extend(self.chords.iter().zip(&self.jumps).map(|(chord, &jump)| {
            let price = terms.weights[chord.coordinate as usize] * chord.slope;
            reach = reach.saturating_add(if price > 0.0 { jump } else { 0 });
            price
        }));
        if reach < target {
            return 0.0;
        }
        let near = last_price.filter(|price| *price > 0.0 && price.is_finite());
        let (mut low, mut high) = near.map_or_else(
            || self.sampled_bracket(target),
            |price| (price * (1.0 - DRIFT), price * (1.0 + DRIFT)),
        );
        loop {
            let (above, inside) = self.offers_between(low, high);
            if above >= target {
                (low, high) = (high, f64::INFINITY);
            } else if above.saturating_add(inside) < target {
                (low, high) = (0.0, low);
            } else {
                return self.price_among_offers(target - above);
            }
        }
    }

    fn count_jumps(&mut self, budget: f64, per_spend: f64) {
        if self.counted_for == budget {
            return;
        }
        self.counted_for = budget;
        self.jumps.clear();
        for place in 0..self.chords.len() {
            let corner = place + self.chords[place].coordinate as usize;
            let cost =
                |corner: usize| units(self.levels[self.corners[corner] as usize].spend, per_spend);
            self.jumps.push(cost(corner + 1) - cost(corner));
        }
    }

    /// Prices between which the one sought probably is: from some of the chords.
    fn sampled_bracket(&mut self, target: i64) -> (f64, f64) {
        let stride = self.chords.len().div_ceil(SAMPLE);
        if stride <= 1 {
            return (0.0, f64::INFINITY);
        }
        self.offers.clear();
        self.offers.extend(
            (0..self.chords.len())
                .step_by(stride)
                .map(|place| Offer { price: self.prices[place], jump: self.jumps[place] }),
        );
        self.offers.sort_unstable_by(|a, b| b.price.total_cmp(&a.price));
        let mut taken = 0;
        let place = self.offers.iter().position(|offer| {
            taken += offer.jump / SAMPLE as i64;
            taken >= target / (stride * SAMPLE) as i64
        });
        let place = place.unwrap_or(self.offers.len());
        const SPREAD: usize = 16;
        let high =
            place.checked_sub(SPREAD).map_or(f64::INFINITY, |place| self.offers[place].price);
        let low = self.offers.get(place + SPREAD).map_or(0.0, |offer| offer.price);
        (low, high)
    }

    /// Lists the chords with a price above `low` and up to `high`; returns what those above come
    /// to, and what the listed ones do.
    fn offers_between(&mut self, low: f64, high: f64) -> (i64, i64) {
        let (mut above, mut inside, mut count) = (0i64, 0i64, 0);
        self.offers.resize(self.prices.len() + 1, Offer { price: 0.0, jump: 0 });
        for (&price, &jump) in self.prices.iter().zip(&self.jumps) {
            let (is_above, is_inside) = (price > high, (price > low) & (price <= high));
            above = above.saturating_add(if is_above { jump } else { 0 });
            inside = inside.saturating_add(if is_inside { jump } else { 0 });
            // No branch: nobody foresees which chords are inside.
            self.offers[count] = Offer { price, jump };
            count += usize::from(is_inside);
        }
        self.offers.truncate(count);
        (above, inside)
    }

    /// The highest price at which the listed chords come to `target`.
    fn price_among_offers(&mut self, mut target: i64) -> f64 {
        let mut offers = &mut self.offers[..];
        let mut best = 0.0;
        while !offers.is_empty() {
            let middle = offers.len() / 2;
            let (below, pivot, above) =
                offers.select_nth_unstable_by(middle, |a, b| a.price.total_cmp(&b.price));
            let beyond = above.iter().fold(0i64, |sum, offer| sum.saturating_add(offer.jump));
            if beyond >= target {
                offers = above;
            } else if beyond.saturating_add(pivot.jump) >= target {
                return pivot.price;
            } else {
                best = pivot.price;
                target -= beyond + pivot.jump;
                offers = below;
            }
        }
        best
    }

    /// Among equals the first get most: exchanges the levels of tasks with equal curves, bounds and
    /// weights.
    pub(super) fn order_equals(&mut self, classes: &[Vec<u32>], weights: &[f64]) {
        for class in classes.iter().filter(|class| class.len() > 1) {
            for position in 1..class.len() {
                let mut place = position;
                while place > 0
                    && weights[class[place - 1] as usize] == weights[class[place] as usize]
                {
                    let (first, second) = (class[place - 1] as usize, class[place] as usize);
                    let steps =
                        |coordinate: usize| self.chosen[coordinate] - self.starts[coordinate];
                    let (one, other) = (steps(first), steps(second));
                    if one >= other {
                        break;
                    }
                    (self.chosen[first], self.chosen[second]) =
                        (self.starts[first] + other, self.starts[second] + one);
                    place -= 1;
                }
            }
        }
    }

    /// Each task's spend; of a stack, what all of it gets.
    pub(super) fn write_spend(&self, spend: &mut [f64]) {
        for (&task, &chosen) in self.tasks.iter().zip(&self.chosen) {
            spend[task as usize] = self.level(chosen).spend;
        }
    }

    /// Each task's success by its level; false, and nothing written, if only the curves can tell.
    /// Stacks have no say here.
    pub(super) fn write_success(&self, success: &mut [f64]) -> bool {
        if self.has_twins {
            return false;
        }
        let scales = self.floors.iter().zip(&self.heights);
        for ((&task, &chosen), (floor, height)) in self.tasks.iter().zip(&self.chosen).zip(scales) {
            success[task as usize] = floor + height * self.level(chosen).success;
        }
        true
    }
}

/// What a coordinate loses at least by leaving its home. Losses at the corners of the envelope grow
/// away from the home, and a level under a chord loses at least as much as the chord's better end:
/// only the levels around the home need be asked.
fn least_loss(levels: &[Level], corners: &[u32], home: usize, weight: f64, price: f64) -> f64 {
    if !(weight > 0.0) {
        return f64::INFINITY;
    }
    let (first, at) = (corners[home.max(1) - 1] as usize, corners[home] as usize);
    let last = corners[(home + 1).min(corners.len() - 1)] as usize;
    let surplus = |level: &Level| weight * level.success - price * level.spend;
    let most = |levels: &[Level]| {
        levels.iter().map(surplus).fold(f64::NEG_INFINITY, |a, b| if a > b { a } else { b })
    };
    let (below, above) = (most(&levels[first..at]), most(&levels[at + 1..last + 1]));
    surplus(&levels[at]) - if below > above { below } else { above }
}

/// What has to be free for a coordinate to have all its levels.
fn reach(coordinate: &Coordinate) -> f64 {
    let Form::Points { spend, .. } = &coordinate.form else { return 0.0 };
    spend.last().copied().unwrap_or(0.0).max(coordinate.at_least).min(coordinate.max)
        - coordinate.min
}
