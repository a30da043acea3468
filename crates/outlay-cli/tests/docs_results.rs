//! Numbers on the pages of the docs are those of the committed results: what `docs/reproduction/run` has measured.
//!
//! After a new run: `DOCS=overwrite cargo test -p outlay-cli --test docs_results`.

use std::fs;
use std::path::{Path, PathBuf};

const OPEN: &str = "<!-- reproduction: ";
const CLOSE: &str = "<!-- end of reproduction -->";

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

fn pages() -> Vec<PathBuf> {
    let entries = fs::read_dir(docs()).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.extension().is_some_and(|ending| ending == "md")).collect()
}

/// The page with every block as the results have it, and the claims that it shows.
fn refreshed(page: &str) -> (String, Vec<String>) {
    let mut text = String::new();
    let mut claims = Vec::new();
    let mut rest = page;
    while let Some(start) = rest.find(OPEN) {
        let (before, block) = rest.split_at(start);
        let name = block[OPEN.len()..].split_whitespace().next().unwrap();
        let table = docs().join("reproduction/tables").join(format!("{name}.md"));
        let table = fs::read_to_string(&table).unwrap_or_else(|error| panic!("{}: {error}", table.display()));
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
            assert!(page == text, "{} does not show the committed results: see the head of this test", path.display());
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

/// Every picture that a page shows is there.
#[test]
fn pictures_exist() {
    for path in pages() {
        let page = fs::read_to_string(&path).unwrap();
        for link in page.split("](").skip(1).filter_map(|rest| rest.split(')').next()).filter(|link| link.ends_with(".svg")) {
            assert!(docs().join(link).exists(), "{}: {link}", path.display());
        }
    }
}
