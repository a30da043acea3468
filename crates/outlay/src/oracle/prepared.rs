//! The problem arranged for solving: concave tasks in bulk, other tasks as domains, identical
//! thresholds joined into groups, and symmetry classes of equal domains.

use smallvec::smallvec;

use super::classes::Classes;
use super::concave::ConcaveTasks;
use super::curves::Curves;
use super::domain::{Domain, Form};
use super::envelope::Envelope;
use super::error::AllocationError;
use super::mckp::{IdenticalThresholds, Member, StepItems};
use super::multiplier::View;
use super::presolve::StepsAlone;
use super::sigmoid::Sigmoids;
use super::solver_bounds::SolverBounds;
use super::tolerances::{SUCCESS_ACCURACY, curve_rounding};
use crate::curve::{Curve, Shape};
use crate::numeric::compensated::{Sum, sum};
use crate::problem::{Bounds, SharedTasks, max_total};

/// The prepared problem, with the values and the budget of the current call.
#[derive(Debug)]
pub(super) struct PreparedProblem {
    /// The curves and the given bounds.
    pub(super) curves: Curves,
    /// The bounds of the solvers.
    pub(super) bounds: SolverBounds,
    /// Whether the solvers' bounds and budget are relaxed by the tolerance of feasibility.
    ///
    /// Every certificate must hold for all plans that are feasible up to that tolerance. If every
    /// task is concave, this is a matter of the last digits, and the rounding term of the bound
    /// covers it. With jumps and steep ramps the tolerance itself can be worth something, so the
    /// relaxed problem is solved.
    pub(super) is_relaxed: bool,
    pub(super) concave: ConcaveTasks,
    /// A sample of the tasks in bulk, if they are many.
    sample: Option<Sample>,
    pub(super) domains: Vec<Domain>,
    /// The S-shaped domains in flat arrays.
    pub(super) sigmoids: Sigmoids,
    /// The task and the height of the curve of each domain that is not a group.
    heights: Vec<(u32, f64)>,
    /// The groups of identical thresholds, one for each of the last domains.
    pub(super) identical: Vec<IdenticalThresholds>,
    /// All domains as knapsack items, if every curve is a step curve.
    pub(super) steps: Option<Box<StepItems>>,
    /// The step curves alone, for calls in which only they have value; in such a call `steps` holds
    /// their items.
    pub(super) steps_alone: Option<StepsAlone>,
    is_alone: bool,
    /// The domains of each symmetry class; in a call, those with more weight first.
    pub(super) classes: Classes,
    /// The rank of each domain in its class.
    pub(super) rank: Vec<u32>,
    /// The sums of the given lower bounds and of the solvers'.
    given_min_total: Sum,
    min_total: Sum,
    /// The relative rounding of the successes in the bound.
    pub(super) success_rounding: f64,
    /// Whether any curve is a step curve.
    pub(super) has_steps: bool,
    /// Whether any curve has a floor.
    has_floors: bool,

    /// The values of the call, divided by `value_scale`.
    pub(super) values: Vec<f64>,
    /// A power of two near the largest value: products of values and slopes then stay within
    /// floating point, and dividing by it changes no digit.
    pub(super) value_scale: f64,
    /// Whether a positive value underflows, or nearly so, when it is scaled.
    pub(super) has_tiny_values: bool,
    /// The value of a success of each domain; one for a group.
    pub(super) weights: Vec<f64>,
    /// No call was loaded yet.
    is_new: bool,
    /// The value of the floors, whatever is spent.
    pub(super) constant: f64,
    /// The budget as given, and that of the solvers.
    pub(super) given_budget: f64,
    pub(super) budget: f64,
    /// The solvers' budget less their lower bounds, exactly and rounded up.
    pub(super) residual_sum: Sum,
    pub(super) residual: f64,
    /// The part of the residual budget that only the tolerance grants.
    pub(super) spare: f64,
    pub(super) low: Vec<f64>,
    pub(super) high: Vec<f64>,
    /// The envelope of each domain, then those of narrowed domains.
    pub(super) envelopes: Vec<Envelope>,
    pub(super) envelope_of: Vec<u32>,
}

impl PreparedProblem {
    pub(super) fn new(tasks: SharedTasks) -> Self {
        let curves = Curves::new(tasks);
        let is_concave = |(curve, bounds)| ConcaveTasks::accepts(curve, bounds);
        let is_relaxed = !curves.iter().zip(curves.bounds()).all(is_concave);
        Self::of(curves, is_relaxed)
    }

