//! Warm start by Taylor expansion, for problems in which every task is concave.
//!
//! A *reference* holds, for every task, a value and its demand at one multiplier, computed in full.
//! A call near it needs two passes of short polynomials. The first expands the demand for the new
//! values around the last multiplier and adds up how the total goes on from there
//! ([`Expansion`](super::expansion::Expansion)); the multiplier at which the budget is met follows
//! from the sums. The second moves the demands there and writes spends and successes. A task that
//! has moved too far from its reference gets a new one on the way.
//!
//! Blocks are added up in their order, so any number of threads gives the same bits. A call that
//! this does not fit is left to the multiplier search.

use serde::{Deserialize, Serialize};

use super::ConcaveTasks;
use super::block::{Assign, BLOCK, Block, Expand};
use super::expansion::{Expansion, Root};
use super::family::{AssignmentPoint, ExpansionPoint, MAX_VALUE, MostElastic, Totals};
use crate::numeric::compensated::sum;
use crate::numeric::exp_log::{MEDIUM, TINY, exp_near_zero};
use crate::numeric::simd::with_simd4;
use crate::oracle::evaluation::Output;
use crate::oracle::multiplier::ElasticTask;
use crate::oracle::solver_bounds::SolverBounds;
use crate::oracle::tolerances::{BOUND_ROUNDING, BUDGET_TOLERANCE, SUCCESS_ACCURACY};

/// The state of the warm start; the arrays belong to [`ConcaveTasks`].
#[derive(Debug)]
pub(in crate::oracle) struct TaylorSolver {
    tasks: usize,
    min_total: f64,
    has_lower_bounds: bool,
    has_floors: bool,
    /// The least upper bound of a smooth task.
    min_high: f64,
    /// Some task is not a power task, so that its state can change within a window.
    needs_window: bool,
    /// The expansion of all blocks.
    expansion: Box<Expansion>,
    /// The multiplier of the references, and that of the last call.
    pub(super) reference: Option<Multiplier>,
    last: Multiplier,
    /// How far to both sides of the last multiplier the next one is looked for.
    width: f64,
    /// Whether some task was at its upper bound in the last call: bounds are then checked first.
    was_at_high: bool,
    /// How many calls are skipped after one that did not fit; twice as many after the next.
    pause: u32,
    next_pause: u32,
}

/// Everything that a [`TaylorSolver`] keeps between calls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(in crate::oracle) struct WarmStart {
    reference: Option<Reference>,
    pause: u32,
    next_pause: u32,
}

/// The reference, and where the last call near it ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Reference {
    log_multiplier: f64,
    /// The value of each task's reference.
    values: Vec<f64>,
    last_log_multiplier: f64,
    last_multiplier: f64,
    width: f64,
    was_at_high: bool,
}

/// A multiplier and its logarithm.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Multiplier {
    log: f64,
    value: f64,
}

impl Multiplier {
    fn from_log(log: f64) -> Self {
        Self { log, value: log.exp() }
    }
}

/// What a call found, without the spends.
#[derive(Debug, Clone, Copy)]
pub(in crate::oracle) struct Solution {
    pub(in crate::oracle) value: f64,
    pub(in crate::oracle) upper_bound: f64,
    pub(in crate::oracle) multiplier: f64,
}

/// A call: values, budget, and what the lower bounds leave of it.
#[derive(Debug, Clone, Copy)]
struct Call<'a> {
    values: &'a [f64],
    budget: f64,
    free: f64,
}

/// The logarithm of the multiplier sought is between these two.
#[derive(Debug, Clone, Copy)]
struct Bracket {
    below: f64,
    above: f64,
}

impl Bracket {
    const ALL: Self = Self { below: f64::NEG_INFINITY, above: f64::INFINITY };

    /// The multiplier is not in a window but above or below it.
    fn exclude(&mut self, log: f64, width: f64, is_above: bool) {
        if is_above {
            self.below = self.below.max(log + width);
        } else {
            self.above = self.above.min(log - width);
        }
    }

    /// The nearest place within the bracket, or half-way.
    fn limit(self, log: f64) -> f64 {
        if log > self.below && log < self.above {
            log
        } else {
            0.5 * (self.below.max(log - 1.0) + self.above.min(log + 1.0))
        }
    }
}

