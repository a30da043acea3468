//! Tests of the tests: stores with a planted mistake, each caught by the check written for it.

use std::collections::HashMap;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use outlay_server::store::{
    CampaignRow, Checkpoint, Command, Compacted, Compaction, DeletedCampaign, Done, Event,
    MemoryStore, Millis, Refusal, RoundRow, SplitRow, Standing, Store, StoreError, StoreSize,
    TaskCount, TokenRow, UsedKey, Verified,
};

use super::place::Place;
use super::{permutation, suite};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mistake {
    /// Repeated reports count twice.
    CountsTwice,
    /// Sums are floating-point numbers.
    SumsFloats,
    /// Late reports are accepted and discarded.
    DropsLate,
    /// Round ids are used again.
    ReusesRounds,
    /// Answers are sent before the write.
    AnswersEarly,
}

#[derive(Debug)]
struct Planted {
    mistake: Mistake,
    store: MemoryStore,
    counts: Mutex<HashMap<String, Vec<TaskCount>>>,
    floats: Mutex<HashMap<(String, u32), f32>>,
    /// Commands that were answered but not yet written.
    waiting: Mutex<Vec<Command>>,
}

fn planted(mistake: Mistake) -> Place {
    let store = Arc::new(Planted {
        mistake,
        store: MemoryStore::new(),
        counts: Mutex::default(),
        floats: Mutex::default(),
        waiting: Mutex::default(),
    });
    Box::new(move || Arc::clone(&store) as Arc<dyn Store>)
}

impl Planted {
    fn note(&self, batch: &[Command]) {
        for command in batch {
            let Command::Tell(tell) = command else { continue };
            for item in &tell.items {
                let mut counts = self.counts.lock().unwrap();
                let tasks = self
                    .store
                    .campaign(&tell.campaign)
                    .unwrap()
                    .map_or(0, |row| row.tasks as usize);
                let counts = counts
                    .entry(tell.campaign.clone())
                    .or_insert_with(|| vec![TaskCount::default(); tasks]);
                counts[item.task as usize].add(item.outcome, item.expected);
            }
        }
    }

    fn note_floats(&self, batch: &[Command], answers: &[Result<Done, Refusal>]) {
        for (command, answer) in batch.iter().zip(answers) {
            let (Command::Tell(tell), Ok(Done::Told { is_new, .. })) = (command, answer) else {
                continue;
            };
            for (item, _) in tell.items.iter().zip(is_new).filter(|(_, is_new)| **is_new) {
                *self
                    .floats
                    .lock()
                    .unwrap()
                    .entry((tell.campaign.clone(), item.task))
                    .or_default() += item.outcome.reward as f32;
            }
        }
    }
}

