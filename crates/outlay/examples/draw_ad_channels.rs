//! Draws the picture of the README: each channel's curve, its current spend, and the best split.
//!
//! `cargo run --release --example draw_ad_channels > docs/figures/ad-channels.svg`

use std::fmt::Write;

use outlay::problem::NoFiles;
use outlay::{Options, Oracle, Problem, Task};

const WIDTH: f64 = 300.0;
const HEIGHT: f64 = 190.0;
const LEFT: f64 = 44.0;
const TOP: f64 = 34.0;
const PLOT_WIDTH: f64 = WIDTH - LEFT - 16.0;
const PLOT_HEIGHT: f64 = HEIGHT - TOP - 36.0;
/// The largest spend shown.
const MOST: f64 = 600.0;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let problem = Problem::from_toml(
        include_str!("../../../examples/ad-channels/ad-channels.toml"),
        &NoFiles,
    )?;
    let values = problem.values().ok_or("every channel needs a value")?;
    let best =
        Oracle::new(&problem).allocate(&values, problem.budget(), &Options::default())?.clone();
    let today: f64 = problem
        .tasks()
        .iter()
        .zip(&values)
        .map(|(task, value)| value * task.curve().success(task.current().unwrap_or(0.0)))
        .sum();
    let mut svg = String::new();
    let (width, height) = (3.0 * WIDTH, 2.0 * HEIGHT + 58.0);
    writeln!(
        svg,
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="Helvetica, Arial, sans-serif" font-size="12">"##
    )?;
    writeln!(svg, r##"<rect width="{width}" height="{height}" fill="#ffffff"/>"##)?;
    writeln!(
        svg,
        r##"<text x="16" y="26" font-size="16" font-weight="bold" fill="#222">1,000 per day over six channels: value {today:.2} today, {:.2} with the best split, upper bound {:.2}</text>"##,
        best.value, best.upper_bound
    )?;
    writeln!(
        svg,
        r##"<circle cx="22" cy="43" r="5" fill="#fff" stroke="#c0392b" stroke-width="2"/><text x="33" y="47" fill="#444">spent today</text>"##
    )?;
    writeln!(
        svg,
        r##"<circle cx="122" cy="43" r="5" fill="#1f6fb2"/><text x="133" y="47" fill="#444">best split</text><text x="{}" y="47" text-anchor="end" fill="#777">horizontal: spend per day · vertical: success probability</text>"##,
        width - 16.0
    )?;
    for (position, (task, &spend)) in problem.tasks().iter().zip(&best.spend).enumerate() {
        let (column, row) = ((position % 3) as f64, (position / 3) as f64);
        panel(&mut svg, task, spend, column * WIDTH, 58.0 + row * HEIGHT)?;
    }
    writeln!(svg, "</svg>")?;
    println!("{svg}");
    Ok(())
}

/// One channel: axes, curve, two points.
fn panel(svg: &mut String, task: &Task, best: f64, left: f64, top: f64) -> std::fmt::Result {
    let x = |spend: f64| LEFT + PLOT_WIDTH * spend / MOST;
    let y = |success: f64| TOP + PLOT_HEIGHT * (1.0 - success);
    writeln!(svg, r##"<g transform="translate({left} {top})">"##)?;
    writeln!(
        svg,
        r##"<text x="{LEFT}" y="20" font-weight="bold" fill="#222">{}</text>"##,
        task.name()
    )?;
    for success in [0.0, 0.5, 1.0] {
        let at = y(success);
        writeln!(
            svg,
            r##"<line x1="{LEFT}" x2="{}" y1="{at}" y2="{at}" stroke="#e3e3e3"/>"##,
            x(MOST)
        )?;
        writeln!(
            svg,
            r##"<text x="{}" y="{}" text-anchor="end" fill="#777">{:.0}%</text>"##,
            LEFT - 6.0,
            at + 4.0,
            100.0 * success
        )?;
    }
    for spend in [0.0, 200.0, 400.0, 600.0] {
        writeln!(
            svg,
            r##"<text x="{}" y="{}" text-anchor="middle" fill="#777">{spend}</text>"##,
            x(spend),
            y(0.0) + 17.0
        )?;
    }
    let points: Vec<String> = (0..=300)
        .map(|step| f64::from(step) * MOST / 300.0)
        .map(|spend| format!("{:.1},{:.1}", x(spend), y(task.curve().success(spend))))
        .collect();
    writeln!(
        svg,
        r##"<polyline points="{}" fill="none" stroke="#555" stroke-width="1.6"/>"##,
        points.join(" ")
    )?;
    let today = task.current().unwrap_or(0.0);
    writeln!(
        svg,
        r##"<circle cx="{:.1}" cy="{:.1}" r="5" fill="#fff" stroke="#c0392b" stroke-width="2"/>"##,
        x(today),
        y(task.curve().success(today))
    )?;
    writeln!(
        svg,
        r##"<circle cx="{:.1}" cy="{:.1}" r="5" fill="#1f6fb2"/>"##,
        x(best),
        y(task.curve().success(best))
    )?;
    writeln!(svg, "</g>")
}
