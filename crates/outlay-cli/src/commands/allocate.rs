//! `outlay allocate`: the optimal split and its certificate.

use outlay::curve::Shape;
use outlay::plan::{Rounded, Target, TaskOutcome, for_target, outcomes, round, value_of};
use outlay::text::listed;
use outlay::{Allocation, Oracle, Problem, Status, Task, UnspentReason};
use serde::{Serialize, Serializer};

use crate::args::AllocateArgs;
use crate::commands::frontier::around;
use crate::commands::target::TargetRecord;
use crate::failure::Failure;
use crate::input::limits::limited_problem;
use crate::input::problem_source;
use crate::input::values::values;
use crate::output::ReportFile;
use crate::output::command_line;
use crate::output::table::{Align, Table, hidden_line, most_important};
use crate::output::{CommandOutput, Ending, Format, csv, json, without_underflow};
use crate::run::threads;
use outlay_report::decision::{DecisionPage, Frontier, TaskView};
use outlay_report::labels::Labels;
use outlay_report::number::{self, Precision, figure, percent};

/// A split, possibly rounded, with its outcomes.
struct Answer {
    problem: Problem,
    allocation: Allocation,
    rounded: Option<Rounded>,
    target: Option<TargetRecord>,
    outcomes: Vec<TaskOutcome>,
}

pub(crate) fn run(arguments: &AllocateArgs, quiet: bool) -> Result<CommandOutput, Failure> {
    let file = ReportFile::new(arguments.solve.report.as_deref(), &[&arguments.solve.problem])?;
    let mut problem = limited_problem(&arguments.solve)?;
    if arguments.within_data {
        problem = problem.within_data().map_err(|errors| {
            Failure::problem("--within-data: the problem bounded to the spends of its log", &errors)
        })?;
    }
    if let Some(target) = arguments.target() {
        return run_target(arguments, problem, target, file, quiet);
    }
    let values = values(&problem, arguments.solve.values.as_deref())?;
    let budget = arguments.budget.unwrap_or(problem.budget());
    let options = arguments.solve.options(&problem);
    let mut oracle = Oracle::new(&problem);
    oracle.use_threads(threads(arguments.threads));
    oracle.allocate(&values, budget, &options)?;
    // This drops the oracle, which takes as much memory as the problem with 10^6 tasks.
    let mut allocation = oracle.into_last();
    let rounded =
        arguments.round.map(|unit| round(&problem, &values, &allocation, unit)).transpose()?;
    if let Some(rounded) = &rounded {
        adopt(&problem, &mut allocation, rounded);
    }
    let outcomes =
        outcomes(&problem, &values, budget, &allocation.spend, arguments.round.unwrap_or(0.0));
    let answer = Answer { problem, allocation, rounded, target: None, outcomes };
    answer.output(arguments, &values, file, quiet)
}

/// The split for a target instead of a budget.
fn run_target(
    arguments: &AllocateArgs,
    mut problem: Problem,
    target: Target,
    file: Option<ReportFile>,
    quiet: bool,
) -> Result<CommandOutput, Failure> {
    let counts_only = matches!(target, Target::CostPerCompletion(_));
    if counts_only {
        problem = problem.with_reward_unit("completions");
    }
    let values = if counts_only {
        target.objective(&problem, &[]).into_owned()
    } else {
        values(&problem, arguments.solve.values.as_deref())?
    };
    let options = arguments.solve.options(&problem);
    let plan = for_target(&problem, &values, target, arguments.budget, &options)?;
    let record = TargetRecord::new(&plan);
    let allocation = plan.allocation;
    let outcomes = outcomes(&problem, &values, allocation.budget, &allocation.spend, 0.0);
    let ending = if plan.is_reached { Ending::Success } else { Ending::CheckFailed };
    let answer = Answer { problem, allocation, rounded: None, target: Some(record), outcomes };
    Ok(CommandOutput { ending, ..answer.output(arguments, &values, file, quiet)? })
}

