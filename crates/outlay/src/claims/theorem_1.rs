//! Theorem 1: under strong diminishing returns the regret grows like log² T.

use super::evidence::{experiments, half};
use super::finding::{Axis, Check, Finding, Line, LineKind, Panel, Strength, Table, Value, Wanted};
use super::series::{self, HORIZONS, largest};
use super::{Claim, Evidence, Setting};
use crate::instance::Instance;
use crate::learner::LearnerSpec;
use crate::problem::Problem;
use crate::simulation::{Experiment, ExperimentError, Statistics};
use crate::theory::{DiminishingReturns, fluid, means};

pub(super) const CLAIM: Claim = Claim {
    name: "theorem-1",
    title: "Diminishing returns: regret grows like log² T",
    source: "Theorem 1 (thm:boost)",
    statement: "With strongly concave curves of infinite slope at zero, Algorithm 1 has a \
        regret of order log² T.",
    criterion: "The exponent d log R ÷ d log T falls from decade to decade and ends below 0.3 \
                (0.45 in the quick version); the fluid model, which is deterministic, is within \
                10 % (square roots: 15 %) of the mean regret and its interval from 10⁴ rounds on, \
                and its exponent ends below 0.12 at 10¹⁵ rounds; no run is above the theorem's \
                bound.",
    strength: Strength::Trend,
    needs_traces: false,
    plan,
    judge,
};

const INSTANCES: [&str; 2] = ["power", "square-roots"];
/// The tolerance of the fluid model. On square roots the widths of the indices nearly cancel, as
/// only ratios of weights matter, so the randomness that the model ignores adds a tenth.
const FLUID_ROOM: [f64; 2] = [0.1, 0.15];

/// Horizons with replications. The learner knows its horizon, so each point of the curve is a
/// separate experiment.
fn horizons(setting: &Setting) -> &'static [(u64, u64)] {
    setting.choose(
        &[(1_000, 400), (10_000, 200), (100_000, 60)][..],
        &[(1_000, 2000), (10_000, 1000), (100_000, 400), (1_000_000, 200), (10_000_000, 60)][..],
    )
}

fn plan(setting: &Setting) -> Result<Vec<Experiment>, ExperimentError> {
    let learners = [setting.subjects.algorithm_1];
    experiments(&INSTANCES, horizons(setting), &learners)
}

/// One instance at every horizon.
struct Growth {
    name: &'static str,
    fluid_room: f64,
    horizons: Vec<u64>,
    regrets: Vec<Statistics>,
    /// The fluid model at the horizons and beyond, if the learner has one.
    fluid: Vec<(f64, f64)>,
    /// The largest regret of a run as a share of the theorem's bound.
    bound_used: f64,
}

fn judge(evidence: &Evidence<'_>) -> Result<Finding, ExperimentError> {
    let growths: Vec<Growth> =
        (0..INSTANCES.len()).map(|case| growth(evidence, case)).collect::<Result<_, _>>()?;
    let lowest = evidence.setting.choose(0.45, 0.3);
    Ok(Finding {
        checks: growths.iter().flat_map(|growth| checks(growth, lowest)).collect(),
        panels: vec![regret_panel(&growths), exponent_panel(&growths), log_squared_panel(&growths)],
        table: table(&growths),
    })
}

fn growth(evidence: &Evidence<'_>, case: usize) -> Result<Growth, ExperimentError> {
    let name = INSTANCES[case];
    let instance: Instance = name.parse()?;
    let learner = evidence.setting.subjects.algorithm_1;
    let horizons: Vec<u64> =
        evidence.experiments.iter().map(|experiment| experiment.cases[case].horizon).collect();
    let mut bound_used: f64 = 0.0;
    for (position, &horizon) in horizons.iter().enumerate() {
        let bound = bound(&instance.problem(horizon, 1)?, horizon);
        bound_used = evidence
            .runs(position, case, 0)
            .iter()
            .fold(bound_used, |used, run| used.max(run.regret / bound));
    }
    Ok(Growth {
        name,
        fluid_room: FLUID_ROOM[case],
        regrets: (0..horizons.len()).map(|position| evidence.regret(position, case, 0)).collect(),
        horizons,
        fluid: fluid_regrets(&instance, &learner)?,
        bound_used,
    })
}

/// The bound of `thm:boost`; NaN, which fails every check, if there is none.
fn bound(problem: &Problem, horizon: u64) -> f64 {
    let means: Option<Vec<f64>> = means(problem).into_iter().collect();
    let returns = DiminishingReturns::new(problem).ok();
    let bound =
        returns.zip(means).and_then(|(returns, means)| returns.polylog_bound(&means, horizon));
    bound.map_or(f64::NAN, |bound| bound.regret)
}

/// The fluid model at horizons from 10³ to 10¹⁵, four per decade.
fn fluid_regrets(
    instance: &Instance,
    learner: &LearnerSpec,
) -> Result<Vec<(f64, f64)>, ExperimentError> {
    let mut points = Vec::new();
    for quarter in 12..=60 {
        let horizon = 10f64.powf(f64::from(quarter) / 4.0).round();
        let problem = instance.problem(horizon as u64, 1)?;
        let Some(curve) = fluid(&problem, learner, horizon)? else { return Ok(Vec::new()) };
        points.extend(curve.last().map(|last| (horizon, last.regret)));
    }
    Ok(points)
}

impl Growth {
    fn means(&self) -> Vec<(f64, f64)> {
        self.horizons
            .iter()
            .zip(&self.regrets)
            .map(|(&horizon, regret)| (horizon as f64, regret.mean))
            .collect()
    }

    fn fluid_at(&self, horizon: u64) -> f64 {
        let near = |point: &&(f64, f64)| (point.0 / horizon as f64 - 1.0).abs() < 1e-9;
        self.fluid.iter().find(near).map_or(f64::NAN, |point| point.1)
    }

