//! The campaign service, which issues rounds and accepts outcomes. It writes everything to the
//! store before it answers, and changes its memory only after the store.
//!
//! Callers may stop waiting at any time: commands that were sent to the store are carried out and
//! applied in memory.

mod amend;
mod ask;
pub(crate) mod background;
mod batch_queue;
mod campaign_cache;
mod campaign_state;
mod event_feed;
mod fair_queue;
mod idempotency;
mod key_locks;
mod learning;
mod metrics;
mod open_rounds;
mod outcomes;
mod pages;
mod preview;
mod retention;
pub(crate) mod solvers;
mod spec;
mod tell;
mod views;
mod write_queue;

pub(crate) use ask::curves_pointer;
pub use event_feed::EventFeed;
pub use metrics::{CampaignMetrics, Histogram, ServiceMetrics};
pub use pages::CurvePart;
pub use retention::{KeptCampaign, Sweep, SweepReport, sweep};
pub(crate) use spec::{check_amount, read_problem};
pub use views::CampaignTag;

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use tokio::sync::Semaphore;

use crate::api::{CampaignChange, CampaignState, NewCampaign};
use crate::clock::Clock;
use crate::error::{ApiError, ErrorCode};
use crate::limits::Limits;
use crate::store::{
    self, Command, Deletion, Done, Millis, Refusal, StatusChange, Store, StoreError,
    TokenRevocation, TokenRow, TokenUse,
};
use background::Background;
use campaign_cache::CachedCampaign;
use key_locks::KeyLocks;
use metrics::Counters;
use retention::Maintenance;
use solvers::{Lane, QUICK_TASKS, Solvers, WhenAbandoned};
use spec::CampaignSpec;
use write_queue::{Answer, GroupCommit, WriteError};

/// Handles requests. Cheap to clone: all clones share one service.
#[derive(Debug, Clone)]
pub struct CampaignService {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    limits: Limits,
    queue: GroupCommit,
    counters: Arc<Counters>,
    key_locks: Arc<KeyLocks>,
    solvers: Solvers,
    background: Background,
    /// Campaigns that are read from the store at the same time; each may take a processor for a
    /// while.
    loads: Semaphore,
    campaigns: RwLock<HashMap<String, Arc<CachedCampaign>>>,
    /// Campaigns that were in the store at the start.
    found: u64,
    maintenance: Maintenance,
}

/// Campaign ids are at most this long.
pub const MOST_ID_BYTES: usize = 128;
const PAGE: usize = 1000;
/// Campaigns that are read from the store at the same time.
const LOADS: usize = 2;

impl CampaignService {
    /// Opens a service over a store, and starts the threads that write to it.
    ///
    /// # Errors
    /// If the store cannot be read, or threads cannot be started.
    pub fn open(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        limits: Limits,
    ) -> Result<Self, StoreError> {
        let background = Background::new().map_err(|error| StoreError {
            what: format!("cannot start threads: {error}"),
            is_fatal: false,
        })?;
        let counters = Arc::new(Counters::new());
        let queue = GroupCommit::open(&store, &counters, limits.queue, limits.batch);
        let found = count_campaigns(store.as_ref())?;
        Ok(Self {
            shared: Arc::new(Shared {
                solvers: Solvers::new(limits.solve_timeout),
                background,
                loads: Semaphore::new(LOADS),
                campaigns: RwLock::new(HashMap::new()),
                store,
                clock,
                limits,
                queue,
                counters,
                key_locks: Arc::default(),
                found,
                maintenance: Maintenance::default(),
            }),
        })
    }

