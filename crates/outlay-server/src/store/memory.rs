//! A store in memory, for tests and demonstrations. Nothing survives the process.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::record::change;
use super::{
    Ask, CampaignRow, CampaignStatus, Checkpoint, Command, Compacted, Compaction, Correction,
    DeletedCampaign, Deletion, Done, Event, EventKind, FullSplit, Item, LOOKED_BACK, Millis,
    NewCampaign, Outcome, ProblemChange, Refusal, RestoredCheckpoint, RoundRow, SplitRow, Standing,
    StatusChange, Store, StoreError, StoreSize, TaskCount, Tell, TokenRevocation, TokenRow,
    TokenUse, UsedKey, Verified,
};

/// A store in memory.
#[derive(Debug, Default)]
pub struct MemoryStore {
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    campaigns: BTreeMap<String, Campaign>,
    keys: BTreeMap<(String, String), (UsedKey, Millis)>,
    tokens: BTreeMap<String, TokenRow>,
    deleted: Vec<DeletedCampaign>,
    seq: u64,
}

#[derive(Debug)]
struct Campaign {
    row: CampaignRow,
    standing: Standing,
    next_round: u64,
    /// By the first of their rounds.
    splits: BTreeMap<u64, SplitRow>,
    told: BTreeMap<(u64, u32), Told>,
    events: Vec<Event>,
    checkpoint: Option<Checkpoint>,
    /// The problem after each amendment.
    problems: Vec<String>,
}

/// The reported outcome of a task in a round, and the corrected one.
#[derive(Debug, Clone, Copy)]
struct Told {
    first: Outcome,
    counted: Outcome,
    /// Predicted completions, as reported and after corrections.
    expected: u64,
    corrected: u64,
}

impl MemoryStore {
    /// A store with nothing in it.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        // A command is checked before it changes anything, so the state is consistent after a
        // panic.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read<T>(&self, campaign: &str, read: impl FnOnce(&Campaign) -> T) -> Option<T> {
        self.kept().campaigns.get(campaign).map(read)
    }
}

impl Kept {
    fn apply(&mut self, command: &Command) -> Result<Done, Refusal> {
        match command {
            Command::Create(new) => self.create(new),
            Command::SetStatus(change) => self.set_status(change),
            Command::Amend(change) => self.amend(change),
            Command::Delete(deletion) => self.delete(deletion),
            Command::Restore(restored) => self.restore(restored),
            Command::Ask(ask) => self.ask(ask),
            Command::Tell(tell) => self.tell(tell),
            Command::Correct(correction) => self.correct(correction),
            Command::AddToken(token) => {
                if self.tokens.contains_key(&token.id) {
                    return Err(Refusal::Token);
                }
                self.tokens.insert(token.id.clone(), token.clone());
                Ok(Done::TokenAdded)
            }
            Command::RevokeToken(TokenRevocation { id, at }) => {
                let token = self.tokens.get_mut(id).ok_or(Refusal::Token)?;
                token.revoked_at = token.revoked_at.or(Some(*at));
                Ok(Done::TokenRevoked)
            }
            Command::UseToken(TokenUse { id, at }) => {
                let token = self.tokens.get_mut(id).ok_or(Refusal::Token)?;
                token.last_used_at = Some(*at);
                Ok(Done::TokenUsed)
            }
        }
    }

    fn create(&mut self, new: &NewCampaign) -> Result<Done, Refusal> {
        if let Some(campaign) = self.campaigns.get(&new.id) {
            return if campaign.row.spec == new.spec {
                Ok(Done::WasThere)
            } else {
                Err(Refusal::OtherCampaign)
            };
        }
        let row = CampaignRow {
            id: new.id.clone(),
            spec: new.spec.clone(),
            tasks: new.tasks,
            status: CampaignStatus::Open,
            version: 1,
            amendments: 0,
            problem: None,
            created_at: new.at,
            changed_at: new.at,
        };
        let standing = Standing {
            tasks: vec![TaskCount::default(); new.tasks as usize],
            ..Standing::default()
        };
        let campaign = Campaign {
            row,
            standing,
            next_round: 1,
            splits: BTreeMap::new(),
            told: BTreeMap::new(),
            events: Vec::new(),
            checkpoint: None,
            problems: Vec::new(),
        };
        self.campaigns.insert(new.id.clone(), campaign);
        self.record(&new.id, new.at, &new.token, EventKind::Created);
        Ok(Done::Created)
    }

