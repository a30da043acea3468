//! Claims of the paper and of this project as experiments with verdicts.
//!
//! A [`Claim`] lists its experiments ([`Claim::experiments`]) and judges their results
//! ([`Claim::judge`]): checks with numbers, the verdict that follows from them, charts and a table.
//!
//! To add a claim, copy `theorem_4.rs` and add it to [`CLAIMS`].

mod budgets;
mod censoring;
mod confidence;
mod counts;
mod delays;
mod evidence;
mod finding;
mod kl_ucb_mixture;
mod kl_ucb_plus_growth;
mod kl_ucb_plus_worst_case;
mod m_sets;
mod saturating_jobs;
mod series;
mod theorem_1;
mod theorem_2;
mod theorem_3;
mod theorem_4;
mod unknown_curves;

pub use evidence::{Evidence, Results, Scale, Setting, Subjects};
pub use finding::{
    Axis, Check, Finding, Line, LineKind, Panel, Strength, Table, Value, Verdict, Wanted,
};

use crate::simulation::{Experiment, ExperimentError};

/// A claim with its experiments and its criterion.
#[derive(Debug, Clone, Copy)]
pub struct Claim {
    /// The name on the command line.
    pub name: &'static str,
    /// The heading.
    pub title: &'static str,
    /// The source of the claim.
    pub source: &'static str,
    /// The statement.
    pub statement: &'static str,
    /// The criterion for the verdict.
    pub criterion: &'static str,
    /// The strongest verdict that the experiment allows.
    pub strength: Strength,
    /// Whether [`Claim::judge`] needs the regret over time,
    /// [`crate::simulation::Replication::trace`], and not only the final regret.
    pub needs_traces: bool,
    plan: fn(&Setting) -> Result<Vec<Experiment>, ExperimentError>,
    judge: fn(&Evidence<'_>) -> Result<Finding, ExperimentError>,
}

impl Claim {
    /// The experiments of the claim.
    ///
    /// # Errors
    /// If an instance cannot be built.
    pub fn experiments(&self, setting: &Setting) -> Result<Vec<Experiment>, ExperimentError> {
        (self.plan)(setting)
    }

    /// Judges the replications.
    ///
    /// # Errors
    /// If a bound or prediction cannot be computed.
    pub fn judge(&self, evidence: &Evidence<'_>) -> Result<Finding, ExperimentError> {
        (self.judge)(evidence)
    }
}

/// Every claim, the paper's first.
pub const CLAIMS: [Claim; 15] = [
    theorem_1::CLAIM,
    theorem_2::CLAIM,
    theorem_3::CLAIM,
    m_sets::CLAIM,
    theorem_4::CLAIM,
    unknown_curves::CLAIM,
    confidence::CLAIM,
    censoring::CLAIM,
    saturating_jobs::CLAIM,
    kl_ucb_mixture::CLAIM,
    kl_ucb_plus_growth::CLAIM,
    kl_ucb_plus_worst_case::CLAIM,
    budgets::CLAIM,
    delays::CLAIM,
    counts::CLAIM,
];
