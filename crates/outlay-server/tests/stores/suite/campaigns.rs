//! Campaigns and tokens: creation, status, lists, deletion.

use outlay_server::store::{
    Ask, CampaignRow, CampaignStatus, Command, Done, EventKind, Refusal, Standing, Store,
    TaskCount, TokenRevocation, TokenRow, TokenUse,
};

use super::{asked_for, begun, count, open, purged, sound};
use crate::stores::place::Place;
use crate::support::commands::*;

pub(super) fn begins_once(place: &Place) {
    let store = begun(place, 3);
    let row = CampaignRow {
        id: "c".into(),
        spec: "{\"tasks\":3}".into(),
        tasks: 3,
        status: CampaignStatus::Open,
        version: 1,
        amendments: 0,
        problem: None,
        created_at: 1000,
        changed_at: 1000,
    };
    assert_eq!(store.campaign("c").unwrap(), Some(row.clone()));
    assert_eq!(one(&*store, create("c", 3)), Ok(Done::WasThere));
    assert_eq!(one(&*store, create("c", 4)), Err(Refusal::OtherCampaign));
    assert_eq!(store.campaign("c").unwrap(), Some(row));
    let standing = Standing { tasks: vec![TaskCount::default(); 3], ..Standing::default() };
    assert_eq!(store.standing("c").unwrap(), standing);
    assert_eq!(store.events("c", 0, 10).unwrap().len(), 1);
    assert!(store.health().is_ok());
}

pub(super) fn campaigns_in_pages(place: &Place) {
    let store = place();
    for id in ["b", "a", "d", "Z", "c10", "c9"] {
        assert_eq!(one(&*store, create(id, 1)), Ok(Done::Created));
    }
    let ids = |after, limit| -> Vec<String> {
        store.campaigns(after, limit).unwrap().into_iter().map(|row| row.id).collect()
    };
    assert_eq!(ids(None, 100), ["Z", "a", "b", "c10", "c9", "d"]);
    assert_eq!(ids(None, 2), ["Z", "a"]);
    assert_eq!(ids(Some("a"), 2), ["b", "c10"]);
    assert_eq!(ids(Some("c"), 1), ["c10"]);
    assert_eq!(ids(Some("d"), 5), Vec::<String>::new());
    assert_eq!(ids(None, 0), Vec::<String>::new());
}

pub(super) fn status_needs_its_version(place: &Place) {
    let store = begun(place, 1);
    assert_eq!(
        one(&*store, set_status("c", CampaignStatus::Paused, 2)),
        Err(Refusal::OtherVersion { version: 1 })
    );
    assert_eq!(
        one(&*store, set_status("c", CampaignStatus::Paused, 1)),
        Ok(Done::StatusSet { version: 2 })
    );
    assert_eq!(
        one(&*store, set_status("c", CampaignStatus::Open, 1)),
        Err(Refusal::OtherVersion { version: 2 })
    );
    assert_eq!(
        one(&*store, set_status("c", CampaignStatus::Paused, 2)),
        Ok(Done::StatusSet { version: 3 })
    );
    assert_eq!(
        one(&*store, set_status("c", CampaignStatus::Closed, 3)),
        Ok(Done::StatusSet { version: 4 })
    );
    assert_eq!(one(&*store, set_status("x", CampaignStatus::Closed, 1)), Err(Refusal::NoCampaign));
    for to in [CampaignStatus::Open, CampaignStatus::Paused, CampaignStatus::Closed] {
        assert_eq!(one(&*store, set_status("c", to, 4)), Err(Refusal::Closed));
        let error = Err(Refusal::OtherVersion { version: 4 });
        assert_eq!(one(&*store, set_status("c", to, 3)), error);
    }
    let row = store.campaign("c").unwrap().unwrap();
    assert_eq!(
        (row.status, row.version, row.created_at, row.changed_at),
        (CampaignStatus::Closed, 4, 1000, 2000)
    );
    // Creating it again with the same spec has no effect, whatever its status.
    assert_eq!(one(&*store, create("c", 1)), Ok(Done::WasThere));
    let kinds: Vec<_> = store
        .events("c", 0, 10)
        .unwrap()
        .into_iter()
        .map(|event| (event.token, event.kind))
        .collect();
    let set = |status| ("keeper".to_owned(), EventKind::StatusSet(status));
    let expected = [
        ("maker".to_owned(), EventKind::Created),
        set(CampaignStatus::Paused),
        set(CampaignStatus::Paused),
        set(CampaignStatus::Closed),
    ];
    assert_eq!(kinds, expected);
}