impl Answer {
    /// The result in the format asked for, and the report.
    fn output(
        &self,
        arguments: &AllocateArgs,
        values: &[f64],
        file: Option<ReportFile>,
        quiet: bool,
    ) -> Result<CommandOutput, Failure> {
        let mut remarks = Vec::new();
        let result = match arguments.solve.format {
            Format::Table => self.table(),
            Format::Json => json(&self.record())?,
            Format::Csv => {
                remarks.push(self.summary());
                csv(self.rows())?
            }
        };
        if let Some(file) = file {
            let budget = (self.allocation.budget, 0.0);
            let options = arguments.solve.options(&self.problem);
            let points = around(&self.problem, values, budget, &options, quiet)?;
            let name = problem_source::name(&arguments.solve.problem);
            let page = self.page(format!("{name}: the best split"), values, points);
            remarks.push(file.write(&page.html())?);
        }
        Ok(CommandOutput::new(result).with_remarks(remarks))
    }
}

/// Replaces the exact split by the rounded one. Upper bound, price and status remain those of the
/// exact split.
fn adopt(problem: &Problem, allocation: &mut Allocation, rounded: &Rounded) {
    allocation.set_spend(problem, &rounded.spend);
    allocation.value = rounded.value;
    allocation.upper_bound = allocation.upper_bound.max(rounded.value);
    allocation.unspent = rounded.unspent;
}

/// An allocation and its certificate without the tasks, as `allocate` and `frontier` write them.
#[derive(Serialize)]
pub(crate) struct AllocationRecord {
    budget: f64,
    value: f64,
    upper_bound: f64,
    gap: f64,
    #[serde(serialize_with = "without_underflow")]
    price: f64,
    status: Status,
    unspent: f64,
    unspent_reason: Option<&'static str>,
}

impl AllocationRecord {
    pub(crate) fn new(allocation: &Allocation, is_rounded: bool) -> Self {
        Self {
            budget: allocation.budget,
            value: allocation.value,
            upper_bound: allocation.upper_bound,
            gap: allocation.gap(),
            price: allocation.price,
            status: allocation.status,
            unspent: allocation.unspent,
            unspent_reason: unspent_reason(allocation, is_rounded),
        }
    }
}

#[derive(Serialize)]
struct Record<'a> {
    #[serde(flatten)]
    allocation: AllocationRecord,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<&'a TargetRecord>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rounding: Option<RoundingRecord<'a>>,
    #[serde(serialize_with = "serialize_rows")]
    tasks: &'a Answer,
}

fn serialize_rows<S: Serializer>(answer: &&Answer, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(answer.rows())
}

#[derive(Serialize)]
struct RoundingRecord<'a> {
    unit: f64,
    value_before: f64,
    loss: f64,
    upper_bound: f64,
    moved_bounds: Vec<MovedBoundRecord<'a>>,
}

#[derive(Serialize)]
struct MovedBoundRecord<'a> {
    task: &'a str,
    bound: &'static str,
    given: f64,
    used: f64,
}

#[derive(Serialize)]
struct Row<'a> {
    task: &'a str,
    spend: f64,
    share: f64,
    success: f64,
    expected_completions: f64,
    expected_reward: f64,
    /// Infinite where a curve starts vertically, which JSON writes as null.
    #[serde(serialize_with = "without_underflow")]
    marginal_return: f64,
    return_up: Option<f64>,
    return_down: Option<f64>,
    return_on_spend: Option<f64>,
    cost_per_completion: Option<f64>,
    bound: Option<&'static str>,
    /// Only if a task has `covers`.
    #[serde(skip_serializing_if = "Option::is_none")]
    extrapolates: Option<bool>,
}

