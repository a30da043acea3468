//! A success curve of your own, given as a function.
//!
//! Run with `cargo run -p outlay --example own_curve`.

use std::sync::Arc;

use outlay::curve::DeclaredShape;
use outlay::{Curve, Options, Oracle, ProblemSpec, TaskSpec};

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The probability that at least one of two independent channels succeeds.
    let either = |spend: f64| 1.0 - (-spend / 30.0).exp() * 20.0 / (20.0 + spend);
    let problem = ProblemSpec {
        budget: 100.0,
        tasks: vec![
            // The oracle evaluates the function. Its bound is valid because of the declared shape.
            TaskSpec::new("own", Curve::custom(Arc::new(either), DeclaredShape::Concave)?),
            TaskSpec::new("search", Curve::exponential(25.0)?),
        ],
        ..ProblemSpec::default()
    }
    .check()?;
    let mut oracle = Oracle::new(&problem);
    let best = oracle.allocate(&[1.0, 1.5], problem.budget(), &Options::default())?;
    for (task, spend) in problem.tasks().iter().zip(&best.spend) {
        println!("{:8} {spend:6.2}", task.name());
    }
    println!("value {:.6}, relative gap below {:.0e}", best.value, best.gap().max(1e-12));
    Ok(())
}
