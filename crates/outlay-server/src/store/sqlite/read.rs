//! Reads, on separate connections: readers never wait for the writer.
//!
//! Reads with several statements use one transaction, so that they are consistent.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::failure::broken;
use super::items::{self, Items};
use crate::store::{
    CampaignRow, CampaignStatus, Checkpoint, DeletedCampaign, Delivery, Event, EventKind,
    LOOKED_BACK, Millis, Outcome, RoundRow, Split, SplitRow, Standing, TaskCount, TokenRow,
    UsedKey,
};

type Read<T> = rusqlite::Result<T>;

const CAMPAIGN: &str = "SELECT id, campaign.tasks, status, version, created_at, changed_at, spec, amendments, problem FROM campaign \
    LEFT JOIN amendment ON amendment.campaign = campaign.number AND amendment.number = campaign.amendments";
const EARLIER_CAMPAIGN: &str =
    "SELECT id, tasks, status, version, created_at, changed_at, spec, 0, NULL FROM campaign";
const ASK: &str = "SELECT first, past, stats_version, at, expires_at, budget, available, spend, success, idx, seq, token, \
    scale, volume, amendments FROM ask";
const EARLIER_ASK: &str = "SELECT first, past, stats_version, at, expires_at, budget, available, spend, success, idx, seq, token, \
    NULL, NULL, 0 FROM ask";

/// An unexpired key of a campaign that has not been deleted since.
pub(super) const LIVE_KEY: &str = "WHERE token = ?1 AND key = ?2 AND expires_at > ?3 AND CASE \
    WHEN used_key.number IS NULL THEN NOT EXISTS (SELECT 1 FROM deletion WHERE id = used_key.campaign) \
    ELSE EXISTS (SELECT 1 FROM campaign WHERE campaign.number = used_key.number) END";

/// Reads inside one transaction.
pub(super) fn together<T>(
    connection: &Connection,
    read: impl FnOnce(&Connection) -> Read<T>,
) -> Read<T> {
    let transaction = connection.unchecked_transaction()?;
    let read = read(&transaction)?;
    transaction.finish()?;
    Ok(read)
}

pub(super) fn number(connection: &Connection, campaign: &str) -> Read<Option<i64>> {
    let mut find = connection.prepare_cached("SELECT number FROM campaign WHERE id = ?1")?;
    find.query_row([campaign], |row| row.get(0)).optional()
}

pub(super) fn campaign(connection: &Connection, id: &str) -> Read<Option<CampaignRow>> {
    let select = campaign_rows(connection)?;
    connection
        .prepare_cached(&format!("{select} WHERE id = ?1"))?
        .query_row([id], campaign_row)
        .optional()
}

pub(super) fn campaigns(
    connection: &Connection,
    after: Option<&str>,
    limit: usize,
) -> Read<Vec<CampaignRow>> {
    let select = campaign_rows(connection)?;
    let mut list = connection
        .prepare_cached(&format!("{select} WHERE ?1 IS NULL OR id > ?1 ORDER BY id LIMIT ?2"))?;
    list.query_map(params![after, count(limit)], campaign_row)?.collect()
}

fn campaign_row(row: &Row<'_>) -> Read<CampaignRow> {
    Ok(CampaignRow {
        id: row.get(0)?,
        tasks: row.get(1)?,
        status: status(row.get(2)?)?,
        version: natural(row, 3)?,
        created_at: row.get(4)?,
        changed_at: row.get(5)?,
        spec: row.get(6)?,
        amendments: natural(row, 7)?,
        problem: row.get(8)?,
    })
}

/// The problem after an amendment.
pub(super) fn problem(
    connection: &Connection,
    campaign: i64,
    amendment: u64,
) -> Read<Option<String>> {
    let (Ok(amendment), true) = (i64::try_from(amendment), has_amendments(connection)?) else {
        return Ok(None);
    };
    let find = "SELECT problem FROM amendment WHERE campaign = ?1 AND number = ?2";
    let mut find = connection.prepare_cached(find)?;
    find.query_row([campaign, amendment], |row| row.get(0)).optional()
}

