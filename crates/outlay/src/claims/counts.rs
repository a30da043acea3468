//! Our own claim: with counts the worst case is of order √(VT) per task.

use std::sync::Arc;

use super::finding::{Axis, Check, Finding, Line, Panel, Strength, Table, Value, Wanted};
use super::series::{self, HORIZONS, exponent, largest, smallest, spread};
use super::{Claim, Evidence, Setting};
use crate::instance::{Instance, InstanceError};
use crate::learner::LearnerSpec;
use crate::problem::{CompletionLaw, EnvironmentSpec, ProblemSpec, RewardLaw, TaskSpec};
use crate::simulation::{Case, Experiment, ExperimentError, Source};
use crate::theory::run_bound;

pub(super) const CLAIM: Claim = Claim {
    name: "counts",
    title: "Counts: regret of order √(VT) per task",
    source: "Documentation of outlay: worst-case bounds with counts, not peer reviewed",
    statement: "If task k completes up to V_k times in a round, the regret of `kl-ucb-plus` is at \
                most Σ_k (11.6 √(V_k T) + 3.4 V_k), and Algorithm 1 has the bound of Theorem 3 \
                with the completions in place of the successes and 2 √L Σ_k (V_k − 1) more. \
                Poisson and negative binomial counts have a similar bound for `kl-ucb-plus`.",
    criterion: "Four tasks in two pairs with a gap of 2/√(VT), volumes V of 1, 10 and 100: every \
                run is below its bound, where there is one; the mean regret of `kl-ucb-plus` ÷ \
                (K√(VT)) stays within a factor of 1.2 over the horizons for every law of counts, \
                and within 1.2 over the volumes (1.4 in the quick version, which has fewer runs). With a fixed gap of 0.1 its regret grows with an \
                exponent of at most 0.4.",
    strength: Strength::Trend,
    needs_traces: false,
    plan,
    judge,
};

const TASKS: usize = 4;
/// The gap in multiples of 1/√(VT): about the worst one for `kl-ucb-plus`.
const GAP: f64 = 2.0;
const NEGATIVE_BINOMIAL: CompletionLaw = CompletionLaw::NegativeBinomial { dispersion: 3.0 };
/// A law of counts with its volume.
struct Counts {
    name: &'static str,
    law: CompletionLaw,
    volume: f64,
    /// The gap between the means of a pair, if it does not depend on the horizon.
    fixed_gap: Option<f64>,
}

const fn counts(name: &'static str, law: CompletionLaw, volume: f64) -> Counts {
    Counts { name, law, volume, fixed_gap: None }
}

/// The first three differ in the volume only; the last one has a fixed gap.
const CASES: [Counts; 6] = [
    counts("V = 1", CompletionLaw::Binomial, 1.0),
    counts("binomial, V = 10", CompletionLaw::Binomial, 10.0),
    counts("binomial, V = 100", CompletionLaw::Binomial, 100.0),
    counts("Poisson, V = 10", CompletionLaw::Poisson, 10.0),
    counts("negative binomial, V = 10", NEGATIVE_BINOMIAL, 10.0),
    Counts {
        fixed_gap: Some(0.1),
        ..counts("Poisson, V = 10, fixed gap", CompletionLaw::Poisson, 10.0)
    },
];
/// The number of cases that differ in the volume only.
const VOLUMES: usize = 3;
const FIXED_GAP: usize = 5;

fn learners(setting: &Setting) -> [LearnerSpec; 2] {
    [setting.subjects.algorithm_1, setting.subjects.kl_ucb_plus]
}

fn plan(setting: &Setting) -> Result<Vec<Experiment>, ExperimentError> {
    let horizons = setting.choose(
        &[(1_000, 300), (10_000, 100)][..],
        &[(1_000, 1000), (10_000, 400), (100_000, 100)][..],
    );
    let at = |&(horizon, replications): &(u64, u64)| {
        let cases = CASES.iter().map(|counts| case(counts, horizon));
        Ok(Experiment {
            cases: cases.collect::<Result<_, _>>()?,
            learners: learners(setting).map(Into::into).to_vec(),
            feedback: None,
            replications,
            seed: 1,
        })
    };
    horizons.iter().map(at).collect()
}

