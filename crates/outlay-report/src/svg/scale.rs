//! Linear and logarithmic scales.

/// The largest number that is drawn: differences of larger ones overflow.
const LARGEST: f64 = 1e300;

/// The range of an axis from its start to its end; on a linear scale `low` may be the larger end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scale {
    pub(crate) logarithmic: bool,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// The smallest and the largest number that can be drawn.
pub(crate) fn extent(numbers: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    let drawable = numbers.into_iter().filter(|number| number.abs() < LARGEST);
    drawable.fold(None, |extent, number| match extent {
        None => Some((number, number)),
        Some((low, high)) => Some((f64::min(low, number), f64::max(high, number))),
    })
}

impl Scale {
    /// A linear scale from `low` to `high`, widened on both sides if they are equal.
    pub(crate) fn linear(low: f64, high: f64) -> Self {
        // Tiny numbers are drawn as zero.
        let [low, high] =
            [low, high].map(|number| if number.abs() < 1.0 / LARGEST { 0.0 } else { number });
        let room = if (high - low).abs() > 1e-12 * high.abs().max(low.abs()) {
            0.0
        } else {
            0.5 * low.abs()
        };
        let room = if low == 0.0 && high == 0.0 { 1.0 } else { room };
        // An axis that starts at zero still does.
        let low_room = if low == 0.0 { 0.0 } else { room };
        Self { logarithmic: false, low: low - low_room, high: high + room }
    }

    /// A logarithmic scale from `low` to `high`, both positive, widened on both sides if they are
    /// equal.
    pub(crate) fn logarithmic(low: f64, high: f64) -> Self {
        assert!(low > 0.0 && high >= low);
        let room = if high / low > 1.0 + 1e-9 { 1.0 } else { 1.5 };
        Self { logarithmic: true, low: low / room, high: high * room }
    }

    /// A logarithmic scale over the positive numbers, if there are any. Those below `high / span`
    /// are omitted: a few rounding errors near zero would dominate the axis.
    pub(crate) fn over_positive(numbers: impl IntoIterator<Item = f64>, span: f64) -> Option<Self> {
        let positive: Vec<f64> =
            numbers.into_iter().filter(|&number| number > 1.0 / LARGEST).collect();
        let (_, high) = extent(positive.iter().copied())?;
        let (low, _) = extent(positive.into_iter().filter(|&number| number >= high / span))?;
        Some(Self::logarithmic(low, high))
    }

    /// The scale extended by a share of its length at its end, and at its start unless that is
    /// zero.
    pub(crate) fn padded(self, share: f64) -> Self {
        if self.logarithmic {
            let factor = (self.high / self.low).powf(share);
            return Self { low: self.low / factor, high: self.high * factor, ..self };
        }
        let room = share * (self.high - self.low);
        let (low_room, high_room) =
            (if self.low == 0.0 { 0.0 } else { room }, if self.high == 0.0 { 0.0 } else { room });
        Self { low: self.low - low_room, high: self.high + high_room, ..self }
    }

    /// The position of a number; `None` if it is not on the scale.
    pub(crate) fn place(&self, number: f64) -> Option<f64> {
        const ROUNDING: f64 = 1e-9;
        if self.logarithmic && number <= 0.0 {
            return None;
        }
        let place = if self.logarithmic {
            (number / self.low).ln() / (self.high / self.low).ln()
        } else {
            (number - self.low) / (self.high - self.low)
        };
        (-ROUNDING..=1.0 + ROUNDING).contains(&place).then(|| place.clamp(0.0, 1.0))
    }

    /// The nearest number on the scale.
    pub(crate) fn clamp(&self, number: f64) -> f64 {
        number.max(self.low.min(self.high)).min(self.low.max(self.high))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_shares_of_the_way() {
        assert_eq!(Scale::linear(0.0, 10.0).place(2.5), Some(0.25));
        assert_eq!(Scale::linear(4.0, 0.0).place(1.0), Some(0.75));
        assert_eq!(Scale::linear(0.0, 10.0).place(11.0), None);
        assert_eq!(Scale::linear(0.0, 10.0).place(f64::NAN), None);
        assert!((Scale::logarithmic(1.0, 10_000.0).place(100.0).unwrap() - 0.5).abs() < 1e-12);
    }

    #[test]
    fn a_logarithmic_scale_skips_nonpositive_numbers() {
        let scale =
            Scale::over_positive([-3.0, 0.0, 1.0, 100.0, f64::NAN, f64::INFINITY], 1e6).unwrap();
        assert_eq!((scale.low, scale.high), (1.0, 100.0));
        assert_eq!(
            (scale.place(0.0), scale.place(-1.0), scale.place(f64::NAN)),
            (None, None, None)
        );
        assert_eq!(Scale::over_positive([0.0, -1.0], 1e6), None);
    }

    #[test]
    fn rounding_errors_near_zero_take_no_room() {
        let scale = Scale::over_positive([1e-17, 1.0, 100.0], 1e6).unwrap();
        assert_eq!(scale.low, 1.0);
        assert_eq!(scale.place(1e-17), None);
    }

    #[test]
    fn a_single_number_has_room() {
        for number in [0.0, 5.0, -5.0, 1e-9, 1e12, 5e-324] {
            let scale = Scale::linear(number, number);
            assert!(scale.low < scale.high && scale.place(number).is_some(), "{scale:?}");
        }
        let scale = Scale::logarithmic(3.0, 3.0);
        assert!((scale.place(3.0).unwrap() - 0.5).abs() < 1e-12);
    }
}
