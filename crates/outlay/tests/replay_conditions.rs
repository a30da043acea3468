//! Replays of rows that were recorded in rounds with curves and volumes of their own.

use std::sync::atomic::AtomicBool;

use outlay::campaign::CampaignError;
use outlay::feedback::Outcome;
use outlay::learner::LearnerSpec;
use outlay::problem::NoFiles;
use outlay::random::{Draws, Purpose};
use outlay::replay::assumptions::assumptions;
use outlay::replay::{
    CountRow, Order, OutcomeRow, Record, RecordError, Replay, ReplayError, ReplayRun,
    RowConditions, Splits, TaskRows, ThresholdRow,
};
use outlay::simulation::ExperimentError;
use outlay::{Options, Oracle, Problem};

fn problem(task: &str, environment: &str) -> Problem {
    let text = format!(
        "budget = 10.0\nreward_max = 5.0\n{environment}\n\
         [[task]]\nname = 'a'\ncurve = {{ family = 'exponential', scale = 4.0 }}\n{task}\n\
         [[task]]\nname = 'b'\ncurve = {{ family = 'exponential', scale = 9.0 }}\n{task}\n"
    );
    Problem::from_toml(&text, &NoFiles).unwrap()
}

fn scales(scale: &[f64]) -> RowConditions {
    RowConditions { scale: scale.to_vec(), ..RowConditions::default() }
}

fn play(
    problem: &Problem,
    record: &Record,
    learner: &str,
    order: Order,
    rounds: u64,
) -> (Splits, ReplayRun) {
    let learners: [LearnerSpec; 1] = [learner.parse().unwrap()];
    let replay = Replay {
        problem,
        record,
        learners: &learners,
        order,
        rounds,
        replications: 1,
        starts_from_seen: false,
        seed: 1,
    };
    replay.check().unwrap();
    let splits = replay.splits().unwrap();
    let run = replay.play_against(&splits, replay.jobs()[0], &AtomicBool::new(false));
    (splits, run.unwrap().unwrap())
}

fn thresholds(rows: &[(f64, f64)]) -> TaskRows {
    let row = |&(threshold, reward): &(f64, f64)| ThresholdRow { threshold, reward };
    TaskRows::Thresholds(rows.iter().map(row).collect())
}

/// In recorded order a row is replayed under its own scale, so its threshold is the recorded one.
#[test]
fn recorded_rounds_have_their_own_scales() {
    let problem = problem("", "");
    // At scale 1 both rows of a need 2, and both of b need 4.
    let rows =
        || vec![thresholds(&[(2.0, 1.0), (6.0, 1.0)]), thresholds(&[(4.0, 2.0), (2.0, 2.0)])];
    let conditions = vec![scales(&[1.0, 3.0]), scales(&[1.0, 0.5])];
    let record = Record::with_conditions(&problem, rows(), conditions).unwrap();
    assert!(record.has_conditions() && !Record::new(&problem, rows()).unwrap().has_conditions());
    let [a, b] = record.tasks() else { panic!("two tasks") };
    assert_eq!(
        (a.gains(Order::Recorded, 2).at(), b.gains(Order::Recorded, 2).at()),
        (&[2.0][..], &[4.0][..])
    );
    let (splits, run) = play(&problem, &record, "uniform", Order::Recorded, 2);
    // Even: 5 each. Round 1 succeeds in both, round 2 only in b.
    assert!((run.gain - (3.0 + 2.0) / 2.0).abs() < 1e-12, "{run:?}");
    assert_eq!(splits.even.gain, run.gain);
    assert_eq!(Splits::fixed(&problem, &record, Order::Recorded, 2, &[5.0, 5.0]), splits.even);
    // The best split of each round: 2 and 4, then 6 and 2.
    assert!((splits.best.gain - 3.0).abs() < 1e-12, "{:?}", splits.best);
    assert_eq!(splits.best.spend, [4.0, 3.0]);
    assert!((run.regret - 2.0 * (3.0 - 2.5)).abs() < 1e-12);
}

/// The learner and the model solve the problem of the round.
#[test]
fn learners_and_plans_follow_the_conditions() {
    let problem = problem("", "");
    let row = |count: usize| vec![(0.01, 1.0); count];
    let conditions = vec![scales(&[1.0, 2.0]), scales(&[1.0, 0.25])];
    let rows = vec![thresholds(&row(2)), thresholds(&row(2))];
    let record = Record::with_conditions(&problem, rows, conditions).unwrap();
    let (splits, run) = play(&problem, &record, "kl-ucb-plus", Order::Recorded, 2);
    let mut mean = [0.0, 0.0];
    for scale in [[1.0, 1.0], [2.0, 0.25]] {
        let round = problem.in_round(Some(&scale), None).unwrap();
        let mut oracle = Oracle::new(&round);
        // Every mean reward is 1, and a learner without completions takes all for the largest.
        let best = oracle.allocate(&[0.2, 0.2], 10.0, &Options::default()).unwrap();
        best.spend.iter().zip(&mut mean).for_each(|(spend, mean)| *mean += spend / 2.0);
    }
    for task in 0..2 {
        assert!((splits.model.spend[task] - mean[task]).abs() < 1e-6, "{:?}", splits.model);
        // Round 1 is decided before, round 2 after one completion of each with equal rewards.
        assert!((run.spend[task] - mean[task]).abs() < 1e-3, "{:?} {mean:?}", run.spend);
    }
}

