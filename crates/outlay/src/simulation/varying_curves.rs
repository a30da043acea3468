//! Rounds whose curves or volumes change: their optima, and the success of allocations.

use super::round_numbers::{RoundNumbers, common_multiple};
use super::{Environment, ExperimentError};
use crate::campaign::{CampaignError, RoundConditions};
use crate::learner::even_split;
use crate::numeric::compensated::Sum;
use crate::oracle::{Allocation, Options, Oracle};
use crate::plan::value_of;
use crate::problem::{Bounds, Problem};

/// The curves of rounds that change: their optima, and their true success.
#[derive(Debug)]
pub(super) struct VaryingCurves {
    problem: Problem,
    /// Whether the learner knows neither scales nor volumes.
    is_hidden: bool,
    period: Option<u64>,
    /// The budget and the optimum of each round of a period, once it was solved.
    known: Vec<Option<(f64, RoundOptimum)>>,
    values: Vec<f64>,
    success: Vec<f64>,
}

/// The largest expected reward of a round.
#[derive(Debug, Clone, Copy)]
pub(super) struct RoundOptimum {
    pub(super) value: f64,
    /// The relative optimality gap of the value.
    pub(super) gap: f64,
}

impl VaryingCurves {
    /// `None` if there is no profile.
    pub(super) fn new(problem: &Problem, profiles: &[&RoundNumbers]) -> Option<Self> {
        if profiles.is_empty() {
            return None;
        }
        let periods: Option<Vec<u64>> = profiles.iter().map(|profile| profile.period()).collect();
        let period = periods.and_then(|periods| periods.into_iter().try_fold(1, common_multiple));
        Some(Self {
            problem: problem.clone(),
            is_hidden: problem.environment().hide_scale,
            period,
            known: vec![None; period.unwrap_or(0) as usize],
            values: vec![0.0; problem.tasks().len()],
            success: vec![0.0; problem.tasks().len()],
        })
    }

    /// The optimum of a round. It is kept for the same round of later periods if `may_keep`: if the
    /// mean rewards do not change.
    pub(super) fn optimum(
        &mut self,
        round: u64,
        means: &[f64],
        conditions: &RoundConditions<'_>,
        may_keep: bool,
    ) -> Result<RoundOptimum, ExperimentError> {
        let RoundConditions { budget, available, scale, volume } = *conditions;
        let place = self.period.map(|period| (round.wrapping_sub(1) % period) as usize);
        let place = place.filter(|_| may_keep && available.is_none());
        if let Some(Some((known, optimum))) = place.map(|place| self.known[place])
            && known == budget
        {
            return Ok(optimum);
        }
        for (task, (value, mean)) in self.values.iter_mut().zip(means).enumerate() {
            let is_available = available.is_none_or(|available| available[task]);
            *value = if is_available { *mean } else { 0.0 };
        }
        let problem = self.problem.in_round(scale, volume).map_err(CampaignError::from)?;
        let mut oracle = Oracle::new(&problem);
        let best = oracle.allocate(&self.values, budget, &Options::default())?;
        let optimum = RoundOptimum { value: best.value, gap: best.gap() };
        if let Some(place) = place {
            self.known[place] = Some((budget, optimum));
        }
        Ok(optimum)
    }

    /// The conditions that the learner knows.
    pub(super) fn told<'a>(&self, conditions: RoundConditions<'a>) -> RoundConditions<'a> {
        match self.is_hidden {
            true => RoundConditions::new(conditions.budget, conditions.available),
            false => conditions,
        }
    }

    /// The success of each task under an allocation, by the curves of the round.
    pub(super) fn success<'a>(
        &'a mut self,
        allocation: &'a Allocation,
        scale: &[f64],
    ) -> &'a Vec<f64> {
        if !self.is_hidden {
            return &allocation.success;
        }
        let spends = allocation.spend.iter().zip(scale);
        for ((success, task), (spend, scale)) in
            self.success.iter_mut().zip(self.problem.tasks()).zip(spends)
        {
            *success = task.curve().success(spend / scale);
        }
        &self.success
    }
}

/// The number of rounds over which the even split is compared with the optimum if the curves have no
/// period.
const COMPARED_ROUNDS: u64 = 1000;

/// The regret per round of the even split, as a multiple of the largest reward: the mean over the
/// rounds of a period.
pub(super) fn even_split_regret(
    problem: &Problem,
    means: &[f64],
    environment: &Environment,
    horizon: u64,
) -> Result<f64, ExperimentError> {
    let Some(mut varying) = VaryingCurves::new(problem, &environment.profiles()) else {
        return Ok(0.0);
    };
    let bounds: Vec<Bounds> = problem.tasks().iter().map(|task| task.bounds()).collect();
    let mut spend = vec![0.0; bounds.len()];
    let (mut scale, mut volume) = (vec![1.0; bounds.len()], vec![1.0; bounds.len()]);
    let rounds = horizon.min(varying.period.unwrap_or(COMPARED_ROUNDS));
    let mut regret = Sum::default();
    for round in 1..=rounds {
        let mut conditions = RoundConditions::new(environment.budget(round), None);
        conditions.scale = environment.scale(round, &mut scale).then_some(&scale);
        conditions.volume = environment.round_volume(round, &mut volume).then_some(&volume);
        even_split(&bounds, conditions.budget, None, &mut spend);
        let in_round = problem.in_round(conditions.scale, conditions.volume);
        let value = value_of(&in_round.map_err(CampaignError::from)?, means, &spend);
        regret.add(varying.optimum(round, means, &conditions, true)?.value - value);
    }
    Ok(regret.value() / rounds.max(1) as f64)
}
