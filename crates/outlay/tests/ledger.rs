//! The daily loop: records, rejected reports and undo.

use outlay::campaign::{Campaign, CampaignOptions, Guards};
use outlay::feedback::{Feedback, Outcome, Reward};
use outlay::learner::{LEARNERS, LearnerSpec};
use outlay::ledger::{Entry, Ledger, LedgerError, RoundRequest, Settings, Undone};
use outlay::random::{Draws, Purpose};
use outlay::{Curve, Problem, ProblemSpec, TaskSpec};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

fn shop() -> Problem {
    let tasks = vec![
        TaskSpec {
            current: Some(50.0),
            ..TaskSpec::new("search", Curve::power(0.5, 100.0).unwrap())
        },
        TaskSpec {
            current: Some(30.0),
            ..TaskSpec::new("social", Curve::hill(30.0, 2.0).unwrap())
        },
        TaskSpec {
            current: Some(20.0),
            max: Some(60.0),
            ..TaskSpec::new("video", Curve::exponential(40.0).unwrap())
        },
    ];
    ProblemSpec {
        budget: 100.0,
        horizon: Some(500),
        reward_max: 5.0,
        tasks,
        ..ProblemSpec::default()
    }
    .check()
    .unwrap()
}

/// A simulated outcome: a function of the round, the task and the success probability.
fn outcome_of(round: u64, task: usize, success: f64, sees_all: bool) -> Entry {
    let draws = Draws::new(7, Purpose::Completion).round(round);
    let completed = draws.uniform(task) < success;
    let reward = 0.5 * (1 + (round + task as u64) % 9) as f64;
    Entry {
        round,
        task,
        completions: u64::from(completed),
        reward: (completed || sees_all).then_some(reward),
        spend: None,
    }
}

fn options(learner: LearnerSpec) -> CampaignOptions {
    CampaignOptions { learner: learner.into(), always_cold: true, ..CampaignOptions::default() }
}

fn every_learner() -> impl Iterator<Item = LearnerSpec> {
    LEARNERS.iter().map(|entry| entry.name.parse().unwrap())
}

fn opened(learner: LearnerSpec, guards: Guards) -> Ledger {
    Ledger::new(&shop(), Settings { learner, guards, ..Settings::default() }).unwrap()
}

/// Plays rounds in which the outcomes of the last task are two rounds late, and passes each state
/// to `between`, which may replace it.
fn play(mut ledger: Ledger, rounds: u64, mut between: impl FnMut(Ledger) -> Ledger) -> Ledger {
    let sees_all = ledger.settings().learner.entry().feedback == Feedback::Full;
    let mut late: Vec<Entry> = Vec::new();
    for _ in 0..rounds {
        let without: &[&str] = if ledger.rounds() % 7 == 3 { &["social"] } else { &[] };
        let budget = (ledger.rounds() % 5 == 4).then_some(80.0);
        let handed_out = ledger.next(budget, without).unwrap();
        ledger = between(ledger);
        let there = (0..3).filter(|task| handed_out.available[*task]);
        let entries: Vec<Entry> = there
            .map(|task| {
                outcome_of(handed_out.round, task, handed_out.allocation.success[task], sees_all)
            })
            .collect();
        let (now, later): (Vec<Entry>, Vec<Entry>) =
            entries.into_iter().partition(|entry| entry.task < 2);
        ledger.report(&now).unwrap();
        ledger = between(ledger);
        let (due, rest): (Vec<Entry>, Vec<Entry>) =
            late.into_iter().partition(|entry| entry.round + 2 <= handed_out.round);
        late = rest.into_iter().chain(later).collect();
        ledger.report(&due).unwrap();
    }
    ledger
}

#[test]
fn a_ledger_reloaded_between_all_steps_continues_bit_for_bit() {
    for learner in every_learner() {
        let never_stopped = play(opened(learner, Guards::default()), 40, |ledger| ledger);
        let stopped = play(opened(learner, Guards::default()), 40, |ledger| {
            Ledger::from_json(&ledger.to_json()).unwrap()
        });
        assert!(never_stopped.to_json() == stopped.to_json(), "{learner}");
    }
}

#[test]
fn guarded_ledgers_continue_bit_for_bit() {
    let guards = Guards { max_change: Some(6.0), floor: Some(4.0), min_move: Some(0.5) };
    for learner in every_learner().filter(|learner| !learner.chooses_allocation()) {
        let never_stopped = play(opened(learner, guards), 25, |ledger| ledger);
        let stopped = play(opened(learner, guards), 25, |ledger| {
            Ledger::from_json(&ledger.to_json()).unwrap()
        });
        assert!(never_stopped.to_json() == stopped.to_json(), "{learner}");
    }
}

