//! A pair of multipliers, of spend and of the number of funded tasks, for mixtures whose items the first
//! one alone cannot distinguish.
//!
//! Every solution funds at most `n` tasks or at least `n + 1`; see
//! [`cardinality_bound`](crate::oracle::mckp), which does the same for step curves alone. Any pair
//! proves its bound; how it is found only matters for speed.

use super::items::Choices;
use super::pricing::{Multipliers, Priced};
use super::remainder::Remainder;

/// One of the two cases: at most, or at least, `limit` tasks.
pub(super) struct Case<'a> {
    pub(super) choices: &'a Choices,
    pub(super) remainder: &'a Remainder,
    pub(super) residual: f64,
    pub(super) limit: f64,
    /// The sign of the second multiplier.
    pub(super) sign: f64,
}

const MAX_STEPS: usize = 60;
/// Relative accuracy of the minimum of the dual function.
const ACCURACY: f64 = 1e-13;

/// The minimum of the dual function over the multiplier of spend.
#[derive(Debug, Clone, Copy)]
struct Section {
    at: Multipliers,
    bound: f64,
    /// The derivative in the second multiplier.
    slope: f64,
}

impl Case<'_> {
    /// The pair of multipliers with about the smallest bound, from that of the relaxation.
    pub(super) fn multipliers(&self, start: &Priced, reference: &mut Vec<u32>) -> Multipliers {
        let mut left = self.section(0.0, start.multipliers.spend, reference);
        let mut best = left;
        let mut step = self.sign * 0.5 * start.value / self.limit.max(1.0);
        let mut right = None;
        for _ in 0..MAX_STEPS {
            if !(left.slope * self.sign < 0.0) {
                return best.at;
            }
            let section = self.section(left.at.count + step, left.at.spend, reference);
            best = if section.bound < best.bound { section } else { best };
            if section.slope * self.sign >= 0.0 {
                right = Some(section);
                break;
            }
            left = section;
            step *= 2.0;
        }
        let Some(mut right) = right else { return best.at };
        for _ in 0..MAX_STEPS {
            // The tangents from both sides meet below the convex dual function.
            let meet = (left.bound - right.bound + right.slope * right.at.count
                - left.slope * left.at.count)
                / (right.slope - left.slope);
            let floor = left.bound + left.slope * (meet - left.at.count);
            let is_between = (meet - left.at.count) * self.sign > 0.0
                && (right.at.count - meet) * self.sign > 0.0;
            if !is_between || floor >= best.bound - ACCURACY * best.bound {
                break;
            }
            let section = self.section(meet, left.at.spend, reference);
            best = if section.bound < best.bound { section } else { best };
            if section.slope * self.sign < 0.0 {
                left = section;
            } else {
                right = section;
            }
        }
        best.at
    }

    /// The number of tasks that the relaxation funds, in which a task may be between two items.
    pub(super) fn relaxed_count(&self, start: &Priced, reference: &mut Vec<u32>) -> f64 {
        self.limit - self.section(0.0, start.multipliers.spend, reference).slope
    }

    fn price(&self, spend: f64, count: f64, reference: &mut Vec<u32>) -> Priced {
        let at = Multipliers { spend, count, limit: self.limit };
        self.choices.price(at, self.remainder, self.residual, reference)
    }

    /// Minimises the dual function over the multiplier of spend, from a guess.
    fn section(&self, count: f64, guess: f64, reference: &mut Vec<u32>) -> Section {
        let slope = |priced: &Priced| self.residual - priced.demand;
        let mut here = self.price(guess, count, reference);
        let mut best = here;
        let (mut low, mut high) = (None, None);
        let mut factor = 1.001;
        for _ in 0..MAX_STEPS {
            if slope(&here) < 0.0 {
                low = Some(here);
            } else {
                high = Some(here);
            }
            let next = match (low, high) {
                (Some(low), None) => low.multipliers.spend * factor,
                (None, Some(high)) => high.multipliers.spend / factor,
                (Some(low), Some(high)) => {
                    let (left, right) = (slope(&low), slope(&high));
                    let (a, b) = (low.multipliers.spend, high.multipliers.spend);
                    let meet = (low.bound - high.bound + right * b - left * a) / (right - left);
                    let floor = low.bound + left * (meet - a);
                    if !(meet > a && meet < b) || floor >= best.bound - ACCURACY * best.bound {
                        break;
                    }
                    meet
                }
                (None, None) => break,
            };
            factor *= factor;
            here = self.price(next, count, reference);
            best = if here.bound < best.bound { here } else { best };
            if !next.is_finite() || next < f64::MIN_POSITIVE {
                break;
            }
        }
        let funded = match (low, high) {
            // The convex combination that spends exactly the residual budget.
            (Some(low), Some(high)) => {
                let share = slope(&high) / (slope(&high) - slope(&low));
                share * low.count + (1.0 - share) * high.count
            }
            _ => best.count,
        };
        Section { at: best.multipliers, bound: best.bound, slope: self.limit - funded }
    }
}
