//! Summaries of replications: means with confidence intervals, quantiles, curves over time.

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

use super::environment::mean_rewards;
use super::varying_curves::even_split_regret;
use super::{Case, Environment, Experiment, ExperimentError, Replication, Source, trace_rounds};
use crate::feedback::Feedback;
use crate::learner::{LearnerChoice, LearnerSpec, even_split};
use crate::numeric::compensated::sum;
use crate::oracle::{Options, Oracle};
use crate::plan::value_of;
use crate::problem::{Bounds, Problem};
use crate::theory::{information_limit, kl_ucb_plus_bound, worst_case_bound};

/// The mean of a sample with its uncertainty, and quantiles.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Statistics {
    /// The mean.
    pub mean: f64,
    /// The standard error of the mean; absent for a single replication.
    pub std_error: Option<f64>,
    /// Lower end of the 95 % interval of the mean (Student's t); absent for a single replication.
    pub low95: Option<f64>,
    /// Its upper end.
    pub high95: Option<f64>,
    /// The median.
    pub median: f64,
    /// The 10 % quantile over the replications.
    pub q10: f64,
    /// The 90 % quantile over the replications.
    pub q90: f64,
}

/// The regret after a round, over the replications.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CurvePoint {
    /// The round.
    pub round: u64,
    /// Mean regret.
    pub mean: f64,
    /// Lower end of the 95 % interval of the mean.
    pub low95: Option<f64>,
    /// Its upper end.
    pub high95: Option<f64>,
    /// The 10 % quantile over the replications.
    pub q10: f64,
    /// The 90 % quantile over the replications.
    pub q90: f64,
}

/// The regret that a learner added over a decade of rounds, over the replications.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct DecadePoint {
    /// The last round of the decade.
    pub round: u64,
    /// Mean regret per tenfold number of rounds.
    pub mean: f64,
    /// Lower end of the 95 % interval of the mean.
    pub low95: Option<f64>,
    /// Its upper end.
    pub high95: Option<f64>,
}

/// A proved bound on the mean regret of a learner.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BoundCurve {
    /// Its name, such as `Theorem 3`.
    pub name: String,
    /// The bound at each point of the curve.
    pub values: Vec<f64>,
}

/// The summary of one learner on one problem.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LearnerSummary {
    /// The learner, such as `kl-ucb-plus` or `epsilon-greedy:epsilon=0.05`.
    pub learner: String,
    /// The feedback that it received.
    pub feedback: Feedback,
    /// Pseudo-regret: the optimum minus the mean rewards of the allocations.
    pub regret: Statistics,
    /// Realised regret: the optimum minus the rewards as drawn.
    pub realised_regret: Statistics,
    /// The largest relative optimality gap of any allocation played.
    pub oracle_gap: f64,
    /// The mean number of outcomes that had not arrived at the end.
    pub pending: f64,
    /// Every replication.
    pub replications: Vec<ReplicationSummary>,
    /// Pseudo-regret over time.
    pub curve: Vec<CurvePoint>,
    /// The regret added by each decade of rounds, counted back from the horizon.
    pub decades: Vec<DecadePoint>,
    /// Each task's share of the cumulative spend: `shares[point][task]`. Empty if there are too
    /// many tasks.
    pub shares: Vec<Vec<f64>>,
    /// The regret bounds that apply.
    pub bounds: Vec<BoundCurve>,
}

/// One replication without its trace.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReplicationSummary {
    /// Its seed.
    pub seed: u64,
    /// Pseudo-regret at the horizon.
    pub regret: f64,
    /// Realised regret at the horizon.
    pub realised_regret: f64,
    /// The number of observed rewards of each task: completions, or under full feedback rounds.
    pub completions: Vec<u64>,
    /// The sum of the success probabilities over rounds and tasks.
    pub success_mass: f64,
}

/// The best allocation of the problem.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Optimum {
    /// Expected reward per round, averaged over the rounds if budgets or curves vary.
    pub value: f64,
    /// The allocation at the problem's budget and with its usual curves.
    pub spend: Vec<f64>,
    /// The relative optimality gap of `value`.
    pub gap: f64,
}

/// All learners on one problem.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// The problem's name.
    pub problem: String,
    /// The parameter of the grid and its value for this problem, if there is a grid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameter: Option<(String, f64)>,
    /// Names of the tasks.
    pub tasks: Vec<String>,
    /// The number of rounds.
    pub horizon: u64,
    /// Seed of the first replication.
    pub seed: u64,
    /// The number of replications.
    pub replications: u64,
    /// The best allocation.
    pub optimum: Optimum,
    /// Regret per round of the even split, in the first replication's problem.
    pub uniform_regret_per_round: f64,
    /// The regret per tenfold number of rounds that no learner avoids in the long run, if it is
    /// known and the same for all seeds.
    pub limit_per_decade: Option<f64>,
    /// The learners, in the order of the experiment.
    pub learners: Vec<LearnerSummary>,
}

