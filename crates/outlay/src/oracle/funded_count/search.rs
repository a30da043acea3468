//! The search over the number of funded tasks, then over the tasks themselves.

use super::FundedCount;
use super::bound::{Case, Decision, PARTIAL};
use super::minimum::Minimum;
use crate::oracle::branch_and_bound::{Open, Stop, TreeResult};
use crate::oracle::multiplier::{Relaxation, Relaxed};
use crate::oracle::prepared::PreparedProblem;
use crate::oracle::tolerances::BOUND_ROUNDING;

/// A case and a decision on one task beyond those of the parent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node {
    parent: Option<u32>,
    case: Case,
    decision: Option<(u32, Decision)>,
    multiplier: f64,
    /// The dual function was minimised.
    is_solved: bool,
    /// The task to branch on.
    branch: Option<u32>,
}

/// The parts of one search that others own.
struct Search<'a> {
    prepared: &'a mut PreparedProblem,
    relaxation: &'a mut Relaxation,
    stop: Stop<'a>,
    best: &'a mut [f64],
    trial: &'a mut [f64],
    found: TreeResult,
    /// The largest bound of the nodes that were given up.
    closed: f64,
}

impl Search<'_> {
    /// Whether nothing is gained from nodes with at most this bound.
    fn is_done(&self, bound: f64) -> bool {
        bound <= (self.found.value + self.stop.abs_gap).max(self.closed)
    }
}

/// Evaluations of curves that count as one node.
const EVALUATIONS_PER_NODE: u64 = 100;
/// The share of the tolerated gap to which a bound is minimised.
const ACCURACY: f64 = 0.1;
/// Intervals of the partly funded task below this share are not divided.
const MIN_SHARE: f64 = 1e-4;

impl FundedCount {
    /// Improves the solution in `best` and its bound, both in `found`.
    pub(in crate::oracle) fn run(
        &mut self,
        prepared: &mut PreparedProblem,
        relaxation: &mut Relaxation,
        root: Relaxed,
        found: TreeResult,
        stop: Stop<'_>,
        (best, trial): (&mut [f64], &mut [f64]),
    ) -> TreeResult {
        if !(root.multiplier > 0.0 && self.load(prepared)) {
            return found;
        }
        trial.copy_from_slice(best);
        self.nodes.clear();
        self.open.clear();
        let mut search =
            Search { prepared, relaxation, stop, best, trial, found, closed: f64::NEG_INFINITY };
        let unsearched = self.search_counts(&mut search, root.multiplier);
        self.search_tasks(&mut search);
        let still_open = self.open.peek().map_or(f64::NEG_INFINITY, |open| open.bound);
        let mut found = search.found;
        let bound = found.value.max(search.closed).max(still_open).max(unsearched);
        found.bound = found.bound.min(bound);
        found.nodes += self.used();
        found
    }

    fn used(&self) -> u64 {
        self.dual.evaluations / EVALUATIONS_PER_NODE
    }

    fn is_exhausted(&self, search: &Search<'_>) -> bool {
        search.found.nodes + self.used() >= search.stop.max_nodes || search.stop.is_cancelled()
    }

    /// Bounds every number of funded tasks, the most promising first. Returns the largest bound of
    /// those left out.
    fn search_counts(&mut self, search: &mut Search<'_>, multiplier: f64) -> f64 {
        let tasks = self.dual.tasks.len();
        for bounds in &mut self.count_bounds {
            bounds.clear();
            bounds.resize(tasks + 1, Some(f64::INFINITY));
        }
        self.rank_by_tie();
        let mut multiplier = multiplier;
        loop {
            self.dual.lower_counts(search.prepared, multiplier, &mut self.count_bounds);
            let Some((bound, kind, count)) = self.largest_count() else {
                return f64::NEG_INFINITY;
            };
            if search.is_done(bound) || self.is_exhausted(search) {
                return bound;
            }
            self.count_bounds[kind][count] = None;
            let case = Case { count, partial: (kind == 1).then_some(PARTIAL) };
            let node = Node {
                parent: None,
                case,
                decision: None,
                multiplier,
                is_solved: false,
                branch: None,
            };
            if kind == 0 {
                self.fund_steepest(search, count, multiplier);
            }
            if let Some(found) = self.solve(search, node, bound) {
                multiplier = found;
            }
        }
    }

    /// The largest bound of a number of funded tasks, with its kind and the number.
    fn largest_count(&self) -> Option<(f64, usize, usize)> {
        let mut largest: Option<(f64, usize, usize)> = None;
        for (kind, bounds) in self.count_bounds.iter().enumerate() {
            for (count, bound) in bounds.iter().enumerate() {
                if let &Some(bound) = bound
                    && largest.is_none_or(|(most, ..)| bound > most)
                {
                    largest = Some((bound, kind, count));
                }
            }
        }
        largest
    }

