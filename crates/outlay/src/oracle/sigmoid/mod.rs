//! Hill and logistic tasks in flat arrays: from a vertex of the envelope along one chord to a
//! concave branch.
//!
//! That is the envelope of nearly every S-shaped task. What a multiplier needs of all of them
//! (where each one's chord is tied, and by how much it jumps) is one pass; the spends of those on
//! their branch are found four at a time ([`active_set`]). A task whose domain leaves it another
//! envelope is one of the `others`, which the search looks at one by one.

mod active_set;
mod hill;
mod logistic;

use pulp::Simd;

use super::batch::Split;
use super::domain::{Domain, Form, Smooth};
use super::envelope::Envelope;
use super::four::Four;
use super::multiplier::{Breakpoint, Breakpoints};
use crate::curve::Curve;
pub(super) use active_set::{ActiveSet, Aggregate, Assignment, TiedTask};
use hill::HillFamily;
use logistic::LogisticFamily;

/// What a family computes, four curves side by side.
trait Family {
    /// The numbers of a curve that every multiplier needs, and one that goes into its level;
    /// nothing for other families.
    fn params(smooth: &Smooth) -> Option<([f64; 4], f64)>;
    /// What weights make of that number.
    fn level<S: Simd>(weight: Four<S>, number: Four<S>) -> Four<S>;
    /// How far along the branch a spend is, in the family's own measure.
    fn position(params: [f64; 4], spend: f64) -> f64;
    /// The best on the branch at a multiplier; keeps what the next multiplier starts from.
    fn demand<S: Simd>(simd: S, curves: &mut CurveLanes, multiplier: Multiplier) -> Demands<S>;
    /// The probabilities of success, before floor and ceiling, at spends above zero.
    fn success<S: Simd>(params: [Four<S>; 4], spend: Four<S>) -> Four<S>;
    /// Where a domain is in the family's batch.
    fn place(sigmoids: &Sigmoids, domain: u32) -> Option<usize>;
}

/// Four curves on their branch.
#[derive(Debug, Clone, Copy)]
struct CurveLanes {
    params: [[f64; 4]; 4],
    level: [f64; 4],
    /// Where the chord touches the branch, in the family's measure: at the tie and below it no
    /// spend is before.
    tangent_point: [f64; 4],
    /// Where the last multiplier left each curve, and how fast it moved with the multiplier's
    /// logarithm.
    place: [f64; 4],
    rate: [f64; 4],
}

/// What four curves respond.
#[derive(Clone, Copy)]
struct Demands<S: Simd> {
    spend: Four<S>,
    /// The spends' decrease per unit of the multiplier's logarithm, and by how much less that is a
    /// unit later.
    sensitivity: Four<S>,
    curvature: Four<S>,
    /// The probabilities of success, before floor and ceiling.
    success: Four<S>,
}

/// A multiplier to respond to.
#[derive(Debug, Clone, Copy)]
struct Multiplier {
    value: f64,
    log: f64,
    /// How far its logarithm is from that of the last multiplier, if there was one.
    step: Option<f64>,
}

/// All Hill and logistic tasks of a problem.
#[derive(Debug)]
pub(super) struct Sigmoids {
    hill: SigmoidTasks<HillFamily>,
    logistic: SigmoidTasks<LogisticFamily>,
    /// Where each domain is.
    places: Vec<FamilyIndex>,
    /// The domains that are not here, in this call.
    others: Vec<u32>,
}

/// See [`Sigmoids::are_few`].
const FEW_TASKS: usize = 256;

/// Where a domain is.
#[derive(Debug, Clone, Copy)]
enum FamilyIndex {
    Hill(usize),
    Logistic(usize),
    None,
}

