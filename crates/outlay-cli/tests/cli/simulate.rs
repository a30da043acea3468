//! `outlay simulate`: runs that are killed, stopped, extended or refused, without effect on
//! results.

use std::path::{Path, PathBuf};
use std::process::{Child, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{outlay, root, run, text};

/// A run long enough to be interrupted several times, yet short enough for a test.
const LONG: &str = "simulate power --learner algorithm-1 --learner uniform --horizon 10000 --replications 60 --seed 3";

/// The path of a folder for one test, which does not exist yet.
fn fresh(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("simulate").join(name);
    let _ = std::fs::remove_dir_all(&path);
    path
}

/// The words of a command, with `--out`.
fn words<'a>(command: &'a str, out: &'a Path) -> Vec<&'a str> {
    command.split(' ').chain(["--out", out.to_str().unwrap()]).collect()
}

fn simulate(command: &str, out: &Path) -> Output {
    run(&words(command, out), "")
}

#[track_caller]
fn succeeds(output: &Output) {
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

#[track_caller]
fn refuses(output: &Output, message: &str) {
    assert_eq!(text(&output.stderr), message);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(2), ""));
}

fn start(command: &str, out: &Path) -> Child {
    outlay(&words(command, out))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn lines_kept(out: &Path) -> usize {
    std::fs::read(out.join("replications.jsonl"))
        .map_or(0, |bytes| bytes.iter().filter(|byte| **byte == b'\n').count())
}

/// Waits until this many replications are saved.
fn wait_for(out: &Path, lines: usize) {
    let started = Instant::now();
    while lines_kept(out) < lines {
        assert!(started.elapsed() < Duration::from_secs(60), "only {} lines", lines_kept(out));
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn file(out: &Path, name: &str) -> String {
    std::fs::read_to_string(out.join(name)).unwrap()
}

/// All result files of a run.
fn results(out: &Path) -> [String; 4] {
    ["results.json", "results.csv", "curves.csv", "report.html"].map(|name| file(out, name))
}

#[test]
fn a_killed_run_resumes_to_the_same_results() {
    let (whole, killed) = (fresh("whole"), fresh("killed"));
    succeeds(&simulate(LONG, &whole));
    for kill in 1..=4 {
        let kept = lines_kept(&killed);
        let mut child = start(LONG, &killed);
        wait_for(&killed, kept + 8);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(lines_kept(&killed) < 120, "kill {kill} came too late to test anything");
        assert!(!killed.join("results.json").exists());
    }
    let kept = lines_kept(&killed);
    let last = simulate(LONG, &killed);
    succeeds(&last);
    assert!(
        text(&last.stderr)
            .starts_with(&format!("resuming: {kept} of 120 replications are already finished\n")),
        "{}",
        text(&last.stderr)
    );
    assert_eq!(results(&killed), results(&whole));
    assert_eq!(lines_kept(&killed), 120);
}

#[test]
fn results_do_not_depend_on_threads() {
    let of_threads = |threads: &str| {
        let out = fresh(&format!("threads-{threads}"));
        succeeds(&simulate(
            &format!("simulate power --horizon 300 --replications 12 --threads {threads}"),
            &out,
        ));
        results(&out)
    };
    let one = of_threads("1");
    assert_eq!(of_threads("2"), one);
    assert_eq!(of_threads("8"), one);
}

#[test]
fn a_torn_last_line_is_played_again() {
    let command = "simulate power --horizon 100 --replications 5";
    let out = fresh("torn");
    succeeds(&simulate(command, &out));
    let (before, checkpoint) = (results(&out), file(&out, "replications.jsonl"));
    for torn in [checkpoint.len() - 1, checkpoint.len() - 40] {
        std::fs::write(out.join("replications.jsonl"), &checkpoint[..torn]).unwrap();
        let again = simulate(command, &out);
        succeeds(&again);
        assert!(
            text(&again.stderr)
                .starts_with("resuming: 14 of 15 replications are already finished\n"),
            "{}",
            text(&again.stderr)
        );
        assert_eq!(results(&out), before);
        assert_eq!(lines_kept(&out), 15);
    }
}

#[test]
fn a_damaged_line_in_the_middle_is_an_error() {
    let command = "simulate power --horizon 100 --replications 5";
    let out = fresh("damaged");
    succeeds(&simulate(command, &out));
    let mut lines: Vec<String> =
        file(&out, "replications.jsonl").lines().map(str::to_owned).collect();
    lines[2].truncate(10);
    std::fs::write(out.join("replications.jsonl"), lines.join("\n") + "\n").unwrap();
    let message =
        "replications.jsonl line 3 cannot be read: remove the line to run its replication again";
    refuses(&simulate(command, &out), &format!("error: {}/{message}\n", out.display()));
}

#[test]
fn a_complete_run_prints_its_results_again() {
    let command = "simulate power --horizon 100 --replications 5 --format json";
    let out = fresh("again");
    let first = simulate(command, &out);
    succeeds(&first);
    std::fs::remove_file(out.join("report.html")).unwrap();
    let second = simulate(command, &out);
    assert_eq!(second.stdout, first.stdout);
    assert!(text(&second.stderr).starts_with("all 15 replications are already finished\n"));
    assert!(out.join("report.html").exists());
    assert_eq!(text(&first.stdout), file(&out, "results.json"));
    assert_eq!(
        run(&words(command, &out)[..8], "").stdout,
        first.stdout,
        "the output without --out differs"
    );
}

#[test]
fn more_replications_extend_a_run_and_fewer_use_its_first() {
    let of = |replications: u64, out: &Path| {
        let output =
            simulate(&format!("simulate power --horizon 100 --replications {replications}"), out);
        succeeds(&output);
        (text(&output.stderr).lines().next().unwrap().to_owned(), results(out))
    };
    let (grown, whole, small) = (fresh("grown"), fresh("grown-whole"), fresh("grown-small"));
    of(4, &grown);
    let (message, results) = of(9, &grown);
    assert_eq!(message, "resuming: 12 of 27 replications are already finished");
    assert_eq!(results, of(9, &whole).1);
    assert_eq!(of(4, &grown).1, of(4, &small).1);
    assert_eq!(lines_kept(&grown), 27);
}

#[test]
fn another_run_is_left_alone() {
    let out = fresh("other");
    succeeds(&simulate("simulate power --horizon 100 --replications 2", &out));
    let record = file(&out, "run.json");
    let refuses_command = |command: &str, difference: &str| {
        let message = format!(
            "error: {} contains another run: {difference}; use another --out or remove it\n",
            out.display()
        );
        refuses(&simulate(command, &out), &message);
        assert_eq!(file(&out, "run.json"), record);
        assert_eq!(lines_kept(&out), 6);
    };
    refuses_command("simulate power --horizon 200 --replications 2", "horizon 100, not 200");
    refuses_command("simulate power --horizon 100 --replications 2 --seed 5", "seed 1, not 5");
    refuses_command(
        "simulate power --horizon 100 --learner algorithm-1",
        "learners kl-ucb-plus algorithm-1 uniform, not algorithm-1",
    );
    refuses_command(
        "simulate m-set --horizon 100 --feedback censored",
        "feedback as needed, not censored; problems power, not m-set",
    );
}

#[test]
fn a_changed_problem_is_another_run() {
    let out = fresh("changed");
    let with_mean = |mean: f64| {
        let problem = format!(
            "[[task]]\ncurve = {{ family = 'power', exponent = 0.5 }}\nreward = {{ law = 'bernoulli', mean = {mean} }}\n"
        );
        run(&words("simulate - --horizon 50 --replications 2", &out), &problem)
    };
    succeeds(&with_mean(0.5));
    succeeds(&with_mean(0.5));
    let message = format!(
        "error: {} contains another run: another problem stdin; use another --out or remove it\n",
        out.display()
    );
    refuses(&with_mean(0.6), &message);
}

#[test]
fn files_of_others_are_left_alone() {
    let out = fresh("foreign");
    std::fs::create_dir_all(&out).unwrap();
    std::fs::write(out.join("results.csv"), "mine").unwrap();
    let message = format!(
        "error: {} contains a results.csv that does not belong to a run; use another --out\n",
        out.display()
    );
    refuses(&simulate("simulate power --horizon 100 --replications 2", &out), &message);
    assert_eq!(std::fs::read_dir(&out).unwrap().count(), 1);
}

#[test]
fn an_unwritable_place_is_an_error() {
    let file = fresh("a-file");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "").unwrap();
    let output = simulate("simulate power --horizon 100 --replications 2", &file);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).starts_with("error: cannot "), "{}", text(&output.stderr));
}

