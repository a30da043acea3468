//! The largest spend that still has a given return.
//!
//! The return on spend V(s)/s need not fall with `s`: with S-curves it can rise again. So the search
//! walks down from the largest spend that could have the return. Each solved budget excludes an
//! interval below it by its lines: a line above V that is below `r s` there.

use super::{BoundLine, Search, TARGET_WIDTH, Target, TargetError, TargetPlan, total};
use crate::oracle::Allocation;

/// A step below this share of the budget is none.
const SMALLEST_STEP: f64 = 1e-12;
/// The largest number of steps of Dinkelbach's method, which converges quadratically.
const MAX_STEPS: usize = 200;
/// The price of a line exceeds a return by this share.
const LINE_MARGIN: f64 = 1e-9;

impl Search<'_> {
    /// The largest spend with at least `least` per unit.
    pub(super) fn largest_spend(
        &mut self,
        target: Target,
        least: f64,
    ) -> Result<TargetPlan, TargetError> {
        let supremum = self.supremum();
        let most = supremum.upper_bound / least;
        let cap = self.limit.unwrap_or(f64::INFINITY).min(most).max(self.needed);
        let best = self.best_return(least, f64::INFINITY)?;
        let ratio = return_of(&best);
        if ratio < least {
            // Above this line no split returns more than `ratio`.
            let line = self.line(cap, ratio * (1.0 + LINE_MARGIN));
            return self.missed(target, least, vec![supremum, line]);
        }
        let (mut proof, mut high, mut budget) = (vec![supremum], cap, cap);
        let mut step = 0.25 * TARGET_WIDTH;
        while self.may_solve() {
            let found = self.solve(budget)?;
            let (line, below) = excluded(&self.lines(&found), least);
            // Spends between an undecided budget and this one are not excluded.
            if high <= budget && below < budget {
                proof.push(line);
                high = below;
            }
            let spend = total(&found);
            if spend > 0.0 && found.value >= least * spend {
                return Ok(reached(target, found, high, proof));
            }
            if budget <= self.needed || spend == 0.0 {
                break;
            }
            if below < budget * (1.0 - SMALLEST_STEP) {
                budget = below.max(self.needed);
            } else {
                // The gap hides the answer: the bracket stays open above.
                budget = (budget * (1.0 - step)).max(self.needed);
                step = (2.0 * step).min(0.5);
            }
        }
        if self.limit.is_none_or(|limit| total(&best) <= limit) {
            return Ok(reached(target, best, high, proof));
        }
        let proof = if high <= self.needed { proof } else { Vec::new() };
        self.missed(target, least, proof)
    }

    /// The split with the largest return, by Dinkelbach's method, among those that spend at most
    /// `most`; or the first one found that returns at least `enough`.
    fn best_return(&mut self, enough: f64, most: f64) -> Result<Allocation, TargetError> {
        let mut price = enough;
        let mut best = None;
        for _ in 0..MAX_STEPS {
            let spend = self.demands(price);
            let found = self.allocation_of(&spend, price);
            let ratio = return_of(&found);
            if !(total(&found) <= most) {
                break;
            }
            let is_better = best.as_ref().is_none_or(|best| ratio > return_of(best));
            if ratio > 0.0 && ratio.is_finite() && is_better {
                best = Some(found);
                price = ratio;
                if ratio >= enough {
                    break;
                }
            } else if best.is_none() {
                // Nothing returns as much, so ask for less.
                price *= 0.5;
            } else {
                break;
            }
        }
        match best {
            Some(best) => Ok(best),
            None => Ok(self.solve(most.min(self.problem.budget()).max(self.needed))?),
        }
    }

    /// The split with the largest return within the limit, which is not that of the target.
    fn missed(
        &mut self,
        target: Target,
        least: f64,
        proof: Vec<BoundLine>,
    ) -> Result<TargetPlan, TargetError> {
        let allocation = self.best_return(least, self.limit.unwrap_or(f64::INFINITY))?;
        let low = total(&allocation);
        let reached = in_unit_of(target, return_of(&allocation));
        Ok(TargetPlan { target, is_reached: false, reached, allocation, low, high: low, proof })
    }
}

fn reached(target: Target, allocation: Allocation, high: f64, proof: Vec<BoundLine>) -> TargetPlan {
    let (low, reached) = (total(&allocation), in_unit_of(target, return_of(&allocation)));
    TargetPlan { target, is_reached: true, reached, allocation, low, high: high.max(low), proof }
}

/// The value per unit of spend; NaN or infinite without spend.
fn return_of(allocation: &Allocation) -> f64 {
    allocation.value / total(allocation)
}

/// The line that excludes most spends below its budget, and the largest spend that it does not.
fn excluded(lines: &[BoundLine; 2], least: f64) -> (BoundLine, f64) {
    let below = |line: &BoundLine| {
        let intercept = line.upper_bound - line.price * line.budget;
        if line.price == 0.0 {
            line.upper_bound / least
        } else if line.price < least && line.price.is_finite() {
            intercept / (least - line.price)
        } else {
            f64::INFINITY
        }
    };
    let [flat, sloped] = lines;
    let (line, below) =
        if below(sloped) < below(flat) { (sloped, below(sloped)) } else { (flat, below(flat)) };
    (*line, below.max(0.0))
}

/// The return in the unit of the target.
fn in_unit_of(target: Target, ratio: f64) -> f64 {
    match target {
        Target::CostPerCompletion(_) => 1.0 / ratio,
        _ => ratio,
    }
}
