//! Daily loops and simulations of tasks that complete more than once in a round.

use outlay::ledger::{Entry, Ledger, Settings};
use outlay::problem::NoFiles;
use outlay::{Oracle, Problem};
use serde_json::Value;

use super::daily::{command, done, fresh, refused};
use super::{root, run};

const PROBLEM: &str = "crates/outlay-cli/tests/cli/data/counts.toml";

fn problem() -> Problem {
    let text = std::fs::read_to_string(root().join(PROBLEM)).unwrap();
    Problem::from_toml(&text, &NoFiles).unwrap()
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn a_loop_with_counts_gives_the_splits_of_the_library() {
    let state = fresh("counts");
    done(&command(&format!("new STATE --problem {PROBLEM}"), &state, ""));
    let mut ledger = Ledger::new(&problem(), Settings::default()).unwrap();
    for round in 1..=12 {
        let printed = json(&done(&command("next STATE --format json", &state, "")));
        let issued = ledger.next(None, &[]).unwrap();
        let spends: Vec<f64> =
            issued.allocation.spend.iter().map(|spend| 0.5 * spend.floor()).collect();
        for (task, spend) in issued.allocation.spend.iter().enumerate() {
            assert_eq!(printed["tasks"][task]["spend"].as_f64(), Some(*spend), "round {round}");
        }
        let entries = [
            Entry { round, task: 0, completions: 0, reward: None, spend: Some(spends[0]) },
            Entry { round, task: 1, completions: 17, reward: Some(200.25), spend: Some(spends[1]) },
        ];
        ledger.report(&entries).unwrap();
        let csv = format!(
            "round,task,completions,reward,spend\n{round},search,0,,{}\n{round},video,17,200.25,{}\n",
            spends[0], spends[1]
        );
        done(&command("tell STATE -", &state, &csv));
    }
    assert_eq!(std::fs::read_to_string(&state).unwrap(), ledger.to_json());
    let status = json(&done(&command("status STATE --format json", &state, "")));
    let (video, expected) = (&status["tasks"][1], ledger.status().unwrap());
    assert_eq!(video["completed"], 12 * 17);
    assert_eq!(video["mean"].as_f64(), Some(12.0 * 200.25 / (12.0 * 17.0)));
    let delivery = expected.tasks[1].delivery.unwrap();
    assert_eq!(video["delivered"].as_f64(), delivery.share());
    assert_eq!(video["proposed_max"].as_f64(), delivery.proposed_max);
    assert!(delivery.proposed_max.is_some());
    let table = done(&command("status STATE", &state, ""));
    assert!(table.contains("delivered"), "{table}");
    assert!(table.contains("(!) video: spent only "), "{table}");
    assert!(table.contains("(!) video: 204 completions in 12 rounds, but its curve"), "{table}");
}

#[test]
fn the_form_of_a_round_has_the_column_completions() {
    let state = fresh("count-form");
    done(&command(&format!("new STATE --problem {PROBLEM}"), &state, ""));
    let form = done(&command("next STATE --format csv", &state, ""));
    assert!(form.starts_with("round,task,spend,completions,reward\n1,search,"), "{form}");
    // The spend of the form is the allocated one. Passed back, it is the reported spend.
    let filled = form.replace(",,", ",3,2.5");
    assert_eq!(
        done(&command("tell STATE -", &state, &filled)),
        "2 outcomes recorded · 0 rounds open\n"
    );
    let status = json(&done(&command("status STATE --format json", &state, "")));
    assert_eq!(status["tasks"][1]["delivered"].as_f64(), Some(1.0));
}

#[test]
fn counts_without_a_volume_are_refused() {
    let state = fresh("no-volume");
    done(&command("new STATE --problem examples/ad-channels/ad-channels.toml", &state, ""));
    done(&command("next STATE", &state, ""));
    let before = std::fs::read(&state).unwrap();
    let both = "round,task,completed,completions,reward\n1,search,1,1,0.5\n";
    for (input, expected) in [
        (
            "round,task,completions,reward\n1,search,2,0.5\n1,video,1.5,1\n",
            "error: standard input has 2 errors\n  \
             line 3: completions: must be a whole number of at least 0, not \"1.5\"\n  \
             line 2: completions of search: must be at most 1, not 2; tasks that complete more \
             often need a volume in the problem\n",
        ),
        (both, "error: the file has both completed and completions: delete one of the columns\n"),
    ] {
        assert_eq!(refused(&command("tell STATE -", &state, input)), expected);
    }
    assert_eq!(std::fs::read(&state).unwrap(), before);
    // One completion may be written as a count.
    let one = "round,task,completions,reward\n1,search,1,0.5\n";
    assert_eq!(done(&command("tell STATE -", &state, one)), "1 outcome recorded · 1 round open\n");
}

/// The regret of a split of equal spends is the difference of the values, which volumes scale.
#[test]
fn simulated_regret_has_the_volumes() {
    let problem = problem();
    let values = problem.values().unwrap();
    let mut oracle = Oracle::new(&problem);
    let best = oracle.allocate(&values, 100.0, &outlay::Options::default()).unwrap().value;
    let even = outlay::plan::value_of(&problem, &values, &[50.0, 50.0]);
    let output = run(
        &[
            "simulate",
            PROBLEM,
            "--learner",
            "uniform",
            "--horizon",
            "50",
            "--replications",
            "3",
            "--format",
            "json",
            "--quiet",
        ],
        "",
    );
    let record = json(&done(&output));
    let text = record.to_string();
    let regret = record.pointer("/learners/0/regret/mean").and_then(Value::as_f64);
    let regret = regret.unwrap_or_else(|| panic!("{text}"));
    assert!((regret - 50.0 * (best - even)).abs() < 1e-6 * best, "{regret} {best} {even}");
}
