//! Where everything that was acknowledged is kept: campaigns, the splits handed out, what came back
//! of them.
//!
//! What a campaign has learnt is a set of feedback items, one at most for each (round, task),
//! folded with `+` over whole numbers ([`TaskCount`]). So late, repeated and reordered feedback
//! gives the same counts, and no store needs a lock on a campaign.
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
    Ask, Command, Compaction, Correction, Deletion, Done, Item, Key, NewCampaign, Refusal,
    RestoredCheckpoint, StatusChange, Tell, TokenRevocation, TokenUse,
};
pub use memory::MemoryStore;
pub use metrics::{PoolMetrics, StoreMetrics};
pub use postgres::{PostgresOptions, PostgresStore, Slots};
pub use record::{
    CampaignRow, CampaignSnapshot, CampaignStatus, Checkpoint, Compacted, DeletedCampaign, Event,
    EventKind, Outcome, RoundRow, Split, SplitRow, Standing, StoreSize, TaskCount, TokenRow,
    UsedKey, Verified,
};
pub(crate) use sqlite::{DATABASE, private_file, private_folder, sync_folder};
pub use sqlite::{DISK_FULL, SqliteOptions, SqliteStore, StoreMark};

use std::ops::Range;

/// Milliseconds since 1970.
pub type Millis = i64;

/// How many rounds are looked at for those that wait. Who has that many more since has noticed
/// whoever does not report; and a campaign with a day's millions of rounds must not keep a start
/// waiting.
pub const LOOKED_BACK: u64 = 100_000;

/// The store cannot do what was asked; nothing is known of the batch in hand.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct StoreError {
    /// What went wrong, in a sentence without secrets.
    pub what: String,
    /// Whether the process must stop: a write or a sync failed, and nobody can know what the disk
    /// holds. If not, the same can be tried again later.
    pub is_fatal: bool,
}

/// Where campaigns are kept. Calls block; they come from several threads.
pub trait Store: Send + Sync + std::fmt::Debug {
    /// Its name in logs and metrics: `memory`, `sqlite`, `postgres`.
    fn name(&self) -> &'static str;

    /// Whether other processes may write to the same campaigns: counts must then be read again now
    /// and then.
    fn is_shared(&self) -> bool;

    /// Whether nothing is waited for: no disk, no network. Such a store is written to by whoever
    /// asks, not by a thread of its own.
    fn is_in_memory(&self) -> bool {
        false
    }

    /// Carries out the commands in their order, each of them wholly or not at all. A command that
    /// is refused changes nothing and does not hinder the others. Everything is durable when this
    /// returns; one answer a command.
    ///
    /// # Errors
    /// If nothing is known of what was kept.
    fn apply(&self, batch: &[Command]) -> Result<Vec<Result<Done, Refusal>>, StoreError>;

    /// Forgets what it remembers of a campaign that another process has deleted: another campaign
    /// may have its id by now.
    fn forget_campaign(&self, id: &str) {
        let _ = id;
    }

    /// Takes so many round ids, counted from 1, for the process that asks: nobody is ever given the
    /// same ones for rounds that were acknowledged. Ids that are taken and not used leave gaps.
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

    /// What a campaign has learnt.
    fn standing(&self, campaign: &str) -> Result<Standing, StoreError>;

    /// The split that a round was handed out with; none if it was not handed out.
    fn split(&self, campaign: &str, round: u64) -> Result<Option<SplitRow>, StoreError>;

    /// The split with the highest rounds.
    fn last_split(&self, campaign: &str) -> Result<Option<SplitRow>, StoreError>;

    /// The part of a campaign that changes, with the last split if it begins after `after`: for
    /// processes that share a store, which read it often.
    fn snapshot(&self, campaign: &str, after: u64) -> Result<Option<CampaignSnapshot>, StoreError> {
        let Some(row) = self.campaign(campaign)? else { return Ok(None) };
        let last_split = self.last_split(campaign)?.filter(|last| last.rounds.start > after);
        Ok(Some(CampaignSnapshot {
            status: row.status,
            version: row.version,
            created_at: row.created_at,
            changed_at: row.changed_at,
            standing: self.standing(campaign)?,
            last_split,
        }))
    }

    /// Rounds that expire after `now` and of which something is still to be told, in order: the
    /// number of each, and when it expires. Only the last [`LOOKED_BACK`] rounds are looked at.
    fn open_rounds(&self, campaign: &str, now: Millis) -> Result<Vec<(u64, Millis)>, StoreError>;

    /// Those of the rounds of which nothing more is to be told, in their order.
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

    /// Rounds in order, those after `after`, with what was told of them. What was corrected is
    /// shown as corrected.
    fn rounds(&self, campaign: &str, after: u64, limit: usize)
    -> Result<Vec<RoundRow>, StoreError>;

    /// What happened, in the order of `seq`, after `after`.
    fn events(&self, campaign: &str, after: u64, limit: usize) -> Result<Vec<Event>, StoreError>;

    /// The number of the last event of a campaign; 0 if there is none.
    fn last_event(&self, campaign: &str) -> Result<u64, StoreError>;

    /// The rounds that were handed out under an idempotency key, if it is still kept.
    fn used_key(&self, token: &str, key: &str, now: Millis) -> Result<Option<UsedKey>, StoreError>;

    /// Every token that was ever made, revoked ones too.
    fn tokens(&self) -> Result<Vec<TokenRow>, StoreError>;

    /// The counts of rounds that were compacted; none if there are none.
    fn checkpoint(&self, campaign: &str) -> Result<Option<Checkpoint>, StoreError>;

    /// Replaces the oldest rounds by their counts, a bounded number in one transaction: what is
    /// reported meanwhile does not wait long. The last split always stays. Counts do not change.
    ///
    /// # Errors
    /// If the store cannot be written to; nothing has changed then.
    fn compact(&self, compaction: &Compaction) -> Result<Compacted, StoreError>;

    /// Removes at most about so many rows of deleted campaigns; returns how many were removed. Zero
    /// means that none are left.
    ///
    /// # Errors
    /// If the store cannot be written to.
    fn purge(&self, rows: usize) -> Result<u64, StoreError>;

    /// Returns free space to the file system, a bounded amount per call, where that is possible
    /// while the store is in use; returns how many bytes. Zero means that there is no more.
    ///
    /// # Errors
    /// If the store cannot be written to.
    fn release_space(&self) -> Result<u64, StoreError> {
        Ok(0)
    }

    /// How large it is.
    fn size(&self) -> Result<StoreSize, StoreError>;

    /// Campaigns that were deleted, the latest first.
    fn deleted_campaigns(&self, limit: usize) -> Result<Vec<DeletedCampaign>, StoreError>;

    /// Folds all feedback again and compares the counts that are kept with it.
    fn verify(&self) -> Result<Verified, StoreError>;

    /// Whether it can be written to.
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

    /// Called before the process ends: leaves files tidy. What was acknowledged is safe without it.
    fn close(&self) -> Result<(), StoreError>;
}
