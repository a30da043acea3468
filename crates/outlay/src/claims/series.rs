//! Mean regrets over the horizons of a claim's experiments, one horizon per experiment.

use super::Evidence;
use super::evidence::half;
use super::finding::{Axis, Line, LineKind, Value};

/// The axis of most panels.
pub(super) const HORIZONS: Axis = Axis { title: "horizon T", logarithmic: true };

/// The horizon of each experiment.
pub(super) fn horizons(evidence: &Evidence<'_>) -> Vec<f64> {
    evidence
        .experiments
        .iter()
        .filter_map(|experiment| experiment.cases.first())
        .map(|case| case.horizon as f64)
        .collect()
}

/// The mean regret of a learner on a case at each horizon, divided by a function of the horizon.
pub(super) fn line(
    evidence: &Evidence<'_>,
    name: &str,
    case: usize,
    learner: usize,
    divisor: impl Fn(f64) -> f64,
) -> Line {
    let mut line = Line::new(name, LineKind::Measured, Vec::new());
    for (position, horizon) in horizons(evidence).into_iter().enumerate() {
        line.add(horizon, &evidence.regret(position, case, learner), divisor(horizon));
    }
    line
}

/// The lines of one learner in several settings: the first is measured, the others are its variants.
pub(super) fn with_variants(lines: impl IntoIterator<Item = Line>) -> Vec<Line> {
    let mut lines: Vec<Line> = lines.into_iter().collect();
    lines.iter_mut().skip(1).for_each(|line| line.kind = LineKind::Variant);
    lines
}

/// A whole number with thousands separators, as tables print it.
pub(super) fn grouped(number: f64) -> String {
    let digits = format!("{number:.0}");
    let groups = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy);
    groups.collect::<Vec<_>>().join(",")
}

/// A horizontal line from the first horizon to the last.
pub(super) fn level(evidence: &Evidence<'_>, name: &str, height: f64) -> Line {
    let horizons = horizons(evidence);
    let ends = horizons.first().into_iter().chain(horizons.last());
    Line::new(name, LineKind::Reference, ends.map(|&horizon| (horizon, height)).collect())
}

/// The mean regret of one experiment as a value of a table.
pub(super) fn mean(
    evidence: &Evidence<'_>,
    experiment: usize,
    case: usize,
    learner: usize,
) -> Value {
    let regret = evidence.regret(experiment, case, learner);
    Value::Mean(regret.mean, half(&regret))
}

/// `d log R / d log T` between neighbouring points, at their geometric middle.
pub(super) fn exponents(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let between = |pair: &[(f64, f64)]| {
        let [(from, low), (to, high)] = [pair[0], pair[1]];
        ((from * to).sqrt(), (high / low).ln() / (to / from).ln())
    };
    points.windows(2).map(between).collect()
}

/// The exponent from the first point to the last.
pub(super) fn exponent(points: &[(f64, f64)]) -> f64 {
    match points {
        [first, .., last] => exponents(&[*first, *last])[0].1,
        _ => f64::NAN,
    }
}

/// The largest of the numbers; NaN if one of them is NaN or there are none.
pub(super) fn largest(numbers: impl IntoIterator<Item = f64>) -> f64 {
    numbers
        .into_iter()
        .reduce(|one, other| if one.is_nan() || other.is_nan() { f64::NAN } else { one.max(other) })
        .unwrap_or(f64::NAN)
}

/// The smallest of the numbers; NaN if one of them is NaN or there are none.
pub(super) fn smallest(numbers: impl IntoIterator<Item = f64>) -> f64 {
    -largest(numbers.into_iter().map(|number| -number))
}

/// The largest over the smallest.
pub(super) fn spread(points: &[(f64, f64)]) -> f64 {
    let values = || points.iter().map(|point| point.1);
    largest(values()) / smallest(values())
}
