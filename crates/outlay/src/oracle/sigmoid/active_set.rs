//! The tasks that may be on their branch at the multipliers tried: their numbers side by side, and
//! where the last multiplier left them.
//!
//! They are picked once, for multipliers above a cutoff, and kept through the call. What all of
//! them take at a multiplier does not depend on the node of the search that asks: a node sets
//! narrowed the few tasks whose domain it narrows, and theirs is taken off. So a multiplier that
//! was tried before costs a node no more than the tasks it changes.

use pulp::{Arch, Simd, WithSimd};

use super::hill::HillFamily;
use super::logistic::LogisticFamily;
use super::{
    CurveLanes, Demands, Family, FamilyIndex, Multiplier, NarrowedCursor, SigmoidTasks, Sigmoids,
};
use crate::oracle::batch::{Settled, Split};
use crate::oracle::four::{Four, FourSums, with_four};
use crate::oracle::multiplier::{Breakpoint, Breakpoints};
use crate::sum::Sum;

/// Multipliers down to this share of the one asked for are then within reach; among few tasks
/// multipliers move more.
const CUTOFF_SHARE: f64 = 0.95;
const CUTOFF_SHARE_OF_FEW: f64 = 0.7;
/// So many multipliers are remembered.
const CACHED_MULTIPLIERS: usize = 16;
/// Taking off one task from what is known is worth this many tasks anew.
const TASKS_PER_NARROWED: usize = 8;

/// The tasks that may be on their branch.
#[derive(Debug, Default)]
pub(in crate::oracle) struct ActiveSet {
    hill: ActiveTasks<HillFamily>,
    logistic: ActiveTasks<LogisticFamily>,
    /// Every task tied above this multiplier is here.
    cutoff: f64,
    /// What all take at the multipliers tried, the oldest to be overwritten next.
    cached: Vec<(f64, Aggregate)>,
    oldest: usize,
    /// The multiplier at which all active tasks is now, and what they take there.
    last: Option<(f64, Aggregate)>,
}

/// What tasks take at a multiplier.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::oracle) struct Aggregate {
    /// Above their lower bounds, those tied above the multiplier.
    pub(in crate::oracle) spend: Sum,
    /// What all are worth.
    pub(in crate::oracle) value: Sum,
    /// The spend's decrease per unit of the multiplier's logarithm.
    pub(in crate::oracle) sensitivity: f64,
    /// By how much less that is a unit later.
    pub(in crate::oracle) curvature: f64,
    /// What those tied exactly there would add.
    pub(in crate::oracle) tied_jump: f64,
}

impl Aggregate {
    fn add(&mut self, other: Self) {
        self.spend.merge(other.spend);
        self.value.merge(other.value);
        self.sensitivity += other.sensitivity;
        self.curvature += other.curvature;
        self.tied_jump += other.tied_jump;
    }

    fn negative(self) -> Self {
        Self {
            spend: (-self.spend.value()).into(),
            value: (-self.value.value()).into(),
            sensitivity: -self.sensitivity,
            curvature: -self.curvature,
            tied_jump: -self.tied_jump,
        }
    }
}

/// A task that is tied at the multiplier it is settled at.
#[derive(Debug, Clone, Copy)]
pub(in crate::oracle) struct TiedTask {
    pub(in crate::oracle) domain: usize,
    pub(in crate::oracle) task: usize,
    pub(in crate::oracle) from: f64,
    pub(in crate::oracle) to: f64,
}

/// The active tasks of one family.
#[derive(Debug)]
struct ActiveTasks<F> {
    /// Their places in the batch, in order.
    place: Vec<u32>,
    lanes: Vec<ActiveLanes>,
    /// The logarithm of the multiplier that left them where they are.
    log: Option<f64>,
    /// What all active tasks else is worth at the lower bounds.
    inactive_value: Sum,
    family: std::marker::PhantomData<F>,
}

impl<F> Default for ActiveTasks<F> {
    fn default() -> Self {
        Self {
            place: Vec::new(),
            lanes: Vec::new(),
            log: None,
            inactive_value: Sum::default(),
            family: std::marker::PhantomData,
        }
    }
}