    fn set_status(&mut self, change: &StatusChange) -> Result<Done, Refusal> {
        let campaign = self.campaigns.get_mut(&change.campaign).ok_or(Refusal::NoCampaign)?;
        if campaign.row.version != change.only_if {
            return Err(Refusal::OtherVersion { version: campaign.row.version });
        }
        if campaign.row.status == CampaignStatus::Closed && !change.may_reopen {
            return Err(Refusal::Closed);
        }
        campaign.row.version += 1;
        (campaign.row.status, campaign.row.changed_at) = (change.to, change.at);
        let version = campaign.row.version;
        self.record(&change.campaign, change.at, &change.token, EventKind::StatusSet(change.to));
        Ok(Done::StatusSet { version })
    }

    fn amend(&mut self, change: &ProblemChange) -> Result<Done, Refusal> {
        let campaign = self.campaigns.get_mut(&change.campaign).ok_or(Refusal::NoCampaign)?;
        let row = &mut campaign.row;
        if row.version != change.only_if {
            return Err(Refusal::OtherVersion { version: row.version });
        }
        if row.status == CampaignStatus::Closed && !change.may_be_closed {
            return Err(Refusal::Closed);
        }
        (row.version, row.amendments) = (row.version + 1, row.amendments + 1);
        (row.tasks, row.problem) = (change.tasks, Some(change.problem.clone()));
        let (version, amendments) = (row.version, row.amendments);
        campaign.problems.push(change.problem.clone());
        let tasks = change.tasks as usize;
        let counts = campaign.checkpoint.as_mut().map(|checkpoint| &mut checkpoint.tasks);
        for counts in counts.into_iter().chain([&mut campaign.standing.tasks]) {
            counts.resize(counts.len().max(tasks), TaskCount::default());
        }
        let kind = EventKind::Amended {
            problem: change.problem.clone(),
            tasks: change.tasks,
            changes: change.changes.clone(),
        };
        self.record(&change.campaign, change.at, &change.token, kind);
        Ok(Done::Amended { version, amendments })
    }

    fn delete(&mut self, deletion: &Deletion) -> Result<Done, Refusal> {
        let campaign = self.campaigns.get(&deletion.campaign).ok_or(Refusal::NoCampaign)?;
        if campaign.row.version != deletion.only_if {
            return Err(Refusal::OtherVersion { version: campaign.row.version });
        }
        if campaign.row.status != CampaignStatus::Closed && !deletion.force {
            return Err(Refusal::NotClosed);
        }
        let rounds = campaign.standing.rounds;
        let outcomes = campaign.standing.tasks.iter().map(|count| count.told).sum();
        self.campaigns.remove(&deletion.campaign);
        self.keys.retain(|_, (used, _)| used.campaign != deletion.campaign);
        self.deleted.push(DeletedCampaign {
            id: deletion.campaign.clone(),
            at: deletion.at,
            token: deletion.token.clone(),
            rounds,
            outcomes,
        });
        Ok(Done::Deleted { rounds, outcomes })
    }

    fn restore(&mut self, restored: &RestoredCheckpoint) -> Result<Done, Refusal> {
        let campaign = self.campaigns.get_mut(&restored.campaign).ok_or(Refusal::NoCampaign)?;
        let checkpoint = &restored.checkpoint;
        if campaign.standing.rounds > 0 || campaign.checkpoint.is_some() {
            return Err(Refusal::RoundsTaken);
        }
        campaign.next_round = campaign.next_round.max(checkpoint.end);
        campaign.standing = checkpoint.standing();
        campaign.checkpoint = Some(checkpoint.clone());
        Ok(Done::Restored)
    }

