//! Stored data as the API shows it.

use outlay::Problem;
use outlay::campaign::{CampaignError, GuardReport, RoundConditions};
use outlay::feedback::Reward;
use outlay::problem::CompletionLaw;

use super::campaign_cache::{CachedCampaign, Planner};
use super::campaign_state::State;
use super::metrics::CampaignMetrics;
use super::outcomes::result;
use super::spec::CampaignSpec;
use crate::api::{
    CampaignState, CampaignSummary, EventEntry, GuardsState, Happening, RoundState, RoundStatus,
    RoundTask, Rounds, TaskSpend, TaskState,
};
use crate::clock::rfc3339;
use crate::store::{
    CampaignRow, CampaignStatus, Event, EventKind, Millis, RoundRow, SplitRow, Standing,
};

fn shares(billionths: u64) -> f64 {
    billionths as f64 / Reward::UNITS as f64
}

/// Age of the counts.
pub(super) fn age(read_at: Millis, now: Millis, is_shared: bool) -> u64 {
    if is_shared { u64::try_from(now - read_at).unwrap_or(0) } else { 0 }
}

/// The shown state of a campaign changes only with this.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CampaignTag {
    version: u64,
    rounds: u64,
    stats_version: u64,
    open_rounds: u64,
    next_round: u64,
}

/// The part of it that clients see: an `ETag` without its quotes.
impl std::fmt::Display for CampaignTag {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { version, rounds, stats_version, open_rounds, .. } = self;
        write!(formatter, "{version}.{rounds}.{stats_version}.{open_rounds}")
    }
}

pub(super) fn tag(state: &mut State, now: Millis) -> CampaignTag {
    CampaignTag {
        version: state.row.version,
        rounds: state.standing.rounds,
        stats_version: state.standing.version,
        open_rounds: state.rounds.count_waiting(now) as u64,
        next_round: state.next_round(),
    }
}

/// The counts of a campaign at one moment.
#[derive(Debug)]
pub(super) struct Snapshot {
    pub(super) tag: CampaignTag,
    status: CampaignStatus,
    created_at: Millis,
    pub(super) read_at: Millis,
    standing: Standing,
}

impl Snapshot {
    pub(super) fn new(state: &mut State, now: Millis) -> Self {
        Self {
            tag: tag(state, now),
            status: state.row.status,
            created_at: state.row.created_at,
            read_at: state.read_at,
            standing: state.standing.clone(),
        }
    }
}

/// The state of a campaign with its next split.
pub(super) fn campaign(
    cached: &CachedCampaign,
    snapshot: Snapshot,
    planner: &mut Planner,
    age: u64,
) -> Result<CampaignState, CampaignError> {
    let Planner { rounds: planner, spec } = planner;
    let Snapshot { tag, status, created_at, standing, .. } = snapshot;
    let next =
        planner.preview(tag.next_round, &RoundConditions::new(spec.problem.budget(), None))?;
    let (spend, success) = (next.spend.clone(), next.success.clone());
    let index = (!spec.learner.chooses_allocation()).then(|| planner.weights());
    let (most, unit, reward_unit) =
        (spec.problem.reward_max(), spec.spend_unit(), spec.reward_unit());
    let guards = planner.guard_report().map(|report| guards(report, most));
    let tasks = spec.problem.tasks().iter().zip(&standing.tasks).enumerate().map(
        |(place, (task, count))| TaskState {
            task: task.name().to_owned(),
            retired: task.is_retired(),
            told: count.told,
            completions: count.completions,
            expected_completions: shares(count.expected),
            reward_sum: shares(count.reward_sum) * reward_unit,
            mean: (count.completions > 0)
                .then(|| shares(count.reward_sum) * reward_unit / count.completions as f64),
            index: index.map(|index| index[place] * most),
            spend: spend[place],
            success: success[place],
            seen: spec.seen(task),
            spent: (count.allocated > 0 || count.spent > 0).then(|| shares(count.spent) * unit),
            delivered: (count.allocated > 0).then(|| count.spent as f64 / count.allocated as f64),
        },
    );
    let (told, completions, expected) = totals(&standing.tasks);
    Ok(CampaignState {
        id: cached.id.clone(),
        status,
        version: tag.version,
        amendments: spec.amendments,
        learner: spec.learner.to_string(),
        horizon: spec.horizon,
        budget: spec.problem.budget(),
        reward_max: most,
        rounds: tag.rounds,
        open_rounds: tag.open_rounds,
        late: standing.late,
        stats_version: tag.stats_version,
        stats_age_ms: age,
        completions_over_expected: (told > 0 && expected > 0)
            .then(|| completions as f64 / shares(expected)),
        dispersion: dispersion(&spec.problem),
        created_at: rfc3339(created_at),
        guards,
        tasks: tasks.collect(),
    })
}

/// The variance of counts divided by their mean; a binomial count varies less than a Poisson count.
fn dispersion(problem: &Problem) -> Option<f64> {
    let law = problem.environment().completions;
    problem.has_counts().then_some(match law {
        Some(CompletionLaw::NegativeBinomial { dispersion }) => dispersion,
        _ => 1.0,
    })
}

fn guards(report: &GuardReport, most: f64) -> GuardsState {
    let &GuardReport { max_change, floor, min_move, kept, gave_way } = report;
    let [max_change_cost, floor_cost, min_move_cost] =
        [max_change, floor, min_move].map(|cost| cost.map(|cost| cost * most));
    GuardsState { max_change_cost, floor_cost, min_move_cost, kept: kept as u64, gave_way }
}

