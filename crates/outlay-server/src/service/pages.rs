//! Pages of lists, and points of curves.

use std::ops::Range;
use std::sync::Arc;

use outlay::learner::LearnerSpec;
use outlay::problem::Problem;
use serde::Deserialize;

use super::campaign_cache::CachedCampaign;
use super::{CampaignService, views};
use crate::api::{
    CampaignList, CampaignSummary, CurveList, EventList, NewCampaign, RoundList, TaskCurve,
};
use crate::error::{ApiError, ErrorCode};
use crate::store::{Store, StoreError};

/// Points of a curve.
const MOST_POINTS: usize = 1001;
/// Campaigns read at once; each contains a problem, which may be large.
const CAMPAIGNS_AT_ONCE: usize = 20;

/// The requested part of the curves of a campaign.
#[derive(Debug, Clone, PartialEq)]
pub struct CurvePart {
    /// Points of each curve.
    pub points: usize,
    /// Only the curve of the task with this name.
    pub task: Option<String>,
    /// The largest spend; the budget if absent or larger than the budget.
    pub up_to: Option<f64>,
}

impl CurvePart {
    /// Indices of the requested tasks, and the largest spend.
    fn of(&self, problem: &Problem) -> Result<(Range<usize>, f64), ApiError> {
        let place = |name: &String| problem.tasks().iter().position(|task| task.name() == name);
        let tasks = match self.task.as_ref().map(place) {
            None => 0..problem.tasks().len(),
            Some(place) => place.map_or(0..0, |place| place..place + 1),
        };
        match self.up_to {
            Some(up_to) if !(up_to > 0.0) => Err(ApiError::new(
                ErrorCode::BadParameter,
                format!("up_to must be more than 0, not {up_to}"),
            )),
            up_to => {
                Ok((tasks, up_to.map_or(problem.budget(), |up_to| up_to.min(problem.budget()))))
            }
        }
    }
}

/// Entry of a campaign in a list.
fn summaries(
    store: &dyn Store,
    mut after: Option<String>,
    limit: usize,
) -> Result<Vec<CampaignSummary>, StoreError> {
    let mut summaries = Vec::new();
    loop {
        let wanted = CAMPAIGNS_AT_ONCE.min(limit - summaries.len());
        let rows = store.campaigns(after.as_deref(), wanted)?;
        for row in &rows {
            summaries.push(views::summary(
                row,
                &learner(&row.spec),
                store.standing(&row.id)?.rounds,
            ));
        }
        if rows.len() < wanted || summaries.len() == limit {
            return Ok(summaries);
        }
        after = rows.into_iter().next_back().map(|last| last.id);
    }
}

/// The learner that a request names; its problem is skipped.
fn learner(spec: &str) -> String {
    #[derive(Deserialize)]
    struct Named {
        learner: Option<String>,
    }
    let named = serde_json::from_str(spec).ok().and_then(|named: Named| named.learner);
    named.unwrap_or_else(|| LearnerSpec::default().to_string())
}

/// One more entry is read than a page has: if it exists, there is another page, which starts after
/// the last entry of this one.
fn last_before_more<T>(page: &mut Vec<T>, limit: usize) -> Option<&T> {
    let has_more = page.len() > limit;
    page.truncate(limit);
    page.last().filter(|_| has_more)
}

