//! The worlds of several seeds, asked together: a lane a seed.

use super::{Environment, EnvironmentError, RewardDraw};
use crate::feedback::{Completion, Reward};
use crate::problem::Problem;
use crate::random::{Draws, RoundDraws};
use crate::vectorised::{Loop, vectorised};

/// So many tasks of a quad have their coins in one word.
const WORD_TASKS: usize = 64 / LANES;
const LANES: usize = 4;

/// One problem's worlds, four seeds a quad. Plain ones: everybody is there, the budget stays, and outcomes come at once.
#[derive(Debug)]
pub(crate) struct Worlds {
    rewards: Vec<RewardDraw>,
    means: Vec<f64>,
    quads: Vec<Quad>,
    completed: Vec<Completion>,
}

/// The draws of four seeds.
#[derive(Debug, Clone, Copy)]
struct Quad {
    completions: [Draws; LANES],
    rewards: [Draws; LANES],
}

impl Worlds {
    /// The worlds of `problem` under these seeds, four a quad.
    ///
    /// # Errors
    /// As [`Environment::new`].
    pub(crate) fn new(problem: &Problem, seeds: &[[u64; LANES]]) -> Result<Option<Self>, EnvironmentError> {
        let [first, ..] = seeds else { return Ok(None) };
        let world = Environment::new(problem, first[0])?;
        if world.budget.is_some() || world.has_delays() || !world.is_everybody_there() {
            return Ok(None);
        }
        let draws = |seeds: &[u64; LANES]| Quad {
            completions: seeds.map(|seed| Draws::new(seed, crate::random::Purpose::Completion)),
            rewards: seeds.map(|seed| Draws::new(seed, crate::random::Purpose::Reward)),
        };
        Ok(Some(Self {
            completed: vec![Completion { task: 0, reward: Reward::NONE }; LANES * seeds.len() * world.means.len()],
            quads: seeds.iter().map(draws).collect(),
            rewards: world.rewards,
            means: world.means,
        }))
    }

    /// The mean reward of each task's success, as a share of the largest reward.
    pub(crate) fn means(&self) -> &[f64] {
        &self.means
    }

    /// Plays a round, as [`Environment::complete`] for every lane. `success` has a row a task, quad after quad; a place is a lane of
    /// a row. Lists the places that complete, counts them in `counts`, and adds to each replication's `gains`.
    pub(crate) fn complete(&mut self, round: u64, success: &[[f64; LANES]], counts: &mut [u64], gains: &mut [[u64; LANES]]) -> &[Completion] {
        let Self { rewards, quads, completed, .. } = self;
        let count = vectorised(Complete { round, rewards, quads, success, completed, counts, gains });
        &self.completed[..count]
    }
}

struct Complete<'a> {
    round: u64,
    rewards: &'a [RewardDraw],
    quads: &'a [Quad],
    success: &'a [[f64; LANES]],
    completed: &'a mut [Completion],
    counts: &'a mut [u64],
    gains: &'a mut [[u64; LANES]],
}

impl Loop for Complete<'_> {
    type Output = usize;

    #[inline(always)]
    fn run(self) -> usize {
        let tasks = self.rewards.len();
        let mut count = 0;
        for (number, ((quad, success), gains)) in self.quads.iter().zip(self.success.chunks_exact(tasks)).zip(self.gains).enumerate() {
            let (coins, rewards) = (quad.completions.map(|draws| draws.round(self.round)), quad.rewards.map(|draws| draws.round(self.round)));
            for first in (0..tasks).step_by(WORD_TASKS) {
                let mut done = done(&coins, &success[first..tasks.min(first + WORD_TASKS)], first);
                while done != 0 {
                    let bit = done.trailing_zeros() as usize;
                    done &= done - 1;
                    let (task, lane) = (first + bit / LANES, bit % LANES);
                    let place = LANES * (number * tasks + task) + lane;
                    let reward = self.rewards[task].reward(rewards[lane].uniform(task));
                    gains[lane] += reward.units();
                    self.counts[place] += 1;
                    self.completed[count] = Completion { task: place, reward };
                    count += 1;
                }
            }
        }
        count
    }
}

/// A bit for each place that completes, from the lowest on.
#[inline(always)]
fn done(coins: &[RoundDraws; LANES], success: &[[f64; LANES]], first: usize) -> u64 {
    let mut done = 0;
    for (offset, success) in success.iter().enumerate() {
        let uniforms = RoundDraws::uniforms(coins, first + offset);
        let mut bits = 0;
        for lane in 0..LANES {
            bits |= u64::from(uniforms[lane] < success[lane]) << lane;
        }
        done |= bits << (LANES * offset);
    }
    done
}
