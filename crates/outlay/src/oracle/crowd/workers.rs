//! The blocks of a crowd, one after the other or on several threads: the same bits either way,
//! because no block looks at another.

use std::num::NonZeroUsize;

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use super::block::{BLOCK, Block};

/// Who works on the blocks.
#[derive(Debug, Default)]
pub(super) struct Workers(Option<ThreadPool>);

/// With fewer tasks, waking threads takes longer than the work.
const FEWEST_TASKS: usize = 100_000;

impl Workers {
    /// So many threads, if there are tasks enough for them; the calling thread alone if the system
    /// has no more to give.
    pub(super) fn new(threads: NonZeroUsize, tasks: usize) -> Self {
        if threads.get() == 1 || tasks < FEWEST_TASKS {
            return Self(None);
        }
        Self(ThreadPoolBuilder::new().num_threads(threads.get()).build().ok())
    }

    /// Lets `work` see every block with its part of the values and of the numbers.
    pub(super) fn each(
        &self,
        blocks: &mut [Block],
        values: &[f64],
        numbers: &mut [f64],
        work: impl Fn(&mut Block, &[f64], &mut [f64]) + Sync,
    ) {
        let Some(pool) = &self.0 else {
            let parts = values.chunks(BLOCK).zip(numbers.chunks_mut(BLOCK));
            return blocks
                .iter_mut()
                .zip(parts)
                .for_each(|(block, (values, numbers))| work(block, values, numbers));
        };
        pool.install(|| {
            let parts = values.par_chunks(BLOCK).zip(numbers.par_chunks_mut(BLOCK));
            blocks
                .par_iter_mut()
                .zip(parts)
                .for_each(|(block, (values, numbers))| work(block, values, numbers));
        });
    }
}
