//! Replays: gains computed by hand, recorded order, outcome rows, the cost of dependence and its
//! detection.

use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;

use outlay::learner::LearnerSpec;
use outlay::random::{Draws, ManyBits, Purpose};
use outlay::replay::assumptions::{LEVEL, TaskAssumptions, assumptions};
use outlay::replay::{
    Order, OutcomeRow, Record, Replay, ReplayRun, Splits, TaskRows, ThresholdRow,
};
use outlay::{Curve, Problem, ProblemSpec, TaskSpec};
use proptest::prelude::*;

fn problem(budget: f64, curves: Vec<Curve>) -> Problem {
    let tasks = curves
        .into_iter()
        .enumerate()
        .map(|(task, curve)| TaskSpec::new(format!("task-{task}"), curve))
        .collect();
    ProblemSpec { budget, reward_max: 10.0, tasks, ..ProblemSpec::default() }.check().unwrap()
}

fn thresholds(pairs: &[(f64, f64)]) -> TaskRows {
    TaskRows::Thresholds(
        pairs.iter().map(|&(threshold, reward)| ThresholdRow { threshold, reward }).collect(),
    )
}

fn learners(names: &[&str]) -> Vec<LearnerSpec> {
    names.iter().map(|name| name.parse().unwrap()).collect()
}

fn played(replay: &Replay<'_>, threads: usize) -> Vec<Vec<ReplayRun>> {
    let splits = replay.splits().unwrap();
    let mut results = vec![vec![None; replay.replications as usize]; replay.learners.len()];
    let keep = |job: outlay::replay::ReplayJob, run| {
        results[job.learner][job.replication as usize] = Some(run)
    };
    replay
        .run(&splits, NonZeroUsize::new(threads).unwrap(), &AtomicBool::new(false), keep)
        .unwrap();
    results.into_iter().map(|runs| runs.into_iter().map(Option::unwrap).collect()).collect()
}

/// Two tasks, a budget of 4; in the first, higher thresholds have higher rewards.
fn by_hand() -> (Problem, Record) {
    let problem = problem(
        4.0,
        vec![
            Curve::empirical(vec![1.0, 1.0, 3.0, 4.0]).unwrap(),
            Curve::empirical(vec![2.0, 2.0, 3.0]).unwrap(),
        ],
    );
    let rows = vec![
        thresholds(&[(1.0, 1.0), (4.0, 9.0), (1.0, 0.0), (3.0, 2.0)]),
        thresholds(&[(2.0, 3.0), (3.0, 3.0), (2.0, 3.0)]),
    ];
    let record = Record::new(&problem, rows).unwrap();
    (problem, record)
}

#[test]
fn gains_by_hand() {
    let (problem, record) = by_hand();
    // Task 1 gains 1/4 from 1 on, 3/4 from 3, 12/4 from 4; task 2 gains 6/3 from 2, 9/3 from 3.
    let gains: Vec<_> = record.tasks().iter().map(|task| task.gains(Order::Shuffled, 1)).collect();
    for (spend, gain) in [(0.9, 0.0), (1.0, 0.25), (3.0, 0.75), (4.0, 3.0)] {
        assert!((10.0 * gains[0].value(spend) - gain).abs() < 1e-12, "{spend}");
    }
    for (spend, gain) in [(1.9, 0.0), (2.0, 2.0), (3.0, 3.0), (9.0, 3.0)] {
        assert!((10.0 * gains[1].value(spend) - gain).abs() < 1e-12, "{spend}");
    }
    let splits = Splits::new(&problem, &record, Order::Shuffled, 1).unwrap();
    // Spends of 1 and 3 gain a quarter and 3.
    assert_eq!(splits.best.spend, [1.0, 3.0]);
    assert!((splits.best.gain - 3.25).abs() < 1e-9);
    // The model expects 3 from task 1 on average, and half of it at 1: 1.5 and 3. Here it selects
    // the same split.
    assert_eq!(
        (&splits.model.spend, &splits.model_recorded.spend),
        (&splits.best.spend, &splits.best.spend)
    );
    assert!((splits.even.gain - 2.25).abs() < 1e-9 && splits.lost_to_model().abs() < 1e-12);
}

