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

mod breakpoints;
mod demand_model;
mod relaxation;

use super::domain::{Domain, Form};
use super::envelope::Envelope;
use super::sigmoid::{ActiveSet, Aggregate, Assignment, Sigmoids, TiedTask};
use super::tolerances::BUDGET_TOLERANCE;
use crate::curve::Curve;
use crate::numeric::exp_log::exp;
use crate::oracle::concave::ConcaveTasks;
use crate::oracle::evaluation::{Evaluation, Output};
use crate::problem::Bounds;
pub(super) use breakpoints::{Breakpoint, Breakpoints};
use demand_model::DemandModel;
pub(super) use relaxation::{Relaxation, Relaxed, tie_order};

/// The relaxed problem: concave tasks in bulk, all other tasks by their envelopes.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) concave: &'a ConcaveTasks,
    /// A sample of the tasks in bulk, if they are many; a cold search starts with it.
    pub(super) sample: Option<&'a ConcaveTasks>,
    pub(super) curves: &'a [Curve],
    pub(super) values: &'a [f64],
    pub(super) bounds: &'a [Bounds],
    pub(super) domains: &'a [Domain],
    pub(super) weights: &'a [f64],
    pub(super) envelopes: &'a [Envelope],
    /// The index of each domain's present envelope.
    pub(super) envelope_of: &'a [u32],
    /// The S-shaped tasks in flat arrays, if there are any.
    pub(super) sigmoids: Option<&'a Sigmoids>,
    /// The domains that are not in these arrays.
    pub(super) others: &'a [u32],
    /// The domains in these arrays that a branch-and-bound node narrowed; they are evaluated
    /// individually. Empty in the first search of a call.
    pub(super) narrowed: &'a [u32],
    /// The budget less the lower bounds. All spends here are counted from the lower bounds.
    pub(super) residual: f64,
}

impl<'a> View<'a> {
    pub(super) fn envelope(&self, domain: usize) -> &'a Envelope {
        &self.envelopes[self.envelope_of[domain] as usize]
    }

    /// The domains that are evaluated individually.
    pub(super) fn individual(&self) -> impl Iterator<Item = usize> + use<'a> {
        self.others.iter().chain(self.narrowed).map(|&domain| domain as usize)
    }
}

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
    /// The demands of the power tasks at the last trial.
    demands: Vec<f64>,
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

/// The open interval that contains the multiplier.
#[derive(Debug, Clone, Copy)]
struct Bracket {
    below: f64,
    above: f64,
}

impl Bracket {
    const ALL: Self = Self { below: 0.0, above: f64::INFINITY };

