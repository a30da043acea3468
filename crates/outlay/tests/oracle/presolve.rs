//! Tasks without a choice: excluded ones change neither the answer nor the method, fixed ones only
//! take their spend.

use outlay::problem::{Document, FEASIBILITY_TOLERANCE, NoFiles};
use outlay::{Allocation, AllocationError, Curve, Options, Oracle, Problem, ProblemSpec, TaskSpec};

use crate::support::*;

fn curve(random: &mut Random, kind: usize) -> Curve {
    let at = random.between(0.02, 0.4);
    match kind {
        0 => Curve::threshold(at).unwrap(),
        1 => Curve::steps(vec![at, 1.7 * at], vec![0.4, 0.9]).unwrap(),
        2 => Curve::exponential(at).unwrap(),
        3 => Curve::power(random.between(0.3, 0.9), 1.0).unwrap(),
        4 => {
            let spend = vec![0.0, at, 1.2 * at, 2.0 * at, 2.1 * at];
            Curve::piecewise(spend, vec![0.0, 0.0, 0.5, 0.5, 0.9]).unwrap()
        }
        _ => Curve::hill(at, random.between(1.5, 5.0)).unwrap(),
    }
}

/// The kinds of curves of one problem: steps only, concave only, mixtures, and everything.
const KINDS: [&[usize]; 4] = [&[0, 1], &[2, 3], &[0, 1, 2, 4], &[0, 1, 2, 3, 4, 5]];

struct Case {
    tasks: Vec<TaskSpec>,
    values: Vec<f64>,
    budget: f64,
}

fn case(random: &mut Random) -> Case {
    let kinds = KINDS[random.below(KINDS.len())];
    let count = 3 + random.below(12);
    let mut tasks = Vec::new();
    for task in 0..count {
        let kind = kinds[random.below(kinds.len())];
        tasks.push(TaskSpec::new(format!("t{task}"), curve(random, kind)));
    }
    let values = (0..count).map(|_| random.between(0.1, 1.0)).collect();
    Case { tasks, values, budget: random.between(0.3, 2.0) }
}

fn problem(tasks: &[TaskSpec]) -> Problem {
    ProblemSpec { budget: 8.0, tasks: tasks.to_vec(), ..ProblemSpec::default() }.check().unwrap()
}

fn allocate(tasks: &[TaskSpec], values: &[f64], budget: f64) -> Allocation {
    let problem = problem(tasks);
    let found =
        Oracle::new(&problem).allocate(values, budget, &Options::default()).unwrap().clone();
    certified(&problem, values, &found);
    found
}

/// Inserts up to three tasks anywhere; returns where each of the others is now.
fn insert(
    random: &mut Random,
    case: &Case,
    mut make: impl FnMut(&mut Random, usize) -> (TaskSpec, f64),
) -> (Vec<TaskSpec>, Vec<f64>, Vec<usize>) {
    let (mut tasks, mut values) = (case.tasks.clone(), case.values.clone());
    let mut places: Vec<usize> = (0..tasks.len()).collect();
    for number in 0..1 + random.below(3) {
        let (task, value) = make(random, number);
        let place = random.below(tasks.len() + 1);
        tasks.insert(place, task);
        values.insert(place, value);
        places.iter_mut().filter(|other| **other >= place).for_each(|other| *other += 1);
    }
    (tasks, values, places)
}

#[test]
fn excluded_tasks_change_no_bit() {
    let mut random = Random::new(71);
    for round in 0..400 {
        let case = case(&mut random);
        let plain = allocate(&case.tasks, &case.values, case.budget);
        let (tasks, values, places) = insert(&mut random, &case, |random, number| {
            let kind = random.below(6);
            let task = TaskSpec::new(format!("excluded{number}"), curve(random, kind));
            (TaskSpec { exclude: true, ..task }, random.between(0.1, 1.0))
        });
        let found = allocate(&tasks, &values, case.budget);
        let kept: Vec<f64> = places.iter().map(|&place| found.spend[place]).collect();
        assert_eq!(kept, plain.spend, "round {round}");
        assert_eq!(
            found.spend.iter().filter(|spend| **spend > 0.0).count(),
            plain.spend.iter().filter(|spend| **spend > 0.0).count()
        );
        let certificate = |found: &Allocation| {
            (found.value, found.upper_bound, found.price, found.unspent, found.status)
        };
        assert_eq!(certificate(&found), certificate(&plain), "round {round}");
        assert_eq!((found.nodes, found.labels), (plain.nodes, plain.labels), "round {round}");
    }
}

#[test]
fn fixed_tasks_only_take_their_spend() {
    let mut random = Random::new(72);
    for round in 0..400 {
        let mut case = case(&mut random);
        // Sums with the fixed spends are exact.
        case.budget = (case.budget * 1024.0).round() / 1024.0;
        let plain = allocate(&case.tasks, &case.values, case.budget);
        let mut fixed_total = 0.0;
        let (tasks, values, places) = insert(&mut random, &case, |random, number| {
            let kind = random.below(6);
            let task = TaskSpec::new(format!("fixed{number}"), curve(random, kind));
            let fixed = random.below(512) as f64 / 1024.0;
            fixed_total += fixed;
            (TaskSpec { fixed: Some(fixed), ..task }, random.between(0.1, 1.0))
        });
        let found = allocate(&tasks, &values, case.budget + fixed_total);
        let extra: f64 = (0..tasks.len())
            .filter(|place| !places.contains(place))
            .map(|place| {
                let fixed = tasks[place].fixed.unwrap();
                let tolerance = FEASIBILITY_TOLERANCE * fixed;
                assert!((found.spend[place] - fixed).abs() <= tolerance, "round {round}");
                values[place] * tasks[place].curve.success(found.spend[place])
            })
            .sum();
        // The tolerance of feasibility grows with the budget, so values differ by rounding.
        assert!((found.value - extra - plain.value).abs() <= 1e-9 * found.value, "round {round}");
        assert!(found.gap() <= plain.gap() + 1e-12, "round {round}");
    }
}

