//! Number of campaigns, rounds and outcomes in a store, as text.

use outlay_report::number::counted;
use outlay_server::archive::{Contents, Manifest};

/// `2 campaigns, 10 rounds and 30 outcomes`.
pub(crate) fn counts_text(campaigns: u64, rounds: u64, outcomes: u64) -> String {
    let count = |number: u64, noun| counted(usize::try_from(number).unwrap_or(usize::MAX), noun);
    format!(
        "{}, {} and {}",
        count(campaigns, "campaign"),
        count(rounds, "round"),
        count(outcomes, "outcome")
    )
}

/// Contents of an export.
pub(crate) fn contents_text(contents: &Contents) -> String {
    counts_text(contents.campaigns, contents.rounds, contents.items)
}

/// Contents of a backup, with its last event.
pub(crate) fn manifest_text(manifest: &Manifest) -> String {
    let Manifest { campaigns, rounds, items, seq, .. } = manifest;
    format!("{}, up to event {seq}", counts_text(*campaigns, *rounds, *items))
}
