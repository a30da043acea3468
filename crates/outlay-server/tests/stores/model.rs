//! Random sequences of commands, compared with a simple model: every answer and, at the end,
//! everything that can be read.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use outlay_server::store::{
    Ask, CampaignStatus, Command, Compaction, Delivery, Done, FullSplit, Item, Outcome, Refusal,
    Standing, Store, TaskCount, TokenRevocation,
};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};

use super::place::Place;
use crate::support::commands::*;

const TASKS: u32 = 3;
const SPENDS: [Option<Delivery>; 2] =
    [Some(Delivery { spent: 70, allocated: 100 }), Some(Delivery { spent: 0, allocated: 3 })];
const OUTCOMES: [Outcome; 9] = [
    FAILED,
    Outcome::success(0),
    Outcome::success(1),
    Outcome::success(1_000_000_000),
    Outcome { completions: 24, reward: 12_500_000_000, delivery: None },
    Outcome { completions: 24, reward: 12_500_000_000, delivery: SPENDS[0] },
    Outcome { completions: 0, reward: 0, delivery: SPENDS[1] },
    Outcome { completions: 1, reward: 1, delivery: SPENDS[0] },
    // Twice this reward exceeds the largest sum of a store.
    Outcome { completions: 3_000_000_000, reward: 3_000_000_000_000_000_000, delivery: None },
];

/// An action of a client. Rounds are counted from the latest, so that a shrunk sequence still makes
/// sense.
#[derive(Debug, Clone)]
enum Step {
    Ask {
        campaign: usize,
        count: u32,
        key: Option<u8>,
        request: u8,
        hours: i64,
        mask: Option<[bool; 3]>,
    },
    /// Asks for rounds that are already taken.
    AskTaken {
        campaign: usize,
        shift: u64,
    },
    Tell {
        campaign: usize,
        round: usize,
        outcomes: [Option<usize>; 3],
        is_late: bool,
    },
    /// Repeats an earlier report exactly.
    Again {
        report: usize,
    },
    Correct {
        campaign: usize,
        round: usize,
        task: u32,
        to: usize,
        expected: Option<u64>,
    },
    Status {
        campaign: usize,
        to: CampaignStatus,
        is_current: bool,
    },
    /// Another problem, with as many tasks or more.
    Amend {
        campaign: usize,
        more: u32,
        is_current: bool,
    },
    Create {
        campaign: usize,
        is_same: bool,
    },
    Token {
        id: u8,
        revokes: bool,
    },
    /// Applies the commands so far as one batch, then the deletion as another.
    Delete {
        campaign: usize,
        is_current: bool,
        force: bool,
        purge: bool,
    },
    /// Applies the commands so far as one batch, then compacts.
    Compact {
        campaign: usize,
        hours: i64,
        most_rounds: u64,
        keep_last_full: bool,
    },
    /// Moves the clock forward or back.
    Wait {
        hours: i64,
    },
    /// Applies the commands so far as one batch.
    Commit,
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    let campaign = 0..2_usize;
    let delete = (campaign.clone(), prop::bool::weighted(0.8), any::<bool>(), any::<bool>());
    let compact = (campaign.clone(), 0..30_i64, 1..6_u64, any::<bool>());
    let status = prop_oneof![
        Just(CampaignStatus::Open),
        Just(CampaignStatus::Paused),
        Just(CampaignStatus::Closed)
    ];
    prop_oneof![
        6 => (campaign.clone(), 1..4_u32, prop::option::weighted(0.4, 0..3_u8), 0..2_u8, -1..40_i64, prop::option::weighted(0.3, any::<[bool; 3]>()))
            .prop_map(|(campaign, count, key, request, hours, mask)| Step::Ask { campaign, count, key, request, hours, mask }),
        1 => (campaign.clone(), 0..4_u64).prop_map(|(campaign, shift)| Step::AskTaken { campaign, shift }),
        10 => (campaign.clone(), 0..6_usize, prop::array::uniform3(prop::option::weighted(0.6, 0..OUTCOMES.len())), any::<bool>())
            .prop_map(|(campaign, round, outcomes, is_late)| Step::Tell { campaign, round, outcomes, is_late }),
        4 => (0..30_usize).prop_map(|report| Step::Again { report }),
        3 => (campaign.clone(), 0..6_usize, 0..TASKS, 0..OUTCOMES.len(), prop::option::of(prop_oneof![Just(chance(0)), 0..3_u64]))
            .prop_map(|(campaign, round, task, to, expected)| Step::Correct { campaign, round, task, to, expected }),
        1 => (campaign.clone(), status, any::<bool>()).prop_map(|(campaign, to, is_current)| Step::Status { campaign, to, is_current }),
        2 => (campaign.clone(), 0..2_u32, prop::bool::weighted(0.8)).prop_map(|(campaign, more, is_current)| Step::Amend { campaign, more, is_current }),
        1 => (campaign, any::<bool>()).prop_map(|(campaign, is_same)| Step::Create { campaign, is_same }),
        1 => (0..3_u8, any::<bool>()).prop_map(|(id, revokes)| Step::Token { id, revokes }),
        1 => delete.prop_map(|(campaign, is_current, force, purge)| Step::Delete { campaign, is_current, force, purge }),
        3 => compact.prop_map(|(campaign, hours, most_rounds, keep_last_full)| Step::Compact { campaign, hours, most_rounds, keep_last_full }),
        1 => (-30..60_i64).prop_map(|hours| Step::Wait { hours }),
        5 => Just(Step::Commit),
        1 => Just(Step::Reopen),
    ]
}

