//! Figures of the record: thresholds against rewards, both along the rows, and the problem's curves
//! against the recorded ones.

use outlay::replay::assumptions::{Drift, TaskAssumptions};
use outlay::replay::{CensoredRow, CountRow, OutcomeRow, TaskRecord, TaskRows};

use super::Replayed;
use super::findings::{dependence_words, dependent, drift_words, drifting};
use super::gains::dots;
use crate::page::{Figure, LineChart};
use crate::svg::{Axis, Colour, Entry, Scale, Stroke, Swatch, extent, segment};

/// Largest number of figures of one kind.
const MOST: usize = 4;
/// Amounts that differ by more than this factor need a logarithmic axis.
const WIDE: f64 = 30.0;
/// Largest number of dots.
const MAX_DOTS: usize = 1500;

pub(super) fn figures(replayed: &Replayed) -> Vec<Figure> {
    let mut figures = scatters(replayed);
    figures.extend(drifts(replayed));
    figures.extend(curves(replayed));
    figures
}

fn record_of<'a>(replayed: &'a Replayed, task: &TaskAssumptions) -> Option<&'a TaskRecord> {
    let position = replayed.assumptions.iter().position(|other| other.task == task.task)?;
    replayed.record.tasks().get(position)
}

/// An axis for amounts: linear from zero, or logarithmic for wide ranges.
fn amounts(numbers: impl Iterator<Item = f64>, title: &str) -> Axis {
    let (low, high) = extent(numbers).unwrap_or((0.0, 1.0));
    if low > 0.0 && high / low > WIDE {
        return Axis::new(
            Scale::logarithmic(low, high).padded(0.03),
            format!("{title} (logarithmic)"),
        );
    }
    // A narrow range far from zero does not include zero.
    let low = if low > 0.5 * high { low } else { low.min(0.0) };
    Axis::new(Scale::linear(low, high).padded(0.04), title)
}

/// Threshold (or spend) and reward of the rows that have both.
fn pairs(record: &TaskRecord) -> (Vec<(f64, f64)>, &'static str) {
    match record.rows() {
        TaskRows::Thresholds(rows) => {
            (rows.iter().map(|row| (row.threshold, row.reward)).collect(), "threshold")
        }
        TaskRows::Outcomes(rows) => {
            let done = rows.iter().filter(|row| row.success);
            (done.filter_map(|row| Some((row.spend, row.reward?))).collect(), "spend of a success")
        }
        TaskRows::Censored(rows) => {
            let done = rows.iter().filter(|row| !row.is_censored);
            (done.filter_map(|row| Some((row.threshold, row.reward?))).collect(), "threshold")
        }
        TaskRows::Counts(rows) => {
            let done = rows.iter().filter(|row| row.completions > 0);
            (done.map(|row| (row.spend, row.reward / row.completions as f64)).collect(), "spend")
        }
        _ => (Vec::new(), "spend"),
    }
}

/// At most [`MAX_DOTS`] evenly spaced items.
fn thinned<T: Copy>(numbers: &[T]) -> Vec<T> {
    let step = numbers.len().div_ceil(MAX_DOTS).max(1);
    numbers.iter().copied().step_by(step).collect()
}

fn scatters(replayed: &Replayed) -> Vec<Figure> {
    let found = dependent(&replayed.assumptions);
    let strongest = || {
        let tested =
            replayed.assumptions.iter().filter_map(|task| Some((task, task.dependence.as_ref()?)));
        tested.max_by(|(_, one), (_, other)| {
            one.rank_correlation.abs().total_cmp(&other.rank_correlation.abs())
        })
    };
    // Without significant dependence, show the strongest correlation.
    let shown = if found.is_empty() { strongest().into_iter().collect() } else { found };
    let figure = |(place, (task, found)): (
        usize,
        (&TaskAssumptions, &outlay::replay::assumptions::Dependence),
    )| {
        let record = record_of(replayed, task)?;
        let (pairs, price) = pairs(record);
        let across = amounts(pairs.iter().map(|pair| pair.0), price);
        let up = amounts(pairs.iter().map(|pair| pair.1), "reward");
        let mut lines = LineChart::new(&[], across, up);
        let layer = dots(lines.frame(), thinned(&pairs).into_iter(), Colour::Series(0));
        lines.draw(layer);
        let caption =
            format!("Each dot is a row; {}.", dependence_words(found, record.rows().are_trials()));
        let heading = format!("{}: {price} and reward", task.task);
        Some(Figure::half(
            heading,
            &format!("dependence-{}", place + 1),
            lines.picture("Thresholds and rewards"),
            caption,
        ))
    };
    shown.into_iter().take(MOST).enumerate().filter_map(figure).collect()
}