    fn ask(&mut self, ask: &Ask) -> Result<Done, Refusal> {
        let campaign = self.campaigns.get_mut(&ask.campaign).ok_or(Refusal::NoCampaign)?;
        let place = ask.key.as_ref().map(|key| (ask.token.clone(), key.key.clone()));
        if let Some((used, expires_at)) = place.as_ref().and_then(|place| self.keys.get(place))
            && *expires_at > ask.at
        {
            return Err(Refusal::KeyUsed { request: used.request, rounds: used.rounds.clone() });
        }
        if ask.amendments != campaign.row.amendments {
            return Err(Refusal::Amended);
        }
        let before = campaign.splits.range(..ask.rounds.end).next_back();
        if before.is_some_and(|(_, split)| split.rounds.end > ask.rounds.start) {
            return Err(Refusal::RoundsTaken);
        }
        let (before, count) = (campaign.standing.rounds, ask.rounds.end - ask.rounds.start);
        if ask.horizon.is_some_and(|horizon| before.saturating_add(count) > horizon) {
            return Err(Refusal::BeyondHorizon { rounds: before });
        }
        let row = SplitRow {
            rounds: ask.rounds.clone(),
            split: Arc::clone(&ask.split),
            amendments: ask.amendments,
            stats_version: ask.stats_version,
            at: ask.at,
            expires_at: ask.expires_at,
        };
        campaign.splits.insert(ask.rounds.start, row.clone());
        campaign.standing.rounds += ask.rounds.end - ask.rounds.start;
        // Rounds need not have been leased here: an import brings its own.
        campaign.next_round = campaign.next_round.max(ask.rounds.end);
        if let (Some(place), Some(key)) = (place, &ask.key) {
            let used = UsedKey {
                request: key.request,
                campaign: ask.campaign.clone(),
                rounds: ask.rounds.clone(),
            };
            self.keys.insert(place, (used, key.expires_at));
        }
        self.record(&ask.campaign, ask.at, &ask.token, EventKind::Asked(row));
        Ok(Done::Asked)
    }

    fn tell(&mut self, tell: &Tell) -> Result<Done, Refusal> {
        let campaign = self.campaigns.get_mut(&tell.campaign).ok_or(Refusal::NoCampaign)?;
        if campaign.is_compacted(tell.round) {
            return Err(Refusal::Compacted);
        }
        let mut is_new = Vec::with_capacity(tell.items.len());
        for item in &tell.items {
            match campaign.told.get(&(tell.round, item.task)) {
                None => is_new.push(true),
                Some(Told { first, counted, .. })
                    if item.outcome.repeats(first) || item.outcome.repeats(counted) =>
                {
                    is_new.push(false)
                }
                Some(told) => {
                    return Err(Refusal::Conflict { task: item.task, stored: told.counted });
                }
            }
        }
        let new: Vec<_> = tell
            .items
            .iter()
            .zip(&is_new)
            .filter(|(_, is_new)| **is_new)
            .map(|(item, _)| *item)
            .collect();
        let is_too_large = |item: &&Item| {
            let count = &campaign.standing.tasks[item.task as usize];
            !item.outcome.is_single(item.expected)
                && !count.has_room_for(item.outcome, item.expected)
        };
        if let Some(item) = new.iter().find(is_too_large) {
            return Err(Refusal::TooLarge { task: item.task });
        }
        for item in &new {
            let Item { outcome, expected, .. } = *item;
            let told = Told { first: outcome, counted: outcome, expected, corrected: expected };
            campaign.told.insert((tell.round, item.task), told);
            campaign.standing.tasks[item.task as usize].add(item.outcome, item.expected);
        }
        campaign.standing.version += new.len() as u64;
        campaign.standing.late += if tell.is_late { new.len() as u64 } else { 0 };
        let is_complete = campaign.is_complete(tell.round);
        if !new.is_empty() {
            let items = new.iter().map(|item| (item.task, item.outcome, item.expected)).collect();
            let kind = EventKind::Told { round: tell.round, items, is_late: tell.is_late };
            self.record(&tell.campaign, tell.at, &tell.token, kind);
        }
        Ok(Done::Told { is_new, is_complete })
    }

