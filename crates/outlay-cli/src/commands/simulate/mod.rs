//! `outlay simulate`: learners on problems, many times over.
//!
//! What was asked for (`request`, `experiment_file`, `grid`) becomes a `plan`; the plan is played
//! and kept (`crate::run`), and what the replications add up to is written (`record`, `table`,
//! `files`).

mod experiment_file;
mod files;
mod grid;
mod listing;
#[cfg(feature = "parquet")]
mod parquet_files;
pub(crate) mod plan;
mod record;
pub(crate) mod request;
mod table;

use std::path::PathBuf;

use crate::args::SimulateArgs;
use crate::failure::Failure;
use crate::output::console;
use crate::output::{CommandOutput, Ending, Format};
use crate::run::{Played, RunEnd, RunFolder, play, threads};
use plan::SimulationPlan;
use request::Request;

/// Where runs go that nobody gave a place.
const DEFAULT_FOLDER: &str = "runs";

pub(crate) fn run(arguments: &SimulateArgs, quiet: bool) -> Result<CommandOutput, Failure> {
    if arguments.list {
        return listing::list(arguments.format);
    }
    let request = Request::new(arguments)?;
    let plan = SimulationPlan::new(&request)?;
    let (mut folder, known) = match folder(&request, arguments.format, &plan) {
        Some(path) => RunFolder::open(path, &plan.record, &files::RESULT_FILES)?,
        None => (RunFolder::nowhere(), Vec::new()),
    };
    let mut played = Played::new(&plan.experiment, known);
    if played.read_back() > 0 {
        console::remark(&resuming(&played), quiet);
    }
    match play(&plan.experiment, &mut played, &mut folder, threads(arguments.threads), quiet)? {
        RunEnd::Interrupted => Ok(stopped(&played, &folder)),
        RunEnd::Complete => finish(&plan, &played, &folder, arguments.format),
    }
}

/// Where the run is kept. A table is for people, who want a report with it; programs ask for files
/// if they want some.
fn folder(request: &Request, format: Format, plan: &SimulationPlan) -> Option<PathBuf> {
    let default = || {
        PathBuf::from(DEFAULT_FOLDER).join(format!("{}-{}", plan.name, &plan.record.digest[..8]))
    };
    request.out.clone().or_else(|| (format == Format::Table).then(default))
}

fn resuming(played: &Played) -> String {
    let (done, total) = (played.done(), played.total());
    if done == total {
        format!("all {total} replications are there")
    } else {
        format!("resuming: {done} of {total} replications are there")
    }
}

fn stopped(played: &Played, folder: &RunFolder) -> CommandOutput {
    let remark = match folder.path() {
        Some(path) => {
            let (done, total) = (played.done(), played.total());
            format!(
                "stopped: {done} of {total} replications are kept in {}; the same command goes on",
                path.display()
            )
        }
        None => "stopped: nothing was kept; --out DIR keeps what is finished".to_owned(),
    };
    CommandOutput { result: String::new(), remarks: vec![remark], ending: Ending::Interrupted }
}

fn finish(
    plan: &SimulationPlan,
    played: &Played,
    folder: &RunFolder,
    format: Format,
) -> Result<CommandOutput, Failure> {
    let summaries = plan.experiment.summaries(&played.replications())?;
    let mut remarks = Vec::new();
    if let Some(path) = folder.path() {
        files::write(path, plan, &summaries)?;
        remarks.push(format!("report: {}", path.join(files::REPORT).display()));
    }
    let result = match format {
        Format::Table => table::tables(&summaries, &played.speeds(&plan.experiment)),
        Format::Json => record::json(&summaries, plan.is_single)?,
        Format::Csv => record::csv(&summaries)?,
    };
    Ok(CommandOutput::new(result).with_remarks(remarks))
}