/// The allocations of a ledger are those of its campaign.
#[test]
fn a_ledger_allocates_like_its_campaign() {
    for learner in every_learner() {
        let problem = shop();
        let mut ledger = opened(learner, Guards::default());
        let feedback = learner.entry().feedback;
        let mut campaign = Campaign::new(&problem, options(learner)).unwrap();
        for _ in 0..60 {
            let handed_out = ledger.next(None, &[]).unwrap();
            let ticket = campaign.allocate(100.0, None).unwrap();
            assert_eq!(
                handed_out.allocation.spend, ticket.allocation.spend,
                "{learner} in round {}",
                handed_out.round
            );
            let (round, success) = (handed_out.round, &handed_out.allocation.success);
            let entries: Vec<Entry> = (0..3)
                .map(|task| outcome_of(round, task, success[task], feedback == Feedback::Full))
                .collect();
            ledger.report(&entries).unwrap();
            let outcome = |entry: &Entry| match (entry.completions > 0, entry.reward) {
                (true, Some(reward)) => Outcome::Done(Reward::from_share(reward / 5.0)),
                (false, Some(reward)) => Outcome::Forgone(Reward::from_share(reward / 5.0)),
                _ => Outcome::Failed,
            };
            campaign
                .observe_round(round, &entries.iter().map(outcome).collect::<Vec<_>>())
                .unwrap();
        }
    }
}

#[test]
fn undo_leaves_no_trace() {
    for learner in every_learner() {
        let mut ledger = play(opened(learner, Guards::default()), 12, |ledger| ledger);
        let handed_out = ledger.next(None, &[]).unwrap();
        let before = ledger.to_json();
        let sees_all = learner.entry().feedback == Feedback::Full;
        let entries: Vec<Entry> =
            (0..3).map(|task| outcome_of(handed_out.round, task, 0.7, sees_all)).collect();
        assert_eq!(ledger.report(&entries).unwrap().new, 3);
        assert_ne!(ledger.to_json(), before);
        assert_eq!(ledger.undo().unwrap(), Undone::Outcomes(3));
        assert_eq!(ledger.to_json(), before, "{learner}");
        // After the undo everything continues as if the report had not been made.
        let slipped = play(ledger, 8, |ledger| ledger);
        let straight = play(Ledger::from_json(&before).unwrap(), 8, |ledger| ledger);
        assert_eq!(slipped.to_json(), straight.to_json(), "{learner}");
    }
}

#[test]
fn rounds_issued_after_an_undone_report_stay() {
    let mut ledger = opened(LearnerSpec::default(), Guards::default());
    ledger.next(None, &[]).unwrap();
    ledger
        .report(&[Entry { round: 1, task: 0, completions: 1, reward: Some(5.0), spend: None }])
        .unwrap();
    let second = ledger.next(None, &[]).unwrap();
    ledger.undo().unwrap();
    assert_eq!(ledger.rounds(), 2);
    assert_eq!(ledger.spend(2), Some(second.allocation.spend.as_slice()));
    assert_eq!(ledger.status().unwrap().tasks[0].reported, 0);
    assert_eq!(
        ledger
            .report(&[Entry { round: 1, task: 0, completions: 0, reward: None, spend: None }])
            .unwrap()
            .new,
        1
    );
    ledger.undo().unwrap();
    assert_eq!(ledger.undo(), Err(LedgerError::NothingTold));
}

#[test]
fn repeated_reports_count_once() {
    let mut ledger = opened(LearnerSpec::default(), Guards::default());
    ledger.next(None, &[]).unwrap();
    let entry = Entry { round: 1, task: 0, completions: 1, reward: Some(2.5), spend: None };
    assert_eq!(
        ledger.report(&[entry, entry]).map(|report| (report.new, report.repeated)),
        Ok((1, 1))
    );
    let once = ledger.to_json();
    assert_eq!(ledger.report(&[entry]).map(|report| (report.new, report.repeated)), Ok((0, 1)));
    assert_eq!(ledger.to_json(), once, "a repeated row must leave no trace");
    // A reward of zero for a failure is ignored.
    let failed = Entry { round: 1, task: 1, completions: 0, reward: Some(0.0), spend: None };
    assert_eq!(
        ledger
            .report(&[failed, Entry { reward: None, ..failed }])
            .map(|report| (report.new, report.repeated)),
        Ok((1, 1))
    );
}

