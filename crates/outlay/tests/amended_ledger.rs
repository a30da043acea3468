//! Ledgers whose problem is amended: what was learned stays, and the record replays to the same
//! state.

use outlay::campaign::{CampaignOptions, Guards, RoundConditions, RoundPlanner};
use outlay::feedback::{Feedback, Reward};
use outlay::learner::{LEARNERS, LearnerSpec};
use outlay::ledger::{Entry, Ledger, LedgerError, RecordError, RoundRequest, Settings, Undone};
use outlay::problem::{AmendError, Seen};
use outlay::{Curve, Problem, ProblemSpec, TaskSpec};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

fn task(name: &str, scale: f64) -> TaskSpec {
    TaskSpec::new(name, Curve::exponential(scale).unwrap())
}

fn problem(reward_max: f64, tasks: Vec<TaskSpec>) -> Problem {
    let horizon = Some(500);
    ProblemSpec { budget: 100.0, horizon, reward_max, tasks, ..ProblemSpec::default() }
        .check()
        .unwrap()
}

fn abc() -> Problem {
    problem(4.0, vec![task("a", 30.0), task("b", 50.0), task("c", 80.0)])
}

/// Without "b", with "d", and with another curve of "a".
fn acd() -> Problem {
    problem(4.0, vec![task("d", 40.0), task("c", 80.0), task("a", 20.0)])
}

fn opened(problem: &Problem, learner: LearnerSpec, guards: Guards) -> Ledger {
    Ledger::new(problem, Settings { learner, guards, ..Settings::default() }).unwrap()
}

fn default_ledger() -> Ledger {
    opened(&abc(), LearnerSpec::default(), Guards::default())
}

/// Plays a round in which the tasks complete whose bits are set.
fn play(ledger: &mut Ledger, completed: u32) {
    let sees_all = ledger.settings().learner.entry().feedback == Feedback::Full;
    let round = ledger.next(None, &[]).unwrap();
    let tasks = (0..round.available.len()).filter(|task| round.available[*task]);
    let entries: Vec<Entry> = tasks
        .map(|task| match completed >> task & 1 {
            1 => Entry::completed(round.round, task, 0.75 * (task + 1) as f64),
            _ if sees_all => Entry { reward: Some(0.5), ..Entry::failed(round.round, task) },
            _ => Entry::failed(round.round, task),
        })
        .collect();
    ledger.report(&entries).unwrap();
}

fn reloaded(ledger: &Ledger) -> Ledger {
    let json = ledger.to_json();
    let loaded = Ledger::from_json(&json).unwrap();
    assert_eq!(loaded.to_json(), json);
    loaded
}

fn position(ledger: &Ledger, name: &str) -> usize {
    ledger.problem().task_position(name).unwrap()
}

/// The split after an amendment is that of a planner of the amended problem with the same counts.
#[test]
fn count_based_learners_keep_completions_and_rewards() {
    let larger = problem(
        6.0,
        acd().tasks().iter().map(|task| TaskSpec::new(task.name(), task.curve().clone())).collect(),
    );
    for (new, reward_max) in [(acd(), 4.0), (larger, 6.0)] {
        for entry in LEARNERS {
            let learner: LearnerSpec = entry.name.parse().unwrap();
            if !learner.is_count_based() || entry.feedback != Feedback::Censored {
                continue;
            }
            let mut ledger = opened(&abc(), learner, Guards::default());
            (0..12).for_each(|round| play(&mut ledger, 0b011 << (round % 3)));
            let difference = ledger.amend(&new).unwrap();
            assert_eq!(
                (difference.added, difference.retired),
                (vec!["d".into()], vec!["b".into()])
            );
            let status = ledger.status().unwrap();
            let completions: Vec<u64> = status.tasks.iter().map(|task| task.completions).collect();
            assert_eq!(completions, [4, 8, 8, 0]);
            let units = |task: usize| {
                let reward = 0.75 * (task + 1) as f64;
                completions[task] * Reward::from_share(reward / reward_max).units()
            };
            let sums: Vec<u64> = (0..4).map(units).collect();
            let options = CampaignOptions {
                learner: learner.into(),
                always_cold: true,
                ..CampaignOptions::default()
            };
            let mut planner = RoundPlanner::new(ledger.problem(), options).unwrap();
            planner.set_counts(&completions, &sums).unwrap();
            let expected =
                planner.decide(13, &RoundConditions::new(100.0, None)).unwrap().spend.clone();
            let round = reloaded(&ledger).next(None, &[]).unwrap();
            assert_eq!(round.allocation.spend, expected, "{learner}");
            assert_eq!(round.available, [true, false, true, true]);
            assert_eq!(ledger.next(None, &[]).unwrap(), round);
        }
    }
}

