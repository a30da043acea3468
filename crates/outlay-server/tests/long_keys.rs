//! Error messages quote only a short part of a request.

use crate::http::{CAMPAIGN, Running};

#[test]
fn a_long_key_is_quoted_in_part() {
    let service = Running::new();
    let client = service.client();
    client.json("PUT", "/v1/campaigns/c", CAMPAIGN);
    let key = "k".repeat(900_000);
    let bodies = [
        ("PUT", "/v1/campaigns/d", format!(r#"{{"{key}": 1}}"#)),
        ("PUT", "/v1/campaigns/d", format!(r#"{{"problem": {{"{key}": 1}}}}"#)),
        (
            "PUT",
            "/v1/campaigns/d",
            format!(r#"{{"problem": {{"budget": 1, "task": [{{"{key}": 1}}]}}}}"#),
        ),
        ("PUT", "/v1/campaigns/d", format!(r#"{{"problem": {{}}, "learner": "{key}"}}"#)),
        ("POST", "/v1/campaigns/c/rounds", format!(r#"{{"{key}": 1}}"#)),
        ("POST", "/v1/campaigns/c/rounds", format!(r#"{{"without": ["{key}"]}}"#)),
        ("POST", "/v1/allocate", format!(r#"{{"problem": {{"{key}": [[]]}}}}"#)),
        ("PATCH", "/v1/campaigns/c", format!(r#"{{"status": "{key}"}}"#)),
    ];
    for (method, path, body) in bodies {
        let answer = client.json(method, path, &body);
        assert!(answer.status >= 400, "{answer:?}");
        assert!(answer.body.len() < 8_000, "{method} {path}: {} bytes", answer.body.len());
    }
}
