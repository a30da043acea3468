//! Replaces old rounds by their counts and removes the rows of deleted campaigns, in small steps,
//! so that requests are hardly affected.

use std::ops::ControlFlow;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use outlay::learner::LearnerSpec;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::CampaignService;
use super::spec::CampaignSpec;
use crate::api::NewCampaign;
use crate::error::ApiError;
use crate::store::{CampaignRow, Compaction, Millis, Store, StoreError};

/// Approximate number of outcomes per transaction: about ten milliseconds.
const OUTCOMES_AT_ONCE: u64 = 20_000;
/// Largest number of rounds per transaction.
const ROUNDS_AT_ONCE: u64 = 2000;
/// Rows of deleted campaigns that are removed per transaction.
const ROWS_AT_ONCE: usize = 5000;
/// Campaigns read at once; each contains a problem, which may be large.
const CAMPAIGNS_AT_ONCE: usize = 20;
/// Free space is released if it exceeds this number of bytes and this part of the file; less is
/// reused by the next rounds.
const MOST_FREE_BYTES: u64 = 16 << 20;
const MOST_FREE_PART: u64 = 5;
/// After each step the thread pauses this many times as long as the step took.
const REST: u32 = 4;
const LEAST_REST: Duration = Duration::from_millis(5);
/// The longest and shortest time between two searches for old rounds.
const INTERVAL: Duration = Duration::from_secs(3600);
const LEAST_INTERVAL: Duration = Duration::from_secs(1);
/// Searches for old rounds within the retention time.
const LOOKS: u32 = 24;

/// A sweep over a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sweep {
    /// The present time.
    pub now: Millis,
    /// Rounds are kept this long after they have expired; absent: forever.
    pub retain: Option<Duration>,
    /// Only count; change nothing.
    pub is_dry_run: bool,
}

/// Result of a sweep.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
pub struct SweepReport {
    /// Rounds that were replaced by their counts.
    pub rounds: u64,
    /// Their outcomes. A dry run does not count them.
    pub outcomes: u64,
    /// Rows of deleted campaigns that were removed.
    pub removed_rows: u64,
    /// Bytes that were returned to the file system.
    pub released_bytes: u64,
    /// Campaigns whose rounds must all be kept.
    pub kept: Vec<KeptCampaign>,
    /// Whether everything was done; if not, call again.
    pub is_done: bool,
}

/// A campaign whose rounds must all be kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct KeptCampaign {
    /// Its id.
    pub id: String,
    /// The reason.
    pub why: String,
}

/// Compacts old rounds and removes the rows of deleted campaigns. `pace` is called after every step
/// with its duration, and may pause or stop the sweep.
///
/// # Errors
/// If the store cannot be read or written. Earlier steps stay done.
pub fn sweep(
    store: &dyn Store,
    sweep: &Sweep,
    pace: &mut dyn FnMut(Duration) -> ControlFlow<()>,
) -> Result<SweepReport, StoreError> {
    let mut report = SweepReport::default();
    let ended = work(store, sweep, pace, &mut report)?;
    report.is_done = ended.is_continue();
    Ok(report)
}

type Pace<'a> = dyn FnMut(Duration) -> ControlFlow<()> + 'a;

fn work(
    store: &dyn Store,
    sweep: &Sweep,
    pace: &mut Pace<'_>,
    report: &mut SweepReport,
) -> Result<ControlFlow<()>, StoreError> {
    if !sweep.is_dry_run && purge(store, pace, report)?.is_break() {
        return Ok(ControlFlow::Break(()));
    }
    if let Some(retain) = sweep.retain
        && compact_all(store, sweep, retain, pace, report)?.is_break()
    {
        return Ok(ControlFlow::Break(()));
    }
    if sweep.is_dry_run {
        return Ok(ControlFlow::Continue(()));
    }
    release(store, pace, report)
}

