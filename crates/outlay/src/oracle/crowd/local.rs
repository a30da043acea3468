//! How the total spend of many tasks goes on around a price, and where it meets the budget.

use crate::oracle::close::{exp, log_ratio};

/// What a scan at a price finds, for all prices of a window around it: tasks that stay between
/// their bounds all over the window as sums, tasks that stay at a bound as a constant, the few
/// others one by one.
#[derive(Debug, Default)]
pub(in crate::oracle) struct Local {
    /// Spend above the lower bounds that does not depend on the power tasks, at the price of the
    /// scan.
    pub(in crate::oracle) constant: f64,
    /// Sums over power tasks of wish * elasticity^n.
    pub(in crate::oracle) moments: [f64; MOMENTS],
    /// What exponential tasks lose per unit of the price's logarithm.
    pub(in crate::oracle) slope: f64,
    pub(in crate::oracle) crossing: Vec<Crossing>,
    pub(in crate::oracle) jumps: Vec<Jump>,
    /// No value is negative, infinite or no number.
    pub(in crate::oracle) are_good: bool,
}

/// A smooth task that meets a bound within the window.
#[derive(Debug, Clone, Copy)]
pub(in crate::oracle) struct Crossing {
    pub(in crate::oracle) smooth: Smooth,
    pub(in crate::oracle) low: f64,
    pub(in crate::oracle) high: f64,
}

/// How its wish goes on, before the bounds.
#[derive(Debug, Clone, Copy)]
pub(in crate::oracle) enum Smooth {
    Power { wish: f64, elasticity: f64 },
    Exponential { level: f64, scale: f64 },
}

/// A straight task that turns within the window.
#[derive(Debug, Clone, Copy)]
pub(in crate::oracle) struct Jump {
    pub(in crate::oracle) price: f64,
    pub(in crate::oracle) value: f64,
    pub(in crate::oracle) task: usize,
    pub(in crate::oracle) low: f64,
    pub(in crate::oracle) high: f64,
}

/// Where the budget is met.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::oracle) enum Root {
    /// So far from the price of the scan, in its logarithm; with the price itself where tasks turn
    /// exactly there.
    Inside { step: f64, turn: Option<f64> },
    /// Not in the window, but about so far away; the next window should be so wide.
    Outside { step: f64, width: f64 },
    /// The sums say nothing.
    Nowhere,
}

/// How many powers of the elasticity are summed up; a scan may leave the last ones at zero.
pub(in crate::oracle) const MOMENTS: usize = 6;
const MAX_NEWTON_STEPS: usize = 60;

impl Local {
    /// Empties it; what was listed keeps its room.
    pub(in crate::oracle) fn clear(&mut self) {
        let (mut crossing, mut jumps) =
            (std::mem::take(&mut self.crossing), std::mem::take(&mut self.jumps));
        crossing.clear();
        jumps.clear();
        *self = Self { crossing, jumps, are_good: true, ..Self::default() };
    }

    /// Adds what another block has found.
    pub(in crate::oracle) fn merge(&mut self, other: &Self) {
        self.constant += other.constant;
        self.slope += other.slope;
        self.are_good &= other.are_good;
        for (moment, other) in self.moments.iter_mut().zip(other.moments) {
            *moment += other;
        }
        self.crossing.extend_from_slice(&other.crossing);
        self.jumps.extend_from_slice(&other.jumps);
    }

    /// How fast the total falls with the price's logarithm, straight tasks that turn in the window
    /// spread over it.
    pub(in crate::oracle) fn fall(&self, width: f64) -> f64 {
        self.smooth_after(0.0).1 + self.jumps.iter().map(Jump::room).sum::<f64>() / (2.0 * width)
    }

