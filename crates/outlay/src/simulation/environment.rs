//! The environment of a simulation: budgets, completions, rewards and delays, drawn from one seed.

use super::round_numbers::RoundNumbers;
use super::{RewardDraw, completions};
use crate::feedback::{Completion, Completions, Feedback, Outcome};
use crate::problem::{BudgetLaw, CompletionLaw, DelayLaw, LONGEST_DELAY, Problem, RewardLaw, Task};
use crate::random::{Draws, Purpose};

/// A problem that cannot be simulated.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum EnvironmentError {
    /// A task has no law of rewards.
    #[error(
        "task {0}: has neither `reward` nor `value`: a simulation must draw, for instance \
         reward = {{ law = \"bernoulli\", mean = 0.6 }}"
    )]
    NoReward(String),
    /// The value of a task is above the largest reward.
    #[error(
        "task {task}: its value {value} is above reward_max = {reward_max}: raise reward_max, or \
         give `reward`"
    )]
    ValueAboveMax {
        /// The task.
        task: String,
        /// Its value.
        value: f64,
        /// The largest reward of the problem.
        reward_max: f64,
    },
    /// A custom environment failed.
    #[error("environment: {0}")]
    Custom(String),
}

/// Draws the outcomes of a simulation in place of an [`Environment`]: see
/// [`Play::run_with`](super::Play::run_with).
pub trait DrawOutcomes: std::fmt::Debug {
    /// Writes the mean reward of each task's success in a round, as shares of the largest reward.
    /// `means` holds those of the problem, which the default keeps.
    ///
    /// # Errors
    /// If the means cannot be computed; the replication ends.
    fn means(&mut self, round: u64, means: &mut [f64]) -> Result<(), EnvironmentError> {
        let _ = (round, means);
        Ok(())
    }

    /// Writes the outcome of each task, given its spend and its success probability by the curves
    /// of the problem.
    ///
    /// # Errors
    /// If the outcomes cannot be drawn; the replication ends.
    fn draw(
        &mut self,
        round: u64,
        spend: &[f64],
        success: &[f64],
        outcomes: &mut [Outcome],
    ) -> Result<(), EnvironmentError>;
}

/// The environment of a problem under one seed. The outcomes of a round depend on the round and on
/// its allocation, not on earlier rounds.
#[derive(Debug, Clone)]
pub struct Environment {
    rewards: Vec<RewardDraw>,
    means: Vec<f64>,
    /// Means times volumes.
    weights: Vec<f64>,
    /// The volumes and the law of completions; absent if every task completes at most once.
    counts: Option<(Vec<f64>, CompletionLaw)>,
    /// The scales of the curves and the volumes, if they change from round to round.
    scales: Option<RoundNumbers>,
    volumes: Option<RoundNumbers>,
    /// Tasks with a positive lower bound are always available.
    can_be_away: Vec<bool>,
    constant_budget: f64,
    budget: Option<BudgetLaw>,
    delay: Option<DelayLaw>,
    available: f64,
    /// The retired tasks; empty if there are none.
    retired: Vec<usize>,
    completion_draws: Draws,
    reward_draws: Draws,
    budget_draws: Draws,
    delay_draws: Draws,
    availability_draws: Draws,
}

impl Environment {
    /// The environment of `problem` under `seed`. A task with a `value` and no `reward` has
    /// Bernoulli rewards of that mean.
    ///
    /// # Errors
    /// If a task has neither, or its `value` is above `reward_max`.
    pub fn new(problem: &Problem, seed: u64) -> Result<Self, EnvironmentError> {
        let laws = reward_laws(problem)?;
        let reward_max = problem.reward_max();
        let spec = problem.environment();
        let means: Vec<f64> = laws.iter().map(|law| law.mean() / reward_max).collect();
        let law = spec.completions.unwrap_or(CompletionLaw::Poisson);
        let volumes = || problem.tasks().iter().map(Task::volume).collect();
        Ok(Self {
            weights: problem.weights(&means),
            means,
            counts: problem.has_counts().then(|| (volumes(), law)),
            scales: RoundNumbers::new(&spec.scale, problem, vec![1.0; laws.len()]),
            volumes: RoundNumbers::new(&spec.volume, problem, volumes()),
            rewards: laws.iter().map(|law| RewardDraw::new(law, reward_max)).collect(),
            can_be_away: problem.tasks().iter().map(|task| task.bounds().min == 0.0).collect(),
            constant_budget: problem.budget(),
            budget: spec.budget.clone(),
            delay: spec.delay,
            available: spec.available.unwrap_or(1.0),
            retired: (0..problem.tasks().len())
                .filter(|task| problem.tasks()[*task].is_retired())
                .collect(),
            completion_draws: Draws::new(seed, Purpose::Completion),
            reward_draws: Draws::new(seed, Purpose::Reward),
            budget_draws: Draws::new(seed, Purpose::Budget),
            delay_draws: Draws::new(seed, Purpose::Delay),
            availability_draws: Draws::new(seed, Purpose::Availability),
        })
    }

