//! Replications of learners on a record, one or many in parallel.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;

use super::conditions::{Season, usual_spend};
use super::{Order, Record, RecordError, ReplayError, Splits, StepFunction};
use crate::campaign::{Campaign, CampaignError, CampaignOptions, RoundConditions};
use crate::feedback::{Feedback, Outcome, Reward};
use crate::learner::{LearnerInputs, LearnerSpec};
use crate::numeric::compensated::Sum;
use crate::problem::Problem;
use crate::random::{Draws, Purpose};
use crate::simulation::on_threads;
use crate::simulation::{ExperimentError, trace_rounds};

/// The number of rounds between checks of the stop flag.
const STOP_CHECK: u64 = 256;
/// The final part of a run is this fraction of its rounds, as a divisor.
const LATE: u64 = 10;

/// A replay: problem, record and learners.
#[derive(Debug, Clone, Copy)]
pub struct Replay<'a> {
    /// The problem: budget, bounds, and the curves that learners assume.
    pub problem: &'a Problem,
    /// The record.
    pub record: &'a Record,
    /// The learners. Each gets the feedback that it needs.
    pub learners: &'a [LearnerSpec],
    /// The order of the rows.
    pub order: Order,
    /// The number of rounds.
    pub rounds: u64,
    /// The number of replications per learner.
    pub replications: u64,
    /// Whether learners start from the totals of a log, [`Task::seen`](crate::Task::seen). They
    /// must not if the log has the very rows that are replayed.
    pub starts_from_seen: bool,
    /// Replication r has the seed `seed + r`, r = 0, 1, …
    pub seed: u64,
}

/// One replication of one learner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplayJob {
    /// The position of the learner.
    pub learner: usize,
    /// The replication, counted from 0.
    pub replication: u64,
}

/// The result of a replication, in the problem's unit of reward.
///
/// Where rows are drawn, a round counts with its mean over the draw. In recorded order it counts
/// with its actual gain.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReplayRun {
    /// The seed.
    pub seed: u64,
    /// Gain per round.
    pub gain: f64,
    /// Gain per round in the last tenth of the rounds.
    pub late_gain: f64,
    /// The regret against the best fixed allocation, over all rounds.
    pub regret: f64,
    /// The regret after each of [`trace_rounds`].
    pub trace: Vec<f64>,
    /// Spend per round of each task.
    pub spend: Vec<f64>,
    /// The share of all spends outside the recorded range, where the outcome is unknown.
    pub outside: f64,
    /// The largest optimality gap of the allocations played.
    pub oracle_gap: f64,
}

