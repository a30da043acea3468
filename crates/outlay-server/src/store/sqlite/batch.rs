//! The commands of a batch, carried out within a transaction.
//!
//! A command is checked before it writes anything, so a rejected command needs no rollback. Changes
//! of the counts are summed over the batch and written once per task: a thousand reports of one
//! campaign change as many rows as one report.

use std::collections::{BTreeMap, HashMap};

use rusqlite::types::Value;
use rusqlite::{CachedStatement, Connection, OptionalExtension, params};

use super::failure::broken;
use super::items::{self, Items};
use super::read::{LIVE_KEY, natural_or, outcome};
use super::retention;
use crate::store::record::change;
use crate::store::{
    Ask, CampaignStatus, Checkpoint, Command, Correction, Deletion, Delivery, Done, Item, Key,
    Millis, NewCampaign, Outcome, ProblemChange, Refusal, RestoredCheckpoint, StatusChange,
    TaskCount, Tell, TokenRevocation, TokenRow, TokenUse,
};

type Answer = rusqlite::Result<Result<Done, Refusal>>;

/// A campaign as stored. Removed when the campaign is amended, compacted or deleted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known {
    number: i64,
    tasks: u32,
    amendments: i64,
    /// Rounds below this one without a split were compacted.
    compacted: i64,
}

/// Changes of the counts by a batch.
#[derive(Debug, Default, Clone, Copy)]
struct Tally {
    version: i64,
    rounds: i64,
    late: i64,
}

#[derive(Debug, Default, Clone, Copy)]
struct Count {
    told: i64,
    completions: i64,
    reward_sum: i64,
    expected: i64,
    spent: i64,
    allocated: i64,
}

impl Count {
    /// Adds counts; fails if a sum is too large.
    fn add(&mut self, more: TaskCount) -> rusqlite::Result<()> {
        let TaskCount { told, completions, reward_sum, expected, spent, allocated } = more;
        for (sum, more) in [
            (&mut self.told, told),
            (&mut self.completions, completions),
            (&mut self.reward_sum, reward_sum),
            (&mut self.expected, expected),
            (&mut self.spent, spent),
            (&mut self.allocated, allocated),
        ] {
            *sum = sum_of(*sum, whole(more)?)?;
        }
        Ok(())
    }

    /// Replaces one outcome by another.
    fn correct(
        &mut self,
        from: Outcome,
        to: Outcome,
        expected_change: i64,
    ) -> rusqlite::Result<()> {
        let (from, to) = (TaskCount::of(from, 0), TaskCount::of(to, 0));
        for (sum, from, to) in [
            (&mut self.completions, from.completions, to.completions),
            (&mut self.reward_sum, from.reward_sum, to.reward_sum),
            (&mut self.spent, from.spent, to.spent),
            (&mut self.allocated, from.allocated, to.allocated),
        ] {
            *sum = sum_of(*sum, whole(to)? - whole(from)?)?;
        }
        self.expected = sum_of(self.expected, expected_change)?;
        Ok(())
    }
}

/// Commands on their way into one transaction.
pub(super) struct Batch<'a> {
    connection: &'a Connection,
    campaigns: &'a mut HashMap<String, Known>,
    /// The last event.
    pub(super) seq: i64,
    tallies: BTreeMap<i64, Tally>,
    counts: BTreeMap<(i64, u32), Count>,
    /// Keys that expire at this time or before may be removed; absent if no key was used.
    forget_until: Option<Millis>,
}

/// Statements that most commands of a batch need, prepared once per batch.
struct Reports<'a> {
    find: CachedStatement<'a>,
    insert: CachedStatement<'a>,
}

impl<'a> Reports<'a> {
    fn new(connection: &'a Connection) -> rusqlite::Result<Self> {
        let insert = "INSERT INTO told (campaign, round, seq, is_late, at, token, items) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
        Ok(Self {
            find: connection
                .prepare_cached("SELECT items FROM told WHERE campaign = ?1 AND round = ?2")?,
            insert: connection.prepare_cached(insert)?,
        })
    }
}

