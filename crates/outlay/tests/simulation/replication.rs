//! A replication: its trace, and rounds without any task.

use std::sync::atomic::AtomicBool;

use outlay::Problem;
use outlay::learner::{LEARNERS, LearnerChoice};
use outlay::problem::NoFiles;
use outlay::simulation::{Play, trace_rounds};

#[test]
fn about_two_hundred_points_by_ratio() {
    let rounds = trace_rounds(1_000_000);
    assert!((150..=200).contains(&rounds.len()), "{}", rounds.len());
    assert!(
        rounds.is_sorted_by(|one, other| one < other)
            && rounds[0] == 1
            && rounds.last() == Some(&1_000_000)
    );
    assert_eq!(trace_rounds(1), [1]);
    assert_eq!(trace_rounds(2), [1, 2]);
    assert_eq!(trace_rounds(3), [1, 2, 3]);
    assert_eq!(trace_rounds(u64::MAX).last(), Some(&u64::MAX));
}

#[test]
fn rounds_without_any_task_pass() {
    for delay in ["", "delay = { law = 'geometric', mean = 5 }"] {
        let problem = format!(
            "[environment]\navailable = 0.3\n{delay}\n[[task]]\nvalue = 0.5\ncurve = {{ family = 'power', exponent = 0.5 }}\n\
             [[task]]\nvalue = 0.9\ncurve = {{ family = 'power', exponent = 0.5 }}"
        );
        let problem = Problem::from_toml(&problem, &NoFiles).unwrap();
        for entry in LEARNERS {
            let learner: LearnerChoice = entry.name.parse().unwrap();
            let play = Play {
                problem: &problem,
                learner: &learner,
                feedback: entry.feedback,
                horizon: 200,
                seed: 1,
            };
            let run = play.run(&AtomicBool::new(false)).unwrap().unwrap();
            assert!(
                run.regret > -1e-9 && run.completions.iter().sum::<u64>() > 0,
                "{learner}: {run:?}"
            );
        }
    }
}