impl Statistics {
    /// The statistics of a sample; all zero if it is empty.
    #[must_use]
    pub fn of(sample: &[f64]) -> Self {
        let count = sample.len() as f64;
        let mean = if sample.is_empty() { 0.0 } else { sum(sample.iter().copied()) / count };
        let mut sorted = sample.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let interval = (sample.len() > 1).then(|| {
            let variance = sum(sample.iter().map(|number| (number - mean).powi(2))) / (count - 1.0);
            let std_error = (variance / count).sqrt();
            (std_error, student_quantile(count - 1.0) * std_error)
        });
        Self {
            mean,
            std_error: interval.map(|(std_error, _)| std_error),
            low95: interval.map(|(_, half)| mean - half),
            high95: interval.map(|(_, half)| mean + half),
            median: quantile(&sorted, 0.5),
            q10: quantile(&sorted, 0.1),
            q90: quantile(&sorted, 0.9),
        }
    }
}

/// The 97.5 % quantile of Student's t.
fn student_quantile(freedom: f64) -> f64 {
    StudentsT::new(0.0, 1.0, freedom).map_or(f64::INFINITY, |law| law.inverse_cdf(0.975))
}

/// The quantile of a sorted sample, interpolated linearly.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return 0.0 };
    let place = share * last as f64;
    let below = place.floor() as usize;
    let above = (below + 1).min(last);
    sorted[below] + (place - below as f64) * (sorted[above] - sorted[below])
}

/// Summarises all learners of one case.
pub(super) fn summarise(
    experiment: &Experiment,
    case: &Case,
    results: &[Vec<Replication>],
) -> Result<Summary, ExperimentError> {
    let problem = case.source.problem(case.horizon, experiment.seed)?;
    let means = mean_rewards(&problem)?;
    let mut oracle = Oracle::new(&problem);
    let best = oracle.allocate(&means, problem.budget(), &Options::default())?;
    let mean_optimum = results.iter().flatten().map(|replication| replication.optimum);
    let count = results.iter().map(Vec::len).sum::<usize>();
    let optimum = Optimum {
        // The problem may differ from seed to seed, and the budget from round to round.
        value: if count > 0 {
            sum(mean_optimum) / count as f64
        } else {
            best.value * problem.reward_max()
        },
        spend: best.spend.clone(),
        gap: best.gap(),
    };
    let even_regret = match problem.environment().has_profiles() {
        false => best.value - even_value(&problem, &means),
        true => {
            let environment = Environment::new(&problem, experiment.seed)?;
            even_split_regret(&problem, &means, &environment, case.horizon)?
        }
    };
    let uniform_regret_per_round = even_regret * problem.reward_max();
    let most_mass = oracle
        .allocate(&vec![1.0; problem.tasks().len()], problem.budget(), &Options::default())?
        .upper_bound;
    let about = About { case, problem: &problem, most_mass, rounds: trace_rounds(case.horizon) };
    let learners = experiment.learners.iter().zip(results);
    Ok(Summary {
        problem: case.name.clone(),
        parameter: case.parameter.clone(),
        tasks: problem.tasks().iter().map(|task| task.name().to_owned()).collect(),
        horizon: case.horizon,
        seed: experiment.seed,
        replications: experiment.replications,
        optimum,
        uniform_regret_per_round,
        limit_per_decade: limit_per_decade(&case.source, &problem, &means)?,
        learners: learners
            .map(|(learner, results)| {
                about.learner(learner, experiment.feedback_of(learner), results)
            })
            .collect(),
    })
}

/// The information limit in the problem's unit of reward.
fn limit_per_decade(
    source: &Source,
    problem: &Problem,
    means: &[f64],
) -> Result<Option<f64>, ExperimentError> {
    if matches!(source, Source::Instance(instance) if instance.depends_on_seed()) {
        return Ok(None);
    }
    let limit = information_limit(problem, means)?.ok();
    Ok(limit.map(|limit| limit.per_decade() * problem.reward_max()))
}

/// Expected reward of the even split, as a multiple of the largest reward.
fn even_value(problem: &Problem, means: &[f64]) -> f64 {
    let bounds: Vec<Bounds> = problem.tasks().iter().map(|task| task.bounds()).collect();
    let mut spend = vec![0.0; bounds.len()];
    even_split(&bounds, problem.budget(), None, &mut spend);
    value_of(problem, means, &spend)
}

/// The data that the summaries of a case share.
struct About<'a> {
    case: &'a Case,
    problem: &'a Problem,
    /// The largest success mass that a round can have.
    most_mass: f64,
    rounds: Vec<u64>,
}

