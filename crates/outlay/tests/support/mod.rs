//! What several test files share: random instances, brute force, and the checks every allocation
//! must pass.
#![allow(dead_code, unreachable_pub, reason = "each test file uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use outlay::oracle::{Recheck, recheck};
use outlay::{Allocation, Curve, Options, Oracle, Problem, ProblemSpec, TaskSpec};

/// A small deterministic generator (splitmix64): tests must not depend on a crate's stream.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678_9abc_def0)
    }

    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.uniform()
    }

    pub fn below(&mut self, count: usize) -> usize {
        (self.bits() % count as u64) as usize
    }
}

/// Which curves a random problem may have.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Mix {
    Concave,
    Hill,
    Logistic,
    Steps,
    Piecewise,
    Anything,
}

/// A random curve for a problem with `tasks` tasks and budget one.
pub fn random_curve(random: &mut Random, mix: Mix, tasks: usize) -> Curve {
    let share = 1.0 / tasks as f64;
    let kind = match mix {
        Mix::Concave => random.below(3),
        Mix::Hill => 3,
        Mix::Logistic => 4,
        Mix::Steps => 5,
        Mix::Piecewise => 6,
        Mix::Anything => random.below(8),
    };
    match kind {
        0 => Curve::power(random.between(0.2, 0.9), random.between(0.5, 4.0)),
        1 => Curve::exponential(share * random.between(0.3, 5.0)),
        2 => Curve::saturating(share * random.between(0.3, 5.0)),
        3 => Curve::hill(share * random.between(0.5, 8.0), random.between(1.5, 5.0)),
        4 => {
            let width = share * random.between(0.1, 1.0);
            Curve::logistic(width * random.between(1.0, 8.0), width)
        }
        5 => {
            let (at, success) = random_steps(random, share);
            Curve::steps(at, success)
        }
        6 => {
            let (mut spend, mut success) = random_steps(random, share);
            spend.insert(0, 0.0);
            success.insert(0, 0.0);
            Curve::piecewise(spend, success)
        }
        _ => Curve::empirical(
            (0..5 + random.below(20)).map(|_| share * random.between(0.1, 6.0)).collect(),
        ),
    }
    .unwrap()
}

fn random_steps(random: &mut Random, share: f64) -> (Vec<f64>, Vec<f64>) {
    let jumps = 1 + random.below(4);
    let mut at: Vec<f64> = (0..jumps).map(|_| share * random.between(0.1, 8.0)).collect();
    let mut success: Vec<f64> = (0..jumps).map(|_| random.uniform()).collect();
    at.sort_by(f64::total_cmp);
    success.sort_by(f64::total_cmp);
    (at, success)
}

pub fn random_problem(random: &mut Random, mix: Mix, tasks: usize) -> (Problem, Vec<f64>) {
    let specs = (0..tasks)
        .map(|task| TaskSpec::new(format!("t{task}"), random_curve(random, mix, tasks)))
        .collect();
    let values = (0..tasks).map(|_| random.between(0.05, 1.0)).collect();
    (ProblemSpec { tasks: specs, ..ProblemSpec::default() }.check().unwrap(), values)
}

pub fn problem_of(curves: Vec<Curve>, budget: f64) -> Problem {
    let tasks = curves
        .into_iter()
        .enumerate()
        .map(|(task, curve)| TaskSpec::new(format!("t{task}"), curve))
        .collect();
    ProblemSpec { budget, tasks, ..ProblemSpec::default() }.check().unwrap()
}

/// Solves cold and checks the certificate.
pub fn solve(problem: &Problem, values: &[f64], budget: f64) -> (Allocation, Recheck) {
    solve_with(problem, values, budget, &Options::default())
}

pub fn solve_with(
    problem: &Problem,
    values: &[f64],
    budget: f64,
    options: &Options,
) -> (Allocation, Recheck) {
    let mut oracle = Oracle::new(problem);
    let allocation = oracle.allocate(values, budget, options).unwrap().clone();
    let checked = certified(problem, values, &allocation);
    (allocation, checked)
}

/// An allocation without its spends if they are many.
pub fn brief(allocation: &Allocation) -> String {
    let mut brief = allocation.clone();
    brief.spend.truncate(10);
    brief.success.truncate(10);
    format!("{brief:?}")
}

