//! The tasks that may be on their branch at the prices tried: their numbers side by side, and where
//! the last price left them.
//!
//! They are picked once, for prices above a cutoff, and kept through the call. What all of them
//! take at a price does not depend on the node of the search that asks: a node sets aside the few
//! tasks whose domain it narrows, and theirs is taken off. So a price that was tried before costs a
//! node no more than the tasks it changes.

use pulp::{Arch, Simd, WithSimd};

use super::hill::HillFamily;
use super::logistic::LogisticFamily;
use super::{Aside, Batch, Family, FourCurves, Place, Price, Responses, Sigmoids};
use crate::numeric::compensated::Sum;
use crate::oracle::batch::{Settled, Split};
use crate::oracle::chords::{Chord, Chords};
use crate::oracle::four::{Four, FourSums, with_four};

/// Prices down to this share of the one asked for are then within reach; among few tasks prices
/// move more.
const REACH_DOWN: f64 = 0.95;
const REACH_DOWN_OF_FEW: f64 = 0.7;
/// So many prices are remembered.
const KNOWN_PRICES: usize = 16;
/// Taking off one task from what is known is worth this many tasks anew.
const TASKS_PER_ASIDE: usize = 8;

/// The tasks that may be on their branch.
#[derive(Debug, Default)]
pub(in crate::oracle) struct Riding {
    hill: Riders<HillFamily>,
    logistic: Riders<LogisticFamily>,
    /// Everybody who is tied above this price is here.
    cutoff: f64,
    /// What all take at the prices tried, the oldest to be overwritten next.
    known: Vec<(f64, Ridden)>,
    oldest: usize,
    /// The price at which everybody is now, and what they take there.
    last: Option<(f64, Ridden)>,
}

/// What tasks take at a price.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::oracle) struct Ridden {
    /// Above their lower bounds, those tied above the price.
    pub(in crate::oracle) spend: Sum,
    /// What all are worth.
    pub(in crate::oracle) worth: Sum,
    /// The spend's fall per unit of the price's logarithm.
    pub(in crate::oracle) fall: f64,
    /// By how much less that is a unit later.
    pub(in crate::oracle) bend: f64,
    /// What those tied exactly there would add.
    pub(in crate::oracle) joining: f64,
}

impl Ridden {
    fn add(&mut self, other: Self) {
        self.spend.merge(other.spend);
        self.worth.merge(other.worth);
        self.fall += other.fall;
        self.bend += other.bend;
        self.joining += other.joining;
    }

    fn negative(self) -> Self {
        Self {
            spend: (-self.spend.value()).into(),
            worth: (-self.worth.value()).into(),
            fall: -self.fall,
            bend: -self.bend,
            joining: -self.joining,
        }
    }
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
        Self {
            place: Vec::new(),
            fours: Vec::new(),
            log: None,
            idle: Sum::default(),
            family: std::marker::PhantomData,
        }
    }
}

/// Four of them.
#[derive(Debug, Clone, Copy)]
struct FourRiders {
    tie: [f64; 4],
    weight: [f64; 4],
    low: [f64; 4],
    /// What it is worth there.
    low_worth: [f64; 4],
    start: [f64; 4],
    end: [f64; 4],
    curves: FourCurves,
    /// What each takes on its branch at the last price, and what that is worth.
    spend: [f64; 4],
    worth: [f64; 4],
    fall: [f64; 4],
    bend: [f64; 4],
}

/// No riders: never tied, worth nothing, and harmless to compute with.
const NOBODY: FourRiders = FourRiders {
    tie: [0.0; 4],
    weight: [0.0; 4],
    low: [0.0; 4],
    low_worth: [0.0; 4],
    start: [-1.0; 4],
    end: [f64::MAX; 4],
    curves: FourCurves {
        numbers: [[1.0; 4]; 4],
        level: [1.0; 4],
        touch: [0.0; 4],
        place: [0.0; 4],
        rate: [0.0; 4],
    },
    spend: [0.0; 4],
    worth: [0.0; 4],
    fall: [0.0; 4],
    bend: [0.0; 4],
};

/// Where to write a split.
#[derive(Debug, Clone, Copy)]
pub(in crate::oracle) struct Settlement<'a> {
    pub(in crate::oracle) sigmoids: &'a Sigmoids,
    pub(in crate::oracle) price: f64,
    /// Coordinates that are set aside.
    pub(in crate::oracle) aside: &'a [u32],
    /// Whether nothing was written to the split yet: later on only riders differ.
    pub(in crate::oracle) is_first: bool,
}

