//! Mixtures of steps, tiers and concave curves, against enumeration, proofs and known splits.

use outlay::curve::Family;
use outlay::oracle::prove;
use outlay::problem::{Document, NoFiles};
use outlay::{Curve, Options, Oracle, Problem, ProblemSpec, Status, TaskSpec};

use crate::support::*;

/// Piecewise linear with flat stretches.
fn tiers(random: &mut Random, tiers: usize) -> Curve {
    let (mut spend, mut success) = (vec![0.0], vec![0.0]);
    let (mut at, mut height) = (0.0, 0.0);
    for _ in 0..tiers {
        at += random.between(0.05, 0.15);
        spend.push(at);
        success.push(height);
        at += random.between(0.005, 0.05);
        height += random.between(0.1, 0.9) / tiers as f64;
        spend.push(at);
        success.push(height);
    }
    Curve::piecewise(spend, success).unwrap()
}

fn problem(curves: &[Curve]) -> Problem {
    let tasks = curves.iter().enumerate();
    let tasks = tasks.map(|(task, curve)| TaskSpec::new(format!("t{task}"), curve.clone()));
    ProblemSpec { tasks: tasks.collect(), ..ProblemSpec::default() }.check().unwrap()
}

/// The best value of tasks at some of their points, with `rest` for the budget that they leave.
fn enumerate(
    tasks: &[(Vec<f64>, &Curve)],
    values: &[f64],
    left: f64,
    rest: &mut dyn FnMut(f64) -> f64,
) -> f64 {
    let Some(((points, curve), others)) = tasks.split_first() else { return rest(left) };
    let mut best = f64::NEG_INFINITY;
    for &point in points.iter().filter(|point| **point <= left + 1e-12) {
        let there = enumerate(others, &values[1..], left - point, rest);
        best = best.max(values[0] * curve.success(point) + there);
    }
    best
}

/// The points at which a task is unless it takes the rest.
fn points(curve: &Curve) -> Vec<f64> {
    match curve.family() {
        Family::Piecewise(piecewise) => piecewise.spend().to_vec(),
        Family::Threshold(threshold) => vec![0.0, threshold.at()],
        family => panic!("{family:?} has no points"),
    }
}

/// Tiers alone: the task that takes the rest is solved by its curve.
fn best_of_tiers(curves: &[Curve], values: &[f64], budget: f64) -> f64 {
    (0..curves.len())
        .map(|open| {
            let others = curves.iter().enumerate().filter(|(task, _)| *task != open);
            let (tasks, worths): (Vec<_>, Vec<f64>) =
                others.map(|(task, curve)| ((points(curve), curve), values[task])).unzip();
            enumerate(&tasks, &worths, budget, &mut |left| {
                values[open] * curves[open].success(left)
            })
        })
        .fold(f64::NEG_INFINITY, f64::max)
}

#[test]
fn tiers_and_steps_equal_enumeration() {
    let mut random = Random::new(81);
    let mut labels = 0;
    for round in 0..300 {
        let count = 2 + random.below(4);
        let curves: Vec<Curve> = (0..count)
            .map(|_| match random.below(4) {
                0 => Curve::threshold(random.between(0.05, 0.4)).unwrap(),
                _ => {
                    let number = 1 + random.below(3);
                    tiers(&mut random, number)
                }
            })
            .collect();
        let values: Vec<f64> = (0..count).map(|_| random.between(0.2, 1.0)).collect();
        let budget = random.between(0.1, 0.9);
        let best = best_of_tiers(&curves, &values, budget);
        let problem = problem(&curves);
        // Few nodes, so that the label search has work to do.
        let options = Options { max_nodes: 1, ..Options::default() };
        for options in [Options::default(), options] {
            let (found, _) = solve_with(&problem, &values, budget, &options);
            labels += found.labels;
            assert!(
                (found.value - best).abs() <= 1e-11 * best,
                "round {round}: {} {best}",
                found.value
            );
            assert!(found.upper_bound >= best * (1.0 - 1e-13), "round {round}");
            assert_eq!(found.status, Status::Optimal, "round {round}: {}", brief(&found));
        }
    }
    assert!(labels > 500, "{labels}");
}