/// The expected contents of a store.
#[derive(Debug, Default)]
struct Model {
    campaigns: BTreeMap<String, Campaign>,
    /// Keyed by token and idempotency key.
    keys: BTreeMap<(String, String), Used>,
    tokens: BTreeMap<String, Option<i64>>,
}

/// The digest of the request, its rounds, the expiry of the key, and the campaign.
type Used = ([u8; 32], Range<u64>, i64, String);

#[derive(Debug, Default)]
struct Campaign {
    spec: String,
    status: Option<CampaignStatus>,
    version: u64,
    amendments: u64,
    tasks: u32,
    /// Expiry and tasks that are there, of each round.
    rounds: BTreeMap<u64, (i64, Vec<bool>)>,
    /// First and corrected, and the predicted completions.
    told: BTreeMap<(u64, u32), (Outcome, Outcome, u64)>,
    late: u64,
    corrections: u64,
    events: u64,
    /// Amendments before it and tasks that are there, of each split by its rounds.
    splits: BTreeMap<(u64, u64), FullSplit>,
    /// Events, late outcomes and corrections of each round.
    of_round: BTreeMap<u64, [u64; 3]>,
    /// The counts of compacted rounds, and the end of the compacted range.
    compacted: Standing,
    compacted_end: u64,
}

impl Campaign {
    fn is_compacted(&self, round: u64) -> bool {
        round < self.compacted_end && !self.rounds.contains_key(&round)
    }

    /// Returns the numbers of compacted rounds and outcomes, and true if none are left to compact.
    fn compact(&mut self, compaction: &Compaction) -> (u64, u64, bool) {
        let is_kept = |split: &FullSplit| compaction.keep_last.is_none_or(|full| *split == full);
        let last = self.splits.iter().rfind(|(_, split)| is_kept(split));
        let last = last.map_or(0, |(rounds, _)| rounds.0);
        let old: Vec<(u64, u64)> = self
            .splits
            .keys()
            .copied()
            .take_while(|(first, _)| {
                *first < last && self.rounds[first].0 <= compaction.expired_before
            })
            .collect();
        let (mut rounds, mut outcomes) = (0, 0);
        self.compacted.tasks.resize(self.tasks as usize, TaskCount::default());
        for (first, end) in old {
            if rounds >= compaction.most_rounds {
                return (rounds, outcomes, false);
            }
            self.splits.remove(&(first, end));
            (self.events, self.compacted_end) = (self.events - 1, end);
            for round in first..end {
                rounds += 1;
                self.rounds.remove(&round);
                self.compacted.rounds += 1;
                let [events, late, corrections] = self.of_round.remove(&round).unwrap_or_default();
                (self.events, self.late) = (self.events - events, self.late - late);
                self.corrections -= corrections;
                self.compacted.late += late;
                self.compacted.version += corrections;
                for task in 0..TASKS {
                    let Some((_, counted, expected)) = self.told.remove(&(round, task)) else {
                        continue;
                    };
                    self.compacted.tasks[task as usize].add(counted, expected);
                    self.compacted.version += 1;
                    outcomes += 1;
                }
            }
        }
        (rounds, outcomes, true)
    }

