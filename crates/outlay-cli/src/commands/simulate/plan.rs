//! The plan of a simulation: a validated experiment of the library.

use std::sync::Arc;

use outlay::instance::Instance;
use outlay::simulation::{Case, Experiment, Source};

use super::grid::{Grid, with_parameter};
use super::request::Request;
use crate::failure::Failure;
use crate::input::ProblemFile;
use crate::input::problem_source::{DEFAULT_HORIZON, ProblemSource};
use crate::output::command_line;
use crate::run::{RunRecord, label};

/// A validated simulation.
#[derive(Debug)]
pub(crate) struct SimulationPlan {
    /// Default name of the folder.
    pub(crate) name: String,
    /// Title of the report.
    pub(crate) title: String,
    /// The command line that gives the same results.
    pub(crate) command: String,
    pub(crate) experiment: Experiment,
    pub(crate) record: RunRecord,
    /// True for one problem without a grid: the JSON output is then one run instead of a list.
    pub(crate) is_single: bool,
}

impl SimulationPlan {
    pub(crate) fn new(request: &Request) -> Result<Self, Failure> {
        let mut cases = Vec::new();
        for (position, source) in request.problems.iter().enumerate() {
            cases.extend(cases_of(source, &name_among(&request.problems, position)?, request)?);
        }
        let experiment = Experiment {
            cases,
            learners: request.learners.iter().copied().map(Into::into).collect(),
            feedback: request.feedback,
            replications: request.replications,
            seed: request.seed,
        };
        check(&experiment)?;
        Ok(Self {
            name: folder_name(request),
            title: request.name.clone().unwrap_or_else(|| {
                request.problems.iter().map(ProblemSource::name).collect::<Vec<_>>().join(", ")
            }),
            command: command(request),
            record: RunRecord::new(&experiment)?,
            experiment,
            is_single: request.problems.len() == 1 && request.grid.is_none(),
        })
    }
}

/// Name of a problem; files with the same name are identified by their paths.
fn name_among(sources: &[ProblemSource], position: usize) -> Result<String, Failure> {
    let (source, others) =
        (&sources[position], || sources.iter().enumerate().filter(|(other, _)| *other != position));
    if others().any(|(_, other)| other.as_argument() == source.as_argument()) {
        return Err(Failure(format!("{} is given twice", source.as_argument())));
    }
    let is_unique = others().all(|(_, other)| other.name() != source.name());
    Ok(if is_unique { source.name() } else { source.as_argument() })
}

/// One case, or one for each value of the grid.
fn cases_of(source: &ProblemSource, name: &str, request: &Request) -> Result<Vec<Case>, Failure> {
    let base = Base::read(source)?;
    match &request.grid {
        None => Ok(vec![case(&base, name, request, None)?]),
        Some(grid) => grid
            .values
            .iter()
            .map(|&value| case(&base, name, request, Some((&grid.parameter, value))))
            .collect(),
    }
}

fn case(
    base: &Base,
    name: &str,
    request: &Request,
    point: Option<(&str, f64)>,
) -> Result<Case, Failure> {
    let is_horizon = point.is_some_and(|(parameter, _)| parameter == Grid::HORIZON);
    let source = match base.source(point.filter(|_| !is_horizon))? {
        Source::Problem(problem) if request.ignore_seen => {
            Source::Problem(Arc::new(problem.without_seen()))
        }
        source => source,
    };
    let own_horizon = match &source {
        Source::Problem(problem) => problem.horizon(),
        Source::Instance(_) => None,
    };
    let grid_horizon = point.filter(|_| is_horizon).map(|(_, horizon)| horizon as u64);
    Ok(Case {
        name: name.to_owned(),
        source,
        horizon: grid_horizon.or(request.horizon).or(own_horizon).unwrap_or(DEFAULT_HORIZON),
        parameter: point.map(|(parameter, value)| (parameter.to_owned(), value)),
    })
}

/// A problem in which one number can still be changed.
enum Base {
    File(ProblemFile),
    Instance(Instance),
}

impl Base {
    fn read(source: &ProblemSource) -> Result<Self, Failure> {
        match source {
            ProblemSource::File(path) => ProblemFile::read(path).map(Self::File),
            ProblemSource::Instance(instance) => Ok(Self::Instance(instance.clone())),
        }
    }

    fn source(&self, change: Option<(&str, f64)>) -> Result<Source, Failure> {
        match (self, change) {
            (Self::Instance(instance), None) => Ok(Source::Instance(instance.clone())),
            (Self::Instance(instance), Some((parameter, value))) => {
                Ok(Source::Instance(with_parameter(instance, parameter, value)?))
            }
            (Self::File(file), None) => Ok(Source::Problem(Arc::new(file.problem()?))),
            (Self::File(file), Some((path, value))) => {
                let mut file = file.clone();
                file.set(path, value)?;
                Ok(Source::Problem(Arc::new(file.problem()?)))
            }
        }
    }
}

/// Validates the experiment; errors name the problem.
fn check(experiment: &Experiment) -> Result<(), Failure> {
    for case in &experiment.cases {
        let alone = Experiment { cases: vec![case.clone()], ..experiment.clone() };
        alone.check().map_err(|error| {
            Failure(format!("{}: {error}", label(&case.name, case.parameter.as_ref())))
        })?;
    }
    Ok(())
}

/// Default name of the folder: `shop-ads`, `m-set-tasks-10`, `power-and-2-more`.
fn folder_name(request: &Request) -> String {
    let first = request.problems.first().map(ProblemSource::name).unwrap_or_default();
    let name = request.name.clone().unwrap_or_else(|| match request.problems.len() {
        1 => first,
        several => format!("{first}-and-{}-more", several - 1),
    });
    let fit = |character: char| {
        if character.is_alphanumeric() || "-_.".contains(character) { character } else { '-' }
    };
    let name: String = name.chars().map(fit).take(60).collect();
    name.trim_start_matches('.').to_owned()
}

/// The command line with defaults written out, so that it stays valid if they change. The number of
/// threads is omitted.
fn command(request: &Request) -> String {
    let mut words = vec!["outlay".to_owned(), "simulate".to_owned()];
    words.extend(request.problems.iter().map(ProblemSource::as_argument));
    let mut flag = |name: &str, value: String| words.extend([format!("--{name}"), value]);
    for learner in &request.learners {
        flag("learner", learner.to_string());
    }
    if let Some(horizon) = request.horizon {
        flag("horizon", horizon.to_string());
    }
    flag("replications", request.replications.to_string());
    flag("seed", request.seed.to_string());
    if let Some(feedback) = request.feedback {
        flag("feedback", feedback.to_string());
    }
    if request.ignore_seen {
        words.push("--ignore-seen".to_owned());
    }
    let mut flag = |name: &str, value: String| words.extend([format!("--{name}"), value]);
    if let Some(grid) = &request.grid {
        let values: Vec<String> = grid.values.iter().map(ToString::to_string).collect();
        flag("grid", format!("{}={}", grid.parameter, values.join(",")));
    }
    command_line::command(&words)
}
