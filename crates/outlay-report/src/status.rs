//! The status of a ledger: its summary and warnings as text, and its page, which shows the next split
//! with the learner's estimates.

use outlay::campaign::Guards;
use outlay::ledger::{Ledger, LedgerStatus, TaskStatus};
use outlay::plan::{outcomes, value_of};
use outlay::text::listed;
use outlay::{Allocation, Task};

use crate::decision::{DecisionPage, Frontier, Learned, TaskView};
use crate::labels::Labels;
use crate::number::{Precision, counted, figure, percent, plain};

/// Largest number of open rounds that are listed.
const NAMED: usize = 8;

/// The values of the tasks in the next split: the learner's indices, or the mean rewards if the
/// learner has no indices.
#[must_use]
pub fn values(status: &LedgerStatus) -> Vec<f64> {
    let value = |task: &TaskStatus| task.index.or(task.mean).unwrap_or(0.0).max(0.0);
    status.tasks.iter().map(value).collect()
}

/// The page. `points` are the optimal splits of other budgets for the [`values`].
#[must_use]
pub fn page<'a>(
    ledger: &'a Ledger,
    status: &LedgerStatus,
    points: Vec<Allocation>,
    title: String,
    command: String,
) -> DecisionPage<'a> {
    let problem = ledger.problem();
    let budget = problem.budget();
    let last = ledger.round_before(ledger.rounds() + 1).and_then(|last| ledger.spend(last));
    let before: Vec<Option<f64>> = match last {
        Some(spend) => spend.iter().copied().map(Some).collect(),
        None => problem.tasks().iter().map(Task::current).collect(),
    };
    let values = values(status);
    let spend: Vec<f64> = status.tasks.iter().map(|task| task.next.unwrap_or(0.0)).collect();
    let outcomes = outcomes(problem, &values, budget, &spend, 0.0);
    let mut tasks = TaskView::all(problem, &values, &before, &outcomes);
    for (view, task) in tasks.iter_mut().zip(&status.tasks) {
        view.learned = Some(Learned {
            mean: task.mean,
            bonus: task.bonus,
            completions: task.completions,
            seen: task.seen.map(|seen| (seen.completions, seen.mean())),
            expected_completions: task.expected,
            delivered: task.delivery.and_then(|delivery| delivery.share()),
        });
    }
    let all_before = before.iter().copied().collect::<Option<Vec<f64>>>();
    let mut headline = summary(ledger, status);
    headline.extend(warnings(ledger, status));
    DecisionPage {
        title,
        command,
        headline,
        before: if last.is_some() { "last round" } else { "current" },
        after: "next round",
        price: status
            .ahead
            .as_ref()
            .map_or(0.0, |ahead| ahead.allocation.price * problem.reward_max()),
        budget,
        precision: Precision::of_amounts(
            budget,
            spend.iter().copied().chain(before.iter().flatten().copied()),
        ),
        tasks,
        labels: Labels::of(problem),
        frontier: Frontier {
            labels: Labels::of(problem),
            points,
            budget: Some(budget),
            chosen: Some((budget, value_of(problem, &values, &spend))),
            before: all_before
                .map(|before| (before.iter().sum(), value_of(problem, &values, &before))),
        },
    }
}

/// The learner, the rounds and the gain; then clipped rewards and the open rounds.
#[must_use]
pub fn summary(ledger: &Ledger, status: &LedgerStatus) -> Vec<String> {
    let settings = ledger.settings();
    let guards = guards_text(&settings.guards);
    let mut rounds = counted(status.rounds as usize, "round");
    if !status.cancelled.is_empty() {
        rounds += &format!(" ({} cancelled)", status.cancelled.len());
    }
    let mut lines = vec![format!(
        "{} · {rounds} · gained {} for {}{guards}",
        settings.learner,
        figure(status.gain),
        figure(status.spend)
    )];
    let amended: Vec<String> =
        ledger.amendments().iter().map(|(after, _)| after.to_string()).collect();
    if !amended.is_empty() {
        let rounds = if amended.len() == 1 { "round" } else { "rounds" };
        lines.push(format!("amended after {rounds} {}", listed(&amended)));
    }
    lines.extend(clipped(ledger, status));
    if status.open.is_empty() {
        lines.push("all outcomes have been reported".to_owned());
        return lines;
    }
    let named: Vec<String> = status
        .open
        .iter()
        .take(NAMED)
        .map(|(round, waiting)| format!("{round} ({waiting})"))
        .collect();
    let more = status.open.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let open = counted(status.open.len(), "open round");
    lines.push(format!(
        "{open}, with the number of outcomes still missing: {}{more}",
        named.join(", ")
    ));
    lines
}

/// The number of clipped rewards and their tasks, if there are any.
fn clipped(ledger: &Ledger, status: &LedgerStatus) -> Option<String> {
    let problem = ledger.problem();
    let tasks = problem.tasks().iter().zip(&status.tasks).filter(|(_, task)| task.clipped > 0);
    let named: Vec<String> =
        tasks.map(|(task, status)| format!("{} ({})", task.name(), status.clipped)).collect();
    let rewards = counted(status.clipped as usize, "reward");
    let reward_max = plain(problem.reward_max());
    (status.clipped > 0).then(|| {
        let named = listed(&named);
        format!("{rewards} above reward_max, clipped to {reward_max} per completion: {named}")
    })
}

/// The guards that are set, each preceded by a dot: ` · floor 20`.
#[must_use]
pub fn guards_text(guards: &Guards) -> String {
    guards
        .named()
        .iter()
        .filter_map(|(name, amount)| amount.map(|amount| format!(" · {name} {}", plain(amount))))
        .collect()
}

/// Warnings about completions that contradict the curves, and about tasks that do not spend their
/// allocation.
#[must_use]
pub fn warnings(ledger: &Ledger, status: &LedgerStatus) -> Vec<String> {
    let tasks = ledger.problem().tasks().iter().zip(&status.tasks);
    let has_counts = ledger.problem().has_counts();
    let misfits =
        tasks.clone().filter_map(|(task, status)| misfit(task.name(), status, has_counts));
    let limited = tasks.filter_map(|(task, status)| limited(task.name(), status));
    misfits.chain(limited).collect()
}

fn misfit(task: &str, status: &TaskStatus, has_counts: bool) -> Option<String> {
    let probability = status.misfit?.probability;
    let probability = if probability > 0.0 {
        format!("probability at most {probability:.0e}")
    } else {
        "impossible".to_owned()
    };
    let (completions, reported, expected) = (status.completions, status.reported, status.expected);
    let seen = if has_counts {
        let rounds = counted(reported as usize, "round");
        format!("{completions} completions in {rounds}, but its curve predicts {expected:.1}")
    } else {
        format!("{completions} of {reported} completed, but its curve predicts {expected:.1}")
    };
    Some(format!(
        "(!) {task}: {seen} ({probability} if the curve is correct): check the reported outcomes, \
         or fit the curve again"
    ))
}

fn limited(task: &str, status: &TaskStatus) -> Option<String> {
    let delivery = status.delivery?;
    let max = delivery.proposed_max?;
    let share = percent(delivery.share()?);
    Some(format!(
        "(!) {task}: spent only {share} of its allocation; consider max = {max}, the most it spent \
         in the last 10 reported rounds"
    ))
}