/// Every allocation must pass this.
pub fn certified(problem: &Problem, values: &[f64], allocation: &Allocation) -> Recheck {
    let checked = recheck(problem, values, allocation)
        .unwrap_or_else(|error| panic!("{error}\n{}", brief(allocation)));
    assert_eq!(allocation.success.len(), allocation.spend.len());
    for ((task, &spend), &success) in
        problem.tasks().iter().zip(&allocation.spend).zip(&allocation.success)
    {
        let truth = task.curve().success(spend);
        assert!(
            (success - truth).abs() <= 4e-14 * truth,
            "{}: success {success}, not {truth}\n{}",
            task.name(),
            brief(allocation)
        );
    }
    assert!(
        checked.dual_bound >= allocation.value * (1.0 - 1e-13),
        "{checked:?} {}",
        brief(allocation)
    );
    let custom = problem.tasks().iter().any(|task| task.curve().family().name() == "custom");
    assert!(
        custom || checked.dual_bound >= allocation.upper_bound * (1.0 - 1e-11),
        "a search bound above the price's own: {checked:?} {}",
        brief(allocation)
    );
    checked
}

/// The best value on a grid of the budget, by the (max,+) product over tasks: a lower bound on the
/// optimum.
pub fn grid_optimum(problem: &Problem, values: &[f64], budget: f64, cells: usize) -> f64 {
    let mut best = vec![0.0f64; cells + 1];
    for (position, (task, value)) in problem.tasks().iter().zip(values).enumerate() {
        let bounds = task.bounds();
        let worth: Vec<f64> = (0..=cells)
            .map(|cell| {
                let spend = budget * cell as f64 / cells as f64;
                let allowed = spend >= bounds.min
                    && spend <= bounds.max
                    && (spend == 0.0 || spend >= bounds.at_least);
                if allowed { value * task.curve().success(spend) } else { f64::NEG_INFINITY }
            })
            .collect();
        let mut next = vec![f64::NEG_INFINITY; cells + 1];
        for (total, slot) in next.iter_mut().enumerate() {
            for mine in 0..=total {
                let rest = if position == 0 {
                    if total == mine { 0.0 } else { f64::NEG_INFINITY }
                } else {
                    best[total - mine]
                };
                *slot = slot.max(worth[mine] + rest);
            }
        }
        best = next;
    }
    best.into_iter().fold(f64::NEG_INFINITY, f64::max)
}

/// The exact optimum of a problem of steps, by trying every combination of jumps.
pub fn steps_optimum(curves: &[Curve], values: &[f64], budget: f64) -> f64 {
    fn go(curves: &[Curve], values: &[f64], left: f64, slack: f64) -> f64 {
        let Some((curve, rest)) = curves.split_first() else { return 0.0 };
        let jumps: Vec<f64> = match curve.family() {
            outlay::curve::Family::Steps(steps) => steps.at().to_vec(),
            outlay::curve::Family::Empirical(empirical) => empirical.at().to_vec(),
            outlay::curve::Family::Threshold(threshold) => vec![threshold.at()],
            _ => panic!("steps only"),
        };
        let spends = std::iter::once(0.0).chain(jumps).filter(|&spend| spend <= left + slack);
        spends
            .map(|spend| {
                values[0] * curve.success(spend) + go(rest, &values[1..], left - spend, slack)
            })
            .fold(f64::NEG_INFINITY, f64::max)
    }
    go(curves, values, budget, 1e-13 * budget)
}

/// The spends of a curve that an optimum is likely to use: its jumps, corners and steepest point.
fn telling_spends(curve: &Curve) -> Vec<f64> {
    use outlay::curve::{Family, Shape};
    match curve.family() {
        Family::Threshold(threshold) => vec![threshold.at()],
        Family::Steps(steps) => steps.at().to_vec(),
        Family::Empirical(empirical) => empirical.at().to_vec(),
        Family::Piecewise(piecewise) => piecewise.spend().to_vec(),
        _ => match curve.shape() {
            Shape::SShaped { inflection } => {
                vec![inflection, 1.5 * inflection, 2.0 * inflection, curve.saturates_at()]
            }
            _ => vec![curve.saturates_at()],
        },
    }
}

