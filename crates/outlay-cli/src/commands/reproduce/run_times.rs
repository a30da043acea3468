//! Run time of each claim over all sessions. Stored apart from the results, which do not depend on
//! the machine.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::failure::Failure;
use crate::input;
use crate::output;
use crate::output::atomic_file::write_atomically;

const FILE: &str = "run-times.json";

/// Seconds by claim.
pub(super) struct RunTimes {
    path: PathBuf,
    seconds: BTreeMap<String, f64>,
}

impl RunTimes {
    pub(super) fn read(folder: &Path) -> Result<Self, Failure> {
        let path = folder.join(FILE);
        let seconds = match std::fs::read_to_string(&path) {
            Ok(text) => serde_json::from_str(&text)
                .map_err(|error| Failure(format!("{}: {error}; remove it", path.display())))?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => BTreeMap::new(),
            Err(error) => {
                return Err(Failure(format!(
                    "cannot read {}: {}",
                    path.display(),
                    input::reason(&error)
                )));
            }
        };
        Ok(Self { path, seconds })
    }

    pub(super) fn add(&mut self, claim: &str, time: Duration) {
        *self.seconds.entry(claim.to_owned()).or_default() += time.as_secs_f64();
    }

    pub(super) fn seconds(&self, claim: &str) -> f64 {
        self.seconds.get(claim).copied().unwrap_or(0.0)
    }

    pub(super) fn write(&self) -> Result<(), Failure> {
        write_atomically(&self.path, output::json(&self.seconds)?.as_bytes())
    }
}
