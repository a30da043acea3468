//! Power tasks of a block: the wish is the value to the power `elasticity`, divided by as high a
//! power of the price.

use pulp::{Simd, WithSimd};

use super::block::{LEAST_VALUE, PART, Scan, Totals, Write, is_good};
use super::local::{Crossing, Local, Smooth};
use super::places::{Limits, Places};
use crate::curve::{Curve, Power};
use crate::oracle::four::{Four, FourSums, fours, fours_mut, with_four};
use crate::problem::Bounds;

/// Flat arrays, a place a task.
#[derive(Debug, Default)]
pub(super) struct PowerPart {
    pub(super) places: Places,
    /// The logarithm of the wish at value and price one.
    base_level: Vec<f64>,
    elasticity: Vec<f64>,
    over_exponent: Vec<f64>,
    limits: Limits,
    /// Value and wish at the anchor.
    value: Vec<f64>,
    wish: Vec<f64>,
}

impl PowerPart {
    pub(super) fn add(&mut self, offset: usize, power: &Power, curve: &Curve, bounds: Bounds) {
        let (exponent, scale, height) = (power.exponent(), power.scale(), curve.height());
        let elasticity = 1.0 / (1.0 - exponent);
        self.places.add(offset);
        self.base_level.push(scale.ln() + elasticity * (height * exponent / scale).ln());
        self.elasticity.push(elasticity);
        self.over_exponent.push(1.0 / exponent);
        self.limits.add(bounds, scale, |spend| height * power.success(spend));
    }

    /// To be called after the last task.
    pub(super) fn seal(&mut self, tasks_in_block: usize) {
        let padded = self.places.seal(tasks_in_block);
        // In places of no task nothing is ever wished.
        self.base_level.resize(padded, f64::NEG_INFINITY);
        self.elasticity.resize(padded, 1.0);
        self.over_exponent.resize(padded, 0.0);
        self.limits.pad(padded);
        self.value.resize(padded, 1.0);
        self.wish.resize(padded, 0.0);
    }

    pub(super) fn most_elastic(&self) -> f64 {
        self.elasticity.iter().copied().fold(0.0, f64::max)
    }

