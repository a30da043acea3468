//! Every method and every answer of a store, one by one.

use std::sync::Arc;

use outlay_server::store::{
    Ask, CampaignRow, CampaignStatus, Command, Done, Event, EventKind, LOOKED_BACK, Outcome,
    Refusal, RoundRow, Split, SplitRow, Standing, Store, TaskCount, TokenRevocation, TokenRow,
    TokenUse, UsedKey,
};

use super::place::Place;
use crate::support::commands::*;

type Check = fn(&Place);

const CHECKS: &[(&str, Check)] = &[
    ("a campaign begins once", begins_once),
    ("campaigns are listed in pages", campaigns_in_pages),
    ("a status needs the version that was seen", status_needs_its_version),
    ("a snapshot is what the single reads give", snapshot_is_what_reads_give),
    ("leases do not overlap", leases_do_not_overlap),
    ("leases pass what was acknowledged", leases_pass_what_was_acknowledged),
    ("rounds are handed out once", rounds_once),
    ("a horizon is not passed", horizon_is_not_passed),
    ("a split keeps its bits", split_keeps_its_bits),
    ("a key hands out once", key_hands_out_once),
    ("a tell counts once", tell_counts_once),
    ("a conflict changes nothing", conflict_changes_nothing),
    ("late counts like all others", late_counts),
    ("a round without a task is complete without it", complete_without_absent_tasks),
    ("a correction is an event of its own", correction_is_an_event),
    ("what was corrected is told again", corrected_is_told_again),
    ("open rounds wait for something", open_rounds_wait),
    ("open rounds are looked for among the last", open_rounds_are_among_the_last),
    ("complete rounds have nothing more to be told", complete_rounds_have_nothing_more),
    ("rounds are listed in pages", rounds_in_pages),
    ("events are listed in pages", events_in_pages),
    ("tokens are kept", tokens_are_kept),
    ("a batch goes on after a refusal", batch_goes_on),
    ("a batch sees itself", batch_sees_itself),
    ("campaigns do not mix", campaigns_do_not_mix),
    ("names are only names", names_are_only_names),
    ("large numbers are kept", large_numbers),
    ("many at a time count once", many_at_a_time),
    ("an unknown campaign is empty", unknown_is_empty),
    ("everything is there again", everything_is_there_again),
    ("a deleted campaign is gone", deleted_is_gone),
    ("a deletion needs a closed campaign and its version", deletion_needs_closed),
    ("a deleted campaign takes its keys with it", deleted_takes_its_keys),
    ("a batch sees a deletion", batch_sees_deletion),
    ("compaction keeps the counts", compaction_keeps_counts),
    ("compaction stops at rounds that are to be kept", compaction_stops),
    ("compacted rounds take nothing more", compacted_take_nothing),
    ("compaction and reports at a time", compaction_and_reports),
];

/// Runs every check, each in a new place.
pub(crate) fn all(make: &dyn Fn() -> Place) {
    for (name, check) in CHECKS {
        println!("{name}");
        check(&make());
    }
}

/// Runs the check of this name.
pub(crate) fn named(name: &str, place: &Place) {
    let (_, check) = CHECKS.iter().find(|(known, _)| *known == name).expect("a check of this name");
    check(place);
}

/// Rounds that wait, each of which expires when its split says.
fn open(store: &dyn Store, campaign: &str, now: i64) -> Vec<u64> {
    let open = store.open_rounds(campaign, now).unwrap();
    for (round, expires_at) in &open {
        assert_eq!(
            store.split(campaign, *round).unwrap().unwrap().expires_at,
            *expires_at,
            "round {round}"
        );
    }
    open.into_iter().map(|(round, _)| round).collect()
}

fn begun(place: &Place, tasks: u32) -> Arc<dyn Store> {
    let store = place();
    assert_eq!(one(&*store, create("c", tasks)), Ok(Done::Created));
    store
}

/// With rounds 1..=count handed out, one at a time.
fn asked_for(place: &Place, tasks: u32, count: u64) -> Arc<dyn Store> {
    let store = begun(place, tasks);
    for round in 1..=count {
        assert_eq!(store.lease_rounds("c", 1).unwrap(), round..round + 1);
        assert_eq!(one(&*store, ask("c", round..round + 1, tasks)), Ok(Done::Asked));
    }
    store
}

fn sound(store: &dyn Store) {
    assert_eq!(store.verify().unwrap().faults, Vec::<String>::new());
}

fn count(told: u64, completions: u64, reward_sum: u64, expected: u64) -> TaskCount {
    TaskCount { told, completions, reward_sum, expected }
}

fn begins_once(place: &Place) {
    let store = begun(place, 3);
    let row = CampaignRow {
        id: "c".into(),
        spec: "{\"tasks\":3}".into(),
        tasks: 3,
        status: CampaignStatus::Open,
        version: 1,
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

fn campaigns_in_pages(place: &Place) {
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

fn horizon_is_not_passed(place: &Place) {
    let store = begun(place, 1);
    let within =
        |rounds, horizon| Command::Ask(Ask { horizon: Some(horizon), ..asked("c", rounds, 1) });
    assert_eq!(one(&*store, within(1..4, 5)), Ok(Done::Asked));
    let beyond = |rounds| Err(Refusal::BeyondHorizon { rounds });
    assert_eq!(one(&*store, within(4..7, 5)), beyond(3));
    let batch = [within(4..5, 5), within(5..7, 5), within(7..8, 5), within(8..9, 5)];
    let answers = [Ok(Done::Asked), beyond(4), Ok(Done::Asked), beyond(5)];
    assert_eq!(store.apply(&batch).unwrap(), answers);
    assert_eq!(one(&*store, ask("c", 9..10, 1)), Ok(Done::Asked));
    assert_eq!(store.standing("c").unwrap().rounds, 6);
    sound(&*store);
}

fn snapshot_is_what_reads_give(place: &Place) {
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

fn status_needs_its_version(place: &Place) {
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
    // The same spec is the same campaign, whatever has become of it.
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

fn leases_do_not_overlap(place: &Place) {
    let store = begun(place, 1);
    assert_eq!(one(&*store, create("other", 1)), Ok(Done::Created));
    let unknown = store.lease_rounds("x", 1).unwrap_err();
    assert!(!unknown.is_fatal && !unknown.what.is_empty());
    let taken = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for count in 1..=20 {
                    let lease = store.lease_rounds("c", count).unwrap();
                    assert_eq!(lease.end - lease.start, u64::from(count));
                    taken.lock().unwrap().extend(lease);
                }
            });
        }
    });
    let mut taken = taken.into_inner().unwrap();
    taken.sort_unstable();
    let count = taken.len();
    taken.dedup();
    assert_eq!((count, taken.len(), taken[0]), (840, 840, 1));
    // Campaigns count for themselves.
    assert_eq!(store.lease_rounds("other", 1).unwrap().start, 1);
}