pub(super) fn snapshot_is_what_reads_give(place: &Place) {
    let store = begun(place, 2);
    let check = |after: u64, first: Option<u64>| {
        let snapshot = store.snapshot("c", after).unwrap().unwrap();
        let row = store.campaign("c").unwrap().unwrap();
        assert_eq!(
            (snapshot.status, snapshot.version, snapshot.changed_at),
            (row.status, row.version, row.changed_at)
        );
        assert_eq!(snapshot.standing, store.standing("c").unwrap());
        assert_eq!(snapshot.last_split.as_ref().map(|split| split.rounds.start), first);
        assert!(
            snapshot.last_split.is_none_or(|last| Some(last) == store.last_split("c").unwrap())
        );
    };
    check(0, None);
    one(&*store, ask("c", 1..4, 2)).unwrap();
    one(&*store, ask("c", 4..5, 2)).unwrap();
    one(&*store, tell("c", 2, &[(0, done(5)), (1, FAILED)])).unwrap();
    one(&*store, set_status("c", CampaignStatus::Paused, 1)).unwrap();
    check(0, Some(4));
    check(3, Some(4));
    check(4, None);
    assert_eq!(store.snapshot("x", 0).unwrap(), None);
}

pub(super) fn campaigns_do_not_mix(place: &Place) {
    let store = place();
    for id in ["a", "b"] {
        assert_eq!(one(&*store, create(id, 1)), Ok(Done::Created));
        assert_eq!(one(&*store, ask(id, 1..3, 1)), Ok(Done::Asked));
    }
    assert_eq!(one(&*store, tell("a", 1, &[(0, done(1))])), counted(&[true], true));
    assert_eq!(one(&*store, tell("b", 1, &[(0, done(2))])), counted(&[true], true));
    assert_eq!(one(&*store, correct("b", 1, 0, done(3))), corrected(done(2)));
    assert_eq!(store.standing("a").unwrap().tasks, [count(1, 1, 1, chance(0))]);
    assert_eq!(store.standing("b").unwrap().tasks, [count(1, 1, 3, chance(0))]);
    assert_eq!(store.rounds("a", 0, 1).unwrap()[0].told, [(0, done(1))]);
    assert_eq!(open(&*store, "b", 0), [2]);
    assert_eq!(
        (store.events("a", 0, 100).unwrap().len(), store.events("b", 0, 100).unwrap().len()),
        (3, 4)
    );
    let verified = store.verify().unwrap();
    assert_eq!(
        (verified.campaigns, verified.rounds, verified.items, verified.faults),
        (2, 4, 2, Vec::new())
    );
}

pub(super) fn names_are_only_names(place: &Place) {
    let store = place();
    let ids = [
        "'; DROP TABLE campaign; --",
        "50%_?",
        "größer",
        "\u{1f4b6}",
        "a b\tc\n",
        "\\",
        "NULL",
        "?1",
    ];
    for (number, id) in ids.iter().enumerate() {
        assert_eq!(one(&*store, create(id, 1)), Ok(Done::Created));
        assert_eq!(one(&*store, ask(id, 1..2, 1)), Ok(Done::Asked));
        let mut tell = told(id, 1, &[(0, done(number as u64))]);
        tell.token = (*id).into();
        assert_eq!(one(&*store, Command::Tell(tell)), counted(&[true], true));
    }
    for (number, id) in ids.iter().enumerate() {
        assert_eq!(store.campaign(id).unwrap().unwrap().id, *id);
        assert_eq!(store.standing(id).unwrap().tasks[0].reward_sum, number as u64);
        assert_eq!(store.events(id, 0, 9).unwrap()[2].token, *id);
    }
    let listed: Vec<_> =
        store.campaigns(None, 100).unwrap().into_iter().map(|row| row.id).collect();
    let mut sorted = ids.map(str::to_owned);
    sorted.sort();
    assert_eq!(listed, sorted);
}

