//! Requests and reports: one transaction per batch, without a lock on any campaign.
//!
//! Rows are written in one order everywhere: keys, splits, feedback, counts, each sorted. A
//! transaction only waits for one that is further ahead in this order, so there are no deadlocks.

use std::collections::{BTreeSet, HashMap, HashSet};

use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::columns::{
    CompleteColumns, Counts, FeedbackColumns, KeyColumns, SplitColumns, ToldColumns,
};
use super::decide::{Answer, Decision, Known, Place, Stored, Wanted, decide, place, whole};
use super::session::{Session, Value};
use super::trouble::Trouble;
use super::{SEQ_STEP, digest, outcome, retention, totals, unsigned};
use crate::store::{Done, Refusal, UsedKey};

/// How often a batch is decided again because others wrote the same rows meanwhile. Each time at
/// least one more of its rows is known, and few are ever contested.
const ATTEMPTS: usize = 100;

const READ_KEYS: &str = "
    SELECT k.token, k.key, k.request, c.id, k.first_round, k.end_round, k.expires_at
    FROM unnest($1::text[], $2::bytea[]) AS u (token, key)
    JOIN idempotency k ON k.token = u.token AND k.key = u.key JOIN campaign c ON c.number = k.campaign";

/// Earlier outcomes and their last corrections. Looked up one by one, because the table is large
/// and the batch is small.
const READ_FEEDBACK: &str = "
    SELECT u.campaign, u.round, u.task, f.completed, f.completions, f.reward, f.spent, f.allocated,
        c.to_completed, c.to_completions, c.to_reward, c.to_spent, c.to_allocated
    FROM unnest($1::int[], $2::bigint[], $3::int[]) AS u (campaign, round, task)
    CROSS JOIN LATERAL (SELECT f.completed, f.completions, f.reward, f.spent, f.allocated, f.seq FROM feedback f
        WHERE f.campaign = u.campaign AND f.round = u.round AND f.task = u.task LIMIT 1) f
    LEFT JOIN LATERAL (SELECT k.to_completed, k.to_completions, k.to_reward, k.to_spent, k.to_allocated FROM correction k
        WHERE k.campaign = u.campaign AND k.round = u.round AND k.task = u.task ORDER BY k.seq DESC LIMIT 1) c ON true
    WHERE f.seq < $4 OR f.seq >= $4 + $5";

