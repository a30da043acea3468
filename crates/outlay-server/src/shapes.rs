//! The JSON of requests and answers.

use outlay::campaign::Guards;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::store::CampaignStatus;

/// A campaign as a client asks for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewCampaign {
    /// The keys of a problem file.
    #[schema(value_type = crate::problem_file::ProblemFile)]
    pub problem: serde_json::Value,
    /// Who decides; `kl-ucb-plus` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learner: Option<String>,
    /// Rounds planned, for learners that must know; no more are handed out.
    #[serde(
        default,
        deserialize_with = "crate::whole::maybe",
        skip_serializing_if = "Option::is_none"
    )]
    #[schema(minimum = 1)]
    pub horizon: Option<u64>,
    /// For the learner's own draws; 1 if absent.
    #[serde(
        default,
        deserialize_with = "crate::whole::maybe",
        skip_serializing_if = "Option::is_none"
    )]
    pub seed: Option<u64>,
    /// What every split is held within.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<GuardsShape>)]
    pub guards: Option<Guards>,
    /// After so many seconds a round is given up for lost; a day if absent.
    #[serde(
        default,
        deserialize_with = "crate::whole::maybe",
        skip_serializing_if = "Option::is_none"
    )]
    #[schema(minimum = 1, maximum = 3_155_760_000_u64)]
    pub expiry_seconds: Option<u64>,
}

/// What every split is held within.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Guards)]
pub struct GuardsShape {
    /// No task's spend moves by more than this, once what it had is scaled with the budget.
    #[schema(minimum = 0)]
    pub max_change: Option<f64>,
    /// Every task that is there gets at least this, reached in steps of `max_change`; less where
    /// the budget does not cover it.
    #[schema(minimum = 0)]
    pub floor: Option<f64>,
    /// A task whose spend would move by less than this keeps what it had.
    #[schema(minimum = 0)]
    pub min_move: Option<f64>,
}

/// A change of a campaign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CampaignChange {
    /// What it becomes.
    pub status: CampaignStatus,
}

/// A campaign as it stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CampaignState {
    /// The client's name for it.
    pub id: String,
    /// What it may do.
    pub status: CampaignStatus,
    /// Counts changes of the status; `If-Match` names it.
    pub version: u64,
    /// Who decides.
    pub learner: String,
    /// Rounds planned, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub horizon: Option<u64>,
    /// What a round may spend if it does not say.
    pub budget: f64,
    /// The largest reward.
    pub reward_max: f64,
    /// Rounds handed out.
    pub rounds: u64,
    /// Rounds that wait for something and have not expired.
    pub open_rounds: u64,
    /// Outcomes that came after their round had expired; they count like all others.
    pub late: u64,
    /// Outcomes and corrections counted so far.
    pub stats_version: u64,
    /// Milliseconds since the counts were read, where other processes may count too; 0 elsewhere.
    pub stats_age_ms: u64,
    /// Successes told against successes that the curves expected of the same rounds; absent while
    /// nothing was told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completions_over_expected: Option<f64>,
    /// When it began, in RFC 3339.
    pub created_at: String,
    /// What the guards do to the next split; absent without guards.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guards: Option<GuardsState>,
    /// One entry a task.
    pub tasks: Vec<TaskState>,
}

/// What the guards do to the next split. What each costs is what lifting it alone would bring in
/// the round, by the learner's index, in the problem's unit of reward; absent: no such guard.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GuardsState {
    /// What `max_change` costs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_change_cost: Option<f64>,
    /// What `floor` costs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub floor_cost: Option<f64>,
    /// What `min_move` costs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_move_cost: Option<f64>,
    /// Tasks that keep their spend because the move would be too small.
    pub kept: u64,
    /// The guards ask for more than the budget has, and are loosened as far as it takes.
    pub gave_way: bool,
}

/// A task as it stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TaskState {
    /// Its name.
    pub task: String,
    /// Outcomes told.
    pub told: u64,
    /// Successes among them.
    pub completions: u64,
    /// How many successes the curves expected of the outcomes told.
    pub expected_completions: f64,
    /// What these brought, in the problem's unit of reward.
    pub reward_sum: f64,
    /// What one brought on average; absent before the first.
    pub mean: Option<f64>,
    /// What the learner counts it for in the next split, in the problem's unit of reward: an
    /// optimistic value, or a draw. Absent if the learner names its splits itself.
    pub index: Option<f64>,
    /// What the next split gives it.
    pub spend: f64,
    /// The chance of success that it has by that.
    pub success: f64,
}

/// A campaign in a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CampaignSummary {
    /// The client's name for it.
    pub id: String,
    /// What it may do.
    pub status: CampaignStatus,
    /// Counts changes of the status.
    pub version: u64,
    /// Who decides.
    pub learner: String,
    /// How many tasks it has.
    pub tasks: u32,
    /// Rounds handed out.
    pub rounds: u64,
    /// When it began, in RFC 3339.
    pub created_at: String,
}

