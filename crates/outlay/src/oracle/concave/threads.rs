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
            None => blocks.iter_mut().zip(values.chunks(BLOCK)).for_each(|(b, v)| work(b, v)),
            Some(pool) => pool.install(|| {
                let blocks = blocks.par_iter_mut().zip(values.par_chunks(BLOCK));
                blocks.for_each(|(block, values)| work(block, values));
            }),
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
                let outputs = spend.chunks_mut(BLOCK).zip(success.chunks_mut(BLOCK));
                for ((block, values), (spend, success)) in
                    blocks.iter_mut().zip(values.chunks(BLOCK)).zip(outputs)
                {
                    work(block, values, Output { spend, success });
                }
            }
            Some(pool) => pool.install(|| {
                let outputs = spend.par_chunks_mut(BLOCK).zip(success.par_chunks_mut(BLOCK));
                let blocks = blocks.par_iter_mut().zip(values.par_chunks(BLOCK)).zip(outputs);
                blocks.for_each(|((block, values), (spend, success))| {
                    work(block, values, Output { spend, success });
                });
            }),
        }
    }
}