impl Riding {
    /// Forgets everybody: the next price picks anew.
    pub(in crate::oracle) fn clear(&mut self) {
        self.cutoff = f64::INFINITY;
        self.hill.clear();
        self.logistic.clear();
        self.forget_prices();
    }

    fn forget_prices(&mut self) {
        self.known.clear();
        self.oldest = 0;
        self.last = None;
    }

    pub(in crate::oracle) fn len(&self) -> usize {
        self.hill.place.len() + self.logistic.place.len()
    }

    /// Makes sure that everybody who may be on a branch at this price is here; true if they had to
    /// be picked anew.
    pub(in crate::oracle) fn reach(
        &mut self,
        sigmoids: &Sigmoids,
        weights: &[f64],
        price: f64,
    ) -> bool {
        if price > self.cutoff {
            return false;
        }
        self.cutoff = price * if sigmoids.are_few() { REACH_DOWN_OF_FEW } else { REACH_DOWN };
        self.hill.pick(&sigmoids.hill, weights, self.cutoff);
        self.logistic.pick(&sigmoids.logistic, weights, self.cutoff);
        self.forget_prices();
        true
    }

    /// Adds the jumps of those who are here and not set aside.
    pub(in crate::oracle) fn load_jumps(
        &self,
        sigmoids: &Sigmoids,
        aside: &[u32],
        jumps: &mut Chords,
    ) {
        self.hill.load_jumps(&sigmoids.hill, aside, jumps);
        self.logistic.load_jumps(&sigmoids.logistic, aside, jumps);
    }

    /// What all but those set aside take at a price within reach.
    pub(in crate::oracle) fn respond(
        &mut self,
        sigmoids: &Sigmoids,
        price: f64,
        aside: &[u32],
    ) -> Ridden {
        let at_price = |(at, _): &&(f64, Ridden)| *at == price;
        let is_cheap = aside.len() * TASKS_PER_ASIDE <= self.len();
        let (mut ridden, is_last) = if let Some(&(_, ridden)) = self.last.as_ref().filter(at_price)
        {
            (ridden, true)
        } else if let Some(&(_, ridden)) = self.known.iter().find(at_price).filter(|_| is_cheap) {
            (ridden, false)
        } else {
            (self.ride(price), true)
        };
        for &coordinate in aside {
            let one = match sigmoids.place(coordinate) {
                Place::Hill(place) => self.hill.one(&sigmoids.hill, place, price, is_last),
                Place::Logistic(place) => {
                    self.logistic.one(&sigmoids.logistic, place, price, is_last)
                }
                Place::Elsewhere => continue,
            };
            ridden.add(one.negative());
        }
        ridden
    }

    /// Brings everybody to a price.
    fn ride(&mut self, price: f64) -> Ridden {
        let mut ridden = self.hill.ride(price);
        ridden.add(self.logistic.ride(price));
        self.last = Some((price, ridden));
        if self.known.len() < KNOWN_PRICES {
            self.known.push((price, ridden));
        } else {
            self.known[self.oldest] = (price, ridden);
            self.oldest = (self.oldest + 1) % KNOWN_PRICES;
        }
        ridden
    }

