//! Four active tasks per vector: their demand at a multiplier.

use pulp::Simd;

use super::super::{CurveLanes, Demands, Family, Multiplier, SigmoidTasks};
use crate::numeric::simd::F64x4;

/// F64x4 active tasks.
#[derive(Debug, Clone, Copy)]
pub(super) struct ActiveLanes {
    pub(super) tie_multiplier: [f64; 4],
    pub(super) weight: [f64; 4],
    pub(super) low: [f64; 4],
    /// The value at the lower bound.
    pub(super) low_value: [f64; 4],
    pub(super) start: [f64; 4],
    pub(super) end: [f64; 4],
    pub(super) curves: CurveLanes,
    /// Spend on the branch at the last multiplier, and its value.
    pub(super) spend: [f64; 4],
    pub(super) value: [f64; 4],
    pub(super) sensitivity: [f64; 4],
    pub(super) curvature: [f64; 4],
}

/// Padding lanes: never tied, without value, and harmless in computations.
pub(super) const PADDING: ActiveLanes = ActiveLanes {
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

impl ActiveLanes {
    pub(super) fn set_lane<F: Family>(
        &mut self,
        lane: usize,
        batch: &SigmoidTasks<F>,
        index: usize,
        weight: f64,
    ) {
        let (params, for_level) = batch.params(index);
        self.tie_multiplier[lane] = batch.tie_multiplier[index];
        self.weight[lane] = weight;
        self.low[lane] = batch.low[index];
        self.low_value[lane] = batch.low_value(index);
        self.start[lane] = batch.start[index];
        self.end[lane] = batch.end[index];
        (0..4).for_each(|number| self.curves.params[number][lane] = params[number]);
        self.curves.level[lane] = for_level;
        self.curves.tangent_point[lane] = batch.tangent_point[index];
    }

    /// Evaluates four tasks at a multiplier: spend on the branch, value and sensitivity, which is
    /// zero at an end of the branch.
    #[inline(always)]
    pub(super) fn evaluate<F: Family, S: Simd>(&mut self, simd: S, multiplier: Multiplier) {
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

#[cfg(test)]
mod tests {
    use pulp::{Arch, WithSimd};

    use super::super::super::hill::HillFamily;
    use super::super::super::logistic::LogisticFamily;
    use super::*;
    use crate::curve::Curve;
    use crate::numeric::simd::with_simd4;
    use crate::oracle::domain::Form;
    use crate::oracle::tolerances::SUCCESS_ACCURACY;

    /// Evaluates four curves at a sequence of multipliers; returns the bits of all results.
    struct Walk<'a, F> {
        curves: &'a [(Curve, f64)],
        multipliers: &'a [f64],
        family: std::marker::PhantomData<F>,
    }

    impl<F: Family> WithSimd for Walk<'_, F> {
        type Output = Vec<u64>;

        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) -> Vec<u64> {
            let mut bits = Vec::new();
            for (position, &(ref curve, weight)) in self.curves.iter().enumerate() {
                let Some((params, for_level)) = F::params(curve) else { continue };
                let Form::Smooth(smooth) = Form::of(curve) else { panic!("not smooth") };
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
    fn four_at_once_agree_with_the_curves_on_every_machine() {
        let mut curves = Vec::new();
        for steepness in [0.3, 0.9, 1.0, 1.01, 1.5, 2.0, 3.7, 10.0, 100.0, 1e4] {
            for half in [1e-3, 1.0, 40.0] {
                curves.push((Curve::hill(half, steepness).unwrap(), 0.7));
                curves.push((Curve::logistic(half, half / steepness).unwrap(), 0.3));
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

    /// Spend and success of a logistic curve with weight one at a multiplier.
    struct LogisticDemand<'a> {
        curve: &'a Curve,
        multiplier: f64,
    }

    impl WithSimd for LogisticDemand<'_> {
        type Output = (f64, f64);

        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) -> (f64, f64) {
            let (params, _) = LogisticFamily::params(self.curve).unwrap();
            let mut lanes = PADDING;
            lanes.weight = [1.0; 4];
            lanes.curves.params = params.map(|number| [number; 4]);
            let (value, log) = (self.multiplier, self.multiplier.ln());
            lanes.evaluate::<LogisticFamily, S>(simd, Multiplier { value, log, step: None });
            (lanes.spend[0], lanes.value[0])
        }
    }

    /// A bound adds successes and subtracts the price of the spends: both must belong to the same
    /// point of the curve, also where the curve is nearly linear and its slope hardly changes.
    #[test]
    fn the_success_of_a_wide_logistic_curve_is_that_of_its_spend() {
        for (width, mid) in [(1e4, 0.0), (1e4, 1e-3), (1e4, 0.3), (1e6, 1.0), (30.0, 0.2)] {
            let curve = Curve::logistic(mid, width).unwrap();
            let Form::Smooth(smooth) = Form::of(&curve) else { panic!("not smooth") };
            for step in 0..200 {
                let multiplier = smooth.slope(mid + 0.01 + 0.02 * f64::from(step));
                let demand = LogisticDemand { curve: &curve, multiplier };
                let (spend, success) = with_simd4(Arch::new(), demand);
                let truth = smooth.success(spend);
                assert!(
                    (success - truth).abs() <= SUCCESS_ACCURACY * truth,
                    "{curve:?} at {spend}: {success} not {truth}"
                );
            }
        }
    }
}
