//! Bounds as JSON, with rewards in the problem's unit.

use outlay::Problem;
use outlay::theory::{Bound, Guarantees, LimitKind, PolylogBound, Quantities, Side};
use serde::Serialize;

/// The bounds that apply to a problem.
#[derive(Debug, Serialize)]
pub struct BoundsRecord<'a> {
    problem: &'a str,
    tasks: usize,
    horizon: u64,
    reward_max: f64,
    /// Expected reward per round of the optimal split; null if a mean is unknown or budgets vary.
    optimum: Option<f64>,
    /// The largest possible regret of any learner.
    trivial: f64,
    unknown_means: &'a [String],
    diminishing_returns: DiminishingRecord,
    information_limit: LimitRecord,
    bounds: Vec<BoundRecord<'a>>,
}

#[derive(Debug, Serialize)]
struct DiminishingRecord {
    holds: bool,
    /// The failed conditions by task.
    failures: Vec<String>,
    /// The quantities in the bound of Theorem 1.
    theorem_1: Option<Theorem1Record>,
    /// Slopes and curvatures above a share of the budget.
    quantities: Option<Quantities>,
}

#[derive(Debug, Serialize)]
struct Theorem1Record {
    least_mean: f64,
    least_share: f64,
    least_success: f64,
    early_share: f64,
    early_success: f64,
}

#[derive(Debug, Serialize)]
struct LimitRecord {
    kind: Option<LimitKind>,
    /// Regret per tenfold number of rounds that no learner avoids in the long run.
    per_decade: Option<f64>,
    /// The reason if there is no value.
    reason: Option<String>,
}

/// One bound.
#[derive(Debug, Serialize)]
pub struct BoundRecord<'a> {
    /// Its name.
    pub bound: &'a str,
    /// The paper's label, or our proof.
    pub source: &'a str,
    /// Its direction.
    pub regret_is: Side,
    /// The bound, if it applies.
    pub value: Option<f64>,
    /// Whether it is no better than the largest possible regret.
    pub vacuous: Option<bool>,
    /// The reason if there is no value.
    pub reason: Option<String>,
    /// The learners for which it holds.
    pub learners: &'a str,
    /// Its scope.
    pub about: &'a str,
}

impl<'a> BoundsRecord<'a> {
    /// The record of `found`, with quantities at a share of the budget if there are any.
    #[must_use]
    pub fn new(
        name: &'a str,
        (problem, horizon): (&Problem, u64),
        found: &'a Guarantees,
        quantities: Option<Quantities>,
    ) -> Self {
        let reward_max = problem.reward_max();
        let failures = found.diminishing.as_ref().err();
        Self {
            problem: name,
            tasks: problem.tasks().len(),
            horizon,
            reward_max,
            optimum: found.optimum.map(|optimum| optimum * reward_max),
            trivial: found.trivial * reward_max,
            unknown_means: &found.unknown,
            diminishing_returns: DiminishingRecord {
                holds: failures.is_none(),
                failures: failures.into_iter().flatten().map(ToString::to_string).collect(),
                theorem_1: found.polylog.map(Theorem1Record::new),
                quantities,
            },
            information_limit: LimitRecord::new(found, reward_max),
            bounds: found.bounds.iter().map(|bound| BoundRecord::new(bound, reward_max)).collect(),
        }
    }
}

impl Theorem1Record {
    fn new(bound: PolylogBound) -> Self {
        let PolylogBound {
            least_mean, least_share, least_success, early_share, early_success, ..
        } = bound;
        Self { least_mean, least_share, least_success, early_share, early_success }
    }
}

impl LimitRecord {
    fn new(found: &Guarantees, reward_max: f64) -> Self {
        let limit = found.limit.as_ref();
        Self {
            kind: limit.ok().map(|limit| limit.kind),
            per_decade: limit.ok().map(|limit| limit.per_decade() * reward_max),
            reason: limit.err().map(ToString::to_string),
        }
    }
}

impl<'a> BoundRecord<'a> {
    /// The record of a bound.
    #[must_use]
    pub fn new(bound: &'a Bound, reward_max: f64) -> Self {
        Self {
            bound: bound.name,
            source: bound.source,
            regret_is: bound.side,
            value: bound.value.as_ref().ok().map(|value| value * reward_max),
            vacuous: bound.vacuous,
            reason: bound.value.as_ref().err().map(ToString::to_string),
            learners: bound.learners,
            about: &bound.about,
        }
    }
}
