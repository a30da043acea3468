//! Requests for rounds.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use outlay::campaign::{CampaignError, RoundConditions, RoundPlanner};
use outlay::problem::RoundCurvesError;
use outlay::{AllocationError, Task};

use super::campaign_cache::CachedCampaign;
use super::campaign_state::State;
use super::preview::failed;
use super::solvers::WhenAbandoned;
use super::write_queue::Waiting;
use super::{CampaignService, busy, check_amount, not_written, only, unexpected, views};
use crate::api::{self, Rounds};
use crate::error::{ApiError, ErrorCode, escaped};
use crate::store::{Ask, CampaignStatus, Command, Key, Millis, Refusal, SplitRow, Store};

/// How long an idempotency key is kept.
const KEY_LIFETIME: Millis = 24 * 3600 * 1000;
/// The longest idempotency key.
pub(super) const MOST_KEY_BYTES: usize = 256;

/// Splits with more tasks than this are serialised in the background.
const SHOWN_HERE: usize = 256;
/// Approximate size of a task in a response, in bytes.
const BYTES_PER_TASK: usize = 64;

/// A validated request.
struct AskRequest {
    count: u32,
    budget: f64,
    available: Option<Vec<bool>>,
    scale: Option<Vec<f64>>,
    volume: Option<Vec<f64>>,
}

impl AskRequest {
    fn conditions(&self) -> RoundConditions<'_> {
        RoundConditions {
            budget: self.budget,
            available: self.available.as_deref(),
            scale: self.scale.as_deref(),
            volume: self.volume.as_deref(),
        }
    }
}

impl CampaignService {
    /// Issues rounds, all with the same split. With a key that was used before, returns the same
    /// rounds again.
    ///
    /// # Errors
    /// If the campaign issues none, or there is no split for this budget and these tasks.
    pub async fn ask(
        &self,
        id: &str,
        ask: api::Ask,
        key: Option<&str>,
        token: &str,
    ) -> Result<Rounds, ApiError> {
        let cached = self.fresh(id).await?;
        // Only if the limit is near, because the store has to check each round.
        let are_many = || {
            let waiting = cached.state().rounds.count_waiting(self.now());
            waiting > self.limits().open_rounds / 2
        };
        if self.store().is_shared() && are_many() {
            self.look_elsewhere(&cached).await?;
        }
        let request = request(&cached, &ask, self.limits().rounds_per_ask)?;
        let Some(key) = key.map(|key| self.key(&cached, ask, key)).transpose()? else {
            return self.hand_out(&cached, request, None, token).await;
        };
        let (service, token) = (self.clone(), token.to_owned());
        // In a separate task: the lock on the key is held until the store has answered, even if the
        // client disconnects.
        let answered = tokio::spawn(async move {
            let _held = service.shared.key_locks.lock(&token, &key.key).await;
            if let Some(rounds) = service.rounds_of_key(&cached, &key, &token).await? {
                return Ok(rounds);
            }
            let answer = service.hand_out(&cached, request, Some(key.clone()), &token).await;
            match answer {
                // Another replica may have issued the last rounds under the same key.
                Err(error) if error.code == ErrorCode::HorizonExhausted => {
                    service.rounds_of_key(&cached, &key, &token).await?.ok_or(error)
                }
                answer => answer,
            }
        });
        answered.await.map_err(|error| ApiError::new(ErrorCode::Internal, error.to_string()))?
    }

