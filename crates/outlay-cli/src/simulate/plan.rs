//! What was asked for as an experiment of the library, checked before anything runs.

use std::sync::Arc;

use outlay::instance::Instance;
use outlay::simulation::{Case, Experiment, Source};

use super::grid::{Grid, with_parameter};
use super::request::Request;
use crate::failure::Failure;
use crate::input::ProblemFile;
use crate::origin::{DEFAULT_HORIZON, Origin};
use crate::run::{RunRecord, label};
use crate::shell;

/// What will be played.
#[derive(Debug)]
pub(crate) struct Plan {
    /// Fit for the name of a folder.
    pub(crate) name: String,
    /// What the report is headed.
    pub(crate) title: String,
    /// A command that gives the same results.
    pub(crate) command: String,
    pub(crate) experiment: Experiment,
    pub(crate) record: RunRecord,
    /// Whether there is one problem and no grid: then results are those of one run, not a list.
    pub(crate) is_single: bool,
}

impl Plan {
    pub(crate) fn new(request: &Request) -> Result<Self, Failure> {
        let mut cases = Vec::new();
        for (position, origin) in request.problems.iter().enumerate() {
            cases.extend(cases_of(origin, &name_among(&request.problems, position)?, request)?);
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
                request.problems.iter().map(Origin::name).collect::<Vec<_>>().join(", ")
            }),
            command: command(request),
            record: RunRecord::new(&experiment)?,
            experiment,
            is_single: request.problems.len() == 1 && request.grid.is_none(),
        })
    }
}

/// What a problem is called; files of the same name are called by their paths.
fn name_among(origins: &[Origin], position: usize) -> Result<String, Failure> {
    let (origin, others) =
        (&origins[position], || origins.iter().enumerate().filter(|(other, _)| *other != position));
    if others().any(|(_, other)| other.written() == origin.written()) {
        return Err(Failure(format!("{} is given twice", origin.written())));
    }
    let is_unique = others().all(|(_, other)| other.name() != origin.name());
    Ok(if is_unique { origin.name() } else { origin.written() })
}

/// One case, or one for each value of the grid.
fn cases_of(origin: &Origin, name: &str, request: &Request) -> Result<Vec<Case>, Failure> {
    let base = Base::read(origin)?;
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
    let source = base.source(point.filter(|_| !is_horizon))?;
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

/// A problem of which one number may still change.
enum Base {
    File(ProblemFile),
    Instance(Instance),
}

impl Base {
    fn read(origin: &Origin) -> Result<Self, Failure> {
        match origin {
            Origin::File(path) => ProblemFile::read(path).map(Self::File),
            Origin::Instance(instance) => Ok(Self::Instance(instance.clone())),
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

/// Refuses what could not be run, with the problem that it is about.
fn check(experiment: &Experiment) -> Result<(), Failure> {
    for case in &experiment.cases {
        let alone = Experiment { cases: vec![case.clone()], ..experiment.clone() };
        alone.check().map_err(|error| {
            Failure(format!("{}: {error}", label(&case.name, case.parameter.as_ref())))
        })?;
    }
    Ok(())
}

/// `shop-ads`, `m-set-tasks-10`, `power-and-2-more`.
fn folder_name(request: &Request) -> String {
    let first = request.problems.first().map(Origin::name).unwrap_or_default();
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

/// The command in full, defaults written out, so that it keeps its meaning. How many threads it
/// took does not matter.
fn command(request: &Request) -> String {
    let mut words = vec!["outlay".to_owned(), "simulate".to_owned()];
    words.extend(request.problems.iter().map(Origin::written));
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
    if let Some(grid) = &request.grid {
        let values: Vec<String> = grid.values.iter().map(ToString::to_string).collect();
        flag("grid", format!("{}={}", grid.parameter, values.join(",")));
    }
    shell::command(&words)
}
