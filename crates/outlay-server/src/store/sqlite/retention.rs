//! Removes rows: rounds that were compacted, and campaigns that were deleted. Each call is one
//! short transaction.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, params};

use super::failure::broken;
use super::items::Items;
use super::read::{self, maybe_natural, natural, outcome};
use crate::store::{Checkpoint, Compacted, Compaction, FullSplit, Outcome, TaskCount};

type Write<T> = rusqlite::Result<T>;

const NOTHING: Compacted = Compacted { rounds: 0, outcomes: 0, is_done: true };

/// Replaces the oldest rounds of a campaign by their counts.
pub(super) fn compact(connection: &Connection, compaction: &Compaction) -> Write<Compacted> {
    let Some(campaign) = read::number(connection, &compaction.campaign)? else {
        return Ok(NOTHING);
    };
    let Some(prefix) = prefix(connection, campaign, compaction)? else { return Ok(NOTHING) };
    if compaction.is_dry_run {
        return Ok(Compacted { rounds: prefix.rounds, outcomes: 0, is_done: prefix.is_all });
    }
    let tasks: u32 = connection
        .prepare_cached("SELECT tasks FROM campaign WHERE number = ?1")?
        .query_row([campaign], |row| row.get(0))?;
    let mut checkpoint = read::checkpoint(connection, campaign)?.unwrap_or_else(|| Checkpoint {
        tasks: vec![TaskCount::default(); tasks as usize],
        ..Checkpoint::default()
    });
    let outcomes = checkpoint.outcomes();
    add_reports(connection, campaign, prefix.past, &mut checkpoint)?;
    checkpoint.rounds += prefix.rounds;
    checkpoint.end = checkpoint.end.max(prefix.past.unsigned_abs());
    checkpoint.at = compaction.at;
    for delete in [
        "DELETE FROM ask WHERE campaign = ?1 AND first < ?2",
        "DELETE FROM told WHERE campaign = ?1 AND round < ?2",
        "DELETE FROM correction WHERE campaign = ?1 AND round < ?2",
    ] {
        connection.prepare_cached(delete)?.execute([campaign, prefix.past])?;
    }
    write(connection, campaign, &checkpoint)?;
    Ok(Compacted {
        rounds: prefix.rounds,
        outcomes: checkpoint.outcomes() - outcomes,
        is_done: prefix.is_all,
    })
}

/// The rounds to compact: those of all splits below `past`.
struct Prefix {
    past: i64,
    rounds: u64,
    /// Whether no others qualify.
    is_all: bool,
}

fn prefix(
    connection: &Connection,
    campaign: i64,
    compaction: &Compaction,
) -> Write<Option<Prefix>> {
    let last = "SELECT first FROM ask WHERE campaign = ?1 ORDER BY first DESC LIMIT 1";
    let last_full = "SELECT first FROM ask WHERE campaign = ?1 AND amendments = ?2 AND there = ?3 ORDER BY first DESC LIMIT 1";
    let first = |row: &rusqlite::Row<'_>| row.get(0);
    let kept: Option<i64> = match compaction.keep_last {
        None => connection.prepare_cached(last)?.query_row([campaign], first),
        Some(FullSplit { amendments, tasks }) => {
            let full = params![campaign, whole(amendments)?, tasks];
            connection.prepare_cached(last_full)?.query_row(full, first)
        }
    }
    .optional()?;
    let Some(kept) = kept else { return Ok(None) };
    let list = "SELECT past, past - first, expires_at FROM ask WHERE campaign = ?1 AND first < ?2 ORDER BY first";
    let mut list = connection.prepare_cached(list)?;
    let mut rows = list.query([campaign, kept])?;
    let mut prefix: Option<Prefix> = None;
    while let Some(row) = rows.next()? {
        if row.get::<_, i64>(2)? > compaction.expired_before {
            break;
        }
        let taken = prefix.as_ref().map_or(0, |prefix| prefix.rounds);
        if taken >= compaction.most_rounds.max(1) {
            return Ok(prefix.map(|prefix| Prefix { is_all: false, ..prefix }));
        }
        prefix = Some(Prefix { past: row.get(0)?, rounds: taken + natural(row, 1)?, is_all: true });
    }
    Ok(prefix)
}

