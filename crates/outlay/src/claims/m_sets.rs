//! The Corollary of Theorem 3: on M-sets, semi-bandits with M plays, regret is of order √(KMT).

use super::evidence::experiment;
use super::finding::{Axis, Check, Finding, Line, LineKind, Panel, Strength, Table, Wanted};
use super::series::{self, exponent, largest};
use super::{Claim, Evidence, Setting};
use crate::experiment::{Experiment, ExperimentError};
use crate::learner::LearnerSpec;
use crate::theory::worst_case_bound;

pub(super) const CLAIM: Claim = Claim {
    name: "m-sets",
    title: "M-sets: regret of order √(KMT)",
    source: "Corollary of Theorem 3",
    statement: "With thresholds at 1/M of the budget Algorithm 1 is a semi-bandit with M plays, and its regret is at most \
                1 + 4 √(K L M T), of order √(KMT).",
    criterion: "K = 32 tasks, the best M better by 2 √(K/(MT)): every run is below the bound, and the regret of Algorithm 1 grows with M with an \
                exponent between 0.4 and 0.6.",
    strength: Strength::Trend,
    needs_traces: false,
    plan,
    judge,
};

const TASKS: usize = 32;
const PLAYS: [usize; 4] = [1, 2, 4, 8];

fn learners(setting: &Setting) -> [LearnerSpec; 3] {
    [setting.subjects.paper, setting.subjects.sharp, LearnerSpec::Cucb]
}

fn plan(setting: &Setting) -> Result<Vec<Experiment>, ExperimentError> {
    let (horizon, replications) = setting.choose((10_000, 20), (100_000, 60));
    let name = |plays: usize| {
        let gap = 2.0 * (TASKS as f64 / (plays as f64 * horizon as f64)).sqrt();
        format!("m-set:tasks={TASKS},plays={plays},gap={gap}")
    };
    let names = PLAYS.map(name);
    Ok(vec![experiment(&names.each_ref().map(String::as_str), horizon, &learners(setting), replications)?])
}

fn judge(evidence: &Evidence<'_>) -> Result<Finding, ExperimentError> {
    let learners = learners(evidence.setting);
    let horizon = series::horizons(evidence)[0];
    let bound = |plays: usize| worst_case_bound(TASKS, horizon as u64, plays as f64 * horizon);
    let line = |learner: usize| {
        let mut line = Line::new(learners[learner].to_string(), LineKind::Measured, Vec::new());
        for (case, &plays) in PLAYS.iter().enumerate() {
            let regret = evidence.regret(0, case, learner);
            line.points.push((plays as f64, regret.mean));
            line.intervals.extend(regret.low95.zip(regret.high95).map(|(low, high)| (plays as f64, low, high)));
        }
        line
    };
    let mut lines: Vec<Line> = (0..learners.len()).map(line).collect();
    let used = (0..PLAYS.len()).flat_map(|case| evidence.runs(0, case, 0).iter().map(move |run| run.regret / bound(PLAYS[case])));
    let checks = vec![
        Check::new("largest regret of a run ÷ bound", largest(used), Wanted::AtMost(1.0)),
        Check::new("exponent of the regret in M, from 1 to 8", exponent(&lines[0].points), Wanted::Between(0.4, 0.6)),
    ];
    let first = lines[0].points[0].1;
    let root = |plays: usize| (plays as f64, first * (plays as f64).sqrt());
    lines.push(Line::new("slope of √M", LineKind::Reference, PLAYS.map(root).to_vec()));
    lines.push(Line::new("bound", LineKind::Reference, PLAYS.map(|plays| (plays as f64, bound(plays))).to_vec()));
    let row = |(case, &plays): (usize, &usize)| {
        let mut row = vec![(plays as f64).into()];
        row.extend((0..learners.len()).map(|learner| series::mean(evidence, 0, case, learner)));
        row.push(bound(plays).into());
        row
    };
    let mut columns = vec!["M".to_owned()];
    columns.extend(learners.iter().map(ToString::to_string));
    columns.push("bound".to_owned());
    Ok(Finding {
        checks,
        table: Table { columns, rows: PLAYS.iter().enumerate().map(row).collect() },
        panels: vec![Panel {
            heading: "Regret against the number of plays",
            caption: format!("{TASKS} tasks, {horizon} rounds; mean regret with its 95 % interval."),
            across: Axis { title: "plays M", logarithmic: true },
            up: Axis { title: "regret", logarithmic: true },
            lines,
        }],
    })
}