    /// True if a report would make a sum too large; single outcomes never do.
    fn is_too_large(&self, task: u32, outcome: Outcome) -> bool {
        let is_single = outcome.completions <= 1 && outcome.delivery.is_none();
        let count = self.standing().tasks[task as usize];
        !is_single && count.reward_sum + outcome.reward > TaskCount::MAX_SUM
    }

    fn is_complete(&self, round: u64) -> bool {
        let told = (0..TASKS).filter(|task| self.told.contains_key(&(round, *task))).count();
        self.rounds
            .get(&round)
            .is_some_and(|(_, there)| told >= there.iter().filter(|there| **there).count())
    }

    fn standing(&self) -> Standing {
        let mut tasks = vec![TaskCount::default(); self.tasks as usize];
        for ((_, task), (_, outcome, expected)) in &self.told {
            let count = &mut tasks[*task as usize];
            count.told += 1;
            count.completions += outcome.completions;
            count.reward_sum += outcome.reward;
            count.expected += expected;
            if let Some(Delivery { spent, allocated }) = outcome.delivery {
                (count.spent, count.allocated) = (count.spent + spent, count.allocated + allocated);
            }
        }
        for (count, compacted) in tasks.iter_mut().zip(&self.compacted.tasks) {
            count.merge(*compacted);
        }
        Standing {
            tasks,
            version: self.told.len() as u64 + self.corrections + self.compacted.version,
            rounds: self.rounds.len() as u64 + self.compacted.rounds,
            late: self.late + self.compacted.late,
        }
    }
}

