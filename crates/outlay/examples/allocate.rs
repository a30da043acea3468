//! The best allocation of a budget, with a certificate.
//!
//! Run with `cargo run -p outlay --example allocate`.

use outlay::{Curve, Options, Oracle, ProblemSpec, TaskSpec};

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Each curve is the probability that a task succeeds, given its spend.
    let problem = ProblemSpec {
        budget: 100.0,
        tasks: vec![
            TaskSpec::new("search", Curve::exponential(20.0)?),
            TaskSpec::new("social", Curve::hill(30.0, 3.0)?),
            TaskSpec { max: Some(25.0), ..TaskSpec::new("display", Curve::power(0.5, 100.0)?) },
        ],
        ..ProblemSpec::default()
    }
    .check()?;

    // The value of a success of each task.
    let values = [10.0, 12.0, 4.0];
    let mut oracle = Oracle::new(&problem);
    let best = oracle.allocate(&values, problem.budget(), &Options::default())?;

    for (task, spend) in problem.tasks().iter().zip(&best.spend) {
        println!("{:8} {spend:6.2}", task.name());
    }
    println!("value {:.4}, and no allocation is above {:.4}", best.value, best.upper_bound);
    Ok(())
}