fn status(number: i64) -> Read<CampaignStatus> {
    match number {
        0 => Ok(CampaignStatus::Open),
        1 => Ok(CampaignStatus::Paused),
        2 => Ok(CampaignStatus::Closed),
        _ => Err(broken("status of a campaign")),
    }
}

pub(super) fn standing(connection: &Connection, campaign: &str) -> Read<Standing> {
    let find = "SELECT number, tasks, tally.version, rounds, late FROM campaign LEFT JOIN tally ON campaign = number WHERE id = ?1";
    let totals = |row: &Row<'_>| {
        let tasks = vec![TaskCount::default(); row.get::<_, u32>(1)? as usize];
        Ok((
            row.get::<_, i64>(0)?,
            Standing {
                tasks,
                version: natural(row, 2)?,
                rounds: natural(row, 3)?,
                late: natural(row, 4)?,
            },
        ))
    };
    let Some((number, mut standing)) =
        connection.prepare_cached(find)?.query_row([campaign], totals).optional()?
    else {
        return Ok(Standing::default());
    };
    read_counts(connection, "task_count", number, &mut standing.tasks)?;
    Ok(standing)
}

/// The counts of compacted rounds.
pub(super) fn checkpoint(connection: &Connection, campaign: i64) -> Read<Option<Checkpoint>> {
    // Files of earlier versions can be read without migration.
    let is_known = "SELECT count(*) > 0 FROM sqlite_schema WHERE name = 'checkpoint'";
    if !connection.prepare_cached(is_known)?.query_row([], |row| row.get::<_, bool>(0))? {
        return Ok(None);
    }
    let find = "SELECT past, checkpoint.rounds, checkpoint.version, late, at, tasks FROM checkpoint \
                JOIN campaign ON number = campaign WHERE campaign = ?1";
    let totals = |row: &Row<'_>| {
        Ok(Checkpoint {
            end: natural(row, 0)?,
            rounds: natural(row, 1)?,
            version: natural(row, 2)?,
            late: natural(row, 3)?,
            at: row.get(4)?,
            tasks: vec![TaskCount::default(); row.get::<_, u32>(5)? as usize],
        })
    };
    let found = connection.prepare_cached(find)?.query_row([campaign], totals).optional()?;
    let Some(mut checkpoint) = found else { return Ok(None) };
    read_counts(connection, "checkpoint_count", campaign, &mut checkpoint.tasks)?;
    Ok(Some(checkpoint))
}

/// Whether a table has a column. Files of earlier versions can be read without migration.
fn has_column(connection: &Connection, table: &str, column: &str) -> Read<bool> {
    let find = "SELECT count(*) > 0 FROM pragma_table_info(?1) WHERE name = ?2";
    connection.prepare_cached(find)?.query_row([table, column], |row| row.get(0))
}

fn has_spends(connection: &Connection) -> Read<bool> {
    has_column(connection, "correction", "to_spent")
}

/// Selects splits.
fn asks(connection: &Connection) -> Read<&'static str> {
    Ok(if has_column(connection, "ask", "amendments")? { ASK } else { EARLIER_ASK })
}

/// Whether campaigns can have amendments.
pub(super) fn has_amendments(connection: &Connection) -> Read<bool> {
    has_column(connection, "campaign", "amendments")
}

/// Selects campaigns.
fn campaign_rows(connection: &Connection) -> Read<&'static str> {
    Ok(if has_amendments(connection)? { CAMPAIGN } else { EARLIER_CAMPAIGN })
}

/// Selects round, task, the outcomes before and after, and the new expected completions.
pub(super) fn corrections(connection: &Connection) -> Read<&'static str> {
    Ok(if has_spends(connection)? {
        "SELECT round, task, from_completed, from_reward, from_spent, from_allocated, \
         to_completed, to_reward, to_spent, to_allocated, to_expected, seq, at, token, why FROM correction"
    } else {
        "SELECT round, task, from_completed, from_reward, NULL, NULL, \
         to_completed, to_reward, NULL, NULL, NULL, seq, at, token, why FROM correction"
    })
}

