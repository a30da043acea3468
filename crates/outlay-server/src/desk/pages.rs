//! Lists, a page at a time, and curves to draw.

use std::sync::Arc;

use super::{Desk, show};
use crate::refusal::Refused;
use crate::shapes::{CampaignList, CurveList, EventList, NewCampaign, RoundList, TaskCurve};

/// Points of a curve.
const MOST_POINTS: usize = 1001;

impl Desk {
    /// Campaigns in the order of their ids, those after `after`.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn campaigns(&self, after: Option<&str>, limit: usize) -> Result<CampaignList, Refused> {
        let (after, limit) = (after.map(str::to_owned), self.page(limit));
        let page = self.read("", move |store, _| {
            let rows = store.campaigns(after.as_deref(), limit)?;
            let rounds = rows.iter().map(|row| store.standing(&row.id).map(|standing| standing.rounds)).collect::<Result<Vec<_>, _>>()?;
            Ok(rows.into_iter().zip(rounds).collect::<Vec<_>>())
        });
        let page = page.await?;
        let next = (page.len() == limit).then(|| page.last().map(|(row, _)| row.id.clone())).flatten();
        let learner = |spec: &str| {
            let request: Option<NewCampaign> = serde_json::from_str(spec).ok();
            request.and_then(|request| request.learner).unwrap_or_else(|| outlay::learner::LearnerSpec::default().to_string())
        };
        let campaigns = page.iter().map(|(row, rounds)| show::summary(row, &learner(&row.spec), *rounds)).collect();
        Ok(CampaignList { campaigns, next })
    }

    /// Rounds in order, those after `after`.
    ///
    /// # Errors
    /// If there is no such campaign.
    pub async fn rounds(&self, id: &str, after: u64, limit: usize) -> Result<RoundList, Refused> {
        let (live, limit, now) = (self.live(id).await?, self.page(limit), self.now());
        let page = self.read(id, move |store, id| store.rounds(&id, after, limit)).await?;
        let next = (page.len() == limit).then(|| page.last().map(|row| row.round)).flatten();
        Ok(RoundList { rounds: page.iter().map(|row| show::round(&live.plan, row, now)).collect(), next })
    }

    /// What happened, in order, after `after`.
    ///
    /// # Errors
    /// If there is no such campaign.
    pub async fn events(&self, id: &str, after: u64, limit: usize) -> Result<EventList, Refused> {
        let (live, limit) = (self.live(id).await?, self.page(limit));
        let page = self.read(id, move |store, id| store.events(&id, after, limit)).await?;
        let next = (page.len() == limit).then(|| page.last().map(|event| event.seq)).flatten();
        Ok(EventList { events: page.into_iter().map(|event| show::event(&live.plan, event)).collect(), next })
    }

    /// The curves as points, from nothing to the budget.
    ///
    /// # Errors
    /// If there is no such campaign.
    pub async fn curves(&self, id: &str, points: usize) -> Result<CurveList, Refused> {
        let live = self.live(id).await?;
        let drawn = move || {
            let problem = &live.plan.problem;
            let steps = points.clamp(2, MOST_POINTS) - 1;
            let spend: Vec<f64> = (0..=steps).map(|step| problem.budget() * step as f64 / steps as f64).collect();
            let curves = problem.tasks().iter().map(|task| TaskCurve {
                task: task.name().to_owned(),
                success: spend.iter().map(|spend| task.curve().success(*spend)).collect(),
                spend: spend.clone(),
            });
            CurveList { curves: curves.collect() }
        };
        let drawn = tokio::task::spawn_blocking(drawn).await;
        drawn.map_err(|error| Refused::new(crate::refusal::Code::Internal, error.to_string()))
    }

    /// What a campaign was asked for with.
    ///
    /// # Errors
    /// If there is no such campaign.
    pub async fn request(&self, id: &str) -> Result<NewCampaign, Refused> {
        let live = self.live(id).await?;
        let spec = Arc::clone(&live).state().row.spec.clone();
        serde_json::from_str(&spec).map_err(|error| Refused::new(crate::refusal::Code::Internal, error.to_string()))
    }

    fn page(&self, limit: usize) -> usize {
        limit.clamp(1, self.limits().page)
    }
}
