//! Users' functions, which are known only by evaluation.
//!
//! Between two evaluated spends a nondecreasing function lies between its two values, and a
//! declared shape narrows this further. The solver runs on the *upper* limits, so its bound holds
//! for the functions themselves; its solution is then valued with the functions. Cells around the
//! solution are refined until bound and value meet.
//!
//! Values are taken to be accurate to [`CUSTOM_ACCURACY`]: the bound holds for functions that have
//! their declared shape up to that.

use super::domain::Form;
use super::prepared::PreparedProblem;
use super::{AllocationError, Options, Oracle, Outcome};
use crate::curve::{CUSTOM_ACCURACY, Custom, DeclaredShape, Family};

/// The evaluated points of all users' functions.
#[derive(Debug)]
pub(super) struct BlackBoxes {
    curves: Vec<SampledCurve>,
    /// The best solution found, by the functions themselves.
    best: Vec<f64>,
}

/// The evaluated points of one function, kept between calls.
#[derive(Debug)]
struct SampledCurve {
    domain: usize,
    custom: Custom,
    spend: Vec<f64>,
    success: Vec<f64>,
    evaluations: u64,
}

/// The number of cells at the start.
const INITIAL_CELLS: usize = 32;
/// Rounds of refinement: each halves the cells in use, so more would be below rounding.
const MAX_ROUNDS: usize = 60;
/// The relative gap to which the first rounds solve their limits.
const FIRST_TOLERANCE: f64 = 1e-2;
/// The chords on each side of a cell that bound a concave function in it.
const CHORDS: usize = 12;
/// Rounding of the user's arithmetic, up to which a declared shape may be violated.
const SHAPE_ROUNDING: f64 = 1e-12;

impl BlackBoxes {
    pub(super) fn new(prepared: &PreparedProblem) -> Self {
        let mut curves = Vec::new();
        for (position, domain) in prepared.domains.iter().enumerate() {
            if let Some(Family::Custom(custom)) =
                prepared.curves.get(domain.task).map(crate::Curve::family)
            {
                let curve = SampledCurve {
                    domain: position,
                    custom: Custom::clone(custom),
                    spend: Vec::new(),
                    success: Vec::new(),
                    evaluations: 0,
                };
                curves.push(curve);
            }
        }
        Self { curves, best: Vec::new() }
    }

    pub(super) fn is_needed(&self) -> bool {
        !self.curves.is_empty()
    }

    fn evaluations(&self) -> u64 {
        self.curves.iter().map(|curve| curve.evaluations).sum()
    }
}

impl Oracle {
    /// Solves, values and refines until bound and value meet or the evaluations are used up.
    pub(super) fn refine(&mut self, options: &Options) -> Result<Outcome, AllocationError> {
        let before = self.black_boxes.evaluations();
        for curve in &mut self.black_boxes.curves {
            let position = curve.domain;
            curve.cover(self.prepared.low[position], self.prepared.high[position]);
        }
        let mut answer = Outcome {
            value: f64::NEG_INFINITY,
            bound: f64::INFINITY,
            multiplier: 0.0,
            node_multiplier: 0.0,
            price: 0.0,
            left: None,
            nodes: 0,
            labels: 0,
        };
        let mut tolerance = FIRST_TOLERANCE.max(options.tolerance);
        for _ in 0..MAX_ROUNDS {
            // Early rounds need not solve the limits to the last digit.
            let inner = Options {
                tolerance: 0.5 * tolerance,
                max_nodes: options.max_nodes.saturating_sub(answer.nodes),
                ..*options
            };
            self.rebuild(Limit::Upper)?;
            let upper = self.search(&inner);
            self.last_multiplier = Some(upper.multiplier);
            let value = self.true_value(upper.value);
            self.record(&mut answer, upper, value);
            answer.bound = answer.bound.min(upper.bound);
            (answer.multiplier, answer.price) = (upper.multiplier, upper.price);
            let (gap, scale) = (answer.bound - answer.value, answer.value + self.prepared.constant);
            let cuts = self.find_cuts(upper.node_multiplier, gap, options.tolerance * scale);
            // A solution on the upper limits may stop just short of every jump; one on the lower
            // limits cannot.
            self.rebuild(Limit::Lower)?;
            let lower = self.search(&inner);
            let value = self.true_value(lower.value);
            self.record(&mut answer, lower, value);
            let (gap, scale) = (answer.bound - answer.value, answer.value + self.prepared.constant);
            let evaluations_left =
                options.max_evaluations.saturating_sub(self.black_boxes.evaluations() - before);
            if gap <= options.tolerance * scale
                || evaluations_left == 0
                || answer.nodes >= options.max_nodes
            {
                break;
            }
            // If the functions are known well enough, only the solver can be made more accurate.
            let least = options.tolerance;
            if cuts.is_empty() && tolerance <= least {
                break;
            }
            tolerance = if cuts.is_empty() { 0.25 * tolerance } else { gap / scale };
            tolerance = tolerance.clamp(least, FIRST_TOLERANCE.max(least));
            for (curve, spend) in cuts.into_iter().take(evaluations_left as usize) {
                self.black_boxes.curves[curve].evaluate(spend);
            }
        }
        self.best.clone_from(&self.black_boxes.best);
        Ok(answer)
    }

