//! The record outside of the program: what it acknowledged, held against what is there.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use outlay_server::store::{Command, Done, Item, Store, Tell};

use crate::client::{CAMPAIGN, TASKS, mixed, outcome, split};

#[derive(Debug, Default)]
pub(crate) struct Ledger {
    /// First round and one past the last.
    asked: BTreeMap<u64, u64>,
    told: BTreeSet<(u64, u32)>,
    corrected: BTreeSet<(u64, u32)>,
}

impl Ledger {
    pub(crate) fn len(&self) -> u64 {
        (self.asked.len() + self.told.len() + self.corrected.len()) as u64
    }

    /// Takes what a program said before it was killed. Lines that are not ours are the test harness's; the last may be cut.
    pub(crate) fn take(&mut self, lines: &[String]) -> Result<(), String> {
        for line in lines {
            let words: Vec<&str> = line.split(' ').collect();
            let number = |place: usize| words.get(place).and_then(|word| word.parse::<u64>().ok());
            match (words[0], number(1), number(2)) {
                ("asked", Some(first), Some(past)) => {
                    let before = self.asked.range(..past).next_back();
                    if before.is_some_and(|(_, end)| *end > first) {
                        return Err(format!("rounds {first}..{past} were handed out twice"));
                    }
                    self.asked.insert(first, past);
                }
                ("told", Some(round), Some(task)) => {
                    self.told.insert((round, task as u32));
                }
                ("corrected", Some(round), Some(task)) => {
                    self.corrected.insert((round, task as u32));
                }
                ("twice", Some(round), _) => return Err(format!("round {round} was counted twice")),
                _ => {}
            }
        }
        Ok(())
    }

    /// Nothing is lost, nothing is twice, nothing was never sent. Opening folds all feedback again.
    pub(crate) fn check(&self, folder: &Path) -> Result<(), String> {
        let store = crate::open(folder);
        let verified = store.verify().unwrap();
        if let Some(fault) = verified.faults.first() {
            return Err(format!("counted twice or wrongly: {fault}"));
        }
        let mut told = BTreeMap::new();
        let mut rounds = BTreeSet::new();
        for row in store.rounds(CAMPAIGN, 0, usize::MAX >> 1).unwrap() {
            if *row.split.split != split(row.split.rounds.start) {
                return Err(format!("round {} has a split that nobody decided", row.round));
            }
            rounds.insert(row.round);
            told.extend(row.told.into_iter().map(|(task, outcome)| ((row.round, task), outcome)));
        }
        for (first, past) in &self.asked {
            if let Some(round) = (*first..*past).find(|round| !rounds.contains(round)) {
                return Err(format!("round {round} is lost"));
            }
        }
        for (round, task) in self.told.iter().chain(&self.corrected) {
            if !told.contains_key(&(*round, *task)) {
                return Err(format!("the outcome of round {round}, task {task} is lost"));
            }
        }
        for ((round, task), found) in &told {
            let (first, second) = (outcome(*round, *task, false), outcome(*round, *task, true));
            if self.corrected.contains(&(*round, *task)) && *found != second {
                return Err(format!("the correction of round {round}, task {task} is lost"));
            }
            if *task >= TASKS || ![first, second].contains(found) {
                return Err(format!("nobody sent what is kept of round {round}, task {task}"));
            }
        }
        self.tell_again(&store)
    }

    /// A client that got no answer, or forgot it, sends the same once more: it counts for nothing.
    fn tell_again(&self, store: &dyn Store) -> Result<(), String> {
        let before = store.standing(CAMPAIGN).unwrap();
        for (round, task) in self.told.iter().filter(|(round, task)| mixed(*round ^ u64::from(*task)) % 50 == 0).take(20) {
            let items = vec![Item { task: *task, outcome: outcome(*round, *task, false), expected: 500_000_000 }];
            let tell = Tell { campaign: CAMPAIGN.into(), round: *round, items, is_late: true, at: 0, token: String::new() };
            match store.apply(&[Command::Tell(tell)]).unwrap().remove(0) {
                Ok(Done::Told { is_new, .. }) if is_new == [false] => {}
                other => return Err(format!("round {round}, task {task} told again: {other:?}, counted twice")),
            }
        }
        if store.standing(CAMPAIGN).unwrap() == before { Ok(()) } else { Err("a repetition was counted twice".to_owned()) }
    }
}
