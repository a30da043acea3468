//! Stored data as it is read.

use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Millis;

/// Status of a campaign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum CampaignStatus {
    /// It issues rounds and accepts reports.
    Open,
    /// It only accepts reports.
    Paused,
    /// It has ended. Reports are accepted for a while.
    Closed,
}

/// A campaign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CampaignRow {
    /// The id.
    pub id: String,
    /// Its request, see [`NewCampaign`](super::NewCampaign).
    pub spec: String,
    /// Number of tasks, including those that were added later.
    pub tasks: u32,
    /// The status.
    pub status: CampaignStatus,
    /// Number of changes of the status and of the problem, from 1.
    pub version: u64,
    /// Number of amendments.
    pub amendments: u64,
    /// The problem after the last amendment; absent if there was none.
    pub problem: Option<String>,
    /// Time of creation.
    pub created_at: Millis,
    /// Time of the last change of the status.
    pub changed_at: Millis,
}

/// The part of a campaign that changes, as of one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct CampaignSnapshot {
    /// The status.
    pub status: CampaignStatus,
    /// Number of changes of the status and of the problem, from 1.
    pub version: u64,
    /// Number of amendments.
    pub amendments: u64,
    /// Time of creation; another time means another campaign with the same id.
    pub created_at: Millis,
    /// Time of the last change of the status.
    pub changed_at: Millis,
    /// The counts.
    pub standing: Standing,
    /// The split with the highest rounds, if it begins after the requested round.
    pub last_split: Option<SplitRow>,
}

/// Spends of the tasks in a round, and the conditions of the round.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Split {
    /// The budget.
    pub budget: f64,
    /// The available tasks; absent: all.
    pub available: Option<Vec<bool>>,
    /// The scales of the curves; absent: all 1.
    pub scale: Option<Vec<f64>>,
    /// The volumes; absent: those of the problem.
    pub volume: Option<Vec<f64>>,
    /// The spends.
    pub spend: Vec<f64>,
    /// Probabilities of success at these spends.
    pub success: Vec<f64>,
    /// The learner's values for the tasks: weights, or the split itself.
    pub index: Vec<f64>,
}

impl Split {
    /// Number of its numbers.
    #[must_use]
    pub fn numbers(&self) -> usize {
        let Self { scale, volume, spend, success, index, .. } = self;
        let conditions = [scale, volume].into_iter().flatten().map(Vec::len).sum::<usize>();
        spend.len() + success.len() + index.len() + conditions
    }

    /// Number of available tasks.
    #[must_use]
    pub fn there(&self) -> usize {
        self.available
            .as_ref()
            .map_or(self.spend.len(), |available| available.iter().filter(|there| **there).count())
    }
}

/// An issued split.
#[derive(Debug, Clone, PartialEq)]
pub struct SplitRow {
    /// The rounds.
    pub rounds: Range<u64>,
    /// The spends.
    pub split: Arc<Split>,
    /// Number of amendments before it: it belongs to the problem after these.
    pub amendments: u64,
    /// Version of the counts that it is based on.
    pub stats_version: u64,
    /// Time.
    pub at: Millis,
    /// Time of expiry.
    pub expires_at: Millis,
}

impl SplitRow {
    /// Whether it is for the problem after this number of amendments and has this many available
    /// tasks: all of those that are not retired.
    #[must_use]
    pub fn is_full(&self, full: FullSplit) -> bool {
        self.amendments == full.amendments && self.split.there() == full.tasks as usize
    }
}

/// What distinguishes the splits of the present problem in which no task is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FullSplit {
    /// Number of amendments.
    pub amendments: u64,
    /// Number of tasks that are not retired.
    pub tasks: u32,
}

/// Outcome of a task in a round. An unknown outcome is absent, which differs from a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// Number of completions; zero for a failure.
    pub completions: u64,
    /// Sum of their rewards in billionths of the largest reward.
    pub reward: u64,
    /// The actual spend, if it was reported.
    pub delivery: Option<Delivery>,
}

impl Outcome {
    /// A task that failed.
    pub const FAILED: Self = Self { completions: 0, reward: 0, delivery: None };

    /// A task that completed once with this reward.
    #[must_use]
    pub const fn success(reward: u64) -> Self {
        Self { completions: 1, reward, delivery: None }
    }

