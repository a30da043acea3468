//! What every family of concave curves can do, four tasks at a time.

use pulp::{Arch, Simd};

use super::expansion::Expansion;
use super::index::{BoundArrays, FamilyIndex};
use crate::numeric::compensated::Sum;
use crate::numeric::simd::{F64x4, F64x4Sum};
use crate::oracle::evaluation::Output;

/// Tasks of one family in a block, as a struct of arrays.
pub(super) trait Family {
    /// What [`Family::expand`] or a trial leaves for [`Family::assign`].
    type Start<'a>: ?Sized;

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

    /// Writes the spends and successes at a multiplier and adds them up. The bounds are ignored
    /// unless `BOUNDED`.
    fn assign<S: Simd, const BOUNDED: bool>(
        &self,
        simd: S,
        at: &AssignmentPoint,
        start: &Self::Start<'_>,
        values: &[f64],
        output: &mut Output<'_>,
    ) -> Totals;
}

/// Spend above the lower bounds at a multiplier, and its first two derivatives by the multiplier's
/// logarithm; the sign of the first is changed.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct CurvedDemand {
    pub(super) spend: f64,
    pub(super) sensitivity: f64,
    pub(super) curvature: f64,
}

impl CurvedDemand {
    pub(super) fn add(&mut self, other: Self) {
        self.spend += other.spend;
        self.sensitivity += other.sensitivity;
        self.curvature += other.curvature;
    }
}

/// Where demands are expanded: a window of multipliers around a point, and the reference.
#[derive(Debug, Clone, Copy)]
pub(super) struct ExpansionPoint {
    pub(super) arch: Arch,
    /// The logarithm of the reference multiplier, and from there to that of the point.
    pub(super) reference: f64,
    pub(super) shift: f64,
    /// The reference multiplier itself.
    pub(super) reference_multiplier: f64,
    /// The multiplier at the point, and half the width of the window in its logarithm.
    pub(super) multiplier: f64,
    pub(super) width: f64,
}

/// Where spends are assigned: a multiplier, and how far its logarithm is from that of the demands.
#[derive(Debug, Clone, Copy)]
pub(super) struct AssignmentPoint {
    pub(super) multiplier: f64,
    pub(super) power_step: f64,
    pub(super) exponential_step: f64,
    /// What a linear task may take above its lower bound; infinite if a larger demand is excluded.
    pub(super) free: f64,
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
    /// The task that a small residual disturbs least.
    pub(super) most_elastic: MostElastic,
}

/// The smooth task between its bounds with the largest sensitivity, which is zero if there is none.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct MostElastic {
    pub(super) task: usize,
    pub(super) sensitivity: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Totals {
    pub(super) fn add(&mut self, other: Self) {
        self.above.merge(other.above);
        self.value.merge(other.value);
        self.max_demand = self.max_demand.max(other.max_demand);
        if other.most_elastic.sensitivity > self.most_elastic.sensitivity {
            self.most_elastic = other.most_elastic;
        }
    }
}

/// The same during a pass over a family.
#[derive(Clone, Copy)]
pub(super) struct RunningTotals<S: Simd> {
    above: F64x4Sum<S>,
    value: F64x4Sum<S>,
    /// Sums over a few chunks, added up without compensation.
    partial_above: F64x4<S>,
    partial_value: F64x4<S>,
    max_demand: F64x4<S>,
    /// The largest sensitivity in each lane, and the chunk that has it: a whole number as bits.
    sensitivity: F64x4<S>,
    chunk: F64x4<S>,
}

/// Chunks that are added up without compensation.
const PARTIAL: usize = 8;

impl<S: Simd> RunningTotals<S> {
    #[inline(always)]
    pub(super) fn new(simd: S) -> Self {
        let (sum, zero) = (F64x4Sum::new(simd), F64x4::splat(simd, 0.0));
        Self {
            above: sum,
            value: sum,
            partial_above: zero,
            partial_value: zero,
            max_demand: zero,
            sensitivity: zero,
            chunk: zero,
        }
    }

    /// Adds four tasks.
    #[inline(always)]
    pub(super) fn add(&mut self, simd: S, chunk: usize, above: F64x4<S>, value: F64x4<S>) {
        self.partial_above = self.partial_above + above;
        self.partial_value = self.partial_value + value;
        if chunk % PARTIAL == PARTIAL - 1 {
            self.add_partial(simd);
        }
    }

    /// Takes the unbounded demand of four smooth tasks, and their sensitivity: zero at a bound.
    #[inline(always)]
    pub(super) fn offer(&mut self, simd: S, chunk: usize, demand: F64x4<S>, sensitivity: F64x4<S>) {
        let number = F64x4::splat(simd, f64::from_bits(chunk as u64));
        self.max_demand = self.max_demand.max(demand);
        self.chunk = sensitivity.if_gt(self.sensitivity, number, self.chunk);
        self.sensitivity = self.sensitivity.max(sensitivity);
    }

    #[inline(always)]
    fn add_partial(&mut self, simd: S) {
        self.above.add(self.partial_above);
        self.value.add(self.partial_value);
        (self.partial_above, self.partial_value) =
            (F64x4::splat(simd, 0.0), F64x4::splat(simd, 0.0));
    }

    #[inline(always)]
    pub(super) fn finish(mut self, simd: S, index: &FamilyIndex, bounds: &BoundArrays) -> Totals {
        self.add_partial(simd);
        let (sensitivities, chunks) = (self.sensitivity.to_array(), self.chunk.to_array());
        let mut best = 0;
        for lane in 1..4 {
            best = if sensitivities[lane] > sensitivities[best] { lane } else { best };
        }
        let mut most_elastic = MostElastic::default();
        if sensitivities[best] > 0.0 {
            let position = 4 * chunks[best].to_bits() as usize + best;
            let ((low, high), sensitivity) = (bounds.range(position), sensitivities[best]);
            most_elastic = MostElastic { task: index.task(position), sensitivity, low, high };
        }
        Totals {
            above: self.above.total(),
            value: self.value.total(),
            max_demand: self.max_demand.max_lane(),
            most_elastic,
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
