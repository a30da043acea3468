//! Replays of counts and of censored rows, and plans from a part of the rows.

use std::sync::atomic::AtomicBool;

use outlay::feedback::{Outcome, Reward};
use outlay::fit::Options;
use outlay::random::{Draws, ManyBits, Purpose};
use outlay::replay::assumptions::assumptions;
use outlay::replay::{
    CensoredRow, CountRow, Order, Record, Replay, Splits, TaskRows, ThresholdRow, fit_rows,
};
use outlay::{Curve, Problem, ProblemSpec, TaskSpec};

/// Two tasks with volumes, and the rows of a few days of the first.
fn daily_counts() -> (Problem, Vec<CountRow>) {
    let volume = Some(12.0);
    let task = TaskSpec { volume, ..TaskSpec::new("a", Curve::exponential(4.0).unwrap()) };
    let other = TaskSpec { volume, ..TaskSpec::new("b", Curve::exponential(4.0).unwrap()) };
    let problem = ProblemSpec {
        budget: 10.0,
        reward_max: 5.0,
        tasks: vec![task, other],
        ..ProblemSpec::default()
    };
    let row = |spend, completions, reward| CountRow { spend, completions, reward };
    let rows = vec![row(1.0, 2, 6.0), row(4.0, 8, 20.0), row(4.0, 6, 22.0), row(9.0, 11, 30.0)];
    (problem.check().unwrap(), rows)
}

#[test]
fn counts_are_replayed_by_hand() {
    let (problem, rows) = daily_counts();
    let none = CountRow { spend: 0.0, completions: 0, reward: 0.0 };
    let record =
        Record::new(&problem, vec![TaskRows::Counts(rows), TaskRows::Counts(vec![none])]).unwrap();
    let task = &record.tasks()[0];
    // 78 in 27 completions, relative to the largest reward 5.
    assert!((task.mean_reward() - 78.0 / 27.0 / 5.0).abs() < 1e-9);
    let gains = task.gains(Order::Shuffled, 100);
    // Spends of 4 have a mean of 21; a spend in between counts as the next smaller one.
    let expected = [(0.5, 0.0), (1.0, 6.0), (3.9, 6.0), (4.0, 21.0), (8.0, 21.0), (9.0, 30.0)];
    for (spend, gain) in expected {
        assert!((gains.value(spend) * 5.0 - gain).abs() < 1e-6, "{spend}");
    }
    assert_eq!(task.successes().heights(), [2.0, 7.0, 11.0]);
    assert!(task.is_outside(0.5) && task.is_outside(9.5) && !task.is_outside(5.0));
    let splits = Splits::new(&problem, &record, Order::Shuffled, 100).unwrap();
    // Volumes are in the rows already and must not be counted twice.
    assert_eq!(splits.best.spend, [9.0, 0.0]);
    assert!((splits.best.gain - 30.0).abs() < 1e-6, "{}", splits.best.gain);
    assert!((splits.model_recorded.gain - 30.0).abs() < 1e-6);
}

/// A learner on counts has the state of a learner that observes the same counts.
#[test]
fn learners_receive_the_counts() {
    let (problem, rows) = daily_counts();
    let all = vec![TaskRows::Counts(rows.clone()), TaskRows::Counts(rows)];
    let record = Record::new(&problem, all).unwrap();
    let replay = Replay {
        problem: &problem,
        record: &record,
        learners: &["kl-ucb-plus".parse().unwrap(), "uniform".parse().unwrap()],
        order: Order::Recorded,
        rounds: 6,
        replications: 1,
        starts_from_seen: false,
        seed: 1,
    };
    replay.check().unwrap();
    let stop = AtomicBool::new(false);
    let even = replay.play(replay.jobs()[1], &stop).unwrap().unwrap();
    // The even split has 5 for each task and replays the two days with 4 in turn.
    assert!((even.gain - 42.0).abs() < 1e-6, "{}", even.gain);
    assert_eq!(even.outside, 0.0);
    let learned = replay.play(replay.jobs()[0], &stop).unwrap().unwrap();
    assert!(learned.gain > 0.0 && learned.oracle_gap < 1e-9);
    let full = Replay { learners: &["full".parse().unwrap()], ..replay };
    assert!(full.check().is_err());
}

#[test]
fn rows_must_fit_the_problem() {
    let (problem, rows) = daily_counts();
    let refused = |rows: TaskRows| {
        let other = TaskRows::Counts(vec![CountRow { spend: 1.0, completions: 1, reward: 1.0 }]);
        Record::new(&problem, vec![rows, other]).unwrap_err().to_string()
    };
    assert_eq!(
        refused(TaskRows::Thresholds(vec![ThresholdRow { threshold: 1.0, reward: 0.5 }])),
        "task a: it may complete more than once in a round, but its rows have single outcomes"
    );
    let too_much = CountRow { spend: 1.0, completions: 2, reward: 10.5 };
    assert_eq!(
        refused(TaskRows::Counts(vec![rows[0], too_much])),
        "task a: row 2: reward must be between 0 and 2 · reward_max = 10, not 10.5"
    );
    let single = ProblemSpec {
        tasks: vec![TaskSpec::new("a", Curve::exponential(4.0).unwrap())],
        ..ProblemSpec::default()
    };
    let refused = Record::new(&single.check().unwrap(), vec![TaskRows::Counts(rows)]).unwrap_err();
    assert!(refused.to_string().contains("the problem has no volumes"), "{refused}");
}

