//! HTML reports and SVG figures of outlay's results.
//!
//! Each module makes one kind of page from plain data: [`decision`] (a split, a plan, a frontier),
//! [`simulation`], [`fit`], [`replay`], [`reproduction`] (the claims of the paper) and [`status`] (a
//! daily loop). [`check`] and [`bound`] have the results of these commands. The crate opens no files,
//! reads no clock and prints nothing. The same data give the same bytes.
//!
//! [`number`] formats numbers for readers, in reports and in the tables of the command line.

pub mod bound;
pub mod check;
pub mod decision;
pub mod fit;
pub mod labels;
pub mod number;
mod page;
pub mod replay;
pub mod reproduction;
pub mod selection;
pub mod simulation;
pub mod status;
mod svg;

pub use page::Page;

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    fn sources(folder: &Path) -> Vec<PathBuf> {
        let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        paths
            .flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] })
            .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
            .collect()
    }

    #[test]
    fn the_crate_opens_no_files_reads_no_clock_and_prints_nothing() {
        let files = sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
        assert!(files.len() > 30, "only {} files were found", files.len());
        for path in files.iter().filter(|path| !path.ends_with("tests.rs")) {
            let text = fs::read_to_string(path).unwrap();
            let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
            for forbidden in
                ["std::fs", "std::net", "std::env", "std::process", "Instant", "print!", "println!"]
            {
                assert!(!code.contains(forbidden), "{} uses {forbidden}", path.display());
            }
        }
    }
}