impl Answer {
    fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        // For all tasks or none, so that the rows of a CSV file have the same columns.
        let has_covers = self.problem.tasks().iter().any(|task| task.covers().is_some());
        self.problem.tasks().iter().zip(&self.outcomes).map(move |(task, outcome)| Row {
            task: task.name(),
            spend: outcome.spend,
            share: outcome.share,
            success: outcome.success,
            expected_completions: outcome.completions,
            expected_reward: outcome.expected_reward,
            marginal_return: outcome.marginal_return,
            return_up: outcome.return_up,
            return_down: outcome.return_down,
            return_on_spend: outcome.return_on_spend,
            cost_per_completion: outcome.cost_per_completion,
            bound: outcome.bound.map(outlay::plan::BindingBound::as_str),
            extrapolates: has_covers.then(|| task.extrapolates(outcome.spend)),
        })
    }

    fn record(&self) -> Record<'_> {
        Record {
            allocation: AllocationRecord::new(&self.allocation, self.rounded.is_some()),
            target: self.target.as_ref(),
            rounding: self.rounded.as_ref().map(|rounded| RoundingRecord {
                unit: rounded.unit,
                value_before: rounded.value_before,
                loss: rounded.loss(),
                upper_bound: rounded.upper_bound,
                moved_bounds: self.moved_bounds().collect(),
            }),
            tasks: self,
        }
    }

    /// The bounds that are not multiples of the unit.
    fn moved_bounds(&self) -> impl Iterator<Item = MovedBoundRecord<'_>> {
        let moved = self.rounded.iter().flat_map(|rounded| &rounded.moved_bounds);
        moved.map(|moved| MovedBoundRecord {
            task: self.problem.tasks()[moved.task].name(),
            bound: moved.bound.as_str(),
            given: moved.given,
            used: moved.used,
        })
    }

    /// The same as a line of text; empty if there are none.
    fn moved_bounds_line(&self) -> String {
        let text = |moved: MovedBoundRecord<'_>| {
            format!("{} of {} {} → {}", moved.bound, moved.task, moved.given, moved.used)
        };
        let moved: Vec<String> = self.moved_bounds().map(text).collect();
        if moved.is_empty() {
            return String::new();
        }
        format!("\nbounds that are not multiples are rounded inwards: {}", listed(&moved))
    }

    /// The tasks whose curves are extrapolated, as a line of text; empty if there are none.
    fn extrapolation_line(&self) -> String {
        let tasks = self.problem.tasks().iter().zip(&self.outcomes);
        let outside: Vec<String> = tasks
            .filter(|(task, outcome)| task.extrapolates(outcome.spend))
            .map(|(task, _)| match task.covers() {
                Some([low, high]) => format!("{} ({low} to {high})", task.name()),
                None => task.name().to_owned(),
            })
            .collect();
        if outside.is_empty() {
            return String::new();
        }
        format!(
            "\n! spends outside the log that the curves were fitted to (--within-data avoids \
             them): {}",
            listed(&outside)
        )
    }

    fn labels(&self) -> Labels {
        Labels::of(&self.problem)
    }

    fn precision(&self) -> Precision {
        let budget = self.allocation.budget;
        let spends = self.outcomes.iter().map(|outcome| outcome.spend);
        let currents = self.problem.tasks().iter().filter_map(Task::current);
        match &self.rounded {
            Some(rounded) => Precision::of_unit(rounded.unit),
            None => Precision::of_amounts(
                budget,
                spends.chain(currents).chain([self.allocation.unspent]),
            ),
        }
    }

    fn table(&self) -> String {
        use Align::{Left, Right};
        let precision = self.precision();
        let mut table = Table::new(&[
            ("task", Left),
            ("current", Right),
            ("spend", Right),
            ("share", Right),
            ("success", Right),
            ("completions", Right),
            ("expected reward", Right),
            ("return on spend", Right),
            ("cost per completion", Right),
            ("marginal return", Right),
            ("return up", Right),
            ("return down", Right),
            ("bound", Left),
        ]);
        let labels = self.labels();
        let with_currency = |number: Option<f64>| match number {
            Some(number) if labels.has_currency() => figure(number),
            _ => String::new(),
        };
        let has_steps = self.problem.tasks().iter().any(is_stepped);
        let larger_change = |number: Option<f64>| match number {
            Some(number) if has_steps => figure(number),
            _ => String::new(),
        };
        let (shown, hidden) =
            most_important(self.outcomes.len(), |position| self.outcomes[position].spend);
        let has_counts = self.problem.has_counts();
        for &position in &shown {
            let (task, outcome) = (&self.problem.tasks()[position], &self.outcomes[position]);
            table.row(vec![
                task.name().to_owned(),
                task.current().map(|current| precision.amount(current)).unwrap_or_default(),
                format!(
                    "{}{}",
                    if task.extrapolates(outcome.spend) { "! " } else { "" },
                    precision.amount(outcome.spend)
                ),
                percent(outcome.share),
                percent(outcome.success),
                if has_counts { figure(outcome.completions) } else { String::new() },
                figure(outcome.expected_reward),
                with_currency(outcome.return_on_spend),
                with_currency(outcome.cost_per_completion),
                // On a step curve it is zero, and the next two columns have the returns.
                if is_stepped(task) { String::new() } else { figure(outcome.marginal_return) },
                larger_change(outcome.return_up),
                larger_change(outcome.return_down),
                outcome.bound.map(|bound| bound.as_str().replace('_', " ")).unwrap_or_default(),
            ]);
        }
        let current: Option<f64> = self.problem.tasks().iter().map(Task::current).sum();
        let spent: f64 = self.outcomes.iter().map(|outcome| outcome.spend).sum();
        table.totals(vec![
            "total".to_owned(),
            current.map(|current| precision.amount(current)).unwrap_or_default(),
            precision.amount(spent),
            percent(self.outcomes.iter().map(|outcome| outcome.share).sum()),
            String::new(),
            if has_counts {
                figure(self.outcomes.iter().map(|outcome| outcome.completions).sum())
            } else {
                String::new()
            },
            figure(self.allocation.value),
            with_currency((spent > 0.0).then(|| self.allocation.value / spent)),
            String::new(),
            String::new(),
            String::new(),
            String::new(),
            String::new(),
        ]);
        format!(
            "{}{}\n{}\n",
            table.render(),
            hidden_line(hidden, "with smaller spends"),
            self.summary()
        )
    }

    /// The report; `points` are the optimal splits for other budgets.
    fn page(&self, title: String, values: &[f64], points: Vec<Allocation>) -> DecisionPage<'_> {
        let currents: Vec<Option<f64>> = self.problem.tasks().iter().map(Task::current).collect();
        // The current plan has a value only if all current spends are known.
        let before = currents.iter().copied().collect::<Option<Vec<f64>>>();
        let before =
            before.map(|current| (current.iter().sum(), value_of(&self.problem, values, &current)));
        DecisionPage {
            title,
            command: command_line::of_this_process(),
            headline: self.summary().lines().map(str::to_owned).collect(),
            before: "current",
            after: "best split",
            price: self.allocation.price,
            budget: self.allocation.budget,
            precision: self.precision(),
            labels: self.labels(),
            tasks: TaskView::all(&self.problem, values, &currents, &self.outcomes),
            frontier: Frontier {
                labels: self.labels(),
                points,
                budget: Some(self.allocation.budget),
                chosen: Some((self.allocation.budget, self.allocation.value)),
                before,
            },
        }
    }

    /// The summary line, and lines about the loss by rounding and the bounds that it moves.
    fn summary(&self) -> String {
        let allocation = &self.allocation;
        let labels = self.labels();
        let period = labels.per_period();
        let mut parts = vec![
            match self.target {
                None => {
                    format!("budget {}", labels.money_per_period(&number::plain(allocation.budget)))
                }
                Some(_) => {
                    let spend = self.precision().amount(allocation.budget);
                    format!("spend {}", labels.money_per_period(&spend))
                }
            },
            format!("value {} {period}", labels.reward(&figure(allocation.value))),
        ];
        match &self.rounded {
            None => parts.push(format!(
                "{} (gap {})",
                status_text(allocation.status),
                number::gap(allocation.gap())
            )),
            Some(rounded) => {
                let before = Allocation { value: rounded.value_before, ..allocation.clone() };
                parts.push(format!(
                    "{} before rounding (gap {})",
                    status_text(before.status),
                    number::gap(before.gap())
                ));
            }
        }
        let price = number::price(allocation.price, allocation.budget, allocation.value);
        parts.push(format!("price {price} per {}", labels.unit()));
        if self.target.is_none() {
            parts.push(unspent(allocation, self.rounded.is_some(), self.precision()));
        }
        let rounding = self.rounded.as_ref().map(|rounded| {
            format!(
                "\nrounding to multiples of {} costs {}{}{}",
                rounded.unit,
                number::loss(rounded.loss(), rounded.value_before, &labels),
                avoidable_loss(rounded, &labels),
                self.moved_bounds_line()
            )
        });
        let target = self.target.as_ref().map(|target| target.text(&labels) + "\n");
        target.unwrap_or_default()
            + &parts.join(" · ")
            + &rounding.unwrap_or_default()
            + &self.extrapolation_line()
    }
}