/// Reads the counts of each task from a table.
fn read_counts(
    connection: &Connection,
    table: &str,
    campaign: i64,
    tasks: &mut [TaskCount],
) -> Read<()> {
    let spends = if has_spends(connection)? { "spent, allocated" } else { "0, 0" };
    let select = format!(
        "SELECT task, told, completions, reward_sum, expected, {spends} FROM {table} WHERE campaign = ?1"
    );
    let mut counts = connection.prepare_cached(&select)?;
    let mut rows = counts.query([campaign])?;
    while let Some(row) = rows.next()? {
        let count = tasks
            .get_mut(row.get::<_, u32>(0)? as usize)
            .ok_or_else(|| broken("count of a task that is not there"))?;
        *count = TaskCount {
            told: natural(row, 1)?,
            completions: natural(row, 2)?,
            reward_sum: natural(row, 3)?,
            expected: natural(row, 4)?,
            spent: natural(row, 5)?,
            allocated: natural(row, 6)?,
        };
    }
    Ok(())
}

/// Deleted campaigns, the latest first.
pub(super) fn deleted_campaigns(
    connection: &Connection,
    limit: usize,
) -> Read<Vec<DeletedCampaign>> {
    let list = "SELECT id, at, token, rounds, outcomes FROM deletion ORDER BY number DESC LIMIT ?1";
    let deleted = |row: &Row<'_>| {
        Ok(DeletedCampaign {
            id: row.get(0)?,
            at: row.get(1)?,
            token: row.get(2)?,
            rounds: natural(row, 3)?,
            outcomes: natural(row, 4)?,
        })
    };
    connection.prepare_cached(list)?.query_map([count(limit)], deleted)?.collect()
}

pub(super) fn split(connection: &Connection, campaign: i64, round: u64) -> Read<Option<SplitRow>> {
    let Ok(round) = i64::try_from(round) else { return Ok(None) };
    let select = asks(connection)?;
    let mut find = connection.prepare_cached(&format!(
        "{select} WHERE campaign = ?1 AND first <= ?2 ORDER BY first DESC LIMIT 1"
    ))?;
    let split = find.query_row([campaign, round], split_row).optional()?;
    Ok(split.filter(|split| split.rounds.contains(&(round as u64))))
}

pub(super) fn last_split(connection: &Connection, campaign: i64) -> Read<Option<SplitRow>> {
    let select = asks(connection)?;
    let mut find = connection
        .prepare_cached(&format!("{select} WHERE campaign = ?1 ORDER BY first DESC LIMIT 1"))?;
    find.query_row([campaign], split_row).optional()
}

/// One past the highest issued round.
pub(super) fn past_rounds(connection: &Connection, campaign: i64) -> Read<u64> {
    let find = "SELECT max(coalesce((SELECT past FROM ask WHERE campaign = ?1 ORDER BY first DESC LIMIT 1), 1), \
                coalesce((SELECT past FROM checkpoint WHERE campaign = ?1), 1))";
    connection.prepare_cached(find)?.query_row([campaign], |row| natural(row, 0))
}

fn split_row(row: &Row<'_>) -> Read<SplitRow> {
    let floats = |place| {
        items::read_floats(row.get_ref(place)?.as_blob()?)
            .ok_or_else(|| broken("numbers of a split"))
    };
    let maybe_floats = |place| -> Read<Option<Vec<f64>>> {
        let is_there = row.get_ref(place)?.as_blob_or_null()?.is_some();
        is_there.then(|| floats(place)).transpose()
    };
    let split = Split {
        budget: row.get(5)?,
        available: row.get_ref(6)?.as_blob_or_null()?.map(items::read_mask),
        scale: maybe_floats(12)?,
        volume: maybe_floats(13)?,
        spend: floats(7)?,
        success: floats(8)?,
        index: floats(9)?,
    };
    Ok(SplitRow {
        rounds: natural(row, 0)?..natural(row, 1)?,
        split: Arc::new(split),
        amendments: natural(row, 14)?,
        stats_version: natural(row, 2)?,
        at: row.get(3)?,
        expires_at: row.get(4)?,
    })
}

