//! No text makes the reader panic, and every error message is one line.

use outlay::Problem;
use outlay::problem::{Document, Files, ProblemErrors};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// The same text for every file.
struct OneText(String);

impl Files for OneText {
    fn read(&self, _: &str) -> Result<String, String> {
        Ok(self.0.clone())
    }
}

const DOCUMENT: &str = r#"budget = 100.0
horizon = 10
reward_max = 2
leftover = "keep"
tasks = { file = "tasks.csv" }
[[task]]
name = "a"
curve = { family = "hill", half_at = 120.0, steepness = 2.5, ceiling = 0.9, floor = 0.1 }
value = 0.6
reward = { law = "beta", mean = 0.6, concentration = 2 }
min = 1
max = 9
[[task]]
curve = { family = "steps", at = [1, 2], success = [0.5, 1] }
fixed = 3
[[task]]
curve = { family = "empirical", file = "samples.csv", column = "max", where = { name = "b" } }
exclude = true
"#;
const TABLE: &str = "name,family,exponent,at,success,min,max,exclude,at_least,reward.law,reward.mean\n\
                     b,power,0.5,,,1,2,,,,\nc,steps,,1;2,0.5;1,,,true,,constant,1\n";

/// Keys of the problem before and after its tasks.
const JSON: &str = r#"{"leftover": "keep", "horizon": 10,
 "task": [
  {"name": "a", "value": 0.6, "curve": {"family": "power", "exponent": 0.5}, "min": 1, "max": 9},
  {"curve": {"family": "steps", "at": [1, 2], "success": [0.5, 1]}, "fixed": 3, "current": null},
  {"reward": {"law": "constant", "mean": 1.5}, "curve": {"family": "saturating", "full_at": 2}}],
 "tasks": {"file": "tasks.csv"}, "reward_max": 2, "budget": 100}"#;

/// Reads a problem in JSON and checks that the tree of the whole document reads as the same one,
/// with the same errors.
fn read_json(text: &str, files: &OneText) -> Result<Problem, ProblemErrors> {
    let by_tree = Document::from_json(text).and_then(|document| document.problem(files));
    let read = Problem::from_json(text, files);
    assert_eq!(read, by_tree, "{text}");
    if let Ok(value) = serde_json::from_str(text) {
        // A value has lost repeated keys and positions.
        assert!(read.is_err() || Problem::from_value(&value, files) == read, "{text}");
    }
    read
}

/// There are errors, each with a path and on one line.
fn check(read: Result<Problem, ProblemErrors>) -> Result<(), TestCaseError> {
    let Err(errors) = read else {
        return Ok(());
    };
    prop_assert!(!errors.0.is_empty());
    for error in &errors.0 {
        prop_assert!(!error.path.is_empty() && !error.kind.to_string().is_empty());
        prop_assert!(!error.to_string().contains(char::is_control), "{:?}", error);
    }
    Ok(())
}

/// A value of any kind, a few levels deep, with valid keys.
fn tree() -> impl Strategy<Value = serde_json::Value> {
    use serde_json::Value;
    let word = prop::sample::select(vec![
        "hill",
        "power",
        "steps",
        "piecewise",
        "empirical",
        "logistic",
        "threshold",
        "custom",
        "beta",
        "uniform",
        "bernoulli",
        "keep",
        "",
        "x",
    ]);
    let number = prop_oneof![-2.0..2.0f64, Just(0.0), Just(1.0), Just(1e300), Just(-1e-300)];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        number.prop_map(Value::from),
        word.prop_map(Value::from),
    ];
    let key = prop::sample::select(vec![
        "budget",
        "horizon",
        "reward_max",
        "leftover",
        "task",
        "tasks",
        "name",
        "curve",
        "reward",
        "value",
        "min",
        "max",
        "fixed",
        "exclude",
        "at_least",
        "current",
        "family",
        "law",
        "exponent",
        "scale",
        "half_at",
        "steepness",
        "mid",
        "width",
        "at",
        "success",
        "spend",
        "samples",
        "file",
        "column",
        "where",
        "ceiling",
        "floor",
        "mean",
        "concentration",
        "low",
        "high",
        "where.max",
        "other",
    ]);
    leaf.prop_recursive(5, 64, 8, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key.clone(), inner), 0..8).prop_map(|entries| Value::Object(
                entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
            )),
        ]
    })
}

