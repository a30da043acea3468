//! A batch in the form that the database takes: one array per column.

use std::collections::{BTreeMap, HashSet};

use tokio_postgres::types::Type;
use tokio_postgres::{Error, Row};

use super::decide::{Answer, Decision, Wanted, whole};
use super::session::Session;
use super::{OutcomeColumns, SEQ_STEP};
use crate::store::{Checkpoint, Item, TaskCount};

const INSERT_KEYS: &str = "
    INSERT INTO idempotency AS old (token, key, request, campaign, first_round, end_round, used_at, expires_at)
    SELECT * FROM unnest($1::text[], $2::bytea[], $3::bytea[], $4::int[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[])
        AS new (token, key, request, campaign, first_round, end_round, used_at, expires_at)
    ORDER BY token COLLATE \"C\", key
    ON CONFLICT (token, key) DO UPDATE SET (request, campaign, first_round, end_round, used_at, expires_at)
        = (EXCLUDED.request, EXCLUDED.campaign, EXCLUDED.first_round, EXCLUDED.end_round, EXCLUDED.used_at, EXCLUDED.expires_at)
        WHERE old.expires_at <= EXCLUDED.used_at OR NOT EXISTS (SELECT FROM campaign c WHERE c.number = old.campaign)
    RETURNING token, key";

#[derive(Default)]
pub(super) struct KeyColumns<'a> {
    tokens: Vec<&'a str>,
    keys: Vec<&'a [u8]>,
    requests: Vec<&'a [u8]>,
    campaigns: Vec<i32>,
    firsts: Vec<i64>,
    ends: Vec<i64>,
    used_at: Vec<i64>,
    expires_at: Vec<i64>,
}

impl<'a> KeyColumns<'a> {
    pub(super) fn of(decision: &Decision<'a>) -> Self {
        let mut columns = Self::default();
        for ((token, _), (_, campaign, ask)) in &decision.keys {
            let Some(key) = &ask.key else { continue };
            columns.tokens.push(token);
            columns.keys.push(key.key.as_bytes());
            columns.requests.push(&key.request);
            columns.campaigns.push(*campaign);
            columns.firsts.push(whole(ask.rounds.start));
            columns.ends.push(whole(ask.rounds.end));
            columns.used_at.push(ask.at);
            columns.expires_at.push(key.expires_at);
        }
        columns
    }

    pub(super) async fn insert(&self, session: &Session) -> Result<Vec<Row>, Error> {
        let values = [
            (&self.tokens as _, Type::TEXT_ARRAY),
            (&self.keys as _, Type::BYTEA_ARRAY),
            (&self.requests as _, Type::BYTEA_ARRAY),
            (&self.campaigns as _, Type::INT4_ARRAY),
            (&self.firsts as _, Type::INT8_ARRAY),
            (&self.ends as _, Type::INT8_ARRAY),
            (&self.used_at as _, Type::INT8_ARRAY),
            (&self.expires_at as _, Type::INT8_ARRAY),
        ];
        session.query(!self.tokens.is_empty(), INSERT_KEYS, &values).await
    }
}

/// The numbers of all splits are in one array, of which each split takes its part.
const INSERT_SPLITS: &str = "
    INSERT INTO split (campaign, first_round, end_round, seq, there, stats_version, at, expires_at, budget, token,
        amendments, spend, success, weight, available, scale, volume)
    SELECT campaign, first_round, end_round, currval('event') * $20 + place, there, stats_version, at, expires_at, budget, token,
        amendments,
        ($18::float8[])[start + 1 : success_start], ($18::float8[])[success_start + 1 : weight_start],
        ($18::float8[])[weight_start + 1 : weight_finish],
        CASE WHEN available_start IS NOT NULL THEN ($19::bool[])[available_start + 1 : available_start + tasks] END,
        CASE WHEN scale_start IS NOT NULL THEN ($18::float8[])[scale_start + 1 : scale_start + tasks] END,
        CASE WHEN volume_start IS NOT NULL THEN ($18::float8[])[volume_start + 1 : volume_start + tasks] END
    FROM (SELECT *, success_start - start AS tasks
        FROM unnest($1::int[], $2::bigint[], $3::bigint[], $4::int[], $5::int[], $6::bigint[], $7::bigint[], $8::bigint[], $9::float8[],
        $10::text[], $11::int[], $12::int[], $13::int[], $14::int[], $15::int[], $16::int[], $17::int[], $21::bigint[])
        AS sent (campaign, first_round, end_round, place, there, stats_version, at, expires_at, budget, token,
        start, success_start, weight_start, weight_finish, available_start, scale_start, volume_start, amendments)) AS new
    WHERE coalesce((SELECT s.end_round FROM split s WHERE s.campaign = new.campaign AND s.first_round < new.end_round
        ORDER BY s.first_round DESC LIMIT 1), 0) <= new.first_round
    ORDER BY campaign, first_round
    ON CONFLICT DO NOTHING
    RETURNING seq";

