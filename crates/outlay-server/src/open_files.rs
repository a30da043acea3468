//! The limit on open files of the process: every connection needs one.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Open files beside the connections: the store, the log, health probes.
const OTHERS: u64 = 256;

/// Raises the soft limit to what this many connections need, as far as the hard limit allows.
/// Returns a warning if that is not enough.
#[must_use]
pub fn raise_limit(connections: usize) -> Option<String> {
    let needed = connections as u64 + OTHERS;
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current.is_none_or(|current| current >= needed) {
        return None;
    }
    let raised = maximum.map_or(needed, |maximum| maximum.min(needed));
    let set = setrlimit(Resource::Nofile, Rlimit { current: Some(raised), maximum });
    let allowed = if set.is_ok() { raised } else { current.unwrap_or(raised) };
    (allowed < needed).then(|| {
        format!(
            "the process may open {allowed} files, but {connections} connections need {needed}: \
             raise the limit (`ulimit -Hn`, `LimitNOFILE`), or set --limit connections={}",
            allowed.saturating_sub(OTHERS)
        )
    })
}
