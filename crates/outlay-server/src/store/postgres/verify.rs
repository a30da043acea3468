//! Recounts everything inside the database, and compares.

use tokio_postgres::Row;

use super::session::Session;
use super::trouble::Trouble;
use super::unsigned;
use crate::store::Verified;

/// Rows of deleted campaigns may remain: they do not count.
const TOTALS: &str = "SELECT (SELECT count(*) FROM campaign),
    (SELECT coalesce(sum(end_round - first_round), 0)::bigint FROM split WHERE campaign IN (SELECT number FROM campaign))
        + (SELECT coalesce(sum(rounds), 0)::bigint FROM checkpoint WHERE campaign IN (SELECT number FROM campaign)),
    (SELECT count(*) FROM feedback WHERE campaign IN (SELECT number FROM campaign))
        + (SELECT coalesce(sum(told), 0)::bigint FROM checkpoint_stat WHERE campaign IN (SELECT number FROM campaign))";

/// Tasks whose sums over all slots differ from the checkpoint plus the counts of the remaining
/// feedback, with the last corrections.
const TASKS: &str = "
    WITH last AS (SELECT DISTINCT ON (campaign, round, task) campaign, round, task, coalesce(to_completions, to_completed::int)
            AS completions, to_reward, coalesce(to_spent, 0) AS spent, coalesce(to_allocated, 0) AS allocated, to_expected
            FROM correction ORDER BY campaign, round, task, seq DESC),
        left_over AS (SELECT f.campaign, f.task, count(*) AS told,
            sum(coalesce(last.completions, f.completions, f.completed::int)) AS completions,
            sum(coalesce(last.to_reward, f.reward)) AS reward_sum, sum(coalesce(last.to_expected, f.expected)) AS expected,
            sum(coalesce(last.spent, f.spent, 0)) AS spent, sum(coalesce(last.allocated, f.allocated, 0)) AS allocated
            FROM feedback f LEFT JOIN last USING (campaign, round, task) GROUP BY f.campaign, f.task),
        folded AS (SELECT campaign, task, sum(told) AS told, sum(completions) AS completions, sum(reward_sum) AS reward_sum,
            sum(expected) AS expected, sum(spent) AS spent, sum(allocated) AS allocated FROM (SELECT * FROM left_over
            UNION ALL SELECT campaign, task, told, completions, reward_sum, expected, spent, allocated FROM checkpoint_stat) AS parts
            GROUP BY campaign, task),
        kept AS (SELECT campaign, task, sum(told) AS told, sum(completions) AS completions, sum(reward_sum) AS reward_sum,
            sum(expected) AS expected, sum(spent) AS spent, sum(allocated) AS allocated FROM stat GROUP BY campaign, task)
    SELECT coalesce(c.id, '?'), task FROM folded FULL JOIN kept USING (campaign, task) LEFT JOIN campaign c ON c.number = campaign
    WHERE NOT EXISTS (SELECT FROM deletion d WHERE d.number = campaign AND NOT d.is_purged)
        AND (coalesce(folded.told, 0), coalesce(folded.completions, 0), coalesce(folded.reward_sum, 0), coalesce(folded.expected, 0),
            coalesce(folded.spent, 0), coalesce(folded.allocated, 0))
        <> (coalesce(kept.told, 0), coalesce(kept.completions, 0), coalesce(kept.reward_sum, 0), coalesce(kept.expected, 0),
            coalesce(kept.spent, 0), coalesce(kept.allocated, 0))
    ORDER BY 1, 2";

/// Campaigns whose rounds, versions or late outcomes differ from their rows.
const TALLIES: &str = "
    WITH rounds AS (SELECT campaign, sum(end_round - first_round) AS rounds FROM split GROUP BY campaign),
        items AS (SELECT campaign, count(*) AS items FROM feedback GROUP BY campaign),
        corrections AS (SELECT campaign, count(*) AS corrections FROM correction GROUP BY campaign),
        late AS (SELECT t.campaign, count(*) AS late FROM told t JOIN feedback f ON f.campaign = t.campaign AND f.round = t.round
            AND f.seq = t.seq WHERE t.is_late GROUP BY t.campaign),
        kept AS (SELECT campaign, sum(rounds) AS rounds, sum(version) AS version, sum(late) AS late FROM tally GROUP BY campaign)
    SELECT c.id FROM campaign c LEFT JOIN rounds ON rounds.campaign = c.number LEFT JOIN items ON items.campaign = c.number
        LEFT JOIN corrections ON corrections.campaign = c.number LEFT JOIN late ON late.campaign = c.number
        LEFT JOIN kept ON kept.campaign = c.number LEFT JOIN checkpoint k ON k.campaign = c.number
    WHERE (coalesce(rounds.rounds, 0) + coalesce(k.rounds, 0),
            coalesce(items.items, 0) + coalesce(corrections.corrections, 0) + coalesce(k.version, 0),
            coalesce(late.late, 0) + coalesce(k.late, 0))
        <> (coalesce(kept.rounds, 0), coalesce(kept.version, 0), coalesce(kept.late, 0))
    ORDER BY 1";

