//! Growth of the regret: normalised by the rates of the theorems, and as a power of the rounds.

use outlay::simulation::CurvePoint;

use crate::page::{Figure, LineChart, with_intervals};
use crate::svg::{Axis, Colour, Element, Entry, Scale, Stroke, Swatch, extent};

use super::series::{LearnerSeries, rounds};

/// Half width of the window of a slope, as a factor: a quarter of a decade to either side.
const HALF_WINDOW: f64 = 1.778_279_410_038_922_8;
/// Slopes beyond these are noise.
const STEEPEST: (f64, f64) = (-1.0, 2.0);

pub(super) fn figures(learners: &[LearnerSeries<'_>], tasks: usize) -> Vec<Figure> {
    let by_logarithm = Divisor {
        heading: "Regret ÷ log² T",
        file: "regret-by-log-squared",
        title: "regret ÷ log² T (rewards)",
        caption: "Flat means that regret grows like the squared logarithm of the rounds; falling means more slowly, rising faster.",
        divisor: &|round| round.ln().powi(2),
    };
    let by_root = Divisor {
        heading: "Regret ÷ (K √T)",
        file: "regret-by-root",
        title: "regret ÷ (K √T) (rewards)",
        caption: "Flat means that regret grows like the square root of the rounds T; K is the number of tasks.",
        divisor: &|round| tasks.max(1) as f64 * round.sqrt(),
    };
    vec![divided(learners, &by_logarithm), divided(learners, &by_root), exponents(learners)]
}

/// A normalisation of the regret.
struct Divisor<'a> {
    heading: &'static str,
    file: &'static str,
    title: &'static str,
    caption: &'static str,
    divisor: &'a dyn Fn(f64) -> f64,
}