    /// The least spend at which a task is full.
    pub(super) fn least_high(&self) -> f64 {
        self.limits.high[..self.places.len()].iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// Between which spends a task's spend follows the price.
    pub(super) fn range(&self, place: usize) -> (f64, f64) {
        self.limits.range(place)
    }

    /// Writes the values that the anchors were made for.
    pub(super) fn write_anchor_values(&self, values: &mut [f64]) {
        self.places.scatter(&self.value, values);
    }

    /// Writes the wishes at the price of the scan and adds up how they go on from there. `FRESH`:
    /// every task gets a new anchor, there.
    #[inline(always)]
    pub(super) fn scan<S: Simd, const BOUNDED: bool, const FRESH: bool>(
        &mut self,
        simd: S,
        scan: &Scan,
        values: &[f64],
        wishes: &mut [f64],
        local: &mut Local,
    ) {
        let Self { places, base_level, elasticity, limits, value, wish, .. } = self;
        let (given, made) = places.begin(values, wishes);
        local.are_good &= !FRESH || given.iter().all(is_good);
        let zero = Four::splat(simd, 0.0);
        let (mut sums, mut settled) = ([zero; 4], zero);
        let shapes = fours(elasticity).iter().zip(fours(base_level));
        let anchors = fours_mut(value).iter_mut().zip(fours_mut(wish));
        let bounds = fours(&limits.low).iter().zip(fours(&limits.high));
        for (place, (((given, made), (elasticity, base_level)), ((value, wish), (low, high)))) in
            fours(given)
                .iter()
                .zip(fours_mut(made))
                .zip(shapes)
                .zip(anchors.zip(bounds))
                .enumerate()
        {
            let elastic = Four::load(simd, elasticity);
            let log_price = scan.anchor_log_price;
            let wished = if FRESH {
                Anchor { elasticity, base_level, given, log_price, value, wish }.with_simd(simd);
                Four::load(simd, wish)
            } else {
                let ratio =
                    scan.series.ln_ratio(simd, Four::load(simd, given), Four::load(simd, value));
                let mut exponent = elastic * (ratio - scan.moved);
                if !scan.series.are_near(simd, ratio, exponent) {
                    local.are_good &= given.iter().all(is_good);
                    with_four(
                        scan.arch,
                        Anchor { elasticity, base_level, given, log_price, value, wish },
                    );
                    exponent = elastic * (Four::splat(simd, 0.0) - scan.moved);
                }
                Four::load(simd, wish) * scan.series.exp(simd, exponent)
            };
            wished.store(made);
            if BOUNDED {
                let (low, high) = (Four::load(simd, low), Four::load(simd, high));
                let side = Side::of(simd, wished, elastic * scan.width, low, high);
                settled =
                    settled + side.full.where_above(zero, high - low, zero) - side.inside * low;
                add_moments(&mut sums, side.inside.where_above(zero, wished, zero), elastic);
                if !side.decided.is_all_at_least(Four::splat(simd, 1.0)) {
                    let undecided = Undecided {
                        wish: wished.to_array(),
                        elasticity,
                        decided: side.decided.to_array(),
                    };
                    undecided.list(limits, 4 * place, &mut local.crossing);
                }
            } else {
                add_moments(&mut sums, wished, elastic);
            }
        }
        for (moment, sum) in local.moments.iter_mut().zip(sums) {
            *moment += sum.total();
        }
        local.constant += settled.total();
    }

    /// Moves the wishes to the price of the call, writes the spends in their place, and adds up.
    #[inline(always)]
    pub(super) fn write<S: Simd, const BOUNDED: bool>(
        &mut self,
        simd: S,
        write: &Write,
        values: &[f64],
        spend: &mut [f64],
        totals: &mut Totals,
    ) {
        let Self { places, elasticity, over_exponent, limits, .. } = self;
        let (given, made) = places.go_on(values, spend);
        let (zero, one) = (Four::splat(simd, 0.0), Four::splat(simd, 1.0));
        let (step, price) = (-write.step, Four::splat(simd, write.price));
        let (mut above, mut worth, mut most) = (FourSums::new(simd), FourSums::new(simd), zero);
        let shapes = fours(elasticity).chunks(PART).zip(fours(over_exponent).chunks(PART));
        for (part, ((given, made), (elasticity, over_exponent))) in
            fours(given).chunks(PART).zip(fours_mut(made).chunks_mut(PART)).zip(shapes).enumerate()
        {
            // Plain sums over so few are exact enough.
            let (mut part_above, mut part_worth) = (zero, zero);
            for (four, ((given, made), (elasticity, over_exponent))) in
                given.iter().zip(made).zip(elasticity.iter().zip(over_exponent)).enumerate()
            {
                let exponent = Four::load(simd, elasticity) * step;
                let factor = if write.is_tiny {
                    write.series.exp_tiny(simd, exponent)
                } else {
                    write.series.exp(simd, exponent)
                };
                let wish = Four::load(simd, made) * factor;
                most = most.max(wish);
                // On the curve's own slope value = price * spend / exponent.
                let on_slope = Four::load(simd, over_exponent);
                if BOUNDED {
                    let at =
                        |numbers: &[f64]| Four::load(simd, &fours(numbers)[PART * part + four]);
                    let (low, high) = (at(&limits.low), at(&limits.high));
                    let at_bound = Four::load(simd, given)
                        * wish.where_above(low, at(&limits.at_high), at(&limits.at_low));
                    let taken = wish.max(low).min(high);
                    part_above = part_above + (taken - low);
                    part_worth = part_worth
                        + wish.where_between(low, high, one).where_above(
                            zero,
                            wish * (on_slope * price),
                            at_bound,
                        );
                    taken.store(made);
                } else {
                    part_above = part_above + wish;
                    part_worth = wish.times_plus(on_slope, part_worth);
                    wish.store(made);
                }
            }
            above.add(part_above);
            worth.add(if BOUNDED { part_worth } else { part_worth * price });
        }
        totals.add(above.total(), worth.total(), most.largest());
        self.places.put_back(spend);
    }

    /// Turns spends at a price into successes above the floor.
    #[inline(always)]
    pub(super) fn rise<S: Simd>(
        &mut self,
        simd: S,
        price: f64,
        values: &[f64],
        spends: &mut [f64],
    ) {
        let Self { places, over_exponent, limits, .. } = self;
        let (given, made) = places.go_back(values, spends);
        let (zero, one) = (Four::splat(simd, 0.0), Four::splat(simd, 1.0));
        for (four, ((given, made), over_exponent)) in
            fours(given).iter().zip(fours_mut(made)).zip(fours(over_exponent)).enumerate()
        {
            let at = |numbers: &[f64]| Four::load(simd, &fours(numbers)[four]);
            let (low, high, spend) = (at(&limits.low), at(&limits.high), Four::load(simd, made));
            let on_slope =
                spend * (Four::load(simd, over_exponent) * price) / Four::load(simd, given);
            let at_bound = spend.where_above(low, at(&limits.at_high), at(&limits.at_low));
            spend.where_between(low, high, one).where_above(zero, on_slope, at_bound).store(made);
        }
        self.places.put_back(spends);
    }
}

/// Works out the anchor of four tasks: their values, and their wishes at the anchor's price.
struct Anchor<'a> {
    elasticity: &'a [f64; 4],
    base_level: &'a [f64; 4],
    given: &'a [f64; 4],
    log_price: f64,
    value: &'a mut [f64; 4],
    wish: &'a mut [f64; 4],
}