    fn contains(self, multiplier: f64) -> bool {
        multiplier > self.below && multiplier < self.above
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
            view.concave.trial(f64::NEG_INFINITY, &mut self.demands);
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
            if self.is_found(view, trial) || budget_miss(view, trial) <= tolerance * residual {
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
                multiplier = middle(bracket);
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
        budget_miss * budget_miss * count
            <= MAX_RESIDUAL_COST * view.residual * trial.smooth.total().sensitivity
            && budget_miss <= MAX_RESIDUAL * view.residual
    }

    /// The multiplier above a trial with too much demand at which the model meets the budget.
    fn model_above(&mut self, trial: Trial, residual: f64, bracket: Bracket) -> f64 {
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
    fn model_below(&mut self, trial: Trial, residual: f64, bracket: Bracket) -> f64 {
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
        let direct = multiplier * exp(smooth.step_to(target - jumped));
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
        multiplier * exp(smooth.step_to(target))
    }

    /// Loads breakpoints and branch tasks; returns the largest total demand above the lower bounds.
    fn load(&mut self, view: View<'_>) -> f64 {
        self.breakpoints.clear();
        self.branch_tasks.clear();
        self.dropped_jumps = 0.0;
        let mut max_demand =
            view.concave.load_breakpoints(&mut self.breakpoints) + self.load_sigmoids(view);
        for domain in view.individual() {
            let envelope = view.envelope(domain);
            let weight = view.weights[domain];
            let Some(last) = envelope.vertices.last().filter(|_| weight > 0.0) else { continue };
            for pair in envelope.vertices.windows(2) {
                self.breakpoints.push(Breakpoint {
                    multiplier: weight * pair[0].slope,
                    jump: pair[1].spend - pair[0].spend,
                });
            }
            if let Some(branch) = envelope.branch {
                let (tie_multiplier, low_spend) = (weight * last.slope, last.spend);
                self.branch_tasks.push(BranchTask {
                    domain: domain as u32,
                    tie_multiplier,
                    low_spend,
                    tangent_point: branch.tangent_point,
                });
                max_demand += branch.end - envelope.low;
            } else {
                max_demand += last.spend - envelope.low;
            }
        }
        self.breakpoints.seal();
        max_demand
    }

    /// Loads the sigmoid breakpoints of the tasks that are not narrowed; returns the largest demand
    /// of these tasks.
    fn load_sigmoids(&mut self, view: View<'_>) -> f64 {
        self.sigmoid_breakpoints.clear();
        let Some(sigmoids) = view.sigmoids else { return 0.0 };
        if view.narrowed.is_empty() {
            self.active.clear();
            self.sigmoid_max_demand = sigmoids.max_demand();
        }
        self.load_sigmoid_breakpoints(view, sigmoids);
        self.sigmoid_max_demand
            - view.narrowed.iter().map(|&domain| sigmoids.max_demand_of(domain)).sum::<f64>()
    }

    fn first_multiplier(&mut self, view: View<'_>) -> f64 {
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

    fn evaluate(&mut self, view: View<'_>, multiplier: f64) -> Trial {
        let (power, mut linear) = view.concave.trial(multiplier.ln(), &mut self.demands);
        self.demand_step = 0.0;
        let (jumped, tied) = self.breakpoints.above_and_at(multiplier);
        let (mut joining, mut curvature) = (tied, 0.0);
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

    /// Loads the sigmoid breakpoints of all tasks, or of the active set if there are many and it
    /// was chosen before.
    fn load_sigmoid_breakpoints(&mut self, view: View<'_>, sigmoids: &Sigmoids) {
        self.sigmoid_breakpoints.clear();
        if view.narrowed.is_empty() || sigmoids.are_few() {
            sigmoids.load_breakpoints(view.narrowed, &mut self.sigmoid_breakpoints);
        } else {
            self.active.load_breakpoints(sigmoids, view.narrowed, &mut self.sigmoid_breakpoints);
        }
        self.sigmoid_breakpoints.seal();
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

    /// Drops the breakpoints outside a bracket; false if there are too few for that.
    fn narrow(&mut self, bracket: Bracket) -> bool {
        self.branch_tasks.retain(|task| task.tie_multiplier > bracket.below);
        self.sigmoid_breakpoints.narrow(bracket.below, bracket.above);
        let dropped_jumps = self.breakpoints.narrow(bracket.below, bracket.above);
        self.dropped_jumps += dropped_jumps.unwrap_or_default();
        dropped_jumps.is_some()
    }
}

/// The distance of the residual budget from the interval of demands of a trial.
fn budget_miss(view: View<'_>, trial: Trial) -> f64 {
    (trial.low - view.residual).max(view.residual - trial.high)
}

/// The spend of a domain on its branch at a multiplier, and its sensitivity.
pub(super) fn on_branch(view: View<'_>, domain: usize, multiplier: f64) -> (f64, f64) {
    let envelope = view.envelope(domain);
    let (Some(branch), Form::Smooth(smooth)) = (envelope.branch, &view.domains[domain].form) else {
        return (0.0, 0.0);
    };
    if !(multiplier > 0.0) {
        return (branch.end, 0.0);
    }
    let (spend, fall) = smooth.at_slope(multiplier / view.weights[domain]);
    if spend > branch.start && spend < branch.end {
        (spend, fall)
    } else {
        (spend.clamp(branch.start, branch.end), 0.0)
    }
}

/// The geometric middle of a bracket.
fn middle(Bracket { below, above }: Bracket) -> f64 {
    match (below > 0.0, above.is_finite()) {
        (true, true) => {
            let geometric = below.sqrt() * above.sqrt();
            if geometric > below && geometric < above {
                geometric
            } else {
                below + 0.5 * (above - below)
            }
        }
        (true, false) => below * 1e4,
        (false, true) => above * 1e-4,
        (false, false) => 1.0,
    }
}