#[test]
fn contradictions_name_both_values_and_change_nothing() {
    let mut ledger = opened(LearnerSpec::default(), Guards::default());
    ledger.next(None, &["video"]).unwrap();
    ledger
        .report(&[Entry { round: 1, task: 0, completions: 1, reward: Some(2.5), spend: None }])
        .unwrap();
    let before = ledger.to_json();
    let entries = [
        Entry { round: 1, task: 1, completions: 1, reward: Some(1.0), spend: None },
        Entry { round: 1, task: 0, completions: 1, reward: Some(3.0), spend: None },
        Entry { round: 1, task: 1, completions: 0, reward: None, spend: None },
        Entry { round: 2, task: 0, completions: 0, reward: None, spend: None },
        Entry { round: 1, task: 2, completions: 0, reward: None, spend: None },
        Entry { round: 1, task: 1, completions: 1, reward: Some(5.5), spend: None },
        Entry { round: 0, task: 1, completions: 0, reward: None, spend: None },
        Entry { round: 1, task: 3, completions: 0, reward: None, spend: None },
    ];
    let Err(LedgerError::Entries(refused)) = ledger.report(&entries) else { panic!("taken") };
    let said: Vec<String> =
        refused.iter().map(|entry| format!("{}: {}", entry.position, entry.reason)).collect();
    assert_eq!(
        said,
        [
            "1: round 1, task search: completed with reward 3 now, but completed with reward 2.5 before",
            "2: round 1, task social: failed now, but completed with reward 1 before",
            "3: round 2 was never issued: rounds go from 1 to 1",
            "4: task video was left out of round 1, so it has no outcome",
            "5: reward of social: must be between 0 and reward_max 5, not 5.5",
            "6: round 0 was never issued: rounds go from 1 to 1",
            "7: task 3 does not exist",
        ]
    );
    assert_eq!(ledger.to_json(), before);
}

#[test]
fn the_standing_adds_up() {
    let ledger = play(opened(LearnerSpec::default(), Guards::default()), 30, |ledger| ledger);
    let standing = ledger.status().unwrap();
    assert_eq!(standing.rounds, 30);
    // The last task is reported two rounds late.
    assert_eq!(standing.open, [(29, 1), (30, 1)]);
    let shares: f64 = standing.tasks.iter().filter_map(|task| task.share).sum();
    assert!((shares - 1.0).abs() < 1e-12);
    let spend: f64 = (1..=30).flat_map(|round| ledger.spend(round).unwrap().to_vec()).sum();
    assert!(
        (standing.spend - spend).abs() < 1e-9 && standing.spend <= 24.0 * 100.0 + 6.0 * 80.0 + 1e-9
    );
    for task in &standing.tasks {
        let mean = task.mean.unwrap();
        assert!((mean * task.completions as f64 - task.gain).abs() < 1e-9);
        assert!(task.bonus.unwrap() > 0.0, "kl-ucb-plus is an upper confidence bound");
        assert_eq!(task.misfit, None, "the curves are right here");
    }
    // The status has no side effects.
    assert_eq!(ledger.status().unwrap(), standing);
    assert_eq!(ledger.rounds(), 30);
}

/// Right curves hardly ever cause a warning, wrong ones soon do.
#[test]
fn completions_that_disagree_with_the_curves_cause_a_warning() {
    let doubted = |seed: u64, chance: f64| {
        let tasks =
            vec![TaskSpec::new("only", Curve::piecewise(vec![0.0, 1.0], vec![0.3, 0.3]).unwrap())];
        let problem = ProblemSpec { tasks, ..ProblemSpec::default() }.check().unwrap();
        let mut ledger = Ledger::new(&problem, Settings::default()).unwrap();
        for round in 1..=200 {
            ledger.next(None, &[]).unwrap();
            let completed = Draws::new(seed, Purpose::Completion).round(round).uniform(0) < chance;
            ledger
                .report(&[Entry {
                    round,
                    task: 0,
                    completions: u64::from(completed),
                    reward: completed.then_some(0.5),
                    spend: None,
                }])
                .unwrap();
        }
        ledger.status().unwrap().tasks[0].misfit.is_some()
    };
    assert_eq!((1..=100).filter(|seed| doubted(*seed, 0.3)).count(), 0);
    assert!((1..=20).all(|seed| doubted(seed, 0.55)));
    assert!((1..=20).all(|seed| doubted(seed, 0.08)));
}

