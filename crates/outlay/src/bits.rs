//! Sets of up to 64 tasks as the bits of a number.

/// The places of the ones, from the lowest.
#[inline]
pub(crate) fn places(mut bits: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let place = (bits != 0).then(|| bits.trailing_zeros() as usize);
        bits &= bits.wrapping_sub(1);
        place
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_one_has_its_place() {
        assert_eq!(places(0).count(), 0);
        assert_eq!(places(0b1010_0001).collect::<Vec<_>>(), [0, 5, 7]);
        assert_eq!(places(u64::MAX).count(), 64);
        assert_eq!(places(1 << 63).collect::<Vec<_>>(), [63]);
    }
}
