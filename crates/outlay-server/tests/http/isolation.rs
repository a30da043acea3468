//! One campaign or request does not delay the others.

use std::io::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use outlay_server::limits::Limits;
use outlay_server::store::MemoryStore;

use super::client::connect;
use super::{CAMPAIGN, Running};

/// Far less than a search for the hard split takes.
const SOON: Duration = Duration::from_millis(900);
const SOLVE_TIMEOUT: Duration = Duration::from_secs(1);

/// Steep S-curves, all different, whose values are proportional to their costs: they take seconds
/// of branch and bound.
fn hard_problem() -> String {
    let task = |number: usize| {
        let half_at = 1.0 + (number as f64 * 0.618_034) % 1.0;
        let ceiling = half_at / 3.0;
        format!(
            r#"{{"name":"t{number}","value":1,"curve":{{"family":"hill","half_at":{half_at:.4},"steepness":200,"ceiling":{ceiling:.4}}}}}"#
        )
    };
    let tasks: Vec<String> = (0..9000).map(task).collect();
    format!(r#"{{"problem": {{"budget": 300.37, "task": [{}]}}}}"#, tasks.join(","))
}

fn running() -> Running {
    let limits = Limits { solve_timeout: SOLVE_TIMEOUT, ..Limits::default() };
    Running::with(Arc::new(MemoryStore::new()), limits)
}

#[test]
fn a_hard_campaign_delays_neither_health_nor_other_campaigns() {
    let service = running();
    let client = service.client();
    assert_eq!(client.json("PUT", "/v1/campaigns/small", CAMPAIGN).status, 201);
    let created = client.json("PUT", "/v1/campaigns/hard", &hard_problem());
    assert_eq!((created.status, created.header("retry-after")), (503, Some("1")));
    std::thread::scope(|scope| {
        let getters: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| service.client().get("/v1/campaigns/hard").status))
            .collect();
        std::thread::sleep(Duration::from_millis(200));
        while getters.iter().any(|getter| !getter.is_finished()) {
            let begun = Instant::now();
            assert_eq!(client.get("/livez").status, 200);
            assert!(begun.elapsed() < SOON, "/livez took {:?}", begun.elapsed());
            let asked = client.json("POST", "/v1/campaigns/small/rounds", "{}");
            assert_eq!(asked.status, 201, "{asked:?}");
            assert_eq!(client.get("/v1/campaigns/small").status, 200);
            assert!(begun.elapsed() < SOON, "a small campaign took {:?}", begun.elapsed());
        }
        for getter in getters {
            assert_eq!(getter.join().unwrap(), 503);
        }
    });
    assert!(client.get("/metrics").body.contains("outlay_unsolved_total 5"), "not all are counted");
}

/// The tag is compared before a split is searched for.
#[test]
fn a_client_that_knows_the_campaign_does_not_wait_for_a_split() {
    let service = running();
    let client = service.client();
    client.json("PUT", "/v1/campaigns/hard", &hard_problem());
    let begun = Instant::now();
    let known = [("if-none-match", "\"1.0.0.0\"")];
    assert_eq!(client.send("GET", "/v1/campaigns/hard", &known, None).status, 304);
    assert!(begun.elapsed() < SOON);
}

/// A solver is stopped when its client is gone, and its permit is free again.
#[test]
fn solvers_stop_when_their_clients_hang_up() {
    let service = running();
    let problem = hard_problem();
    for _ in 0..4 {
        let mut socket = connect(service.address());
        let head = format!(
            "POST /v1/allocate HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            problem.len()
        );
        socket.write_all(head.as_bytes()).unwrap();
        socket.write_all(problem.as_bytes()).unwrap();
    }
    let begun = Instant::now();
    let small = r#"{"problem": {"budget": 1, "task": [
        {"name": "a", "value": 1, "curve": {"family": "exponential", "scale": 2}}]}}"#;
    assert_eq!(service.client().json("POST", "/v1/allocate", small).status, 200);
    assert!(begun.elapsed() < SOLVE_TIMEOUT, "it took {:?}", begun.elapsed());
}
