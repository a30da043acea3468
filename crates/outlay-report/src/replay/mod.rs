//! The report of a replay: gain and regret of the learners, and tests of the model's assumptions.

mod findings;
mod gains;
mod holdout;
mod record;

pub use findings::{correlation, findings, holdout_words, losses, p_number};
pub use holdout::{Holdout, fit_remarks};

use outlay::Problem;
use outlay::replay::assumptions::TaskAssumptions;
use outlay::replay::{FixedSplit, Record, ReplaySummary, RowConditions};

use crate::number::{counted, figure, gap, percent, plain};
use crate::page::{Figure, document};
use crate::simulation::{mean_with_interval, sample};
use crate::svg::Element;

/// Results of a replay.
#[derive(Debug)]
pub struct Replayed {
    /// The problem with the assumed curves.
    pub problem: Problem,
    /// The recorded rows.
    pub record: Record,
    /// Name of the file with the rows.
    pub runs: String,
    /// Gain and regret of the learners and of fixed splits.
    pub summary: ReplaySummary,
    /// Tests of the model's assumptions, by task.
    pub assumptions: Vec<TaskAssumptions>,
    /// The plan from an earlier part of the rows, if they were divided.
    pub holdout: Option<Holdout>,
}

impl Replayed {
    /// The fixed splits with their names and the information that they use.
    pub fn fixed_splits(&self) -> Vec<(&'static str, &FixedSplit, &'static str)> {
        let splits = &self.summary.splits;
        let mut rows = vec![
            ("best in hindsight", &splits.best, "every row"),
            (
                "model's best, recorded curves",
                &splits.model_recorded,
                "success rates and mean rewards of the rows",
            ),
        ];
        match &self.holdout {
            Some(holdout) => {
                rows.push(("plan from the first part", &holdout.plan, "rows before the split"));
                rows.extend(holdout.current.as_ref().map(|current| {
                    ("mean spends of the first part", current, "what was spent before the split")
                }));
                rows.push((
                    "model's best, fitted curves",
                    &splits.model,
                    "curves of the first part, mean rewards of the second",
                ));
            }
            None => rows.push((
                "model's best, problem's curves",
                &splits.model,
                "the problem's curves, mean rewards of the rows",
            )),
        }
        rows.push(("even split", &splits.even, "nothing"));
        rows
    }
}

/// A remark if rewards of the rows were clipped; `earlier` is the number of those in rows that are not
/// replayed.
pub fn clipped_remark(problem: &Problem, record: &Record, earlier: u64) -> Option<String> {
    let clipped = record.clipped() + earlier;
    let rows = counted(clipped as usize, "row");
    let reward_max = plain(problem.reward_max());
    (clipped > 0).then(|| {
        format!("{rows} with a reward above reward_max, clipped to {reward_max} per completion")
    })
}

/// A remark if curves or volumes change from round to round.
pub fn conditions_remark(problem: &Problem, record: &Record) -> Option<String> {
    let has = |of: fn(&RowConditions) -> &Vec<f64>| {
        record.tasks().iter().any(|task| !of(task.conditions()).is_empty())
    };
    let what = match (has(|conditions| &conditions.scale), has(|conditions| &conditions.volume)) {
        (true, true) => "scale and volume of each round are those of a row",
        (true, false) => "the scale of each round is that of a row",
        (false, true) => "the volume of each round is that of a row",
        (false, false) => return None,
    };
    let known = if problem.environment().hide_scale {
        "only the best split in hindsight knows them (hide_scale)"
    } else {
        "learners and fixed splits know them, and the spends of fixed splits are means"
    };
    Some(format!("{what}: {known}; recorded amounts are shown at scale 1 and at the usual volume"))
}

/// The HTML of the report; `command` is the command line that repeats the replay.
pub fn page(replayed: &Replayed, command: &str) -> String {
    let figures = |figures: Vec<Figure>| {
        Element::new("div").class("figures").children(figures.iter().map(Figure::element))
    };
    let sentences = |sentences: Vec<String>| {
        sentences.into_iter().map(|sentence| Element::new("p").class("verdict").text(&sentence))
    };
    let played = Element::new("section")
        .child(Element::new("h2").text("Learners on the record"))
        .child(facts(replayed))
        .child(results(replayed))
        .children(sentences(remarks(replayed)))
        .children(sentences(holdout_words(replayed)))
        .children(sentences(losses(&replayed.summary)))
        .child(figures(gains::figures(replayed)));
    let seen = Element::new("section")
        .child(Element::new("h2").text("Tests of the model’s assumptions"))
        .children(sentences(findings(&replayed.record, &replayed.assumptions)))
        .child(figures(record::figures(replayed)));
    document(&format!("Replay of {}", replayed.runs), command, None, vec![played, seen])
}

/// Sentences on the conditions of the rounds and on clipped rewards, if there are any.
fn remarks(replayed: &Replayed) -> Vec<String> {
    let Replayed { problem, record, .. } = replayed;
    let remarks = [conditions_remark(problem, record), clipped_remark(problem, record, 0)];
    let sentence = |remark: String| {
        let mut letters = remark.chars();
        letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect::<String>()
            + "."
    };
    remarks.into_iter().flatten().map(sentence).collect()
}

fn facts(replayed: &Replayed) -> Element {
    let summary = &replayed.summary;
    let splits = &summary.splits;
    let facts = [
        ("rows", rows(replayed)),
        ("tasks", plain(summary.tasks.len() as f64)),
        ("rounds", plain(summary.rounds as f64)),
        ("replications", plain(summary.replications as f64)),
        (
            "best in hindsight",
            format!("{} per round (relative gap {})", figure(splits.best.gain), gap(splits.gap)),
        ),
        ("model’s best", format!("{} per round", figure(splits.model.gain))),
        ("even split", format!("{} per round", figure(splits.even.gain))),
    ];
    let fact = |(name, text): (&str, String)| {
        Element::new("div")
            .child(Element::new("dt").text(name))
            .child(Element::new("dd").text(&text))
    };
    Element::new("dl").class("facts").children(facts.into_iter().map(fact))
}

fn rows(replayed: &Replayed) -> String {
    match &replayed.holdout {
        Some(holdout) => format!(
            "{} fitted, {} replayed",
            plain(holdout.first_rows as f64),
            plain(holdout.second_rows as f64)
        ),
        None => plain(replayed.record.len() as f64),
    }
}

/// One row per learner.
fn results(replayed: &Replayed) -> Element {
    let best = replayed.summary.splits.best.gain;
    let of_best = |gain: f64| if best > 0.0 { percent(gain / best) } else { "–".to_owned() };
    let names = ["gain per round ± 95 %", "of the best", "in the last tenth", "regret ± 95 %"];
    let heads = names.map(|name| Element::new("th").class("number").text(name));
    let head =
        Element::new("tr").child(Element::new("th").class("word").text("learner")).children(heads);
    let row = |(position, learner): (usize, &outlay::replay::LearnerReplay)| {
        let cells = [
            mean_with_interval(&learner.gain),
            of_best(learner.gain.mean),
            of_best(learner.late_gain.mean),
            mean_with_interval(&learner.regret),
        ];
        let name = Element::new("th").class("word").child(sample(position)).text(&learner.learner);
        Element::new("tr")
            .child(name)
            .children(cells.map(|cell| Element::new("td").class("number").text(&cell)))
    };
    let body =
        Element::new("tbody").children(replayed.summary.learners.iter().enumerate().map(row));
    Element::new("div")
        .class("scroll")
        .child(Element::new("table").child(Element::new("thead").child(head)).child(body))
}
