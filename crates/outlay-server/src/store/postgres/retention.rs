//! Removes rows: those of compacted rounds and of deleted campaigns.
//!
//! Reports and requests for rounds take no lock on a campaign, but the rows that they depend on must
//! not be removed meanwhile: a repeated report would count twice if the row of the first were removed
//! just before. So transactions that write rounds hold a shared advisory lock of their campaigns, and
//! removal takes it exclusively. There are few locks, each for many campaigns, so that a large batch
//! does not need many.

use std::collections::HashMap;

use tokio_postgres::types::Type;
use tokio_postgres::{Error, Row};

use super::columns::Counts;
use super::decide::whole;
use super::session::Session;
use super::trouble::Trouble;
use super::{PostgresStore, campaigns, slot, unsigned};
use crate::store::{
    Checkpoint, Compacted, Compaction, DeletedCampaign, Deletion, Done, FullSplit, Refusal,
    RestoredCheckpoint, StoreSize, TaskCount,
};

type Answer = Result<Result<Done, Refusal>, Trouble>;

/// Number of locks.
const LOCKS: i32 = 16;

/// Locks are taken in order, which prevents deadlocks.
const HOLD: &str = "
    SELECT pg_advisory_xact_lock_shared(hashtext('outlay rows ' || current_schema()), lock)
    FROM (SELECT DISTINCT campaign % $2 AS lock FROM unnest($1::int[]) AS campaign ORDER BY 1) AS locks";

const HOLD_ALONE: &str =
    "SELECT pg_advisory_xact_lock(hashtext('outlay rows ' || current_schema()), $1 % $2)";

/// Prevents the deletion and compaction of campaigns until the transaction ends.
pub(super) async fn hold(session: &Session, campaigns: &[i32]) -> Result<(), Error> {
    let values = [(&campaigns as _, Type::INT4_ARRAY), (&LOCKS as _, Type::INT4)];
    session.query(!campaigns.is_empty(), HOLD, &values).await.map(|_| ())
}

/// Waits for transactions that write rounds of a campaign, and blocks new ones until the transaction
/// ends.
pub(super) async fn hold_alone(session: &Session, campaign: i32) -> Result<(), Error> {
    let values = [(&campaign as _, Type::INT4), (&LOCKS as _, Type::INT4)];
    session.client.query_typed(HOLD_ALONE, &values).await.map(|_| ())
}

/// A statement after the lock, so that it sees rows committed while the lock was waited for. Campaigns
/// are looked up one by one, because the table is large and the batch is small.
const REMOVED: &str = "
    SELECT campaign, amendments IS NULL, end_round, amendments FROM (
        SELECT u.campaign, (SELECT c.amendments FROM campaign c WHERE c.number = u.campaign) AS amendments,
            coalesce((SELECT k.end_round FROM checkpoint k WHERE k.campaign = u.campaign), 0) AS end_round
        FROM unnest($1::int[]) AS u (campaign)) AS looked_up
    WHERE amendments IS NULL OR amendments > 0 OR end_round > 0";

/// Which campaigns of a batch were deleted, compacted or amended.
#[derive(Debug, Default)]
pub(super) struct Removed {
    pub(super) deleted: Vec<i32>,
    /// The end of the compacted rounds.
    pub(super) compacted: HashMap<i32, i64>,
    /// Numbers of amendments.
    pub(super) amendments: HashMap<i32, u64>,
}

/// Looks the campaigns up.
pub(super) async fn removed(session: &Session, campaigns: &[i32]) -> Result<Removed, Error> {
    let values = [(&campaigns as _, Type::INT4_ARRAY)];
    let rows = session.query(!campaigns.is_empty(), REMOVED, &values).await?;
    let amendments = |row: &Row| Some((row.get(0), unsigned(row.get::<_, Option<i64>>(3)?)));
    Ok(Removed {
        deleted: rows.iter().filter(|row| row.get(1)).map(|row| row.get(0)).collect(),
        compacted: rows.iter().map(|row| (row.get(0), row.get(2))).collect(),
        amendments: rows.iter().filter_map(amendments).collect(),
    })
}

const WITHOUT_SPLIT: &str = "
    SELECT u.place FROM unnest($1::int[], $2::int[], $3::bigint[]) AS u (place, campaign, round)
    WHERE NOT coalesce((SELECT s.end_round > u.round FROM split s WHERE s.campaign = u.campaign
        AND s.first_round <= u.round ORDER BY s.first_round DESC LIMIT 1), false)";

