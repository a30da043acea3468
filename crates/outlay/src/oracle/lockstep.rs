//! Several oracles of one problem of power tasks, asked together: a lane a replication, four lanes
//! a quad.
//!
//! [`Nearby`](super::nearby) puts four tasks of one call side by side; here it is one task of four
//! calls. Every lane takes the same operations in the same order as its own oracle would, so that
//! the answers have the same bits. What a lane is asked out of the ordinary, far from its anchor,
//! at a bound or with a remainder left, goes to its own oracle, which then goes on as if it had
//! been asked everything.

use pulp::{Arch, Simd, WithSimd};

use super::four::{Four, FourSums, SMALL, sum_by_lane, total_by_lane, with_four};
use super::nearby::{
    ABSORBABLE, Anchored, Constants, LEAST_SPEND, NEXT_DOOR, Nearby, Price, UNNOTICED, add_moments,
    near, next_door, success_at, worth,
};
use super::relaxation::ROUNDING;
use super::{AllocationError, Options, Oracle};
use crate::problem::Problem;

/// Four replications.
pub(crate) const LANES: usize = 4;
/// One number a lane.
pub(crate) type Lanes = [f64; LANES];

/// The oracles of several replications of one problem.
#[derive(Debug)]
pub(crate) struct Lockstep {
    arch: Arch,
    tasks: Vec<Constants>,
    most_elastic: f64,
    /// One a replication, which knows everything but the calls since it was asked last.
    oracles: Vec<Oracle>,
    quads: Vec<Quad>,
    /// All tasks of the first quad, then those of the next.
    rows: Vec<Row>,
    answers: Answers,
    /// The values of one lane.
    values: Vec<f64>,
}

/// The best splits, a row a task as they were asked for.
#[derive(Debug)]
pub(crate) struct Answers {
    pub(crate) spend: Vec<Lanes>,
    pub(crate) success: Vec<Lanes>,
    /// What each quad's splits are worth.
    pub(crate) value: Vec<Lanes>,
    pub(crate) upper_bound: Vec<Lanes>,
}

/// One task of four calls.
#[derive(Debug, Clone, Copy, Default)]
struct Row {
    /// Value and wish at the anchor.
    value: Lanes,
    wish: Lanes,
    /// The wish at the last price, for the new value.
    trial: Lanes,
    /// One over exponent and value, in this call.
    per_worth: Lanes,
}

/// Four calls.
#[derive(Debug, Clone, Copy, Default)]
struct Quad {
    anchor_log: Lanes,
    anchor_price: Lanes,
    last_log: Lanes,
    last_price: Lanes,
    /// Who takes a remainder, and between which bounds.
    softest: [usize; LANES],
    softest_low: Lanes,
    softest_high: Lanes,
    /// One for lanes without an anchor, otherwise zero.
    lost: Lanes,
    /// How far the price moves in this call; where that leads.
    step: Lanes,
    log: Lanes,
    price: Lanes,
    /// Zero for lanes whose answer stands; the others ask their own oracle.
    unusual: Lanes,
}

impl Lockstep {
    /// The oracles of `quads` times four replications; none unless the problem's calls are of the
    /// kind that can go together.
    pub(crate) fn new(problem: &Problem, quads: usize) -> Option<Self> {
        let first = Oracle::new(problem);
        let nearby =
            first.nearby.as_ref().filter(|_| first.ranked.is_none() && first.roots.is_none())?;
        let tasks: Vec<Constants> =
            (0..nearby.tasks()).map(|task| nearby.constants(task)).collect();
        let rows = quads * tasks.len();
        let answers = Answers {
            spend: vec![[0.0; LANES]; rows],
            success: vec![[0.0; LANES]; rows],
            value: vec![[0.0; LANES]; quads],
            upper_bound: vec![[0.0; LANES]; quads],
        };
        Some(Self {
            arch: Arch::new(),
            most_elastic: nearby.most_elastic(),
            quads: vec![Quad { lost: [1.0; LANES], ..Quad::default() }; quads],
            rows: vec![Row::default(); rows],
            answers,
            values: vec![0.0; tasks.len()],
            tasks,
            oracles: (0..LANES * quads).map(|_| Oracle::new(problem)).collect(),
        })
    }

    /// Whether the problem's calls can go together.
    pub(crate) fn fits(problem: &Problem) -> bool {
        Self::new(problem, 0).is_some()
    }