/// The best value over all combinations of telling spends (jumps, corners, bounds, `cells` equal
/// parts of the budget) where one task takes whatever the others leave, or nothing if no
/// combination is feasible. A lower bound on the optimum, and the optimum itself where curves are
/// staircases or linear pieces: a vertex has at most one task away from its corners.
pub fn telling_optimum(
    problem: &Problem,
    values: &[f64],
    budget: f64,
    cells: usize,
) -> Option<f64> {
    let slack = 2.0 * f64::EPSILON * budget;
    let allowed = |task: usize, spend: f64| {
        let bounds = problem.tasks()[task].bounds();
        spend >= bounds.min && spend <= bounds.max && (spend == 0.0 || spend >= bounds.at_least)
    };
    let worth =
        |task: usize, spend: f64| values[task] * problem.tasks()[task].curve().success(spend);
    let options: Vec<Vec<(f64, f64)>> = (0..problem.tasks().len())
        .map(|task| {
            let bounds = problem.tasks()[task].bounds();
            let mut spends = telling_spends(problem.tasks()[task].curve());
            spends.extend([0.0, bounds.min, bounds.max, bounds.at_least]);
            spends.extend(
                (1..=cells).map(|cell| (budget * (cell as f64 / cells as f64)).min(budget)),
            );
            spends.retain(|&spend| spend <= budget + slack && allowed(task, spend));
            spends.sort_by(f64::total_cmp);
            spends.dedup();
            spends.into_iter().map(|spend| (spend, worth(task, spend))).collect()
        })
        .collect();
    let filled = |filler: Option<usize>, left: f64| match filler {
        None => 0.0,
        Some(task) => {
            let bounds = problem.tasks()[task].bounds();
            // What rounding may have left over is nobody's: some curves rise without limit at zero.
            let spend = if left > 4.0 * slack { (left - slack).min(bounds.max) } else { 0.0 };
            let spend =
                if spend < bounds.min && spend >= bounds.min - slack { bounds.min } else { spend };
            let spend = if spend < bounds.at_least && bounds.min == 0.0 { 0.0 } else { spend };
            if allowed(task, spend) { worth(task, spend) } else { f64::NEG_INFINITY }
        }
    };
    fn go(
        options: &[Vec<(f64, f64)>],
        task: usize,
        filler: Option<usize>,
        left: f64,
        slack: f64,
        filled: &dyn Fn(f64) -> f64,
    ) -> f64 {
        if task == options.len() {
            return filled(left);
        }
        if filler == Some(task) {
            return go(options, task + 1, filler, left, slack, filled);
        }
        options[task]
            .iter()
            .take_while(|option| option.0 <= left + slack)
            .map(|option| option.1 + go(options, task + 1, filler, left - option.0, slack, filled))
            .fold(f64::NEG_INFINITY, f64::max)
    }
    let fillers = std::iter::once(None).chain((0..options.len()).map(Some));
    let best = fillers
        .map(|filler| go(&options, 0, filler, budget, slack, &|left| filled(filler, left)))
        .fold(f64::NEG_INFINITY, f64::max);
    (best > f64::NEG_INFINITY).then_some(best)
}

/// A random problem as [`random_problem`] with budget one, where about half the tasks have bounds:
/// `min`, `max`, `fixed`, `exclude` or `at_least`; the lower bounds leave at least half the budget
/// free.
pub fn bounded_problem(
    random: &mut Random,
    tasks: usize,
    mut curve: impl FnMut(&mut Random) -> Curve,
    at_least: bool,
) -> (Problem, Vec<f64>) {
    let share = 1.0 / tasks as f64;
    let specs = (0..tasks)
        .map(|task| {
            let mut spec = TaskSpec::new(format!("t{task}"), curve(random));
            match random.below(if at_least { 12 } else { 9 }) {
                0 => spec.min = Some(0.5 * share * random.uniform()),
                1 => spec.max = Some(share * random.between(0.2, 3.0)),
                2 => {
                    spec.min = Some(0.5 * share * random.uniform());
                    spec.max = Some(share * random.between(0.5, 3.0));
                }
                3 if random.below(2) == 0 => spec.fixed = Some(0.5 * share * random.uniform()),
                3 => spec.exclude = true,
                4..=8 => {}
                9 => {
                    spec.at_least = Some(share * random.between(0.2, 2.0));
                    spec.max = Some(share * random.between(2.0, 4.0));
                }
                _ => spec.at_least = Some(share * random.between(0.2, 3.0)),
            }
            spec
        })
        .collect();
    let values = (0..tasks).map(|_| random.between(0.05, 1.0)).collect();
    (ProblemSpec { tasks: specs, ..ProblemSpec::default() }.check().unwrap(), values)
}
