//! Valid problem files: their meaning, and that TOML, JSON, CSV and written files are equivalent.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use outlay::curve::DeclaredShape;
use outlay::problem::{BudgetLaw, CompletionLaw, DelayLaw, EnvironmentSpec, Files, NoFiles, Units};
use outlay::{Bounds, Curve, Leftover, Problem, ProblemSpec, RewardLaw, RewardOverMax, TaskSpec};

/// Files in memory that count how often each is read.
#[derive(Default)]
struct Folder {
    texts: HashMap<&'static str, String>,
    reads: RefCell<Vec<String>>,
}

impl Files for Folder {
    fn read(&self, path: &str) -> Result<String, String> {
        self.reads.borrow_mut().push(path.to_owned());
        self.texts.get(path).cloned().ok_or_else(|| "no such file".to_owned())
    }
}

fn folder(files: &[(&'static str, &str)]) -> Folder {
    Folder {
        texts: files.iter().map(|(path, text)| (*path, (*text).to_owned())).collect(),
        ..Folder::default()
    }
}

/// Every family, law and bound.
const EVERYTHING: &str = r#"
budget = 1000
horizon = 10000
reward_max = 2.5
reward_over_max = "clip"
leftover = "spend"
currency = "EUR"
period = "day"
reward_unit = "bookings"
environment = { budget = { law = "sine", mean = 1000, amplitude = 250, period = 7 }, delay = { law = "geometric", mean = 100 }, available = 0.95, completions = { law = "negative-binomial", dispersion = 2.5 }, scale = { power = [0.5, 2] }, volume = { hill = [3, 4.5, 1] }, hide_scale = true }
task = [
    { name = "power", curve = { family = "power", exponent = 0.5 }, value = 0.6 },
    { name = "power with a scale", curve = { family = "power", exponent = 1, scale = 30.5 }, value = 7, volume = 24.5 },
    { curve = { family = "saturating", full_at = 300, ceiling = 0.9, floor = 0.1 }, current = 80 },
    { name = "exponential", curve = { family = "exponential", scale = 1e-3 }, reward = { law = "bernoulli", mean = 0.6 } },
    { name = "hill", curve = { family = "hill", half_at = 120.0, steepness = 2.5 }, reward = { law = "beta", mean = 2.5 } },
    { name = "logistic", curve = { family = "logistic", mid = 50, width = 7 }, reward = { law = "beta", mean = 1, concentration = 3 } },
    { name = "threshold", curve = { family = "threshold", at = 0.1 }, reward = { law = "constant", mean = 0.3333333333333333 } },
    { name = "steps", curve = { family = "steps", at = [1, 2.5], success = [0.25, 1] }, reward = { law = "uniform", low = 0, high = 2.5 } },
    { name = "piecewise", curve = { family = "piecewise", spend = [0, 10, 20], success = [0, 0.5, 0.6] }, min = 10, max = 100 },
    { name = "empirical", curve = { family = "empirical", samples = [3, 1, 2, 2] }, reward = { law = "empirical", samples = [1, 0.5] } },
    { name = "fixed", curve = { family = "saturating", full_at = 1 }, fixed = 25.25 },
    { name = "excluded", curve = { family = "saturating", full_at = 1 }, exclude = true, max = 3 },
    { name = "all or nothing", curve = { family = "saturating", full_at = 1 }, at_least = 50, max = 60 },
    { name = "at least and min", curve = { family = "saturating", full_at = 1 }, at_least = 50, min = 10 },
    { name = "min and at least", curve = { family = "saturating", full_at = 1 }, at_least = 5, min = 10, exclude = false },
]
"#;

fn everything() -> Problem {
    Problem::from_toml(EVERYTHING, &NoFiles).expect("the problem is valid")
}

#[test]
fn a_file_is_equivalent_to_the_same_specs() {
    let curve = |full_at| Curve::saturating(full_at).unwrap();
    let task = TaskSpec::new;
    let spec = ProblemSpec {
        budget: 1000.0,
        horizon: Some(10_000),
        reward_max: 2.5,
        reward_over_max: RewardOverMax::Clip,
        leftover: Leftover::Spend,
        units: Units {
            currency: Some("EUR".into()),
            period: Some("day".into()),
            reward_unit: Some("bookings".into()),
        },
        environment: EnvironmentSpec {
            budget: Some(BudgetLaw::Sine { mean: 1000.0, amplitude: 250.0, period: 7.0 }),
            delay: Some(DelayLaw::Geometric { mean: 100.0 }),
            available: Some(0.95),
            completions: Some(CompletionLaw::NegativeBinomial { dispersion: 2.5 }),
            scale: [("power".to_owned(), vec![0.5, 2.0])].into(),
            volume: [("hill".to_owned(), vec![3.0, 4.5, 1.0])].into(),
            hide_scale: true,
        },
        tasks: vec![
            TaskSpec { value: Some(0.6), ..task("power", Curve::power(0.5, 1000.0).unwrap()) },
            TaskSpec {
                value: Some(7.0),
                volume: Some(24.5),
                ..task("power with a scale", Curve::power(1.0, 30.5).unwrap())
            },
            TaskSpec {
                current: Some(80.0),
                ..task("task-3", curve(300.0).with_ceiling(0.9).unwrap().with_floor(0.1).unwrap())
            },
            TaskSpec {
                reward: Some(RewardLaw::Bernoulli { mean: 0.6 }),
                ..task("exponential", Curve::exponential(1e-3).unwrap())
            },
            TaskSpec {
                reward: Some(RewardLaw::Beta { mean: 2.5, concentration: None }),
                ..task("hill", Curve::hill(120.0, 2.5).unwrap())
            },
            TaskSpec {
                reward: Some(RewardLaw::Beta { mean: 1.0, concentration: Some(3.0) }),
                ..task("logistic", Curve::logistic(50.0, 7.0).unwrap())
            },
            TaskSpec {
                reward: Some(RewardLaw::Constant { mean: 1.0 / 3.0 }),
                ..task("threshold", Curve::threshold(0.1).unwrap())
            },
            TaskSpec {
                reward: Some(RewardLaw::Uniform { low: 0.0, high: 2.5 }),
                ..task("steps", Curve::steps(vec![1.0, 2.5], vec![0.25, 1.0]).unwrap())
            },
            TaskSpec {
                min: Some(10.0),
                max: Some(100.0),
                ..task(
                    "piecewise",
                    Curve::piecewise(vec![0.0, 10.0, 20.0], vec![0.0, 0.5, 0.6]).unwrap(),
                )
            },
            TaskSpec {
                reward: Some(RewardLaw::Empirical { samples: vec![1.0, 0.5] }),
                ..task("empirical", Curve::empirical(vec![1.0, 2.0, 2.0, 3.0]).unwrap())
            },
            TaskSpec { fixed: Some(25.25), ..task("fixed", curve(1.0)) },
            TaskSpec { exclude: true, max: Some(3.0), ..task("excluded", curve(1.0)) },
            TaskSpec {
                at_least: Some(50.0),
                max: Some(60.0),
                ..task("all or nothing", curve(1.0))
            },
            TaskSpec {
                at_least: Some(50.0),
                min: Some(10.0),
                ..task("at least and min", curve(1.0))
            },
            TaskSpec {
                at_least: Some(5.0),
                min: Some(10.0),
                ..task("min and at least", curve(1.0))
            },
        ],
    };
    assert_eq!(ProblemSpec::from_toml(EVERYTHING, &NoFiles).unwrap(), spec);
    assert_eq!(everything(), spec.check().unwrap());
}

#[test]
fn bounds_are_folded() {
    let problem = everything();
    let bounds =
        |name: &str| problem.tasks().iter().find(|task| task.name() == name).unwrap().bounds();
    assert_eq!(bounds("power"), Bounds::NONE);
    assert_eq!(bounds("piecewise"), Bounds { min: 10.0, max: 100.0, at_least: 0.0 });
    assert_eq!(bounds("fixed"), Bounds { min: 25.25, max: 25.25, at_least: 0.0 });
    assert_eq!(bounds("excluded"), Bounds { min: 0.0, max: 0.0, at_least: 0.0 });
    assert_eq!(bounds("all or nothing"), Bounds { min: 0.0, max: 60.0, at_least: 50.0 });
    assert_eq!(bounds("at least and min"), Bounds { min: 50.0, max: f64::INFINITY, at_least: 0.0 });
    assert_eq!(bounds("min and at least"), Bounds { min: 10.0, max: f64::INFINITY, at_least: 0.0 });
}

#[test]
fn defaults() {
    let problem =
        Problem::from_toml("[[task]]\ncurve = { family = 'power', exponent = 0.5 }", &NoFiles)
            .unwrap();
    assert_eq!(
        (problem.budget(), problem.horizon(), problem.reward_max(), problem.leftover()),
        (1.0, None, 1.0, Leftover::Keep)
    );
    let [task] = problem.tasks() else { panic!("one task was written") };
    assert_eq!(
        (task.name(), task.value(), task.reward(), task.current()),
        ("task-1", None, None, None)
    );
    assert_eq!(task.curve(), &Curve::power(0.5, 1.0).unwrap());
}

#[test]
fn negative_zero_is_zero() {
    let text = "[[task]]\ncurve = { family = 'power', exponent = 0.5 }\nmin = -0.0\nmax = -0.0\nat_least = -0.0";
    let problem = Problem::from_toml(text, &NoFiles).unwrap();
    let Bounds { min, max, at_least } = problem.tasks()[0].bounds();
    assert!([min, max, at_least].iter().all(|bound| bound.is_sign_positive()));
}

#[test]
fn json_is_equivalent_to_toml() {
    // The toml crate's own tree, not the library's, makes the JSON.
    let tree: toml::Value = toml::from_str(EVERYTHING).unwrap();
    let json = serde_json::to_string_pretty(&tree).unwrap();
    assert_eq!(Problem::from_json(&json, &NoFiles).unwrap(), everything());
    assert_eq!(Problem::from_json(&format!("\u{feff}{json}"), &NoFiles).unwrap(), everything());
}

#[test]
fn a_null_is_an_unset_key() {
    let json = r#"{"budget": null, "task": [{"name": null, "max": null, "colour": null,
        "curve": {"family": "power", "exponent": 0.5, "scale": null, "floor": null}}], "tasks": null}"#;
    let toml = "[[task]]\ncurve = { family = 'power', exponent = 0.5 }";
    assert_eq!(
        Problem::from_json(json, &NoFiles).unwrap(),
        Problem::from_toml(toml, &NoFiles).unwrap()
    );
}

