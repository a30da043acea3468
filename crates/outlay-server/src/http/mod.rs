//! The service on the wire: `/v1`, health, metrics, and the description of it all.
//!
//! ```text
//! connection -> site -> envelope (id, headers, log, metrics) -> gate (token, body) -> handler -> service
//! ```

mod call;
mod connections;
mod envelope;
mod error;
mod gate;
mod handlers;
mod json;
mod operations;
mod parameters;
mod rates;
mod server;
mod site;
mod tls;
mod unread;

pub use error::{Fault, ProblemDetails};
pub use handlers::allocate::{AllocateAnswer, AllocateRequest, AllocatedTask};
pub use handlers::feedback::{BulkTold, RefusedLine};
pub use handlers::tokens::{NewToken, ScopeWord, TokenInfo, TokenList, TokenMade};
pub use server::{Ending, Server, Settings, StartError};
pub use tls::TlsFiles;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tokio::sync::Semaphore;
use utoipa::OpenApi;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};

use crate::limits::Limits;
use crate::metrics::Metrics;
use crate::service::CampaignService;
use crate::tokens::Tokens;
use connections::Connections;
use operations::Api;
use rates::Rates;

/// What all handlers share.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) service: CampaignService,
    pub(crate) tokens: Tokens,
    pub(crate) metrics: Metrics,
    pub(crate) connections: Arc<Connections>,
    /// No new requests are wanted: the service stops.
    pub(crate) is_stopping: AtomicBool,
    /// Problems that may be solved at the same time: solving is work for a core, not for a queue.
    solvers: Semaphore,
    rates: Rates,
    description: String,
    has_tls: bool,
}

impl App {
    pub(crate) fn new(
        service: CampaignService,
        tokens: Tokens,
        metrics: Metrics,
        has_tls: bool,
    ) -> Self {
        let connections = Connections::new(service.limits().connections);
        let rates = Rates::new(service.limits().requests_per_second);
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self {
            service,
            tokens,
            metrics,
            connections,
            is_stopping: AtomicBool::new(false),
            solvers: Semaphore::new(cores),
            rates,
            description: openapi_json(),
            has_tls,
        }
    }

    pub(crate) fn limits(&self) -> &Limits {
        self.service.limits()
    }
}

/// The description of the API.
#[must_use]
pub fn description() -> utoipa::openapi::OpenApi {
    let mut api = Api::openapi();
    let token = HttpBuilder::new()
        .scheme(HttpAuthScheme::Bearer)
        .description(Some("`outlay token create` makes one; a store without tokens needs none."));
    let components = api.components.get_or_insert_default();
    components.add_security_scheme(gate::SCHEME, SecurityScheme::Http(token.build()));
    api
}

/// The description of the API as `docs/openapi.json` has it.
#[must_use]
pub fn openapi_json() -> String {
    let mut text = description().to_pretty_json().unwrap_or_default();
    text.push('\n');
    text
}
