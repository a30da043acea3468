//! The schema: numbered migrations, only forward.

use tokio_postgres::types::Type;

use super::session::Session;
use super::trouble::Trouble;

/// Each step migrates the tables to the next version. Released steps are never changed.
const STEPS: [&str; 8] = [FIRST, SECOND, THIRD, FOURTH, FIFTH, SIXTH, SEVENTH, EIGHTH];

/// Rows are added and never changed, with four exceptions: the status of a campaign, counters, tokens
/// and expired keys.
const FIRST: &str = r#"
-- Numbers of events. A transaction takes one number, which leaves room for SEQ_STEP events.
CREATE SEQUENCE event;

CREATE TABLE campaign (
    number     int    GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id         text   COLLATE "C" NOT NULL UNIQUE,
    spec       text   NOT NULL,
    tasks      int    NOT NULL,
    status     text   NOT NULL,
    version    bigint NOT NULL,
    created_at bigint NOT NULL,
    changed_at bigint NOT NULL
);

-- The next free round. It has its own table because this row is updated often.
CREATE TABLE lease (campaign int PRIMARY KEY, next_round bigint NOT NULL) WITH (fillfactor = 50);

-- A campaign was created (status is null), or its status was set.
CREATE TABLE change (
    campaign int    NOT NULL,
    seq      bigint NOT NULL,
    status   text,
    at       bigint NOT NULL,
    token    text   NOT NULL,
    PRIMARY KEY (campaign, seq)
);

-- Rounds first_round .. end_round - 1 were issued with one split; "there" is its number of
-- available tasks.
CREATE TABLE split (
    first_round   bigint   NOT NULL,
    end_round     bigint   NOT NULL,
    seq           bigint   NOT NULL,
    stats_version bigint   NOT NULL,
    at            bigint   NOT NULL,
    expires_at    bigint   NOT NULL,
    budget        float8   NOT NULL,
    campaign      int      NOT NULL,
    there         int      NOT NULL,
    available     bool[],
    spend         float8[] NOT NULL,
    success       float8[] NOT NULL,
    weight        float8[] NOT NULL,
    token         text     NOT NULL,
    PRIMARY KEY (campaign, first_round)
);
CREATE UNIQUE INDEX split_seq ON split (campaign, seq);
CREATE INDEX split_expiry ON split (campaign, expires_at);

-- A report with new outcomes, which are in feedback under the same seq.
CREATE TABLE told (
    seq      bigint NOT NULL,
    round    bigint NOT NULL,
    at       bigint NOT NULL,
    campaign int    NOT NULL,
    is_late  bool   NOT NULL,
    token    text   NOT NULL,
    PRIMARY KEY (campaign, seq)
);

-- The outcome of a task in a round as first reported, and its place in that report. At most one
-- row, so that no outcome counts twice.
CREATE TABLE feedback (
    round     bigint NOT NULL,
    seq       bigint NOT NULL,
    reward    bigint NOT NULL,
    expected  bigint NOT NULL,
    campaign  int    NOT NULL,
    task      int    NOT NULL,
    place     int    NOT NULL,
    completed bool   NOT NULL,
    PRIMARY KEY (campaign, round, task)
);

-- Corrections of outcomes. The last one of a task in a round counts.
CREATE TABLE correction (
    round          bigint NOT NULL,
    seq            bigint NOT NULL,
    from_reward    bigint NOT NULL,
    to_reward      bigint NOT NULL,
    at             bigint NOT NULL,
    campaign       int    NOT NULL,
    task           int    NOT NULL,
    from_completed bool   NOT NULL,
    to_completed   bool   NOT NULL,
    why            bytea  NOT NULL,
    token          text   NOT NULL,
    PRIMARY KEY (campaign, round, task, seq)
);
CREATE UNIQUE INDEX correction_seq ON correction (campaign, seq);

-- The counts are the sums over all slots. They always equal the sums of feedback and corrections.
CREATE TABLE stat (
    told        bigint NOT NULL,
    completions bigint NOT NULL,
    reward_sum  bigint NOT NULL,
    expected    bigint NOT NULL,
    campaign    int    NOT NULL,
    slot        int    NOT NULL,
    task        int    NOT NULL,
    PRIMARY KEY (campaign, slot, task)
) WITH (fillfactor = 50);
CREATE TABLE tally (
    rounds   bigint NOT NULL,
    version  bigint NOT NULL,
    late     bigint NOT NULL,
    campaign int    NOT NULL,
    slot     int    NOT NULL,
    PRIMARY KEY (campaign, slot)
) WITH (fillfactor = 50);

