//! The allocation oracle: the best allocation of a budget, with a certificate of its quality.
//!
//! The problem is to maximise `sum of value * F(x)` over the tasks, subject to `sum of x <= budget`
//! and bounds on each spend `x`. The curves `F` are nondecreasing and otherwise arbitrary: a
//! separable nonlinear knapsack with one linear constraint. All solvers below relax the budget with
//! a multiplier. The dual function of that relaxation is an upper bound for every multiplier, see
//! [`dual_bound`], and equals the problem on the concave envelopes of the curves.
//!
//! | curves | solver | module |
//! |---|---|---|
//! | concave | the multiplier at which demand meets the budget; no gap | `multiplier` |
//! | any | the same on the envelopes, then branch and bound | `branch_and_bound` |
//! | S-curves that are alike | a search over the number of funded tasks | `funded_count` |
//! | steps only | LP relaxation and core search of a multiple-choice knapsack | `mckp` |
//! | steps, tiers, concave | labels with a concave remainder, if branch and bound stops | `mixture` |
//! | users' functions | one of these on upper and lower limits, which are refined | `black_box` |
//!
//! `presolve` drops excluded tasks, `prepared` arranges a problem for these solvers, `search` chooses
//! among them, `finalize` turns their solution into an [`Allocation`], and `certificate` and
//! `independent_proof` check it. `labels` is the label search of `mckp` and `mixture`.

mod black_box;
mod branch_and_bound;
mod cancel;
mod certificate;
mod classes;
mod concave;
mod curves;
mod domain;
mod envelope;
mod error;
mod evaluation;
mod finalize;
mod funded_count;
mod independent_proof;
mod labels;
mod mckp;
mod mixture;
mod multiplier;
#[cfg(test)]
mod numbers_for_tests;
mod prepared;
mod presolve;
mod search;
mod sigmoid;
mod solver_bounds;
mod tolerances;

pub use certificate::{
    Allocation, Recheck, RecheckError, Status, UnspentReason, dual_bound, recheck,
};
pub use error::AllocationError;
pub use independent_proof::{Proof, prove};

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};

use crate::curve::AMOUNT_RANGE;
use crate::problem::{Leftover, Problem};
use black_box::BlackBoxes;
use branch_and_bound::Tree;
use cancel::Cancel;
use concave::{Solution, TaylorSolver};
use evaluation::Output;
use funded_count::FundedCount;
use mckp::{CoreSearch, TopM};
use mixture::Mixture;
use multiplier::Relaxation;
use prepared::PreparedProblem;
use presolve::Presolve;

/// The default relative gap at which a search over smooth curves stops.
pub const DEFAULT_TOLERANCE: f64 = 1e-9;

/// Tolerance and limits of a search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options {
    /// The relative gap at which a search may stop.
    pub tolerance: f64,
    /// The largest number of branch-and-bound nodes.
    pub max_nodes: u64,
    /// The largest number of labels that the exact searches over steps, tiers and mixtures keep, in
    /// total.
    pub max_labels: u64,
    /// The largest number of evaluations of users' functions, in total.
    pub max_evaluations: u64,
    /// The use of budget that gains nothing.
    pub leftover: Leftover,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            tolerance: DEFAULT_TOLERANCE,
            max_nodes: 20_000,
            max_labels: 2_000_000,
            max_evaluations: 100_000,
            leftover: Leftover::Keep,
        }
    }
}

/// The state that an oracle keeps between calls, see [`Oracle::warm_start`].
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct WarmStart {
    price: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    taylor: Option<concave::WarmStart>,
}

