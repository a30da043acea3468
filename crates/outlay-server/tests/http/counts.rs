//! Campaigns with volumes: counts and actual spends over HTTP.

use std::sync::Arc;

use outlay::Problem;
use outlay::feedback::Feedback;
use outlay::learner::LEARNERS;
use outlay::ledger::{Entry, IssuedRound, Ledger, LedgerError, RoundRequest, Settings};
use outlay::problem::NoFiles;
use outlay_server::limits::Limits;
use outlay_server::store::{MemoryStore, SqliteOptions, SqliteStore, Store};
use serde_json::{Value, json};

use super::Running;
use super::client::{Answer, Client};
use crate::support::database::Database;

const ROUNDS: u64 = 30;

fn problem() -> Value {
    json!({ "budget": 90.0, "reward_max": 50.0, "task": [
        { "name": "search", "volume": 40, "curve": { "family": "exponential", "scale": 30 } },
        { "name": "social", "volume": 2.5, "curve": { "family": "hill", "half_at": 20, "steepness": 2 } },
        { "name": "mail", "curve": { "family": "exponential", "scale": 12 } }] })
}

fn create(client: &Client, learner: &str) -> String {
    let place = format!("/v1/campaigns/{learner}");
    let new = json!({ "problem": problem(), "learner": learner, "horizon": 99, "seed": 7 });
    let created = client.json("PUT", &place, &new.to_string());
    assert_eq!(created.status, 201, "{created:?}");
    place
}

fn ask(client: &Client, place: &str) -> Value {
    client.json("POST", &format!("{place}/rounds"), "{}").json()
}

type Named = &'static [(&'static str, f64)];

/// Scales and volumes of a round: some have neither.
fn conditions(round: u64) -> (Named, Named) {
    let scale: Named =
        if round.is_multiple_of(3) { &[("search", 1.3), ("social", 0.6)] } else { &[] };
    let volume: Named = if round.is_multiple_of(4) { &[("mail", 2.5)] } else { &[] };
    (scale, volume)
}

/// Asks for a round in both, which is the same one or refused in the same words.
fn ask_both(client: &Client, place: &str, daily: &mut Ledger, round: u64) -> (Value, IssuedRound) {
    let (scale, volume) = conditions(round);
    let named =
        |named: Named| Value::Object(named.iter().map(|(k, n)| ((*k).into(), json!(n))).collect());
    let body = json!({ "scale": named(scale), "volume": named(volume) }).to_string();
    let asked = client.json("POST", &format!("{place}/rounds"), &body);
    match daily.issue(&RoundRequest { scale, volume, ..RoundRequest::default() }) {
        Ok(issued) => (asked.json(), issued),
        Err(error) => {
            assert_eq!(
                (asked.status, asked.json()["detail"].as_str()),
                (422, Some(&*error.to_string()))
            );
            (ask(client, place), daily.next(None, &[]).unwrap())
        }
    }
}

fn report(client: &Client, place: &str, round: u64, results: &[Value]) -> Answer {
    let body = json!({ "results": results }).to_string();
    client.json("PUT", &format!("{place}/rounds/{round}/feedback"), &body)
}

/// Completions, sum of rewards and, in two of three rounds, the spend of a task.
fn outcome(round: u64, task: usize) -> (u64, f64, Option<f64>) {
    let number = round * 31 + task as u64 * 17;
    let completions = if number.is_multiple_of(5) { 0 } else { number % [41, 6, 2][task] };
    let reward = completions as f64 * (10.0 * task as f64 + (number % 13) as f64 / 1.3);
    let spend = (!round.is_multiple_of(3)).then_some(number as f64 / 7.0);
    (completions, reward, spend)
}

fn result(task: &str, (completions, reward, spend): (u64, f64, Option<f64>)) -> Value {
    let mut result = json!({ "task": task, "completions": completions });
    if completions > 0 {
        result["reward"] = json!(reward);
    }
    if let Some(spend) = spend {
        result["spend"] = json!(spend);
    }
    result
}

