//! The report of `outlay status`: the next split with the learner's estimates.

use outlay::ledger::{Ledger, LedgerStatus};
use outlay::plan::{outcomes, value_of};
use outlay::{Options, Task};

use crate::commands::frontier::around;
use crate::failure::Failure;
use crate::output::command_line;
use outlay_report::decision::{DecisionPage, Frontier, Learned, TaskView};
use outlay_report::number::Precision;

/// The page. The split is that of the next round, by the learner's indices, or by the mean rewards
/// if the learner has no indices.
pub(super) fn page<'a>(
    ledger: &'a Ledger,
    standing: &LedgerStatus,
    title: String,
    headline: Vec<String>,
    quiet: bool,
) -> Result<DecisionPage<'a>, Failure> {
    let problem = ledger.problem();
    let budget = problem.budget();
    let last = ledger.round_before(ledger.rounds() + 1).and_then(|last| ledger.spend(last));
    let before: Vec<Option<f64>> = match last {
        Some(spend) => spend.iter().copied().map(Some).collect(),
        None => problem.tasks().iter().map(Task::current).collect(),
    };
    let values: Vec<f64> = standing
        .tasks
        .iter()
        .map(|task| task.index.or(task.mean).unwrap_or(0.0).max(0.0))
        .collect();
    let spend: Vec<f64> = standing.tasks.iter().map(|task| task.next.unwrap_or(0.0)).collect();
    let outcomes = outcomes(problem, &values, budget, &spend, 0.0);
    let mut tasks = TaskView::all(problem, &values, &before, &outcomes);
    for (view, task) in tasks.iter_mut().zip(&standing.tasks) {
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
    let options = Options { leftover: problem.leftover(), ..Options::default() };
    Ok(DecisionPage {
        title,
        command: command_line::of_this_process(),
        headline,
        before: if last.is_some() { "last round" } else { "current" },
        after: "next round",
        price: standing
            .ahead
            .as_ref()
            .map_or(0.0, |ahead| ahead.allocation.price * problem.reward_max()),
        budget,
        precision: Precision::of_amounts(
            budget,
            spend.iter().copied().chain(before.iter().flatten().copied()),
        ),
        tasks,
        frontier: Frontier {
            points: around(problem, &values, (budget, 0.0), &options, quiet)?,
            budget: Some(budget),
            chosen: Some((budget, value_of(problem, &values, &spend))),
            before: all_before
                .map(|before| (before.iter().sum(), value_of(problem, &values, &before))),
        },
    })
}
