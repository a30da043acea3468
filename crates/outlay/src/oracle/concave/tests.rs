//! Answers of the Taylor expansion compared with those of the multiplier search and the curves.

use crate::curve::{Curve, Family};
use crate::numeric::compensated::sum;
use crate::oracle::numbers_for_tests::Random;
use crate::problem::{Problem, ProblemSpec, TaskSpec};
use crate::{Allocation, Options, Oracle};

#[derive(Debug, Clone, Copy, PartialEq)]
enum Families {
    Power,
    Exponential,
    Linear,
    Hill,
    Hyperbolic,
    Logistic,
    Mixed,
}

#[derive(Debug, Clone, Copy)]
struct Kind {
    tasks: usize,
    families: Families,
    has_bounds: bool,
    has_floors: bool,
}

fn problem(kind: Kind, random: &mut Random) -> Problem {
    let share = 1.0 / kind.tasks as f64;
    let tasks = (0..kind.tasks).map(|task| {
        let family = match kind.families {
            Families::Power => 0,
            Families::Exponential => 1,
            Families::Linear => 2,
            Families::Hill => 4,
            Families::Hyperbolic => 5,
            Families::Logistic => 6,
            Families::Mixed => (7.0 * random.uniform()) as usize,
        };
        let scale = share * random.between(0.3, 5.0);
        let curve = match family {
            0 => Curve::power(
                random.between(0.1, 0.95),
                if kind.has_bounds { scale } else { random.between(0.4, 4.0) },
            ),
            1 => Curve::exponential(scale),
            2 => Curve::saturating(scale),
            3 => Curve::power(1.0, scale),
            4 => Curve::hill(scale, random.between(0.2, 0.999)),
            5 => Curve::hill(scale, 1.0),
            _ => Curve::logistic(0.0, scale),
        };
        let mut curve = curve.unwrap();
        if kind.has_floors && random.uniform() < 0.5 {
            curve = curve
                .with_floor(random.between(0.0, 0.3))
                .unwrap()
                .with_ceiling(random.between(0.5, 1.0))
                .unwrap();
        }
        let mut spec = TaskSpec::new(format!("t{task}"), curve);
        if kind.has_bounds {
            spec.min =
                Some(if random.uniform() < 0.3 { share * random.between(0.0, 0.5) } else { 0.0 });
            spec.max =
                if random.uniform() < 0.3 { Some(share * random.between(0.5, 3.0)) } else { None };
        }
        spec
    });
    ProblemSpec { tasks: tasks.collect(), ..ProblemSpec::default() }.check().unwrap()
}

/// Both solvers.
struct Pair {
    taylor: Oracle,
    general: Oracle,
}

impl Pair {
    fn new(problem: &Problem) -> Self {
        let (taylor, mut general) = (Oracle::new(problem), Oracle::new(problem));
        general.taylor = None;
        Self { taylor, general }
    }

    /// True if the Taylor expansion has answered.
    fn check(&mut self, problem: &Problem, values: &[f64], budget: f64) -> bool {
        let ours = self.taylor.allocate(values, budget, &Options::default()).unwrap().clone();
        let is_taylor =
            self.taylor.taylor.as_ref().is_some_and(|taylor| taylor.reference.is_some());
        let theirs = self.general.allocate(values, budget, &Options::default()).unwrap();
        if is_taylor {
            check_against_curves(problem, values, budget, &ours);
            assert!(
                (ours.value - theirs.value).abs() <= 1e-12 * theirs.value,
                "{} {}",
                ours.value,
                theirs.value
            );
            assert!(ours.upper_bound >= theirs.value && theirs.upper_bound >= ours.value);
            assert!(ours.gap() <= 1e-13, "{}", ours.gap());
            assert!(
                (ours.price / theirs.price - 1.0).abs() <= 1e-6,
                "{} {}",
                ours.price,
                theirs.price
            );
        }
        is_taylor
    }
}

