//! The settings of a campaign: validated, and in the canonical form in which they are stored.

use std::collections::HashMap;

use outlay::campaign::{CampaignError, CampaignOptions, Guards, RoundPlanner};
use outlay::feedback::{Feedback, Reward};
use outlay::learner::{LEARNERS, LearnerSpec};
use outlay::problem::{NoFiles, ProblemErrors};
use outlay::{Problem, Task};

use super::solvers::has_no_search;
use crate::api::{NewCampaign, SeenCompletions};
use crate::error::{ApiError, ErrorCode, escaped};
use crate::limits::{AMOUNTS, Limits};
use crate::store::{CampaignRow, FullSplit, Millis};

/// The settings of a campaign. Only its problem can be changed, by amendments.
#[derive(Debug, PartialEq)]
pub(super) struct CampaignSpec {
    pub(super) problem: Problem,
    /// Number of amendments of the problem.
    pub(super) amendments: u64,
    /// Rewards are stored in billionths of this amount: the largest reward at the start.
    reward_unit: f64,
    /// Spends are stored in billionths of this amount: the budget at the start.
    spend_unit: f64,
    pub(super) learner: LearnerSpec,
    /// Largest number of rounds.
    pub(super) horizon: Option<u64>,
    seed: u64,
    /// Whether the learner starts without the completions of the log.
    ignore_seen: bool,
    pub(super) guards: Guards,
    pub(super) expiry: Millis,
    places: HashMap<String, u32>,
    is_tiny: bool,
}

/// Concave problems of at most this many tasks take some ten microseconds.
const TINY_TASKS: usize = 16;

const DEFAULT_EXPIRY_SECONDS: u64 = 24 * 3600;
/// A century.
const MOST_EXPIRY_SECONDS: u64 = 36_525 * 24 * 3600;

impl CampaignSpec {
    /// Validates a request. All errors of the problem are reported together.
    pub(super) fn new(request: &NewCampaign, limits: &Limits) -> Result<Self, ApiError> {
        if request.horizon == Some(0) {
            return Err(ApiError::new(
                ErrorCode::BadProblem,
                "horizon: must be at least 1, or absent",
            )
            .at("/horizon"));
        }
        let ignore_seen = request.ignore_seen.unwrap_or(false);
        Self::of(request, read_problem(&request.problem, limits)?, ignore_seen)
    }

    /// Reads a request from the store. Accepted requests are accepted again, whatever the limits
    /// are now.
    pub(super) fn again(request: &NewCampaign) -> Result<Self, ApiError> {
        let problem = parse(&request.problem)?;
        // Campaigns of earlier versions did not start from the log, and continue as they were.
        let ignore_seen = request.ignore_seen.unwrap_or_else(|| has_log(&problem));
        Self::of(request, problem, ignore_seen)
    }

    /// Reads a campaign from the store, with its present problem.
    pub(super) fn of_row(row: &CampaignRow) -> Result<Self, ApiError> {
        let unreadable = |error: &serde_json::Error| {
            ApiError::new(ErrorCode::Internal, format!("the stored data cannot be read: {error}"))
        };
        let request: NewCampaign =
            serde_json::from_str(&row.spec).map_err(|error| unreadable(&error))?;
        let first = Self::again(&request)?;
        let Some(problem) = &row.problem else { return Ok(first) };
        let problem = serde_json::from_str(problem).map_err(|error| unreadable(&error))?;
        first.with_problem(&request, parse(&problem)?, row.amendments)
    }

    /// The settings after an amendment. `request` created the campaign.
    pub(super) fn with_problem(
        &self,
        request: &NewCampaign,
        problem: Problem,
        amendments: u64,
    ) -> Result<Self, ApiError> {
        let &Self { reward_unit, spend_unit, ignore_seen, .. } = self;
        let spec = Self::of(request, problem, ignore_seen)?;
        Ok(Self { amendments, reward_unit, spend_unit, ..spec })
    }

