//! Four `f64` lanes with the machine's vector instructions where it has them.
//!
//! A product and a sum are fused only where the code says so ([`F64x4::mul_add`]), and sums have a
//! fixed order, so every machine gives the same bits whatever its vector width.

use std::ops::{Add, Div, Mul, Sub};

use pulp::{Arch, Scalar256b, Simd, WithSimd, cast};

use super::compensated::Sum;

/// Runs `work` with a `Simd` of four lanes.
#[inline(always)]
pub(crate) fn with_simd4<W: WithSimd>(arch: Arch, work: W) -> W::Output {
    match arch {
        #[cfg(target_arch = "x86_64")]
        Arch::V3(simd) => Simd::vectorize(simd, work),
        _ => Simd::vectorize(Scalar256b, work),
    }
}

/// The numbers in chunks of four, without a remainder: arrays are padded to a multiple of four.
#[inline(always)]
pub(crate) fn chunks4(numbers: &[f64]) -> &[[f64; 4]] {
    numbers.as_chunks().0
}

#[inline(always)]
pub(crate) fn chunks4_mut(numbers: &mut [f64]) -> &mut [[f64; 4]] {
    numbers.as_chunks_mut().0
}

/// Four lanes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct F64x4<S: Simd> {
    pub(super) simd: S,
    pub(super) lanes: S::f64s,
}

macro_rules! operator {
    ($trait:ident, $method:ident, $simd:ident) => {
        impl<S: Simd> $trait for F64x4<S> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                Self { lanes: self.simd.$simd(self.lanes, other.lanes), ..self }
            }
        }
        impl<S: Simd> $trait<f64> for F64x4<S> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: f64) -> Self {
                self.$method(Self::splat(self.simd, other))
            }
        }
    };
}
operator!(Add, add, add_f64s);
operator!(Sub, sub, sub_f64s);
operator!(Mul, mul, mul_f64s);
operator!(Div, div, div_f64s);

impl<S: Simd> F64x4<S> {
    #[inline(always)]
    pub(crate) fn splat(simd: S, number: f64) -> Self {
        Self { simd, lanes: simd.splat_f64s(number) }
    }

    #[inline(always)]
    pub(crate) fn load(simd: S, numbers: &[f64; 4]) -> Self {
        Self { simd, lanes: S::as_simd_f64s(numbers).0[0] }
    }

    /// Loads up to four numbers; the remaining lanes are zero.
    #[inline(always)]
    pub(crate) fn load_partial(simd: S, numbers: &[f64]) -> Self {
        Self { simd, lanes: simd.partial_load_f64s(numbers) }
    }

    /// Stores as many of the first lanes as fit.
    #[inline(always)]
    pub(crate) fn store_partial(self, numbers: &mut [f64]) {
        self.simd.partial_store_f64s(numbers, self.lanes);
    }

    #[inline(always)]
    pub(crate) fn store(self, numbers: &mut [f64; 4]) {
        S::as_mut_simd_f64s(numbers).0[0] = self.lanes;
    }

    #[inline(always)]
    pub(crate) fn to_array(self) -> [f64; 4] {
        let mut numbers = [0.0; 4];
        self.store(&mut numbers);
        numbers
    }

    /// The sum of the four, in a fixed order.
    #[inline(always)]
    pub(crate) fn total(self) -> f64 {
        let [a, b, c, d] = self.to_array();
        (a + c) + (b + d)
    }

    /// `self * factor + term`, rounded once: half the instructions of a polynomial and two thirds
    /// of its latency.
    #[inline(always)]
    pub(crate) fn mul_add(self, factor: Self, term: Self) -> Self {
        Self { lanes: self.simd.mul_add_f64s(self.lanes, factor.lanes, term.lanes), ..self }
    }

    /// `term - self * factor`, rounded once.
    #[inline(always)]
    pub(crate) fn neg_mul_add(self, factor: Self, term: Self) -> Self {
        Self { lanes: self.simd.negate_mul_add_f64s(self.lanes, factor.lanes, term.lanes), ..self }
    }

    #[inline(always)]
    pub(crate) fn max(self, other: Self) -> Self {
        Self { lanes: self.simd.max_f64s(self.lanes, other.lanes), ..self }
    }