    /// The best splits of `budget` for the values of every row.
    ///
    /// # Errors
    /// The first that a lane's oracle has.
    pub(crate) fn allocate(
        &mut self,
        values: &[Lanes],
        budget: f64,
        options: &Options,
    ) -> Result<&Answers, AllocationError> {
        let is_known = budget >= LEAST_SPEND && budget.is_finite() && options.tolerance >= 0.0;
        let Self { arch, tasks, most_elastic, quads, rows, answers, .. } = self;
        with_four(
            *arch,
            Solve { tasks, most_elastic: *most_elastic, quads, rows, values, budget, answers },
        );
        for quad in 0..self.quads.len() {
            if is_known && self.quads[quad].unusual == [0.0; LANES] {
                continue;
            }
            let unusual = self.quads[quad].unusual;
            for lane in (0..LANES).filter(|lane| !is_known || unusual[*lane] != 0.0) {
                self.ask_alone(quad, lane, values, budget, options)?;
            }
        }
        Ok(&self.answers)
    }

    /// A call of one lane, by its own oracle.
    #[cold]
    fn ask_alone(
        &mut self,
        quad: usize,
        lane: usize,
        values: &[Lanes],
        budget: f64,
        options: &Options,
    ) -> Result<(), AllocationError> {
        let from = quad * self.tasks.len();
        let (oracle, at) = (&mut self.oracles[quad * LANES + lane], &mut self.quads[quad]);
        for (value, lanes) in self.values.iter_mut().zip(&values[from..]) {
            *value = lanes[lane];
        }
        if at.lost[lane] == 0.0 {
            oracle.goes_on_at(Price { log: at.last_log[lane], price: at.last_price[lane] });
        }
        let answer = oracle.allocate(&self.values, budget, options)?;
        for (task, (spend, success)) in answer.spend.iter().zip(&answer.success).enumerate() {
            self.answers.spend[from + task][lane] = *spend;
            self.answers.success[from + task][lane] = *success;
        }
        self.answers.value[quad][lane] = answer.value;
        self.answers.upper_bound[quad][lane] = answer.upper_bound;
        at.lost[lane] = 1.0;
        let Some(nearby) = &oracle.nearby else { return Ok(()) };
        let Some(Anchored { anchor, last, softest }) = nearby.anchored() else { return Ok(()) };
        at.lost[lane] = 0.0;
        (at.anchor_log[lane], at.anchor_price[lane]) = (anchor.log, anchor.price);
        (at.last_log[lane], at.last_price[lane]) = (last.log, last.price);
        at.softest[lane] = softest;
        (at.softest_low[lane], at.softest_high[lane]) =
            (self.tasks[softest].low, self.tasks[softest].high);
        for (task, row) in self.rows[from..].iter_mut().take(self.tasks.len()).enumerate() {
            (row.value[lane], row.wish[lane]) = nearby.at_anchor(task);
        }
        Ok(())
    }
}

impl Oracle {
    /// Goes on as if its last call had ended at this price, near the same anchor.
    fn goes_on_at(&mut self, last: Price) {
        self.nearby.iter_mut().for_each(|nearby: &mut Nearby| nearby.goes_on_at(last));
        (self.last_price, self.model.unit) = (Some(last.price), 1.0);
    }
}

/// All calls of a round.
struct Solve<'a> {
    tasks: &'a [Constants],
    most_elastic: f64,
    quads: &'a mut [Quad],
    rows: &'a mut [Row],
    values: &'a [Lanes],
    budget: f64,
    answers: &'a mut Answers,
}

impl WithSimd for Solve<'_> {
    type Output = ();

    /// Stage by stage: while one quad waits for its price, the next one is read.
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { tasks, most_elastic, quads, rows, values, budget, answers } = self;
        let count = tasks.len();
        for ((quad, rows), values) in
            quads.iter_mut().zip(rows.chunks_exact_mut(count)).zip(values.chunks_exact(count))
        {
            let (moments, far) = read(simd, tasks, rows, values, quad);
            choose_price(simd, quad, moments, far, most_elastic, budget);
        }
        let splits =
            answers.spend.chunks_exact_mut(count).zip(answers.success.chunks_exact_mut(count));
        let totals = answers.value.iter_mut().zip(answers.upper_bound.iter_mut());
        let calls = quads.iter_mut().zip(rows.chunks_exact(count)).zip(values.chunks_exact(count));
        for (((quad, rows), values), ((spend, success), (value, upper_bound))) in
            calls.zip(splits.zip(totals))
        {
            let mut call = Call { values, budget, spend, success };
            let settled = settle(simd, tasks, rows, &mut call, quad);
            let (found, bound) = finish(simd, quad, &mut call, settled);
            found.store(value);
            bound.store(upper_bound);
        }
    }
}

