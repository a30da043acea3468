//! `outlay new`: creates the state file of a daily loop.

use outlay::campaign::Guards;
use outlay::ledger::{Ledger, Settings};
use serde::Serialize;

use crate::args::NewArgs;
use crate::failure::Failure;
use crate::input::problem_source;
use crate::input::state_file::StateFile;
use crate::output::{CommandOutput, Format, csv, json};
use outlay_report::labels::Labels;
use outlay_report::number::{counted, plain};
use outlay_report::status::guards_text;

pub(crate) fn run(arguments: &NewArgs) -> Result<CommandOutput, Failure> {
    let problem = problem_source::problem(&arguments.problem)?;
    let learner = arguments.learner.as_deref().map(str::parse).transpose()?.unwrap_or_default();
    let guards = Guards {
        max_change: arguments.max_change,
        floor: arguments.floor,
        min_move: arguments.min_move,
    };
    let settings = Settings {
        learner,
        horizon: arguments.horizon,
        seed: arguments.seed,
        guards,
        ignore_seen: arguments.ignore_seen,
    };
    let ledger = Ledger::new(&problem, settings)?;
    let file = StateFile::lock(&arguments.state)?;
    let path = arguments.state.display();
    if file.exists() {
        return Err(Failure(format!(
            "{path} already exists: continue with `outlay next {path}`, or give another file"
        )));
    }
    file.save(&ledger)?;
    let tasks = counted(problem.tasks().len(), "task");
    let record = Record {
        state: path.to_string(),
        learner: learner.to_string(),
        tasks: problem.tasks().len(),
        budget: problem.budget(),
        seen_completions: completions_seen(&ledger),
    };
    Ok(CommandOutput::new(match arguments.format {
        Format::Table => format!(
            "{path}: {learner} plans {tasks} with {}{}\n{}next: `outlay next {path}`\n",
            Labels::of(&problem).money_per_period(&plain(problem.budget())),
            guards_text(&guards),
            seen_text(&ledger),
        ),
        Format::Json => json(&record)?,
        Format::Csv => csv([record])?,
    }))
}

#[derive(Serialize)]
struct Record {
    state: String,
    learner: String,
    tasks: usize,
    budget: f64,
    seen_completions: u64,
}

/// The completions of the log that the learner starts from.
fn completions_seen(ledger: &Ledger) -> u64 {
    let tasks = 0..ledger.problem().tasks().len();
    tasks.filter_map(|task| ledger.seen(task)).map(|seen| seen.completions).sum()
}

/// Says what the learner starts from, if a task has `seen`.
fn seen_text(ledger: &Ledger) -> String {
    let tasks = ledger.problem().tasks().iter();
    let with_seen = tasks.filter(|task| task.seen().is_some()).count();
    let learner = ledger.settings().learner;
    match with_seen {
        0 => String::new(),
        _ if ledger.settings().ignore_seen => "starts from nothing (--ignore-seen)\n".to_owned(),
        _ if !learner.uses_seen() => {
            format!("starts from nothing: {learner} cannot use `seen`\n")
        }
        _ => format!(
            "starts from the log: {} of {}\n",
            counted(completions_seen(ledger) as usize, "completion"),
            counted(with_seen, "task")
        ),
    }
}
