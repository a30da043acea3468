//! `outlay replay`: learners on recorded outcomes, and tests of the model's assumptions.

mod holdout;
mod record;
mod rows;
mod table;

use std::sync::atomic::Ordering;

use outlay::Problem;
use outlay::learner::LearnerSpec;
use outlay::replay::assumptions::assumptions;
use outlay::replay::{
    Order, Record, RecordError, Replay, ReplayRun, ReplaySummary, RowConditions, Splits, TaskRows,
};
use outlay_report::replay::{self, Replayed};

use crate::args::ReplayArgs;
use crate::commands::simulate::request::{DEFAULT_LEARNERS, DEFAULT_REPLICATIONS, learners};
use crate::failure::Failure;
use crate::input;
use crate::input::csv_table::CsvFile;
use crate::input::problem_source;
use crate::output::ReportFile;
use crate::output::command_line;
use crate::output::progress::{Work, with_progress};
use crate::output::{CommandOutput, Ending, Format};
use crate::run::{interrupt, threads};
use holdout::{Divided, divide};

/// Default number of rounds. Rows are drawn repeatedly, so more rounds add little information.
const DEFAULT_ROUNDS: u64 = 1000;

pub(crate) fn run(arguments: &ReplayArgs, quiet: bool) -> Result<CommandOutput, Failure> {
    if input::is_stdin(&arguments.problem) && input::is_stdin(&arguments.runs) {
        return Err(Failure(
            "only one of problem and rows can come from standard input".to_owned(),
        ));
    }
    // Validate the report path before the computation.
    let file =
        ReportFile::new(arguments.report.as_deref(), &[&arguments.problem, &arguments.runs])?;
    let problem = problem_source::problem(&arguments.problem)?;
    let runs = CsvFile::read(&arguments.runs)?;
    let mut recorded = rows::read(&problem, arguments, &runs)?;
    let file_name = runs.name;
    let mut remarks = std::mem::take(&mut recorded.remarks);
    let divided = match arguments.split_at {
        Some(at) => Some(divide(&problem, &mut recorded, at, &file_name)?),
        None => None,
    };
    let problem = divided.as_ref().map_or(problem, |divided| divided.fitted.problem.clone());
    let record = record(&problem, recorded.tasks, recorded.conditions, divided.is_some())
        .map_err(|error| Failure::many(&file_name, &[error.to_string()]))?;
    let learners = match &arguments.learners[..] {
        [] => learners(&DEFAULT_LEARNERS)?,
        given => learners(given)?,
    };
    let replay = plan(&problem, &record, &learners, arguments);
    replay.check()?;
    let splits = replay.splits()?;
    let Some(results) = play(&replay, &splits, arguments, quiet)? else {
        return Ok(CommandOutput {
            result: String::new(),
            remarks: vec!["interrupted: nothing was saved".to_owned()],
            ending: Ending::Interrupted,
        });
    };
    let summary = replay.summary(&splits, &results)?;
    let assumptions = assumptions(&problem, &record);
    let earlier = divided.as_ref().map_or(0, |divided| divided.fitted.clipped);
    remarks.extend(replay::clipped_remark(&problem, &record, earlier));
    remarks.extend(replay::conditions_remark(&problem, &record));
    remarks.extend(about_environment(&problem, &record));
    remarks.extend(divided.iter().flat_map(Divided::remarks));
    let holdout = divided.map(|divided| divided.judged(&replay)).transpose()?;
    let command = command(arguments, &learners, &summary);
    let replayed = Replayed { problem, record, runs: file_name, summary, assumptions, holdout };
    if let Some(file) = file {
        remarks.push(file.write(&replay::page(&replayed, &command))?);
    }
    let result = match arguments.format {
        Format::Table => table::tables(&replayed),
        Format::Json => record::json(&replayed)?,
        Format::Csv => record::csv(&replayed)?,
    };
    Ok(CommandOutput::new(result).with_remarks(remarks))
}

/// The record, with the conditions of the columns or else of the problem's profiles. Those of a
/// divided record are ignored, because its first part is fitted without them.
fn record(
    problem: &Problem,
    tasks: Vec<TaskRows>,
    conditions: Option<Vec<RowConditions>>,
    is_divided: bool,
) -> Result<Record, RecordError> {
    let of_profiles = || RowConditions::of_profiles(problem, &tasks).filter(|_| !is_divided);
    match conditions.or_else(of_profiles) {
        Some(conditions) => Record::with_conditions(problem, tasks, conditions),
        None => Record::new(problem, tasks),
    }
}

