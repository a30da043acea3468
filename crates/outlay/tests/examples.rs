//! The examples run.

#[path = "../examples/allocate.rs"]
mod allocate;
#[path = "../examples/custom_curve.rs"]
mod custom_curve;
#[path = "../examples/custom_learner.rs"]
mod custom_learner;
#[path = "../examples/learn.rs"]
mod learn;
#[path = "../examples/simulate.rs"]
mod simulate;

#[test]
fn allocate_runs() {
    allocate::main().unwrap();
}

#[test]
fn learn_runs() {
    learn::main().unwrap();
}

#[test]
fn custom_curve_runs() {
    custom_curve::main().unwrap();
}

#[test]
fn custom_learner_runs() {
    custom_learner::main().unwrap();
}

#[test]
fn simulate_runs() {
    simulate::main().unwrap();
}