#[derive(Default)]
pub(super) struct SplitColumns<'a> {
    campaigns: Vec<i32>,
    firsts: Vec<i64>,
    ends: Vec<i64>,
    places: Vec<i32>,
    there: Vec<i32>,
    stats_versions: Vec<i64>,
    at: Vec<i64>,
    expires_at: Vec<i64>,
    budgets: Vec<f64>,
    tokens: Vec<&'a str>,
    amendments: Vec<i64>,
    /// Positions in `numbers` where a split, its probabilities of success and its weights begin,
    /// and where the weights end.
    starts: [Vec<i32>; 4],
    /// The position in `flags` where the available tasks begin, if not all are.
    available: Vec<Option<i32>>,
    /// Positions in `numbers` where scales and volumes begin, if there are any.
    conditions: [Vec<Option<i32>>; 2],
    numbers: Vec<f64>,
    flags: Vec<bool>,
}

impl<'a> SplitColumns<'a> {
    pub(super) fn of(decision: &Decision<'a>) -> Self {
        let mut columns = Self::default();
        for (place, campaign, ask) in &decision.asks {
            let split = &ask.split;
            let there = split.there();
            columns.campaigns.push(*campaign);
            columns.firsts.push(whole(ask.rounds.start));
            columns.ends.push(whole(ask.rounds.end));
            columns.places.push(small(*place));
            columns.there.push(small(there));
            columns.stats_versions.push(whole(ask.stats_version));
            columns.at.push(ask.at);
            columns.expires_at.push(ask.expires_at);
            columns.budgets.push(split.budget);
            columns.tokens.push(&ask.token);
            columns.amendments.push(whole(ask.amendments));
            columns.starts[0].push(small(columns.numbers.len()));
            for (numbers, starts) in [&split.spend, &split.success, &split.index]
                .into_iter()
                .zip(&mut columns.starts[1..])
            {
                columns.numbers.extend_from_slice(numbers);
                starts.push(small(columns.numbers.len()));
            }
            for (numbers, starts) in
                [&split.scale, &split.volume].into_iter().zip(&mut columns.conditions)
            {
                starts.push(numbers.as_ref().map(|_| small(columns.numbers.len())));
                columns.numbers.extend_from_slice(numbers.as_deref().unwrap_or_default());
            }
            let flags = split.available.as_deref();
            columns.available.push(flags.map(|_| small(columns.flags.len())));
            columns.flags.extend_from_slice(flags.unwrap_or_default());
        }
        columns
    }

    pub(super) async fn insert(&self, session: &Session) -> Result<Vec<Row>, Error> {
        let [starts, success_starts, weight_starts, finishes] = &self.starts;
        let [scale_starts, volume_starts] = &self.conditions;
        let values = [
            (&self.campaigns as _, Type::INT4_ARRAY),
            (&self.firsts as _, Type::INT8_ARRAY),
            (&self.ends as _, Type::INT8_ARRAY),
            (&self.places as _, Type::INT4_ARRAY),
            (&self.there as _, Type::INT4_ARRAY),
            (&self.stats_versions as _, Type::INT8_ARRAY),
            (&self.at as _, Type::INT8_ARRAY),
            (&self.expires_at as _, Type::INT8_ARRAY),
            (&self.budgets as _, Type::FLOAT8_ARRAY),
            (&self.tokens as _, Type::TEXT_ARRAY),
            (starts as _, Type::INT4_ARRAY),
            (success_starts as _, Type::INT4_ARRAY),
            (weight_starts as _, Type::INT4_ARRAY),
            (finishes as _, Type::INT4_ARRAY),
            (&self.available as _, Type::INT4_ARRAY),
            (scale_starts as _, Type::INT4_ARRAY),
            (volume_starts as _, Type::INT4_ARRAY),
            (&self.numbers as _, Type::FLOAT8_ARRAY),
            (&self.flags as _, Type::BOOL_ARRAY),
            (&SEQ_STEP as _, Type::INT8),
            (&self.amendments as _, Type::INT8_ARRAY),
        ];
        session.query(!self.campaigns.is_empty(), INSERT_SPLITS, &values).await
    }
}

