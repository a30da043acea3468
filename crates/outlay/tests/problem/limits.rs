//! Limits: percentages in problem files, files of limits, and spends near the present ones.

use outlay::problem::{LimitsForm, NoFiles};
use outlay::{Bounds, Problem};

const PROBLEM: &str = "
budget = 1000
[[task]]
name = 'search'
current = 200
max = 900
curve = { family = 'exponential', scale = 100 }
[[task]]
name = 'brand tv'
current = 100
min = 50
curve = { family = 'exponential', scale = 100 }
[[task]]
name = 'radio'
curve = { family = 'exponential', scale = 100 }
";

fn problem() -> Problem {
    Problem::from_toml(PROBLEM, &NoFiles).unwrap()
}

fn bounds(problem: &Problem) -> Vec<(f64, f64, f64)> {
    let of = |Bounds { min, max, at_least }: Bounds| (min, max, at_least);
    problem.tasks().iter().map(|task| of(task.bounds())).collect()
}

const FREE: (f64, f64, f64) = (0.0, f64::INFINITY, 0.0);

#[test]
fn percentages_are_of_the_current_spend_or_of_the_budget() {
    let with = |keys: &str| {
        let text = format!(
            "budget = 1000\n[[task]]\ncurrent = 200\n{keys}\n\
             curve = {{ family = 'exponential', scale = 100 }}"
        );
        Problem::from_toml(&text, &NoFiles)
            .map(|problem| bounds(&problem)[0])
            .map_err(|errors| errors.to_string())
    };
    assert_eq!(with("min = '50% of current'\nmax = '12.5 %  of budget'"), Ok((100.0, 125.0, 0.0)));
    assert_eq!(with("fixed = '0% of current'"), Ok((0.0, 0.0, 0.0)));
    assert_eq!(with("at_least = '120% of current'"), Ok((0.0, f64::INFINITY, 240.0)));
    let wrong = |text: &str| {
        Err(format!(
            "task[0].max: must be a number or a percentage, such as `80% of current` or `10% of \
             budget`, not the text \"{text}\""
        ))
    };
    for text in ["50%", "50% of spend", "x% of budget", "% of budget", "5% of budget now"] {
        assert_eq!(with(&format!("max = '{text}'")), wrong(text));
    }
    assert_eq!(
        with("max = 'all'"),
        Err("task[0].max: must be a number, not the text \"all\"".to_owned())
    );
    assert_eq!(
        with("max = '-5% of budget'"),
        Err("task[0].max: must be finite and not negative, not -50".to_owned())
    );
    let without = PROBLEM.replace("name = 'radio'", "name = 'radio'\nmax = '50% of current'");
    let errors = Problem::from_toml(&without, &NoFiles).unwrap_err().to_string();
    assert_eq!(errors, "task[2].max: is a percentage of `current`, which is missing");
}

#[test]
fn the_limits_of_a_task_replace_its_bounds() {
    let toml = "[search]\nmin = 20\n['brand tv']\nmax = '150% of current'";
    let limited = problem().with_limits(toml, LimitsForm::Toml, "limits.toml").unwrap();
    let expected = [(20.0, f64::INFINITY, 0.0), (0.0, 150.0, 0.0), FREE];
    assert_eq!(bounds(&limited), expected);
    let csv = "task,min,max\nsearch,20,\nbrand tv,,150% of current\n";
    assert_eq!(problem().with_limits(csv, LimitsForm::Csv, "limits.csv").unwrap(), limited);
    let german = "task;min;max\nsearch;20,0;\nbrand tv;;150,0 % of current\n";
    assert_eq!(problem().with_limits(german, LimitsForm::Csv, "limits.csv").unwrap(), limited);
    // A second file changes only its own tasks, and nothing else of the problem.
    let again = limited.with_limits("[radio]\nexclude = true", LimitsForm::Toml, "more.toml");
    assert_eq!(bounds(&again.unwrap()), [expected[0], expected[1], (0.0, 0.0, 0.0)]);
}

#[test]
fn every_error_of_a_file_of_limits_has_its_place() {
    let toml = |text: &str| {
        problem().with_limits(text, LimitsForm::Toml, "limits.toml").unwrap_err().to_string()
    };
    assert_eq!(
        toml("[serach]\nmin = 1\n[radio]\nmin = 5\nmax = 1\n['brand tv']\nmx = 1"),
        "serach: no task is named serach; did you mean search?\n\
         radio.min: must be at most `max`: 5 > 1\n\
         brand tv: unknown key `mx`: did you mean `max`?"
    );
    assert_eq!(toml("min = 3"), "min: must be a table, not the number 3");
    let csv = |text: &str| {
        problem().with_limits(text, LimitsForm::Csv, "limits.csv").unwrap_err().to_string()
    };
    assert_eq!(
        csv("task,min\nsearch,1\nsearch,2\nradio,-1\n"),
        "limits.csv line 3: the limits of `search` were already given at limits.csv line 2\n\
         limits.csv line 4, min: must be finite and not negative, not -1"
    );
    assert!(csv("name,min\nsearch,1\n").contains("there is no column `task`"));
}

#[test]
fn spends_near_the_present_ones_keep_narrower_bounds() {
    let text = PROBLEM.replace("name = 'radio'", "name = 'radio'\ncurrent = 0");
    let problem = Problem::from_toml(&text, &NoFiles).unwrap();
    let near = |share: f64| bounds(&problem.within_current(share).unwrap());
    assert_eq!(near(0.5), [(100.0, 300.0, 0.0), (50.0, 150.0, 0.0), (0.0, 0.0, 0.0)]);
    assert_eq!(near(0.0)[0], (200.0, 200.0, 0.0));
    // More than everything: the lower end stays at zero, and the bounds of the file hold.
    assert_eq!(near(9.0)[0], (0.0, 900.0, 0.0));
    let errors = self::problem().within_current(0.3).unwrap_err().to_string();
    assert_eq!(errors, "task[2].current: is missing: the spend of every task is kept near it");
    let far = text.replace("max = 900", "max = 90");
    let far = Problem::from_toml(&far, &NoFiles).unwrap();
    assert_eq!(
        far.within_current(0.25).unwrap_err().to_string(),
        "task[0].current: no spend that the bounds allow is between 150 and 250"
    );
    let lot = text.replace("max = 900", "at_least = 220");
    let lot = Problem::from_toml(&lot, &NoFiles).unwrap();
    assert_eq!(bounds(&lot.within_current(0.25).unwrap())[0], (220.0, 250.0, 0.0));
}
