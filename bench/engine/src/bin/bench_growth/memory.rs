//! The resident size of this process, if the system reports it.

/// The largest so far.
pub(crate) fn peak_bytes() -> Option<u64> {
    status("VmHWM:")
}

pub(crate) fn now_bytes() -> Option<u64> {
    status("VmRSS:")
}

fn status(key: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(key))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}