/// Whether the curve of a task is constant except for jumps.
fn is_stepped(task: &Task) -> bool {
    matches!(task.curve().shape(), Shape::Steps { .. })
}

/// Bound on the avoidable part of the loss by rounding; empty if there is none or no loss at all.
fn avoidable_loss(rounded: &Rounded, labels: &Labels) -> String {
    let avoidable = rounded.avoidable_loss().min(rounded.loss());
    let avoidable = number::loss(avoidable, rounded.value_before, labels);
    if avoidable == "nothing" {
        return String::new();
    }
    format!("; a better rounding would save at most {avoidable}")
}

/// Status of a split as text.
pub(crate) fn status_text(status: Status) -> &'static str {
    match status {
        Status::Optimal => "optimal",
        Status::WithinTolerance => "within tolerance",
        Status::Limit => "best found before the search limit",
    }
}

/// Reason for unspent budget, as in JSON.
pub(crate) fn unspent_reason(allocation: &Allocation, is_rounded: bool) -> Option<&'static str> {
    if allocation.unspent == 0.0 {
        return None;
    }
    let reason = allocation.unspent_reason.map(UnspentReason::as_str);
    reason.or(is_rounded.then_some("rounding"))
}

/// Unspent budget and its reason as text.
pub(crate) fn unspent(allocation: &Allocation, is_rounded: bool, precision: Precision) -> String {
    let why = match unspent_reason(allocation, is_rounded) {
        Some("at_max") => " (every task that would gain is at its max)",
        Some("curve_flat") => " (no task would gain from it)",
        Some("rounding") => " (less than one unit, or every task is at its max)",
        _ => return "unspent 0".to_owned(),
    };
    let amount = if is_rounded {
        number::plain(allocation.unspent)
    } else {
        precision.amount(allocation.unspent)
    };
    format!("unspent {amount}{why}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_avoidable_part_of_a_loss_is_stated_unless_there_is_none() {
        let rounded = |value: f64, upper_bound: f64| Rounded {
            unit: 1.0,
            spend: vec![],
            value,
            value_before: 2.0,
            upper_bound,
            unspent: 0.0,
            moved_bounds: vec![],
        };
        let labels = Labels::default();
        assert_eq!(avoidable_loss(&rounded(1.5, 1.5), &labels), "");
        assert_eq!(avoidable_loss(&rounded(2.0, 2.5), &labels), "");
        let stated = "; a better rounding would save at most 0.1000 per round (5.00%)";
        assert_eq!(avoidable_loss(&rounded(1.5, 1.6), &labels), stated);
    }
}
