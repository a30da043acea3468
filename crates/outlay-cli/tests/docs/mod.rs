//! The documentation: its commands print the output it shows, and its numbers are those of the
//! committed results.

mod guides;
mod results;
#[cfg(feature = "serve")]
mod service_guide;

use std::path::{Path, PathBuf};

/// The root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}