const TASKS: [&str; 3] = ["search", "social", "mail"];

/// The daily loop and the service compute bit-identical splits from the same counts, and show the
/// same sums.
fn follows_the_daily_loop(client: &Client, learner: &str) {
    let problem = Problem::from_json(&problem().to_string(), &NoFiles).unwrap();
    let learner_spec = learner.parse().unwrap();
    let settings =
        Settings { learner: learner_spec, horizon: Some(99), seed: 7, ..Settings::default() };
    let mut daily = Ledger::new(&problem, settings).unwrap();
    let place = create(client, learner);
    for round in 1..=ROUNDS {
        let (asked, issued) = ask_both(client, &place, &mut daily, round);
        let bits =
            |spends: &mut dyn Iterator<Item = f64>| spends.map(f64::to_bits).collect::<Vec<_>>();
        let spends = asked["tasks"].as_array().unwrap();
        let mut spends = spends.iter().map(|task| task["spend"].as_f64().unwrap());
        let split = issued.allocation.spend;
        assert_eq!(bits(&mut spends), bits(&mut split.into_iter()), "{learner} round {round}");
        let entry = |task| {
            let (completions, reward, spend) = outcome(round, task);
            Entry { round, task, completions, reward: Some(reward), spend }
        };
        daily.report(&[0, 1, 2].map(entry)).unwrap();
        let results = [0, 1, 2].map(|task| result(TASKS[task], outcome(round, task)));
        let reported = report(client, &place, round, &results);
        assert_eq!(
            reported.json(),
            json!({ "accepted": 3, "duplicate": 0, "late": 0 }),
            "{reported:?}"
        );
    }
    let (state, status) = (client.get(&place).json(), daily.status().unwrap());
    assert_eq!(state["dispersion"], 1.0);
    for (shown, known) in state["tasks"].as_array().unwrap().iter().zip(&status.tasks) {
        assert_eq!(shown["completions"], known.completions);
        let near =
            |shown: &Value, known: f64| (shown.as_f64().unwrap() - known).abs() <= 1e-6 * known;
        assert!(near(&shown["expected_completions"], known.expected), "{shown} {known:?}");
        let delivery = known.delivery.unwrap();
        assert!(near(&shown["spent"], delivery.spent), "{shown} {known:?}");
        assert!(near(&shown["delivered"], delivery.share().unwrap()), "{shown} {known:?}");
    }
}

fn all_learners(store: Arc<dyn Store>) {
    let service = Running::with(store, Limits::default());
    let takes_counts = |name: &str| !["full", "oful", "grid-ucb", "lattimore"].contains(&name);
    let served = LEARNERS
        .iter()
        .filter(|entry| entry.feedback == Feedback::Censored && takes_counts(entry.name));
    assert!(served.clone().count() >= 10);
    served.for_each(|entry| follows_the_daily_loop(&service.client(), entry.name));
}

#[test]
fn in_memory() {
    all_learners(Arc::new(MemoryStore::new()));
}

#[test]
fn on_postgres() {
    let Some(database) = Database::new() else { return };
    all_learners(Arc::new(database.store()));
}

#[test]
fn in_a_folder_and_after_a_restart() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let options = SqliteOptions { any_file_system: true, ..SqliteOptions::default() };
    // A service that has stopped may hold its store for a moment.
    let open = || loop {
        if let Ok(store) = SqliteStore::open(folder.path(), &options) {
            return Arc::new(store);
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    };
    all_learners(open());
    let shown = |service: &Running| {
        let client = service.client();
        ["kl-ucb-plus", "explore-then-commit"].map(|learner| {
            let place = format!("/v1/campaigns/{learner}");
            let rounds = client.get(&format!("{place}/rounds")).json();
            (client.get(&place).json()["tasks"].clone(), rounds)
        })
    };
    let before = shown(&Running::with(open(), Limits::default()));
    assert_eq!(shown(&Running::with(open(), Limits::default())), before);
}

