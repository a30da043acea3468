//! Standard input, standard output, standard error, and closed pipes.

use std::io::Read;
use std::process::Stdio;

use super::{outlay, root, run, text};

#[test]
fn a_problem_comes_from_standard_input() {
    let from_file = run(&["allocate", "examples/m-set.toml", "--format", "json"], "");
    let toml = std::fs::read_to_string(root().join("examples/m-set.toml")).unwrap();
    let from_toml = run(&["allocate", "-", "--format", "json"], &toml);
    assert_eq!(text(&from_toml.stderr), "");
    assert_eq!(from_toml.stdout, from_file.stdout);
}

#[test]
fn json_on_standard_input_is_recognised() {
    let json = r#"
        { "budget": 4, "task": [ { "name": "job", "curve": { "family": "threshold", "at": 3 }, "value": 0.5 } ] }"#;
    let output = run(&["allocate", "-", "--format", "csv", "--quiet"], json);
    assert_eq!(text(&output.stderr), "");
    assert_eq!(
        text(&output.stdout),
        "task,spend,share,success,expected_completions,expected_reward,marginal_return,return_up,return_down,return_on_spend,cost_per_completion,bound\n\
         job,3.0,0.75,1.0,1.0,0.5,0.0,0.0,0.16666666666666666,0.16666666666666666,3.0,\n"
    );
}

#[test]
fn files_of_a_problem_on_standard_input_are_relative_to_here() {
    let toml = "budget = 300\n[[task]]\nname = 'console'\nvalue = 1\n\
        curve = { family = 'empirical', file = 'examples/data/ebay_closing_prices.csv', column = 'closing_price' }\n";
    assert_eq!(text(&run(&["allocate", "-"], toml).stderr), "");
}

#[test]
fn a_plan_comes_from_standard_input() {
    let plan = "task,spend\nsmall,2\nlarge,6\nside,0\n";
    let output =
        run(&["evaluate", "crates/outlay-cli/tests/cli/data/jobs.toml", "--plan", "-"], plan);
    assert_eq!(text(&output.stderr), "");
    assert!(text(&output.stdout).contains("no better split than the plan"));
}

#[test]
fn evaluate_reads_the_plans_of_allocate() {
    let allocation =
        run(&["allocate", "examples/ad-channels/ad-channels.toml", "--format", "csv"], "");
    let output = run(
        &["evaluate", "examples/ad-channels/ad-channels.toml", "--plan", "-"],
        text(&allocation.stdout),
    );
    assert_eq!(output.status.code(), Some(0));
    assert!(
        text(&output.stdout).contains("no better split than the plan"),
        "{}",
        text(&output.stdout)
    );
}

/// The price of a curve that is almost flat at the budget underflows: it is zero in every format
/// and on the page.
#[test]
fn prices_that_underflow_are_printed_as_zero() {
    let problem = "budget = 735\nhorizon = 10\n[[task]]\nname = 'ad'\nvalue = 1\ncurrent = 700\n\
        curve = { family = 'exponential', scale = 1 }\n";
    let table = run(&["allocate", "-", "--leftover", "spend"], problem);
    assert!(text(&table.stdout).contains("price 0 per unit"), "{}", text(&table.stdout));
    for command in ["allocate", "evaluate", "frontier"] {
        for format in ["table", "json", "csv"] {
            let output = run(&[command, "-", "--leftover", "spend", "--format", format], problem);
            let printed = text(&output.stdout);
            let words = printed
                .split(|character: char| character.is_whitespace() || ",:".contains(character));
            let subnormal = words
                .filter_map(|word| word.parse::<f64>().ok())
                .find(|number| number.is_subnormal());
            assert_eq!(subnormal, None, "{command} {format}: {printed}");
            assert!(output.status.success(), "{command} {format}: {}", text(&output.stderr));
        }
    }
}

#[test]
fn every_example_can_be_checked_and_allocated() {
    for entry in std::fs::read_dir(root().join("examples")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            for command in ["check", "allocate", "frontier"] {
                let output = run(&[command, path.to_str().unwrap()], "");
                assert_eq!(text(&output.stderr), "", "{command} {}", path.display());
                assert_eq!(output.status.code(), Some(0));
            }
        }
    }
}

#[test]
fn json_is_json_with_the_documented_keys() {
    let output =
        run(&["allocate", "examples/ad-channels/ad-channels.toml", "--format", "json"], "");
    let record: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let keys = |value: &serde_json::Value| {
        value.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(
        keys(&record),
        "budget value upper_bound gap price status unspent unspent_reason tasks"
    );
    assert_eq!(
        keys(&record["tasks"][0]),
        "task spend share success expected_completions expected_reward marginal_return return_up return_down return_on_spend cost_per_completion bound"
    );
}

#[test]
fn numbers_survive_json() {
    let output =
        run(&["allocate", "examples/ad-channels/ad-channels.toml", "--format", "json"], "");
    let record: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let spends: Vec<f64> = record["tasks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|task| task["spend"].as_f64().unwrap())
        .collect();
    assert!((spends.iter().sum::<f64>() - 1000.0).abs() <= 8.0 * f64::EPSILON * 1000.0);
}

#[test]
fn an_infinite_marginal_return_is_null() {
    let toml = "[[task]]\nname = 'one'\nvalue = 1\nmax = 0\ncurve = { family = 'power', exponent = 0.5 }\n";
    let output = run(&["allocate", "-", "--format", "json"], toml);
    assert!(
        text(&output.stdout).contains(r#""marginal_return": null"#),
        "{}",
        text(&output.stdout)
    );
}

#[test]
fn rounding_adds_its_keys() {
    let output = run(
        &[
            "allocate",
            "examples/ad-channels/ad-channels.toml",
            "--round",
            "0.01",
            "--format",
            "json",
        ],
        "",
    );
    let record: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let rounding = record["rounding"].as_object().unwrap();
    assert_eq!(
        rounding.keys().collect::<Vec<_>>(),
        ["unit", "value_before", "loss", "upper_bound", "moved_bounds"]
    );
    let cents = |task: &serde_json::Value| (task["spend"].as_f64().unwrap() * 100.0).round() as i64;
    assert_eq!(record["tasks"].as_array().unwrap().iter().map(cents).sum::<i64>(), 100_000);
    assert!(rounding["loss"].as_f64().unwrap() < 1e-6);
}

#[test]
fn a_closed_pipe_is_no_error() {
    let mut child = outlay(&["allocate", "-", "--format", "csv"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The pipe is closed before the program writes anything, because it still waits for the
    // problem.
    drop(child.stdout.take());
    let toml = "[[task]]\nname = 'one'\nvalue = 1\ncurve = { family = 'exponential', scale = 1 }\n";
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), toml.as_bytes()).unwrap();
    let mut message = String::new();
    child.stderr.take().unwrap().read_to_string(&mut message).unwrap();
    assert_eq!(message, "");
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn colours_never_reach_a_file() {
    let output = run(&["allocate", "examples/ad-channels/ad-channels.toml"], "");
    assert!(!text(&output.stdout).contains('\u{1b}'));
    assert!(!text(&run(&["allocate"], "").stderr).contains('\u{1b}'));
}
