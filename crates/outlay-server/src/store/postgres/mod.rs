//! PostgreSQL: several replicas of the service on one database.
//!
//! Replicas hold no exclusive state: all acknowledged data is in the database, and each replica may
//! be killed at any time. There are no locks on campaigns. Feedback is a set with a primary key;
//! counts are added to separate rows of each connection ([`slot`]); round ids come in blocks
//! ([`lease`]); idempotency keys are rows. Transactions are short, at READ COMMITTED, and write in
//! one order, so they cannot deadlock ([`rounds`]).
//!
//! A lost connection is replaced by the next call. If it was lost during a commit, the outcome is
//! unknown and the caller gets an error; repeating the call is harmless.

mod campaigns;
mod columns;
mod decide;
mod lease;
mod pool;
mod reading;
mod retention;
mod rounds;
mod schema;
mod session;
mod sessions;
mod single;
mod slot;
mod tls;
mod totals;
mod trouble;
mod verify;

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio_postgres::types::Type;

pub use slot::Slots;

use super::{
    CampaignRow, CampaignSnapshot, Checkpoint, Command, Compacted, Compaction, DeletedCampaign,
    Delivery, Done, Event, Millis, Outcome, Refusal, RoundRow, SplitRow, Standing, Store,
    StoreError, StoreMetrics, StoreSize, TokenRow, UsedKey, Verified,
};
use campaigns::Campaigns;
use decide::{Wanted, whole};
use lease::{BLOCK, Leases};
use pool::{For, Pool};

/// Event numbers of one transaction start at a multiple of this.
const SEQ_STEP: i64 = 1024;

/// Largest number of rows and numbers per transaction; larger batches are split, so that messages
/// stay bounded.
const WEIGHT: usize = 100_000;

/// Campaigns for which ids are taken from the database at the same time.
const LEASING: usize = 64;

/// Requests with a key between two removals of expired keys, and the number of keys removed at a
/// time.
const KEYS_BETWEEN: u64 = 4096;
const KEYS_AT_A_TIME: i64 = 2 * 4096;

/// Settings of the database connection.
#[derive(Clone)]
pub struct PostgresOptions {
    /// `postgres://user:password@host:port/database`, or `key=value` pairs. Several hosts and
    /// `target_session_attrs=read-write` find the one that can be written to. With
    /// `sslmode=require` the connection is encrypted and the server's certificate checked, against
    /// those of the system or the file named by `sslrootcert`.
    pub url: String,
    /// The schema of the tables; created if it does not exist.
    pub schema: String,
    /// A name for this replica, only used if advisory locks do not work: see [`Slots`].
    pub replica: String,
    /// How connections get the rows that they count in.
    pub slots: Slots,
    /// Largest number of connections: half of them write, the others read. At least one of each.
    pub connections: usize,
    /// Time limit of one statement; half of it for a lock.
    pub timeout: Duration,
}

impl PostgresOptions {
    /// The default settings for a database.
    #[must_use]
    pub fn new(url: impl Into<String>) -> Self {
        let replica = format!("{:016x}", RandomState::new().hash_one(std::process::id()));
        let (slots, connections, timeout) = (Slots::Locked, 8, Duration::from_secs(10));
        Self { url: url.into(), schema: "outlay".to_owned(), replica, slots, connections, timeout }
    }
}

impl fmt::Debug for PostgresOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The URL may contain a password.
        let mut shown = formatter.debug_struct("PostgresOptions");
        shown
            .field("schema", &self.schema)
            .field("replica", &self.replica)
            .field("slots", &self.slots);
        shown
            .field("connections", &self.connections)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

