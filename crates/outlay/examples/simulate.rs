//! One replication of a learner against a simulated environment.
//!
//! Run with `cargo run -p outlay --example simulate`.

use std::sync::atomic::AtomicBool;

use outlay::learner::LearnerChoice;
use outlay::simulation::{Play, trace_rounds};
use outlay::{Curve, ProblemSpec, RewardLaw, TaskSpec};

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    let task = |name: &str, scale: f64, mean: f64| -> Result<TaskSpec, outlay::curve::CurveError> {
        let reward = Some(RewardLaw::Bernoulli { mean });
        Ok(TaskSpec { reward, ..TaskSpec::new(name, Curve::exponential(scale)?) })
    };
    let problem = ProblemSpec {
        budget: 100.0,
        tasks: vec![task("search", 40.0, 0.6)?, task("social", 60.0, 0.3)?],
        ..ProblemSpec::default()
    }
    .check()?;

    let learner: LearnerChoice = "kl-ucb-plus".parse()?;
    let feedback = learner.feedback();
    let play = Play { problem: &problem, learner: &learner, feedback, horizon: 10_000, seed: 1 };
    let stop = AtomicBool::new(false);
    let Some(run) = play.run(&stop)? else { return Ok(()) };

    for (round, regret) in trace_rounds(play.horizon).iter().zip(&run.trace).step_by(40) {
        println!("round {round:6}  regret {regret:6.2}");
    }
    println!("regret at the horizon: {:.2}", run.regret);
    Ok(())
}
