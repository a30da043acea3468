//! Problem files: TOML or JSON text into a [`ProblemSpec`](super::ProblemSpec).

/// Where the files that a problem names are read from. The library itself opens none.
pub trait Files {
    /// The text of the file at `path`, a path relative to the problem file.
    ///
    /// # Errors
    /// Why it could not be read, in one line.
    fn read(&self, path: &str) -> Result<String, String>;
}

/// For problems that name no file.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoFiles;

impl Files for NoFiles {
    fn read(&self, _: &str) -> Result<String, String> {
        Err("this problem was read without access to files".to_owned())
    }
}
