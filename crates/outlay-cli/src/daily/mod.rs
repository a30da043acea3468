//! The daily loop on a state file: `new`, then `next` and `tell` day by day, `status` to look, `undo` after a slip.

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

/// `1 outcome`, `3 outcomes`.
fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
