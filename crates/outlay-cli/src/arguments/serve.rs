//! The arguments of the service.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use crate::report::Format;

#[derive(Debug, Args)]
pub(crate) struct ServeArguments {
    #[command(flatten)]
    pub(crate) store: StoreArguments,

    /// Also in a folder on a file system that can lose what was acknowledged: in memory, or shared
    /// over a network
    #[arg(long, conflicts_with_all = ["database", "memory"])]
    pub(crate) any_file_system: bool,

    /// Where to listen; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7341")]
    pub(crate) listen: SocketAddr,

    /// Where to serve `/metrics`, and then only there [default: where everything else is]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) metrics: Option<SocketAddr>,

    /// The chain of certificates as a PEM file: serve over TLS
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,

    /// The private key as a PEM file
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,

    /// How often one token may ask in a second [default: as often as it likes]
    #[arg(long, value_name = "REQUESTS", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rate: Option<u32>,

    /// How many campaigns there may be [default: 10000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) campaigns: Option<u32>,

    /// How much to log, on standard error; `debug` has a line for every request
    #[arg(long, value_enum, default_value_t = LogLevel::Info)]
    pub(crate) log: LogLevel,

    /// How to log
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    pub(crate) log_format: LogFormat,

    /// Figures for each campaign by its id: as many time series as there are campaigns
    #[arg(long)]
    pub(crate) campaign_metrics: bool,
}

/// Where campaigns are kept.
#[derive(Debug, Args)]
#[group(multiple = false)]
pub(crate) struct StoreArguments {
    /// Keep campaigns in this folder, which is made if it is not there [default: outlay-data]
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,

    /// Keep campaigns in PostgreSQL: postgres://user:password@host/database [default:
    /// OUTLAY_DATABASE in the environment, which keeps a password out of lists of processes]
    #[arg(long, value_name = "URL")]
    pub(crate) database: Option<String>,

    /// Keep campaigns in memory: nothing survives
    #[arg(long)]
    pub(crate) memory: bool,
}

impl StoreArguments {
    /// The database that was asked for, here or in the environment.
    pub(crate) fn database(&self) -> Option<String> {
        named_database(self.database.as_ref(), self.memory || self.data.is_some())
    }
}

/// The environment counts only where nothing is said here.
pub(super) fn named_database(here: Option<&String>, is_elsewhere: bool) -> Option<String> {
    here.cloned().or_else(|| {
        std::env::var("OUTLAY_DATABASE").ok().filter(|url| !is_elsewhere && !url.is_empty())
    })
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum LogLevel {
    /// What must be mended
    Error,
    /// And what should be looked at
    Warn,
    /// And beginning and end
    Info,
    /// And every request
    Debug,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum LogFormat {
    /// For people
    Text,
    /// For programs: an object a line
    Json,
}

#[derive(Debug, Args)]
pub(crate) struct TokenArguments {
    #[command(subcommand)]
    pub(crate) command: TokenCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Make a token and show it, once
    Create(TokenCreateArguments),
    /// Every token that was ever made, without its secret
    List(TokenListArguments),
    /// Make a token useless, at once and for ever
    Revoke(TokenRevokeArguments),
}

#[derive(Debug, Args)]
pub(crate) struct TokenCreateArguments {
    #[command(flatten)]
    pub(crate) place: TokenPlace,

    /// What it is to allow; may be given several times
    #[arg(long = "scope", value_name = "SCOPE", value_enum, required = true)]
    pub(crate) scopes: Vec<ScopeChoice>,

    /// Good for this campaign only [default: for all]
    #[arg(long, value_name = "ID")]
    pub(crate) campaign: Option<String>,

    /// Good for so long: 90d, 12h, 30m [default: for ever]
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    pub(crate) expires: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct TokenListArguments {
    #[command(flatten)]
    pub(crate) place: TokenPlace,

    /// How to write the result
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct TokenRevokeArguments {
    /// The token's public part: what stands between the two _
    #[arg(value_name = "ID")]
    pub(crate) id: String,

    #[command(flatten)]
    pub(crate) place: TokenPlace,
}

/// Where tokens are kept: in a store, or behind a service that runs.
#[derive(Debug, Args)]
#[group(multiple = false)]
pub(crate) struct TokenPlace {
    /// The folder of a service that does not run [default: outlay-data]
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,

    /// The PostgreSQL database of a service, whether it runs or not [default: OUTLAY_DATABASE in
    /// the environment]
    #[arg(long, value_name = "URL")]
    pub(crate) database: Option<String>,

    /// A service that runs: http://127.0.0.1:7341; its admin token is read from OUTLAY_TOKEN in the
    /// environment
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
}

impl TokenPlace {
    /// The database that was asked for, here or in the environment.
    pub(crate) fn database(&self) -> Option<String> {
        named_database(self.database.as_ref(), self.url.is_some() || self.data.is_some())
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum ScopeChoice {
    /// To look
    Read,
    /// To ask for rounds
    Decide,
    /// To tell what came back
    Report,
    /// Everything
    Admin,
}

impl ScopeChoice {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Decide => "decide",
            Self::Report => "report",
            Self::Admin => "admin",
        }
    }
}

/// `90d`, `12h`, `30m`, `45s`.
fn seconds(text: &str) -> Result<u64, String> {
    let wrong = || "must be a whole number and s, m, h or d: 90d".to_owned();
    let unit = match text.chars().last() {
        Some('s') => 1,
        Some('m') => 60,
        Some('h') => 3600,
        Some('d') => 24 * 3600,
        _ => return Err(wrong()),
    };
    let count: u64 = text[..text.len() - 1].parse().map_err(|_| wrong())?;
    count.checked_mul(unit).filter(|seconds| *seconds > 0).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        assert_eq!(
            ["45s", "30m", "12h", "90d"].map(|text| seconds(text).unwrap()),
            [45, 1800, 43_200, 7_776_000]
        );
        for text in ["", "d", "90", "1.5h", "-1d", "0s", "9999999999999999999d", "1ü"] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }
}
