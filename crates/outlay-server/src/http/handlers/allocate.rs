//! Solves a problem without storing anything.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use axum::Json;
use axum::extract::State;
use outlay::{AllocationError, Options, Oracle, Problem, Task};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::error::{ApiError, ErrorCode, escaped};
use crate::http::App;
use crate::http::error::{ErrorResponse, ProblemDetails};
use crate::http::extract::{FreeJson, HasFreePart};
use crate::limits::Limits;
use crate::service::{check_amount, curves_pointer, read_problem};

/// A problem to be solved once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AllocateRequest {
    /// The keys of a problem file.
    #[schema(value_type = crate::problem_file::ProblemFile)]
    pub problem: serde_json::Value,
    /// The budget; default: that of the problem.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<f64>,
    /// Values of a success for some tasks, by name; the others have the values of the problem.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<std::collections::HashMap<String, f64>>)]
    pub values: Option<serde_json::Map<String, serde_json::Value>>,
    /// Scales of the curves, by task: a task with scale 1.3 needs 1.3 times the spend for the same
    /// probability of success. The others have scale 1.
    #[serde(
        default,
        deserialize_with = "crate::named_numbers::read",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub scale: BTreeMap<String, f64>,
    /// Volumes, by task; the others have those of the problem.
    #[serde(
        default,
        deserialize_with = "crate::named_numbers::read",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub volume: BTreeMap<String, f64>,
}

impl HasFreePart for AllocateRequest {
    const RECORDS: &'static [&'static str] = &[];
}

/// The best split, with a bound on the possible improvement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AllocateAnswer {
    /// The budget.
    pub budget: f64,
    /// Expected reward of the round.
    pub value: f64,
    /// Upper bound on the value of any split.
    pub upper_bound: f64,
    /// Largest possible relative improvement.
    pub gap: f64,
    /// Marginal value of the budget.
    pub price: f64,
    /// `optimal`, `within_tolerance`, or `limit` if the search ended before the tolerance was
    /// reached.
    pub status: String,
    /// Budget that is kept because it would have no effect.
    pub unspent: f64,
    /// One entry per task.
    pub tasks: Vec<AllocatedTask>,
}

/// Spend of a task and its probability of success.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AllocatedTask {
    /// Its name.
    pub task: String,
    /// The spend.
    pub spend: f64,
    /// The probability of success.
    pub success: f64,
    /// The expected number of completions: the volume times the probability of success.
    pub expected_completions: f64,
}

/// Solve a problem whose values are known.
#[utoipa::path(
    post,
    path = "/v1/allocate",
    operation_id = "allocate",
    tag = "one-off",
    request_body = AllocateRequest,
    responses(
        (status = 200, description = "The split and its certificate.", body = AllocateAnswer),
        (status = "4XX", description = "The request was rejected.", body = ProblemDetails, content_type = "application/problem+json"),
        (status = "5XX", description = "The service could not answer.", body = ProblemDetails, content_type = "application/problem+json"),
    ),
    security(("token" = ["decide"]))
)]
pub(crate) async fn post(
    State(app): State<Arc<App>>,
    FreeJson(request): FreeJson<AllocateRequest>,
) -> Result<Json<AllocateAnswer>, ErrorResponse> {
    Ok(Json(app.service.solve_once(move |limits, cancel| solve(&request, limits, cancel)).await?))
}

fn solve(
    request: &AllocateRequest,
    limits: &Limits,
    cancel: Arc<AtomicBool>,
) -> Result<AllocateAnswer, ApiError> {
    let problem = in_round(read_problem(&request.problem, limits)?, request)?;
    let values = values(&problem, request.values.as_ref())?;
    let budget = request.budget.unwrap_or(problem.budget());
    check_amount(budget, "/budget")?;
    let options = Options { leftover: problem.leftover(), ..Options::default() };
    let mut oracle = Oracle::new(&problem);
    oracle.set_cancel(Some(cancel));
    let best = oracle
        .allocate(&values, budget, &options)
        .map_err(|error| ApiError::new(code_of(&error), error.to_string()))?;
    let tasks = problem.tasks().iter().zip(best.spend.iter().zip(&best.success));
    Ok(AllocateAnswer {
        budget,
        value: best.value,
        upper_bound: best.upper_bound,
        gap: best.gap(),
        price: best.price,
        status: best.status.to_string(),
        unspent: best.unspent,
        tasks: tasks
            .map(|(task, (&spend, &success))| AllocatedTask {
                task: task.name().to_owned(),
                spend,
                success,
                expected_completions: task.volume() * success,
            })
            .collect(),
    })
}

