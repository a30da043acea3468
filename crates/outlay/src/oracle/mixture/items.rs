//! The choices of the tasks that are not concave: points of their curves and linear segments
//! between them.

use crate::oracle::domain::{Domain, Form};
use crate::oracle::mckp::common_unit;
use crate::oracle::prepared::{PreparedProblem, power_of_two_near};

/// A point of a curve.
#[derive(Debug, Clone, Copy)]
pub(super) struct Item {
    pub(super) spend: f64,
    /// Spend above the lower bound, in units.
    pub(super) units: i64,
    pub(super) value: f64,
    /// The number of tasks funded here, of a group of identical thresholds perhaps several; zero for
    /// linear curves. A further jump of a funded task does not count: where every funded task is
    /// worth a fixed amount more than its cost, it adds none.
    pub(super) count: i32,
    /// The curve is linear from here to the next item, and rises.
    pub(super) is_open: bool,
}

/// A task that is not concave, with its items `first..last`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Choice {
    pub(super) domain: u32,
    pub(super) first: u32,
    pub(super) last: u32,
}

/// The tasks of a call, sorted by how the mixture search handles them.
#[derive(Debug, Default)]
pub(super) struct Choices {
    pub(super) items: Vec<Item>,
    pub(super) choices: Vec<Choice>,
    /// The domains that are concave, hence part of the remainder, and not in the arrays of S-shaped
    /// tasks.
    pub(super) concave: Vec<u32>,
    /// Whether concave domains are in those arrays.
    pub(super) has_sigmoids: bool,
    /// Whether all tasks that are not concave have steps, from zero on.
    is_discrete: bool,
    /// The domains that stay at their lower bounds, and their value.
    pub(super) closed: Vec<u32>,
    pub(super) constant: f64,
    /// Units of budget per unit of spend: a power of two, so that spends in units are exact.
    pub(super) per_spend: f64,
    /// The residual budget in units, rounded up.
    pub(super) capacity: i64,
    /// The tasks whose spends are not whole numbers of units: each may spend up to one unit more.
    pub(super) inexact: u32,
    /// All items spend multiples of this, if lower bounds are zero and no curve is linear.
    pub(super) common_unit: Option<f64>,
}

/// The budget has at most so many units, and at least half of them: sums of spends are exact.
pub(super) const UNITS: f64 = (1u64 << 60) as f64;

impl Choices {
    /// Sorts the domains of a call; false if one is neither concave nor made of points.
    pub(super) fn load(&mut self, prepared: &PreparedProblem) -> bool {
        self.items.clear();
        self.choices.clear();
        self.concave.clear();
        self.closed.clear();
        (self.constant, self.has_sigmoids, self.is_discrete, self.inexact) = (0.0, false, true, 0);
        self.per_spend = 0.5 * UNITS / power_of_two_near(prepared.budget);
        self.capacity = (prepared.residual * self.per_spend).ceil() as i64;
        for position in 0..prepared.domains.len() {
            let (weight, envelope) = (prepared.weights[position], &prepared.envelopes[position]);
            let domain = &prepared.domains[position];
            let is_closed = envelope.vertices.len() < 2 && envelope.branch.is_none();
            if !(weight > 0.0) || is_closed {
                self.constant += weight * domain.form.success(prepared.low[position]);
                self.closed.push(position as u32);
                continue;
            }
            let inner = &envelope.vertices[..envelope.vertices.len() - 1];
            let is_concave = match &domain.form {
                Form::Smooth(_) => inner.is_empty() && envelope.vertices[0].slope == f64::INFINITY,
                Form::Points { .. } => inner.iter().all(|vertex| vertex.is_exact),
            };
            if is_concave && prepared.sigmoids.has(position as u32) {
                self.has_sigmoids = true;
            } else if is_concave {
                self.concave.push(position as u32);
            } else if matches!(domain.form, Form::Points { .. }) {
                let range = (prepared.low[position], prepared.high[position]);
                let is_group = position >= prepared.domains.len() - prepared.identical.len();
                let most = if is_group { i32::MAX } else { 1 };
                self.push(position as u32, domain, weight, range, most);
            } else {
                return false;
            }
        }
        let spends = self.items.iter().map(|item| item.spend);
        self.common_unit =
            if self.is_discrete { common_unit(spends, prepared.residual) } else { None };
        !self.choices.is_empty()
    }

    /// Lists the items of a domain, which funds up to `most` tasks.
    fn push(
        &mut self,
        position: u32,
        domain: &Domain,
        weight: f64,
        (low, high): (f64, f64),
        most: i32,
    ) {
        let Form::Points { spend, success, linear } = &domain.form else { return };
        self.is_discrete &= !*linear && low == 0.0;
        let first = self.items.len();
        // Spends above the lower bound are rounded down.
        let low_units = (low * self.per_spend).ceil() as i64;
        let mut add = |spend: f64, success: f64| {
            let units = ((spend * self.per_spend) as i64 - low_units).max(0);
            let value = weight * success;
            let jumps = (self.items.len() - first) as i32;
            let count = if *linear { 0 } else { jumps.min(most) };
            self.items.push(Item { spend, units, value, count, is_open: false });
        };
        add(low, domain.form.success(low));
        let mut from = low;
        if low == 0.0 && domain.at_least > 0.0 {
            from = domain.at_least;
            add(from, domain.form.success(from));
        }
        let (begin, end) = (
            spend.partition_point(|&point| point <= from),
            spend.partition_point(|&point| point <= high),
        );
        (begin..end).for_each(|point| add(spend[point], success[point]));
        if *linear && end < spend.len() && high > from.max(spend[end.max(1) - 1]) {
            add(high, domain.form.success(high));
        }
        if *linear {
            let joined = first + usize::from(from > low);
            for item in joined..self.items.len() - 1 {
                let is_open = self.items[item + 1].value > self.items[item].value;
                self.items[item].is_open = is_open;
            }
        }
        let is_whole = |item: &Item| (item.spend * self.per_spend).fract() == 0.0;
        self.inexact += u32::from(!self.items[first..].iter().all(is_whole));
        let last = self.items.len() as u32;
        self.choices.push(Choice { domain: position, first: first as u32, last });
    }
}
