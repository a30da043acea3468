//! The numbers in the proofs and errata of docs/explanation and in docs/how-to/bound.md, computed
//! again, and their inequalities on grids and in simulation. Every check is also made with a wrong
//! constant or definition and must then fail, because a check that cannot fail proves nothing.

use std::f64::consts::{E, LN_2, PI};

use crate::support::Random;

/// The exploration factor of `kl-ucb-plus`.
const C: f64 = 1.1;

/// log Γ(x) for x > 0: Stirling's series after moving x above 10.
fn ln_gamma(x: f64) -> f64 {
    let (mut x, mut product) = (x, 1.0);
    while x < 10.0 {
        product *= x;
        x += 1.0;
    }
    let y = 1.0 / (x * x);
    let series =
        (1.0 / 12.0 - y * (1.0 / 360.0 - y * (1.0 / 1260.0 - y * (1.0 / 1680.0 - y / 1188.0)))) / x;
    (x - 0.5) * x.ln() - x + 0.5 * (2.0 * PI).ln() + series - product.ln()
}

/// x log y with 0 log 0 = 0.
fn x_log_y(x: f64, y: f64) -> f64 {
    if x == 0.0 { 0.0 } else { x * y.ln() }
}

/// The Bernoulli divergence.
fn kl(p: f64, q: f64) -> f64 {
    x_log_y(p, p / q) + x_log_y(1.0 - p, (1.0 - p) / (1.0 - q))
}

/// ∫ f over [from, to] by the midpoint rule.
fn integral(from: f64, to: f64, parts: u32, f: impl Fn(f64) -> f64) -> f64 {
    let width = (to - from) / f64::from(parts);
    (0..parts).map(|i| f(from + (f64::from(i) + 0.5) * width)).sum::<f64>() * width
}

/// a, A and b of Lemma A and its corollary.
fn lemma_a(c: f64, eta: f64) -> (f64, f64, f64) {
    let a = c / eta;
    let factor = (eta / 2.0).powf(a) * (ln_gamma(a).exp() / eta.ln() + (a / E).powf(a));
    (a, factor, factor.powf(0.5 / a) * 2.0 * a / (2.0 * a - 1.0))
}

/// The η with the smallest b.
fn best_eta(c: f64) -> f64 {
    let grid =
        (1..200_000).map(|i| 1.0 + f64::from(i) * 1e-5).take_while(|eta| c / eta > 0.5 + 1e-9);
    grid.min_by(|x, y| lemma_a(c, *x).2.total_cmp(&lemma_a(c, *y).2)).unwrap()
}

/// Whether `value` rounds to `printed` with `digits` digits after the point, as a page prints it.
fn prints_as(value: f64, digits: usize, printed: &str) -> bool {
    format!("{value:.digits$}") == printed
}

#[test]
fn own_numerics_are_right() {
    for (x, value) in
        [(0.5, 0.572_364_942_924_700_1), (1.0, 0.0), (4.0, 6f64.ln()), (11.0, 3_628_800f64.ln())]
    {
        assert!((ln_gamma(x) - value).abs() < 1e-13, "log Γ({x})");
    }
    assert!((kl(0.2, 0.5) - (0.2 * 0.4f64.ln() + 0.8 * 1.6f64.ln())).abs() < 1e-15);
    assert!((kl(0.0, 0.5) - LN_2).abs() < 1e-15 && kl(1.0, 0.5) == LN_2);
}

#[test]
fn the_constants_of_theorem_w() {
    let eta = best_eta(C);
    let (a, factor, b) = lemma_a(C, eta);
    assert!(prints_as(eta, 4, "1.1838"), "η = {eta}");
    assert!(prints_as(a, 4, "0.9292"), "a = {a}");
    assert!(prints_as(factor, 4, "4.0355"), "A = {factor}");
    assert!(prints_as(b, 5, "4.58626"), "b = {b}");
    assert!(prints_as((PI * C).sqrt(), 5, "1.85897"));
    let total = 2.0 * b + 0.5 + (PI * C).sqrt();
    assert!(prints_as(total, 4, "11.5315"), "the factor of K√T is {total}");
    assert!(total <= 11.6);
    assert!(total > 11.5, "11.5 would be a wrong claim");
}

