//! Hill and logistic tasks in flat arrays.
//!
//! The envelope of nearly every S-shaped task is one edge from the lower bound to a tangent point,
//! then the concave branch of the curve. Such a task has one breakpoint, its *tie multiplier*
//! (weight times the slope of the edge). All tie multipliers of a call are one pass over the
//! arrays, and the demands of the tasks on their branch are computed four at a time by the
//! [`active_set`]. Tasks whose interval leads to another envelope are listed in `others` and
//! evaluated individually.

mod active_set;
mod hill;
mod logistic;

use pulp::Simd;

use super::curves::Curves;
use super::domain::{Domain, Form};
use super::envelope::Envelope;
use super::multiplier::{Breakpoint, Breakpoints};
use crate::curve::Curve;
use crate::numeric::simd::F64x4;
use crate::oracle::evaluation::Output;
pub(super) use active_set::{ActiveSet, Aggregate, Assignment, TiedTask};
use hill::HillFamily;
use logistic::LogisticFamily;

/// The computations of a family, four curves per vector.
trait Family {
    /// The parameters of a curve and its part of the level; none for other families.
    fn params(curve: &Curve) -> Option<([f64; 4], f64)>;
    /// The level of a curve with this weight.
    fn level<S: Simd>(weight: F64x4<S>, number: F64x4<S>) -> F64x4<S>;
    /// The position of a spend on the branch, in the family's own variable.
    fn position(params: [f64; 4], spend: f64) -> f64;
    /// The demand on the branch at a multiplier; stores the start of the next evaluation.
    fn demand<S: Simd>(simd: S, curves: &mut CurveLanes, multiplier: Multiplier) -> Demands<S>;
    /// The probabilities of success before floor and ceiling, at spends above zero.
    fn success<S: Simd>(params: [F64x4<S>; 4], spend: F64x4<S>) -> F64x4<S>;
    /// The index of a domain among the tasks of the family.
    fn index(sigmoids: &Sigmoids, domain: u32) -> Option<usize>;
}

/// Four curves on their branch.
#[derive(Debug, Clone, Copy)]
struct CurveLanes {
    params: [[f64; 4]; 4],
    level: [f64; 4],
    /// The tangent point in the family's variable; below the tie multiplier no demand is less.
    tangent_point: [f64; 4],
    /// The position at the last multiplier, and its rate of change with the multiplier's logarithm.
    last_position: [f64; 4],
    rate: [f64; 4],
}

/// The demands of four curves.
#[derive(Clone, Copy)]
struct Demands<S: Simd> {
    spend: F64x4<S>,
    /// Sensitivity and curvature with respect to the multiplier's logarithm.
    sensitivity: F64x4<S>,
    curvature: F64x4<S>,
    /// The probabilities of success before floor and ceiling.
    success: F64x4<S>,
}

/// A multiplier to evaluate.
#[derive(Debug, Clone, Copy)]
struct Multiplier {
    value: f64,
    log: f64,
    /// The difference of its logarithm from the last one's, if there was one.
    step: Option<f64>,
}

/// All Hill and logistic tasks of a problem.
#[derive(Debug)]
pub(super) struct Sigmoids {
    hill: SigmoidTasks<HillFamily>,
    logistic: SigmoidTasks<LogisticFamily>,
    /// The index of each domain.
    indices: Vec<FamilyIndex>,
    /// The domains that are not in the arrays in this call.
    others: Vec<u32>,
}

/// Up to this many tasks every node evaluates all of them.
const FEW_TASKS: usize = 256;

/// The family of a domain and its index there.
#[derive(Debug, Clone, Copy)]
enum FamilyIndex {
    Hill(u32),
    Logistic(u32),
    None,
}

/// The tasks of one family.
#[derive(Debug)]
struct SigmoidTasks<F> {
    /// The curves of all tasks. Parameters are computed from them where they are used: those of 10^6
    /// tasks would take 56 MB.
    curves: Curves,
    domain: Vec<u32>,
    task: Vec<u32>,
    /// The vertex, the slope of its edge, and the branch; the slope is zero if the envelope has
    /// another form in this call.
    low: Vec<f64>,
    low_success: Vec<f64>,
    slope: Vec<f64>,
    jump: Vec<f64>,
    start: Vec<f64>,
    end: Vec<f64>,
    tangent_point: Vec<f64>,
    /// The tie multiplier of each task in this call.
    tie_multiplier: Vec<f64>,
    /// The value of each task at its vertex; empty if no task has value there.
    low_value: Vec<f64>,
    /// Some task has value at its vertex.
    has_low_value: bool,
    family: std::marker::PhantomData<F>,
}