#[test]
fn damaged_records_are_rejected_with_a_reason() {
    let kept =
        play(opened(LearnerSpec::default(), Guards::default()), 3, |ledger| ledger).to_json();
    let refuses = |from: &str, to: &str, expected: &str| {
        assert!(kept.contains(from), "{from} is not in {kept}");
        let error = Ledger::from_json(&kept.replacen(from, to, 1)).unwrap_err().to_string();
        assert!(error.contains(expected), "{from} -> {to}: {error}");
    };
    refuses("\"version\": 1", "\"version\": 2", "a newer outlay wrote it");
    refuses("\"version\": 1,", "", "has no version");
    refuses("\"after\":1", "\"after\":9", "does not fit the rounds");
    refuses("\"task\":\"search\"", "\"task\":\"serch\"", "no task is named serch");
    refuses("\"budget\":100", "\"budget\":-1", "budget");
    refuses("\"kl-ucb-plus\"", "\"blunt\"", "blunt");
    assert!(Ledger::from_json("{").unwrap_err().to_string().contains("is not JSON"));
    // Every truncated file is rejected; none panics. Only the last line break may be missing.
    for end in (0..kept.trim_end().len()).step_by(7).filter(|end| kept.is_char_boundary(*end)) {
        assert!(Ledger::from_json(&kept[..end]).is_err());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, rng_seed: RngSeed::Fixed(5), ..ProptestConfig::default() })]

    /// Guards always hold: `max_change`, `floor`, `min_move` and the budget.
    #[test]
    fn guards_hold(
        max_change in prop::option::of(0.5..40.0_f64),
        floor in prop::option::of(0.0..30.0_f64),
        min_move in prop::option::of(0.0..0.5_f64),
        changes in prop::collection::vec(0.4..1.6_f64, 8),
    ) {
        let guards = Guards { max_change, floor, min_move };
        let mut ledger = opened(LearnerSpec::default(), guards);
        let (mut base, mut base_budget) = (vec![50.0, 30.0, 20.0], 100.0);
        for change in changes {
            let budget = 100.0 * change;
            let handed_out = ledger.next(Some(budget), &[]).unwrap();
            let spend = &handed_out.allocation.spend;
            prop_assert!(spend.iter().sum::<f64>() <= budget * (1.0 + 1e-9));
            prop_assert!(spend[2] <= 60.0);
            let report = handed_out.guards.unwrap_or_default();
            for task in 0..3 {
                let before = base[task] * (budget / base_budget);
                let moved = (spend[task] - before).abs();
                let slack = 1e-9 * budget;
                // Bounds of the problem take precedence over guards.
                if let Some(most) = max_change.filter(|_| !report.gave_way && before <= 60.0 || task != 2) {
                    prop_assert!(report.gave_way || moved <= most + slack, "moved {moved}, at most {most}");
                }
                if let (Some(floor), None, false) = (floor, max_change, report.gave_way) {
                    prop_assert!(spend[task] >= floor - slack, "floor {floor}, spend {}", spend[task]);
                }
                let may_stay = (task != 2 || before <= 60.0) && before >= floor.unwrap_or(0.0);
                if let Some(least) = min_move.filter(|_| !report.gave_way && may_stay) {
                    prop_assert!(moved == 0.0 || moved >= least - slack, "moved {moved}, at least {least}");
                }
            }
            for cost in [report.max_change, report.floor, report.min_move].into_iter().flatten() {
                prop_assert!((0.0..=3.0).contains(&cost));
            }
            base.copy_from_slice(spend);
            base_budget = budget;
            let entries: Vec<Entry> = (0..3).map(|task| outcome_of(handed_out.round, task, handed_out.allocation.success[task], false)).collect();
            ledger.report(&entries).unwrap();
        }
    }
}

#[test]
fn guards_that_do_not_bind_cost_nothing_and_those_that_do_cost_something() {
    let loose = Guards { max_change: Some(1000.0), floor: Some(0.0), min_move: Some(0.0) };
    let free = opened(LearnerSpec::default(), Guards::default()).next(None, &[]).unwrap();
    let handed_out = opened(LearnerSpec::default(), loose).next(None, &[]).unwrap();
    let report = handed_out.guards.unwrap();
    assert_eq!(
        (report.max_change, report.floor, report.min_move),
        (Some(0.0), Some(0.0), Some(0.0))
    );
    assert!(free.guards.is_none());
    for (one, other) in handed_out.allocation.spend.iter().zip(&free.allocation.spend) {
        assert!((one - other).abs() < 1e-6);
    }
    let tight = Guards { max_change: Some(1.0), floor: None, min_move: None };
    let handed_out = opened(LearnerSpec::default(), tight).next(None, &[]).unwrap();
    let cost = handed_out.guards.unwrap().max_change.unwrap();
    assert!(
        (free.allocation.value - handed_out.allocation.value - cost).abs() < 1e-9 && cost > 0.001,
        "{cost}"
    );
}

