//! Exceptions of `outlay.errors` for the errors of the library, with the same messages.

use outlay::campaign::CampaignError;
use outlay::plan::{PlanError, RoundingError, TargetError};
use outlay::problem::ProblemErrors;
use outlay::simulation::ExperimentError;
use pyo3::prelude::*;

pyo3::import_exception!(outlay.errors, FileError);
pyo3::import_exception!(outlay.errors, ProblemError);
pyo3::import_exception!(outlay.errors, AllocationError);
pyo3::import_exception!(outlay.errors, LearnerError);
pyo3::import_exception!(outlay.errors, ObservationError);
pyo3::import_exception!(outlay.errors, StateError);
pyo3::import_exception!(outlay.errors, SimulationError);
pyo3::import_exception!(outlay.errors, FitError);

/// Everything wrong with one problem at once, an indented line each, as the command line writes it.
pub(crate) fn problem(place: &str, errors: &ProblemErrors) -> PyErr {
    let count = if errors.0.len() == 1 {
        "1 error".to_owned()
    } else {
        format!("{} errors", errors.0.len())
    };
    let mut text = format!("{place} has {count}");
    for error in errors.0.iter().take(ProblemErrors::SHOWN) {
        text.push_str("\n  ");
        text.push_str(&error.to_string().replace('\n', "\n    "));
    }
    if errors.0.len() > ProblemErrors::SHOWN {
        text.push_str(&format!("\n  and {} more", errors.0.len() - ProblemErrors::SHOWN));
    }
    let pairs: Vec<(String, String)> =
        errors.0.iter().map(|error| (error.path.clone(), error.kind.to_string())).collect();
    ProblemError::new_err((text, pairs))
}

pub(crate) fn allocation(error: &outlay::AllocationError) -> PyErr {
    AllocationError::new_err(error.to_string())
}

pub(crate) fn plan(error: &PlanError) -> PyErr {
    AllocationError::new_err(error.to_string())
}

pub(crate) fn target(error: &TargetError) -> PyErr {
    AllocationError::new_err(error.to_string())
}

pub(crate) fn rounding(error: &RoundingError) -> PyErr {
    AllocationError::new_err(error.to_string())
}

pub(crate) fn campaign(error: &CampaignError) -> PyErr {
    let text = error.to_string();
    match error {
        CampaignError::Learner(_) | CampaignError::BadGuard(_) => LearnerError::new_err(text),
        CampaignError::Allocation(_)
        | CampaignError::Needed { .. }
        | CampaignError::Curves(_)
        | CampaignError::FixedCurves { .. } => AllocationError::new_err(text),
        CampaignError::State(_) => StateError::new_err(text),
        _ => ObservationError::new_err(text),
    }
}

pub(crate) fn experiment(error: &ExperimentError) -> PyErr {
    match error {
        ExperimentError::Campaign(error) => campaign(error),
        ExperimentError::Learner(error) => LearnerError::new_err(error.to_string()),
        ExperimentError::Allocation(error) => allocation(error),
        ExperimentError::Instance(error) => ProblemError::new_err(error.to_string()),
        other => SimulationError::new_err(other.to_string()),
    }
}
