//! A search that another thread cancels.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use outlay::{AllocationError, Curve, Options, Oracle, Problem, ProblemSpec, TaskSpec};

/// S-curves whose relaxation has a gap, so that nodes are searched.
fn hard_problem() -> Problem {
    let curve = |number: u32| {
        let half_at = 1.0 + (f64::from(number) * 0.618_034) % 1.0;
        Curve::hill(half_at, f64::from(8 + number % 5)).unwrap()
    };
    let tasks = (0..60).map(|number| TaskSpec::new(format!("t{number}"), curve(number))).collect();
    ProblemSpec { tasks, budget: 20.0, ..ProblemSpec::default() }.check().unwrap()
}

#[test]
fn a_cancelled_search_is_an_error_and_the_next_one_succeeds() {
    let (problem, options) = (hard_problem(), Options::default());
    let values = vec![1.0; problem.tasks().len()];
    let mut oracle = Oracle::new(&problem);
    let expected = oracle.allocate(&values, 20.0, &options).unwrap().clone();
    assert!(expected.nodes > 1, "the problem is too easy for this test");
    let cancel = Arc::new(AtomicBool::new(true));
    oracle.set_cancel(Some(Arc::clone(&cancel)));
    oracle.reset();
    let cancelled = oracle.allocate(&values, 20.0, &options);
    assert_eq!(cancelled.unwrap_err(), AllocationError::Cancelled);
    cancel.store(false, Ordering::Relaxed);
    oracle.reset();
    assert_eq!(*oracle.allocate(&values, 20.0, &options).unwrap(), expected);
}
