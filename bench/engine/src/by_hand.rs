//! A lower limit on the time of a round: the same algorithms written by hand for one kind of curve,
//! without certificate, trace or options. They use the same random stream, so equal regrets show
//! that the algorithms are the same.

use std::hint::black_box;

use outlay::Problem;
use outlay::curve::Family;
use outlay::learner::log_term;
use outlay::random::{Draws, Purpose};

use crate::clock::{Effort, time};

/// Relative tolerance of the budget: further steps would hardly change a double.
const PRICE_TOLERANCE: f64 = 1e-10;

/// Exponents and means of a problem of power curves over the whole budget.
pub fn powers(problem: &Problem) -> Option<(Vec<f64>, Vec<f64>)> {
    let exponent = |task: &outlay::Task| match task.curve().family() {
        Family::Power(power) => Some(power.exponent()),
        _ => None,
    };
    problem.tasks().iter().map(|task| Some((exponent(task)?, task.reward()?.mean()))).collect()
}

/// Tasks with power curves and a budget of one: at price `e^y` task k gets `exp((b - y) / (1 - a))`
/// with `b = log(a v)`.
struct Powers {
    exponents: Vec<f64>,
    elasticities: Vec<f64>,
    /// `a v`, and its logarithm.
    slopes: Vec<f64>,
    logarithms: Vec<f64>,
    /// The logarithm of the price.
    price: f64,
    success: Vec<f64>,
}

impl Powers {
    fn new(exponents: &[f64], values: impl Iterator<Item = f64>) -> Self {
        let slopes: Vec<f64> =
            exponents.iter().zip(values).map(|(exponent, value)| exponent * value).collect();
        Self {
            exponents: exponents.to_vec(),
            elasticities: exponents.iter().map(|exponent| 1.0 / (1.0 - exponent)).collect(),
            logarithms: slopes.iter().map(|slope| slope.ln()).collect(),
            success: vec![0.0; slopes.len()],
            slopes,
            price: 0.0,
        }
    }

    fn revalue(&mut self, task: usize, value: f64) {
        self.slopes[task] = self.exponents[task] * value;
        self.logarithms[task] = self.slopes[task].ln();
    }

    /// One pass: the total demand at the price, and its derivative by the logarithm of the price,
    /// negated.
    fn spend(&mut self) -> (f64, f64) {
        let (mut spent, mut fall) = (0.0, 0.0);
        for ((success, logarithm), elasticity) in
            self.success.iter_mut().zip(&self.logarithms).zip(&self.elasticities)
        {
            let spend = (elasticity * (logarithm - self.price)).exp();
            spent += spend;
            fall += elasticity * spend;
            *success = spend;
        }
        (spent, fall)
    }

    /// Newton's method for the price, starting from the last one, until the budget is met; then
    /// `x^a = x e^y / (a v)`.
    fn solve(&mut self) {
        // Demand is convex in the logarithm of the price, so this converges from any start; the
        // limit is a safeguard.
        for _ in 0..100 {
            let (spent, fall) = self.spend();
            let excess = spent.ln();
            if excess.abs() <= PRICE_TOLERANCE {
                break;
            }
            self.price += excess * spent / fall;
        }
        let price = self.price.exp();
        for (success, slope) in self.success.iter_mut().zip(&self.slopes) {
            *success *= price / slope;
        }
    }
}

/// Algorithm 1 of the paper on power curves; the regret.
pub fn paper(exponents: &[f64], means: &[f64], horizon: u64, seed: u64) -> f64 {
    let log_term = log_term(means.len(), horizon);
    let mut best = Powers::new(exponents, means.iter().copied());
    best.solve();
    let worth = |success: &[f64]| -> f64 {
        success.iter().zip(means).map(|(success, mean)| success * mean).sum()
    };
    let optimum = worth(&best.success);
    let (completion_draws, reward_draws) =
        (Draws::new(seed, Purpose::Completion), Draws::new(seed, Purpose::Reward));
    let mut counts = vec![(0.0f64, 0.0f64); means.len()];
    let mut powers = Powers::new(exponents, means.iter().map(|_| log_term.sqrt()));
    let mut regret = 0.0;
    for round in 1..=horizon {
        powers.solve();
        regret += optimum - worth(&powers.success);
        let (completions, rewards) = (completion_draws.round(round), reward_draws.round(round));
        for (task, (completed, gained)) in counts.iter_mut().enumerate() {
            if completions.uniform(task) < powers.success[task] {
                *completed += 1.0;
                *gained += f64::from(u8::from(rewards.uniform(task) < means[task]));
                powers.revalue(task, *gained / *completed + (log_term / (1.0 + *completed)).sqrt());
            }
        }
    }
    regret
}

/// UCB1 with the width of `cucb`, `sqrt(1.5 log t / N)`, on Bernoulli arms; the regret.
pub fn ucb1(means: &[f64], horizon: u64, seed: u64) -> f64 {
    let best = means.iter().copied().fold(0.0, f64::max);
    let draws = Draws::new(seed, Purpose::Reward);
    let mut counts = vec![(0.0f64, 0.0f64); means.len()];
    // Means, and 1/sqrt(N); an arm starts as if it had one successful pull.
    let mut averages = vec![(1.0f64, 1.0f64); means.len()];
    let mut regret = 0.0;
    for round in 1..=horizon {
        let width = (1.5 * (round as f64).ln()).sqrt();
        let (mut arm, mut most) = (0, f64::NEG_INFINITY);
        for (position, (mean, narrowing)) in averages.iter().enumerate() {
            let index = mean + width * narrowing;
            if index > most {
                (arm, most) = (position, index);
            }
        }
        let (pulls, gained) = &mut counts[arm];
        *pulls += 1.0;
        *gained += f64::from(u8::from(draws.round(round).uniform(arm) < means[arm]));
        averages[arm] = (*gained / *pulls, pulls.sqrt().recip());
        regret += best - means[arm];
    }
    regret
}

/// Seconds for each part of a round.
pub struct Parts {
    /// A completion and a reward for each task.
    pub draws: f64,
    /// An index of `algorithm-1` and its logarithm for each task.
    pub indices: f64,
    /// One evaluation of all tasks at a price.
    pub pass: f64,
    /// The success of each task's spend.
    pub success: f64,
}

/// Times the parts of a round with these exponents, each over all tasks.
pub fn parts(exponents: &[f64], effort: Effort) -> Parts {
    let tasks = exponents.len();
    let (completion_draws, reward_draws) =
        (Draws::new(1, Purpose::Completion), Draws::new(1, Purpose::Reward));
    let mut round = 0;
    let draws = time(effort, || {
        round += 1;
        let (completions, rewards) = (completion_draws.round(round), reward_draws.round(round));
        let sum: f64 =
            (0..tasks).map(|task| completions.uniform(task) + rewards.uniform(task)).sum();
        black_box(sum);
    });
    let mut powers = Powers::new(exponents, exponents.iter().map(|_| 1.0));
    let indices = time(effort, || {
        let (log_term, completed) = black_box((30.0f64, 20.0f64));
        for task in 0..tasks {
            powers.revalue(task, 7.0 / completed + (log_term / (1.0 + completed)).sqrt());
        }
        black_box(&mut powers);
    });
    let pass = time(effort, || {
        black_box(black_box(&mut powers).spend());
    });
    powers.solve();
    let spends = powers.success.clone();
    let success = time(effort, || {
        let sum: f64 = black_box(&spends)
            .iter()
            .zip(exponents)
            .map(|(spend, exponent)| spend.powf(*exponent))
            .sum();
        black_box(sum);
    });
    Parts { draws, indices, pass, success }
}
