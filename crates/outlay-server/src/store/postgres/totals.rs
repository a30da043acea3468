//! Checks that sums stay within the integers of the database.
//!
//! Only reports of several completions and of spends can make a sum too large, so only these need
//! the query. Reports that arrive at the same time are not seen; [`TaskCount::MAX_SUM`] leaves room
//! for them.

use std::collections::{BTreeSet, HashMap};

use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::decide::{Wanted, place};
use super::session::Session;
use super::trouble::Trouble;
use super::unsigned;
use crate::store::TaskCount;

/// The sums of tasks, by campaign and task.
pub(super) type Sums = HashMap<(i32, i32), TaskCount>;

const SUMS: &str = "
    SELECT u.campaign, u.task, coalesce(sum(s.completions), 0)::bigint, coalesce(sum(s.reward_sum), 0)::bigint,
        coalesce(sum(s.expected), 0)::bigint, coalesce(sum(s.spent), 0)::bigint, coalesce(sum(s.allocated), 0)::bigint
    FROM unnest($1::int[], $2::int[]) AS u (campaign, task) JOIN stat s ON s.campaign = u.campaign AND s.task = u.task
    GROUP BY u.campaign, u.task";

/// The sums of the tasks of a batch that need a check.
pub(super) async fn read(
    session: &Session,
    opening: &str,
    batch: &[Wanted<'_>],
) -> Result<Sums, Trouble> {
    let mut tasks = BTreeSet::new();
    for wanted in batch {
        let Wanted::Tell(tell, Some(campaign)) = wanted else { continue };
        let large = tell.items.iter().filter(|item| !item.outcome.is_single(item.expected));
        tasks.extend(large.map(|item| (*campaign, place(*campaign, tell, item).2)));
    }
    if tasks.is_empty() {
        return Ok(Sums::new());
    }
    let (campaigns, tasks): (Vec<i32>, Vec<i32>) = tasks.into_iter().unzip();
    let values = [(&campaigns as _, Type::INT4_ARRAY), (&tasks as _, Type::INT4_ARRAY)];
    let rows = session.repeatable(opening, SUMS, &values).await?;
    Ok(rows.iter().map(|row| ((row.get(0), row.get(1)), sums(row))).collect())
}

/// The sums of one task, within a transaction.
pub(super) async fn of_task(
    session: &Session,
    campaign: i32,
    task: i32,
) -> Result<TaskCount, Trouble> {
    let (campaign, task) = ([campaign], [task]);
    let values =
        [(&campaign.as_slice() as _, Type::INT4_ARRAY), (&task.as_slice() as _, Type::INT4_ARRAY)];
    let rows = session.client.query_typed(SUMS, &values).await?;
    Ok(rows.first().map(sums).unwrap_or_default())
}

fn sums(row: &Row) -> TaskCount {
    let [completions, reward_sum, expected, spent, allocated] =
        [2, 3, 4, 5, 6].map(|column| unsigned(row.get(column)));
    TaskCount { told: 0, completions, reward_sum, expected, spent, allocated }
}
