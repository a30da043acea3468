//! `outlay replay`: learners on recorded outcomes, and how far the record is from the model.

mod findings;
mod output;
mod page;
mod recorded;
mod table;

use std::sync::atomic::Ordering;

use outlay::Problem;
use outlay::learner::LearnerSpec;
use outlay::replay::assumptions::{TaskAssumptions, assumptions};
use outlay::replay::{Order, Record, Replay, ReplayRun, ReplaySummary, Splits};

use crate::arguments::ReplayArguments;
use crate::console::{Progress, Work, locked};
use crate::failure::Failure;
use crate::input;
use crate::origin;
use crate::page::ReportFile;
use crate::report::{Ending, Format, Report};
use crate::run::{interrupt, threads};
use crate::shell;
use crate::simulate::request::{DEFAULT_LEARNERS, DEFAULT_REPLICATIONS, learners};

/// Rounds where nobody says: rows are drawn again and again, and more rounds than rows tell little.
const DEFAULT_ROUNDS: u64 = 1000;

/// What a replay came to.
pub(crate) struct Replayed {
    pub(crate) problem: Problem,
    pub(crate) record: Record,
    /// How the file of rows is called.
    pub(crate) runs: String,
    pub(crate) summary: ReplaySummary,
    pub(crate) assumptions: Vec<TaskAssumptions>,
}

pub(crate) fn run(arguments: &ReplayArguments, quiet: bool) -> Result<Report, Failure> {
    if input::is_stdin(&arguments.problem) && input::is_stdin(&arguments.runs) {
        return Err(Failure(
            "only one of problem and rows can come from standard input".to_owned(),
        ));
    }
    // Before anything is played: a report that cannot be written would cost the wait.
    let file =
        ReportFile::new(arguments.report.as_deref(), &[&arguments.problem, &arguments.runs])?;
    let problem = origin::problem(&arguments.problem)?;
    let (place, text) = (input::place(&arguments.runs), input::text(&arguments.runs)?);
    let recorded = recorded::read(&problem, arguments, &place, &text)?;
    let record = Record::new(&problem, recorded.tasks)
        .map_err(|error| Failure::many(&place, &[error.to_string()]))?;
    let learners = match &arguments.learners[..] {
        [] => learners(&DEFAULT_LEARNERS)?,
        given => learners(given)?,
    };
    let replay = plan(&problem, &record, &learners, arguments);
    replay.check()?;
    let splits = replay.splits()?;
    let Some(results) = play(&replay, &splits, arguments, quiet)? else {
        return Ok(Report {
            result: String::new(),
            remarks: vec!["stopped: nothing was kept".to_owned()],
            ending: Ending::Stopped,
        });
    };
    let summary = replay.summary(&splits, &results)?;
    let assumptions = assumptions(&problem, &record);
    let mut remarks = recorded.remarks;
    remarks.extend(about_environment(&problem));
    let command = command(arguments, &learners, &summary);
    let replayed = Replayed { problem, record, runs: place, summary, assumptions };
    if let Some(file) = file {
        remarks.push(file.write(&page::page(&replayed, &command))?);
    }
    let result = match arguments.format {
        Format::Table => table::tables(&replayed),
        Format::Json => output::json(&replayed)?,
        Format::Csv => output::csv(&replayed)?,
    };
    Ok(Report::new(result).with_remarks(remarks))
}

fn plan<'a>(
    problem: &'a Problem,
    record: &'a Record,
    learners: &'a [LearnerSpec],
    arguments: &ReplayArguments,
) -> Replay<'a> {
    let order = Order::from(arguments.order);
    let (rounds, replications) = match order {
        // A second pass would show learners what they know already, and only their own draws differ
        // from replication to replication.
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
        seed: arguments.seed,
    }
}

/// Plays everything; nothing if somebody stopped it.
fn play(
    replay: &Replay<'_>,
    splits: &Splits,
    arguments: &ReplayArguments,
    quiet: bool,
) -> Result<Option<Vec<Vec<ReplayRun>>>, Failure> {
    let stop = interrupt::flag()?;
    let total = replay.learners.len() * replay.replications as usize;
    let work = Work {
        unit: Some("rounds"),
        total: total as f64 * replay.rounds as f64,
        ..Work::default()
    };
    let mut results: Vec<Vec<Option<ReplayRun>>> =
        vec![vec![None; replay.replications as usize]; replay.learners.len()];
    Progress::resumed("replications", total, 0, work, quiet).during(|progress| {
        replay.run(splits, threads(arguments.threads), stop, |job, run| {
            results[job.learner][job.replication as usize] = Some(run);
            locked(progress).step_by(replay.rounds as f64);
        })
    })?;
    if stop.load(Ordering::Relaxed) {
        return Ok(None);
    }
    Ok(Some(results.into_iter().map(|runs| runs.into_iter().flatten().collect()).collect()))
}

/// A command that gives the same results.
fn command(
    arguments: &ReplayArguments,
    learners: &[LearnerSpec],
    summary: &ReplaySummary,
) -> String {
    let paths = [&arguments.problem, &arguments.runs].map(|path| path.display().to_string());
    let mut words: Vec<String> =
        ["outlay", "replay"].map(str::to_owned).into_iter().chain(paths).collect();
    let columns =
        [("--task", Some(&arguments.task)), ("--threshold", arguments.threshold.as_ref())];
    let columns = columns
        .into_iter()
        .chain([("--spend", arguments.spend.as_ref()), ("--success", arguments.success.as_ref())]);
    for (flag, name) in columns.chain([("--reward", Some(&arguments.reward))]) {
        // What is the default need not be said.
        if let Some(name) = name.filter(|name| flag.trim_start_matches('-') != name.as_str()) {
            words.extend([flag.to_owned(), name.clone()]);
        }
    }
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
    shell::command(&words)
}

/// What of the problem is not played.
fn about_environment(problem: &Problem) -> Option<String> {
    let environment = problem.environment();
    let said = environment.budget.is_some()
        || environment.delay.is_some()
        || environment.available.is_some();
    said.then(|| {
        "what the problem says in [environment] is for simulate; every round was played with `budget`, all tasks, no delay".to_owned()
    })
}
