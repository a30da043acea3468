//! `reward_over_max = "clip"` over HTTP, on every store: the same splits as the daily loop, and a
//! repeated report is the same report.

use std::sync::Arc;

use outlay::Problem;
use outlay::ledger::{Entry, Ledger, Settings};
use outlay::problem::NoFiles;
use outlay_server::limits::Limits;
use outlay_server::store::{MemoryStore, SqliteOptions, SqliteStore, Store};
use serde_json::{Value, json};

use super::Running;
use super::client::{Answer, Client};
use crate::support::database::Database;

fn problem(over_max: &str) -> Value {
    json!({ "budget": 90.0, "reward_max": 5.0, "reward_over_max": over_max, "task": [
        { "name": "search", "volume": 40, "curve": { "family": "exponential", "scale": 30 } },
        { "name": "mail", "curve": { "family": "exponential", "scale": 12 } }] })
}

fn create(client: &Client, name: &str, problem: &Value) -> String {
    let place = format!("/v1/campaigns/{name}");
    let created = client.json("PUT", &place, &json!({ "problem": problem }).to_string());
    assert_eq!(created.status, 201, "{created:?}");
    place
}

fn report(client: &Client, place: &str, round: u64, results: &Value) -> Answer {
    let body = json!({ "results": results }).to_string();
    client.json("PUT", &format!("{place}/rounds/{round}/feedback"), &body)
}

fn results(search: f64, mail: f64) -> Value {
    json!([{ "task": "search", "completions": 3, "reward": search },
           { "task": "mail", "completions": 1, "reward": mail }])
}

fn clips(store: Arc<dyn Store>) {
    let service = Running::with(store, Limits::default());
    let client = service.client();
    let place = create(&client, "clipping", &problem("clip"));
    let known = Problem::from_json(&problem("clip").to_string(), &NoFiles).unwrap();
    let mut daily = Ledger::new(&known, Settings::default()).unwrap();
    for round in 1..=6 {
        let asked = client.json("POST", &format!("{place}/rounds"), "{}").json();
        let split = daily.next(None, &[]).unwrap().allocation.spend;
        for (task, spend) in asked["tasks"].as_array().unwrap().iter().zip(&split) {
            assert_eq!(task["spend"].as_f64().unwrap().to_bits(), spend.to_bits());
        }
        let (search, mail) = (14.0 + round as f64, 4.0 + 0.5 * round as f64);
        let clipped = u64::from(search > 15.0) + u64::from(mail > 5.0);
        let told = report(&client, &place, round, &results(search, mail)).json();
        assert_eq!(told["clipped"].as_u64().unwrap_or(0), clipped, "{told}");
        let entry = |task, completions, reward| Entry {
            completions,
            reward: Some(reward),
            ..Entry::failed(round, task)
        };
        daily.report(&[entry(0, 3, search), entry(1, 1, mail)]).unwrap();
        // The same report again, also in a bulk report.
        let again = report(&client, &place, round, &results(search, mail)).json();
        assert_eq!(again, json!({ "accepted": 0, "duplicate": 2, "late": 0 }));
    }
    let state = client.get(&place).json();
    for (shown, known) in
        state["tasks"].as_array().unwrap().iter().zip(&daily.status().unwrap().tasks)
    {
        assert!((shown["reward_sum"].as_f64().unwrap() - known.gain).abs() < 1e-6, "{shown}");
    }
    // The store has the counted reward, so a report of it is the same report too.
    assert_eq!(report(&client, &place, 6, &results(15.0, 5.0)).json()["duplicate"], 2);
    let conflict = report(&client, &place, 6, &results(14.0, 5.0));
    assert_eq!(conflict.status, 409, "{conflict:?}");
    let refused = report(&client, &place, 6, &results(-1.0, 5.0));
    assert_eq!(refused.status, 422, "{refused:?}");

    let strict = create(&client, "refusing", &problem("refuse"));
    client.json("POST", &format!("{strict}/rounds"), "{}");
    let refused = report(&client, &strict, 1, &results(15.5, 5.0));
    assert_eq!(
        refused.json()["detail"],
        "reward of search: must be between 0 and 3 times reward_max 5, not 15.5"
    );
}

#[test]
fn in_memory() {
    clips(Arc::new(MemoryStore::new()));
}

#[test]
fn on_postgres() {
    let Some(database) = Database::new() else { return };
    clips(Arc::new(database.store()));
}

#[test]
fn in_a_folder() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let options = SqliteOptions { any_file_system: true, ..SqliteOptions::default() };
    clips(Arc::new(SqliteStore::open(folder.path(), &options).unwrap()));
}
