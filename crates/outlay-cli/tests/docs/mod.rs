//! The documentation: its commands print the output it shows, its links resolve, and its numbers
//! are those of the committed results.

mod guides;
mod links;
mod numbers;
mod results;
#[cfg(feature = "serve")]
mod service_guide;

use std::fs;
use std::path::{Path, PathBuf};

/// The root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The Markdown files below a folder, sorted by path.
fn markdown_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(markdown_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "md") {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// The pages of the documentation. The tables of `docs/reproduction` are parts of pages.
fn pages() -> Vec<PathBuf> {
    let docs = root().join("docs");
    let mut pages = markdown_files(&docs);
    pages.retain(|page| !page.starts_with(docs.join("reproduction")));
    pages
}
