//! Curves fitted to logs.

mod properties;
mod recovery;