/// A hidden scale changes what happens, but not what is planned.
#[test]
fn hidden_conditions_are_not_planned_for() {
    let rows =
        || vec![thresholds(&[(2.0, 1.0), (6.0, 1.0)]), thresholds(&[(4.0, 2.0), (2.0, 2.0)])];
    let conditions = || vec![scales(&[1.0, 3.0]), scales(&[1.0, 0.5])];
    let known = problem("", "");
    let hidden = problem("", "environment = { hide_scale = true }");
    let record =
        |problem: &Problem| Record::with_conditions(problem, rows(), conditions()).unwrap();
    let (splits, run) = play(&hidden, &record(&hidden), "kl-ucb-plus", Order::Recorded, 2);
    let usual =
        play(&hidden, &Record::new(&hidden, rows()).unwrap(), "kl-ucb-plus", Order::Recorded, 1);
    assert_eq!(splits.model.spend, usual.0.model.spend);
    assert!((splits.best.gain - 3.0).abs() < 1e-12, "the best split in hindsight knows them");
    let (other, _) = play(&known, &record(&known), "kl-ucb-plus", Order::Recorded, 2);
    assert_ne!(other.model.spend, splits.model.spend);
    assert!(run.regret >= 0.0);
}

/// Equal conditions everywhere are the same as none, with all scales 1 bit for bit.
#[test]
fn usual_conditions_change_nothing() {
    let problem = problem("volume = 12.0", "");
    let counts = |offset: u64| {
        let row = |day: u64| CountRow {
            spend: 1.0 + (day % 4) as f64,
            completions: (3 + offset + day % 5) * (1 + day % 4),
            reward: 2.0 * ((3 + offset + day % 5) * (1 + day % 4)) as f64,
        };
        TaskRows::Counts((0..40).map(row).collect())
    };
    let rows = || vec![counts(0), counts(2)];
    let usual = RowConditions { scale: vec![1.0; 40], volume: vec![12.0; 40] };
    let plain = Record::new(&problem, rows()).unwrap();
    let same = Record::with_conditions(&problem, rows(), vec![usual.clone(), usual]).unwrap();
    assert_eq!(assumptions(&problem, &plain), assumptions(&problem, &same));
    for order in [Order::Recorded, Order::Shuffled] {
        let (one, other) = (
            play(&problem, &plain, "kl-ucb-plus", order, 40),
            play(&problem, &same, "kl-ucb-plus", order, 40),
        );
        assert_eq!(one.1.spend, other.1.spend);
        assert_eq!(one.0.best.spend, other.0.best.spend);
        for (one, other) in [
            (one.1.gain, other.1.gain),
            (one.1.regret, other.1.regret),
            (one.0.best.gain, other.0.best.gain),
        ] {
            assert!((one - other).abs() < 1e-9 * one.abs().max(1.0), "{one} {other}");
        }
    }
}

/// Multiplying all spends of a log and the scales by the same number changes no amount at scale 1.
#[test]
fn a_dearer_log_is_the_same_log() {
    let problem = problem("", "");
    let draws = Draws::new(5, Purpose::Record);
    let row = |day: u64, factor: f64| OutcomeRow {
        spend: factor * (1.0 + (day % 6) as f64),
        success: draws.round(day).uniform(0) < 0.1 * (1.0 + (day % 6) as f64),
        reward: Some(1.0 + (day % 3) as f64),
    };
    let rows = |factor: f64| TaskRows::Outcomes((0..60).map(|day| row(day, factor)).collect());
    let plain = Record::new(&problem, vec![rows(1.0), rows(1.0)]).unwrap();
    let conditions = vec![scales(&[4.0; 60]), scales(&[4.0; 60])];
    let dearer = Record::with_conditions(&problem, vec![rows(4.0), rows(4.0)], conditions).unwrap();
    assert_eq!(plain.tasks()[0].rows(), dearer.tasks()[0].rows());
    assert_eq!(assumptions(&problem, &plain), assumptions(&problem, &dearer));
    // With four times the budget the same gains are possible.
    let text = problem.to_toml().unwrap().replace("budget = 10.0", "budget = 40.0");
    let richer = Problem::from_toml(&text, &NoFiles).unwrap();
    let (one, other) = (
        play(&problem, &plain, "uniform", Order::Recorded, 60),
        play(&richer, &dearer, "uniform", Order::Recorded, 60),
    );
    assert!((one.1.gain - other.1.gain).abs() < 1e-12);
    assert!((one.0.best.gain - other.0.best.gain).abs() < 1e-9);
}