/// The text with some stretch of it replaced.
fn mutated(text: &'static str) -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just(String::new()),
        "\\PC{0,6}",
        prop::sample::select(vec![
            "nan",
            "-1",
            "inf",
            "{",
            "]",
            "[[",
            "\n",
            "\"",
            ",",
            ";",
            "=",
            "1e400",
            "'x'",
            "null",
            "1979-05-27",
            "\u{0}"
        ])
        .prop_map(str::to_owned),
    ];
    (0..text.len(), 0usize..12, piece).prop_map(move |(start, length, piece)| {
        let end = (start + length).min(text.len());
        format!("{}{piece}{}", &text[..start], &text[end..])
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn any_text(text in any::<String>(), file in any::<String>()) {
        let files = OneText(file);
        check(Problem::from_toml(&text, &files))?;
        check(read_json(&text, &files))?;
    }

    #[test]
    fn any_tree(tree in tree()) {
        let files = OneText(TABLE.to_owned());
        check(read_json(&tree.to_string(), &files))?;
        if let Ok(text) = toml::to_string(&tree) {
            check(Problem::from_toml(&text, &files))?;
        }
    }

    #[test]
    fn any_task(tree in tree(), curve in tree()) {
        let text = serde_json::json!({ "task": [tree, { "curve": curve, "reward": curve }] }).to_string();
        check(read_json(&text, &OneText(TABLE.to_owned())))?;
    }

    #[test]
    fn any_mutation_of_a_document(text in mutated(DOCUMENT)) {
        check(Problem::from_toml(&text, &OneText(TABLE.to_owned())))?;
    }

    #[test]
    fn any_mutation_of_a_json_document(text in mutated(JSON)) {
        check(read_json(&text, &OneText(TABLE.to_owned())))?;
    }

    #[test]
    fn any_mutation_of_a_table(table in mutated(TABLE)) {
        check(Problem::from_toml(DOCUMENT, &OneText(table)))?;
    }

    /// A problem that can be read can be written and read back.
    #[test]
    fn valid_problems_can_be_written_and_read_back(text in mutated(DOCUMENT)) {
        let files = OneText(TABLE.to_owned());
        if let Ok(problem) = Problem::from_toml(&text, &files) {
            let written = problem.to_toml().expect("a problem read from TOML can be written");
            prop_assert_eq!(Problem::from_toml(&written, &files).expect("the written problem is valid"), problem);
        }
    }
}

#[test]
fn the_mutated_document_is_valid() {
    let problem = Problem::from_toml(DOCUMENT, &OneText(TABLE.to_owned())).unwrap();
    assert_eq!(problem.tasks().len(), 5);
    let problem = read_json(JSON, &OneText(TABLE.to_owned())).unwrap();
    assert_eq!(problem.tasks().len(), 5);
    // The scale of a power curve is the budget, which follows the tasks.
    assert_eq!(problem.tasks()[0].curve().saturates_at(), 100.0);
}

#[test]
fn deep_nesting_is_rejected() {
    let files = OneText(String::new());
    let (open, close) = ("[".repeat(100_000), "]".repeat(100_000));
    assert!(Problem::from_json(&format!("{{\"budget\": {open}{close}}}"), &files).is_err());
    assert!(Problem::from_toml(&format!("budget = {open}{close}"), &files).is_err());
    assert!(Problem::from_toml(&format!("budget{} = 1", ".a".repeat(10_000)), &files).is_err());
}
