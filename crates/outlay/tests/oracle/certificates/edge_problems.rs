//! Random problems of the kinds that break certificates: jumps a few units in the last place around
//! bounds and budgets, infinite slopes next to jumps, near-vertical ramps, forced spends, and scales
//! up to 10^12 apart.

use outlay::curve::Family;
use outlay::problem::Bounds;
use outlay::{Curve, Problem, ProblemSpec, TaskSpec};

use crate::support::Random;

/// A problem and its values; none if its bounds contradict each other.
pub(super) fn edge_problem(random: &mut Random) -> Option<(Problem, Vec<f64>)> {
    let tasks = 1 + random.below(4);
    let budget = match random.below(4) {
        0 => 1.0,
        1 => [0.3, 0.7, 100.0, 1000.0, 725.0095959561004][random.below(5)],
        2 => random.between(0.5, 1.0),
        _ => 10f64.powf(random.between(-12.0, 12.0)),
    };
    let is_steps = random.below(4) == 0;
    let mut specs: Vec<TaskSpec> = Vec::new();
    let mut values = Vec::new();
    for task in 0..tasks {
        let at = amount(random, budget);
        let curve = if is_steps { step_curve(random, at) } else { curve(random, at, budget) };
        let curve = match random.below(8) {
            0 => curve.with_ceiling(random.between(0.1, 1.0)).unwrap(),
            1 => curve.with_floor(random.between(0.0, 0.3)).unwrap(),
            _ => curve,
        };
        let mut spec = TaskSpec::new(format!("t{task}"), curve);
        bound(random, &mut spec, at, budget, tasks);
        if task > 0 && random.below(4) == 0 {
            spec = TaskSpec { name: spec.name, ..specs[random.below(task)].clone() };
        }
        specs.push(spec);
        values.push(match random.below(6) {
            0 => 1.0,
            1 => 10f64.powf(random.between(-12.0, 0.0)),
            2 => 0.0,
            _ => random.uniform(),
        });
    }
    let spec = ProblemSpec { budget, tasks: specs, ..ProblemSpec::default() };
    spec.check().ok().map(|problem| (problem, values))
}

/// The problem with amounts in another unit of money; no digit changes if it is a power of two.
pub(super) fn in_unit(problem: &Problem, unit: f64) -> Problem {
    let tasks = problem.tasks().iter().map(|task| {
        let Bounds { min, max, at_least, .. } = task.bounds();
        TaskSpec {
            min: Some(min * unit).filter(|&min| min > 0.0),
            max: Some(max * unit).filter(|max| max.is_finite()),
            at_least: Some(at_least * unit).filter(|&at_least| at_least > 0.0),
            ..TaskSpec::new(task.name(), curve_in_unit(task.curve(), unit))
        }
    });
    let (budget, tasks) = (problem.budget() * unit, tasks.collect());
    ProblemSpec { budget, tasks, ..ProblemSpec::default() }.check().unwrap()
}

fn curve_in_unit(curve: &Curve, unit: f64) -> Curve {
    let scaled = |amounts: &[f64]| amounts.iter().map(|amount| amount * unit).collect();
    let family = match curve.family() {
        Family::Power(family) => Curve::power(family.exponent(), family.scale() * unit),
        Family::Saturating(family) => Curve::saturating(family.full_at() * unit),
        Family::Exponential(family) => Curve::exponential(family.scale() * unit),
        Family::Hill(family) => Curve::hill(family.half_at() * unit, family.steepness()),
        Family::Logistic(family) => Curve::logistic(family.mid() * unit, family.width() * unit),
        Family::Threshold(family) => Curve::threshold(family.at() * unit),
        Family::Steps(family) => Curve::steps(scaled(family.at()), family.heights().to_vec()),
        Family::Empirical(family) => Curve::steps(scaled(family.at()), family.heights().to_vec()),
        Family::Piecewise(family) => {
            Curve::piecewise(scaled(family.spend()), family.heights().to_vec())
        }
        other => panic!("{other} curves have no unit here"),
    };
    let (floor, ceiling) = (curve.floor(), curve.ceiling());
    family.unwrap().with_ceiling(ceiling).unwrap().with_floor(floor).unwrap()
}