/// Four of them.
#[derive(Debug, Clone, Copy)]
struct ActiveLanes {
    tie_multiplier: [f64; 4],
    weight: [f64; 4],
    low: [f64; 4],
    /// What it is worth there.
    low_value: [f64; 4],
    start: [f64; 4],
    end: [f64; 4],
    curves: CurveLanes,
    /// What each takes on its branch at the last multiplier, and what that is worth.
    spend: [f64; 4],
    value: [f64; 4],
    sensitivity: [f64; 4],
    curvature: [f64; 4],
}

/// No active tasks: never tied, worth nothing, and harmless to compute with.
const PADDING: ActiveLanes = ActiveLanes {
    tie_multiplier: [0.0; 4],
    weight: [0.0; 4],
    low: [0.0; 4],
    low_value: [0.0; 4],
    start: [-1.0; 4],
    end: [f64::MAX; 4],
    curves: CurveLanes {
        params: [[1.0; 4]; 4],
        level: [1.0; 4],
        tangent_point: [0.0; 4],
        place: [0.0; 4],
        rate: [0.0; 4],
    },
    spend: [0.0; 4],
    value: [0.0; 4],
    sensitivity: [0.0; 4],
    curvature: [0.0; 4],
};

/// Where to write a split.
#[derive(Debug, Clone, Copy)]
pub(in crate::oracle) struct Assignment<'a> {
    pub(in crate::oracle) sigmoids: &'a Sigmoids,
    pub(in crate::oracle) multiplier: f64,
    /// Coordinates that are narrowed.
    pub(in crate::oracle) narrowed: &'a [u32],
    /// Whether nothing was written to the split yet: later on only active tasks differ.
    pub(in crate::oracle) is_first: bool,
}

impl ActiveSet {
    /// Forgets all active tasks: the next multiplier picks anew.
    pub(in crate::oracle) fn clear(&mut self) {
        self.cutoff = f64::INFINITY;
        self.hill.clear();
        self.logistic.clear();
        self.clear_cache();
    }

    fn clear_cache(&mut self) {
        self.cached.clear();
        self.oldest = 0;
        self.last = None;
    }

    pub(in crate::oracle) fn len(&self) -> usize {
        self.hill.place.len() + self.logistic.place.len()
    }

    /// Makes sure that every task that may be on a branch at this multiplier is here; true if they
    /// had to be picked anew.
    pub(in crate::oracle) fn extend_to(
        &mut self,
        sigmoids: &Sigmoids,
        weights: &[f64],
        multiplier: f64,
    ) -> bool {
        if multiplier > self.cutoff {
            return false;
        }
        self.cutoff =
            multiplier * if sigmoids.are_few() { CUTOFF_SHARE_OF_FEW } else { CUTOFF_SHARE };
        self.hill.pick(&sigmoids.hill, weights, self.cutoff);
        self.logistic.pick(&sigmoids.logistic, weights, self.cutoff);
        self.clear_cache();
        true
    }

    /// Adds the jumps of those who are here and not narrowed.
    pub(in crate::oracle) fn load_breakpoints(
        &self,
        sigmoids: &Sigmoids,
        narrowed: &[u32],
        jumps: &mut Breakpoints,
    ) {
        self.hill.load_breakpoints(&sigmoids.hill, narrowed, jumps);
        self.logistic.load_breakpoints(&sigmoids.logistic, narrowed, jumps);
    }

    /// What all but those narrowed take at a multiplier within reach.
    pub(in crate::oracle) fn demand(
        &mut self,
        sigmoids: &Sigmoids,
        multiplier: f64,
        narrowed: &[u32],
    ) -> Aggregate {
        let is_at = |(at, _): &&(f64, Aggregate)| *at == multiplier;
        let is_cheap = narrowed.len() * TASKS_PER_NARROWED <= self.len();
        let (mut aggregate, is_last) = if let Some(&(_, aggregate)) =
            self.last.as_ref().filter(is_at)
        {
            (aggregate, true)
        } else if let Some(&(_, aggregate)) = self.cached.iter().find(is_at).filter(|_| is_cheap) {
            (aggregate, false)
        } else {
            (self.evaluate(multiplier), true)
        };
        for &domain in narrowed {
            let one = match sigmoids.place(domain) {
                FamilyIndex::Hill(place) => {
                    self.hill.one(&sigmoids.hill, place, multiplier, is_last)
                }
                FamilyIndex::Logistic(place) => {
                    self.logistic.one(&sigmoids.logistic, place, multiplier, is_last)
                }
                FamilyIndex::None => continue,
            };
            aggregate.add(one.negative());
        }
        aggregate
    }

