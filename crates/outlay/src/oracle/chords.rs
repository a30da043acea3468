//! The chords of all envelopes, in flat arrays: what they come to at a price is one pass of vector
//! instructions, quicker for a hundred of them than dropping those that are settled.

use pulp::{Arch, Simd, WithSimd};

use super::four::{Four, fours, with_four};

/// A chord of an envelope: below `price` the task takes `jump` more.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chord {
    pub(super) price: f64,
    pub(super) jump: f64,
}

/// Many chords. Once sealed their number is a multiple of four: the last may be no chords, which
/// jump by nothing at price zero.
#[derive(Debug, Default)]
pub(super) struct Chords {
    price: Vec<f64>,
    jump: Vec<f64>,
    are_many: bool,
}

/// So many chords are worth narrowing down.
const MANY: usize = 256;

impl Chords {
    pub(super) fn clear(&mut self) {
        self.price.clear();
        self.jump.clear();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.price.is_empty()
    }

    pub(super) fn push(&mut self, chord: Chord) {
        self.price.push(chord.price);
        self.jump.push(chord.jump);
    }

    /// Adds chords given as prices and jumps.
    pub(super) fn extend(&mut self, prices: &[f64], jumps: &[f64]) {
        self.price.extend_from_slice(prices);
        self.jump.extend_from_slice(jumps);
    }

    /// To be called after the last chord.
    pub(super) fn seal(&mut self) {
        self.are_many = self.price.len() >= MANY;
        self.pad();
    }

    fn pad(&mut self) {
        let padded = self.price.len().next_multiple_of(4);
        self.price.resize(padded, 0.0);
        self.jump.resize(padded, 0.0);
    }

    /// What all chords above a price come to, and all that are exactly there.
    #[inline(always)]
    pub(super) fn taken(&self, price: f64) -> (f64, f64) {
        if self.is_empty() {
            return (0.0, 0.0);
        }
        with_four(Arch::new(), Taken { chords: self, price })
    }

    /// What all chords from `high` on come to, and whether there are any strictly between `low` and
    /// `high`.
    #[inline(always)]
    pub(super) fn between(&self, low: f64, high: f64) -> (f64, bool) {
        if self.is_empty() {
            return (0.0, false);
        }
        with_four(Arch::new(), Between { chords: self, low, high })
    }

    /// Lists those strictly between two prices.
    pub(super) fn list_between(&self, low: f64, high: f64, listed: &mut Vec<Chord>) {
        let all = self.price.iter().zip(&self.jump).map(|(&price, &jump)| Chord { price, jump });
        listed.extend(all.filter(|chord| chord.price > low && chord.price < high));
    }

    /// Drops the chords outside a bracket and returns what those above it come to; nothing happens
    /// if there are few.
    ///
    /// A search that begins with many drops to its end: chords above its bracket are never half
    /// settled.
    pub(super) fn narrow(&mut self, below: f64, above: f64) -> Option<f64> {
        if !self.are_many {
            return None;
        }
        let (mut kept, mut settled) = (0, 0.0);
        for place in 0..self.price.len() {
            let (price, jump) = (self.price[place], self.jump[place]);
            // Without an upper end nothing is settled, not even at an infinite price.
            let is_settled = price >= above && above < f64::INFINITY;
            settled += if is_settled { jump } else { 0.0 };
            // No branch: nobody foresees which chords are inside.
            (self.price[kept], self.jump[kept]) = (price, jump);
            kept += usize::from(price > below && !is_settled);
        }
        self.price.truncate(kept);
        self.jump.truncate(kept);
        self.pad();
        Some(settled)
    }
}

struct Taken<'a> {
    chords: &'a Chords,
    price: f64,
}

impl WithSimd for Taken<'_> {
    type Output = (f64, f64);

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> (f64, f64) {
        let (zero, price) = (Four::splat(simd, 0.0), Four::splat(simd, self.price));
        let (mut above, mut there) = (zero, zero);
        for (prices, jumps) in fours(&self.chords.price).iter().zip(fours(&self.chords.jump)) {
            let (prices, jumps) = (Four::load(simd, prices), Four::load(simd, jumps));
            above = above + prices.where_above(price, jumps, zero);
            there = there + prices.where_above(price, zero, price.where_above(prices, zero, jumps));
        }
        (above.total(), there.total())
    }
}

struct Between<'a> {
    chords: &'a Chords,
    low: f64,
    high: f64,
}

impl WithSimd for Between<'_> {
    type Output = (f64, bool);

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> (f64, bool) {
        let (zero, one) = (Four::splat(simd, 0.0), Four::splat(simd, 1.0));
        let (low, high) = (Four::splat(simd, self.low), Four::splat(simd, self.high));
        let (mut beyond, mut inside) = (zero, zero);
        for (prices, jumps) in fours(&self.chords.price).iter().zip(fours(&self.chords.jump)) {
            let (prices, jumps) = (Four::load(simd, prices), Four::load(simd, jumps));
            beyond = beyond + high.where_above(prices, zero, jumps);
            inside = inside + prices.where_between(low, high, one);
        }
        (beyond.total(), inside.total() > 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some(count: usize) -> (Vec<Chord>, Chords) {
        let list: Vec<Chord> = (0..count)
            .map(|n| Chord { price: ((n * 37) % 101) as f64 / 8.0, jump: 1.0 + (n % 7) as f64 })
            .collect();
        let mut chords = Chords::default();
        list.iter().for_each(|&chord| chords.push(chord));
        chords.seal();
        (list, chords)
    }

    /// Jumps are whole numbers here, so sums in any order are equal.
    #[test]
    fn passes_agree_with_plain_sums() {
        for count in [0, 1, 3, 4, 33, 300, 1001] {
            let (list, mut chords) = some(count);
            let sum = |keep: &dyn Fn(&Chord) -> bool| {
                list.iter().filter(|chord| keep(chord)).map(|chord| chord.jump).sum::<f64>()
            };
            for at in [0.0, 0.125, 3.0, 6.3, 12.5, 20.0, f64::INFINITY] {
                let expected = (sum(&|chord| chord.price > at), sum(&|chord| chord.price == at));
                assert_eq!(chords.taken(at), expected, "{count} at {at}");
                let inside =
                    list.iter().filter(|chord| chord.price > 3.0 && chord.price < at).count();
                assert_eq!(
                    chords.between(3.0, at),
                    (sum(&|chord| chord.price >= at), inside > 0),
                    "{count} up to {at}"
                );
                let mut listed = Vec::new();
                chords.list_between(3.0, at, &mut listed);
                assert_eq!(listed.len(), inside);
            }
            let settled = chords.narrow(2.0, 9.0);
            let inside = sum(&|chord| chord.price > 2.0 && chord.price < 9.0);
            let is_narrow = count >= MANY;
            assert_eq!(settled, is_narrow.then(|| sum(&|chord| chord.price >= 9.0)));
            assert_eq!(chords.taken(2.0).0 - chords.taken(9.0).0 - chords.taken(9.0).1, inside);
            assert!(!is_narrow || (chords.taken(9.0) == (0.0, 0.0) && chords.taken(2.0).1 == 0.0));
        }
    }
}
