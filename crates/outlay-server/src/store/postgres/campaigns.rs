//! Campaigns, and their numbers in the other tables.

use std::collections::HashMap;
use std::sync::PoisonError;

use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::session::Session;
use super::trouble::Trouble;
use super::{PostgresStore, unsigned};
use crate::store::{CampaignRow, CampaignStatus};

/// Number of a campaign.
#[derive(Debug, Clone, Copy)]
pub(super) struct Home {
    pub(super) number: i32,
}

/// Campaigns that were looked up before. The number does not change, but a campaign may be deleted:
/// it is then removed.
#[derive(Debug, Default)]
pub(super) struct Campaigns {
    homes: HashMap<String, Home>,
    epoch: u64,
}

impl Campaigns {
    /// Forgets campaigns that were read before connections were lost: another database may have
    /// replaced this one.
    fn since(&mut self, epoch: u64) -> &mut Self {
        if self.epoch != epoch {
            self.homes.clear();
            self.epoch = epoch;
        }
        self
    }
}

/// A campaign that was looked up before.
pub(super) fn known(store: &PostgresStore, name: &str) -> Option<Home> {
    let mut kept = store.campaigns.lock().unwrap_or_else(PoisonError::into_inner);
    kept.since(store.pool.epoch()).homes.get(name).copied()
}

/// Forgets a deleted campaign: another one may have its id by now.
pub(super) fn forget(store: &PostgresStore, name: &str) {
    let mut kept = store.campaigns.lock().unwrap_or_else(PoisonError::into_inner);
    kept.homes.remove(name);
}

/// The existing ones of these campaigns.
pub(super) async fn find<'a>(
    store: &PostgresStore,
    session: &Session,
    names: impl Iterator<Item = &'a str>,
) -> Result<HashMap<&'a str, Home>, Trouble> {
    let (mut found, mut unknown) = (HashMap::new(), Vec::new());
    {
        let mut kept = store.campaigns.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = kept.since(session.epoch);
        for name in names {
            match kept.homes.get(name) {
                Some(home) => drop(found.insert(name, *home)),
                // The database cannot store such a text, so there is no such campaign.
                None if name.contains('\0') => {}
                None => unknown.push(name),
            }
        }
    }
    if unknown.is_empty() {
        return Ok(found);
    }
    unknown.sort_unstable();
    unknown.dedup();
    let sql = "SELECT id, number FROM campaign WHERE id = ANY ($1)";
    let rows =
        session.repeatable(&store.pool.openings.read, sql, &[(&unknown, Type::TEXT_ARRAY)]).await?;
    let mut kept = store.campaigns.lock().unwrap_or_else(PoisonError::into_inner);
    let kept = kept.since(session.epoch);
    for row in &rows {
        let (id, home): (&str, _) = (row.get(0), Home { number: row.get(1) });
        kept.homes.insert(id.to_owned(), home);
        if let Ok(place) = unknown.binary_search(&id) {
            found.insert(unknown[place], home);
        }
    }
    Ok(found)
}

pub(super) async fn find_one(
    store: &PostgresStore,
    session: &Session,
    name: &str,
) -> Result<Option<Home>, Trouble> {
    Ok(find(store, session, std::iter::once(name)).await?.get(name).copied())
}

const COLUMNS: &str =
    "SELECT id, spec, c.tasks, status, version, created_at, changed_at, amendments, problem FROM campaign c
    LEFT JOIN amendment a ON a.campaign = c.number AND a.number = c.amendments";

pub(super) async fn read(
    store: &PostgresStore,
    session: &Session,
    id: &str,
) -> Result<Option<CampaignRow>, Trouble> {
    if id.contains('\0') {
        return Ok(None);
    }
    let rows = session
        .repeatable(
            &store.pool.openings.read,
            &format!("{COLUMNS} WHERE id = $1"),
            &[(&id, Type::TEXT)],
        )
        .await?;
    rows.first().map(row).transpose()
}

pub(super) async fn page(
    store: &PostgresStore,
    session: &Session,
    after: Option<&str>,
    limit: usize,
) -> Result<Vec<CampaignRow>, Trouble> {
    // No id continues after the part that the database can store.
    let after = after.map(|after| after.split('\0').next().unwrap_or_default());
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let sql = format!("{COLUMNS} WHERE $1::text IS NULL OR id > $1 ORDER BY id LIMIT $2");
    let rows = session
        .repeatable(&store.pool.openings.read, &sql, &[(&after, Type::TEXT), (&limit, Type::INT8)])
        .await?;
    rows.iter().map(row).collect()
}

fn row(row: &Row) -> Result<CampaignRow, Trouble> {
    Ok(CampaignRow {
        id: row.get(0),
        spec: row.get(1),
        tasks: row.get::<_, i32>(2).unsigned_abs(),
        status: status(row.get(3))?,
        version: unsigned(row.get(4)),
        created_at: row.get(5),
        changed_at: row.get(6),
        amendments: unsigned(row.get(7)),
        problem: row.get(8),
    })
}

/// Name of a status in the database.
pub(super) fn word(status: CampaignStatus) -> &'static str {
    match status {
        CampaignStatus::Open => "open",
        CampaignStatus::Paused => "paused",
        CampaignStatus::Closed => "closed",
    }
}

pub(super) fn status(word: &str) -> Result<CampaignStatus, Trouble> {
    match word {
        "open" => Ok(CampaignStatus::Open),
        "paused" => Ok(CampaignStatus::Paused),
        "closed" => Ok(CampaignStatus::Closed),
        other => Err(Trouble::final_one(
            format!("a campaign's status is {other:?} in the database"),
            false,
        )),
    }
}