    /// Brings all active tasks to a multiplier.
    fn evaluate(&mut self, multiplier: f64) -> Aggregate {
        let mut aggregate = self.hill.evaluate(multiplier);
        aggregate.add(self.logistic.evaluate(multiplier));
        self.last = Some((multiplier, aggregate));
        if self.cached.len() < CACHED_MULTIPLIERS {
            self.cached.push((multiplier, aggregate));
        } else {
            self.cached[self.oldest] = (multiplier, aggregate);
            self.oldest = (self.oldest + 1) % CACHED_MULTIPLIERS;
        }
        aggregate
    }

    /// Writes the spends at a multiplier and adds up, with the probabilities of success taken anew
    /// from the spends; those tied there stay low and are handed to `tied`.
    pub(in crate::oracle) fn assign(
        &mut self,
        at: Assignment<'_>,
        split: &mut Split<'_>,
        settled: &mut Settled,
        mut tied: impl FnMut(TiedTask),
    ) {
        if self.last.is_none_or(|last| last.0 != at.multiplier) {
            self.evaluate(at.multiplier);
        }
        self.hill.assign(&at.sigmoids.hill, at, split, settled, &mut tied);
        self.logistic.assign(&at.sigmoids.logistic, at, split, settled, &mut tied);
    }
}

impl<F: Family> ActiveTasks<F> {
    fn clear(&mut self) {
        self.place.clear();
        self.lanes.clear();
        self.log = None;
        self.inactive_value = Sum::default();
    }

    /// Picks every task that is tied above a multiplier.
    fn pick(&mut self, batch: &SigmoidTasks<F>, weights: &[f64], cutoff: f64) {
        self.clear();
        self.place.resize(batch.tie_multiplier.len(), 0);
        let mut count = 0;
        for (place, &tie_multiplier) in batch.tie_multiplier.iter().enumerate() {
            // No branch: the processor cannot predict who is picked.
            self.place[count] = place as u32;
            count += usize::from(tie_multiplier > cutoff);
        }
        self.place.truncate(count);
        self.lanes.resize(count.div_ceil(4), PADDING);
        for (position, &place) in self.place.iter().enumerate() {
            let weight = weights[batch.domain[place as usize] as usize];
            self.lanes[position / 4].set_lane(position % 4, batch, place as usize, weight);
        }
        with_four(Arch::new(), LoadLevels { tasks: self });
        if batch.has_low_value {
            self.sum_inactive_value(batch);
        }
    }

    /// What all active tasks else is worth at the lower bounds.
    fn sum_inactive_value(&mut self, batch: &SigmoidTasks<F>) {
        let mut tasks = self.place.iter().copied().peekable();
        for place in 0..batch.task.len() {
            if tasks.next_if_eq(&(place as u32)).is_none() {
                self.inactive_value.add(batch.low_value[place]);
            }
        }
    }

    fn load_breakpoints(&self, batch: &SigmoidTasks<F>, narrowed: &[u32], jumps: &mut Breakpoints) {
        let mut narrowed = NarrowedCursor(narrowed);
        for (position, &place) in self.place.iter().enumerate() {
            if !narrowed.has(batch.domain[place as usize]) {
                jumps.push(Breakpoint {
                    multiplier: self.lanes[position / 4].tie_multiplier[position % 4],
                    jump: batch.jump[place as usize],
                });
            }
        }
    }

    fn at(&self, multiplier: f64) -> Multiplier {
        let log = multiplier.ln();
        Multiplier { value: multiplier, log, step: self.log.map(|last| log - last) }
    }

    fn evaluate(&mut self, multiplier: f64) -> Aggregate {
        let multiplier = self.at(multiplier);
        self.log = Some(multiplier.log);
        let mut aggregate = with_four(Arch::new(), EvaluateAll { tasks: self, multiplier });
        aggregate.value.merge(self.inactive_value);
        aggregate
    }