    /// The same problem with relaxed bounds and budgets.
    pub(super) fn relaxed(&self) -> Self {
        Self::of(self.curves.clone(), true)
    }

    fn of(curves: Curves, is_relaxed: bool) -> Self {
        let has_choice = |(_, given): &(&Curve, Bounds)| given.min < given.max;
        // Fixed tasks are lots, so that the solver for step curves takes them too.
        let has_lots =
            curves.iter().zip(curves.bounds()).filter(has_choice).all(|(curve, _)| is_steps(curve));
        let bounds = SolverBounds::new(curves.clone(), is_relaxed, has_lots);
        let concave = ConcaveTasks::new(curves.iter().zip(bounds.iter()));
        let mut domains = Vec::with_capacity(curves.len() - concave.len());
        for (task, (curve, bounds)) in curves.iter().zip(bounds.iter()).enumerate() {
            if !ConcaveTasks::accepts(curve, bounds) {
                domains.push(Domain::new(task, curve, bounds, is_lot(curves.bounds_of(task))));
            }
        }
        let sample = Sample::new(&concave, &curves, &bounds);
        let identical = group_identical_thresholds(&mut domains, &curves);
        let classes = Classes::new(&mut domains, &curves);
        let is_steps_only = concave.len() == 0
            && domains.iter().all(|domain| domain.form.is_steps())
            && !curves.iter().any(Curve::is_custom);
        let steps_alone = StepsAlone::new(&curves, &bounds, &domains);
        let count = domains.len();
        // The solver of step curves has its own weights, intervals and envelopes.
        let own = if is_steps_only { 0 } else { count };
        let plain = &domains[..own.saturating_sub(identical.len())];
        let heights =
            plain.iter().map(|domain| (domain.task as u32, curves[domain.task].height())).collect();
        let sigmoids = Sigmoids::new(&domains, &curves);
        let has_floors = curves.iter().any(|curve| curve.floor() > 0.0);
        let mut rank = vec![0; count];
        for class in classes.iter() {
            for (position, &domain) in class.iter().enumerate() {
                rank[domain as usize] = position as u32;
            }
        }
        Self {
            has_steps: domains.iter().any(|domain| domain.form.is_steps()),
            has_floors,
            success_rounding: if is_steps_only {
                0.0
            } else {
                SUCCESS_ACCURACY + curve_rounding(curves.iter())
            },
            given_min_total: curves.bounds().map(|bounds| bounds.min).collect(),
            min_total: bounds.iter().map(|bounds| bounds.min).collect(),
            values: vec![0.0; curves.len()],
            curves,
            bounds,
            is_relaxed,
            concave,
            sample,
            sigmoids,
            heights,
            domains,
            identical,
            steps: is_steps_only.then(Box::default),
            steps_alone,
            is_alone: false,
            classes,
            rank,
            value_scale: 1.0,
            has_tiny_values: false,
            weights: vec![1.0; count],
            is_new: true,
            constant: 0.0,
            given_budget: 0.0,
            budget: 0.0,
            residual_sum: Sum::default(),
            residual: 0.0,
            spare: 0.0,
            low: vec![0.0; own],
            high: vec![0.0; own],
            envelopes: vec![Envelope::default(); own],
            envelope_of: (0..own as u32).collect(),
        }
    }

    /// The name of a task, for messages.
    pub(super) fn name(&self, task: usize) -> &str {
        self.curves.name(task)
    }

    /// The names of the first tasks by falling lower bound, as many as a message lists.
    pub(super) fn largest_lower_bounds(&self) -> Vec<(String, f64)> {
        let lower_bounds = self.curves.bounds().map(|bounds| bounds.min).enumerate();
        let mut tasks: Vec<(usize, f64)> = lower_bounds.filter(|&(_, min)| min > 0.0).collect();
        tasks.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        tasks.truncate(AllocationError::MAX_LISTED);
        tasks.into_iter().map(|(task, min)| (self.name(task).to_owned(), min)).collect()
    }

    /// The length of a spend vector: one entry per task, then one per group.
    pub(super) fn spend_len(&self) -> usize {
        self.curves.len() + self.identical.len()
    }

    /// Whether a sample of the tasks gives the search its first multiplier.
    pub(super) fn has_sample(&self) -> bool {
        self.sample.is_some()
    }

