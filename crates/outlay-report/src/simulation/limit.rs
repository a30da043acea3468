//! Regret added per decade of rounds, next to the information limit.

use outlay::simulation::{DecadePoint, Summary};

use crate::number::figure;
use crate::page::{Figure, LineChart, with_intervals};
use crate::svg::{Axis, Colour, Entry, Scale, Stroke, Swatch};

use super::series::LearnerSeries;

/// The lower end of the logarithmic axis, relative to the largest number.
const SPAN: f64 = 1e4;

/// The figure, if the limit is known and a run is long enough.
pub(super) fn figure_of(summary: &Summary, learners: &[LearnerSeries<'_>]) -> Option<Figure> {
    let limit = summary.limit_per_decade.filter(|limit| *limit > 0.0)?;
    let decades = || learners.iter().flat_map(|learner| &learner.result.decades);
    let across = Scale::over_positive(decades().map(|decade| decade.round as f64), f64::INFINITY)?;
    let ends = decades().flat_map(|decade| [decade.low95, decade.high95]).flatten();
    let (_, high) = with_intervals(decades().map(|decade| decade.mean), ends)?;
    let numbers = decades().map(|decade| decade.mean).chain([limit, high]);
    let up = Axis::new(Scale::over_positive(numbers, SPAN)?.padded(0.05), "regret per decade");
    let mut entries: Vec<Entry> = learners.iter().map(LearnerSeries::entry).collect();
    let reference = Stroke { colour: Colour::Muted, width: 1.6, dash: "6 3" };
    entries.push(Entry {
        name: "information limit".to_owned(),
        swatch: Swatch::Line(reference),
        series: None,
    });
    let across = across.padded(0.05);
    let mut lines = LineChart::new(&entries, Axis::new(across, "last round of the decade"), up);
    let level = [(across.low, limit), (across.high, limit)];
    let line = lines.frame().line(&level, reference, "information limit");
    lines.draw(line);
    for learner in learners {
        let decades = &learner.result.decades;
        let band: Vec<_> = decades.iter().filter_map(interval).collect();
        let band = lines.frame().band(&band, learner.stroke().colour, 0.2);
        lines.draw_for(learner.position, band);
        let points: Vec<_> =
            decades.iter().map(|decade| (decade.round as f64, decade.mean)).collect();
        let line = lines.frame().line(&points, learner.stroke(), &learner.name);
        lines.draw_for(learner.position, line);
    }
    let heading = "Regret per tenfold number of rounds";
    let caption = format!(
        "In the long run no learner adds less than the information limit, {} per decade. Last \
         decade, in multiples of the limit: {}.",
        figure(limit),
        multiples(learners, limit)
    );
    Some(Figure::half(heading, "regret-per-decade", lines.picture(heading), caption))
}

fn interval(decade: &DecadePoint) -> Option<(f64, f64, f64)> {
    Some((decade.round as f64, decade.low95?, decade.high95?))
}

/// The last decade of each learner in multiples of the limit.
fn multiples(learners: &[LearnerSeries<'_>], limit: f64) -> String {
    let of = |learner: &LearnerSeries<'_>| {
        let last = learner.result.decades.last()?;
        Some(format!("{} {}", learner.name, figure(last.mean / limit)))
    };
    learners.iter().filter_map(of).collect::<Vec<_>>().join(", ")
}
