//! The mutable part of a campaign in memory: counts, open rounds, and the data that the planner has
//! not learned yet.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use outlay::Allocation;
use outlay::campaign::{CampaignError, RoundConditions, RoundPlanner};

use super::learning::{conditions, counts, observed, replay_round};
use super::open_rounds::OpenRounds;
use super::spec::CampaignSpec;
use crate::store::{
    Ask, CampaignRow, Command, Correction, Done, Millis, Outcome, Split, SplitRow, Standing,
    TaskCount, Tell,
};

/// Mutable state.
#[derive(Debug)]
pub(super) struct State {
    pub(super) row: CampaignRow,
    pub(super) standing: Standing,
    pub(super) unseen: Unseen,
    /// The version of the counts from which the planner was rebuilt; it has learned everything
    /// before.
    pub(super) rebuilt_from: u64,
    /// Round ids that were taken for a split that was not found.
    pub(super) spare: Option<Range<u64>>,
    /// Time when the counts were read from a store to which others also write.
    pub(super) read_at: Millis,
    pub(super) rounds: OpenRounds,
    /// Time of the last check for outcomes reported elsewhere.
    pub(super) looked_elsewhere: Millis,
    pub(super) last: Option<Arc<SplitRow>>,
    /// Rounds on their way to the store, not yet in the counts.
    pub(super) on_their_way: u64,
    /// The learner needs more than the counts.
    pub(super) learns_from_order: bool,
    /// Sums of rewards are converted for the learner, which is not the sum of converted rewards.
    pub(super) converts_rewards: bool,
    pub(super) is_outdated: Arc<AtomicBool>,
    pub(super) is_deleted: Arc<AtomicBool>,
    pub(super) is_amended: Arc<AtomicBool>,
}

/// Data that the planner has not learned yet.
#[derive(Debug, Default)]
pub(super) struct Unseen {
    /// Everything, from the counts.
    pub(super) is_recount_due: bool,
    pub(super) outcomes: Vec<UnseenOutcome>,
    /// A round that was issued elsewhere.
    pub(super) round: Option<Arc<SplitRow>>,
}

#[derive(Debug)]
pub(super) struct UnseenOutcome {
    pub(super) task: usize,
    pub(super) spend: f64,
    pub(super) outcome: Outcome,
    /// The version of the counts that it created.
    pub(super) version: u64,
}

/// Up to this many outcomes are learned one by one; more are learned from the counts if these
/// suffice.
pub(super) const MOST_UNSEEN: usize = 4096;

impl Unseen {
    /// Marks everything to be learned from the counts.
    pub(super) fn recount(&mut self) {
        self.is_recount_due = true;
        self.outcomes = Vec::new();
    }
}

/// Takes the pending data for the planner out of the state.
#[derive(Debug)]
pub(super) struct Lesson {
    spec: Arc<CampaignSpec>,
    counts: Option<(Vec<u64>, Vec<u64>)>,
    unseen: Unseen,
}

impl Lesson {
    pub(super) fn teach(self, planner: &mut RoundPlanner) -> Result<(), CampaignError> {
        if let Some((completions, sums)) = self.counts {
            planner.set_counts(&completions, &sums)?;
        }
        for UnseenOutcome { task, spend, outcome, .. } in self.unseen.outcomes {
            planner.observe(task, spend, observed(&self.spec, outcome))?;
        }
        self.unseen.round.map_or(Ok(()), |round| replay_round(planner, &self.spec, &round))
    }
}

impl State {
    /// Applies a committed change in memory.
    pub(super) fn apply_committed(&mut self, command: &Command, done: &Done) {
        match (command, done) {
            (Command::SetStatus(change), Done::StatusSet { version }) => {
                (self.row.status, self.row.version, self.row.changed_at) =
                    (change.to, *version, change.at);
            }
            (Command::Amend(change), Done::Amended { version, amendments }) => {
                self.row.version = *version;
                self.amended(*amendments, change.tasks as usize);
            }
            (Command::Delete(_), Done::Deleted { .. }) => {
                self.is_deleted.store(true, Ordering::Release);
            }
            (Command::Ask(ask), Done::Asked) => self.asked(ask),
            (Command::Tell(tell), Done::Told { is_new, is_complete }) => {
                self.told(tell, is_new);
                if *is_complete {
                    self.rounds.complete(tell.round);
                }
            }
            (Command::Correct(correction), Done::Corrected { from, expected_change }) => {
                self.corrected(correction, *from, *expected_change)
            }
            _ => {}
        }
    }

    /// The store rejected a command or could not carry it out.
    pub(super) fn rollback(&mut self, command: &Command) {
        if let Command::Ask(ask) = command {
            self.drop_split(&ask.rounds);
        }
    }

    /// The campaign was amended: its settings and the planner must be read again before the next
    /// decision.
    pub(super) fn amended(&mut self, amendments: u64, tasks: usize) {
        self.row.amendments = self.row.amendments.max(amendments);
        let tasks = tasks.max(self.standing.tasks.len());
        self.standing.tasks.resize(tasks, TaskCount::default());
        self.unseen = Unseen { is_recount_due: !self.learns_from_order, ..Unseen::default() };
        self.is_amended.store(true, Ordering::Release);
        self.invalidate();
    }

    /// Takes counts that were read from the store. They may be older than the last amendment, and
    /// lack the tasks that it has added.
    pub(super) fn set_standing(&mut self, mut standing: Standing) {
        let tasks = standing.tasks.len().max(self.standing.tasks.len());
        standing.tasks.resize(tasks, TaskCount::default());
        self.standing = standing;
    }

