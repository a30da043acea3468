//! The fluid model predicts the mean regrets of an independent implementation, and covers horizons
//! far beyond any simulation.

use outlay::instance::Instance;
use outlay::learner::LearnerSpec;
use outlay::theory::fluid;

fn regret(instance: &str, learner: &str, horizon: f64) -> f64 {
    let problem =
        instance.parse::<Instance>().unwrap().problem(horizon.min(1e18) as u64, 1).unwrap();
    let learner: LearnerSpec = learner.parse().unwrap();
    let points = fluid(&problem, &learner, horizon).unwrap().unwrap();
    assert_eq!(points.last().unwrap().round, horizon);
    points.last().unwrap().regret
}

/// Mean regrets measured at 10⁴ and 10⁵ rounds.
#[test]
fn predicts_the_means() {
    let measured = [
        ("power", "algorithm-1", 106.0, 267.0, 0.06),
        ("power", "hoeffding", 77.7, 176.0, 0.08),
        ("power", "kl-ucb-mixture", 60.5, 124.0, 0.1),
    ];
    for (instance, learner, short, long, room) in measured {
        for (horizon, expected) in [(1e4, short), (1e5, long)] {
            let predicted = regret(instance, learner, horizon);
            assert!(
                (predicted / expected - 1.0).abs() < room,
                "{instance} {learner} {horizon}: {predicted} instead of {expected}"
            );
        }
    }
}

/// Under diminishing returns the exponent of `algorithm-1` falls: the growth looks like √T at first
/// and like log² T in the end.
#[test]
fn the_exponent_falls() {
    let exponent = |from: f64| {
        (regret("power", "algorithm-1", 10.0 * from) / regret("power", "algorithm-1", from)).log10()
    };
    let exponents: Vec<f64> = [1e3, 1e5, 1e7, 1e9, 1e12, 1e14].map(exponent).to_vec();
    assert!(exponents.is_sorted_by(|one, other| one > other), "{exponents:?}");
    assert!(exponents[0] > 0.45 && exponents[5] < 0.12, "{exponents:?}");
}

#[test]
fn randomised_learners_have_no_fluid_form() {
    let problem = "power".parse::<Instance>().unwrap().problem(100, 1).unwrap();
    for learner in ["thompson", "oful", "uniform", "epsilon-greedy"] {
        assert!(fluid(&problem, &learner.parse().unwrap(), 100.0).unwrap().is_none(), "{learner}");
    }
}
