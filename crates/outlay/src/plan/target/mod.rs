//! Plans for a target instead of a budget: a value, a return on spend, a cost per completion, or a
//! marginal return.
//!
//! Write V(s) for the best value of a total spend of at most `s`, which never decreases. An answer
//! is a bracket with a proof. The end that a split reaches has the split. The end that no split
//! reaches is proved by upper bounds of the oracle, each as a [`BoundLine`]: a line above V.
//!
//! | target | answer | module |
//! |---|---|---|
//! | value `v` | the least `s` with V(s) ≥ v | `least_spend` |
//! | return on spend `r` | the largest `s` with V(s) ≥ r s | `largest_spend` |
//! | cost per completion `c` | the same with completions for value and `r` = 1/c | `largest_spend` |
//! | marginal return `r` | the demand at the multiplier `r`; no search | `marginal_return` |

mod largest_spend;
mod least_spend;
mod marginal_return;

use crate::curve::demand::{SpendRange, best_surplus};
use crate::numeric::compensated::sum;
use crate::oracle::{Allocation, AllocationError, Options, Oracle, dual_bound};
use crate::problem::{Leftover, Problem, Task};

/// The relative width at which a search for a spend stops.
pub const TARGET_WIDTH: f64 = 1e-6;
/// The largest number of budgets that a search solves.
const MAX_SOLVES: usize = 500;

/// A target of a plan.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Target {
    /// The least spend whose best split is worth at least this.
    Value(f64),
    /// The largest spend whose best split returns at least this value per unit of spend.
    ReturnOnSpend(f64),
    /// The largest spend at which an expected completion costs at most this. The split maximises
    /// completions.
    CostPerCompletion(f64),
    /// The spend at which the last unit returns at least this value, and one more unit less.
    MarginalReturn(f64),
}

impl Target {
    /// Its name in JSON and, with hyphens, on the command line.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Value(_) => "target_value",
            Self::ReturnOnSpend(_) => "target_roas",
            Self::CostPerCompletion(_) => "target_cpa",
            Self::MarginalReturn(_) => "marginal_return",
        }
    }

    /// The number of the target.
    #[must_use]
    pub fn number(self) -> f64 {
        let (Self::Value(number)
        | Self::ReturnOnSpend(number)
        | Self::CostPerCompletion(number)
        | Self::MarginalReturn(number)) = self;
        number
    }

    /// The values that the search maximises: those given, or one for every completion.
    #[must_use]
    pub fn objective<'v>(
        self,
        problem: &Problem,
        values: &'v [f64],
    ) -> std::borrow::Cow<'v, [f64]> {
        match self {
            Self::CostPerCompletion(_) => {
                let count = |task: &Task| if task.is_retired() { 0.0 } else { 1.0 };
                problem.tasks().iter().map(count).collect()
            }
            _ => values.into(),
        }
    }
}

/// A line above the values of all splits: a split that spends `s`, at most `budget`, is worth at
/// most `upper_bound - price * (budget - s)`.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct BoundLine {
    /// The largest spend that the line is about; infinite for all spends.
    pub budget: f64,
    /// An upper bound on the value of this budget.
    pub upper_bound: f64,
    /// The slope of the line; zero for a bound of the search alone.
    pub price: f64,
}

impl BoundLine {
    /// The bound for a spend of at most `budget`.
    #[must_use]
    pub fn at(&self, spend: f64) -> f64 {
        if self.price == 0.0 {
            self.upper_bound
        } else {
            self.upper_bound - self.price * (self.budget - spend)
        }
    }
}

/// The answer to a target.
#[derive(Debug, Clone, PartialEq)]
pub struct TargetPlan {
    /// The target.
    pub target: Target,
    /// Whether the split reaches it. If not, no split does, or none was found.
    pub is_reached: bool,
    /// The target that the split reaches: the nearest one that could be found if the given one
    /// cannot be reached.
    pub reached: f64,
    /// The split. Its value and bounds are completions if the target is a cost per completion.
    pub allocation: Allocation,
    /// The spend sought is at least this.
    pub low: f64,
    /// The spend sought is at most this.
    pub high: f64,
    /// Why spends below `low` (for a value) or above `high` (for a return or a cost) miss the
    /// target; if the target cannot be reached, why no spend reaches it. Empty if the search could
    /// not prove it, and for a marginal return, which the allocation's price proves.
    pub proof: Vec<BoundLine>,
}

impl TargetPlan {
    /// The total spend of the split.
    #[must_use]
    pub fn spend(&self) -> f64 {
        total(&self.allocation)
    }
}

/// An error of a target.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TargetError {
    /// The number is not positive and finite.
    #[error("{}: must be positive and finite, not {}", .0.as_str(), .0.number())]
    BadTarget(Target),
    /// A marginal return needs curves that are known, not custom functions.
    #[error(
        "marginal_return: the curve of {task} is a custom function, whose demand is unknown; give \
         its points instead"
    )]
    CustomFunction {
        /// Name of the task.
        task: String,
    },
    /// The oracle returned an error.
    #[error(transparent)]
    Allocation(#[from] AllocationError),
}

