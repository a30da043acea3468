//! Right-continuous step functions of any height, and isotonic pools of noisy rows.

use crate::curve::{Curve, CurveError, jumps_reached};
use crate::numeric::isotonic::pool_adjacent_violators;

/// `height[i]` from spend `at[i]` on, zero before the first.
#[derive(Debug, Clone, PartialEq)]
pub struct StepFunction {
    at: Vec<f64>,
    height: Vec<f64>,
}

impl StepFunction {
    /// Builds from steps by increasing spend.
    pub(super) fn new(steps: impl Iterator<Item = (f64, f64)>) -> Self {
        let (at, height) = steps.unzip();
        Self { at, height }
    }

    /// The sum of the parts up to a spend, divided by `whole`; parts are `(spend, part)` in any
    /// order. The parts must be integers, so that sums are exact.
    pub(super) fn adding_up(mut parts: Vec<(f64, f64)>, whole: f64) -> Self {
        parts.sort_by(|one, other| one.0.total_cmp(&other.0));
        let mut step_function = Self { at: Vec::new(), height: Vec::new() };
        let mut total = 0.0;
        for (at, part) in parts {
            total += part;
            if step_function.at.last() == Some(&at) {
                step_function.height.pop();
            } else {
                step_function.at.push(at);
            }
            step_function.height.push(total / whole);
        }
        step_function
    }

    /// The function with spends multiplied by one number and heights by another.
    pub(super) fn scaled(&self, spend: f64, height: f64) -> Self {
        Self {
            at: self.at.iter().map(|at| at * spend).collect(),
            height: self.height.iter().map(|one| one * height).collect(),
        }
    }

    /// The spends of the jumps.
    #[must_use]
    pub fn at(&self) -> &[f64] {
        &self.at
    }

    /// The height from each jump on.
    #[must_use]
    pub fn heights(&self) -> &[f64] {
        &self.height
    }

    /// The height at a spend, with the jump tolerance of curves.
    #[must_use]
    pub fn value(&self, spend: f64) -> f64 {
        jumps_reached(&self.at, spend).checked_sub(1).map_or(0.0, |last| self.height[last])
    }

    /// As a curve that ends at 1, with its largest height. Where the function decreases, the curve
    /// stays constant.
    pub(super) fn curve(&self) -> Result<(Curve, f64), CurveError> {
        let most = self.height.iter().copied().fold(0.0, f64::max);
        if most <= 0.0 {
            return Ok((Curve::threshold(0.0)?, 0.0));
        }
        let (mut at, mut success, mut reached) = (Vec::new(), Vec::new(), 0.0);
        for (&spend, &height) in self.at.iter().zip(&self.height) {
            if height > reached {
                reached = height;
                if at.last() == Some(&spend) {
                    // Scaling has rounded two jumps to the same spend.
                    at.pop();
                    success.pop();
                }
                at.push(spend);
                success.push(height / most);
            }
        }
        Ok((Curve::steps(at, success)?, most))
    }
}

/// Pools of the rows `(spend, amount)` with increasing mean amounts: isotonic least squares. Each
/// pool has its smallest spend and its rows in their order.
pub(super) fn isotonic_pools(rows: &[(f64, u64)]) -> Vec<(f64, Vec<usize>)> {
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by(|&one, &other| rows[one].0.total_cmp(&rows[other].0));
    // Spend, amounts, rows.
    let mut pools: Vec<(f64, u128, Vec<usize>)> = Vec::new();
    for row in order {
        let (spend, amount) = rows[row];
        match pools.last_mut() {
            Some(last) if last.0 == spend => {
                last.1 += u128::from(amount);
                last.2.push(row);
            }
            _ => pools.push((spend, u128::from(amount), vec![row])),
        }
    }
    type Pool = (f64, u128, Vec<usize>);
    // Integers compare exactly.
    let rises = |before: &Pool, pool: &Pool| {
        before.1 * (pool.2.len() as u128) < pool.1 * before.2.len() as u128
    };
    let joined = |(spend, amount, mut rows): Pool, pool: Pool| {
        rows.extend(pool.2);
        (spend, amount + pool.1, rows)
    };
    let rising = pool_adjacent_violators(pools.into_iter(), rises, joined);
    let in_order = |(spend, _, mut rows): (f64, u128, Vec<usize>)| {
        rows.sort_unstable();
        (spend, rows)
    };
    rising.into_iter().map(in_order).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up_by_rising_spend() {
        let step_function = StepFunction::adding_up(vec![(3.0, 2.0), (1.0, 1.0), (3.0, 1.0)], 8.0);
        assert_eq!(
            (step_function.at(), step_function.heights()),
            (&[1.0, 3.0][..], &[0.125, 0.5][..])
        );
        assert_eq!(
            [0.5, 1.0, 2.9, 3.0, 9.0].map(|spend| step_function.value(spend)),
            [0.0, 0.125, 0.125, 0.5, 0.5]
        );
        let (curve, most) = step_function.curve().unwrap();
        assert_eq!((curve.success(1.0), curve.success(3.0), most), (0.25, 1.0, 0.5));
    }

    #[test]
    fn pools_rise_and_lose_nothing() {
        // Means by spend: 2, then 3 and 1 against the order, then 5.
        let rows = [(4.0, 5), (2.0, 3), (1.0, 2), (3.0, 1), (2.0, 3)];
        assert_eq!(isotonic_pools(&rows), [(1.0, vec![2]), (2.0, vec![1, 3, 4]), (4.0, vec![0])]);
        assert_eq!(isotonic_pools(&[(1.0, 4), (2.0, 3), (3.0, 2)]), [(1.0, vec![0, 1, 2])]);
        assert_eq!(isotonic_pools(&[]), []);
    }

    #[test]
    fn a_zero_function_has_value_zero() {
        let (_, most) = StepFunction::adding_up(vec![(1.0, 0.0)], 1.0).curve().unwrap();
        assert_eq!(most, 0.0);
        assert_eq!(StepFunction::new(std::iter::empty()).value(1.0), 0.0);
    }
}
