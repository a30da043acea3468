//! Amendments of a problem: positions, retired tasks, and the difference.

use std::sync::Arc;

use outlay::campaign::{Campaign, CampaignOptions, Guards};
use outlay::curve::DeclaredShape;
use outlay::feedback::{Outcome, Reward};
use outlay::learner::{LEARNERS, LearnerChoice};
use outlay::plan::{BindingBound, outcomes};
use outlay::problem::{AmendError, FieldChange, NoFiles, ProblemErrors, Seen};
use outlay::{Bounds, Curve, Options, Oracle, Problem, ProblemSpec, Task, TaskSpec};
use serde_json::json;

fn task(name: &str) -> TaskSpec {
    TaskSpec { value: Some(1.0), ..TaskSpec::new(name, Curve::exponential(30.0).unwrap()) }
}

fn problem(tasks: Vec<TaskSpec>) -> Problem {
    let horizon = Some(100);
    ProblemSpec { budget: 100.0, horizon, tasks, ..ProblemSpec::default() }.check().unwrap()
}

fn names(problem: &Problem) -> Vec<&str> {
    problem.tasks().iter().map(Task::name).collect()
}

fn read(text: &str) -> Result<Problem, ProblemErrors> {
    Problem::from_toml(text, &NoFiles)
}

#[test]
fn tasks_keep_their_positions_and_their_evidence() {
    let seen = |completions| Some(Seen { completions, reward: 1.0 });
    let old = problem(vec![
        TaskSpec { seen: seen(3), min: Some(5.0), ..task("a") },
        task("b"),
        TaskSpec { max: Some(40.0), ..task("c") },
    ]);
    let new = problem(vec![
        TaskSpec { seen: seen(9), ..task("d") },
        TaskSpec { max: Some(20.0), ..task("c") },
        TaskSpec { seen: seen(8), volume: Some(2.0), ..task("a") },
    ]);
    let (amended, difference) = old.amended(&new).unwrap();
    assert_eq!(names(&amended), ["a", "b", "c", "d"]);
    assert_eq!(difference.added, ["d"]);
    assert_eq!(difference.retired, ["b"]);
    assert!(difference.returned.is_empty());
    assert_eq!(difference.kept_seen, ["a"]);
    let change =
        |task: &str, field, old, new| FieldChange { task: Some(task.to_owned()), field, old, new };
    assert_eq!(
        difference.changed,
        [
            change("a", "volume", json!(1.0), json!(2.0)),
            change("a", "min", json!(5.0), json!(null)),
            change("c", "max", json!(40.0), json!(20.0)),
        ]
    );
    assert_eq!(amended.tasks()[0].seen(), seen(3));
    assert_eq!(amended.tasks()[3].seen(), seen(9));
    assert_eq!(amended.tasks()[1].bounds(), Bounds { min: 0.0, max: 0.0, at_least: 0.0 });

    // The amended problem again: nothing changes. The old one: "b" returns, and "d" is retired.
    let (same, nothing) = amended.amended(&amended).unwrap();
    assert!(same == amended && nothing.is_empty());
    let (back, difference) = amended.amended(&old).unwrap();
    assert_eq!(names(&back), ["a", "b", "c", "d"]);
    assert_eq!((difference.returned, difference.retired), (vec!["b".into()], vec!["d".into()]));
    assert_eq!(back.tasks()[..3], old.tasks()[..3]);
}

#[test]
fn fields_of_the_problem_and_functions_are_compared() {
    let one = |curve| problem(vec![TaskSpec::new("a", curve)]);
    let function = |factor: f64| {
        let success = move |spend: f64| (factor * spend).min(1.0);
        Curve::custom(Arc::new(success), DeclaredShape::Concave).unwrap()
    };
    let (half, full) = (function(0.5), function(1.0));
    let (_, difference) = one(half.clone()).amended(&one(full)).unwrap();
    assert_eq!(difference.changed.len(), 1);
    assert!(one(half.clone()).amended(&one(half)).unwrap().1.is_empty());
    let old = problem(vec![task("a")]);
    let mut spec = ProblemSpec { reward_max: 2.0, budget: 50.0, ..ProblemSpec::default() };
    spec.tasks = vec![task("a")];
    let new = spec.check().unwrap();
    let (amended, difference) = old.amended(&new).unwrap();
    assert_eq!(amended, new);
    let fields: Vec<&str> = difference.changed.iter().map(|change| change.field).collect();
    assert_eq!(fields, ["budget", "horizon", "reward_max"]);
    let refused = amended.amended(&old).unwrap_err();
    assert_eq!(refused, AmendError::RewardMax { old: 2.0, new: 1.0 });
}

#[test]
fn tasks_are_retired_by_name() {
    let problem = problem(vec![task("search"), TaskSpec { min: Some(60.0), ..task("audio") }]);
    let retired = problem.with_retired(&["audio"]).unwrap();
    assert!(retired.tasks()[1].is_retired() && !problem.tasks()[1].is_retired());
    assert_eq!(retired.with_retired(&["audio"]).unwrap(), retired);
    let unknown = problem.with_retired(&["adio"]).unwrap_err();
    assert_eq!(unknown.to_string(), "no task is named adio; did you mean audio?");
    assert_eq!(problem.with_retired(&["audio", "search"]), Err(AmendError::NoTaskLeft));
    // Its bounds come back with it.
    let (back, _) = retired.amended(&problem).unwrap();
    assert_eq!(back.tasks()[1].bounds().min, 60.0);
}

