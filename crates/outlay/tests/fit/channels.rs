//! The plan from a log of daily counts compared with the true optimum.

#[allow(dead_code, reason = "its main function is not called")]
#[path = "../../examples/channel_log.rs"]
mod channel_log;

use outlay::fit::{Choice, CountLog, Options, Rewards, Warning, fit_counts};
use outlay::plan::value_of;
use outlay::problem::NoFiles;
use outlay::{Oracle, Problem, ProblemSpec, TaskSpec};

fn truth() -> Problem {
    Problem::from_toml(include_str!("../../../../examples/channels/truth.toml"), &NoFiles).unwrap()
}

/// The best split of a problem.
fn best_plan(problem: &Problem) -> Vec<f64> {
    let values = problem.values().unwrap();
    let mut oracle = Oracle::new(problem);
    let options = outlay::Options::default();
    oracle.allocate(&values, problem.budget(), &options).unwrap().spend.clone()
}

/// The problem that is fitted to the log of a seed, and whether a fit has a warning besides that
/// of extrapolation.
fn fitted(truth: &Problem, seed: u64) -> (Problem, bool) {
    let rows = channel_log::rows(truth, seed);
    let options = Options { budget: Some(truth.budget()), ..Options::default() };
    let mut has_warning = false;
    let task = |position: usize| {
        let name = truth.tasks()[position].name();
        let own = || rows.iter().filter(|row| row.task == position);
        let log = CountLog::new(own().map(|row| (row.spend, row.count as f64))).unwrap();
        let mut rewards = Rewards::default();
        for row in own().filter(|row| row.count > 0) {
            rewards.add(row.count as f64, row.revenue / row.count as f64);
        }
        let fitted = fit_counts(&log, Choice::Auto, &options).unwrap();
        println!("{seed} {name}: {} {:?}", fitted.kind, fitted.counts);
        let is_warning = |warning: &Warning| !matches!(warning, Warning::Extrapolates { .. });
        has_warning |= fitted.warnings.iter().any(is_warning);
        TaskSpec {
            volume: fitted.counts.map(|counts| counts.volume),
            value: rewards.mean(),
            ..TaskSpec::new(name, fitted.curve)
        }
    };
    let tasks = (0..truth.tasks().len()).map(task).collect();
    let problem = ProblemSpec {
        budget: truth.budget(),
        reward_max: truth.reward_max(),
        tasks,
        ..ProblemSpec::default()
    };
    (problem.check().unwrap(), has_warning)
}

/// The true value of the fitted plan as a share of the true optimum, for each seed.
fn shares(seeds: u64) -> Vec<f64> {
    let truth = truth();
    let values = truth.values().unwrap();
    let optimum = value_of(&truth, &values, &best_plan(&truth));
    let current: Vec<f64> = truth.tasks().iter().map(|task| task.current().unwrap()).collect();
    let today = value_of(&truth, &values, &current) / optimum;
    println!("current plan: {today}");
    let share = |seed: u64| {
        let (problem, has_warning) = fitted(&truth, seed);
        let share = value_of(&truth, &values, &best_plan(&problem)) / optimum;
        assert!(share >= today || has_warning, "seed {seed}: {share} is below today's {today}");
        share
    };
    let mut shares: Vec<f64> = (1..=seeds).map(share).collect();
    shares.sort_by(f64::total_cmp);
    println!("{shares:?}");
    shares
}

#[test]
fn the_log_of_the_example_is_that_of_the_program() {
    let log = include_str!("../../../../examples/channels/log.csv");
    assert!(channel_log::csv(&truth(), 1) == log, "write it again with channel_log");
}

#[test]
fn a_plan_from_a_log_of_counts_is_near_the_true_optimum() {
    let shares = shares(3);
    assert!(shares[1] >= 0.99 && shares[0] >= 0.98, "{shares:?}");
}

#[test]
#[ignore = "takes a minute: 20 logs of 548 days and 8 channels"]
fn plans_from_twenty_logs_are_near_the_true_optimum() {
    let shares = shares(20);
    assert!(f64::midpoint(shares[9], shares[10]) >= 0.99 && shares[0] >= 0.98, "{shares:?}");
}