#[test]
fn the_corollary_is_the_integral_of_lemma_a() {
    let (a, factor, b) = lemma_a(C, best_eta(C));
    for t in [1.0, 50.0, 1e4] {
        // Δ = y/√t; beyond y = 1000 the integral is known.
        let tail = factor * 1000f64.powf(1.0 - 2.0 * a) / (2.0 * a - 1.0);
        let head = integral(0.0, 1000.0, 2_000_000, |y| (factor * (y * y).powf(-a)).min(1.0));
        let value = (head + tail) / f64::sqrt(t);
        assert!((value * t.sqrt() / b - 1.0).abs() < 1e-6, "t = {t}: {value}");
    }
}

/// Σ_j h(η^j), its bound in Lemma A, and the bound without the maximum.
fn block_sum(a: f64, eta: f64, delta: f64) -> (f64, f64, f64) {
    let rate = 2.0 * delta * delta;
    let mut sum = 0.0;
    let mut y: f64 = 1.0;
    while rate * y < 800.0 {
        sum += y.powf(a) * (-rate * y).exp();
        y *= eta;
    }
    let without = ln_gamma(a).exp() * rate.powf(-a) / eta.ln();
    (sum, without + (a / E).powf(a) * rate.powf(-a), without)
}

#[test]
fn the_sum_over_blocks_is_below_integral_plus_maximum() {
    let mut needed = false;
    // In the proof a = c/η; the inequality itself is about any a and η, and coarse blocks with a
    // large a need the maximum.
    for (a, eta) in [
        (C / 1.01, 1.01),
        (C / 1.05, 1.05),
        (C / 1.1838, 1.1838),
        (C / 1.5, 1.5),
        (0.93, 10.0),
        (3.0, 100.0),
    ] {
        for i in 1..=300 {
            let delta = 0.9f64.powi(i / 6) * (1.0 - 0.015 * f64::from(i % 6));
            let (sum, bound, without) = block_sum(a, eta, delta);
            assert!(sum <= bound * (1.0 + 1e-12), "a {a}, η {eta}, Δ {delta}: {sum} > {bound}");
            needed |= sum > without;
        }
    }
    assert!(needed, "the maximum would not be needed: the check is blind");
}

#[test]
fn the_sum_of_widths_is_below_its_integral() {
    let exact = (2.0 * PI).sqrt();
    // v = e^(−y), y = z²: ∫ √y e^(−y/2) dy = ∫ 2 z² e^(−z²/2) dz.
    let value = integral(0.0, 12.0, 100_000, |z| 2.0 * z * z * (-z * z / 2.0).exp());
    assert!((value - exact).abs() < 1e-9, "{value}");
    let sum = |horizon: u32| {
        (1..=horizon)
            .map(|j| ((f64::from(horizon) / f64::from(j)).ln() / f64::from(j)).sqrt())
            .sum::<f64>()
    };
    for horizon in [1, 2, 3, 5, 10, 100, 1000, 10_000, 1_000_000] {
        assert!(sum(horizon) <= exact * f64::from(horizon).sqrt(), "T = {horizon}");
    }
    assert!(sum(1_000_000) > 0.98 * exact * 1e3, "a constant 2 % smaller is wrong");
    for horizon in [1u32, 2, 10, 1000, 100_000] {
        let root = f64::from(horizon).sqrt();
        assert!((1..=horizon).map(|j| 1.0 / f64::from(j).sqrt()).sum::<f64>() <= 2.0 * root);
        assert!((1..horizon).map(|j| 0.25 / f64::from(j).sqrt()).sum::<f64>() <= 0.5 * root);
    }
}

#[test]
fn the_integral_for_m_sets() {
    for (sets, tasks) in [(1, 2), (1, 10), (3, 10), (1, 1000), (9, 10), (10, 10)] {
        let v = f64::from(sets) / f64::from(tasks);
        let start = (1.0 / v).ln();
        let value = integral(start.sqrt(), 13.0, 100_000, |z| 2.0 * z * z * (-z * z / 2.0).exp());
        let bound = 2.0 * (v * (2.0 - v.ln())).sqrt();
        assert!(value <= bound, "M/K = {v}: {value} > {bound}");
        assert!(value > 0.88 * bound, "M/K = {v}: the bound is within 12 %");
    }
    // The part of (p̂ − μ)⁺ above w_j, by Hoeffding: ∫ exp(−2j(w+x)²) dx ≤ (M/K) √(π/(8j)).
    for j in [1.0, 7.0, 300.0] {
        for ratio in [0.01f64, 0.3, 1.0] {
            let w = (-ratio.ln() / (2.0 * j)).sqrt();
            let value =
                integral(0.0, 8.0 / f64::sqrt(j), 20_000, |x| (-2.0 * j * (w + x) * (w + x)).exp());
            assert!(
                value <= ratio * (PI / (8.0 * j)).sqrt() * (1.0 + 1e-9),
                "j = {j}, M/K = {ratio}"
            );
        }
    }
}

