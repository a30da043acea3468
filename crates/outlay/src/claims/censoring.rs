//! The cost of censoring: Algorithm 1 compared with the same rule that observes every reward.

use super::evidence::experiments;
use super::finding::{Axis, Check, Finding, Line, Panel, Strength, Table, Wanted};
use super::series::{self, HORIZONS, exponent, largest, smallest};
use super::{Claim, Evidence, Setting};
use crate::learner::LearnerSpec;
use crate::simulation::{Experiment, ExperimentError};

pub(super) const CLAIM: Claim = Claim {
    name: "censoring",
    title: "The cost of censoring: only successes reveal their reward",
    source: "Theorems 3 and 4 together",
    statement: "In the worst case, observing every reward helps by at most a logarithmic factor: \
                the lower bound K√T holds under full feedback, and Algorithm 1 is within a \
                logarithmic factor of it under censored feedback.",
    criterion: "On Theorem 4's pairs `full` and Algorithm 1 both grow with an exponent between 0.4 \
                and 0.6, and at every horizon Algorithm 1 loses between 1 and 4 times what `full` \
                loses. (On easy instances the factor is larger: the table shows it.)",
    strength: Strength::Trend,
    needs_traces: false,
    plan,
    judge,
};

const INSTANCES: [&str; 3] = ["theorem-4:pairs=5", "power", "m-set"];

fn plan(setting: &Setting) -> Result<Vec<Experiment>, ExperimentError> {
    let horizons = setting.choose(
        &[(1_000, 400), (10_000, 200)][..],
        &[(1_000, 1000), (10_000, 1000), (100_000, 300)][..],
    );
    let learners = [setting.subjects.algorithm_1, LearnerSpec::Full];
    experiments(&INSTANCES, horizons, &learners)
}

fn judge(evidence: &Evidence<'_>) -> Result<Finding, ExperimentError> {
    let censored = series::line(evidence, "censored", 0, 0, |_| 1.0);
    let full = series::line(evidence, "full", 0, 1, |_| 1.0);
    let ratios =
        || censored.points.iter().zip(&full.points).map(|(censored, full)| censored.1 / full.1);
    let checks = vec![
        Check::new(
            "theorem-4: exponent under censored feedback",
            exponent(&censored.points),
            Wanted::Between(0.4, 0.6),
        ),
        Check::new(
            "theorem-4: exponent under full feedback",
            exponent(&full.points),
            Wanted::Between(0.4, 0.6),
        ),
        Check::new("theorem-4: smallest censored ÷ full", smallest(ratios()), Wanted::AtLeast(1.0)),
        Check::new("theorem-4: largest censored ÷ full", largest(ratios()), Wanted::AtMost(4.0)),
    ];
    let lines = |case: usize, name: &str| -> Vec<Line> {
        let line = |learner: usize, feedback: &str| {
            series::line(evidence, &format!("{name}, {feedback}"), case, learner, |_| 1.0)
        };
        series::with_variants([line(0, "censored"), line(1, "full")])
    };
    let horizons = series::horizons(evidence);
    let row = |case: usize, position: usize| {
        let ratio =
            evidence.regret(position, case, 0).mean / evidence.regret(position, case, 1).mean;
        let mean = |learner: usize| series::mean(evidence, position, case, learner);
        vec![INSTANCES[case].into(), horizons[position].into(), mean(0), mean(1), ratio.into()]
    };
    let rows = (0..INSTANCES.len())
        .flat_map(|case| (0..horizons.len()).map(move |position| row(case, position)));
    let columns = ["instance", "T", "censored", "full", "ratio"].map(str::to_owned).to_vec();
    Ok(Finding {
        checks,
        table: Table { columns, rows: rows.collect() },
        panels: vec![Panel {
            heading: "Censored and full feedback",
            caption:
                "Mean regret of the same rule with the rewards of successes only and with every \
                reward."
                    .to_owned(),
            across: HORIZONS,
            up: Axis { title: "regret", logarithmic: true },
            lines: INSTANCES
                .iter()
                .enumerate()
                .flat_map(|(case, name)| lines(case, name))
                .collect(),
        }],
    })
}