    /// What one of them takes at a multiplier; `is_last` if it is the last one.
    fn one(
        &self,
        batch: &SigmoidTasks<F>,
        place: usize,
        multiplier: f64,
        is_last: bool,
    ) -> Aggregate {
        let Ok(position) = self.place.binary_search(&(place as u32)) else {
            return Aggregate { value: batch.low_value[place].into(), ..Aggregate::default() };
        };
        let mut lanes = self.lanes[position / 4];
        if !is_last {
            with_four(
                Arch::new(),
                EvaluateOne::<F> {
                    lanes: &mut lanes,
                    multiplier: self.at(multiplier),
                    family: std::marker::PhantomData,
                },
            );
        }
        let lane = position % 4;
        let (tie_multiplier, above) =
            (lanes.tie_multiplier[lane], lanes.spend[lane] - lanes.low[lane]);
        if tie_multiplier > multiplier {
            Aggregate {
                spend: above.into(),
                value: lanes.value[lane].into(),
                sensitivity: lanes.sensitivity[lane],
                curvature: lanes.curvature[lane],
                tied_jump: 0.0,
            }
        } else {
            let tied_jump = if tie_multiplier == multiplier { above } else { 0.0 };
            Aggregate { value: lanes.low_value[lane].into(), tied_jump, ..Aggregate::default() }
        }
    }

    fn assign(
        &mut self,
        batch: &SigmoidTasks<F>,
        at: Assignment<'_>,
        split: &mut Split<'_>,
        settled: &mut Settled,
        tied: &mut impl FnMut(TiedTask),
    ) {
        if at.is_first {
            (0..batch.task.len())
                .filter(|&place| batch.slope[place] > 0.0)
                .for_each(|place| batch.assign_low(place, split));
        }
        settled.value.merge(self.inactive_value);
        for &domain in at.narrowed {
            if let Some(place) = F::place(at.sigmoids, domain)
                .filter(|&place| self.place.binary_search(&(place as u32)).is_err())
            {
                settled.value.add(-batch.low_value[place]);
            }
        }
        with_four(Arch::new(), Assign { tasks: self, batch, at, split, settled, tied });
    }
}

impl ActiveLanes {
    fn set_lane<F: Family>(
        &mut self,
        lane: usize,
        batch: &SigmoidTasks<F>,
        place: usize,
        weight: f64,
    ) {
        let (params, for_level) = batch.params[place];
        self.tie_multiplier[lane] = batch.tie_multiplier[place];
        self.weight[lane] = weight;
        self.low[lane] = batch.low[place];
        self.low_value[lane] = batch.low_value[place];
        self.start[lane] = batch.start[place];
        self.end[lane] = batch.end[place];
        (0..4).for_each(|number| self.curves.params[number][lane] = params[number]);
        self.curves.level[lane] = for_level;
        self.curves.tangent_point[lane] = batch.tangent_point[place];
    }

    /// Brings all four to a multiplier: what each takes on its branch, what that is worth, and how
    /// fast it falls; not at all at an end.
    #[inline(always)]
    fn evaluate<F: Family, S: Simd>(&mut self, simd: S, multiplier: Multiplier) {
        let load = |params: &[f64; 4]| Four::load(simd, params);
        let (start, end, weight) = (load(&self.start), load(&self.end), load(&self.weight));
        let params = || [0, 1, 2, 3].map(|number| load(&self.curves.params[number]));
        if !(multiplier.value > 0.0) {
            end.store(&mut self.spend);
            (weight * F::success(params(), end)).store(&mut self.value);
            (self.sensitivity, self.curvature) = ([0.0; 4], [0.0; 4]);
            return;
        }
        let Demands { spend, sensitivity, curvature, mut success } =
            F::demand(simd, &mut self.curves, multiplier);
        let between = spend.where_between(start, end, Four::splat(simd, 1.0));
        let inside = spend.max(start).min(end);
        if between.total() < 4.0 {
            let params = [0, 1, 2, 3].map(|number| load(&self.curves.params[number]));
            success =
                between.where_above(Four::splat(simd, 0.0), success, F::success(params, inside));
        }
        inside.store(&mut self.spend);
        (weight * success).store(&mut self.value);
        (between * sensitivity).store(&mut self.sensitivity);
        (between * curvature).store(&mut self.curvature);
    }
}

/// Turns the weights into levels.
struct LoadLevels<'a, F> {
    tasks: &'a mut ActiveTasks<F>,
}

impl<F: Family> WithSimd for LoadLevels<'_, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        for lanes in &mut self.tasks.lanes {
            let (weight, number) =
                (Four::load(simd, &lanes.weight), Four::load(simd, &lanes.curves.level));
            F::level(weight, number).store(&mut lanes.curves.level);
        }
    }
}