/// Writes a batch of at most [`SEQ_STEP`] commands, and returns one result per command.
pub(super) async fn write(
    session: &Session,
    slot: i32,
    opening: &str,
    batch: &[Wanted<'_>],
) -> Result<Vec<Result<Done, Refusal>>, Trouble> {
    let mut known =
        Known { sums: totals::read(session, opening, batch).await?, ..Known::default() };
    let (campaigns, limited) = (campaigns(batch), limited(batch));
    for _ in 0..ATTEMPTS {
        let begun = if limited.is_empty() {
            None
        } else {
            let first_seq = begin(session, opening, &campaigns, None).await?;
            known.handed_out = handed_out(session, &limited).await?;
            Some(first_seq)
        };
        let mut tried = decide(batch, &known);
        let outside = begun.is_none().then_some(opening);
        if learn_repeated(session, outside, batch, &tried, &mut known).await? {
            tried = decide(batch, &known);
        }
        let written = insert(session, opening, &campaigns, begun, &tried).await?;
        learn(session, &tried, &written, &mut known).await?;
        learn_compacted(session, batch, &written, &mut known).await?;
        let decision = decide(batch, &known);
        if written.is_all_of(&tried, &decision, &known) {
            return finish(session, slot, opening, written.first_seq, batch, decision).await;
        }
        session.rollback().await?;
    }
    Err(Trouble::final_one("others write the same all the time", false))
}

/// Campaigns of a batch, in order.
fn campaigns(batch: &[Wanted<'_>]) -> Vec<i32> {
    let campaign = |wanted: &Wanted<'_>| match wanted {
        Wanted::Ask(_, campaign) | Wanted::Tell(_, campaign) => *campaign,
    };
    let campaigns: BTreeSet<i32> = batch.iter().filter_map(campaign).collect();
    campaigns.into_iter().collect()
}

/// Campaigns with a horizon for which rounds are requested, in order.
fn limited(batch: &[Wanted<'_>]) -> Vec<i32> {
    let limited = |wanted: &Wanted<'_>| match wanted {
        Wanted::Ask(ask, campaign) => campaign.filter(|_| ask.horizon.is_some()),
        Wanted::Tell(..) => None,
    };
    let campaigns: BTreeSet<i32> = batch.iter().filter_map(limited).collect();
    campaigns.into_iter().collect()
}

/// Numbers of issued rounds, locked until the transaction ends: other requests for rounds of the
/// same campaigns wait. No other lock is held while waiting, so there is no deadlock.
async fn handed_out(session: &Session, campaigns: &[i32]) -> Result<HashMap<i32, u64>, Trouble> {
    let values: [Value<'_>; 1] = [(&campaigns, Type::INT4_ARRAY)];
    let hold = "SELECT FROM lease WHERE campaign = ANY ($1) ORDER BY campaign FOR UPDATE";
    // Two statements, so that the second sees what was committed while the first waited.
    let count = "SELECT campaign, sum(rounds)::bigint FROM tally WHERE campaign = ANY ($1) GROUP BY campaign";
    let (held, counted) = tokio::join! {
        biased;
        session.client.query_typed(hold, &values),
        session.client.query_typed(count, &values),
    };
    held?;
    Ok(counted?.iter().map(|row| (row.get(0), unsigned(row.get(1)))).collect())
}

/// Rows that the database accepted.
struct Written {
    first_seq: i64,
    keys: HashSet<(String, String)>,
    asks: HashSet<usize>,
    items: usize,
    /// Campaigns of the batch that were deleted.
    deleted: Vec<i32>,
    /// Campaigns with compacted rounds, and the end of these.
    compacted: HashMap<i32, i64>,
    /// Numbers of amendments.
    amendments: HashMap<i32, u64>,
}

impl Written {
    /// True if exactly the intended rows were written.
    fn is_all_of(&self, tried: &Decision<'_>, decision: &Decision<'_>, known: &Known) -> bool {
        let is_key = |(token, key): &(&str, &str)| {
            self.keys.contains(&((*token).to_owned(), (*key).to_owned()))
        };
        let keys = tried
            .keys
            .iter()
            .filter(|(place, _)| is_key(place))
            .map(|(place, (at, ..))| (place, at));
        let items = tried
            .items
            .iter()
            .filter(|(place, _)| !known.told.contains_key(*place))
            .map(|(place, (at, ..))| (place, at));
        decision.asks.len() == self.asks.len()
            && decision.asks.iter().all(|(at, ..)| self.asks.contains(at))
            && keys.eq(decision.keys.iter().map(|(place, (at, ..))| (place, at)))
            && items.eq(decision.items.iter().map(|(place, (at, ..))| (place, at)))
    }
}

/// Begins the transaction if necessary; returns its first event number. Until it ends, none of the
/// campaigns is deleted and none of their rounds compacted.
async fn begin(
    session: &Session,
    opening: &str,
    campaigns: &[i32],
    begun: Option<i64>,
) -> Result<i64, Trouble> {
    if let Some(first_seq) = begun {
        return Ok(first_seq);
    }
    let (begun, held) = tokio::join! {
        biased;
        session.begin(opening),
        retention::hold(session, campaigns),
    };
    let first_seq = begun?;
    held?;
    Ok(first_seq)
}

async fn insert(
    session: &Session,
    opening: &str,
    campaigns: &[i32],
    begun: Option<i64>,
    decision: &Decision<'_>,
) -> Result<Written, Trouble> {
    let (keys, splits, feedback) =
        (KeyColumns::of(decision), SplitColumns::of(decision), FeedbackColumns::of(decision));
    let (begun, keys, asks, items, removed) = tokio::join! {
        biased;
        begin(session, opening, campaigns, begun),
        keys.insert(session),
        splits.insert(session),
        feedback.insert(session),
        retention::removed(session, campaigns),
    };
    let (first_seq, keys, asks, items, removed) = (begun?, keys?, asks?, items?, removed?);
    let key = |row: &Row| Some((row.get(0), String::from_utf8(row.get(1)).ok()?));
    let retention::Removed { deleted, compacted, amendments } = removed;
    Ok(Written {
        first_seq,
        keys: keys.iter().filter_map(key).collect(),
        asks: asks
            .iter()
            .filter_map(|row| usize::try_from(row.get::<_, i64>(0) - first_seq).ok())
            .collect(),
        items: usize::try_from(items).unwrap_or(usize::MAX),
        deleted,
        compacted,
        amendments,
    })
}

/// Reads which campaigns were deleted or amended, and which reports are about compacted rounds.
async fn learn_compacted(
    session: &Session,
    batch: &[Wanted<'_>],
    written: &Written,
    known: &mut Known,
) -> Result<(), Trouble> {
    known.deleted.extend(&written.deleted);
    known.amendments = Some(written.amendments.clone());
    let is_below = |(at, wanted): (usize, &Wanted<'_>)| match wanted {
        Wanted::Tell(tell, Some(campaign)) => {
            let (round, end) = (whole(tell.round), written.compacted.get(campaign)?);
            (round < *end).then_some((at, *campaign, round))
        }
        _ => None,
    };
    let below: Vec<_> = batch.iter().enumerate().filter_map(is_below).collect();
    if !below.is_empty() {
        known.compacted.extend(retention::without_split(session, &below).await?);
    }
    Ok(())
}

/// Reads why the database left out rows.
async fn learn(
    session: &Session,
    tried: &Decision<'_>,
    written: &Written,
    known: &mut Known,
) -> Result<(), Trouble> {
    known
        .taken
        .extend(tried.asks.iter().map(|(at, ..)| *at).filter(|at| !written.asks.contains(at)));
    let is_left_out = |(token, key): &(&str, &str)| {
        !written.keys.contains(&((*token).to_owned(), (*key).to_owned()))
    };
    let (tokens, keys): (Vec<&str>, Vec<&[u8]>) = tried
        .keys
        .keys()
        .filter(|place| is_left_out(place))
        .map(|(token, key)| (*token, key.as_bytes()))
        .unzip();
    let places: Vec<_> = if written.items < tried.items.len() {
        tried.items.keys().copied().collect()
    } else {
        Vec::new()
    };
    let campaigns: Vec<_> = places.iter().map(|(campaign, ..)| *campaign).collect();
    let rounds: Vec<_> = places.iter().map(|(_, round, _)| *round).collect();
    let tasks: Vec<_> = places.iter().map(|(.., task)| *task).collect();
    let key_values: [Value<'_>; 2] = [(&tokens, Type::TEXT_ARRAY), (&keys, Type::BYTEA_ARRAY)];
    let place_values: [Value<'_>; 5] = [
        (&campaigns, Type::INT4_ARRAY),
        (&rounds, Type::INT8_ARRAY),
        (&tasks, Type::INT4_ARRAY),
        (&written.first_seq, Type::INT8),
        (&SEQ_STEP, Type::INT8),
    ];
    let (keys, told) = tokio::join! {
        biased;
        session.query(!keys.is_empty(), READ_KEYS, &key_values),
        session.query(!places.is_empty(), READ_FEEDBACK, &place_values),
    };
    known.keys.extend(keys?.iter().filter_map(used_key));
    known.told.extend(told?.iter().map(stored));
    Ok(())
}

/// Reads whether reports that are refused because their sums become too large repeat earlier ones,
/// which adds nothing. Returns whether some do. `opening` begins a transaction, if there is none.
async fn learn_repeated(
    session: &Session,
    opening: Option<&str>,
    batch: &[Wanted<'_>],
    tried: &Decision<'_>,
    known: &mut Known,
) -> Result<bool, Trouble> {
    let refused = |(wanted, answer): &(&Wanted<'_>, &Answer)| {
        matches!(wanted, Wanted::Tell(..))
            && matches!(answer, Answer::Refused(Refusal::TooLarge { .. }))
    };
    let mut places: Vec<Place> = Vec::new();
    for (wanted, _) in batch.iter().zip(&tried.answers).filter(refused) {
        if let Wanted::Tell(tell, Some(campaign)) = wanted {
            places.extend(tell.items.iter().map(|item| place(*campaign, tell, item)));
        }
    }
    let campaigns: Vec<_> = places.iter().map(|(campaign, ..)| *campaign).collect();
    let rounds: Vec<_> = places.iter().map(|(_, round, _)| *round).collect();
    let tasks: Vec<_> = places.iter().map(|(.., task)| *task).collect();
    let values: [Value<'_>; 5] = [
        (&campaigns, Type::INT4_ARRAY),
        (&rounds, Type::INT8_ARRAY),
        (&tasks, Type::INT4_ARRAY),
        (&0_i64, Type::INT8),
        (&0_i64, Type::INT8),
    ];
    if places.is_empty() {
        return Ok(false);
    }
    let told = match opening {
        Some(opening) => session.repeatable(opening, READ_FEEDBACK, &values).await?,
        None => session.client.query_typed(READ_FEEDBACK, &values).await?,
    };
    known.told.extend(told.iter().map(stored));
    Ok(!told.is_empty())
}

fn used_key(row: &Row) -> Option<((String, String), (UsedKey, i64))> {
    let used = UsedKey {
        request: digest(row.get(2)),
        campaign: row.get(3),
        rounds: unsigned(row.get(4))..unsigned(row.get(5)),
    };
    Some(((row.get(0), String::from_utf8(row.get(1)).ok()?), (used, row.get(6))))
}

fn stored(row: &Row) -> (Place, Stored) {
    let first = outcome(row, 3);
    let is_corrected = row.get::<_, Option<bool>>(8).is_some();
    let counted = if is_corrected { outcome(row, 8) } else { first };
    ((row.get(0), row.get(1), row.get(2)), Stored { first, counted })
}

/// Adds the counts, commits, and determines which rounds are complete. This is done after the
/// commit, so that if two replicas write the two halves of a round at the same time, at least one
/// sees both.
async fn finish(
    session: &Session,
    slot: i32,
    opening: &str,
    first_seq: i64,
    batch: &[Wanted<'_>],
    decision: Decision<'_>,
) -> Result<Vec<Result<Done, Refusal>>, Trouble> {
    let counts = Counts::of(batch, &decision);
    let told = ToldColumns::of(batch, &decision, first_seq);
    let asked = CompleteColumns::of(batch, &decision);
    let (stats, tallies, events, ended, begun, complete, closed) = tokio::join! {
        biased;
        counts.add_stats(session, slot),
        counts.add_tallies(session, slot),
        told.insert(session),
        session.client.batch_execute("COMMIT"),
        session.statement(!asked.is_empty(), opening),
        asked.read(session),
        session.statement(!asked.is_empty(), "COMMIT"),
    };
    // If one of these failed, the transaction did, whatever the result of the commit.
    for counted in [stats, tallies, events] {
        counted.map_err(|error| Trouble::at_commit(&error))?;
    }
    ended.map_err(|error| Trouble::of_commit(&error))?;
    let complete = begun.and(closed).and(complete).map_err(|error| Trouble::of_commit(&error))?;
    Ok(answers(batch, decision, &complete))
}

fn answers(
    batch: &[Wanted<'_>],
    decision: Decision<'_>,
    complete: &[Row],
) -> Vec<Result<Done, Refusal>> {
    let there: HashMap<usize, (i64, Option<i64>)> = complete
        .iter()
        .map(|row| (row.get::<_, i32>(0) as usize, (i64::from(row.get::<_, i32>(1)), row.get(2))))
        .collect();
    // New items of each round that are still to come in the batch: reports are answered in their
    // order.
    let mut to_come: HashMap<(i32, i64), i64> = HashMap::new();
    for (campaign, round, _) in decision.items.keys() {
        *to_come.entry((*campaign, *round)).or_default() += 1;
    }
    let answer = |(at, (answer, wanted)): (usize, (Answer, &Wanted<'_>))| match (answer, wanted) {
        (Answer::Refused(refusal), _) => Err(refusal),
        (Answer::Told(is_new), Wanted::Tell(tell, Some(campaign))) => {
            let later = to_come.entry((*campaign, whole(tell.round))).or_default();
            *later -= is_new.iter().filter(|is_new| **is_new).count() as i64;
            let is_complete = there
                .get(&at)
                .is_some_and(|(there, told)| told.is_none_or(|told| told - *later >= *there));
            Ok(Done::Told { is_new, is_complete })
        }
        _ => Ok(Done::Asked),
    };
    decision.answers.into_iter().zip(batch).enumerate().map(answer).collect()
}
