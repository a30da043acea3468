//! Exact binary fractions of any length, with the arithmetic that bisection and comparison need.

use std::cmp::Ordering;

/// A number between 0 and 1 with finitely many binary digits.
///
/// ```
/// use outlay::theory::Dyadic;
/// let mut low = Dyadic::ZERO;
/// for _ in 0..1000 {
///     low = Dyadic::middle(&low, &Dyadic::ONE);
/// }
/// assert!(low < Dyadic::ONE); // by 2^-1000, which no float sees
/// assert_eq!(low.to_f64(), 1.0);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Dyadic {
    /// Whether the number is exactly 1; it has no digits then.
    is_one: bool,
    /// The digits after the point, 64 per word, starting with the highest bit of the first word.
    /// The last word is never 0, so that equal numbers have equal words.
    words: Vec<u64>,
}

impl Dyadic {
    /// 0.
    pub const ZERO: Self = Self { is_one: false, words: Vec::new() };
    /// 1.
    pub const ONE: Self = Self { is_one: true, words: Vec::new() };

    /// The number with these digits after the point, 64 per word.
    #[must_use]
    pub fn from_words(mut words: Vec<u64>) -> Self {
        while words.last() == Some(&0) {
            words.pop();
        }
        Self { is_one: false, words }
    }

    /// The exact value of a float, clamped to `[0, 1]`; NaN gives 0.
    #[must_use]
    pub fn from_f64(number: f64) -> Self {
        if number >= 1.0 {
            return Self::ONE;
        }
        let mut rest = if number > 0.0 { number } else { 0.0 };
        let mut words = Vec::new();
        while rest > 0.0 {
            // Shifting by 64 digits and removing the integer part is exact.
            let moved = rest * 18_446_744_073_709_551_616.0;
            words.push(moved as u64);
            rest = moved.fract();
        }
        Self::from_words(words)
    }

    /// The float, accurate to one unit in the last place.
    #[must_use]
    pub fn to_f64(&self) -> f64 {
        if self.is_one {
            return 1.0;
        }
        // Digits beyond the smallest float count as 0. Summing from the last word loses no digits.
        let held = &self.words[..self.words.len().min(18)];
        held.iter()
            .rev()
            .fold(0.0, |behind, word| (behind + *word as f64) / 18_446_744_073_709_551_616.0)
    }

    /// The number of digits after the point.
    #[must_use]
    pub fn bits(&self) -> u64 {
        self.words
            .last()
            .map_or(0, |last| 64 * self.words.len() as u64 - u64::from(last.trailing_zeros()))
    }

    /// Digit `place` after the point, counted from 0.
    #[must_use]
    pub fn bit(&self, place: u64) -> bool {
        self.word(place / 64) >> (63 - place % 64) & 1 == 1
    }

    /// Digits `64 position` to `64 position + 63` after the point.
    #[must_use]
    pub fn word(&self, position: u64) -> u64 {
        usize::try_from(position)
            .ok()
            .and_then(|position| self.words.get(position))
            .copied()
            .unwrap_or(0)
    }

    /// The midpoint of two numbers.
    #[must_use]
    pub fn middle(one: &Self, other: &Self) -> Self {
        let length = one.words.len().max(other.words.len());
        let mut sum = vec![0; length + 1];
        let mut carry = 0;
        for position in (0..length).rev() {
            let total = u128::from(one.word(position as u64))
                + u128::from(other.word(position as u64))
                + carry;
            sum[position] = total as u64;
            carry = total >> 64;
        }
        // At most 2, as 1 has no digits; half of two ones is 1.
        let mut above = u64::from(one.is_one) + u64::from(other.is_one) + carry as u64;
        if above == 2 {
            return Self::ONE;
        }
        for word in &mut sum {
            (*word, above) = (*word >> 1 | above << 63, *word & 1);
        }
        Self::from_words(sum)
    }

    /// The distance of two numbers.
    #[must_use]
    pub fn distance(one: &Self, other: &Self) -> Self {
        let (small, large) = if one < other { (one, other) } else { (other, one) };
        if large.is_one && *small == Self::ZERO {
            return Self::ONE;
        }
        let length = small.words.len().max(large.words.len());
        let mut words = vec![0; length];
        let mut borrow = false;
        for position in (0..length).rev() {
            let (less, under) =
                large.word(position as u64).overflowing_sub(small.word(position as u64));
            let (less, under_again) = less.overflowing_sub(u64::from(borrow));
            words[position] = less;
            borrow = under || under_again;
        }
        // A remaining borrow comes from the integer part: the larger number is then 1 and the
        // smaller one positive.
        Self::from_words(words)
    }

    /// The largest n for which the number is at most 2^-n; `None` for 0.
    #[must_use]
    pub fn halvings(&self) -> Option<u64> {
        if self.is_one {
            return Some(0);
        }
        let first = self.words.iter().position(|word| *word != 0)?;
        let zeros = 64 * first as u64 + u64::from(self.words[first].leading_zeros());
        // One more for a power of two, whose only nonzero digit is its last.
        Some(zeros + u64::from(self.bits() == zeros + 1))
    }
}