const INSERT_FEEDBACK: &str = "
    INSERT INTO feedback (campaign, round, task, seq, place, completed, reward, expected, completions, spent, allocated)
    SELECT campaign, round, task, currval('event') * $12 + report, place, completed, reward, expected, completions, spent, allocated
    FROM unnest($1::int[], $2::bigint[], $3::int[], $4::int[], $5::int[], $6::bool[], $7::bigint[], $8::bigint[],
        $9::bigint[], $10::bigint[], $11::bigint[])
        AS new (campaign, round, task, report, place, completed, reward, expected, completions, spent, allocated)
    ORDER BY campaign, round, task
    ON CONFLICT DO NOTHING";

#[derive(Default)]
pub(super) struct FeedbackColumns {
    campaigns: Vec<i32>,
    rounds: Vec<i64>,
    tasks: Vec<i32>,
    reports: Vec<i32>,
    places: Vec<i32>,
    completed: Vec<bool>,
    rewards: Vec<i64>,
    expected: Vec<i64>,
    completions: Vec<Option<i64>>,
    spent: Vec<Option<i64>>,
    allocated: Vec<Option<i64>>,
}

impl FeedbackColumns {
    pub(super) fn of(decision: &Decision<'_>) -> Self {
        let mut columns = Self::default();
        for ((campaign, round, task), (report, place, item)) in &decision.items {
            columns.campaigns.push(*campaign);
            columns.rounds.push(*round);
            columns.tasks.push(*task);
            columns.reports.push(small(*report));
            columns.places.push(small(*place));
            let outcome = OutcomeColumns::from(item.outcome);
            columns.completed.push(outcome.completed);
            columns.rewards.push(outcome.reward);
            columns.expected.push(whole(item.expected));
            columns.completions.push(outcome.completions);
            columns.spent.push(outcome.spent);
            columns.allocated.push(outcome.allocated);
        }
        columns
    }

    /// Number of new rows.
    pub(super) async fn insert(&self, session: &Session) -> Result<u64, Error> {
        let values = [
            (&self.campaigns as _, Type::INT4_ARRAY),
            (&self.rounds as _, Type::INT8_ARRAY),
            (&self.tasks as _, Type::INT4_ARRAY),
            (&self.reports as _, Type::INT4_ARRAY),
            (&self.places as _, Type::INT4_ARRAY),
            (&self.completed as _, Type::BOOL_ARRAY),
            (&self.rewards as _, Type::INT8_ARRAY),
            (&self.expected as _, Type::INT8_ARRAY),
            (&self.completions as _, Type::INT8_ARRAY),
            (&self.spent as _, Type::INT8_ARRAY),
            (&self.allocated as _, Type::INT8_ARRAY),
            (&SEQ_STEP as _, Type::INT8),
        ];
        session.execute(!self.campaigns.is_empty(), INSERT_FEEDBACK, &values).await
    }
}

const INSERT_TOLD: &str = "
    INSERT INTO told (campaign, seq, round, is_late, at, token)
    SELECT * FROM unnest($1::int[], $2::bigint[], $3::bigint[], $4::bool[], $5::bigint[], $6::text[])";

#[derive(Default)]
pub(super) struct ToldColumns<'a> {
    campaigns: Vec<i32>,
    seqs: Vec<i64>,
    rounds: Vec<i64>,
    is_late: Vec<bool>,
    at: Vec<i64>,
    tokens: Vec<&'a str>,
}

