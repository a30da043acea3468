//! Sizes and connections of a store.

use std::path::Path;

/// Sizes and connections of a store; absent where a store has none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StoreMetrics {
    /// Size of the database file.
    pub file_bytes: Option<u64>,
    /// Size of the write-ahead log.
    pub wal_bytes: Option<u64>,
    /// Pages of the database file that are free for new rows.
    pub free_bytes: Option<u64>,
    /// Space that is left on the file system of the database file.
    pub disk_free_bytes: Option<u64>,
    /// Pools of connections to a database server.
    pub pools: Vec<PoolMetrics>,
}

/// A pool of connections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolMetrics {
    /// Use of its connections: `read` or `write`.
    pub name: &'static str,
    /// Largest number of connections.
    pub max: u64,
    /// Open connections.
    pub size: u64,
    /// Open connections that are not in use.
    pub available: u64,
    /// Callers that wait for a connection.
    pub waiting: u64,
}

/// Space that is left to this user on the file system of a path.
#[cfg(target_os = "linux")]
pub(super) fn disk_free_bytes(path: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(path).ok()?;
    disk.f_bavail.checked_mul(disk.f_frsize)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn disk_free_bytes(_: &Path) -> Option<u64> {
    None
}
