//! What a store keeps, as it is read.

use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Millis;

/// What a campaign may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum CampaignStatus {
    /// It hands out rounds and takes what comes back.
    Open,
    /// It only takes what comes back.
    Paused,
    /// It has ended. What comes back is taken for a while.
    Closed,
}

/// A campaign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CampaignRow {
    /// The client's name for it.
    pub id: String,
    /// Its request, see [`NewCampaign`](super::NewCampaign).
    pub spec: String,
    /// How many tasks it has.
    pub tasks: u32,
    /// What it may do.
    pub status: CampaignStatus,
    /// Counts changes of the status, from 1.
    pub version: u64,
    /// When it began.
    pub created_at: Millis,
    /// When its status was set last.
    pub changed_at: Millis,
}

/// The part of a campaign that changes, as of one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct CampaignSnapshot {
    /// What it may do.
    pub status: CampaignStatus,
    /// Counts changes of the status, from 1.
    pub version: u64,
    /// When it began: another time means another campaign of the same id.
    pub created_at: Millis,
    /// When its status was set last.
    pub changed_at: Millis,
    /// What it has learnt.
    pub standing: Standing,
    /// The split with the highest rounds, if it begins after the round that was asked for.
    pub last_split: Option<SplitRow>,
}

/// What each task is given in a round.
#[derive(Debug, Clone, PartialEq)]
pub struct Split {
    /// What may be spent.
    pub budget: f64,
    /// Which tasks are there; absent: all.
    pub available: Option<Vec<bool>>,
    /// What each is given.
    pub spend: Vec<f64>,
    /// The chance of success that each has by it.
    pub success: Vec<f64>,
    /// What the learner wrote for each: weights, or the split itself.
    pub index: Vec<f64>,
}

impl Split {
    /// How many tasks are there.
    #[must_use]
    pub fn there(&self) -> usize {
        self.available
            .as_ref()
            .map_or(self.spend.len(), |available| available.iter().filter(|there| **there).count())
    }
}

/// A split that was handed out.
#[derive(Debug, Clone, PartialEq)]
pub struct SplitRow {
    /// For these rounds.
    pub rounds: Range<u64>,
    /// What each task was given.
    pub split: Arc<Split>,
    /// What was known when it was decided.
    pub stats_version: u64,
    /// When.
    pub at: Millis,
    /// When the rounds are given up for lost.
    pub expires_at: Millis,
}

/// What came back of a task in a round. Not completed and not known are two things: what is not
/// known has no outcome at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// Whether it succeeded.
    pub completed: bool,
    /// What a success brought, in billionths of the largest reward; zero for a failure.
    pub reward: u64,
}

/// The fold of what came back of one task. Whole numbers: the order does not matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TaskCount {
    /// Outcomes told.
    pub told: u64,
    /// Successes among them.
    pub completions: u64,
    /// What these brought, in billionths of the largest reward.
    pub reward_sum: u64,
    /// How many successes the curves expected of the outcomes told, in billionths.
    pub expected: u64,
}

impl TaskCount {
    /// Counts an outcome.
    pub fn add(&mut self, outcome: Outcome, expected: u64) {
        self.told += 1;
        self.expected += expected;
        self.completions += u64::from(outcome.completed);
        self.reward_sum += outcome.reward;
    }

    /// Takes one outcome for another.
    pub fn correct(&mut self, from: Outcome, to: Outcome) {
        self.completions = self.completions + u64::from(to.completed) - u64::from(from.completed);
        self.reward_sum = self.reward_sum + to.reward - from.reward;
    }

    /// Adds the outcomes of another count.
    pub fn merge(&mut self, other: Self) {
        self.told += other.told;
        self.completions += other.completions;
        self.reward_sum += other.reward_sum;
        self.expected += other.expected;
    }
}

/// What a campaign has learnt, and how far it has come.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Standing {
    /// One a task.
    pub tasks: Vec<TaskCount>,
    /// Outcomes and corrections counted so far: the same number means the same counts.
    pub version: u64,
    /// Rounds handed out.
    pub rounds: u64,
    /// Outcomes that came after their round had expired; they count like all others.
    pub late: u64,
}

