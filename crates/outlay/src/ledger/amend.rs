//! Amendments of a running ledger: its problem is replaced, and what was learned stays.
//!
//! The record keeps every version of the problem. A ledger is rebuilt from its record under the
//! present version: rounds in which a task did not exist yet, or was retired, count as rounds in
//! which it was unavailable. A round keeps the curves of the version under which it was issued.

use super::{Ledger, LedgerError, Round};
use crate::problem::{AmendError, Amendment, Problem};

/// An earlier version of the problem.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PastProblem {
    pub(super) problem: Problem,
    /// The number of rounds issued before it was replaced.
    pub(super) rounds: u64,
    /// The number of reports before it was replaced.
    pub(super) reports: usize,
}

impl Ledger {
    /// Replaces the problem by another one and returns the difference; see [`Problem::amended`].
    /// Nothing is recorded if there is none.
    ///
    /// Completions and rewards of a task do not depend on its curve, so the learner keeps them.
    /// Rounds that are already issued keep their spends, their curves and their tasks, and their
    /// outcomes can still be reported. If `reward_max` grows, the recorded rewards are observed
    /// again on the new scale. Guards compare the first spend of a new task with its `current`
    /// spend, or with 0.
    ///
    /// # Errors
    /// If `reward_max` decreases, the learner cannot use earlier observations with another problem,
    /// or the learner or the guards are unsuitable for the new problem. Nothing changes then.
    pub fn amend(&mut self, new: &Problem) -> Result<Amendment, LedgerError> {
        let (amended, amendment) = self.problem.amended(new)?;
        if amended == self.problem {
            return Ok(amendment);
        }
        if let Some(reason) = self.settings.learner.amendment_obstacle()
            && self.rounds() > 0
        {
            let learner = self.settings.learner.to_string();
            return Err(AmendError::Learner { learner, reason }.into());
        }
        let past = PastProblem {
            problem: self.problem.clone(),
            rounds: self.rounds(),
            reports: self.reports.len(),
        };
        let past = self.past.iter().cloned().chain([past]).collect();
        *self = self.replayed_under(&amended, past)?;
        Ok(amendment)
    }

    /// The amendments so far, each with the number of rounds issued before it.
    #[must_use]
    pub fn amendments(&self) -> Vec<(u64, Amendment)> {
        let later = self.past.iter().skip(1).map(|past| &past.problem).chain([&self.problem]);
        let pairs = self.past.iter().zip(later);
        let amendment = |(past, next): (&PastProblem, &Problem)| {
            let (_, amendment) = past.problem.amended(next).ok()?;
            Some((past.rounds, amendment))
        };
        pairs.filter_map(amendment).collect()
    }

    /// The problem under which a round was issued; the present one for later rounds.
    #[must_use]
    pub fn problem_of(&self, round: u64) -> &Problem {
        let past = self.past.iter().find(|past| round <= past.rounds);
        past.map_or(&self.problem, |past| &past.problem)
    }

    /// Every version of the problem with the numbers of its first and last round.
    pub(super) fn versions(&self) -> impl Iterator<Item = (&Problem, u64, u64)> {
        let last = self.past.iter().map(|past| past.rounds).chain([self.rounds()]);
        let first = [1].into_iter().chain(self.past.iter().map(|past| past.rounds + 1));
        let problems = self.past.iter().map(|past| &past.problem).chain([&self.problem]);
        problems.zip(first.zip(last)).map(|(problem, (first, last))| (problem, first, last))
    }

    /// Reverts the last amendment if nothing was recorded after it; returns the amendment.
    pub(super) fn undo_amendment(&mut self) -> Result<Option<Amendment>, LedgerError> {
        let is_last = |past: &&PastProblem| {
            past.rounds == self.rounds() && past.reports == self.reports.len()
        };
        let Some(last) = self.past.last().filter(is_last) else { return Ok(None) };
        let (_, undone) = last.problem.amended(&self.problem)?;
        let before = self.past[..self.past.len() - 1].to_vec();
        *self = self.replayed_under(&last.problem, before)?;
        Ok(Some(undone))
    }

    /// The same ledger under another version of the problem.
    fn replayed_under(
        &self,
        problem: &Problem,
        past: Vec<PastProblem>,
    ) -> Result<Self, LedgerError> {
        let mut rounds = self.rounds.clone();
        rounds.iter_mut().for_each(|round| round.resize(problem.tasks().len()));
        Self::new(problem, self.settings)?.with_past(past).replay(&rounds, &self.reports)
    }

    /// An empty ledger with these earlier versions.
    pub(super) fn with_past(mut self, past: Vec<PastProblem>) -> Self {
        if past.iter().any(|past| past.problem.has_counts()) {
            self.campaign.accept_counts();
        }
        self.past = past;
        self
    }

    /// Sets the reference of tasks that were added before this round, for the guards.
    pub(super) fn start_references(&mut self, round: u64) {
        let ends = |past: &&PastProblem| past.rounds + 1 == round;
        let Some(first) = self.past.iter().find(ends) else { return };
        if self.rounds.iter().all(|round| round.is_cancelled) {
            // The reference is still the `current` spend of each task.
            return;
        }
        let added = first.problem.tasks().len()..self.problem_of(round).tasks().len();
        for task in added {
            let spend = self.problem.tasks()[task].current().unwrap_or(0.0);
            self.campaign.set_reference_spend(task, spend);
        }
    }

    /// Sets the reference of tasks that were retired in this round to 0, for the guards.
    pub(super) fn clear_references(&mut self, round: u64) {
        if self.settings.guards.is_empty() {
            return;
        }
        let tasks = self.problem_of(round).tasks().iter().enumerate();
        let retired: Vec<usize> =
            tasks.filter(|(_, task)| task.is_retired()).map(|(task, _)| task).collect();
        for task in retired {
            self.campaign.set_reference_spend(task, 0.0);
        }
    }
}

impl Round {
    /// The same round with fewer or more tasks; added ones did not exist in it.
    pub(super) fn resize(&mut self, tasks: usize) {
        let existing = self.outcomes.len();
        let mut available = self.available.take().unwrap_or_else(|| vec![true; existing]);
        available.resize(tasks, false);
        self.available = Some(available).filter(|available| available.contains(&false));
        for list in [&mut self.scale, &mut self.volume].into_iter().flatten() {
            list.resize(tasks, 1.0);
        }
        self.spend.resize(tasks, 0.0);
        self.success.resize(tasks, 0.0);
        self.outcomes.resize(tasks, None);
    }
}