impl Ord for Dyadic {
    fn cmp(&self, other: &Self) -> Ordering {
        // Lexicographic order; a proper prefix is smaller, as the last word is not 0.
        self.is_one.cmp(&other.is_one).then_with(|| self.words.cmp(&other.words))
    }
}

impl PartialOrd for Dyadic {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Numbers of up to 120 digits, as integer multiples of 2^-120, so that integers can check
    /// them.
    const SCALE: u32 = 120;

    fn number(multiple: u128) -> Dyadic {
        if multiple >> SCALE == 1 {
            return Dyadic::ONE;
        }
        let shifted = multiple << (128 - SCALE);
        Dyadic::from_words(vec![(shifted >> 64) as u64, shifted as u64])
    }

    fn multiples() -> impl Strategy<Value = u128> {
        let any = 0..=1_u128 << SCALE;
        // Short numbers and the ends, too.
        prop_oneof![
            any,
            (0..=64_u128).prop_map(|short| short << (SCALE - 6)),
            Just(0),
            Just(1),
            Just(1 << SCALE)
        ]
    }

    proptest! {
        #[test]
        fn compares_as_integers_do(one in multiples(), other in multiples()) {
            prop_assert_eq!(number(one).cmp(&number(other)), one.cmp(&other));
            prop_assert_eq!(number(one) == number(other), one == other);
        }

        #[test]
        fn the_middle_is_as_far_from_both(one in multiples(), other in multiples()) {
            let middle = Dyadic::middle(&number(one), &number(other));
            prop_assert_eq!(&middle, &Dyadic::middle(&number(other), &number(one)));
            prop_assert_eq!(Dyadic::distance(&number(one), &middle), Dyadic::distance(&middle, &number(other)));
            let sum = one + other;
            let expected = if sum % 2 == 0 { number(sum / 2) } else { Dyadic::middle(&number(sum / 2), &number(sum / 2 + 1)) };
            prop_assert_eq!(&middle, &expected);
            prop_assert_eq!(one < other, number(one) < middle && middle < number(other));
        }

        #[test]
        fn distances_are_those_of_integers(one in multiples(), other in multiples()) {
            let distance = Dyadic::distance(&number(one), &number(other));
            prop_assert_eq!(&distance, &number(one.abs_diff(other)));
            let is_at_most = |halvings: &u64| one.abs_diff(other) <= 1 << (u64::from(SCALE) - halvings);
            let largest = (0..=u64::from(SCALE)).rev().find(is_at_most);
            prop_assert_eq!(distance.halvings(), largest.filter(|_| one != other));
        }

        #[test]
        fn floats_go_in_exactly_and_come_back(number in prop_oneof![0.0..=1.0_f64, Just(f64::from_bits(1)), Just(f64::MIN_POSITIVE)]) {
            let exact = Dyadic::from_f64(number);
            prop_assert_eq!(exact.to_f64(), number);
            // Its digits, starting with the last.
            let digit = |place: u64| f64::from(u8::from(exact.bit(place)));
            let bits = (0..exact.bits()).rev().fold(0.0, |behind, place| 0.5 * (behind + digit(place)));
            prop_assert_eq!(if number < 1.0 { bits } else { 1.0 }, number);
        }

        #[test]
        fn order_is_that_of_floats(one in 0.0..=1.0_f64, other in 0.0..=1.0_f64) {
            prop_assert_eq!(Some(Dyadic::from_f64(one).cmp(&Dyadic::from_f64(other))), one.partial_cmp(&other));
        }

        #[test]
        fn halving_adds_one_digit_each_time(words in prop::collection::vec(any::<u64>(), 0..5), times in 1..200_u64) {
            let start = Dyadic::from_words(words);
            let mut half = start.clone();
            for _ in 0..times {
                half = Dyadic::middle(&Dyadic::ZERO, &half);
            }
            let is_zero = start == Dyadic::ZERO;
            prop_assert_eq!(half.bits(), if is_zero { 0 } else { start.bits() + times });
            prop_assert_eq!(half.halvings(), start.halvings().map(|halvings| halvings + times));
        }
    }

    #[test]
    fn floats_outside_are_the_nearer_end() {
        for (float, exact) in [
            (-1.0, Dyadic::ZERO),
            (f64::NAN, Dyadic::ZERO),
            (2.0, Dyadic::ONE),
            (f64::INFINITY, Dyadic::ONE),
        ] {
            assert_eq!(Dyadic::from_f64(float), exact);
        }
        assert_eq!(Dyadic::from_words(vec![0, 0]), Dyadic::ZERO);
        assert_eq!(Dyadic::distance(&Dyadic::ONE, &Dyadic::ZERO), Dyadic::ONE);
        assert_eq!(Dyadic::middle(&Dyadic::ONE, &Dyadic::ONE), Dyadic::ONE);
        assert_eq!(Dyadic::from_words(vec![1 << 62]).bits(), 2);
    }
}
