//! Campaigns whose problem is replaced while they run.

use std::sync::Arc;

use outlay::Problem;
use outlay::campaign::Guards;
use outlay::feedback::Feedback;
use outlay::learner::LEARNERS;
use outlay::ledger::{Entry, Ledger, RoundRequest, Settings};
use outlay::problem::NoFiles;
use outlay_server::archive::{export, import};
use outlay_server::limits::Limits;
use outlay_server::store::{MemoryStore, SqliteOptions, SqliteStore, Store};
use serde_json::{Value, json};

use super::Running;
use super::client::{Answer, Client};
use crate::support::database::Database;

const TASKS: [&str; 4] = ["search", "social", "mail", "radio"];

/// The problem after a number of amendments: one task is replaced by another, and then returns.
fn problem(amendments: usize) -> Value {
    let search = |scale: f64| json!({ "name": "search", "volume": 40, "current": 30, "curve": { "family": "exponential", "scale": scale } });
    let social = json!({ "name": "social", "volume": 2.5, "max": 60, "curve": { "family": "hill", "half_at": 20, "steepness": 2 } });
    let mail = json!({ "name": "mail", "curve": { "family": "exponential", "scale": 12 } });
    let radio = json!({ "name": "radio", "volume": 6, "current": 4, "curve": { "family": "exponential", "scale": 25 } });
    let (budget, tasks) = match amendments {
        0 => (90.0, vec![search(30.0), social, mail]),
        1 => (100.0, vec![radio, mail, search(45.0)]),
        _ => (100.0, vec![social, search(45.0), mail, radio]),
    };
    json!({ "budget": budget, "reward_max": 50.0, "task": tasks })
}

fn read(problem: &Value) -> Problem {
    Problem::from_json(&problem.to_string(), &NoFiles).unwrap()
}

fn amend(client: &Client, place: &str, problem: &Value, version: &str) -> Answer {
    let body = json!({ "problem": problem }).to_string();
    let headers = [("content-type", "application/json"), ("if-match", version)];
    client.send("PUT", &format!("{place}/problem"), &headers, Some(body.as_bytes()))
}

fn ask(client: &Client, place: &str, body: &Value) -> Value {
    let asked = client.json("POST", &format!("{place}/rounds"), &body.to_string());
    assert_eq!(asked.status, 201, "{asked:?}");
    asked.json()
}

fn report(client: &Client, place: &str, round: u64, results: &[Value]) -> Answer {
    let body = json!({ "results": results }).to_string();
    client.json("PUT", &format!("{place}/rounds/{round}/feedback"), &body)
}

/// Completions and sum of rewards of a task.
fn outcome(round: u64, task: usize) -> (u64, f64) {
    let number = round * 31 + task as u64 * 17;
    let completions = if number.is_multiple_of(5) { 0 } else { number % [41, 6, 2, 9][task] };
    (completions, completions as f64 * (10.0 * task as f64 + (number % 13) as f64 / 1.3))
}

fn entry(round: u64, task: usize) -> Entry {
    let (completions, reward) = outcome(round, task);
    let spend = (round % 3 == 1).then_some(round as f64 / 7.0);
    Entry { round, task, completions, reward: Some(reward), spend }
}

fn result(round: u64, task: usize) -> Value {
    let Entry { completions, reward, spend, .. } = entry(round, task);
    let mut result = json!({ "task": TASKS[task], "completions": completions });
    if completions > 0 {
        result["reward"] = json!(reward);
    }
    if spend.is_some() {
        result["spend"] = json!(spend);
    }
    result
}

/// Reports some tasks of a round in both.
fn report_both(client: &Client, place: &str, daily: &mut Ledger, round: u64, tasks: &[usize]) {
    let entries: Vec<Entry> = tasks.iter().map(|task| entry(round, *task)).collect();
    daily.report(&entries).unwrap();
    let results: Vec<Value> = tasks.iter().map(|task| result(round, *task)).collect();
    let told = report(client, place, round, &results);
    assert_eq!(told.json()["accepted"], tasks.len(), "{place} round {round}: {told:?}");
}

