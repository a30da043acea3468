//! The events of a campaign as they happen.

use std::sync::Arc;
use std::time::Duration;

use super::campaign_cache::CachedCampaign;
use super::{CampaignService, views};
use crate::api::EventEntry;
use crate::error::ApiError;
use crate::store::Store;

/// Tasks of all events of a page; a stream holds one page at a time.
const PAGE_TASKS: usize = 2000;
const PAGE: usize = 100;
/// Approximate size of an event per task, in bytes.
const TASK_BYTES: usize = 100;

/// A position among the events of a campaign.
#[derive(Debug)]
pub struct EventFeed {
    cached: Arc<CachedCampaign>,
    after: u64,
    /// End of the previous page, if it was full: others may lie between `after` and here.
    read_up_to: u64,
    is_shared: bool,
    changes: tokio::sync::watch::Receiver<u64>,
}

impl EventFeed {
    /// Continues after this event.
    pub fn advance(&mut self, seq: u64) {
        self.after = self.after.max(seq);
    }

    /// True if other processes write to the campaign: an event may then appear after one with a
    /// higher number.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// Approximate size of a page.
    #[must_use]
    pub fn page_bytes(&self) -> usize {
        self.page() * self.cached.spec().problem.tasks().len() * TASK_BYTES
    }

    /// True if the previous page was the last one so far.
    #[must_use]
    pub fn is_at_end(&self) -> bool {
        self.read_up_to == 0
    }

    /// Waits for a write by this process since the last read, for at most `time`.
    pub async fn wait(&mut self, time: Duration) {
        tokio::time::timeout(time, self.changes.changed()).await.ok();
    }

    fn page(&self) -> usize {
        (PAGE_TASKS / self.cached.spec().problem.tasks().len().max(1)).clamp(1, PAGE)
    }
}

impl CampaignService {
    /// The events of a campaign after one of them; without one, those from now on.
    ///
    /// # Errors
    /// If there is no such campaign.
    pub async fn event_feed(&self, id: &str, after: Option<u64>) -> Result<EventFeed, ApiError> {
        let cached = self.fresh(id).await?;
        let after = match after {
            Some(after) => after,
            None => self.read(id, |store, id| store.last_event(&id)).await?,
        };
        let (is_shared, changes) = (self.store().is_shared(), cached.changes());
        Ok(EventFeed { cached, after, read_up_to: 0, is_shared, changes })
    }

    /// The next events, without moving on.
    ///
    /// # Errors
    /// If the campaign was deleted, or the store cannot be read.
    pub async fn next_events(&self, feed: &mut EventFeed) -> Result<Vec<EventEntry>, ApiError> {
        let cached = self.fresh(&feed.cached.id).await?;
        if !Arc::ptr_eq(&cached, &feed.cached) {
            return Err(super::no_campaign(&feed.cached.id));
        }
        feed.changes.borrow_and_update();
        let (after, page) = (feed.after.max(feed.read_up_to), feed.page());
        let again = Arc::clone(&cached);
        let read = move |store: &dyn Store, id: String| {
            let events = store.events(&id, after, page)?;
            let tasks = events.iter().map(views::tasks_of).max();
            Ok((again.spec_with(store, tasks.unwrap_or(0))?, events))
        };
        let (spec, events) = self.read(&cached.id, read).await?;
        let last = events.last().filter(|_| events.len() == page);
        feed.read_up_to = last.map_or(0, |last| last.seq);
        Ok(events.into_iter().map(|event| views::event(&spec, event)).collect())
    }
}