CREATE TABLE idempotency (
    token       text   COLLATE "C" NOT NULL,
    key         bytea  NOT NULL,
    request     bytea  NOT NULL,
    first_round bigint NOT NULL,
    end_round   bigint NOT NULL,
    used_at     bigint NOT NULL,
    expires_at  bigint NOT NULL,
    campaign    int    NOT NULL,
    PRIMARY KEY (token, key)
);
CREATE INDEX idempotency_expiry ON idempotency (expires_at);

CREATE TABLE token (
    id         text   COLLATE "C" PRIMARY KEY,
    hash       bytea  NOT NULL,
    scopes     text[] NOT NULL,
    campaign   text,
    created_at bigint NOT NULL,
    expires_at bigint,
    revoked_at bigint
);
"#;

/// The last recorded use of a token.
const SECOND: &str = "ALTER TABLE token ADD COLUMN last_used_at bigint";

/// The mark of an unfinished import.
const THIRD: &str = "ALTER TABLE outlay_schema ADD COLUMN is_importing bool NOT NULL DEFAULT false";

/// Names of tokens.
const FOURTH: &str = "ALTER TABLE token ADD COLUMN name text";

/// Checkpoints, and the record of deleted campaigns.
const FIFTH: &str = r#"
-- The counts of compacted rounds: the rounds below end_round without a row in split.
CREATE TABLE checkpoint (
    end_round bigint NOT NULL,
    rounds    bigint NOT NULL,
    version   bigint NOT NULL,
    late      bigint NOT NULL,
    at        bigint NOT NULL,
    campaign  int    PRIMARY KEY
);
CREATE TABLE checkpoint_stat (
    told        bigint NOT NULL,
    completions bigint NOT NULL,
    reward_sum  bigint NOT NULL,
    expected    bigint NOT NULL,
    campaign    int    NOT NULL,
    task        int    NOT NULL,
    PRIMARY KEY (campaign, task)
);

-- Deleted campaigns; their rows are removed in small batches.
CREATE TABLE deletion (
    at        bigint NOT NULL,
    rounds    bigint NOT NULL,
    outcomes  bigint NOT NULL,
    number    int    PRIMARY KEY,
    is_purged bool   NOT NULL,
    id        text   NOT NULL,
    token     text   NOT NULL
);
CREATE INDEX deletion_to_purge ON deletion (number) WHERE NOT is_purged;
"#;

/// Several completions of a task in a round, and actual spends beside the allocated ones.
const SIXTH: &str = r#"
-- The number of completions is null if it is 0 or 1, and the spends if none was reported.
ALTER TABLE feedback ADD COLUMN completions bigint, ADD COLUMN spent bigint, ADD COLUMN allocated bigint;
-- to_expected is null if the outcome keeps the expected completions that were reported with it.
ALTER TABLE correction ADD COLUMN from_completions bigint, ADD COLUMN from_spent bigint, ADD COLUMN from_allocated bigint,
    ADD COLUMN to_completions bigint, ADD COLUMN to_spent bigint, ADD COLUMN to_allocated bigint, ADD COLUMN to_expected bigint;
ALTER TABLE stat ADD COLUMN spent bigint NOT NULL DEFAULT 0, ADD COLUMN allocated bigint NOT NULL DEFAULT 0;
ALTER TABLE checkpoint_stat ADD COLUMN spent bigint NOT NULL DEFAULT 0, ADD COLUMN allocated bigint NOT NULL DEFAULT 0;
"#;

/// The scales and the volumes of a round; null if the round has those of the problem.
const SEVENTH: &str = "ALTER TABLE split ADD COLUMN scale float8[], ADD COLUMN volume float8[]";

/// Amendments.
const EIGHTH: &str = r#"
-- The problem of a campaign after each amendment, with the difference to the one before, for the record.
CREATE TABLE amendment (
    number   bigint NOT NULL,
    seq      bigint NOT NULL,
    at       bigint NOT NULL,
    campaign int    NOT NULL,
    tasks    int    NOT NULL,
    token    text   NOT NULL,
    problem  text   NOT NULL,
    changes  text   NOT NULL,
    PRIMARY KEY (campaign, number)
);
CREATE UNIQUE INDEX amendment_seq ON amendment (campaign, seq);
-- Their number so far. Rounds belong to the problem of the time when they were issued.
ALTER TABLE campaign ADD COLUMN amendments bigint NOT NULL DEFAULT 0;
ALTER TABLE split ADD COLUMN amendments bigint NOT NULL DEFAULT 0;
"#;

