//! Rounds: issued, issued again under the same key, cancelled.

use super::{IssuedRound, Ledger, LedgerError, Round};
use crate::oracle::Allocation;
use crate::plan;
use crate::problem::Bounds;
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
    /// bounds, no multiples of the unit satisfy them, or the round of the key has another budget or
    /// other tasks. No round is issued then.
    pub fn issue(&mut self, request: &RoundRequest<'_>) -> Result<IssuedRound, LedgerError> {
        let budget = request.budget.unwrap_or(self.problem.budget());
        let available = self.available(request.without)?;
        if let Some(key) = request.key {
            check_key(key)?;
            if let Some(round) = self.round_of_key(key) {
                return self.issue_again(round, key, budget, available.as_deref());
            }
        }
        let issued = self.campaign.allocate(budget, available.as_deref())?;
        let (round, guards) = (issued.round, issued.guards.copied());
        let mut allocation = issued.allocation.clone();
        let rounded =
            request.unit.map(|unit| self.rounded(&allocation, available.as_deref(), unit));
        let tasks = self.problem.tasks().len();
        if let Some(rounded) = rounded {
            match rounded {
                Ok(rounded) => adopt(&mut allocation, &rounded, self),
                Err(error) => {
                    // The campaign has issued the round; the record has not.
                    *self = self.replayed(&self.reports)?;
                    return Err(error);
                }
            }
        }
        self.rounds.push(Round {
            budget,
            available: available.clone(),
            spend: allocation.spend.clone(),
            success: allocation.success.clone(),
            outcomes: vec![None; tasks],
            key: request.key.map(str::to_owned),
            is_cancelled: false,
        });
        if request.unit.is_some() {
            // The campaign must know the rounded split.
            *self = self.replayed(&self.reports)?;
        }
        let available = available.unwrap_or_else(|| vec![true; tasks]);
        Ok(IssuedRound { round, budget, available, allocation, guards })
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
        let available = record.available.clone().unwrap_or_else(|| vec![true; tasks]);
        Some(IssuedRound { round, budget: record.budget, available, allocation, guards: None })
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

    pub(super) fn available(&self, without: &[&str]) -> Result<Option<Vec<bool>>, LedgerError> {
        if without.is_empty() {
            return Ok(None);
        }
        let mut available = vec![true; self.problem.tasks().len()];
        for name in without {
            let task = self.problem.tasks().iter().position(|task| task.name() == *name);
            let task = task.ok_or_else(|| LedgerError::UnknownTask(one_line(name)))?;
            available[task] = false;
        }
        if available.contains(&true) { Ok(Some(available)) } else { Err(LedgerError::NobodyLeft) }
    }

    /// The round that was issued for a key and not cancelled.
    fn round_of_key(&self, key: &str) -> Option<u64> {
        let is_it = |round: &Round| !round.is_cancelled && round.key.as_deref() == Some(key);
        self.rounds.iter().position(is_it).map(|place| place as u64 + 1)
    }

    fn issue_again(
        &self,
        round: u64,
        key: &str,
        budget: f64,
        available: Option<&[bool]>,
    ) -> Result<IssuedRound, LedgerError> {
        let same =
            |record: &&Round| record.budget == budget && record.available.as_deref() == available;
        if self.round(round).filter(same).is_none() {
            return Err(LedgerError::KeyOfAnotherRound { key: key.to_owned(), round });
        }
        self.issued(round).ok_or(LedgerError::UnknownRound { round, last: self.rounds() })
    }

    /// The spends in multiples of a unit. Under guards, and if the learner chose the spends, each
    /// of them is rounded up or down to the next multiple.
    fn rounded(
        &self,
        allocation: &Allocation,
        available: Option<&[bool]>,
        unit: f64,
    ) -> Result<plan::Rounded, LedgerError> {
        let is_chosen = self.settings.learner.chooses_allocation();
        let stays_near = is_chosen || !self.settings.guards.is_empty();
        let bounds = |(task, &spend): (usize, &f64)| {
            let given = self.problem.tasks()[task].bounds();
            if available.is_some_and(|available| !available[task]) {
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
        Ok(plan::round(&self.problem.with_bounds(&bounds), &values, allocation, unit)?)
    }
}

/// Replaces the split by the rounded one.
fn adopt(allocation: &mut Allocation, rounded: &plan::Rounded, ledger: &Ledger) {
    allocation.set_spend(&ledger.problem, &rounded.spend);
    allocation.value = rounded.value;
    allocation.upper_bound = allocation.upper_bound.max(rounded.value);
    allocation.unspent = rounded.unspent;
}

/// Whether a key is short and printable.
pub(super) fn check_key(key: &str) -> Result<(), LedgerError> {
    let is_valid =
        !key.trim().is_empty() && key.len() <= MAX_KEY_BYTES && !key.contains(char::is_control);
    if is_valid { Ok(()) } else { Err(LedgerError::BadKey) }
}
