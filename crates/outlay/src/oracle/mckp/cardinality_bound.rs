//! A dual bound with a second multiplier, on the number of jumps taken.
//!
//! If every jump is worth a fixed amount plus a constant per unit of spend, nearly all items have a
//! small reduced cost at the budget multiplier, and the label search cannot close the gap. But
//! every solution takes either at most `n` jumps or at least `n + 1`. In each of the two cases the
//! constraint on the number of jumps may be relaxed too, with a multiplier that is not negative in
//! the first case and not positive in the second. The larger of the two bounds
//! holds for all solutions. Any pair of multipliers proves its bound; how they are found only
//! matters for speed.

use super::items::{LpRelaxation, MckpInput, StepItems};
use crate::numeric::compensated::Sum;
use crate::oracle::tolerances::BOUND_ROUNDING;

/// The bound of a case, and the pair of multipliers that proves it.
#[derive(Debug, Clone, Copy)]
pub(in crate::oracle) struct CardinalityBound {
    /// An upper bound on the value of the solutions of the case.
    pub(in crate::oracle) bound: f64,
    pub(in crate::oracle) multiplier: f64,
    pub(in crate::oracle) count_multiplier: f64,
}

/// An item with the number of jumps up to it, and its surplus at both multipliers.
#[derive(Debug, Clone, Copy)]
pub(in crate::oracle) struct PricedItem {
    pub(in crate::oracle) item: u32,
    pub(in crate::oracle) count: u32,
    pub(in crate::oracle) surplus: f64,
}

impl CardinalityBound {
    /// Visits the items of a domain by increasing spend.
    pub(in crate::oracle) fn each_item(
        &self,
        steps: &StepItems,
        domain: usize,
        weight: f64,
        mut visit: impl FnMut(PricedItem),
    ) {
        let first = steps.vertices(domain).0[0];
        (first..steps.end(domain) as u32)
            .for_each(|item| visit(self.priced_item(steps, domain, weight, item)));
    }

    /// The surplus of one item.
    pub(in crate::oracle) fn priced_item(
        &self,
        steps: &StepItems,
        domain: usize,
        weight: f64,
        item: u32,
    ) -> PricedItem {
        let first = steps.vertices(domain).0[0];
        let (low, there, count) = (steps.item(first), steps.item(item), item - first);
        let surplus = weight * there.success
            - self.multiplier * (there.spend - low.spend)
            - self.count_multiplier * f64::from(count);
        PricedItem { item, count, surplus }
    }

    /// The item with the largest surplus, of equals the smallest.
    pub(in crate::oracle) fn best_item(
        &self,
        steps: &StepItems,
        domain: usize,
        weight: f64,
    ) -> PricedItem {
        let mut best =
            PricedItem { item: steps.vertices(domain).0[0], count: 0, surplus: f64::NEG_INFINITY };
        self.each_item(steps, domain, weight, |priced_item| {
            best = if priced_item.surplus > best.surplus { priced_item } else { best }
        });
        best
    }
}

/// The dual function at a pair of multipliers, and its subgradient.
#[derive(Debug, Clone, Copy)]
struct DualPoint {
    multiplier: f64,
    /// An upper bound on the value of the solutions of the case.
    bound: f64,
    /// Derivative in the budget multiplier: the residual budget less the demand. Derivative in the
    /// second multiplier: the limit less the count.
    slope: f64,
    count_slope: f64,
}

/// The minimum of the dual function over the budget multiplier, at one second multiplier.
#[derive(Debug, Clone, Copy)]
struct DualSection {
    count_multiplier: f64,
    /// The minimising budget multiplier.
    multiplier: f64,
    bound: f64,
    /// The derivative in the second multiplier.
    count_slope: f64,
}

/// One of the two cases: at most, or at least, `limit` jumps.
struct Case<'a> {
    steps: &'a StepItems,
    input: MckpInput<'a>,
    limit: f64,
    /// The sign of the second multiplier.
    sign: f64,
    /// A bound that need not be lowered further.
    enough: f64,
}