/// A solver of one problem for varying values and budgets.
///
/// It keeps its buffers and the last multiplier: after the first call no memory is allocated, and a
/// call with similar values is faster than the first. Earlier calls affect results only by
/// rounding.
///
/// ```
/// use outlay::{Curve, Options, Oracle, ProblemSpec, TaskSpec};
/// let tasks = vec![
///     TaskSpec::new("a", Curve::power(0.5, 1.0)?),
///     TaskSpec::new("b", Curve::power(0.5, 1.0)?),
/// ];
/// let problem = ProblemSpec { tasks, ..ProblemSpec::default() }.check()?;
/// let mut oracle = Oracle::new(&problem);
/// let best = oracle.allocate(&[0.6, 0.8], 1.0, &Options::default())?;
/// assert!((best.value - 1.0).abs() < 1e-12); // the norm of the values
/// assert!((best.spend[0] - 0.36).abs() < 1e-12);
/// assert!(best.gap() < 1e-12);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Oracle {
    /// The excluded tasks, which are dropped, and the volumes, if there are any. All other fields
    /// are about the tasks that are kept, and know only weights.
    presolve: Option<Box<Presolve>>,
    prepared: PreparedProblem,
    relaxation: Relaxation,
    tree: Tree,
    funded_count: FundedCount,
    core: CoreSearch,
    mixture: Mixture,
    black_boxes: BlackBoxes,
    /// The best solution so far and the one under evaluation: the spend of each task, then of each
    /// group of identical thresholds.
    best: Vec<f64>,
    trial: Vec<f64>,
    last_multiplier: Option<f64>,
    /// The fast path for one threshold that all tasks share.
    top_m: Option<TopM>,
    /// The warm start for problems in which every task is concave.
    taylor: Option<TaylorSolver>,
    /// The solver of the relaxed problem, if every task is concave and the lower bounds once took
    /// nearly all of the budget.
    relaxed: Option<Box<Oracle>>,
    cancel: Option<Arc<AtomicBool>>,
    allocation: Allocation,
}

/// The result of a solver, before the value of the floors is added.
#[derive(Debug, Clone, Copy)]
struct Outcome {
    value: f64,
    bound: f64,
    multiplier: f64,
    /// The multiplier of the node in which the split was found.
    node_multiplier: f64,
    /// The smallest multiplier that proves the bound of the first relaxation.
    price: f64,
    /// The unspent budget of the first relaxation, if its solution is the result.
    left: Option<f64>,
    nodes: u64,
    labels: u64,
}

impl Oracle {
    /// Prepares the curves of `problem`.
    #[must_use]
    pub fn new(problem: &Problem) -> Self {
        let presolve = Presolve::new(problem.tasks());
        let tasks = presolve.as_ref().map_or_else(
            || problem.shared_tasks().clone(),
            |presolve| presolve.kept(problem.tasks()),
        );
        Self { presolve: presolve.map(Box::new), ..Self::of(PreparedProblem::new(tasks)) }
    }

    fn of(prepared: PreparedProblem) -> Self {
        let spend_len = prepared.spend_len();
        Self {
            relaxation: Relaxation::default(),
            tree: Tree::default(),
            funded_count: FundedCount::default(),
            core: CoreSearch::default(),
            mixture: Mixture::default(),
            black_boxes: BlackBoxes::new(&prepared),
            best: vec![0.0; spend_len],
            trial: vec![0.0; spend_len],
            last_multiplier: None,
            top_m: TopM::new(&prepared),
            taylor: TaylorSolver::new(&prepared.concave, &prepared.bounds, prepared.min_total()),
            relaxed: None,
            cancel: None,
            allocation: Allocation::empty(prepared.curves.len()),
            prepared,
            presolve: None,
        }
    }

    /// Sets the number of threads that one call may use, from 100,000 concave tasks on. The results
    /// are bit-identical for any number of threads.
    pub fn use_threads(&mut self, threads: NonZeroUsize) {
        self.prepared.concave.use_threads(threads);
    }

    /// Lets another thread cancel a call: once `cancel` is true, a search over nodes or labels stops,
    /// and the call fails with [`AllocationError::Cancelled`]. Fast paths, which are short, are
    /// completed first.
    pub fn set_cancel(&mut self, cancel: Option<Arc<AtomicBool>>) {
        self.core.set_cancel(&Cancel::new(cancel.clone()));
        self.mixture.set_cancel(&Cancel::new(cancel.clone()));
        self.cancel = cancel;
    }

    /// Discards the state of earlier calls: the next call starts cold.
    pub fn reset(&mut self) {
        self.last_multiplier = None;
        self.taylor.iter_mut().for_each(TaylorSolver::reset);
    }

    /// The last allocation; an empty one before the first call.
    #[must_use]
    pub fn last(&self) -> &Allocation {
        self.presolve.as_ref().map_or(&self.allocation, |presolve| &presolve.allocation)
    }

    /// The last allocation, without a copy of its spends.
    #[must_use]
    pub fn into_last(self) -> Allocation {
        self.presolve.map_or(self.allocation, |presolve| presolve.allocation)
    }

    /// The state from which the next call starts, for [`Oracle::set_warm_start`].
    #[must_use]
    pub fn warm_start(&self) -> WarmStart {
        WarmStart {
            price: self.last_multiplier.map(|price| price * self.prepared.value_scale),
            taylor: self.taylor.as_ref().map(|taylor| taylor.warm_start(&self.prepared.concave)),
        }
    }

