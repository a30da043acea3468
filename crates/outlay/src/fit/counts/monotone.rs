//! Isotonic regression of counts: the maximum-likelihood nondecreasing expected counts.

use super::log::{CountGroup, pooled};
use super::parametric::CountCurve;
use crate::Curve;
use crate::fit::{FitError, MAX_POINTS};
use crate::numeric::isotonic::pool_adjacent_violators;

/// The levels of the isotonic regression, one group per level at the mean of its spends.
pub(super) fn levels(groups: &[CountGroup]) -> Vec<CountGroup> {
    // Levels of equal means are merged, too.
    let rises = |before: &CountGroup, last: &CountGroup| {
        before.count * last.rows < last.count * before.rows
    };
    let joined = |mut before: CountGroup, last: CountGroup| {
        before.spend += (last.spend - before.spend) * (last.rows / (before.rows + last.rows));
        before.add(&last);
        before
    };
    pool_adjacent_violators(groups.iter().copied(), rises, joined)
}

/// The curve that is linear between the levels' mean spends; the volume is the highest level.
/// Without rows at zero spend nothing is completed there.
pub(super) fn curve(groups: &[CountGroup]) -> Result<CountCurve, FitError> {
    let mut levels = levels(groups);
    if levels.len() > MAX_POINTS {
        levels = self::levels(&pooled(groups, MAX_POINTS));
    }
    let volume = levels.last().map_or(0.0, CountGroup::mean);
    if !(volume > 0.0) {
        return Err(FitError::NoData);
    }
    let has_zero = groups.first().is_some_and(|group| group.spend == 0.0);
    let (mut spend, mut success) = (Vec::new(), Vec::new());
    if levels[0].spend > 0.0 {
        spend.push(0.0);
        success.push(if has_zero { levels[0].mean() / volume } else { 0.0 });
    }
    for level in &levels {
        let height = (level.mean() / volume).min(1.0);
        spend.push(level.spend);
        success.push(height.max(success.last().copied().unwrap_or(0.0)));
    }
    Ok(CountCurve { curve: Curve::piecewise(spend, success)?, volume })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::CountLog;

    #[test]
    fn decreasing_neighbours_are_merged() {
        let log = CountLog::new([(1.0, 2.0), (2.0, 6.0), (3.0, 4.0), (4.0, 8.0)]).unwrap();
        let fitted = curve(log.groups()).unwrap();
        assert_eq!(fitted.volume, 8.0);
        let means = [0.0, 1.0, 2.5, 4.0, 9.0].map(|spend| fitted.mean(spend));
        assert_eq!(means, [0.0, 2.0, 5.0, 8.0, 8.0]);
    }
}
