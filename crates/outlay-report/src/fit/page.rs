//! The page of a fit.

use super::{CAUTION, TaskFit, p_value, parameters, warnings};
use crate::number::{figure, plain};
use crate::page::{Figure, LineChart, document, file_name};
use crate::svg::{
    Area, Axis, Colour, Element, Entry, Scale, Stroke, Swatch, dot, rectangle, segment,
};

/// Fitted curves of a log.
#[derive(Debug)]
pub struct FitPage<'a> {
    /// Name of the log.
    pub log: &'a str,
    /// The command line that makes the page.
    pub command: &'a str,
    /// Budget of one round.
    pub budget: f64,
    /// The tasks; those with a drawing are shown.
    pub tasks: &'a [TaskFit],
}

impl FitPage<'_> {
    /// The HTML of the page.
    pub fn html(&self) -> String {
        page(self)
    }
}

fn page(answer: &FitPage<'_>) -> String {
    let drawn: Vec<&TaskFit> = answer.tasks.iter().filter(|task| task.drawing.is_some()).collect();
    let hidden = answer.tasks.len() - drawn.len();
    let mut notes = vec![
        CAUTION.to_owned(),
        "Shaded: the range of spends in the log. Dashed: extrapolation, which depends on the \
         family alone. The band is a 95 % bootstrap confidence band. Dots are success rates in \
         bins of spend, with Wilson's intervals."
            .to_owned(),
    ];
    if hidden > 0 {
        notes.push(format!(
            "The {} tasks with the most trials are shown; {hidden} are not.",
            drawn.len()
        ));
    }
    let notes = notes.iter().map(|note| Element::new("p").text(note));
    let summary = Element::new("section").children(notes).child(table(&drawn, answer.budget));
    let figures = Element::new("div")
        .class("figures")
        .children(drawn.iter().map(|task| figure_of(task).element()));
    let curves = Element::new("section").child(Element::new("h2").text("Curves")).child(figures);
    let title = format!("Curves fitted to {}", answer.log);
    document(&title, answer.command, None, vec![summary, curves])
}

type Column = (&'static str, &'static str, fn(&TaskFit, f64) -> String);

/// The columns of the table; parameters are in the captions of the figures.
const COLUMNS: [Column; 8] = [
    ("trials", "number", |task, _| plain(task.log.data.trials())),
    ("successes", "number", |task, _| plain(task.log.data.successes())),
    ("family", "word", |task, _| {
        task.fitted.as_ref().map(|fitted| fitted.kind.to_string()).unwrap_or_default()
    }),
    ("log-loss", "number", |task, _| {
        number(task.fitted.as_ref().and_then(|fitted| fitted.log_loss))
    }),
    ("of a constant", "number", |task, _| {
        number(task.fitted.as_ref().and_then(|fitted| fitted.constant_log_loss))
    }),
    ("calibration", "number", |task, _| {
        task.fitted.as_ref().and_then(|fitted| fitted.calibration).map(p_value).unwrap_or_default()
    }),
    ("covers", "number", |task, budget| task.covers(budget)),
    ("value", "number", |task, _| task.value()),
];

fn number(number: Option<f64>) -> String {
    number.map(figure).unwrap_or_default()
}

fn table(tasks: &[&TaskFit], budget: f64) -> Element {
    let says_something =
        |column: &&Column| tasks.iter().any(|task| !(column.2)(task, budget).is_empty());
    let columns: Vec<&Column> = COLUMNS.iter().filter(says_something).collect();
    let head = columns.iter().map(|(name, class, _)| Element::new("th").class(*class).text(name));
    let head =
        Element::new("tr").child(Element::new("th").class("word").text("task")).children(head);
    let row = |task: &&TaskFit| {
        let cells = columns
            .iter()
            .map(|(_, class, text)| Element::new("td").class(*class).text(&text(task, budget)));
        Element::new("tr")
            .child(Element::new("th").class("word").text(&task.log.name))
            .children(cells)
    };
    let body = Element::new("tbody").children(tasks.iter().map(row));
    Element::new("div")
        .class("scroll")
        .child(Element::new("table").child(Element::new("thead").child(head)).child(body))
}

const CURVE: Stroke = Stroke { colour: Colour::Series(0), width: 1.8, dash: "" };
const BEYOND: Stroke = Stroke { colour: Colour::Series(0), width: 1.8, dash: "5 4" };

/// Opacity of the band.
const BAND: f64 = 0.18;