/// The result of assigning spends at a multiplier.
#[derive(Debug, Clone, Copy)]
enum Assigned {
    Solved(Solution),
    /// The budget is missed; the logarithm of the multiplier should go this much further.
    Missed {
        further: f64,
    },
    /// A task would exceed its upper bound, and bounds were not checked.
    ExceedsBound,
    /// A smaller multiplier may prove the same bound; the multiplier search looks for it.
    NotSmallest,
}

/// With fewer tasks one of them takes everything.
const MIN_TASKS: usize = 2;
/// Below this budget, or with less than this share of it above the lower bounds, digits are lost.
const MIN_BUDGET: f64 = 1e-90;
const MIN_FREE_SHARE: f64 = 1e-6;
/// Half the width of the first window, and the limits of any.
const FIRST_WIDTH: f64 = 0.01;
const MIN_WIDTH: f64 = 1e-9;
const MAX_WIDTH: f64 = 0.05;
/// The same times the largest elasticity.
const MAX_ELASTIC_WIDTH: f64 = 0.25;
const MAX_EXPANSIONS: usize = 20;
/// Corrections of the multiplier without a new expansion.
const MAX_CORRECTIONS: usize = 4;
/// A window with more undecided tasks than this share of all is too wide.
const MAX_UNDECIDED: f64 = 1.0 / 16.0;
/// A residual up to this share of the budget, and this share of its own spend, can go to one task:
/// the slope there stays the multiplier to the last digit.
const MAX_RESIDUAL: f64 = 1e-11;
const MAX_ABSORBED_SHARE: f64 = 1e-8;
/// How far from the reference multiplier, times the largest elasticity, calls may go.
const MAX_SHIFT: f64 = 0.125;
/// The same in the call that made the reference: no value has moved since.
const MAX_FRESH_SHIFT: f64 = 0.9 * MEDIUM;
const MAX_PAUSE: u32 = 64;

impl TaylorSolver {
    /// None unless there are at least two tasks and all of them are concave.
    pub(in crate::oracle) fn new(
        concave: &ConcaveTasks,
        bounds: &SolverBounds,
        min_total: f64,
    ) -> Option<Self> {
        if bounds.len() < MIN_TASKS || concave.len() < bounds.len() {
            return None;
        }
        let power = |block: &Block| block.power.reference_values().len();
        Some(Self {
            tasks: bounds.len(),
            min_total,
            has_lower_bounds: bounds.iter().any(|bounds| bounds.min > 0.0),
            has_floors: concave.blocks.iter().any(|block| !block.floor.is_empty()),
            min_high: concave.blocks.iter().map(Block::min_high).fold(f64::INFINITY, f64::min),
            needs_window: concave.blocks.iter().map(power).sum::<usize>() < bounds.len(),
            expansion: Box::default(),
            reference: None,
            last: Multiplier::default(),
            width: FIRST_WIDTH,
            was_at_high: false,
            pause: 0,
            next_pause: 1,
        })
    }

    /// Drops the references: the next call needs a multiplier to start from.
    pub(in crate::oracle) fn reset(&mut self) {
        (self.reference, self.pause, self.next_pause) = (None, 0, 1);
    }

    /// Whether the next call needs a multiplier to start from.
    pub(in crate::oracle) fn needs_start(&self) -> bool {
        self.reference.is_none() && self.pause == 0
    }

    pub(in crate::oracle) fn warm_start(&self, concave: &ConcaveTasks) -> WarmStart {
        let reference = self.reference.map(|reference| {
            let mut values = vec![1.0; self.tasks];
            for (block, values) in concave.blocks.iter().zip(values.chunks_mut(BLOCK)) {
                block.write_reference_values(values);
            }
            Reference {
                log_multiplier: reference.log,
                values,
                last_log_multiplier: self.last.log,
                last_multiplier: self.last.value,
                width: self.width,
                was_at_high: self.was_at_high,
            }
        });
        WarmStart { reference, pause: self.pause, next_pause: self.next_pause }
    }

