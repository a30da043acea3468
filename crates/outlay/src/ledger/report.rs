//! Reports of outcomes: late, partial or repeated, but never contradictory.

use super::{Known, Ledger, LedgerError, Report};
use crate::feedback::{Feedback, Outcome, Reward};

/// The outcome of one task in one round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Entry {
    /// The round.
    pub round: u64,
    /// The task, counted from 0.
    pub task: usize,
    /// Whether it succeeded.
    pub completed: bool,
    /// Its reward, in the unit of the problem's `reward_max`. For a failure it is the forgone
    /// reward, which only learners with full feedback need; otherwise it must be absent or zero.
    pub reward: Option<f64>,
}

/// The result of [`Ledger::report`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reported {
    /// The number of new outcomes.
    pub new: usize,
    /// The number of outcomes that were already reported, identically.
    pub repeated: usize,
}

impl Ledger {
    /// Records outcomes: all of them or, if one is invalid, none.
    ///
    /// # Errors
    /// [`LedgerError::Entries`] with all invalid entries.
    pub fn report(&mut self, entries: &[Entry]) -> Result<Reported, LedgerError> {
        let mut refused = Vec::new();
        let mut fresh = Vec::new();
        for (position, entry) in entries.iter().enumerate() {
            match self.check(entry) {
                Err(why) => refused.push((position, why)),
                Ok(known) if self.known(entry) == Some(known) => {}
                // Recorded at once, so that later entries of the same call are compared with it.
                Ok(known) => {
                    self.put(entry, Some(known));
                    fresh.push(Entry { reward: known.reward, ..*entry });
                }
            }
        }
        if !refused.is_empty() {
            fresh.iter().for_each(|entry| self.put(entry, None));
            return Err(LedgerError::Entries(refused));
        }
        let told = Reported { new: fresh.len(), repeated: entries.len() - fresh.len() };
        if !fresh.is_empty() {
            self.learn(&fresh)?;
            self.reports.push(Report { after: self.rounds(), entries: fresh });
        }
        Ok(told)
    }

    /// The outcome of an entry, or the reason why it is invalid.
    fn check(&self, entry: &Entry) -> Result<Known, String> {
        let Entry { round, task, .. } = *entry;
        let Some(handed_out) = self.round(round) else {
            return Err(match self.rounds() {
                0 => format!("round {round} was never handed out: no round has been yet"),
                last => format!("round {round} was never handed out: rounds go from 1 to {last}"),
            });
        };
        let name = self
            .problem
            .tasks()
            .get(task)
            .ok_or_else(|| format!("task {task} does not exist"))?
            .name();
        if !handed_out.has(task) {
            return Err(format!(
                "task {name} was left out of round {round}, so nothing can have come back"
            ));
        }
        let known = Known { completed: entry.completed, reward: self.shown_reward(entry, name)? };
        match self.known(entry).filter(|before| *before != known) {
            Some(before) => Err(format!(
                "round {round}, task {name}: {} now, but {} before",
                known.in_words(),
                before.in_words()
            )),
            None => Ok(known),
        }
    }

    /// The reward, if the learner may observe it.
    fn shown_reward(&self, entry: &Entry, name: &str) -> Result<Option<f64>, String> {
        let most = self.problem.reward_max();
        let sees_all = self.feedback() == Feedback::Full;
        match entry.reward {
            None if entry.completed => Err(format!(
                "task {name} completed, but its reward is missing: give what it brought, or 0"
            )),
            None if sees_all => Err(format!(
                "task {name}: its reward is missing; {} is shown every reward",
                self.settings.learner
            )),
            Some(reward) if !(reward >= 0.0 && reward <= most) => Err(format!(
                "reward of {name}: must be between 0 and reward_max {most}, not {reward}"
            )),
            Some(reward) if !entry.completed && !sees_all && reward != 0.0 => Err(format!(
                "task {name} failed, but has the reward {reward}: only a success shows its reward"
            )),
            reward => Ok(reward.filter(|_| entry.completed || sees_all)),
        }
    }

    /// The recorded outcome of a task in a round.
    fn known(&self, entry: &Entry) -> Option<Known> {
        self.round(entry.round)?.told.get(entry.task).copied().flatten()
    }

    /// Records or removes an outcome.
    fn put(&mut self, entry: &Entry, known: Option<Known>) {
        let place =
            entry.round.checked_sub(1).and_then(|place| self.rounds.get_mut(place as usize));
        if let Some(told) = place.and_then(|round| round.told.get_mut(entry.task)) {
            *told = known;
        }
    }

    /// Passes new outcomes to the learner.
    fn learn(&mut self, entries: &[Entry]) -> Result<(), LedgerError> {
        if self.feedback() == Feedback::Bandit {
            return self.learn_gains(entries);
        }
        for entry in entries {
            let reward =
                Reward::from_share(entry.reward.unwrap_or(0.0) / self.problem.reward_max());
            let outcome = match (entry.completed, self.feedback()) {
                (true, _) => Outcome::Done(reward),
                (false, Feedback::Full) => Outcome::Forgone(reward),
                (false, _) => Outcome::Failed,
            };
            self.campaign.observe(entry.round, entry.task, outcome)?;
        }
        Ok(())
    }

    /// A learner with bandit feedback learns from a round when all its outcomes are reported.
    fn learn_gains(&mut self, entries: &[Entry]) -> Result<(), LedgerError> {
        let mut rounds: Vec<u64> = entries.iter().map(|entry| entry.round).collect();
        rounds.sort_unstable();
        rounds.dedup();
        for number in rounds {
            let Some(round) = self.round(number).filter(|round| round.waiting() == 0) else {
                continue;
            };
            let units = |known: &Known| {
                Reward::from_share(known.reward.unwrap_or(0.0) / self.problem.reward_max()).units()
            };
            let gain: u64 =
                round.told.iter().flatten().filter(|known| known.completed).map(units).sum();
            self.campaign.observe_gain(number, gain as f64 / Reward::UNITS as f64)?;
        }
        Ok(())
    }
}
