//! A replication: one run of a learner against an environment, from round 1 to the horizon.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicBool, Ordering as MemoryOrder};

use serde::{Deserialize, Serialize};

use super::varying_curves::VaryingCurves;
use super::{DrawOutcomes, Environment, ExperimentError};
use crate::campaign::{Campaign, CampaignOptions, RoundConditions};
use crate::feedback::{Completion, Feedback, Outcome, Reward};
use crate::learner::LearnerChoice;
use crate::numeric::compensated::{Sum, dot_and_sum};
use crate::oracle::{Options, Oracle};
use crate::problem::Problem;

/// The largest number of tasks for which the spend of each task is traced.
pub const MAX_TRACED_TASKS: usize = 64;
/// The approximate number of points of a trace.
const TRACE_POINTS: f64 = 200.0;
/// The number of rounds between two checks of the stop flag.
const STOP_CHECK: u64 = 1024;

/// The result of a replication. Regrets are in the problem's unit of reward.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Replication {
    /// Its seed.
    pub seed: u64,
    /// Pseudo-regret at the horizon: each round's optimum less the mean reward of its allocation.
    pub regret: f64,
    /// Realised regret: each round's optimum less the rewards that were drawn.
    pub realised_regret: f64,
    /// The optimum's mean reward per round.
    pub optimum: f64,
    /// The number of observed rewards of each task: completions, or under full feedback rounds.
    pub completions: Vec<u64>,
    /// The sum of the success probabilities over rounds and tasks.
    pub success_mass: f64,
    /// The largest relative optimality gap of the allocations and of the optimum.
    pub oracle_gap: f64,
    /// The number of outcomes that had not arrived at the end.
    pub pending: u64,
    /// Pseudo-regret after each of [`trace_rounds`].
    pub trace: Vec<f64>,
    /// The cumulative spend on each task at these rounds: `spend[point][task]`. Empty above
    /// [`MAX_TRACED_TASKS`] tasks.
    pub spend: Vec<Vec<f64>>,
}

/// The rounds at which the regret is traced: about 200, geometrically spaced, with the last round.
#[must_use]
pub fn trace_rounds(horizon: u64) -> Vec<u64> {
    let ratio = (horizon.max(2) as f64).powf(1.0 / (TRACE_POINTS - 1.0));
    let mut rounds: Vec<u64> = (0..TRACE_POINTS as i32)
        .map(|point| (ratio.powi(point).round() as u64).clamp(1, horizon.max(1)))
        .collect();
    rounds.dedup();
    if let Some(last) = rounds.last_mut() {
        *last = horizon.max(1);
    }
    rounds
}

/// The inputs of a replication.
#[derive(Debug, Clone, Copy)]
pub struct Play<'a> {
    /// The problem.
    pub problem: &'a Problem,
    /// The learner.
    pub learner: &'a LearnerChoice,
    /// The feedback that it gets.
    pub feedback: Feedback,
    /// The number of rounds.
    pub horizon: u64,
    /// The seed of all random draws.
    pub seed: u64,
}

impl Play<'_> {
    /// Runs to the horizon; `None` if `stop` was set before.
    ///
    /// # Errors
    /// If the problem cannot be simulated or the learner cannot be built.
    pub fn run(&self, stop: &AtomicBool) -> Result<Option<Replication>, ExperimentError> {
        self.run_in(Run::new(self, None)?, stop)
    }

    /// As [`Play::run`], with outcomes drawn by `draw`. Budgets, delays and availability remain
    /// those of the problem, and regret is measured by the curves of the problem and the means of
    /// `draw`.
    ///
    /// # Errors
    /// As [`Play::run`], and if `draw` fails.
    pub fn run_with(
        &self,
        draw: &mut dyn DrawOutcomes,
        stop: &AtomicBool,
    ) -> Result<Option<Replication>, ExperimentError> {
        self.run_in(Run::new(self, Some(draw))?, stop)
    }

    fn run_in(
        &self,
        mut run: Run<'_>,
        stop: &AtomicBool,
    ) -> Result<Option<Replication>, ExperimentError> {
        for round in 1..=self.horizon {
            if round % STOP_CHECK == 0 && stop.load(MemoryOrder::Relaxed) {
                return Ok(None);
            }
            run.play(round)?;
        }
        run.deliver_delayed(self.horizon.saturating_add(1))?;
        Ok(Some(run.finish(self)))
    }
}