/// The reported outcome of a task in a round, and the corrected one.
struct Told {
    task: u32,
    first: Outcome,
    counted: Outcome,
    /// Predicted completions, as reported and after corrections.
    expected: u64,
    corrected: u64,
}

impl<'a> Batch<'a> {
    pub(super) fn new(
        connection: &'a Connection,
        campaigns: &'a mut HashMap<String, Known>,
        seq: i64,
    ) -> Self {
        Self {
            connection,
            campaigns,
            seq,
            tallies: BTreeMap::new(),
            counts: BTreeMap::new(),
            forget_until: None,
        }
    }

    pub(super) fn run(
        &mut self,
        batch: &[Command],
    ) -> rusqlite::Result<Vec<Result<Done, Refusal>>> {
        let before = self.seq;
        let mut reports = Reports::new(self.connection)?;
        let answers = batch
            .iter()
            .map(|command| self.carry_out(command, &mut reports))
            .collect::<rusqlite::Result<_>>()?;
        self.write_counts()?;
        self.forget_keys()?;
        if self.seq != before {
            self.connection
                .prepare_cached("UPDATE meta SET value = ?1 WHERE name = 'seq'")?
                .execute([self.seq])?;
        }
        Ok(answers)
    }

    fn carry_out(&mut self, command: &Command, reports: &mut Reports<'_>) -> Answer {
        match command {
            Command::Create(new) => self.create(new),
            Command::SetStatus(change) => self.set_status(change),
            Command::Amend(change) => self.amend(change),
            Command::Delete(deletion) => self.delete(deletion),
            Command::Restore(restored) => self.restore(restored),
            Command::Ask(ask) => self.ask(ask),
            Command::Tell(tell) => self.tell(tell, reports),
            Command::Correct(correction) => self.correct(correction, reports),
            Command::AddToken(token) => self.add_token(token),
            Command::RevokeToken(revocation) => self.revoke_token(revocation),
            Command::UseToken(used) => self.use_token(used),
        }
    }

