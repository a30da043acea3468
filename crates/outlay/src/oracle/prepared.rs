//! The problem arranged for solving: concave tasks in bulk, other tasks as domains, identical
//! thresholds joined into groups, and symmetry classes of equal domains.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::concave::ConcaveTasks;
use super::domain::{Domain, Form, Smooth};
use super::envelope::Envelope;
use super::mckp::{IdenticalThresholds, Member, StepItems};
use super::multiplier::View;
use super::sigmoid::Sigmoids;
use super::tolerances::{SUCCESS_ACCURACY, curve_rounding};
use crate::curve::Curve;
use crate::numeric::compensated::{Sum, sum};
use crate::problem::{Bounds, Problem, max_total};

/// The prepared problem, with the values and the budget of the current call.
#[derive(Debug)]
pub(super) struct PreparedProblem {
    pub(super) names: Vec<String>,
    pub(super) curves: Vec<Curve>,
    /// The bounds as given, and those of the solvers.
    pub(super) given_bounds: Vec<Bounds>,
    pub(super) bounds: Vec<Bounds>,
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
    /// The domains of each symmetry class; in a call, those with more weight first.
    pub(super) classes: Vec<Vec<u32>>,
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
    pub(super) fn new(problem: &Problem) -> Self {
        let tasks = problem.tasks();
        let names = tasks.iter().map(|task| task.name().to_owned()).collect();
        let curves: Vec<Curve> = tasks.iter().map(|task| task.curve().clone()).collect();
        let bounds: Vec<Bounds> = tasks.iter().map(|task| task.bounds()).collect();
        let is_concave = |(curve, &bounds)| ConcaveTasks::accepts(curve, bounds);
        let is_relaxed = !curves.iter().zip(&bounds).all(is_concave);
        Self::of(names, curves, bounds, is_relaxed)
    }

    /// The same problem with relaxed bounds and budgets.
    pub(super) fn relaxed(&self) -> Self {
        Self::of(self.names.clone(), self.curves.clone(), self.given_bounds.clone(), true)
    }

    fn of(
        names: Vec<String>,
        curves: Vec<Curve>,
        given_bounds: Vec<Bounds>,
        is_relaxed: bool,
    ) -> Self {
        let relax = |bounds: &Bounds| if is_relaxed { bounds.relaxed() } else { *bounds };
        let bounds: Vec<Bounds> = given_bounds.iter().map(relax).collect();
        let concave = ConcaveTasks::new(&curves, &bounds);
        let mut domains = Vec::new();
        for (task, (curve, &bounds)) in curves.iter().zip(&bounds).enumerate() {
            if !ConcaveTasks::accepts(curve, bounds) {
                domains.push(Domain::new(task, curve, bounds));
            }
        }
        let sample = Sample::new(&concave, &curves, &bounds);
        let identical = group_identical_thresholds(&mut domains, &curves);
        let classes = classify(&mut domains, &curves);
        let is_steps_only = concave.len() == 0
            && domains.iter().all(|domain| domain.form.is_steps())
            && !curves.iter().any(Curve::is_custom);
        let count = domains.len();
        let plain = &domains[..count - identical.len()];
        let heights =
            plain.iter().map(|domain| (domain.task as u32, curves[domain.task].height())).collect();
        let sigmoids = Sigmoids::new(&domains, &curves);
        let mut rank = vec![0; count];
        for class in &classes {
            for (position, &domain) in class.iter().enumerate() {
                rank[domain as usize] = position as u32;
            }
        }
        Self {
            names,
            has_steps: domains.iter().any(|domain| domain.form.is_steps()),
            has_floors: curves.iter().any(|curve| curve.floor() > 0.0),
            success_rounding: if is_steps_only {
                0.0
            } else {
                SUCCESS_ACCURACY + curve_rounding(&curves)
            },
            given_min_total: given_bounds.iter().map(|bounds| bounds.min).collect(),
            min_total: bounds.iter().map(|bounds| bounds.min).collect(),
            values: vec![0.0; curves.len()],
            curves,
            given_bounds,
            bounds,
            is_relaxed,
            concave,
            sample,
            sigmoids,
            heights,
            domains,
            identical,
            steps: is_steps_only.then(Box::default),
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
            low: vec![0.0; count],
            high: vec![0.0; count],
            envelopes: vec![Envelope::default(); count],
            envelope_of: (0..count as u32).collect(),
        }
    }

