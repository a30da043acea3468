//! One relaxed problem: price, spends, the bound they prove, and the one task that may lie inside a
//! chord.

use super::batch::{Call, Settled, Split};
use super::coordinate::Coordinate;
use super::price::{PriceSearch, View, on_branch};
use super::sigmoid::{Settlement, Taker};

/// What a relaxation says.
#[derive(Debug, Clone, Copy)]
pub(super) struct Relaxed {
    pub(super) price: f64,
    /// No spend in the relaxation's domain is worth more.
    pub(super) bound: f64,
    /// What the spends written are worth, and what they add up to.
    pub(super) value: f64,
    /// What they leave of the budget: rounding, or what nobody wants.
    pub(super) left: f64,
    /// No task reacts smoothly to the price.
    pub(super) is_flat: bool,
    /// The coordinate strictly inside a chord that its curve does not follow, and its spend.
    pub(super) fractional: Option<(usize, f64)>,
}

/// A task that may stay or jump at the price found.
#[derive(Debug, Clone, Copy)]
struct Tied {
    /// The coordinate, or none for a straight task in bulk.
    coordinate: Option<usize>,
    task: usize,
    from: f64,
    to: f64,
    exact: bool,
    weight: f64,
}

/// Buffers kept between calls.
#[derive(Debug, Default)]
pub(super) struct Relaxation {
    search: PriceSearch,
    tied: Vec<Tied>,
    /// Each task's chance of success at its spend.
    success: Vec<f64>,
    /// S-shaped tasks that were set aside in the last relaxation: what was written for them is not
    /// theirs any more.
    stale: Vec<u32>,
}

/// The rounding of a sum of products, as a share of the sums: every bound is raised by it.
pub(super) const ROUNDING: f64 = 16.0 * f64::EPSILON;
/// A remainder up to this share of what is free may go to the task that it disturbs least.
const SMALL_REMAINDER: f64 = 1e-6;
/// A step of this share of a spend, and of how fast it falls with the price, changes the slope by
/// less than can be seen.
const UNNOTICED: f64 = 1e-9;

impl Relaxation {
    /// Each task's chance of success at the spends written last; of stacks nothing is said.
    pub(super) fn success(&self) -> &[f64] {
        &self.success
    }

    /// About the price of the whole problem, from a sample of its tasks; none if they are too few
    /// for one.
    pub(super) fn sample_price(&mut self, view: View<'_>) -> Option<f64> {
        self.search.sample_price(view)
    }

    /// Solves the relaxation that `view` shows and writes a feasible split into `spend`; of one
    /// that cannot be worth more than `enough` only the bound is told.
    pub(super) fn solve(
        &mut self,
        view: View<'_>,
        start: Option<f64>,
        enough: f64,
        spend: &mut [f64],
    ) -> Relaxed {
        self.success.resize(view.curves.len(), 0.0);
        if !(view.free > 0.0) {
            return self.pinned(view, spend);
        }
        let Self { search, tied, success, stale } = self;
        let mut split = Split { spend, success };
        let price = search.find(view, start);
        let mut settled = Settled::default();
        let call = Call { price, log_price: price.ln(), wishes: search.wishes() };
        tied.clear();
        view.batches.settle(call, &mut split, &mut settled, |task, from, to| {
            tied.push(Tied {
                coordinate: None,
                task,
                from,
                to,
                exact: true,
                weight: view.values[task],
            });
        });
        let ridden =
            view.sigmoids.map(|sigmoids| search.respond(view, sigmoids, price)).unwrap_or_default();
        rest_stale(view, stale, &mut split);
        for coordinate in view.one_by_one() {
            settle(view, coordinate, price, &mut split, &mut settled, tied);
        }
        let (mut wished, mut worth) = (settled.above, settled.value);
        wished.merge(ridden.spend);
        worth.merge(ridden.worth);
        let (wished, worth) = (wished.value(), worth.value());
        // The dual function at this price: what is free at its price, and each task's best surplus.
        let bound = worth + price * (view.free - wished);
        let bound = bound + ROUNDING * (bound.abs() + price * view.free + worth);
        if bound <= enough {
            return Relaxed {
                price,
                bound,
                value: f64::NEG_INFINITY,
                left: 0.0,
                is_flat: false,
                fractional: None,
            };
        }
        settle_sigmoids(view, price, search, &mut split, &mut settled, tied);
        let fractional = fill(view, price, view.free - wished, &mut split, &mut settled, tied);
        absorb(view, price, &mut split, &mut settled);
        Relaxed {
            price,
            bound,
            value: settled.value.value(),
            left: view.free - settled.above.value(),
            is_flat: settled.softness == 0.0,
            fractional,
        }
    }

    /// The lower bounds take everything: there is nothing to decide.
    fn pinned(&mut self, view: View<'_>, spend: &mut [f64]) -> Relaxed {
        let mut split = Split { spend, success: &mut self.success };
        let mut settled = Settled::default();
        self.search.wish_nothing(view);
        let call =
            Call { price: f64::INFINITY, log_price: f64::INFINITY, wishes: self.search.wishes() };
        view.batches.settle(call, &mut split, &mut settled, |_, _, _| {});
        self.tied.clear();
        rest_stale(view, &mut self.stale, &mut split);
        for coordinate in view.one_by_one() {
            settle(view, coordinate, f64::INFINITY, &mut split, &mut settled, &mut self.tied);
        }
        settle_sigmoids(
            view,
            f64::INFINITY,
            &mut self.search,
            &mut split,
            &mut settled,
            &mut self.tied,
        );
        let value = settled.value.value();
        Relaxed {
            price: 0.0,
            bound: value + ROUNDING * value,
            value,
            left: 0.0,
            is_flat: true,
            fractional: None,
        }
    }
}

