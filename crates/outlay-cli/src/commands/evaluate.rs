//! `outlay evaluate`: compares a plan with the optimal split.

use std::path::Path;

use outlay::plan::{Comparison, Evaluation, evaluate, outcomes};
use outlay::{Allocation, Problem, Status, Task};
use serde::Serialize;

use crate::args::EvaluateArgs;
use crate::commands::allocate::{status_text, unspent, unspent_reason};
use crate::commands::frontier::around;
use crate::failure::Failure;
use crate::input;
use crate::input::limits::limited_problem;
use crate::input::problem_source;
use crate::input::spend_plan;
use crate::input::values::values;
use crate::output::ReportFile;
use crate::output::command_line;
use crate::output::table::{Align, Table, hidden_line, most_important};
use crate::output::{CommandOutput, Ending, Format, csv, json, without_underflow};
use outlay::text::listed;
use outlay_report::decision::{DecisionPage, Frontier, TaskView};
use outlay_report::labels::Labels;
use outlay_report::number::{self, Precision, figure, signed_percent};

/// Relative differences below this are rounding errors.
const ROUNDING: f64 = 1e-12;

pub(crate) fn run(arguments: &EvaluateArgs, quiet: bool) -> Result<CommandOutput, Failure> {
    let inputs: Vec<&Path> = std::iter::once(arguments.solve.problem.as_path())
        .chain(arguments.plan.as_deref())
        .collect();
    let file = ReportFile::new(arguments.solve.report.as_deref(), &inputs)?;
    if arguments.plan.as_deref().is_some_and(input::is_stdin)
        && input::is_stdin(&arguments.solve.problem)
    {
        return Err(Failure(
            "the problem and the plan cannot both come from standard input".to_owned(),
        ));
    }
    let problem = limited_problem(&arguments.solve)?;
    let values = values(&problem, arguments.solve.values.as_deref())?;
    let mut remarks: Vec<String> = Vec::new();
    let plan = match &arguments.plan {
        Some(path) => spend_plan::read(&problem, path, arguments.csv.form(), &mut remarks)?,
        None => current(&problem)?,
    };
    let budget = arguments.budget.unwrap_or(problem.budget());
    let options = arguments.solve.options(&problem);
    let evaluation = evaluate(&problem, &values, budget, &plan, &options)?;
    let rows = rows(&problem, &values, &evaluation);
    if arguments.plan.is_none() {
        remarks.push("no --plan: evaluating the tasks' `current` spends".to_owned());
    }
    let labels = Labels::of(&problem);
    let result = match arguments.solve.format {
        Format::Table => {
            format!(
                "{}\n{}\n",
                table(&rows, &evaluation, problem.has_counts()),
                summary(&evaluation, &labels).join("\n")
            )
        }
        Format::Json => json(&Record::new(&evaluation, rows))?,
        Format::Csv => {
            remarks.extend(summary(&evaluation, &labels));
            csv(rows)?
        }
    };
    if let Some(file) = file {
        let points = around(&problem, &values, (budget, evaluation.total), &options, quiet)?;
        let title = format!(
            "{}: the plan and the best split",
            problem_source::name(&arguments.solve.problem)
        );
        remarks.push(file.write(&page(title, &problem, &values, &evaluation, points).html())?);
    }
    let ending =
        if evaluation.violations.is_empty() { Ending::Success } else { Ending::CheckFailed };
    Ok(CommandOutput { result, remarks, ending })
}

/// The tasks' current spends as a plan.
fn current(problem: &Problem) -> Result<Vec<f64>, Failure> {
    let missing: Vec<&str> =
        problem.tasks().iter().filter(|task| task.current().is_none()).map(Task::name).collect();
    if !missing.is_empty() {
        return Err(Failure(format!("no plan: give --plan, or current for {}", listed(&missing))));
    }
    Ok(problem.tasks().iter().filter_map(Task::current).collect())
}

#[derive(Serialize)]
struct Record<'a> {
    budget: f64,
    plan: PlanRecord,
    best: ComparisonRecord,
    /// The optimal split of the plan's total; null if that equals the budget.
    best_for_plan_total: Option<ComparisonRecord>,
    tasks: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct PlanRecord {
    total: f64,
    value: f64,
    violations: Vec<String>,
}