/// The daily loop and the service decide the same splits, to the last bit, through two amendments,
/// with outcomes that arrive after the amendment that follows their round. The clients may be those
/// of several processes: the first issues all rounds, so that their numbers follow each other, and the
/// last does the rest.
fn follows_the_daily_loop(clients: &[Client], learner: &str, guards: Guards, id: &str) {
    let settings = Settings {
        learner: learner.parse().unwrap(),
        horizon: Some(99),
        seed: 7,
        guards,
        ..Settings::default()
    };
    let mut daily = Ledger::new(&read(&problem(0)), settings).unwrap();
    let place = format!("/v1/campaigns/{id}");
    let new = json!({ "problem": problem(0), "learner": learner, "horizon": 99, "seed": 7, "guards": guards });
    assert_eq!(clients[0].json("PUT", &place, &new.to_string()).status, 201);
    let mut late = Vec::new();
    for round in 1..=30 {
        let client = clients.last().unwrap();
        if round == 11 || round == 21 {
            let next = problem(round as usize / 10);
            daily.amend(&read(&next)).unwrap();
            let state = client.get(&place);
            let tag = state.header("etag").unwrap().to_owned();
            let amended = amend(client, &place, &next, &tag);
            assert_eq!(amended.status, 200, "{amended:?}");
            assert_eq!(amended.json()["version"], round / 10 + 1);
        }
        let scale: &[(&str, f64)] = if round % 4 == 1 { &[("search", 1.3)] } else { &[] };
        let without: &[&str] = if round % 7 == 3 { &["mail"] } else { &[] };
        let request = RoundRequest { scale, without, ..RoundRequest::default() };
        let issued = daily.issue(&request).unwrap();
        let named: serde_json::Map<String, Value> =
            scale.iter().map(|(task, scale)| ((*task).to_owned(), json!(scale))).collect();
        let asked = ask(&clients[0], &place, &json!({ "scale": named, "without": without }));
        let there: Vec<usize> =
            (0..issued.available.len()).filter(|task| issued.available[*task]).collect();
        let bits: Vec<(&str, u64)> = there
            .iter()
            .map(|task| (TASKS[*task], issued.allocation.spend[*task].to_bits()))
            .collect();
        let spends = asked["tasks"].as_array().unwrap();
        let spends: Vec<(&str, u64)> = spends
            .iter()
            .map(|task| (task["task"].as_str().unwrap(), task["spend"].as_f64().unwrap().to_bits()))
            .collect();
        assert_eq!(spends, bits, "{id} round {round}");
        // One task of each round is reported some rounds later.
        let (last, first) = there.split_last().unwrap();
        report_both(client, &place, &mut daily, round, first);
        late.push((round, *last));
        if round > 4 {
            let (round, task) = late.remove(0);
            report_both(client, &place, &mut daily, round, &[task]);
        }
    }
    let (state, status) = (clients[0].get(&place).json(), daily.status().unwrap());
    let tasks = state["tasks"].as_array().unwrap();
    assert_eq!(tasks.len(), 4);
    for (shown, known) in tasks.iter().zip(&status.tasks) {
        assert_eq!(shown["completions"], known.completions, "{id}");
        let expected = shown["expected_completions"].as_f64().unwrap();
        assert!((expected - known.expected).abs() <= 1e-6 * known.expected, "{shown} {known:?}");
    }
}

/// Learners that can be amended, by the name of their campaign.
fn learners() -> Vec<(String, &'static str, Guards)> {
    let is_amended = |name: &str| !["full", "oful", "grid-ucb", "lattimore"].contains(&name);
    let served = LEARNERS
        .iter()
        .filter(|entry| entry.feedback == Feedback::Censored && is_amended(entry.name));
    let mut learners: Vec<_> =
        served.map(|entry| (entry.name.to_owned(), entry.name, Guards::default())).collect();
    assert!(learners.len() >= 10);
    let guards = Guards { max_change: Some(12.0), floor: Some(1.0), min_move: None };
    learners.push(("guarded".to_owned(), "kl-ucb-plus", guards));
    learners.push(("guarded-explorer".to_owned(), "explore-then-commit", guards));
    learners
}

fn all_learners(clients: &[Client]) {
    for (id, learner, guards) in learners() {
        follows_the_daily_loop(clients, learner, guards, &id);
    }
}

/// What clients see of each campaign, but for times.
fn shown(store: Arc<dyn Store>) -> Vec<Value> {
    let service = Running::with(store, Limits::default());
    let client = service.client();
    let campaign = |(id, ..): (String, _, _)| {
        let place = format!("/v1/campaigns/{id}");
        let events = client.get(&format!("{place}/events?limit=1000")).json();
        let rounds = client.get(&format!("{place}/rounds?limit=1000")).json();
        let kinds: Vec<Value> = events["events"]
            .as_array()
            .unwrap()
            .iter()
            .map(|event| event["kind"].clone())
            .collect();
        assert_eq!(kinds.iter().filter(|kind| *kind == "amended").count(), 2);
        let mut state = client.get(&place).json();
        // The counts of a database have an age.
        state["stats_age_ms"] = json!(0);
        json!([state, rounds, kinds])
    };
    learners().into_iter().map(campaign).collect()
}

