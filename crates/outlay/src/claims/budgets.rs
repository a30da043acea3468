//! Beyond the paper: budgets that vary from round to round.

use super::evidence::case_in;
use super::finding::{Axis, Check, Finding, Line, Panel, Strength, Table, Wanted};
use super::series::{self, HORIZONS, exponents, largest};
use super::{Claim, Evidence, Setting};
use crate::problem::{BudgetLaw, EnvironmentSpec};
use crate::simulation::{Experiment, ExperimentError};
use crate::theory::worst_case_bound;

pub(super) const CLAIM: Claim = Claim {
    name: "budgets",
    title: "Budgets that vary: the same guarantees against each round's optimum",
    source: "Documentation of outlay: Beyond the paper",
    statement: "If the budget of a round is known before it is split, only the oracle changes: \
                the proof of Theorem 3 applies unchanged, with regret against the optimum of each \
                round's own budget.",
    criterion: "Five power curves, budgets constant, uniform between 0.2 and 1.8, and a sine: \
                every run is below Theorem 3's bound, the exponent falls from decade to decade, \
                and the regret is within a factor of 1.5 of that of the constant budget.",
    strength: Strength::Trend,
    needs_traces: false,
    plan,
    judge,
};

const LAWS: [&str; 3] = ["constant", "uniform", "sine"];

fn law(name: &str) -> Option<BudgetLaw> {
    match name {
        "uniform" => Some(BudgetLaw::Uniform { low: 0.2, high: 1.8 }),
        "sine" => Some(BudgetLaw::Sine { mean: 1.0, amplitude: 0.8, period: 365.0 }),
        _ => None,
    }
}

fn plan(setting: &Setting) -> Result<Vec<Experiment>, ExperimentError> {
    let horizons = setting.choose(
        &[(1_000, 100), (10_000, 60), (100_000, 16)][..],
        &[(1_000, 400), (10_000, 400), (100_000, 200), (1_000_000, 40)][..],
    );
    let at = |&(horizon, replications): &(u64, u64)| {
        let case = |name: &&str| {
            case_in(
                "power",
                name,
                EnvironmentSpec { budget: law(name), ..EnvironmentSpec::default() },
                horizon,
            )
        };
        let cases = LAWS.iter().map(case).collect::<Result<_, _>>()?;
        Ok(Experiment {
            cases,
            learners: vec![
                setting.subjects.algorithm_1.into(),
                setting.subjects.kl_ucb_plus.into(),
            ],
            feedback: None,
            replications,
            seed: 1,
        })
    };
    horizons.iter().map(at).collect()
}

/// The regret of a learner with each law of the budget.
fn laws(evidence: &Evidence<'_>, learner: usize) -> Vec<Line> {
    let line = |(case, name): (usize, &&str)| series::line(evidence, name, case, learner, |_| 1.0);
    LAWS.iter().enumerate().map(line).collect()
}

/// The same lines for the figure, which has two learners.
fn drawn(evidence: &Evidence<'_>, learner: usize) -> Vec<Line> {
    let learner_name = &evidence.experiments[0].learners[learner];
    let named = |line: Line| Line { name: format!("{learner_name}, {} budget", line.name), ..line };
    series::with_variants(laws(evidence, learner).into_iter().map(named))
}

fn judge(evidence: &Evidence<'_>) -> Result<Finding, ExperimentError> {
    let lines = laws(evidence, 0);
    let used = (0..evidence.experiments.len()).flat_map(|position| {
        (0..LAWS.len()).flat_map(move |case| {
            let horizon = evidence.experiments[position].cases[case].horizon;
            let bound = move |mass: f64, tasks: usize| worst_case_bound(tasks, horizon, mass);
            evidence
                .runs(position, case, 0)
                .iter()
                .map(move |run| run.regret / bound(run.success_mass, run.completions.len()))
        })
    });
    let rise = |line: &Line| {
        let exponents = exponents(&line.points);
        largest(exponents.windows(2).map(|pair| pair[1].1 - pair[0].1))
    };
    let apart = |line: &Line| {
        largest(
            line.points
                .iter()
                .zip(&lines[0].points)
                .map(|(one, other)| (one.1 / other.1).max(other.1 / one.1)),
        )
    };
    let mut checks = vec![Check::new(
        "largest regret of a run ÷ Theorem 3's bound",
        largest(used),
        Wanted::AtMost(1.0),
    )];
    for line in &lines {
        let what =
            format!("{}: largest change of the exponent from one decade to the next", line.name);
        checks.push(Check::new(what, rise(line), Wanted::AtMost(0.0)));
        checks.push(Check::new(
            format!("{}: largest factor from the constant budget", line.name),
            apart(line),
            Wanted::AtMost(1.5),
        ));
    }
    let horizons = series::horizons(evidence);
    let row = |position: usize, learner: usize| {
        let name = evidence.experiments[position].learners[learner].to_string();
        let mut row = vec![horizons[position].into(), name.as_str().into()];
        row.extend((0..LAWS.len()).map(|case| series::mean(evidence, position, case, learner)));
        row
    };
    let rows = (0..horizons.len())
        .flat_map(|position| [0, 1].map(|learner| row(position, learner)))
        .collect();
    let columns = ["T", "learner", "constant", "uniform", "sine"].map(str::to_owned).to_vec();
    Ok(Finding {
        checks,
        table: Table { columns, rows },
        panels: vec![Panel {
            heading: "Regret under varying budgets",
            caption: "Mean regret on five power curves with its 95 % interval, against each \
                round's own optimum."
                .to_owned(),
            across: HORIZONS,
            up: Axis { title: "regret", logarithmic: true },
            lines: [0, 1].into_iter().flat_map(|learner| drawn(evidence, learner)).collect(),
        }],
    })
}
