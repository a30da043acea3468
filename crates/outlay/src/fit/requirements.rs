//! Requirements: the spends that success would have needed, such as closing prices or running
//! times, some of them right-censored. Their distribution function (Kaplan–Meier) is the curve.

use super::{FitError, MAX_POINTS, Parameter};
use crate::Curve;

/// All rows of one amount.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Requirement {
    /// The amount.
    pub amount: f64,
    /// The number of rows that required exactly this amount.
    pub exact: f64,
    /// The number of rows that required more than this amount (right-censored).
    pub censored: f64,
}

/// The requirements of one task.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Requirements {
    requirements: Vec<Requirement>,
}

/// A jump of the distribution function.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Jump {
    pub(super) at: f64,
    /// The share of rows that require at most this amount.
    pub(super) height: f64,
    /// Greenwood's sum: the variance of the logarithm of the share that requires more.
    greenwood: f64,
}

impl Requirements {
    /// Builds from rows of an amount and whether it is exact. An inexact amount is right-censored.
    ///
    /// # Errors
    /// If an amount is negative or not finite.
    pub fn new(rows: impl IntoIterator<Item = (f64, bool)>) -> Result<Self, FitError> {
        let mut requirements = Vec::new();
        for (row, (amount, exact)) in rows.into_iter().enumerate() {
            if !(amount >= 0.0 && amount.is_finite()) {
                return Err(FitError::Amount { row, amount });
            }
            let exact = f64::from(u8::from(exact));
            requirements.push(Requirement { amount: amount + 0.0, exact, censored: 1.0 - exact });
        }
        requirements.sort_unstable_by(|one, other| one.amount.total_cmp(&other.amount));
        requirements.dedup_by(|next, kept| {
            let same = next.amount == kept.amount;
            if same {
                kept.exact += next.exact;
                kept.censored += next.censored;
            }
            same
        });
        Ok(Self { requirements })
    }

    /// The same amounts with other counts.
    pub(super) fn reweighted(&self, mut counts: impl FnMut(&Requirement) -> (f64, f64)) -> Self {
        let requirements = self.requirements.iter().map(|requirement| {
            let (exact, censored) = counts(requirement);
            Requirement { amount: requirement.amount, exact, censored }
        });
        Self {
            requirements: requirements
                .filter(|requirement| requirement.exact + requirement.censored > 0.0)
                .collect(),
        }
    }

    /// One entry per distinct amount, increasing.
    #[must_use]
    pub fn requirements(&self) -> &[Requirement] {
        &self.requirements
    }

    /// The number of rows.
    #[must_use]
    pub fn count(&self) -> f64 {
        self.requirements.iter().map(|requirement| requirement.exact + requirement.censored).sum()
    }

    /// The number of exact rows.
    #[must_use]
    pub fn exact(&self) -> f64 {
        self.requirements.iter().map(|requirement| requirement.exact).sum()
    }

    /// The largest amount.
    #[must_use]
    pub fn largest(&self) -> Option<f64> {
        self.requirements.last().map(|requirement| requirement.amount)
    }

    /// Whether the largest amount is censored, so that the end of the curve is unknown.
    #[must_use]
    pub fn ends_censored(&self) -> bool {
        self.requirements.last().is_some_and(|requirement| requirement.censored > 0.0)
    }

    /// The distribution function. Rows censored at an amount are at risk there.
    pub(super) fn jumps(&self) -> Vec<Jump> {
        let (mut at_risk, mut left, mut greenwood) = (self.count(), 1.0, 0.0);
        let mut jumps = Vec::new();
        for requirement in &self.requirements {
            if requirement.exact > 0.0 {
                let more = (at_risk - requirement.exact).max(0.0);
                left *= more / at_risk;
                greenwood +=
                    if more > 0.0 { requirement.exact / (at_risk * more) } else { f64::INFINITY };
                let before = jumps.last().map_or(0.0, |jump: &Jump| jump.height);
                jumps.push(Jump {
                    at: requirement.amount,
                    height: (1.0_f64 - left).max(before).min(1.0),
                    greenwood,
                });
            }
            at_risk -= requirement.exact + requirement.censored;
        }
        jumps
    }

    /// The samples themselves if all are exact, else steps, thinned if there are too many jumps.
    pub(super) fn curve(&self) -> Result<Curve, FitError> {
        let censored = self.requirements.iter().any(|requirement| requirement.censored > 0.0);
        let count = self.count();
        if !censored && count <= MAX_POINTS as f64 {
            let samples = self.requirements.iter().flat_map(|requirement| {
                std::iter::repeat_n(requirement.amount, requirement.exact.round() as usize)
            });
            return Ok(Curve::empirical(samples.collect())?);
        }
        let jumps = thinned(self.jumps());
        Ok(Curve::steps(
            jumps.iter().map(|jump| jump.at).collect(),
            jumps.iter().map(|jump| jump.height).collect(),
        )?)
    }

