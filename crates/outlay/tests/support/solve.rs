//! Solving, with the checks that every allocation must pass.

use outlay::oracle::{Recheck, recheck};
use outlay::{Allocation, Options, Oracle, Problem};

/// Solves cold and checks the certificate.
pub(crate) fn solve(problem: &Problem, values: &[f64], budget: f64) -> (Allocation, Recheck) {
    solve_with(problem, values, budget, &Options::default())
}

pub(crate) fn solve_with(
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
pub(crate) fn brief(allocation: &Allocation) -> String {
    let mut brief = allocation.clone();
    brief.spend.truncate(10);
    brief.success.truncate(10);
    format!("{brief:?}")
}

/// Every allocation must pass this.
pub(crate) fn certified(problem: &Problem, values: &[f64], allocation: &Allocation) -> Recheck {
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
    let custom = problem.tasks().iter().any(|task| task.curve().family().as_str() == "custom");
    assert!(
        custom || checked.dual_bound >= allocation.upper_bound * (1.0 - 1e-11),
        "a search bound above the price's own: {checked:?} {}",
        brief(allocation)
    );
    checked
}
