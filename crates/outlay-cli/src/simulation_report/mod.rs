//! The report of a simulation: one page of HTML that needs nothing else, and its pictures as files.

mod cast;
mod completions;
mod grid;
mod growth;
mod headline;
mod regret;
mod shares;
mod spread;
#[cfg(test)]
mod synthetic;
#[cfg(test)]
mod tests;

use outlay::simulation::Summary;

use crate::page::{Figure, document, file_name};
use crate::picture::Element;

use cast::Cast;
pub(crate) use headline::mean_with_interval;
pub(crate) use regret::sample;

/// What is written of a simulation.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Page {
    /// The whole page.
    pub(crate) html: String,
    /// Each picture with the name of its file.
    pub(crate) pictures: Vec<(String, String)>,
}

/// The page of all problems that were played; `command` is what was typed.
pub(crate) fn page(title: &str, command: &str, summaries: &[Summary]) -> Page {
    let cast = Cast::of(summaries);
    let mut pictures = Vec::new();
    let mut sections = Vec::new();
    for (place, grid) in grid::grids(summaries).iter().enumerate() {
        let figure =
            grid.figure(&cast, &format!("grid-{}-{}", place + 1, file_name(grid.parameter())));
        keep(&mut pictures, "", &figure);
        let heading = Element::new("h2").text(&grid.heading());
        let figures =
            Element::new("div").class("figures").child(figure.element()).child(grid.table(&cast));
        sections.push(Element::new("section").child(heading).child(figures));
    }
    for (place, summary) in summaries.iter().enumerate() {
        let figures = figures(summary, &cast);
        let prefix = if summaries.len() > 1 {
            format!("{}-{}-", place + 1, file_name(&headline::heading(summary)))
        } else {
            String::new()
        };
        for figure in &figures {
            keep(&mut pictures, &prefix, figure);
        }
        sections.push(section(place, summary, &cast, &figures));
    }
    let html = document(title, command, contents(summaries), sections);
    Page { html, pictures }
}

/// The pictures of one problem.
fn figures(summary: &Summary, cast: &Cast) -> Vec<Figure> {
    let players = cast.players(summary);
    let mut figures = regret::figures(&players, summary.horizon);
    figures.extend(growth::figures(&players, summary.tasks.len()));
    figures.push(spread::figure(&players));
    figures.push(shares::figure(summary, &players));
    figures.push(completions::figure(summary, &players));
    figures
}

fn section(place: usize, summary: &Summary, cast: &Cast, figures: &[Figure]) -> Element {
    let players = cast.players(summary);
    let section = Element::new("section").attribute("id", anchor(place));
    let section = section
        .child(Element::new("h2").text(&headline::heading(summary)))
        .child(headline::facts(summary));
    if players.is_empty() {
        return section.child(Element::new("p").text("No learner played."));
    }
    section
        .child(headline::results(summary, &players))
        .children(headline::verdict(&players))
        .child(Element::new("div").class("figures").children(figures.iter().map(Figure::element)))
}

fn anchor(place: usize) -> String {
    format!("problem-{}", place + 1)
}

/// Links to the problems, if there are several.
fn contents(summaries: &[Summary]) -> Option<Element> {
    let link = |(place, summary): (usize, &Summary)| {
        let link = Element::new("a")
            .attribute("href", format!("#{}", anchor(place)))
            .text(&headline::heading(summary));
        Element::new("li").child(link)
    };
    let links = Element::new("ol").children(summaries.iter().enumerate().map(link));
    (summaries.len() > 1)
        .then(|| Element::new("nav").attribute("aria-label", "Problems").child(links))
}

fn keep(pictures: &mut Vec<(String, String)>, prefix: &str, figure: &Figure) {
    if let Some(picture) = &figure.picture {
        pictures.push((format!("{prefix}{}.svg", figure.file), picture.file()));
    }
}
