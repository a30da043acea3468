//! The search of a prepared problem: the first relaxation, then the solvers that close its gap.

use super::branch_and_bound::{Stop, TreeResult};
use super::mckp::{MckpInput, StepItems};
use super::mixture;
use super::multiplier::{Relaxed, smallest_price};
use super::tolerances::OPTIMAL_GAP;
use super::{DEFAULT_TOLERANCE, Options, Oracle, Outcome};

/// The branch-and-bound nodes before funded S-curves are counted; most problems need fewer.
const SHORT_SEARCH: u64 = 100;

impl Oracle {
    /// Solves the prepared problem and leaves the solution in `best`.
    pub(super) fn search(&mut self, options: &Options) -> Outcome {
        if let Some(steps) = self.prepared.steps.take() {
            return self.search_steps(steps, options);
        }
        let root = self.relaxation.solve(
            self.prepared.view(),
            self.last_multiplier,
            f64::NEG_INFINITY,
            &mut self.best,
        );
        let abs_gap = options.tolerance * (root.value + self.prepared.constant);
        let settled = Outcome {
            value: root.value,
            bound: root.bound,
            multiplier: root.multiplier,
            node_multiplier: root.multiplier,
            price: self.price(root),
            left: Some(root.residual_left),
            nodes: 1,
            labels: 0,
        };
        if root.fractional.is_none() {
            return settled;
        }
        if root.bound - root.value <= abs_gap {
            return settled;
        }
        self.prepared.rank_classes();
        let cancel = self.cancel.clone();
        let stop = Stop { abs_gap, max_nodes: options.max_nodes, cancel: cancel.as_deref() };
        let is_mixture = !self.black_boxes.is_needed() && self.mixture.load(&self.prepared);
        if is_mixture {
            return self.close_gap_of_mixture(root, stop, settled, options);
        }
        let found = self.close_gap(root, stop);
        outcome_of_tree(settled, found)
    }

    /// The smallest multiplier that proves the bound of the first relaxation.
    fn price(&self, root: Relaxed) -> f64 {
        if root.is_smallest {
            root.multiplier
        } else {
            smallest_price(self.prepared.view(), root.multiplier)
        }
    }

    /// Closes the gap of the first relaxation of a mixture: a short branch and bound, then the
    /// search by labels, then the full branch and bound.
    fn close_gap_of_mixture(
        &mut self,
        root: Relaxed,
        stop: Stop<'_>,
        settled: Outcome,
        options: &Options,
    ) -> Outcome {
        let Self { prepared, relaxation, tree, best, trial, .. } = self;
        let short = Stop { max_nodes: stop.max_nodes.min(mixture::FIRST_NODES), ..stop };
        let found = tree.run(prepared, relaxation, root, short, best, trial);
        let mut outcome = outcome_of_tree(settled, found);
        self.search_mixture(options, &mut outcome);
        if outcome.bound <= outcome.value + stop.abs_gap || outcome.nodes >= stop.max_nodes {
            return outcome;
        }
        let Self { prepared, relaxation, tree, best, trial, .. } = self;
        relaxation.reset_all(prepared.view());
        let root = Relaxed { value: outcome.value, ..root };
        let left = Stop { max_nodes: stop.max_nodes - outcome.nodes, ..stop };
        let found = tree.run(prepared, relaxation, root, left, best, trial);
        if found.value > outcome.value {
            outcome.node_multiplier = found.node_multiplier;
        }
        outcome.value = found.value;
        outcome.bound = outcome.bound.min(found.bound);
        outcome.nodes += found.nodes;
        outcome
    }

    /// Closes the gap of the first relaxation: a short branch and bound, then a search over the
    /// number of funded S-curves, then the full branch and bound.
    fn close_gap(&mut self, root: Relaxed, stop: Stop<'_>) -> TreeResult {
        let Self { prepared, relaxation, tree, funded_count, best, trial, .. } = self;
        let short = Stop { max_nodes: stop.max_nodes.min(SHORT_SEARCH), ..stop };
        let first = tree.run(prepared, relaxation, root, short, best, trial);
        let is_done = |found: TreeResult| {
            found.bound <= found.value + stop.abs_gap || found.nodes >= stop.max_nodes
        };
        if is_done(first) {
            return first;
        }
        let half = Stop { max_nodes: stop.max_nodes / 2, ..stop };
        relaxation.reset_all(prepared.view());
        let second = funded_count.run(prepared, relaxation, root, first, half, (best, trial));
        if is_done(second) {
            return second;
        }
        relaxation.reset_all(prepared.view());
        let root = Relaxed { value: second.value, ..root };
        let left = Stop { max_nodes: stop.max_nodes.saturating_sub(second.nodes), ..stop };
        let third = tree.run(prepared, relaxation, root, left, best, trial);
        let is_better = third.value > second.value;
        TreeResult {
            value: third.value,
            bound: third.bound.min(second.bound),
            node_multiplier: (if is_better { third } else { second }).node_multiplier,
            nodes: second.nodes + third.nodes,
        }
    }

