//! `outlay status`: shows the state of a daily loop without changing it.

use outlay::Options;
use outlay::ledger::{Ledger, LedgerStatus, TaskStatus};
use outlay::problem::Amendment;
use serde::Serialize;

use crate::args::StatusArgs;
use crate::commands::frontier::around;
use crate::failure::Failure;
use crate::input::{problem_source, state_file};
use crate::output::ReportFile;
use crate::output::command_line;
use crate::output::table::{Align, Table, hidden_line, most_important};
use crate::output::{CommandOutput, Format, csv, json};
use outlay_report::number::{Precision, figure, percent};
use outlay_report::status::{page, summary, values, warnings};

pub(crate) fn run(arguments: &StatusArgs, quiet: bool) -> Result<CommandOutput, Failure> {
    let file = ReportFile::new(arguments.report.as_deref(), &[&arguments.state])?;
    let ledger = state_file::read(&arguments.state)?;
    let standing = ledger.status()?;
    let warnings = warnings(&ledger, &standing);
    let lines: Vec<String> =
        summary(&ledger, &standing).into_iter().chain(warnings.iter().cloned()).collect();
    let mut remarks = Vec::new();
    let result = match arguments.format {
        Format::Table => format!("{}\n{}\n", table(&ledger, &standing), lines.join("\n")),
        Format::Json => json(&Record::new(&ledger, &standing, warnings))?,
        Format::Csv => {
            remarks = warnings;
            csv(rows(&ledger, &standing))?
        }
    };
    if let Some(file) = file {
        let title = format!("{}: status", problem_source::name(&arguments.state));
        let problem = ledger.problem();
        let options = Options { leftover: problem.leftover(), ..Options::default() };
        let others = (problem.budget(), 0.0);
        let points = around(problem, &values(&standing), others, &options, quiet)?;
        let command = command_line::of_this_process();
        remarks.push(file.write(&page(&ledger, &standing, points, title, command).html())?);
    }
    Ok(CommandOutput::new(result).with_remarks(remarks))
}

#[derive(Serialize)]
struct Record<'a> {
    learner: String,
    rounds: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    cancelled: Vec<u64>,
    open: Vec<OpenRecord>,
    spend: f64,
    gain: f64,
    /// Outcomes whose reward was above the largest one and was clipped.
    clipped: u64,
    tasks: Vec<Row<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    amendments: Vec<AmendmentRecord>,
    warnings: Vec<String>,
}

#[derive(Serialize)]
struct AmendmentRecord {
    /// The number of rounds issued before it.
    after: u64,
    #[serde(flatten)]
    amendment: Amendment,
}

#[derive(Serialize)]
struct OpenRecord {
    round: u64,
    waiting: usize,
}

#[derive(Serialize)]
struct Row<'a> {
    task: &'a str,
    spend: f64,
    share: Option<f64>,
    told: u64,
    completed: u64,
    expected: f64,
    /// Reported spend as a share of the allocated one, where spends were reported.
    delivered: Option<f64>,
    /// A `max` to consider, because the task does not spend its allocation.
    proposed_max: Option<f64>,
    gain: f64,
    clipped: u64,
    mean: Option<f64>,
    /// Completions of the log that the learner started from, and their mean reward.
    seen_completions: Option<u64>,
    seen_mean: Option<f64>,
    bonus: Option<f64>,
    next: Option<f64>,
    /// Probability of a deviation this large if the curve is correct; null if it is not suspicious.
    doubt: Option<f64>,
    retired: bool,
}

impl<'a> Record<'a> {
    fn new(ledger: &'a Ledger, standing: &LedgerStatus, warnings: Vec<String>) -> Self {
        Self {
            learner: ledger.settings().learner.to_string(),
            rounds: standing.rounds,
            cancelled: standing.cancelled.clone(),
            open: standing
                .open
                .iter()
                .map(|&(round, waiting)| OpenRecord { round, waiting })
                .collect(),
            spend: standing.spend,
            gain: standing.gain,
            clipped: standing.clipped,
            tasks: rows(ledger, standing),
            amendments: ledger
                .amendments()
                .into_iter()
                .map(|(after, amendment)| AmendmentRecord { after, amendment })
                .collect(),
            warnings,
        }
    }
}