#[derive(Serialize)]
struct ComparisonRecord {
    budget: f64,
    value: f64,
    lift: f64,
    relative_lift: Option<f64>,
    upper_bound: f64,
    gap: f64,
    #[serde(serialize_with = "without_underflow")]
    price: f64,
    status: Status,
    unspent: f64,
    unspent_reason: Option<&'static str>,
}

#[derive(Serialize)]
struct Row<'a> {
    task: &'a str,
    plan_spend: f64,
    best_spend: f64,
    #[serde(rename = "move")]
    change: f64,
    plan_success: f64,
    best_success: f64,
    plan_completions: f64,
    best_completions: f64,
    plan_reward: f64,
    best_reward: f64,
}

impl<'a> Record<'a> {
    fn new(evaluation: &Evaluation, tasks: Vec<Row<'a>>) -> Self {
        Self {
            budget: evaluation.budget,
            plan: PlanRecord {
                total: evaluation.total,
                value: evaluation.value,
                violations: evaluation.violations.iter().map(ToString::to_string).collect(),
            },
            best: ComparisonRecord::new(&evaluation.best),
            best_for_plan_total: evaluation.best_for_total.as_ref().map(ComparisonRecord::new),
            tasks,
        }
    }
}

impl ComparisonRecord {
    fn new(comparison: &Comparison) -> Self {
        let allocation = &comparison.allocation;
        Self {
            budget: allocation.budget,
            value: allocation.value,
            lift: comparison.lift,
            relative_lift: comparison.relative_lift,
            upper_bound: allocation.upper_bound,
            gap: allocation.gap(),
            price: allocation.price,
            status: allocation.status,
            unspent: allocation.unspent,
            unspent_reason: unspent_reason(allocation, false),
        }
    }
}

fn rows<'a>(problem: &'a Problem, values: &[f64], evaluation: &Evaluation) -> Vec<Row<'a>> {
    let row = |position: usize| {
        let task = &problem.tasks()[position];
        let (plan_spend, best_spend) =
            (evaluation.plan[position], evaluation.best.allocation.spend[position]);
        let (plan_success, best_success) =
            (task.curve().success(plan_spend), task.curve().success(best_spend));
        let (plan_completions, best_completions) =
            (task.volume() * plan_success, task.volume() * best_success);
        Row {
            task: task.name(),
            plan_spend,
            best_spend,
            change: evaluation.best.moves[position],
            plan_success,
            best_success,
            plan_completions,
            best_completions,
            plan_reward: values[position] * plan_completions,
            best_reward: values[position] * best_completions,
        }
    };
    (0..problem.tasks().len()).map(row).collect()
}

