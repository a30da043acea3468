//! Optima by exhaustive search.

use outlay::{Curve, Problem};

/// The best value on a grid of the budget, by the (max,+) product over tasks: a lower bound on the
/// optimum.
pub(crate) fn grid_optimum(problem: &Problem, values: &[f64], budget: f64, cells: usize) -> f64 {
    let mut best = vec![0.0f64; cells + 1];
    for (position, (task, value)) in problem.tasks().iter().zip(values).enumerate() {
        let bounds = task.bounds();
        let worth: Vec<f64> = (0..=cells)
            .map(|cell| {
                let spend = budget * cell as f64 / cells as f64;
                let allowed = spend >= bounds.min
                    && spend <= bounds.max
                    && (spend == 0.0 || spend >= bounds.at_least);
                if allowed { value * task.curve().success(spend) } else { f64::NEG_INFINITY }
            })
            .collect();
        let mut next = vec![f64::NEG_INFINITY; cells + 1];
        for (total, slot) in next.iter_mut().enumerate() {
            for mine in 0..=total {
                let rest = if position == 0 {
                    if total == mine { 0.0 } else { f64::NEG_INFINITY }
                } else {
                    best[total - mine]
                };
                *slot = slot.max(worth[mine] + rest);
            }
        }
        best = next;
    }
    best.into_iter().fold(f64::NEG_INFINITY, f64::max)
}

/// The exact optimum of a problem of steps, by enumerating all combinations of jumps.
pub(crate) fn steps_optimum(curves: &[Curve], values: &[f64], budget: f64) -> f64 {
    fn go(curves: &[Curve], values: &[f64], left: f64, slack: f64) -> f64 {
        let Some((curve, rest)) = curves.split_first() else { return 0.0 };
        let jumps: Vec<f64> = match curve.family() {
            outlay::curve::Family::Steps(steps) => steps.at().to_vec(),
            outlay::curve::Family::Empirical(empirical) => empirical.at().to_vec(),
            outlay::curve::Family::Threshold(threshold) => vec![threshold.at()],
            _ => panic!("steps only"),
        };
        let spends = std::iter::once(0.0).chain(jumps).filter(|&spend| spend <= left + slack);
        spends
            .map(|spend| {
                values[0] * curve.success(spend) + go(rest, &values[1..], left - spend, slack)
            })
            .fold(f64::NEG_INFINITY, f64::max)
    }
    go(curves, values, budget, 1e-13 * budget)
}

/// The spends of a curve that an optimum is likely to use: its jumps, corners and steepest point.
fn candidate_spends(curve: &Curve) -> Vec<f64> {
    use outlay::curve::{Family, Shape};
    match curve.family() {
        Family::Threshold(threshold) => vec![threshold.at()],
        Family::Steps(steps) => steps.at().to_vec(),
        Family::Empirical(empirical) => empirical.at().to_vec(),
        Family::Piecewise(piecewise) => piecewise.spend().to_vec(),
        _ => match curve.shape() {
            Shape::SShaped { inflection } => {
                vec![inflection, 1.5 * inflection, 2.0 * inflection, curve.saturates_at()]
            }
            _ => vec![curve.saturates_at()],
        },
    }
}

/// The best value over all combinations of candidate spends (jumps, vertices, bounds, `cells` equal
/// parts of the budget) in which one task takes the residual; `None` if no combination is feasible.
/// It is a lower bound on the optimum, and the optimum itself for step and piecewise linear curves:
/// a vertex solution has at most one task off its breakpoints.
pub(crate) fn candidate_optimum(
    problem: &Problem,
    values: &[f64],
    budget: f64,
    cells: usize,
) -> Option<f64> {
    let slack = 2.0 * f64::EPSILON * budget;
    let allowed = |task: usize, spend: f64| {
        let bounds = problem.tasks()[task].bounds();
        spend >= bounds.min && spend <= bounds.max && (spend == 0.0 || spend >= bounds.at_least)
    };
    let worth =
        |task: usize, spend: f64| values[task] * problem.tasks()[task].curve().success(spend);
    let options: Vec<Vec<(f64, f64)>> = (0..problem.tasks().len())
        .map(|task| {
            let bounds = problem.tasks()[task].bounds();
            let mut spends = candidate_spends(problem.tasks()[task].curve());
            spends.extend([0.0, bounds.min, bounds.max, bounds.at_least]);
            spends.extend(
                (1..=cells).map(|cell| (budget * (cell as f64 / cells as f64)).min(budget)),
            );
            spends.retain(|&spend| spend <= budget + slack && allowed(task, spend));
            spends.sort_by(f64::total_cmp);
            spends.dedup();
            spends.into_iter().map(|spend| (spend, worth(task, spend))).collect()
        })
        .collect();
    let filled = |filler: Option<usize>, left: f64| match filler {
        None => 0.0,
        Some(task) => {
            let bounds = problem.tasks()[task].bounds();
            // A residual of rounding size is not assigned: some curves have infinite slope at zero.
            let spend = if left > 4.0 * slack { (left - slack).min(bounds.max) } else { 0.0 };
            let spend =
                if spend < bounds.min && spend >= bounds.min - slack { bounds.min } else { spend };
            let spend = if spend < bounds.at_least && bounds.min == 0.0 { 0.0 } else { spend };
            if allowed(task, spend) { worth(task, spend) } else { f64::NEG_INFINITY }
        }
    };
    fn go(
        options: &[Vec<(f64, f64)>],
        task: usize,
        filler: Option<usize>,
        left: f64,
        slack: f64,
        filled: &dyn Fn(f64) -> f64,
    ) -> f64 {
        if task == options.len() {
            return filled(left);
        }
        if filler == Some(task) {
            return go(options, task + 1, filler, left, slack, filled);
        }
        options[task]
            .iter()
            .take_while(|option| option.0 <= left + slack)
            .map(|option| option.1 + go(options, task + 1, filler, left - option.0, slack, filled))
            .fold(f64::NEG_INFINITY, f64::max)
    }
    let fillers = std::iter::once(None).chain((0..options.len()).map(Some));
    let best = fillers
        .map(|filler| go(&options, 0, filler, budget, slack, &|left| filled(filler, left)))
        .fold(f64::NEG_INFINITY, f64::max);
    (best > f64::NEG_INFINITY).then_some(best)
}
