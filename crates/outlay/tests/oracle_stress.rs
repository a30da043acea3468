//! Thousands of small problems with odd parameters: no panic, true certificates, honest statuses, nothing better in sight.

mod support;

use outlay::oracle::recheck;
use outlay::{Allocation, AllocationError, Curve, Leftover, Options, Oracle, Problem, ProblemSpec, Status, TaskSpec, UnspentReason};
use support::*;

/// Log-uniform between powers of ten.
fn magnitude(random: &mut Random, low: f64, high: f64) -> f64 {
    10f64.powf(random.between(low, high))
}

/// One of a few round numbers of budget shares, or any number around a share: round ones add up to the budget exactly.
fn odd_spend(random: &mut Random, share: f64) -> f64 {
    match random.below(6) {
        0 => share,
        1 => 0.5 * share,
        2 => 2.0 * share,
        3 => share * magnitude(random, -3.0, 3.0),
        _ => share * random.between(0.05, 3.0),
    }
}

fn odd_points(random: &mut Random, share: f64) -> (Vec<f64>, Vec<f64>) {
    let mut at: Vec<f64> = (0..1 + random.below(4)).map(|_| odd_spend(random, share)).collect();
    at.sort_by(f64::total_cmp);
    at.dedup();
    // Flat stretches, zero heights and full success are all allowed.
    let mut success: Vec<f64> = at.iter().map(|_| [0.0, 1.0, 0.5, random.uniform()][random.below(4)]).collect();
    success.sort_by(f64::total_cmp);
    (at, success)
}

fn odd_curve(random: &mut Random, share: f64) -> Curve {
    let curve = match random.below(9) {
        0 => Curve::power([1.0, 0.5, 0.05, 0.99, random.between(0.1, 1.0)][random.below(5)], odd_spend(random, share) * 3.0),
        1 => Curve::exponential(odd_spend(random, share)),
        2 => Curve::saturating(odd_spend(random, share)),
        3 => Curve::hill(odd_spend(random, share), magnitude(random, -1.0, 1.7)),
        4 => {
            let mid = if random.below(4) == 0 { 0.0 } else { odd_spend(random, share) };
            Curve::logistic(mid, share * magnitude(random, -2.0, 1.0))
        }
        5 => Curve::threshold(if random.below(10) == 0 { 0.0 } else { odd_spend(random, share) }),
        6 => {
            let (at, success) = odd_points(random, share);
            Curve::steps(at, success)
        }
        7 => {
            let (mut spend, mut success) = odd_points(random, share);
            spend.insert(0, 0.0);
            success.insert(0, if random.below(4) == 0 { success[0] } else { 0.0 });
            Curve::piecewise(spend, success)
        }
        _ => Curve::empirical((0..1 + random.below(6)).map(|_| odd_spend(random, share)).collect()),
    }
    .unwrap();
    match random.below(5) {
        0 => curve.with_ceiling(random.between(0.01, 1.0)).unwrap(),
        1 => curve.with_floor(random.uniform()).unwrap(),
        2 => curve.with_ceiling(0.7).unwrap().with_floor([0.0, 0.3, 0.7][random.below(3)]).unwrap(),
        _ => curve,
    }
}

fn odd_bounds(random: &mut Random, task: &mut TaskSpec, share: f64) {
    match random.below(12) {
        0 => task.min = Some(0.5 * share),
        1 => task.max = Some(odd_spend(random, share)),
        2 => task.fixed = Some([0.0, share, share * random.uniform()][random.below(3)]),
        3 => task.exclude = true,
        4 => task.at_least = Some(odd_spend(random, share)),
        5 => {
            let at_least = odd_spend(random, share);
            task.at_least = Some(at_least);
            task.max = Some(at_least * [1.0, random.between(1.0, 3.0)][random.below(2)]);
        }
        6 => {
            let min = share * random.uniform();
            task.min = Some(min);
            task.max = Some(min * [1.0, 1.0 + 1e-15, random.between(1.0, 3.0)][random.below(3)]);
        }
        _ => {}
    }
}

/// A problem of a few tasks whose spends are around `unit`, with values around `worth`.
fn odd_problem(random: &mut Random, tasks: usize, steps_only: bool) -> (ProblemSpec, Vec<f64>) {
    let unit = [1.0, magnitude(random, -9.0, 9.0)][random.below(2)];
    let worth = [1.0, magnitude(random, -9.0, 9.0)][random.below(2)];
    let share = unit / tasks as f64;
    let mut specs: Vec<TaskSpec> = Vec::new();
    let mut values: Vec<f64> = Vec::new();
    for task in 0..tasks {
        if task > 0 && random.below(3) == 0 {
            let twin = random.below(task);
            specs.push(TaskSpec { name: format!("t{task}"), ..specs[twin].clone() });
            values.push([values[twin], worth * random.uniform()][random.below(2)]);
            continue;
        }
        let mut curve = odd_curve(random, share);
        while steps_only && !matches!(curve.shape(), outlay::curve::Shape::Steps { .. }) {
            curve = odd_curve(random, share);
        }
        let mut spec = TaskSpec::new(format!("t{task}"), curve);
        odd_bounds(random, &mut spec, share);
        specs.push(spec);
        values.push(match random.below(8) {
            0 => 0.0,
            1 => worth,
            2 => worth * magnitude(random, -9.0, 0.0),
            _ => worth * random.uniform(),
        });
    }
    let spec = ProblemSpec { budget: unit, tasks: specs, ..ProblemSpec::default() };
    (spec, values)
}

