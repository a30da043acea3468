//! Slots: each connection adds to separate rows of counts, so that connections do not wait for each
//! other on the same campaign.
//!
//! A slot is a small number held by an advisory lock of the session, and free again when the
//! session ends. Counts are correct whichever slot is used, because they are only added to; two
//! connections in one slot only wait for each other. So losing the lock unnoticed behind a pooler
//! is harmless, and if such locks do not work at all, a number derived from the name of the replica
//! is used.

use std::hash::{DefaultHasher, Hash, Hasher};

use tokio_postgres::types::Type;

use super::session::Session;
use super::trouble::Trouble;

/// Slots that are held by locks; as many again, above them, are derived from names.
const SLOTS: i32 = 64;

/// How connections get their slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Slots {
    /// The lowest free one, by an advisory lock; derived from the replica's name if that does not
    /// work.
    #[default]
    Locked,
    /// Derived from the replica's name: for poolers that use another connection for each
    /// transaction.
    Named,
}

const CLAIM: &str = "SELECT slot FROM generate_series(0, $2 - 1) AS slot WHERE pg_try_advisory_lock(hashtext('outlay slot ' || $1), slot) LIMIT 1";

/// In a separate transaction: a pooler may have switched to another connection by now.
const IS_HELD: &str = "SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid() AND granted
    AND classid::bigint = hashtext('outlay slot ' || $1)::bit(32)::bigint AND objid::bigint = $2 AND objsubid = 2)";

/// The session's slot, claimed when it first writes.
pub(super) async fn of(
    session: &mut Session,
    how: Slots,
    schema: &str,
    replica: &str,
) -> Result<i32, Trouble> {
    if let Some(slot) = session.slot {
        return Ok(slot);
    }
    let claimed = match how {
        Slots::Locked => claim(session, schema).await?,
        Slots::Named => None,
    };
    let slot = claimed.unwrap_or_else(|| named(replica));
    session.slot = Some(slot);
    Ok(slot)
}

async fn claim(session: &Session, schema: &str) -> Result<Option<i32>, Trouble> {
    let rows = match session
        .client
        .query_typed(CLAIM, &[(&schema, Type::TEXT), (&SLOTS, Type::INT4)])
        .await
    {
        Ok(rows) => rows,
        // A database with this protocol but without such locks.
        Err(error) if error.as_db_error().is_some() && !Trouble::from(&error).is_lost => {
            return Ok(None);
        }
        Err(error) => return Err(error.into()),
    };
    let Some(slot) = rows.first().map(|row| row.get::<_, i32>(0)) else { return Ok(None) };
    let held = session
        .client
        .query_typed(IS_HELD, &[(&schema, Type::TEXT), (&i64::from(slot), Type::INT8)])
        .await?;
    Ok(held.first().is_some_and(|row| row.get(0)).then_some(slot))
}

fn named(replica: &str) -> i32 {
    let mut hasher = DefaultHasher::new();
    replica.hash(&mut hasher);
    let draw = hasher.finish() % u64::from(SLOTS.unsigned_abs());
    SLOTS + i32::try_from(draw).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{SLOTS, named};

    #[test]
    fn names_select_slots_above_the_locked_ones() {
        let drawn: std::collections::BTreeSet<_> =
            (0..1000).map(|i| named(&format!("replica {i}"))).collect();
        assert_eq!(drawn.len(), SLOTS as usize, "every slot is drawn by some name");
        assert!(drawn.iter().all(|slot| (SLOTS..2 * SLOTS).contains(slot)));
    }
}
