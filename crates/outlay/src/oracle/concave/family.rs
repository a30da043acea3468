//! What every family of concave curves can do, four tasks at a time.

use pulp::{Arch, Simd};

use super::expansion::Expansion;
use super::index::{BoundArrays, FamilyIndex};
use crate::numeric::compensated::Sum;
use crate::numeric::simd::{F64x4, F64x4Sum};
use crate::oracle::evaluation::Output;

/// Tasks of one family in a block, as a struct of arrays.
pub(super) trait Family {
    fn index(&self) -> &FamilyIndex;

    fn bounds(&self) -> &BoundArrays;

    /// Prepares trials at any multiplier for the values of a call.
    fn load<S: Simd>(&mut self, simd: S, values: &[f64]);

    /// Expands the demand around a multiplier, from references that earlier calls have left.
    /// `BOUNDED`: bounds are checked. `RESET`: every task gets a new reference.
    fn expand<S: Simd, const BOUNDED: bool, const RESET: bool>(
        &mut self,
        simd: S,
        at: &ExpansionPoint,
        values: &[f64],
        expansion: &mut Expansion,
    );

    /// Writes the spends and successes at a multiplier and adds them up. `demand` is what
    /// [`Family::expand`] or a trial has left; the bounds are ignored unless `BOUNDED`.
    fn assign<S: Simd, const BOUNDED: bool>(
        &self,
        simd: S,
        at: &AssignmentPoint,
        demand: &[f64],
        values: &[f64],
        output: &mut Output<'_>,
    ) -> Totals;
}

/// Where demands are expanded: a window of multipliers around a point, and the reference.
#[derive(Debug, Clone, Copy)]
pub(super) struct ExpansionPoint {
    pub(super) arch: Arch,
    /// The logarithm of the reference multiplier, and from there to that of the point.
    pub(super) reference: f64,
    pub(super) shift: f64,
    /// Half the width of the window, in the logarithm, and its ends.
    pub(super) width: f64,
    pub(super) low_multiplier: f64,
    pub(super) high_multiplier: f64,
}

/// Where spends are assigned: a multiplier, and how far its logarithm is from that of the demands.
#[derive(Debug, Clone, Copy)]
pub(super) struct AssignmentPoint {
    pub(super) multiplier: f64,
    pub(super) power_step: f64,
    pub(super) exponential_step: f64,
    /// The step of the most elastic power task is at most [`TINY`](crate::numeric::exp_log::TINY).
    pub(super) is_tiny: bool,
}

/// What assigned spends add up to.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Totals {
    /// Spend above the lower bounds: where these take nearly everything, the digits of the rest
    /// would be lost in the total.
    pub(super) above: Sum,
    /// Value above that of the floors.
    pub(super) value: Sum,
    /// The largest unbounded demand of a smooth task.
    pub(super) max_demand: f64,
}

impl Totals {
    pub(super) fn add(&mut self, other: Self) {
        self.above.merge(other.above);
        self.value.merge(other.value);
        self.max_demand = self.max_demand.max(other.max_demand);
    }
}

/// The same during a pass over a family.
#[derive(Clone, Copy)]
pub(super) struct RunningTotals<S: Simd> {
    pub(super) above: F64x4Sum<S>,
    pub(super) value: F64x4Sum<S>,
    pub(super) max_demand: F64x4<S>,
}

impl<S: Simd> RunningTotals<S> {
    #[inline(always)]
    pub(super) fn new(simd: S) -> Self {
        Self {
            above: F64x4Sum::new(simd),
            value: F64x4Sum::new(simd),
            max_demand: F64x4::splat(simd, 0.0),
        }
    }

    #[inline(always)]
    pub(super) fn finish(self) -> Totals {
        Totals {
            above: self.above.total(),
            value: self.value.total(),
            max_demand: self.max_demand.max_lane(),
        }
    }
}

/// Values must be below this, and tasks with a value up to `MIN_VALUE` get their lower bound:
/// spends and values then stay within the floating-point numbers.
pub(super) const MAX_VALUE: f64 = 1e90;
pub(super) const MIN_VALUE: f64 = 1e-90;

/// Whether four values can be expanded: finite and not negative.
#[inline(always)]
pub(super) fn are_valid<S: Simd>(simd: S, values: F64x4<S>) -> bool {
    values.all_ge(F64x4::splat(simd, 0.0)) && values.all_le(F64x4::splat(simd, MAX_VALUE))
}

/// Which of four tasks stay on their curve, or at a bound, throughout a window: one or zero each.
#[derive(Clone, Copy)]
pub(super) struct WindowState<S: Simd> {
    pub(super) inside: F64x4<S>,
    pub(super) at_high: F64x4<S>,
    /// In one of these two states, or at the lower bound.
    pub(super) decided: F64x4<S>,
}

impl<S: Simd> WindowState<S> {
    /// `least` and `most` bound the demand over the window.
    #[inline(always)]
    pub(super) fn new(
        simd: S,
        (least, most): (F64x4<S>, F64x4<S>),
        (low, high): (F64x4<S>, F64x4<S>),
    ) -> Self {
        let (zero, one) = (F64x4::splat(simd, 0.0), F64x4::splat(simd, 1.0));
        let inside = least.if_gt(low, high.if_gt(most, one, zero), zero);
        let at_low = low.if_ge(most, one, zero);
        let at_high = at_low.if_gt(zero, zero, least.if_ge(high, one, zero));
        Self { inside, at_high, decided: inside + at_low + at_high }
    }
}
