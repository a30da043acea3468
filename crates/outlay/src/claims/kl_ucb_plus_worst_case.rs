//! Our own claim: the worst case of `kl-ucb-plus` is K√T without a logarithm.

use super::evidence::experiments;
use super::finding::{Axis, Check, Finding, Line, LineKind, Panel, Strength, Table, Value, Wanted};
use super::series::{self, HORIZONS, grouped, largest, spread};
use super::{Claim, Evidence, Setting};
use crate::learner::LearnerSpec;
use crate::simulation::{Experiment, ExperimentError};

pub(super) const CLAIM: Claim = Claim {
    name: "kl-ucb-plus-worst-case",
    title: "`kl-ucb-plus` in the worst case: K√T, without a logarithm",
    source: "Documentation of outlay: Theorem W of kl-ucb-plus, not peer reviewed",
    statement: "The regret of `kl-ucb-plus` is at most 11.6 K√T + K for all horizons at once; \
        Algorithm 1 has a logarithm there.",
    criterion: "Four tasks in two pairs with gaps g/√T: the largest regret ÷ (K√T) over the gaps g \
        = 1 … 12 stays within a factor of 1.15 over the horizons for `kl-ucb-plus`, below the \
        bound; for Algorithm 1 it grows by at least 5 % per decade.",
    strength: Strength::Trend,
    needs_traces: false,
    plan,
    judge,
};

const TASKS: f64 = 4.0;
const GAPS: [f64; 7] = [1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0];

fn learners(setting: &Setting) -> [LearnerSpec; 2] {
    [setting.subjects.algorithm_1, setting.subjects.kl_ucb_plus]
}

fn plan(setting: &Setting) -> Result<Vec<Experiment>, ExperimentError> {
    let horizons = setting.choose(
        &[(1_000, 400), (10_000, 200)][..],
        &[(1_000, 2000), (10_000, 1000), (100_000, 400)][..],
    );
    let names = GAPS.map(|gap| format!("theorem-4:pairs=2,gap={gap}"));
    experiments(&names, horizons, &learners(setting))
}

fn judge(evidence: &Evidence<'_>) -> Result<Finding, ExperimentError> {
    let learners = learners(evidence.setting);
    let horizons = series::horizons(evidence);
    let ratio = |position: usize, case: usize, learner: usize| {
        evidence.regret(position, case, learner).mean / (TASKS * horizons[position].sqrt())
    };
    let worst = |learner: usize| -> Vec<(f64, f64)> {
        let at =
            |position: usize| largest((0..GAPS.len()).map(|case| ratio(position, case, learner)));
        (0..horizons.len()).map(|position| (horizons[position], at(position))).collect()
    };
    let [algorithm_1, kl_ucb_plus] = [worst(0), worst(1)];
    let per_decade = algorithm_1
        .windows(2)
        .map(|pair| (pair[1].1 / pair[0].1).powf((pair[1].0 / pair[0].0).log10().recip()));
    let checks = vec![
        Check::new(
            "kl-ucb-plus: largest ÷ smallest of the worst cases",
            spread(&kl_ucb_plus),
            Wanted::AtMost(1.15),
        ),
        Check::new(
            "kl-ucb-plus: worst regret ÷ (K√T)",
            largest(kl_ucb_plus.iter().map(|point| point.1)),
            Wanted::AtMost(11.6),
        ),
        Check::new(
            "Algorithm 1: smallest growth of the worst case per decade",
            series::smallest(per_decade),
            Wanted::AtLeast(1.05),
        ),
    ];
    let mut columns = vec!["T".to_owned(), "learner".to_owned()];
    columns.extend(GAPS.iter().map(|gap| format!("g = {gap}")));
    let row = |position: usize, learner: usize| {
        let mut row =
            vec![Value::from(horizons[position]), Value::Text(learners[learner].to_string())];
        row.extend((0..GAPS.len()).map(|case| Value::Number(ratio(position, case, learner))));
        row
    };
    let rows = (0..horizons.len())
        .flat_map(|position| [0, 1].map(|learner| row(position, learner)))
        .collect();
    let of_gap = |learner: usize, position: usize| {
        let points = GAPS
            .iter()
            .enumerate()
            .map(|(case, &gap)| (gap, ratio(position, case, learner)))
            .collect();
        Line::new(
            format!("{}, T = {}", learners[learner], grouped(horizons[position])),
            LineKind::Measured,
            points,
        )
    };
    let over_time = Panel {
        heading: "Worst case over the gap",
        caption:
            "The largest mean regret ÷ (K√T) over all gaps; K = 4 tasks. A horizontal line means no \
            logarithm."
                .to_owned(),
        across: HORIZONS,
        up: Axis { title: "regret ÷ (K √T)", logarithmic: false },
        lines: vec![
            Line::new("algorithm-1", LineKind::Measured, algorithm_1),
            Line::new("kl-ucb-plus", LineKind::Measured, kl_ucb_plus),
        ],
    };
    let over_gaps = Panel {
        heading: "Regret against the gap",
        caption: "Intermediate gaps are the hardest.".to_owned(),
        across: Axis { title: "gap g; the better task is ahead by g/√T", logarithmic: true },
        up: Axis { title: "regret ÷ (K √T)", logarithmic: false },
        lines: [0, 1]
            .iter()
            .flat_map(|&learner| {
                series::with_variants((0..horizons.len()).map(|position| of_gap(learner, position)))
            })
            .collect(),
    };
    Ok(Finding { checks, table: Table { columns, rows }, panels: vec![over_time, over_gaps] })
}