#[test]
fn unsatisfiable_guards_are_rejected() {
    let refuses = |learner: &str, guards: Guards, expected: &str| {
        let error = Ledger::new(
            &shop(),
            Settings { learner: learner.parse().unwrap(), guards, ..Settings::default() },
        )
        .unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    };
    let none = Guards::default();
    refuses(
        "kl-ucb-plus",
        Guards { floor: Some(40.0), ..none },
        "floor: the tasks need 120 with it, but the budget is 100",
    );
    refuses(
        "kl-ucb-plus",
        Guards { floor: Some(-1.0), ..none },
        "floor: must be finite and not negative, not -1",
    );
    refuses(
        "kl-ucb-plus",
        Guards { max_change: Some(f64::NAN), ..none },
        "max_change: must be finite",
    );
    refuses(
        "kl-ucb-plus",
        Guards { max_change: Some(1.0), min_move: Some(2.0), ..none },
        "no spend could ever change",
    );
    refuses(
        "uniform",
        Guards { floor: Some(1.0), ..none },
        "uniform chooses its allocation itself",
    );
}

/// The list of learners that choose their allocation is maintained by hand.
#[test]
fn the_list_of_learners_that_choose_is_complete() {
    for learner in every_learner() {
        let mut campaign = Campaign::new(&shop(), options(learner)).unwrap();
        let allocation = campaign.allocate(100.0, None).unwrap().allocation;
        assert_eq!(allocation.value == 0.0, learner.chooses_allocation(), "{learner}");
    }
}

/// Two channels with many completions per round.
fn counted() -> Problem {
    let text = r#"
        budget = 100.0
        reward_max = 50.0
        [[task]]
        name = "search"
        volume = 40
        curve = { family = "exponential", scale = 60.0 }
        [[task]]
        name = "video"
        volume = 200
        curve = { family = "hill", half_at = 50.0, steepness = 2.0 }
    "#;
    Problem::from_toml(text, &outlay::problem::NoFiles).unwrap()
}

#[test]
fn counts_and_spends_are_kept() {
    let mut ledger = Ledger::new(&counted(), Settings::default()).unwrap();
    let spend = ledger.next(None, &[]).unwrap().allocation.spend;
    let many = Entry { round: 1, task: 0, completions: 24, reward: Some(610.5), spend: Some(33.0) };
    let none = Entry { spend: Some(0.0), ..Entry::failed(1, 1) };
    assert_eq!(ledger.report(&[many, none]).unwrap().new, 2);
    assert_eq!(ledger.report(&[many]).unwrap().repeated, 1);
    let kept = ledger.to_json();
    let loaded = Ledger::from_json(&kept).unwrap();
    assert_eq!(loaded.to_json(), kept);
    let status = loaded.status().unwrap();
    let search = &status.tasks[0];
    assert_eq!((search.completions, search.gain, search.reported), (24, 610.5, 1));
    // Expected completions are those of the reported spend.
    let expected = 40.0 * (1.0 - (-33.0_f64 / 60.0).exp());
    assert!((search.expected - expected).abs() < 1e-12, "{}", search.expected);
    let delivery = search.delivery.unwrap();
    assert_eq!((delivery.spent, delivery.allocated), (33.0, spend[0]));
    assert_eq!(search.misfit, None);
    let error = ledger.report(&[Entry { completions: 23, ..many }]).unwrap_err().to_string();
    assert_eq!(
        error,
        "1 of the outcomes cannot be taken; the first: round 1, task search: completed 23 times \
         with reward 610.5 now, but completed 24 times with reward 610.5 before"
    );
}

#[test]
fn impossible_counts_are_rejected() {
    let mut ledger = Ledger::new(&counted(), Settings::default()).unwrap();
    ledger.next(None, &[]).unwrap();
    let entry = Entry { round: 1, task: 0, completions: 3, reward: Some(10.0), spend: None };
    for (entry, expected) in [
        (
            Entry { reward: Some(150.5), ..entry },
            "reward of search: must be between 0 and 3 times reward_max 50, not 150.5",
        ),
        (
            Entry { reward: None, ..entry },
            "task search completed, but its reward is missing: give its reward, or 0",
        ),
        (
            Entry { spend: Some(-1.0), ..entry },
            "spend of search: must be finite and not negative, not -1",
        ),
        (
            Entry { completions: 10_000_000_000, ..entry },
            "completions of search: must be at most 9000000000, not 10000000000",
        ),
    ] {
        let error = ledger.report(&[entry]).unwrap_err().to_string();
        assert_eq!(error, format!("1 of the outcomes cannot be taken; the first: {expected}"));
    }
    assert_eq!(ledger.status().unwrap().tasks[0].reported, 0);
}

