//! The returns of larger changes, against all changes on a fine grid.

use outlay::plan::{BindingBound, outcomes};
use outlay::{Bounds, Options, Oracle, Problem, ProblemSpec, Task, TaskSpec};

use crate::support::{Mix, Random, random_curve};

fn random_problem(random: &mut Random, mix: Mix) -> (Problem, Vec<f64>) {
    let count = 1 + random.below(6);
    let task = |position: usize, random: &mut Random| {
        let curve = random_curve(random, mix, count);
        let mut task = TaskSpec::new(format!("task {position}"), curve);
        match random.below(5) {
            0 => task.min = Some(0.5 / count as f64),
            1 => task.max = Some(random.between(0.3, 1.0)),
            2 => task.at_least = Some(random.between(0.05, 0.5)),
            _ => {}
        }
        task
    };
    let tasks = (0..count).map(|position| task(position, random)).collect();
    let problem = ProblemSpec { tasks, ..ProblemSpec::default() }.check().unwrap();
    let values = (0..count).map(|_| random.between(0.2, 2.0)).collect();
    (problem, values)
}

/// The same problem with every spend at most 0.4, which is less than the lower bounds leave.
fn capped(problem: &Problem) -> Problem {
    let task = |task: &Task| {
        let Bounds { min, max, at_least } = task.bounds();
        TaskSpec {
            min: Some(min.min(0.4)),
            max: Some(max.min(0.4)),
            at_least: Some(at_least.min(0.4)),
            ..TaskSpec::new(task.name(), task.curve().clone())
        }
    };
    let tasks = problem.tasks().iter().map(task).collect();
    ProblemSpec { tasks, ..ProblemSpec::default() }.check().unwrap()
}

/// Spends that the bounds allow: a grid, the jumps and kinks, and the bounds.
fn allowed(task: &Task) -> Vec<f64> {
    let Bounds { min, max, at_least } = task.bounds();
    let grid = (0..2000).map(|place| 8.0 * f64::from(place) / 2000.0);
    let json = serde_json::to_value(task.curve()).unwrap();
    let corners = ["at", "spend", "samples", "full_at", "scale"].map(|key| json[key].clone());
    let corners = corners.into_iter().flat_map(|corner| match corner {
        serde_json::Value::Array(list) => {
            list.iter().filter_map(serde_json::Value::as_f64).collect()
        }
        number => number.as_f64().into_iter().collect::<Vec<f64>>(),
    });
    let all = grid.chain(corners).chain([min, max, at_least]);
    all.filter(|&spend| spend.is_finite() && task.bounds().allows(spend)).collect()
}

#[test]
fn no_change_returns_more_and_none_loses_less() {
    let mut random = Random::new(1);
    let mixes = [Mix::Concave, Mix::Hill, Mix::Logistic, Mix::Steps, Mix::Piecewise, Mix::Anything];
    let mut compared = 0;
    for case in 0..300 {
        let (problem, values) = random_problem(&mut random, mixes[case % mixes.len()]);
        let tasks = problem.tasks();
        let plan: Vec<f64> = tasks
            .iter()
            .map(|task| {
                let spends = allowed(task);
                spends[random.below(spends.len())]
            })
            .collect();
        let found = outcomes(&problem, &values, 1.0, &plan, 0.0);
        for ((task, outcome), &value) in tasks.iter().zip(&found).zip(&values) {
            let worth = |spend: f64| value * task.curve().success(spend);
            for other in allowed(task) {
                let distance = other - outcome.spend;
                if distance.abs() < 1e-6 {
                    continue;
                }
                let rate = (worth(other) - worth(outcome.spend)) / distance;
                compared += 1;
                // An error of the values of 1e-15 is one of 1e-9 in the rate.
                if distance > 0.0 {
                    let up = outcome.return_up.expect("a larger spend is allowed");
                    assert!(
                        rate <= up * (1.0 + 1e-9) + 1e-8,
                        "{task:?} {outcome:?} {other} {rate}"
                    );
                } else {
                    let down = outcome.return_down.expect("a smaller spend is allowed");
                    assert!(
                        rate >= down * (1.0 - 1e-9) - 1e-8,
                        "{task:?} {outcome:?} {other} {rate}"
                    );
                }
            }
        }
    }
    assert!(compared > 1_000_000, "{compared}");
}

#[test]
fn the_price_of_an_exact_optimum_lies_between_the_returns() {
    let mut random = Random::new(2);
    let mut inside = 0;
    for case in 0..300 {
        let mix = [Mix::Concave, Mix::Piecewise, Mix::Steps, Mix::Hill][case % 4];
        let (problem, values) = random_problem(&mut random, mix);
        // No task could take all of the budget: spends beyond it do not count for the price.
        let problem = capped(&problem);
        let mut oracle = Oracle::new(&problem);
        let best = oracle.allocate(&values, 1.0, &Options::default()).unwrap();
        // Otherwise the price is that of a bound that the search lowered.
        if outlay::oracle::dual_bound(&problem, &values, 1.0, best.price)
            > best.value * (1.0 + 1e-12)
        {
            continue;
        }
        for outcome in outcomes(&problem, &values, 1.0, &best.spend, 0.0) {
            let held = matches!(outcome.bound, Some(BindingBound::Min | BindingBound::AtLeast));
            if let Some(up) = outcome.return_up.filter(|_| !held) {
                assert!(up <= best.price * (1.0 + 1e-6) + 1e-9, "{outcome:?} {}", best.price);
            }
            if let Some(down) = outcome.return_down {
                assert!(down >= best.price * (1.0 - 1e-6) - 1e-9, "{outcome:?} {}", best.price);
                inside += 1;
            }
        }
    }
    assert!(inside > 200, "{inside}");
}

#[test]
fn ratios_have_a_meaning_or_are_none() {
    let volume = Some(10.0);
    let job = outlay::Curve::threshold(4.0).unwrap();
    let tasks = vec![
        TaskSpec { volume, ..TaskSpec::new("done", job.clone()) },
        TaskSpec { volume, ..TaskSpec::new("short", job.clone()) },
        TaskSpec::new("nothing", job),
    ];
    let problem = ProblemSpec { budget: 10.0, tasks, ..ProblemSpec::default() }.check().unwrap();
    let found = outcomes(&problem, &[2.0, 2.0, 1.0], 10.0, &[5.0, 2.0, 0.0], 0.0);
    let ratios = |place: usize| (found[place].return_on_spend, found[place].cost_per_completion);
    assert_eq!(ratios(0), (Some(4.0), Some(0.5)));
    assert_eq!(ratios(1), (Some(0.0), None));
    assert_eq!(ratios(2), (None, None));
    assert_eq!((found[1].return_up, found[1].return_down), (Some(10.0), Some(0.0)));
}
