//! Distribution of the final regret over the replications.

use outlay::simulation::Statistics;

use crate::page::{Figure, HALF};
use crate::svg::{
    Area, Axis, Colour, Element, Frame, Picture, Scale, Stroke, dot, extent, rectangle, segment,
};

use super::series::LearnerSeries;

const HEADING: &str = "Spread of the final regret";
/// Largest number of dots.
const MAX_DOTS: usize = 200;
/// Ranges wider than this factor get a logarithmic axis.
const WIDE: f64 = 20.0;

pub(super) fn figure(learners: &[LearnerSeries<'_>]) -> Figure {
    let regrets = || {
        learners.iter().flat_map(|learner| {
            learner.result.replications.iter().map(|replication| replication.regret)
        })
    };
    let statistics = || {
        learners
            .iter()
            .map(|learner| &learner.result.regret)
            .flat_map(|regret| [Some(regret.mean), regret.low95, regret.high95])
    };
    let Some((low, high)) = extent(regrets().chain(statistics().flatten())) else {
        return Figure::missing(HEADING, "There are no replications.");
    };
    let logarithmic = low > 0.0 && high / low > WIDE;
    let scale = if logarithmic {
        Scale::logarithmic(low, high)
    } else {
        Scale::linear(low.min(0.0), high.max(0.0))
    };
    let row = if learners.len() > 6 { 30.0 } else { 44.0 };
    let height = row * learners.len() as f64 + 45.0;
    let title = if logarithmic {
        "regret at the end (rewards, logarithmic)"
    } else {
        "regret at the end (rewards)"
    };
    let names = learners.iter().map(|learner| learner.name.clone()).collect();
    let outer = Area { left: 0.0, top: 0.0, width: HALF, height };
    let frame = Frame::new(outer, Axis::new(scale.padded(0.04), title), Axis::rows(names));
    let rows =
        learners.iter().enumerate().map(|(place, learner)| drawn(&frame, place, row, learner));
    let content: Vec<_> = std::iter::once(frame.axes()).chain(rows).collect();
    Figure::half(
        HEADING,
        "final-regret",
        Picture::new(HALF, height, HEADING, content),
        caption(learners),
    )
}

/// A bar with its marks above, the replications as dots below.
fn drawn(frame: &Frame, place: usize, row: f64, learner: &LearnerSeries<'_>) -> Element {
    let colour = learner.stroke().colour;
    let Some(top) = frame.y(place as f64) else { return Element::group() };
    let mut group = Element::group();
    if learner.result.replications.len() > 1 {
        group = group.children(middle(
            frame,
            &learner.result.regret,
            (top + 0.12 * row, 0.26 * row),
            colour,
        ));
    }
    let regrets = thinned(learner);
    let (dots_top, dots_height) = (top + 0.5 * row, 0.36 * row);
    if let [regret] = regrets[..] {
        return group.children(frame.x(regret).map(|x| dot((x, top + 0.5 * row), 4.0, colour)));
    }
    // One group with a common colour, because there may be thousands of dots.
    let mut dots = Element::group().fill(colour).number("fill-opacity", 0.55);
    for (position, &regret) in regrets.iter().enumerate() {
        let Some(x) = frame.x(regret) else { continue };
        // Multiples of the golden ratio scatter the dots deterministically.
        let scatter = (position as f64 * 0.618_033_988_75).fract();
        dots = dots.child(
            Element::new("circle")
                .number("cx", x)
                .number("cy", dots_top + dots_height * scatter)
                .number("r", 2.2),
        );
    }
    group.child(dots)
}

/// The middle 80 %, the median, and the mean with its interval.
fn middle(
    frame: &Frame,
    regret: &Statistics,
    (top, height): (f64, f64),
    colour: Colour,
) -> Vec<Element> {
    let centre = top + 0.5 * height;
    let mut marks = Vec::new();
    if let (Some(left), Some(right)) = (frame.x(regret.q10), frame.x(regret.q90)) {
        marks.push(
            rectangle(Area { left, top, width: (right - left).max(1.0), height }, colour)
                .number("fill-opacity", 0.35),
        );
    }
    if let Some(x) = frame.x(regret.median) {
        marks.push(segment((x, top - 1.0), (x, top + height + 1.0), Stroke::plain(colour, 2.5)));
    }
    if let (Some(low), Some(high)) =
        (regret.low95.and_then(|low| frame.x(low)), regret.high95.and_then(|high| frame.x(high)))
    {
        marks.push(segment((low, centre), (high, centre), Stroke::plain(Colour::Ink, 1.4)));
    }
    marks.extend(frame.x(regret.mean).map(|x| dot((x, centre), 3.0, Colour::Ink)));
    marks
}

/// All regrets, sorted; of many, evenly spaced ones with the first and the last.
fn thinned(learner: &LearnerSeries<'_>) -> Vec<f64> {
    let mut regrets: Vec<f64> = learner
        .result
        .replications
        .iter()
        .map(|replication| replication.regret)
        .filter(|regret| regret.is_finite())
        .collect();
    regrets.sort_unstable_by(f64::total_cmp);
    if regrets.len() <= MAX_DOTS {
        return regrets;
    }
    (0..MAX_DOTS).map(|position| regrets[position * (regrets.len() - 1) / (MAX_DOTS - 1)]).collect()
}

fn caption(learners: &[LearnerSeries<'_>]) -> String {
    let most = learners.iter().map(|learner| learner.result.replications.len()).max().unwrap_or(0);
    let dots = if most > MAX_DOTS {
        format!("Dots are {MAX_DOTS} of the {most} replications, evenly spaced by rank")
    } else {
        "A dot is a replication".to_owned()
    };
    let marks = "; bar: the middle 80 %, coloured line: the median, round mark: the mean with its 95 % interval";
    format!("{dots}{}.", if most > 1 { marks } else { "" })
}
