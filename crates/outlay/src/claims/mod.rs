//! The claims of the paper, and our own about the learners that go beyond it, as experiments with
//! verdicts.
//!
//! A [`Claim`] says what to play ([`Claim::experiments`]) and judges what came out
//! ([`Claim::judge`]): checks with numbers, a verdict that follows from them, lines to draw and a
//! table. Nothing here is written by hand but the criteria.
//!
//! To add one: copy `theorem_4.rs`, and add it to [`CLAIMS`].

mod budgets;
mod censoring;
mod confidence;
mod delays;
mod evidence;
mod finding;
mod m_sets;
mod saturating_jobs;
mod series;
mod sharp_growth;
mod sharp_worst_case;
mod theorem_1;
mod theorem_2;
mod theorem_3;
mod theorem_4;
mod tight;
mod unknown_curves;

pub use evidence::{Evidence, Results, Scale, Setting, Subjects};
pub use finding::{
    Axis, Check, Finding, Line, LineKind, Panel, Strength, Table, Value, Verdict, Wanted,
};

use crate::simulation::{Experiment, ExperimentError};

/// Something that is claimed, with what would show it.
#[derive(Debug, Clone, Copy)]
pub struct Claim {
    /// Its name on the command line.
    pub name: &'static str,
    /// A heading.
    pub title: &'static str,
    /// Where it is claimed.
    pub source: &'static str,
    /// What is claimed.
    pub statement: &'static str,
    /// What must come out for it to count as shown.
    pub criterion: &'static str,
    /// How strong a verdict the experiment allows.
    pub strength: Strength,
    /// Whether [`Claim::judge`] looks at the way of the regret,
    /// [`crate::simulation::Replication::trace`], and not only at its end.
    pub needs_traces: bool,
    plan: fn(&Setting) -> Result<Vec<Experiment>, ExperimentError>,
    judge: fn(&Evidence<'_>) -> Result<Finding, ExperimentError>,
}

impl Claim {
    /// What is to be played for it.
    ///
    /// # Errors
    /// If an instance cannot be made.
    pub fn experiments(&self, setting: &Setting) -> Result<Vec<Experiment>, ExperimentError> {
        (self.plan)(setting)
    }

    /// What the replications show.
    ///
    /// # Errors
    /// If something that is computed besides cannot be.
    pub fn judge(&self, evidence: &Evidence<'_>) -> Result<Finding, ExperimentError> {
        (self.judge)(evidence)
    }
}

/// Every claim, the paper's first.
pub const CLAIMS: [Claim; 14] = [
    theorem_1::CLAIM,
    theorem_2::CLAIM,
    theorem_3::CLAIM,
    m_sets::CLAIM,
    theorem_4::CLAIM,
    unknown_curves::CLAIM,
    confidence::CLAIM,
    censoring::CLAIM,
    saturating_jobs::CLAIM,
    tight::CLAIM,
    sharp_growth::CLAIM,
    sharp_worst_case::CLAIM,
    budgets::CLAIM,
    delays::CLAIM,
];
