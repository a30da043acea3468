//! A campaign in memory: planner, counts and open rounds. All of it can be read again from the
//! store.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};

use outlay::Problem;
use outlay::campaign::RoundPlanner;

use super::campaign_state::{MOST_UNSEEN, State, Unseen};
use super::learning::{Learnt, learnt, problem_of};
use super::open_rounds::OpenRounds;
use super::solvers::SolveTime;
use super::spec::CampaignSpec;
use super::views::CampaignTag;
use crate::api::CampaignState;
use crate::store::{CampaignRow, CampaignSnapshot, Millis, SplitRow, Standing, Store, StoreError};

/// A planner, and the settings that it was built from. Others may be in force by now.
#[derive(Debug)]
pub(super) struct Planner {
    pub(super) rounds: RoundPlanner,
    pub(super) spec: Arc<CampaignSpec>,
}

/// One campaign.
#[derive(Debug)]
pub(super) struct CachedCampaign {
    pub(super) id: String,
    /// Replaced when the campaign is amended.
    spec: RwLock<Arc<CampaignSpec>>,
    /// The problems of open rounds that were issued before an amendment, by the number of amendments
    /// before them.
    past: Mutex<BTreeMap<u64, Problem>>,
    state: Mutex<State>,
    /// Decides the splits. A search holds this lock, possibly for seconds, and locks the state only
    /// briefly: reports and the writer need the state and never wait for the planner.
    pub(super) planner: Arc<tokio::sync::Mutex<Planner>>,
    /// The campaign as it was shown last, with the split that took a search.
    shown: Mutex<Option<(CampaignTag, Arc<CampaignState>)>>,
    pub(super) solve_time: SolveTime,
    /// The planner must be rebuilt from the store, because an outcome that it has learned from was
    /// corrected.
    is_outdated: Arc<AtomicBool>,
    /// The campaign was deleted; nothing of it is written any more.
    is_deleted: Arc<AtomicBool>,
    /// The campaign was amended, and `spec` is that of an earlier problem.
    is_amended: Arc<AtomicBool>,
    /// Locked for writing while the counts are read, and for reading from before a transaction
    /// until it is applied in memory. Otherwise counts that are read could contain a committed
    /// transaction that is then added again.
    reading: RwLock<()>,
    /// Counts writes by this process, for streams that wait for events.
    changes: tokio::sync::watch::Sender<u64>,
    /// Held by the one request that reads the counts again; others wait for it.
    refreshing: tokio::sync::Mutex<()>,
}

/// What was learned from the store, with the settings.
type LearntAgain = (Learnt, Standing, Option<Arc<SplitRow>>, Arc<CampaignSpec>);

/// Largest number of earlier problems in memory.
const MOST_PAST: usize = 8;
/// How often a planner is built again because the campaign was amended meanwhile.
const REBUILDS: usize = 16;

/// If other processes also write: open rounds are checked for outcomes reported elsewhere when the
/// last check is this old.
const LOOK_ELSEWHERE: Millis = 1000;

impl CachedCampaign {
    /// Reads a campaign from the store.
    pub(super) fn load(
        store: &dyn Store,
        row: CampaignRow,
        spec: CampaignSpec,
        now: Millis,
    ) -> Result<Self, StoreError> {
        let spec = Arc::new(spec);
        let (Learnt { planner, .. }, standing, last) = learnt(store, &row.id, &spec)?;
        let rounds = OpenRounds::new(store.open_rounds(&row.id, now)?);
        let id = row.id.clone();
        let learns_from_order = !spec.learner.is_count_based();
        let is_outdated = Arc::new(AtomicBool::new(false));
        let outdated = Arc::clone(&is_outdated);
        let is_deleted = Arc::new(AtomicBool::new(false));
        let is_amended = Arc::new(AtomicBool::new(false));
        let state = State {
            // The settings have it.
            row: CampaignRow { problem: None, ..row },
            standing,
            unseen: Unseen::default(),
            rebuilt_from: 0,
            spare: None,
            read_at: now,
            rounds,
            looked_elsewhere: now,
            last,
            on_their_way: 0,
            learns_from_order,
            converts_rewards: spec.converts_rewards(),
            is_outdated: outdated,
            is_deleted: Arc::clone(&is_deleted),
            is_amended: Arc::clone(&is_amended),
        };
        Ok(Self {
            id,
            state: Mutex::new(state),
            planner: Arc::new(tokio::sync::Mutex::new(Planner {
                rounds: planner,
                spec: Arc::clone(&spec),
            })),
            shown: Mutex::default(),
            solve_time: SolveTime::expected(&spec.problem),
            spec: RwLock::new(spec),
            past: Mutex::default(),
            is_outdated,
            is_deleted,
            is_amended,
            reading: RwLock::default(),
            changes: tokio::sync::watch::Sender::new(0),
            refreshing: tokio::sync::Mutex::default(),
        })
    }

