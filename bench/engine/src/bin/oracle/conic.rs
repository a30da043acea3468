//! The concave problems for Clarabel, with the cones that its manual recommends.

use clarabel::algebra::CscMatrix;
use clarabel::solver::{DefaultSettings, DefaultSolver, IPSolver, SolverStatus, SupportedConeT};
use outlay::curve::Family;

use outlay_bench_engine::clock::{Effort, time};
use outlay_bench_engine::instances::Instance;

pub(crate) struct Solved {
    /// CPU seconds in `solve`; building the model and its first factorisation are not counted.
    pub seconds: f64,
    /// The value of the returned split by the curves, after scaling it to the budget.
    pub value: f64,
    pub iterations: u32,
    pub status: SolverStatus,
}

/// The faster of two solves: spends counted in shares of the whole, and in fair shares. Neither
/// unit is better at every size.
pub(crate) fn solve(instance: &Instance, effort: Effort) -> Solved {
    let (shares, fair) =
        (solve_in(instance, 1.0, effort), solve_in(instance, instance.values.len() as f64, effort));
    if shares.seconds < fair.seconds { shares } else { fair }
}

/// `max value' t` over spends `x` and successes `t`, each pair below its curve; `whole` is the
/// budget in the unit of the spends.
fn solve_in(instance: &Instance, whole: f64, effort: Effort) -> Solved {
    let tasks = instance.values.len();
    let mut model = Rows::new(2 * tasks);
    for task in 0..tasks {
        model.columns[task].push((0, 1.0));
    }
    model.row(whole);
    model.cones.push(SupportedConeT::ZeroConeT(1));
    let curves: Vec<&Family> =
        instance.problem.tasks().iter().map(|task| task.curve().family()).collect();
    let first = model.bounds.len();
    for (task, curve) in curves.iter().enumerate() {
        match curve {
            Family::Power(power) if power.scale() < 1.0 => {
                model.entries(power.scale() * whole, &[(task, 1.0)])
            }
            Family::Exponential(_) => model.entries(0.0, &[(task, -1.0)]),
            Family::Saturating(saturating) => {
                model.entries(0.0, &[(task, -1.0)]);
                model.entries(1.0, &[(tasks + task, 1.0)]);
                model.entries(
                    0.0,
                    &[(task, -1.0 / (saturating.full_at() * whole)), (tasks + task, 1.0)],
                );
            }
            _ => {}
        }
    }
    model.cones.push(SupportedConeT::NonnegativeConeT(model.bounds.len() - first));
    for (task, curve) in curves.iter().enumerate() {
        match curve {
            Family::Power(power) => {
                model.entries(0.0, &[(task, -1.0 / (power.scale() * whole))]);
                model.entries(1.0, &[]);
                model.entries(0.0, &[(tasks + task, -1.0)]);
                model.cones.push(SupportedConeT::PowerConeT(power.exponent()));
            }
            Family::Exponential(exponential) => {
                model.entries(0.0, &[(task, 1.0 / (exponential.scale() * whole))]);
                model.entries(1.0, &[]);
                model.entries(1.0, &[(tasks + task, 1.0)]);
                model.cones.push(SupportedConeT::ExponentialConeT());
            }
            _ => {}
        }
    }
    let objective: Vec<f64> =
        std::iter::repeat_n(0.0, tasks).chain(instance.values.iter().map(|value| -value)).collect();
    let settings = DefaultSettings { verbose: false, max_threads: 1, ..DefaultSettings::default() };
    let quadratic = CscMatrix::zeros((2 * tasks, 2 * tasks));
    let mut solver = DefaultSolver::new(
        &quadratic,
        &objective,
        &model.matrix(),
        &model.bounds,
        &model.cones,
        settings,
    )
    .unwrap();
    let seconds = time(effort, || solver.solve());
    let spend: Vec<f64> = solver.solution.x[..tasks].iter().map(|spend| spend.max(0.0)).collect();
    let total: f64 = spend.iter().sum();
    let worth = |(task, spend): (usize, &f64)| {
        instance.values[task] * instance.problem.tasks()[task].curve().success(spend / total)
    };
    Solved {
        seconds,
        value: spend.iter().enumerate().map(worth).sum(),
        iterations: solver.solution.iterations,
        status: solver.solution.status,
    }
}

/// A sparse matrix being written row by row.
struct Rows {
    columns: Vec<Vec<(usize, f64)>>,
    bounds: Vec<f64>,
    cones: Vec<SupportedConeT<f64>>,
}

impl Rows {
    fn new(columns: usize) -> Self {
        Self { columns: vec![Vec::new(); columns], bounds: Vec::new(), cones: Vec::new() }
    }

    fn row(&mut self, bound: f64) {
        self.bounds.push(bound);
    }

    fn entries(&mut self, bound: f64, entries: &[(usize, f64)]) {
        for &(column, entry) in entries {
            self.columns[column].push((self.bounds.len(), entry));
        }
        self.row(bound);
    }

    fn matrix(&self) -> CscMatrix<f64> {
        let mut starts = vec![0];
        for column in &self.columns {
            starts.push(starts[starts.len() - 1] + column.len());
        }
        let (places, entries) = self.columns.iter().flatten().copied().unzip();
        CscMatrix::new(self.bounds.len(), self.columns.len(), starts, places, entries)
    }
}
