//! Rare commands, each in a separate transaction.

use tokio_postgres::types::Type;

use super::campaigns::{self, word};
use super::columns::Counts;
use super::decide::whole;
use super::session::Session;
use super::trouble::Trouble;
use super::{OutcomeColumns, PostgresStore, SEQ_STEP, outcome, retention, slot, totals, unsigned};
use crate::store::record::change;
use crate::store::{
    Command, Correction, Done, NewCampaign, ProblemChange, Refusal, StatusChange, TaskCount,
    TokenRevocation, TokenRow, TokenUse,
};

type Answer = Result<Result<Done, Refusal>, Trouble>;

pub(super) async fn apply(
    store: &PostgresStore,
    session: &mut Session,
    command: &Command,
) -> Answer {
    match command {
        Command::Create(new) => create(store, session, new).await,
        Command::SetStatus(change) => set_status(store, session, change).await,
        Command::Amend(change) => amend(store, session, change).await,
        Command::Delete(deletion) => retention::delete(store, session, deletion).await,
        Command::Restore(restored) => retention::restore(store, session, restored).await,
        Command::Correct(correction) => correct(store, session, correction).await,
        Command::AddToken(token) => add_token(store, session, token).await,
        Command::RevokeToken(revocation) => revoke_token(store, session, revocation).await,
        Command::UseToken(used) => use_token(store, session, used).await,
        // These never come alone, see `together`.
        Command::Ask(_) | Command::Tell(_) => {
            Err(Trouble::final_one("asks and reports are written in batches", false))
        }
    }
}

/// The number of a campaign is taken only if it does not exist yet, because numbers are limited.
const CREATE: &str = "
    WITH new AS (INSERT INTO campaign (id, spec, tasks, status, version, created_at, changed_at)
            SELECT $1, $2, $3, 'open', 1, $4, $4 WHERE NOT EXISTS (SELECT FROM campaign WHERE id = $1)
            ON CONFLICT (id) DO NOTHING RETURNING number),
        leased AS (INSERT INTO lease (campaign, next_round) SELECT number, 1 FROM new),
        changed AS (INSERT INTO change (campaign, seq, status, at, token) SELECT number, currval('event') * $6, NULL, $4, $5 FROM new)
    SELECT number FROM new";

async fn create(store: &PostgresStore, session: &Session, new: &NewCampaign) -> Answer {
    let tasks = i32::try_from(new.tasks).unwrap_or(i32::MAX);
    let values = [
        (&new.id as _, Type::TEXT),
        (&new.spec as _, Type::TEXT),
        (&tasks as _, Type::INT4),
        (&new.at as _, Type::INT8),
        (&new.token as _, Type::TEXT),
        (&SEQ_STEP as _, Type::INT8),
    ];
    let spec = [(&new.id as _, Type::TEXT)];
    let (begun, created, there) = tokio::join! {
        biased;
        session.begin(&store.pool.openings.write),
        session.client.query_typed(CREATE, &values),
        // A separate statement, so that it sees a campaign that was created concurrently.
        session.client.query_typed("SELECT spec FROM campaign WHERE id = $1", &spec),
    };
    begun?;
    let (created, there) = (created?, there?);
    session.commit().await?;
    Ok(if !created.is_empty() {
        Ok(Done::Created)
    } else if there.first().is_some_and(|row| row.get::<_, &str>(0) == new.spec) {
        Ok(Done::WasThere)
    } else {
        Err(Refusal::OtherCampaign)
    })
}

const SET_STATUS: &str = "
    WITH new AS (UPDATE campaign SET status = $2, version = version + 1, changed_at = $3 WHERE id = $1 AND version = $4
            AND (status <> 'closed' OR $7)
            RETURNING number, version),
        changed AS (INSERT INTO change (campaign, seq, status, at, token) SELECT number, currval('event') * $6, $2, $3, $5 FROM new)
    SELECT version FROM new";

async fn set_status(store: &PostgresStore, session: &Session, change: &StatusChange) -> Answer {
    if change.campaign.contains('\0') {
        return Ok(Err(Refusal::NoCampaign));
    }
    let (to, only_if) = (word(change.to), whole(change.only_if));
    let values = [
        (&change.campaign as _, Type::TEXT),
        (&to as _, Type::TEXT),
        (&change.at as _, Type::INT8),
        (&only_if as _, Type::INT8),
        (&change.token as _, Type::TEXT),
        (&SEQ_STEP as _, Type::INT8),
        (&change.may_reopen as _, Type::BOOL),
    ];
    let (begun, set, there) = tokio::join! {
        biased;
        session.begin(&store.pool.openings.write),
        session.client.query_typed(SET_STATUS, &values),
        session.client.query_typed("SELECT version FROM campaign WHERE id = $1", &values[..1]),
    };
    begun?;
    let (set, there) = (set?, there?);
    session.commit().await?;
    Ok(match (set.first(), there.first()) {
        (Some(row), _) => Ok(Done::StatusSet { version: unsigned(row.get(0)) }),
        (None, Some(row)) if row.get::<_, i64>(0) == only_if => Err(Refusal::Closed),
        (None, Some(row)) => Err(Refusal::OtherVersion { version: unsigned(row.get(0)) }),
        (None, None) => Err(Refusal::NoCampaign),
    })
}

