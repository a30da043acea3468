//! The parametric families in search coordinates: success, failure and their derivatives.
//!
//! Spends are multiples of the largest one in the log, so the coordinates have no unit.

use crate::curve::{AMOUNT_RANGE, Curve, CurveError};

use super::{Family, Parameter};

/// Two for the shape, one for the ceiling, one for the floor.
pub(super) const MAX_COORDINATES: usize = 4;
pub(super) type Point = [f64; MAX_COORDINATES];
pub(super) const CEILING: usize = 2;
pub(super) const FLOOR: usize = 3;

/// A family with or without a fitted ceiling and floor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Model {
    pub(super) shape: Shape,
    pub(super) ceiling: bool,
    pub(super) floor: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// exponent, ln scale
    Power,
    /// ln full_at
    Saturating,
    /// ln scale
    Exponential,
    /// ln half_at, ln steepness
    Hill,
    /// mid, ln width
    Logistic,
}

/// The probability of success at a point, that of failure (without cancellation), and the
/// derivatives of the former.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chance {
    pub(super) success: f64,
    pub(super) failure: f64,
    pub(super) slopes: Point,
}

impl Shape {
    pub(super) fn of(family: Family) -> Option<Self> {
        match family {
            Family::Power => Some(Self::Power),
            Family::Saturating => Some(Self::Saturating),
            Family::Exponential => Some(Self::Exponential),
            Family::Hill => Some(Self::Hill),
            Family::Logistic => Some(Self::Logistic),
            Family::Threshold | Family::Monotone => None,
        }
    }

    /// The number of coordinates.
    pub(super) fn count(self) -> usize {
        match self {
            Self::Saturating | Self::Exponential => 1,
            Self::Power | Self::Hill | Self::Logistic => 2,
        }
    }

    /// The coordinate of the spend at which the curve has a kink, if it has one: the likelihood is
    /// not twice differentiable there.
    pub(super) fn kink(self) -> Option<usize> {
        match self {
            Self::Power => Some(1),
            Self::Saturating => Some(0),
            Self::Exponential | Self::Hill | Self::Logistic => None,
        }
    }

    fn chance(self, spend: f64, log_spend: f64, at: &Point) -> Chance {
        if spend <= 0.0 {
            return Chance { success: 0.0, failure: 1.0, slopes: [0.0; MAX_COORDINATES] };
        }
        let certain = Chance { success: 1.0, failure: 0.0, slopes: [0.0; MAX_COORDINATES] };
        match self {
            Self::Power => {
                let distance = log_spend - at[1];
                let log = at[0] * distance;
                if log >= 0.0 {
                    return certain;
                }
                let success = log.exp();
                Chance {
                    success,
                    failure: -log.exp_m1(),
                    slopes: [success * distance, -at[0] * success, 0.0, 0.0],
                }
            }
            Self::Saturating => {
                let success = (log_spend - at[0]).exp();
                if success >= 1.0 {
                    return certain;
                }
                Chance { success, failure: 1.0 - success, slopes: [-success, 0.0, 0.0, 0.0] }
            }
            Self::Exponential => {
                let ratio = (log_spend - at[0]).exp();
                let failure = (-ratio).exp();
                Chance {
                    success: -(-ratio).exp_m1(),
                    failure,
                    slopes: [-product(ratio, failure), 0.0, 0.0, 0.0],
                }
            }
            Self::Hill => {
                let steepness = at[1].exp();
                let t = steepness * (log_spend - at[0]);
                let (success, failure) = (sigmoid(t), sigmoid(-t));
                let slope = success * failure;
                Chance {
                    success,
                    failure,
                    slopes: [-steepness * slope, product(t, slope), 0.0, 0.0],
                }
            }
            Self::Logistic => {
                let width = at[1].exp();
                let (y, ratio) = ((spend - at[0]) / width, spend / width);
                let (up, down) = (sigmoid(y), sigmoid(-y));
                let (left, risen) = ((-ratio).exp(), -(-ratio).exp_m1());
                let by_width = -product(y, up * down) * risen - up * product(ratio, left);
                let by_mid = -up * down / width * risen;
                Chance {
                    success: up * risen,
                    failure: down + up * left,
                    slopes: [by_mid, by_width, 0.0, 0.0],
                }
            }
        }
    }