#[test]
fn two_processes_do_not_share_a_folder() {
    let out = fresh("two");
    let mut first = start(LONG, &out);
    wait_for(&out, 1);
    let message = format!(
        "error: another run is writing to {}: wait until it ends, or use another --out\n",
        out.display()
    );
    refuses(&simulate(LONG, &out), &message);
    assert!(first.wait().unwrap().success());
    assert_eq!(lines_kept(&out), 120);
}

#[cfg(unix)]
#[test]
fn an_interrupt_keeps_what_is_finished() {
    let (whole, stopped) = (fresh("uninterrupted"), fresh("interrupted"));
    succeeds(&simulate(LONG, &whole));
    for signal in ["-INT", "-TERM"] {
        let kept = lines_kept(&stopped);
        let child = start(LONG, &stopped);
        wait_for(&stopped, kept + 5);
        std::process::Command::new("kill")
            .args([signal, &child.id().to_string()])
            .status()
            .unwrap();
        let output = child.wait_with_output().unwrap();
        let message = format!(
            "interrupted: {} of 120 replications are saved in {}; the same command resumes the run\n",
            lines_kept(&stopped),
            stopped.display()
        );
        assert!(text(&output.stderr).ends_with(&message), "{}", text(&output.stderr));
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(130), ""));
    }
    succeeds(&simulate(LONG, &stopped));
    assert_eq!(results(&stopped), results(&whole));
}

