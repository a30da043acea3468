//! Maximum likelihood by damped Fisher scoring within limits, and by golden-section search along a
//! kink of the curve.

use super::likelihood::Objective;
use super::model::{MAX_COORDINATES, Point};

/// The result of a search.
#[derive(Debug, Clone, Copy)]
pub(super) struct Maximum {
    pub(super) at: Point,
    pub(super) value: f64,
}

/// The limit on the number of steps; a search takes five to twenty.
const MAX_STEPS: usize = 100;
/// A relative gain below this is rounding error.
const MIN_RELATIVE_GAIN: f64 = 1e-14;
/// Beyond this damping, steps are too short to help.
const MAX_DAMPING: f64 = 1e10;

/// Maximises the likelihood from `start` over the `free` coordinates until no step predicts a
/// relative gain.
pub(super) fn fisher_scoring(
    likelihood: &impl Objective,
    start: Point,
    free: [bool; MAX_COORDINATES],
) -> Maximum {
    let mut at = likelihood.within(start);
    let mut terms = likelihood.terms(&at);
    let mut damping = 1e-4;
    let mut is_converged = false;
    for _ in 0..MAX_STEPS {
        let movable = movable(likelihood, &at, &terms.gradient, free);
        if is_converged
            || damping > MAX_DAMPING
            || !movable.contains(&true)
            || !terms.value.is_finite()
        {
            break;
        }
        let step = step(&terms.information, &terms.gradient, movable, damping);
        let next =
            likelihood.within(std::array::from_fn(|coordinate| at[coordinate] + step[coordinate]));
        // The gain predicted by the quadratic model. The last step is still taken.
        let predicted: f64 = (0..MAX_COORDINATES)
            .map(|coordinate| {
                0.5 * terms.gradient[coordinate] * (next[coordinate] - at[coordinate])
            })
            .sum();
        is_converged = predicted <= MIN_RELATIVE_GAIN * (1.0 + terms.value.abs());
        let tried = likelihood.terms(&next);
        if tried.value > terms.value {
            (at, terms) = (next, tried);
            damping = f64::max(damping * 0.1, 1e-12);
        } else {
            damping = f64::max(damping, 1e-6) * 10.0;
        }
    }
    Maximum { at, value: terms.value }
}

/// The coordinates that may move: not those at a limit that the gradient would cross.
fn movable(
    likelihood: &impl Objective,
    at: &Point,
    gradient: &Point,
    free: [bool; MAX_COORDINATES],
) -> [bool; MAX_COORDINATES] {
    std::array::from_fn(|coordinate| {
        let (low, high) = likelihood.limits()[coordinate];
        let slope = gradient[coordinate];
        free[coordinate]
            && slope != 0.0
            && !(at[coordinate] <= low && slope < 0.0)
            && !(at[coordinate] >= high && slope > 0.0)
    })
}

/// Solves (information + damping · its diagonal) step = gradient over the movable coordinates.
fn step(
    information: &[[f64; MAX_COORDINATES]; MAX_COORDINATES],
    gradient: &Point,
    movable: [bool; MAX_COORDINATES],
    damping: f64,
) -> Point {
    let mut matrix = *information;
    let mut right = *gradient;
    for one in 0..MAX_COORDINATES {
        if !movable[one] {
            matrix[one] = [0.0; MAX_COORDINATES];
            (0..MAX_COORDINATES).for_each(|other| matrix[other][one] = 0.0);
            (matrix[one][one], right[one]) = (1.0, 0.0);
        }
        matrix[one][one] += damping * matrix[one][one] + f64::MIN_POSITIVE;
    }
    solve(matrix, right)
}

/// Gaussian elimination with pivoting. Coordinates without influence stay at zero.
pub(super) fn solve(
    mut matrix: [[f64; MAX_COORDINATES]; MAX_COORDINATES],
    mut right: Point,
) -> Point {
    for column in 0..MAX_COORDINATES {
        let pivot = (column..MAX_COORDINATES)
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
        for row in column + 1..MAX_COORDINATES {
            let factor = matrix[row][column] / lead;
            let source = matrix[column];
            matrix[row].iter_mut().zip(source).for_each(|(cell, other)| *cell -= factor * other);
            right[row] -= factor * right[column];
        }
    }
    let mut solution = [0.0; MAX_COORDINATES];
    for row in (0..MAX_COORDINATES).rev() {
        let known: f64 =
            (row + 1..MAX_COORDINATES).map(|column| matrix[row][column] * solution[column]).sum();
        let value = (right[row] - known) / matrix[row][row];
        solution[row] = if value.is_finite() { value } else { 0.0 };
    }
    solution
}

/// Fisher scoring. If the curve has a kink among the spends, where the gradient is not reliable,
/// the kink is searched separately.
pub(super) fn maximize(
    likelihood: &impl Objective,
    start: Point,
    free: [bool; MAX_COORDINATES],
) -> Maximum {
    let reached = fisher_scoring(likelihood, start, free);
    // Spends are multiples of the largest, so its logarithm is zero.
    let kink = likelihood.kink().filter(|&kink| free[kink] && reached.at[kink] < 0.0);
    let polished = kink.map_or(reached, |kink| along_kink(likelihood, reached, free, kink));
    if polished.value > reached.value { polished } else { reached }
}

/// Golden-section search along the kink. The other coordinates are maximised for each position.
fn along_kink(
    likelihood: &impl Objective,
    from: Maximum,
    mut free: [bool; MAX_COORDINATES],
    kink: usize,
) -> Maximum {
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    const SEARCH_RADIUS: f64 = 0.05;
    const TOLERANCE: f64 = 1e-8;
    free[kink] = false;
    let mut warm = from.at;
    let mut measured = |position: f64| {
        warm[kink] = position;
        let found = fisher_scoring(likelihood, warm, free);
        if found.value.is_finite() {
            warm = found.at;
        }
        found
    };
    let (least, most) = likelihood.limits()[kink];
    let (mut low, mut high) =
        ((from.at[kink] - SEARCH_RADIUS).max(least), (from.at[kink] + SEARCH_RADIUS).min(most));
    let mut trials = (high - GOLDEN * (high - low), low + GOLDEN * (high - low));
    let (mut left, mut right) = (measured(trials.0), measured(trials.1));
    while high - low > TOLERANCE {
        if left.value >= right.value {
            (high, trials.1, right) = (trials.1, trials.0, left);
            trials.0 = high - GOLDEN * (high - low);
            left = measured(trials.0);
        } else {
            (low, trials.0, left) = (trials.0, trials.1, right);
            trials.1 = low + GOLDEN * (high - low);
            right = measured(trials.1);
        }
    }
    if left.value >= right.value { left } else { right }
}
