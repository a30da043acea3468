//! Theorem 3: for any curves, regret stays below a bound of order K√T.

use super::evidence::experiments;
use super::finding::{Axis, Check, Finding, Line, LineKind, Panel, Strength, Table, Value, Wanted};
use super::series::{self, HORIZONS, largest};
use super::{Claim, Evidence, Setting};
use crate::learner::{KL_UCB_PLUS_FACTOR, LearnerSpec};
use crate::simulation::{Experiment, ExperimentError, Replication};
use crate::theory::{kl_ucb_plus_bound, worst_case_bound};

pub(super) const CLAIM: Claim = Claim {
    name: "theorem-3",
    title: "Any curves: regret stays below the worst-case bound",
    source: "Theorem 3, corrected (documentation of outlay: Errata)",
    statement: "Whatever the curves, the regret of Algorithm 1 is at most 1 + 4 √(K L Σ F), with L \
        = log(2 K² T²) and Σ F the sum of all success probabilities: of order K √(T log T). The same \
        holds for `kl-ucb-mixture`, `hoeffding` and `full`; `kl-ucb-plus` has 11.6 K√T + K.",
    criterion: "Every run of every learner, on every instance and at every horizon, has a regret \
        below its bound, computed with the success probabilities of that run.",
    strength: Strength::EveryRun,
    needs_traces: false,
    plan,
    judge,
};

const INSTANCES: [&str; 7] =
    ["power", "square-roots", "m-set", "k-armed", "saturating-jobs", "theorem-2", "theorem-4"];

fn learners(setting: &Setting) -> [LearnerSpec; 5] {
    let subjects = setting.subjects;
    [
        subjects.algorithm_1,
        subjects.kl_ucb_mixture,
        LearnerSpec::Hoeffding,
        LearnerSpec::Full,
        subjects.kl_ucb_plus,
    ]
}

fn plan(setting: &Setting) -> Result<Vec<Experiment>, ExperimentError> {
    let horizons = setting.choose(
        &[(100, 20), (1_000, 20), (10_000, 10), (100_000, 3)][..],
        &[(100, 200), (1_000, 200), (10_000, 100), (100_000, 30)][..],
    );
    let learners = learners(setting);
    experiments(&INSTANCES, horizons, &learners)
}

/// The position of `kl-ucb-plus`, whose bound does not need the success mass.
const KL_UCB_PLUS: usize = 4;

/// The bound for a run, by the position of its learner, even if a test replaces the learner.
fn bound(run: &Replication, horizon: u64, learner: usize) -> f64 {
    let tasks = run.completions.len();
    if learner == KL_UCB_PLUS {
        kl_ucb_plus_bound(tasks, horizon as f64, KL_UCB_PLUS_FACTOR)
    } else {
        worst_case_bound(tasks, horizon, run.success_mass)
    }
}

fn judge(evidence: &Evidence<'_>) -> Result<Finding, ExperimentError> {
    let learners = learners(evidence.setting);
    let used = |position: usize, case: usize, learner: usize| {
        let horizon = evidence.experiments[position].cases[case].horizon;
        largest(
            evidence
                .runs(position, case, learner)
                .iter()
                .map(|run| run.regret / bound(run, horizon, learner)),
        )
    };
    let positions = 0..evidence.experiments.len();
    let most = |case: usize, learner: usize| {
        largest(positions.clone().map(|position| used(position, case, learner)))
    };
    let check = |(learner, name): (usize, &LearnerSpec)| {
        let most = largest((0..INSTANCES.len()).map(|case| most(case, learner)));
        Check::new(
            format!("{name}: largest regret of a run ÷ its bound"),
            most,
            Wanted::AtMost(1.0),
        )
    };
    let horizons = series::horizons(evidence);
    let line = |(case, name): (usize, &&str)| {
        let points = positions
            .clone()
            .map(|position| (horizons[position], used(position, case, 0)))
            .collect();
        Line::new(*name, LineKind::Measured, points)
    };
    let row = |(case, name): (usize, &&str)| {
        let mut row = vec![Value::from(*name)];
        row.extend((0..learners.len()).map(|learner| Value::Number(most(case, learner))));
        row
    };
    let mut columns = vec!["largest regret ÷ bound".to_owned()];
    columns.extend(learners.iter().map(ToString::to_string));
    Ok(Finding {
        checks: learners.iter().enumerate().map(check).collect(),
        table: Table { columns, rows: INSTANCES.iter().enumerate().map(row).collect() },
        panels: vec![Panel {
            heading: "Regret ÷ bound, the largest of all runs",
            caption: "Algorithm 1. At 1 the regret of a run would equal its bound.".to_owned(),
            across: HORIZONS,
            up: Axis { title: "regret ÷ bound", logarithmic: true },
            lines: INSTANCES.iter().enumerate().map(line).collect(),
        }],
    })
}
