//! The active tasks of one family, and the passes over them.

use std::marker::PhantomData;

use pulp::{Arch, Simd, WithSimd};

use super::super::{Family, Multiplier, NarrowedCursor, SigmoidTasks};
use super::lanes::{ActiveLanes, PADDING};
use super::{Aggregate, Assignment, TiedTask};
use crate::numeric::compensated::Sum;
use crate::numeric::simd::{F64x4, F64x4Sum, with_simd4};
use crate::oracle::evaluation::{Evaluation, Output};
use crate::oracle::multiplier::{Breakpoint, Breakpoints};

/// The active tasks of one family.
#[derive(Debug)]
pub(super) struct ActiveTasks<F> {
    /// Their indices among the tasks of the family, increasing.
    index: Vec<u32>,
    lanes: Vec<ActiveLanes>,
    /// The logarithm of the multiplier at which they were evaluated last.
    log: Option<f64>,
    /// The value of all other tasks, at their lower bounds.
    inactive_value: Sum,
    family: PhantomData<F>,
}

impl<F> Default for ActiveTasks<F> {
    fn default() -> Self {
        Self {
            index: Vec::new(),
            lanes: Vec::new(),
            log: None,
            inactive_value: Sum::default(),
            family: PhantomData,
        }
    }
}

impl<F: Family> ActiveTasks<F> {
    pub(super) fn len(&self) -> usize {
        self.index.len()
    }

    pub(super) fn clear(&mut self) {
        self.index.clear();
        self.lanes.clear();
        self.log = None;
        self.inactive_value = Sum::default();
    }

    /// Chooses the tasks with a tie multiplier above the cutoff.
    pub(super) fn pick(&mut self, batch: &SigmoidTasks<F>, weights: &[f64], cutoff: f64) {
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
                self.inactive_value.add(batch.low_value(index));
            }
        }
    }

    pub(super) fn load_breakpoints(
        &self,
        batch: &SigmoidTasks<F>,
        narrowed: &[u32],
        jumps: &mut Breakpoints,
    ) {
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

    pub(super) fn evaluate(&mut self, multiplier: f64) -> Aggregate {
        let multiplier = self.at(multiplier);
        self.log = Some(multiplier.log);
        let mut aggregate = with_simd4(Arch::new(), EvaluateAll { tasks: self, multiplier });
        aggregate.value.merge(self.inactive_value);
        aggregate
    }

    /// The contribution of one task; `is_last` if the tasks were evaluated last at this multiplier.
    pub(super) fn one(
        &self,
        batch: &SigmoidTasks<F>,
        index: usize,
        multiplier: f64,
        is_last: bool,
    ) -> Aggregate {
        let Ok(position) = self.index.binary_search(&(index as u32)) else {
            return Aggregate { value: batch.low_value(index).into(), ..Aggregate::default() };
        };
        let mut lanes = self.lanes[position / 4];
        if !is_last {
            with_simd4(
                Arch::new(),
                EvaluateOne::<F> {
                    lanes: &mut lanes,
                    multiplier: self.at(multiplier),
                    family: PhantomData,
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

    pub(super) fn assign(
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
                evaluation.value.add(-batch.low_value(index));
            }
        }
        with_simd4(Arch::new(), Assign { tasks: self, batch, at, output, evaluation, tied });
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
    family: PhantomData<F>,
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
                    output.success[task] = batch.scaled(index, success[lane]);
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
