//! Users' own functions: known at points, bounded in between, refined where it matters.
//!
//! Between two evaluated spends a nondecreasing function lies between its two values; a declared shape narrows that. The
//! search runs on the *upper* limits, so its bound holds for the function itself; the split it returns is then valued with
//! the function. Where the two differ, cells are cut, and the search runs again.

use super::coordinate::Form;
use super::model::Model;
use super::{AllocationError, Options, Oracle, Outcome};
use crate::curve::{Custom, DeclaredShape, Family};

/// The evaluated points of every user's function.
#[derive(Debug)]
pub(super) struct Refinement {
    grids: Vec<Grid>,
    /// The best split found, by the functions themselves.
    best: Vec<f64>,
}

/// The evaluated points of one function, kept between calls.
#[derive(Debug)]
struct Grid {
    coordinate: usize,
    custom: Custom,
    spend: Vec<f64>,
    success: Vec<f64>,
    evaluations: u64,
}

/// Cells at the start; a function that is smooth at this scale needs no luck to be found out.
const FIRST_CELLS: usize = 32;
/// Rounds of refinement: each at least halves the cells in use, so more would be below rounding.
const MAX_ROUNDS: usize = 400;
/// Declared shapes may be off by the rounding of the user's own arithmetic.
const SHAPE_ROUNDING: f64 = 1e-12;

impl Refinement {
    pub(super) fn new(model: &Model) -> Self {
        let mut grids = Vec::new();
        for (position, coordinate) in model.coordinates.iter().enumerate() {
            if let Some(Family::Custom(custom)) = model.curves.get(coordinate.task).map(crate::Curve::family) {
                let grid = Grid { coordinate: position, custom: custom.clone(), spend: Vec::new(), success: Vec::new(), evaluations: 0 };
                grids.push(grid);
            }
        }
        Self { grids, best: Vec::new() }
    }

    pub(super) fn is_needed(&self) -> bool {
        !self.grids.is_empty()
    }

    fn evaluations(&self) -> u64 {
        self.grids.iter().map(|grid| grid.evaluations).sum()
    }
}

impl Oracle {
    /// Searches, values, refines, until the bound and the value meet or the evaluations are used up.
    pub(super) fn refine(&mut self, options: &Options) -> Result<Outcome, AllocationError> {
        let inner = Options { tolerance: 0.25 * options.tolerance, ..*options };
        let before = self.refinement.evaluations();
        for grid in &mut self.refinement.grids {
            let position = grid.coordinate;
            grid.cover(self.model.low[position], self.model.high[position]);
        }
        let mut answer: Option<Outcome> = None;
        for _ in 0..MAX_ROUNDS {
            self.rebuild()?;
            let outcome = self.search(&inner);
            let (value, doubtful) = self.truth(outcome.value);
            let bound = answer.map_or(outcome.bound, |answer| answer.bound.min(outcome.bound));
            let improved = answer.is_none_or(|answer| value > answer.value);
            if improved {
                self.refinement.best.clone_from(&self.best);
            }
            let value = answer.filter(|_| !improved).map_or(value, |answer| answer.value);
            let nodes = outcome.nodes + answer.map_or(0, |answer| answer.nodes);
            let states = outcome.states + answer.map_or(0, |answer| answer.states);
            answer = Some(Outcome { value, bound, price: outcome.price, nodes, states });
            let close = bound - value <= options.tolerance * (value + self.model.constant);
            let spent = self.refinement.evaluations() - before;
            if close || !doubtful || spent >= options.max_evaluations || nodes >= options.max_nodes {
                break;
            }
            let mut progress = false;
            for grid in &mut self.refinement.grids {
                let task = self.model.coordinates[grid.coordinate].task;
                progress |= grid.cut_around(self.best[task]);
            }
            if !progress {
                break;
            }
            self.last_price = Some(outcome.price);
        }
        self.best.clone_from(&self.refinement.best);
        answer.ok_or(AllocationError::BadBudget(self.model.budget))
    }

    /// Puts the upper limits in place of the functions.
    fn rebuild(&mut self) -> Result<(), AllocationError> {
        for grid in &self.refinement.grids {
            let position = grid.coordinate;
            let task = self.model.coordinates[position].task;
            grid.check(&self.model.names[task])?;
            grid.write_upper_limit(&mut self.model.coordinates[position].form);
            let (low, high) = (self.model.low[position], self.model.high[position]);
            self.model.hulls[position].build(&self.model.coordinates[position], low, high);
        }
        Ok(())
    }