impl CampaignService {
    /// Campaigns in the order of their ids, after `after`.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn campaigns(
        &self,
        after: Option<&str>,
        limit: usize,
    ) -> Result<CampaignList, ApiError> {
        let (after, limit) = (after.map(str::to_owned), self.page(limit));
        let mut campaigns =
            self.read("", move |store, _| summaries(store, after, limit + 1)).await?;
        let next = last_before_more(&mut campaigns, limit).map(|last| last.id.clone());
        Ok(CampaignList { campaigns, next })
    }

    /// Rounds in order, after `after`.
    ///
    /// # Errors
    /// If there is no such campaign.
    pub async fn rounds(&self, id: &str, after: u64, limit: usize) -> Result<RoundList, ApiError> {
        let (cached, now) = (self.fresh(id).await?, self.now());
        let limit = self.page_of(&cached, limit);
        let page = move |store: &dyn Store, id: String| {
            let mut page = store.rounds(&id, after, limit + 1)?;
            let next = last_before_more(&mut page, limit).map(|row| row.round);
            let times: Vec<_> = {
                let rounds = &cached.state().rounds;
                page.iter().map(|row| rounds.time_of(row.round, now)).collect()
            };
            let tasks = page.iter().map(|row| row.split.split.spend.len()).max();
            let spec = cached.spec_with(store, tasks.unwrap_or(0))?;
            let rounds = page.iter().zip(times);
            let rounds = rounds.map(|(row, time)| views::round(&spec, row, time));
            Ok(RoundList { rounds: rounds.collect(), next })
        };
        self.read(id, page).await
    }

    /// Events in order, after `after`.
    ///
    /// # Errors
    /// If there is no such campaign.
    pub async fn events(&self, id: &str, after: u64, limit: usize) -> Result<EventList, ApiError> {
        let cached = self.fresh(id).await?;
        let limit = self.page_of(&cached, limit);
        let page = move |store: &dyn Store, id: String| {
            let mut page = store.events(&id, after, limit + 1)?;
            let next = last_before_more(&mut page, limit).map(|event| event.seq);
            let tasks = page.iter().map(views::tasks_of).max();
            let spec = cached.spec_with(store, tasks.unwrap_or(0))?;
            let events = page.into_iter().map(|event| views::event(&spec, event)).collect();
            Ok(EventList { events, next })
        };
        self.read(id, page).await
    }

    /// The curves at equidistant points, from 0 to the largest spend.
    ///
    /// # Errors
    /// If there is no such campaign or task, or the largest spend is out of range.
    pub async fn curves(&self, id: &str, part: CurvePart) -> Result<CurveList, ApiError> {
        let cached = self.fresh(id).await?;
        let spec = cached.spec();
        let (tasks, up_to) = part.of(&spec.problem)?;
        let points =
            part.points.min(MOST_POINTS).min(self.limits().page_tasks / tasks.len().max(1));
        let steps = points.max(2) - 1;
        let drawn = move || {
            let spend: Vec<f64> =
                (0..=steps).map(|step| up_to * step as f64 / steps as f64).collect();
            let curves = spec.problem.tasks()[tasks].iter().map(|task| TaskCurve {
                task: task.name().to_owned(),
                success: spend.iter().map(|spend| task.curve().success(*spend)).collect(),
                spend: spend.clone(),
            });
            CurveList { curves: curves.collect() }
        };
        let drawn = tokio::task::spawn_blocking(drawn).await;
        drawn.map_err(|error| ApiError::new(ErrorCode::Internal, error.to_string()))
    }

    /// The request that created a campaign.
    ///
    /// # Errors
    /// If there is no such campaign.
    pub async fn request(&self, id: &str) -> Result<NewCampaign, ApiError> {
        let cached = self.cached(id).await?;
        let spec = Arc::clone(&cached).state().row.spec.clone();
        serde_json::from_str(&spec)
            .map_err(|error| ApiError::new(ErrorCode::Internal, error.to_string()))
    }

    fn page(&self, limit: usize) -> usize {
        limit.clamp(1, self.limits().page)
    }

    /// Number of entries on a page whose entries contain every task of a campaign.
    fn page_of(&self, cached: &CachedCampaign, limit: usize) -> usize {
        self.share(cached, self.page(limit)).max(1)
    }

    /// The given number, or as many as each task of a campaign can have in one response.
    fn share(&self, cached: &CachedCampaign, wanted: usize) -> usize {
        wanted.min(self.limits().page_tasks / cached.spec().problem.tasks().len().max(1))
    }
}
