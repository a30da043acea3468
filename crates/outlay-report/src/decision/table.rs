//! The table above the figures: one row per task and at most fifteen columns, a learner's aside. Empty columns are
//! omitted.

use crate::number::percent;
use crate::selection::hidden_line;
use crate::svg::Element;

use super::{DecisionPage, TaskView, digits};
use crate::selection::heaviest;

/// The largest number of rows; more would make the page slow to open.
const MAX_ROWS: usize = 1000;

/// A column: its name, its description, the cell of a task, and the total if there is one.
pub(super) struct Column {
    /// `current` is replaced by the page's name for the previous spends.
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    is_word: bool,
    cell: fn(&DecisionPage<'_>, &TaskView<'_>) -> Option<String>,
    total: fn(&DecisionPage<'_>) -> Option<String>,
}

/// All columns in their order; docs/how-to/reports.md describes each.
pub(super) const COLUMNS: [Column; 21] = [
    Column {
        is_word: true,
        total: |_| Some("total".to_owned()),
        ..column("task", "Name of the task.", |_, task| Some(task.name.to_owned()))
    },
    column("value", "Value of a completion: known, or a learner's index.", |_, task| {
        Some(digits(task.value))
    }),
    column("mean", "Mean of the observed rewards.", |_, task| task.learned?.mean.map(digits)),
    column("completions in the log", "Completions that the learner started from.", |_, task| {
        task.learned?.seen.map(|(completions, _)| completions.to_string())
    }),
    column("mean in the log", "Mean reward of the completions in the log.", |_, task| {
        task.learned?.seen?.1.map(digits)
    }),
    column("bonus", "Exploration bonus: the index minus the mean.", |_, task| {
        task.learned?.bonus.map(digits)
    }),
    column("completions", "Number of observed rewards.", |_, task| {
        Some(task.learned?.completions.to_string())
    }),
    column(
        "expected completions",
        "Number of completions the curve predicts for the amount spent.",
        |_, task| Some(digits(task.learned?.expected_completions)),
    ),
    column("delivered", "Reported spend as a share of the allocated one.", |_, task| {
        task.learned?.delivered.map(percent)
    }),
    Column {
        total: |page| sum(page, |task| task.before).map(|total| page.precision.amount(total)),
        ..column("current", "Previous spend.", |page, task| {
            Some(page.precision.amount(task.before?))
        })
    },
    Column {
        total: |page| {
            sum(page, |task| Some(task.outcome.spend)).map(|total| page.precision.amount(total))
        },
        ..column("spend", "Spend in the split.", |page, task| {
            Some(page.precision.amount(task.outcome.spend))
        })
    },
    Column {
        total: |page| {
            sum(page, |task| Some(task.outcome.spend - task.before?))
                .map(|total| page.precision.change(total))
        },
        ..column("move", "Change of the spend.", |page, task| {
            Some(page.precision.change(
                page.precision.rounded(task.outcome.spend) - page.precision.rounded(task.before?),
            ))
        })
    },
    Column {
        total: |page| sum(page, |task| Some(task.outcome.share)).map(percent),
        ..column("share", "Share of the budget.", |_, task| Some(percent(task.outcome.share)))
    },
    column("success", "Success probability at that spend.", |_, task| {
        Some(percent(task.outcome.success))
    }),
    Column {
        total: |page| {
            let has_counts = page.tasks.iter().any(|task| task.volume != 1.0);
            let total = || sum(page, |task| Some(task.outcome.completions));
            has_counts.then(total).flatten().map(digits)
        },
        ..column(
            "completions per round",
            "Expected number of completions: volume times success probability.",
            |_, task| (task.volume != 1.0).then(|| digits(task.outcome.completions)),
        )
    },
    Column {
        total: |page| sum(page, |task| task.reward_before()).map(digits),
        ..column("reward at current", "Value times the expected completions before.", |_, task| {
            task.reward_before().map(digits)
        })
    },
    Column {
        total: |page| sum(page, |task| Some(task.outcome.expected_reward)).map(digits),
        ..column("expected reward", "Value times the expected completions.", |_, task| {
            Some(digits(task.outcome.expected_reward))
        })
    },
    column(
        "return on spend",
        "Expected reward per unit of spend; only with a currency.",
        |page, task| {
            let shown = page.labels.has_currency() && task.learned.is_none();
            shown.then(|| task.outcome.return_on_spend.map(digits).unwrap_or_default())
        },
    ),
    column(
        "cost per completion",
        "Spend per expected completion; only with a currency.",
        |page, task| {
            let shown = page.labels.has_currency() && task.learned.is_none();
            shown.then(|| task.outcome.cost_per_completion.map(digits).unwrap_or_default())
        },
    ),
    column(
        "marginal return",
        "Expected reward of the next small unit; 0 on the flat part of a step.",
        |_, task| Some(digits(task.outcome.marginal_return)),
    ),
    Column {
        is_word: true,
        ..column("bound", "The binding bound of the spend.", |_, task| {
            task.outcome.bound.map(|bound| bound.as_str().replace('_', " "))
        })
    },
];

const fn column(
    name: &'static str,
    about: &'static str,
    cell: fn(&DecisionPage<'_>, &TaskView<'_>) -> Option<String>,
) -> Column {
    Column { name, about, is_word: false, cell, total: |_| None }
}

/// The sum over all tasks, including those not shown; `None` if a task has no number.
fn sum(page: &DecisionPage<'_>, part: impl Fn(&TaskView<'_>) -> Option<f64>) -> Option<f64> {
    page.tasks.iter().map(part).sum()
}

pub(super) fn element(page: &DecisionPage<'_>) -> Element {
    let (mut shown, hidden) =
        heaviest(page.tasks.len(), MAX_ROWS, |task| page.tasks[task].weight());
    shown.sort_unstable();
    let says_something =
        |column: &&Column| page.tasks.iter().any(|task| (column.cell)(page, task).is_some());
    let columns: Vec<&Column> = COLUMNS.iter().filter(says_something).collect();
    let class = |column: &Column| if column.is_word { "word" } else { "number" };
    let head = columns.iter().map(|column| {
        let name = column.name.replace("current", page.before);
        Element::new("th").class(class(column)).attribute("title", column.about).text(&name)
    });
    let row = |cells: &dyn Fn(&Column) -> Option<String>| {
        let cell = |(place, column): (usize, &&Column)| {
            let kind = if place == 0 { "th" } else { "td" };
            Element::new(kind).class(class(column)).text(&cells(column).unwrap_or_default())
        };
        Element::new("tr").children(columns.iter().enumerate().map(cell))
    };
    let body =
        shown.iter().map(|&position| row(&|column| (column.cell)(page, &page.tasks[position])));
    let total = row(&|column| (column.total)(page)).class("total");
    let table = Element::new("table")
        .child(Element::new("thead").child(Element::new("tr").children(head)))
        .child(Element::new("tbody").children(body).child(total));
    let table = Element::new("div").class("scroll").child(table);
    let hidden = (hidden > 0)
        .then(|| Element::new("p").text(hidden_line(hidden, "with smaller spends").trim_end()));
    Element::new("div").class("summary").child(table).children(hidden)
}
