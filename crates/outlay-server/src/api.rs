//! The JSON of requests and responses.

use std::collections::BTreeMap;

use outlay::campaign::Guards;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::store::CampaignStatus;

/// A request for a campaign.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewCampaign {
    /// The keys of a problem file.
    #[schema(value_type = crate::problem_file::ProblemFile)]
    pub problem: serde_json::Value,
    /// The learner; default `kl-ucb-plus`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learner: Option<String>,
    /// Largest number of rounds; required by some learners.
    #[serde(
        default,
        deserialize_with = "crate::int64::maybe",
        skip_serializing_if = "Option::is_none"
    )]
    #[schema(minimum = 1)]
    pub horizon: Option<u64>,
    /// Seed of randomised learners; default 1.
    #[serde(
        default,
        deserialize_with = "crate::int64::maybe",
        skip_serializing_if = "Option::is_none"
    )]
    pub seed: Option<u64>,
    /// Constraints on the change between splits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<GuardsShape>)]
    pub guards: Option<Guards>,
    /// Whether the learner starts without the completions that tasks have `seen`; by default it
    /// starts as if it had observed them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ignore_seen: Option<bool>,
    /// Seconds after which a round expires; default one day.
    #[serde(
        default,
        deserialize_with = "crate::int64::maybe",
        skip_serializing_if = "Option::is_none"
    )]
    #[schema(minimum = 1, maximum = 3_155_760_000_u64)]
    pub expiry_seconds: Option<u64>,
}

/// Constraints on the change between splits.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Guards)]
pub struct GuardsShape {
    /// Largest change of the spend of a task, after the previous split is scaled with the budget.
    #[schema(minimum = 0)]
    pub max_change: Option<f64>,
    /// Smallest spend of every available task, reached in steps of `max_change`; less if the budget
    /// does not suffice.
    #[schema(minimum = 0)]
    pub floor: Option<f64>,
    /// A task whose spend would change by less than this keeps its previous spend.
    #[schema(minimum = 0)]
    pub min_move: Option<f64>,
}

/// A change of a campaign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CampaignChange {
    /// The new status.
    pub status: CampaignStatus,
}

/// Another problem for a campaign.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewProblem {
    /// The keys of a problem file. Tasks are matched by name: those that it lacks are retired, and
    /// new ones are added.
    #[schema(value_type = crate::problem_file::ProblemFile)]
    pub problem: serde_json::Value,
}

/// The difference between a problem and the one that replaced it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, ToSchema)]
pub struct ProblemChanges {
    /// Names of new tasks.
    pub added: Vec<String>,
    /// Names of tasks that are now retired.
    pub retired: Vec<String>,
    /// Names of tasks that were retired and are not any more.
    pub returned: Vec<String>,
    /// Changed fields, those of the problem first.
    pub changed: Vec<ChangedField>,
}

/// A field that an amendment changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChangedField {
    /// The task; absent: a field of the problem.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The key in problem files.
    pub field: String,
    /// Its value before; null if it was unset.
    #[schema(value_type = Value)]
    pub old: serde_json::Value,
    /// Its value now; null if it is unset.
    #[schema(value_type = Value)]
    pub new: serde_json::Value,
}

/// The state of a campaign.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CampaignState {
    /// The id.
    pub id: String,
    /// The status.
    pub status: CampaignStatus,
    /// Number of changes of the status and of the problem; `If-Match` contains it.
    pub version: u64,
    /// Number of amendments of the problem; absent if there were none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub amendments: u64,
    /// The learner.
    pub learner: String,
    /// Largest number of rounds, if limited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub horizon: Option<u64>,
    /// Default budget of a round.
    pub budget: f64,
    /// The largest reward of a success.
    pub reward_max: f64,
    /// Number of issued rounds.
    pub rounds: u64,
    /// Number of rounds that have outstanding outcomes and have not expired.
    pub open_rounds: u64,
    /// Number of outcomes that arrived after their round had expired; they count like all others.
    pub late: u64,
    /// Number of outcomes and corrections counted so far.
    pub stats_version: u64,
    /// Milliseconds since the counts were read, if other processes also write; otherwise 0.
    pub stats_age_ms: u64,
    /// Reported completions divided by the number that the curves predict for the same rounds;
    /// absent before the first report.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completions_over_expected: Option<f64>,
    /// Variance of a task's completions in a round divided by their mean; absent if tasks complete at
    /// most once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dispersion: Option<f64>,
    /// Time of creation, in RFC 3339.
    pub created_at: String,
    /// Effect of the guards on the next split; absent without guards.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guards: Option<GuardsState>,
    /// The tasks.
    pub tasks: Vec<TaskState>,
}