    /// The limits.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.shared.limits
    }

    /// The store.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.shared.store
    }

    /// Threads for work on large messages.
    pub(crate) fn background(&self) -> &Background {
        &self.shared.background
    }

    /// The clock.
    #[must_use]
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.shared.clock
    }

    fn now(&self) -> Millis {
        self.shared.clock.now()
    }

    /// Creates a campaign. Repeating the request gives the same answer; `true` for the first one.
    ///
    /// # Errors
    /// If the request is invalid, or the id belongs to another campaign.
    pub async fn create(
        &self,
        id: &str,
        request: NewCampaign,
        token: &str,
    ) -> Result<(Arc<CampaignState>, bool), ApiError> {
        check_id(id)?;
        let is_silent = request.ignore_seen.is_none();
        let (spec, request) = self.check_request(request).await?;
        if self.shared.counters.campaigns(self.shared.found) >= self.limits().campaigns as u64
            && self.read(id, |store, id| store.campaign(&id)).await?.is_none()
        {
            let detail = format!(
                "there are {} campaigns already, which is the limit",
                self.limits().campaigns
            );
            return Err(ApiError::new(ErrorCode::TooLarge, detail)
                .hint("start the service with a larger --campaigns"));
        }
        let new = store::NewCampaign {
            id: id.to_owned(),
            spec: serde_json::to_string(&request)
                .map_err(|error| ApiError::new(ErrorCode::BadRequest, error.to_string()))?,
            tasks: spec.problem.tasks().len() as u32,
            at: self.now(),
            token: token.to_owned(),
        };
        let is_new = match self.apply(Command::Create(new), None).await? {
            Ok(Done::Created) => true,
            Ok(_) => false,
            // The same request may be written differently: keys in another order, or defaults given
            // explicitly.
            Err(Refusal::OtherCampaign) => {
                let known = self.first_spec(id).await?;
                let spec = if is_silent { spec.with_choice_of(&known) } else { spec };
                if known == spec {
                    return Ok((self.campaign(id).await?, false));
                }
                let refused = ApiError::new(
                    ErrorCode::CampaignExists,
                    format!("campaign {id} exists with a different problem, learner or settings"),
                );
                return Err(refused.hint(
                    "choose another id, or amend the campaign with PUT …/problem; other settings \
                     cannot be changed",
                ));
            }
            Err(refusal) => return Err(unexpected(&refusal)),
        };
        Ok((self.campaign(id).await?, is_new))
    }

    /// Builds the requested campaign, to validate it.
    async fn check_request(
        &self,
        request: NewCampaign,
    ) -> Result<(CampaignSpec, NewCampaign), ApiError> {
        let tasks = request.problem["task"].as_array().map_or(0, Vec::len);
        let limits = self.limits().clone();
        let check = move |_: &_| {
            let spec = CampaignSpec::new(&request, &limits)?;
            let request = spec.stored_request(request);
            Ok((spec, request))
        };
        let lane = if tasks <= QUICK_TASKS { Lane::Quick } else { Lane::Slow };
        let solvers = &self.shared.solvers;
        solvers.run(lane, solvers.deadline(), WhenAbandoned::Finish, check).await?
    }

    /// Pauses, reopens or closes a campaign, if its version is still `version`.
    ///
    /// # Errors
    /// If there is no campaign with this id, the version has changed, or the campaign is closed.
    pub async fn set_status(
        &self,
        id: &str,
        change: CampaignChange,
        version: u64,
        token: &str,
    ) -> Result<Arc<CampaignState>, ApiError> {
        let cached = self.cached(id).await?;
        let change = StatusChange {
            campaign: id.to_owned(),
            to: change.status,
            only_if: version,
            may_reopen: false,
            at: self.now(),
            token: token.to_owned(),
        };
        match self.apply(Command::SetStatus(change), Some(&cached)).await? {
            Ok(_) => self.campaign(id).await,
            Err(Refusal::OtherVersion { version: now }) => Err(version_moved(id, now, version)),
            Err(Refusal::Closed) => {
                let detail = format!("campaign {id} is closed, which is final");
                Err(ApiError::new(ErrorCode::CampaignClosed, detail)
                    .hint("create a new campaign; to stop for a while, use the status paused"))
            }
            Err(refusal) => Err(unexpected(&refusal)),
        }
    }

    /// Deletes a campaign permanently, if its version is still `version`: its rounds and outcomes
    /// are removed and its id is free. A campaign that is not closed needs `force`.
    ///
    /// # Errors
    /// If there is no campaign with this id, the version has changed, or the campaign is not
    /// closed.
    pub async fn delete(
        &self,
        id: &str,
        version: u64,
        force: bool,
        token: &str,
    ) -> Result<(), ApiError> {
        let cached = self.cached(id).await?;
        let deletion = Deletion {
            campaign: id.to_owned(),
            only_if: version,
            force,
            at: self.now(),
            token: token.to_owned(),
        };
        match self.apply(Command::Delete(deletion), Some(&cached)).await? {
            Ok(Done::Deleted { rounds, outcomes }) => {
                // If the store is written to directly, memory may not have been updated yet.
                let gone = Arc::clone(&cached);
                self.read(id, move |store, _| {
                    gone.set_deleted(store);
                    Ok(())
                })
                .await?;
                self.evict(&cached);
                self.shared.maintenance.wake();
                tracing::info!(campaign = id, token, rounds, outcomes, "campaign deleted");
                Ok(())
            }
            Ok(done) => Err(ApiError::new(
                ErrorCode::Internal,
                format!("unexpected result of the store: {done:?}"),
            )),
            Err(Refusal::OtherVersion { version: now }) => Err(version_moved(id, now, version)),
            Err(Refusal::NotClosed) => {
                let detail = format!("campaign {id} is not closed");
                Err(ApiError::new(ErrorCode::CampaignNotClosed, detail)
                    .hint("close it first with PATCH, or add ?force=true"))
            }
            Err(Refusal::NoCampaign) => Err(no_campaign(id)),
            Err(refusal) => Err(unexpected(&refusal)),
        }
    }

    /// Adds a token.
    ///
    /// # Errors
    /// If a token with this id exists.
    pub async fn add_token(&self, token: TokenRow) -> Result<(), ApiError> {
        self.apply(Command::AddToken(token), None)
            .await?
            .map(|_| ())
            .map_err(|refusal| unexpected(&refusal))
    }

    /// Revokes a token.
    ///
    /// # Errors
    /// If there is no token with this id.
    pub async fn revoke_token(&self, id: &str) -> Result<(), ApiError> {
        let revocation = TokenRevocation { id: id.to_owned(), at: self.now() };
        let revoked = self.apply(Command::RevokeToken(revocation), None).await?;
        revoked
            .map(|_| ())
            .map_err(|_| ApiError::new(ErrorCode::NoRoute, format!("there is no token {id}")))
    }

    /// Records the use of a token in the background; skipped if the store is busy.
    pub fn note_use(&self, id: &str) {
        let used = TokenUse { id: id.to_owned(), at: self.now() };
        drop(self.shared.queue.send(vec![Command::UseToken(used)], None));
    }

    /// Metrics of the service.
    #[must_use]
    pub fn metrics(&self) -> ServiceMetrics {
        let (now, is_shared) = (self.now(), self.store().is_shared());
        let campaigns = self.shared.campaigns.read().unwrap_or_else(PoisonError::into_inner);
        let campaigns =
            campaigns.values().map(|cached| views::metrics(cached, now, is_shared)).collect();
        ServiceMetrics {
            queue_depth: self.shared.queue.depth(),
            queue_full: self.shared.queue.refused(),
            unsolved: self.shared.solvers.shed(),
            campaigns,
            ..self.shared.counters.read()
        }
    }

    /// The fatal error of the store, if there was one: the process must end and start again from
    /// the store.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        self.shared.queue.failure()
    }

    /// Accepts no more work, and waits until all accepted work is written and the store is closed.
    ///
    /// # Errors
    /// If the store cannot be closed. Acknowledged data is safe nevertheless.
    pub async fn drain(&self) -> Result<(), StoreError> {
        let service = self.clone();
        let closed = tokio::task::spawn_blocking(move || {
            service.shared.maintenance.stop();
            service.shared.queue.drain();
            service.shared.store.close()
        });
        closed.await.unwrap_or_else(|_| {
            Err(StoreError {
                what: "closing the store was interrupted".to_owned(),
                is_fatal: false,
            })
        })
    }

    fn in_memory(&self, id: &str) -> Option<Arc<CachedCampaign>> {
        let campaigns = self.shared.campaigns.read().unwrap_or_else(PoisonError::into_inner);
        campaigns.get(id).filter(|cached| !cached.is_deleted()).map(Arc::clone)
    }

    /// The campaign in memory; read from the store if necessary.
    async fn cached(&self, id: &str) -> Result<Arc<CachedCampaign>, ApiError> {
        if let Some(cached) = self.in_memory(id) {
            return Ok(cached);
        }
        let _permit = self
            .shared
            .loads
            .acquire()
            .await
            .map_err(|error| ApiError::new(ErrorCode::Internal, error.to_string()))?;
        if let Some(cached) = self.in_memory(id) {
            return Ok(cached);
        }
        let now = self.now();
        let loaded = self
            .read(id, move |store, id| {
                store.campaign(&id)?.map(|row| amend::load(store, row, now)).transpose()
            })
            .await?;
        let loaded = Arc::new(loaded.ok_or_else(|| no_campaign(id))?);
        let mut campaigns = self.shared.campaigns.write().unwrap_or_else(PoisonError::into_inner);
        let known = campaigns.entry(id.to_owned()).or_insert_with(|| Arc::clone(&loaded));
        if known.is_deleted() {
            *known = loaded;
        }
        Ok(Arc::clone(known))
    }

    /// Drops a deleted campaign from memory.
    fn evict(&self, cached: &Arc<CachedCampaign>) {
        let mut campaigns = self.shared.campaigns.write().unwrap_or_else(PoisonError::into_inner);
        if campaigns.get(&cached.id).is_some_and(|known| Arc::ptr_eq(known, cached)) {
            campaigns.remove(&cached.id);
        }
    }

    /// The campaign, with sufficiently recent counts.
    async fn fresh(&self, id: &str) -> Result<Arc<CachedCampaign>, ApiError> {
        let cached = self.cached(id).await?;
        if cached.is_amended() && !cached.is_deleted() {
            let again = Arc::clone(&cached);
            let read = self.read(id, move |store, _| again.read_amendment(store)).await;
            // If it was deleted, there may be another one.
            if !cached.is_deleted() {
                read?;
            }
        }
        if self.store().is_shared() && !cached.is_outdated() {
            let staleness = 0..self.limits().staleness_ms;
            let is_fresh = || staleness.contains(&(self.now() - cached.state().read_at));
            if is_fresh() {
                return Ok(cached);
            }
            let _alone = cached.refreshing().await;
            if is_fresh() {
                return Ok(Arc::clone(&cached));
            }
            let (again, now) = (Arc::clone(&cached), self.now());
            let read = move |store: &dyn Store, _| {
                again.refresh(store, now)?;
                if again.is_amended() && !again.is_deleted() {
                    again.read_amendment(store)?;
                }
                Ok(())
            };
            self.read(id, read).await?;
        }
        if cached.is_deleted() {
            self.evict(&cached);
            // There may be another campaign with this id by now.
            return self.cached(id).await;
        }
        Ok(cached)
    }

    /// Removes open rounds that were reported to another process.
    async fn look_elsewhere(&self, cached: &Arc<CachedCampaign>) -> Result<(), ApiError> {
        let (again, now) = (Arc::clone(cached), self.now());
        if !self.store().is_shared() || !cached.is_to_look_elsewhere(now) {
            return Ok(());
        }
        self.read(&cached.id, move |store, _| again.look_elsewhere(store)).await
    }

    /// Reads from the store, on a thread for blocking work.
    async fn read<T: Send + 'static>(
        &self,
        id: &str,
        read: impl FnOnce(&dyn Store, String) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let (store, id) = (Arc::clone(self.store()), id.to_owned());
        let read = tokio::task::spawn_blocking(move || read(store.as_ref(), id)).await;
        read.map_err(|error| ApiError::new(ErrorCode::Internal, error.to_string()))?
            .map_err(|error| busy(&error))
    }

    async fn apply(
        &self,
        command: Command,
        cached: Option<&Arc<CachedCampaign>>,
    ) -> Result<Answer, ApiError> {
        only(self.apply_all(vec![command], cached).await?)
    }

    async fn apply_all(
        &self,
        commands: Vec<Command>,
        cached: Option<&Arc<CachedCampaign>>,
    ) -> Result<Vec<Answer>, ApiError> {
        let waiting =
            self.shared.queue.send(commands, cached).map_err(|trouble| not_written(&trouble))?;
        let answers = waiting.answer().await.map_err(|trouble| not_written(&trouble))?;
        self.notice_deletion(cached, &answers).await?;
        Ok(answers)
    }

    /// If another process has deleted the campaign, the store has rejected the command, and the
    /// next request looks the campaign up again.
    async fn notice_deletion(
        &self,
        cached: Option<&Arc<CachedCampaign>>,
        answers: &[Answer],
    ) -> Result<(), ApiError> {
        let Some(cached) = cached.filter(|_| answers.contains(&Err(Refusal::NoCampaign))) else {
            return Ok(());
        };
        self.evict(cached);
        let gone = Arc::clone(cached);
        self.read(&cached.id, move |store, _| {
            gone.set_deleted(store);
            Ok(())
        })
        .await
    }
}