#[test]
fn recorded_order_by_hand() {
    let (problem, record) = by_hand();
    let learners = learners(&["uniform"]);
    let replay = Replay {
        problem: &problem,
        record: &record,
        learners: &learners,
        order: Order::Recorded,
        rounds: 5,
        replications: 1,
        starts_from_seen: false,
        seed: 1,
    };
    let splits = replay.splits().unwrap();
    // Five rounds play the first row of task 1 and the first two rows of task 2 twice. Spends of 1
    // and 3 gain 1 0 0 0 1 and 3 3 3 3 3, those of 4 and 0 gain 1 9 0 2 1: 17 against 13.
    assert_eq!(splits.best.spend, [1.0, 3.0]);
    assert!((5.0 * splits.best.gain - 17.0).abs() < 1e-7);
    let run = &played(&replay, 1)[0][0];
    // The even split of 2 each gains 1 0 0 0 1 and 3 0 3 3 0.
    assert!((5.0 * run.gain - 11.0).abs() < 1e-7, "{run:?}");
    let expected = [0.0, 3.0, 3.0, 3.0, 6.0];
    assert!(
        run.trace.iter().zip(expected).all(|(regret, expected)| (regret - expected).abs() < 1e-7),
        "{run:?}"
    );
    assert!(
        (run.regret - 6.0).abs() < 1e-7
            && (run.late_gain - 1.0).abs() < 1e-7
            && run.spend == [2.0, 2.0]
    );
}

/// The model prefers the first task, which gains only if it gets the whole budget.
#[test]
fn the_cost_of_dependence_by_hand() {
    let problem = problem(
        2.0,
        vec![Curve::empirical(vec![1.0, 3.0]).unwrap(), Curve::empirical(vec![2.0]).unwrap()],
    );
    let record = Record::new(
        &problem,
        vec![thresholds(&[(1.0, 0.0), (3.0, 10.0)]), thresholds(&[(2.0, 2.4)])],
    )
    .unwrap();
    let splits = Splits::new(&problem, &record, Order::Shuffled, 1).unwrap();
    assert_eq!((splits.best.spend, splits.model.spend), (vec![0.0, 2.0], vec![1.0, 0.0]));
    assert!((splits.best.gain - 2.4).abs() < 1e-9 && splits.model.gain == 0.0);
    assert_eq!(splits.model_recorded.gain, 0.0);
}

#[test]
fn trials_replay_the_nearest_spend_below() {
    let problem = problem(4.0, vec![Curve::saturating(4.0).unwrap()]);
    let tried = |spend, success, reward| OutcomeRow { spend, success, reward };
    let rows = vec![
        tried(1.0, false, None),
        tried(2.0, true, Some(4.0)),
        tried(2.0, false, None),
        tried(3.0, true, Some(6.0)),
    ];
    let record = Record::new(&problem, vec![TaskRows::Outcomes(rows)]).unwrap();
    let task = &record.tasks()[0];
    let gains = task.gains(Order::Shuffled, 1);
    for (spend, gain) in [(0.5, 0.0), (1.0, 0.0), (2.0, 2.0), (2.9, 2.0), (3.0, 6.0), (4.0, 6.0)] {
        assert!((10.0 * gains.value(spend) - gain).abs() < 1e-12, "{spend}");
    }
    let chances = task.successes();
    assert_eq!([0.5, 1.0, 2.0, 3.0].map(|spend| chances.value(spend)), [0.0, 0.0, 0.5, 1.0]);
    // No row is below 1 or above 3; a spend of 0 needs no rows.
    assert_eq!(
        [0.0, 0.5, 1.0, 3.0, 3.1].map(|spend| task.is_outside(spend)),
        [false, true, false, false, true]
    );
    assert_eq!(task.row(0.5, 1, Order::Recorded, 0.0), None);
    assert!(!record.knows_forgone());
    let learners = learners(&["full"]);
    let replay = Replay {
        problem: &problem,
        record: &record,
        learners: &learners,
        order: Order::Shuffled,
        rounds: 5,
        replications: 1,
        starts_from_seen: false,
        seed: 1,
    };
    let error = replay.check().unwrap_err().to_string();
    assert!(
        error.starts_with("learner full needs the rewards that failures would have had"),
        "{error}"
    );
}

#[test]
fn records_that_cannot_be_replayed() {
    let problem = problem(1.0, vec![Curve::saturating(1.0).unwrap()]);
    let refused = |rows| Record::new(&problem, vec![rows]).unwrap_err().to_string();
    assert_eq!(refused(thresholds(&[])), "task task-0: has no rows");
    assert_eq!(
        refused(thresholds(&[(-1.0, 1.0)])),
        "task task-0: row 1: must be finite and not negative, not -1"
    );
    assert!(
        refused(thresholds(&[(1.0, 1.0), (1.0, 10.5)]))
            .contains("row 2: reward must be between 0 and reward_max = 10, not 10.5")
    );
    assert!(refused(thresholds(&[(1.0, f64::NAN)])).contains("not NaN"));
    let success = OutcomeRow { spend: 1.0, success: true, reward: None };
    assert!(
        refused(TaskRows::Outcomes(vec![success])).contains("row 1: a success without a reward")
    );
    assert!(Record::new(&problem, vec![]).is_err());
}

