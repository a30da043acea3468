//! Tokens created by another replica are valid at once.

use std::sync::Arc;
use std::time::{Duration, Instant};

use outlay_server::limits::Limits;
use outlay_server::store::{Command, Store};
use outlay_server::tokens::{Scope, TokenRequest, Tokens, make};

use crate::http::Running;
use crate::support::database::Database;
use crate::support::wrapped::Wrapped;

fn admin() -> TokenRequest {
    TokenRequest { scopes: vec![Scope::Admin], campaign: None, name: None, good_for: None }
}

#[test]
fn a_new_token_is_valid_at_every_replica_at_once() {
    let Some(database) = Database::new() else { return };
    let store = database.store();
    let (row, secret) = make(&admin(), 0).unwrap();
    store.apply(&[Command::AddToken(row)]).unwrap()[0].as_ref().unwrap();
    let [one, other] =
        [(); 2].map(|()| Running::with(Arc::new(database.store()), Limits::default()));
    for _ in 0..3 {
        let made = one.client().with_token(secret.reveal()).json(
            "POST",
            "/v1/tokens",
            r#"{"scopes": ["read"]}"#,
        );
        assert_eq!(made.status, 201, "{made:?}");
        let made = made.json()["token"].as_str().unwrap().to_owned();
        assert_eq!(other.client().with_token(&made).get("/v1/campaigns").status, 200);
        assert_eq!(other.client().with_token(&format!("{made}x")).get("/v1/campaigns").status, 401);
    }
}

#[tokio::test]
async fn lookups_of_unknown_tokens_are_limited() {
    let store = Wrapped::new(true, |store, batch| store.apply(batch));
    let tokens = Tokens::load(Arc::new(store)).unwrap();
    let unknown = || make(&admin(), 0).unwrap().1.reveal().to_owned();
    let begun = Instant::now();
    for _ in 0..4 {
        tokens.look_up(&unknown()).await;
    }
    assert!(begun.elapsed() >= Duration::from_millis(300), "{:?}", begun.elapsed());
    // Concurrent lookups share one read of the store.
    let begun = Instant::now();
    let all: Vec<String> = (0..500).map(|_| unknown()).collect();
    futures_util::future::join_all(all.iter().map(|token| tokens.look_up(token))).await;
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    // Malformed tokens cause no lookup.
    let begun = Instant::now();
    for bad in ["", "outlay", "outlay__", "outlay_a_b", "outlay_ü_b"] {
        tokens.look_up(bad).await;
    }
    assert!(begun.elapsed() < Duration::from_millis(80), "{:?}", begun.elapsed());
}
