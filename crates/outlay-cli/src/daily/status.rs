//! `outlay status`: where things stand. Looking changes nothing.

use outlay::ledger::{Ledger, LedgerStatus, TaskStatus};
use serde::Serialize;

use super::{guards_in_words, state_file, status_page};
use crate::arguments::StatusArguments;
use crate::failure::Failure;
use crate::number::{Precision, counted, figure, percent};
use crate::origin;
use crate::page::ReportFile;
use crate::report::{Format, Report, csv, json};
use crate::table::{Align, Table, hidden_line, most_important};

/// Open rounds that are named one by one.
const NAMED: usize = 8;

pub(crate) fn run(arguments: &StatusArguments, quiet: bool) -> Result<Report, Failure> {
    let file = ReportFile::new(arguments.report.as_deref(), &[&arguments.state])?;
    let ledger = state_file::look(&arguments.state)?;
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
        let title = format!("{}: where things stand", origin::name(&arguments.state));
        remarks
            .push(file.write(&status_page::page(&ledger, &standing, title, lines, quiet)?.html())?);
    }
    Ok(Report::new(result).with_remarks(remarks))
}

#[derive(Serialize)]
struct Record<'a> {
    learner: String,
    rounds: u64,
    open: Vec<OpenRecord>,
    spend: f64,
    gain: f64,
    tasks: Vec<Row<'a>>,
    warnings: Vec<String>,
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
    gain: f64,
    mean: Option<f64>,
    bonus: Option<f64>,
    next: Option<f64>,
    /// Of completions this far from what the curve says, if the curve is right; null: nothing to
    /// doubt.
    doubt: Option<f64>,
}

impl<'a> Record<'a> {
    fn new(ledger: &'a Ledger, standing: &LedgerStatus, warnings: Vec<String>) -> Self {
        Self {
            learner: ledger.settings().learner.to_string(),
            rounds: standing.rounds,
            open: standing
                .open
                .iter()
                .map(|&(round, waiting)| OpenRecord { round, waiting })
                .collect(),
            spend: standing.spend,
            gain: standing.gain,
            tasks: rows(ledger, standing),
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
            gain: standing.gain,
            mean: standing.mean,
            bonus: standing.bonus,
            next: standing.next,
            doubt: standing.misfit.map(|doubt| doubt.probability),
        })
        .collect()
}

fn table(ledger: &Ledger, standing: &LedgerStatus) -> String {
    use Align::{Left, Right};
    let budget = ledger.problem().budget();
    let precision = Precision::of_budget(budget);
    let mut table = Table::new(&[
        ("task", Left),
        ("spend", Right),
        ("share", Right),
        ("told", Right),
        ("completed", Right),
        ("expected", Right),
        ("mean", Right),
        ("bonus", Right),
        ("next", Right),
    ]);
    let (shown, hidden) = most_important(standing.tasks.len(), |task| standing.tasks[task].spend);
    for &position in &shown {
        let (task, name) = (&standing.tasks[position], ledger.problem().tasks()[position].name());
        table.row(vec![
            if task.misfit.is_some() { format!("{name} (!)") } else { name.to_owned() },
            precision.amount(task.spend),
            task.share.map(percent).unwrap_or_default(),
            task.reported.to_string(),
            task.completions.to_string(),
            format!("{:.1}", task.expected),
            task.mean.map(figure).unwrap_or_default(),
            task.bonus.map(figure).unwrap_or_default(),
            task.next.map(|next| precision.amount(next)).unwrap_or_default(),
        ]);
    }
    let sum = |of: fn(&TaskStatus) -> f64| standing.tasks.iter().map(of).sum::<f64>();
    table.totals(vec![
        "total".to_owned(),
        precision.amount(standing.spend),
        String::new(),
        format!("{}", sum(|task| task.reported as f64)),
        format!("{}", sum(|task| task.completions as f64)),
        format!("{:.1}", sum(|task| task.expected)),
        String::new(),
        String::new(),
        standing
            .tasks
            .iter()
            .map(|task| task.next)
            .sum::<Option<f64>>()
            .map(|next| precision.amount(next))
            .unwrap_or_default(),
    ]);
    table.render() + &hidden_line(hidden, "with smaller spends")
}

fn summary(ledger: &Ledger, standing: &LedgerStatus) -> Vec<String> {
    let settings = ledger.settings();
    let guards = guards_in_words(&settings.guards);
    let rounds = counted(standing.rounds as usize, "round");
    let mut lines = vec![format!(
        "{} · {rounds} · gained {} for {}{guards}",
        settings.learner,
        figure(standing.gain),
        figure(standing.spend)
    )];
    if standing.open.is_empty() {
        lines.push("every outcome has been told".to_owned());
        return lines;
    }
    let named: Vec<String> = standing
        .open
        .iter()
        .take(NAMED)
        .map(|(round, waiting)| format!("{round} ({waiting})"))
        .collect();
    let more = standing.open.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let open = counted(standing.open.len(), "open round");
    lines.push(format!("{open}, with the outcomes still to be told: {}{more}", named.join(", ")));
    lines
}

/// Where completions and curves disagree.
fn warnings(ledger: &Ledger, standing: &LedgerStatus) -> Vec<String> {
    let tasks = ledger.problem().tasks().iter().zip(&standing.tasks);
    tasks
        .filter_map(|(task, standing)| {
            let probability = standing.misfit?.probability;
            let probability = if probability > 0.0 { format!("probability at most {probability:.0e}") } else { "impossible".to_owned() };
            Some(format!(
                "(!) {}: {} of {} completed where its curve says {:.1} ({probability} if the curve is right): check what was told, or fit \
                 the curve again",
                task.name(),
                standing.completions,
                standing.reported,
                standing.expected
            ))
        })
        .collect()
}
