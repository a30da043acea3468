//! A client of the service that asks for rounds, plays them and reports, as a real one would.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use outlay::Problem;
use outlay::feedback::{Feedback, Outcome, Reward};
use outlay::simulation::Environment;
use outlay_server::desk::Desk;
use outlay_server::refusal::{Code, Refused};
use outlay_server::shapes::{Ask, NewCampaign, Rounds, TaskResult, Told};

use super::post::Post;
use super::{NOTICE, auctions};
use crate::failure::Failure;

/// Rounds are given up for lost after this.
const EXPIRY_SECONDS: u64 = 20;
const SEED: u64 = 1;

/// What was done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) rounds: u64,
    pub(super) accepted: u64,
    pub(super) duplicate: u64,
    pub(super) late: u64,
}

pub(super) struct Client {
    desk: Desk,
    campaign: &'static str,
    problem: Problem,
    environment: Environment,
    tally: Tally,
}

impl Client {
    /// Begins the campaign.
    pub(super) async fn begin(desk: Desk, campaign: &'static str) -> Result<Self, Failure> {
        let problem = auctions::world()?;
        let environment = Environment::new(&problem, SEED)?;
        let request = NewCampaign {
            problem: auctions::campaign()?,
            learner: None,
            horizon: None,
            seed: None,
            guards: None,
            expiry_seconds: Some(EXPIRY_SECONDS),
        };
        desk.create(campaign, request, "").await?;
        Ok(Self { desk, campaign, problem, environment, tally: Tally::default() })
    }

    /// Plays a round a period, until `most` are played or somebody stops it.
    pub(super) async fn play(
        mut self,
        period: Duration,
        most: Option<u64>,
        stop: &AtomicBool,
    ) -> Result<Tally, Failure> {
        // A round that has expired is late by some more than its time.
        let very_late = (1.2 * EXPIRY_SECONDS as f64 / period.as_secs_f64()).ceil() as u64;
        let mut post = Post::new(SEED, very_late);
        let mut ticks = tokio::time::interval(period);
        let mut now = 0;
        while most.is_none_or(|most| self.tally.rounds < most) {
            tokio::select! {
                _ = ticks.tick() => {}
                () = is_set(stop) => break,
            }
            self.deliver(&mut post, now).await?;
            self.ask(&mut post, now).await?;
            now += 1;
        }
        Ok(self.tally)
    }

    async fn ask(&mut self, post: &mut Post, now: u64) -> Result<(), Failure> {
        match self.desk.ask(self.campaign, Ask::default(), None, "").await {
            Ok(rounds) => {
                self.tally.rounds += rounds.rounds.len() as u64;
                self.bid(&rounds, post, now);
                Ok(())
            }
            Err(refused) => wait(refused),
        }
    }

    /// Plays the rounds against the record, and sends what came of each auction.
    fn bid(&self, rounds: &Rounds, post: &mut Post, now: u64) {
        let tasks = self.problem.tasks().iter().zip(&rounds.tasks);
        let success: Vec<f64> =
            tasks.map(|(task, given)| task.curve().success(given.spend)).collect();
        let mut outcomes = vec![Outcome::Failed; success.len()];
        for &round in &rounds.rounds {
            self.environment.play(round, &success, Feedback::Censored, &mut outcomes);
            for (place, (outcome, given)) in outcomes.iter().zip(&rounds.tasks).enumerate() {
                let reward = match outcome {
                    Outcome::Done(reward) => Some(
                        reward.units() as f64 / Reward::UNITS as f64 * self.problem.reward_max(),
                    ),
                    _ => None,
                };
                let result =
                    TaskResult { task: given.task.clone(), completed: reward.is_some(), reward };
                post.send(now, round, place, self.environment.delay(round, place), result);
            }
        }
    }

    async fn deliver(&mut self, post: &mut Post, now: u64) -> Result<(), Failure> {
        let lines = post.arrived(now);
        if lines.is_empty() {
            return Ok(());
        }
        let told = match self.desk.tell_many(self.campaign, lines, "").await {
            Ok(told) => told,
            Err(refused) => return wait(refused),
        };
        for line in told {
            match line {
                Ok(Told { accepted, duplicate, late }) => {
                    self.tally.accepted += accepted;
                    self.tally.duplicate += duplicate;
                    self.tally.late += late;
                }
                Err(refused) => wait(refused)?,
            }
        }
        Ok(())
    }
}

/// Somebody who looks at the page may pause the campaign or close it, and may want to look at it
/// afterwards.
fn wait(refused: Refused) -> Result<(), Failure> {
    match refused.code {
        Code::CampaignPaused | Code::CampaignClosed | Code::TooManyOpenRounds | Code::Busy => {
            Ok(())
        }
        _ => Err(refused.into()),
    }
}

async fn is_set(stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        tokio::time::sleep(NOTICE).await;
    }
}