    /// Where the total is `free`. The window reaches `width` to both sides of `price`.
    pub(in crate::oracle) fn solve(&mut self, free: f64, price: f64, width: f64) -> Root {
        self.jumps.sort_unstable_by(|a, b| {
            b.price.total_cmp(&a.price).then(b.value.total_cmp(&a.value)).then(a.task.cmp(&b.task))
        });
        let all: f64 = self.jumps.iter().map(Jump::room).sum();
        let is_inside =
            self.smooth_after(width).0 <= free && self.smooth_after(-width).0 + all >= free;
        if !is_inside {
            return self.guess(free, price, width);
        }
        // Jumps in order of falling price: the answer is at one of them, or between two.
        let (mut above, mut taken) = (width, 0.0);
        let mut rest = &self.jumps[..];
        while !rest.is_empty() {
            let middle = rest[rest.len() / 2].price;
            let from = rest.partition_point(|jump| jump.price > middle);
            let to = rest.partition_point(|jump| jump.price >= middle);
            let step = log_ratio(middle, price).clamp(-width, width);
            let before = taken + rest[..from].iter().map(Jump::room).sum::<f64>();
            let tied = rest[from..to].iter().map(Jump::room).sum::<f64>();
            let low = before + self.smooth_after(step).0;
            if low > free {
                // Even without this jump there is too much: the answer is at a higher price.
                rest = &rest[..from];
            } else if low + tied < free {
                (above, taken, rest) = (step, before + tied, &rest[to..]);
            } else {
                return Root::Inside { step, turn: Some(middle) };
            }
        }
        self.solve_smooth(free - taken, -width, above)
    }

    /// Where the smooth part alone is `target`, between two steps.
    fn solve_smooth(&self, target: f64, mut below: f64, mut above: f64) -> Root {
        let mut step: f64 = 0.0_f64.clamp(below, above);
        for _ in 0..MAX_NEWTON_STEPS {
            let (spend, fall) = self.smooth_after(step);
            let over = spend - target;
            if over > 0.0 {
                below = step;
            } else {
                above = step;
            }
            let newton = step + over / fall;
            let next =
                if newton >= below && newton <= above { newton } else { 0.5 * (below + above) };
            if next == step || (next - step).abs() <= 1e-17 {
                return Root::Inside { step: next, turn: None };
            }
            step = next;
        }
        Root::Inside { step, turn: None }
    }

    /// About where the total is `free`, outside the window.
    fn guess(&self, free: f64, price: f64, width: f64) -> Root {
        let total = self.smooth_after(0.0).0
            + self.jumps.iter().filter(|jump| jump.price > price).map(Jump::room).sum::<f64>();
        let fall = self.fall(width);
        if !(fall > 0.0) {
            // Nothing moves in this window: look at the next one, and further.
            let step = if total > free { 4.0 * width } else { -4.0 * width };
            return Root::Outside { step, width: 4.0 * width };
        }
        let step =
            if total > 0.0 { log_ratio(total, free) * total / fall } else { (total - free) / fall };
        if step.is_finite() {
            Root::Outside { step, width: 0.125 * step.abs() }
        } else {
            Root::Nowhere
        }
    }

    /// Total spend above the lower bounds of all but the straight tasks listed, and how fast it
    /// falls.
    fn smooth_after(&self, step: f64) -> (f64, f64) {
        let [total, first, second, third, fourth, fifth] = self.moments;
        let x = -step;
        let (third, fourth, fifth) =
            (third * (1.0 / 6.0), fourth * (1.0 / 24.0), fifth * (1.0 / 120.0));
        let power =
            total + x * (first + x * (0.5 * second + x * (third + x * (fourth + x * fifth))));
        let fall =
            first + x * (second + x * (3.0 * third + x * (4.0 * fourth + x * (5.0 * fifth))));
        let (mut spend, mut fall) = (self.constant + power - self.slope * step, fall + self.slope);
        for crossing in &self.crossing {
            let (wish, falls) = crossing.smooth.after(step);
            let taken = wish.clamp(crossing.low, crossing.high);
            spend += taken - crossing.low;
            fall += if taken == wish { falls } else { 0.0 };
        }
        (spend, fall)
    }
}

impl Smooth {
    /// The wish where the price's logarithm is larger by `step`, and how fast it falls.
    fn after(self, step: f64) -> (f64, f64) {
        match self {
            Self::Power { wish, elasticity } => {
                let wish = wish * exp(-elasticity * step);
                (wish, elasticity * wish)
            }
            Self::Exponential { level, scale } => (scale * (level - step), scale),
        }
    }
}

impl Jump {
    /// What the task may take above its lower bound.
    pub(in crate::oracle) fn room(&self) -> f64 {
        self.high - self.low
    }
}