    /// Adds the work of a search, and records its solution if it is the best.
    fn record(&mut self, answer: &mut Outcome, outcome: Outcome, value: f64) {
        answer.nodes += outcome.nodes;
        answer.labels += outcome.labels;
        if value > answer.value {
            answer.value = value;
            self.black_boxes.best.clone_from(&self.best);
        }
    }

    /// The points to evaluate next: midpoints of cells around the solution in `best` that may
    /// contain a better one.
    fn find_cuts(&self, multiplier: f64, gap: f64, abs_gap: f64) -> Vec<(usize, f64)> {
        // Each function may stay uncertain by its share of the allowed gap.
        let small = 0.25 * abs_gap / self.black_boxes.curves.len() as f64;
        let mut cuts = Vec::new();
        for (position, curve) in self.black_boxes.curves.iter().enumerate() {
            let weight = self.prepared.weights[curve.domain];
            let spend = self.best[self.prepared.domains[curve.domain].task];
            curve.cells_to_refine(weight, multiplier, spend, gap, small, |cut| {
                cuts.push((position, cut))
            });
        }
        cuts
    }

    /// Replaces the functions by their limits.
    fn rebuild(&mut self, limit: Limit) -> Result<(), AllocationError> {
        for curve in &self.black_boxes.curves {
            let position = curve.domain;
            let task = self.prepared.domains[position].task;
            curve.check(self.prepared.name(task))?;
            curve.write_limit(limit, &mut self.prepared.domains[position].form);
            let (low, high) = (self.prepared.low[position], self.prepared.high[position]);
            self.prepared.envelopes[position].build(&self.prepared.domains[position], low, high);
        }
        Ok(())
    }

    /// The value, by the functions themselves, of the solution in `best` with the value `limited`
    /// by the limits.
    fn true_value(&mut self, limited: f64) -> f64 {
        let mut value = limited;
        for curve in &mut self.black_boxes.curves {
            let domain = &self.prepared.domains[curve.domain];
            let spend = self.best[domain.task];
            value += self.prepared.weights[curve.domain]
                * (curve.evaluate(spend) - domain.form.success(spend));
        }
        value
    }
}

/// The side from which a search sees the functions.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Limit {
    Upper,
    Lower,
}

impl SampledCurve {
    /// The function at a spend; cached.
    fn evaluate(&mut self, spend: f64) -> f64 {
        let index = self.spend.partition_point(|&point| point < spend);
        if self.spend.get(index) == Some(&spend) {
            return self.success[index];
        }
        let success = self.custom.success(spend);
        self.evaluations += 1;
        self.spend.insert(index, spend);
        self.success.insert(index, success);
        success
    }

    /// Evaluates the ends of the interval and, the first time, points in between.
    fn cover(&mut self, low: f64, high: f64) {
        self.evaluate(0.0);
        if self.spend.len() == 1 {
            for cell in 1..INITIAL_CELLS {
                self.evaluate(low + (high - low) * cell as f64 / INITIAL_CELLS as f64);
            }
        }
        self.evaluate(low);
        self.evaluate(high);
    }

    /// Offers the midpoints of the cells around `spend` whose best point by the upper limit has a
    /// reduced cost below `gap`, and whose two values differ by more than `small`.
    fn cells_to_refine(
        &self,
        weight: f64,
        multiplier: f64,
        spend: f64,
        gap: f64,
        small: f64,
        mut offer: impl FnMut(f64),
    ) {
        let cells = self.spend.len() - 1;
        let start = self.spend.partition_point(|&point| point <= spend).clamp(1, cells) - 1;
        let surplus = |cell: usize| {
            let (spend, success) = self.peak(cell);
            weight * success - multiplier * spend
        };
        let enough = surplus(start) - gap;
        let mut consider = |cell: usize| {
            let (from, to) = (self.spend[cell], self.spend[cell + 1]);
            let middle = from + 0.5 * (to - from);
            let uncertainty = weight * (self.success[cell + 1] - self.success[cell]);
            if uncertainty > small && middle > from && middle < to {
                offer(middle);
            }
            surplus(cell) >= enough
        };
        for cell in start..cells {
            if !consider(cell) {
                break;
            }
        }
        for cell in (0..start).rev() {
            if !consider(cell) {
                break;
            }
        }
    }

    /// The best point of a cell by the upper limit.
    fn peak(&self, cell: usize) -> (f64, f64) {
        let (from, to) = (self.spend[cell], self.spend[cell + 1]);
        let (low, high) = (self.success[cell], self.success[cell + 1]);
        match self.custom.shape() {
            DeclaredShape::Monotone => (from, high),
            DeclaredShape::Lipschitz(constant) => ((from + (high - low) / constant).min(to), high),
            DeclaredShape::Concave => self.concave_peak(cell),
        }
    }