impl Model {
    fn apply(&mut self, command: &Command) -> Result<Done, Refusal> {
        match command {
            Command::Create(new) => match self.campaigns.get(&new.id) {
                Some(campaign) if campaign.spec == new.spec => Ok(Done::WasThere),
                Some(_) => Err(Refusal::OtherCampaign),
                None => {
                    let status = Some(CampaignStatus::Open);
                    let campaign = Campaign {
                        spec: new.spec.clone(),
                        status,
                        version: 1,
                        tasks: new.tasks,
                        events: 1,
                        ..Campaign::default()
                    };
                    self.campaigns.insert(new.id.clone(), campaign);
                    Ok(Done::Created)
                }
            },
            Command::SetStatus(change) => {
                let campaign =
                    self.campaigns.get_mut(&change.campaign).ok_or(Refusal::NoCampaign)?;
                if campaign.version != change.only_if {
                    return Err(Refusal::OtherVersion { version: campaign.version });
                }
                if campaign.status == Some(CampaignStatus::Closed) {
                    return Err(Refusal::Closed);
                }
                (campaign.status, campaign.version, campaign.events) =
                    (Some(change.to), campaign.version + 1, campaign.events + 1);
                Ok(Done::StatusSet { version: campaign.version })
            }
            Command::Amend(change) => {
                let campaign =
                    self.campaigns.get_mut(&change.campaign).ok_or(Refusal::NoCampaign)?;
                if campaign.version != change.only_if {
                    return Err(Refusal::OtherVersion { version: campaign.version });
                }
                if campaign.status == Some(CampaignStatus::Closed) {
                    return Err(Refusal::Closed);
                }
                (campaign.version, campaign.events) = (campaign.version + 1, campaign.events + 1);
                (campaign.amendments, campaign.tasks) = (campaign.amendments + 1, change.tasks);
                if campaign.compacted_end > 0 {
                    let tasks = change.tasks as usize;
                    campaign.compacted.tasks.resize(tasks, TaskCount::default());
                }
                let (version, amendments) = (campaign.version, campaign.amendments);
                Ok(Done::Amended { version, amendments })
            }
            Command::Delete(deletion) => {
                let campaign = self.campaigns.get(&deletion.campaign).ok_or(Refusal::NoCampaign)?;
                if campaign.version != deletion.only_if {
                    return Err(Refusal::OtherVersion { version: campaign.version });
                }
                if campaign.status != Some(CampaignStatus::Closed) && !deletion.force {
                    return Err(Refusal::NotClosed);
                }
                let standing = campaign.standing();
                self.campaigns.remove(&deletion.campaign);
                self.keys.retain(|_, (.., campaign)| *campaign != deletion.campaign);
                let outcomes = standing.tasks.iter().map(|count| count.told).sum();
                Ok(Done::Deleted { rounds: standing.rounds, outcomes })
            }
            Command::Restore(_) => unreachable!("only an import restores"),
            Command::Ask(ask) => {
                let campaign = self.campaigns.get_mut(&ask.campaign).ok_or(Refusal::NoCampaign)?;
                if let Some(key) = &ask.key {
                    let place = (ask.token.clone(), key.key.clone());
                    if let Some((request, rounds, until, _)) = self.keys.get(&place)
                        && *until > ask.at
                    {
                        return Err(Refusal::KeyUsed { request: *request, rounds: rounds.clone() });
                    }
                }
                if ask.amendments != campaign.amendments {
                    return Err(Refusal::Amended);
                }
                if ask.rounds.clone().any(|round| campaign.rounds.contains_key(&round)) {
                    return Err(Refusal::RoundsTaken);
                }
                if let Some(key) = &ask.key {
                    self.keys.insert(
                        (ask.token.clone(), key.key.clone()),
                        (key.request, ask.rounds.clone(), key.expires_at, ask.campaign.clone()),
                    );
                }
                let all = || vec![true; ask.split.spend.len()];
                let there = ask.split.available.clone().unwrap_or_else(all);
                let tasks = there.iter().filter(|there| **there).count() as u32;
                let rounds = ask.rounds.clone();
                campaign
                    .rounds
                    .extend(rounds.map(|round| (round, (ask.expires_at, there.clone()))));
                campaign.events += 1;
                let split = FullSplit { amendments: ask.amendments, tasks };
                campaign.splits.insert((ask.rounds.start, ask.rounds.end), split);
                Ok(Done::Asked)
            }
            Command::Tell(tell) => {
                let campaign = self.campaigns.get_mut(&tell.campaign).ok_or(Refusal::NoCampaign)?;
                if campaign.is_compacted(tell.round) {
                    return Err(Refusal::Compacted);
                }
                let known = |task| campaign.told.get(&(tell.round, task));
                for item in &tell.items {
                    match known(item.task) {
                        Some((first, counted, _))
                            if ![first, counted]
                                .into_iter()
                                .any(|old| repeats(item.outcome, *old)) =>
                        {
                            return Err(Refusal::Conflict { task: item.task, stored: *counted });
                        }
                        _ => {}
                    }
                }
                let is_new: Vec<bool> =
                    tell.items.iter().map(|item| known(item.task).is_none()).collect();
                let new = is_new.iter().filter(|is_new| **is_new).count() as u64;
                let is_too_large = |(item, is_new): &(&Item, &bool)| {
                    **is_new && campaign.is_too_large(item.task, item.outcome)
                };
                if let Some((item, _)) = tell.items.iter().zip(&is_new).find(is_too_large) {
                    return Err(Refusal::TooLarge { task: item.task });
                }
                for item in &tell.items {
                    campaign.told.entry((tell.round, item.task)).or_insert((
                        item.outcome,
                        item.outcome,
                        item.expected,
                    ));
                }
                let late = if tell.is_late { new } else { 0 };
                campaign.late += late;
                campaign.events += u64::from(new > 0);
                let of_round = campaign.of_round.entry(tell.round).or_default();
                (of_round[0], of_round[1]) = (of_round[0] + u64::from(new > 0), of_round[1] + late);
                Ok(Done::Told { is_new, is_complete: campaign.is_complete(tell.round) })
            }
            Command::Correct(correction) => {
                let campaign =
                    self.campaigns.get_mut(&correction.campaign).ok_or(Refusal::NoCampaign)?;
                if campaign.is_compacted(correction.round) {
                    return Err(Refusal::Compacted);
                }
                let place = (correction.round, correction.task);
                if !campaign.told.contains_key(&place) {
                    return Err(Refusal::NothingToCorrect);
                }
                if campaign.is_too_large(correction.task, correction.to) {
                    return Err(Refusal::TooLarge { task: correction.task });
                }
                let told = campaign.told.get_mut(&place).ok_or(Refusal::NothingToCorrect)?;
                let from = std::mem::replace(&mut told.1, correction.to);
                let expected = correction.expected.unwrap_or(chance(correction.task));
                let before = std::mem::replace(&mut told.2, expected);
                let expected_change = expected as i64 - before as i64;
                (campaign.corrections, campaign.events) =
                    (campaign.corrections + 1, campaign.events + 1);
                let of_round = campaign.of_round.entry(correction.round).or_default();
                (of_round[0], of_round[2]) = (of_round[0] + 1, of_round[2] + 1);
                Ok(Done::Corrected { from, expected_change })
            }
            Command::AddToken(row) => match self.tokens.contains_key(&row.id) {
                true => Err(Refusal::Token),
                false => {
                    self.tokens.insert(row.id.clone(), None);
                    Ok(Done::TokenAdded)
                }
            },
            Command::RevokeToken(TokenRevocation { id, at }) => {
                let revoked = self.tokens.get_mut(id).ok_or(Refusal::Token)?;
                *revoked = revoked.or(Some(*at));
                Ok(Done::TokenRevoked)
            }
            Command::UseToken(used) => {
                self.tokens.get(&used.id).map(|_| Done::TokenUsed).ok_or(Refusal::Token)
            }
        }
    }
}