#[test]
fn the_divergence_is_superadditive() {
    let steps = 60;
    let at = |i: i32| f64::from(i) / f64::from(steps);
    let mut wrong_fails = false;
    for i in 0..steps {
        for j in i.max(1)..steps {
            for l in j..steps {
                let (p, q, r) = (at(i), at(j), at(l));
                let slack = kl(p, r) - kl(p, q) - kl(q, r);
                let formula = (q - p) * (r * (1.0 - q) / (q * (1.0 - r))).ln();
                assert!((slack - formula).abs() < 1e-13, "{p} {q} {r}");
                assert!(slack >= -1e-14, "{p} {q} {r}: {slack}");
                wrong_fails |= kl(p, r) < kl(p, q) + 1.01 * kl(q, r) - 1e-9;
                // Pinsker.
                assert!(kl(p, r) >= 2.0 * (p - r) * (p - r) - 1e-15);
            }
        }
    }
    assert!(wrong_fails, "a factor 1.01 must be seen");
    assert!(kl(0.499, 0.501) < 2.01 * 0.002 * 0.002, "Pinsker's 2 cannot be 2.01");
}

#[test]
fn half_the_mean_costs_twice_the_divergence() {
    let mut wrong_fails = false;
    for i in 1..400 {
        let mean = f64::from(i) / 400.0;
        for j in 0..=200 {
            let p = mean / 2.0 * f64::from(j) / 200.0;
            assert!(kl(p, mean) >= 2.0 * kl(p, mean / 2.0) - 1e-15, "p = {p}, μ = {mean}");
            wrong_fails |= kl(p, mean) < 2.1 * kl(p, mean / 2.0);
        }
    }
    assert!(wrong_fails);
}

/// E(p̂_j − μ)⁺ for j Bernoulli rewards, by the binomial sum.
fn mean_excess(j: u32, mean: f64) -> f64 {
    let n = f64::from(j);
    (0..=j)
        .map(|s| {
            let s = f64::from(s);
            let log_count = ln_gamma(n + 1.0) - ln_gamma(s + 1.0) - ln_gamma(n - s + 1.0);
            (log_count + x_log_y(s, mean) + x_log_y(n - s, 1.0 - mean)).exp()
                * (s / n - mean).max(0.0)
        })
        .sum()
}

#[test]
fn the_mean_is_too_high_by_a_quarter_over_root_j() {
    for j in (1..30).chain([50, 100, 200, 400]) {
        for i in 1..40 {
            let mean = f64::from(i) / 40.0;
            let bound = 0.25 / f64::from(j).sqrt();
            assert!(mean_excess(j, mean) <= bound * (1.0 + 1e-11), "j = {j}, μ = {mean}");
        }
    }
    assert!(mean_excess(1, 0.5) > 0.24, "0.24 would be wrong at j = 1");
    assert!(mean_excess(400, 0.5) > 0.19 / 20.0, "and 0.19 for large j");
}

/// g of the proof for `kl-ucb-mixture`.
fn g(x: f64) -> f64 {
    ln_gamma(x + 1.0) - x_log_y(x, x)
}

/// The level of `kl-ucb-mixture`, as its definition has it.
fn level(log_k2t: f64, n: f64, s: f64) -> f64 {
    let log_beta = ln_gamma(s + 1.0) + ln_gamma(n - s + 1.0) - ln_gamma(n + 2.0);
    let m = s / n;
    log_k2t - log_beta + x_log_y(s, m) + x_log_y(n - s, 1.0 - m)
}

