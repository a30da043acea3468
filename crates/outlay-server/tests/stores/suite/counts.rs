//! Several completions of a task in a round, and actual spends.

use outlay_server::store::{
    Command, Correction, Done, EventKind, Item, Outcome, Refusal, TaskCount, Tell,
};

use super::{asked_for, begun, purged, snapshot, sound};
use crate::stores::place::Place;
use crate::support::commands::*;

const UNIT: u64 = 1_000_000_000;

/// A report of one outcome with its own number of predicted completions.
fn counted_tell(campaign: &str, round: u64, task: u32, outcome: Outcome, expected: u64) -> Command {
    let items = vec![Item { task, outcome, expected }];
    Command::Tell(Tell { items, ..told(campaign, round, &[]) })
}

fn recorrect(round: u64, task: u32, to: Outcome, expected: u64) -> Command {
    let Command::Correct(correction) = correct("c", round, task, to) else { unreachable!() };
    Command::Correct(Correction { expected: Some(expected), ..correction })
}

/// One report of 24 completions, 24 reports of one and 3 of 8 in another order give the same
/// counts.
pub(super) fn a_count_is_a_sum(place: &Place) {
    let store = place();
    let rewards: Vec<u64> = (0..24).map(|place| (place * 7919 * 104_729) % (UNIT + 1)).collect();
    let sum = |rewards: &[u64]| rewards.iter().sum::<u64>();
    let ways: [(&str, Vec<Outcome>); 3] = [
        ("whole", vec![several(24, sum(&rewards), None)]),
        ("single", rewards.iter().map(|reward| done(*reward)).collect()),
        ("parts", rewards.chunks(8).rev().map(|part| several(8, sum(part), None)).collect()),
    ];
    let mut found = Vec::new();
    for (campaign, outcomes) in ways {
        one(&*store, create(campaign, 1)).unwrap();
        let rounds = outcomes.len() as u64;
        one(&*store, ask(campaign, 1..rounds + 1, 1)).unwrap();
        let tell = |(round, outcome): (u64, Outcome)| {
            counted_tell(campaign, round, 0, outcome, outcome.completions * chance(0))
        };
        let mut batch: Vec<Command> = (1..=rounds).zip(outcomes).map(tell).collect();
        batch.reverse();
        assert!(store.apply(&batch).unwrap().iter().all(Result::is_ok));
        let standing = store.standing(campaign).unwrap();
        assert_eq!(standing.tasks[0].told, rounds);
        found.push(TaskCount { told: 0, ..standing.tasks[0] });
    }
    let (completions, reward_sum, expected) = (24, sum(&rewards), 24 * chance(0));
    let all = TaskCount { completions, reward_sum, expected, ..TaskCount::default() };
    assert_eq!(found, [all; 3]);
    sound(&*store);
}

pub(super) fn reported_once(place: &Place) {
    let store = asked_for(place, 2, 2);
    let spent = several(24, 12 * UNIT, Some((70, 100)));
    let unspent = several(24, 12 * UNIT, None);
    assert_eq!(one(&*store, tell("c", 1, &[(0, spent), (1, unspent)])), counted(&[true; 2], true));
    // A repeated report may omit the spend, but may not add one.
    assert_eq!(one(&*store, tell("c", 1, &[(0, unspent)])), counted(&[false], true));
    assert_eq!(one(&*store, tell("c", 1, &[(0, spent), (1, unspent)])), counted(&[false; 2], true));
    let conflict = |task, stored| Err(Refusal::Conflict { task, stored });
    assert_eq!(one(&*store, tell("c", 1, &[(1, spent)])), conflict(1, unspent));
    let others = [several(23, 12 * UNIT, None), several(24, 11 * UNIT, None), FAILED, done(0)];
    for other in others {
        assert_eq!(one(&*store, tell("c", 1, &[(0, other)])), conflict(0, spent));
    }
    let other_spend = several(24, 12 * UNIT, Some((71, 100)));
    assert_eq!(one(&*store, tell("c", 1, &[(0, other_spend)])), conflict(0, spent));
    // Failures and single completions have spends too.
    let failed = several(0, 0, Some((5, 0)));
    let single = several(1, 7, Some((0, 9)));
    assert_eq!(one(&*store, tell("c", 2, &[(0, failed), (1, single)])), counted(&[true; 2], true));
    let counts = |completions, reward_sum, task, spent, allocated| TaskCount {
        told: 2,
        completions,
        reward_sum,
        expected: 2 * chance(task),
        spent,
        allocated,
    };
    let tasks = [counts(24, 12 * UNIT, 0, 75, 100), counts(25, 12 * UNIT + 7, 1, 0, 9)];
    for _ in 0..2 {
        assert_eq!(store.standing("c").unwrap().tasks, tasks);
        let rounds: Vec<_> =
            store.rounds("c", 0, 9).unwrap().into_iter().map(|row| row.told).collect();
        assert_eq!(rounds, [vec![(0, spent), (1, unspent)], vec![(0, failed), (1, single)]]);
        sound(&*store);
    }
    let before = snapshot(&*store);
    drop(store);
    assert_eq!(snapshot(&*place()), before);
}