/// The tasks of one family.
#[derive(Debug)]
struct SigmoidTasks<F> {
    domain: Vec<u32>,
    task: Vec<u32>,
    params: Vec<([f64; 4], f64)>,
    floor: Vec<f64>,
    height: Vec<f64>,
    /// The vertex, the slope of its chord, and the branch; a slope of zero where the envelope is
    /// another in this call.
    low: Vec<f64>,
    low_success: Vec<f64>,
    slope: Vec<f64>,
    jump: Vec<f64>,
    start: Vec<f64>,
    end: Vec<f64>,
    tangent_point: Vec<f64>,
    /// The multiplier at which each task's chord is tied in this call, and what the vertex is
    /// worth.
    tie_multiplier: Vec<f64>,
    low_value: Vec<f64>,
    /// Some vertex is worth something.
    has_low_value: bool,
    family: std::marker::PhantomData<F>,
}

impl Sigmoids {
    pub(super) fn new(domains: &[Domain], curves: &[Curve]) -> Self {
        let (mut hill, mut logistic) = (SigmoidTasks::new(), SigmoidTasks::new());
        let place = |(position, domain): (usize, &Domain)| {
            let (Form::Smooth(smooth), Some(curve)) = (&domain.form, curves.get(domain.task))
            else {
                return FamilyIndex::None;
            };
            if let Some(place) = hill.push(position, domain.task, smooth, curve) {
                return FamilyIndex::Hill(place);
            }
            logistic
                .push(position, domain.task, smooth, curve)
                .map_or(FamilyIndex::None, FamilyIndex::Logistic)
        };
        let places = domains.iter().enumerate().map(place).collect();
        Self { hill, logistic, places, others: Vec::new() }
    }

    /// The domains that the search has to look at one by one.
    pub(super) fn others(&self) -> &[u32] {
        &self.others
    }

    pub(super) fn is_empty(&self) -> bool {
        self.hill.task.is_empty() && self.logistic.task.is_empty()
    }

    /// To be called before the envelopes of a call are told.
    pub(super) fn clear(&mut self) {
        self.others.clear();
        self.hill.has_low_value = false;
        self.logistic.has_low_value = false;
        self.hill.low_value.fill(0.0);
        self.logistic.low_value.fill(0.0);
    }

    /// Takes the envelope of a domain in this call.
    pub(super) fn set_envelope(&mut self, domain: usize, envelope: &Envelope) {
        let is_here = match self.places[domain] {
            FamilyIndex::Hill(place) => self.hill.set_envelope(place, envelope),
            FamilyIndex::Logistic(place) => self.logistic.set_envelope(place, envelope),
            FamilyIndex::None => false,
        };
        if !is_here {
            self.others.push(domain as u32);
        }
    }

    /// Takes the weights of a call.
    pub(super) fn load(&mut self, weights: &[f64]) {
        self.hill.load(weights);
        self.logistic.load(weights);
    }

    fn place(&self, domain: u32) -> FamilyIndex {
        self.places[domain as usize]
    }

    /// Whether a domain is here in this call.
    pub(super) fn has(&self, domain: u32) -> bool {
        match self.place(domain) {
            FamilyIndex::Hill(place) => self.hill.slope[place] > 0.0,
            FamilyIndex::Logistic(place) => self.logistic.slope[place] > 0.0,
            FamilyIndex::None => false,
        }
    }

    /// The most that all can usefully take above their lower bounds.
    pub(super) fn max_demand(&self) -> f64 {
        self.hill.max_demand() + self.logistic.max_demand()
    }

    /// The same of one domain.
    pub(super) fn max_demand_of(&self, domain: u32) -> f64 {
        match self.place(domain) {
            FamilyIndex::Hill(place) => self.hill.max_demand_of(place),
            FamilyIndex::Logistic(place) => self.logistic.max_demand_of(place),
            FamilyIndex::None => 0.0,
        }
    }

    /// Writes the lower bound of a domain.
    pub(super) fn assign_low(&self, domain: u32, split: &mut Split<'_>) {
        match self.place(domain) {
            FamilyIndex::Hill(place) => self.hill.assign_low(place, split),
            FamilyIndex::Logistic(place) => self.logistic.assign_low(place, split),
            FamilyIndex::None => {}
        }
    }

