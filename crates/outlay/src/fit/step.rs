//! Maximum likelihood of one step between two success probabilities.

use super::observations::{Group, Observations};
use super::sampling::binomial;
use super::{FitError, Parameter, wilson};
use crate::Curve;
use crate::random::{Draws, Purpose};

/// The most likely step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Step {
    /// The first group above the step.
    cut: usize,
    pub(super) at: f64,
    below: Group,
    above: Group,
    value: f64,
}

const NOTHING: Group = Group { spend: 0.0, trials: 0.0, successes: 0.0 };

/// Every cut with its likelihood, in one pass. The groups below it and those from it on have one
/// probability each, of which the first is not larger.
fn cuts(groups: &[Group]) -> impl Iterator<Item = Step> + '_ {
    let add = |one: Group, other: &Group| Group {
        spend: 0.0,
        trials: one.trials + other.trials,
        successes: one.successes + other.successes,
    };
    let total = groups.iter().fold(NOTHING, add);
    let mut below = NOTHING;
    groups.iter().enumerate().map(move |(cut, group)| {
        let above = Group {
            spend: 0.0,
            trials: total.trials - below.trials,
            successes: total.successes - below.successes,
        };
        let rises = below.successes * above.trials <= above.successes * below.trials;
        let value =
            if rises { likelihood(&below) + likelihood(&above) } else { likelihood(&total) };
        let step = Step {
            cut,
            at: group.spend,
            below: if rises { below } else { NOTHING },
            above: if rises { above } else { total },
            value,
        };
        below = add(below, group);
        step
    })
}

fn likelihood(group: &Group) -> f64 {
    let term = |count: f64| if count > 0.0 { count * (count / group.trials).ln() } else { 0.0 };
    term(group.successes) + term(group.failures())
}

impl Step {
    pub(super) fn new(log: &Observations) -> Result<Self, FitError> {
        best(log.groups()).ok_or(FitError::NoData)
    }

    /// The success probabilities below the step and from it on.
    fn heights(&self) -> (f64, f64) {
        let share =
            |group: &Group| if group.trials > 0.0 { group.successes / group.trials } else { 0.0 };
        let above = share(&self.above).clamp(1e-9, 1.0);
        (share(&self.below).min(above), above)
    }

    pub(super) fn curve(&self) -> Result<Curve, FitError> {
        let (floor, ceiling) = self.heights();
        Ok(Curve::threshold(self.at)?.with_ceiling(ceiling)?.with_floor(floor)?)
    }

    /// The position of the step and the probabilities on both sides. The interval of the position
    /// uses simulated logs, because the likelihood ratio of a jump is not chi-square.
    pub(super) fn parameters(&self, log: &Observations, seed: u64) -> Vec<Parameter> {
        let groups = log.groups();
        let fall = self.usual_fall(groups, seed);
        let good = |step: &Step| step.value >= self.value - fall;
        let first = cuts(groups).find(good).map_or(self.cut, |step| step.cut);
        let last = cuts(groups).filter(good).last().map_or(self.cut, |step| step.cut);
        let low = if first == 0 { 0.0 } else { groups[first - 1].spend };
        let (floor, ceiling) = self.heights();
        let mut parameters = vec![Parameter {
            name: "at",
            value: self.at,
            low: Some(low),
            high: Some(groups[last].spend),
        }];
        for (name, value, group) in
            [("ceiling", ceiling, &self.above), ("floor", floor, &self.below)]
        {
            if group.trials > 0.0 {
                let (low, high) = wilson(group.trials, group.successes);
                parameters.push(Parameter { name, value, low: Some(low), high: Some(high) });
            }
        }
        parameters
    }

    /// The 95 % quantile of the log-likelihood ratio of the best to the true step, over logs drawn
    /// from this step.
    fn usual_fall(&self, groups: &[Group], seed: u64) -> f64 {
        const LOGS: u64 = 200;
        let (floor, ceiling) = self.heights();
        let draws = Draws::new(seed, Purpose::Fit);
        let mut falls: Vec<f64> = (1..=LOGS)
            .map(|round| {
                let mut bits = draws.round(round).many(STEP_STREAM);
                let drawn: Vec<Group> = groups
                    .iter()
                    .enumerate()
                    .map(|(position, group)| {
                        let chance = if position < self.cut { floor } else { ceiling };
                        Group { successes: binomial(group.trials, chance, &mut bits), ..*group }
                    })
                    .collect();
                let truth = cuts(&drawn).nth(self.cut).map_or(0.0, |step| step.value);
                best(&drawn).map_or(0.0, |step| step.value - truth)
            })
            .collect();
        falls.sort_by(f64::total_cmp);
        // The likelihoods of equal cuts differ in their last digit.
        falls[falls.len() * 95 / 100] + 1e-9 * (1.0 + self.value.abs())
    }
}

/// The random stream of the steps; resampling uses another one.
const STEP_STREAM: usize = usize::MAX;

/// The best cut; of equal ones the last, with the larger spend.
fn best(groups: &[Group]) -> Option<Step> {
    cuts(groups).max_by(|one, other| one.value.total_cmp(&other.value))
}