pub(super) fn corrected(place: &Place) {
    let store = asked_for(place, 1, 2);
    let (first, second) = (several(5, 3 * UNIT, None), several(40, UNIT, Some((80, 100))));
    assert_eq!(one(&*store, tell("c", 1, &[(0, first)])), counted(&[true], true));
    let expected = 9 * UNIT;
    let change = (expected - chance(0)) as i64;
    let answer = |from, expected_change| Ok(Done::Corrected { from, expected_change });
    assert_eq!(one(&*store, recorrect(1, 0, second, expected)), answer(first, change));
    let count = TaskCount {
        told: 1,
        completions: 40,
        reward_sum: UNIT,
        expected,
        spent: 80,
        allocated: 100,
    };
    assert_eq!(store.standing("c").unwrap().tasks, [count]);
    sound(&*store);
    // By default, a correction restores the predicted completions of the report.
    assert_eq!(one(&*store, correct("c", 1, 0, FAILED)), answer(second, -change));
    assert_eq!(one(&*store, recorrect(1, 0, first, chance(0))), answer(FAILED, 0));
    assert_eq!(one(&*store, recorrect(1, 0, second, expected)), answer(first, change));
    assert_eq!(store.standing("c").unwrap().tasks, [count]);
    let corrections: Vec<_> = store
        .events("c", 0, 99)
        .unwrap()
        .into_iter()
        .filter_map(|event| match event.kind {
            EventKind::Corrected { from, to, expected, .. } => Some((from, to, expected)),
            _ => None,
        })
        .collect();
    let expected = [
        (first, second, Some(expected)),
        (second, FAILED, None),
        (FAILED, first, None),
        (first, second, Some(expected)),
    ];
    assert_eq!(corrections, expected);
    assert_eq!(store.rounds("c", 0, 1).unwrap()[0].told, [(0, second)]);
    assert_eq!(one(&*store, tell("c", 1, &[(0, second)])), counted(&[false], true));
    assert_eq!(one(&*store, tell("c", 1, &[(0, first)])), counted(&[false], true));
    drop(store);
    let store = place();
    assert_eq!(store.standing("c").unwrap().tasks, [count]);
    sound(&*store);
}

pub(super) fn compacted(place: &Place) {
    let store = begun(place, 2);
    for round in 1..=4 {
        one(&*store, ask("c", round..round + 1, 2)).unwrap();
    }
    let batch = [
        tell("c", 1, &[(0, several(5, 2 * UNIT, Some((7, 8)))), (1, FAILED)]),
        tell("c", 2, &[(0, done(3)), (1, several(9, 1, None))]),
        recorrect(2, 0, several(2, 9, Some((1, 2))), 77),
        recorrect(1, 0, several(6, UNIT, None), 5),
        correct("c", 1, 1, several(3, 0, Some((4, 4)))),
        tell("c", 3, &[(1, several(1_000_000, 5, Some((0, 6))))]),
    ];
    assert!(store.apply(&batch).unwrap().iter().all(Result::is_ok));
    let standing = store.standing("c").unwrap();
    while !store.compact(&compaction("c", i64::MAX, 1)).unwrap().is_done {
        assert_eq!(store.standing("c").unwrap(), standing);
        sound(&*store);
    }
    let checkpoint = store.checkpoint("c").unwrap().unwrap();
    assert_eq!((checkpoint.rounds, &checkpoint.tasks), (3, &standing.tasks));
    let first = TaskCount {
        told: 2,
        completions: 8,
        reward_sum: UNIT + 9,
        expected: 82,
        spent: 1,
        allocated: 2,
    };
    assert_eq!(checkpoint.tasks[0], first);
    drop(store);
    let store = place();
    assert_eq!(store.standing("c").unwrap(), standing);
    sound(&*store);
    one(&*store, delete("c", 1, true)).unwrap();
    purged(&*store);
    sound(&*store);
}

/// A sum that the integers of a store cannot hold is refused alone, and changes nothing.
pub(super) fn sums_are_limited(place: &Place) {
    let store = asked_for(place, 2, 5);
    let most = TaskCount::MAX_SUM / UNIT;
    let too_large = |task| Err(Refusal::TooLarge { task });
    let large = |round, task, completions| {
        tell("c", round, &[(task, several(completions, completions * UNIT, None))])
    };
    let batch = [
        large(1, 0, most - 10),
        large(2, 0, 11),
        tell("c", 3, &[(1, FAILED), (0, several(11, 11 * UNIT, None))]),
        tell("c", 4, &[(0, done(5))]),
        counted_tell("c", 5, 1, FAILED, TaskCount::MAX_SUM + 1),
        tell("c", 5, &[(1, several(0, 0, Some((TaskCount::MAX_SUM + 1, 1))))]),
    ];
    let answers = store.apply(&batch).unwrap();
    assert_eq!(answers[0], counted(&[true], false));
    assert_eq!(answers[1..3], [too_large(0), too_large(0)]);
    assert_eq!(answers[3], counted(&[true], false));
    assert_eq!(answers[4..], [too_large(1), too_large(1)]);
    assert_eq!(one(&*store, large(2, 0, 11)), too_large(0));
    let more = several(11, 11 * UNIT, None);
    assert_eq!(one(&*store, correct("c", 4, 0, more)), too_large(0));
    assert_eq!(
        one(&*store, correct("c", 4, 0, FAILED)),
        crate::support::commands::corrected(done(5))
    );
    let standing = store.standing("c").unwrap();
    assert_eq!((standing.tasks[0].completions, standing.tasks[1].told), (most - 10, 0));
    assert_eq!(one(&*store, large(2, 0, 9)), counted(&[true], false));
    sound(&*store);
}