impl Sigmoids {
    pub(super) fn new(domains: &[Domain], curves: &Curves) -> Self {
        let mut hill = SigmoidTasks::new(curves.clone());
        let mut logistic = SigmoidTasks::new(curves.clone());
        let index = |(position, domain): (usize, &Domain)| {
            if !matches!(domain.form, Form::Smooth(_)) {
                return FamilyIndex::None;
            }
            if let Some(index) = hill.push(position, domain.task) {
                return FamilyIndex::Hill(index as u32);
            }
            logistic
                .push(position, domain.task)
                .map_or(FamilyIndex::None, |index| FamilyIndex::Logistic(index as u32))
        };
        let indices = domains.iter().enumerate().map(index).collect();
        Self { hill, logistic, indices, others: Vec::new() }
    }

    /// The domains to be evaluated individually.
    pub(super) fn others(&self) -> &[u32] {
        &self.others
    }

    pub(super) fn is_empty(&self) -> bool {
        self.hill.task.is_empty() && self.logistic.task.is_empty()
    }

    /// Starts a call with new envelopes.
    pub(super) fn clear(&mut self) {
        self.others.clear();
        self.hill.has_low_value = false;
        self.logistic.has_low_value = false;
        self.hill.low_value.clear();
        self.logistic.low_value.clear();
    }

    /// Sets the envelope of a domain for this call.
    pub(super) fn set_envelope(&mut self, domain: usize, envelope: &Envelope) {
        let is_here = match self.indices[domain] {
            FamilyIndex::Hill(index) => self.hill.set_envelope(index as usize, envelope),
            FamilyIndex::Logistic(index) => self.logistic.set_envelope(index as usize, envelope),
            FamilyIndex::None => false,
        };
        if !is_here {
            self.others.push(domain as u32);
        }
    }

    /// Sets the weights of a call.
    pub(super) fn load(&mut self, weights: &[f64]) {
        self.hill.load(weights);
        self.logistic.load(weights);
    }

    fn index(&self, domain: u32) -> FamilyIndex {
        self.indices[domain as usize]
    }

    /// Whether a domain is in the arrays in this call.
    pub(super) fn has(&self, domain: u32) -> bool {
        match self.index(domain) {
            FamilyIndex::Hill(index) => self.hill.slope[index as usize] > 0.0,
            FamilyIndex::Logistic(index) => self.logistic.slope[index as usize] > 0.0,
            FamilyIndex::None => false,
        }
    }

    /// The largest demand of all tasks above their lower bounds.
    pub(super) fn max_demand(&self) -> f64 {
        self.hill.max_demand() + self.logistic.max_demand()
    }

    /// The largest demand of one domain above its lower bound.
    pub(super) fn max_demand_of(&self, domain: u32) -> f64 {
        match self.index(domain) {
            FamilyIndex::Hill(index) => self.hill.max_demand_of(index as usize),
            FamilyIndex::Logistic(index) => self.logistic.max_demand_of(index as usize),
            FamilyIndex::None => 0.0,
        }
    }

    /// Assigns the lower bound to a domain.
    pub(super) fn assign_low(&self, domain: u32, output: &mut Output<'_>) {
        match self.index(domain) {
            FamilyIndex::Hill(index) => self.hill.assign_low(index as usize, output),
            FamilyIndex::Logistic(index) => self.logistic.assign_low(index as usize, output),
            FamilyIndex::None => {}
        }
    }

    /// Whether there are few enough tasks to evaluate all of them in every node.
    pub(super) fn are_few(&self) -> bool {
        self.hill.task.len() + self.logistic.task.len() <= FEW_TASKS
    }

    /// Adds the breakpoints of all tasks that are not narrowed.
    pub(super) fn load_breakpoints(&self, narrowed: &[u32], jumps: &mut Breakpoints) {
        self.hill.load_breakpoints(narrowed, jumps);
        self.logistic.load_breakpoints(narrowed, jumps);
    }
}

impl<F: Family> SigmoidTasks<F> {
    fn new(curves: Curves) -> Self {
        let none = Vec::new;
        Self {
            curves,
            domain: Vec::new(),
            task: Vec::new(),
            low: none(),
            low_success: none(),
            slope: none(),
            jump: none(),
            start: none(),
            end: none(),
            tangent_point: none(),
            tie_multiplier: none(),
            low_value: none(),
            has_low_value: false,
            family: std::marker::PhantomData,
        }
    }

