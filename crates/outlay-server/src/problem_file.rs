//! The keys of a problem file, for the API description. The library reads and validates them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The budget and the tasks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"budget": 10, "task": [
    {"name": "a", "value": 1, "curve": {"family": "exponential", "scale": 2}},
    {"name": "b", "value": 1, "curve": {"family": "hill", "half_at": 4, "steepness": 2}}]}))]
pub struct ProblemFile {
    /// Budget of a round; default 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = f64, required = false, nullable = false, exclusive_minimum = 0)]
    pub budget: Option<f64>,
    /// Planned number of rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = u64, required = false, minimum = 1)]
    pub horizon: Option<u64>,
    /// The largest reward of a success; default 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = f64, required = false, exclusive_minimum = 0)]
    pub reward_max: Option<f64>,
    /// What to do with reported rewards above `reward_max`; by default they are refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = OverMaxWord, required = false)]
    pub reward_over_max: Option<OverMaxWord>,
    /// What to do with budget that has no effect; by default it is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = LeftoverWord, required = false)]
    pub leftover: Option<LeftoverWord>,
    /// Unit of budget and spends in tables and reports, such as EUR.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = false, min_length = 1, max_length = 20)]
    pub currency: Option<String>,
    /// Length of a round in tables and reports, such as day.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = false, min_length = 1, max_length = 20)]
    pub period: Option<String>,
    /// Unit of rewards in tables and reports; default: the currency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = false, min_length = 1, max_length = 20)]
    pub reward_unit: Option<String>,
    /// For simulation only; ignored by the service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Object, required = false)]
    pub environment: Option<serde_json::Map<String, serde_json::Value>>,
    /// The tasks.
    #[schema(min_items = 1)]
    pub task: Vec<ProblemTask>,
}

/// Use of budget that has no effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum LeftoverWord {
    /// Reported as unspent.
    Keep,
    /// Spent on the first task with capacity.
    Spend,
}

/// Treatment of reported rewards above the largest one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum OverMaxWord {
    /// They are refused.
    Refuse,
    /// They count as the largest one.
    Clip,
}

/// A task of a problem.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ProblemTask {
    /// Unique name; default `task-1`, `task-2`, ….
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = false, min_length = 1)]
    pub name: Option<String>,
    /// Probability of success by spend.
    pub curve: ProblemCurve,
    /// Mean reward of a completion, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = f64, required = false, minimum = 0)]
    pub value: Option<f64>,
    /// Expected completions per round at success 1; 1 if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = f64, required = false, exclusive_minimum = 0, maximum = 1e9)]
    pub volume: Option<f64>,
    /// For simulation only; ignored by the service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Object, required = false)]
    pub reward: Option<serde_json::Map<String, serde_json::Value>>,
    /// Smallest spend.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = f64, required = false, minimum = 0)]
    pub min: Option<f64>,
    /// Largest spend.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = f64, required = false, minimum = 0)]
    pub max: Option<f64>,
    /// The spend is zero or at least this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = f64, required = false, minimum = 0)]
    pub at_least: Option<f64>,
    /// The spend is exactly this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = f64, required = false, minimum = 0)]
    pub fixed: Option<f64>,
    /// The spend is zero.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = bool, required = false)]
    pub exclude: Option<bool>,
    /// Current spend.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = f64, required = false, minimum = 0)]
    pub current: Option<f64>,
}

/// Probability of success by spend. Every family also accepts `floor` and `ceiling`, the
/// probability at zero and the largest probability.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "family", rename_all = "lowercase")]
pub enum ProblemCurve {
    /// min(1, (x/scale)^exponent)
    Power {
        /// Above 0, at most 1.
        #[schema(exclusive_minimum = 0, maximum = 1)]
        exponent: f64,
        /// Default: the budget.
        #[schema(value_type = f64, required = false, exclusive_minimum = 0)]
        scale: Option<f64>,
    },
    /// min(1, x/full_at)
    Saturating {
        /// Spend from which success is certain.
        #[schema(exclusive_minimum = 0)]
        full_at: f64,
    },
    /// 1 − exp(−x/scale)
    Exponential {
        /// Spend at which 63 % succeed.
        #[schema(exclusive_minimum = 0)]
        scale: f64,
    },
    /// x^steepness / (x^steepness + half_at^steepness)
    Hill {
        /// Spend at which half succeed.
        #[schema(exclusive_minimum = 0)]
        half_at: f64,
        /// S-shaped above 1.
        #[schema(exclusive_minimum = 0)]
        steepness: f64,
    },
    /// An S-shaped curve that is zero at 0.
    Logistic {
        /// Spend of the steepest slope.
        mid: f64,
        /// Width of the transition.
        #[schema(exclusive_minimum = 0)]
        width: f64,
    },
    /// Certain from a spend on, impossible below it.
    Threshold {
        /// This spend.
        #[schema(exclusive_minimum = 0)]
        at: f64,
    },
    /// A step function.
    Steps {
        /// Spends, increasing.
        #[schema(min_items = 1)]
        at: Vec<f64>,
        /// Probabilities from these spends on.
        #[schema(min_items = 1)]
        success: Vec<f64>,
    },
    /// Linear between points.
    Piecewise {
        /// Spends, increasing from 0.
        #[schema(min_items = 1)]
        spend: Vec<f64>,
        /// Probabilities at these spends.
        #[schema(min_items = 1)]
        success: Vec<f64>,
    },
    /// The share of samples that are at most the spend.
    Empirical {
        /// Spends that successes needed.
        #[schema(min_items = 1)]
        samples: Vec<f64>,
    },
}

#[cfg(test)]
mod tests {
    use outlay::problem::{NoFiles, Problem};

    use super::*;

    /// A task of every family with every key.
    const ALL: &str = r#"{"budget": 10, "horizon": 5, "reward_max": 2, "reward_over_max": "clip", "leftover": "spend", "environment": {"available": 0.5}, "task": [
        {"name": "a", "curve": {"family": "power", "exponent": 0.5, "scale": 3}, "value": 1, "min": 0, "max": 4, "current": 1},
        {"curve": {"family": "saturating", "full_at": 3}, "at_least": 1, "reward": {"law": "bernoulli", "mean": 0.5}},
        {"curve": {"family": "exponential", "scale": 3}, "fixed": 1},
        {"curve": {"family": "hill", "half_at": 3, "steepness": 2}, "exclude": true},
        {"curve": {"family": "logistic", "mid": 3, "width": 2}},
        {"curve": {"family": "threshold", "at": 3}},
        {"curve": {"family": "steps", "at": [1, 2], "success": [0.5, 1]}},
        {"curve": {"family": "piecewise", "spend": [0, 2], "success": [0, 1]}},
        {"curve": {"family": "empirical", "samples": [1, 2]}}]}"#;

    #[test]
    fn the_description_matches_the_library() {
        let file: ProblemFile = serde_json::from_str(ALL).unwrap();
        assert_eq!(file.task.len(), 9);
        let written = serde_json::to_string(&file).unwrap();
        assert_eq!(
            Problem::from_json(&written, &NoFiles).unwrap(),
            Problem::from_json(ALL, &NoFiles).unwrap()
        );
    }
}
