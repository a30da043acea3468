//! Similar S-curves, of which the budget funds some: gaps, and a simple heuristic as a lower limit.

use outlay::curve::Family;
use outlay::oracle::prove;
use outlay::problem::NoFiles;
use outlay::{Curve, Problem, ProblemSpec, TaskSpec};

use crate::support::*;

/// A family of curves: Hill or logistic, their steepness or `mid / width`, and the relative spread.
#[derive(Debug, Clone, Copy)]
struct Similar {
    is_hill: bool,
    shape: f64,
    spread: f64,
    /// Tasks differ in the middle of their curve only.
    is_fixed: bool,
}

impl Similar {
    fn all() -> impl Iterator<Item = Self> {
        let shapes = [
            (true, false, [2.0, 4.0, 8.0, 20.0]),
            (true, true, [2.0, 4.0, 8.0, 20.0]),
            (false, false, [3.0, 5.0, 8.0, 20.0]),
        ];
        let spreads = [0.0, 0.01, 0.02, 0.05, 0.2];
        spreads.into_iter().flat_map(move |spread| {
            shapes.into_iter().flat_map(move |(is_hill, is_fixed, shapes)| {
                shapes.map(|shape| Self { is_hill, shape, spread, is_fixed })
            })
        })
    }

    /// A problem whose budget funds about this share of the tasks.
    fn problem(self, tasks: usize, share: f64, seed: u64) -> (Problem, Vec<f64>) {
        let mut random = Random::new(9000 + seed);
        let mut around =
            |middle: f64, spread: f64| middle * random.between(1.0 - spread, 1.0 + spread);
        let (mut specs, mut values) = (Vec::new(), Vec::new());
        for task in 0..tasks {
            let middle = around(200.0, self.spread);
            let shape = around(self.shape, if self.is_fixed { 0.0 } else { 0.1 });
            let curve = if self.is_hill {
                Curve::hill(middle, shape)
            } else {
                Curve::logistic(middle, middle / shape)
            };
            specs.push(TaskSpec::new(format!("t{task}"), curve.unwrap()));
            values.push(around(0.5, if self.is_fixed { 0.0 } else { self.spread }));
        }
        let budget = 260.0 * share * tasks as f64 * around(1.0, 0.1);
        let spec = ProblemSpec { budget, tasks: specs, ..ProblemSpec::default() };
        (spec.check().unwrap(), values)
    }
}

const SHARES: [f64; 5] = [0.1, 0.3, 0.5, 0.7, 0.9];

fn assert_gap(families: impl Iterator<Item = Similar>, tasks: usize, seeds: u64, most: f64) {
    for family in families {
        for seed in 0..seeds {
            let share = SHARES[(seed as usize + family.shape as usize) % SHARES.len()];
            let (problem, values) = family.problem(tasks, share, seed);
            let (found, _) = solve(&problem, &values, problem.budget());
            assert!(
                found.gap() <= most,
                "{family:?}, K = {tasks}, share {share}, seed {seed}: {}",
                brief(&found)
            );
        }
    }
}

#[test]
fn up_to_a_hundred_similar_tasks_have_no_gap() {
    for tasks in [10, 30, 100] {
        assert_gap(Similar::all(), tasks, 5, 1e-9);
    }
}

#[test]
fn up_to_a_thousand_similar_tasks_have_a_gap_of_a_millionth_at_most() {
    assert_gap(Similar::all(), 300, 2, 1e-6);
    assert_gap(Similar::all().step_by(4), 1000, 1, 1e-6);
}

#[test]
fn bounds_of_similar_tasks_are_proved_without_the_search() {
    for family in Similar::all() {
        let (problem, values) = family.problem(7, 0.5, 1);
        let (found, _) = solve(&problem, &values, problem.budget());
        let proof = prove(&problem, &values, &found, 100_000);
        assert!(proof.is_complete, "{family:?}: {proof:?} for {}", brief(&found));
    }
}

/// The spend beyond the inflection where the slope is `slope`, by bisection.
fn on_concave_part(curve: &Curve, slope: f64) -> f64 {
    let (inflection, middle) = match curve.family() {
        Family::Hill(hill) => {
            let s = hill.steepness();
            (hill.half_at() * ((s - 1.0) / (s + 1.0)).powf(1.0 / s), hill.half_at())
        }
        Family::Logistic(logistic) => (logistic.mid(), logistic.mid()),
        _ => panic!("not an S-curve"),
    };
    let (mut low, mut high) = (inflection, 50.0 * middle);
    for _ in 0..45 {
        let spend = 0.5 * (low + high);
        if curve.slope(spend) > slope { low = spend } else { high = spend }
    }
    low
}

