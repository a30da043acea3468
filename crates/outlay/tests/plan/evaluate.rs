//! Plans compared with the best split.

use outlay::plan::{Violation, evaluate};
use outlay::{Curve, Options, Problem, ProblemSpec, TaskSpec};

fn two_jobs(budget: f64) -> Problem {
    let job = |name: &str, at: f64| TaskSpec::new(name, Curve::threshold(at).unwrap());
    ProblemSpec {
        budget,
        tasks: vec![job("small", 2.0), job("large", 6.0)],
        ..ProblemSpec::default()
    }
    .check()
    .unwrap()
}

#[test]
fn the_lift_and_the_moves_lead_to_the_best_split() {
    let problem = two_jobs(8.0);
    let evaluation =
        evaluate(&problem, &[1.0, 2.0], 8.0, &[4.0, 4.0], &Options::default()).unwrap();
    assert_eq!(evaluation.value, 1.0);
    assert_eq!(evaluation.best.allocation.value, 3.0);
    assert_eq!((evaluation.best.lift, evaluation.best.relative_lift), (2.0, Some(2.0)));
    assert_eq!(evaluation.best.moves, [-2.0, 2.0]);
    assert!(evaluation.violations.is_empty() && evaluation.best_for_total.is_none());
}

#[test]
fn the_best_plan_is_kept() {
    let problem = two_jobs(8.0);
    let evaluation =
        evaluate(&problem, &[1.0, 2.0], 8.0, &[2.0, 6.0], &Options::default()).unwrap();
    assert!(evaluation.best.keeps_plan);
    assert_eq!(evaluation.best.moves, [0.0, 0.0]);
    assert_eq!(evaluation.best.lift, 0.0);
}

#[test]
fn a_plan_over_budget_is_compared_at_both_totals() {
    let problem = two_jobs(2.0);
    let evaluation =
        evaluate(&problem, &[1.0, 2.0], 2.0, &[0.0, 6.0], &Options::default()).unwrap();
    assert_eq!(evaluation.violations, [Violation::OverBudget { total: 6.0, budget: 2.0 }]);
    assert_eq!(evaluation.best.lift, -1.0);
    assert!(!evaluation.best.keeps_plan);
    let for_total = evaluation.best_for_total.unwrap();
    assert_eq!(for_total.allocation.budget, 6.0);
    assert!(for_total.keeps_plan);
    assert_eq!(for_total.lift, 0.0);
}

#[test]
fn a_plan_of_value_zero_has_no_relative_lift() {
    let problem = two_jobs(8.0);
    let evaluation =
        evaluate(&problem, &[1.0, 2.0], 8.0, &[1.0, 1.0], &Options::default()).unwrap();
    assert_eq!(evaluation.best.relative_lift, None);
    assert_eq!(evaluation.best_for_total.unwrap().allocation.value, 1.0);
}

#[test]
fn a_dearer_plan_of_equal_value_is_not_kept() {
    let problem = two_jobs(9.0);
    let evaluation =
        evaluate(&problem, &[1.0, 2.0], 9.0, &[3.0, 6.0], &Options::default()).unwrap();
    assert!(!evaluation.best.keeps_plan);
    assert_eq!(evaluation.best.moves, [-1.0, 0.0]);
    assert_eq!(evaluation.best.lift, 0.0);
}

#[test]
fn invalid_plans_are_rejected() {
    let problem = two_jobs(8.0);
    let refuse = |plan: &[f64]| {
        evaluate(&problem, &[1.0, 2.0], 8.0, plan, &Options::default()).unwrap_err().to_string()
    };
    assert_eq!(refuse(&[1.0]), "plan: 1 spends for 2 tasks");
    assert_eq!(
        refuse(&[1.0, -2.0]),
        "plan: the spend of large must be finite and not negative, not -2"
    );
    assert_eq!(
        refuse(&[f64::NAN, 2.0]),
        "plan: the spend of small must be finite and not negative, not NaN"
    );
}