fn table(rows: &[Row<'_>], evaluation: &Evaluation, has_counts: bool) -> String {
    use Align::{Left, Right};
    let precision = precision(evaluation);
    let mut table = Table::new(&[
        ("task", Left),
        ("plan spend", Right),
        ("best spend", Right),
        ("move", Right),
        ("plan completions", Right),
        ("best completions", Right),
        ("plan reward", Right),
        ("best reward", Right),
    ]);
    let (shown, hidden) = most_important(rows.len(), |position| rows[position].change.abs());
    let completions = |number: f64| if has_counts { figure(number) } else { String::new() };
    for &position in &shown {
        let row = &rows[position];
        table.row(vec![
            row.task.to_owned(),
            precision.amount(row.plan_spend),
            precision.amount(row.best_spend),
            precision.change(row.change),
            completions(row.plan_completions),
            completions(row.best_completions),
            figure(row.plan_reward),
            figure(row.best_reward),
        ]);
    }
    let best = &evaluation.best.allocation;
    let best_total = best.spend.iter().sum::<f64>();
    table.totals(vec![
        "total".to_owned(),
        precision.amount(evaluation.total),
        precision.amount(best_total),
        precision.change(best_total - evaluation.total),
        completions(rows.iter().map(|row| row.plan_completions).sum()),
        completions(rows.iter().map(|row| row.best_completions).sum()),
        figure(evaluation.value),
        figure(best.value),
    ]);
    table.render() + &hidden_line(hidden, "with smaller moves")
}

fn summary(evaluation: &Evaluation, labels: &Labels) -> Vec<String> {
    let precision = precision(evaluation);
    let period = labels.per_period();
    let value = |value: f64| format!("value {} {period}", labels.reward(&figure(value)));
    let best = &evaluation.best;
    let mut lines = vec![
        format!(
            "plan  {} · spends {}",
            value(evaluation.value),
            spends(evaluation, precision, labels)
        ),
        format!(
            "best  {} · {} (gap {})",
            value(best.allocation.value),
            status_text(best.allocation.status),
            number::gap(best.allocation.gap())
        ),
        format!("lift  {}", lift(best, evaluation, precision, labels)),
    ];
    if let Some(comparison) = &evaluation.best_for_total {
        lines.push(format!(
            "with the {} of the plan: best {}, lift {}",
            labels.money(&precision.amount(evaluation.total)),
            value(comparison.allocation.value),
            lift(comparison, evaluation, precision, labels)
        ));
    }
    lines.extend(evaluation.violations.iter().map(|violation| format!("violation: {violation}")));
    lines
}

/// The report; `points` are the optimal splits for other budgets.
fn page<'problem>(
    title: String,
    problem: &'problem Problem,
    values: &[f64],
    evaluation: &Evaluation,
    points: Vec<Allocation>,
) -> DecisionPage<'problem> {
    let best = &evaluation.best.allocation;
    let precision = precision(evaluation);
    let outcomes = outcomes(problem, values, evaluation.budget, &best.spend, 0.0);
    let plan: Vec<Option<f64>> = evaluation.plan.iter().copied().map(Some).collect();
    let labels = Labels::of(problem);
    let mut headline = summary(evaluation, &labels);
    headline.push(format!(
        "price {} per {} · {}",
        number::price(best.price, best.budget, best.value),
        labels.unit(),
        unspent(best, false, precision)
    ));
    DecisionPage {
        title,
        command: command_line::of_this_process(),
        headline,
        before: "plan",
        after: "best split",
        price: best.price,
        budget: evaluation.budget,
        precision,
        tasks: TaskView::all(problem, values, &plan, &outcomes),
        frontier: Frontier {
            labels: labels.clone(),
            points,
            budget: Some(evaluation.budget),
            chosen: Some((evaluation.budget, best.value)),
            before: Some((evaluation.total, evaluation.value)),
        },
        labels,
    }
}

fn precision(evaluation: &Evaluation) -> Precision {
    let amounts =
        evaluation.plan.iter().chain(&evaluation.best.allocation.spend).chain([&evaluation.budget]);
    Precision::of_amounts(evaluation.budget.max(evaluation.total), amounts.copied())
}

fn spends(evaluation: &Evaluation, precision: Precision, labels: &Labels) -> String {
    let (total, budget) = (evaluation.total, evaluation.budget);
    let budget_text = labels.money(&precision.amount(budget));
    let of = format!("{} of {budget_text} {}", precision.amount(total), labels.per_period());
    let left = budget - total;
    if left.abs() <= ROUNDING * budget {
        of
    } else if left < 0.0 {
        format!("{of}, {} over the budget", precision.amount(-left))
    } else {
        format!("{of}, {} left", precision.amount(left))
    }
}

fn lift(
    comparison: &Comparison,
    evaluation: &Evaluation,
    precision: Precision,
    labels: &Labels,
) -> String {
    let period = labels.per_period();
    if comparison.keeps_plan {
        return "none: no better split than the plan was found".to_owned();
    }
    let allocation = &comparison.allocation;
    let saved = evaluation.total - (allocation.budget - allocation.unspent);
    if comparison.lift.abs() <= ROUNDING * evaluation.value && saved > 0.0 {
        let saved = labels.money(&precision.amount(saved));
        return format!("none, but the same value costs {saved} less {period}");
    }
    let sign = if comparison.lift > 0.0 { "+" } else { "" };
    let share = comparison
        .relative_lift
        .map(|share| format!(" ({})", signed_percent(share)))
        .unwrap_or_default();
    format!("{sign}{} {period}{share}", labels.reward(&figure(comparison.lift)))
}