/// The split for a target. `limit` is the largest spend allowed; without it, any spend is.
/// Budget that gains nothing is never spent.
///
/// ```
/// use outlay::plan::{Target, for_target};
/// use outlay::{Curve, Options, ProblemSpec, TaskSpec};
/// let tasks = vec![TaskSpec::new("search", Curve::exponential(100.0)?)];
/// let problem = ProblemSpec { tasks, ..ProblemSpec::default() }.check()?;
/// let plan = for_target(&problem, &[200.0], Target::Value(100.0), None, &Options::default())?;
/// // Half of the customers: 100 ln 2.
/// assert!(plan.is_reached && (plan.spend() - 69.3147).abs() < 1e-3);
/// assert!(plan.proof[0].at(plan.low) < 100.0 && plan.allocation.value >= 100.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the target is not positive and finite, if lower bounds exceed the limit, or if the oracle
/// returns an error.
pub fn for_target(
    problem: &Problem,
    values: &[f64],
    target: Target,
    limit: Option<f64>,
    options: &Options,
) -> Result<TargetPlan, TargetError> {
    if !(target.number() > 0.0 && target.number().is_finite()) {
        return Err(TargetError::BadTarget(target));
    }
    let values = target.objective(problem, values);
    let mut search = Search::new(problem, &values, limit, options);
    let plan = match target {
        Target::Value(value) => search.least_spend(value),
        Target::ReturnOnSpend(least) => search.largest_spend(target, least),
        Target::CostPerCompletion(most) => search.largest_spend(target, 1.0 / most),
        Target::MarginalReturn(least) => search.demand_at(least),
    }?;
    Ok(TargetPlan { allocation: trimmed(plan.allocation), ..plan })
}

/// A search over budgets.
struct Search<'p> {
    problem: &'p Problem,
    values: &'p [f64],
    options: Options,
    oracle: Oracle,
    /// The sum of the lower bounds.
    needed: f64,
    limit: Option<f64>,
    solved: usize,
}

impl<'p> Search<'p> {
    fn new(problem: &'p Problem, values: &'p [f64], limit: Option<f64>, options: &Options) -> Self {
        let needed = sum(problem.tasks().iter().map(|task| task.bounds().min));
        let options = Options { leftover: Leftover::Keep, ..*options };
        Self { problem, values, options, oracle: Oracle::new(problem), needed, limit, solved: 0 }
    }

    fn solve(&mut self, budget: f64) -> Result<Allocation, AllocationError> {
        self.solved += 1;
        Ok(self.oracle.allocate(self.values, budget, &self.options)?.clone())
    }

    fn may_solve(&self) -> bool {
        self.solved < MAX_SOLVES
    }

    /// The bound of the search and the line of the multiplier.
    fn lines(&self, allocation: &Allocation) -> [BoundLine; 2] {
        let Allocation { budget, upper_bound, price, .. } = *allocation;
        [BoundLine { budget, upper_bound, price: 0.0 }, self.line(budget, price)]
    }

    /// The line of a multiplier at a budget.
    fn line(&self, budget: f64, price: f64) -> BoundLine {
        let upper_bound = dual_bound(self.problem, self.values, budget, price);
        BoundLine { budget, upper_bound, price }
    }

    /// More than any split is worth: every task at its largest success.
    fn supremum(&self) -> BoundLine {
        let largest = |task: &Task| {
            let max = task.bounds().relaxed().max;
            if max.is_finite() { task.curve().success(max) } else { task.curve().ceiling() }
        };
        let tasks = self.problem.tasks().iter().zip(self.values);
        let upper_bound = sum(tasks.map(|(task, value)| value * task.volume() * largest(task)));
        BoundLine { budget: f64::INFINITY, upper_bound: upper_bound * (1.0 + 1e-12), price: 0.0 }
    }

    /// The spends that maximise value minus `price` times spend, regardless of any budget.
    fn demands(&self, price: f64) -> Vec<f64> {
        let demand = |(task, value): (&Task, &f64)| {
            let bounds = task.bounds();
            let range = SpendRange { min: bounds.min, max: bounds.max, at_least: bounds.at_least };
            best_surplus(task.curve(), value * task.volume(), price, range).1
        };
        self.problem.tasks().iter().zip(self.values).map(demand).collect()
    }

    /// The allocation of these spends at the multiplier whose demands they are, which proves them
    /// optimal for their total.
    fn allocation_of(&self, spend: &[f64], price: f64) -> Allocation {
        let budget = sum(spend.iter().copied());
        let value = super::value_of(self.problem, self.values, spend);
        let upper_bound = self.line(budget, price).upper_bound.max(value);
        let mut allocation = Allocation::unsolved(budget, value, upper_bound, price);
        allocation.set_spend(self.problem, spend);
        allocation.set_status(self.options.tolerance);
        allocation
    }
}

/// The allocation without unspent budget: its bound holds for its own total, too.
fn trimmed(allocation: Allocation) -> Allocation {
    let budget = if allocation.unspent > 0.0 { total(&allocation) } else { allocation.budget };
    Allocation { budget, unspent: 0.0, unspent_reason: None, ..allocation }
}

/// The total spend of an allocation.
fn total(allocation: &Allocation) -> f64 {
    sum(allocation.spend.iter().copied())
}