/// A running replication.
struct Run<'a> {
    campaign: Campaign,
    environment: Environment,
    /// Draws outcomes in place of the environment.
    draw: Option<&'a mut dyn DrawOutcomes>,
    /// The mean rewards of the round.
    means: Vec<f64>,
    /// The mean rewards times the volumes.
    weights: Vec<f64>,
    feedback: Feedback,
    observes_forgone: bool,
    best: Best,
    /// Present if curves or volumes change from round to round.
    varying: Option<VaryingCurves>,
    /// The scales and volumes of the round, if they change.
    scale: Vec<f64>,
    volume: Vec<f64>,
    available: Vec<bool>,
    /// Each task's success probability; zero for unavailable tasks.
    available_success: Vec<f64>,
    completed: Vec<Completion>,
    outcomes: Vec<Outcome>,
    has_delays: bool,
    /// No delays, all tasks available, at most one completion per task and no full feedback:
    /// completions are enough.
    is_plain: bool,
    delayed: BinaryHeap<Reverse<Delayed>>,
    completions: Vec<u64>,
    regret: Sum,
    optimum: Sum,
    /// In billionths of the largest reward.
    gain: u128,
    success_mass: f64,
    oracle_gap: f64,
    rounds: Vec<u64>,
    trace: Vec<f64>,
    spend: Vec<f64>,
    spend_trace: Vec<Vec<f64>>,
}

impl<'a> Run<'a> {
    fn new(
        play: &Play<'_>,
        draw: Option<&'a mut dyn DrawOutcomes>,
    ) -> Result<Self, ExperimentError> {
        let Play { problem, learner, feedback, horizon, seed } = *play;
        let environment = Environment::new(problem, seed)?;
        let tasks = problem.tasks().len();
        let rounds = trace_rounds(horizon);
        let options = CampaignOptions {
            learner: learner.clone(),
            horizon: Some(horizon),
            feedback: Some(feedback),
            seed,
            ..CampaignOptions::default()
        };
        Ok(Self {
            campaign: Campaign::new(problem, options)?,
            best: Best::new(problem),
            varying: VaryingCurves::new(problem, &environment.profiles()),
            scale: vec![1.0; tasks],
            volume: vec![1.0; tasks],
            feedback,
            observes_forgone: learner.feedback() == Feedback::Full,
            available: vec![true; tasks],
            available_success: Vec::with_capacity(tasks),
            completed: Vec::with_capacity(tasks),
            has_delays: environment.has_delays(),
            is_plain: draw.is_none()
                && !environment.has_delays()
                && environment.are_all_available()
                && !environment.has_counts()
                && feedback != Feedback::Full,
            outcomes: vec![Outcome::Missing; tasks],
            delayed: BinaryHeap::new(),
            completions: vec![0; tasks],
            regret: Sum::default(),
            optimum: Sum::default(),
            gain: 0,
            success_mass: 0.0,
            oracle_gap: 0.0,
            trace: Vec::with_capacity(rounds.len()),
            rounds,
            spend: vec![0.0; if tasks <= MAX_TRACED_TASKS { tasks } else { 0 }],
            spend_trace: Vec::new(),
            means: environment.means().to_vec(),
            weights: environment.weights().to_vec(),
            environment,
            draw,
        })
    }

