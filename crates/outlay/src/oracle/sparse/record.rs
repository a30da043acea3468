//! One task of a sparse round, in one line of the cache.

use crate::curve::{Curve, Family};
use crate::oracle::crowd::local::{Crossing, Jump, Smooth};
use crate::problem::Bounds;

/// A task: its curve's shape, its bounds, its value, and where it stands at the anchor's price.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(super) struct Record {
    pub(super) kind: Kind,
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) value: f64,
    /// At the anchor's price: the wish of a power task, the level of an exponential one, the price
    /// at which a straight one turns.
    pub(super) at_anchor: f64,
}

/// What a family needs to respond to a price.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    /// `base_level` is the logarithm of the wish at value and price one.
    Power {
        elasticity: f64,
        base_level: f64,
        over_exponent: f64,
    },
    /// `base_level` is the level at value and price one.
    Exponential {
        scale: f64,
        base_level: f64,
        height: f64,
    },
    Straight {
        slope: f64,
        full: f64,
    },
}

/// What a task adds, for all prices of the window around the anchor's.
#[derive(Debug, Clone, Copy)]
pub(super) enum Share {
    /// A power task between its bounds.
    Power {
        wish: f64,
        elasticity: f64,
        over_exponent: f64,
        low: f64,
    },
    /// An exponential task between its bounds: spend and fall, and what it is worth at a price of
    /// zero.
    Linear {
        spend: f64,
        fall: f64,
        most: f64,
        low: f64,
    },
    /// A task at a bound: spend above the lower one, and its worth.
    Settled {
        spend: f64,
        worth: f64,
    },
    Crossing(Crossing),
    Jump(Jump),
}

/// Values up to this are worth nothing.
pub(super) const LEAST_VALUE: f64 = 1e-90;
/// Lower levels are not told apart.
const LOWEST_LEVEL: f64 = -1e4;

impl Record {
    /// None if the curve is of a kind that sparse rounds do not take.
    pub(super) fn new(curve: &Curve, bounds: Bounds) -> Option<Self> {
        if bounds.at_least > 0.0 || !(curve.height() > 0.0) {
            return None;
        }
        let height = curve.height();
        let (kind, useful) = match curve.family() {
            Family::Power(power) if power.exponent() < 1.0 => {
                let (exponent, scale) = (power.exponent(), power.scale());
                let elasticity = 1.0 / (1.0 - exponent);
                let base_level = scale.ln() + elasticity * (height * exponent / scale).ln();
                (Kind::Power { elasticity, base_level, over_exponent: 1.0 / exponent }, scale)
            }
            Family::Power(power) => (
                Kind::Straight { slope: height / power.scale(), full: power.scale() },
                power.scale(),
            ),
            Family::Saturating(saturating) => (
                Kind::Straight { slope: height / saturating.full_at(), full: saturating.full_at() },
                saturating.full_at(),
            ),
            Family::Exponential(exponential) => {
                let scale = exponential.scale();
                (
                    Kind::Exponential { scale, base_level: (height / scale).ln(), height },
                    f64::INFINITY,
                )
            }
            _ => return None,
        };
        let high = bounds.max.min(useful).max(bounds.min);
        Some(Self { kind, low: bounds.min, high, value: 0.0, at_anchor: 0.0 })
    }

    pub(super) fn elasticity(&self) -> f64 {
        if let Kind::Power { elasticity, .. } = self.kind { elasticity } else { 1.0 }
    }

    /// What [`Record::at_anchor`] would be with another value.
    pub(super) fn at(&self, value: f64, anchor_log_price: f64) -> f64 {
        let is_worth = value > LEAST_VALUE;
        match self.kind {
            Kind::Power { elasticity, base_level, .. } if is_worth => {
                (base_level + elasticity * (value.ln() - anchor_log_price)).exp()
            }
            Kind::Exponential { base_level, .. } if is_worth => {
                base_level + value.ln() - anchor_log_price
            }
            Kind::Power { .. } => 0.0,
            Kind::Exponential { .. } => LOWEST_LEVEL,
            Kind::Straight { slope, .. } => value * slope,
        }
    }

    /// Whether a power task with such a wish at the anchor stays between its bounds all over the
    /// window.
    #[inline(always)]
    pub(super) fn is_inside(&self, wish: f64, margin: f64) -> bool {
        wish * (1.0 - margin) > self.low && wish * (1.0 + margin + margin * margin) < self.high
    }

    /// What the task adds in a window that reaches `width` to both sides of a price's logarithm.
    pub(super) fn share(
        &self,
        task: usize,
        curve: &Curve,
        width: f64,
        window: (f64, f64),
    ) -> Share {
        let Self { low, high, value, at_anchor, .. } = *self;
        let (least, most, smooth) = match self.kind {
            Kind::Power { elasticity, .. } => {
                let margin = elasticity * width;
                (
                    at_anchor * (1.0 - margin),
                    at_anchor * (1.0 + margin + margin * margin),
                    Smooth::Power { wish: at_anchor, elasticity },
                )
            }
            Kind::Exponential { scale, .. } => (
                scale * (at_anchor - width),
                scale * (at_anchor + width),
                Smooth::Exponential { level: at_anchor, scale },
            ),
            Kind::Straight { slope, full } => {
                let worth = |spend: f64| value * slope * spend.min(full);
                return match at_anchor {
                    _ if !(high > low) || at_anchor < window.0 => {
                        Share::Settled { spend: 0.0, worth: worth(low) }
                    }
                    price if price > window.1 => {
                        Share::Settled { spend: high - low, worth: worth(high) }
                    }
                    price => Share::Jump(Jump { price, value, task, low, high }),
                };
            }
        };
        let rise = |spend: f64| {
            if spend > 0.0 { value * (curve.success(spend) - curve.floor()) } else { 0.0 }
        };
        if most <= low {
            return Share::Settled { spend: 0.0, worth: rise(low) };
        }
        if least >= high {
            return Share::Settled { spend: high - low, worth: rise(high) };
        }
        if !(least > low && most < high) {
            return Share::Crossing(Crossing { smooth, low, high, task });
        }
        match self.kind {
            Kind::Power { elasticity, over_exponent, .. } => {
                Share::Power { wish: at_anchor, elasticity, over_exponent, low }
            }
            Kind::Exponential { scale, height, .. } => {
                Share::Linear { spend: scale * at_anchor, fall: scale, most: value * height, low }
            }
            Kind::Straight { .. } => Share::Settled { spend: 0.0, worth: 0.0 },
        }
    }

    /// The best spend where the price's logarithm is `step` above the anchor's; a straight task at
    /// its turn takes nothing.
    pub(super) fn spend(&self, step: f64, price: f64) -> f64 {
        let wish = match self.kind {
            Kind::Power { elasticity, .. } => self.at_anchor * (-elasticity * step).exp(),
            Kind::Exponential { scale, .. } => scale * (self.at_anchor - step),
            Kind::Straight { .. } if self.at_anchor > price => self.high,
            Kind::Straight { .. } => self.low,
        };
        wish.clamp(self.low, self.high)
    }

    /// What that spend is worth above the floor.
    pub(super) fn worth(&self, curve: &Curve, step: f64, price: f64) -> f64 {
        self.value * (curve.success(self.spend(step, price)) - curve.floor())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_one_line_of_the_cache() {
        assert_eq!(size_of::<Record>(), 64);
    }
}
