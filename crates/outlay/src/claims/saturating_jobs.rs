//! A related system: saturating linear curves of unknown slope (Lattimore, Crammer and Szepesvári
//! 2014).

use super::evidence::experiments;
use super::finding::{Axis, Check, Finding, Line, Panel, Strength, Table, Wanted};
use super::series::{self, HORIZONS, exponents};
use super::{Claim, Evidence, Setting};
use crate::learner::LearnerSpec;
use crate::simulation::{Experiment, ExperimentError};

pub(super) const CLAIM: Claim = Claim {
    name: "saturating-jobs",
    title: "Unknown linear curves can be learned, unlike unknown jumps",
    source: "Lattimore, Crammer and Szepesvári 2014",
    statement: "Jobs with F(x) = min(1, x/ν) and rewards of 1: with ν unknown an optimistic rule \
                has regret of order log² T. With ν known, as in our model, there is nothing to \
                learn but the rewards.",
    criterion: "The exponent of `lattimore` over the last decade is below that of the first and \
                below 0.4; at the longest horizon it loses less than a tenth of what the even \
                split does.",
    strength: Strength::Trend,
    needs_traces: false,
    plan,
    judge,
};

fn learners(setting: &Setting) -> [LearnerSpec; 4] {
    [
        LearnerSpec::Lattimore,
        setting.subjects.algorithm_1,
        setting.subjects.kl_ucb_plus,
        LearnerSpec::Uniform,
    ]
}

fn plan(setting: &Setting) -> Result<Vec<Experiment>, ExperimentError> {
    let horizons = setting.choose(
        &[(1_000, 40), (10_000, 40), (100_000, 16)][..],
        &[(1_000, 400), (10_000, 400), (100_000, 200), (1_000_000, 40)][..],
    );
    experiments(&["saturating-jobs"], horizons, &learners(setting))
}

fn judge(evidence: &Evidence<'_>) -> Result<Finding, ExperimentError> {
    let names = learners(evidence.setting).map(|learner| learner.to_string());
    let lines: Vec<Line> = (0..names.len())
        .map(|learner| series::line(evidence, &names[learner], 0, learner, |_| 1.0))
        .collect();
    let exponents: Vec<f64> =
        exponents(&lines[0].points).into_iter().map(|(_, exponent)| exponent).collect();
    let (first, last) = (
        exponents.first().copied().unwrap_or(f64::NAN),
        exponents.last().copied().unwrap_or(f64::NAN),
    );
    let ratio = lines[0]
        .points
        .last()
        .zip(lines[3].points.last())
        .map_or(f64::NAN, |(one, even)| one.1 / even.1);
    let checks = vec![
        Check::new("lattimore: exponent over the last decade", last, Wanted::AtMost(0.4)),
        Check::new("lattimore: last exponent − first exponent", last - first, Wanted::AtMost(0.0)),
        Check::new("lattimore ÷ even split, longest horizon", ratio, Wanted::AtMost(0.1)),
    ];
    let horizons = series::horizons(evidence);
    let row = |position: usize| {
        let mut row = vec![horizons[position].into()];
        row.extend((0..names.len()).map(|learner| series::mean(evidence, position, 0, learner)));
        row
    };
    let mut columns = vec!["T".to_owned()];
    columns.extend(names.iter().cloned());
    Ok(Finding {
        checks,
        table: Table { columns, rows: (0..horizons.len()).map(row).collect() },
        panels: vec![Panel {
            heading: "Regret on saturating jobs",
            caption: "lattimore does not know the curves; the other learners do.".to_owned(),
            across: HORIZONS,
            up: Axis { title: "regret", logarithmic: true },
            lines,
        }],
    })
}
