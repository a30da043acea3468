//! Fixed allocations on a record: the best in hindsight, the model's best, the even one.

use serde::Serialize;

use super::{Order, Record, ReplayError, StepFunction};
use crate::curve::{Curve, CurveError};
use crate::learner::even_split;
use crate::numeric::compensated::sum;
use crate::oracle::{Options, Oracle};
use crate::problem::{Bounds, Problem};
use crate::simulation::ExperimentError;

use super::RecordError;

/// An allocation that is used in every round.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FixedSplit {
    /// The spend of each task.
    pub spend: Vec<f64>,
    /// The gain per round on the record, in the problem's unit of reward.
    pub gain: f64,
}

impl FixedSplit {
    fn new(problem: &Problem, gains: &[StepFunction], spend: Vec<f64>) -> Self {
        let gain = sum(gains.iter().zip(&spend).map(|(gain, &spend)| gain.value(spend)));
        Self { gain: gain * problem.reward_max(), spend }
    }
}

/// The fixed allocations that learners are compared with.
///
/// The mean gain of a task at spend x is G(x): the sum of the rewards with thresholds up to x,
/// divided by the number of rows. The model uses F(x) times the mean reward instead, which is equal
/// only if thresholds and rewards are independent.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Splits {
    /// The best allocation for the record: it maximises the sum of the G.
    pub best: FixedSplit,
    /// The optimality gap of `best`.
    pub gap: f64,
    /// The model's best allocation for the recorded curves and mean rewards. Its loss against
    /// `best` is the cost of the dependence between thresholds and rewards.
    pub model_recorded: FixedSplit,
    /// The model's best allocation for the problem's curves and the recorded mean rewards. Its loss
    /// against `best` is the total cost of the model.
    pub model: FixedSplit,
    /// The even allocation.
    pub even: FixedSplit,
}

impl Splits {
    /// The allocations for a record in the given order and number of rounds.
    ///
    /// # Errors
    /// If the oracle returns an error.
    pub fn new(
        problem: &Problem,
        record: &Record,
        order: Order,
        rounds: u64,
    ) -> Result<Self, ReplayError> {
        let gains: Vec<StepFunction> =
            record.tasks().iter().map(|task| task.gains(order, rounds)).collect();
        let fixed = |spend: Vec<f64>| FixedSplit::new(problem, &gains, spend);
        let (best, gap) = allocated(problem, gains.iter())?;
        let means: Vec<f64> = record.tasks().iter().map(|task| task.mean_reward()).collect();
        let successes: Vec<StepFunction> =
            record.tasks().iter().map(|task| task.successes()).collect();
        let recorded = allocated_for(problem, successes.iter(), Some(&means))?.0;
        let model = solve(problem, &means)?.0;
        let bounds: Vec<Bounds> = problem.tasks().iter().map(|task| task.bounds()).collect();
        let mut even = vec![0.0; bounds.len()];
        even_split(&bounds, problem.budget(), None, &mut even);
        Ok(Self {
            best: fixed(best),
            gap,
            model_recorded: fixed(recorded),
            model: fixed(model),
            even: fixed(even),
        })
    }

    /// A given allocation, one spend per task, on a record.
    #[must_use]
    pub fn fixed(
        problem: &Problem,
        record: &Record,
        order: Order,
        rounds: u64,
        spend: &[f64],
    ) -> FixedSplit {
        let gains: Vec<StepFunction> =
            record.tasks().iter().map(|task| task.gains(order, rounds)).collect();
        FixedSplit::new(problem, &gains, spend.to_vec())
    }

    /// The loss per round of an allocation against the best allocation.
    pub(super) fn best_gain_over(
        problem: &Problem,
        record: &Record,
        order: Order,
        rounds: u64,
        spend: &[f64],
    ) -> Result<f64, ReplayError> {
        let gains: Vec<StepFunction> =
            record.tasks().iter().map(|task| task.gains(order, rounds)).collect();
        let best = allocated(problem, gains.iter())?.0;
        let gain =
            |spend: &[f64]| sum(gains.iter().zip(spend).map(|(gain, &spend)| gain.value(spend)));
        Ok((gain(&best) - gain(spend)) * problem.reward_max())
    }

    /// The cost of dependence per round with the recorded curves, including sampling noise.
    #[must_use]
    pub fn lost_to_dependence(&self) -> f64 {
        self.best.gain - self.model_recorded.gain
    }

    /// The cost of the model's assumptions per round: wrong curves and dependence.
    #[must_use]
    pub fn lost_to_model(&self) -> f64 {
        self.best.gain - self.model.gain
    }
}

/// The best allocation for step functions of gain, and its gap.
fn allocated<'a>(
    problem: &Problem,
    gains: impl Iterator<Item = &'a StepFunction>,
) -> Result<(Vec<f64>, f64), ReplayError> {
    allocated_for(problem, gains, None)
}

/// The best allocation for step functions, optionally weighted.
fn allocated_for<'a>(
    problem: &Problem,
    step_functions: impl Iterator<Item = &'a StepFunction>,
    weights: Option<&[f64]>,
) -> Result<(Vec<f64>, f64), ReplayError> {
    let curves: Vec<(Curve, f64)> = step_functions
        .map(StepFunction::curve)
        .collect::<Result<_, CurveError>>()
        .map_err(not_a_curve)?;
    let weight = |task: usize| weights.map_or(1.0, |weights| weights[task]);
    let values: Vec<f64> =
        curves.iter().enumerate().map(|(task, (_, height))| height * weight(task)).collect();
    // The heights of recorded counts include the volume.
    let curves = curves.into_iter().map(|(curve, _)| curve).collect();
    solve(&problem.with_curves(curves).without_volumes(), &values)
}

/// Cannot happen, because the amounts of a record are checked.
fn not_a_curve(error: CurveError) -> ReplayError {
    RecordError::from(error).into()
}

fn solve(problem: &Problem, values: &[f64]) -> Result<(Vec<f64>, f64), ReplayError> {
    let mut oracle = Oracle::new(problem);
    let options = Options { leftover: problem.leftover(), ..Options::default() };
    let best =
        oracle.allocate(values, problem.budget(), &options).map_err(ExperimentError::from)?;
    Ok((best.spend.clone(), best.gap()))
}
