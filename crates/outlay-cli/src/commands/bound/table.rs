//! Bounds as text.

use outlay::theory::{AssumptionFailure, Bound, LimitKind, PolylogBound, Quantities, Side};

use super::Answer;
use super::run::Measured;
use crate::output::table::{Align, Table, wrapped};
use outlay::text::listed;
use outlay_report::number::{counted, figure, percent, plain};

pub(super) fn table(answer: &Answer) -> String {
    let mut parts = vec![format!("{}\n", headline(answer)), assumption(answer)];
    let remarks = [wrapped(&limit(answer)), wrapped(&trivial(answer))].join("\n");
    parts.push(format!("{}\n{remarks}", bounds(answer).render()));
    parts.extend(answer.measured.as_ref().map(|measured| run(answer, measured)));
    parts.join("\n")
}

fn headline(answer: &Answer) -> String {
    let mut parts = vec![
        answer.name.clone(),
        counted(answer.problem.tasks().len(), "task"),
        format!("horizon {}", plain(answer.horizon as f64)),
    ];
    parts.extend(answer.guarantees.optimum.map(|optimum| {
        format!("optimum {} per round", figure(optimum * answer.problem.reward_max()))
    }));
    parts.join(" · ")
}

/// Whether Assumption 2 holds, with its quantities.
fn assumption(answer: &Answer) -> String {
    match &answer.guarantees.diminishing {
        Err(failures) => format!(
            "Strong diminishing returns (Assumption 2) fail:\n{}",
            failing(failures, answer.problem.tasks().len())
        ),
        Ok(_) => {
            let mut text =
                "Strong diminishing returns (Assumption 2) hold for every task.\n".to_owned();
            let table = quantities(answer.guarantees.polylog.as_ref(), answer.quantities.as_ref());
            text.push_str(&match table {
                Some(table) => format!("\n{}", table.render()),
                None => {
                    "Theorem 1 has no value here and hence no default share; use --share to report \
                         slopes and curvatures.\n"
                        .to_owned()
                }
            });
            text
        }
    }
}

/// The failed conditions; tasks with the same failures share a line.
fn failing(failures: &[AssumptionFailure], count: usize) -> String {
    const MAX_LINES: usize = 20;
    let mut kinds: Vec<(String, Vec<&str>)> = Vec::new();
    for failure in failures {
        let (what, task) = match failure {
            AssumptionFailure::Curve { task, failures } => (
                failures.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
                Some(task.as_str()),
            ),
            AssumptionFailure::Bounds { task } => {
                ("has spend bounds".to_owned(), Some(task.as_str()))
            }
            AssumptionFailure::OneTask => (failure.to_string(), None),
        };
        match kinds.iter_mut().find(|(kind, _)| *kind == what) {
            Some((_, tasks)) => tasks.extend(task),
            None => kinds.push((what, task.into_iter().collect())),
        }
    }
    let line = |(what, tasks): &(String, Vec<&str>)| match tasks.len() {
        0 => format!("  {what}\n"),
        all if all == count && all > 1 => format!("  every task: {what}\n"),
        _ => format!("  {}: {what}\n", listed(tasks)),
    };
    kinds.iter().take(MAX_LINES).map(line).collect()
}

/// The quantities of Theorem 1.
fn quantities(polylog: Option<&PolylogBound>, at: Option<&Quantities>) -> Option<Table> {
    let mut table =
        Table::new(&[("quantity", Align::Left), ("value", Align::Right), ("meaning", Align::Left)]);
    let mut row = |symbol: &str, value: f64, what: &str| {
        table.row(vec![symbol.to_owned(), figure(value), what.to_owned()])
    };
    if let Some(bound) = polylog {
        row("μ_inf", bound.least_mean, "smallest mean reward, relative to the largest reward");
        row(
            "u_inf",
            bound.least_share,
            "D_min⁻¹(2/μ_inf · D_max(1/K)): share of every task once the indices are close to the means",
        );
        row("min F(u_inf)", bound.least_success, "smallest success probability at that share");
        row(
            "u_early",
            bound.early_share,
            "D_min⁻¹(2/μ_inf · D_max(1/K²)): share that under-explored tasks receive often enough before that",
        );
        row("min F(u_early)", bound.early_success, "smallest success probability at that share");
    }
    let at = at?;
    row("ε", at.share, "budget share of the following rows");
    row("M(ε)", at.lipschitz, "largest slope of any curve above that share (per budget)");
    row(
        "α(ε)",
        at.strong_concavity,
        "smallest curvature of any curve above that share (per budget²)",
    );
    row("D_min(ε)", at.d_min, "smallest slope of any curve up to that share");
    row("D_max(ε)", at.d_max, "largest slope of any curve above that share");
    row("min F(ε)", at.least_success, "smallest success probability at that share");
    Some(table)
}

