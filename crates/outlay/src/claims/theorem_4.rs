//! Theorem 4: on pairs of thresholds regret is of order K√T, even with full feedback.

use super::evidence::experiments;
use super::finding::{Axis, Check, Finding, Line, Panel, Strength, Table, Wanted};
use super::series::{self, HORIZONS, largest, smallest};
use super::{Claim, Evidence, Setting};
use crate::learner::LearnerSpec;
use crate::simulation::{Experiment, ExperimentError};
use crate::theory::theorem_4_lower;

pub(super) const CLAIM: Claim = Claim {
    name: "theorem-4",
    title: "The worst case is of order K√T for every learner",
    source: "Theorem 4",
    statement: "2K tasks in K pairs, with thresholds at 1/K of the budget; in each pair one task \
                is better by 1/√T. Every learner has a regret of order K√T, even if it observes \
                every reward.",
    criterion: "Over K = 2, 5, 10 pairs and all horizons, the mean regret of Algorithm 1 ÷ (K√T) \
                stays within a factor of 1.15; for every learner, including `full`, which observes \
                every reward, the 95 % interval of the mean regret is above the lower bound with \
                the constant of our proof, about K√T/7.4. (Choosing at random has K√T/2.)",
    strength: Strength::Trend,
    needs_traces: false,
    plan,
    judge,
};

const PAIRS: [usize; 3] = [2, 5, 10];

fn learners(setting: &Setting) -> [LearnerSpec; 3] {
    [setting.subjects.algorithm_1, setting.subjects.kl_ucb_plus, LearnerSpec::Full]
}

fn plan(setting: &Setting) -> Result<Vec<Experiment>, ExperimentError> {
    let horizons = setting.choose(
        &[(1_000, 200), (10_000, 100)][..],
        &[(1_000, 1000), (10_000, 400), (100_000, 200)][..],
    );
    let names = PAIRS.map(|pairs| format!("theorem-4:pairs={pairs}"));
    experiments(&names, horizons, &learners(setting))
}

fn judge(evidence: &Evidence<'_>) -> Result<Finding, ExperimentError> {
    let learners = learners(evidence.setting);
    let lines = |learner: usize| {
        series::with_variants(PAIRS.iter().enumerate().map(|(case, &pairs)| {
            let name = format!("{}, {pairs} pairs", learners[learner]);
            series::line(evidence, &name, case, learner, |horizon| pairs as f64 * horizon.sqrt())
        }))
    };
    let ratios = |learner: usize| {
        lines(learner)
            .into_iter()
            .flat_map(|line| line.points)
            .map(|point| point.1)
            .collect::<Vec<f64>>()
    };
    let spread = |learner: usize| largest(ratios(learner)) / smallest(ratios(learner));
    let mut checks = vec![Check::new(
        "Algorithm 1: largest ÷ smallest regret/(K√T)",
        spread(0),
        Wanted::AtMost(1.15),
    )];
    for (learner, name) in learners.iter().enumerate() {
        let ends = PAIRS.iter().enumerate().flat_map(|(case, &pairs)| {
            let bound =
                move |horizon: f64| theorem_4_lower(pairs, horizon as u64).unwrap_or(f64::NAN);
            series::line(evidence, "", case, learner, bound)
                .intervals
                .into_iter()
                .map(|interval| interval.1)
        });
        let what = format!("{name}: smallest lower end of regret ÷ lower bound");
        checks.push(Check::new(what, smallest(ends), Wanted::AtLeast(1.0)));
    }
    let horizons = series::horizons(evidence);
    let rows = PAIRS.iter().enumerate().flat_map(|(case, &pairs)| {
        let horizons = &horizons;
        (0..horizons.len()).map(move |position| {
            let mut row = vec![(pairs as f64).into(), horizons[position].into()];
            row.extend(
                (0..learners.len()).map(|learner| series::mean(evidence, position, case, learner)),
            );
            row
        })
    });
    let mut columns = vec!["pairs".to_owned(), "T".to_owned()];
    columns.extend(learners.iter().map(|learner| format!("{learner}: regret")));
    let table = Table { columns, rows: rows.collect() };
    let mut drawn: Vec<Line> = (0..learners.len()).flat_map(lines).collect();
    drawn.push(series::level(evidence, "choosing at random", 0.5));
    drawn.push(series::level(evidence, "lower bound", 1.0 / 7.35));
    Ok(Finding {
        checks,
        table,
        panels: vec![Panel {
            heading: "Regret ÷ (K √T)",
            caption:
                "K is the number of pairs. Regret of order K√T is a horizontal line at the same \
                height for every K."
                    .to_owned(),
            across: HORIZONS,
            up: Axis { title: "regret ÷ (K √T)", logarithmic: false },
            lines: drawn,
        }],
    })
}
