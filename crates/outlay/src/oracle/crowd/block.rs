//! Some tasks that stand next to each other, with flat arrays for each family, and the passes over
//! them.

use pulp::{Arch, Simd, WithSimd};

use super::exponential::ExponentialPart;
use super::local::Local;
use super::power::PowerPart;
use super::ramp::RampPart;
use super::series::Series;
use crate::curve::{Curve, Family};
use crate::numeric::compensated::Sum;
use crate::problem::Bounds;

/// Some of the tasks that stand next to each other, by family.
#[derive(Debug, Default)]
pub(super) struct Block {
    /// The first task.
    pub(super) start: usize,
    pub(super) power: PowerPart,
    pub(super) exponential: ExponentialPart,
    pub(super) ramp: RampPart,
    pub(super) floor: Vec<f64>,
    pub(super) local: Local,
    pub(super) totals: Totals,
}

/// What a scan needs to know.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scan {
    pub(super) arch: Arch,
    pub(super) series: Series,
    /// Every task gets a new anchor, at the price of the scan.
    pub(super) is_fresh: bool,
    pub(super) anchor_log_price: f64,
    /// How far the price of the scan is from the anchor's, in its logarithm.
    pub(super) moved: f64,
    pub(super) width: f64,
    /// The window.
    pub(super) low_price: f64,
    pub(super) high_price: f64,
}

/// What a write needs to know.
#[derive(Debug, Clone, Copy)]
pub(super) struct Write {
    pub(super) series: Series,
    /// From the price of the scan to the price of the call, in its logarithm.
    pub(super) step: f64,
    pub(super) price: f64,
    /// The step is so small that a short series will do.
    pub(super) is_tiny: bool,
}

/// What the spends of a block come to.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Totals {
    /// Spend above the lower bounds.
    pub(super) above: Sum,
    pub(super) worth: Sum,
    /// The largest wish of a smooth task.
    pub(super) most: f64,
}

impl Totals {
    pub(super) fn add(&mut self, above: Sum, worth: Sum, most: f64) {
        self.above.merge(above);
        self.worth.merge(worth);
        self.most = self.most.max(most);
    }
}

/// Tasks of a block: its values and spends fit the nearest cache together with what is read along
/// with them.
pub(super) const BLOCK: usize = 2048;
/// So many fours are added up plainly; then with care.
pub(super) const PART: usize = 8;
/// Tasks worth no more than this get their lower bound.
pub(super) const LEAST_VALUE: f64 = 1e-90;
pub(super) const MOST_VALUE: f64 = 1e90;

pub(super) fn is_good(value: &f64) -> bool {
    (0.0..MOST_VALUE).contains(value)
}

impl Block {
    pub(super) fn new(start: usize, curves: &[Curve], bounds: &[Bounds]) -> Option<Self> {
        let mut block = Self { start, ..Self::default() };
        for (offset, (curve, &bounds)) in curves.iter().zip(bounds).enumerate() {
            if bounds.at_least > 0.0 || !(curve.height() > 0.0) {
                return None;
            }
            match curve.family() {
                Family::Power(power) if power.exponent() < 1.0 => {
                    block.power.add(offset, power, curve, bounds)
                }
                Family::Power(power) => block.ramp.add(offset, power.scale(), curve, bounds),
                Family::Saturating(saturating) => {
                    block.ramp.add(offset, saturating.full_at(), curve, bounds)
                }
                Family::Exponential(exponential) => {
                    block.exponential.add(offset, exponential, curve, bounds)
                }
                _ => return None,
            }
        }
        if curves.iter().any(|curve| curve.floor() > 0.0) {
            block.floor = curves.iter().map(Curve::floor).collect();
        }
        block.power.seal(curves.len());
        block.exponential.seal(curves.len());
        block.ramp.seal(curves.len());
        Some(block)
    }

    pub(super) fn least_high(&self) -> f64 {
        self.power.least_high().min(self.exponential.least_high())
    }

    pub(super) fn write_anchor_values(&self, values: &mut [f64]) {
        self.power.write_anchor_values(values);
        self.exponential.write_anchor_values(values);
    }

