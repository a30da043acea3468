//! Steps, empirical curves and equal thresholds, compared with one sort of their slopes and one
//! pass over their jumps.

use std::hint::black_box;

use outlay::curve::Family;
use outlay::{Curve, Options, ProblemSpec, TaskSpec};

use crate::Runs;
use outlay_bench_engine::clock::{Effort, time};
use outlay_bench_engine::instances::{Instance, Kind, Random, instance};
use outlay_bench_engine::table::{Table, seconds, span};

/// The hard kinds, which the other tables do not use.
#[derive(Debug, Clone, Copy)]
enum Stairs {
    Of(Kind),
    /// One jump per task, worth 0.2 plus 0.8 times its cost; values differ by up to this share.
    Correlated(f64),
    /// The same three jumps for every task; values differ by up to this share.
    Equal(f64),
    /// Equal thresholds with equal values.
    Tied,
}

fn stairs(kind: Stairs, tasks: usize, seed: u64) -> Instance {
    if let Stairs::Of(kind) = kind {
        return instance(kind, tasks, seed);
    }
    let (mut random, share) = (Random::new(seed), 1.0 / tasks as f64);
    let three = [
        share * random.between(0.3, 1.0),
        share * random.between(1.5, 3.0),
        share * random.between(3.5, 6.0),
    ];
    let heights = [random.between(0.1, 0.3), random.between(0.4, 0.6), random.between(0.7, 1.0)];
    let curve = |random: &mut Random| match kind {
        Stairs::Correlated(_) => {
            let part = random.uniform();
            Curve::steps(vec![8.0 * share * part.max(1e-6)], vec![0.2 + 0.8 * part])
        }
        Stairs::Equal(_) => Curve::steps(three.to_vec(), heights.to_vec()),
        Stairs::Tied | Stairs::Of(_) => Curve::threshold(1.0 / (tasks / 20) as f64),
    };
    let specs = (0..tasks)
        .map(|task| TaskSpec::new(format!("t{task}"), curve(&mut random).unwrap()))
        .collect();
    let spread = match kind {
        Stairs::Correlated(spread) | Stairs::Equal(spread) => spread,
        Stairs::Tied | Stairs::Of(_) => 0.0,
    };
    let values = (0..tasks).map(|_| random.between(1.0 - spread, 1.0 + spread)).collect();
    Instance {
        problem: ProblemSpec { tasks: specs, ..ProblemSpec::default() }.check().unwrap(),
        values,
    }
}

/// Spend and success at every jump.
fn jumps(curve: &Curve) -> Vec<(f64, f64)> {
    let pairs =
        |at: &[f64], heights: &[f64]| at.iter().copied().zip(heights.iter().copied()).collect();
    match curve.family() {
        Family::Steps(steps) => pairs(steps.at(), steps.heights()),
        Family::Empirical(empirical) => pairs(empirical.at(), empirical.heights()),
        Family::Threshold(threshold) => vec![(threshold.at(), 1.0)],
        _ => Vec::new(),
    }
}

/// The slopes of all concave envelopes, times the values.
fn slopes(instance: &Instance) -> Vec<f64> {
    let mut slopes = Vec::new();
    for (task, value) in instance.problem.tasks().iter().zip(&instance.values) {
        let mut corners = vec![(0.0, 0.0)];
        let slope = |a: (f64, f64), b: (f64, f64)| (b.1 - a.1) / (b.0 - a.0);
        for corner in jumps(task.curve()) {
            while corners.len() > 1
                && slope(corners[corners.len() - 2], corners[corners.len() - 1])
                    <= slope(corners[corners.len() - 1], corner)
            {
                corners.pop();
            }
            corners.push(corner);
        }
        slopes.extend(corners.windows(2).map(|pair| value * slope(pair[0], pair[1])));
    }
    slopes
}

/// Seconds to sort the slopes, minus those to copy them.
fn sorting(slopes: &[f64], effort: Effort) -> f64 {
    let mut copy = slopes.to_vec();
    let copying = time(effort, || {
        copy.copy_from_slice(slopes);
        black_box(&mut copy);
    });
    let both = time(effort, || {
        copy.copy_from_slice(slopes);
        copy.sort_unstable_by(f64::total_cmp);
        black_box(&mut copy);
    });
    both - copying
}

/// Seconds to add up all jumps' spends, and how many there are.
fn passing(instance: &Instance, effort: Effort) -> (f64, usize) {
    let all: Vec<f64> = instance
        .problem
        .tasks()
        .iter()
        .flat_map(|task| jumps(task.curve()).into_iter().map(|jump| jump.0))
        .collect();
    let pass = time(effort, || {
        let (fours, rest) = all.as_chunks::<4>();
        let mut lanes = [0.0; 4];
        for four in fours {
            for lane in 0..4 {
                lanes[lane] += four[lane];
            }
        }
        black_box(lanes.iter().sum::<f64>() + rest.iter().sum::<f64>());
    });
    (pass, all.len())
}