    /// The mean reward of each task's completions, as a share of the largest reward.
    #[must_use]
    pub fn means(&self) -> &[f64] {
        &self.means
    }

    /// The weight of each task's success in the expected reward of a round: the mean reward times
    /// the volume.
    #[must_use]
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// The weights of other mean rewards in a round.
    pub(super) fn weigh(&self, round: u64, means: &[f64], weights: &mut [f64]) {
        for (task, (weight, mean)) in weights.iter_mut().zip(means).enumerate() {
            *weight = mean * self.volume(round, task);
        }
    }

    /// The volume of a task in a round.
    fn volume(&self, round: u64, task: usize) -> f64 {
        match (&self.volumes, &self.counts) {
            (Some(volumes), _) => volumes.at(round, task),
            (None, Some((volumes, _))) => volumes[task],
            (None, None) => 1.0,
        }
    }

    /// Writes the scale of each task's curve in a round. Returns false and writes nothing if it is
    /// always 1.
    pub fn scale(&self, round: u64, scale: &mut [f64]) -> bool {
        self.scales.iter().for_each(|scales| scales.write(round, scale));
        self.scales.is_some()
    }

    /// Writes the volume of each task in a round. Returns false and writes nothing if it is always
    /// that of the problem.
    pub fn round_volume(&self, round: u64, volume: &mut [f64]) -> bool {
        self.volumes.iter().for_each(|volumes| volumes.write(round, volume));
        self.volumes.is_some()
    }

    /// The profiles of scales and volumes.
    pub(super) fn profiles(&self) -> Vec<&RoundNumbers> {
        self.scales.iter().chain(&self.volumes).collect()
    }

    /// Whether a task may complete more than once in a round.
    #[must_use]
    pub fn has_counts(&self) -> bool {
        self.counts.is_some()
    }

    /// The expected number of completions of a round in which the tasks have these probabilities of
    /// success.
    #[must_use]
    pub fn expected_completions(&self, round: u64, success: &[f64]) -> f64 {
        match &self.counts {
            None => success.iter().sum(),
            Some(_) => {
                let tasks = success.iter().enumerate();
                tasks.map(|(task, success)| self.volume(round, task) * success).sum()
            }
        }
    }

    /// Whether every task is available in every round.
    #[must_use]
    pub fn are_all_available(&self) -> bool {
        self.available >= 1.0 && self.retired.is_empty()
    }

    /// Whether outcomes may arrive late.
    #[must_use]
    pub fn has_delays(&self) -> bool {
        self.delay.is_some()
    }

    /// The budget of a round.
    #[must_use]
    pub fn budget(&self, round: u64) -> f64 {
        match &self.budget {
            None => self.constant_budget,
            Some(BudgetLaw::List { amounts }) => {
                amounts[(round.wrapping_sub(1) % amounts.len() as u64) as usize]
            }
            Some(BudgetLaw::Uniform { low, high }) => {
                low + (high - low) * self.budget_draws.round(round).uniform(0)
            }
            Some(BudgetLaw::Sine { mean, amplitude, period }) => {
                // Rounding must not take it below its smallest value.
                let swing = (std::f64::consts::TAU * (round as f64 / period).fract()).sin();
                (mean + amplitude * swing).max(mean - amplitude)
            }
        }
    }

    /// Writes which tasks are available in a round. Returns false and writes nothing if all always
    /// are.
    pub fn availability(&self, round: u64, available: &mut [bool]) -> bool {
        if self.are_all_available() {
            return false;
        }
        let draws = self.availability_draws.round(round);
        let mut any_away = false;
        for (task, (there, &can_be_away)) in available.iter_mut().zip(&self.can_be_away).enumerate()
        {
            *there = !can_be_away || draws.uniform(task) < self.available;
            any_away |= !*there;
        }
        for &task in &self.retired {
            available[task] = false;
            any_away = true;
        }
        any_away
    }

