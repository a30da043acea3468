//! Corrections of outcomes that are already on record.

use std::collections::HashMap;

use super::{Entry, InvalidEntry, Ledger, LedgerError, Report, Reported};

impl Ledger {
    /// Records outcomes like [`Ledger::report`], but outcomes that contradict earlier ones replace
    /// them. The learner is then as if the corrected outcomes had been reported in place of the
    /// earlier ones; issued rounds do not change. A spend that is absent stays as it was.
    ///
    /// [`Ledger::undo`] brings the earlier outcomes back.
    ///
    /// # Errors
    /// [`LedgerError::Entries`] with all invalid entries. Nothing changes then.
    pub fn revise(&mut self, entries: &[Entry]) -> Result<Reported, LedgerError> {
        let mut refused = Vec::new();
        let mut changed: Vec<Entry> = Vec::new();
        let mut places: HashMap<(u64, usize), usize> = HashMap::new();
        let mut reported = Reported::default();
        for (position, entry) in entries.iter().enumerate() {
            let mut now = match self.outcome_of(entry, self.problem.reward_over_max()) {
                Ok(now) => now,
                Err(reason) => {
                    refused.push(InvalidEntry { position, reason });
                    continue;
                }
            };
            let place = (entry.round, entry.task);
            let before = self.known(entry);
            if let Some(earlier) = places.get(&place).map(|earlier| changed[*earlier]) {
                // The same call has a row for it already.
                match self.contradiction(entry, now, earlier.outcome()) {
                    Some(reason) => refused.push(InvalidEntry { position, reason }),
                    None => reported.repeated += 1,
                }
                continue;
            }
            now.spend = now.spend.or(before.and_then(|before| before.spend));
            match before {
                Some(before) if before == now => {
                    reported.repeated += 1;
                    continue;
                }
                Some(_) => reported.revised += 1,
                None => reported.new += 1,
            }
            places.insert(place, changed.len());
            changed.push(Entry { reward: now.reward, spend: now.spend, ..*entry });
        }
        if !refused.is_empty() {
            return Err(LedgerError::Entries(refused));
        }
        reported.clipped = self.count_clipped(&changed);
        if !changed.is_empty() {
            let report = Report {
                after: self.rounds(),
                entries: changed,
                is_revision: reported.revised > 0,
            };
            let reports: Vec<Report> = self.reports.iter().cloned().chain([report]).collect();
            *self = self.replayed(&reports)?;
        }
        Ok(reported)
    }
}
