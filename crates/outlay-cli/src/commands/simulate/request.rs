//! The requested simulation: flags override the experiment file, which overrides the defaults.

use std::path::{Path, PathBuf};

use outlay::feedback::Feedback;
use outlay::learner::LearnerSpec;

use super::experiment_file::ExperimentFile;
use super::grid::Grid;
use crate::args::SimulateArgs;
use crate::failure::Failure;
use crate::input;
use crate::input::problem_source::ProblemSource;

pub(crate) const DEFAULT_LEARNERS: [&str; 3] = ["kl-ucb-plus", "algorithm-1", "uniform"];
pub(crate) const DEFAULT_REPLICATIONS: u64 = 100;
const DEFAULT_SEED: u64 = 1;

/// The requested simulation.
#[derive(Debug)]
pub(crate) struct Request {
    /// Name of the experiment file, if there is one.
    pub(crate) name: Option<String>,
    pub(crate) problems: Vec<ProblemSource>,
    pub(crate) learners: Vec<LearnerSpec>,
    /// Horizon of all problems; absent if each uses its own.
    pub(crate) horizon: Option<u64>,
    pub(crate) replications: u64,
    pub(crate) seed: u64,
    pub(crate) feedback: Option<Feedback>,
    pub(crate) ignore_seen: bool,
    pub(crate) grid: Option<Grid>,
    pub(crate) out: Option<PathBuf>,
}

impl Request {
    pub(crate) fn new(arguments: &SimulateArgs) -> Result<Self, Failure> {
        let file = arguments
            .experiment
            .as_deref()
            .map(ExperimentFile::read)
            .transpose()?
            .unwrap_or_default();
        let problems = problems(&arguments.problems)?.or(file.problems).unwrap_or_default();
        if problems.is_empty() {
            return Err(Failure(
                "no problem: give a problem file, the name of an instance (see --list), or \
                 --experiment"
                    .to_owned(),
            ));
        }
        let learners = match (&arguments.learners[..], file.learners) {
            ([], Some(learners)) => learners,
            ([], None) => learners(&DEFAULT_LEARNERS)?,
            (given, _) => learners(given)?,
        };
        let grid = arguments.grid.as_deref().map(Grid::from_flag).transpose();
        let horizon = arguments.horizon.or(file.horizon);
        let grid = grid.map_err(|message| Failure(format!("--grid: {message}")))?.or(file.grid);
        if horizon.is_some() && grid.as_ref().is_some_and(|grid| grid.parameter == Grid::HORIZON) {
            return Err(Failure(
                "the horizon is given both by the grid and as a number; use only one of them"
                    .to_owned(),
            ));
        }
        Ok(Self {
            name: arguments
                .experiment
                .as_ref()
                .map(|path| ProblemSource::File(path.clone()).name()),
            problems,
            learners,
            horizon,
            replications: arguments
                .replications
                .or(file.replications)
                .unwrap_or(DEFAULT_REPLICATIONS),
            seed: arguments.seed.or(file.seed).unwrap_or(DEFAULT_SEED),
            feedback: arguments.feedback.map(Feedback::from).or(file.feedback),
            ignore_seen: arguments.ignore_seen || file.ignore_seen.unwrap_or(false),
            grid,
            out: arguments.out.clone().or(file.out),
        })
    }
}

/// The problems of the command line; none if there are none.
fn problems(texts: &[String]) -> Result<Option<Vec<ProblemSource>>, Failure> {
    if texts.iter().filter(|text| input::is_stdin(Path::new(text))).count() > 1 {
        return Err(Failure("only one problem can come from standard input".to_owned()));
    }
    let sources = texts
        .iter()
        .map(|text| ProblemSource::new(text, Path::new("")))
        .collect::<Result<Vec<_>, String>>()
        .map_err(Failure)?;
    Ok((!sources.is_empty()).then_some(sources))
}

pub(crate) fn learners(texts: &[impl AsRef<str>]) -> Result<Vec<LearnerSpec>, Failure> {
    let parts = texts.iter().flat_map(|text| separate(text.as_ref()));
    distinct(parts.map(|text| text.parse::<LearnerSpec>()).collect::<Result<Vec<_>, _>>()?)
        .map_err(Failure)
}

/// Fails if two learners are the same.
pub(crate) fn distinct(learners: Vec<LearnerSpec>) -> Result<Vec<LearnerSpec>, String> {
    match learners
        .iter()
        .enumerate()
        .find(|(position, learner)| learners[..*position].contains(learner))
    {
        Some((_, twice)) => Err(format!("learner {twice} is given twice")),
        None => Ok(learners),
    }
}

/// Splits a list of learners: `cucb,greedy` is two learners, `a:x=1,y=2` is one. A part of the form
/// `key=value` belongs to the learner before it.
fn separate(text: &str) -> Vec<String> {
    let mut learners: Vec<String> = Vec::new();
    for part in text.split(',') {
        match learners.last_mut() {
            Some(learner) if part.contains('=') && !part.contains(':') => {
                learner.push(',');
                learner.push_str(part);
            }
            _ => learners.push(part.to_owned()),
        }
    }
    learners
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_separate_learners_and_parameters() {
        assert_eq!(separate("cucb,greedy"), ["cucb", "greedy"]);
        assert_eq!(separate("a:x=1,y=2,cucb"), ["a:x=1,y=2", "cucb"]);
        assert_eq!(
            separate("epsilon-greedy:epsilon=0.1,kl-ucb-plus:c=2"),
            ["epsilon-greedy:epsilon=0.1", "kl-ucb-plus:c=2"]
        );
    }
}
