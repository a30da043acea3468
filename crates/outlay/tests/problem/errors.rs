//! Invalid inputs and their exact error messages.

use std::collections::HashMap;

use outlay::curve::{CurveErrorKind, NumberRange};
use outlay::problem::{
    Document, ExpectedType, Files, FoundValue, LowerBoundKeys, NoFiles, ProblemError,
    ProblemErrorKind, ProblemErrors,
};
use outlay::{Curve, Problem, ProblemSpec, RewardLaw, TaskSpec};

/// Files in memory.
struct Folder(HashMap<&'static str, String>);

impl Files for Folder {
    fn read(&self, path: &str) -> Result<String, String> {
        self.0.get(path).cloned().ok_or_else(|| "no such file".to_owned())
    }
}

fn folder(files: &[(&'static str, &str)]) -> Folder {
    Folder(files.iter().map(|(path, text)| (*path, (*text).to_owned())).collect())
}

/// The errors of a TOML document; empty if it is valid.
fn complaints(text: &str, files: &dyn Files) -> String {
    Problem::from_toml(text, files).err().map(|errors| errors.to_string()).unwrap_or_default()
}

fn assert_complaints(files: &dyn Files, cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        assert_eq!(complaints(text, files), *expected, "\n--- for ---\n{text}\n");
    }
}

/// A document with one task of these fields.
fn task(fields: &str) -> String {
    format!("[[task]]\ncurve = {{ family = 'saturating', full_at = 1 }}\n{fields}")
}

fn assert_task_complaints(cases: &[(&str, &str)]) {
    for (fields, expected) in cases {
        assert_eq!(complaints(&task(fields), &NoFiles), *expected, "\n--- for ---\n{fields}\n");
    }
}

fn assert_curve_complaints(files: &dyn Files, cases: &[(&str, &str)]) {
    for (curve, expected) in cases {
        let text = format!("budget = 10\n[[task]]\ncurve = {{ {curve} }}");
        assert_eq!(complaints(&text, files), *expected, "\n--- for ---\n{curve}\n");
    }
}

const GOOD_TASK: &str = "[[task]]\ncurve = { family = 'saturating', full_at = 1 }\n";

#[test]
fn syntax() {
    let line_of =
        |text: &str| complaints(text, &NoFiles).split(": ").next().unwrap_or("").to_owned();
    assert_eq!(line_of("budget = 1\nhorizon = = 2"), "line 2, column 11");
    assert_eq!(line_of("budget = 1\nbudget = 2"), "line 2, column 1");
    assert_eq!(line_of("[[task]\n"), "line 1, column 8");

    let of_json = |text: &str| Problem::from_json(text, &NoFiles).unwrap_err().to_string();
    assert_eq!(of_json("{\n \"budget\": 1,\n}"), "line 3, column 1: trailing comma");
    assert_eq!(
        of_json("{\"budget\": 1, \"budget\": 2}"),
        "line 1, column 26: the key `budget` is written twice"
    );
    let many: String = (0..40).map(|key| format!("\"k{key}\":1,")).collect();
    for repeated in ["k3", "k39"] {
        let complaint = of_json(&format!("{{{many}\"{repeated}\":2}}"));
        assert!(complaint.ends_with(&format!("the key `{repeated}` is written twice")));
    }
    assert_eq!(of_json("{\"budget\": 1e999}"), "line 1, column 16: number out of range");
    assert_eq!(of_json("[1]"), "problem: must be a table, not a list");
    assert_eq!(
        of_json("{\"task\": [\n{\"name\": \"a\", \"name\": \"b\"}, {]]}"),
        "line 2, column 26: the key `name` is written twice"
    );
    assert_eq!(
        of_json("{\"task\": [\n{\"max\": 1e999}]}"),
        "line 2, column 13: number out of range"
    );
    assert_eq!(of_json(""), "line 1, column 0: EOF while parsing a value");
}

#[test]
fn top_level_fields() {
    for (fields, expected) in [
        ("budget = 0", "budget: must be positive and finite, not 0"),
        ("budget = -1.5", "budget: must be positive and finite, not -1.5"),
        ("budget = nan", "budget: must be positive and finite, not NaN"),
        ("budget = inf", "budget: must be positive and finite, not inf"),
        ("budget = 'abc'", "budget: must be a number, not the text \"abc\""),
        ("budget = ''", "budget: must be a number, not empty text"),
        ("budget = true", "budget: must be a number, not true"),
        ("budget = [1]", "budget: must be a number, not a list"),
        ("budget = {}", "budget: must be a number, not a table"),
        ("budget = 2024-01-31", "budget: must be a number, not a date"),
        ("horizon = 0", "horizon: must be at least 1, not 0"),
        ("horizon = -3", "horizon: must be a whole number of at least 1, not the number -3"),
        ("horizon = 2.5", "horizon: must be a whole number of at least 1, not the number 2.5"),
        ("horizon = inf", "horizon: must be a whole number of at least 1, not the number inf"),
        ("horizon = 1e4", ""),
        ("reward_max = 0.0", "reward_max: must be positive and finite, not 0"),
        ("reward_max = nan", "reward_max: must be positive and finite, not NaN"),
        ("leftover = 'spent'", "leftover: unknown leftover `spent`: did you mean `spend`?"),
        ("leftover = 1", "leftover: must be text, not the number 1"),
        ("currency = 'EUR'\nperiod = 'day'", ""),
        ("currency = 1", "currency: must be text, not the number 1"),
        (
            "currency = ''",
            "currency: must be a word of 1 to 20 characters, such as `EUR` or `day`, not ``",
        ),
        (
            "period = 'a day that does not end'",
            "period: must be a word of 1 to 20 characters, such as `EUR` or `day`, not `a day that does not end`",
        ),
        (
            "reward_unit = \"a\\nb\"",
            "reward_unit: must be a word of 1 to 20 characters, such as `EUR` or `day`, not `a b`",
        ),
        ("bugdet = 3", "problem: unknown key `bugdet`: did you mean `budget`?"),
        (
            "colour = 3",
            "problem: unknown key `colour`: expected one of `budget`, `horizon`, `reward_max`, `reward_over_max`, `leftover`, `environment`, `task`, `tasks`, `currency`, `period`, `reward_unit`",
        ),
        (
            "\"new\\nline\" = 3",
            "problem: unknown key `new line`: expected one of `budget`, `horizon`, `reward_max`, `reward_over_max`, `leftover`, `environment`, `task`, `tasks`, `currency`, `period`, `reward_unit`",
        ),
    ] {
        assert_eq!(complaints(&format!("{fields}\n{GOOD_TASK}"), &NoFiles), expected, "{fields}");
    }
}

#[test]
fn environments() {
    let files = folder(&[("budgets.csv", "day,budget\n1,900\n2,-5\n3,x\n")]);
    let cases = [
        ("environment = 3", "environment: must be a table, not the number 3"),
        (
            "environment = { delays = 3 }",
            "environment: unknown key `delays`: did you mean `delay`?",
        ),
        ("environment.delay = { law = 'geometric', mean = 100 }", ""),
        ("environment.delay = { law = 'constant', rounds = 0 }", ""),
        ("environment.delay = { law = 'uniform', low = 0, high = 9 }", ""),
        ("environment.delay = 100", "environment.delay: must be a table, not the number 100"),
        (
            "environment.delay = {}",
            "environment.delay.law: is missing: a delay needs one of `constant`, `geometric`, `uniform`",
        ),
        (
            "environment.delay = { law = 'geometrical', mean = 1 }",
            "environment.delay.law: unknown law `geometrical`: did you mean `geometric`?",
        ),
        (
            "environment.delay = { law = 'geometric' }",
            "environment.delay.mean: is missing: a geometric delay needs it",
        ),
        (
            "environment.delay = { law = 'geometric', mean = -1 }",
            "environment.delay.mean: must be between 0 and 1e12 rounds, not -1",
        ),
        (
            "environment.delay = { law = 'geometric', mean = 1, rounds = 2 }",
            "environment.delay: unknown key `rounds`: expected one of `law`, `mean`",
        ),
        (
            "environment.delay = { law = 'constant', rounds = 2.5 }",
            "environment.delay.rounds: must be a whole number, not the number 2.5",
        ),
        (
            "environment.delay = { law = 'uniform', low = 5, high = 2 }",
            "environment.delay.low: must be at most `high`: 5 > 2",
        ),
        (
            "environment.available = 1.5",
            "environment.available: must be above 0 and at most 1, not 1.5",
        ),
        (
            "environment.available = 'often'",
            "environment.available: must be a number, not the text \"often\"",
        ),
        ("environment.budget = [1, 2, 3]", ""),
        ("environment.budget = []", "environment.budget.amounts: must have at least one number"),
        (
            "environment.budget = [1, -2]",
            "environment.budget.amounts[1]: must be finite and not negative, not -2",
        ),
        ("environment.budget = 5", "environment.budget: must be a table, not the number 5"),
        (
            "environment.budget = { law = 'uniform', low = 3, high = 2 }",
            "environment.budget.low: must be at most `high`: 3 > 2",
        ),
        (
            "environment.budget = { law = 'uniform', low = 3 }",
            "environment.budget.high: is missing: a uniform budget needs it",
        ),
        (
            "environment.budget = { law = 'sine', mean = 3, amplitude = 4, period = 7 }",
            "environment.budget.amplitude: must be at most `mean`, or budgets are negative: 4 > 3",
        ),
        (
            "environment.budget = { law = 'sine', mean = 3, amplitude = 1, period = 0 }",
            "environment.budget.period: must be positive and finite, not 0",
        ),
        (
            "environment.budget = { law = 'list', file = 'budgets.csv', column = 'budget' }",
            "environment.budget.column: `budgets.csv` line 3 must have a number, finite and not negative, not the text \"-5\" (and 1 other cell)",
        ),
        (
            "environment.budget = { law = 'list' }",
            "environment.budget.amounts: is missing: a list of budgets needs `amounts`, or `file` and `column`",
        ),
    ];
    for (fields, expected) in cases {
        assert_eq!(complaints(&format!("{fields}\n{GOOD_TASK}"), &files), expected, "{fields}");
    }
    let needed = format!("environment.budget = [3, 1]\nbudget = 10\n{}", task("min = 2"));
    assert_eq!(
        complaints(&needed, &NoFiles),
        "environment.budget: its smallest budget 1 is below what the tasks' min and fixed need: 2"
    );
}

#[test]
fn missing_tasks() {
    assert_complaints(
        &NoFiles,
        &[
            ("", "task: is missing: a problem needs at least one task"),
            ("task = []", "task: is missing: a problem needs at least one task"),
            (
                "budget = 0",
                "budget: must be positive and finite, not 0\ntask: is missing: a problem needs at least one task",
            ),
            (
                "task = 3",
                "task: must be a list of tables, not the number 3: in TOML head each task [[task]]",
            ),
            (
                "[task]\nname = 'a'",
                "task: must be a list of tables, not a table: in TOML head each task [[task]]",
            ),
            (
                "task = [3, 'a']",
                "task[0]: must be a table, not the number 3\ntask[1]: must be a table, not the text \"a\"",
            ),
            (
                "[[task]]\nname = 'a'",
                "task[0].curve: is missing: every task needs one, such as { family = \"hill\", half_at = 120.0, steepness = 2.5 }",
            ),
            ("[[task]]\ncurve = 'hill'", "task[0].curve: must be a table, not the text \"hill\""),
            (
                "[[tasks]]\nname = 'a'",
                "tasks: must be { file = \"tasks.csv\" }, not a list: tasks in the file itself use `task`, without s",
            ),
            ("tasks = {}", "tasks.file: is missing: `tasks` needs it"),
            ("tasks = { file = 3 }", "tasks.file: must be text, not the number 3"),
            (
                "tasks = { fil = 'a.csv' }",
                "tasks: unknown key `fil`: did you mean `file`?\ntasks.file: is missing: `tasks` needs it",
            ),
            (
                "tasks = { file = 'a.csv' }",
                "tasks.file: cannot read `a.csv`: this problem was read without access to files",
            ),
        ],
    );
}

#[test]
fn task_fields() {
    assert_task_complaints(&[
        ("", ""),
        ("name = ''", "task[0].name: must not be empty"),
        ("name = '  '", "task[0].name: must not be empty"),
        ("name = \"a\\nb\"", "task[0].name: must be one line without control characters"),
        ("name = 3", "task[0].name: must be text, not the number 3"),
        ("value = -0.5", "task[0].value: must be finite and not negative, not -0.5"),
        ("value = nan", "task[0].value: must be finite and not negative, not NaN"),
        ("value = 7", ""),
        ("current = inf", "task[0].current: must be finite and not negative, not inf"),
        ("min = -1", "task[0].min: must be finite and not negative, not -1"),
        ("max = inf", "task[0].max: must be finite and not negative, not inf"),
        ("fixed = nan", "task[0].fixed: must be finite and not negative, not NaN"),
        ("at_least = -2", "task[0].at_least: must be finite and not negative, not -2"),
        ("exclude = 'yes'", "task[0].exclude: must be true or false, not the text \"yes\""),
        ("maximum = 3", "task[0]: unknown key `maximum`: did you mean `max`?"),
        ("atleast = 3", "task[0]: unknown key `atleast`: did you mean `at_least`?"),
        (
            "min = 'abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz'",
            "task[0].min: must be a number, not the text \"abcdefghijklmnopqrstuvwxyzabcdefghijklmn…\"",
        ),
        (
            "half_at = 3",
            "task[0]: unknown key `half_at`: expected one of `name`, `value`, `volume`, `min`, `max`, `fixed`, `exclude`, `at_least`, `current`, \
             `covers`, `retired`, `curve`, `reward`, `seen`",
        ),
    ]);
}

#[test]
fn bounds_that_contradict_each_other() {
    assert_task_complaints(&[
        ("min = 0.5\nmax = 0.4", "task[0].min: must be at most `max`: 0.5 > 0.4"),
        ("min = 0.5\nmax = 0.5", ""),
        ("fixed = 0.5\nmin = 0.1", "task[0].fixed: 0.5 cannot go with `min`: keep one"),
        (
            "fixed = 0.5\nmin = 0.1\nmax = 1\nexclude = true\nat_least = 0.2",
            "task[0].fixed: 0.5 cannot go with `min`, `max`, `exclude`, `at_least`: keep one",
        ),
        ("fixed = 0.5\nexclude = false", ""),
        ("exclude = true\nmin = 0.1", "task[0].exclude: cannot go with `min` = 0.1: keep one"),
        ("exclude = true\nmin = 0\nmax = 3\nat_least = 2", ""),
        (
            "at_least = 0.5\nmax = 0.4",
            "task[0].at_least: must be at most `max`: 0.5 > 0.4 (to spend nothing write `exclude`)",
        ),
        ("at_least = 50", ""),
    ]);
}

#[test]
fn bounds_that_cannot_all_be_met() {
    let with = |budget: f64, bounds: &[(&str, &str)]| {
        let tasks: String = bounds
            .iter()
            .map(|(name, bound)| format!("{}name = '{name}'\n{bound}\n", task("")))
            .collect();
        complaints(&format!("budget = {budget}\n{tasks}"), &NoFiles)
    };
    assert_eq!(
        with(100.0, &[("tv", "min = 60"), ("search", "min = 60")]),
        "budget: min adds up to 120, more than the budget 100: tv 60, search 60"
    );
    assert_eq!(
        with(
            100.0,
            &[
                ("radio", "at_least = 70"),
                ("tv", "min = 1\nat_least = 50"),
                ("search", "fixed = 60")
            ]
        ),
        "budget: min and fixed add up to 110, more than the budget 100: search 60, tv 50"
    );
    assert_eq!(
        with(10.0, &[("tv", "fixed = 60")]),
        "budget: fixed adds up to 60, more than the budget 10: tv 60"
    );
    let names: Vec<String> = (1..=10).map(|number| format!("t{number}")).collect();
    let bounds: Vec<String> = (1..=10).map(|number| format!("min = {number}")).collect();
    let many: Vec<(&str, &str)> =
        names.iter().zip(&bounds).map(|(name, bound)| (name.as_str(), bound.as_str())).collect();
    assert_eq!(
        with(50.0, &many),
        "budget: min adds up to 55, more than the budget 50: t10 10, t9 9, t8 8, t7 7, t6 6, t5 5, t4 4, \
         t3 3 and 2 more"
    );
    assert_eq!(with(55.0, &many), "");
    // 0.1 + 0.2 > 0.3 in floating point, which must not matter.
    assert_eq!(with(0.3, &[("a", "min = 0.1"), ("b", "min = 0.2")]), "");
    // With an invalid budget nothing is reported as infeasible.
    assert_eq!(with(-1.0, &[("tv", "min = 60")]), "budget: must be positive and finite, not -1");
}

#[test]
fn names_are_unique() {
    let named = |names: &[&str]| -> String {
        names.iter().map(|name| format!("{}name = '{name}'\n", task(""))).collect()
    };
    assert_complaints(
        &NoFiles,
        &[
            (
                &named(&["tv", "search", "tv"]),
                "task[2].name: `tv` is already the name of task[0]: names must differ",
            ),
            (
                &format!("{}{}", named(&["task-2"]), task("")),
                "task[1].name: `task-2` is already the name of task[0]: names must differ",
            ),
            (&named(&["tv", "TV"]), ""),
        ],
    );
    let files = folder(&[("t.csv", "name,family,full_at\na,saturating,1\ntv,saturating,1\n")]);
    let text = format!("tasks = {{ file = 't.csv' }}\n{}", named(&["tv"]));
    assert_eq!(
        complaints(&text, &files),
        "t.csv line 3, name: `tv` is already the name of task[0]: names must differ"
    );
}

#[test]
fn curves() {
    assert_curve_complaints(
        &NoFiles,
        &[
            (
                "",
                "task[0].curve.family: is missing: every curve needs one of `power`, `saturating`, `exponential`, `hill`, `logistic`, \
                 `threshold`, `steps`, `piecewise`, `empirical`",
            ),
            (
                "family = 'hil', half_at = 1",
                "task[0].curve.family: unknown family `hil`: did you mean `hill`?",
            ),
            (
                "family = 'exp', scale = 1",
                "task[0].curve.family: unknown family `exp`: did you mean `exponential`?",
            ),
            (
                "family = 'sigmoid'",
                "task[0].curve.family: unknown family `sigmoid`: expected one of `power`, `saturating`, `exponential`, `hill`, `logistic`, \
                 `threshold`, `steps`, `piecewise`, `empirical`",
            ),
            (
                "family = 'custom'",
                "task[0].curve.family: `custom` is a function, for Rust and Python only: in a file give its points, as `piecewise` or `steps`",
            ),
            ("family = 3", "task[0].curve.family: must be text, not the number 3"),
            (
                "family = 'power', exponent = 1.5",
                "task[0].curve.exponent: must be above 0 and at most 1, not 1.5 (for increasing returns use hill, logistic or piecewise)",
            ),
            (
                "family = 'power', exponent = 0.5, scale = 0",
                "task[0].curve.scale: must be positive and finite, not 0",
            ),
            ("family = 'power', exponent = 0.5", ""),
            (
                "family = 'power', exponent = 0.5, scale = 'b'",
                "task[0].curve.scale: must be a number, not the text \"b\"",
            ),
            (
                "family = 'saturating'",
                "task[0].curve.full_at: is missing: a saturating curve needs it",
            ),
            (
                "family = 'exponential', scale = nan",
                "task[0].curve.scale: must be positive and finite, not NaN",
            ),
            (
                "family = 'exponential'",
                "task[0].curve.scale: is missing: an exponential curve needs it",
            ),
            (
                "family = 'hill', half_at = -1, steepness = -2",
                "task[0].curve.half_at: must be positive and finite, not -1\ntask[0].curve.steepness: must be positive and finite, not -2",
            ),
            (
                "family = 'hill', half_att = 120, steepness = 0",
                "task[0].curve: unknown key `half_att`: did you mean `half_at`?\ntask[0].curve.half_at: is missing: a hill curve needs it\n\
                 task[0].curve.steepness: must be positive and finite, not 0",
            ),
            (
                "family = 'hill', half_at = 1, steepness = 1, scale = 3",
                "task[0].curve: unknown key `scale`: expected one of `family`, `floor`, `ceiling`, `half_at`, `steepness`",
            ),
            (
                "family = 'logistic', mid = -1, width = 1",
                "task[0].curve.mid: must be finite and not negative, not -1",
            ),
            ("family = 'threshold', at = [1]", "task[0].curve.at: must be a number, not a list"),
            (
                "family = 'threshold', at = inf",
                "task[0].curve.at: must be finite and not negative, not inf",
            ),
        ],
    );
}

#[test]
fn curves_of_points() {
    assert_curve_complaints(
        &NoFiles,
        &[
            (
                "family = 'steps', at = 1, success = [1]",
                "task[0].curve.at: must be a list of numbers, not the number 1",
            ),
            (
                "family = 'steps', success = [1]",
                "task[0].curve.at: is missing: a steps curve needs it",
            ),
            (
                "family = 'steps', at = [], success = []",
                "task[0].curve.at: must have at least one number",
            ),
            (
                "family = 'steps', at = [1, 2], success = [1]",
                "task[0].curve.success: must have as many numbers as at: 1 against 2",
            ),
            (
                "family = 'steps', at = [2, 1], success = [0.1, 0.2]",
                "task[0].curve.at[1]: must increase: 1 follows 2",
            ),
            (
                "family = 'steps', at = [1, 2], success = [0.2, 0.1]",
                "task[0].curve.success[1]: must not decrease: 0.1 follows 0.2",
            ),
            (
                "family = 'steps', at = [1], success = [1.5]",
                "task[0].curve.success[0]: must be between 0 and 1, not 1.5",
            ),
            (
                "family = 'steps', at = [1, 'a', true], success = [1, [], 3]",
                "task[0].curve.at[1]: must be a number, not the text \"a\"\ntask[0].curve.at[2]: must be a number, not true\n\
                 task[0].curve.success[1]: must be a number, not a list",
            ),
            (
                "family = 'piecewise', spend = [1, 2], success = [0, 1]",
                "task[0].curve.spend[0]: must be 0, not 1: the first point is the success at zero spend",
            ),
            (
                "family = 'empirical', samples = []",
                "task[0].curve.samples: must have at least one number",
            ),
            (
                "family = 'empirical', samples = [1, -2]",
                "task[0].curve.samples[1]: must be finite and not negative, not -2",
            ),
        ],
    );
}

#[test]
fn ceilings_and_floors() {
    assert_curve_complaints(
        &NoFiles,
        &[
            (
                "family = 'saturating', full_at = 1, ceiling = 0",
                "task[0].curve.ceiling: must be above 0 and at most 1, not 0",
            ),
            (
                "family = 'saturating', full_at = 1, ceiling = 'a'",
                "task[0].curve.ceiling: must be a number, not the text \"a\"",
            ),
            (
                "family = 'saturating', full_at = 1, floor = -0.1",
                "task[0].curve.floor: must be at least 0 and at most the ceiling 1, not -0.1",
            ),
            (
                "family = 'saturating', full_at = 1, floor = 0.9, ceiling = 0.8",
                "task[0].curve.floor: must be at least 0 and at most the ceiling 0.8, not 0.9",
            ),
            (
                "family = 'saturating', full_at = 0, floor = 2, ceiling = 3",
                "task[0].curve.full_at: must be positive and finite, not 0\ntask[0].curve.ceiling: must be above 0 and at most 1, not 3\n\
                 task[0].curve.floor: must be at least 0 and at most the ceiling 1, not 2",
            ),
        ],
    );
}

const PRICES: &str = "item,days,price\nwatch,3,10\nwatch,7,abc\nwatch,7,-5\npen,3,\npen,5,4\n";

#[test]
fn samples_that_cannot_be_found() {
    let files = folder(&[
        ("prices.csv", PRICES),
        ("empty.csv", ""),
        ("header.csv", "price\n"),
        ("twice.csv", "price,price\n1,2\n"),
    ]);
    assert_curve_complaints(
        &files,
        &[
            (
                "family = 'empirical'",
                "task[0].curve.samples: is missing: an empirical curve needs `samples`, or `file` and `column`",
            ),
            (
                "family = 'empirical', samples = [1], file = 'prices.csv'",
                "task[0].curve.file: cannot go with `samples`: give one of them",
            ),
            (
                "family = 'empirical', samples = [1], column = 'price'",
                "task[0].curve.column: goes with `file`, which is missing",
            ),
            (
                "family = 'empirical', samples = [1], where = { a = 1 }",
                "task[0].curve.where: goes with `file`, which is missing",
            ),
            (
                "family = 'empirical', file = 'prices.csv'",
                "task[0].curve.column: is missing: an empirical curve from a file needs it",
            ),
            (
                "family = 'empirical', file = 'price.csv', column = 'price'",
                "task[0].curve.file: cannot read `price.csv`: no such file",
            ),
            (
                "family = 'empirical', file = 'empty.csv', column = 'price'",
                "task[0].curve.file: cannot read `empty.csv`: it is empty; its first line must name the columns",
            ),
            (
                "family = 'empirical', file = 'header.csv', column = 'price'",
                "task[0].curve.file: `header.csv` has no rows",
            ),
            (
                "family = 'empirical', file = 'twice.csv', column = 'price'",
                "task[0].curve.file: cannot read `twice.csv`: the column `price` appears twice; rename one",
            ),
            (
                "family = 'empirical', file = 'prices.csv', column = 'prise'",
                "task[0].curve.column: in `prices.csv`: there is no column `prise`: did you mean `price`?",
            ),
            (
                "family = 'empirical', file = 'prices.csv', column = 'seconds', where = { itm = 'pen', colour = 1 }",
                "task[0].curve.where.itm: in `prices.csv`: there is no column `itm`: did you mean `item`?\n\
                 task[0].curve.where.colour: in `prices.csv`: there is no column `colour`: expected one of `item`, `days`, `price`\n\
                 task[0].curve.column: in `prices.csv`: there is no column `seconds`: expected one of `item`, `days`, `price`",
            ),
            (
                "family = 'empirical', file = 'prices.csv', column = 'price', where = { item = 'pen', days = 7 }",
                "task[0].curve.where: no row of `prices.csv` has item = pen, days = 7",
            ),
            (
                "family = 'empirical', file = 'prices.csv', column = 'price', where = 3",
                "task[0].curve.where: must be a table, not the number 3",
            ),
            (
                "family = 'empirical', file = 'prices.csv', column = 'price', where = { item = [] }",
                "task[0].curve.where.item: must be text or a number, not a list",
            ),
        ],
    );
}

#[test]
fn samples_that_are_no_numbers() {
    let files = folder(&[("prices.csv", PRICES)]);
    assert_curve_complaints(
        &files,
        &[
            (
                "family = 'empirical', file = 'prices.csv', column = 'price'",
                "task[0].curve.column: `prices.csv` line 3 must have a number, finite and not negative, not the text \"abc\" (and 2 other cells)",
            ),
            (
                "family = 'empirical', file = 'prices.csv', column = 'price', where = { item = 'pen' }",
                "task[0].curve.column: `prices.csv` line 5 must have a number, finite and not negative, not empty text",
            ),
            (
                "family = 'empirical', file = 'prices.csv', column = 'price', where = { item = 'pen', days = 5.0 }",
                "",
            ),
        ],
    );
}

#[test]
fn rewards() {
    assert_task_complaints(&[
        ("reward = 3", "task[0].reward: must be a table, not the number 3"),
        (
            "reward = {}",
            "task[0].reward.law: is missing: every reward needs one of `bernoulli`, `beta`, `constant`, `uniform`, `empirical`",
        ),
        (
            "reward = { law = 'bernouli', mean = 1 }",
            "task[0].reward.law: unknown law `bernouli`: did you mean `bernoulli`?",
        ),
        (
            "reward = { law = 'bernoulli' }",
            "task[0].reward.mean: is missing: a bernoulli reward needs it",
        ),
        (
            "reward = { law = 'bernoulli', mean = 1.5 }",
            "task[0].reward.mean: must be between 0 and reward_max = 1, not 1.5",
        ),
        (
            "reward = { law = 'constant', mean = nan }",
            "task[0].reward.mean: must be between 0 and reward_max = 1, not NaN",
        ),
        (
            "reward = { law = 'beta', mean = -1, concentration = 0 }",
            "task[0].reward.mean: must be between 0 and reward_max = 1, not -1\ntask[0].reward.concentration: must be positive and finite, not 0",
        ),
        ("reward = { law = 'beta', mean = 0.5 }", ""),
        (
            "reward = { law = 'uniform', low = 0.5, high = 0.4 }",
            "task[0].reward.low: must be at most `high`: 0.5 > 0.4",
        ),
        (
            "reward = { law = 'uniform', lo = 0.5 }",
            "task[0].reward: unknown key `lo`: did you mean `low`?\ntask[0].reward.low: is missing: a uniform reward needs it\n\
             task[0].reward.high: is missing: a uniform reward needs it",
        ),
        (
            "reward = { law = 'empirical', samples = [] }",
            "task[0].reward.samples: must have at least one number",
        ),
        (
            "reward = { law = 'empirical', samples = [0, 2, 3] }",
            "task[0].reward.samples[1]: must be between 0 and reward_max = 1, not 2",
        ),
        (
            "reward = { law = 'empirical' }",
            "task[0].reward.samples: is missing: an empirical reward needs `samples`, or `file` and `column`",
        ),
    ]);
    // With an invalid reward_max only errors that do not depend on it are reported.
    let text =
        format!("reward_max = -1\n{}", task("reward = { law = 'uniform', low = -1, high = 9 }"));
    let expected = "reward_max: must be positive and finite, not -1\ntask[0].reward.low: must be finite and not negative, not -1";
    assert_eq!(complaints(&text, &NoFiles), expected);
}

fn assert_table_complaints(cases: &[(&str, &str)]) {
    for (table, expected) in cases {
        let files = folder(&[("t.csv", table)]);
        assert_eq!(
            complaints("tasks = { file = 't.csv' }", &files),
            *expected,
            "\n--- for ---\n{table}\n"
        );
    }
}

#[test]
fn tables_with_a_bad_header() {
    assert_table_complaints(&[
        ("", "tasks.file: cannot read `t.csv`: it is empty; its first line must name the columns"),
        ("name,family,full_at\n", "t.csv line 1: no task follows the names of the columns"),
        (
            "name,full_at\na,1\nb,1\n",
            "t.csv line 1: there is no column `family`: every task needs a curve",
        ),
        (
            "name,family,full_att\na,saturating,1\n",
            "t.csv line 1: unknown column `full_att`: did you mean `full_at`?",
        ),
        (
            "name,family,full_at,reward.men\na,saturating,1,1\n",
            "t.csv line 1: unknown column `reward.men`: did you mean `reward.mean`?",
        ),
        (
            ",family,full_at\n0,saturating,1\n",
            "t.csv line 1: column 1 has no name: name it or delete it",
        ),
        (
            "family,full_at,curve.full_at\nsaturating,1,1\n",
            "t.csv line 1: the column `curve.full_at` appears twice",
        ),
    ]);
}

#[test]
fn tables_with_bad_rows() {
    assert_table_complaints(&[
        (
            "family,full_at\nsaturating\nsaturating,1,2\n",
            "t.csv line 2: the first line names 2 columns, this row has 1\nt.csv line 3: the first line names 2 columns, this row has 3",
        ),
        (
            "family,full_at\n,1\n",
            "t.csv line 2, family: is missing: every curve needs one of `power`, `saturating`, `exponential`, `hill`, `logistic`, \
             `threshold`, `steps`, `piecewise`, `empirical`",
        ),
        (
            "family,full_at\nsaturating,\n",
            "t.csv line 2, full_at: is missing: a saturating curve needs it",
        ),
        (
            "family,full_at,max\nsaturating,1,abc\nsaturating,-1,5\n",
            "t.csv line 2, max: must be a number, not the text \"abc\"\nt.csv line 3, full_at: must be positive and finite, not -1",
        ),
        (
            "family,full_at,min,max\nsaturating,1,0.2,0.1\n",
            "t.csv line 2, min: must be at most `max`: 0.2 > 0.1",
        ),
        (
            "family,full_at,exclude\nsaturating,1,yes\n",
            "t.csv line 2, exclude: must be true or false, not the text \"yes\"",
        ),
        (
            "family,full_at,half_at\nsaturating,1,3\n",
            "t.csv line 2: unknown key `half_at`: expected one of `family`, `floor`, `ceiling`, `full_at`",
        ),
        (
            "family,at,success\nsteps,1;2;x,0.1;0.2;0.3\n",
            "t.csv line 2, at[2]: must be a number, not the text \"x\"",
        ),
        (
            "family,at,success\nsteps,1;2,0.2;0.1\n",
            "t.csv line 2, success[1]: must not decrease: 0.1 follows 0.2",
        ),
        (
            "family,full_at,reward.law,reward.mean\nsaturating,1,constant,2\n",
            "t.csv line 2, reward.mean: must be between 0 and reward_max = 1, not 2",
        ),
        (
            "family,full_at,reward.law,reward.mean\nsaturating,1,,2\n",
            "t.csv line 2, reward.law: is missing: every reward needs one of `bernoulli`, `beta`, `constant`, `uniform`, `empirical`",
        ),
        (
            "family,full_at\r\nsaturating,1\r\nsaturating,0\r\n",
            "t.csv line 3, full_at: must be positive and finite, not 0",
        ),
        (
            "family,full_at,name\nsaturating,1,\"a\"\"\n,,\"\n,,\nsaturating,0,b\n",
            "t.csv line 5, full_at: must be positive and finite, not 0\nt.csv line 2, name: must be one line without control characters",
        ),
        (
            "family,full_at\n\n\nsaturating,0\n",
            "t.csv line 4, full_at: must be positive and finite, not 0",
        ),
    ]);
}

#[test]
fn several_errors_at_once() {
    let text = "
        budget = -5
        horizn = 10
        [[task]]
        name = 'tv'
        curve = { family = 'hill', half_at = 0, steepness = 'steep' }
        min = 3
        max = 2
        [[task]]
        name = 'tv'
        curve = { family = 'powr' }
        value = -1
        reward = { law = 'uniform', low = 1 }
    ";
    let expected = "problem: unknown key `horizn`: did you mean `horizon`?\n\
         task[0].curve.steepness: must be a number, not the text \"steep\"\n\
         task[0].curve.half_at: must be positive and finite, not 0\n\
         task[1].curve.family: unknown family `powr`: did you mean `power`?\n\
         task[1].reward.high: is missing: a uniform reward needs it\n\
         budget: must be positive and finite, not -5\n\
         task[1].name: `tv` is already the name of task[0]: names must differ\n\
         task[0].min: must be at most `max`: 3 > 2\n\
         task[1].value: must be finite and not negative, not -1";
    assert_complaints(&NoFiles, &[(text, expected)]);
}

#[test]
fn a_long_list_of_errors_is_cut() {
    let tasks: String = (0..332).map(|_| task("value = -1\n")).collect();
    let errors = Problem::from_toml(&tasks, &NoFiles).unwrap_err();
    assert_eq!(errors.0.len(), 332);
    let shown = errors.to_string();
    assert_eq!(shown.lines().count(), ProblemErrors::SHOWN + 1);
    assert!(
        shown.ends_with("task[19].value: must be finite and not negative, not -1\nand 312 more"),
        "{shown}"
    );
}

#[test]
fn a_spec_made_in_rust_is_checked_too() {
    let errors = ProblemSpec {
        budget: f64::NAN,
        horizon: Some(0),
        reward_max: f64::INFINITY,
        tasks: vec![
            TaskSpec { min: Some(-1.0), ..TaskSpec::new("", Curve::hill(1.0, 1.0).unwrap()) },
            TaskSpec {
                max: Some(f64::INFINITY),
                reward: Some(RewardLaw::Empirical { samples: vec![] }),
                origin: "plan.xlsx row 7".to_owned(),
                ..TaskSpec::new("a", Curve::hill(1.0, 1.0).unwrap())
            },
        ],
        ..ProblemSpec::default()
    }
    .check()
    .unwrap_err();
    assert_eq!(
        errors.to_string(),
        "budget: must be positive and finite, not NaN\n\
         horizon: must be at least 1, not 0\n\
         reward_max: must be positive and finite, not inf\n\
         task[0].name: must not be empty\n\
         task[0].min: must be finite and not negative, not -1\n\
         plan.xlsx row 7, reward.samples: must have at least one number\n\
         plan.xlsx row 7, max: must be finite and not negative, not inf"
    );
    let expected = ProblemError {
        path: "horizon".to_owned(),
        kind: ProblemErrorKind::OutOfRange { number: 0.0, expected: NumberRange::AtLeastOne },
    };
    assert_eq!(errors.0.get(1), Some(&expected));
}

#[test]
fn a_spec_is_read_without_the_checks() {
    let spec = ProblemSpec::from_toml(&format!("budget = -1\n{GOOD_TASK}"), &NoFiles).unwrap();
    assert_eq!(spec.budget, -1.0);
    let errors =
        ProblemSpec::from_json("{\"budget\": \"x\", \"task\": [null]}", &NoFiles).unwrap_err();
    assert_eq!(
        errors.to_string(),
        "budget: must be a number, not the text \"x\"\ntask[0]: must be a table, not null"
    );
}

/// The paths and kinds of the errors of a TOML document.
fn kinds(text: &str, files: &dyn Files) -> Vec<(String, ProblemErrorKind)> {
    let errors = Problem::from_toml(text, files).expect_err(text).0;
    errors.into_iter().map(|error| (error.path, error.kind)).collect()
}

fn at(path: &str, kind: ProblemErrorKind) -> (String, ProblemErrorKind) {
    (path.to_owned(), kind)
}

#[test]
fn kinds_of_fields_and_curves_carry_their_data() {
    let text = "budget = 'x'\nhorizn = 3\n[[task]]\nname = 'a'\nmin = -1\n\
        curve = { family = 'hill', half_at = -2, steepness = 1 }\n\
        [[task]]\nname = 'a'\ncurve = { family = 'steps', at = [1, 2], success = [0.5, 0.25] }";
    let (expected, found) = (ExpectedType::Number, FoundValue::Text("x".to_owned()));
    let all = kinds(text, &NoFiles);
    assert!(
        matches!(
            &all[0],
            (path, ProblemErrorKind::UnknownKey { key, known })
                if path == "problem" && key == "horizn" && known.contains(&"horizon")
        ),
        "{all:?}"
    );
    assert_eq!(
        all[1..],
        [
            at("budget", ProblemErrorKind::WrongType { expected, found }),
            at(
                "task[0].curve.half_at",
                CurveErrorKind::OutOfRange { number: -2.0, expected: NumberRange::Positive }.into()
            ),
            at(
                "task[1].curve.success[1]",
                CurveErrorKind::Decreasing { number: 0.25, previous: 0.5 }.into()
            ),
            at(
                "task[1].name",
                ProblemErrorKind::DuplicateName {
                    name: "a".to_owned(),
                    first: "task[0]".to_owned()
                }
            ),
            at(
                "task[0].min",
                ProblemErrorKind::OutOfRange { number: -1.0, expected: NumberRange::NonNegative }
            ),
        ]
    );
}

#[test]
fn kinds_of_bounds_carry_their_data() {
    let task = |name: &str, bound: &str| format!("{GOOD_TASK}name = '{name}'\n{bound}\n");
    let text = ["budget = 10\n", &task("a", "min = 4"), &task("b", "fixed = 7")].concat();
    let expected = ProblemErrorKind::BudgetTooSmall {
        keys: LowerBoundKeys::MinAndFixed,
        needed: 11.0,
        budget: 10.0,
        lower_bounds: vec![("b".to_owned(), 7.0), ("a".to_owned(), 4.0)],
    };
    assert_eq!(kinds(&text, &NoFiles), [at("budget", expected)]);
    let expected = ProblemErrorKind::AboveLimit { number: 3.0, limited_by: "max", limit: 2.0 };
    let text = task("a", "min = 3\nmax = 2");
    assert_eq!(kinds(&text, &NoFiles), [at("task[0].min", expected)]);
}

#[test]
fn kinds_of_files_carry_their_data() {
    let files = folder(&[("log.csv", "amount,kind\n1,a\nx,a\n")]);
    let curve = |column: &str| {
        format!(
            "[[task]]\ncurve = {{ family = 'empirical', file = 'log.csv', column = '{column}' }}"
        )
    };
    let column = |kind| vec![at("task[0].curve.column", kind)];
    let file = || "log.csv".to_owned();
    let bad_cell = ProblemErrorKind::BadSample {
        file: file(),
        line: 3,
        cell: FoundValue::Text("x".to_owned()),
        error: None,
        others: 0,
    };
    assert_eq!(kinds(&curve("amount"), &files), column(bad_cell));
    let no_column = ProblemErrorKind::NoSuchColumn {
        file: file(),
        column: "amuont".to_owned(),
        known: ["amount".to_owned(), "kind".to_owned()].into(),
    };
    assert_eq!(kinds(&curve("amuont"), &files), column(no_column));
    let reason = NoFiles.read("log.csv").unwrap_err();
    let unreadable = ProblemErrorKind::UnreadableFile { file: file(), reason };
    assert_eq!(kinds(&curve("amount"), &NoFiles), [at("task[0].curve.file", unreadable)]);
}

#[test]
fn kinds_of_paths_into_documents_carry_their_data() {
    let mut document = Document::from_toml(GOOD_TASK).unwrap();
    let mut kind = |path: &str| document.set(path, 1.0).unwrap_err().0.remove(0).kind;
    assert_eq!(kind("task["), ProblemErrorKind::InvalidPath);
    let at = "task".to_owned();
    assert_eq!(kind("task[3].value"), ProblemErrorKind::NoSuchItem { at: at.clone(), len: 1 });
    let (expected, found) = (ExpectedType::Table, FoundValue::List);
    assert_eq!(kind("task.value"), ProblemErrorKind::NotAContainer { at, expected, found });
}
