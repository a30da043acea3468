//! Reports and corrections of outcomes.

use std::sync::Arc;

use super::ask::round_compacted;
use super::campaign_cache::CachedCampaign;
use super::spec::CampaignSpec;
use super::{CampaignService, outcomes, unexpected};
use crate::api::{self, BulkLine, Corrected, Feedback, TaskResult, Told};
use crate::error::{ApiError, ErrorCode};
use crate::store::{CampaignStatus, Command, Correction, Done, Item, Millis, Refusal, Tell};

/// Time for which a closed campaign accepts reports.
const GRACE: Millis = 7 * 24 * 3600 * 1000;
/// Outcomes that are checked before other requests on the same thread get their turn: some tens of
/// microseconds.
const CHECKED_AT_ONCE: usize = 256;
/// The same for lines of a bulk report.
const LINES_AT_ONCE: usize = 64;
/// The longest reason for a correction.
const MOST_REASON_BYTES: usize = 1000;

impl CampaignService {
    /// Accepts a report about a round, as a whole or not at all.
    ///
    /// # Errors
    /// If the round was never issued, an outcome is invalid, or a different outcome was reported
    /// before.
    pub async fn tell(
        &self,
        id: &str,
        round: u64,
        feedback: Feedback,
        token: &str,
    ) -> Result<Told, ApiError> {
        let cached = self.cached(id).await?;
        let tell = self.checked(&cached, round, &feedback.results, token).await?;
        let (is_late, clipped) = (tell.is_late, clipped(&cached, &feedback.results, &tell));
        let answer = self.apply(Command::Tell(tell), Some(&cached)).await?;
        self.told(&cached, round, answer, (is_late, &clipped))
    }

    /// Accepts reports about many rounds in one transaction, each line separately.
    ///
    /// # Errors
    /// If there is no such campaign, or the store cannot be written to; errors of a line are
    /// reported for the line.
    pub async fn tell_many(
        &self,
        id: &str,
        lines: Vec<BulkLine>,
        token: &str,
    ) -> Result<Vec<Result<Told, ApiError>>, ApiError> {
        let cached = self.cached(id).await?;
        let mut commands = Vec::with_capacity(lines.len());
        let mut checked = Vec::with_capacity(lines.len());
        for (position, line) in lines.into_iter().enumerate() {
            if position % LINES_AT_ONCE == LINES_AT_ONCE - 1 {
                tokio::task::yield_now().await;
            }
            checked.push(self.checked(&cached, line.round, &line.results, token).await.map(
                |tell| {
                    let (round, is_late) = (tell.round, tell.is_late);
                    let clipped = clipped(&cached, &line.results, &tell);
                    commands.push(Command::Tell(tell));
                    (round, is_late, clipped)
                },
            ));
        }
        let mut answers = if commands.is_empty() {
            Vec::new()
        } else {
            self.apply_all(commands, Some(&cached)).await?
        }
        .into_iter();
        let mut answer = |(round, is_late, clipped): (u64, bool, Vec<bool>)| {
            answers.next().map_or_else(
                || Err(unexpected(&Refusal::NoCampaign)),
                |answer| self.told(&cached, round, answer, (is_late, &clipped)),
            )
        };
        Ok(checked.into_iter().map(|line| line.and_then(&mut answer)).collect())
    }

    /// Corrects the outcome of a task in a round.
    ///
    /// # Errors
    /// If there is no outcome to correct, or the new one is invalid.
    pub async fn correct(
        &self,
        id: &str,
        round: u64,
        correction: api::Correction,
        token: &str,
    ) -> Result<Corrected, ApiError> {
        let cached = self.cached(id).await?;
        let api::Correction { task, completed, completions, reward, spend, why } = correction;
        if why.trim().is_empty() || why.len() > MOST_REASON_BYTES {
            let detail = format!("why: expected a reason of 1 to {MOST_REASON_BYTES} bytes");
            return Err(ApiError::new(ErrorCode::BadFeedback, detail).at("/why"));
        }
        let row = self.split(&cached, round).await?;
        let result = TaskResult { task, completed, completions, reward, spend };
        let spec = self.spec_of(&cached, &row).await?;
        let problem = self.problem_of(&cached, &spec, &row).await?;
        let Item { task, outcome: to, expected } =
            outcomes::item(&spec, &problem, &row, round, &result)?;
        let correction = Correction {
            campaign: id.to_owned(),
            round,
            task,
            to,
            expected: Some(expected),
            why,
            at: self.now(),
            token: token.to_owned(),
        };
        match self.apply(Command::Correct(correction), Some(&cached)).await? {
            Ok(Done::Corrected { from, .. }) => Ok(Corrected {
                from: outcomes::result(&spec, task, from),
                to: outcomes::result(&spec, task, to),
            }),
            Ok(done) => {
                Err(ApiError::new(ErrorCode::Internal, format!("the store answered {done:?}")))
            }
            Err(Refusal::NothingToCorrect) => {
                let detail = format!(
                    "no outcome of task {} was reported for round {round}",
                    spec.name(task)
                );
                Err(ApiError::new(ErrorCode::NothingToCorrect, detail)
                    .hint("report it with PUT …/feedback"))
            }
            Err(Refusal::Compacted) => Err(round_compacted(id, round)),
            Err(Refusal::TooLarge { task }) => Err(outcomes::too_large(&spec, task)),
            Err(refusal) => Err(unexpected(&refusal)),
        }
    }

