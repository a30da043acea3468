//! The active set: the S-shaped tasks that may be on their concave branch, four per vector.
//!
//! The set is chosen once, for all multipliers above a cutoff, and kept through the call. Its
//! demand at a multiplier does not depend on the branch-and-bound node: a node narrows the domains
//! of a few tasks, whose contributions are subtracted. At a multiplier that was evaluated before, a
//! node therefore costs no more than the tasks it narrows.

use pulp::{Arch, Simd, WithSimd};

use super::hill::HillFamily;
use super::logistic::LogisticFamily;
use super::{
    CurveLanes, Demands, Family, FamilyIndex, Multiplier, NarrowedCursor, SigmoidTasks, Sigmoids,
};
use crate::numeric::compensated::Sum;
use crate::numeric::simd::{F64x4, F64x4Sum, with_simd4};
use crate::oracle::evaluation::{Evaluation, Output};
use crate::oracle::multiplier::{Breakpoint, Breakpoints};

/// The cutoff as a share of the multiplier asked for; multipliers vary more if there are few tasks.
const CUTOFF_SHARE: f64 = 0.95;
const CUTOFF_SHARE_OF_FEW: f64 = 0.7;
/// The number of multipliers whose aggregates are kept.
const CACHED_MULTIPLIERS: usize = 16;
/// Subtracting one narrowed task costs about as much as evaluating this many tasks.
const TASKS_PER_NARROWED: usize = 8;

/// The tasks that may be on their branch.
#[derive(Debug, Default)]
pub(in crate::oracle) struct ActiveSet {
    hill: ActiveTasks<HillFamily>,
    logistic: ActiveTasks<LogisticFamily>,
    /// Every task with a tie multiplier above this is in the set.
    cutoff: f64,
    /// Aggregates at earlier multipliers; the oldest is overwritten next.
    cached: Vec<(f64, Aggregate)>,
    oldest: usize,
    /// The multiplier at which the tasks were evaluated last, and the aggregate there.
    last: Option<(f64, Aggregate)>,
}

/// The demand and value of a set of tasks at a multiplier.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::oracle) struct Aggregate {
    /// Demand above the lower bounds of the tasks with a larger tie multiplier.
    pub(in crate::oracle) spend: Sum,
    /// Value of all tasks.
    pub(in crate::oracle) value: Sum,
    /// The decrease of demand per unit of the multiplier's logarithm.
    pub(in crate::oracle) sensitivity: f64,
    /// The decrease of the sensitivity per unit of the logarithm.
    pub(in crate::oracle) curvature: f64,
    /// Additional demand of the tasks tied exactly there.
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

/// A task with two optimal spends at the multiplier.
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
    /// Their indices among the tasks of the family, increasing.
    index: Vec<u32>,
    lanes: Vec<ActiveLanes>,
    /// The logarithm of the multiplier at which they were evaluated last.
    log: Option<f64>,
    /// The value of all other tasks, at their lower bounds.
    inactive_value: Sum,
    family: std::marker::PhantomData<F>,
}

impl<F> Default for ActiveTasks<F> {
    fn default() -> Self {
        Self {
            index: Vec::new(),
            lanes: Vec::new(),
            log: None,
            inactive_value: Sum::default(),
            family: std::marker::PhantomData,
        }
    }
}

/// F64x4 active tasks.
#[derive(Debug, Clone, Copy)]
struct ActiveLanes {
    tie_multiplier: [f64; 4],
    weight: [f64; 4],
    low: [f64; 4],
    /// The value at the lower bound.
    low_value: [f64; 4],
    start: [f64; 4],
    end: [f64; 4],
    curves: CurveLanes,
    /// Spend on the branch at the last multiplier, and its value.
    spend: [f64; 4],
    value: [f64; 4],
    sensitivity: [f64; 4],
    curvature: [f64; 4],
}

/// Padding lanes: never tied, without value, and harmless in computations.
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
        last_position: [0.0; 4],
        rate: [0.0; 4],
    },
    spend: [0.0; 4],
    value: [0.0; 4],
    sensitivity: [0.0; 4],
    curvature: [0.0; 4],
};