fn bounds(answer: &Answer) -> Table {
    use Align::{Left, Right};
    let mut table = Table::new(&[
        ("bound", Left),
        ("regret is", Left),
        ("value", Right),
        ("", Left),
        ("holds for", Left),
        ("source", Left),
        ("description", Left),
    ]);
    for bound in &answer.guarantees.bounds {
        let about = match &bound.value {
            Ok(_) => bound.about.clone(),
            Err(reason) => format!("not applicable: {reason}"),
        };
        table.row(vec![
            bound.name.to_owned(),
            match bound.side {
                Side::AtMost => "at most".to_owned(),
                Side::AtLeast => "at least".to_owned(),
            },
            bound.value.as_ref().map_or_else(
                |_| "–".to_owned(),
                |value| figure(value * answer.problem.reward_max()),
            ),
            vacuous(bound),
            bound.learners.to_owned(),
            bound.source.to_owned(),
            about,
        ]);
    }
    table
}

fn vacuous(bound: &Bound) -> String {
    if bound.vacuous == Some(true) { "vacuous".to_owned() } else { String::new() }
}

/// The information limit, or why none is known.
fn limit(answer: &Answer) -> String {
    let limit = match &answer.guarantees.limit {
        Ok(limit) => limit,
        Err(reason) => return format!("Information limit: none known here ({reason})."),
    };
    let amount = figure(limit.per_decade() * answer.problem.reward_max());
    match limit.kind {
        LimitKind::Interior => format!(
            "Information limit: in the long run every learner loses at least {amount} per tenfold \
             number of rounds, here or for means arbitrarily close to these (our proof, not peer \
             reviewed)."
        ),
        LimitKind::MSet => format!(
            "Information limit: in the long run every learner that does well for all means loses \
             at least {amount} per tenfold number of rounds here (Lai and Robbins 1985; Anantharam, \
             Varaiya and Walrand 1987)."
        ),
    }
}

fn trivial(answer: &Answer) -> String {
    let reward_max = answer.problem.reward_max();
    let found = &answer.guarantees;
    let mut text = format!(
        "The regret of any learner is at most {} over {} rounds; a bound that is not smaller is vacuous.",
        figure(found.trivial * reward_max),
        plain(answer.horizon as f64)
    );
    if !found.unknown.is_empty() {
        let names: Vec<&str> = found.unknown.iter().map(String::as_str).collect();
        text.push_str(&format!(
            " (The mean of {} is unknown and taken as the largest reward; give value or reward.)",
            listed(&names)
        ));
    }
    if answer.problem.environment().budget.is_some() {
        text.push_str(" (Computed with the largest budget in every round.)");
    }
    text.push_str(&format!(
        " Regret is in the problem's unit of reward; the largest reward is {}.",
        plain(reward_max)
    ));
    text
}

/// Measured regret of the learners, next to the bounds.
fn run(answer: &Answer, measured: &Measured) -> String {
    use Align::{Left, Right};
    let mut table = Table::new(&[
        ("problem", Left),
        ("learner", Left),
        ("replications", Right),
        ("regret", Right),
        ("95%", Right),
        ("success mass", Right),
        ("bound", Right),
        ("", Left),
        ("of the bound", Right),
        ("by", Left),
    ]);
    let several =
        measured.learners.iter().any(|learner| learner.problem != measured.learners[0].problem);
    for learner in &measured.learners {
        let interval = learner.regret.low95.zip(learner.regret.high95);
        let by = match &learner.bound {
            None => "no bound".to_owned(),
            Some(Bound { value: Err(reason), .. }) => format!("not applicable: {reason}"),
            Some(bound) => bound.name.to_owned(),
        };
        table.row(vec![
            if several { learner.problem.clone() } else { String::new() },
            learner.learner.clone(),
            plain(learner.replications as f64),
            figure(learner.regret.mean),
            interval
                .map(|(low, high)| format!("{} – {}", figure(low), figure(high)))
                .unwrap_or_default(),
            figure(learner.success_mass),
            learner.bound_value(&answer.problem).map(figure).unwrap_or_default(),
            learner.bound.as_ref().map(vacuous).unwrap_or_default(),
            learner.ratio(&answer.problem).map(percent).unwrap_or_default(),
            by,
        ]);
    }
    format!("Measured in {}:\n\n{}", measured.path.display(), table.render())
}
