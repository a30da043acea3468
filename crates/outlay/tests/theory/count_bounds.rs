//! The steps of docs/explanation/proof-counts.md: their inequalities on grids, by enumeration and
//! in simulation. Every check is also made with a smaller constant and must then fail.

use outlay::problem::CompletionLaw;
use outlay::theory::{kl_ucb_plus_bound, kl_ucb_plus_count_bound, worst_case_count_bound};

use crate::support::Random;

/// Σ_t w(N_t) min(C_t, M), and Σ w(n) over the completions that are counted.
fn frozen_and_updated(batches: &[u64], most: u64, w: impl Fn(u64) -> f64) -> (f64, f64) {
    let (mut before, mut frozen, mut updated) = (0, 0.0, 0.0);
    for &batch in batches {
        for place in 0..batch.min(most) {
            frozen += w(before);
            updated += w(before + place);
        }
        before += batch;
    }
    (frozen, updated)
}

/// Step 3: the frozen index costs at most (M − 1) w(0) more, and not always (M − 2) w(0).
#[test]
fn a_frozen_index_costs_at_most_one_batch_less_one() {
    let mut random = Random::new(3);
    for most in 1..=6_u64 {
        for _ in 0..400 {
            let batches: Vec<u64> =
                (0..30).map(|_| random.below(2 * most as usize + 1) as u64).collect();
            let power = random.uniform() * 3.0;
            let cut = random.below(40) as u64;
            let w = |n: u64| if n < cut { ((n + 1) as f64).powf(-power) } else { 0.0 };
            let (frozen, updated) = frozen_and_updated(&batches, most, w);
            assert!(frozen <= updated + (most - 1) as f64 * w(0) + 1e-12, "{batches:?}");
        }
        // The whole width is lost with the first completion.
        let w = |n: u64| if n == 0 { 1.0 } else { 0.0 };
        let (frozen, updated) = frozen_and_updated(&[most], most, w);
        assert_eq!(frozen - updated, (most - 1) as f64);
    }
}

/// P(S = s) for the sum S of n Bernoulli rewards.
fn binomial(n: u32, s: u32, p: f64) -> f64 {
    let ways = (0..s).fold(1.0, |ways, i| ways * f64::from(n - i) / f64::from(i + 1));
    ways * p.powi(s as i32) * (1.0 - p).powi((n - s) as i32)
}

/// Step 4: D_j ≤ (1 + i/j) E[D_{j+i} | the first j rewards], by enumeration. Without the factor it
/// is wrong.
#[test]
fn a_frozen_mean_costs_at_most_its_factor() {
    let mut fails_without_factor = false;
    for mean in [0.1, 0.5, 0.8] {
        for (j, i) in [(1, 1), (2, 5), (5, 2), (10, 10), (7, 30)] {
            for sum in 0..=j {
                let error = |n: u32, sum: u32| (f64::from(sum) / f64::from(n) - mean).max(0.0);
                let later: f64 =
                    (0..=i).map(|more| binomial(i, more, mean) * error(j + i, sum + more)).sum();
                let now = error(j, sum);
                let factor = 1.0 + f64::from(i) / f64::from(j);
                assert!(now <= factor * later + 1e-12, "{mean} {j} {i} {sum}");
                fails_without_factor |= now > later + 1e-12;
            }
        }
    }
    assert!(fails_without_factor);
}

/// Step 5.3: the sums over n, up to a τ, are below √τ/2 and √((M − 1)/2).
#[test]
fn the_sums_of_step_5() {
    for most in [2_u32, 3, 10, 100] {
        let first = 2 * most - 1;
        let tail: f64 = (first..2_000_000).map(|n| f64::from(n).powf(-1.5)).sum();
        // The rest of the series is below the integral.
        let tail = tail + 2.0 / 2e6_f64.sqrt();
        let extra = f64::from(most - 1) / 2.0 * tail;
        let bound = (f64::from(most - 1) / 2.0).sqrt();
        assert!(extra <= bound && extra > 0.7 * bound, "{most}: {extra} {bound}");
        for n in first..first + 500 {
            let exact = f64::from(n) / f64::from(n - most + 1);
            let bound = 1.0 + 2.0 * f64::from(most - 1) / f64::from(n);
            assert!(exact <= bound + 1e-12);
        }
    }
    for tau in [1_u32, 10, 1000] {
        let sum: f64 = (1..=tau).map(|n| 0.25 / f64::from(n).sqrt()).sum();
        assert!(sum <= f64::from(tau).sqrt() / 2.0);
    }
    // (x − a)⁺ ≤ x²/(4a), with equality at x = 2a.
    for step in 0..400 {
        let x = f64::from(step) * 0.02 - 4.0;
        assert!((x - 1.0).max(0.0) <= x * x / 4.0 + 1e-15);
    }
    assert_eq!((2.0_f64 - 1.0).max(0.0), 2.0 * 2.0 / 4.0);
}