    /// Restores a saved warm start of an oracle of the same problem; later calls are bit-identical.
    /// Parts that do not fit the problem are ignored, and the next call then starts cold.
    pub fn set_warm_start(&mut self, warm_start: &WarmStart) {
        self.reset();
        self.last_multiplier = warm_start
            .price
            .filter(|price| *price >= 0.0 && price.is_finite())
            .map(|price| price / self.prepared.value_scale);
        if let (Some(taylor), Some(saved)) = (&mut self.taylor, &warm_start.taylor) {
            taylor.set_warm_start(&mut self.prepared.concave, saved);
        }
    }

    /// The best allocation of `budget` if a completion of task `k` has the value `values[k]`.
    ///
    /// # Errors
    /// If an input is out of range or the lower bounds exceed the budget.
    pub fn allocate(
        &mut self,
        values: &[f64],
        budget: f64,
        options: &Options,
    ) -> Result<&Allocation, AllocationError> {
        if self.presolve.is_some() {
            return self.allocate_kept(values, budget, options);
        }
        if !self.allocate_quickly(values, budget, options) {
            self.allocate_by_search(values, budget, options)?;
        }
        Ok(&self.allocation)
    }

    /// Allocates to the tasks that are not excluded, with weights instead of values.
    #[inline(never)]
    fn allocate_kept(
        &mut self,
        values: &[f64],
        budget: f64,
        options: &Options,
    ) -> Result<&Allocation, AllocationError> {
        if let Some(mut presolve) = self.presolve.take() {
            let result = self.solve_kept(&mut presolve, values, budget, options);
            self.presolve = Some(presolve);
            result?;
        }
        Ok(self.last())
    }

    fn solve_kept(
        &mut self,
        presolve: &mut Presolve,
        values: &[f64],
        budget: f64,
        options: &Options,
    ) -> Result<(), AllocationError> {
        presolve.load(values)?;
        if !self.allocate_quickly(&presolve.weights, budget, options) {
            self.allocate_by_search(&presolve.weights, budget, options)?;
        }
        presolve.expand(&self.allocation, values, budget, options);
        Ok(())
    }

    /// Not inlined, so that the fast paths do not save the registers that it needs.
    #[inline(never)]
    fn allocate_by_search(
        &mut self,
        values: &[f64],
        budget: f64,
        options: &Options,
    ) -> Result<(), AllocationError> {
        self.top_m.iter_mut().for_each(TopM::invalidate);
        self.check(values, budget, options)?;
        if !self.prepared.is_relaxed && self.prepared.leaves_little(budget) {
            return self.allocate_relaxed(values, budget, options);
        }
        let value_scale = self.prepared.value_scale;
        self.prepared.load(values, budget, self.last_multiplier.is_none_or(|price| price == 0.0));
        // The last multiplier was scaled by the value scale of that call.
        self.last_multiplier =
            self.last_multiplier.map(|price| price * (value_scale / self.prepared.value_scale));
        let outcome =
            if self.black_boxes.is_needed() { self.refine(options)? } else { self.search(options) };
        if self.cancel.as_ref().is_some_and(|cancel| cancel.load(Ordering::Relaxed)) {
            return Err(AllocationError::Cancelled);
        }
        // A subnormal multiplier has lost its digits, and proves no more than zero does.
        let multiplier = normal_or_zero(outcome.multiplier);
        self.last_multiplier = Some(multiplier);
        let price = outcome.price.max(self.prepared.unaffordable_multiplier());
        let outcome = Outcome { multiplier, price, ..outcome };
        finalize::finalize(
            &self.prepared,
            &mut self.best,
            self.relaxation.success(),
            outcome,
            options,
            &mut self.allocation,
        )
    }

    /// The allocation by the relaxed problem, without a warm start.
    fn allocate_relaxed(
        &mut self,
        values: &[f64],
        budget: f64,
        options: &Options,
    ) -> Result<(), AllocationError> {
        let prepared = &self.prepared;
        let relaxed = self.relaxed.get_or_insert_with(|| Box::new(Self::of(prepared.relaxed())));
        relaxed.reset();
        relaxed.set_cancel(self.cancel.clone());
        self.allocation.clone_from(relaxed.allocate(values, budget, options)?);
        Ok(())
    }

