//! Shared by the test modules: databases, store commands in short form, and stores that fail.

pub(crate) mod commands;
pub(crate) mod database;
pub(crate) mod proxy;
pub(crate) mod trace;
pub(crate) mod wrapped;
