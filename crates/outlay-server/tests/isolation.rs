//! Rebuilding a learner from the store does not delay writes to it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use outlay_server::api::{Ask, CampaignState, Correction, Feedback, NewCampaign, TaskResult};
use outlay_server::clock::SystemClock;
use outlay_server::limits::Limits;
use outlay_server::service::CampaignService;
use outlay_server::store::Store;
use serde_json::json;

use crate::support::wrapped::Wrapped;

fn campaign(learner: &str) -> NewCampaign {
    let task = |name: &str| json!({ "name": name, "curve": { "family": "power", "exponent": 0.5, "scale": 20.0 } });
    NewCampaign {
        problem: json!({ "budget": 10.0, "task": [task("tv"), task("web")] }),
        learner: Some(learner.to_owned()),
        horizon: Some(100),
        seed: None,
        guards: None,
        ignore_seen: None,
        expiry_seconds: None,
    }
}

fn results(reward: f64) -> Feedback {
    let result = |task: &str| TaskResult {
        task: task.to_owned(),
        completed: Some(true),
        reward: Some(reward),
        ..TaskResult::default()
    };
    Feedback { results: vec![result("tv"), result("web")] }
}

/// A gate that a test closes.
#[derive(Debug, Default)]
struct Gate {
    is_closed: Mutex<bool>,
    changed: Condvar,
    has_waiter: AtomicBool,
}

impl Gate {
    fn pass(&self) {
        let mut is_closed = self.is_closed.lock().unwrap();
        while *is_closed {
            self.has_waiter.store(true, Ordering::SeqCst);
            is_closed = self.changed.wait(is_closed).unwrap();
        }
    }

    fn set_closed(&self, is_closed: bool) {
        *self.is_closed.lock().unwrap() = is_closed;
        self.changed.notify_all();
    }
}

/// A correction makes the service rebuild the learner. Meanwhile all campaigns accept reports, and
/// the rebuilt learner has counted these reports once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reports_are_accepted_while_a_learner_is_rebuilt() {
    let gate = Arc::new(Gate::default());
    let passed = Arc::clone(&gate);
    let store = Wrapped::new(false, |store, batch| store.apply(batch));
    let store: Arc<dyn Store> = Arc::new(store.before_events(move || passed.pass()));
    let open = || {
        let limits = Limits::default();
        CampaignService::open(Arc::clone(&store), Arc::new(SystemClock), limits).unwrap()
    };
    let service = open();
    service.create("c", campaign("explore-then-commit:rounds=5"), "").await.unwrap();
    service.create("other", campaign("kl-ucb-plus"), "").await.unwrap();
    service.ask("other", Ask::default(), None, "").await.unwrap();
    for round in 1..=5 {
        service.ask("c", Ask::default(), None, "").await.unwrap();
        if round < 5 {
            service.tell("c", round, results(0.5), "").await.unwrap();
        }
    }
    let correction = Correction {
        task: "tv".to_owned(),
        completed: Some(true),
        completions: None,
        reward: Some(0.25),
        spend: None,
        why: "measured again".to_owned(),
    };
    service.correct("c", 1, correction, "").await.unwrap();
    gate.set_closed(true);
    let asker = service.clone();
    let asked = tokio::spawn(async move { asker.ask("c", Ask::default(), None, "").await });
    while !gate.has_waiter.load(Ordering::SeqCst) {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    for (campaign, round) in [("other", 1), ("c", 5)] {
        let report = service.tell(campaign, round, results(1.0), "");
        let report = tokio::time::timeout(Duration::from_secs(5), report).await;
        assert_eq!(report.expect("a report waits for the learner").unwrap().accepted, 2);
    }
    gate.set_closed(false);
    assert_eq!(asked.await.unwrap().unwrap().rounds, [6]);
    let learnt = |state: &CampaignState| -> Vec<_> {
        state.tasks.iter().map(|task| (task.index, task.spend, task.completions)).collect()
    };
    let again = open().campaign("c").await.unwrap();
    assert_eq!(learnt(&again)[0].2, 5);
    assert_eq!(learnt(&service.campaign("c").await.unwrap()), learnt(&again));
}