/// An export of the store, imported elsewhere, is shown as the store is.
fn is_exported(store: &Arc<dyn Store>) {
    let mut lines = Vec::new();
    export(&**store, &mut lines).unwrap();
    let other = MemoryStore::new();
    import(&other, &mut lines.as_slice()).unwrap();
    let mut again = Vec::new();
    export(&other, &mut again).unwrap();
    assert_eq!(String::from_utf8(again).unwrap(), String::from_utf8(lines).unwrap());
    let expected = shown(Arc::clone(store));
    assert_eq!(shown(Arc::new(other)), expected);
    assert_eq!(store.verify().unwrap().faults, Vec::<String>::new());
}

#[test]
fn in_memory_and_in_a_copy() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let service = Running::with(Arc::clone(&store), Limits::default());
    all_learners(&[service.client()]);
    drop(service);
    is_exported(&store);
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
    {
        let service = Running::with(open(), Limits::default());
        all_learners(&[service.client()]);
    }
    let before = shown(open());
    assert_eq!(shown(open()), before);
    let store: Arc<dyn Store> = open();
    is_exported(&store);
}

/// Two replicas on one database: one issues the rounds, and the other takes reports and amendments.
#[test]
fn on_postgres_by_two_replicas() {
    let Some(database) = Database::new() else { return };
    let limits = || Limits { staleness_ms: 0, ..Limits::default() };
    let replicas =
        [(); 2].map(|()| Running::with(Arc::new(database.store()) as Arc<dyn Store>, limits()));
    all_learners(&[replicas[0].client(), replicas[1].client()]);
    drop(replicas);
    let store: Arc<dyn Store> = Arc::new(database.store());
    is_exported(&store);
}

fn begun(client: &Client) -> &'static str {
    let place = "/v1/campaigns/shop";
    let new = json!({ "problem": problem(0) }).to_string();
    assert_eq!(client.json("PUT", place, &new).status, 201);
    place
}

