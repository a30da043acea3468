//! What was lost to whom, and what a record says about the model's assumptions, in sentences.

use outlay::replay::assumptions::{Dependence, Drift, LEVEL, TaskAssumptions};
use outlay::replay::{Record, ReplaySummary, TaskRows};

use crate::number::figure;

/// More findings of a kind than this are counted, not told.
const TOLD: usize = 3;

/// One paragraph an assumption.
pub fn findings(record: &Record, assumptions: &[TaskAssumptions]) -> Vec<String> {
    let are_outcomes =
        record.tasks().iter().any(|task| matches!(task.rows(), TaskRows::Outcomes(_)));
    let understated = "Rows say what came of one spend each: a spend in between counts as the nearest below that was tried, so gains are \
                       understated, those of learners more than those of the best split.";
    let first = are_outcomes.then(|| understated.to_owned());
    first
        .into_iter()
        .chain([
            independence(are_outcomes, assumptions),
            drift(are_outcomes, assumptions),
            fit(assumptions),
        ])
        .collect()
}

/// What the model costs, and what learning costs.
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
        ", all of it to dependence".to_owned()
    } else if summary.lost_by_chance.is_none() {
        // Of tries nobody can say what is dependence and what is the luck of a few rows at each
        // spend.
        format!(
            "; with the recorded curves {}, to dependence or the luck of the rows",
            per_round(dependence)
        )
    } else if is_nothing(summary, dependence) {
        ", all of it to curves that are not the recorded ones".to_owned()
    } else {
        format!("; with the recorded curves, to dependence alone, {}", per_round(dependence))
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

/// What differs in the last digits only.
fn is_nothing(summary: &ReplaySummary, loss: f64) -> bool {
    loss.abs() <= 1e-9 * summary.splits.best.gain
}

/// `p < 0.001`, `p = 0.012`.
pub(super) fn p_words(p_value: f64) -> String {
    if p_value < 0.001 { "p < 0.001".to_owned() } else { format!("p = {}", p_number(p_value)) }
}

/// `<0.001`, `0.012`, `0.43`.
pub fn p_number(p_value: f64) -> String {
    match p_value {
        p_value if p_value < 0.001 => "<0.001".to_owned(),
        p_value if p_value < 0.0995 => format!("{p_value:.3}"),
        p_value => format!("{p_value:.2}"),
    }
}

/// `+0.41`.
pub fn correlation(number: f64) -> String {
    format!("{number:+.2}")
}

/// What one task's dependence means.
pub(super) fn dependence_words(found: &Dependence) -> String {
    let direction = if found.rank_correlation > 0.0 {
        "what needs more brings more"
    } else {
        "what needs more brings less"
    };
    let numbers = format!(
        "rank correlation {}, {}",
        correlation(found.rank_correlation),
        p_words(found.adjusted_p_value)
    );
    let worst = found.worst.map(|worst| {
        let (of_successes, all) = (figure(worst.mean_of_successes), figure(worst.mean));
        format!(
            "; with {} successes bring {of_successes} on average, all rows {all}",
            figure(worst.spend)
        )
    });
    format!("{direction} ({numbers}){}", worst.unwrap_or_default())
}

/// What one change means.
pub(super) fn drift_words(what: &str, rows: usize, found: &Drift) -> String {
    let direction = if found.after_mean > found.before_mean { "rise" } else { "fall" };
    let (before, after) = (figure(found.before_mean), figure(found.after_mean));
    let p_value = p_words(found.adjusted_p_value);
    format!(
        "{what} {direction} after row {} of {rows}, from {before} to {after} on average ({p_value})",
        found.after
    )
}

/// Which tasks depend, the strongest first.
pub(super) fn dependent(assumptions: &[TaskAssumptions]) -> Vec<(&TaskAssumptions, &Dependence)> {
    let found = assumptions.iter().filter_map(|task| Some((task, task.dependence.as_ref()?)));
    let mut found: Vec<_> = found.filter(|(_, found)| found.adjusted_p_value <= LEVEL).collect();
    found.sort_by(|(_, one), (_, other)| {
        other.rank_correlation.abs().total_cmp(&one.rank_correlation.abs())
    });
    found
}

/// What changes along the rows, the clearest first; the flag says whether it is the reward.
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
    sentences.take(TOLD).collect::<Vec<_>>().join(". ")
}

fn independence(are_outcomes: bool, assumptions: &[TaskAssumptions]) -> String {
    let what =
        if are_outcomes { "Spends and rewards of successes" } else { "Thresholds and rewards" };
    let found = dependent(assumptions);
    let tested = assumptions.iter().filter(|task| task.dependence.is_some()).count();
    if tested == 0 {
        return format!("{what}: too little varies to see whether they depend on each other.");
    }
    if found.is_empty() {
        let tasks =
            if tested == 1 { "the one task".to_owned() } else { format!("any of {tested} tasks") };
        return format!(
            "{what}: no dependence found in {tasks}; the model's independence is not contradicted."
        );
    }
    let sentences =
        found.iter().map(|(task, found)| format!("{}: {}", task.task, dependence_words(found)));
    format!(
        "{what}: dependent in {}. {}.",
        of_tasks(found.len(), assumptions.len()),
        told(sentences)
    )
}

fn drift(are_outcomes: bool, assumptions: &[TaskAssumptions]) -> String {
    let found = drifting(assumptions);
    if assumptions.iter().all(|task| task.threshold_drift.is_none() && task.reward_drift.is_none())
    {
        return "Drift: too little varies to see whether rows change along the way.".to_owned();
    }
    if found.is_empty() {
        return "Drift: no change along the rows found; their order seems to mean nothing."
            .to_owned();
    }
    let of_thresholds =
        if are_outcomes { "failures beyond what spends explain" } else { "thresholds" };
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
    let warning = "Rows that hang together make every p-value here too small";
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
        return "Curves: the problem's curves are those of the rows.".to_owned();
    };
    let off = assumptions
        .iter()
        .filter(|task| task.fit.p_value * assumptions.len() as f64 <= LEVEL)
        .count();
    let verdict = match off {
        0 => "no curve is contradicted by the rows".to_owned(),
        off => format!("{} do not follow their curve", of_tasks(off, assumptions.len())),
    };
    let numbers = format!(
        "{:.2} between curve and rows at most, {}",
        furthest.fit.distance,
        p_words(furthest.fit.p_value)
    );
    format!("Curves: {verdict}. Furthest off is {} ({numbers}).", furthest.task)
}