    /// The names of the parameters in problem files, and whether the coordinate is their logarithm
    /// and they are amounts.
    fn parameters(self) -> &'static [(&'static str, bool, bool)] {
        match self {
            Self::Power => &[("exponent", false, false), ("scale", true, true)],
            Self::Saturating => &[("full_at", true, true)],
            Self::Exponential => &[("scale", true, true)],
            Self::Hill => &[("half_at", true, true), ("steepness", true, false)],
            Self::Logistic => &[("mid", false, true), ("width", true, true)],
        }
    }
}

/// A product in which zero times infinity is zero.
fn product(large: f64, small: f64) -> f64 {
    if small == 0.0 { 0.0 } else { large * small }
}

fn sigmoid(t: f64) -> f64 {
    1.0 / (1.0 + (-t).exp())
}

impl Model {
    /// The fitted coordinates.
    pub(super) fn free(&self) -> [bool; MAX_COORDINATES] {
        [true, self.shape.count() == 2, self.ceiling, self.floor]
    }

    pub(super) fn parameter_count(&self) -> usize {
        self.free().iter().filter(|&&free| free).count()
    }

    /// Success is `floor + (ceiling - floor) * family`.
    pub(super) fn chance(&self, spend: f64, log_spend: f64, at: &Point) -> Chance {
        let family = self.shape.chance(spend, log_spend, at);
        let (ceiling, floor) = (at[CEILING], at[FLOOR]);
        let height = ceiling - floor;
        Chance {
            success: floor + height * family.success,
            failure: (1.0 - floor) * family.failure + (1.0 - ceiling) * family.success,
            slopes: [
                height * family.slopes[0],
                height * family.slopes[1],
                family.success,
                family.failure,
            ],
        }
    }

    /// The search limits of each coordinate, given the logarithm of the smallest positive spend.
    /// Beyond them the data cannot distinguish curves.
    pub(super) fn limits(&self, log_least: f64) -> [(f64, f64); MAX_COORDINATES] {
        const FAR: f64 = 40.0;
        let amount = (log_least - 7.0, 14.0);
        let shape = match self.shape {
            // A small exponent needs an enormous scale.
            Shape::Power => [(1e-3, 1.0), (log_least - 7.0, FAR)],
            Shape::Saturating | Shape::Exponential => [(amount.0, 21.0), (0.0, 0.0)],
            Shape::Hill => [(log_least - 14.0, FAR), (0.02_f64.ln(), 200_f64.ln())],
            Shape::Logistic => [(0.0, 1e4), (amount.0, 10.0)],
        };
        [shape[0], shape[1], (1e-9, 1.0), (0.0, 1.0 - 1e-9)]
    }

    /// The curve at a point; `unit` is the divisor of the spends.
    pub(super) fn curve(&self, at: &Point, unit: f64) -> Result<Curve, CurveError> {
        let (least, most) = (*AMOUNT_RANGE.start(), *AMOUNT_RANGE.end());
        let amount = |log: f64| (unit * log.exp()).clamp(least, most);
        let curve = match self.shape {
            Shape::Power => Curve::power(at[0].clamp(f64::MIN_POSITIVE, 1.0), amount(at[1]))?,
            Shape::Saturating => Curve::saturating(amount(at[0]))?,
            Shape::Exponential => Curve::exponential(amount(at[0]))?,
            Shape::Hill => Curve::hill(amount(at[0]), at[1].exp())?,
            Shape::Logistic => {
                let mid = (unit * at[0]).min(most);
                Curve::logistic(if mid < least { 0.0 } else { mid }, amount(at[1]))?
            }
        };
        let ceiling = at[CEILING].clamp(1e-9, 1.0);
        curve.with_ceiling(ceiling)?.with_floor(at[FLOOR].clamp(0.0, ceiling))
    }

    /// The fitted parameters with their coordinates.
    pub(super) fn coordinates(&self) -> impl Iterator<Item = usize> + use<> {
        let free = self.free();
        (0..MAX_COORDINATES).filter(move |&coordinate| free[coordinate])
    }

