//! What it costs to refit curves to the log of one's own plans and to plan again:
//! `cargo run --release --example refit_and_replan`.
//!
//! Four tasks with Hill curves, 3,000 rounds, 20 seeds. The first 100 rounds vary the even split, by
//! up to 10 % or by up to 90 %. Then the curves are refitted to the whole log every 100 rounds, and
//! the best plan for the fitted curves and the observed mean rewards is used until the next fit. The
//! same rounds are played by the even split and by the default learner, which knows the curves.

use std::error::Error;

use outlay::campaign::{Campaign, CampaignOptions};
use outlay::feedback::{Outcome, Reward};
use outlay::fit::{Choice, Family, Observations, Options, fit};
use outlay::plan::value_of;
use outlay::random::{Draws, Purpose};
use outlay::{Curve, Oracle, Problem, ProblemSpec, TaskSpec};

const ROUNDS: u64 = 3000;
const BLOCK: u64 = 100;
const SEEDS: u64 = 20;
/// Half-saturation, steepness and mean reward of the tasks. The budget funds about two of them.
const TASKS: [(f64, f64, f64); 4] =
    [(80.0, 3.0, 0.5), (120.0, 2.5, 0.7), (200.0, 4.0, 0.9), (150.0, 2.0, 0.4)];
const BUDGET: f64 = 400.0;

fn problem(curves: Vec<(Curve, f64)>) -> Result<Problem, Box<dyn Error>> {
    let task = |(position, (curve, value)): (usize, (Curve, f64))| TaskSpec {
        value: Some(value),
        ..TaskSpec::new(format!("task-{}", position + 1), curve)
    };
    let tasks = curves.into_iter().enumerate().map(task).collect();
    Ok(ProblemSpec { budget: BUDGET, tasks, ..ProblemSpec::default() }.check()?)
}

/// The best spends for a problem, and their value.
fn best(problem: &Problem) -> Result<(Vec<f64>, f64), Box<dyn Error>> {
    let values = problem.values().ok_or("every task has a value")?;
    let options = outlay::Options::default();
    let mut oracle = Oracle::new(problem);
    let plan = oracle.allocate(&values, problem.budget(), &options)?;
    Ok((plan.spend.clone(), plan.value))
}

/// One seed: draws of completions and rewards, the same for every strategy.
struct World<'a> {
    truth: &'a Problem,
    completions: Draws,
    rewards: Draws,
}

impl World<'_> {
    /// Whether each task completes at its spend, and the rewards: 1 with the task's mean.
    fn outcomes(&self, round: u64, spend: &[f64]) -> Vec<(bool, f64)> {
        let (completions, rewards) = (self.completions.round(round), self.rewards.round(round));
        let tasks = self.truth.tasks().iter().zip(spend).enumerate();
        tasks
            .map(|(task, (known, &spend))| {
                let mean = known.value().unwrap_or(0.0);
                let done = completions.uniform(task) < known.curve().success(spend);
                (done, f64::from(u8::from(rewards.uniform(task) < mean)))
            })
            .collect()
    }
}

/// Spend, trials and successes.
type Trial = (f64, f64, f64);

