//! Campaigns whose problem is replaced.

use std::sync::Arc;

use outlay_server::store::{
    Ask, CampaignStatus, Command, Compaction, Done, EventKind, FullSplit, Refusal, Store,
};

use super::{asked_for, begun, count, purged, snapshot, sound};
use crate::stores::place::Place;
use crate::support::commands::*;

fn amended(version: u64, amendments: u64) -> Result<Done, Refusal> {
    Ok(Done::Amended { version, amendments })
}

/// The store, and then the same one opened again.
fn opened_again(store: Arc<dyn Store>, place: &Place) -> impl Iterator<Item = Arc<dyn Store>> {
    // The first is dropped before the second is opened.
    std::iter::once(store).chain(std::iter::once_with(place))
}

/// A request for rounds after this number of amendments.
fn ask_after(amendments: u64, rounds: std::ops::Range<u64>, tasks: u32) -> Command {
    Command::Ask(Ask { amendments, ..asked("c", rounds, tasks) })
}

pub(super) fn amendment_needs_its_version(place: &Place) {
    let store = begun(place, 2);
    assert_eq!(one(&*store, amend("nowhere", 2, 1, 1)), Err(Refusal::NoCampaign));
    assert_eq!(one(&*store, amend("c", 3, 2, 1)), Err(Refusal::OtherVersion { version: 1 }));
    let before = store.campaign("c").unwrap().unwrap();
    assert_eq!((before.amendments, before.problem, before.tasks), (0, None, 2));
    assert_eq!(store.problem("c", 1).unwrap(), None);
    assert_eq!(one(&*store, amend("c", 3, 1, 1)), amended(2, 1));
    assert_eq!(one(&*store, amend("c", 3, 1, 1)), Err(Refusal::OtherVersion { version: 2 }));
    let paused = set_status("c", CampaignStatus::Paused, 2);
    assert_eq!(one(&*store, paused), Ok(Done::StatusSet { version: 3 }));
    assert_eq!(one(&*store, amend("c", 5, 3, 2)), amended(4, 2));
    let closed = set_status("c", CampaignStatus::Closed, 4);
    assert_eq!(one(&*store, closed), Ok(Done::StatusSet { version: 5 }));
    assert_eq!(one(&*store, amend("c", 5, 5, 3)), Err(Refusal::Closed));
    let Command::Amend(imported) = amend("c", 5, 5, 3) else { unreachable!() };
    let imported = outlay_server::store::ProblemChange { may_be_closed: true, ..imported };
    assert_eq!(one(&*store, Command::Amend(imported)), amended(6, 3));
    let problem = |amendment: u64| {
        let tasks = if amendment == 1 { 3 } else { 5 };
        Some(format!("{{\"tasks\":{tasks},\"amendment\":{amendment}}}"))
    };
    for store in opened_again(store, place) {
        let row = store.campaign("c").unwrap().unwrap();
        assert_eq!((row.version, row.amendments, row.tasks), (6, 3, 5));
        assert_eq!((row.spec, row.problem), (before.spec.clone(), problem(3)));
        for amendment in 1..=3 {
            assert_eq!(store.problem("c", amendment).unwrap(), problem(amendment));
        }
        assert_eq!((store.problem("c", 0).unwrap(), store.problem("c", 4).unwrap()), (None, None));
        let events = store.events("c", 0, 99).unwrap();
        let kinds: Vec<_> =
            events.iter().map(|event| (&event.kind, event.token.as_str())).collect();
        assert_eq!(kinds.len(), 6);
        let EventKind::Amended { problem: found, tasks, changes } = kinds[1].0 else {
            panic!("{kinds:?}")
        };
        assert_eq!((Some(found.clone()), *tasks, kinds[1].1), (problem(1), 3, "amender"));
        assert_eq!(changes, "{\"added\":[\"ü\"]}");
        assert_eq!(store.last_event("c").unwrap(), events[5].seq);
        sound(&*store);
    }
}

