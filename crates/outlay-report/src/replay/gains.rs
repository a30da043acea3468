//! Figures of regret, gains and spends.

use outlay::replay::LearnerReplay;

use super::Replayed;
use crate::page::{Figure, HALF, LineChart, WHOLE, with_intervals};
use crate::selection::most_important;
use crate::svg::{
    Area, Axis, Colour, Element, Entry, Frame, Picture, Scale, Stroke, Swatch, dot, extent, legend,
    segment,
};

pub(super) fn figures(replayed: &Replayed) -> Vec<Figure> {
    vec![regret(replayed), gains(replayed), spends(replayed)]
}

fn regret(replayed: &Replayed) -> Figure {
    let learners = &replayed.summary.learners;
    let points = || learners.iter().flat_map(|learner| &learner.curve);
    let numbers = points().flat_map(|point| [point.mean, point.q10, point.q90]);
    let ends = points().flat_map(|point| [point.low95, point.high95]).flatten();
    let (low, high) = with_intervals(numbers, ends).unwrap_or((0.0, 0.0));
    let across =
        Axis::new(Scale::linear(0.0, replayed.summary.rounds.max(1) as f64), "rounds").whole();
    let up = Axis::new(Scale::linear(low.min(0.0), high.max(0.0)).padded(0.04), "regret (rewards)");
    let entry = |(position, learner): (usize, &LearnerReplay)| Entry {
        name: learner.learner.clone(),
        swatch: Swatch::Line(Stroke::series(position)),
        series: Some(position),
    };
    let mut lines =
        LineChart::new(&learners.iter().enumerate().map(entry).collect::<Vec<_>>(), across, up);
    for (position, learner) in learners.iter().enumerate() {
        let stroke = Stroke::series(position);
        if replayed.summary.replications > 1 {
            let wide: Vec<_> = learner
                .curve
                .iter()
                .map(|point| (point.round as f64, point.q10, point.q90))
                .collect();
            let band = lines.frame().band(&wide, stroke.colour, 0.15);
            lines.draw_for(position, band);
        }
        let means: Vec<_> =
            learner.curve.iter().map(|point| (point.round as f64, point.mean)).collect();
        let line = lines.frame().line(&means, stroke, &learner.learner);
        lines.draw_for(position, line);
    }
    let bands = if replayed.summary.replications > 1 {
        " Band: the middle 80 % of the replications."
    } else {
        ""
    };
    let caption = format!(
        "Regret against the best fixed split in hindsight; a learner whose line still rises at the end has not found it.{bands}"
    );
    Figure::half("Regret", "regret", lines.picture("Regret over rounds"), caption)
}

/// A row of the figure of gains.
struct Gain {
    name: String,
    gain: f64,
    interval: Option<(f64, f64)>,
    colour: Colour,
}

/// The name of a split, short enough for the figure.
fn short(name: &str) -> String {
    let name = name.replace('\'', "’").replace(", problem’s curves", "");
    name.replace(", recorded curves", " (recorded)").replace(", fitted curves", " (fitted)")
}

fn gains(replayed: &Replayed) -> Figure {
    let splits = &replayed.summary.splits;
    let fixed = replayed.fixed_splits();
    let fixed = fixed.into_iter().map(|(name, split, _)| Gain {
        name: short(name),
        gain: split.gain,
        interval: None,
        colour: Colour::Ink,
    });
    let learners = replayed.summary.learners.iter().enumerate().map(|(position, learner)| Gain {
        name: learner.learner.clone(),
        gain: learner.gain.mean,
        interval: learner.gain.low95.zip(learner.gain.high95),
        colour: Colour::Series(position),
    });
    let rows: Vec<Gain> = fixed.chain(learners).collect();
    const ROW: f64 = 30.0;
    let height = ROW * rows.len() as f64 + 45.0;
    // Dots, unlike bars, do not require an axis that starts at zero.
    let ends = rows.iter().filter_map(|row| row.interval).flat_map(|(low, high)| [low, high]);
    let (low, high) = with_intervals(rows.iter().map(|row| row.gain), ends).unwrap_or((0.0, 1.0));
    let across = Axis::new(Scale::linear(low, high).padded(0.04), "gain per round (rewards)");
    let names = Axis::rows(rows.iter().map(|row| row.name.clone()).collect());
    let frame = Frame::new(Area { left: 0.0, top: 0.0, width: HALF, height }, across, names);
    let mut content = vec![frame.axes()];
    let plot = frame.plot();
    if let Some(x) = frame.x(splits.best.gain) {
        content.push(segment(
            (x, plot.top),
            (x, plot.top + plot.height),
            Stroke { dash: "4 3", ..Stroke::plain(Colour::Muted, 1.2) },
        ));
    }
    for (place, row) in rows.iter().enumerate() {
        let Some(y) = frame.y(place as f64 + 0.5) else { continue };
        if let Some((low, high)) =
            row.interval.and_then(|(low, high)| frame.x(low).zip(frame.x(high)))
        {
            content.push(segment((low, y), (high, y), Stroke::plain(row.colour, 3.0)));
        }
        content.extend(frame.x(row.gain).map(|x| dot((x, y), 4.5, row.colour)));
    }
    let caption = "The dashed line is the largest gain of any fixed split. Its distance from the model’s best is the cost of the model’s \
                   assumptions; the distance from there to a learner is the cost of learning.";
    Figure::half(
        "Gain per round",
        "gain",
        Picture::new(HALF, height, "Gain per round of learners and fixed splits", content),
        caption,
    )
}

