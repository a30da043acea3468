//! The two-list algorithm (Horowitz and Sahni): good solutions where nearly all reduced costs are
//! equal.
//!
//! If values are about proportional to costs, or rise by a fixed amount per jump, no reduced cost
//! tells which alternatives a better solution takes: the total has to come as close to the budget as
//! possible. A few dozen alternatives near the margin have enough combinations for that. They are
//! divided into two halves. The combinations of a half are listed by increasing spend, and for each
//! one in the first list the last one in the second list that still fits is the best partner. The
//! best of 2^36 combinations takes two lists of 2^18.

use std::cmp::Ordering;

use super::label::Alternative;
use crate::oracle::cancel::Cancel;

/// The alternatives that are combined with all of both lists.
const MAX_OTHERS: usize = 64;

/// An alternative that a combination may take.
#[derive(Debug, Clone, Copy)]
struct Change {
    /// The position of the alternative in the list that was loaded.
    position: u32,
    shift: i64,
    gain: f64,
    reduced_cost: f64,
}

/// A combination of the changes of one half.
#[derive(Debug, Clone, Copy)]
struct Part {
    shift: i64,
    gain: f64,
    /// The changes taken, as bits.
    taken: u32,
}

impl Part {
    const NONE: Self = Self { shift: 0, gain: 0.0, taken: 0 };
}

/// Buffers kept between calls.
#[derive(Debug, Default)]
pub(in crate::oracle) struct TwoLists {
    changes: Vec<Change>,
    /// The next cheapest alternatives.
    others: Vec<Change>,
    lists: [Vec<Part>; 2],
    merged: Vec<Part>,
    /// Stops the search before the next pass over both lists.
    pub(in crate::oracle) cancel: Cancel,
    /// The positions of the alternatives of the best combination.
    pub(in crate::oracle) taken: Vec<u32>,
}

impl TwoLists {
    /// Starts without alternatives.
    pub(in crate::oracle) fn clear(&mut self) {
        self.changes.clear();
    }

    /// Adds the alternative with the smallest reduced cost among those of one domain; `first` is the
    /// position of the first one.
    pub(in crate::oracle) fn add<S>(&mut self, first: u32, alternatives: &[Alternative<S>]) {
        let costs = alternatives.iter().zip(first..);
        let least = costs.min_by(|one, other| one.0.reduced_cost.total_cmp(&other.0.reduced_cost));
        if let Some((&Alternative { shift, gain, reduced_cost, .. }, position)) = least {
            self.changes.push(Change { position, shift, gain, reduced_cost });
        }
    }

    /// Keeps up to twice `half` alternatives, the cheapest ones that add and that free spend, and
    /// deals them to both halves. Lists the combinations of each half.
    pub(in crate::oracle) fn combine(&mut self, half: usize) {
        let is_up = |change: &Change| change.shift > 0;
        self.changes.sort_unstable_by(|one, other| {
            is_up(one).cmp(&is_up(other)).then_with(|| by_cost(one, other))
        });
        let down = self.changes.partition_point(|change| !is_up(change));
        let up = self.changes.len() - down;
        let kept_up = half.max((2 * half).saturating_sub(down)).min(up);
        let kept_down = (2 * half - kept_up.min(2 * half)).min(down);
        self.others.clear();
        self.others.extend(self.changes.drain(down + kept_up..));
        self.others.extend(self.changes.drain(kept_down..down));
        self.others.sort_unstable_by(by_cost);
        self.others.truncate(MAX_OTHERS);
        for side in 0..2 {
            self.lists[side].clear();
            self.lists[side].push(Part::NONE);
            for bit in 0..self.changes.len().saturating_sub(side).div_ceil(2) {
                let change = self.changes[2 * bit + side];
                self.merged.clear();
                extend(&self.lists[side], change, 1 << bit, &mut self.merged);
                std::mem::swap(&mut self.lists[side], &mut self.merged);
            }
        }
    }

    /// The number of combinations listed.
    pub(in crate::oracle) fn len(&self) -> u64 {
        self.lists.iter().map(|list| list.len() as u64).sum()
    }

    /// The combination with the largest worth above `least`, if there is one, among those that take
    /// as much of the capacity as possible. `worth` is that of unused units and a gain; `enough` is
    /// as good as any. The alternatives are left in `taken`.
    ///
    /// The lists are combined with none and with each one of the next cheapest alternatives.
    pub(in crate::oracle) fn find(
        &mut self,
        capacity: i64,
        (least, enough): (f64, f64),
        mut worth: impl FnMut(i64, f64) -> f64,
    ) -> bool {
        let (mut most, mut best) = (least, None);
        for number in 0..=self.others.len() {
            let other = number.checked_sub(1).map(|number| self.others[number]);
            let (shift, gain) = other.map_or((0, 0.0), |other| (other.shift, other.gain));
            let found = self.sweep(capacity - shift, most, |left, added| worth(left, gain + added));
            if let Some((worth, taken)) = found {
                (most, best) = (worth, Some((other, taken)));
            }
            if most >= enough || self.cancel.is_set() {
                break;
            }
        }
        let Some((other, taken)) = best else { return false };
        let is_taken = |number: usize| taken[number % 2] >> (number / 2) & 1 == 1;
        self.taken.clear();
        let positions = self.changes.iter().map(|change| change.position).enumerate();
        self.taken.extend(positions.filter(|(number, _)| is_taken(*number)).map(|(_, at)| at));
        self.taken.extend(other.map(|other| other.position));
        true
    }

    /// Combines both lists: the largest worth above `least`, and the changes taken in each half.
    fn sweep(
        &self,
        capacity: i64,
        least: f64,
        mut worth: impl FnMut(i64, f64) -> f64,
    ) -> Option<(f64, [u32; 2])> {
        let [one, other] = &self.lists;
        let (mut most, mut best, mut fits) = (least, None, other.len());
        for part in one {
            while fits > 0 && other[fits - 1].shift > capacity - part.shift {
                fits -= 1;
            }
            let Some(last) = fits.checked_sub(1).map(|last| other[last]) else { break };
            let worth = worth(capacity - part.shift - last.shift, part.gain + last.gain);
            if worth > most {
                (most, best) = (worth, Some([part.taken, last.taken]));
            }
        }
        best.map(|taken| (most, taken))
    }
}

fn by_cost(one: &Change, other: &Change) -> Ordering {
    one.reduced_cost.total_cmp(&other.reduced_cost).then(one.position.cmp(&other.position))
}

/// Merges a list with itself after one more change, and drops dominated combinations.
fn extend(list: &[Part], change: Change, bit: u32, merged: &mut Vec<Part>) {
    let changed = |part: &Part| Part {
        shift: part.shift + change.shift,
        gain: part.gain + change.gain,
        taken: part.taken | bit,
    };
    let (mut one, mut other) = (list.iter().peekable(), list.iter().map(changed).peekable());
    let mut most = f64::NEG_INFINITY;
    loop {
        let is_first = match (one.peek(), other.peek()) {
            (Some(a), Some(b)) => (a.shift, -a.gain) <= (b.shift, -b.gain),
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (None, None) => return,
        };
        let next = if is_first { one.next().copied() } else { other.next() };
        if let Some(part) = next.filter(|part| part.gain > most) {
            most = part.gain;
            merged.push(part);
        }
    }
}
