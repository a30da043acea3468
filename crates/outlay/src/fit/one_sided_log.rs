//! Logs with only failures or only successes. Their maximum-likelihood curve is flat and useless,
//! so the guess counts half an event of the missing kind.

use super::observations::Observations;
use super::{FitError, Fitted, Kind, Warning};
use crate::Curve;
use crate::curve::AMOUNT_RANGE;

/// A guess, if the log has only successes or only failures.
pub(super) fn guess(log: &Observations) -> Result<Option<Fitted>, FitError> {
    let (trials, successes) = (log.trials(), log.successes());
    let (curve, warning) = if successes == 0.0 {
        (nothing_succeeded(log)?, Warning::OnlyFailures { trials })
    } else if successes == trials {
        (nothing_failed(log)?, Warning::OnlySuccesses { trials })
    } else {
        return Ok(None);
    };
    Ok(Some(Fitted {
        curve,
        kind: Kind::Guess,
        parameters: Vec::new(),
        log_loss: None,
        constant_log_loss: None,
        calibration: None,
        candidates: Vec::new(),
        warnings: vec![warning],
        counts: None,
    }))
}

/// The exponential curve under which the log has half an expected success.
pub(super) fn nothing_succeeded(log: &Observations) -> Result<Curve, FitError> {
    const HALF: f64 = 0.5;
    let (_, largest) = log.range().ok_or(FitError::NoData)?;
    let Some(least) = log.groups().iter().map(|group| group.spend).find(|&spend| spend > 0.0)
    else {
        return Ok(Curve::steps(vec![0.0], vec![HALF / (log.trials() + 1.0)])?);
    };
    let expected = |log_scale: f64| -> f64 {
        log.groups()
            .iter()
            .map(|group| -group.trials * (-(group.spend.ln() - log_scale).exp()).exp_m1())
            .sum()
    };
    // At the lower end nearly every trial with a spend succeeds, at the upper end none.
    let (mut low, mut high) = (least.ln() - 10.0, largest.ln() + log.trials().ln() + 3.0);
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if expected(middle) > HALF { low = middle } else { high = middle }
    }
    Ok(Curve::exponential(
        (0.5 * (low + high)).exp().clamp(*AMOUNT_RANGE.start(), *AMOUNT_RANGE.end()),
    )?)
}

/// A linear curve up to the smallest spend, with the success that half a failure more would give.
pub(super) fn nothing_failed(log: &Observations) -> Result<Curve, FitError> {
    let (least, _) = log.range().ok_or(FitError::NoData)?;
    let share = log.trials() / (log.trials() + 0.5);
    if least == 0.0 {
        return Ok(Curve::steps(vec![0.0], vec![share])?);
    }
    Ok(Curve::saturating(least)?.with_ceiling(share)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_failures_expect_half_a_success() {
        for (spends, count) in
            [([1.0, 2.0, 3.0], 1.0), ([0.0, 5.0, 900.0], 4.0), ([1e-6, 1e-3, 1e6], 1000.0)]
        {
            let log = Observations::new(spends.map(|spend| (spend, count, 0.0))).unwrap();
            let curve = nothing_succeeded(&log).unwrap();
            let expected: f64 = spends.iter().map(|&spend| count * curve.success(spend)).sum();
            assert!((expected - 0.5).abs() < 1e-9, "{expected}");
        }
        let log = Observations::new([(0.0, 9.0, 0.0)]).unwrap();
        assert_eq!(nothing_succeeded(&log).unwrap().success(0.0), 0.05);
    }

    #[test]
    fn only_successes_are_linear_below_the_smallest_spend() {
        let log = Observations::new([(10.0, 4.0, 4.0), (20.0, 3.0, 3.0)]).unwrap();
        let curve = nothing_failed(&log).unwrap();
        assert!(
            (curve.success(10.0) - 7.0 / 7.5).abs() < 1e-12
                && (curve.success(5.0) - 3.5 / 7.5).abs() < 1e-12
        );
    }
}
