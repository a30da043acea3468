//! Campaigns whose tasks have a log: the learner starts from its completions.

use std::sync::Arc;

use outlay::Problem;
use outlay::ledger::{Ledger, Settings};
use outlay::problem::NoFiles;
use outlay_server::limits::Limits;
use outlay_server::store::{SqliteOptions, SqliteStore};
use serde_json::{Value, json};

use super::Running;

fn problem() -> Value {
    json!({ "budget": 40, "reward_max": 30, "task": [
        { "name": "search", "curve": { "family": "exponential", "scale": 9 },
            "seen": { "completions": 12, "reward": 150.5 } },
        { "name": "social", "curve": { "family": "hill", "half_at": 11, "steepness": 3 } }] })
}

#[test]
fn a_campaign_starts_from_the_log_unless_configured_otherwise() {
    let service = Running::new();
    let client = service.client();
    let problem_of_file = Problem::from_json(&problem().to_string(), &NoFiles).unwrap();
    for (id, ignore_seen) in [("silent", None), ("from-log", Some(false)), ("without", Some(true))]
    {
        let place = format!("/v1/campaigns/{id}");
        let mut new = json!({ "problem": problem() });
        if let Some(ignore_seen) = ignore_seen {
            new["ignore_seen"] = json!(ignore_seen);
        }
        assert_eq!(client.json("PUT", &place, &new.to_string()).status, 201);
        // The same request again, and one that omits the setting.
        assert_eq!(client.json("PUT", &place, &new.to_string()).status, 200);
        let open = json!({ "problem": problem() }).to_string();
        assert_eq!(client.json("PUT", &place, &open).status, 200);
        let other = json!({ "problem": problem(), "ignore_seen": ignore_seen != Some(true) });
        assert_eq!(client.json("PUT", &place, &other.to_string()).status, 409);
        let settings = Settings { ignore_seen: ignore_seen == Some(true), ..Settings::default() };
        let mut daily = Ledger::new(&problem_of_file, settings).unwrap();
        for round in 1..=3 {
            let asked = client.json("POST", &format!("{place}/rounds"), "{}").json();
            let spends = asked["tasks"].as_array().unwrap();
            let spends = spends.iter().map(|task| task["spend"].as_f64().unwrap().to_bits());
            let split = daily.next(None, &[]).unwrap().allocation.spend;
            assert!(spends.eq(split.iter().map(|spend| spend.to_bits())), "{id} round {round}");
            let results =
                json!({ "results": [{ "task": "social", "completed": true, "reward": 9 }] });
            let path = format!("{place}/rounds/{round}/feedback");
            assert_eq!(client.json("PUT", &path, &results.to_string()).status, 200);
            daily.report(&[outlay::ledger::Entry::completed(round, 1, 9.0)]).unwrap();
        }
        let task = client.get(&place).json()["tasks"][0].clone();
        let seen = json!({ "completions": 12, "reward": 150.5 });
        assert_eq!(task.get("seen"), (ignore_seen != Some(true)).then_some(&seen));
        assert_eq!((&task["completions"], &task["mean"]), (&json!(0), &Value::Null));
    }
}

/// The store was written before learners started from a log: its campaign continues as it was.
#[test]
fn a_campaign_of_an_earlier_version_continues_without_the_log() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stores/form-4/outlay.db");
    std::fs::copy(file, folder.path().join("outlay.db")).unwrap();
    let options = SqliteOptions { any_file_system: true, ..SqliteOptions::default() };
    let store = SqliteStore::open(folder.path(), &options).unwrap();
    let service = Running::with(Arc::new(store), Limits::default());
    let task = service.client().get("/v1/campaigns/shop").json()["tasks"][0].clone();
    // As the earlier version showed it.
    assert_eq!((&task["index"], task.get("seen")), (&json!(17.187419595821268), None));
    let again = json!({ "problem": problem(), "expiry_seconds": 1 });
    assert_eq!(service.client().json("PUT", "/v1/campaigns/shop", &again.to_string()).status, 200);
}