/// Campaigns in the order of their ids.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CampaignList {
    /// A page of them.
    pub campaigns: Vec<CampaignSummary>,
    /// What to give as `after` for the next page; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// Rounds asked for.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Ask {
    /// How many, all with the same split; 1 if absent.
    #[serde(
        default,
        deserialize_with = "crate::whole::maybe_short",
        skip_serializing_if = "Option::is_none"
    )]
    #[schema(minimum = 1, maximum = 256)]
    pub count: Option<u32>,
    /// What each may spend; the problem's if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<f64>,
    /// Tasks that are not there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without: Vec<String>,
}

/// Rounds handed out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Rounds {
    /// Their numbers.
    pub rounds: Vec<u64>,
    /// What each may spend.
    pub budget: f64,
    /// The split of each: tasks that are there.
    pub tasks: Vec<TaskSpend>,
    /// What was known when it was decided.
    pub stats_version: u64,
    /// When the rounds are given up for lost, in RFC 3339. What comes back later is still taken.
    pub expires_at: String,
}

/// What a task is given.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TaskSpend {
    /// Its name.
    pub task: String,
    /// The amount.
    pub spend: f64,
}

/// What came back of a round, wholly or in part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Feedback {
    /// One entry a task.
    #[schema(example = json!([{"task": "a", "completed": true, "reward": 0.7}, {"task": "b", "completed": false}]))]
    pub results: Vec<TaskResult>,
}

/// What came back of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskResult {
    /// Its name.
    pub task: String,
    /// Whether it succeeded.
    pub completed: bool,
    /// What it brought, between 0 and the problem's largest reward; a success must say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reward: Option<f64>,
}

/// What was taken of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
pub struct Told {
    /// Outcomes that were new.
    pub accepted: u64,
    /// Outcomes that had come before, and the same.
    pub duplicate: u64,
    /// New ones that came after their round had expired; they count.
    pub late: u64,
}

/// A line of a bulk report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BulkLine {
    /// The round.
    #[serde(deserialize_with = "crate::whole::number")]
    pub round: u64,
    /// One entry a task.
    pub results: Vec<TaskResult>,
}

/// A correction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Correction {
    /// The task.
    pub task: String,
    /// Whether it had succeeded.
    pub completed: bool,
    /// What it had brought.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reward: Option<f64>,
    /// Why it is corrected.
    #[schema(min_length = 1, max_length = 1000, example = "typing error")]
    pub why: String,
}

/// What a correction changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Corrected {
    /// What had been told.
    pub from: TaskResult,
    /// What counts now.
    pub to: TaskResult,
}

/// Rounds in order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RoundList {
    /// A page of them.
    pub rounds: Vec<RoundState>,
    /// What to give as `after` for the next page; absent at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

/// A round as it stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RoundState {
    /// Its number.
    pub round: u64,
    /// Whether it still waits for something.
    pub status: RoundStatus,
    /// What it may spend.
    pub budget: f64,
    /// What was known when it was decided.
    pub stats_version: u64,
    /// When it was handed out, in RFC 3339.
    pub asked_at: String,
    /// When it is given up for lost, in RFC 3339.
    pub expires_at: String,
    /// Its split, and what came back: tasks that are there.
    pub tasks: Vec<RoundTask>,
}

/// Whether a round waits for something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum RoundStatus {
    /// Something is still to be told.
    Open,
    /// Something was to be told and did not come in time. It is still taken.
    Expired,
    /// Everything was told.
    Complete,
}

/// A task in a round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RoundTask {
    /// Its name.
    pub task: String,
    /// What it was given.
    pub spend: f64,
    /// Whether it succeeded; absent while nothing was told. What was corrected is shown as
    /// corrected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed: Option<bool>,
    /// What a success brought.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reward: Option<f64>,
}

/// What happened, in order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct EventList {
    /// A page of it.
    pub events: Vec<EventEntry>,
    /// What to give as `after` for the next page; absent at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct EventEntry {
    /// Its place in the history.
    pub seq: u64,
    /// When, in RFC 3339.
    pub at: String,
    /// By whom: the token's public part, empty without tokens.
    pub token: String,
    /// Name of the token, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_name: Option<String>,
    /// What.
    #[serde(flatten)]
    pub what: Happening,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Happening {
    /// The campaign began.
    Created,
    /// Its status was set.
    Status {
        /// What it became.
        status: CampaignStatus,
    },
    /// Rounds were handed out.
    Asked {
        /// Their numbers.
        rounds: Vec<u64>,
        /// What each may spend.
        budget: f64,
        /// The split of each: tasks that are there.
        tasks: Vec<TaskSpend>,
        /// What was known when it was decided.
        stats_version: u64,
        /// When they are given up for lost, in RFC 3339.
        expires_at: String,
    },
    /// Something came back: only what was new.
    Told {
        /// The round.
        round: u64,
        /// What.
        results: Vec<TaskResult>,
        /// Whether the round had expired.
        late: bool,
    },
    /// Something that had come back was corrected.
    Corrected {
        /// The round.
        round: u64,
        /// What had been told.
        from: TaskResult,
        /// What counts since.
        to: TaskResult,
        /// Why.
        why: String,
    },
}

/// The curves of a campaign as points to draw.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CurveList {
    /// One entry a task.
    pub curves: Vec<TaskCurve>,
}

/// A task's curve.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TaskCurve {
    /// Its name.
    pub task: String,
    /// Spends, rising from 0.
    pub spend: Vec<f64>,
    /// The chance of success at each.
    pub success: Vec<f64>,
}
