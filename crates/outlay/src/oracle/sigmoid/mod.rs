//! Hill and logistic tasks in flat arrays: from a corner of the envelope along one chord to a
//! concave branch.
//!
//! That is the envelope of nearly every S-shaped task. What a price needs of all of them (where
//! each one's chord is tied, and by how much it jumps) is one pass; the spends of those on their
//! branch are found four at a time ([`riding`]). A task whose domain leaves it another envelope is
//! one of the `others`, which the search looks at one by one.

mod hill;
mod logistic;
mod riding;

use pulp::Simd;

use super::batch::Split;
use super::chords::{Chord, Chords};
use super::coordinate::{Coordinate, Form, Smooth};
use super::four::Four;
use super::hull::Hull;
use crate::curve::Curve;
use hill::HillFamily;
use logistic::LogisticFamily;
pub(super) use riding::{Ridden, Riding, Settlement, Taker};

/// What a family computes, four curves side by side.
trait Family {
    /// The numbers of a curve that every price needs, and one that goes into its level; nothing for
    /// other families.
    fn numbers(smooth: &Smooth) -> Option<([f64; 4], f64)>;
    /// What weights make of that number.
    fn level<S: Simd>(weight: Four<S>, number: Four<S>) -> Four<S>;
    /// How far along the branch a spend is, in the family's own measure.
    fn measure(numbers: [f64; 4], spend: f64) -> f64;
    /// The best on the branch at a price; keeps what the next price starts from.
    fn respond<S: Simd>(simd: S, curves: &mut FourCurves, price: Price) -> Responses<S>;
    /// The chances of success, before floor and ceiling, at spends above zero.
    fn success<S: Simd>(numbers: [Four<S>; 4], spend: Four<S>) -> Four<S>;
    /// Where a coordinate is in the family's batch.
    fn place(sigmoids: &Sigmoids, coordinate: u32) -> Option<usize>;
}

/// Four curves on their branch.
#[derive(Debug, Clone, Copy)]
struct FourCurves {
    numbers: [[f64; 4]; 4],
    level: [f64; 4],
    /// Where the chord touches the branch, in the family's measure: at the tie and below it no
    /// spend is before.
    touch: [f64; 4],
    /// Where the last price left each curve, and how fast it moved with the price's logarithm.
    place: [f64; 4],
    rate: [f64; 4],
}

/// What four curves respond.
#[derive(Clone, Copy)]
struct Responses<S: Simd> {
    spend: Four<S>,
    /// The spends' fall per unit of the price's logarithm, and by how much less that is a unit
    /// later.
    fall: Four<S>,
    bend: Four<S>,
    /// The chances of success, before floor and ceiling.
    success: Four<S>,
}

/// A price to respond to.
#[derive(Debug, Clone, Copy)]
struct Price {
    price: f64,
    log: f64,
    /// How far its logarithm is from that of the last price, if there was one.
    step: Option<f64>,
}

/// All Hill and logistic tasks of a problem.
#[derive(Debug)]
pub(super) struct Sigmoids {
    hill: Batch<HillFamily>,
    logistic: Batch<LogisticFamily>,
    /// Where each coordinate is.
    places: Vec<Place>,
    /// The coordinates that are not here, in this call.
    others: Vec<u32>,
}

/// See [`Sigmoids::are_few`].
const FEW: usize = 256;

/// Where a coordinate is.
#[derive(Debug, Clone, Copy)]
enum Place {
    Hill(usize),
    Logistic(usize),
    Elsewhere,
}

/// The tasks of one family.
#[derive(Debug)]
struct Batch<F> {
    coordinate: Vec<u32>,
    task: Vec<u32>,
    numbers: Vec<([f64; 4], f64)>,
    floor: Vec<f64>,
    height: Vec<f64>,
    /// The corner, the slope of its chord, and the branch; a slope of zero where the envelope is
    /// another in this call.
    low: Vec<f64>,
    low_success: Vec<f64>,
    slope: Vec<f64>,
    jump: Vec<f64>,
    start: Vec<f64>,
    end: Vec<f64>,
    touch: Vec<f64>,
    /// The price at which each task's chord is tied in this call, and what the corner is worth.
    tie: Vec<f64>,
    low_worth: Vec<f64>,
    /// Some corner is worth something.
    has_worthy_corners: bool,
    family: std::marker::PhantomData<F>,
}

