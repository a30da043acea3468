//! The next trial of the multiplier search: the multiplier at which a model of the demand meets the
//! budget.

use super::bracket::Bracket;
use super::demand_model::DemandModel;
use super::{Breakpoint, MultiplierSearch, Trial, View};
use crate::numeric::exp_log::exp_near_zero;

impl MultiplierSearch {
    /// The multiplier above a trial with too much demand at which the model meets the budget.
    pub(super) fn model_above(&mut self, trial: Trial, residual: f64, bracket: Bracket) -> f64 {
        self.crossed.clear();
        // Above its tie multiplier a task leaves its branch and loses its jump; below, the jump is
        // part of the smooth demand.
        let mut active = self.sigmoid_breakpoints.above_and_at(trial.multiplier).0;
        for task in self.branch_tasks.iter().filter(|task| task.tie_multiplier.is_finite()) {
            self.crossed.push(Breakpoint {
                multiplier: task.tie_multiplier,
                jump: task.tangent_point - task.low_spend,
            });
            active += task.tangent_point - task.low_spend;
        }
        self.solve_model(trial, residual - self.dropped_jumps + active, bracket, true)
    }

    /// The multiplier below a trial with too little demand at which the model meets the budget.
    pub(super) fn model_below(&mut self, trial: Trial, residual: f64, bracket: Bracket) -> f64 {
        self.crossed.clear();
        let joining =
            self.branch_tasks.iter().filter(|task| task.tie_multiplier < trial.multiplier);
        self.crossed.extend(joining.map(|task| Breakpoint {
            multiplier: task.tie_multiplier,
            jump: task.tangent_point - task.low_spend,
        }));
        self.solve_model(trial, residual - self.dropped_jumps, bracket, false)
    }

    /// The multiplier at which the modelled smooth demand and the jumps of the breakpoints above it
    /// add up to `target`.
    ///
    /// It is first computed as if no breakpoint lay in between. If some do, the solution is at one
    /// of them or between two of them, and their median is tested until one is the solution or none
    /// is left.
    ///
    /// With `counts_sigmoids` the target includes the jumps of the sigmoid breakpoints above the
    /// trial, whose tasks are already on their branch.
    fn solve_model(
        &mut self,
        trial: Trial,
        mut target: f64,
        bracket: Bracket,
        counts_sigmoids: bool,
    ) -> f64 {
        let Trial { multiplier, smooth, .. } = trial;
        let sigmoid_jumps =
            if counts_sigmoids { self.sigmoid_breakpoints.above_and_at(multiplier).0 } else { 0.0 };
        let jumped = trial.jumped
            + sigmoid_jumps
            + self
                .crossed
                .iter()
                .map(|jump| if jump.multiplier > multiplier { jump.jump } else { 0.0 })
                .sum::<f64>();
        let direct = multiplier * exp_near_zero(smooth.step_to(target - jumped));
        let (low, high) = match direct {
            direct if !(direct > 0.0) => (bracket.below, bracket.above),
            direct if direct < multiplier => (direct.max(bracket.below), multiplier),
            direct => (multiplier, direct.min(bracket.above)),
        };
        let (mut beyond, mut has_breakpoints) = self.breakpoints.between(low, high);
        if !self.sigmoid_breakpoints.is_empty() {
            let (sigmoid_jumps, has_sigmoids) = self.sigmoid_breakpoints.between(low, high);
            beyond += if counts_sigmoids { sigmoid_jumps } else { 0.0 };
            has_breakpoints |= has_sigmoids;
        }
        self.crossed.retain(|jump| {
            beyond += if jump.multiplier >= high { jump.jump } else { 0.0 };
            jump.multiplier > low && jump.multiplier < high
        });
        if has_breakpoints {
            self.breakpoints.list_between(low, high, &mut self.crossed);
            self.sigmoid_breakpoints.list_between(low, high, &mut self.crossed);
        } else if self.crossed.is_empty() && direct > 0.0 {
            return direct;
        }
        target -= beyond;
        let here = smooth.total();
        let mut crossed = &mut self.crossed[..];
        while !crossed.is_empty() {
            let middle = crossed.len() / 2;
            let (left, pivot, right) = crossed
                .select_nth_unstable_by(middle, |a, b| a.multiplier.total_cmp(&b.multiplier));
            let (at, mut tied) = (pivot.multiplier, pivot.jump);
            let mut above = 0.0;
            for breakpoint in right.iter() {
                if breakpoint.multiplier > at {
                    above += breakpoint.jump;
                } else {
                    tied += breakpoint.jump;
                }
            }
            // The smooth demand is convex in the logarithm of the multiplier, which is at most the
            // ratio less one: the tangent is a lower bound and often decides.
            let ratio = at / multiplier;
            let tangent = here.spend - here.sensitivity * (ratio - 1.0);
            let low = above
                + if above + tangent > target { tangent } else { smooth.after(ratio.ln()).spend };
            if low > target {
                crossed = right;
            } else if low + tied < target {
                target -= above + tied;
                crossed = left;
            } else {
                return at;
            }
        }
        multiplier * exp_near_zero(smooth.step_to(target))
    }

    pub(super) fn first_multiplier(&mut self, view: View<'_>) -> f64 {
        let tasks = (view.domains.len() + view.concave.len()) as f64;
        let smooth = view.concave.typical_multiplier(view.residual / tasks);
        let is_usable = |multiplier: &f64| multiplier.is_finite() && *multiplier > 0.0;
        smooth.filter(is_usable).unwrap_or_else(|| {
            // No smooth tasks in bulk: the model of the breakpoints alone.
            Some(self.model_all(view.residual)).filter(is_usable).unwrap_or(1.0)
        })
    }

    /// The multiplier at which the budget is met if every branch task jumps to its tangent point
    /// and stays there.
    fn model_all(&mut self, residual: f64) -> f64 {
        self.crossed.clear();
        self.crossed.extend(self.branch_tasks.iter().map(|task| Breakpoint {
            multiplier: task.tie_multiplier,
            jump: task.tangent_point - task.low_spend,
        }));
        let (multiplier, (jumped, tied)) = (1.0, self.breakpoints.above_and_at(1.0));
        self.solve_model(
            Trial {
                multiplier,
                low: jumped,
                high: jumped,
                jumped,
                tied,
                smooth: DemandModel::default(),
            },
            residual,
            Bracket::ALL,
            true,
        )
    }
}
