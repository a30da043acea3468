//! A ledger made again from what is on record, by the same path that made it the first time.
//! Loading, taking back and looking ahead all go this way, so that there is one truth: what was
//! handed out and what was told.

use super::{Ledger, LedgerError, Round, Tell, Told};
use crate::oracle::WarmStart;

impl Ledger {
    /// Takes back the last [`Ledger::tell`] that brought something new; rounds handed out since
    /// stay handed out. Returns how many outcomes that were. What is told again afterwards meets a
    /// ledger that never heard of it.
    ///
    /// # Errors
    /// If nothing has been told.
    pub fn undo(&mut self) -> Result<Told, LedgerError> {
        let (last, before) = self.tells.split_last().ok_or(LedgerError::NothingTold)?;
        let taken_back = Told { new: last.entries.len(), repeated: 0 };
        *self = self.replayed(before)?;
        Ok(taken_back)
    }

    /// The same ledger, as if only this had been told.
    pub(super) fn replayed(&self, tells: &[Tell]) -> Result<Self, LedgerError> {
        let opened = Self::new(&self.problem, self.settings)?;
        opened.replay(&self.rounds, tells, &self.campaign.warmth())
    }

    /// Goes through what is on record in the order in which it happened.
    pub(super) fn replay(
        mut self,
        rounds: &[Round],
        tells: &[Tell],
        warmth: &WarmStart,
    ) -> Result<Self, LedgerError> {
        let mut handed_out = 0;
        for tell in tells {
            let until = usize::try_from(tell.after)
                .ok()
                .filter(|until| *until >= handed_out && *until <= rounds.len());
            let until = until.ok_or_else(|| {
                LedgerError::Record(format!("tells: after {} does not fit the rounds", tell.after))
            })?;
            self.take_up(&rounds[handed_out..until])?;
            handed_out = until;
            let told = self.tell(&tell.entries)?;
            if told.repeated > 0 {
                return Err(LedgerError::Record("tells: an outcome is on record twice".to_owned()));
            }
        }
        self.take_up(&rounds[handed_out..])?;
        self.campaign.search_from(warmth);
        Ok(self)
    }

    fn take_up(&mut self, rounds: &[Round]) -> Result<(), LedgerError> {
        for round in rounds {
            self.campaign.take_up(
                round.budget,
                round.available.as_deref(),
                &round.spend,
                &round.success,
            )?;
            self.rounds.push(Round { told: vec![None; round.spend.len()], ..round.clone() });
        }
        Ok(())
    }
}