/// Spends of each split.
fn spends(replayed: &Replayed) -> Figure {
    let (summary, budget) = (&replayed.summary, replayed.problem.budget());
    let splits = &summary.splits;
    let second = match &replayed.holdout {
        Some(holdout) => ("plan from the first part", &holdout.plan.spend, Colour::Others),
        None => ("model’s best", &splits.model.spend, Colour::Others),
    };
    let fixed = [("best in hindsight", &splits.best.spend, Colour::Ink), second];
    let learners = summary.learners.iter().enumerate();
    let all: Vec<(&str, &[f64], Colour)> = fixed
        .into_iter()
        .map(|(name, spend, colour)| (name, spend.as_slice(), colour))
        .chain(learners.map(|(position, learner)| {
            (learner.learner.as_str(), learner.spend.as_slice(), Colour::Series(position))
        }))
        .collect();
    let (shown, hidden) = most_important(summary.tasks.len(), |task| {
        splits.best.spend[task].max(splits.model.spend[task])
    });
    let entries: Vec<Entry> = all
        .iter()
        .map(|(name, _, colour)| Entry {
            name: (*name).to_owned(),
            swatch: Swatch::Box(*colour),
            series: None,
        })
        .collect();
    let (key, top) = legend(&entries, 4.0, 0.0, WHOLE - 8.0);
    const ROW: f64 = 24.0;
    let height = ROW * shown.len() as f64 + 45.0;
    let most = extent(all.iter().flat_map(|(_, spend, _)| spend.iter().copied()))
        .map_or(budget, |(_, most)| most);
    let names = Axis::rows(shown.iter().map(|&task| summary.tasks[task].clone()).collect());
    // Keep dots at zero clear of the names.
    let across = Axis::new(Scale::linear(-0.012 * most, 1.03 * most), "spend per round");
    let frame = Frame::new(Area { left: 0.0, top, width: WHOLE, height }, across, names);
    let mut content = vec![key, frame.axes()];
    for (place, &task) in shown.iter().enumerate() {
        let Some(y) = frame.y(place as f64 + 0.5) else { continue };
        let places = all.iter().filter_map(|(_, spend, _)| frame.x(spend[task]));
        if let Some((low, high)) = extent(places) {
            content.push(segment((low, y), (high, y), Stroke::plain(Colour::Grid, 2.0)));
        }
        // The best split is larger, so that it is visible behind equal spends.
        for (position, (_, spend, colour)) in all.iter().enumerate() {
            let radius = if position == 0 { 6.5 } else { 4.0 };
            content.extend(frame.x(spend[task]).map(|x| dot((x, y), radius, *colour)));
        }
    }
    let hidden = if hidden > 0 {
        format!(" {hidden} tasks with smaller spends are not shown.")
    } else {
        String::new()
    };
    let caption = format!(
        "Mean spends of the learners over all rounds. The large dot is the best fixed split in hindsight.{hidden}"
    );
    Figure::wide(
        "Where the budget goes",
        "spend",
        Picture::new(WHOLE, top + height, "Spend per task", content),
        caption,
    )
}

/// A group of dots with a common colour.
pub(super) fn dots(
    frame: &Frame,
    points: impl Iterator<Item = (f64, f64)>,
    colour: Colour,
) -> Element {
    let circle = |(x, y): (f64, f64)| {
        Element::new("circle").number("cx", x).number("cy", y).number("r", 2.3)
    };
    Element::group()
        .fill(colour)
        .number("fill-opacity", 0.5)
        .children(points.filter_map(|(x, y)| frame.at(x, y)).map(circle))
}