fn leases_pass_what_was_acknowledged(place: &Place) {
    let store = begun(place, 1);
    let lease = store.lease_rounds("c", 5).unwrap();
    assert_eq!(one(&*store, ask("c", lease.clone(), 1)), Ok(Done::Asked));
    drop(store);
    let store = place();
    let next = store.lease_rounds("c", 2).unwrap();
    assert!(next.start >= lease.end, "{next:?}");
    // Rounds that come from elsewhere, as with an import, are acknowledged like all others.
    assert_eq!(one(&*store, ask("c", 5000..5010, 1)), Ok(Done::Asked));
    let after = store.lease_rounds("c", 1).unwrap();
    assert!(after.start >= 5010, "{after:?}");
    drop(store);
    assert!(place().lease_rounds("c", 1).unwrap().start >= 5010);
}

fn rounds_once(place: &Place) {
    let store = begun(place, 2);
    assert_eq!(one(&*store, ask("x", 1..2, 2)), Err(Refusal::NoCampaign));
    assert_eq!(one(&*store, ask("c", 10..20, 2)), Ok(Done::Asked));
    for taken in [10..20, 5..11, 19..25, 12..13, 1..100, 19..20, 10..11] {
        assert_eq!(one(&*store, ask("c", taken, 2)), Err(Refusal::RoundsTaken));
    }
    assert_eq!(one(&*store, ask("c", 20..21, 2)), Ok(Done::Asked));
    assert_eq!(one(&*store, ask("c", 1..10, 2)), Ok(Done::Asked));
    let row = |ask: outlay_server::store::Ask| SplitRow {
        rounds: ask.rounds,
        split: ask.split,
        stats_version: 0,
        at: 3000,
        expires_at: 3000 + DAY,
    };
    assert_eq!(store.split("c", 9).unwrap(), Some(row(asked("c", 1..10, 2))));
    assert_eq!(store.split("c", 10).unwrap(), Some(row(asked("c", 10..20, 2))));
    assert_eq!(store.split("c", 19).unwrap(), Some(row(asked("c", 10..20, 2))));
    assert_eq!(store.split("c", 20).unwrap(), Some(row(asked("c", 20..21, 2))));
    for round in [0, 21, u64::MAX] {
        assert_eq!(store.split("c", round).unwrap(), None);
    }
    assert_eq!(store.last_split("c").unwrap(), Some(row(asked("c", 20..21, 2))));
    assert_eq!(store.standing("c").unwrap().rounds, 20);
    assert_eq!(store.events("c", 0, 10).unwrap().len(), 4, "what is refused is no event");
    sound(&*store);
}

fn split_keeps_its_bits(place: &Place) {
    let store = begun(place, 4);
    let numbers = vec![-0.0, f64::MIN_POSITIVE / 8.0, 0.1 + 0.2, f64::INFINITY];
    let split = Split {
        budget: 1.0 / 3.0,
        available: Some(vec![true, false, true, true]),
        spend: numbers.clone(),
        success: vec![1.0, 0.0, f64::EPSILON, 1e-300],
        index: Vec::new(),
    };
    let mut wanted = asked("c", 1..4, 4);
    wanted.split = Arc::new(split.clone());
    wanted.stats_version = 77;
    assert_eq!(one(&*store, Command::Ask(wanted)), Ok(Done::Asked));
    drop(store);
    let store = place();
    let row = store.split("c", 2).unwrap().unwrap();
    assert_eq!((row.stats_version, row.rounds.clone()), (77, 1..4));
    assert_eq!(*row.split, split);
    let bits = |numbers: &[f64]| numbers.iter().map(|number| number.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&row.split.spend), bits(&numbers));
    assert_eq!(row.split.budget.to_bits(), split.budget.to_bits());
    let listed = store.rounds("c", 0, 10).unwrap();
    assert_eq!(listed.iter().map(|round| round.round).collect::<Vec<_>>(), [1, 2, 3]);
    assert!(listed.iter().all(|round| *round.split == row));
}

