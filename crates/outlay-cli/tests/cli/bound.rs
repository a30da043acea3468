//! `outlay bound --run`: a run's regret next to its bounds; folders without a run or with a
//! different one.

use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::Value;

use super::{run, text};

/// The path of a folder for one test, which does not exist yet.
fn fresh(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bound").join(name);
    let _ = std::fs::remove_dir_all(&path);
    path
}

fn outlay(command: &str, flag: &str, folder: &Path) -> Output {
    let words: Vec<&str> = command.split(' ').chain([flag, folder.to_str().unwrap()]).collect();
    run(&words, "")
}

#[track_caller]
fn simulated(command: &str, name: &str) -> PathBuf {
    let folder = fresh(name);
    let output = outlay(&format!("simulate {command} --quiet"), "--out", &folder);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    folder
}

#[track_caller]
fn bounds(command: &str, folder: &Path) -> Value {
    let output = outlay(&format!("bound {command} --format json"), "--run", folder);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[track_caller]
fn refuses(command: &str, folder: &Path, message: &str) {
    let output = outlay(&format!("bound {command}"), "--run", folder);
    assert_eq!(text(&output.stderr), format!("error: {}{message}\n", folder.display()));
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(2), ""));
}

#[test]
fn a_run_is_compared_with_its_own_bound() {
    let folder = simulated(
        "examples/shop-ads.toml --learner algorithm-1,kl-ucb-plus,uniform --horizon 300 --replications 4",
        "shop",
    );
    let found = bounds("examples/shop-ads.toml --horizon 300", &folder);
    let results: Value =
        serde_json::from_str(&std::fs::read_to_string(folder.join("results.json")).unwrap())
            .unwrap();
    let learners = found["run"]["learners"].as_array().unwrap();
    assert_eq!(learners.len(), 3);
    for (learner, played) in learners.iter().zip(results["learners"].as_array().unwrap()) {
        assert_eq!(learner["learner"], played["learner"]);
        assert_eq!(learner["regret_mean"], played["regret"]["mean"]);
        assert_eq!(learner["replications"], 4);
        let masses: Vec<f64> = played["replications"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["success_mass"].as_f64().unwrap())
            .collect();
        assert!(
            (learner["success_mass"].as_f64().unwrap() - masses.iter().sum::<f64>() / 4.0).abs()
                < 1e-9
        );
    }
    let reward_max = found["reward_max"].as_f64().unwrap();
    assert!(reward_max > 1.0, "the unit of reward shows only if it is not 1");
    let paper = &learners[0];
    let mass = paper["success_mass"].as_f64().unwrap();
    let log_term = (2.0f64 * 36.0 * 300.0 * 300.0).ln();
    let expected = reward_max * (1.0 + 4.0 * (6.0 * log_term * mass).sqrt());
    assert!((paper["value"].as_f64().unwrap() / expected - 1.0).abs() < 1e-12);
    assert_eq!(paper["bound"], "Theorem 3, this run");
    assert_eq!(
        paper["ratio"].as_f64().unwrap(),
        paper["regret_mean"].as_f64().unwrap() / paper["value"].as_f64().unwrap()
    );
    assert_eq!(
        (&learners[1]["bound"], &learners[2]["bound"]),
        (&Value::from("kl-ucb-plus, any curves"), &Value::Null)
    );
    // The bound for the actual spends is no larger than the one for the largest possible spends.
    let a_priori = found["bounds"]
        .as_array()
        .unwrap()
        .iter()
        .find(|bound| bound["bound"] == "Theorem 3, these curves")
        .unwrap();
    assert!(paper["value"].as_f64().unwrap() <= a_priori["value"].as_f64().unwrap());
}

#[test]
fn a_run_matches_an_equivalent_problem_among_several() {
    let folder = simulated(
        "m-set:plays=2 power --grid horizon=100,200 --learner algorithm-1 --replications 2 --seed 5",
        "several",
    );
    let found = bounds("m-set:plays=2,tasks=10 --horizon 200", &folder);
    let learners = found["run"]["learners"].as_array().unwrap();
    assert_eq!(learners.len(), 1);
    assert_eq!(learners[0]["problem"], "m-set:plays=2 horizon=200");
    refuses(
        "power --horizon 300",
        &folder,
        " is a run over 100 or 200 rounds, not 300: give --horizon",
    );
    refuses(
        "k-armed --horizon 100",
        &folder,
        " is a run of another problem: m-set:plays=2 horizon=100, m-set:plays=2 horizon=200, power horizon=100, power horizon=200",
    );
}

#[test]
fn a_random_instance_uses_the_seed_of_the_run() {
    let folder = simulated(
        "theorem-4:pairs=6 --horizon 100 --learner full --replications 2 --seed 9",
        "drawn",
    );
    assert_eq!(
        bounds("theorem-4:pairs=6 --horizon 100", &folder)["run"]["learners"][0]["learner"],
        "full"
    );
}

#[test]
fn folders_without_a_run() {
    let empty = fresh("empty");
    std::fs::create_dir_all(&empty).unwrap();
    refuses(
        "power",
        &empty,
        " is not the folder of a run: it has no run.json; `outlay simulate --out DIR` creates one",
    );
    refuses(
        "power",
        &fresh("nowhere"),
        " is not the folder of a run: it has no run.json; `outlay simulate --out DIR` creates one",
    );
    std::fs::write(empty.join("run.json"), "{}").unwrap();
    refuses(
        "power",
        &empty,
        "/run.json is not the record of a run (missing field `outlay` at line 1 column 2)",
    );
}

#[test]
fn an_unfinished_run_shows_its_finished_replications() {
    let folder = simulated(
        "power --learner algorithm-1,kl-ucb-plus --horizon 100 --replications 3",
        "going",
    );
    let file = folder.join("replications.jsonl");
    let lines = std::fs::read_to_string(&file).unwrap();
    let first_three: String = lines.split_inclusive('\n').take(3).collect();
    let torn = format!("{first_three}{{\"case\":0,\"lear");
    std::fs::write(&file, &torn).unwrap();
    let found = bounds("power --horizon 100", &folder);
    let counts: Vec<u64> = found["run"]["learners"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["replications"].as_u64().unwrap())
        .collect();
    assert_eq!(counts.iter().sum::<u64>(), 3);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), torn, "reading changed the file");
    // Replications of learners, cases and numbers that do not belong to the run are ignored.
    let odd = first_three.replace("\"case\":0", "\"case\":7");
    std::fs::write(&file, odd).unwrap();
    refuses("power --horizon 100", &folder, " has no finished replications yet");
}
