//! The items of all step curves in flat arrays, and the LP relaxation over them.
//!
//! Spends are counted in whole units of the budget, so sums do not depend on their order and the
//! multiplier found is the same for every start of the search.

mod lp_multiplier;
mod lp_relaxation;

use crate::curve::Curve;
use crate::oracle::classes::Classes;
use crate::oracle::curves::Curves;
use crate::oracle::domain::{Domain, Form};
use crate::oracle::envelope::Envelope;
use crate::oracle::prepared::{max_spend, power_of_two_near};
use lp_multiplier::UnitBreakpoint;
pub(in crate::oracle) use lp_relaxation::LpRelaxation;

/// An item: a spend and its success, before floor and ceiling.
#[derive(Debug, Clone, Copy)]
pub(in crate::oracle) struct Item {
    pub(in crate::oracle) spend: f64,
    pub(in crate::oracle) success: f64,
}

/// An edge of an envelope: its slope at weight one, and its domain.
#[derive(Debug, Clone, Copy)]
struct Edge {
    slope: f64,
    domain: u32,
}

/// The items of all domains, with the solution of the current call.
#[derive(Debug, Default)]
pub(in crate::oracle) struct StepItems {
    /// The first item of each domain, and the end of the last one's.
    starts: Vec<u32>,
    items: Vec<Item>,
    /// The task, or the position after the tasks, of each domain, and the floor and height of its
    /// curve.
    tasks: Vec<u32>,
    floors: Vec<f64>,
    heights: Vec<f64>,
    /// The first vertex of each domain, and the item of each vertex. Edge `c` of domain `k` starts
    /// at vertex `c + k`.
    vertex_starts: Vec<u32>,
    vertices: Vec<u32>,
    edges: Vec<Edge>,
    /// The jump of each edge, in units of `jumps_budget`.
    jumps: Vec<i64>,
    jumps_budget: f64,
    /// The domains with spends that are not whole numbers of these units.
    inexact: i64,
    /// The residual budget and the budget for which the items were listed, and the residual budget
    /// that all items need.
    residual: f64,
    budget: f64,
    max_needed: f64,

    /// The multiplier of each edge in this call.
    multipliers: Vec<f64>,
    candidates: Vec<UnitBreakpoint>,
    tied: Vec<u32>,
    /// The LP-optimal vertex of each domain, counted from its first.
    lp_vertex: Vec<u32>,
    /// The LP-optimal item of each domain, and the item of the solution.
    pub(in crate::oracle) lp_item: Vec<u32>,
    pub(in crate::oracle) chosen: Vec<u32>,
    /// The smallest reduced cost of the other items of each domain; infinite if there are none.
    pub(in crate::oracle) min_reduced_cost: Vec<f64>,
    envelope: Envelope,
}

/// The input of a multiple-choice knapsack.
#[derive(Debug, Clone, Copy)]
pub(in crate::oracle) struct MckpInput<'a> {
    pub(in crate::oracle) weights: &'a [f64],
    pub(in crate::oracle) budget: f64,
    pub(in crate::oracle) residual: f64,
    /// No solution that fits the budget has more units than this.
    pub(in crate::oracle) max_units: i64,
}

impl MckpInput<'_> {
    /// The units in a unit of spend: a power of two, so that no digit of a spend of at least 2^-7
    /// of the budget is lost.
    pub(in crate::oracle) fn units_per_spend(&self) -> f64 {
        0.5 * UNITS / power_of_two_near(self.budget)
    }

    /// The units that a solution may have: those of the budget, which are exact, or fewer.
    pub(in crate::oracle) fn capacity(&self) -> i64 {
        units(self.budget, self.units_per_spend()).min(self.max_units)
    }

    /// The spend that counting in whole units loses at most: one unit per domain. Every bound of
    /// the label search is raised by its price.
    pub(in crate::oracle) fn lost_units(&self) -> f64 {
        self.weights.len() as f64 / self.units_per_spend()
    }
}

/// The budget is between half of this and this in units.
const UNITS: f64 = (1u64 << 60) as f64;

/// A spend in whole units, rounded down: a feasible solution stays feasible. An infeasible one may
/// become feasible, see [`ExactBudget`](super::ExactBudget).
pub(in crate::oracle) fn units(spend: f64, units_per_spend: f64) -> i64 {
    (spend * units_per_spend) as i64
}

impl StepItems {
    /// Lists the items that the budget allows. The domains from `plain` on change in every call.
    pub(in crate::oracle) fn load(
        &mut self,
        domains: &[Domain],
        curves: &Curves,
        plain: usize,
        residual: f64,
        budget: f64,
    ) {
        let is_listed = self.starts.len() > plain
            && (residual == self.residual && budget == self.budget
                || self.max_needed <= residual.min(self.residual));
        let kept = if is_listed { plain } else { 0 };
        if !is_listed {
            self.tasks.clear();
            self.tasks.extend(domains.iter().map(|domain| domain.task as u32));
            let plain_curves = || domains[..plain].iter().map(|domain| &curves[domain.task]);
            self.floors.clear();
            self.floors.extend(plain_curves().map(Curve::floor));
            self.heights.clear();
            self.heights.extend(plain_curves().map(Curve::height));
            self.max_needed = domains[..plain].iter().map(max_demand).fold(0.0, f64::max);
        }
        (self.residual, self.budget) = (residual, budget);
        if kept == domains.len() {
            return;
        }
        self.truncate(kept);
        for domain in &domains[kept..] {
            self.push_domain(domain);
        }
        self.jumps_budget = f64::NAN;
    }

