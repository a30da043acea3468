//! The multiplier search: the multiplier at which total demand meets the budget.
//!
//! At a multiplier `p` the demand of a task is the spend that maximises `value * F(x) - p * x` on
//! the concave envelope of its curve. Total demand decreases in `p`: smoothly while tasks are on a
//! concave branch, by a jump at the breakpoints where the optimum of a task moves from one vertex
//! of its envelope to another. A multiplier at which the budget lies between the smallest and the
//! largest total demand minimises the dual function, and the tasks tied at it share the rest of the
//! budget (see `relaxation`).
//!
//! The search keeps a bracket. Each trial evaluates total demand and its sensitivity at one
//! multiplier. The next trial solves a model of the smooth part together with the exact
//! breakpoints. If there are many breakpoints, those outside the bracket are dropped for good.

mod bracket;
mod breakpoints;
mod demand_model;
mod load;
mod next_trial;
mod price;
mod relaxation;
mod view;

use super::concave::TrialState;
use super::domain::Form;
use super::sigmoid::{ActiveSet, Aggregate, Assignment, Sigmoids, TiedTask};
use super::tolerances::BUDGET_TOLERANCE;
use crate::oracle::evaluation::{Evaluation, Output};
use bracket::Bracket;
pub(super) use breakpoints::{Breakpoint, Breakpoints};
use demand_model::DemandModel;
pub(super) use price::{ElasticTask, smallest_price};
pub(super) use relaxation::{Relaxation, Relaxed, tie_order};
pub(super) use view::View;
pub(super) use view::on_branch;

/// A task whose envelope ends in a smooth branch, which it enters below `tie_multiplier`.
#[derive(Debug, Clone, Copy)]
struct BranchTask {
    domain: u32,
    tie_multiplier: f64,
    /// The demand just above the tie multiplier.
    low_spend: f64,
    /// The demand just below the tie multiplier.
    tangent_point: f64,
}

/// Buffers of the search, kept between calls.
#[derive(Debug, Default)]
pub(super) struct MultiplierSearch {
    /// The breakpoints; if there are many, only those inside the bracket.
    breakpoints: Breakpoints,
    /// The tasks that may be on their branch somewhere in the bracket.
    branch_tasks: Vec<BranchTask>,
    /// The jumps of the breakpoints that were dropped because they are above the bracket.
    dropped_jumps: f64,
    /// The breakpoints between a trial and the solution of its model.
    crossed: Vec<Breakpoint>,
    /// The demands of the concave tasks at the last trial.
    demands: TrialState,
    /// From the logarithm of that multiplier to that of the multiplier found.
    demand_step: f64,
    /// The S-shaped tasks that may be on their branch, and the breakpoints at which they enter it:
    /// those of all tasks in the first search of a call, later those of the active set.
    active: ActiveSet,
    sigmoid_breakpoints: Breakpoints,
    /// The largest total demand of the S-shaped tasks.
    sigmoid_max_demand: f64,
}

/// Total demand just above and just below a multiplier, and a model of its smooth part.
#[derive(Debug, Clone, Copy)]
struct Trial {
    multiplier: f64,
    low: f64,
    high: f64,
    /// The jumps of the breakpoints above the multiplier, and of those equal to it.
    jumped: f64,
    tied: f64,
    smooth: DemandModel,
}

impl Trial {
    /// Whether some demand depends smoothly on the multiplier.
    fn is_smooth(&self) -> bool {
        self.smooth.total().sensitivity > 0.0
    }

    /// Whether the demand that depends smoothly on the multiplier can be reduced by `excess`.
    fn can_absorb(&self, excess: f64) -> bool {
        self.is_smooth() && self.smooth.total().spend >= excess
    }
}

/// Relative accuracy of the demand of a sample of the tasks.
const SAMPLE_TOLERANCE: f64 = 0.02;
/// A residual up to this share of the residual budget may be absorbed by one task, if that costs at
/// most the share `MAX_RESIDUAL_COST` of its value.
const MAX_RESIDUAL: f64 = 1e-11;
const MAX_RESIDUAL_COST: f64 = 1e-15;
/// A relative step of the multiplier up to this, with as small a budget miss, is extrapolated
/// without another trial: the error of the model is its square.
const EXTRAPOLATED_STEP: f64 = 1e-6;
/// After this many trials the bracket is bisected every other time, which always converges.
const TRUSTED_TRIALS: usize = 16;
/// Bisection alone needs about 1100 trials for the whole range of floating-point multipliers.
const MAX_TRIALS: usize = 2400;

