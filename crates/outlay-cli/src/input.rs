//! Problem files and standard input.

use std::io::Read;
use std::path::{Path, PathBuf};

use outlay::Problem;
use outlay::problem::{Document, Files};

use crate::failure::Failure;

/// The folder that paths in a problem file are relative to.
#[derive(Debug, Clone)]
struct Folder(PathBuf);

impl Files for Folder {
    fn read(&self, path: &str) -> Result<String, String> {
        std::fs::read_to_string(self.0.join(path)).map_err(|error| reason(&error))
    }
}

/// A problem file whose numbers may still be changed.
#[derive(Debug, Clone)]
pub(crate) struct ProblemFile {
    document: Document,
    folder: Folder,
    place: String,
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
        let read = if is_json { Document::from_json(&text) } else { Document::from_toml(&text) };
        let document = read.map_err(|errors| Failure::problem(&place(path), &errors))?;
        Ok(Self { document, folder, place: place(path) })
    }

    /// Writes a number at a path of the document, such as `task[0].curve.exponent`.
    pub(crate) fn set(&mut self, path: &str, number: f64) -> Result<(), Failure> {
        self.document.set(path, number).map_err(|errors| Failure::problem(&self.place, &errors))
    }

    pub(crate) fn problem(&self) -> Result<Problem, Failure> {
        self.document.problem(&self.folder).map_err(|errors| Failure::problem(&self.place, &errors))
    }
}

/// Reads and checks a problem.
pub(crate) fn problem(path: &Path) -> Result<Problem, Failure> {
    ProblemFile::read(path)?.problem()
}

/// The text of a file, or of standard input.
pub(crate) fn text(path: &Path) -> Result<String, Failure> {
    let mut text = String::new();
    let read = if is_stdin(path) {
        std::io::stdin().lock().read_to_string(&mut text).map(|_| ())
    } else {
        std::fs::read_to_string(path).map(|read| text = read)
    };
    match read {
        Ok(()) => Ok(text),
        Err(error) => Err(Failure(format!("cannot read {}: {}", place(path), reason(&error)))),
    }
}

/// How messages name a file.
pub(crate) fn place(path: &Path) -> String {
    if is_stdin(path) { "standard input".to_owned() } else { path.display().to_string() }
}

pub(crate) fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

fn has_json_name(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"))
}

/// Why a file could not be read, in words that are the same on every system.
pub(crate) fn reason(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "no such file".to_owned(),
        std::io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        std::io::ErrorKind::IsADirectory => "it is a directory".to_owned(),
        std::io::ErrorKind::InvalidData => "it is not UTF-8 text".to_owned(),
        _ => error.to_string(),
    }
}