    /// Simulates a round: lists the tasks that complete, in order, given each task's probability of
    /// success, and adds them to `counts`, which has one entry per task. Returns the sum of their
    /// rewards in units of [`Reward`](crate::feedback::Reward).
    ///
    /// Completions are random, and a processor cannot predict a branch on them. The loop that draws
    /// them has none: it collects them as bits.
    #[inline]
    pub fn complete(
        &self,
        round: u64,
        success: &[f64],
        completed: &mut Vec<Completion>,
        counts: &mut [u64],
    ) -> u64 {
        let (completions, rewards) =
            (self.completion_draws.round(round), self.reward_draws.round(round));
        completed.clear();
        let (mut gain, mut first) = (0, 0);
        for success in success[..success.len().min(counts.len())].chunks(64) {
            let mut done = 0u64;
            // A task that got nothing useful needs no draw.
            for (bit, &success) in (0..64usize).zip(success) {
                if success > 0.0 {
                    let is_done = completions.uniform(bit.wrapping_add(first)) < success;
                    done |= u64::from(is_done).wrapping_shl(bit as u32);
                }
            }
            while done != 0 {
                let task = first + done.trailing_zeros() as usize;
                done &= done - 1;
                let reward = self.rewards[task].reward(rewards.uniform(task));
                counts[task] += 1;
                gain += reward.units();
                completed.push(Completion { task, reward });
            }
            first += 64;
        }
        gain
    }

    /// Plays a round: writes the outcome of each task, given its success probability. Forgone
    /// rewards are drawn only under full feedback.
    pub fn play(&self, round: u64, success: &[f64], feedback: Feedback, outcomes: &mut [Outcome]) {
        if let Some((_, law)) = self.counts {
            return self.play_counts(round, success, law, outcomes);
        }
        let (completions, rewards) =
            (self.completion_draws.round(round), self.reward_draws.round(round));
        for (task, ((outcome, &success), law)) in
            outcomes.iter_mut().zip(success).zip(&self.rewards).enumerate()
        {
            let reward = || law.reward(rewards.uniform(task));
            *outcome = match completions.uniform(task) < success {
                true => Outcome::Done(reward()),
                false if feedback == Feedback::Full => Outcome::Forgone(reward()),
                false => Outcome::Failed,
            };
        }
    }

    /// Plays a round in which tasks may complete more than once. The first completion has the
    /// reward that a single one would have.
    fn play_counts(
        &self,
        round: u64,
        success: &[f64],
        law: CompletionLaw,
        outcomes: &mut [Outcome],
    ) {
        let (draws, rewards) = (self.completion_draws.round(round), self.reward_draws.round(round));
        for (task, outcome) in outcomes.iter_mut().enumerate() {
            let uniform = draws.uniform(task);
            let count = completions::draw(law, self.volume(round, task), success[task], uniform);
            let mut drawn = Completions::NONE;
            let mut more = rewards.many(task);
            for completion in 0..count.min(Completions::MAX) {
                let first = completion == 0;
                let uniform = if first { rewards.uniform(task) } else { more.next_uniform() };
                drawn.add(self.rewards[task].reward(uniform));
            }
            *outcome = Outcome::of(drawn);
        }
    }

    /// The delay of a task's outcome in rounds.
    #[must_use]
    pub fn delay(&self, round: u64, task: usize) -> u64 {
        let uniform = || self.delay_draws.round(round).uniform(task);
        match &self.delay {
            None => 0,
            Some(DelayLaw::Constant { rounds }) => *rounds,
            // By inverse transform: a delay of d rounds has probability p (1-p)^d with p = 1/(1 +
            // mean).
            Some(DelayLaw::Geometric { mean }) if *mean > 0.0 => {
                ((-uniform()).ln_1p() / -(1.0 / mean).ln_1p()).floor().min(LONGEST_DELAY) as u64
            }
            Some(DelayLaw::Geometric { .. }) => 0,
            Some(DelayLaw::Uniform { low, high }) => {
                low + (uniform() * (high - low + 1) as f64).floor() as u64
            }
        }
    }
}

/// The mean reward of each task's completions as a share of the largest reward.
pub(super) fn mean_rewards(problem: &Problem) -> Result<Vec<f64>, EnvironmentError> {
    let reward_max = problem.reward_max();
    Ok(reward_laws(problem)?.iter().map(|law| law.mean() / reward_max).collect())
}

fn reward_laws(problem: &Problem) -> Result<Vec<RewardLaw>, EnvironmentError> {
    problem.tasks().iter().map(|task| law_of(task, problem)).collect()
}

/// The law of a task's rewards.
fn law_of(task: &Task, problem: &Problem) -> Result<RewardLaw, EnvironmentError> {
    if let Some(law) = task.reward() {
        return Ok(law.clone());
    }
    let name = crate::text::one_line(task.name());
    let mean = task.value().ok_or_else(|| EnvironmentError::NoReward(name.clone()))?;
    let reward_max = problem.reward_max();
    if mean > reward_max {
        return Err(EnvironmentError::ValueAboveMax { task: name, value: mean, reward_max });
    }
    Ok(RewardLaw::Bernoulli { mean })
}
