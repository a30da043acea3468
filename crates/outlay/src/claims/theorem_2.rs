//! Theorem 2: regret is of order √T under bandit feedback, but log² T under censored feedback.

use super::evidence::experiments;
use super::finding::{Axis, Check, Finding, Line, LineKind, Panel, Strength, Table, Wanted};
use super::series::{self, HORIZONS, exponent, smallest};
use super::{Claim, Evidence, Setting};
use crate::learner::LearnerSpec;
use crate::simulation::{Experiment, ExperimentError};
use crate::theory::theorem_2_lower;

pub(super) const CLAIM: Claim = Claim {
    name: "theorem-2",
    title: "Bandit feedback alone: regret of order √T",
    source: "Theorem 2",
    statement: "Two square-root curves with means ½ ± T^(-1/4)/6: every learner that \
                observes only the gain of a round loses at least √T/140 on one of the two orders of the means. \
                Algorithm 1 observes completions and loses less.",
    criterion: "At the longest horizon the 95 % interval of Algorithm 1's mean regret ends below \
                √T/140; that of `oful`, a linear bandit with bandit feedback, starts above √T/140 \
                at every horizon, and its regret grows with an exponent above 0.45.",
    strength: Strength::Trend,
    needs_traces: false,
    plan,
    judge,
};

const INSTANCE: &str = "theorem-2";

fn learners(setting: &Setting) -> [LearnerSpec; 3] {
    [setting.subjects.algorithm_1, setting.subjects.kl_ucb_plus, LearnerSpec::Oful]
}

fn plan(setting: &Setting) -> Result<Vec<Experiment>, ExperimentError> {
    let horizons = setting.choose(
        &[(1_000, 40), (10_000, 20), (100_000, 8)][..],
        &[(1_000, 400), (10_000, 200), (100_000, 100), (1_000_000, 24)][..],
    );
    let learners = learners(setting);
    experiments(&[INSTANCE], horizons, &learners)
}

fn judge(evidence: &Evidence<'_>) -> Result<Finding, ExperimentError> {
    let names = learners(evidence.setting).map(|learner| learner.to_string());
    let horizons = series::horizons(evidence);
    let lower = |horizon: f64| theorem_2_lower(horizon as u64).unwrap_or(f64::NAN);
    let share: Vec<Line> = (0..names.len())
        .map(|learner| series::line(evidence, &names[learner], 0, learner, lower))
        .collect();
    let mut lines: Vec<Line> = (0..names.len())
        .map(|learner| series::line(evidence, &names[learner], 0, learner, |_| 1.0))
        .collect();
    let algorithm_1_end = share[0].intervals.last().map_or(f64::NAN, |interval| interval.2);
    let bandit_starts = share[2].intervals.iter().map(|interval| interval.1);
    let checks = vec![
        Check::new(
            "upper end of Algorithm 1's regret ÷ (√T/140), longest horizon",
            algorithm_1_end,
            Wanted::AtMost(1.0),
        ),
        Check::new(
            "smallest lower end of oful's regret ÷ (√T/140)",
            smallest(bandit_starts),
            Wanted::AtLeast(1.0),
        ),
        Check::new(
            "oful: exponent from the first horizon to the last",
            exponent(&lines[2].points),
            Wanted::AtLeast(0.45),
        ),
    ];
    let bound = horizons.iter().map(|&horizon| (horizon, lower(horizon))).collect();
    lines.push(Line::new("√T/140", LineKind::Reference, bound));
    let row = |learner: usize, position: usize| {
        let horizon = horizons[position];
        vec![
            names[learner].as_str().into(),
            horizon.into(),
            series::mean(evidence, position, 0, learner),
            lower(horizon).into(),
        ]
    };
    let rows = (0..names.len())
        .flat_map(|learner| (0..horizons.len()).map(move |position| row(learner, position)));
    let caption = "The gap of the instance shrinks as T grows, so a learner that learns little \
                   also loses little. Under bandit feedback a regret of order √T is unavoidable.";
    Ok(Finding {
        checks,
        table: Table {
            columns: ["learner", "T", "regret", "√T/140"].map(str::to_owned).to_vec(),
            rows: rows.collect(),
        },
        panels: vec![Panel {
            heading: "Regret against the lower bound",
            caption: caption.to_owned(),
            across: HORIZONS,
            up: Axis { title: "regret", logarithmic: true },
            lines,
        }],
    })
}
