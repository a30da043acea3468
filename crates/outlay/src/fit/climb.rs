//! The search for the most likely point: damped Fisher scoring within limits, and a search of its
//! own for corners.

use super::likelihood::Likelihood;
use super::model::{MOST, Point};

/// Where a search ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct Peak {
    pub(super) at: Point,
    pub(super) value: f64,
}

/// Steps of the damped search; it needs five to twenty.
const MOST_STEPS: usize = 100;
/// A relative gain below this is rounding.
const NO_GAIN: f64 = 1e-14;
/// Steps shorter than this lead nowhere.
const MOST_DAMPING: f64 = 1e10;

/// Climbs from `start` along the `free` coordinates until no step promises a relative gain.
pub(super) fn climb(likelihood: &Likelihood, start: Point, free: [bool; MOST]) -> Peak {
    let mut at = likelihood.within(start);
    let mut terms = likelihood.terms(&at);
    let mut damping = 1e-4;
    let mut settled = false;
    for _ in 0..MOST_STEPS {
        let movable = movable(likelihood, &at, &terms.gradient, free);
        if settled || damping > MOST_DAMPING || !movable.contains(&true) || !terms.value.is_finite()
        {
            break;
        }
        let step = step(&terms.information, &terms.gradient, movable, damping);
        let next =
            likelihood.within(std::array::from_fn(|coordinate| at[coordinate] + step[coordinate]));
        // What is promised, if the likelihood were a parabola; the last step is still taken.
        let promised: f64 = (0..MOST)
            .map(|coordinate| {
                0.5 * terms.gradient[coordinate] * (next[coordinate] - at[coordinate])
            })
            .sum();
        settled = promised <= NO_GAIN * (1.0 + terms.value.abs());
        let tried = likelihood.terms(&next);
        if tried.value > terms.value {
            (at, terms) = (next, tried);
            damping = f64::max(damping * 0.1, 1e-12);
        } else {
            damping = f64::max(damping, 1e-6) * 10.0;
        }
    }
    Peak { at, value: terms.value }
}

/// Coordinates at a limit that the gradient would cross stay where they are.
fn movable(
    likelihood: &Likelihood,
    at: &Point,
    gradient: &Point,
    free: [bool; MOST],
) -> [bool; MOST] {
    std::array::from_fn(|coordinate| {
        let (low, high) = likelihood.limits[coordinate];
        let slope = gradient[coordinate];
        free[coordinate]
            && slope != 0.0
            && !(at[coordinate] <= low && slope < 0.0)
            && !(at[coordinate] >= high && slope > 0.0)
    })
}

/// Solves (information + damping · its diagonal) step = gradient over the movable coordinates.
fn step(
    information: &[[f64; MOST]; MOST],
    gradient: &Point,
    movable: [bool; MOST],
    damping: f64,
) -> Point {
    let mut matrix = *information;
    let mut right = *gradient;
    for one in 0..MOST {
        if !movable[one] {
            matrix[one] = [0.0; MOST];
            (0..MOST).for_each(|other| matrix[other][one] = 0.0);
            (matrix[one][one], right[one]) = (1.0, 0.0);
        }
        matrix[one][one] += damping * matrix[one][one] + f64::MIN_POSITIVE;
    }
    solve(matrix, right)
}

/// Gaussian elimination with pivots; coordinates that nothing depends on stay.
pub(super) fn solve(mut matrix: [[f64; MOST]; MOST], mut right: Point) -> Point {
    for column in 0..MOST {
        let pivot = (column..MOST)
            .max_by(|&one, &other| {
                matrix[one][column].abs().total_cmp(&matrix[other][column].abs())
            })
            .unwrap_or(column);
        matrix.swap(column, pivot);
        right.swap(column, pivot);
        let lead = matrix[column][column];
        if lead == 0.0 || !lead.is_finite() {
            continue;
        }
        for row in column + 1..MOST {
            let factor = matrix[row][column] / lead;
            let source = matrix[column];
            matrix[row].iter_mut().zip(source).for_each(|(cell, other)| *cell -= factor * other);
            right[row] -= factor * right[column];
        }
    }
    let mut solution = [0.0; MOST];
    for row in (0..MOST).rev() {
        let known: f64 = (row + 1..MOST).map(|column| matrix[row][column] * solution[column]).sum();
        let value = (right[row] - known) / matrix[row][row];
        solution[row] = if value.is_finite() { value } else { 0.0 };
    }
    solution
}

/// Climbs; if the curve has a corner among the spends, where the gradient leads nowhere, the corner
/// is searched for by itself.
pub(super) fn peak(likelihood: &Likelihood, start: Point, free: [bool; MOST]) -> Peak {
    let reached = climb(likelihood, start, free);
    // Spends are multiples of the largest, so its logarithm is zero.
    let corner =
        likelihood.model.shape.corner().filter(|&corner| free[corner] && reached.at[corner] < 0.0);
    let polished = corner.map_or(reached, |corner| with_corner(likelihood, reached, free, corner));
    if polished.value > reached.value { polished } else { reached }
}

/// Golden sections along the corner, the other coordinates at their best: with the corner held they
/// have a gradient.
fn with_corner(likelihood: &Likelihood, from: Peak, mut free: [bool; MOST], corner: usize) -> Peak {
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    const JUMP_TOLERANCE: f64 = 0.05;
    const ENOUGH: f64 = 1e-8;
    free[corner] = false;
    let mut warm = from.at;
    let mut measured = |place: f64| {
        warm[corner] = place;
        let found = climb(likelihood, warm, free);
        if found.value.is_finite() {
            warm = found.at;
        }
        found
    };
    let (least, most) = likelihood.limits[corner];
    let (mut low, mut high) = (
        (from.at[corner] - JUMP_TOLERANCE).max(least),
        (from.at[corner] + JUMP_TOLERANCE).min(most),
    );
    let mut places = (high - GOLDEN * (high - low), low + GOLDEN * (high - low));
    let (mut left, mut right) = (measured(places.0), measured(places.1));
    while high - low > ENOUGH {
        if left.value >= right.value {
            (high, places.1, right) = (places.1, places.0, left);
            places.0 = high - GOLDEN * (high - low);
            left = measured(places.0);
        } else {
            (low, places.0, left) = (places.0, places.1, right);
            places.1 = low + GOLDEN * (high - low);
            right = measured(places.1);
        }
    }
    if left.value >= right.value { left } else { right }
}
