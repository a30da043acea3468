//! Lets a planner learn a campaign from the store.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use outlay::Problem;
use outlay::campaign::{CampaignError, RoundConditions, RoundPlanner};
use outlay::feedback::{Completions, Outcome as Observed, Reward};

use super::spec::{CampaignSpec, parse};
use crate::store::{
    Event, EventKind, Outcome, Split, SplitRow, Standing, Store, StoreError, TaskCount,
};

/// Events read at once.
const PAGE: usize = 1000;
/// Tasks in them; an event may contain all tasks.
const PAGE_TASKS: usize = 100_000;

/// An outcome as the learner sees it.
pub(super) fn observed(spec: &CampaignSpec, outcome: Outcome) -> Observed {
    let Outcome { completions, reward, .. } = outcome;
    let reward = spec.learner_rewards(reward, completions);
    // Only an import could bring a sum of rewards that its completions cannot have.
    let most = completions.saturating_mul(Reward::UNITS);
    Observed::of(Completions::new(completions, reward.min(most)).unwrap_or_default())
}

/// Completions and their sums of rewards, as the learner sees them.
pub(super) fn counts(spec: &CampaignSpec, standing: &Standing) -> (Vec<u64>, Vec<u64>) {
    let sums = |count: &TaskCount| {
        (count.completions, spec.learner_rewards(count.reward_sum, count.completions))
    };
    standing.tasks.iter().map(sums).unzip()
}

fn set_counts(
    planner: &mut RoundPlanner,
    spec: &CampaignSpec,
    standing: &Standing,
) -> Result<(), CampaignError> {
    let (completions, sums) = counts(spec, standing);
    Ok(planner.set_counts(&completions, &sums)?)
}

/// A planner that has learned everything up to a version of the counts.
#[derive(Debug)]
pub(super) struct Learnt {
    pub(super) planner: RoundPlanner,
    pub(super) version: u64,
}

fn damaged(campaign: &str, error: &CampaignError) -> StoreError {
    StoreError {
        what: format!("campaign {campaign}: the stored data is inconsistent: {error}"),
        is_fatal: false,
    }
}

/// Lets a planner learn a campaign from the store: from the counts if they suffice, otherwise from
/// all events.
pub(super) fn learnt(
    store: &dyn Store,
    id: &str,
    spec: &CampaignSpec,
) -> Result<(Learnt, Standing, Option<Arc<SplitRow>>), StoreError> {
    let (standing, last) = (store.standing(id)?, store.last_split(id)?.map(Arc::new));
    let mut planner = spec.planner().map_err(|error| damaged(id, &error))?;
    let mut version = standing.version;
    if spec.learner.is_count_based() {
        set_counts(&mut planner, spec, &standing).map_err(|error| damaged(id, &error))?;
    }
    // The guards compare with the last split in which each task was available.
    let has_all = last.as_ref().is_none_or(|last| last.is_full(spec.full_split()));
    if !spec.learner.is_count_based() || (!spec.guards.is_empty() && !has_all) {
        version = replay(store, id, spec, &mut planner)?;
    } else if let Some(last) = &last {
        replay_round(&mut planner, spec, last).map_err(|error| damaged(id, &error))?;
    }
    Ok((Learnt { planner, version }, standing, last))
}

/// Replays all events; corrected outcomes count as corrected.
///
/// A split was decided before it was written, so writes in between came after the decision. The
/// number of outcomes that the split knew determines its position. Splits of earlier problems come
/// before those of later ones.
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
    let mut guards = GuardReplay::new(store, id, spec);
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
    let mut ordered: Vec<&SplitRow> = splits.values().collect();
    ordered.sort_by_key(|row| row.amendments);
    let mut decided = ordered.into_iter().peekable();
    // Compacted rounds are older than all events.
    let mut version = store.checkpoint(id)?.map_or(0, |checkpoint| checkpoint.version);
    let learns = !spec.learner.is_count_based();
    each_event(store, id, page, |event| {
        while let Some(row) = decided.next_if(|row| row.stats_version <= version) {
            guards.replay(planner, row)?;
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
                    planner.observe(task as usize, spend, observed(spec, outcome))
                })
            }
            EventKind::Corrected { .. } => {
                version += 1;
                Ok(())
            }
            _ => Ok(()),
        }
    })?;
    decided.try_for_each(|row| guards.replay(planner, row)).map_err(|error| damaged(id, &error))?;
    guards.finish(planner)?;
    Ok(version)
}

