//! Clients may disconnect before the answer. Their writes still reach the store, and the memory of
//! the service agrees with it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use futures_util::FutureExt;
use outlay_server::api::{Ask, Feedback, NewCampaign, TaskResult};
use outlay_server::clock::SystemClock;
use outlay_server::error::ErrorCode;
use outlay_server::limits::Limits;
use outlay_server::service::CampaignService;
use outlay_server::store::{Command, Store as _, StoreError};
use serde_json::json;

use crate::support::wrapped::Wrapped;

const GUARDS: &str = r#"{ "max_change": 0.2 }"#;

fn campaign() -> NewCampaign {
    let task = |name: &str, scale: f64| json!({ "name": name, "curve": { "family": "power", "exponent": 0.5, "scale": scale } });
    let problem = json!({ "budget": 10.0, "task": [task("tv", 80.0), task("web", 60.0)] });
    let guards = Some(serde_json::from_str(GUARDS).unwrap());
    NewCampaign {
        problem,
        learner: None,
        horizon: None,
        seed: None,
        guards,
        ignore_seen: None,
        expiry_seconds: None,
    }
}

/// A service whose store writes one batch per message on the returned channel.
async fn gated_service(
    apply: impl Fn(&[Command]) -> Option<StoreError> + Send + Sync + 'static,
) -> (CampaignService, mpsc::Sender<()>) {
    let (let_go, wait) = mpsc::channel();
    let wait = Mutex::new(wait);
    let store = Wrapped::new(false, move |store, batch| {
        wait.lock().unwrap().recv().unwrap();
        apply(batch).map_or_else(|| store.apply(batch), Err)
    });
    let service =
        CampaignService::open(Arc::new(store), Arc::new(SystemClock), Limits::default()).unwrap();
    let_go.send(()).unwrap();
    service.create("c", campaign(), "").await.unwrap();
    (service, let_go)
}

/// Starts a request and drops it before the answer.
fn start_and_drop<T>(work: impl Future<Output = T>) {
    assert!(work.now_or_never().is_none(), "the store has already answered");
}

async fn until<T: PartialEq + std::fmt::Debug>(expected: T, mut look: impl AsyncFnMut() -> T) {
    for _ in 0..500 {
        if look().await == expected {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(look().await, expected);
}

#[tokio::test]
async fn the_horizon_includes_rounds_not_written_yet() {
    let (service, let_go) = gated_service(|_| None).await;
    let_go.send(()).unwrap();
    service.create("short", NewCampaign { horizon: Some(4), ..campaign() }, "").await.unwrap();
    let ask = |count| service.ask("short", Ask { count: Some(count), ..Ask::default() }, None, "");
    start_and_drop(ask(3));
    assert_eq!(ask(2).await.unwrap_err().code, ErrorCode::HorizonExhausted);
    start_and_drop(ask(1));
    (0..2).for_each(|_| let_go.send(()).unwrap());
    until(4, async || service.campaign("short").await.unwrap().rounds).await;
    assert_eq!(ask(1).await.unwrap_err().code, ErrorCode::HorizonExhausted);
}

#[tokio::test]
async fn rounds_that_could_not_be_written_do_not_count() {
    let broken = Arc::new(AtomicBool::new(false));
    let breaks = Arc::clone(&broken);
    let error = || StoreError { what: "the disk is full".to_owned(), is_fatal: false };
    let (service, let_go) =
        gated_service(move |_| breaks.load(Ordering::Acquire).then(error)).await;
    let_go.send(()).unwrap();
    service.create("short", NewCampaign { horizon: Some(4), ..campaign() }, "").await.unwrap();
    let ask = |count| service.ask("short", Ask { count: Some(count), ..Ask::default() }, None, "");
    broken.store(true, Ordering::Release);
    let_go.send(()).unwrap();
    assert_eq!(ask(4).await.unwrap_err().code, ErrorCode::Busy);
    broken.store(false, Ordering::Release);
    let_go.send(()).unwrap();
    assert_eq!(ask(4).await.unwrap().rounds.len(), 4);
}

#[tokio::test]
async fn rounds_and_reports_of_lost_clients_are_stored() {
    let (service, let_go) = gated_service(|_| None).await;
    start_and_drop(service.ask("c", Ask::default(), None, ""));
    let_go.send(()).unwrap();
    let state = async || {
        let state = service.campaign("c").await.unwrap();
        (state.rounds, state.open_rounds, state.stats_version)
    };
    until((1, 1, 0), state).await;
    let results = ["tv", "web"]
        .map(|task| TaskResult {
            task: task.to_owned(),
            completed: Some(true),
            reward: Some(0.5),
            ..TaskResult::default()
        })
        .to_vec();
    start_and_drop(service.tell("c", 1, Feedback { results }, ""));
    let_go.send(()).unwrap();
    until((1, 0, 2), state).await;
    let_go.send(()).unwrap();
    assert_eq!(service.ask("c", Ask::default(), None, "").await.unwrap().rounds, [2]);
}

/// Open rounds, guards and learner take a split into account before it is stored. If the write
/// fails they must forget it, even if the client has disconnected.
#[tokio::test]
async fn a_failed_write_is_rolled_back() {
    let is_full = Arc::new(AtomicBool::new(true));
    let is_refused = Arc::clone(&is_full);
    let full = StoreError { what: "the disk is full".to_owned(), is_fatal: false };
    let (service, let_go) = gated_service(move |batch| {
        let is_ask = matches!(batch, [Command::Ask(_)]);
        (is_ask && is_refused.load(Ordering::SeqCst)).then(|| full.clone())
    })
    .await;
    start_and_drop(service.ask(
        "c",
        Ask { without: vec!["web".to_owned()], ..Ask::default() },
        None,
        "",
    ));
    until(1, async || service.campaign("c").await.unwrap().open_rounds).await;
    let_go.send(()).unwrap();
    until(0, async || service.campaign("c").await.unwrap().open_rounds).await;
    is_full.store(false, Ordering::SeqCst);
    let_go.send(()).unwrap();
    // Guards compare a split with the previous one and must ignore one that was never issued.
    let split = service.ask("c", Ask::default(), None, "").await.unwrap().tasks;
    let (untouched, let_go) = gated_service(|_| None).await;
    let_go.send(()).unwrap();
    assert_eq!(split, untouched.ask("c", Ask::default(), None, "").await.unwrap().tasks);
}
