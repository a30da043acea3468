//! The hot paths. Each is called once, and only this call is counted: neither its preparation nor
//! the release of its results.

use std::hint::black_box;
use std::sync::atomic::AtomicBool;

use outlay::feedback::{Completion, Feedback, Reward};
use outlay::fit::{Choice, Observations, fit};
use outlay::instance::Instance;
use outlay::learner::{Learner, LearnerInputs, LearnerSpec, RoundContext};
use outlay::problem::NoFiles;
use outlay::simulation::Play;
use outlay::{Problem, fit};
use outlay_bench_engine::instances::{Kind, Random, instance};
use outlay_bench_engine::solve::{Cold, Warm};

use crate::callgrind::counted_region;

/// The default tolerance of the oracle.
const TOLERANCE: f64 = 1e-9;
/// Enough rounds that the first ones, which cost more, do not dominate.
const ROUNDS: u64 = 1000;

/// A hot path on one input.
pub(crate) struct Case {
    pub(crate) name: String,
    run: Box<dyn Fn()>,
}

impl Case {
    fn new(name: String, run: impl Fn() + 'static) -> Self {
        Self { name, run: Box::new(run) }
    }

    /// Prepares the input and executes the counted call.
    pub(crate) fn run(&self) {
        (self.run)();
    }
}

/// All cases. A new hot path is added here.
pub(crate) fn all() -> Vec<Case> {
    let mut cases = Vec::new();
    let kinds = [
        ("power", Kind::Power),
        ("mixed", Kind::Concave),
        ("exponential", Kind::Exponential),
        ("hill_below_1", Kind::ConcaveHill),
        ("hill_1", Kind::Hyperbolic),
        ("logistic_mid_0", Kind::ConcaveLogistic),
        ("hill", Kind::Hill),
        ("steps", Kind::Steps),
    ];
    for (name, kind) in kinds {
        for tasks in [10, 100, 10_000] {
            let case = |path: &str| format!("{path} {name}_{tasks}");
            cases.push(Case::new(case("allocate_cold"), move || allocate_cold(kind, tasks)));
            cases.push(Case::new(case("allocate_warm"), move || allocate_warm(kind, tasks)));
        }
    }
    for (name, instance, learner) in [
        ("algorithm-1_10", "power:tasks=10", "algorithm-1"),
        ("kl-ucb-plus_10", "power:tasks=10", "kl-ucb-plus"),
        ("cucb_armed", "k-armed", "cucb"),
    ] {
        let name = format!("thousand_rounds {name}");
        cases.push(Case::new(name, move || thousand_rounds(instance, learner)));
    }
    for learner in ["algorithm-1", "kl-ucb-plus", "kl-ucb-mixture", "cucb"] {
        let name = format!("ten_index_updates {learner}");
        cases.push(Case::new(name, move || ten_index_updates(learner)));
    }
    cases.push(Case::new("fit_small_record exponential".to_owned(), fit_small_record));
    cases.push(Case::new("read_problem shop_ads".to_owned(), read_problem));
    cases
}

/// A cold call. One call before it has grown the buffers.
fn allocate_cold(kind: Kind, tasks: usize) {
    let mut oracle = Cold::new(&instance(kind, tasks, 1), TOLERANCE);
    oracle.call();
    counted_region(&mut || oracle.call());
}

/// A call whose values differ a little from those of the calls before.
fn allocate_warm(kind: Kind, tasks: usize) {
    let mut oracle = Warm::new(&instance(kind, tasks, 1), TOLERANCE);
    for _ in 0..3 {
        oracle.call();
    }
    counted_region(&mut || oracle.call());
}

fn game(instance: &str, learner: &str) -> (Problem, LearnerSpec) {
    (instance.parse::<Instance>().unwrap().problem(ROUNDS, 1).unwrap(), learner.parse().unwrap())
}

fn thousand_rounds(instance: &str, learner: &str) {
    let (problem, learner) = game(instance, learner);
    let play = Play {
        problem: &problem,
        learner: &learner.into(),
        feedback: learner.entry().feedback,
        horizon: ROUNDS,
        seed: 1,
    };
    let mut replication = None;
    counted_region(&mut || replication = play.run(&AtomicBool::new(false)).unwrap());
    black_box(replication.unwrap());
}

fn decide_and_learn(learner: &mut dyn Learner, round: u64, weights: &mut [f64]) {
    learner.decide(&RoundContext { round, budget: 1.0, ..RoundContext::default() }, weights);
    let reward = if round.is_multiple_of(3) { Reward::MAX } else { Reward::ZERO };
    let task = round as usize % weights.len();
    learner.observe_completed(&[
        Completion { task, reward },
        Completion { task: (task + 3) % weights.len(), reward },
    ]);
}

/// Ten rounds of a learner after a few hundred rounds in which every task completed now and then.
fn ten_index_updates(learner: &str) {
    let (problem, spec) = game("power:tasks=10", learner);
    let inputs = LearnerInputs {
        problem: &problem,
        horizon: Some(ROUNDS),
        feedback: Feedback::Censored,
        seed: 1,
    };
    let mut learner = spec.build(&inputs).unwrap();
    let mut weights = vec![0.0; problem.tasks().len()];
    for round in 1..=300 {
        decide_and_learn(&mut *learner, round, &mut weights);
    }
    counted_region(&mut || {
        for round in 301..=310 {
            decide_and_learn(&mut *learner, round, black_box(&mut weights));
        }
    });
}

/// Fits sixty trials whose success follows an exponential curve.
fn fit_small_record() {
    let mut random = Random::new(1);
    let rows = (0..60).map(|row| {
        (f64::from(row % 12), random.uniform() < 1.0 - (-f64::from(row % 12) / 4.0).exp())
    });
    let log = Observations::of_outcomes(rows.collect::<Vec<_>>()).unwrap();
    let (choice, options) = (Choice::One(fit::Family::Exponential), fit::Options::default());
    let mut fitted = None;
    counted_region(&mut || fitted = Some(fit(black_box(&log), choice, &options)));
    black_box(fitted.unwrap().unwrap());
}

fn read_problem() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/shop-ads.toml");
    let text = std::fs::read_to_string(path).unwrap();
    let mut problem = None;
    counted_region(&mut || problem = Some(Problem::from_toml(black_box(&text), &NoFiles)));
    black_box(problem.unwrap().unwrap());
}
