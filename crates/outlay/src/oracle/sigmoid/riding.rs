//! The tasks that may be on their branch at the prices tried: their numbers side by side, and where the last price left them.
//!
//! They are picked once, for prices above a cutoff, and kept through the call: a node of the search sets aside the few whose domain
//! it narrows and goes on from where the last price was.

use pulp::{Arch, Simd, WithSimd};

use super::hill::HillFamily;
use super::logistic::LogisticFamily;
use super::{Batch, ELSEWHERE, Family, FourCurves, Price, Sigmoids};
use crate::oracle::batch::{Settled, Split};
use crate::oracle::chords::{Chord, Chords};
use crate::oracle::four::{Four, FourSums, with_four};
use crate::sum::Sum;

/// A price this much below the one asked for is within reach without picking anew.
const REACH_DOWN: f64 = 0.8;

/// The tasks that may be on their branch.
#[derive(Debug, Default)]
pub(in crate::oracle) struct Riding {
    hill: Riders<HillFamily>,
    logistic: Riders<LogisticFamily>,
    /// Everybody who is tied above this price is here.
    cutoff: f64,
}

/// What tasks take at a price.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::oracle) struct Ridden {
    /// Above their lower bounds, those tied above the price.
    pub(in crate::oracle) spend: f64,
    /// Its fall per unit of the price's logarithm.
    pub(in crate::oracle) fall: f64,
    /// What those tied exactly there would add.
    pub(in crate::oracle) joining: f64,
}

/// A task that is tied at the price it is settled at.
#[derive(Debug, Clone, Copy)]
pub(in crate::oracle) struct Taker {
    pub(in crate::oracle) coordinate: usize,
    pub(in crate::oracle) task: usize,
    pub(in crate::oracle) from: f64,
    pub(in crate::oracle) to: f64,
}

/// The riders of one family.
#[derive(Debug)]
struct Riders<F> {
    /// Their places in the batch, in order.
    place: Vec<u32>,
    fours: Vec<FourRiders>,
    /// The logarithm of the price that left them where they are.
    log: Option<f64>,
    /// What everybody else is worth at the lower bounds.
    idle: Sum,
    family: std::marker::PhantomData<F>,
}

impl<F> Default for Riders<F> {
    fn default() -> Self {
        Self { place: Vec::new(), fours: Vec::new(), log: None, idle: Sum::default(), family: std::marker::PhantomData }
    }
}

/// Four of them.
#[derive(Debug, Clone, Copy)]
struct FourRiders {
    /// The price of the tie; zero for one that is set aside.
    tie: [f64; 4],
    low: [f64; 4],
    start: [f64; 4],
    end: [f64; 4],
    curves: FourCurves,
}

/// No riders: never on their branch, and harmless to compute with.
const NOBODY: FourRiders = FourRiders {
    tie: [0.0; 4],
    low: [0.0; 4],
    start: [0.0; 4],
    end: [0.0; 4],
    curves: FourCurves { numbers: [[1.0; 4]; 3], level: [1.0; 4], touch: [0.0; 4], place: [0.0; 4], rate: [0.0; 4] },
};

impl Riding {
    /// Forgets everybody: the next price picks anew.
    pub(in crate::oracle) fn clear(&mut self) {
        self.cutoff = f64::INFINITY;
        self.hill.clear();
        self.logistic.clear();
    }

    pub(in crate::oracle) fn len(&self) -> usize {
        self.hill.place.len() + self.logistic.place.len()
    }

    /// Makes sure that everybody who may be on a branch at this price is here; true if they had to be picked anew.
    pub(in crate::oracle) fn reach(&mut self, sigmoids: &Sigmoids, weights: &[f64], price: f64, aside: &[u32]) -> bool {
        if price > self.cutoff {
            return false;
        }
        self.cutoff = REACH_DOWN * price;
        self.hill.pick(&sigmoids.hill, weights, self.cutoff);
        self.logistic.pick(&sigmoids.logistic, weights, self.cutoff);
        self.set_aside(sigmoids, aside);
        true
    }

    /// Sets coordinates aside, if they are here.
    pub(in crate::oracle) fn set_aside(&mut self, sigmoids: &Sigmoids, coordinates: &[u32]) {
        for &coordinate in coordinates {
            self.set_tie(sigmoids, coordinate, |_| 0.0);
        }
    }

    /// Takes them back.
    pub(in crate::oracle) fn take_back(&mut self, sigmoids: &Sigmoids, coordinates: &[u32]) {
        for &coordinate in coordinates {
            self.set_tie(sigmoids, coordinate, |tie| tie);
        }
    }

    fn set_tie(&mut self, sigmoids: &Sigmoids, coordinate: u32, of: impl Fn(f64) -> f64) {
        match sigmoids.place_of[coordinate as usize] {
            ELSEWHERE => {}
            place if place % 2 == 0 => self.hill.set_tie(place / 2, of(sigmoids.hill.tie[(place / 2) as usize])),
            place => self.logistic.set_tie(place / 2, of(sigmoids.logistic.tie[(place / 2) as usize])),
        }
    }

