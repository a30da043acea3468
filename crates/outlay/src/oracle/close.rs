//! Logarithms of what is close to one and exponentials of what is close to zero: short series,
//! quicker than the library's functions, which answer for the rest.

/// `ln(a / b)`.
#[inline(always)]
pub(super) fn log_ratio(a: f64, b: f64) -> f64 {
    // 2 artanh(s): for |s| <= 0.032 the rest is below 1e-17.
    let s = (a - b) / (a + b);
    let t = s * s;
    if t < 1e-3 {
        let (twice, tail) =
            (s + s, (1.0 / 3.0 + t * (1.0 / 5.0)) + (t * t) * (1.0 / 7.0 + t * (1.0 / 9.0)));
        twice + (twice * t) * tail
    } else {
        (a / b).ln()
    }
}

/// `e^x`.
#[inline(always)]
pub(super) fn exp(x: f64) -> f64 {
    if x.abs() > 0.0625 {
        return x.exp();
    }
    // Taylor to degree 9: the rest is below 1e-18.
    let x2 = x * x;
    let x4 = x2 * x2;
    let low = (1.0 + x) + x2 * (0.5 + x * (1.0 / 6.0));
    let middle = (1.0 / 24.0 + x * (1.0 / 120.0)) + x2 * (1.0 / 720.0 + x * (1.0 / 5_040.0));
    low + x4 * (middle + x4 * (1.0 / 40_320.0 + x * (1.0 / 362_880.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agree_with_the_library() {
        for step in -2000..=2000 {
            let x = f64::from(step) * 1e-4;
            assert!((exp(x) / x.exp() - 1.0).abs() <= 3.0 * f64::EPSILON, "{x}");
            assert!((log_ratio(x.exp() * 3.0, 3.0) - x).abs() <= 3.0 * f64::EPSILON, "{x}");
        }
        assert!(
            log_ratio(0.0, 1.0) == f64::NEG_INFINITY
                && log_ratio(f64::NAN, 1.0).is_nan()
                && exp(f64::NAN).is_nan()
        );
        assert_eq!((exp(f64::NEG_INFINITY), exp(f64::INFINITY)), (0.0, f64::INFINITY));
    }
}