/// A store in a PostgreSQL database, shared with other processes.
///
/// Calls block. They must not come from a thread that runs futures (`spawn_blocking` is fine).
pub struct PostgresStore {
    pool: Pool,
    options: PostgresOptions,
    campaigns: Mutex<Campaigns>,
    leases: Mutex<Leases>,
    /// Held while ids are taken from the database, by the campaign's number: blocks are added in
    /// the order in which they were taken, and one query serves all waiting requests.
    leasing: [Mutex<()>; LEASING],
    keyed: AtomicU64,
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("PostgresStore")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl PostgresStore {
    /// Connects, and migrates the tables.
    ///
    /// # Errors
    /// If the database cannot be reached or used, or if its tables are newer than this program.
    pub fn open(options: PostgresOptions) -> Result<Self, StoreError> {
        let pool = Pool::new(&options)?;
        pool.run(For::Reading, async |session| {
            schema::migrate(session, &options.schema, &pool.openings.write).await?;
            schema::check_import(session, &options.schema, &pool.openings.read).await
        })?;
        Ok(Self {
            pool,
            options,
            campaigns: Mutex::new(Campaigns::default()),
            leases: Mutex::new(Leases::default()),
            leasing: std::array::from_fn(|_| Mutex::default()),
            keyed: AtomicU64::new(0),
        })
    }

    /// The same, but only if the tables exist, so that nothing is created in a database that was
    /// named by mistake.
    ///
    /// # Errors
    /// As [`open`](Self::open), and if there are no tables.
    pub fn open_existing(options: PostgresOptions) -> Result<Self, StoreError> {
        let pool = Pool::new(&options)?;
        let is_there = pool.run(For::Reading, async |session| {
            schema::is_there(session, &options.schema, &pool.openings.write).await
        })?;
        if !is_there {
            let what = "the database has no store of outlay: is it the right one? `outlay serve --database` makes a store in it";
            return Err(StoreError { what: what.to_owned(), is_fatal: false });
        }
        Self::open(options)
    }

    /// A batch of requests and reports, small enough for one transaction.
    fn apply_rounds(&self, batch: &[Command]) -> Result<Vec<Result<Done, Refusal>>, StoreError> {
        self.pool.run(For::Writing, async |session| {
            let slot =
                slot::of(session, self.options.slots, &self.options.schema, &self.options.replica)
                    .await?;
            let mut wanted = Vec::with_capacity(batch.len());
            let names = batch.iter().filter_map(|command| match command {
                Command::Ask(ask) => Some(ask.campaign.as_str()),
                Command::Tell(tell) => Some(tell.campaign.as_str()),
                _ => None,
            });
            let found = campaigns::find(self, session, names).await?;
            let number = |name: &str| found.get(name).map(|home| home.number);
            for command in batch {
                match command {
                    Command::Ask(ask) => wanted.push(Wanted::Ask(ask, number(&ask.campaign))),
                    Command::Tell(tell) => wanted.push(Wanted::Tell(tell, number(&tell.campaign))),
                    _ => {}
                }
            }
            self.pass(session, &wanted).await?;
            rounds::write(session, slot, &self.pool.openings.write, &wanted).await
        })
    }

    /// Excludes rounds that are issued here from later leases, even if they were not leased here.
    async fn pass(
        &self,
        session: &session::Session,
        batch: &[Wanted<'_>],
    ) -> Result<(), trouble::Trouble> {
        let mut ends: BTreeMap<i32, u64> = BTreeMap::new();
        for wanted in batch {
            let Wanted::Ask(ask, Some(campaign)) = wanted else { continue };
            let end = ends.entry(*campaign).or_default();
            *end = ask.rounds.end.max(*end);
        }
        let beyond: Vec<_> = {
            let mut leases = self.leases();
            let leases = leases.since(session.epoch);
            ends.iter()
                .filter(|(campaign, end)| leases.is_beyond(**campaign, **end))
                .map(|(campaign, end)| (*campaign, whole(*end)))
                .collect()
        };
        if !beyond.is_empty() {
            let (campaigns, ends): (Vec<i32>, Vec<i64>) = beyond.into_iter().unzip();
            let sql = "UPDATE lease SET next_round = u.finish FROM (SELECT campaign, finish
                FROM unnest($1::int[], $2::bigint[]) AS u (campaign, finish) JOIN lease USING (campaign)
                WHERE next_round < finish ORDER BY campaign FOR UPDATE OF lease) u
                WHERE lease.campaign = u.campaign AND lease.next_round < u.finish";
            let values = [(&campaigns as _, Type::INT4_ARRAY), (&ends as _, Type::INT8_ARRAY)];
            session.repeatable(&self.pool.openings.write, sql, &values).await?;
        }
        let mut leases = self.leases();
        let leases = leases.since(session.epoch);
        ends.into_iter().for_each(|(campaign, end)| leases.pass(campaign, end));
        Ok(())
    }

    fn apply_single(&self, command: &Command) -> Result<Result<Done, Refusal>, StoreError> {
        self.pool.run(For::Writing, async |session| single::apply(self, session, command).await)
    }

    /// Removes expired keys from time to time. Failures are ignored.
    fn prune_keys(&self, batch: &[Command]) {
        let keyed = batch.iter().filter_map(|command| match command {
            Command::Ask(ask) if ask.key.is_some() => Some(ask.at),
            _ => None,
        });
        let (mut count, mut now) = (0, Millis::MIN);
        for at in keyed {
            (count, now) = (count + 1, now.max(at));
        }
        let before = self.keyed.fetch_add(count, Ordering::Relaxed);
        if before / KEYS_BETWEEN == (before + count) / KEYS_BETWEEN {
            return;
        }
        let sql = "DELETE FROM idempotency WHERE (token, key) IN
            (SELECT token, key FROM idempotency WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED)";
        let values = [(&now as _, Type::INT8), (&KEYS_AT_A_TIME as _, Type::INT8)];
        let _ = self.pool.run(For::Writing, async |session| {
            session.repeatable(&self.pool.openings.write, sql, &values).await
        });
    }

    fn read<T>(
        &self,
        read: impl AsyncFn(&mut session::Session) -> Result<T, trouble::Trouble>,
    ) -> Result<T, StoreError> {
        self.pool.run(For::Reading, read)
    }

    fn set_importing(&self, is_importing: bool) -> Result<(), StoreError> {
        self.pool.run(For::Writing, async |session| {
            schema::set_importing(session, &self.pool.openings.write, is_importing).await
        })
    }

    fn leases(&self) -> MutexGuard<'_, Leases> {
        self.leases.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for PostgresStore {
    fn name(&self) -> &'static str {
        "postgres"
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn apply(&self, batch: &[Command]) -> Result<Vec<Result<Done, Refusal>>, StoreError> {
        let mut answers = Vec::with_capacity(batch.len());
        let mut rest = batch;
        while let Some(first) = rest.first() {
            let together = together(rest);
            if together == 0 {
                answers.push(self.apply_single(first)?);
            } else {
                answers.extend(self.apply_rounds(&rest[..together])?);
            }
            rest = &rest[together.max(1)..];
        }
        self.prune_keys(batch);
        Ok(answers)
    }

    fn forget_campaign(&self, id: &str) {
        campaigns::forget(self, id);
    }

    fn lease_rounds(&self, campaign: &str, count: u32) -> Result<Range<u64>, StoreError> {
        let unknown =
            || StoreError { what: format!("no campaign is named {campaign}"), is_fatal: false };
        let known = campaigns::known(self, campaign);
        let found = if known.is_some() {
            known
        } else {
            self.read(async |session| campaigns::find_one(self, session, campaign).await)?
        };
        let home = found.ok_or_else(unknown)?;
        if let Some(taken) = self.lease_at_hand(campaign, count) {
            return Ok(taken);
        }
        let place = home.number.unsigned_abs() as usize % LEASING;
        let _alone = self.leasing[place].lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let epoch = self.pool.epoch();
            if let Some(taken) = self.leases().since(epoch).take(home.number, count) {
                return Ok(taken);
            }
            let more = i64::from(count.max(BLOCK));
            let sql = "UPDATE lease SET next_round = next_round + $2 WHERE campaign = $1 RETURNING next_round";
            let values = [(&home.number as _, Type::INT4), (&more as _, Type::INT8)];
            let rows = self.pool.run(For::Writing, async |session| {
                session.repeatable(&self.pool.openings.write, sql, &values).await
            })?;
            let end: i64 = rows.first().ok_or_else(unknown)?.get(0);
            if self.pool.epoch() == epoch {
                self.leases().since(epoch).add(home.number, unsigned(end - more)..unsigned(end));
            }
        }
    }

    fn lease_at_hand(&self, campaign: &str, count: u32) -> Option<Range<u64>> {
        let home = campaigns::known(self, campaign)?;
        self.leases().since(self.pool.epoch()).take(home.number, count)
    }

    fn campaign(&self, id: &str) -> Result<Option<CampaignRow>, StoreError> {
        self.read(async |session| campaigns::read(self, session, id).await)
    }

    fn campaigns(&self, after: Option<&str>, limit: usize) -> Result<Vec<CampaignRow>, StoreError> {
        self.read(async |session| campaigns::page(self, session, after, limit).await)
    }

    fn problem(&self, campaign: &str, amendments: u64) -> Result<Option<String>, StoreError> {
        self.read(async |session| reading::problem(self, session, campaign, amendments).await)
    }

    fn standing(&self, campaign: &str) -> Result<Standing, StoreError> {
        self.read(async |session| reading::standing(self, session, campaign).await)
    }

    fn split(&self, campaign: &str, round: u64) -> Result<Option<SplitRow>, StoreError> {
        self.read(async |session| reading::split(self, session, campaign, round).await)
    }

    fn last_split(&self, campaign: &str) -> Result<Option<SplitRow>, StoreError> {
        self.read(async |session| reading::split_before(self, session, campaign, i64::MAX).await)
    }

    fn snapshot(&self, campaign: &str, after: u64) -> Result<Option<CampaignSnapshot>, StoreError> {
        self.read(async |session| reading::snapshot(self, session, campaign, after).await)
    }

    fn open_rounds(&self, campaign: &str, now: Millis) -> Result<Vec<(u64, Millis)>, StoreError> {
        self.read(async |session| reading::open_rounds(self, session, campaign, now).await)
    }

    fn complete_rounds(&self, campaign: &str, rounds: &[u64]) -> Result<Vec<u64>, StoreError> {
        self.read(async |session| reading::complete_rounds(self, session, campaign, rounds).await)
    }

    fn rounds(
        &self,
        campaign: &str,
        after: u64,
        limit: usize,
    ) -> Result<Vec<RoundRow>, StoreError> {
        self.read(async |session| reading::rounds(self, session, campaign, after, limit).await)
    }

    fn events(&self, campaign: &str, after: u64, limit: usize) -> Result<Vec<Event>, StoreError> {
        self.read(async |session| reading::events(self, session, campaign, after, limit).await)
    }

    fn last_event(&self, campaign: &str) -> Result<u64, StoreError> {
        self.read(async |session| reading::last_event(self, session, campaign).await)
    }

    fn used_key(&self, token: &str, key: &str, now: Millis) -> Result<Option<UsedKey>, StoreError> {
        self.read(async |session| reading::used_key(self, session, token, key, now).await)
    }

    fn tokens(&self) -> Result<Vec<TokenRow>, StoreError> {
        self.read(async |session| reading::tokens(self, session).await)
    }

    fn checkpoint(&self, campaign: &str) -> Result<Option<Checkpoint>, StoreError> {
        self.read(async |session| retention::checkpoint(self, session, campaign).await)
    }

    fn compact(&self, compaction: &Compaction) -> Result<Compacted, StoreError> {
        self.pool
            .run(For::Writing, async |session| retention::compact(self, session, compaction).await)
    }

    fn purge(&self, rows: usize) -> Result<u64, StoreError> {
        self.pool.run(For::Writing, async |session| retention::purge(self, session, rows).await)
    }

    fn size(&self) -> Result<StoreSize, StoreError> {
        self.read(async |session| retention::size(self, session).await)
    }

    fn deleted_campaigns(&self, limit: usize) -> Result<Vec<DeletedCampaign>, StoreError> {
        self.read(async |session| retention::deleted_campaigns(self, session, limit).await)
    }

    fn verify(&self) -> Result<Verified, StoreError> {
        self.pool.run_long(For::Reading, async |session| {
            verify::verify(session, &self.pool.openings.long_view).await
        })
    }

    fn begin_import(&self) -> Result<(), StoreError> {
        self.set_importing(true)
    }

    fn end_import(&self) -> Result<(), StoreError> {
        self.set_importing(false)
    }

    fn metrics(&self) -> StoreMetrics {
        StoreMetrics { pools: self.pool.metrics(), ..StoreMetrics::default() }
    }

    fn health(&self) -> Result<(), StoreError> {
        // Takes an event number without using it, which a standby cannot do.
        self.pool.run(For::Reading, async |session| {
            session.begin(&self.pool.openings.write).await?;
            session.commit().await
        })
    }

    /// Returns unused round ids if no later ones have been taken, so that a restart leaves no gap.
    fn close(&self) -> Result<(), StoreError> {
        let epoch = self.pool.epoch();
        let blocks = self.leases().since(epoch).give_up();
        let (campaigns, blocks): (Vec<_>, Vec<_>) = blocks.into_iter().unzip();
        let (starts, ends): (Vec<_>, Vec<_>) =
            blocks.into_iter().map(|block| (whole(block.start), whole(block.end))).unzip();
        let sql = "UPDATE lease SET next_round = u.start FROM unnest($1::int[], $2::bigint[], $3::bigint[]) AS u (campaign, start, finish)
            WHERE lease.campaign = u.campaign AND next_round = u.finish";
        let values = [
            (&campaigns as _, Type::INT4_ARRAY),
            (&starts as _, Type::INT8_ARRAY),
            (&ends as _, Type::INT8_ARRAY),
        ];
        if !campaigns.is_empty() {
            self.pool.run(For::Writing, async |session| {
                session.repeatable(&self.pool.openings.write, sql, &values).await
            })?;
        }
        self.pool.forget_all();
        Ok(())
    }
}

/// The number of leading commands that are requests or reports and fit into one transaction; none
/// if the first is of another kind.
fn together(batch: &[Command]) -> usize {
    let mut weight = 0;
    let most = batch.len().min(SEQ_STEP.try_into().unwrap_or(usize::MAX));
    let fits = |command: &&Command| {
        weight += match command {
            Command::Ask(ask) => 1 + ask.split.numbers(),
            Command::Tell(tell) => 1 + tell.items.len(),
            _ => return false,
        };
        weight <= WEIGHT
    };
    let fitting = batch[..most].iter().take_while(fits).count();
    let is_round = matches!(batch.first(), Some(Command::Ask(_) | Command::Tell(_)));
    // A command that is too large gets a separate transaction.
    fitting.max(usize::from(is_round))
}

/// Numbers in the database are never negative, except counts of a single slot.
fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

/// Columns of an outcome as the tables have them: whether the task succeeded, how often if more
/// than once, the sum of rewards, and the actual and the allocated spend if known.
#[derive(Debug, Clone, Copy)]
struct OutcomeColumns {
    completed: bool,
    completions: Option<i64>,
    reward: i64,
    spent: Option<i64>,
    allocated: Option<i64>,
}

impl OutcomeColumns {
    /// From five columns of a row, in this order.
    fn of_row(row: &tokio_postgres::Row, place: usize) -> Self {
        Self {
            completed: row.get(place),
            completions: row.get(place + 1),
            reward: row.get(place + 2),
            spent: row.get(place + 3),
            allocated: row.get(place + 4),
        }
    }

    fn outcome(self) -> Outcome {
        let delivery = self.spent.zip(self.allocated);
        Outcome {
            completions: self.completions.map_or(u64::from(self.completed), unsigned),
            reward: unsigned(self.reward),
            delivery: delivery.map(|(spent, allocated)| Delivery {
                spent: unsigned(spent),
                allocated: unsigned(allocated),
            }),
        }
    }
}

impl From<Outcome> for OutcomeColumns {
    fn from(outcome: Outcome) -> Self {
        let Outcome { completions, reward, delivery } = outcome;
        Self {
            completed: completions > 0,
            completions: (completions > 1).then(|| whole(completions)),
            reward: whole(reward),
            spent: delivery.map(|delivery| whole(delivery.spent)),
            allocated: delivery.map(|delivery| whole(delivery.allocated)),
        }
    }
}

/// The outcome in five columns of a row.
fn outcome(row: &tokio_postgres::Row, place: usize) -> Outcome {
    OutcomeColumns::of_row(row, place).outcome()
}

fn digest(bytes: &[u8]) -> [u8; 32] {
    bytes.try_into().unwrap_or([0; 32])
}