#[test]
fn files_keep_retired_tasks() {
    let text = "budget = 10.0\n\
        [[task]]\nname = \"a\"\ncurve = { family = \"exponential\", scale = 5.0 }\n\
        [[task]]\nname = \"b\"\nvolume = 2.5\nmin = 20.0\nretired = true\n\
        curve = { family = \"exponential\", scale = 5.0, floor = 0.2 }\n";
    let problem = read(text).unwrap();
    assert!(problem.tasks()[1].is_retired());
    assert_eq!(read(&problem.to_toml().unwrap()).unwrap(), problem);
    let json = serde_json::to_string(&problem).unwrap();
    assert_eq!(Problem::from_json(&json, &NoFiles).unwrap(), problem);
    assert!(json.contains(r#""min":20.0,"retired":true"#) && json.matches("retired").count() == 1);
    let table = "tasks = { file = 't.csv' }";
    struct Csv;
    impl outlay::problem::Files for Csv {
        fn read(&self, _: &str) -> Result<String, String> {
            Ok("name,family,scale,retired\na,exponential,5,\nb,exponential,5,true\n".to_owned())
        }
    }
    let from_csv = Problem::from_toml(table, &Csv).unwrap();
    assert_eq!(from_csv.tasks().iter().filter(|task| task.is_retired()).count(), 1);

    // Retired tasks need no value, no budget and no suitable volume; one task must stay.
    let law = "[environment]\ncompletions = \"single\"\n";
    assert!(read(&format!("{text}{law}")).is_ok());
    let all = text.replace("name = \"a\"\n", "name = \"a\"\nretired = true\n");
    let error = read(&all).unwrap_err().to_string();
    assert_eq!(error, "task: every task is retired: at least one must stay");
}

#[test]
fn retired_tasks_get_nothing_and_are_worth_nothing() {
    let floor = Curve::exponential(30.0).unwrap().with_floor(0.5).unwrap();
    let both = problem(vec![task("a"), TaskSpec { curve: floor, ..task("b") }]);
    let retired = both.with_retired(&["b"]).unwrap();
    let alone = problem(vec![task("a")]);
    let values = retired.values().unwrap();
    assert_eq!(values, [1.0, 0.0]);
    let (mut oracle, mut other) = (Oracle::new(&retired), Oracle::new(&alone));
    let found = oracle.allocate(&values, 100.0, &Options::default()).unwrap();
    let expected = other.allocate(&[1.0], 100.0, &Options::default()).unwrap();
    assert_eq!((found.spend[0], found.spend[1]), (expected.spend[0], 0.0));
    assert_eq!(found.value, expected.value);
    let rows = outcomes(&retired, &values, 100.0, &found.spend, 0.0);
    assert_eq!(rows[1].bound, Some(BindingBound::Retired));
}

/// In every round, with and without other unavailable tasks, and for every learner.
#[test]
fn campaigns_treat_retired_tasks_as_unavailable() {
    let specs = vec![task("a"), task("b"), task("c")];
    let retired = problem(specs.clone()).with_retired(&["b"]).unwrap();
    for entry in LEARNERS {
        let learner: LearnerChoice = entry.name.parse().unwrap();
        let options = CampaignOptions { learner, ..CampaignOptions::default() };
        let mut campaign = Campaign::new(&retired, options).unwrap();
        for round in 1..=30 {
            let available = (round % 3 == 0).then_some([true, true, false]);
            let available = available.as_ref().map(<[bool; 3]>::as_slice);
            let issued = campaign.allocate(100.0, available).unwrap();
            assert_eq!(issued.allocation.spend[1], 0.0, "{}", entry.name);
            let outcome = |there| if there { Outcome::Failed } else { Outcome::Missing };
            let there = [true, false, round % 3 != 0];
            campaign.observe_round(round, &there.map(outcome)).unwrap();
            assert_eq!(campaign.open_rounds(), 0, "{}", entry.name);
        }
    }
    let mut campaign = Campaign::new(&retired, CampaignOptions::default()).unwrap();
    campaign.allocate(100.0, None).unwrap();
    let refused = campaign.observe(1, 1, Outcome::Done(Reward::from_share(1.0))).unwrap_err();
    assert_eq!(refused.to_string(), "task b was not available in round 1");
    // A floor of the guards needs nothing for a retired task.
    let guards = Guards { floor: Some(50.0), ..Guards::default() };
    let options = || CampaignOptions { guards, ..CampaignOptions::default() };
    let mut campaign = Campaign::new(&retired, options()).unwrap();
    assert_eq!(campaign.allocate(100.0, None).unwrap().allocation.spend, [50.0, 0.0, 50.0]);
    assert!(Campaign::new(&problem(specs), options()).is_err());
}
