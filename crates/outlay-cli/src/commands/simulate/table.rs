//! Results as text: one table per problem.

use outlay::simulation::{LearnerSummary, Statistics, Summary};

use super::record::{share_of_even_split_regret, share_of_optimum};
use crate::output::table::{Align, Table};
use crate::run::label;
use outlay_report::number::{self, Precision, counted, figure, percent, seeds};

/// All tables; `speeds` are rounds per second, `[problem][learner]`.
pub(crate) fn tables(summaries: &[Summary], speeds: &[Vec<Option<f64>>]) -> String {
    let tables: Vec<String> =
        summaries.iter().zip(speeds).map(|(summary, speeds)| table(summary, speeds)).collect();
    tables.join("\n")
}

fn table(summary: &Summary, speeds: &[Option<f64>]) -> String {
    use Align::{Left, Right};
    let mut table = Table::new(&[
        ("learner", Left),
        ("feedback", Left),
        ("regret ± 95%", Right),
        ("median", Right),
        ("10–90%", Right),
        ("of optimum", Right),
        ("of even split's regret", Right),
        ("oracle gap", Left),
        ("rounds/s", Right),
        ("pending", Right),
    ]);
    for (learner, speed) in summary.learners.iter().zip(speeds) {
        table.row(vec![
            learner.learner.clone(),
            learner.feedback.to_string(),
            mean(&learner.regret),
            figure(learner.regret.median),
            format!("{} – {}", figure(learner.regret.q10), figure(learner.regret.q90)),
            share_of_optimum(summary, learner).map(percent).unwrap_or_default(),
            share_of_even_split_regret(summary, learner).map(percent).unwrap_or_default(),
            number::gap(learner.oracle_gap),
            speed.map(rate).unwrap_or_default(),
            pending(learner),
        ]);
    }
    format!("{}\n{}\n", table.render(), line(summary))
}

/// Mean with the half-width of its interval: `123.4 ± 5.6`.
fn mean(regret: &Statistics) -> String {
    let mean = figure(regret.mean);
    let Some(high) = regret.high95 else { return mean };
    let half = high - regret.mean;
    let half = match mean.split_once('.') {
        _ if mean.contains('e') => figure(half),
        Some((_, decimals)) => Precision::Decimals(decimals.len()).amount(half),
        None if regret.mean == 0.0 => figure(half),
        None => Precision::Decimals(0).amount(half),
    };
    format!("{mean} ± {half}")
}

/// Rounds per second; further digits are timing noise.
fn rate(speed: f64) -> String {
    if speed >= 1e6 { format!("{:.2}M", speed / 1e6) } else { number::plain(speed.round()) }
}

fn pending(learner: &LearnerSummary) -> String {
    if learner.pending > 0.0 { figure(learner.pending) } else { String::new() }
}

/// The summary line.
fn line(summary: &Summary) -> String {
    let parts = [
        label(&summary.problem, summary.parameter.as_ref()),
        counted(summary.tasks.len(), "task"),
        format!("horizon {}", number::plain(summary.horizon as f64)),
        format!(
            "{}, {}",
            counted(summary.replications as usize, "replication"),
            seeds(summary.seed, summary.replications)
        ),
        format!("optimum {} per round", figure(summary.optimum.value)),
    ];
    parts.join(" · ")
}
