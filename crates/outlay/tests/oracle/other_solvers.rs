//! The oracle against other solvers: Clarabel (cones) for concave curves, microlp (mixed integers)
//! for step and piecewise linear curves, and a grid for S-shaped ones.

use clarabel::algebra::CscMatrix;
use clarabel::solver::{DefaultSettings, DefaultSolver, IPSolver, SolverStatus, SupportedConeT};
use good_lp::{
    Expression, ProblemVariables, Solution, SolverModel, Variable, constraint, microlp, variable,
};
use outlay::curve::{Family, Shape};
use outlay::{Bounds, Curve, Options, Problem, ProblemSpec, Status, TaskSpec};

use crate::support::*;

// ---- Clarabel ----

/// A cone program `max c'z` subject to `b - A z` in a product of cones, built row by row.
#[derive(Default)]
struct ConeProgram {
    gain: Vec<f64>,
    columns: Vec<Vec<(usize, f64)>>,
    constants: Vec<f64>,
    cones: Vec<SupportedConeT<f64>>,
}

/// `constant + sum of factor * variable`.
type Affine<'a> = (f64, &'a [(usize, f64)]);

impl ConeProgram {
    fn variable(&mut self, gain: f64) -> usize {
        self.gain.push(gain);
        self.columns.push(Vec::new());
        self.gain.len() - 1
    }