    #[inline(always)]
    pub(crate) fn min(self, other: Self) -> Self {
        Self { lanes: self.simd.min_f64s(self.lanes, other.lanes), ..self }
    }

    /// In each lane, `then` if the lane is greater than `limit`, else `otherwise`.
    #[inline(always)]
    pub(crate) fn if_gt(self, limit: Self, then: Self, otherwise: Self) -> Self {
        let simd = self.simd;
        let mask = simd.greater_than_f64s(self.lanes, limit.lanes);
        Self { lanes: simd.select_f64s(mask, then.lanes, otherwise.lanes), ..self }
    }

    /// In each lane, `then` if the lane is strictly between the limits, else zero.
    #[inline(always)]
    pub(crate) fn if_between(self, low: Self, high: Self, then: Self) -> Self {
        let zero = Self::splat(self.simd, 0.0);
        self.if_gt(low, high.if_gt(self, then, zero), zero)
    }

    /// In each lane, `then` if the lane is at least `limit`, else `otherwise`.
    #[inline(always)]
    pub(crate) fn if_ge(self, limit: Self, then: Self, otherwise: Self) -> Self {
        let simd = self.simd;
        let mask = simd.greater_than_or_equal_f64s(self.lanes, limit.lanes);
        Self { lanes: simd.select_f64s(mask, then.lanes, otherwise.lanes), ..self }
    }

    /// Whether all four lanes are at most the limits; false if one is NaN.
    #[inline(always)]
    pub(crate) fn all_le(self, limits: Self) -> bool {
        let mask: S::u64s = cast(self.simd.less_than_or_equal_f64s(self.lanes, limits.lanes));
        is_full::<S>(mask)
    }

    /// Whether all four lanes are at least the limits; false if one is NaN.
    #[inline(always)]
    pub(crate) fn all_ge(self, limits: Self) -> bool {
        limits.all_le(self)
    }

    /// The largest lane.
    #[inline(always)]
    pub(crate) fn max_lane(self) -> f64 {
        let [a, b, c, d] = self.to_array();
        a.max(b).max(c.max(d))
    }

    #[inline(always)]
    pub(crate) fn abs(self) -> Self {
        Self { lanes: self.simd.abs_f64s(self.lanes), ..self }
    }

    #[inline(always)]
    pub(crate) fn sqrt(self) -> Self {
        Self { lanes: self.simd.sqrt_f64s(self.lanes), ..self }
    }

    /// In each lane, `then` if the lane equals `other`, else zero.
    #[inline(always)]
    pub(crate) fn if_eq(self, other: Self, then: Self) -> Self {
        let simd = self.simd;
        let mask = simd.equal_f64s(self.lanes, other.lanes);
        Self { lanes: simd.select_f64s(mask, then.lanes, simd.splat_f64s(0.0)), ..self }
    }
}

/// Whether all bits of a mask are set.
#[inline(always)]
fn is_full<S: Simd>(mask: S::u64s) -> bool {
    let [a, b, c, d]: [u64; 4] = cast(mask);
    a & b & c & d == u64::MAX
}

/// Four compensated sums side by side; see [`Sum`].
#[derive(Clone, Copy)]
pub(crate) struct F64x4Sum<S: Simd> {
    sums: F64x4<S>,
    lost: F64x4<S>,
}

impl<S: Simd> F64x4Sum<S> {
    #[inline(always)]
    pub(crate) fn new(simd: S) -> Self {
        Self { sums: F64x4::splat(simd, 0.0), lost: F64x4::splat(simd, 0.0) }
    }

    #[inline(always)]
    pub(crate) fn add(&mut self, terms: F64x4<S>) {
        let sums = self.sums + terms;
        let kept = sums - self.sums;
        self.lost = self.lost + ((self.sums - (sums - kept)) + (terms - kept));
        self.sums = sums;
    }

    /// In pairs: a short chain.
    #[inline(always)]
    pub(crate) fn total(self) -> Sum {
        let [a, b, c, d] = self.sums.to_array();
        let (mut left, mut right) = (Sum::from(a), Sum::from(b));
        left.add(c);
        right.add(d);
        left.merge(right);
        left.add_compensation(self.lost.total());
        left
    }
}
