//! A store that others write to as well is read again and again; what was just committed must not count twice by that.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use outlay_server::clock::{Clock, SetClock};
use outlay_server::desk::Desk;
use outlay_server::limits::Limits;
use outlay_server::shapes::{Ask, Feedback, NewCampaign, TaskResult};
use outlay_server::store::{
    CampaignRow, Command, Done, Event, MemoryStore, Millis, Refusal, RoundRow, SplitRow, Standing, Store, StoreError, TokenRow, UsedKey,
    Verified,
};
use serde_json::json;

/// A store that takes its time between the commit of a report and the answer.
#[derive(Debug, Default)]
struct Slow {
    inner: MemoryStore,
    /// Reports that are committed.
    commits: AtomicU64,
}

impl Store for Slow {
    fn name(&self) -> &'static str {
        "slow"
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn apply(&self, batch: &[Command]) -> Result<Vec<Result<Done, Refusal>>, StoreError> {
        let done = self.inner.apply(batch);
        if batch.iter().any(|command| matches!(command, Command::Tell(_))) {
            // Long enough for a reading, if nothing keeps one away.
            self.commits.fetch_add(1, Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(50));
        }
        done
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

    fn rounds(&self, campaign: &str, after: u64, limit: usize) -> Result<Vec<RoundRow>, StoreError> {
        self.inner.rounds(campaign, after, limit)
    }

    fn events(&self, campaign: &str, after: u64, limit: usize) -> Result<Vec<Event>, StoreError> {
        self.inner.events(campaign, after, limit)
    }

    fn used_key(&self, token: &str, key: &str, now: Millis) -> Result<Option<UsedKey>, StoreError> {
        self.inner.used_key(token, key, now)
    }

    fn tokens(&self) -> Result<Vec<TokenRow>, StoreError> {
        self.inner.tokens()
    }

    fn verify(&self) -> Result<Verified, StoreError> {
        self.inner.verify()
    }

    fn health(&self) -> Result<(), StoreError> {
        self.inner.health()
    }

    fn close(&self) -> Result<(), StoreError> {
        self.inner.close()
    }
}

fn campaign() -> NewCampaign {
    let problem = json!({ "budget": 10.0, "task": [{ "name": "tv", "curve": { "family": "power", "exponent": 0.5, "scale": 80.0 } }] });
    NewCampaign { problem, learner: None, horizon: None, seed: None, guards: None, expiry_seconds: None }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_committed_during_a_reading_counts_once() {
    let store = Arc::new(Slow::default());
    let (clock, limits) = (Arc::new(SetClock::new(0)), Limits::default());
    let staleness = limits.staleness_ms;
    let desk = Arc::new(Desk::open(Arc::clone(&store) as Arc<dyn Store>, Arc::clone(&clock) as Arc<dyn Clock>, limits).unwrap());
    desk.create("c", campaign(), "").await.unwrap();
    for number in 1..=5 {
        let round = desk.ask("c", Ask::default(), None, "").await.unwrap().rounds[0];
        let teller = Arc::clone(&desk);
        let results = vec![TaskResult { task: "tv".to_owned(), completed: true, reward: Some(1.0) }];
        let told = tokio::spawn(async move { teller.tell("c", round, Feedback { results }, "").await });
        while store.commits.load(Ordering::SeqCst) < number {
            tokio::task::yield_now().await;
        }
        // It is committed, and nobody has been told so yet. This look reads the counts again; the next one does not, and finds what that left.
        clock.set(clock.now() + staleness);
        desk.campaign("c").await.unwrap();
        told.await.unwrap().unwrap();
        let state = desk.campaign("c").await.unwrap();
        assert_eq!((state.stats_version, state.tasks[0].completions, state.tasks[0].reward_sum), (number, number, number as f64));
    }
}
