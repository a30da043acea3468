//! All regret bounds that apply to a problem, as data.

use serde::Serialize;

use super::applicable_bounds::{PAPER_LEARNERS, Question, outside_model, upper};
use super::applicable_count_bounds::count_run_bound;
use super::information_limit::{InformationLimit, information_limit};
use super::{
    AssumptionFailure, DiminishingReturns, PolylogBound, kl_ucb_plus_bound, worst_case_bound,
};
use crate::learner::LearnerSpec;
use crate::numeric::compensated::sum;
use crate::oracle::{AllocationError, Options, Oracle};
use crate::problem::{BudgetLaw, Problem, RewardLaw, Task};

/// The direction of a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The regret on this problem is at most the bound.
    AtMost,
    /// On some problem of a family the regret is at least the bound.
    AtLeast,
}

/// One bound on the regret after the horizon, in multiples of the largest reward.
#[derive(Debug, Clone, PartialEq)]
pub struct Bound {
    /// The name of the bound.
    pub name: &'static str,
    /// The source: the paper's label, or our proof.
    pub source: &'static str,
    /// Whether it is an upper or a lower bound.
    pub side: Side,
    /// The learners for which it holds.
    pub learners: &'static str,
    /// Its scope.
    pub about: String,
    /// The bound, or the reason why it does not apply.
    pub value: Result<f64, NotApplicable>,
    /// Whether it is no better than the trivial bound. `None` for lower bounds and where there is
    /// no value.
    pub vacuous: Option<bool>,
}

/// Why a bound does not apply to a problem.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotApplicable {
    /// Outcomes arrive late.
    #[error("outcomes arrive late, which no theorem covers")]
    LateOutcomes,
    /// A task may complete more than once in a round.
    #[error("not proved for tasks that complete more than once in a round")]
    Counts,
    /// Volumes are not the same in all rounds.
    #[error("not proved for volumes that change from round to round")]
    VaryingVolumes,
    /// A task may complete any number of times in a round.
    #[error("needs a largest number of completions per round, which binomial counts have")]
    UnlimitedCounts,
    /// The budget is not the same in all rounds.
    #[error("the budget changes from round to round")]
    VaryingBudget,
    /// The curves are not the same in all rounds.
    #[error("the curves change from round to round")]
    VaryingCurves,
    /// The curves change, and learners do not know how.
    #[error("the curves change from round to round, and hide_scale keeps learners from knowing it")]
    HiddenCurves,
    /// Tasks are not always available.
    #[error("tasks may be unavailable")]
    AbsentTasks,
    /// The horizon is shorter than this.
    #[error("needs at least {0} rounds")]
    FewRounds(u64),
    /// The means of these tasks are unknown.
    #[error("needs the mean of {}", few(.0))]
    UnknownMeans(Vec<String>),
    /// The mean of this task is 0.
    #[error("needs positive means; that of {0} is 0")]
    ZeroMean(String),
    /// A mean is below 1/4 of the largest reward.
    #[error("needs means of at least 1/4 of reward_max")]
    SmallMean,
    /// Assumption 2 fails.
    #[error("strong diminishing returns fail")]
    NoDiminishingReturns,
    /// The rewards of this task are not Bernoulli.
    #[error("needs Bernoulli rewards; those of {0} have another law")]
    OtherRewards(String),
    /// The best allocation is not unique.
    #[error("several splits are optimal")]
    SeveralBestSplits,
    /// The best allocation is at the boundary for this task.
    #[error(
        "the best split does not fund {0} strictly between its bounds where its curve is \
         strictly concave"
    )]
    AtBoundary(String),
    /// The horizon is too short for the number of tasks.
    #[error("needs at least {rounds} rounds for {tasks} tasks, not {horizon}")]
    ShortHorizon {
        /// The number of tasks.
        tasks: usize,
        /// The horizon.
        horizon: u64,
        /// The shortest horizon for this number of tasks.
        rounds: u64,
    },
}

/// The first few names, because there may be 10^5.
fn few(names: &[String]) -> String {
    const NAMED: usize = 3;
    let shown = names[..names.len().min(NAMED)].join(", ");
    if names.len() > NAMED { format!("{shown} and {} more", names.len() - NAMED) } else { shown }
}