/// True if a report adds nothing to a stored outcome. A new spend does add something.
fn repeats(now: Outcome, stored: Outcome) -> bool {
    now == stored || now == Outcome { delivery: None, ..stored }
}

/// A running sequence.
struct Play<'a> {
    place: &'a Place,
    store: Option<Arc<dyn Store>>,
    model: Model,
    /// Prefix of this sequence's campaigns and tokens; the store is shared by many sequences.
    prefix: String,
    now: i64,
    /// The latest time of any command; keys that expired before it may have been dropped.
    latest: i64,
    waiting: Vec<Command>,
    sent: Vec<Command>,
}

impl Play<'_> {
    fn store(&self) -> &dyn Store {
        &**self.store.as_ref().unwrap()
    }

    fn id(&self, campaign: usize) -> String {
        format!("{}-{campaign}", self.prefix)
    }

    /// An issued round, counted from the latest.
    fn round(&self, campaign: usize, place: usize) -> Option<u64> {
        self.model.campaigns.get(&self.id(campaign))?.rounds.keys().rev().nth(place).copied()
    }

    /// Amendments and tasks of a campaign when the waiting commands are carried out, if none of the
    /// amendments among them is refused.
    fn present(&self, id: &str) -> (u64, u32) {
        let known = self.model.campaigns.get(id);
        let (amendments, tasks) = known.map_or((0, TASKS), |known| (known.amendments, known.tasks));
        let version = known.map_or(1, |known| known.version);
        let mut waiting = self.waiting.iter().filter_map(|command| match command {
            Command::Amend(change) if change.campaign == id && change.only_if == version => {
                Some(change.tasks)
            }
            _ => None,
        });
        waiting.next_back().map_or((amendments, tasks), |tasks| (amendments + 1, tasks))
    }

    fn send(&mut self, command: Command) {
        self.sent.push(command.clone());
        self.waiting.push(command);
    }

    fn play(&mut self, step: &Step) {
        match *step {
            Step::Ask { campaign, count, key: used, request, hours, mask } => {
                let id = self.id(campaign);
                if !self.model.campaigns.contains_key(&id) {
                    return;
                }
                let rounds = self.store().lease_rounds(&id, count).unwrap();
                let (amendments, tasks) = self.present(&id);
                let mut ask = Ask { amendments, ..asked(&id, rounds, tasks) };
                let all = |mask: [bool; 3]| {
                    mask.into_iter().chain(std::iter::repeat(true)).take(tasks as usize).collect()
                };
                Arc::make_mut(&mut ask.split).available = mask.map(all);
                (ask.at, ask.expires_at) = (self.now, self.now + 3_600_000 * hours);
                // Keys outlive the sequence, except one that expires after an hour.
                let until = self.now + if used == Some(0) { 3_600_000 } else { 1000 * DAY };
                ask.token = self.prefix.clone();
                ask.key = used.and_then(|used| key(&format!("key {used}"), request, until));
                self.latest = self.latest.max(self.now);
                self.send(Command::Ask(ask));
            }
            Step::AskTaken { campaign, shift } => {
                let first = self.round(campaign, 0).unwrap_or(1).saturating_sub(shift).max(1);
                let id = self.id(campaign);
                let known = self.model.campaigns.get(&id);
                // No replica leases a round twice, so a compacted round is never requested.
                if known.is_some_and(|campaign| campaign.compacted_end <= first) {
                    let (amendments, tasks) = self.present(&id);
                    let ask = Ask { amendments, ..asked(&id, first..first + 2, tasks) };
                    self.send(Command::Ask(ask));
                }
            }
            Step::Tell { campaign, round, outcomes, is_late } => {
                let Some(round) = self.round(campaign, round) else { return };
                let there = self.model.campaigns[&self.id(campaign)].rounds[&round].1.clone();
                let outcomes =
                    (0..TASKS).zip(there).zip(outcomes).filter(|((_, is_there), _)| *is_there);
                let outcomes: Vec<_> = outcomes
                    .filter_map(|((task, _), outcome)| {
                        outcome.map(|outcome| (task, OUTCOMES[outcome]))
                    })
                    .collect();
                let mut tell = told(&self.id(campaign), round, &outcomes);
                tell.is_late = is_late;
                self.send(Command::Tell(tell));
            }
            Step::Again { report } => {
                let before = self
                    .sent
                    .iter()
                    .rev()
                    .filter(|command| matches!(command, Command::Tell(_)))
                    .nth(report)
                    .cloned();
                before.into_iter().for_each(|tell| self.send(tell));
            }
            Step::Correct { campaign, round, task, to, expected } => {
                let Some(round) = self.round(campaign, round) else { return };
                let mut command = correct(&self.id(campaign), round, task, OUTCOMES[to]);
                if let Command::Correct(correction) = &mut command {
                    correction.expected = expected;
                }
                self.send(command);
            }
            Step::Status { campaign, to, is_current } => {
                let id = self.id(campaign);
                let version = self.model.campaigns.get(&id).map_or(1, |campaign| campaign.version);
                self.send(set_status(&id, to, if is_current { version } else { version + 5 }));
            }
            Step::Amend { campaign, more, is_current } => {
                let id = self.id(campaign);
                let version = self.model.campaigns.get(&id).map_or(1, |campaign| campaign.version);
                let (amendments, tasks) = self.present(&id);
                let version = if is_current { version } else { version + 5 };
                self.send(amend(&id, tasks + more, version, amendments + 1));
            }
            Step::Create { campaign, is_same } => {
                let is_there = self.model.campaigns.contains_key(&self.id(campaign));
                let tasks = if is_same || !is_there { TASKS } else { 9 };
                self.send(create(&self.id(campaign), tasks))
            }
            Step::Token { id, revokes } => {
                let id = format!("{}-token-{id}", self.prefix);
                let revoke = Command::RevokeToken(TokenRevocation { id: id.clone(), at: self.now });
                self.send(if revokes { revoke } else { Command::AddToken(token(&id)) });
            }
            Step::Delete { campaign, is_current, force, purge } => {
                self.commit();
                let id = self.id(campaign);
                let version = self.model.campaigns.get(&id).map_or(1, |campaign| campaign.version);
                self.send(delete(&id, if is_current { version } else { version + 5 }, force));
                self.commit();
                if purge {
                    while self.store().purge(2).unwrap() > 0 {}
                }
                if !self.model.campaigns.contains_key(&id) {
                    // A new campaign with this id must not have these rounds.
                    self.sent.retain(
                        |command| !matches!(command, Command::Tell(tell) if tell.campaign == id),
                    );
                }
            }
            Step::Compact { campaign, hours, most_rounds, keep_last_full } => {
                self.commit();
                let expired_before = self.now + 3_600_000 * hours;
                let id = self.id(campaign);
                let (amendments, tasks) = self.present(&id);
                let keep_last = keep_last_full.then_some(FullSplit { amendments, tasks });
                let compaction =
                    Compaction { keep_last, ..compaction(&id, expired_before, most_rounds) };
                let compacted = self.store().compact(&compaction).unwrap();
                let known = self.model.campaigns.get_mut(&id);
                let expected = known.map_or((0, 0, true), |known| known.compact(&compaction));
                assert_eq!((compacted.rounds, compacted.outcomes, compacted.is_done), expected);
            }
            Step::Wait { hours } => self.now += 3_600_000 * hours,
            Step::Commit => self.commit(),
            Step::Reopen => {
                self.commit();
                self.store = None;
                self.store = Some((self.place)());
            }
        }
    }

    fn commit(&mut self) {
        let batch = std::mem::take(&mut self.waiting);
        let answers = self.store().apply(&batch).unwrap();
        let expected: Vec<_> = batch.iter().map(|command| self.model.apply(command)).collect();
        assert_eq!(answers, expected, "{batch:#?}");
    }

    /// Compares everything that can be read with the model.
    fn compare(&self) {
        let store = self.store();
        for (id, campaign) in &self.model.campaigns {
            let row = store.campaign(id).unwrap().unwrap();
            assert_eq!((row.status, row.version), (campaign.status.unwrap(), campaign.version));
            assert_eq!((row.amendments, row.tasks), (campaign.amendments, campaign.tasks));
            assert_eq!(row.problem, store.problem(id, campaign.amendments).unwrap());
            assert_eq!(row.problem.is_some(), campaign.amendments > 0);
            assert_eq!(store.standing(id).unwrap(), campaign.standing());
            let compacted =
                store.checkpoint(id).unwrap().map(|found| (found.end, found.standing()));
            let expected = (campaign.compacted_end, campaign.compacted.clone());
            assert_eq!(compacted, (campaign.compacted_end > 0).then_some(expected));
            let rounds = store.rounds(id, 0, 10_000).unwrap();
            assert_eq!(
                rounds.iter().map(|row| row.round).collect::<Vec<_>>(),
                campaign.rounds.keys().copied().collect::<Vec<_>>()
            );
            for row in &rounds {
                let told = (0..TASKS).filter_map(|task| {
                    campaign.told.get(&(row.round, task)).map(|told| (task, told.1))
                });
                assert_eq!(row.told, told.collect::<Vec<_>>());
                assert_eq!(row.split.expires_at, campaign.rounds[&row.round].0);
                assert_eq!(store.split(id, row.round).unwrap().as_ref(), Some(&*row.split));
                let (first, there) = (row.split.rounds.start, &campaign.rounds[&row.round].1);
                let (found, sent) = (&row.split.split, split(there.len() as u32, first));
                let of_split = campaign.splits[&(first, row.split.rounds.end)];
                assert!(row.split.is_full(of_split), "{row:?} {of_split:?}");
                assert_eq!((&found.scale, &found.volume), (&sent.scale, &sent.volume));
            }
            let open = campaign
                .rounds
                .iter()
                .filter(|(round, (until, _))| *until > self.now && !campaign.is_complete(**round));
            assert_eq!(
                store.open_rounds(id, self.now).unwrap(),
                open.map(|(round, (until, _))| (*round, *until)).collect::<Vec<_>>()
            );
            let last = store.last_split(id).unwrap().map(|row| row.rounds.end - 1);
            assert_eq!(last, campaign.rounds.keys().next_back().copied());
            assert_eq!(store.events(id, 0, 10_000).unwrap().len() as u64, campaign.events);
        }
        for ((token, key), (request, rounds, until, _)) in &self.model.keys {
            let used = store
                .used_key(token, key, self.now)
                .unwrap()
                .map(|used| (used.request, used.rounds));
            if *until > self.latest.max(self.now) || *until <= self.now {
                assert_eq!(used, (*until > self.now).then_some((*request, rounds.clone())));
            }
        }
        let tokens: BTreeMap<_, _> =
            store.tokens().unwrap().into_iter().map(|row| (row.id, row.revoked_at)).collect();
        for (id, revoked_at) in &self.model.tokens {
            assert_eq!(tokens.get(id), Some(revoked_at));
        }
    }
}

