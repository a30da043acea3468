//! Round ids, taken from the database in blocks: one query for many rounds.

use std::collections::HashMap;
use std::ops::Range;

/// Ids per query; more if more are requested at once.
pub(super) const BLOCK: u32 = 64;

/// Blocks that this process has taken, by the campaign's number. Empty ones are kept: ids below
/// their end are known to be taken.
#[derive(Debug, Default)]
pub(super) struct Leases {
    blocks: HashMap<i32, Range<u64>>,
    epoch: u64,
}

impl Leases {
    /// Forgets blocks that were taken before connections were lost: a standby that took over may
    /// not know them.
    pub(super) fn since(&mut self, epoch: u64) -> &mut Self {
        if self.epoch != epoch {
            self.blocks.clear();
            self.epoch = epoch;
        }
        self
    }

    /// Ids from the current block, if it has enough.
    pub(super) fn take(&mut self, campaign: i32, count: u32) -> Option<Range<u64>> {
        let block = self.blocks.get_mut(&campaign)?;
        let end = block.start.checked_add(count.into()).filter(|end| *end <= block.end)?;
        let taken = block.start..end;
        block.start = end;
        Some(taken)
    }

    /// A new block. If no other process has taken ids since the last one, it is extended without a
    /// gap. Otherwise the rest of the last one is dropped, so that the ids of one process only
    /// increase.
    pub(super) fn add(&mut self, campaign: i32, new: Range<u64>) {
        let block = self.blocks.entry(campaign).or_insert_with(|| new.start..new.start);
        if block.end == new.start {
            block.end = new.end;
        } else if new.start > block.end {
            *block = new;
        }
    }

    /// True if the database may not know yet that rounds up to `end` are taken: they were imported,
    /// or leased before a connection was lost.
    pub(super) fn is_beyond(&self, campaign: i32, end: u64) -> bool {
        self.blocks.get(&campaign).is_none_or(|block| end > block.end)
    }

    /// Rounds up to `end` are issued and known to the database: none of them is taken from the
    /// block any more.
    pub(super) fn pass(&mut self, campaign: i32, end: u64) {
        let block = self.blocks.entry(campaign).or_default();
        *block = block.start.max(end)..block.end.max(end);
    }

    /// All unused ids.
    pub(super) fn give_up(&mut self) -> Vec<(i32, Range<u64>)> {
        self.blocks.drain().filter(|(_, block)| !block.is_empty()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Leases;

    #[test]
    fn blocks_that_follow_each_other_leave_no_gap() {
        let mut leases = Leases::default();
        leases.add(7, 1..65);
        assert_eq!(leases.take(7, 40), Some(1..41));
        assert_eq!(leases.take(7, 40), None);
        leases.add(7, 65..129);
        assert_eq!(leases.take(7, 40), Some(41..81));
        assert_eq!(leases.take(8, 1), None, "another campaign has its own");
    }

    #[test]
    fn leases_of_others_leave_gaps_and_ids_increase() {
        let mut leases = Leases::default();
        leases.add(7, 1..65);
        assert_eq!(leases.take(7, 60), Some(1..61));
        leases.add(7, 129..193);
        assert_eq!(leases.take(7, 10), Some(129..139));
        assert_eq!(leases.give_up(), [(7, 139..193)]);
        assert_eq!(leases.take(7, 1), None);
    }

    #[test]
    fn rounds_from_elsewhere_are_skipped() {
        let mut leases = Leases::default();
        assert!(leases.is_beyond(7, 3), "nothing was leased here");
        leases.pass(7, 3);
        leases.add(7, 3..67);
        assert_eq!(leases.take(7, 1), Some(3..4));
        assert!(!leases.is_beyond(7, 67) && leases.is_beyond(7, 68));
        leases.pass(7, 4);
        assert_eq!(leases.take(7, 1), Some(4..5), "nothing but what was taken is passed");
        leases.pass(7, 10);
        assert_eq!(leases.take(7, 1), Some(10..11));
        leases.pass(7, 100);
        assert_eq!(leases.take(7, 1), None);
    }

    #[test]
    fn nothing_taken_before_a_connection_was_lost_is_used() {
        let mut leases = Leases::default();
        leases.since(0).add(7, 1..65);
        assert_eq!(leases.since(1).take(7, 1), None);
    }
}
