//! Times several calls in turn, so that a slow phase of the machine affects all of them.

use std::time::Instant;

use serde_json::{Value, json};

use outlay_bench_engine::clock::CYCLE;

/// A block of calls lasts at least this long: far above the clock's resolution.
const BLOCK_SECONDS: f64 = 1e-4;

/// How long to measure one case.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effort {
    pub seconds: f64,
    /// Number of stretches that the blocks are divided into; the ratios of the stretches give the
    /// spread.
    pub stretches: usize,
}

/// A call to time.
pub(crate) struct Contender<'a> {
    name: &'static str,
    call: Box<dyn FnMut() + 'a>,
}

impl<'a> Contender<'a> {
    pub(crate) fn new(name: &'static str, call: impl FnMut() + 'a) -> Self {
        Self { name, call: Box::new(call) }
    }

    /// Seconds per call over a block.
    fn block(&mut self, calls: usize) -> f64 {
        let begin = Instant::now();
        for _ in 0..calls {
            (self.call)();
        }
        begin.elapsed().as_secs_f64() / calls as f64
    }
}

/// Runs blocks of all contenders in turn. Returns the seconds per call of each contender in every
/// stretch: the minimum over blocks or, if a block is a single call of a cycle, the mean over the
/// cycle of the minimum of each call.
pub(crate) fn in_turns(effort: Effort, contenders: &mut [Contender<'_>]) -> Value {
    // The first calls have cold caches and buffers that must still grow.
    let calls: Vec<usize> = contenders
        .iter_mut()
        .map(|contender| {
            let seconds = contender.block(1).min(contender.block(CYCLE - 1));
            let calls = ((BLOCK_SECONDS / seconds) as usize).clamp(1, 100_000);
            if calls < CYCLE { 1 } else { calls.next_multiple_of(CYCLE) }
        })
        .collect();
    let mut stretches = vec![Vec::with_capacity(effort.stretches); contenders.len()];
    for _ in 0..effort.stretches {
        let mut least = vec![[f64::INFINITY; CYCLE]; contenders.len()];
        let begin = Instant::now();
        while begin.elapsed().as_secs_f64() < effort.seconds / effort.stretches as f64
            || least[0][CYCLE - 1].is_infinite()
        {
            for place in 0..CYCLE {
                for ((contender, &calls), least) in
                    contenders.iter_mut().zip(&calls).zip(&mut least)
                {
                    least[place] = least[place].min(contender.block(calls));
                }
            }
        }
        for ((seconds, least), &calls) in stretches.iter_mut().zip(least).zip(&calls) {
            let whole_cycles = least.iter().copied().fold(f64::INFINITY, f64::min);
            seconds.push(if calls == 1 {
                least.iter().sum::<f64>() / CYCLE as f64
            } else {
                whole_cycles
            });
        }
    }
    contenders
        .iter()
        .zip(stretches)
        .map(|(contender, seconds)| (contender.name.to_owned(), json!(seconds)))
        .collect()
}