pub(super) fn rounds_belong_to_the_present_problem(place: &Place) {
    let store = asked_for(place, 2, 1);
    assert_eq!(one(&*store, ask_after(1, 2..3, 2)), Err(Refusal::Amended));
    assert_eq!(one(&*store, amend("c", 3, 1, 1)), amended(2, 1));
    assert_eq!(one(&*store, ask("c", 2..3, 2)), Err(Refusal::Amended));
    assert_eq!(one(&*store, ask_after(2, 2..3, 3)), Err(Refusal::Amended));
    assert_eq!(store.standing("c").unwrap().rounds, 1);
    // A batch is refused in part only, and a key comes first.
    let keyed = |amendments, rounds: std::ops::Range<u64>| {
        let key = key("k", 1, 9000);
        Command::Ask(Ask { amendments, key, ..asked("c", rounds, 3) })
    };
    let batch = [
        ask("c", 2..3, 2),
        keyed(1, 2..3),
        tell("c", 1, &[(0, done(5))]),
        keyed(0, 3..4),
        ask_after(1, 3..5, 3),
    ];
    let used = Err(Refusal::KeyUsed { request: [1; 32], rounds: 2..3 });
    let answers =
        [Err(Refusal::Amended), Ok(Done::Asked), counted(&[true], false), used, Ok(Done::Asked)];
    assert_eq!(store.apply(&batch).unwrap(), answers);
    for store in opened_again(store, place) {
        let of_split = |round| store.split("c", round).unwrap().unwrap();
        assert_eq!([1, 2, 4].map(|round| of_split(round).amendments), [0, 1, 1]);
        assert_eq!([1, 2].map(|round| of_split(round).split.spend.len()), [2, 3]);
        assert_eq!(store.last_split("c").unwrap().unwrap().amendments, 1);
        let rounds = store.rounds("c", 0, 9).unwrap();
        assert_eq!(rounds.iter().map(|row| row.split.amendments).collect::<Vec<_>>(), [0, 1, 1, 1]);
        sound(&*store);
    }
}

pub(super) fn added_task_counts(place: &Place) {
    let store = asked_for(place, 2, 2);
    assert_eq!(one(&*store, tell("c", 1, &[(0, done(5))])), counted(&[true], false));
    assert_eq!(one(&*store, amend("c", 4, 1, 1)), amended(2, 1));
    assert_eq!(store.standing("c").unwrap().tasks.len(), 4);
    assert_eq!(one(&*store, ask_after(1, 3..4, 4)), Ok(Done::Asked));
    // A round is complete with the tasks that it was issued with.
    assert_eq!(one(&*store, tell("c", 1, &[(1, FAILED)])), counted(&[true], true));
    assert_eq!(one(&*store, tell("c", 2, &[(1, done(7)), (0, FAILED)])), counted(&[true; 2], true));
    assert_eq!(
        one(&*store, tell("c", 3, &[(3, done(9)), (0, FAILED)])),
        counted(&[true; 2], false)
    );
    assert_eq!(one(&*store, correct("c", 3, 3, done(8))), corrected(done(9)));
    assert_eq!(one(&*store, tell("c", 3, &[(1, FAILED), (2, FAILED)])), counted(&[true; 2], true));
    let expected = [
        count(3, 1, 5, 3 * chance(0)),
        count(3, 1, 7, 3 * chance(1)),
        count(1, 0, 0, chance(2)),
        count(1, 1, 8, chance(3)),
    ];
    let before = snapshot(&*store);
    for store in opened_again(store, place) {
        assert_eq!(store.standing("c").unwrap().tasks, expected);
        let snapshot = store.snapshot("c", 2).unwrap().unwrap();
        assert_eq!((snapshot.amendments, snapshot.version), (1, 2));
        assert_eq!(snapshot.standing.tasks, expected);
        assert_eq!(snapshot.last_split.unwrap().amendments, 1);
        sound(&*store);
    }
    assert_eq!(snapshot(&*place()), before);
}

