//! Storage of all acknowledged data: campaigns, splits and outcomes.
//!
//! The data that a campaign learns from is a set of outcomes, at most one per pair of round and
//! task, summed over integers ([`TaskCount`]). So late, repeated and reordered feedback gives the
//! same counts, and no store needs a lock on a campaign.
//!
//! A store knows nothing of curves, learners, tokens' scopes or HTTP, and never reads a clock:
//! times come with the commands. Every store must pass the suite in `tests/stores`.

mod command;
mod memory;
mod metrics;
mod postgres;
mod record;
mod sqlite;

pub use command::{
    Ask, Command, Compaction, Correction, Deletion, Done, Item, Key, NewCampaign, ProblemChange,
    Refusal, RestoredCheckpoint, StatusChange, Tell, TokenRevocation, TokenUse,
};
pub use memory::MemoryStore;
pub use metrics::{PoolMetrics, StoreMetrics};
pub use postgres::{PostgresOptions, PostgresStore, Slots};
pub use record::{
    CampaignRow, CampaignSnapshot, CampaignStatus, Checkpoint, Compacted, DeletedCampaign,
    Delivery, Event, EventKind, FullSplit, Outcome, RoundRow, Split, SplitRow, Standing, StoreSize,
    TaskCount, TokenRow, UsedKey, Verified,
};
pub(crate) use sqlite::{DATABASE, private_file, private_folder, sync_folder};
pub use sqlite::{DISK_FULL, SqliteOptions, SqliteStore, StoreMark};

use std::ops::Range;

/// Milliseconds since 1970.
pub type Millis = i64;

/// Number of rounds that are searched for open ones. A larger number would delay the start of
/// campaigns with millions of rounds per day.
pub const LOOKED_BACK: u64 = 100_000;

/// An error of the store; the state of the current batch is unknown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct StoreError {
    /// Description, without secrets.
    pub what: String,
    /// Whether the process must stop: a write or a sync failed, and the contents of the disk are
    /// unknown. Otherwise the call can be repeated later.
    pub is_fatal: bool,
}

/// A store of campaigns. Calls block and come from several threads.
pub trait Store: Send + Sync + std::fmt::Debug {
    /// Its name in logs and metrics: `memory`, `sqlite`, `postgres`.
    fn name(&self) -> &'static str;

    /// Whether other processes may write to the same campaigns: counts must then be read again from
    /// time to time.
    fn is_shared(&self) -> bool;

    /// Whether calls never wait for a disk or network. Such a store is written to by the caller,
    /// not by a separate thread.
    fn is_in_memory(&self) -> bool {
        false
    }

    /// Carries out the commands in order, each as a whole or not at all. A rejected command changes
    /// nothing and does not affect the others. Everything is durable when this returns; there is
    /// one result per command.
    ///
    /// # Errors
    /// If it is unknown which commands were carried out.
    fn apply(&self, batch: &[Command]) -> Result<Vec<Result<Done, Refusal>>, StoreError>;

    /// Forgets a campaign that another process has deleted: another campaign may have its id by
    /// now.
    fn forget_campaign(&self, id: &str) {
        let _ = id;
    }

    /// Takes round ids, counted from 1, for this process. No two acknowledged rounds get the same
    /// id. Unused ids leave gaps.
    ///
    /// # Errors
    /// If the store cannot be reached, or does not know the campaign.
    fn lease_rounds(&self, campaign: &str, count: u32) -> Result<Range<u64>, StoreError>;

    /// The same if it needs neither disk nor network; none if it does.
    fn lease_at_hand(&self, campaign: &str, count: u32) -> Option<Range<u64>> {
        let _ = (campaign, count);
        None
    }

    /// A campaign.
    ///
    /// # Errors
    /// If the store cannot be read; the same for everything below.
    fn campaign(&self, id: &str) -> Result<Option<CampaignRow>, StoreError>;

    /// Campaigns in the order of their ids, those after `after`.
    fn campaigns(&self, after: Option<&str>, limit: usize) -> Result<Vec<CampaignRow>, StoreError>;

    /// The problem of a campaign after this number of amendments; none if there were fewer, and for
    /// zero.
    fn problem(&self, campaign: &str, amendments: u64) -> Result<Option<String>, StoreError>;

    /// The counts of a campaign.
    fn standing(&self, campaign: &str) -> Result<Standing, StoreError>;

    /// The split of a round; none if the round was not issued.
    fn split(&self, campaign: &str, round: u64) -> Result<Option<SplitRow>, StoreError>;