fn key_hands_out_once(place: &Place) {
    let store = begun(place, 1);
    let with = |rounds, key, at| {
        let mut ask = asked("c", rounds, 1);
        (ask.key, ask.at) = (key, at);
        Command::Ask(ask)
    };
    assert_eq!(store.used_key("asker", "k", 0).unwrap(), None);
    assert_eq!(one(&*store, with(1..4, key("k", 1, 9000), 3000)), Ok(Done::Asked));
    let used = UsedKey { request: [1; 32], campaign: "c".into(), rounds: 1..4 };
    let refused = Err(Refusal::KeyUsed { request: [1; 32], rounds: 1..4 });
    assert_eq!(store.used_key("asker", "k", 8999).unwrap(), Some(used.clone()));
    assert_eq!(store.used_key("asker", "other", 3000).unwrap(), None);
    assert_eq!(store.used_key("other", "k", 3000).unwrap(), None);
    // The same request and another one; the store tells, the service decides.
    assert_eq!(one(&*store, with(4..5, key("k", 1, 9000), 3001)), refused.clone());
    assert_eq!(one(&*store, with(4..5, key("k", 2, 9000), 3001)), refused.clone());
    // A key goes before rounds that are taken, and what is refused takes no key.
    assert_eq!(one(&*store, with(1..4, key("k", 2, 9000), 8999)), refused);
    assert_eq!(one(&*store, with(1..4, key("fresh", 2, 9000), 3001)), Err(Refusal::RoundsTaken));
    assert_eq!(store.used_key("asker", "fresh", 3001).unwrap(), None);
    drop(store);
    let store = place();
    assert_eq!(store.used_key("asker", "k", 8999).unwrap(), Some(used));
    // From 9000 on it may be used anew.
    assert_eq!(store.used_key("asker", "k", 9000).unwrap(), None);
    assert_eq!(one(&*store, with(4..6, key("k", 3, 20_000), 9000)), Ok(Done::Asked));
    let anew = UsedKey { request: [3; 32], campaign: "c".into(), rounds: 4..6 };
    assert_eq!(store.used_key("asker", "k", 9001).unwrap(), Some(anew));
    assert_eq!(store.standing("c").unwrap().rounds, 5);
}

fn tell_counts_once(place: &Place) {
    let store = asked_for(place, 3, 2);
    assert_eq!(one(&*store, tell("x", 1, &[(0, FAILED)])), Err(Refusal::NoCampaign));
    assert_eq!(one(&*store, tell("c", 1, &[])), counted(&[], false));
    assert_eq!(one(&*store, tell("c", 1, &[(1, done(5))])), counted(&[true], false));
    assert_eq!(one(&*store, tell("c", 1, &[(1, done(5))])), counted(&[false], false));
    assert_eq!(
        one(&*store, tell("c", 1, &[(2, FAILED), (1, done(5)), (0, done(0))])),
        counted(&[true, false, true], true)
    );
    assert_eq!(
        one(&*store, tell("c", 1, &[(0, done(0)), (2, FAILED)])),
        counted(&[false, false], true)
    );
    assert_eq!(one(&*store, tell("c", 1, &[])), counted(&[], true));
    assert_eq!(one(&*store, tell("c", 2, &[(1, done(7))])), counted(&[true], false));
    let tasks =
        vec![count(1, 1, 0, chance(0)), count(2, 2, 12, 2 * chance(1)), count(1, 0, 0, chance(2))];
    assert_eq!(store.standing("c").unwrap(), Standing { tasks, version: 4, rounds: 2, late: 0 });
    let told: Vec<_> =
        store.rounds("c", 0, 10).unwrap().into_iter().map(|round| round.told).collect();
    assert_eq!(told, [vec![(0, done(0)), (1, done(5)), (2, FAILED)], vec![(1, done(7))]]);
    // Only what was new is an event.
    let events = store.events("c", 0, 100).unwrap();
    let items: Vec<_> = events
        .iter()
        .filter_map(|event| {
            if let EventKind::Told { items, .. } = &event.kind { Some(items.clone()) } else { None }
        })
        .collect();
    let item = |task, outcome| (task, outcome, chance(task));
    assert_eq!(
        items,
        [vec![item(1, done(5))], vec![item(2, FAILED), item(0, done(0))], vec![item(1, done(7))]]
    );
    assert_eq!(store.verify().unwrap().items, 4);
    sound(&*store);
}

fn conflict_changes_nothing(place: &Place) {
    let store = asked_for(place, 4, 1);
    assert_eq!(
        one(&*store, tell("c", 1, &[(1, done(5)), (2, FAILED)])),
        counted(&[true, true], false)
    );
    let before = snapshot(&*store);
    let conflict = |task, stored| Err(Refusal::Conflict { task, stored });
    assert_eq!(one(&*store, tell("c", 1, &[(0, FAILED), (1, done(6))])), conflict(1, done(5)));
    assert_eq!(one(&*store, tell("c", 1, &[(1, FAILED)])), conflict(1, done(5)));
    assert_eq!(one(&*store, tell("c", 1, &[(2, done(0))])), conflict(2, FAILED));
    // The lowest place of the items, not the lowest task.
    assert_eq!(
        one(&*store, tell("c", 1, &[(3, FAILED), (2, done(1)), (1, done(1))])),
        conflict(2, FAILED)
    );
    assert_eq!(snapshot(&*store), before);
    assert_eq!(
        one(&*store, tell("c", 1, &[(0, FAILED), (3, FAILED)])),
        counted(&[true, true], true)
    );
    sound(&*store);
}

fn late_counts(place: &Place) {
    let store = asked_for(place, 2, 1);
    let mut late = told("c", 1, &[(0, done(3)), (1, FAILED)]);
    late.is_late = true;
    assert_eq!(one(&*store, tell("c", 1, &[(1, FAILED)])), counted(&[true], false));
    assert_eq!(one(&*store, Command::Tell(late.clone())), counted(&[true, false], true));
    assert_eq!(one(&*store, Command::Tell(late)), counted(&[false, false], true));
    let standing = store.standing("c").unwrap();
    assert_eq!(
        (standing.late, standing.version, standing.tasks[0]),
        (1, 2, count(1, 1, 3, chance(0)))
    );
    let late: Vec<_> = store
        .events("c", 0, 10)
        .unwrap()
        .into_iter()
        .filter_map(|event| {
            if let EventKind::Told { is_late, .. } = event.kind { Some(is_late) } else { None }
        })
        .collect();
    assert_eq!(late, [false, true]);
}

