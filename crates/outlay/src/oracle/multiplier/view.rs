//! The relaxed problem that the multiplier search works on.

use crate::oracle::concave::ConcaveTasks;
use crate::oracle::curves::Curves;
use crate::oracle::domain::{Domain, Form};
use crate::oracle::envelope::Envelope;
use crate::oracle::sigmoid::Sigmoids;
use crate::oracle::solver_bounds::SolverBounds;

/// The relaxed problem: concave tasks in bulk, all other tasks by their envelopes.
#[derive(Clone, Copy)]
pub(in crate::oracle) struct View<'a> {
    pub(in crate::oracle) concave: &'a ConcaveTasks,
    /// A sample of the tasks in bulk, if they are many; a cold search starts with it.
    pub(in crate::oracle) sample: Option<&'a ConcaveTasks>,
    pub(in crate::oracle) curves: &'a Curves,
    pub(in crate::oracle) values: &'a [f64],
    pub(in crate::oracle) bounds: &'a SolverBounds,
    pub(in crate::oracle) domains: &'a [Domain],
    pub(in crate::oracle) weights: &'a [f64],
    pub(in crate::oracle) envelopes: &'a [Envelope],
    /// The index of each domain's present envelope.
    pub(in crate::oracle) envelope_of: &'a [u32],
    /// The S-shaped tasks in flat arrays, if there are any.
    pub(in crate::oracle) sigmoids: Option<&'a Sigmoids>,
    /// The domains that are not in these arrays.
    pub(in crate::oracle) others: &'a [u32],
    /// The domains in these arrays that a branch-and-bound node narrowed; they are evaluated
    /// individually. Empty in the first search of a call.
    pub(in crate::oracle) narrowed: &'a [u32],
    /// The budget less the lower bounds. All spends here are counted from the lower bounds.
    pub(in crate::oracle) residual: f64,
    /// The part of it that only the tolerance of feasibility grants.
    pub(in crate::oracle) spare: f64,
    /// The budget whose last digits the bound must cover; zero if `residual` includes them.
    pub(in crate::oracle) rounded_budget: f64,
}

impl<'a> View<'a> {
    pub(in crate::oracle) fn envelope(&self, domain: usize) -> &'a Envelope {
        &self.envelopes[self.envelope_of[domain] as usize]
    }

    /// The domains that are evaluated individually.
    pub(in crate::oracle) fn individual(&self) -> impl Iterator<Item = usize> + use<'a> {
        self.others.iter().chain(self.narrowed).map(|&domain| domain as usize)
    }
}

/// The spend of a domain on its branch at a multiplier, and its sensitivity.
pub(in crate::oracle) fn on_branch(view: View<'_>, domain: usize, multiplier: f64) -> (f64, f64) {
    let envelope = view.envelope(domain);
    let (Some(branch), Form::Smooth(smooth)) = (envelope.branch, &view.domains[domain].form) else {
        return (0.0, 0.0);
    };
    if !(multiplier > 0.0) {
        return (branch.end, 0.0);
    }
    let (spend, fall) = smooth.at_slope(multiplier / view.weights[domain]);
    if spend > branch.start && spend < branch.end {
        (spend, fall)
    } else {
        (spend.clamp(branch.start, branch.end), 0.0)
    }
}
