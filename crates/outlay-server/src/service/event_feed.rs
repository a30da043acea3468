//! The events of a campaign as they happen.

use std::sync::Arc;
use std::time::Duration;

use super::campaign_cache::CachedCampaign;
use super::{CampaignService, views};
use crate::error::ApiError;
use crate::shapes::EventEntry;

/// Tasks of all events of a page: a stream holds one page at a time.
const PAGE_TASKS: usize = 2000;
const PAGE: usize = 100;
/// Bytes of an event for each of its tasks, about.
const TASK_BYTES: usize = 100;

/// A position among the events of a campaign.
#[derive(Debug)]
pub struct EventFeed {
    cached: Arc<CachedCampaign>,
    after: u64,
    /// Where the page before ended, if it was full: others may lie between `after` and here.
    read_up_to: u64,
    is_shared: bool,
    changes: tokio::sync::watch::Receiver<u64>,
}

impl EventFeed {
    /// Goes on after this event.
    pub fn advance(&mut self, seq: u64) {
        self.after = self.after.max(seq);
    }

    /// Whether other processes write to the campaign: an event may then appear after one with a
    /// higher number.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// How large a page is, about.
    #[must_use]
    pub fn page_bytes(&self) -> usize {
        self.page() * self.cached.spec.problem.tasks().len() * TASK_BYTES
    }

    /// Whether the page before was the last one so far.
    #[must_use]
    pub fn is_at_end(&self) -> bool {
        self.read_up_to == 0
    }

    /// Waits until something is written here since events were read last, but not longer than
    /// `time`.
    pub async fn wait(&mut self, time: Duration) {
        tokio::time::timeout(time, self.changes.changed()).await.ok();
    }

    fn page(&self) -> usize {
        (PAGE_TASKS / self.cached.spec.problem.tasks().len().max(1)).clamp(1, PAGE)
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
        let events = self.read(&cached.id, move |store, id| store.events(&id, after, page)).await?;
        let last = events.last().filter(|_| events.len() == page);
        feed.read_up_to = last.map_or(0, |last| last.seq);
        Ok(events.into_iter().map(|event| views::event(&cached.spec, event)).collect())
    }
}
