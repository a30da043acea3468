//! `oful`: optimism in the face of uncertainty for linear bandits (Dani, Hayes and Kakade 2008;
//! Abbasi-Yadkori, Pál and Szepesvári 2011) on the feature F(x). It observes only the gain of the
//! round.
//!
//! Ridge regression of the gains on the features gives the ellipsoid |θ - θ̂|_V <= β; the split
//! maximises <θ̂, F> + β |F|_V⁻¹. This is not separable, so it is maximised by alternating from
//! several starts: the best θ of the ellipsoid for a split, the best split for that θ, until
//! neither changes. The objective never decreases, but may stop at a local optimum; the regret
//! bound is then that of an approximate oracle.
//!
//! Guarantee: Õ(K√T) under bandit feedback; the paper's Theorem 2 says that √T cannot be beaten
//! there.

use serde::{Deserialize, Serialize};

use super::{Decision, Learner, LearnerState, PlayedRound, RoundContext, StateError};
use crate::feedback::Outcome;

/// An ascent whose relative gain is below this has converged.
const CONVERGED: f64 = 1e-9;
/// The largest number of steps of an ascent.
const MAX_STEPS: u32 = 30;

#[derive(Debug, Clone)]
pub(super) struct Oful {
    tasks: usize,
    /// `2 log(1/δ)`.
    log_confidence: f64,
    state: OfulState,
    estimate: Vec<f64>,
    radius: f64,
    ascent: Ascent,
    /// A buffer for products and for the current weights.
    scratch: Vec<f64>,
}

/// The saved state of `oful`: its ridge regression.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OfulState {
    /// The inverse of I + Σ F Fᵀ, row by row.
    inverse: Vec<f64>,
    /// log det(I + Σ F Fᵀ).
    log_determinant: f64,
    /// Σ gain · F.
    response: Vec<f64>,
}

/// The search for the optimistic split of one round.
#[derive(Debug, Clone, Default)]
struct Ascent {
    start: usize,
    steps: u32,
    last: f64,
    best: f64,
    best_weights: Vec<f64>,
    is_over: bool,
}

impl Oful {
    pub(super) fn learner(tasks: usize, horizon: u64) -> Box<dyn Learner> {
        let mut inverse = vec![0.0; tasks * tasks];
        (0..tasks).for_each(|task| inverse[task * tasks + task] = 1.0);
        Box::new(Self {
            tasks,
            log_confidence: 2.0 * (horizon as f64).ln(),
            state: OfulState { inverse, log_determinant: 0.0, response: vec![0.0; tasks] },
            estimate: vec![0.0; tasks],
            radius: 0.0,
            ascent: Ascent { best_weights: vec![0.0; tasks], ..Ascent::default() },
            scratch: vec![0.0; tasks],
        })
    }

    /// V⁻¹ times a vector, into `product`; returns their scalar product.
    fn multiply(&self, vector: impl Fn(usize) -> f64, product: &mut [f64]) -> f64 {
        let rows = self.state.inverse.chunks_exact(self.tasks);
        let mut total = 0.0;
        for (row_number, (row, entry)) in rows.zip(product.iter_mut()).enumerate() {
            *entry = row.iter().enumerate().map(|(column, number)| number * vector(column)).sum();
            total += *entry * vector(row_number);
        }
        total
    }

    /// The best parameters of the ellipsoid for a feature, as nonnegative weights. Returns the
    /// optimistic gain of the feature.
    fn optimistic_gain(&self, feature: impl Fn(usize) -> f64, weights: &mut [f64]) -> f64 {
        let norm = self.multiply(&feature, weights).max(0.0).sqrt();
        let step = if norm > 0.0 { self.radius / norm } else { 0.0 };
        let mut gain = self.radius * norm;
        for (task, weight) in weights.iter_mut().enumerate() {
            gain += self.estimate[task] * feature(task);
            *weight = (self.estimate[task] + step * *weight).max(0.0);
        }
        gain
    }

    /// The starts: all tasks together, then each alone.
    fn begin(&mut self, weights: &mut [f64]) {
        let start = self.ascent.start;
        (self.ascent.steps, self.ascent.last) = (0, f64::NEG_INFINITY);
        self.optimistic_gain(
            |task| if start == 0 || task + 1 == start { 1.0 } else { 0.0 },
            weights,
        );
    }
}

impl Learner for Oful {
    fn decide(&mut self, _: &RoundContext<'_>, numbers: &mut [f64]) -> Decision {
        let mut estimate = std::mem::take(&mut self.estimate);
        self.multiply(|task| self.state.response[task], &mut estimate);
        self.estimate = estimate;
        // A gain is a sum of K independent numbers in [0, 1], so its noise is
        // sqrt(K)/2-subgaussian; the means have norm at most sqrt(K).
        let tasks = self.tasks as f64;
        self.radius = 0.5 * (tasks * (self.state.log_determinant + self.log_confidence)).sqrt()
            + tasks.sqrt();
        self.ascent = Ascent {
            best: f64::NEG_INFINITY,
            best_weights: std::mem::take(&mut self.ascent.best_weights),
            ..Ascent::default()
        };
        self.begin(numbers);
        Decision::Weights
    }

    fn revises_weights(&self) -> bool {
        true
    }

    fn revise_weights(&mut self, success: &[f64], weights: &mut [f64]) -> bool {
        if self.ascent.is_over {
            return false;
        }
        self.scratch.copy_from_slice(weights);
        let gain = self.optimistic_gain(|task| success[task], weights);
        if gain > self.ascent.best {
            self.ascent.best = gain;
            self.ascent.best_weights.copy_from_slice(&self.scratch);
        }
        self.ascent.steps += 1;
        let has_converged =
            gain <= self.ascent.last + CONVERGED * gain.abs() || self.ascent.steps >= MAX_STEPS;
        self.ascent.last = gain;
        if has_converged && self.ascent.start < self.tasks {
            self.ascent.start += 1;
            self.begin(weights);
        } else if has_converged {
            self.ascent.is_over = true;
            weights.copy_from_slice(&self.ascent.best_weights);
        }
        true
    }

    fn observe(&mut self, _: usize, _: Outcome) {}

    fn observe_gain(&mut self, played: &PlayedRound<'_>, gain: f64) {
        // Sherman and Morrison: the inverse after one more feature.
        let mut product = std::mem::take(&mut self.scratch);
        let square = self.multiply(|task| played.success[task], &mut product);
        let scale = 1.0 / (1.0 + square);
        for (row, left) in self.state.inverse.chunks_exact_mut(self.tasks).zip(&product) {
            row.iter_mut()
                .zip(&product)
                .for_each(|(number, right)| *number -= scale * left * right);
        }
        self.state.log_determinant += square.ln_1p();
        self.scratch = product;
        self.state
            .response
            .iter_mut()
            .zip(played.success)
            .for_each(|(sum, success)| *sum += gain * success);
    }

    fn save(&self) -> LearnerState {
        LearnerState::Oful(self.state.clone())
    }

    fn load(&mut self, state: &LearnerState) -> Result<(), StateError> {
        let state = match state {
            LearnerState::Oful(state) => state.clone(),
            other => other.read()?,
        };
        let tasks = self.tasks;
        if state.inverse.len() != tasks * tasks
            || state.response.len() != tasks
            || !(state.log_determinant >= 0.0)
        {
            return Err(StateError::Regression(tasks));
        }
        self.state = state;
        Ok(())
    }
}