    /// So few that all may be looked at for every node.
    pub(super) fn are_few(&self) -> bool {
        self.hill.task.len() + self.logistic.task.len() <= FEW_TASKS
    }

    /// Adds the jumps of all but those narrowed.
    pub(super) fn load_breakpoints(&self, narrowed: &[u32], jumps: &mut Breakpoints) {
        self.hill.load_breakpoints(narrowed, jumps);
        self.logistic.load_breakpoints(narrowed, jumps);
    }
}

impl<F: Family> SigmoidTasks<F> {
    fn new() -> Self {
        let none = Vec::new;
        Self {
            domain: Vec::new(),
            task: Vec::new(),
            params: Vec::new(),
            floor: none(),
            height: none(),
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

    /// Takes a task if it is of this family, and says where it is.
    fn push(
        &mut self,
        domain: usize,
        task: usize,
        smooth: &Smooth,
        curve: &Curve,
    ) -> Option<usize> {
        let params = F::params(smooth)?;
        let place = self.task.len();
        self.domain.push(domain as u32);
        self.task.push(task as u32);
        self.params.push(params);
        self.floor.push(curve.floor());
        self.height.push(curve.height());
        let Self {
            low,
            low_success,
            slope,
            jump,
            start,
            end,
            tangent_point,
            tie_multiplier,
            low_value,
            ..
        } = self;
        for params in
            [low, low_success, slope, jump, start, end, tangent_point, tie_multiplier, low_value]
        {
            params.push(0.0);
        }
        Some(place)
    }

    /// Takes the envelope of a task; false if it is not of the kind that is handled here.
    fn set_envelope(&mut self, place: usize, envelope: &Envelope) -> bool {
        self.slope[place] = 0.0;
        self.jump[place] = 0.0;
        self.low_success[place] = 0.0;
        let (&[vertex], Some(branch)) = (&envelope.vertices[..], envelope.branch) else {
            return false;
        };
        let params = self.params[place].0;
        // Where the branch begins at the inflection itself, the family's measure has no slope to
        // follow.
        let is_flat_start = vertex.slope == f64::INFINITY && branch.start > 0.0;
        if is_flat_start || !(vertex.slope > 0.0) {
            return false;
        }
        self.low[place] = vertex.spend;
        self.low_success[place] = vertex.success;
        self.has_low_value |= vertex.success > 0.0;
        self.slope[place] = vertex.slope;
        self.jump[place] = branch.tangent_point - vertex.spend;
        self.start[place] = branch.start;
        self.end[place] = branch.end;
        self.tangent_point[place] = F::position(params, branch.tangent_point);
        true
    }

    fn load(&mut self, weights: &[f64]) {
        for ((tie_multiplier, slope), &domain) in
            self.tie_multiplier.iter_mut().zip(&self.slope).zip(&self.domain)
        {
            let weight = weights[domain as usize];
            // An infinite slope is none for a task that is worth nothing.
            *tie_multiplier = if weight > 0.0 { weight * slope } else { 0.0 };
        }
        if self.has_low_value {
            for ((value, success), &domain) in
                self.low_value.iter_mut().zip(&self.low_success).zip(&self.domain)
            {
                *value = weights[domain as usize] * success;
            }
        }
    }

    /// Writes the lower bound of a task.
    fn assign_low(&self, place: usize, split: &mut Split<'_>) {
        let task = self.task[place] as usize;
        split.spend[task] = self.low[place];
        split.success[task] = self.floor[place] + self.height[place] * self.low_success[place];
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

    fn max_demand_of(&self, place: usize) -> f64 {
        if self.tie_multiplier[place] > 0.0 { self.end[place] - self.low[place] } else { 0.0 }
    }
}

/// A walk along domains that are narrowed, beside one along all.
struct NarrowedCursor<'a>(&'a [u32]);

impl NarrowedCursor<'_> {
    /// Whether a domain, not before the last one asked for, is narrowed.
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