/// Reports the outcomes of some rounds one by one, by round and in one request, in different
/// orders: the counts and the next split are the same.
#[test]
fn a_report_equals_its_parts_in_any_order() {
    let service = Running::new();
    let client = service.client();
    let learner = "kl-ucb-plus";
    let mut shown = Vec::new();
    let results = |round| [0, 1, 2].map(|task| result(TASKS[task], outcome(round, task)));
    for way in 0..3 {
        let place = format!("/v1/campaigns/way-{way}");
        let new = json!({ "problem": problem(), "learner": learner });
        assert_eq!(client.json("PUT", &place, &new.to_string()).status, 201);
        let asked = client.json("POST", &format!("{place}/rounds"), r#"{"count": 9}"#);
        assert_eq!(asked.status, 201, "{asked:?}");
        match way {
            0 => (1..=9).for_each(|round| {
                assert_eq!(report(&client, &place, round, &results(round)).status, 200);
            }),
            1 => (1..=27).for_each(|step| {
                let (round, task) = (1 + (step * 4) % 9, (step * 11 / 9 % 3) as usize);
                let single = &results(round)[task..=task];
                assert_eq!(report(&client, &place, round, single).status, 200);
            }),
            _ => {
                let line = |round| json!({ "round": round, "results": results(round) }).to_string();
                let lines: Vec<String> = (1..=9).rev().map(line).collect();
                let headers = [("content-type", "application/x-ndjson")];
                let path = format!("{place}/feedback");
                let reported =
                    client.send("POST", &path, &headers, Some(lines.join("\n").as_bytes()));
                assert_eq!(reported.json()["accepted"], 27, "{reported:?}");
            }
        }
        if way == 1 {
            // The order above may miss some pairs of round and task.
            (1..=9).for_each(|round| {
                assert_eq!(report(&client, &place, round, &results(round)).status, 200);
            });
        }
        shown.push(client.get(&place).json()["tasks"].clone());
    }
    assert!(shown.iter().all(|tasks| *tasks == shown[0]), "{shown:#?}");
}

/// Invalid outcomes are refused with the messages of the daily loop.
#[test]
fn invalid_counts_are_refused_in_the_words_of_the_daily_loop() {
    let service = Running::new();
    let client = service.client();
    let place = create(&client, "kl-ucb-plus");
    ask(&client, &place);
    let problem = Problem::from_json(&problem().to_string(), &NoFiles).unwrap();
    let mut daily = Ledger::new(&problem, Settings::default()).unwrap();
    daily.next(None, &[]).unwrap();
    for (completions, reward, spend, pointer) in [
        (24, Some(1200.1), None, "/results/0/reward"),
        (24, Some(-0.5), None, "/results/0/reward"),
        (1, Some(50.1), None, "/results/0/reward"),
        (24, None, None, "/results/0/reward"),
        (0, Some(3.0), None, "/results/0/reward"),
        (3, Some(3.0), Some(-1.0), "/results/0/spend"),
    ] {
        let mut outcome = json!({ "task": "search", "completions": completions });
        for (key, number) in [("reward", reward), ("spend", spend)] {
            if let Some(number) = number {
                outcome[key] = json!(number);
            }
        }
        let refused = report(&client, &place, 1, &[outcome]);
        assert_eq!((refused.status, refused.code().as_str()), (422, "bad-feedback"), "{refused:?}");
        assert_eq!(refused.json()["pointer"], pointer);
        let entry = Entry { round: 1, task: 0, completions, reward, spend };
        let Err(LedgerError::Entries(reasons)) = daily.report(&[entry]) else { unreachable!() };
        assert_eq!(refused.json()["detail"], reasons[0].reason.to_string());
    }
    for (outcome, status, pointer) in [
        (
            json!({ "task": "search", "completions": 1_000_000_001_u64, "reward": 0 }),
            422,
            "completions",
        ),
        (
            json!({ "task": "search", "completions": 1, "completed": true, "reward": 0 }),
            422,
            "completions",
        ),
        (json!({ "task": "search", "reward": 0 }), 422, "completed"),
        (json!({ "task": "search", "completions": 1, "reward": 0, "spend": 1e9 }), 422, "spend"),
        (json!({ "task": "search", "completions": -1 }), 400, "completions"),
        (json!({ "task": "search", "completions": 1.5 }), 400, "completions"),
    ] {
        let refused = report(&client, &place, 1, &[outcome]);
        assert_eq!(refused.status, status, "{refused:?}");
        assert_eq!(refused.json()["pointer"], format!("/results/0/{pointer}"), "{refused:?}");
    }
    assert_eq!(client.get(&place).json()["stats_version"], 0);
    // Five reports of the largest count exceed the limit of the sum.
    client.json("POST", &format!("{place}/rounds"), r#"{"count": 5}"#);
    let most = json!({ "task": "search", "completions": 1_000_000_000_u64, "reward": 5e10 });
    let statuses: Vec<u16> = (1..=5)
        .map(|round| report(&client, &place, round, std::slice::from_ref(&most)).status)
        .collect();
    assert_eq!(statuses, [200, 200, 200, 200, 422]);
}

/// Without volumes, outcomes are shown as in versions without counts.
#[test]
fn campaigns_without_volumes_show_completed() {
    let service = Running::new();
    let client = service.client();
    let new = r#"{"problem": {"budget": 10, "task": [{"name": "a", "curve": {"family": "exponential", "scale": 3}}]}}"#;
    let place = "/v1/campaigns/single";
    assert_eq!(client.json("PUT", place, new).status, 201);
    assert!(client.get(place).json().get("dispersion").is_none());
    client.json("POST", &format!("{place}/rounds"), r#"{"count": 2}"#);
    let many = json!({ "task": "a", "completions": 2, "reward": 1 });
    let refused = report(&client, place, 1, &[many]);
    assert_eq!(
        refused.json()["detail"],
        "completions of a: must be at most 1, not 2; tasks that complete more often need a volume \
         in the problem"
    );
    let once = json!({ "task": "a", "completions": 1, "reward": 1 });
    assert_eq!(report(&client, place, 1, &[once]).status, 200);
    let spent = json!({ "task": "a", "completed": true, "reward": 1, "spend": 4 });
    let conflict = report(&client, place, 1, std::slice::from_ref(&spent));
    assert_eq!((conflict.status, conflict.code().as_str()), (409, "conflict"));
    assert_eq!(conflict.json()["stored"], json!({ "task": "a", "completed": true, "reward": 1.0 }));
    let why = json!({ "task": "a", "completed": true, "reward": 1, "spend": 4, "why": "invoice" });
    let corrected = client.json("POST", &format!("{place}/rounds/1/corrections"), &why.to_string());
    assert_eq!(
        corrected.json()["to"],
        json!({ "task": "a", "completed": true, "reward": 1.0, "spend": 4.0 })
    );
    assert_eq!(report(&client, place, 2, &[spent]).status, 200);
    let task = client.get(place).json()["tasks"][0].clone();
    assert_eq!((&task["spent"], &task["delivered"]), (&json!(8.0), &json!(0.4)));
    let expected = 2.0 * (1.0 - (-4.0_f64 / 3.0).exp());
    assert!((task["expected_completions"].as_f64().unwrap() - expected).abs() < 1e-8, "{task}");
    let round =
        client.get(&format!("{place}/rounds?limit=1")).json()["rounds"][0]["tasks"][0].clone();
    let shown =
        json!({ "task": "a", "spend": 10.0, "completed": true, "reward": 1.0, "spent": 4.0 });
    assert_eq!(round, shown);
}