const HAS_TABLES: &str =
    "SELECT EXISTS (SELECT FROM pg_tables WHERE schemaname = $1 AND tablename = 'outlay_schema')";
const VERSION: &str = "SELECT version FROM outlay_schema";

/// Migrates the tables to the newest version. If several replicas start together, one does it and the
/// others wait.
pub(super) async fn migrate(session: &Session, schema: &str, opening: &str) -> Result<(), Trouble> {
    if version(session, schema, opening).await? == Some(STEPS.len()) {
        return Ok(());
    }
    session.client.batch_execute(opening).await?;
    let lock = "SELECT pg_advisory_xact_lock(hashtext('outlay schema ' || $1))";
    session.client.query_typed(lock, &[(&schema, Type::TEXT)]).await?;
    let quoted = schema.replace('"', "\"\"");
    let has_schema = "SELECT FROM pg_namespace WHERE nspname = $1";
    // Not `IF NOT EXISTS`, which needs the right to create schemas even if the schema exists.
    if session.client.query_typed(has_schema, &[(&schema, Type::TEXT)]).await?.is_empty() {
        session.client.batch_execute(&format!("CREATE SCHEMA \"{quoted}\"")).await?;
    }
    let first = match stored_version(session, schema).await? {
        Some(version) => version,
        None => {
            session.client.batch_execute("CREATE TABLE outlay_schema (version int NOT NULL); INSERT INTO outlay_schema VALUES (0)").await?;
            0
        }
    };
    for step in &STEPS[first.min(STEPS.len())..] {
        session.client.batch_execute(step).await?;
    }
    let known = i32::try_from(STEPS.len()).unwrap_or(i32::MAX);
    session
        .client
        .execute_typed("UPDATE outlay_schema SET version = $1", &[(&known, Type::INT4)])
        .await?;
    session.commit().await
}

/// Rejects a store with an unfinished import: a part of the export is missing, although its counts
/// agree.
pub(super) async fn check_import(
    session: &Session,
    schema: &str,
    opening: &str,
) -> Result<(), Trouble> {
    let rows = session.repeatable(opening, "SELECT is_importing FROM outlay_schema", &[]).await?;
    if rows.first().is_some_and(|row| row.get(0)) {
        let what = format!(
            "the import into the database has not finished, so the store is incomplete: wait for it or, if it was interrupted, drop the schema `{schema}` and import again"
        );
        return Err(Trouble::final_one(what, false));
    }
    Ok(())
}

/// Sets or removes the mark of an unfinished import.
pub(super) async fn set_importing(
    session: &Session,
    opening: &str,
    is_importing: bool,
) -> Result<(), Trouble> {
    let sql = "UPDATE outlay_schema SET is_importing = $1";
    session.repeatable(opening, sql, &[(&is_importing, Type::BOOL)]).await.map(|_| ())
}

/// True if there are tables, of any version.
pub(super) async fn is_there(
    session: &Session,
    schema: &str,
    opening: &str,
) -> Result<bool, Trouble> {
    Ok(version(session, schema, opening).await?.is_some())
}

/// The version of the tables, if there are any.
async fn version(session: &Session, schema: &str, opening: &str) -> Result<Option<usize>, Trouble> {
    session.client.batch_execute(opening).await?;
    let version = stored_version(session, schema).await?;
    session.rollback().await?;
    Ok(version)
}

async fn stored_version(session: &Session, schema: &str) -> Result<Option<usize>, Trouble> {
    let has_tables = session.client.query_typed(HAS_TABLES, &[(&schema, Type::TEXT)]).await?;
    if !has_tables.first().is_some_and(|row| row.get(0)) {
        return Ok(None);
    }
    let rows = session.client.query_typed(VERSION, &[]).await?;
    let version: i32 = rows.first().map_or(0, |row| row.get(0));
    let version = usize::try_from(version).unwrap_or(0);
    if version > STEPS.len() {
        let what = format!(
            "the database was written by a newer outlay (tables of version {version}, this one knows {}); install that one or a later one",
            STEPS.len()
        );
        return Err(Trouble::final_one(what, true));
    }
    Ok(Some(version))
}
