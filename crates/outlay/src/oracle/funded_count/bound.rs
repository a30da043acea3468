//! The dual function with a given number of funded tasks.

use super::counted::Counted;
use crate::numeric::compensated::Sum;
use crate::oracle::concave::TrialState;
use crate::oracle::evaluation::Output;
use crate::oracle::multiplier::on_branch;
use crate::oracle::prepared::PreparedProblem;
use crate::oracle::tolerances::BOUND_ROUNDING;

/// A decision on a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decision {
    Free,
    Funded,
    Unfunded,
}

/// The solutions that a bound is for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Case {
    /// The number of funded tasks.
    pub(super) count: usize,
    /// The shares of the convex part between which one more task is partly funded.
    pub(super) partial: Option<(f64, f64)>,
}

/// The dual function at a multiplier.
#[derive(Debug, Clone, Copy)]
pub(super) struct Point {
    pub(super) multiplier: f64,
    pub(super) bound: f64,
    /// Demand less the budget.
    pub(super) excess: f64,
    pub(super) sensitivity: f64,
    /// The task that is partly funded, and its spend.
    pub(super) partial: Option<(u32, f64)>,
}

/// The parts of the dual function that all numbers of funded tasks share.
#[derive(Debug, Clone, Copy, Default)]
struct Base {
    multiplier: f64,
    value: Sum,
    demand: Sum,
    sensitivity: f64,
}

/// The dual function of the tasks of a call.
#[derive(Debug, Default)]
pub(super) struct DualFunction {
    pub(super) tasks: Vec<Counted>,
    /// The domains that are not counted.
    pub(super) rest: Vec<u32>,
    pub(super) decisions: Vec<Decision>,
    /// At the last multiplier: the difference of funded and unfunded surplus of each task, the
    /// difference of the spends, and the sensitivity.
    gain: Vec<f64>,
    spend: Vec<f64>,
    sensitivity: Vec<f64>,
    unfunded_surplus: Vec<f64>,
    /// The spend of each task if it is partly funded, and its surplus.
    partial: Vec<(f64, f64)>,
    best_partial_from: Vec<f64>,
    order: Vec<u32>,
    /// The funded tasks at the last multiplier, and at the points of the last minimum.
    pub(super) is_funded: Vec<bool>,
    pub(super) is_funded_below: Vec<bool>,
    pub(super) is_funded_above: Vec<bool>,
    /// Where the concave tasks write.
    demands: TrialState,
    scratch: [Vec<f64>; 2],
    /// The number of curves evaluated.
    pub(super) evaluations: u64,
}

/// The shares of the convex part in which a task is partly funded: the second half.
pub(super) const PARTIAL: (f64, f64) = (0.5, 1.0);

impl DualFunction {
    pub(super) fn clear(&mut self, prepared: &PreparedProblem) {
        self.tasks.clear();
        self.rest.clear();
        self.evaluations = 0;
        self.demands.reset();
        self.scratch[0].resize(prepared.spend_len(), 0.0);
        self.scratch[1].resize(prepared.curves.len(), 0.0);
    }

    /// Leaves every task undecided.
    pub(super) fn reset_decisions(&mut self) {
        self.decisions.clear();
        self.decisions.resize(self.tasks.len(), Decision::Free);
    }

    /// Evaluates all tasks at a multiplier.
    fn evaluate(&mut self, prepared: &PreparedProblem, multiplier: f64) -> Base {
        self.evaluations += (prepared.concave.len() + prepared.domains.len()) as u64;
        let mut base = self.evaluate_rest(prepared, multiplier);
        let Self { gain, spend, sensitivity, unfunded_surplus, .. } = self;
        for numbers in [&mut *gain, spend, sensitivity, unfunded_surplus] {
            numbers.clear();
        }
        for task in &self.tasks {
            let (at, fall) = task.smooth.at_slope(multiplier / task.weight);
            let is_inside = at > task.start && at < task.end;
            let at = at.clamp(task.start, task.end);
            let surplus = task.middle_gain - multiplier * (task.middle - task.low);
            let (surplus, unfunded) =
                if surplus > 0.0 { (surplus, task.middle) } else { (0.0, task.low) };
            gain.push(task.gain(at, multiplier) - surplus);
            spend.push(at - unfunded);
            sensitivity.push(if is_inside { fall } else { 0.0 });
            unfunded_surplus.push(surplus);
            base.value.add(task.weight * task.low_success + surplus);
            base.demand.add(unfunded - task.low);
        }
        base
    }

