//! The items of all step curves in flat arrays, and the LP relaxation over them.
//!
//! Spends are counted in whole units of the budget, so sums do not depend on their order and the
//! multiplier found is the same for every start of the search.

use crate::curve::{Curve, JUMP_TOLERANCE};
use crate::numeric::compensated::Sum;
use crate::oracle::domain::{Domain, Form};
use crate::oracle::envelope::Envelope;
use crate::oracle::multiplier::tie_order;
use crate::oracle::prepared::max_spend;
use crate::oracle::tolerances::{BOUND_ROUNDING, BUDGET_TOLERANCE};

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

/// The breakpoint of an edge: below `multiplier` demand is larger by `jump` units. Sums of jumps
/// saturate; they are only compared with the residual budget.
#[derive(Debug, Clone, Copy)]
struct UnitBreakpoint {
    multiplier: f64,
    jump: i64,
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
    /// The residual budget and the budget for which the items were listed, and the residual budget
    /// that all items need.
    residual: f64,
    budget: f64,
    max_needed: f64,
    /// Whether a spend may reach a jump that is not an item: then only the curves give the success.
    has_close_jumps: bool,

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

/// The solution of the LP relaxation.
#[derive(Debug, Clone, Copy)]
pub(in crate::oracle) struct LpRelaxation {
    pub(in crate::oracle) multiplier: f64,
    /// An upper bound on the value of every solution.
    pub(in crate::oracle) bound: f64,
    /// The value of the feasible solution written, and its unspent budget.
    pub(in crate::oracle) value: f64,
    pub(in crate::oracle) left: f64,
    /// The value of the LP-optimal items and their spend in units.
    pub(in crate::oracle) lp_value: f64,
    pub(in crate::oracle) lp_units: i64,
    /// The LP solution is integral, hence optimal.
    pub(in crate::oracle) is_integral: bool,
}

/// The input of a multiple-choice knapsack.
#[derive(Debug, Clone, Copy)]
pub(in crate::oracle) struct MckpInput<'a> {
    pub(in crate::oracle) weights: &'a [f64],
    pub(in crate::oracle) budget: f64,
    pub(in crate::oracle) residual: f64,
}

/// The budget in units.
pub(in crate::oracle) const UNITS: f64 = (1u64 << 60) as f64;
/// The capacity in units. Spends that exceed the budget by rounding still fit: a jump counts as
/// reached 2^-40 before its spend.
pub(in crate::oracle) const CAPACITY: i64 = (1 << 60) + (1 << 20);
/// A cold search for the multiplier starts with this many edges.
const SAMPLE: usize = 256;
/// The assumed relative distance of the multiplier from the last one.
const WARM_DRIFT: f64 = 0.01;

/// A spend in whole units, rounded down: a feasible solution stays feasible.
pub(in crate::oracle) fn units(spend: f64, units_per_spend: f64) -> i64 {
    (spend * units_per_spend) as i64
}

