//! `outlay new`: creates the state file of a daily loop.

use outlay::campaign::Guards;
use outlay::ledger::{Ledger, Settings};
use serde::Serialize;

use crate::args::NewArgs;
use crate::failure::Failure;
use crate::input::problem_source;
use crate::input::state_file::StateFile;
use crate::output::guards::guards_text;
use crate::output::{CommandOutput, Format, csv, json};
use outlay_report::number::{counted, plain};

pub(crate) fn run(arguments: &NewArgs) -> Result<CommandOutput, Failure> {
    let problem = problem_source::problem(&arguments.problem)?;
    let learner = arguments.learner.as_deref().map(str::parse).transpose()?.unwrap_or_default();
    let guards = Guards {
        max_change: arguments.max_change,
        floor: arguments.floor,
        min_move: arguments.min_move,
    };
    let settings = Settings { learner, horizon: arguments.horizon, seed: arguments.seed, guards };
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
    };
    Ok(CommandOutput::new(match arguments.format {
        Format::Table => format!(
            "{path}: {learner} plans {tasks} with {} per round{}\nnext: `outlay next {path}`\n",
            plain(problem.budget()),
            guards_text(&guards)
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
}