/// The rewards or thresholds with their rows, counted from 1. Unexplained failures and missing
/// completions cannot be shown in one column.
fn column(record: &TaskRecord, of_reward: bool) -> Option<(Vec<(f64, f64)>, &'static str)> {
    let numbered = |numbers: Vec<Option<f64>>| -> Vec<(f64, f64)> {
        let rows = numbers.into_iter().enumerate();
        rows.filter_map(|(row, number)| Some((row as f64 + 1.0, number?))).collect()
    };
    Some(match (record.rows(), of_reward) {
        (TaskRows::Thresholds(rows), true) => {
            (numbered(rows.iter().map(|row| Some(row.reward)).collect()), "reward")
        }
        (TaskRows::Thresholds(rows), false) => {
            (numbered(rows.iter().map(|row| Some(row.threshold)).collect()), "threshold")
        }
        (TaskRows::Censored(rows), of_reward) => {
            let exact = |row: &CensoredRow| {
                if of_reward { row.reward } else { Some(row.threshold) }
                    .filter(|_| !row.is_censored)
            };
            let what = if of_reward { "reward of a success" } else { "threshold" };
            (numbered(rows.iter().map(exact).collect()), what)
        }
        (TaskRows::Outcomes(rows), true) => {
            let done = |row: &OutcomeRow| row.reward.filter(|_| row.success);
            (numbered(rows.iter().map(done).collect()), "reward of a success")
        }
        (TaskRows::Counts(rows), true) => {
            let mean =
                |row: &CountRow| (row.completions > 0).then(|| row.reward / row.completions as f64);
            (numbered(rows.iter().map(mean).collect()), "mean reward")
        }
        _ => return None,
    })
}

fn drifts(replayed: &Replayed) -> Vec<Figure> {
    let figure = |(place, (task, of_reward, found)): (usize, (&TaskAssumptions, bool, &Drift))| {
        let record = record_of(replayed, task)?;
        let (numbers, what) = column(record, of_reward)?;
        let across =
            Axis::new(Scale::linear(0.0, task.rows as f64).padded(0.02), "row of the task").whole();
        let mut lines =
            LineChart::new(&[], across, amounts(numbers.iter().map(|pair| pair.1), what));
        let layer = dots(lines.frame(), thinned(&numbers).into_iter(), Colour::Series(0));
        lines.draw(layer);
        let after = found.after as f64 + 0.5;
        let means =
            [((0.0, after), found.before_mean), ((after, task.rows as f64), found.after_mean)];
        for ((from, to), mean) in means {
            let line = lines.frame().line(
                &[(from, mean), (to, mean)],
                Stroke::plain(Colour::Series(1), 2.4),
                "mean",
            );
            lines.draw(line);
        }
        let sentence =
            drift_words(if of_reward { "rewards" } else { "thresholds" }, task.rows, found);
        let caption =
            format!("Lines are the means before and after the largest change: {sentence}.");
        let heading = format!("{}: {what} along the rows", task.task);
        Some(Figure::half(
            heading,
            &format!("drift-{}", place + 1),
            lines.picture("Drift along the rows"),
            caption,
        ))
    };
    drifting(&replayed.assumptions).into_iter().enumerate().filter_map(figure).take(MOST).collect()
}

fn curves(replayed: &Replayed) -> Vec<Figure> {
    let mut order: Vec<usize> = (0..replayed.assumptions.len()).collect();
    let splits = &replayed.summary.splits;
    // Largest deviations first, then largest spends.
    let distance = |task: usize| {
        Some(replayed.assumptions[task].fit.distance)
            .filter(|distance| *distance > 1e-9)
            .unwrap_or(0.0)
    };
    let rank = |task: usize| (distance(task), splits.best.spend[task]);
    order.sort_by(|&one, &other| {
        let ((one, its_spend), (other, other_spend)) = (rank(one), rank(other));
        other.total_cmp(&one).then(other_spend.total_cmp(&its_spend))
    });
    order.into_iter().take(MOST).map(|task| curve(replayed, task)).collect()
}

