//! Fixed splits on a record: the best in hindsight, the model's best, the even one.

use serde::Serialize;

use super::{Order, Record, ReplayError, Staircase};
use crate::curve::{Curve, CurveError};
use crate::learner::even_split;
use crate::oracle::{Options, Oracle};
use crate::problem::{Bounds, Problem};
use crate::simulation::ExperimentError;
use crate::sum::sum;

use super::record::RecordError;

/// One split, played in every round.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FixedSplit {
    /// What each task gets.
    pub spend: Vec<f64>,
    /// What the record brings per round with it, in the problem's unit of reward.
    pub gain: f64,
}

/// The splits that learners are compared with.
///
/// With spend x a task brings G(x) on average, the sum of the rewards whose thresholds are at most
/// x over the number of rows. The model takes F(x) times the mean reward for it, which is the same
/// only if thresholds and rewards have nothing to do with each other.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Splits {
    /// The best for the record: maximises the sum of the G.
    pub best: FixedSplit,
    /// Nothing is better than `best` by more than this share.
    pub gap: f64,
    /// The model's best if its curves were the recorded ones: maximises recorded chances times mean
    /// rewards. What it lacks is what the dependence of thresholds and rewards costs.
    pub model_recorded: FixedSplit,
    /// The model's best for the problem's curves and the recorded mean rewards. What it lacks is
    /// what the model costs in all.
    pub model: FixedSplit,
    /// The even split.
    pub even: FixedSplit,
}

impl Splits {
    /// For a record that is played in this order for so many rounds.
    ///
    /// # Errors
    /// If the oracle refuses the budget.
    pub fn new(
        problem: &Problem,
        record: &Record,
        order: Order,
        rounds: u64,
    ) -> Result<Self, ReplayError> {
        let gains: Vec<Staircase> =
            record.tasks().iter().map(|task| task.gains(order, rounds)).collect();
        let fixed = |spend: Vec<f64>| {
            let gain = sum(gains.iter().zip(&spend).map(|(gain, &spend)| gain.value(spend)));
            FixedSplit { gain: gain * problem.reward_max(), spend }
        };
        let (best, gap) = allocated(problem, gains.iter())?;
        let means: Vec<f64> = record.tasks().iter().map(|task| task.mean_reward()).collect();
        let successes: Vec<Staircase> =
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

    /// What the best split of a record gains more per round than a given one.
    pub(super) fn best_gain_over(
        problem: &Problem,
        record: &Record,
        order: Order,
        rounds: u64,
        spend: &[f64],
    ) -> Result<f64, ReplayError> {
        let gains: Vec<Staircase> =
            record.tasks().iter().map(|task| task.gains(order, rounds)).collect();
        let best = allocated(problem, gains.iter())?.0;
        let gain =
            |spend: &[f64]| sum(gains.iter().zip(spend).map(|(gain, &spend)| gain.value(spend)));
        Ok((gain(&best) - gain(spend)) * problem.reward_max())
    }

    /// What dependence costs per round with the recorded curves, the luck of the rows included.
    #[must_use]
    pub fn lost_to_dependence(&self) -> f64 {
        self.best.gain - self.model_recorded.gain
    }

    /// What the model's assumptions cost its best split per round: curves that are not the recorded
    /// ones, and dependence.
    #[must_use]
    pub fn lost_to_model(&self) -> f64 {
        self.best.gain - self.model.gain
    }
}

/// The best split for staircases of gain, and its gap.
fn allocated<'a>(
    problem: &Problem,
    gains: impl Iterator<Item = &'a Staircase>,
) -> Result<(Vec<f64>, f64), ReplayError> {
    allocated_for(problem, gains, None)
}

/// The best split for staircases, each worth a weight or as it is.
fn allocated_for<'a>(
    problem: &Problem,
    staircases: impl Iterator<Item = &'a Staircase>,
    weights: Option<&[f64]>,
) -> Result<(Vec<f64>, f64), ReplayError> {
    let curves: Vec<(Curve, f64)> =
        staircases.map(Staircase::curve).collect::<Result<_, CurveError>>().map_err(not_a_curve)?;
    let weight = |task: usize| weights.map_or(1.0, |weights| weights[task]);
    let values: Vec<f64> =
        curves.iter().enumerate().map(|(task, (_, height))| height * weight(task)).collect();
    solve(&problem.with_curves(curves.into_iter().map(|(curve, _)| curve).collect()), &values)
}

/// Amounts of a record are checked, so its staircases are curves.
fn not_a_curve(error: CurveError) -> ReplayError {
    RecordError(format!("the record is no curve: {error}")).into()
}

fn solve(problem: &Problem, values: &[f64]) -> Result<(Vec<f64>, f64), ReplayError> {
    let mut oracle = Oracle::new(problem);
    let options = Options { leftover: problem.leftover(), ..Options::default() };
    let best =
        oracle.allocate(values, problem.budget(), &options).map_err(ExperimentError::from)?;
    Ok((best.spend.clone(), best.gap()))
}