    /// The length of a spend vector: one entry per task, then one per group.
    pub(super) fn spend_len(&self) -> usize {
        self.curves.len() + self.identical.len()
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
        let is_tiny = |(scaled, value): (&f64, &f64)| (*scaled < MIN_VALUE) & (*value > 0.0);
        self.has_tiny_values =
            self.values.iter().zip(values).fold(false, |any, pair| any | is_tiny(pair));
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
        if let Some(steps) = &mut self.steps {
            steps.load(&self.domains, &self.curves, plain, self.residual, self.budget);
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
        let weights = &self.weights;
        for class in self.classes.iter_mut().filter(|class| class.len() > 1) {
            class.sort_unstable_by(|&a, &b| {
                weights[b as usize].total_cmp(&weights[a as usize]).then(a.cmp(&b))
            });
            for (position, &domain) in class.iter().enumerate() {
                self.rank[domain as usize] = position as u32;
            }
        }
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
        self.concave.len() == 0 && self.domains.iter().all(|domain| domain.form.is_steps())
    }
}

/// The largest of nonnegative numbers, in a form that the compiler vectorises.
fn largest(numbers: &[f64]) -> f64 {
    let larger = |a: f64, b: f64| if a > b { a } else { b };
    let (chunks, rest) = numbers.as_chunks::<8>();
    let mut lanes = [0.0; 8];
    for chunk in chunks {
        for lane in 0..8 {
            lanes[lane] = larger(chunk[lane], lanes[lane]);
        }
    }
    rest.iter().chain(&lanes).copied().fold(0.0, larger)
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

/// The sample has an eighth of the tasks in bulk, but no more than this.
const MAX_SAMPLE: usize = 512;
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
    fn new(concave: &ConcaveTasks, curves: &[Curve], bounds: &[Bounds]) -> Option<Self> {
        if concave.len() < MIN_SAMPLED {
            return None;
        }
        let stride = curves.len().div_ceil(MAX_SAMPLE).max(8);
        let tasks: Vec<usize> = (0..curves.len())
            .step_by(stride)
            .filter(|&task| ConcaveTasks::accepts(&curves[task], bounds[task]))
            .collect();
        let curves: Vec<Curve> = tasks.iter().map(|&task| curves[task].clone()).collect();
        let bounds: Vec<Bounds> = tasks.iter().map(|&task| bounds[task]).collect();
        let (concave, values) = (ConcaveTasks::new(&curves, &bounds), vec![0.0; tasks.len()]);
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
    curves: &[Curve],
) -> Vec<IdenticalThresholds> {
    let mut groups: HashMap<u64, Vec<Member>> = HashMap::new();
    let jump = |domain: &Domain| match &domain.form {
        Form::Points { spend, success, linear: false } if spend.len() == 2 => {
            let is_unbounded =
                domain.at_least == 0.0 && domain.min == 0.0 && domain.max >= spend[1];
            is_unbounded.then(|| (spend[1], success[0], success[1]))
        }
        _ => None,
    };
    for domain in domains.iter() {
        if let Some((at, before, after)) = jump(domain) {
            let height = curves[domain.task].height();
            let member =
                Member { task: domain.task as u32, before: height * before, after: height * after };
            groups.entry(at.to_bits()).or_default().push(member);
        }
    }
    groups.retain(|_, members| members.len() > 1);
    domains
        .retain(|domain| jump(domain).is_none_or(|(at, ..)| !groups.contains_key(&at.to_bits())));
    let mut identical: Vec<IdenticalThresholds> = groups
        .into_iter()
        .map(|(at, members)| IdenticalThresholds::new(f64::from_bits(at), members))
        .collect();
    identical.sort_unstable_by(|a, b| a.at.total_cmp(&b.at));
    for position in 0..identical.len() {
        let form = Form::Points { spend: vec![0.0], success: vec![0.0], linear: false };
        let task = curves.len() + position;
        domains.push(Domain { task, form, at_least: 0.0, min: 0.0, max: f64::INFINITY, class: 0 });
    }
    identical
}

/// Gives equal forms with equal bounds the same class and returns the members of each class.
fn classify(domains: &mut [Domain], curves: &[Curve]) -> Vec<Vec<u32>> {
    let mut seen: HashMap<u64, Vec<u32>> = HashMap::new();
    let mut classes: Vec<Vec<u32>> = Vec::new();
    for position in 0..domains.len() {
        let domain = &domains[position];
        // A user's function is refined individually and a group changes in every call: each is
        // alone in its class.
        let is_alone = curves.get(domain.task).is_none_or(Curve::is_custom);
        let mut alike =
            if is_alone { None } else { Some(seen.entry(fingerprint(domain)).or_default()) };
        let equal = |&class: &u32| {
            let other = &domains[classes[class as usize][0] as usize];
            let bounds = |domain: &Domain| (domain.min, domain.max, domain.at_least);
            other.form == domain.form && bounds(other) == bounds(domain)
        };
        let known = alike.as_ref().and_then(|alike| alike.iter().copied().find(equal));
        let class = known.unwrap_or_else(|| {
            let new = classes.len() as u32;
            classes.push(Vec::new());
            alike.iter_mut().for_each(|alike| alike.push(new));
            new
        });
        classes[class as usize].push(position as u32);
        domains[position].class = class;
    }
    classes
}

fn fingerprint(domain: &Domain) -> u64 {
    let mut hasher = DefaultHasher::new();
    let mut add = |number: f64| number.to_bits().hash(&mut hasher);
    add(domain.min);
    add(domain.max);
    add(domain.at_least);
    match &domain.form {
        Form::Points { spend, success, .. } => {
            spend.iter().chain(success).for_each(|&number| add(number))
        }
        Form::Smooth(Smooth::Power(power)) => {
            [power.exponent(), power.scale()].into_iter().for_each(add)
        }
        Form::Smooth(Smooth::Exponential(exponential)) => add(exponential.scale()),
        Form::Smooth(Smooth::Hill(hill)) => {
            [hill.half_at(), hill.steepness()].into_iter().for_each(add)
        }
        Form::Smooth(Smooth::Logistic(logistic)) => {
            [logistic.mid(), logistic.width()].into_iter().for_each(add)
        }
    }
    hasher.finish()
}