    /// Issues new rounds.
    async fn hand_out(
        &self,
        cached: &Arc<CachedCampaign>,
        request: AskRequest,
        key: Option<Key>,
        token: &str,
    ) -> Result<Rounds, ApiError> {
        let (row, waiting) = self.decide(cached, request, key.as_ref(), token).await?;
        let answer = waiting.answer().await.map_err(|trouble| not_written(&trouble))?;
        self.notice_deletion(Some(cached), &answer).await?;
        match only(answer)? {
            Ok(_) => self.show_rounds(cached, row).await,
            // Another replica was faster with the same key.
            Err(Refusal::KeyUsed { request, rounds }) => {
                let is_same = key.is_some_and(|key| key.request == request);
                if is_same { self.rounds_again(cached, rounds).await } else { Err(key_reused()) }
            }
            // Other replicas have issued rounds that are not known here.
            Err(Refusal::BeyondHorizon { rounds }) => {
                let count = row.rounds.end - row.rounds.start;
                Err(exhausted(rounds, cached.spec.horizon.unwrap_or(rounds), count))
            }
            Err(refusal) => Err(unexpected(&refusal)),
        }
    }

    fn key(&self, cached: &CachedCampaign, mut ask: api::Ask, key: &str) -> Result<Key, ApiError> {
        if key.is_empty()
            || key.len() > MOST_KEY_BYTES
            || !key.bytes().all(|byte| byte.is_ascii_graphic())
        {
            let detail =
                format!("Idempotency-Key: up to {MOST_KEY_BYTES} visible ASCII characters");
            return Err(ApiError::new(ErrorCode::BadParameter, detail));
        }
        // The same request may be written with or without defaults.
        ask.count = ask.count.filter(|count| *count != 1);
        ask.budget = ask.budget.filter(|budget| *budget != cached.spec.problem.budget());
        ask.without.sort_unstable();
        ask.without.dedup();
        ask.scale.retain(|_, scale| *scale != 1.0);
        let request = serde_json::to_vec(&(&cached.id, ask))
            .map_err(|error| ApiError::new(ErrorCode::BadRequest, error.to_string()))?;
        Ok(Key {
            key: key.to_owned(),
            request: digest(&request),
            expires_at: self.now() + KEY_LIFETIME,
        })
    }

    /// The rounds that were issued under a key before, if any.
    async fn rounds_of_key(
        &self,
        cached: &Arc<CachedCampaign>,
        key: &Key,
        token: &str,
    ) -> Result<Option<Rounds>, ApiError> {
        let (token, name, now) = (token.to_owned(), key.key.clone(), self.now());
        let Some(used) =
            self.read(&cached.id, move |store, _| store.used_key(&token, &name, now)).await?
        else {
            return Ok(None);
        };
        if used.request != key.request {
            return Err(key_reused());
        }
        self.rounds_again(cached, used.rounds).await.map(Some)
    }

    async fn rounds_again(
        &self,
        cached: &Arc<CachedCampaign>,
        rounds: Range<u64>,
    ) -> Result<Rounds, ApiError> {
        let row = self.split(cached, rounds.start).await?;
        self.show_rounds(cached, row).await
    }

    async fn show_rounds(
        &self,
        cached: &Arc<CachedCampaign>,
        row: Arc<SplitRow>,
    ) -> Result<Rounds, ApiError> {
        let tasks = row.split.spend.len();
        if tasks <= SHOWN_HERE {
            return Ok(views::rounds(&cached.spec, &row));
        }
        let again = Arc::clone(cached);
        let show = move || views::rounds(&again.spec, &row);
        self.background().run(&cached.id, tasks * BYTES_PER_TASK, show).await
    }

    /// The split of a round.
    pub(super) async fn split(
        &self,
        cached: &Arc<CachedCampaign>,
        round: u64,
    ) -> Result<Arc<SplitRow>, ApiError> {
        let known = cached.state().rounds.split(round);
        if let Some(row) = known {
            return Ok(row);
        }
        let find = move |store: &dyn Store, id: String| {
            let Some(row) = store.split(&id, round)? else {
                let checkpoint = store.checkpoint(&id)?;
                return Ok(Err(checkpoint.is_some_and(|checkpoint| round < checkpoint.end)));
            };
            Ok(Ok(row))
        };
        let never = || {
            ApiError::new(
                ErrorCode::NoRound,
                format!("round {round} of campaign {} was never issued", cached.id),
            )
        };
        let row = self.read(&cached.id, find).await?.map_err(|is_compacted| {
            if is_compacted { round_compacted(&cached.id, round) } else { never() }
        })?;
        let row = Arc::new(row);
        cached.state().rounds.remember(&row);
        Ok(row)
    }