    /// A parameter in the user's unit from coordinates of its best value and the ends of its
    /// interval; an end is missing if the data do not determine it.
    pub(super) fn parameter(
        &self,
        coordinate: usize,
        value: f64,
        low: Option<f64>,
        high: Option<f64>,
        unit: f64,
    ) -> Parameter {
        let (name, logarithm, is_amount) = match coordinate {
            CEILING => ("ceiling", false, false),
            FLOOR => ("floor", false, false),
            _ => self.shape.parameters()[coordinate],
        };
        let number =
            |at: f64| if logarithm { at.exp() } else { at } * if is_amount { unit } else { 1.0 };
        Parameter { name, value: number(value), low: low.map(number), high: high.map(number) }
    }

    /// Whether a limit of the search is one of the parameter itself: no exponent or ceiling is
    /// above one, no mid or floor below zero.
    pub(super) fn is_natural_limit(&self, coordinate: usize, upper: bool) -> bool {
        match (coordinate, self.shape) {
            (CEILING, _) => upper,
            (FLOOR, _) => !upper,
            (0, Shape::Power) => upper,
            (0, Shape::Logistic) => !upper,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPES: [(Shape, Point); 5] = [
        (Shape::Power, [0.6, 0.3, 0.8, 0.1]),
        (Shape::Saturating, [0.2, 0.0, 0.8, 0.1]),
        (Shape::Exponential, [-0.7, 0.0, 0.8, 0.1]),
        (Shape::Hill, [-0.5, 0.9, 0.8, 0.1]),
        (Shape::Logistic, [0.4, -1.5, 0.8, 0.1]),
    ];

    #[test]
    fn chances_are_those_of_the_curves() {
        for (shape, at) in SHAPES {
            let model = Model { shape, ceiling: true, floor: true };
            let curve = model.curve(&at, 50.0).unwrap();
            for spend in [0.0, 1e-9, 0.3, 1.0, 1.5, 40.0] {
                let chance = model.chance(spend, spend.ln(), &at);
                assert!(
                    (chance.success - curve.success(50.0 * spend)).abs() < 1e-12,
                    "{shape:?} {spend}"
                );
                assert!((chance.success + chance.failure - 1.0).abs() < 1e-12, "{shape:?} {spend}");
            }
        }
    }

    #[test]
    fn slopes_are_the_derivatives() {
        for (shape, at) in SHAPES {
            let model = Model { shape, ceiling: true, floor: true };
            for spend in [0.05_f64, 0.3, 0.9] {
                for coordinate in
                    (0..MAX_COORDINATES).filter(|&coordinate| coordinate != 1 || shape.count() == 2)
                {
                    let moved = |step: f64| {
                        let mut at = at;
                        at[coordinate] += step;
                        model.chance(spend, spend.ln(), &at).success
                    };
                    let difference = (moved(1e-6) - moved(-1e-6)) / 2e-6;
                    let slope = model.chance(spend, spend.ln(), &at).slopes[coordinate];
                    assert!(
                        (slope - difference).abs() < 1e-8,
                        "{shape:?} {spend} {coordinate}: {slope} {difference}"
                    );
                }
            }
        }
    }

    #[test]
    fn all_coordinates_within_the_limits_are_finite() {
        for (shape, _) in SHAPES {
            let model = Model { shape, ceiling: true, floor: true };
            let limits = model.limits(-30.0);
            for kink in 0..16_usize {
                let at: Point = std::array::from_fn(|coordinate| {
                    if kink >> coordinate & 1 == 1 {
                        limits[coordinate].1
                    } else {
                        limits[coordinate].0
                    }
                });
                for spend in [0.0, 1e-13, 1e-3, 1.0] {
                    let chance = model.chance(spend, spend.ln(), &at);
                    assert!(
                        chance.success.is_finite() && chance.failure.is_finite(),
                        "{shape:?} {at:?} {spend}"
                    );
                    assert!(
                        chance.slopes.iter().all(|slope| slope.is_finite()),
                        "{shape:?} {at:?} {spend} {:?}",
                        chance.slopes
                    );
                }
            }
        }
    }
}