/// Replays rounds of several versions of the problem, with the spends that the guards compare the
/// first spends of added tasks with.
struct GuardReplay<'a> {
    store: &'a dyn Store,
    id: &'a str,
    spec: &'a CampaignSpec,
    /// Number of tasks of the last round; none before the first.
    tasks: Option<usize>,
    /// Retired tasks by the number of amendments.
    retired: HashMap<u64, Vec<usize>>,
    failure: Option<StoreError>,
}

impl<'a> GuardReplay<'a> {
    fn new(store: &'a dyn Store, id: &'a str, spec: &'a CampaignSpec) -> Self {
        Self { store, id, spec, tasks: None, retired: HashMap::new(), failure: None }
    }

    fn replay(&mut self, planner: &mut RoundPlanner, row: &SplitRow) -> Result<(), CampaignError> {
        let tasks = row.split.spend.len();
        self.start_references(planner, tasks);
        replay_round(planner, self.spec, row)?;
        self.tasks = Some(tasks);
        if !self.spec.guards.is_empty() && row.amendments > 0 {
            for task in self.retired(row.amendments) {
                planner.set_reference_spend(task, 0.0);
            }
        }
        Ok(())
    }

    /// Sets the references of the tasks that were added since the last round.
    fn start_references(&self, planner: &mut RoundPlanner, tasks: usize) {
        // Before the first round, the reference is the `current` spend of each task.
        let Some(before) = self.tasks else { return };
        for task in before..tasks {
            let spend = self.spec.problem.tasks()[task].current().unwrap_or(0.0);
            planner.set_reference_spend(task, spend);
        }
    }

    /// The tasks that were retired after this number of amendments.
    fn retired(&mut self, amendments: u64) -> Vec<usize> {
        if let Some(retired) = self.retired.get(&amendments) {
            return retired.clone();
        }
        let found = problem_of(self.store, self.id, self.spec, amendments);
        let retired = match found {
            Ok(problem) => {
                let tasks = problem.tasks().iter().enumerate();
                tasks.filter(|(_, task)| task.is_retired()).map(|(place, _)| place).collect()
            }
            Err(error) => {
                self.failure.get_or_insert(error);
                Vec::new()
            }
        };
        self.retired.insert(amendments, retired.clone());
        retired
    }

    fn finish(mut self, planner: &mut RoundPlanner) -> Result<(), StoreError> {
        self.start_references(planner, self.spec.problem.tasks().len());
        self.failure.take().map_or(Ok(()), Err)
    }
}

/// The problem of a campaign after a positive number of amendments.
pub(super) fn problem_of(
    store: &dyn Store,
    id: &str,
    spec: &CampaignSpec,
    amendments: u64,
) -> Result<Problem, StoreError> {
    if amendments == spec.amendments {
        return Ok(spec.problem.clone());
    }
    let unreadable = |what: &str| StoreError {
        what: format!("campaign {id}: amendment {amendments} cannot be read: {what}"),
        is_fatal: false,
    };
    let text = store.problem(id, amendments)?.ok_or_else(|| unreadable("it is missing"))?;
    let document = serde_json::from_str(&text).map_err(|error| unreadable(&error.to_string()))?;
    parse(&document).map_err(|error| unreadable(&error.detail))
}

/// The conditions of a round.
pub(super) fn conditions(split: &Split) -> RoundConditions<'_> {
    RoundConditions {
        budget: split.budget,
        available: split.available.as_deref(),
        scale: split.scale.as_deref(),
        volume: split.volume.as_deref(),
    }
}

/// Replays a round. Tasks that were added later did not exist in it.
pub(super) fn replay_round(
    planner: &mut RoundPlanner,
    spec: &CampaignSpec,
    row: &SplitRow,
) -> Result<(), CampaignError> {
    let (split, tasks) = (&row.split, spec.problem.tasks().len());
    if split.spend.len() >= tasks {
        return planner.replay_round(row.rounds.start, &conditions(split), &split.spend);
    }
    let split = resized(split, tasks);
    planner.replay_round(row.rounds.start, &conditions(&split), &split.spend)
}

/// The same split with more tasks.
fn resized(split: &Split, tasks: usize) -> Split {
    let mut split = split.clone();
    let mut available = split.available.take().unwrap_or_else(|| vec![true; split.spend.len()]);
    available.resize(tasks, false);
    split.available = Some(available);
    for list in [&mut split.scale, &mut split.volume].into_iter().flatten() {
        list.resize(tasks, 1.0);
    }
    split.spend.resize(tasks, 0.0);
    split
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