/// A simple share of the budget, up to a few units in the last place.
fn amount(random: &mut Random, budget: f64) -> f64 {
    let share = match random.below(6) {
        0 => 1.0,
        1 => 1.0 / (2 + random.below(6)) as f64,
        2 => (1 + random.below(9)) as f64 / 10.0,
        3 => random.uniform().max(1e-6),
        4 => 10f64.powf(random.between(-13.0, 0.0)),
        _ => 1.0 - 1.0 / (2 + random.below(6)) as f64,
    };
    nudged(random, budget * share)
}

/// The number moved by up to ten units in the last place.
pub(super) fn nudged(random: &mut Random, number: f64) -> f64 {
    let mut nudged = number;
    if random.below(2) == 0 {
        let is_up = random.below(2) == 0;
        for _ in 0..random.below(11) {
            nudged = if is_up { nudged.next_up() } else { nudged.next_down() };
        }
    }
    nudged
}

fn step_curve(random: &mut Random, at: f64) -> Curve {
    match random.below(3) {
        0 => Curve::threshold(at).unwrap(),
        1 => {
            let second = nudged(random, at * 1.5).max(at.next_up());
            Curve::steps(vec![at, second], vec![random.uniform(), 1.0]).unwrap()
        }
        _ => {
            let samples = (0..1 + random.below(4)).map(|_| nudged(random, at)).collect();
            Curve::empirical(samples).unwrap()
        }
    }
}

fn curve(random: &mut Random, at: f64, budget: f64) -> Curve {
    let wide = budget * 10f64.powf(random.between(-12.0, 12.0));
    let scale = [at, budget, wide][random.below(3)];
    match random.below(11) {
        0..2 => step_curve(random, at),
        2 => Curve::power(random.between(0.05, 1.0), scale).unwrap(),
        3 => Curve::exponential(scale).unwrap(),
        4 => Curve::saturating(scale).unwrap(),
        5 => {
            // A ramp as narrow as one unit in the last place.
            let width = 10f64.powf(random.between(-16.0, -1.0));
            let end = (at * (1.0 + width)).max(at.next_up());
            Curve::piecewise(vec![0.0, at, end], vec![0.0, 0.2 * random.uniform(), 1.0]).unwrap()
        }
        6 => {
            let end = (at * random.between(1.0, 3.0)).max(at.next_up());
            let after = end * 2.0;
            let (low, high) = (random.uniform() * 0.5, random.between(0.5, 1.0));
            Curve::piecewise(vec![0.0, at, end, after], vec![0.0, low, high, 1.0]).unwrap()
        }
        7 => Curve::hill(scale, 10f64.powf(random.between(-0.3, 2.0))).unwrap(),
        // Concave, close to a steepness of one or exactly there.
        8 => {
            let below = 10f64.powf(random.between(-9.0, -0.1));
            Curve::hill(scale, [1.0, 1.0 - below][random.below(2)]).unwrap()
        }
        9 => Curve::logistic(0.0, scale).unwrap(),
        _ => Curve::logistic(at, at * 10f64.powf(random.between(-4.0, 0.5))).unwrap(),
    }
}

fn bound(random: &mut Random, spec: &mut TaskSpec, at: f64, budget: f64, tasks: usize) {
    let share = match random.below(4) {
        0 => budget / tasks as f64,
        1 => amount(random, budget),
        _ => at,
    };
    let amount = nudged(random, share);
    match random.below(10) {
        0 => spec.min = Some(amount),
        1 => spec.max = Some(amount),
        2 => spec.fixed = Some(amount),
        3 => spec.at_least = Some(amount),
        4 => {
            spec.at_least = Some(amount);
            spec.max = Some(nudged(random, amount).max(amount));
        }
        _ => (),
    }
}
