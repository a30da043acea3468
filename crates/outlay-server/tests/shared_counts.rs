//! A store that others write to as well is read again and again; what was just committed must not count twice by that.

mod wrapped;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use outlay_server::clock::{Clock, SetClock};
use outlay_server::desk::Desk;
use outlay_server::limits::Limits;
use outlay_server::shapes::{Ask, Feedback, NewCampaign, TaskResult};
use outlay_server::store::{Command, Store as _};
use serde_json::json;
use wrapped::Wrapped;

fn campaign() -> NewCampaign {
    let problem = json!({ "budget": 10.0, "task": [{ "name": "tv", "curve": { "family": "power", "exponent": 0.5, "scale": 80.0 } }] });
    NewCampaign { problem, learner: None, horizon: None, seed: None, guards: None, expiry_seconds: None }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_committed_during_a_reading_counts_once() {
    // Reports that are committed.
    let commits = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&commits);
    let store = Wrapped::new(true, move |store, batch| {
        let done = store.apply(batch);
        if batch.iter().any(|command| matches!(command, Command::Tell(_))) {
            // Long enough for a reading, if nothing keeps one away.
            counted.fetch_add(1, Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(50));
        }
        done
    });
    let (clock, limits) = (Arc::new(SetClock::new(0)), Limits::default());
    let staleness = limits.staleness_ms;
    let desk = Arc::new(Desk::open(Arc::new(store), Arc::clone(&clock) as Arc<dyn Clock>, limits).unwrap());
    desk.create("c", campaign(), "").await.unwrap();
    for number in 1..=5 {
        let round = desk.ask("c", Ask::default(), None, "").await.unwrap().rounds[0];
        let teller = Arc::clone(&desk);
        let results = vec![TaskResult { task: "tv".to_owned(), completed: true, reward: Some(1.0) }];
        let told = tokio::spawn(async move { teller.tell("c", round, Feedback { results }, "").await });
        while commits.load(Ordering::SeqCst) < number {
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
