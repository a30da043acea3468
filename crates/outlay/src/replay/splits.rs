//! Fixed allocations on a record: the best in hindsight, the model's best, the even one.

use serde::Serialize;

use super::conditions::{RoundCurves, Season};
use super::{Order, Record, ReplayError, StepFunction};
use crate::curve::{Curve, CurveError};
use crate::learner::even_split;
use crate::numeric::compensated::sum;
use crate::oracle::{Options, Oracle};
use crate::problem::{Bounds, Problem};
use crate::random::{Draws, Purpose};
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
/// If the curves change from round to round, an allocation is fixed for each condition: it is the
/// best one under the scales and volumes of the round, and `spend` is its mean.
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
    /// The conditions of the rounds, if they differ.
    #[serde(skip)]
    pub(super) season: Option<Season>,
    /// The best allocation for each of the distinct conditions, else the best one.
    #[serde(skip)]
    pub(super) best_by_condition: Vec<Vec<f64>>,
    /// The gain per round of each of these, relative to the largest reward.
    #[serde(skip)]
    pub(super) gain_by_condition: Vec<f64>,
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
        if let Some(season) = Season::new(problem, record, order, rounds) {
            let seasonal = Seasonal { problem, record, order, rounds, gains, successes, means };
            return seasonal.splits(season);
        }
        let recorded = allocated_for(problem, successes.iter(), Some(&means))?.0;
        let model = solve(problem, &means)?.0;
        let bounds: Vec<Bounds> = problem.tasks().iter().map(|task| task.bounds()).collect();
        let mut even = vec![0.0; bounds.len()];
        even_split(&bounds, problem.budget(), None, &mut even);
        let best = fixed(best);
        Ok(Self {
            season: None,
            best_by_condition: vec![best.spend.clone()],
            gain_by_condition: vec![best.gain / problem.reward_max()],
            best,
            gap,
            model_recorded: fixed(recorded),
            model: fixed(model),
            even: fixed(even),
        })
    }

    /// A given allocation, one spend per task, on a record. It is the same in every round.
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
        if let Some(season) = Season::new(problem, record, order, rounds) {
            let spends = vec![spend.to_vec(); season.distinct.len()];
            let (successes, means) = (Vec::new(), Vec::new());
            let seasonal = Seasonal { problem, record, order, rounds, gains, successes, means };
            return seasonal.fixed(&season, &spends);
        }
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

/// The fixed allocations of a record whose rounds have different curves.
struct Seasonal<'a> {
    problem: &'a Problem,
    record: &'a Record,
    order: Order,
    rounds: u64,
    gains: Vec<StepFunction>,
    successes: Vec<StepFunction>,
    means: Vec<f64>,
}

impl Seasonal<'_> {
    fn splits(self, season: Season) -> Result<Splits, ReplayError> {
        let bounds: Vec<Bounds> = self.problem.tasks().iter().map(|task| task.bounds()).collect();
        let mut even = vec![0.0; bounds.len()];
        even_split(&bounds, self.problem.budget(), None, &mut even);
        // The model's allocations if it does not know the conditions.
        let (usual, usual_recorded) = match season.is_hidden {
            true => (
                Some(solve(self.problem, &self.means)?.0),
                Some(allocated_for(self.problem, self.successes.iter(), Some(&self.means))?.0),
            ),
            false => (None, None),
        };
        let (mut best, mut recorded, mut model) = (Vec::new(), Vec::new(), Vec::new());
        let mut gap = 0.0_f64;
        for curves in &season.distinct {
            let found = allocated(self.problem, in_round(&self.gains, curves).iter())?;
            best.push(found.0);
            gap = gap.max(found.1);
            recorded.push(match &usual_recorded {
                Some(usual) => usual.clone(),
                None => {
                    let successes = in_round(&self.successes, curves);
                    allocated_for(self.problem, successes.iter(), Some(&self.means))?.0
                }
            });
            model.push(match &usual {
                Some(usual) => usual.clone(),
                None => solve(&curves.problem(self.problem)?, &self.means)?.0,
            });
        }
        let even = vec![even; season.distinct.len()];
        let gain_by_condition = best.iter().zip(&season.distinct);
        let gain_by_condition =
            gain_by_condition.map(|(spend, curves)| self.expected(spend, curves)).collect();
        Ok(Splits {
            best: self.fixed(&season, &best),
            gap,
            model_recorded: self.fixed(&season, &recorded),
            model: self.fixed(&season, &model),
            even: self.fixed(&season, &even),
            best_by_condition: best,
            gain_by_condition,
            season: Some(season),
        })
    }

    /// The mean gain of an allocation under these conditions, relative to the largest reward.
    fn expected(&self, spend: &[f64], curves: &RoundCurves) -> f64 {
        let gains = in_round(&self.gains, curves);
        sum(gains.iter().zip(spend).map(|(gain, &spend)| gain.value(spend)))
    }

    /// The allocation that has these spends under each of the distinct conditions.
    fn fixed(&self, season: &Season, spends: &[Vec<f64>]) -> FixedSplit {
        let shares = season.shares();
        let tasks = self.problem.tasks().len();
        let mean =
            |task: usize| sum(shares.iter().zip(spends).map(|(share, spend)| share * spend[task]));
        let gain = match self.order {
            Order::Shuffled => {
                let parts = shares.iter().zip(spends).zip(&season.distinct);
                sum(parts.map(|((share, spend), curves)| share * self.expected(spend, curves)))
            }
            Order::Recorded => self.realised(season, spends),
        };
        FixedSplit { spend: (0..tasks).map(mean).collect(), gain: gain * self.problem.reward_max() }
    }

    /// The gain per round in recorded order.
    fn realised(&self, season: &Season, spends: &[Vec<f64>]) -> f64 {
        // The draws do not matter in this order, except for counts, which the gain does not round.
        let draws = Draws::new(0, Purpose::Record);
        let mut units = 0_u128;
        for round in 1..=self.rounds {
            let place = season.place(round, self.order, 0.0);
            let curves = Some(&season.distinct[place]);
            for (task, record) in self.record.tasks().iter().enumerate() {
                let uniform = draws.round(round).uniform(task);
                let of_round = (round, self.order);
                let spend = spends[place][task];
                let gain = record.outcome_in(task, spend, of_round, (uniform, 0.0), curves).1;
                units += u128::from(gain);
            }
        }
        units as f64 / crate::feedback::Reward::UNITS as f64 / self.rounds.max(1) as f64
    }
}

/// Step functions under the conditions of a round.
fn in_round(steps: &[StepFunction], curves: &RoundCurves) -> Vec<StepFunction> {
    let scaled =
        |(task, one): (usize, &StepFunction)| one.scaled(curves.scale(task), curves.ratio[task]);
    steps.iter().enumerate().map(scaled).collect()
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
