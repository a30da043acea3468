//! Bad usage and bad input: exit code 2, one clear message on standard error, nothing on standard
//! output.

use super::{run, text};

const JOBS: &str = "crates/outlay-cli/tests/cli/data/jobs.toml";

/// Checks that `outlay` with these arguments and this input fails with exactly this message.
#[track_caller]
fn refuses(arguments: &[&str], input: &str, message: &str) {
    let output = run(arguments, input);
    assert_eq!(text(&output.stderr), message);
    assert_eq!(text(&output.stdout), "");
    assert_eq!(output.status.code(), Some(2));
}

/// The same for a usage error, whose message ends with clap's hint.
#[track_caller]
fn refuses_usage(arguments: &[&str], message: &str) {
    refuses(arguments, "", &format!("error: {message}\n\nFor more information, try '--help'.\n"));
}

#[test]
fn all_errors_of_a_problem_are_reported_together() {
    let problem = "\
budget = -5
[[task]]
name = 'one'
curve = { family = 'hill', half_at = -3, steepness = 2 }
[[task]]
name = 'one'
curve = { family = 'exponential', scale = 1 }
value = -1
";
    for command in ["check", "allocate", "evaluate", "frontier"] {
        let output = run(&[command, "-"], problem);
        let message = text(&output.stderr);
        assert!(message.starts_with("error: standard input has 4 errors\n"), "{message}");
        assert!(message.contains("\n  budget: must be positive and finite, not -5\n"), "{message}");
        assert!(
            message.contains("\n  task[0].curve.half_at: must be positive and finite, not -3\n"),
            "{message}"
        );
        assert!(
            message.contains("\n  task[1].value: must be finite and not negative, not -1\n"),
            "{message}"
        );
        assert_eq!(text(&output.stdout), "");
        assert_eq!(output.status.code(), Some(2));
    }
}

#[test]
fn one_error_is_reported_in_the_singular() {
    let problem =
        "budget = inf\n[[task]]\nname = 'one'\ncurve = { family = 'exponential', scale = 1 }\n";
    refuses(
        &["check", "-"],
        problem,
        "error: standard input has 1 error\n  budget: must be positive and finite, not inf\n",
    );
}

#[test]
fn files_that_cannot_be_read() {
    refuses(&["allocate", "nowhere.toml"], "", "error: cannot read nowhere.toml: no such file\n");
    refuses(&["check", "examples"], "", "error: cannot read examples: it is a directory\n");
    refuses(
        &["evaluate", JOBS, "--plan", "nowhere.csv"],
        "",
        "error: cannot read nowhere.csv: no such file\n",
    );
}

#[test]
fn both_inputs_from_one_stream() {
    refuses(
        &["evaluate", "-", "--plan", "-"],
        "",
        "error: the problem and the plan cannot both come from standard input\n",
    );
}

#[test]
fn missing_values() {
    let problem = "[[task]]\nname = 'one'\ncurve = { family = 'exponential', scale = 1 }\n\
        [[task]]\nname = 'two'\ncurve = { family = 'exponential', scale = 1 }\n";
    for command in ["allocate", "frontier"] {
        refuses(
            &[command, "-"],
            problem,
            "error: no value for one, two: give value, reward.mean, or --values\n",
        );
    }
    refuses(
        &["allocate", "-", "--values", "one=1"],
        problem,
        "error: no value for two: give value, reward.mean, or --values\n",
    );
}

#[test]
fn invalid_values() {
    let refuses_values = |values: &str, message: &str| {
        refuses(
            &["allocate", JOBS, "--values", values],
            "",
            &format!("error: --values: {message}\n"),
        )
    };
    refuses_values("1,2", "2 numbers for 3 tasks; use name=number to set only some");
    refuses_values("1,x,2", "x is not a number");
    refuses_values("-1,2,3", "-1 must be finite and not negative");
    refuses_values("1,nan,2", "nan must be finite and not negative");
    refuses_values("smal=1", "no task is named smal; did you mean small?");
    refuses_values("small=1,small=2", "small is given twice");
    refuses_values("small=1,2", "2 has no task; give all values as name=number, or all as numbers");
    refuses_values("small=inf", "small=inf must be finite and not negative");
}

