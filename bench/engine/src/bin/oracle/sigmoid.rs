//! S-shaped curves only, from ten to a hundred thousand, compared with one pass of exponentials
//! over as many numbers.

use std::hint::black_box;

use outlay::{Curve, Options, Oracle, Problem, ProblemSpec, Status, TaskSpec};

use outlay_bench_engine::clock::{CYCLE, Effort, time};
use outlay_bench_engine::instances::Random;
use outlay_bench_engine::limits::vector_exponentials;
use outlay_bench_engine::table::{Table, seconds, span};

/// The kinds of problem timed here.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Hill,
    Logistic,
    /// Half Hill, half logistic.
    Both,
    /// The first round of a learner: equal curves and values.
    Equal,
    /// Hill curves with lower and upper bounds and "nothing or at least".
    Bounded,
}

const CASES: [(&str, Kind, f64, &[usize]); 6] = [
    ("hill", Kind::Hill, 1e-9, &[10, 100, 1000, 10_000]),
    ("hill", Kind::Hill, 1e-6, &[100_000]),
    ("logistic", Kind::Logistic, 1e-9, &[10, 100, 1000, 10_000]),
    ("hill and logistic", Kind::Both, 1e-9, &[10, 100, 1000]),
    ("hill, equal", Kind::Equal, 1e-9, &[100, 1000]),
    ("hill, bounded", Kind::Bounded, 1e-9, &[10, 100, 1000]),
];

struct Measured {
    cold: f64,
    warm: f64,
    nodes: u64,
    gap: f64,
    is_limited: bool,
}

pub(crate) fn run(effort: Effort, seeds: u64, wants: impl Fn(&str) -> bool) {
    let mut table = Table::new(&[
        "curves",
        "K",
        "within",
        "cold",
        "warm",
        "nodes",
        "worst gap",
        "exp pass",
        "cold / exp pass",
        "",
    ]);
    for (name, kind, tolerance, sizes) in CASES {
        for &tasks in sizes.iter().filter(|tasks| wants(&format!("sigmoid {name} {tasks} "))) {
            let exponentials = vector_exponentials(tasks, effort);
            let seeds = if tasks > 1000 { seeds.min(2) } else { seeds };
            let ours: Vec<Measured> =
                (1..=seeds).map(|seed| measure(kind, tasks, seed, tolerance, effort)).collect();
            let limited = ours.iter().filter(|ours| ours.is_limited).count();
            table.row([
                name.to_owned(),
                tasks.to_string(),
                format!("{tolerance:.0e}"),
                span(
                    &ours.iter().map(|ours| ours.cold).collect::<Vec<f64>>(),
                    f64::total_cmp,
                    seconds,
                ),
                span(
                    &ours.iter().map(|ours| ours.warm).collect::<Vec<f64>>(),
                    f64::total_cmp,
                    seconds,
                ),
                span(
                    &ours.iter().map(|ours| ours.nodes).collect::<Vec<u64>>(),
                    u64::cmp,
                    |nodes| nodes.to_string(),
                ),
                format!("{:.0e}", ours.iter().map(|ours| ours.gap).fold(0.0, f64::max)),
                seconds(exponentials),
                span(
                    &ours.iter().map(|ours| ours.cold / exponentials).collect::<Vec<f64>>(),
                    f64::total_cmp,
                    |ratio| format!("{ratio:.0}"),
                ),
                if limited > 0 { format!("{limited} stopped at a limit") } else { String::new() },
            ]);
        }
    }
    table.print(&format!("S-curves ({seeds} instances each, 2 from K = 10,000 on, least .. most)"));
}

fn measure(kind: Kind, tasks: usize, seed: u64, tolerance: f64, effort: Effort) -> Measured {
    let mut random = Random::new(seed);
    let problem = problem(kind, tasks, &mut random);
    let values: Vec<f64> = (0..tasks)
        .map(|_| if matches!(kind, Kind::Equal) { 1.0 } else { random.between(0.05, 1.0) })
        .collect();
    let mut jitter = || values.iter().map(|value| value * random.between(0.995, 1.005)).collect();
    let moving: Vec<Vec<f64>> = (0..CYCLE).map(|_| jitter()).collect();
    let options = Options { tolerance, ..Options::default() };
    let mut oracle = Oracle::new(&problem);
    let cold = time(effort, || {
        oracle.reset();
        black_box(oracle.allocate(black_box(&values), 1.0, &options).unwrap());
    });
    let (nodes, gap, is_limited) =
        (oracle.last().nodes, oracle.last().gap(), oracle.last().status == Status::Limit);
    let mut round = 0;
    let warm = time(effort, || {
        round += 1;
        black_box(oracle.allocate(black_box(&moving[round % CYCLE]), 1.0, &options).unwrap());
    });
    Measured { cold, warm, nodes, gap, is_limited }
}

/// Budget one; about a fifth of the tasks are funded.
fn problem(kind: Kind, tasks: usize, random: &mut Random) -> Problem {
    let share = 1.0 / tasks as f64;
    let task = |task: usize| {
        let is_hill = matches!(kind, Kind::Hill | Kind::Bounded)
            || matches!(kind, Kind::Both) && task.is_multiple_of(2);
        let curve = if matches!(kind, Kind::Equal) {
            Curve::hill(share * 4.0, 2.5)
        } else if is_hill {
            Curve::hill(share * random.between(0.5, 8.0), random.between(1.5, 5.0))
        } else {
            let width = share * random.between(0.1, 1.0);
            Curve::logistic(width * random.between(1.0, 8.0), width)
        };
        let mut spec = TaskSpec::new(format!("t{task}"), curve.unwrap());
        if matches!(kind, Kind::Bounded) {
            match task % 4 {
                0 => spec.min = Some(share * random.between(0.0, 0.2)),
                1 => spec.max = Some(share * random.between(1.0, 6.0)),
                2 => spec.at_least = Some(share * random.between(0.0, 6.0)),
                _ => {}
            }
        }
        spec
    };
    ProblemSpec { tasks: (0..tasks).map(task).collect(), ..ProblemSpec::default() }.check().unwrap()
}