/// The regret of refitting and replanning, if the first rounds vary the even split by this share.
fn refit_and_replan(world: &World<'_>, seed: u64, width: f64) -> Result<f64, Box<dyn Error>> {
    let (truth, tasks) = (world.truth, world.truth.tasks().len());
    let values = truth.values().ok_or("every task has a value")?;
    let (_, optimum) = best(truth)?;
    let first = Draws::new(seed, Purpose::Instance);
    let mut log: Vec<Vec<Trial>> = vec![Vec::new(); tasks];
    let mut rewards = vec![(0.0, 0.0); tasks];
    let (mut plan, mut regret) = (vec![0.0; tasks], 0.0);
    for round in 1..=ROUNDS {
        if round <= BLOCK {
            let shares: Vec<f64> = (0..tasks)
                .map(|task| 1.0 + width * (2.0 * first.round(round).uniform(task) - 1.0))
                .collect();
            let total: f64 = shares.iter().sum();
            plan = shares.iter().map(|share| BUDGET * share / total).collect();
        } else if round % BLOCK == 1 {
            let curve = |(rows, &(count, sum)): (&Vec<Trial>, &(f64, f64))| {
                let options = Options { budget: Some(BUDGET), folds: 2, ..Options::default() };
                let rows = Observations::new(rows.iter().copied())?;
                let fitted = fit(&rows, Choice::One(Family::Hill), &options)?;
                Ok((fitted.curve, if count > 0.0 { sum / count } else { 1.0 }))
            };
            let curves: Result<_, outlay::fit::FitError> =
                log.iter().zip(&rewards).map(curve).collect();
            plan = best(&problem(curves?)?)?.0;
        }
        regret += optimum - value_of(truth, &values, &plan);
        for (task, (done, reward)) in world.outcomes(round, &plan).into_iter().enumerate() {
            log[task].push((plan[task], 1.0, f64::from(u8::from(done))));
            if done {
                rewards[task].0 += 1.0;
                rewards[task].1 += reward;
            }
        }
    }
    Ok(regret)
}

/// The regret of the default learner with the true curves.
fn learner(world: &World<'_>) -> Result<f64, Box<dyn Error>> {
    let truth = world.truth;
    let values = truth.values().ok_or("every task has a value")?;
    let (_, optimum) = best(truth)?;
    let mut campaign = Campaign::new(truth, CampaignOptions::default())?;
    let mut regret = 0.0;
    for round in 1..=ROUNDS {
        let spend = campaign.allocate(BUDGET, None)?.allocation.spend.clone();
        regret += optimum - value_of(truth, &values, &spend);
        let outcomes: Vec<Outcome> = world
            .outcomes(round, &spend)
            .into_iter()
            .map(|(done, reward)| match done {
                true => Outcome::Done(Reward::from_share(reward)),
                false => Outcome::Failed,
            })
            .collect();
        campaign.observe_round(round, &outcomes)?;
    }
    Ok(regret)
}

/// Mean and standard error.
fn summary(numbers: &[f64]) -> String {
    let count = numbers.len() as f64;
    let mean = numbers.iter().sum::<f64>() / count;
    let variance = numbers.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (count - 1.0);
    format!("{mean:8.0} ± {:.0}", (variance / count).sqrt())
}

/// Prints the regret of each strategy.
fn main() -> Result<(), Box<dyn Error>> {
    let hill = |&(half_at, steepness, mean): &(f64, f64, f64)| {
        Ok((Curve::hill(half_at, steepness)?, mean))
    };
    let curves: Result<_, outlay::curve::CurveError> = TASKS.iter().map(hill).collect();
    let truth = problem(curves?)?;
    let values = truth.values().ok_or("every task has a value")?;
    let (_, optimum) = best(&truth)?;
    let even = ROUNDS as f64 * (optimum - value_of(&truth, &values, &[BUDGET / 4.0; 4]));
    const WIDTHS: [f64; 2] = [0.1, 0.9];
    let (mut refitted, mut learned) = (WIDTHS.map(|_| Vec::new()), Vec::new());
    for seed in 1..=SEEDS {
        let world = World {
            truth: &truth,
            completions: Draws::new(seed, Purpose::Completion),
            rewards: Draws::new(seed, Purpose::Reward),
        };
        for (width, regrets) in WIDTHS.iter().zip(&mut refitted) {
            regrets.push(refit_and_replan(&world, seed, *width)?);
        }
        learned.push(learner(&world)?);
    }
    println!("regret over {ROUNDS} rounds of {optimum:.3}, mean of {SEEDS} seeds ± standard error");
    println!("even split                          {even:8.0}");
    for (width, regrets) in WIDTHS.iter().zip(&mut refitted) {
        regrets.sort_by(f64::total_cmp);
        let worst = regrets[regrets.len() - 1];
        println!(
            "refit, first spends within {:2.0} %     {}, worst seed {worst:.0}",
            100.0 * width,
            summary(regrets)
        );
    }
    println!("curves known                        {}", summary(&learned));
    Ok(())
}
