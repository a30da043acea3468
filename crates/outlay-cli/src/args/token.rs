//! Arguments of `outlay token`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::store::database_url;
use crate::output::Format;

#[derive(Debug, Args)]
pub(crate) struct TokenArgs {
    #[command(subcommand)]
    pub(crate) command: TokenCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Create a token and print it once
    Create(TokenCreateArgs),
    /// List all tokens, including revoked ones, without their secrets
    List(TokenListArgs),
    /// Revoke a token immediately and permanently
    Revoke(TokenRevokeArgs),
}

#[derive(Debug, Args)]
pub(crate) struct TokenCreateArgs {
    #[command(flatten)]
    pub(crate) store: TokenStoreArgs,

    /// Scope of the token; may be repeated
    #[arg(long = "scope", value_name = "SCOPE", value_enum, required = true)]
    pub(crate) scopes: Vec<ScopeChoice>,

    /// Restrict the token to this campaign, or with `*` at its end to all campaigns whose ids start
    /// like this: 'shop-*' [default: all campaigns]
    #[arg(long, value_name = "ID")]
    pub(crate) campaign: Option<String>,

    /// Name of the token in lists and logs; need not be unique
    #[arg(long)]
    pub(crate) name: Option<String>,

    /// Lifetime of the token: 90d, 12h, 30m [default: unlimited]
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    pub(crate) expires: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct TokenListArgs {
    #[command(flatten)]
    pub(crate) store: TokenStoreArgs,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct TokenRevokeArgs {
    /// Public part of the token: the characters between the two underscores
    #[arg(value_name = "ID")]
    pub(crate) id: String,

    #[command(flatten)]
    pub(crate) store: TokenStoreArgs,
}

/// The store that holds the tokens, or a running service.
#[derive(Debug, Args)]
#[group(multiple = false)]
pub(crate) struct TokenStoreArgs {
    /// Folder of a service that is not running [default: outlay-data]
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,

    /// PostgreSQL database of a service, which may be running [default: the environment variable
    /// OUTLAY_DATABASE]
    #[arg(long, value_name = "URL")]
    pub(crate) database: Option<String>,

    /// Address of a running service: http://127.0.0.1:7341; the admin token is read from the
    /// environment variable OUTLAY_TOKEN
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
}

impl TokenStoreArgs {
    /// URL of the database, from the flag or the environment.
    pub(crate) fn database(&self) -> Option<String> {
        database_url(self.database.as_ref(), self.url.is_some() || self.data.is_some())
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum ScopeChoice {
    /// Read campaigns
    Read,
    /// Request rounds
    Decide,
    /// Report outcomes
    Report,
    /// Everything
    Admin,
}

impl ScopeChoice {
    /// Name of the scope in the service's API.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Decide => "decide",
            Self::Report => "report",
            Self::Admin => "admin",
        }
    }
}

/// Parses a duration such as `90d`, `12h`, `30m` or `45s` into seconds.
pub(crate) fn seconds(text: &str) -> Result<u64, String> {
    let wrong = || "must be a whole number followed by s, m, h or d, such as 90d".to_owned();
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
    fn durations_with_a_unit_are_parsed() {
        assert_eq!(
            ["45s", "30m", "12h", "90d"].map(|text| seconds(text).unwrap()),
            [45, 1800, 43_200, 7_776_000]
        );
        for text in ["", "d", "90", "1.5h", "-1d", "0s", "9999999999999999999d", "1ü"] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }
}
