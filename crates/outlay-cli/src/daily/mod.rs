//! The daily loop on a state file: `new`, then `next` and `tell` day by day, `status` to look,
//! `undo` after a slip.

mod new;
mod next;
mod state_file;
mod status;
mod status_page;
mod tell;
mod undo;

pub(crate) use new::run as new;
pub(crate) use next::run as next;
pub(crate) use status::run as status;
pub(crate) use tell::run as tell;
pub(crate) use undo::run as undo;

use outlay::campaign::Guards;

use crate::number::plain;

/// ` · floor 20`: the guards there are, each behind a dot.
fn guards_in_words(guards: &Guards) -> String {
    guards
        .named()
        .iter()
        .filter_map(|(name, amount)| amount.map(|amount| format!(" · {name} {}", plain(amount))))
        .collect()
}