/// The multiplier and the tasks of an assignment of spends.
#[derive(Debug, Clone, Copy)]
pub(in crate::oracle) struct Assignment<'a> {
    pub(in crate::oracle) sigmoids: &'a Sigmoids,
    pub(in crate::oracle) multiplier: f64,
    /// The domains that are narrowed.
    pub(in crate::oracle) narrowed: &'a [u32],
    /// Whether the solution was not written yet; later assignments only write active tasks.
    pub(in crate::oracle) is_first: bool,
}

impl ActiveSet {
    /// Empties the set; the next multiplier chooses it again.
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
        self.hill.index.len() + self.logistic.index.len()
    }

    /// Ensures that the set covers a multiplier; true if it had to be chosen again.
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

    /// Adds the breakpoints of the active tasks that are not narrowed.
    pub(in crate::oracle) fn load_breakpoints(
        &self,
        sigmoids: &Sigmoids,
        narrowed: &[u32],
        jumps: &mut Breakpoints,
    ) {
        self.hill.load_breakpoints(&sigmoids.hill, narrowed, jumps);
        self.logistic.load_breakpoints(&sigmoids.logistic, narrowed, jumps);
    }

    /// The aggregate of all tasks that are not narrowed, at a multiplier that the set covers.
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
            let one = match sigmoids.index(domain) {
                FamilyIndex::Hill(index) => {
                    self.hill.one(&sigmoids.hill, index, multiplier, is_last)
                }
                FamilyIndex::Logistic(index) => {
                    self.logistic.one(&sigmoids.logistic, index, multiplier, is_last)
                }
                FamilyIndex::None => continue,
            };
            aggregate.add(one.negative());
        }
        aggregate
    }

    /// Evaluates all active tasks at a multiplier.
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

    /// Writes the spends at a multiplier and adds up, with the probabilities of success computed
    /// from the spends. Tasks tied there keep their lower spend and are passed to `tied`.
    pub(in crate::oracle) fn assign(
        &mut self,
        at: Assignment<'_>,
        output: &mut Output<'_>,
        evaluation: &mut Evaluation,
        mut tied: impl FnMut(TiedTask),
    ) {
        if self.last.is_none_or(|last| last.0 != at.multiplier) {
            self.evaluate(at.multiplier);
        }
        self.hill.assign(&at.sigmoids.hill, at, output, evaluation, &mut tied);
        self.logistic.assign(&at.sigmoids.logistic, at, output, evaluation, &mut tied);
    }
}

impl<F: Family> ActiveTasks<F> {
    fn clear(&mut self) {
        self.index.clear();
        self.lanes.clear();
        self.log = None;
        self.inactive_value = Sum::default();
    }

    /// Chooses the tasks with a tie multiplier above the cutoff.
    fn pick(&mut self, batch: &SigmoidTasks<F>, weights: &[f64], cutoff: f64) {
        self.clear();
        self.index.resize(batch.tie_multiplier.len(), 0);
        let mut count = 0;
        for (index, &tie_multiplier) in batch.tie_multiplier.iter().enumerate() {
            // Branchless: the processor cannot predict which tasks are chosen.
            self.index[count] = index as u32;
            count += usize::from(tie_multiplier > cutoff);
        }
        self.index.truncate(count);
        self.lanes.resize(count.div_ceil(4), PADDING);
        for (position, &index) in self.index.iter().enumerate() {
            let weight = weights[batch.domain[index as usize] as usize];
            self.lanes[position / 4].set_lane(position % 4, batch, index as usize, weight);
        }
        with_simd4(Arch::new(), LoadLevels { tasks: self });
        if batch.has_low_value {
            self.sum_inactive_value(batch);
        }
    }

    /// Sums up the value of all other tasks at their lower bounds.
    fn sum_inactive_value(&mut self, batch: &SigmoidTasks<F>) {
        let mut tasks = self.index.iter().copied().peekable();
        for index in 0..batch.task.len() {
            if tasks.next_if_eq(&(index as u32)).is_none() {
                self.inactive_value.add(batch.low_value[index]);
            }
        }
    }

