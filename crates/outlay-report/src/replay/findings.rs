//! Losses and tests of the model's assumptions as sentences.

use outlay::replay::assumptions::{Dependence, Drift, LEVEL, TaskAssumptions};
use outlay::replay::{Record, ReplaySummary, TaskRows};
use outlay::text::listed;

use super::Replayed;
use crate::number::{counted, figure};

/// The largest number of findings of a kind that are spelled out.
const MAX_FINDINGS: usize = 3;

/// One paragraph per assumption.
pub fn findings(record: &Record, assumptions: &[TaskAssumptions]) -> Vec<String> {
    let kind = RowKind::of(record);
    kind.caveat(record)
        .into_iter()
        .chain([independence(kind, assumptions), drift(kind, assumptions), fit(assumptions)])
        .collect()
}

/// The kind of the rows of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RowKind {
    Thresholds,
    Censored,
    Outcomes,
    Counts,
}

impl RowKind {
    fn of(record: &Record) -> Self {
        let is = |kind: fn(&TaskRows) -> bool| record.tasks().iter().any(|task| kind(task.rows()));
        if is(|rows| matches!(rows, TaskRows::Counts(_))) {
            Self::Counts
        } else if is(|rows| matches!(rows, TaskRows::Outcomes(_))) {
            Self::Outcomes
        } else if is(|rows| matches!(rows, TaskRows::Censored(_))) {
            Self::Censored
        } else {
            Self::Thresholds
        }
    }

    /// The reason why gains are understated, if they are.
    fn caveat(self, record: &Record) -> Option<String> {
        match self {
            Self::Thresholds => None,
            Self::Outcomes | Self::Counts => Some(format!(
                "Each row has the {} at one spend. A spend in between counts as the nearest \
                 smaller spend that was tried, so gains are understated, those of learners more \
                 than those of the best split.",
                if self == Self::Counts { "completions" } else { "outcome" }
            )),
            Self::Censored => {
                let censored = record.tasks().iter().map(|task| match task.rows() {
                    TaskRows::Censored(rows) => rows.iter().filter(|row| row.is_censored).count(),
                    _ => 0,
                });
                Some(format!(
                    "{} of {} were stopped without success. They count as failures at every spend, \
                     so gains above the amounts at which they were stopped are understated.",
                    censored.sum::<usize>(),
                    counted(record.len(), "row")
                ))
            }
        }
    }

    fn are_trials(self) -> bool {
        matches!(self, Self::Outcomes | Self::Counts)
    }

    /// The two columns whose dependence is tested.
    fn compared(self) -> &'static str {
        match self {
            Self::Thresholds => "Thresholds and rewards",
            Self::Censored => "Thresholds and rewards of successes",
            Self::Outcomes => "Spends and rewards of successes",
            Self::Counts => "Spends and mean rewards of the rows",
        }
    }

    /// The column whose drift is tested besides that of the rewards.
    fn hardness(self) -> &'static str {
        match self {
            Self::Thresholds | Self::Censored => "thresholds",
            Self::Outcomes => "failures not explained by the spends",
            Self::Counts => "completions missing at the same spends",
        }
    }
}

/// What the plan from the first part is worth on the second.
pub fn holdout_words(replayed: &Replayed) -> Vec<String> {
    let Some(holdout) = &replayed.holdout else { return Vec::new() };
    let current = holdout.current.as_ref().map(|current| {
        format!("; the mean spends of the first part gain {}", figure(current.gain))
    });
    let mut words = vec![format!(
        "The plan from the first part (before {}) gains {} per round on the second part, where its \
         curves predicted {}{}.",
        holdout.at,
        figure(holdout.plan.gain),
        figure(holdout.predicted),
        current.unwrap_or_default()
    )];
    if !holdout.outside_data.is_empty() {
        words.push(format!(
            "The plan extrapolates: its spend is outside those of the first part for {}.",
            listed(&holdout.outside_data)
        ));
    }
    words
}