    /// The largest spend that follows the price, of the first tasks of each smooth family.
    pub(super) fn softest(&self, spends: &[f64]) -> Option<usize> {
        const LOOKED_AT: usize = 256;
        let powers = self
            .power
            .places
            .offsets()
            .iter()
            .enumerate()
            .map(|(place, &offset)| (offset, self.power.range(place)));
        let exponentials = self.exponential.places.offsets().iter().enumerate();
        let exponentials =
            exponentials.map(|(place, &offset)| (offset, self.exponential.range(place)));
        let mut best: Option<usize> = None;
        for (offset, (low, high)) in powers.take(LOOKED_AT).chain(exponentials.take(LOOKED_AT)) {
            let spend = spends[offset as usize];
            if spend > low && spend < high && best.is_none_or(|best| spend > spends[best]) {
                best = Some(offset as usize);
            }
        }
        best
    }

    /// Between which spends a task's spend follows the price smoothly; nowhere for a straight task.
    pub(super) fn smooth_range(&self, offset: usize) -> (f64, f64) {
        if let Some(place) = self.power.places.place_of(offset) {
            return self.power.range(place);
        }
        self.exponential
            .places
            .place_of(offset)
            .map_or((0.0, 0.0), |place| self.exponential.range(place))
    }
}

pub(super) struct ScanBlock<'a> {
    pub(super) block: &'a mut Block,
    pub(super) scan: &'a Scan,
    pub(super) bounded: bool,
    pub(super) values: &'a [f64],
    pub(super) wishes: &'a mut [f64],
}

impl WithSimd for ScanBlock<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self {
            block: Block { start, power, exponential, ramp, local, .. },
            scan,
            bounded,
            values,
            wishes,
        } = self;
        local.clear();
        match (bounded, scan.is_fresh) {
            (true, true) => {
                power.scan::<S, true, true>(simd, scan, values, wishes, local);
                exponential.scan::<S, true, true>(simd, scan, values, wishes, local);
            }
            (true, false) => {
                power.scan::<S, true, false>(simd, scan, values, wishes, local);
                exponential.scan::<S, true, false>(simd, scan, values, wishes, local);
            }
            (false, true) => {
                power.scan::<S, false, true>(simd, scan, values, wishes, local);
                exponential.scan::<S, false, true>(simd, scan, values, wishes, local);
            }
            (false, false) => {
                power.scan::<S, false, false>(simd, scan, values, wishes, local);
                exponential.scan::<S, false, false>(simd, scan, values, wishes, local);
            }
        }
        ramp.scan(simd, scan, *start, values, wishes, local);
    }
}

pub(super) struct RiseBlock<'a> {
    pub(super) block: &'a mut Block,
    pub(super) price: f64,
    pub(super) values: &'a [f64],
    pub(super) success: &'a mut [f64],
}

impl WithSimd for RiseBlock<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { block, price, values, success } = self;
        block.power.rise(simd, price, values, success);
        block.exponential.rise(simd, price, values, success);
        block.ramp.rise(simd, values, success);
        success.iter_mut().zip(&block.floor).for_each(|(success, floor)| *success += floor);
    }
}

pub(super) struct WriteBlock<'a> {
    pub(super) block: &'a mut Block,
    pub(super) write: &'a Write,
    pub(super) bounded: bool,
    pub(super) values: &'a [f64],
    pub(super) spend: &'a mut [f64],
}

impl WithSimd for WriteBlock<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { block, write, bounded, values, spend } = self;
        let mut totals = Totals::default();
        if bounded {
            block.power.write::<S, true>(simd, write, values, spend, &mut totals);
            block.exponential.write::<S, true>(simd, write, values, spend, &mut totals);
        } else {
            block.power.write::<S, false>(simd, write, values, spend, &mut totals);
            block.exponential.write::<S, false>(simd, write, values, spend, &mut totals);
        }
        block.ramp.write(simd, write, values, spend, &mut totals);
        block.totals = totals;
    }
}