    fn play(&mut self, round: u64) -> Result<(), ExperimentError> {
        if self.has_delays {
            self.deliver_delayed(round)?;
        }
        let budget = self.environment.budget(round);
        let any_unavailable = self.environment.availability(round, &mut self.available);
        let available = any_unavailable.then_some(self.available.as_slice());
        if let Some(draw) = &mut self.draw {
            self.means.copy_from_slice(self.environment.means());
            draw.means(round, &mut self.means)?;
            self.best.forget_other_means(&self.means);
            self.environment.weigh(round, &self.means, &mut self.weights);
        }
        let mut conditions = RoundConditions::new(budget, available);
        let optimum = match &mut self.varying {
            None => self.best.value(&self.means, budget, available, &mut self.oracle_gap)?,
            Some(varying) => {
                let scaled = self.environment.scale(round, &mut self.scale);
                conditions.scale = scaled.then_some(&self.scale);
                let has_volumes = self.environment.round_volume(round, &mut self.volume);
                conditions.volume = has_volumes.then_some(&self.volume);
                self.environment.weigh(round, &self.means, &mut self.weights);
                let may_keep = self.draw.is_none();
                let best = varying.optimum(round, &self.means, &conditions, may_keep)?;
                self.oracle_gap = self.oracle_gap.max(best.gap);
                conditions = varying.told(conditions);
                best.value
            }
        };
        let allocation = self.campaign.issue(&conditions)?.allocation;
        self.oracle_gap = self.oracle_gap.max(allocation.gap());
        let mut success = match &mut self.varying {
            Some(varying) => varying.success(allocation, &self.scale),
            None => &allocation.success,
        };
        if any_unavailable {
            // Unavailable tasks cannot complete, even if their curve has a floor.
            let pairs = success.iter().zip(&self.available);
            self.available_success.clear();
            self.available_success.extend(
                pairs.map(|(success, is_available)| if *is_available { *success } else { 0.0 }),
            );
            success = &self.available_success;
        }
        let (value, mut mass) = dot_and_sum(&self.weights, success);
        if self.environment.has_counts() {
            mass = self.environment.expected_completions(round, success);
        }
        self.regret.add(optimum - value);
        self.optimum.add(optimum);
        self.success_mass += mass;
        self.spend.iter_mut().zip(&allocation.spend).for_each(|(total, spend)| *total += spend);
        if self.is_plain {
            let gain = self.environment.complete(
                round,
                success,
                &mut self.completed,
                &mut self.completions,
            );
            self.gain += u128::from(gain);
            self.campaign.observe_completed(round, &self.completed)?;
        } else {
            match &mut self.draw {
                None => self.environment.play(round, success, self.feedback, &mut self.outcomes),
                Some(draw) => draw.draw(round, &allocation.spend, success, &mut self.outcomes)?,
            }
            self.deliver(round)?;
        }
        if self.rounds.get(self.trace.len()) == Some(&round) {
            self.trace.push(self.regret.value());
            if !self.spend.is_empty() {
                self.spend_trace.push(self.spend.clone());
            }
        }
        Ok(())
    }

    /// Reports the outcomes of this round, or queues them if they are delayed.
    fn deliver(&mut self, round: u64) -> Result<(), ExperimentError> {
        let unavailable = self
            .outcomes
            .iter_mut()
            .zip(&self.available)
            .filter(|(_, is_available)| !**is_available);
        unavailable.for_each(|(outcome, _)| *outcome = Outcome::Missing);
        let gains = self.outcomes.iter().map(|outcome| outcome.completions().reward_sum());
        self.gain += gains.map(u128::from).sum::<u128>();
        // Without an available task there are no outcomes.
        if !self.available.contains(&true) {
            return Ok(());
        }
        if !self.has_delays {
            for (count, outcome) in self.completions.iter_mut().zip(&self.outcomes) {
                *count += observed_rewards(*outcome, self.observes_forgone);
            }
            return Ok(self.campaign.observe_round(round, &self.outcomes)?);
        }
        if self.campaign.learner().feedback() == Feedback::Bandit {
            // The gain of a round has the delay of the first task's outcome.
            let gains = self.outcomes.iter().map(|outcome| outcome.completions().reward_sum());
            let gain: u64 = gains.sum();
            self.delayed.push(Reverse(Delayed {
                arrival: round + self.environment.delay(round, 0),
                round,
                task: 0,
                report: Report::Gain(gain),
            }));
            for (count, outcome) in self.completions.iter_mut().zip(&self.outcomes) {
                *count += observed_rewards(*outcome, false);
            }
            return Ok(());
        }
        for (task, &outcome) in
            self.outcomes.iter().enumerate().filter(|(_, outcome)| **outcome != Outcome::Missing)
        {
            let arrival = round + self.environment.delay(round, task);
            self.delayed.push(Reverse(Delayed {
                arrival,
                round,
                task,
                report: Report::Outcome(outcome),
            }));
        }
        Ok(())
    }