/// The cost of the model and the cost of learning.
pub fn losses(summary: &ReplaySummary) -> Vec<String> {
    let per_round = |loss: f64| {
        if is_nothing(summary, loss) {
            "nothing".to_owned()
        } else {
            format!("{} per round", figure(loss))
        }
    };
    let (model, dependence) = (summary.lost_to_model, summary.lost_to_dependence);
    let why = if is_nothing(summary, model) {
        String::new()
    } else if is_nothing(summary, model - dependence) {
        ", all of it due to dependence".to_owned()
    } else if summary.lost_by_chance.is_none() {
        // With few rows at each spend, outcome rows do not distinguish dependence from chance.
        format!("; with the recorded curves {}, due to dependence or chance", per_round(dependence))
    } else if is_nothing(summary, dependence) {
        ", all of it due to curves that differ from the record".to_owned()
    } else {
        format!("; with the recorded curves, due to dependence alone, {}", per_round(dependence))
    };
    let chance =
        summary.lost_by_chance.filter(|_| !is_nothing(summary, dependence)).map(|chance| {
            let verdict =
                if chance.p_value <= LEVEL { "more than chance" } else { "no more than chance" };
            format!(
                " That is {verdict}: without dependence the rows would show {} ({})",
                per_round(chance.mean),
                p_words(chance.p_value)
            )
        });
    let chance = chance.map(|chance| chance + ".").unwrap_or_default();
    let learning = summary.learners.iter().map(|learner| match learner.lost_to_learning {
        loss if loss < 0.0 && !is_nothing(summary, loss) => {
            format!("{} gains {} more", learner.learner, per_round(-loss))
        }
        loss => format!("{} {}", learner.learner, per_round(loss)),
    });
    vec![
        format!(
            "Lost to the model's assumptions, by its best split: {}{why}.{chance}",
            per_round(model)
        ),
        format!(
            "Lost to learning, against the model's best split: {}.",
            learning.collect::<Vec<_>>().join("; ")
        ),
    ]
}

/// True for rounding errors.
fn is_nothing(summary: &ReplaySummary, loss: f64) -> bool {
    loss.abs() <= 1e-9 * summary.splits.best.gain
}

/// A p-value in a sentence: `p < 0.001`, `p = 0.012`.
pub(super) fn p_words(p_value: f64) -> String {
    if p_value < 0.001 { "p < 0.001".to_owned() } else { format!("p = {}", p_number(p_value)) }
}

/// A p-value in a table: `<0.001`, `0.012`, `0.43`.
pub fn p_number(p_value: f64) -> String {
    match p_value {
        p_value if p_value < 0.001 => "<0.001".to_owned(),
        p_value if p_value < 0.0995 => format!("{p_value:.3}"),
        p_value => format!("{p_value:.2}"),
    }
}

/// A correlation: `+0.41`.
pub fn correlation(number: f64) -> String {
    format!("{number:+.2}")
}

/// A sentence on the dependence between threshold and reward of a task.
pub(super) fn dependence_words(found: &Dependence, are_trials: bool) -> String {
    let rewards = if found.rank_correlation > 0.0 { "higher" } else { "lower" };
    let direction = match are_trials {
        true => format!("larger spends have {rewards} rewards"),
        false => format!("higher thresholds have {rewards} rewards"),
    };
    let numbers = format!(
        "rank correlation {}, {}",
        correlation(found.rank_correlation),
        p_words(found.adjusted_p_value)
    );
    let worst = found.worst.map(|worst| {
        let (of_successes, all) = (figure(worst.mean_of_successes), figure(worst.mean));
        format!(
            "; at a spend of {} the mean reward is {of_successes} for successes and {all} for all rows",
            figure(worst.spend)
        )
    });
    format!("{direction} ({numbers}){}", worst.unwrap_or_default())
}

/// A sentence on a change along the rows.
pub(super) fn drift_words(what: &str, rows: usize, found: &Drift) -> String {
    let direction = if found.after_mean > found.before_mean { "rise" } else { "fall" };
    let (before, after) = (figure(found.before_mean), figure(found.after_mean));
    let p_value = p_words(found.adjusted_p_value);
    format!(
        "{what} {direction} after row {} of {rows}, from {before} to {after} on average ({p_value})",
        found.after
    )
}

/// Tasks with significant dependence, the strongest first.
pub(super) fn dependent(assumptions: &[TaskAssumptions]) -> Vec<(&TaskAssumptions, &Dependence)> {
    let found = assumptions.iter().filter_map(|task| Some((task, task.dependence.as_ref()?)));
    let mut found: Vec<_> = found.filter(|(_, found)| found.adjusted_p_value <= LEVEL).collect();
    found.sort_by(|(_, one), (_, other)| {
        other.rank_correlation.abs().total_cmp(&one.rank_correlation.abs())
    });
    found
}