#[cfg(unix)]
#[test]
fn an_interrupt_without_a_folder_saves_nothing_and_reports_it() {
    let endless = ["simulate", "power", "--horizon", "1000000000", "--format", "json", "--quiet"];
    let child = outlay(&endless).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Whether the signal handler is installed cannot be observed from outside.
    std::thread::sleep(Duration::from_millis(500));
    std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        text(&output.stderr),
        "interrupted: nothing was saved; --out DIR saves finished replications\n"
    );
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(130), ""));
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[track_caller]
fn has_keys(value: &Value, wanted: &str) {
    let found = keys(value);
    for key in wanted.split(' ') {
        assert!(found.contains(&key), "no {key} among {found:?}");
    }
}

#[test]
fn json_has_the_documented_shape() {
    let output = run(
        &"simulate power --learner algorithm-1 --horizon 50 --replications 3 --seed 7 --format json"
            .split(' ')
            .collect::<Vec<_>>(),
        "",
    );
    let run: Value = serde_json::from_slice(&output.stdout).unwrap();
    has_keys(&run, "horizon seed replications optimum learners");
    assert_eq!(
        (&run["horizon"], &run["seed"], &run["replications"]),
        (&50.into(), &7.into(), &3.into())
    );
    has_keys(&run["optimum"], "value spend");
    assert_eq!(run["optimum"]["spend"].as_array().unwrap().len(), 5);
    let learner = &run["learners"][0];
    has_keys(learner, "learner feedback regret realised_regret replications curve");
    assert_eq!(
        (&learner["learner"], &learner["feedback"]),
        (&"algorithm-1".into(), &"censored".into())
    );
    has_keys(&learner["regret"], "mean std_error low95 high95 median");
    has_keys(&learner["realised_regret"], "mean std_error low95 high95 median");
    has_keys(&learner["replications"][0], "seed regret completions success_mass");
    let seeds: Vec<u64> = learner["replications"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["seed"].as_u64().unwrap())
        .collect();
    assert_eq!(seeds, [7, 8, 9]);
    assert_eq!(learner["replications"][0]["completions"].as_array().unwrap().len(), 5);
    has_keys(&learner["curve"][0], "round mean low95 high95 q10 q90");
    let last = learner["curve"].as_array().unwrap().last().unwrap();
    assert_eq!((&last["round"], &last["mean"]), (&50.into(), &learner["regret"]["mean"]));
}

#[test]
fn several_problems_are_runs_in_one_object() {
    let output = run(
        &"simulate power m-set --learner algorithm-1 --horizon 50 --replications 2 --format json"
            .split(' ')
            .collect::<Vec<_>>(),
        "",
    );
    let several: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(keys(&several), ["runs"]);
    let names: Vec<&Value> =
        several["runs"].as_array().unwrap().iter().map(|run| &run["problem"]).collect();
    assert_eq!(names, ["power", "m-set"]);
    let output = run(
        &"simulate power --learner algorithm-1 --horizon 50 --replications 2 --format json"
            .split(' ')
            .collect::<Vec<_>>(),
        "",
    );
    assert_eq!(serde_json::from_slice::<Value>(&output.stdout).unwrap(), several["runs"][0]);
}