impl StepItems {
    /// Lists the items that the budget allows. The domains from `plain` on change in every call.
    pub(in crate::oracle) fn load(
        &mut self,
        domains: &[Domain],
        curves: &[Curve],
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
            self.has_close_jumps = false;
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
        let high = domain.max.min(max_spend(low, self.residual, self.budget));
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
        let items = &self.items[first..];
        let after = spend.get(if is_closed { begin } else { end });
        let nexts = items[1..].iter().map(|item| item.spend).chain(after.copied());
        self.has_close_jumps |=
            items.iter().zip(nexts).any(|(item, next)| next * JUMP_TOLERANCE <= item.spend);
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

    /// The vertices of a domain as items, and the position of the LP-optimal one.
    pub(in crate::oracle) fn vertices(&self, domain: usize) -> (&[u32], usize) {
        let vertices = &self.vertices
            [self.vertex_starts[domain] as usize..self.vertex_starts[domain + 1] as usize];
        (vertices, self.lp_vertex[domain] as usize)
    }

    /// Solves the LP relaxation: writes the LP-optimal items, their smallest reduced costs, and a
    /// feasible solution.
    pub(in crate::oracle) fn relax(
        &mut self,
        input: MckpInput<'_>,
        last_multiplier: Option<f64>,
    ) -> LpRelaxation {
        let per_spend = UNITS / input.budget;
        let multiplier = if input.residual > 0.0 {
            self.find_multiplier(input, per_spend, last_multiplier)
        } else {
            f64::INFINITY
        };
        self.assign_lp(multiplier);
        let (mut value, mut above, mut lp_units) = (Sum::default(), Sum::default(), 0);
        self.min_reduced_cost.clear();
        let mut starts = self.starts.iter();
        let places =
            self.vertex_starts.windows(2).zip(&self.lp_vertex).zip(self.lp_item.iter_mut());
        for (((vertex_starts, &vertex), lp_item), &weight) in places.zip(input.weights) {
            let vertices = &self.vertices[vertex_starts[0] as usize..vertex_starts[1] as usize];
            let low = self.items[starts.next().map_or(0, |&start| start as usize)];
            *lp_item = vertices[vertex as usize];
            let item = self.items[*lp_item as usize];
            value.add(weight * item.success);
            above.add(item.spend - low.spend);
            lp_units += units(item.spend, per_spend);
            self.min_reduced_cost.push(min_reduced_cost(
                &self.items,
                vertices,
                vertex as usize,
                weight,
                multiplier,
            ));
        }
        let (lp_value, demand) = (value.value(), above.value());
        if !(input.residual > 0.0) {
            self.chosen.clone_from(&self.lp_item);
            let bound = lp_value + BOUND_ROUNDING * lp_value;
            return LpRelaxation {
                multiplier: 0.0,
                bound,
                value: lp_value,
                left: 0.0,
                lp_value,
                lp_units,
                is_integral: true,
            };
        }
        // The dual function at this multiplier.
        let bound = lp_value + multiplier * (input.residual - demand);
        let bound = bound + BOUND_ROUNDING * (bound.abs() + multiplier * input.residual + lp_value);
        let mut root = LpRelaxation {
            multiplier,
            bound,
            value: lp_value,
            left: 0.0,
            lp_value,
            lp_units,
            is_integral: true,
        };
        self.fill_ties(input, per_spend, &mut value, &mut above, &mut root);
        root.left = input.residual - above.value();
        root
    }

    /// Finds the LP-optimal vertex of each domain and lists the tied edges.
    fn assign_lp(&mut self, multiplier: f64) {
        let count = self.len();
        self.lp_item.resize(count, 0);
        self.lp_vertex.clear();
        self.lp_vertex.resize(count, 0);
        self.tied.clear();
        if multiplier == f64::INFINITY {
            return;
        }
        for (place, (edge, &at)) in self.edges.iter().zip(&self.multipliers).enumerate() {
            self.lp_vertex[edge.domain as usize] += u32::from(at > multiplier);
            if at == multiplier && multiplier > 0.0 {
                self.tied.push(place as u32);
            }
        }
    }

    /// Fills the residual budget with the tied domains, by decreasing weight, then by index; at
    /// most one of them is left inside an edge.
    fn fill_ties(
        &mut self,
        input: MckpInput<'_>,
        per_spend: f64,
        value: &mut Sum,
        above: &mut Sum,
        root: &mut LpRelaxation,
    ) {
        let mut tied = std::mem::take(&mut self.tied);
        let key = |edge: &u32| {
            let domain = self.edges[*edge as usize].domain as usize;
            (input.weights[domain], self.tasks[domain] as usize)
        };
        tied.sort_unstable_by(|a, b| tie_order(key(a), key(b)).then(a.cmp(b)));
        let mut fractional = None;
        for &place in &tied {
            let domain = self.edges[place as usize].domain as usize;
            let vertex = place as usize + domain;
            let (from, to) = (self.vertices[vertex], self.vertices[vertex + 1]);
            let (here, there) = (self.item(from), self.item(to));
            let jump = units(there.spend, per_spend) - units(here.spend, per_spend);
            // A second tied edge of a domain can only follow the first.
            if self.lp_item[domain] != from || root.lp_units + jump > CAPACITY {
                fractional = fractional.or(Some(domain));
                continue;
            }
            self.lp_item[domain] = to;
            self.lp_vertex[domain] += 1;
            // Going back costs nothing.
            self.min_reduced_cost[domain] = 0.0;
            root.lp_units += jump;
            value.add(input.weights[domain] * (there.success - here.success));
            above.add(there.spend - here.spend);
        }
        root.lp_value = value.value();
        self.chosen.clone_from(&self.lp_item);
        root.is_integral = fractional.is_none() || above.value() >= input.residual;
        if let Some(domain) = fractional {
            // The largest item under the edge that fits.
            let here = self.item(self.lp_item[domain]);
            let capacity_left = CAPACITY - root.lp_units + units(here.spend, per_spend);
            let later =
                &self.items[self.lp_item[domain] as usize + 1..self.starts[domain + 1] as usize];
            let best_fitting =
                later.partition_point(|item| units(item.spend, per_spend) <= capacity_left);
            self.chosen[domain] += best_fitting as u32;
            let there = self.item(self.chosen[domain]);
            value.add(input.weights[domain] * (there.success - here.success));
            above.add(there.spend - here.spend);
        }
        root.value = value.value();
        self.tied = tied;
    }

    /// The largest multiplier at which demand, ties included, exhausts the residual budget; zero if
    /// the largest demand does not.
    fn find_multiplier(
        &mut self,
        input: MckpInput<'_>,
        per_spend: f64,
        last_multiplier: Option<f64>,
    ) -> f64 {
        self.load_jumps(input.budget, per_spend);
        let target = units(input.residual * (1.0 - BUDGET_TOLERANCE), per_spend);
        let mut max_demand = 0i64;
        self.multipliers.clear();
        self.multipliers.extend(self.edges.iter().zip(&self.jumps).map(|(edge, &jump)| {
            let multiplier = input.weights[edge.domain as usize] * edge.slope;
            max_demand = max_demand.saturating_add(if multiplier > 0.0 { jump } else { 0 });
            multiplier
        }));
        if max_demand < target {
            return 0.0;
        }
        let near = last_multiplier.filter(|multiplier| *multiplier > 0.0 && multiplier.is_finite());
        let (mut low, mut high) = near.map_or_else(
            || self.sampled_bracket(target),
            |multiplier| (multiplier * (1.0 - WARM_DRIFT), multiplier * (1.0 + WARM_DRIFT)),
        );
        loop {
            let (above, inside) = self.candidates_between(low, high);
            if above >= target {
                (low, high) = (high, f64::INFINITY);
            } else if above.saturating_add(inside) < target {
                (low, high) = (0.0, low);
            } else {
                return self.multiplier_among_candidates(target - above);
            }
        }
    }

    fn load_jumps(&mut self, budget: f64, per_spend: f64) {
        if self.jumps_budget == budget {
            return;
        }
        self.jumps_budget = budget;
        self.jumps.clear();
        for place in 0..self.edges.len() {
            let vertex = place + self.edges[place].domain as usize;
            let cost =
                |vertex: usize| units(self.items[self.vertices[vertex] as usize].spend, per_spend);
            self.jumps.push(cost(vertex + 1) - cost(vertex));
        }
    }

    /// An interval that probably contains the multiplier, from a sample of the edges.
    fn sampled_bracket(&mut self, target: i64) -> (f64, f64) {
        let stride = self.edges.len().div_ceil(SAMPLE);
        if stride <= 1 {
            return (0.0, f64::INFINITY);
        }
        self.candidates.clear();
        self.candidates.extend((0..self.edges.len()).step_by(stride).map(|place| UnitBreakpoint {
            multiplier: self.multipliers[place],
            jump: self.jumps[place],
        }));
        self.candidates.sort_unstable_by(|a, b| b.multiplier.total_cmp(&a.multiplier));
        let mut taken = 0;
        let place = self.candidates.iter().position(|candidate| {
            taken += candidate.jump / SAMPLE as i64;
            taken >= target / (stride * SAMPLE) as i64
        });
        let place = place.unwrap_or(self.candidates.len());
        const SPREAD: usize = 16;
        let high = place
            .checked_sub(SPREAD)
            .map_or(f64::INFINITY, |place| self.candidates[place].multiplier);
        let low = self.candidates.get(place + SPREAD).map_or(0.0, |candidate| candidate.multiplier);
        (low, high)
    }

    /// Lists the edges with a multiplier in `(low, high]`; returns the sum of the jumps above, and
    /// of the listed ones.
    fn candidates_between(&mut self, low: f64, high: f64) -> (i64, i64) {
        let (mut above, mut inside, mut count) = (0i64, 0i64, 0);
        self.candidates
            .resize(self.multipliers.len() + 1, UnitBreakpoint { multiplier: 0.0, jump: 0 });
        for (&multiplier, &jump) in self.multipliers.iter().zip(&self.jumps) {
            let (is_above, is_inside) =
                (multiplier > high, (multiplier > low) & (multiplier <= high));
            above = above.saturating_add(if is_above { jump } else { 0 });
            inside = inside.saturating_add(if is_inside { jump } else { 0 });
            // Branchless: the processor cannot predict which edges are inside.
            self.candidates[count] = UnitBreakpoint { multiplier, jump };
            count += usize::from(is_inside);
        }
        self.candidates.truncate(count);
        (above, inside)
    }

    /// The largest multiplier at which the listed edges add up to `target`.
    fn multiplier_among_candidates(&mut self, mut target: i64) -> f64 {
        let mut candidates = &mut self.candidates[..];
        let mut best = 0.0;
        while !candidates.is_empty() {
            let middle = candidates.len() / 2;
            let (below, pivot, above) = candidates
                .select_nth_unstable_by(middle, |a, b| a.multiplier.total_cmp(&b.multiplier));
            let beyond =
                above.iter().fold(0i64, |sum, candidate| sum.saturating_add(candidate.jump));
            if beyond >= target {
                candidates = above;
            } else if beyond.saturating_add(pivot.jump) >= target {
                return pivot.multiplier;
            } else {
                best = pivot.multiplier;
                target -= beyond + pivot.jump;
                candidates = below;
            }
        }
        best
    }

    /// Among domains with equal curves, bounds and weights the first get most: exchanges their
    /// items.
    pub(in crate::oracle) fn order_identical(&mut self, classes: &[Vec<u32>], weights: &[f64]) {
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

    /// Writes the success of each task by its item; false, without a change, if only the curves
    /// give it. Groups are omitted.
    pub(in crate::oracle) fn write_success(&self, success: &mut [f64]) -> bool {
        if self.has_close_jumps {
            return false;
        }
        let scales = self.floors.iter().zip(&self.heights);
        for ((&task, &chosen), (floor, height)) in self.tasks.iter().zip(&self.chosen).zip(scales) {
            success[task as usize] = floor + height * self.item(chosen).success;
        }
        true
    }
}

/// The smallest reduced cost of the items of a domain other than the LP-optimal one. Reduced costs
/// at the vertices grow away from it, and an item under an edge has at least the smaller one of its
/// ends: the items up to the neighbouring vertices are enough.
fn min_reduced_cost(
    items: &[Item],
    vertices: &[u32],
    lp_item: usize,
    weight: f64,
    multiplier: f64,
) -> f64 {
    if !(weight > 0.0) {
        return f64::INFINITY;
    }
    let (first, at) = (vertices[lp_item.max(1) - 1] as usize, vertices[lp_item] as usize);
    let last = vertices[(lp_item + 1).min(vertices.len() - 1)] as usize;
    let surplus = |item: &Item| weight * item.success - multiplier * item.spend;
    let most = |items: &[Item]| {
        items.iter().map(surplus).fold(f64::NEG_INFINITY, |a, b| if a > b { a } else { b })
    };
    let (below, above) = (most(&items[first..at]), most(&items[at + 1..last + 1]));
    surplus(&items[at]) - if below > above { below } else { above }
}

/// The residual budget that a domain needs to have all its items.
fn max_demand(domain: &Domain) -> f64 {
    let Form::Points { spend, .. } = &domain.form else { return 0.0 };
    spend.last().copied().unwrap_or(0.0).max(domain.at_least).min(domain.max) - domain.min
}