fn rows<'a>(ledger: &'a Ledger, standing: &LedgerStatus) -> Vec<Row<'a>> {
    let tasks = ledger.problem().tasks().iter().zip(&standing.tasks);
    tasks
        .map(|(task, standing)| Row {
            task: task.name(),
            spend: standing.spend,
            share: standing.share,
            told: standing.reported,
            completed: standing.completions,
            expected: standing.expected,
            delivered: standing.delivery.and_then(|delivery| delivery.share()),
            proposed_max: standing.delivery.and_then(|delivery| delivery.proposed_max),
            gain: standing.gain,
            clipped: standing.clipped,
            mean: standing.mean,
            seen_completions: standing.seen.map(|seen| seen.completions),
            seen_mean: standing.seen.and_then(|seen| seen.mean()),
            bonus: standing.bonus,
            next: standing.next,
            doubt: standing.misfit.map(|doubt| doubt.probability),
            retired: task.is_retired(),
        })
        .collect()
}

fn table(ledger: &Ledger, standing: &LedgerStatus) -> String {
    use Align::{Left, Right};
    let budget = ledger.problem().budget();
    let precision = Precision::of_budget(budget);
    let has_seen = standing.tasks.iter().any(|task| task.seen.is_some());
    let mut columns = vec![
        ("task", Left),
        ("spend", Right),
        ("share", Right),
        ("reported", Right),
        ("completed", Right),
        ("expected", Right),
        ("delivered", Right),
        ("mean", Right),
        ("bonus", Right),
        ("next", Right),
    ];
    if has_seen {
        columns.splice(8..8, [("in log", Right), ("log mean", Right)]);
    }
    let mut table = Table::new(&columns);
    let (shown, hidden) = most_important(standing.tasks.len(), |task| standing.tasks[task].spend);
    for &position in &shown {
        let (task, definition) = (&standing.tasks[position], &ledger.problem().tasks()[position]);
        let mut row = vec![
            format!(
                "{}{}{}",
                definition.name(),
                if definition.is_retired() { " (retired)" } else { "" },
                if task.misfit.is_some() { " (!)" } else { "" }
            ),
            precision.amount(task.spend),
            task.share.map(percent).unwrap_or_default(),
            task.reported.to_string(),
            task.completions.to_string(),
            format!("{:.1}", task.expected),
            task.delivery.and_then(|delivery| delivery.share()).map(percent).unwrap_or_default(),
            task.mean.map(figure).unwrap_or_default(),
            task.bonus.map(figure).unwrap_or_default(),
            task.next.map(|next| precision.amount(next)).unwrap_or_default(),
        ];
        if has_seen {
            let count = task.seen.map(|seen| seen.completions.to_string());
            let mean = task.seen.and_then(|seen| seen.mean()).map(figure);
            row.splice(8..8, [count.unwrap_or_default(), mean.unwrap_or_default()]);
        }
        table.row(row);
    }
    let sum = |of: fn(&TaskStatus) -> f64| standing.tasks.iter().map(of).sum::<f64>();
    let mut totals = vec![
        "total".to_owned(),
        precision.amount(standing.spend),
        String::new(),
        format!("{}", sum(|task| task.reported as f64)),
        format!("{}", sum(|task| task.completions as f64)),
        format!("{:.1}", sum(|task| task.expected)),
        String::new(),
        String::new(),
        String::new(),
        standing
            .ahead
            .as_ref()
            .map(|_| standing.tasks.iter().filter_map(|task| task.next).sum())
            .map(|next| precision.amount(next))
            .unwrap_or_default(),
    ];
    if has_seen {
        let seen = sum(|task| task.seen.map_or(0.0, |seen| seen.completions as f64));
        totals.splice(8..8, [format!("{seen}"), String::new()]);
    }
    table.totals(totals);
    table.render() + &hidden_line(hidden, "with smaller spends")
}