/// The largest q in [p, 1] with n kl(p, q) ≤ level.
fn upper(p: f64, level: f64) -> f64 {
    let term = |x: f64, y: f64| if x == 0.0 { 0.0 } else { x * (x / y).ln() };
    let (mut low, mut high) = (p, 1.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        let is_inside = term(p, middle) + term(1.0 - p, 1.0 - middle) <= level;
        if is_inside { low = middle } else { high = middle }
    }
    low
}

/// Σ_t (U_t − μ)⁺ C_t and Σ_t V (μ − U_t)⁺ of one task that completes V times in each round.
fn played(volume: u64, rounds: u64, mean: f64, seed: u64) -> (f64, f64) {
    let mut random = Random::new(seed);
    let (mut count, mut sum, mut high, mut low) = (0_u64, 0_u64, 0.0, 0.0);
    for round in 1..=rounds {
        let index = if count == 0 {
            1.0
        } else {
            let n = count as f64;
            let level = 1.1 * ((volume * round) as f64 / n).ln().max(0.0) / n;
            upper(sum as f64 / n, level)
        };
        high += (index - mean).max(0.0) * volume as f64;
        low += (mean - index).max(0.0) * volume as f64;
        count += volume;
        sum += (0..volume).filter(|_| random.uniform() < mean).count() as u64;
    }
    (high, low)
}

/// Steps 2 and 5 on played rounds: the measured sums are below the terms of the bound.
#[test]
fn the_terms_hold_on_played_rounds() {
    let runs = 40;
    for (volume, rounds) in [(1_u64, 400_u64), (5, 200), (40, 100)] {
        for mean in [0.2, 0.5, 0.9] {
            let sums = (0..runs).map(|seed| played(volume, rounds, mean, 100 + seed));
            let (high, low) = sums.fold((0.0, 0.0), |(a, b), (high, low)| (a + high, b + low));
            let (high, low) = (high / runs as f64, low / runs as f64);
            let root = ((volume * rounds) as f64).sqrt();
            let most = volume as f64;
            let too_high = (0.5 + (std::f64::consts::PI * 1.1).sqrt()) * root + 3.0 * most - 2.0
                + ((most - 1.0) / 2.0).sqrt();
            assert!(high <= too_high, "{volume} {rounds} {mean}: {high} {too_high}");
            assert!(low <= 2.0 * 4.5863 * root, "{volume} {rounds} {mean}: {low}");
            // The first round alone costs V (1 − μ): no bound without a term of order V holds.
            assert!(high >= most * (1.0 - mean));
        }
    }
}

#[test]
fn the_formulas_of_the_page() {
    let b = 4.58626;
    let root = (std::f64::consts::PI * 1.1).sqrt();
    for (volume, rounds) in [(1.0, 1e4), (7.0, 1e3), (120.0, 365.0)] {
        let binomial = kl_ucb_plus_count_bound(&[volume; 3], CompletionLaw::Binomial, rounds, 1.1);
        let page = (2.0 * b + 0.5 + root) * f64::sqrt(volume * rounds) + 3.0 * volume - 2.0
            + ((volume - 1.0) / 2.0).sqrt();
        assert!((binomial - 3.0 * page).abs() < 1e-4 * binomial, "{volume} {rounds}");
    }
    let single = kl_ucb_plus_count_bound(&[1.0; 6], CompletionLaw::Binomial, 5e3, 1.1);
    assert!((single - kl_ucb_plus_bound(6, 5e3, 1.1)).abs() < 1e-6);
    assert!((2.0 * b + 0.5 + root) < 11.54 && (2.0 * b + 0.5_f64.sqrt() + root) < 11.74);
    // A more dispersed law has a larger bound, close to the binomial one.
    let laws = [
        CompletionLaw::Binomial,
        CompletionLaw::Poisson,
        CompletionLaw::NegativeBinomial { dispersion: 3.0 },
    ];
    let bounds = laws.map(|law| kl_ucb_plus_count_bound(&[50.0; 8], law, 548.0, 1.1));
    assert!(bounds.is_sorted() && bounds[2] < 1.5 * bounds[0], "{bounds:?}");
    // L with the horizon 1000 · 20.
    let log_term = (2.0 * 16.0 * 2e4_f64 * 2e4).ln();
    let page = 1.0 + 4.0 * (4.0 * log_term * 3e4).sqrt() + 2.0 * log_term.sqrt() * (19.0 + 4.0);
    let bound = worst_case_count_bound(&[20.0, 5.0, 1.0, 1.0], 1000, 3e4);
    assert!((bound - page).abs() < 1e-9 * page);
}
