//! Facts and results above the figures.

use outlay::simulation::{Statistics, Summary};

use crate::number::{Precision, counted, figure, gap, grouped, percent, plain};
use crate::svg::Element;

use super::regret::sample;
use super::series::LearnerSeries;

/// Stands for a missing number.
const NONE: &str = "–";

/// The problem's name, with the parameter of a grid.
pub(super) fn heading(summary: &Summary) -> String {
    match &summary.parameter {
        Some((name, number)) => format!("{}, {name} = {}", summary.problem, finite(*number, plain)),
        None => summary.problem.clone(),
    }
}

/// Tasks, rounds, replications, seeds, the optimum.
pub(super) fn facts(summary: &Summary) -> Element {
    let optimum = &summary.optimum;
    let gap = if optimum.gap.is_finite() {
        format!(" (relative gap {})", gap_words(optimum.gap))
    } else {
        String::new()
    };
    let facts = [
        ("tasks", grouped(&summary.tasks.len().to_string())),
        ("horizon", counted(summary.horizon as usize, "round")),
        ("replications", grouped(&summary.replications.to_string())),
        ("seeds", seeds(summary)),
        ("best possible", format!("{} rewards per round{gap}", finite(optimum.value, figure))),
        (
            "even split",
            format!(
                "{} rewards of regret per round",
                finite(summary.uniform_regret_per_round, figure)
            ),
        ),
    ];
    let fact = |(name, text): (&str, String)| {
        Element::new("div")
            .child(Element::new("dt").text(name))
            .child(Element::new("dd").text(&text))
    };
    Element::new("dl").class("facts").children(facts.into_iter().map(fact))
}

fn seeds(summary: &Summary) -> String {
    let last = summary.seed.checked_add(summary.replications.saturating_sub(1));
    match last {
        Some(last) if last > summary.seed => format!("{} to {last}", summary.seed),
        _ => summary.seed.to_string(),
    }
}

/// A number, or a dash where there is none.
fn finite(number: f64, written: impl Fn(f64) -> String) -> String {
    if number.is_finite() { written(number) } else { NONE.to_owned() }
}

fn gap_words(number: f64) -> String {
    finite(number, gap)
}

/// A mean with the half-width of its 95 % interval: `33.12 ± 2.04`.
pub fn mean_with_interval(regret: &Statistics) -> String {
    // Equal replications differ only by rounding errors.
    let half = |high: f64| {
        if (high - regret.mean).abs() <= 1e-12 * regret.mean.abs() {
            0.0
        } else {
            high - regret.mean
        }
    };
    match regret.high95.map(half).filter(|half| half.is_finite()) {
        Some(half) => format!("{} ± {}", as_known(regret.mean, half), as_known(half, half)),
        None => finite(regret.mean, figure),
    }
}

/// A number rounded to two digits of its uncertainty.
fn as_known(number: f64, uncertainty: f64) -> String {
    let places = uncertainty.log10().floor();
    if (-6.0..=5.0).contains(&places) && number.abs() < 1e7 {
        Precision::Decimals((1.0 - places).max(0.0) as usize).amount(number)
    } else {
        figure(number)
    }
}

/// The learner with the least regret, and whether its interval is separate from the others.
pub(super) fn verdict(learners: &[LearnerSeries<'_>]) -> Option<Element> {
    let best = learners
        .iter()
        .min_by(|one, other| one.result.regret.mean.total_cmp(&other.result.regret.mean))?;
    if learners.len() < 2 || !best.result.regret.mean.is_finite() {
        return None;
    }
    let high = best.result.regret.high95?;
    let unclear: Vec<&str> = learners
        .iter()
        .filter(|learner| {
            learner.position != best.position
                && learner.result.regret.low95.is_some_and(|low| low <= high)
        })
        .map(|learner| learner.name.as_str())
        .collect();
    let clear = if unclear.is_empty() {
        "no other interval overlaps with its own".to_owned()
    } else {
        format!("these intervals overlap with its own: {}", unclear.join(", "))
    };
    let paragraph = Element::new("p")
        .class("verdict")
        .text("Least mean regret: ")
        .child(Element::new("strong").text(&best.name));
    Some(paragraph.text(&format!(", {}; {clear}.", mean_with_interval(&best.result.regret))))
}

const QUANTILES: &str = "10–90\u{a0}%";

type Column = (&'static str, fn(&Summary, &LearnerSeries<'_>) -> String);