impl Store for Planted {
    fn name(&self) -> &'static str {
        "planted"
    }

    fn is_shared(&self) -> bool {
        false
    }

    fn apply(&self, batch: &[Command]) -> Result<Vec<Result<Done, Refusal>>, StoreError> {
        match self.mistake {
            Mistake::CountsTwice => self.note(batch),
            Mistake::DropsLate => {
                let is_late =
                    |command: &&Command| matches!(command, Command::Tell(tell) if tell.is_late);
                if let Some(Command::Tell(tell)) = batch.iter().find(is_late) {
                    return Ok(vec![
                        Ok(Done::Told {
                            is_new: vec![true; tell.items.len()],
                            is_complete: false
                        });
                        batch.len()
                    ]);
                }
            }
            Mistake::AnswersEarly
                if batch.iter().all(|command| matches!(command, Command::Tell(_))) =>
            {
                let before = std::mem::replace(&mut *self.waiting.lock().unwrap(), batch.to_vec());
                self.store.apply(&before)?;
                let told = |command: &Command| {
                    let items =
                        if let Command::Tell(tell) = command { tell.items.len() } else { 0 };
                    Ok(Done::Told { is_new: vec![true; items], is_complete: true })
                };
                return Ok(batch.iter().map(told).collect());
            }
            _ => {}
        }
        let answers = self.store.apply(batch)?;
        self.note_floats(batch, &answers);
        Ok(answers)
    }

    fn lease_rounds(&self, campaign: &str, count: u32) -> Result<Range<u64>, StoreError> {
        let rounds = self.store.lease_rounds(campaign, count)?;
        Ok(if self.mistake == Mistake::ReusesRounds { 1..1 + u64::from(count) } else { rounds })
    }

    fn campaign(&self, id: &str) -> Result<Option<CampaignRow>, StoreError> {
        self.store.campaign(id)
    }

    fn campaigns(&self, after: Option<&str>, limit: usize) -> Result<Vec<CampaignRow>, StoreError> {
        self.store.campaigns(after, limit)
    }

    fn problem(&self, campaign: &str, amendments: u64) -> Result<Option<String>, StoreError> {
        self.store.problem(campaign, amendments)
    }

    fn standing(&self, campaign: &str) -> Result<Standing, StoreError> {
        let mut standing = self.store.standing(campaign)?;
        if let (Mistake::CountsTwice, Some(counts)) =
            (self.mistake, self.counts.lock().unwrap().get(campaign))
        {
            standing.tasks.clone_from(counts);
        }
        if self.mistake == Mistake::SumsFloats {
            for (task, count) in (0..).zip(&mut standing.tasks) {
                let sum = self.floats.lock().unwrap().get(&(campaign.to_owned(), task)).copied();
                count.reward_sum = sum.map_or(0, |sum| sum as u64);
            }
        }
        Ok(standing)
    }

    fn split(&self, campaign: &str, round: u64) -> Result<Option<SplitRow>, StoreError> {
        self.store.split(campaign, round)
    }

    fn last_split(&self, campaign: &str) -> Result<Option<SplitRow>, StoreError> {
        self.store.last_split(campaign)
    }

    fn open_rounds(&self, campaign: &str, now: Millis) -> Result<Vec<(u64, Millis)>, StoreError> {
        self.store.open_rounds(campaign, now)
    }

    fn rounds(
        &self,
        campaign: &str,
        after: u64,
        limit: usize,
    ) -> Result<Vec<RoundRow>, StoreError> {
        self.store.rounds(campaign, after, limit)
    }

    fn events(&self, campaign: &str, after: u64, limit: usize) -> Result<Vec<Event>, StoreError> {
        self.store.events(campaign, after, limit)
    }

    fn last_event(&self, campaign: &str) -> Result<u64, StoreError> {
        self.store.last_event(campaign)
    }

    fn used_key(&self, token: &str, key: &str, now: Millis) -> Result<Option<UsedKey>, StoreError> {
        self.store.used_key(token, key, now)
    }

    fn tokens(&self) -> Result<Vec<TokenRow>, StoreError> {
        self.store.tokens()
    }

    fn checkpoint(&self, campaign: &str) -> Result<Option<Checkpoint>, StoreError> {
        self.store.checkpoint(campaign)
    }

    fn compact(&self, compaction: &Compaction) -> Result<Compacted, StoreError> {
        self.store.compact(compaction)
    }

    fn purge(&self, rows: usize) -> Result<u64, StoreError> {
        self.store.purge(rows)
    }

    fn size(&self) -> Result<StoreSize, StoreError> {
        self.store.size()
    }

    fn deleted_campaigns(&self, limit: usize) -> Result<Vec<DeletedCampaign>, StoreError> {
        self.store.deleted_campaigns(limit)
    }

    fn verify(&self) -> Result<Verified, StoreError> {
        self.store.verify()
    }

    fn health(&self) -> Result<(), StoreError> {
        self.store.health()
    }

    fn begin_import(&self) -> Result<(), StoreError> {
        self.store.begin_import()
    }

    fn end_import(&self) -> Result<(), StoreError> {
        self.store.end_import()
    }

    fn close(&self) -> Result<(), StoreError> {
        self.store.close()
    }
}

fn is_caught(check: impl FnOnce()) -> bool {
    catch_unwind(AssertUnwindSafe(check)).is_err()
}

fn is_caught_by(mistake: Mistake, check: &str) -> bool {
    assert!(
        !is_caught(|| suite::named(check, &super::place::memory())),
        "{check} fails without any mistake"
    );
    is_caught(|| suite::named(check, &planted(mistake)))
}

#[test]
fn counting_twice_is_caught() {
    assert!(is_caught_by(Mistake::CountsTwice, "a tell counts once"));
    assert!(is_caught(|| permutation::all(&|| planted(Mistake::CountsTwice), 100)));
}

#[test]
fn float_sums_are_caught() {
    assert!(is_caught(|| permutation::all(&|| planted(Mistake::SumsFloats), 200)));
}

#[test]
fn dropping_late_outcomes_is_caught() {
    assert!(is_caught_by(Mistake::DropsLate, "late counts like all others"));
}

#[test]
fn reusing_round_ids_is_caught() {
    assert!(is_caught_by(Mistake::ReusesRounds, "leases do not overlap"));
}

/// `a_program_that_answers_before_it_writes_is_caught` tests this from outside the process.
#[test]
fn answering_before_writing_is_caught() {
    assert!(is_caught_by(Mistake::AnswersEarly, "a tell counts once"));
}