fn divided(learners: &[LearnerSeries<'_>], by: &Divisor<'_>) -> Figure {
    let ratios: Vec<Vec<Ratio>> =
        learners.iter().map(|learner| ratios(learner, by.divisor)).collect();
    let all = || ratios.iter().flatten();
    let across = Scale::over_positive(all().map(|ratio| ratio.round), f64::INFINITY);
    let (Some(across), Some(up)) = (across, scale(&ratios)) else {
        return Figure::missing(by.heading, "Growth is defined from the second round on.");
    };
    let up = Axis::new(up, by.title);
    let entries: Vec<Entry> = learners.iter().map(LearnerSeries::entry).collect();
    let mut lines = LineChart::new(&entries, Axis::new(across, "rounds T").whole(), up);
    for (learner, ratios) in learners.iter().zip(&ratios) {
        let interval: Vec<_> = ratios
            .iter()
            .filter_map(|ratio| Some((ratio.round, ratio.low95?, ratio.high95?)))
            .collect();
        let band = lines.frame().band(&interval, learner.stroke().colour, 0.2);
        lines.draw_for(learner.position, band);
    }
    for (learner, ratios) in learners.iter().zip(&ratios) {
        let points: Vec<_> = ratios.iter().map(|ratio| (ratio.round, ratio.mean)).collect();
        let line = lines.frame().line(&points, learner.stroke(), &learner.name);
        lines.draw_for(learner.position, line);
    }
    Figure::half(by.heading, by.file, lines.picture(by.heading), by.caption)
}

/// Logarithmic if one learner is much worse than the others.
fn scale(ratios: &[Vec<Ratio>]) -> Option<Scale> {
    const FAR_APART: f64 = 10.0;
    let means = || ratios.iter().flatten().map(|ratio| ratio.mean);
    let intervals = ratios.iter().flatten().flat_map(|ratio| [ratio.low95, ratio.high95]).flatten();
    let (low, high) = with_intervals(means(), intervals)?;
    let ends = extent(ratios.iter().filter_map(|ratios| ratios.last()).map(|ratio| ratio.mean));
    if ends.is_some_and(|(least, most)| least > 0.0 && most / least > FAR_APART) {
        return Some(Scale::over_positive(means(), 1e4)?.padded(0.03));
    }
    Some(Scale::linear(low.min(0.0), high.max(0.0)).padded(0.04))
}

struct Ratio {
    round: f64,
    mean: f64,
    low95: Option<f64>,
    high95: Option<f64>,
}

fn ratios(learner: &LearnerSeries<'_>, divisor: &dyn Fn(f64) -> f64) -> Vec<Ratio> {
    // The logarithm of the first round is zero.
    let later = learner.result.curve.iter().filter(|point| point.round >= 2);
    let ratio = |point: &CurvePoint| {
        let divisor = divisor(point.round as f64);
        let interval = |end: Option<f64>| end.map(|end| end / divisor);
        Ratio {
            round: point.round as f64,
            mean: point.mean / divisor,
            low95: interval(point.low95),
            high95: interval(point.high95),
        }
    };
    later.map(ratio).collect()
}

fn exponents(learners: &[LearnerSeries<'_>]) -> Figure {
    const HEADING: &str = "Growth exponent";
    let slopes: Vec<Vec<(f64, f64)>> =
        learners.iter().map(|learner| slopes(&learner.result.curve)).collect();
    let fitted = slopes
        .iter()
        .flatten()
        .map(|&(_, slope)| slope)
        .filter(|slope| (STEEPEST.0..=STEEPEST.1).contains(slope));
    let (Some(across), Some((low, high))) = (rounds(learners), extent(fitted)) else {
        return Figure::missing(
            HEADING,
            "There are too few rounds with positive regret to fit a power to.",
        );
    };
    let up =
        Axis::new(Scale::linear(low.min(0.0), high.max(1.0)).padded(0.04), "d log R ÷ d log T");
    let mut entries: Vec<Entry> = learners.iter().map(LearnerSeries::entry).collect();
    let reference = Stroke { colour: Colour::Muted, width: 1.3, dash: "1.5 3" };
    entries.push(Entry {
        name: "for comparison: log² T, √T, T".to_owned(),
        swatch: Swatch::Line(reference),
        series: None,
    });
    let mut lines = LineChart::new(&entries, Axis::new(across, "rounds T").whole(), up);
    let comparison = comparison(&lines, across, reference);
    lines.draw(comparison);
    for (learner, slopes) in learners.iter().zip(&slopes) {
        let line = lines.frame().line(slopes, learner.stroke(), &learner.name);
        lines.draw_for(learner.position, line);
    }
    let caption = "The exponent of T with which regret R grows around T, fitted over half a decade: \
                   1 is no learning, ½ the square root, towards 0 logarithmic or less.";
    Figure::half(
        HEADING,
        "growth-exponent",
        lines.picture("Exponent of the growth of regret"),
        caption,
    )
}

/// The slopes of T, of √T and of log² T.
fn comparison(lines: &LineChart, across: Scale, stroke: Stroke) -> Element {
    let level = |slope: f64, name: &str| {
        lines.frame().line(&[(across.low, slope), (across.high, slope)], stroke, name)
    };
    let steps =
        (0..=60).map(|step| across.low * (across.high / across.low).powf(f64::from(step) / 60.0));
    // The derivative of 2 log log T; before e² it is above the slope of T.
    let squared_logarithm: Vec<_> = steps
        .filter(|&round| round >= 1.0_f64.exp().powi(2))
        .map(|round| (round, 2.0 / round.ln()))
        .collect();
    Element::group().children([
        level(1.0, "T"),
        level(0.5, "√T"),
        lines.frame().line(&squared_logarithm, stroke, "log² T"),
    ])
}

/// The slope of log R over log T around each point that has a full window around it.
fn slopes(curve: &[CurvePoint]) -> Vec<(f64, f64)> {
    let points: Vec<(f64, f64)> = curve
        .iter()
        .filter(|point| point.round > 0 && point.mean > 0.0 && point.mean.is_finite())
        .map(|point| ((point.round as f64).ln(), point.mean.ln()))
        .collect();
    let (Some(&(first, _)), Some(&(last, _))) = (points.first(), points.last()) else {
        return Vec::new();
    };
    let half = HALF_WINDOW.ln();
    let inside =
        points.iter().filter(|(at, _)| *at - half >= first - 1e-9 && *at + half <= last + 1e-9);
    let slope = |&(centre, _): &(f64, f64)| {
        let window = points.iter().filter(|(at, _)| (at - centre).abs() <= half + 1e-9);
        Some((centre.exp(), fitted_slope(&window.copied().collect::<Vec<_>>())?))
    };
    inside.filter_map(slope).collect()
}

/// Slope by least squares; none if the points are too close to each other.
fn fitted_slope(points: &[(f64, f64)]) -> Option<f64> {
    const NARROWEST: f64 = 0.3;
    let (low, high) = extent(points.iter().map(|&(at, _)| at))?;
    if high - low < NARROWEST {
        return None;
    }
    let count = points.len() as f64;
    let mean_at = points.iter().map(|&(at, _)| at).sum::<f64>() / count;
    let mean_number = points.iter().map(|&(_, number)| number).sum::<f64>() / count;
    let products: f64 =
        points.iter().map(|&(at, number)| (at - mean_at) * (number - mean_number)).sum();
    let squares: f64 = points.iter().map(|&(at, _)| (at - mean_at).powi(2)).sum();
    Some(products / squares)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(regret: impl Fn(f64) -> f64) -> Vec<CurvePoint> {
        let rounds = (0..=40).map(|step| 10_f64.powf(f64::from(step) / 10.0).round() as u64);
        let point = |round: u64| {
            let mean = regret(round as f64);
            CurvePoint { round, mean, low95: None, high95: None, q10: mean, q90: mean }
        };
        rounds.map(point).collect()
    }

    #[test]
    fn slopes_of_powers_are_their_powers() {
        for power in [0.5, 1.0, 1.5] {
            let slopes = slopes(&curve(|round| 3.0 * round.powf(power)));
            assert!(slopes.len() > 10);
            assert!(slopes.iter().all(|&(_, slope)| (slope - power).abs() < 1e-9), "{slopes:?}");
        }
    }

    #[test]
    fn slopes_skip_nonpositive_numbers() {
        assert!(slopes(&curve(|_| 0.0)).is_empty());
        let slopes = slopes(&curve(|round| if round < 100.0 { -1.0 } else { round }));
        assert!(
            slopes.iter().all(|&(round, slope)| round > 170.0 && (slope - 1.0).abs() < 1e-9),
            "{slopes:?}"
        );
    }
}