#[test]
fn an_amendment_needs_a_version_and_can_be_repeated() {
    let service = Running::new();
    let client = service.client();
    let place = begun(&client);
    let body = json!({ "problem": problem(1) }).to_string();
    let missing = client.json("PUT", &format!("{place}/problem"), &body);
    assert_eq!((missing.status, missing.code().as_str()), (428, "needs-if-match"), "{missing:?}");
    let stale = amend(&client, place, &problem(1), "\"7\"");
    assert_eq!((stale.status, stale.code().as_str()), (412, "version-moved"), "{stale:?}");
    assert_eq!(client.get(place).json()["version"], 1);
    // The problem in force changes nothing, whatever the version.
    for version in ["\"1.0.0.0\"", "\"7\"", "*"] {
        let same = amend(&client, place, &problem(0), version);
        assert_eq!((same.status, &same.json()["version"]), (200, &json!(1)), "{same:?}");
    }
    ask(&client, place, &json!({}));
    let first = amend(&client, place, &problem(1), "\"1.0.0.0\"");
    assert_eq!(first.status, 200, "{first:?}");
    assert_eq!(first.header("etag"), client.get(place).header("etag"));
    let state = first.json();
    assert_eq!(
        (&state["version"], &state["amendments"], &state["budget"]),
        (&json!(2), &json!(1), &json!(100.0))
    );
    let retired: Vec<_> = state["tasks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|task| (task["task"].clone(), task.get("retired").cloned()))
        .collect();
    let named = |task: &str, is_retired: bool| (json!(task), is_retired.then_some(json!(true)));
    assert_eq!(
        retired,
        [
            named("search", false),
            named("social", true),
            named("mail", false),
            named("radio", false)
        ]
    );
    let again = amend(&client, place, &problem(1), "\"1.0.0.0\"");
    assert_eq!((again.status, again.json()), (200, state));
    let late = amend(&client, place, &problem(2), "\"1.0.0.0\"");
    assert_eq!((late.status, late.code().as_str()), (412, "version-moved"), "{late:?}");
    // Creating it again as it was created is still the same campaign, and with another problem is not.
    let new = |amendments| json!({ "problem": problem(amendments) }).to_string();
    assert_eq!(client.json("PUT", place, &new(0)).status, 200);
    assert_eq!(client.json("PUT", place, &new(1)).status, 409);
    let events = client.get(&format!("{place}/events")).json();
    let amended = &events["events"][2];
    let changed = |field: &str, task: Option<&str>, old: Value, new: Value| {
        let mut change = json!({ "field": field, "old": old, "new": new });
        if let Some(task) = task {
            change["task"] = json!(task);
        }
        change
    };
    assert_eq!(
        (&amended["kind"], &amended["added"], &amended["retired"]),
        (&json!("amended"), &json!(["radio"]), &json!(["social"]))
    );
    assert_eq!(amended["changed"][0], changed("budget", None, json!(90.0), json!(100.0)));
    assert_eq!(amended["changed"][1]["task"], "search");
    assert_eq!(client.json("PATCH", place, r#"{"status": "closed"}"#).status, 428);
    let close = [("content-type", "application/json"), ("if-match", "*")];
    client.send("PATCH", place, &close, Some(br#"{"status": "closed"}"#));
    let closed = amend(&client, place, &problem(2), "*");
    assert_eq!((closed.status, closed.code().as_str()), (409, "campaign-closed"), "{closed:?}");
    let nowhere = amend(&client, "/v1/campaigns/nowhere", &problem(2), "*");
    assert_eq!(nowhere.status, 404);
}

/// Invalid amendments are refused in the words of the daily loop, and change nothing.
#[test]
fn invalid_amendments_are_refused_in_the_words_of_the_daily_loop() {
    let service = Running::new();
    let client = service.client();
    let place = begun(&client);
    let mut less = problem(0);
    less["reward_max"] = json!(49.0);
    let mut daily = Ledger::new(&read(&problem(0)), Settings::default()).unwrap();
    let refused = amend(&client, place, &less, "*");
    assert_eq!((refused.status, refused.code().as_str()), (422, "bad-problem"), "{refused:?}");
    assert_eq!(refused.json()["detail"], daily.amend(&read(&less)).unwrap_err().to_string());
    assert_eq!(refused.json()["pointer"], "/problem/reward_max");
    let mut more = problem(0);
    more["reward_max"] = json!(50_001.0);
    let refused = amend(&client, place, &more, "*");
    assert_eq!(
        refused.json()["detail"],
        "reward_max: can grow to at most 1000 times the 50 of the start, not to 50001"
    );
    let mut wrong = problem(0);
    wrong["task"][1]["curve"]["half_at"] = json!(-1);
    let refused = amend(&client, place, &wrong, "*");
    assert_eq!(refused.json()["pointer"], "/problem/task/1/curve/half_at", "{refused:?}");
    assert_eq!(client.get(place).json()["version"], 1);
    let single = json!({ "budget": 1, "task": [{ "name": "a", "curve": { "family": "exponential", "scale": 3 } }, { "name": "b", "curve": { "family": "exponential", "scale": 2 } }] });
    let place = "/v1/campaigns/slopes";
    let new = json!({ "problem": single, "learner": "lattimore", "horizon": 99 }).to_string();
    assert_eq!(client.json("PUT", place, &new).status, 201);
    let mut other = single.clone();
    other["budget"] = json!(2);
    let settings = Settings {
        learner: "lattimore".parse().unwrap(),
        horizon: Some(99),
        ..Settings::default()
    };
    let mut daily = Ledger::new(&read(&single), settings).unwrap();
    daily.next(None, &[]).unwrap();
    let refused = amend(&client, place, &other, "*");
    assert_eq!(refused.json()["detail"], daily.amend(&read(&other)).unwrap_err().to_string());
}

/// Open rounds keep their tasks, and a key its rounds.
#[test]
fn open_rounds_and_keys_survive_an_amendment() {
    let service = Running::new();
    let client = service.client();
    let place = begun(&client);
    let keyed = |body: &Value| {
        let headers = [("content-type", "application/json"), ("idempotency-key", "day-1")];
        let body = body.to_string();
        client.send("POST", &format!("{place}/rounds"), &headers, Some(body.as_bytes()))
    };
    let first = keyed(&json!({ "budget": 90 }));
    assert_eq!(first.status, 201, "{first:?}");
    assert_eq!(amend(&client, place, &problem(1), "\"1\"").status, 200);
    for same in [json!({}), json!({ "budget": 90 })] {
        assert_eq!(keyed(&same).json(), first.json());
    }
    assert_eq!(keyed(&json!({ "budget": 100 })).code(), "key-reused");
    let results = [result(1, 0), result(1, 1)];
    assert_eq!(report(&client, place, 1, &results).json()["accepted"], 2);
    let radio = report(&client, place, 1, &[result(1, 3)]);
    assert_eq!(radio.json()["detail"], "task radio was not available in round 1");
    ask(&client, place, &json!({}));
    let social = report(&client, place, 2, &[result(2, 1)]);
    assert_eq!(social.json()["detail"], "task social was not available in round 2");
    let done: Vec<Value> = [0, 2, 3].map(|task| result(2, task)).into();
    assert_eq!(report(&client, place, 2, &done).json()["accepted"], 3);
    let rounds = client.get(&format!("{place}/rounds")).json();
    let tasks = |round: usize| {
        let tasks = rounds["rounds"][round]["tasks"].as_array().unwrap();
        tasks.iter().map(|task| task["task"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(
        (tasks(0), tasks(1)),
        (
            TASKS[..3].to_vec().iter().map(|task| (*task).to_owned()).collect(),
            vec!["search".into(), "mail".into(), "radio".into()]
        )
    );
    assert_eq!(rounds["rounds"][1]["status"], "complete");
    // The expected completions of round 1 are those of its own curves.
    let expected = |scale: f64| 40.0 * (1.0 - (-(1.0 / 7.0) / scale).exp());
    let search = client.get(place).json()["tasks"][0].clone();
    let of_second = rounds["rounds"][1]["tasks"][0]["spend"].as_f64().unwrap();
    let second = 40.0 * (1.0 - (-of_second / 45.0).exp());
    let shown = search["expected_completions"].as_f64().unwrap();
    assert!((shown - expected(30.0) - second).abs() < 1e-6, "{search}");
}

/// The largest reward grows: earlier rewards keep their amounts, and every process learns the same.
#[test]
fn the_largest_reward_may_grow() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let service = Running::with(Arc::clone(&store), Limits::default());
    let client = service.client();
    for learner in ["kl-ucb-plus", "explore-then-commit"] {
        let place = format!("/v1/campaigns/{learner}");
        let new = json!({ "problem": problem(0), "learner": learner, "horizon": 99 }).to_string();
        assert_eq!(client.json("PUT", &place, &new).status, 201);
        let mut grown = problem(2);
        grown["reward_max"] = json!(70.0);
        let mut daily = Ledger::new(
            &read(&problem(0)),
            Settings {
                learner: learner.parse().unwrap(),
                horizon: Some(99),
                ..Settings::default()
            },
        )
        .unwrap();
        for round in 1..=20 {
            if round == 8 {
                assert_eq!(amend(&client, &place, &grown, "*").status, 200);
                daily.amend(&read(&grown)).unwrap();
            }
            let asked = ask(&client, &place, &json!({}));
            let issued = daily.next(None, &[]).unwrap();
            for (task, spend) in
                asked["tasks"].as_array().unwrap().iter().zip(&issued.allocation.spend)
            {
                let shown = task["spend"].as_f64().unwrap();
                // Sums of rewards are rounded to billionths once, and not each reward.
                assert!((shown - spend).abs() < 1e-4, "{learner} round {round}: {task} {spend}");
            }
            let tasks: Vec<usize> = (0..if round < 8 { 3 } else { 4 }).collect();
            let (results, entries): (Vec<Value>, Vec<Entry>) =
                tasks.iter().map(|task| (result(round, *task), entry(round, *task))).unzip();
            daily.report(&entries).unwrap();
            assert_eq!(report(&client, &place, round, &results).status, 200);
            let mine = client.get(&place).json();
            let other = Running::with(Arc::clone(&store), Limits::default());
            assert_eq!(
                other.client().get(&place).json()["tasks"],
                mine["tasks"],
                "{learner} round {round}"
            );
        }
        let large = json!({ "task": "search", "completions": 1, "reward": 70.0 });
        ask(&client, &place, &json!({}));
        assert_eq!(report(&client, &place, 21, &[large]).status, 200);
        let sum: f64 = (1..=20).map(|round| outcome(round, 0).1).sum::<f64>() + 70.0;
        let shown = client.get(&place).json()["tasks"][0]["reward_sum"].as_f64().unwrap();
        assert!((shown - sum).abs() < 1e-5, "{shown} {sum}");
    }
}