    /// Writes the spends at a price and adds up, with the chances of success taken anew from the
    /// spends; those tied there stay low and are handed to `tied`.
    pub(in crate::oracle) fn settle(
        &mut self,
        at: Settlement<'_>,
        split: &mut Split<'_>,
        settled: &mut Settled,
        mut tied: impl FnMut(Taker),
    ) {
        if self.last.is_none_or(|last| last.0 != at.price) {
            self.ride(at.price);
        }
        self.hill.settle(&at.sigmoids.hill, at, split, settled, &mut tied);
        self.logistic.settle(&at.sigmoids.logistic, at, split, settled, &mut tied);
    }
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
        with_four(Arch::new(), Levels { riders: self });
        if batch.has_worthy_corners {
            self.add_up_idle(batch);
        }
    }

    /// What everybody else is worth at the lower bounds.
    fn add_up_idle(&mut self, batch: &Batch<F>) {
        let mut riders = self.place.iter().copied().peekable();
        for place in 0..batch.task.len() {
            if riders.next_if_eq(&(place as u32)).is_none() {
                self.idle.add(batch.low_worth[place]);
            }
        }
    }

    fn load_jumps(&self, batch: &Batch<F>, aside: &[u32], jumps: &mut Chords) {
        let mut aside = Aside(aside);
        for (position, &place) in self.place.iter().enumerate() {
            if !aside.has(batch.coordinate[place as usize]) {
                jumps.push(Chord {
                    price: self.fours[position / 4].tie[position % 4],
                    jump: batch.jump[place as usize],
                });
            }
        }
    }

    fn at(&self, price: f64) -> Price {
        let log = price.ln();
        Price { price, log, step: self.log.map(|last| log - last) }
    }

    fn ride(&mut self, price: f64) -> Ridden {
        let price = self.at(price);
        self.log = Some(price.log);
        let mut ridden = with_four(Arch::new(), Ride { riders: self, price });
        ridden.worth.merge(self.idle);
        ridden
    }

    /// What one of them takes at a price; `is_last` if it is the last one.
    fn one(&self, batch: &Batch<F>, place: usize, price: f64, is_last: bool) -> Ridden {
        let Ok(position) = self.place.binary_search(&(place as u32)) else {
            return Ridden { worth: batch.low_worth[place].into(), ..Ridden::default() };
        };
        let mut four = self.fours[position / 4];
        if !is_last {
            with_four(
                Arch::new(),
                RideOne::<F> {
                    four: &mut four,
                    price: self.at(price),
                    family: std::marker::PhantomData,
                },
            );
        }
        let lane = position % 4;
        let (tie, above) = (four.tie[lane], four.spend[lane] - four.low[lane]);
        if tie > price {
            Ridden {
                spend: above.into(),
                worth: four.worth[lane].into(),
                fall: four.fall[lane],
                bend: four.bend[lane],
                joining: 0.0,
            }
        } else {
            let joining = if tie == price { above } else { 0.0 };
            Ridden { worth: four.low_worth[lane].into(), joining, ..Ridden::default() }
        }
    }

    fn settle(
        &mut self,
        batch: &Batch<F>,
        at: Settlement<'_>,
        split: &mut Split<'_>,
        settled: &mut Settled,
        tied: &mut impl FnMut(Taker),
    ) {
        if at.is_first {
            (0..batch.task.len())
                .filter(|&place| batch.slope[place] > 0.0)
                .for_each(|place| batch.rest(place, split));
        }
        settled.value.merge(self.idle);
        for &coordinate in at.aside {
            if let Some(place) = F::place(at.sigmoids, coordinate)
                .filter(|&place| self.place.binary_search(&(place as u32)).is_err())
            {
                settled.value.add(-batch.low_worth[place]);
            }
        }
        with_four(Arch::new(), Settle { riders: self, batch, at, split, settled, tied });
    }
}

impl FourRiders {
    fn seat<F: Family>(&mut self, lane: usize, batch: &Batch<F>, place: usize, weight: f64) {
        let (numbers, for_level) = batch.numbers[place];
        self.tie[lane] = batch.tie[place];
        self.weight[lane] = weight;
        self.low[lane] = batch.low[place];
        self.low_worth[lane] = batch.low_worth[place];
        self.start[lane] = batch.start[place];
        self.end[lane] = batch.end[place];
        (0..4).for_each(|number| self.curves.numbers[number][lane] = numbers[number]);
        self.curves.level[lane] = for_level;
        self.curves.touch[lane] = batch.touch[place];
    }

    /// Brings all four to a price: what each takes on its branch, what that is worth, and how fast
    /// it falls; not at all at an end.
    #[inline(always)]
    fn ride<F: Family, S: Simd>(&mut self, simd: S, price: Price) {
        let load = |numbers: &[f64; 4]| Four::load(simd, numbers);
        let (start, end, weight) = (load(&self.start), load(&self.end), load(&self.weight));
        let numbers = || [0, 1, 2, 3].map(|number| load(&self.curves.numbers[number]));
        if !(price.price > 0.0) {
            end.store(&mut self.spend);
            (weight * F::success(numbers(), end)).store(&mut self.worth);
            (self.fall, self.bend) = ([0.0; 4], [0.0; 4]);
            return;
        }
        let Responses { spend, fall, bend, mut success } =
            F::respond(simd, &mut self.curves, price);
        let between = spend.where_between(start, end, Four::splat(simd, 1.0));
        let inside = spend.max(start).min(end);
        if between.total() < 4.0 {
            let numbers = [0, 1, 2, 3].map(|number| load(&self.curves.numbers[number]));
            success =
                between.where_above(Four::splat(simd, 0.0), success, F::success(numbers, inside));
        }
        inside.store(&mut self.spend);
        (weight * success).store(&mut self.worth);
        (between * fall).store(&mut self.fall);
        (between * bend).store(&mut self.bend);
    }
}

