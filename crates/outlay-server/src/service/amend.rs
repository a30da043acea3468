//! Amendments: the problem of a campaign is replaced by another one, and what was learned stays.

use std::sync::Arc;

use outlay::Problem;
use outlay::problem::{AmendError, Amendment, FieldChange};

use super::campaign_cache::CachedCampaign;
use super::solvers::{Lane, QUICK_TASKS, WhenAbandoned};
use super::spec::{CampaignSpec, parse, read_problem};
use super::{CampaignService, unexpected, version_moved};
use crate::api::{CampaignState, ChangedField, NewCampaign, NewProblem, ProblemChanges};
use crate::error::{ApiError, ErrorCode};
use crate::limits::Limits;
use crate::store::{
    CampaignRow, CampaignStatus, Command, Done, Millis, ProblemChange, Refusal, SplitRow, Store,
    StoreError,
};

/// The largest growth of `reward_max` since the start, because rewards are stored in billionths of
/// the first one.
const MOST_GROWTH: f64 = 1000.0;
/// How often an amendment is prepared again because the campaign has changed meanwhile.
const ATTEMPTS: usize = 16;

/// An amendment that is valid for a campaign.
struct Prepared {
    problem: String,
    tasks: u32,
    changes: String,
}

impl CampaignService {
    /// Replaces the problem of a campaign, if its version is still `version`; without a version,
    /// whatever it is now. A problem that is in force already changes nothing, so the request can be
    /// repeated.
    ///
    /// # Errors
    /// If the problem is invalid or unsuitable for the campaign, the version has changed, or the
    /// campaign is closed.
    pub async fn amend(
        &self,
        id: &str,
        request: NewProblem,
        version: Option<u64>,
        token: &str,
    ) -> Result<Arc<CampaignState>, ApiError> {
        let request = Arc::new(request);
        for attempt in 0..ATTEMPTS {
            let cached = self.fresh(id).await?;
            if attempt > 0 || version.is_some_and(|version| version != cached.version()) {
                // Another process may have changed the campaign.
                let again = Arc::clone(&cached);
                self.read(id, move |store, _| again.read_amendment(store)).await?;
            }
            let (spec, present) = cached.spec_and_row();
            if present.amendments != spec.amendments {
                continue;
            }
            let prepared = self.prepare(&spec, &present.spec, &request).await?;
            let Some(Prepared { problem, tasks, changes }) = prepared else {
                return self.campaign(id).await;
            };
            if let Some(version) = version.filter(|version| *version != present.version) {
                return Err(version_moved(id, present.version, version));
            }
            if present.status == CampaignStatus::Closed {
                return Err(closed(id));
            }
            let change = ProblemChange {
                campaign: id.to_owned(),
                problem,
                tasks,
                changes,
                only_if: present.version,
                may_be_closed: false,
                at: self.now(),
                token: token.to_owned(),
            };
            match self.apply(Command::Amend(change), Some(&cached)).await? {
                Ok(Done::Amended { version, .. }) => {
                    tracing::info!(campaign = id, token, version, "campaign amended");
                    return self.campaign(id).await;
                }
                // Perhaps by the same amendment: it is compared again.
                Err(Refusal::OtherVersion { .. }) => {}
                Err(Refusal::Closed) => return Err(closed(id)),
                Err(refusal) => return Err(unexpected(&refusal)),
                Ok(done) => {
                    let what = format!("unexpected result of the store: {done:?}");
                    return Err(ApiError::new(ErrorCode::Internal, what));
                }
            }
        }
        let detail = format!("campaign {id} is being changed all the time");
        Err(ApiError::new(ErrorCode::Busy, detail).hint("try again in a second"))
    }

    /// The settings with which a campaign was created.
    pub(super) async fn first_spec(&self, id: &str) -> Result<CampaignSpec, ApiError> {
        let row = self.cached(id).await?.state().row.clone();
        CampaignSpec::of_row(&CampaignRow { problem: None, ..row })
    }

    /// The settings of a campaign, not older than a split.
    pub(super) async fn spec_of(
        &self,
        cached: &Arc<CachedCampaign>,
        row: &SplitRow,
    ) -> Result<Arc<CampaignSpec>, ApiError> {
        let spec = cached.spec();
        if row.amendments <= spec.amendments {
            return Ok(spec);
        }
        let amended = Arc::clone(cached);
        self.read(&cached.id, move |store, _| amended.read_amendment(store)).await?;
        Ok(cached.spec())
    }

    /// The problem under which a split was issued.
    pub(super) async fn problem_of(
        &self,
        cached: &Arc<CachedCampaign>,
        spec: &CampaignSpec,
        row: &SplitRow,
    ) -> Result<Problem, ApiError> {
        let amendments = row.amendments;
        if amendments >= spec.amendments {
            return Ok(spec.problem.clone());
        }
        let amended = Arc::clone(cached);
        self.read(&cached.id, move |store, _| amended.past_problem(store, amendments)).await
    }