#[test]
fn the_same_bits_for_any_number_of_threads() {
    let (problem, record) = by_hand();
    let learners = learners(&[
        "kl-ucb-plus",
        "algorithm-1",
        "thompson",
        "full",
        "oful",
        "lattimore",
        "uniform",
    ]);
    for order in [Order::Shuffled, Order::Recorded] {
        let replay = Replay {
            problem: &problem,
            record: &record,
            learners: &learners,
            order,
            rounds: 200,
            replications: 3,
            starts_from_seen: false,
            seed: 5,
        };
        replay.check().unwrap();
        let one = played(&replay, 1);
        assert_eq!(one, played(&replay, 3));
        // Drawn rows depend on the seed; rows in recorded order do not.
        let other = played(&Replay { seed: 50, ..replay }, 2);
        // All but `thompson`, which is randomised.
        let differ = |one: &[Vec<ReplayRun>], other: &[Vec<ReplayRun>], place: usize| {
            (0..learners.len())
                .filter(|learner| *learner != 2)
                .any(|learner| one[learner][0].gain != other[learner][place].gain)
        };
        assert_eq!(
            (differ(&one, &other, 0), differ(&one, &one, 1)),
            (order == Order::Shuffled, order == Order::Shuffled)
        );
        assert_eq!(one[0].iter().map(|run| run.seed).collect::<Vec<_>>(), [5, 6, 7]);
    }
}

/// An infinite stream of uniform numbers.
fn stream(seed: u64) -> ManyBits {
    Draws::new(seed, Purpose::Instance).round(1).many(0)
}

/// Thresholds with distribution function min(1, √x), rewards by `reward(threshold, uniform)`.
fn synthetic(
    seed: u64,
    tasks: usize,
    rows: usize,
    reward: impl Fn(usize, f64, f64) -> f64,
) -> (Problem, Record) {
    let mut bits = stream(seed);
    let mut row = |task: usize| {
        let threshold = bits.next_uniform().powi(2);
        ThresholdRow { threshold, reward: reward(task, threshold, bits.next_uniform()) }
    };
    let record: Vec<TaskRows> = (0..tasks)
        .map(|task| TaskRows::Thresholds((0..rows).map(|_| row(task)).collect()))
        .collect();
    let problem = problem(1.0, vec![Curve::power(0.5, 1.0).unwrap(); tasks]);
    let record = Record::new(&problem, record).unwrap();
    (problem, record)
}

/// Rewards independent of thresholds: the best split and its gain are the model's, within noise.
#[test]
fn independent_rows_agree_with_the_model() {
    const ROWS: usize = 4000;
    let mean = |task: usize| [8.0, 5.0, 2.0][task];
    let (problem, record) =
        synthetic(
            3,
            3,
            ROWS,
            |task, _, uniform| if 10.0 * uniform < mean(task) { 10.0 } else { 0.0 },
        );
    let splits = Splits::new(&problem, &record, Order::Shuffled, 1).unwrap();
    // Spends are proportional to the squares of the means; the value is the root of their sum.
    let squares: f64 = (0..3).map(|task| mean(task).powi(2)).sum();
    assert!((splits.model.spend[0] - 64.0 / squares).abs() < 0.05, "{:?}", splits.model.spend);
    // Gains have a standard deviation of at most 5 per task, so 0.14 per round in the sum; allow
    // four of those, and selection of the best by noise.
    assert!(
        (splits.model.gain - squares.sqrt()).abs() < 0.55,
        "{} and {}",
        splits.model.gain,
        squares.sqrt()
    );
    assert!(splits.best.gain >= splits.model.gain && splits.lost_to_model() < 0.3, "{splits:?}");
    let learners = learners(&["uniform"]);
    let replay = Replay {
        problem: &problem,
        record: &record,
        learners: &learners,
        order: Order::Shuffled,
        rounds: 1,
        replications: 1,
        starts_from_seen: false,
        seed: 1,
    };
    let chance = replay.lost_by_chance(&splits).unwrap().unwrap();
    assert!(chance.p_value > LEVEL && chance.mean > 0.0, "{chance:?}");
}