    /// Decides a split and sends it to the store in one step, so that a client that disconnects
    /// leaves no unrecorded decision behind.
    async fn decide(
        &self,
        cached: &Arc<CachedCampaign>,
        request: AskRequest,
        key: Option<&Key>,
        token: &str,
    ) -> Result<(Arc<SplitRow>, Waiting), ApiError> {
        let deadline = self.solvers().deadline();
        let free = Arc::clone(&cached.planner).try_lock_owned().ok();
        let mut planner = match free.filter(|_| !cached.is_outdated()) {
            Some(planner) => planner,
            None => self.planner(cached, deadline).await?,
        };
        if cached.spec.is_tiny() && cached.solve_time.is_instant() {
            let is_shared = self.store().is_shared();
            let early = if is_shared {
                self.check(cached, &planner, &mut cached.state(), &request, self.now())?;
                self.store().lease_at_hand(&cached.id, request.count)
            } else {
                None
            };
            if early.is_some() || !is_shared {
                return self.decide_here(cached, &mut planner, request, early, key.cloned(), token);
            }
        }
        let lane = cached.solve_time.lane();
        let (service, cached, key, token) =
            (self.clone(), Arc::clone(cached), key.cloned(), token.to_owned());
        let decide = move |cancel: &_| {
            planner.set_cancel(Some(Arc::clone(cancel)));
            let early = service.lease_early(&cached, &planner, &request);
            let decided = early.and_then(|early| {
                service.decide_here(&cached, &mut planner, request, early, key, &token)
            });
            planner.set_cancel(None);
            decided
        };
        self.solvers().run(lane, deadline, WhenAbandoned::Finish, decide).await?
    }

    /// Round ids from a store from which other processes also take ids. This may take a while and
    /// must not delay requests that only read. None if no other process takes ids; they are then
    /// taken together with the state.
    fn lease_early(
        &self,
        cached: &CachedCampaign,
        planner: &RoundPlanner,
        request: &AskRequest,
    ) -> Result<Option<Range<u64>>, ApiError> {
        if !self.store().is_shared() {
            return Ok(None);
        }
        self.check(cached, planner, &mut cached.state(), request, self.now())?;
        self.lease(cached, request.count).map(Some)
    }

    fn decide_here(
        &self,
        cached: &Arc<CachedCampaign>,
        planner: &mut RoundPlanner,
        request: AskRequest,
        early: Option<Range<u64>>,
        key: Option<Key>,
        token: &str,
    ) -> Result<(Arc<SplitRow>, Waiting), ApiError> {
        let row = self.take_rounds(cached, planner, request, early)?;
        let queue = &self.shared.queue;
        let _kept_from_reading = queue.keep_from_reading(cached);
        let mut state = cached.state();
        state.keep(&row);
        let command = Ask {
            campaign: cached.id.clone(),
            rounds: row.rounds.clone(),
            split: Arc::clone(&row.split),
            stats_version: row.stats_version,
            at: row.at,
            expires_at: row.expires_at,
            token: token.to_owned(),
            key,
            horizon: cached.spec.horizon,
        };
        let sent = queue.send_holding(vec![Command::Ask(command)], Some(cached), Some(&mut state));
        let waiting = sent.map_err(|trouble| {
            state.drop_split(&row.rounds);
            not_written(&trouble)
        })?;
        Ok((row, waiting))
    }

