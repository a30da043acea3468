//! Jobs of many campaigns, taken in turn: deficit round robin.
//!
//! Each campaign has its own queue, first in, first out. In its turn a campaign gets credit, and its
//! jobs are taken as far as the credit covers their cost. A campaign with a few cheap jobs therefore
//! waits for at most one batch of the others, however many jobs they have and however large these
//! are, and a large job waits for a bounded number of turns.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

/// The credit that a campaign gets in each of its turns.
const QUANTUM: usize = 256;

/// Jobs that wait, by the campaign (`K`) that they belong to.
#[derive(Debug)]
pub(super) struct FairQueue<K, T> {
    queues: HashMap<K, CampaignQueue<T>>,
    /// Campaigns with waiting jobs; the first has its turn.
    turns: VecDeque<K>,
    /// The first has got its credit for this turn.
    has_credit: bool,
    len: usize,
}

#[derive(Debug)]
struct CampaignQueue<T> {
    /// Each with its cost.
    jobs: VecDeque<(usize, T)>,
    credit: usize,
}

impl<K: Eq + Hash + Clone, T> FairQueue<K, T> {
    pub(super) fn new() -> Self {
        Self { queues: HashMap::new(), turns: VecDeque::new(), has_credit: false, len: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds a job behind the others of its campaign.
    pub(super) fn push(&mut self, campaign: K, cost: usize, job: T) {
        self.len += 1;
        if let Some(queue) = self.queues.get_mut(&campaign) {
            queue.jobs.push_back((cost, job));
            return;
        }
        self.turns.push_back(campaign.clone());
        self.queues
            .insert(campaign, CampaignQueue { jobs: VecDeque::from([(cost, job)]), credit: 0 });
    }

    /// Takes jobs of at most this cost together, or a single one that costs more. Nothing is left
    /// out that fits and whose turn it is.
    pub(super) fn take(&mut self, most_cost: usize) -> Vec<T> {
        let (mut batch, mut cost) = (Vec::new(), 0);
        // Campaigns in a row whose credit did not cover a job.
        let mut passed = 0;
        while batch.is_empty() || passed <= self.turns.len() {
            let Some(queue) = self.turns.front().and_then(|first| self.queues.get_mut(first))
            else {
                break;
            };
            if !self.has_credit {
                queue.credit = queue.credit.saturating_add(QUANTUM);
                self.has_credit = true;
            }
            let Some(&(next, _)) = queue.jobs.front() else { break };
            if next > queue.credit {
                self.turns.rotate_left(1);
                self.has_credit = false;
                passed += 1;
                continue;
            }
            if !batch.is_empty() && next > most_cost.saturating_sub(cost) {
                break;
            }
            queue.credit -= next;
            cost = cost.saturating_add(next);
            batch.extend(queue.jobs.pop_front().map(|(_, job)| job));
            self.len -= 1;
            passed = 0;
            if queue.jobs.is_empty() {
                self.has_credit = false;
                if let Some(first) = self.turns.pop_front() {
                    self.queues.remove(&first);
                }
            }
        }
        batch
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(jobs: &[(char, usize, u32)]) -> FairQueue<char, u32> {
        let mut queue = FairQueue::new();
        jobs.iter().for_each(|&(campaign, cost, job)| queue.push(campaign, cost, job));
        queue
    }

    #[test]
    fn one_campaign_is_served_in_order_up_to_the_cost_of_a_batch() {
        let jobs: Vec<_> = (0..1000).map(|job| ('a', 5, job)).collect();
        let mut queue = filled(&jobs);
        assert_eq!(queue.take(2000), Vec::from_iter(0..400));
        assert_eq!(queue.take(2000), Vec::from_iter(400..800));
        assert_eq!(queue.take(2000), Vec::from_iter(800..1000));
        assert!(queue.is_empty() && queue.take(2000).is_empty());
    }

    /// The second campaign came last and is in the first batch all the same.
    #[test]
    fn a_campaign_does_not_wait_for_all_jobs_of_another() {
        let mut jobs: Vec<_> = (0..10_000).map(|job| ('a', 5, job)).collect();
        jobs.push(('b', 5, 77_777));
        let mut queue = filled(&jobs);
        let batch = queue.take(1000);
        assert_eq!(batch.len(), 200);
        assert!(batch.contains(&77_777));
    }

    #[test]
    fn a_large_job_is_taken_alone_and_the_small_ones_first() {
        let mut queue =
            filled(&[('a', 3000, 1), ('a', 3000, 2), ('b', 4, 10), ('c', 4, 11), ('b', 4, 12)]);
        assert_eq!(queue.take(2048), [10, 12, 11]);
        assert_eq!(queue.take(2048), [1]);
        assert_eq!(queue.take(2048), [2]);
    }

    /// Small jobs that keep coming delay a large one by a bounded number of batches.
    #[test]
    fn a_large_job_is_not_delayed_for_ever() {
        let mut queue = filled(&[('a', 3000, 0)]);
        let batches = (1..100).take_while(|job| {
            queue.push('b', 4, *job);
            queue.take(2048) != [0]
        });
        let batches = batches.count();
        assert!((2..=3000 / QUANTUM).contains(&batches), "{batches} batches came first");
    }

    /// Over time every campaign gets the same cost through, whatever the size of its jobs.
    #[test]
    fn campaigns_that_always_wait_get_equal_shares() {
        let costs = [('a', 1000), ('b', 100), ('c', 7)];
        let mut queue = FairQueue::new();
        costs.iter().for_each(|&(campaign, cost)| queue.push(campaign, cost, (campaign, cost)));
        let mut taken: HashMap<char, usize> = HashMap::new();
        while taken.values().sum::<usize>() < 1_000_000 {
            for (campaign, cost) in queue.take(500) {
                *taken.entry(campaign).or_default() += cost;
                (0..2).for_each(|_| queue.push(campaign, cost, (campaign, cost)));
            }
        }
        let shares = costs.map(|(campaign, _)| taken[&campaign]);
        let (least, most) = (shares.iter().min().unwrap(), shares.iter().max().unwrap());
        assert!(most - least <= 2 * (1000 + QUANTUM), "{shares:?}");
    }
}