/// Pairs of thresholds, of which a round funds two. Ties go to the first task, so the better one of
/// a pair is the second.
fn case(counts: &Counts, horizon: u64) -> Result<Case, ExperimentError> {
    let &Counts { name, law, volume, fixed_gap } = counts;
    let gap = fixed_gap.unwrap_or_else(|| GAP / (volume * horizon as f64).sqrt());
    let thresholds = "m-set:plays=2".parse::<Instance>()?.problem(horizon, 1)?;
    let task = |position: usize| {
        let mean = 0.5 + if position % 2 == 1 { gap } else { 0.0 };
        TaskSpec {
            volume: Some(volume),
            reward: Some(RewardLaw::Bernoulli { mean }),
            ..TaskSpec::new(format!("task-{}", position + 1), thresholds.tasks()[0].curve().clone())
        }
    };
    let invalid = |errors| InstanceError::Problem { instance: name.to_owned(), errors };
    let spec = ProblemSpec {
        tasks: (0..TASKS).map(task).collect(),
        environment: EnvironmentSpec { completions: Some(law), ..EnvironmentSpec::default() },
        horizon: Some(horizon),
        ..ProblemSpec::default()
    };
    let source = Source::Problem(Arc::new(spec.check().map_err(invalid)?));
    Ok(Case { name: name.to_owned(), source, horizon, parameter: None })
}

/// The largest regret of a run of this learner divided by its bound, over the cases with a bound.
fn largest_use(evidence: &Evidence<'_>, learner: usize) -> Result<f64, ExperimentError> {
    let spec = [LearnerSpec::Algorithm1, LearnerSpec::default()][learner];
    let mut uses = Vec::new();
    for (position, experiment) in evidence.experiments.iter().enumerate() {
        for (number, case) in experiment.cases.iter().enumerate() {
            let problem = case.source.problem(case.horizon, experiment.seed)?;
            let bound = |mass| run_bound(&problem, &spec, case.horizon, mass)?.value.ok();
            let runs = evidence.runs(position, number, learner).iter();
            uses.extend(runs.filter_map(|run| Some(run.regret / bound(run.success_mass)?)));
        }
    }
    Ok(largest(uses))
}

fn judge(evidence: &Evidence<'_>) -> Result<Finding, ExperimentError> {
    let learners = learners(evidence.setting);
    let line = |case: usize, learner: usize| -> Line {
        let Counts { name, volume, .. } = CASES[case];
        series::line(evidence, name, case, learner, |horizon| {
            TASKS as f64 * (volume * horizon).sqrt()
        })
    };
    let mut checks = Vec::new();
    for (position, learner) in learners.iter().enumerate() {
        let what = format!("{learner}: largest regret of a run ÷ its bound");
        checks.push(Check::new(what, largest_use(evidence, position)?, Wanted::AtMost(1.0)));
    }
    let spread_limit = evidence.setting.choose(1.4, 1.2);
    let lines: Vec<Line> = (0..FIXED_GAP).map(|case| line(case, 1)).collect();
    checks.push(Check::new(
        "kl-ucb-plus: largest ÷ smallest regret/(K√(VT)) over the horizons",
        largest(lines.iter().map(|line| spread(&line.points))),
        Wanted::AtMost(spread_limit),
    ));
    let over_volumes = |position: usize| {
        let ratios = || lines[..VOLUMES].iter().map(move |line| line.points[position].1);
        largest(ratios()) / smallest(ratios())
    };
    checks.push(Check::new(
        "kl-ucb-plus: the same over the volumes",
        largest((0..evidence.experiments.len()).map(over_volumes)),
        Wanted::AtMost(spread_limit),
    ));
    let fixed_gap = series::line(evidence, "", FIXED_GAP, 1, |_| 1.0);
    checks.push(Check::new(
        "kl-ucb-plus: exponent of the regret with a fixed gap",
        exponent(&fixed_gap.points),
        Wanted::AtMost(0.4),
    ));
    let horizons = series::horizons(evidence);
    let row = |position: usize, case: usize| {
        let mut row = vec![Value::Text(CASES[case].name.to_owned()), horizons[position].into()];
        row.extend(
            (0..learners.len()).map(|learner| series::mean(evidence, position, case, learner)),
        );
        row
    };
    let rows = (0..CASES.len())
        .flat_map(|case| (0..horizons.len()).map(move |position| row(position, case)));
    let mut columns = vec!["counts".to_owned(), "T".to_owned()];
    columns.extend(learners.iter().map(|learner| format!("{learner}: regret")));
    Ok(Finding {
        checks,
        table: Table { columns, rows: rows.collect() },
        panels: vec![Panel {
            heading: "Regret with counts",
            caption: "kl-ucb-plus: mean regret ÷ (K√(VT)) with its 95 % interval, K = 4. Level in \
                      T and the same for every V."
                .to_owned(),
            across: HORIZONS,
            up: Axis { title: "regret ÷ (K √(VT))", logarithmic: false },
            lines,
        }],
    })
}