/// Far too many or too few completions are noticed with counts, too.
#[test]
fn counts_that_disagree_with_the_curve_are_noticed() {
    for (completions, is_misfit) in [(18, false), (0, true), (60, true)] {
        let mut ledger = Ledger::new(&counted(), Settings::default()).unwrap();
        ledger.next(None, &[]).unwrap();
        let reward = Some(completions as f64);
        let entry = Entry { round: 1, task: 0, completions, reward, spend: Some(36.0) };
        ledger.report(&[entry]).unwrap();
        let misfit = ledger.status().unwrap().tasks[0].misfit;
        assert_eq!(misfit.is_some(), is_misfit, "{completions}: {misfit:?}");
    }
}

/// The rows of a round in which every second task completes.
fn every_second(round: u64, tasks: usize, reward: f64) -> Vec<Entry> {
    (0..tasks)
        .map(|task| match (round as usize + task) % 2 {
            0 => Entry::completed(round, task, reward),
            _ => Entry::failed(round, task),
        })
        .collect()
}

#[test]
fn a_key_returns_the_same_round() {
    let mut ledger = opened(LearnerSpec::default(), Guards::default());
    let request = |key| RoundRequest { key: Some(key), ..RoundRequest::default() };
    let first = ledger.issue(&request("monday")).unwrap();
    ledger.report(&every_second(1, 3, 2.0)).unwrap();
    let kept = ledger.to_json();
    for _ in 0..2 {
        let again = ledger.issue(&request("monday")).unwrap();
        assert_eq!((again.round, again.budget), (1, first.budget));
        assert_eq!(again.allocation.spend, first.allocation.spend);
        assert_eq!(ledger.to_json(), kept, "a repeated request leaves no trace");
        ledger = Ledger::from_json(&kept).unwrap();
    }
    assert_eq!(ledger.issue(&request("tuesday")).unwrap().round, 2);
    assert_eq!(
        (ledger.key(1), ledger.key(2), ledger.key(3)),
        (Some("monday"), Some("tuesday"), None)
    );
    let other = RoundRequest { budget: Some(7.0), ..request("monday") };
    assert_eq!(
        ledger.issue(&other).unwrap_err().to_string(),
        "key monday: round 1 was issued for it with another budget, other tasks, or other scales or volumes; use another \
         key, or cancel the round"
    );
    for key in ["", " ", "a\nb", &"x".repeat(201)] {
        assert_eq!(ledger.issue(&request(key)).unwrap_err(), LedgerError::BadKey);
    }
    assert_eq!(ledger.rounds(), 2);
}

/// A cancelled round keeps its number and has no effect on the indices of later ones.
#[test]
fn a_cancelled_round_has_no_effect() {
    let guards = Guards { max_change: Some(9.0), ..Guards::default() };
    for (learner, guards) in [
        ("kl-ucb-plus", Guards::default()),
        ("kl-ucb-plus", guards),
        ("thompson", Guards::default()),
        ("oful", Guards::default()),
    ] {
        let mut ledger = Ledger::new(
            &shop(),
            Settings {
                learner: learner.parse().unwrap(),
                horizon: Some(100),
                guards,
                ..Settings::default()
            },
        )
        .unwrap();
        let request = RoundRequest { key: Some("lost"), ..RoundRequest::default() };
        ledger.next(None, &[]).unwrap();
        ledger.report(&every_second(1, 3, 2.0)).unwrap();
        let lost = ledger.issue(&request).unwrap();
        ledger.next(Some(50.0), &[]).unwrap();
        ledger.cancel(lost.round).unwrap();
        assert!(ledger.is_cancelled(2) && !ledger.is_cancelled(3));
        assert_eq!((ledger.round_before(3), ledger.round_before(99)), (Some(1), Some(3)));
        let status = ledger.status().unwrap();
        assert_eq!((status.cancelled, status.open), (vec![2], vec![(3, 3)]));
        let spent: f64 = [1, 3].iter().flat_map(|round| ledger.spend(*round).unwrap()).sum();
        assert!((status.spend - spent).abs() < 1e-9);
        // Outcomes of a cancelled round are rejected.
        let error = ledger.report(&[Entry::failed(2, 0)]).unwrap_err().to_string();
        assert!(error.ends_with("round 2 was cancelled, so it has no outcomes"), "{error}");
        // The record gives the same state.
        let mut loaded = Ledger::from_json(&ledger.to_json()).unwrap();
        assert_eq!(loaded.to_json(), ledger.to_json());
        ledger.report(&every_second(3, 3, 1.0)).unwrap();
        loaded.report(&every_second(3, 3, 1.0)).unwrap();
        let (one, other) = (ledger.next(None, &[]).unwrap(), loaded.next(None, &[]).unwrap());
        assert_eq!(one, other, "{learner}");
        // The key is free again.
        assert_eq!(ledger.issue(&request).unwrap().round, 5);
        assert_eq!(ledger.cancel(2), Err(LedgerError::AlreadyCancelled(2)));
        assert_eq!(ledger.cancel(1), Err(LedgerError::HasOutcomes { round: 1, outcomes: 3 }));
        assert_eq!(ledger.cancel(6), Err(LedgerError::UnknownRound { round: 6, last: 5 }));
        assert_eq!(ledger.cancel(0), Err(LedgerError::UnknownRound { round: 0, last: 5 }));
    }
}

