//! Several replications of one problem, round by round together: what they compute is vectorised
//! over them.
//!
//! A lane is a replication, a quad four of them, a row one task in the four of a quad, a place one
//! lane of a row. Every lane does what [`Play::run`] does, operation by operation, so that its
//! replication has the same bits, whoever it is played with. Only plain runs go together: everybody
//! there, one budget, outcomes at once, power curves, and a learner whose index of a task depends
//! on that task alone.

use std::sync::atomic::{AtomicBool, Ordering as MemoryOrder};

use super::replication::{MOST_TRACED_TASKS, Play, Replication, STOP_CHECK, trace_rounds};
use super::{Best, ExperimentError};
use crate::environment::Worlds;
use crate::feedback::{Feedback, Reward};
use crate::learner::{Learner, Situation};
use crate::oracle::{Answers, LANES, Lanes, Lockstep, Options};
use crate::sum::{LaneSums, Sum};
use crate::vectorised::{Loop, vectorised};

/// More tasks fill vectors by themselves, and those of eight replications no longer fit into the
/// nearest cache.
const MOST_TASKS: usize = 128;

/// How many of so many replications of one kind go together next; one goes alone. Two lanes of a
/// quad are slower than one by one.
pub(super) fn together(left: usize) -> usize {
    match left {
        0..=2 => 1,
        3 | 4 => left,
        5 => 4,
        _ => left.min(2 * LANES),
    }
}

impl Play<'_> {
    /// Whether replications of this problem by this learner gain from being played together.
    pub(super) fn goes_together(&self) -> bool {
        let is_plain = matches!(Worlds::new(self.problem, &[]), Ok(Some(_)));
        let has_index = self.learner.build_many(1, 1, 1).is_some();
        let fits = has_index && self.problem.tasks().len() <= MOST_TASKS;
        fits && self.horizon > 0
            && self.feedback == Feedback::Censored
            && is_plain
            && Lockstep::fits(self.problem)
    }

    /// As [`Play::run`] under each of these seeds in place of its own. Replications are played
    /// together where that is quicker; what they come to is the same.
    ///
    /// # Errors
    /// As [`Play::run`].
    pub fn run_together(
        &self,
        seeds: &[u64],
        stop: &AtomicBool,
    ) -> Result<Option<Vec<Replication>>, ExperimentError> {
        let goes_together = seeds.len() > 1 && self.goes_together();
        let (mut replications, mut left) = (Vec::with_capacity(seeds.len()), seeds);
        while let Some((&seed, _)) = left.split_first() {
            let seeds = &left[..if goes_together { together(left.len()) } else { 1 }];
            let group = if seeds.len() > 1 { Group::new(self, seeds)? } else { None };
            let played = match group {
                Some(group) => group.run(self, stop)?.map(|group| group.finish(self, seeds)),
                None => (Play { seed, ..*self }).run(stop)?.map(|replication| vec![replication]),
            };
            let Some(played) = played else { return Ok(None) };
            left = &left[played.len()..];
            replications.extend(played);
        }
        Ok(Some(replications))
    }
}

/// Replications under way.
struct Group {
    learner: Box<dyn Learner>,
    oracles: Lockstep,
    worlds: Worlds,
    options: Options,
    budget: f64,
    /// What the learner thinks each place is worth.
    values: Vec<Lanes>,
    /// Each round's optimum, and the sum of all so far: the same in every lane.
    best: f64,
    optimum: Sum,
    accounts: Vec<Account>,
    /// What each place was given so far; nothing above [`MOST_TRACED_TASKS`] tasks.
    spend: Vec<Lanes>,
    completions: Vec<u64>,
    gains: Vec<[u64; LANES]>,
    rounds: Vec<u64>,
    /// Regrets, one a quad at each point.
    trace: Vec<Vec<Lanes>>,
    spend_trace: Vec<Vec<Lanes>>,
}

/// What is added up round by round in each lane of a quad.
#[derive(Debug, Clone, Copy, Default)]
struct Account {
    regret: LaneSums<LANES>,
    success_mass: Lanes,
    oracle_gap: Lanes,
}

impl Group {
    /// None if these replications do not go together.
    fn new(play: &Play<'_>, seeds: &[u64]) -> Result<Option<Self>, ExperimentError> {
        let Play { problem, learner, feedback, horizon, .. } = *play;
        // What it refuses is refused here, too.
        learner.build(problem, Some(horizon), feedback, play.seed)?;
        let lanes: Vec<[u64; LANES]> = seeds.chunks(LANES).map(filled).collect();
        let (tasks, quads) = (problem.tasks().len(), lanes.len());
        let Some(worlds) = Worlds::new(problem, &lanes)? else { return Ok(None) };
        let Some(learner) = learner.build_many(tasks, horizon, LANES * quads) else {
            return Ok(None);
        };
        let Some(oracles) = Lockstep::new(problem, quads) else { return Ok(None) };
        let (budget, mut oracle_gap) = (problem.budget(), 0.0);
        let best = Best::new(problem).value(worlds.means(), budget, None, &mut oracle_gap)?;
        let rounds = trace_rounds(horizon);
        Ok(Some(Self {
            learner,
            oracles,
            worlds,
            options: Options { leftover: problem.leftover(), ..Options::default() },
            budget,
            values: vec![[0.0; LANES]; tasks * quads],
            best,
            optimum: Sum::default(),
            accounts: vec![
                Account { oracle_gap: [oracle_gap; LANES], ..Account::default() };
                quads
            ],
            spend: vec![[0.0; LANES]; if tasks <= MOST_TRACED_TASKS { tasks * quads } else { 0 }],
            completions: vec![0; LANES * tasks * quads],
            gains: vec![[0; LANES]; quads],
            trace: Vec::with_capacity(rounds.len()),
            spend_trace: Vec::new(),
            rounds,
        }))
    }

