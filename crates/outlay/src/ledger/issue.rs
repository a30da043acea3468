//! Rounds: issued, issued again under the same key, cancelled.

use super::{IssuedRound, Ledger, LedgerError, Round};
use crate::campaign::{CampaignError, GuardReport};
use crate::oracle::Allocation;
use crate::plan;
use crate::problem::{Bounds, Problem, Task};
use crate::text::one_line;

/// The longest key of a round, in bytes.
pub const MAX_KEY_BYTES: usize = 200;

/// A request for a round. By default it has the problem's budget and all tasks.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct RoundRequest<'a> {
    /// The budget; `None`: the problem's.
    pub budget: Option<f64>,
    /// The names of unavailable tasks.
    pub without: &'a [&'a str],
    /// The scales of the curves: a task named here has the curve `F(x / scale)` in this round.
    pub scale: &'a [(&'a str, f64)],
    /// The volumes of this round; tasks that are not named have that of the problem.
    pub volume: &'a [(&'a str, f64)],
    /// A key that makes the request idempotent: a second request with the same key returns the
    /// same round.
    pub key: Option<&'a str>,
    /// The spends are multiples of this unit; `None`: any amounts.
    pub unit: Option<f64>,
}

impl Ledger {
    /// Issues the next round, with this budget or the problem's, `without` these tasks.
    ///
    /// # Errors
    /// As [`Ledger::issue`].
    pub fn next(
        &mut self,
        budget: Option<f64>,
        without: &[&str],
    ) -> Result<IssuedRound, LedgerError> {
        self.issue(&RoundRequest { budget, without, ..RoundRequest::default() })
    }

    /// Issues the next round, or returns the round that was issued for the key of the request.
    ///
    /// # Errors
    /// If a task is unknown or has a positive lower bound, the budget does not cover the lower
    /// bounds, a scale or volume is invalid or unsuitable for the learner, no multiples of the unit
    /// satisfy the bounds, or the round of the key has other conditions. No round is issued then.
    pub fn issue(&mut self, request: &RoundRequest<'_>) -> Result<IssuedRound, LedgerError> {
        if let Some(key) = request.key {
            check_key(key)?;
            if let Some(round) = self.round_of_key(key) {
                return self.issue_again(round, key, request);
            }
        }
        let mut record = unissued(&self.problem, request)?;
        let issued = self.campaign.issue(&record.conditions())?;
        let (round, guards) = (issued.round, issued.guards.copied());
        let mut allocation = issued.allocation.clone();
        if let Some(unit) = request.unit
            && let Err(error) = self.round_to(unit, &record, &mut allocation)
        {
            // The campaign has issued the round; the record has not.
            *self = self.replayed(&self.reports)?;
            return Err(error);
        }
        record.spend.clone_from(&allocation.spend);
        record.success.clone_from(&allocation.success);
        self.rounds.push(record.clone());
        if request.unit.is_some() {
            // The campaign must know the rounded split.
            *self = self.replayed(&self.reports)?;
        }
        Ok(record.issued(round, allocation, guards))
    }

    /// An issued round with its spends. The rest of the certificate is not on record and is zero.
    /// `None` if there is no such round.
    #[must_use]
    pub fn issued(&self, round: u64) -> Option<IssuedRound> {
        let record = self.round(round)?;
        let tasks = record.spend.len();
        let allocation = Allocation {
            budget: record.budget,
            spend: record.spend.clone(),
            success: record.success.clone(),
            unspent: (record.budget - record.spend.iter().sum::<f64>()).max(0.0),
            ..Allocation::empty(tasks)
        };
        Some(record.issued(round, allocation, None))
    }

    /// The problem as it was in an issued round: with its scales and volumes. `None` if there is no
    /// such round.
    #[must_use]
    pub fn problem_in(&self, round: u64) -> Option<Problem> {
        self.round(round)?.problem(self.problem_of(round)).ok()
    }

    /// The key of an issued round, if it has one.
    #[must_use]
    pub fn key(&self, round: u64) -> Option<&str> {
        self.round(round)?.key.as_deref()
    }