/// Writes the lower bounds of those who were set aside in the last relaxation.
fn rest_stale(view: View<'_>, stale: &mut Vec<u32>, split: &mut Split<'_>) {
    let Some(sigmoids) = view.sigmoids else { return };
    stale.drain(..).for_each(|coordinate| sigmoids.rest(coordinate, split));
    stale.extend_from_slice(view.aside);
}

/// Writes the smallest best spends of the S-shaped tasks that are not set aside; those with a
/// larger one are added to `tied`.
fn settle_sigmoids(
    view: View<'_>,
    price: f64,
    search: &mut PriceSearch,
    split: &mut Split<'_>,
    settled: &mut Settled,
    tied: &mut Vec<Tied>,
) {
    let Some(sigmoids) = view.sigmoids else { return };
    let at = Settlement { sigmoids, price, aside: view.aside, is_first: view.aside.is_empty() };
    search.settle(at, split, settled, |Taker { coordinate, task, from, to }| {
        tied.push(Tied {
            coordinate: Some(coordinate),
            task,
            from,
            to,
            exact: false,
            weight: view.weights[coordinate],
        });
    });
}

/// The smallest best spend of a coordinate at a price; if there is a larger one, it is added to
/// `tied`.
fn settle(
    view: View<'_>,
    coordinate: usize,
    price: f64,
    split: &mut Split<'_>,
    settled: &mut Settled,
    tied: &mut Vec<Tied>,
) {
    let hull = view.hull(coordinate);
    let weight = view.weights[coordinate];
    let task = view.coordinates[coordinate].task;
    let position = if weight > 0.0 {
        hull.corners.partition_point(|corner| weight * corner.slope > price)
    } else {
        0
    };
    let (taken, success) = if position == hull.corners.len() {
        let (taken, fall) = on_branch(view, coordinate, price);
        settled.offer(task, fall);
        (taken, view.coordinates[coordinate].form.success(taken))
    } else {
        let corner = hull.corners[position];
        if weight > 0.0 && price > 0.0 && weight * corner.slope == price {
            let to = hull
                .corners
                .get(position + 1)
                .map_or_else(|| on_branch(view, coordinate, price).0, |next| next.spend);
            tied.push(Tied {
                coordinate: Some(coordinate),
                task,
                from: corner.spend,
                to,
                exact: corner.exact,
                weight,
            });
        }
        (corner.spend, corner.success)
    };
    split.set(view.curves, task, taken, success);
    settled.above.add(taken - hull.low);
    settled.value.add(weight * success);
}

/// Spends what is left on the tied tasks, those with more weight and lower index first; at most one
/// is left half-way.
fn fill(
    view: View<'_>,
    price: f64,
    mut left: f64,
    split: &mut Split<'_>,
    settled: &mut Settled,
    tied: &mut [Tied],
) -> Option<(usize, f64)> {
    tied.sort_unstable_by(|a, b| {
        a.exact.cmp(&b.exact).then_with(|| b.weight.total_cmp(&a.weight)).then(a.task.cmp(&b.task))
    });
    let mut halfway = None;
    for &Tied { coordinate, task, from, to, exact, .. } in &*tied {
        let fits = to - from <= left;
        if !fits && !exact {
            halfway = halfway.or(coordinate.map(|coordinate| (coordinate, from)));
            continue;
        }
        let step = (to - from).min(left.max(0.0));
        let to = if fits { to } else { from + step };
        match coordinate {
            Some(coordinate) => advance(view, coordinate, from, to, split, settled),
            None => {
                split.spend[task] = to;
                split.success[task] = view.curves[task].success(to);
                settled.above.add(to - from);
                settled.value.add(price * (to - from));
            }
        }
        left -= step;
    }
    let (coordinate, from) = halfway.filter(|_| left > 0.0)?;
    let wish = from + left;
    // Between zero and "at least" nothing is allowed: stay at zero and let a split decide.
    if !(from == 0.0 && wish < view.coordinates[coordinate].at_least) {
        advance(view, coordinate, from, wish, split, settled);
    }
    Some((coordinate, wish))
}

/// Moves a coordinate and books the change.
fn advance(
    view: View<'_>,
    coordinate: usize,
    from: f64,
    to: f64,
    split: &mut Split<'_>,
    settled: &mut Settled,
) {
    let Coordinate { task, ref form, .. } = view.coordinates[coordinate];
    let success = form.success(to);
    split.set(view.curves, task, to, success);
    settled.above.add(to - from);
    settled.value.add(view.weights[coordinate] * (success - form.success(from)));
}

/// Gives a remainder of rounding size to the task that it disturbs least.
fn absorb(view: View<'_>, price: f64, split: &mut Split<'_>, settled: &mut Settled) {
    let left = view.free - settled.above.value();
    if !(settled.softness > 0.0 && left != 0.0 && left.abs() <= SMALL_REMAINDER * view.free) {
        return;
    }
    let task = settled.softest;
    let (from, bounds, curve, value) =
        (split.spend[task], view.bounds[task], &view.curves[task], view.values[task]);
    let to = (from + left).clamp(bounds.min.max(bounds.at_least), bounds.max);
    split.spend[task] = to;
    settled.above.add(to - from);
    let is_unnoticed = (to - from).abs() <= UNNOTICED * from.min(settled.softness);
    if is_unnoticed && to < curve.saturates_at() {
        // The task is on its curve's own slope, which is the price: so short a way changes it by
        // less than rounding.
        let gain = price * (to - from);
        split.success[task] += gain / value;
        settled.value.add(gain);
    } else {
        let success = curve.success(to);
        split.success[task] = success;
        settled.value.add(value * (success - curve.success(from)));
    }
}
