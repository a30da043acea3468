//! Appendix A: with unknown curves regret can be T.

use super::evidence::experiment;
use super::finding::{Axis, Check, Finding, Line, LineKind, Panel, Strength, Value, Wanted};
use super::{Claim, Evidence, Setting};
use crate::simulation::{Experiment, ExperimentError};
use crate::theory::{ThresholdStrategy, unknown_thresholds, unknown_thresholds_of};

pub(super) const CLAIM: Claim = Claim {
    name: "appendix-a",
    title: "Unknown curves: regret can be T",
    source: "Appendix A",
    statement: "Two tasks with rewards of 1 and thresholds b and 1 − b that add up to the budget. \
                A learner that knows b completes both in every round; any other loses 1 in every \
                round for some b.",
    criterion: "In exact arithmetic, with thresholds of more bits than there are rounds, the \
                regret of every strategy, bisection included, is exactly T; with thresholds of 52 \
                bits bisection finds b and its regret stops; with known curves Algorithm 1 has \
                regret 0.",
    strength: Strength::EveryRun,
    needs_traces: false,
    plan,
    judge,
};

/// The number of bits of a threshold that a float can represent.
const FLOAT_BITS: u64 = 52;

fn rounds(setting: &Setting) -> u64 {
    setting.choose(1_000, 4_000)
}

fn plan(setting: &Setting) -> Result<Vec<Experiment>, ExperimentError> {
    Ok(vec![experiment(
        &["unknown-thresholds"],
        rounds(setting),
        &[setting.subjects.algorithm_1],
        20,
    )?])
}

fn judge(evidence: &Evidence<'_>) -> Result<Finding, ExperimentError> {
    let rounds = rounds(evidence.setting);
    let seeds = evidence.setting.choose(3, 10);
    let mut finding = Finding::default();
    finding.table.columns = ["thresholds", "strategy", "T", "regret"].map(str::to_owned).to_vec();
    let row = |thresholds: &str, strategy: &str, regret: f64| {
        vec![
            thresholds.into(),
            strategy.into(),
            Value::Number(rounds as f64),
            Value::Number(regret),
        ]
    };
    for strategy in ThresholdStrategy::ALL {
        let mut regrets = (1..=seeds).map(|seed| unknown_thresholds(strategy, rounds, seed).regret);
        let agrees = regrets.clone().filter(|regret| *regret == rounds).count() as f64;
        let what = format!("{strategy}: share of the seeds with a regret of exactly T");
        finding.checks.push(Check::new(what, agrees / seeds as f64, Wanted::Exactly(1.0)));
        finding.table.rows.push(row(
            "unknown, longer than T bits",
            strategy.as_str(),
            regrets.next().map_or(f64::NAN, |regret| regret as f64),
        ));
    }
    let short = |seed: u64| {
        unknown_thresholds_of(ThresholdStrategy::Bisection, rounds, FLOAT_BITS, seed).regret as f64
    };
    let most = (1..=seeds).map(short).fold(0.0, f64::max);
    finding.checks.push(Check::new(
        "bisection, thresholds of 52 bits: regret",
        most,
        Wanted::AtMost(53.0),
    ));
    finding.table.rows.push(row("unknown, 52 bits", "bisection", most));
    let known = evidence
        .runs(0, 0, 0)
        .iter()
        .map(|run| run.regret.abs())
        .reduce(f64::max)
        .unwrap_or(f64::NAN);
    finding.checks.push(Check::new(
        "known curves: largest regret of Algorithm 1",
        known,
        Wanted::AtMost(1e-9),
    ));
    finding.table.rows.push(row("known", "Algorithm 1", known));
    finding.panels.push(panel(rounds));
    Ok(finding)
}

/// Bisection against a threshold of `bits` digits: the regret after 1, 2, 5, 10, … rounds.
fn bisection(name: &str, rounds: u64, bits: u64) -> Line {
    let powers = (0..).map(|power| 10u64.pow(power)).take_while(|power| *power < rounds);
    let lengths = powers
        .flat_map(|power| [1, 2, 5].map(|factor| factor * power))
        .filter(|length| *length < rounds)
        .chain([rounds]);
    let regret = |length: u64| {
        unknown_thresholds_of(ThresholdStrategy::Bisection, length, bits, 1).regret as f64
    };
    Line::new(
        name,
        LineKind::Measured,
        lengths.map(|length| (length as f64, regret(length))).collect(),
    )
}

fn panel(rounds: u64) -> Panel {
    Panel {
        heading: "Regret with unknown thresholds",
        caption: "Bisection loses 1 in every round. With thresholds that floats can represent \
            it finds them, and the regret stops."
            .to_owned(),
        across: Axis { title: "rounds", logarithmic: true },
        up: Axis { title: "regret", logarithmic: true },
        // One digit more than rounds is enough, because each round reveals one.
        lines: vec![
            bisection("bisection, long thresholds", rounds, rounds + 1),
            bisection("bisection, 52 bits", rounds, FLOAT_BITS),
        ],
    }
}