    /// Whether a round was cancelled.
    #[must_use]
    pub fn is_cancelled(&self, round: u64) -> bool {
        self.round(round).is_some_and(|round| round.is_cancelled)
    }

    /// The last round before this one that was not cancelled.
    #[must_use]
    pub fn round_before(&self, round: u64) -> Option<u64> {
        (1..round.min(self.rounds() + 1)).rev().find(|earlier| !self.is_cancelled(*earlier))
    }

    /// Cancels a round that was not played. It keeps its number, takes no outcomes and its key is
    /// free again. Guards compare later rounds with the round before it.
    ///
    /// # Errors
    /// If the round was never issued, is already cancelled or has reported outcomes. Nothing
    /// changes then.
    pub fn cancel(&mut self, round: u64) -> Result<(), LedgerError> {
        let last = self.rounds();
        let record = self.round(round).ok_or(LedgerError::UnknownRound { round, last })?;
        if record.is_cancelled {
            return Err(LedgerError::AlreadyCancelled(round));
        }
        let outcomes = record.outcomes.iter().flatten().count();
        if outcomes > 0 {
            return Err(LedgerError::HasOutcomes { round, outcomes });
        }
        let mut changed = self.replayed(&self.reports)?;
        if let Some(record) = changed.rounds.get_mut(round as usize - 1) {
            record.is_cancelled = true;
        }
        *self = changed.replayed(&changed.reports)?;
        Ok(())
    }

    /// The round that was issued for a key and not cancelled.
    fn round_of_key(&self, key: &str) -> Option<u64> {
        let is_it = |round: &Round| !round.is_cancelled && round.key.as_deref() == Some(key);
        self.rounds.iter().position(is_it).map(|place| place as u64 + 1)
    }

    /// The round of a key, if the request is that of the round, under the problem of that time.
    fn issue_again(
        &self,
        round: u64,
        key: &str,
        request: &RoundRequest<'_>,
    ) -> Result<IssuedRound, LedgerError> {
        for name in request.without {
            position(&self.problem, name)?;
        }
        let problem = self.problem_of(round);
        let existed = |name: &str| problem.tasks().iter().any(|task| task.name() == name);
        let without: Vec<&str> =
            request.without.iter().copied().filter(|name| existed(name)).collect();
        let request = RoundRequest { without: &without, ..*request };
        let mut requested = unissued(problem, &request)?;
        requested.resize(self.problem.tasks().len());
        let same = |record: &&Round| record.conditions() == requested.conditions();
        if self.round(round).filter(same).is_none() {
            return Err(LedgerError::KeyOfAnotherRound { key: key.to_owned(), round });
        }
        self.issued(round).ok_or(LedgerError::UnknownRound { round, last: self.rounds() })
    }

    /// Rounds the spends to multiples of a unit. Under guards, and if the learner chose the spends,
    /// each of them is rounded up or down to the next multiple.
    fn round_to(
        &self,
        unit: f64,
        round: &Round,
        allocation: &mut Allocation,
    ) -> Result<(), LedgerError> {
        let problem = round.problem(&self.problem)?;
        let is_chosen = self.settings.learner.chooses_allocation();
        let stays_near = is_chosen || !self.settings.guards.is_empty();
        let bounds = |(task, &spend): (usize, &f64)| {
            let given = problem.tasks()[task].bounds();
            if !round.has(task) {
                return Bounds { max: 0.0, ..Bounds::NONE };
            }
            if !stays_near {
                return given;
            }
            let units = spend / unit;
            Bounds {
                min: given.min.max(units.floor() * unit),
                max: given.max.min(units.ceil() * unit),
                at_least: given.at_least,
            }
        };
        let bounds: Vec<Bounds> = allocation.spend.iter().enumerate().map(bounds).collect();
        let values = if is_chosen {
            vec![0.0; allocation.spend.len()]
        } else {
            self.campaign.weights().to_vec()
        };
        let rounded = plan::round(&problem.with_bounds(&bounds), &values, allocation, unit)?;
        allocation.set_spend(&problem, &rounded.spend);
        allocation.value = rounded.value;
        allocation.upper_bound = allocation.upper_bound.max(rounded.value);
        allocation.unspent = rounded.unspent;
        Ok(())
    }
}

