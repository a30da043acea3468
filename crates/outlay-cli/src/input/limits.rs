//! The problem of `allocate`, `evaluate` and `frontier`, with the limits of their arguments.

use std::path::Path;

use outlay::Problem;
use outlay::problem::LimitsForm;
use outlay::table::decode;

use super::{bytes, display_name, problem_source};
use crate::args::SolveArgs;
use crate::failure::Failure;

/// Reads the problem, replaces the bounds of `--limits`, and keeps spends within `--within`.
pub(crate) fn limited_problem(arguments: &SolveArgs) -> Result<Problem, Failure> {
    let mut problem = problem_source::problem(&arguments.problem)?;
    if let Some(path) = &arguments.limits {
        problem = with_limits(&problem, path)?;
    }
    if let Some(share) = arguments.within {
        problem = problem.within_current(share).map_err(|errors| {
            Failure::problem("--within: the problem with spends near `current`", &errors)
        })?;
    }
    Ok(problem)
}

fn with_limits(problem: &Problem, path: &Path) -> Result<Problem, Failure> {
    let name = display_name(path);
    let decoded = decode(bytes(path)?).map_err(|error| Failure(format!("{name}: {error}")))?;
    let is_toml = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("toml"));
    let form = if is_toml { LimitsForm::Toml } else { LimitsForm::Csv };
    let limited = problem.with_limits(&decoded.text, form, &name);
    limited.map_err(|errors| Failure::problem(&name, &errors))
}