#[test]
fn written_files_read_back_equal() {
    let problem = everything();
    let written = problem.to_toml().unwrap();
    assert_eq!(Problem::from_toml(&written, &NoFiles).unwrap(), problem, "{written}");
    let json = serde_json::to_string(&problem).unwrap();
    assert_eq!(Problem::from_json(&json, &NoFiles).unwrap(), problem, "{json}");
}

#[test]
fn written_files_omit_defaults() {
    let problem =
        Problem::from_toml("[[task]]\ncurve = { family = 'power', exponent = 0.5 }", &NoFiles)
            .unwrap();
    let expected = "budget = 1.0\nreward_max = 1.0\nleftover = \"keep\"\n\n[[task]]\nname = \"task-1\"\n\n[task.curve]\n\
                    family = \"power\"\nexponent = 0.5\nscale = 1.0\n";
    assert_eq!(problem.to_toml().unwrap(), expected);
}

#[test]
fn a_function_cannot_be_written() {
    let own = Curve::custom(Arc::new(|spend: f64| spend.min(1.0)), DeclaredShape::Concave).unwrap();
    let spec = ProblemSpec {
        tasks: vec![TaskSpec::new("a", Curve::threshold(1.0).unwrap()), TaskSpec::new("b", own)],
        ..ProblemSpec::default()
    };
    let error = spec.check().unwrap().to_toml().unwrap_err();
    assert_eq!(
        error.to_string(),
        "task[1].curve: is a custom function, which a file cannot hold; give its points instead"
    );
}