/// Guards compare the round after a cancelled one with the round before it.
#[test]
fn guards_do_not_follow_a_cancelled_round() {
    let guards = Guards { max_change: Some(2.0), ..Guards::default() };
    let mut ledger = opened(LearnerSpec::default(), guards);
    ledger.next(None, &[]).unwrap();
    ledger.report(&[Entry::failed(1, 0), Entry::completed(1, 1, 0.0)]).unwrap();
    let second = ledger.next(None, &[]).unwrap();
    ledger.cancel(2).unwrap();
    let third = ledger.next(None, &[]).unwrap();
    assert_eq!(third.allocation.spend, second.allocation.spend);
    let moved = |spend: &[f64]| {
        let before = ledger.spend(1).unwrap().iter();
        before.zip(spend).map(|(one, other)| (one - other).abs()).fold(0.0, f64::max)
    };
    let most = moved(&third.allocation.spend);
    assert!(most > 1.0 && most <= 2.0 + 1e-9, "{most}");
}

#[test]
fn rounded_spends_are_the_recorded_ones() {
    let guards = Guards { max_change: Some(9.0), ..Guards::default() };
    for (learner, guards, unit) in [
        ("kl-ucb-plus", Guards::default(), 0.5),
        ("kl-ucb-plus", guards, 0.01),
        ("uniform", Guards::default(), 1.0),
        ("oful", Guards::default(), 0.25),
        ("grid-ucb", Guards::default(), 1.0),
    ] {
        let settings = Settings {
            learner: learner.parse().unwrap(),
            horizon: Some(100),
            guards,
            ..Settings::default()
        };
        let mut ledger = Ledger::new(&shop(), settings).unwrap();
        for round in 1..=4 {
            let without: &[&str] = if round == 3 { &["video"] } else { &[] };
            let request = RoundRequest { unit: Some(unit), without, ..RoundRequest::default() };
            let issued = ledger.issue(&request).unwrap();
            let spend = &issued.allocation.spend;
            assert_eq!(ledger.spend(round), Some(spend.as_slice()));
            for amount in spend {
                let units = amount / unit;
                assert!((units - units.round()).abs() < 1e-9, "{learner}: {spend:?}");
            }
            let total: f64 = spend.iter().sum();
            assert!(total <= issued.budget + 1e-9, "{learner}: {spend:?}");
            assert!(round != 3 || !issued.available.contains(&false) || spend.contains(&0.0));
            let tasks: Vec<Entry> = every_second(round, 3, 1.5);
            let there = |entry: &&Entry| issued.available[entry.task];
            let rows: Vec<Entry> = tasks.iter().filter(there).copied().collect();
            ledger.report(&rows).unwrap();
        }
        let mut loaded = Ledger::from_json(&ledger.to_json()).unwrap();
        assert_eq!(loaded.next(None, &[]), ledger.next(None, &[]), "{learner}");
    }
    let mut ledger = opened(LearnerSpec::default(), Guards::default());
    let bad = RoundRequest { unit: Some(f64::NAN), ..RoundRequest::default() };
    let kept = ledger.to_json();
    assert!(matches!(ledger.issue(&bad), Err(LedgerError::Rounding(_))));
    assert_eq!(ledger.to_json(), kept);
    assert_eq!(ledger.next(None, &[]).unwrap().round, 1, "a refused request issues no round");
}

