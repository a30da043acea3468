//! The same feedback gives the same counts in any order, with repetitions and in any batches.

use outlay_server::store::{
    Command, Delivery, Done, Item, Outcome, Refusal, Standing, Store, Tell,
};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::place::Place;
use crate::support::commands::*;

const TASKS: u32 = 4;
const ROUNDS: u64 = 6;

/// Round, task, outcome and predicted completions of each reported outcome.
type Feedback = Vec<(u64, u32, Outcome, u64)>;

/// Single outcomes, counts, and both with an actual and an allocated spend.
fn outcome() -> impl Strategy<Value = Outcome> {
    let spend = 0..=2_000_000_000_u64;
    let delivery = prop::option::of((spend.clone(), spend))
        .prop_map(|spends| spends.map(|(spent, allocated)| Delivery { spent, allocated }));
    let completions = prop_oneof![0..=1_u64, 2..=100_000_u64];
    (completions, 0..=1_000_000_000_u64, delivery).prop_map(|(completions, share, delivery)| {
        Outcome { completions, reward: completions * share, delivery }
    })
}

fn feedback() -> impl Strategy<Value = Feedback> {
    let cells: Vec<(u64, u32)> =
        (1..=ROUNDS).flat_map(|round| (0..TASKS).map(move |task| (round, task))).collect();
    let outcome = (outcome(), 0..=100_000_000_000_u64);
    (
        prop::sample::subsequence(cells, 0..=(ROUNDS * u64::from(TASKS)) as usize),
        prop::collection::vec(outcome, 24),
    )
        .prop_map(|(cells, outcomes)| {
            cells
                .into_iter()
                .zip(outcomes)
                .map(|((round, task), (outcome, expected))| (round, task, outcome, expected))
                .collect()
        })
}

/// Two ways to send the same feedback: in order, and shuffled with repetitions.
fn two_ways() -> impl Strategy<Value = (Feedback, Feedback, usize)> {
    feedback().prop_flat_map(|feedback| {
        let repeats = prop::collection::vec(0..feedback.len().max(1), 0..12);
        let twice = {
            let feedback = feedback.clone();
            repeats.prop_flat_map(move |repeats| {
                let more = repeats.into_iter().filter_map(|place| feedback.get(place).copied());
                Just(feedback.iter().copied().chain(more.collect::<Vec<_>>()).collect::<Feedback>())
                    .prop_shuffle()
            })
        };
        (Just(feedback), twice, 1..9_usize)
    })
}

fn tell(campaign: &str, (round, task, outcome, expected): (u64, u32, Outcome, u64)) -> Command {
    let items = vec![Item { task, outcome, expected }];
    Command::Tell(Tell {
        campaign: campaign.into(),
        round,
        items,
        is_late: round == 2,
        at: 1,
        token: String::new(),
    })
}

fn standing_after(
    store: &dyn Store,
    campaign: &str,
    feedback: &Feedback,
    batch: usize,
) -> Standing {
    assert_eq!(one(store, create(campaign, TASKS)), Ok(Done::Created));
    // Each round has its own split; the last one is never compacted.
    for round in 1..=ROUNDS + 1 {
        assert_eq!(one(store, ask(campaign, round..round + 1, TASKS)), Ok(Done::Asked));
    }
    for part in feedback.chunks(batch) {
        let batch: Vec<_> = part.iter().map(|item| tell(campaign, *item)).collect();
        assert!(store.apply(&batch).unwrap().iter().all(Result::is_ok));
    }
    let standing = store.standing(campaign).unwrap();
    let compaction = compaction(campaign, i64::MAX, batch as u64);
    while !store.compact(&compaction).unwrap().is_done {}
    assert_eq!(store.standing(campaign).unwrap(), standing, "compaction changes no count");
    let checkpoint = store.checkpoint(campaign).unwrap().unwrap();
    assert_eq!(checkpoint.tasks, standing.tasks);
    assert_eq!((checkpoint.version, checkpoint.late), (standing.version, standing.late));
    for item in feedback {
        assert_eq!(one(store, tell(campaign, *item)), Err(Refusal::Compacted));
    }
    standing
}

/// Runs random sets of feedback, all in one place.
pub(crate) fn all(make: &dyn Fn() -> Place, cases: u32) {
    let place = make();
    let store = place();
    let number = std::cell::Cell::new(0);
    let config =
        Config { cases, failure_persistence: None, max_shrink_iters: 200, ..Config::default() };
    let mut runner =
        TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let outcome = runner.run(&two_ways(), |(plain, shuffled, batch)| {
        number.set(number.get() + 1);
        let first =
            standing_after(&*store, &format!("plain {}", number.get()), &plain, plain.len().max(1));
        let second =
            standing_after(&*store, &format!("shuffled {}", number.get()), &shuffled, batch);
        prop_assert_eq!(&first, &second);
        prop_assert_eq!(first.version, plain.len() as u64);
        Ok(())
    });
    assert!(outcome.is_ok(), "{outcome:?}");
    assert_eq!(store.verify().unwrap().faults, Vec::<String>::new());
}