    /// Takes round ids and decides their split from the counts at the start; reports continue
    /// meanwhile.
    fn take_rounds(
        &self,
        cached: &CachedCampaign,
        planner: &mut RoundPlanner,
        request: AskRequest,
        early: Option<Range<u64>>,
    ) -> Result<Arc<SplitRow>, ApiError> {
        let now = self.now();
        let (rounds, stats_version, lesson) = {
            let mut state = cached.state();
            self.check(cached, planner, &mut state, &request, now)?;
            let lease = |count| self.lease(cached, count);
            let rounds = early.map_or_else(|| state.take_ids(request.count, lease), Ok)?;
            state.reserve(&rounds);
            (rounds, state.standing.version, state.take_unseen())
        };
        let begun = Instant::now();
        let decided = lesson
            .teach(planner)
            .and_then(|()| planner.decide(rounds.start, &request.conditions()).map(|_| ()));
        cached.solve_time.set(begun.elapsed());
        if let Err(error) = decided {
            cached.state().give_back(rounds, self.store().is_shared());
            return Err(match error {
                CampaignError::Allocation(AllocationError::Cancelled) => failed(cached, &error),
                error => {
                    cached.state().invalidate();
                    bad_round(&error)
                }
            });
        }
        let split = cached.state().decided(planner, &request.conditions());
        Ok(Arc::new(SplitRow {
            rounds,
            split,
            stats_version,
            at: now,
            expires_at: now.saturating_add(cached.spec.expiry),
        }))
    }

    fn lease(&self, cached: &CachedCampaign, count: u32) -> Result<Range<u64>, ApiError> {
        self.store().lease_rounds(&cached.id, count).map_err(|error| {
            self.shared.counters.failed();
            busy(&error)
        })
    }

    /// Checks whether the rounds can be issued. To be called before ids are taken, because they
    /// cannot be returned and the learner depends on them.
    fn check(
        &self,
        cached: &CachedCampaign,
        planner: &RoundPlanner,
        state: &mut State,
        request: &AskRequest,
        now: Millis,
    ) -> Result<(), ApiError> {
        self.check_status(cached, state, request, now)?;
        let next = state.next_round();
        planner.check(next, &request.conditions()).map_err(|error| bad_round(&error))
    }

    fn check_status(
        &self,
        cached: &CachedCampaign,
        state: &mut State,
        request: &AskRequest,
        now: Millis,
    ) -> Result<(), ApiError> {
        match state.row.status {
            CampaignStatus::Open => {}
            CampaignStatus::Paused => {
                let refused = ApiError::new(
                    ErrorCode::CampaignPaused,
                    format!("campaign {} is paused and issues no rounds", cached.id),
                );
                return Err(refused.hint("PATCH its status to open"));
            }
            CampaignStatus::Closed => {
                return Err(ApiError::new(
                    ErrorCode::CampaignClosed,
                    format!("campaign {} is closed and issues no rounds", cached.id),
                ));
            }
        }
        let handed_out = state.handed_out();
        let after = handed_out.saturating_add(u64::from(request.count));
        if let Some(horizon) = cached.spec.horizon.filter(|horizon| after > *horizon) {
            return Err(exhausted(handed_out, horizon, request.count.into()));
        }
        let most = self.limits().open_rounds;
        if state.rounds.count_waiting(now) + request.count as usize > most {
            let detail = format!(
                "{} rounds of campaign {} are open; the limit is {most}",
                state.rounds.count_waiting(now),
                cached.id
            );
            return Err(ApiError::new(ErrorCode::TooManyOpenRounds, detail)
                .hint("report their outcomes, or wait until rounds expire"));
        }
        Ok(())
    }
}