impl Sigmoids {
    pub(super) fn new(coordinates: &[Coordinate], curves: &[Curve]) -> Self {
        let (mut hill, mut logistic) = (Batch::new(), Batch::new());
        let place = |(position, coordinate): (usize, &Coordinate)| {
            let (Form::Smooth(smooth), Some(curve)) =
                (&coordinate.form, curves.get(coordinate.task))
            else {
                return Place::Elsewhere;
            };
            if let Some(place) = hill.take(position, coordinate.task, smooth, curve) {
                return Place::Hill(place);
            }
            logistic
                .take(position, coordinate.task, smooth, curve)
                .map_or(Place::Elsewhere, Place::Logistic)
        };
        let places = coordinates.iter().enumerate().map(place).collect();
        Self { hill, logistic, places, others: Vec::new() }
    }

    /// The coordinates that the search has to look at one by one.
    pub(super) fn others(&self) -> &[u32] {
        &self.others
    }

    pub(super) fn is_empty(&self) -> bool {
        self.hill.task.is_empty() && self.logistic.task.is_empty()
    }

    /// To be called before the envelopes of a call are told.
    pub(super) fn clear(&mut self) {
        self.others.clear();
        self.hill.has_worthy_corners = false;
        self.logistic.has_worthy_corners = false;
        self.hill.low_worth.fill(0.0);
        self.logistic.low_worth.fill(0.0);
    }

    /// Takes the envelope of a coordinate in this call.
    pub(super) fn tell(&mut self, coordinate: usize, hull: &Hull) {
        let is_here = match self.places[coordinate] {
            Place::Hill(place) => self.hill.tell(place, hull),
            Place::Logistic(place) => self.logistic.tell(place, hull),
            Place::Elsewhere => false,
        };
        if !is_here {
            self.others.push(coordinate as u32);
        }
    }

    /// Takes the weights of a call.
    pub(super) fn load(&mut self, weights: &[f64]) {
        self.hill.load(weights);
        self.logistic.load(weights);
    }

    fn place(&self, coordinate: u32) -> Place {
        self.places[coordinate as usize]
    }

    /// Whether a coordinate is here in this call.
    pub(super) fn has(&self, coordinate: u32) -> bool {
        match self.place(coordinate) {
            Place::Hill(place) => self.hill.slope[place] > 0.0,
            Place::Logistic(place) => self.logistic.slope[place] > 0.0,
            Place::Elsewhere => false,
        }
    }

    /// The most that all can usefully take above their lower bounds.
    pub(super) fn reach(&self) -> f64 {
        self.hill.reach() + self.logistic.reach()
    }

    /// The same of one coordinate.
    pub(super) fn reach_of(&self, coordinate: u32) -> f64 {
        match self.place(coordinate) {
            Place::Hill(place) => self.hill.reach_of(place),
            Place::Logistic(place) => self.logistic.reach_of(place),
            Place::Elsewhere => 0.0,
        }
    }

    /// Writes the lower bound of a coordinate.
    pub(super) fn rest(&self, coordinate: u32, split: &mut Split<'_>) {
        match self.place(coordinate) {
            Place::Hill(place) => self.hill.rest(place, split),
            Place::Logistic(place) => self.logistic.rest(place, split),
            Place::Elsewhere => {}
        }
    }

    /// So few that all may be looked at for every node.
    pub(super) fn are_few(&self) -> bool {
        self.hill.task.len() + self.logistic.task.len() <= FEW
    }

    /// Adds the jumps of all but those set aside.
    pub(super) fn load_jumps(&self, aside: &[u32], jumps: &mut Chords) {
        self.hill.load_jumps(aside, jumps);
        self.logistic.load_jumps(aside, jumps);
    }
}

impl<F: Family> Batch<F> {
    fn new() -> Self {
        let none = Vec::new;
        Self {
            coordinate: Vec::new(),
            task: Vec::new(),
            numbers: Vec::new(),
            floor: none(),
            height: none(),
            low: none(),
            low_success: none(),
            slope: none(),
            jump: none(),
            start: none(),
            end: none(),
            touch: none(),
            tie: none(),
            low_worth: none(),
            has_worthy_corners: false,
            family: std::marker::PhantomData,
        }
    }