/// Effect of the guards on the next split. The cost of a guard is the gain from lifting it alone in
/// the round, by the learner's index, in the unit of rewards; absent without this guard.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GuardsState {
    /// Cost of `max_change`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_change_cost: Option<f64>,
    /// Cost of `floor`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub floor_cost: Option<f64>,
    /// Cost of `min_move`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_move_cost: Option<f64>,
    /// Tasks that keep their spend because the change would be too small.
    pub kept: u64,
    /// Whether the guards are relaxed because the budget cannot satisfy them.
    pub gave_way: bool,
}

/// The state of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TaskState {
    /// Its name.
    pub task: String,
    /// Whether an amendment has retired it: it gets nothing, and its outcomes still count.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub retired: bool,
    /// Number of reported outcomes.
    pub told: u64,
    /// Number of completions among them.
    pub completions: u64,
    /// Number of completions that the curves predict for the reported outcomes, at the spends that
    /// were reported.
    pub expected_completions: f64,
    /// Sum of their rewards.
    pub reward_sum: f64,
    /// Mean reward of a completion; absent before the first.
    pub mean: Option<f64>,
    /// Weight of the task in the next split, in the unit of rewards: an optimistic value or a
    /// random draw. Absent if the learner chooses its splits itself.
    pub index: Option<f64>,
    /// Spend in the next split.
    pub spend: f64,
    /// Probability of success at this spend.
    pub success: f64,
    /// The completions of the log that the learner started from; absent if there are none. The
    /// numbers above do not include them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<SeenCompletions>,
    /// Sum of the reported spends; absent if none was reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spent: Option<f64>,
    /// Reported spends divided by the allocated spends of the same outcomes; absent if none was
    /// reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivered: Option<f64>,
}

/// Completions of a log.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SeenCompletions {
    /// Their number.
    pub completions: u64,
    /// Sum of their rewards.
    pub reward: f64,
}

/// A campaign in a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CampaignSummary {
    /// The id.
    pub id: String,
    /// The status.
    pub status: CampaignStatus,
    /// Number of changes of the status and of the problem.
    pub version: u64,
    /// The learner.
    pub learner: String,
    /// Number of tasks.
    pub tasks: u32,
    /// Number of issued rounds.
    pub rounds: u64,
    /// Time of creation, in RFC 3339.
    pub created_at: String,
}

/// Campaigns in the order of their ids.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CampaignList {
    /// A page of campaigns.
    pub campaigns: Vec<CampaignSummary>,
    /// Value of `after` for the next page; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A request for rounds.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Ask {
    /// Number of rounds, all with the same split; default 1.
    #[serde(
        default,
        deserialize_with = "crate::int64::maybe_short",
        skip_serializing_if = "Option::is_none"
    )]
    #[schema(minimum = 1, maximum = 256)]
    pub count: Option<u32>,
    /// Budget of each round; default: that of the problem.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<f64>,
    /// Unavailable tasks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without: Vec<String>,
    /// Scales of the curves in these rounds, by task: a task with scale 1.3 needs 1.3 times the spend
    /// for the same probability of success. The others have scale 1.
    #[serde(
        default,
        deserialize_with = "crate::named_numbers::read",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub scale: BTreeMap<String, f64>,
    /// Volumes in these rounds, by task; the others have those of the problem.
    #[serde(
        default,
        deserialize_with = "crate::named_numbers::read",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub volume: BTreeMap<String, f64>,
}

/// Issued rounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Rounds {
    /// Their numbers.
    pub rounds: Vec<u64>,
    /// Budget of each round.
    pub budget: f64,
    /// The split of each round, with the available tasks.
    pub tasks: Vec<TaskSpend>,
    /// Version of the counts that the split is based on.
    pub stats_version: u64,
    /// Time of expiry, in RFC 3339. Later outcomes are still accepted.
    pub expires_at: String,
}

/// Spend of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TaskSpend {
    /// Its name.
    pub task: String,
    /// The spend.
    pub spend: f64,
    /// Scale of its curve, if the round has scales.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<f64>,
    /// Its volume, if the round has volumes of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume: Option<f64>,
}

/// Outcomes of a round, complete or in part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Feedback {
    /// One entry per task.
    #[schema(example = json!([{"task": "a", "completed": true, "reward": 0.7}, {"task": "b", "completed": false}]))]
    pub results: Vec<TaskResult>,
}

/// Outcome of a task, with either `completed` or `completions`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskResult {
    /// Its name.
    pub task: String,
    /// Whether it completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed: Option<bool>,
    /// Number of completions; more than one only if the problem has volumes.
    #[serde(
        default,
        deserialize_with = "crate::int64::maybe",
        skip_serializing_if = "Option::is_none"
    )]
    #[schema(maximum = 1_000_000_000)]
    pub completions: Option<u64>,
    /// Sum of the rewards of the completions, each between 0 and `reward_max`; required if there is
    /// a completion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reward: Option<f64>,
    /// The amount that was really spent, if it is known. Expected completions are computed from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spend: Option<f64>,
}

