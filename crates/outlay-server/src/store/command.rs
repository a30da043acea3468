//! Commands of a store, and their results.

use std::ops::Range;
use std::sync::Arc;

use super::Millis;
use super::record::{CampaignStatus, Checkpoint, FullSplit, Outcome, Split, TokenRow};

/// One change, carried out as a whole or not at all.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Create a campaign.
    Create(NewCampaign),
    /// Change the status of a campaign.
    SetStatus(StatusChange),
    /// Replace the problem of a campaign.
    Amend(ProblemChange),
    /// Delete a campaign permanently.
    Delete(Deletion),
    /// Set the checkpoint of a campaign without rounds, from another store.
    Restore(RestoredCheckpoint),
    /// Issue rounds.
    Ask(Ask),
    /// Record outcomes.
    Tell(Tell),
    /// Correct an outcome.
    Correct(Correction),
    /// Add a token.
    AddToken(TokenRow),
    /// Revoke a token.
    RevokeToken(TokenRevocation),
    /// Record the use of a token.
    UseToken(TokenUse),
}

/// A new campaign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewCampaign {
    /// The id.
    pub id: String,
    /// Its request in canonical form: equal text means the same campaign.
    pub spec: String,
    /// Number of tasks.
    pub tasks: u32,
    /// Time.
    pub at: Millis,
    /// Public part of the token.
    pub token: String,
}

/// A change of a campaign's status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusChange {
    /// The campaign.
    pub campaign: String,
    /// The new status.
    pub to: CampaignStatus,
    /// The version that the client has seen; the change is rejected for any other.
    pub only_if: u64,
    /// Whether a closed campaign may be changed: only by an import.
    pub may_reopen: bool,
    /// Time.
    pub at: Millis,
    /// Public part of the token.
    pub token: String,
}

/// An amendment: another problem for a campaign. Rounds that were issued before keep theirs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProblemChange {
    /// The campaign.
    pub campaign: String,
    /// The new problem.
    pub problem: String,
    /// Number of its tasks; at least as many as before, which keep their places.
    pub tasks: u32,
    /// The difference to the problem before, for the record.
    pub changes: String,
    /// The version that the client has seen; the change is rejected for any other.
    pub only_if: u64,
    /// Whether a closed campaign may be changed: only by an import.
    pub may_be_closed: bool,
    /// Time.
    pub at: Millis,
    /// Public part of the token.
    pub token: String,
}

/// The deletion of a campaign. Its id is free immediately; its rows are removed by
/// [`purge`](super::Store::purge).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deletion {
    /// The campaign.
    pub campaign: String,
    /// The version that the client has seen; the deletion is rejected for any other.
    pub only_if: u64,
    /// Whether a campaign that is not closed may be deleted.
    pub force: bool,
    /// Time.
    pub at: Millis,
    /// Public part of the token.
    pub token: String,
}

/// A checkpoint from an import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoredCheckpoint {
    /// The campaign, which has no rounds yet.
    pub campaign: String,
    /// Its counts so far.
    pub checkpoint: Checkpoint,
}

/// The rounds to compact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compaction {
    /// The campaign.
    pub campaign: String,
    /// Rounds that expired at this time or before.
    pub expired_before: Millis,
    /// Whether to keep the last of these splits and all later splits: guards are restored from
    /// them.
    pub keep_last: Option<FullSplit>,
    /// Largest number of rounds per call; at least one split is compacted.
    pub most_rounds: u64,
    /// Only count the rounds; change nothing.
    pub is_dry_run: bool,
    /// Time.
    pub at: Millis,
}

/// Rounds issued with one split.
#[derive(Debug, Clone, PartialEq)]
pub struct Ask {
    /// The campaign.
    pub campaign: String,
    /// Ids from [`lease_rounds`](super::Store::lease_rounds), one after the other.
    pub rounds: Range<u64>,
    /// The split of each round.
    pub split: Arc<Split>,
    /// Number of amendments of the campaign at the decision; the request is rejected if there have
    /// been others since.
    pub amendments: u64,
    /// Version of the counts at the decision: see [`Standing::version`](super::Standing::version).
    pub stats_version: u64,
    /// Time.
    pub at: Millis,
    /// Time of expiry.
    pub expires_at: Millis,
    /// Public part of the token.
    pub token: String,
    /// The idempotency key, if there is one.
    pub key: Option<Key>,
    /// Largest number of rounds of the campaign; absent: unlimited.
    pub horizon: Option<u64>,
}

