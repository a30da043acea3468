//! Random draws of counts for the bootstrap.

use crate::random::ManyBits;

/// The mean from which on the normal approximation is used.
const NORMAL_FROM: f64 = 60.0;

/// A Poisson draw with the given mean.
pub(super) fn poisson(mean: f64, bits: &mut ManyBits) -> f64 {
    if mean <= 0.0 {
        return 0.0;
    }
    if mean >= NORMAL_FROM {
        return (mean + mean.sqrt() * normal(bits)).round().max(0.0);
    }
    // The number of uniform factors whose product stays above e^-mean.
    let limit = (-mean).exp();
    let (mut count, mut product) = (0.0, bits.next_uniform());
    while product > limit {
        count += 1.0;
        product *= bits.next_uniform();
    }
    count
}

/// A binomial draw.
pub(super) fn binomial(trials: f64, chance: f64, bits: &mut ManyBits) -> f64 {
    if trials < NORMAL_FROM {
        return (0..trials as u64).filter(|_| bits.next_uniform() < chance).count() as f64;
    }
    let rare = chance.min(1.0 - chance);
    if trials * rare < NORMAL_FROM {
        // Rare events are counted by the gaps between them.
        let rare_count = by_gaps(trials, rare, bits);
        return if chance <= 0.5 { rare_count } else { trials - rare_count };
    }
    let variance = trials * chance * (1.0 - chance);
    (trials * chance + variance.sqrt() * normal(bits)).round().clamp(0.0, trials)
}

fn by_gaps(trials: f64, chance: f64, bits: &mut ManyBits) -> f64 {
    if chance <= 0.0 {
        return 0.0;
    }
    let rate = (-chance).ln_1p();
    let (mut count, mut place) = (0.0, 0.0);
    loop {
        place += (bits.next_uniform().ln() / rate).floor() + 1.0;
        if place > trials {
            return count;
        }
        count += 1.0;
    }
}

/// A standard normal draw (Box–Muller).
fn normal(bits: &mut ManyBits) -> f64 {
    let (radius, angle) = (bits.next_uniform(), bits.next_uniform());
    (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Draws, Purpose};

    /// Checks that mean and variance of many draws are within five standard errors.
    fn has_moments(draw: impl Fn(&mut ManyBits) -> f64, mean: f64, variance: f64) {
        const DRAWS: usize = 40_000;
        let mut bits = Draws::new(3, Purpose::Fit).round(1).many(0);
        let drawn: Vec<f64> = (0..DRAWS).map(|_| draw(&mut bits)).collect();
        let found = drawn.iter().sum::<f64>() / DRAWS as f64;
        let spread =
            drawn.iter().map(|number| (number - found).powi(2)).sum::<f64>() / DRAWS as f64;
        assert!(
            (found - mean).abs() < 5.0 * (variance / DRAWS as f64).sqrt() + 1e-12,
            "{found} {mean}"
        );
        assert!(
            (spread / variance.max(1e-12) - 1.0).abs() < 0.06 || variance == 0.0,
            "{spread} {variance}"
        );
    }

    #[test]
    fn counts_have_the_right_mean_and_variance() {
        for mean in [0.3, 5.0, 59.0, 61.0, 4000.0] {
            has_moments(|bits| poisson(mean, bits), mean, mean);
        }
        for (trials, chance) in
            [(1.0, 0.3), (40.0, 0.7), (100.0, 0.01), (100.0, 0.99), (1000.0, 0.4), (1e6, 1e-6)]
        {
            has_moments(
                |bits| binomial(trials, chance, bits),
                trials * chance,
                trials * chance * (1.0 - chance),
            );
        }
        for (trials, chance) in [(10.0, 0.0), (10.0, 1.0), (500.0, 0.0), (500.0, 1.0)] {
            has_moments(|bits| binomial(trials, chance, bits), trials * chance, 0.0);
        }
    }
}
