//! Outcomes between the numbers of the API and the integers of the store.

use outlay::feedback::{Completions, Reward};
use outlay::ledger::EntryError;
use outlay::{Problem, Task};

use super::spec::CampaignSpec;
use crate::api::TaskResult;
use crate::error::{ApiError, ErrorCode};
use crate::store::{Delivery, Item, Outcome, Split, SplitRow, TaskCount};

/// The largest number of completions in one report: that of the largest volume.
const MAX_COMPLETIONS: u64 = 1_000_000_000;
/// The largest spend of a task that can be counted, in multiples of the campaign's budget.
const MAX_SPEND: f64 = 1e6;

fn shares(billionths: u64) -> f64 {
    billionths as f64 / Reward::UNITS as f64
}

/// The outcome of a task as it is stored; errors have their position within the result. `problem` is
/// that of the round.
pub(super) fn item(
    spec: &CampaignSpec,
    problem: &Problem,
    row: &SplitRow,
    round: u64,
    result: &TaskResult,
) -> Result<Item, ApiError> {
    let unknown = || spec.unknown_task(ErrorCode::BadFeedback, &result.task, "/task".to_owned());
    let task = spec.place(&result.task).ok_or_else(unknown)?;
    let place = task as usize;
    let is_there =
        row.split.available.as_ref().is_none_or(|available| available.get(place) == Some(&true));
    // A task that was added later did not exist.
    let Some(definition) = problem.tasks().get(place).filter(|_| is_there) else {
        let detail = format!("task {} was not available in round {round}", result.task);
        return Err(refused(detail, "/task"));
    };
    let completions = completions(problem, result)?;
    let reward = reward(spec, result, completions)?;
    let delivery = delivery(spec, row, place, result)?;
    let expected = expected_completions(definition, &row.split, place, result);
    Ok(Item { task, outcome: Outcome { completions, reward, delivery }, expected })
}

/// The number of completions that the curve of the round predicts, in billionths: at the reported
/// spend, if there is one.
fn expected_completions(task: &Task, split: &Split, place: usize, result: &TaskResult) -> u64 {
    let of_round = |list: &Option<Vec<f64>>| list.as_ref()?.get(place).copied();
    let volume = of_round(&split.volume).unwrap_or(task.volume());
    let success = match (result.spend, of_round(&split.scale)) {
        (None, _) => split.success.get(place).copied().unwrap_or(0.0),
        (Some(spend), None) => task.curve().success(spend),
        // The scale was checked when the round was issued.
        (Some(spend), Some(scale)) => {
            task.curve().scaled(scale).map_or(0.0, |curve| curve.success(spend))
        }
    };
    expected(volume, success)
}

/// The number of completions that a curve predicts, in billionths.
fn expected(volume: f64, success: f64) -> u64 {
    if volume == 1.0 {
        Reward::from_share(success).units()
    } else {
        (volume * success.clamp(0.0, 1.0) * Reward::UNITS as f64 + 0.5) as u64
    }
}

fn refused(detail: impl Into<String>, pointer: &str) -> ApiError {
    ApiError::new(ErrorCode::BadFeedback, detail).at(pointer)
}

/// The same words as in the library and on the command line.
fn invalid(error: &EntryError, pointer: &str) -> ApiError {
    refused(error.to_string(), pointer)
}

fn completions(problem: &Problem, result: &TaskResult) -> Result<u64, ApiError> {
    let completions = match (result.completed, result.completions) {
        (Some(_), Some(_)) => {
            let detail = "has both completed and completions: give one of them";
            return Err(refused(detail, "/completions"));
        }
        (Some(completed), None) => u64::from(completed),
        (None, Some(completions)) => completions,
        (None, None) => {
            let detail = format!(
                "the outcome of task {} needs either completed or completions",
                result.task
            );
            return Err(refused(detail, "/completed"));
        }
    };
    let most = if problem.has_counts() { MAX_COMPLETIONS } else { 1 };
    if completions > most {
        let task = result.task.clone();
        let error = EntryError::TooManyCompletions { task, completions, most };
        return Err(invalid(&error, "/completions"));
    }
    Ok(completions)
}

