//! Completions of each task by learner.

use outlay::feedback::Feedback;
use outlay::simulation::Summary;

use crate::number::figure as digits;
use crate::page::{Figure, WHOLE};
use crate::svg::{Area, Axis, Element, Entry, Frame, Picture, Scale, Swatch, legend, rectangle};

use super::series::LearnerSeries;

const HEADING: &str = "Completions per task";
const MAX_TASKS: usize = 20;

pub(super) fn figure(summary: &Summary, learners: &[LearnerSeries<'_>]) -> Figure {
    let means: Vec<Vec<f64>> =
        learners.iter().map(|learner| means(learner, summary.tasks.len())).collect();
    let most = means.iter().flatten().copied().fold(0.0, f64::max);
    if !(most > 0.0) {
        return Figure::missing(HEADING, "No task ever completed.");
    }
    let tasks = tasks(&means, summary.tasks.len());
    let entry = |learner: &LearnerSeries<'_>| Entry {
        swatch: Swatch::Box(learner.stroke().colour),
        ..learner.entry()
    };
    let (legend, top) =
        legend(&learners.iter().map(entry).collect::<Vec<_>>(), 4.0, 0.0, WHOLE - 8.0);
    let bar = (22.0 / learners.len() as f64).clamp(4.0, 11.0);
    let row = bar * learners.len() as f64 + 10.0;
    let height = row * tasks.len() as f64 + 45.0;
    let names = tasks.iter().map(|&task| summary.tasks[task].clone()).collect();
    let across =
        Axis::new(Scale::linear(0.0, most).padded(0.02), "completions (mean over replications)");
    let frame =
        Frame::new(Area { left: 0.0, top, width: WHOLE, height }, across, Axis::rows(names));
    let mut bars = Element::group();
    for (place, (learner, means)) in learners.iter().zip(&means).enumerate() {
        let mut group = Element::group().attribute("data-learner", learner.position.to_string());
        for (row, &task) in tasks.iter().enumerate() {
            group = group.children(drawn(
                &frame,
                row,
                (place, bar),
                means[task],
                learner,
                &summary.tasks[task],
            ));
        }
        bars = bars.child(group);
    }
    let picture = Picture::new(WHOLE, top + height, HEADING, vec![legend, frame.axes(), bars]);
    Figure::wide(
        HEADING,
        "completions",
        picture,
        caption(learners, summary.tasks.len(), tasks.len()),
    )
}

/// The bar of one learner in the row of one task.
fn drawn(
    frame: &Frame,
    row: usize,
    (place, bar): (usize, f64),
    mean: f64,
    learner: &LearnerSeries<'_>,
    task: &str,
) -> Option<Element> {
    let plot = frame.plot();
    let top = frame.y(row as f64)? + 5.0 + place as f64 * bar;
    let area = Area { left: plot.left, top, width: frame.x(mean)? - plot.left, height: bar - 1.0 };
    let said = format!("{} · {task}: {}", learner.name, digits(mean));
    let rectangle = rectangle(area, learner.stroke().colour);
    Some(Element::group().child(Element::new("title").text(&said)).child(rectangle))
}

fn means(learner: &LearnerSeries<'_>, tasks: usize) -> Vec<f64> {
    let replications = &learner.result.replications;
    let of_task = |task: usize| {
        replications
            .iter()
            .filter_map(move |replication| replication.completions.get(task))
            .map(|&count| count as f64)
    };
    (0..tasks).map(|task| of_task(task).sum::<f64>() / replications.len().max(1) as f64).collect()
}

/// The tasks with most completions, in the problem's order.
fn tasks(means: &[Vec<f64>], count: usize) -> Vec<usize> {
    let total = |task: usize| means.iter().map(|means| means[task]).sum::<f64>();
    let mut tasks: Vec<usize> = (0..count).collect();
    tasks.sort_by(|&one, &other| total(other).total_cmp(&total(one)));
    tasks.truncate(MAX_TASKS);
    tasks.sort_unstable();
    tasks
}

fn caption(learners: &[LearnerSeries<'_>], all: usize, shown: usize) -> String {
    let part = if shown < all {
        format!(" The {shown} tasks with most completions, of {all}.")
    } else {
        String::new()
    };
    let full = learners.iter().any(|learner| learner.result.feedback == Feedback::Full);
    let full = if full { " Under full feedback every round counts." } else { "" };
    format!("A longer bar means that the learner observed more rewards of the task.{part}{full}")
}
