//! The service regularly reads the counts of a shared store. Its own commits must not count twice,
//! and those of other replicas must count.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use outlay::Problem;
use outlay::campaign::{Campaign, CampaignOptions};
use outlay::feedback::{Completion, Feedback as Shown, Reward};
use outlay::problem::NoFiles;
use outlay_server::api::{Ask, Feedback, NewCampaign, TaskResult};
use outlay_server::clock::{Clock, SetClock};
use outlay_server::error::ErrorCode;
use outlay_server::limits::Limits;
use outlay_server::service::CampaignService;
use outlay_server::store::{Command, Store as _};
use serde_json::json;

use crate::support::wrapped::Wrapped;

fn campaign() -> NewCampaign {
    let problem = json!({ "budget": 10.0, "task": [{ "name": "tv", "curve": { "family": "power", "exponent": 0.5, "scale": 80.0 } }] });
    NewCampaign {
        problem,
        learner: None,
        horizon: None,
        seed: None,
        guards: None,
        ignore_seen: None,
        expiry_seconds: None,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn commits_during_a_refresh_count_once() {
    // Number of committed reports.
    let commits = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&commits);
    let store = Wrapped::new(true, move |store, batch| {
        let done = store.apply(batch);
        if batch.iter().any(|command| matches!(command, Command::Tell(_))) {
            // Long enough for a refresh of the counts, if nothing prevents it.
            counted.fetch_add(1, Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(50));
        }
        done
    });
    let (clock, limits) = (Arc::new(SetClock::new(0)), Limits::default());
    let staleness = limits.staleness_ms;
    let service = Arc::new(
        CampaignService::open(Arc::new(store), Arc::clone(&clock) as Arc<dyn Clock>, limits)
            .unwrap(),
    );
    service.create("c", campaign(), "").await.unwrap();
    for number in 1..=5 {
        let round = service.ask("c", Ask::default(), None, "").await.unwrap().rounds[0];
        let teller = Arc::clone(&service);
        let results = vec![TaskResult {
            task: "tv".to_owned(),
            completed: Some(true),
            reward: Some(1.0),
            ..TaskResult::default()
        }];
        let report =
            tokio::spawn(async move { teller.tell("c", round, Feedback { results }, "").await });
        while commits.load(Ordering::SeqCst) < number {
            tokio::task::yield_now().await;
        }
        // The report is committed but not yet acknowledged. This read refreshes the counts; the
        // next one does not.
        clock.set(clock.now() + staleness);
        service.campaign("c").await.unwrap();
        report.await.unwrap().unwrap();
        let state = service.campaign("c").await.unwrap();
        assert_eq!(
            (state.stats_version, state.tasks[0].completions, state.tasks[0].reward_sum),
            (number, number, number as f64)
        );
    }
}

/// The reward of a task as a share of the largest, if it completes: pseudorandom with fixed values.
fn drawn(round: u64, task: u64) -> Option<f64> {
    let number = (round * 7919 + task * 104_729) % 1000;
    (number < 600).then(|| (number % 50) as f64 / 50.0)
}

/// Two replicas that take turns compute the same splits as one, even with learners that depend on
/// the order of outcomes.
#[tokio::test(flavor = "multi_thread")]
async fn replicas_that_take_turns_act_as_one() {
    let names = ["tv", "web", "mail"];
    let task =
        |name: &&str| json!({ "name": name, "curve": { "family": "saturating", "full_at": 40.0 } });
    let problem = json!({ "budget": 60.0, "task": names.iter().map(task).collect::<Vec<_>>() });
    for learner in ["kl-ucb-plus", "thompson", "explore-then-commit", "lattimore"] {
        let parsed = Problem::from_json(&problem.to_string(), &NoFiles).unwrap();
        let mut campaign = Campaign::new(
            &parsed,
            CampaignOptions {
                learner: learner.parse().unwrap(),
                horizon: Some(200),
                feedback: Some(Shown::Censored),
                always_cold: true,
                ..CampaignOptions::default()
            },
        )
        .unwrap();
        let store: Arc<dyn outlay_server::store::Store> =
            Arc::new(Wrapped::new(true, |store, batch| store.apply(batch)));
        let clock: Arc<dyn Clock> = Arc::new(SetClock::new(0));
        let limits = Limits { staleness_ms: 0, ..Limits::default() };
        let services = [(); 2].map(|()| {
            CampaignService::open(Arc::clone(&store), Arc::clone(&clock), limits.clone()).unwrap()
        });
        let new = NewCampaign {
            problem: problem.clone(),
            learner: Some(learner.to_owned()),
            horizon: Some(200),
            ..self::campaign()
        };
        services[0].create("c", new, "").await.unwrap();
        for round in 1..=120 {
            let expected = campaign.allocate(60.0, None).unwrap().allocation.spend.clone();
            let asked =
                services[round as usize % 2].ask("c", Ask::default(), None, "").await.unwrap();
            assert_eq!(asked.rounds, [round]);
            let spends: Vec<u64> = asked.tasks.iter().map(|task| task.spend.to_bits()).collect();
            assert_eq!(
                spends,
                expected.iter().map(|spend| spend.to_bits()).collect::<Vec<_>>(),
                "{learner} round {round}"
            );
            let reward = |task: usize| drawn(round, task as u64).filter(|_| expected[task] > 0.0);
            let completed = |task| {
                reward(task).map(|share| Completion { task, reward: Reward::from_share(share) })
            };
            campaign
                .observe_completed(round, &(0..3).filter_map(completed).collect::<Vec<_>>())
                .unwrap();
            let result = |task: usize| TaskResult {
                task: names[task].to_owned(),
                completed: Some(reward(task).is_some()),
                reward: reward(task),
                ..TaskResult::default()
            };
            // Some reports go to the other replica.
            let results = (0..3).map(result).collect();
            services[(round / 3) as usize % 2]
                .tell("c", round, Feedback { results }, "")
                .await
                .unwrap();
        }
    }
}

/// A client may ask at one replica and report at another without using up the open rounds.
#[tokio::test(flavor = "multi_thread")]
async fn rounds_reported_elsewhere_do_not_stay_open() {
    let store: Arc<dyn outlay_server::store::Store> =
        Arc::new(Wrapped::new(true, |store, batch| store.apply(batch)));
    let (clock, limits) =
        (Arc::new(SetClock::new(0)), Limits { open_rounds: 10, ..Limits::default() });
    let [here, there] = [(); 2].map(|()| {
        CampaignService::open(
            Arc::clone(&store),
            Arc::clone(&clock) as Arc<dyn Clock>,
            limits.clone(),
        )
        .unwrap()
    });
    here.create("c", campaign(), "").await.unwrap();
    for number in 1..=100 {
        let round = here.ask("c", Ask::default(), None, "").await.unwrap().rounds[0];
        let results = vec![TaskResult {
            task: "tv".to_owned(),
            completed: Some(false),
            reward: None,
            ..TaskResult::default()
        }];
        there.tell("c", round, Feedback { results }, "").await.unwrap();
        // Five rounds per second.
        clock.set(number * 200);
    }
    clock.set(clock.now() + 2000);
    assert_eq!(
        (
            here.campaign("c").await.unwrap().open_rounds,
            there.campaign("c").await.unwrap().open_rounds
        ),
        (0, 0)
    );
    for _ in 0..10 {
        here.ask("c", Ask::default(), None, "").await.unwrap();
    }
    let refused = here.ask("c", Ask::default(), None, "").await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::TooManyOpenRounds, "unreported rounds count");
}