    /// Writes the weights: value times height, or one for a group.
    pub(in crate::oracle) fn load_weights(&self, values: &[f64], weights: &mut [f64]) {
        for ((weight, &task), height) in weights.iter_mut().zip(&self.tasks).zip(&self.heights) {
            *weight = values[task as usize] * height;
        }
        weights[self.heights.len()..].fill(1.0);
    }

    fn truncate(&mut self, domains: usize) {
        self.starts.truncate(domains + 1);
        self.vertex_starts.truncate(domains + 1);
        let (items, vertices) = (
            self.starts.last().copied().unwrap_or(0),
            self.vertex_starts.last().copied().unwrap_or(0),
        );
        self.items.truncate(items as usize);
        self.vertices.truncate(vertices as usize);
        self.edges.truncate(vertices as usize - domains.min(vertices as usize));
        if self.starts.is_empty() {
            self.starts.push(0);
            self.vertex_starts.push(0);
        }
    }

    /// Adds the items and the envelope of a domain.
    fn push_domain(&mut self, domain: &Domain) {
        let Form::Points { spend, success, .. } = &domain.form else { return };
        let low = domain.min;
        let high = domain.max.min(max_spend(low, self.residual));
        let first = self.items.len();
        self.items.push(Item { spend: low, success: domain.form.success(low) });
        let mut from = low;
        if low == 0.0 && domain.at_least > 0.0 && high >= domain.at_least {
            from = domain.at_least;
            self.items.push(Item { spend: from, success: domain.form.success(from) });
        }
        let is_closed = low == 0.0 && domain.at_least > high;
        let (begin, end) = (
            spend.partition_point(|&point| point <= from),
            spend.partition_point(|&point| point <= high),
        );
        if !is_closed {
            let more = spend[begin.min(end)..end].iter().zip(&success[begin.min(end)..end]);
            self.items.extend(more.map(|(&spend, &success)| Item { spend, success }));
        }
        self.envelope.build(domain, low, high);
        let mut item = first;
        for vertex in &self.envelope.vertices {
            while self.items[item].spend < vertex.spend {
                item += 1;
            }
            self.vertices.push(item as u32);
        }
        let owner = self.starts.len() as u32 - 1;
        let slopes = self.envelope.vertices[..self.envelope.vertices.len() - 1]
            .iter()
            .map(|vertex| vertex.slope);
        self.edges.extend(slopes.map(|slope| Edge { slope, domain: owner }));
        self.starts.push(self.items.len() as u32);
        self.vertex_starts.push(self.vertices.len() as u32);
    }

    pub(in crate::oracle) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    pub(in crate::oracle) fn item(&self, item: u32) -> Item {
        self.items[item as usize]
    }

    /// The end of the items of a domain.
    pub(in crate::oracle) fn end(&self, domain: usize) -> usize {
        self.starts[domain + 1] as usize
    }

    pub(in crate::oracle) fn items(&self) -> &[Item] {
        &self.items
    }

    /// The units by which counting may understate the spend of a solution: one per domain whose
    /// spends are not whole numbers of units.
    pub(in crate::oracle) fn inexact(&self) -> i64 {
        self.inexact
    }

    /// The vertices of a domain as items, and the position of the LP-optimal one.
    pub(in crate::oracle) fn vertices(&self, domain: usize) -> (&[u32], usize) {
        let vertices = &self.vertices
            [self.vertex_starts[domain] as usize..self.vertex_starts[domain + 1] as usize];
        (vertices, self.lp_vertex[domain] as usize)
    }

    /// Among domains with equal curves, bounds and weights the first get most: exchanges their
    /// items.
    pub(in crate::oracle) fn order_identical(&mut self, classes: &Classes, weights: &[f64]) {
        for class in classes.iter().filter(|class| class.len() > 1) {
            for position in 1..class.len() {
                let mut place = position;
                while place > 0
                    && weights[class[place - 1] as usize] == weights[class[place] as usize]
                {
                    let (first, second) = (class[place - 1] as usize, class[place] as usize);
                    let steps = |domain: usize| self.chosen[domain] - self.starts[domain];
                    let (one, other) = (steps(first), steps(second));
                    if one >= other {
                        break;
                    }
                    (self.chosen[first], self.chosen[second]) =
                        (self.starts[first] + other, self.starts[second] + one);
                    place -= 1;
                }
            }
        }
    }

    /// Writes the spend of each task, or of the whole group.
    pub(in crate::oracle) fn write_spend(&self, spend: &mut [f64]) {
        for (&task, &chosen) in self.tasks.iter().zip(&self.chosen) {
            spend[task as usize] = self.item(chosen).spend;
        }
    }

    /// Writes the success of each task by its item. Groups are omitted.
    pub(in crate::oracle) fn write_success(&self, success: &mut [f64]) {
        let scales = self.floors.iter().zip(&self.heights);
        for ((&task, &chosen), (floor, height)) in self.tasks.iter().zip(&self.chosen).zip(scales) {
            success[task as usize] = floor + height * self.item(chosen).success;
        }
    }
}

/// The residual budget that a domain needs to have all its items.
fn max_demand(domain: &Domain) -> f64 {
    let Form::Points { spend, .. } = &domain.form else { return 0.0 };
    spend.last().copied().unwrap_or(0.0).max(domain.at_least).min(domain.max) - domain.min
}