/// After corrections a ledger continues as if the corrected outcomes had been reported at once.
#[test]
fn revised_outcomes_leave_the_state_of_correct_ones() {
    for learner in ["kl-ucb-plus", "thompson", "oful", "full", "lattimore"] {
        let settings = || Settings {
            learner: learner.parse().unwrap(),
            horizon: Some(100),
            ..Settings::default()
        };
        let full = learner == "full";
        let rows = |round: u64, reward: f64| -> Vec<Entry> {
            let mut rows = every_second(round, 3, reward);
            for row in rows.iter_mut().filter(|row| full && row.completions == 0) {
                row.reward = Some(reward);
            }
            rows
        };
        let mut wrong = Ledger::new(&shop(), settings()).unwrap();
        for round in 1..=3 {
            wrong.next(None, &[]).unwrap();
            wrong.report(&rows(round, 4.5)).unwrap();
        }
        let before = wrong.to_json();
        let mut fix = rows(2, 0.5);
        let spend = wrong.spend(2).unwrap()[0];
        fix[0].spend = Some(0.5 * spend);
        let revised = fix.iter().zip(rows(2, 4.5)).filter(|(one, other)| **one != *other).count();
        let reported = wrong.revise(&fix).unwrap();
        assert_eq!((reported.new, reported.revised), (0, revised), "{learner}");
        assert_eq!(wrong.revise(&fix).unwrap().repeated, 3);
        // A second correction of the same outcome.
        wrong.revise(&rows(2, 1.25)).unwrap();
        // The same rounds with the corrected outcomes, reported at once.
        let mut value: serde_json::Value = serde_json::from_str(&before).unwrap();
        for row in value["tells"][1]["outcomes"].as_array_mut().unwrap() {
            if !row["reward"].is_null() {
                row["reward"] = 1.25.into();
            }
        }
        value["tells"][1]["outcomes"][0]["spend"] = (0.5 * spend).into();
        let mut right = Ledger::from_json(&value.to_string()).unwrap();
        let mut loaded = Ledger::from_json(&wrong.to_json()).unwrap();
        let (one, other) = (wrong.status().unwrap(), right.status().unwrap());
        assert_eq!(one, other, "{learner}");
        assert_eq!(loaded.to_json(), wrong.to_json());
        let next = wrong.next(None, &[]).unwrap();
        assert_eq!(next, right.next(None, &[]).unwrap(), "{learner}");
        assert_eq!(next, loaded.next(None, &[]).unwrap(), "{learner}");
        // Undo brings the earlier outcomes back, one call after the other.
        let mut back = Ledger::from_json(&loaded.to_json()).unwrap();
        back.undo().unwrap();
        back.undo().unwrap();
        assert_eq!(
            back.status().unwrap().tasks[0].gain,
            Ledger::from_json(&before).unwrap().status().unwrap().tasks[0].gain
        );
    }
}

#[test]
fn invalid_revisions_change_nothing() {
    let mut ledger = opened(LearnerSpec::default(), Guards::default());
    ledger.next(None, &[]).unwrap();
    ledger.report(&[Entry::completed(1, 0, 2.5)]).unwrap();
    let kept = ledger.to_json();
    let rows = [
        Entry::completed(1, 0, 1.0),
        Entry::completed(1, 0, 1.5),
        Entry::completed(1, 1, 9.0),
        Entry::failed(2, 0),
    ];
    let Err(LedgerError::Entries(refused)) = ledger.revise(&rows) else { panic!("taken") };
    let positions: Vec<usize> = refused.iter().map(|entry| entry.position).collect();
    assert_eq!(positions, [1, 2, 3]);
    assert_eq!(ledger.to_json(), kept);
}

#[test]
fn learners_of_spends_use_the_reported_ones() {
    let settings = Settings { learner: "lattimore".parse().unwrap(), ..Settings::default() };
    let next = |spend: Option<f64>| {
        let mut ledger = Ledger::new(&shop(), settings).unwrap();
        ledger.next(None, &[]).unwrap();
        let entry = Entry { spend, ..Entry::failed(1, 0) };
        ledger.report(&[entry, Entry::completed(1, 1, 2.0), Entry::failed(1, 2)]).unwrap();
        let kept = Ledger::from_json(&ledger.to_json()).unwrap().next(None, &[]).unwrap();
        assert_eq!(ledger.next(None, &[]).unwrap(), kept);
        kept.allocation.spend
    };
    let allocated = next(None);
    let first = Ledger::new(&shop(), settings).unwrap().next(None, &[]).unwrap();
    assert_eq!(next(Some(first.allocation.spend[0])), allocated);
    assert_ne!(next(Some(3.0)), allocated);
}
