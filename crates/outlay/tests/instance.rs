//! Instances by name.

use outlay::Problem;
use outlay::instance::Instance;

fn problem(text: &str, horizon: u64, seed: u64) -> Problem {
    text.parse::<Instance>().unwrap().problem(horizon, seed).unwrap()
}

fn means(problem: &Problem) -> Vec<f64> {
    problem.tasks().iter().map(|task| task.reward().unwrap().mean()).collect()
}

#[test]
fn a_gap_lifts_as_many_tasks_as_can_be_played() {
    assert_eq!(means(&problem("m-set:tasks=5,plays=2,gap=0.1", 100, 1)), [0.5, 0.5, 0.5, 0.6, 0.6]);
    assert_eq!(means(&problem("k-armed:tasks=3,gap=0.5", 100, 1)), [0.5, 0.5, 1.0]);
    assert_eq!(means(&problem("m-set:tasks=2,plays=2,gap=0.25", 100, 1)), [0.75, 0.75]);
}

#[test]
fn theorem_4_scales_its_gap() {
    let plain = means(&problem("theorem-4", 10_000, 3));
    assert_eq!(plain, means(&problem("theorem-4:gap=1", 10_000, 3)));
    let wide = means(&problem("theorem-4:gap=20", 10_000, 3));
    for (plain, wide) in plain.iter().zip(&wide) {
        assert_eq!(*wide, if *plain > 0.5 { 0.7 } else { 0.5 });
    }
    // The largest gap of a horizon is allowed.
    assert!(means(&problem("theorem-4:gap=2", 16, 3)).contains(&1.0));
}

#[test]
fn invalid_gaps_are_reported() {
    for (text, message) in [
        ("m-set:gap=0", "instance `m-set:gap=0`: gap must be above 0"),
        (
            "k-armed:gap=0.6",
            "instance `k-armed:gap=0.6`: gap must be a number between 0 and 0.5, not `0.6`",
        ),
        (
            "theorem-4:gap=-1",
            "instance `theorem-4:gap=-1`: gap must be a number between 0 and 10000000000, not `-1`",
        ),
        (
            "m-set:gap=nan",
            "instance `m-set:gap=nan`: gap must be a number between 0 and 0.5, not `nan`",
        ),
        (
            "unknown-thresholds:bits=53",
            "instance `unknown-thresholds:bits=53`: bits must be a whole number of at least 1 and at most 52",
        ),
    ] {
        let error = text.parse::<Instance>().unwrap_err().to_string();
        assert!(error.starts_with(message), "{error}");
    }
    let error =
        "theorem-4:gap=3".parse::<Instance>().unwrap().problem(16, 1).unwrap_err().to_string();
    assert_eq!(
        error,
        "instance `theorem-4:gap=3`: the better mean 1/2 + gap/√T would be 1.25: gap must be at most 2 for 16 rounds"
    );
}