impl WithSimd for Anchor<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (least, zero) = (Four::splat(simd, LEAST_VALUE), Four::splat(simd, 0.0));
        let value = Four::load(simd, self.given).max(zero);
        let log_wish = Four::load(simd, self.elasticity)
            .times_plus(value.ln() - self.log_price, Four::load(simd, self.base_level));
        value.store(self.value);
        value.where_above(least, log_wish.exp(), zero).store(self.wish);
    }
}

/// Where four tasks are all over a window: one or zero in each lane.
struct Side<S: Simd> {
    inside: Four<S>,
    full: Four<S>,
    /// In one of these two ways, or at the lower bound.
    decided: Four<S>,
}

impl<S: Simd> Side<S> {
    #[inline(always)]
    fn of(simd: S, wish: Four<S>, share: Four<S>, low: Four<S>, high: Four<S>) -> Self {
        let (zero, one) = (Four::splat(simd, 0.0), Four::splat(simd, 1.0));
        // No less and no more than the wish anywhere in the window.
        let (least, most) = (wish * (one - share), wish * (one + share.times_plus(share, share)));
        let inside = least.where_above(low, high.where_above(most, one, zero), zero);
        let is_empty = low.where_at_least(most, one, zero);
        let full = is_empty.where_above(zero, zero, least.where_at_least(high, one, zero));
        Self { inside, full, decided: inside + is_empty + full }
    }
}

/// Tasks of which some meet a bound within the window.
struct Undecided<'a> {
    wish: [f64; 4],
    elasticity: &'a [f64; 4],
    decided: [f64; 4],
}

impl Undecided<'_> {
    #[cold]
    fn list(&self, limits: &Limits, first: usize, crossing: &mut Vec<Crossing>) {
        for lane in (0..4).filter(|&lane| self.decided[lane] == 0.0) {
            let (low, high) = limits.range(first + lane);
            crossing.push(Crossing {
                smooth: Smooth::Power { wish: self.wish[lane], elasticity: self.elasticity[lane] },
                low,
                high,
            });
        }
    }
}

#[inline(always)]
fn add_moments<S: Simd>(sums: &mut [Four<S>; 4], wish: Four<S>, elasticity: Four<S>) {
    let square = elasticity * elasticity;
    let powers = [elasticity, square, square * elasticity];
    sums[0] = sums[0] + wish;
    for (sum, power) in sums[1..].iter_mut().zip(powers) {
        *sum = wish.times_plus(power, *sum);
    }
}