impl MultiplierSearch {
    /// A multiplier at which the smallest total demand is within the budget and the largest
    /// exhausts it; zero if the largest demand is within the budget.
    pub(super) fn find(&mut self, view: View<'_>, start: Option<f64>) -> f64 {
        let is_usable = |multiplier: &f64| multiplier.is_finite() && *multiplier > 0.0;
        let start =
            start.filter(is_usable).or_else(|| self.sample_multiplier(view)).filter(is_usable);
        let max_demand = self.load(view);
        let multiplier = if max_demand < view.residual * (1.0 - BUDGET_TOLERANCE) {
            0.0
        } else {
            self.search(view, start, BUDGET_TOLERANCE)
        };
        if multiplier == 0.0 {
            view.concave.trial(0.0, &mut self.demands);
            self.demand_step = 0.0;
        }
        multiplier
    }

    /// Writes the spends of the concave tasks at the multiplier found, and adds them up. Tied
    /// linear tasks stay at their lower bound and are passed to `tie`.
    pub(super) fn assign_concave(
        &self,
        view: View<'_>,
        multiplier: f64,
        output: &mut Output<'_>,
        tie: impl FnMut(usize, f64, f64),
    ) -> Evaluation {
        let (step, demands) = (self.demand_step, &self.demands);
        view.concave.assign(multiplier, step, demands, view.values, output, tie)
    }

    /// Computes the demands at an infinite multiplier.
    pub(super) fn demand_at_infinity(&mut self, view: View<'_>) {
        self.load_sigmoids(view);
        view.concave.trial(f64::INFINITY, &mut self.demands);
        self.demand_step = 0.0;
    }

    /// The multiplier of a sample of the tasks with its share of the budget.
    pub(super) fn sample_multiplier(&mut self, view: View<'_>) -> Option<f64> {
        let sample = view.sample?;
        let share = sample.len() as f64 / (view.concave.len() + view.domains.len()) as f64;
        let domains = &view.domains[..0];
        let small = View {
            concave: sample,
            sample: None,
            domains,
            sigmoids: None,
            others: &[],
            residual: view.residual * share,
            ..view
        };
        self.load(small);
        Some(self.search(small, None, SAMPLE_TOLERANCE))
    }

    /// Searches until the budget is met up to the relative `tolerance`.
    fn search(&mut self, view: View<'_>, start: Option<f64>, tolerance: f64) -> f64 {
        let residual = view.residual;
        let mut bracket = Bracket::ALL;
        let mut multiplier = start.unwrap_or_else(|| self.first_multiplier(view));
        for count in 0..MAX_TRIALS {
            let trial = self.evaluate(view, multiplier);
            let miss = budget_miss(view, trial);
            // A residual of rounding size needs a task that can absorb it.
            let is_absorbed = miss <= 0.0 || trial.low <= residual || trial.can_absorb(miss);
            if self.is_found(view, trial) || (is_absorbed && miss <= tolerance * residual) {
                return multiplier;
            }
            if trial.low > residual {
                bracket.below = multiplier;
                self.narrow(bracket);
                multiplier = self.model_above(trial, residual, bracket);
            } else {
                bracket.above = multiplier;
                let is_narrowed = self.narrow(bracket);
                let jumped = if is_narrowed { 0.0 } else { trial.jumped + trial.tied };
                multiplier = self.model_below(Trial { jumped, ..trial }, residual, bracket);
            }
            if bracket.contains(multiplier) && self.extrapolates(view, trial, multiplier) {
                return multiplier;
            }
            let is_bisected = count >= TRUSTED_TRIALS && count % 2 == 0;
            if is_bisected || !bracket.contains(multiplier) {
                multiplier = bracket.middle();
            }
            if !bracket.contains(multiplier) {
                break;
            }
        }
        // No floating-point number in between. At the upper end all demands fit.
        let multiplier = if bracket.above.is_finite() { bracket.above } else { bracket.below };
        self.evaluate(view, multiplier);
        multiplier
    }