#[test]
fn g_is_concave_and_subadditive() {
    assert!(g(0.0).abs() < 1e-13);
    let step = 0.01;
    for i in 1..5000 {
        let x = f64::from(i) * step;
        assert!(g(x + step) + g(x - step) - 2.0 * g(x) < 1e-13, "concave at {x}");
        // ψ′(x+1) < 1/x, with ψ′ from its series and an upper bound on the tail.
        if i % 50 == 0 {
            let head: f64 = (1..2000).map(|n| (x + f64::from(n)).powi(-2)).sum();
            assert!(head + 1.0 / (x + 1999.0) < 1.0 / x + 1e-12, "ψ′ at {x}");
        }
    }
    for i in 0..=120 {
        for j in 0..=120 {
            let (x, y) = (f64::from(i) * 0.37, f64::from(j) * 0.71);
            assert!(g(x + y) <= g(x) + g(y) + 1e-11, "{x} + {y}");
        }
    }
    // Without the − x log x it is neither.
    assert!(
        ln_gamma(7.0) > 2.0 * ln_gamma(4.0),
        "log Γ(x+1) alone is not subadditive: the check sees it"
    );
}

#[test]
fn the_level_is_between_log_k2t_and_log_k2t_times_n_plus_one() {
    let mut equality = false;
    for (tasks, horizon) in [(2.0, 1.0), (2.0, 100.0), (10.0, 1e5)] {
        let log_k2t = f64::ln(tasks * tasks * horizon);
        let full = f64::ln(2.0) + 2.0 * f64::ln(tasks) + 2.0 * f64::ln(horizon);
        for n in [1.0, 2.0, 3.0, 10.0, 99.0, 100.0, 1234.0, 1e5] {
            for i in 0..=97 {
                let s = n * f64::from(i) / 97.0;
                let value = level(log_k2t, n, s);
                assert!(value >= log_k2t - 1e-8, "N = {n}, S = {s}");
                assert!(value <= log_k2t + f64::ln(n + 1.0) + 1e-8, "N = {n}, S = {s}");
                if n <= horizon {
                    assert!(value <= full + 1e-8, "N = {n} ≤ T = {horizon}, S = {s}");
                }
                equality |= value > log_k2t + f64::ln(n + 1.0) - 1e-8;
            }
        }
    }
    assert!(equality, "the bound is reached at S = 0: it cannot be smaller");
    assert!(level(0.0, 100.0, 0.0) > f64::ln(100.0), "log N would be wrong");
}

#[test]
fn the_share_of_failures_is_the_same_for_tight_and_hoeffding() {
    for (tasks, horizon) in [(2.0, 10.0), (7.0, 1234.0), (100.0, 1e6)] {
        let full = f64::ln(2.0) + 2.0 * f64::ln(tasks) + 2.0 * f64::ln(horizon);
        let hoeffding = tasks * horizon * 2.0 * f64::exp(-full);
        let tight = tasks / (tasks * tasks * horizon);
        let allowed = 1.0 / (tasks * horizon);
        assert!((hoeffding / allowed - 1.0).abs() < 1e-9 && (tight / allowed - 1.0).abs() < 1e-9);
        // The paper's proof pays (K/T + 1/(KT)) · KT = K² + 1 for failures and has 2K² left.
        assert!(tasks * tasks + 1.0 <= 2.0 * tasks * tasks);
    }
    assert!(prints_as(8.0 * LN_2, 2, "5.55"));
}

#[test]
fn the_sums_of_theorem_d() {
    for a in [1.02, 1.0476, 1.1, 2.0] {
        // Σ t^(−a) ≤ a/(a−1): the head, and an integral for the rest.
        let head: f64 = (1..=100_000).map(|t| f64::from(t).powf(-a)).sum();
        assert!(head + 100_000f64.powf(1.0 - a) / (a - 1.0) <= a / (a - 1.0) + 1e-6, "a = {a}");
    }
    for y in [0.01, 0.3, 2.0] {
        assert!(1.0 / f64::exp_m1(y) <= 1.0 / y);
    }
    for i in 0..=100 {
        let f = f64::from(i) / 100.0;
        assert!(1.0 - f / 2.0 <= (-f / 2.0).exp());
    }
}

