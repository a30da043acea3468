//! `outlay simulate`: replicated simulations of learners.
//!
//! Flags and experiment file (`request`, `experiment_file`, `grid`) become a `plan`; the plan is
//! run and saved (`crate::run`), and the results are written (`record`, `table`, `files`).

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
use std::sync::Arc;

use outlay::Problem;
use outlay::simulation::{Case, Source};
use outlay_report::check;

use crate::args::SimulateArgs;
use crate::failure::Failure;
use crate::output::console;
use crate::output::{CommandOutput, Ending, Format};
use crate::run::{Played, RunEnd, RunFolder, play, threads};
use plan::SimulationPlan;
use request::Request;

/// Parent folder of runs without `--out`.
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

/// The folder of the run. Table output comes with a report by default; for other formats files are
/// written only if requested.
fn folder(request: &Request, format: Format, plan: &SimulationPlan) -> Option<PathBuf> {
    let default = || {
        PathBuf::from(DEFAULT_FOLDER).join(format!("{}-{}", plan.name, &plan.record.digest[..8]))
    };
    request.out.clone().or_else(|| (format == Format::Table).then(default))
}

fn resuming(played: &Played) -> String {
    let (done, total) = (played.done(), played.total());
    if done == total {
        format!("all {total} replications are already finished")
    } else {
        format!("resuming: {done} of {total} replications are already finished")
    }
}

fn stopped(played: &Played, folder: &RunFolder) -> CommandOutput {
    let remark = match folder.path() {
        Some(path) => {
            let (done, total) = (played.done(), played.total());
            format!(
                "interrupted: {done} of {total} replications are saved in {}; the same command resumes the run",
                path.display()
            )
        }
        None => "interrupted: nothing was saved; --out DIR saves finished replications".to_owned(),
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
    let mut remarks = clipped_samples(plan);
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

/// One remark per problem with recorded rewards that were clipped.
fn clipped_samples(plan: &SimulationPlan) -> Vec<String> {
    let cases = plan.experiment.cases.iter();
    let problems = cases.filter_map(|case| match &case.source {
        Source::Problem(problem) => Some((case, problem)),
        _ => None,
    });
    let remark = |(case, problem): (&Case, &Arc<Problem>)| {
        Some(format!("{}: {}", case.name, check::clipped_samples(problem)?))
    };
    problems.filter_map(remark).collect()
}
