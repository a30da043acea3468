//! The LP relaxation: LP-optimal items, their reduced costs, a bound and a feasible solution.

use super::{Item, MckpInput, StepItems, units};
use crate::numeric::compensated::{Sum, sum};
use crate::oracle::mckp::ExactBudget;
use crate::oracle::multiplier::tie_order;
use crate::oracle::tolerances::BOUND_ROUNDING;

/// The solution of the LP relaxation.
#[derive(Debug, Clone, Copy)]
pub(in crate::oracle) struct LpRelaxation {
    pub(in crate::oracle) multiplier: f64,
    /// The smallest multiplier that proves the bound.
    pub(in crate::oracle) price: f64,
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
    /// A jump fits as it is counted, but not the budget itself.
    pub(in crate::oracle) is_refused: bool,
}

impl StepItems {
    /// Solves the LP relaxation: writes the LP-optimal items, their smallest reduced costs, and a
    /// feasible solution.
    pub(in crate::oracle) fn relax(
        &mut self,
        input: MckpInput<'_>,
        last_multiplier: Option<f64>,
    ) -> LpRelaxation {
        let per_spend = input.units_per_spend();
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
        let mut root = LpRelaxation {
            multiplier: 0.0,
            price: 0.0,
            bound: lp_value + BOUND_ROUNDING * lp_value,
            value: lp_value,
            left: 0.0,
            lp_value,
            lp_units,
            is_integral: true,
            is_refused: false,
        };
        if !(input.residual > 0.0) {
            self.chosen.clone_from(&self.lp_item);
            return root;
        }
        // The dual function at this multiplier.
        let bound = lp_value + multiplier * (input.residual - demand);
        let rounding = BOUND_ROUNDING * (bound.abs() + multiplier * input.residual + lp_value);
        root.bound = bound + rounding + multiplier * input.lost_units();
        (root.multiplier, root.price) = (multiplier, multiplier);
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

    /// Whether the budget covers the LP-optimal items with one change, counted as `units`.
    fn covers(&self, input: MckpInput<'_>, units: i64, (domain, item): (usize, u32)) -> bool {
        ExactBudget::new(self, input, &self.lp_item)
            .covers(units, std::iter::once((domain as u32, item)))
    }

    /// Lowers chosen items, those with the smallest loss first, until the budget covers them; false
    /// if it covers them as they are. Only of more than ten thousand domains can the LP-optimal
    /// items exceed the budget by less than their rounding.
    fn lower_chosen(&mut self, input: MckpInput<'_>, lp_units: i64) -> bool {
        let budget = |steps: &Self, units| {
            ExactBudget::new(steps, input, &steps.chosen).covers(units, std::iter::empty())
        };
        let mut is_lowered = false;
        while !budget(self, if is_lowered { i64::MAX } else { lp_units }) {
            let loss = |domain: usize| {
                let (chosen, first) = (self.chosen[domain], self.starts[domain]);
                let success = |item: u32| self.item(item).success;
                let gain = || input.weights[domain] * (success(chosen) - success(chosen - 1));
                (chosen > first).then(gain)
            };
            let losses = (0..self.len()).filter_map(|domain| Some((loss(domain)?, domain)));
            let Some((_, domain)) = losses.min_by(|a, b| a.0.total_cmp(&b.0)) else { break };
            self.chosen[domain] -= 1;
            is_lowered = true;
        }
        is_lowered
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
            let is_counted =
                self.lp_item[domain] == from && root.lp_units + jump <= input.capacity();
            if !is_counted || !self.covers(input, root.lp_units + jump, (domain, to)) {
                root.is_refused |= is_counted;
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
        if fractional.is_none() {
            root.price = self.multipliers.iter().fold(0.0, |price: f64, &multiplier| {
                if multiplier < root.multiplier { price.max(multiplier) } else { price }
            });
        }
        self.chosen.clone_from(&self.lp_item);
        if self.lower_chosen(input, root.lp_units) {
            let terms = input.weights.iter().zip(&self.chosen);
            root.value = sum(terms.map(|(weight, &item)| weight * self.item(item).success));
            (root.is_integral, self.tied) = (false, tied);
            return;
        }
        root.is_integral = fractional.is_none() || above.value() >= input.residual;
        if let Some(domain) = fractional {
            // The largest item under the edge that fits.
            let here = self.item(self.lp_item[domain]);
            let capacity_left = input.capacity() - root.lp_units + units(here.spend, per_spend);
            let later =
                &self.items[self.lp_item[domain] as usize + 1..self.starts[domain + 1] as usize];
            let best_fitting =
                later.partition_point(|item| units(item.spend, per_spend) <= capacity_left);
            self.chosen[domain] += best_fitting as u32;
            let counted = |item: u32| {
                root.lp_units + units(self.item(item).spend, per_spend)
                    - units(here.spend, per_spend)
            };
            let mut item = self.chosen[domain];
            while item > self.lp_item[domain] && !self.covers(input, counted(item), (domain, item))
            {
                item -= 1;
            }
            self.chosen[domain] = item;
            let there = self.item(self.chosen[domain]);
            value.add(input.weights[domain] * (there.success - here.success));
            above.add(there.spend - here.spend);
        }
        root.value = value.value();
        self.tied = tied;
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