/// A task whose rewards are positive only above half the budget: the model's split gives it less,
/// in vain.
#[test]
fn dependence_costs_and_is_found() {
    let planted = |task: usize, threshold: f64, _: f64| match task {
        0 if threshold > 0.5 => 10.0,
        0 => 0.0,
        _ => 3.3,
    };
    for seed in 1..=20 {
        let (problem, record) = synthetic(seed, 2, 300, planted);
        let splits = Splits::new(&problem, &record, Order::Shuffled, 1).unwrap();
        assert!(splits.lost_to_dependence() > 0.1 * splits.best.gain, "{seed}: {splits:?}");
        let found = assumptions(&problem, &record);
        let dependence = found[0].dependence.unwrap();
        assert!(
            dependence.rank_correlation > 0.5 && dependence.adjusted_p_value < 1e-6,
            "{dependence:?}"
        );
        // Equal rewards cannot be tested for dependence.
        assert_eq!(found[1].dependence, None);
    }
    let (problem, record) = synthetic(1, 2, 300, planted);
    let learners = learners(&["kl-ucb-plus", "full"]);
    let replay = Replay {
        problem: &problem,
        record: &record,
        learners: &learners,
        order: Order::Shuffled,
        rounds: 2000,
        replications: 4,
        starts_from_seen: false,
        seed: 1,
    };
    let splits = replay.splits().unwrap();
    assert!(replay.lost_by_chance(&splits).unwrap().unwrap().p_value <= 0.01);
    let summary = replay.summary(&splits, &played(&replay, 2)).unwrap();
    // A learner with full feedback learns the model's split; with censored feedback it errs less.
    assert!(
        (summary.learners[1].late_gain.mean - splits.model.gain).abs() < 0.05 * splits.best.gain,
        "{summary:?}"
    );
    assert!(summary.learners[0].late_gain.mean > summary.learners[1].late_gain.mean, "{summary:?}");
    assert!(summary.learners.iter().all(|learner| learner.regret.mean > 0.0));
}

/// Significant findings at level 5 % in one task.
fn findings(found: &TaskAssumptions) -> [bool; 4] {
    [
        found.dependence.is_some_and(|found| found.p_value <= LEVEL),
        found.threshold_drift.is_some_and(|found| found.p_value <= LEVEL),
        found.reward_drift.is_some_and(|found| found.p_value <= LEVEL),
        found.fit.p_value <= LEVEL,
    ]
}

/// The level is family-wise over all tasks.
#[test]
fn findings_allow_for_the_number_of_tasks() {
    let (problem, record) = synthetic(7, 12, 60, |_, _, uniform| 10.0 * uniform);
    let found = assumptions(&problem, &record);
    let (p_values, adjusted): (Vec<f64>, Vec<f64>) = found
        .iter()
        .filter_map(|task| task.dependence)
        .map(|found| (found.p_value, found.adjusted_p_value))
        .unzip();
    assert_eq!(adjusted, outlay::replay::rank_tests::holm(&p_values));
    let drifts = found.iter().flat_map(|task| [task.threshold_drift, task.reward_drift]).flatten();
    let (p_values, adjusted): (Vec<f64>, Vec<f64>) =
        drifts.map(|found| (found.p_value, found.adjusted_p_value)).unzip();
    assert_eq!((adjusted, p_values.len()), (outlay::replay::rank_tests::holm(&p_values), 24));
}

/// Under the null hypothesis each test rejects about once in twenty.
#[test]
fn independent_rows_have_no_findings() {
    const SEEDS: u64 = 300;
    for rows in [40, 120] {
        let mut found = [0; 4];
        for seed in 0..SEEDS {
            let (problem, record) = synthetic(1000 + seed, 1, rows, |_, _, uniform| 10.0 * uniform);
            let each = findings(&assumptions(&problem, &record)[0]);
            found.iter_mut().zip(each).for_each(|(count, found)| *count += u32::from(found));
        }
        // 15 expected, a standard deviation of 3.8: between 1 % and 10 %.
        assert!(found.iter().all(|count| (3..=30).contains(count)), "{rows} rows: {found:?}");
    }
}

#[test]
fn drift_is_located() {
    for seed in 1..=20 {
        // Rewards half as high from row 61 of 100 on; thresholds that stay.
        let mut bits = stream(seed);
        let row = |place: usize| {
            let (threshold, uniform) = (bits.next_uniform(), bits.next_uniform());
            (threshold, 4.0 * uniform + if place < 60 { 5.0 } else { 2.0 })
        };
        let rows: Vec<(f64, f64)> = (0..100).map(row).collect();
        let problem = problem(1.0, vec![Curve::saturating(1.0).unwrap()]);
        let record = Record::new(&problem, vec![thresholds(&rows)]).unwrap();
        let found = assumptions(&problem, &record).remove(0);
        let drift = found.reward_drift.unwrap();
        assert!(
            drift.adjusted_p_value < 0.001
                && drift.after.abs_diff(60) <= 5
                && drift.before_mean > drift.after_mean,
            "{drift:?}"
        );
    }
}