pub(super) fn compacted_and_deleted(place: &Place) {
    let store = begun(place, 2);
    let old = |amendments, round: u64, tasks, there: Option<Vec<bool>>| {
        let mut ask = Ask { amendments, expires_at: 10, ..asked("c", round..round + 1, tasks) };
        Arc::make_mut(&mut ask.split).available = there;
        Command::Ask(ask)
    };
    let batch = [
        old(0, 1, 2, None),
        old(0, 2, 2, None),
        tell("c", 1, &[(1, done(3))]),
        amend("c", 3, 1, 1),
        // All that is not retired: without task 0.
        old(1, 3, 3, Some(vec![false, true, true])),
        old(1, 4, 3, Some(vec![false, true, false])),
        tell("c", 3, &[(2, done(4))]),
    ];
    assert!(store.apply(&batch).unwrap().iter().all(Result::is_ok));
    let standing = store.standing("c").unwrap();
    let keeping = |amendments, tasks| {
        let keep_last = Some(FullSplit { amendments, tasks });
        let compaction = Compaction { keep_last, ..compaction("c", 100, 9) };
        store.compact(&compaction).unwrap().rounds
    };
    // No split is full after another amendment, and then all of them are kept.
    assert_eq!((keeping(2, 2), keeping(1, 3)), (0, 0));
    assert_eq!(keeping(1, 2), 2);
    let checkpoint = store.checkpoint("c").unwrap().unwrap();
    assert_eq!((checkpoint.end, checkpoint.tasks.len()), (3, 3));
    assert_eq!(store.compact(&compaction("c", 100, 9)).unwrap().rounds, 1);
    assert_eq!(one(&*store, amend("c", 5, 2, 2)), amended(3, 2));
    for store in opened_again(store, place) {
        assert_eq!(store.standing("c").unwrap().tasks[..3], standing.tasks);
        let checkpoint = store.checkpoint("c").unwrap().unwrap();
        assert_eq!((checkpoint.tasks.len(), &checkpoint.tasks[..3]), (5, &standing.tasks[..]));
        // The creation, both amendments, and the last round.
        assert_eq!(store.events("c", 0, 99).unwrap().len(), 4);
        assert!(store.problem("c", 1).unwrap().is_some());
        sound(&*store);
    }
    let store = place();
    let deletion = one(&*store, delete("c", 3, true));
    assert_eq!(deletion, Ok(Done::Deleted { rounds: 4, outcomes: 2 }));
    assert_eq!((store.problem("c", 1).unwrap(), store.campaign("c").unwrap()), (None, None));
    assert_eq!(one(&*store, create("c", 1)), Ok(Done::Created));
    let row = store.campaign("c").unwrap().unwrap();
    assert_eq!((row.amendments, row.problem, row.tasks, row.version), (0, None, 1, 1));
    purged(&*store);
    sound(&*store);
}

/// No round of an earlier problem is issued after an amendment: in the order of events, numbers of
/// amendments never decrease.
pub(super) fn amendments_and_rounds(place: &Place) {
    let store = begun(place, 2);
    let (threads, each) = (4, 12);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let store = &*store;
            scope.spawn(move || {
                for _ in 0..each {
                    loop {
                        let row = store.campaign("c").unwrap().unwrap();
                        let rounds = store.lease_rounds("c", 1).unwrap();
                        match one(store, ask_after(row.amendments, rounds, row.tasks)) {
                            Ok(_) => break,
                            Err(refusal) => assert_eq!(refusal, Refusal::Amended),
                        }
                    }
                }
            });
        }
        for amendment in 1..=10 {
            let command = amend("c", 2 + amendment as u32, amendment, amendment);
            assert_eq!(one(&*store, command), amended(amendment + 1, amendment));
        }
    });
    let (mut amendments, mut rounds) = (0, 0);
    for event in store.events("c", 0, 10_000).unwrap() {
        match event.kind {
            EventKind::Amended { tasks, .. } => {
                amendments += 1;
                assert_eq!(u64::from(tasks), 2 + amendments);
            }
            EventKind::Asked(row) => {
                rounds += 1;
                assert_eq!(row.amendments, amendments);
                assert_eq!(row.split.spend.len() as u64, 2 + amendments);
            }
            _ => {}
        }
    }
    assert_eq!((amendments, rounds), (10, threads * each));
    sound(&*store);
}