/// Runs random sequences, all in one place.
pub(crate) fn all(make: &dyn Fn() -> Place, cases: u32) {
    let place = make();
    let number = std::cell::Cell::new(0);
    let play = |steps: &[Step]| {
        number.set(number.get() + 1);
        let prefix = format!("s{}", number.get());
        let (model, waiting, sent) = Default::default();
        let mut play = Play {
            place: &place,
            store: Some(place()),
            model,
            prefix,
            now: 10 * DAY,
            latest: 0,
            waiting,
            sent,
        };
        (0..2).for_each(|campaign| play.send(create(&play.id(campaign), TASKS)));
        play.commit();
        steps.iter().for_each(|step| play.play(step));
        play.commit();
        play.compare();
        play.store = None;
        play.store = Some(place());
        play.compare();
    };
    let config =
        Config { cases, failure_persistence: None, max_shrink_iters: 400, ..Config::default() };
    let mut runner =
        TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let steps = prop::collection::vec(step(), 1..40);
    let outcome = runner.run(&steps, |steps| {
        let played = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| play(&steps)));
        played.map_err(|_| TestCaseError::fail("see above"))
    });
    if let Err(TestError::Fail(_, steps)) = outcome {
        panic!("sequence {} fails: {steps:#?}", number.get());
    }
    assert!(outcome.is_ok(), "{outcome:?}");
    assert_eq!(place().verify().unwrap().faults, Vec::<String>::new());
}
