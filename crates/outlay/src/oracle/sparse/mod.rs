//! Rounds in which few of many values change: work in proportion to those.
//!
//! All tasks are summed up around an anchor's price ([`Books`]): those that stay between their
//! bounds, or at one of them, in a window around it. When a value changes, what its task added is
//! taken out and what it adds now is put in; the price follows from the sums. No split is written
//! until it is asked for. When the price leaves the window, or the series would lose digits,
//! everything is summed up anew.

mod books;
mod record;
#[cfg(test)]
mod tests;

use pulp::{Arch, Simd, WithSimd};

use super::close::exp;
use super::crowd::local::{Jump, Root};
use super::four::{Four, fours, fours_mut, with_four};
use super::relaxation::ROUNDING;
use super::{Allocation, AllocationError, Options, Oracle};
use crate::curve::Curve;
use crate::problem::Problem;
use crate::sum::{Sum, sum};
use books::Books;
use record::{Kind, LEAST_VALUE, Record};

/// What a sparse round is worth: the certificate of a split that is not written yet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Certificate {
    /// What is spent.
    pub budget: f64,
    /// Expected reward of the round.
    pub value: f64,
    /// No split has a larger value.
    pub upper_bound: f64,
    /// What one more unit of budget is worth.
    pub price: f64,
}

/// Why a problem cannot have sparse rounds.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SparseError {
    /// A task is of another kind.
    #[error(
        "task {0}: sparse rounds take power, saturating and exponential curves, without at_least; use an oracle for the others"
    )]
    NotConcave(String),
    /// The first values or the budget are out of range.
    #[error(transparent)]
    Allocation(#[from] AllocationError),
}

/// Solves a problem of many concave tasks again and again, when only some values change from round
/// to round.
///
/// ```
/// use outlay::{Curve, ProblemSpec, SparseRounds, TaskSpec};
/// let tasks = (0..1000).map(|task| TaskSpec::new(format!("t{task}"), Curve::power(0.5, 1.0).unwrap())).collect();
/// let problem = ProblemSpec { tasks, ..ProblemSpec::default() }.check()?;
/// let mut rounds = SparseRounds::new(&problem, &vec![0.5; 1000], 1.0)?;
/// let before = rounds.spend_of(3);
/// let certificate = rounds.change(&[(3, 0.6)], 1.0)?;
/// assert!(certificate.upper_bound >= certificate.value);
/// assert!(rounds.spend_of(3) > 1.4 * before); // (0.6 / 0.5)² of the others'
/// assert_eq!(rounds.allocation()?.spend.len(), 1000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct SparseRounds {
    arch: Arch,
    oracle: Oracle,
    curves: Vec<Curve>,
    tasks: Vec<Record>,
    most_elastic: f64,
    min_total: f64,
    books: Books,
    /// The logarithm of the anchor's price, and half the window around it.
    anchor_log: f64,
    anchor_price: f64,
    width: f64,
    /// What the floors are worth whatever is spent.
    floors: Sum,
    has_floors: bool,
    /// Where the last round ended: from the anchor's price in its logarithm.
    step: f64,
    certificate: Certificate,
    /// Straight tasks that turn exactly at the price, with what they are given.
    tied: Vec<(usize, f64)>,
}

/// So many changes are read, and then worked on, together.
const TOGETHER: usize = 16;
/// Half the window, in the logarithm of the price.
const WIDTH: f64 = 1e-3;
/// The same times the largest elasticity: the series then ends below rounding.
const MOST_WIDTH: f64 = 0.01;

impl SparseRounds {
    /// Prepares the tasks of `problem` for their first values.
    ///
    /// # Errors
    /// If a task is neither power nor exponential nor straight, or an input is out of range.
    pub fn new(problem: &Problem, values: &[f64], budget: f64) -> Result<Self, SparseError> {
        let mut tasks = Vec::with_capacity(problem.tasks().len());
        for task in problem.tasks() {
            let record = Record::new(task.curve(), task.bounds());
            tasks.push(record.ok_or_else(|| SparseError::NotConcave(task.name().to_owned()))?);
        }
        let curves: Vec<Curve> = problem.tasks().iter().map(|task| task.curve().clone()).collect();
        let most_elastic = tasks.iter().map(Record::elasticity).fold(1.0, f64::max);
        let mut rounds = Self {
            arch: Arch::new(),
            oracle: Oracle::new(problem),
            has_floors: curves.iter().any(|curve| curve.floor() > 0.0),
            curves,
            min_total: sum(tasks.iter().map(|task| task.low)),
            tasks,
            most_elastic,
            books: Books::default(),
            anchor_log: 0.0,
            anchor_price: 1.0,
            width: WIDTH.min(MOST_WIDTH / most_elastic),
            floors: Sum::default(),
            step: 0.0,
            certificate: Certificate { budget, value: 0.0, upper_bound: 0.0, price: 0.0 },
            tied: Vec::new(),
        };
        rounds.start(values, budget)?;
        Ok(rounds)
    }

