//! A panel of a finding as a figure of the page.

use outlay::claims::{LineKind, Panel};

use crate::page::{Figure, LineChart};
use crate::svg::{Axis, Colour, Entry, Scale, Stroke, Swatch, dot, extent};

/// Largest number of measured points that are marked.
const MAX_DOTS: usize = 20;

/// The stroke of each line: measurements in colour, variants and predictions dashed in the colour
/// of the measurement before them, references in grey.
fn strokes(panel: &Panel) -> Vec<Stroke> {
    const VARIANTS: [&str; 3] = ["8 3", "2.5 2.5", "10 3 2.5 3"];
    const REFERENCES: [&str; 3] = ["1.5 3", "6 3", "9 3 2 3"];
    let (mut measured, mut variants, mut references) = (0_usize, 0, 0);
    let mut stroke = |kind: LineKind| match kind {
        LineKind::Measured => {
            (measured, variants) = (measured + 1, 0);
            Stroke { dash: "", ..Stroke::series(measured - 1) }
        }
        LineKind::Variant => {
            variants += 1;
            let dash = VARIANTS[(variants - 1) % VARIANTS.len()];
            Stroke { dash, ..Stroke::series(measured.saturating_sub(1)) }
        }
        LineKind::Predicted => {
            Stroke { dash: "5 3", width: 1.4, ..Stroke::series(measured.saturating_sub(1)) }
        }
        LineKind::Reference => {
            references += 1;
            let dash = REFERENCES[(references - 1) % REFERENCES.len()];
            Stroke { colour: Colour::Muted, width: 1.3, dash }
        }
    };
    panel.lines.iter().map(|line| stroke(line.kind)).collect()
}

/// The scale of an axis.
fn scale(numbers: impl Iterator<Item = f64> + Clone, logarithmic: bool) -> Option<Scale> {
    if logarithmic {
        return Some(Scale::over_positive(numbers, f64::INFINITY)?.padded(0.03));
    }
    let (low, high) = extent(numbers)?;
    Some(Scale::linear(low.min(0.0), high.max(0.0)).padded(0.04))
}

pub(super) fn figure(panel: &Panel, file: &str) -> Figure {
    let points = || panel.lines.iter().flat_map(|line| &line.points);
    let across = scale(points().map(|point| point.0), panel.across.logarithmic);
    let up = scale(points().map(|point| point.1), panel.up.logarithmic);
    let (Some(across), Some(up)) = (across, up) else {
        return Figure::missing(panel.heading, "There is nothing to draw: no number is positive.");
    };
    let strokes = strokes(panel);
    let named = panel.lines.iter().zip(&strokes).filter(|(line, _)| !line.points.is_empty());
    let is_drawn = |line: &outlay::claims::Line| {
        let is_on = |scale: &Scale, number: f64| scale.place(number).is_some();
        line.points.iter().any(|&(x, y)| is_on(&across, x) && is_on(&up, y))
    };
    let entry = |(line, stroke): (&outlay::claims::Line, &Stroke)| Entry {
        // A logarithmic axis has no zero.
        name: if is_drawn(line) {
            line.name.clone()
        } else {
            format!("{}: 0, not drawn", line.name)
        },
        swatch: Swatch::Line(*stroke),
        series: None,
    };
    let entries: Vec<Entry> = named.map(entry).collect();
    let axis = Axis::new(across, panel.across.title);
    let axis = if panel.across.logarithmic { axis.whole() } else { axis };
    let mut lines = LineChart::new(&entries, axis, Axis::new(up, panel.up.title));
    for (line, stroke) in panel.lines.iter().zip(&strokes) {
        let band = lines.frame().band(&line.intervals, stroke.colour, 0.2);
        lines.draw(band);
    }
    for (line, stroke) in panel.lines.iter().zip(&strokes) {
        let drawn = lines.frame().line(&line.points, *stroke, &line.name);
        lines.draw(drawn);
        let is_measured = matches!(line.kind, LineKind::Measured | LineKind::Variant);
        if is_measured && line.points.len() <= MAX_DOTS {
            let places: Vec<_> =
                line.points.iter().filter_map(|&(x, y)| lines.frame().at(x, y)).collect();
            places.into_iter().for_each(|place| lines.draw(dot(place, 2.6, stroke.colour)));
        }
    }
    Figure::half(panel.heading, file, lines.picture(panel.heading), panel.caption.clone())
}

#[cfg(test)]
mod tests {
    use outlay::claims::{Axis, Line};

    use super::*;

    fn line(name: &str, kind: LineKind, regret: f64) -> Line {
        Line {
            name: name.to_owned(),
            kind,
            points: vec![(1_000.0, regret), (10_000.0, regret)],
            intervals: Vec::new(),
        }
    }

    fn panel(lines: Vec<Line>) -> Panel {
        Panel {
            heading: "Regret",
            caption: String::new(),
            across: Axis { title: "T", logarithmic: true },
            up: Axis { title: "regret", logarithmic: true },
            lines,
        }
    }

    #[test]
    fn nine_lines_of_three_learners_are_distinguishable() {
        let kinds = [LineKind::Measured, LineKind::Variant, LineKind::Variant];
        let lines = kinds.iter().cycle().take(9).map(|&kind| line("a", kind, 1.0)).collect();
        let strokes = strokes(&panel(lines));
        for (position, stroke) in strokes.iter().enumerate() {
            assert_eq!(stroke.colour, Colour::Series(position / 3));
            assert!(!strokes[..position].contains(stroke), "{position}");
        }
    }

    #[test]
    fn the_legend_marks_lines_that_a_logarithmic_axis_cannot_show() {
        let lines =
            vec![line("some", LineKind::Measured, 3.0), line("none", LineKind::Measured, 0.0)];
        let svg = figure(&panel(lines), "regret").picture.unwrap().file();
        assert!(svg.contains(">some<"), "{svg}");
        assert!(svg.contains(">none: 0, not drawn<"), "{svg}");
    }
}