    fn load_breakpoints(&self, batch: &SigmoidTasks<F>, narrowed: &[u32], jumps: &mut Breakpoints) {
        let mut narrowed = NarrowedCursor(narrowed);
        for (position, &index) in self.index.iter().enumerate() {
            if !narrowed.has(batch.domain[index as usize]) {
                jumps.push(Breakpoint {
                    multiplier: self.lanes[position / 4].tie_multiplier[position % 4],
                    jump: batch.jump[index as usize],
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
        let mut aggregate = with_simd4(Arch::new(), EvaluateAll { tasks: self, multiplier });
        aggregate.value.merge(self.inactive_value);
        aggregate
    }

    /// The contribution of one task; `is_last` if the tasks were evaluated last at this multiplier.
    fn one(
        &self,
        batch: &SigmoidTasks<F>,
        index: usize,
        multiplier: f64,
        is_last: bool,
    ) -> Aggregate {
        let Ok(position) = self.index.binary_search(&(index as u32)) else {
            return Aggregate { value: batch.low_value[index].into(), ..Aggregate::default() };
        };
        let mut lanes = self.lanes[position / 4];
        if !is_last {
            with_simd4(
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
        output: &mut Output<'_>,
        evaluation: &mut Evaluation,
        tied: &mut impl FnMut(TiedTask),
    ) {
        if at.is_first {
            (0..batch.task.len())
                .filter(|&index| batch.slope[index] > 0.0)
                .for_each(|index| batch.assign_low(index, output));
        }
        evaluation.value.merge(self.inactive_value);
        for &domain in at.narrowed {
            if let Some(index) = F::index(at.sigmoids, domain)
                .filter(|&index| self.index.binary_search(&(index as u32)).is_err())
            {
                evaluation.value.add(-batch.low_value[index]);
            }
        }
        with_simd4(Arch::new(), Assign { tasks: self, batch, at, output, evaluation, tied });
    }
}

impl ActiveLanes {
    fn set_lane<F: Family>(
        &mut self,
        lane: usize,
        batch: &SigmoidTasks<F>,
        index: usize,
        weight: f64,
    ) {
        let (params, for_level) = batch.params[index];
        self.tie_multiplier[lane] = batch.tie_multiplier[index];
        self.weight[lane] = weight;
        self.low[lane] = batch.low[index];
        self.low_value[lane] = batch.low_value[index];
        self.start[lane] = batch.start[index];
        self.end[lane] = batch.end[index];
        (0..4).for_each(|number| self.curves.params[number][lane] = params[number]);
        self.curves.level[lane] = for_level;
        self.curves.tangent_point[lane] = batch.tangent_point[index];
    }

    /// Evaluates four tasks at a multiplier: spend on the branch, value and sensitivity, which is
    /// zero at an end of the branch.
    #[inline(always)]
    fn evaluate<F: Family, S: Simd>(&mut self, simd: S, multiplier: Multiplier) {
        let load = |params: &[f64; 4]| F64x4::load(simd, params);
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
        let between = spend.if_between(start, end, F64x4::splat(simd, 1.0));
        let inside = spend.max(start).min(end);
        if between.total() < 4.0 {
            let params = [0, 1, 2, 3].map(|number| load(&self.curves.params[number]));
            success = between.if_gt(F64x4::splat(simd, 0.0), success, F::success(params, inside));
        }
        inside.store(&mut self.spend);
        (weight * success).store(&mut self.value);
        (between * sensitivity).store(&mut self.sensitivity);
        (between * curvature).store(&mut self.curvature);
    }
}

/// Computes the levels from the weights.
struct LoadLevels<'a, F> {
    tasks: &'a mut ActiveTasks<F>,
}

impl<F: Family> WithSimd for LoadLevels<'_, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        for lanes in &mut self.tasks.lanes {
            let (weight, number) =
                (F64x4::load(simd, &lanes.weight), F64x4::load(simd, &lanes.curves.level));
            F::level(weight, number).store(&mut lanes.curves.level);
        }
    }
}

/// Evaluates all active tasks and adds up.
struct EvaluateAll<'a, F> {
    tasks: &'a mut ActiveTasks<F>,
    multiplier: Multiplier,
}

impl<F: Family> WithSimd for EvaluateAll<'_, F> {
    type Output = Aggregate;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Aggregate {
        let load = |params: &[f64; 4]| F64x4::load(simd, params);
        let (zero, multiplier) =
            (F64x4::splat(simd, 0.0), F64x4::splat(simd, self.multiplier.value));
        let (mut spend, mut value) = (F64x4Sum::new(simd), F64x4Sum::new(simd));
        let (mut sensitivity, mut curvature, mut tied_jump) = (zero, zero, zero);
        for lanes in &mut self.tasks.lanes {
            lanes.evaluate::<F, S>(simd, self.multiplier);
            let (tie_multiplier, above) =
                (load(&lanes.tie_multiplier), load(&lanes.spend) - load(&lanes.low));
            spend.add(tie_multiplier.if_gt(multiplier, above, zero));
            value.add(tie_multiplier.if_gt(multiplier, load(&lanes.value), load(&lanes.low_value)));
            sensitivity =
                sensitivity + tie_multiplier.if_gt(multiplier, load(&lanes.sensitivity), zero);
            curvature = curvature + tie_multiplier.if_gt(multiplier, load(&lanes.curvature), zero);
            tied_jump = tied_jump + tie_multiplier.if_eq(multiplier, above);
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

/// Evaluates four tasks.
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

/// Writes the spends of the active tasks at the last multiplier, and adds up.
struct Assign<'a, 'b, F, T> {
    tasks: &'a ActiveTasks<F>,
    batch: &'a SigmoidTasks<F>,
    at: Assignment<'a>,
    output: &'a mut Output<'b>,
    evaluation: &'a mut Evaluation,
    tied: &'a mut T,
}

impl<F: Family, T: FnMut(TiedTask)> WithSimd for Assign<'_, '_, F, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { tasks, batch, at, output, evaluation, tied } = self;
        let (mut above, mut value) = (F64x4Sum::new(simd), F64x4Sum::new(simd));
        let mut narrowed = NarrowedCursor(at.narrowed);
        for (lanes, indices) in tasks.lanes.iter().zip(tasks.index.chunks(4)) {
            let params = [0, 1, 2, 3].map(|number| F64x4::load(simd, &lanes.curves.params[number]));
            let success = F::success(params, F64x4::load(simd, &lanes.spend)).to_array();
            let (mut lane_spend, mut lane_value) = ([0.0; 4], [0.0; 4]);
            for (lane, &index) in indices.iter().enumerate() {
                let (index, tie_multiplier) = (index as usize, lanes.tie_multiplier[lane]);
                let (domain, task) = (batch.domain[index], batch.task[index] as usize);
                if narrowed.has(domain) {
                    continue;
                }
                if tie_multiplier > at.multiplier {
                    lane_spend[lane] = lanes.spend[lane] - lanes.low[lane];
                    lane_value[lane] = lanes.weight[lane] * success[lane];
                    output.spend[task] = lanes.spend[lane];
                    output.success[task] = batch.floor[index] + batch.height[index] * success[lane];
                    evaluation.offer(task, lanes.sensitivity[lane]);
                } else {
                    lane_value[lane] = lanes.low_value[lane];
                    batch.assign_low(index, output);
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
            above.add(F64x4::load(simd, &lane_spend));
            value.add(F64x4::load(simd, &lane_value));
        }
        evaluation.above.merge(above.total());
        evaluation.value.merge(value.total());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curve::Curve;
    use crate::oracle::domain::{Form, Smooth};

    /// Evaluates four curves at a sequence of multipliers; returns the bits of all results.
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
                F::level(F64x4::splat(simd, weight), F64x4::splat(simd, for_level))
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
            assert_eq!(with_simd4(Arch::new(), hill()), Simd::vectorize(pulp::Scalar256b, hill()));
            let logistic =
                || Walk::<LogisticFamily> { curves, multipliers, family: std::marker::PhantomData };
            assert_eq!(
                with_simd4(Arch::new(), logistic()),
                Simd::vectorize(pulp::Scalar256b, logistic())
            );
        }
    }
}