#[test]
fn learners_that_cannot_continue_are_refused_once_a_round_was_issued() {
    for entry in LEARNERS {
        let learner: LearnerSpec = entry.name.parse().unwrap();
        let mut ledger = opened(&abc(), learner, Guards::default());
        ledger.amend(&acd()).unwrap();
        play(&mut ledger, 0b1000);
        let kept = ledger.to_json();
        match ledger.amend(&abc()) {
            Ok(_) => {
                assert!(learner.amendment_obstacle().is_none());
                (0..60).for_each(|round| play(&mut ledger, round % 16));
                reloaded(&ledger);
            }
            Err(error) => {
                let LedgerError::Amend(AmendError::Learner { reason, .. }) = &error else {
                    panic!("{error}")
                };
                assert_eq!(learner.amendment_obstacle(), Some(*reason));
                assert!(error.to_string().starts_with(&format!("learner `{learner}` cannot")));
                assert_eq!(ledger.to_json(), kept);
            }
        }
    }
    let refused = LEARNERS
        .iter()
        .filter(|entry| entry.name.parse::<LearnerSpec>().unwrap().amendment_obstacle().is_some());
    assert_eq!(refused.map(|entry| entry.name).collect::<Vec<_>>(), ["grid-ucb", "lattimore"]);
}

/// `explore-then-commit` explores the new task before it commits again, and never waits for a
/// retired one.
#[test]
fn explore_then_commit_explores_new_tasks() {
    let learner = LearnerSpec::ExploreThenCommit { rounds: Some(4) };
    let mut ledger = opened(&abc(), learner, Guards::default());
    // In round 7 it has committed to the means.
    (0..7).for_each(|_| play(&mut ledger, 0b111));
    let explores = |spend: &[f64]| spend.iter().filter(|spend| **spend > 0.0).count() == 1;
    assert!(!explores(ledger.spend(7).unwrap()));
    ledger.amend(&acd()).unwrap();
    let mut explored = Vec::new();
    for _ in 0..12 {
        play(&mut ledger, 0b1101);
        explored.push(explores(ledger.spend(ledger.rounds()).unwrap()));
    }
    assert_eq!(explored.iter().filter(|explores| **explores).count(), 4);
    assert!(explored[..4].iter().all(|explores| *explores));
}

#[test]
fn rounds_keep_the_tasks_and_curves_of_their_problem() {
    let mut ledger = default_ledger();
    let first = ledger.next(None, &[]).unwrap();
    ledger.amend(&acd()).unwrap();
    assert_eq!(ledger.problem_of(1), &abc());
    assert_eq!(ledger.open_rounds(), 1);
    // A late outcome at another spend, of a task with another curve now and of a retired one.
    let late = Entry { spend: Some(25.0), ..Entry::completed(1, 0, 1.0) };
    ledger.report(&[late, Entry::completed(1, 1, 2.0)]).unwrap();
    let status = ledger.status().unwrap();
    let old = abc();
    assert_eq!(status.tasks[0].expected, old.tasks()[0].curve().success(25.0));
    assert_eq!(status.tasks[1].expected, first.allocation.success[1]);
    assert_eq!((status.tasks[1].completions, status.tasks[1].next), (1, None));
    assert_eq!(status.open, [(1, 1)]);
    // The new task was not in the round.
    let error = ledger.report(&[Entry::completed(1, 3, 1.0)]).unwrap_err().to_string();
    assert!(error.contains("task d was left out of round 1"), "{error}");
    // The retired one is not in the next.
    let second = ledger.next(None, &[]).unwrap();
    let error = ledger.report(&[Entry::failed(second.round, 1)]).unwrap_err().to_string();
    assert!(error.contains("task b was left out of round 2"), "{error}");
    let shown = reloaded(&ledger).issued(1).unwrap();
    assert_eq!(shown.available, [true, true, true, false]);
    assert_eq!(shown.allocation.spend[..3], first.allocation.spend[..]);
}