pub(super) fn open_rounds(
    connection: &Connection,
    campaign: i64,
    now: Millis,
) -> Read<Vec<(u64, Millis)>> {
    let last = "SELECT past FROM ask WHERE campaign = ?1 ORDER BY first DESC LIMIT 1";
    let last: Option<i64> =
        connection.prepare_cached(last)?.query_row([campaign], |row| row.get(0)).optional()?;
    let from = last.unwrap_or(0).saturating_sub_unsigned(LOOKED_BACK);
    let waiting = "SELECT max(first, ?3), past, there, expires_at FROM ask WHERE campaign = ?1 AND expires_at > ?2 AND past > ?3";
    let mut waiting = connection.prepare_cached(waiting)?;
    let ask = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?));
    let mut waiting: Vec<(i64, i64, i64, Millis)> =
        waiting.query_map(params![campaign, now, from], ask)?.collect::<Read<_>>()?;
    waiting.sort_unstable();
    let Some(&(from, ..)) = waiting.first() else { return Ok(Vec::new()) };
    let mut told = connection.prepare_cached(
        "SELECT round, items FROM told WHERE campaign = ?1 AND round >= ?2 ORDER BY round",
    )?;
    let mut rows = told.query([campaign, from])?;
    let mut next = next_count(&mut rows)?;
    let mut open = Vec::new();
    for (first, past, there, expires_at) in waiting {
        for round in first..past {
            let mut told = 0;
            while let Some((at, items)) = next.filter(|(at, _)| *at <= round) {
                told += if at == round { items } else { 0 };
                next = next_count(&mut rows)?;
            }
            if told < there {
                open.push((round as u64, expires_at));
            }
        }
    }
    Ok(open)
}

/// The round of a report and the number of its items.
fn next_count(rows: &mut rusqlite::Rows<'_>) -> Read<Option<(i64, i64)>> {
    let Some(row) = rows.next()? else { return Ok(None) };
    Ok(Some((row.get(0)?, Items(row.get_ref(1)?.as_blob()?).count() as i64)))
}

pub(super) fn rounds(
    connection: &Connection,
    campaign: i64,
    after: u64,
    limit: usize,
) -> Read<Vec<RoundRow>> {
    let Ok(from) = i64::try_from(after.saturating_add(1)) else { return Ok(Vec::new()) };
    let before =
        "SELECT first FROM ask WHERE campaign = ?1 AND first <= ?2 ORDER BY first DESC LIMIT 1";
    let start: Option<i64> = connection
        .prepare_cached(before)?
        .query_row([campaign, from], |row| row.get(0))
        .optional()?;
    let select = asks(connection)?;
    let mut asks = connection
        .prepare_cached(&format!("{select} WHERE campaign = ?1 AND first >= ?2 ORDER BY first"))?;
    let mut rows = asks.query([campaign, start.unwrap_or(from)])?;
    let mut page: Vec<RoundRow> = Vec::new();
    while page.len() < limit {
        let Some(row) = rows.next()? else { break };
        let split = Arc::new(split_row(row)?);
        let wanted =
            split.rounds.clone().filter(|round| *round >= from as u64).take(limit - page.len());
        page.extend(wanted.map(|round| RoundRow {
            round,
            split: Arc::clone(&split),
            told: Vec::new(),
        }));
    }
    if let (Some(first), Some(last)) = (page.first(), page.last()) {
        let mut told = told(connection, campaign, first.round..last.round + 1)?;
        page.iter_mut().for_each(|row| row.told = told.remove(&row.round).unwrap_or_default());
    }
    Ok(page)
}