    /// Restores a saved warm start; later calls are bit-identical. An invalid one is ignored.
    pub(in crate::oracle) fn set_warm_start(
        &mut self,
        concave: &mut ConcaveTasks,
        saved: &WarmStart,
    ) {
        self.pause = saved.pause.min(MAX_PAUSE);
        self.next_pause = saved.next_pause.clamp(1, MAX_PAUSE);
        let Some(reference) = saved.reference.as_ref().filter(|saved| self.is_valid(saved)) else {
            return;
        };
        self.reference = Some(Multiplier::from_log(reference.log_multiplier));
        self.last =
            Multiplier { log: reference.last_log_multiplier, value: reference.last_multiplier };
        self.width = reference.width;
        self.was_at_high = reference.was_at_high;
        let at = ExpansionPoint {
            arch: concave.arch,
            reference: reference.log_multiplier,
            shift: 0.0,
            reference_multiplier: reference.log_multiplier.exp(),
            width: reference.width,
            multiplier: 0.0,
        };
        self.expand_blocks(concave, &at, true, true, &reference.values);
    }

    fn is_valid(&self, saved: &Reference) -> bool {
        let are_values = saved.values.len() == self.tasks
            && saved.values.iter().all(|value| (0.0..MAX_VALUE).contains(value));
        let is_multiplier = saved.log_multiplier.is_finite()
            && saved.last_log_multiplier.is_finite()
            && saved.last_multiplier > 0.0
            && saved.last_multiplier.is_finite();
        are_values && is_multiplier && (MIN_WIDTH..=MAX_WIDTH).contains(&saved.width)
    }

    /// Solves a call; none if it does not fit. `start` is a multiplier to start from.
    ///
    /// Values and budget need not be checked: nothing is found for invalid ones.
    #[inline(never)]
    pub(in crate::oracle) fn allocate(
        &mut self,
        concave: &mut ConcaveTasks,
        values: &[f64],
        budget: f64,
        mut output: Output<'_>,
        start: Option<f64>,
    ) -> Option<Solution> {
        if self.pause > 0 {
            self.pause -= 1;
            return None;
        }
        let free = budget - self.min_total;
        let is_known = values.len() == self.tasks && budget >= MIN_BUDGET && budget.is_finite();
        if !(is_known && free >= MIN_FREE_SHARE * budget) {
            return None;
        }
        let solution = self.search(concave, Call { values, budget, free }, &mut output, start);
        if solution.is_none() {
            self.reference = None;
            self.pause = self.next_pause;
            self.next_pause = (2 * self.next_pause).min(MAX_PAUSE);
        } else {
            self.next_pause = 1;
        }
        solution.map(|solution| {
            if self.has_floors { with_floors(concave, solution, values) } else { solution }
        })
    }

    fn search(
        &mut self,
        concave: &mut ConcaveTasks,
        call: Call<'_>,
        output: &mut Output<'_>,
        start: Option<f64>,
    ) -> Option<Solution> {
        let mut is_reset = false;
        if self.reference.is_none() {
            let start = start.filter(|multiplier| *multiplier > 0.0 && multiplier.is_finite())?;
            self.last = Multiplier::from_log(start.ln());
            (is_reset, self.width, self.was_at_high) = (true, FIRST_WIDTH, false);
        }
        let mut is_bounded =
            self.has_lower_bounds || self.was_at_high || self.min_high < 0.25 * call.free;
        let (before, last_width) = (self.last.log, self.width);
        let (mut bracket, mut max_shift) = (Bracket::ALL, MAX_SHIFT);
        for _ in 0..MAX_EXPANSIONS {
            self.limit_width(concave, is_bounded);
            let (at, is_new) = self.expansion_point(concave, is_reset, max_shift);
            max_shift = if is_new { MAX_FRESH_SHIFT } else { max_shift };
            is_reset = false;
            self.expand_blocks(concave, &at, is_bounded, is_new, call.values);
            if !self.expansion.are_values_valid {
                return None;
            }
            if self.expansion.undecided() > MAX_LISTED
                && self.expansion.undecided() as f64 > MAX_UNDECIDED * self.tasks as f64
                && self.width > MIN_WIDTH
            {
                self.width *= 0.125;
                continue;
            }
            match self.expansion.solve(call.free, self.last.value, self.width) {
                Root::Inside { step, threshold } => {
                    match self.assign(concave, call, output, is_bounded, step, threshold) {
                        Assigned::Solved(solution) => {
                            // As far again and more, but not suddenly less: calls differ.
                            self.width = (4.0 * (self.last.log - before).abs())
                                .max(0.5 * last_width)
                                .clamp(MIN_WIDTH, MAX_WIDTH);
                            return Some(solution);
                        }
                        Assigned::Missed { further } => {
                            self.move_to(self.last.log + step + further, 4.0 * further.abs())?;
                        }
                        Assigned::ExceedsBound => {
                            // What is known of the multiplier was about tasks without bounds.
                            (is_bounded, bracket) = (true, Bracket::ALL);
                        }
                        Assigned::NotSmallest => return None,
                    }
                }
                Root::Outside { step, width } => {
                    bracket.exclude(self.last.log, self.width, step > 0.0);
                    self.move_to(bracket.limit(self.last.log + step.clamp(-2.0, 2.0)), width)?;
                }
                Root::Unknown => return None,
            }
        }
        None
    }