#[test]
fn json_and_csv_leave_no_files() {
    let here = fresh("no-files");
    std::fs::create_dir_all(&here).unwrap();
    for format in ["json", "csv"] {
        let output = outlay(&[
            "simulate",
            "power",
            "--horizon",
            "50",
            "--replications",
            "2",
            "--format",
            format,
        ])
        .current_dir(&here)
        .output();
        succeeds(&output.unwrap());
    }
    assert_eq!(std::fs::read_dir(&here).unwrap().count(), 0);
}

#[test]
fn a_table_leaves_a_report_in_runs() {
    let here = fresh("default-folder");
    std::fs::create_dir_all(&here).unwrap();
    let output = outlay(&["simulate", "m-set:tasks=4", "--horizon", "50", "--replications", "2"])
        .current_dir(&here)
        .output()
        .unwrap();
    succeeds(&output);
    let path = text(&output.stderr).trim_end().strip_prefix("report: ").unwrap();
    assert!(path.starts_with("runs/m-set-tasks-4-") && path.ends_with("/report.html"), "{path}");
    assert!(here.join(path).exists());
}

#[test]
fn the_command_reproduces_an_independent_implementation() {
    let fixtures =
        std::fs::read_to_string(root().join("crates/outlay/tests/data/reference_runs.json"))
            .unwrap();
    let fixtures: Value = serde_json::from_str(&fixtures).unwrap();
    let mut compared = 0;
    for row in fixtures["runs"]["rows"].as_array().unwrap() {
        let name = row[0].as_str().unwrap();
        let problem = format!("crates/outlay-cli/tests/cli/data/reference/{name}.toml");
        if !root().join(&problem).exists() {
            continue;
        }
        let learner = match row[1].as_str().unwrap() {
            "full_alg1" => "full",
            "hoef_delta" => "hoeffding",
            "kl_mix" => "kl-ucb-mixture",
            other => other,
        };
        let (horizon, seed) = (row[2].to_string(), row[3].to_string());
        let command = format!(
            "simulate {problem} --learner {learner} --horizon {horizon} --seed {seed} --replications 1 --format json"
        );
        let output = run(&command.split(' ').collect::<Vec<_>>(), "");
        let result: Value = serde_json::from_slice(&output.stdout).unwrap();
        let replication = &result["learners"][0]["replications"][0];
        assert_eq!(replication["completions"], row[5], "{name} {learner}");
        let difference = replication["regret"].as_f64().unwrap() - row[4].as_f64().unwrap();
        assert!(difference.abs() < 1e-6, "{name} {learner}: off by {difference}");
        compared += 1;
    }
    assert_eq!(compared, 20);
}

#[test]
fn an_experiment_file_is_equivalent_to_flags() {
    let folder = fresh("experiment");
    std::fs::create_dir_all(&folder).unwrap();
    let problem = "[[task]]\ncurve = { family = 'power', exponent = 0.5 }\nvalue = 0.5\n[[task]]\ncurve = { family = 'power', exponent = 0.4 }\nvalue = 0.3\n";
    std::fs::write(folder.join("two.toml"), problem).unwrap();
    let experiment = "problem = 'two.toml'\nlearners = ['algorithm-1', 'epsilon-greedy:epsilon=0.1']\nhorizon = 80\nreplications = 3\nseed = 4\n\
        out = 'kept'\n[grid]\nparameter = 'task[*].curve.exponent'\nvalues = [0.3, 0.6]\n";
    std::fs::write(folder.join("plan.toml"), experiment).unwrap();
    let (experiment, problem) = (folder.join("plan.toml"), folder.join("two.toml"));
    let from_file =
        run(&["simulate", "--experiment", experiment.to_str().unwrap(), "--format", "json"], "");
    succeeds(&from_file);
    assert!(folder.join("kept/report.html").exists());
    let flags = "--learner algorithm-1,epsilon-greedy:epsilon=0.1 --horizon 80 --replications 3 --seed 4 --grid task[*].curve.exponent=0.3,0.6";
    let arguments = ["simulate", problem.to_str().unwrap(), "--format", "json"]
        .into_iter()
        .chain(flags.split(' '));
    assert_eq!(run(&arguments.collect::<Vec<_>>(), "").stdout, from_file.stdout);
    let result: Value = serde_json::from_slice(&from_file.stdout).unwrap();
    assert_eq!(result["runs"][1]["parameter"], serde_json::json!(["task[*].curve.exponent", 0.6]));
    assert_eq!(result["runs"][1]["problem"], "two");
    let other = folder.join("other");
    let overridden = [
        "simulate",
        "--experiment",
        experiment.to_str().unwrap(),
        "--replications",
        "2",
        "--format",
        "json",
        "--out",
    ];
    let overridden =
        run(&overridden.into_iter().chain([other.to_str().unwrap()]).collect::<Vec<_>>(), "");
    let result: Value = serde_json::from_slice(&overridden.stdout).unwrap();
    assert_eq!(result["runs"][0]["replications"], 2);
}

