//! Regret against the parameter of a grid.

use std::collections::BTreeSet;

use outlay::simulation::{Statistics, Summary};

use crate::number::plain;
use crate::page::{Figure, LineChart};
use crate::svg::{Axis, Colour, Element, Entry, Scale, Stroke, Swatch, dot, extent, segment};

use super::headline::mean_with_interval;
use super::regret::sample;
use super::series::SeriesIndex;

/// Ranges wider than this factor get a logarithmic axis.
const DECADE: f64 = 10.0;

/// Problems that differ by one parameter.
pub(super) struct Grid<'summary> {
    parameter: &'summary str,
    /// The problem, if several grids share a parameter.
    problem: Option<&'summary str>,
    /// Sorted by the parameter.
    members: Vec<(f64, &'summary Summary)>,
}

/// The grids among the summaries, in the order they come.
pub(super) fn grids(summaries: &[Summary]) -> Vec<Grid<'_>> {
    let mut grids: Vec<Grid<'_>> = Vec::new();
    for name in in_order(
        summaries.iter().filter_map(|summary| Some(summary.parameter.as_ref()?.0.as_str())),
    ) {
        let members: Vec<(f64, &Summary)> = summaries
            .iter()
            .filter_map(|summary| {
                Some((
                    summary
                        .parameter
                        .as_ref()
                        .filter(|(other, number)| other == name && number.is_finite())?
                        .1,
                    summary,
                ))
            })
            .collect();
        let distinct: BTreeSet<u64> = members.iter().map(|(number, _)| number.to_bits()).collect();
        if distinct.len() == members.len() {
            grids.push(Grid { parameter: name, problem: None, members });
            continue;
        }
        for problem in in_order(members.iter().map(|(_, summary)| summary.problem.as_str())) {
            let members =
                members.iter().filter(|(_, summary)| summary.problem == problem).copied().collect();
            grids.push(Grid { parameter: name, problem: Some(problem), members });
        }
    }
    grids.retain(|grid| grid.members.len() > 1);
    for grid in &mut grids {
        grid.members.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    }
    grids
}

fn in_order<'text>(names: impl Iterator<Item = &'text str>) -> Vec<&'text str> {
    let mut seen = BTreeSet::new();
    names.filter(|name| seen.insert(*name)).collect()
}

