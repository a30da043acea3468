//! Where a problem comes from: a file, or an instance by name.

use std::path::{Path, PathBuf};

use outlay::instance::{INSTANCES, Instance};

use crate::input;
use crate::values::nearest;

/// A problem as somebody named it.
#[derive(Debug, Clone)]
pub(crate) enum Origin {
    File(PathBuf),
    Instance(Instance),
}

impl Origin {
    /// What `text` names; paths are relative to `folder`. A file goes before an instance of the same name.
    pub(crate) fn new(text: &str, folder: &Path) -> Result<Self, String> {
        let path = if text == "-" { PathBuf::from(text) } else { folder.join(text) };
        if path.exists() || input::is_stdin(&path) {
            return Ok(Self::File(path));
        }
        let name = text.split(':').next().unwrap_or(text);
        let known = || INSTANCES.iter().map(|entry| entry.name);
        if known().any(|known| known == name) {
            return text.parse().map(Self::Instance).map_err(|error: outlay::instance::InstanceError| error.to_string());
        }
        // Names with a dot or a slash are meant as files.
        let meant = nearest(name, known()).filter(|_| !name.contains(['.', '/', '\\']));
        let hint = meant.map(|meant| format!("; did you mean the instance {meant}?")).unwrap_or_default();
        Err(format!("cannot read {}: no such file{hint}", path.display()))
    }

    /// What the problem is called: the file's name without its ending, or the instance as written.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::File(path) if input::is_stdin(path) => "stdin".to_owned(),
            Self::File(path) => path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned(),
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