    /// Adds a task if it is of this family; returns its index.
    fn push(&mut self, domain: usize, task: usize) -> Option<usize> {
        self.curves.get(task).and_then(F::params)?;
        let index = self.task.len();
        self.domain.push(domain as u32);
        self.task.push(task as u32);
        let Self {
            low, low_success, slope, jump, start, end, tangent_point, tie_multiplier, ..
        } = self;
        for numbers in [low, low_success, slope, jump, start, end, tangent_point, tie_multiplier] {
            numbers.push(0.0);
        }
        Some(index)
    }

    fn curve(&self, index: usize) -> &Curve {
        &self.curves[self.task[index] as usize]
    }

    /// The parameters of a task and its part of the level. Every task is of the family.
    fn params(&self, index: usize) -> ([f64; 4], f64) {
        F::params(self.curve(index)).unwrap_or_default()
    }

    /// The success of a task, given that before floor and ceiling.
    fn scaled(&self, index: usize, success: f64) -> f64 {
        let curve = self.curve(index);
        curve.floor() + curve.height() * success
    }

    /// The value of a task at its vertex.
    fn low_value(&self, index: usize) -> f64 {
        self.low_value.get(index).copied().unwrap_or(0.0)
    }

    /// Sets the envelope of a task; false if it has another form.
    fn set_envelope(&mut self, index: usize, envelope: &Envelope) -> bool {
        self.slope[index] = 0.0;
        self.jump[index] = 0.0;
        self.low_success[index] = 0.0;
        let (&[vertex], Some(branch)) = (&envelope.vertices[..], envelope.branch) else {
            return false;
        };
        let params = self.params(index).0;
        // Where the branch begins at the inflection, the slope in the family's variable is zero.
        let is_flat_start = vertex.slope == f64::INFINITY && branch.start > 0.0;
        if is_flat_start || !(vertex.slope > 0.0) {
            return false;
        }
        self.low[index] = vertex.spend;
        self.low_success[index] = vertex.success;
        self.has_low_value |= vertex.success > 0.0;
        self.slope[index] = vertex.slope;
        self.jump[index] = branch.tangent_point - vertex.spend;
        self.start[index] = branch.start;
        self.end[index] = branch.end;
        self.tangent_point[index] = F::position(params, branch.tangent_point);
        true
    }

    fn load(&mut self, weights: &[f64]) {
        for ((tie_multiplier, slope), &domain) in
            self.tie_multiplier.iter_mut().zip(&self.slope).zip(&self.domain)
        {
            let weight = weights[domain as usize];
            // A task without weight is never tied, even with an infinite slope.
            *tie_multiplier = if weight > 0.0 { weight * slope } else { 0.0 };
        }
        if self.has_low_value {
            self.low_value.resize(self.task.len(), 0.0);
            for ((value, success), &domain) in
                self.low_value.iter_mut().zip(&self.low_success).zip(&self.domain)
            {
                *value = weights[domain as usize] * success;
            }
        }
    }

    /// Assigns the lower bound to a task.
    fn assign_low(&self, index: usize, output: &mut Output<'_>) {
        let task = self.task[index] as usize;
        output.spend[task] = self.low[index];
        output.success[task] = self.scaled(index, self.low_success[index]);
    }

    fn load_breakpoints(&self, narrowed: &[u32], jumps: &mut Breakpoints) {
        if narrowed.is_empty() {
            return jumps.extend(&self.tie_multiplier, &self.jump);
        }
        let mut narrowed = NarrowedCursor(narrowed);
        for ((&multiplier, &jump), &domain) in
            self.tie_multiplier.iter().zip(&self.jump).zip(&self.domain)
        {
            if !narrowed.has(domain) {
                jumps.push(Breakpoint { multiplier, jump });
            }
        }
    }

    fn max_demand(&self) -> f64 {
        let room = |((&tie_multiplier, &end), &low): ((&f64, &f64), &f64)| {
            if tie_multiplier > 0.0 { end - low } else { 0.0 }
        };
        self.tie_multiplier.iter().zip(&self.end).zip(&self.low).map(room).sum()
    }

    fn max_demand_of(&self, index: usize) -> f64 {
        if self.tie_multiplier[index] > 0.0 { self.end[index] - self.low[index] } else { 0.0 }
    }
}

/// A cursor over the narrowed domains, beside an iteration over all domains.
struct NarrowedCursor<'a>(&'a [u32]);

impl NarrowedCursor<'_> {
    /// Whether a domain is narrowed; domains must be asked for in increasing order.
    fn has(&mut self, domain: u32) -> bool {
        while let Some((&first, assign_low)) =
            self.0.split_first().filter(|(first, _)| **first <= domain)
        {
            if first == domain {
                return true;
            }
            self.0 = assign_low;
        }
        false
    }
}