fn totals(tasks: &[crate::store::TaskCount]) -> (u64, u64, u64) {
    tasks.iter().fold((0, 0, 0), |(told, completions, expected), count| {
        (told + count.told, completions + count.completions, expected + count.expected)
    })
}

/// A campaign in a list.
pub(super) fn summary(row: &CampaignRow, learner: &str, rounds: u64) -> CampaignSummary {
    CampaignSummary {
        id: row.id.clone(),
        status: row.status,
        version: row.version,
        learner: learner.to_owned(),
        tasks: row.tasks,
        rounds,
        created_at: rfc3339(row.created_at),
    }
}

/// Metrics of a campaign.
pub(super) fn metrics(cached: &CachedCampaign, now: Millis, is_shared: bool) -> CampaignMetrics {
    let mut state = cached.state();
    let (_, completions, expected) = totals(&state.standing.tasks);
    CampaignMetrics {
        id: cached.id.clone(),
        open_rounds: state.rounds.count_waiting(now) as u64,
        completions,
        expected_completions: shares(expected),
        stats_age_ms: age(state.read_at, now, is_shared),
    }
}

/// Issued rounds.
pub(super) fn rounds(spec: &CampaignSpec, row: &SplitRow) -> Rounds {
    Rounds {
        rounds: row.rounds.clone().collect(),
        budget: row.split.budget,
        tasks: spends(spec, row),
        stats_version: row.stats_version,
        expires_at: rfc3339(row.expires_at),
    }
}

/// Available tasks, in order.
fn there<'a>(
    spec: &'a CampaignSpec,
    row: &'a SplitRow,
) -> impl Iterator<Item = (u32, TaskSpend)> + 'a {
    let split = &row.split;
    let is_there = |task: usize| split.available.as_ref().is_none_or(|available| available[task]);
    let of_round = |list: &Option<Vec<f64>>, task: usize| {
        list.as_ref().and_then(|list| list.get(task)).copied()
    };
    let tasks = spec.problem.tasks().iter().zip(&split.spend).enumerate();
    tasks.filter(move |(task, _)| is_there(*task)).map(move |(place, (task, &spend))| {
        let task = TaskSpend {
            task: task.name().to_owned(),
            spend,
            scale: of_round(&split.scale, place),
            volume: of_round(&split.volume, place),
        };
        (place as u32, task)
    })
}

fn spends(spec: &CampaignSpec, row: &SplitRow) -> Vec<TaskSpend> {
    there(spec, row).map(|(_, task)| task).collect()
}

/// A round with its outcomes.
pub(super) fn round(spec: &CampaignSpec, row: &RoundRow, now: Millis) -> RoundState {
    let tasks: Vec<RoundTask> = there(spec, &row.split)
        .map(|(place, TaskSpend { task, spend, scale, volume })| {
            let told = row
                .told
                .iter()
                .find(|(told, _)| *told == place)
                .map(|(_, outcome)| result(spec, place, *outcome));
            let empty = RoundTask { task, spend, scale, volume, ..RoundTask::default() };
            told.map_or(empty.clone(), |told| RoundTask {
                completed: told.completed,
                completions: told.completions,
                reward: told.reward,
                spent: told.spend,
                ..empty
            })
        })
        .collect();
    let is_told = |task: &RoundTask| task.completed.is_some() || task.completions.is_some();
    let status = if tasks.iter().all(is_told) {
        RoundStatus::Complete
    } else if now >= row.split.expires_at {
        RoundStatus::Expired
    } else {
        RoundStatus::Open
    };
    RoundState {
        round: row.round,
        status,
        budget: row.split.split.budget,
        stats_version: row.split.stats_version,
        asked_at: rfc3339(row.split.at),
        expires_at: rfc3339(row.split.expires_at),
        tasks,
    }
}

/// Number of tasks that an event is about, counted from the first.
pub(super) fn tasks_of(event: &Event) -> usize {
    let past = |task: &u32| *task as usize + 1;
    match &event.kind {
        EventKind::Asked(row) => row.split.spend.len(),
        EventKind::Told { items, .. } => {
            items.iter().map(|(task, ..)| past(task)).max().unwrap_or(0)
        }
        EventKind::Corrected { task, .. } => past(task),
        EventKind::Created | EventKind::StatusSet(_) | EventKind::Amended { .. } => 0,
    }
}

/// An event.
pub(super) fn event(spec: &CampaignSpec, event: Event) -> EventEntry {
    let what = match event.kind {
        EventKind::Created => Happening::Created,
        EventKind::StatusSet(status) => Happening::Status { status },
        // Only an import could bring changes that cannot be read.
        EventKind::Amended { changes, .. } => {
            Happening::Amended(serde_json::from_str(&changes).unwrap_or_default())
        }
        EventKind::Asked(row) => Happening::Asked {
            rounds: row.rounds.clone().collect(),
            budget: row.split.budget,
            tasks: spends(spec, &row),
            stats_version: row.stats_version,
            expires_at: rfc3339(row.expires_at),
        },
        EventKind::Told { round, items, is_late } => {
            let results =
                items.into_iter().map(|(task, outcome, _)| result(spec, task, outcome)).collect();
            Happening::Told { round, results, late: is_late }
        }
        EventKind::Corrected { round, task, from, to, why, .. } => Happening::Corrected {
            round,
            from: result(spec, task, from),
            to: result(spec, task, to),
            why,
        },
    };
    EventEntry { seq: event.seq, at: rfc3339(event.at), token: event.token, token_name: None, what }
}
