//! The bound and the solutions of this search alone, against branch and bound and against a grid.

use super::FundedCount;
use crate::curve::Curve;
use crate::oracle::Oracle;
use crate::oracle::branch_and_bound::{Stop, TreeResult};
use crate::oracle::numbers_for_tests::Random;
use crate::problem::{Problem, ProblemSpec, TaskSpec};

/// A problem of a few S-curves, in every third case beside concave tasks and steps, with bounds.
fn problem(random: &mut Random, seed: u64) -> (Problem, Vec<f64>) {
    let tasks = 3 + (4.0 * random.uniform()) as usize;
    let spread = [0.02, 0.2, 0.6][(seed % 3) as usize];
    let mut near = |middle: f64| middle * (1.0 + spread * (2.0 * random.uniform() - 1.0));
    let mut specs: Vec<TaskSpec> = (0..tasks)
        .map(|task| {
            let (middle, shape) = (near(1.0), near(if seed.is_multiple_of(2) { 4.0 } else { 9.0 }));
            let curve = if task.is_multiple_of(2) {
                Curve::hill(middle, shape).unwrap()
            } else {
                Curve::logistic(middle, middle / shape).unwrap()
            };
            TaskSpec::new(format!("s{task}"), curve)
        })
        .collect();
    let values: Vec<f64> = (0..tasks + 2).map(|_| near(0.5)).collect();
    for spec in &mut specs {
        match (12.0 * random.uniform()) as usize {
            0 => spec.min = Some(random.between(0.0, 0.4)),
            1 => spec.max = Some(random.between(0.5, 1.6)),
            2 => spec.at_least = Some(random.between(0.2, 1.6)),
            3 => {
                let floor = random.between(0.0, 0.3);
                let curve = spec.curve.clone().with_ceiling(random.between(0.5, 1.0)).unwrap();
                spec.curve = curve.with_floor(floor).unwrap();
            }
            // Capped tasks leave budget to a partly funded one, however small its spend.
            _ if seed % 4 == 3 => spec.max = Some(random.between(1.0, 1.2)),
            _ => {}
        }
    }
    if seed % 3 == 1 {
        let curve = Curve::exponential(random.between(0.3, 3.0)).unwrap();
        specs.push(TaskSpec::new("concave", curve));
    }
    if seed % 3 == 2 {
        let at = vec![random.between(0.2, 0.8), random.between(0.9, 1.8)];
        specs.push(TaskSpec::new("steps", Curve::steps(at, vec![0.4, 1.0]).unwrap()));
    }
    let values = values[..specs.len()].to_vec();
    let lowest: f64 = specs.iter().filter_map(|spec| spec.min).sum();
    let budget = lowest + random.between(0.4, 1.4 * tasks as f64);
    (ProblemSpec { budget, tasks: specs, ..ProblemSpec::default() }.check().unwrap(), values)
}

/// The results of both searches, in the units of the values and without floors. None if the first
/// relaxation has no gap.
fn both(
    problem: &Problem,
    values: &[f64],
    max_nodes: u64,
) -> Option<(TreeResult, TreeResult, f64)> {
    let mut oracle = Oracle::new(problem);
    oracle.prepared.load(values, problem.budget(), true);
    let Oracle { prepared, relaxation, tree, best, trial, .. } = &mut oracle;
    let root = relaxation.solve(prepared.view(), None, f64::NEG_INFINITY, best);
    root.fractional?;
    prepared.rank_classes();
    let first = TreeResult {
        value: root.value,
        bound: root.bound,
        node_multiplier: root.multiplier,
        nodes: 1,
    };
    let stop = Stop { abs_gap: 1e-10 * root.value, max_nodes, cancel: None };
    let at_root = best.clone();
    let counted =
        FundedCount::default().run(prepared, relaxation, root, first, stop, (best, trial));
    let worth: f64 = (best.iter().zip(problem.tasks()).zip(&prepared.values))
        .map(|((&spend, task), value)| value * (task.curve().success(spend) - task.curve().floor()))
        .sum();
    assert!((worth - counted.value).abs() <= 1e-11 * worth, "{worth} for {counted:?}");
    best.copy_from_slice(&at_root);
    let branched = tree.run(prepared, relaxation, root, stop, best, trial);
    Some((counted, branched, prepared.value_scale))
}

/// The best value on a grid of spends above the lower bounds, floors not counted.
fn grid_optimum(problem: &Problem, values: &[f64], cells: usize) -> f64 {
    let lowest: f64 = problem.tasks().iter().map(|task| task.bounds().min).sum();
    let step = (problem.budget() - lowest) / cells as f64;
    let mut best = vec![0.0; cells + 1];
    for (task, value) in problem.tasks().iter().zip(values) {
        let (bounds, curve) = (task.bounds(), task.curve());
        let worth = |cell: usize| {
            let spend = bounds.min + step * cell as f64;
            let is_allowed = spend <= bounds.max && (spend == 0.0 || spend >= bounds.at_least);
            if is_allowed { value * (curve.success(spend) - curve.floor()) } else { f64::MIN }
        };
        let worth: Vec<f64> = (0..=cells).map(worth).collect();
        for total in (0..=cells).rev() {
            best[total] =
                (0..=total).map(|mine| best[total - mine] + worth[mine]).fold(f64::MIN, f64::max);
        }
    }
    best[cells]
}

#[test]
fn bounds_are_never_below_branch_and_bound_or_a_grid() {
    let (mut with_gap, mut closed) = (0, 0);
    for seed in 0..600 {
        let mut random = Random(seed);
        let (problem, values) = problem(&mut random, seed);
        let Some((counted, branched, scale)) = both(&problem, &values, 20_000) else { continue };
        with_gap += 1;
        let context = || format!("seed {seed}: {counted:?} and {branched:?}");
        assert!(counted.bound >= branched.value * (1.0 - 1e-12), "{}", context());
        assert!(counted.value <= branched.bound * (1.0 + 1e-12), "{}", context());
        if seed.is_multiple_of(3) {
            closed += u32::from(counted.bound - counted.value <= 1e-9 * counted.value);
        }
        if seed.is_multiple_of(5) {
            let grid = grid_optimum(&problem, &values, 200) / scale;
            assert!(counted.bound >= grid * (1.0 - 1e-12), "{}: grid {grid}", context());
        }
    }
    assert!(with_gap > 400 && closed > 50, "{with_gap} with a gap, {closed} closed");
}

#[test]
fn a_bound_that_is_cut_short_by_the_limit_still_holds() {
    for seed in 0..200 {
        let (problem, values) = problem(&mut Random(1000 + seed), seed);
        for max_nodes in [1, 2, 3, 5, 10] {
            let Some((counted, ..)) = both(&problem, &values, max_nodes) else { continue };
            let Some((_, branched, _)) = both(&problem, &values, 20_000) else { continue };
            assert!(counted.bound >= branched.value * (1.0 - 1e-12), "seed {seed}: {counted:?}");
        }
    }
}
