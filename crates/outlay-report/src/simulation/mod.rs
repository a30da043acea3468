//! The report of a simulation: learners, their regret and their splits.

mod completions;
mod grid;
mod growth;
mod headline;
mod limit;
mod regret;
mod series;
mod shares;
mod spread;
#[cfg(test)]
mod synthetic;
#[cfg(test)]
mod tests;

use outlay::simulation::Summary;

use crate::page::{Figure, Page, document, file_name};
use crate::svg::Element;

pub use headline::mean_with_interval;
pub(crate) use regret::sample;
use series::SeriesIndex;

/// Makes the report of all simulated problems; `command` is the command line that repeats the run.
pub fn page(title: &str, command: &str, summaries: &[Summary]) -> Page {
    let series_index = SeriesIndex::of(summaries);
    let mut pictures = Vec::new();
    let mut sections = Vec::new();
    for (place, grid) in grid::grids(summaries).iter().enumerate() {
        let figure = grid
            .figure(&series_index, &format!("grid-{}-{}", place + 1, file_name(grid.parameter())));
        keep(&mut pictures, "", &figure);
        let heading = Element::new("h2").text(&grid.heading());
        let figures = Element::new("div")
            .class("figures")
            .child(figure.element())
            .child(grid.table(&series_index));
        sections.push(Element::new("section").child(heading).child(figures));
    }
    for (place, summary) in summaries.iter().enumerate() {
        let figures = figures(summary, &series_index);
        let prefix = if summaries.len() > 1 {
            format!("{}-{}-", place + 1, file_name(&headline::heading(summary)))
        } else {
            String::new()
        };
        for figure in &figures {
            keep(&mut pictures, &prefix, figure);
        }
        sections.push(section(place, summary, &series_index, &figures));
    }
    let html = document(title, command, contents(summaries), sections);
    Page { html, pictures }
}

/// The pictures of one problem.
fn figures(summary: &Summary, series_index: &SeriesIndex) -> Vec<Figure> {
    let learners = series_index.learners(summary);
    let mut figures = regret::figures(&learners, summary.horizon);
    figures.extend(growth::figures(&learners, summary.tasks.len()));
    figures.extend(limit::figure_of(summary, &learners));
    figures.push(spread::figure(&learners));
    figures.push(shares::figure(summary, &learners));
    figures.push(completions::figure(summary, &learners));
    figures
}

fn section(
    place: usize,
    summary: &Summary,
    series_index: &SeriesIndex,
    figures: &[Figure],
) -> Element {
    let learners = series_index.learners(summary);
    let section = Element::new("section").attribute("id", anchor(place));
    let section = section
        .child(Element::new("h2").text(&headline::heading(summary)))
        .child(headline::facts(summary));
    if learners.is_empty() {
        return section.child(Element::new("p").text("No learner played."));
    }
    section
        .child(headline::results(summary, &learners))
        .children(headline::verdict(&learners))
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