    /// Improves an outcome of branch and bound by the label search for mixtures.
    fn search_mixture(&mut self, options: &Options, outcome: &mut Outcome) {
        let enough =
            if options.tolerance > DEFAULT_TOLERANCE { options.tolerance } else { OPTIMAL_GAP };
        if outcome.bound - outcome.value <= enough * (outcome.value + self.prepared.constant) {
            return;
        }
        let known = mixture::Known {
            multiplier: outcome.multiplier,
            value: outcome.value,
            bound: outcome.bound,
        };
        let found = self.mixture.run(
            &self.prepared,
            &mut self.relaxation,
            known,
            options,
            (&mut self.best, &mut self.trial),
        );
        (outcome.value, outcome.bound, outcome.labels) = (found.value, found.bound, found.labels);
    }

    /// Solves a problem of step curves exactly.
    fn search_steps(&mut self, mut steps: Box<StepItems>, options: &Options) -> Outcome {
        let prepared = &mut self.prepared;
        let input = MckpInput {
            weights: &prepared.weights,
            budget: prepared.steps_budget(),
            residual: prepared.residual,
            max_units: i64::MAX,
        };
        let outcome = self.core.solve(&mut steps, input, self.last_multiplier, options);
        let has_equals = prepared.classes.len() < prepared.domains.len();
        if has_equals && outcome.left.is_none() {
            prepared.rank_classes();
            steps.order_identical(&prepared.classes, &prepared.weights);
        }
        steps.write_spend(&mut self.best);
        prepared.steps = Some(steps);
        for task in prepared.valueless() {
            self.best[task] = prepared.bounds.of(task).min;
        }
        outcome
    }
}

/// The outcome of a search that went on after the first relaxation, whose own was `settled`.
fn outcome_of_tree(settled: Outcome, found: TreeResult) -> Outcome {
    Outcome {
        value: found.value,
        bound: found.bound,
        node_multiplier: found.node_multiplier,
        nodes: found.nodes,
        left: None,
        ..settled
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use crate::{AllocationError, Curve, Options, Oracle, ProblemSpec, TaskSpec};

    /// Thresholds that are worth their cost, and perhaps a task of another family: labels are not
    /// distinguished by reduced costs.
    fn oracle(other: Option<Curve>) -> (Oracle, Vec<f64>) {
        let cost = |number: u32| 0.1 + 7.9 * (f64::from(number) * 0.618_034).fract();
        let curves = (1..100).map(|number| Curve::threshold(cost(number)).unwrap());
        let mut values: Vec<f64> = (1..100).map(cost).collect();
        values.extend(other.as_ref().map(|_| 0.1));
        let named = |(task, curve)| TaskSpec::new(format!("t{task}"), curve);
        let tasks = curves.chain(other).enumerate().map(named).collect();
        let problem = ProblemSpec { tasks, budget: BUDGET, ..ProblemSpec::default() };
        (Oracle::new(&problem.check().unwrap()), values)
    }

    const BUDGET: f64 = 100.0;

    #[test]
    fn a_cancelled_label_search_stops_before_its_next_stage() {
        for other in [None, Some(Curve::exponential(50.0).unwrap())] {
            let (mut first, values) = oracle(other.clone());
            let options = Options::default();
            let traced = |oracle: &Oracle| oracle.core.traced() + oracle.mixture.traced();
            first.allocate(&values, BUDGET, &options).unwrap();
            assert!(traced(&first) > 1000, "too easy: {}", traced(&first));
            let (mut oracle, _) = oracle(other);
            oracle.set_cancel(Some(Arc::new(AtomicBool::new(true))));
            let cancelled = oracle.allocate(&values, BUDGET, &options);
            assert_eq!(cancelled.unwrap_err(), AllocationError::Cancelled);
            assert!(traced(&oracle) < 100, "{}", traced(&oracle));
        }
    }
}