/// Result of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
pub struct Told {
    /// Number of new outcomes.
    pub accepted: u64,
    /// Number of outcomes that repeat an earlier one.
    pub duplicate: u64,
    /// Number of new outcomes that arrived after their round had expired; they count.
    pub late: u64,
    /// Number of new outcomes whose reward was above the largest one and was clipped; absent if there
    /// is none.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schema(required = false)]
    pub clipped: u64,
}

/// For fields that are left out if they are zero.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
pub(crate) fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A line of a bulk report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BulkLine {
    /// The round.
    #[serde(deserialize_with = "crate::int64::number")]
    pub round: u64,
    /// One entry per task.
    pub results: Vec<TaskResult>,
}

/// A correction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Correction {
    /// The task.
    pub task: String,
    /// Whether it completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed: Option<bool>,
    /// Number of completions, in place of `completed`.
    #[serde(
        default,
        deserialize_with = "crate::int64::maybe",
        skip_serializing_if = "Option::is_none"
    )]
    #[schema(maximum = 1_000_000_000)]
    pub completions: Option<u64>,
    /// Sum of the rewards of the completions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reward: Option<f64>,
    /// The amount that was really spent. A correction without it removes an earlier one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spend: Option<f64>,
    /// Reason for the correction.
    #[schema(min_length = 1, max_length = 1000, example = "typing error")]
    pub why: String,
}

/// Result of a correction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Corrected {
    /// The previous outcome.
    pub from: TaskResult,
    /// The new outcome.
    pub to: TaskResult,
}

/// Rounds in order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RoundList {
    /// A page of rounds.
    pub rounds: Vec<RoundState>,
    /// Value of `after` for the next page; absent at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

/// The state of a round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RoundState {
    /// Its number.
    pub round: u64,
    /// Its status.
    pub status: RoundStatus,
    /// Budget of the round.
    pub budget: f64,
    /// Version of the counts that the split is based on.
    pub stats_version: u64,
    /// Time of issue, in RFC 3339.
    pub asked_at: String,
    /// Time of expiry, in RFC 3339.
    pub expires_at: String,
    /// The available tasks with their spends and outcomes.
    pub tasks: Vec<RoundTask>,
}

/// Status of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum RoundStatus {
    /// Some outcomes are outstanding.
    Open,
    /// Some outcomes did not arrive in time. They are still accepted.
    Expired,
    /// All outcomes have been reported.
    Complete,
}

/// A task in a round.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, ToSchema)]
pub struct RoundTask {
    /// Its name.
    pub task: String,
    /// Its spend.
    pub spend: f64,
    /// Scale of its curve, if the round has scales.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<f64>,
    /// Its volume, if the round has volumes of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume: Option<f64>,
    /// Whether it completed; absent before the report, and if the problem has volumes. Corrections
    /// are included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed: Option<bool>,
    /// Number of completions, if the problem has volumes; absent before the report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completions: Option<u64>,
    /// Sum of the rewards of the completions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reward: Option<f64>,
    /// The amount that was really spent, if it was reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spent: Option<f64>,
}

/// Events in order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct EventList {
    /// A page of events.
    pub events: Vec<EventEntry>,
    /// Value of `after` for the next page; absent at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

/// An event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct EventEntry {
    /// Its sequence number.
    pub seq: u64,
    /// Time, in RFC 3339.
    pub at: String,
    /// Public part of the token that caused it; empty without tokens.
    pub token: String,
    /// Name of the token, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_name: Option<String>,
    /// Kind of event.
    #[serde(flatten)]
    pub what: Happening,
}

/// Kind of event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Happening {
    /// The campaign was created.
    Created,
    /// The status was changed.
    Status {
        /// The new status.
        status: CampaignStatus,
    },
    /// The problem was replaced.
    Amended(ProblemChanges),
    /// Rounds were issued.
    Asked {
        /// Their numbers.
        rounds: Vec<u64>,
        /// Budget of each round.
        budget: f64,
        /// The split of each round, with the available tasks.
        tasks: Vec<TaskSpend>,
        /// Version of the counts that the split is based on.
        stats_version: u64,
        /// Time of expiry, in RFC 3339.
        expires_at: String,
    },
    /// New outcomes were reported.
    Told {
        /// The round.
        round: u64,
        /// The new outcomes.
        results: Vec<TaskResult>,
        /// Whether the round had expired.
        late: bool,
    },
    /// An outcome was corrected.
    Corrected {
        /// The round.
        round: u64,
        /// The previous outcome.
        from: TaskResult,
        /// The new outcome.
        to: TaskResult,
        /// The reason.
        why: String,
    },
}

/// The curves of a campaign as points.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CurveList {
    /// One entry per task.
    pub curves: Vec<TaskCurve>,
}

/// A task's curve.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TaskCurve {
    /// Its name.
    pub task: String,
    /// Spends, increasing from 0.
    pub spend: Vec<f64>,
    /// Probabilities of success at these spends.
    pub success: Vec<f64>,
}