/// Those of the places (each with a campaign and a round) whose round has no split.
pub(super) async fn without_split(
    session: &Session,
    rounds: &[(usize, i32, i64)],
) -> Result<Vec<usize>, Trouble> {
    let places: Vec<i32> =
        rounds.iter().map(|(place, ..)| i32::try_from(*place).unwrap_or(i32::MAX)).collect();
    let campaigns: Vec<i32> = rounds.iter().map(|(_, campaign, _)| *campaign).collect();
    let numbers: Vec<i64> = rounds.iter().map(|(.., round)| *round).collect();
    let values = [
        (&places as _, Type::INT4_ARRAY),
        (&campaigns as _, Type::INT4_ARRAY),
        (&numbers as _, Type::INT8_ARRAY),
    ];
    let rows = session.client.query_typed(WITHOUT_SPLIT, &values).await?;
    Ok(rows.iter().map(|row| row.get::<_, i32>(0).unsigned_abs() as usize).collect())
}

const FIND_TO_DELETE: &str =
    "SELECT number, version, status = 'closed' FROM campaign WHERE id = $1 FOR UPDATE";

const DELETE: &str = "
    WITH gone AS (DELETE FROM campaign WHERE number = $1 RETURNING number, id),
        lease_gone AS (DELETE FROM lease WHERE campaign = $1)
    INSERT INTO deletion (number, id, at, token, rounds, outcomes, is_purged)
    SELECT number, id, $2, $3, coalesce((SELECT sum(rounds) FROM tally WHERE campaign = $1), 0)::bigint,
        coalesce((SELECT sum(told) FROM stat WHERE campaign = $1), 0)::bigint, false FROM gone
    RETURNING rounds, outcomes";

/// Deletes a campaign. [`purge`] removes its other rows.
pub(super) async fn delete(
    store: &PostgresStore,
    session: &Session,
    deletion: &Deletion,
) -> Answer {
    if deletion.campaign.contains('\0') {
        return Ok(Err(Refusal::NoCampaign));
    }
    session.client.batch_execute(&store.pool.openings.write).await?;
    let id = [(&deletion.campaign as _, Type::TEXT)];
    let found = session.client.query_typed(FIND_TO_DELETE, &id).await?;
    let refusal = match found.first() {
        None => Some(Refusal::NoCampaign),
        Some(row) if row.get::<_, i64>(1) != whole(deletion.only_if) => {
            Some(Refusal::OtherVersion { version: unsigned(row.get(1)) })
        }
        Some(row) if !row.get::<_, bool>(2) && !deletion.force => Some(Refusal::NotClosed),
        Some(_) => None,
    };
    let number: i32 = match (found.first(), refusal) {
        (Some(row), None) => row.get(0),
        (_, refusal) => {
            session.rollback().await?;
            return Ok(Err(refusal.unwrap_or(Refusal::NoCampaign)));
        }
    };
    hold_alone(session, number).await?;
    let values = [
        (&number as _, Type::INT4),
        (&deletion.at as _, Type::INT8),
        (&deletion.token as _, Type::TEXT),
    ];
    let deleted = session.client.query_typed(DELETE, &values).await?;
    session.commit().await?;
    campaigns::forget(store, &deletion.campaign);
    Ok(deleted.first().map_or(Err(Refusal::NoCampaign), |row| {
        Ok(Done::Deleted { rounds: unsigned(row.get(0)), outcomes: unsigned(row.get(1)) })
    }))
}

