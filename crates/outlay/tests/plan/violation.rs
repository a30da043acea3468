//! The messages for violated constraints.

use outlay::plan::Violation;
use outlay::problem::Bounds;

#[test]
fn every_bound_is_worded() {
    let broken = |spend, min, max, at_least| {
        let bounds = Bounds { min, max, at_least };
        assert!(!bounds.allows(spend));
        Violation::OutOfBounds { task: "tv".into(), spend, bounds }.to_string()
    };
    assert_eq!(broken(1.0, 2.0, f64::INFINITY, 0.0), "tv spends 1, less than its min 2");
    assert_eq!(broken(4.0, 2.0, 3.0, 0.0), "tv spends 4, more than its max 3");
    assert_eq!(broken(4.0, 3.0, 3.0, 0.0), "tv spends 4, but is fixed at 3");
    assert_eq!(broken(4.0, 0.0, 0.0, 0.0), "tv spends 4, but is excluded");
    assert_eq!(broken(4.0, 0.0, f64::INFINITY, 5.0), "tv spends 4, but must spend 0 or at least 5");
    assert_eq!(
        Violation::OverBudget { total: 3.0, budget: 2.0 }.to_string(),
        "the plan spends 3, more than the budget 2"
    );
}