/// Writes the wishes for new values at each lane's last price: their moments, and above zero where
/// that is too far.
#[inline(always)]
fn read<S: Simd>(
    simd: S,
    tasks: &[Constants],
    rows: &mut [Row],
    values: &[Lanes],
    quad: &Quad,
) -> ([Four<S>; 5], Four<S>) {
    let load = |numbers: &Lanes| Four::load(simd, numbers);
    let (zero, one, limit) =
        (Four::splat(simd, 0.0), Four::splat(simd, 1.0), Four::splat(simd, SMALL * SMALL));
    let moved = load(&quad.last_log) - load(&quad.anchor_log);
    let (rows, values) = (&mut rows[..tasks.len()], &values[..tasks.len()]);
    // One sum for each place in a four of tasks.
    let parts = [0, 1, 2, 3].map(|first| {
        let (mut sums, mut far, mut task) = ([zero; 5], zero, first);
        while task < tasks.len() {
            let (row, value, constants) = (&mut rows[task], load(&values[task]), &tasks[task]);
            let (distance, factor) =
                near(value, load(&row.value), Four::splat(simd, constants.powers[0]), moved);
            far = far + limit.where_above(distance, zero, one);
            let wish = load(&row.wish) * factor;
            wish.store(&mut row.trial);
            (Four::splat(simd, constants.over_exponent) / value).store(&mut row.per_worth);
            add_moments(&mut sums, wish, constants.powers.map(|power| Four::splat(simd, power)));
            task += 4;
        }
        (sums, far)
    });
    let moments = std::array::from_fn(|moment| total_by_lane(parts.map(|(sums, _)| sums[moment])));
    // Lanes of no task, which four tasks side by side may have, see the price alone.
    let far = load(&quad.lost)
        + limit.where_above(moved * moved, zero, one)
        + total_by_lane(parts.map(|(_, far)| far));
    (moments, far)
}

/// Where the wishes of each lane add up to the budget.
#[inline(always)]
fn choose_price<S: Simd>(
    simd: S,
    quad: &mut Quad,
    moments: [Four<S>; 5],
    far: Four<S>,
    most_elastic: f64,
    budget: f64,
) {
    let load = |numbers: &Lanes| Four::load(simd, numbers);
    let (zero, one, small) =
        (Four::splat(simd, 0.0), Four::splat(simd, 1.0), Four::splat(simd, SMALL));
    let [total, first, ..] = moments;
    let door = next_door(moments, one / first, budget);
    let log = load(&quad.last_log) + door.step;
    let moved = log - load(&quad.anchor_log);
    // Whatever is no number is not below a limit.
    let unusual = far
        + total.where_above(zero, zero, one)
        + Four::splat(simd, f64::INFINITY).where_above(first, zero, one)
        + Four::splat(simd, NEXT_DOOR).where_above(magnitude(door.bend), zero, one)
        + small.where_above(magnitude(door.step) * most_elastic, zero, one)
        + small.where_above(magnitude(moved), zero, one);
    unusual.store(&mut quad.unusual);
    door.step.store(&mut quad.step);
    log.store(&mut quad.log);
    (load(&quad.anchor_price) * moved.exp_small()).store(&mut quad.price);
}

#[inline(always)]
fn magnitude<S: Simd>(number: Four<S>) -> Four<S> {
    number.max(number * -1.0)
}

/// What a quad is asked, and where its answers go.
struct Call<'a> {
    values: &'a [Lanes],
    budget: f64,
    spend: &'a mut [Lanes],
    success: &'a mut [Lanes],
}

/// What the wishes at the lanes' prices come to.
struct Settled<S: Simd> {
    spend: Four<S>,
    worth: Four<S>,
    /// Wishes that are not between bounds.
    outside: Four<S>,
}

/// Moves the wishes to the lanes' prices, writes spend and success, and adds up.
#[inline(always)]
fn settle<S: Simd>(
    simd: S,
    tasks: &[Constants],
    rows: &[Row],
    call: &mut Call<'_>,
    quad: &Quad,
) -> Settled<S> {
    let load = |numbers: &Lanes| Four::load(simd, numbers);
    let number = |number: f64| Four::splat(simd, number);
    let (back, price) = (load(&quad.step) * -1.0, load(&quad.price));
    let (zero, one) = (number(0.0), number(1.0));
    let (rows, values) = (&rows[..tasks.len()], &call.values[..tasks.len()]);
    let (spend, success) = (&mut call.spend[..tasks.len()], &mut call.success[..tasks.len()]);
    let parts = [0, 1, 2, 3].map(|first| {
        let (mut spends, mut worths, mut inside, mut task) =
            (FourSums::new(simd), FourSums::new(simd), zero, first);
        while task < tasks.len() {
            let (row, value, constants) = (&rows[task], load(&values[task]), &tasks[task]);
            let wish = load(&row.trial) * (number(constants.powers[0]) * back).exp_small();
            inside =
                inside + wish.where_between(number(constants.low), number(constants.high), one);
            let floor = number(constants.floor);
            spends.add(wish);
            worths.add(worth(wish, number(constants.over_exponent), price, value * floor));
            wish.store(&mut spend[task]);
            success_at(wish, load(&row.per_worth), price, floor).store(&mut success[task]);
            task += 4;
        }
        (spends, worths, inside)
    });
    Settled {
        spend: sum_by_lane(parts.map(|(spends, ..)| spends)),
        worth: sum_by_lane(parts.map(|(_, worths, _)| worths)),
        outside: number(tasks.len() as f64) - total_by_lane(parts.map(|(.., inside)| inside)),
    }
}