/// Whether the reward of an outcome is above the largest one and counts as the largest.
pub(super) fn is_clipped(spec: &CampaignSpec, result: &TaskResult, completions: u64) -> bool {
    let clips = |reward| completions > 0 && spec.problem.clips_reward(completions, reward);
    spec.problem.reward_over_max().clips() && result.reward.is_some_and(clips)
}

/// The sum of rewards, in billionths of the campaign's unit of rewards.
fn reward(spec: &CampaignSpec, result: &TaskResult, completions: u64) -> Result<u64, ApiError> {
    let (reward_max, task) = (spec.problem.reward_max(), || result.task.clone());
    let error = match result.reward {
        None if completions == 0 => return Ok(0),
        None => EntryError::NoReward(task()),
        // A zero carries no information.
        Some(0.0) if completions == 0 => return Ok(0),
        Some(reward) if completions == 0 => EntryError::RewardOfFailure { task: task(), reward },
        Some(reward)
            if is_clipped(spec, result, completions)
                || (reward >= 0.0 && reward <= completions as f64 * reward_max) =>
        {
            let counted = reward.min(completions as f64 * reward_max);
            if spec.converts_rewards() {
                return Ok((counted / spec.reward_unit() * Reward::UNITS as f64 + 0.5) as u64);
            }
            // The division may have rounded it up.
            let sum = (counted / reward_max).min(completions as f64);
            return Ok(Completions::from_share(completions, sum).unwrap_or_default().reward_sum());
        }
        Some(reward) => EntryError::RewardRange { task: task(), reward, completions, reward_max },
    };
    Err(invalid(&error, "/reward"))
}

/// The actual spend next to the allocated one.
fn delivery(
    spec: &CampaignSpec,
    row: &SplitRow,
    place: usize,
    result: &TaskResult,
) -> Result<Option<Delivery>, ApiError> {
    let Some(spend) = result.spend else { return Ok(None) };
    if !(spend >= 0.0 && spend.is_finite()) {
        let error = EntryError::SpendRange { task: result.task.clone(), spend };
        return Err(invalid(&error, "/spend"));
    }
    let allocated = row.split.spend.get(place).copied().unwrap_or(0.0);
    let [spent, allocated] = [spend, allocated].map(|spend| spend / spec.spend_unit());
    if spent.max(allocated) > MAX_SPEND {
        let detail = format!(
            "spend of {}: spends above {MAX_SPEND} times the campaign's budget cannot be counted",
            result.task
        );
        return Err(refused(detail, "/spend"));
    }
    let units = |share: f64| (share * Reward::UNITS as f64 + 0.5) as u64;
    Ok(Some(Delivery { spent: units(spent), allocated: units(allocated) }))
}

/// The error for sums that the stores cannot hold.
pub(super) fn too_large(spec: &CampaignSpec, task: u32) -> ApiError {
    let detail = format!(
        "task {}: its rewards, expected completions or spends would add up to more than {:e}, the \
         most that is counted",
        spec.name(task),
        shares(TaskCount::MAX_SUM)
    );
    ApiError::new(ErrorCode::BadFeedback, detail)
        .hint("spends are counted in multiples of the campaign's budget, rewards in reward_max")
}

/// The outcome of a task as the API shows it: campaigns without counts have `completed` in place of
/// `completions`.
pub(super) fn result(spec: &CampaignSpec, task: u32, outcome: Outcome) -> TaskResult {
    let Outcome { completions, reward, delivery } = outcome;
    let is_count = spec.problem.has_counts() || completions > 1;
    TaskResult {
        task: spec.name(task).to_owned(),
        completed: (!is_count).then_some(completions > 0),
        completions: is_count.then_some(completions),
        reward: (completions > 0).then(|| shares(reward) * spec.reward_unit()),
        spend: delivery.map(|delivery| shares(delivery.spent) * spec.spend_unit()),
    }
}