fn curve(replayed: &Replayed, task: usize) -> Figure {
    const POINTS: usize = 400;
    let (record, found) = (&replayed.record.tasks()[task], &replayed.assumptions[task]);
    let curve = replayed.problem.tasks()[task].curve();
    let splits = &replayed.summary.splits;
    let recorded = record.successes();
    let has_counts = matches!(record.rows(), TaskRows::Counts(_));
    let name = if replayed.holdout.is_some() { "fitted curve" } else { "problem’s curve" };
    let ends = [splits.best.spend[task], splits.model.spend[task]];
    let (least, most) = extent(recorded.at().iter().copied().chain(ends)).unwrap_or((0.0, 1.0));
    let positive =
        recorded.at().iter().copied().filter(|at| *at > 0.0).fold(f64::INFINITY, f64::min);
    let wide = least >= 0.0 && positive.is_finite() && most / positive > WIDE;
    let scale = if wide {
        Scale::logarithmic(0.7 * positive, most.max(positive))
    } else {
        Scale::linear(0.0, most).padded(0.05)
    };
    let (low, high) = (scale.low, scale.high);
    let across = Axis::new(scale, if wide { "spend (logarithmic)" } else { "spend" });
    let strokes =
        [Stroke::series(0), Stroke { dash: "5 3", ..Stroke::plain(Colour::Series(1), 1.8) }];
    let entry = |name: &str, stroke| Entry {
        name: name.to_owned(),
        swatch: Swatch::Line(stroke),
        series: None,
    };
    let best = Stroke::plain(Colour::Ink, 1.4);
    let entries =
        [entry("recorded", strokes[0]), entry(name, strokes[1]), entry("best spend", best)];
    let volume = replayed.problem.tasks()[task].volume();
    let highest = recorded.heights().iter().copied().fold(volume * curve.success(high), f64::max);
    let up = if has_counts {
        Axis::new(Scale::linear(0.0, highest).padded(0.03), "completions per round")
    } else {
        Axis::new(Scale::linear(0.0, 1.0).padded(0.03), "success").percent()
    };
    let mut lines = LineChart::new(&entries, across, up);
    let between = |step: usize| {
        let share = step as f64 / POINTS as f64;
        if wide { low * (high / low).powf(share) } else { low + (high - low) * share }
    };
    let drawn = |success: &dyn Fn(f64) -> f64| {
        (0..=POINTS).map(between).map(|spend| (spend, success(spend))).collect::<Vec<_>>()
    };
    let plot = lines.frame().plot();
    if let Some(x) =
        lines.frame().x(splits.best.spend[task]).filter(|_| splits.best.spend[task] > 0.0)
    {
        lines.draw(segment((x, plot.top), (x, plot.top + plot.height), best));
    }
    let line = lines.frame().line(&drawn(&|spend| recorded.value(spend)), strokes[0], "recorded");
    lines.draw(line);
    let line =
        lines.frame().line(&drawn(&|spend| volume * curve.success(spend)), strokes[1], "curve");
    lines.draw(line);
    let heading = format!("{}: curve and record", found.task);
    let distance = match record.rows() {
        TaskRows::Outcomes(_) => format!(
            "observed and expected successes up to some spend differ by {:.2} of all rows",
            found.fit.distance
        ),
        TaskRows::Counts(_) => format!(
            "observed and expected completions up to some spend differ by {:.2} of all completions",
            found.fit.distance
        ),
        _ => format!("the largest distance is {:.2}", found.fit.distance),
    };
    let what = if has_counts { "Mean completions" } else { "Success rate" };
    let caption = format!("{what} of the rows at each spend, and the {name}; {distance}.");
    Figure::half(
        heading,
        &format!("curve-{}", task + 1),
        lines.picture("The problem’s curve and the record"),
        caption,
    )
}
