//! Arguments of `outlay serve`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::StoreArgs;

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    pub(crate) store: StoreArgs,

    /// Allow file systems that can lose acknowledged writes: in-memory and network file systems
    #[arg(long, conflicts_with_all = ["database", "memory"])]
    pub(crate) any_file_system: bool,

    /// Address to listen on; port 0 selects a free port
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7341")]
    pub(crate) listen: SocketAddr,

    /// Separate address for `/metrics`, which is then served only there [default: the address of
    /// the service]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) metrics: Option<SocketAddr>,

    /// Certificate chain as a PEM file; turns on TLS
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,

    /// Private key as a PEM file
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,

    /// Largest number of requests per second for one token [default: unlimited]
    #[arg(long, value_name = "REQUESTS", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rate: Option<u32>,

    /// Largest number of campaigns [default: 10000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) campaigns: Option<u32>,

    /// Log level; the log is written to standard error
    #[arg(long, value_enum, default_value_t = LogLevel::Info)]
    pub(crate) log: LogLevel,

    /// Log format
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    pub(crate) log_format: LogFormat,

    /// Export metrics for each campaign, labelled with its id: one set of time series per campaign
    #[arg(long)]
    pub(crate) campaign_metrics: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum LogLevel {
    /// Failures that need attention
    Error,
    /// Also conditions that should be investigated
    Warn,
    /// Also start and stop
    Info,
    /// Also every request
    Debug,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum LogFormat {
    /// Readable text
    Text,
    /// One JSON object per line
    Json,
}
