//! Rounds: leases, splits, keys, open rounds, lists.

use std::sync::Arc;

use outlay_server::store::{
    Ask, CampaignStatus, Command, Done, Event, LOOKED_BACK, Refusal, RoundRow, Split, SplitRow,
    UsedKey,
};

use super::{asked_for, begun, open, sound};
use crate::stores::place::Place;
use crate::support::commands::*;

pub(super) fn leases_do_not_overlap(place: &Place) {
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
    // Each campaign counts its own rounds.
    assert_eq!(store.lease_rounds("other", 1).unwrap().start, 1);
}

pub(super) fn leases_pass_what_was_acknowledged(place: &Place) {
    let store = begun(place, 1);
    let lease = store.lease_rounds("c", 5).unwrap();
    assert_eq!(one(&*store, ask("c", lease.clone(), 1)), Ok(Done::Asked));
    drop(store);
    let store = place();
    let next = store.lease_rounds("c", 2).unwrap();
    assert!(next.start >= lease.end, "{next:?}");
    // Rounds from elsewhere, such as an import, count too.
    assert_eq!(one(&*store, ask("c", 5000..5010, 1)), Ok(Done::Asked));
    let after = store.lease_rounds("c", 1).unwrap();
    assert!(after.start >= 5010, "{after:?}");
    drop(store);
    assert!(place().lease_rounds("c", 1).unwrap().start >= 5010);
}

pub(super) fn rounds_once(place: &Place) {
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
        amendments: 0,
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
    assert_eq!(store.events("c", 0, 10).unwrap().len(), 4, "a refused command adds no event");
    sound(&*store);
}

pub(super) fn horizon_is_not_passed(place: &Place) {
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

pub(super) fn split_keeps_its_bits(place: &Place) {
    let store = begun(place, 4);
    let numbers = vec![-0.0, f64::MIN_POSITIVE / 8.0, 0.1 + 0.2, f64::INFINITY];
    let split = Split {
        budget: 1.0 / 3.0,
        available: Some(vec![true, false, true, true]),
        scale: Some(vec![1.0, 1e-6, 0.1 + 0.2, f64::MIN_POSITIVE / 8.0]),
        volume: Some(vec![-0.0, 1e9, 1.0 / 3.0, 7.0]),
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
    let conditions =
        |split: &Split| [&split.scale, &split.volume].map(|list| list.as_deref().map(bits));
    assert_eq!(conditions(&row.split), conditions(&split));
    assert_eq!(row.split.budget.to_bits(), split.budget.to_bits());
    let listed = store.rounds("c", 0, 10).unwrap();
    assert_eq!(listed.iter().map(|round| round.round).collect::<Vec<_>>(), [1, 2, 3]);
    assert!(listed.iter().all(|round| *round.split == row));
}

pub(super) fn key_hands_out_once(place: &Place) {
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
    // The same request and a different one: the store returns the used key, the service decides.
    assert_eq!(one(&*store, with(4..5, key("k", 1, 9000), 3001)), refused.clone());
    assert_eq!(one(&*store, with(4..5, key("k", 2, 9000), 3001)), refused.clone());
    // A used key is reported before taken rounds, and a refused command uses no key.
    assert_eq!(one(&*store, with(1..4, key("k", 2, 9000), 8999)), refused);
    assert_eq!(one(&*store, with(1..4, key("fresh", 2, 9000), 3001)), Err(Refusal::RoundsTaken));
    assert_eq!(store.used_key("asker", "fresh", 3001).unwrap(), None);
    drop(store);
    let store = place();
    assert_eq!(store.used_key("asker", "k", 8999).unwrap(), Some(used));
    // From 9000 on the key can be used again.
    assert_eq!(store.used_key("asker", "k", 9000).unwrap(), None);
    assert_eq!(one(&*store, with(4..6, key("k", 3, 20_000), 9000)), Ok(Done::Asked));
    let anew = UsedKey { request: [3; 32], campaign: "c".into(), rounds: 4..6 };
    assert_eq!(store.used_key("asker", "k", 9001).unwrap(), Some(anew));
    assert_eq!(store.standing("c").unwrap().rounds, 5);
}

pub(super) fn complete_without_absent_tasks(place: &Place) {
    let store = begun(place, 3);
    let mut masked = asked("c", 1..3, 3);
    Arc::make_mut(&mut masked.split).available = Some(vec![true, false, true]);
    assert_eq!(one(&*store, Command::Ask(masked)), Ok(Done::Asked));
    assert_eq!(one(&*store, tell("c", 2, &[(0, FAILED)])), counted(&[true], false));
    assert_eq!(one(&*store, tell("c", 2, &[(2, FAILED)])), counted(&[true], true));
    assert_eq!(open(&*store, "c", 3000), [1]);
}

pub(super) fn open_rounds_wait(place: &Place) {
    let store = begun(place, 2);
    let until = |rounds, expires_at| {
        let mut ask = asked("c", rounds, 2);
        ask.expires_at = expires_at;
        Command::Ask(ask)
    };
    // The split with the higher rounds expires first.
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

pub(super) fn open_rounds_are_among_the_last(place: &Place) {
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
    // The limit falls in the middle of a split.
    assert_eq!(
        numbers(store.open_rounds("c", 0).unwrap()),
        (LOOKED_BACK - 1, Some(6), Some(many.end + 4))
    );
}

pub(super) fn complete_rounds_have_nothing_more(place: &Place) {
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

pub(super) fn rounds_in_pages(place: &Place) {
    let store = begun(place, 2);
    for rounds in [3..6, 8..9, 10..14] {
        assert_eq!(one(&*store, ask("c", rounds, 2)), Ok(Done::Asked));
    }
    for round in [4, 5, 11] {
        assert_eq!(one(&*store, tell("c", round, &[(1, done(round))])), counted(&[true], false));
    }
    assert_eq!(one(&*store, correct("c", 5, 1, FAILED)), corrected(done(5)));
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

pub(super) fn events_in_pages(place: &Place) {
    let store = asked_for(place, 2, 3);
    for round in 1..=3 {
        assert_eq!(one(&*store, tell("c", round, &[(0, done(round))])), counted(&[true], false));
        assert_eq!(one(&*store, correct("c", round, 0, FAILED)), corrected(done(round)));
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
