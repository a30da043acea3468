//! Items at a pair of multipliers: the reference item of each task, reduced costs and the dual
//! bound.

use super::items::Choices;
use super::remainder::Remainder;
use crate::numeric::compensated::Sum;
use crate::oracle::tolerances::BOUND_ROUNDING;

/// A multiplier of spend, and one of the number of funded tasks with the limit on that number. The
/// second one is zero if the number is not limited, not negative for "at most", and not positive
/// for "at least".
#[derive(Debug, Clone, Copy)]
pub(super) struct Multipliers {
    pub(super) spend: f64,
    pub(super) count: f64,
    pub(super) limit: f64,
}

/// The dual function at a pair of multipliers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Priced {
    pub(super) multipliers: Multipliers,
    /// An upper bound on the value of all solutions within the limit.
    pub(super) bound: f64,
    /// The largest surplus of the remainder, and a penalty that every remainder has, by which the
    /// bound is lowered.
    pub(super) remainder: f64,
    pub(super) least_penalty: f64,
    /// Spend in units, value and funded tasks of the reference items.
    pub(super) units: i64,
    pub(super) value: f64,
    pub(super) count: f64,
    /// The spend of the reference items and of the remainder.
    pub(super) demand: f64,
}

/// Surpluses that differ by less than this share of the value are equal.
const EQUAL: f64 = 1e-12;

impl Choices {
    /// The surplus of an item.
    pub(super) fn surplus(&self, item: u32, at: Multipliers) -> f64 {
        let item = self.items[item as usize];
        item.value
            - at.spend * (item.units as f64 / self.per_spend)
            - at.count * f64::from(item.count)
    }

    /// Exchanges reference items for those of `preferred` that have the same surplus, up to the
    /// accuracy of the multipliers, and corrects the spend, value and count of all.
    pub(super) fn prefer(&self, preferred: &[u32], reference: &mut [u32], priced: &mut Priced) {
        let at = priced.multipliers;
        let mut value = Sum::default();
        value.add(self.constant);
        (priced.units, priced.count) = (0, 0.0);
        for (reference, &preferred) in reference.iter_mut().zip(preferred) {
            let value_of = |item: u32| self.items[item as usize].value;
            let size = value_of(*reference).max(value_of(preferred));
            if self.surplus(*reference, at) - self.surplus(preferred, at) <= EQUAL * size {
                *reference = preferred;
            }
            let item = self.items[*reference as usize];
            value.add(item.value);
            priced.units = priced.units.saturating_add(item.units);
            priced.count += f64::from(item.count);
        }
        priced.value = value.value();
    }

    /// Evaluates the dual function, raised by the rounding of its sums. The item with the largest
    /// surplus of each task, of equals the first, is its reference.
    pub(super) fn price(
        &self,
        at: Multipliers,
        remainder: &Remainder,
        residual: f64,
        reference: &mut Vec<u32>,
    ) -> Priced {
        reference.clear();
        let (mut surplus, mut value) = (Sum::default(), Sum::default());
        let (mut units, mut count) = (0i64, 0.0);
        for choice in &self.choices {
            let mut best = (choice.first, f64::NEG_INFINITY);
            for item in choice.first..choice.last {
                let surplus = self.surplus(item, at);
                best = if surplus > best.1 { (item, surplus) } else { best };
            }
            let item = self.items[best.0 as usize];
            reference.push(best.0);
            surplus.add(best.1);
            value.add(item.value);
            units = units.saturating_add(item.units);
            count += f64::from(item.count);
        }
        let (budget, most) = remainder.best_surplus(at.spend);
        let (surplus, value) = (surplus.value(), value.value() + self.constant);
        let spent = units as f64 / self.per_spend;
        let bound = surplus + self.constant + most + at.spend * residual + at.count * at.limit;
        let sizes = value
            + most.abs()
            + at.spend * (spent + residual + budget)
            + at.count.abs() * (count + at.limit);
        Priced {
            multipliers: at,
            bound: bound + BOUND_ROUNDING * sizes,
            remainder: most,
            least_penalty: 0.0,
            units,
            value,
            count,
            demand: spent + budget,
        }
    }
}