    fn known(&mut self, id: &str) -> rusqlite::Result<Option<Known>> {
        if let Some(known) = self.campaigns.get(id) {
            return Ok(Some(*known));
        }
        let find = "SELECT number, tasks, amendments, coalesce(past, 0) FROM campaign \
                    LEFT JOIN checkpoint ON campaign = number WHERE id = ?1";
        let known = |row: &rusqlite::Row<'_>| {
            let (number, tasks, amendments) = (row.get(0)?, row.get(1)?, row.get(2)?);
            Ok(Known { number, tasks, amendments, compacted: row.get(3)? })
        };
        let known = self.connection.prepare_cached(find)?.query_row([id], known).optional()?;
        if let Some(known) = known {
            self.campaigns.insert(id.to_owned(), known);
        }
        Ok(known)
    }

    fn next_seq(&mut self) -> i64 {
        self.seq += 1;
        self.seq
    }

    fn create(&mut self, new: &NewCampaign) -> Answer {
        let mut find =
            self.connection.prepare_cached("SELECT spec = ?2 FROM campaign WHERE id = ?1")?;
        if let Some(is_same) =
            find.query_row([&new.id, &new.spec], |row| row.get::<_, bool>(0)).optional()?
        {
            return Ok(if is_same { Ok(Done::WasThere) } else { Err(Refusal::OtherCampaign) });
        }
        // The number of a deleted campaign is not used again, because rows of it may remain.
        let insert = "INSERT INTO campaign (number, id, tasks, status, version, created_at, changed_at, spec) \
                      SELECT 1 + max(coalesce((SELECT max(number) FROM campaign), 0), \
                      coalesce((SELECT max(number) FROM deletion), 0)), ?1, ?2, ?3, 1, ?4, ?4, ?5";
        self.connection.prepare_cached(insert)?.execute(params![
            new.id,
            new.tasks,
            status_number(CampaignStatus::Open),
            new.at,
            new.spec
        ])?;
        let number = self.connection.last_insert_rowid();
        self.campaigns.insert(
            new.id.clone(),
            Known { number, tasks: new.tasks, amendments: 0, compacted: 0 },
        );
        self.tallies.entry(number).or_default();
        self.record_status(number, new.at, &new.token, None)?;
        Ok(Ok(Done::Created))
    }

    fn set_status(&mut self, change: &StatusChange) -> Answer {
        let Some(known) = self.known(&change.campaign)? else {
            return Ok(Err(Refusal::NoCampaign));
        };
        let (version, is_closed) = self.version(known.number)?;
        if version != change.only_if {
            return Ok(Err(Refusal::OtherVersion { version }));
        }
        if is_closed && !change.may_reopen {
            return Ok(Err(Refusal::Closed));
        }
        let update = "UPDATE campaign SET status = ?2, version = version + 1, changed_at = ?3 WHERE number = ?1";
        self.connection.prepare_cached(update)?.execute(params![
            known.number,
            status_number(change.to),
            change.at
        ])?;
        self.record_status(known.number, change.at, &change.token, Some(change.to))?;
        Ok(Ok(Done::StatusSet { version: version + 1 }))
    }

    /// The version of a campaign, and whether it is closed.
    fn version(&self, campaign: i64) -> rusqlite::Result<(u64, bool)> {
        let find = "SELECT version, status = ?2 FROM campaign WHERE number = ?1";
        let mut find = self.connection.prepare_cached(find)?;
        let closed = status_number(CampaignStatus::Closed);
        find.query_row(params![campaign, closed], |row| {
            Ok((row.get::<_, i64>(0)?.unsigned_abs(), row.get(1)?))
        })
    }

    fn amend(&mut self, change: &ProblemChange) -> Answer {
        let Some(known) = self.known(&change.campaign)? else {
            return Ok(Err(Refusal::NoCampaign));
        };
        let (version, is_closed) = self.version(known.number)?;
        if version != change.only_if {
            return Ok(Err(Refusal::OtherVersion { version }));
        }
        if is_closed && !change.may_be_closed {
            return Ok(Err(Refusal::Closed));
        }
        let update = "UPDATE campaign SET version = version + 1, amendments = ?2, tasks = ?3 WHERE number = ?1";
        let number = known.amendments + 1;
        let row = params![known.number, number, change.tasks];
        self.connection.prepare_cached(update)?.execute(row)?;
        let insert = "INSERT INTO amendment (campaign, number, seq, at, token, tasks, problem, changes) \
                      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
        let seq = self.next_seq();
        self.connection.prepare_cached(insert)?.execute(params![
            known.number,
            number,
            seq,
            change.at,
            change.token,
            change.tasks,
            change.problem,
            change.changes,
        ])?;
        self.campaigns.remove(&change.campaign);
        Ok(Ok(Done::Amended { version: version + 1, amendments: number.unsigned_abs() }))
    }

    fn delete(&mut self, deletion: &Deletion) -> Answer {
        let Some(Known { number, .. }) = self.known(&deletion.campaign)? else {
            return Ok(Err(Refusal::NoCampaign));
        };
        let (version, is_closed) = self.version(number)?;
        if version != deletion.only_if {
            return Ok(Err(Refusal::OtherVersion { version }));
        }
        if !is_closed && !deletion.force {
            return Ok(Err(Refusal::NotClosed));
        }
        let rounds = self.handed_out(number)?;
        let outcomes = self.outcomes(number)?;
        let insert = "INSERT INTO deletion (number, id, at, token, rounds, outcomes, is_purged) \
                      VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0)";
        self.connection.prepare_cached(insert)?.execute(params![
            number,
            deletion.campaign,
            deletion.at,
            deletion.token,
            whole(rounds)?,
            whole(outcomes)?
        ])?;
        for delete in [
            "DELETE FROM campaign WHERE number = ?1",
            "DELETE FROM status_event WHERE campaign = ?1",
            "DELETE FROM amendment WHERE campaign = ?1",
            "DELETE FROM tally WHERE campaign = ?1",
            "DELETE FROM task_count WHERE campaign = ?1",
            "DELETE FROM checkpoint WHERE campaign = ?1",
            "DELETE FROM checkpoint_count WHERE campaign = ?1",
        ] {
            self.connection.prepare_cached(delete)?.execute([number])?;
        }
        // The counts of this batch for it are not written.
        self.tallies.remove(&number);
        self.counts.retain(|(campaign, _), _| *campaign != number);
        self.campaigns.remove(&deletion.campaign);
        Ok(Ok(Done::Deleted { rounds, outcomes }))
    }

    /// Outcomes of a campaign, including this batch.
    fn outcomes(&self, campaign: i64) -> rusqlite::Result<u64> {
        let mut find = self
            .connection
            .prepare_cached("SELECT coalesce(sum(told), 0) FROM task_count WHERE campaign = ?1")?;
        let kept: i64 = find.query_row([campaign], |row| row.get(0))?;
        let new = self.counts.range((campaign, 0)..=(campaign, u32::MAX));
        Ok((kept + new.map(|(_, count)| count.told).sum::<i64>()).unsigned_abs())
    }

    fn restore(&mut self, restored: &RestoredCheckpoint) -> Answer {
        let Some(known) = self.known(&restored.campaign)? else {
            return Ok(Err(Refusal::NoCampaign));
        };
        let checkpoint: &Checkpoint = &restored.checkpoint;
        if self.handed_out(known.number)? > 0 || known.compacted > 0 {
            return Ok(Err(Refusal::RoundsTaken));
        }
        retention::write(self.connection, known.number, checkpoint)?;
        let tally = self.tallies.entry(known.number).or_default();
        tally.version += whole(checkpoint.version)?;
        tally.rounds += whole(checkpoint.rounds)?;
        tally.late += whole(checkpoint.late)?;
        for (task, count) in (0..).zip(&checkpoint.tasks).filter(|(_, count)| count.told > 0) {
            self.counts.entry((known.number, task)).or_default().add(*count)?;
        }
        self.campaigns.remove(&restored.campaign);
        Ok(Ok(Done::Restored))
    }

    fn record_status(
        &mut self,
        campaign: i64,
        at: Millis,
        token: &str,
        status: Option<CampaignStatus>,
    ) -> rusqlite::Result<()> {
        let seq = self.next_seq();
        let insert = "INSERT INTO status_event (campaign, seq, at, token, status) VALUES (?1, ?2, ?3, ?4, ?5)";
        self.connection.prepare_cached(insert)?.execute(params![
            campaign,
            seq,
            at,
            token,
            status.map(status_number)
        ])?;
        Ok(())
    }

    fn ask(&mut self, ask: &Ask) -> Answer {
        let Some(known) = self.known(&ask.campaign)? else { return Ok(Err(Refusal::NoCampaign)) };
        if let Some(refusal) = self.used_key(ask)? {
            return Ok(Err(refusal));
        }
        if ask.amendments != known.amendments.unsigned_abs() {
            return Ok(Err(Refusal::Amended));
        }
        let (first, past) = (whole(ask.rounds.start)?, whole(ask.rounds.end)?);
        if self.is_taken(known.number, first, past)? {
            return Ok(Err(Refusal::RoundsTaken));
        }
        if let Some(horizon) = ask.horizon {
            let rounds = self.handed_out(known.number)?;
            if rounds.saturating_add(past.abs_diff(first)) > horizon {
                return Ok(Err(Refusal::BeyondHorizon { rounds }));
            }
        }
        let split = &ask.split;
        let there = split.there();
        let seq = self.next_seq();
        let insert = "INSERT INTO ask (campaign, first, past, there, seq, stats_version, at, expires_at, token, budget, available, spend, \
                      success, idx, scale, volume, amendments) \
                      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)";
        self.connection.prepare_cached(insert)?.execute(params![
            known.number,
            first,
            past,
            there as i64,
            seq,
            whole(ask.stats_version)?,
            ask.at,
            ask.expires_at,
            ask.token,
            split.budget,
            split.available.as_deref().map(items::mask),
            items::floats(&split.spend),
            items::floats(&split.success),
            items::floats(&split.index),
            split.scale.as_deref().map(items::floats),
            split.volume.as_deref().map(items::floats),
            known.amendments,
        ])?;
        self.tallies.entry(known.number).or_default().rounds += past - first;
        self.use_key(ask, known.number, first, past)?;
        Ok(Ok(Done::Asked))
    }

    /// Rounds of a campaign, including this batch.
    fn handed_out(&self, campaign: i64) -> rusqlite::Result<u64> {
        let mut find =
            self.connection.prepare_cached("SELECT rounds FROM tally WHERE campaign = ?1")?;
        let kept: Option<i64> = find.query_row([campaign], |row| row.get(0)).optional()?;
        let new = self.tallies.get(&campaign).map_or(0, |tally| tally.rounds);
        Ok((kept.unwrap_or(0) + new).unsigned_abs())
    }

    fn is_taken(&self, campaign: i64, first: i64, past: i64) -> rusqlite::Result<bool> {
        let before = "SELECT first, past FROM ask WHERE campaign = ?1 AND first < ?2 ORDER BY first DESC LIMIT 1";
        let mut find = self.connection.prepare_cached(before)?;
        // A request for zero rounds has an entry too.
        let end = past.max(first.saturating_add(1));
        let before: Option<(i64, i64)> =
            find.query_row([campaign, end], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
        Ok(before.is_some_and(|(start, end)| end > first || start == first))
    }

    fn used_key(&self, ask: &Ask) -> rusqlite::Result<Option<Refusal>> {
        let Some(key) = &ask.key else { return Ok(None) };
        let find = format!("SELECT request, first, past FROM used_key {LIVE_KEY}");
        let mut find = self.connection.prepare_cached(&find)?;
        let used = find.query_row(params![ask.token, key.key, ask.at], |row| {
            let rounds = row.get::<_, i64>(1)? as u64..row.get::<_, i64>(2)? as u64;
            Ok(Refusal::KeyUsed { request: row.get(0)?, rounds })
        });
        used.optional()
    }

    fn use_key(&mut self, ask: &Ask, campaign: i64, first: i64, past: i64) -> rusqlite::Result<()> {
        let Some(key) = &ask.key else { return Ok(()) };
        let insert = "INSERT OR REPLACE INTO used_key (token, key, request, campaign, first, past, expires_at, number) \
                      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
        let Key { key, request, expires_at } = key;
        let row = params![ask.token, key, request, ask.campaign, first, past, expires_at, campaign];
        self.connection.prepare_cached(insert)?.execute(row)?;
        self.forget_until = self.forget_until.max(Some(ask.at));
        Ok(())
    }

    /// A few at a time: no batch waits long, and more are removed than added.
    fn forget_keys(&mut self) -> rusqlite::Result<()> {
        let Some(until) = self.forget_until else { return Ok(()) };
        let delete = "DELETE FROM used_key WHERE (token, key) IN \
                      (SELECT token, key FROM used_key WHERE expires_at <= ?1 ORDER BY expires_at LIMIT 2048)";
        self.connection.prepare_cached(delete)?.execute([until]).map(|_| ())
    }

    fn tell(&mut self, tell: &Tell, reports: &mut Reports<'_>) -> Answer {
        let Some(known) = self.known(&tell.campaign)? else { return Ok(Err(Refusal::NoCampaign)) };
        let round = whole(tell.round)?;
        if self.is_compacted(known, round)? {
            return Ok(Err(Refusal::Compacted));
        }
        let told = self.told(known.number, round, reports)?;
        let mut is_new = Vec::with_capacity(tell.items.len());
        for item in &tell.items {
            match place_of(&told, item.task).map(|place| &told[place]) {
                None => is_new.push(true),
                Some(Told { first, counted, .. })
                    if item.outcome.repeats(first) || item.outcome.repeats(counted) =>
                {
                    is_new.push(false)
                }
                Some(told) => {
                    return Ok(Err(Refusal::Conflict { task: item.task, stored: told.counted }));
                }
            }
        }
        let new =
            || tell.items.iter().zip(&is_new).filter(|(_, is_new)| **is_new).map(|(item, _)| item);
        for item in new() {
            let count = TaskCount::of(item.outcome, item.expected);
            if !item.outcome.is_single(item.expected)
                && !self.has_room(known.number, item.task, count)?
            {
                return Ok(Err(Refusal::TooLarge { task: item.task }));
            }
        }
        let count = new().count() as i64;
        if count > 0 {
            let row = params![
                known.number,
                round,
                self.next_seq(),
                tell.is_late,
                tell.at,
                tell.token,
                items::written(new())
            ];
            reports.insert.execute(row)?;
            for item in new() {
                let total = self.counts.entry((known.number, item.task)).or_default();
                total.add(TaskCount::of(item.outcome, item.expected))?;
            }
            let tally = self.tallies.entry(known.number).or_default();
            tally.version += count;
            tally.late += if tell.is_late { count } else { 0 };
        }
        let all = told.len() as i64 + count;
        // A round has at most as many outcomes as tasks.
        let is_complete = all == i64::from(known.tasks)
            || self.there(known.number, round)?.is_some_and(|there| all >= there);
        Ok(Ok(Done::Told { is_new, is_complete }))
    }

    /// Whether the sums of a task, including this batch, have room for more. Single outcomes need no
    /// check, and so no statement.
    fn has_room(&self, campaign: i64, task: u32, more: TaskCount) -> rusqlite::Result<bool> {
        let find = "SELECT completions, reward_sum, expected, spent, allocated FROM task_count \
                    WHERE campaign = ?1 AND task = ?2";
        let sums = |row: &rusqlite::Row<'_>| -> rusqlite::Result<[i64; 5]> {
            Ok([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?])
        };
        let mut find = self.connection.prepare_cached(find)?;
        let kept = find.query_row(params![campaign, task], sums).optional()?.unwrap_or_default();
        let new = self.counts.get(&(campaign, task)).copied().unwrap_or_default();
        let new = [new.completions, new.reward_sum, new.expected, new.spent, new.allocated];
        let TaskCount { completions, reward_sum, expected, spent, allocated, .. } = more;
        let more = [completions, reward_sum, expected, spent, allocated];
        let sum = |((kept, new), more): ((i64, i64), u64)| {
            kept.checked_add(new)?.checked_add(i64::try_from(more).ok()?)
        };
        let most = i64::try_from(TaskCount::MAX_SUM).unwrap_or(i64::MAX);
        let sums = kept.into_iter().zip(new).zip(more).map(sum);
        Ok(sums.into_iter().all(|sum| sum.is_some_and(|sum| sum <= most)))
    }

    /// Number of available tasks of a round; none if the round was not issued.
    fn there(&self, campaign: i64, round: i64) -> rusqlite::Result<Option<i64>> {
        let find = "SELECT there, past FROM ask WHERE campaign = ?1 AND first <= ?2 ORDER BY first DESC LIMIT 1";
        let mut find = self.connection.prepare_cached(find)?;
        let found: Option<(i64, i64)> =
            find.query_row([campaign, round], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
        Ok(found.filter(|(_, past)| *past > round).map(|(there, _)| there))
    }

    fn is_compacted(&self, known: Known, round: i64) -> rusqlite::Result<bool> {
        Ok(round < known.compacted && self.there(known.number, round)?.is_none())
    }

    /// Known outcomes of a round, in the order of tasks.
    fn told(
        &self,
        campaign: i64,
        round: i64,
        reports: &mut Reports<'_>,
    ) -> rusqlite::Result<Vec<Told>> {
        let mut told = Vec::new();
        let mut rows = reports.find.query([campaign, round])?;
        while let Some(row) = rows.next()? {
            for item in Items(row.get_ref(0)?.as_blob()?) {
                let item = item.ok_or_else(|| broken("items of a report"))?;
                let Item { task, outcome, expected } = item;
                let (first, counted, corrected) = (outcome, outcome, expected);
                told.push(Told { task, first, counted, expected, corrected });
            }
        }
        told.sort_unstable_by_key(|told| told.task);
        if !told.is_empty() {
            self.add_corrections(campaign, round, &mut told)?;
        }
        Ok(told)
    }

    fn add_corrections(
        &self,
        campaign: i64,
        round: i64,
        told: &mut [Told],
    ) -> rusqlite::Result<()> {
        let find = "SELECT task, to_completed, to_reward, to_spent, to_allocated, to_expected FROM correction \
                    WHERE campaign = ?1 AND round = ?2 ORDER BY task, seq";
        let mut find = self.connection.prepare_cached(find)?;
        let mut rows = find.query([campaign, round])?;
        while let Some(row) = rows.next()? {
            let task: u32 = row.get(0)?;
            if let Some(place) = place_of(told, task) {
                told[place].counted = outcome(row, 1)?;
                told[place].corrected = natural_or(row, 5, told[place].expected)?;
            }
        }
        Ok(())
    }

    fn correct(&mut self, correction: &Correction, reports: &mut Reports<'_>) -> Answer {
        let Some(known) = self.known(&correction.campaign)? else {
            return Ok(Err(Refusal::NoCampaign));
        };
        let round = whole(correction.round)?;
        if self.is_compacted(known, round)? {
            return Ok(Err(Refusal::Compacted));
        }
        let told = self.told(known.number, round, reports)?;
        let Some(told) = place_of(&told, correction.task).map(|place| &told[place]) else {
            return Ok(Err(Refusal::NothingToCorrect));
        };
        let (from, to) = (told.counted, correction.to);
        let expected = correction.expected.filter(|expected| *expected != told.expected);
        let corrected = expected.unwrap_or(told.expected);
        // The previous outcome is not subtracted: it only makes room.
        if !to.is_single(corrected)
            && !self.has_room(known.number, correction.task, TaskCount::of(to, corrected))?
        {
            return Ok(Err(Refusal::TooLarge { task: correction.task }));
        }
        self.insert_correction(known.number, round, from, expected, correction)?;
        let expected_change = change(told.corrected, corrected);
        let total = self.counts.entry((known.number, correction.task)).or_default();
        total.correct(from, to, expected_change)?;
        self.tallies.entry(known.number).or_default().version += 1;
        Ok(Ok(Done::Corrected { from, expected_change }))
    }

    fn insert_correction(
        &mut self,
        campaign: i64,
        round: i64,
        from: Outcome,
        expected: Option<u64>,
        correction: &Correction,
    ) -> rusqlite::Result<()> {
        let insert = "INSERT INTO correction (campaign, round, task, seq, from_completed, from_reward, from_spent, from_allocated, \
                      to_completed, to_reward, to_spent, to_allocated, to_expected, at, token, why) \
                      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)";
        let spends = |outcome: Outcome| -> rusqlite::Result<[Option<i64>; 2]> {
            let Some(Delivery { spent, allocated }) = outcome.delivery else {
                return Ok([None; 2]);
            };
            Ok([Some(whole(spent)?), Some(whole(allocated)?)])
        };
        let to = correction.to;
        let ([from_spent, from_allocated], [to_spent, to_allocated]) = (spends(from)?, spends(to)?);
        let seq = self.next_seq();
        self.connection.prepare_cached(insert)?.execute(params![
            campaign,
            round,
            correction.task,
            seq,
            whole(from.completions)?,
            whole(from.reward)?,
            from_spent,
            from_allocated,
            whole(to.completions)?,
            whole(to.reward)?,
            to_spent,
            to_allocated,
            expected.map(whole).transpose()?,
            correction.at,
            correction.token,
            correction.why,
        ])?;
        Ok(())
    }

    fn write_counts(&mut self) -> rusqlite::Result<()> {
        let upsert = "INSERT INTO tally (campaign, version, rounds, late) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO UPDATE SET \
                      version = version + excluded.version, rounds = rounds + excluded.rounds, late = late + excluded.late";
        for (campaign, Tally { version, rounds, late }) in &self.tallies {
            self.connection.prepare_cached(upsert)?.execute([campaign, version, rounds, late])?;
        }
        let counts: Vec<_> = self.counts.iter().collect();
        let mut left = counts.as_slice();
        for rows in ROWS_PER_STATEMENT {
            let (whole, rest) = left.split_at(left.len() - left.len() % rows);
            self.add_counts(whole, rows)?;
            left = rest;
        }
        Ok(())
    }

    /// Adds to the counts, several rows per statement.
    fn add_counts(&self, counts: &[(&(i64, u32), &Count)], rows: usize) -> rusqlite::Result<()> {
        if counts.is_empty() {
            return Ok(());
        }
        let mut add = self.connection.prepare_cached(&add_counts_statement(rows))?;
        for counts in counts.chunks_exact(rows) {
            let numbers = counts.iter().flat_map(|((campaign, task), count)| {
                let Count { told, completions, reward_sum, expected, spent, allocated } = **count;
                let sums = [told, completions, reward_sum, expected, spent, allocated];
                [*campaign, i64::from(*task)].into_iter().chain(sums)
            });
            add.execute(rusqlite::params_from_iter(numbers))?;
        }
        Ok(())
    }

    fn add_token(&mut self, token: &TokenRow) -> Answer {
        let insert = "INSERT INTO token (id, hash, scopes, campaign, created_at, expires_at, revoked_at, last_used_at, name) \
                      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT DO NOTHING";
        let scopes = Value::Text(serde_json::Value::from(token.scopes.clone()).to_string());
        let row = params![
            token.id,
            token.hash,
            scopes,
            token.campaign,
            token.created_at,
            token.expires_at,
            token.revoked_at,
            token.last_used_at,
            token.name,
        ];
        let added = self.connection.prepare_cached(insert)?.execute(row)?;
        Ok(if added == 1 { Ok(Done::TokenAdded) } else { Err(Refusal::Token) })
    }

    fn revoke_token(&mut self, TokenRevocation { id, at }: &TokenRevocation) -> Answer {
        let update = "UPDATE token SET revoked_at = coalesce(revoked_at, ?2) WHERE id = ?1";
        let revoked = self.connection.prepare_cached(update)?.execute(params![id, at])?;
        Ok(if revoked == 1 { Ok(Done::TokenRevoked) } else { Err(Refusal::Token) })
    }

    fn use_token(&mut self, TokenUse { id, at }: &TokenUse) -> Answer {
        let update = "UPDATE token SET last_used_at = ?2 WHERE id = ?1";
        let used = self.connection.prepare_cached(update)?.execute(params![id, at])?;
        Ok(if used == 1 { Ok(Done::TokenUsed) } else { Err(Refusal::Token) })
    }
}