/// Gives the remainders to the softest tasks, and tells values and upper bounds; or finds that a
/// lane is unusual.
#[inline(always)]
fn finish<S: Simd>(
    simd: S,
    quad: &mut Quad,
    call: &mut Call<'_>,
    settled: Settled<S>,
) -> (Four<S>, Four<S>) {
    let load = |numbers: &Lanes| Four::load(simd, numbers);
    let (zero, one, price) = (Four::splat(simd, 0.0), Four::splat(simd, 1.0), load(&quad.price));
    let left = Four::splat(simd, call.budget) - settled.spend;
    let of_softest =
        |rows: &[Lanes]| -> Lanes { std::array::from_fn(|lane| rows[quad.softest[lane]][lane]) };
    let (spend, success, value) =
        (of_softest(call.spend), of_softest(call.success), of_softest(call.values));
    let most = Four::splat(simd, ABSORBABLE * call.budget).min(load(&spend) * UNNOTICED);
    let given = load(&spend) + left;
    let is_between = given.where_between(load(&quad.softest_low), load(&quad.softest_high), one);
    let unusual = load(&quad.unusual)
        + settled.outside
        + most.where_above(magnitude(left), zero, one)
        + (one - is_between);
    unusual.store(&mut quad.unusual);
    let (given, chance) =
        (given.to_array(), (load(&success) + left * (price / load(&value))).to_array());
    let (log, price_now) = (quad.log, quad.price);
    for lane in 0..LANES {
        let task = quad.softest[lane];
        (call.spend[task][lane], call.success[task][lane]) = (given[lane], chance[lane]);
        if quad.unusual[lane] == 0.0 {
            (quad.last_log[lane], quad.last_price[lane]) = (log[lane], price_now[lane]);
        }
    }
    let bound = settled.worth + price * left;
    (bound, bound + (bound + price * call.budget + settled.worth) * ROUNDING)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instance::Instance;

    /// Answers are those of the lanes' own oracles, and these are asked only when there is a
    /// reason.
    #[test]
    fn ordinary_calls_go_together() {
        let problem = "power:tasks=7".parse::<Instance>().unwrap().problem(1, 1).unwrap();
        let options = Options::default();
        let mut oracles: Vec<Oracle> = (0..LANES).map(|_| Oracle::new(&problem)).collect();
        let mut lockstep = Lockstep::new(&problem, 1).unwrap();
        let mut asked_alone = 0;
        for round in 0..200 {
            // Lanes drift apart; every fiftieth round one of them jumps away from its anchor.
            let value = |task: usize, lane: usize| {
                let jump = if round % 50 == 49 && lane == round / 50 { 1.5 } else { 1.0 };
                jump * (0.3 + 0.05 * task as f64 + 1e-4 * (round * (lane + 1)) as f64)
            };
            let values: Vec<Lanes> =
                (0..7).map(|task| std::array::from_fn(|lane| value(task, lane))).collect();
            let budget = 1.0;
            let answers = lockstep.allocate(&values, budget, &options).unwrap();
            for (lane, oracle) in oracles.iter_mut().enumerate() {
                let of_lane: Vec<f64> = values.iter().map(|lanes| lanes[lane]).collect();
                let answer = oracle.allocate(&of_lane, budget, &options).unwrap();
                let column =
                    |rows: &[Lanes]| rows.iter().map(|lanes| lanes[lane]).collect::<Vec<f64>>();
                assert_eq!(
                    (column(&answers.spend), column(&answers.success)),
                    (answer.spend.clone(), answer.success.clone())
                );
                assert_eq!(
                    (answers.value[0][lane], answers.upper_bound[0][lane]),
                    (answer.value, answer.upper_bound)
                );
            }
            asked_alone +=
                lockstep.quads[0].unusual.iter().filter(|unusual| **unusual != 0.0).count();
        }
        // The first two rounds of each lane, the jumps there and back, and now and then an anchor
        // that has been left behind.
        assert!((16..40).contains(&asked_alone), "{asked_alone} of 800 calls were asked alone");
    }
}