    /// What the split in `best` is worth by the functions themselves, and whether the limits differ from them there.
    fn truth(&mut self, limited: f64) -> (f64, bool) {
        let mut value = limited;
        let mut doubtful = false;
        for grid in &mut self.refinement.grids {
            let coordinate = &self.model.coordinates[grid.coordinate];
            let spend = self.best[coordinate.task];
            let excess = coordinate.form.success(spend) - grid.evaluate(spend);
            value -= self.model.weights[grid.coordinate] * excess;
            doubtful |= excess > 0.0;
        }
        (value, doubtful)
    }
}

impl Grid {
    /// The function at a spend; remembered.
    fn evaluate(&mut self, spend: f64) -> f64 {
        let place = self.spend.partition_point(|&point| point < spend);
        if self.spend.get(place) == Some(&spend) {
            return self.success[place];
        }
        let success = self.custom.success(spend);
        self.evaluations += 1;
        self.spend.insert(place, spend);
        self.success.insert(place, success);
        success
    }

    /// Evaluates the ends of the domain and, the first time, points in between.
    fn cover(&mut self, low: f64, high: f64) {
        self.evaluate(0.0);
        if self.spend.len() == 1 {
            for cell in 1..FIRST_CELLS {
                self.evaluate(low + (high - low) * cell as f64 / FIRST_CELLS as f64);
            }
        }
        self.evaluate(low);
        self.evaluate(high);
    }

    /// Cuts the cells around a spend; false if they are as small as numbers allow.
    fn cut_around(&mut self, spend: f64) -> bool {
        let place = self.spend.partition_point(|&point| point < spend);
        let left = place.checked_sub(1).map(|place| self.spend[place]);
        let right = self.spend.get(place + 1).copied();
        let count = self.spend.len();
        for other in [left, right].into_iter().flatten() {
            let middle = spend + 0.5 * (other - spend);
            if middle != spend && middle != other {
                self.evaluate(middle);
            }
        }
        self.spend.len() > count
    }

    /// Holds the values against what the curve was declared to be.
    fn check(&self, task: &str) -> Result<(), AllocationError> {
        let slope = |cell: usize| (self.success[cell + 1] - self.success[cell]) / (self.spend[cell + 1] - self.spend[cell]);
        for cell in 0..self.spend.len() - 1 {
            let (low, high) = (self.success[cell], self.success[cell + 1]);
            if high < low - SHAPE_ROUNDING {
                let at = self.spend[cell + 1];
                return Err(AllocationError::Decreasing { task: task.to_owned(), at, low: high, high: low });
            }
            let width = self.spend[cell + 1] - self.spend[cell];
            let broken = match self.custom.shape() {
                DeclaredShape::Lipschitz(constant) => high - low > constant * width + SHAPE_ROUNDING,
                DeclaredShape::Concave => cell > 0 && (slope(cell) - slope(cell - 1)) * width > SHAPE_ROUNDING,
                DeclaredShape::Monotone => false,
            };
            if broken {
                let (from, to) = (self.spend[cell], self.spend[cell + 1]);
                return Err(AllocationError::NotAsDeclared { task: task.to_owned(), shape: self.custom.shape(), from, to });
            }
        }
        Ok(())
    }

    /// Writes the upper limit as points.
    fn write_upper_limit(&self, form: &mut Form) {
        let Form::Points { spend, success, .. } = form else { return };
        spend.clear();
        success.clear();
        let mut add = |at: f64, height: f64| {
            // The limits never fall, whatever rounding does to them.
            let height = height.max(success.last().copied().unwrap_or(0.0));
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
            match self.custom.shape() {
                DeclaredShape::Monotone => add(from, high),
                DeclaredShape::Lipschitz(constant) => {
                    add(from, low);
                    add((from + (high - low) / constant).min(self.spend[cell + 1]), high);
                }
                DeclaredShape::Concave => {
                    let (at, height) = self.concave_peak(cell);
                    add(from, if at <= from { height } else { low });
                    add(at, height);
                }
            }
        }
        add(self.spend[last], self.success[last]);
    }

    /// Where the neighbouring chords, prolonged into a cell, meet: a concave function stays below both.
    fn concave_peak(&self, cell: usize) -> (f64, f64) {
        let slope = |cell: usize| (self.success[cell + 1] - self.success[cell]) / (self.spend[cell + 1] - self.spend[cell]);
        let (from, to) = (self.spend[cell], self.spend[cell + 1]);
        let (low, high) = (self.success[cell], self.success[cell + 1]);
        let right = if cell + 2 < self.spend.len() { slope(cell + 1).max(0.0) } else { 0.0 };
        let Some(left) = cell.checked_sub(1).map(slope) else {
            // Nothing to the left: prolong the right chord all the way.
            return (from, (high - right * (to - from)).max(low));
        };
        if !(left > right) {
            return (to, high);
        }
        let at = (from + (high - low - right * (to - from)) / (left - right)).clamp(from, to);
        (at, (low + left * (at - from)).min(high))
    }
}