pub(super) fn unknown_is_empty(place: &Place) {
    let store = place();
    assert_eq!(store.campaign("x").unwrap(), None);
    assert_eq!(store.campaigns(None, 10).unwrap(), []);
    assert_eq!(store.standing("x").unwrap(), Standing::default());
    assert_eq!(store.split("x", 1).unwrap(), None);
    assert_eq!(store.last_split("x").unwrap(), None);
    assert_eq!(open(&*store, "x", 0), Vec::<u64>::new());
    assert_eq!(store.rounds("x", 0, 10).unwrap(), []);
    assert_eq!(store.events("x", 0, 10).unwrap(), []);
    assert_eq!(store.tokens().unwrap(), []);
    assert!(!store.name().is_empty());
    sound(&*store);
    // A campaign without rounds.
    assert_eq!(one(&*store, create("x", 0)), Ok(Done::Created));
    assert_eq!(store.last_split("x").unwrap(), None);
    assert_eq!(open(&*store, "x", 0), Vec::<u64>::new());
    store.close().unwrap();
}

pub(super) fn tokens_are_kept(place: &Place) {
    let store = place();
    let full = TokenRow {
        scopes: vec!["admin".into()],
        campaign: Some("c".into()),
        name: Some("ci".into()),
        expires_at: Some(99),
        hash: std::array::from_fn(|place| place as u8),
        ..token("b")
    };
    let bare = TokenRow { scopes: Vec::new(), ..token("a") };
    assert_eq!(one(&*store, Command::AddToken(full.clone())), Ok(Done::TokenAdded));
    assert_eq!(one(&*store, Command::AddToken(bare.clone())), Ok(Done::TokenAdded));
    assert_eq!(one(&*store, Command::AddToken(token("b"))), Err(Refusal::Token));
    assert_eq!(store.tokens().unwrap(), [bare.clone(), full.clone()]);
    let revoke = |id: &str, at| Command::RevokeToken(TokenRevocation { id: id.into(), at });
    assert_eq!(one(&*store, revoke("x", 5)), Err(Refusal::Token));
    assert_eq!(one(&*store, revoke("b", 50)), Ok(Done::TokenRevoked));
    // The first revocation is the one that counts.
    assert_eq!(one(&*store, revoke("b", 60)), Ok(Done::TokenRevoked));
    let used = |id: &str, at| Command::UseToken(TokenUse { id: id.into(), at });
    assert_eq!(one(&*store, used("x", 5)), Err(Refusal::Token));
    // The last update is kept, even with an earlier time.
    assert_eq!(
        [30, 70, 40].map(|at| one(&*store, used("a", at))),
        [Ok(Done::TokenUsed), Ok(Done::TokenUsed), Ok(Done::TokenUsed)]
    );
    drop(store);
    assert_eq!(
        place().tokens().unwrap(),
        [TokenRow { last_used_at: Some(40), ..bare }, TokenRow { revoked_at: Some(50), ..full }]
    );
}

pub(super) fn deleted_is_gone(place: &Place) {
    let store = asked_for(place, 2, 4);
    one(&*store, tell("c", 2, &[(0, done(5)), (1, FAILED)])).unwrap();
    one(&*store, correct("c", 2, 0, done(6))).unwrap();
    assert_eq!(one(&*store, create("other", 1)), Ok(Done::Created));
    one(&*store, set_status("c", CampaignStatus::Closed, 1)).unwrap();
    let deleted = Ok(Done::Deleted { rounds: 4, outcomes: 2 });
    assert_eq!(one(&*store, delete("c", 2, false)), deleted);
    for _ in 0..2 {
        unknown(&*store, "c");
        assert_eq!(one(&*store, tell("c", 2, &[(0, done(5))])), Err(Refusal::NoCampaign));
        assert_eq!(one(&*store, correct("c", 2, 0, done(5))), Err(Refusal::NoCampaign));
        assert_eq!(one(&*store, ask("c", 5..6, 2)), Err(Refusal::NoCampaign));
        assert_eq!(one(&*store, delete("c", 2, true)), Err(Refusal::NoCampaign));
        assert!(store.lease_rounds("c", 1).is_err());
        sound(&*store);
        purged(&*store);
    }
    let ids: Vec<_> = store.campaigns(None, 9).unwrap().into_iter().map(|row| row.id).collect();
    assert_eq!(ids, ["other"]);
    let record = store.deleted_campaigns(9).unwrap();
    assert_eq!(
        (record.len(), &*record[0].id, record[0].at, &*record[0].token),
        (1, "c", 6000, "admin")
    );
    assert_eq!((record[0].rounds, record[0].outcomes), (4, 2));
    drop(store);
    let store = place();
    unknown(&*store, "c");
    // The id is free, and the new campaign has no data of the old one.
    assert_eq!(one(&*store, create("c", 3)), Ok(Done::Created));
    assert_eq!(store.lease_rounds("c", 1).unwrap(), 1..2);
    assert_eq!(one(&*store, ask("c", 1..2, 3)), Ok(Done::Asked));
    assert_eq!(one(&*store, tell("c", 1, &[(2, FAILED)])), counted(&[true], false));
    assert_eq!(store.standing("c").unwrap().version, 1);
    assert_eq!(store.events("c", 0, 10).unwrap().len(), 3);
    sound(&*store);
}

