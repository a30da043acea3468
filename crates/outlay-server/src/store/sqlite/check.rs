//! Check of all counts: feedback is recounted row by row and compared with the stored counts.
//!
//! It runs at every start, so it reads data in the order on disk, and nothing twice.

use std::collections::HashMap;

use rusqlite::Connection;

use super::failure::broken;
use super::items::Items;
use super::read::{self, maybe_natural, natural, outcome};
use crate::store::{Checkpoint, Outcome, Standing, TaskCount, Verified};

type Read<T> = rusqlite::Result<T>;

/// Largest number of listed errors.
const MOST_FAULTS: usize = 20;

/// Number of outcomes, by the counts.
pub(super) fn items_kept(connection: &Connection) -> Read<u64> {
    connection.query_row("SELECT coalesce(sum(told), 0) FROM task_count", [], |row| natural(row, 0))
}

/// Checks that the counts agree with each other, without reading the feedback.
pub(super) fn glance(connection: &Connection) -> Read<Verified> {
    let select = "SELECT id FROM campaign LEFT JOIN tally ON tally.campaign = number WHERE tally.version IS NOT
        (SELECT coalesce(sum(told), 0) FROM task_count WHERE task_count.campaign = number) +
        (SELECT count(*) FROM correction WHERE correction.campaign = number) +
        coalesce((SELECT checkpoint.version FROM checkpoint WHERE checkpoint.campaign = number), 0) -
        (SELECT coalesce(sum(told), 0) FROM checkpoint_count WHERE checkpoint_count.campaign = number) LIMIT 20";
    let mut verified = Verified { items: items_kept(connection)?, ..Verified::default() };
    let mut unsound = connection.prepare(select)?;
    for id in unsound.query_map([], |row| row.get::<_, String>(0))? {
        verified.faults.push(format!("campaign {}: its counts do not agree with each other", id?));
    }
    Ok(verified)
}

/// Checks the integrity of the file, including the indexes, through which exports are read.
pub(super) fn file(connection: &Connection) -> Read<Vec<String>> {
    let mut check = connection.prepare("PRAGMA integrity_check(20)")?;
    let lines: Vec<String> = check.query_map([], |row| row.get(0))?.collect::<Read<_>>()?;
    Ok(lines
        .into_iter()
        .filter(|line| line != "ok")
        .map(|line| format!("the file is damaged: {line}"))
        .collect())
}

/// Recounts all feedback.
pub(super) fn fold(connection: &Connection) -> Read<Verified> {
    let mut verified = Verified::default();
    let mut campaigns = connection.prepare("SELECT number, id FROM campaign ORDER BY number")?;
    let campaigns: Vec<(i64, String)> =
        campaigns.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Read<_>>()?;
    for (number, id) in &campaigns {
        let kept = read::standing(connection, id)?;
        let mut folding = Folding::new(connection, *number, kept.tasks.len())?;
        folding.reports(connection, *number)?;
        let folded = folding.finish();
        verified.campaigns += 1;
        verified.rounds += folded.standing.rounds;
        verified.items += folded.items;
        let mut faults = folded.faults;
        faults.extend(amendment_fault(connection, *number)?);
        if folded.standing != kept {
            faults.push("the counts are not those of its feedback".to_owned());
        }
        let room = MOST_FAULTS.saturating_sub(verified.faults.len());
        verified
            .faults
            .extend(faults.into_iter().take(room).map(|fault| format!("campaign {id}: {fault}")));
    }
    let strays = strays(connection)?;
    if strays > 0 {
        verified.faults.insert(0, format!("{strays} reports belong to no campaign"));
    }
    Ok(verified)
}

/// The amendments of a campaign are those of its record.
fn amendment_fault(connection: &Connection, campaign: i64) -> Read<Option<String>> {
    if !read::has_amendments(connection)? {
        return Ok(None);
    }
    let find = "SELECT amendments = (SELECT count(*) FROM amendment WHERE campaign = ?1)
        AND amendments = coalesce((SELECT max(number) FROM amendment WHERE campaign = ?1), 0)
        AND tasks = coalesce((SELECT tasks FROM amendment WHERE campaign = ?1 ORDER BY number DESC LIMIT 1), tasks)
        FROM campaign WHERE number = ?1";
    let is_sound: bool =
        connection.prepare_cached(find)?.query_row([campaign], |row| row.get(0))?;
    Ok((!is_sound).then(|| "its amendments are not those of its record".to_owned()))
}

/// Reports of campaigns that never existed. Those of deleted campaigns are removed gradually.
fn strays(connection: &Connection) -> Read<i64> {
    let has_deletions = "SELECT count(*) > 0 FROM sqlite_schema WHERE name = 'deletion'";
    let has_deletions: bool = connection.query_row(has_deletions, [], |row| row.get(0))?;
    let known = if has_deletions {
        "(SELECT number FROM campaign UNION ALL SELECT number FROM deletion WHERE NOT is_purged)"
    } else {
        "(SELECT number FROM campaign)"
    };
    // One index look-up per campaign number, not one per report.
    let list = format!(
        "WITH RECURSIVE met (number) AS (SELECT min(campaign) FROM told UNION ALL \
         SELECT (SELECT min(campaign) FROM told WHERE campaign > met.number) FROM met WHERE met.number IS NOT NULL) \
         SELECT coalesce(sum((SELECT count(*) FROM told WHERE campaign = met.number)), 0) FROM met \
         WHERE met.number NOT IN {known}"
    );
    connection.query_row(&list, [], |row| row.get(0))
}