#[test]
fn steps_with_a_concave_remainder_equal_enumeration() {
    let mut random = Random::new(82);
    let mut labels = 0;
    for round in 0..150 {
        let (steps, smooth) = (2 + random.below(4), 1 + random.below(3));
        let mut curves: Vec<Curve> =
            (0..steps).map(|_| Curve::threshold(random.between(0.05, 0.5)).unwrap()).collect();
        for _ in 0..smooth {
            let scale = random.between(0.05, 0.5);
            curves.push(match random.below(3) {
                0 => Curve::power(random.between(0.2, 0.9), 1.0).unwrap(),
                1 => Curve::saturating(scale).unwrap(),
                _ => Curve::exponential(scale).unwrap(),
            });
        }
        let values: Vec<f64> = curves.iter().map(|_| random.between(0.2, 1.0)).collect();
        let budget = random.between(0.2, 1.2);
        let concave = problem(&curves[steps..]);
        let mut oracle = Oracle::new(&concave);
        let tasks: Vec<_> = curves[..steps].iter().map(|curve| (points(curve), curve)).collect();
        let best = enumerate(&tasks, &values, budget, &mut |left| {
            let left = left.max(0.0);
            oracle.allocate(&values[steps..], left, &Options::default()).unwrap().value
        });
        let problem = problem(&curves);
        let options = Options { max_nodes: 1, ..Options::default() };
        for options in [Options::default(), options] {
            let (found, _) = solve_with(&problem, &values, budget, &options);
            labels += found.labels;
            assert!(
                (found.value - best).abs() <= 1e-10 * best,
                "round {round}: {} {best}",
                found.value
            );
            assert!(found.upper_bound >= best * (1.0 - 1e-12), "round {round}");
            assert_eq!(found.status, Status::Optimal, "round {round}: {}", brief(&found));
        }
    }
    assert!(labels > 100, "{labels}");
}

/// Everything that the label search handles at once; the bound is proved independently.
#[test]
fn mixtures_are_proved_from_the_curves_alone() {
    let mut random = Random::new(83);
    for round in 0..40 {
        let mut tasks = Vec::new();
        for task in 0..6 {
            let spec = match task % 4 {
                0 => TaskSpec::new(format!("t{task}"), tiers(&mut random, 2)),
                1 => TaskSpec::new(
                    format!("t{task}"),
                    Curve::threshold(random.between(0.05, 0.4)).unwrap(),
                ),
                2 => TaskSpec::new(
                    format!("t{task}"),
                    Curve::exponential(random.between(0.05, 0.5)).unwrap(),
                ),
                _ => {
                    let lot = Some(random.between(0.1, 0.3));
                    let curve = Curve::exponential(random.between(0.05, 0.5)).unwrap();
                    TaskSpec { at_least: lot, max: lot, ..TaskSpec::new(format!("t{task}"), curve) }
                }
            };
            tasks.push(spec);
        }
        let problem = ProblemSpec { tasks, ..ProblemSpec::default() }.check().unwrap();
        let values: Vec<f64> = (0..6).map(|_| random.between(0.2, 1.0)).collect();
        let options = Options { max_nodes: 1, ..Options::default() };
        let (found, _) = solve_with(&problem, &values, 0.6, &options);
        assert_eq!(found.status, Status::Optimal, "round {round}: {}", brief(&found));
        let loosened =
            outlay::Allocation { upper_bound: found.upper_bound * (1.0 + 1e-6), ..found };
        let proof = prove(&problem, &values, &loosened, 200_000);
        assert!(proof.is_complete, "round {round}: {proof:?}");
    }
}

