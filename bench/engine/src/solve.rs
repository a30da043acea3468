//! Calls of the engine: an instance solved cold, and warm with values that change from call to
//! call.

use std::hint::black_box;
use std::num::NonZeroUsize;

use outlay::{Options, Oracle};

use crate::clock::CYCLE;
use crate::instances::{Instance, Random};

/// An oracle that is reset before every call.
pub struct Cold {
    values: Vec<f64>,
    oracle: Oracle,
    options: Options,
}

impl Cold {
    pub fn new(instance: &Instance, tolerance: f64) -> Self {
        let options = Options { tolerance, ..Options::default() };
        Self { values: instance.values.clone(), oracle: Oracle::new(&instance.problem), options }
    }

    pub fn call(&mut self) {
        self.oracle.reset();
        let answer = self.oracle.allocate(black_box(&self.values), 1.0, &self.options);
        black_box(answer.map(|answer| answer.value)).ok();
    }

    /// The certified relative gap.
    pub fn gap(&mut self) -> f64 {
        self.call();
        self.oracle.last().gap()
    }
}

/// An oracle with a warm start; every value moves by up to half a percent per call, as in the
/// rounds of a learner.
pub struct Warm {
    moving: Vec<Vec<f64>>,
    oracle: Oracle,
    options: Options,
    round: usize,
}

impl Warm {
    pub fn new(instance: &Instance, tolerance: f64) -> Self {
        let mut random = Random::new(1001);
        let mut moved =
            || instance.values.iter().map(|value| value * random.between(0.995, 1.005)).collect();
        Self {
            moving: (0..CYCLE).map(|_| moved()).collect(),
            oracle: Oracle::new(&instance.problem),
            options: Options { tolerance, ..Options::default() },
            round: 0,
        }
    }

    pub fn use_threads(&mut self, threads: NonZeroUsize) {
        self.oracle.use_threads(threads);
    }

    pub fn call(&mut self) {
        self.round += 1;
        let answer =
            self.oracle.allocate(black_box(&self.moving[self.round % CYCLE]), 1.0, &self.options);
        black_box(answer.map(|answer| answer.value)).ok();
    }

    pub fn gap(&mut self) -> f64 {
        self.call();
        self.oracle.last().gap()
    }
}
