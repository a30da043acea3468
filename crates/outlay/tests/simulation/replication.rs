//! A replication: its trace, and rounds without any task.

use std::sync::atomic::AtomicBool;

use outlay::Problem;
use outlay::feedback::{Feedback, Outcome};
use outlay::learner::{LEARNERS, LearnerChoice};
use outlay::problem::NoFiles;
use outlay::simulation::{DrawOutcomes, Environment, EnvironmentError, Play, trace_rounds};

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

/// The built-in environment as a custom one; from round `reversed` on, its means are reversed.
#[derive(Debug)]
struct Custom {
    environment: Environment,
    feedback: Feedback,
    reversed: u64,
    fails: u64,
}

impl DrawOutcomes for Custom {
    fn means(&mut self, round: u64, means: &mut [f64]) -> Result<(), EnvironmentError> {
        if round >= self.reversed {
            means.reverse();
        }
        Ok(())
    }

    fn draw(
        &mut self,
        round: u64,
        spend: &[f64],
        success: &[f64],
        outcomes: &mut [Outcome],
    ) -> Result<(), EnvironmentError> {
        assert_eq!(spend.len(), success.len());
        if round >= self.fails {
            return Err(EnvironmentError::Custom("out of draws".to_owned()));
        }
        self.environment.play(round, success, self.feedback, outcomes);
        Ok(())
    }
}

#[test]
fn a_custom_environment_with_the_same_draws_has_the_same_results() {
    let problem = "[[task]]\nvalue = 0.5\ncurve = { family = 'power', exponent = 0.5 }\n\
                   [[task]]\nvalue = 0.9\ncurve = { family = 'power', exponent = 0.3 }";
    let problem = Problem::from_toml(problem, &NoFiles).unwrap();
    for entry in LEARNERS {
        let learner: LearnerChoice = entry.name.parse().unwrap();
        let (feedback, horizon, seed) = (entry.feedback, 300, 7);
        let play = Play { problem: &problem, learner: &learner, feedback, horizon, seed };
        let run = |reversed: u64, fails: u64| {
            let environment = Environment::new(&problem, seed).unwrap();
            let mut custom = Custom { environment, feedback, reversed, fails };
            play.run_with(&mut custom, &AtomicBool::new(false))
        };
        let built_in = play.run(&AtomicBool::new(false)).unwrap();
        assert_eq!(run(u64::MAX, u64::MAX).unwrap(), built_in, "{learner}");
        let other = run(151, u64::MAX).unwrap().unwrap();
        assert_ne!(other.regret, built_in.unwrap().regret, "{learner}");
        let error = run(u64::MAX, 20).unwrap_err().to_string();
        assert_eq!(error, "environment: out of draws");
    }
}
