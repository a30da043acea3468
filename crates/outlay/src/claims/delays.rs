//! Beyond the paper: outcomes that arrive late.

use super::evidence::{case_in, half};
use super::finding::{Axis, Check, Finding, Line, LineKind, Panel, Strength, Value, Wanted};
use super::series;
use super::{Claim, Evidence, Setting};
use crate::problem::{DelayLaw, EnvironmentSpec};
use crate::simulation::{Experiment, ExperimentError, Statistics};

pub(super) const CLAIM: Claim = Claim {
    name: "delays",
    title: "Delays: late outcomes add regret instead of multiplying it",
    source: "Documentation of outlay: Beyond the paper",
    statement: "A learner that uses the outcomes as they arrive, with a mean delay of d rounds, \
                has the regret without delay plus a term proportional to d.",
    criterion: "Algorithm 1, geometric delays with mean 50, 100 and 500 over 5000 rounds: the \
                regret that a delay adds, run by run on the same draws, is at most half of what \
                spending nothing for that many rounds (idling) would lose.",
    strength: Strength::Trend,
    needs_traces: false,
    plan,
    judge,
};

const INSTANCES: [&str; 2] = ["power", "m-set"];
const MEANS: [f64; 5] = [0.0, 10.0, 50.0, 100.0, 500.0];
const HORIZON: u64 = 5_000;

fn plan(setting: &Setting) -> Result<Vec<Experiment>, ExperimentError> {
    let delayed = |instance: &'static str| {
        MEANS.map(|mean| {
            let delay = (mean > 0.0).then_some(DelayLaw::Geometric { mean });
            case_in(
                instance,
                &format!("mean delay {mean}"),
                EnvironmentSpec { delay, ..EnvironmentSpec::default() },
                HORIZON,
            )
        })
    };
    let cases = INSTANCES.into_iter().flat_map(delayed).collect::<Result<Vec<_>, _>>()?;
    let learners = vec![setting.subjects.algorithm_1.into(), setting.subjects.kl_ucb_plus.into()];
    Ok(vec![Experiment {
        cases,
        learners,
        feedback: None,
        replications: setting.choose(40, 400),
        seed: 1,
    }])
}

/// The position of an instance with a delay among the cases.
fn position(instance: usize, mean: usize) -> usize {
    instance * MEANS.len() + mean
}

/// The regret that a delay adds, run by run.
fn added(evidence: &Evidence<'_>, instance: usize, mean: usize) -> Statistics {
    let prompt = evidence.runs(0, position(instance, 0), 0);
    let late = evidence.runs(0, position(instance, mean), 0);
    Statistics::of(
        &prompt
            .iter()
            .zip(late)
            .map(|(prompt, late)| late.regret - prompt.regret)
            .collect::<Vec<f64>>(),
    )
}

fn judge(evidence: &Evidence<'_>) -> Result<Finding, ExperimentError> {
    let mut finding = Finding::default();
    finding.table.columns =
        ["instance", "mean delay", "algorithm-1", "kl-ucb-plus", "added", "regret of idling"]
            .map(str::to_owned)
            .to_vec();
    let mut lines = Vec::new();
    for (instance, name) in INSTANCES.iter().enumerate() {
        let optimum =
            evidence.runs(0, position(instance, 0), 0).first().map_or(f64::NAN, |run| run.optimum);
        let mut drawn = [0, 1].map(|learner| {
            let learner = &evidence.experiments[0].learners[learner];
            Line::new(format!("{learner}, {name}"), LineKind::Measured, Vec::new())
        });
        for (mean, &delay) in MEANS.iter().enumerate() {
            let added = added(evidence, instance, mean);
            let idle = optimum * delay;
            if delay >= 50.0 {
                let what = format!(
                    "{name}, mean delay {delay}: upper end of the regret added ÷ regret of idling"
                );
                finding.checks.push(Check::new(
                    what,
                    (added.mean + half(&added)) / idle,
                    Wanted::AtMost(0.5),
                ));
            }
            let regret =
                |learner: usize| series::mean(evidence, 0, position(instance, mean), learner);
            let added_value = Value::Mean(added.mean, half(&added));
            finding.table.rows.push(vec![
                (*name).into(),
                delay.into(),
                regret(0),
                regret(1),
                added_value,
                idle.into(),
            ]);
            for (learner, line) in drawn.iter_mut().enumerate() {
                line.add(delay, &evidence.regret(0, position(instance, mean), learner), 1.0);
            }
        }
        lines.extend(drawn);
    }
    finding.panels.push(Panel {
        heading: "Regret against the mean delay",
        caption: format!(
            "{} rounds; mean regret with its 95 % interval.",
            series::grouped(HORIZON as f64)
        ),
        across: Axis { title: "mean delay in rounds", logarithmic: false },
        up: Axis { title: "regret", logarithmic: false },
        lines,
    });
    Ok(finding)
}
