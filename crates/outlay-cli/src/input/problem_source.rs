//! The source of a problem: a file or a built-in instance.

use std::path::{Path, PathBuf};

use outlay::Problem;
use outlay::instance::{INSTANCES, Instance};

use crate::failure::Failure;
use crate::input;
use outlay::text::nearest;

/// Horizon of problems that do not specify one.
pub(crate) const DEFAULT_HORIZON: u64 = 10_000;
/// Seed of random instances for commands without a seed.
const SEED: u64 = 1;

/// A problem file or a built-in instance.
#[derive(Debug, Clone)]
pub(crate) enum ProblemSource {
    File(PathBuf),
    Instance(Instance),
}

/// Reads a problem, for commands that run no rounds.
pub(crate) fn problem(named: &Path) -> Result<Problem, Failure> {
    if named.exists() {
        return input::problem(named);
    }
    match ProblemSource::new(&named.to_string_lossy(), Path::new("")).map_err(Failure)? {
        ProblemSource::File(path) => input::problem(&path),
        ProblemSource::Instance(instance) => Ok(instance.problem(DEFAULT_HORIZON, SEED)?),
    }
}

/// Name of a problem that has been read.
pub(crate) fn name(named: &Path) -> String {
    let source = ProblemSource::new(&named.to_string_lossy(), Path::new(""));
    source.map_or_else(|_| named.display().to_string(), |source| source.name())
}

impl ProblemSource {
    /// Parses a path or the name of an instance. Paths are relative to `folder`. If a file and an
    /// instance have the same name, the file is used.
    pub(crate) fn new(text: &str, folder: &Path) -> Result<Self, String> {
        let path = if text == "-" { PathBuf::from(text) } else { folder.join(text) };
        if path.exists() || input::is_stdin(&path) {
            return Ok(Self::File(path));
        }
        let name = text.split(':').next().unwrap_or(text);
        let known = || INSTANCES.iter().map(|entry| entry.name);
        if known().any(|known| known == name) {
            return text
                .parse()
                .map(Self::Instance)
                .map_err(|error: outlay::instance::InstanceError| error.to_string());
        }
        // A name with a dot or a slash is a path.
        let meant = nearest(name, known()).filter(|_| !name.contains(['.', '/', '\\']));
        let hint =
            meant.map(|meant| format!("; did you mean the instance {meant}?")).unwrap_or_default();
        Err(format!("cannot read {}: no such file{hint}", path.display()))
    }

    /// Name of the problem: the file name without extension, or the instance.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::File(path) if input::is_stdin(path) => "stdin".to_owned(),
            Self::File(path) => {
                path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
            }
            Self::Instance(instance) => instance.to_string(),
        }
    }

    /// The problem as an argument of a command.
    pub(crate) fn as_argument(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Instance(instance) => instance.to_string(),
        }
    }
}