fn figure_of(task: &TaskFit) -> Figure {
    let (Some(fitted), Some(drawing)) = (&task.fitted, &task.drawing) else {
        return Figure::missing(&task.log.name, "The log has no rows of this task.");
    };
    let end = drawing.spends.last().copied().unwrap_or(1.0);
    let intervals = drawing
        .bins
        .iter()
        .map(|bin| bin.interval().1)
        .chain(drawing.band.iter().map(|interval| interval.high));
    let highest = intervals.chain(drawing.successes.iter().copied()).fold(0.05, f64::max);
    let across = Axis::new(Scale::linear(0.0, end), "spend");
    let up = Axis::new(Scale::linear(0.0, (1.05 * highest).min(1.0)), "success").percent();
    let mut lines = LineChart::new(&legend(task), across, up);
    let observed = task.log.data.observed_range().unwrap_or((0.0, 0.0));
    let plot = lines.frame().plot();
    if let (Some(left), Some(right)) =
        (lines.frame().x(observed.0.min(end)), lines.frame().x(observed.1.min(end)))
    {
        let shade = rectangle(Area { left, width: right - left, ..plot }, Colour::Muted)
            .number("fill-opacity", 0.07);
        lines.draw(shade);
    }
    let band: Vec<_> = drawing
        .spends
        .iter()
        .zip(&drawing.band)
        .map(|(&spend, interval)| (spend, interval.low, interval.high))
        .collect();
    let band = lines.frame().band(&band, Colour::Series(0), BAND);
    lines.draw(band);
    let points: Vec<(f64, f64)> =
        drawing.spends.iter().copied().zip(drawing.successes.iter().copied()).collect();
    for (stroke, piece) in pieces(&points, observed) {
        let line = lines.frame().line(&piece, stroke, &fitted.kind.to_string());
        lines.draw(line);
    }
    let data = data(&lines, task);
    lines.draw(data);
    let label = format!("Success against spend: {}", task.log.name);
    Figure::half(&task.log.name, &file_name(&task.log.name), lines.picture(&label), caption(task))
}

/// The curve: solid in the observed range, dashed outside it.
fn pieces(points: &[(f64, f64)], observed: (f64, f64)) -> Vec<(Stroke, Vec<(f64, f64)>)> {
    let first = points.partition_point(|&(spend, _)| spend < observed.0);
    let last = points.partition_point(|&(spend, _)| spend <= observed.1).max(first);
    // Adjacent pieces share a point, so that there is no gap.
    let piece = |stroke: Stroke, from: usize, to: usize| {
        (stroke, points[from.min(points.len())..to.min(points.len())].to_vec())
    };
    let all = [
        piece(BEYOND, 0, first + 1),
        piece(CURVE, first, last),
        piece(BEYOND, last.saturating_sub(1), points.len()),
    ];
    all.into_iter().filter(|(_, points)| points.len() > 1).collect()
}

/// Success rates in bins of spend, with their intervals.
fn data(lines: &LineChart, task: &TaskFit) -> Element {
    let ink = Stroke::plain(Colour::Ink, 1.0);
    let marks = task.drawing.iter().flat_map(|drawing| &drawing.bins).flat_map(|bin| {
        let (low, high) = bin.interval();
        let frame = lines.frame();
        let ends = frame
            .at(bin.spend, low)
            .zip(frame.at(bin.spend, high))
            .map(|(low, high)| segment(low, high, ink));
        ends.into_iter()
            .chain(frame.at(bin.spend, bin.share()).map(|place| dot(place, 2.8, Colour::Ink)))
    });
    Element::group().children(marks)
}

fn legend(task: &TaskFit) -> Vec<Entry> {
    let entry = |name: &str, swatch: Swatch| Entry { name: name.to_owned(), swatch, series: None };
    let name = task.fitted.as_ref().map(|fitted| fitted.kind.to_string()).unwrap_or_default();
    let mut entries = vec![entry(&name, Swatch::Line(CURVE))];
    let drawing = task.drawing.as_ref();
    if drawing.is_some_and(|drawing| !drawing.band.is_empty()) {
        entries.push(entry("95 % band", Swatch::Band(Colour::Series(0), BAND)));
    }
    if drawing.is_some_and(|drawing| !drawing.bins.is_empty()) {
        entries.push(entry("data in bins, 95 %", Swatch::Line(Stroke::plain(Colour::Ink, 1.0))));
    }
    let end = drawing.and_then(|drawing| drawing.spends.last().copied()).unwrap_or(0.0);
    if task.log.data.observed_range().is_some_and(|(from, to)| from > 0.0 || to < end) {
        entries.push(entry("extrapolation", Swatch::Line(BEYOND)));
    }
    entries
}

fn caption(task: &TaskFit) -> String {
    let Some(fitted) = &task.fitted else { return String::new() };
    let filled = |text: String| Some(text).filter(|text| !text.is_empty());
    let mut parts = Vec::new();
    parts.extend(filled(parameters(fitted)).map(|text| format!("Parameters, 95 %: {text}")));
    parts.extend(fitted.reason().map(|text| format!("Chosen: {text}")));
    parts.extend(filled(warnings(fitted)).map(|text| format!("Warning: {text}")));
    parts.iter().map(|part| format!("{part}.")).collect::<Vec<_>>().join(" ")
}
