//! Reports of outcomes: late, partial or repeated, but never contradictory.

use std::collections::HashMap;

use super::{EntryError, InvalidEntry, Ledger, LedgerError, Report, ReportedOutcome};
use crate::feedback::{Completions, Feedback, Outcome, Reward};
use crate::problem::RewardOverMax;

/// The outcome of one task in one round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Entry {
    /// The round.
    pub round: u64,
    /// The task, counted from 0.
    pub task: usize,
    /// The number of completions; zero if it failed.
    pub completions: u64,
    /// The sum of their rewards, in the unit of the problem's `reward_max`. For a failure it is the
    /// forgone reward, which only learners with full feedback need; otherwise it must be absent or
    /// zero. If the problem clips rewards, it is recorded as it was reported and counts as the
    /// largest possible one.
    pub reward: Option<f64>,
    /// The amount that was really spent, if it is known. Expected completions are computed from it.
    pub spend: Option<f64>,
}

impl Entry {
    /// A task that completed once with this reward.
    #[must_use]
    pub fn completed(round: u64, task: usize, reward: f64) -> Self {
        Self { round, task, completions: 1, reward: Some(reward), spend: None }
    }

    /// The outcome on record.
    pub(super) fn outcome(&self) -> ReportedOutcome {
        let Self { completions, reward, spend, .. } = *self;
        ReportedOutcome { completions, reward, spend }
    }

    /// A task that failed.
    #[must_use]
    pub fn failed(round: u64, task: usize) -> Self {
        Self { round, task, completions: 0, reward: None, spend: None }
    }
}

/// The result of [`Ledger::report`] and [`Ledger::revise`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reported {
    /// The number of new outcomes.
    pub new: usize,
    /// The number of outcomes that were already reported, identically.
    pub repeated: usize,
    /// The number of outcomes that replaced earlier ones.
    pub revised: usize,
    /// The number of outcomes that were already reported, but without their spend.
    pub spends: usize,
    /// The number of new or corrected outcomes whose reward was clipped.
    pub clipped: usize,
}

impl Ledger {
    /// Records outcomes: all of them or, if one is invalid, none. The spend of an outcome may be
    /// reported later, with the outcome.
    ///
    /// # Errors
    /// [`LedgerError::Entries`] with all invalid entries.
    pub fn report(&mut self, entries: &[Entry]) -> Result<Reported, LedgerError> {
        self.report_as(entries, self.problem.reward_over_max())
    }

    /// [`Ledger::report`] with another treatment of rewards above the largest one.
    pub(super) fn report_as(
        &mut self,
        entries: &[Entry],
        over_max: RewardOverMax,
    ) -> Result<Reported, LedgerError> {
        let mut refused = Vec::new();
        let mut fresh = Vec::new();
        // Outcomes that were reported without their spend.
        let mut with_spend = Vec::new();
        for (position, entry) in entries.iter().enumerate() {
            let now = match self.check(entry, over_max) {
                Ok(now) => now,
                Err(reason) => {
                    refused.push(InvalidEntry { position, reason });
                    continue;
                }
            };
            let kept = Entry { reward: now.reward, ..*entry };
            match self.known(entry) {
                None => fresh.push(kept),
                Some(before) if now.spend.is_some() && before.spend.is_none() => {
                    with_spend.push(kept);
                }
                Some(_) => continue,
            }
            // Recorded at once, so that later entries of the same call are compared with it.
            self.put(entry, Some(now));
        }
        if !refused.is_empty() {
            for entry in &with_spend {
                self.put(entry, Some(ReportedOutcome { spend: None, ..entry.outcome() }));
            }
            fresh.iter().for_each(|entry| self.put(entry, None));
            return Err(LedgerError::Entries(refused));
        }
        add_spends(&mut fresh, &mut with_spend);
        let (new, spends) = (fresh.len(), with_spend.len());
        let reported = Reported {
            new,
            repeated: entries.len() - new - spends,
            revised: 0,
            spends,
            clipped: self.count_clipped(&fresh),
        };
        if new + spends > 0 {
            self.learn(&fresh)?;
            // An outcome that gets its spend replaces the one without.
            let (after, is_revision) = (self.rounds(), spends > 0);
            fresh.append(&mut with_spend);
            self.reports.push(Report { after, entries: fresh, is_revision });
            if is_revision {
                // Some learners learn from spends.
                *self = self.replayed(&self.reports)?;
            }
        }
        Ok(reported)
    }