    /// The median requirement with its interval.
    pub(super) fn median(&self) -> Option<Parameter> {
        let jumps = self.jumps();
        let value = jumps.iter().find(|jump| jump.height >= 0.5)?.at;
        // Amounts at which one half is within the interval of the share (Brookmeyer and Crowley).
        let inside = |jump: &&Jump| {
            let (low, high) = jump.interval();
            low <= 0.5 && high >= 0.5
        };
        let low = jumps.iter().find(inside).map_or(value, |jump| jump.at);
        let after = jumps.iter().find(|jump| jump.interval().0 > 0.5).map(|jump| jump.at);
        Some(Parameter { name: "median", value, low: Some(low.min(value)), high: after })
    }
}

impl Jump {
    /// The 95 % interval of the height, by Greenwood's variance on the scale of log(-log), which
    /// stays within 0 and 1.
    pub(super) fn interval(&self) -> (f64, f64) {
        const NORMAL: f64 = 1.959_963_984_540_054;
        let left = 1.0 - self.height;
        if left <= 0.0 || left >= 1.0 || !self.greenwood.is_finite() {
            return (self.height, self.height);
        }
        let error = NORMAL * self.greenwood.sqrt() / left.ln().abs();
        (1.0 - left.powf((-error).exp()), 1.0 - left.powf(error.exp()))
    }
}

/// At most [`MAX_POINTS`] jumps: the last of each interval of equal height, so that the curve is
/// never above the full one.
fn thinned(jumps: Vec<Jump>) -> Vec<Jump> {
    if jumps.len() <= MAX_POINTS {
        return jumps;
    }
    let top = jumps.last().map_or(1.0, |jump| jump.height);
    let stretch = |jump: &Jump| ((jump.height / top) * (MAX_POINTS - 1) as f64).floor();
    let mut kept: Vec<Jump> = Vec::with_capacity(MAX_POINTS);
    for jump in jumps {
        if kept.last().is_some_and(|last| stretch(last) == stretch(&jump)) {
            kept.pop();
        }
        kept.push(jump);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Remission times of the 21 patients on 6-MP (Freireich et al. 1963), the example of most
    /// textbooks.
    #[test]
    fn kaplan_meier_matches_the_textbook() {
        let exact = [6.0, 6.0, 6.0, 7.0, 10.0, 13.0, 16.0, 22.0, 23.0].map(|time| (time, true));
        let censored = [6.0, 9.0, 10.0, 11.0, 17.0, 19.0, 20.0, 25.0, 32.0, 32.0, 34.0, 35.0]
            .map(|time| (time, false));
        let requirements = Requirements::new(exact.into_iter().chain(censored)).unwrap();
        let survival: Vec<(f64, f64)> =
            requirements.jumps().iter().map(|jump| (jump.at, 1.0 - jump.height)).collect();
        let book = [
            (6.0, 0.8571),
            (7.0, 0.8067),
            (10.0, 0.7529),
            (13.0, 0.6902),
            (16.0, 0.6275),
            (22.0, 0.5378),
            (23.0, 0.4482),
        ];
        assert_eq!(survival.len(), book.len());
        for ((at, found), (book_at, share)) in survival.into_iter().zip(book) {
            assert!(at == book_at && (found - share).abs() < 5e-5, "{at}: {found} {share}");
        }
        // Greenwood's standard errors of the same table.
        let errors = [0.0764, 0.0869, 0.0963, 0.1068, 0.1141, 0.1282, 0.1346];
        for (jump, error) in requirements.jumps().iter().zip(errors) {
            assert!(((1.0 - jump.height) * jump.greenwood.sqrt() - error).abs() < 5e-5, "{jump:?}");
        }
        let curve = requirements.curve().unwrap();
        assert!((curve.success(1000.0) - 0.5518).abs() < 5e-5 && requirements.ends_censored());
        assert_eq!(
            requirements.median().map(|median| (median.value, median.high)),
            Some((23.0, None))
        );
    }

    #[test]
    fn without_censoring_it_is_the_share_of_samples() {
        let requirements =
            Requirements::new([3.0, 1.0, 2.0, 2.0].map(|amount| (amount, true))).unwrap();
        assert_eq!(
            requirements.curve().unwrap(),
            Curve::empirical(vec![1.0, 2.0, 2.0, 3.0]).unwrap()
        );
        let heights: Vec<f64> = requirements.jumps().iter().map(|jump| jump.height).collect();
        assert_eq!(heights, [0.25, 0.75, 1.0]);
    }

    #[test]
    fn many_samples_are_thinned_to_a_curve_that_is_never_higher() {
        let requirements =
            Requirements::new((0..20_000).map(|row| (f64::from(row).sqrt(), row % 7 != 0)))
                .unwrap();
        let curve = requirements.curve().unwrap();
        let jumps = requirements.jumps();
        for jump in &jumps {
            let thin = curve.success(jump.at);
            assert!(
                thin <= jump.height + 1e-12 && thin >= jump.height - 2.0 / MAX_POINTS as f64,
                "{jump:?} {thin}"
            );
        }
    }
}
