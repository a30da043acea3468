//! The random instances: budget one, so that a fair share is `1 / tasks`.

use outlay::{Curve, Problem, ProblemSpec, TaskSpec};

/// splitmix64: the instances must not depend on a crate's stream.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678_9abc_def0)
    }

    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.uniform()
    }
}

/// The kinds of problem that are timed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// Power curves alone.
    Power,
    /// Power, exponential and saturating curves, a third each.
    Concave,
    /// Exponential curves alone.
    Exponential,
    /// Hill curves with steepness 0.3 to 0.95.
    ConcaveHill,
    /// Hill curves with steepness one.
    Hyperbolic,
    /// Logistic curves with their middle at zero.
    ConcaveLogistic,
    /// Hill curves with steepness 1.5 to 5; about a fifth of them are funded.
    Hill,
    /// One to four jumps per task.
    Steps,
    /// This many jumps per task.
    Stairs { jumps: usize },
    /// Empirical distributions with this many samples per task.
    Empirical { samples: usize },
    /// One jump per task at `1 / (tasks / 20)` of the budget, which funds exactly `tasks / 20`
    /// tasks.
    Sets,
    /// Equal Hill curves with equal values: the first round of a learner.
    EqualHill,
    /// Every family in turn.
    Mixed,
}

pub struct Instance {
    pub problem: Problem,
    pub values: Vec<f64>,
}

pub fn instance(kind: Kind, tasks: usize, seed: u64) -> Instance {
    let mut random = Random::new(seed);
    let curves = (0..tasks).map(|task| curve(kind, task, tasks, &mut random));
    let specs =
        curves.enumerate().map(|(task, curve)| TaskSpec::new(format!("t{task}"), curve)).collect();
    let values = (0..tasks)
        .map(|_| if kind == Kind::EqualHill { 1.0 } else { random.between(0.05, 1.0) })
        .collect();
    let problem = ProblemSpec { tasks: specs, ..ProblemSpec::default() }.check().unwrap();
    Instance { problem, values }
}

fn curve(kind: Kind, task: usize, tasks: usize, random: &mut Random) -> Curve {
    let share = 1.0 / tasks as f64;
    match kind {
        Kind::Power => Curve::power(random.between(0.2, 0.9), random.between(0.5, 4.0)),
        Kind::Concave => match task % 3 {
            0 => Ok(self::curve(Kind::Power, task, tasks, random)),
            1 => Ok(self::curve(Kind::Exponential, task, tasks, random)),
            _ => Curve::saturating(share * random.between(0.3, 5.0)),
        },
        Kind::Exponential => Curve::exponential(share * random.between(0.3, 5.0)),
        Kind::ConcaveHill => {
            Curve::hill(share * random.between(0.3, 5.0), random.between(0.3, 0.95))
        }
        Kind::Hyperbolic => Curve::hill(share * random.between(0.3, 5.0), 1.0),
        Kind::ConcaveLogistic => Curve::logistic(0.0, share * random.between(0.3, 5.0)),
        Kind::Hill => Curve::hill(share * random.between(0.5, 8.0), random.between(1.5, 5.0)),
        Kind::Steps => steps(share, 1 + (4.0 * random.uniform()) as usize, random),
        Kind::Stairs { jumps } => steps(share, jumps, random),
        Kind::Empirical { samples } => {
            let (low, high) = (share * random.between(0.1, 2.0), share * random.between(3.0, 10.0));
            // Skewed to the low side, as prices and response times are.
            Curve::empirical(
                (0..samples)
                    .map(|_| low + (high - low) * random.uniform() * random.uniform())
                    .collect(),
            )
        }
        Kind::Sets => Curve::threshold(1.0 / (tasks / 20) as f64),
        Kind::EqualHill => Curve::hill(share * 4.0, 2.5),
        Kind::Mixed => match task % 8 {
            0..=2 => Ok(self::curve(Kind::Concave, task % 8, tasks, random)),
            3 => Ok(self::curve(Kind::Hill, task, tasks, random)),
            4 => {
                let width = share * random.between(0.1, 1.0);
                Curve::logistic(width * random.between(1.0, 8.0), width)
            }
            5 => Ok(self::curve(Kind::Steps, task, tasks, random)),
            6 => {
                let (mut spend, mut success) =
                    points(share, 1 + (4.0 * random.uniform()) as usize, random);
                spend.insert(0, 0.0);
                success.insert(0, 0.0);
                Curve::piecewise(spend, success)
            }
            _ => Curve::empirical((0..20).map(|_| share * random.between(0.1, 6.0)).collect()),
        },
    }
    .unwrap()
}

fn steps(
    share: f64,
    jumps: usize,
    random: &mut Random,
) -> Result<Curve, outlay::curve::CurveError> {
    let (at, success) = points(share, jumps, random);
    Curve::steps(at, success)
}

fn points(share: f64, jumps: usize, random: &mut Random) -> (Vec<f64>, Vec<f64>) {
    let mut spend: Vec<f64> = (0..jumps).map(|_| share * random.between(0.1, 8.0)).collect();
    let mut success: Vec<f64> = (0..jumps).map(|_| random.uniform()).collect();
    spend.sort_by(f64::total_cmp);
    success.sort_by(f64::total_cmp);
    (spend, success)
}
