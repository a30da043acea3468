//! The tables of errors and limits in the docs agree with the code. `SERVICE_TABLES=overwrite`
//! writes them.

use std::path::Path;

use outlay_server::error::{ErrorCode, ErrorInfo};
use outlay_server::limits::Limits;

fn codes() -> Vec<String> {
    let row = |code: &ErrorCode| {
        let ErrorInfo { word, status, title, .. } = code.info();
        format!("| `{word}` | {status} | {title} |")
    };
    ErrorCode::ALL.iter().map(row).collect()
}

/// One row per limit; the meaning is the doc comment of the field.
fn limits() -> Vec<String> {
    let source = include_str!("../../src/limits.rs");
    let values = format!("{:#?}", Limits::default());
    let mut rows = Vec::new();
    for line in values.lines().filter_map(|line| line.trim().strip_suffix(',')) {
        let (name, value) = line.split_once(": ").unwrap();
        let place = source.find(&format!("    pub {name}: ")).unwrap();
        let mut lines: Vec<&str> = source[..place]
            .trim_end()
            .lines()
            .rev()
            .skip_while(|line| line.trim().starts_with("#["))
            .map_while(|line| line.trim().strip_prefix("/// "))
            .collect();
        lines.reverse();
        let comment = lines.join(" ");
        let comment = comment.trim_end_matches('.');
        let value =
            value.strip_suffix('s').map_or(value.to_owned(), |seconds| format!("{seconds} s"));
        rows.push(format!("| `{name}` | {value} | {comment} |"));
    }
    rows
}

/// Replaces the rows below a table head.
fn with_rows(page: &str, head: &str, rows: &[String]) -> String {
    let start = page.find(head).unwrap_or_else(|| panic!("no table {head}")) + head.len();
    let end = start + page[start..].find("\n\n").unwrap() + 1;
    format!("{}{}\n{}", &page[..start], rows.join("\n"), &page[end..])
}

#[test]
fn tables_in_the_docs_match_the_code() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/http-api.md");
    let kept = std::fs::read_to_string(&path).unwrap();
    let now = with_rows(&kept, "| code | status | title |\n|---|---|---|\n", &codes());
    let now = with_rows(&now, "| limit | default | meaning |\n|---|---|---|\n", &limits());
    if std::env::var_os("SERVICE_TABLES").is_some_and(|wish| wish == "overwrite") {
        std::fs::write(&path, &now).unwrap();
        return;
    }
    let hint =
        "write them with SERVICE_TABLES=overwrite cargo test -p outlay-server --test main tables";
    assert!(
        kept == now,
        "docs/reference/http-api.md: the tables do not agree with the code; {hint}"
    );
}