    /// The answer to a report; clipped rewards are counted.
    fn told(
        &self,
        cached: &CachedCampaign,
        round: u64,
        answer: Result<Done, Refusal>,
        about: (bool, &[bool]),
    ) -> Result<Told, ApiError> {
        let told = told(cached, round, answer, about)?;
        self.shared.counters.clipped(told.clipped);
        Ok(told)
    }

    async fn checked(
        &self,
        cached: &Arc<CachedCampaign>,
        round: u64,
        results: &[TaskResult],
        token: &str,
    ) -> Result<Tell, ApiError> {
        let now = self.now();
        let (ended, known) = {
            let state = cached.state();
            (
                (state.row.status == CampaignStatus::Closed).then_some(state.row.changed_at),
                state.rounds.split(round),
            )
        };
        if ended.is_some_and(|ended| now >= ended.saturating_add(GRACE)) {
            return Err(ApiError::new(
                ErrorCode::CampaignClosed,
                format!("campaign {} is closed and no longer accepts reports", cached.id),
            ));
        }
        let row = match known {
            Some(row) => row,
            None => self.split(cached, round).await?,
        };
        let spec = self.spec_of(cached, &row).await?;
        let past;
        let problem = if row.amendments == spec.amendments {
            &spec.problem
        } else {
            past = self.problem_of(cached, &spec, &row).await?;
            &past
        };
        let mut items: Vec<Item> = Vec::with_capacity(results.len());
        for (position, result) in results.iter().enumerate() {
            if position % CHECKED_AT_ONCE == CHECKED_AT_ONCE - 1 {
                tokio::task::yield_now().await;
            }
            let item = outcomes::item(&spec, problem, &row, round, result)
                .map_err(|refused| refused.below(&format!("/results/{position}")))?;
            items.push(item);
        }
        check_once(&spec, &items)?;
        Ok(Tell {
            campaign: cached.id.clone(),
            round,
            items,
            is_late: now >= row.expires_at,
            at: now,
            token: token.to_owned(),
        })
    }
}

/// A report has one outcome per task at most.
fn check_once(spec: &CampaignSpec, items: &[Item]) -> Result<(), ApiError> {
    if items.is_sorted_by(|one, next| one.task < next.task) {
        return Ok(());
    }
    let mut places: Vec<(u32, usize)> =
        items.iter().enumerate().map(|(position, item)| (item.task, position)).collect();
    places.sort_unstable();
    match places.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        None => Ok(()),
        Some(pair) => {
            let detail = format!("task {} appears twice in the report", spec.name(pair[0].0));
            Err(ApiError::new(ErrorCode::BadFeedback, detail)
                .at(format!("/results/{}/task", pair[1].1)))
        }
    }
}

/// Which rewards of a checked report are clipped; empty if none is.
fn clipped(cached: &CachedCampaign, results: &[TaskResult], tell: &Tell) -> Vec<bool> {
    let spec = cached.spec();
    if !spec.problem.reward_over_max().clips() {
        return Vec::new();
    }
    let items = results.iter().zip(&tell.items);
    let is_clipped = |(result, item): (&TaskResult, &Item)| {
        outcomes::is_clipped(&spec, result, item.outcome.completions)
    };
    items.map(is_clipped).collect()
}

fn told(
    cached: &CachedCampaign,
    round: u64,
    answer: Result<Done, Refusal>,
    (is_late, clipped): (bool, &[bool]),
) -> Result<Told, ApiError> {
    match answer {
        Ok(Done::Told { is_new, .. }) => {
            let accepted = is_new.iter().filter(|is_new| **is_new).count() as u64;
            let clipped = is_new.iter().zip(clipped);
            Ok(Told {
                accepted,
                duplicate: is_new.len() as u64 - accepted,
                late: if is_late { accepted } else { 0 },
                clipped: clipped.filter(|(is_new, is_clipped)| **is_new && **is_clipped).count()
                    as u64,
            })
        }
        Ok(done) => Err(ApiError::new(ErrorCode::Internal, format!("the store answered {done:?}"))),
        Err(Refusal::Conflict { task, stored }) => {
            let stored = outcomes::result(&cached.spec(), task, stored);
            let detail = format!(
                "a different outcome of task {} was already reported for this round",
                stored.task
            );
            let refused = ApiError::new(ErrorCode::Conflict, detail)
                .hint("nothing of the report was recorded; POST …/corrections corrects an earlier outcome");
            Err(ApiError { stored: serde_json::to_value(stored).ok().map(Box::new), ..refused })
        }
        Err(Refusal::Compacted) => Err(round_compacted(&cached.id, round)),
        Err(Refusal::TooLarge { task }) => Err(outcomes::too_large(&cached.spec(), task)),
        Err(refusal) => Err(unexpected(&refusal)),
    }
}