    /// The split with the highest rounds.
    fn last_split(&self, campaign: &str) -> Result<Option<SplitRow>, StoreError>;

    /// The part of a campaign that changes, with the last split if it begins after `after`.
    /// Processes that share a store read it often.
    fn snapshot(&self, campaign: &str, after: u64) -> Result<Option<CampaignSnapshot>, StoreError> {
        let Some(row) = self.campaign(campaign)? else { return Ok(None) };
        let last_split = self.last_split(campaign)?.filter(|last| last.rounds.start > after);
        Ok(Some(CampaignSnapshot {
            status: row.status,
            version: row.version,
            amendments: row.amendments,
            created_at: row.created_at,
            changed_at: row.changed_at,
            standing: self.standing(campaign)?,
            last_split,
        }))
    }

    /// Open rounds that expire after `now`, in order, with their time of expiry. Only the last
    /// [`LOOKED_BACK`] rounds are searched.
    fn open_rounds(&self, campaign: &str, now: Millis) -> Result<Vec<(u64, Millis)>, StoreError>;

    /// Those of the rounds that are complete, in order.
    fn complete_rounds(&self, campaign: &str, rounds: &[u64]) -> Result<Vec<u64>, StoreError> {
        let mut complete = Vec::new();
        for round in rounds {
            let row = self.rounds(campaign, round.saturating_sub(1), 1)?.into_iter().next();
            if row
                .is_some_and(|row| row.round == *round && row.told.len() == row.split.split.there())
            {
                complete.push(*round);
            }
        }
        Ok(complete)
    }

    /// Rounds in order, after `after`, with their outcomes, including corrections.
    fn rounds(&self, campaign: &str, after: u64, limit: usize)
    -> Result<Vec<RoundRow>, StoreError>;

    /// Events in the order of `seq`, after `after`.
    fn events(&self, campaign: &str, after: u64, limit: usize) -> Result<Vec<Event>, StoreError>;

    /// The number of the last event of a campaign; 0 if there is none.
    fn last_event(&self, campaign: &str) -> Result<u64, StoreError>;

    /// The rounds that were issued under an idempotency key, if it is still kept.
    fn used_key(&self, token: &str, key: &str, now: Millis) -> Result<Option<UsedKey>, StoreError>;

    /// All tokens, including revoked ones.
    fn tokens(&self) -> Result<Vec<TokenRow>, StoreError>;

    /// The counts of compacted rounds, if there are any.
    fn checkpoint(&self, campaign: &str) -> Result<Option<Checkpoint>, StoreError>;

    /// Replaces the oldest rounds by their counts, a bounded number per transaction, so that
    /// reports do not wait long. The last split always stays. Counts do not change.
    ///
    /// # Errors
    /// If the store cannot be written to; nothing has changed then.
    fn compact(&self, compaction: &Compaction) -> Result<Compacted, StoreError>;

    /// Removes about this many rows of deleted campaigns at most; returns the number. Zero means
    /// that none are left.
    ///
    /// # Errors
    /// If the store cannot be written to.
    fn purge(&self, rows: usize) -> Result<u64, StoreError>;

    /// Returns free space to the file system, a bounded amount per call, if that is possible while
    /// the store is in use; returns the number of bytes. Zero means that there is no more.
    ///
    /// # Errors
    /// If the store cannot be written to.
    fn release_space(&self) -> Result<u64, StoreError> {
        Ok(0)
    }

    /// Its size.
    fn size(&self) -> Result<StoreSize, StoreError>;

    /// Deleted campaigns, the latest first.
    fn deleted_campaigns(&self, limit: usize) -> Result<Vec<DeletedCampaign>, StoreError>;

    /// Recounts all outcomes and compares the stored counts.
    fn verify(&self) -> Result<Verified, StoreError>;

    /// Checks that it can be written to.
    fn health(&self) -> Result<(), StoreError>;

    /// Sizes and connections, for metrics. Blocks; what cannot be determined is absent.
    fn metrics(&self) -> StoreMetrics {
        StoreMetrics::default()
    }

    /// Marks the store as incomplete, durably: it cannot be opened until
    /// [`end_import`](Self::end_import) removes the mark.
    fn begin_import(&self) -> Result<(), StoreError>;

    /// Everything was imported: removes the mark.
    fn end_import(&self) -> Result<(), StoreError>;

    /// Called before the process ends, to close files. Acknowledged data is safe without it.
    fn close(&self) -> Result<(), StoreError>;
}