/// Turns the weights into levels.
struct Levels<'a, F> {
    riders: &'a mut Riders<F>,
}

impl<F: Family> WithSimd for Levels<'_, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        for four in &mut self.riders.fours {
            let (weight, number) =
                (Four::load(simd, &four.weight), Four::load(simd, &four.curves.level));
            F::level(weight, number).store(&mut four.curves.level);
        }
    }
}

/// Brings everybody to a price and adds up.
struct Ride<'a, F> {
    riders: &'a mut Riders<F>,
    price: Price,
}

impl<F: Family> WithSimd for Ride<'_, F> {
    type Output = Ridden;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Ridden {
        let load = |numbers: &[f64; 4]| Four::load(simd, numbers);
        let (zero, price) = (Four::splat(simd, 0.0), Four::splat(simd, self.price.price));
        let (mut spend, mut worth) = (FourSums::new(simd), FourSums::new(simd));
        let (mut fall, mut bend, mut joining) = (zero, zero, zero);
        for four in &mut self.riders.fours {
            four.ride::<F, S>(simd, self.price);
            let (tie, above) = (load(&four.tie), load(&four.spend) - load(&four.low));
            spend.add(tie.where_above(price, above, zero));
            worth.add(tie.where_above(price, load(&four.worth), load(&four.low_worth)));
            fall = fall + tie.where_above(price, load(&four.fall), zero);
            bend = bend + tie.where_above(price, load(&four.bend), zero);
            joining = joining + tie.where_equal(price, above);
        }
        Ridden {
            spend: spend.total(),
            worth: worth.total(),
            fall: fall.total(),
            bend: bend.total(),
            joining: joining.total(),
        }
    }
}

/// Brings four to a price.
struct RideOne<'a, F> {
    four: &'a mut FourRiders,
    price: Price,
    family: std::marker::PhantomData<F>,
}

impl<F: Family> WithSimd for RideOne<'_, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        self.four.ride::<F, S>(simd, self.price);
    }
}

/// Writes what everybody takes at the last price, and adds up.
struct Settle<'a, 'b, F, T> {
    riders: &'a Riders<F>,
    batch: &'a Batch<F>,
    at: Settlement<'a>,
    split: &'a mut Split<'b>,
    settled: &'a mut Settled,
    tied: &'a mut T,
}