/// Significant changes along the rows, the clearest first; the flag is true for rewards.
pub(super) fn drifting(assumptions: &[TaskAssumptions]) -> Vec<(&TaskAssumptions, bool, &Drift)> {
    let of_thresholds =
        assumptions.iter().filter_map(|task| Some((task, false, task.threshold_drift.as_ref()?)));
    let of_rewards =
        assumptions.iter().filter_map(|task| Some((task, true, task.reward_drift.as_ref()?)));
    let found = of_thresholds.chain(of_rewards);
    let mut found: Vec<_> = found.filter(|(_, _, found)| found.adjusted_p_value <= LEVEL).collect();
    found.sort_by(|(_, _, one), (_, _, other)| one.p_value.total_cmp(&other.p_value));
    found
}

/// `7 of 20 tasks`.
fn of_tasks(count: usize, all: usize) -> String {
    if all == 1 { "the one task".to_owned() } else { format!("{count} of {all} tasks") }
}

fn told(sentences: impl Iterator<Item = String>) -> String {
    sentences.take(MAX_FINDINGS).collect::<Vec<_>>().join(". ")
}

fn independence(kind: RowKind, assumptions: &[TaskAssumptions]) -> String {
    let what = kind.compared();
    let words = |found: &Dependence| dependence_words(found, kind.are_trials());
    let found = dependent(assumptions);
    let tested = assumptions.iter().filter(|task| task.dependence.is_some()).count();
    if tested == 0 {
        return format!("{what}: too little variation to test for dependence.");
    }
    if found.is_empty() {
        let tasks =
            if tested == 1 { "the one task".to_owned() } else { format!("any of {tested} tasks") };
        return format!(
            "{what}: no dependence found in {tasks}; the model's independence is not contradicted."
        );
    }
    let sentences = found.iter().map(|(task, found)| format!("{}: {}", task.task, words(found)));
    format!(
        "{what}: dependent in {}. {}.",
        of_tasks(found.len(), assumptions.len()),
        told(sentences)
    )
}

fn drift(kind: RowKind, assumptions: &[TaskAssumptions]) -> String {
    let found = drifting(assumptions);
    if assumptions.iter().all(|task| task.threshold_drift.is_none() && task.reward_drift.is_none())
    {
        return "Drift: too little variation to test for changes along the rows.".to_owned();
    }
    if found.is_empty() {
        return "Drift: no change along the rows found.".to_owned();
    }
    let of_thresholds = kind.hardness();
    let sentences = found.iter().map(|(task, of_reward, found)| {
        format!(
            "{}: {}",
            task.task,
            drift_words(if *of_reward { "rewards" } else { of_thresholds }, task.rows, found)
        )
    });
    let mut tasks: Vec<&str> = found.iter().map(|(task, _, _)| task.task.as_str()).collect();
    tasks.sort_unstable();
    tasks.dedup();
    let warning = "If rows are correlated, all p-values here are too small";
    format!(
        "Drift: {} along the rows. {}. {warning}.",
        changes(tasks.len(), assumptions.len()),
        told(sentences)
    )
}

fn changes(count: usize, all: usize) -> String {
    format!("{} {}", of_tasks(count, all), if count == 1 { "changes" } else { "change" })
}

fn fit(assumptions: &[TaskAssumptions]) -> String {
    let furthest =
        assumptions.iter().max_by(|one, other| one.fit.distance.total_cmp(&other.fit.distance));
    let Some(furthest) = furthest.filter(|task| task.fit.distance > 1e-9) else {
        return "Curves: the problem's curves are the empirical distributions of the rows."
            .to_owned();
    };
    let off = assumptions
        .iter()
        .filter(|task| task.fit.p_value * assumptions.len() as f64 <= LEVEL)
        .count();
    let verdict = match off {
        0 => "no curve is contradicted by the rows".to_owned(),
        off => format!("{} deviate from their curve", of_tasks(off, assumptions.len())),
    };
    let numbers = format!(
        "largest distance between curve and rows {:.2}, {}",
        furthest.fit.distance,
        p_words(furthest.fit.p_value)
    );
    format!("Curves: {verdict}. The largest deviation is that of {} ({numbers}).", furthest.task)
}
