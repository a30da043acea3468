//! Plans against the oracle, on random problems of mixed families and bounds.

use std::ops::ControlFlow;

use outlay::curve::Shape;
use outlay::plan::{evaluate, evenly_spaced, frontier, round, value_of, violations};
use outlay::{Curve, Options, Oracle, Problem, ProblemSpec, TaskSpec};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// A problem with its values, and a plan of shares whose sum is at most one.
#[derive(Debug, Clone)]
struct Case {
    problem: Problem,
    values: Vec<f64>,
    plan: Vec<f64>,
}

fn any_case() -> impl Strategy<Value = Case> {
    let task = (0..5_usize, 0.05..0.9_f64, 1.2..4.0_f64, 0.1..1.0_f64, 0..4_usize, 0.0..1.0_f64);
    (proptest::collection::vec(task, 1..7), 0.1..1e4_f64).prop_map(|(tasks, budget)| {
        let count = tasks.len() as f64;
        let spec = |(position, &(family, at, steepness, _, bound, _)): (
            usize,
            &(usize, f64, f64, f64, usize, f64),
        )| {
            let scale = budget * at;
            let curve = match family {
                0 => Curve::threshold(scale),
                1 => Curve::hill(scale, steepness),
                2 => Curve::exponential(scale),
                3 => Curve::logistic(scale, scale / 5.0),
                _ => Curve::steps(vec![scale / 2.0, scale], vec![0.3, 1.0]),
            };
            let mut task = TaskSpec::new(format!("task {position}"), curve.unwrap());
            match bound {
                1 => task.min = Some(budget * at / count / 2.0),
                2 => task.max = Some(budget * at),
                3 => task.at_least = Some(budget * at / 2.0),
                _ => {}
            }
            task
        };
        let specs = tasks.iter().enumerate().map(spec).collect();
        let problem =
            ProblemSpec { budget, tasks: specs, ..ProblemSpec::default() }.check().unwrap();
        let total: f64 = tasks.iter().map(|task| task.5).sum::<f64>().max(1.0);
        Case {
            problem,
            values: tasks.iter().map(|task| task.3).collect(),
            plan: tasks.iter().map(|task| budget * task.5 / total).collect(),
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn no_feasible_plan_beats_the_best(case in any_case()) {
        let Case { problem, values, plan } = case;
        let evaluation = evaluate(&problem, &values, problem.budget(), &plan, &Options::default()).unwrap();
        prop_assert_eq!(evaluation.value, value_of(&problem, &values, &plan));
        if evaluation.violations.is_empty() {
            prop_assert!(evaluation.best.lift >= 0.0);
            prop_assert!(evaluation.value <= evaluation.best.allocation.upper_bound * (1.0 + 1e-12));
        }
        let best = &evaluation.best.allocation;
        prop_assert!(best.value <= best.upper_bound);
        prop_assert_eq!(violations(&problem, problem.budget(), &best.spend), vec![]);
    }

    #[test]
    fn the_frontier_rises(case in any_case()) {
        let Case { problem, values, .. } = case;
        let budgets = evenly_spaced(problem.budget(), 3.0 * problem.budget(), 8);
        let points = frontier(&problem, &values, &budgets, &Options::default(), |_| ControlFlow::Continue(())).unwrap();
        for pair in points.windows(2) {
            prop_assert!(pair[0].value <= pair[1].value);
        }
        for point in &points {
            prop_assert!(point.value <= point.upper_bound);
            prop_assert_eq!(violations(&problem, point.budget, &point.spend), vec![]);
        }
    }

    #[test]
    fn fine_units_cost_little_and_never_gain(case in any_case()) {
        let Case { problem, values, .. } = case;
        let best = Oracle::new(&problem).allocate(&values, problem.budget(), &Options::default()).unwrap().clone();
        let Ok(rounded) = round(&problem, &values, &best, problem.budget() / 1e5) else { return Ok(()) };
        prop_assert!(rounded.value <= best.upper_bound * (1.0 + 1e-12));
        prop_assert_eq!(violations(&problem, problem.budget(), &rounded.spend), vec![]);
        let has_steps = problem.tasks().iter().any(|task| matches!(task.curve().shape(), Shape::Steps { .. }));
        if !has_steps {
            // Rounding a task down takes less than a unit from it, and rounding the others' bounds
            // up less than one for each.
            let missing = (problem.tasks().len() + 1) as f64 * problem.budget() / 1e5;
            let tasks = problem.tasks().iter().zip(&values).zip(&best.spend);
            let cost = tasks.map(|((task, value), spend)| value * (task.curve().success(*spend) - task.curve().success(spend - missing)));
            let most: f64 = cost.sum();
            prop_assert!(rounded.loss() <= most + 1e-12 * best.value, "{} of {}", rounded.loss(), best.value);
        }
    }
}