    /// Loads the values and the budget of a call into the sample alone.
    pub(super) fn load_sample(&mut self, values: &[f64], budget: f64) {
        self.load_budget(budget);
        if let Some(sample) = &mut self.sample {
            sample.load(values, self.residual);
        }
    }

    /// The sum of the given lower bounds.
    pub(super) fn min_total(&self) -> f64 {
        self.given_min_total.value()
    }

    /// Whether a budget covers the lower bounds.
    pub(super) fn is_covered(&self, budget: f64) -> bool {
        !self.given_min_total.exceeds(max_total(budget))
    }

    /// Whether the lower bounds take nearly all of a budget: then the rounding term of a concave
    /// problem would not be small.
    pub(super) fn leaves_little(&self, budget: f64) -> bool {
        self.given_min_total.exceeds((1.0 - MIN_RESIDUAL_SHARE) * budget)
    }

    fn load_budget(&mut self, budget: f64) {
        self.given_budget = budget;
        self.budget = if self.is_relaxed { max_total(budget) } else { budget };
        self.residual_sum = self.min_total.negated();
        self.residual_sum.add(self.budget);
        self.residual = round_up(self.residual_sum).max(0.0);
        self.spare = if self.is_relaxed {
            self.residual - rounded_up_difference(budget, self.given_min_total).max(0.0)
        } else {
            0.0
        };
    }

    /// Loads the values and the budget of a call; a cold call also needs the sample.
    pub(super) fn load(&mut self, values: &[f64], budget: f64, is_cold: bool) {
        self.value_scale = power_of_two_near(largest(values));
        let per_unit = 1.0 / self.value_scale;
        self.values.iter_mut().zip(values).for_each(|(scaled, value)| *scaled = value * per_unit);
        let is_tiny = |(scaled, value): (&f64, &f64)| *scaled < MIN_VALUE && *value > 0.0;
        self.has_tiny_values =
            least(&self.values) < MIN_VALUE && self.values.iter().zip(values).any(is_tiny);
        let values = std::mem::take(&mut self.values);
        if self.has_floors {
            self.constant =
                sum(self.curves.iter().zip(&values).map(|(curve, value)| value * curve.floor()));
        }
        let last = (self.budget, self.residual);
        self.load_budget(budget);
        self.concave.load(&values, self.residual);
        if let Some(sample) = self.sample.as_mut().filter(|_| is_cold) {
            sample.load(&values, self.residual);
        }
        let plain = self.domains.len() - self.identical.len();
        for (group, domain) in self.identical.iter_mut().zip(&mut self.domains[plain..]) {
            group.build(&values, self.residual, &mut domain.form);
        }
        self.choose_steps_alone(&values, plain);
        if let Some(steps) = &mut self.steps {
            let alone = self.steps_alone.as_ref().filter(|_| self.is_alone);
            let domains = alone.map_or(&self.domains, |alone| &alone.domains);
            steps.load(domains, &self.curves, plain, self.residual, self.budget);
            steps.load_weights(&values, &mut self.weights);
            self.values = values;
            return;
        }
        for (weight, &(task, height)) in self.weights.iter_mut().zip(&self.heights) {
            *weight = values[task as usize] * height;
        }
        self.values = values;
        // With the same budget all intervals, and the envelopes of all domains but groups, stay the
        // same.
        let is_moved = last != (self.budget, self.residual) || self.is_new;
        self.is_new = false;
        if is_moved {
            self.sigmoids.clear();
        }
        for position in if is_moved { 0 } else { plain }..self.domains.len() {
            self.load_domain(position, position >= plain);
            if is_moved {
                self.sigmoids.set_envelope(position, &self.envelopes[position]);
            }
        }
        self.sigmoids.load(&self.weights);
    }

    /// Gives the items of the step curves to `steps` if only these curves have value in this call,
    /// and takes them back otherwise.
    fn choose_steps_alone(&mut self, values: &[f64], plain: usize) {
        let Some(alone) = &mut self.steps_alone else { return };
        if self.is_alone {
            alone.steps = self.steps.take();
        }
        self.is_alone = alone.applies(values);
        if self.is_alone {
            alone.update(&self.domains, plain);
            self.steps = alone.steps.take().or_else(|| Some(Box::default()));
            // The intervals and envelopes of all domains belong to an earlier call.
            self.is_new = true;
        }
    }

    /// The tasks that stay at their lower bounds because only step curves have value in this call.
    pub(super) fn valueless(&self) -> impl Iterator<Item = usize> {
        self.steps_alone.iter().filter(|_| self.is_alone).flat_map(StepsAlone::others)
    }

