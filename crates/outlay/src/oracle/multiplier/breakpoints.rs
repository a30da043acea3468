//! The breakpoints of total demand, in flat arrays. One vectorised pass sums them up at a
//! multiplier, which for a hundred of them is faster than removing those outside the bracket.

use pulp::{Arch, Simd, WithSimd};

use crate::numeric::simd::{F64x4, chunks4, with_simd4};

/// A multiplier below which the demand of a task is larger by `jump`.
#[derive(Debug, Clone, Copy)]
pub(in crate::oracle) struct Breakpoint {
    pub(in crate::oracle) multiplier: f64,
    pub(in crate::oracle) jump: f64,
}

/// A list of breakpoints. Once sealed its length is a multiple of four; the padding has no jump.
#[derive(Debug, Default)]
pub(in crate::oracle) struct Breakpoints {
    multiplier: Vec<f64>,
    jump: Vec<f64>,
    is_narrowed: bool,
}

/// From this many breakpoints on, the list is narrowed to the bracket.
const NARROWED_FROM: usize = 256;

impl Breakpoints {
    pub(in crate::oracle) fn clear(&mut self) {
        self.multiplier.clear();
        self.jump.clear();
    }

    pub(in crate::oracle) fn is_empty(&self) -> bool {
        self.multiplier.is_empty()
    }

    pub(in crate::oracle) fn push(&mut self, breakpoint: Breakpoint) {
        self.multiplier.push(breakpoint.multiplier);
        self.jump.push(breakpoint.jump);
    }

    /// Adds breakpoints given as multipliers and jumps.
    pub(in crate::oracle) fn extend(&mut self, multipliers: &[f64], jumps: &[f64]) {
        self.multiplier.extend_from_slice(multipliers);
        self.jump.extend_from_slice(jumps);
    }

    /// Completes the list.
    pub(in crate::oracle) fn seal(&mut self) {
        self.is_narrowed = self.multiplier.len() >= NARROWED_FROM;
        self.pad();
    }

    fn pad(&mut self) {
        let padded = self.multiplier.len().next_multiple_of(4);
        self.multiplier.resize(padded, 0.0);
        self.jump.resize(padded, 0.0);
    }

    /// The sum of the jumps above a multiplier, and of those equal to it.
    #[inline(always)]
    pub(in crate::oracle) fn above_and_at(&self, multiplier: f64) -> (f64, f64) {
        if self.is_empty() {
            return (0.0, 0.0);
        }
        with_simd4(Arch::new(), AboveAndAt { breakpoints: self, multiplier })
    }

    /// The sum of the jumps from `high` on, and whether there are any strictly between `low` and
    /// `high`.
    #[inline(always)]
    pub(in crate::oracle) fn between(&self, low: f64, high: f64) -> (f64, bool) {
        if self.is_empty() {
            return (0.0, false);
        }
        with_simd4(Arch::new(), Between { breakpoints: self, low, high })
    }

    /// Lists the breakpoints strictly between two multipliers.
    pub(in crate::oracle) fn list_between(
        &self,
        low: f64,
        high: f64,
        listed: &mut Vec<Breakpoint>,
    ) {
        let all = self
            .multiplier
            .iter()
            .zip(&self.jump)
            .map(|(&multiplier, &jump)| Breakpoint { multiplier, jump });
        listed.extend(
            all.filter(|breakpoint| breakpoint.multiplier > low && breakpoint.multiplier < high),
        );
    }

    /// Drops the breakpoints outside a bracket and returns the sum of the jumps above it; none,
    /// without a change, if the list is short.
    ///
    /// A list that is narrowed once is narrowed in every step, so that no jump above the bracket is
    /// counted twice.
    pub(in crate::oracle) fn narrow(&mut self, below: f64, above: f64) -> Option<f64> {
        if !self.is_narrowed {
            return None;
        }
        let (mut kept, mut dropped) = (0, 0.0);
        for index in 0..self.multiplier.len() {
            let (multiplier, jump) = (self.multiplier[index], self.jump[index]);
            // Without an upper end no breakpoint is above the bracket, not even an infinite one.
            let is_above = multiplier >= above && above < f64::INFINITY;
            dropped += if is_above { jump } else { 0.0 };
            // Branchless: the processor cannot predict which breakpoints are inside.
            (self.multiplier[kept], self.jump[kept]) = (multiplier, jump);
            kept += usize::from(multiplier > below && !is_above);
        }
        self.multiplier.truncate(kept);
        self.jump.truncate(kept);
        self.pad();
        Some(dropped)
    }
}

