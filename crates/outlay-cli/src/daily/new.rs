//! `outlay new`: a state file for a problem.

use outlay::campaign::Guards;
use outlay::ledger::{Ledger, Settings};

use super::guards_in_words;
use super::state_file::StateFile;
use crate::arguments::NewArguments;
use crate::failure::Failure;
use crate::number::{counted, plain};
use crate::origin;
use crate::report::Report;

pub(crate) fn run(arguments: &NewArguments) -> Result<Report, Failure> {
    let problem = origin::problem(&arguments.problem)?;
    let learner = arguments.learner.as_deref().map(str::parse).transpose()?.unwrap_or_default();
    let guards = Guards {
        max_change: arguments.max_change,
        floor: arguments.floor,
        min_move: arguments.min_move,
    };
    let settings = Settings { learner, horizon: arguments.horizon, seed: arguments.seed, guards };
    let ledger = Ledger::new(&problem, settings)?;
    let held = StateFile::hold(&arguments.state)?;
    let path = arguments.state.display();
    if held.exists() {
        return Err(Failure(format!(
            "{path} is there already: go on with `outlay next {path}`, or name another file"
        )));
    }
    held.save(&ledger)?;
    let tasks = counted(problem.tasks().len(), "task");
    Ok(Report::new(format!(
        "{path}: {learner} decides over {tasks} with {} per round{}\nnext: `outlay next {path}`\n",
        plain(problem.budget()),
        guards_in_words(&guards)
    )))
}
