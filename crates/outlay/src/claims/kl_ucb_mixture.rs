//! Our own claim: `kl-ucb-mixture` keeps the theorems of Algorithm 1 and is nowhere significantly
//! worse.

use super::evidence::{experiments, half};
use super::finding::{Axis, Check, Finding, Line, LineKind, Panel, Strength, Wanted};
use super::series::{self, HORIZONS, grouped};
use super::{Claim, Evidence, Setting};
use crate::simulation::{Experiment, ExperimentError, Statistics};

pub(super) const CLAIM: Claim = Claim {
    name: "kl-ucb-mixture",
    title: "`kl-ucb-mixture` is nowhere significantly worse than Algorithm 1",
    source: "Documentation of outlay: Proof of kl-ucb-mixture, not peer reviewed",
    statement: "`kl-ucb-mixture` has the guarantees of Algorithm 1 with a smaller confidence set. \
        Its regret is nowhere significantly larger, and on most instances it is smaller.",
    criterion: "On every instance and at every horizon the mean difference of the regrets of \
        `kl-ucb-mixture` and Algorithm 1, run by run on the same draws, is not above zero by more \
        than its 95 % interval; on `power`, `m-set` and `k-armed` it is below zero by more than \
        that.",
    strength: Strength::Trend,
    needs_traces: false,
    plan,
    judge,
};

/// Instances after the third are close or easy; there the two may be equal.
const INSTANCES: [&str; 7] =
    ["power", "m-set", "k-armed", "square-roots", "saturating-jobs", "theorem-2", "theorem-4"];
const CLEAR: usize = 3;

fn plan(setting: &Setting) -> Result<Vec<Experiment>, ExperimentError> {
    let horizons = setting.choose(
        &[(1_000, 60), (10_000, 20)][..],
        &[(1_000, 400), (10_000, 200), (100_000, 60)][..],
    );
    let learners = [setting.subjects.algorithm_1, setting.subjects.kl_ucb_mixture];
    experiments(&INSTANCES, horizons, &learners)
}

/// The regret of `kl-ucb-mixture` minus that of Algorithm 1, run by run on the same draws.
fn difference(evidence: &Evidence<'_>, position: usize, case: usize) -> Statistics {
    let pairs = evidence.runs(position, case, 0).iter().zip(evidence.runs(position, case, 1));
    Statistics::of(
        &pairs
            .map(|(algorithm_1, mixture)| mixture.regret - algorithm_1.regret)
            .collect::<Vec<f64>>(),
    )
}

fn judge(evidence: &Evidence<'_>) -> Result<Finding, ExperimentError> {
    let horizons = series::horizons(evidence);
    let mut finding = Finding::default();
    finding.table.columns =
        ["instance", "T", "Algorithm 1", "kl-ucb-mixture", "difference", "ratio"]
            .map(str::to_owned)
            .to_vec();
    let mut lines = Vec::new();
    for (case, name) in INSTANCES.iter().enumerate() {
        let mut line = Line::new(*name, LineKind::Measured, Vec::new());
        for (position, &horizon) in horizons.iter().enumerate() {
            let difference = difference(evidence, position, case);
            let [algorithm_1, mixture] =
                [0, 1].map(|learner| series::mean(evidence, position, case, learner));
            let ratio =
                evidence.regret(position, case, 1).mean / evidence.regret(position, case, 0).mean;
            let (what, end) = if case < CLEAR {
                ("upper end", difference.mean + half(&difference))
            } else {
                ("lower end", difference.mean - half(&difference))
            };
            let horizon_text = grouped(horizon);
            let what =
                format!("{name}, T = {horizon_text}: {what} of kl-ucb-mixture − Algorithm 1");
            finding.checks.push(Check::new(what, end, Wanted::AtMost(0.0)));
            let difference = super::Value::Mean(difference.mean, half(&difference));
            finding.table.rows.push(vec![
                (*name).into(),
                horizon.into(),
                algorithm_1,
                mixture,
                difference,
                ratio.into(),
            ]);
            line.points.push((horizon, ratio));
        }
        lines.push(line);
    }
    lines.push(series::level(evidence, "equal", 1.0));
    finding.panels.push(Panel {
        heading: "Regret of kl-ucb-mixture ÷ Algorithm 1",
        caption: "Ratio of the mean regrets. On saturating-jobs kl-ucb-mixture has no regret."
            .to_owned(),
        across: HORIZONS,
        up: Axis { title: "ratio", logarithmic: false },
        lines,
    });
    Ok(finding)
}
