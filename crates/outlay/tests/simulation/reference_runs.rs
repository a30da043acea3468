//! Runs of an independent implementation of the same protocol, round for round:
//! `data/reference_runs.json`.

use std::sync::atomic::AtomicBool;

use outlay::Problem;
use outlay::instance::Instance;
use outlay::learner::LearnerSpec;
use outlay::random::{Draws, Purpose};
use outlay::simulation::{Play, Replication};
use serde_json::Value;

use crate::support::{bound, confidence};

fn fixtures() -> Value {
    serde_json::from_str(include_str!("../data/reference_runs.json")).unwrap()
}

/// The instances under their names here.
fn instance(name: &str) -> Instance {
    let ours = match name {
        "sqrt_fix" => "square-roots:means=0.6;0.4",
        "power5" => "power",
        "mset" => "m-set",
        "satlin5" => "saturating-jobs",
        "pairs2" => "theorem-4:pairs=2",
        other => panic!("unknown instance {other}"),
    };
    ours.parse().unwrap()
}

fn learner(name: &str) -> LearnerSpec {
    let ours = match name {
        "full_alg1" => "full",
        "hoef_delta" => "hoeffding",
        "kl_mix" => "kl-ucb-mixture",
        other => other,
    };
    ours.parse().unwrap()
}

fn play(problem: &Problem, learner: &LearnerSpec, horizon: u64, seed: u64) -> Replication {
    let feedback = learner.entry().feedback;
    let play = Play { problem, learner: &(*learner).into(), feedback, horizon, seed };
    let run = play.run(&AtomicBool::new(false)).unwrap().unwrap();
    bound::assert_worst_case_bound(learner, &run, horizon);
    assert_eq!(confidence::failure(&play, &run), None);
    run
}

#[test]
fn every_run_is_the_same() {
    let fixtures = fixtures();
    let rows = fixtures["runs"]["rows"].as_array().unwrap();
    assert!(rows.len() >= 25);
    for row in rows {
        let (name, who) = (row[0].as_str().unwrap(), row[1].as_str().unwrap());
        let (horizon, seed) = (row[2].as_u64().unwrap(), row[3].as_u64().unwrap());
        let problem = instance(name).problem(horizon, seed).unwrap();
        let run = play(&problem, &learner(who), horizon, seed);
        let completions: Vec<u64> =
            row[5].as_array().unwrap().iter().map(|count| count.as_u64().unwrap()).collect();
        assert_eq!(run.completions, completions, "{name} {who}");
        let (regret, mass) = (row[4].as_f64().unwrap(), row[6].as_f64().unwrap());
        // The fixture has ten digits.
        assert!(
            (run.regret - regret).abs() < 1e-6,
            "{name} {who}: {} instead of {regret}",
            run.regret
        );
        assert!(
            (run.success_mass - mass).abs() < 1e-5,
            "{name} {who}: {} instead of {mass}",
            run.success_mass
        );
    }
}

#[test]
fn every_random_number_is_the_same() {
    let purposes = [Purpose::Completion, Purpose::Reward, Purpose::Learner];
    for row in fixtures()["uniform"]["rows"].as_array().unwrap() {
        let whole = |column: usize| row[column].as_u64().unwrap();
        let uniform = Draws::new(whole(0), purposes[whole(1) as usize])
            .round(whole(2))
            .uniform(whole(3) as usize);
        assert_eq!(uniform, row[4].as_f64().unwrap());
    }
}
