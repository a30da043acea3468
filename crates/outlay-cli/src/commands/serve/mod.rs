//! `outlay serve`: the HTTP service.

mod log;
mod signals;

use std::path::Path;
use std::sync::Arc;

use outlay_server::clock::SystemClock;
use outlay_server::http::{Ending as ServerEnding, Server, Settings, TlsFiles};
use outlay_server::limits::Limits;
use outlay_server::service::CampaignService;

use crate::args::{LogFormat, ServeArgs};
use crate::failure::Failure;
use crate::input::store;
use crate::output::console;
use crate::output::{CommandOutput, Ending};

pub(crate) fn run(arguments: &ServeArgs, quiet: bool) -> Result<CommandOutput, Failure> {
    log::start(arguments.log, arguments.log_format);
    let settings = Settings {
        listen: arguments.listen,
        metrics: arguments.metrics,
        tls: arguments
            .tls_cert
            .as_ref()
            .zip(arguments.tls_key.as_ref())
            .map(|(certificate, key)| tls(certificate, key)),
        campaign_metrics: arguments.campaign_metrics,
    };
    settings.check(store::may_have_tokens(&arguments.store))?;
    let store = store::open(&arguments.store, arguments.any_file_system)?;
    let name = store.name();
    let most = Limits::default();
    let limits = Limits {
        requests_per_second: arguments.rate.unwrap_or(0),
        campaigns: arguments.campaigns.map_or(most.campaigns, |campaigns| campaigns as usize),
        ..most
    };
    let service = CampaignService::open(store, Arc::new(SystemClock), limits)
        .map_err(|error| Failure(error.to_string()))?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure(format!("cannot start: {error}")))?;
    let ending = runtime.block_on(async {
        let signals = signals::Signals::listen()?;
        let server = Server::bind(service, &settings).await?;
        let scheme = if settings.tls.is_some() { "https" } else { "http" };
        let address = server.address()?;
        console::announce(&format!("{scheme}://{address}"))?;
        // With JSON logs, standard error contains nothing but log lines.
        let remark = |text: &str| match arguments.log_format {
            LogFormat::Json => tracing::info!("{text}"),
            LogFormat::Text => console::remark(text, quiet),
        };
        if let Some(metrics) = server.metrics_address()? {
            remark(&format!("metrics: {scheme}://{metrics}/metrics"));
        }
        if server.is_open() {
            remark(
                "authentication is off: every user of this machine has full access; `outlay token \
                 create` turns it on",
            );
        }
        tracing::info!(%address, store = name, version = env!("CARGO_PKG_VERSION"), "serving");
        Ok::<_, Failure>(server.run(signals.stop_requested()).await)
    })?;
    // The drain timeout is over; a thread that waits for the database must not delay the exit.
    runtime.shutdown_background();
    match ending {
        ServerEnding::Stopped => {
            tracing::info!("stopped");
            Ok(CommandOutput::new(String::new()))
        }
        ServerEnding::StoreFailed(what) => {
            let remark = format!(
                "error: the store has failed: {what}; acknowledged requests are saved, restart after \
                 fixing this"
            );
            Ok(CommandOutput {
                ending: Ending::CheckFailed,
                ..CommandOutput::new(String::new()).with_remarks(vec![remark])
            })
        }
    }
}

fn tls(certificate: &Path, key: &Path) -> TlsFiles {
    TlsFiles { certificate: certificate.to_owned(), key: key.to_owned() }
}