    /// The certificate of a round with these new values, given as task and value; all other values
    /// are those of the last round.
    ///
    /// # Errors
    /// If a task does not exist or an input is out of range; nothing has changed then.
    pub fn change(
        &mut self,
        changes: &[(usize, f64)],
        budget: f64,
    ) -> Result<Certificate, AllocationError> {
        self.check(changes, budget)?;
        for some in changes.chunks(TOGETHER) {
            self.set(some);
        }
        if let Some(certificate) = self.solve(budget) {
            self.certificate = certificate;
            return Ok(certificate);
        }
        let values = self.values();
        self.start(&values, budget)
    }

    /// The certificate of the last round.
    #[must_use]
    pub fn certificate(&self) -> Certificate {
        self.certificate
    }

    /// What a task gets in the last round, to about eleven digits; nothing for a task that does not
    /// exist.
    #[must_use]
    pub fn spend_of(&self, task: usize) -> f64 {
        let Some(record) = self.tasks.get(task) else { return 0.0 };
        let tied = self.tied.iter().find(|(tied, _)| *tied == task);
        tied.map_or_else(|| record.spend(self.step, self.certificate.price), |&(_, spend)| spend)
    }

    /// The whole split of the last round, with all digits and each task's chance of success.
    ///
    /// # Errors
    /// None that the round itself has not had.
    pub fn allocation(&mut self) -> Result<&Allocation, AllocationError> {
        let values = self.values();
        self.oracle.allocate(&values, self.certificate.budget, &Options::default())
    }

    fn values(&self) -> Vec<f64> {
        self.tasks.iter().map(|task| task.value).collect()
    }

    fn check(&self, changes: &[(usize, f64)], budget: f64) -> Result<(), AllocationError> {
        for &(task, value) in changes {
            if task >= self.tasks.len() {
                return Err(AllocationError::NoSuchTask { task, tasks: self.tasks.len() });
            }
            if !(value >= 0.0 && value.is_finite()) {
                return Err(AllocationError::BadValue { task, value });
            }
        }
        if !(budget >= 0.0 && budget.is_finite()) {
            return Err(AllocationError::BadBudget(budget));
        }
        if self.min_total > budget {
            self.oracle.check(&self.values(), budget, &Options::default())?;
        }
        Ok(())
    }

    /// Takes the shares of some tasks out, and puts in what they are with other values.
    fn set(&mut self, changes: &[(usize, f64)]) {
        let new = self.at_anchor(changes);
        let window = self.window();
        for (&(task, value), new) in changes.iter().zip(new) {
            let record = &mut self.tasks[task];
            if self.has_floors {
                self.floors.add((value - record.value) * self.curves[task].floor());
            }
            if let Kind::Power { elasticity, over_exponent, .. } = record.kind {
                // Nearly all power tasks are between their bounds before and after.
                let margin = elasticity * self.width;
                if record.is_inside(record.at_anchor, margin) && record.is_inside(new, margin) {
                    self.books.book_power(new - record.at_anchor, elasticity, over_exponent);
                    (record.value, record.at_anchor) = (value, new);
                    continue;
                }
            }
            let curve = &self.curves[task];
            self.books.remove(record.share(task, curve, self.width, window));
            (record.value, record.at_anchor) = (value, new);
            self.books.add(record.share(task, curve, self.width, window));
        }
    }

    /// Where tasks with other values stand at the anchor's price. All of them are read before any
    /// is worked on, so that the memory brings them at the same time.
    fn at_anchor(&self, changes: &[(usize, f64)]) -> [f64; TOGETHER] {
        let mut powers = Powers {
            value: [1.0; TOGETHER],
            elasticity: [0.0; TOGETHER],
            base_level: [0.0; TOGETHER],
        };
        for (place, &(task, value)) in changes.iter().enumerate() {
            if let Kind::Power { elasticity, base_level, .. } = self.tasks[task].kind {
                (powers.value[place], powers.elasticity[place], powers.base_level[place]) =
                    (value, elasticity, base_level);
            }
        }
        let mut new = with_four(self.arch, Wishes { powers: &powers, log_price: self.anchor_log });
        for (new, &(task, value)) in new.iter_mut().zip(changes) {
            let record = &self.tasks[task];
            if !(matches!(record.kind, Kind::Power { .. }) && value > LEAST_VALUE) {
                *new = record.at(value, self.anchor_log);
            }
        }
        new
    }