fn check_against_curves(problem: &Problem, values: &[f64], budget: f64, answer: &Allocation) {
    let left = budget - sum(answer.spend.iter().copied());
    assert!(left.abs() <= 4.0 * f64::EPSILON * budget, "left {left}");
    for (task, (&spend, &success)) in
        problem.tasks().iter().zip(answer.spend.iter().zip(&answer.success))
    {
        assert!(task.bounds().allows(spend), "{} {spend}", task.name());
        let by_curve = task.curve().success(spend);
        assert!(
            (success - by_curve).abs() <= 1e-12 * by_curve.max(1e-3),
            "{task:?} at {spend}: {success} {by_curve}, price {}",
            answer.price
        );
    }
    let worth = sum(values.iter().zip(&answer.success).map(|(value, success)| value * success));
    assert!((worth - answer.value).abs() <= 1e-13 * worth, "{worth} {}", answer.value);
}

fn all_kinds() -> impl Iterator<Item = Kind> {
    let families = [
        Families::Power,
        Families::Exponential,
        Families::Linear,
        Families::Hill,
        Families::Hyperbolic,
        Families::Logistic,
        Families::Mixed,
    ];
    families.into_iter().flat_map(|families| {
        [
            (2, false, false),
            (3, true, true),
            (10, false, false),
            (37, true, true),
            (1024, false, false),
            (2049, true, false),
            (4099, false, true),
            (2500, true, true),
        ]
        .map(|(tasks, has_bounds, has_floors)| Kind {
            tasks,
            families,
            has_bounds,
            has_floors,
        })
    })
}

#[test]
fn agrees_with_the_general_search_and_the_curves() {
    for (number, kind) in all_kinds().enumerate() {
        let mut random = Random(number as u64);
        let problem = problem(kind, &mut random);
        let mut pair = Pair::new(&problem);
        let mut values: Vec<f64> = (0..kind.tasks).map(|_| random.between(0.05, 1.0)).collect();
        let least: f64 = problem.tasks().iter().map(|task| task.bounds().min).sum();
        let (mut budget, mut answered) = (1.0, 0);
        for round in 0..30 {
            answered += usize::from(pair.check(&problem, &values, budget));
            // Small changes, occasional jumps, values of zero, and different budgets.
            let reach = [0.005, 0.0, 0.1, 0.005, 0.9][round % 5];
            for value in &mut values {
                *value = (*value * (1.0 + reach * random.between(-1.0, 1.0))).clamp(0.01, 2.0);
            }
            if round % 7 == 3 {
                values.iter_mut().step_by(5).for_each(|value| *value = 0.0);
            }
            budget = [1.0, 1.0, 0.99, 1.0, 1.3, 0.7][round % 6];
            assert!(budget > least);
        }
        let expected = if kind.tasks < 1000 { 10 } else { 25 };
        assert!(answered >= expected, "{kind:?}: {answered}");
    }
}

#[test]
fn all_equal_and_all_worthless_tasks_are_answered() {
    let kind =
        Kind { tasks: 1500, families: Families::Mixed, has_bounds: false, has_floors: false };
    for curve in [
        Curve::power(0.5, 1.0),
        Curve::exponential(1e-3),
        Curve::saturating(2e-3),
        Curve::hill(1e-3, 0.6),
        Curve::hill(1e-3, 1.0),
        Curve::logistic(0.0, 1e-3),
    ] {
        let tasks = (0..kind.tasks)
            .map(|task| TaskSpec::new(format!("t{task}"), curve.clone().unwrap()))
            .collect();
        let problem = ProblemSpec { tasks, ..ProblemSpec::default() }.check().unwrap();
        let mut pair = Pair::new(&problem);
        for value in [1.0, 1.0, 0.5, 0.0, 1.0] {
            pair.check(&problem, &vec![value; kind.tasks], 1.0);
        }
    }
}

