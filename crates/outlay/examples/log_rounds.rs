//! Should the rounds of a log advance the round of `kl-ucb-plus`?
//!
//! A learner starts from the completions of a log of R rounds. By the present rule its bonus is
//! computed with the campaign's own round t; by the other one with t + R, as if the log had been
//! the first R rounds of the campaign. Both rules play the same ten problems with the same random
//! numbers, so their regrets are compared in pairs.
//!
//! `cargo run --release -p outlay --example log_rounds` prints the table of docs/design/learning.md
//! (about a minute); `-- 5` uses 5 seeds.

use outlay::campaign::{CampaignOptions, RoundConditions, RoundPlanner};
use outlay::feedback::{Feedback, Outcome};
use outlay::simulation::Environment;
use outlay::{Curve, Options, Oracle, Problem, ProblemSpec, Task, TaskSpec};

type Failure = Box<dyn std::error::Error>;

/// The seeds of each case.
const SEEDS: u64 = 100;
/// The rounds after the log: regret is measured up to each of them.
const HORIZONS: [u64; 2] = [100, 1000];
/// The rounds of the logs.
const LENGTHS: [u64; 4] = [10, 70, 365, 2000];

/// A problem and the spends of its log.
struct Case {
    name: &'static str,
    problem: Problem,
    log_spend: Vec<f64>,
}

impl Case {
    /// A case whose log splits the budget by these shares; `tasks` are curve, volume and mean.
    fn new(
        name: &'static str,
        budget: f64,
        tasks: Vec<(Curve, f64, f64)>,
        shares: &[f64],
    ) -> Result<Self, Failure> {
        let log_spend = shares.iter().map(|share| share * budget).collect();
        let task = |(position, (curve, volume, value)): (usize, (Curve, f64, f64))| TaskSpec {
            volume: Some(volume),
            value: Some(value),
            ..TaskSpec::new(format!("task-{position}"), curve)
        };
        let tasks = tasks.into_iter().enumerate().map(task).collect();
        let problem = ProblemSpec { budget, tasks, ..ProblemSpec::default() }.check()?;
        Ok(Self { name, problem, log_spend })
    }
}

/// Equal shares.
fn even(tasks: usize) -> Vec<f64> {
    vec![1.0 / tasks as f64; tasks]
}

fn cases() -> Result<Vec<Case>, Failure> {
    let means = |count: usize, low: f64, high: f64| {
        (0..count).map(move |task| low + (high - low) * task as f64 / (count - 1) as f64)
    };
    let shop = |values: [f64; 8]| -> Result<Vec<(Curve, f64, f64)>, Failure> {
        let task = |(place, value): (usize, f64)| {
            let place = place as f64;
            Ok((Curve::hill(60.0 + 20.0 * place, 1.0 + 0.2 * place)?, 1.0 + 0.5 * place, value))
        };
        values.into_iter().enumerate().map(task).collect()
    };
    let values = [0.10, 0.40, 0.04, 0.22, 0.15, 0.06, 0.30, 0.08];
    let exponential = |count: usize, volume: f64, low: f64, high: f64| {
        let task = |mean| Ok((Curve::exponential(40.0)?, volume, mean));
        means(count, low, high).map(task).collect::<Result<Vec<_>, Failure>>()
    };
    let power = |count: usize, low: f64, high: f64| {
        let task = |mean| Ok((Curve::power(0.5, 1.0)?, 1.0, mean));
        means(count, low, high).map(task).collect::<Result<Vec<_>, Failure>>()
    };
    let arms = |count: usize| {
        let task = |mean| Ok((Curve::threshold(1.0)?, 1.0, mean));
        means(count, 0.3, 0.6).map(task).collect::<Result<Vec<_>, Failure>>()
    };
    // Each task had a tenth of the rounds' budget or less, but the first one nearly all of it.
    let skewed = |count: usize| {
        let mut shares = vec![0.1 / (count - 1) as f64; count];
        shares[0] = 0.9;
        shares
    };
    let first_only = |count: usize| {
        let mut shares = vec![0.0; count];
        shares[..2].fill(0.5);
        shares
    };
    let saturating: Vec<(Curve, f64, f64)> = means(6, 0.2, 0.7)
        .map(|mean| Ok((Curve::saturating(1.0)?, 1.0, mean)))
        .collect::<Result<_, Failure>>()?;
    let rare: Vec<(Curve, f64, f64)> = means(5, 0.1, 0.9)
        .map(|mean| Ok((Curve::exponential(60.0)?, 0.2, mean)))
        .collect::<Result<_, Failure>>()?;
    Ok(vec![
        Case::new("shop of 8 channels", 800.0, shop(values)?, &even(8))?,
        Case::new("shop, log 90 % on one", 800.0, shop(values)?, &skewed(8))?,
        Case::new("10 tasks, volume 30", 200.0, exponential(10, 30.0, 0.1, 0.5)?, &even(10))?,
        Case::new("10 close tasks", 200.0, exponential(10, 30.0, 0.28, 0.32)?, &even(10))?,
        Case::new(
            "volume 30, log 90 % on one",
            200.0,
            exponential(10, 30.0, 0.1, 0.5)?,
            &skewed(10),
        )?,
        Case::new("5 rare tasks, volume 0.2", 150.0, rare, &even(5))?,
        Case::new("5 square roots", 1.0, power(5, 0.2, 0.8)?, &even(5))?,
        Case::new("square roots, log on two", 1.0, power(5, 0.2, 0.8)?, &first_only(5))?,
        Case::new("6 saturating tasks", 2.0, saturating, &even(6))?,
        Case::new("4 arms, one a round", 1.0, arms(4)?, &[1.0, 0.0, 0.0, 0.0])?,
    ])
}