    fn window(&self) -> (f64, f64) {
        let wide = exp(self.width);
        (self.anchor_price / wide, self.anchor_price * wide)
    }

    /// Solves the round in full and sums up around its price.
    fn start(&mut self, values: &[f64], budget: f64) -> Result<Certificate, AllocationError> {
        let Allocation { value, upper_bound, price, .. } =
            *self.oracle.allocate(values, budget, &Options::default())?;
        self.certificate = Certificate { budget, value, upper_bound, price };
        self.anchor_price = if price > 0.0 { price } else { f64::MIN_POSITIVE };
        self.anchor_log = self.anchor_price.ln();
        self.books.clear();
        self.tied.clear();
        self.step = 0.0;
        let window = self.window();
        for (task, (record, curve)) in self.tasks.iter_mut().zip(&self.curves).enumerate() {
            (record.value, record.at_anchor) =
                (values[task], record.at(values[task], self.anchor_log));
            self.books.add(record.share(task, curve, self.width, window));
            // What the full solution gave to a task that turns here is not what its price alone
            // says.
            let spend = self.oracle.last().spend[task];
            if matches!(record.kind, Kind::Straight { .. }) && record.spend(0.0, price) != spend {
                self.tied.push((task, spend));
            }
        }
        if self.has_floors {
            self.floors = self
                .curves
                .iter()
                .zip(values)
                .map(|(curve, value)| curve.floor() * value)
                .collect();
        }
        Ok(self.certificate)
    }

    /// The round by the sums alone; none if the price has left the window, or something unusual is
    /// asked.
    fn solve(&mut self, budget: f64) -> Option<Certificate> {
        let free = budget - self.min_total;
        if !(free > 1e-6 * budget) {
            return None;
        }
        let (anchor_price, width) = (self.anchor_price, self.width);
        let Root::Inside { step, turn } = self.books.close().solve(free, anchor_price, width)
        else {
            return None;
        };
        let price = turn.unwrap_or_else(|| anchor_price * exp(step));
        let balance = self.books.balance(step, price, self.most_elastic);
        let listed = &self.books.local;
        let tasks = listed
            .crossing
            .iter()
            .map(|crossing| crossing.task)
            .chain(listed.jumps.iter().map(|jump| jump.task));
        let (mut above, mut worth) = (balance.above, balance.worth);
        for task in tasks {
            above += self.tasks[task].spend(step, price) - self.tasks[task].low;
            worth += self.tasks[task].worth(&self.curves[task], step, price);
        }
        let left = free - above;
        self.tied.clear();
        fill(&listed.jumps, price, left, &mut self.tied);
        let floors = self.floors.value();
        let bound = worth + price * left;
        let doubt = ROUNDING * (bound.abs() + price * free + worth + floors)
            + balance.worth_error
            + price * balance.above_error;
        self.step = step;
        Some(Certificate {
            budget,
            value: bound + floors - doubt,
            upper_bound: bound + floors + doubt,
            price,
        })
    }
}

/// Gives what is left to straight tasks that turn exactly at the price, in their order.
fn fill(jumps: &[Jump], price: f64, mut left: f64, tied: &mut Vec<(usize, f64)>) {
    for jump in jumps.iter().filter(|jump| jump.price == price) {
        let taken = jump.room().min(left.max(0.0));
        tied.push((jump.task, jump.low + taken));
        left -= taken;
    }
}

/// What the wishes of some power tasks depend on; nothing in the places of others.
struct Powers {
    value: [f64; TOGETHER],
    elasticity: [f64; TOGETHER],
    base_level: [f64; TOGETHER],
}

/// The wishes of power tasks at a price.
struct Wishes<'a> {
    powers: &'a Powers,
    log_price: f64,
}

impl WithSimd for Wishes<'_> {
    type Output = [f64; TOGETHER];

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> [f64; TOGETHER] {
        let mut wishes = [0.0; TOGETHER];
        let Powers { value, elasticity, base_level } = self.powers;
        let shapes = fours(elasticity).iter().zip(fours(base_level));
        for ((wish, value), (elasticity, base_level)) in
            fours_mut(&mut wishes).iter_mut().zip(fours(value)).zip(shapes)
        {
            let per_price = Four::load(simd, value).ln() - self.log_price;
            Four::load(simd, elasticity)
                .times_plus(per_price, Four::load(simd, base_level))
                .exp()
                .store(wish);
        }
        wishes
    }
}