fn complete_without_absent_tasks(place: &Place) {
    let store = begun(place, 3);
    let mut masked = asked("c", 1..3, 3);
    Arc::make_mut(&mut masked.split).available = Some(vec![true, false, true]);
    assert_eq!(one(&*store, Command::Ask(masked)), Ok(Done::Asked));
    assert_eq!(one(&*store, tell("c", 2, &[(0, FAILED)])), counted(&[true], false));
    assert_eq!(one(&*store, tell("c", 2, &[(2, FAILED)])), counted(&[true], true));
    assert_eq!(open(&*store, "c", 3000), [1]);
}

fn correction_is_an_event(place: &Place) {
    let store = asked_for(place, 2, 1);
    assert_eq!(one(&*store, correct("c", 1, 0, FAILED)), Err(Refusal::NothingToCorrect));
    assert_eq!(one(&*store, correct("x", 1, 0, FAILED)), Err(Refusal::NoCampaign));
    assert_eq!(one(&*store, tell("c", 1, &[(0, done(5))])), counted(&[true], false));
    assert_eq!(one(&*store, correct("c", 1, 1, FAILED)), Err(Refusal::NothingToCorrect));
    assert_eq!(one(&*store, correct("c", 2, 0, FAILED)), Err(Refusal::NothingToCorrect));
    assert_eq!(one(&*store, correct("c", 1, 0, done(9))), Ok(Done::Corrected { from: done(5) }));
    assert_eq!(store.standing("c").unwrap().tasks[0], count(1, 1, 9, chance(0)));
    assert_eq!(one(&*store, correct("c", 1, 0, FAILED)), Ok(Done::Corrected { from: done(9) }));
    assert_eq!(one(&*store, correct("c", 1, 0, FAILED)), Ok(Done::Corrected { from: FAILED }));
    let tasks = vec![count(1, 0, 0, chance(0)), TaskCount::default()];
    assert_eq!(store.standing("c").unwrap(), Standing { tasks, version: 4, rounds: 1, late: 0 });
    assert_eq!(store.rounds("c", 0, 1).unwrap()[0].told, [(0, FAILED)]);
    let events = store.events("c", 0, 100).unwrap();
    let why = "the till was wrong: 5 € \"extra\"".to_owned();
    let corrected = EventKind::Corrected { round: 1, task: 0, from: done(5), to: done(9), why };
    assert_eq!(
        (events.len(), &events[3].kind, events[3].at, events[3].token.as_str()),
        (6, &corrected, 5000, "admin")
    );
    // What was told first stays as it was told.
    assert_eq!(
        events[2].kind,
        EventKind::Told { round: 1, items: vec![(0, done(5), chance(0))], is_late: false }
    );
    sound(&*store);
}

fn corrected_is_told_again(place: &Place) {
    let store = asked_for(place, 1, 1);
    assert_eq!(one(&*store, tell("c", 1, &[(0, done(5))])), counted(&[true], true));
    assert_eq!(one(&*store, correct("c", 1, 0, done(7))), Ok(Done::Corrected { from: done(5) }));
    assert_eq!(one(&*store, correct("c", 1, 0, done(9))), Ok(Done::Corrected { from: done(7) }));
    // A client that repeats itself, and one that has seen the correction.
    assert_eq!(one(&*store, tell("c", 1, &[(0, done(5))])), counted(&[false], true));
    assert_eq!(one(&*store, tell("c", 1, &[(0, done(9))])), counted(&[false], true));
    assert_eq!(
        one(&*store, tell("c", 1, &[(0, done(7))])),
        Err(Refusal::Conflict { task: 0, stored: done(9) })
    );
    assert_eq!(store.standing("c").unwrap().tasks, [count(1, 1, 9, chance(0))]);
}

fn open_rounds_are_among_the_last(place: &Place) {
    let store = asked_for(place, 2, 3);
    let many = 4..LOOKED_BACK + 1;
    assert_eq!(one(&*store, ask("c", many.clone(), 2)), Ok(Done::Asked));
    let numbers = |open: Vec<(u64, i64)>| {
        (
            open.len() as u64,
            open.first().map(|(round, _)| *round),
            open.last().map(|(round, _)| *round),
        )
    };
    assert_eq!(
        numbers(store.open_rounds("c", 0).unwrap()),
        (LOOKED_BACK, Some(1), Some(many.end - 1))
    );
    assert_eq!(one(&*store, ask("c", many.end..many.end + 2, 2)), Ok(Done::Asked));
    assert_eq!(
        numbers(store.open_rounds("c", 0).unwrap()),
        (LOOKED_BACK, Some(3), Some(many.end + 1))
    );
    assert_eq!(
        one(&*store, tell("c", many.end + 1, &[(0, FAILED), (1, FAILED)])),
        counted(&[true, true], true)
    );
    assert_eq!(one(&*store, ask("c", many.end + 2..many.end + 5, 2)), Ok(Done::Asked));
    // From the middle of a split on.
    assert_eq!(
        numbers(store.open_rounds("c", 0).unwrap()),
        (LOOKED_BACK - 1, Some(6), Some(many.end + 4))
    );
}

fn complete_rounds_have_nothing_more(place: &Place) {
    let store = asked_for(place, 2, 3);
    let mut masked = asked("c", 4..6, 2);
    Arc::make_mut(&mut masked.split).available = Some(vec![false, true]);
    assert_eq!(one(&*store, Command::Ask(masked)), Ok(Done::Asked));
    let complete = |rounds: &[u64]| store.complete_rounds("c", rounds).unwrap();
    let all = [5, 1, 9, 2, 4, 3, 0, u64::MAX];
    assert_eq!(complete(&all), Vec::<u64>::new());
    assert_eq!(
        one(&*store, tell("c", 1, &[(0, FAILED), (1, FAILED)])),
        counted(&[true, true], true)
    );
    assert_eq!(one(&*store, tell("c", 2, &[(0, FAILED)])), counted(&[true], false));
    assert_eq!(one(&*store, tell("c", 5, &[(1, FAILED)])), counted(&[true], true));
    assert_eq!(complete(&all), [5, 1]);
    assert_eq!((complete(&[]), store.complete_rounds("nowhere", &all).unwrap()), (vec![], vec![]));
}

