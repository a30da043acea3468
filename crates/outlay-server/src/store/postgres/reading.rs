//! Reads, each in one snapshot of the database.

use std::collections::HashMap;
use std::sync::Arc;

use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::campaigns::{self, Home};
use super::decide::whole;
use super::session::{Session, Value};
use super::trouble::Trouble;
use super::{OutcomeColumns, PostgresStore, digest, outcome, unsigned};
use crate::store::{
    CampaignSnapshot, Event, EventKind, LOOKED_BACK, Millis, Outcome, RoundRow, Split, SplitRow,
    Standing, TaskCount, TokenRow, UsedKey,
};

fn page(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

/// Sums over all slots, of the tasks and (as task -1) of the campaign, and (as task -2) the number
/// of tasks, in one statement so that they are consistent.
const STANDING: &str = "
    SELECT task, sum(told)::bigint, sum(completions)::bigint, sum(reward_sum)::bigint, sum(expected)::bigint,
        sum(spent)::bigint, sum(allocated)::bigint
    FROM stat WHERE campaign = $1 GROUP BY task
    UNION ALL SELECT -1, sum(rounds)::bigint, sum(version)::bigint, sum(late)::bigint, 0, 0, 0 FROM tally WHERE campaign = $1
    HAVING count(*) > 0
    UNION ALL SELECT -2, tasks, 0, 0, 0, 0, 0 FROM campaign WHERE number = $1";

/// The number of the row with the number of tasks.
const TASKS: i32 = -2;

pub(super) async fn standing(
    store: &PostgresStore,
    session: &Session,
    campaign: &str,
) -> Result<Standing, Trouble> {
    let Some(Home { number }) = campaigns::find_one(store, session, campaign).await? else {
        return Ok(Standing::default());
    };
    let rows =
        session.repeatable(&store.pool.openings.read, STANDING, &[(&number, Type::INT4)]).await?;
    Ok(standing_of(&rows))
}

/// The counts of a campaign.
fn standing_of(rows: &[Row]) -> Standing {
    let tasks = rows.iter().find(|row| row.get::<_, i32>(0) == TASKS);
    let tasks = tasks.map_or(0, |row| unsigned(row.get(1)));
    let mut standing =
        Standing { tasks: vec![TaskCount::default(); tasks as usize], ..Standing::default() };
    for row in rows {
        let task = row.get::<_, i32>(0);
        if task == TASKS {
            continue;
        }
        let [first, second, third, fourth, spent, allocated] =
            [1, 2, 3, 4, 5, 6].map(|column| unsigned(row.get(column)));
        match usize::try_from(task) {
            Err(_) => (standing.rounds, standing.version, standing.late) = (first, second, third),
            Ok(task) if task < standing.tasks.len() => {
                standing.tasks[task] = TaskCount {
                    told: first,
                    completions: second,
                    reward_sum: third,
                    expected: fourth,
                    spent,
                    allocated,
                };
            }
            Ok(_) => {}
        }
    }
    standing
}

/// Reads the changing part of a campaign in one round trip; all statements see the same snapshot.
pub(super) async fn snapshot(
    store: &PostgresStore,
    session: &Session,
    campaign: &str,
    after: u64,
) -> Result<Option<CampaignSnapshot>, Trouble> {
    let Some(Home { number }) = campaigns::find_one(store, session, campaign).await? else {
        return Ok(None);
    };
    let after = whole(after);
    let values: [Value<'_>; 2] = [(&number, Type::INT4), (&after, Type::INT8)];
    let status = "SELECT status, version, changed_at, created_at, amendments FROM campaign WHERE number = $1";
    let last = format!("{SPLIT} AND first_round > $2 ORDER BY first_round DESC LIMIT 1");
    let (begun, status, standing, last, ended) = tokio::join! {
        biased;
        session.client.batch_execute(&store.pool.openings.view),
        session.client.query_typed(status, &values[..1]),
        session.client.query_typed(STANDING, &values[..1]),
        session.client.query_typed(&last, &values),
        session.client.batch_execute("COMMIT"),
    };
    begun?;
    let (status, standing, last) = (status?, standing?, last?);
    ended?;
    let Some(row) = status.first() else { return Ok(None) };
    Ok(Some(CampaignSnapshot {
        status: campaigns::status(row.get(0))?,
        version: unsigned(row.get(1)),
        changed_at: row.get(2),
        created_at: row.get(3),
        amendments: unsigned(row.get(4)),
        standing: standing_of(&standing),
        last_split: last.first().map(split_row),
    }))
}

const SPLIT: &str = "SELECT first_round, end_round, budget, available, spend, success, weight, stats_version, at, expires_at, seq, token,
    scale, volume, amendments FROM split WHERE campaign = $1";

fn split_row(row: &Row) -> SplitRow {
    let split = Split {
        budget: row.get(2),
        available: row.get(3),
        spend: row.get(4),
        success: row.get(5),
        index: row.get(6),
        scale: row.get(12),
        volume: row.get(13),
    };
    SplitRow {
        rounds: unsigned(row.get(0))..unsigned(row.get(1)),
        split: Arc::new(split),
        amendments: unsigned(row.get(14)),
        stats_version: unsigned(row.get(7)),
        at: row.get(8),
        expires_at: row.get(9),
    }
}

/// The split with the highest rounds that begins at a round or before it.
pub(super) async fn split_before(
    store: &PostgresStore,
    session: &Session,
    campaign: &str,
    round: i64,
) -> Result<Option<SplitRow>, Trouble> {
    let Some(home) = campaigns::find_one(store, session, campaign).await? else { return Ok(None) };
    let sql = format!("{SPLIT} AND first_round <= $2 ORDER BY first_round DESC LIMIT 1");
    let rows = session
        .repeatable(
            &store.pool.openings.read,
            &sql,
            &[(&home.number, Type::INT4), (&round, Type::INT8)],
        )
        .await?;
    Ok(rows.first().map(split_row))
}

pub(super) async fn split(
    store: &PostgresStore,
    session: &Session,
    campaign: &str,
    round: u64,
) -> Result<Option<SplitRow>, Trouble> {
    let before = split_before(store, session, campaign, whole(round)).await?;
    Ok(before.filter(|split| split.rounds.contains(&round)))
}

const OPEN_ROUNDS: &str = "
    SELECT asked.number, s.expires_at FROM split s
    CROSS JOIN LATERAL generate_series(greatest(s.first_round, $4), s.end_round - 1) AS asked (number)
    LEFT JOIN (SELECT round, count(*) AS told FROM feedback WHERE campaign = $1 AND round >= $4 GROUP BY round) f ON f.round = asked.number
    WHERE s.campaign = $1 AND s.expires_at > $2 AND s.first_round >= $3 AND coalesce(f.told, 0) < s.there
    ORDER BY asked.number";

const COMPLETE_ROUNDS: &str = "
    SELECT asked.round FROM unnest($2::bigint[]) WITH ORDINALITY AS asked (round, place)
    CROSS JOIN LATERAL (SELECT s.end_round, s.there FROM split s WHERE s.campaign = $1 AND s.first_round <= asked.round
        ORDER BY s.first_round DESC LIMIT 1) s
    WHERE s.end_round > asked.round
        AND (SELECT count(*) FROM feedback f WHERE f.campaign = $1 AND f.round = asked.round) >= s.there
    ORDER BY asked.place";

pub(super) async fn complete_rounds(
    store: &PostgresStore,
    session: &Session,
    campaign: &str,
    rounds: &[u64],
) -> Result<Vec<u64>, Trouble> {
    let Some(home) = campaigns::find_one(store, session, campaign).await? else {
        return Ok(Vec::new());
    };
    let rounds: Vec<i64> = rounds.iter().map(|round| whole(*round)).collect();
    let values = [(&home.number as _, Type::INT4), (&rounds as _, Type::INT8_ARRAY)];
    let rows = session.repeatable(&store.pool.openings.read, COMPLETE_ROUNDS, &values).await?;
    Ok(rows.iter().map(|row| unsigned(row.get(0))).collect())
}

pub(super) async fn open_rounds(
    store: &PostgresStore,
    session: &Session,
    campaign: &str,
    now: Millis,
) -> Result<Vec<(u64, Millis)>, Trouble> {
    let Some(home) = campaigns::find_one(store, session, campaign).await? else {
        return Ok(Vec::new());
    };
    let Some(last) = split_before(store, session, campaign, i64::MAX).await? else {
        return Ok(Vec::new());
    };
    let from = whole(last.rounds.end.saturating_sub(LOOKED_BACK));
    // The round may be in the middle of a split.
    let split = split_before(store, session, campaign, from)
        .await?
        .map_or(from, |split| whole(split.rounds.start));
    let values = [
        (&home.number as _, Type::INT4),
        (&now as _, Type::INT8),
        (&split as _, Type::INT8),
        (&from as _, Type::INT8),
    ];
    let rows = session.repeatable(&store.pool.openings.read, OPEN_ROUNDS, &values).await?;
    Ok(rows.iter().map(|row| (unsigned(row.get(0)), row.get(1))).collect())
}

const FEEDBACK: &str =
    "SELECT round, task, completed, completions, reward, spent, allocated FROM feedback
    WHERE campaign = $1 AND round > $2 AND round <= $3 ORDER BY round, task";

const LAST_CORRECTIONS: &str =
    "SELECT DISTINCT ON (round, task) round, task, to_completed, to_completions, to_reward, to_spent, to_allocated FROM correction
    WHERE campaign = $1 AND round > $2 AND round <= $3 ORDER BY round, task, seq DESC";

pub(super) async fn rounds(
    store: &PostgresStore,
    session: &Session,
    campaign: &str,
    after: u64,
    limit: usize,
) -> Result<Vec<RoundRow>, Trouble> {
    let Some(home) = campaigns::find_one(store, session, campaign).await? else {
        return Ok(Vec::new());
    };
    let after = whole(after);
    // Starts at the split that contains the first round, if there is one.
    let sql = format!(
        "{SPLIT} AND first_round >= coalesce((SELECT max(first_round) FROM split WHERE campaign = $1
        AND first_round <= $2), 0) AND end_round - 1 > $2 ORDER BY first_round LIMIT $3"
    );
    let values = [
        (&home.number as _, Type::INT4),
        (&after as _, Type::INT8),
        (&page(limit) as _, Type::INT8),
    ];
    let splits = session.repeatable(&store.pool.openings.read, &sql, &values).await?;
    let splits = splits.iter().map(|row| Arc::new(split_row(row)));
    let numbered =
        splits.flat_map(|split| split.rounds.clone().map(move |round| (round, Arc::clone(&split))));
    let mut rounds: Vec<_> = numbered
        .filter(|(round, _)| whole(*round) > after)
        .take(limit)
        .map(|(round, split)| RoundRow { round, split, told: Vec::new() })
        .collect();
    let last = rounds.last().map_or(after, |last| whole(last.round));
    let values =
        [(&home.number as _, Type::INT4), (&after as _, Type::INT8), (&last as _, Type::INT8)];
    let told = session.repeatable(&store.pool.openings.read, FEEDBACK, &values).await?;
    let corrected =
        session.repeatable(&store.pool.openings.read, LAST_CORRECTIONS, &values).await?;
    let corrected: HashMap<(i64, i32), Outcome> =
        corrected.iter().map(|row| ((row.get(0), row.get(1)), outcome(row, 2))).collect();
    for row in &told {
        let (round, task): (i64, i32) = (row.get(0), row.get(1));
        let counted = corrected.get(&(round, task)).copied().unwrap_or_else(|| outcome(row, 2));
        if let Ok(place) = rounds.binary_search_by_key(&unsigned(round), |row| row.round) {
            rounds[place].told.push((task.unsigned_abs(), counted));
        }
    }
    Ok(rounds)
}