/// The event number is taken here and not at the beginning, so that rounds of the problem before have
/// lower numbers: their transactions have ended.
const AMEND: &str = "
    WITH new AS (UPDATE campaign SET version = version + 1, amendments = amendments + 1, tasks = $2
            WHERE id = $1 AND version = $3 AND (status <> 'closed' OR $4)
            RETURNING number, version, amendments),
        changed AS (INSERT INTO amendment (campaign, number, seq, at, token, tasks, problem, changes)
            SELECT number, amendments, nextval('event') * $5, $6, $7, $2, $8, $9 FROM new)
    SELECT version, amendments FROM new";

/// Amends a campaign while no transaction writes rounds of it.
async fn amend(store: &PostgresStore, session: &Session, change: &ProblemChange) -> Answer {
    let Some(home) = campaigns::find_one(store, session, &change.campaign).await? else {
        return Ok(Err(Refusal::NoCampaign));
    };
    let (tasks, only_if) = (i32::try_from(change.tasks).unwrap_or(i32::MAX), whole(change.only_if));
    let values = [
        (&change.campaign as _, Type::TEXT),
        (&tasks as _, Type::INT4),
        (&only_if as _, Type::INT8),
        (&change.may_be_closed as _, Type::BOOL),
        (&SEQ_STEP as _, Type::INT8),
        (&change.at as _, Type::INT8),
        (&change.token as _, Type::TEXT),
        (&change.problem as _, Type::TEXT),
        (&change.changes as _, Type::TEXT),
    ];
    session.client.batch_execute(&store.pool.openings.write).await?;
    retention::hold_alone(session, home.number).await?;
    let (amended, there) = tokio::join! {
        biased;
        session.client.query_typed(AMEND, &values),
        session.client.query_typed("SELECT version FROM campaign WHERE id = $1", &values[..1]),
    };
    let (amended, there) = (amended?, there?);
    session.commit().await?;
    Ok(match (amended.first(), there.first()) {
        (Some(row), _) => {
            Ok(Done::Amended { version: unsigned(row.get(0)), amendments: unsigned(row.get(1)) })
        }
        (None, Some(row)) if row.get::<_, i64>(0) == only_if => Err(Refusal::Closed),
        (None, Some(row)) => Err(Refusal::OtherVersion { version: unsigned(row.get(0)) }),
        (None, None) => Err(Refusal::NoCampaign),
    })
}

/// Concurrent corrections of the same outcome wait here, so that each starts from the previous one.
const HOLD_FEEDBACK: &str =
    "SELECT completed, completions, reward, spent, allocated, expected FROM feedback
    WHERE campaign = $1 AND round = $2 AND task = $3 FOR UPDATE";

const LAST_CORRECTION: &str = "SELECT to_completed, to_completions, to_reward, to_spent, to_allocated, to_expected FROM correction
    WHERE campaign = $1 AND round = $2 AND task = $3 ORDER BY seq DESC LIMIT 1";

/// The event number is taken here and not at the beginning, so that the numbers have the order of
/// the corrections.
const INSERT_CORRECTION: &str = "
    INSERT INTO correction (campaign, round, task, seq, why, at, token, from_completed, from_completions, from_reward, from_spent,
        from_allocated, to_completed, to_completions, to_reward, to_spent, to_allocated, to_expected)
    VALUES ($1, $2, $3, nextval('event') * $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)";