fn open_rounds_wait(place: &Place) {
    let store = begun(place, 2);
    let until = |rounds, expires_at| {
        let mut ask = asked("c", rounds, 2);
        ask.expires_at = expires_at;
        Command::Ask(ask)
    };
    // The one with the higher rounds is given up first.
    for ask in [until(1..4, 900), until(4..6, 500), until(8..9, 900)] {
        assert_eq!(one(&*store, ask), Ok(Done::Asked));
    }
    assert_eq!(open(&*store, "c", 0), [1, 2, 3, 4, 5, 8]);
    assert_eq!(
        one(&*store, tell("c", 2, &[(0, FAILED), (1, FAILED)])),
        counted(&[true, true], true)
    );
    assert_eq!(one(&*store, tell("c", 3, &[(0, FAILED)])), counted(&[true], false));
    assert_eq!(one(&*store, tell("c", 4, &[(1, FAILED)])), counted(&[true], false));
    assert_eq!(one(&*store, tell("c", 4, &[(0, FAILED)])), counted(&[true], true));
    assert_eq!(open(&*store, "c", 499), [1, 3, 5, 8]);
    assert_eq!(open(&*store, "c", 500), [1, 3, 8]);
    assert_eq!(open(&*store, "c", 899), [1, 3, 8]);
    assert_eq!(open(&*store, "c", 900), Vec::<u64>::new());
}

fn rounds_in_pages(place: &Place) {
    let store = begun(place, 2);
    for rounds in [3..6, 8..9, 10..14] {
        assert_eq!(one(&*store, ask("c", rounds, 2)), Ok(Done::Asked));
    }
    for round in [4, 5, 11] {
        assert_eq!(one(&*store, tell("c", round, &[(1, done(round))])), counted(&[true], false));
    }
    assert_eq!(one(&*store, correct("c", 5, 1, FAILED)), Ok(Done::Corrected { from: done(5) }));
    let page = |after, limit| -> Vec<RoundRow> { store.rounds("c", after, limit).unwrap() };
    let numbers = |rows: &[RoundRow]| rows.iter().map(|row| row.round).collect::<Vec<_>>();
    let all = page(0, 100);
    assert_eq!(numbers(&all), [3, 4, 5, 8, 10, 11, 12, 13]);
    assert!(all.iter().all(|row| row.split.rounds.contains(&row.round)));
    let told: Vec<_> = all.iter().map(|row| row.told.clone()).collect();
    let nothing = Vec::new;
    assert_eq!(
        told,
        [
            nothing(),
            vec![(1, done(4))],
            vec![(1, FAILED)],
            nothing(),
            nothing(),
            vec![(1, done(11))],
            nothing(),
            nothing()
        ]
    );
    for (after, limit, expected) in [
        (0, 2, 0..2),
        (4, 3, 2..5),
        (5, 1, 3..4),
        (11, 100, 6..8),
        (13, 100, 8..8),
        (0, 0, 0..0),
        (6, 1, 3..4),
    ] {
        assert_eq!(page(after, limit), all[expected], "after {after}, {limit} of them");
    }
    assert_eq!(page(u64::MAX, 5), []);
}

fn events_in_pages(place: &Place) {
    let store = asked_for(place, 2, 3);
    for round in 1..=3 {
        assert_eq!(one(&*store, tell("c", round, &[(0, done(round))])), counted(&[true], false));
        assert_eq!(
            one(&*store, correct("c", round, 0, FAILED)),
            Ok(Done::Corrected { from: done(round) })
        );
    }
    assert_eq!(
        one(&*store, set_status("c", CampaignStatus::Closed, 1)),
        Ok(Done::StatusSet { version: 2 })
    );
    let all = store.events("c", 0, 1000).unwrap();
    assert_eq!(all.len(), 11);
    assert!(all.windows(2).all(|pair| pair[0].seq < pair[1].seq));
    assert!(all[0].seq > 0);
    let (mut after, mut paged) = (0, Vec::<Event>::new());
    loop {
        let page = store.events("c", after, 3).unwrap();
        let Some(last) = page.last() else { break };
        after = last.seq;
        paged.extend(page);
    }
    assert_eq!(paged, all);
    assert_eq!(store.events("c", all[10].seq, 10).unwrap(), []);
    assert_eq!(store.events("c", u64::MAX, 10).unwrap(), []);
    assert_eq!(store.events("c", 0, 0).unwrap(), []);
}

