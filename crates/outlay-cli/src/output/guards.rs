//! Guards of a daily loop as text.

use outlay::campaign::Guards;
use outlay_report::number::plain;

/// The guards that are set, each preceded by a dot: ` · floor 20`.
pub(crate) fn guards_text(guards: &Guards) -> String {
    guards
        .named()
        .iter()
        .filter_map(|(name, amount)| amount.map(|amount| format!(" · {name} {}", plain(amount))))
        .collect()
}