/// The outcome before the first correction and after the last one.
struct Corrected {
    first: Outcome,
    last: Outcome,
    /// Predicted completions after the last one; absent: as reported.
    expected: Option<u64>,
}

/// A campaign being checked.
struct Folding {
    standing: Standing,
    items: u64,
    faults: Vec<String>,
    /// First and one past the last round of each request, in order.
    asks: Vec<(i64, i64)>,
    /// By round and task.
    corrections: HashMap<(i64, u32), Corrected>,
    /// The last round in which each task occurred; rounds are in order.
    last_met: Vec<i64>,
}

impl Folding {
    fn new(connection: &Connection, campaign: i64, tasks: usize) -> Read<Self> {
        let checkpoint = read::checkpoint(connection, campaign)?;
        let items = checkpoint.as_ref().map_or(0, Checkpoint::outcomes);
        let none = || Standing { tasks: vec![TaskCount::default(); tasks], ..Standing::default() };
        let mut folding = Self {
            standing: checkpoint.as_ref().map_or_else(none, Checkpoint::standing),
            items,
            faults: Vec::new(),
            asks: asks(connection, campaign)?,
            corrections: HashMap::new(),
            last_met: vec![i64::MIN; tasks],
        };
        folding.standing.rounds +=
            folding.asks.iter().map(|(first, past)| past.abs_diff(*first)).sum::<u64>();
        if folding.asks.windows(2).any(|pair| pair[1].0 < pair[0].1) {
            folding.faults.push("a round was issued twice".to_owned());
        }
        folding.read_corrections(connection, campaign)?;
        Ok(folding)
    }

    fn read_corrections(&mut self, connection: &Connection, campaign: i64) -> Read<()> {
        let list = read::corrections(connection)?;
        let list = format!("{list} WHERE campaign = ?1 ORDER BY round, task, seq");
        let mut list = connection.prepare_cached(&list)?;
        let mut rows = list.query([campaign])?;
        while let Some(row) = rows.next()? {
            let (place, from, to) =
                ((row.get(0)?, row.get(1)?), outcome(row, 2)?, outcome(row, 6)?);
            let none = Corrected { first: from, last: from, expected: None };
            let corrected = self.corrections.entry(place).or_insert(none);
            if corrected.last != from {
                self.faults.push(format!(
                    "round {}: a correction does not follow the one before",
                    place.0
                ));
            }
            (corrected.last, corrected.expected) = (to, maybe_natural(row, 10)?);
            self.standing.version += 1;
        }
        Ok(())
    }

    fn reports(&mut self, connection: &Connection, campaign: i64) -> Read<()> {
        let list = "SELECT round, is_late, items FROM told WHERE campaign = ?1 ORDER BY round, seq";
        let mut list = connection.prepare_cached(list)?;
        let mut rows = list.query([campaign])?;
        let mut ask = 0;
        while let Some(row) = rows.next()? {
            let round = row.get(0)?;
            while self.asks.get(ask).is_some_and(|(_, past)| *past <= round) {
                ask += 1;
            }
            if self.asks.get(ask).is_none_or(|(first, _)| *first > round) {
                self.faults.push(format!("round {round}: reported, but never issued"));
            }
            let before = self.items;
            self.report(round, row.get_ref(2)?.as_blob()?)?;
            let count = self.items - before;
            self.standing.version += count;
            self.standing.late += if row.get(1)? { count } else { 0 };
        }
        Ok(())
    }

    fn report(&mut self, round: i64, items: &[u8]) -> Read<()> {
        for item in Items(items) {
            let item = item.ok_or_else(|| broken("items of a report"))?;
            let task = item.task as usize;
            let (Some(count), Some(met)) =
                (self.standing.tasks.get_mut(task), self.last_met.get_mut(task))
            else {
                self.faults.push(format!("round {round}: a task that the campaign does not have"));
                continue;
            };
            if std::mem::replace(met, round) == round {
                self.faults.push(format!("round {round}: task {task} is counted twice"));
            }
            let (mut outcome, mut expected) = (item.outcome, item.expected);
            if !self.corrections.is_empty()
                && let Some(corrected) = self.corrections.remove(&(round, item.task))
            {
                if corrected.first != outcome {
                    self.faults.push(format!(
                        "round {round}: a correction of an outcome that differs from the reported one"
                    ));
                }
                outcome = corrected.last;
                expected = corrected.expected.unwrap_or(expected);
            }
            count.add(outcome, expected);
            self.items += 1;
        }
        Ok(())
    }

    fn finish(mut self) -> Self {
        if !self.corrections.is_empty() {
            self.faults.push(format!(
                "{} corrections of outcomes that were never reported",
                self.corrections.len()
            ));
        }
        self
    }
}

fn asks(connection: &Connection, campaign: i64) -> Read<Vec<(i64, i64)>> {
    // The index contains all that is needed, without the splits.
    let list = "SELECT first, past FROM ask INDEXED BY ask_by_expiry WHERE campaign = ?1";
    let mut list = connection.prepare_cached(list)?;
    let mut asks: Vec<(i64, i64)> =
        list.query_map([campaign], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Read<_>>()?;
    asks.sort_unstable();
    Ok(asks)
}