    /// Takes a task if it is of this family, and says where it is.
    fn take(
        &mut self,
        coordinate: usize,
        task: usize,
        smooth: &Smooth,
        curve: &Curve,
    ) -> Option<usize> {
        let numbers = F::numbers(smooth)?;
        let place = self.task.len();
        self.coordinate.push(coordinate as u32);
        self.task.push(task as u32);
        self.numbers.push(numbers);
        self.floor.push(curve.floor());
        self.height.push(curve.height());
        let Self { low, low_success, slope, jump, start, end, touch, tie, low_worth, .. } = self;
        for numbers in [low, low_success, slope, jump, start, end, touch, tie, low_worth] {
            numbers.push(0.0);
        }
        Some(place)
    }

    /// Takes the envelope of a task; false if it is not of the kind that is handled here.
    fn tell(&mut self, place: usize, hull: &Hull) -> bool {
        self.slope[place] = 0.0;
        self.jump[place] = 0.0;
        self.low_success[place] = 0.0;
        let (&[corner], Some(branch)) = (&hull.corners[..], hull.branch) else { return false };
        let numbers = self.numbers[place].0;
        // Where the branch begins at the inflection itself, the family's measure has no slope to
        // follow.
        let is_flat_start = corner.slope == f64::INFINITY && branch.start > 0.0;
        if is_flat_start || !(corner.slope > 0.0) {
            return false;
        }
        self.low[place] = corner.spend;
        self.low_success[place] = corner.success;
        self.has_worthy_corners |= corner.success > 0.0;
        self.slope[place] = corner.slope;
        self.jump[place] = branch.touch - corner.spend;
        self.start[place] = branch.start;
        self.end[place] = branch.end;
        self.touch[place] = F::measure(numbers, branch.touch);
        true
    }

    fn load(&mut self, weights: &[f64]) {
        for ((tie, slope), &coordinate) in
            self.tie.iter_mut().zip(&self.slope).zip(&self.coordinate)
        {
            let weight = weights[coordinate as usize];
            // An infinite slope is none for a task that is worth nothing.
            *tie = if weight > 0.0 { weight * slope } else { 0.0 };
        }
        if self.has_worthy_corners {
            for ((worth, success), &coordinate) in
                self.low_worth.iter_mut().zip(&self.low_success).zip(&self.coordinate)
            {
                *worth = weights[coordinate as usize] * success;
            }
        }
    }

    /// Writes the lower bound of a task.
    fn rest(&self, place: usize, split: &mut Split<'_>) {
        let task = self.task[place] as usize;
        split.spend[task] = self.low[place];
        split.success[task] = self.floor[place] + self.height[place] * self.low_success[place];
    }

    fn load_jumps(&self, aside: &[u32], jumps: &mut Chords) {
        if aside.is_empty() {
            return jumps.extend(&self.tie, &self.jump);
        }
        let mut aside = Aside(aside);
        for ((&price, &jump), &coordinate) in self.tie.iter().zip(&self.jump).zip(&self.coordinate)
        {
            if !aside.has(coordinate) {
                jumps.push(Chord { price, jump });
            }
        }
    }

    fn reach(&self) -> f64 {
        let room =
            |((&tie, &end), &low): ((&f64, &f64), &f64)| if tie > 0.0 { end - low } else { 0.0 };
        self.tie.iter().zip(&self.end).zip(&self.low).map(room).sum()
    }

    fn reach_of(&self, place: usize) -> f64 {
        if self.tie[place] > 0.0 { self.end[place] - self.low[place] } else { 0.0 }
    }
}

/// A walk along coordinates that are set aside, beside one along all.
struct Aside<'a>(&'a [u32]);

impl Aside<'_> {
    /// Whether a coordinate, not before the last one asked for, is set aside.
    fn has(&mut self, coordinate: u32) -> bool {
        while let Some((&first, rest)) =
            self.0.split_first().filter(|(first, _)| **first <= coordinate)
        {
            if first == coordinate {
                return true;
            }
            self.0 = rest;
        }
        false
    }
}
