//! Commensurable costs: if all spends are multiples of one unit, so is every total.
//!
//! A budget that is not a multiple of the unit can then be lowered to the largest multiple below
//! it. With even costs and an odd budget, for example, no solution spends the last unit, but every
//! relaxation does. The unit is the greatest common divisor of the spends as binary fractions,
//! computed in integers.

/// A positive number as an integer times a power of two.
#[derive(Debug, Clone, Copy)]
struct Binary {
    mantissa: u128,
    exponent: i32,
}

/// A budget this close to a multiple of the unit is left alone.
const TOLERANCE: f64 = 1.0 / (1u64 << 40) as f64;
/// A smaller unit than this share of the budget is no larger than a few tolerances.
const MIN_UNIT: f64 = 1.0 / (1u64 << 36) as f64;

/// The largest total of spends that a budget can have, if all spends are multiples of a common unit
/// and it is noticeably less than the budget.
pub(super) fn reachable(spends: impl Iterator<Item = f64>, budget: f64) -> Option<f64> {
    let unit = common_unit(spends, budget)?;
    let count = (budget / unit * (1.0 + TOLERANCE)).floor();
    // The product rounded up: the spends themselves must still fit.
    let rounded = count * unit;
    let total = if count.mul_add(unit, -rounded) > 0.0 { rounded.next_up() } else { rounded };
    (total > 0.0 && total < budget * (1.0 - 2.0 * TOLERANCE)).then_some(total)
}

/// The largest unit of which all spends are multiples, unless it is tiny next to the budget.
pub(in crate::oracle) fn common_unit(
    spends: impl Iterator<Item = f64>,
    budget: f64,
) -> Option<f64> {
    let mut unit: Option<Binary> = None;
    for spend in spends.filter(|spend| *spend > 0.0) {
        let spend = Binary::new(spend)?;
        let common = unit.map_or(Some(spend), |unit| unit.common_divisor(spend))?;
        if common.value() < MIN_UNIT * budget {
            return None;
        }
        unit = Some(common);
    }
    unit.map(Binary::value)
}

impl Binary {
    /// None unless the number is normal.
    fn new(number: f64) -> Option<Self> {
        if !number.is_normal() {
            return None;
        }
        let bits = number.to_bits();
        let mantissa = bits & ((1 << 52) - 1) | (1 << 52);
        let exponent = ((bits >> 52) & 0x7ff) as i32 - 1075;
        Some(Self { mantissa: mantissa.into(), exponent }.reduced())
    }

    fn reduced(self) -> Self {
        let zeros = self.mantissa.trailing_zeros();
        Self { mantissa: self.mantissa >> zeros, exponent: self.exponent + zeros as i32 }
    }

    /// The largest number of which both are multiples; none if the numbers are too far apart.
    fn common_divisor(self, other: Self) -> Option<Self> {
        let exponent = self.exponent.min(other.exponent);
        // Mantissas have at most 53 bits.
        let aligned = |number: Self| {
            let shift = number.exponent - exponent;
            (shift <= 70).then(|| number.mantissa << shift)
        };
        let (mut a, mut b) = (aligned(self)?, aligned(other)?);
        while b > 0 {
            (a, b) = (b, a % b);
        }
        Some(Self { mantissa: a, exponent }.reduced())
    }

    fn value(self) -> f64 {
        self.mantissa as f64 * 2f64.powi(self.exponent)
    }
}

#[cfg(test)]
mod tests {
    use super::reachable;

    #[test]
    fn a_budget_is_lowered_to_a_multiple_of_the_unit() {
        for (spends, budget, expected) in [
            (&[4.0, 6.0, 10.0][..], 31.0, Some(30.0)),
            (&[4.0, 6.0, 10.0], 30.0, None),
            (&[0.75, 1.5], 4.0, Some(3.75)),
            (&[3.0, 5.0], 31.5, Some(31.0)),
            (&[8.0], 7.0, None),
            (&[0.0, 8.0], 9.0, Some(8.0)),
            // Multiples up to rounding, but not in binary.
            (&[0.1, 0.2, 0.3], 1.05, None),
            // The sum of these fits up to rounding.
            (&[2.0], 4.0 - 1e-12, None),
            (&[1.0, 1e-300], 1.5, None),
            (&[], 1.0, None),
            (&[f64::MAX, f64::MAX / 2.0], f64::MAX, None),
        ] {
            let found = reachable(spends.iter().copied(), budget);
            assert_eq!(found, expected, "{spends:?} with {budget}");
        }
    }
}
