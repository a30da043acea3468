//! Time per call, on a machine with other load.

use std::time::Instant;

/// How long to measure.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// Seconds for one figure; a single call may take longer.
    pub seconds: f64,
    pub blocks: usize,
}

/// Warm calls cycle through this many sets of values.
pub const CYCLE: usize = 8;
/// A block of short calls lasts about this long: far above the clock's resolution, and rarely
/// interrupted.
const BLOCK_SECONDS: f64 = 1e-4;
/// From this duration on, the CPU time of the thread is used. It lags by up to a tick, so it is too
/// coarse for shorter calls.
pub const LONG_SECONDS: f64 = 0.1;

/// Seconds per call of `call`: the least mean over a block of calls.
pub fn time(effort: Effort, mut call: impl FnMut()) -> f64 {
    let first = Instant::now();
    call();
    let estimate = first.elapsed().as_secs_f64();
    if estimate > LONG_SECONDS {
        let blocks = ((effort.seconds / estimate) as usize).clamp(1, effort.blocks);
        return (0..blocks).map(|_| long(&mut call)).fold(f64::INFINITY, f64::min);
    }
    // A whole number of cycles, so that every block has the same calls.
    let per_block = ((BLOCK_SECONDS / estimate) as usize).clamp(1, 100_000).next_multiple_of(CYCLE);
    let blocks =
        ((effort.seconds / (estimate * per_block as f64)) as usize).clamp(3, effort.blocks);
    let mut least = f64::INFINITY;
    for _ in 0..blocks {
        let begin = Instant::now();
        for _ in 0..per_block {
            call();
        }
        least = least.min(begin.elapsed().as_secs_f64() / per_block as f64);
    }
    least
}

/// CPU seconds of one long call if the system reports them, otherwise wall time.
pub fn long(call: &mut impl FnMut()) -> f64 {
    let (cpu, wall) = (thread_seconds(), Instant::now());
    call();
    let elapsed = wall.elapsed().as_secs_f64();
    cpu.zip(thread_seconds()).map_or(elapsed, |(before, after)| (after - before).min(elapsed))
}

fn thread_seconds() -> Option<f64> {
    let line = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds: f64 = line.split_whitespace().next()?.parse().ok()?;
    Some(nanoseconds * 1e-9)
}
