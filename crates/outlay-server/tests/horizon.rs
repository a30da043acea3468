//! The horizon of a campaign holds for all replicas together.

use std::sync::Arc;

use outlay_server::limits::Limits;
use serde_json::json;

use crate::http::Running;
use crate::support::database::Database;

const HORIZON: usize = 60;

#[test]
fn replicas_together_stay_within_the_horizon() {
    let Some(database) = Database::new() else { return };
    // The counts of other replicas are read at the start only.
    let limits = || Limits { staleness_ms: 3_600_000, ..Limits::default() };
    let replicas: Vec<Running> =
        (0..3).map(|_| Running::with(Arc::new(database.store()), limits())).collect();
    let task = json!({ "name": "a", "curve": { "family": "exponential", "scale": 2 } });
    let new = json!({ "problem": { "budget": 10, "task": [task] }, "horizon": HORIZON });
    for replica in &replicas {
        let status = replica.client().json("PUT", "/v1/campaigns/c", &new.to_string()).status;
        assert!(status == 200 || status == 201, "{status}");
    }
    let ask = |replica: &Running| {
        let answer = replica.client().json("POST", "/v1/campaigns/c/rounds", "{}");
        if answer.status != 201 {
            assert_eq!((answer.status, answer.code().as_str()), (409, "horizon-exhausted"));
        }
        usize::from(answer.status == 201)
    };
    let (replicas, ask) = (&replicas, &ask);
    let handed_out: usize = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..12)
            .map(|client| {
                scope.spawn(move || (0..10).map(|_| ask(&replicas[client % 3])).sum::<usize>())
            })
            .collect();
        clients.into_iter().map(|client| client.join().unwrap()).sum()
    });
    assert_eq!(handed_out, HORIZON);
    assert_eq!(database.sql("SELECT sum(end_round - first_round) FROM split"), ["60"]);
}

/// Two replicas get a request for the last round of a horizon with the same key: both return it.
#[test]
fn one_key_gets_the_last_round_at_both_replicas() {
    let Some(database) = Database::new() else { return };
    let replicas: Vec<Running> =
        (0..2).map(|_| Running::with(Arc::new(database.store()), Limits::default())).collect();
    let task = json!({ "name": "a", "curve": { "family": "exponential", "scale": 2 } });
    let new = json!({ "problem": { "budget": 10, "task": [task] }, "horizon": 1 }).to_string();
    for campaign in 0..30 {
        let path = format!("/v1/campaigns/c{campaign}");
        for replica in &replicas {
            assert!([200, 201].contains(&replica.client().json("PUT", &path, &new).status));
        }
        let key = format!("key-{campaign}");
        let headers = [("content-type", "application/json"), ("idempotency-key", key.as_str())];
        let (path, headers) = (format!("{path}/rounds"), &headers);
        let path = &path;
        let answers: Vec<_> = std::thread::scope(|scope| {
            let ask = |replica| {
                scope.spawn(move || {
                    let replica: &Running = replica;
                    replica.client().send("POST", path, headers, Some(b"{}"))
                })
            };
            let asked: Vec<_> = replicas.iter().map(ask).collect();
            asked.into_iter().map(|asked| asked.join().unwrap()).collect()
        });
        assert_eq!([answers[0].status, answers[1].status], [201, 201], "{answers:?}");
        assert_eq!(answers[0].json()["rounds"], answers[1].json()["rounds"]);
    }
}