/// Checks that the store has no data of a campaign.
fn unknown(store: &dyn Store, campaign: &str) {
    assert_eq!(store.campaign(campaign).unwrap(), None);
    assert_eq!(store.standing(campaign).unwrap(), Standing::default());
    assert_eq!(store.rounds(campaign, 0, 10).unwrap(), []);
    assert_eq!(store.events(campaign, 0, 10).unwrap(), []);
    assert_eq!(store.split(campaign, 1).unwrap(), None);
    assert_eq!(store.open_rounds(campaign, 0).unwrap(), []);
    assert_eq!(store.snapshot(campaign, 0).unwrap(), None);
    assert_eq!(store.checkpoint(campaign).unwrap(), None);
}

pub(super) fn deletion_needs_closed(place: &Place) {
    let store = asked_for(place, 2, 1);
    assert_eq!(one(&*store, delete("c", 1, false)), Err(Refusal::NotClosed));
    one(&*store, set_status("c", CampaignStatus::Paused, 1)).unwrap();
    assert_eq!(one(&*store, delete("c", 1, true)), Err(Refusal::OtherVersion { version: 2 }));
    assert_eq!(one(&*store, delete("c", 2, false)), Err(Refusal::NotClosed));
    assert_eq!(store.rounds("c", 0, 10).unwrap().len(), 1);
    assert_eq!(one(&*store, delete("c", 2, true)), Ok(Done::Deleted { rounds: 1, outcomes: 0 }));
    assert_eq!(one(&*store, delete("nobody", 1, true)), Err(Refusal::NoCampaign));
}

pub(super) fn deleted_takes_its_keys(place: &Place) {
    let store = begun(place, 1);
    one(&*store, create("other", 1)).unwrap();
    let keyed = |campaign: &str, name: &str, request| {
        let key = key(name, request, DAY);
        Command::Ask(Ask { key, ..asked(campaign, 1..2, 1) })
    };
    assert_eq!(one(&*store, keyed("c", "k", 1)), Ok(Done::Asked));
    assert_eq!(one(&*store, keyed("other", "o", 1)), Ok(Done::Asked));
    assert!(store.used_key("asker", "k", 3000).unwrap().is_some());
    one(&*store, delete("c", 1, true)).unwrap();
    assert_eq!(store.used_key("asker", "k", 3000).unwrap(), None);
    assert!(store.used_key("asker", "o", 3000).unwrap().is_some());
    one(&*store, create("c", 1)).unwrap();
    assert_eq!(one(&*store, keyed("c", "k", 2)), Ok(Done::Asked));
    assert_eq!(store.used_key("asker", "k", 3000).unwrap().unwrap().request, [2; 32]);
}

pub(super) fn batch_sees_deletion(place: &Place) {
    let store = asked_for(place, 2, 2);
    let batch = [
        tell("c", 1, &[(0, done(5))]),
        delete("c", 1, true),
        tell("c", 1, &[(1, done(5))]),
        create("c", 1),
        ask("c", 1..2, 1),
        tell("c", 1, &[(0, FAILED)]),
    ];
    let answers = store.apply(&batch).unwrap();
    assert_eq!(answers[1], Ok(Done::Deleted { rounds: 2, outcomes: 1 }));
    assert_eq!(answers[2], Err(Refusal::NoCampaign));
    assert_eq!(answers[5], counted(&[true], true));
    purged(&*store);
    assert_eq!(store.standing("c").unwrap().tasks, [count(1, 0, 0, chance(0))]);
    sound(&*store);
}
