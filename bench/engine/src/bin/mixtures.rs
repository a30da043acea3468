//! Steps, tiers and mixtures with concave curves: how often the oracle proves optimality, the largest
//! gap, labels, nodes and the time of a call.
//!
//! `mixtures SEEDS K…`: the number of problems per family and budget, and the numbers of tasks.
#![allow(clippy::print_stdout, reason = "its output is its purpose")]

use std::error::Error;
use std::time::Instant;

use outlay::{Curve, Options, Oracle, Problem, ProblemSpec, Status, TaskSpec};
use outlay_bench_engine::instances::Random;
use outlay_bench_engine::table::{self, Table};

/// A family of problems.
#[derive(Debug, Clone, Copy)]
enum Family {
    /// Thresholds with value `cost + 100`.
    Strong,
    /// The same with one exponential task that is excluded.
    StrongExcluded,
    /// The same with one exponential task that is best left at zero.
    StrongAndExponential,
    /// The same with one exponential task that is best funded.
    StrongAndFunded,
    /// Two jumps per task, each worth its cost and 100.
    StrongSteps,
    /// Piecewise linear: flat, ramp, flat, ramp.
    Tiers,
    /// Exponential with `at_least = max`.
    Lots,
}

const FAMILIES: [(&str, Family); 7] = [
    ("strong", Family::Strong),
    ("strong_excl", Family::StrongExcluded),
    ("mix_thr_prop_1exp", Family::StrongAndExponential),
    ("mix_thr_prop_1funded", Family::StrongAndFunded),
    ("mix_steps_prop_1exp", Family::StrongSteps),
    ("pwtier_2", Family::Tiers),
    ("semi_full", Family::Lots),
];

/// Shares of the total cost that the budget covers.
const SHARES: [f64; 3] = [0.25, 0.5, 0.75];
/// Costs are whole numbers up to this.
const MAX_COST: f64 = 1000.0;

impl Family {
    fn problem(self, tasks: usize, share: f64, seed: u64) -> Result<Input, Box<dyn Error>> {
        let mut random = Random::new(seed);
        let (mut specs, mut values, mut total) = (Vec::new(), Vec::new(), 0.0);
        for task in 0..tasks - 1 {
            let cost = random.between(1.0, MAX_COST + 1.0).floor();
            total += cost;
            let (spec, value) = self.task(format!("t{task}"), cost, &mut random)?;
            specs.push(spec);
            values.push(value);
        }
        let smooth = match self {
            Self::StrongExcluded => Some((500.0, 1.0, true)),
            Self::StrongAndExponential | Self::StrongSteps => Some((100.0, 0.05, false)),
            Self::StrongAndFunded => Some((500.0, 1.0, false)),
            Self::Strong | Self::Tiers | Self::Lots => None,
        };
        if let Some((scale, value, exclude)) = smooth {
            let task = TaskSpec::new("smooth", Curve::exponential(scale)?);
            specs.push(TaskSpec { exclude, ..task });
            values.push(value);
        }
        let budget = (total * share).floor();
        let problem = ProblemSpec { budget, tasks: specs, ..ProblemSpec::default() }.check()?;
        Ok(Input { problem, values })
    }

    fn task(
        self,
        name: String,
        cost: f64,
        random: &mut Random,
    ) -> Result<(TaskSpec, f64), Box<dyn Error>> {
        let worth = |cost: f64| (cost + 100.0) / (MAX_COST + 200.0);
        Ok(match self {
            Self::StrongSteps => {
                let first = (0.4 * cost).ceil();
                let (low, high) = (worth(first), worth(cost + 100.0));
                let curve = Curve::steps(vec![first, cost + 1.0], vec![low / high, 1.0])?;
                (TaskSpec::new(name, curve), high)
            }
            Self::Tiers => {
                let ramp = cost * random.between(0.05, 0.2);
                let second = random.between(0.3, 0.7);
                let curve = Curve::piecewise(
                    vec![0.0, 0.5 * cost, 0.5 * cost + ramp, cost + ramp, cost + 2.0 * ramp],
                    vec![0.0, 0.0, second, second, 1.0],
                )?;
                (TaskSpec::new(name, curve), worth(cost) * random.between(0.9, 1.0))
            }
            Self::Lots => {
                let (lot, scale) = (Some(cost), random.between(100.0, 1000.0));
                let task = TaskSpec::new(name, Curve::exponential(scale)?);
                (TaskSpec { at_least: lot, max: lot, ..task }, random.between(0.1, 1.0))
            }
            _ => (TaskSpec::new(name, Curve::threshold(cost)?), worth(cost)),
        })
    }
}

struct Input {
    problem: Problem,
    values: Vec<f64>,
}

/// The results of one family with one number of tasks.
#[derive(Default)]
struct Results {
    problems: usize,
    optimal: usize,
    largest_gap: f64,
    most_labels: u64,
    most_nodes: u64,
    seconds: f64,
    longest: f64,
}

impl Results {
    fn add(&mut self, Input { problem, values }: &Input) -> Result<(), Box<dyn Error>> {
        let mut oracle = Oracle::new(problem);
        let begin = Instant::now();
        let found = oracle.allocate(values, problem.budget(), &Options::default())?;
        let seconds = begin.elapsed().as_secs_f64();
        self.problems += 1;
        self.optimal += usize::from(found.status == Status::Optimal);
        self.largest_gap = self.largest_gap.max(found.gap());
        self.most_labels = self.most_labels.max(found.labels);
        self.most_nodes = self.most_nodes.max(found.nodes);
        self.seconds += seconds;
        self.longest = self.longest.max(seconds);
        Ok(())
    }

    fn cells(&self, name: &str, tasks: usize) -> [String; 8] {
        [
            name.to_owned(),
            tasks.to_string(),
            format!("{} of {}", self.optimal, self.problems),
            format!("{:.1e}", self.largest_gap),
            self.most_labels.to_string(),
            self.most_nodes.to_string(),
            table::seconds(self.seconds / self.problems as f64),
            table::seconds(self.longest),
        ]
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let seeds: u64 = arguments.next().ok_or("usage: mixtures SEEDS K…")?.parse()?;
    let sizes: Vec<usize> = arguments.map(|size| size.parse()).collect::<Result<_, _>>()?;
    let mut table = Table::new(&[
        "family",
        "K",
        "optimal",
        "largest gap",
        "most labels",
        "most nodes",
        "mean time",
        "longest",
    ]);
    for (name, family) in FAMILIES {
        for &tasks in &sizes {
            let mut results = Results::default();
            for (seed, share) in (0..seeds).flat_map(|seed| SHARES.map(|share| (seed, share))) {
                results.add(&family.problem(tasks, share, seed)?)?;
            }
            table.row(results.cells(name, tasks));
        }
    }
    table.print("Steps, tiers and mixtures");
    Ok(())
}
