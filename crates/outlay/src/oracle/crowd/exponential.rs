//! Exponential tasks of a block: the wish is `scale * level`, where the level falls by as much as
//! the price's logarithm rises.

use pulp::{Simd, WithSimd};

use super::block::{PART, Scan, Totals, Write, is_good};
use super::local::{Crossing, Local, Smooth};
use super::places::{Limits, Places};
use crate::curve::{Curve, Exponential};
use crate::oracle::four::{Four, FourSums, fours, fours_mut, with_four};
use crate::problem::Bounds;

/// Flat arrays, a place a task.
#[derive(Debug, Default)]
pub(super) struct ExponentialPart {
    pub(super) places: Places,
    /// The level at value and price one.
    base_level: Vec<f64>,
    scale: Vec<f64>,
    height: Vec<f64>,
    limits: Limits,
    /// Value and level at the anchor.
    value: Vec<f64>,
    level: Vec<f64>,
}

/// Below this level the value is taken from a series: the difference would cancel.
const SHALLOW: f64 = 0.1;
/// Lower levels are not told apart.
const LOWEST_LEVEL: f64 = -1e4;

impl ExponentialPart {
    pub(super) fn add(
        &mut self,
        offset: usize,
        exponential: &Exponential,
        curve: &Curve,
        bounds: Bounds,
    ) {
        let (scale, height) = (exponential.scale(), curve.height());
        self.places.add(offset);
        self.base_level.push((height / scale).ln());
        self.scale.push(scale);
        self.height.push(height);
        self.limits.add(bounds, f64::INFINITY, |spend| height * exponential.success(spend));
    }

