//! Branch and bound: where one task lies inside a chord of its envelope, its domain is cut in two
//! and both parts are tried.
//!
//! Best bound first. A node is a chain of cuts; its relaxation is the same multiplier search on
//! narrower domains. Among tasks with equal curves and bounds the one with more weight need not get
//! less than another, so a cut on one carries over to its class: the search is over *how many* of
//! them are funded, not which.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::multiplier::View;
use super::multiplier::{Relaxation, Relaxed};
use super::prepared::PreparedProblem;
use super::tolerances::negligible;
use crate::sum::Sum;

/// A cut: the domain spends at most, or at least, so much.
#[derive(Debug, Clone, Copy)]
struct Node {
    parent: u32,
    domain: u32,
    cut: f64,
    at_least: bool,
    /// Where to cut next.
    fractional: Option<(u32, f64)>,
    multiplier: f64,
}

/// A node still to be cut, ordered by its bound; of equal ones the older first.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Open {
    bound: f64,
    node: u32,
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
    /// Those of them that are S-shaped and in flat arrays.
    narrowed: Vec<u32>,
    /// Domains for which an envelope was made, by this node or earlier ones: class, low, high. The
    /// envelopes are behind those of the domains, in the same order.
    cached: Vec<(u32, f64, f64)>,
}

/// When to stop.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stop {
    /// An absolute gap that is small enough.
    pub(super) abs_gap: f64,
    pub(super) max_nodes: u64,
}

/// What the search found.
#[derive(Debug, Clone, Copy)]
pub(super) struct TreeResult {
    pub(super) value: f64,
    pub(super) bound: f64,
    /// The multiplier of the node with the best split.
    pub(super) node_multiplier: f64,
    pub(super) nodes: u64,
}

const ROOT: u32 = 0;
/// So many envelopes of narrowed domains are kept for the nodes to come; most are made by a node's
/// ancestors.
const CACHED_ENVELOPES: usize = 64;

impl Tree {
    /// Searches from the root relaxation; `best` holds its split and receives better ones.
    pub(super) fn run(
        &mut self,
        model: &mut PreparedProblem,
        relaxation: &mut Relaxation,
        root: Relaxed,
        stop: Stop,
        best: &mut [f64],
        trial: &mut [f64],
    ) -> TreeResult {
        self.nodes.clear();
        self.open.clear();
        self.cached.clear();
        self.low.clone_from(&model.low);
        self.high.clone_from(&model.high);
        // A node writes only what may differ from the root.
        trial.copy_from_slice(best);
        let mut found = TreeResult {
            value: root.value,
            bound: root.bound,
            node_multiplier: root.multiplier,
            nodes: 1,
        };
        // Bounds of nodes that cannot be cut any further.
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
            if open.bound <= found.value + stop.abs_gap || found.nodes >= stop.max_nodes {
                break;
            }
            self.open.pop();
            let node = self.nodes[open.node as usize];
            let cut = node.fractional.and_then(|(domain, spend)| {
                self.narrow_domains(model, open.node);
                let domain = domain as usize;
                let split =
                    model.domains[domain].branch_point(self.low[domain], self.high[domain], spend);
                self.restore(model);
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
                self.visit(model, relaxation, child, open.bound, &mut found, best, trial);
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
        model: &mut PreparedProblem,
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
        let residual = self.narrow(model, index);
        let relaxed = residual.map(|residual| {
            relaxation.solve(
                View { residual, narrowed: &self.narrowed, ..model.view() },
                Some(child.multiplier),
                found.value,
                trial,
            )
        });
        self.restore(model);
        self.nodes.pop();
        let Some(relaxed) = relaxed else { return };
        if relaxed.value > found.value {
            found.value = relaxed.value;
            found.node_multiplier = relaxed.multiplier;
            best.copy_from_slice(trial);
        }
        let bound = relaxed.bound.min(parent_bound);
        // Also one within the slack is kept: its bound may become the answer's.
        if bound > found.value {
            self.add(child, relaxed, bound);
        }
    }

    fn add(&mut self, node: Node, relaxed: Relaxed, bound: f64) {
        let fractional = relaxed.fractional.map(|(domain, spend)| (domain as u32, spend));
        self.open.push(Open { bound, node: self.nodes.len() as u32 });
        self.nodes.push(Node { fractional, multiplier: relaxed.multiplier, ..node });
    }

    /// Narrows the domains to those of a node, and makes their envelopes; returns what its lower
    /// bounds leave of the budget, if they fit.
    fn narrow(&mut self, model: &mut PreparedProblem, index: u32) -> Option<f64> {
        self.narrow_domains(model, index);
        self.touched.sort_unstable();
        self.touched.dedup();
        self.narrowed.clear();
        self.narrowed.extend(self.touched.iter().filter(|&&domain| model.sigmoids.has(domain)));
        self.build_envelopes(model)
    }

    fn narrow_domains(&mut self, model: &PreparedProblem, mut index: u32) {
        while index != ROOT {
            let node = self.nodes[index as usize];
            let class = &model.classes[model.domains[node.domain as usize].class as usize];
            let rank = model.rank[node.domain as usize] as usize;
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

    /// Makes the envelopes of the narrowed domains.
    fn build_envelopes(&mut self, model: &mut PreparedProblem) -> Option<f64> {
        let mut residual = Sum::default();
        residual.add(model.residual);
        for &member in &self.touched {
            let position = member as usize;
            if self.low[position] > self.high[position] {
                return None;
            }
            residual.add(model.low[position] - self.low[position]);
        }
        // Sums of decimals may miss the budget by its last digits.
        let residual = residual.value();
        if residual < -negligible(model.budget) {
            return None;
        }
        // Only here, where no domain uses an envelope made earlier.
        if self.cached.len() + self.touched.len() > CACHED_ENVELOPES {
            self.cached.clear();
        }
        for &member in &self.touched {
            let position = member as usize;
            let domain = &model.domains[position];
            let (low, high) = (self.low[position], self.high[position]);
            let key = (domain.class, low, high);
            let index =
                self.cached.iter().rposition(|&cached| cached == key).unwrap_or_else(|| {
                    let index = self.cached.len();
                    self.cached.push(key);
                    if model.domains.len() + index == model.envelopes.len() {
                        model.envelopes.push(Default::default());
                    }
                    model.envelopes[model.domains.len() + index].build(domain, low, high);
                    index
                });
            model.envelope_of[position] = (model.domains.len() + index) as u32;
        }
        Some(residual.max(0.0))
    }

    fn restore(&mut self, model: &mut PreparedProblem) {
        for member in self.touched.drain(..) {
            let position = member as usize;
            self.low[position] = model.low[position];
            self.high[position] = model.high[position];
            model.envelope_of[position] = member;
        }
    }
}
