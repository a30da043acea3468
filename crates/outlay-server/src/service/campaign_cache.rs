//! A campaign in memory: planner, counts and open rounds. All of it can be read again from the
//! store.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};

use outlay::Allocation;
use outlay::campaign::{CampaignError, RoundConditions, RoundPlanner};
use outlay::feedback::{Outcome as Observed, Reward};

use super::open_rounds::OpenRounds;
use super::solvers::SolveTime;
use super::spec::CampaignSpec;
use super::views::CampaignTag;
use crate::api::CampaignState;
use crate::store::{
    Ask, CampaignRow, CampaignSnapshot, Command, Correction, Done, Event, EventKind, Millis,
    Outcome, Split, SplitRow, Standing, Store, StoreError, Tell,
};

/// One campaign.
#[derive(Debug)]
pub(super) struct CachedCampaign {
    pub(super) id: String,
    pub(super) spec: CampaignSpec,
    state: Mutex<State>,
    /// Decides the splits. A search holds this lock, possibly for seconds, and locks the state only
    /// briefly: reports and the writer need the state and never wait for the planner.
    pub(super) planner: Arc<tokio::sync::Mutex<RoundPlanner>>,
    /// The campaign as it was shown last, with the split that took a search.
    shown: Mutex<Option<(CampaignTag, Arc<CampaignState>)>>,
    pub(super) solve_time: SolveTime,
    /// The planner must be rebuilt from the store, because an outcome that it has learned from was
    /// corrected.
    is_outdated: Arc<AtomicBool>,
    /// The campaign was deleted; nothing of it is written any more.
    is_deleted: Arc<AtomicBool>,
    /// Locked for writing while the counts are read, and for reading from before a transaction
    /// until it is applied in memory. Otherwise counts that are read could contain a committed
    /// transaction that is then added again.
    reading: RwLock<()>,
    /// Counts writes by this process, for streams that wait for events.
    changes: tokio::sync::watch::Sender<u64>,
    /// Held by the one request that reads the counts again; others wait for it.
    refreshing: tokio::sync::Mutex<()>,
}

/// If other processes also write: open rounds are checked for outcomes reported elsewhere when the
/// last check is this old.
const LOOK_ELSEWHERE: Millis = 1000;

/// Mutable state.
#[derive(Debug)]
pub(super) struct State {
    pub(super) row: CampaignRow,
    pub(super) standing: Standing,
    unseen: Unseen,
    /// The version of the counts from which the planner was rebuilt; it has learned everything
    /// before.
    rebuilt_from: u64,
    /// Round ids that were taken for a split that was not found.
    spare: Option<Range<u64>>,
    /// Time when the counts were read from a store to which others also write.
    pub(super) read_at: Millis,
    pub(super) rounds: OpenRounds,
    /// Time of the last check for outcomes reported elsewhere.
    looked_elsewhere: Millis,
    pub(super) last: Option<Arc<SplitRow>>,
    /// Rounds on their way to the store, not yet in the counts.
    on_their_way: u64,
    /// The learner needs more than the counts.
    learns_from_order: bool,
    is_outdated: Arc<AtomicBool>,
    is_deleted: Arc<AtomicBool>,
}

/// Data that the planner has not learned yet.
#[derive(Debug, Default)]
pub(super) struct Unseen {
    /// Everything, from the counts.
    is_recount_due: bool,
    outcomes: Vec<UnseenOutcome>,
    /// A round that was issued elsewhere.
    round: Option<Arc<SplitRow>>,
}

#[derive(Debug)]
struct UnseenOutcome {
    task: usize,
    spend: f64,
    outcome: Outcome,
    /// The version of the counts that it created.
    version: u64,
}

/// Up to this many outcomes are learned one by one; more are learned from the counts if these
/// suffice.
const MOST_UNSEEN: usize = 4096;

/// Events read at once.
const PAGE: usize = 1000;
/// Tasks in them; an event may contain all tasks.
const PAGE_TASKS: usize = 100_000;

