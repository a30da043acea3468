//! The least spend that reaches a value.
//!
//! Every solved budget either reaches the value, or its bounds prove that it and some smaller
//! spends do not, or neither: then its gap hides the answer, and the search goes on to both sides.
//! The line of the multiplier excludes spends as Newton's method would choose them.

use super::{BoundLine, Search, TARGET_WIDTH, Target, TargetError, TargetPlan, total};
use crate::curve::AMOUNT_RANGE;
use crate::oracle::{Allocation, AllocationError};

/// If no split reaches the value, the nearest one is this share of the supremum.
const NEAREST: f64 = 1.0 - 1e-6;

/// The state of a search for a value.
struct Bracket {
    value: f64,
    /// Spends up to `low` are worth less than the value, by `line`.
    low: f64,
    line: Option<BoundLine>,
    /// The cheapest split found that reaches the value.
    best: Option<Allocation>,
    /// Budgets in this interval are neither.
    undecided: Option<[f64; 2]>,
}

impl Search<'_> {
    pub(super) fn least_spend(&mut self, value: f64) -> Result<TargetPlan, TargetError> {
        let target = Target::Value(value);
        let supremum = self.supremum();
        if supremum.upper_bound < value {
            let nearest = match self.limit {
                Some(limit) => self.solve(limit)?,
                None => {
                    let found = self.reach(supremum.upper_bound * NEAREST)?;
                    found.best.map_or_else(|| self.solve(self.problem.budget()), Ok)?
                }
            };
            return Ok(missed(target, nearest, vec![supremum]));
        }
        let Bracket { low, line, best, .. } = self.reach(value)?;
        let Some(allocation) = best else {
            let nearest = self.solve(self.largest())?;
            let proof = self.lines(&nearest).into_iter().find(|line| line.upper_bound < value);
            return Ok(missed(target, nearest, proof.into_iter().collect()));
        };
        Ok(TargetPlan {
            target,
            is_reached: true,
            reached: allocation.value,
            low,
            high: total(&allocation),
            allocation,
            proof: line.into_iter().collect(),
        })
    }

    fn largest(&self) -> f64 {
        self.limit.unwrap_or(*AMOUNT_RANGE.end())
    }

    fn reach(&mut self, value: f64) -> Result<Bracket, AllocationError> {
        let mut bracket =
            Bracket { value, low: self.needed, line: None, best: None, undecided: None };
        let largest = self.largest();
        self.visit(&mut bracket, self.needed)?;
        let mut budget = self.problem.budget().max(2.0 * self.needed).min(largest);
        while bracket.best.is_none() && self.may_solve() {
            self.visit(&mut bracket, budget)?;
            if budget >= largest {
                break;
            }
            budget = (2.0 * budget).min(largest);
        }
        let mut halve = false;
        while let Some((from, to)) = bracket.open().filter(|_| self.may_solve()) {
            // Right above the excluded spends, where Newton's method expects the answer.
            let next = if halve { 0.5 * (from + to) } else { from + 0.5 * TARGET_WIDTH * to };
            halve = !halve;
            self.visit(&mut bracket, next)?;
        }
        Ok(bracket)
    }

    fn visit(&mut self, bracket: &mut Bracket, budget: f64) -> Result<(), AllocationError> {
        let found = self.solve(budget)?;
        let lines = self.lines(&found);
        bracket.exclude(&lines);
        if found.value >= bracket.value {
            bracket.add(found);
        } else if bracket.low < budget {
            let [from, to] = bracket.undecided.unwrap_or([budget; 2]);
            bracket.undecided = Some([from.min(budget), to.max(budget)]);
        }
        Ok(())
    }
}

impl Bracket {
    /// Excludes the spends that these lines prove to be worth less.
    fn exclude(&mut self, lines: &[BoundLine]) {
        for line in lines {
            let cut = if line.price > 0.0 {
                let beyond = (line.upper_bound - self.value) / line.price;
                (line.budget - beyond - 1e-14 * line.budget).min(line.budget)
            } else {
                line.budget
            };
            let is_further = cut > self.low || (cut == self.low && self.line.is_none());
            if is_further && line.at(cut) < self.value {
                self.low = cut;
                self.line = Some(*line);
            }
        }
        let low = self.low;
        self.undecided = self.undecided.filter(|undecided| undecided[1] > low);
        if let Some([from, _]) = &mut self.undecided {
            *from = from.max(low);
        }
    }

    fn add(&mut self, found: Allocation) {
        if self.best.as_ref().is_none_or(|best| total(&found) < total(best)) {
            let spend = total(&found);
            self.undecided = self.undecided.filter(|undecided| undecided[0] < spend);
            if let Some([_, to]) = &mut self.undecided {
                *to = to.min(spend);
            }
            self.best = Some(found);
        }
    }

    /// An interval that is still too wide: above the undecided budgets first, then below.
    fn open(&self) -> Option<(f64, f64)> {
        let high = total(self.best.as_ref()?);
        let intervals = match self.undecided {
            None => [(self.low, high); 2],
            Some([from, to]) => [(to, high), (self.low, from)],
        };
        intervals.into_iter().find(|(from, to)| to - from > TARGET_WIDTH * high)
    }
}

fn missed(target: Target, nearest: Allocation, proof: Vec<BoundLine>) -> TargetPlan {
    let spend = total(&nearest);
    TargetPlan {
        target,
        is_reached: false,
        reached: nearest.value,
        allocation: nearest,
        low: spend,
        high: spend,
        proof,
    }
}