    /// The budget of the domains, lower bounds included, in a call of the solver for step curves.
    pub(super) fn steps_budget(&self) -> f64 {
        let alone = self.steps_alone.as_ref().filter(|_| self.is_alone);
        alone.map_or(self.budget, |alone| (self.budget - alone.bulk_total).max(self.residual))
    }

    /// Sets the interval of a domain in this call, and the envelope on it.
    fn load_domain(&mut self, position: usize, is_group: bool) {
        let domain = &self.domains[position];
        let low = domain.min;
        let high = domain.max.min(max_spend(low, self.residual));
        (self.low[position], self.high[position]) = (low, high);
        let envelope = &mut self.envelopes[position];
        if is_group || envelope.vertices.is_empty() || !envelope.move_end(domain, high) {
            envelope.build(domain, low, high);
        }
        self.envelope_of[position] = position as u32;
    }

    /// Ranks each class by weight: some optimal solution gives a domain with more weight no less.
    pub(super) fn rank_classes(&mut self) {
        let (weights, rank) = (&self.weights, &mut self.rank);
        self.classes.for_each_mut(|class| {
            if class.len() == 1 {
                return;
            }
            class.sort_unstable_by(|&a, &b| {
                weights[b as usize].total_cmp(&weights[a as usize]).then(a.cmp(&b))
            });
            for (position, &domain) in class.iter().enumerate() {
                rank[domain as usize] = position as u32;
            }
        });
    }

    pub(super) fn view(&self) -> View<'_> {
        View {
            concave: &self.concave,
            sample: self.sample.as_ref().map(|sample| &sample.concave),
            bounds: &self.bounds,
            curves: &self.curves,
            values: &self.values,
            domains: &self.domains,
            weights: &self.weights,
            envelopes: &self.envelopes,
            envelope_of: &self.envelope_of,
            sigmoids: Some(&self.sigmoids).filter(|sigmoids| !sigmoids.is_empty()),
            others: self.sigmoids.others(),
            narrowed: &[],
            residual: self.residual,
            spare: self.spare,
            rounded_budget: if self.is_relaxed { 0.0 } else { self.budget },
        }
    }

    /// The largest gain per unit of budget of the identical thresholds beyond the budget: the
    /// multiplier must be at least this.
    pub(super) fn unaffordable_multiplier(&self) -> f64 {
        self.identical.iter().map(IdenticalThresholds::next_multiplier).fold(0.0, f64::max)
    }

    /// The task, or the position after the tasks, of a domain.
    pub(super) fn task(&self, domain: u32) -> usize {
        self.domains[domain as usize].task
    }

    /// Whether every curve is a step curve.
    pub(super) fn is_steps_only(&self) -> bool {
        self.is_alone
            || self.concave.len() == 0 && self.domains.iter().all(|domain| domain.form.is_steps())
    }
}

fn is_steps(curve: &Curve) -> bool {
    matches!(curve.shape(), Shape::Steps { .. })
}

/// Whether the spend is zero or one amount.
fn is_lot(given: Bounds) -> bool {
    given.at_least.max(given.min) >= given.max
}

/// The largest of nonnegative numbers.
fn largest(numbers: &[f64]) -> f64 {
    fold_lanes(numbers, 0.0, |a, b| if a > b { a } else { b })
}

/// The least of nonnegative numbers.
fn least(numbers: &[f64]) -> f64 {
    fold_lanes(numbers, f64::INFINITY, |a, b| if a < b { a } else { b })
}

/// A fold whose order does not matter, in a form that the compiler vectorises.
#[inline(always)]
fn fold_lanes(numbers: &[f64], start: f64, fold: impl Fn(f64, f64) -> f64) -> f64 {
    let (chunks, rest) = numbers.as_chunks::<8>();
    let mut lanes = [start; 8];
    for chunk in chunks {
        for lane in 0..8 {
            lanes[lane] = fold(chunk[lane], lanes[lane]);
        }
    }
    rest.iter().chain(&lanes).copied().fold(start, fold)
}

/// The power of two with the same exponent, limited so that its inverse is normal; one for zero.
pub(super) fn power_of_two_near(number: f64) -> f64 {
    if number > 0.0 {
        f64::from_bits(number.clamp(1e-300, 1e300).to_bits() & f64::INFINITY.to_bits())
    } else {
        1.0
    }
}