/// Funds the `count` tasks with the steepest tangents and equalises their marginal returns. The
/// value of the best split found that way for any count near the budget's.
fn fund_steepest(problem: &Problem, values: &[f64]) -> f64 {
    let budget = problem.budget();
    // The tangent from zero touches where the slope equals success per spend.
    let tangent = |curve: &Curve| {
        let mut slope = 0.0;
        for _ in 0..30 {
            let spend = on_concave_part(curve, slope);
            slope = curve.success(spend) / spend;
        }
        slope
    };
    let mut ranked: Vec<(f64, usize)> = problem
        .tasks()
        .iter()
        .zip(values)
        .enumerate()
        .map(|(task, (spec, value))| (value * tangent(spec.curve()), task))
        .collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
    let spend_at = |task: usize, price: f64| {
        on_concave_part(problem.tasks()[task].curve(), price / values[task])
    };
    let mut total = 0.0;
    let fits = |&&(tie, task): &&(f64, usize)| {
        total += spend_at(task, tie);
        total <= budget
    };
    let near = ranked.iter().take_while(fits).count();
    let mut best = 0.0f64;
    for count in near.saturating_sub(3).max(1)..=(near + 3).min(ranked.len()) {
        let funded = &ranked[..count];
        let (mut low, mut high) = (0.0, 2.0 * ranked[0].0);
        for _ in 0..45 {
            let price = 0.5 * (low + high);
            let spent: f64 = funded.iter().map(|&(_, task)| spend_at(task, price)).sum();
            if spent > budget { low = price } else { high = price }
        }
        let spends: Vec<f64> = funded.iter().map(|&(_, task)| spend_at(task, high)).collect();
        if spends.iter().sum::<f64>() <= budget {
            let worth = |(&(_, task), &spend): (&(f64, usize), &f64)| {
                values[task] * problem.tasks()[task].curve().success(spend)
            };
            best = best.max(funded.iter().zip(&spends).map(worth).sum());
        }
    }
    best
}

#[test]
fn no_split_is_below_the_steepest_tasks_at_equal_marginals() {
    for (position, family) in Similar::all().enumerate() {
        for tasks in [12, 50] {
            let share = SHARES[position % SHARES.len()];
            let (problem, values) = family.problem(tasks, share, 3);
            let (found, _) = solve(&problem, &values, problem.budget());
            let simple = fund_steepest(&problem, &values);
            // Where the budget funds one task and a half, the heuristic leaves the half out.
            let least = if tasks == 50 { 0.9 } else { 0.5 };
            assert!(simple > least * found.value, "{family:?}: the heuristic finds only {simple}");
            assert!(
                found.value >= simple * (1.0 - 1e-12) && found.upper_bound >= simple,
                "{family:?}, K = {tasks}, share {share}: {simple} is better than {}",
                brief(&found)
            );
        }
    }
}

#[test]
fn plans_of_an_outside_audit_beat_neither_value_nor_bound() {
    for (problem, plan, gap) in [
        (
            include_str!("../data/similar_curves/equal-value-hills-steep8-k100.json"),
            include_str!("../data/similar_curves/equal-value-hills-steep8-k100-plan.csv"),
            1e-9,
        ),
        (
            include_str!("../data/similar_curves/similar-hills-steep8-k100.json"),
            include_str!("../data/similar_curves/similar-hills-steep8-k100-plan.csv"),
            1e-9,
        ),
        (
            include_str!("../data/similar_curves/similar-hills-steep4-k300.json"),
            include_str!("../data/similar_curves/similar-hills-steep4-k300-plan.csv"),
            1e-6,
        ),
    ] {
        let problem = Problem::from_json(problem, &NoFiles).unwrap();
        let values: Vec<f64> = problem.tasks().iter().map(|task| task.value().unwrap()).collect();
        let spends: Vec<f64> = plan
            .lines()
            .skip(1)
            .map(|line| line.split_once(',').unwrap().1.trim().parse().unwrap())
            .collect();
        assert_eq!(spends.len(), values.len());
        assert!(spends.iter().sum::<f64>() <= problem.budget() * (1.0 + 1e-12));
        let planned: f64 = (problem.tasks().iter().zip(&values).zip(&spends))
            .map(|((task, value), &spend)| value * task.curve().success(spend))
            .sum();
        let (found, _) = solve(&problem, &values, problem.budget());
        assert!(found.value >= planned * (1.0 - 1e-12), "{planned}: {}", brief(&found));
        assert!(found.upper_bound >= planned, "{planned}: {}", brief(&found));
        assert!(found.gap() <= gap, "{}", brief(&found));
    }
}
