//! Arguments of `outlay demo`.

use std::net::SocketAddr;

use clap::Args;

use super::number::number;

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Address to listen on; port 0 selects a free port. It must be a loopback address, because
    /// the demo runs without authentication
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7341")]
    pub(crate) listen: SocketAddr,

    /// Rounds per second, at most 1000
    #[arg(long, value_name = "RATE", default_value_t = 5.0, value_parser = rate, allow_negative_numbers = true)]
    pub(crate) rounds_per_second: f64,

    /// Stop after this many rounds [default: run until Ctrl-C]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) rounds: Option<u64>,
}

fn rate(text: &str) -> Result<f64, String> {
    number(text, "must be between 0.01 and 1000", |number| (0.01..=1000.0).contains(&number))
}
