//! The sums over all tasks that a sparse round keeps: what one task adds can be taken out again.

use super::record::Share;
use crate::oracle::crowd::local::{Crossing, Jump, Local, MOMENTS};
use crate::sum::Sum;

/// Everything that does not depend on the few tasks listed one by one.
#[derive(Debug, Default)]
pub(super) struct Books {
    /// Sums over power tasks of wish * elasticity^n, and of the same divided by the exponent. The
    /// first of each with care: the others only count times the step from the anchor.
    power: Sum,
    power_worth: Sum,
    moments: [f64; MOMENTS],
    worth_moments: [f64; MOMENTS],
    /// Spend above the lower bounds of all others, and how fast it falls.
    constant: Sum,
    slope: Sum,
    /// Worth of all others at a price of zero.
    worth: Sum,
    /// The tasks that meet a bound or turn within the window.
    pub(super) local: Local,
}

/// How the books stand at a price.
#[derive(Debug, Clone, Copy)]
pub(super) struct Balance {
    /// Spend above the lower bounds, and its worth, of all tasks that are not listed.
    pub(super) above: f64,
    pub(super) worth: f64,
    /// By how much both may be wrong, because the series ends somewhere.
    pub(super) above_error: f64,
    pub(super) worth_error: f64,
}

impl Books {
    pub(super) fn clear(&mut self) {
        let mut local = std::mem::take(&mut self.local);
        local.clear();
        *self = Self { local, ..Self::default() };
    }

    /// Adds a task.
    pub(super) fn add(&mut self, share: Share) {
        match share {
            Share::Crossing(crossing) => self.local.crossing.push(crossing),
            Share::Jump(jump) => self.local.jumps.push(jump),
            sums => self.book(sums, 1.0),
        }
    }

    /// Takes a task out again; `share` is what was added.
    pub(super) fn remove(&mut self, share: Share) {
        let Local { crossing, jumps, .. } = &mut self.local;
        match share {
            Share::Crossing(Crossing { task, .. }) => {
                crossing
                    .iter()
                    .position(|crossing| crossing.task == task)
                    .map(|place| crossing.swap_remove(place));
            }
            Share::Jump(Jump { task, .. }) => {
                jumps
                    .iter()
                    .position(|jump| jump.task == task)
                    .map(|place| jumps.swap_remove(place));
            }
            sums => self.book(sums, -1.0),
        }
    }

    fn book(&mut self, share: Share, sign: f64) {
        match share {
            Share::Power { wish, elasticity, over_exponent, low } => {
                self.book_power(sign * wish, elasticity, over_exponent);
                self.constant.add(-sign * low);
            }
            Share::Linear { spend, fall, most, low } => {
                self.constant.add(sign * (spend - low));
                self.slope.add(sign * fall);
                self.worth.add(sign * most);
            }
            Share::Settled { spend, worth } => {
                self.constant.add(sign * spend);
                self.worth.add(sign * worth);
            }
            Share::Crossing(_) | Share::Jump(_) => {}
        }
    }

    /// Books another wish of a power task that stays between its bounds.
    #[inline(always)]
    pub(super) fn book_power(&mut self, more: f64, elasticity: f64, over_exponent: f64) {
        self.power.add(more);
        self.power_worth.add(more * over_exponent);
        let mut term = more;
        for (moment, worth) in self.moments.iter_mut().zip(&mut self.worth_moments).skip(1) {
            term *= elasticity;
            *moment += term;
            *worth += term * over_exponent;
        }
    }

    /// Puts the sums where the price is looked for.
    pub(super) fn close(&mut self) -> &mut Local {
        self.local.constant = self.constant.value();
        self.local.slope = self.slope.value();
        self.local.moments = self.moments;
        self.local.moments[0] = self.power.value();
        &mut self.local
    }

    /// The sums where the price's logarithm is larger by `step`.
    pub(super) fn balance(&self, step: f64, price: f64, most_elastic: f64) -> Balance {
        let (power, power_error) = series(self.power, &self.moments, -step, most_elastic);
        let (worth, worth_error) =
            series(self.power_worth, &self.worth_moments, -step, most_elastic);
        Balance {
            above: self.constant.value() + power - self.slope.value() * step,
            // An exponential task is worth its most less price * scale, a power task price * wish /
            // exponent.
            worth: self.worth.value() + price * (worth - self.slope.value()),
            above_error: power_error,
            worth_error: price * worth_error,
        }
    }
}

/// The sum of moment * x^n / n!, and a limit for what is left out.
fn series(first: Sum, moments: &[f64; MOMENTS], x: f64, most_elastic: f64) -> (f64, f64) {
    let (mut factor, mut sum) = (x, first);
    for (degree, moment) in moments.iter().enumerate().skip(1) {
        sum.add(factor * moment);
        factor *= x / (degree + 1) as f64;
    }
    let largest = (most_elastic * x).abs();
    let left_out =
        (0..MOMENTS).fold(1.0, |product, degree| product * largest / (degree + 1) as f64);
    (sum.value(), first.value() * left_out * (1.0 + largest))
}