#[test]
fn a_grid_over_horizons_contains_all_of_them() {
    let output = run(
        &"simulate power --learner algorithm-1 --grid horizon=40,80 --replications 2 --format json"
            .split(' ')
            .collect::<Vec<_>>(),
        "",
    );
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&result["runs"][0]["horizon"], &result["runs"][1]["horizon"]),
        (&40.into(), &80.into())
    );
    assert_eq!(result["runs"][1]["parameter"], serde_json::json!(["horizon", 80.0]));
}

/// The tables of the README and the guide. They cannot be snapshots, because speeds differ between
/// machines and the command writes files.
#[test]
fn tables_in_the_documentation_match_the_program() {
    let mut compared = 0;
    for document in ["README.md", "docs/how-to/simulate.md"] {
        let document = std::fs::read_to_string(root().join(document)).unwrap();
        for block in document.split("```text\n$ outlay ").skip(1) {
            let (command, shown) = block.split("```").next().unwrap().split_once('\n').unwrap();
            let output = simulate(command, &fresh(&format!("documented-{compared}")));
            succeeds(&output);
            // Compares words without the last column: speeds vary, and change the widths of columns
            // too.
            let words = |table: &str| -> Vec<String> {
                let without_speed = |line: &str| {
                    let mut words: Vec<&str> = line.trim_matches('─').split_whitespace().collect();
                    if !line.contains(" · ") {
                        words.pop();
                    }
                    words.join(" ")
                };
                table.lines().map(without_speed).collect()
            };
            let expected: Vec<String> =
                words(shown).into_iter().filter(|line| !line.starts_with("report:")).collect();
            assert_eq!(
                expected.join("\n").trim(),
                words(text(&output.stdout)).join("\n").trim(),
                "{command}"
            );
            compared += 1;
        }
    }
    assert!(compared >= 2, "only {compared} tables were found");
}

/// A folder written by an earlier version, when learners had other names. The run resumes under the
/// old and the new names, with the regrets of the earlier version.
#[test]
fn a_run_of_an_earlier_version_resumes() {
    let data = root().join("crates/outlay-cli/tests/cli/data/renamed-learners");
    let experiment = data.join("experiment.toml");
    let old = format!("simulate --experiment {}", experiment.display());
    let new = "simulate power:tasks=3 --horizon 50 --replications 2 --seed 5 \
               --learner kl-ucb-plus,kl-ucb-plus:c=0.7,algorithm-1,kl-ucb-mixture,kl-ucb";
    for (name, command) in [("old-names", old.as_str()), ("present-names", new)] {
        let out = fresh(name);
        std::fs::create_dir_all(&out).unwrap();
        for file in ["run.json", "replications.jsonl"] {
            std::fs::copy(data.join("run").join(file), out.join(file)).unwrap();
        }
        assert_eq!(lines_kept(&out), 6);
        let words: Vec<&str> =
            command.split_whitespace().chain(["--out", out.to_str().unwrap()]).collect();
        succeeds(&run(&words, ""));
        assert_eq!(lines_kept(&out), 10);
        let results: Value = serde_json::from_str(&file(&out, "results.json")).unwrap();
        let expected = [
            ("kl-ucb-plus", 2.0813108481378544),
            ("kl-ucb-plus:c=0.7", 1.9793722038434867),
            ("algorithm-1", 3.6763636697672),
            ("kl-ucb-mixture", 3.6933979555322938),
            ("kl-ucb", 2.5296059586027586),
        ];
        let learners = results["learners"].as_array().unwrap();
        assert_eq!(learners.len(), expected.len());
        for (learner, (name, regret)) in learners.iter().zip(expected) {
            assert_eq!(learner["learner"], name);
            let found = learner["regret"]["mean"].as_f64().unwrap();
            // The last digits may differ between versions of the oracle.
            assert!((found - regret).abs() <= 1e-9 * regret, "{name}: {found} {regret}");
        }
    }
}