    /// To be called after the last task.
    pub(super) fn seal(&mut self, tasks_in_block: usize) {
        let padded = self.places.seal(tasks_in_block);
        // In places of no task nothing is wished at any level.
        for numbers in [&mut self.base_level, &mut self.scale, &mut self.height, &mut self.level] {
            numbers.resize(padded, 0.0);
        }
        self.limits.pad(padded);
        self.value.resize(padded, 1.0);
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

    /// Writes the levels at the price of the scan and adds up how the wishes go on from there.
    /// `FRESH`: every task gets a new anchor, there.
    #[inline(always)]
    pub(super) fn scan<S: Simd, const BOUNDED: bool, const FRESH: bool>(
        &mut self,
        simd: S,
        scan: &Scan,
        values: &[f64],
        levels: &mut [f64],
        local: &mut Local,
    ) {
        let Self { places, base_level, scale, limits, value, level, .. } = self;
        let (given, made) = places.begin(values, levels);
        local.are_good &= !FRESH || given.iter().all(is_good);
        let (zero, one) = (Four::splat(simd, 0.0), Four::splat(simd, 1.0));
        let (mut spend, mut fall) = (zero, zero);
        let anchors = fours_mut(value).iter_mut().zip(fours_mut(level));
        let shapes = fours(scale).iter().zip(fours(base_level));
        let bounds = fours(&limits.low).iter().zip(fours(&limits.high));
        for (place, (((given, made), (scales, base_level)), ((value, level), (low, high)))) in
            fours(given)
                .iter()
                .zip(fours_mut(made))
                .zip(shapes)
                .zip(anchors.zip(bounds))
                .enumerate()
        {
            let log_price = scan.anchor_log_price;
            let leveled = if FRESH {
                Anchor { base_level, given, log_price, value, level }.with_simd(simd);
                Four::load(simd, level)
            } else {
                let mut ratio =
                    scan.series.ln_ratio(simd, Four::load(simd, given), Four::load(simd, value));
                if !scan.series.are_near(simd, ratio, zero) {
                    local.are_good &= given.iter().all(is_good);
                    with_four(scan.arch, Anchor { base_level, given, log_price, value, level });
                    ratio = zero;
                }
                Four::load(simd, level) + (ratio - scan.moved)
            };
            let scale = Four::load(simd, scales);
            leveled.store(made);
            let (wish, margin) = (scale * leveled, scale * scan.width);
            let (least, most) = (wish - margin, wish + margin);
            // Between the bounds all over the window, at the lower, or at the upper one.
            let (inside, is_empty, full, low, high) = if BOUNDED {
                let (low, high) = (Four::load(simd, low), Four::load(simd, high));
                let is_empty = low.where_at_least(most, one, zero);
                let inside = least.where_above(low, high.where_above(most, one, zero), zero);
                (
                    inside,
                    is_empty,
                    is_empty.where_above(zero, zero, least.where_at_least(high, one, zero)),
                    low,
                    high,
                )
            } else {
                let is_empty = zero.where_at_least(most, one, zero);
                (least.where_above(zero, one, zero), is_empty, zero, zero, zero)
            };
            spend = spend
                + inside.where_above(zero, wish - low, full.where_above(zero, high - low, zero));
            fall = inside.times_plus(scale, fall);
            let decided = inside + is_empty + full;
            if !decided.is_all_at_least(one) {
                let undecided = Undecided {
                    level: leveled.to_array(),
                    scale: scales,
                    decided: decided.to_array(),
                };
                undecided.list(limits, 4 * place, &mut local.crossing);
            }
        }
        local.constant += spend.total();
        local.slope += fall.total();
    }

    /// Moves the levels to the price of the call, writes the spends in their place, and adds up.
    #[inline(always)]
    pub(super) fn write<S: Simd, const BOUNDED: bool>(
        &mut self,
        simd: S,
        write: &Write,
        values: &[f64],
        spend: &mut [f64],
        totals: &mut Totals,
    ) {
        let Self { places, scale, height, limits, .. } = self;
        let (given, made) = places.go_on(values, spend);
        let (zero, one) = (Four::splat(simd, 0.0), Four::splat(simd, 1.0));
        let (mut above, mut worth, mut top) = (FourSums::new(simd), FourSums::new(simd), zero);
        let shapes = fours(scale).chunks(PART).zip(fours(height).chunks(PART));
        for (part, ((given, made), (scale, height))) in
            fours(given).chunks(PART).zip(fours_mut(made).chunks_mut(PART)).zip(shapes).enumerate()
        {
            // Plain sums over so few are exact enough.
            let (mut part_above, mut part_worth) = (zero, zero);
            for (four, ((given, made), (scale, height))) in
                given.iter().zip(made).zip(scale.iter().zip(height)).enumerate()
            {
                let (level, value, scale) = (
                    Four::load(simd, made) - write.step,
                    Four::load(simd, given),
                    Four::load(simd, scale),
                );
                let (wish, most) = (scale * level, value * Four::load(simd, height));
                top = top.max(wish);
                let on_slope = rise_on_slope(simd, level, most, scale * write.price);
                let (taken, here) = if BOUNDED {
                    let at =
                        |numbers: &[f64]| Four::load(simd, &fours(numbers)[PART * part + four]);
                    let (low, high) = (at(&limits.low), at(&limits.high));
                    let at_bound =
                        value * wish.where_above(low, at(&limits.at_high), at(&limits.at_low));
                    part_above = part_above - low;
                    (
                        wish.max(low).min(high),
                        wish.where_between(low, high, one).where_above(zero, on_slope, at_bound),
                    )
                } else {
                    (wish.max(zero), wish.where_above(zero, on_slope, zero))
                };
                part_above = part_above + taken;
                part_worth = part_worth + here;
                taken.store(made);
            }
            above.add(part_above);
            worth.add(part_worth);
        }
        totals.add(above.total(), worth.total(), top.largest());
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
        let Self { places, scale, height, limits, .. } = self;
        let (given, made) = places.go_back(values, spends);
        let (zero, one) = (Four::splat(simd, 0.0), Four::splat(simd, 1.0));
        for (four, (given, made)) in fours(given).iter().zip(fours_mut(made)).enumerate() {
            let at = |numbers: &[f64]| Four::load(simd, &fours(numbers)[four]);
            let (low, high, spend, scale) =
                (at(&limits.low), at(&limits.high), Four::load(simd, made), at(scale));
            let on_slope = rise_on_slope(
                simd,
                spend / scale,
                at(height),
                scale * price / Four::load(simd, given),
            );
            let at_bound = spend.where_above(low, at(&limits.at_high), at(&limits.at_low));
            spend.where_between(low, high, one).where_above(zero, on_slope, at_bound).store(made);
        }
        self.places.put_back(spends);
    }
}

/// Works out the anchor of four tasks: their values, and their levels at the anchor's price.
struct Anchor<'a> {
    base_level: &'a [f64; 4],
    given: &'a [f64; 4],
    log_price: f64,
    value: &'a mut [f64; 4],
    level: &'a mut [f64; 4],
}

impl WithSimd for Anchor<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let value = Four::load(simd, self.given).max(Four::splat(simd, 0.0));
        let level = Four::load(simd, self.base_level) + value.ln() - self.log_price;
        value.store(self.value);
        level.max(Four::splat(simd, LOWEST_LEVEL)).store(self.level);
    }
}

/// Tasks of which some meet a bound within the window.
struct Undecided<'a> {
    level: [f64; 4],
    scale: &'a [f64; 4],
    decided: [f64; 4],
}

impl Undecided<'_> {
    #[cold]
    fn list(&self, limits: &Limits, first: usize, crossing: &mut Vec<Crossing>) {
        for lane in (0..4).filter(|&lane| self.decided[lane] == 0.0 && self.scale[lane] > 0.0) {
            let (low, high) = limits.range(first + lane);
            crossing.push(Crossing {
                smooth: Smooth::Exponential { level: self.level[lane], scale: self.scale[lane] },
                low,
                high,
            });
        }
    }
}

/// `most - most / e^level`, where `left` is the second term: on the slope it is price * scale. For
/// low levels by a series, where the difference would cancel.
#[inline(always)]
fn rise_on_slope<S: Simd>(simd: S, level: Four<S>, most: Four<S>, left: Four<S>) -> Four<S> {
    level.where_above(Four::splat(simd, SHALLOW), most - left, most * level.fall_to_zero())
}