/// Warm and cold, a task without value gets nothing, and the others what they get without it.
#[test]
fn tasks_without_value_change_neither_answer_nor_method() {
    let mut random = Random::new(73);
    let mut alone = 0;
    for round in 0..400 {
        let case = case(&mut random);
        let mut lower_bounds = 0.0;
        let (tasks, mut values, places) = insert(&mut random, &case, |random, number| {
            let kind = random.below(6);
            let task = TaskSpec::new(format!("valueless{number}"), curve(random, kind));
            let min = [0.0, 0.0625][random.below(2)];
            lower_bounds += min;
            (TaskSpec { min: Some(min), ..task }, 1.0)
        });
        // Sums with the lower bounds are exact.
        let budget = (case.budget * 1024.0).round() / 1024.0;
        let plain = allocate(&case.tasks, &case.values, budget);
        let budget = budget + lower_bounds;
        let problem = problem(&tasks);
        let mut oracle = Oracle::new(&problem);
        for call in 0..3 {
            if call % 2 == 1 {
                // All tasks have value in between.
                oracle.allocate(&vec![0.7; tasks.len()], 0.9, &Options::default()).unwrap();
            }
            for place in (0..tasks.len()).filter(|place| !places.contains(place)) {
                values[place] = 0.0;
            }
            let options = Options::default();
            let found = oracle.allocate(&values, budget, &options).unwrap().clone();
            certified(&problem, &values, &found);
            assert!((found.value - plain.value).abs() <= 1e-9 * plain.value, "round {round}");
            let is_steps = case.tasks.iter().all(|task| {
                task.curve.family().as_str() != "power"
                    && task.curve.family().as_str() != "exponential"
                    && task.curve.family().as_str() != "hill"
                    && task.curve.family().as_str() != "piecewise"
            });
            if is_steps {
                alone += 1;
                let kept: Vec<f64> = places.iter().map(|&place| found.spend[place]).collect();
                assert_eq!(kept, plain.spend, "round {round}");
                assert_eq!(found.value, plain.value, "round {round}");
                assert_eq!((found.nodes, found.labels), (plain.nodes, plain.labels));
            }
            assert_eq!(found.status, plain.status, "round {round}");
        }
    }
    assert!(alone > 100, "{alone}");
}

/// A task that costs more, and is worth less, than every other one is part of no optimal split,
/// except for budget that would stay unspent. It changes neither the value nor the proof.
#[test]
fn dominated_tasks_change_neither_answer_nor_proof() {
    let mut random = Random::new(74);
    let worthless = 1e-7;
    for round in 0..400 {
        let case = case(&mut random);
        let plain = allocate(&case.tasks, &case.values, case.budget);
        let (tasks, values, _) = insert(&mut random, &case, |random, number| {
            let at = random.between(2.0, 8.0);
            let curve = match random.below(4) {
                0 => Curve::threshold(at).unwrap(),
                1 => Curve::exponential(at).unwrap(),
                2 => Curve::piecewise(vec![0.0, at, 2.0 * at], vec![0.0, 0.0, 1.0]).unwrap(),
                _ => Curve::hill(at, random.between(1.5, 5.0)).unwrap(),
            };
            (TaskSpec::new(format!("dominated{number}"), curve), worthless)
        });
        let found = allocate(&tasks, &values, case.budget);
        assert!(found.value >= plain.value * (1.0 - 1e-9), "round {round}: {found:?} {plain:?}");
        let most = plain.upper_bound + 3.0 * worthless;
        assert!(found.value <= most, "round {round}: {found:?} {plain:?}");
        assert!(found.gap() <= plain.gap().max(1e-9), "round {round}: {found:?} {plain:?}");
    }
}

#[test]
fn errors_name_the_task_of_the_problem() {
    let task = |name: &str| TaskSpec::new(name, Curve::threshold(0.5).unwrap());
    let tasks = [
        TaskSpec { exclude: true, ..task("a") },
        TaskSpec { fixed: Some(0.25), ..task("b") },
        TaskSpec { min: Some(0.5), ..task("c") },
    ];
    let problem = problem(&tasks);
    let mut oracle = Oracle::new(&problem);
    let mut error = |values: &[f64], budget: f64| {
        oracle.allocate(values, budget, &Options::default()).unwrap_err()
    };
    assert_eq!(error(&[1.0; 2], 1.0), AllocationError::ValueCount { expected: 3, got: 2 });
    let bad = error(&[1.0, 1.0, -1.0], 1.0);
    assert_eq!(bad, AllocationError::BadValue { task: 2, value: -1.0 });
    let largest_lower_bounds = vec![("c".to_owned(), 0.5), ("b".to_owned(), 0.25)];
    let infeasible =
        AllocationError::Infeasible { needed: 0.75, budget: 0.5, largest_lower_bounds };
    assert_eq!(error(&[1.0; 3], 0.5), infeasible);
}

/// From an outside audit: one excluded task switched the exact search off.
#[test]
fn an_excluded_task_keeps_the_exact_search() {
    let read = |text: &str| Document::from_json(text).unwrap().problem(&NoFiles).unwrap();
    let [with, without] = [
        read(include_str!("../data/h4_excluded_task.json")),
        read(include_str!("../data/h4_without_excluded_task.json")),
    ]
    .map(|problem| solve(&problem, &problem.values().unwrap(), problem.budget()).0);
    assert_eq!((with.value, with.upper_bound), (without.value, without.upper_bound));
    assert!(with.gap() <= 1e-12, "{}", brief(&with));
}