/// The counts of rounds that were compacted: their rows are gone. Together with a fold of the rows
/// that are left it gives the [`Standing`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Checkpoint {
    /// A round below this one that has no split was compacted.
    pub end: u64,
    /// How many rounds were.
    pub rounds: u64,
    /// Their outcomes and corrections.
    pub version: u64,
    /// Outcomes among them that came after their round had expired.
    pub late: u64,
    /// One per task.
    pub tasks: Vec<TaskCount>,
    /// When rounds were compacted last.
    pub at: Millis,
}

impl Checkpoint {
    /// Outcomes of the rounds that were compacted.
    #[must_use]
    pub fn outcomes(&self) -> u64 {
        self.tasks.iter().map(|count| count.told).sum()
    }

    /// The standing of a campaign that has no other rounds.
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

/// How much one call has compacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Compacted {
    /// Rounds.
    pub rounds: u64,
    /// Outcomes.
    pub outcomes: u64,
    /// Whether nothing that qualifies is left.
    pub is_done: bool,
}

/// The record of a campaign that was deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeletedCampaign {
    /// The id it had.
    pub id: String,
    /// When it was deleted.
    pub at: Millis,
    /// By whom: the token's public part, empty without tokens.
    pub token: String,
    /// How many rounds it had.
    pub rounds: u64,
    /// How many outcomes.
    pub outcomes: u64,
}

/// The size of a store on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StoreSize {
    /// Bytes of its files or tables.
    pub bytes: u64,
    /// Bytes among them that are free for new rows.
    pub free: u64,
}

/// A round.
#[derive(Debug, Clone, PartialEq)]
pub struct RoundRow {
    /// Its number.
    pub round: u64,
    /// The split that it was handed out with.
    pub split: Arc<SplitRow>,
    /// What was told: tasks in order.
    pub told: Vec<(u32, Outcome)>,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Its place in the store's history; the order of the numbers is the order in which counts
    /// changed in an embedded store.
    pub seq: u64,
    /// When.
    pub at: Millis,
    /// By whom: the token's public part, empty without tokens.
    pub token: String,
    /// What.
    pub kind: EventKind,
}

/// What happened.
#[derive(Debug, Clone, PartialEq)]
pub enum EventKind {
    /// The campaign began.
    Created,
    /// Its status was set.
    StatusSet(CampaignStatus),
    /// Rounds were handed out.
    Asked(SplitRow),
    /// Something came back: only what was new.
    Told {
        /// The round.
        round: u64,
        /// Task, outcome and the chance of success that it had, in billionths.
        items: Vec<(u32, Outcome, u64)>,
        /// Whether the round had expired.
        is_late: bool,
    },
    /// Something that had come back was corrected.
    Corrected {
        /// The round.
        round: u64,
        /// The task.
        task: u32,
        /// What had come back.
        from: Outcome,
        /// What should have.
        to: Outcome,
        /// Why.
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
    /// The rounds that were handed out.
    pub rounds: Range<u64>,
}

/// A token. Its secret part is never kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenRow {
    /// Its public part.
    pub id: String,
    /// SHA-256 of the secret part.
    pub hash: [u8; 32],
    /// What it allows, as words: `read`, `decide`, `report`, `admin`.
    pub scopes: Vec<String>,
    /// The campaign that it is restricted to, or a prefix of ids followed by `*`; absent: all.
    pub campaign: Option<String>,
    /// Name for people; absent if it was created without one.
    pub name: Option<String>,
    /// When it was made.
    pub created_at: Millis,
    /// From then on it is not good; absent: for ever.
    pub expires_at: Option<Millis>,
    /// Since when it is revoked.
    pub revoked_at: Option<Millis>,
    /// The use that was noted last.
    pub last_used_at: Option<Millis>,
}

/// What a check of all counts found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Verified {
    /// Campaigns looked at.
    pub campaigns: u64,
    /// Rounds.
    pub rounds: u64,
    /// Feedback items.
    pub items: u64,
    /// Sentences that say what does not fit; empty: all is well.
    pub faults: Vec<String>,
}
