//! Curves fitted to logs.

mod counts;
mod properties;
mod recovery;
