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
    // Counts of the others are read at the start and then never again.
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