    /// Keeps the window within the range of the expansion. Where no state can change, the widest
    /// window is as good as any.
    fn limit_width(&mut self, concave: &ConcaveTasks, is_bounded: bool) {
        let widest = MAX_WIDTH.min(MAX_ELASTIC_WIDTH / concave.max_elasticity.max(1.0));
        self.width = if self.needs_window || is_bounded {
            self.width.clamp(MIN_WIDTH, widest)
        } else {
            widest
        };
    }

    /// Another multiplier to expand around; none if it is not a number.
    fn move_to(&mut self, log: f64, width: f64) -> Option<()> {
        (self.last, self.width) = (Multiplier::from_log(log), width);
        (self.last.value > 0.0 && self.last.value.is_finite()).then_some(())
    }

    /// The expansion around the last multiplier, and whether it needs new references, because the
    /// old ones are too far away.
    fn expansion_point(
        &mut self,
        concave: &ConcaveTasks,
        is_reset: bool,
        max_shift: f64,
    ) -> (ExpansionPoint, bool) {
        let elasticity = concave.max_elasticity.max(1.0);
        let is_near = |reference: &Multiplier| {
            (self.last.log - reference.log).abs() * elasticity <= max_shift
        };
        let kept = self.reference.filter(|reference| !is_reset && is_near(reference));
        // From the logarithm, which is all that a saved warm start has.
        let reference = kept.unwrap_or_else(|| Multiplier::from_log(self.last.log));
        self.reference = Some(reference);
        let at = ExpansionPoint {
            arch: concave.arch,
            reference: reference.log,
            shift: self.last.log - reference.log,
            reference_multiplier: reference.value,
            width: self.width,
            multiplier: self.last.value,
        };
        (at, kept.is_none())
    }

    fn expand_blocks(
        &mut self,
        concave: &mut ConcaveTasks,
        at: &ExpansionPoint,
        is_bounded: bool,
        is_reset: bool,
        values: &[f64],
    ) {
        let ConcaveTasks { arch, threads, blocks, .. } = concave;
        threads.for_each(blocks, values, |block, values| {
            with_simd4(*arch, Expand { block, at, is_bounded, is_reset, values });
        });
        if let [block] = &mut blocks[..] {
            std::mem::swap(&mut self.expansion, &mut block.expansion);
            return;
        }
        self.expansion.clear();
        blocks.iter().for_each(|block| self.expansion.merge(&block.expansion));
    }

    /// Writes the spends a step away from the last multiplier and computes the certificate. A small
    /// miss is corrected within the window.
    fn assign(
        &mut self,
        concave: &mut ConcaveTasks,
        call: Call<'_>,
        output: &mut Output<'_>,
        is_bounded: bool,
        mut step: f64,
        threshold: Option<f64>,
    ) -> Assigned {
        let mut further = 0.0;
        for _ in 0..MAX_CORRECTIONS {
            step += further;
            let log = self.last.log + step;
            let reference = self.reference.unwrap_or(self.last);
            // From the reference multiplier, not from the last one: no rounding adds up.
            let multiplier =
                threshold.unwrap_or_else(|| reference.value * exp_near_zero(log - reference.log));
            let totals = assign_blocks(concave, call.values, output, is_bounded, step, multiplier);
            if !is_bounded && !(totals.max_demand < self.min_high) {
                return Assigned::ExceedsBound;
            }
            let (value, mut residual) = (totals.value.value(), call.free - totals.above.value());
            let bound = value + multiplier * residual;
            let rounding = BOUND_ROUNDING * (bound.abs() + multiplier * call.budget + value)
                + SUCCESS_ACCURACY * value;
            let mut tied_capacity = 0.0;
            if threshold.is_some() {
                (residual, tied_capacity) = self.fill_ties(multiplier, residual, output);
            }
            let absorber = totals.most_elastic;
            if residual == 0.0 || absorb(absorber, call, output, multiplier, residual) {
                let MostElastic { task, sensitivity, low, high } = absorber;
                let elastic = ElasticTask { sensitivity, spend: output.spend[task], low, high };
                if !(elastic.is_smooth(self.tasks, call.free)
                    || tied_capacity > BUDGET_TOLERANCE * call.free)
                {
                    return Assigned::NotSmallest;
                }
                self.last = Multiplier { log, value: multiplier };
                self.was_at_high = is_bounded && !(totals.max_demand < self.min_high);
                let upper_bound = bound + rounding;
                return Assigned::Solved(Solution { value: bound, upper_bound, multiplier });
            }
            further = -residual / self.expansion.sensitivity(step, self.width);
            if threshold.is_some() || !((step + further).abs() <= self.width) {
                break;
            }
        }
        Assigned::Missed { further }
    }

