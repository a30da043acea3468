//! A learner of your own, compared with built-in ones.
//!
//! Run with `cargo run -p outlay --example own_learner`.

use std::num::NonZeroUsize;

use outlay::feedback::Outcome;
use outlay::instance::Instance;
use outlay::learner::{Decision, Learner, LearnerChoice, RoundContext};
use outlay::simulation::{Case, Experiment, Source};

/// The index of UCB-V (Audibert, Munos and Szepesvári 2009), with factor `c`.
#[derive(Debug, Clone)]
struct UcbV {
    c: f64,
    /// Completions, sums of rewards and sums of squared rewards, one triple per task.
    tasks: Vec<[f64; 3]>,
}

impl Learner for UcbV {
    fn decide(&mut self, context: &RoundContext<'_>, numbers: &mut [f64]) -> Decision {
        let log = self.c * (context.round as f64).ln();
        for (index, [completions, sum, squares]) in numbers.iter_mut().zip(&self.tasks) {
            let mean = sum / completions;
            let variance = (squares / completions - mean * mean).max(0.0);
            let width = (2.0 * variance * log / completions).sqrt() + 3.0 * log / completions;
            *index = if *completions > 0.0 { (mean + width).min(1.0) } else { 1.0 };
        }
        Decision::Weights // the oracle finds the best allocation for these indices
    }

    fn observe(&mut self, task: usize, outcome: Outcome) {
        if let Outcome::Done(reward) = outcome {
            let reward = reward.share();
            let [completions, sum, squares] = &mut self.tasks[task];
            (*completions, *sum, *squares) =
                (*completions + 1.0, *sum + reward, *squares + reward * reward);
        }
    }
}

fn ucb_v(c: f64) -> LearnerChoice {
    LearnerChoice::custom(format!("ucb-v:c={c}"), move |inputs| UcbV {
        c,
        tasks: vec![[0.0; 3]; inputs.problem.tasks().len()],
    })
}

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    let instance: Instance = "m-set".parse()?;
    let case = Case {
        name: instance.to_string(),
        source: Source::Instance(instance),
        horizon: 2000,
        parameter: None,
    };
    let experiment = Experiment {
        cases: vec![case],
        learners: vec![ucb_v(0.1), ucb_v(1.0), "kl-ucb-plus".parse()?, "cucb".parse()?],
        feedback: None,
        replications: 10,
        seed: 1,
    };
    for learner in &experiment.run_all(NonZeroUsize::MIN)?[0].learners {
        println!("{:12} regret {:7.2}", learner.learner, learner.regret.mean);
    }
    Ok(())
}
