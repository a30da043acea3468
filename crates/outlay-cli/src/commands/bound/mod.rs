//! `outlay bound`: the regret bounds that apply to a problem, compared with a run.
//!
//! The library computes the bounds; `run` reads the measurements, `record` writes JSON and CSV,
//! `table` writes text.

mod record;
mod run;
mod table;

use std::path::Path;

use outlay::Problem;
use outlay::theory::{Guarantees, Quantities, guarantees, means};

use crate::args::BoundArgs;
use crate::failure::Failure;
use crate::input;
use crate::input::problem_source::DEFAULT_HORIZON;
use crate::input::problem_source::ProblemSource;
use crate::output::{CommandOutput, Format, csv, json};
use run::{Measured, Run};

/// Seed of random instances, unless a run specifies another.
const DEFAULT_SEED: u64 = 1;

/// The results. Rewards are in multiples of the largest one, except for those of the run.
struct Answer {
    name: String,
    problem: Problem,
    horizon: u64,
    guarantees: Guarantees,
    /// Slopes and curvatures above a share of the budget, if the assumption holds and a share is
    /// known.
    quantities: Option<Quantities>,
    measured: Option<Measured>,
}

pub(crate) fn run(arguments: &BoundArgs) -> Result<CommandOutput, Failure> {
    let source = ProblemSource::new(&arguments.problem, Path::new("")).map_err(Failure)?;
    let run = arguments.run.as_deref().map(Run::read).transpose()?;
    let (problem, horizon) =
        problem(&source, arguments.horizon, run.as_ref().map_or(DEFAULT_SEED, Run::seed))?;
    let guarantees = guarantees(&problem, &means(&problem), horizon)?;
    let share = arguments.share.or(guarantees.polylog.map(|bound| bound.least_share));
    let quantities = guarantees
        .diminishing
        .as_ref()
        .ok()
        .zip(share)
        .map(|(returns, share)| returns.quantities(share));
    let measured =
        run.map(|run| run.measured(&problem, horizon, guarantees.trivial)).transpose()?;
    let answer = Answer { name: source.name(), problem, horizon, guarantees, quantities, measured };
    let result = match arguments.format {
        Format::Table => table::table(&answer),
        Format::Json => json(&record::record(&answer))?,
        Format::Csv => csv(record::rows(&answer))?,
    };
    Ok(CommandOutput::new(result))
}

/// The problem and its horizon, as `simulate` would use them.
fn problem(
    source: &ProblemSource,
    asked: Option<u64>,
    seed: u64,
) -> Result<(Problem, u64), Failure> {
    match source {
        ProblemSource::File(path) => {
            let problem = input::problem(path)?;
            let horizon = asked.or(problem.horizon()).unwrap_or(DEFAULT_HORIZON);
            Ok((problem, horizon))
        }
        ProblemSource::Instance(instance) => {
            let horizon = asked.unwrap_or(DEFAULT_HORIZON);
            Ok((instance.problem(horizon, seed)?, horizon))
        }
    }
}
