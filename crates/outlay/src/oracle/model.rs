//! A problem arranged for the search: smooth concave tasks in bulk, the others one by one, equal
//! thresholds stacked.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::batch::Batches;
use super::coordinate::{Coordinate, Form, Smooth};
use super::hull::Hull;
use super::price::View;
use super::sigmoid::Sigmoids;
use super::stack::{Member, Stack};
use super::stairs::Stairs;
use crate::curve::{Curve, Family};
use crate::numeric::compensated::sum;
use crate::problem::{Bounds, Problem};

/// The arranged problem, with the values and the budget of the current call.
#[derive(Debug)]
pub(super) struct Model {
    pub(super) names: Vec<String>,
    pub(super) curves: Vec<Curve>,
    pub(super) bounds: Vec<Bounds>,
    pub(super) batches: Batches,
    /// Some of the tasks in bulk, if they are many.
    sample: Option<Batches>,
    pub(super) coordinates: Vec<Coordinate>,
    /// The S-shaped ones in flat arrays.
    pub(super) sigmoids: Sigmoids,
    /// What a success of each plain coordinate is worth, per value of its task.
    heights: Vec<(u32, f64)>,
    /// The stack behind each of the last coordinates.
    pub(super) stacks: Vec<Stack>,
    /// All tasks in flat arrays, if every one is a staircase.
    pub(super) stairs: Option<Box<Stairs>>,
    /// Coordinates of each class; in the order of this call, those with more weight first.
    pub(super) classes: Vec<Vec<u32>>,
    /// Place of each coordinate in its class.
    pub(super) rank: Vec<u32>,
    pub(super) min_total: f64,
    /// Whether any task is a staircase.
    pub(super) has_steps: bool,
    /// Whether any curve has a floor.
    has_floors: bool,

    /// The values of the call, divided by `unit`.
    pub(super) values: Vec<f64>,
    /// A power of two near the largest value: products of values and slopes then stay within
    /// floating point, and dividing by it changes no digit.
    pub(super) unit: f64,
    /// What a success of each coordinate is worth; one for a stack.
    pub(super) weights: Vec<f64>,
    /// No call was loaded yet.
    is_new: bool,
    /// What the floors are worth whatever is spent.
    pub(super) constant: f64,
    pub(super) budget: f64,
    pub(super) free: f64,
    pub(super) low: Vec<f64>,
    pub(super) high: Vec<f64>,
    /// Envelopes: one a coordinate, then those of narrowed domains.
    pub(super) hulls: Vec<Hull>,
    pub(super) hull_of: Vec<u32>,
}

impl Model {
    pub(super) fn new(problem: &Problem) -> Self {
        let tasks = problem.tasks();
        let curves: Vec<Curve> = tasks.iter().map(|task| task.curve().clone()).collect();
        let bounds: Vec<Bounds> = tasks.iter().map(|task| task.bounds()).collect();
        let mut batches = Batches::default();
        let mut coordinates = Vec::new();
        for (task, (curve, &bounds)) in curves.iter().zip(&bounds).enumerate() {
            if !batches.take(task, curve, bounds) {
                coordinates.push(Coordinate::new(task, curve, bounds));
            }
        }
        batches.seal();
        let sample = sample(&batches, &curves, &bounds);
        let stacks = stack_equal_thresholds(&mut coordinates, &curves);
        let classes = classify(&mut coordinates, &curves);
        let is_custom = |curve: &Curve| matches!(curve.family(), Family::Custom(_));
        let is_stairs = batches.len() == 0
            && coordinates.iter().all(|coordinate| coordinate.form.is_steps())
            && !curves.iter().any(is_custom);
        let count = coordinates.len();
        let plain = &coordinates[..count - stacks.len()];
        let heights = plain
            .iter()
            .map(|coordinate| (coordinate.task as u32, curves[coordinate.task].height()))
            .collect();
        let sigmoids = Sigmoids::new(&coordinates, &curves);
        let mut rank = vec![0; count];
        for class in &classes {
            for (position, &coordinate) in class.iter().enumerate() {
                rank[coordinate as usize] = position as u32;
            }
        }
        Self {
            names: tasks.iter().map(|task| task.name().to_owned()).collect(),
            has_steps: coordinates.iter().any(|coordinate| coordinate.form.is_steps()),
            has_floors: curves.iter().any(|curve| curve.floor() > 0.0),
            min_total: sum(bounds.iter().map(|bounds| bounds.min)),
            curves,
            bounds,
            batches,
            sample,
            sigmoids,
            heights,
            coordinates,
            stacks,
            stairs: is_stairs.then(Box::default),
            classes,
            rank,
            values: vec![0.0; tasks.len()],
            unit: 1.0,
            weights: vec![1.0; count],
            is_new: true,
            constant: 0.0,
            budget: 0.0,
            free: 0.0,
            low: vec![0.0; count],
            high: vec![0.0; count],
            hulls: vec![Hull::default(); count],
            hull_of: (0..count as u32).collect(),
        }
    }

