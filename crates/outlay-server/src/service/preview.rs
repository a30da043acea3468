//! The state of a campaign with its next split.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use outlay::AllocationError;
use outlay::campaign::CampaignError;
use tokio::sync::OwnedMutexGuard;
use tokio::time::Instant as Deadline;

use super::campaign_cache::{CachedCampaign, Planner};
use super::solvers::{Lane, Solvers, WhenAbandoned};
use super::views::{self, CampaignTag, Snapshot};
use super::{CampaignService, busy};
use crate::api::CampaignState;
use crate::error::{ApiError, ErrorCode};
use crate::limits::Limits;

/// How often a split is computed again because the campaign was amended meanwhile.
const ATTEMPTS: usize = 16;

impl CampaignService {
    /// The version that a client compares to see whether a campaign has changed; none if others
    /// also write and the store must be read.
    ///
    /// # Errors
    /// If there is no campaign with this id.
    pub async fn campaign_tag(&self, id: &str) -> Result<Option<CampaignTag>, ApiError> {
        let cached = self.fresh(id).await?;
        self.look_elsewhere(&cached).await?;
        let tag = views::tag(&mut cached.state(), self.now());
        let is_known = !(self.store().is_shared() && cached.is_outdated());
        Ok(is_known.then_some(tag))
    }

    /// Number of changes of the status and of the problem of a campaign.
    ///
    /// # Errors
    /// If there is no campaign with this id.
    pub async fn version(&self, id: &str) -> Result<u64, ApiError> {
        Ok(self.fresh(id).await?.state().row.version)
    }

    /// The state of a campaign. The split is computed once, until something changes.
    ///
    /// # Errors
    /// If there is no campaign with this id, or no split was found in time.
    pub async fn campaign(&self, id: &str) -> Result<Arc<CampaignState>, ApiError> {
        for _ in 0..ATTEMPTS {
            if let Some(state) = self.campaign_once(id).await? {
                return Ok(state);
            }
        }
        let detail = format!("campaign {id} is being amended all the time");
        Err(ApiError::new(ErrorCode::Busy, detail).hint("try again in a second"))
    }

    /// The same; none if the campaign is amended meanwhile.
    async fn campaign_once(&self, id: &str) -> Result<Option<Arc<CampaignState>>, ApiError> {
        let cached = self.fresh(id).await?;
        self.look_elsewhere(&cached).await?;
        if let Some(shown) = self.shown(&cached) {
            return Ok(Some(shown));
        }
        let deadline = self.solvers().deadline();
        let planner = self.planner(&cached, deadline).await?;
        // Another request may have computed it in the meantime.
        if let Some(shown) = self.shown(&cached) {
            return Ok(Some(shown));
        }
        let (lane, service) = (cached.solve_time.lane(), self.clone());
        let search = move |cancel: &_| {
            let mut planner = planner;
            planner.rounds.set_cancel(Some(Arc::clone(cancel)));
            let found = service.look_ahead(&cached, &mut planner);
            planner.rounds.set_cancel(None);
            found
        };
        self.solvers().run(lane, deadline, WhenAbandoned::Finish, search).await?
    }

    /// Solves a problem without a campaign; cancelled if the client disconnects.
    pub(crate) async fn solve_once<T: Send + 'static>(
        &self,
        solve: impl FnOnce(&Limits, Arc<AtomicBool>) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let limits = self.limits().clone();
        let solve = move |cancel: &_| solve(&limits, Arc::clone(cancel));
        let deadline = self.solvers().deadline();
        self.solvers().run(Lane::Slow, deadline, WhenAbandoned::Cancel, solve).await?
    }

    pub(super) fn solvers(&self) -> &Solvers {
        &self.shared.solvers
    }

    fn shown(&self, cached: &CachedCampaign) -> Option<Arc<CampaignState>> {
        let (now, is_shared) = (self.now(), self.store().is_shared());
        let (tag, read_at) = {
            let mut state = cached.state();
            (views::tag(&mut state, now), state.read_at)
        };
        let shown = cached.shown(tag)?;
        if !is_shared {
            return Some(shown);
        }
        let stats_age_ms = views::age(read_at, now, is_shared);
        Some(Arc::new(CampaignState { stats_age_ms, ..CampaignState::clone(&shown) }))
    }

    /// Locks the planner of a campaign. After a correction the planner is rebuilt from the events
    /// first.
    pub(super) async fn planner(
        &self,
        cached: &Arc<CachedCampaign>,
        deadline: Deadline,
    ) -> Result<OwnedMutexGuard<Planner>, ApiError> {
        let turn = Arc::clone(&cached.planner).lock_owned();
        let mut planner = self.solvers().wait(deadline, turn).await?;
        if cached.is_current(&planner) {
            return Ok(planner);
        }
        let (store, cached) = (Arc::clone(self.store()), Arc::clone(cached));
        let rebuild = move |_: &_| cached.rebuild(&mut planner, store.as_ref()).map(|()| planner);
        let rebuilt = self.solvers().run(Lane::Slow, deadline, WhenAbandoned::Finish, rebuild);
        rebuilt.await?.map_err(|error| busy(&error))
    }

    fn look_ahead(
        &self,
        cached: &CachedCampaign,
        planner: &mut Planner,
    ) -> Result<Option<Arc<CampaignState>>, ApiError> {
        let (now, is_shared) = (self.now(), self.store().is_shared());
        let (snapshot, lesson) = {
            let mut state = cached.state();
            if state.row.amendments != planner.spec.amendments {
                return Ok(None);
            }
            (Snapshot::new(&mut state, now), state.take_unseen(&planner.spec))
        };
        let (tag, age) = (snapshot.tag, views::age(snapshot.read_at, now, is_shared));
        let begun = Instant::now();
        let seen = lesson
            .teach(&mut planner.rounds)
            .and_then(|()| views::campaign(cached, snapshot, planner, age))
            .map_err(|error| failed(cached, &error))?;
        cached.solve_time.set(begun.elapsed());
        let seen = Arc::new(seen);
        cached.set_shown(tag, &seen);
        Ok(Some(seen))
    }
}

/// An interrupted search: the learner or the guards may have recorded a decision that was never
/// issued.
pub(super) fn failed(cached: &CachedCampaign, error: &CampaignError) -> ApiError {
    let is_cancelled = matches!(error, CampaignError::Allocation(AllocationError::Cancelled));
    let spec = cached.spec();
    let notes_decisions = !spec.learner.is_count_based() || !spec.guards.is_empty();
    if notes_decisions || !is_cancelled {
        cached.state().invalidate();
    }
    if is_cancelled {
        return ApiError::new(ErrorCode::Busy, "the search was cancelled");
    }
    ApiError::new(ErrorCode::Internal, error.to_string())
}
