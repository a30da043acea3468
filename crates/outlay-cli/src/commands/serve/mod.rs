//! `outlay serve`: the HTTP service.

mod config;
mod log;
#[cfg(feature = "otel")]
mod otel;
mod signals;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use outlay_server::clock::SystemClock;
#[cfg(feature = "otel")]
use outlay_server::http::RequestObserver;
use outlay_server::http::{Ending as ServerEnding, Server, Settings, TlsFiles};
use outlay_server::service::CampaignService;

use self::config::Config;
use crate::args::{LogFormat, ServeArgs, Switch};
use crate::failure::Failure;
use crate::input::store;
use crate::output::console;
use crate::output::{CommandOutput, Ending};

/// Certificate and key are read again this often.
const TLS_RELOAD_EVERY: Duration = Duration::from_secs(10);

pub(crate) fn run(arguments: &ServeArgs, quiet: bool) -> Result<CommandOutput, Failure> {
    let config = Config::load(arguments)?;
    if arguments.print_config {
        return Ok(CommandOutput::new(config.to_toml()?));
    }
    let _log = log::start(config.log, config.log_format);
    if let Some(warning) = outlay_server::open_files::raise_limit(config.limits.connections) {
        tracing::warn!("{warning}");
    }
    #[cfg(feature = "otel")]
    let spans = otel::Spans::start()?;
    let settings = Settings {
        #[cfg(feature = "otel")]
        observer: spans.clone().map(|spans| spans as Arc<dyn RequestObserver>),
        metrics: config.metrics,
        tls: config
            .tls_cert
            .as_ref()
            .zip(config.tls_key.as_ref())
            .map(|(certificate, key)| tls(certificate, key)),
        campaign_metrics: config.campaign_metrics,
        access_log: config.access_log == Switch::On,
        prefix: config.prefix()?,
        drain: config.drain,
        ..Settings::new(config.listen)
    };
    settings.check(store::may_have_tokens(&config.store()))?;
    let retain = config.retain()?;
    let store = store::open(&config.store(), config.any_file_system)?;
    let name = store.name();
    let service = CampaignService::open(store, Arc::new(SystemClock), config.limits)
        .map_err(|error| Failure(error.to_string()))?;
    service.start_maintenance(retain);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure(format!("cannot start: {error}")))?;
    let ending = runtime.block_on(async {
        let signals = signals::Signals::listen()?;
        let server = Server::bind(service, &settings).await?;
        let scheme = if settings.tls.is_some() { "https" } else { "http" };
        let address = server.address()?;
        console::announce(&format!("{scheme}://{address}{}", settings.prefix.as_str()))?;
        // With JSON logs, standard error contains nothing but log lines.
        let remark = |text: &str| match config.log_format {
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
        notify(sd_notify::NotifyState::Ready);
        tracing::info!(%address, store = name, version = env!("CARGO_PKG_VERSION"), "serving");
        let stop = async {
            signals.stop_requested().await;
            notify(sd_notify::NotifyState::Stopping);
        };
        Ok::<_, Failure>(server.run(stop).await)
    })?;
    #[cfg(feature = "otel")]
    if let Some(spans) = spans {
        spans.shutdown();
    }
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

/// Notifies systemd; does nothing without it.
fn notify(state: sd_notify::NotifyState<'_>) {
    if let Err(error) = sd_notify::notify(&[state]) {
        tracing::warn!(%error, "cannot notify systemd");
    }
}

fn tls(certificate: &Path, key: &Path) -> TlsFiles {
    let (certificate, key) = (certificate.to_owned(), key.to_owned());
    TlsFiles { certificate, key, reload_every: TLS_RELOAD_EVERY }
}