/// All bounds of a problem, in multiples of the largest reward.
#[derive(Debug, Clone)]
pub struct Guarantees {
    /// The best expected reward of a round, if every mean is known and neither the budget nor the
    /// curves vary.
    pub optimum: Option<f64>,
    /// The largest possible regret: in every round the best allocation against the lower bounds
    /// alone. Unknown means count as the largest reward.
    pub trivial: f64,
    /// The tasks with unknown means.
    pub unknown: Vec<String>,
    /// The curves under Assumption 2, or the reasons why it fails.
    pub diminishing: Result<DiminishingReturns, Vec<AssumptionFailure>>,
    /// The constants of Theorem 1, if it applies.
    pub polylog: Option<PolylogBound>,
    /// The bounds.
    pub bounds: Vec<Bound>,
    /// The regret that no learner avoids in the long run.
    pub limit: Result<InformationLimit, NotApplicable>,
}

/// An error of [`guarantees`].
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BoundError {
    /// A mean is outside the range of rewards.
    #[error("{task}: its mean reward must be between 0 and reward_max, not {mean} times that")]
    Mean {
        /// The task.
        task: String,
        /// As a share of the largest reward.
        mean: f64,
    },
    /// The number of means differs from the number of tasks.
    #[error("{given} means for {tasks} tasks")]
    Count {
        /// The number of means.
        given: usize,
        /// The number of tasks.
        tasks: usize,
    },
    /// The horizon is zero.
    #[error("horizon: must be at least 1, not 0")]
    Horizon,
    /// The oracle returned an error.
    #[error(transparent)]
    Allocation(#[from] AllocationError),
}

/// The means that a problem gives, as shares of its largest reward: that of a task's `reward`,
/// which a learner would meet, else its `value`.
#[must_use]
pub fn means(problem: &Problem) -> Vec<Option<f64>> {
    let mean = |task: &Task| task.reward().map(RewardLaw::mean).or(task.value());
    problem.tasks().iter().map(|task| mean(task).map(|mean| mean / problem.reward_max())).collect()
}

/// All bounds that apply to a problem with these means (shares of the largest reward) over
/// `horizon` rounds.
///
/// ```
/// use outlay::instance::Instance;
/// use outlay::theory::{guarantees, means};
/// let problem = "square-roots:means=0.6;0.8".parse::<Instance>()?.problem(1000, 1)?;
/// let guarantees = guarantees(&problem, &means(&problem), 1000)?;
/// assert!((guarantees.optimum.unwrap() - 1.0).abs() < 1e-9); // the length of (0.6, 0.8)
/// let is_lemma = |bound: &&outlay::theory::Bound| bound.source == "lemma:explicit:Ktwo";
/// let lemma = guarantees.bounds.iter().find(is_lemma).unwrap();
/// assert!((lemma.value.as_ref().unwrap() - 164_043_080.87).abs() < 0.01);
/// assert_eq!(lemma.vacuous, Some(true)); // 1000 rounds cannot lose more than 1000
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the number of means is wrong, a mean is outside [0, 1], or the oracle returns an error.
pub fn guarantees(
    problem: &Problem,
    means: &[Option<f64>],
    horizon: u64,
) -> Result<Guarantees, BoundError> {
    check(problem, means, horizon)?;
    let tasks = problem.tasks();
    let unknown: Vec<String> = tasks
        .iter()
        .zip(means)
        .filter(|(_, mean)| mean.is_none())
        .map(|(task, _)| task.name().to_owned())
        .collect();
    let highest: Vec<f64> = means.iter().map(|mean| mean.unwrap_or(1.0)).collect();
    let easiest = easiest_round(problem);
    let mut oracle = Oracle::new(&easiest);
    let budget = largest_budget(problem);
    let best = oracle.allocate(&highest, budget, &Options::default())?;
    let (value, ceiling) = (best.value, best.upper_bound);
    let forced = sum(tasks.iter().zip(&highest).map(|(task, mean)| {
        let least = task.bounds().min / largest_scale(problem, task);
        mean * task.volume() * task.curve().success(least)
    }));
    let most_mass =
        oracle.allocate(&vec![1.0; tasks.len()], budget, &Options::default())?.upper_bound;
    let diminishing = DiminishingReturns::new(problem);
    let question = Question {
        problem,
        known: unknown.is_empty().then_some(highest),
        unknown: &unknown,
        horizon,
        most_mass,
    };
    let polylog = question.polylog(&diminishing);
    let environment = problem.environment();
    let is_constant = environment.budget.is_none() && !environment.has_profiles();
    let trivial = horizon as f64 * (ceiling - forced).max(0.0);
    let limit = match question.means() {
        Ok(means) => information_limit(problem, means)?,
        Err(reason) => Err(reason),
    };
    Ok(Guarantees {
        optimum: (unknown.is_empty() && is_constant).then_some(value),
        trivial,
        bounds: question.bounds(&diminishing, &polylog, trivial),
        polylog: polylog.ok(),
        unknown,
        diminishing,
        limit,
    })
}

/// The problem with each task's smallest scale: no round can succeed more often.
fn easiest_round(problem: &Problem) -> Problem {
    let smallest = |task: &Task| scales(problem, task).fold(f64::INFINITY, f64::min);
    if problem.environment().scale.is_empty() {
        return problem.clone();
    }
    let scale: Vec<f64> = problem.tasks().iter().map(smallest).collect();
    // The scales were checked with the problem.
    problem.in_round(Some(&scale), None).unwrap_or_else(|_| problem.clone())
}

fn largest_scale(problem: &Problem, task: &Task) -> f64 {
    scales(problem, task).fold(0.0, f64::max)
}

/// The scales of a task's curve: 1 if it has no list.
fn scales<'a>(problem: &'a Problem, task: &Task) -> impl Iterator<Item = f64> + 'a {
    let list = problem.environment().scale.get(task.name()).map_or(&[1.0][..], Vec::as_slice);
    list.iter().copied()
}