    /// The outcome of an entry, or the reason why it is invalid or contradicts the record.
    fn check(&self, entry: &Entry, over_max: RewardOverMax) -> Result<ReportedOutcome, EntryError> {
        let now = self.outcome_of(entry, over_max)?;
        let contradiction =
            self.known(entry).and_then(|before| self.contradiction(entry, now, before));
        contradiction.map_or(Ok(now), Err)
    }

    /// The outcome of an entry, or the reason why it is invalid.
    pub(super) fn outcome_of(
        &self,
        entry: &Entry,
        over_max: RewardOverMax,
    ) -> Result<ReportedOutcome, EntryError> {
        let Entry { round, task, .. } = *entry;
        let last = self.rounds();
        let issued = self.round(round).ok_or(EntryError::UnknownRound { round, last })?;
        if issued.is_cancelled {
            return Err(EntryError::Cancelled(round));
        }
        let name = self.problem.tasks().get(task).ok_or(EntryError::UnknownTask(task))?.name();
        if !issued.has(task) {
            return Err(EntryError::LeftOut { task: name.to_owned(), round });
        }
        if let Some(spend) = entry.spend.filter(|spend| !(*spend >= 0.0 && spend.is_finite())) {
            return Err(EntryError::SpendRange { task: name.to_owned(), spend });
        }
        let reward = self.shown_reward(entry, name, over_max)?;
        Ok(ReportedOutcome { completions: entry.completions, reward, spend: entry.spend })
    }

    /// The contradiction between two outcomes of an entry's task and round, if there is one.
    pub(super) fn contradiction(
        &self,
        entry: &Entry,
        now: ReportedOutcome,
        before: ReportedOutcome,
    ) -> Option<EntryError> {
        if before.agrees(&now) {
            return None;
        }
        // Spends are shown if they are the contradiction.
        let differ = now.spend.zip(before.spend).is_some_and(|(now, before)| now != before);
        let shown = |outcome: ReportedOutcome| ReportedOutcome {
            spend: outcome.spend.filter(|_| differ),
            ..outcome
        };
        let task = self.problem.tasks().get(entry.task).map_or("", |task| task.name()).to_owned();
        let (now, before) = (shown(now), shown(before));
        Some(EntryError::Contradiction { round: entry.round, task, now, before })
    }

    /// The reward, if the learner may observe it.
    fn shown_reward(
        &self,
        entry: &Entry,
        name: &str,
        over_max: RewardOverMax,
    ) -> Result<Option<f64>, EntryError> {
        let reward_max = self.problem.reward_max();
        let sees_all = self.feedback() == Feedback::Full;
        let task = || name.to_owned();
        let completions = entry.completions;
        let is_single = sees_all || !self.problem_of(entry.round).has_counts();
        let most = if is_single { 1 } else { Completions::MAX };
        if completions > most {
            return Err(EntryError::TooManyCompletions { task: task(), completions, most });
        }
        match entry.reward {
            None if completions > 0 => Err(EntryError::NoReward(task())),
            None if sees_all => {
                let learner = self.settings.learner;
                Err(EntryError::NoForgoneReward { task: task(), learner })
            }
            Some(reward) if completions == 0 && !sees_all && reward != 0.0 => {
                Err(EntryError::RewardOfFailure { task: task(), reward })
            }
            Some(reward) if !self.is_accepted(entry, reward, over_max) => {
                let completions = completions.max(1);
                Err(EntryError::RewardRange { task: task(), reward, completions, reward_max })
            }
            reward => Ok(reward.filter(|_| completions > 0 || sees_all)),
        }
    }

