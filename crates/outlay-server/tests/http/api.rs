//! Every call of the API, and the errors that clients rely on.

use std::io::{Read, Write};
use std::time::Duration;

use outlay_server::error::{ErrorCode, ErrorInfo};
use serde_json::{Value, json};

use super::client::connect;
use super::{CAMPAIGN, Running};

const SHOP: &str = "/v1/campaigns/shop";

#[test]
fn ask_and_report() {
    let service = Running::new();
    let client = service.client();
    let made = client.json("PUT", SHOP, CAMPAIGN);
    assert_eq!(
        (made.status, made.header("location"), made.header("etag")),
        (201, Some(SHOP), Some("\"1.0.0.0\"")),
        "{made:?}"
    );
    assert_eq!(client.json("PUT", SHOP, CAMPAIGN).status, 200, "a repeated request");
    let other = client.json("PUT", SHOP, &CAMPAIGN.replace("10", "11"));
    assert_eq!((other.status, other.code().as_str()), (409, "campaign-exists"));

    let asked = client.json("POST", &format!("{SHOP}/rounds"), r#"{"count": 2}"#);
    assert_eq!(asked.status, 201, "{asked:?}");
    assert_eq!(asked.json()["rounds"], json!([1, 2]));
    let spends: f64 = asked.json()["tasks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|task| task["spend"].as_f64().unwrap())
        .sum();
    assert!((spends - 10.0).abs() < 1e-9);

    let report = r#"{"results": [{"task": "a", "completed": true, "reward": 0.7}, {"task": "b", "completed": false}]}"#;
    let reported = client.json("PUT", &format!("{SHOP}/rounds/1/feedback"), report);
    assert_eq!(
        (reported.status, reported.json()),
        (200, json!({"accepted": 2, "duplicate": 0, "late": 0}))
    );
    let again = client.json("PUT", &format!("{SHOP}/rounds/1/feedback"), report);
    assert_eq!(again.json(), json!({"accepted": 0, "duplicate": 2, "late": 0}));
    let contrary =
        client.json("PUT", &format!("{SHOP}/rounds/1/feedback"), &report.replace("0.7", "0.8"));
    assert_eq!((contrary.status, contrary.code().as_str()), (409, "conflict"));
    assert_eq!(contrary.json()["stored"], json!({"task": "a", "completed": true, "reward": 0.7}));

    let state = client.get(SHOP).json();
    assert_eq!(
        (&state["rounds"], &state["stats_version"], &state["status"]),
        (&json!(2), &json!(2), &json!("open"))
    );
    assert_eq!(
        (&state["tasks"][0]["completions"], &state["tasks"][0]["reward_sum"]),
        (&json!(1), &json!(0.7))
    );

    let correction = r#"{"task": "a", "completed": true, "reward": 0.9, "why": "typing error"}"#;
    let corrected = client.json("POST", &format!("{SHOP}/rounds/1/corrections"), correction);
    assert_eq!(
        (corrected.status, &corrected.json()["from"]["reward"], &corrected.json()["to"]["reward"]),
        (200, &json!(0.7), &json!(0.9))
    );

    let kinds: Vec<Value> = client.get(&format!("{SHOP}/events")).json()["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| event["kind"].clone())
        .collect();
    assert_eq!(kinds, ["created", "asked", "told", "corrected"]);
    let rounds = client.get(&format!("{SHOP}/rounds?limit=1")).json();
    assert_eq!((&rounds["rounds"][0]["status"], &rounds["next"]), (&json!("complete"), &json!(1)));
    let rest = client.get(&format!("{SHOP}/rounds?after=1")).json();
    assert_eq!(
        (&rest["rounds"][0]["round"], &rest["rounds"][0]["status"], &rest["next"]),
        (&json!(2), &json!("open"), &Value::Null)
    );
    let curves = client.get(&format!("{SHOP}/curves?points=3")).json();
    assert_eq!(curves["curves"][0]["spend"].as_array().unwrap().len(), 3);
    let part = client.get(&format!("{SHOP}/curves?points=3&task=b&up_to=0.5")).json();
    assert_eq!(part["curves"].as_array().unwrap().len(), 1);
    assert_eq!(
        (&part["curves"][0]["task"], &part["curves"][0]["spend"]),
        (&json!("b"), &json!([0.0, 0.25, 0.5]))
    );
    assert_eq!(client.get(&format!("{SHOP}/curves?task=z")).json()["curves"], json!([]));
    let all = client.get(&format!("{SHOP}/curves?points=3&up_to=1e9")).json();
    assert_eq!(all["curves"][0]["spend"], json!([0.0, 5.0, 10.0]), "not beyond the budget");
    for bad in ["up_to=0", "up_to=-1", "up_to=NaN", "up_to=x"] {
        assert_eq!(client.get(&format!("{SHOP}/curves?{bad}")).code(), "bad-parameter", "{bad}");
    }
    assert_eq!(client.get("/v1/campaigns").json()["campaigns"][0]["id"], "shop");
}

#[test]
fn a_key_gives_the_same_rounds_again() {
    let service = Running::new();
    let client = service.client();
    client.json("PUT", SHOP, CAMPAIGN);
    let ask = |key: &str, body: &str| {
        let headers = [("content-type", "application/json"), ("idempotency-key", key)];
        client.send("POST", &format!("{SHOP}/rounds"), &headers, Some(body.as_bytes()))
    };
    let first = ask("job-1", "{}");
    assert_eq!((first.status, ask("job-1", "{}").body), (201, first.body.clone()));
    assert_ne!(ask("job-2", "{}").body, first.body);
    let reused = ask("job-1", r#"{"count": 2}"#);
    assert_eq!((reused.status, reused.code().as_str()), (422, "key-reused"));
    assert_eq!(ask("ü", "{}").code(), "bad-parameter");
}

#[test]
fn many_reports_at_once() {
    let service = Running::new();
    let client = service.client();
    client.json("PUT", SHOP, CAMPAIGN);
    client.json("POST", &format!("{SHOP}/rounds"), r#"{"count": 2}"#);
    let send = |body: &str| {
        client.send(
            "POST",
            &format!("{SHOP}/feedback"),
            &[("content-type", "application/x-ndjson")],
            Some(body.as_bytes()),
        )
    };
    let good = r#"{"round": 1, "results": [{"task": "a", "completed": false}]}"#;
    let unknown = r#"{"round": 9, "results": [{"task": "a", "completed": false}]}"#;
    let reported = send(&format!("{good}\n\n{unknown}\r\n{good}\n"));
    assert_eq!(reported.status, 200, "{reported:?}");
    let reported = reported.json();
    assert_eq!((&reported["accepted"], &reported["duplicate"]), (&json!(1), &json!(1)));
    assert_eq!(
        (&reported["refused"][0]["line"], &reported["refused"][0]["code"]),
        (&json!(3), &json!("no-round"))
    );
    let second = r#"{"round": 2, "results": [{"task": "a", "completed": false}]}"#;
    let cut_off = send(&format!("{{\"round\": -1}}\n{second}\n{{")).json();
    assert_eq!(cut_off["accepted"], json!(1), "{cut_off}");
    let refused: Vec<_> = cut_off["refused"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| (line["line"].clone(), line["code"].clone()))
        .collect();
    assert_eq!(refused, [(json!(1), json!("bad-request")), (json!(3), json!("bad-request"))]);
    let broken = send("\n{\n[]");
    assert_eq!((broken.status, broken.code().as_str()), (400, "bad-request"));
    assert!(broken.json()["detail"].as_str().unwrap().starts_with("line 2: "));
    assert_eq!(send("\n").code(), "bad-request");
}

#[test]
fn an_unchanged_campaign_is_answered_with_304() {
    let service = Running::new();
    let client = service.client();
    client.json("PUT", SHOP, CAMPAIGN);
    let tag = client.get(SHOP).header("etag").unwrap().to_owned();
    let look = |tag: &str| client.send("GET", SHOP, &[("if-none-match", tag)], None);
    assert_eq!((look(&tag).status, look(&tag).body.as_str()), (304, ""));
    client.json("POST", &format!("{SHOP}/rounds"), "{}");
    assert_eq!((look(&tag).status, look(&tag).header("etag")), (200, Some("\"1.1.0.1\"")));
}

#[test]
fn an_expired_round_changes_the_tag() {
    let service = Running::new();
    let client = service.client();
    client.json("PUT", SHOP, &CAMPAIGN.replacen('{', r#"{"expiry_seconds": 1, "#, 1));
    client.json("POST", &format!("{SHOP}/rounds"), "{}");
    let tag = client.get(SHOP).header("etag").unwrap().to_owned();
    std::thread::sleep(Duration::from_millis(1100));
    let looked = client.send("GET", SHOP, &[("if-none-match", &tag)], None);
    assert_eq!((looked.status, &looked.json()["open_rounds"]), (200, &json!(0)));
}

#[test]
fn a_change_requires_the_current_version() {
    let service = Running::new();
    let client = service.client();
    client.json("PUT", SHOP, CAMPAIGN);
    let change = |headers: &[(&str, &str)], body: &str| {
        let headers: Vec<_> =
            headers.iter().copied().chain([("content-type", "application/json")]).collect();
        client.send("PATCH", SHOP, &headers, Some(body.as_bytes()))
    };
    let pause = r#"{"status": "paused"}"#;
    assert_eq!(change(&[], pause).code(), "needs-if-match");
    assert_eq!(change(&[("if-match", "\"7.0.0\"")], pause).code(), "version-moved");
    client.json("POST", &format!("{SHOP}/rounds"), "{}");
    let paused = change(&[("if-match", "\"1.0.0\"")], pause);
    assert_eq!(
        (paused.status, paused.header("etag")),
        (200, Some("\"2.1.0.1\"")),
        "rounds do not change the version"
    );
    assert_eq!(client.json("POST", &format!("{SHOP}/rounds"), "{}").code(), "campaign-paused");
    assert_eq!(change(&[("if-match", "*")], r#"{"status": "open"}"#).status, 200);
    assert_eq!(change(&[("if-match", "*")], r#"{"status": "over"}"#).code(), "bad-request");
}

#[test]
fn one_off_problems() {
    let service = Running::new();
    let body = r#"{"problem": {"budget": 10, "task": [
        {"name": "a", "value": 1, "curve": {"family": "saturating", "full_at": 10}},
        {"name": "b", "value": 1, "curve": {"family": "saturating", "full_at": 5}}]}}"#;
    let answer = service.client().json("POST", "/v1/allocate", body);
    assert_eq!(
        (answer.status, &answer.json()["value"], &answer.json()["status"]),
        (200, &json!(1.5), &json!("optimal")),
        "{answer:?}"
    );
    let wrong = service.client().json("POST", "/v1/allocate", &body.replace("full_at", "fool_at"));
    assert_eq!((wrong.status, wrong.code().as_str()), (422, "bad-problem"));
    assert_eq!(wrong.json()["pointer"], "/problem/task/0/curve");
    assert!(wrong.json()["errors"].as_array().unwrap().len() >= 2);
}

/// One-off problems have volumes. Campaigns do not, because the stores keep single completions.
#[test]
fn volumes_are_allowed_in_one_off_problems() {
    let service = Running::new();
    let problem = r#"{"budget": 10, "reward_max": 3, "task": [
        {"name": "a", "value": 1, "curve": {"family": "saturating", "full_at": 10}},
        {"name": "b", "value": 2, "volume": 40, "curve": {"family": "saturating", "full_at": 20}}]}"#;
    let body = format!(r#"{{"problem": {problem}}}"#);
    let answer = service.client().json("POST", "/v1/allocate", &body);
    assert_eq!((answer.status, &answer.json()["value"]), (200, &json!(40.0)), "{answer:?}");
    let second = json!(
        {"task": "b", "spend": 10.0, "success": 0.5, "expected_completions": 20.0}
    );
    assert_eq!(answer.json()["tasks"][1], second);
}

#[test]
fn every_error_is_a_problem() {
    let service = Running::new();
    let client = service.client();
    let cases = [
        (client.get("/nowhere"), 404, "no-route"),
        (client.get("/v1/campaigns/none"), 404, "no-campaign"),
        (client.send("OPTIONS", SHOP, &[], None), 405, "wrong-method"),
        (client.send("PUT", SHOP, &[], Some(b"{}")), 415, "wrong-media-type"),
        (client.json("PUT", "/v1/campaigns/a%20b", CAMPAIGN), 400, "bad-parameter"),
        (client.get("/v1/campaigns/%ff"), 400, "bad-parameter"),
        (
            client.json("PUT", &format!("{SHOP}/rounds/x/feedback"), r#"{"results": []}"#),
            400,
            "bad-parameter",
        ),
        (
            client.json("PUT", &format!("{SHOP}/rounds/-1/feedback"), r#"{"results": []}"#),
            400,
            "bad-parameter",
        ),
        (
            client.json(
                "PUT",
                &format!("{SHOP}/rounds/9223372036854775808/feedback"),
                r#"{"results": []}"#,
            ),
            400,
            "bad-parameter",
        ),
        (client.get("/dashboard/%ff"), 400, "bad-parameter"),
        (client.get("/dashboard/none.js"), 404, "no-route"),
        (client.json("POST", "/", "{}"), 405, "wrong-method"),
        (client.get("/v1/campaigns?limit=0"), 400, "bad-parameter"),
        (client.get("/v1/campaigns?limit=1001"), 400, "bad-parameter"),
        (client.get("/v1/campaigns?offset=3"), 400, "bad-parameter"),
        (client.json("PUT", SHOP, r#"{"problem": 7}"#), 422, "bad-problem"),
        (client.json("POST", "/v1/tokens", r#"{"scopes": ["wizard"]}"#), 400, "bad-request"),
        (
            client.json("POST", "/v1/allocate", r#"{"problem": {"task": [[1, 2]]}}"#),
            422,
            "bad-problem",
        ),
    ];
    for (answer, status, code) in cases {
        assert_eq!((answer.status, answer.code().as_str()), (status, code), "{answer:?}");
    }
    assert_eq!(
        client
            .send("OPTIONS", SHOP, &[], None)
            .header("allow")
            .map(|allow| allow.contains("PATCH")),
        Some(true)
    );
}

/// HEAD returns the same headers as GET, without a body.
#[test]
fn head_answers_like_get_without_a_body() {
    let service = Running::new();
    let client = service.client();
    client.json("PUT", SHOP, CAMPAIGN);
    for path in [SHOP, "/", "/livez", "/openapi.json", "/nowhere", "/v1/campaigns/none"] {
        let mut stream = connect(service.address());
        write!(stream, "HEAD {path} HTTP/1.1\r\nhost: localhost\r\nx-request-id: same\r\nconnection: close\r\n\r\n").unwrap();
        let mut head = String::new();
        stream.read_to_string(&mut head).unwrap();
        let whole = client.send("GET", path, &[("x-request-id", "same")], None);
        assert!(
            head.ends_with("\r\n\r\n") && head.matches("\r\n\r\n").count() == 1,
            "{path}: {head}"
        );
        let lines = |head: &str| {
            head.lines()
                .filter(|line| !line.is_empty() && !line.starts_with("date:"))
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        assert_eq!(lines(&head), lines(&whole.head), "{path}");
        assert!(
            whole.header("content-length").is_some_and(|length| length != "0"),
            "{path}: {}",
            whole.head
        );
    }
}

#[test]
fn the_type_of_every_error_resolves_to_a_page() {
    let service = Running::new();
    let client = service.client();
    for code in ErrorCode::ALL {
        let ErrorInfo { word, status, title, meaning, advice } = code.info();
        let page = client.get(&format!("/problems/{word}"));
        assert_eq!(
            (page.status, page.header("content-type")),
            (200, Some("text/plain; charset=utf-8")),
            "{word}"
        );
        for part in [word, &status.to_string(), title, meaning, advice] {
            assert!(
                !part.is_empty() && page.body.contains(part),
                "{word}: no {part} in {}",
                page.body
            );
        }
    }
    let error = client.get("/v1/campaigns/none").json();
    assert_eq!(client.get(error["type"].as_str().unwrap()).status, 200);
    assert_eq!(client.get("/problems/nothing-known").code(), "no-route");
}

#[test]
fn answers_have_security_headers_and_an_id() {
    let service = Running::new();
    let client = service.client();
    for answer in [client.get("/livez"), client.get("/nowhere"), client.get("/v1/campaigns")] {
        assert_eq!(
            answer.header("content-security-policy"),
            Some("default-src 'none'; frame-ancestors 'none'")
        );
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        assert!(answer.header("x-request-id").is_some());
    }
    assert_eq!(
        client.send("GET", "/livez", &[("x-request-id", "mine-7")], None).header("x-request-id"),
        Some("mine-7")
    );
    assert_ne!(
        client.send("GET", "/livez", &[("x-request-id", "a b")], None).header("x-request-id"),
        Some("a b")
    );
}

#[test]
fn metrics_count_requests_and_outcomes() {
    let service = Running::new();
    let client = service.client();
    client.json("PUT", SHOP, CAMPAIGN);
    client.json("POST", &format!("{SHOP}/rounds"), r#"{"count": 3}"#);
    let report = r#"{"results": [{"task": "a", "completed": true, "reward": 1}]}"#;
    for _ in 0..2 {
        client.json("PUT", &format!("{SHOP}/rounds/1/feedback"), report);
    }
    client.json(
        "PUT",
        &format!("{SHOP}/rounds/1/feedback"),
        &report.replace("\"reward\": 1", "\"reward\": 0"),
    );
    client.send("BREW", "/nowhere", &[], None);
    let text = client.get("/metrics").body;
    for line in [
        "outlay_rounds_total 3",
        "outlay_outcomes_total 1",
        "outlay_outcomes_duplicate_total 1",
        "outlay_reports_conflicting_total 1",
        "outlay_store_failures_total 0",
        "outlay_completions 1.0",
        "outlay_open_rounds 3.0",
        "outlay_campaign_completions{campaign=\"shop\"} 1.0",
        "outlay_requests_total{method=\"POST\",route=\"/v1/campaigns/{campaign}/rounds\",status=\"201\"} 1",
        "outlay_requests_total{method=\"PUT\",route=\"/v1/campaigns/{campaign}/rounds/{round}/feedback\",status=\"409\"} 1",
        "outlay_requests_total{method=\"other\",route=\"none\",status=\"404\"} 1",
        "outlay_batch_commands_bucket{le=\"+Inf\"} 5",
        "outlay_commit_seconds_count 5",
    ] {
        assert!(text.lines().any(|found| found == line), "no {line} in\n{text}");
    }
    assert!(text.ends_with("# EOF\n"));
}

#[test]
fn answers_are_compressed_on_request() {
    let service = Running::new();
    let client = service.client();
    assert_eq!(client.get("/openapi.json").header("content-encoding"), None);
    let gzip = [("accept-encoding", "gzip")];
    let compressed = client.send("GET", "/openapi.json", &gzip, None);
    assert_eq!((compressed.status, compressed.header("content-encoding")), (200, Some("gzip")));
    let small = client.send("GET", "/livez", &gzip, None);
    assert_eq!((small.status, small.header("content-encoding")), (200, None));
}