    fn rank_by_tie(&mut self) {
        let tasks = &self.dual.tasks;
        self.by_tie.clear();
        self.by_tie.extend(0..tasks.len() as u32);
        self.by_tie.sort_unstable_by(|&a, &b| {
            let tie = |task: u32| tasks[task as usize].tie_multiplier;
            tie(b).total_cmp(&tie(a)).then(a.cmp(&b))
        });
    }

    /// Funds the tasks with the steepest tangents.
    fn fund_steepest(&mut self, search: &mut Search<'_>, count: usize, multiplier: f64) {
        self.is_funded.clear();
        self.is_funded.resize(self.dual.tasks.len(), false);
        for &task in &self.by_tie[..count] {
            self.is_funded[task as usize] = true;
        }
        self.fund_set(search, None, multiplier);
    }

    fn fund_set(&mut self, search: &mut Search<'_>, partial: Option<(u32, f64)>, multiplier: f64) {
        let Search { prepared, relaxation, found, best, trial, .. } = search;
        self.fund(prepared, relaxation, partial, multiplier, found, (best, trial));
    }

    /// Branches on the nodes, the one with the largest bound first.
    fn search_tasks(&mut self, search: &mut Search<'_>) {
        while let Some(open) = self.open.peek().copied() {
            if search.is_done(open.bound) || self.is_exhausted(search) {
                return;
            }
            self.open.pop();
            let node = self.nodes[open.node as usize];
            if !node.is_solved {
                self.solve(search, node, open.bound);
            } else if !self.branch(node, open) {
                search.closed = search.closed.max(open.bound);
            }
        }
    }

    /// Adds the children of a solved node; false if it cannot be branched.
    fn branch(&mut self, node: Node, open: Open) -> bool {
        let child = Node { parent: Some(open.node), is_solved: false, branch: None, ..node };
        let children = match (node.case.partial, node.branch) {
            (Some((from, to)), _) if to - from > MIN_SHARE => {
                let middle = 0.5 * (from + to);
                [(from, middle), (middle, to)].map(|partial| Node {
                    case: Case { partial: Some(partial), ..node.case },
                    decision: None,
                    ..child
                })
            }
            (_, Some(task)) => [Decision::Funded, Decision::Unfunded]
                .map(|decision| Node { decision: Some((task, decision)), ..child }),
            _ => return false,
        };
        for child in children {
            self.open.push(Open { bound: open.bound, node: self.nodes.len() as u32 });
            self.nodes.push(child);
        }
        true
    }

    /// Bounds a node, tries the funded tasks that it suggests, and keeps it if it is promising.
    /// Returns the multiplier of its bound.
    fn solve(&mut self, search: &mut Search<'_>, node: Node, parent_bound: f64) -> Option<f64> {
        self.decide(node);
        let cut = search.found.value + search.stop.abs_gap;
        let accuracy = (ACCURACY * search.stop.abs_gap).max(BOUND_ROUNDING * search.found.value);
        let minimum =
            self.dual.minimise(search.prepared, node.case, node.multiplier, cut, accuracy)?;
        let bound = minimum.bound.min(parent_bound);
        if bound <= cut {
            search.closed = search.closed.max(bound);
            return Some(minimum.multiplier);
        }
        self.try_solutions(search, minimum);
        let branch = self.branch_task(minimum);
        self.open.push(Open { bound, node: self.nodes.len() as u32 });
        self.nodes.push(Node { multiplier: minimum.multiplier, is_solved: true, branch, ..node });
        Some(minimum.multiplier)
    }

    /// Sets the decisions of a node and its ancestors.
    fn decide(&mut self, mut node: Node) {
        self.dual.reset_decisions();
        loop {
            if let Some((task, decision)) = node.decision {
                self.dual.decisions[task as usize] = decision;
            }
            let Some(parent) = node.parent else { return };
            node = self.nodes[parent as usize];
        }
    }

    /// Solves with the tasks funded on either side of the minimum, if they may be better.
    fn try_solutions(&mut self, search: &mut Search<'_>, minimum: Minimum) {
        for (point, is_below) in [(minimum.below, true), (minimum.above, false)] {
            let Some(point) = point else { continue };
            if point.bound - 0.5 * point.model_decrease() <= search.found.value {
                continue;
            }
            let is_funded =
                if is_below { &self.dual.is_funded_below } else { &self.dual.is_funded_above };
            self.is_funded.clone_from(is_funded);
            self.fund_set(search, point.partial, point.multiplier);
        }
    }

    /// A task that is funded on one side of the minimum only, the one with the largest spend.
    fn branch_task(&self, minimum: Minimum) -> Option<u32> {
        if minimum.below.is_none() || minimum.above.is_none() {
            return None;
        }
        let dual = &self.dual;
        let differs = |&task: &usize| dual.is_funded_below[task] != dual.is_funded_above[task];
        let start = |task: usize| dual.tasks[task].start;
        (0..dual.tasks.len())
            .filter(differs)
            .max_by(|&a, &b| start(a).total_cmp(&start(b)))
            .map(|task| task as u32)
    }
}
