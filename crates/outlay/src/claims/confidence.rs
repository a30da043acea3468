//! The two events of the proofs: indices stay above the means, and completions are not far below
//! their expected number.

use statrs::distribution::{Binomial, DiscreteCDF};

use super::finding::{Axis, Check, Finding, Line, LineKind, Panel, Strength, Wanted};
use super::series::grouped;
use super::{Claim, Evidence, Setting};
use crate::feedback::Feedback;
use crate::instance::Instance;
use crate::learner::{LearnerInputs, LearnerSpec, RoundContext};
use crate::oracle::{Options, Oracle};
use crate::problem::Problem;
use crate::simulation::Environment;
use crate::simulation::ExperimentError;

pub(super) const CLAIM: Claim = Claim {
    name: "confidence",
    title: "The events behind the proofs",
    source: "Corollary cor:Hoeffding:gains, Lemma lemma:LB:bernoullis",
    statement: "With probability at least 1 - 1/(KT) no index of Algorithm 1 is ever below its \
                task's mean, nor above it by more than twice its width; with probability at least \
                1 - K/T a task whose success probabilities sum to 100 log² T has completed at \
                least half that often.",
    criterion: "Both events are checked in every round of every run. The number of runs in \
                which one fails is no more than the stated probability allows (99.9 % quantile of \
                the binomial distribution).",
    strength: Strength::Trend,
    needs_traces: false,
    plan: |_| Ok(Vec::new()),
    judge,
};

/// The instances to monitor, each with its horizon and number of runs.
fn watched(setting: &Setting) -> &'static [(&'static str, u64, u64)] {
    setting.choose(
        &[("power", 1_000, 300), ("m-set", 1_000, 300), ("power", 100_000, 10)][..],
        &[
            ("power", 1_000, 5_000),
            ("m-set", 1_000, 5_000),
            ("square-roots", 10_000, 1_000),
            ("power", 100_000, 100),
        ][..],
    )
}

/// The failures of a run and its smallest margin.
#[derive(Default)]
struct Watch {
    index_failed: bool,
    completions_failed: bool,
    /// The smallest distance of an index above its mean, as a share of its width.
    smallest_margin: f64,
}

fn judge(evidence: &Evidence<'_>) -> Result<Finding, ExperimentError> {
    let learner = evidence.setting.subjects.algorithm_1;
    let mut finding = Finding::default();
    finding.table.columns = [
        "instance",
        "T",
        "runs",
        "index outside",
        "allowed",
        "too few completions",
        "smallest margin",
    ]
    .map(str::to_owned)
    .to_vec();
    let mut line = Line::new("smallest margin of a run", LineKind::Measured, Vec::new());
    for &(name, horizon, runs) in watched(evidence.setting) {
        let problem = name.parse::<Instance>()?.problem(horizon, 1)?;
        let watches = (0..runs)
            .map(|run| watch(&problem, &learner, horizon, 1 + run))
            .collect::<Result<Vec<Watch>, _>>()?;
        let count = |failed: fn(&Watch) -> bool| {
            watches.iter().filter(|watch| failed(watch)).count() as f64
        };
        let (index, completions) =
            (count(|watch| watch.index_failed), count(|watch| watch.completions_failed));
        let tasks = problem.tasks().len() as f64;
        let allowed = most_failures(runs, 1.0 / (tasks * horizon as f64));
        let allowed_too_few = most_failures(runs, tasks / horizon as f64);
        let [horizon_text, runs_text] = [horizon, runs].map(|number| grouped(number as f64));
        let at = format!("{name}, T = {horizon_text}, {runs_text} runs");
        finding.checks.push(Check::new(
            format!("{at}: runs with an index outside its range"),
            index,
            Wanted::AtMost(allowed),
        ));
        finding.checks.push(Check::new(
            format!("{at}: runs with too few completions"),
            completions,
            Wanted::AtMost(allowed_too_few),
        ));
        let mut margins: Vec<f64> = watches.iter().map(|watch| watch.smallest_margin).collect();
        margins.sort_unstable_by(f64::total_cmp);
        let least = margins.first().copied().unwrap_or(f64::NAN);
        let numbers = [horizon as f64, runs as f64, index, allowed, completions, least];
        let mut row = vec![name.into()];
        row.extend(numbers.map(super::Value::Number));
        finding.table.rows.push(row);
        if line.points.is_empty() {
            line.name = format!("{name}, T = {horizon_text}");
            let share =
                |(position, margin): (usize, f64)| (margin, (position + 1) as f64 / runs as f64);
            line.points = margins.into_iter().enumerate().map(share).collect();
        }
    }
    finding.panels.push(Panel {
        heading: "Smallest margin of an index",
        caption: "Share of the runs whose smallest margin, (index − mean) ÷ width, is below a \
            number. Below 0 the event fails."
            .to_owned(),
        across: Axis { title: "smallest margin of a run", logarithmic: false },
        up: Axis { title: "share of the runs", logarithmic: false },
        lines: vec![line],
    });
    Ok(finding)
}

/// The 99.9 % quantile of the number of failures.
fn most_failures(runs: u64, probability: f64) -> f64 {
    Binomial::new(probability.min(1.0), runs).map_or(f64::NAN, |law| law.inverse_cdf(0.999) as f64)
}

/// Plays a run and checks every index before every round.
fn watch(
    problem: &Problem,
    learner: &LearnerSpec,
    horizon: u64,
    seed: u64,
) -> Result<Watch, ExperimentError> {
    let environment = Environment::new(problem, seed)?;
    let means = environment.means();
    let mut learner = learner.build(&LearnerInputs {
        problem,
        horizon: Some(horizon),
        feedback: Feedback::Censored,
        seed,
    })?;
    let mut oracle = Oracle::new(problem);
    let mut weights = vec![0.0; means.len()];
    let mut seen: Vec<Seen> = vec![Seen::default(); means.len()];
    let (mut completed, mut counts) = (Vec::with_capacity(means.len()), vec![0; means.len()]);
    let enough = 100.0 * (horizon as f64).ln().powi(2);
    let mut watch = Watch { smallest_margin: f64::INFINITY, ..Watch::default() };
    for round in 1..=horizon {
        learner.decide(
            &RoundContext { round, budget: problem.budget(), ..RoundContext::default() },
            &mut weights,
        );
        for ((weight, mean), seen) in weights.iter().zip(means).zip(&seen) {
            let width = weight - seen.mean();
            let margin = (weight - mean) / width.max(f64::MIN_POSITIVE);
            watch.smallest_margin = watch.smallest_margin.min(margin);
            // Two-sided: the index is above the mean, and by at most twice its width. Before the
            // first completion there is no claim.
            watch.index_failed |=
                weight < mean || (seen.completions > 0.0 && *weight > mean + 2.0 * width);
            watch.completions_failed |= seen.mass >= enough && seen.completions < 0.5 * seen.mass;
        }
        let success = &oracle.allocate(&weights, problem.budget(), &Options::default())?.success;
        environment.complete(round, success, &mut completed, &mut counts);
        seen.iter_mut().zip(success).for_each(|(seen, success)| seen.mass += success);
        for completion in &completed {
            seen[completion.task].completions += 1.0;
            seen[completion.task].rewards += completion.reward.share();
        }
        learner.observe_completed(&completed);
    }
    Ok(watch)
}

/// The observations of one task.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    completions: f64,
    rewards: f64,
    mass: f64,
}

impl Seen {
    fn mean(&self) -> f64 {
        if self.completions > 0.0 { self.rewards / self.completions } else { 0.0 }
    }
}
