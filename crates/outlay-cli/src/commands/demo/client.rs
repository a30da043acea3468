//! A client of the service that requests rounds, simulates them and reports the outcomes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use outlay::Problem;
use outlay::feedback::{Feedback, Outcome, Reward};
use outlay::simulation::Environment;
use outlay_server::api::{Ask, NewCampaign, Rounds, TaskResult, Told};
use outlay_server::error::{ApiError, ErrorCode};
use outlay_server::service::CampaignService;

use super::delayed_reports::DelayedReports;
use super::{NOTICE, auctions};
use crate::failure::Failure;

/// Time after which an open round expires.
const EXPIRY_SECONDS: u64 = 20;
const SEED: u64 = 1;

/// Counts of the demo.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) rounds: u64,
    pub(super) accepted: u64,
    pub(super) duplicate: u64,
    pub(super) late: u64,
}

pub(super) struct Client {
    service: CampaignService,
    campaign: &'static str,
    problem: Problem,
    environment: Environment,
    tally: Tally,
}

impl Client {
    /// Creates the campaign.
    pub(super) async fn begin(
        service: CampaignService,
        campaign: &'static str,
    ) -> Result<Self, Failure> {
        let problem = auctions::world()?;
        let environment = Environment::new(&problem, SEED)?;
        let request = NewCampaign {
            problem: auctions::campaign()?,
            learner: None,
            horizon: None,
            seed: None,
            guards: None,
            ignore_seen: None,
            expiry_seconds: Some(EXPIRY_SECONDS),
        };
        service.create(campaign, request, "").await?;
        Ok(Self { service, campaign, problem, environment, tally: Tally::default() })
    }

    /// Plays one round per period, until `most` rounds are played or `stop` is set.
    pub(super) async fn play(
        mut self,
        period: Duration,
        most: Option<u64>,
        stop: &AtomicBool,
    ) -> Result<Tally, Failure> {
        // Reports of expired rounds arrive somewhat after the expiry.
        let very_late = (1.2 * EXPIRY_SECONDS as f64 / period.as_secs_f64()).ceil() as u64;
        let mut reports = DelayedReports::new(SEED, very_late);
        let mut ticks = tokio::time::interval(period);
        let mut now = 0;
        while most.is_none_or(|most| self.tally.rounds < most) {
            tokio::select! {
                _ = ticks.tick() => {}
                () = is_set(stop) => break,
            }
            self.deliver(&mut reports, now).await?;
            self.ask(&mut reports, now).await?;
            now += 1;
        }
        Ok(self.tally)
    }

    async fn ask(&mut self, reports: &mut DelayedReports, now: u64) -> Result<(), Failure> {
        match self.service.ask(self.campaign, Ask::default(), None, "").await {
            Ok(rounds) => {
                self.tally.rounds += rounds.rounds.len() as u64;
                self.bid(&rounds, reports, now);
                Ok(())
            }
            Err(refused) => ignore_pause(refused),
        }
    }

    /// Simulates the rounds on the record and sends the outcome of each auction.
    fn bid(&self, rounds: &Rounds, reports: &mut DelayedReports, now: u64) {
        let tasks = self.problem.tasks().iter().zip(&rounds.tasks);
        let success: Vec<f64> =
            tasks.map(|(task, given)| task.curve().success(given.spend)).collect();
        let mut outcomes = vec![Outcome::Failed; success.len()];
        for &round in &rounds.rounds {
            self.environment.play(round, &success, Feedback::Censored, &mut outcomes);
            for (task, (outcome, given)) in outcomes.iter().zip(&rounds.tasks).enumerate() {
                let reward = match outcome {
                    Outcome::Done(reward) => Some(
                        reward.units() as f64 / Reward::UNITS as f64 * self.problem.reward_max(),
                    ),
                    _ => None,
                };
                let result = TaskResult {
                    task: given.task.clone(),
                    completed: Some(reward.is_some()),
                    reward,
                    ..TaskResult::default()
                };
                reports.send(now, round, task, self.environment.delay(round, task), result);
            }
        }
    }

    async fn deliver(&mut self, reports: &mut DelayedReports, now: u64) -> Result<(), Failure> {
        let lines = reports.arrived(now);
        if lines.is_empty() {
            return Ok(());
        }
        let told = match self.service.tell_many(self.campaign, lines, "").await {
            Ok(told) => told,
            Err(refused) => return ignore_pause(refused),
        };
        for line in told {
            match line {
                Ok(Told { accepted, duplicate, late, .. }) => {
                    self.tally.accepted += accepted;
                    self.tally.duplicate += duplicate;
                    self.tally.late += late;
                }
                Err(refused) => ignore_pause(refused)?,
            }
        }
        Ok(())
    }
}

/// Ignores errors that occur when a user pauses or closes the campaign in the dashboard.
fn ignore_pause(refused: ApiError) -> Result<(), Failure> {
    match refused.code {
        ErrorCode::CampaignPaused
        | ErrorCode::CampaignClosed
        | ErrorCode::TooManyOpenRounds
        | ErrorCode::Busy => Ok(()),
        _ => Err(refused.into()),
    }
}

async fn is_set(stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        tokio::time::sleep(NOTICE).await;
    }
}