/// Counts may be reported for rounds whose problem had volumes, and only for those.
#[test]
fn counts_follow_the_problem_of_the_round() {
    let with_volume = |volume| {
        let volume = Some(volume);
        problem(4.0, vec![TaskSpec { volume, ..task("a", 30.0) }, task("b", 30.0)])
    };
    for learner in ["kl-ucb-plus", "uniform"] {
        let mut ledger = opened(&with_volume(20.0), learner.parse().unwrap(), Guards::default());
        ledger.next(None, &[]).unwrap();
        ledger.amend(&with_volume(1.0)).unwrap();
        ledger.next(None, &[]).unwrap();
        let many = |round| Entry { completions: 9, ..Entry::completed(round, 0, 12.0) };
        ledger.report(&[many(1), Entry::failed(1, 1)]).unwrap();
        let error = ledger.report(&[many(2)]).unwrap_err().to_string();
        assert!(error.contains("must be at most 1, not 9"), "{error}");
        ledger.report(&[Entry::completed(2, 0, 1.0)]).unwrap();
        let status = reloaded(&ledger).status().unwrap();
        let success = ledger.issued(1).unwrap().allocation.success[0];
        let second = ledger.issued(2).unwrap().allocation.success[0];
        assert!((status.tasks[0].expected - 20.0 * success - second).abs() < 1e-12);
        assert_eq!(status.tasks[0].misfit, None);
    }
}

#[test]
fn an_amendment_can_be_undone_until_a_round_is_issued() {
    let mut ledger = default_ledger();
    play(&mut ledger, 0b101);
    let before = ledger.to_json();
    ledger.amend(&acd()).unwrap();
    let amended = ledger.to_json();
    ledger.next(None, &[]).unwrap();
    ledger.report(&[Entry::completed(2, 3, 1.0)]).unwrap();
    // The report after the amendment, then the one before it; the amendment stays.
    assert_eq!(ledger.undo().unwrap(), Undone::Outcomes(1));
    assert_eq!(ledger.undo().unwrap(), Undone::Outcomes(3));
    assert_eq!(ledger.undo(), Err(LedgerError::NothingTold));
    assert_eq!(ledger.amendments().len(), 1);
    reloaded(&ledger);

    let mut ledger = Ledger::from_json(&amended).unwrap();
    let Undone::Amendment(undone) = ledger.undo().unwrap() else { panic!("an amendment") };
    assert_eq!(undone.added, ["d"]);
    assert_eq!(ledger.to_json(), before);
    assert_eq!(ledger.undo().unwrap(), Undone::Outcomes(3));
}

#[test]
fn the_same_problem_changes_nothing() {
    let mut ledger = default_ledger();
    play(&mut ledger, 0b110);
    let kept = ledger.to_json();
    let order = problem(4.0, vec![task("c", 80.0), task("a", 30.0), task("b", 50.0)]);
    assert!(ledger.amend(&order).unwrap().is_empty());
    assert_eq!(ledger.to_json(), kept);
    let smaller = problem(3.0, vec![task("a", 30.0)]);
    let error = ledger.amend(&smaller).unwrap_err().to_string();
    assert!(error.starts_with("reward_max: cannot decrease from 4 to 3"), "{error}");
    assert_eq!(ledger.to_json(), kept);
}