const RESTORE: &str = "
    WITH added AS (INSERT INTO checkpoint_stat (campaign, task, told, completions, reward_sum, expected, spent, allocated)
        SELECT $1, * FROM unnest($7::int[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[]))
    INSERT INTO checkpoint (campaign, end_round, rounds, version, late, at) VALUES ($1, $2, $3, $4, $5, $6)";

/// Sets the checkpoint of a campaign from another store.
pub(super) async fn restore(
    store: &PostgresStore,
    session: &mut Session,
    restored: &RestoredCheckpoint,
) -> Answer {
    let slot =
        slot::of(session, store.options.slots, &store.options.schema, &store.options.replica)
            .await?;
    let Some(home) = campaigns::find_one(store, session, &restored.campaign).await? else {
        return Ok(Err(Refusal::NoCampaign));
    };
    let Checkpoint { end, rounds, version, late, tasks, at } = &restored.checkpoint;
    session.client.batch_execute(&store.pool.openings.write).await?;
    hold_alone(session, home.number).await?;
    let has_rounds = "SELECT FROM tally WHERE campaign = $1 AND rounds <> 0";
    let number = [(&home.number as _, Type::INT4)];
    if !session.client.query_typed(has_rounds, &number).await?.is_empty() {
        session.rollback().await?;
        return Ok(Err(Refusal::RoundsTaken));
    }
    let counted = || (0_i32..).zip(tasks).filter(|(_, count)| count.told > 0);
    let places: Vec<i32> = counted().map(|(task, _)| task).collect();
    let column = |of: fn(&TaskCount) -> u64| -> Vec<i64> {
        counted().map(|(_, count)| whole(of(count))).collect()
    };
    let columns = [
        column(|count| count.told),
        column(|count| count.completions),
        column(|count| count.reward_sum),
        column(|count| count.expected),
        column(|count| count.spent),
        column(|count| count.allocated),
    ];
    let totals = [end, rounds, version, late].map(|number| whole(*number));
    let values = [
        (&home.number as _, Type::INT4),
        (&totals[0] as _, Type::INT8),
        (&totals[1] as _, Type::INT8),
        (&totals[2] as _, Type::INT8),
        (&totals[3] as _, Type::INT8),
        (at as _, Type::INT8),
        (&places as _, Type::INT4_ARRAY),
        (&columns[0] as _, Type::INT8_ARRAY),
        (&columns[1] as _, Type::INT8_ARRAY),
        (&columns[2] as _, Type::INT8_ARRAY),
        (&columns[3] as _, Type::INT8_ARRAY),
        (&columns[4] as _, Type::INT8_ARRAY),
        (&columns[5] as _, Type::INT8_ARRAY),
    ];
    session.client.execute_typed(RESTORE, &values).await?;
    let next = "UPDATE lease SET next_round = greatest(next_round, $2) WHERE campaign = $1";
    session.client.execute_typed(next, &values[..2]).await?;
    let counts = Counts::of_checkpoint(home.number, &restored.checkpoint);
    counts.add_stats(session, slot).await?;
    counts.add_tallies(session, slot).await?;
    session.commit().await?;
    Ok(Ok(Done::Restored))
}

/// Splits below the first that is kept, in order.
const OLDEST: &str = "
    SELECT end_round, end_round - first_round, expires_at FROM split WHERE campaign = $1 AND first_round <
        (SELECT max(first_round) FROM split WHERE campaign = $1 AND (NOT $2 OR amendments = $4 AND there = $5))
    ORDER BY first_round LIMIT $3";

/// Removes rounds below a given one and adds their counts to the checkpoint.
const COMPACT: &str = "
    WITH split_rows AS (DELETE FROM split WHERE campaign = $1 AND first_round < $2 RETURNING end_round - first_round AS rounds),
        feedback_rows AS (DELETE FROM feedback WHERE campaign = $1 AND round < $2
            RETURNING round, task, seq, coalesce(completions, completed::int) AS completions, reward, expected,
            coalesce(spent, 0) AS spent, coalesce(allocated, 0) AS allocated),
        told_rows AS (DELETE FROM told WHERE campaign = $1 AND seq IN (SELECT seq FROM feedback_rows) RETURNING seq, is_late),
        correction_rows AS (DELETE FROM correction WHERE campaign = $1 AND round < $2
            RETURNING round, task, seq, coalesce(to_completions, to_completed::int) AS completions, to_reward,
            coalesce(to_spent, 0) AS spent, coalesce(to_allocated, 0) AS allocated, to_expected),
        last AS (SELECT DISTINCT ON (round, task) round, task, completions, to_reward, spent, allocated, to_expected
            FROM correction_rows ORDER BY round, task, seq DESC),
        counts AS (SELECT f.task, count(*) AS told, sum(coalesce(last.completions, f.completions))::bigint AS completions,
            sum(coalesce(last.to_reward, f.reward))::bigint AS reward_sum,
            sum(coalesce(last.to_expected, f.expected))::bigint AS expected,
            sum(coalesce(last.spent, f.spent))::bigint AS spent, sum(coalesce(last.allocated, f.allocated))::bigint AS allocated
            FROM feedback_rows f LEFT JOIN last USING (round, task) GROUP BY f.task),
        totals AS (SELECT (SELECT coalesce(sum(rounds), 0) FROM split_rows)::bigint AS rounds,
            (SELECT count(*) FROM feedback_rows) AS outcomes, (SELECT count(*) FROM correction_rows) AS corrections,
            (SELECT count(*) FROM feedback_rows JOIN told_rows USING (seq) WHERE is_late) AS late),
        noted AS (INSERT INTO checkpoint AS old (campaign, end_round, rounds, version, late, at)
            SELECT $1, $2, rounds, outcomes + corrections, late, $3 FROM totals
            ON CONFLICT (campaign) DO UPDATE SET end_round = greatest(old.end_round, EXCLUDED.end_round),
            rounds = old.rounds + EXCLUDED.rounds, version = old.version + EXCLUDED.version,
            late = old.late + EXCLUDED.late, at = EXCLUDED.at),
        added AS (INSERT INTO checkpoint_stat AS old (campaign, task, told, completions, reward_sum, expected, spent, allocated)
            SELECT $1, task, told, completions, reward_sum, expected, spent, allocated FROM counts
            ON CONFLICT (campaign, task) DO UPDATE SET told = old.told + EXCLUDED.told,
            completions = old.completions + EXCLUDED.completions, reward_sum = old.reward_sum + EXCLUDED.reward_sum,
            expected = old.expected + EXCLUDED.expected, spent = old.spent + EXCLUDED.spent,
            allocated = old.allocated + EXCLUDED.allocated)
    SELECT rounds, outcomes FROM totals";

const NOTHING: Compacted = Compacted { rounds: 0, outcomes: 0, is_done: true };

/// Replaces the oldest rounds of a campaign by their counts.
pub(super) async fn compact(
    store: &PostgresStore,
    session: &Session,
    compaction: &Compaction,
) -> Result<Compacted, Trouble> {
    let Some(home) = campaigns::find_one(store, session, &compaction.campaign).await? else {
        return Ok(NOTHING);
    };
    session.client.batch_execute(&store.pool.openings.write).await?;
    hold_alone(session, home.number).await?;
    let most = i64::try_from(compaction.most_rounds.max(1)).unwrap_or(i64::MAX);
    let limit = most.saturating_add(1);
    let full = compaction.keep_last.unwrap_or(FullSplit { amendments: 0, tasks: 0 });
    let amendments = whole(full.amendments);
    let tasks = i32::try_from(full.tasks).unwrap_or(i32::MAX);
    let values = [
        (&home.number as _, Type::INT4),
        (&compaction.keep_last.is_some() as _, Type::BOOL),
        (&limit as _, Type::INT8),
        (&amendments as _, Type::INT8),
        (&tasks as _, Type::INT4),
    ];
    let oldest = session.client.query_typed(OLDEST, &values).await?;
    let Some((end, rounds, is_all)) = end_of(&oldest, compaction.expired_before, most) else {
        session.rollback().await?;
        return Ok(NOTHING);
    };
    if compaction.is_dry_run {
        session.rollback().await?;
        return Ok(Compacted { rounds, outcomes: 0, is_done: is_all });
    }
    let values = [
        (&home.number as _, Type::INT4),
        (&end as _, Type::INT8),
        (&compaction.at as _, Type::INT8),
    ];
    let compacted = session.client.query_typed(COMPACT, &values).await?;
    session.commit().await?;
    let [rounds, outcomes] =
        compacted.first().map_or([0; 2], |row| [0, 1].map(|column| unsigned(row.get(column))));
    Ok(Compacted { rounds, outcomes, is_done: is_all })
}

/// The end and the number of the rounds to compact, and whether no others qualify.
fn end_of(oldest: &[Row], expired_before: i64, most: i64) -> Option<(i64, u64, bool)> {
    let (mut end, mut rounds) = (None, 0);
    for row in oldest {
        if row.get::<_, i64>(2) > expired_before {
            break;
        }
        if rounds >= most {
            return end.map(|end| (end, unsigned(rounds), false));
        }
        end = Some(row.get(0));
        rounds += row.get::<_, i64>(1);
    }
    end.map(|end| (end, unsigned(rounds), true))
}

const TABLES: [&str; 10] = [
    "split",
    "told",
    "feedback",
    "correction",
    "stat",
    "tally",
    "change",
    "amendment",
    "checkpoint",
    "checkpoint_stat",
];

/// Removes at most this many rows of deleted campaigns; returns the number of removed rows.
pub(super) async fn purge(
    store: &PostgresStore,
    session: &Session,
    rows: usize,
) -> Result<u64, Trouble> {
    let most = i64::try_from(rows.max(1)).unwrap_or(i64::MAX);
    let next = "SELECT number FROM deletion WHERE NOT is_purged ORDER BY number LIMIT 1 FOR UPDATE SKIP LOCKED";
    loop {
        session.client.batch_execute(&store.pool.openings.write).await?;
        let found = session.client.query_typed(next, &[]).await?;
        let Some(number) = found.first().map(|row| row.get::<_, i32>(0)) else {
            session.rollback().await?;
            return Ok(0);
        };
        let values = [(&number as _, Type::INT4), (&most as _, Type::INT8)];
        let mut removed = 0;
        for table in TABLES {
            let delete = format!(
                "DELETE FROM {table} WHERE campaign = $1
                AND ctid = ANY (ARRAY(SELECT ctid FROM {table} WHERE campaign = $1 LIMIT $2))"
            );
            removed = session.client.execute_typed(&delete, &values).await?;
            if removed > 0 {
                break;
            }
        }
        if removed == 0 {
            let done = "UPDATE deletion SET is_purged = true WHERE number = $1";
            session.client.execute_typed(done, &values[..1]).await?;
        }
        session.commit().await?;
        if removed > 0 {
            return Ok(removed);
        }
    }
}

const CHECKPOINT: &str = "
    SELECT task, told, completions, reward_sum, expected, spent, allocated FROM checkpoint_stat WHERE campaign = $1
    UNION ALL SELECT -1, end_round, rounds, version, late, at, (SELECT tasks FROM campaign WHERE number = $1)
    FROM checkpoint WHERE campaign = $1 ORDER BY task";

pub(super) async fn checkpoint(
    store: &PostgresStore,
    session: &Session,
    campaign: &str,
) -> Result<Option<Checkpoint>, Trouble> {
    let Some(home) = campaigns::find_one(store, session, campaign).await? else { return Ok(None) };
    let values = [(&home.number as _, Type::INT4)];
    let rows = session.repeatable(&store.pool.openings.read, CHECKPOINT, &values).await?;
    let mut checkpoint = Checkpoint::default();
    let mut is_there = false;
    for row in &rows {
        let [one, two, three, four] = [1, 2, 3, 4].map(|column| unsigned(row.get(column)));
        match usize::try_from(row.get::<_, i32>(0)) {
            Err(_) => {
                is_there = true;
                (checkpoint.end, checkpoint.rounds) = (one, two);
                (checkpoint.version, checkpoint.late) = (three, four);
                checkpoint.at = row.get(5);
                let tasks = row.get::<_, Option<i64>>(6).map_or(0, unsigned);
                checkpoint.tasks = vec![TaskCount::default(); tasks as usize];
            }
            Ok(task) => {
                if let Some(count) = checkpoint.tasks.get_mut(task) {
                    let (told, completions, reward_sum, expected) = (one, two, three, four);
                    let [spent, allocated] = [5, 6].map(|column| unsigned(row.get(column)));
                    *count =
                        TaskCount { told, completions, reward_sum, expected, spent, allocated };
                }
            }
        }
    }
    Ok(is_there.then_some(checkpoint))
}

pub(super) async fn deleted_campaigns(
    store: &PostgresStore,
    session: &Session,
    limit: usize,
) -> Result<Vec<DeletedCampaign>, Trouble> {
    let sql = "SELECT id, at, token, rounds, outcomes FROM deletion ORDER BY at DESC, number DESC LIMIT $1";
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let values = [(&limit as _, Type::INT8)];
    let rows = session.repeatable(&store.pool.openings.read, sql, &values).await?;
    let deleted = |row: &Row| DeletedCampaign {
        id: row.get(0),
        at: row.get(1),
        token: row.get(2),
        rounds: unsigned(row.get(3)),
        outcomes: unsigned(row.get(4)),
    };
    Ok(rows.iter().map(deleted).collect())
}

/// The size of the tables with their indexes. The free part is unknown without reading every page.
pub(super) async fn size(store: &PostgresStore, session: &Session) -> Result<StoreSize, Trouble> {
    let sql = "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c
        JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = current_schema() AND c.relkind = 'r'";
    let rows = session.repeatable(&store.pool.openings.read, sql, &[]).await?;
    let bytes = rows.first().map_or(0, |row| unsigned(row.get(0)));
    Ok(StoreSize { bytes, free: 0 })
}
