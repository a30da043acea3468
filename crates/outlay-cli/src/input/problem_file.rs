//! Problem files in TOML and JSON.

use std::path::{Path, PathBuf};

use outlay::Problem;
use outlay::problem::{Document, Files};
use outlay::table::decode;

use super::{display_name, is_stdin, reason, text};
use crate::failure::Failure;

/// Folder to which paths in a problem file are relative.
#[derive(Debug, Clone)]
struct Folder(PathBuf);

impl Folder {
    /// The folder of the problem file at `path`.
    fn of(path: &Path) -> Self {
        let is_file = !is_stdin(path);
        Self(path.parent().filter(|_| is_file).unwrap_or(Path::new("")).to_owned())
    }
}

impl Files for Folder {
    fn read(&self, path: &str) -> Result<String, String> {
        let bytes = std::fs::read(self.0.join(path)).map_err(|error| reason(&error))?;
        decode(bytes).map(|decoded| decoded.text).map_err(|error| error.to_string())
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
        let parsed = if is_json(path, &text) {
            Document::from_json(&text)
        } else {
            Document::from_toml(&text)
        };
        let display_name = display_name(path);
        let document = parsed.map_err(|errors| Failure::problem(&display_name, &errors))?;
        Ok(Self { document, folder: Folder::of(path), display_name })
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
    let text = text(path)?;
    let folder = Folder::of(path);
    let read = if is_json(path, &text) {
        Problem::from_json(&text, &folder)
    } else {
        Problem::from_toml(&text, &folder)
    };
    read.map_err(|errors| Failure::problem(&display_name(path), &errors))
}

/// Validates the TOML text that is to replace the file at `path`.
pub(crate) fn check_problem_text(path: &Path, text: &str) -> Result<(), Failure> {
    let read = Problem::from_toml(text, &Folder::of(path));
    let name = format!("{} after the update", display_name(path));
    read.map(drop).map_err(|errors| Failure::problem(&name, &errors))
}

/// The form of a problem file, by its name or, from standard input, by its first character.
fn is_json(path: &Path, text: &str) -> bool {
    if is_stdin(path) {
        return text.trim_start().starts_with('{');
    }
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"))
}
