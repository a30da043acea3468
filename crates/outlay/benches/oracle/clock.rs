//! Time per call, for a machine that others use as well.

use std::time::Instant;

/// CPU seconds of this thread, where the system tells; wall time elsewhere.
struct Stopwatch {
    wall: Instant,
    cpu: Option<f64>,
}

impl Stopwatch {
    fn start() -> Self {
        Self { cpu: thread_seconds(), wall: Instant::now() }
    }

    fn seconds(&self) -> f64 {
        let wall = self.wall.elapsed().as_secs_f64();
        // The kernel's figure lags by up to a tick, so it only serves for long runs. Short ones are rarely interrupted, and
        // the minimum of many is taken.
        match (self.cpu, wall > LONG) {
            (Some(before), true) => thread_seconds().map_or(wall, |now| (now - before).min(wall)),
            _ => wall,
        }
    }
}

const LONG: f64 = 0.25;

fn thread_seconds() -> Option<f64> {
    let line = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds: f64 = line.split_whitespace().next()?.parse().ok()?;
    Some(nanoseconds * 1e-9)
}

/// How long to measure.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// Seconds for one figure; a single call may take longer.
    pub seconds: f64,
    pub blocks: usize,
}

/// Seconds per call of `call`: the least mean over a block of calls.
pub fn time(effort: Effort, mut call: impl FnMut()) -> f64 {
    let first = Stopwatch::start();
    call();
    let mut least = f64::INFINITY;
    let estimate = first.seconds();
    // Blocks long enough for the clock, and a multiple of the cycle over which calls differ.
    let per_block = ((4e-5 / estimate) as usize).clamp(1, 10_000).next_multiple_of(if estimate < 0.05 { CYCLE } else { 1 });
    let blocks = ((effort.seconds / (estimate * per_block as f64)) as usize).clamp(1, effort.blocks);
    for _ in 0..blocks {
        let watch = Stopwatch::start();
        for _ in 0..per_block {
            call();
        }
        least = least.min(watch.seconds() / per_block as f64);
    }
    least
}

/// Warm calls go through this many different sets of values.
pub const CYCLE: usize = 8;