fn purge(
    store: &dyn Store,
    pace: &mut Pace<'_>,
    report: &mut SweepReport,
) -> Result<ControlFlow<()>, StoreError> {
    loop {
        let begun = Instant::now();
        let removed = store.purge(ROWS_AT_ONCE)?;
        report.removed_rows += removed;
        if removed == 0 {
            return Ok(ControlFlow::Continue(()));
        }
        if pace(begun.elapsed()).is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
}

fn compact_all(
    store: &dyn Store,
    sweep: &Sweep,
    retain: Duration,
    pace: &mut Pace<'_>,
    report: &mut SweepReport,
) -> Result<ControlFlow<()>, StoreError> {
    let mut after: Option<String> = None;
    loop {
        let page = store.campaigns(after.as_deref(), CAMPAIGNS_AT_ONCE)?;
        for row in &page {
            let compaction = match compaction(row, sweep, retain) {
                Ok(compaction) => compaction,
                Err(why) => {
                    report.kept.push(KeptCampaign { id: row.id.clone(), why: why.to_owned() });
                    continue;
                }
            };
            if compact(store, &compaction, pace, report)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        match page.into_iter().next_back() {
            Some(last) => after = Some(last.id),
            None => return Ok(ControlFlow::Continue(())),
        }
    }
}

fn compact(
    store: &dyn Store,
    compaction: &Compaction,
    pace: &mut Pace<'_>,
    report: &mut SweepReport,
) -> Result<ControlFlow<()>, StoreError> {
    loop {
        let begun = Instant::now();
        let compacted = store.compact(compaction)?;
        report.rounds += compacted.rounds;
        report.outcomes += compacted.outcomes;
        if compacted.rounds == 0 {
            return Ok(ControlFlow::Continue(()));
        }
        if pace(begun.elapsed()).is_break() {
            return Ok(ControlFlow::Break(()));
        }
        if compacted.is_done {
            return Ok(ControlFlow::Continue(()));
        }
    }
}

/// The part of a campaign that may be compacted, or the reason why nothing may.
fn compaction(
    row: &CampaignRow,
    sweep: &Sweep,
    retain: Duration,
) -> Result<Compaction, &'static str> {
    let request: NewCampaign =
        serde_json::from_str(&row.spec).map_err(|_| "its settings cannot be read")?;
    let learner = request.learner.as_deref().map_or(Ok(LearnerSpec::default()), str::parse);
    let learner = learner.map_err(|_| "its learner is unknown")?;
    if !learner.is_count_based() {
        return Err("its learner needs every round, not only the counts");
    }
    let has_guards = request.guards.is_some_and(|guards| !guards.is_empty());
    let keep_last = if has_guards {
        let spec = CampaignSpec::of_row(row).map_err(|_| "its settings cannot be read")?;
        Some(spec.full_split())
    } else {
        None
    };
    let retain = Millis::try_from(retain.as_millis()).unwrap_or(Millis::MAX);
    let tasks = u64::from(row.tasks.max(1));
    let at_once = (OUTCOMES_AT_ONCE / tasks).clamp(1, ROUNDS_AT_ONCE);
    Ok(Compaction {
        campaign: row.id.clone(),
        expired_before: sweep.now.saturating_sub(retain),
        keep_last,
        most_rounds: if sweep.is_dry_run { u64::MAX } else { at_once },
        is_dry_run: sweep.is_dry_run,
        at: sweep.now,
    })
}

fn release(
    store: &dyn Store,
    pace: &mut Pace<'_>,
    report: &mut SweepReport,
) -> Result<ControlFlow<()>, StoreError> {
    loop {
        let size = store.size()?;
        if size.free < MOST_FREE_BYTES.max(size.bytes / MOST_FREE_PART) {
            return Ok(ControlFlow::Continue(()));
        }
        let begun = Instant::now();
        let released = store.release_space()?;
        report.released_bytes += released;
        if released == 0 {
            return Ok(ControlFlow::Continue(()));
        }
        if pace(begun.elapsed()).is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
}

/// The background thread.
#[derive(Debug, Default)]
pub(super) struct Maintenance {
    signal: Arc<Signal>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// Next action of the thread.
#[derive(Debug, Default)]
struct Signal {
    state: Mutex<SignalState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct SignalState {
    is_woken: bool,
    is_stopped: bool,
}

impl Signal {
    fn state(&self) -> MutexGuard<'_, SignalState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for this long, or until it is stopped.
    fn rest(&self, time: Duration) -> ControlFlow<()> {
        let state = self.state();
        let waited = self.changed.wait_timeout_while(state, time, |state| !state.is_stopped);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if state.is_stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Waits for this long, or until there is work.
    fn wait(&self, time: Duration) -> ControlFlow<()> {
        let state = self.state();
        let is_idle = |state: &mut SignalState| !state.is_stopped && !state.is_woken;
        let waited = self.changed.wait_timeout_while(state, time, is_idle);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.is_woken = false;
        if state.is_stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

impl Maintenance {
    /// Signals that there are rows to remove.
    pub(super) fn wake(&self) {
        self.signal.state().is_woken = true;
        self.signal.changed.notify_all();
    }

    /// Stops the thread after the current step.
    pub(super) fn stop(&self) {
        self.signal.state().is_stopped = true;
        self.signal.changed.notify_all();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        thread.map(JoinHandle::join);
    }
}

impl CampaignService {
    /// Starts the thread that compacts rounds which expired longer ago than `retain`, and removes
    /// the rows of deleted campaigns. It ends with [`drain`](Self::drain).
    pub fn start_maintenance(&self, retain: Option<Duration>) {
        let maintenance = &self.shared.maintenance;
        let (store, clock) = (Arc::clone(self.store()), Arc::clone(self.clock()));
        let signal = Arc::clone(&maintenance.signal);
        let interval = retain.map_or(INTERVAL, |retain| retain / LOOKS);
        let interval = interval.clamp(LEAST_INTERVAL, INTERVAL);
        let run = move || {
            let mut wait = LEAST_INTERVAL;
            while signal.wait(wait).is_continue() {
                wait = interval;
                let wanted = Sweep { now: clock.now(), retain, is_dry_run: false };
                let mut pace = |took: Duration| signal.rest((took * REST).max(LEAST_REST));
                match sweep(store.as_ref(), &wanted, &mut pace) {
                    Ok(report) => log(&report),
                    Err(error) => tracing::warn!(%error, "old rounds could not be removed"),
                }
            }
        };
        let started = std::thread::Builder::new().name("maintenance".to_owned()).spawn(run);
        let thread = started.inspect_err(|error| tracing::warn!(%error, "no maintenance")).ok();
        *maintenance.thread.lock().unwrap_or_else(PoisonError::into_inner) = thread;
    }

    /// Compacts rounds and removes the rows of deleted campaigns now, for at most `time`.
    ///
    /// # Errors
    /// If the store cannot be read or written.
    pub async fn sweep(
        &self,
        retain: Duration,
        is_dry_run: bool,
        time: Duration,
    ) -> Result<SweepReport, ApiError> {
        let wanted = Sweep { now: self.now(), retain: Some(retain), is_dry_run };
        let report = self.read("", move |store, _| {
            let begun = Instant::now();
            sweep(store, &wanted, &mut |took| {
                std::thread::sleep(took.max(LEAST_REST));
                if begun.elapsed() < time {
                    ControlFlow::Continue(())
                } else {
                    ControlFlow::Break(())
                }
            })
        });
        let report = report.await?;
        log(&report);
        Ok(report)
    }
}

fn log(report: &SweepReport) {
    let SweepReport { rounds, outcomes, removed_rows, released_bytes, .. } = report;
    if rounds + removed_rows + released_bytes > 0 {
        tracing::info!(rounds, outcomes, removed_rows, released_bytes, "old rounds removed");
    }
}
