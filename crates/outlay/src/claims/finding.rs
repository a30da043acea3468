//! Findings of an experiment: checks with numbers, the verdict, charts and tables.

use serde::Serialize;

use crate::names::names;
use crate::simulation::Statistics;

/// The strongest verdict that an experiment allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strength {
    /// The claim is about every run of a given length, and every run was checked.
    EveryRun,
    /// The claim is about asymptotic growth or probabilities, which runs can only support.
    Trend,
}

/// The verdict on a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Every run agrees with the claim.
    Holds,
    /// The measurements agree with the claim.
    Consistent,
    /// A check failed.
    NotShown,
}

names!(Verdict, "verdict", Holds = "holds", Consistent = "consistent", NotShown = "not shown",);

impl Verdict {
    /// The verdict that follows from the checks; "not shown" without checks.
    #[must_use]
    pub fn of(strength: Strength, checks: &[Check]) -> Self {
        match strength {
            _ if checks.is_empty() || checks.iter().any(|check| !check.passed()) => Self::NotShown,
            Strength::EveryRun => Self::Holds,
            Strength::Trend => Self::Consistent,
        }
    }
}

/// The range that a number must lie in.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wanted {
    /// At most this.
    AtMost(f64),
    /// At least this.
    AtLeast(f64),
    /// Between the two.
    Between(f64, f64),
    /// Exactly this.
    Exactly(f64),
}

impl Wanted {
    /// Whether a number is in the range; NaN never is.
    #[must_use]
    pub fn is_met_by(self, number: f64) -> bool {
        match self {
            Self::AtMost(most) => number <= most,
            Self::AtLeast(least) => number >= least,
            Self::Between(least, most) => least <= number && number <= most,
            Self::Exactly(wanted) => number == wanted,
        }
    }
}

/// A measured number with its required range.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    /// The description of the number.
    pub what: String,
    /// The number.
    pub measured: f64,
    /// The required range.
    pub wanted: Wanted,
}

impl Check {
    pub(super) fn new(what: impl Into<String>, measured: f64, wanted: Wanted) -> Self {
        Self { what: what.into(), measured, wanted }
    }

    /// Whether the number is in the range.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.wanted.is_met_by(self.measured)
    }
}

/// The findings of an experiment.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Finding {
    /// The checks.
    pub checks: Vec<Check>,
    /// The charts.
    pub panels: Vec<Panel>,
    /// The measurements.
    pub table: Table,
}

/// One axis of a panel.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// The title of the axis.
    pub title: &'static str,
    /// Whether the axis is logarithmic.
    pub logarithmic: bool,
}

/// Lines over a common axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    /// The heading.
    pub heading: &'static str,
    /// The caption.
    pub caption: String,
    /// The horizontal axis.
    pub across: Axis,
    /// The vertical axis.
    pub up: Axis,
    /// The lines.
    pub lines: Vec<Line>,
}

/// The source of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineKind {
    /// Simulated runs.
    Measured,
    /// The measured line before it in another setting; it has the same colour and another dash.
    Variant,
    /// A model's prediction for the measured line before it, which has the same colour.
    Predicted,
    /// A bound or a rate to compare with.
    Reference,
}

/// A line, with the 95 % interval of its points where there is one.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// Its name in the legend.
    pub name: String,
    /// The source of the line.
    pub kind: LineKind,
    /// Its points.
    pub points: Vec<(f64, f64)>,
    /// Intervals around them: position, lower end, upper end.
    pub intervals: Vec<(f64, f64, f64)>,
}

impl Line {
    pub(super) fn new(name: impl Into<String>, kind: LineKind, points: Vec<(f64, f64)>) -> Self {
        Self { name: name.into(), kind, points, intervals: Vec::new() }
    }

    /// Adds a mean with its interval, both divided by a number.
    pub(super) fn add(&mut self, place: f64, sample: &Statistics, divisor: f64) {
        self.points.push((place, sample.mean / divisor));
        self.intervals.extend(
            sample
                .low95
                .zip(sample.high95)
                .map(|(low, high)| (place, low / divisor, high / divisor)),
        );
    }
}

/// Rows under headings.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    /// Headings.
    pub columns: Vec<String>,
    /// Rows, with one value per heading.
    pub rows: Vec<Vec<Value>>,
}

/// One value of a table.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A text.
    Text(String),
    /// A number.
    Number(f64),
    /// A mean, and half of its 95 % interval.
    Mean(f64, f64),
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_follow_from_the_checks() {
        let good = Check::new("a", 1.0, Wanted::AtMost(1.0));
        let bad = Check::new("b", 1.0, Wanted::Between(1.5, 2.0));
        let unknown = Check::new("c", f64::NAN, Wanted::AtLeast(0.0));
        assert_eq!(Verdict::of(Strength::EveryRun, std::slice::from_ref(&good)), Verdict::Holds);
        assert_eq!(Verdict::of(Strength::Trend, std::slice::from_ref(&good)), Verdict::Consistent);
        assert_eq!(Verdict::of(Strength::EveryRun, &[good.clone(), bad]), Verdict::NotShown);
        assert_eq!(Verdict::of(Strength::Trend, &[good, unknown]), Verdict::NotShown);
        assert_eq!(Verdict::of(Strength::EveryRun, &[]), Verdict::NotShown);
    }
}
