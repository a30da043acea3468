//! Requests for rounds.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use outlay::campaign::{CampaignError, RoundConditions};
use outlay::problem::RoundCurvesError;
use outlay::{AllocationError, Task};

use super::campaign_cache::{CachedCampaign, Planner};
use super::campaign_state::State;
use super::idempotency::key_reused;
use super::preview::failed;
use super::solvers::WhenAbandoned;
use super::spec::CampaignSpec;
use super::write_queue::Waiting;
use super::{CampaignService, busy, check_amount, not_written, only, unexpected, views};
use crate::api::{self, Rounds};
use crate::error::{ApiError, ErrorCode, escaped};
use crate::store::{Ask, CampaignStatus, Command, Key, Millis, Refusal, SplitRow, Store};

/// Splits with more tasks than this are serialised in the background.
const SHOWN_HERE: usize = 256;
/// Approximate size of a task in a response, in bytes.
const BYTES_PER_TASK: usize = 64;

/// How often rounds are decided again because the campaign was amended meanwhile.
const ATTEMPTS: usize = 16;

/// A request, validated under these settings.
struct AskRequest {
    spec: Arc<CampaignSpec>,
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
        for _ in 0..ATTEMPTS {
            match self.ask_once(id, ask.clone(), key, token).await {
                Err(error) if error.code == ErrorCode::VersionMoved => {}
                answer => return answer,
            }
        }
        let detail = format!("campaign {id} is being amended all the time");
        Err(ApiError::new(ErrorCode::Busy, detail).hint("try again in a second"))
    }

    /// The same, unless the campaign is amended meanwhile: see [`amended_meanwhile`].
    async fn ask_once(
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
        let request = request(cached.spec(), &ask, self.limits().rounds_per_ask)?;
        let Some(key) =
            key.map(|key| self.key(&request.spec, &cached.id, &ask, key)).transpose()?
        else {
            return self.hand_out(&cached, request, None, token).await;
        };
        let (service, token) = (self.clone(), token.to_owned());
        // In a separate task: the lock on the key is held until the store has answered, even if the
        // client disconnects.
        let answered = tokio::spawn(async move {
            let _held = service.shared.key_locks.lock(&token, &key.key).await;
            if let Some(rounds) = service.rounds_of_key(&cached, &ask, &key, &token).await? {
                return Ok(rounds);
            }
            let keyed = Some((&ask, key.clone()));
            match service.hand_out(&cached, request, keyed, &token).await {
                // Another replica may have issued the last rounds under the same key.
                Err(error) if error.code == ErrorCode::HorizonExhausted => {
                    service.rounds_of_key(&cached, &ask, &key, &token).await?.ok_or(error)
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
        keyed: Option<(&api::Ask, Key)>,
        token: &str,
    ) -> Result<Rounds, ApiError> {
        let spec = Arc::clone(&request.spec);
        let key = keyed.as_ref().map(|(_, key)| key);
        let (row, waiting) = self.decide(cached, request, key, token).await?;
        let answer = waiting.answer().await.map_err(|trouble| not_written(&trouble))?;
        self.notice_deletion(Some(cached), &answer).await?;
        match only(answer)? {
            Ok(_) => self.show_rounds(cached, spec, row).await,
            // Another replica was faster with the same key.
            Err(Refusal::KeyUsed { request, rounds }) => match keyed {
                Some((ask, _)) => self.rounds_again(cached, ask, request, rounds).await,
                None => Err(key_reused()),
            },
            // Perhaps by another replica.
            Err(Refusal::Amended) => {
                let amended = Arc::clone(cached);
                self.read(&cached.id, move |store, _| amended.read_amendment(store)).await?;
                Err(amended_meanwhile(&cached.id))
            }
            // Other replicas have issued rounds that are not known here.
            Err(Refusal::BeyondHorizon { rounds }) => {
                let count = row.rounds.end - row.rounds.start;
                Err(exhausted(rounds, spec.horizon.unwrap_or(rounds), count))
            }
            Err(refusal) => Err(unexpected(&refusal)),
        }
    }

    pub(super) async fn show_rounds(
        &self,
        cached: &Arc<CachedCampaign>,
        spec: Arc<CampaignSpec>,
        row: Arc<SplitRow>,
    ) -> Result<Rounds, ApiError> {
        let tasks = row.split.spend.len();
        if tasks <= SHOWN_HERE {
            return Ok(views::rounds(&spec, &row));
        }
        let show = move || views::rounds(&spec, &row);
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
        let mut planner = match free.filter(|planner| cached.is_current(planner)) {
            Some(planner) => planner,
            None => self.planner(cached, deadline).await?,
        };
        if request.spec.is_tiny() && cached.solve_time.is_instant() {
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
            planner.rounds.set_cancel(Some(Arc::clone(cancel)));
            let early = service.lease_early(&cached, &planner, &request);
            let decided = early.and_then(|early| {
                service.decide_here(&cached, &mut planner, request, early, key, &token)
            });
            planner.rounds.set_cancel(None);
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
        planner: &Planner,
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
        planner: &mut Planner,
        request: AskRequest,
        early: Option<Range<u64>>,
        key: Option<Key>,
        token: &str,
    ) -> Result<(Arc<SplitRow>, Waiting), ApiError> {
        let spec = Arc::clone(&request.spec);
        let row = self.take_rounds(cached, planner, request, early)?;
        let queue = &self.shared.queue;
        let _kept_from_reading = queue.keep_from_reading(cached);
        let mut state = cached.state();
        state.keep(&row);
        let command = Ask {
            campaign: cached.id.clone(),
            rounds: row.rounds.clone(),
            split: Arc::clone(&row.split),
            amendments: row.amendments,
            stats_version: row.stats_version,
            at: row.at,
            expires_at: row.expires_at,
            token: token.to_owned(),
            key,
            horizon: spec.horizon,
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
        planner: &mut Planner,
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
            (rounds, state.standing.version, state.take_unseen(&planner.spec))
        };
        let begun = Instant::now();
        let decided = lesson
            .teach(&mut planner.rounds)
            .and_then(|()| planner.rounds.decide(rounds.start, &request.conditions()).map(|_| ()));
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
        let split = cached.state().decided(&planner.rounds, &request.conditions());
        Ok(Arc::new(SplitRow {
            rounds,
            split,
            amendments: request.spec.amendments,
            stats_version,
            at: now,
            expires_at: now.saturating_add(request.spec.expiry),
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
        planner: &Planner,
        state: &mut State,
        request: &AskRequest,
        now: Millis,
    ) -> Result<(), ApiError> {
        let amendments = request.spec.amendments;
        if state.row.amendments != amendments || planner.spec.amendments != amendments {
            return Err(amended_meanwhile(&cached.id));
        }
        self.check_status(cached, state, request, now)?;
        let next = state.next_round();
        planner.rounds.check(next, &request.conditions()).map_err(|error| bad_round(&error))
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
        if let Some(horizon) = request.spec.horizon.filter(|horizon| after > *horizon) {
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

fn request(spec: Arc<CampaignSpec>, ask: &api::Ask, most: u32) -> Result<AskRequest, ApiError> {
    let count = ask.count.unwrap_or(1);
    if !(1..=most).contains(&count) {
        return Err(ApiError::new(
            ErrorCode::BadRound,
            format!("count: must be between 1 and {most}, not {count}"),
        )
        .at("/count"));
    }
    let tasks = spec.problem.tasks();
    let budget = ask.budget.unwrap_or(spec.problem.budget());
    check_amount(budget, "/budget")
        .map_err(|refused| ApiError { code: ErrorCode::BadRound, ..refused })?;
    let is_active = |task: &Task| !task.is_retired();
    let has_all = ask.without.is_empty() && tasks.iter().all(is_active);
    let mut available: Option<Vec<bool>> =
        (!has_all).then(|| tasks.iter().map(is_active).collect());
    for (position, name) in ask.without.iter().enumerate() {
        let place = spec.place(name).ok_or_else(|| {
            spec.unknown_task(ErrorCode::BadRound, name, format!("/without/{position}"))
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
    let scale = by_task(&spec, "scale", &ask.scale, || vec![1.0; tasks.len()])?;
    let scale = scale.filter(|scale| scale.iter().any(|scale| *scale != 1.0));
    let of_problem = || tasks.iter().map(Task::volume).collect();
    let volume = by_task(&spec, "volume", &ask.volume, of_problem)?;
    Ok(AskRequest { spec, count, budget, available, scale, volume })
}

/// A list with one number per task: those of the named tasks, and else those of `others`. None if no
/// task is named.
fn by_task(
    spec: &CampaignSpec,
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
            spec.unknown_task(ErrorCode::BadRound, name, pointer)
        };
        let place = spec.place(name).ok_or_else(unknown)?;
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

/// The campaign was amended while its rounds were decided. Never sent: they are decided again.
fn amended_meanwhile(id: &str) -> ApiError {
    ApiError::new(ErrorCode::VersionMoved, format!("campaign {id} was amended"))
}