fn request(cached: &CachedCampaign, ask: &api::Ask, most: u32) -> Result<AskRequest, ApiError> {
    let count = ask.count.unwrap_or(1);
    if !(1..=most).contains(&count) {
        return Err(ApiError::new(
            ErrorCode::BadRound,
            format!("count: must be between 1 and {most}, not {count}"),
        )
        .at("/count"));
    }
    let budget = ask.budget.unwrap_or(cached.spec.problem.budget());
    check_amount(budget, "/budget")
        .map_err(|refused| ApiError { code: ErrorCode::BadRound, ..refused })?;
    let mut available =
        (!ask.without.is_empty()).then(|| vec![true; cached.spec.problem.tasks().len()]);
    for (position, name) in ask.without.iter().enumerate() {
        let place = cached.spec.place(name).ok_or_else(|| {
            cached.spec.unknown_task(ErrorCode::BadRound, name, format!("/without/{position}"))
        })?;
        if let Some(there) =
            available.as_mut().and_then(|available| available.get_mut(place as usize))
        {
            *there = false;
        }
    }
    if available.as_ref().is_some_and(|available| !available.contains(&true)) {
        let detail = "every task is left out: nothing to split the budget over";
        return Err(ApiError::new(ErrorCode::BadRound, detail).at("/without"));
    }
    let tasks = cached.spec.problem.tasks();
    let scale = by_task(cached, "scale", &ask.scale, || vec![1.0; tasks.len()])?;
    let scale = scale.filter(|scale| scale.iter().any(|scale| *scale != 1.0));
    let of_problem = || tasks.iter().map(Task::volume).collect();
    let volume = by_task(cached, "volume", &ask.volume, of_problem)?;
    Ok(AskRequest { count, budget, available, scale, volume })
}

/// A list with one number per task: those of the named tasks, and else those of `others`. None if no
/// task is named.
fn by_task(
    cached: &CachedCampaign,
    what: &str,
    named: &BTreeMap<String, f64>,
    others: impl FnOnce() -> Vec<f64>,
) -> Result<Option<Vec<f64>>, ApiError> {
    if named.is_empty() {
        return Ok(None);
    }
    let mut numbers = others();
    for (name, number) in named {
        let unknown = || {
            let pointer = format!("/{what}/{}", escaped(name));
            cached.spec.unknown_task(ErrorCode::BadRound, name, pointer)
        };
        let place = cached.spec.place(name).ok_or_else(unknown)?;
        numbers[place as usize] = *number;
    }
    Ok(Some(numbers))
}

/// The round was replaced by its counts.
pub(super) fn round_compacted(id: &str, round: u64) -> ApiError {
    let detail = format!("round {round} of campaign {id} is too old: only its counts are kept");
    ApiError::new(ErrorCode::RoundCompacted, detail)
}

fn exhausted(handed_out: u64, horizon: u64, count: u64) -> ApiError {
    let detail = format!(
        "{handed_out} of {horizon} rounds have been issued; {count} more exceed the horizon"
    );
    ApiError::new(ErrorCode::HorizonExhausted, detail)
        .hint("create a new campaign, or one with a learner that needs no horizon")
}

fn bad_round(error: &CampaignError) -> ApiError {
    if matches!(error, CampaignError::Allocation(AllocationError::BoundBeaten { .. })) {
        return ApiError::new(ErrorCode::Internal, error.to_string());
    }
    let pointer = match error {
        CampaignError::Needed { .. } => "/without".to_owned(),
        CampaignError::FixedCurves { what, .. } => format!("/{what}"),
        CampaignError::Curves(error) => curves_pointer(error),
        _ => "/budget".to_owned(),
    };
    ApiError::new(ErrorCode::BadRound, error.to_string()).at(pointer)
}

/// The scale or volume that is invalid.
pub(crate) fn curves_pointer(error: &RoundCurvesError) -> String {
    match error {
        RoundCurvesError::OutOfRange { what, task, .. } => format!("/{what}/{}", escaped(task)),
        RoundCurvesError::NotWhole { task, .. } => format!("/volume/{}", escaped(task)),
        RoundCurvesError::Curve { task, .. } => format!("/scale/{}", escaped(task)),
        _ => "/volume".to_owned(),
    }
}

fn key_reused() -> ApiError {
    ApiError::new(ErrorCode::KeyReused, "the Idempotency-Key was used for a different request")
        .hint("use a new key for a new request")
}

fn digest(bytes: &[u8]) -> [u8; 32] {
    use sha2::Digest;
    sha2::Sha256::digest(bytes).into()
}