#[test]
fn a_task_whose_demand_exceeds_its_maximum_gets_its_maximum() {
    // Each may get two fifths of the budget, so bounds matter only once the demand of one exceeds
    // that.
    for number in 0..4 {
        let mut random = Random(40 + number);
        let tasks = (0..1500).map(|task| {
            let mut spec = TaskSpec::new(
                format!("t{task}"),
                Curve::power(random.between(0.2, 0.8), 2.0).unwrap(),
            );
            spec.max = Some(0.4);
            spec
        });
        let problem =
            ProblemSpec { tasks: tasks.collect(), ..ProblemSpec::default() }.check().unwrap();
        let mut values: Vec<f64> = (0..1500).map(|_| random.between(0.05, 1.0)).collect();
        let mut pair = Pair::new(&problem);
        let mut answered = 0;
        for value in [1.0, 300.0, 301.0, 302.0, 303.0, 304.0, 1.0, 300.0, 301.0] {
            values[number as usize * 400] = value;
            answered += usize::from(pair.check(&problem, &values, 1.0) && value > 1.0);
            assert_eq!(pair.taylor.last().spend[number as usize * 400] == 0.4, value > 1.0);
        }
        assert!(answered >= 3, "{answered}");
    }
}

#[test]
fn the_warm_start_is_its_only_state() {
    for (number, kind) in all_kinds().enumerate() {
        let mut random = Random(100 + number as u64);
        let problem = problem(kind, &mut random);
        let mut oracle = Oracle::new(&problem);
        let mut values: Vec<f64> = (0..kind.tasks).map(|_| random.between(0.05, 1.0)).collect();
        for round in 0..12 {
            let warmth =
                serde_json::from_str(&serde_json::to_string(&oracle.warm_start()).unwrap())
                    .unwrap();
            let mut other = Oracle::new(&problem);
            other.set_warm_start(&warmth);
            // Now and then more than all tasks can use, so that the general search answers in
            // between.
            let budget = if round % 5 == 4 { 1e4 } else { random.between(0.8, 1.1) };
            let answer = oracle.allocate(&values, budget, &Options::default()).cloned();
            assert_eq!(
                answer,
                other.allocate(&values, budget, &Options::default()).cloned(),
                "{kind:?} round {round}"
            );
            values.iter_mut().for_each(|value| *value *= 1.0 + 0.05 * random.between(-1.0, 1.0));
        }
    }
}

#[test]
fn bad_values_get_their_error_wherever_they_are() {
    let kind =
        Kind { tasks: 2100, families: Families::Mixed, has_bounds: false, has_floors: false };
    let problem = problem(kind, &mut Random(5));
    let mut oracle = Oracle::new(&problem);
    let good: Vec<f64> = (0..kind.tasks).map(|task| 0.1 + (task % 7) as f64).collect();
    let expected = oracle.allocate(&good, 1.0, &Options::default()).unwrap().value;
    for bad in [-1.0, -1e-300, -f64::from_bits(1), f64::NAN, f64::INFINITY] {
        for task in [0, 1, 2, 3, 1000, 2047, 2048, 2099] {
            let mut values = good.clone();
            values[task] = bad;
            let error = oracle.allocate(&values, 1.0, &Options::default()).unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("values[{task}]: must be finite and not negative")),
                "{error}"
            );
            let value = oracle.allocate(&good, 1.0, &Options::default()).unwrap().value;
            assert!((value - expected).abs() <= 1e-13 * expected);
        }
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let kind =
        Kind { tasks: 100_003, families: Families::Mixed, has_bounds: true, has_floors: true };
    let mut random = Random(9);
    let problem = problem(kind, &mut random);
    let mut values: Vec<f64> = (0..kind.tasks).map(|_| random.between(0.05, 1.0)).collect();
    let mut oracles: Vec<Oracle> = [1, 2, 3]
        .map(|threads| {
            let mut oracle = Oracle::new(&problem);
            oracle.use_threads(std::num::NonZeroUsize::new(threads).unwrap());
            oracle
        })
        .into();
    for _ in 0..3 {
        let answers: Vec<Allocation> = oracles
            .iter_mut()
            .map(|oracle| oracle.allocate(&values, 1.0, &Options::default()).unwrap().clone())
            .collect();
        check_against_curves(&problem, &values, 1.0, &answers[0]);
        assert!(answers[0] == answers[1] && answers[0] == answers[2]);
        values.iter_mut().for_each(|value| *value *= 1.0 + 0.05 * random.between(-1.0, 1.0));
    }
}