/// The valid outcomes of each round.
fn told(
    connection: &Connection,
    campaign: i64,
    rounds: Range<u64>,
) -> Read<BTreeMap<u64, Vec<(u32, Outcome)>>> {
    let span = [campaign, rounds.start as i64, rounds.end as i64];
    let mut told: BTreeMap<u64, Vec<(u32, Outcome)>> = BTreeMap::new();
    let mut reports = connection.prepare_cached(
        "SELECT round, items FROM told WHERE campaign = ?1 AND round >= ?2 AND round < ?3",
    )?;
    let mut rows = reports.query(span)?;
    while let Some(row) = rows.next()? {
        let of_round = told.entry(natural(row, 0)?).or_default();
        for item in Items(row.get_ref(1)?.as_blob()?) {
            let item = item.ok_or_else(|| broken("items of a report"))?;
            of_round.push((item.task, item.outcome));
        }
    }
    told.values_mut().for_each(|of_round| of_round.sort_unstable_by_key(|(task, _)| *task));
    let corrections = format!(
        "{} WHERE campaign = ?1 AND round >= ?2 AND round < ?3 ORDER BY round, task, seq",
        corrections(connection)?
    );
    let mut corrections = connection.prepare_cached(&corrections)?;
    let mut rows = corrections.query(span)?;
    while let Some(row) = rows.next()? {
        let (task, outcome): (u32, _) = (row.get(1)?, outcome(row, 6)?);
        let Some(of_round) = told.get_mut(&natural(row, 0)?) else { continue };
        if let Ok(place) = of_round.binary_search_by_key(&task, |(task, _)| *task) {
            of_round[place].1 = outcome;
        }
    }
    Ok(told)
}

/// The number of the last event of a campaign.
pub(super) fn last_event(connection: &Connection, campaign: i64) -> Read<u64> {
    let amended = if has_amendments(connection)? {
        "SELECT max(seq) FROM amendment WHERE campaign = ?1"
    } else {
        "NULL"
    };
    let last = format!(
        "SELECT max(coalesce((SELECT max(seq) FROM status_event WHERE campaign = ?1), 0),
        coalesce((SELECT max(seq) FROM ask WHERE campaign = ?1), 0),
        coalesce((SELECT max(seq) FROM told WHERE campaign = ?1), 0),
        coalesce((SELECT max(seq) FROM correction WHERE campaign = ?1), 0), coalesce(({amended}), 0))"
    );
    connection.prepare_cached(&last)?.query_row([campaign], |row| natural(row, 0))
}

pub(super) fn events(
    connection: &Connection,
    campaign: i64,
    after: u64,
    limit: usize,
) -> Read<Vec<Event>> {
    let Ok(after) = i64::try_from(after) else { return Ok(Vec::new()) };
    // The range of the page, from the indexes alone.
    let has_amendments = has_amendments(connection)?;
    let amended = "SELECT seq FROM amendment WHERE campaign = ?1 AND seq > ?2 UNION ALL";
    let amended = if has_amendments { amended } else { "" };
    let reach = format!(
        "SELECT max(seq) FROM ({amended}
        SELECT seq FROM status_event WHERE campaign = ?1 AND seq > ?2 UNION ALL
        SELECT seq FROM ask WHERE campaign = ?1 AND seq > ?2 UNION ALL
        SELECT seq FROM told WHERE campaign = ?1 AND seq > ?2 UNION ALL
        SELECT seq FROM correction WHERE campaign = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3)"
    );
    let reach: Option<i64> = connection
        .prepare_cached(&reach)?
        .query_row([campaign, after, count(limit)], |row| row.get(0))?;
    let Some(reach) = reach else { return Ok(Vec::new()) };
    let page = [campaign, after, reach];
    let mut events = Vec::new();
    let mut add = |select: &str, event: fn(&Row<'_>) -> Read<Event>| -> Read<()> {
        let mut list = connection
            .prepare_cached(&format!("{select} WHERE campaign = ?1 AND seq > ?2 AND seq <= ?3"))?;
        for event in list.query_map(page, event)? {
            events.push(event?);
        }
        Ok(())
    };
    add("SELECT seq, at, token, status FROM status_event", |row| {
        let kind = row
            .get::<_, Option<i64>>(3)?
            .map_or(Ok(EventKind::Created), |number| status(number).map(EventKind::StatusSet))?;
        event(row, [0, 1, 2], kind)
    })?;
    if has_amendments {
        add("SELECT seq, at, token, problem, tasks, changes FROM amendment", |row| {
            let (problem, tasks, changes) = (row.get(3)?, row.get(4)?, row.get(5)?);
            event(row, [0, 1, 2], EventKind::Amended { problem, tasks, changes })
        })?;
    }
    add(asks(connection)?, |row| event(row, [10, 3, 11], EventKind::Asked(split_row(row)?)))?;
    add("SELECT seq, at, token, round, is_late, items FROM told", |row| {
        let items = Items(row.get_ref(5)?.as_blob()?)
            .map(|item| item.map(|item| (item.task, item.outcome, item.expected)));
        let items = items.collect::<Option<_>>().ok_or_else(|| broken("items of a report"))?;
        event(
            row,
            [0, 1, 2],
            EventKind::Told { round: natural(row, 3)?, items, is_late: row.get(4)? },
        )
    })?;
    add(corrections(connection)?, |row| {
        let (round, task, why) = (natural(row, 0)?, row.get(1)?, row.get(14)?);
        let (from, to, expected) = (outcome(row, 2)?, outcome(row, 6)?, maybe_natural(row, 10)?);
        event(row, [11, 12, 13], EventKind::Corrected { round, task, from, to, expected, why })
    })?;
    events.sort_unstable_by_key(|event| event.seq);
    Ok(events)
}