#[test]
fn the_repaired_sum_of_the_papers_theorem() {
    // 1/a₀ + (1/f) log(1 + T f/a₀) ≤ (1/f) log T for T ≥ 3, with a₀ = 100 log² T.
    let holds = |factor: f64, horizon: f64, f: f64| {
        let start = factor * horizon.ln().powi(2);
        f / start + (1.0 + horizon * f / start).ln() <= horizon.ln()
    };
    for horizon in [3.0, 4.0, 10.0, 1e3, 1e6, 1e12] {
        for f in [1e-6, 0.01, 0.3, 1.0] {
            assert!(holds(100.0, horizon, f), "T = {horizon}, f = {f}");
            // The sum itself, where it is short enough.
            if horizon <= 1e6 {
                let start = 100.0 * f64::ln(horizon).powi(2);
                let sum: f64 = (0..=horizon as u32).map(|i| 1.0 / (start + f64::from(i) * f)).sum();
                assert!(sum <= horizon.ln() / f, "T = {horizon}, f = {f}");
            }
        }
    }
    assert!(!holds(0.5, 3.0, 1.0), "the constant 100 must be needed");
}

/// The law of one reward.
#[derive(Clone, Copy, Debug)]
enum Law {
    Bernoulli(f64),
    /// Beta(a, 1) with this mean.
    Beta(f64),
    /// Half of them `mean − 0.3`, half `mean + 0.3`.
    TwoPoints(f64),
}

impl Law {
    fn mean(self) -> f64 {
        let (Law::Bernoulli(mean) | Law::Beta(mean) | Law::TwoPoints(mean)) = self;
        mean
    }

    fn draw(self, random: &mut Random) -> f64 {
        let u = random.uniform();
        match self {
            Law::Bernoulli(mean) => f64::from(u8::from(u < mean)),
            Law::Beta(mean) => u.powf((1.0 - mean) / mean),
            Law::TwoPoints(mean) => mean + if u < 0.5 { -0.3 } else { 0.3 },
        }
    }
}

/// The largest q in [p, 1) with s · kl(p, q) ≤ c log⁺(t/s).
fn index(c: f64, p: f64, s: f64, t: f64) -> f64 {
    let limit = c * (t / s).ln().max(0.0) / s;
    let (mut low, mut high) = (p, 1.0);
    for _ in 0..40 {
        let middle = 0.5 * (low + high);
        if kl(p, middle) <= limit { low = middle } else { high = middle }
    }
    low
}

/// sup over s of (μ − u_t(s))⁺ on one tape of 4t entries.
fn largest_deficit(c: f64, law: Law, t: u32, random: &mut Random) -> f64 {
    let (mean, time) = (law.mean(), f64::from(t));
    let (mut sum, mut deficit) = (0.0, 0.0f64);
    for s in 1..=4 * t {
        sum += law.draw(random);
        let s = f64::from(s);
        let p = sum / s;
        // The deficit changes only where the index is below μ − deficit.
        let target = mean - deficit;
        if p < target && s * kl(p, target) > c * (time / s).ln().max(0.0) {
            deficit = mean - index(c, p, s, time);
        }
    }
    deficit
}

const LAWS: [Law; 4] =
    [Law::Bernoulli(0.5), Law::Bernoulli(0.15), Law::Beta(0.6), Law::TwoPoints(0.4)];

#[test]
fn lemma_a_in_simulation() {
    let (a, factor, b) = lemma_a(C, best_eta(C));
    let tapes = 1500;
    let bound = |y: f64| factor * (y * y).powf(-a);
    let mut random = Random::new(41);
    let mut below = 0.0f64;
    for law in LAWS {
        for t in [20, 300] {
            let root = f64::from(t).sqrt();
            let deficits: Vec<f64> =
                (0..tapes).map(|_| largest_deficit(C, law, t, &mut random) * root).collect();
            let mean = deficits.iter().sum::<f64>() / f64::from(tapes);
            assert!(mean < 0.5 * b, "{law:?}, t = {t}: √t · E sup = {mean}, the bound is {b}");
            below = below.max(mean);
            // y = Δ√t; below 2.2 the bound exceeds 1.
            for y in [2.2, 2.5, 3.0, 4.0, 5.0] {
                let share = deficits.iter().filter(|deficit| **deficit > y).count() as f64
                    / f64::from(tapes);
                assert!(
                    share < 0.5 * bound(y),
                    "{law:?}, t = {t}, Δ√t = {y}: {share} against {}",
                    bound(y)
                );
            }
        }
    }
    assert!(below > 0.05 * b, "b/20 would be wrong: {below}");
    // An index that does not explore breaks the lemma, and the simulation sees it.
    let greedy = (0..tapes)
        .filter(|_| {
            largest_deficit(0.0, Law::Bernoulli(0.5), 300, &mut random) * 300f64.sqrt() > 5.0
        })
        .count();
    assert!(greedy as f64 / f64::from(tapes) > bound(5.0), "no exploration: {greedy} of {tapes}");
}

