//! Problem files in TOML and JSON.

use std::path::{Path, PathBuf};

use outlay::Problem;
use outlay::problem::{Document, Files};

use super::{display_name, is_stdin, reason, text};
use crate::failure::Failure;

/// Folder to which paths in a problem file are relative.
#[derive(Debug, Clone)]
struct Folder(PathBuf);

impl Files for Folder {
    fn read(&self, path: &str) -> Result<String, String> {
        std::fs::read_to_string(self.0.join(path)).map_err(|error| reason(&error))
    }
}

/// A parsed problem file whose numbers can still be changed.
#[derive(Debug, Clone)]
pub(crate) struct ProblemFile {
    document: Document,
    folder: Folder,
    display_name: String,
}

impl ProblemFile {
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let text = text(path)?;
        let folder = Folder(if is_stdin(path) {
            PathBuf::new()
        } else {
            path.parent().unwrap_or(Path::new("")).to_owned()
        });
        let is_json =
            if is_stdin(path) { text.trim_start().starts_with('{') } else { has_json_name(path) };
        let parsed = if is_json { Document::from_json(&text) } else { Document::from_toml(&text) };
        let display_name = display_name(path);
        let document = parsed.map_err(|errors| Failure::problem(&display_name, &errors))?;
        Ok(Self { document, folder, display_name })
    }

    /// Sets the number at a path of the document, such as `task[0].curve.exponent`.
    pub(crate) fn set(&mut self, path: &str, number: f64) -> Result<(), Failure> {
        self.document
            .set(path, number)
            .map_err(|errors| Failure::problem(&self.display_name, &errors))
    }

    /// The validated problem.
    pub(crate) fn problem(&self) -> Result<Problem, Failure> {
        self.document
            .problem(&self.folder)
            .map_err(|errors| Failure::problem(&self.display_name, &errors))
    }
}

/// Reads and validates a problem file.
pub(crate) fn problem(path: &Path) -> Result<Problem, Failure> {
    ProblemFile::read(path)?.problem()
}

fn has_json_name(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"))
}
