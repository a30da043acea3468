//! A curve as a polyline: jumps are vertical, and marked points lie on the line.

use outlay::Curve;
use outlay::curve::Family;

/// The number of samples of a smooth curve; panels are about 300 pixels wide.
const SAMPLES: usize = 160;
/// Jumps closer than this share of the axis are drawn as one: less than a third of a pixel.
const FINEST: f64 = 0.001;
/// The largest increase of a smooth curve from point to point, unless the points are that close.
const HIGHEST_STEP: f64 = 0.03;
/// A curve is drawn up to this share of its height.
const DRAWN_SHARE: f64 = 0.98;

/// The jumps of a step curve.
pub(super) fn jumps(curve: &Curve) -> Option<Vec<f64>> {
    match curve.family() {
        Family::Threshold(threshold) => Some(vec![threshold.at()]),
        Family::Steps(steps) => Some(steps.at().to_vec()),
        Family::Empirical(empirical) => Some(empirical.at().to_vec()),
        _ => None,
    }
}

/// The kinks of a curve without jumps.
pub(super) fn kinks(curve: &Curve) -> Vec<f64> {
    match curve.family() {
        Family::Piecewise(piecewise) => {
            piecewise.spend().iter().copied().filter(|&spend| spend > 0.0).collect()
        }
        Family::Power(_) | Family::Saturating(_) => vec![curve.saturates_at()],
        _ => Vec::new(),
    }
}

/// The spend beyond which the curve hardly increases.
pub(super) fn reach(curve: &Curve) -> f64 {
    if curve.saturates_at().is_finite() {
        return curve.saturates_at();
    }
    let target = curve.floor() + DRAWN_SHARE * (curve.ceiling() - curve.floor());
    let (mut low, mut high) = (0.0, 1.0);
    // Units are arbitrary: the spend may be 1e-9 or 1e9.
    while curve.success(high) < target && high < 1e200 {
        (low, high) = (high, 4.0 * high);
    }
    for _ in 0..200 {
        let middle = if low > 0.0 { low.sqrt() * high.sqrt() } else { high / 4.0 };
        if high <= 1e-200 || (low > 0.0 && high / low < 1.01) {
            break;
        }
        if curve.success(middle) < target {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// The curve from spend 0 to `end`, through the marked points.
pub(super) fn trace(curve: &Curve, end: f64, marked: &[f64]) -> Vec<(f64, f64)> {
    match jumps(curve) {
        Some(jumps) => staircase(curve, end, &jumps),
        None => smooth(curve, end, marked),
    }
}

fn staircase(curve: &Curve, end: f64, jumps: &[f64]) -> Vec<(f64, f64)> {
    let mut height = curve.success(0.0);
    let mut points = vec![(0.0, height)];
    let mut inside = jumps.iter().copied().filter(|&at| at > 0.0 && at <= end).peekable();
    while let Some(at) = inside.next() {
        let mut top = curve.success(at);
        while let Some(next) = inside.next_if(|&next| next - at < FINEST * end) {
            top = curve.success(next);
        }
        points.extend([(at, height), (at, top)]);
        height = top;
    }
    points.push((end, height));
    points
}

fn smooth(curve: &Curve, end: f64, marked: &[f64]) -> Vec<(f64, f64)> {
    // Closer near zero, where power curves are steep.
    let samples = (0..=SAMPLES).map(|sample| end * (sample as f64 / SAMPLES as f64).powf(1.5));
    let exact = kinks(curve)
        .into_iter()
        .chain(marked.iter().copied())
        .filter(|spend| (0.0..=end).contains(spend));
    let mut spends: Vec<f64> = samples.chain(exact).collect();
    spends.sort_by(f64::total_cmp);
    spends.dedup();
    let mut points: Vec<(f64, f64)> = Vec::with_capacity(spends.len());
    for spend in spends {
        let point = (spend, curve.success(spend));
        if let Some(&last) = points.last() {
            between(curve, last, point, FINEST * end, &mut points);
        }
        points.push(point);
    }
    points
}

/// Adds points between two until further ones would be invisible: S-shaped curves may be as steep
/// as a jump.
fn between(
    curve: &Curve,
    from: (f64, f64),
    to: (f64, f64),
    finest: f64,
    points: &mut Vec<(f64, f64)>,
) {
    if to.0 - from.0 <= finest || to.1 - from.1 <= HIGHEST_STEP {
        return;
    }
    let middle = 0.5 * (from.0 + to.0);
    let middle = (middle, curve.success(middle));
    between(curve, from, middle, finest, points);
    points.push(middle);
    between(curve, middle, to, finest, points);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jumps_are_vertical() {
        let curve = Curve::steps(vec![10.0, 20.0, 90.0], vec![0.5, 0.8, 1.0])
            .unwrap()
            .with_floor(0.2)
            .unwrap();
        let expected =
            [(0.0, 0.2), (10.0, 0.2), (10.0, 0.6), (20.0, 0.6), (20.0, 0.84), (50.0, 0.84)];
        let drawn = trace(&curve, 50.0, &[20.0]);
        assert_eq!(drawn.len(), expected.len());
        for (one, other) in drawn.iter().zip(expected) {
            assert!(
                (one.0 - other.0).abs() < 1e-12 && (one.1 - other.1).abs() < 1e-12,
                "{drawn:?}"
            );
        }
        // A jump at zero is part of the value at zero spend.
        assert_eq!(trace(&Curve::threshold(0.0).unwrap(), 1.0, &[]), [(0.0, 1.0), (1.0, 1.0)]);
    }

    #[test]
    fn a_hundred_thousand_jumps_are_drawn_as_a_thousand() {
        let curve = Curve::empirical((0..100_000).map(f64::from).collect()).unwrap();
        let points = trace(&curve, 100_000.0, &[]);
        assert!(points.len() < 2_100, "{}", points.len());
        assert_eq!(points.last(), Some(&(100_000.0, 1.0)));
        assert!(points.windows(2).all(|pair| pair[0].0 <= pair[1].0 && pair[0].1 <= pair[1].1));
    }

    #[test]
    fn marked_points_lie_on_the_curve() {
        let curves = [
            Curve::hill(180.0, 3.0).unwrap().with_ceiling(0.9).unwrap(),
            Curve::power(0.5, 100.0).unwrap(),
            Curve::logistic(320.0, 0.01).unwrap(),
            Curve::piecewise(vec![0.0, 3.0, 150.0], vec![0.1, 0.6, 0.7]).unwrap(),
        ];
        for curve in curves {
            let points = trace(&curve, 400.0, &[123.456, 500.0]);
            assert!(points.contains(&(123.456, curve.success(123.456))), "{curve:?}");
            assert!(points.iter().all(|point| point.0 <= 400.0) && points.len() > SAMPLES);
            for kink in kinks(&curve) {
                assert!(points.iter().any(|point| point.0 == kink), "{curve:?} {kink}");
            }
        }
    }

    #[test]
    fn the_reach_is_where_the_rise_ends_in_any_unit() {
        for unit in [1e-9, 1.0, 1e12] {
            let reach_of = reach(&Curve::exponential(unit).unwrap()) / unit;
            assert!((3.9..4.1).contains(&reach_of), "{reach_of}");
            assert_eq!(reach(&Curve::threshold(unit).unwrap()), unit);
        }
        // A curve that never reaches its ceiling has a finite end, too.
        assert!(reach(&Curve::hill(1.0, 0.001).unwrap()).is_finite());
        assert!(reach(&Curve::exponential(1.0).unwrap().with_floor(1.0).unwrap()).is_finite());
    }
}