    /// Spends are written here: one place a task, then one a stack.
    pub(super) fn places(&self) -> usize {
        self.curves.len() + self.stacks.len()
    }

    /// Takes the values and the budget of a call for the sample alone.
    pub(super) fn load_sample(&mut self, values: &[f64], budget: f64) {
        self.free = (budget - self.min_total).max(0.0);
        if let Some(sample) = &mut self.sample {
            sample.load(values, self.free);
        }
    }

    /// Takes the values and the budget of a call; a cold one also needs the sample.
    pub(super) fn load(&mut self, values: &[f64], budget: f64, is_cold: bool) {
        self.unit = power_of_two_near(largest(values));
        let per_unit = 1.0 / self.unit;
        self.values.iter_mut().zip(values).for_each(|(scaled, value)| *scaled = value * per_unit);
        let values = std::mem::take(&mut self.values);
        if self.has_floors {
            self.constant =
                sum(self.curves.iter().zip(&values).map(|(curve, value)| value * curve.floor()));
        }
        let last = (self.budget, self.free);
        self.budget = budget;
        self.free = (budget - self.min_total).max(0.0);
        self.batches.load(&values, self.free);
        if let Some(sample) = self.sample.as_mut().filter(|_| is_cold) {
            sample.load(&values, self.free);
        }
        let plain = self.coordinates.len() - self.stacks.len();
        for (stack, coordinate) in self.stacks.iter_mut().zip(&mut self.coordinates[plain..]) {
            stack.build(&values, self.free, &mut coordinate.form);
        }
        if let Some(stairs) = &mut self.stairs {
            stairs.load(&self.coordinates, &self.curves, plain, self.free, budget);
            stairs.weigh(&values, &mut self.weights);
            self.values = values;
            return;
        }
        for (weight, &(task, height)) in self.weights.iter_mut().zip(&self.heights) {
            *weight = values[task as usize] * height;
        }
        self.values = values;
        // With the same budget all domains, and the envelopes of all but stacks, are what they
        // were.
        let is_moved = last != (self.budget, self.free) || self.is_new;
        self.is_new = false;
        if is_moved {
            self.sigmoids.clear();
        }
        for position in if is_moved { 0 } else { plain }..self.coordinates.len() {
            self.load_domain(position, position >= plain);
            if is_moved {
                self.sigmoids.tell(position, &self.hulls[position]);
            }
        }
        self.sigmoids.load(&self.weights);
    }

    /// The domain of a coordinate in this call, and the envelope on it.
    fn load_domain(&mut self, position: usize, is_stack: bool) {
        let coordinate = &self.coordinates[position];
        let low = coordinate.min;
        let most = low + self.free;
        let asks_for_digits = coordinate.form.is_steps() || coordinate.at_least > most;
        let high = coordinate.max.min(if asks_for_digits {
            within_budget(low, self.free, self.budget)
        } else {
            most
        });
        (self.low[position], self.high[position]) = (low, high);
        let hull = &mut self.hulls[position];
        if is_stack || hull.corners.is_empty() || !hull.move_end(coordinate, high) {
            hull.build(coordinate, low, high);
        }
        self.hull_of[position] = position as u32;
    }

    /// Orders each class by weight, for the rule that a worthier task of equal curves gets no less.
    pub(super) fn rank_classes(&mut self) {
        let weights = &self.weights;
        for class in self.classes.iter_mut().filter(|class| class.len() > 1) {
            class.sort_unstable_by(|&a, &b| {
                weights[b as usize].total_cmp(&weights[a as usize]).then(a.cmp(&b))
            });
            for (position, &coordinate) in class.iter().enumerate() {
                self.rank[coordinate as usize] = position as u32;
            }
        }
    }

    pub(super) fn view(&self) -> View<'_> {
        View {
            batches: &self.batches,
            sample: self.sample.as_ref(),
            bounds: &self.bounds,
            curves: &self.curves,
            values: &self.values,
            coordinates: &self.coordinates,
            weights: &self.weights,
            hulls: &self.hulls,
            hull_of: &self.hull_of,
            sigmoids: Some(&self.sigmoids).filter(|sigmoids| !sigmoids.is_empty()),
            others: self.sigmoids.others(),
            aside: &[],
            free: self.free,
        }
    }

    /// What equal thresholds that the budget does not reach would pay per unit: below it a price
    /// proves nothing.
    pub(super) fn unaffordable_price(&self) -> f64 {
        self.stacks.iter().map(Stack::next_price).fold(0.0, f64::max)
    }

    /// The task, or the place after the tasks, that a coordinate stands for.
    pub(super) fn task(&self, coordinate: u32) -> usize {
        self.coordinates[coordinate as usize].task
    }

    /// Whether every task is a staircase, so that the exact search over steps applies.
    pub(super) fn is_all_steps(&self) -> bool {
        self.batches.len() == 0
            && self.coordinates.iter().all(|coordinate| coordinate.form.is_steps())
    }
}

