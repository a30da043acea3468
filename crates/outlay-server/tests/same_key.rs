//! Concurrent requests with the same idempotency key: one of them takes a round, and all get the
//! same answer.

use std::sync::Arc;

use outlay_server::limits::Limits;
use outlay_server::store::{MemoryStore, SqliteOptions, SqliteStore, Store};
use serde_json::{Value, json};

use crate::http::{CAMPAIGN, Running};
use crate::support::database::Database;

const ROUNDS: &str = "/v1/campaigns/c/rounds";

fn ask(service: &Running, key: &str, body: &str) -> (u16, Value) {
    let headers = [("content-type", "application/json"), ("idempotency-key", key)];
    let answer = service.client().send("POST", ROUNDS, &headers, Some(body.as_bytes()));
    (answer.status, answer.json())
}

/// Sends twenty concurrent requests ten times: the rounds are 1, 2, …, 10, without a gap.
fn no_round_is_lost(store: Arc<dyn Store>) {
    let service = Running::with(store, Limits::default());
    assert_eq!(service.client().json("PUT", "/v1/campaigns/c", CAMPAIGN).status, 201);
    for round in 1..=10_u64 {
        let key = format!("key-{round}");
        std::thread::scope(|scope| {
            let asked: Vec<_> =
                (0..20).map(|_| scope.spawn(|| ask(&service, &key, "{}"))).collect();
            for answer in asked {
                let (status, body) = answer.join().unwrap();
                assert_eq!((status, &body["rounds"]), (201, &json!([round])), "{body}");
            }
        });
    }
}

#[test]
fn no_round_is_lost_in_memory() {
    no_round_is_lost(Arc::new(MemoryStore::new()));
}

#[test]
fn no_round_is_lost_in_a_folder() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let options = SqliteOptions { any_file_system: true, ..SqliteOptions::default() };
    no_round_is_lost(Arc::new(SqliteStore::open(folder.path(), &options).unwrap()));
}

#[test]
fn no_round_is_lost_on_postgres() {
    let Some(database) = Database::new() else { return };
    no_round_is_lost(Arc::new(database.store()));
}

#[test]
fn defaults_may_be_given_explicitly() {
    let service = Running::new();
    service.client().json("PUT", "/v1/campaigns/c", CAMPAIGN);
    let first = ask(&service, "k", "{}");
    assert_eq!(first.1["rounds"], json!([1]));
    for body in [r#"{"count":1}"#, r#"{"budget":10}"#, r#"{"count":1,"budget":1e1,"without":[]}"#] {
        assert_eq!(ask(&service, "k", body), first, "{body}");
    }
    for body in [r#"{"count":2}"#, r#"{"budget":9}"#, r#"{"without":["a"]}"#] {
        assert_eq!(ask(&service, "k", body).0, 422, "{body}");
    }
    let without = |body| ask(&service, "w", body);
    assert_eq!(without(r#"{"without":["a"]}"#), without(r#"{"without":["a","a"]}"#));
}
