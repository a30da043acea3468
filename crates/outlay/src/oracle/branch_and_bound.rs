//! Branch and bound on the domains of tasks that are not concave.
//!
//! If the relaxation leaves a task inside an edge of its envelope, the domain of the task is cut in
//! two. Each child is relaxed on the narrower domain, whose envelope is closer to the curve, so
//! that its dual bound is lower. The node with the largest bound is branched first; the bound of
//! the tree is the largest one among its open leaves.
//!
//! Symmetry: among domains with equal curves and bounds some optimal solution gives more to a
//! larger weight. A cut on one domain therefore applies to all of its class with more (or less)
//! weight, and the search decides how many of them are funded, not which.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::atomic::{self, AtomicBool};

use super::multiplier::View;
use super::multiplier::{Relaxation, Relaxed};
use super::prepared::PreparedProblem;

/// A node: the cut that leads to it from its parent. The domain spends at most, or at least, `cut`.
#[derive(Debug, Clone, Copy)]
struct Node {
    parent: u32,
    domain: u32,
    cut: f64,
    at_least: bool,
    /// The domain to branch on next, and its spend.
    fractional: Option<(u32, f64)>,
    multiplier: f64,
}

/// An open node, ordered by its bound; of equal ones the older first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Open {
    pub(super) bound: f64,
    pub(super) node: u32,
}

impl Eq for Open {}

impl Ord for Open {
    fn cmp(&self, other: &Self) -> Ordering {
        self.bound.total_cmp(&other.bound).then(other.node.cmp(&self.node))
    }
}

impl PartialOrd for Open {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Buffers of the search, kept between calls.
#[derive(Debug, Default)]
pub(super) struct Tree {
    nodes: Vec<Node>,
    open: BinaryHeap<Open>,
    low: Vec<f64>,
    high: Vec<f64>,
    touched: Vec<u32>,
    /// The narrowed domains that are S-shaped and in flat arrays.
    narrowed: Vec<u32>,
    /// The class and interval of each cached envelope. The envelopes follow those of the domains,
    /// in the same order.
    cached: Vec<(u32, f64, f64)>,
}

/// The stopping rule.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stop<'a> {
    /// The absolute gap at which the search stops.
    pub(super) abs_gap: f64,
    pub(super) max_nodes: u64,
    /// Set by another thread when the result is no longer needed.
    pub(super) cancel: Option<&'a AtomicBool>,
}

impl Stop<'_> {
    pub(super) fn is_cancelled(&self) -> bool {
        self.cancel.is_some_and(|cancel| cancel.load(atomic::Ordering::Relaxed))
    }
}

/// The result of the search.
#[derive(Debug, Clone, Copy)]
pub(super) struct TreeResult {
    pub(super) value: f64,
    pub(super) bound: f64,
    /// The multiplier of the node with the best solution.
    pub(super) node_multiplier: f64,
    pub(super) nodes: u64,
}

const ROOT: u32 = 0;
/// The number of envelopes of narrowed domains that are kept; most are shared by a node and its
/// ancestors.
const CACHED_ENVELOPES: usize = 64;

impl Tree {
    /// Searches from the root relaxation; `best` holds its solution and receives better ones.
    pub(super) fn run(
        &mut self,
        prepared: &mut PreparedProblem,
        relaxation: &mut Relaxation,
        root: Relaxed,
        stop: Stop<'_>,
        best: &mut [f64],
        trial: &mut [f64],
    ) -> TreeResult {
        self.nodes.clear();
        self.open.clear();
        self.cached.clear();
        self.low.clone_from(&prepared.low);
        self.high.clone_from(&prepared.high);
        // A node writes only spends that may differ from the root.
        trial.copy_from_slice(best);
        let mut found = TreeResult {
            value: root.value,
            bound: root.bound,
            node_multiplier: root.multiplier,
            nodes: 1,
        };
        // The largest bound of nodes that cannot be branched further.
        let mut closed = f64::NEG_INFINITY;
        self.add(
            Node {
                parent: ROOT,
                domain: 0,
                cut: 0.0,
                at_least: false,
                fractional: None,
                multiplier: 0.0,
            },
            root,
            root.bound,
        );
        while let Some(open) = self.open.peek().copied() {
            if open.bound <= found.value + stop.abs_gap
                || found.nodes >= stop.max_nodes
                || stop.is_cancelled()
            {
                break;
            }
            self.open.pop();
            let node = self.nodes[open.node as usize];
            let cut = node.fractional.and_then(|(domain, spend)| {
                self.narrow_domains(prepared, open.node);
                let domain = domain as usize;
                let split = prepared.domains[domain].branch_point(
                    self.low[domain],
                    self.high[domain],
                    spend,
                );
                self.restore(prepared);
                split.map(|(left, right)| (domain as u32, left, right))
            });
            let Some((domain, left, right)) = cut else {
                closed = closed.max(open.bound);
                continue;
            };
            for (cut, at_least) in [(left, false), (right, true)] {
                let child = Node {
                    parent: open.node,
                    domain,
                    cut,
                    at_least,
                    fractional: None,
                    multiplier: node.multiplier,
                };
                self.visit(prepared, relaxation, child, open.bound, &mut found, best, trial);
            }
        }
        let still_open = self.open.peek().map_or(f64::NEG_INFINITY, |open| open.bound);
        found.bound = found.value.max(closed).max(still_open).min(root.bound);
        found
    }

