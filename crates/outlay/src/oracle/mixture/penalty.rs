//! The cost of leaving another budget to the concave remainder than the multiplier asks for.
//!
//! At the multiplier `p` and the largest surplus `S` of the remainder, a remainder of `r` costs
//! `S + p r - V(r)`, which is convex and nowhere negative. Each [line](super::remainder) above `V`
//! gives a line below this penalty. Later stages of a search may change the spend by `z` at a
//! reduced cost of at least `up z` or `down |z|`. A line with a slope between `-down` and `up` is
//! then still a lower bound: what a change of `r` saves on the line, it costs at least elsewhere.

use super::remainder::Remainder;
use crate::oracle::labels::Ratios;

/// The spends that a label leaves to the remainder: from `left - length` to `left`, of which each
/// unit less gains `slope`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    pub(super) left: f64,
    pub(super) length: f64,
    pub(super) slope: f64,
}

/// A line below the penalty.
#[derive(Debug, Clone, Copy)]
struct Below {
    at_zero: f64,
    slope: f64,
}

/// The penalty at one multiplier, for the ratios of one stage.
#[derive(Debug, Clone, Copy)]
pub(super) struct Penalty {
    multiplier: f64,
    surplus: f64,
    ratios: Ratios,
    /// Lines with the smallest and the largest slope that the ratios allow.
    clips: [Option<Below>; 2],
    /// A remainder that is negative by no more than this is rounding.
    slack: f64,
}

impl Penalty {
    pub(super) fn new(
        remainder: &Remainder,
        multiplier: f64,
        surplus: f64,
        slack: f64,
        ratios: Ratios,
    ) -> Self {
        let clip = |slope: f64| {
            let at_zero = surplus - remainder.best_surplus(multiplier - slope).1;
            Below { at_zero, slope }
        };
        let down = Some(-ratios.down).filter(|slope| slope.is_finite());
        let clips = [Some(clip(ratios.up.min(multiplier))), down.map(clip)];
        Self { multiplier, surplus, ratios, clips, slack }
    }

    /// A lower bound on the penalty, less the reduced cost that the open segment saves.
    pub(super) fn least(&self, remainder: &Remainder, span: Span) -> f64 {
        let Span { left, mut length, slope } = span;
        if self.ratios.down == f64::INFINITY {
            // No later stage frees spend.
            if left < -self.slack {
                return f64::INFINITY;
            }
            length = length.min(left.max(0.0));
        }
        // One unit more on the open segment has this reduced cost.
        let rise = self.multiplier - slope;
        let least = |line: Below| {
            let along = if length > 0.0 { ((rise - line.slope) * length).min(0.0) } else { 0.0 };
            line.at_zero + line.slope * left + along
        };
        let mut most = f64::NEG_INFINITY;
        for &clip in self.clips.iter().flatten() {
            most = most.max(least(clip));
        }
        let mut consider = |budget: f64| {
            let place = remainder.place(budget);
            for line in
                &remainder.lines[place.saturating_sub(1)..remainder.lines.len().min(place + 1)]
            {
                let below = Below {
                    at_zero: self.surplus - line.intercept,
                    slope: self.multiplier - line.slope,
                };
                if below.slope <= self.ratios.up && below.slope >= -self.ratios.down {
                    most = most.max(least(below));
                }
            }
        };
        consider(left);
        if length > 0.0 {
            consider(left - length);
            consider(remainder.best_surplus(slope).0.clamp(left - length, left));
            // Without a remainder the penalty is at least the reduced cost on the segment itself.
            return most.max((rise * length).min(0.0));
        }
        most.max(0.0)
    }
}