/// Numbers of counts changed by one statement: the largest that fits first. A report of 3,000 tasks
/// takes half as long as with one statement per count.
const ROWS_PER_STATEMENT: [usize; 3] = [64, 4, 1];

fn add_counts_statement(rows: usize) -> String {
    let values = vec!["(?, ?, ?, ?, ?, ?, ?, ?)"; rows].join(", ");
    format!(
        "INSERT INTO task_count (campaign, task, told, completions, reward_sum, expected, spent, allocated) \
         VALUES {values} ON CONFLICT DO UPDATE SET told = told + excluded.told, \
         completions = completions + excluded.completions, reward_sum = reward_sum + excluded.reward_sum, \
         expected = expected + excluded.expected, spent = spent + excluded.spent, \
         allocated = allocated + excluded.allocated"
    )
}

fn place_of(told: &[Told], task: u32) -> Option<usize> {
    told.binary_search_by_key(&task, |told| told.task).ok()
}

pub(super) fn status_number(status: CampaignStatus) -> i64 {
    match status {
        CampaignStatus::Open => 0,
        CampaignStatus::Paused => 1,
        CampaignStatus::Closed => 2,
    }
}

/// SQLite integers are signed.
fn whole(number: u64) -> rusqlite::Result<i64> {
    i64::try_from(number).map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
}

fn sum_of(total: i64, more: i64) -> rusqlite::Result<i64> {
    total.checked_add(more).ok_or_else(|| {
        rusqlite::Error::ToSqlConversionFailure("a sum of rewards is too large".into())
    })
}