/// Limits count work, and the bound holds at every limit.
#[test]
fn a_limit_leaves_a_valid_bound() {
    let mut random = Random::new(84);
    for _ in 0..20 {
        let curves: Vec<Curve> = (0..30).map(|_| tiers(&mut random, 3)).collect();
        let values: Vec<f64> = (0..30).map(|_| random.between(0.2, 1.0)).collect();
        let problem = problem(&curves);
        let (best, _) = solve(&problem, &values, 2.0);
        assert_eq!(best.status, Status::Optimal, "{}", brief(&best));
        for max_labels in [0, 10, 100] {
            let options = Options { max_nodes: 1, max_labels, ..Options::default() };
            let (found, _) = solve_with(&problem, &values, 2.0, &options);
            assert!(found.labels <= max_labels, "{} of {max_labels}", found.labels);
            assert!(found.upper_bound >= best.value * (1.0 - 1e-13), "{}", brief(&found));
            assert!(found.value <= best.upper_bound, "{}", brief(&found));
        }
    }
}

/// With even costs no split spends the last unit of an odd budget.
#[test]
fn even_costs_and_an_odd_budget_are_solved_exactly() {
    let mut random = Random::new(85);
    for _ in 0..5 {
        let costs: Vec<f64> = (0..100).map(|_| 2.0 * (1 + random.below(500)) as f64).collect();
        let curves: Vec<Curve> =
            costs.iter().map(|&cost| Curve::threshold(cost).unwrap()).collect();
        let values: Vec<f64> = costs.iter().map(|cost| cost / 1000.0).collect();
        let (found, _) = solve(&problem(&curves), &values, 20_001.0);
        assert!((found.value - 20.0).abs() <= 1e-12, "{}", brief(&found));
        assert_eq!(found.status, Status::Optimal, "{}", brief(&found));
    }
}

/// From an outside audit, with splits that other solvers found.
#[test]
fn problems_of_an_audit_are_solved_exactly() {
    for (name, text, plan) in [
        (
            "h1",
            include_str!("../data/h1_thresholds_plus_one_smooth.json"),
            include_str!("../data/h1_plan.csv"),
        ),
        (
            "h2",
            include_str!("../data/h2_piecewise_tiers.json"),
            include_str!("../data/h2_plan.csv"),
        ),
    ] {
        let problem = Document::from_json(text).unwrap().problem(&NoFiles).unwrap();
        let values = problem.values().unwrap();
        let rows = plan.lines().skip(1).map(|row| row.rsplit(',').next().unwrap());
        let spends: Vec<f64> = rows.map(|spend| spend.parse().unwrap()).collect();
        let planned: f64 = problem
            .tasks()
            .iter()
            .zip(&spends)
            .zip(&values)
            .map(|((task, &spend), value)| value * task.curve().success(spend))
            .sum();
        let (found, _) = solve(&problem, &values, problem.budget());
        assert!(found.value >= planned * (1.0 - 1e-12), "{name}: {} < {planned}", found.value);
        assert!(found.gap() <= 1e-12, "{name}: {}", brief(&found));
    }
}

/// Thresholds with whole costs, each worth its cost and a fixed amount.
fn correlated_costs(random: &mut Random, count: usize) -> Vec<usize> {
    (0..count).map(|_| 1 + random.below(1000)).collect()
}

fn worth(cost: usize) -> f64 {
    (cost as f64 + 100.0) / 1200.0
}

/// The best value of thresholds for every whole budget.
fn best_by_budget(costs: &[usize], budget: usize) -> Vec<f64> {
    let mut best = vec![0.0f64; budget + 1];
    for &cost in costs {
        for left in (cost..=budget).rev() {
            best[left] = best[left].max(best[left - cost] + worth(cost));
        }
    }
    best
}

