//! Reports and corrections, alone and in batches.

use std::sync::Arc;

use outlay_server::store::{
    CampaignStatus, Command, Done, EventKind, Outcome, Refusal, Standing, TaskCount,
    TokenRevocation,
};

use super::{asked_for, begun, count, snapshot, sound};
use crate::stores::place::Place;
use crate::support::commands::*;

pub(super) fn tell_counts_once(place: &Place) {
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
    // Only new outcomes appear in events.
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

pub(super) fn conflict_changes_nothing(place: &Place) {
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
    // The first conflicting item, not the lowest task.
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

pub(super) fn late_counts(place: &Place) {
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

pub(super) fn correction_is_an_event(place: &Place) {
    let store = asked_for(place, 2, 1);
    assert_eq!(one(&*store, correct("c", 1, 0, FAILED)), Err(Refusal::NothingToCorrect));
    assert_eq!(one(&*store, correct("x", 1, 0, FAILED)), Err(Refusal::NoCampaign));
    assert_eq!(one(&*store, tell("c", 1, &[(0, done(5))])), counted(&[true], false));
    assert_eq!(one(&*store, correct("c", 1, 1, FAILED)), Err(Refusal::NothingToCorrect));
    assert_eq!(one(&*store, correct("c", 2, 0, FAILED)), Err(Refusal::NothingToCorrect));
    assert_eq!(one(&*store, correct("c", 1, 0, done(9))), corrected(done(5)));
    assert_eq!(store.standing("c").unwrap().tasks[0], count(1, 1, 9, chance(0)));
    assert_eq!(one(&*store, correct("c", 1, 0, FAILED)), corrected(done(9)));
    assert_eq!(one(&*store, correct("c", 1, 0, FAILED)), corrected(FAILED));
    let tasks = vec![count(1, 0, 0, chance(0)), TaskCount::default()];
    assert_eq!(store.standing("c").unwrap(), Standing { tasks, version: 4, rounds: 1, late: 0 });
    assert_eq!(store.rounds("c", 0, 1).unwrap()[0].told, [(0, FAILED)]);
    let events = store.events("c", 0, 100).unwrap();
    let why = "the till was wrong: 5 € \"extra\"".to_owned();
    let corrected =
        EventKind::Corrected { round: 1, task: 0, from: done(5), to: done(9), expected: None, why };
    assert_eq!(
        (events.len(), &events[3].kind, events[3].at, events[3].token.as_str()),
        (6, &corrected, 5000, "admin")
    );
    // The first report stays unchanged in the events.
    assert_eq!(
        events[2].kind,
        EventKind::Told { round: 1, items: vec![(0, done(5), chance(0))], is_late: false }
    );
    sound(&*store);
}

pub(super) fn corrected_is_reported_again(place: &Place) {
    let store = asked_for(place, 1, 1);
    assert_eq!(one(&*store, tell("c", 1, &[(0, done(5))])), counted(&[true], true));
    assert_eq!(one(&*store, correct("c", 1, 0, done(7))), corrected(done(5)));
    assert_eq!(one(&*store, correct("c", 1, 0, done(9))), corrected(done(7)));
    // A client may repeat its report or send the corrected outcome.
    assert_eq!(one(&*store, tell("c", 1, &[(0, done(5))])), counted(&[false], true));
    assert_eq!(one(&*store, tell("c", 1, &[(0, done(9))])), counted(&[false], true));
    assert_eq!(
        one(&*store, tell("c", 1, &[(0, done(7))])),
        Err(Refusal::Conflict { task: 0, stored: done(9) })
    );
    assert_eq!(store.standing("c").unwrap().tasks, [count(1, 1, 9, chance(0))]);
}

pub(super) fn batch_goes_on(place: &Place) {
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

pub(super) fn batch_sees_itself(place: &Place) {
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
        corrected(done(4)),
        corrected(done(6)),
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

pub(super) fn large_numbers(place: &Place) {
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

pub(super) fn many_at_a_time(place: &Place) {
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

pub(super) fn everything_is_there_again(place: &Place) {
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
    // New events have higher numbers than all earlier ones.
    let last = store.events("c", 0, 1000).unwrap().last().unwrap().seq;
    assert_eq!(one(&*store, tell("c", 3, &[(1, FAILED)])), counted(&[true], false));
    assert!(store.events("c", 0, 1000).unwrap().last().unwrap().seq > last);
    sound(&*store);
}