/// Outcomes at random spends: gains approach the truth from below, dependence shows in the
/// successes, and spends outside the range are marked as unknown.
#[test]
fn trials_follow_the_truth() {
    const ROWS: usize = 6000;
    let mut bits = stream(9);
    let mut row = || {
        let (threshold, spend) = (bits.next_uniform(), 0.8 * bits.next_uniform());
        let success = threshold <= spend;
        // Rewards increase with thresholds: with spend x, x · 5x on average.
        OutcomeRow { spend, success, reward: success.then_some(10.0 * threshold) }
    };
    let rows: Vec<OutcomeRow> = (0..ROWS).map(|_| row()).collect();
    let problem = problem(1.0, vec![Curve::saturating(1.0).unwrap()]);
    let record = Record::new(&problem, vec![TaskRows::Outcomes(rows)]).unwrap();
    let gains = record.tasks()[0].gains(Order::Shuffled, 1);
    for spend in [0.2, 0.4, 0.6, 0.75] {
        assert!(
            (10.0 * gains.value(spend) - 5.0 * spend * spend).abs() < 0.35,
            "{spend}: {}",
            10.0 * gains.value(spend)
        );
    }
    assert_eq!(gains.value(1.0), gains.value(0.8));
    let found = assumptions(&problem, &record).remove(0);
    let dependence = found.dependence.unwrap();
    assert!(
        dependence.rank_correlation > 0.2
            && dependence.p_value < 1e-6
            && dependence.worst.is_none(),
        "{dependence:?}"
    );
    assert!(
        found.fit.p_value > 0.001 && found.threshold_drift.unwrap().p_value > 0.001,
        "{found:?}"
    );
}

fn any_record() -> impl Strategy<Value = Vec<Vec<(f64, f64)>>> {
    let row = (0u32..12, 0u32..=10)
        .prop_map(|(threshold, reward)| (f64::from(threshold) / 4.0, f64::from(reward)));
    prop::collection::vec(prop::collection::vec(row, 1..12), 1..5)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// No fixed split that fits the budget gains more than the best, whatever the order, and in
    /// recorded order gains are those of the rows that were played.
    #[test]
    fn no_split_beats_the_best(record in any_record(), shares in prop::collection::vec(0.0..1.0f64, 5), rounds in 1u64..30) {
        let problem = problem(3.0, vec![Curve::saturating(3.0).unwrap(); record.len()]);
        let rows = record.iter().map(|rows| thresholds(rows)).collect();
        let kept = Record::new(&problem, rows).unwrap();
        let total: f64 = shares[..record.len()].iter().sum::<f64>().max(1e-9);
        let spend: Vec<f64> = shares[..record.len()].iter().map(|share| 3.0 * share / total).collect();
        for order in [Order::Shuffled, Order::Recorded] {
            let splits = Splits::new(&problem, &kept, order, rounds).unwrap();
            prop_assert!(splits.gap < 1e-9);
            let reached = |threshold: f64, spend: f64| threshold <= spend;
            let gain = |task: usize, spend: f64| {
                let rows = &record[task];
                let plays: Vec<&(f64, f64)> = match order {
                    Order::Shuffled => rows.iter().collect(),
                    Order::Recorded => (0..rounds as usize).map(|round| &rows[round % rows.len()]).collect(),
                };
                plays.iter().filter(|row| reached(row.0, spend)).map(|row| row.1).sum::<f64>() / plays.len() as f64
            };
            let of_split = |spend: &[f64]| spend.iter().enumerate().map(|(task, &spend)| gain(task, spend)).sum::<f64>();
            prop_assert!(of_split(&spend) <= splits.best.gain + 1e-6, "{} > {}", of_split(&spend), splits.best.gain);
            for split in [&splits.best, &splits.model, &splits.model_recorded, &splits.even] {
                prop_assert!((of_split(&split.spend) - split.gain).abs() < 1e-6);
                prop_assert!(split.spend.iter().sum::<f64>() <= 3.0 * (1.0 + 1e-9));
                prop_assert!(split.gain <= splits.best.gain + 1e-6);
            }
        }
    }
}
