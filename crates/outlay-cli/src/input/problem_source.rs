//! Where a problem comes from: a file, or an instance by name.

use std::path::{Path, PathBuf};

use outlay::Problem;
use outlay::instance::{INSTANCES, Instance};

use crate::failure::Failure;
use crate::input;
use crate::input::suggestion::nearest;

/// Rounds of a problem that does not say.
pub(crate) const DEFAULT_HORIZON: u64 = 10_000;
/// The seed of an instance that depends on one, where nobody gives another.
const SEED: u64 = 1;

/// A problem as somebody named it.
#[derive(Debug, Clone)]
pub(crate) enum ProblemSource {
    File(PathBuf),
    Instance(Instance),
}

/// The problem that is named, for commands that play no rounds.
pub(crate) fn problem(named: &Path) -> Result<Problem, Failure> {
    if named.exists() {
        return input::problem(named);
    }
    match ProblemSource::new(&named.to_string_lossy(), Path::new("")).map_err(Failure)? {
        ProblemSource::File(path) => input::problem(&path),
        ProblemSource::Instance(instance) => Ok(instance.problem(DEFAULT_HORIZON, SEED)?),
    }
}

/// What a problem that could be read is called.
pub(crate) fn name(named: &Path) -> String {
    let source = ProblemSource::new(&named.to_string_lossy(), Path::new(""));
    source.map_or_else(|_| named.display().to_string(), |source| source.name())
}

impl ProblemSource {
    /// What `text` names; paths are relative to `folder`. A file goes before an instance of the
    /// same name.
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
        // Names with a dot or a slash are meant as files.
        let meant = nearest(name, known()).filter(|_| !name.contains(['.', '/', '\\']));
        let hint =
            meant.map(|meant| format!("; did you mean the instance {meant}?")).unwrap_or_default();
        Err(format!("cannot read {}: no such file{hint}", path.display()))
    }

    /// What the problem is called: the file's name without its ending, or the instance as written.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::File(path) if input::is_stdin(path) => "stdin".to_owned(),
            Self::File(path) => {
                path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
            }
            Self::Instance(instance) => instance.to_string(),
        }
    }

    /// How a command names it.
    pub(crate) fn written(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Instance(instance) => instance.to_string(),
        }
    }
}
