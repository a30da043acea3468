//! The multiplier of the LP relaxation: a median search over the breakpoints of all edges.

use super::{Item, MckpInput, StepItems, units};
use crate::oracle::tolerances::BUDGET_TOLERANCE;

/// A cold search for the multiplier starts with this many edges.
const SAMPLE: usize = 256;
/// The assumed relative distance of the multiplier from the last one.
const WARM_DRIFT: f64 = 0.01;

/// The candidates have room for this many edges more than are listed: for all of 10^6 edges it would
/// take as much memory as their slopes.
const CHUNK: usize = 1 << 16;

/// The breakpoint of an edge: below `multiplier` demand is larger by `jump` units. Sums of jumps
/// saturate; they are only compared with the residual budget.
#[derive(Debug, Clone, Copy)]
pub(super) struct UnitBreakpoint {
    pub(super) multiplier: f64,
    pub(super) jump: i64,
}

impl StepItems {
    /// The largest multiplier at which demand, ties included, exhausts the residual budget; zero if
    /// the largest demand does not.
    pub(super) fn find_multiplier(
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
        let is_whole = |item: &Item| (item.spend * per_spend).fract() == 0.0;
        let are_whole =
            |ends: &&[u32]| self.items[ends[0] as usize..ends[1] as usize].iter().all(is_whole);
        self.inexact = self.starts.windows(2).filter(|ends| !are_whole(ends)).count() as i64;
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
        self.candidates.clear();
        let chunks = self.multipliers.chunks(CHUNK).zip(self.jumps.chunks(CHUNK));
        for (multipliers, jumps) in chunks {
            let padding = UnitBreakpoint { multiplier: 0.0, jump: 0 };
            self.candidates.resize(count + multipliers.len() + 1, padding);
            for (&multiplier, &jump) in multipliers.iter().zip(jumps) {
                let (is_above, is_inside) =
                    (multiplier > high, (multiplier > low) & (multiplier <= high));
                above = above.saturating_add(if is_above { jump } else { 0 });
                inside = inside.saturating_add(if is_inside { jump } else { 0 });
                // Branchless: the processor cannot predict which edges are inside.
                self.candidates[count] = UnitBreakpoint { multiplier, jump };
                count += usize::from(is_inside);
            }
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
}
