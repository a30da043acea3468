//! What a store is told to do, and what it answers.

use std::ops::Range;
use std::sync::Arc;

use super::Millis;
use super::record::{CampaignStatus, Checkpoint, Outcome, Split, TokenRow};

/// One change. Whole or not at all.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// A campaign begins.
    Create(NewCampaign),
    /// A campaign is paused, opened again or closed.
    SetStatus(StatusChange),
    /// A campaign is deleted for good.
    Delete(Deletion),
    /// A campaign without rounds takes over the checkpoint of another store.
    Restore(RestoredCheckpoint),
    /// Rounds are handed out.
    Ask(Ask),
    /// Something comes back.
    Tell(Tell),
    /// What came back is corrected.
    Correct(Correction),
    /// A token is made.
    AddToken(TokenRow),
    /// A token is revoked.
    RevokeToken(TokenRevocation),
    /// A token was used.
    UseToken(TokenUse),
}

/// A campaign that begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewCampaign {
    /// The client's name for it.
    pub id: String,
    /// Its request in one canonical form: the same text is the same campaign.
    pub spec: String,
    /// How many tasks it has.
    pub tasks: u32,
    /// When.
    pub at: Millis,
    /// By whom.
    pub token: String,
}

/// A change of a campaign's status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusChange {
    /// The campaign.
    pub campaign: String,
    /// What it becomes.
    pub to: CampaignStatus,
    /// The version that the client has seen; any other refuses the change.
    pub only_if: u64,
    /// Whether a closed campaign may be changed: only by the import of a record in which it was.
    pub may_reopen: bool,
    /// When.
    pub at: Millis,
    /// By whom.
    pub token: String,
}

/// The deletion of a campaign. Its id is free again at once; its rows are removed by
/// [`purge`](super::Store::purge).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deletion {
    /// The campaign.
    pub campaign: String,
    /// The version that the client has seen; any other refuses the deletion.
    pub only_if: u64,
    /// Whether a campaign that is not closed may be deleted.
    pub force: bool,
    /// When.
    pub at: Millis,
    /// By whom.
    pub token: String,
}

/// A checkpoint that an import brings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoredCheckpoint {
    /// The campaign, which has no rounds yet.
    pub campaign: String,
    /// Its counts so far.
    pub checkpoint: Checkpoint,
}

/// Which rounds to replace by their counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compaction {
    /// The campaign.
    pub campaign: String,
    /// Rounds that expired at this time or before.
    pub expired_before: Millis,
    /// Whether to keep the last split in which every task was available, and all after it: guards
    /// are restored from them.
    pub keep_last_full: bool,
    /// The most rounds of one call; at least one split is taken.
    pub most_rounds: u64,
    /// Only count the rounds, and change nothing.
    pub is_dry_run: bool,
    /// When.
    pub at: Millis,
}

/// Rounds handed out with one split.
#[derive(Debug, Clone, PartialEq)]
pub struct Ask {
    /// The campaign.
    pub campaign: String,
    /// Ids from [`lease_rounds`](super::Store::lease_rounds), one after the other.
    pub rounds: Range<u64>,
    /// The split of each.
    pub split: Arc<Split>,
    /// What was known when it was decided: see [`Standing::version`](super::Standing::version).
    pub stats_version: u64,
    /// When.
    pub at: Millis,
    /// When they are given up for lost.
    pub expires_at: Millis,
    /// For whom.
    pub token: String,
    /// The client's key for the request, if it gave one.
    pub key: Option<Key>,
    /// How many rounds the campaign may have in all; absent: any number.
    pub horizon: Option<u64>,
}

/// An idempotency key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// As the client wrote it.
    pub key: String,
    /// A digest of the request.
    pub request: [u8; 32],
    /// From then on it may be forgotten.
    pub expires_at: Millis,
}

/// What came back of one round, wholly or in part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tell {
    /// The campaign.
    pub campaign: String,
    /// The round. Whoever sends this has made sure that it was handed out, and with each of the
    /// tasks.
    pub round: u64,
    /// One a task, no task twice.
    pub items: Vec<Item>,
    /// Whether the round had expired.
    pub is_late: bool,
    /// When.
    pub at: Millis,
    /// By whom.
    pub token: String,
}

/// What came back of one task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Item {
    /// The task, counted from 0.
    pub task: u32,
    /// What came back.
    pub outcome: Outcome,
    /// The chance of success that it had, in billionths.
    pub expected: u64,
}

/// What came back was wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Correction {
    /// The campaign.
    pub campaign: String,
    /// The round.
    pub round: u64,
    /// The task.
    pub task: u32,
    /// What should have come back.
    pub to: Outcome,
    /// Why, in the words of whoever corrects it.
    pub why: String,
    /// When.
    pub at: Millis,
    /// By whom.
    pub token: String,
}

/// A token that is no longer good.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenRevocation {
    /// The token's public part.
    pub id: String,
    /// When.
    pub at: Millis,
}

/// A token that was used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenUse {
    /// The token's public part.
    pub id: String,
    /// When.
    pub at: Millis,
}

/// A command was carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Done {
    /// The campaign has begun, with version 1.
    Created,
    /// It was there, with the same spec.
    WasThere,
    /// The status is set, even if it was so before.
    StatusSet {
        /// The new version.
        version: u64,
    },
    /// The campaign is deleted.
    Deleted {
        /// How many rounds it had.
        rounds: u64,
        /// How many outcomes.
        outcomes: u64,
    },
    /// The checkpoint is taken over.
    Restored,
    /// The rounds are handed out.
    Asked,
    /// What came back is counted.
    Told {
        /// For each item whether it is new; the others had come before, and the same.
        is_new: Vec<bool>,
        /// Whether nothing more is to be told of the round.
        is_complete: bool,
    },
    /// The correction is counted.
    Corrected {
        /// What had come back, or what an earlier correction said.
        from: Outcome,
    },
    /// The token can be used.
    TokenAdded,
    /// The token can no longer be used.
    TokenRevoked,
    /// The use is noted in place of the one before.
    TokenUsed,
}

/// Why a command was not carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// There is no such campaign.
    NoCampaign,
    /// There is a campaign of this id with another spec.
    OtherCampaign,
    /// The campaign's version is another.
    OtherVersion {
        /// Which.
        version: u64,
    },
    /// The campaign is closed, which is final.
    Closed,
    /// The campaign is not closed, and the deletion was not forced.
    NotClosed,
    /// The round was replaced by its counts: nothing can be reported for it any more.
    Compacted,
    /// The rounds would be more than the horizon of the campaign has.
    BeyondHorizon {
        /// How many were handed out before.
        rounds: u64,
    },
    /// The key was used before; whether for the same request, and for which rounds.
    KeyUsed {
        /// The digest of that request.
        request: [u8; 32],
        /// The rounds that were handed out.
        rounds: Range<u64>,
    },
    /// Some of the rounds are taken.
    RoundsTaken,
    /// Something else had come back of a task, in the lowest such place of the items.
    Conflict {
        /// The task.
        task: u32,
        /// What had come back.
        stored: Outcome,
    },
    /// Nothing has come back that could be corrected.
    NothingToCorrect,
    /// There is no such token, or one of the same id.
    Token,
}
