//! An S-shaped task that is funded, unfunded or partly funded.

use crate::oracle::domain::{Form, Smooth};
use crate::oracle::prepared::PreparedProblem;

/// An S-shaped task that is funded or not.
#[derive(Debug, Clone)]
pub(super) struct Counted {
    pub(super) domain: u32,
    pub(super) smooth: Smooth,
    pub(super) weight: f64,
    pub(super) low: f64,
    pub(super) low_success: f64,
    /// The concave part.
    pub(super) start: f64,
    pub(super) end: f64,
    /// The middle of the convex part and the value gained there; the lower bound if the convex part
    /// is forbidden.
    pub(super) middle: f64,
    pub(super) middle_gain: f64,
    pub(super) tie_multiplier: f64,
}

impl Counted {
    /// The task of a domain; none if it cannot be counted.
    pub(super) fn new(prepared: &PreparedProblem, position: usize) -> Option<Self> {
        let (domain, weight) = (&prepared.domains[position], prepared.weights[position]);
        let envelope = &prepared.envelopes[position];
        let (Form::Smooth(smooth), [vertex], Some(branch)) =
            (&domain.form, &envelope.vertices[..], envelope.branch)
        else {
            return None;
        };
        let inflection = smooth.inflection();
        let low = vertex.spend;
        let is_s_shaped =
            low < inflection && vertex.slope.is_finite() && prepared.sigmoids.has(position as u32);
        let is_partly_forbidden = low == 0.0 && domain.at_least > 0.0;
        if !(is_s_shaped && weight > 0.0) || (is_partly_forbidden && domain.at_least < inflection) {
            return None;
        }
        let middle = if is_partly_forbidden { low } else { low + 0.5 * (inflection - low) };
        Some(Self {
            domain: position as u32,
            smooth: smooth.clone(),
            weight,
            low,
            low_success: vertex.success,
            start: branch.start,
            end: branch.end,
            middle,
            middle_gain: weight * (smooth.success(middle) - vertex.success),
            tie_multiplier: weight * vertex.slope,
        })
    }

    /// The spend at a share of the convex part, if the task may be partly funded.
    pub(super) fn partial(&self, share: f64) -> Option<f64> {
        (self.middle > self.low).then_some(self.low + share * (self.start - self.low))
    }

    /// The surplus of a spend above that of the lower bound.
    pub(super) fn gain(&self, spend: f64, multiplier: f64) -> f64 {
        self.weight * (self.smooth.success(spend) - self.low_success)
            - multiplier * (spend - self.low)
    }
}