    /// The settings.
    pub(super) fn spec(&self) -> Arc<CampaignSpec> {
        Arc::clone(&self.spec.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// True if the planner need not be rebuilt: it has learned everything, under these settings.
    pub(super) fn is_current(&self, planner: &Planner) -> bool {
        !self.is_outdated() && planner.spec.amendments == self.spec().amendments
    }

    /// True if the settings must be read again.
    pub(super) fn is_amended(&self) -> bool {
        self.is_amended.load(Ordering::Acquire)
    }

    /// Reads the settings again after an amendment, also one by another process.
    pub(super) fn read_amendment(&self, store: &dyn Store) -> Result<(), StoreError> {
        let created_at = self.state().row.created_at;
        let row = store.campaign(&self.id)?.filter(|row| row.created_at == created_at);
        let Some(row) = row else {
            self.is_deleted.store(true, Ordering::Release);
            store.forget_campaign(&self.id);
            let what = format!("campaign {} was deleted", self.id);
            return Err(StoreError { what, is_fatal: false });
        };
        {
            let mut state = self.state();
            if row.version > state.row.version {
                (state.row.status, state.row.version, state.row.changed_at) =
                    (row.status, row.version, row.changed_at);
            }
        }
        if row.amendments <= self.spec().amendments && !self.is_amended() {
            return Ok(());
        }
        let spec = CampaignSpec::of_row(&row).map_err(|refused| StoreError {
            what: format!("campaign {}: {}", self.id, refused.detail),
            is_fatal: false,
        })?;
        let mut state = self.state();
        if row.amendments > state.row.amendments {
            state.amended(row.amendments, row.tasks as usize);
        }
        state.converts_rewards = spec.converts_rewards();
        self.solve_time.reset(&spec.problem);
        let is_present = spec.amendments == state.row.amendments;
        *self.spec.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(spec);
        self.is_amended.store(!is_present, Ordering::Release);
        Ok(())
    }

    /// The settings, with at least this many tasks.
    pub(super) fn spec_with(
        &self,
        store: &dyn Store,
        tasks: usize,
    ) -> Result<Arc<CampaignSpec>, StoreError> {
        if self.is_amended() || self.spec().problem.tasks().len() < tasks {
            self.read_amendment(store)?;
        }
        Ok(self.spec())
    }

    /// The problem after this number of amendments, fewer than now.
    pub(super) fn past_problem(
        &self,
        store: &dyn Store,
        amendments: u64,
    ) -> Result<Problem, StoreError> {
        let past = || self.past.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(problem) = past().get(&amendments) {
            return Ok(problem.clone());
        }
        let spec = self.spec();
        let problem = if amendments == 0 {
            let first = CampaignRow { problem: None, ..self.state().row.clone() };
            let first = CampaignSpec::of_row(&first).map_err(|refused| StoreError {
                what: format!("campaign {}: {}", self.id, refused.detail),
                is_fatal: false,
            })?;
            first.problem
        } else {
            problem_of(store, &self.id, &spec, amendments)?
        };
        let mut past = past();
        if past.len() >= MOST_PAST {
            past.pop_first();
        }
        past.insert(amendments, problem.clone());
        Ok(problem)
    }

    /// True if the planner must be rebuilt; does not wait for the state.
    pub(super) fn is_outdated(&self) -> bool {
        self.is_outdated.load(Ordering::Acquire)
    }

    /// Notifies about writes by this process.
    pub(super) fn changes(&self) -> tokio::sync::watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Records a write.
    pub(super) fn note_change(&self) {
        if self.changes.receiver_count() > 0 {
            self.changes.send_modify(|count| *count += 1);
        }
    }

    /// Whether the campaign was deleted.
    pub(super) fn is_deleted(&self) -> bool {
        self.is_deleted.load(Ordering::Acquire)
    }

    /// Another process has deleted the campaign. The store rejects commands that are still on their
    /// way; only after that may another campaign with this id be looked up.
    pub(super) fn set_deleted(&self, store: &dyn Store) {
        self.is_deleted.store(true, Ordering::Release);
        let _alone = self.reading.write().unwrap_or_else(PoisonError::into_inner);
        store.forget_campaign(&self.id);
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// While this is held, the counts are not read. Callers that hold several take them in the
    /// order of [`address`](Self::address).
    pub(super) fn keep_from_reading(&self) -> RwLockReadGuard<'_, ()> {
        self.reading.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// A total order of the campaigns in memory.
    pub(super) fn address(self: &Arc<Self>) -> usize {
        Arc::as_ptr(self).addr()
    }

    /// Lets one request at a time read the writes of others.
    pub(super) async fn refreshing(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.refreshing.lock().await
    }

    /// Reads counts and rounds that other processes may have written.
    pub(super) fn refresh(&self, store: &dyn Store, now: Millis) -> Result<(), StoreError> {
        let _alone = self.reading.write().unwrap_or_else(PoisonError::into_inner);
        let known = self.state().last.as_ref().map_or(0, |last| last.rounds.start);
        let created_at = self.state().row.created_at;
        let snapshot = store.snapshot(&self.id, known)?;
        let Some(snapshot) = snapshot.filter(|snapshot| snapshot.created_at == created_at) else {
            self.is_deleted.store(true, Ordering::Release);
            store.forget_campaign(&self.id);
            return Ok(());
        };
        let CampaignSnapshot {
            status,
            version,
            amendments,
            changed_at,
            standing,
            last_split: last,
            ..
        } = snapshot;
        let mut state = self.state();
        if amendments > state.row.amendments {
            state.amended(amendments, standing.tasks.len());
        }
        if version >= state.row.version {
            (state.row.status, state.row.version, state.row.changed_at) =
                (status, version, changed_at);
        }
        if state.learns_from_order {
            // Only the store knows the order of the writes of others.
            if standing != state.standing || last.is_some() {
                state.invalidate();
            }
            state.read_at = now;
            return Ok(());
        }
        if standing != state.standing {
            state.unseen.recount();
            state.set_standing(standing);
        }
        if let Some(last) = last {
            let last = Arc::new(last);
            state.unseen.round = Some(Arc::clone(&last));
            state.last = Some(last);
        }
        state.read_at = now;
        Ok(())
    }

    /// True if it is time to look for outcomes reported elsewhere. Returns true once.
    pub(super) fn is_to_look_elsewhere(&self, now: Millis) -> bool {
        let mut state = self.state();
        // Also true if the clock has gone back.
        let is_due = !(0..LOOK_ELSEWHERE).contains(&(now - state.looked_elsewhere));
        if is_due {
            state.looked_elsewhere = now;
        }
        is_due
    }

    /// Removes rounds that were reported elsewhere. Otherwise a client that requests rounds here
    /// and reports there would soon exceed the limit of open rounds.
    pub(super) fn look_elsewhere(&self, store: &dyn Store) -> Result<(), StoreError> {
        let waiting = self.state().rounds.waiting();
        if waiting.is_empty() {
            return Ok(());
        }
        let complete = store.complete_rounds(&self.id, &waiting)?;
        let mut state = self.state();
        complete.into_iter().for_each(|round| state.rounds.complete(round));
        Ok(())
    }

    /// Rebuilds the planner from the store.
    pub(super) fn rebuild(
        &self,
        planner: &mut Planner,
        store: &dyn Store,
    ) -> Result<(), StoreError> {
        if store.is_shared() {
            // No writes meanwhile, because the writes of others must be ordered among them.
            let _alone = self.reading.write().unwrap_or_else(PoisonError::into_inner);
            let (learnt, standing, last, spec) = self.learn_again(store)?;
            let mut state = self.state();
            *planner = Planner { rounds: learnt.planner, spec };
            state.set_standing(standing);
            state.last = last;
            (state.unseen, state.rebuilt_from) = (Unseen::default(), learnt.version);
            state.is_outdated.store(false, Ordering::Release);
            return Ok(());
        }
        // Corrections from here on make it outdated again.
        self.is_outdated.store(false, Ordering::Release);
        let rebuilt = self.learn_again(store);
        let (learnt, _, last, spec) = rebuilt.inspect_err(|_| self.state().invalidate())?;
        *planner = Planner { rounds: learnt.planner, spec };
        let mut state = self.state();
        state.last = last;
        if state.learns_from_order {
            // Memory applies writes in the order of the store.
            state.rebuilt_from = learnt.version;
        } else {
            state.unseen.recount();
        }
        Ok(())
    }

    /// Learns from the store, under the settings that are in force at the end.
    fn learn_again(&self, store: &dyn Store) -> Result<LearntAgain, StoreError> {
        for _ in 0..REBUILDS {
            self.read_amendment(store)?;
            let spec = self.spec();
            let learnt = learnt(store, &self.id, &spec);
            let row = store.campaign(&self.id)?;
            if row.is_some_and(|row| row.amendments == spec.amendments) {
                return learnt.map(|(learnt, standing, last)| (learnt, standing, last, spec));
            }
        }
        let what = format!("campaign {} is being amended all the time", self.id);
        Err(StoreError { what, is_fatal: false })
    }

    /// Lets the planner learn pending data if it is idle, so that the pending data stays bounded.
    pub(super) fn relieve(&self, state: &mut State) {
        if state.unseen.outcomes.len() < MOST_UNSEEN {
            return;
        }
        if !state.learns_from_order {
            state.unseen.recount();
        } else if let Ok(mut planner) = self.planner.try_lock()
            && {
                let spec = Arc::clone(&planner.spec);
                state.take_unseen(&spec).teach(&mut planner.rounds).is_err()
            }
        {
            state.invalidate();
        }
    }

    /// The campaign as it was shown last, if nothing has changed since.
    pub(super) fn shown(&self, tag: CampaignTag) -> Option<Arc<CampaignState>> {
        let shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let same = shown.as_ref().filter(|(shown, _)| *shown == tag && !self.is_outdated());
        same.map(|(_, state)| Arc::clone(state))
    }

    pub(super) fn set_shown(&self, tag: CampaignTag, state: &Arc<CampaignState>) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        *shown = Some((tag, Arc::clone(state)));
    }
}
