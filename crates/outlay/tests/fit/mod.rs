//! Curves fitted to logs.

mod channels;
mod counts;
mod properties;
mod recovery;
