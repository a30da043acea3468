//! Compaction: rounds are replaced by their counts.

use std::sync::Arc;

use outlay_server::store::{Ask, Command, Compaction, Done, FullSplit, Refusal, Store};

use super::{begun, count, purged, sound};
use crate::stores::place::Place;
use crate::support::commands::*;

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

pub(super) fn compaction_keeps_counts(place: &Place) {
    let store = aged(place);
    let (standing, last) = (store.standing("c").unwrap(), store.last_split("c").unwrap());
    let open = store.open_rounds("c", 200).unwrap();
    let dry = Compaction { is_dry_run: true, ..compaction("c", 100, 99) };
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

pub(super) fn compaction_stops(place: &Place) {
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
    let compact = |expired_before, keeps_last_full: bool| {
        let keep_last = keeps_last_full.then_some(FullSplit { amendments: 0, tasks: 2 });
        let compaction = Compaction { keep_last, ..compaction("c", expired_before, 99) };
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

pub(super) fn compacted_take_nothing(place: &Place) {
    let store = aged(place);
    let standing = store.standing("c").unwrap();
    store.compact(&compaction("c", 100, 99)).unwrap();
    // Repeated reports, new reports and corrections are refused, alone and in a batch.
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

/// Old rounds are reported twice while they are compacted: accepted outcomes count once, in any
/// order.
pub(super) fn compaction_and_reports(place: &Place) {
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
