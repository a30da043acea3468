//! The worlds of several seeds, asked together: a lane a seed, four lanes a quad.

use super::{Environment, EnvironmentError, RewardDraw};
use crate::feedback::{Completion, Reward};
use crate::problem::Problem;
use crate::random::{Draws, Purpose, RoundDraws, Rounds, TaskStep, Uniforms};
use crate::vectorised::{Loop, vectorised};

const LANES: usize = 4;
/// So many tasks of a quad have their coins in one word.
const WORD_TASKS: usize = 64 / LANES;

/// One problem's worlds under several seeds. Plain ones: everybody is there, the budget stays, and
/// outcomes come at once.
#[derive(Debug)]
pub(crate) struct Worlds {
    rewards: Vec<RewardDraw>,
    means: Vec<f64>,
    /// Whether every reward is all or nothing: the means then say which.
    all_or_nothing: bool,
    coins: Coins,
    reward_draws: Vec<[Draws; LANES]>,
    completed: Vec<Completion>,
}

impl Worlds {
    /// The worlds of `problem` under these seeds, four a quad; none unless they are plain.
    ///
    /// # Errors
    /// As [`Environment::new`].
    pub(crate) fn new(
        problem: &Problem,
        seeds: &[[u64; LANES]],
    ) -> Result<Option<Self>, EnvironmentError> {
        let world = Environment::new(problem, 0)?;
        if world.budget.is_some() || world.has_delays() || !world.is_everybody_there() {
            return Ok(None);
        }
        let tasks = world.means.len();
        let draws = |purpose| {
            seeds
                .iter()
                .map(|seeds| seeds.map(|seed| Draws::new(seed, purpose)))
                .collect::<Vec<_>>()
        };
        Ok(Some(Self {
            coins: Coins::new(tasks, &draws(Purpose::Completion)),
            reward_draws: draws(Purpose::Reward),
            completed: vec![
                Completion { task: 0, reward: Reward::NONE };
                LANES * seeds.len() * tasks
            ],
            all_or_nothing: world.rewards.iter().all(|law| matches!(law, RewardDraw::Bernoulli(_))),
            rewards: world.rewards,
            means: world.means,
        }))
    }

    /// The mean reward of each task's success, as a share of the largest reward.
    pub(crate) fn means(&self) -> &[f64] {
        &self.means
    }

    /// Plays a round, as [`Environment::complete`] in every lane. `success` has a row a task, quad
    /// after quad; a place is a lane of a row. Lists the places that complete, counts them in
    /// `counts`, and adds to each seed's `gains`.
    pub(crate) fn complete(
        &mut self,
        round: u64,
        success: &[[f64; LANES]],
        counts: &mut [u64],
        gains: &mut [[u64; LANES]],
    ) -> &[Completion] {
        let coins = self.coins.draw(round);
        let Self { rewards, means, reward_draws, completed, .. } = self;
        let played = Round {
            round,
            tasks: means.len(),
            reward_draws,
            coins,
            success,
            completed,
            counts,
            gains,
        };
        let count = if self.all_or_nothing {
            vectorised(Lists {
                played,
                reward: |task: usize, uniform| Reward::most_if_below(uniform, means[task]),
            })
        } else {
            vectorised(Lists {
                played,
                reward: |task: usize, uniform| rewards[task].reward(uniform),
            })
        };
        &self.completed[..count]
    }
}

/// One uniform number a place and round.
#[derive(Debug)]
struct Coins {
    tasks: usize,
    draws: Vec<Draws>,
    rounds: Vec<RoundDraws>,
    counters: Vec<[RoundDraws; LANES]>,
    steps: Vec<[TaskStep; LANES]>,
    uniforms: Vec<[f64; LANES]>,
}

/// Rows come in whole numbers of these, as many as compilers put into one pass of a loop: no pass
/// is left over.
const PASS_ROWS: usize = 4;

impl Coins {
    fn new(tasks: usize, draws: &[[Draws; LANES]]) -> Self {
        let rows = (draws.len() * tasks).next_multiple_of(PASS_ROWS);
        Self {
            tasks: tasks.max(1),
            draws: draws.as_flattened().to_vec(),
            rounds: vec![RoundDraws::default(); draws.as_flattened().len()],
            counters: vec![[RoundDraws::default(); LANES]; rows],
            steps: (0..rows).map(|row| [TaskStep::of(row % tasks.max(1)); LANES]).collect(),
            uniforms: vec![[0.0; LANES]; rows],
        }
    }

    fn draw(&mut self, round: u64) -> &[f64] {
        vectorised(Rounds { draws: &self.draws, round, rounds: &mut self.rounds });
        for (counters, rounds) in
            self.counters.chunks_mut(self.tasks).zip(self.rounds.as_chunks().0)
        {
            counters.iter_mut().for_each(|counters| *counters = *rounds);
        }
        let (rounds, steps) = (self.counters.as_flattened(), self.steps.as_flattened());
        vectorised(Uniforms { rounds, steps, uniforms: self.uniforms.as_flattened_mut() });
        self.uniforms.as_flattened()
    }
}

struct Round<'a> {
    round: u64,
    tasks: usize,
    reward_draws: &'a [[Draws; LANES]],
    coins: &'a [f64],
    success: &'a [[f64; LANES]],
    completed: &'a mut [Completion],
    counts: &'a mut [u64],
    gains: &'a mut [[u64; LANES]],
}

/// Lists who completes; the reward is that of a task at a uniform number.
struct Lists<'a, R> {
    played: Round<'a>,
    reward: R,
}

impl<R: Fn(usize, f64) -> Reward> Loop for Lists<'_, R> {
    type Output = usize;

    #[inline(always)]
    fn run(self) -> usize {
        let Round { round, tasks, reward_draws, coins, success, completed, counts, gains } =
            self.played;
        let success = success.as_flattened();
        let (mut count, mut place) = (0, 0);
        for (draws, gains) in reward_draws.iter().zip(gains) {
            let draws = draws.map(|draws| draws.round(round));
            for first in (0..tasks).step_by(WORD_TASKS) {
                let places = place..place + LANES * WORD_TASKS.min(tasks - first);
                let mut done = below(&coins[places.clone()], &success[places.clone()]);
                let counts = &mut counts[places.clone()];
                let completed = completed[count..].iter_mut().take(done.count_ones() as usize);
                count += completed.len();
                for completion in completed {
                    let bit = done.trailing_zeros() as usize;
                    done &= done.wrapping_sub(1);
                    let (task, lane) = (first + bit / LANES, bit % LANES);
                    let reward = (self.reward)(task, draws[lane].uniform(task));
                    gains[lane] += reward.units();
                    counts[bit] += 1;
                    *completion = Completion { task: place + bit, reward };
                }
                place = places.end;
            }
        }
        count
    }
}

/// Every bit of a word by itself.
const BITS: [u64; 64] = {
    let mut bits = [1; 64];
    let mut place = 1;
    while place < 64 {
        bits[place] = bits[place - 1] << 1;
        place += 1;
    }
    bits
};

/// A bit for each number that is below its limit, from the lowest on.
#[inline(always)]
fn below(numbers: &[f64], limits: &[f64]) -> u64 {
    let mut word = 0;
    for ((number, limit), bit) in numbers.iter().zip(limits).zip(&BITS) {
        word |= if number < limit { *bit } else { 0 };
    }
    word
}