    #[allow(
        clippy::too_many_arguments,
        reason = "the parts of one search, each with its own owner"
    )]
    fn visit(
        &mut self,
        prepared: &mut PreparedProblem,
        relaxation: &mut Relaxation,
        child: Node,
        parent_bound: f64,
        found: &mut TreeResult,
        best: &mut [f64],
        trial: &mut [f64],
    ) {
        found.nodes += 1;
        self.nodes.push(child);
        let index = self.nodes.len() as u32 - 1;
        let residual = self.narrow(prepared, index);
        let relaxed = residual.map(|residual| {
            relaxation.solve(
                View { residual, narrowed: &self.narrowed, ..prepared.view() },
                Some(child.multiplier),
                found.value,
                trial,
            )
        });
        self.restore(prepared);
        self.nodes.pop();
        let Some(relaxed) = relaxed else { return };
        if relaxed.value > found.value {
            found.value = relaxed.value;
            found.node_multiplier = relaxed.multiplier;
            best.copy_from_slice(trial);
        }
        let bound = relaxed.bound.min(parent_bound);
        // A node within the gap is kept too: its bound may become the final one.
        if bound > found.value {
            self.add(child, relaxed, bound);
        }
    }

    fn add(&mut self, node: Node, relaxed: Relaxed, bound: f64) {
        let fractional = relaxed.fractional.map(|(domain, spend)| (domain as u32, spend));
        self.open.push(Open { bound, node: self.nodes.len() as u32 });
        self.nodes.push(Node { fractional, multiplier: relaxed.multiplier, ..node });
    }

    /// Narrows the domains to those of a node and builds their envelopes; returns the residual
    /// budget, if the lower bounds fit.
    fn narrow(&mut self, prepared: &mut PreparedProblem, index: u32) -> Option<f64> {
        self.narrow_domains(prepared, index);
        self.touched.sort_unstable();
        self.touched.dedup();
        self.narrowed.clear();
        self.narrowed.extend(self.touched.iter().filter(|&&domain| prepared.sigmoids.has(domain)));
        self.build_envelopes(prepared)
    }

    fn narrow_domains(&mut self, prepared: &PreparedProblem, mut index: u32) {
        while index != ROOT {
            let node = self.nodes[index as usize];
            let class = &prepared.classes[prepared.domains[node.domain as usize].class as usize];
            let rank = prepared.rank[node.domain as usize] as usize;
            let members = if node.at_least { &class[..=rank] } else { &class[rank..] };
            for &member in members {
                let position = member as usize;
                self.touched.push(member);
                if node.at_least {
                    self.low[position] = self.low[position].max(node.cut);
                } else {
                    self.high[position] = self.high[position].min(node.cut);
                }
            }
            index = node.parent;
        }
    }

    /// Builds the envelopes of the narrowed domains.
    fn build_envelopes(&mut self, prepared: &mut PreparedProblem) -> Option<f64> {
        let mut residual = prepared.residual_sum;
        for &member in &self.touched {
            let position = member as usize;
            if self.low[position] > self.high[position] {
                return None;
            }
            residual.add(prepared.low[position]);
            residual.add(-self.low[position]);
        }
        let residual = residual.value();
        if residual < 0.0 {
            return None;
        }
        // Only here, where no domain uses a cached envelope.
        if self.cached.len() + self.touched.len() > CACHED_ENVELOPES {
            self.cached.clear();
        }
        for &member in &self.touched {
            let position = member as usize;
            let domain = &prepared.domains[position];
            let (low, high) = (self.low[position], self.high[position]);
            let key = (domain.class, low, high);
            let index =
                self.cached.iter().rposition(|&cached| cached == key).unwrap_or_else(|| {
                    let index = self.cached.len();
                    self.cached.push(key);
                    if prepared.domains.len() + index == prepared.envelopes.len() {
                        prepared.envelopes.push(Default::default());
                    }
                    prepared.envelopes[prepared.domains.len() + index].build(domain, low, high);
                    index
                });
            prepared.envelope_of[position] = (prepared.domains.len() + index) as u32;
        }
        Some(residual)
    }

    fn restore(&mut self, prepared: &mut PreparedProblem) {
        for member in self.touched.drain(..) {
            let position = member as usize;
            self.low[position] = prepared.low[position];
            self.high[position] = prepared.high[position];
            prepared.envelope_of[position] = member;
        }
    }
}