/// The share of tapes on which N kl(m, μ) ever exceeds `limit(N, S)`.
fn ever_outside(
    law: Law,
    tapes: u32,
    length: u32,
    random: &mut Random,
    limit: impl Fn(f64, f64) -> f64,
) -> f64 {
    let mean = law.mean();
    let outside = (0..tapes).filter(|_| {
        let mut s = 0.0;
        // No early stop: every tape takes the same number of draws.
        (1..=length).fold(false, |outside, n| {
            s += law.draw(random);
            let n = f64::from(n);
            let m = (s / n).min(1.0);
            outside || n * kl(m, mean) >= limit(n, s.min(n))
        })
    });
    outside.count() as f64 / f64::from(tapes)
}

#[test]
fn the_level_of_tight_covers_all_rounds_at_once() {
    let k2t = 20.0f64;
    for (i, law) in LAWS.into_iter().enumerate() {
        let mut random = Random::new(70 + i as u64);
        let share = ever_outside(law, 2000, 600, &mut random, |n, s| level(k2t.ln(), n, s));
        assert!(share <= 1.0 / k2t, "{law:?}: {share}");
        if let Law::Bernoulli(_) = law {
            assert!(
                share > 0.2 / k2t,
                "{law:?}: {share} of the tapes fail; a level five times as strict would be wrong"
            );
            // The level of one fixed number of rewards does not cover them all at once.
            let fixed = ever_outside(law, 2000, 600, &mut random, |_, _| k2t.ln());
            assert!(fixed > 1.0 / k2t, "{law:?}: {fixed} with the wrong level");
        }
    }
}

#[test]
fn the_mixture_is_the_integral_of_its_alternatives() {
    for (n, s, mean) in [(1.0, 0.0, 0.3), (5.0, 2.5, 0.4), (40.0, 31.7, 0.7)] {
        let mixture = integral(0.0, 1.0, 400_000, |q| {
            (x_log_y(s, q / mean) + x_log_y(n - s, (1.0 - q) / (1.0 - mean))).exp()
        });
        // log W = N kl(m, μ) − (level − log K²T).
        let from_level = n * kl(s / n, mean) - level(0.0, n, s);
        assert!(
            (mixture.ln() - from_level).abs() < 1e-8,
            "N = {n}, S = {s}: {} against {from_level}",
            mixture.ln()
        );
    }
    // One factor has mean at most 1 for rewards that are not Bernoulli: ∫ over Beta(a, 1).
    for mean in [0.2, 0.6] {
        let a: f64 = mean / (1.0 - mean);
        for q in [0.05, 0.5, 0.9] {
            let factor = integral(0.0, 1.0, 20_000, |u| {
                let reward = u.powf(1.0 / a);
                (q / mean).powf(reward) * ((1.0 - q) / (1.0 - mean)).powf(1.0 - reward)
            });
            assert!(factor <= 1.0 + 1e-6, "μ = {mean}, q = {q}: {factor}");
        }
    }
}

#[test]
fn later_means_stay_close() {
    let (n, tapes) = (50, 2000);
    let mut random = Random::new(5);
    let mut total = 0.0;
    for _ in 0..tapes {
        let (mut sum, mut worst) = (0.0, 0.0f64);
        for j in 1..=40 * n {
            sum += Law::Bernoulli(0.5).draw(&mut random);
            if j >= n {
                worst = worst.max((sum / f64::from(j) - 0.5).powi(2));
            }
        }
        total += worst;
    }
    let scaled = total / f64::from(tapes) * f64::from(n);
    assert!(scaled <= 1.0, "n · E sup (p̂_j − μ)² = {scaled}");
    assert!(scaled > 0.3, "the variance alone, 1/4, would be wrong: {scaled}");
}