/// A round of twice the volume has twice the completions, and a curve that is right stays right.
#[test]
fn expected_completions_use_the_volumes() {
    let problem = problem("volume = 100.0", "environment = { completions = 'poisson' }");
    let (mut rows, mut conditions) = (Vec::new(), RowConditions::default());
    for day in 0..60_u64 {
        let spend = 1.0 + (day % 5) as f64;
        let (scale, volume) =
            ([0.5, 1.0, 2.0][day as usize % 3], [50.0, 100.0, 200.0][day as usize % 3]);
        let expected = volume * (1.0 - (-spend / scale / 4.0).exp());
        let completions = (expected + 0.5) as u64;
        rows.push(CountRow { spend, completions, reward: 2.0 * completions as f64 });
        conditions.scale.push(scale);
        conditions.volume.push(volume);
    }
    let tasks = || vec![TaskRows::Counts(rows.clone()); 2];
    let record = Record::with_conditions(&problem, tasks(), vec![conditions.clone(); 2]).unwrap();
    let fit = assumptions(&problem, &record)[0].fit;
    assert!(fit.distance < 0.01 && fit.p_value > 0.5, "{fit:?}");
    let ignored = assumptions(&problem, &Record::new(&problem, tasks()).unwrap())[0].fit;
    assert!(ignored.distance > 5.0 * fit.distance, "{ignored:?} {fit:?}");
    // The gain of a round is its volume times the usual one, and completions keep their mean.
    let (drawn, run) = play(&problem, &record, "uniform", Order::Shuffled, 3000);
    assert!((run.gain - drawn.even.gain).abs() < 0.03 * run.gain, "{} {:?}", run.gain, drawn.even);
    let (recorded, played) = play(&problem, &record, "uniform", Order::Recorded, 60);
    assert!((recorded.even.gain - played.gain).abs() < 1e-6 * played.gain);
}

#[test]
fn profiles_of_the_problem_are_the_default() {
    let problem = problem("", "environment = { scale = { a = [1.0, 3.0] } }");
    let rows = [thresholds(&[(2.0, 1.0); 3]), thresholds(&[(2.0, 1.0); 2])];
    let found = RowConditions::of_profiles(&problem, &rows).unwrap();
    assert_eq!(found, [scales(&[1.0, 3.0, 1.0]), scales(&[1.0, 1.0])]);
    let plain =
        Problem::from_toml("[[task]]\ncurve = { family = 'exponential', scale = 1 }", &NoFiles);
    assert_eq!(RowConditions::of_profiles(&plain.unwrap(), &rows[..1]), None);
}

#[test]
fn impossible_conditions_are_refused() {
    let problem = problem("", "");
    let rows = || vec![thresholds(&[(2.0, 1.0); 2]), thresholds(&[(2.0, 1.0); 2])];
    let refused = |first: RowConditions| {
        let conditions = vec![first, RowConditions::default()];
        Record::with_conditions(&problem, rows(), conditions).unwrap_err().to_string()
    };
    let expected = "task a: row 2: scale of task a: must be between 0.000001 and 1000000, not 0; \
                    leave out a task that has no traffic";
    let found = refused(scales(&[1.0, 0.0]));
    assert!(found.starts_with("task a: row 2: scale of task a: must be "), "{found} {expected}");
    assert_eq!(refused(scales(&[1.0])), "task a: 1 entries of scale for 2 rows");
    let volume = RowConditions { volume: vec![2.0, 2.0], ..RowConditions::default() };
    assert!(refused(volume).contains("complete at most once in a round"));
    let error = Record::with_conditions(&problem, rows(), Vec::new()).unwrap_err();
    assert_eq!(error, RecordError::TaskCount { expected: 2, got: 0 });
}

/// Learners that need curves that do not change are refused before the first round.
#[test]
fn learners_that_cannot_follow_are_refused() {
    let problem = problem("", "");
    let rows = vec![thresholds(&[(2.0, 1.0); 2]), thresholds(&[(2.0, 1.0); 2])];
    let conditions = vec![scales(&[1.0, 2.0]), RowConditions::default()];
    let record = Record::with_conditions(&problem, rows, conditions).unwrap();
    let learners: [LearnerSpec; 1] = ["lattimore".parse().unwrap()];
    let replay = Replay {
        problem: &problem,
        record: &record,
        learners: &learners,
        order: Order::Shuffled,
        rounds: 10,
        replications: 1,
        starts_from_seen: false,
        seed: 1,
    };
    let error = replay.check().unwrap_err();
    assert!(
        matches!(
            error,
            ReplayError::Experiment(ExperimentError::Campaign(CampaignError::FixedCurves {
                what: "scale",
                ..
            }))
        ),
        "{error}"
    );
    assert_eq!(
        record.tasks()[1].outcome(0, 1.0),
        Outcome::Forgone(outlay::feedback::Reward::from_share(0.2))
    );
}