/// The completions of a log of this many rounds.
fn log_of(case: &Case, rounds: u64, seed: u64) -> Result<Vec<Outcome>, Failure> {
    use outlay::feedback::Completions;
    let environment = Environment::new(&case.problem, 1_000_000 + seed)?;
    let success: Vec<f64> = case
        .problem
        .tasks()
        .iter()
        .zip(&case.log_spend)
        .map(|(task, &spend)| task.curve().success(spend))
        .collect();
    let mut outcomes = vec![Outcome::Missing; success.len()];
    let mut sums = vec![(0, 0); success.len()];
    for round in 1..=rounds {
        environment.play(round, &success, Feedback::Censored, &mut outcomes);
        for (sum, outcome) in sums.iter_mut().zip(&outcomes) {
            let drawn = outcome.completions();
            *sum = (sum.0 + drawn.count(), sum.1 + drawn.reward_sum());
        }
    }
    let outcome = |(count, sum)| Completions::new(count, sum).map(Outcome::of);
    sums.into_iter().map(outcome).collect::<Option<_>>().ok_or_else(|| "too many".into())
}

/// The regret up to each of [`HORIZONS`], if the learner counts rounds from `advance` on.
fn regrets(case: &Case, log: &[Outcome], advance: u64, seed: u64) -> Result<Vec<f64>, Failure> {
    let problem = &case.problem;
    let environment = Environment::new(problem, seed)?;
    let means = environment.means().to_vec();
    let mut oracle = Oracle::new(problem);
    let optimum = oracle.allocate(&means, problem.budget(), &Options::default())?.value;
    let volumes: Vec<f64> = problem.tasks().iter().map(Task::volume).collect();
    let mut planner = RoundPlanner::new(problem, CampaignOptions::default())?;
    for (task, &seen) in log.iter().enumerate() {
        planner.observe(task, 0.0, seen)?;
    }
    let mut outcomes = vec![Outcome::Missing; means.len()];
    let (mut regret, mut found) = (0.0, Vec::new());
    for round in 1..=HORIZONS[1] {
        let conditions = RoundConditions::new(problem.budget(), None);
        let success = planner.decide(advance + round, &conditions)?.success.clone();
        let parts = success.iter().zip(&means).zip(&volumes);
        regret +=
            optimum - parts.map(|((success, mean), volume)| success * mean * volume).sum::<f64>();
        environment.play(round, &success, Feedback::Censored, &mut outcomes);
        for (task, &outcome) in outcomes.iter().enumerate() {
            planner.observe(task, 0.0, outcome)?;
        }
        if HORIZONS.contains(&round) {
            found.push(regret);
        }
    }
    Ok(found)
}

/// The mean and the half width of its 95 % interval.
fn mean(sample: &[f64]) -> (f64, f64) {
    let count = sample.len() as f64;
    let mean = sample.iter().sum::<f64>() / count;
    let variance =
        sample.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
    (mean, 1.96 * (variance / count).sqrt())
}

/// The regrets of a case by both rules, and their difference, up to one horizon.
#[derive(Clone, Default)]
struct Sample {
    present: Vec<f64>,
    difference: Vec<f64>,
}

fn main() -> Result<(), Failure> {
    let seeds = std::env::args().nth(1).map_or(Ok(SEEDS), |count| count.parse())?;
    let [short, long] = HORIZONS;
    println!(
        "| problem | rounds R of the log | regret of {short} rounds | change by R | regret of {long} \
         rounds | change by R |"
    );
    println!("|---|---|---|---|---|---|");
    // For each horizon, the cases with less regret, with more, and undecided ones.
    let mut verdicts = [[0; 3]; HORIZONS.len()];
    for case in cases()? {
        for length in LENGTHS {
            let mut samples = vec![Sample::default(); HORIZONS.len()];
            for seed in 1..=seeds {
                let log = log_of(&case, length, seed)?;
                let present = regrets(&case, &log, 0, seed)?;
                let advanced = regrets(&case, &log, length, seed)?;
                for (place, sample) in samples.iter_mut().enumerate() {
                    sample.present.push(present[place]);
                    sample.difference.push(advanced[place] - present[place]);
                }
            }
            let mut cells = vec![case.name.to_owned(), length.to_string()];
            for (sample, verdicts) in samples.iter().zip(&mut verdicts) {
                let (change, width) = mean(&sample.difference);
                cells.push(format!("{:.2}", mean(&sample.present).0));
                cells.push(format!("{change:+.2} ± {width:.2}"));
                let is_decided = change.abs() > width;
                verdicts[if is_decided { usize::from(change > 0.0) } else { 2 }] += 1;
            }
            println!("| {} |", cells.join(" | "));
        }
    }
    for (horizon, [less, more, open]) in HORIZONS.iter().zip(verdicts) {
        println!(
            "\n{horizon} rounds: t + R has less regret in {less} cases, more in {more}, undecided {open}"
        );
    }
    Ok(())
}