/// The same tasks as in `EVERYTHING`, except for the separators of lists and for prices from a
/// file.
const TABLE: &str = "\u{feff}name,family,exponent,scale,full_at,half_at,curve.steepness,mid,width,at,success,spend,samples,ceiling,floor,\
value,min,max,fixed,exclude,at_least,current,reward.law,reward.mean,reward.concentration,reward.low,reward.high,reward.samples,volume
power,power,0.5,,,,,,,,,,,,,0.6,,,,,,,,,,,,,
power with a scale,power,1,30.5,,,,,,,,,,,,7,,,,,,,,,,,,,24.5
,saturating,,,300,,,,,,,,,0.9,0.1,,,,,,,80,,,,,,,
exponential,exponential,,1e-3,,,,,,,,,,,,,,,,,,,bernoulli,0.6,,,,,
hill,hill,,,,120,2.5,,,,,,,,,,,,,,,,beta,2.5,,,,,
\"logistic\",logistic,,,,,, 50 ,7,,,,,,,,,,,,,,beta,1,3,,,,
threshold,threshold,,,,,,,,0.1,,,,,,,,,,,,,constant,0.3333333333333333,,,,,
steps,steps,,,,,,,,1;2.5,0.25;1,,,,,,,,,,,,uniform,,,0,2.5,,