impl<'a> ToldColumns<'a> {
    /// Reports with new outcomes.
    pub(super) fn of(batch: &[Wanted<'a>], decision: &Decision<'_>, first_seq: i64) -> Self {
        let mut columns = Self::default();
        let bringing: HashSet<usize> =
            decision.items.values().map(|(report, ..)| *report).collect();
        for (place, wanted) in
            batch.iter().enumerate().filter(|(place, _)| bringing.contains(place))
        {
            let Wanted::Tell(tell, Some(campaign)) = wanted else { continue };
            columns.campaigns.push(*campaign);
            columns.seqs.push(first_seq + i64::from(small(place)));
            columns.rounds.push(whole(tell.round));
            columns.is_late.push(tell.is_late);
            columns.at.push(tell.at);
            columns.tokens.push(&tell.token);
        }
        columns
    }

    pub(super) async fn insert(&self, session: &Session) -> Result<u64, Error> {
        let values = [
            (&self.campaigns as _, Type::INT4_ARRAY),
            (&self.seqs as _, Type::INT8_ARRAY),
            (&self.rounds as _, Type::INT8_ARRAY),
            (&self.is_late as _, Type::BOOL_ARRAY),
            (&self.at as _, Type::INT8_ARRAY),
            (&self.tokens as _, Type::TEXT_ARRAY),
        ];
        session.execute(!self.campaigns.is_empty(), INSERT_TOLD, &values).await
    }
}

/// Number of available tasks of the round and number of reported ones, unless the report alone
/// contains all of them.
const READ_COMPLETE: &str = "
    SELECT u.place, s.there, CASE WHEN u.items < s.there
        THEN (SELECT count(*) FROM feedback f WHERE f.campaign = u.campaign AND f.round = u.round) END
    FROM unnest($1::int[], $2::int[], $3::bigint[], $4::int[]) AS u (place, campaign, round, items)
    CROSS JOIN LATERAL (SELECT s.end_round, s.there FROM split s WHERE s.campaign = u.campaign AND s.first_round <= u.round
        ORDER BY s.first_round DESC LIMIT 1) s
    WHERE s.end_round > u.round";

/// Reports, and whether they may have completed their rounds.
#[derive(Default)]
pub(super) struct CompleteColumns {
    places: Vec<i32>,
    campaigns: Vec<i32>,
    rounds: Vec<i64>,
    items: Vec<i32>,
}

impl CompleteColumns {
    pub(super) fn of(batch: &[Wanted<'_>], decision: &Decision<'_>) -> Self {
        let mut columns = Self::default();
        for (place, (wanted, answer)) in batch.iter().zip(&decision.answers).enumerate() {
            let (Wanted::Tell(tell, Some(campaign)), Answer::Told(_)) = (wanted, answer) else {
                continue;
            };
            columns.places.push(small(place));
            columns.campaigns.push(*campaign);
            columns.rounds.push(whole(tell.round));
            columns.items.push(small(tell.items.len()));
        }
        columns
    }

    pub(super) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    pub(super) async fn read(&self, session: &Session) -> Result<Vec<Row>, Error> {
        let values = [
            (&self.places as _, Type::INT4_ARRAY),
            (&self.campaigns as _, Type::INT4_ARRAY),
            (&self.rounds as _, Type::INT8_ARRAY),
            (&self.items as _, Type::INT4_ARRAY),
        ];
        session.query(!self.is_empty(), READ_COMPLETE, &values).await
    }
}

const ADD_STATS: &str = "
    INSERT INTO stat AS old (slot, campaign, task, told, completions, reward_sum, expected, spent, allocated)
    SELECT $1::int, new.* FROM unnest($2::int[], $3::int[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[],
        $9::bigint[]) AS new (campaign, task, told, completions, reward_sum, expected, spent, allocated)
    ORDER BY campaign, task
    ON CONFLICT (campaign, slot, task) DO UPDATE SET told = old.told + EXCLUDED.told, completions = old.completions + EXCLUDED.completions,
        reward_sum = old.reward_sum + EXCLUDED.reward_sum, expected = old.expected + EXCLUDED.expected,
        spent = old.spent + EXCLUDED.spent, allocated = old.allocated + EXCLUDED.allocated";

const ADD_TALLIES: &str = "
    INSERT INTO tally AS old (slot, campaign, rounds, version, late)
    SELECT $1::int, new.* FROM unnest($2::int[], $3::bigint[], $4::bigint[], $5::bigint[]) AS new (campaign, rounds, version, late)
    ORDER BY campaign
    ON CONFLICT (campaign, slot) DO UPDATE SET rounds = old.rounds + EXCLUDED.rounds, version = old.version + EXCLUDED.version,
        late = old.late + EXCLUDED.late";

/// Changes of the counts of a slot. A correction subtracts, possibly in another slot than the
/// original: only the sum over all slots is meaningful.
#[derive(Debug, Default)]
pub(super) struct Counts {
    /// By campaign and task: told, completions, rewards, expected, spent, allocated.
    stats: BTreeMap<(i32, i32), [i64; 6]>,
    /// By campaign: rounds, version, late.
    tallies: BTreeMap<i32, [i64; 3]>,
}

impl Counts {
    pub(super) fn of(batch: &[Wanted<'_>], decision: &Decision<'_>) -> Self {
        let mut counts = Self::default();
        for (_, campaign, ask) in &decision.asks {
            counts.tally(*campaign, [whole(ask.rounds.end - ask.rounds.start), 0, 0]);
        }
        for ((campaign, _, task), (report, _, item)) in &decision.items {
            let is_late = matches!(batch.get(*report), Some(Wanted::Tell(tell, _)) if tell.is_late);
            counts.tally(*campaign, [0, 1, is_late.into()]);
            let Item { outcome, expected, .. } = *item;
            counts.stat(*campaign, *task, sums(TaskCount::of(outcome, expected)));
        }
        counts
    }

    pub(super) fn of_correction(campaign: i32, task: i32, from: TaskCount, to: TaskCount) -> Self {
        let mut counts = Self::default();
        counts.tally(campaign, [0, 1, 0]);
        let (from, mut change) = (sums(from), sums(to));
        change.iter_mut().zip(from).for_each(|(change, from)| *change -= from);
        counts.stat(campaign, task, change);
        counts
    }

    pub(super) fn of_checkpoint(campaign: i32, checkpoint: &Checkpoint) -> Self {
        let mut counts = Self::default();
        let Checkpoint { rounds, version, late, tasks, .. } = checkpoint;
        counts.tally(campaign, [whole(*rounds), whole(*version), whole(*late)]);
        for (task, count) in (0..).zip(tasks).filter(|(_, count)| count.told > 0) {
            counts.stat(campaign, task, sums(*count));
        }
        counts
    }

    fn tally(&mut self, campaign: i32, more: [i64; 3]) {
        add(self.tallies.entry(campaign).or_default(), more);
    }

    fn stat(&mut self, campaign: i32, task: i32, more: [i64; 6]) {
        add(self.stats.entry((campaign, task)).or_default(), more);
    }

    pub(super) async fn add_stats(&self, session: &Session, slot: i32) -> Result<u64, Error> {
        let (campaigns, tasks): (Vec<_>, Vec<_>) = self.stats.keys().copied().unzip();
        let [told, completions, rewards, expected, spent, allocated] = [0, 1, 2, 3, 4, 5]
            .map(|which| self.stats.values().map(|row| row[which]).collect::<Vec<_>>());
        let values = [
            (&slot as _, Type::INT4),
            (&campaigns as _, Type::INT4_ARRAY),
            (&tasks as _, Type::INT4_ARRAY),
            (&told as _, Type::INT8_ARRAY),
            (&completions as _, Type::INT8_ARRAY),
            (&rewards as _, Type::INT8_ARRAY),
            (&expected as _, Type::INT8_ARRAY),
            (&spent as _, Type::INT8_ARRAY),
            (&allocated as _, Type::INT8_ARRAY),
        ];
        session.execute(!campaigns.is_empty(), ADD_STATS, &values).await
    }

    pub(super) async fn add_tallies(&self, session: &Session, slot: i32) -> Result<u64, Error> {
        let campaigns: Vec<_> = self.tallies.keys().copied().collect();
        let [rounds, versions, late] =
            [0, 1, 2].map(|which| self.tallies.values().map(|row| row[which]).collect::<Vec<_>>());
        let values = [
            (&slot as _, Type::INT4),
            (&campaigns as _, Type::INT4_ARRAY),
            (&rounds as _, Type::INT8_ARRAY),
            (&versions as _, Type::INT8_ARRAY),
            (&late as _, Type::INT8_ARRAY),
        ];
        session.execute(!campaigns.is_empty(), ADD_TALLIES, &values).await
    }
}

/// The columns of a count.
fn sums(count: TaskCount) -> [i64; 6] {
    let TaskCount { told, completions, reward_sum, expected, spent, allocated } = count;
    [told, completions, reward_sum, expected, spent, allocated].map(whole)
}

fn add<const N: usize>(sums: &mut [i64; N], more: [i64; N]) {
    for (sum, more) in sums.iter_mut().zip(more) {
        *sum += more;
    }
}

/// Indices in a batch and in its arrays; batches are split so that they stay small.
fn small(number: usize) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}