impl CachedCampaign {
    /// Reads a campaign from the store.
    pub(super) fn load(
        store: &dyn Store,
        row: CampaignRow,
        spec: CampaignSpec,
        now: Millis,
    ) -> Result<Self, StoreError> {
        let (Learnt { planner, .. }, standing, last) = learnt(store, &row.id, &spec)?;
        let rounds = OpenRounds::new(store.open_rounds(&row.id, now)?);
        let id = row.id.clone();
        let learns_from_order = !spec.learner.is_count_based();
        let is_outdated = Arc::new(AtomicBool::new(false));
        let outdated = Arc::clone(&is_outdated);
        let is_deleted = Arc::new(AtomicBool::new(false));
        let state = State {
            row,
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
            is_outdated: outdated,
            is_deleted: Arc::clone(&is_deleted),
        };
        Ok(Self {
            id,
            state: Mutex::new(state),
            planner: Arc::new(tokio::sync::Mutex::new(planner)),
            shown: Mutex::default(),
            solve_time: SolveTime::expected(&spec.problem),
            spec,
            is_outdated,
            is_deleted,
            reading: RwLock::default(),
            changes: tokio::sync::watch::Sender::new(0),
            refreshing: tokio::sync::Mutex::default(),
        })
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
        let CampaignSnapshot { status, version, changed_at, standing, last_split: last, .. } =
            snapshot;
        let mut state = self.state();
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
            state.standing = standing;
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
        planner: &mut RoundPlanner,
        store: &dyn Store,
    ) -> Result<(), StoreError> {
        if store.is_shared() {
            // No writes meanwhile, because the writes of others must be ordered among them.
            let _alone = self.reading.write().unwrap_or_else(PoisonError::into_inner);
            let created_at = self.state().row.created_at;
            if store.campaign(&self.id)?.is_none_or(|row| row.created_at != created_at) {
                self.is_deleted.store(true, Ordering::Release);
                store.forget_campaign(&self.id);
                let what = format!("campaign {} was deleted", self.id);
                return Err(StoreError { what, is_fatal: false });
            }
            let (learnt, standing, last) = learnt(store, &self.id, &self.spec)?;
            let mut state = self.state();
            (*planner, state.standing, state.last) = (learnt.planner, standing, last);
            (state.unseen, state.rebuilt_from) = (Unseen::default(), learnt.version);
            state.is_outdated.store(false, Ordering::Release);
            return Ok(());
        }
        // Corrections from here on make it outdated again.
        self.is_outdated.store(false, Ordering::Release);
        let rebuilt = learnt(store, &self.id, &self.spec);
        let (learnt, _, last) = rebuilt.inspect_err(|_| self.state().invalidate())?;
        *planner = learnt.planner;
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

    /// Lets the planner learn pending data if it is idle, so that the pending data stays bounded.
    pub(super) fn relieve(&self, state: &mut State) {
        if state.unseen.outcomes.len() < MOST_UNSEEN {
            return;
        }
        if !state.learns_from_order {
            state.unseen.recount();
        } else if let Ok(mut planner) = self.planner.try_lock()
            && state.take_unseen().teach(&mut planner).is_err()
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

impl Unseen {
    /// Marks everything to be learned from the counts.
    fn recount(&mut self) {
        self.is_recount_due = true;
        self.outcomes = Vec::new();
    }
}

/// Takes the pending data for the planner out of the state.
#[derive(Debug)]
pub(super) struct Lesson {
    counts: Option<(Vec<u64>, Vec<u64>)>,
    unseen: Unseen,
}

impl Lesson {
    pub(super) fn teach(self, planner: &mut RoundPlanner) -> Result<(), CampaignError> {
        if let Some((completions, sums)) = self.counts {
            planner.set_counts(&completions, &sums)?;
        }
        for UnseenOutcome { task, spend, outcome, .. } in self.unseen.outcomes {
            planner.observe(task, spend, observed(outcome))?;
        }
        self.unseen.round.map_or(Ok(()), |round| replay_round(planner, &round))
    }
}

impl State {
    /// Applies a committed change in memory.
    pub(super) fn apply_committed(&mut self, command: &Command, done: &Done) {
        match (command, done) {
            (Command::SetStatus(change), Done::StatusSet { version }) => {
                (self.row.status, self.row.version, self.row.changed_at) =
                    (change.to, *version, change.at);
            }
            (Command::Delete(_), Done::Deleted { .. }) => {
                self.is_deleted.store(true, Ordering::Release);
            }
            (Command::Ask(ask), Done::Asked) => self.asked(ask),
            (Command::Tell(tell), Done::Told { is_new, is_complete }) => {
                self.told(tell, is_new);
                if *is_complete {
                    self.rounds.complete(tell.round);
                }
            }
            (Command::Correct(correction), Done::Corrected { from }) => {
                self.corrected(correction, *from)
            }
            _ => {}
        }
    }

    /// The store rejected a command or could not carry it out.
    pub(super) fn rollback(&mut self, command: &Command) {
        if let Command::Ask(ask) = command {
            self.drop_split(&ask.rounds);
        }
    }

    /// Number of rounds that were issued or are about to be.
    pub(super) fn handed_out(&self) -> u64 {
        self.standing.rounds + self.on_their_way
    }

    /// The next round, as far as this process knows.
    pub(super) fn next_round(&self) -> u64 {
        self.last.as_ref().map_or(1, |last| last.rounds.end)
    }

    /// Pending data for the planner.
    pub(super) fn take_unseen(&mut self) -> Lesson {
        let mut unseen = std::mem::take(&mut self.unseen);
        unseen.outcomes.retain(|outcome| outcome.version > self.rebuilt_from);
        Lesson { counts: unseen.is_recount_due.then(|| counts(&self.standing)), unseen }
    }

    /// Round ids; those that were taken before and not used come first.
    pub(super) fn take_ids<E>(
        &mut self,
        count: u32,
        lease: impl FnOnce(u32) -> Result<Range<u64>, E>,
    ) -> Result<Range<u64>, E> {
        let count = u64::from(count);
        let Some(spare) = self.spare.take() else { return lease(count as u32) };
        let left = spare.end - spare.start;
        if left >= count {
            let ids = spare.start..spare.start + count;
            self.spare = (left > count).then_some(ids.end..spare.end);
            return Ok(ids);
        }
        // Only this process takes ids of this campaign, so these follow the others.
        lease((count - left) as u32).map(|more| spare.start..more.end)
    }

    /// Counts rounds as issued while their split is computed.
    pub(super) fn reserve(&mut self, rounds: &Range<u64>) {
        self.on_their_way += rounds.end - rounds.start;
    }

    /// No split was found for these rounds; they can be issued later.
    pub(super) fn give_back(&mut self, rounds: Range<u64>, is_shared: bool) {
        self.on_their_way -= rounds.end - rounds.start;
        if !is_shared {
            let end = self.spare.take().map_or(rounds.end, |spare| spare.end);
            self.spare = Some(rounds.start..end);
        }
    }

    /// The split that the planner has decided. As long as nothing is learned it stays the same and
    /// is stored once.
    pub(super) fn decided(
        &self,
        planner: &RoundPlanner,
        budget: f64,
        available: Option<Vec<bool>>,
    ) -> Arc<Split> {
        let (Allocation { spend, success, .. }, index) = (planner.last(), planner.weights());
        let is_same = |split: &Split| {
            split.budget.to_bits() == budget.to_bits()
                && split.available == available
                && [
                    (&split.spend[..], &spend[..]),
                    (&split.success, success),
                    (&split.index, index),
                ]
                .into_iter()
                .all(are_same)
        };
        match &self.last {
            Some(last) if is_same(&last.split) => Arc::clone(&last.split),
            _ => Arc::new(Split {
                budget,
                available,
                spend: spend.clone(),
                success: success.clone(),
                index: index.to_vec(),
            }),
        }
    }

    /// Applies a split that is about to be issued, for rounds that were [reserved](Self::reserve).
    pub(super) fn keep(&mut self, split: &Arc<SplitRow>) {
        self.rounds.hand_out(split);
        self.last = Some(Arc::clone(split));
    }

    /// The store could not save a split: it was not issued, but the guards and the learner know it.
    pub(super) fn drop_split(&mut self, rounds: &Range<u64>) {
        self.invalidate();
        self.on_their_way -= rounds.end - rounds.start;
        self.rounds.rollback(rounds);
    }

    /// The planner must be rebuilt from the store before the next decision.
    pub(super) fn invalidate(&self) {
        self.is_outdated.store(true, Ordering::Release);
    }

    fn asked(&mut self, ask: &Ask) {
        let count = ask.rounds.end - ask.rounds.start;
        self.on_their_way -= count;
        self.standing.rounds += count;
    }

    fn told(&mut self, tell: &Tell, is_new: &[bool]) {
        let split = self.rounds.split(tell.round);
        // Only the store knows its spend then.
        if split.is_none() && self.learns_from_order && is_new.contains(&true) {
            self.invalidate();
        }
        for (item, _) in tell.items.iter().zip(is_new).filter(|(_, is_new)| **is_new) {
            let task = item.task as usize;
            self.standing.tasks[task].add(item.outcome, item.expected);
            self.standing.version += 1;
            self.standing.late += u64::from(tell.is_late);
            if !self.unseen.is_recount_due {
                let spend = split.as_ref().map_or(0.0, |split| split.split.spend[task]);
                let (outcome, version) = (item.outcome, self.standing.version);
                self.unseen.outcomes.push(UnseenOutcome { task, spend, outcome, version });
            }
        }
    }

    fn corrected(&mut self, correction: &Correction, from: Outcome) {
        self.standing.tasks[correction.task as usize].correct(from, correction.to);
        self.standing.version += 1;
        if self.learns_from_order {
            self.invalidate();
        } else {
            self.unseen.recount();
        }
    }
}

/// True if numbers are bit-identical.
fn are_same((these, those): (&[f64], &[f64])) -> bool {
    these.len() == those.len()
        && these.iter().zip(those).all(|(this, that)| this.to_bits() == that.to_bits())
}

/// An outcome as the learner sees it.
fn observed(outcome: Outcome) -> Observed {
    if outcome.completed {
        Observed::Done(Reward::from_units(outcome.reward))
    } else {
        Observed::Failed
    }
}

/// Completions and their sums of rewards.
fn counts(standing: &Standing) -> (Vec<u64>, Vec<u64>) {
    standing.tasks.iter().map(|count| (count.completions, count.reward_sum)).unzip()
}

fn set_counts(planner: &mut RoundPlanner, standing: &Standing) -> Result<(), CampaignError> {
    let (completions, sums) = counts(standing);
    Ok(planner.set_counts(&completions, &sums)?)
}

/// A planner that has learned everything up to a version of the counts.
#[derive(Debug)]
struct Learnt {
    planner: RoundPlanner,
    version: u64,
}

fn damaged(campaign: &str, error: &CampaignError) -> StoreError {
    StoreError {
        what: format!("campaign {campaign}: the stored data is inconsistent: {error}"),
        is_fatal: false,
    }
}

/// Lets a planner learn a campaign from the store: from the counts if they suffice, otherwise from
/// all events.
fn learnt(
    store: &dyn Store,
    id: &str,
    spec: &CampaignSpec,
) -> Result<(Learnt, Standing, Option<Arc<SplitRow>>), StoreError> {
    let (standing, last) = (store.standing(id)?, store.last_split(id)?.map(Arc::new));
    let mut planner = spec.planner().map_err(|error| damaged(id, &error))?;
    let mut version = standing.version;
    if spec.learner.is_count_based() {
        set_counts(&mut planner, &standing).map_err(|error| damaged(id, &error))?;
    }
    // The guards compare with the last split in which each task was available.
    let has_all = last.as_ref().is_none_or(|last| last.split.available.is_none());
    if !spec.learner.is_count_based() || (!spec.guards.is_empty() && !has_all) {
        version = replay(store, id, spec, &mut planner)?;
    } else if let Some(last) = &last {
        replay_round(&mut planner, last).map_err(|error| damaged(id, &error))?;
    }
    Ok((Learnt { planner, version }, standing, last))
}

/// Replays all events; corrected outcomes count as corrected.
///
/// A split was decided before it was written, so writes in between came after the decision. The
/// number of outcomes that the split knew determines its position.
///
/// Returns the version of the counts that it reached.
fn replay(
    store: &dyn Store,
    id: &str,
    spec: &CampaignSpec,
    planner: &mut RoundPlanner,
) -> Result<u64, StoreError> {
    let mut corrected: HashMap<(u64, u32), Outcome> = HashMap::new();
    let mut splits: BTreeMap<u64, SplitRow> = BTreeMap::new();
    let page = PAGE.min(PAGE_TASKS / spec.problem.tasks().len().max(1)).max(1);
    each_event(store, id, page, |event| {
        match event.kind {
            EventKind::Asked(row) => drop(splits.insert(row.rounds.start, row)),
            EventKind::Corrected { round, task, to, .. } => {
                corrected.insert((round, task), to);
            }
            _ => {}
        }
        Ok(())
    })?;
    let mut decided = splits.values().peekable();
    // Compacted rounds are older than all events.
    let mut version = store.checkpoint(id)?.map_or(0, |checkpoint| checkpoint.version);
    let learns = !spec.learner.is_count_based();
    each_event(store, id, page, |event| {
        while let Some(row) = decided.next_if(|row| row.stats_version <= version) {
            replay_round(planner, row)?;
        }
        match event.kind {
            EventKind::Told { round, items, .. } => {
                version += items.len() as u64;
                items.into_iter().filter(|_| learns).try_for_each(|(task, outcome, _)| {
                    let outcome = corrected.get(&(round, task)).copied().unwrap_or(outcome);
                    let row = splits.range(..=round).next_back().map(|(_, row)| row);
                    let spend = row
                        .and_then(|row| row.split.spend.get(task as usize))
                        .copied()
                        .unwrap_or(0.0);
                    planner.observe(task as usize, spend, observed(outcome))
                })
            }
            EventKind::Corrected { .. } => {
                version += 1;
                Ok(())
            }
            _ => Ok(()),
        }
    })?;
    decided.try_for_each(|row| replay_round(planner, row)).map_err(|error| damaged(id, &error))?;
    Ok(version)
}

/// Replays a round.
fn replay_round(planner: &mut RoundPlanner, row: &SplitRow) -> Result<(), CampaignError> {
    let conditions = RoundConditions::new(row.split.budget, row.split.available.as_deref());
    planner.replay_round(row.rounds.start, &conditions, &row.split.spend)
}

fn each_event(
    store: &dyn Store,
    id: &str,
    page: usize,
    mut take: impl FnMut(Event) -> Result<(), CampaignError>,
) -> Result<(), StoreError> {
    let mut after = 0;
    loop {
        let page = store.events(id, after, page)?;
        let Some(last) = page.last() else { return Ok(()) };
        after = last.seq;
        for event in page {
            take(event).map_err(|error| damaged(id, &error))?;
        }
    }
}