fn check(problem: &Problem, means: &[Option<f64>], horizon: u64) -> Result<(), BoundError> {
    if means.len() != problem.tasks().len() {
        return Err(BoundError::Count { given: means.len(), tasks: problem.tasks().len() });
    }
    if horizon == 0 {
        return Err(BoundError::Horizon);
    }
    for (task, mean) in problem.tasks().iter().zip(means) {
        // The means of samples may be off in the last digit.
        if let Some(mean) = mean.filter(|mean| !(0.0..=1.0 + 1e-12).contains(mean)) {
            return Err(BoundError::Mean { task: task.name().to_owned(), mean });
        }
    }
    Ok(())
}

/// The bound that holds for a learner whose runs had this success mass on average (the sum over
/// rounds and tasks of the success probability): Theorem 3 from the run itself, or the bound of
/// `kl-ucb-plus`. None for learners without one.
#[must_use]
pub fn run_bound(
    problem: &Problem,
    learner: &LearnerSpec,
    horizon: u64,
    success_mass: f64,
) -> Option<Bound> {
    if problem.has_counts() {
        return count_run_bound(problem, learner, horizon, success_mass);
    }
    let tasks = problem.tasks().len();
    let bound =
        |name, source, learners, about, value| Some(upper(name, source, learners, about, value));
    let value = |value: f64| outside_model(problem).map_or(Ok(value), Err);
    match learner {
        LearnerSpec::Algorithm1
        | LearnerSpec::KlUcbMixture
        | LearnerSpec::Hoeffding
        | LearnerSpec::Full => bound(
            "Theorem 3, this run",
            "Theorem 3",
            PAPER_LEARNERS,
            "any curves; from the success mass of the run",
            value(worst_case_bound(tasks, horizon, success_mass)),
        ),
        LearnerSpec::KlUcbPlus { c } if *c > 0.5 => bound(
            "kl-ucb-plus, any curves",
            "our proof (not peer reviewed)",
            "kl-ucb-plus",
            "any curves",
            value(kl_ucb_plus_bound(tasks, horizon as f64, *c)),
        ),
        _ => None,
    }
}

/// The largest budget that any round may have.
fn largest_budget(problem: &Problem) -> f64 {
    match &problem.environment().budget {
        None => problem.budget(),
        Some(BudgetLaw::List { amounts }) => amounts.iter().copied().fold(0.0, f64::max),
        Some(BudgetLaw::Uniform { high, .. }) => *high,
        Some(BudgetLaw::Sine { mean, amplitude, .. }) => mean + amplitude,
    }
}
