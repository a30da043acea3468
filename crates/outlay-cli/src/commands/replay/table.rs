//! Results as text: learners, fixed splits, tasks and findings.

use outlay::replay::{LearnerReplay, Order, ReplaySummary};

use crate::output::table::{Align, Table, hidden_line, most_important, wrapped};
use outlay_report::number::{Precision, counted, figure, gap, percent, plain, seeds};
use outlay_report::replay::{Replayed, correlation, findings, holdout_words, losses, p_number};
use outlay_report::simulation::mean_with_interval;

pub(super) fn tables(replayed: &Replayed) -> String {
    let Replayed { record, summary, assumptions, .. } = replayed;
    let paragraphs = |sentences: Vec<String>| {
        sentences.iter().map(|sentence| wrapped(sentence)).collect::<String>()
    };
    let (losses, findings) =
        (paragraphs(losses(summary)), paragraphs(findings(record, assumptions)));
    let holdout = paragraphs(holdout_words(replayed));
    let parts = [
        learners(summary),
        splits(replayed),
        format!("{holdout}{losses}"),
        tasks(replayed),
        findings,
        line(replayed),
    ];
    parts.join("\n")
}

/// Gain relative to the best fixed split.
fn of_best(summary: &ReplaySummary, gain: f64) -> String {
    let best = summary.splits.best.gain;
    if best > 0.0 { percent(gain / best) } else { String::new() }
}

fn learners(summary: &ReplaySummary) -> String {
    use Align::{Left, Right};
    let mut table = Table::new(&[
        ("learner", Left),
        ("feedback", Left),
        ("gain per round ± 95%", Right),
        ("of the best", Right),
        ("in the last tenth", Right),
        ("regret ± 95%", Right),
        ("outside the record", Right),
        ("oracle gap", Left),
    ]);
    for learner in &summary.learners {
        table.row(vec![
            learner.learner.clone(),
            learner.feedback.to_string(),
            mean_with_interval(&learner.gain),
            of_best(summary, learner.gain.mean),
            of_best(summary, learner.late_gain.mean),
            mean_with_interval(&learner.regret),
            outside(learner),
            gap(learner.oracle_gap),
        ]);
    }
    table.render()
}

fn outside(learner: &LearnerReplay) -> String {
    if learner.outside > 0.0 { percent(learner.outside) } else { String::new() }
}

fn splits(replayed: &Replayed) -> String {
    let summary = &replayed.summary;
    use Align::{Left, Right};
    let mut table = Table::new(&[
        ("fixed split", Left),
        ("gain per round", Right),
        ("of the best", Right),
        ("information", Left),
    ]);
    for (name, split, knows) in replayed.fixed_splits() {
        table.row(vec![
            name.to_owned(),
            figure(split.gain),
            of_best(summary, split.gain),
            knows.to_owned(),
        ]);
    }
    table.render()
}

fn tasks(replayed: &Replayed) -> String {
    use Align::{Left, Right};
    let Replayed { problem, summary, assumptions, .. } = replayed;
    let mut table = Table::new(&[
        ("task", Left),
        ("rows", Right),
        ("best spend", Right),
        ("model's spend", Right),
        ("rank correlation", Right),
        ("p", Right),
        ("p of drift: threshold", Right),
        ("reward", Right),
        ("off its curve", Right),
    ]);
    let (best, model) = (&summary.splits.best.spend, &summary.splits.model.spend);
    let precision = Precision::of_amounts(problem.budget(), best.iter().chain(model).copied());
    let strength = |task: usize| {
        assumptions[task].dependence.map_or(0.0, |found| found.rank_correlation.abs())
    };
    let (shown, hidden) = most_important(assumptions.len(), strength);
    for task in shown {
        let found = &assumptions[task];
        let drift = |drift: Option<outlay::replay::assumptions::Drift>| {
            drift.map(|found| p_number(found.adjusted_p_value))
        };
        table.row(vec![
            found.task.clone(),
            plain(found.rows as f64),
            precision.amount(best[task]),
            precision.amount(model[task]),
            found.dependence.map(|found| correlation(found.rank_correlation)).unwrap_or_default(),
            found.dependence.map(|found| p_number(found.adjusted_p_value)).unwrap_or_default(),
            drift(found.threshold_drift).unwrap_or_default(),
            drift(found.reward_drift).unwrap_or_default(),
            format!("{:.2}", found.fit.distance),
        ]);
    }
    format!("{}{}", table.render(), hidden_line(hidden, "that depend less"))
}

/// The summary line.
fn line(replayed: &Replayed) -> String {
    let Replayed { runs, record, summary, .. } = replayed;
    let order = match summary.order {
        Order::Recorded => "in recorded order",
        Order::Shuffled => "rows drawn with replacement",
    };
    let part = match &replayed.holdout {
        Some(holdout) => format!(" from {} on", holdout.at),
        None => String::new(),
    };
    let parts = [
        runs.clone(),
        format!(
            "{} of {}{part}",
            counted(record.len(), "row"),
            counted(summary.tasks.len(), "task")
        ),
        format!("{}, {order}", counted(summary.rounds as usize, "round")),
        format!(
            "{}, {}",
            counted(summary.replications as usize, "replication"),
            seeds(summary.seed, summary.replications)
        ),
        format!("gap of the best split {}", gap(summary.splits.gap)),
    ];
    format!("{}\n", parts.join(" · "))
}