/// The largest of numbers that are not negative, in a form that the compiler turns into vector
/// instructions.
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

/// The power of two with the same exponent, within the range where its inverse is one too; one for
/// zero.
fn power_of_two_near(number: f64) -> f64 {
    if number > 0.0 {
        f64::from_bits(number.clamp(1e-300, 1e300).to_bits() & f64::INFINITY.to_bits())
    } else {
        1.0
    }
}

/// The most a task may get if the others get their least. A sum of decimals may miss by its last
/// digits what a jump needs or `at_least` asks for: those are granted.
pub(super) fn within_budget(min: f64, free: f64, budget: f64) -> f64 {
    min + free + 4.0 * f64::EPSILON * budget
}

/// A cold search begins with an eighth of the tasks in bulk, but no more than this.
const MAX_SAMPLE: usize = 512;
/// Below this many tasks in bulk a sample saves nothing.
const MIN_SAMPLED: usize = 400;

/// Every n-th task of the batches.
fn sample(batches: &Batches, curves: &[Curve], bounds: &[Bounds]) -> Option<Batches> {
    if batches.len() < MIN_SAMPLED {
        return None;
    }
    let mut sample = Batches::default();
    for task in (0..curves.len()).step_by(curves.len().div_ceil(MAX_SAMPLE).max(8)) {
        sample.take(task, &curves[task], bounds[task]);
    }
    sample.seal();
    Some(sample).filter(|sample| sample.len() > 0)
}

/// Joins the coordinates that are one jump at the same spend, without bounds, into stacks at the
/// end of the list.
fn stack_equal_thresholds(coordinates: &mut Vec<Coordinate>, curves: &[Curve]) -> Vec<Stack> {
    let mut groups: HashMap<u64, Vec<Member>> = HashMap::new();
    let jump = |coordinate: &Coordinate| match &coordinate.form {
        Form::Points { spend, success, linear: false } if spend.len() == 2 => {
            let free =
                coordinate.at_least == 0.0 && coordinate.min == 0.0 && coordinate.max >= spend[1];
            free.then(|| (spend[1], success[0], success[1]))
        }
        _ => None,
    };
    for coordinate in coordinates.iter() {
        if let Some((at, before, after)) = jump(coordinate) {
            let height = curves[coordinate.task].height();
            let member = Member {
                task: coordinate.task as u32,
                before: height * before,
                after: height * after,
            };
            groups.entry(at.to_bits()).or_default().push(member);
        }
    }
    groups.retain(|_, members| members.len() > 1);
    coordinates.retain(|coordinate| {
        jump(coordinate).is_none_or(|(at, ..)| !groups.contains_key(&at.to_bits()))
    });
    let mut stacks: Vec<Stack> =
        groups.into_iter().map(|(at, members)| Stack::new(f64::from_bits(at), members)).collect();
    stacks.sort_unstable_by(|a, b| a.at.total_cmp(&b.at));
    for position in 0..stacks.len() {
        let form = Form::Points { spend: vec![0.0], success: vec![0.0], linear: false };
        let task = curves.len() + position;
        coordinates.push(Coordinate {
            task,
            form,
            at_least: 0.0,
            min: 0.0,
            max: f64::INFINITY,
            class: 0,
        });
    }
    stacks
}

/// Gives equal forms with equal bounds the same class and returns the members of each class.
fn classify(coordinates: &mut [Coordinate], curves: &[Curve]) -> Vec<Vec<u32>> {
    let mut seen: HashMap<u64, Vec<u32>> = HashMap::new();
    let mut classes: Vec<Vec<u32>> = Vec::new();
    for position in 0..coordinates.len() {
        let coordinate = &coordinates[position];
        // A user's function is refined on its own, and a stack is written anew in every call: each
        // is alone in its class.
        let is_alone = curves
            .get(coordinate.task)
            .is_none_or(|curve| matches!(curve.family(), Family::Custom(_)));
        let mut alike =
            if is_alone { None } else { Some(seen.entry(fingerprint(coordinate)).or_default()) };
        let equal = |&class: &u32| {
            let other = &coordinates[classes[class as usize][0] as usize];
            let bounds =
                |coordinate: &Coordinate| (coordinate.min, coordinate.max, coordinate.at_least);
            other.form == coordinate.form && bounds(other) == bounds(coordinate)
        };
        let known = alike.as_ref().and_then(|alike| alike.iter().copied().find(equal));
        let class = known.unwrap_or_else(|| {
            let new = classes.len() as u32;
            classes.push(Vec::new());
            alike.iter_mut().for_each(|alike| alike.push(new));
            new
        });
        classes[class as usize].push(position as u32);
        coordinates[position].class = class;
    }
    classes
}

fn fingerprint(coordinate: &Coordinate) -> u64 {
    let mut hasher = DefaultHasher::new();
    let mut add = |number: f64| number.to_bits().hash(&mut hasher);
    add(coordinate.min);
    add(coordinate.max);
    add(coordinate.at_least);
    match &coordinate.form {
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
