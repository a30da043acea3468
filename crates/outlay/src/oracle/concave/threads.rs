//! The blocks of a problem, one after the other or on several threads. The result has the same bits
//! either way, because no block depends on another.

use std::num::NonZeroUsize;

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use super::block::{BLOCK, Block};
use crate::oracle::evaluation::Output;

/// The threads that work on the blocks; none if the calling thread does.
#[derive(Debug, Default)]
pub(super) struct Threads(Option<ThreadPool>);

/// With fewer tasks, waking threads takes longer than the work.
const MIN_TASKS: usize = 100_000;

impl Threads {
    /// The calling thread alone if there are few tasks or no threads can be started.
    pub(super) fn new(threads: NonZeroUsize, tasks: usize) -> Self {
        if threads.get() == 1 || tasks < MIN_TASKS {
            return Self(None);
        }
        Self(ThreadPoolBuilder::new().num_threads(threads.get()).build().ok())
    }

    /// Runs `work` on every block with its values.
    pub(super) fn for_each(
        &self,
        blocks: &mut [Block],
        values: &[f64],
        work: impl Fn(&mut Block, &[f64]) + Sync,
    ) {
        match &self.0 {
            None => {
                let mut rest = values;
                for block in blocks {
                    let (values, after) = rest.split_at(rest.len().min(BLOCK));
                    work(block, values);
                    rest = after;
                }
            }
            Some(pool) => in_parallel(pool, blocks, values, work),
        }
    }

    /// Runs `work` on every block with its values and its part of the output.
    pub(super) fn for_each_output(
        &self,
        blocks: &mut [Block],
        values: &[f64],
        output: Output<'_>,
        work: impl Fn(&mut Block, &[f64], Output<'_>) + Sync,
    ) {
        let Output { spend, success } = output;
        match &self.0 {
            None => {
                let (mut values, mut spend, mut success) = (values, spend, success);
                for block in blocks {
                    let len = values.len().min(BLOCK);
                    let (values_here, values_after) = values.split_at(len);
                    let (spend_here, spend_after) = spend.split_at_mut(len);
                    let (success_here, success_after) = success.split_at_mut(len);
                    work(block, values_here, Output { spend: spend_here, success: success_here });
                    (values, spend, success) = (values_after, spend_after, success_after);
                }
            }
            Some(pool) => in_parallel_with_output(pool, blocks, values, (spend, success), work),
        }
    }
}

/// Not inlined: its preparations would be made in calls without threads as well.
#[inline(never)]
fn in_parallel(
    pool: &ThreadPool,
    blocks: &mut [Block],
    values: &[f64],
    work: impl Fn(&mut Block, &[f64]) + Sync,
) {
    pool.install(|| {
        let blocks = blocks.par_iter_mut().zip(values.par_chunks(BLOCK));
        blocks.for_each(|(block, values)| work(block, values));
    });
}

/// As [`in_parallel`].
#[inline(never)]
fn in_parallel_with_output(
    pool: &ThreadPool,
    blocks: &mut [Block],
    values: &[f64],
    (spend, success): (&mut [f64], &mut [f64]),
    work: impl Fn(&mut Block, &[f64], Output<'_>) + Sync,
) {
    pool.install(|| {
        let outputs = spend.par_chunks_mut(BLOCK).zip(success.par_chunks_mut(BLOCK));
        let blocks = blocks.par_iter_mut().zip(values.par_chunks(BLOCK)).zip(outputs);
        blocks.for_each(|((block, values), (spend, success))| {
            work(block, values, Output { spend, success });
        });
    });
}
