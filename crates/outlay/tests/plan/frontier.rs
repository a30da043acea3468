//! The best value over a range of budgets.

use std::ops::ControlFlow;

use outlay::plan::{evenly_spaced, frontier};
use outlay::{Curve, Options, Problem, ProblemSpec, TaskSpec};

fn problem(tasks: Vec<TaskSpec>) -> Problem {
    ProblemSpec { budget: 10.0, tasks, ..ProblemSpec::default() }.check().unwrap()
}

#[test]
fn value_rises_with_the_budget() {
    let curves =
        [Curve::threshold(3.0), Curve::hill(4.0, 3.0), Curve::exponential(2.0)].map(Result::unwrap);
    let tasks = curves
        .into_iter()
        .zip(["job", "video", "search"])
        .map(|(curve, name)| TaskSpec::new(name, curve));
    let problem = problem(tasks.collect());
    let mut seen = 0;
    let budgets = evenly_spaced(0.0, 20.0, 21);
    let points = frontier(&problem, &[0.5, 1.0, 0.4], &budgets, &Options::default(), |_| {
        seen += 1;
        ControlFlow::Continue(())
    })
    .unwrap();
    assert_eq!((points.len(), seen), (21, 21));
    assert!(points.windows(2).all(|pair| pair[0].value <= pair[1].value));
    assert!(points.iter().all(|point| point.value <= point.upper_bound));
    assert_eq!(points[0].value, 0.0);
}

#[test]
fn the_callback_can_stop_it() {
    let problem = problem(vec![TaskSpec::new("search", Curve::exponential(2.0).unwrap())]);
    let mut left = 2;
    let points =
        frontier(&problem, &[1.0], &evenly_spaced(0.0, 20.0, 21), &Options::default(), |_| {
            left -= 1;
            if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
    assert_eq!(points.unwrap().iter().map(|point| point.budget).collect::<Vec<_>>(), [0.0, 1.0]);
}

#[test]
fn budgets_meet_both_ends() {
    assert_eq!(evenly_spaced(1.0, 3.0, 5), [1.0, 1.5, 2.0, 2.5, 3.0]);
    assert_eq!(evenly_spaced(0.1, 0.7, 4).last(), Some(&0.7));
    assert_eq!(evenly_spaced(2.0, 2.0, 1), [2.0]);
    assert_eq!(evenly_spaced(2.0, 3.0, 0), [0.0; 0]);
}
