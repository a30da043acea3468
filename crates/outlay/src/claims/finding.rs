//! What an experiment showed: checks with numbers, the verdict that follows from them, what to draw
//! and what to tabulate.

use serde::Serialize;

use crate::simulation::Statistics;

/// How strong a verdict can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strength {
    /// The claim is about every run of a given length, and every run was checked.
    EveryRun,
    /// The claim is about growth without end or about chances, of which runs can only show a part.
    Trend,
}

/// What came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Every run was as claimed.
    Holds,
    /// What was measured is as the claim says, as far as it reaches.
    Consistent,
    /// A check failed.
    NotShown,
}

impl Verdict {
    /// What follows from the checks; nothing follows from none.
    #[must_use]
    pub fn of(strength: Strength, checks: &[Check]) -> Self {
        match strength {
            _ if checks.is_empty() || checks.iter().any(|check| !check.passed()) => Self::NotShown,
            Strength::EveryRun => Self::Holds,
            Strength::Trend => Self::Consistent,
        }
    }

    /// In words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Consistent => "consistent",
            Self::NotShown => "not shown",
        }
    }
}

/// What a number must be.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wanted {
    /// Not larger.
    AtMost(f64),
    /// Not smaller.
    AtLeast(f64),
    /// Between the two.
    Between(f64, f64),
    /// This very number.
    Exactly(f64),
}

impl Wanted {
    /// Whether a number is as wanted; what is not a number never is.
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

/// A number, and what it must be.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    /// What the number is.
    pub what: String,
    /// The number.
    pub measured: f64,
    /// What it must be.
    pub wanted: Wanted,
}

impl Check {
    pub(super) fn new(what: impl Into<String>, measured: f64, wanted: Wanted) -> Self {
        Self { what: what.into(), measured, wanted }
    }

    /// Whether it is so.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.wanted.is_met_by(self.measured)
    }
}

/// What an experiment showed.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Finding {
    /// What was checked.
    pub checks: Vec<Check>,
    /// What to draw.
    pub panels: Vec<Panel>,
    /// What was measured.
    pub table: Table,
}

/// One axis of a panel.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// What it shows.
    pub title: &'static str,
    /// Whether equal steps are equal ratios.
    pub logarithmic: bool,
}

/// Lines over a common axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    /// What it is about.
    pub heading: &'static str,
    /// How to read it.
    pub caption: String,
    /// The horizontal axis.
    pub across: Axis,
    /// The vertical axis.
    pub up: Axis,
    /// What is drawn.
    pub lines: Vec<Line>,
}

/// What a line is made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineKind {
    /// Runs.
    Measured,
    /// A model's prediction for the measured line of the same colour, which is the one before it.
    Predicted,
    /// A bound or a rate to compare with.
    Reference,
}

/// A line, with the 95 % interval of its points where there is one.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// Its name in the legend.
    pub name: String,
    /// What it is made from.
    pub kind: LineKind,
    /// Its points.
    pub points: Vec<(f64, f64)>,
    /// Intervals around them: place, lower end, upper end.
    pub intervals: Vec<(f64, f64, f64)>,
}

impl Line {
    pub(super) fn new(name: impl Into<String>, kind: LineKind, points: Vec<(f64, f64)>) -> Self {
        Self { name: name.into(), kind, points, intervals: Vec::new() }
    }

    /// Adds a mean with its interval, both divided by something.
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
    /// Rows, one value a heading.
    pub rows: Vec<Vec<Value>>,
}

/// One value of a table.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Words.
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
