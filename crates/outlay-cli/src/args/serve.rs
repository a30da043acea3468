//! Arguments of `outlay serve`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use outlay_server::http::PathPrefix;
use serde::{Deserialize, Serialize};

use super::{StoreArgs, seconds};

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    pub(crate) store: StoreArgs,

    /// Allow file systems that can lose acknowledged writes: in-memory and network file systems
    #[arg(long, conflicts_with_all = ["database", "memory"])]
    pub(crate) any_file_system: bool,

    /// TOML file with settings, named as these flags, and a table `limits`; flags and environment
    /// variables (OUTLAY_LISTEN, OUTLAY_LIMIT_TASKS, …) override it [default: the environment
    /// variable OUTLAY_CONFIG]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Print the settings in effect as a configuration file, and exit
    #[arg(long)]
    pub(crate) print_config: bool,

    /// Address to listen on; port 0 selects a free port [default: 127.0.0.1:7341]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<SocketAddr>,

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

    /// Replace rounds that expired longer ago than this by their counts, in the background: 90d,
    /// 12h [default: keep all rounds]
    #[arg(long, value_name = "TIME", value_parser = retention)]
    pub(crate) retain: Option<String>,

    /// Set a limit, such as open_rounds=50000 or request_timeout=30s; may be repeated
    /// (`--print-config` lists all limits)
    #[arg(long = "limit", value_name = "NAME=VALUE")]
    pub(crate) limits: Vec<String>,

    /// Log level; the log is written to standard error [default: info]
    #[arg(long, value_enum)]
    pub(crate) log: Option<LogLevel>,

    /// Log format [default: text]
    #[arg(long, value_enum)]
    pub(crate) log_format: Option<LogFormat>,

    /// Log every request at level info, except health probes [default: on]
    #[arg(long, value_enum, value_name = "SWITCH")]
    pub(crate) access_log: Option<Switch>,

    /// Serve everything below this path, such as /outlay, for a proxy that shares its host among
    /// services; `/livez` and `/readyz` also work without it
    #[arg(long, value_name = "PATH")]
    pub(crate) prefix: Option<PathPrefix>,

    /// When stopping, answer `/readyz` with 503 and keep serving for this long, so that a load
    /// balancer notices, before connections are closed [default: 0s]
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) drain: Option<Duration>,

    /// Export metrics for each campaign, labelled with its id: one set of time series per campaign
    #[arg(long)]
    pub(crate) campaign_metrics: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum LogLevel {
    /// Failures that need attention
    Error,
    /// Also conditions that should be investigated
    Warn,
    /// Also start and stop, changes of tokens, and requests (see --access-log)
    Info,
    /// Also connections that end early
    Debug,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Switch {
    On,
    Off,
}

/// Parses a time such as `5s` or `1m30s`.
fn time(text: &str) -> Result<Duration, String> {
    let time = text.parse::<jiff::SignedDuration>().ok();
    time.and_then(|time| Duration::try_from(time).ok())
        .ok_or_else(|| "expected a time such as 5s or 1m30s".to_owned())
}

#[derive(Debug, Clone, Copy, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum LogFormat {
    /// Readable text
    Text,
    /// One JSON object per line
    Json,
}

/// Checks how long rounds are kept.
fn retention(text: &str) -> Result<String, String> {
    seconds(text).map(|_| text.to_owned())
}