piecewise,piecewise,,,,,,,,,0;0.5;0.6,0;10;20,,,,,10,100,,,,,,,,,,,
empirical,empirical,,,,,,,,,,,3; 1;2 ;2,,,,,,,,,,empirical,,,,,1;0.5,
fixed,saturating,,,1,,,,,,,,,,,,,,25.25,,,,,,,,,,
excluded,saturating,,,1,,,,,,,,,,,,,3,,true,,,,,,,,,
,,,,,,,,,,,,,,,,,,,,,,,,,,,,
all or nothing,saturating,,,1,,,,,,,,,,,,,60,,,50,,,,,,,,
at least and min,saturating,,,1,,,,,,,,,,,,10,,,,50,,,,,,,,
min and at least,saturating,,,1,,,,,,,,,,,,10,,,FALSE,5,,,,,,,,
";

#[test]
fn a_csv_table_is_equivalent_to_the_same_tasks() {
    let text = "budget = 1000\nhorizon = 10000\nreward_max = 2.5\nleftover = 'spend'\ntasks = { file = 'tasks.csv' }";
    for table in [TABLE.to_owned(), TABLE.replace('\n', "\r\n")] {
        let problem = Problem::from_toml(text, &folder(&[("tasks.csv", &table)])).unwrap();
        assert_eq!(problem.tasks(), everything().tasks());
    }
}

#[test]
fn rows_follow_the_tasks_of_the_document() {
    let files = folder(&[("tasks.csv", "family,full_at,name\nsaturating,2,\nsaturating,3,tv\n")]);
    let text =
        "tasks = { file = 'tasks.csv' }\n[[task]]\ncurve = { family = 'saturating', full_at = 1 }";
    let spec = ProblemSpec::from_toml(text, &files).unwrap();
    let named: Vec<(&str, &str)> =
        spec.tasks.iter().map(|task| (task.name.as_str(), task.origin.as_str())).collect();
    assert_eq!(named, [("task-1", ""), ("task-2", "tasks.csv line 2"), ("tv", "tasks.csv line 3")]);
}

const PRICES: &str = "item,days,price\nCartier watch,3,10\nCartier watch,7,20\nPalm,3.0,30\nPalm,7,40\nPalm,07,50\n,7,60\n";

#[test]
fn where_selects_the_rows_that_meet_every_condition() {
    for (condition, samples) in [
        ("", vec![10.0, 20.0, 30.0, 40.0, 50.0, 60.0]),
        (", where = {}", vec![10.0, 20.0, 30.0, 40.0, 50.0, 60.0]),
        (", where = { item = 'Palm' }", vec![30.0, 40.0, 50.0]),
        (", where = { item = '' }", vec![60.0]),
        (", where = { days = 3 }", vec![10.0, 30.0]),
        (", where = { days = 3.0 }", vec![10.0, 30.0]),
        (", where = { days = '3' }", vec![10.0, 30.0]),
        (", where = { days = 7, item = 'Palm' }", vec![40.0, 50.0]),
        (", where = { item = 'Cartier watch', days = '7' }", vec![20.0]),
    ] {
        let source = format!("file = 'prices.csv', column = 'price'{condition}");
        let text = format!(
            "reward_max = 60\n[[task]]\ncurve = {{ family = 'empirical', {source} }}\nreward = {{ law = 'empirical', {source} }}"
        );
        let problem = Problem::from_toml(&text, &folder(&[("prices.csv", PRICES)])).unwrap();
        let task = &problem.tasks()[0];
        assert_eq!(task.curve(), &Curve::empirical(samples.clone()).unwrap(), "{condition}");
        assert_eq!(task.reward(), Some(&RewardLaw::Empirical { samples }), "{condition}");
    }
}

#[test]
fn rows_of_a_table_read_samples_from_files_too() {
    let tasks = "name,family,file,column,where.item,curve.where.days,reward.law,reward.file,reward.column,reward.where.item\n\
                 a,empirical,prices.csv,price,Palm,7,empirical,prices.csv,days,Cartier watch\n\
                 b,empirical,prices.csv,price,Palm,,,,,\n";
    let files = folder(&[("tasks.csv", tasks), ("prices.csv", PRICES)]);
    let problem =
        Problem::from_toml("reward_max = 9\ntasks = { file = 'tasks.csv' }", &files).unwrap();
    let [first, second] = problem.tasks() else { panic!("two tasks were written") };
    assert_eq!(first.curve(), &Curve::empirical(vec![40.0, 50.0]).unwrap());
    assert_eq!(first.reward(), Some(&RewardLaw::Empirical { samples: vec![3.0, 7.0] }));
    assert_eq!(second.curve(), &Curve::empirical(vec![30.0, 40.0, 50.0]).unwrap());
}