impl Replay<'_> {
    /// Checks that the replay can run.
    ///
    /// # Errors
    /// If there is no learner or no round, or if a learner cannot be built, needs feedback that was
    /// not recorded, or cannot use curves that change from round to round.
    pub fn check(&self) -> Result<(), ReplayError> {
        if self.learners.is_empty() || self.rounds == 0 || self.replications == 0 {
            return Err(ReplayError::Empty);
        }
        if self.record.tasks().len() != self.problem.tasks().len() {
            let (expected, got) = (self.problem.tasks().len(), self.record.tasks().len());
            return Err(RecordError::TaskCount { expected, got }.into());
        }
        let season = Season::new(self.problem, self.record, Order::Shuffled, self.rounds);
        for learner in self.learners {
            let feedback = learner.entry().feedback;
            if let Some(what) = season.as_ref().and_then(|season| season.refused_by(learner)) {
                let learner = learner.to_string();
                let refused = CampaignError::FixedCurves { what, learner };
                return Err(ExperimentError::from(refused).into());
            }
            if feedback == Feedback::Full && !self.record.knows_forgone() {
                return Err(RecordError::ForgoneRewards { learner: learner.to_string() }.into());
            }
            learner
                .build(&LearnerInputs {
                    problem: self.problem,
                    horizon: Some(self.rounds),
                    feedback,
                    seed: self.seed,
                })
                .map_err(ExperimentError::from)?;
        }
        Ok(())
    }

    /// The fixed allocations to compare with.
    ///
    /// # Errors
    /// If the oracle returns an error.
    pub fn splits(&self) -> Result<Splits, ReplayError> {
        Splits::new(self.problem, self.record, self.order, self.rounds)
    }

    /// Every job: all learners of a replication before the next replication.
    #[must_use]
    pub fn jobs(&self) -> Vec<ReplayJob> {
        let learners = self.learners.len();
        (0..self.replications)
            .flat_map(|replication| {
                (0..learners).map(move |learner| ReplayJob { learner, replication })
            })
            .collect()
    }

    /// Runs one job; `None` if `stop` was set before its end.
    ///
    /// # Errors
    /// If the learner cannot be built.
    pub fn play(
        &self,
        job: ReplayJob,
        stop: &AtomicBool,
    ) -> Result<Option<ReplayRun>, ReplayError> {
        self.play_against(&self.splits()?, job, stop)
    }

    /// As [`Replay::play`], with [`Replay::splits`] computed before.
    ///
    /// # Errors
    /// As [`Replay::play`].
    pub fn play_against(
        &self,
        splits: &Splits,
        job: ReplayJob,
        stop: &AtomicBool,
    ) -> Result<Option<ReplayRun>, ReplayError> {
        let mut run = Run::new(self, splits, job)?;
        for round in 1..=self.rounds {
            if round % STOP_CHECK == 0 && stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            run.play(round)?;
        }
        Ok(Some(run.finish()))
    }

    /// Runs the jobs on `threads` threads and passes each result to the callback on the calling
    /// thread. The order of completion depends on the machine; the results do not. Setting `stop`
    /// ends the run early, without the unfinished jobs.
    ///
    /// # Errors
    /// The first error of a job. The remaining jobs are skipped.
    pub fn run(
        &self,
        splits: &Splits,
        threads: NonZeroUsize,
        stop: &AtomicBool,
        finished: impl FnMut(ReplayJob, ReplayRun),
    ) -> Result<(), ReplayError> {
        on_threads(
            &self.jobs(),
            threads,
            stop,
            |job| self.play_against(splits, job, stop),
            finished,
        )
    }
}

/// The state of a running replication.
struct Run<'a> {
    replay: &'a Replay<'a>,
    splits: &'a Splits,
    seed: u64,
    campaign: Campaign,
    draws: Draws,
    /// Mean gains by spend, where rows are drawn.
    gains: Vec<StepFunction>,
    outcomes: Vec<Outcome>,
    gain: Sum,
    late_gain: Sum,
    regret: Sum,
    trace_rounds: Vec<u64>,
    trace: Vec<f64>,
    spend: Vec<Sum>,
    outside: u64,
    oracle_gap: f64,
}

impl<'a> Run<'a> {
    fn new(
        replay: &'a Replay<'a>,
        splits: &'a Splits,
        job: ReplayJob,
    ) -> Result<Self, ReplayError> {
        let seed = replay.seed.wrapping_add(job.replication);
        let learner = &replay.learners[job.learner];
        let options = CampaignOptions {
            learner: (*learner).into(),
            horizon: Some(replay.rounds),
            seed,
            ignore_seen: !replay.starts_from_seen,
            ..CampaignOptions::default()
        };
        let campaign = Campaign::new(replay.problem, options);
        let tasks = replay.problem.tasks().len();
        Ok(Self {
            replay,
            splits,
            seed,
            campaign: campaign.map_err(ExperimentError::from)?,
            draws: Draws::new(seed, Purpose::Record),
            gains: replay
                .record
                .tasks()
                .iter()
                .map(|task| task.gains(replay.order, replay.rounds))
                .collect(),
            outcomes: vec![Outcome::Missing; tasks],
            gain: Sum::default(),
            late_gain: Sum::default(),
            regret: Sum::default(),
            trace_rounds: trace_rounds(replay.rounds),
            trace: Vec::new(),
            spend: vec![Sum::default(); tasks],
            outside: 0,
            oracle_gap: 0.0,
        })
    }

