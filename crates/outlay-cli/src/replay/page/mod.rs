//! The page of a replay: what learners made of the record, and how far the record is from the
//! model.

mod gains;
mod record;

use crate::number::{figure, gap, percent, plain};
use crate::page::{Figure, document};
use crate::picture::Element;
use crate::simulation_report::{mean_with_interval, sample};

use super::Replayed;
use super::findings::{findings, losses};

/// The whole page; `command` is what gives the same results.
pub(super) fn page(replayed: &Replayed, command: &str) -> String {
    let figures = |figures: Vec<Figure>| {
        Element::new("div").class("figures").children(figures.iter().map(Figure::element))
    };
    let sentences = |sentences: Vec<String>| {
        sentences.into_iter().map(|sentence| Element::new("p").class("verdict").text(&sentence))
    };
    let played = Element::new("section")
        .child(Element::new("h2").text("What learners made of it"))
        .child(facts(replayed))
        .child(results(replayed))
        .children(sentences(losses(&replayed.summary)))
        .child(figures(gains::figures(replayed)));
    let seen = Element::new("section")
        .child(Element::new("h2").text("How far the record is from the model"))
        .children(sentences(findings(&replayed.record, &replayed.assumptions)))
        .child(figures(record::figures(replayed)));
    document(&format!("Replay of {}", replayed.runs), command, None, vec![played, seen])
}

fn facts(replayed: &Replayed) -> Element {
    let summary = &replayed.summary;
    let splits = &summary.splits;
    let facts = [
        ("rows", plain(replayed.record.len() as f64)),
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

/// One row a learner.
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