impl Grid<'_> {
    /// For the name of its file.
    pub(super) fn parameter(&self) -> &str {
        self.parameter
    }

    pub(super) fn heading(&self) -> String {
        match self.problem {
            Some(problem) => format!("{problem}: grid over {}", self.parameter),
            None => format!("Grid over {}", self.parameter),
        }
    }

    /// The final regret of the learner at a position, with the parameter.
    fn results(&self, series_index: &SeriesIndex, position: usize) -> Vec<(f64, Statistics)> {
        let of_member = |&(number, summary): &(f64, &Summary)| {
            let learner = series_index
                .learners(summary)
                .into_iter()
                .find(|learner| learner.position == position)?;
            Some((number, learner.result.regret))
        };
        self.members.iter().filter_map(of_member).collect()
    }

    pub(super) fn figure(&self, series_index: &SeriesIndex, file: &str) -> Figure {
        const HEADING: &str = "Final regret over the grid";
        let results: Vec<(usize, Vec<(f64, Statistics)>)> = (0..series_index.names().len())
            .map(|position| (position, self.results(series_index, position)))
            .filter(|(_, results)| !results.is_empty())
            .collect();
        let statistics =
            || results.iter().flat_map(|(_, results)| results).map(|(_, regret)| regret);
        let regrets = statistics()
            .flat_map(|regret| [Some(regret.mean), regret.low95, regret.high95])
            .flatten();
        let parameters = scale(self.members.iter().map(|(number, _)| *number), false);
        let (Some(across), Some(up)) = (parameters, scale(regrets, true)) else {
            return Figure::missing(HEADING, "There is no regret to show.");
        };
        let axes = match (across.logarithmic, up.logarithmic) {
            (true, true) => {
                "Both axes are logarithmic: a straight line is a power of the parameter."
            }
            (false, true) => "The vertical axis is logarithmic.",
            (_, false) => "The vertical axis is linear.",
        };
        let series = |position: usize| Entry {
            name: series_index.names()[position].clone(),
            swatch: Swatch::Line(Stroke::series(position)),
            series: Some(position),
        };
        let entries: Vec<Entry> = results.iter().map(|&(position, _)| series(position)).collect();
        let mut lines = LineChart::new(
            &entries,
            Axis::new(across, self.parameter),
            Axis::new(up, "regret at the end (rewards)"),
        );
        for (position, results) in &results {
            let drawn = drawn(&lines, *position, results, &series_index.names()[*position]);
            lines.draw(drawn);
        }
        let caption = format!(
            "Mean regret at the horizon for each value of {}, with 95 % intervals as vertical bars. {axes}",
            self.parameter
        );
        Figure::half(HEADING, file, lines.picture("Final regret against the parameter"), caption)
    }

    /// The numbers of the figure, one row per learner.
    pub(super) fn table(&self, series_index: &SeriesIndex) -> Element {
        let cell = |kind: &'static str, text: &str| Element::new(kind).class("number").text(text);
        let name = |text: &str| Element::new("th").class("word").text(text);
        let head = self.members.iter().map(|(number, _)| cell("th", &plain(*number)));
        let head = Element::new("tr").child(name(&format!("{} =", self.parameter))).children(head);
        let mut body = Element::new("tbody");
        for (position, learner) in series_index.names().iter().enumerate() {
            let results = self.results(series_index, position);
            if results.is_empty() {
                continue;
            }
            let result = |wanted: f64| results.iter().find(|(number, _)| *number == wanted);
            let text = |wanted: f64| {
                result(wanted).map_or("–".to_owned(), |(_, regret)| mean_with_interval(regret))
            };
            let cells = self.members.iter().map(|(number, _)| cell("td", &text(*number)));
            let label = Element::new("th").class("word").child(sample(position)).text(learner);
            body = body.child(Element::new("tr").child(label).children(cells));
        }
        let caption = Element::new("caption").text("Mean regret at the horizon ± 95 %");
        let table = Element::new("table")
            .child(caption)
            .child(Element::new("thead").child(head))
            .child(body);
        Element::new("div").class("scroll").child(table)
    }
}

/// Logarithmic for wide positive ranges, else linear; from zero if requested.
fn scale(numbers: impl Iterator<Item = f64>, from_zero: bool) -> Option<Scale> {
    let (low, high) = extent(numbers)?;
    if low > 0.0 && high / low > DECADE {
        return Some(Scale::logarithmic(low, high).padded(0.03));
    }
    let (low, high) = if from_zero { (low.min(0.0), high.max(0.0)) } else { (low, high) };
    Some(Scale::linear(low, high).padded(0.04))
}

fn drawn(lines: &LineChart, position: usize, results: &[(f64, Statistics)], name: &str) -> Element {
    let frame = lines.frame();
    let colour = Colour::Series(position);
    let points: Vec<_> = results.iter().map(|(number, regret)| (*number, regret.mean)).collect();
    let mut group = Element::group().attribute("data-learner", position.to_string());
    for (number, regret) in results {
        let ends = (
            regret.low95.and_then(|low| frame.at(*number, low)),
            regret.high95.and_then(|high| frame.at(*number, high)),
        );
        if let (Some(low), Some(high)) = ends {
            group = group.child(segment(low, high, Stroke::plain(colour, 1.2)));
            let cap = |(x, y): (f64, f64)| {
                segment((x - 3.0, y), (x + 3.0, y), Stroke::plain(colour, 1.2))
            };
            group = group.children([cap(low), cap(high)]);
        }
        group = group.children(frame.at(*number, regret.mean).map(|place| dot(place, 2.4, colour)));
    }
    group.child(frame.line(&points, Stroke::series(position), name))
}
