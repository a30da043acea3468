//! The arguments of the demonstration.

use std::net::SocketAddr;

use clap::Args;

use super::number;

#[derive(Debug, Args)]
pub(crate) struct DemoArguments {
    /// Where to listen; port 0 takes a free one. Only addresses of this machine: nobody is asked
    /// for a token
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7341")]
    pub(crate) listen: SocketAddr,

    /// How many rounds are played in a second, up to 1000
    #[arg(long, value_name = "RATE", default_value_t = 5.0, value_parser = rate, allow_negative_numbers = true)]
    pub(crate) rounds_per_second: f64,

    /// End after so many rounds [default: go on until Ctrl-C]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) rounds: Option<u64>,
}

fn rate(text: &str) -> Result<f64, String> {
    number(text, "must be between 0.01 and 1000", |number| (0.01..=1000.0).contains(&number))
}