    /// Gives the residual to linear tasks whose threshold is the multiplier, those with more value
    /// and lower index first; returns what is left of it, and what these tasks could still take.
    fn fill_ties(&self, multiplier: f64, mut residual: f64, output: &mut Output<'_>) -> (f64, f64) {
        let mut capacity = 0.0;
        for tied in self.expansion.linear.iter().filter(|task| task.threshold == multiplier) {
            if !(residual > 0.0) {
                capacity += tied.capacity();
                continue;
            }
            let taken = tied.capacity().min(residual);
            capacity += tied.capacity() - taken;
            output.spend[tied.task] =
                if residual >= tied.capacity() { tied.high } else { tied.low + taken };
            output.success[tied.task] += taken * (multiplier / tied.value);
            residual -= taken;
        }
        (residual, capacity)
    }
}

/// Gives a residual to the most elastic task; false if it is too large to leave the slope there
/// unchanged.
fn absorb(
    absorber: MostElastic,
    call: Call<'_>,
    output: &mut Output<'_>,
    multiplier: f64,
    residual: f64,
) -> bool {
    let task = absorber.task;
    let before = output.spend[task];
    let after = before + residual;
    let is_small = residual.abs() <= MAX_RESIDUAL * call.budget
        && residual.abs() <= MAX_ABSORBED_SHARE * before;
    if !(absorber.sensitivity > 0.0 && is_small && after > absorber.low && after < absorber.high) {
        return false;
    }
    output.spend[task] = after;
    output.success[task] += residual * (multiplier / call.values[task]);
    true
}

/// As many undecided tasks as this cost next to nothing.
const MAX_LISTED: usize = 8;

fn assign_blocks(
    concave: &mut ConcaveTasks,
    values: &[f64],
    output: &mut Output<'_>,
    is_bounded: bool,
    step: f64,
    multiplier: f64,
) -> Totals {
    let ConcaveTasks { arch, threads, blocks, max_elasticity, .. } = concave;
    let is_tiny = *max_elasticity * step.abs() <= TINY;
    let at = AssignmentPoint {
        multiplier,
        power_step: step,
        exponential_step: step,
        free: f64::INFINITY,
        is_tiny,
    };
    let output = Output { spend: &mut *output.spend, success: &mut *output.success };
    threads.for_each_output(blocks, values, output, |block, values, output| {
        let assign = Assign {
            block,
            at: &at,
            is_bounded,
            power_demand: &block.power.demand,
            exponential_level: &block.exponential.expanded_level,
            hill_and_logistic: block.hill_and_logistic.as_ref().map(|tasks| tasks.expanded()),
            values,
            output,
        };
        block.totals = with_simd4(*arch, assign);
    });
    if let [block] = &blocks[..] {
        return block.totals;
    }
    let mut totals = Totals::default();
    blocks.iter().for_each(|block| totals.add(block.totals));
    totals
}

/// Adds the value of the floors.
fn with_floors(concave: &ConcaveTasks, solution: Solution, values: &[f64]) -> Solution {
    let parts = concave.blocks.iter().zip(values.chunks(BLOCK));
    let floors = sum(parts.map(|(block, values)| block.floor_value(values)));
    let upper_bound = solution.upper_bound + floors + BOUND_ROUNDING * floors;
    Solution { value: solution.value + floors, upper_bound, ..solution }
}
