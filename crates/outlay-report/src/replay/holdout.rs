//! A plan from the first part of a record, judged on the second.

use outlay::fit::{Fitted, Warning};
use outlay::replay::{FittedProblem, FixedSplit, Replay, Splits};
use outlay::text::one_line;
use outlay::{AllocationError, Options, Oracle, Task};
use serde::Serialize;

/// A plan that was made from the first part of a record and judged on the second.
#[derive(Debug, Clone, Serialize)]
pub struct Holdout {
    /// The date or share at which the rows were divided.
    pub at: String,
    /// Rows of the first part.
    pub first_rows: usize,
    /// Rows of the second part.
    pub second_rows: usize,
    /// The best plan for the fitted curves and the mean rewards of the first part.
    pub plan: FixedSplit,
    /// Its gain per round as the fitted curves predict it.
    pub predicted: f64,
    /// Tasks whose planned spend is outside the spends of the first part.
    pub outside_data: Vec<String>,
    /// The mean spends of the first part, if its rows have spends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current: Option<FixedSplit>,
}

impl Holdout {
    /// Judges the plan for a problem that was fitted to `first_rows` rows, and the spends of these
    /// rows, on the rows of a replay.
    ///
    /// # Errors
    /// If the fitted problem has no feasible plan.
    pub fn new(
        at: String,
        first_rows: usize,
        fitted: &FittedProblem,
        replay: &Replay<'_>,
    ) -> Result<Self, AllocationError> {
        let problem = &fitted.problem;
        let values = problem.values().unwrap_or_default();
        let mut oracle = Oracle::new(problem);
        let options = Options { leftover: problem.leftover(), ..Options::default() };
        let plan = oracle.allocate(&values, problem.budget(), &options)?;
        let judged = |spend: &[f64]| {
            Splits::fixed(replay.problem, replay.record, replay.order, replay.rounds, spend)
        };
        let current: Option<Vec<f64>> = problem.tasks().iter().map(|task| task.current()).collect();
        let extrapolates = |(task, spend): &(&Task, &f64)| task.extrapolates(**spend);
        let outside = problem.tasks().iter().zip(&plan.spend).filter(extrapolates);
        Ok(Self {
            at,
            first_rows,
            second_rows: replay.record.len(),
            outside_data: outside.map(|(task, _)| task.name().to_owned()).collect(),
            plan: judged(&plan.spend),
            predicted: plan.value,
            current: current.map(|spend| judged(&spend)),
        })
    }
}

/// Remarks on the fits of the first part, one per task with warnings.
pub fn fit_remarks(fitted: &FittedProblem) -> Vec<String> {
    let remark = |(task, fitted): (&Task, &Fitted)| {
        // Whether the plan extrapolates is reported with the plan.
        let is_news = |warning: &&Warning| !matches!(warning, Warning::Extrapolates { .. });
        let warnings: Vec<String> =
            fitted.warnings.iter().filter(is_news).map(ToString::to_string).collect();
        let name = one_line(task.name());
        (!warnings.is_empty()).then(|| format!("first part, {name}: {}", warnings.join("; ")))
    };
    fitted.problem.tasks().iter().zip(&fitted.fits).filter_map(remark).collect()
}