fn event(row: &Row<'_>, [seq, at, token]: [usize; 3], kind: EventKind) -> Read<Event> {
    Ok(Event { seq: natural(row, seq)?, at: row.get(at)?, token: row.get(token)?, kind })
}

pub(super) fn used_key(
    connection: &Connection,
    token: &str,
    key: &str,
    now: Millis,
) -> Read<Option<UsedKey>> {
    let find = format!("SELECT request, campaign, first, past FROM used_key {LIVE_KEY}");
    let used = |row: &Row<'_>| {
        Ok(UsedKey {
            request: row.get(0)?,
            campaign: row.get(1)?,
            rounds: natural(row, 2)?..natural(row, 3)?,
        })
    };
    connection.prepare_cached(&find)?.query_row(params![token, key, now], used).optional()
}

pub(super) fn tokens(connection: &Connection) -> Read<Vec<TokenRow>> {
    // Files of earlier versions can be read without migration.
    let find = "SELECT count(*) > 0 FROM pragma_table_info('token') WHERE name = ?1";
    let mut find = connection.prepare_cached(find)?;
    let mut or_null = |column: &'static str| -> Read<&'static str> {
        let is_there: bool = find.query_row([column], |row| row.get(0))?;
        Ok(if is_there { column } else { "NULL" })
    };
    let (used, name) = (or_null("last_used_at")?, or_null("name")?);
    let list = format!(
        "SELECT id, hash, scopes, campaign, created_at, expires_at, revoked_at, {used}, {name} FROM token ORDER BY id"
    );
    let token = |row: &Row<'_>| {
        let scopes = serde_json::from_str(row.get_ref(2)?.as_str()?)
            .map_err(|_| broken("scopes of a token"))?;
        Ok(TokenRow {
            id: row.get(0)?,
            hash: row.get(1)?,
            scopes,
            campaign: row.get(3)?,
            created_at: row.get(4)?,
            expires_at: row.get(5)?,
            revoked_at: row.get(6)?,
            last_used_at: row.get(7)?,
            name: row.get(8)?,
        })
    };
    connection.prepare_cached(&list)?.query_map([], token)?.collect()
}

/// Completions, reward, actual and allocated spend.
pub(super) fn outcome(row: &Row<'_>, place: usize) -> Read<Outcome> {
    let spent = maybe_natural(row, place + 2)?.zip(maybe_natural(row, place + 3)?);
    Ok(Outcome {
        completions: natural(row, place)?,
        reward: natural(row, place + 1)?,
        delivery: spent.map(|(spent, allocated)| Delivery { spent, allocated }),
    })
}

/// A number that may be null.
pub(super) fn maybe_natural(row: &Row<'_>, place: usize) -> Read<Option<u64>> {
    row.get::<_, Option<i64>>(place)?.map(|_| natural(row, place)).transpose()
}

/// A number, or another one if it is null.
pub(super) fn natural_or(row: &Row<'_>, place: usize, other: u64) -> Read<u64> {
    Ok(maybe_natural(row, place)?.unwrap_or(other))
}

/// A number that was written as unsigned.
pub(super) fn natural(row: &Row<'_>, place: usize) -> Read<u64> {
    u64::try_from(row.get::<_, i64>(place)?).map_err(|_| broken("a number that cannot be negative"))
}

fn count(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}