    /// Number of rounds that were issued or are about to be.
    pub(super) fn handed_out(&self) -> u64 {
        self.standing.rounds + self.on_their_way
    }

    /// The next round, as far as this process knows.
    pub(super) fn next_round(&self) -> u64 {
        self.last.as_ref().map_or(1, |last| last.rounds.end)
    }

    /// Pending data for a planner with these settings.
    pub(super) fn take_unseen(&mut self, spec: &Arc<CampaignSpec>) -> Lesson {
        let mut unseen = std::mem::take(&mut self.unseen);
        unseen.outcomes.retain(|outcome| outcome.version > self.rebuilt_from);
        let counts = unseen.is_recount_due.then(|| counts(spec, &self.standing));
        Lesson { spec: Arc::clone(spec), counts, unseen }
    }

    /// Round ids; those that were taken before and not used come first.
    pub(super) fn take_ids<E>(
        &mut self,
        count: u32,
        lease: impl FnOnce(u32) -> Result<Range<u64>, E>,
    ) -> Result<Range<u64>, E> {
        let count = u64::from(count);
        let Some(spare) = self.spare.take() else { return lease(count as u32) };
        let left = spare.end - spare.start;
        if left >= count {
            let ids = spare.start..spare.start + count;
            self.spare = (left > count).then_some(ids.end..spare.end);
            return Ok(ids);
        }
        // Only this process takes ids of this campaign, so these follow the others.
        lease((count - left) as u32).map(|more| spare.start..more.end)
    }

    /// Counts rounds as issued while their split is computed.
    pub(super) fn reserve(&mut self, rounds: &Range<u64>) {
        self.on_their_way += rounds.end - rounds.start;
    }

    /// No split was found for these rounds; they can be issued later.
    pub(super) fn give_back(&mut self, rounds: Range<u64>, is_shared: bool) {
        self.on_their_way -= rounds.end - rounds.start;
        if !is_shared {
            let end = self.spare.take().map_or(rounds.end, |spare| spare.end);
            self.spare = Some(rounds.start..end);
        }
    }

    /// The split that the planner has decided. As long as nothing is learned it stays the same and
    /// is stored once.
    pub(super) fn decided(
        &self,
        planner: &RoundPlanner,
        of_round: &RoundConditions<'_>,
    ) -> Arc<Split> {
        let (Allocation { spend, success, .. }, index) = (planner.last(), planner.weights());
        let is_same = |split: &Split| {
            split.budget.to_bits() == of_round.budget.to_bits()
                && conditions(split) == *of_round
                && [
                    (&split.spend[..], &spend[..]),
                    (&split.success, success),
                    (&split.index, index),
                ]
                .into_iter()
                .all(are_same)
        };
        match &self.last {
            Some(last) if is_same(&last.split) => Arc::clone(&last.split),
            _ => Arc::new(Split {
                budget: of_round.budget,
                available: of_round.available.map(<[bool]>::to_vec),
                scale: of_round.scale.map(<[f64]>::to_vec),
                volume: of_round.volume.map(<[f64]>::to_vec),
                spend: spend.clone(),
                success: success.clone(),
                index: index.to_vec(),
            }),
        }
    }

    /// Applies a split that is about to be issued, for rounds that were [reserved](Self::reserve).
    pub(super) fn keep(&mut self, split: &Arc<SplitRow>) {
        self.rounds.hand_out(split);
        self.last = Some(Arc::clone(split));
    }

    /// The store could not save a split: it was not issued, but the guards and the learner know it.
    pub(super) fn drop_split(&mut self, rounds: &Range<u64>) {
        self.invalidate();
        self.on_their_way -= rounds.end - rounds.start;
        self.rounds.rollback(rounds);
    }

    /// The planner must be rebuilt from the store before the next decision.
    pub(super) fn invalidate(&self) {
        self.is_outdated.store(true, Ordering::Release);
    }

    fn asked(&mut self, ask: &Ask) {
        let count = ask.rounds.end - ask.rounds.start;
        self.on_their_way -= count;
        self.standing.rounds += count;
    }

    fn told(&mut self, tell: &Tell, is_new: &[bool]) {
        let split = self.rounds.split(tell.round);
        // Only the store knows its spend then.
        if split.is_none() && self.learns_from_order && is_new.contains(&true) {
            self.invalidate();
        }
        if self.converts_rewards && !self.learns_from_order && is_new.contains(&true) {
            self.unseen.recount();
        }
        for (item, _) in tell.items.iter().zip(is_new).filter(|(_, is_new)| **is_new) {
            let task = item.task as usize;
            self.standing.tasks[task].add(item.outcome, item.expected);
            self.standing.version += 1;
            self.standing.late += u64::from(tell.is_late);
            if !self.unseen.is_recount_due {
                let spend = |split: &Arc<SplitRow>| split.split.spend.get(task).copied();
                let spend = split.as_ref().and_then(spend).unwrap_or(0.0);
                let (outcome, version) = (item.outcome, self.standing.version);
                self.unseen.outcomes.push(UnseenOutcome { task, spend, outcome, version });
            }
        }
    }

    fn corrected(&mut self, correction: &Correction, from: Outcome, expected_change: i64) {
        let count = &mut self.standing.tasks[correction.task as usize];
        count.correct(from, correction.to, expected_change);
        self.standing.version += 1;
        if self.learns_from_order {
            self.invalidate();
        } else {
            self.unseen.recount();
        }
    }
}

/// True if numbers are bit-identical.
fn are_same((these, those): (&[f64], &[f64])) -> bool {
    these.len() == those.len()
        && these.iter().zip(those).all(|(this, that)| this.to_bits() == that.to_bits())
}