/// Costs and values are so correlated that only the number of funded tasks distinguishes splits.
/// Many tasks are alike, and the budget often ends within the last task that the relaxation funds.
#[test]
fn correlated_thresholds_are_solved_exactly() {
    let mut random = Random::new(86);
    for (count, rounds) in [(100, 20), (300, 12), (1000, 6)] {
        for round in 0..rounds {
            let costs = correlated_costs(&mut random, count);
            let total: usize = costs.iter().sum();
            let budget = total * (1 + round % 3) / 4;
            let curves: Vec<Curve> =
                costs.iter().map(|&cost| Curve::threshold(cost as f64).unwrap()).collect();
            let values: Vec<f64> = costs.iter().map(|&cost| worth(cost)).collect();
            let (found, _) = solve(&problem(&curves), &values, budget as f64);
            assert!(found.gap() <= 1e-12, "{count}, round {round}: {}", brief(&found));
            if count < 1000 {
                let best = best_by_budget(&costs, budget)[budget];
                assert!((found.value - best).abs() <= 1e-12 * best, "{count}, round {round}");
            }
        }
    }
}

/// The same with one exponential task that gets only what is left, or is funded in part.
#[test]
fn correlated_thresholds_and_an_exponential_task_are_solved_exactly() {
    let mut random = Random::new(87);
    for (count, rounds) in [(100, 12), (300, 12), (1000, 6)] {
        for round in 0..rounds {
            let costs = correlated_costs(&mut random, count);
            let total: usize = costs.iter().sum();
            let budget = total * (1 + round % 3) / 4;
            let mut curves: Vec<Curve> =
                costs.iter().map(|&cost| Curve::threshold(cost as f64).unwrap()).collect();
            let mut values: Vec<f64> = costs.iter().map(|&cost| worth(cost)).collect();
            let (scale, value) = [(100.0, 0.05), (500.0, 1.0)][round / 3 % 2];
            let smooth = Curve::exponential(scale).unwrap();
            curves.push(smooth.clone());
            values.push(value);
            let (found, _) = solve(&problem(&curves), &values, budget as f64);
            assert!(found.gap() <= 1e-12, "{count}, round {round}: {}", brief(&found));
            if count < 1000 {
                let best = best_by_budget(&costs, budget)
                    .iter()
                    .enumerate()
                    .map(|(spent, steps)| steps + value * smooth.success((budget - spent) as f64))
                    .fold(0.0, f64::max);
                assert!((found.value - best).abs() <= 1e-12 * best, "{count}, round {round}");
            }
        }
    }
}

/// One to five jumps, each worth its cost and a fixed amount per funded task, beside an exponential
/// task that gets only what is left.
#[test]
fn correlated_staircases_and_an_exponential_task_are_solved_exactly() {
    let mut random = Random::new(88);
    for (count, rounds) in [(100, 8), (300, 8), (1000, 3)] {
        for round in 0..rounds {
            let mut total = 0;
            let (mut curves, mut values) = (Vec::new(), Vec::new());
            for _ in 0..count {
                let mut at = correlated_costs(&mut random, 1 + round % 5);
                at.sort_unstable();
                at.dedup();
                let most = at[at.len() - 1];
                let success = at.iter().map(|&cost| worth(cost) / worth(most)).collect();
                curves
                    .push(Curve::steps(at.iter().map(|&at| at as f64).collect(), success).unwrap());
                values.push(worth(most));
                total += most;
            }
            curves.push(Curve::exponential(100.0).unwrap());
            values.push(0.05);
            let budget = total * (2 + round % 3) / 10;
            let (found, _) = solve(&problem(&curves), &values, budget as f64);
            assert!(found.gap() <= 1e-12, "{count}, round {round}: {}", brief(&found));
        }
    }
}

/// Thresholds at any costs, each worth its cost: the best split spends the budget nearly exactly.
#[test]
fn thresholds_worth_their_cost_spend_the_budget() {
    let mut random = Random::new(89);
    for count in [60, 100, 300, 1000] {
        let costs: Vec<f64> = (0..count).map(|_| random.between(0.1, 8.0)).collect();
        let curves: Vec<Curve> =
            costs.iter().map(|&cost| Curve::threshold(cost).unwrap()).collect();
        let (found, _) = solve(&problem(&curves), &costs, count as f64);
        assert!(found.gap() <= 1e-12, "{count}: {}", brief(&found));
        assert!(found.value >= count as f64 * (1.0 - 1e-12), "{count}: {}", brief(&found));
    }
}