fn count_campaigns(store: &dyn Store) -> Result<u64, StoreError> {
    let mut count = 0;
    let mut after: Option<String> = None;
    loop {
        let page = store.campaigns(after.as_deref(), PAGE)?;
        count += page.len() as u64;
        match page.into_iter().next_back() {
            Some(last) => after = Some(last.id),
            None => return Ok(count),
        }
    }
}

pub(crate) fn check_id(id: &str) -> Result<(), ApiError> {
    let is_good = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    // Clients resolve `.` and `..` before they send a request, so such campaigns could not be
    // reached.
    if id.is_empty() || id.len() > MOST_ID_BYTES || !id.bytes().all(is_good) || id.starts_with('.')
    {
        let detail = format!(
            "a campaign's id is up to {MOST_ID_BYTES} letters, digits, `-`, `_` and `.`, and does not begin with a `.`"
        );
        return Err(ApiError::new(ErrorCode::BadParameter, detail));
    }
    Ok(())
}

fn no_campaign(id: &str) -> ApiError {
    let shown: String = id.chars().take(60).flat_map(char::escape_debug).collect();
    ApiError::new(ErrorCode::NoCampaign, format!("there is no campaign {shown}"))
        .hint("create it with PUT /v1/campaigns/{id}")
}

fn version_moved(id: &str, now: u64, version: u64) -> ApiError {
    let detail = format!("campaign {id} has version {now} now, not {version}");
    ApiError::new(ErrorCode::VersionMoved, detail)
        .hint("read the campaign again, then repeat the change")
}

/// The answer to a single command.
fn only(mut answers: Vec<Answer>) -> Result<Answer, ApiError> {
    answers.pop().ok_or_else(|| ApiError::new(ErrorCode::Internal, "the store returned no result"))
}

fn not_written(trouble: &WriteError) -> ApiError {
    match trouble {
        WriteError::Full => {
            ApiError::new(ErrorCode::Busy, "too many requests are waiting for the store")
                .hint("try again in a second")
        }
        WriteError::Store(error) => busy(error),
    }
}

fn busy(error: &StoreError) -> ApiError {
    ApiError::new(ErrorCode::Busy, error.what.clone())
        .hint("try again in a second; nothing that was acknowledged is lost")
}

/// A rejection that no request should cause.
fn unexpected(refusal: &Refusal) -> ApiError {
    match refusal {
        Refusal::NoCampaign => ApiError::new(ErrorCode::NoCampaign, "there is no such campaign"),
        refusal => ApiError::new(
            ErrorCode::Internal,
            format!("the store rejected the command: {refusal:?}"),
        ),
    }
}