const CHANGES: &str = "SELECT seq, at, token, status FROM change WHERE campaign = $1 AND seq > $2 ORDER BY seq LIMIT $3";

const AMENDMENTS: &str = "SELECT seq, at, token, problem, tasks, changes FROM amendment
    WHERE campaign = $1 AND seq > $2 ORDER BY seq LIMIT $3";

const TOLD: &str = "
    SELECT t.seq, t.at, t.token, t.round, t.is_late, f.tasks, f.completed, f.rewards, f.expected, f.completions, f.spent, f.allocated
    FROM (SELECT * FROM told WHERE campaign = $1 AND seq > $2 ORDER BY seq LIMIT $3) t
    CROSS JOIN LATERAL (SELECT array_agg(task ORDER BY place) AS tasks, array_agg(completed ORDER BY place) AS completed,
        array_agg(reward ORDER BY place) AS rewards, array_agg(expected ORDER BY place) AS expected,
        array_agg(completions ORDER BY place) AS completions, array_agg(spent ORDER BY place) AS spent,
        array_agg(allocated ORDER BY place) AS allocated
        FROM feedback f WHERE f.campaign = $1 AND f.round = t.round AND f.seq = t.seq) f
    ORDER BY t.seq";

const CORRECTIONS: &str = "
    SELECT seq, at, token, round, task, from_completed, from_completions, from_reward, from_spent, from_allocated,
        to_completed, to_completions, to_reward, to_spent, to_allocated, to_expected, why
    FROM correction WHERE campaign = $1 AND seq > $2 ORDER BY seq LIMIT $3";