    /// Adds the jumps of those who are here and not set aside.
    pub(in crate::oracle) fn load_jumps(&self, sigmoids: &Sigmoids, jumps: &mut Chords) {
        self.hill.load_jumps(&sigmoids.hill, jumps);
        self.logistic.load_jumps(&sigmoids.logistic, jumps);
    }

    pub(in crate::oracle) fn respond(&mut self, price: f64) -> Ridden {
        let (a, b) = (self.hill.respond(price), self.logistic.respond(price));
        Ridden { spend: a.spend + b.spend, fall: a.fall + b.fall, joining: a.joining + b.joining }
    }

    /// Writes the spends at a price and adds up; those tied there stay low and are handed to `tied`.
    pub(in crate::oracle) fn settle(&mut self, at: Settlement<'_>, split: &mut Split<'_>, settled: &mut Settled, mut tied: impl FnMut(Taker)) {
        let sigmoids = at.sigmoids;
        self.hill.settle(&sigmoids.hill, at, split, settled, &mut tied);
        self.logistic.settle(&sigmoids.logistic, at, split, settled, &mut tied);
        for &coordinate in at.aside {
            let worth = match sigmoids.place_of[coordinate as usize] {
                ELSEWHERE => 0.0,
                place if place % 2 == 0 => self.hill.idle_worth(&sigmoids.hill, at.weights, place / 2),
                place => self.logistic.idle_worth(&sigmoids.logistic, at.weights, place / 2),
            };
            settled.value.add(-worth);
        }
    }
}

/// Where to settle.
#[derive(Debug, Clone, Copy)]
pub(in crate::oracle) struct Settlement<'a> {
    pub(in crate::oracle) sigmoids: &'a Sigmoids,
    pub(in crate::oracle) weights: &'a [f64],
    pub(in crate::oracle) price: f64,
    /// Coordinates that are set aside.
    pub(in crate::oracle) aside: &'a [u32],
    /// Whether nothing was written to the split yet: later on only riders differ.
    pub(in crate::oracle) is_first: bool,
}

impl<F: Family> Riders<F> {
    fn clear(&mut self) {
        self.place.clear();
        self.fours.clear();
        self.log = None;
        self.idle = Sum::default();
    }

    /// Picks everybody who is tied above a price.
    fn pick(&mut self, batch: &Batch<F>, weights: &[f64], cutoff: f64) {
        self.clear();
        self.place.resize(batch.tie.len(), 0);
        let mut count = 0;
        for (place, &tie) in batch.tie.iter().enumerate() {
            // No branch: nobody foresees who is picked.
            self.place[count] = place as u32;
            count += usize::from(tie > cutoff);
        }
        self.place.truncate(count);
        self.fours.resize(count.div_ceil(4), NOBODY);
        for (position, &place) in self.place.iter().enumerate() {
            let weight = weights[batch.coordinate[place as usize] as usize];
            self.fours[position / 4].seat(position % 4, batch, place as usize, weight);
        }
        if batch.has_worthy_corners {
            self.add_up_idle(batch, weights);
        }
    }

    /// What everybody else is worth at the lower bounds.
    fn add_up_idle(&mut self, batch: &Batch<F>, weights: &[f64]) {
        let mut riders = self.place.iter().copied().peekable();
        for place in 0..batch.task.len() as u32 {
            if riders.next_if_eq(&place).is_none() {
                self.idle.add(batch.low_worth(place as usize, weights));
            }
        }
    }

    /// What a task is worth at its lower bound, if it is not riding.
    fn idle_worth(&self, batch: &Batch<F>, weights: &[f64], place: u32) -> f64 {
        if batch.has_worthy_corners && self.place.binary_search(&place).is_err() { batch.low_worth(place as usize, weights) } else { 0.0 }
    }

    fn set_tie(&mut self, place: u32, tie: f64) {
        if let Ok(position) = self.place.binary_search(&place) {
            self.fours[position / 4].tie[position % 4] = tie;
        }
    }

    fn load_jumps(&self, batch: &Batch<F>, jumps: &mut Chords) {
        for (position, &place) in self.place.iter().enumerate() {
            jumps.push(Chord { price: self.fours[position / 4].tie[position % 4], jump: batch.jump[place as usize] });
        }
    }

    fn at(&mut self, price: f64) -> Price {
        let log = price.ln();
        Price { price, log, step: self.log.replace(log).map(|last| log - last) }
    }

    fn respond(&mut self, price: f64) -> Ridden {
        let price = self.at(price);
        with_four(Arch::new(), Respond::<F> { fours: &mut self.fours, price, family: std::marker::PhantomData })
    }