    /// Plays to the horizon; `None` if `stop` was set before that.
    fn run(mut self, play: &Play<'_>, stop: &AtomicBool) -> Result<Option<Self>, ExperimentError> {
        for round in 1..=play.horizon {
            if round % STOP_CHECK == 0 && stop.load(MemoryOrder::Relaxed) {
                return Ok(None);
            }
            self.play(round)?;
        }
        Ok(Some(self))
    }

    fn play(&mut self, round: u64) -> Result<(), ExperimentError> {
        let situation = Situation { round, budget: self.budget, available: None };
        self.learner.decide(&situation, self.values.as_flattened_mut());
        let answers = self.oracles.allocate(&self.values, self.budget, &self.options)?;
        let accounts = &mut self.accounts;
        vectorised(Settle {
            best: self.best,
            means: self.worlds.means(),
            answers,
            accounts,
            spend: &mut self.spend,
        });
        self.optimum.add(self.best);
        let completed =
            self.worlds.complete(round, &answers.success, &mut self.completions, &mut self.gains);
        self.learner.observe_completed(completed);
        if self.rounds.get(self.trace.len()) == Some(&round) {
            self.trace.push(self.accounts.iter().map(|account| account.regret.values()).collect());
            if !self.spend.is_empty() {
                self.spend_trace.push(self.spend.clone());
            }
        }
        Ok(())
    }

    fn finish(self, play: &Play<'_>, seeds: &[u64]) -> Vec<Replication> {
        let tasks = play.problem.tasks().len();
        let reward_max = play.problem.reward_max();
        let optimum = self.optimum.value();
        let one = |(number, &seed): (usize, &u64)| {
            let (quad, lane) = (number / LANES, number % LANES);
            let (account, rows) = (&self.accounts[quad], quad * tasks..(quad + 1) * tasks);
            let gain = self.gains[quad][lane] as f64 / Reward::UNITS as f64;
            Replication {
                seed,
                regret: account.regret.values()[lane] * reward_max,
                realised_regret: (optimum - gain) * reward_max,
                optimum: optimum / play.horizon.max(1) as f64 * reward_max,
                completions: rows.clone().map(|row| self.completions[LANES * row + lane]).collect(),
                success_mass: account.success_mass[lane],
                oracle_gap: account.oracle_gap[lane],
                pending: 0,
                trace: self.trace.iter().map(|regrets| regrets[quad][lane] * reward_max).collect(),
                spend: self
                    .spend_trace
                    .iter()
                    .map(|spend| rows.clone().map(|row| spend[row][lane]).collect())
                    .collect(),
            }
        };
        seeds.iter().enumerate().map(one).collect()
    }
}

/// Seeds for all lanes: those without one repeat the first, and nobody looks at them.
fn filled(seeds: &[u64]) -> [u64; LANES] {
    std::array::from_fn(|lane| seeds.get(lane).or(seeds.first()).copied().unwrap_or(0))
}

/// The books of a round.
struct Settle<'a> {
    best: f64,
    means: &'a [f64],
    answers: &'a Answers,
    accounts: &'a mut [Account],
    spend: &'a mut [Lanes],
}

impl Loop for Settle<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { best, means, answers, accounts, spend } = self;
        for (quad, account) in accounts.iter_mut().enumerate() {
            let (value, mass) = dots_and_sums(means, &answers.success[quad * means.len()..]);
            let (worth, bound) = (answers.value[quad], answers.upper_bound[quad]);
            let mut regret = [0.0; LANES];
            for lane in 0..LANES {
                regret[lane] = best - value[lane];
                account.success_mass[lane] += mass[lane];
                let gap = if bound[lane] > 0.0 {
                    (bound[lane] - worth[lane]).max(0.0) / bound[lane]
                } else {
                    0.0
                };
                account.oracle_gap[lane] = account.oracle_gap[lane].max(gap);
            }
            account.regret.add(regret);
        }
        for (totals, spends) in spend.iter_mut().zip(&answers.spend) {
            for lane in 0..LANES {
                totals[lane] += spends[lane];
            }
        }
    }
}

/// [`dot_and_sum`](crate::sum::dot_and_sum) in every lane.
#[inline(always)]
fn dots_and_sums(means: &[f64], success: &[Lanes]) -> (Lanes, Lanes) {
    let (mut products, mut plain) = ([[0.0; LANES]; 4], [[0.0; LANES]; 4]);
    for (means, success) in means.chunks(4).zip(success.chunks(4)) {
        for (place, (mean, success)) in means.iter().zip(success).enumerate() {
            for lane in 0..LANES {
                products[place][lane] += mean * success[lane];
                plain[place][lane] += success[lane];
            }
        }
    }
    let total = |[a, b, c, d]: [Lanes; 4]| {
        std::array::from_fn(|lane| (a[lane] + b[lane]) + (c[lane] + d[lane]))
    };
    (total(products), total(plain))
}