    /// The tasks that are not counted, each at its best spend.
    fn evaluate_rest(&mut self, prepared: &PreparedProblem, multiplier: f64) -> Base {
        let view = prepared.view();
        let demand = view.concave.trial(multiplier, &mut self.demands);
        let [spend, success] = &mut self.scratch;
        let mut output = Output { spend, success };
        let concave = view.concave.assign(
            multiplier,
            0.0,
            &self.demands,
            view.values,
            &mut output,
            |_, _, _| {},
        );
        let mut base = Base {
            multiplier,
            value: concave.value,
            demand: concave.above,
            sensitivity: demand.0.sensitivity + demand.1.sensitivity,
        };
        base.value.add(-multiplier * concave.above.value());
        base.value.add(multiplier * view.residual);
        for &domain in &self.rest {
            let domain = domain as usize;
            let (envelope, weight) = (view.envelope(domain), view.weights[domain]);
            let position = if weight > 0.0 {
                envelope.vertices.partition_point(|vertex| weight * vertex.slope > multiplier)
            } else {
                0
            };
            let (spend, success) = match envelope.vertices.get(position) {
                Some(vertex) => (vertex.spend, vertex.success),
                None => {
                    let (spend, sensitivity) = on_branch(view, domain, multiplier);
                    base.sensitivity += sensitivity;
                    (spend, view.domains[domain].form.success(spend))
                }
            };
            base.value.add(weight * success - multiplier * (spend - envelope.low));
            base.demand.add(spend - envelope.low);
        }
        base
    }

    /// Lowers the bound of every number of funded tasks, without and with a partly funded one, to
    /// the dual function at a multiplier.
    pub(super) fn lower_counts(
        &mut self,
        prepared: &PreparedProblem,
        multiplier: f64,
        bounds: &mut [Vec<Option<f64>>; 2],
    ) {
        let base = self.evaluate(prepared, multiplier);
        self.evaluate_partial(multiplier, PARTIAL);
        let Self { order, gain, spend, partial, best_partial_from, .. } = self;
        order.clear();
        order.extend(0..gain.len() as u32);
        order.sort_unstable_by(|&a, &b| by_gain(gain, a, b));
        // The best partly funded task among those that are not funded otherwise.
        best_partial_from.clear();
        best_partial_from.resize(order.len() + 1, f64::NEG_INFINITY);
        for (count, &task) in order.iter().enumerate().rev() {
            best_partial_from[count] = best_partial_from[count + 1].max(partial[task as usize].1);
        }
        let (mut value, mut demand) = (base.value, base.demand);
        let mut best_replaced = f64::NEG_INFINITY;
        for count in 0..=order.len() {
            let next = order.get(count).map(|&task| task as usize);
            let next_gain = next.map_or(f64::NEG_INFINITY, |next| gain[next]);
            let best_partial = best_partial_from[count].max(best_replaced + next_gain);
            let cases = [value.value(), value.value() + best_partial];
            for (bounds, case) in bounds.iter_mut().zip(cases) {
                if let Some(bound) = &mut bounds[count] {
                    let turnover = demand.value() + prepared.residual;
                    *bound = bound.min(raised(case, base, turnover));
                }
            }
            if let Some(next) = next {
                value.add(next_gain);
                demand.add(spend[next]);
                best_replaced = best_replaced.max(partial[next].1 - next_gain);
            }
        }
    }

    /// The spend and the surplus of each task if it is partly funded, above its unfunded surplus.
    fn evaluate_partial(&mut self, multiplier: f64, shares: (f64, f64)) {
        self.partial.clear();
        for (task, &unfunded) in self.tasks.iter().zip(&self.unfunded_surplus) {
            let mut best = (task.low, f64::NEG_INFINITY);
            for spend in [shares.0, shares.1].into_iter().filter_map(|share| task.partial(share)) {
                let surplus = task.gain(spend, multiplier) - unfunded;
                if surplus > best.1 {
                    best = (spend, surplus);
                }
            }
            self.partial.push(best);
        }
    }