#[test]
fn flags_with_invalid_amounts() {
    refuses_usage(
        &["allocate", JOBS, "--budget", "nan"],
        "invalid value 'nan' for '--budget <BUDGET>': must be finite and not negative",
    );
    refuses_usage(
        &["allocate", JOBS, "--budget", "inf"],
        "invalid value 'inf' for '--budget <BUDGET>': must be finite and not negative",
    );
    refuses_usage(
        &["allocate", JOBS, "--budget", "-1"],
        "invalid value '-1' for '--budget <BUDGET>': must be finite and not negative",
    );
    refuses_usage(
        &["allocate", JOBS, "--budget", "much"],
        "invalid value 'much' for '--budget <BUDGET>': not a number",
    );
    refuses_usage(
        &["allocate", JOBS, "--round", "0"],
        "invalid value '0' for '--round <UNIT>': must be positive and finite",
    );
    refuses_usage(
        &["allocate", JOBS, "--tolerance", "-1"],
        "invalid value '-1' for '--tolerance <TOLERANCE>': must be finite and not negative",
    );
    refuses_usage(
        &["frontier", JOBS, "--points", "1"],
        "invalid value '1' for '--points <POINTS>': 1 is not in 2..=100000",
    );
}

#[test]
fn invalid_usage() {
    for arguments in
        [&["allocate"][..], &["alocate", JOBS], &["allocate", JOBS, "--formt", "json"], &[]]
    {
        let output = run(arguments, "");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert_eq!(text(&output.stdout), "");
        assert!(!output.stderr.is_empty());
    }
}

#[test]
fn a_budget_below_the_lower_bounds_names_the_tasks() {
    let problem = "budget = 200\n\
        [[task]]\nname = 'tv'\nvalue = 1\nmin = 60\ncurve = { family = 'exponential', scale = 1 }\n\
        [[task]]\nname = 'search'\nvalue = 1\nmin = 60\ncurve = { family = 'exponential', scale = 1 }\n";
    let message = "error: infeasible: lower bounds need 120, but the budget is 100 \
        (largest: tv 60, search 60)\n";
    refuses(&["allocate", "-", "--budget", "100"], problem, message);
    refuses(&["frontier", "-", "--from", "100"], problem, message);
}

#[test]
fn a_unit_that_the_bounds_do_not_allow() {
    let problem = "budget = 10\n[[task]]\nname = 'one'\nvalue = 1\nfixed = 2.5\ncurve = { family = 'exponential', scale = 1 }\n";
    let message = "error: one: no multiple of 1 lies between its min 2.5 and its max 2.5\n";
    refuses(&["allocate", "-", "--round", "1"], problem, message);
    refuses(
        &["allocate", "-", "--round", "1e-300"],
        problem,
        "error: unit: too small, a budget of 10 has more than 2^50 of them\n",
    );
}

#[test]
fn an_empty_range_of_budgets() {
    refuses(
        &["frontier", JOBS, "--from", "9", "--to", "4"],
        "",
        "error: --from 9 must be less than --to 4\n",
    );
}

#[test]
fn no_plan_at_all() {
    refuses(
        &["evaluate", JOBS],
        "",
        "error: no plan: give --plan, or current for small, large, side\n",
    );
}

#[test]
fn all_errors_of_a_plan_are_reported_together() {
    let plan = "task,spend\nsmall,2\nsmal,1\nsmall,3\nlarge,-1\n";
    let message = "error: standard input has 4 errors\n  \
        line 3: no task is named smal; did you mean small?\n  \
        line 4: small was already given on line 2\n  \
        line 5: spend of large: must be finite and not negative, not \"-1\"\n  \
        no row for side: every task needs a row, with spend 0 if it receives nothing\n";
    refuses(&["evaluate", JOBS, "--plan", "-"], plan, message);
    refuses(
        &["evaluate", JOBS, "--plan", "-"],
        "task,spend\nsmall,two\nlarge,\nside,nan\n",
        "error: standard input has 3 errors\n  \
        line 2: spend of small: must be a number, not \"two\"\n  \
        line 3: spend of large: is empty; give a number\n  \
        line 4: spend of side: must be finite and not negative, not \"nan\"\n",
    );
}

#[test]
fn a_plan_without_its_columns() {
    let message = "error: standard input has 1 error\n  \
        line 1: no column spend (a plan has the columns task and spend); the file has task, amount\n";
    refuses(&["evaluate", JOBS, "--plan", "-"], "task,amount\nsmall,2\n", message);
    let output = run(&["evaluate", JOBS, "--plan", "-"], "");
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn a_plan_that_breaks_a_rule_is_evaluated_with_exit_code_1() {
    let output = run(&["evaluate", JOBS, "--plan", "-"], "task,spend\nsmall,2\nlarge,6\nside,2\n");
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output.stdout).contains("violation: the plan spends 10, more than the budget 8\n")
    );
    assert!(text(&output.stdout).contains("violation: side spends 2, more than its max 1\n"));
}