    /// Requires that the rows, in this order, lie in the cone.
    fn require(&mut self, cone: SupportedConeT<f64>, rows: &[Affine<'_>]) {
        for (constant, terms) in rows {
            let row = self.constants.len();
            self.constants.push(*constant);
            for &(variable, factor) in *terms {
                self.columns[variable].push((row, -factor));
            }
        }
        self.cones.push(cone);
    }

    fn require_nonnegative(&mut self, row: Affine<'_>) {
        self.require(SupportedConeT::NonnegativeConeT(1), &[row]);
    }

    /// The optimal point, the dual objective, and the relative tolerance of both; `None` if the
    /// solver gives up.
    fn solve(self) -> Option<(Vec<f64>, f64, f64)> {
        let (rows, columns) = (self.constants.len(), self.gain.len());
        let mut starts = vec![0];
        let (mut places, mut factors) = (Vec::new(), Vec::new());
        for column in &self.columns {
            places.extend(column.iter().map(|entry| entry.0));
            factors.extend(column.iter().map(|entry| entry.1));
            starts.push(places.len());
        }
        let matrix = CscMatrix::new(rows, columns, starts, places, factors);
        let cost: Vec<f64> = self.gain.iter().map(|gain| -gain).collect();
        let quadratic = CscMatrix::zeros((columns, columns));
        // Curves that are steep at zero turn a residual of 1e-9 into 1e-5 of value, so the
        // tolerance is smaller if possible.
        let default = DefaultSettings { verbose: false, ..DefaultSettings::default() };
        let tight = DefaultSettings {
            tol_gap_abs: 1e-11,
            tol_gap_rel: 1e-11,
            tol_feas: 1e-11,
            ..default.clone()
        };
        for (settings, tolerance) in [(tight, 1e-8), (default, 1e-3)] {
            let mut solver = DefaultSolver::new(
                &quadratic,
                &cost,
                &matrix,
                &self.constants,
                &self.cones,
                settings,
            )
            .unwrap();
            solver.solve();
            if solver.solution.status == SolverStatus::Solved {
                return Some((solver.solution.x.clone(), -solver.solution.obj_val_dual, tolerance));
            }
        }
        None
    }
}

/// Adds `success <= family(spend)` and returns nothing: the maximum makes it an equality.
fn model_family(program: &mut ConeProgram, curve: &Curve, spend: usize, success: usize) {
    match curve.family() {
        Family::Power(power) => {
            let cone = SupportedConeT::PowerConeT(power.exponent());
            program.require(
                cone,
                &[(0.0, &[(spend, 1.0 / power.scale())]), (1.0, &[]), (0.0, &[(success, 1.0)])],
            );
            program.require_nonnegative((1.0, &[(success, -1.0)]));
        }
        Family::Exponential(exponential) => {
            let exponent = -1.0 / exponential.scale();
            program.require(
                SupportedConeT::ExponentialConeT(),
                &[(0.0, &[(spend, exponent)]), (1.0, &[]), (1.0, &[(success, -1.0)])],
            );
        }
        Family::Saturating(saturating) => {
            program.require_nonnegative((
                0.0,
                &[(spend, 1.0 / saturating.full_at()), (success, -1.0)],
            ));
            program.require_nonnegative((1.0, &[(success, -1.0)]));
        }
        Family::Piecewise(piecewise) => {
            let (at, heights) = (piecewise.spend(), piecewise.heights());
            for (at, heights) in at.windows(2).zip(heights.windows(2)) {
                let slope = (heights[1] - heights[0]) / (at[1] - at[0]);
                program.require_nonnegative((
                    heights[0] - slope * at[0],
                    &[(spend, slope), (success, -1.0)],
                ));
            }
            program.require_nonnegative((heights[heights.len() - 1], &[(success, -1.0)]));
        }
        Family::Hill(hill) => {
            // With odds <= (x/h)^s: success <= odds / (1 + odds), that is (1 - success)(1 + odds)
            // >= 1.
            let odds = program.variable(0.0);
            let cone = SupportedConeT::PowerConeT(hill.steepness());
            program.require(
                cone,
                &[(0.0, &[(spend, 1.0 / hill.half_at())]), (1.0, &[]), (0.0, &[(odds, 1.0)])],
            );
            let (sum, difference) =
                (&[(success, -1.0), (odds, 1.0)][..], &[(success, -1.0), (odds, -1.0)][..]);
            program.require(
                SupportedConeT::SecondOrderConeT(3),
                &[(2.0, sum), (2.0, &[]), (0.0, difference)],
            );
        }
        family => panic!("no cones for {}", family.as_str()),
    }
}

/// Clarabel's split, made feasible, its dual objective, and their tolerance.
fn clarabel(problem: &Problem, values: &[f64], budget: f64) -> Option<(Vec<f64>, f64, f64)> {
    let mut program = ConeProgram::default();
    let mut spends = Vec::new();
    let mut constant = 0.0;
    for (task, &value) in problem.tasks().iter().zip(values) {
        let curve = task.curve();
        let spend = program.variable(0.0);
        let success = program.variable(value * (curve.ceiling() - curve.floor()));
        constant += value * curve.floor();
        model_family(&mut program, curve, spend, success);
        let bounds = task.bounds();
        program.require_nonnegative((-bounds.min, &[(spend, 1.0)]));
        if bounds.max.is_finite() {
            program.require_nonnegative((bounds.max, &[(spend, -1.0)]));
        }
        spends.push(spend);
    }
    let all: Vec<(usize, f64)> = spends.iter().map(|&spend| (spend, -1.0)).collect();
    program.require_nonnegative((budget, &all));
    let (point, dual, tolerance) = program.solve()?;
    // Clamped to the bounds, then scaled towards the lower bounds until it fits the budget.
    let inside = |spend: &usize, bounds: Bounds| point[*spend].clamp(bounds.min, bounds.max);
    let mut split: Vec<f64> = spends
        .iter()
        .zip(problem.tasks())
        .map(|(spend, task)| inside(spend, task.bounds()))
        .collect();
    let least: f64 = problem.tasks().iter().map(|task| task.bounds().min).sum();
    let total: f64 = split.iter().sum();
    if total > budget {
        let keep = (budget - least) / (total - least);
        split.iter_mut().zip(problem.tasks()).for_each(|(spend, task)| {
            *spend = task.bounds().min + keep * (*spend - task.bounds().min)
        });
    }
    Some((split, dual + constant, tolerance))
}

fn concave_curve(random: &mut Random, tasks: usize) -> Curve {
    let share = 1.0 / tasks as f64;
    let curve = match random.below(5) {
        0 => Curve::power(random.between(0.2, 0.9), random.between(0.5, 4.0)),
        1 => Curve::exponential(share * random.between(0.3, 5.0)),
        2 => Curve::saturating(share * random.between(0.3, 5.0)),
        3 => Curve::hill(share * random.between(0.3, 5.0), random.between(0.4, 0.99)),
        _ => {
            let mut slopes: Vec<f64> = (0..2 + random.below(3)).map(|_| random.uniform()).collect();
            slopes.sort_by(|a, b| b.total_cmp(a));
            let (mut spend, mut success) = (vec![0.0], vec![0.0]);
            for slope in &slopes {
                let length = random.between(0.2, 1.0);
                spend.push(spend[spend.len() - 1] + length);
                success.push(success[success.len() - 1] + slope * length);
            }
            let (long, high) = (
                share * random.between(0.5, 4.0) / spend[spend.len() - 1],
                random.uniform() / success[success.len() - 1],
            );
            Curve::piecewise(
                spend.iter().map(|spend| spend * long).collect(),
                success.iter().map(|success| success * high).collect(),
            )
        }
    }
    .unwrap();
    match random.below(6) {
        0 => curve.with_ceiling(random.between(0.3, 1.0)).unwrap(),
        1 => curve.with_floor(random.between(0.0, 0.5)).unwrap(),
        _ => curve,
    }
}

fn value_of(problem: &Problem, values: &[f64], split: &[f64]) -> f64 {
    problem
        .tasks()
        .iter()
        .zip(values)
        .zip(split)
        .map(|((task, value), &spend)| value * task.curve().success(spend))
        .sum()
}

#[test]
fn concave_problems_agree_with_clarabel() {
    let (mut asked, mut solved, mut closely) = (0, 0, 0);
    for (tasks, seeds) in [(5, 300), (50, 60), (300, 12)] {
        for seed in 0..seeds {
            let mut random = Random::new(7000 + seed);
            let (problem, values) =
                bounded_problem(&mut random, tasks, |random| concave_curve(random, tasks), false);
            let budget = [1.0, 1.0, 0.7][seed as usize % 3];
            let (found, _) = solve(&problem, &values, budget);
            let context = format!("K = {tasks} seed {seed}");
            assert!(found.gap() <= 1e-12, "{context}: gap {:e}", found.gap());
            asked += 1;
            let Some((split, dual, tolerance)) = clarabel(&problem, &values, budget) else {
                continue;
            };
            let peer = value_of(&problem, &values, &split);
            // Its split is feasible, so it cannot beat the optimum; and it is nearly optimal, or
            // the two solved different problems.
            assert!(
                found.value >= peer * (1.0 - 1e-11),
                "{context}: {} below Clarabel's {peer}",
                found.value
            );
            assert!(
                peer >= found.value * (1.0 - tolerance),
                "{context}: {} far above Clarabel's {peer}",
                found.value
            );
            assert!(
                (dual - found.upper_bound).abs() <= tolerance * dual,
                "{context}: bound {} against {dual}",
                found.upper_bound
            );
            solved += 1;
            closely += usize::from(tolerance <= 1e-8);
        }
    }
    assert!(
        solved > asked * 9 / 10 && closely > asked / 2,
        "of {asked}, Clarabel solved {solved}, {closely} closely"
    );
}

// ---- microlp ----

/// The items of a step curve: spends with their success, only the cheapest of each success.
fn choices(curve: &Curve, bounds: Bounds, budget: f64) -> Vec<(f64, f64)> {
    let jumps: &[f64] = match curve.family() {
        Family::Steps(steps) => steps.at(),
        Family::Empirical(empirical) => empirical.at(),
        Family::Threshold(threshold) => &[threshold.at()],
        family => panic!("{} is no staircase", family.as_str()),
    };
    let most = bounds.max.min(budget);
    let from = if bounds.min > 0.0 { bounds.min } else { bounds.at_least };
    let mut spends = vec![bounds.min];
    spends.extend(
        std::iter::once(from)
            .chain(jumps.iter().copied().filter(|&jump| jump > from))
            .filter(|&spend| spend <= most),
    );
    spends.dedup();
    spends.into_iter().map(|spend| (spend, curve.success(spend))).collect()
}

/// The optimum of a problem of step curves by a mixed-integer program: one binary variable per
/// item.
fn steps_by_milp(problem: &Problem, values: &[f64], budget: f64) -> f64 {
    let mut variables = ProblemVariables::new();
    let mut rows = Vec::new();
    let (mut objective, mut total) = (Expression::from(0.0), Expression::from(0.0));
    for (task, &value) in problem.tasks().iter().zip(values) {
        let mut row: Vec<(Variable, f64, f64)> = Vec::new();
        for (spend, success) in choices(task.curve(), task.bounds(), budget) {
            let chosen = variables.add(variable().binary());
            objective += value * success * chosen;
            total += spend * chosen;
            row.push((chosen, spend, value * success));
        }
        rows.push(row);
    }
    let mut model = variables.maximise(objective).using(microlp).with(constraint!(total <= budget));
    for row in &rows {
        model =
            model.with(constraint!(row.iter().map(|choice| choice.0).sum::<Expression>() == 1.0));
    }
    let solution = model.solve().unwrap();
    // The value of its choices themselves, so that its tolerances do not matter.
    let chosen = || rows.iter().flatten().filter(|choice| solution.value(choice.0) > 0.5);
    assert_eq!(chosen().count(), rows.len());
    assert!(
        chosen().map(|choice| choice.1).sum::<f64>() <= budget * (1.0 + 1e-12),
        "microlp overspends"
    );
    chosen().map(|choice| choice.2).sum()
}

fn random_staircase(random: &mut Random, tasks: usize) -> Curve {
    let curve = random_curve(random, Mix::Steps, tasks);
    match random.below(5) {
        0 => Curve::threshold(random.between(0.1, 6.0) / tasks as f64).unwrap(),
        1 => curve.with_ceiling(random.between(0.2, 1.0)).unwrap(),
        2 => curve.with_floor(random.between(0.0, 0.5)).unwrap(),
        _ => curve,
    }
}

#[test]
fn steps_agree_with_a_mixed_integer_program() {
    for seed in 0..300 {
        let mut random = Random::new(20_000 + seed);
        let tasks = [5, 8, 12, 18, 25][seed as usize % 5];
        // A third of the problems have few different curves, a third equal values.
        let few: Vec<Curve> = (0..3).map(|_| random_staircase(&mut random, tasks)).collect();
        let equal_curves = seed % 3 == 0;
        let curve = |random: &mut Random| {
            if equal_curves {
                few[random.below(3)].clone()
            } else {
                random_staircase(random, tasks)
            }
        };
        let (problem, mut values) = bounded_problem(&mut random, tasks, curve, true);
        if seed % 3 == 1 {
            values.fill(0.5);
        }
        let (found, _) = solve(&problem, &values, 1.0);
        let truth = steps_by_milp(&problem, &values, 1.0);
        assert!(
            (found.value - truth).abs() <= 1e-9 * truth,
            "seed {seed} K = {tasks}: {} against {truth}\n{found:?}",
            found.value
        );
        assert!(
            found.upper_bound >= truth * (1.0 - 1e-12),
            "seed {seed}: bound {} below {truth}",
            found.upper_bound
        );
        assert!(found.gap() <= 1e-13 && found.status == Status::Optimal, "seed {seed}: {found:?}");
    }
}

/// The optimum of a piecewise linear problem by a mixed-integer program: a binary variable per
/// piece, and the position on it.
fn pieces_by_milp(problem: &Problem, values: &[f64], budget: f64) -> f64 {
    let mut variables = ProblemVariables::new();
    let mut rows = Vec::new();
    let (mut objective, mut total) = (Expression::from(0.0), Expression::from(0.0));
    for (task, &value) in problem.tasks().iter().zip(values) {
        let Family::Piecewise(piecewise) = task.curve().family() else { panic!("pieces only") };
        let mut at = piecewise.spend().to_vec();
        at.push(at[at.len() - 1].max(budget) + 1.0);
        let (mut spend, mut pieces) = (Expression::from(0.0), Expression::from(0.0));
        for at in at.windows(2) {
            let heights =
                [value * task.curve().success(at[0]), value * task.curve().success(at[1])];
            let on = variables.add(variable().binary());
            let along = variables.add(variable().min(0.0));
            rows.push(constraint!(along <= (at[1] - at[0]) * on));
            objective += heights[0] * on + (heights[1] - heights[0]) / (at[1] - at[0]) * along;
            spend += at[0] * on + along;
            pieces += on;
        }
        rows.push(constraint!(pieces == 1.0));
        let bounds = task.bounds();
        let most = bounds.max.min(budget);
        if bounds.at_least > 0.0 {
            let funded = variables.add(variable().binary());
            rows.push(constraint!(spend.clone() >= bounds.at_least * funded));
            rows.push(constraint!(spend.clone() <= most * funded));
        } else {
            rows.push(constraint!(spend.clone() >= bounds.min));
            rows.push(constraint!(spend.clone() <= most));
        }
        total += spend;
    }
    rows.push(constraint!(total <= budget));
    let mut model = variables.maximise(objective.clone()).using(microlp);
    for row in rows {
        model = model.with(row);
    }
    model.solve().unwrap().eval(objective)
}

#[test]
fn linear_pieces_agree_with_a_mixed_integer_program() {
    let mut mixed = 0;
    for seed in 0..150 {
        let mut random = Random::new(30_000 + seed);
        let tasks = [5, 6, 8, 10][seed as usize % 4];
        let shared = random_curve(&mut random, Mix::Piecewise, tasks);
        let curve = |random: &mut Random| {
            let curve = if seed % 3 == 0 && random.below(2) == 0 {
                shared.clone()
            } else {
                random_curve(random, Mix::Piecewise, tasks)
            };
            if random.below(4) == 0 {
                curve.with_ceiling(0.8).unwrap().with_floor(0.1).unwrap()
            } else {
                curve
            }
        };
        let (problem, mut values) = bounded_problem(&mut random, tasks, curve, true);
        mixed += problem
            .tasks()
            .iter()
            .filter(|task| task.curve().shape() == Shape::PiecewiseMixed)
            .count();
        if seed % 3 == 1 {
            values.fill(0.5);
        }
        let (found, _) = solve(&problem, &values, 1.0);
        let truth = pieces_by_milp(&problem, &values, 1.0);
        assert!(
            (found.value - truth).abs() <= 1e-8 * truth,
            "seed {seed} K = {tasks}: {} against {truth}\n{found:?}",
            found.value
        );
        assert!(
            found.upper_bound >= truth * (1.0 - 1e-8),
            "seed {seed}: bound {} below {truth}",
            found.upper_bound
        );
        assert!(found.gap() <= 1e-9, "seed {seed}: {found:?}");
    }
    assert!(mixed > 100, "only {mixed} curves are not concave");
}

// ---- the grid ----

#[test]
fn s_curves_with_bounds_are_never_below_a_grid() {
    for (mix, tolerance) in [(Mix::Hill, 1e-9), (Mix::Logistic, 1e-9), (Mix::Anything, 1e-6)] {
        for seed in 0..150 {
            let mut random = Random::new(40_000 + seed);
            let tasks = 1 + random.below(6);
            let shared = random_curve(&mut random, mix, tasks);
            let equal = seed % 4 == 0;
            let curve = |random: &mut Random| {
                if equal { shared.clone() } else { random_curve(random, mix, tasks) }
            };
            let (problem, mut values) = bounded_problem(&mut random, tasks, curve, true);
            if seed % 8 == 0 {
                values.fill(0.5);
            }
            let budget = random.between(0.8, 2.0);
            let (found, _) = solve(&problem, &values, budget);
            let Some(truth) = Some(grid_optimum(&problem, &values, budget, 240))
                .filter(|truth| truth.is_finite())
            else {
                continue;
            };
            let context = format!("{mix:?} seed {seed} K = {tasks}");
            assert!(
                found.value >= truth * (1.0 - tolerance),
                "{context}: {} below {truth}\n{found:?}",
                found.value
            );
            assert!(
                found.upper_bound >= truth * (1.0 - 1e-13),
                "{context}: bound {} below {truth}",
                found.upper_bound
            );
            assert!(found.gap() <= tolerance, "{context}: gap {:e} {found:?}", found.gap());
        }
    }
}

/// Groups of equal thresholds next to smooth curves: the search over how many of each group are
/// funded.
#[test]
fn groups_of_equal_thresholds_among_smooth_curves() {
    for seed in 0..200 {
        let mut random = Random::new(50_000 + seed);
        let groups = 2 + random.below(2);
        let mut curves = Vec::new();
        for _ in 0..groups {
            let at = random.between(0.05, 0.45);
            for _ in 0..2 + random.below(2) {
                curves.push(Curve::threshold(at).unwrap());
            }
        }
        curves.push(random_curve(&mut random, [Mix::Concave, Mix::Hill][seed as usize % 2], 4));
        // Shuffled: a group's members need not be neighbours.
        for place in (1..curves.len()).rev() {
            curves.swap(place, random.below(place + 1));
        }
        let values: Vec<f64> = curves.iter().map(|_| random.between(0.05, 1.0)).collect();
        let specs = curves
            .into_iter()
            .enumerate()
            .map(|(task, curve)| TaskSpec::new(format!("t{task}"), curve))
            .collect();
        let problem = ProblemSpec { tasks: specs, ..ProblemSpec::default() }.check().unwrap();
        let (found, _) = solve(&problem, &values, 1.0);
        let truth = candidate_optimum(&problem, &values, 1.0, 1).unwrap();
        assert!(
            found.upper_bound >= truth * (1.0 - 1e-13),
            "seed {seed}: bound {} below {truth}\n{found:?}",
            found.upper_bound
        );
        assert!(
            found.value >= truth * (1.0 - 1e-9),
            "seed {seed}: {} below {truth}\n{found:?}",
            found.value
        );
        assert!(found.gap() <= 1e-6, "seed {seed}: {found:?}");
    }
}

// ---- limits ----

/// A search that reaches its limit or stops early returns a feasible split, a valid bound and the
/// right status.
#[test]
fn limits_and_coarse_tolerances_leave_valid_bounds() {
    let mut cut_short = 0;
    for seed in 0..400 {
        let mut random = Random::new(60_000 + seed);
        let tasks = 5 + random.below(30);
        let mix =
            [Mix::Steps, Mix::Steps, Mix::Hill, Mix::Piecewise, Mix::Anything][seed as usize % 5];
        let (problem, values) =
            bounded_problem(&mut random, tasks, |random| random_curve(random, mix, tasks), true);
        let truth = solve(&problem, &values, 1.0).0.value;
        for tolerance in [1e-9, 1e-4, 1e-2, 0.1] {
            for limit in [0, 1, 3, 10, 30, 20_000] {
                let options = Options {
                    tolerance,
                    max_nodes: limit,
                    max_labels: limit,
                    ..Options::default()
                };
                let (found, _) = solve_with(&problem, &values, 1.0, &options);
                let context =
                    format!("{mix:?} seed {seed} K = {tasks} tolerance {tolerance} limit {limit}");
                assert!(
                    found.upper_bound >= truth * (1.0 - 1e-12),
                    "{context}: bound {} below {truth}",
                    found.upper_bound
                );
                // The better split may be found by chance, but not one better than the optimum.
                assert!(
                    found.value <= truth * (1.0 + 1e-9),
                    "{context}: {} above {truth}",
                    found.value
                );
                match found.status {
                    Status::Optimal => assert!(found.gap() <= 1e-12, "{context}: {found:?}"),
                    Status::WithinTolerance => {
                        assert!(found.gap() <= tolerance, "{context}: {found:?}")
                    }
                    Status::Limit => cut_short += 1,
                }
                assert!(limit < 20_000 || found.status != Status::Limit, "{context}: {found:?}");
            }
        }
    }
    assert!(cut_short > 500, "only {cut_short} searches were cut short");
}