/// Tangents converge in ten to twenty steps; the limit guards against rounding that prevents
/// convergence.
const MAX_STEPS: usize = 60;
/// Relative accuracy of the minimum of the dual function.
const DUAL_TOLERANCE: f64 = 1e-13;
/// A number of jumps this close to a whole one is whole.
const WHOLE_COUNT: f64 = 1e-9;
/// The first relative step away from a known multiplier.
const NEAR: f64 = 1e-3;

/// Bounds on the solutions that take at most as many jumps as the relaxation, rounded down, and on
/// those that take more. They are not lowered below `enough`.
pub(in crate::oracle) fn bounds(
    steps: &StepItems,
    input: MckpInput<'_>,
    root: LpRelaxation,
    enough: f64,
) -> [CardinalityBound; 2] {
    let limit = jump_limit(steps, input, root);
    [(limit, 1.0), (limit + 1.0, -1.0)]
        .map(|(limit, sign)| Case { steps, input, limit, sign, enough }.min_reduced_cost(root))
}

/// The number of jumps of the relaxation, rounded down. Below an edge of an envelope there may be
/// several jumps.
pub(super) fn jump_limit(steps: &StepItems, input: MckpInput<'_>, root: LpRelaxation) -> f64 {
    let case = Case { steps, input, limit: 0.0, sign: 1.0, enough: f64::NEG_INFINITY };
    (WHOLE_COUNT - case.section(0.0, root.multiplier).count_slope).floor()
}

