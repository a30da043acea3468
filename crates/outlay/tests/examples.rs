//! The examples run.

#[path = "../examples/allocate.rs"]
mod allocate;
#[path = "../examples/learn.rs"]
mod learn;
#[path = "../examples/own_curve.rs"]
mod own_curve;
#[path = "../examples/own_learner.rs"]
mod own_learner;
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
fn own_curve_runs() {
    own_curve::main().unwrap();
}

#[test]
fn own_learner_runs() {
    own_learner::main().unwrap();
}

#[test]
fn simulate_runs() {
    simulate::main().unwrap();
}