    /// Whether a reward is possible, or is clipped. A report that was accepted once can be repeated
    /// after an amendment that refuses such rewards.
    fn is_accepted(&self, entry: &Entry, reward: f64, over_max: RewardOverMax) -> bool {
        let is_repeated = || self.known(entry).is_some_and(|known| known.reward == Some(reward));
        reward >= 0.0
            && if self.problem.clips_reward(entry.completions, reward) {
                over_max.clips() || is_repeated()
            } else {
                reward.is_finite()
            }
    }

    /// The treatment of rewards on record: they were accepted under some version of the problem.
    pub(super) fn recorded_over_max(&self) -> RewardOverMax {
        let clips = self.versions().any(|(problem, ..)| problem.reward_over_max().clips());
        if clips { RewardOverMax::Clip } else { RewardOverMax::Refuse }
    }

    /// The number of entries whose reward is clipped.
    pub(super) fn count_clipped(&self, entries: &[Entry]) -> usize {
        entries.iter().filter(|entry| self.is_clipped(&entry.outcome())).count()
    }

    /// Whether the reward of an outcome is clipped.
    pub(super) fn is_clipped(&self, outcome: &ReportedOutcome) -> bool {
        outcome.reward.is_some_and(|reward| self.problem.clips_reward(outcome.completions, reward))
    }

    /// The recorded outcome of a task in a round.
    pub(super) fn known(&self, entry: &Entry) -> Option<ReportedOutcome> {
        self.round(entry.round)?.outcomes.get(entry.task).copied().flatten()
    }

    /// Records or removes an outcome.
    pub(super) fn put(&mut self, entry: &Entry, known: Option<ReportedOutcome>) {
        let place =
            entry.round.checked_sub(1).and_then(|place| self.rounds.get_mut(place as usize));
        if let Some(outcome) = place.and_then(|round| round.outcomes.get_mut(entry.task)) {
            *outcome = known;
        }
    }

    /// Passes new outcomes to the learner.
    pub(super) fn learn(&mut self, entries: &[Entry]) -> Result<(), LedgerError> {
        if self.feedback() == Feedback::Bandit {
            return self.learn_gains(entries);
        }
        for entry in entries {
            let sum = entry.reward.unwrap_or(0.0) / self.problem.reward_max();
            let outcome = match (entry.completions, self.feedback()) {
                (0, Feedback::Full) => Outcome::Forgone(Reward::from_share(sum)),
                (0, _) => Outcome::Failed,
                (count, _) => Outcome::of(completions(count, sum)),
            };
            self.campaign.observe_at(entry.round, entry.task, outcome, entry.spend)?;
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
            let units = |known: &ReportedOutcome| {
                let sum = known.reward.unwrap_or(0.0) / self.problem.reward_max();
                completions(known.completions, sum).reward_sum()
            };
            let gain: u64 = round.outcomes.iter().flatten().map(units).sum();
            self.campaign.observe_gain(number, gain as f64 / Reward::UNITS as f64)?;
        }
        Ok(())
    }
}

/// Moves the spends of outcomes that are new in the same call to these outcomes.
fn add_spends(fresh: &mut [Entry], with_spend: &mut Vec<Entry>) {
    if with_spend.is_empty() {
        return;
    }
    let place = |entry: &Entry| (entry.round, entry.task);
    let places: HashMap<(u64, usize), usize> =
        fresh.iter().enumerate().map(|(position, entry)| (place(entry), position)).collect();
    with_spend.retain(|entry| match places.get(&place(entry)) {
        None => true,
        Some(&position) => {
            fresh[position].spend = entry.spend;
            false
        }
    });
}

/// Completions of a checked entry. The sum of rewards is in multiples of the largest one; it may be
/// above their number if it is clipped, or if a division has rounded it up.
fn completions(count: u64, reward_sum: f64) -> Completions {
    Completions::from_share(count, reward_sum.min(count as f64)).unwrap_or_default()
}