    /// Checks the values against the declared shape.
    fn check(&self, task: &str) -> Result<(), AllocationError> {
        let slope = |cell: usize| {
            (self.success[cell + 1] - self.success[cell])
                / (self.spend[cell + 1] - self.spend[cell])
        };
        for cell in 0..self.spend.len() - 1 {
            let (low, high) = (self.success[cell], self.success[cell + 1]);
            if high < low - SHAPE_ROUNDING {
                let at = self.spend[cell + 1];
                return Err(AllocationError::Decreasing {
                    task: task.to_owned(),
                    at,
                    low: high,
                    high: low,
                });
            }
            let width = self.spend[cell + 1] - self.spend[cell];
            let broken = match self.custom.shape() {
                DeclaredShape::Lipschitz(constant) => {
                    high - low > constant * width + SHAPE_ROUNDING
                }
                DeclaredShape::Concave => {
                    cell > 0 && {
                        // The distance of the point between the two cells from the chord over both.
                        let before = self.spend[cell] - self.spend[cell - 1];
                        (slope(cell) - slope(cell - 1)) * (width * before / (width + before))
                            > SHAPE_ROUNDING
                    }
                }
                DeclaredShape::Monotone => false,
            };
            if broken {
                let (from, to) = (self.spend[cell], self.spend[cell + 1]);
                return Err(AllocationError::NotAsDeclared {
                    task: task.to_owned(),
                    shape: self.custom.shape(),
                    from,
                    to,
                });
            }
        }
        Ok(())
    }

    /// Writes the limit as points.
    fn write_limit(&self, limit: Limit, form: &mut Form) {
        let Form::Points { spend, success, linear } = form else { return };
        let shape = self.custom.shape();
        // Chords of a concave function lie below it; otherwise only the last value is certain.
        *linear = if limit == Limit::Upper {
            shape != DeclaredShape::Monotone
        } else {
            shape == DeclaredShape::Concave
        };
        spend.clear();
        success.clear();
        if limit == Limit::Lower {
            spend.extend_from_slice(&self.spend);
            success.extend_from_slice(&self.success);
            return;
        }
        let mut add = |at: f64, height: f64| {
            // The limits hold, and are nondecreasing, in spite of rounding.
            let height = (height + accuracy(height)).max(success.last().copied().unwrap_or(0.0));
            match spend.last() {
                Some(&last) if at <= last => {
                    if let Some(top) = success.last_mut() {
                        *top = height;
                    }
                }
                _ => {
                    spend.push(at);
                    success.push(height);
                }
            }
        };
        let last = self.spend.len() - 1;
        for cell in 0..last {
            let (from, low, high) = (self.spend[cell], self.success[cell], self.success[cell + 1]);
            let (at, height) = self.peak(cell);
            match shape {
                DeclaredShape::Monotone => add(from, high),
                DeclaredShape::Lipschitz(_) | DeclaredShape::Concave => {
                    add(from, if at <= from { height } else { low });
                    add(at, height);
                }
            }
        }
        add(self.spend[last], self.success[last]);
    }

    /// The intersection of neighbouring chords, extended into the cell: a concave function stays
    /// below both, up to the accuracy of its values.
    fn concave_peak(&self, cell: usize) -> (f64, f64) {
        let (from, to) = (self.spend[cell], self.spend[cell + 1]);
        let (low, high) = (self.success[cell], self.success[cell + 1]);
        let right = self.slope_after(cell + 1);
        let Some(left) = self.slope_before(cell) else {
            // Nothing to the left: extend the right chord over the whole cell.
            return (from, (high - right * (to - from)).clamp(low, high));
        };
        if !(left > right) {
            // The cell is too short for its slope to be known.
            return (from, high);
        }
        let at = (from + (high - low - right * (to - from)) / (left - right)).clamp(from, to);
        (at, (low + left * (at - from)).min(high))
    }

    /// The largest slope that the function can have after a point, by the chords before it; none
    /// for the first point. A near point gives the smaller slope, a distant one the more accurate.
    fn slope_before(&self, point: usize) -> Option<f64> {
        let slope = |other: usize| {
            (self.success[point] - self.success[other] + 2.0 * accuracy(self.success[point]))
                / (self.spend[point] - self.spend[other])
        };
        (0..point).rev().take(CHORDS).map(slope).reduce(f64::min)
    }

    /// The smallest slope that the function can have before a point, by the chords after it.
    fn slope_after(&self, point: usize) -> f64 {
        let slope = |other: usize| {
            (self.success[other] - self.success[point] - 2.0 * accuracy(self.success[other]))
                / (self.spend[other] - self.spend[point])
        };
        (point + 1..self.spend.len()).take(CHORDS).map(slope).fold(0.0, f64::max)
    }
}

/// The error that a user's function may have at a value.
fn accuracy(success: f64) -> f64 {
    CUSTOM_ACCURACY * success
}
