//! The breakpoints and branch tasks of a search: those of a call, and those left in a bracket.

use super::bracket::Bracket;
use super::{BranchTask, Breakpoint, MultiplierSearch, View};
use crate::oracle::sigmoid::Sigmoids;

impl MultiplierSearch {
    /// Loads breakpoints and branch tasks; returns the largest total demand above the lower bounds.
    pub(super) fn load(&mut self, view: View<'_>) -> f64 {
        self.breakpoints.clear();
        self.branch_tasks.clear();
        self.dropped_jumps = 0.0;
        self.demands.reset();
        let mut max_demand =
            view.concave.load_breakpoints(&mut self.breakpoints) + self.load_sigmoids(view);
        for domain in view.individual() {
            let envelope = view.envelope(domain);
            let weight = view.weights[domain];
            let Some(last) = envelope.vertices.last().filter(|_| weight > 0.0) else { continue };
            for pair in envelope.vertices.windows(2) {
                self.breakpoints.push(Breakpoint {
                    multiplier: weight * pair[0].slope,
                    jump: pair[1].spend - pair[0].spend,
                });
            }
            if let Some(branch) = envelope.branch {
                let (tie_multiplier, low_spend) = (weight * last.slope, last.spend);
                self.branch_tasks.push(BranchTask {
                    domain: domain as u32,
                    tie_multiplier,
                    low_spend,
                    tangent_point: branch.tangent_point,
                });
                max_demand += branch.end - envelope.low;
            } else {
                max_demand += last.spend - envelope.low;
            }
        }
        self.breakpoints.seal();
        max_demand
    }

    /// Loads the sigmoid breakpoints of the tasks that are not narrowed; returns the largest demand
    /// of these tasks.
    pub(super) fn load_sigmoids(&mut self, view: View<'_>) -> f64 {
        self.sigmoid_breakpoints.clear();
        let Some(sigmoids) = view.sigmoids else { return 0.0 };
        if view.narrowed.is_empty() {
            self.active.clear();
            self.sigmoid_max_demand = sigmoids.max_demand();
        }
        self.load_sigmoid_breakpoints(view, sigmoids);
        self.sigmoid_max_demand
            - view.narrowed.iter().map(|&domain| sigmoids.max_demand_of(domain)).sum::<f64>()
    }

    /// Loads the sigmoid breakpoints of all tasks, or of the active set if there are many and it
    /// was chosen before.
    pub(super) fn load_sigmoid_breakpoints(&mut self, view: View<'_>, sigmoids: &Sigmoids) {
        self.sigmoid_breakpoints.clear();
        if view.narrowed.is_empty() || sigmoids.are_few() {
            sigmoids.load_breakpoints(view.narrowed, &mut self.sigmoid_breakpoints);
        } else {
            self.active.load_breakpoints(sigmoids, view.narrowed, &mut self.sigmoid_breakpoints);
        }
        self.sigmoid_breakpoints.seal();
    }

    /// Drops the breakpoints outside a bracket; false if there are too few for that.
    pub(super) fn narrow(&mut self, bracket: Bracket) -> bool {
        self.branch_tasks.retain(|task| task.tie_multiplier > bracket.below);
        self.sigmoid_breakpoints.narrow(bracket.below, bracket.above);
        let dropped_jumps = self.breakpoints.narrow(bracket.below, bracket.above);
        self.dropped_jumps += dropped_jumps.unwrap_or_default();
        dropped_jumps.is_some()
    }
}