/// A request with a key is repeated by a scheduled job, whatever was amended in between.
#[test]
fn keys_return_their_rounds_after_an_amendment() {
    let mut ledger = default_ledger();
    let request = RoundRequest { key: Some("monday"), ..RoundRequest::default() };
    let first = ledger.issue(&request).unwrap();
    let without = RoundRequest { key: Some("tuesday"), without: &["c"], ..request };
    ledger.issue(&without).unwrap();
    let mut spec = ProblemSpec { budget: 60.0, reward_max: 4.0, ..ProblemSpec::default() };
    spec.tasks = vec![task("c", 80.0), task("e", 10.0)];
    ledger.amend(&spec.check().unwrap()).unwrap();
    let again = ledger.issue(&request).unwrap();
    assert_eq!((again.round, again.budget), (1, 100.0));
    assert_eq!(again.allocation.spend, [first.allocation.spend, vec![0.0]].concat());
    assert_eq!(ledger.issue(&without).unwrap().round, 2);
    let other = RoundRequest { key: Some("tuesday"), ..request };
    assert!(matches!(ledger.issue(&other), Err(LedgerError::KeyOfAnotherRound { round: 2, .. })));
    // A retired task may be left out; the tasks that are left must not all be.
    let third = RoundRequest { without: &["a"], ..RoundRequest::default() };
    assert_eq!(ledger.issue(&third).unwrap().available, [false, false, true, true]);
    let no_task = RoundRequest { without: &["c", "e"], ..RoundRequest::default() };
    assert_eq!(ledger.issue(&no_task), Err(LedgerError::NoTaskLeft));
    // The key of a round still returns it when all other tasks are retired.
    ledger.amend(&problem(4.0, vec![task("c", 80.0)])).unwrap();
    assert_eq!(ledger.issue(&without).unwrap().round, 2);
    let unknown = RoundRequest { without: &["x"], ..without };
    assert_eq!(ledger.issue(&unknown), Err(LedgerError::UnknownTask("x".to_owned())));
}

#[test]
fn guards_compare_new_and_returned_tasks_with_zero() {
    let guards = Guards { max_change: Some(5.0), ..Guards::default() };
    let current = |name, scale, current| TaskSpec { current: Some(current), ..task(name, scale) };
    let first = problem(4.0, vec![current("a", 30.0, 60.0), current("b", 30.0, 40.0)]);
    let mut ledger = opened(&first, LearnerSpec::default(), guards);
    play(&mut ledger, 0);
    let second = problem(4.0, vec![task("a", 30.0), task("c", 5.0), current("d", 5.0, 20.0)]);
    ledger.amend(&second).unwrap();
    for mut ledger in [reloaded(&ledger), ledger] {
        let spend = ledger.next(None, &[]).unwrap().allocation.spend;
        assert!(spend[2] <= 5.0 + 1e-9 && spend[3] >= 15.0 - 1e-9, "{spend:?}");
        ledger.amend(&first).unwrap();
        let spend = ledger.next(None, &[]).unwrap().allocation.spend;
        assert!(spend[1] <= 5.0 + 1e-9, "{spend:?}");
    }
    // Retired and returned between two rounds: the last spend stays the reference.
    let mut ledger = opened(&first, LearnerSpec::default(), guards);
    play(&mut ledger, 0);
    ledger.amend(&second).unwrap();
    ledger.amend(&first).unwrap();
    let before = ledger.spend(1).unwrap()[1];
    let spend = ledger.next(None, &[]).unwrap().allocation.spend;
    assert!((spend[1] - before).abs() <= 5.0 + 1e-9, "{spend:?}");
    // Guards that the new problem cannot satisfy.
    let floor = Guards { floor: Some(40.0), ..Guards::default() };
    let mut ledger = opened(&first, LearnerSpec::default(), floor);
    let kept = ledger.to_json();
    let error = ledger.amend(&second).unwrap_err().to_string();
    assert_eq!(error, "floor: the tasks need 120 with it, but the budget is 100");
    assert_eq!(ledger.to_json(), kept);
}

/// A new task with a log starts from it, and an existing one keeps the log it started from.
#[test]
fn logs_count_once() {
    let seen = |completions| Some(Seen { completions, reward: completions as f64 });
    let old = problem(4.0, vec![TaskSpec { seen: seen(10), ..task("a", 30.0) }]);
    let new = problem(
        4.0,
        vec![
            TaskSpec { seen: seen(30), ..task("a", 30.0) },
            TaskSpec { seen: seen(20), ..task("b", 30.0) },
        ],
    );
    let mut ledger = opened(&old, LearnerSpec::default(), Guards::default());
    play(&mut ledger, 1);
    assert_eq!(ledger.amend(&new).unwrap().kept_seen, ["a"]);
    let status = ledger.status().unwrap();
    let seen: Vec<u64> =
        status.tasks.iter().map(|task| task.seen.map_or(0, |seen| seen.completions)).collect();
    assert_eq!(seen, [10, 20]);
    let options = CampaignOptions { always_cold: true, ..CampaignOptions::default() };
    let mut planner = RoundPlanner::new(ledger.problem(), options).unwrap();
    planner.set_counts(&[1, 0], &[Reward::from_share(0.75 / 4.0).units(), 0]).unwrap();
    let expected = planner.decide(2, &RoundConditions::new(100.0, None)).unwrap().spend.clone();
    assert_eq!(ledger.next(None, &[]).unwrap().allocation.spend, expected);
}

