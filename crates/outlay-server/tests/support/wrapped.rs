//! An in-memory store whose writes go through a function of the test.

use std::fmt;
use std::ops::Range;

use outlay_server::store::{
    CampaignRow, Checkpoint, Command, Compacted, Compaction, DeletedCampaign, Done, Event,
    MemoryStore, Millis, Refusal, RoundRow, SplitRow, Standing, Store, StoreError, StoreMetrics,
    StoreSize, TokenRow, UsedKey, Verified,
};

type Apply = dyn Fn(&MemoryStore, &[Command]) -> Applied + Send + Sync;
pub(crate) type Applied = Result<Vec<Result<Done, Refusal>>, StoreError>;

/// Reads come from memory; writes go through `apply`, on their own thread as with a disk.
pub(crate) struct Wrapped {
    inner: MemoryStore,
    is_shared: bool,
    apply: Box<Apply>,
    before_events: Box<dyn Fn() + Send + Sync>,
    metrics: StoreMetrics,
}

impl Wrapped {
    pub(crate) fn new(
        is_shared: bool,
        apply: impl Fn(&MemoryStore, &[Command]) -> Applied + Send + Sync + 'static,
    ) -> Self {
        Self {
            inner: MemoryStore::new(),
            is_shared,
            apply: Box::new(apply),
            before_events: Box::new(|| ()),
            metrics: StoreMetrics::default(),
        }
    }
}

impl Wrapped {
    /// Calls this before events are read.
    pub(crate) fn before_events(self, before: impl Fn() + Send + Sync + 'static) -> Self {
        Self { before_events: Box::new(before), ..self }
    }

    pub(crate) fn with_metrics(self, metrics: StoreMetrics) -> Self {
        Self { metrics, ..self }
    }
}

impl fmt::Debug for Wrapped {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Wrapped").field("inner", &self.inner).finish_non_exhaustive()
    }
}

impl Store for Wrapped {
    fn name(&self) -> &'static str {
        "wrapped"
    }

    fn is_shared(&self) -> bool {
        self.is_shared
    }

    fn apply(&self, batch: &[Command]) -> Applied {
        (self.apply)(&self.inner, batch)
    }

    fn lease_rounds(&self, campaign: &str, count: u32) -> Result<Range<u64>, StoreError> {
        self.inner.lease_rounds(campaign, count)
    }

    fn campaign(&self, id: &str) -> Result<Option<CampaignRow>, StoreError> {
        self.inner.campaign(id)
    }

    fn campaigns(&self, after: Option<&str>, limit: usize) -> Result<Vec<CampaignRow>, StoreError> {
        self.inner.campaigns(after, limit)
    }

    fn problem(&self, campaign: &str, amendments: u64) -> Result<Option<String>, StoreError> {
        self.inner.problem(campaign, amendments)
    }

    fn standing(&self, campaign: &str) -> Result<Standing, StoreError> {
        self.inner.standing(campaign)
    }

    fn split(&self, campaign: &str, round: u64) -> Result<Option<SplitRow>, StoreError> {
        self.inner.split(campaign, round)
    }

    fn last_split(&self, campaign: &str) -> Result<Option<SplitRow>, StoreError> {
        self.inner.last_split(campaign)
    }

    fn open_rounds(&self, campaign: &str, now: Millis) -> Result<Vec<(u64, Millis)>, StoreError> {
        self.inner.open_rounds(campaign, now)
    }

    fn rounds(
        &self,
        campaign: &str,
        after: u64,
        limit: usize,
    ) -> Result<Vec<RoundRow>, StoreError> {
        self.inner.rounds(campaign, after, limit)
    }

    fn events(&self, campaign: &str, after: u64, limit: usize) -> Result<Vec<Event>, StoreError> {
        (self.before_events)();
        self.inner.events(campaign, after, limit)
    }

    fn last_event(&self, campaign: &str) -> Result<u64, StoreError> {
        self.inner.last_event(campaign)
    }

    fn used_key(&self, token: &str, key: &str, now: Millis) -> Result<Option<UsedKey>, StoreError> {
        self.inner.used_key(token, key, now)
    }

    fn tokens(&self) -> Result<Vec<TokenRow>, StoreError> {
        self.inner.tokens()
    }

    fn checkpoint(&self, campaign: &str) -> Result<Option<Checkpoint>, StoreError> {
        self.inner.checkpoint(campaign)
    }

    fn compact(&self, compaction: &Compaction) -> Result<Compacted, StoreError> {
        self.inner.compact(compaction)
    }

    fn purge(&self, rows: usize) -> Result<u64, StoreError> {
        self.inner.purge(rows)
    }

    fn size(&self) -> Result<StoreSize, StoreError> {
        self.inner.size()
    }

    fn deleted_campaigns(&self, limit: usize) -> Result<Vec<DeletedCampaign>, StoreError> {
        self.inner.deleted_campaigns(limit)
    }

    fn verify(&self) -> Result<Verified, StoreError> {
        self.inner.verify()
    }

    fn metrics(&self) -> StoreMetrics {
        self.metrics.clone()
    }

    fn health(&self) -> Result<(), StoreError> {
        self.inner.health()
    }

    fn begin_import(&self) -> Result<(), StoreError> {
        self.inner.begin_import()
    }

    fn end_import(&self) -> Result<(), StoreError> {
        self.inner.end_import()
    }

    fn close(&self) -> Result<(), StoreError> {
        self.inner.close()
    }
}
