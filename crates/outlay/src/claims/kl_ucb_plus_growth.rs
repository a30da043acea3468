//! Our own claim: under diminishing returns the regret of `kl-ucb-plus` grows like log T.

use super::evidence::{experiment, half, regret_after, statistics};
use super::finding::{Axis, Check, Finding, Line, LineKind, Panel, Strength, Value, Wanted};
use super::{Claim, Evidence, Setting};
use crate::instance::Instance;
use crate::learner::KL_UCB_PLUS_FACTOR;
use crate::simulation::{Experiment, ExperimentError, Statistics};
use crate::theory::kl_ucb_plus_regret_per_decade;

pub(super) const CLAIM: Claim = Claim {
    name: "kl-ucb-plus-growth",
    title: "`kl-ucb-plus` under diminishing returns: regret grows like log T",
    source: "Documentation of outlay: Theorem D of kl-ucb-plus, not peer reviewed",
    statement: "Under diminishing returns the regret of `kl-ucb-plus` is of order log T: each \
        decade of rounds adds the same amount, which the theory predicts.",
    criterion: "The regret that the last decade adds is within 20 % of the second-order prediction \
        (30 % in the quick version), on both instances. (On `power` the increments still rise \
        before 10⁵ rounds.)",
    strength: Strength::Trend,
    needs_traces: true,
    plan,
    judge,
};

const INSTANCES: [&str; 2] = ["power", "square-roots"];

fn plan(setting: &Setting) -> Result<Vec<Experiment>, ExperimentError> {
    let (horizon, replications) = setting.choose((1_000_000, 40), (10_000_000, 80));
    Ok(vec![experiment(&INSTANCES, horizon, &[setting.subjects.kl_ucb_plus], replications)?])
}

/// The regret that each decade adds, from 10² rounds on.
fn increments(evidence: &Evidence<'_>, case: usize) -> Vec<(f64, Statistics)> {
    let horizon = evidence.experiments[0].cases[case].horizon;
    let runs = evidence.runs(0, case, 0);
    let ends = (3..).map(|power| 10f64.powi(power)).take_while(|end| *end <= horizon as f64);
    let added = |end: f64| {
        statistics(runs, |run| {
            regret_after(run, horizon, end) - regret_after(run, horizon, end / 10.0)
        })
    };
    ends.map(|end| (end, added(end))).collect()
}

fn judge(evidence: &Evidence<'_>) -> Result<Finding, ExperimentError> {
    let room = evidence.setting.choose(0.3, 0.2);
    let mut finding = Finding::default();
    finding.table.columns =
        ["instance", "decade to", "regret added", "prediction"].map(str::to_owned).to_vec();
    let mut lines = Vec::new();
    for (case, name) in INSTANCES.iter().enumerate() {
        let problem = name.parse::<Instance>()?.problem(1000, 1)?;
        let predicted = kl_ucb_plus_regret_per_decade(&problem, KL_UCB_PLUS_FACTOR)?;
        let increments = increments(evidence, case);
        let last = increments.last().map_or(f64::NAN, |(_, added)| added.mean);
        let what = format!("{name}: regret added by the last decade ÷ prediction");
        finding.checks.push(Check::new(
            what,
            last / predicted,
            Wanted::Between(1.0 - room, 1.0 + room),
        ));
        let mut line = Line::new(*name, LineKind::Measured, Vec::new());
        for (end, added) in &increments {
            line.add(*end, added, 1.0);
            finding.table.rows.push(vec![
                (*name).into(),
                (*end).into(),
                Value::Mean(added.mean, half(added)),
                predicted.into(),
            ]);
        }
        lines.push(line);
        let ends = increments.first().into_iter().chain(increments.last());
        let prediction = ends.map(|(end, _)| (*end, predicted)).collect();
        lines.push(Line::new(
            format!("{name}, second-order prediction"),
            LineKind::Predicted,
            prediction,
        ));
    }
    finding.panels.push(Panel {
        heading: "Regret added per decade",
        caption:
            "Mean over the runs with its 95 % interval. A horizontal line means growth like log T."
                .to_owned(),
        across: Axis { title: "end of the decade, in rounds", logarithmic: true },
        up: Axis { title: "regret added", logarithmic: true },
        lines,
    });
    Ok(finding)
}
