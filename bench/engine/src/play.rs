//! Whole simulated rounds, timed.

use std::error::Error;
use std::hint::black_box;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use outlay::Problem;
use outlay::instance::Instance;
use outlay::learner::LearnerSpec;
use outlay::simulation::{Play, Replication};

use crate::by_hand;
use crate::clock::{Effort, LONG_SECONDS, long};

/// Not a learner: the hand-written version of `algorithm-1` on power curves, or of `cucb` on the
/// arms of a bandit.
pub const BY_HAND: &str = "by-hand";

/// The results and times of a run.
#[derive(Debug, Clone)]
pub struct Measured {
    /// Seconds of the fastest run.
    pub rounds_per_second: f64,
    pub regret: f64,
    /// `None` for hand-written versions, which have no certificate.
    pub oracle_gap: Option<f64>,
}

/// Repeats one replication and returns the fastest run.
///
/// # Errors
/// If there is no such instance or learner, or it cannot be played by hand.
pub fn measure(
    instance: &str,
    learner: &str,
    horizon: u64,
    seed: u64,
    effort: Effort,
) -> Result<Measured, Box<dyn Error>> {
    let problem = instance.parse::<Instance>()?.problem(horizon, seed)?;
    let told = |seconds: f64, regret: f64, oracle_gap| Measured {
        rounds_per_second: horizon as f64 / seconds,
        regret,
        oracle_gap,
    };
    if learner == BY_HAND {
        let play: Box<dyn Fn() -> f64> = match by_hand::powers(&problem) {
            Some((exponents, means)) => {
                Box::new(move || by_hand::paper(&exponents, &means, horizon, seed))
            }
            None if instance.starts_with("k-armed") => {
                let means: Vec<f64> = problem
                    .tasks()
                    .iter()
                    .filter_map(|task| task.reward())
                    .map(|law| law.mean())
                    .collect();
                Box::new(move || by_hand::ucb1(&means, horizon, seed))
            }
            None => return Err(format!("{instance} was not written by hand").into()),
        };
        let seconds = fastest(effort, || {
            black_box(play());
        });
        return Ok(told(seconds, play(), None));
    }
    let spec: LearnerSpec = learner.parse()?;
    let run = replication(&problem, &spec, horizon, seed)?;
    let seconds = fastest(effort, || {
        let _ = black_box(replication(black_box(&problem), &spec, horizon, seed));
    });
    Ok(told(seconds, run.regret, Some(run.oracle_gap)))
}

fn replication(
    problem: &Problem,
    learner: &LearnerSpec,
    horizon: u64,
    seed: u64,
) -> Result<Replication, Box<dyn Error>> {
    let play = Play {
        problem,
        learner: &(*learner).into(),
        feedback: learner.entry().feedback,
        horizon,
        seed,
    };
    play.run(&AtomicBool::new(false))?.ok_or_else(|| "stopped".into())
}

/// Seconds of the fastest run. Long runs are measured in CPU time, short ones by the wall clock:
/// there are many of them, and some are undisturbed.
fn fastest(effort: Effort, mut run: impl FnMut()) -> f64 {
    let begin = Instant::now();
    run();
    let mut least = begin.elapsed().as_secs_f64();
    let is_long = least > LONG_SECONDS;
    for _ in 0..effort.blocks {
        least = least.min(if is_long {
            long(&mut run)
        } else {
            let begin = Instant::now();
            run();
            begin.elapsed().as_secs_f64()
        });
        if begin.elapsed().as_secs_f64() > effort.seconds {
            break;
        }
    }
    least
}