impl Round {
    /// The problem of the round with its scales and volumes.
    pub(super) fn problem(&self, problem: &Problem) -> Result<Problem, CampaignError> {
        if self.scale.is_none() && self.volume.is_none() {
            return Ok(problem.clone());
        }
        // Tasks that were added later are not part of it.
        let tasks = problem.tasks().len();
        let scale = self.scale.as_ref().map(|scale| &scale[..tasks]);
        Ok(problem.in_round(scale, self.volume.as_ref().map(|volume| &volume[..tasks]))?)
    }

    fn issued(
        &self,
        round: u64,
        allocation: Allocation,
        guards: Option<GuardReport>,
    ) -> IssuedRound {
        let all = || vec![true; self.outcomes.len()];
        IssuedRound {
            round,
            budget: self.budget,
            available: self.available.clone().unwrap_or_else(all),
            scale: self.scale.clone(),
            volume: self.volume.clone(),
            allocation,
            guards,
        }
    }
}

/// The tasks that are neither retired nor left out; `None` if all are available.
pub(super) fn available(
    problem: &Problem,
    without: &[&str],
) -> Result<Option<Vec<bool>>, LedgerError> {
    let mut available: Vec<bool> = problem.tasks().iter().map(|task| !task.is_retired()).collect();
    for name in without {
        available[position(problem, name)?] = false;
    }
    if !available.contains(&true) {
        return Err(LedgerError::NoTaskLeft);
    }
    Ok(Some(available).filter(|available| available.contains(&false)))
}

/// A list with one number per task: those of the named tasks, and else those of `others`. `None` if
/// no task is named.
pub(super) fn by_task(
    problem: &Problem,
    what: &'static str,
    named: &[(&str, f64)],
    others: impl FnOnce() -> Vec<f64>,
) -> Result<Option<Vec<f64>>, LedgerError> {
    if named.is_empty() {
        return Ok(None);
    }
    let (mut numbers, mut is_named) = (others(), vec![false; problem.tasks().len()]);
    for (name, number) in named {
        let task = position(problem, name)?;
        if std::mem::replace(&mut is_named[task], true) {
            return Err(LedgerError::NamedTwice { what, task: one_line(name) });
        }
        numbers[task] = *number;
    }
    Ok(Some(numbers))
}

fn position(problem: &Problem, name: &str) -> Result<usize, LedgerError> {
    let task = problem.tasks().iter().position(|task| task.name() == name);
    task.ok_or_else(|| LedgerError::UnknownTask(one_line(name)))
}

/// The requested round of a problem, without spends.
fn unissued(problem: &Problem, request: &RoundRequest<'_>) -> Result<Round, LedgerError> {
    let tasks = problem.tasks();
    let of_problem = || tasks.iter().map(Task::volume).collect();
    let scale = by_task(problem, "scale", request.scale, || vec![1.0; tasks.len()])?;
    let volume = by_task(problem, "volume", request.volume, of_problem)?;
    Ok(Round {
        budget: request.budget.unwrap_or(problem.budget()),
        available: available(problem, request.without)?,
        scale: scale.filter(|scale| scale.iter().any(|scale| *scale != 1.0)),
        volume,
        spend: Vec::new(),
        success: Vec::new(),
        outcomes: vec![None; tasks.len()],
        key: request.key.map(str::to_owned),
        is_cancelled: false,
    })
}

/// Whether a key is short and printable.
pub(super) fn check_key(key: &str) -> Result<(), LedgerError> {
    let is_valid =
        !key.trim().is_empty() && key.len() <= MAX_KEY_BYTES && !key.contains(char::is_control);
    if is_valid { Ok(()) } else { Err(LedgerError::BadKey) }
}