/// The largest spend of a task if all others get their lower bounds, rounded up.
pub(super) fn max_spend(min: f64, residual: f64) -> f64 {
    let mut spend = Sum::from(min);
    spend.add(residual);
    round_up(spend)
}

/// `whole - parts`, rounded up.
pub(super) fn rounded_up_difference(whole: f64, parts: Sum) -> f64 {
    let mut difference = parts.negated();
    difference.add(whole);
    round_up(difference)
}

fn round_up(sum: Sum) -> f64 {
    let rounded = sum.value();
    if sum.exceeds(rounded) { rounded.next_up() } else { rounded }
}

/// A smaller scaled value may underflow in products.
const MIN_VALUE: f64 = 1e-290;
/// If the lower bounds leave less than this share of the budget, a concave problem is relaxed.
const MIN_RESIDUAL_SHARE: f64 = 1.0 / 64.0;

/// The sample has an eighth of the tasks in bulk, but no more than this unless it is a small share of
/// them.
const MAX_SAMPLE: usize = 512;
/// The largest stride: with many tasks a larger sample costs little, and its multiplier is closer.
const MAX_STRIDE: usize = 128;
/// With fewer tasks in bulk a sample saves nothing.
const MIN_SAMPLED: usize = 400;

/// Every n-th concave task, for the first multiplier of a cold search.
#[derive(Debug)]
struct Sample {
    concave: ConcaveTasks,
    tasks: Vec<usize>,
    values: Vec<f64>,
}

impl Sample {
    fn new(concave: &ConcaveTasks, curves: &Curves, bounds: &SolverBounds) -> Option<Self> {
        if concave.len() < MIN_SAMPLED {
            return None;
        }
        let stride = curves.len().div_ceil(MAX_SAMPLE).clamp(8, MAX_STRIDE);
        let tasks: Vec<usize> = (0..curves.len())
            .step_by(stride)
            .filter(|&task| ConcaveTasks::accepts(&curves[task], bounds.of(task)))
            .collect();
        let sampled = tasks.iter().map(|&task| (&curves[task], bounds.of(task)));
        let (concave, values) = (ConcaveTasks::new(sampled), vec![0.0; tasks.len()]);
        Some(Self { concave, tasks, values }).filter(|sample| !sample.tasks.is_empty())
    }

    fn load(&mut self, values: &[f64], residual: f64) {
        for (value, &task) in self.values.iter_mut().zip(&self.tasks) {
            *value = values[task];
        }
        self.concave.load(&self.values, residual);
    }
}

/// Joins the domains with one jump at the same spend and without bounds into groups at the end of
/// the list.
fn group_identical_thresholds(
    domains: &mut Vec<Domain>,
    curves: &Curves,
) -> Vec<IdenticalThresholds> {
    let jump = |domain: &Domain| match &domain.form {
        Form::Points { spend, success, linear: false } if spend.len() == 2 => {
            let is_unbounded =
                domain.at_least == 0.0 && domain.min == 0.0 && domain.max >= spend[1];
            is_unbounded.then(|| (spend[1], success[0], success[1]))
        }
        _ => None,
    };
    // Spends are positive, so their bits are in the same order.
    let mut jumps: Vec<(u64, usize)> = domains
        .iter()
        .enumerate()
        .filter_map(|(position, domain)| Some((jump(domain)?.0.to_bits(), position)))
        .collect();
    jumps.sort_unstable();
    let mut is_member = vec![false; domains.len()];
    let mut identical = Vec::new();
    let groups = jumps.chunk_by(|(one, _), (other, _)| one == other);
    for group in groups.filter(|group| group.len() > 1) {
        let member = |&(_, position): &(u64, usize)| {
            is_member[position] = true;
            let domain = &domains[position];
            let (_, before, after) = jump(domain)?;
            let height = curves[domain.task].height();
            Some(Member {
                task: domain.task as u32,
                before: height * before,
                after: height * after,
            })
        };
        let members: Vec<Member> = group.iter().filter_map(member).collect();
        identical.push(IdenticalThresholds::new(f64::from_bits(group[0].0), members));
    }
    let mut is_member = is_member.into_iter();
    domains.retain(|_| is_member.next() != Some(true));
    for position in 0..identical.len() {
        let form = Form::Points { spend: smallvec![0.0], success: smallvec![0.0], linear: false };
        let task = curves.len() + position;
        domains.push(Domain { task, form, at_least: 0.0, min: 0.0, max: f64::INFINITY, class: 0 });
    }
    identical
}