    /// Reports the outcomes that have arrived before a round.
    fn deliver_delayed(&mut self, round: u64) -> Result<(), ExperimentError> {
        while let Some(Reverse(delayed)) =
            self.delayed.peek().filter(|Reverse(delayed)| delayed.arrival < round)
        {
            match delayed.report {
                Report::Outcome(outcome) => {
                    self.completions[delayed.task] +=
                        observed_rewards(outcome, self.observes_forgone);
                    self.campaign.observe(delayed.round, delayed.task, outcome)?;
                }
                Report::Gain(gain) => {
                    self.campaign.observe_gain(delayed.round, gain as f64 / Reward::UNITS as f64)?
                }
            }
            self.delayed.pop();
        }
        Ok(())
    }

    fn finish(self, play: &Play<'_>) -> Replication {
        let reward_max = play.problem.reward_max();
        let (regret, optimum) = (self.regret.value(), self.optimum.value());
        let gain = self.gain as f64 / Reward::UNITS as f64;
        Replication {
            seed: play.seed,
            regret: regret * reward_max,
            realised_regret: (optimum - gain) * reward_max,
            optimum: optimum / play.horizon.max(1) as f64 * reward_max,
            completions: self.completions,
            success_mass: self.success_mass,
            oracle_gap: self.oracle_gap,
            pending: self.delayed.len() as u64,
            trace: self.trace.iter().map(|regret| regret * reward_max).collect(),
            spend: self.spend_trace,
        }
    }
}

/// The number of rewards that the learner observes.
fn observed_rewards(outcome: Outcome, observes_forgone: bool) -> u64 {
    match outcome {
        Outcome::Done(_) => 1,
        Outcome::Counted(completions) => completions.count(),
        Outcome::Forgone(_) => u64::from(observes_forgone),
        Outcome::Failed | Outcome::Missing => 0,
    }
}

/// The optimum of each round, solved again only if the budget or the available tasks change.
struct Best {
    oracle: Oracle,
    /// The budget of the last solution and its value.
    known: Option<(f64, f64)>,
    available: Vec<bool>,
    all_available: bool,
    /// The means of the last solution, kept only if means vary.
    means: Vec<f64>,
    values: Vec<f64>,
}

impl Best {
    fn new(problem: &Problem) -> Self {
        let tasks = problem.tasks().len();
        Self {
            oracle: Oracle::new(problem),
            known: None,
            available: vec![true; tasks],
            all_available: true,
            means: Vec::new(),
            values: vec![0.0; tasks],
        }
    }

    /// Solves the next round again if its means differ from those of the last solution.
    fn forget_other_means(&mut self, means: &[f64]) {
        if *means != *self.means {
            self.known = None;
            self.means.clear();
            self.means.extend_from_slice(means);
        }
    }

    fn value(
        &mut self,
        means: &[f64],
        budget: f64,
        available: Option<&[bool]>,
        gap: &mut f64,
    ) -> Result<f64, ExperimentError> {
        let same_tasks = match available {
            None => self.all_available,
            Some(available) => *available == *self.available,
        };
        if let Some((_, value)) = self.known.filter(|(known, _)| same_tasks && *known == budget) {
            return Ok(value);
        }
        self.all_available = available.is_none();
        match available {
            None => self.available.fill(true),
            Some(available) => self.available.copy_from_slice(available),
        }
        for ((value, mean), is_available) in self.values.iter_mut().zip(means).zip(&self.available)
        {
            *value = if *is_available { *mean } else { 0.0 };
        }
        let best = self.oracle.allocate(&self.values, budget, &Options::default())?;
        *gap = gap.max(best.gap());
        self.known = Some((budget, best.value));
        Ok(best.value)
    }
}

/// A delayed outcome.
#[derive(Debug, Clone, Copy)]
struct Delayed {
    /// The round after which it has arrived.
    arrival: u64,
    round: u64,
    task: usize,
    report: Report,
}

#[derive(Debug, Clone, Copy)]
enum Report {
    Outcome(Outcome),
    Gain(u64),
}

impl Delayed {
    fn key(&self) -> (u64, u64, usize) {
        (self.arrival, self.round, self.task)
    }
}

impl PartialEq for Delayed {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Delayed {}

impl PartialOrd for Delayed {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Delayed {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}