fn plan<'a>(
    problem: &'a Problem,
    record: &'a Record,
    learners: &'a [LearnerSpec],
    arguments: &ReplayArgs,
) -> Replay<'a> {
    let order = Order::from(arguments.order);
    let (rounds, replications) = match order {
        // A second pass would repeat known rows, and replications differ only in the learners'
        // random numbers.
        Order::Recorded => (record.shortest() as u64, 1),
        Order::Shuffled => (problem.horizon().unwrap_or(DEFAULT_ROUNDS), DEFAULT_REPLICATIONS),
    };
    Replay {
        problem,
        record,
        learners,
        order,
        rounds: arguments.rounds.unwrap_or(rounds),
        replications: arguments.replications.unwrap_or(replications),
        // Without a split, the problem may have been fitted to the very rows that are replayed.
        starts_from_seen: arguments.split_at.is_some(),
        seed: arguments.seed,
    }
}

/// Runs all replications; none if interrupted.
fn play(
    replay: &Replay<'_>,
    splits: &Splits,
    arguments: &ReplayArgs,
    quiet: bool,
) -> Result<Option<Vec<Vec<ReplayRun>>>, Failure> {
    let stop = interrupt::flag()?;
    let total = replay.learners.len() * replay.replications as usize;
    let work = Work {
        steps_name: "replications",
        steps: total,
        steps_done: 0,
        unit: Some("rounds"),
        total: total as f64 * replay.rounds as f64,
        done: 0.0,
    };
    let mut results: Vec<Vec<Option<ReplayRun>>> =
        vec![vec![None; replay.replications as usize]; replay.learners.len()];
    with_progress(work, quiet, |progress| {
        replay.run(splits, threads(arguments.threads), stop, |job, run| {
            results[job.learner][job.replication as usize] = Some(run);
            progress.step_by(replay.rounds as f64);
        })
    })?;
    if stop.load(Ordering::Relaxed) {
        return Ok(None);
    }
    Ok(Some(results.into_iter().map(|runs| runs.into_iter().flatten().collect()).collect()))
}

/// The command line that gives the same results.
fn command(arguments: &ReplayArgs, learners: &[LearnerSpec], summary: &ReplaySummary) -> String {
    let paths = [&arguments.problem, &arguments.runs].map(|path| path.display().to_string());
    let mut words: Vec<String> =
        ["outlay", "replay"].map(str::to_owned).into_iter().chain(paths).collect();
    let columns =
        [("--task", Some(&arguments.task)), ("--threshold", arguments.threshold.as_ref())];
    let columns = columns
        .into_iter()
        .chain([("--spend", arguments.spend.as_ref()), ("--success", arguments.success.as_ref())])
        .chain([("--count", arguments.count.as_ref()), ("--revenue", arguments.revenue.as_ref())])
        .chain([("--scale", arguments.scale.as_ref()), ("--volume", arguments.volume.as_ref())])
        .chain([("--date", arguments.date.as_ref())]);
    for (flag, name) in columns.chain([("--reward", Some(&arguments.reward))]) {
        // Default names are omitted.
        let has_default =
            !["--count", "--revenue", "--scale", "--volume", "--date"].contains(&flag);
        let is_default =
            |name: &&String| has_default && flag.trim_start_matches('-') == name.as_str();
        if let Some(name) = name.filter(|name| !is_default(name)) {
            words.extend([flag.to_owned(), name.clone()]);
        }
    }
    words
        .extend(arguments.split_at.iter().flat_map(|at| ["--split-at".to_owned(), at.to_string()]));
    for learner in learners {
        words.extend(["--learner".to_owned(), learner.to_string()]);
    }
    if summary.order == Order::Recorded {
        words.extend(["--order", "recorded"].map(str::to_owned));
    }
    let numbers = [
        ("--rounds", summary.rounds),
        ("--replications", summary.replications),
        ("--seed", summary.seed),
    ];
    words.extend(
        numbers.into_iter().flat_map(|(flag, number)| [flag.to_owned(), number.to_string()]),
    );
    command_line::command(&words)
}

/// A remark if the problem has settings that a replay ignores.
fn about_environment(problem: &Problem, record: &Record) -> Option<String> {
    let environment = problem.environment();
    if environment.has_profiles() && !record.has_conditions() {
        return Some(
            "[environment] of the problem is ignored with --split-at: every row was fitted and \
             replayed with the usual curves and volumes"
                .to_owned(),
        );
    }
    let said = environment.budget.is_some()
        || environment.delay.is_some()
        || environment.available.is_some();
    said.then(|| {
        "[environment] of the problem is ignored: every round used the full budget and all tasks, \
         without delay"
            .to_owned()
    })
}