    /// Whether a report of this outcome adds nothing to a stored one. A spend that was not stored
    /// is never dropped silently, so only the stored one may have a spend that this one lacks.
    #[must_use]
    pub fn repeats(&self, stored: &Self) -> bool {
        (self.completions, self.reward) == (stored.completions, stored.reward)
            && (self.delivery.is_none() || self.delivery == stored.delivery)
    }

    /// Whether sums of such outcomes never become too large: a report of at most one completion
    /// without a spend.
    pub(crate) fn is_single(&self, expected: u64) -> bool {
        let is_small = self.reward <= 1_000_000_000 && expected <= 1_000_000_000;
        self.completions <= 1 && self.delivery.is_none() && is_small
    }
}

/// The actual spend of a task in a round next to its allocated spend, in billionths of the
/// campaign's unit of spend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivery {
    /// The reported spend.
    pub spent: u64,
    /// The allocated spend.
    pub allocated: u64,
}

/// Counts of one task: integers, so the order of outcomes does not matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TaskCount {
    /// Number of reported outcomes.
    pub told: u64,
    /// Number of completions among them.
    pub completions: u64,
    /// Sum of their rewards, in billionths of the largest reward.
    pub reward_sum: u64,
    /// Number of completions that the curves predict for the reported outcomes, in billionths.
    pub expected: u64,
    /// Sum of the reported spends, in billionths of the campaign's unit of spend.
    pub spent: u64,
    /// Sum of the allocated spends of the same outcomes.
    pub allocated: u64,
}

impl TaskCount {
    /// The largest sum of a report with several completions or a spend. Half of the integers of
    /// the stores are left for reports that arrive at the same time and for single completions.
    pub const MAX_SUM: u64 = 4_500_000_000 * 1_000_000_000;

    /// The counts of one outcome.
    #[must_use]
    pub fn of(outcome: Outcome, expected: u64) -> Self {
        let Outcome { completions, reward: reward_sum, delivery } = outcome;
        let (spent, allocated) = delivery.map_or((0, 0), |known| (known.spent, known.allocated));
        Self { told: 1, completions, reward_sum, expected, spent, allocated }
    }

    /// Counts an outcome.
    pub fn add(&mut self, outcome: Outcome, expected: u64) {
        self.merge(Self::of(outcome, expected));
    }

    /// Replaces one outcome by another, which changes the expected completions by this much.
    pub fn correct(&mut self, from: Outcome, to: Outcome, expected_change: i64) {
        let (from, to) = (Self::of(from, 0), Self::of(to, 0));
        self.completions = self.completions + to.completions - from.completions;
        self.reward_sum = self.reward_sum + to.reward_sum - from.reward_sum;
        self.spent = self.spent + to.spent - from.spent;
        self.allocated = self.allocated + to.allocated - from.allocated;
        self.expected = self.expected.saturating_add_signed(expected_change);
    }

    /// Whether the sums with another outcome stay within [`MAX_SUM`](Self::MAX_SUM).
    #[must_use]
    pub fn has_room_for(&self, outcome: Outcome, expected: u64) -> bool {
        let more = Self::of(outcome, expected);
        [
            (self.reward_sum, more.reward_sum),
            (self.completions, more.completions),
            (self.expected, more.expected),
            (self.spent, more.spent),
            (self.allocated, more.allocated),
        ]
        .into_iter()
        .all(|(sum, more)| sum.checked_add(more).is_some_and(|sum| sum <= Self::MAX_SUM))
    }

    /// Adds the outcomes of another count.
    pub fn merge(&mut self, other: Self) {
        self.told += other.told;
        self.completions += other.completions;
        self.reward_sum += other.reward_sum;
        self.expected += other.expected;
        self.spent += other.spent;
        self.allocated += other.allocated;
    }
}

/// The difference between two numbers of predicted completions.
pub(super) fn change(from: u64, to: u64) -> i64 {
    to.wrapping_sub(from) as i64
}

/// Counts and progress of a campaign.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Standing {
    /// One entry per task.
    pub tasks: Vec<TaskCount>,
    /// Number of outcomes and corrections counted so far; equal numbers mean equal counts.
    pub version: u64,
    /// Number of issued rounds.
    pub rounds: u64,
    /// Number of outcomes that arrived after their round had expired; they count like all others.
    pub late: u64,
}

/// The counts of compacted rounds, whose rows were removed. Added to the counts of the remaining
/// rows, they give the [`Standing`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Checkpoint {
    /// Rounds below this one without a split were compacted.
    pub end: u64,
    /// Number of compacted rounds.
    pub rounds: u64,
    /// Number of their outcomes and corrections.
    pub version: u64,
    /// Number of outcomes among them that arrived after their round had expired.
    pub late: u64,
    /// One entry per task.
    pub tasks: Vec<TaskCount>,
    /// Time of the last compaction.
    pub at: Millis,
}