    /// The dual function of a case; none if the case is impossible.
    pub(super) fn at(
        &mut self,
        prepared: &PreparedProblem,
        case: Case,
        multiplier: f64,
    ) -> Option<Point> {
        let base = self.evaluate(prepared, multiplier);
        let left = self.choose(case.count)?;
        let partial = match case.partial {
            Some(shares) => {
                self.evaluate_partial(multiplier, shares);
                Some(self.choose_partial(left)?)
            }
            None => None,
        };
        let (mut value, mut demand, mut sensitivity) = (base.value, base.demand, base.sensitivity);
        for task in 0..self.tasks.len() {
            if self.is_funded[task] {
                value.add(self.gain[task]);
                demand.add(self.spend[task]);
                sensitivity += self.sensitivity[task];
            }
        }
        let partial = partial.map(|task| {
            let (spend, surplus) = self.partial[task as usize];
            value.add(surplus);
            demand.add(spend - self.tasks[task as usize].low);
            (task, spend)
        });
        let excess = demand.value() - prepared.residual;
        let bound = raised(value.value(), base, demand.value() + prepared.residual);
        Some(Point { multiplier, bound, excess, sensitivity, partial })
    }

    /// The partly funded task that is best beside `left` undecided funded ones. If it is one of
    /// these, the next task is funded in its place.
    fn choose_partial(&mut self, left: usize) -> Option<u32> {
        let Self { order, gain, decisions, is_funded, partial, .. } = self;
        let next = order[left..].iter().copied().min_by(|&a, &b| by_gain(gain, a, b));
        let next_gain = next.map_or(f64::NEG_INFINITY, |next| gain[next as usize]);
        let mut best = (f64::NEG_INFINITY, None);
        for task in 0..gain.len() {
            let surplus = match (decisions[task], is_funded[task]) {
                (Decision::Funded, _) => continue,
                (_, true) => partial[task].1 - gain[task] + next_gain,
                (_, false) => partial[task].1,
            };
            if surplus > best.0 {
                best = (surplus, Some(task));
            }
        }
        let task = best.1?;
        if let (true, Some(next)) = (is_funded[task], next) {
            (is_funded[task], is_funded[next as usize]) = (false, true);
        }
        Some(task as u32)
    }

    /// Marks the decided tasks and those with the largest gains as funded, `count` in all. Returns
    /// the number of the latter, which come first in `order`.
    fn choose(&mut self, count: usize) -> Option<usize> {
        let Self { order, decisions, gain, is_funded, .. } = self;
        is_funded.clear();
        is_funded.extend(decisions.iter().map(|&decision| decision == Decision::Funded));
        let decided = is_funded.iter().filter(|&&is_funded| is_funded).count();
        order.clear();
        let is_free = |&task: &u32| decisions[task as usize] == Decision::Free;
        order.extend((0..decisions.len() as u32).filter(is_free));
        let left = count.checked_sub(decided).filter(|&left| left <= order.len())?;
        if left > 0 && left < order.len() {
            order.select_nth_unstable_by(left - 1, |&a, &b| by_gain(gain, a, b));
        }
        order[..left].iter().for_each(|&task| is_funded[task as usize] = true);
        Some(left)
    }
}

/// By decreasing gain, then by index.
fn by_gain(gain: &[f64], a: u32, b: u32) -> std::cmp::Ordering {
    gain[b as usize].total_cmp(&gain[a as usize]).then(a.cmp(&b))
}

/// A bound raised by the rounding of its sums, in which budget and demand are priced. An impossible
/// case keeps its bound of minus infinity.
fn raised(bound: f64, base: Base, turnover: f64) -> f64 {
    if bound == f64::NEG_INFINITY {
        return bound;
    }
    bound + BOUND_ROUNDING * (bound.abs() + base.multiplier * turnover)
}
