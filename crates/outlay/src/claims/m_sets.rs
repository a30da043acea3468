//! The Corollary of Theorem 3: on M-sets, semi-bandits with M plays, regret is of order √(KMT).

use super::evidence::experiment;
use super::finding::{Axis, Check, Finding, Line, LineKind, Panel, Strength, Table, Value, Wanted};
use super::series::{self, exponent, largest, spread};
use super::{Claim, Evidence, Setting};
use crate::learner::LearnerSpec;
use crate::simulation::{Experiment, ExperimentError};
use crate::theory::m_set_bound;

pub(super) const CLAIM: Claim = Claim {
    name: "m-sets",
    title: "M-sets: regret of order √(KMT)",
    source: "Corollary of Theorem 3",
    statement: "With thresholds at 1/M of the budget Algorithm 1 is a semi-bandit with M plays, \
                and its regret is at most 1 + 4 √(K L M T), of order √(KMT).",
    criterion: "The best M of K tasks are better by 4 √(K/(MT)), M = 1 … 8. Every run is below the \
                bound; with K = 8M the mean regret of Algorithm 1 ÷ √(KMT) stays within a factor \
                of 1.25; with K = 32 for every M the regret grows no faster than √M.",
    strength: Strength::Trend,
    needs_traces: false,
    plan,
    judge,
};

const PLAYS: [usize; 4] = [1, 2, 4, 8];
/// The gap in multiples of √(K/(MT)): about the worst one for Algorithm 1.
const GAP: f64 = 4.0;

/// The number of tasks: proportional to the plays in one experiment, fixed in the other.
fn tasks(experiment: usize, plays: usize) -> usize {
    if experiment == 0 { 8 * plays } else { 32 }
}

fn learners(setting: &Setting) -> [LearnerSpec; 3] {
    [setting.subjects.algorithm_1, setting.subjects.kl_ucb_plus, LearnerSpec::Cucb]
}

fn plan(setting: &Setting) -> Result<Vec<Experiment>, ExperimentError> {
    let (horizon, replications) = setting.choose((10_000, 16), (100_000, 60));
    let at = |position: usize| {
        let names = PLAYS.map(|plays| {
            let tasks = tasks(position, plays);
            let gap = GAP * (tasks as f64 / (plays as f64 * horizon as f64)).sqrt();
            format!("m-set:tasks={tasks},plays={plays},gap={gap}")
        });
        experiment(&names, horizon, &learners(setting), replications)
    };
    (0..2).map(at).collect()
}

fn judge(evidence: &Evidence<'_>) -> Result<Finding, ExperimentError> {
    let learners = learners(evidence.setting);
    let horizon = series::horizons(evidence)[0];
    let root = move |position: usize, plays: usize| {
        (tasks(position, plays) as f64 * plays as f64 * horizon).sqrt()
    };
    let line = |position: usize, learner: usize| {
        let name = if position == 0 { "K = 8M" } else { "K = 32" };
        let mut line =
            Line::new(format!("{}, {name}", learners[learner]), LineKind::Measured, Vec::new());
        for (case, &plays) in PLAYS.iter().enumerate() {
            line.add(
                plays as f64,
                &evidence.regret(position, case, learner),
                root(position, plays),
            );
        }
        line
    };
    let used = (0..2).flat_map(|position| {
        PLAYS.iter().enumerate().flat_map(move |(case, &plays)| {
            let bound = m_set_bound(tasks(position, plays), plays, horizon as u64);
            evidence.runs(position, case, 0).iter().map(move |run| run.regret / bound)
        })
    });
    let [proportional, fixed] = [line(0, 0), line(1, 0)];
    let checks = vec![
        Check::new("largest regret of a run ÷ bound", largest(used), Wanted::AtMost(1.0)),
        Check::new(
            "K = 8M: largest ÷ smallest regret/√(KMT)",
            spread(&proportional.points),
            Wanted::AtMost(1.25),
        ),
        Check::new(
            "K = 32: exponent of the regret in M",
            0.5 + exponent(&fixed.points),
            Wanted::AtMost(0.5),
        ),
    ];
    let row = |position: usize, case: usize| {
        let plays = PLAYS[case];
        let tasks = tasks(position, plays);
        let mut row = vec![Value::Number(tasks as f64), Value::Number(plays as f64)];
        row.extend(
            (0..learners.len()).map(|learner| series::mean(evidence, position, case, learner)),
        );
        row.push(m_set_bound(tasks, plays, horizon as u64).into());
        row
    };
    let mut columns = vec!["K".to_owned(), "M".to_owned()];
    columns.extend(learners.iter().map(ToString::to_string));
    columns.push("bound".to_owned());
    let rows =
        (0..2).flat_map(|position| (0..PLAYS.len()).map(move |case| row(position, case))).collect();
    Ok(Finding {
        checks,
        table: Table { columns, rows },
        panels: vec![Panel {
            heading: "Regret against the number of plays",
            caption: format!(
                "Mean regret ÷ √(KMT) over {} rounds with its 95 % interval. A line \
                    that does not rise means growth of at most √(KMT).",
                series::grouped(horizon)
            ),
            across: Axis { title: "plays M", logarithmic: true },
            up: Axis { title: "regret ÷ √(KMT)", logarithmic: false },
            lines: [[proportional, fixed], [line(0, 1), line(1, 1)]]
                .into_iter()
                .flat_map(series::with_variants)
                .collect(),
        }],
    })
}
