//! Campaigns are deleted and old rounds compacted, over HTTP and by several replicas.

use std::sync::Arc;
use std::time::{Duration, Instant};

use outlay_server::limits::Limits;
use outlay_server::store::Store;

use super::client::{Answer, Client};
use super::{CAMPAIGN, Running};
use crate::support::database::Database;

const SHOP: &str = "/v1/campaigns/shop";
const ANY: (&str, &str) = ("if-match", "*");
const FEEDBACK: &str = r#"{"results": [{"task": "a", "completed": true, "reward": 0.5}]}"#;

fn delete(client: &Client, path: &str, headers: &[(&str, &str)]) -> Answer {
    client.send("DELETE", path, headers, None)
}

/// A campaign whose rounds expire at once, with three of them, the first reported.
fn begin(client: &Client) {
    let new = CAMPAIGN.replacen('{', r#"{"expiry_seconds": 1, "#, 1);
    assert_eq!(client.json("PUT", SHOP, &new).status, 201);
    for _ in 0..3 {
        let asked = client.json("POST", "/v1/campaigns/shop/rounds", "{}");
        assert_eq!(asked.status, 201, "{asked:?}");
    }
    let reported = client.json("PUT", "/v1/campaigns/shop/rounds/1/feedback", FEEDBACK);
    assert_eq!(reported.status, 200);
}

#[test]
fn a_campaign_is_deleted_when_it_is_closed_or_forced() {
    let service = Running::new();
    let client = service.client();
    begin(&client);
    assert_eq!(delete(&client, SHOP, &[]).code(), "needs-if-match");
    assert_eq!(delete(&client, SHOP, &[("if-match", "\"7\"")]).code(), "version-moved");
    assert_eq!(delete(&client, SHOP, &[ANY]).code(), "campaign-not-closed");
    assert_eq!(delete(&client, "/v1/campaigns/shop?force=maybe", &[ANY]).status, 400);
    assert_eq!(client.get(SHOP).status, 200);
    let headers = [ANY, ("content-type", "application/json")];
    let closed = client.send("PATCH", SHOP, &headers, Some(br#"{"status": "closed"}"#));
    let tag = closed.header("etag").unwrap().to_owned();
    assert_eq!(delete(&client, SHOP, &[("if-match", &tag)]).status, 204);
    for path in [SHOP, "/v1/campaigns/shop/rounds", "/v1/campaigns/shop/events"] {
        assert_eq!(client.get(path).code(), "no-campaign", "{path}");
    }
    let reported = client.json("PUT", "/v1/campaigns/shop/rounds/1/feedback", FEEDBACK);
    assert_eq!(reported.code(), "no-campaign");
    assert_eq!(delete(&client, SHOP, &[ANY]).code(), "no-campaign");
    assert_eq!(client.get("/v1/campaigns").json()["campaigns"].as_array().unwrap().len(), 0);
    // The id is free; nothing of the old campaign is left.
    begin(&client);
    assert_eq!(client.get(SHOP).json()["rounds"], 3);
    assert_eq!(delete(&client, "/v1/campaigns/shop?force=true", &[ANY]).status, 204);
    assert_eq!(client.get(SHOP).status, 404);
}

#[test]
fn deleting_a_campaign_frees_its_place_in_the_limit() {
    let limits = Limits { campaigns: 1, ..Limits::default() };
    let service = Running::with(Arc::new(outlay_server::store::MemoryStore::new()), limits);
    let client = service.client();
    assert_eq!(client.json("PUT", SHOP, CAMPAIGN).status, 201);
    assert_eq!(client.json("PUT", "/v1/campaigns/next", CAMPAIGN).code(), "too-large");
    assert_eq!(delete(&client, "/v1/campaigns/shop?force=true", &[ANY]).status, 204);
    assert_eq!(client.json("PUT", "/v1/campaigns/next", CAMPAIGN).status, 201);
}

#[test]
fn old_rounds_are_compacted_and_then_refused() {
    let service = Running::new();
    let client = service.client();
    begin(&client);
    let before = client.get(SHOP).json();
    std::thread::sleep(Duration::from_millis(1100));
    let compact = |dry_run: bool| {
        let request = format!(r#"{{"retain_seconds": 0, "dry_run": {dry_run}}}"#);
        client.json("POST", "/v1/compactions", &request).json()
    };
    assert_eq!((&compact(true)["rounds"], &compact(true)["is_done"]), (&2.into(), &true.into()));
    let report = compact(false);
    assert_eq!((&report["rounds"], &report["outcomes"]), (&2.into(), &1.into()));
    assert_eq!(compact(false)["rounds"], 0);
    let after = client.get(SHOP).json();
    assert_eq!((&after["rounds"], &after["tasks"]), (&before["rounds"], &before["tasks"]));
    let refused = client.json("PUT", "/v1/campaigns/shop/rounds/1/feedback", FEEDBACK);
    assert_eq!((refused.status, refused.code().as_str()), (410, "round-compacted"));
    let correction = r#"{"task": "a", "completed": false, "why": "wrong"}"#;
    let refused = client.json("POST", "/v1/campaigns/shop/rounds/1/corrections", correction);
    assert_eq!(refused.code(), "round-compacted");
    let reported = client.json("PUT", "/v1/campaigns/shop/rounds/3/feedback", FEEDBACK);
    assert_eq!(reported.json()["accepted"], 1);
    let rounds = client.get("/v1/campaigns/shop/rounds").json();
    assert_eq!(rounds["rounds"].as_array().unwrap().len(), 1);
    let unknown = client.json("PUT", "/v1/campaigns/shop/rounds/9/feedback", FEEDBACK);
    assert_eq!(unknown.code(), "no-round");
}

/// Two replicas: one deletes a campaign, the other answers 404 to everything, and its late writes
/// do not restore any rows.
#[test]
fn other_replicas_notice_a_deletion() {
    let Some(database) = Database::new() else { return };
    // The replica does not refresh its state within the test.
    let limits = || Limits { staleness_ms: 3_600_000, ..Limits::default() };
    let one = Running::with(Arc::new(database.store()), limits());
    let other = Running::with(Arc::new(database.store()), limits());
    begin(&one.client());
    let late = other.client();
    assert_eq!(late.get(SHOP).status, 200);
    assert_eq!(late.json("POST", "/v1/campaigns/shop/rounds", "{}").status, 201);
    assert_eq!(delete(&one.client(), "/v1/campaigns/shop?force=true", &[ANY]).status, 204);
    // The other replica still has the campaign in memory, but the database refuses its writes.
    let reported = late.json("PUT", "/v1/campaigns/shop/rounds/2/feedback", FEEDBACK);
    assert_eq!(reported.code(), "no-campaign");
    assert_eq!(late.json("POST", "/v1/campaigns/shop/rounds", "{}").code(), "no-campaign");
    assert_eq!(late.get(SHOP).code(), "no-campaign");
    let store = database.store();
    while store.purge(10).unwrap() > 0 {}
    for table in ["split", "told", "feedback", "stat", "tally", "lease", "change"] {
        assert_eq!(database.sql(&format!("SELECT count(*) FROM {table}")), ["0"], "{table}");
    }
    assert_eq!(database.sql("SELECT id FROM deletion WHERE is_purged"), ["shop"]);
    // A new campaign with the same id: both replicas use the new one.
    begin(&late);
    assert_eq!(one.client().get(SHOP).json()["rounds"], 3);
    assert_eq!(store.verify().unwrap().faults, Vec::<String>::new());
}

/// One replica asks and reports continuously while another deletes and recreates the campaign: the
/// counts always match the rows.
#[test]
fn deletions_under_load_leave_nothing_behind() {
    let Some(database) = Database::new() else { return };
    let one = Running::with(Arc::new(database.store()), Limits::default());
    let other = Running::with(Arc::new(database.store()), Limits::default());
    let until = Instant::now() + Duration::from_secs(4);
    std::thread::scope(|scope| {
        for replica in [&one, &other, &other] {
            scope.spawn(move || {
                let client = replica.client();
                while Instant::now() < until {
                    client.json("PUT", SHOP, CAMPAIGN);
                    let asked = client.json("POST", "/v1/campaigns/shop/rounds", "{}");
                    assert!([201, 404, 503].contains(&asked.status), "{asked:?}");
                    if asked.status == 201 {
                        let round = asked.json()["rounds"][0].to_string();
                        let path = format!("/v1/campaigns/shop/rounds/{round}/feedback");
                        let reported = client.json("PUT", &path, FEEDBACK);
                        assert!([200, 404, 409, 503].contains(&reported.status), "{reported:?}");
                    }
                }
            });
        }
        let client = one.client();
        while Instant::now() < until {
            std::thread::sleep(Duration::from_millis(50));
            let gone = delete(&client, "/v1/campaigns/shop?force=true", &[ANY]);
            assert!([204, 404, 412].contains(&gone.status), "{gone:?}");
        }
    });
    let store = database.store();
    assert_eq!(store.verify().unwrap().faults, Vec::<String>::new());
    assert!(store.deleted_campaigns(100).unwrap().len() > 3);
    while store.purge(1000).unwrap() > 0 {}
    assert_eq!(store.verify().unwrap().faults, Vec::<String>::new());
    let strays =
        "SELECT count(*) FROM feedback WHERE campaign NOT IN (SELECT number FROM campaign)";
    assert_eq!(database.sql(strays), ["0"]);
}