    /// The request with the choice that the campaign depends on, if its problem has a log.
    pub(super) fn stored_request(&self, request: NewCampaign) -> NewCampaign {
        let is_said = has_log(&self.problem) || self.ignore_seen;
        NewCampaign { ignore_seen: is_said.then_some(self.ignore_seen), ..request }
    }

    /// What distinguishes the splits in which no task is missing.
    pub(super) fn full_split(&self) -> FullSplit {
        FullSplit { amendments: self.amendments, tasks: active_tasks(&self.problem) }
    }

    /// Whether rewards are stored in other units than those of the learner, because the largest
    /// reward has grown. Its counts are then converted as a whole.
    pub(super) fn converts_rewards(&self) -> bool {
        self.reward_unit != self.problem.reward_max()
    }

    /// A sum of stored rewards in billionths of the largest reward.
    pub(super) fn learner_rewards(&self, stored: u64, completions: u64) -> u64 {
        let most = completions.saturating_mul(Reward::UNITS);
        if !self.converts_rewards() {
            return stored;
        }
        ((stored as f64 * (self.reward_unit / self.problem.reward_max()) + 0.5) as u64).min(most)
    }

    /// Rewards are stored in billionths of this amount.
    pub(super) fn reward_unit(&self) -> f64 {
        self.reward_unit
    }

    /// The settings with the choice of another campaign about the log.
    pub(super) fn with_choice_of(self, other: &Self) -> Self {
        Self { ignore_seen: other.ignore_seen, ..self }
    }

    /// The completions of the log that the learner started from.
    pub(super) fn seen(&self, task: &Task) -> Option<SeenCompletions> {
        if self.ignore_seen || !self.learner.uses_seen() {
            return None;
        }
        let seen = task.seen()?;
        Some(SeenCompletions { completions: seen.completions, reward: seen.reward })
    }

    fn of(request: &NewCampaign, problem: Problem, ignore_seen: bool) -> Result<Self, ApiError> {
        let learner = learner(request.learner.as_deref())?;
        let horizon =
            request.horizon.or(problem.horizon().filter(|_| learner.entry().needs_horizon));
        let expiry_seconds = request.expiry_seconds.unwrap_or(DEFAULT_EXPIRY_SECONDS);
        if !(1..=MOST_EXPIRY_SECONDS).contains(&expiry_seconds) {
            let detail = format!(
                "expiry_seconds: must be between 1 and {MOST_EXPIRY_SECONDS}, not {expiry_seconds}"
            );
            return Err(ApiError::new(ErrorCode::BadProblem, detail).at("/expiry_seconds"));
        }
        let places = problem
            .tasks()
            .iter()
            .zip(0..)
            .map(|(task, place)| (task.name().to_owned(), place))
            .collect();
        let guards = request.guards.unwrap_or_default();
        let is_tiny = problem.tasks().len() <= TINY_TASKS
            && problem.tasks().iter().all(has_no_search)
            && learner.is_count_based()
            && guards.is_empty();
        let budget = problem.budget();
        let spec = Self {
            amendments: 0,
            reward_unit: problem.reward_max(),
            spend_unit: if budget > 0.0 { budget } else { 1.0 },
            problem,
            learner,
            horizon,
            seed: request.seed.unwrap_or(1),
            ignore_seen,
            guards,
            expiry: expiry_seconds as Millis * 1000,
            places,
            is_tiny,
        };
        spec.planner().map_err(|error| not_made(&error))?;
        Ok(spec)
    }

    /// The learner, before any observation.
    pub(super) fn planner(&self) -> Result<RoundPlanner, CampaignError> {
        let options = CampaignOptions {
            learner: self.learner.into(),
            horizon: self.horizon,
            feedback: Some(Feedback::Censored),
            seed: self.seed,
            guards: self.guards,
            always_cold: true,
            ignore_seen: self.ignore_seen,
        };
        RoundPlanner::new(&self.problem, options)
    }

    /// True if computing a split should take less time than handing it to another thread: few
    /// tasks, no search, and a learner with one index per task.
    pub(super) fn is_tiny(&self) -> bool {
        self.is_tiny
    }

