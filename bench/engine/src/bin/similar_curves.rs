//! Similar S-curves: how often the oracle proves optimality, the largest gap, and the time of a call
//! relative to the first relaxation alone.
//!
//! `similar_curves SEEDS K…`: the number of problems per family and budget, and the numbers of tasks.
#![allow(clippy::print_stdout, reason = "its output is its purpose")]

use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

use outlay::{Curve, Options, Oracle, Problem, ProblemSpec, Status, TaskSpec};
use outlay_bench_engine::instances::Random;
use outlay_bench_engine::table::{self, Table};

/// A family of similar curves.
struct Family {
    name: String,
    is_hill: bool,
    /// Steepness, or `mid / width`.
    shape: f64,
    /// The relative spread of the middles and of the values.
    spread: f64,
    /// All tasks have the same shape and value.
    is_fixed: bool,
}

/// Shares of the tasks that the budget funds.
const SHARES: [f64; 5] = [0.1, 0.3, 0.5, 0.7, 0.9];
/// Relative spread of the shapes.
const SHAPE_SPREAD: f64 = 0.1;

fn families() -> Vec<Family> {
    let mut families = Vec::new();
    for (prefix, is_hill, is_fixed, shapes) in [
        ("hvert", true, false, [2, 3, 4, 8, 20]),
        ("hvfix", true, true, [2, 3, 4, 8, 20]),
        ("lvert", false, false, [3, 4, 5, 8, 20]),
    ] {
        for (shape, percent) in
            shapes.into_iter().flat_map(|shape| [0, 1, 2, 5, 10, 20].map(|spread| (shape, spread)))
        {
            families.push(Family {
                name: format!("{prefix}_{shape}_{percent}"),
                is_hill,
                shape: f64::from(shape),
                spread: f64::from(percent) / 100.0,
                is_fixed,
            });
        }
    }
    families
}

impl Family {
    /// A problem whose budget funds about the share of the tasks.
    fn problem(
        &self,
        tasks: usize,
        share: f64,
        seed: u64,
    ) -> Result<(Problem, Vec<f64>), Box<dyn Error>> {
        let mut random = Random::new(seed);
        let mut around = |middle: f64, spread: f64| {
            middle * if spread > 0.0 { random.between(1.0 - spread, 1.0 + spread) } else { 1.0 }
        };
        let (shape_spread, value_spread) =
            if self.is_fixed { (0.0, 0.0) } else { (SHAPE_SPREAD, self.spread) };
        let (mut specs, mut values) = (Vec::new(), Vec::new());
        for task in 0..tasks {
            let (middle, shape) = (around(200.0, self.spread), around(self.shape, shape_spread));
            let curve = if self.is_hill {
                Curve::hill(middle, shape)?
            } else {
                Curve::logistic(middle, middle / shape)?
            };
            specs.push(TaskSpec::new(format!("t{task}"), curve));
            values.push(around(0.5, value_spread));
        }
        // A funded task takes about 1.3 times its middle.
        let budget = 260.0 * tasks as f64 * share * around(1.0, 0.1);
        let problem = ProblemSpec { budget, tasks: specs, ..ProblemSpec::default() }.check()?;
        Ok((problem, values))
    }
}

/// The results of one family with one number of tasks.
#[derive(Default)]
struct Results {
    problems: usize,
    optimal: usize,
    within_tolerance: usize,
    largest_gap: f64,
    most_nodes: u64,
    seconds: f64,
    relaxation_seconds: f64,
}

impl Results {
    fn add(&mut self, problem: &Problem, values: &[f64]) -> Result<(), Box<dyn Error>> {
        let mut oracle = Oracle::new(problem);
        // The first call also fills the buffers.
        let relaxation = Options { max_nodes: 1, ..Options::default() };
        for is_measured in [false, true] {
            oracle.reset();
            let begin = Instant::now();
            let _ = black_box(oracle.allocate(values, problem.budget(), &relaxation))?;
            if is_measured {
                self.relaxation_seconds += begin.elapsed().as_secs_f64();
            }
        }
        oracle.reset();
        let begin = Instant::now();
        let found = oracle.allocate(values, problem.budget(), &Options::default())?;
        self.seconds += begin.elapsed().as_secs_f64();
        self.problems += 1;
        self.optimal += usize::from(found.status == Status::Optimal);
        self.within_tolerance += usize::from(found.status != Status::Limit);
        self.largest_gap = self.largest_gap.max(found.gap());
        self.most_nodes = self.most_nodes.max(found.nodes);
        Ok(())
    }

    fn cells(&self, family: &Family, tasks: usize) -> [String; 8] {
        let percent =
            |count: usize| format!("{:.0} %", 100.0 * count as f64 / self.problems as f64);
        [
            family.name.clone(),
            tasks.to_string(),
            percent(self.optimal),
            percent(self.within_tolerance),
            format!("{:.1e}", self.largest_gap),
            self.most_nodes.to_string(),
            table::seconds(self.seconds / self.problems as f64),
            format!("{:.0}", self.seconds / self.relaxation_seconds),
        ]
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let seeds: u64 = arguments.next().ok_or("usage: similar_curves SEEDS K…")?.parse()?;
    let sizes: Vec<usize> = arguments.map(|size| size.parse()).collect::<Result<_, _>>()?;
    let mut table = Table::new(&[
        "family",
        "K",
        "optimal",
        "within 1e-9",
        "largest gap",
        "most nodes",
        "mean time",
        "times relaxation",
    ]);
    for family in families() {
        for &tasks in &sizes {
            let mut results = Results::default();
            for (seed, share) in (0..seeds).flat_map(|seed| SHARES.map(|share| (seed, share))) {
                let (problem, values) = family.problem(tasks, share, seed)?;
                results.add(&problem, &values)?;
            }
            table.row(results.cells(&family, tasks));
        }
    }
    table.print("Similar S-curves");
    Ok(())
}