impl<F: Family, T: FnMut(Taker)> WithSimd for Settle<'_, '_, F, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { riders, batch, at, split, settled, tied } = self;
        let (mut above, mut value) = (FourSums::new(simd), FourSums::new(simd));
        let mut aside = Aside(at.aside);
        for (four, places) in riders.fours.iter().zip(riders.place.chunks(4)) {
            let numbers = [0, 1, 2, 3].map(|number| Four::load(simd, &four.curves.numbers[number]));
            let success = F::success(numbers, Four::load(simd, &four.spend)).to_array();
            let (mut taken, mut worth) = ([0.0; 4], [0.0; 4]);
            for (lane, &place) in places.iter().enumerate() {
                let (place, tie) = (place as usize, four.tie[lane]);
                let (coordinate, task) = (batch.coordinate[place], batch.task[place] as usize);
                if aside.has(coordinate) {
                    continue;
                }
                if tie > at.price {
                    taken[lane] = four.spend[lane] - four.low[lane];
                    worth[lane] = four.weight[lane] * success[lane];
                    split.spend[task] = four.spend[lane];
                    split.success[task] = batch.floor[place] + batch.height[place] * success[lane];
                    settled.offer(task, four.fall[lane]);
                } else {
                    worth[lane] = four.low_worth[lane];
                    batch.rest(place, split);
                    if tie == at.price {
                        tied(Taker {
                            coordinate: coordinate as usize,
                            task,
                            from: four.low[lane],
                            to: four.spend[lane],
                        });
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curve::Curve;
    use crate::oracle::coordinate::{Form, Smooth};

    /// Four curves at once on a way of prices; returns the bits of everything.
    struct Walk<'a, F> {
        curves: &'a [(Smooth, f64)],
        prices: &'a [f64],
        family: std::marker::PhantomData<F>,
    }

    impl<F: Family> WithSimd for Walk<'_, F> {
        type Output = Vec<u64>;

        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) -> Vec<u64> {
            let mut bits = Vec::new();
            for (position, &(ref smooth, weight)) in self.curves.iter().enumerate() {
                let Some((numbers, for_level)) = F::numbers(smooth) else { continue };
                let lane = position % 4;
                let mut four = NOBODY;
                (four.weight[lane], four.start[lane], four.end[lane]) =
                    (weight, smooth.inflection(), 1e6);
                (0..4).for_each(|number| four.curves.numbers[number][lane] = numbers[number]);
                four.curves.touch[lane] = F::measure(numbers, smooth.inflection() * (1.0 + 1e-6));
                F::level(Four::splat(simd, weight), Four::splat(simd, for_level))
                    .store(&mut four.curves.level);
                let mut last: Option<f64> = None;
                for &price in self.prices {
                    let step = last.map(|last| price.ln() - last);
                    last = Some(price.ln());
                    four.ride::<F, S>(simd, Price { price, log: price.ln(), step });
                    let (spend, fall) = smooth.at_slope(price / weight);
                    let (mine, worth, falls) =
                        (four.spend[lane], four.worth[lane], four.fall[lane]);
                    let spend = spend.min(1e6);
                    // Close to the inflection a spend hardly depends on the price's digits.
                    if spend > smooth.inflection() * 1.001 {
                        let context = || format!("{smooth:?} at {price:e}: {mine} not {spend}");
                        assert!((mine - spend).abs() <= 1e-11 * spend, "{}", context());
                        let truth = weight * smooth.success(mine);
                        assert!(
                            (worth - truth).abs() <= 1e-12 * truth,
                            "{}: worth {worth} not {truth}",
                            context()
                        );
                        let is_inside = spend < 1e6 * (1.0 - 1e-12);
                        assert!(
                            !is_inside || (falls - fall).abs() <= 1e-4 * fall,
                            "{}: falls {falls} not {fall}",
                            context()
                        );
                        let bend = four.bend[lane];
                        let expected = if is_inside { smooth.curvature(spend, fall) } else { 0.0 };
                        assert!(
                            (bend - expected).abs() <= 1e-3 * (expected.abs() + fall),
                            "{}: bend {bend} not {expected}",
                            context()
                        );
                    }
                    bits.extend([mine, worth, falls].map(f64::to_bits));
                }
            }
            bits
        }
    }

    #[test]
    fn four_at_once_ride_as_the_curves_do_on_every_machine() {
        let curve = |curve: Curve| match Form::of(&curve) {
            Form::Smooth(smooth) => smooth,
            Form::Points { .. } => panic!("not smooth"),
        };
        let mut curves = Vec::new();
        for steepness in [0.3, 0.9, 1.0, 1.01, 1.5, 2.0, 3.7, 10.0, 100.0, 1e4] {
            for half in [1e-3, 1.0, 40.0] {
                curves.push((curve(Curve::hill(half, steepness).unwrap()), 0.7));
                curves.push((curve(Curve::logistic(half, half / steepness).unwrap()), 0.3));
            }
        }
        let far: Vec<f64> = (-40..40).map(|power| 10f64.powf(f64::from(power) / 4.0)).collect();
        let near: Vec<f64> = (0..200).map(|step| 0.01 * 1.003f64.powi(step)).collect();
        for prices in [far, near] {
            let (curves, prices) = (&curves[..], &prices[..]);
            let hill = || Walk::<HillFamily> { curves, prices, family: std::marker::PhantomData };
            assert_eq!(with_four(Arch::new(), hill()), Simd::vectorize(pulp::Scalar256b, hill()));
            let logistic =
                || Walk::<LogisticFamily> { curves, prices, family: std::marker::PhantomData };
            assert_eq!(
                with_four(Arch::new(), logistic()),
                Simd::vectorize(pulp::Scalar256b, logistic())
            );
        }
    }
}