const LAST_EVENT: &str = "
    SELECT greatest((SELECT max(seq) FROM change WHERE campaign = $1), (SELECT max(seq) FROM split WHERE campaign = $1),
        (SELECT max(seq) FROM told WHERE campaign = $1), (SELECT max(seq) FROM correction WHERE campaign = $1),
        (SELECT max(seq) FROM amendment WHERE campaign = $1))";

/// The number of the last event of a campaign.
pub(super) async fn last_event(
    store: &PostgresStore,
    session: &Session,
    campaign: &str,
) -> Result<u64, Trouble> {
    let Some(home) = campaigns::find_one(store, session, campaign).await? else { return Ok(0) };
    let values = [(&home.number as _, Type::INT4)];
    let rows = session.repeatable(&store.pool.openings.read, LAST_EVENT, &values).await?;
    Ok(rows.first().and_then(|row| row.get::<_, Option<i64>>(0)).map_or(0, unsigned))
}

/// Merges the events of five tables in order.
pub(super) async fn events(
    store: &PostgresStore,
    session: &Session,
    campaign: &str,
    after: u64,
    limit: usize,
) -> Result<Vec<Event>, Trouble> {
    let Some(home) = campaigns::find_one(store, session, campaign).await? else {
        return Ok(Vec::new());
    };
    let (after, limit_rows) = (whole(after), page(limit));
    let values: [Value<'_>; 3] =
        [(&home.number, Type::INT4), (&after, Type::INT8), (&limit_rows, Type::INT8)];
    let splits = format!("{SPLIT} AND seq > $2 ORDER BY seq LIMIT $3");
    // One snapshot for all five: otherwise an event could be seen before an earlier one of another
    // table.
    let (begun, changes, amendments, splits, told, corrections, ended) = tokio::join! {
        biased;
        session.client.batch_execute(&store.pool.openings.view),
        session.client.query_typed(CHANGES, &values),
        session.client.query_typed(AMENDMENTS, &values),
        session.client.query_typed(&splits, &values),
        session.client.query_typed(TOLD, &values),
        session.client.query_typed(CORRECTIONS, &values),
        session.client.batch_execute("COMMIT"),
    };
    begun?;
    let (changes, amendments, splits) = (changes?, amendments?, splits?);
    let (told, corrections) = (told?, corrections?);
    ended?;
    let mut events = changes.iter().map(change_event).collect::<Result<Vec<_>, _>>()?;
    let asked = |row: &Row| Event {
        seq: unsigned(row.get(10)),
        at: row.get(8),
        token: row.get(11),
        kind: EventKind::Asked(split_row(row)),
    };
    events.extend(amendments.iter().map(|row| event(row, amended_kind(row))));
    events.extend(splits.iter().map(asked));
    events.extend(told.iter().map(|row| event(row, told_kind(row))));
    events.extend(corrections.iter().map(|row| event(row, corrected_kind(row))));
    events.sort_by_key(|event| event.seq);
    events.truncate(limit);
    Ok(events)
}

fn event(row: &Row, kind: EventKind) -> Event {
    Event { seq: unsigned(row.get(0)), at: row.get(1), token: row.get(2), kind }
}

fn change_event(row: &Row) -> Result<Event, Trouble> {
    let kind = match row.get::<_, Option<&str>>(3) {
        None => EventKind::Created,
        Some(word) => EventKind::StatusSet(campaigns::status(word)?),
    };
    Ok(event(row, kind))
}

fn amended_kind(row: &Row) -> EventKind {
    let tasks = row.get::<_, i32>(4).unsigned_abs();
    EventKind::Amended { problem: row.get(3), tasks, changes: row.get(5) }
}

/// The problem of a campaign after an amendment.
pub(super) async fn problem(
    store: &PostgresStore,
    session: &Session,
    campaign: &str,
    amendment: u64,
) -> Result<Option<String>, Trouble> {
    let Some(home) = campaigns::find_one(store, session, campaign).await? else { return Ok(None) };
    let sql = "SELECT problem FROM amendment WHERE campaign = $1 AND number = $2";
    let amendment = whole(amendment);
    let values = [(&home.number as _, Type::INT4), (&amendment as _, Type::INT8)];
    let rows = session.repeatable(&store.pool.openings.read, sql, &values).await?;
    Ok(rows.first().map(|row| row.get(0)))
}

fn told_kind(row: &Row) -> EventKind {
    // Aggregates over no rows would be null; every report has rows.
    let tasks: Vec<i32> = row.get::<_, Option<_>>(5).unwrap_or_default();
    let completed: Vec<bool> = row.get::<_, Option<_>>(6).unwrap_or_default();
    let numbers = |column| row.get::<_, Option<Vec<Option<i64>>>>(column).unwrap_or_default();
    let [rewards, expected, completions, spent, allocated] = [7, 8, 9, 10, 11].map(numbers);
    let at = |numbers: &[Option<i64>], place: usize| numbers.get(place).copied().flatten();
    let items = tasks.iter().zip(completed).enumerate().map(|(place, (task, completed))| {
        let outcome = OutcomeColumns {
            completed,
            completions: at(&completions, place),
            reward: at(&rewards, place).unwrap_or(0),
            spent: at(&spent, place),
            allocated: at(&allocated, place),
        };
        let expected = at(&expected, place).map_or(0, unsigned);
        (task.unsigned_abs(), outcome.outcome(), expected)
    });
    EventKind::Told { round: unsigned(row.get(3)), items: items.collect(), is_late: row.get(4) }
}

fn corrected_kind(row: &Row) -> EventKind {
    EventKind::Corrected {
        round: unsigned(row.get(3)),
        task: row.get::<_, i32>(4).unsigned_abs(),
        from: outcome(row, 5),
        to: outcome(row, 10),
        expected: row.get::<_, Option<i64>>(15).map(unsigned),
        why: String::from_utf8_lossy(row.get(16)).into_owned(),
    }
}

pub(super) async fn used_key(
    store: &PostgresStore,
    session: &Session,
    token: &str,
    key: &str,
    now: Millis,
) -> Result<Option<UsedKey>, Trouble> {
    let sql = "SELECT k.request, c.id, k.first_round, k.end_round FROM idempotency k JOIN campaign c ON c.number = k.campaign
        WHERE k.token = $1 AND k.key = $2 AND k.expires_at > $3";
    let key = key.as_bytes();
    let values = [(&token as _, Type::TEXT), (&key as _, Type::BYTEA), (&now as _, Type::INT8)];
    let rows = session.repeatable(&store.pool.openings.read, sql, &values).await?;
    let used = |row: &Row| UsedKey {
        request: digest(row.get(0)),
        campaign: row.get(1),
        rounds: unsigned(row.get(2))..unsigned(row.get(3)),
    };
    Ok(rows.first().map(used))
}

pub(super) async fn tokens(
    store: &PostgresStore,
    session: &Session,
) -> Result<Vec<TokenRow>, Trouble> {
    let sql = "SELECT id, hash, scopes, campaign, created_at, expires_at, revoked_at, last_used_at, name FROM token ORDER BY id";
    let rows = session.repeatable(&store.pool.openings.read, sql, &[]).await?;
    let token = |row: &Row| TokenRow {
        id: row.get(0),
        hash: digest(row.get(1)),
        scopes: row.get(2),
        campaign: row.get(3),
        created_at: row.get(4),
        expires_at: row.get(5),
        revoked_at: row.get(6),
        last_used_at: row.get(7),
        name: row.get(8),
    };
    Ok(rows.iter().map(token).collect())
}
