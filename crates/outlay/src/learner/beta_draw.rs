//! Draws from a Beta distribution: the ratio of two Gamma draws (Marsaglia and Tsang 2000).
//!
//! It is implemented here because a seed must reproduce the same run for years, and crates may
//! change their sampling algorithms.

use crate::random::ManyBits;

/// A draw from Beta(a, b), for `a` and `b` of at least 1.
pub(super) fn draw_beta(a: f64, b: f64, bits: &mut ManyBits) -> f64 {
    let (one, other) = (draw_gamma(a, bits), draw_gamma(b, bits));
    one / (one + other)
}

/// A draw from Gamma(shape, 1), for a shape of at least 1.
fn draw_gamma(shape: f64, bits: &mut ManyBits) -> f64 {
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let normal = draw_normal(bits);
        let v = (1.0 + c * normal).powi(3);
        // Each trial is accepted with probability above 0.95.
        if v > 0.0 && bits.next_uniform().ln() < 0.5 * normal * normal + d * (1.0 - v + v.ln()) {
            return d * v;
        }
    }
}

/// A standard normal draw, by Marsaglia's polar method; the second draw is discarded.
fn draw_normal(bits: &mut ManyBits) -> f64 {
    loop {
        let (x, y) = (2.0 * bits.next_uniform() - 1.0, 2.0 * bits.next_uniform() - 1.0);
        let square = x * x + y * y;
        if square > 0.0 && square < 1.0 {
            return x * (-2.0 * square.ln() / square).sqrt();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Draws, Purpose};
    use statrs::distribution::{Beta, ContinuousCDF};

    #[test]
    fn draws_follow_their_law() {
        for (a, b) in [(1.0, 1.0), (1.0, 5.0), (3.5, 2.25), (400.0, 100.0)] {
            let law = Beta::new(a, b).unwrap();
            let mut sample: Vec<f64> = (1..=20_000)
                .map(|round| {
                    law.cdf(draw_beta(
                        a,
                        b,
                        &mut Draws::new(11, Purpose::Learner).round(round).many(0),
                    ))
                })
                .collect();
            sample.sort_unstable_by(f64::total_cmp);
            let distance = sample
                .iter()
                .enumerate()
                .map(|(place, share)| (share - place as f64 / 20_000.0).abs())
                .fold(0.0, f64::max);
            // Kolmogorov–Smirnov: one seed in a thousand exceeds 1.95/sqrt(n).
            assert!(distance < 1.95 / 20_000f64.sqrt(), "Beta({a}, {b}): {distance}");
        }
    }
}