/// An idempotency key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// As the client wrote it.
    pub key: String,
    /// A digest of the request.
    pub request: [u8; 32],
    /// Time from which it may be removed.
    pub expires_at: Millis,
}

/// Outcomes of one round, complete or in part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tell {
    /// The campaign.
    pub campaign: String,
    /// The round. The caller has checked that it was issued with each of the tasks.
    pub round: u64,
    /// One item per task at most.
    pub items: Vec<Item>,
    /// Whether the round had expired.
    pub is_late: bool,
    /// Time.
    pub at: Millis,
    /// Public part of the token.
    pub token: String,
}

/// Outcome of one task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Item {
    /// The task, counted from 0.
    pub task: u32,
    /// The outcome.
    pub outcome: Outcome,
    /// Number of completions that the curve predicts, in billionths.
    pub expected: u64,
}

/// A correction of an outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Correction {
    /// The campaign.
    pub campaign: String,
    /// The round.
    pub round: u64,
    /// The task.
    pub task: u32,
    /// The new outcome.
    pub to: Outcome,
    /// Number of completions that the curve predicts, in billionths, if it is not the reported
    /// one.
    pub expected: Option<u64>,
    /// The reason.
    pub why: String,
    /// Time.
    pub at: Millis,
    /// Public part of the token.
    pub token: String,
}

/// A revocation of a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenRevocation {
    /// The token's public part.
    pub id: String,
    /// Time.
    pub at: Millis,
}

/// A use of a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenUse {
    /// The token's public part.
    pub id: String,
    /// Time.
    pub at: Millis,
}

/// Result of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Done {
    /// The campaign was created, with version 1.
    Created,
    /// It exists with the same spec.
    WasThere,
    /// The status was set, even if it is unchanged.
    StatusSet {
        /// The new version.
        version: u64,
    },
    /// The problem was replaced.
    Amended {
        /// The new version.
        version: u64,
        /// The new number of amendments.
        amendments: u64,
    },
    /// The campaign is deleted.
    Deleted {
        /// Number of its rounds.
        rounds: u64,
        /// Number of its outcomes.
        outcomes: u64,
    },
    /// The checkpoint was set.
    Restored,
    /// The rounds were issued.
    Asked,
    /// The outcomes were counted.
    Told {
        /// For each item whether it is new; the others repeat an earlier outcome.
        is_new: Vec<bool>,
        /// Whether the round is complete.
        is_complete: bool,
    },
    /// The correction was counted.
    Corrected {
        /// The previous outcome.
        from: Outcome,
        /// Change of the number of completions that the curve predicts, in billionths.
        expected_change: i64,
    },
    /// The token was added.
    TokenAdded,
    /// The token was revoked.
    TokenRevoked,
    /// The use replaced the previous one.
    TokenUsed,
}

/// Reason why a command was rejected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// There is no such campaign.
    NoCampaign,
    /// There is a campaign with this id and another spec.
    OtherCampaign,
    /// The campaign has another version.
    OtherVersion {
        /// This version.
        version: u64,
    },
    /// The campaign is closed, which is final.
    Closed,
    /// The campaign was amended after the rounds were decided.
    Amended,
    /// The campaign is not closed, and the deletion was not forced.
    NotClosed,
    /// The round was replaced by its counts: nothing can be reported for it any more.
    Compacted,
    /// The rounds would exceed the horizon of the campaign.
    BeyondHorizon {
        /// Number of rounds issued before.
        rounds: u64,
    },
    /// The key was used before.
    KeyUsed {
        /// The digest of that request.
        request: [u8; 32],
        /// The rounds that were issued.
        rounds: Range<u64>,
    },
    /// Some of the rounds are taken.
    RoundsTaken,
    /// A different outcome of a task was reported before; the first such item.
    Conflict {
        /// The task.
        task: u32,
        /// The stored outcome.
        stored: Outcome,
    },
    /// A sum of the task would exceed [`TaskCount::MAX_SUM`](super::TaskCount::MAX_SUM).
    TooLarge {
        /// The task.
        task: u32,
    },
    /// There is no outcome to correct.
    NothingToCorrect,
    /// There is no such token, or one with this id exists.
    Token,
}
