//! `grid-ucb`: UCB1 (Auer, Cesa-Bianchi and Fischer 2002) on a grid of splits, each of which is an
//! arm. It observes only the gain of the round.
//!
//! The arms are the splits into `units` equal parts that satisfy the bounds. Index: mean gain + K
//! sqrt(2 log t / plays), since a gain is at most K.
//!
//! Guarantee: UCB1's O(sqrt(arms · T log T)) against the best arm of the grid, plus the
//! discretisation error of the grid.

use serde::{Deserialize, Serialize};

use super::{Decision, Learner, LearnerError, LearnerState, PlayedRound, RoundContext, StateError};
use crate::feedback::Outcome;
use crate::problem::{Bounds, Problem};

/// The largest number of arms; more cannot be learned in any realistic horizon.
pub(super) const MAX_ARMS: usize = 10_000;
/// The largest number of arms if `units` is not given.
const DEFAULT_ARMS: usize = 200;
/// The largest number of units if `units` is not given.
const FINEST: u32 = 100;

#[derive(Debug, Clone)]
pub(super) struct GridUcb {
    /// The units that each arm gives to each task.
    arms: Vec<Vec<u32>>,
    units: u32,
    tasks: f64,
    state: GridUcbState,
}

/// The saved state of `grid-ucb`: how often each split was played, and the sum of its gains.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GridUcbState {
    plays: Vec<u64>,
    gains: Vec<f64>,
}

impl GridUcb {
    pub(super) fn learner(
        problem: &Problem,
        units: Option<u32>,
    ) -> Result<Box<dyn Learner>, LearnerError> {
        let tasks = problem.tasks().len();
        let units = units.unwrap_or_else(|| finest_grid(tasks));
        if count_arms(tasks, units) > MAX_ARMS as f64 {
            return Err(LearnerError::GridTooFine { units, tasks });
        }
        let bounds: Vec<Bounds> = problem.tasks().iter().map(|task| task.bounds()).collect();
        let mut arms = Vec::new();
        list_arms(&bounds, problem.budget() / f64::from(units), units, &mut Vec::new(), &mut arms);
        if arms.is_empty() {
            return Err(LearnerError::GridInfeasible);
        }
        let state = GridUcbState { plays: vec![0; arms.len()], gains: vec![0.0; arms.len()] };
        Ok(Box::new(Self { arms, units, tasks: tasks as f64, state }))
    }

    /// The arm of this split.
    fn arm_of(&self, spend: &[f64]) -> Option<usize> {
        let unit = spend.iter().sum::<f64>() / f64::from(self.units);
        if !(unit > 0.0) {
            return None;
        }
        let parts = spend.iter().map(|spend| (spend / unit).round() as u32);
        self.arms.binary_search_by(|arm| arm.iter().copied().cmp(parts.clone())).ok()
    }
}

/// The number of splits of `units` over `tasks`, as a float, which cannot overflow.
fn count_arms(tasks: usize, units: u32) -> f64 {
    (1..tasks).map(|step| (f64::from(units) + step as f64) / step as f64).product()
}

fn finest_grid(tasks: usize) -> u32 {
    (1..=FINEST).rev().find(|&units| count_arms(tasks, units) <= DEFAULT_ARMS as f64).unwrap_or(1)
}

/// Lists all ways to distribute the remaining units over the remaining tasks, in lexicographic
/// order.
fn list_arms(
    bounds: &[Bounds],
    unit: f64,
    left: u32,
    chosen: &mut Vec<u32>,
    arms: &mut Vec<Vec<u32>>,
) {
    let Some(bound) = bounds.get(chosen.len()) else {
        if left == 0 {
            arms.push(chosen.clone());
        }
        return;
    };
    let is_last = chosen.len() + 1 == bounds.len();
    for parts in if is_last { left..=left } else { 0..=left } {
        let spend = f64::from(parts) * unit;
        let meets =
            spend >= bound.min && spend <= bound.max && (parts == 0 || spend >= bound.at_least);
        if meets {
            chosen.push(parts);
            list_arms(bounds, unit, left - parts, chosen, arms);
            chosen.pop();
        }
    }
}

impl Learner for GridUcb {
    fn decide(&mut self, context: &RoundContext<'_>, numbers: &mut [f64]) -> Decision {
        let log_round = (context.round as f64).ln();
        let can_be_played = |arm: &Vec<u32>| {
            arm.iter().enumerate().all(|(task, &parts)| parts == 0 || context.has(task))
        };
        let mut best = (f64::NEG_INFINITY, None);
        for (position, arm) in self.arms.iter().enumerate().filter(|(_, arm)| can_be_played(arm)) {
            let index = match self.state.plays[position] {
                0 => f64::INFINITY,
                plays => {
                    self.state.gains[position] / plays as f64
                        + self.tasks * (2.0 * log_round / plays as f64).sqrt()
                }
            };
            if index > best.0 {
                best = (index, Some(arm));
            }
        }
        let unit = context.budget / f64::from(self.units);
        numbers.fill(0.0);
        if let Some(arm) = best.1 {
            numbers
                .iter_mut()
                .zip(arm)
                .for_each(|(spend, &parts)| *spend = f64::from(parts) * unit);
        }
        Decision::Allocation
    }

    fn observe(&mut self, _: usize, _: Outcome) {}

    fn observe_gain(&mut self, played: &PlayedRound<'_>, gain: f64) {
        if let Some(arm) = self.arm_of(played.spend) {
            self.state.plays[arm] += 1;
            self.state.gains[arm] += gain;
        }
    }

    fn save(&self) -> LearnerState {
        LearnerState::GridUcb(self.state.clone())
    }

    fn load(&mut self, state: &LearnerState) -> Result<(), StateError> {
        let state = match state {
            LearnerState::GridUcb(state) => state.clone(),
            other => other.read()?,
        };
        let arms = self.arms.len();
        let most = |play: &u64| *play as f64 * self.tasks + 1e-6;
        let fits = state.plays.len() == arms && state.gains.len() == arms;
        if !fits
            || !state
                .plays
                .iter()
                .zip(&state.gains)
                .all(|(plays, gain)| *gain >= 0.0 && *gain <= most(plays))
        {
            return Err(StateError::Grid(arms));
        }
        self.state = state;
        Ok(())
    }
}
