//! Lets a planner learn a campaign from the store.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use outlay::campaign::{CampaignError, RoundConditions, RoundPlanner};
use outlay::feedback::{Completions, Outcome as Observed, Reward};

use super::spec::CampaignSpec;
use crate::store::{Event, EventKind, Outcome, Split, SplitRow, Standing, Store, StoreError};

/// Events read at once.
const PAGE: usize = 1000;
/// Tasks in them; an event may contain all tasks.
const PAGE_TASKS: usize = 100_000;

/// An outcome as the learner sees it.
pub(super) fn observed(outcome: Outcome) -> Observed {
    let Outcome { completions, reward, .. } = outcome;
    // Only an import could bring a sum of rewards that its completions cannot have.
    let most = completions.saturating_mul(Reward::UNITS);
    Observed::of(Completions::new(completions, reward.min(most)).unwrap_or_default())
}

/// Completions and their sums of rewards.
pub(super) fn counts(standing: &Standing) -> (Vec<u64>, Vec<u64>) {
    standing.tasks.iter().map(|count| (count.completions, count.reward_sum)).unzip()
}

fn set_counts(planner: &mut RoundPlanner, standing: &Standing) -> Result<(), CampaignError> {
    let (completions, sums) = counts(standing);
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

/// The conditions of a round.
pub(super) fn conditions(split: &Split) -> RoundConditions<'_> {
    RoundConditions {
        budget: split.budget,
        available: split.available.as_deref(),
        scale: split.scale.as_deref(),
        volume: split.volume.as_deref(),
    }
}

/// Replays a round.
pub(super) fn replay_round(
    planner: &mut RoundPlanner,
    row: &SplitRow,
) -> Result<(), CampaignError> {
    planner.replay_round(row.rounds.start, &conditions(&row.split), &row.split.spend)
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