    fn correct(&mut self, correction: &Correction) -> Result<Done, Refusal> {
        let campaign = self.campaigns.get_mut(&correction.campaign).ok_or(Refusal::NoCampaign)?;
        if campaign.is_compacted(correction.round) {
            return Err(Refusal::Compacted);
        }
        let told = campaign
            .told
            .get_mut(&(correction.round, correction.task))
            .ok_or(Refusal::NothingToCorrect)?;
        let Correction { round, task, to, ref why, .. } = *correction;
        let expected = correction.expected.filter(|expected| *expected != told.expected);
        let corrected = expected.unwrap_or(told.expected);
        let expected_change = change(told.corrected, corrected);
        let count = &mut campaign.standing.tasks[task as usize];
        // The previous outcome is not subtracted: it only makes room.
        if !to.is_single(corrected) && !count.has_room_for(to, corrected) {
            return Err(Refusal::TooLarge { task });
        }
        let from = std::mem::replace(&mut told.counted, to);
        told.corrected = corrected;
        count.correct(from, to, expected_change);
        campaign.standing.version += 1;
        let kind = EventKind::Corrected { round, task, from, to, expected, why: why.clone() };
        self.record(&correction.campaign, correction.at, &correction.token, kind);
        Ok(Done::Corrected { from, expected_change })
    }

    fn record(&mut self, campaign: &str, at: Millis, token: &str, kind: EventKind) {
        self.seq += 1;
        let event = Event { seq: self.seq, at, token: token.to_owned(), kind };
        if let Some(campaign) = self.campaigns.get_mut(campaign) {
            campaign.events.push(event);
        }
    }
}

impl Campaign {
    fn is_compacted(&self, round: u64) -> bool {
        self.checkpoint.as_ref().is_some_and(|checkpoint| round < checkpoint.end)
            && self.split(round).is_none()
    }

    /// The splits to compact, without the last one.
    fn to_compact(&self, compaction: &Compaction) -> Vec<u64> {
        let last_full = |full: FullSplit| {
            let is_full = |(_, row): &(&u64, &SplitRow)| row.is_full(full);
            self.splits.iter().rev().find(is_full).map_or(0, |(first, _)| *first)
        };
        let last = self.splits.keys().next_back().copied().unwrap_or(0);
        let end = compaction.keep_last.map_or(last, last_full);
        let splits = self.splits.range(..end);
        splits
            .take_while(|(_, row)| row.expires_at <= compaction.expired_before)
            .map(|(first, _)| *first)
            .collect()
    }

    fn compact(&mut self, compaction: &Compaction) -> Compacted {
        let firsts = self.to_compact(compaction);
        let mut compacted = Compacted::default();
        if compaction.is_dry_run {
            let rows = firsts.iter().filter_map(|first| self.splits.get(first));
            let rounds = rows.map(|row| row.rounds.end - row.rounds.start).sum();
            return Compacted { rounds, is_done: true, ..compacted };
        }
        for (place, first) in firsts.iter().enumerate() {
            if place > 0 && compacted.rounds >= compaction.most_rounds {
                return compacted;
            }
            let Some(row) = self.splits.remove(first) else { continue };
            self.compact_rounds(&row.rounds, compaction.at, &mut compacted);
        }
        compacted.is_done = true;
        compacted
    }

    fn compact_rounds(&mut self, rounds: &Range<u64>, at: Millis, compacted: &mut Compacted) {
        let tasks = self.row.tasks as usize;
        let checkpoint = self.checkpoint.get_or_insert_with(|| Checkpoint {
            tasks: vec![TaskCount::default(); tasks],
            ..Checkpoint::default()
        });
        (checkpoint.end, checkpoint.at) = (checkpoint.end.max(rounds.end), at);
        checkpoint.rounds += rounds.end - rounds.start;
        compacted.rounds += rounds.end - rounds.start;
        let later = self.told.split_off(&(rounds.end, 0));
        let compacting = self.told.split_off(&(rounds.start, 0));
        self.told.extend(later);
        for ((_, task), told) in compacting {
            checkpoint.tasks[task as usize].add(told.counted, told.corrected);
            checkpoint.version += 1;
            compacted.outcomes += 1;
        }
        self.events.retain(|event| match &event.kind {
            EventKind::Asked(row) => row.rounds != *rounds,
            EventKind::Told { round, items, is_late } if rounds.contains(round) => {
                checkpoint.late += if *is_late { items.len() as u64 } else { 0 };
                false
            }
            EventKind::Corrected { round, .. } if rounds.contains(round) => {
                checkpoint.version += 1;
                false
            }
            _ => true,
        });
    }