    fn settle(&mut self, batch: &Batch<F>, at: Settlement<'_>, split: &mut Split<'_>, settled: &mut Settled, tied: &mut impl FnMut(Taker)) {
        let price = self.at(at.price);
        if at.is_first {
            (0..batch.task.len()).for_each(|place| batch.rest(place, split));
        }
        settled.value.merge(self.idle);
        with_four(Arch::new(), Settle { riders: self, batch, at, price, split, settled, tied });
    }
}

impl<F: Family> Batch<F> {
    fn low_worth(&self, place: usize, weights: &[f64]) -> f64 {
        weights[self.coordinate[place] as usize] * self.low_success[place]
    }
}

impl FourRiders {
    fn seat<F: Family>(&mut self, lane: usize, batch: &Batch<F>, place: usize, weight: f64) {
        let (numbers, for_level) = batch.numbers[place];
        self.tie[lane] = batch.tie[place];
        self.low[lane] = batch.low[place];
        self.start[lane] = batch.start[place];
        self.end[lane] = batch.end[place];
        (0..3).for_each(|number| self.curves.numbers[number][lane] = numbers[number]);
        self.curves.level[lane] = F::level(weight, for_level);
        self.curves.touch[lane] = batch.touch[place];
    }

    /// The spends on the branch, and how fast they fall: not at all at an end of the branch.
    #[inline(always)]
    fn ride<F: Family, S: Simd>(&mut self, simd: S, price: Price) -> (Four<S>, Four<S>) {
        let (start, end) = (Four::load(simd, &self.start), Four::load(simd, &self.end));
        if !(price.price > 0.0) {
            return (end, Four::splat(simd, 0.0));
        }
        let (spend, fall) = F::respond(simd, &mut self.curves, price);
        (spend.max(start).min(end), spend.where_between(start, end, fall))
    }
}

/// What all riders take at a price.
struct Respond<'a, F> {
    fours: &'a mut [FourRiders],
    price: Price,
    family: std::marker::PhantomData<F>,
}

impl<F: Family> WithSimd for Respond<'_, F> {
    type Output = Ridden;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Ridden {
        let zero = Four::splat(simd, 0.0);
        let price = Four::splat(simd, self.price.price);
        let (mut spend, mut fall, mut joining) = (zero, zero, zero);
        for four in self.fours {
            let (taken, falling) = four.ride::<F, S>(simd, self.price);
            let (tie, above) = (Four::load(simd, &four.tie), taken - Four::load(simd, &four.low));
            spend = spend + tie.where_above(price, above, zero);
            fall = fall + tie.where_above(price, falling, zero);
            joining = joining + tie.where_equal(price, above);
        }
        Ridden { spend: spend.total(), fall: fall.total(), joining: joining.total() }
    }
}

/// Writes what all riders take, and adds up.
struct Settle<'a, 'b, F, T> {
    riders: &'a mut Riders<F>,
    batch: &'a Batch<F>,
    at: Settlement<'a>,
    price: Price,
    split: &'a mut Split<'b>,
    settled: &'a mut Settled,
    tied: &'a mut T,
}

impl<F: Family, T: FnMut(Taker)> WithSimd for Settle<'_, '_, F, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { riders, batch, at, split, settled, tied, .. } = self;
        let (mut above, mut value) = (FourSums::new(simd), FourSums::new(simd));
        for (four, places) in riders.fours.iter_mut().zip(riders.place.chunks(4)) {
            let (spend, fall) = four.ride::<F, S>(simd, self.price);
            let success = F::success([0, 1, 2].map(|number| Four::load(simd, &four.curves.numbers[number])), spend);
            let (spend, fall, success) = (spend.to_array(), fall.to_array(), success.to_array());
            let (mut taken, mut worth) = ([0.0; 4], [0.0; 4]);
            for (lane, &place) in places.iter().enumerate() {
                let (place, tie) = (place as usize, four.tie[lane]);
                let (coordinate, task) = (batch.coordinate[place] as usize, batch.task[place] as usize);
                // Set aside: somebody else settles it.
                if tie == 0.0 {
                    continue;
                }
                if tie > at.price {
                    taken[lane] = spend[lane] - four.low[lane];
                    worth[lane] = at.weights[coordinate] * success[lane];
                    split.spend[task] = spend[lane];
                    split.success[task] = batch.floor[place] + batch.height[place] * success[lane];
                    settled.offer(task, fall[lane]);
                } else {
                    worth[lane] = batch.low_worth(place, at.weights);
                    batch.rest(place, split);
                    if tie == at.price {
                        tied(Taker { coordinate, task, from: four.low[lane], to: spend[lane] });
                    }
                }
            }
            above.add(Four::load(simd, &taken));
            value.add(Four::load(simd, &worth));
        }
        settled.above.merge(above.total());
        settled.value.merge(value.total());
    }
}