impl About<'_> {
    fn learner(
        &self,
        learner: &LearnerChoice,
        feedback: Feedback,
        results: &[Replication],
    ) -> LearnerSummary {
        let of = |number: fn(&Replication) -> f64| results.iter().map(number).collect::<Vec<f64>>();
        LearnerSummary {
            learner: learner.to_string(),
            feedback,
            regret: Statistics::of(&of(|replication| replication.regret)),
            realised_regret: Statistics::of(&of(|replication| replication.realised_regret)),
            oracle_gap: of(|replication| replication.oracle_gap).into_iter().fold(0.0, f64::max),
            pending: Statistics::of(&of(|replication| replication.pending as f64)).mean,
            replications: results.iter().map(ReplicationSummary::of).collect(),
            curve: self.curve(results),
            decades: self.decades(results),
            shares: self.shares(results),
            bounds: self.bounds(learner),
        }
    }

    fn curve(&self, results: &[Replication]) -> Vec<CurvePoint> {
        let point = |(place, &round): (usize, &u64)| {
            let sample: Vec<f64> = results
                .iter()
                .filter_map(|replication| replication.trace.get(place).copied())
                .collect();
            let Statistics { mean, low95, high95, q10, q90, .. } = Statistics::of(&sample);
            CurvePoint { round, mean, low95, high95, q10, q90 }
        };
        self.rounds.iter().enumerate().map(point).collect()
    }

    /// A decade begins at the traced round that is closest to a tenth of its last round.
    fn decades(&self, results: &[Replication]) -> Vec<DecadePoint> {
        const FIRST: u64 = 100;
        let ends = std::iter::successors(Some(self.case.horizon), |end| Some(end / 10));
        let mut decades: Vec<DecadePoint> = ends
            .take_while(|end| *end >= FIRST)
            .map(|end| {
                let (from, to) = (self.traced(end / 10), self.traced(end));
                let [begin, round] = [from, to].map(|place| self.rounds[place]);
                let decades = (round as f64 / begin as f64).log10();
                let added = |replication: &Replication| {
                    let trace = &replication.trace;
                    Some((trace.get(to)? - trace.get(from)?) / decades)
                };
                let sample: Vec<f64> = results.iter().filter_map(added).collect();
                let Statistics { mean, low95, high95, .. } = Statistics::of(&sample);
                DecadePoint { round, mean, low95, high95 }
            })
            .collect();
        decades.reverse();
        decades
    }

    /// The position of the traced round that is closest to a round, in logarithms.
    fn traced(&self, round: u64) -> usize {
        let after = self.rounds.partition_point(|traced| *traced < round);
        let distance = |place: usize| (self.rounds[place] as f64 / round as f64).ln().abs();
        let last = self.rounds.len() - 1;
        let candidates = [after.saturating_sub(1).min(last), after.min(last)];
        if distance(candidates[0]) < distance(candidates[1]) {
            candidates[0]
        } else {
            candidates[1]
        }
    }

    /// Shares of the mean spend.
    fn shares(&self, results: &[Replication]) -> Vec<Vec<f64>> {
        let tasks = self.problem.tasks().len();
        if results.iter().any(|replication| replication.spend.len() != self.rounds.len()) {
            return Vec::new();
        }
        let at = |place: usize| {
            let spend = |task: usize| {
                sum(results
                    .iter()
                    .map(|replication| replication.spend[place].get(task).copied().unwrap_or(0.0)))
            };
            let spends: Vec<f64> = (0..tasks).map(spend).collect();
            let total = sum(spends.iter().copied());
            spends.iter().map(|spend| if total > 0.0 { spend / total } else { 0.0 }).collect()
        };
        (0..self.rounds.len()).map(at).collect()
    }

    /// The regret bounds that apply; the theorems assume that outcomes arrive at once, that tasks
    /// complete at most once in a round, that the learner starts from nothing and that it knows the
    /// curves.
    fn bounds(&self, learner: &LearnerChoice) -> Vec<BoundCurve> {
        let tasks = self.problem.tasks().len();
        let starts_from_log = self.problem.tasks().iter().any(|task| task.seen().is_some());
        let environment = self.problem.environment();
        let is_hidden = environment.has_profiles() && environment.hide_scale;
        let is_outside = environment.delay.is_some() || self.problem.has_counts();
        if is_outside || starts_from_log || is_hidden {
            return Vec::new();
        }
        let varies = environment.budget.is_some() || environment.has_profiles();
        let mass = |round: u64| round as f64 * if varies { tasks as f64 } else { self.most_mass };
        let curve = |name: &str, bound: &dyn Fn(u64) -> f64| BoundCurve {
            name: name.to_owned(),
            values: self
                .rounds
                .iter()
                .map(|&round| bound(round) * self.problem.reward_max())
                .collect(),
        };
        match learner.built_in() {
            Some(
                LearnerSpec::Algorithm1
                | LearnerSpec::KlUcbMixture
                | LearnerSpec::Hoeffding
                | LearnerSpec::Full,
            ) => {
                vec![curve("Theorem 3", &|round| {
                    worst_case_bound(tasks, self.case.horizon, mass(round))
                })]
            }
            Some(LearnerSpec::KlUcbPlus { c }) if *c > 0.5 => {
                vec![curve("worst-case bound", &|round| kl_ucb_plus_bound(tasks, round as f64, *c))]
            }
            _ => Vec::new(),
        }
    }
}

impl ReplicationSummary {
    fn of(replication: &Replication) -> Self {
        Self {
            seed: replication.seed,
            regret: replication.regret,
            realised_regret: replication.realised_regret,
            completions: replication.completions.clone(),
            success_mass: replication.success_mass,
        }
    }
}