    /// Whether the step is so small, without a breakpoint in between, that the demands can be
    /// extrapolated; if so, extrapolates them.
    fn extrapolates(&mut self, view: View<'_>, trial: Trial, to: f64) -> bool {
        let step = to / trial.multiplier - 1.0;
        let is_small = step.abs() <= EXTRAPOLATED_STEP
            && budget_miss(view, trial) <= EXTRAPOLATED_STEP * view.residual;
        let step = step.ln_1p();
        let is_taken = is_small && self.crossed.is_empty() && view.concave.can_step(step);
        if is_taken {
            self.demand_step = step;
        }
        is_taken
    }

    /// Whether the budget lies between the smallest and the largest demand, or misses them by a
    /// residual that can be absorbed: a residual `r` costs `p r^2 / 2 s` for a task of sensitivity
    /// `s`.
    fn is_found(&self, view: View<'_>, trial: Trial) -> bool {
        let budget_miss = budget_miss(view, trial);
        let count =
            (view.concave.smooth_len() + self.branch_tasks.len() + self.active.len()) as f64;
        trial.is_smooth()
            && budget_miss * budget_miss * count
                <= MAX_RESIDUAL_COST * view.residual * trial.smooth.total().sensitivity
            && budget_miss <= MAX_RESIDUAL * view.residual
    }

    fn evaluate(&mut self, view: View<'_>, multiplier: f64) -> Trial {
        let (power, mut linear, mut curvature) = view.concave.trial(multiplier, &mut self.demands);
        self.demand_step = 0.0;
        let (jumped, tied) = self.breakpoints.above_and_at(multiplier);
        let mut joining = tied;
        for task in self.branch_tasks.iter().filter(|task| task.tie_multiplier >= multiplier) {
            let (spend, fall) = on_branch(view, task.domain as usize, multiplier);
            if task.tie_multiplier > multiplier {
                linear.spend += spend - task.low_spend;
                linear.sensitivity += fall;
                if let (Form::Smooth(smooth), true) =
                    (&view.domains[task.domain as usize].form, fall > 0.0)
                {
                    curvature += smooth.curvature(spend, fall);
                }
            } else {
                joining += spend - task.low_spend;
            }
        }
        if let Some(sigmoids) = view.sigmoids {
            let sigmoid = self.respond(view, sigmoids, multiplier);
            linear.spend += sigmoid.spend.value();
            linear.sensitivity += sigmoid.sensitivity;
            curvature += sigmoid.curvature;
            joining += sigmoid.tied_jump;
        }
        let low = self.dropped_jumps + jumped + power.spend + linear.spend;
        Trial {
            multiplier,
            low,
            high: low + joining,
            jumped,
            tied,
            smooth: DemandModel { power, linear, curvature },
        }
    }

    /// The demand of the S-shaped tasks that are not narrowed.
    pub(super) fn respond(
        &mut self,
        view: View<'_>,
        sigmoids: &Sigmoids,
        multiplier: f64,
    ) -> Aggregate {
        let is_new = self.active.extend_to(sigmoids, view.weights, multiplier);
        if is_new && !view.narrowed.is_empty() {
            self.load_sigmoid_breakpoints(view, sigmoids);
        }
        self.active.demand(sigmoids, multiplier, view.narrowed)
    }

    /// Writes their spends at a multiplier that was evaluated, and adds up. Tasks tied there keep
    /// their lower spend and are passed to `tied`.
    pub(super) fn assign(
        &mut self,
        at: Assignment<'_>,
        output: &mut Output<'_>,
        dropped_jumps: &mut Evaluation,
        tied: impl FnMut(TiedTask),
    ) {
        self.active.assign(at, output, dropped_jumps, tied);
    }
}

/// The distance of the residual budget from the interval of demands of a trial.
fn budget_miss(view: View<'_>, trial: Trial) -> f64 {
    (trial.low - view.residual).max(view.residual - trial.high)
}
