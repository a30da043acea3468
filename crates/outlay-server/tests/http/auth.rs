//! Every path and method with every kind of token. The expected results are listed by hand; the
//! paths are read from the description of the API, and a path without a row fails.

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use outlay_server::limits::Limits;
use outlay_server::store::{Command, MemoryStore, Store, TokenRevocation};
use outlay_server::tokens::{Scope, TokenRequest, make};
use serde_json::Value;

use super::client::{Client, connect};
use super::{CAMPAIGN, Running};
use crate::support::wrapped::Wrapped;

/// The permission that a request needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Needs {
    /// None, not even a token.
    Nothing,
    /// This scope, for the campaign in the path.
    Campaign(&'static str),
    /// This scope, for all campaigns.
    All(&'static str),
    /// This scope, for any campaign.
    Any(&'static str),
}

use Needs::{All, Any, Campaign, Nothing};

const TABLE: [(&str, &str, Needs); 24] = [
    ("get", "/v1/campaigns", All("read")),
    ("put", "/v1/campaigns/{campaign}", Campaign("admin")),
    ("get", "/v1/campaigns/{campaign}", Campaign("read")),
    ("patch", "/v1/campaigns/{campaign}", Campaign("admin")),
    ("delete", "/v1/campaigns/{campaign}", Campaign("admin")),
    ("put", "/v1/campaigns/{campaign}/problem", Campaign("admin")),
    ("get", "/v1/campaigns/{campaign}/curves", Campaign("read")),
    ("get", "/v1/campaigns/{campaign}/events", Campaign("read")),
    ("get", "/v1/campaigns/{campaign}/events/stream", Campaign("read")),
    ("get", "/v1/campaigns/{campaign}/rounds", Campaign("read")),
    ("post", "/v1/campaigns/{campaign}/rounds", Campaign("decide")),
    ("put", "/v1/campaigns/{campaign}/rounds/{round}/feedback", Campaign("report")),
    ("post", "/v1/campaigns/{campaign}/feedback", Campaign("report")),
    ("post", "/v1/campaigns/{campaign}/rounds/{round}/corrections", Campaign("admin")),
    ("post", "/v1/allocate", Any("decide")),
    ("post", "/v1/compactions", All("admin")),
    ("get", "/v1/tokens", All("admin")),
    ("post", "/v1/tokens", All("admin")),
    ("delete", "/v1/tokens/{id}", All("admin")),
    ("get", "/metrics", All("read")),
    ("get", "/livez", Nothing),
    ("get", "/readyz", Nothing),
    ("get", "/openapi.json", Nothing),
    ("get", "/problems/{code}", Nothing),
];

/// A token, its name in this test, and, if it is valid, its scope and restriction.
struct Kind {
    name: String,
    token: Option<String>,
    good: Option<(&'static str, Reach)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    All,
    Here,
    Elsewhere,
    /// Several campaigns, among them the one in the path.
    Group,
    /// Several campaigns, without the one in the path.
    OtherGroup,
}

/// The campaigns that a token is restricted to.
const REACHES: [(Reach, Option<&str>); 5] = [
    (Reach::All, None),
    (Reach::Here, Some("shop")),
    (Reach::Elsewhere, Some("other")),
    (Reach::Group, Some("sh*")),
    (Reach::OtherGroup, Some("shop-*")),
];

/// The admin token for all campaigns.
const ADMIN: usize = 3 * REACHES.len();

/// The status of the refusal, or `None` if the request must be authorized.
fn expected(needs: Needs, kind: &Kind) -> Option<u16> {
    let (scope, reaches): (&str, &[Reach]) = match needs {
        Nothing => return None,
        Campaign(scope) => (scope, &[Reach::All, Reach::Here, Reach::Group]),
        All(scope) => (scope, &[Reach::All]),
        Any(scope) => (scope, &REACHES.map(|(reach, _)| reach)),
    };
    match kind.good {
        None => Some(401),
        Some((own, reach)) if (own == scope || own == "admin") && reaches.contains(&reach) => None,
        Some(_) => Some(403),
    }
}

fn kinds(store: &MemoryStore) -> Vec<Kind> {
    let add = |scope: Scope, campaign: Option<&str>, good_for: Option<i64>, at: i64| {
        let campaign = campaign.map(str::to_owned);
        let request = TokenRequest { scopes: vec![scope], campaign, name: None, good_for };
        let (row, secret) = make(&request, at).unwrap();
        let id = row.id.clone();
        store.apply(&[Command::AddToken(row)]).unwrap().pop().unwrap().unwrap();
        (id, secret.reveal().to_owned())
    };
    let mut kinds = Vec::new();
    for scope in Scope::ALL {
        for (reach, campaign) in REACHES {
            let (_, token) = add(scope, campaign, None, 0);
            kinds.push(Kind {
                name: format!("{} {reach:?}", scope.word()),
                token: Some(token),
                good: Some((scope.word(), reach)),
            });
        }
    }
    let (_, expired) = add(Scope::Admin, None, Some(1), 0);
    let (id, revoked) = add(Scope::Admin, None, None, 0);
    store
        .apply(&[Command::RevokeToken(TokenRevocation { id, at: 1 })])
        .unwrap()
        .pop()
        .unwrap()
        .unwrap();
    let good = kinds[ADMIN].token.clone().unwrap();
    let forged =
        format!("{}{}", &good[..good.len() - 1], if good.ends_with('0') { '1' } else { '0' });
    let bad = [
        ("expired", expired),
        ("revoked", revoked),
        ("forged", forged),
        ("nonsense", "7".to_owned()),
    ];
    kinds.extend(bad.map(|(name, token)| Kind {
        name: name.to_owned(),
        token: Some(token),
        good: None,
    }));
    kinds.push(Kind { name: "none".to_owned(), token: None, good: None });
    kinds
}

fn described() -> BTreeSet<(String, String)> {
    let api: Value = serde_json::from_str(&outlay_server::http::openapi_json()).unwrap();
    let paths = api["paths"].as_object().unwrap();
    paths
        .iter()
        .flat_map(|(path, item)| {
            item.as_object().unwrap().keys().map(|method| (method.clone(), path.clone()))
        })
        .collect()
}

/// Sends a request and returns its status; only authorization matters here.
fn send_request(client: &Client, method: &str, path: &str) -> u16 {
    let real = path
        .replace("{campaign}", "shop")
        .replace("{round}", "1")
        .replace("{id}", "nobody")
        .replace("{code}", "busy")
        .replace("/stream", "/stream?max_seconds=1");
    let media = if path.ends_with("{campaign}/feedback") {
        "application/x-ndjson"
    } else {
        "application/json"
    };
    let body = matches!(method, "put" | "post" | "patch").then_some(b"{}".as_slice());
    client.send(&method.to_uppercase(), &real, &[("content-type", media)], body).status
}

#[test]
fn every_path_with_every_kind_of_token() {
    let rows: BTreeSet<(String, String)> =
        TABLE.iter().map(|(method, path, _)| ((*method).to_owned(), (*path).to_owned())).collect();
    assert_eq!(described(), rows, "a path without a row, or a row without a path");
    let store = Arc::new(MemoryStore::new());
    let kinds = kinds(&store);
    let service = Running::with(store, Limits::default());
    let admin = service.client().with_token(kinds[ADMIN].token.as_ref().unwrap());
    assert_eq!(admin.json("PUT", "/v1/campaigns/shop", CAMPAIGN).status, 201);
    let mut count = 0;
    for (method, path, needs) in TABLE {
        for kind in &kinds {
            let client = kind
                .token
                .as_ref()
                .map_or_else(|| service.client(), |token| service.client().with_token(token));
            let status = send_request(&client, method, path);
            let is_right = match expected(needs, kind) {
                Some(refused) => status == refused,
                None => status != 401 && status != 403,
            };
            assert!(
                is_right,
                "{method} {path} with {}: {status}, expected {:?}",
                kind.name,
                expected(needs, kind)
            );
            count += 1;
        }
    }
    assert_eq!(count, TABLE.len() * kinds.len());
}

#[test]
fn the_first_token_turns_authentication_on_for_good() {
    let service = Running::new();
    let open = service.client();
    assert_eq!(open.get("/v1/campaigns").status, 200);
    let lame = open.json("POST", "/v1/tokens", r#"{"scopes": ["read"]}"#);
    assert_eq!(lame.code(), "bad-request", "the first token must be able to create others");
    let made = open.json("POST", "/v1/tokens", r#"{"scopes": ["admin"]}"#);
    assert_eq!(made.status, 201);
    for id in ["", "../x", "no such!", "*", "a*b"] {
        let body = serde_json::json!({ "scopes": ["read"], "campaign": id }).to_string();
        let secret = made.json()["token"].as_str().unwrap().to_owned();
        assert_eq!(
            open.with_token(&secret).json("POST", "/v1/tokens", &body).json()["pointer"],
            "/campaign",
            "no campaign has the id {id:?}"
        );
    }
    let (token, id) = (
        made.json()["token"].as_str().unwrap().to_owned(),
        made.json()["id"].as_str().unwrap().to_owned(),
    );
    let refused = open.get("/v1/campaigns");
    assert_eq!(
        (refused.status, refused.code().as_str(), refused.header("www-authenticate")),
        (401, "unauthorised", Some("Bearer"))
    );
    let admin = open.with_token(&token);
    let list = admin.get("/v1/tokens");
    assert_eq!((list.status, list.json()["tokens"][0]["id"].as_str()), (200, Some(id.as_str())));
    assert!(!list.body.contains(&token[token.len() - 20..]), "a secret is shown");
    assert_eq!(admin.send("DELETE", "/v1/tokens/nobody", &[], None).code(), "no-token");
    let whole = admin.send("DELETE", &format!("/v1/tokens/{token}"), &[], None);
    assert_eq!((whole.status, whole.code().as_str()), (400, "bad-parameter"));
    assert!(!whole.body.contains(&token), "a secret is repeated");
    assert_eq!(admin.send("DELETE", &format!("/v1/tokens/{id}"), &[], None).status, 200);
    assert_eq!(admin.get("/v1/campaigns").code(), "unauthorised");
    assert_eq!(open.get("/v1/campaigns").code(), "unauthorised");
}

#[test]
fn rate_limits_are_separate_for_each_token() {
    let store = Arc::new(MemoryStore::new());
    let kinds = kinds(&store);
    let service = Running::with(store, Limits { requests_per_second: 1, ..Limits::default() });
    let ask = |kind: &Kind| {
        service.client().with_token(kind.token.as_ref().unwrap()).get("/v1/campaigns")
    };
    let refused = (0..10).map(|_| ask(&kinds[0])).find(|answer| answer.status != 200).unwrap();
    assert_eq!(
        (refused.code().as_str(), refused.header("retry-after")),
        ("too-many-requests", Some("1"))
    );
    assert_eq!(ask(&kinds[ADMIN]).status, 200, "another token is not limited");
}

#[test]
fn without_tokens_only_loopback_hosts_are_accepted() {
    let service = Running::new();
    let ask = |host: &str| {
        service
            .client()
            .raw(format!("GET /v1/campaigns HTTP/1.1\r\nhost: {host}\r\n\r\n").as_bytes())
    };
    assert_eq!(ask("localhost:7341").status, 200);
    assert_eq!(ask("rebound.example").code(), "forbidden");
}

#[test]
fn the_last_use_of_a_token_is_stored_and_listed() {
    let store = Arc::new(MemoryStore::new());
    let kinds = kinds(&store);
    let service = Running::with(store.clone(), Limits::default());
    let noted = || {
        store
            .tokens()
            .unwrap()
            .into_iter()
            .filter_map(|row| row.last_used_at.map(|at| (row.id, at)))
            .collect::<Vec<_>>()
    };
    assert_eq!(noted(), []);
    let (reader, admin) = (kinds[0].token.as_ref().unwrap(), kinds[ADMIN].token.as_ref().unwrap());
    assert_eq!(service.client().with_token(reader).get("/v1/campaigns").status, 200);
    let [(id, at)] = noted().try_into().unwrap();
    assert_eq!(reader.split('_').nth(1), Some(id.as_str()));
    assert_eq!(service.client().with_token(reader).get("/v1/tokens").status, 403);
    assert_eq!(noted(), [(id.clone(), at)], "once an hour is enough");
    let list = service.client().with_token(admin).get("/v1/tokens").json();
    let used: Vec<_> = list["tokens"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|token| token.get("last_used_at").is_some())
        .collect();
    assert_eq!(used.len(), 2, "listing tokens is a use of the admin token: {list}");
    assert!(used.iter().any(|token| token["id"] == id.as_str()));
}

/// A revocation takes effect even if the client hangs up before the answer.
#[test]
fn a_token_is_revoked_even_if_the_client_hangs_up() {
    let store = Wrapped::new(false, |store, batch| {
        if batch.iter().any(|command| matches!(command, Command::RevokeToken(_))) {
            std::thread::sleep(Duration::from_millis(300));
        }
        store.apply(batch)
    });
    let request =
        |scope| TokenRequest { scopes: vec![scope], campaign: None, name: None, good_for: None };
    let (admin, admin_secret) = make(&request(Scope::Admin), 0).unwrap();
    let (reader, reader_secret) = make(&request(Scope::Read), 0).unwrap();
    let id = reader.id.clone();
    store.apply(&[Command::AddToken(admin), Command::AddToken(reader)]).unwrap();
    let service = Running::with(Arc::new(store), Limits::default());
    let client = service.client().with_token(reader_secret.reveal());
    assert_eq!(client.get("/v1/campaigns").status, 200);
    let mut socket = connect(service.address());
    let head = format!(
        "DELETE /v1/tokens/{id} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\n\r\n",
        admin_secret.reveal()
    );
    socket.write_all(head.as_bytes()).unwrap();
    std::thread::sleep(Duration::from_millis(100));
    drop(socket);
    assert_eq!(client.get("/v1/campaigns").status, 200, "the store has not finished yet");
    std::thread::sleep(Duration::from_millis(600));
    assert_eq!(client.get("/v1/campaigns").status, 401);
}