async fn correct(store: &PostgresStore, session: &mut Session, correction: &Correction) -> Answer {
    let slot =
        slot::of(session, store.options.slots, &store.options.schema, &store.options.replica)
            .await?;
    let Some(home) = campaigns::find_one(store, session, &correction.campaign).await? else {
        return Ok(Err(Refusal::NoCampaign));
    };
    let (round, task) =
        (whole(correction.round), i32::try_from(correction.task).unwrap_or(i32::MAX));
    let place =
        [(&home.number as _, Type::INT4), (&round as _, Type::INT8), (&task as _, Type::INT4)];
    let number = [home.number];
    let (begun, held, removed, first, last) = tokio::join! {
        biased;
        session.client.batch_execute(&store.pool.openings.write),
        retention::hold(session, &number),
        retention::removed(session, &number),
        session.client.query_typed(HOLD_FEEDBACK, &place),
        session.client.query_typed(LAST_CORRECTION, &place),
    };
    begun?;
    held?;
    let (retention::Removed { deleted, compacted, .. }, first, last) = (removed?, first?, last?);
    let Some(reported) = first.first() else {
        let is_below = compacted.get(&home.number).is_some_and(|end| round < *end);
        let is_compacted = is_below
            && !retention::without_split(session, &[(0, home.number, round)]).await?.is_empty();
        session.rollback().await?;
        return Ok(Err(if !deleted.is_empty() {
            Refusal::NoCampaign
        } else if is_compacted {
            Refusal::Compacted
        } else {
            Refusal::NothingToCorrect
        }));
    };
    if !deleted.is_empty() {
        session.rollback().await?;
        return Ok(Err(Refusal::NoCampaign));
    }
    let last = last.first();
    let (from, to) = (outcome(last.unwrap_or(reported), 0), correction.to);
    let was_expected = unsigned(reported.get(5));
    let from_expected = last.and_then(|last| last.get::<_, Option<i64>>(5));
    let from_expected = from_expected.map_or(was_expected, unsigned);
    let expected = correction.expected.filter(|expected| *expected != was_expected);
    let to_expected = expected.unwrap_or(was_expected);
    // The previous outcome is not subtracted: it only makes room.
    if !to.is_single(to_expected) {
        let sums = totals::of_task(session, home.number, task).await?;
        if !sums.has_room_for(to, to_expected) {
            session.rollback().await?;
            return Ok(Err(Refusal::TooLarge { task: correction.task }));
        }
    }
    let (before, after) = (TaskCount::of(from, from_expected), TaskCount::of(to, to_expected));
    let counts = Counts::of_correction(home.number, task, before, after);
    let (old, new) = (OutcomeColumns::from(from), OutcomeColumns::from(to));
    let (why, expected) = (correction.why.as_bytes(), expected.map(whole));
    let values = [
        (&home.number as _, Type::INT4),
        (&round as _, Type::INT8),
        (&task as _, Type::INT4),
        (&SEQ_STEP as _, Type::INT8),
        (&why as _, Type::BYTEA),
        (&correction.at as _, Type::INT8),
        (&correction.token as _, Type::TEXT),
        (&old.completed as _, Type::BOOL),
        (&old.completions as _, Type::INT8),
        (&old.reward as _, Type::INT8),
        (&old.spent as _, Type::INT8),
        (&old.allocated as _, Type::INT8),
        (&new.completed as _, Type::BOOL),
        (&new.completions as _, Type::INT8),
        (&new.reward as _, Type::INT8),
        (&new.spent as _, Type::INT8),
        (&new.allocated as _, Type::INT8),
        (&expected as _, Type::INT8),
    ];
    let (inserted, stats, tallies, ended) = tokio::join! {
        biased;
        session.client.execute_typed(INSERT_CORRECTION, &values),
        counts.add_stats(session, slot),
        counts.add_tallies(session, slot),
        session.client.batch_execute("COMMIT"),
    };
    for counted in [inserted, stats, tallies] {
        counted.map_err(|error| Trouble::at_commit(&error))?;
    }
    ended.map_err(|error| Trouble::of_commit(&error))?;
    Ok(Ok(Done::Corrected { from, expected_change: change(from_expected, to_expected) }))
}

async fn add_token(store: &PostgresStore, session: &Session, token: &TokenRow) -> Answer {
    let sql = "INSERT INTO token (id, hash, scopes, campaign, created_at, expires_at, revoked_at, last_used_at, name)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING RETURNING id";
    let hash = token.hash.as_slice();
    let values = [
        (&token.id as _, Type::TEXT),
        (&hash as _, Type::BYTEA),
        (&token.scopes as _, Type::TEXT_ARRAY),
        (&token.campaign as _, Type::TEXT),
        (&token.created_at as _, Type::INT8),
        (&token.expires_at as _, Type::INT8),
        (&token.revoked_at as _, Type::INT8),
        (&token.last_used_at as _, Type::INT8),
        (&token.name as _, Type::TEXT),
    ];
    let added = session.once(&store.pool.openings.write, sql, &values).await?;
    Ok(if added.is_empty() { Err(Refusal::Token) } else { Ok(Done::TokenAdded) })
}

async fn revoke_token(
    store: &PostgresStore,
    session: &Session,
    revocation: &TokenRevocation,
) -> Answer {
    let sql = "UPDATE token SET revoked_at = coalesce(revoked_at, $2) WHERE id = $1 RETURNING id";
    let values = [(&revocation.id as _, Type::TEXT), (&revocation.at as _, Type::INT8)];
    if revocation.id.contains('\0') {
        return Ok(Err(Refusal::Token));
    }
    let revoked = session.once(&store.pool.openings.write, sql, &values).await?;
    Ok(if revoked.is_empty() { Err(Refusal::Token) } else { Ok(Done::TokenRevoked) })
}

async fn use_token(store: &PostgresStore, session: &Session, used: &TokenUse) -> Answer {
    let sql = "UPDATE token SET last_used_at = $2 WHERE id = $1 RETURNING id";
    let values = [(&used.id as _, Type::TEXT), (&used.at as _, Type::INT8)];
    if used.id.contains('\0') {
        return Ok(Err(Refusal::Token));
    }
    let noted = session.once(&store.pool.openings.write, sql, &values).await?;
    Ok(if noted.is_empty() { Err(Refusal::Token) } else { Ok(Done::TokenUsed) })
}