    /// Tries the fast paths; false if the call is left to the search.
    fn allocate_quickly(&mut self, values: &[f64], budget: f64, options: &Options) -> bool {
        if let Some(top_m) = &mut self.top_m {
            return top_m.allocate(values, budget, options, &mut self.allocation);
        }
        if self.taylor.is_none() || !(options.tolerance >= 0.0) {
            return false;
        }
        if self.prepared.leaves_little(budget) {
            return false;
        }
        let needs_start = self.taylor.as_ref().is_some_and(TaylorSolver::needs_start);
        let start = if needs_start { self.taylor_start(values, budget) } else { None };
        let Self { taylor: Some(taylor), allocation, prepared, .. } = self else { return false };
        let output = Output { spend: &mut allocation.spend, success: &mut allocation.success };
        let solution = taylor.allocate(&mut prepared.concave, values, budget, output, start);
        solution.is_some_and(|solution| self.accept(solution, budget, options))
    }

    /// A multiplier for the Taylor expansion to start from: that of the last call, or of a sample
    /// of the tasks.
    #[inline(never)]
    fn taylor_start(&mut self, values: &[f64], budget: f64) -> Option<f64> {
        let last = self.last_multiplier.map(|multiplier| multiplier * self.prepared.value_scale);
        last.filter(|&multiplier| multiplier > 0.0).or_else(|| {
            let has_sample = self.prepared.has_sample();
            if !has_sample || self.check(values, budget, &Options::default()).is_err() {
                return None;
            }
            self.prepared.load_sample(values, budget);
            self.relaxation.sample_multiplier(self.prepared.view())
        })
    }

    /// Takes the solution of a fast path; always true.
    fn accept(&mut self, solution: Solution, budget: f64, options: &Options) -> bool {
        let allocation = &mut self.allocation;
        allocation.budget = budget;
        allocation.value = solution.value;
        allocation.upper_bound = solution.upper_bound;
        allocation.set_price(solution.multiplier);
        (allocation.unspent, allocation.unspent_reason) = (0.0, None);
        (allocation.nodes, allocation.labels) = (1, 0);
        allocation.status = allocation.status_within(options.tolerance);
        (self.last_multiplier, self.prepared.value_scale) = (Some(solution.multiplier), 1.0);
        true
    }

    fn check(&self, values: &[f64], budget: f64, options: &Options) -> Result<(), AllocationError> {
        let prepared = &self.prepared;
        if values.len() != prepared.curves.len() {
            return Err(AllocationError::ValueCount {
                expected: prepared.curves.len(),
                got: values.len(),
            });
        }
        if !are_valid(values) {
            let bad = values.iter().enumerate().find(|(_, value)| !is_valid(value));
            return bad
                .map_or(Ok(()), |(task, &value)| Err(AllocationError::BadValue { task, value }));
        }
        if !(options.tolerance >= 0.0) {
            return Err(AllocationError::BadTolerance(options.tolerance));
        }
        self.check_budget(budget)
    }

    /// Checks that the budget is valid and covers the lower bounds.
    #[inline]
    pub(crate) fn check_budget(&self, budget: f64) -> Result<(), AllocationError> {
        let is_valid = budget == 0.0 || AMOUNT_RANGE.contains(&budget);
        if is_valid && self.prepared.is_covered(budget) {
            return Ok(());
        }
        Err(if is_valid { self.infeasible(budget) } else { AllocationError::BadBudget(budget) })
    }

    #[cold]
    fn infeasible(&self, budget: f64) -> AllocationError {
        AllocationError::Infeasible {
            needed: self.prepared.min_total(),
            budget,
            largest_lower_bounds: self.prepared.largest_lower_bounds(),
        }
    }
}

/// The number itself, or zero if it is subnormal.
fn normal_or_zero(number: f64) -> f64 {
    if number < f64::MIN_POSITIVE { 0.0 } else { number }
}

fn is_valid(value: &f64) -> bool {
    *value >= 0.0 && *value < f64::INFINITY
}

/// Whether all values are valid, in a form that the compiler vectorises.
fn are_valid(values: &[f64]) -> bool {
    let (chunks, rest) = values.as_chunks::<8>();
    let (mut least, mut odd) = ([0.0; 8], [0.0; 8]);
    for chunk in chunks {
        for lane in 0..8 {
            least[lane] = if chunk[lane] < least[lane] { chunk[lane] } else { least[lane] };
            // Zero for every finite number, NaN for the others.
            odd[lane] += chunk[lane] * 0.0;
        }
    }
    rest.iter().all(is_valid) && least == [0.0; 8] && odd == [0.0; 8]
}