/// Brings all active tasks to a multiplier and adds up.
struct EvaluateAll<'a, F> {
    tasks: &'a mut ActiveTasks<F>,
    multiplier: Multiplier,
}

impl<F: Family> WithSimd for EvaluateAll<'_, F> {
    type Output = Aggregate;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Aggregate {
        let load = |params: &[f64; 4]| Four::load(simd, params);
        let (zero, multiplier) = (Four::splat(simd, 0.0), Four::splat(simd, self.multiplier.value));
        let (mut spend, mut value) = (FourSums::new(simd), FourSums::new(simd));
        let (mut sensitivity, mut curvature, mut tied_jump) = (zero, zero, zero);
        for lanes in &mut self.tasks.lanes {
            lanes.evaluate::<F, S>(simd, self.multiplier);
            let (tie_multiplier, above) =
                (load(&lanes.tie_multiplier), load(&lanes.spend) - load(&lanes.low));
            spend.add(tie_multiplier.where_above(multiplier, above, zero));
            value.add(tie_multiplier.where_above(
                multiplier,
                load(&lanes.value),
                load(&lanes.low_value),
            ));
            sensitivity = sensitivity
                + tie_multiplier.where_above(multiplier, load(&lanes.sensitivity), zero);
            curvature =
                curvature + tie_multiplier.where_above(multiplier, load(&lanes.curvature), zero);
            tied_jump = tied_jump + tie_multiplier.where_equal(multiplier, above);
        }
        Aggregate {
            spend: spend.total(),
            value: value.total(),
            sensitivity: sensitivity.total(),
            curvature: curvature.total(),
            tied_jump: tied_jump.total(),
        }
    }
}

/// Brings four to a multiplier.
struct EvaluateOne<'a, F> {
    lanes: &'a mut ActiveLanes,
    multiplier: Multiplier,
    family: std::marker::PhantomData<F>,
}

impl<F: Family> WithSimd for EvaluateOne<'_, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        self.lanes.evaluate::<F, S>(simd, self.multiplier);
    }
}

/// Writes what all active tasks takes at the last multiplier, and adds up.
struct Assign<'a, 'b, F, T> {
    tasks: &'a ActiveTasks<F>,
    batch: &'a SigmoidTasks<F>,
    at: Assignment<'a>,
    split: &'a mut Split<'b>,
    settled: &'a mut Settled,
    tied: &'a mut T,
}