fn tokens_are_kept(place: &Place) {
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
    // The last one is kept, whatever its clock said.
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

fn batch_goes_on(place: &Place) {
    let store = begun(place, 2);
    let batch = [
        ask("c", 1..3, 2),
        ask("x", 1..3, 2),
        tell("c", 1, &[(0, done(1))]),
        ask("c", 2..5, 2),
        tell("c", 1, &[(1, FAILED), (0, FAILED)]),
        create("c", 9),
        create("d", 1),
        set_status("c", CampaignStatus::Paused, 7),
        correct("c", 2, 0, FAILED),
        Command::RevokeToken(TokenRevocation { id: "nobody".into(), at: 1 }),
        tell("c", 2, &[(0, done(2)), (1, done(3))]),
    ];
    let answers = store.apply(&batch).unwrap();
    let expected = [
        Ok(Done::Asked),
        Err(Refusal::NoCampaign),
        counted(&[true], false),
        Err(Refusal::RoundsTaken),
        Err(Refusal::Conflict { task: 0, stored: done(1) }),
        Err(Refusal::OtherCampaign),
        Ok(Done::Created),
        Err(Refusal::OtherVersion { version: 1 }),
        Err(Refusal::NothingToCorrect),
        Err(Refusal::Token),
        counted(&[true, true], true),
    ];
    assert_eq!(answers, expected);
    let tasks = vec![count(2, 2, 3, 2 * chance(0)), count(1, 1, 3, chance(1))];
    assert_eq!(store.standing("c").unwrap(), Standing { tasks, version: 3, rounds: 2, late: 0 });
    assert_eq!(store.apply(&[]).unwrap(), []);
    assert_eq!(store.events("c", 0, 100).unwrap().len(), 4);
    sound(&*store);
}

fn batch_sees_itself(place: &Place) {
    let store = place();
    let same = tell("c", 1, &[(0, done(4)), (1, FAILED)]);
    let mut keyed = asked("c", 1..2, 2);
    keyed.key = key("k", 1, 1_000_000);
    let mut again = keyed.clone();
    again.rounds = 2..3;
    let batch = [
        create("c", 2),
        create("c", 2),
        Command::Ask(keyed),
        Command::Ask(again),
        same.clone(),
        same.clone(),
        correct("c", 1, 0, done(6)),
        correct("c", 1, 0, done(8)),
        same,
        tell("c", 1, &[(0, done(6))]),
        Command::AddToken(token("t")),
        Command::AddToken(token("t")),
        Command::RevokeToken(TokenRevocation { id: "t".into(), at: 1 }),
        set_status("c", CampaignStatus::Paused, 1),
        set_status("c", CampaignStatus::Open, 2),
    ];
    let expected = [
        Ok(Done::Created),
        Ok(Done::WasThere),
        Ok(Done::Asked),
        Err(Refusal::KeyUsed { request: [1; 32], rounds: 1..2 }),
        counted(&[true, true], true),
        counted(&[false, false], true),
        Ok(Done::Corrected { from: done(4) }),
        Ok(Done::Corrected { from: done(6) }),
        counted(&[false, false], true),
        Err(Refusal::Conflict { task: 0, stored: done(8) }),
        Ok(Done::TokenAdded),
        Err(Refusal::Token),
        Ok(Done::TokenRevoked),
        Ok(Done::StatusSet { version: 2 }),
        Ok(Done::StatusSet { version: 3 }),
    ];
    assert_eq!(store.apply(&batch).unwrap(), expected);
    let standing = store.standing("c").unwrap();
    assert_eq!((standing.tasks[0], standing.version), (count(1, 1, 8, chance(0)), 4));
    sound(&*store);
}

fn campaigns_do_not_mix(place: &Place) {
    let store = place();
    for id in ["a", "b"] {
        assert_eq!(one(&*store, create(id, 1)), Ok(Done::Created));
        assert_eq!(one(&*store, ask(id, 1..3, 1)), Ok(Done::Asked));
    }
    assert_eq!(one(&*store, tell("a", 1, &[(0, done(1))])), counted(&[true], true));
    assert_eq!(one(&*store, tell("b", 1, &[(0, done(2))])), counted(&[true], true));
    assert_eq!(one(&*store, correct("b", 1, 0, done(3))), Ok(Done::Corrected { from: done(2) }));
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

fn names_are_only_names(place: &Place) {
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

fn large_numbers(place: &Place) {
    let store = begun(place, 2);
    let far = 1 << 60;
    let mut ask = asked("c", far..far + 300, 2);
    (ask.at, ask.expires_at, ask.stats_version) = (-5, i64::MAX, 1 << 62);
    assert_eq!(one(&*store, Command::Ask(ask)), Ok(Done::Asked));
    let whole: Outcome = done(1_000_000_000);
    for round in far..far + 300 {
        let mut tell = told("c", round, &[(0, whole), (1, FAILED)]);
        tell.items[0].expected = 1_000_000_000;
        tell.at = i64::MIN;
        assert_eq!(one(&*store, Command::Tell(tell)), counted(&[true, true], true));
    }
    assert_eq!(
        store.standing("c").unwrap().tasks[0],
        count(300, 300, 300_000_000_000, 300_000_000_000)
    );
    let row = store.split("c", far + 1).unwrap().unwrap();
    assert_eq!((row.at, row.expires_at, row.stats_version), (-5, i64::MAX, 1 << 62));
    assert_eq!(store.events("c", 0, 3).unwrap()[2].at, i64::MIN);
    assert_eq!(store.rounds("c", far, 1).unwrap()[0].round, far + 1);
    sound(&*store);
}

fn many_at_a_time(place: &Place) {
    let store = asked_for(place, 2, 1);
    assert_eq!(one(&*store, ask("c", 2..42, 2)), Ok(Done::Asked));
    let new = std::sync::atomic::AtomicU64::new(0);
    std::thread::scope(|scope| {
        for thread in 0..4_u64 {
            let (store, new) = (&store, &new);
            scope.spawn(move || {
                for step in 0..40 {
                    let round = 2 + (step + 10 * thread) % 40;
                    let answer = one(&**store, tell("c", round, &[(0, done(round)), (1, FAILED)]));
                    let Ok(Done::Told { is_new, is_complete: true }) = answer else {
                        panic!("{answer:?}")
                    };
                    new.fetch_add(
                        is_new.iter().filter(|is_new| **is_new).count() as u64,
                        std::sync::atomic::Ordering::SeqCst,
                    );
                    assert!(store.standing("c").unwrap().version <= 80);
                }
            });
        }
    });
    assert_eq!(new.into_inner(), 80);
    let sum = (2..42).sum();
    let tasks = vec![count(40, 40, sum, 40 * chance(0)), count(40, 0, 0, 40 * chance(1))];
    assert_eq!(store.standing("c").unwrap(), Standing { tasks, version: 80, rounds: 41, late: 0 });
    sound(&*store);
}

fn unknown_is_empty(place: &Place) {
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
    // A campaign in which nothing has happened yet.
    assert_eq!(one(&*store, create("x", 0)), Ok(Done::Created));
    assert_eq!(store.last_split("x").unwrap(), None);
    assert_eq!(open(&*store, "x", 0), Vec::<u64>::new());
    store.close().unwrap();
}

/// Everything that can be read, in words.
pub(crate) fn snapshot(store: &dyn Store) -> String {
    let mut text = String::new();
    for row in store.campaigns(None, usize::MAX >> 1).unwrap() {
        let id = row.id.as_str();
        text += &format!("{row:#?}\n{:#?}\n", store.standing(id).unwrap());
        text += &format!(
            "{:#?}\n{:#?}\n",
            store.rounds(id, 0, 100_000).unwrap(),
            store.events(id, 0, 100_000).unwrap()
        );
        text += &format!(
            "{:?} {:?}\n",
            store.open_rounds(id, 0).unwrap(),
            store.last_split(id).unwrap()
        );
    }
    text + &format!("{:#?}", store.tokens().unwrap())
}

fn everything_is_there_again(place: &Place) {
    let store = asked_for(place, 3, 4);
    let mut keyed = asked("c", 20..30, 3);
    keyed.key = key("k", 4, DAY);
    Arc::make_mut(&mut keyed.split).available = Some(vec![false, true, true]);
    let mut late = told("c", 21, &[(1, done(999_999_999))]);
    late.is_late = true;
    let batch = [
        Command::Ask(keyed),
        Command::Tell(late),
        tell("c", 2, &[(0, done(1)), (1, FAILED), (2, done(3))]),
        tell("c", 3, &[(2, FAILED)]),
        correct("c", 2, 0, done(7)),
        Command::AddToken(token("t")),
        create("empty", 2),
        set_status("empty", CampaignStatus::Closed, 1),
    ];
    assert!(store.apply(&batch).unwrap().iter().all(Result::is_ok));
    let before = snapshot(&*store);
    drop(store);
    let store = place();
    assert_eq!(snapshot(&*store), before);
    assert_eq!(one(&*store, tell("c", 3, &[(2, FAILED)])), counted(&[false], false));
    assert_eq!(
        one(&*store, tell("c", 3, &[(2, done(1))])),
        Err(Refusal::Conflict { task: 2, stored: FAILED })
    );
    store.close().unwrap();
    drop(store);
    let store = place();
    assert_eq!(snapshot(&*store), before);
    // What comes next is after everything that was.
    let last = store.events("c", 0, 1000).unwrap().last().unwrap().seq;
    assert_eq!(one(&*store, tell("c", 3, &[(1, FAILED)])), counted(&[true], false));
    assert!(store.events("c", 0, 1000).unwrap().last().unwrap().seq > last);
    sound(&*store);
}

fn purged(store: &dyn Store) {
    while store.purge(3).unwrap() > 0 {}
}

fn deleted_is_gone(place: &Place) {
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
    // The id is free, and the new campaign knows nothing of the old one.
    assert_eq!(one(&*store, create("c", 3)), Ok(Done::Created));
    assert_eq!(store.lease_rounds("c", 1).unwrap(), 1..2);
    assert_eq!(one(&*store, ask("c", 1..2, 3)), Ok(Done::Asked));
    assert_eq!(one(&*store, tell("c", 1, &[(2, FAILED)])), counted(&[true], false));
    assert_eq!(store.standing("c").unwrap().version, 1);
    assert_eq!(store.events("c", 0, 10).unwrap().len(), 3);
    sound(&*store);
}

/// Nothing is known of a campaign.
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

fn deletion_needs_closed(place: &Place) {
    let store = asked_for(place, 2, 1);
    assert_eq!(one(&*store, delete("c", 1, false)), Err(Refusal::NotClosed));
    one(&*store, set_status("c", CampaignStatus::Paused, 1)).unwrap();
    assert_eq!(one(&*store, delete("c", 1, true)), Err(Refusal::OtherVersion { version: 2 }));
    assert_eq!(one(&*store, delete("c", 2, false)), Err(Refusal::NotClosed));
    assert_eq!(store.rounds("c", 0, 10).unwrap().len(), 1);
    assert_eq!(one(&*store, delete("c", 2, true)), Ok(Done::Deleted { rounds: 1, outcomes: 0 }));
    assert_eq!(one(&*store, delete("nobody", 1, true)), Err(Refusal::NoCampaign));
}

fn deleted_takes_its_keys(place: &Place) {
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

fn batch_sees_deletion(place: &Place) {
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

/// Rounds 1 to 8, of which the first six have expired at 100: with late, corrected, partial and
/// missing reports.
fn aged(place: &Place) -> Arc<dyn Store> {
    let store = begun(place, 2);
    for first in [1, 3, 5, 7] {
        let expires_at = if first < 7 { 100 } else { 3 * DAY };
        let ask = Ask { expires_at, ..asked("c", first..first + 2, 2) };
        assert_eq!(one(&*store, Command::Ask(ask)), Ok(Done::Asked));
    }
    let mut late = told("c", 2, &[(1, done(9))]);
    late.is_late = true;
    let batch = [
        tell("c", 1, &[(0, done(5)), (1, FAILED)]),
        Command::Tell(late),
        tell("c", 5, &[(0, FAILED)]),
        tell("c", 7, &[(0, done(7)), (1, done(8))]),
        correct("c", 1, 0, done(6)),
        correct("c", 1, 0, FAILED),
        correct("c", 7, 1, done(3)),
    ];
    assert!(store.apply(&batch).unwrap().iter().all(Result::is_ok));
    store
}

fn compaction_keeps_counts(place: &Place) {
    let store = aged(place);
    let (standing, last) = (store.standing("c").unwrap(), store.last_split("c").unwrap());
    let open = store.open_rounds("c", 200).unwrap();
    let dry = outlay_server::store::Compaction { is_dry_run: true, ..compaction("c", 100, 99) };
    assert_eq!(store.compact(&dry).unwrap().rounds, 6);
    assert_eq!(store.checkpoint("c").unwrap(), None);
    let first = store.compact(&compaction("c", 100, 1)).unwrap();
    assert_eq!((first.rounds, first.outcomes, first.is_done), (2, 3, false));
    let checkpoint = store.checkpoint("c").unwrap().unwrap();
    assert_eq!((checkpoint.end, checkpoint.rounds), (3, 2));
    assert_eq!((checkpoint.version, checkpoint.late, checkpoint.at), (5, 1, 7000));
    assert_eq!(checkpoint.tasks, [count(1, 0, 0, chance(0)), count(2, 1, 9, 2 * chance(1))]);
    sound(&*store);
    let rest = store.compact(&compaction("c", 100, 99)).unwrap();
    assert_eq!((rest.rounds, rest.outcomes, rest.is_done), (4, 1, true));
    let checkpoint = store.checkpoint("c").unwrap().unwrap();
    assert_eq!((checkpoint.end, checkpoint.rounds, checkpoint.version), (7, 6, 6));
    assert_eq!(store.compact(&compaction("c", 100, 99)).unwrap().rounds, 0);
    for _ in 0..2 {
        assert_eq!(store.standing("c").unwrap(), standing);
        assert_eq!(store.last_split("c").unwrap(), last);
        assert_eq!(store.open_rounds("c", 200).unwrap(), open);
        let left: Vec<_> = store.rounds("c", 0, 9).unwrap().iter().map(|row| row.round).collect();
        assert_eq!(left, [7, 8]);
        // The beginning, the last split, the report of round 7 and its correction.
        assert_eq!(store.events("c", 0, 99).unwrap().len(), 4);
        let verified = store.verify().unwrap();
        assert_eq!((verified.rounds, verified.items, verified.faults), (8, 6, vec![]));
    }
    drop(store);
    let store = place();
    assert_eq!(store.standing("c").unwrap(), standing);
    assert_eq!(store.lease_rounds("c", 1).unwrap().start, 9);
    assert_eq!(one(&*store, delete("c", 1, true)), Ok(Done::Deleted { rounds: 8, outcomes: 6 }));
    purged(&*store);
    sound(&*store);
}

fn compaction_stops(place: &Place) {
    let store = begun(place, 2);
    for (first, available, expires_at) in [
        (1, None, 10),
        (2, Some(vec![true, false]), 10),
        (3, None, 10),
        (4, Some(vec![false, true]), 10),
        (5, None, 50),
        (6, Some(vec![true, false]), 10),
    ] {
        let mut ask = Ask { expires_at, ..asked("c", first..first + 1, 2) };
        Arc::make_mut(&mut ask.split).available = available;
        assert_eq!(one(&*store, Command::Ask(ask)), Ok(Done::Asked));
    }
    let compact = |expired_before, keep_last_full| {
        let compaction = outlay_server::store::Compaction {
            keep_last_full,
            ..compaction("c", expired_before, 99)
        };
        store.compact(&compaction).unwrap().rounds
    };
    assert_eq!(compact(9, false), 0);
    assert_eq!(compact(10, false), 4, "the fifth has not expired");
    assert_eq!(compact(99, true), 0, "the fifth is the last with all tasks");
    assert_eq!(compact(99, false), 1, "the last one always stays");
    assert_eq!(compact(99, false), 0);
    let unknown = compaction("nobody", 99, 99);
    assert!(store.compact(&unknown).unwrap().is_done);
    sound(&*store);
}

fn compacted_take_nothing(place: &Place) {
    let store = aged(place);
    let standing = store.standing("c").unwrap();
    store.compact(&compaction("c", 100, 99)).unwrap();
    // Neither what was told, nor anything new, nor a correction; alone and among others.
    let refused = Err(Refusal::Compacted);
    assert_eq!(one(&*store, tell("c", 1, &[(0, done(5)), (1, FAILED)])), refused);
    assert_eq!(one(&*store, tell("c", 6, &[(0, done(5))])), refused);
    assert_eq!(one(&*store, correct("c", 1, 0, done(2))), refused);
    assert_eq!(store.standing("c").unwrap(), standing);
    let batch = [
        tell("c", 8, &[(0, done(1))]),
        tell("c", 3, &[(0, done(1))]),
        tell("c", 7, &[(0, done(7))]),
        ask("c", 9..10, 2),
    ];
    assert_eq!(
        store.apply(&batch).unwrap(),
        [counted(&[true], false), refused, counted(&[false], true), Ok(Done::Asked)]
    );
    sound(&*store);
}

/// Reports of old rounds, each sent twice, while the rounds are compacted: what was taken counts
/// once, whatever the order.
fn compaction_and_reports(place: &Place) {
    const ROUNDS: u64 = 60;
    let store = begun(place, 1);
    for round in 1..=ROUNDS + 1 {
        let ask = Ask { expires_at: 10, ..asked("c", round..round + 1, 1) };
        assert_eq!(one(&*store, Command::Ask(ask)), Ok(Done::Asked));
    }
    let taken = std::sync::atomic::AtomicU64::new(0);
    std::thread::scope(|scope| {
        for turn in 0..2 {
            let (store, taken) = (&store, &taken);
            scope.spawn(move || {
                for round in 1..=ROUNDS {
                    let round = if turn == 0 { round } else { ROUNDS + 1 - round };
                    match one(&**store, tell("c", round, &[(0, done(1))])) {
                        Ok(Done::Told { is_new, .. }) => {
                            let new = u64::from(is_new[0]);
                            taken.fetch_add(new, std::sync::atomic::Ordering::SeqCst);
                        }
                        answer => assert_eq!(answer, Err(Refusal::Compacted)),
                    }
                }
            });
        }
        scope.spawn(|| while !store.compact(&compaction("c", 99, 3)).unwrap().is_done {});
    });
    let taken = taken.into_inner();
    assert_eq!(store.standing("c").unwrap().tasks, [count(taken, taken, taken, taken * chance(0))]);
    sound(&*store);
}