#[test]
fn censored_rows_fail_where_they_are_unknown() {
    let tasks = vec![TaskSpec::new("a", Curve::saturating(8.0).unwrap())];
    let problem = ProblemSpec { budget: 8.0, tasks, ..ProblemSpec::default() }.check().unwrap();
    let row = |threshold, is_censored, reward| CensoredRow { threshold, is_censored, reward };
    let rows = vec![
        row(2.0, false, Some(0.4)),
        row(3.0, true, None),
        row(6.0, false, Some(0.8)),
        row(7.0, true, Some(1.0)),
    ];
    let record = Record::new(&problem, vec![TaskRows::Censored(rows.clone())]).unwrap();
    let task = &record.tasks()[0];
    let gains = task.gains(Order::Shuffled, 10);
    for (spend, gain) in [(1.9, 0.0), (2.0, 0.1), (5.0, 0.1), (6.0, 0.3), (8.0, 0.3)] {
        assert!((gains.value(spend) - gain).abs() < 1e-9, "{spend}");
    }
    assert_eq!(task.outcome(1, 8.0), Outcome::Failed);
    assert_eq!(task.outcome(3, 8.0), Outcome::Forgone(Reward::MAX));
    assert!(task.is_censored_below(1, 3.5) && !task.is_censored_below(1, 3.0));
    assert!(!task.is_censored_below(0, 8.0));
    let found = assumptions(&problem, &record);
    // Kaplan–Meier: 1/4 from 2 on, 1/4 + 3/4 · 1/2 from 6 on; the line is at 6/8.
    assert!((found[0].fit.distance - 0.5).abs() < 1e-9, "{:?}", found[0].fit);
    let missing = vec![TaskRows::Censored(vec![row(2.0, false, None)])];
    let refused = Record::new(&problem, missing).unwrap_err().to_string();
    assert_eq!(refused, "task a: row 1: a success without a reward");
}

/// A wrong curve is noticed on counts, and a right one is not, however dispersed they are.
#[test]
fn curves_are_compared_with_counts() {
    let mut bits = Draws::new(5, Purpose::Instance).round(1).many(0);
    let mut row = |spend: f64| {
        // About 40 (1 − exp(−x/10)) completions, with a variance of about four times the mean.
        let mean = 40.0 * (1.0 - (-spend / 10.0_f64).exp());
        let twin = |bits: &mut ManyBits| 4 * u64::from(bits.next_uniform() < 0.025);
        let pairs = (mean * 10.0).round() as usize;
        let completions = (0..pairs).map(|_| twin(&mut bits)).sum();
        CountRow { spend, completions, reward: completions as f64 * 0.5 }
    };
    let rows: Vec<CountRow> = (0..400).map(|day| row(f64::from(day % 40) + 1.0)).collect();
    let p_value = |scale: f64| {
        let curve = Curve::exponential(scale).unwrap();
        let task = TaskSpec { volume: Some(40.0), ..TaskSpec::new("a", curve) };
        let spec = ProblemSpec { budget: 40.0, tasks: vec![task], ..ProblemSpec::default() };
        let problem = spec.check().unwrap();
        let record = Record::new(&problem, vec![TaskRows::Counts(rows.clone())]).unwrap();
        assumptions(&problem, &record)[0].fit.p_value
    };
    assert!(p_value(10.0) > 0.01, "{}", p_value(10.0));
    assert!(p_value(12.0) < 1e-3, "{}", p_value(12.0));
}

#[test]
fn rows_are_fitted_for_a_plan() {
    let (problem, _) = daily_counts();
    let counts = |volume: f64| {
        let row = |day: u32| {
            let spend = 0.5 * f64::from(day % 20) + 0.5;
            let completions = (volume * (1.0 - (-spend / 4.0).exp())).round() as u64;
            CountRow { spend, completions, reward: 2.0 * completions as f64 }
        };
        TaskRows::Counts((0..60).map(row).collect())
    };
    let rows = [counts(300.0), counts(100.0)];
    let fitted = fit_rows(&problem, &rows, &Options::default()).unwrap();
    let [a, b] = fitted.problem.tasks() else { panic!("two tasks") };
    assert!((a.volume() - 300.0).abs() < 3.0 && (b.volume() - 100.0).abs() < 2.0);
    assert_eq!((a.value(), a.covers()), (Some(2.0), Some([0.5, 10.0])));
    assert!((a.current().unwrap() - 5.25).abs() < 1e-9);
    let (first, second) = counts(100.0).partition(|row| row < 20);
    assert_eq!((first.len(), second.len()), (20, 40));
    let nothing = CountRow { spend: 1.0, completions: 0, reward: 0.0 };
    let rows = [counts(300.0), TaskRows::Counts(vec![nothing; 9])];
    let refused = fit_rows(&problem, &rows, &Options::default()).unwrap_err().to_string();
    assert!(refused.starts_with("task b: none of the rows to fit has a success"), "{refused}");
}