    /// Spends are stored in billionths of this amount.
    pub(super) fn spend_unit(&self) -> f64 {
        self.spend_unit
    }

    /// The index of the task with this name.
    pub(super) fn place(&self, name: &str) -> Option<u32> {
        self.places.get(name).copied()
    }

    pub(super) fn name(&self, task: u32) -> &str {
        self.problem.tasks().get(task as usize).map_or("", |task| task.name())
    }

    /// The error for an unknown task name, with the nearest known one.
    pub(super) fn unknown_task(&self, code: ErrorCode, name: &str, pointer: String) -> ApiError {
        let shown: String = name.chars().take(60).flat_map(char::escape_debug).collect();
        let names: Vec<&str> =
            self.problem.tasks().iter().take(5).map(|task| task.name()).collect();
        let more = if self.problem.tasks().len() > names.len() { ", …" } else { "" };
        ApiError::new(code, format!("no task is named {shown}"))
            .at(pointer)
            .hint(format!("tasks: {}{more}", names.join(", ")))
    }
}

fn has_log(problem: &Problem) -> bool {
    problem.tasks().iter().any(|task| task.seen().is_some())
}

/// Number of tasks that are not retired.
pub(super) fn active_tasks(problem: &Problem) -> u32 {
    problem.tasks().iter().filter(|task| !task.is_retired()).count() as u32
}

/// The problem in a request. All errors are reported together.
pub(crate) fn read_problem(
    document: &serde_json::Value,
    limits: &Limits,
) -> Result<Problem, ApiError> {
    if !document.is_object() {
        return Err(ApiError::new(
            ErrorCode::BadProblem,
            "/problem: must be an object with the keys of a problem file",
        )
        .at("/problem"));
    }
    check_size(document, limits)?;
    let problem = parse(document)?;
    let tasks = problem.tasks().len();
    if tasks > limits.tasks {
        let refused = ApiError::new(
            ErrorCode::TooLarge,
            format!("the problem has {tasks} tasks, more than {}", limits.tasks),
        );
        return Err(refused.at("/problem/task").hint("the limit is tasks"));
    }
    if let Some(place) =
        problem.tasks().iter().position(|task| task.name().len() > limits.name_bytes)
    {
        let detail =
            format!("the name of task {} has more than {} bytes", place + 1, limits.name_bytes);
        return Err(ApiError::new(ErrorCode::TooLarge, detail)
            .at(format!("/problem/task/{place}/name"))
            .hint("the limit is name_bytes"));
    }
    check_amounts(&problem)?;
    Ok(problem)
}

pub(super) fn parse(document: &serde_json::Value) -> Result<Problem, ApiError> {
    Problem::from_value(document, &NoFiles).map_err(|errors| bad_problem(&errors))
}

fn check_amounts(problem: &Problem) -> Result<(), ApiError> {
    check_amount(problem.budget(), "/problem/budget")?;
    check_amount(problem.reward_max(), "/problem/reward_max")?;
    let mut values =
        problem.tasks().iter().enumerate().filter_map(|(place, task)| Some((place, task.value()?)));
    values
        .try_for_each(|(place, value)| check_amount(value, &format!("/problem/task/{place}/value")))
}

/// Checks that all numbers derived from an amount are finite. Negative amounts are reported
/// elsewhere.
pub(crate) fn check_amount(amount: f64, pointer: &str) -> Result<(), ApiError> {
    if amount <= 0.0 || AMOUNTS.contains(&amount) {
        return Ok(());
    }
    let detail = format!(
        "{pointer}: must be zero or between {:e} and {:e}, not {amount:e}",
        AMOUNTS.start(),
        AMOUNTS.end()
    );
    Err(ApiError::new(ErrorCode::BadProblem, detail).at(pointer).hint("use another unit"))
}