fn odd_budget(random: &mut Random, unit: f64) -> f64 {
    match random.below(8) {
        0 => 0.0,
        1 => unit * 1e-12,
        2 => unit * magnitude(random, -3.0, 0.0),
        3 => unit * magnitude(random, 0.0, 3.0),
        _ => unit,
    }
}

/// What must hold of every answer whatever the problem.
fn honest(problem: &Problem, values: &[f64], answer: &Allocation, options: &Options, context: &str) {
    if let Err(error) = recheck(problem, values, answer) {
        panic!("RECHECK {error}: {context}");
    }
    certified(problem, values, answer);
    let gap = answer.gap();
    match answer.status {
        Status::Optimal => assert!(gap <= 1e-12, "STATUS {context}: optimal with gap {gap:e}"),
        Status::WithinTolerance => assert!(gap <= options.tolerance, "{context}: gap {gap:e} above the tolerance"),
        Status::Limit => assert!(gap > options.tolerance, "{context}: a limit with gap {gap:e}"),
    }
    assert_eq!(answer.unspent > 0.0, answer.unspent_reason.is_some(), "{context}: {answer:?}");
    assert!(answer.price >= 0.0 && answer.price.is_finite(), "{context}: {answer:?}");
    if answer.unspent_reason == Some(UnspentReason::AtMax) {
        let full = problem.tasks().iter().zip(&answer.spend).any(|(task, &spend)| spend >= task.bounds().max);
        assert!(full, "{context}: nobody is at the maximum: {answer:?}");
    }
    if options.leftover == Leftover::Spend && answer.unspent > 0.0 {
        for (task, &spend) in problem.tasks().iter().zip(&answer.spend) {
            let bounds = task.bounds();
            let waits = spend == 0.0 && bounds.at_least > 0.0;
            assert!(spend >= bounds.max * (1.0 - f64::EPSILON) || waits, "{context}: {} has room: {answer:?}", task.name());
        }
    }
}

/// Solves the problem of a seed and checks the answer. Whether it was feasible; nothing if the problem itself is refused.
fn stress(seed: u64, steps_only: bool) -> Option<bool> {
    let mut random = Random::new(seed);
    let tasks = 1 + random.below(4);
    let (spec, values) = odd_problem(&mut random, tasks, steps_only);
    let unit = spec.budget;
    let asked = odd_budget(&mut random, unit);
    let problem = spec.check().ok()?;
    let options = Options { leftover: [Leftover::Keep, Leftover::Spend][random.below(2)], ..Options::default() };
    let context = format!("seed {seed}, budget {asked}, values {values:?}, {:?}", problem.tasks());
    let mut oracle = Oracle::new(&problem);
    // A first call with other values and budget: the second one starts warm.
    if random.below(2) == 0 {
        let other: Vec<f64> = values.iter().map(|value| value * random.uniform()).collect();
        let first = oracle.allocate(&other, unit, &options).unwrap().clone();
        honest(&problem, &other, &first, &options, &format!("first call, {context}\n{first:?}"));
    }
    let needed: f64 = problem.tasks().iter().map(|task| task.bounds().min).sum();
    let answer = match oracle.allocate(&values, asked, &options) {
        Ok(answer) => answer.clone(),
        Err(error) => {
            assert!(matches!(error, AllocationError::Infeasible { .. }) && needed > asked, "{context}: {error}");
            return Some(false);
        }
    };
    let context = format!("{context}\n{answer:?}");
    honest(&problem, &values, &answer, &options, &context);
    let cells = if steps_only { 1 } else { [40, 40, 16, 8][tasks - 1] };
    let truth = telling_optimum(&problem, &values, asked, cells).expect("feasible");
    let tolerance = if steps_only { 1e-13 } else { 2e-9 };
    assert!(answer.upper_bound >= truth * (1.0 - 1e-13), "BOUND {} below {truth}: {context}", answer.upper_bound);
    assert!(answer.value >= truth * (1.0 - tolerance), "VALUE {} below {truth}: {context}", answer.value);
    if steps_only {
        assert!(answer.value <= truth * (1.0 + 1e-13), "{} above {truth}: {context}", answer.value);
        assert!(answer.gap() <= 1e-13, "GAP {:e}: {context}", answer.gap());
    }
    assert_ne!(answer.status, Status::Limit, "LIMIT gap {:e}: {context}", answer.gap());
    Some(true)
}

/// Runs many seeds; every failure counts, the first is shown.
fn run(seeds: std::ops::Range<u64>, steps_only: bool) {
    let (mut solved, mut infeasible, mut failures) = (0, 0, Vec::new());
    for seed in seeds {
        match std::panic::catch_unwind(|| stress(seed, steps_only)) {
            Ok(None) => {}
            Ok(Some(true)) => solved += 1,
            Ok(Some(false)) => infeasible += 1,
            Err(_) => failures.push(seed),
        }
    }
    assert!(failures.is_empty(), "{} seeds fail: {:?}", failures.len(), &failures[..failures.len().min(20)]);
    assert!(solved > 2000 && infeasible > 50, "{solved} solved, {infeasible} infeasible");
}

#[test]
fn odd_mixed_problems() {
    run(0..3000, false);
}

#[test]
fn odd_steps_are_exact() {
    run(10_000..13_000, true);
}

#[test]
#[ignore = "minutes; for hunting"]
fn many_odd_problems() {
    run(100_000..300_000, false);
    run(300_000..500_000, true);
}