/// Bounds of the new problem do not apply to earlier rounds.
#[test]
fn tasks_with_a_lower_bound_can_be_added() {
    let mut ledger = default_ledger();
    ledger.next(None, &["b"]).unwrap();
    let min = |name| TaskSpec { min: Some(15.0), ..task(name, 30.0) };
    ledger.amend(&problem(4.0, vec![task("a", 30.0), min("b"), min("d")])).unwrap();
    let round = reloaded(&ledger).next(None, &[]).unwrap();
    assert_eq!(round, ledger.next(None, &[]).unwrap());
    let spend = &round.allocation.spend;
    assert!(spend[1] >= 15.0 && spend[3] >= 15.0, "{spend:?}");
}

#[test]
fn damaged_amendments_are_rejected() {
    let mut ledger = default_ledger();
    play(&mut ledger, 0b111);
    ledger.amend(&acd()).unwrap();
    play(&mut ledger, 0b1111);
    let json = ledger.to_json();
    assert!(json.contains(r#"{"after":1,"tells":1,"problem":{"#));
    for (from, to) in [
        (r#""after":1,"tells":1,"problem""#, r#""after":3,"tells":1,"problem""#),
        (r#""after":1,"tells":1,"problem""#, r#""after":1,"tells":3,"problem""#),
        (r#""after":1,"tells":1,"problem""#, r#""after":1,"tells":2,"problem""#),
        (r#""after":1,"tells":1,"problem""#, r#""after":2,"tells":1,"problem""#),
    ] {
        let error = Ledger::from_json(&json.replace(from, to)).unwrap_err();
        assert!(
            matches!(error, LedgerError::Record(RecordError::AmendmentOrder(1)))
                || matches!(error, LedgerError::Record(RecordError::RoundLength(_))),
            "{to}: {error}"
        );
    }
    let smaller = json.replacen(r#""reward_max":4.0"#, r#""reward_max":5.0"#, 1);
    let error = Ledger::from_json(&smaller).unwrap_err().to_string();
    assert!(error.starts_with("reward_max: cannot decrease"), "{error}");
}

/// A state in the format of this version, which later versions must read.
#[test]
fn a_state_with_an_amendment_loads() {
    let state = include_str!("data/amended-ledger.json");
    let ledger = Ledger::from_json(state).unwrap();
    assert_eq!(ledger.to_json(), state);
    assert!(ledger.problem().tasks()[1].is_retired());
    assert_eq!(ledger.amendments()[0].0, 1);
    assert_eq!(ledger.status().unwrap().tasks[0].completions, 1);
}

/// A spend that arrives after its outcome completes it; another one is a contradiction.
#[test]
fn spends_may_follow_their_outcomes() {
    let mut ledger = default_ledger();
    ledger.next(None, &[]).unwrap();
    ledger.report(&[Entry::completed(1, 0, 1.0), Entry::failed(1, 1)]).unwrap();
    let before = ledger.to_json();
    let with = |spend| Entry { spend: Some(spend), ..Entry::completed(1, 0, 1.0) };
    let refused = ledger.report(&[with(20.0), Entry::completed(1, 1, 1.0)]);
    assert!(refused.is_err() && ledger.to_json() == before);
    let reported = ledger.report(&[with(20.0), with(20.0), Entry::failed(1, 2)]).unwrap();
    assert_eq!((reported.new, reported.spends, reported.repeated), (1, 1, 1));
    let delivery = |ledger: &Ledger| ledger.status().unwrap().tasks[0].delivery;
    assert_eq!(delivery(&ledger).unwrap().spent, 20.0);
    assert_eq!(delivery(&reloaded(&ledger)), delivery(&ledger));
    let error = ledger.report(&[with(21.0)]).unwrap_err().to_string();
    assert!(error.contains("at spend 21 now, but completed with reward 1 at spend 20"), "{error}");
    assert_eq!(ledger.report(&[Entry::completed(1, 0, 1.0)]).unwrap().repeated, 1);
    // A later correction keeps it, and undo takes both back.
    ledger.revise(&[Entry::completed(1, 0, 2.0)]).unwrap();
    assert_eq!(delivery(&reloaded(&ledger)).unwrap().spent, 20.0);
    ledger.undo().unwrap();
    assert_eq!(ledger.undo().unwrap(), Undone::Outcomes(2));
    assert_eq!(ledger.to_json(), before);
    // In the same call.
    let reported =
        ledger.report(&[Entry::failed(1, 2), Entry { spend: Some(3.0), ..Entry::failed(1, 2) }]);
    assert_eq!(reported.unwrap().new, 1);
    assert_eq!(reloaded(&ledger).status().unwrap().tasks[2].delivery.unwrap().spent, 3.0);
}

/// `lattimore` learns from spends, so a spend that arrives late changes what it has learned.
#[test]
fn late_spends_reach_learners_that_learn_from_them() {
    let mut ledger = opened(&abc(), LearnerSpec::Lattimore, Guards::default());
    // The next splits of ledgers that were loaded after each round.
    let mut splits = Vec::new();
    for number in 1..=40u64 {
        let round = ledger.next(None, &[]).unwrap();
        assert_eq!(round.round, number);
        let entry = |task: usize| match (number as usize + task).is_multiple_of(3) {
            true => Entry::completed(number, task, 1.0),
            false => Entry::failed(number, task),
        };
        ledger.report(&[0, 1, 2].map(entry)).unwrap();
        let spent = |task: usize| Some(0.5 * round.allocation.spend[task]);
        let late = [0, 1, 2].map(|task| Entry { spend: spent(task), ..entry(task) });
        assert_eq!(ledger.report(&late).unwrap().spends, 3);
        splits.push(reloaded(&ledger).next(None, &[]).unwrap().allocation.spend);
    }
    for (place, split) in splits.iter().enumerate().take(39) {
        let round = place as u64 + 2;
        assert_eq!(ledger.spend(round), Some(split.as_slice()), "round {round}");
    }
}

/// A random step. Numbers select rounds, tasks and problems.
#[derive(Debug, Clone, Copy)]
enum Step {
    Next { key: u8, without: u8, unit: bool },
    Tell { round: u64, mask: u8, completed: u8, spend: bool },
    Revise { round: u64, task: usize, reward: f64 },
    Amend { tasks: u8, scale: f64, budget: f64, grows: bool },
    Cancel { round: u64 },
    Undo,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (0..6u8, 0..6u8, prop::bool::weighted(0.2))
            .prop_map(|(key, without, unit)| Step::Next { key, without, unit }),
        4 => (1..9u64, any::<u8>(), any::<u8>(), any::<bool>()).prop_map(
            |(round, mask, completed, spend)| Step::Tell { round, mask, completed, spend }
        ),
        1 => (1..9u64, 0..5usize, 0.0..4.0)
            .prop_map(|(round, task, reward)| Step::Revise { round, task, reward }),
        2 => (1..32u8, 10.0..60.0, 50.0..150.0, prop::bool::weighted(0.2)).prop_map(
            |(tasks, scale, budget, grows)| Step::Amend { tasks, scale, budget, grows }
        ),
        1 => (1..9u64).prop_map(|round| Step::Cancel { round }),
        2 => Just(Step::Undo),
    ];
    prop::collection::vec(step, 1..24)
}

const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];

/// Performs a step; the returned text is compared between ledgers.
fn step(ledger: &mut Ledger, step: Step) -> String {
    match step {
        Step::Next { key, without, unit } => {
            let key = format!("key {key}");
            let known = |name: &&str| ledger.problem().task_position(name).is_ok();
            let without: Vec<&str> = NAMES[without as usize % 5..][..usize::from(without < 2)]
                .iter()
                .copied()
                .filter(known)
                .collect();
            let known = |name: &str| ledger.problem().task_position(name).is_ok();
            let scale: &[(&str, f64)] = if unit && known("a") { &[("a", 1.5)] } else { &[] };
            let has_counts = ledger.problem().has_counts();
            let volume: &[(&str, f64)] = if has_counts && known("c") { &[("c", 5.0)] } else { &[] };
            let request = RoundRequest {
                without: &without,
                scale,
                volume,
                key: (key.as_str() < "key 3").then_some(&key),
                unit: unit.then_some(0.5),
                ..RoundRequest::default()
            };
            format!("{:?}", ledger.issue(&request))
        }
        Step::Tell { round, mask, completed, spend } => {
            let tasks = (0..ledger.problem().tasks().len()).filter(|task| mask >> task & 1 == 1);
            let entries: Vec<Entry> = tasks
                .map(|task| Entry {
                    spend: spend.then_some(10.0 + task as f64),
                    ..match completed >> task & 1 {
                        1 => Entry::completed(round, task, 0.5 * task as f64),
                        _ => Entry::failed(round, task),
                    }
                })
                .collect();
            format!("{:?}", ledger.report(&entries))
        }
        Step::Revise { round, task, reward } => {
            format!("{:?}", ledger.revise(&[Entry::completed(round, task, reward)]))
        }
        Step::Amend { tasks, scale, budget, grows } => {
            let names = NAMES.iter().enumerate().filter(|(place, _)| tasks >> place & 1 == 1);
            let has_volume = scale > 40.0 && ledger.settings().learner.allows_volume();
            let task = |(place, name): (usize, &&str)| TaskSpec {
                min: (*name == "d").then_some(10.0),
                volume: (*name == "c" && has_volume).then_some(3.0),
                ..task(name, scale + place as f64)
            };
            let tasks = names.map(task).collect();
            let reward_max = ledger.problem().reward_max() + f64::from(grows);
            let spec = ProblemSpec { budget, reward_max, tasks, ..ProblemSpec::default() };
            format!(
                "{:?}",
                ledger.amend(&ProblemSpec { horizon: Some(90), ..spec }.check().unwrap())
            )
        }
        Step::Cancel { round } => format!("{:?}", ledger.cancel(round)),
        Step::Undo => format!("{:?}", ledger.undo()),
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 200,
        rng_seed: RngSeed::Fixed(20_261_118),
        ..ProptestConfig::default()
    })]

    /// A ledger reloaded after every step behaves exactly like one that is not, and amending it by
    /// its own problem changes nothing.
    #[test]
    fn random_steps_replay_bit_for_bit(steps in steps(), guarded: bool, learner in 0..6usize) {
        let learner = [
            "kl-ucb-plus",
            "thompson",
            "kl-ucb-mixture",
            "explore-then-commit",
            "oful",
            "lattimore",
        ][learner];
        // `lattimore` chooses its splits itself, so it takes no guards.
        let max_change = (guarded && learner != "lattimore").then_some(9.0);
        let guards = Guards { max_change, ..Guards::default() };
        let mut live = opened(&abc(), learner.parse().unwrap(), guards);
        let mut stored = reloaded(&live);
        for one in steps {
            let (now, then) = (step(&mut live, one), step(&mut stored, one));
            prop_assert_eq!(now, then, "{:?}", one);
            prop_assert_eq!(live.to_json(), stored.to_json(), "{:?}", one);
            stored = reloaded(&stored);
            let own = stored.problem().clone();
            prop_assert!(stored.amend(&own).unwrap().is_empty());
            prop_assert_eq!(live.to_json(), stored.to_json());
            let status = live.status().unwrap();
            prop_assert_eq!(&status, &stored.status().unwrap());
        }
    }

    /// Retired and returned, a task has the completions and rewards that it had.
    #[test]
    fn returned_tasks_keep_what_was_learned(rounds in prop::collection::vec(0..16u32, 1..12)) {
        let mut ledger = default_ledger();
        rounds.iter().for_each(|completed| play(&mut ledger, *completed));
        let before = ledger.status().unwrap();
        let next = reloaded(&ledger).next(None, &[]).unwrap();
        ledger.amend(&acd()).unwrap();
        prop_assert!(ledger.problem().tasks()[position(&ledger, "b")].is_retired());
        ledger.amend(&abc()).unwrap();
        let after = ledger.status().unwrap();
        for (before, after) in before.tasks.iter().zip(&after.tasks) {
            prop_assert_eq!(before, after);
        }
        // "d" is retired now and gets nothing.
        let again = ledger.next(None, &[]).unwrap();
        prop_assert_eq!(&again.allocation.spend[..3], &next.allocation.spend[..]);
        prop_assert_eq!(again.allocation.spend[3], 0.0);
    }
}
