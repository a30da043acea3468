//! Random problems.

use outlay::{Curve, Problem, ProblemSpec, TaskSpec};

use super::Random;

/// Which curves a random problem may have.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Mix {
    Concave,
    Hill,
    Logistic,
    Steps,
    Piecewise,
    Anything,
}

/// A random curve for a problem with `tasks` tasks and budget one.
pub(crate) fn random_curve(random: &mut Random, mix: Mix, tasks: usize) -> Curve {
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

pub(crate) fn random_problem(random: &mut Random, mix: Mix, tasks: usize) -> (Problem, Vec<f64>) {
    let specs = (0..tasks)
        .map(|task| TaskSpec::new(format!("t{task}"), random_curve(random, mix, tasks)))
        .collect();
    let values = (0..tasks).map(|_| random.between(0.05, 1.0)).collect();
    (ProblemSpec { tasks: specs, ..ProblemSpec::default() }.check().unwrap(), values)
}

pub(crate) fn problem_of(curves: Vec<Curve>, budget: f64) -> Problem {
    let tasks = curves
        .into_iter()
        .enumerate()
        .map(|(task, curve)| TaskSpec::new(format!("t{task}"), curve))
        .collect();
    ProblemSpec { budget, tasks, ..ProblemSpec::default() }.check().unwrap()
}

/// A random problem as [`random_problem`] with budget one, where about half the tasks have bounds:
/// `min`, `max`, `fixed`, `exclude` or `at_least`; the lower bounds leave at least half the budget
/// free.
pub(crate) fn bounded_problem(
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
