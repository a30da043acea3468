//! The pages of the docs show the committed results of `docs/reproduction/run` and
//! `tests/crash/long`.
//!
//! After a new run (the latter does it itself): `DOCS=overwrite cargo test -p outlay-cli --test
//! main docs::results`.

use std::fs;
use std::path::{Path, PathBuf};

use super::pages;

const OPEN: &str = "<!-- reproduction: ";
const CLOSE: &str = "<!-- end of reproduction -->";

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

/// The page with every block updated from the results, and the claims that it shows.
fn refreshed(page: &str) -> (String, Vec<String>) {
    let mut text = String::new();
    let mut claims = Vec::new();
    let mut rest = page;
    while let Some(start) = rest.find(OPEN) {
        let (before, block) = rest.split_at(start);
        let name = block[OPEN.len()..].split_whitespace().next().unwrap();
        let table = docs().join("reproduction/tables").join(format!("{name}.md"));
        let table = fs::read_to_string(&table)
            .unwrap_or_else(|error| panic!("{}: {error}", table.display()));
        text.push_str(before);
        text.push_str(&format!("{OPEN}{name} -->\n\n{table}\n{CLOSE}"));
        rest = &block[block.find(CLOSE).expect("a block ends") + CLOSE.len()..];
        claims.push(name.to_owned());
    }
    text.push_str(rest);
    (text, claims)
}

#[test]
fn pages_show_the_committed_results() {
    let overwrite = std::env::var("DOCS").is_ok_and(|value| value == "overwrite");
    let mut shown = Vec::new();
    for path in pages() {
        let page = fs::read_to_string(&path).unwrap();
        let (text, claims) = refreshed(&page);
        shown.extend(claims);
        if overwrite {
            fs::write(&path, &text).unwrap();
        } else {
            assert!(
                page == text,
                "{} does not show the committed results: see the head of this test",
                path.display()
            );
        }
    }
    let results = fs::read_to_string(docs().join("reproduction/results.json")).unwrap();
    let results: serde_json::Value = serde_json::from_str(&results).unwrap();
    for claim in results["claims"].as_array().unwrap() {
        let name = claim["claim"].as_str().unwrap();
        assert!(shown.iter().any(|shown| shown == name), "no page shows {name}");
        assert_ne!(claim["verdict"], "not shown", "{name}");
    }
}

/// The tables of `docs/reference/reliability.md` between their marks equal those computed from the
/// results of `tests/crash/long` and `tests/crash/soak`.
#[test]
fn reliability_shows_the_committed_results() {
    let path = docs().join("reference/reliability.md");
    let page = fs::read_to_string(&path).unwrap();
    let mut text = page.clone();
    for (name, table) in [("reliability", reliability()), ("soak", soak())] {
        let (open, close) = (format!("<!-- {name} -->"), format!("<!-- end of {name} -->"));
        let (before, rest) = text.split_once(&open).expect("a block begins");
        let (_, after) = rest.split_once(&close).expect("a block ends");
        text = format!("{before}{open}\n\n{table}\n{close}{after}");
    }
    if std::env::var("DOCS").is_ok_and(|value| value == "overwrite") {
        fs::write(&path, &text).unwrap();
    } else {
        assert!(
            page == text,
            "{} does not show the committed results: see the head of this test",
            path.display()
        );
    }
}

fn reliability() -> String {
    let mut rows = csv::Reader::from_path(docs().join("reliability/results.csv")).unwrap();
    let mut table = "| | cycles | outcomes acknowledged | asks acknowledged | lost | double | invented | seconds |\n".to_owned();
    table += "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n";
    let mut versions = Vec::new();
    for row in rows.records() {
        let row = row.unwrap();
        assert_eq!(
            [&row[4], &row[5], &row[6]],
            ["0"; 3],
            "the page states that no outcome is lost, doubled or invented: {row:?}"
        );
        let detail = if row[9].is_empty() { String::new() } else { format!(" ({})", &row[9]) };
        let numbers: Vec<String> = (1..8).map(|place| grouped(&row[place])).collect();
        table += &format!("| {}{detail} | {} |\n", &row[0], numbers.join(" | "));
        versions.push(row[8].to_owned());
    }
    versions.dedup();
    format!("{table}\noutlay {}.\n", versions.join(", "))
}

/// A table of every fifth sample of the process.
fn soak() -> String {
    let mut rows = csv::Reader::from_path(docs().join("reliability/soak.csv")).unwrap();
    let mut table =
        "| seconds | rounds | resident, MB | open files | threads | on disk, MB |\n".to_owned();
    table += "| ---: | ---: | ---: | ---: | ---: | ---: |\n";
    for row in rows.records().map(Result::unwrap).skip(4).step_by(5) {
        let resident: f64 = row[2].parse().unwrap();
        let resident = format!("{:.1}", resident / 1024.0);
        table += &format!(
            "| {} | {} | {resident} | {} | {} | {} |\n",
            &row[0],
            grouped(&row[1]),
            &row[3],
            &row[4],
            grouped(&row[5])
        );
    }
    table
}

/// A number with thousands separators, as on all pages.
fn grouped(digits: &str) -> String {
    let groups: Vec<_> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(|group| std::str::from_utf8(group).unwrap())
        .collect();
    groups.join(",")
}