/// The problem with the scales and volumes of the request.
fn in_round(problem: Problem, request: &AllocateRequest) -> Result<Problem, ApiError> {
    if request.scale.is_empty() && request.volume.is_empty() {
        return Ok(problem);
    }
    let tasks = problem.tasks();
    let list = |what: &str, named: &BTreeMap<String, f64>, mut numbers: Vec<f64>| {
        for (name, number) in named {
            let unknown = || {
                let place = format!("/{what}/{}", escaped(name));
                let detail = format!("{place}: no task has this name");
                ApiError::new(ErrorCode::BadProblem, detail).at(place)
            };
            let task = tasks.iter().position(|task| task.name() == name).ok_or_else(unknown)?;
            numbers[task] = *number;
        }
        Ok(numbers)
    };
    let scale = list("scale", &request.scale, vec![1.0; tasks.len()])?;
    let volume = list("volume", &request.volume, tasks.iter().map(Task::volume).collect())?;
    let volume = (!request.volume.is_empty()).then_some(volume.as_slice());
    problem.in_round(Some(&scale), volume).map_err(|error| {
        let place = curves_pointer(&error);
        ApiError::new(ErrorCode::BadProblem, error.to_string()).at(place)
    })
}

/// A beaten bound is a bug of the service; all other errors belong to the problem.
fn code_of(error: &AllocationError) -> ErrorCode {
    match error {
        AllocationError::BoundBeaten { .. } => ErrorCode::Internal,
        _ => ErrorCode::BadProblem,
    }
}

fn values(
    problem: &Problem,
    given: Option<&serde_json::Map<String, serde_json::Value>>,
) -> Result<Vec<f64>, ApiError> {
    let mut values: Vec<Option<f64>> = problem.tasks().iter().map(Task::value).collect();
    for (name, value) in given.into_iter().flatten() {
        let place = format!("/values/{}", escaped(name));
        let wrong = |what: &str| {
            ApiError::new(ErrorCode::BadProblem, format!("{place}: {what}")).at(place.clone())
        };
        let position = problem
            .tasks()
            .iter()
            .position(|task| task.name() == name)
            .ok_or_else(|| wrong("no task has this name"))?;
        let number = value.as_f64().filter(|number| *number >= 0.0 && number.is_finite());
        let number = number.ok_or_else(|| wrong("must be a number and not negative"))?;
        check_amount(number, &place)?;
        values[position] = Some(number);
    }
    let missing = problem.tasks().iter().zip(&values).position(|(_, value)| value.is_none());
    if let Some(position) = missing {
        let name = problem.tasks()[position].name();
        let refused = ApiError::new(
            ErrorCode::BadProblem,
            format!("the value of a success of {name} is missing"),
        );
        return Err(refused
            .at(format!("/problem/task/{position}"))
            .hint("give the task a `value`, or add it to `values`"));
    }
    Ok(values.into_iter().flatten().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn solve_now(request: &AllocateRequest, limits: &Limits) -> Result<AllocateAnswer, ApiError> {
        solve(request, limits, Arc::default())
    }

    fn request(text: &str) -> AllocateRequest {
        serde_json::from_str(text).unwrap()
    }

    const TWO: &str = r#"{"budget": 10, "task": [
        {"name": "a", "value": 1, "curve": {"family": "saturating", "full_at": 10}},
        {"name": "b", "curve": {"family": "saturating", "full_at": 5}}]}"#;

    #[test]
    fn the_split_is_the_librarys() {
        let answer = solve_now(
            &request(&format!(r#"{{"problem": {TWO}, "values": {{"b": 1}}}}"#)),
            &Limits::default(),
        )
        .unwrap();
        assert_eq!((answer.value, answer.status.as_str()), (1.5, "optimal"));
        assert!(answer.upper_bound >= 1.5 && answer.gap < 1e-12);
        assert_eq!(answer.tasks.iter().map(|task| task.spend).collect::<Vec<_>>(), [5.0, 5.0]);
        let less = solve_now(
            &request(&format!(r#"{{"problem": {TWO}, "values": {{"b": 1}}, "budget": 5}}"#)),
            &Limits::default(),
        )
        .unwrap();
        assert_eq!((less.value, less.budget), (1.0, 5.0));
    }

    #[test]
    fn errors_have_a_place() {
        let pointer = |text: &str| {
            solve_now(&request(text), &Limits::default()).unwrap_err().pointer.unwrap_or_default()
        };
        assert_eq!(pointer(&format!(r#"{{"problem": {TWO}}}"#)), "/problem/task/1");
        assert_eq!(pointer(&format!(r#"{{"problem": {TWO}, "values": {{"c": 1}}}}"#)), "/values/c");
        assert_eq!(
            pointer(&format!(r#"{{"problem": {TWO}, "values": {{"b": -1}}}}"#)),
            "/values/b"
        );
        assert_eq!(pointer(r#"{"problem": 7}"#), "/problem");
        let curve = r#"{"problem": {"task": [{"curve": {"family": "hill", "half_at": -1, "steepness": 2}}]}}"#;
        assert_eq!(pointer(curve), "/problem/task/0/curve/half_at");
        let few = Limits { tasks: 1, ..Limits::default() };
        assert_eq!(
            solve_now(&request(&format!(r#"{{"problem": {TWO}}}"#)), &few).unwrap_err().code,
            ErrorCode::TooLarge
        );
    }
}