    /// Validates an amendment; none if it changes nothing. `first` is the request that created the
    /// campaign.
    async fn prepare(
        &self,
        spec: &Arc<CampaignSpec>,
        first: &str,
        request: &Arc<NewProblem>,
    ) -> Result<Option<Prepared>, ApiError> {
        let (spec, first, request) = (Arc::clone(spec), first.to_owned(), Arc::clone(request));
        let tasks = request.problem["task"].as_array().map_or(0, Vec::len);
        let limits = self.limits().clone();
        let prepare = move |_: &_| prepared(&spec, &first, &request, &limits);
        let lane = if tasks <= QUICK_TASKS { Lane::Quick } else { Lane::Slow };
        let solvers = self.solvers();
        solvers.run(lane, solvers.deadline(), WhenAbandoned::Finish, prepare).await?
    }
}

/// How often a campaign is read again because it was amended meanwhile.
const LOAD_ATTEMPTS: usize = 16;

/// Reads a campaign; again if it is amended meanwhile.
pub(super) fn load(
    store: &dyn Store,
    mut row: CampaignRow,
    now: Millis,
) -> Result<CachedCampaign, StoreError> {
    for _ in 0..LOAD_ATTEMPTS {
        let damaged = |what: String| StoreError {
            what: format!("campaign {}: the stored data cannot be read: {what}", row.id),
            is_fatal: false,
        };
        let spec = CampaignSpec::of_row(&row).map_err(|refused| damaged(refused.detail))?;
        let loaded = CachedCampaign::load(store, row.clone(), spec, now);
        match store.campaign(&row.id)? {
            Some(present) if present.amendments != row.amendments => row = present,
            _ => return loaded,
        }
    }
    let what = format!("campaign {} is being amended all the time", row.id);
    Err(StoreError { what, is_fatal: false })
}

impl CachedCampaign {
    fn version(&self) -> u64 {
        self.state().row.version
    }

    /// The settings, and the campaign at the same moment.
    fn spec_and_row(&self) -> (Arc<CampaignSpec>, CampaignRow) {
        let state = self.state();
        (self.spec(), state.row.clone())
    }
}

fn prepared(
    spec: &CampaignSpec,
    first: &str,
    request: &NewProblem,
    limits: &Limits,
) -> Result<Option<Prepared>, ApiError> {
    let new = read_problem(&request.problem, limits)?;
    let (amended, amendment) = spec.problem.amended(&new).map_err(|error| refused(&error))?;
    if amended == spec.problem {
        return Ok(None);
    }
    if let Some(reason) = spec.learner.amendment_obstacle() {
        let learner = spec.learner.to_string();
        return Err(refused(&AmendError::Learner { learner, reason }));
    }
    check_growth(spec, &amended)?;
    let tasks = amended.tasks().len();
    if tasks > limits.tasks {
        let detail = format!(
            "the campaign would have {tasks} tasks with the retired ones, more than {}",
            limits.tasks
        );
        return Err(ApiError::new(ErrorCode::TooLarge, detail)
            .at("/problem/task")
            .hint("the limit is tasks"));
    }
    let internal = |error: serde_json::Error| ApiError::new(ErrorCode::Internal, error.to_string());
    let problem = serde_json::to_string(&amended).map_err(internal)?;
    // As it will be read again.
    let document = serde_json::from_str(&problem).map_err(internal)?;
    let campaign: NewCampaign = serde_json::from_str(first).map_err(internal)?;
    let amended = parse(&document)?;
    spec.with_problem(&campaign, amended, spec.amendments + 1)
        .map_err(|refused| ApiError { pointer: Some("/problem".to_owned()), ..refused })?;
    let changes = serde_json::to_string(&changes(amendment)).map_err(internal)?;
    Ok(Some(Prepared { problem, tasks: tasks as u32, changes }))
}

/// Rewards are stored in billionths of the first `reward_max`.
fn check_growth(spec: &CampaignSpec, amended: &Problem) -> Result<(), ApiError> {
    let (first, most) = (spec.reward_unit(), amended.reward_max());
    if most <= first * MOST_GROWTH {
        return Ok(());
    }
    let detail = format!(
        "reward_max: can grow to at most {MOST_GROWTH} times the {first} of the start, not to {most}"
    );
    Err(ApiError::new(ErrorCode::BadProblem, detail)
        .at("/problem/reward_max")
        .hint("start a new campaign"))
}

/// The same words as in the library and on the command line.
fn refused(error: &AmendError) -> ApiError {
    let pointer = match error {
        AmendError::RewardMax { .. } => "/problem/reward_max",
        AmendError::NoTaskLeft => "/problem/task",
        _ => "/problem",
    };
    ApiError::new(ErrorCode::BadProblem, error.to_string()).at(pointer)
}

fn closed(id: &str) -> ApiError {
    let detail = format!("campaign {id} is closed and cannot be amended");
    ApiError::new(ErrorCode::CampaignClosed, detail).hint("create a new campaign")
}

fn changes(amendment: Amendment) -> ProblemChanges {
    let Amendment { added, retired, returned, changed, .. } = amendment;
    let field = |FieldChange { task, field, old, new }| ChangedField {
        task,
        field: field.to_owned(),
        old,
        new,
    };
    let changed = changed.into_iter().map(field).collect();
    ProblemChanges { added, retired, returned, changed }
}