/// Adds the outcomes of rounds below `past`, as they count after corrections.
fn add_reports(
    connection: &Connection,
    campaign: i64,
    past: i64,
    checkpoint: &mut Checkpoint,
) -> Write<()> {
    let list = read::corrections(connection)?;
    let list = format!("{list} WHERE campaign = ?1 AND round < ?2 ORDER BY round, task, seq");
    let mut corrected: HashMap<(i64, u32), (Outcome, Option<u64>)> = HashMap::new();
    let mut list = connection.prepare_cached(&list)?;
    let mut rows = list.query([campaign, past])?;
    while let Some(row) = rows.next()? {
        let to = (outcome(row, 6)?, maybe_natural(row, 10)?);
        corrected.insert((row.get(0)?, row.get(1)?), to);
        checkpoint.version += 1;
    }
    let mut list = connection.prepare_cached(
        "SELECT round, is_late, items FROM told WHERE campaign = ?1 AND round < ?2",
    )?;
    let mut rows = list.query([campaign, past])?;
    while let Some(row) = rows.next()? {
        let (round, is_late): (i64, bool) = (row.get(0)?, row.get(1)?);
        for item in Items(row.get_ref(2)?.as_blob()?) {
            let item = item.ok_or_else(|| broken("items of a report"))?;
            let count = checkpoint
                .tasks
                .get_mut(item.task as usize)
                .ok_or_else(|| broken("items of a report"))?;
            let corrected = corrected.get(&(round, item.task));
            let (outcome, expected) = corrected.copied().unwrap_or((item.outcome, None));
            count.add(outcome, expected.unwrap_or(item.expected));
            checkpoint.version += 1;
            checkpoint.late += u64::from(is_late);
        }
    }
    Ok(())
}

/// Writes a checkpoint in place of the one before.
pub(super) fn write(connection: &Connection, campaign: i64, checkpoint: &Checkpoint) -> Write<()> {
    let Checkpoint { end, rounds, version, late, tasks, at } = checkpoint;
    let numbers = [campaign, whole(*end)?, whole(*rounds)?, whole(*version)?, whole(*late)?, *at];
    connection
        .prepare_cached("INSERT OR REPLACE INTO checkpoint (campaign, past, rounds, version, late, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?
        .execute(numbers)?;
    let insert = "INSERT OR REPLACE INTO checkpoint_count (campaign, task, told, completions, reward_sum, expected, spent, \
                  allocated) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    let mut insert = connection.prepare_cached(insert)?;
    for (task, count) in tasks.iter().enumerate().filter(|(_, count)| count.told > 0) {
        let TaskCount { told, completions, reward_sum, expected, spent, allocated } = *count;
        insert.execute(params![
            campaign,
            task as i64,
            whole(told)?,
            whole(completions)?,
            whole(reward_sum)?,
            whole(expected)?,
            whole(spent)?,
            whole(allocated)?
        ])?;
    }
    Ok(())
}

/// Removes at most about this many rows of deleted campaigns; returns the number of removed rows.
pub(super) fn purge(connection: &Connection, rows: usize) -> Write<u64> {
    let most = i64::try_from(rows.max(1)).unwrap_or(i64::MAX);
    let next = "SELECT number FROM deletion WHERE NOT is_purged ORDER BY number LIMIT 1";
    loop {
        let number: Option<i64> =
            connection.prepare_cached(next)?.query_row([], |row| row.get(0)).optional()?;
        let Some(number) = number else { return Ok(0) };
        for (table, key) in [("ask", "first"), ("told", "round"), ("correction", "round")] {
            let removed = purge_table(connection, table, key, number, most)?;
            if removed > 0 {
                return Ok(removed);
            }
        }
        connection
            .prepare_cached("UPDATE deletion SET is_purged = 1 WHERE number = ?1")?
            .execute([number])?;
    }
}

fn purge_table(
    connection: &Connection,
    table: &str,
    key: &str,
    number: i64,
    most: i64,
) -> Write<u64> {
    let delete = format!(
        "DELETE FROM {table} WHERE campaign = ?1 AND {key} <= coalesce((SELECT {key} FROM {table} \
         WHERE campaign = ?1 ORDER BY {key} LIMIT 1 OFFSET ?2), {})",
        i64::MAX
    );
    Ok(connection.prepare_cached(&delete)?.execute([number, most - 1])? as u64)
}

fn whole(number: u64) -> Write<i64> {
    i64::try_from(number).map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
}