#[test]
fn the_jensen_step_of_theorem_3_needs_its_repair() {
    let sides = |completions: &[f64], one: f64| {
        let left: f64 = completions.iter().map(|n| (one + n).sqrt()).sum();
        let right =
            (completions.len() as f64).sqrt() * (one + completions.iter().sum::<f64>()).sqrt();
        (left, right)
    };
    // As printed, with "1 +": four tasks that never completed.
    assert_eq!(sides(&[0.0; 4], 1.0), (4.0, 2.0));
    // Without it, it is the inequality of Cauchy and Schwarz.
    for completions in [&[0.0; 4][..], &[1.0, 0.0, 0.0], &[5.0, 100.0, 2.0, 7.0], &[9.0; 6]] {
        let (left, right) = sides(completions, 0.0);
        assert!(left <= right * (1.0 + 1e-15), "{completions:?}");
    }
    // And the sum before it has no "1 +" either.
    let mut sum = 0.0;
    for n in 1..=10_000 {
        sum += 1.0 / f64::from(n).sqrt();
        assert!(sum <= 2.0 * f64::from(n).sqrt(), "N = {n}");
    }
    assert!(sum > 1.98 * 100.0, "1.98 √N would be wrong");
}

#[test]
fn the_last_step_of_theorem_2_survives_the_subtraction() {
    let sum_of_both = |share: f64| {
        let inside = 42.0 * (PI * PI * 2f64.sqrt() * share + 2.0 / 9.0);
        16.0 * 2f64.sqrt() / 585.0 * (1.0 - inside.sqrt() / 6.0)
    };
    let share = 1.0 / 140.0;
    assert!(prints_as(sum_of_both(share), 6, "0.014975"));
    assert!(sum_of_both(share) - share > share);
    assert!(prints_as(sum_of_both(share) - share, 5, "0.00783"));
    let share = 1.0 / 130.0;
    assert!(sum_of_both(share) - share < share, "1/130 would not do");
}

#[test]
fn the_width_of_the_index_covers_hoeffdings() {
    for n in 1..1000 {
        let n = f64::from(n);
        assert!(1.0 / (1.0 + n) >= 1.0 / (2.0 * n));
    }
    // With no completion the index is √L, and L is above 1.
    assert!(f64::ln(2.0 * 4.0) > 1.0);
}

/// The divergence of T rounds of both tasks of a pair of Theorem 4.
fn pair_divergence(horizon: f64) -> f64 {
    let better = 0.5 + 1.0 / horizon.sqrt();
    horizon * (kl(better, 0.5) + kl(0.5, better))
}

#[test]
fn the_divergence_of_theorem_4_counts_both_tasks_of_a_pair() {
    for horizon in [16.0f64, 17.0, 100.0, 1e4, 1e6] {
        let root = horizon.sqrt();
        let divergence = pair_divergence(horizon);
        assert!((divergence - 2.0 * root * (2.0 / root).atanh()).abs() < 1e-7, "T = {horizon}");
        assert!(divergence > 4.0 && divergence <= 4.0 * 3f64.ln() + 1e-12, "T = {horizon}");
        // One task alone is half of it.
        assert!(horizon * kl(0.5 + 1.0 / root, 0.5) < 0.52 * divergence);
    }
    // The paper's own argument gives for K pairs: K √T e^(-divergence) / 8.
    assert!(
        prints_as(8.0 * pair_divergence(16.0).exp(), 0, "648")
            && prints_as(8.0 * pair_divergence(1e6).exp(), 0, "437")
    );
}

/// The affinity of one round of both tasks of a pair.
fn pair_affinity(horizon: f64) -> f64 {
    let better = 0.5 + 1.0 / horizon.sqrt();
    let one = (0.5 * better).sqrt() + (0.5 * (1.0 - better)).sqrt();
    one * one
}

