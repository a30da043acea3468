//! Replay of a record: loading, undo and previews rebuild a ledger from its rounds and reports with
//! the code that created them.

use super::{Ledger, LedgerError, RecordError, Report, Reported, Round};

impl Ledger {
    /// Undoes the last [`Ledger::report`] that had new outcomes; later rounds stay issued. Returns
    /// the number of outcomes. They can be reported again.
    ///
    /// # Errors
    /// If there is no report.
    pub fn undo(&mut self) -> Result<Reported, LedgerError> {
        let (last, before) = self.reports.split_last().ok_or(LedgerError::NothingTold)?;
        let taken_back = Reported { new: last.entries.len(), repeated: 0 };
        *self = self.replayed(before)?;
        Ok(taken_back)
    }

    /// The same ledger with only these reports.
    pub(super) fn replayed(&self, reports: &[Report]) -> Result<Self, LedgerError> {
        let opened = Self::new(&self.problem, self.settings)?;
        opened.replay(&self.rounds, reports)
    }

    /// Replays rounds and reports in their order.
    pub(super) fn replay(
        mut self,
        rounds: &[Round],
        reports: &[Report],
    ) -> Result<Self, LedgerError> {
        let mut handed_out = 0;
        for report in reports {
            let until = usize::try_from(report.after)
                .ok()
                .filter(|until| *until >= handed_out && *until <= rounds.len());
            let until = until.ok_or(RecordError::ReportOrder(report.after))?;
            self.replay_rounds(&rounds[handed_out..until])?;
            handed_out = until;
            let reported = self.report(&report.entries)?;
            if reported.repeated > 0 {
                return Err(RecordError::Repeated.into());
            }
        }
        self.replay_rounds(&rounds[handed_out..])?;
        Ok(self)
    }

    fn replay_rounds(&mut self, rounds: &[Round]) -> Result<(), LedgerError> {
        for round in rounds {
            self.campaign.replay_round(
                round.budget,
                round.available.as_deref(),
                &round.spend,
                &round.success,
            )?;
            self.rounds.push(Round { outcomes: vec![None; round.spend.len()], ..round.clone() });
        }
        Ok(())
    }
}
