//! Replay of a record: loading, undo and previews rebuild a ledger from its rounds and reports with
//! the code that created them.

use std::collections::HashMap;

use super::{Entry, InvalidEntry, Ledger, LedgerError, RecordError, Report, Round};
use crate::problem::Amendment;

/// The change that [`Ledger::undo`] reverted.
#[derive(Debug, Clone, PartialEq)]
pub enum Undone {
    /// A report with this number of outcomes, which can be reported again.
    Outcomes(usize),
    /// An amendment.
    Amendment(Amendment),
}

impl Ledger {
    /// Undoes the last [`Ledger::report`] or [`Ledger::revise`] that had new outcomes, or the last
    /// [`Ledger::amend`] if nothing was recorded after it. Later rounds stay issued, and an
    /// amendment stays once a round was issued under it.
    ///
    /// # Errors
    /// If there is neither.
    pub fn undo(&mut self) -> Result<Undone, LedgerError> {
        if let Some(undone) = self.undo_amendment()? {
            return Ok(Undone::Amendment(undone));
        }
        let (last, before) = self.reports.split_last().ok_or(LedgerError::NothingTold)?;
        let outcomes = last.entries.len();
        *self = self.replayed(before)?;
        Ok(Undone::Outcomes(outcomes))
    }

    /// The same ledger with only these reports.
    pub(super) fn replayed(&self, reports: &[Report]) -> Result<Self, LedgerError> {
        let mut past = self.past.clone();
        past.iter_mut().for_each(|past| past.reports = past.reports.min(reports.len()));
        Self::new(&self.problem, self.settings)?.with_past(past).replay(&self.rounds, reports)
    }

    /// Replays rounds and reports in their order. The learner observes the corrected outcomes in
    /// place of those that were revised later.
    pub(super) fn replay(
        mut self,
        rounds: &[Round],
        reports: &[Report],
    ) -> Result<Self, LedgerError> {
        let corrected = corrected(reports);
        let mut issued = 0;
        for report in reports {
            let until = usize::try_from(report.after)
                .ok()
                .filter(|until| *until >= issued && *until <= rounds.len());
            let until = until.ok_or(RecordError::ReportOrder(report.after))?;
            self.replay_rounds(&rounds[issued..until])?;
            issued = until;
            self.replay_report(report, &corrected)?;
        }
        self.replay_rounds(&rounds[issued..])?;
        self.start_references(self.rounds() + 1);
        Ok(self)
    }

    fn replay_report(
        &mut self,
        report: &Report,
        corrected: &HashMap<(u64, usize), Entry>,
    ) -> Result<(), LedgerError> {
        let over_max = self.recorded_over_max();
        let is_revised = |entry: &&Entry| report.is_revision && self.known(entry).is_some();
        let (revised, new): (Vec<&Entry>, Vec<&Entry>) =
            report.entries.iter().partition(is_revised);
        // A revision is valid in itself; its effect has come with the first report.
        let check = |(position, entry): (usize, &&Entry)| {
            let error = self.outcome_of(entry, over_max).err();
            error.map(|reason| InvalidEntry { position, reason })
        };
        let invalid: Vec<InvalidEntry> = revised.iter().enumerate().filter_map(check).collect();
        if !invalid.is_empty() {
            return Err(LedgerError::Entries(invalid));
        }
        let final_one =
            |entry: &&Entry| corrected.get(&(entry.round, entry.task)).copied().unwrap_or(**entry);
        let new: Vec<Entry> = new.iter().map(final_one).collect();
        let kept = self.reports.len();
        if self.report_as(&new, over_max)?.repeated > 0 {
            return Err(RecordError::Repeated.into());
        }
        self.reports.truncate(kept);
        self.reports.push(report.clone());
        Ok(())
    }

    fn replay_rounds(&mut self, rounds: &[Round]) -> Result<(), LedgerError> {
        for round in rounds {
            let number = self.rounds() + 1;
            self.start_references(number);
            let conditions = round.conditions();
            if round.is_cancelled {
                self.campaign.replay_cancelled(&conditions)?;
            } else {
                self.campaign.replay_round(&conditions, &round.spend, &round.success)?;
            }
            self.clear_references(number);
            self.rounds.push(Round { outcomes: vec![None; round.spend.len()], ..round.clone() });
        }
        Ok(())
    }
}

/// The last outcome of each task and round that was revised.
fn corrected(reports: &[Report]) -> HashMap<(u64, usize), Entry> {
    let revisions = reports.iter().filter(|report| report.is_revision);
    let entries = revisions.flat_map(|report| &report.entries);
    entries.map(|entry| ((entry.round, entry.task), *entry)).collect()
}