    /// The largest relative distance of the fluid model from the interval of a mean.
    fn largest_fluid_error(&self) -> f64 {
        let late =
            self.horizons.iter().zip(&self.regrets).filter(|(horizon, _)| **horizon >= 10_000);
        largest(late.map(|(&horizon, regret)| {
            let fluid = self.fluid_at(horizon);
            ((regret.mean - fluid).abs() - half(regret)).max(0.0) / fluid
        }))
    }
}

fn checks(growth: &Growth, lowest: f64) -> Vec<Check> {
    let name = growth.name;
    let exponents: Vec<f64> =
        series::exponents(&growth.means()).into_iter().map(|(_, exponent)| exponent).collect();
    let largest_rise = largest(exponents.windows(2).map(|pair| pair[1] - pair[0]));
    let last = exponents.last().copied().unwrap_or(f64::NAN);
    let fluid_last =
        series::exponents(&growth.fluid).last().map_or(f64::NAN, |(_, exponent)| *exponent);
    vec![
        Check::new(
            format!("{name}: largest change of the exponent from one decade to the next"),
            largest_rise,
            Wanted::AtMost(0.0),
        ),
        Check::new(format!("{name}: exponent over the last decade"), last, Wanted::AtMost(lowest)),
        Check::new(
            format!("{name}: relative error of the fluid model"),
            growth.largest_fluid_error(),
            Wanted::AtMost(growth.fluid_room),
        ),
        Check::new(
            format!("{name}: the fluid model's exponent at 10¹⁵ rounds"),
            fluid_last,
            Wanted::AtMost(0.12),
        ),
        Check::new(
            format!("{name}: largest regret of a run ÷ bound of thm:boost"),
            growth.bound_used,
            Wanted::AtMost(1.0),
        ),
    ]
}

fn lines(
    growths: &[Growth],
    of: impl Fn(&[(f64, f64)]) -> Vec<(f64, f64)>,
    interval: impl Fn(f64, f64) -> f64,
) -> Vec<Line> {
    let mut lines = Vec::new();
    for growth in growths {
        let mut measured = Line::new(growth.name, LineKind::Measured, of(&growth.means()));
        if measured.points.len() == growth.regrets.len() {
            let ends =
                growth.horizons.iter().zip(&growth.regrets).filter_map(|(&horizon, regret)| {
                    let horizon = horizon as f64;
                    Some((
                        horizon,
                        interval(horizon, regret.low95?),
                        interval(horizon, regret.high95?),
                    ))
                });
            measured.intervals = ends.collect();
        }
        lines.push(measured);
        lines.push(Line::new(
            format!("{}, fluid model", growth.name),
            LineKind::Predicted,
            of(&growth.fluid),
        ));
    }
    lines
}

fn regret_panel(growths: &[Growth]) -> Panel {
    let mut lines = lines(growths, <[_]>::to_vec, |_, regret| regret);
    let root = |horizon: f64| (horizon, 3.0 * (horizon / 1e3).sqrt());
    lines.push(Line::new("slope of √T", LineKind::Reference, [1e3, 1e7].map(root).to_vec()));
    let caption = "Mean regret of runs of length T with its 95 % interval, and the \
        regret of the fluid model up to 10¹⁵ rounds.";
    Panel {
        heading: "Regret",
        caption: caption.to_owned(),
        across: HORIZONS,
        up: Axis { title: "regret", logarithmic: true },
        lines,
    }
}

fn exponent_panel(growths: &[Growth]) -> Panel {
    let mut lines = lines(growths, series::exponents, |_, _| f64::NAN);
    let log_squared = (12..=60)
        .map(|quarter| 10f64.powf(f64::from(quarter) / 4.0))
        .map(|horizon| (horizon, 2.0 / horizon.ln()));
    lines.push(Line::new("log² T", LineKind::Reference, log_squared.collect()));
    lines.push(Line::new("√T", LineKind::Reference, vec![(1e3, 0.5), (1e15, 0.5)]));
    let caption = "The exponent of T with which regret grows. It is near ½ while the indices are \
                   wider than the means, and falls to that of log² T.";
    let up = Axis { title: "d log R ÷ d log T", logarithmic: false };
    Panel { heading: "Growth exponent", caption: caption.to_owned(), across: HORIZONS, up, lines }
}

fn log_squared_panel(growths: &[Growth]) -> Panel {
    let divided = |points: &[(f64, f64)]| {
        points.iter().map(|&(horizon, regret)| (horizon, regret / horizon.ln().powi(2))).collect()
    };
    let lines = lines(growths, divided, |horizon, regret| regret / horizon.ln().powi(2));
    let caption = "Levelling off means growth like log² T.";
    let up = Axis { title: "regret ÷ log² T", logarithmic: true };
    Panel { heading: "Regret ÷ log² T", caption: caption.to_owned(), across: HORIZONS, up, lines }
}

fn table(growths: &[Growth]) -> Table {
    let columns = ["instance", "T", "regret", "fluid model", "exponent over the decade"]
        .map(str::to_owned)
        .to_vec();
    let mut rows = Vec::new();
    for growth in growths {
        let exponents = series::exponents(&growth.means());
        for (position, (&horizon, regret)) in
            growth.horizons.iter().zip(&growth.regrets).enumerate()
        {
            let exponent = position
                .checked_sub(1)
                .map_or(Value::from("–"), |before| exponents[before].1.into());
            let mean = Value::Mean(regret.mean, half(regret));
            rows.push(vec![
                growth.name.into(),
                (horizon as f64).into(),
                mean,
                growth.fluid_at(horizon).into(),
                exponent,
            ]);
        }
    }
    Table { columns, rows }
}