#[test]
fn theorem_4_has_the_constant_of_the_affinity() {
    let lower = |horizon: u32| outlay::theory::theorem_4_lower(1, u64::from(horizon)).unwrap();
    for horizon in [16u32, 17, 100, 10_000, 1_000_000] {
        let total = f64::from(horizon);
        let affinity = pair_affinity(total);
        // In each round the two wrong choices have at least the probability 1 - TV.
        let open = |t: u32| 1.0 - (1.0 - affinity.powf(2.0 * f64::from(t - 1))).max(0.0).sqrt();
        let sum: f64 = (1..=horizon).map(|t| 0.5 * open(t) / total.sqrt()).sum();
        let bound = lower(horizon);
        assert!(sum >= bound * (1.0 - 1e-9), "T = {horizon}: {sum} {bound}");
        assert!(sum < bound + 0.5 / total.sqrt() + 1e-9, "T = {horizon}: one term at most is lost");
        assert!(bound < outlay::theory::theorem_4_random_choice(1, u64::from(horizon)).unwrap());
        assert!(bound > 1.5 * total.sqrt() / (3.0 * pair_divergence(total)), "above Pinsker's");
    }
    assert!(prints_as(4.0 / lower(16), 2, "7.94"));
    // No digits are lost for long horizons: the limit is ½ ∫ (1 - √(1 - e^(-2s))) ds.
    let limit = 0.5 * integral(0.0, 1.0, 400_000, |s| 1.0 - (-(-2.0 * s).exp_m1()).sqrt());
    for horizon in [1u64 << 40, 1 << 52, u64::MAX] {
        let bound = outlay::theory::theorem_4_lower(1, horizon).unwrap() / (horizon as f64).sqrt();
        assert!((bound / limit - 1.0).abs() < 1e-6, "T = {horizon}: {bound} {limit}");
    }
    assert!(prints_as(1.0 / limit, 2, "7.34"));
    // The exact limit under full feedback: the sum of rewards decides.
    let normal = |x: f64| 0.5 * statrs::function::erf::erfc(-x / 2f64.sqrt());
    let full = integral(0.0, 1.0, 400_000, |s| normal(-(2.0 * s).sqrt()));
    assert!(prints_as(full, 4, "0.1855") && full > limit);
    // Following the leader with full feedback is above it; a constant of 0.3 would be wrong.
    let (horizon, pairs) = (400u32, 2000);
    let gap = 1.0 / f64::from(horizon).sqrt();
    let mut random = Random::new(11);
    let mut regret = 0.0;
    for _ in 0..pairs {
        let mut lead = 0.0;
        for _ in 0..horizon {
            regret += if lead < 0.0 {
                gap
            } else if lead == 0.0 {
                0.5 * gap
            } else {
                0.0
            };
            lead +=
                Law::Bernoulli(0.5 + gap).draw(&mut random) - Law::Bernoulli(0.5).draw(&mut random);
        }
    }
    let mean = regret / f64::from(pairs);
    assert!(mean > lower(400), "{mean}");
    assert!(mean < 0.3 * 20.0, "{mean}");
}

#[test]
fn few_completions_have_a_smaller_bound() {
    // Ψ(v) is at most 2√(v log(e²/v)), and close to it for small v.
    for v in [1e-6f64, 1e-3, 0.1, 0.5, 1.0] {
        // With w = y², ∫ √(log(1/w)/w) dw = 2 ∫ √(2 log(1/y)) dy.
        let psi = 2.0 * integral(0.0, v.sqrt(), 400_000, |y| (-2.0 * y.ln()).max(0.0).sqrt());
        let above = 2.0 * (v * (2.0 - v.ln())).sqrt();
        assert!(psi <= above && psi > 0.85 * above, "v = {v}: {psi} {above}");
    }
    let bound = |mass: f64| outlay::theory::kl_ucb_plus_mass_bound(100, mass, 1e6, C);
    for mass in [0.5, 1.0, 5.0, 20.0] {
        let (_, _, b) = lemma_a(C, best_eta(C));
        let (k, t) = (100.0f64, 1e6f64);
        let too_high = (2.0 * C * (E * E * k / mass).ln()).sqrt()
            + (2.0 * (k / mass).ln()).sqrt()
            + (PI * mass / (2.0 * k)).sqrt();
        let expected = 2.0 * b * mass * t.sqrt() + k + (k * mass * t).sqrt() * too_high;
        assert!((bound(mass) / expected - 1.0).abs() < 1e-4, "{mass}: {} {expected}", bound(mass));
    }
    // With as many completions as tasks Theorem W is the smaller one.
    assert_eq!(bound(100.0), outlay::theory::kl_ucb_plus_bound(100, 1e6, C));
    assert_eq!(bound(f64::NAN), bound(100.0));
}