    fn split(&self, round: u64) -> Option<&SplitRow> {
        let (_, split) = self.splits.range(..=round).next_back()?;
        split.rounds.contains(&round).then_some(split)
    }

    /// True if all available tasks have been reported.
    fn is_complete(&self, round: u64) -> bool {
        let told = self.told.range((round, 0)..=(round, u32::MAX)).count();
        self.split(round).is_some_and(|row| told >= row.split.there())
    }

    fn rounds_after(&self, after: u64) -> impl Iterator<Item = (u64, &SplitRow)> {
        let from = after.saturating_add(1);
        let start = self.split(from).map_or(from, |split| split.rounds.start);
        self.splits.range(start..).flat_map(move |(_, split)| {
            split
                .rounds
                .clone()
                .filter(move |round| *round >= from)
                .map(move |round| (round, split))
        })
    }

    fn round(&self, round: u64, split: &Arc<SplitRow>) -> RoundRow {
        let told = self
            .told
            .range((round, 0)..=(round, u32::MAX))
            .map(|((_, task), told)| (*task, told.counted))
            .collect();
        RoundRow { round, split: Arc::clone(split), told }
    }

    /// The counts, recomputed.
    fn folded(&self) -> Vec<TaskCount> {
        let mut counts = self.checkpoint.as_ref().map_or_else(
            || vec![TaskCount::default(); self.row.tasks as usize],
            |checkpoint| checkpoint.tasks.clone(),
        );
        for ((_, task), told) in &self.told {
            counts[*task as usize].add(told.counted, told.corrected);
        }
        counts
    }
}

impl Store for MemoryStore {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn is_shared(&self) -> bool {
        false
    }

    fn is_in_memory(&self) -> bool {
        true
    }

    fn apply(&self, batch: &[Command]) -> Result<Vec<Result<Done, Refusal>>, StoreError> {
        let mut kept = self.kept();
        Ok(batch.iter().map(|command| kept.apply(command)).collect())
    }

    fn lease_rounds(&self, campaign: &str, count: u32) -> Result<Range<u64>, StoreError> {
        let mut kept = self.kept();
        let unknown =
            || StoreError { what: format!("no campaign is named {campaign}"), is_fatal: false };
        let campaign = kept.campaigns.get_mut(campaign).ok_or_else(unknown)?;
        let first = campaign.next_round;
        campaign.next_round += u64::from(count);
        Ok(first..campaign.next_round)
    }

    fn campaign(&self, id: &str) -> Result<Option<CampaignRow>, StoreError> {
        Ok(self.read(id, |campaign| campaign.row.clone()))
    }

    fn campaigns(&self, after: Option<&str>, limit: usize) -> Result<Vec<CampaignRow>, StoreError> {
        let kept = self.kept();
        let rows = kept.campaigns.values().map(|campaign| &campaign.row);
        Ok(rows
            .filter(|row| after.is_none_or(|after| row.id.as_str() > after))
            .take(limit)
            .cloned()
            .collect())
    }

    fn problem(&self, campaign: &str, amendments: u64) -> Result<Option<String>, StoreError> {
        let place = amendments.checked_sub(1).and_then(|place| usize::try_from(place).ok());
        let problem = |campaign: &Campaign| campaign.problems.get(place?).cloned();
        Ok(self.read(campaign, problem).flatten())
    }

    fn standing(&self, campaign: &str) -> Result<Standing, StoreError> {
        Ok(self.read(campaign, |campaign| campaign.standing.clone()).unwrap_or_default())
    }

    fn split(&self, campaign: &str, round: u64) -> Result<Option<SplitRow>, StoreError> {
        Ok(self.read(campaign, |campaign| campaign.split(round).cloned()).flatten())
    }

    fn last_split(&self, campaign: &str) -> Result<Option<SplitRow>, StoreError> {
        Ok(self.read(campaign, |campaign| campaign.splits.values().next_back().cloned()).flatten())
    }

