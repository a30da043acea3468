//! `uniform`: the even split, within the tasks' bounds. It learns nothing.
//!
//! Guarantee: none; it is the baseline that needs no tool.

use super::{Decision, Learner, LearnerState, RoundContext, StateError};
use crate::feedback::Outcome;
use crate::problem::{Bounds, Problem};

#[derive(Debug, Clone)]
pub(super) struct Uniform {
    bounds: Vec<Bounds>,
}

impl Uniform {
    pub(super) fn learner(problem: &Problem) -> Box<dyn Learner> {
        Box::new(Self { bounds: problem.tasks().iter().map(|task| task.bounds()).collect() })
    }
}

impl Learner for Uniform {
    fn decide(&mut self, context: &RoundContext<'_>, numbers: &mut [f64]) -> Decision {
        even_split(&self.bounds, context.budget, context.available, numbers);
        Decision::Allocation
    }

    fn observe(&mut self, _: usize, _: Outcome) {}

    fn save(&self) -> LearnerState {
        LearnerState::Empty
    }

    fn load(&mut self, _: &LearnerState) -> Result<(), StateError> {
        Ok(())
    }
}

/// Splits the budget evenly over the available tasks: one level for all, clamped to each task's
/// `min` and `max`. A task whose share is below its `at_least` gets nothing, and the others share
/// the residual.
///
/// The slices have one entry per task. The lower bounds must fit into the budget, as in a checked
/// problem.
pub fn even_split(bounds: &[Bounds], budget: f64, available: Option<&[bool]>, spend: &mut [f64]) {
    let has = |task: usize| available.is_none_or(|available| available[task]);
    // NaN marks a task that gets nothing.
    for (task, amount) in spend.iter_mut().enumerate() {
        *amount = if has(task) { 0.0 } else { f64::NAN };
    }
    loop {
        let level = even_level(bounds, budget, spend);
        let share = |task: usize| level.clamp(bounds[task].min, bounds[task].max);
        let too_little =
            |task: &usize| !spend[*task].is_nan() && share(*task) < bounds[*task].at_least;
        // The largest `at_least` is dropped first, which may raise the others enough.
        let most_demanding = (0..spend.len())
            .filter(too_little)
            .max_by(|&one, &other| bounds[one].at_least.total_cmp(&bounds[other].at_least));
        let Some(most_demanding) = most_demanding else {
            for (task, amount) in spend.iter_mut().enumerate() {
                *amount = if amount.is_nan() { 0.0 } else { share(task) };
            }
            return;
        };
        spend[most_demanding] = f64::NAN;
    }
}

/// The level at which the participating tasks spend the budget; the largest maximum if they cannot.
fn even_level(bounds: &[Bounds], budget: f64, marks: &[f64]) -> f64 {
    let participants =
        || bounds.iter().zip(marks).filter(|(_, mark)| !mark.is_nan()).map(|(bounds, _)| bounds);
    let count = participants().count() as f64;
    let spent =
        |level: f64| participants().map(|bounds| level.clamp(bounds.min, bounds.max)).sum::<f64>();
    if count == 0.0
        || participants().all(|bounds| bounds.min == 0.0 && bounds.max * count >= budget)
    {
        return if count > 0.0 { budget / count } else { 0.0 };
    }
    // Between its breakpoints the spend is linear in the level: find the piece, then the point on
    // it.
    let mut low = 0.0;
    let mut high = budget;
    for point in
        participants().flat_map(|bounds| [bounds.min, bounds.max]).filter(|point| *point < budget)
    {
        if spent(point) <= budget {
            low = f64::max(low, point)
        } else {
            high = f64::min(high, point)
        }
    }
    let (below, above) = (spent(low), spent(high));
    if above <= budget { high } else { low + (high - low) * (budget - below) / (above - below) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(bounds: &[Bounds], budget: f64, available: Option<&[bool]>) -> Vec<f64> {
        let mut spend = vec![7.0; bounds.len()];
        even_split(bounds, budget, available, &mut spend);
        spend
    }

    const FREE: Bounds = Bounds::NONE;

    #[test]
    fn bounds_change_the_even_split() {
        assert_eq!(split(&[FREE; 4], 1.0, None), [0.25; 4]);
        let capped = Bounds { max: 10.0, ..FREE };
        assert_eq!(split(&[capped, FREE, FREE], 100.0, None), [10.0, 45.0, 45.0]);
        let raised = Bounds { min: 60.0, ..FREE };
        assert_eq!(split(&[raised, FREE, FREE], 100.0, None), [60.0, 20.0, 20.0]);
        assert_eq!(split(&[capped, capped], 100.0, None), [10.0, 10.0]);
        assert_eq!(split(&[raised, capped, FREE], 100.0, None), [60.0, 10.0, 30.0]);
    }

    #[test]
    fn a_task_below_its_least_spend_gets_nothing() {
        let needy = |at_least| Bounds { at_least, ..FREE };
        assert_eq!(split(&[needy(30.0), needy(40.0), FREE], 90.0, None), [45.0, 0.0, 45.0]);
        assert_eq!(split(&[needy(30.0), FREE], 100.0, Some(&[false, true])), [0.0, 100.0]);
        assert_eq!(split(&[FREE; 2], 100.0, Some(&[false, false])), [0.0, 0.0]);
    }
}