impl Runs {
    pub(crate) fn staircases(&self) {
        let cases: [(&str, Stairs, &[usize], f64); 11] = [
            ("steps, 1-4 jumps", Stairs::Of(Kind::Steps), &[10, 100, 1000, 10_000], 0.0),
            (
                "steps, correlated, equal values, to 1e-6",
                Stairs::Correlated(0.0),
                &[100, 1000, 10_000],
                1e-6,
            ),
            (
                "steps, correlated, values +-0.1 %, to 1e-6",
                Stairs::Correlated(1e-3),
                &[100, 1000, 10_000],
                1e-6,
            ),
            (
                "steps, correlated, values +-5 %, to 1e-6",
                Stairs::Correlated(0.05),
                &[100, 1000],
                1e-6,
            ),
            ("steps, correlated, equal values, exact", Stairs::Correlated(0.0), &[100, 1000], 0.0),
            (
                "steps, empirical, 2000 samples",
                Stairs::Of(Kind::Empirical { samples: 2000 }),
                &[100],
                0.0,
            ),
            (
                "steps, empirical, 1000 samples",
                Stairs::Of(Kind::Empirical { samples: 1000 }),
                &[1000],
                0.0,
            ),
            (
                "steps, equal curves of 3 jumps, equal values",
                Stairs::Equal(0.0),
                &[1000, 10_000],
                0.0,
            ),
            (
                "steps, equal curves of 3 jumps, values +-0.1 %",
                Stairs::Equal(1e-3),
                &[1000, 10_000],
                0.0,
            ),
            ("steps, thresholds, fund K/20", Stairs::Of(Kind::Sets), &[10_000], 0.0),
            ("steps, thresholds, fund K/20, equal values", Stairs::Tied, &[10_000], 0.0),
        ];
        let head = [
            "staircases",
            "K",
            "cold",
            "warm",
            "cold / sort of slopes",
            "warm / sort",
            "cold / pass over jumps",
            "jumps",
            "states",
            "worst gap",
            "",
        ];
        let mut table = Table::new(&head);
        for (name, kind, sizes, tolerance) in
            cases.into_iter().filter(|(name, ..)| self.wants(name))
        {
            for &tasks in sizes {
                let options = if tolerance > 0.0 {
                    Options { tolerance, ..Options::default() }
                } else {
                    Options::default()
                };
                let rows: Vec<Row> = (1..=self.seeds)
                    .map(|seed| self.row(&stairs(kind, tasks, seed), seed, &options))
                    .collect();
                let ratio = |which: &dyn Fn(&Row) -> f64| {
                    span(&rows.iter().map(which).collect::<Vec<f64>>(), f64::total_cmp, |ratio| {
                        format!("{ratio:.1}")
                    })
                };
                let limited = rows.iter().filter(|row| row.limited).count();
                table.row([
                    name.to_owned(),
                    tasks.to_string(),
                    span(&rows, |a, b| a.cold.total_cmp(&b.cold), |row| seconds(row.cold)),
                    span(&rows, |a, b| a.warm.total_cmp(&b.warm), |row| seconds(row.warm)),
                    ratio(&|row| row.cold / row.sort),
                    ratio(&|row| row.warm / row.sort),
                    ratio(&|row| row.cold / row.pass),
                    span(&rows, |a, b| a.jumps.cmp(&b.jumps), |row| row.jumps.to_string()),
                    span(&rows, |a, b| a.states.cmp(&b.states), |row| row.states.to_string()),
                    format!("{:.0e}", rows.iter().map(|row| row.gap).fold(0.0, f64::max)),
                    if limited > 0 {
                        format!("{limited} of {} stopped at a limit", rows.len())
                    } else {
                        String::new()
                    },
                ]);
            }
        }
        table.print("Staircases, next to the machine's own sort and sum");
    }

    fn row(&self, instance: &Instance, seed: u64, options: &Options) -> Row {
        let measured = self.measure_with(instance, seed, options);
        let (pass, jumps) = passing(instance, self.effort);
        let sort = sorting(&slopes(instance), self.effort);
        let crate::Measured { cold, warm, states, gap, limited, .. } = measured;
        Row { cold, warm, sort, pass, jumps, states, gap, limited }
    }
}

/// The times of one instance and of the reference operations.
#[derive(Clone, Copy)]
struct Row {
    cold: f64,
    warm: f64,
    sort: f64,
    pass: f64,
    jumps: usize,
    states: u64,
    gap: f64,
    limited: bool,
}