impl Checkpoint {
    /// Number of outcomes of the compacted rounds.
    #[must_use]
    pub fn outcomes(&self) -> u64 {
        self.tasks.iter().map(|count| count.told).sum()
    }

    /// The standing of a campaign without other rounds.
    #[must_use]
    pub fn standing(&self) -> Standing {
        Standing {
            tasks: self.tasks.clone(),
            version: self.version,
            rounds: self.rounds,
            late: self.late,
        }
    }
}

/// Result of one compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Compacted {
    /// Number of compacted rounds.
    pub rounds: u64,
    /// Number of their outcomes.
    pub outcomes: u64,
    /// Whether no round is left to compact.
    pub is_done: bool,
}

/// A deleted campaign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeletedCampaign {
    /// Its id.
    pub id: String,
    /// Time of the deletion.
    pub at: Millis,
    /// Public part of the token that caused it; empty without tokens.
    pub token: String,
    /// Number of its rounds.
    pub rounds: u64,
    /// Number of its outcomes.
    pub outcomes: u64,
}

/// The size of a store on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StoreSize {
    /// Size of its files or tables, in bytes.
    pub bytes: u64,
    /// Part of it that is free for new rows.
    pub free: u64,
}

/// A round.
#[derive(Debug, Clone, PartialEq)]
pub struct RoundRow {
    /// Its number.
    pub round: u64,
    /// Its split.
    pub split: Arc<SplitRow>,
    /// The reported outcomes, in the order of tasks.
    pub told: Vec<(u32, Outcome)>,
}

/// An event.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Its sequence number. In an embedded store the numbers have the order in which the counts
    /// changed.
    pub seq: u64,
    /// Time.
    pub at: Millis,
    /// Public part of the token that caused it; empty without tokens.
    pub token: String,
    /// Its kind.
    pub kind: EventKind,
}

/// The kind of an event.
#[derive(Debug, Clone, PartialEq)]
pub enum EventKind {
    /// The campaign was created.
    Created,
    /// The status was set.
    StatusSet(CampaignStatus),
    /// The problem was replaced.
    Amended {
        /// The new problem.
        problem: String,
        /// Number of its tasks.
        tasks: u32,
        /// The difference to the problem before.
        changes: String,
    },
    /// Rounds were issued.
    Asked(SplitRow),
    /// Outcomes were reported; only new ones are included.
    Told {
        /// The round.
        round: u64,
        /// Task, outcome and predicted number of completions in billionths.
        items: Vec<(u32, Outcome, u64)>,
        /// Whether the round had expired.
        is_late: bool,
    },
    /// An outcome was corrected.
    Corrected {
        /// The round.
        round: u64,
        /// The task.
        task: u32,
        /// The previous outcome.
        from: Outcome,
        /// The new outcome.
        to: Outcome,
        /// The new number of completions that the curve predicts, in billionths; absent: as
        /// reported.
        expected: Option<u64>,
        /// The reason.
        why: String,
    },
}

/// An idempotency key that was used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsedKey {
    /// A digest of the request.
    pub request: [u8; 32],
    /// The campaign.
    pub campaign: String,
    /// The rounds that were issued.
    pub rounds: Range<u64>,
}

/// A token. Its secret part is never kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenRow {
    /// Its public part.
    pub id: String,
    /// SHA-256 of the secret part.
    pub hash: [u8; 32],
    /// Its scopes: `read`, `decide`, `report`, `admin`.
    pub scopes: Vec<String>,
    /// The campaign that it is restricted to, or a prefix of ids followed by `*`; absent: all.
    pub campaign: Option<String>,
    /// Name in lists and logs; absent if it was created without one.
    pub name: Option<String>,
    /// Time of creation.
    pub created_at: Millis,
    /// Time of expiry; absent: never.
    pub expires_at: Option<Millis>,
    /// Time of revocation.
    pub revoked_at: Option<Millis>,
    /// The last recorded use.
    pub last_used_at: Option<Millis>,
}

/// Result of a check of all counts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Verified {
    /// Number of campaigns.
    pub campaigns: u64,
    /// Number of rounds.
    pub rounds: u64,
    /// Number of outcomes.
    pub items: u64,
    /// Descriptions of errors; empty if there are none.
    pub faults: Vec<String>,
}