struct AboveAndAt<'a> {
    breakpoints: &'a Breakpoints,
    multiplier: f64,
}

impl WithSimd for AboveAndAt<'_> {
    type Output = (f64, f64);

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> (f64, f64) {
        let (zero, multiplier) = (F64x4::splat(simd, 0.0), F64x4::splat(simd, self.multiplier));
        let (mut above, mut there) = (zero, zero);
        for (multipliers, jumps) in
            chunks4(&self.breakpoints.multiplier).iter().zip(chunks4(&self.breakpoints.jump))
        {
            let (multipliers, jumps) = (F64x4::load(simd, multipliers), F64x4::load(simd, jumps));
            above = above + multipliers.if_gt(multiplier, jumps, zero);
            there = there
                + multipliers.if_gt(multiplier, zero, multiplier.if_gt(multipliers, zero, jumps));
        }
        (above.total(), there.total())
    }
}

struct Between<'a> {
    breakpoints: &'a Breakpoints,
    low: f64,
    high: f64,
}

impl WithSimd for Between<'_> {
    type Output = (f64, bool);

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> (f64, bool) {
        let (zero, one) = (F64x4::splat(simd, 0.0), F64x4::splat(simd, 1.0));
        let (low, high) = (F64x4::splat(simd, self.low), F64x4::splat(simd, self.high));
        let (mut beyond, mut inside) = (zero, zero);
        for (multipliers, jumps) in
            chunks4(&self.breakpoints.multiplier).iter().zip(chunks4(&self.breakpoints.jump))
        {
            let (multipliers, jumps) = (F64x4::load(simd, multipliers), F64x4::load(simd, jumps));
            beyond = beyond + high.if_gt(multipliers, zero, jumps);
            inside = inside + multipliers.if_between(low, high, one);
        }
        (beyond.total(), inside.total() > 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some(count: usize) -> (Vec<Breakpoint>, Breakpoints) {
        let list: Vec<Breakpoint> = (0..count)
            .map(|n| Breakpoint {
                multiplier: ((n * 37) % 101) as f64 / 8.0,
                jump: 1.0 + (n % 7) as f64,
            })
            .collect();
        let mut breakpoints = Breakpoints::default();
        list.iter().for_each(|&breakpoint| breakpoints.push(breakpoint));
        breakpoints.seal();
        (list, breakpoints)
    }

    /// Jumps are whole numbers here, so sums in any order are equal.
    #[test]
    fn passes_agree_with_plain_sums() {
        for count in [0, 1, 3, 4, 33, 300, 1001] {
            let (list, mut breakpoints) = some(count);
            let sum = |keep: &dyn Fn(&Breakpoint) -> bool| {
                list.iter()
                    .filter(|breakpoint| keep(breakpoint))
                    .map(|breakpoint| breakpoint.jump)
                    .sum::<f64>()
            };
            for at in [0.0, 0.125, 3.0, 6.3, 12.5, 20.0, f64::INFINITY] {
                let expected = (
                    sum(&|breakpoint| breakpoint.multiplier > at),
                    sum(&|breakpoint| breakpoint.multiplier == at),
                );
                assert_eq!(breakpoints.above_and_at(at), expected, "{count} at {at}");
                let inside = list
                    .iter()
                    .filter(|breakpoint| breakpoint.multiplier > 3.0 && breakpoint.multiplier < at)
                    .count();
                assert_eq!(
                    breakpoints.between(3.0, at),
                    (sum(&|breakpoint| breakpoint.multiplier >= at), inside > 0),
                    "{count} up to {at}"
                );
                let mut listed = Vec::new();
                breakpoints.list_between(3.0, at, &mut listed);
                assert_eq!(listed.len(), inside);
            }
            let dropped = breakpoints.narrow(2.0, 9.0);
            let inside =
                sum(&|breakpoint| breakpoint.multiplier > 2.0 && breakpoint.multiplier < 9.0);
            let is_narrow = count >= NARROWED_FROM;
            assert_eq!(dropped, is_narrow.then(|| sum(&|breakpoint| breakpoint.multiplier >= 9.0)));
            assert_eq!(
                breakpoints.above_and_at(2.0).0
                    - breakpoints.above_and_at(9.0).0
                    - breakpoints.above_and_at(9.0).1,
                inside
            );
            assert!(
                !is_narrow
                    || (breakpoints.above_and_at(9.0) == (0.0, 0.0)
                        && breakpoints.above_and_at(2.0).1 == 0.0)
            );
        }
    }
}