    fn play(&mut self, round: u64) -> Result<(), ReplayError> {
        let order = self.replay.order;
        let draws = self.draws.round(round);
        // Tasks have the draws before these two.
        let tasks = self.outcomes.len();
        let season = self.splits.season.as_ref();
        let place = season.map_or(0, |season| season.place(round, order, draws.uniform(tasks)));
        let curves = season.map(|season| &season.distinct[place]);
        let shown = season.filter(|season| !season.is_hidden).and(curves);
        let conditions = RoundConditions {
            scale: shown.and_then(|curves| curves.scale.as_deref()),
            volume: shown.and_then(|curves| curves.volume.as_deref()),
            ..RoundConditions::new(self.replay.problem.budget(), None)
        };
        let best = &self.splits.best_by_condition[place];
        let ticket = self.campaign.issue(&conditions).map_err(ExperimentError::from)?;
        self.oracle_gap = self.oracle_gap.max(ticket.allocation.gap());
        let (mut realised, mut mean) = (0, Sum::default());
        let mut best_realised = 0;
        for (task, (record, &spend)) in
            self.replay.record.tasks().iter().zip(&ticket.allocation.spend).enumerate()
        {
            let uniform = draws.uniform(task);
            // Only counts of another volume need it.
            let fraction = curves.map_or(0.0, |_| draws.uniform(tasks + 1 + task));
            let uniforms = (uniform, fraction);
            let outcome =
                |spend: f64| record.outcome_in(task, spend, (round, order), uniforms, curves);
            let (played, gain) = outcome(spend);
            self.outcomes[task] = played;
            self.spend[task].add(spend);
            let is_unknown = record.is_unknown_in(task, spend, (round, order), uniform, curves);
            self.outside += u64::from(is_unknown);
            match order {
                Order::Shuffled => {
                    let (scale, ratio) = curves
                        .map_or((1.0, 1.0), |curves| (curves.scale(task), curves.ratio[task]));
                    mean.add(ratio * self.gains[task].value(usual_spend(spend, scale)));
                }
                Order::Recorded => {
                    realised += gain;
                    best_realised += outcome(best[task]).1;
                }
            }
        }
        let share = |units: u64| units as f64 / Reward::UNITS as f64;
        let (gain, best) = match order {
            Order::Shuffled => (mean.value(), self.splits.gain_by_condition[place]),
            Order::Recorded => (share(realised), share(best_realised)),
        };
        self.gain.add(gain);
        self.regret.add(best - gain);
        if round > self.replay.rounds - self.late_rounds() {
            self.late_gain.add(gain);
        }
        if self.trace_rounds.get(self.trace.len()) == Some(&round) {
            self.trace.push(self.regret.value() * self.replay.problem.reward_max());
        }
        self.campaign.observe_round(round, &self.outcomes).map_err(ExperimentError::from)?;
        Ok(())
    }

    fn late_rounds(&self) -> u64 {
        self.replay.rounds.div_ceil(LATE)
    }

    fn finish(self) -> ReplayRun {
        let rounds = self.replay.rounds as f64;
        let reward_max = self.replay.problem.reward_max();
        ReplayRun {
            seed: self.seed,
            gain: self.gain.value() / rounds * reward_max,
            late_gain: self.late_gain.value() / self.late_rounds() as f64 * reward_max,
            regret: self.regret.value() * reward_max,
            trace: self.trace,
            outside: self.outside as f64 / rounds / self.spend.len() as f64,
            spend: self.spend.iter().map(|spend| spend.value() / rounds).collect(),
            oracle_gap: self.oracle_gap,
        }
    }
}