    fn open_rounds(&self, campaign: &str, now: Millis) -> Result<Vec<(u64, Millis)>, StoreError> {
        let open = |campaign: &Campaign| {
            let past = campaign.splits.values().next_back().map_or(0, |last| last.rounds.end);
            let waiting = campaign
                .rounds_after(past.saturating_sub(LOOKED_BACK + 1))
                .filter(|(_, split)| split.expires_at > now);
            waiting
                .filter(|(round, _)| !campaign.is_complete(*round))
                .map(|(round, split)| (round, split.expires_at))
                .collect()
        };
        Ok(self.read(campaign, open).unwrap_or_default())
    }

    fn rounds(
        &self,
        campaign: &str,
        after: u64,
        limit: usize,
    ) -> Result<Vec<RoundRow>, StoreError> {
        let page = |campaign: &Campaign| {
            campaign
                .rounds_after(after)
                .take(limit)
                .map(|(round, split)| campaign.round(round, &Arc::new(split.clone())))
                .collect()
        };
        Ok(self.read(campaign, page).unwrap_or_default())
    }

    fn events(&self, campaign: &str, after: u64, limit: usize) -> Result<Vec<Event>, StoreError> {
        let page = |campaign: &Campaign| {
            let start = campaign.events.partition_point(|event| event.seq <= after);
            campaign.events[start..].iter().take(limit).cloned().collect()
        };
        Ok(self.read(campaign, page).unwrap_or_default())
    }

    fn last_event(&self, campaign: &str) -> Result<u64, StoreError> {
        let last = |campaign: &Campaign| campaign.events.last().map_or(0, |event| event.seq);
        Ok(self.read(campaign, last).unwrap_or_default())
    }

    fn used_key(&self, token: &str, key: &str, now: Millis) -> Result<Option<UsedKey>, StoreError> {
        let kept = self.kept();
        let used = kept.keys.get(&(token.to_owned(), key.to_owned()));
        Ok(used.filter(|(_, expires_at)| *expires_at > now).map(|(used, _)| used.clone()))
    }

    fn tokens(&self) -> Result<Vec<TokenRow>, StoreError> {
        Ok(self.kept().tokens.values().cloned().collect())
    }

    fn checkpoint(&self, campaign: &str) -> Result<Option<Checkpoint>, StoreError> {
        Ok(self.read(campaign, |campaign| campaign.checkpoint.clone()).flatten())
    }

    fn compact(&self, compaction: &Compaction) -> Result<Compacted, StoreError> {
        let mut kept = self.kept();
        let campaign = kept.campaigns.get_mut(&compaction.campaign);
        let nothing = Compacted { is_done: true, ..Compacted::default() };
        Ok(campaign.map_or(nothing, |campaign| campaign.compact(compaction)))
    }

    fn purge(&self, _: usize) -> Result<u64, StoreError> {
        Ok(0)
    }

    fn size(&self) -> Result<StoreSize, StoreError> {
        Ok(StoreSize::default())
    }

    fn deleted_campaigns(&self, limit: usize) -> Result<Vec<DeletedCampaign>, StoreError> {
        Ok(self.kept().deleted.iter().rev().take(limit).cloned().collect())
    }

    fn verify(&self) -> Result<Verified, StoreError> {
        let kept = self.kept();
        let mut verified = Verified::default();
        for (id, campaign) in &kept.campaigns {
            verified.campaigns += 1;
            verified.rounds += campaign.standing.rounds;
            let compacted = campaign.checkpoint.as_ref().map_or(0, Checkpoint::outcomes);
            verified.items += campaign.told.len() as u64 + compacted;
            if campaign.folded() != campaign.standing.tasks {
                verified
                    .faults
                    .push(format!("campaign {id}: the counts are not those of its feedback"));
            }
        }
        Ok(verified)
    }

    fn health(&self) -> Result<(), StoreError> {
        Ok(())
    }

    fn begin_import(&self) -> Result<(), StoreError> {
        Ok(())
    }

    fn end_import(&self) -> Result<(), StoreError> {
        Ok(())
    }

    fn close(&self) -> Result<(), StoreError> {
        Ok(())
    }
}
