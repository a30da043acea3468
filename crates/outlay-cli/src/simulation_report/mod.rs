//! The report of a run as one page.

use outlay::experiment::Summary;

/// A page and the pictures that belong to it.
pub(crate) struct Page {
    pub(crate) html: String,
    /// File names and SVG texts.
    pub(crate) pictures: Vec<(String, String)>,
}

pub(crate) fn page(title: &str, command: &str, summaries: &[Summary]) -> Page {
    let escape = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;");
    let mut rows = String::new();
    for summary in summaries {
        for learner in &summary.learners {
            let (problem, name) = (escape(&summary.problem), escape(&learner.learner));
            rows.push_str(&format!("<tr><td>{problem}</td><td>{name}</td><td>{}</td></tr>\n", learner.regret.mean));
        }
    }
    let (title, command) = (escape(title), escape(command));
    let html = format!(
        "<!doctype html>\n<meta charset=\"utf-8\">\n<title>{title}</title>\n<h1>{title}</h1>\n<pre>{command}</pre>\n<table>\n\
         <tr><th>problem</th><th>learner</th><th>mean regret</th></tr>\n{rows}</table>\n"
    );
    Page { html, pictures: Vec::new() }
}