/// Every smooth task between its bounds has the slope of the price, and the others do not exceed
/// it or could not have less: with the curve's own derivative, which the solver does not use.
#[test]
fn slopes_equal_the_price() {
    for families in [Families::Hill, Families::Hyperbolic, Families::Logistic, Families::Mixed] {
        for (number, tasks) in [1, 2, 7, 60, 900, 3000].into_iter().enumerate() {
            let mut random = Random(700 + number as u64);
            let kind = Kind { tasks, families, has_bounds: true, has_floors: true };
            let problem = problem(kind, &mut random);
            let mut oracle = Oracle::new(&problem);
            let mut values: Vec<f64> = (0..tasks).map(|_| random.between(0.05, 1.0)).collect();
            for budget in [1.0, 1.0, 0.9, 1.2] {
                let answer = oracle.allocate(&values, budget, &Options::default()).unwrap();
                assert!(answer.gap() <= 1e-12, "{kind:?}: {}", answer.gap());
                check_slopes(&problem, &values, answer);
                for value in &mut values {
                    *value *= 1.0 + 0.004 * random.between(-1.0, 1.0);
                }
            }
        }
    }
}

fn check_slopes(problem: &Problem, values: &[f64], answer: &Allocation) {
    for (task, (&value, &spend)) in problem.tasks().iter().zip(values.iter().zip(&answer.spend)) {
        let (bounds, curve) = (task.bounds(), task.curve());
        let is_linear = matches!(curve.family(), Family::Saturating(_))
            || matches!(curve.family(), Family::Power(power) if power.exponent() == 1.0);
        if is_linear || spend >= curve.saturates_at() || answer.price == 0.0 {
            continue;
        }
        let excess = value * curve.slope(spend) / answer.price - 1.0;
        assert!(excess <= 1e-7 || spend >= bounds.max, "{task:?} at {spend}: {excess}");
        assert!(excess >= -1e-7 || spend <= bounds.min, "{task:?} at {spend}: {excess}");
    }
}

/// Hill and logistic tasks beside tasks that are not concave, and with a minimum that may be
/// avoided, are certified as well.
#[test]
fn concave_tasks_beside_others_are_certified() {
    let mut random = Random(77);
    for round in 0..60 {
        let share = 0.1;
        let tasks = (0..10).map(|task| {
            let scale = share * random.between(0.3, 5.0);
            let curve = match (task + round) % 6 {
                0 => Curve::hill(scale, random.between(0.2, 0.99)),
                1 => Curve::hill(scale, 1.0),
                2 => Curve::logistic(0.0, scale),
                3 => Curve::hill(scale, random.between(1.5, 4.0)),
                4 => Curve::threshold(scale),
                _ => Curve::exponential(scale),
            };
            let mut spec = TaskSpec::new(format!("t{task}"), curve.unwrap());
            if random.uniform() < 0.2 {
                spec.at_least = Some(share * random.between(0.1, 1.0));
            }
            spec
        });
        let tasks = tasks.collect();
        let problem = ProblemSpec { tasks, ..ProblemSpec::default() }.check().unwrap();
        let mut oracle = Oracle::new(&problem);
        let values: Vec<f64> = (0..10).map(|_| random.between(0.05, 1.0)).collect();
        let answer = oracle.allocate(&values, 1.0, &Options::default()).unwrap();
        let checked = crate::oracle::recheck(&problem, &values, answer);
        assert!(checked.is_ok(), "{round}: {checked:?}");
        let worth = problem.tasks().iter().zip(values.iter().zip(&answer.spend));
        let worth: f64 = sum(worth.map(|(task, (value, &x))| value * task.curve().success(x)));
        assert!((worth - answer.value).abs() <= 1e-12 * worth && worth <= answer.upper_bound);
    }
}