#[test]
fn a_file_is_read_once() {
    let task =
        "[[task]]\ncurve = { family = 'empirical', file = 'prices.csv', column = 'price' }\n";
    let missing =
        "[[task]]\ncurve = { family = 'empirical', file = 'missing.csv', column = 'price' }\n";
    let files = folder(&[("prices.csv", PRICES)]);
    assert!(Problem::from_toml(&format!("{task}{task}{missing}{missing}"), &files).is_err());
    assert_eq!(*files.reads.borrow(), ["prices.csv", "missing.csv"]);
}

#[test]
fn the_summary_of_a_log_is_kept() {
    let text = r#"
        budget = 100.0
        reward_max = 10.0
        [[task]]
        name = "search"
        curve = { family = "exponential", scale = 30.0 }
        volume = 60.0
        covers = [10.0, 140.5]
        seen = { completions = 812, reward = 5034.25 }
    "#;
    let problem = Problem::from_toml(text, &NoFiles).unwrap();
    let task = &problem.tasks()[0];
    assert_eq!(task.covers(), Some([10.0, 140.5]));
    assert_eq!(task.seen(), Some(outlay::problem::Seen { completions: 812, reward: 5034.25 }));
    let extrapolates = [0.0, 9.0, 10.0, 100.0, 140.5, 141.0].map(|spend| task.extrapolates(spend));
    assert_eq!(extrapolates, [false, true, false, false, false, true]);
    // Without a log nothing is known to be extrapolated.
    let other = outlay::TaskSpec::new("a", outlay::Curve::exponential(1.0).unwrap());
    let other = outlay::ProblemSpec { tasks: vec![other], ..Default::default() }.check().unwrap();
    assert!(!other.tasks()[0].extrapolates(5.0));
    let again = Problem::from_toml(&problem.to_toml().unwrap(), &NoFiles).unwrap();
    assert_eq!(problem, again);
    let json = serde_json::to_string(&problem).unwrap();
    assert_eq!(problem, Problem::from_json(&json, &NoFiles).unwrap());
}

#[test]
fn an_invalid_summary_of_a_log_is_refused() {
    let errors = |keys: &str| {
        let curve = "curve = { family = 'exponential', scale = 30.0 }";
        let text = format!("reward_max = 10.0\n[[task]]\n{curve}\n{keys}");
        Problem::from_toml(&text, &NoFiles).unwrap_err().to_string()
    };
    assert_eq!(errors("covers = [5, 1]"), "task[0].covers: must not decrease: 5 > 1");
    assert_eq!(
        errors("covers = [5]"),
        "task[0].covers: must have two numbers, the smallest and the largest spend of the log, \
         not 1"
    );
    assert_eq!(
        errors("covers = [-1, 5]"),
        "task[0].covers: must be finite and not negative, not -1"
    );
    assert_eq!(
        errors("seen = { completions = 3, reward = 31 }"),
        "task[0].seen.reward: must be at most completions × `reward_max`: 31 > 3 × 10"
    );
    assert_eq!(
        errors("seen = { completions = 3 }"),
        "task[0].seen.reward: is missing: a summary of a log needs it"
    );
    assert_eq!(
        errors("seen = { completions = 3, reward = 1, rows = 2 }"),
        "task[0].seen: unknown key `rows`: expected one of `completions`, `reward`"
    );
}

#[test]
fn spends_can_be_bounded_by_the_log() {
    let bounds = |keys: &str| {
        let curve = "curve = { family = 'exponential', scale = 30.0 }";
        let text = format!("budget = 100.0\n[[task]]\n{curve}\ncovers = [10, 50]\n{keys}");
        let within = Problem::from_toml(&text, &NoFiles).unwrap().within_data();
        within.map(|problem| problem.tasks()[0].bounds()).map_err(|errors| errors.to_string())
    };
    let expected = |min, max, at_least| Ok(Bounds { min, max, at_least });
    assert_eq!(bounds(""), expected(0.0, 50.0, 10.0));
    assert_eq!(bounds("max = 30"), expected(0.0, 30.0, 10.0));
    assert_eq!(bounds("at_least = 20"), expected(0.0, 50.0, 20.0));
    assert_eq!(bounds("min = 5"), expected(10.0, 50.0, 0.0));
    assert_eq!(bounds("fixed = 20"), expected(20.0, 20.0, 0.0));
    // Nothing can be spent if the log covers no allowed amount.
    assert_eq!(bounds("max = 5"), expected(0.0, 0.0, 0.0));
    assert_eq!(bounds("at_least = 60"), expected(0.0, 0.0, 0.0));
    let refused = "task[0].covers: no spend that the bounds allow is between 10 and 50";
    for keys in ["fixed = 5", "min = 60", "min = 1\nmax = 9"] {
        assert_eq!(bounds(keys), Err(refused.to_owned()), "{keys}");
    }
}