/// Rounds that were issued twice, and issued rounds that could be leased again.
const ROUNDS: &str = "
    SELECT c.id, s.first_round FROM (SELECT campaign, first_round, end_round,
            lead(first_round) OVER (PARTITION BY campaign ORDER BY first_round) AS next FROM split) s
        JOIN campaign c ON c.number = s.campaign JOIN lease l ON l.campaign = s.campaign
    WHERE s.next < s.end_round OR s.end_round > l.next_round
    ORDER BY 1, 2";

/// Reports without their feedback, and feedback without a report.
const REPORTS: &str = "
    SELECT c.id, coalesce(t.round, f.round) FROM told t
        FULL JOIN (SELECT campaign, round, seq FROM feedback GROUP BY campaign, round, seq) f USING (campaign, round, seq)
        JOIN campaign c ON c.number = campaign
    WHERE t.at IS NULL OR f.seq IS NULL
    ORDER BY 1, 2";

/// Campaigns whose amendments are not those of their record, or that have rounds of later ones.
const AMENDMENTS: &str = "
    SELECT c.id FROM campaign c
    LEFT JOIN (SELECT campaign, count(*) AS kept, max(number) AS last FROM amendment GROUP BY campaign) a ON a.campaign = c.number
    LEFT JOIN amendment l ON l.campaign = c.number AND l.number = c.amendments
    LEFT JOIN (SELECT campaign, max(amendments) AS last FROM split GROUP BY campaign) s ON s.campaign = c.number
    WHERE c.amendments <> coalesce(a.kept, 0) OR c.amendments <> coalesce(a.last, 0) OR c.tasks <> coalesce(l.tasks, c.tasks)
        OR c.amendments < coalesce(s.last, 0)
    ORDER BY 1";

pub(super) async fn verify(session: &Session, opening: &str) -> Result<Verified, Trouble> {
    session.client.batch_execute(opening).await?;
    let totals = session.client.query_typed(TOTALS, &[]).await?;
    let mut faults = Vec::new();
    let number = |row: &Row| row.get::<_, i32>(1);
    let round = |row: &Row| row.get::<_, i64>(1);
    for row in &session.client.query_typed(TASKS, &[]).await? {
        faults.push(format!(
            "campaign {}: the counts of task {} are not those of its feedback",
            row.get::<_, &str>(0),
            number(row)
        ));
    }
    for row in &session.client.query_typed(TALLIES, &[]).await? {
        faults.push(format!(
            "campaign {}: the numbers of rounds and outcomes are not those of its rows",
            row.get::<_, &str>(0)
        ));
    }
    for row in &session.client.query_typed(ROUNDS, &[]).await? {
        let what = "is part of another split or can be issued again";
        faults.push(format!(
            "campaign {}: round {} or one after it {what}",
            row.get::<_, &str>(0),
            round(row)
        ));
    }
    for row in &session.client.query_typed(REPORTS, &[]).await? {
        faults.push(format!(
            "campaign {}: feedback of round {} and its reports do not match",
            row.get::<_, &str>(0),
            round(row)
        ));
    }
    for row in &session.client.query_typed(AMENDMENTS, &[]).await? {
        faults.push(format!(
            "campaign {}: its amendments are not those of its record",
            row.get::<_, &str>(0)
        ));
    }
    session.commit().await?;
    let totals =
        totals.first().map_or([0; 3], |row| [0, 1, 2].map(|column| unsigned(row.get(column))));
    Ok(Verified { campaigns: totals[0], rounds: totals[1], items: totals[2], faults })
}