impl<F: Family, T: FnMut(TiedTask)> WithSimd for Assign<'_, '_, F, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { tasks, batch, at, split, settled, tied } = self;
        let (mut above, mut value) = (FourSums::new(simd), FourSums::new(simd));
        let mut narrowed = NarrowedCursor(at.narrowed);
        for (lanes, places) in tasks.lanes.iter().zip(tasks.place.chunks(4)) {
            let params = [0, 1, 2, 3].map(|number| Four::load(simd, &lanes.curves.params[number]));
            let success = F::success(params, Four::load(simd, &lanes.spend)).to_array();
            let (mut lane_spend, mut lane_value) = ([0.0; 4], [0.0; 4]);
            for (lane, &place) in places.iter().enumerate() {
                let (place, tie_multiplier) = (place as usize, lanes.tie_multiplier[lane]);
                let (domain, task) = (batch.domain[place], batch.task[place] as usize);
                if narrowed.has(domain) {
                    continue;
                }
                if tie_multiplier > at.multiplier {
                    lane_spend[lane] = lanes.spend[lane] - lanes.low[lane];
                    lane_value[lane] = lanes.weight[lane] * success[lane];
                    split.spend[task] = lanes.spend[lane];
                    split.success[task] = batch.floor[place] + batch.height[place] * success[lane];
                    settled.offer(task, lanes.sensitivity[lane]);
                } else {
                    lane_value[lane] = lanes.low_value[lane];
                    batch.assign_low(place, split);
                    if tie_multiplier == at.multiplier {
                        tied(TiedTask {
                            domain: domain as usize,
                            task,
                            from: lanes.low[lane],
                            to: lanes.spend[lane],
                        });
                    }
                }
            }
            above.add(Four::load(simd, &lane_spend));
            value.add(Four::load(simd, &lane_value));
        }
        settled.above.merge(above.total());
        settled.value.merge(value.total());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curve::Curve;
    use crate::oracle::domain::{Form, Smooth};

    /// Four curves at once on a way of multipliers; returns the bits of everything.
    struct Walk<'a, F> {
        curves: &'a [(Smooth, f64)],
        multipliers: &'a [f64],
        family: std::marker::PhantomData<F>,
    }

    impl<F: Family> WithSimd for Walk<'_, F> {
        type Output = Vec<u64>;

        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) -> Vec<u64> {
            let mut bits = Vec::new();
            for (position, &(ref smooth, weight)) in self.curves.iter().enumerate() {
                let Some((params, for_level)) = F::params(smooth) else { continue };
                let lane = position % 4;
                let mut lanes = PADDING;
                (lanes.weight[lane], lanes.start[lane], lanes.end[lane]) =
                    (weight, smooth.inflection(), 1e6);
                (0..4).for_each(|number| lanes.curves.params[number][lane] = params[number]);
                lanes.curves.tangent_point[lane] =
                    F::position(params, smooth.inflection() * (1.0 + 1e-6));
                F::level(Four::splat(simd, weight), Four::splat(simd, for_level))
                    .store(&mut lanes.curves.level);
                let mut last: Option<f64> = None;
                for &multiplier in self.multipliers {
                    let step = last.map(|last| multiplier.ln() - last);
                    last = Some(multiplier.ln());
                    lanes.evaluate::<F, S>(
                        simd,
                        Multiplier { value: multiplier, log: multiplier.ln(), step },
                    );
                    let (spend, sensitivity) = smooth.at_slope(multiplier / weight);
                    let (mine, value, sensitivities) =
                        (lanes.spend[lane], lanes.value[lane], lanes.sensitivity[lane]);
                    let spend = spend.min(1e6);
                    // Close to the inflection a spend hardly depends on the multiplier's digits.
                    if spend > smooth.inflection() * 1.001 {
                        let context =
                            || format!("{smooth:?} at {multiplier:e}: {mine} not {spend}");
                        assert!((mine - spend).abs() <= 1e-11 * spend, "{}", context());
                        let truth = weight * smooth.success(mine);
                        assert!(
                            (value - truth).abs() <= 1e-12 * truth,
                            "{}: value {value} not {truth}",
                            context()
                        );
                        let is_inside = spend < 1e6 * (1.0 - 1e-12);
                        assert!(
                            !is_inside || (sensitivities - sensitivity).abs() <= 1e-4 * sensitivity,
                            "{}: sensitivities {sensitivities} not {sensitivity}",
                            context()
                        );
                        let curvature = lanes.curvature[lane];
                        let expected =
                            if is_inside { smooth.curvature(spend, sensitivity) } else { 0.0 };
                        assert!(
                            (curvature - expected).abs() <= 1e-3 * (expected.abs() + sensitivity),
                            "{}: curvature {curvature} not {expected}",
                            context()
                        );
                    }
                    bits.extend([mine, value, sensitivities].map(f64::to_bits));
                }
            }
            bits
        }
    }

    #[test]
    fn four_at_once_ride_as_the_curves_do_on_every_machine() {
        let curve = |curve: Curve| match Form::of(&curve) {
            Form::Smooth(smooth) => smooth,
            Form::Points { .. } => panic!("not smooth"),
        };
        let mut curves = Vec::new();
        for steepness in [0.3, 0.9, 1.0, 1.01, 1.5, 2.0, 3.7, 10.0, 100.0, 1e4] {
            for half in [1e-3, 1.0, 40.0] {
                curves.push((curve(Curve::hill(half, steepness).unwrap()), 0.7));
                curves.push((curve(Curve::logistic(half, half / steepness).unwrap()), 0.3));
            }
        }
        let far: Vec<f64> = (-40..40).map(|power| 10f64.powf(f64::from(power) / 4.0)).collect();
        let near: Vec<f64> = (0..200).map(|step| 0.01 * 1.003f64.powi(step)).collect();
        for multipliers in [far, near] {
            let (curves, multipliers) = (&curves[..], &multipliers[..]);
            let hill =
                || Walk::<HillFamily> { curves, multipliers, family: std::marker::PhantomData };
            assert_eq!(with_four(Arch::new(), hill()), Simd::vectorize(pulp::Scalar256b, hill()));
            let logistic =
                || Walk::<LogisticFamily> { curves, multipliers, family: std::marker::PhantomData };
            assert_eq!(
                with_four(Arch::new(), logistic()),
                Simd::vectorize(pulp::Scalar256b, logistic())
            );
        }
    }
}
