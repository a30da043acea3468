//! Checks of every method and answer of a store.

mod amendments;
mod campaigns;
mod compaction;
mod counts;
mod reports;
mod rounds;

use std::sync::Arc;

use outlay_server::store::{Done, Store, TaskCount};

use super::place::Place;
use crate::support::commands::*;

type Check = fn(&Place);

const CHECKS: &[(&str, Check)] = &[
    ("a campaign begins once", campaigns::begins_once),
    ("campaigns are listed in pages", campaigns::campaigns_in_pages),
    ("a status needs the version that was seen", campaigns::status_needs_its_version),
    ("an amendment needs the version that was seen", amendments::amendment_needs_its_version),
    ("rounds belong to the present problem", amendments::rounds_belong_to_the_present_problem),
    ("an added task counts, and earlier rounds are as they were", amendments::added_task_counts),
    ("amendments are compacted around and deleted", amendments::compacted_and_deleted),
    ("amendments and requests for rounds at a time", amendments::amendments_and_rounds),
    ("a snapshot is what the single reads give", campaigns::snapshot_is_what_reads_give),
    ("leases do not overlap", rounds::leases_do_not_overlap),
    ("leases pass what was acknowledged", rounds::leases_pass_what_was_acknowledged),
    ("rounds are issued once", rounds::rounds_once),
    ("a horizon is not passed", rounds::horizon_is_not_passed),
    ("a split keeps its bits", rounds::split_keeps_its_bits),
    ("a key issues rounds once", rounds::key_hands_out_once),
    ("a tell counts once", reports::tell_counts_once),
    ("a conflict changes nothing", reports::conflict_changes_nothing),
    ("late counts like all others", reports::late_counts),
    ("a round without a task is complete without it", rounds::complete_without_absent_tasks),
    ("a correction is a separate event", reports::correction_is_an_event),
    ("a corrected outcome is reported again", reports::corrected_is_reported_again),
    ("open rounds lack an outcome", rounds::open_rounds_wait),
    ("open rounds are searched among the last", rounds::open_rounds_are_among_the_last),
    ("complete rounds accept no more outcomes", rounds::complete_rounds_have_nothing_more),
    ("rounds are listed in pages", rounds::rounds_in_pages),
    ("events are listed in pages", rounds::events_in_pages),
    ("tokens are kept", campaigns::tokens_are_kept),
    ("a batch continues after a refusal", reports::batch_goes_on),
    ("a batch sees itself", reports::batch_sees_itself),
    ("campaigns do not mix", campaigns::campaigns_do_not_mix),
    ("names are only names", campaigns::names_are_only_names),
    ("large numbers are kept", reports::large_numbers),
    ("concurrent reports count once", reports::many_at_a_time),
    ("a count is the sum of its completions", counts::a_count_is_a_sum),
    ("counts and spends are reported once", counts::reported_once),
    ("counts and spends are corrected", counts::corrected),
    ("counts and spends are compacted", counts::compacted),
    ("sums do not become too large", counts::sums_are_limited),
    ("an unknown campaign is empty", campaigns::unknown_is_empty),
    ("everything is kept after reopening", reports::everything_is_there_again),
    ("a deleted campaign is gone", campaigns::deleted_is_gone),
    ("a deletion needs a closed campaign and its version", campaigns::deletion_needs_closed),
    ("a deleted campaign takes its keys with it", campaigns::deleted_takes_its_keys),
    ("a batch sees a deletion", campaigns::batch_sees_deletion),
    ("compaction keeps the counts", compaction::compaction_keeps_counts),
    ("compaction stops at rounds to be kept", compaction::compaction_stops),
    ("compacted rounds accept nothing more", compaction::compacted_take_nothing),
    ("concurrent compaction and reports", compaction::compaction_and_reports),
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

/// The open rounds, after checking that each expires with its split.
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

/// A store with rounds 1..=count issued one at a time.
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
    TaskCount { told, completions, reward_sum, expected, ..TaskCount::default() }
}

/// Everything that can be read, as text.
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

fn purged(store: &dyn Store) {
    while store.purge(3).unwrap() > 0 {}
}