const COLUMNS: [Column; 8] = [
    ("feedback", |_, learner| learner.result.feedback.as_str().to_owned()),
    ("mean regret ± 95 %", |_, learner| mean_with_interval(&learner.result.regret)),
    ("median", |_, learner| finite(learner.result.regret.median, figure)),
    (QUANTILES, |_, learner| {
        let regret = &learner.result.regret;
        format!("{} to {}", finite(regret.q10, figure), finite(regret.q90, figure))
    }),
    ("share of the best earned", |summary, learner| {
        let best = summary.optimum.value * summary.horizon as f64;
        share(best - learner.result.regret.mean, best)
    }),
    ("regret ÷ the even split’s", |summary, learner| {
        share(learner.result.regret.mean, summary.uniform_regret_per_round * summary.horizon as f64)
    }),
    ("oracle gap", |_, learner| gap_words(learner.result.oracle_gap)),
    ("pending", |_, learner| finite(learner.result.pending, figure)),
];

/// One row per learner.
pub(super) fn results(summary: &Summary, learners: &[LearnerSeries<'_>]) -> Element {
    let late = learners.iter().any(|learner| learner.result.pending > 0.0);
    let several = learners.iter().any(|learner| learner.result.replications.len() > 1);
    let says_something = |name: &str| match name {
        "pending" => late,
        "median" | QUANTILES => several,
        _ => true,
    };
    let columns: Vec<&Column> = COLUMNS.iter().filter(|(name, _)| says_something(name)).collect();
    let class = |name: &str| if name == "feedback" { "word" } else { "number" };
    let head = columns.iter().map(|(name, _)| Element::new("th").class(class(name)).text(name));
    let head =
        Element::new("tr").child(Element::new("th").class("word").text("learner")).children(head);
    let row = |learner: &LearnerSeries<'_>| {
        let name =
            Element::new("th").class("word").child(sample(learner.position)).text(&learner.name);
        let cells = columns.iter().map(|(name, text)| {
            Element::new("td").class(class(name)).text(&text(summary, learner))
        });
        Element::new("tr").child(name).children(cells)
    };
    let body = Element::new("tbody").children(learners.iter().map(row));
    Element::new("div")
        .class("scroll")
        .child(Element::new("table").child(Element::new("thead").child(head)).child(body))
}

fn share(part: f64, whole: f64) -> String {
    if whole > 0.0 { finite(part / whole, percent) } else { NONE.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_show_the_digits_that_are_known() {
        let text = |mean: f64, half: Option<f64>| {
            let std_error = None;
            let regret = Statistics {
                mean,
                std_error,
                low95: half.map(|half| mean - half),
                high95: half.map(|half| mean + half),
                median: mean,
                q10: mean,
                q90: mean,
            };
            mean_with_interval(&regret)
        };
        assert_eq!(text(170.94, Some(11.55)), "171 ± 12");
        assert_eq!(text(11.7, Some(0.811)), "11.70 ± 0.81");
        assert_eq!(text(1_139.2, Some(84.97)), "1,139 ± 85");
        assert_eq!(text(2.5, Some(0.0)), "2.500 ± 0");
        assert_eq!(text(2.5, None), "2.500");
        assert_eq!(text(f64::NAN, None), "–");
        assert_eq!(text(3e12, Some(1e11)), "3e12 ± 1e11");
    }
}
