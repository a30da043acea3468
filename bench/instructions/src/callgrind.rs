//! Instruction counts by valgrind's tool callgrind.

use std::error::Error;
use std::path::Path;
use std::process::{Command, Stdio};

/// Callgrind counts what is executed between the start and the end of this function.
#[inline(never)]
pub(crate) fn counted_region(run: &mut dyn FnMut()) {
    run();
}

/// The instructions that this program executes in [`counted_region`] with these arguments.
///
/// # Errors
/// If valgrind does not run, the program fails, or nothing was counted.
pub(crate) fn count(arguments: &[&str], profile: &Path) -> Result<u64, Box<dyn Error>> {
    let program = std::env::current_exe()?;
    let status = Command::new("valgrind")
        .args(["--quiet", "--tool=callgrind", "--toggle-collect=*callgrind::counted_region*"])
        .arg(format!("--callgrind-out-file={}", profile.display()))
        .arg(program)
        .args(arguments)
        .stdin(Stdio::null())
        .status()
        .map_err(|error| format!("valgrind: {error}"))?;
    if !status.success() {
        return Err(format!("{}: {status}", arguments.join(" ")).into());
    }
    total(&std::fs::read_to_string(profile)?)
        .ok_or_else(|| format!("{} has no count", arguments.join(" ")).into())
}

/// The total of a profile, if anything was counted.
fn total(profile: &str) -> Option<u64> {
    let total = profile.lines().find_map(|line| line.strip_prefix("totals: "))?;
    total.trim().parse().ok().filter(|&total| total > 0)
}

#[cfg(test)]
mod tests {
    use super::total;

    #[test]
    fn the_total_is_read_from_a_profile() {
        let profile = "version: 1\nevents: Ir\nfn=(1) f\n16 53\n\ntotals: 5300\n";
        assert_eq!(total(profile), Some(5300));
        assert_eq!(total("totals: 0\n"), None);
        assert_eq!(total("events: Ir\n"), None);
        assert_eq!(total("totals: many\n"), None);
    }
}