impl Case<'_> {
    /// Minimises the dual function over the second multiplier. It is convex, so the tangents from
    /// both sides meet below it.
    fn min_reduced_cost(&self, root: LpRelaxation) -> CardinalityBound {
        let mut left = self.section(0.0, root.multiplier);
        let mut best = left;
        if let Some(right) = self.other_side(&mut left, root, &mut best) {
            self.close_in(left, right, &mut best);
        }
        CardinalityBound {
            bound: best.bound,
            multiplier: best.multiplier,
            count_multiplier: best.count_multiplier,
        }
    }

    fn close_in(&self, mut left: DualSection, mut right: DualSection, best: &mut DualSection) {
        for _ in 0..MAX_STEPS {
            let meet = (left.bound - right.bound + right.count_slope * right.count_multiplier
                - left.count_slope * left.count_multiplier)
                / (right.count_slope - left.count_slope);
            let floor = left.bound + left.count_slope * (meet - left.count_multiplier);
            let is_between = (meet - left.count_multiplier) * self.sign > 0.0
                && (right.count_multiplier - meet) * self.sign > 0.0;
            if !is_between
                || floor >= best.bound - DUAL_TOLERANCE * best.bound
                || best.bound <= self.enough
            {
                return;
            }
            let is_left =
                (meet - left.count_multiplier).abs() < (right.count_multiplier - meet).abs();
            let section =
                self.section(meet, if is_left { left.multiplier } else { right.multiplier });
            *best = if section.bound < best.bound { section } else { *best };
            if section.count_slope * self.sign < 0.0 {
                left = section;
            } else {
                right = section;
            }
        }
    }

    /// A second multiplier beyond the minimum; none if the bound is low enough, or minimal, before.
    fn other_side(
        &self,
        left: &mut DualSection,
        root: LpRelaxation,
        best: &mut DualSection,
    ) -> Option<DualSection> {
        // The value of a jump: half the mean of those that are taken.
        let mut step = 0.5 * root.lp_value / self.limit.max(1.0);
        for _ in 0..MAX_STEPS {
            if !(left.count_slope * self.sign < 0.0) || best.bound <= self.enough {
                return None;
            }
            let section = self.section(left.count_multiplier + self.sign * step, left.multiplier);
            *best = if section.bound < best.bound { section } else { *best };
            if section.count_slope * self.sign >= 0.0 {
                return Some(section);
            }
            *left = section;
            step *= 2.0;
        }
        None
    }

    /// Minimises the dual function over the budget multiplier, at one second multiplier, from a
    /// guess.
    fn section(&self, count_multiplier: f64, guess: f64) -> DualSection {
        let start = self.dual_point(guess, count_multiplier);
        let mut best = start;
        let Some((mut left, mut right)) = self.bracket(start, count_multiplier, &mut best) else {
            return DualSection {
                count_multiplier,
                multiplier: best.multiplier,
                bound: best.bound,
                count_slope: best.count_slope,
            };
        };
        for _ in 0..MAX_STEPS {
            let meet = (left.bound - right.bound + right.slope * right.multiplier
                - left.slope * left.multiplier)
                / (right.slope - left.slope);
            let floor = left.bound + left.slope * (meet - left.multiplier);
            if !(meet > left.multiplier && meet < right.multiplier)
                || floor >= best.bound - DUAL_TOLERANCE * best.bound
            {
                break;
            }
            let dual_point = self.dual_point(meet, count_multiplier);
            best = if dual_point.bound < best.bound { dual_point } else { best };
            if dual_point.slope < 0.0 {
                left = dual_point;
            } else {
                right = dual_point;
            }
        }
        // The convex combination that spends exactly the residual budget has the derivative of the
        // minimum.
        let share = right.slope / (right.slope - left.slope);
        DualSection {
            count_multiplier,
            multiplier: best.multiplier,
            bound: best.bound,
            count_slope: share * left.count_slope + (1.0 - share) * right.count_slope,
        }
    }

    /// Budget multipliers on both sides of the minimum; none if all demands fit at zero.
    fn bracket(
        &self,
        start: DualPoint,
        count_multiplier: f64,
        best: &mut DualPoint,
    ) -> Option<(DualPoint, DualPoint)> {
        let (mut here, mut factor) = (start, 1.0 + NEAR);
        let is_high = start.slope >= 0.0;
        for step in 0..MAX_STEPS {
            let multiplier = match (is_high, step + 1 == MAX_STEPS || here.multiplier == 0.0) {
                (true, true) => 0.0,
                (true, false) => here.multiplier / factor,
                (false, true) => return None,
                (false, false) => here.multiplier * factor,
            };
            let next = self.dual_point(multiplier, count_multiplier);
            *best = if next.bound < best.bound { next } else { *best };
            if (next.slope >= 0.0) != is_high {
                return Some(if is_high { (next, here) } else { (here, next) });
            }
            if is_high && multiplier == 0.0 {
                return None;
            }
            here = next;
            factor *= factor;
        }
        None
    }

    /// Evaluates the dual function, raised by the rounding of its sums.
    fn dual_point(&self, multiplier: f64, count_multiplier: f64) -> DualPoint {
        let (mut surplus, mut value, mut spent, mut jumps) = (Sum::default(), 0.0, 0.0, 0.0);
        for (domain, &weight) in self.input.weights.iter().enumerate() {
            let first = self.steps.vertices(domain).0[0] as usize;
            let items = &self.steps.items()[first..self.steps.end(domain)];
            let low = items[0];
            let mut best = (weight * low.success, weight * low.success, 0.0, 0.0);
            for (count, item) in items.iter().enumerate() {
                let (gain, spend, count) =
                    (weight * item.success, item.spend - low.spend, count as f64);
                let total = gain - multiplier * spend - count_multiplier * count;
                if total > best.0 {
                    best = (total, gain, spend, count);
                }
            }
            surplus.add(best.0);
            value += best.1;
            spent += best.2;
            jumps += best.3;
        }
        let residual = self.input.residual;
        let bound = surplus.value() + multiplier * residual + count_multiplier * self.limit;
        let sizes =
            value + multiplier * (spent + residual) + count_multiplier.abs() * (jumps + self.limit);
        DualPoint {
            multiplier,
            bound: bound + BOUND_ROUNDING * sizes + multiplier * self.input.lost_units(),
            slope: residual - spent,
            count_slope: self.limit - jumps,
        }
    }
}