/// Counts the numbers of the curves before anything is built from them.
fn check_size(problem: &serde_json::Value, limits: &Limits) -> Result<(), ApiError> {
    fn numbers(value: &serde_json::Value) -> usize {
        match value {
            serde_json::Value::Array(entries) => entries.iter().map(numbers).sum(),
            serde_json::Value::Object(entries) => entries.values().map(numbers).sum(),
            serde_json::Value::Number(_) => 1,
            _ => 0,
        }
    }
    let points = numbers(problem);
    if points > limits.curve_points {
        let detail = format!(
            "the curves of the problem have {points} numbers; the limit is {}",
            limits.curve_points
        );
        return Err(ApiError::new(ErrorCode::TooLarge, detail).at("/problem"));
    }
    Ok(())
}

fn learner(name: Option<&str>) -> Result<LearnerSpec, ApiError> {
    let Some(name) = name else { return Ok(LearnerSpec::default()) };
    let refused = |detail: String| {
        ApiError::new(ErrorCode::BadProblem, detail).at("/learner").hint(available())
    };
    let learner: LearnerSpec =
        name.parse().map_err(|error: outlay::learner::LearnerError| refused(error.to_string()))?;
    if !is_served(&learner) {
        return Err(refused(format!(
            "learner `{name}` needs {} feedback; here it is censored",
            learner.entry().feedback
        )));
    }
    Ok(learner)
}

/// True if the learner uses censored feedback; `uniform` uses none.
fn is_served(learner: &LearnerSpec) -> bool {
    learner.entry().feedback == Feedback::Censored || *learner == LearnerSpec::Uniform
}

fn available() -> String {
    let names =
        LEARNERS.iter().filter(|entry| entry.name.parse().is_ok_and(|learner| is_served(&learner)));
    format!("learners: {}", names.map(|entry| entry.name).collect::<Vec<_>>().join(", "))
}

fn not_made(error: &CampaignError) -> ApiError {
    let pointer = match error {
        CampaignError::Learner(_) => "/learner",
        CampaignError::BadGuard(_) => "/guards",
        _ => "",
    };
    ApiError::new(ErrorCode::BadProblem, error.to_string()).at(pointer)
}

fn bad_problem(errors: &ProblemErrors) -> ApiError {
    let shown = errors.0.iter().take(ProblemErrors::SHOWN);
    let errors: Vec<(String, String)> =
        shown.map(|error| (pointer(&error.path), error.kind.to_string())).collect();
    let (pointer, detail) = errors.first().cloned().unwrap_or_default();
    let more = errors.len().saturating_sub(1);
    let detail = if more > 0 { format!("{detail} (and {more} more)") } else { detail };
    ApiError::new(ErrorCode::BadProblem, detail).at(pointer).with_errors(errors)
}

/// `task[2].curve.half_at` as a JSON pointer into the request.
fn pointer(path: &str) -> String {
    let mut pointer = "/problem".to_owned();
    for part in path.split(['.', '[', ']']).filter(|part| !part.is_empty()) {
        pointer.push('/');
        pointer.push_str(&escaped(part));
    }
    pointer
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_tiny(tasks: usize, task: &str) -> bool {
        let task = |place: usize| format!(r#"{{"name": "t{place}", {task}}}"#);
        let tasks: Vec<String> = (0..tasks).map(task).collect();
        let request = format!(r#"{{"problem": {{"budget": 1, "task": [{}]}}}}"#, tasks.join(", "));
        let request: NewCampaign = serde_json::from_str(&request).unwrap();
        CampaignSpec::new(&request, &Limits::default()).unwrap().is_tiny()
    }

    /// Problems that can take long are not solved on the threads that handle requests.
    #[test]
    fn tiny_campaigns_need_no_search() {
        let concave = r#""curve": {"family": "exponential", "scale": 2}"#;
        assert!(is_tiny(TINY_TASKS, concave));
        assert!(!is_tiny(TINY_TASKS + 1, concave));
        assert!(!is_tiny(2, &format!(r#"{concave}, "at_least": 0.1"#)));
        assert!(!is_tiny(2, r#""curve": {"family": "hill", "half_at": 1, "steepness": 9}"#));
        let tiers =
            r#""curve": {"family": "piecewise", "spend": [0, 1, 3], "success": [0, 0.5, 0.7]}"#;
        assert!(!is_tiny(2, tiers));
    }
}
