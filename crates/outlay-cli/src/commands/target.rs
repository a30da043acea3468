//! The answer to a target of `allocate`: its bracket, its proof and a sentence.

use outlay::plan::{BoundLine, Target, TargetPlan};
use outlay_report::labels::Labels;
use outlay_report::number::{figure, plain};
use serde::Serialize;

/// The bracket of a target and why it holds.
#[derive(Debug, Serialize)]
pub(crate) struct TargetRecord {
    kind: &'static str,
    target: f64,
    is_reached: bool,
    reached: f64,
    low: f64,
    high: f64,
    proof: Vec<LineRecord>,
    #[serde(skip)]
    as_given: Target,
}

/// A split that spends `s` of at most `budget` is worth at most `upper_bound - price (budget - s)`.
#[derive(Debug, Serialize)]
struct LineRecord {
    /// Infinite for all spends, which JSON writes as null.
    budget: f64,
    upper_bound: f64,
    price: f64,
}

impl TargetRecord {
    pub(crate) fn new(plan: &TargetPlan) -> Self {
        let line = |line: &BoundLine| LineRecord {
            budget: line.budget,
            upper_bound: line.upper_bound,
            price: line.price,
        };
        Self {
            kind: plan.target.as_str(),
            target: plan.target.number(),
            is_reached: plan.is_reached,
            reached: plan.reached,
            low: plan.low,
            high: plan.high,
            proof: plan.proof.iter().map(line).collect(),
            as_given: plan.target,
        }
    }

    /// The answer in a sentence.
    pub(crate) fn text(&self, labels: &Labels) -> String {
        let goal = self.goal(labels);
        let (low, high) = (labels.money(&figure(self.low)), labels.money(&figure(self.high)));
        let end = match (self.is_reached, self.as_given) {
            (false, _) => return self.missed(&goal, labels),
            (true, Target::MarginalReturn(_)) => {
                let unit = labels.unit();
                return format!("{goal}: spend {low}; one more {unit} would return less");
            }
            (true, Target::Value(_)) => "least",
            (true, _) => "largest",
        };
        let width = (self.high - self.low).max(0.0) / self.high;
        if low != high {
            format!("{goal}: the {end} spend is between {low} and {high}")
        } else if width > 0.0 {
            format!("{goal}: the {end} spend is {low}, proved to {width:.0e} of it")
        } else {
            format!("{goal}: the {end} spend is {low}")
        }
    }

    fn goal(&self, labels: &Labels) -> String {
        let number = plain(self.target);
        let unit = labels.unit();
        match self.as_given {
            Target::Value(_) => {
                format!("target value {}", labels.reward_per_period(&number))
            }
            Target::ReturnOnSpend(_) => format!("target return on spend {number} per {unit}"),
            Target::CostPerCompletion(_) => {
                format!("target cost per completion {}", labels.money(&number))
            }
            Target::MarginalReturn(_) => format!("marginal return {number} per {unit}"),
        }
    }

    fn missed(&self, goal: &str, labels: &Labels) -> String {
        let reached = figure(self.reached);
        let nearest = match self.as_given {
            Target::Value(_) => {
                format!("this split is worth {}", labels.reward_per_period(&reached))
            }
            Target::ReturnOnSpend(_) => {
                format!("this split returns {reached} per {}", labels.unit())
            }
            Target::CostPerCompletion(_) => {
                format!("a completion of this split costs {}", labels.money(&reached))
            }
            Target::MarginalReturn(_) if self.reached > self.target => {
                return format!(
                    "(!) {goal}: not reached, because --budget ends first; its last unit still \
                     returns {reached}"
                );
            }
            Target::MarginalReturn(_) => {
                return format!(
                    "(!) {goal}: cannot be reached; the largest marginal return is {reached}, that \
                     of this split"
                );
            }
        };
        let verdict =
            if self.proof.is_empty() { "no split was found" } else { "cannot be reached" };
        format!("(!) {goal}: {verdict}; the nearest: {nearest}")
    }
}
